"""Scans: over all indices of a launch, over members and lanes; with this index and without it; exact against NumPy."""

import numpy as np
import pytest
from team_cases import JOINS, assert_arrays, kernel

from kernels import ArgumentError, League, Scan, get_backend
from kernels.teams import items

SCANNED = {
    kind: kernel(
        f"scanned_{kind}",
        Scan("n"),
        header=JOINS,
        body="scanned",
        arrays=f"v(n){mark} before(n){mark} with(n){mark}",
        writes="before with",
        results=f"total{mark}",
    )
    for kind, mark in (("real", ""), ("whole", ":whole"))
}
HIGHEST = kernel("highest", Scan("n"), header=JOINS, arrays="v(n) with(n)", writes="with", results="most:max")
IN_TEAMS = {
    team: kernel(
        f"scanned_in_teams_{team}x{vector}",
        League("E", team=team, vector=vector),
        header=JOINS,
        body="scanned_in_teams",
        arrays="k(E,n):whole v(E,n) with(E,n):whole highest(E,n) out(E,3)",
        writes="with highest out",
    )
    for team, vector in ((1, 1), (5, 2), (40, 4), (256, 1))
}


# Beside ends of a device's tiles those of a CPU's blocks, 8192, and of their parts; many blocks
@pytest.mark.parametrize("n", [0, 1, 7, 31, 1023, 1025, 2048, 4097, 8192, 70001])
@pytest.mark.quick(n=[0, 7, 70001])
@pytest.mark.parametrize("kind", SCANNED)
def test_prefix_sums_of_a_launch(be, kind, n):
    """Twice: a launch leaves nothing behind for the next one."""
    v = np.random.default_rng(n).integers(-99, 99, n).astype(float if kind == "real" else np.int64)
    arrays = be.placed(v=v, before=np.zeros_like(v), with_=np.zeros_like(v))
    arrays["with"] = arrays.pop("with_")
    run = SCANNED[kind].bind(arrays, be, quick=True)

    for _ in range(2):
        run()

        np.testing.assert_array_equal(be.to_host(arrays["with"]), np.cumsum(v))
        assert_arrays(be, arrays, before=np.cumsum(v) - v)
        assert run.value("total") == v.sum()


def test_prefix_sums_of_many_indices(be, monkeypatch):
    """A device's larger blocks, with less for the test to do than would need them."""
    monkeypatch.setattr(items, "MANY", 5000)
    v = np.random.default_rng(4).integers(-99, 99, 70001)
    arrays = be.placed(v=v, before=np.zeros_like(v), with_=np.zeros_like(v))
    arrays["with"] = arrays.pop("with_")
    run = SCANNED["whole"].bind(arrays, be, quick=True)
    run()

    np.testing.assert_array_equal(be.to_host(arrays["with"]), np.cumsum(v))
    assert run.value("total") == v.sum()
    if be.entry.in_blocks:
        assert run.team == items.LongScanItems.threads


def test_the_largest_so_far(be):
    v = np.random.default_rng(3).random(5000)
    arrays = be.placed(v=v, with_=np.zeros(5000))
    arrays["with"] = arrays.pop("with_")
    assert HIGHEST.run(arrays, be, quick=True) == {"most": v.max()}
    np.testing.assert_array_equal(be.to_host(arrays["with"]), np.maximum.accumulate(v))


@pytest.mark.parametrize("n", [30011, 300007])
def test_scans_do_not_depend_on_threads(n):
    """To the last bit, of random numbers, and within n eps of the sums of sizes."""
    v = np.random.default_rng(1).random(n) - 0.5
    seen = set()
    for threads in (1, 2, 3):
        arrays = {"v": v, "before": np.zeros_like(v), "with": np.zeros_like(v)}
        SCANNED["real"].run(arrays, get_backend("cpu", threads=threads), quick=True)

        seen.add(arrays["with"].tobytes())
        assert (abs(arrays["with"] - np.cumsum(v)) <= v.size * np.finfo(float).eps * np.cumsum(abs(v))).all()

    assert len(seen) == 1


@pytest.mark.full
@pytest.mark.parametrize("threads", [1, 2])
def test_a_scan_of_a_hundred_million(threads):
    v = np.random.default_rng(8).integers(-(2**40), 2**40, 10**8)
    with_ = np.zeros_like(v)
    arrays = {"v": v, "before": np.zeros_like(v), "with": with_}
    found = SCANNED["whole"].run(arrays, get_backend("cpu", threads=threads))

    wanted = np.cumsum(v)
    assert (with_ == wanted).all() and (arrays["before"] == wanted - v).all()
    assert found == {"total": wanted[-1]}


@pytest.mark.parametrize("team", IN_TEAMS)
def test_scans_in_teams(be, team):
    for n in (1, 37, 300):
        rng = np.random.default_rng(n)
        k, v = rng.integers(-(2**40), 2**40, (3, n)), rng.random((3, n))
        arrays = be.placed(k=k, v=v, with_=np.zeros_like(k), highest=np.zeros_like(v), out=np.zeros((3, 3)))
        arrays["with"] = arrays.pop("with_")
        IN_TEAMS[team].run(arrays, be, quick=True)

        np.testing.assert_array_equal(be.to_host(arrays["with"]), np.cumsum(k, 1))
        before = np.maximum.accumulate(np.column_stack([np.full(3, -np.inf), v]), 1)[:, :-1]
        assert_arrays(be, arrays, highest=before)
        wanted = np.stack([k.sum(1), v.max(1), v.max(1)], 1)
        assert_arrays(be, arrays, out=wanted)


def test_a_scan_has_one_result():
    for more in (dict(), dict(results="a b"), dict(results="at:minloc"), dict(results="far(3):Longest")):
        with pytest.raises(ArgumentError, match="wanted one for a scan, of one number"):
            kernel("refused", Scan("n"), header=JOINS, arrays="v(n)", **more)
