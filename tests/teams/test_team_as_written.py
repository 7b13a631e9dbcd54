"""Team kernels as a user may write them, beside the exercises: exact for sizes of all kinds."""

import pathlib

import numpy as np
import pytest
from team_cases import kernel, on

from kernels import MDRange, Range, get_backend

HEADER = pathlib.Path(__file__).with_name("as_written.h")


def written(name, over, **more):
    return kernel(name, over, header=HEADER, **more)


# ---- the place of the least value
LEAST = {
    (order, mark): written(
        f"least_{order.replace(' ', '_')}{mark.replace(':', '_')}",
        MDRange("I J K L", order=order),
        body="least_of_four",
        arrays=f"v(I,J,K,L){mark}",
        results=f"sum{mark} least:minloc{mark}",
    )
    for order in ("right", "left", "left right", "right left")
    for mark in ("", ":whole")
}


@pytest.mark.parametrize("order, mark", LEAST)
@pytest.mark.quick(order=["right", "left"])
def test_the_place_of_the_least_of_four_indices(be, order, mark):
    """The first of two equal ones; -1 of none. Whole numbers, so that sums are exact."""
    rng = np.random.default_rng(4)
    large = (13, 11, 29, 67) if be.style == "packs" else (3, 2, 5, 33)
    for shape in ((1, 1, 1, 1), (3, 5, 7, 11), (2, 1, 9, 300), (0, 3, 4, 5), large):
        v = rng.integers(-(10**6), 10**6, shape)
        if v.size > 9:
            v.ravel()[[3, 8]] = v.min() - 1
        arrays = on(be, v=v if mark else v.astype(float))
        got = LEAST[order, mark].run(arrays, be, quick=True)
        assert got["sum"] == v.sum()
        assert got["least_at"] == (v.argmin() if v.size else -1)
        if v.size:
            assert got["least"] == v.min()


# ---- scattered sums
WEIGHTED = {
    kind: written(
        f"weighted_{kind}",
        Range("n"),
        body="weighted",
        arrays=f"bin(n):{kind} w(n) count(bins):{kind}:scatter weight(bins):scatter",
        writes="count weight",
    )
    for kind in ("int32", "whole")
}


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("kind", WEIGHTED)
def test_a_histogram_by_scattered_arrays(kind, threads):
    """Of none, one and many numbers in one bin and in many; weights are whole, so that sums are exact."""
    rng, backend = np.random.default_rng(7), get_backend("cpu", threads=threads)
    for n in (0, 1, 7, 100003):
        for bins in (1, 7, 1000):
            bin_ = rng.integers(0, bins, n).astype(np.int32 if kind == "int32" else np.int64)
            w, count, weight = rng.integers(-9, 9, n).astype(float), np.zeros(bins, bin_.dtype), np.zeros(bins)
            WEIGHTED[kind].run({"bin": bin_, "w": w, "count": count, "weight": weight}, backend, quick=True)
            np.testing.assert_array_equal(count, np.bincount(bin_, minlength=bins))
            np.testing.assert_array_equal(weight, np.bincount(bin_, w, minlength=bins))
