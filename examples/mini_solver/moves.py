"""Boxes of values to other boxes, many in one launch (kernels/moves.h): fringes, messages, walls. And the largest value
of rows."""

from __future__ import annotations

import dataclasses

import cffi
import numpy as np

from kernels.backend import cpu, cuda

from .stencil import HERE, LAYER

MOST_PARTS, THREADS = 24, 128  # so many parts are 3.6 of the 4 KiB that a launch takes along
PART = np.dtype(
    [
        ("from", np.int64),
        ("to", np.int64),
        ("from_row", np.int64),
        ("to_row", np.int64),
        ("from_stride", np.int64, 3),
        ("to_stride", np.int64, 3),
        ("cells", np.int64, 3),
        ("rows", np.int64),
        ("from_slot", np.int64),
        ("to_slot", np.int64),
        ("start", np.int64),
        ("factor", np.float64),
        ("added", np.float64),
    ]
)
MOVES = np.dtype([("part", PART, MOST_PARTS), ("parts", np.int64), ("total", np.int64), ("count", np.int64)])
SIGNAL = np.dtype(
    [
        ("theirs", np.int64, 2),
        ("mine", np.int64, 2),
        ("count", np.int64),
        ("late", np.int64),
        ("alarm", np.int64),
        ("post", np.int64),
        ("wait", np.int64),
        ("patience", np.int64),
    ]
)
ffi = cffi.FFI()
ffi.cdef(
    "void move_boxes(const void *moves); void largest(const double *values, long ld, long n, long rows, unsigned long "
    "long *out);"
)


def source(on_cuda):
    """(C++, the headers it includes)."""
    text = f'#define MOST_PARTS {MOST_PARTS}\n#include "numbers/platform.h"\n' + (HERE / "moves.h").read_text()
    return text, [LAYER / "numbers" / "platform.h"], [str(LAYER)]


def code(backend):
    """The compiled kernels, one for each backend."""
    if backend not in _codes:
        text, depends, folders = source(backend.name == "cuda")
        if backend.name == "cpu":
            _codes[backend] = ffi.dlopen(str(cpu.shared_object(text, depends, "flow-moves")))
        else:
            _codes[backend] = backend._load(cuda.machine_code(text, backend.arch, "flow-moves", folders, depends))
    return _codes[backend]


_codes: dict = {}


@dataclasses.dataclass
class Box:
    """Where (rows, nz, ny, nx) float64 values lie: an address, and strides in elements, which may be negative or 0.
    slot: how much further they lie for messages of odd number."""

    address: int
    shape: tuple
    strides: tuple
    slot: int = 0

    @classmethod
    def of(cls, view):
        address = view.ctypes.data if isinstance(view, np.ndarray) and not hasattr(view.data, "ptr") else view.data.ptr
        return cls(address, view.shape, tuple(s // 8 for s in view.strides))

    @classmethod
    def packed(cls, address, shape, slot=0):
        return cls(address, tuple(shape), tuple(int(np.prod(shape[k + 1 :])) for k in range(4)), slot)


class Moves:
    """One launch. parts: (to, from) or (to, from, factor, added), views of arrays (rows, nz, ny, nx) or Boxes of one
    shape; `from` may have 1 where `to` has more. No part may read what another writes. count: device address of the
    number of messages, for slots."""

    def __init__(self, backend, parts, keep=(), count=0):
        self._filled, self._keep, total = np.zeros(1, MOVES), (parts, keep), 0
        if not 0 < len(parts) <= MOST_PARTS:
            raise ValueError(f"{len(parts)} parts in one launch; wanted 1 to {MOST_PARTS}.")
        for k, (to, source, *how) in enumerate(parts):
            to, source = (b if isinstance(b, Box) else Box.of(b) for b in (to, source))
            part, cells = self._filled["part"][0, k : k + 1], int(np.prod(to.shape[1:]))
            if any(n not in (1, m) for n, m in zip(source.shape, to.shape)) or not 0 < cells < 2**31:
                raise ValueError(f"part {k}: from {source.shape} to {to.shape} values.")
            steps = [0 if n == 1 else s for n, s in zip(source.shape, source.strides)]
            part["from"], part["to"], part["from_row"], part["to_row"] = (
                source.address,
                to.address,
                steps[0],
                to.strides[0],
            )
            part["from_stride"], part["to_stride"], part["cells"] = steps[:0:-1], to.strides[:0:-1], to.shape[:0:-1]
            part["rows"], part["start"], part["from_slot"], part["to_slot"] = to.shape[0], total, source.slot, to.slot
            part["factor"], part["added"] = how or (1.0, 0.0)
            total += cells
        self._filled["parts"], self._filled["total"], self._filled["count"] = len(parts), total, count
        if backend.name == "cpu":
            run, pointer = code(backend).move_boxes, ffi.cast("void *", self._filled.ctypes.data)
            self._run = lambda: run(pointer)
        else:
            run, grid, arguments = (
                code(backend).get_function("move_boxes"),
                (-(-total // THREADS),),
                (cuda.by_value(self._filled),),
            )
            self._run = lambda: run(grid, (THREADS,), arguments)

    def __call__(self):
        self._run()


class Signal:
    """What orders messages between devices: `post` tells the neighbours the next number, `wait` waits on the device
    until theirs is there. theirs, mine: device addresses of the words at the low and the high side, 0 where no
    neighbour is. late: address of three words; after `patience` looks the first is 1 + side, then the number and the
    one that was seen. alarm: of a number that is NaN then."""

    def __init__(self, backend, theirs, mine, count, late, alarm, patience):
        self._run = code(backend).get_function("signal_neighbours")
        self._filled = np.zeros(1, SIGNAL)
        for name, value in (
            ("theirs", theirs),
            ("mine", mine),
            ("count", count),
            ("late", late),
            ("alarm", alarm),
            ("patience", patience),
        ):
            self._filled[name] = value
        self._arguments = (cuda.by_value(self._filled),)

    def __call__(self, post, wait):
        self._filled["post"], self._filled["wait"] = post, wait
        self._run((1,), (1,), self._arguments)


class Largest:
    """Largest magnitude of each row of an array (rows, n), NaN where one is in it; the host waits."""

    def __init__(self, backend, array):
        rows, n = array.shape
        if backend.name == "cpu":
            out, run = np.zeros(rows), code(backend).largest
            values, into = ffi.cast("double *", array.ctypes.data), ffi.cast("unsigned long long *", out.ctypes.data)

            def find(keep=array):
                out[...] = 0.0
                run(values, array.strides[0] // 8, n, rows, into)
                return out
        else:
            out, run = backend.empty((rows,)), code(backend).get_function("largest")
            arguments, grid = (
                (array.data.ptr, array.strides[0] // 8, n, out.data.ptr),
                (max(1, min(1024, n // 1024)), rows),
            )

            def find(keep=array):
                out[...] = 0.0
                run(grid, (256,), arguments)
                return np.array(backend.to_host(out))

        self._find = find

    def __call__(self) -> np.ndarray:
        return self._find()
