"""Reducers, at every level: exact against NumPy, the same for any number of threads, and never another one silently."""

import math

import numpy as np
import pytest
from team_cases import JOINS, kernel

import kernels
from kernels import ArgumentError, League, MDRange, Range, get_backend
from kernels.engine.errors import CompileError

KINDS = (
    "sum count:whole product:product least:min most:max both:minmax first:minloc last:maxloc ends:minmaxloc "
    "all:all any:any bits_and:bitand bits_or:bitor bits_xor:bitxor far(3):Longest high:max:whole"
)
GIVEN = kernel("given", Range("n"), header=JOINS, arrays="v(n) w(n):whole", results=KINDS)
PAIRS = {
    order: kernel(
        f"given_pairs_{order}",
        MDRange("I J", tile=(4, 8), order=order),
        header=JOINS,
        body="given_pairs",
        arrays="v(I,J) w(I,J):whole",
        results=KINDS,
    )
    for order in ("right", "left")
}
BY_TEAMS = kernel(
    "given_by_teams",
    League("n", team=5),
    header=JOINS,
    arrays="v(n) w(n):whole",
    results=KINDS,
)
REAL = "sum product least most both.0 both.1 first last ends.0 ends.1 far.0".split()
WHOLE = "all any bits_and bits_or bits_xor high furthest first_at last_at ends_at.0 ends_at.1".split()
IN_TEAMS = {
    team: kernel(
        f"given_in_teams_{team}x{vector}",
        League("E", team=team, vector=vector),
        header=JOINS,
        body="given_in_teams",
        arrays="v(E,n) w(E,n):whole real(E,3,11) whole(E,3,11):whole",
        writes="real whole",
        results="sum:whole most:max",
    )
    for team, vector in ((1, 1), (5, 2), (256, 1))
}
PICKED = kernel("picked", Range("n"), header=JOINS, arrays="v(n) from(n):whole", results="sum")


def values(n, seed, nan=None):
    """Whole numbers with many ties, so that sums are exact in any order."""
    rng = np.random.default_rng(seed)
    v = rng.integers(-9, 10, n).astype(float)
    if nan is not None:
        v[nan] = np.nan
    return v, rng.integers(-(2**62), 2**62, n)


def wanted_of(v, w):
    """Every result of `given` by NumPy."""
    n, inf = len(v), np.inf
    whole = np.iinfo(np.int64)
    first, last = (int(np.argmin(v)), int(np.argmax(v))) if n else (-1, -1)
    least, most = (v.min(), v.max()) if n else (inf, -inf)
    longest = int(np.argmax(v * v)) if n else 0
    return {
        "sum": v.sum(),
        "count": n,
        "product": np.where(v < 0, -1.0, 1.0).prod(),
        "least": least,
        "most": most,
        "both": [least, most],
        "first": least,
        "first_at": first,
        "last": most,
        "last_at": last,
        "ends": [least, most],
        "ends_at": [first, last],
        "all": int((v > -1000).all()),
        "any": int((v > 40).any()),
        "bits_and": int(np.bitwise_and.reduce(w)),
        "bits_or": int(np.bitwise_or.reduce(w)),
        "bits_xor": int(np.bitwise_xor.reduce(w)),
        "far": [v[longest] ** 2, v[longest], longest] if n else [-1, 0, 0],
        "high": int(w.max(initial=whole.min)),
    }


def compare(got, v, w):
    """Hold the results of a kernel with KINDS against NumPy's. v, w (n,): in the order of the indices."""
    wanted = wanted_of(v, w)
    assert set(got) == set(wanted)
    for name in set(wanted) - {"far"}:
        np.testing.assert_array_equal(got[name], wanted[name], err_msg=name)

    if len(v):  # of several that are as long, the one that is met first in the order of the joins
        length, x, at = got["far"]
        assert length == (v * v).max() and v[int(at)] == x and x * x == length
    else:
        assert list(got["far"]) == [-1, 0, 0]


@pytest.mark.parametrize("n", [0, 1, 7, 37, 4099])
@pytest.mark.quick(n=[0, 4099])
def test_every_reducer_over_a_range(be, n):
    v, w = values(n, n)
    compare(GIVEN.run(be.placed(v=v, w=w), be, quick=True), v, w)


@pytest.mark.parametrize("n", [0, 1, 67])
@pytest.mark.quick(n=67)
def test_every_reducer_over_a_league(be, n):
    """A team gives its value once, whatever its members."""
    v, w = values(n, n)
    compare(BY_TEAMS.run(be.placed(v=v, w=w), be, quick=True), v, w)


def test_nan_stays(be):
    """A NaN is never lost: it is the minimum and the maximum, and its first place is found."""
    v, w = values(100, 5, nan=[41, 77])
    got = GIVEN.run(be.placed(v=v, w=w), be, quick=True)

    for name in ("sum", "least", "most", "both", "first", "last", "ends"):
        assert np.isnan(got[name]).all(), name
    assert got["first_at"] == 41 == got["last_at"] and list(got["ends_at"]) == [41, 41]


def test_results_do_not_depend_on_threads():
    """To the last bit, of random numbers."""
    v = np.random.default_rng(1).random(10007) - 0.5
    w = np.arange(10007)
    seen = set()
    for threads in (1, 2, 3):
        got = GIVEN.run(dict(v=v, w=w), get_backend("cpu", threads=threads), quick=True)
        seen.add(tuple(np.array(x).tobytes() for x in got.values()))
    assert len(seen) == 1


@pytest.mark.parametrize("order", ["right", "left"])
def test_every_reducer_over_tiles(be, order):
    v, w = values(37 * 29, 3)
    got = PAIRS[order].run(be.placed(v=v.reshape(37, 29), w=w.reshape(37, 29)), be, quick=True)
    compare(got, v, w)


@pytest.mark.parametrize("n", [1, 5, 77])
@pytest.mark.quick(n=77)
def test_every_reducer_in_teams(be, n):
    """Over members, over members and lanes, over lanes; a function as a reducer, too."""
    v, w = (x.reshape(3, n) for x in values(3 * n, n))
    rows = [wanted_of(*row) for row in zip(v, w)]
    for row, wide in zip(rows, w):
        row["far"] = [row["far"][0]]  # which of several as long is not said
        row["furthest"] = max([-1000, *wide.tolist()], key=lambda x: math.fmod(x, 999983))
    real, whole = ([[number(row, name) for name in names] for row in rows] for names in (REAL, WHOLE))

    for team, k in IN_TEAMS.items():
        arrays = be.placed(v=v, w=w, real=np.full((3, 3, 11), np.nan), whole=np.full((3, 3, 11), -7))
        run = k.bind(arrays, be, quick=True)
        run()

        for level in range(3):
            told = f"{k.name}, level {level}"
            np.testing.assert_array_equal(be.to_host(arrays["real"])[:, level], real, err_msg=told)
            np.testing.assert_array_equal(be.to_host(arrays["whole"])[:, level], whole, err_msg=told)

        assert (run.value("sum"), run.value("most")) == (3 * team, v.max()), k.name


def number(results, name):
    """The result `ends.1`: the second number of `ends`."""
    name, _, place = name.partition(".")
    return results[name][int(place)] if place else results[name]


def test_a_lane_by_itself_counts_once(be):
    """Inside of each_lane a value is given for the lane at work, outside for each of them."""
    v, at = np.arange(100.0), np.random.default_rng(2).permutation(100)[::-1].copy()
    assert PICKED.run({**be.placed(v=v), **be.placed(**{"from": at})}, be, quick=True) == {"sum": v.sum() + 100}


# ---- what is refused
@pytest.mark.parametrize(
    "body, more, words",
    [
        (
            "says_larger",
            dict(results="best"),
            r"kernel 'says_larger' \(joins.h, line \d+\).* a result takes values, best.join",
        ),
        (
            "says_assigns",
            dict(results="best"),
            r"kernel 'says_assigns' \(joins.h, line \d+\).* a result takes values, best.join",
        ),
        ("says_plus", dict(results="best:max"), "this result is no sum: result.join.x. gives a value to its reducer"),
        ("says_or", dict(results="best:max"), "this result is not joined by or"),
        ("says_join", dict(results="best:maxloc"), r"kernel 'says_join' \(joins.h, line \d+\)"),
        ("says_join", dict(results="best:max:whole"), "whole numbers are given a real one"),
        ("says_scalar", dict(results="best"), "its body does not take what the declaration says: .*`S &best`"),
    ],
)
@pytest.mark.quick(body=["says_larger", "says_plus"])
def test_another_operation_is_refused(body, more, words):
    """A body that joins in another way than the declared reducer is no program: never silently a sum."""
    name = f"refused_{body}"
    k = kernel(name, Range("n"), header=JOINS, body=body, arrays="v(n)", **more)
    try:
        with pytest.raises(CompileError, match=words):
            k.bind({"v": np.ones(3)}, "cpu", quick=True)
    finally:
        kernels.registry.team_kernels.pop(name)


@pytest.mark.parametrize(
    "more, words",
    [
        (dict(results="best:largest"), "'best' by 'largest', which is none of sum, product"),
        (dict(results="best:max:int"), "result 'best:max:int', wanted name, name:whole, name:reducer"),
        (dict(results="best(2):max"), "the reducer max says itself how many"),
        (dict(results="best:any:real"), "'best' by any is whole, and is marked real"),
        (dict(results="n:int"), "'n' by 'int', which is none of sum, product"),
        (dict(results="v:minloc", arrays="v_at(n)"), "the name 'v_at' is there twice"),
    ],
)
def test_declarations_of_results_that_are_refused(more, words):
    with pytest.raises(ArgumentError, match=words):
        kernel("refused", Range("n"), header=JOINS, **{"arrays": "x(n)", **more})
