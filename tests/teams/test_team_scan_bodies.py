"""Bodies of scans: the sum in formulas, several reducers, single indices, first indices; exact against NumPy."""

import pathlib

import numpy as np
import pytest
from team_cases import assert_arrays, kernel

import kernels
from kernels import BackendError, Scan, get_backend
from kernels.engine.errors import CompileError

HEADER = pathlib.Path(__file__).with_name("scans.h")


def scan(name, over="n", **more):
    return kernel(f"scan_{name}", Scan(over), **({"header": HEADER, "body": name} | more))


INTEGRAL = scan("integral", arrays="width(n) f(n) to(n)", writes="to", results="total")
SEGMENTS = scan(
    "segments",
    arrays="head(n):logical segment(n):whole label(n):int32 name(names):int32",
    writes="segment label",
    results="count:whole",
)
RISES = scan("rises", "1:n", arrays="v(n) at(n):whole", writes="at", results="count:whole")
TWO = "v(n){0} before(n){0} with(n){0}"
JOINED = {
    "signs": (scan("signs", arrays=TWO.format(""), writes="before with", results="all:product"), np.multiply, 1.0),
    "bits": (scan("bits", arrays=TWO.format(":whole"), writes="before with", results="all:bitxor"), np.bitwise_xor, 0),
    "most": (
        scan("most", body="extremes", arrays=TWO.format(""), writes="before with", results="all:max"),
        np.maximum,
        -np.inf,
    ),
    "least": (
        scan("least", body="extremes", arrays=TWO.format(":whole"), writes="before with", results="all:min:whole"),
        np.minimum,
        np.iinfo(np.int64).max,
    ),
}
PAST = {
    mark: scan(
        f"past{mark.replace(':', '_')}",
        "first:n",
        body="past",
        arrays=f"v(n){mark} before(n){mark}:stream",
        writes="before",
        numbers="first",
        results=f"total{':whole' * (mark == ':whole')}",
    )
    for mark in ("", ":whole", ":int32")
}
IN_PLACE = scan("in_place", arrays="v(n)", writes="v", results="total")
SIZES = [0, 1, 9, 8191, 20011]  # beside the ends of packs and of blocks


def whole(n, least=-9, most=9):
    return np.random.default_rng(n).integers(least, most, n)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.quick(n=[0, 9, 20011])
def test_the_sum_in_formulas(be, n):
    f, width = whole(n).astype(float), whole(n + 1, 1)[:n].astype(float)
    arrays = be.placed(width=width, f=f, to=np.full(n, np.nan))
    found = INTEGRAL.run(arrays, be, quick=True)

    assert_arrays(be, arrays, to=np.cumsum(width * f) - f)
    assert found == {"total": 0.5 * (width * f).sum()}


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.quick(n=[9, 20011])
def test_the_sum_as_an_index(be, n):
    head = whole(n, 0, 3)  # any number but 0 is true
    name = whole(n + 1).astype(np.int32)
    arrays = be.placed(head=head.astype(np.int32), segment=np.full(n, -7), label=np.full(n, -7, np.int32), name=name)
    found = SEGMENTS.run(arrays, be, quick=True)

    wanted = np.cumsum(head != 0)
    assert_arrays(be, arrays, segment=wanted - 1, label=name[wanted])
    assert found == {"count": (head != 0).sum()}


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.quick(n=[9, 20011])
@pytest.mark.parametrize("law", JOINED)
def test_other_reducers(be, law, n):
    run, join, none = JOINED[law]
    v = whole(n)
    if law == "signs":
        v = np.sign(v + 0.5)
    elif law not in ("bits", "least"):
        v = v.astype(float)

    arrays = be.placed(v=v, before=np.zeros_like(v)) | {"with": be.from_host(np.zeros_like(v), v.dtype)}
    found = run.run(arrays, be, quick=True)

    with_this = join.accumulate(v) if n else v
    np.testing.assert_array_equal(be.to_host(arrays["with"]), with_this)
    assert_arrays(be, arrays, before=np.concatenate([[none], with_this])[:n])
    assert found == {"all": with_this[-1] if n else none}


@pytest.mark.parametrize("n", [1, 9, 20011])
def test_single_indices(be, n):
    v = whole(n).astype(float)
    arrays = be.placed(v=v, at=np.full(n, -1))
    found = RISES.run(arrays, be, quick=True)

    at = 1 + np.flatnonzero(np.diff(v) > 0)
    np.testing.assert_array_equal(be.to_host(arrays["at"])[: len(at)], at)
    assert found == {"count": len(at)}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("place", [0, 1, 2, 5])
@pytest.mark.parametrize("mark", PAST)
def test_arrays_that_begin_anywhere(mark, place, threads):
    """Lines of memory and first indices do not count; nothing beside the indices is written."""
    dtype = {"": float, ":whole": np.int64, ":int32": np.int32}[mark]
    n, first = 20011, 3
    v = whole(n).astype(dtype)
    room = np.full(n + 16, -7, dtype)
    before = room[place : place + n]
    found = PAST[mark].run({"v": v, "before": before}, get_backend("cpu", threads=threads), first=first, quick=True)

    np.testing.assert_array_equal(before[first:], (np.cumsum(v) - v - v[:first].sum())[first:])
    assert (before[:first] == -7).all() and (room[:place] == -7).all() and (room[place + n :] == -7).all()
    assert found == {"total": v[first:].sum()}


def test_a_scan_in_place(be):
    v = whole(20011).astype(float)
    wanted = np.cumsum(v)
    arrays = be.placed(v=v)
    assert IN_PLACE.run(arrays, be, quick=True) == {"total": wanted[-1]}
    assert_arrays(be, arrays, v=wanted)


def test_random_numbers_on_several_threads():
    """The same bits as on one thread, within n eps of the sums of sizes."""
    f, width = np.random.default_rng(2).standard_normal((2, 50021))
    seen = set()
    for threads in (1, 2, 3):
        to = np.zeros_like(f)
        INTEGRAL.run({"width": width, "f": f, "to": to}, get_backend("cpu", threads=threads), quick=True)
        seen.add(to.tobytes())

    bound = f.size * np.finfo(float).eps * np.cumsum(abs(width * f))
    assert len(seen) == 1 and (abs(to + f - np.cumsum(width * f)) <= bound + np.finfo(float).eps * abs(f)).all()


def test_a_sum_that_is_taken_for_a_single_number(tmp_path):
    header = tmp_path / "single.h"
    header.write_text(
        "template <class M, class I, class S> POINT_FN void sum_as_single(const M &m, const I i, S &s, bool last) {\n"
        "    const long before = s;\n    if (last) m.v(i) = before;\n    s += m.v(i);\n}\n"
    )
    with kernels.registry.temporary():
        single = kernels.team_kernel(
            "sum_as_single", Scan("n"), header=header, arrays="v(n):whole", writes="v", results="total:whole"
        )
        with pytest.raises(CompileError, match=r"single.h, line 2.*Likely: the sum of a scan is one number for each"):
            single.bind({"v": np.arange(5)}, "cpu", quick=True)


PLAIN = {
    body: kernel(body, Scan("n"), header=HEADER.with_name("plain_scans.h"), **more)
    for body, more in {
        "plain_places": dict(arrays="v(n) at(n):int32", writes="at", results="count:whole"),
        "plain_places_of_int": dict(arrays="v(n) at(n):int32", writes="at", results="count:whole"),
        "plain_sums": dict(arrays="v(n) to(n)", writes="to", results="total"),
        "plain_most": dict(arrays="v(n):whole at(n):whole", writes="at", results="most:max:whole"),
        "plain_wide": dict(arrays="v(n):int32 at(n):int32", writes="at", results="total:whole"),
    }.items()
}


@pytest.mark.parametrize("n", [0, 1, 9, 20011])
@pytest.mark.parametrize("threads", [1, 3])
def test_sums_that_are_plain_numbers(be, n, threads):
    """`long &sum`, `int &sum`, `scalar &sum`, and a largest number; whole numbers, so that sums are exact."""
    if threads > 1 and be.style == "packs":
        be = get_backend("cpu", threads=threads)
    v = whole(n)
    there = np.flatnonzero(v >= 0)

    for body in ("plain_places", "plain_places_of_int"):
        arrays = be.placed(v=v.astype(float), at=np.full(n, -7, np.int32))
        assert PLAIN[body].run(arrays, be, quick=True) == {"count": there.size}
        np.testing.assert_array_equal(be.to_host(arrays["at"])[: there.size], there)

    arrays = be.placed(v=v.astype(float), to=np.full(n, np.nan))
    assert PLAIN["plain_sums"].run(arrays, be, quick=True) == {"total": v.sum()}
    assert_arrays(be, arrays, to=np.cumsum(v))

    arrays = be.placed(v=v, at=np.zeros(n, np.int64))
    most = np.maximum.accumulate(v)
    assert PLAIN["plain_most"].run(arrays, be, quick=True) == {"most": most[-1] if n else np.iinfo(np.int64).min}
    assert_arrays(be, arrays, at=most)


def test_a_plain_sum_of_32_bits_beyond_them(be):
    """The body sees the lower bits, the result has them all."""
    v = np.random.default_rng(1).integers(2**29, 2**30, 301).astype(np.int32)
    arrays = be.placed(v=v, at=np.zeros(301, np.int32))
    assert PLAIN["plain_wide"].run(arrays, be, quick=True) == {"total": v.sum(dtype=np.int64)}
    assert_arrays(be, arrays, at=np.cumsum(v, dtype=np.int64).astype(np.int32))


OTHERWISE = scan(
    "otherwise",
    body="plain_most",
    header=HEADER.with_name("plain_scans.h"),
    arrays="v(n):whole at(n):whole",
    writes="at",
    results="most:whole",
)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_plain_sum_that_is_joined_otherwise_is_told(threads):
    """A maximum that is declared as a sum."""
    v = np.random.default_rng(1).integers(0, 99, 20011)
    with pytest.raises(BackendError, match="joins them otherwise than the declared reducer does"):
        OTHERWISE.run(dict(v=v, at=np.zeros_like(v)), get_backend("cpu", threads=threads), quick=True)


@pytest.mark.parametrize("body, result", [("plain_places", "count"), ("plain_sums", "total:whole")])
def test_a_plain_sum_of_another_type_is_refused(body, result):
    with kernels.registry.temporary():
        wrong = kernels.team_kernel(
            f"wrong_{body}",
            Scan("n"),
            header=HEADER.with_name("plain_scans.h"),
            body=body,
            arrays="v(n) at(n):int32 to(n)",
            writes="at to",
            results=result,
        )
        arrays = dict(v=np.zeros(3), at=np.zeros(3, np.int32), to=np.zeros(3))
        own = "scalar" if result == "count" else "long"
        with pytest.raises(CompileError, match=rf"kernel '{body}' \(plain_scans.h, line \d+\).*`{own} &"):
            wrong.bind(arrays, "cpu", quick=True)


STALLED = scan("stalled", arrays="v(n) calls(2):whole told(1):whole", writes="v calls told", results="total")


def test_nobody_waits_for_a_thread_that_has_lost_its_core():
    """A thread that waits for the sum of a block sums it, too."""
    cpu = get_backend("cpu", threads=2)
    v = whole(40_000).astype(float)
    arrays = cpu.placed(v=v.copy(), calls=np.zeros(2, int), told=np.zeros(1, int))
    run = STALLED.bind(arrays, cpu, quick=True)
    run()

    np.testing.assert_array_equal(arrays["v"], np.cumsum(v))
    assert run.value("total") == v.sum()
    assert arrays["told"][0] == 1
    assert arrays["calls"][0] >= 2
