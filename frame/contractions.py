"""Contractions of a host: texts by name, a plan for each set of extents, calls on the host's own arrays.

A text is in Fortran's order of indices or in C's, see kernels/contractions/text.py. Its lines may name organisation,
order of evaluation, and headers with the functions of maps: how, order, header. Extents come from the arrays of a call.
The first call with a set of extents compiles, but for the extent of the batch index; with a line `free` the first call
alone. Arrays that kernels reach are worked on where they are. Other arrays are copied to a device and back.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import itertools
from typing import cast

import numpy as np

from kernels.contractions import Contraction, FreeContraction, intrepid
from kernels.contractions.expression import Expression, Reference
from kernels.contractions.operands import Span, extents, shared
from kernels.contractions.organisations import refuse_unknown
from kernels.contractions.text import of_file, read

from .errors import ArgumentError, UnknownName, refuse
from .impl import TVImpl
from .impl.launchers import ArrayLauncher
from .impl.memory import Bound
from .staged import Call, Staged, array, block
from .stripe import IN, INOUT, OUT, Field, Listed, listed, refuse_whole

SAID = {IN: "frame_in", OUT: "frame_out", INOUT: "frame_inout"}
DOES = {IN: "reads it", OUT: "assigns it (=)", INOUT: "adds to it (+= or -=)"}
KEPT = 256  # plans of sets of extents


class Contractions:
    """Texts by name, and the plans that were made of them."""

    def __init__(self):
        self._texts: dict[str, str] = {}
        self._settled: set[str] = set()  # names whose texts stay until `finalize`: registered or used
        self._plans: dict[tuple, Contraction] = {}
        self._free: dict[tuple, FreeContraction] = {}  # of texts with a line `free`

    def register(self, name: str, text: str) -> None:
        """Give a text, or the text of a file, its name. Errors: ArgumentError for a text that cannot be read, or a name
        that has another text."""
        text = of_file(text) or text
        with _named(name):
            script = read(text)
            if script.how:
                refuse_unknown(script.how)
            for s in script.expression.statements:
                refuse(
                    s.function and not script.headers,
                    f"'{s}' is a map: name the file of C++ that has its function, in a line 'header FILE'.",
                )
            refuse(name in intrepid.NAMES, "this name is Intrepid's; take another one.")
            refuse(
                name in self._settled and read(self._texts[name]) != read(text),
                "it was registered with another text before; call frame_finalize first.",
            )

        self._texts[name] = text
        self._settled.add(name)

    def finalize(self) -> None:
        """Forget the plans; names may be registered with another text."""
        self._plans.clear()
        self._free.clear()
        self._settled.clear()

    # ---- calls

    def fields(self, name: str, arrays: Listed) -> list[Field]:
        """The arrays of an old-style call. The text says which arrays are read and which are written."""
        expression = _parsed(self._text(name, ()))

        def rank_and_way(word: str) -> tuple[int, int]:
            reference = expression.references[_known(expression, word)][0]
            return len(reference.indices), _way(expression, word)

        with _named(name):
            return listed(arrays, rank_and_way)

    def run(self, name: str, fields: list[Field], impl: TVImpl) -> Bound | None:
        """Evaluate the contraction on these arrays, by the calling thread's TVImpl.

        Returns the call for repetition on the same arrays; None if the batch is empty. Errors: ArgumentError names the
        contraction, the array, the index, the found and the wanted extent. Nothing is written then.
        """
        text = self._text(name, fields)
        expression = _parsed(text)

        with _named(name):
            refuse_whole(fields)
            given = _checked(expression, fields)
            sizes, n = extents(expression, {x: f.extent[::-1] for x, f in given.items()})
            read(text).check({**sizes, expression.batch: n})
            if n == 0 and expression.batch:
                return None

            plan = self._plan(text, sizes, fields[0].size, impl.backend)
            call = Bound(impl.shared, impl.marshal.reach, lambda: _bound(Call(name, plan, n, given), impl))
            call()

        return call

    def _plan(self, text: str, sizes: dict[str, int], size: int, backend) -> Contraction:
        dtype = np.dtype(f"f{size}").name
        kind = text, dtype, backend  # a communicator may bring another device
        if read(text).free:
            if kind not in self._free:
                self._free[kind] = FreeContraction(text, dtype, backend)
            return cast(Contraction, self._free[kind].of(**sizes))  # of real numbers

        key = *kind, tuple(sorted(sizes.items()))
        plan = self._plans.get(key)
        if plan is None:
            while len(self._plans) >= KEPT:
                self._plans.pop(next(iter(self._plans)))
            plan = self._plans[key] = Contraction(text, sizes, dtype, backend=backend)

        return plan

    def _text(self, name: str, fields) -> str:
        """The text of a registered name, or of a name of Intrepid's, which adds if the output is read too."""
        if name in self._texts:
            self._settled.add(name)  # a bound call no longer knows the text
            return self._texts[name]

        if name in intrepid.NAMES:
            return intrepid.text(name, {f.name: f.extent[::-1] for f in fields}, any(f.way == INOUT for f in fields))

        names = [*self._texts, *intrepid.NAMES]
        close = difflib.get_close_matches(name, names, 1)
        hint = f", did you mean '{close[0]}'" if close else ""
        registered = " ".join(self._texts) or "none"
        raise UnknownName(
            f"unknown contraction '{name}'{hint}; registered: {registered}, and Intrepid's nine such as "
            f"{intrepid.NAMES[0]}."
        )


def _bound(call: Call, impl: TVImpl):
    """(run(), blocks of the arrays): the launch on the arrays, if kernels reach all of them, else with copies."""
    backend, given = impl.backend, call.given
    blocks = {x: block(f) for x, f in given.items()}
    here = [x for x, f in given.items() if f.reach(backend) == "own"]

    if len(here) < len(given):
        return Staged(call, here, blocks, impl).run, list(blocks.values())

    launch = call.plan.bind({x: array(backend, f) for x, f in given.items()}, call.n)
    return ArrayLauncher(impl.state, call.name, call.n, launch), list(blocks.values())


@contextlib.contextmanager
def _named(name: str):
    """Errors name the contraction."""
    try:
        yield
    except ArgumentError as error:
        raise ArgumentError(f"contraction '{name}': {error}") from error


@functools.lru_cache(64)
def _parsed(text: str) -> Expression:
    return read(text).expression


def _fortran(r: Reference) -> str:
    return f"{r.name}({','.join(reversed(r.indices))})"


def _known(e: Expression, name: str) -> str:
    wanted = (*e.inputs, *e.outputs)
    refuse(name not in wanted, f"array '{name}' is not in the text, or local; it has {', '.join(wanted)}.")
    return name


def _way(e: Expression, name: str) -> int:
    if name in e.inputs:
        return IN
    return INOUT if name in e.updated else OUT


def _checked(e: Expression, fields: list[Field]) -> dict[str, Field]:
    """Fields by name. Raises ArgumentError unless all arrays of the text are there, each once and in its way, of one
    kind, of the text's ranks, contiguous, and apart."""
    given: dict[str, Field] = {}
    for field in fields:
        wanted = _way(e, _known(e, field.name))
        refuse(
            field.name in given, f"array '{field.name}' is given twice; what is read and written goes by frame_inout."
        )
        refuse(
            field.way != wanted,
            f"array '{field.name}' is given by {SAID[field.way]}, wanted {SAID[wanted]}: the text {DOES[wanted]}.",
        )
        given[field.name] = _of_rank(e, field, fields[0])

    for name in (*e.inputs, *e.outputs):
        refuse(name not in given, f"array '{name}' is missing.")
    for field in given.values():
        _contiguous(e, field)

    _refuse_shared(given, fields[0].size)

    return given


def _of_rank(e: Expression, field: Field, first: Field) -> Field:
    """The field, with as many dimensions as the text's array has indices."""
    refuse(
        field.size != first.size,
        f"array '{field.name}' is real({field.size}), wanted real({first.size}) as '{first.name}' is.",
    )
    reference = e.references[field.name][0]
    if not reference.indices and field.extent == (1,):  # Fortran passes no number as an array
        return field._replace(extent=(), stride=(), lower=())

    if len(field.extent) != len(reference.indices):
        raise ArgumentError(
            f"array '{field.name}' has {len(field.extent)} dimensions ({_list(field.extent)}), wanted "
            f"{len(reference.indices)}: {_fortran(reference)}."
        )

    return field


def _refuse_shared(given: dict[str, Field], size: int) -> None:
    """Raises ArgumentError for an output that shares memory with another array."""
    places = {x: Span.of(f.address, f.extent[::-1], f.stride[::-1]) for x, f in given.items() if all(f.extent)}
    for name, other in itertools.permutations(places, 2):
        if given[name].way != IN and shared(places[name], places[other], size):
            raise ArgumentError(f"output '{name}' and array '{other}' share memory.")


def _contiguous(e: Expression, f: Field) -> None:
    """Raises ArgumentError for an array with gaps. Gaps between entries are allowed if the batch index is the
    slowest."""
    if not all(f.extent):
        return

    expected, indices = f.size, e.references[f.name][0].indices[::-1]
    last = len(indices) - 1 if indices and e.batch_place(f.name) == 0 else -1

    for d, (index, extent, stride) in enumerate(zip(indices, f.extent, f.stride)):
        apart = d == last and stride > expected and stride % f.size == 0
        if extent > 1 and stride != expected and not apart:
            raise ArgumentError(
                f"array '{f.name}' is not contiguous: neighbours along index '{index}' are {stride} bytes apart, "
                f"wanted {expected}" + (" or more." if d == last else ".") + " Pass a copy."
            )

        expected *= extent


def _list(extent) -> str:
    return ", ".join(map(str, extent))
