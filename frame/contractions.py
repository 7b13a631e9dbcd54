"""Contractions of a host: texts by name, a plan for each set of extents, calls on the host's own arrays.

A text is in Fortran's order of indices or in C's, see kernels/contractions/text.py. Extents come from the
arrays of a call. The first call with a set of extents compiles; the extent of the batch index is free. Arrays that
kernels reach are worked on where they are. Those of the host's memory are copied to a device and back.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import itertools

import numpy as np

import kernels
from kernels.contractions import Contraction, intrepid
from kernels.contractions.contraction import extents, shared
from kernels.contractions.text import Expression, Reference, parse
from kernels.marshal import Block

from .errors import ArgumentError, refuse
from .stripe import IN, INOUT, OUT, Field, listed
from .watch import KERNELS

SAID = {IN: "frame_in", OUT: "frame_out", INOUT: "frame_inout"}
PART = 1 << 20  # numbers of one copy: a buffer that is staged stays small


class Contractions:
    """Texts by name, and the plans that were made of them."""

    def __init__(self):
        self._texts: dict[str, str] = {}
        self._settled: set[str] = set()  # names whose texts stay until `finalize`: registered or used
        self._plans: dict[tuple, Contraction] = {}

    def register(self, name: str, text: str) -> None:
        """Give a text its name. Errors: ArgumentError for a text that cannot be read, a name that has another one."""
        with _told(name):
            for s in _parsed(text).statements:
                refuse(s.function, f"'{s}' is a map: its function in C++ can only be given in Python.")
            refuse(name in intrepid.NAMES, "this name is Intrepid's; take another one.")
            refuse(
                name in self._settled and _parsed(self._texts[name]) != _parsed(text),
                "it was registered with another text before; call frame_finalize first.",
            )
        self._texts[name] = text
        self._settled.add(name)

    def finalize(self) -> None:
        """Forget the plans; names may be registered with another text."""
        self._plans.clear()
        self._settled.clear()

    # ---- calls

    def fields(self, name: str, names: str, addresses, lengths, size: int):
        """The arrays of an old-style call: contiguous, extents one array after the other, the fastest first. Which are
        read and written is told by the text."""
        e = _parsed(self._text(name, ()))
        with _told(name):
            what = lambda word: (len(e.references[_known(e, word)][0].indices), _way(e, word))
            return listed(names, what, addresses, lengths, size)

    def run(self, name: str, fields: list[Field], impl):
        """Evaluate the contraction on these arrays; impl: the TVImpl of the calling thread.

        Returns what repeats the call on the same arrays, where it may be repeated. Errors: ArgumentError names the
        contraction, the array, the index, the found and the wanted extent. Nothing is written then.
        """
        text, backend = self._text(name, fields), impl.backend
        e = _parsed(text)
        with _told(name):
            given = _checked(e, fields)
            sizes, n = extents(e, {x: f.extent[::-1] for x, f in given.items()})
            if n == 0 and e.batch:
                return None
            dtype = np.dtype(f"f{fields[0].size}").name
            key = text, dtype, tuple(sorted(sizes.items())), backend  # a communicator may bring another device
            plan = self._plans.get(key)
            if plan is None:
                plan = self._plans[key] = Contraction(text, sizes, dtype, backend=backend)
            here = [x for x, f in given.items() if backend.reach(*f.range) == "own"]
            if len(here) < len(given):
                self._staged(name, plan, n, given, here, impl)
                return None
            run = plan.bind({x: _array(backend, f) for x, f in given.items()}, n)

        def again() -> None:
            impl.timed(KERNELS, "", name, n, 0, run)
            impl.settle()

        again()
        return again

    def _text(self, name: str, fields) -> str:
        """Registered, or one of Intrepid's nine, which add where `out` is read too."""
        if name in self._texts:
            self._settled.add(name)  # what repeats a call knows the text no more
            return self._texts[name]
        if name in intrepid.NAMES:
            return intrepid.text(name, {f.name: f.extent[::-1] for f in fields}, any(f.way == INOUT for f in fields))
        names = [*self._texts, *intrepid.NAMES]
        close = difflib.get_close_matches(name, names, 1)
        hint = f", did you mean '{close[0]}'" if close else ""
        registered = " ".join(self._texts) or "none"
        raise ArgumentError(
            f"unknown contraction '{name}'{hint}; registered: {registered}, and Intrepid's nine such as "
            f"{intrepid.NAMES[0]}. Is //char(0) missing?"
        )

    def _staged(self, name: str, plan: Contraction, n: int, given: dict[str, Field], here: list[str], impl) -> None:
        """A run on a device with arrays of the host's: all copies and the launch are queued, then one wait. Buffers
        stay for the next call. An array that is named constant is copied when its values change."""
        backend, e, marshal = impl.backend, plan.expression, impl.marshal
        fixed = {x: _array(kernels.get_backend("cpu"), given[x]) for x in sorted(e.constant) if x not in here}
        key = n, tuple(given[x] for x in here)
        kept = impl.contracted.get(id(plan))
        if kept is None or kept[0] != key or any(not np.array_equal(fixed[x], kept[3][x], True) for x in fixed):
            fixed = {x: a.copy() for x, a in fixed.items()}
            arrays = {}
            for x, f in given.items():
                if x in here:
                    arrays[x] = _array(backend, f)
                elif x in fixed:
                    arrays[x] = backend.from_host(fixed[x], plan.dtype)
                else:
                    arrays[x] = backend.empty(plan.shape(x, n), plan.dtype)
            kept = impl.contracted[id(plan)] = key, plan.bind(arrays, n), arrays, fixed
        _, run, arrays, _ = kept
        blocks = {x: _block(f) for x, f in given.items() if x not in here and x not in fixed}

        def copy(move, names) -> None:
            for x in names:
                flat = arrays[x].reshape(-1)
                for start in range(0, flat.size, PART):
                    part = flat[start : start + PART]
                    move(blocks[x], start, part.size, part)

        ranges = [b.range for b in blocks.values() if marshal.reach(b) != "own"]
        with backend.session(ranges) as lanes, lanes[0]:
            copy(marshal.gather, [x for x in blocks if given[x].way != OUT])
            impl.timed(KERNELS, "", name, n, 0, run)
            copy(marshal.scatter, [x for x in blocks if given[x].way != IN])
        impl.settle()


@contextlib.contextmanager
def _told(name: str):
    """Errors name the contraction."""
    try:
        yield
    except ArgumentError as error:
        raise ArgumentError(f"contraction '{name}': {error}") from error


@functools.lru_cache(64)
def _parsed(text: str) -> Expression:
    return parse(text)


def _fortran(r: Reference) -> str:
    return f"{r.name}({','.join(reversed(r.indices))})"


def _known(e: Expression, name: str) -> str:
    wanted = (*e.inputs, *e.outputs)
    refuse(name not in wanted, f"array '{name}' is not in the text, or local; it has {', '.join(wanted)}.")
    return name


def _way(e: Expression, name: str) -> int:
    return IN if name in e.inputs else INOUT if name in e.updated else OUT


def _checked(e: Expression, fields: list[Field]) -> dict[str, Field]:
    """Fields by name: all there, each once and in its way, of one kind, of the text's ranks, contiguous, apart."""
    given: dict[str, Field] = {}
    for f in fields:
        wanted = _way(e, _known(e, f.name))
        refuse(f.name in given, f"array '{f.name}' is given twice; what is read and written goes by frame_inout.")
        refuse(
            f.way != wanted,
            f"array '{f.name}' is given by {SAID[f.way]}, wanted {SAID[wanted]}: the text "
            + ("reads it." if wanted == IN else "assigns it (=)." if wanted == OUT else "adds to it (+= or -=)."),
        )
        given[f.name] = f
        first, r = fields[0], e.references[f.name][0]
        refuse(
            f.size != first.size,
            f"array '{f.name}' is real({f.size}), wanted real({first.size}) as '{first.name}' is.",
        )
        if not r.indices and f.extent == (1,):  # Fortran passes no number as an array
            given[f.name] = f._replace(extent=(), stride=(), lower=())
        elif len(f.extent) != len(r.indices):
            raise ArgumentError(
                f"array '{f.name}' has {len(f.extent)} dimensions ({_list(f.extent)}), wanted {len(r.indices)}: "
                f"{_fortran(r)}."
            )
    for name in (*e.inputs, *e.outputs):
        refuse(name not in given, f"array '{name}' is missing.")
    for f in given.values():
        _contiguous(e, f)
    there = {x: (f.address, f.extent[::-1], f.stride[::-1]) for x, f in given.items() if all(f.extent)}
    for name, other in itertools.product(there, there):
        if name != other and given[name].way != IN and shared(there[name], there[other], fields[0].size):
            raise ArgumentError(f"output '{name}' and array '{other}' share memory.")
    return given


def _contiguous(e: Expression, f: Field) -> None:
    """An array without gaps, but for those between entries where the batch index is the slowest."""
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


def _array(backend, f: Field):
    """What the kernels take: row-major, the fastest dimension last."""
    return backend.at(f.address, f.extent[::-1], f.stride[::-1], f"f{f.size}")


def _block(f: Field) -> Block:
    """All numbers of an array, in their order; the last dimension may have gaps."""
    n = f.extent[-1] if f.extent else 1
    inner = int(np.prod(f.extent[:-1], dtype=np.int64))
    step = f.stride[-1] // f.size if n > 1 else inner
    shape = inner, n, 1, 1
    return Block(f.address, shape, (1, step, 0, 0), (0,) * 4, shape, size=f.size)
