"""The general product of two tensors by tiles (organisation `direct`), against numpy.einsum.

The 48 products of the public TCCG benchmark stand here in the rows' own notation: out-left-right. On the stand-in of a
device they have small extents, primes and 1 among them, and blocks of few warps; on a GPU (`pytest -m gpu`) the tiles
that the model chooses from.

Tolerance: 4 K eps times the sum of the terms' sizes (K terms; reference/tensor.py). Single precision goes through the
TF32 units in two parts, whose products are exact to 2^-22 of each term: another 2 eps of the same sum.
"""

import dataclasses

import numpy as np
import product_laws as laws
import pytest
from tccg_products import EPS, TCCG, assert_close, computed, random_arrays, text_of, wanted
from tensor_cases import machine_code

from kernels import Contraction, get_backend
from kernels.contractions import direct_plan
from kernels.contractions.direct_plan import Tile, layout
from kernels.contractions.fold import dense, fold
from kernels.contractions.organisations import direct
from kernels.contractions.organisations.direct import HELD, SPLIT, TILES, Block, Direct, Flow
from kernels.contractions.reciprocals import reciprocal
from kernels.engine.backend import cuda
from kernels.engine.errors import ArgumentError

HOLDS = tuple(Direct(Block(1, 2, 1, 1), Flow(56, 2, holds=factor)) for factor in ("left", "right"))
GOES_STRAIGHT = (
    Direct(Block(1, 2, 1, 2), Flow(8, 3, straight=True)),
    *(Direct(Block(1, 2, 1, 1), Flow(56, 2, holds=factor, straight=True)) for factor in ("left", "right")),
)
SMALL = (Direct(Block(1, 2, 2, 1), Flow(8, 3)), Direct(Block(2, 1, 1, 3), Flow(16, 2, parts=2)), *HOLDS)


# ---- values


@pytest.mark.parametrize("k", range(len(TCCG)))
@pytest.mark.long(k=list(range(1, 48, 2)))
def test_the_benchmarks_products_on_the_stand_in(stand_in, k):
    """Ragged extents; both precisions and both kinds of blocks in turn."""
    for how in (SMALL[k % 4], GOES_STRAIGHT[0]):
        laws.ragged_extents_have_the_right_values(stand_in, how, TCCG[k], ("float64", "float32")[k // 2 % 2], k)


@pytest.mark.parametrize("row", ["ab-cba-c", "abc-dca-bd", "ab-acd-dbc", "abcd-aebf-fdec"])
def test_pieces_beyond_the_end_of_an_index(stand_in, row):
    """Where a factor and the output run along different indices, a tile has pieces of both."""
    for how in (SMALL[0], GOES_STRAIGHT[0]):
        laws.prime_extents_have_the_right_values(stand_in, how, row)


@pytest.mark.parametrize("parts", [3, 24])
def test_a_sum_in_parts(stand_in, parts):
    """A thread adds up few parts. For many parts groups of threads add up some each, then the groups are added in
    order."""
    row, sizes = "ab-ka-kb", dict(a=18, b=11, k=700)
    arrays = random_arrays(row, sizes, "float64", 8)
    how = Direct(Block(2, 1, 1, 2), Flow(8, 2, parts=parts))
    plan = Contraction(text_of(row), sizes, backend=stand_in, how=how)
    assert_close(computed(stand_in, plan, arrays), *wanted(row, arrays))


@pytest.mark.parametrize("k", range(len(TCCG)))
@pytest.mark.quick(k=[0, 3, 8, 13, 30, 31, 33, 41])
def test_a_factor_that_a_block_holds(stand_in, k):
    """Many tiles for two blocks; the sum has one step, also of a few terms."""
    row, dtype = TCCG[k], ("float64", "float32")[k % 2]
    rng = np.random.default_rng(100 + k)
    indices = sorted(set(row) - {"-"})
    sizes = {index: int(rng.choice((2, 3, 4, 5, 7) if len(indices) > 4 else (5, 17, 24, 33))) for index in indices}
    sums = [i for i in indices if i not in row.split("-")[0]]
    sizes |= {i: (30, 6)[len(sums) - 1] for i in sums}

    arrays = random_arrays(row, sizes, dtype, k)
    for how in (*HOLDS, *GOES_STRAIGHT[1:]):
        plan = Contraction(text_of(row), sizes, dtype, backend=stand_in, how=how)
        assert_close(computed(stand_in, plan, arrays), *wanted(row, arrays), (row, sizes, str(how)))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("row", ["fedcba-aged-cbfg", "fedcba-bged-cafg", "fedcba-cged-bafg"])
def test_triples_straight_to_the_output(stand_in, row, dtype):
    """Whole tiles: lanes change numbers, so that a store has 16 bytes of a lane and long segments."""
    sizes = dict(a=24, b=2, c=4, d=2, e=2, f=4, g=24)
    arrays = random_arrays(row, sizes, dtype, 9)
    for factor in ("left", "right"):
        how = Direct(Block(1, 1, 1, 6), Flow(24, 2, holds=factor, straight=True))
        plan = Contraction(text_of(row), sizes, dtype, backend=stand_in, how=how)
        assert_close(computed(stand_in, plan, arrays), *wanted(row, arrays), (row, factor))


def test_what_a_block_cannot_hold():
    """A sum longer than a step, and a sum in parts, are refused by name."""
    target, sizes = get_backend("cuda", arch="sm_90"), dict(i=30, j=40, k=57)
    make = lambda how: Contraction("C[i j] = A[i k] B[k j]", sizes, backend=target, how=how)
    for how in (*HOLDS, HOLDS[0].changed(depth=64, parts=2)):
        with pytest.raises(ArgumentError, match="sums of at most .* terms, in one part"):
            make(how)
    assert "holds left" in str(make(HOLDS[0].changed(depth=64)).how)


@pytest.mark.parametrize("how", (*SMALL, *GOES_STRAIGHT))
def test_a_number_and_what_was_there(stand_in, how):
    laws.a_number_and_what_was_there(stand_in, how)


@pytest.mark.parametrize("text", laws.BATCHES)
def test_an_entry_has_the_same_bits_in_any_batch(stand_in, text):
    laws.an_entry_has_the_same_bits_in_any_batch(stand_in, SMALL[0], text, laws.BATCHES[text])


def test_entries_further_apart(stand_in):
    """Sections of a larger array: the numbers between the entries are NaN, and stay."""
    rng = np.random.default_rng(1)
    a, b = np.full((4, 50), np.nan), rng.uniform(-1, 1, (9, 6))
    a[:, :45] = rng.uniform(-1, 1, (4, 45))
    c = np.full((4, 33), np.nan)
    plan = Contraction("C[e i j] = A[e i k] B[k j]", dict(i=5, j=6, k=9), batch="e", backend=stand_in, how=SMALL[0])

    held = {name: stand_in.from_host(array) for name, array in (("A", a), ("B", b), ("C", c))}
    inner = {"A": held["A"][:, :45].reshape(4, 5, 9), "B": held["B"], "C": held["C"][:, :30].reshape(4, 5, 6)}
    for name, width in (("A", (400, 72, 8)), ("C", (264, 48, 8))):
        shape = inner[name].shape
        inner[name] = np.lib.stride_tricks.as_strided(np.asarray(held[name]), shape, width).view(type(held[name]))
    plan.bind(inner)()

    found = np.asarray(stand_in.to_host(held["C"]))
    assert_close(found[:, :30].reshape(4, 5, 6), a[:, :45].reshape(4, 5, 9) @ b, 400 * EPS["float64"])
    assert np.all(np.isnan(found[:, 30:]))


def test_nan_stays_in_its_rows_and_columns(stand_in):
    laws.nan_stays_in_its_rows_and_columns(stand_in, SMALL[1])


def test_arrays_that_do_not_begin_at_16_bytes(stand_in):
    row, sizes = "abc-bda-dc", dict(a=8, b=6, c=4, d=16)
    arrays = random_arrays(row, sizes, "float64", 2)
    plan = Contraction(text_of(row), sizes, backend=stand_in, how=SMALL[0])
    held = {}
    for name, array in arrays.items():
        longer = stand_in.from_host(np.full(array.size + 2, np.nan))
        odd = 1 if stand_in.address(longer) % 16 == 0 else 0
        held[name] = longer[odd : odd + array.size].reshape(array.shape)
        held[name][...] = stand_in.from_host(array)

    plan.bind(held)()
    assert_close(np.asarray(stand_in.to_host(held["C"])), *wanted(row, arrays))


# ---- layouts


@pytest.mark.parametrize("row", TCCG)
def test_every_number_has_its_place(row):
    """Rows, columns and terms that exist are as many as the indices have; offsets are those of the arrays' numbers."""
    extents = dict(zip("abcdefg", (6, 5, 8, 3, 7, 4, 2)))
    out, left, right = row.split("-")
    f = fold(extents, dense(out, extents), dense(left, extents), dense(right, extents))
    found = layout(f, Tile(16, 24, 8), 8)

    for array, first, second, indices in ((0, "rows", "columns", out), (1, "rows", "sums", left)):
        counts = [getattr(found, name) for name in (first, second)]
        offsets = [count.offsets(array, count.size)[count.inside(count.size)] for count in counts]
        every = np.add.outer(*offsets).ravel()
        every = np.add.outer(every, [0]).ravel()
        assert np.array_equal(np.sort(every), np.arange(np.prod([extents[i] for i in indices]))), (row, indices)

    spots = found.spots()
    assert sorted(spots[:16]) == list(range(16)) and sorted(spots[16:]) == list(range(24))


@pytest.mark.parametrize("row", ["C[e i j] = A[e i k] B[k j]", "C[i e j] = A[i e k] B[e k j]"])
def test_arrays_beyond_the_reach_of_offsets(stand_in, monkeypatch, row):
    """Offsets have 32 bits. A larger batch is several launches; slow indices in front of it are loops over blocks."""
    for module in (direct, direct_plan):
        monkeypatch.setattr(module, "FARTHEST", 700)
    n, extents, rng = 41, dict(i=4, j=6, k=8), np.random.default_rng(6)
    plan = Contraction(row, extents, batch="e", backend=stand_in, how=SMALL[0])
    arrays = {name: rng.uniform(-1, 1, plan.shape(name, n)) for name in "AB"}
    arrays["C"] = np.full(plan.shape("C", n), np.nan)

    found = computed(stand_in, plan, arrays)
    indices = {name: "".join(refs[0].indices) for name, refs in plan.expression.references.items()}
    product = np.einsum(f"{indices['A']},{indices['B']}->{indices['C']}", arrays["A"], arrays["B"])
    assert_close(found, product, 4 * 8 * EPS["float64"] * 8 * np.ones_like(product))


def test_terms_have_the_same_order_for_any_batch():
    """So an entry has the same bits in any batch, whatever the extents of rows and columns."""
    tables = []
    for n in (1, 3, 500):
        extents = dict(e=n, i=4, j=6, k=24, l=10)
        f = fold(extents, dense("eij", extents), dense("eikl", extents), dense("jlk", extents))
        tables.append(layout(f, Tile(128, 64, 16), 8).sums)
    assert tables[0] == tables[1] == tables[2]


def test_divisions_by_products():
    """The reciprocals that the kernel divides by, at the ends of what each quotient holds."""
    top = 2**31 - 1
    for extent in (1, 2, 3, 5, 7, 24, 48, 72, 641, 5136, 65535, 65536, 65537, 2**30 - 1, 2**30 + 1, top):
        factor, shift = reciprocal(extent)
        assert 0 < factor < 2**32
        for q in {0, 1, 2, top // extent - 1, top // extent, top // extent // 2}:
            for x in (q * extent - 1, q * extent, q * extent + 1, top):
                if 0 <= x <= top:
                    assert (x * factor // 2**32 + x) >> shift == x // extent, (extent, x)


# ---- what is served, and the compiler


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("C[i] = A[i k] B[k] + D[i]", "a single product"),
        ("C[i] = A[i]", "a single product"),
        ("C[i j] = A[i k] B[j]", "a single product"),  # its k is summed first
    ],
)
def test_what_it_does_not_serve(text, why):
    target = get_backend("cuda", arch="sm_90")
    sizes = dict(i=3, j=4, k=5)
    plain = Contraction(text, sizes, backend=target, batch="")
    assert why in SMALL[0].serves(plain.program)
    with pytest.raises(ArgumentError, match="direct"):
        Contraction(text, sizes, backend=target, batch="", how="direct")


def every_tile():
    """The model's choices with their types: tiles, sums in parts, tiles that hold a factor of 24 terms, sums that go
    straight to the output."""
    both, single = ("float64", "float32"), ("float32",)
    for block, flow in TILES:
        yield Direct(block, flow), both if block.rows * block.columns <= 128 * 72 else single
    for block, flow, parts in SPLIT:
        yield Direct(block, dataclasses.replace(flow, parts=parts[-1])), both
    for block, blocks in HELD:
        for factor in ("left", "right"):
            yield Direct(block, Flow(24, 2, blocks, holds=factor)), single
    for dtype, (block, blocks) in direct.STRAIGHT.items():
        for factor in ("left", "right"):
            yield Direct(block, Flow(24, 2, blocks, holds=factor, straight=True)), (dtype,)


ALL_TILES = [(how, dtype) for how, dtypes in every_tile() for dtype in dtypes]


@pytest.mark.parametrize("k", range(len(ALL_TILES)))
@pytest.mark.quick(k=[0, 1, len(ALL_TILES) - 1])
def test_tiles_compile_without_spills(monkeypatch, k):
    """For sm_90, by NVRTC. Two numbers may wait in the first cache, and more where both factors run along the sum."""
    monkeypatch.setattr(cuda, "machine_code", machine_code)
    target, (how, dtype) = get_backend("cuda", arch="sm_90"), ALL_TILES[k]
    rows = (("abcdef-efgb-gdac", 16), ("abcd-aebf-dfce", 80))[: 1 if how.flow.holds else 2]
    for row, most in rows:
        plan = Contraction(text_of(row), dict.fromkeys("abcdefg", 16), dtype, backend=target, how=how)
        assert how.legal(plan.program)
        report = plan.compile().report["contraction"]
        assert report["spill_stores"] <= most and report["spill_loads"] <= most, (row, report)
        assert report["registers"] * how.block.threads * how.flow.blocks <= 65536, (row, report)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("row", TCCG)
def test_the_benchmarks_products_on_a_gpu(row, dtype):
    """Every tile, at even extents, and the model's choice at ragged ones."""
    backend = get_backend("cuda")
    indices = sorted(set(row) - {"-"})
    even = dict.fromkeys(indices, 16 if len(indices) > 4 else 48)
    odd = {index: 11 + 2 * place for place, index in enumerate(indices)}

    for sizes in (even, odd):
        arrays = random_arrays(row, sizes, dtype, 4)
        product, error = wanted(row, arrays)
        chosen = Contraction(text_of(row), sizes, dtype, backend=backend, how="direct")
        for how in Direct.candidates(chosen.program) if sizes is even else [chosen.how]:
            plan = Contraction(text_of(row), sizes, dtype, backend=backend, how=how)
            assert_close(computed(backend, plan, arrays), product, error, (row, sizes, str(how)))
