"""Tensor expressions on devices: kernels that compile for sm_90, threads with several numbers, values on a GPU."""

import numpy as np
import pytest
from tensor_cases import ax, check_random, empty, machine_code, nekbone, organisations, run
from test_tensor_operands import check_device_arrays
from test_tensor_parts import check_parts

from kernels import Contraction, get_backend
from kernels.contractions import named
from kernels.engine.backend import cuda
from kernels.engine.errors import ArgumentError

FEW = 16  # bytes of a thread of `direct` that wait in the first cache: of tiles of 128 x 64 in double precision


def test_every_cuda_organisation_compiles(monkeypatch):
    """For sm_90, by NVRTC; nothing is spilled, or FEW bytes."""
    monkeypatch.setattr(cuda, "machine_code", machine_code)
    target = get_backend("cuda", arch="sm_90")
    field = "o[c l r] = a[c l p] b[c r p]"
    seen = set()

    for text, sizes, options in (
        (named.LG3, dict.fromkeys("ijkl", 12), dict(constant="D")),
        (named.AX, dict.fromkeys("ijkl", 12), named.TEXTS["ax"].options),
        (named.TEXTS["eqn1_add"].text, dict.fromkeys("ijklmn", 10), named.TEXTS["eqn1_add"].options),
        (field, dict(l=125, r=125, p=27), {}),
    ):
        for plan in organisations(text, sizes, target, **options):
            if plan.how.name not in seen or plan.how.name == "lines":
                found = target.compile(plan.source).report
                report = found.get("contraction") or found["scale_float64"]  # a library's: the kernel of its copies
                most = FEW if plan.how.name == "direct" else 0
                assert max(report["spill_stores"], report["spill_loads"]) <= most, (plan.how, report)
                seen.add(plan.how.name)

    assert seen == {"flat", "team", "lines", "tiles", "slices", "sums", "stages", "direct", "library", "apart", "axes"}
    for how in ("stays", "orbits"):
        sizes = dict.fromkeys("abcefg", 16)
        plan = Contraction(named.all_triples(), sizes, backend=target, how=how, batch="d", quick=True)
        report = target.compile(plan.source).report["contraction"]
        # all of a block's registers are in use: a few numbers wait in the first cache
        assert report["spill_stores"] <= 256, (how, report)


TURNS = (  # text, batch, extents, organisation, the factor of what einsum gives
    ("T[d e f a b c] += t[a d] v[e f b c]", "d", dict(e=2, f=3, a=8, b=2, c=8), "flat threads=64 near=4 jam=4", 1),
    ("T[d e a c] += 2 x[d a g] v[g e c]", "d", dict(e=2, a=4, c=4, g=3), "flat threads=64 near=2 jam=2", 2),
    ("T[d r e] = x[d s e] w[r s]", "d", dict(r=24, s=9, e=8), "flat threads=64 near=4 jam=12", 1),
)


def check_turns(backend):
    """Threads that have several numbers; the first array has entries off 16 bytes, the others lie as they want."""
    rng = np.random.default_rng(0)
    for text, batch, sizes, how, number in TURNS:
        plan = Contraction(text, sizes, "float32", backend, batch=batch, how=how, quick=True)
        arrays = {a.name: rng.integers(-3, 4, plan.shape(a.name, 5)).astype("float32") for a in plan.program.arguments}
        e = plan.expression
        spelled = ",".join("".join(e.references[x][0].indices) for x in e.inputs)
        product = np.einsum(f"{spelled}->{''.join(e.references['T'][0].indices)}", *(arrays[x] for x in e.inputs))
        wanted = number * product + (arrays["T"] if "T" in e.updated else 0)
        assert np.array_equal(run(plan, arrays, 5)["T"], wanted), text
        assert how.partition(" ")[0] == plan.how.name and plan.how.jam > 1


APART = (  # text, extents, the statement of the same numbers in NumPy
    ("o[a b c d] = x[a b c d] w[c b]", dict(b=3, c=23, d=33), "abcd,cb->abcd"),
    ("o[a b c d] += x[a d b c] w[b]", dict(b=5, c=13, d=35), "adbc,b->abcd"),
    ("o[a b c] = x[a b] w[c]", dict(b=33, c=67), "ab,c->abc"),
    ("o[a b c] = x[a b c] w[a]", dict(b=15, c=15), "abc,a->abc"),
    ("o[a b] += x[a b] w[b]", dict(b=7), "ab,b->ab"),
)


def check_apart(backend):
    """Threads whose numbers lie apart: rows of odd lengths, entries that fill their last block in part, short entries
    that share blocks."""
    rng = np.random.default_rng(1)
    for text, sizes, string in APART:
        for dtype in ("float64", "float32"):
            plan = Contraction(text, sizes, dtype, backend, how="flat threads=64 each=4", quick=True)
            arrays = {a.name: rng.integers(-3, 4, plan.shape(a.name, 5)).astype(dtype) for a in plan.program.arguments}
            wanted = np.einsum(string, arrays["x"], arrays["w"]) + (arrays["o"] if "+=" in text else 0)
            assert np.array_equal(run(plan, arrays, 5)["o"], wanted), text
            assert plan.how.each == 4


def test_numbers_apart(stand_in):
    check_apart(stand_in)


def test_rows_of_odd_length_are_done_apart(stand_in):
    """By choice; rows that are read at once stay so, and few numbers have a thread each."""
    text, sizes = "o[a b c] = x[a b c] w[b]", dict(b=47, c=1021)
    assert Contraction(text, sizes, "float32", stand_in, how="flat").how.each == 4
    assert Contraction(text, sizes | dict(c=1024), "float32", stand_in, how="flat").how.near == 4
    assert Contraction(text, dict(b=1, c=4001), "float32", stand_in, how="flat").how.each == 4
    for entries, each in ((100, 1), (10000, 4)):
        assert Contraction(text, dict(b=1, c=521), "float32", stand_in, how="flat", entries=entries).how.each == each
    with pytest.raises(ArgumentError):
        Contraction("o[a b] = x[a b k]", dict(b=9001, k=3), backend=stand_in, how="flat threads=64 each=4")


def test_turns_that_share_what_they_read(stand_in):
    """By choice for short sums, as many turns as leave a device full. Longer sums are for tiles."""

    def of(n, d, entries):
        sizes = dict(n=n, d=d, m=200)
        return Contraction("o[b n m] = x[b n d] y[b m d]", sizes, backend=stand_in, entries=entries).how

    assert (of(200, 3, 64).name, of(200, 3, 64).jam) == ("flat", 4)
    assert (of(202, 3, 64).name, of(202, 3, 64).jam) == ("flat", 2)
    assert of(200, 64, 64).name != "flat"


SHARED = (  # text, extents, organisation: blocks that share numbers
    ("o[] = a[i j]", dict(i=4000, j=4000), "sums threads=512 lanes=32 warps=16 parts=264"),
    ("o[] = a[i j] b[j i]", dict(i=4001, j=4001), "sums threads=512 lanes=32 warps=16 parts=264"),
    ("o[j] = a[i j] w[i]", dict(i=480), "sums threads=1024 lanes=1 warps=32"),
    ("o[j] += a[i k j] b[i k] - 2 a[i k j]", dict(i=400, k=10), "sums threads=256 lanes=1 warps=8 parts=4"),
    ("o[a b c d] = x[a b c d] w[c b]", dict(b=7, c=47, d=243), "flat threads=256 each=8"),
)


@pytest.mark.parametrize("text, sizes, how", SHARED)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_shared_sums_fill_a_device(monkeypatch, text, sizes, how, dtype):
    """For sm_90: nothing is spilled, and 65536 registers have room for the threads of a full multiprocessor."""
    monkeypatch.setattr(cuda, "machine_code", machine_code)
    target = get_backend("cuda", arch="sm_90")
    plan = Contraction(text, sizes, dtype, backend=target, how=how)
    report = target.compile(plan.source).report["contraction"]
    assert report["spill_stores"] == report["spill_loads"] == 0 and report["registers"] * 1024 <= 65536, report


@pytest.mark.parametrize("dtype, k", [("float64", 10), ("float64", 23), ("float32", 17)])
def test_lanes_that_run_on_where_the_output_has_gaps(dtype, k):
    """Packs along n and k of t, which the output has apart; nothing is written between its entries."""
    text, sizes = "o[e n j k] = t[e m n k] B[m j] - 2 s[e m n k] B[m j]", dict(n=3, k=k, m=2, j=3)
    plan = Contraction(text, sizes, dtype, backend=get_backend("cpu"), how="rows", quick=True)
    assert f"BREAK = {k};" in plan.source.text
    rng = np.random.default_rng(k)
    arrays = {x: rng.integers(-3, 4, plan.shape(x, 5)).astype(dtype) for x in "tsB"}
    room = np.full((5, 3 * 3 * k + 7), np.nan, dtype)
    out = room[:, : 3 * 3 * k].reshape(5, 3, 3, k)
    assert np.shares_memory(room, out)
    plan.bind({**arrays, "o": out})()
    assert np.array_equal(out, np.einsum("emnk,mj->enjk", arrays["t"] - 2 * arrays["s"], arrays["B"]))
    assert np.all(np.isnan(room[:, 3 * 3 * k :]))


def test_threads_with_several_numbers(stand_in):
    check_turns(stand_in)


@pytest.mark.gpu
def test_on_a_gpu():
    """Every organisation: random expressions; Ax and a field contraction in whole numbers."""
    backend = get_backend("cuda")
    for seed in range(8):
        assert check_random(backend, seed, alone=6)

    check_turns(backend)
    check_apart(backend)
    check_parts(backend, 12, 301)
    check_device_arrays(backend)

    for n in (2, 7, 12, 17):
        arrays, sizes = nekbone(n, 37, whole=True)
        for plan in organisations(named.AX, sizes, backend, **named.TEXTS["ax"].options):
            assert np.array_equal(run(plan, {**arrays, **empty(plan, 37)}, 37)["w"], ax(arrays)), plan.how

    rng = np.random.default_rng(0)
    left, right = (rng.integers(-3, 4, (20, rows, 216)).astype("float32") for rows in (125, 27))
    wanted = np.einsum("clp,crp->clr", left, right)

    for plan in organisations("o[c l r] = a[c l p] b[c r p]", dict(l=125, r=27, p=216), backend, dtype="float32"):
        found = run(plan, {"a": left, "b": right, **empty(plan, 20)}, 20)
        assert np.array_equal(found["o"], wanted), plan.how
