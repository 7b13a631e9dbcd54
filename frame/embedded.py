"""The Python side of the C shim: every row of the table becomes an `extern "Python"` function that calls Frame."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Callable

import numpy as np

from . import mpi
from .answers import answering
from .entry import ENTRIES, Arg, Entry
from .errors import DONE, FAILED, status_of, text_of
from .frame import Frame
from .stripe import Field

NOT_GIVEN = -(2**63 - 1)  # the Fortran module passes it for an index that the host left out
CORNER = 32  # bytes of four indices


class _Stream(io.FileIO):
    """Standard output or error of the host. Closed, full or without a reader, it loses what is written."""

    def write(self, data) -> int:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGPIPE])
        try:
            return super().write(data) or 0
        except OSError:
            signal.sigtimedwait([signal.SIGPIPE], 0)  # what a pipe without a reader sent to this thread
            return len(data)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _stream(number: int) -> io.TextIOWrapper:
    try:
        raw = _Stream(number, "w", closefd=False)
    except OSError:
        raw = _Stream(os.devnull, "w")
    return io.TextIOWrapper(raw, "utf-8", "backslashreplace", write_through=True)


def serve(ffi, lib, build_folder: str) -> Frame:
    """Bind the table to the Frame of this process."""
    sys.stdout, sys.stderr = _stream(1), _stream(2)
    # os.fork takes the lock before it takes Python's for imports, which a thread inside libframe may wait for
    os.register_at_fork(before=lib.frame_lock, after_in_parent=lib.frame_unlock)
    mpi.libmpi_folder = os.path.join(build_folder, "mpich")
    frame = Frame()

    def on_error(_kind, error, _traceback):
        lib.frame_set_error(text_of(error).encode("utf-8", "replace"))
        return status_of(error)

    for entry in ENTRIES:
        method = answering(ffi, entry, getattr(frame, entry.serves))
        function = _bind(ffi, entry, method, frame)
        ffi.def_extern(name=f"py_{entry.name}", error=FAILED, onerror=on_error)(function)
    return frame


class _Converter:
    """An argument of an entry point: `read` makes the Python value of it, `key` a value that identifies it.

    at: place of its first value among the C values of the call. No pointer into the host's memory is used after the
    call, except by a repetition that passes the same addresses.
    """

    takes = 1  # C values

    def __init__(self, ffi, arg: Arg, places: dict[str, int]):
        self.ffi = ffi
        self.string = ffi.string
        self.buffer = ffi.buffer
        self.at = places[arg.name]
        self.dims = arg.dims
        self._places = places

    def length(self, dim: str, values) -> int:
        """An extent of an array: a number, or the value of another argument."""
        return int(dim) if dim.isdigit() else values[self._places[dim]]

    def key(self, values):
        return values[self.at]

    def read(self, values):
        return values[self.at]


class _Text(_Converter):
    def key(self, values) -> bytes:
        return self.string(values[self.at])

    def read(self, values) -> str:
        return self.key(values).decode("utf-8", "replace")


class _Doubles(_Converter):
    """A double array in Fortran's order."""

    def read(self, values) -> np.ndarray:
        shape = tuple([self.length(dim, values) for dim in self.dims])
        address = self.ffi.cast("double *", values[self.at])
        buffer = self.ffi.buffer(address, 8 * int(np.prod(shape)))
        return np.frombuffer(buffer, dtype=np.float64).reshape(shape, order="F")


class _List(_Converter):
    """An array of integers or addresses."""

    def key(self, values) -> tuple:
        return tuple(self.read(values))

    def read(self, values) -> list:
        return self.ffi.unpack(values[self.at], self.length(self.dims[0], values))


class _Fields(_Converter):
    """Records of arrays, then their number."""

    takes = 2

    def __init__(self, ffi, arg: Arg, places: dict[str, int]):
        super().__init__(ffi, arg, places)
        self._size = ffi.sizeof("struct frame_field")

    def key(self, values) -> bytes:
        return bytes(self.buffer(values[self.at], self._size * values[self.at + 1]))

    def read(self, values) -> list[Field]:
        records = values[self.at]
        return [self._field(records[number]) for number in range(values[self.at + 1])]

    def _field(self, record) -> Field:
        unpack, rank = self.ffi.unpack, record.rank
        return Field(
            name=self.ffi.string(record.tag).decode("ascii"),
            way=record.way,
            address=record.address,
            extent=tuple(unpack(record.extent, rank)),
            stride=tuple(unpack(record.stride, rank)),
            lower=tuple(unpack(record.lower, rank)),
            size=record.size,
        )


class _Corner(_Converter):
    """Four indices, None where the host has not given one."""

    def key(self, values) -> bytes:
        return bytes(self.buffer(values[self.at], CORNER))

    def read(self, values) -> tuple[int | None, ...]:
        indices = self.ffi.unpack(values[self.at], 4)
        return tuple([None if index == NOT_GIVEN else index for index in indices])


CONVERTERS: dict[str, type[_Converter]] = {
    "int": _Converter,
    "double": _Converter,
    "handle": _Converter,
    "address": _Converter,
    "number": _Converter,  # answers come as addresses: answers.py writes there
    "words": _Converter,
    "tag": _Text,
    "text": _Text,
    "lines": _Text,
    "doubles": _Doubles,
    "addresses": _List,
    "ints": _List,
    "fields": _Fields,
    "corner": _Corner,
}


def _converters(ffi, entry: Entry) -> list[_Converter]:
    """One for each argument, in their order."""
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
        return _bind_repeated(entry, converters, method, frame)

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


def _bind_repeated(entry: Entry, converters: list[_Converter], method: Callable, frame: Frame):
    """The same for a method that returns the bound call, which is kept under the arguments, less those that may vary.
    Every microsecond of a repetition counts: the device waits for the next launch."""
    varying = [c.at for arg, c in zip(entry.args, converters) if arg.name in entry.varies]
    keyed = [c for arg, c in zip(entry.args, converters) if arg.name not in entry.varies]
    converted = [(c.at, c.key) for c in keyed if type(c) is not _Converter]
    name, number = entry.name, len(varying)
    first = min(varying, default=0)
    after = first + number  # the varying arguments stand one behind the other

    def repeated(*values):
        key = [name, *values]
        for at, key_of in converted:
            key[at + 1] = key_of(values)
        if number:
            del key[first + 1 : after + 1]
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
