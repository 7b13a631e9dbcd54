"""Memory of a host that is pinned, as a whole or in part, by the layer or by the host."""

# ruff: noqa: F811  the fixture `be` is an argument here

import numpy as np
import pytest
from device_for_tests import be, is_gpu, kinds  # noqa: F401

from frame.stripe import Field
from kernels.engine.errors import ArgumentError, BackendError
from kernels.marshal import Block, Marshal


def test_pinned_arrays_may_share_pages(be):
    """Four adjacent arrays whose ends lie within pages. Each is copied correctly with any of them pinned, and a page
    stays pinned as long as one of its arrays is."""
    parts = np.split(np.random.default_rng(9).random(4 * 10000 + 8)[3:40003], 4)
    assert all(a.ctypes.data % 4096 for a in parts[1:])

    def reach():
        for a in parts:
            block = Block(a.ctypes.data, (100, 100, 1, 1), (1, 100, 10000, 10000), (2, 3, 0, 0), (90, 80, 1, 1))
            view, want = be.empty((1, be.pad(7000))), a.copy()
            Marshal(be).gather(block, 50, 7000, view)
            inner = want.reshape(100, 100)[3:83, 2:92]
            assert np.array_equal(be.to_host(view)[0, :7000], inner.reshape(-1)[50:7050])
            turned = inner.reshape(-1).copy()
            turned[50:7050] *= -1
            inner[...] = turned.reshape(80, 90)
            Marshal(be).scatter(block, 50, 7000, be.from_host(-be.to_host(view)))
            assert np.array_equal(a, want)

    pinned = set()
    for what, k in (
        ("pin", 0),
        ("pin", 2),
        ("pin", 1),
        ("unpin", 2),
        ("pin", 3),
        ("unpin", 0),
        ("unpin", 1),
        ("unpin", 3),
    ):
        getattr(be, what)(parts[k].ctypes.data, parts[k].nbytes)
        (pinned.add if what == "pin" else pinned.remove)(k)
        assert all(kinds(be, parts[j]) == [1, 1] for j in pinned)
        reach()

    assert kinds(be, parts[1]) == kinds(be, parts[2]) == [0, 0]


def test_an_array_between_pinned_ones_is_staged(be):
    """Its first and last page are shared with its neighbours and pinned; the pages between are not."""
    parts = np.split(np.random.default_rng(10).random(3 * 50000 + 8)[3:150003], 3)
    for k in (0, 2):
        be.pin(parts[k].ctypes.data, parts[k].nbytes)
    middle = Block(parts[1].ctypes.data, (50000, 1, 1, 1), (1, 50000, 50000, 50000), (0, 0, 0, 0), (50000, 1, 1, 1))

    assert be.reach(*middle.range) == "no"
    view = be.empty((1, be.pad(50000)))
    Marshal(be).gather(middle, 0, 50000, view)

    assert np.array_equal(be.to_host(view)[0, :50000], parts[1])
    for k in (0, 2):
        be.unpin(parts[k].ctypes.data, parts[k].nbytes)
    assert kinds(be, parts[0]) == kinds(be, parts[2]) == [0, 0]


def test_results_keep_off_pages_that_neighbours_pinned(be):
    for name in ("float64", "float32"):
        for shape in ((), (0,), (1,), (3, 1000)):
            got = be.to_host(be.arrays.asarray(np.ones(shape, name)))
            assert got.shape == shape and got.dtype == name and (got == 1).all() and got.ctypes.data % 4096 == 0

    rows = be.arrays.asarray(np.arange(30.0).reshape(3, 10))
    assert np.array_equal(be.to_host(rows[:, 5:9]), np.arange(30.0).reshape(3, 10)[:, 5:9])


def test_a_host_pins_and_finalize_unpins(be):
    from frame.frame import Frame

    field, frame = np.zeros((50, 40, 30), order="F"), Frame()
    frame.set_option("backend", "cuda")
    frame.initialize(-1, 1000, 1, 6, 0)
    frame.pin(field.ctypes.data, field.size)

    assert kinds(be, field) == [1, 1]
    with pytest.raises(ArgumentError, match="overlaps"):
        frame.pin_array([Field("pin", True, field.ctypes.data + 80, (50, 40), (8, 400), (1, 1), 8)])

    frame.finalize()
    assert kinds(be, field) == [0, 0]

    frame.set_option("backend", "cuda")
    frame.initialize(-1, 1000, 1, 6, 0)

    # a section in reverse order, every second plane: pinned from its lowest to its highest byte
    frame.pin_array([Field("pin", True, field[-1].ctypes.data, (50, 40, 15), (-8, 400, 32000), (1, 1, 1), 8)])
    frame.unpin(field.ctypes.data, field.size - 2000)
    assert kinds(be, field) == [0, 0]

    frame.finalize()


def test_a_refusal_to_pin(be, monkeypatch):
    field, runtime = np.zeros(10000), be.arrays.cuda.runtime

    def refuse(*_):
        raise runtime.CUDARuntimeError(2)

    with monkeypatch.context() as patch:
        patch.setattr(runtime, "hostRegister", refuse)
        with pytest.raises(BackendError, match="refuses to pin 80000 bytes .*ulimit"):
            be.pin(field.ctypes.data, field.nbytes)

    be.pin(field.ctypes.data, field.nbytes)
    assert kinds(be, field) == [1, 1]

    be.unpin(field.ctypes.data, field.nbytes)

    # memory that the host has pinned itself stays under its control
    runtime.hostRegister(field.ctypes.data, field.nbytes, 0)
    be.pin(field.ctypes.data, field.nbytes)
    be.unpin(field.ctypes.data, field.nbytes)

    assert kinds(be, field) == [1, 1]
    runtime.hostUnregister(field.ctypes.data)


def test_memory_of_which_a_part_is_pinned(be):
    """The driver refuses to copy such memory in one piece: the part beyond a pinned array's last page is copied
    separately, to the device and back."""
    page, runtime = 4096, be.arrays.cuda.runtime
    raw = np.zeros(8 * page, np.uint8)
    start = -raw.ctypes.data % page
    half = raw[start + page : start + 5 * page].view(np.float64)
    half[:] = np.arange(half.size)
    runtime.hostRegister(half.ctypes.data, 2 * page, 0)

    try:
        if not is_gpu(be):  # versions of CuPy differ in the copies that they make without a buffer
            with pytest.raises(runtime.CUDARuntimeError, match="InvalidValue"):
                be.arrays.asarray(half)

        there = be.from_host(half)
        assert np.array_equal(be.to_host(there), np.arange(half.size))

        assert np.array_equal(
            be.to_host(be.from_host(half.astype(np.float32)[::2], np.float32)),
            np.arange(half.size, dtype=np.float32)[::2],
        )
    finally:
        runtime.hostUnregister(half.ctypes.data)
