"""Block -> stripe and back on a CUDA device.

How a block is reached depends on where it lies, which the driver knows from the address:

- device or managed memory, or host memory that is pinned (by the host, by `pin` or by `lasting`): one kernel reads or
writes it
  where it is;
- pageable host memory: the compiled CPU marshal packs the selected points into a pinned buffer, in the view's type, and
one copy takes
  that to the device. Packing returns before the copy has arrived, so it runs beside the kernels of the chunk before.

Either way a scatter touches the selected points alone: fringe data that the host writes between two calls stays.
No address is kept when a call returns, but of what was given to `pin`: when memory is freed, its pinned pages stay with
the driver, and a later array at the same address would be another one.
"""

from __future__ import annotations

import contextlib
import ctypes
import pathlib
import struct

import numpy as np

from ..backend.base import check_rows
from ..errors import ArgumentError, BackendError

SOURCE = pathlib.Path(__file__).with_suffix(".cu")
THREADS = 256  # as in cuda.cu
SELECTION = struct.Struct("7q2i")  # sx, sy, sz, sv, mx, my, start; count, variables
BY_VALUE = np.dtype(
    (np.void, SELECTION.size)
)  # CuPy passes an array of one by value, of bytes quicker than of a structure
PAGE = 4096
PIN_FROM = 2**20  # bytes; below, pinning (about 0.04 ms/MiB) costs more than staging
PAGEABLE, PINNED, DEVICE, MANAGED = range(4)  # cudaMemoryType


class CudaMarshal:
    """gather and scatter for one device; `cp` is CuPy, `module` the loaded cuda.cu, `host` the CPU backend."""

    def __init__(self, cp, module, host):
        self.cp, self.runtime, self.host = cp, cp.cuda.runtime, host
        self._gather, self._scatter = (
            {(block, view): module.get_function(f"{what}_{block}_{view}") for block in (8, 4) for view in (8, 4)}
            for what in ("gather", "scatter")
        )
        self._in = [_Staging(cp), _Staging(cp)]
        self._out = _Staging(cp)
        self._deferred = False
        self._pinned: list[tuple[int, int]] = []  # what `pin` was given: address, end
        self._registered: list[
            tuple[int, int]
        ] = []  # the whole pages that were pinned for it: address, end; none twice

    def gather(self, block, start: int, count: int, view) -> None:
        """Selected points start .. start+count-1 of each selected variable -> view[v, :count]."""
        if count < 1:
            return
        where, row = self._where(block), _row(view, block, count)
        if where == PAGEABLE:
            slot = self._in[0]
            self._in.reverse()
            packed = slot.rows(
                block.n[3], self.host.pad(count), view.dtype
            )  # waits until the slot's last copy is through
            self.host.gather(block, start, count, packed)
            self.runtime.memcpy2DAsync(
                view.data.ptr,
                row,
                packed.ctypes.data,
                packed.strides[0],
                view.itemsize * count,
                block.n[3],
                self.runtime.memcpyHostToDevice,
                self._stream,
            )
            slot.used()
            return
        self._launch(self._gather, block, start, count, view, row)
        if where != DEVICE and not self._deferred:
            self._wait()  # the host may write its array as soon as the call returns

    def scatter(self, block, start: int, count: int, view) -> None:
        """view[v, :count] -> selected points start .. start+count-1 of each selected variable, and nothing else."""
        if count < 1:
            return
        where, row = self._where(block), _row(view, block, count)
        if where == PAGEABLE:
            packed = self._out.rows(block.n[3], self.host.pad(count), view.dtype)
            self.runtime.memcpy2DAsync(
                packed.ctypes.data,
                packed.strides[0],
                view.data.ptr,
                row,
                view.itemsize * count,
                block.n[3],
                self.runtime.memcpyDeviceToHost,
                self._stream,
            )
            self._wait()
            self.host.scatter(block, start, count, packed)
            return
        self._launch(self._scatter, block, start, count, view, row)
        if where != DEVICE and not self._deferred:
            self._wait()  # the host reads its array as soon as the call returns

    @contextlib.contextmanager
    def lasting(self, blocks):
        """Host memory of these blocks is pinned, and copies to and from it are not waited for, until the end: for a
        caller who knows that the arrays outlive it and who synchronises before the end. Memory that the driver refuses
        to pin (pinned already, or over the system's limit) and small arrays are staged as before.
        """
        pinned = []
        for low, high in _pages(_ends(b) for b in blocks if not b.on_device):
            for start, end in self._gaps(low, high):
                if end - start >= PIN_FROM and self._register(start, end) is None:
                    pinned.append(start)
        self._deferred = True
        try:
            yield
        finally:
            self._deferred = False
            for address in pinned:
                self.runtime.hostUnregister(address)

    def pin(self, address: int, nbytes: int) -> None:
        """Pin this memory until `unpin`. Pages that the host itself has pinned, and the device's memory, are left as
        they are. Errors: BackendError."""
        self._pinned.append((address, address + nbytes))
        if self.runtime.pointerGetAttributes(address).type in (DEVICE, MANAGED):
            return
        for low, high in _pages([(address, address + nbytes - 1)]):
            for start, end in self._gaps(low, high):
                refusal = self._register(start, end)
                if refusal is None:
                    self._registered.append((start, end))
                elif "AlreadyRegistered" not in refusal:
                    self.unpin(address, nbytes)
                    raise BackendError(
                        f"the driver refuses to pin {nbytes} bytes at {address:#x} ({refusal}): is the memory there, "
                        "and within "
                        "the system's limit of locked memory (ulimit -l)?"
                    )

    def unpin(self, address: int, nbytes: int) -> None:
        """Pages that another pinned array shares stay until that one goes."""
        self._pinned.remove((address, address + nbytes))
        self._wait()
        for start, end in list(self._registered):
            if not any(low < end and start < high for low, high in self._pinned):
                self.runtime.hostUnregister(start)
                self._registered.remove((start, end))

    def _register(self, start: int, end: int) -> str | None:
        """None, or the driver's refusal."""
        try:
            self.runtime.hostRegister(start, end - start, 0)
        except self.runtime.CUDARuntimeError as error:
            return str(error)
        return None

    def _gaps(self, low: int, high: int) -> list[tuple[int, int]]:
        """What of low .. high `pin` has not pinned."""
        out = []
        for start, end in sorted(self._registered):
            if start < high and low < end:
                if low < start:
                    out.append((low, start))
                low = end
        return [*out, (low, high)] if low < high else out

    def release(self) -> None:
        """Give back the pinned buffers, unpin the host's memory."""
        self._wait()
        for address, end in list(self._pinned):
            self.unpin(address, end - address)
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
        low, high = _ends(block)
        kinds = [self.runtime.pointerGetAttributes(end).type for end in (low, high)]
        if kinds[0] != kinds[1]:
            return PAGEABLE
        # both ends may lie on pages of pinned neighbours, with others between them
        if kinds[0] == PINNED and self._registered and self._gaps(low, high + 1) not in ([], [(low, high + 1)]):
            return PAGEABLE
        return kinds[0]

    def _launch(self, function, block, start, count, view, row) -> None:
        sx, sy, sz, sv = block.strides
        mx, my, _, variables = block.n
        select = np.frombuffer(SELECTION.pack(sx, sy, sz, sv, mx, my, start, count, variables), BY_VALUE)
        grid = (-(-count // THREADS), min(variables, 8))
        function[block.size, view.itemsize](
            grid, (THREADS,), (block.first, view.data.ptr, row // view.itemsize, select)
        )


class _Staging:
    """A pinned buffer that grows as asked, and the event after which it may be written again."""

    def __init__(self, cp):
        self.cp, self.memory, self.size, self.event = cp, None, 0, None

    def rows(self, n: int, row: int, dtype) -> np.ndarray:
        """An array (n, row) in pinned memory, aligned to 64 bytes."""
        if self.event is not None:
            self.event.synchronize()
        need = dtype.itemsize * n * row + 64
        if self.size < need:
            self.memory, self.size = self.cp.cuda.alloc_pinned_memory(need), need
        start = -(-self.memory.ptr // 64) * 64
        flat = (ctypes.c_char * (dtype.itemsize * n * row)).from_address(start)
        return np.frombuffer(flat, dtype=dtype).reshape(n, row)

    def used(self) -> None:
        if self.event is None:
            self.event = self.cp.cuda.Event(disable_timing=True)
        self.event.record()

    def free(self) -> None:
        self.memory, self.size, self.event = None, 0, None


def _ends(block) -> tuple[int, int]:
    """Addresses of the lowest and the highest byte of the selection."""
    reach = [(n - 1) * stride for n, stride in zip(block.n, block.strides)]
    return block.first + block.size * sum(min(r, 0) for r in reach), block.first + block.size * (
        sum(max(r, 0) for r in reach) + 1
    ) - 1


def _pages(ends):
    """(address, end) of the whole pages under memory whose first and last bytes these are; what shares a page becomes
    one range, for a page cannot be pinned twice."""
    ranges = sorted((low // PAGE * PAGE, high // PAGE * PAGE + PAGE) for low, high in ends)
    merged: list[list[int]] = []
    for low, high in ranges:
        if merged and low < merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], high)
        else:
            merged.append([low, high])
    return [(low, high) for low, high in merged]


def _row(view, block, count: int) -> int:
    """Bytes from one row of the view to the next, after checking its shape."""
    stride, length = check_rows("view", view, block.n[3], view.dtype)
    if count > length:
        raise ArgumentError(f"{count} points for a view of {length}.")
    return view.itemsize * (stride if block.n[3] > 1 else length)
