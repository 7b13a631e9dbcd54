"""The Python side of the C shim: every row of the table becomes an `extern "Python"` function that calls Frame."""

from __future__ import annotations

import math
import os
import sys
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from . import mpi
from .answers import answering
from .entry import ENTRIES
from .entry_words import Arg, Entry
from .errors import DONE, FAILED, BadNumber, UnknownName, status_of, text_of
from .frame import Frame
from .streams import lose_what_cannot_be_written
from .stripe import WHOLE, Field

NOT_GIVEN = -(2**63 - 1)  # the Fortran module passes it for an index that the host left out


def _warned(frame: Frame):
    """How a warning is printed: as a line of libframe, without a place in its Python sources. A warning
    about a file (UserWarning) is the same on all ranks, so rank 0 alone prints it."""

    def show(text, category, *_place, **_more) -> None:
        if frame.comm.rank == 0 or not issubclass(category, UserWarning):
            print(f"libframe: {text}", file=sys.stderr)

    return show


def serve(ffi, lib, build_folder: str, whose_python: str) -> Frame:
    """Bind the table to the Frame of this process. whose_python: a sentence for hosts that run Python themselves and
    whose Python lacks a package; "" for others."""
    lose_what_cannot_be_written()
    # os.fork takes the lock before it takes Python's for imports, which a thread inside libframe may wait for
    os.register_at_fork(before=lib.frame_lock, after_in_parent=lib.frame_unlock)
    mpi.libmpi_folder = os.path.join(build_folder, "mpich")
    frame = Frame()
    warnings.showwarning = _warned(frame)

    def message(error: BaseException) -> bytes:
        text = text_of(error)
        if isinstance(error, (UnknownName, BadNumber)) and not lib.frame_is_by_module():
            text += error.hint
        if isinstance(error, ImportError) and whose_python:
            text = f"{whose_python} {text}"

        return text.encode("utf-8", "replace")

    def on_error(_kind, error, _traceback):
        lib.frame_set_error(message(error))
        return status_of(error)

    mpi.agree = lib.frame_agree
    mpi.end_all = lambda error: lib.frame_end_all(message(error))

    for entry in ENTRIES:
        method = answering(ffi, entry, getattr(frame, entry.serves))
        function = _bind(ffi, entry, method, frame)
        ffi.def_extern(name=f"py_{entry.name}", error=FAILED, onerror=on_error)(function)
    return frame


class _Converter:
    """An argument of an entry point: `read` makes the Python value from the C values of the call.

    The key of a repeated call has the C value itself, or the memory that the value points to: a text, or a record.
    No pointer into the host's memory is used after the call, except by a repetition that passes the same addresses.
    """

    takes = 1  # number of C values
    is_text = False  # the key has the text at the address
    record = ""  # C type of the record at the address, whose bytes the key has; "": the key has the C value

    def __init__(self, ffi, arg: Arg, places: dict[str, int]):
        self.ffi = ffi
        self.at = places[arg.name]  # place of the first C value
        self.count_at: int | None = None  # place of the number of records; None: there is a single record
        self.dims = arg.dims
        self._places = places

    def read(self, values):
        return values[self.at]


class _Text(_Converter):
    is_text = True

    def read(self, values) -> str:
        return self.ffi.string(values[self.at]).decode("utf-8", "surrogateescape")  # as Python's names of files


class _Doubles(_Converter):
    """A double array in Fortran's order."""

    def read(self, values) -> np.ndarray:
        shape = tuple([self._extent(dim, values) for dim in self.dims])
        address = self.ffi.cast("double *", values[self.at])
        buffer = self.ffi.buffer(address, 8 * math.prod(shape))

        return np.frombuffer(buffer, dtype=np.float64).reshape(shape, order="F")

    def _extent(self, dim: str, values) -> int:
        """An extent of the array: a number, or the value of another argument."""
        return int(dim) if dim.isdigit() else values[self._places[dim]]


class _Addresses(_Converter):
    record = "intptr_t"

    def __init__(self, ffi, arg: Arg, places: dict[str, int]):
        super().__init__(ffi, arg, places)
        self.count_at = places[arg.dims[0]]

    def read(self, values) -> list[int]:
        return self.ffi.unpack(values[self.at], values[self.count_at])


class _Integers(_Addresses):
    record = "int"


class _Fields(_Converter):
    """Records of arrays, then their number."""

    takes = 2
    record = "struct frame_field"

    def __init__(self, ffi, arg: Arg, places: dict[str, int]):
        super().__init__(ffi, arg, places)
        self.count_at = self.at + 1

    def read(self, values) -> list[Field]:
        records, count = values[self.at], values[self.count_at]
        return [self._field(records[number]) for number in range(count)]

    def _field(self, record) -> Field:
        unpack, rank = self.ffi.unpack, record.rank

        return Field(
            name=self.ffi.string(record.tag).decode("ascii"),
            way=record.way % WHOLE,
            address=record.address,
            extent=tuple(unpack(record.extent, rank)),
            stride=tuple(unpack(record.stride, rank)),
            lower=tuple(unpack(record.lower, rank)),
            size=record.size,
            kind="fil"[record.way // WHOLE],
        )


class _Corner(_Converter):
    """Four indices. An index that the host left out is None."""

    record = "int64_t[4]"

    def read(self, values) -> tuple[int | None, ...]:
        indices = self.ffi.unpack(values[self.at], 4)
        return tuple([None if index == NOT_GIVEN else index for index in indices])


CONVERTERS: dict[str, type[_Converter]] = {
    "int": _Converter,
    "double": _Converter,
    "handle": _Converter,
    "pointer": _Converter,
    "address": _Converter,
    "block": _Converter,
    "number": _Converter,  # answers come as addresses: answers.py writes there
    "words": _Converter,
    "place": _Converter,
    "function": _Converter,
    "tag": _Text,
    "text": _Text,
    "lines": _Text,
    "doubles": _Doubles,
    "addresses": _Addresses,
    "ints": _Integers,
    "fields": _Fields,
    "corner": _Corner,
}


def _converters(ffi, entry: Entry) -> list[_Converter]:
    """A converter for each argument, in the order of the arguments."""
    places: dict[str, int] = {}
    place = 0
    for arg in entry.args:
        places[arg.name] = place
        place += CONVERTERS[arg.kind].takes

    return [CONVERTERS[arg.kind](ffi, arg, places) for arg in entry.args]


def _bind(ffi, entry: Entry, method: Callable, frame: Frame):
    """The C function of an entry point: converts the arguments and calls the method."""
    converters = _converters(ffi, entry)
    if entry.repeats:
        return _bind_repeated(ffi, entry, converters, method, frame)

    plain = [type(converter) is _Converter for converter in converters]
    if all(plain):

        def numbers(*values):
            method(*values)
            return DONE

        return numbers

    if entry.args[0].kind == "tag" and all(plain[1:]):
        string = ffi.string  # a local name is looked up faster: frame_launch is called for every chunk

        def name_and_numbers(tag, *values):
            method(string(tag).decode("ascii"), *values)
            return DONE

        return name_and_numbers

    def any_values(*values):
        method(*[converter.read(values) for converter in converters])
        return DONE

    return any_values


class _KeyParts(NamedTuple):
    """Places of the C values that stand for memory of the call. The key of the call has a copy of the memory."""

    texts: list[int]
    records: list[tuple[int, int]]  # (place, bytes)
    lists: list[tuple[int, int, int]]  # (place, place of the number of records, bytes of a record)


def _key_parts(ffi, converters: list[_Converter]) -> _KeyParts:
    parts = _KeyParts([], [], [])
    for converter in converters:
        at, count_at = converter.at, converter.count_at
        nbytes = ffi.sizeof(converter.record) if converter.record else 0

        if converter.is_text:
            parts.texts.append(at)
        elif nbytes and count_at is None:
            parts.records.append((at, nbytes))
        elif nbytes and count_at is not None:
            parts.lists.append((at, count_at, nbytes))

    return parts


def _bind_repeated(ffi, entry: Entry, converters: list[_Converter], method: Callable, frame: Frame):
    """The C function of an entry point whose method returns the bound call.

    The bound call is kept under the arguments, without the arguments that may vary. Every microsecond of a repetition
    counts: a device waits for the next launch. So the key is made here, and no function of Python is called for it.
    """
    string, buffer = ffi.string, ffi.buffer
    texts, records, lists = _key_parts(ffi, converters)
    name = entry.name

    # The varying arguments stand one behind the other.
    varying = [c.at for arg, c in zip(entry.args, converters) if arg.name in entry.varies]
    first = min(varying, default=0)
    after = first + len(varying)

    def repeated(*values):
        key = [*values, name]
        for at in texts:
            key[at] = string(key[at])
        for at, nbytes in records:
            key[at] = buffer(key[at], nbytes)[:]
        for at, count_at, nbytes in lists:
            key[at] = buffer(key[at], nbytes * key[count_at])[:]
        if varying:
            del key[first:after]

        arguments = tuple(key)
        memory = frame.memory
        call = memory.get(arguments)
        if call is not None:
            call(*values[first:after])
            return DONE

        call = method(*[converter.read(values) for converter in converters])
        if call is not None:
            memory.keep(arguments, call)
        return DONE

    return repeated
