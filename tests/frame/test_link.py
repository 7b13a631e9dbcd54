"""Copies between a host and a device: every path, every order that streams may take, and the bytes that stay.

The stand-in's streams run their work as late or as early as their events allow (cuda_on_cpu.make(lag)), so a wait that
is missing shows as a wrong number. With `pytest -m gpu` the same calls go to the device.
"""

import concurrent.futures
import functools
import json
import os
import sys

import cuda_on_cpu
import numpy as np
import pytest
from hosts import OWN_KERNEL, ROOT, SOURCES

import kernels
from frame.errors import ArgumentError, BackendError, status_of, text_of
from frame.frame import Frame
from frame.impl import block_calls
from frame.stripe import IN, OUT, Field
from kernels.engine.backend import cuda
from kernels.marshal import LATER, PAST, Marshal, rows_block

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
    monkeypatch.setattr(made, "_choose_backend", lambda device: backend)
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


@pytest.mark.parametrize("where", MEMORY)
@pytest.mark.long(frame=[0, 1, 3], where=["inputs pageable", "mixed"])
@pytest.mark.long(frame=[1, 3])
def test_block_calls(frame, where):
    """Random boxes in random fringes, smaller and larger than what is under way; each call twice."""
    rng = np.random.default_rng([3, MEMORY.index(where)])

    for _ in range(8):
        made, box, _ = arrays(frame, rng, where)
        before = {name: a.flat.copy() for name, a in made.items()}
        again = block(frame, made, box)
        again()
        check(frame, made, before)


@pytest.mark.parametrize("sparse", [False, True])
def test_pageable_arrays_by_one_launch_a_piece(frame, sparse):
    """The launch reads and writes the pinned buffers: nothing is copied between them and the device, and a piece's
    buffer is not packed before its launch has read it."""
    rng, calls = np.random.default_rng([17, sparse]), getattr(frame.backend.arrays, "calls", [])

    for n in range(8):
        made, box, points = arrays(frame, rng, "pageable", box=(10, 10, 10) if n < 2 else None, sparse=sparse)
        before = {name: a.flat.copy() for name, a in made.items()}
        again = block(frame, made, box, "straight")

        for name in ("p", "X"):
            made[name].values[made[name].inside] = np.nan

        del calls[:]
        again()

        if calls:
            assert {*calls} == {"frame_run", "wait"} and calls.count("frame_run") == -(-points // 32)

        check(frame, made, before)

    # Other ranks would wait for launches that wait for the link: copy engines.
    frame.properties.impl.shared.turns = True
    made, box, points = arrays(frame, rng, "pageable", box=(10, 10, 10), sparse=sparse)
    before = {name: a.flat.copy() for name, a in made.items()}
    del calls[:]
    block(frame, made, box, "straight")

    assert not calls or "copy" in calls

    check(frame, made, before)


@pytest.mark.parametrize("where", MEMORY)
@pytest.mark.quick(frame=0, where=["device", "mixed", "outputs pageable", "pageable", "pinned"])
@pytest.mark.quick(frame=[0, 2], where=["mixed", "outputs pageable"])
def test_sections_of_larger_arrays(frame, where):
    """Steps in every dimension, forwards and backwards, by block calls and, queued or not, chunk by chunk."""
    rng = np.random.default_rng([13, MEMORY.index(where)])

    for queue in (0, 1):
        frame.set_parameter("queue", queue)
        for _ in range(3):
            made, box, points = arrays(frame, rng, where, sparse=True)
            before = {name: a.flat.copy() for name, a in made.items()}

            if queue:
                chunks(frame, made, box, points)
            else:
                block(frame, made, box)()

            check(frame, made, before)


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


@pytest.mark.parametrize("where", MEMORY)
@pytest.mark.parametrize("calls", ["block", "stripes"])
@pytest.mark.quick(frame=[0, 2], where=["pageable", "pinned", "device", "mixed"])
def test_an_array_for_each_species(frame, where, calls):
    """Inputs and outputs in arrays of their own, in memory of one kind or of several: all points and no others."""
    rng = np.random.default_rng([23, MEMORY.index(where)])

    for round in range(6):
        made, box = arrays_apart(frame, rng, where)
        before = {name: array.flat.copy() for name, array in made.items()}
        lo, hi, points = (1, 1, 1, None), (*map(int, box), None), int(np.prod(box))
        inputs = [made[name].field(IN) for name in ("T", "Y1", "Y2")]
        outputs = [made[name].field(OUT) for name in ("X1", "p", "X2")]

        if calls == "block":
            frame.block_of_fields(("copies", "straight")[round % 2], [*inputs, *outputs], lo, hi)()
        else:
            frame.set_parameter("queue", round % 2)
            for first in range(1, points + 1, 100):
                last = min(first + 99, points)
                frame.put(inputs, lo, hi, first, last)
                frame.launch("copies", last - first + 1)
                frame.get(outputs, lo, hi, first, last)
            frame.wait()

        check_apart(made, before)


@pytest.mark.parametrize("where", ["pageable", "pinned", "device"])
@pytest.mark.quick(frame=[0, 2])
def test_what_is_read_and_written(frame, where):
    """T comes in as the start value and goes out as the result: the next piece's start waits for it."""
    frame.register_kernel(str(OWN_KERNEL))
    arrays = {name: np.zeros(1000) for name in ("rho", "e", "T")}
    arrays["rho"][:], arrays["e"][:], arrays["T"][:] = 1.2, np.linspace(2e5, 5e5, 1000), 300
    backend = frame.backend
    held = {n: backend.from_host(a) if where == "device" else a for n, a in arrays.items()}
    address = {n: backend.address(a) if where == "device" else a.ctypes.data for n, a in held.items()}
    fields = [Field(n, IN, address[n], a.shape, (8,), (1,), 8) for n, a in arrays.items()]

    for f in fields * (where == "pinned"):
        frame.pin_array([f])

    frame.block_of_fields("air", [*fields, fields[2]._replace(way=OUT)], NOWHERE, NOWHERE)
    arrays["T"] = backend.to_host(held["T"]) if where == "device" else arrays["T"]
    wanted = (np.sqrt(690.0**2 + 2 * 0.09 * arrays["e"]) - 690.0) / 0.09

    # 8 rounded operations on either side, none of which amplifies an error
    np.testing.assert_allclose(arrays["T"], wanted, rtol=16 * np.finfo(float).eps)

    for f in fields * (where == "pinned"):
        frame.unpin_array([f])


@pytest.mark.parametrize("queue", [0, 1])
@pytest.mark.parametrize("where", MEMORY)
@pytest.mark.quick(frame=[0, 2])
def test_stripe_calls(frame, where, queue):
    """Chunk by chunk; the host overwrites a pinned array as soon as it may."""
    rng = np.random.default_rng([4, MEMORY.index(where)])
    frame.set_parameter("queue", queue)

    for _ in range(3):
        made, box, points = arrays(frame, rng, where)
        before = {name: a.flat.copy() for name, a in made.items()}
        chunks(frame, made, box, points)
        check(frame, made, before)


def test_a_pinned_work_array_may_be_used_again_at_once(frame):
    """The default: populate has read its array when it returns, fetch has written it."""
    work, out = np.zeros(60), np.zeros(60)

    for array in (work, out):
        frame.pin(array.ctypes.data, array.size)

    one = lambda name, array, way: Field(name, way, array.ctypes.data, array.shape, (8,), (1,), 8)
    fractions = Field("Y", IN, work.ctypes.data, (30, 2), (8, 240), (1, 1), 8)

    for n in range(5):
        work[:30] = 300 + n
        frame.put([one("T", work[:30], IN)], NOWHERE, NOWHERE, 0, 0)
        work[:30], work[30:] = 0.25, 0.75
        frame.put([fractions], NOWHERE, NOWHERE, 0, 0)
        work[:] = np.nan
        frame.launch("copies", 30)
        frame.get([one("p", out[:30], OUT)], NOWHERE, NOWHERE, 0, 0)

        assert (out[:30] == 2 * (300 + n)).all()

    for array in (work, out):
        frame.unpin(array.ctypes.data, array.size)


def test_an_input_that_is_fetched_may_be_filled_again(frame):
    """In a queue: the next filling of the view is behind the copy out of it."""
    frame.set_parameter("queue", 1)
    given, back = np.zeros((5, 40)), np.zeros((5, 40))

    for array in (given, back):
        frame.pin(array.ctypes.data, array.size)

    for n in range(5):
        given[n] = 300 + n
        one = lambda array, way: [Field("T", way, array[n].ctypes.data, (40,), (8,), (1,), 8)]
        frame.put(one(given, IN), NOWHERE, NOWHERE, 0, 0)
        frame.get(one(back, OUT), NOWHERE, NOWHERE, 0, 0)

    frame.wait()

    assert np.array_equal(back, given)

    for array in (given, back):
        frame.unpin(array.ctypes.data, array.size)


def test_no_wait_in_a_queue(frame):
    """With parameter queue, a loop over chunks waits once, in frame_wait. Without it, once where an input is read and
    once where an output is written, whatever lies between."""
    if not hasattr(frame.backend.arrays, "calls"):
        pytest.skip("looks into the stand-in")

    rng, calls = np.random.default_rng(5), frame.backend.arrays.calls
    made, box, points = arrays(frame, rng, "pinned", box=(8, 8, 4), fringe=0)

    def loop():
        del calls[:]

        for first in range(1, points + 1, 64):
            for name in ("T", "Y"):
                frame.put([made[name].field(IN)], NOWHERE, NOWHERE, first, first + 63)
            frame.launch("copies", 64)
            for name in ("p", "X"):
                frame.get([made[name].field(OUT)], NOWHERE, NOWHERE, first, first + 63)

        return calls.count("wait")

    assert loop() == 4 * points // 64

    frame.set_parameter("queue", 1)

    assert loop() == 0

    frame.wait()

    for array in made.values():
        array.release()


@pytest.mark.parametrize("starts, launches", [((0, 20, 40), 1), ((0, 8, 4), 3)])
@pytest.mark.parametrize("timers", [0, 1])
def test_fetches_in_a_queue_are_one_launch(frame, starts, launches, timers):
    """Of the same points, into arrays that are apart. Of others the last counts. Timers ask for each."""
    frame.set_parameter("queue", 1)
    frame.set_parameter("timers", timers)
    given, out = np.arange(1.0, 21), np.full(60, np.nan)

    for array in (given, out):
        frame.pin(array.ctypes.data, array.size)

    one = lambda array, way: [Field("T", way, array.ctypes.data, array.shape, (8,), (1,), 8)]
    frame.put(one(given, IN), NOWHERE, NOWHERE, 0, 0)
    calls, wanted = getattr(frame.backend.arrays, "calls", None), out.copy()

    if calls:
        del calls[:]

    for start in starts:
        frame.get(one(out[start : start + 20], OUT), NOWHERE, NOWHERE, 0, 0)
        wanted[start : start + 20] = given

    frame.wait()

    np.testing.assert_array_equal(out, wanted)

    if calls:
        assert calls.count("scatter_8") == (3 if timers else launches)

    for array in (given, out):
        frame.unpin(array.ctypes.data, array.size)


@pytest.mark.quick(frame=[0, 2])
def test_a_block_call_waits_once_and_pins_nothing(frame, monkeypatch):
    if not hasattr(frame.backend.arrays, "calls"):
        pytest.skip("looks into the stand-in")

    rng, cupy = np.random.default_rng(6), frame.backend.arrays

    for where in ("pinned", "pageable"):
        made, box, _ = arrays(frame, rng, where, box=(10, 10, 10), fringe=0)
        again = block(frame, made, box)
        refuse = lambda *a: pytest.fail("a range was pinned")

        with monkeypatch.context() as patch:
            patch.setattr(cupy.cuda.runtime, "hostRegister", refuse)
            patch.setattr(cupy.cuda, "alloc_pinned_memory", refuse)
            patch.setattr(cupy, "empty", refuse)
            del cupy.calls[:]
            again()

        if where == "pinned":
            assert cupy.calls.count("wait") == 1
            assert cupy.calls.count("frame_run") == -(-1000 // 32)
            # by copy engines, but for arrays on pages that were pinned for another one
            assert 0 < cupy.calls.count("copy") <= 6 * -(-1000 // 32)

        for array in made.values():
            array.release()


def test_memory_that_is_not_there(frame, monkeypatch):
    """One message that says what was wanted; the next call is in order."""
    if not hasattr(frame.backend.arrays, "calls"):
        pytest.skip("looks into the stand-in")

    cupy, rng = frame.backend.arrays, np.random.default_rng(9)

    with pytest.raises(
        BackendError, match=r"no memory on device 0 for an array of 2 x 100000000 numbers.*0.50 of 1 GiB"
    ):
        frame.backend.empty((2, 10**8))

    def refuse(*_):
        raise cupy.cuda.runtime.CUDARuntimeError("cudaErrorMemoryAllocation: out of memory")

    made, box, _ = arrays(frame, rng, "pageable")
    before = {name: a.flat.copy() for name, a in made.items()}

    with monkeypatch.context() as patch:
        patch.setattr(cupy.cuda, "alloc_pinned_memory", refuse)
        with pytest.raises(BackendError, match=r"refuses a pinned buffer of \d+ bytes .*out of memory.*ulimit -l"):
            block(frame, made, box)
        with pytest.raises(BackendError, match="refuses a pinned buffer"):
            frame.put([made["T"].field(IN)], (1, 1, 1, None), (*map(int, box), None), 1, 1)

    block(frame, made, box)
    check(frame, made, before)
    said = text_of(cupy.cuda.runtime.CUDARuntimeError("cudaErrorMemoryAllocation: out of memory"))

    assert "its memory is full; is the chunk" in said and "Traceback" not in said


@pytest.mark.quick(frame=0)
def test_a_refused_pin(frame, monkeypatch):
    """One message; the array is as any other then, and unpinning it is refused by name."""
    if not hasattr(frame.backend.arrays, "calls"):
        pytest.skip("looks into the stand-in")

    runtime, rng = frame.backend.arrays.cuda.runtime, np.random.default_rng(10)
    made, box, _ = arrays(frame, rng, "pageable", box=(9, 8, 7))
    before = {name: a.flat.copy() for name, a in made.items()}

    def refuse(*_):
        raise runtime.CUDARuntimeError("cudaErrorMemoryAllocation: out of memory")

    with monkeypatch.context() as patch:
        patch.setattr(runtime, "hostRegister", refuse)
        with pytest.raises(BackendError, match=r"refuses to pin \d+ bytes at 0x.*out of memory.*ulimit -l"):
            frame.pin_array([made["T"].field(IN)])

    assert not frame.backend._pinned._given and not frame.properties.pinned

    with pytest.raises(ArgumentError, match="not pinned"):
        frame.unpin_array([made["T"].field(IN)])

    block(frame, made, box)
    check(frame, made, before)


@pytest.mark.parametrize("fails", ["launch", "wait"])
@pytest.mark.parametrize("where", ["pinned", "pageable"])
@pytest.mark.quick(frame=0)
def test_a_device_that_fails(frame, monkeypatch, where, fails):
    """By a fault of a kernel, of another rank, or because the service died: one message that says so. Here the device
    comes back, which a real one does not: the next call is in order."""
    if not hasattr(frame.backend.arrays, "calls"):
        pytest.skip("looks into the stand-in")

    cuda_, rng = frame.backend.arrays.cuda, np.random.default_rng(11)
    made, box, points = arrays(frame, rng, where, box=(9, 8, 7))
    before = {name: a.flat.copy() for name, a in made.items()}
    block(frame, made, box)
    error = cuda_.driver.CUDADriverError("CUDA_ERROR_MPS_SERVER_NOT_READY: MPS server is not ready")
    calls = iter(range(10**6))

    def refuse(*arguments, whole=None):
        if fails == "wait" or next(calls) >= 3:  # some pieces are under way then
            raise error
        return whole(*arguments)

    with monkeypatch.context() as patch:
        if fails == "launch":
            for where_from, name in ((cuda_.driver, "launchKernel"), (cuda_.runtime, "memcpyAsync")):
                patch.setattr(where_from, name, functools.partial(refuse, whole=getattr(where_from, name)))
        else:
            patch.setattr(cuda_.Stream if where == "pinned" else cuda_.Event, "synchronize", refuse)
        with pytest.raises(RuntimeError) as raised:
            block(frame, made, box)

    said = text_of(raised.value)

    assert said.startswith("the device failed (CUDA_ERROR_MPS_SERVER_NOT_READY") and "Traceback" not in said
    assert "FRAME_MPS=off lets them take turns" in said and status_of(raised.value) == 4

    block(frame, made, box)
    check(frame, made, before)


@pytest.mark.parametrize("where", ["pinned", "pageable"])
@pytest.mark.quick(frame=[0, 2])
def test_timers_and_a_trace(frame, where, tmp_path, capsys):
    """Each part of a block call has its name and its track; spans of one piece follow one another; bytes are those of
    the arrays; the report has the link's rate. With timers the numbers stay right."""
    watch, rng = frame.properties.impl.watch, np.random.default_rng(8)
    frame.set_parameter("timers", 1)
    watch.trace(str(tmp_path / "trace.json"))
    made, box, _ = arrays(frame, rng, where, box=(10, 10, 10), fringe=0)
    before = {name: a.flat.copy() for name, a in made.items()}
    block(frame, made, box)
    pieces = -(-1000 // 32)
    names = {"block in": 24000, "copies": 0, "block out": 24000}
    names |= {"block pack": 24000, "block unpack": 24000} if where == "pageable" else {}
    timers = frame.properties.impl.timers

    for name, nbytes in names.items():
        calls = pieces * (2 if name == "block pack" else 1)  # its beginning and its end
        assert (timers[name].calls, timers[name].points, timers[name].nbytes) == (calls, 1000, nbytes), name

    frame.report()
    told = capsys.readouterr().out

    assert "block wait" in told and "of link" in told and "GB/s to the device" in told

    watch.write(3)
    events = json.loads((tmp_path / "trace.3.json").read_text())["traceEvents"]
    tracks = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}

    assert all(e["pid"] == 3 for e in events)

    spans = {name: [e for e in events if e["name"] == name] for name in names}

    assert {name: tracks[found[0]["tid"]] for name, found in spans.items()} == {
        "block in": "copies in",
        "copies": "kernels",
        "block out": "copies out",
        **dict.fromkeys(["block pack", "block unpack"] if where == "pageable" else [], "host"),
    }

    for into, kernel, out in zip(*(spans[name] for name in ("block in", "copies", "block out"))):
        assert 0 <= into["ts"] <= kernel["ts"] <= out["ts"] and into["args"]["points"] <= 32

    check(frame, made, before)


@pytest.mark.quick(frame=[0, 2])
def test_unpinned_arrays_are_found_out(frame):
    """The same call after frame_pin and after frame_unpin."""
    rng = np.random.default_rng(7)
    made, box, _ = arrays(frame, rng, "pageable", box=(9, 7, 5))
    before = {name: a.flat.copy() for name, a in made.items()}
    again = block(frame, made, box)

    for where in ("pinned", "pageable"):
        for name in ("p", "Y"):
            if where == "pageable":
                made[name].release()
            made[name].where = where
            made[name].keep()

        for name in ("p", "X"):
            made[name].values[made[name].inside] = 0

        again()

        for name, factor, source in (("p", 2, "T"), ("X", 3, "Y")):
            inside = made[source].values[made[source].inside]
            np.testing.assert_array_equal(made[name].values[made[name].inside], factor * inside)

    check(frame, made, before)


@pytest.mark.parametrize("where", ["pinned", "host's own"])
@pytest.mark.parametrize("whole", [False, True])
def test_arrays_that_a_launch_reaches_across_the_link(frame, where, whole):
    """A box of pinned arrays, and small whole ones, are worked on where they are: one launch, one wait, no copy. A box
    after frame_unpin is not."""
    low, high = ((1, 1, 1), (10, 9, 8)) if whole else ((2, 3, 1), (9, 8, 7))
    made, _, _ = arrays(frame, np.random.default_rng(14), where, box=(10, 9, 8), fringe=0)
    before = {name: a.flat.copy() for name, a in made.items()}
    fields = [made[n].field(IN) for n in ("T", "Y")] + [made[n].field(OUT) for n in ("p", "X")]
    again = frame.block_of_fields("straight", fields, (*low, None), (*high, None))

    for array in made.values():
        array.inside = tuple(slice(a - 1, b) for a, b in zip(low, high))

    calls = getattr(frame.backend.arrays, "calls", [])

    for where_now in (where, "pageable"):
        for name in ("p", "X"):
            made[name].flat[...] = np.nan

        del calls[:]
        again()

        if calls and where_now == where and (not whole or block_calls.COPIED_FROM):
            assert calls == ["frame_run", "wait"]

        check(frame, made, before)

        for array in made.values():
            array.where = "pageable"


@pytest.mark.quick(frame=0)
def test_what_the_sanitizers_look_at(frame):
    """The program of gpu_link_sanitize.sh, on fewer copies and two collections of one species."""
    import gpu_link_kernels as looked_at

    if not hasattr(frame.backend.arrays, "calls"):
        pytest.skip("looks into the stand-in")

    frame.set_parameter("queue", 1)

    assert looked_at.copies(frame, 1) == 4 * len(MEMORY)

    for name in ("thermal", "T_from_s_p"):
        looked_at.run(name, frame.backend, str(ROOT / "examples/mixtures/n2.yaml"))


@pytest.mark.parametrize("threads", [1, 3])
def test_slabs_on_a_cpu(threads, monkeypatch, registry, tmp_path):
    """Boxes of a few points in x are worked on where they lie, also by threads: values, and the bytes that stay. Longer
    lines, other types and sections go through the views."""
    made, rng = Frame(), np.random.default_rng(14)
    monkeypatch.setattr(made, "_choose_backend", lambda device: kernels.get_backend("cpu", threads=threads))
    made.initialize(-1, 128, NS, 1, 0)

    (tmp_path / "slab.h").write_text(
        "template <class M, class R, class In, class Out>\n"
        "POINT_FN void slab(const M &, const R T, const In &Y, R &p, Out &X) {\n"
        "    p = 2.0 * T;\n    FOR_SPECIES (s, M::NS) X.set(s, 3.0 * Y[s]);\n}\n"
    )

    declared = 'point_kernel("slab", header="slab.h", reads="T Y", writes="p X", source="test", valid="everywhere")'
    (tmp_path / "slab.py").write_text(f"from kernels import point_kernel\n\n{declared}\n")
    made.register_kernel(str(tmp_path / "slab.py"))
    views = []
    whole = block_calls.PieceLoop
    monkeypatch.setattr(block_calls, "PieceLoop", lambda *a: views.append(a) or whole(*a))

    for nx, fringe, sparse in [(n, f, False) for n in (1, 2, 3, 4, 5, 9) for f in (0, 3)] + [(3, 3, True)]:
        for ny, nz in ((1, 1), (7, 5), (90, 11)):
            shape = (nx + fringe, ny + 2 * fringe, nz + fringe)
            low = np.array([fringe // 2, fringe, 0])
            given = {}

            for name in ("T", "Y", "p", "X"):
                array = Array(made, rng, name, (nx, ny, nz), "pageable", 0, sparse=sparse)

                if not sparse:
                    rows = () if name in "Tp" else (NS,)
                    array.flat = np.full(int(np.prod(shape)) * (NS if rows else 1), np.nan)
                    array.values, array.low = array.flat.reshape((*shape, *rows), order="F"), low
                    array.inside = tuple(slice(a, a + n) for a, n in zip(low, (nx, ny, nz)))
                    array.address = array.values.ctypes.data

                given[name] = array

            given["T"].values[given["T"].inside] = rng.integers(1, 2000, (nx, ny, nz))
            given["Y"].values[given["Y"].inside] = rng.integers(0, 1000, (nx, ny, nz, NS)) / 1024
            before = {name: a.flat.copy() for name, a in given.items()}
            del views[:]
            block(made, given, (nx, ny, nz), "slab")()
            check(made, given, before)
            slab = nx <= 4 and fringe and (ny, nz) != (1, 1) and not sparse

            assert not views if slab else views or sparse, (nx, fringe, ny, nz)

    made.finalize()


@pytest.mark.parametrize("precision", ["double", "mixed", "single"])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_slab_that_is_read_and_written_has_the_same_bits(threads, precision, monkeypatch, registry):
    """T in place, beside the loop over chunks: packs put together of lines, of one and of two points at a time, and the
    lines of a plane that are left over."""
    made, rng = Frame(), np.random.default_rng(15)
    monkeypatch.setattr(made, "_choose_backend", lambda device: kernels.get_backend("cpu", threads=threads))
    made.set_option("precision", precision)
    made.initialize(-1, 128, NS, 1, 0)
    made.register_kernel(str(OWN_KERNEL))
    dtype = np.dtype(np.float64 if precision == "double" else np.float32)
    ins, outs = ("rho", "e", "T"), ("T", "p")

    for nx, ny, nz in ((1, 45, 3), (2, 37, 2), (3, 20, 10), (4, 5, 30)):
        shape = (nx + 6, ny, nz)
        arrays = {name: np.full(shape, 1.2, dtype, order="F") for name in ("rho", "e", "T", "p")}
        arrays["e"][...] = rng.uniform(2e5, 5e5, shape)
        arrays["T"][...] = 400
        other = {name: array.copy(order="F") for name, array in arrays.items()}

        def field(held, name, way, shape=shape):
            array = held[name]
            return Field(name, way, array.ctypes.data, shape, array.strides, (1, 1, 1), dtype.itemsize)

        lo, hi = (3, 1, 1, None), (2 + nx, ny, nz, None)

        with monkeypatch.context() as patch:
            patch.setattr(block_calls, "PieceLoop", lambda *a: pytest.fail("not in place"))
            fields = [field(arrays, n, IN) for n in ins] + [field(arrays, n, OUT) for n in outs]
            made.block_of_fields("air_ideal_gas", fields, lo, hi)

        points = nx * ny * nz

        for first in range(1, points + 1, 100):
            last = min(first + 99, points)
            for n in ins:
                made.put([field(other, n, IN)], lo, hi, first, last)
            made.launch("air_ideal_gas", last - first + 1)
            for n in outs:
                made.get([field(other, n, OUT)], lo, hi, first, last)

        for name, array in arrays.items():
            assert array.tobytes() == other[name].tobytes(), (name, nx)

    made.finalize()


def test_threads_that_pack():
    """Every number arrives: with more and fewer of them from one copy to the next, from two threads of the host at the
    same time, with another copy before the end of the first, and in a child that has none of them."""
    rng, points = np.random.default_rng(16), 40000
    host, backend = rng.random((3, points)), kernels.get_backend("cpu", threads=1)

    def packs(rounds):
        marshal = Marshal(backend)
        packed, others = backend.empty((3, 8192)), backend.empty((3, 8192))

        for n in range(rounds):
            marshal.pack_with(2 + n % 7)
            move = marshal.packer.moves("gather", [(rows_block(host), packed)], (PAST, LATER, PAST | LATER)[n % 3])
            other = marshal.packer.moves("gather", [(rows_block(host), others)], PAST)

            for first in range(0, points, 8192):
                count = min(8192, points - first)
                packed[...] = np.nan
                move.run(first, count)

                if n % 4 == 0:
                    other.run(first, count)
                    if not np.array_equal(others[:, :count], host[:, first : first + count]):
                        return False

                marshal.packer.finish()

                if not np.array_equal(packed[:, :count], host[:, first : first + count]):
                    return False

        return True

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        assert all(pool.map(packs, (40, 40)))

    child = os.fork()

    if not child:
        os._exit(0 if packs(2) else 1)

    assert os.waitpid(child, 0)[1] == 0
