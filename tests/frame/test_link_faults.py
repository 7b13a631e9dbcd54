"""Memory that is not there, that cannot be pinned or is not pinned any more, and devices that fail: an error by name,
and the next call is right."""

import functools

import numpy as np
import pytest
from link_cases import arrays, block, check

from frame.errors import ArgumentError, BackendError, status_of, text_of
from frame.stripe import IN


def test_memory_that_is_not_there(frame, monkeypatch):
    """A single message says what was wanted. The next call succeeds."""
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
    """A single message. The array is then pageable, and unpinning it is refused by name."""
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
