"""Shared by the tests of copies between a host and a device: a frame on a device, arrays of a host in every kind of
memory, a block call and a loop over chunks on them, and the check of every byte.

The stand-in's streams run their work as late or as early as their events allow (cuda_on_cpu.make(lag)), so a wait that
is missing shows as a wrong number. With `pytest -m gpu` the same calls go to the device.
"""

import sys

import cuda_on_cpu
import numpy as np
import pytest
from hosts import SOURCES

import kernels
from frame.frame import Frame
from frame.stripe import IN, OUT, Field
from kernels.engine.backend import cuda

NS, NOWHERE = 2, (None,) * 4
MEMORY = ("pageable", "pinned", "device", "host's own", "mixed", "inputs pageable", "outputs pageable")


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """The folder of compiled programs; they are few, and the same for every stand-in."""
    return cuda_on_cpu.compiler(cuda_on_cpu.shared_folder(tmp_path_factory.getbasetemp()))


ON_A_GPU = [pytest.param(device, marks=pytest.mark.gpu, id=name) for device, name in ((-1, "gpu"), (-2, "second gpu"))]


@pytest.fixture(params=[*range(4), *ON_A_GPU])
def frame(request, programs, monkeypatch, registry):
    """A frame on a device of its own: chunk 128 in up to three parts."""
    made = Frame()

    if request.param < 0:
        device = -1 - request.param
        if device >= len(kernels.engine.backend.device_nodes()):
            pytest.skip("one GPU")
        backend = kernels.get_backend("cuda", device=device)
    else:
        monkeypatch.setitem(sys.modules, "cupy", cuda_on_cpu.make(lag=request.param))
        monkeypatch.setattr(cuda, "machine_code", programs)
        backend = cuda.CudaBackend(0)

    monkeypatch.setattr("frame.impl.pieces.LEAST", 32)

    if request.param in (0, 1):  # with the others, small whole arrays are worked on across the link
        monkeypatch.setattr("frame.impl.block_calls.COPIED_FROM", 0)

    monkeypatch.setattr("kernels.marshal.COPIED_FROM", 256)  # bytes: of a piece
    monkeypatch.setattr(made, "_choose_backend", lambda *_: backend)
    made.initialize(-1, 128, NS, 1, 0)
    made.register_kernel(str(SOURCES / "copies.py"))

    yield made

    made.finalize()

    assert not backend._pinned._registered and not backend._pinned._given


class Array:
    """An array of the host's, (nx, ny, nz[, NS]) within a fringe, somewhere in larger memory. box: what is selected.
    sparse: a section of a larger array, with steps of 1 to 3 in each dimension, forwards or backwards."""

    def __init__(self, frame, rng, name, box, where, fringe, size=8, sparse=False, apart=False):
        self.frame, self.name, self.where = frame, name, where
        rows = () if name in "Tp" or apart else (NS,)
        self.low = rng.integers(0, fringe + 1, 3)
        shape = (*(self.low + box + rng.integers(0, fringe + 1, 3)), *rows)
        self.dtype, offset = np.dtype(f"f{size}"), int(rng.integers(0, 9))
        steps = rng.choice([-2, -1, 1, 2, 3], len(shape)) if sparse else np.ones(len(shape), int)
        whole = tuple(int(n) for n in np.array(shape) * abs(steps))
        count = int(np.prod(whole)) + 16
        self.flat = cuda.in_own_pages((count,), self.dtype) if where == "host's own" else np.empty(count, self.dtype)
        self.flat[...] = np.nan
        larger = self.flat[offset : offset + int(np.prod(whole))].reshape(whole, order="F")
        self.values = larger[tuple(slice(None, None, int(step)) for step in steps)]
        self.inside = tuple(slice(a, a + n) for a, n in zip(self.low, box))
        self.address, self._held, self._pinned = self.values.ctypes.data, None, None

    def keep(self):
        """Take the memory to where it belongs."""
        backend = self.frame.backend

        if self.where == "pinned":
            self.frame.pin_array([self.field(IN)])
        elif self.where == "host's own":
            self._pinned = self.flat.ctypes.data
            backend._runtime.hostRegister(self._pinned, self.flat.nbytes, 0)
        elif self.where == "device":
            self._held = backend.from_host(self.flat, self.dtype)
            self.address = backend.address(self._held) + (self.values.ctypes.data - self.flat.ctypes.data)

    def release(self):
        if self.where == "pinned":
            self.frame.unpin_array([self.field(IN)])
        elif self.where == "host's own":
            self.frame.backend._runtime.hostUnregister(self._pinned)
        elif self.where == "device":
            self.flat[...] = self.frame.backend.to_host(self._held)

    def field(self, way):
        size, shape = self.dtype.itemsize, self.values.shape
        strides = tuple(int(s) for s in self.values.strides)
        lower = tuple(int(1 - low) for low in self.low) + (1,) * (len(shape) - 3)
        return Field(self.name, way, self.address, shape, strides, lower, size)


def arrays(frame, rng, where, box=None, fringe=2, sparse=False):
    box = rng.integers(1, 12, 3) if box is None else np.array(box)

    def chosen(name):
        if where.endswith(" pageable"):
            return "pageable" if (name in "TY") == where.startswith("inputs") else "pinned"
        return MEMORY[rng.integers(4)] if where == "mixed" else where

    made = {
        name: Array(frame, rng, name, box, chosen(name), fringe, int(rng.choice([4, 8])) if fringe else 8, sparse)
        for name in ("T", "Y", "p", "X")
    }
    points = int(np.prod(box))
    made["T"].values[made["T"].inside] = rng.integers(1, 2000, tuple(box))
    first = rng.integers(0, 1000, tuple(box)) / 1024
    made["Y"].values[made["Y"].inside] = np.stack([first, 1 - first], -1)

    for array in made.values():
        array.keep()

    return made, box, points


def block(frame, made, box, name="copies"):
    fields = [made[n].field(IN) for n in ("T", "Y")] + [made[n].field(OUT) for n in ("p", "X")]
    return frame.block_of_fields(name, fields, (1, 1, 1, None), (*map(int, box), None))


def chunks(frame, made, box, points):
    """The same chunk by chunk; the wait counts where parameter queue is on."""
    lo, hi = (1, 1, 1, None), (*map(int, box), None)

    for first in range(1, points + 1, 100):
        last = min(first + 99, points)
        for name in ("T", "Y"):
            frame.put([made[name].field(IN)], lo, hi, first, last)
        frame.launch("copies", last - first + 1)
        for name in ("p", "X"):
            frame.get([made[name].field(OUT)], lo, hi, first, last)

    if frame.config.queue:
        frame.wait()


def check(frame, made, before):
    """p = 2 T, X = 3 Y inside; every other byte of every array as it was."""
    for array in made.values():
        array.release()

    T, Y = made["T"], made["Y"]

    for name, wanted in (("p", 2 * T.values[T.inside]), ("X", 3 * Y.values[Y.inside])):
        array = made[name]

        np.testing.assert_array_equal(array.values[array.inside], wanted.astype(array.dtype))

        offset = array.values.ctypes.data - array.flat.ctypes.data
        old = before[name].copy()
        there = np.ndarray(array.values.shape, array.dtype, old, offset, array.values.strides)
        there[array.inside] = array.values[array.inside]

        assert old.tobytes() == array.flat.tobytes(), f"more of {name} than selected was written"

    for name in ("T", "Y"):
        assert before[name].tobytes() == made[name].flat.tobytes()


APART = ("T", "p", "Y1", "Y2", "X1", "X2")  # Y and X: an array for each species


def arrays_apart(frame, rng, where):
    """As `arrays`, with an array for each species; in half of the cases all arrays have the same shape and type."""
    box = rng.integers(1, 12, 3)
    fringe = int(rng.choice([0, 2]))
    memory = {}
    for name in APART:
        memory[name] = MEMORY[rng.integers(4)] if where == "mixed" else where
        if where.endswith(" pageable"):
            is_pageable = (name[0] in "TY") == where.startswith("inputs")
            memory[name] = "pageable" if is_pageable else "pinned"

    made = {}
    for name in APART:
        size = int(rng.choice([4, 8])) if fringe else 8
        made[name] = Array(frame, rng, name[0], box, memory[name], fringe, size, bool(fringe), apart=True)

    first = rng.integers(0, 1000, tuple(box)) / 1024
    values = {"T": rng.integers(1, 2000, tuple(box)), "Y1": first, "Y2": 1 - first}
    for name, numbers in values.items():
        made[name].values[made[name].inside] = numbers

    for array in made.values():
        array.keep()
    return made, box


def check_apart(made, before):
    """p = 2 T, X = 3 Y inside; every other byte of every array as it was."""
    for array in made.values():
        array.release()

    for name, source, factor in (("p", "T", 2), ("X1", "Y1", 3), ("X2", "Y2", 3)):
        array, wanted = made[name], factor * made[source].values[made[source].inside]
        np.testing.assert_array_equal(array.values[array.inside], wanted.astype(array.dtype))

        array.values[array.inside] = np.nan
        assert before[name].tobytes() == array.flat.tobytes(), f"more of {name} than selected was written"

    for name in ("T", "Y1", "Y2"):
        assert before[name].tobytes() == made[name].flat.tobytes()
