"""Each primitive of team.h, for teams of many sizes."""

import importlib

import numpy as np
import pytest
from team_cases import (
    ASTRAY,
    ATOMICS,
    EPS,
    FLAT,
    LEVELS,
    NEAR,
    ONE_WRITES,
    PARTS,
    POOL,
    TEAMS,
    assert_arrays,
    kernel,
    on_stand_in,
)

import kernels
from kernels import ArgumentError, Range, UniqueToken, get_backend


@pytest.mark.parametrize("body, parts", [("two_parts", 2), ("four_parts", 4)])
def test_parts_of_a_team_wait_for_themselves(be, body, parts):
    """Parts of two warps, and of one. Each part takes its own number of turns: a barrier of the whole team would not
    do."""
    v = np.arange(77.0)
    arrays = be.placed(v=v, out=np.full((parts, 77), np.nan))
    PARTS[body].run(arrays, be, quick=True)

    wanted = np.roll(v, -1) + np.arange(parts)[:, None]
    assert_arrays(be, arrays, out=wanted)


def test_a_missing_barrier_of_a_part_is_found(programs):
    """On the stand-in: what a warp beside has not yet written is NaN."""
    with on_stand_in(programs) as stand_in:
        arrays = stand_in.placed(v=np.arange(77.0), out=np.full((2, 77), np.nan))
        PARTS["parts_without"].run(arrays, stand_in, quick=True)
        assert np.isnan(arrays["out"]).any()


def levels_of(be, k, v):
    E, n = v.shape
    arrays = be.placed(v=v, out=np.full((E, 5), np.nan, v.dtype), prefix=np.full((E, n), np.nan, v.dtype))
    arrays |= be.placed(twice=np.full((E, n), np.nan, v.dtype))
    run = k.bind(arrays, be, quick=True)
    run()

    return run, {name: np.array(be.to_host(a)) for name, a in run.arrays.items()}


@pytest.mark.parametrize("n", [0, 1, 5, 37])
@pytest.mark.quick(n=[0, 37])
def test_levels(be, n):
    """Whole numbers: every sum is exact, in any order."""
    v = np.random.default_rng(n).integers(-50, 50, (3, n)).astype(float)
    for k, (team, _) in zip(LEVELS, TEAMS):
        _, got = levels_of(be, k, v)
        sums = v.sum(1)
        least = v.min(1, initial=np.inf)
        wanted = np.stack([sums, sums, sums, least, sums], 1)

        np.testing.assert_array_equal(got["out"], wanted, err_msg=k.name)
        np.testing.assert_array_equal(got["prefix"], np.cumsum(v, 1) - v, err_msg=k.name)
        np.testing.assert_array_equal(got["twice"], 2 * v, err_msg=k.name)

        assert (got["total"], got["squares"]) == (sums.sum(), 3 * team), k.name


def test_a_league_of_none(be):
    """And a range of none: sums are 0."""
    _, got = levels_of(be, LEVELS[3], np.zeros((0, 5)))
    assert got["total"] == 0 == got["squares"]
    assert FLAT.run(be.placed(v=np.zeros(0)), be, factor=2.0, quick=True) == {"total": 0}


def test_single_precision(be):
    """Whole numbers below 2^24."""
    A, B = (np.random.default_rng(3).integers(-50, 50, s).astype(np.float32) for s in ((3, 5, 37), (3, 37)))
    arrays = be.placed(A=A, B=B, result=np.full((3, 5), np.nan, np.float32))
    run = importlib.import_module("scratch").SCRATCH_FIELD.bind(arrays, be, quick=True)
    run()

    wanted = np.einsum("eqi,ei->eq", A, B)

    assert_arrays(be, arrays, result=wanted)
    assert run.arrays["total"].dtype == np.float32 and run.value("total") == wanted.sum()


def test_sums_have_the_same_bits_every_time(be):
    """Random numbers: launches agree to the last bit, on a CPU also for other numbers of threads; the value is within
    n eps of the sum of sizes."""
    v = np.random.default_rng(4).random((40, 37)) - 0.5
    seen = set()
    others = [get_backend("cpu", threads=t) for t in (2, 3)] if be.style == "packs" else []

    for backend in (be, be, *others):
        for k in LEVELS[3:5]:
            run, got = levels_of(backend, k, v)
            seen.add((k.name, got["total"].tobytes(), got["out"].tobytes()))
            assert abs(got["total"] - v.sum()) <= v.size * EPS * abs(v).sum()
            run()
            assert np.array(be.to_host(run.arrays["total"])).tobytes() == got["total"].tobytes()

    assert len(seen) == 2


def test_atomics(be):
    n = 1000
    arrays = be.placed(real=np.zeros(3), whole=np.zeros(4, np.int64), taken=np.zeros(n, np.int64), bins=np.zeros(n))
    ATOMICS.run(arrays, be, quick=True)

    got = {name: be.to_host(a) for name, a in arrays.items()}

    np.testing.assert_array_equal(got["real"], [96, n / 2, n * (n - 1) / 2])
    np.testing.assert_array_equal(got["whole"], [-1, 1, n - 1, n])
    np.testing.assert_array_equal(got["taken"], np.ones(n))  # each old value was given to one
    np.testing.assert_array_equal(got["bins"], np.ones(n))


def test_timers_have_the_name_of_the_kernel(be):
    """As of every other kernel. Items are teams, indices or tiles."""
    arrays = be.placed(v=np.arange(40.0))
    with kernels.timed() as times:
        run = FLAT.bind(arrays, be, quick=True, factor=2.0)
        run()
        run()

    assert list(times) == [FLAT.name]
    assert times[FLAT.name].calls == 2 and times[FLAT.name].items == 2 * run.items


def test_the_pool_of_a_launch(be):
    """Its size follows from what can be held at once; ids are below it, and all are free at the end."""
    arrays = be.placed(id=np.full(5000, -1))
    run = POOL.bind(arrays, be, quick=True)
    run()

    ids, pool = be.to_host(arrays["id"]), run.tokens["ids"]
    at_once = run.resident * (1 if be.style == "packs" else run.team * run.vector)

    assert at_once < pool.size <= 1.2 * at_once + 1 and pool.held == 0
    assert ids.min() >= 0 and ids.max() < pool.size


def test_a_number_follows_its_constant(be, registry):
    kernels.constant("factor", "1", "of a test")
    bound = lambda: FLAT.bind(be.placed(v=np.arange(10.0)), be, quick=True)

    with pytest.raises(kernels.StateError, match="reads the constant 'factor'"):
        bound()

    kernels.set_constant("factor", 2.0)
    run = bound()

    for factor in (2.0, 3.0):
        kernels.set_constant("factor", factor)
        run()
        assert run.value("total") == 45 * factor


def test_a_token_of_another_backend():
    other = get_backend("cpu", threads=2)
    with pytest.raises(ArgumentError, match="token 'ids' is .*wanted a UniqueToken of backend cpu"):
        POOL.bind({"id": np.zeros(3, np.int64), "ids": UniqueToken(3, other)}, "cpu", quick=True)
    with pytest.raises(ArgumentError, match="unique token: size 0, wanted 1 or more"):
        UniqueToken(0, "cpu")


@pytest.mark.parametrize("name, fits", [("narrow", 29056), ("with", 28992)])
def test_level_0_is_full(be, name, fits):
    """227 KiB; a team of several warps has 512 bytes for its sums among them."""
    arrays = be.placed(v=np.arange(fits, dtype=float), out=np.zeros(fits))
    NEAR[name].run(arrays, be, quick=True)

    assert_arrays(be, arrays, out=np.roll(np.arange(fits), -1))

    more = be.placed(v=np.zeros(fits + 1), out=np.zeros(fits + 1))
    with pytest.raises(ArgumentError, match=r"scratch of level 0 is \d+ bytes a team.*wanted 232448 .227 KiB."):
        NEAR[name].bind(more, be, quick=True)


# ---- what the stand-in finds ----------------------------------------------------------------------------------------


def test_a_missing_barrier_is_found(stand_in):
    """Numbers that are read before they are written are NaN; with the barrier there are none."""
    v = np.arange(200.0)
    for name, k in NEAR.items():
        arrays = stand_in.placed(v=v, out=np.zeros(200))
        k.run(arrays, stand_in, quick=True)

        out = stand_in.to_host(arrays["out"])

        assert np.isnan(out).any() == (name == "without")
        if name != "without":
            np.testing.assert_array_equal(out, np.roll(v, -1))


def test_a_missing_barrier_behind_the_first_thread_is_found(stand_in):
    """Its threads begin with the last one in every other block."""
    arrays = stand_in.placed(out=np.zeros((2, 64)))
    ONE_WRITES.run(arrays, stand_in, quick=True)
    assert np.isnan(stand_in.to_host(arrays["out"])).any()


def test_a_barrier_that_some_do_not_reach_is_found(stand_in):
    with pytest.raises(AssertionError, match="run_astray: threads wait at a barrier that others"):
        ASTRAY.run(stand_in.placed(out=np.zeros(1)), stand_in, quick=True)


def test_a_missing_barrier_in_exercise_9(stand_in):
    for backend in (stand_in, get_backend("cpu")):
        assert importlib.import_module("scratch").scratch_race(backend, E=3, quick=True)


def test_a_token_of_all_kernels(be):
    """Kernels that declare it as shared have one pool; another size is refused."""
    more = dict(body="pool", arrays="id(n):whole", writes="id", over=Range("n"))
    one, two, three = [
        kernel(f"pool_{name}", tokens={"ids": text}, **more)
        for name, text in (("one", "shared 70000"), ("two", "shared 7*10000"), ("three", "shared 8"))
    ]
    runs = [k.bind(be.placed(id=np.zeros(50, np.int64)), be, quick=True) for k in (one, two)]

    assert runs[0].tokens["ids"] is runs[1].tokens["ids"]
    for run in runs:
        run()
    assert runs[0].tokens["ids"].held == 0
    with pytest.raises(ArgumentError, match="the shared token 'ids' has 8 ids here, 70000 in another kernel"):
        three.bind(be.placed(id=np.zeros(50, np.int64)), be, quick=True)
