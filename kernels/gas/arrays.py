"""Calls of programs on whole arrays of NumPy or CuPy."""

from __future__ import annotations

from ..engine.errors import ArgumentError, refuse
from .composition import refuse_both
from .registry import registry
from .resolve import resolve, serving
from .state import State

STATE = ("T", "p", "Y", "X")  # the usual variables; of several arrays that contradict each other, another is named


def call(mixture, names, arrays, backend, precision, depth=3, explained=False) -> dict:
    """The quantities `names` at the states of named arrays: {name: array}.

    backend: a Backend, its name, or None (that of the arrays). depth: frames from here to the user, for warnings; None:
    no warnings. explained: the caller says why results are NaN. Shapes, units and errors: see Mixture.properties.
    """
    refuse_both(arrays)
    state = State.of_call(mixture, names, arrays, backend, precision)
    state.explained = explained
    state.normalise()

    # The program, if there is anything to compute.
    mixture = state.mixture
    computed = _computed(names, arrays)
    program = None

    if computed:
        given = list(arrays)
        computed += mixture.statuses_beside(computed, given)
        program = mixture.program(outputs=computed, given=given, backend=state.backend, precision=precision)
    mixture.refuse_surplus(names, arrays, program.reads if program else ())

    out = dict(state.inputs)
    if program:
        out |= state.run(program, limited=True)
    if depth:
        state.warn(depth + 1)

    return {name: state.handed_back(name, out[name]) for name in names}


def _computed(names, arrays) -> list[str]:
    """The quantities of a call that are not given. A start that is carried from call to call is updated, asked for or
    not."""
    carried = [name for name in arrays if registry.quantities[name].carried]
    computed = [name for name in names if name not in arrays or name in carried]
    return computed + [name for name in carried if name not in computed]


def call_kernel(mixture, name: str, arrays, backend, precision) -> dict:
    """The formula of a single kernel on named arrays, as they are: {name: array} of all that it writes. backend,
    errors: as `call`."""
    names = list(registry.kernels[name].for_options(mixture.options).writes)
    state = State.of_call(mixture, names, arrays, backend, precision)
    program = state.mixture.program(kernels=[name], backend=state.backend, precision=precision)
    return _results(state, program, names, depth=5)


def call_updating(mixture, names, arrays, backend, precision) -> dict:
    """As `call`, by a kernel that updates what is both given and asked for, as a reactor does."""
    state = State.of_call(mixture, names, arrays, backend, precision)
    state.explained = True  # by its status
    program = state.mixture.program(outputs=names, given=list(arrays), backend=state.backend, precision=precision)
    return _results(state, program, names, depth=6)


def _results(state: State, program, names, depth: int) -> dict:
    """The results of a program that takes inputs as they are: a kernel is called for its formula, and a reactor has a
    status at each point."""
    out = state.run(program, limited=False)
    state.warn(depth)
    return {name: state.handed_back(name, out[name]) for name in names}


def has_composition(arrays) -> bool:
    """Whether one of the inputs has a number for each species: X, Y, or what they follow from, as rho_k."""
    known = registry.quantities
    return any(name in ("X", "Y") or (name in known and known[name].per == "ns") for name in arrays)


def refuse_surplus(mixture, names, arrays, read) -> None:
    """Raise ArgumentError for an array that is not read where values follow from others: both may contradict each
    other. An array that is independent of the others, such as a velocity, may come and is not used. So may inputs of a
    collection that has the names, such as p of `viscous` beside rho and T."""
    unread = [name for name in arrays if name not in read]
    together = []  # inputs that may come side by side
    for collection in registry.collections.values() if unread and read else ():
        if set(collection.given) <= set(arrays) and set(collection.outputs).intersection(names):
            together.append(set(collection.given))

    for name in sorted(unread, key=lambda name: name in STATE):
        others = [other for other in arrays if other != name]
        if not any(name in inputs for inputs in together):
            _refuse(_follows(mixture, name, others), name, others)

        # An input may give other quantities that are read: beside T, the rhoE of conserved variables does not count.
        for known in _read_in_its_place(mixture, name, arrays, read):
            if any({name, *known} <= inputs for inputs in together):
                continue
            with_it = [other for other in arrays if other not in known]
            without_it = [other for other in with_it if other != name]
            twice = _follows(mixture, known[0], with_it) and not _follows(mixture, known[0], without_it)
            _refuse(twice, known[0], with_it)


def _read_in_its_place(mixture, name: str, arrays, read) -> list[list[str]]:
    """Groups of inputs that an input without a reader may determine: each input that is read, and the inputs that one
    kernel computes from it, such as u, v and w from momenta."""
    given = [other for other in arrays if other in read]
    groups = [[other] for other in given]
    for kernel in serving(mixture.options):
        if name in kernel.reads:
            groups.append([other for other in given if other in kernel.writes])
    return [group for group in groups if group]


def _follows(mixture, name: str, given) -> bool:
    """Whether a quantity can be computed from others."""
    try:
        resolve([name], given, mixture.options)
    except ArgumentError:
        return False
    return True


def _refuse(wrong: bool, name: str, others) -> None:
    refuse(
        wrong,
        f"'{name}' was given beside {', '.join(others)}, from which it follows: they may contradict each other; leave "
        "one out.",
    )
