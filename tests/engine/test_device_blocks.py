"""Blocks of a host and views on a device: gather, scatter, block calls."""

# ruff: noqa: F811  the fixture `be` is an argument here

import numpy as np
import pytest
from device_for_tests import be, kinds  # noqa: F401
from kernel_cases import mixture

from kernels.engine.errors import ArgumentError
from kernels.marshal import Block, Marshal


def random_block(rng):
    """A field in memory with a random layout, and a random selection: (array, lo, n)."""
    shape = tuple(int(x) for x in rng.integers(1, 12, 4))
    lo = tuple(int(rng.integers(0, s)) for s in shape)
    n = tuple(int(rng.integers(1, s - o + 1)) for s, o in zip(shape, lo))
    field = rng.random(shape[::-1]).T if rng.random() < 0.6 else rng.random(shape)
    return (field[:, ::-1] if rng.random() < 0.3 else field), lo, n


@pytest.mark.parametrize("where", ["pageable", "pinned", "device"])
@pytest.mark.parametrize("seed", range(12))
def test_gather_and_scatter(be, where, seed):
    """A random stripe of a random selection; the rest of the view and of the block is unchanged."""
    rng = np.random.default_rng(seed)
    field, lo, n = random_block(rng)
    points = n[0] * n[1] * n[2]
    start = int(rng.integers(0, points))
    count = int(rng.integers(1, points - start + 1))
    picked = np.arange(field.size).reshape(field.shape)[tuple(slice(a, a + m) for a, m in zip(lo, n))]
    stripe = picked.reshape(points, n[3], order="F")[start : start + count].T

    base = field if field.base is None else field.base
    base = base if base.base is None else base.base
    low, flat = base.ctypes.data, base.reshape(-1)
    strides = tuple(s // 8 for s in field.strides)
    before = field.copy()

    if where == "device":
        held = be.from_host(flat)
        address = held.data.ptr + (field.ctypes.data - low)
    else:
        address = field.ctypes.data

    if where == "pinned":
        be.arrays.cuda.runtime.hostRegister(low, base.nbytes, 0)
    try:
        block = Block(address, field.shape, strides, lo, n, on_device=where == "device")
        view = be.from_host(np.full((n[3], be.pad(count)), np.nan))
        Marshal(be).gather(block, start, count, view)
        got = be.to_host(view)

        assert np.array_equal(got[:, :count], before.reshape(-1)[stripe]) and np.isnan(got[:, count:]).all()
        Marshal(be).scatter(block, start, count, be.from_host(np.where(np.isnan(got), got, -got)))
    finally:
        if where == "pinned":
            be.synchronize()
            be.arrays.cuda.runtime.hostUnregister(low)

    if where == "device":
        flat[...] = be.to_host(held)
    after = before.copy()
    after.reshape(-1)[stripe] *= -1

    assert np.array_equal(field, after)


def test_stripes_in_a_row_do_not_mix(be):
    """Packing for the next stripe must wait for the copy of an earlier one: ten stripes, each into its own view."""
    field = np.asfortranarray(np.random.default_rng(5).random((40, 30, 20, 6)))
    block = Block(field.ctypes.data, field.shape, tuple(s // 8 for s in field.strides), (3, 2, 0, 0), (34, 26, 20, 6))
    views, step = [], 34 * 26 * 2

    for start in range(0, block.points, step):
        views.append(be.empty((6, be.pad(step))))
        Marshal(be).gather(block, start, step, views[-1])

    expected = field[3:37, 2:28].reshape(block.points, 6, order="F").T
    got = np.concatenate([be.to_host(v)[:, :step] for v in views], axis=1)
    assert np.array_equal(got, expected)


@pytest.mark.parametrize("chunk", (3000, 9000, 40000))
def test_block_call_overlaps_and_agrees(be, chunk):
    """The layer's own chunk loop, in one lane and in two, on arrays large enough to be pinned. The results are those of
    one launch of all points, the fringe is unchanged, and nothing stays pinned."""
    from frame.impl import Sizes, TVImpl

    shape, ns = (64, 50, 11), 10
    rng = np.random.default_rng(8)
    T, p, rho, D = (np.asfortranarray(rng.random((*shape, n))) for n in (1, 1, 1, ns))
    Y = np.asfortranarray(rng.dirichlet(np.ones(ns), shape))
    T[...], p[...] = 300 + 2000 * T, 1e6 + 1e7 * p
    rho_before, D_before = rho.copy(), D.copy()

    def block(field):
        return Block(
            field.ctypes.data,
            field.shape,
            tuple(s // 8 for s in field.strides),
            (2, 1, 0, 0),
            (60, 48, 11, field.shape[3]),
        )

    impl = TVImpl(be, Sizes(chunk, ns))
    impl.set_mixture(mixture(ns))
    impl.block(
        "thermal_viscous", [("T", block(T)), ("p", block(p)), ("Y", block(Y))], [("rho", block(rho)), ("D", block(D))]
    )
    inner = (slice(2, 62), slice(1, 49))
    state = {"T": T[inner][..., 0], "p": p[inner][..., 0], "Y": np.moveaxis(Y[inner], -1, 0)}
    want = mixture(ns).properties("rho D", backend=be, **state)  # the same program, so the same bits

    assert np.array_equal(rho[inner][..., 0], want["rho"]) and np.array_equal(np.moveaxis(D[inner], -1, 0), want["D"])

    for field, before in ((rho, rho_before), (D, D_before)):
        before[inner] = field[inner]
        assert np.array_equal(field, before)

    assert [be.arrays.cuda.runtime.pointerGetAttributes(f.ctypes.data).type for f in (T, Y, D)] == [0, 0, 0]


def test_block_call_on_pinned_arrays(be):
    """The same bits as on arrays that are pinned for the call. Memory pinned before stays pinned, and is copied without
    a buffer."""
    from frame.impl import Sizes, TVImpl

    shape, ns = (40, 40, 30), 10
    rng = np.random.default_rng(11)

    T, p, Y = (
        np.asfortranarray(x)
        for x in (
            300 + 2000 * rng.random((*shape, 1)),
            1e6 + 1e7 * rng.random((*shape, 1)),
            rng.dirichlet(np.ones(ns), shape),
        )
    )

    impl = TVImpl(be, Sizes(20000, ns))
    impl.set_mixture(mixture(ns))
    block = lambda f: Block(
        f.ctypes.data, f.shape, tuple(s // 8 for s in f.strides), (1, 0, 0, 0), (38, 40, 30, f.shape[3])
    )
    found = []

    for pinned in ((), (Y,), (T, p, Y)):
        rho, D = np.zeros((*shape, 1), order="F"), np.zeros((*shape, ns), order="F")
        held = [*pinned, D] if pinned else []
        for f in held:
            be.pin(f.ctypes.data, f.nbytes)

        impl.block(
            "thermal_viscous",
            [("T", block(T)), ("p", block(p)), ("Y", block(Y))],
            [("rho", block(rho)), ("D", block(D))],
        )
        for f in held:
            assert kinds(be, f) == [1, 1]
            be.unpin(f.ctypes.data, f.nbytes)

        found.append((rho, D))

    for rho, D in found[1:]:
        assert np.array_equal(rho, found[0][0]) and np.array_equal(D, found[0][1])
    assert found[0][1].any() and kinds(be, Y) == [0, 0]


def test_view_of_one_row(be):
    field = np.random.default_rng(6).random(50)
    block = Block(field.ctypes.data, (50, 1, 1, 1), (1, 50, 50, 50), (5, 0, 0, 0), (40, 1, 1, 1))
    view = be.empty(64)
    Marshal(be).gather(block, 10, 20, view)

    assert np.array_equal(be.to_host(view)[:20], field[15:35])
    with pytest.raises(ArgumentError, match="65 points"):
        Marshal(be).gather(block, 0, 65, view)
