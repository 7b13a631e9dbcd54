"""Block -> stripe and back on a CUDA device.

How a block is reached depends on where it lies, which the driver knows from the address:

- device or managed memory, or host memory that is pinned (by the host or by `lasting`): one kernel reads or writes it
  where it is;
- pageable host memory: the compiled CPU marshal packs the selected points into a pinned buffer, in the view's type, and one copy takes
  that to the device. Packing returns before the copy has arrived, so it runs beside the kernels of the chunk before.

Either way a scatter touches the selected points alone: fringe data that the host writes between two calls stays.
No address is kept when a call returns: when memory is freed, its pinned pages stay with the driver, and a later
array at the same address would be another one.
"""
from __future__ import annotations

import contextlib
import ctypes
import pathlib

import numpy as np

from ..backend.base import check_rows
from ..errors import ArgumentError

SOURCE = pathlib.Path(__file__).with_suffix(".cu")
THREADS = 256                       # as in cuda.cu
SELECTION = np.dtype([(n, np.int64) for n in ("sx", "sy", "sz", "sv", "mx", "my", "start")]
                     + [(n, np.int32) for n in ("count", "variables")], align=True)
PAGE = 4096
PIN_FROM = 2**20                    # bytes; below, pinning (about 0.04 ms/MiB) costs more than staging
PAGEABLE, PINNED, DEVICE, MANAGED = range(4)      # cudaMemoryType


class CudaMarshal:
    """gather and scatter for one device; `cp` is CuPy, `module` the loaded cuda.cu, `host` the CPU backend."""

    def __init__(self, cp, module, host):
        self.cp, self.runtime, self.host = cp, cp.cuda.runtime, host
        self._gather, self._scatter = ({(block, view): module.get_function(f"{what}_{block}_{view}") for block in (8, 4) for view in (8, 4)}
                                       for what in ("gather", "scatter"))
        self._in = [_Staging(cp), _Staging(cp)]
        self._out = _Staging(cp)
        self._deferred = False

    def gather(self, block, start: int, count: int, view) -> None:
        """Selected points start .. start+count-1 of each selected variable -> view[v, :count]."""
        if count < 1:
            return
        where, row = self._where(block), _row(view, block, count)
        if where == PAGEABLE:
            slot = self._in[0]
            self._in.reverse()
            packed = slot.rows(block.n[3], self.host.pad(count), view.dtype)     # waits until the slot's last copy is through
            self.host.gather(block, start, count, packed)
            self.runtime.memcpy2DAsync(view.data.ptr, row, packed.ctypes.data, packed.strides[0], view.itemsize*count, block.n[3],
                                       self.runtime.memcpyHostToDevice, self._stream)
            slot.used()
            return
        self._launch(self._gather, block, start, count, view, row)
        if where != DEVICE and not self._deferred:
            self._wait()        # the host may write its array as soon as the call returns

    def scatter(self, block, start: int, count: int, view) -> None:
        """view[v, :count] -> selected points start .. start+count-1 of each selected variable, and nothing else."""
        if count < 1:
            return
        where, row = self._where(block), _row(view, block, count)
        if where == PAGEABLE:
            packed = self._out.rows(block.n[3], self.host.pad(count), view.dtype)
            self.runtime.memcpy2DAsync(packed.ctypes.data, packed.strides[0], view.data.ptr, row, view.itemsize*count, block.n[3],
                                       self.runtime.memcpyDeviceToHost, self._stream)
            self._wait()
            self.host.scatter(block, start, count, packed)
            return
        self._launch(self._scatter, block, start, count, view, row)
        if where != DEVICE and not self._deferred:
            self._wait()        # the host reads its array as soon as the call returns

    @contextlib.contextmanager
    def lasting(self, blocks):
        """Host memory of these blocks is pinned, and copies to and from it are not waited for, until the end: for a caller
        who knows that the arrays outlive it and who synchronises before the end. Memory that the driver refuses to pin
        (pinned already, or over the system's limit) and small arrays are staged as before.
        """
        pinned = []
        for address, nbytes in _pages(b for b in blocks if not b.on_device):
            if nbytes < PIN_FROM:
                continue
            try:
                self.runtime.hostRegister(address, nbytes, 0)
                pinned.append(address)
            except self.runtime.CUDARuntimeError:
                self.runtime.getLastError()      # a refusal is an answer here; it must not surface at the next launch
        self._deferred = True
        try:
            yield
        finally:
            self._deferred = False
            for address in pinned:
                self.runtime.hostUnregister(address)

    def release(self) -> None:
        """Give back the pinned buffers."""
        self._wait()
        for slot in (*self._in, self._out):
            slot.free()

    @property
    def _stream(self) -> int:
        return self.cp.cuda.get_current_stream().ptr

    def _wait(self) -> None:
        self.runtime.streamSynchronize(self._stream)

    def _where(self, block) -> int:
        """Memory type of the block's selection; pageable unless both of its ends are reachable from the device."""
        if block.on_device:
            return DEVICE
        ends = _ends(block)
        kinds = [self.runtime.pointerGetAttributes(end).type for end in ends]
        return kinds[0] if kinds[0] == kinds[1] else PAGEABLE

    def _launch(self, function, block, start, count, view, row) -> None:
        sx, sy, sz, sv = block.strides
        mx, my, _, variables = block.n
        select = np.array([(sx, sy, sz, sv, mx, my, start, count, variables)], dtype=SELECTION)      # one element: passed by value
        grid = (-(-count//THREADS), min(variables, 8))
        function[block.size, view.itemsize](grid, (THREADS,), (block.first, view.data.ptr, row//view.itemsize, select))


class _Staging:
    """A pinned buffer that grows as asked, and the event after which it may be written again."""

    def __init__(self, cp):
        self.cp, self.memory, self.size, self.event = cp, None, 0, None

    def rows(self, n: int, row: int, dtype) -> np.ndarray:
        """An array (n, row) in pinned memory, aligned to 64 bytes."""
        if self.event is not None:
            self.event.synchronize()
        need = dtype.itemsize*n*row + 64
        if self.size < need:
            self.memory, self.size = self.cp.cuda.alloc_pinned_memory(need), need
        start = -(-self.memory.ptr//64)*64
        flat = (ctypes.c_char*(dtype.itemsize*n*row)).from_address(start)
        return np.frombuffer(flat, dtype=dtype).reshape(n, row)

    def used(self) -> None:
        if self.event is None:
            self.event = self.cp.cuda.Event(disable_timing=True)
        self.event.record()

    def free(self) -> None:
        self.memory, self.size, self.event = None, 0, None


def _ends(block) -> tuple[int, int]:
    """Addresses of the lowest and the highest element of the selection."""
    reach = [(n - 1)*stride for n, stride in zip(block.n, block.strides)]
    return block.first + block.size*sum(min(r, 0) for r in reach), block.first + block.size*sum(max(r, 0) for r in reach)


def _pages(blocks):
    """(address, bytes) of the whole pages under the blocks' selections; selections that share a page become one range, for
    a page cannot be pinned twice."""
    ranges = sorted((low//PAGE*PAGE, (high + block.size + PAGE - 1)//PAGE*PAGE) for block in blocks for low, high in [_ends(block)])
    merged: list[list[int]] = []
    for low, high in ranges:
        if merged and low < merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], high)
        else:
            merged.append([low, high])
    return [(low, high - low) for low, high in merged]


def _row(view, block, count: int) -> int:
    """Bytes from one row of the view to the next, after checking its shape."""
    stride, length = check_rows("view", view, block.n[3], view.dtype)
    if count > length:
        raise ArgumentError(f"{count} points for a view of {length}.")
    return view.itemsize*(stride if block.n[3] > 1 else length)
