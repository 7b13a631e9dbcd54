"""Launchers: compiled kernels and collections with their names and views."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import kernels

from ..errors import MIXTURE_CALLS, ArgumentError, StateError, UndeclaredError, check_known, refuse
from ..watch import COPIES_IN, COPIES_OUT, KERNELS, Label
from .shared import Shared
from .staleness import Staleness
from .state import ThreadState
from .views import VELOCITY, Views


class Launcher:
    """A program bound to views.

    name: as hosts call it. reads, writes: views. run[first](n) launches n points from column `first` of the views.
    groups: (sources, results) pairs of views; the results depend on these inputs, through all kernels of the launch.
    """

    def __init__(self, name: str, program, views: dict):
        self.name = name
        self.label = Label(KERNELS, name)  # of its timer
        self.program = program
        self.reads = tuple(views[q] for q in program.reads)
        self.writes = tuple(views[q] for q in program.writes)
        self.run = _Columns(program, views)

        groups = []
        for sources, results in _ancestry(program).items():
            groups.append((tuple([views[q] for q in sources]), tuple([views[q] for q in results])))

        self.groups = tuple(groups)


class Transfer(NamedTuple):
    """Copies between a host and a device, before or after a launch."""

    run: Callable[[], None]
    nbytes: int


class ArrayLauncher:
    """A launch on whole arrays of a host: a contraction or a team kernel, with its copies if a device needs them.

    name: as hosts call it, in the timers too. items: points or entries that the timers count. launch(): the kernels.
    put, get: copies to the device and back; None: there are none.
    """

    def __init__(
        self,
        state: ThreadState,
        name: str,
        items: int,
        launch: Callable[[], object],
        put: Transfer | None = None,
        get: Transfer | None = None,
    ):
        self.state, self.items = state, items
        self.coming = Label(COPIES_IN, f"put {name}")
        self.working = Label(KERNELS, name)
        self.leaving = Label(COPIES_OUT, f"get {name}")
        self.launch, self.put, self.get = launch, put, get

    def queue(self) -> None:
        """Queue the copies and the launch, each under its name in the timers."""
        timed = self.state.timed
        if self.put:
            timed(self.coming, self.items, self.put.nbytes, self.put.run)
        timed(self.working, self.items, 0, self.launch)
        if self.get:
            timed(self.leaving, self.items, self.get.nbytes, self.get.run)

    def __call__(self) -> None:
        """Queue all, then wait as the state's queues do after a call."""
        self.queue()
        self.state.queues.settle()


class _Columns(dict):
    """{first column of the views: run(n)}, bound at its first use."""

    def __init__(self, program, views):
        super().__init__()
        self.program = program
        self.views = views
        self[0]  # an array that does not fit is refused here, not at the first launch

    def __missing__(self, first: int):
        arrays = {name: view.array[..., first:] for name, view in self.views.items()}
        run = self[first] = self.program.bind(arrays)
        return run


def _ancestry(program) -> dict[tuple, list]:
    """{names of inputs: names of the results computed from them}. An input that the launch overwrites is left out: the
    old values are gone, so a later change of the input cannot be seen."""
    came_from: dict[str, set] = {}
    for name in program.kernels:
        kernel = kernels.registry.kernels[name]
        sources = set().union(*(came_from.get(read, {read}) for read in kernel.reads))
        came_from.update(dict.fromkeys(kernel.writes, sources))

    kept = [q for q in program.reads if q not in program.writes]
    groups: dict[tuple, list] = {}
    for write in program.writes:
        sources_kept = tuple([q for q in kept if q in came_from[write]])
        groups.setdefault(sources_kept, []).append(write)

    return groups


@functools.lru_cache(None)
def _optional(collection, asked: bool) -> tuple[tuple[str, ...], ...]:
    """Groups of inputs that a collection uses if the host has filled them. A collection that computes h also computes
    h0 if there are velocities. asked: whether the caller names the outputs, h0 perhaps among them."""
    if collection is None:
        return ()

    # A start that a host carries from call to call is used with all that belongs to it.
    quantities = kernels.quantities
    carried = [name for name in collection.optional if quantities[name].carried]
    groups: list[tuple[str, ...]] = [(name,) for name in collection.optional if name not in carried]
    if carried:
        groups.append(collection.optional)
    total_enthalpy = "h" in collection.outputs and "h0" not in collection.outputs
    is_made = VELOCITY[0] in collection.outputs  # of momenta: a velocity beside them would not count
    if (asked or total_enthalpy) and not is_made:
        groups.append(VELOCITY)

    return tuple(groups)


def variants(name: str, asked: bool = False) -> list[tuple[str, ...]]:
    """The values that `more` of Launchers.find may take: nothing, then each group of optional inputs."""
    collection = kernels.registry.collections.get(kernels.registry.name_of(name))
    return [(), *_optional(collection, asked)]


def known_inputs(name: str) -> tuple[str, ...]:
    """The inputs of a collection or kernel, optional ones included; none of an unknown name."""
    registry, reads = kernels.registry, []
    if name in registry.collections:
        collection = registry.collections[name]
        reads = [*collection.given, *itertools.chain(*_optional(collection, True))]
    elif name in registry.kernels:
        kernel = registry.kernels[name]
        reads = [*kernel.reads, *(read.rstrip("?") for read in kernel.order)]
    return tuple(dict.fromkeys(reads))


def check_launchable(name: str) -> None:
    """Raises ArgumentError, with the nearest name, unless a kernel or a collection has this name."""
    refuse(
        name in kernels.registry.team_kernels,
        f"'{name}' is a team kernel, which works on whole arrays: call frame_block('{name}', [frame_in('A', A), ...]).",
    )
    known = [*kernels.registry.collections, *kernels.registry.kernels]
    check_known("kernel or collection", name, known)


def makers(name: str) -> list[str]:
    """Collections, then kernels, that compute a quantity and do not read it."""
    found = []
    for collection in kernels.registry.collections.values():
        if name in collection.outputs and name not in collection.given:
            found.append(collection.name)

    for kernel in kernels.registry.kernels.values():
        if name in kernel.writes and name not in kernel.reads:
            found.append(kernel.name)

    return found


class Fields(NamedTuple):
    """The quantities of a launch."""

    reads: tuple[str, ...]
    writes: tuple[str, ...]


class Launchers(dict[tuple, Launcher]):
    """{(name, optional inputs) or (name, optional inputs, outputs), "check" behind it in check mode: Launcher}. A
    launcher is compiled and bound when it is first named, and kept."""

    def __init__(self, shared: Shared, views: Views, staleness: Staleness):
        super().__init__()
        self._shared = shared
        self._views = views
        self._staleness = staleness

    def find(self, name: str, more: tuple[str, ...] | None, asked: frozenset[str] | None) -> Launcher:
        """The launcher of a kernel, a collection or an alias.

        more: optional inputs in use; None: the optional inputs that the host has filled for this stripe. asked: the
        outputs wanted; None: all that the collection lists. Errors: ArgumentError lists the names that may be
        launched, or names an output that cannot be computed; StateError if only a mixture is missing.
        """
        name = kernels.registry.name_of(name)
        if more is None:
            more = self._filled_optional(name)

        key = self._key(name, more, asked)
        found = self.get(key)

        if found is None:
            found = self[key] = self._make(key, name, more, asked)

        return found

    def fields(self, name: str, more: tuple[str, ...], asked: frozenset[str]) -> Fields:
        """The fields that a launch reads and writes, without a compilation. Arguments and errors: as find."""
        name, plans = kernels.registry.name_of(name), self._shared.plans
        key = self._key(name, more, asked)

        if key not in plans:
            with self._before_a_mixture(name):
                mixture, wanted = self._wanted(name, more, asked)
                plan = wanted.plan(mixture, self._shared.precision)
            plans[key] = Fields(plan.reads, plan.writes)

        return plans[key]

    def _key(self, name: str, more: tuple[str, ...], asked: frozenset[str] | None) -> tuple:
        key = (name, more) if asked is None else (name, more, asked)
        return (*key, "check") if self._shared.check.on else key

    def _filled_optional(self, name: str) -> tuple[str, ...]:
        found: list[str] = []
        for group in _optional(kernels.registry.collections.get(name), False):
            if all(map(self._staleness.holds, group)):
                found += group
        return tuple(dict.fromkeys(found))

    def _make(self, key: tuple, name: str, more: tuple[str, ...], asked: frozenset[str] | None) -> Launcher:
        check_launchable(name)
        shared = self._shared

        with self._before_a_mixture(name):
            program = shared.programs.get(key) or shared.programs.setdefault(key, self._program(name, more, asked))

        views = {q: self._views[q] for q in (*program.reads, *program.writes)}
        return Launcher(name, program, views)

    @contextlib.contextmanager
    def _before_a_mixture(self, name: str) -> Iterator[None]:
        """An ArgumentError becomes a StateError where only a mixture is missing."""
        try:
            yield
        except ArgumentError as error:
            if self._shared.mixture is not None or isinstance(error, UndeclaredError):
                raise
            raise StateError(f"launch of '{name}' before a mixture: call {MIXTURE_CALLS} ({error})") from error

    def _program(self, name: str, more: tuple[str, ...], asked: frozenset[str] | None) -> kernels.Program:
        mixture, wanted = self._wanted(name, more, asked)
        return kernels.Program(mixture, wanted, self._shared.backend, self._shared.precision)

    def _wanted(self, name: str, more: tuple[str, ...], asked: frozenset[str] | None):
        """(the mixture in this mode, what a launch is to compute)"""
        shared = self._shared
        mixture = shared.mixture or kernels.Mixture(kernels.NoSpecies(shared.ns))
        if shared.check.on:
            mixture = mixture.in_check_mode
        collection = kernels.registry.collections.get(name)

        if collection is None:
            kernel = kernels.registry.kernels[name]
            strange = sorted((asked or set()) - {*kernel.reads, *kernel.writes})
            refuse(strange, f"kernel '{name}' makes {', '.join(kernel.writes)}, not {', '.join(strange)}.")
            return mixture, kernels.Wanted(kernels=[name])

        if asked is None:
            outputs = list(collection.outputs)
            if "h" in outputs and VELOCITY[0] in more:
                outputs.append("h0")
        else:  # in a fixed order: the same outputs in any order are the same program
            order = dict.fromkeys((*collection.outputs, *kernels.quantities))
            outputs = [q for q in order if q in asked]

        given = list(dict.fromkeys([*collection.given, *more]))
        if shared.check.on:
            outputs += mixture.statuses_beside(outputs, given)

        return mixture, kernels.Wanted(outputs, given, name=name)
