"""Intrepid's nine contractions by their names: values at its tests' shapes, sumInto, constant data, shapes refused."""

import numpy as np
import pytest

from frame.errors import FrameError
from frame.tools.bench import clocks, tensor as bench
from frame.tools.cli import main
from kernels import Contraction
from kernels.contractions import intrepid
from kernels.engine.errors import ArgumentError

C, L, R, F, P, D1, D2 = 5, 3, 7, 7, 9, 13, 5
POINTS = {"Scalar": ("p", (P,)), "Vector": ("pi", (P, D1)), "Tensor": ("pij", (P, D1, D2))}
KINDS = {  # indices and extents of out, first and second array, without the points'
    "DataData": (("c", (C,)), ("c", (C,)), ("c", (C,))),
    "DataField": (("cf", (C, F)), ("c", (C,)), ("cf", (C, F))),
    "FieldField": (("clr", (C, L, R)), ("cl", (C, L)), ("cr", (C, R))),
}


@pytest.mark.parametrize("rank", POINTS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.quick(kind="DataData", rank="Scalar")
@pytest.mark.quick(kind="DataField", rank="Vector")
@pytest.mark.quick(kind="FieldField", rank="Tensor")
def test_the_nine(kind, rank):
    """In whole numbers. out was NaN, or 2 with sumInto; data of one point count for all; no cells."""
    rng = np.random.default_rng(0)
    (out, out_shape), (first, first_shape), (second, second_shape) = KINDS[kind]
    points, extents = POINTS[rank]
    fill = lambda shape: rng.integers(-3, 4, shape).astype(float)
    a, b = fill(first_shape + extents), fill(second_shape + extents)
    function = getattr(intrepid, f"contract{kind}{rank}")
    text = f"{first}{points},{second}{points}->{out}"
    wanted = np.einsum(text, a, b)
    got = function(np.full(out_shape, np.nan), a, b)
    assert np.array_equal(got, wanted)
    assert np.array_equal(function(np.full(out_shape, 2.0), a, b, sumInto=True), wanted + 2)

    if kind == "DataField":
        one = np.ascontiguousarray(a[:, :1])
        wanted = np.einsum(text, np.broadcast_to(one, a.shape), b)
        assert np.array_equal(function(np.full(out_shape, 2.0), one, b, True), wanted + 2)

    assert function(np.ones((0, *out_shape[1:])), a[:0], b[:0]).shape[0] == 0


# shapes of Intrepid's tests: out | left or data | right or field; the last of each kind is right
REFUSED = {
    "FieldField": [
        ((2, 2), (2, 2), (2, 2)),
        ((2, 2), (10, 2, 2), (2, 2)),
        ((2, 2), (10, 2, 2), (10, 2, 2)),
        ((10, 2, 2), (9, 2, 2), (10, 2, 2)),
        ((10, 2, 2), (10, 2, 2), (10, 2, 3)),
        ((9, 2, 2), (10, 3, 2), (10, 2, 2)),
        ((10, 3, 2), (10, 2, 2), (10, 3, 2)),
        ((10, 2, 2), (10, 2, 2), (10, 3, 2)),
        ((10, 2, 3), (10, 2, 2), (10, 3, 2)),
    ],
    "DataField": [
        ((2, 2), (2, 2), (2, 2)),
        ((2, 2), (2, 2), (10, 2, 2, 2)),
        ((10, 2, 2), (2, 2), (10, 2, 2)),
        ((2, 2), (10, 2), (9, 2, 2)),
        ((2, 2), (10, 3), (10, 2, 2)),
        ((9, 2), (10, 2), (10, 2, 2)),
        ((10, 2), (10, 2), (10, 3, 2)),
        ((10, 2), (10, 2), (10, 2, 2)),
    ],
    "DataData": [
        ((2, 2), (10, 2, 2), (10, 2, 2)),
        ((2, 2), (10, 2), (10, 2, 2)),
        ((2, 2), (10, 2), (10, 2)),
        ((2,), (9, 2), (10, 2)),
        ((2,), (10, 2), (10, 3)),
        ((2,), (10, 2), (10, 2)),
        ((10,), (10, 2), (10, 2)),
    ],
}


@pytest.mark.parametrize("rank", POINTS)
@pytest.mark.parametrize("kind", REFUSED)
def test_shapes_one_by_one(kind, rank, monkeypatch):
    """All raise but the last; for vectors and tensors one or two dimensions more, and one that differs."""
    ran = []
    monkeypatch.setattr(intrepid, "contract", lambda *_, **arrays: ran.append(arrays))
    more = {"Scalar": (), "Vector": (2,), "Tensor": (2, 2)}[rank]
    function = getattr(intrepid, f"contract{kind}{rank}")
    *wrong, right = REFUSED[kind]

    for out, a, b in wrong:
        with pytest.raises(ArgumentError, match=f"contract{kind}"):
            function(np.ones(out), np.ones(a + more), np.ones(b + more))
    for place in range(len(more)):
        other = tuple(3 if k == place else x for k, x in enumerate(more))
        with pytest.raises(ArgumentError, match="extent 2, wanted 3"):
            function(np.ones(right[0]), np.ones(right[1] + more), np.ones(right[2] + other))

    assert not ran
    function(np.ones(right[0]), np.ones(right[1] + more), np.ones(right[2] + more))
    assert len(ran) == 1


@pytest.mark.full
def test_the_bench_checks_before_it_measures(capsys, tmp_path):
    main(
        [
            "bench",
            "tensor",
            "--cases",
            "FieldField 8",
            "--entries",
            "11",
            "--rounds",
            "1",
            "--json",
            str(tmp_path / "o"),
        ]
    )
    told = capsys.readouterr().out
    assert "rows" in told and "einsum" in told and "matmul" in told and (tmp_path / "o").read_text().startswith("[")

    with pytest.raises(FrameError, match="x: off by 1.0e-03 of the terms' size"):
        bench.check("x", [np.array([1.001])], [np.ones(1)], [np.ones(1)])


def test_short_work_by_a_graph(stand_in):
    """Each of its launches runs so often; the table has its own column."""
    plan = Contraction("out[c] += left[c p] right[c p]", dict(p=4), backend=stand_in, quick=True)
    arrays = {name: stand_in.from_host(np.ones(plan.shape(name, 7))) for name in ("left", "right", "out")}
    assert clocks.by_graph(stand_in, plan.bind(arrays), 2) > 0
    assert np.all(stand_in.to_host(arrays["out"]) == 1 + 4 * 3 * clocks.LAUNCHES)
    rows = [dict.fromkeys(("share", "ratio", "bound", "graph")) | dict(ours=True, chosen=True, name="sums")]
    rows[0] |= dict(case="x", entries=7, cold=1e-6, hot=2e-6, max_rel_diff=0.0)
    head, first = bench.table(rows).splitlines()
    assert first[head.index("by a graph us")] == "-"
    rows[0]["graph"] = 3e-6
    assert bench.table(rows).splitlines()[1][head.index("by a graph us") :].startswith("3.00")
