"""Blocks of a host, the stripes cut from them, and the copies between a block and a view.

How a block is reached depends on where it lies. Where kernels can read and write it, one kernel does it all. Pageable
memory of the host's is packed on the CPU into a pinned buffer, in the view's type, and one copy takes that to the
device; packing returns before the copy has arrived, so it runs beside the kernels of the chunk before. Either way a
scatter touches the selected points alone: fringe data that the host writes between two calls stays.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools

import numpy as np

from ..backend import get_backend
from ..backend.base import Backend, Shape, Source, check_rows
from ..backend.record import packer, record
from ..errors import ArgumentError

STRIPE = "block:address view:address " + " ".join(
    f"{name}:whole" for name in "ld start variables nx ny sx sy sz sv".split()
)
SOURCE = Source("marshal", '#include "marshal/marshal.h"\n')
PACKER = packer(STRIPE)
THREADS, MOST_ROWS = 256, 8  # of a block, as in marshal.h; blocks side by side that share the variables


@dataclasses.dataclass(frozen=True)
class Block:
    """A host's 4-D array (x fastest) and a selection in it. Nothing here is validated: frame/stripe.py does that.

    Each tuple has four numbers. address: of element (0, 0, 0, 0). shape: (nx, ny, nz, variables). strides: in elements,
    for x, y, z, variable. lo: zero-based start of the selection; n: its extents. on_device: address is device memory.
    size: bytes of an element, 8 or 4. lower: what the host calls index 0 in x, y, z; messages say it.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    lo: tuple[int, ...]
    n: tuple[int, ...]
    on_device: bool = False
    size: int = 8
    lower: tuple[int, ...] = (1, 1, 1)

    @functools.cached_property
    def first(self) -> int:
        """Address of the selection's first element."""
        return self.address + self.size * sum(a * s for a, s in zip(self.lo, self.strides))

    @property
    def points(self) -> int:
        return self.n[0] * self.n[1] * self.n[2]

    @property
    def whole(self) -> bool:
        """Whether the selected points lie one behind the other in memory."""
        step = 1
        for n, stride in zip(self.n[:3], self.strides):
            if n > 1 and stride != step:
                return False
            step *= n
        return True

    @functools.cached_property
    def range(self) -> tuple[int, int]:
        """Addresses of the selection's lowest byte and of the one behind its highest."""
        reach = [(n - 1) * stride for n, stride in zip(self.n, self.strides)]
        low, high = (sum(pick(r, 0) for r in reach) for pick in (min, max))
        return self.first + self.size * low, self.first + self.size * (high + 1)


class Marshal:
    """gather and scatter on one backend."""

    def __init__(self, backend: Backend, module=None):
        self.backend = backend
        self._module = module or backend.compile(SOURCE)
        self._functions: dict = {}
        self._staged: list = []  # two buffers on their way in, used in turns, then one on its way out
        self._deferred = False

    def gather(self, block: Block, start: int, count: int, view) -> None:
        """Selected points start .. start + count - 1 of each selected variable -> view[v, :count]."""
        self._move("gather", block, start, count, view)

    def scatter(self, block: Block, start: int, count: int, view) -> None:
        """view[v, :count] -> selected points start .. start + count - 1 of each selected variable, and nothing else."""
        self._move("scatter", block, start, count, view)

    def _move(self, name: str, block: Block, start: int, count: int, view) -> None:
        if count < 1:
            return
        reach, row = self.reach(block), _row(view, block, count)
        if reach != "no":
            self._launch(name, block, start, count, view, row)
            if reach == "shared" and not self._deferred:
                self.backend.synchronize()  # the host uses its array as soon as the call returns
            return
        slot, other, out = self._buffers()
        shape = block.n[3], self._packer.backend.pad(count), view.dtype
        if name == "gather":
            self._staged = [other, slot, out]
            packed = slot.rows(*shape)  # waits for its last copy
            self._packer.gather(block, start, count, packed)
            self._copy(view, row, packed, count, True)
            slot.used()
        else:
            packed = out.rows(*shape)
            self._copy(view, row, packed, count, False)
            self.backend.synchronize()
            self._packer.scatter(block, start, count, packed)

    @contextlib.contextmanager
    def session(self, blocks):
        """For a caller who knows that these blocks outlive the session: copies to and from them are not waited for
        before its end. Yields lanes, see Backend.session."""
        with self.backend.session([b.range for b in blocks if self.reach(b) != "own"]) as lanes:
            self._deferred = True
            try:
                yield lanes
            finally:
                self._deferred = False

    def twin(self) -> Marshal:
        """The same with buffers and arguments of its own, for another thread."""
        return Marshal(self.backend, self._module)

    def release(self) -> None:
        """Give back the buffers."""
        if self._staged:
            self.backend.synchronize()
        for slot in self._staged:
            slot.free()
        self._staged = []

    def reach(self, block: Block) -> str:
        """How kernels come to the block's memory, see Backend.reach."""
        return "own" if block.on_device else self.backend.reach(*block.range)

    @functools.cached_property
    def _packer(self) -> Marshal:
        """What packs pageable memory, on the CPU."""
        return Marshal(get_backend("cpu"))

    def _buffers(self):
        if not self._staged:
            self._staged = [self.backend.staging() for _ in range(3)]
        return self._staged

    def _copy(self, view, row, packed, count, in_):
        there, here = (self.backend.address(view), row), (packed.ctypes.data, packed.strides[0])
        (to, to_pitch), (source, source_pitch) = (there, here) if in_ else (here, there)
        self.backend.copy_rows(to, to_pitch, source, source_pitch, view.itemsize * count, packed.shape[0], in_)

    def _launch(self, name: str, block: Block, start: int, count: int, view, row: int) -> None:
        key = name, block.size, view.itemsize, min(block.n[3], MOST_ROWS)
        if key not in self._functions:
            arguments = record(STRIPE)
            run = self._module.bind("_".join(map(str, key[:3])), Shape(THREADS, rows=key[3]), arguments)
            self._functions[key] = functools.partial(PACKER.pack_into, arguments.view(np.uint8).data, 0), run
        pack, run = self._functions[key]
        nx, ny, _, variables = block.n
        pack(block.first, self.backend.address(view), row // view.itemsize, start, variables, nx, ny, *block.strides)
        run(count)


def _row(view, block: Block, count: int) -> int:
    """Bytes from one row of the view to the next, after checking its shape."""
    stride, length = check_rows("view", view, block.n[3], view.dtype)
    if count > length:
        raise ArgumentError(f"{count} points for a view of {length}.")
    return view.itemsize * (stride if block.n[3] > 1 else length)
