"""The general product of two tensors in blocks for two caches (organisation `direct` of a CPU), against numpy.einsum.

Blocks of few rows and terms, so that small arrays have several. Tolerance: see tccg_products.py.
"""

import ctypes
import dataclasses
import mmap
import sys

import numpy as np
import product_laws as laws
import pytest
from tccg_products import EPS, TCCG, assert_close, computed, random_arrays, text_of, wanted

from kernels import Contraction, contract, get_backend
from kernels.contractions import direct_tables
from kernels.contractions.direct_tables import Lines, Tables, along_rows, tables
from kernels.contractions.fold import OUT, dense, fold
from kernels.contractions.organisations import direct_host
from kernels.contractions.organisations.direct_host import HostDirect

SMALL = HostDirect(rows=48, depth=4)
BATCHES = {**laws.BATCHES, "C[i j e] = A[i k e] B[k j e]": ("ikn", "kjn", "ijn")}


@pytest.fixture(scope="module", params=[1, 3])
def cpu(request):
    """A CPU backend of one thread, and of several."""
    return get_backend("cpu", threads=request.param)


# ---- values


@pytest.mark.parametrize("k", range(len(TCCG)))
def test_the_benchmarks_products(k):
    """Ragged extents; both precisions, one thread and several in turn."""
    backend = get_backend("cpu", threads=(1, 3)[k // 2 % 2])
    laws.ragged_extents_have_the_right_values(backend, SMALL, TCCG[k], ("float64", "float32")[k % 2], k)


@pytest.mark.parametrize("row", TCCG)
def test_extents_of_zero_and_one(row):
    """Each index in turn has no value: an empty sum is zero. Then all have one value."""
    out, left, right = row.split("-")
    text, indices = f"{left},{right}->{out}", sorted(set(row) - {"-"})

    def found(sizes):
        factors = [np.full([sizes[i] for i in own], 3.0) for own in (left, right)]
        return contract(text, *factors, backend="cpu", how="direct", quick=True)

    for empty in indices:
        sizes = {**dict.fromkeys(indices, 2), empty: 0}
        product = found(sizes)
        assert product.shape == tuple(sizes[i] for i in out) and not product.any(), empty
    assert found(dict.fromkeys(indices, 1)).tolist() == np.full([1] * len(out), 9.0).tolist()


@pytest.mark.parametrize("row", ["ab-cba-c", "abc-dca-bd", "ab-acd-dbc", "abcd-aebf-fdec", "abcdef-gfbc-dega"])
def test_several_blocks_of_rows_columns_and_terms(cpu, row):
    laws.prime_extents_have_the_right_values(cpu, SMALL, row)


def test_the_usual_blocks(cpu):
    """More rows and terms than a block of the default has."""
    row, sizes = "abc-bda-dc", dict(a=40, b=11, c=9, d=201)
    arrays = random_arrays(row, sizes, "float64", 3)

    plan = Contraction(text_of(row), sizes, backend=cpu, how="direct")
    assert_close(computed(cpu, plan, arrays), *wanted(row, arrays))


def test_a_number_and_what_was_there(cpu):
    laws.a_number_and_what_was_there(cpu, SMALL)


@pytest.mark.parametrize("text", BATCHES)
def test_an_entry_has_the_same_bits_in_any_batch(cpu, text):
    laws.an_entry_has_the_same_bits_in_any_batch(cpu, SMALL, text, BATCHES[text])


def test_entries_further_apart(cpu):
    """Sections of a larger array: the numbers between the entries are NaN, and stay."""
    rng = np.random.default_rng(1)
    a, b, c = np.full((4, 50), np.nan), rng.uniform(-1, 1, (9, 6)), np.full((4, 33), np.nan)
    a[:, :45] = rng.uniform(-1, 1, (4, 45))
    plan = Contraction("C[e i j] = A[e i k] B[k j]", dict(i=5, j=6, k=9), batch="e", backend=cpu, how=SMALL)

    entries = {
        "A": np.lib.stride_tricks.as_strided(a, (4, 5, 9), (400, 72, 8)),
        "B": b,
        "C": np.lib.stride_tricks.as_strided(c, (4, 5, 6), (264, 48, 8)),
    }
    plan.bind(entries)()

    assert_close(c[:, :30].reshape(4, 5, 6), a[:, :45].reshape(4, 5, 9) @ b, 400 * EPS["float64"])
    assert np.all(np.isnan(c[:, 30:]))


def test_nan_stays_in_its_rows_and_columns(cpu):
    laws.nan_stays_in_its_rows_and_columns(cpu, SMALL)


def test_rows_beyond_a_table_are_outer_loops(cpu, monkeypatch):
    monkeypatch.setattr(direct_tables, "LINES", 20)
    row, sizes = "abcd-aebf-fdec", dict(a=7, b=5, c=4, d=6, e=3, f=7)
    arrays = random_arrays(row, sizes, "float64", 9)

    plan = Contraction(text_of(row), sizes, backend=cpu, how=SMALL)
    assert_close(computed(cpu, plan, arrays), *wanted(row, arrays))


def test_columns_in_chunks(cpu, monkeypatch):
    """A thread packs some columns for several blocks of rows, then the next ones."""
    monkeypatch.setattr(direct_host, "CHUNK", 300)
    laws.prime_extents_have_the_right_values(cpu, SMALL, "abcd-aebf-fdec")


@pytest.mark.parametrize("row", ["ab-ac-cb", "abc-bda-dc", "abcdef-dega-gfbc"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_an_output_past_the_caches(cpu, monkeypatch, row, dtype):
    """Where packs begin on a vector's boundary, where two columns share a cache line, and where neither is so."""
    monkeypatch.setattr(direct_host, "STREAMED", 0)
    for extents in ((48, 16, 16, 16, 8, 4, 5), (24, 12, 6, 8, 4, 6, 5), (12, 8, 4, 8, 4, 6, 5), (7, 5, 9, 3, 4, 2, 3)):
        sizes = dict(zip("abcdefg", extents))
        sizes = {index: sizes[index] for index in sorted(set(row) - {"-"})}
        arrays = random_arrays(row, sizes, dtype, 3)
        plan = Contraction(text_of(row), sizes, dtype, backend=cpu, how="direct")
        assert_close(computed(cpu, plan, arrays), *wanted(row, arrays), (row, sizes))


@pytest.mark.parametrize("row", ["cba-adb-cd", "ba-dca-cbd", "dcba-ce-deba"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rows_as_they_lie(monkeypatch, row, dtype):
    """Whole panels of rows are multiplied where they lie, those behind them are packed: the same bits as if all are
    packed. Packs of a panel lie apart in the first row; all have several blocks of rows and of terms."""
    sizes = {index: extent for index, extent in zip("abcde", (104, 48, 6, 13, 3)) if index in row}
    arrays = random_arrays(row, sizes, dtype, 7)
    found = {}
    for columns in (0, 1000):
        monkeypatch.setattr(direct_host, "FEW_COLUMNS", columns)
        plan = Contraction(text_of(row), sizes, dtype, backend=get_backend("cpu", threads=1), how=SMALL)
        found[columns] = computed(plan.backend, plan, arrays)

    assert_close(found[1000], *wanted(row, arrays))
    assert np.array_equal(found[0], found[1000])


@pytest.mark.parametrize("run", [3, 4, 6, 12, 20, 23, 24, 48, 100])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_an_output_in_short_runs(dtype, run):
    """Packs of rows are stored whole, in halves, in quarters or number by number; with a number, and added to what was
    there. Only the factor's rows lie side by side, or only its terms, or neither."""
    sizes = dict(a=run, b=9, c=5, d=11, e=13)
    for row in ("dba-dea-eb", "dba-dae-eb", "cdba-aced-eb", "cdba-deac-be"):
        own = {index: sizes[index] for index in sorted(set(row) - {"-"})}
        arrays = random_arrays(row, own, dtype, run)
        product, error = wanted(row, arrays)
        for how in (SMALL, HostDirect()):
            make = lambda text: Contraction(text, own, dtype, backend=get_backend("cpu", threads=1), how=how)
            assert_close(computed(get_backend("cpu"), make(text_of(row)), arrays), product, error, row)

            old = np.ones_like(arrays["C"])
            added = computed(get_backend("cpu"), make(text_of(row, True, -2)), {**arrays, "C": old})
            assert_close(added, old - 2 * product, 2 * error + 4 * EPS[dtype] * (1 + abs(product)), row)


@pytest.mark.parametrize("extents", [(24, 20, 24, 8, 20), (48, 16, 7, 3, 33), (30, 10, 40, 5, 6)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_runs_of_the_output_across_those_of_a_factor(dtype, extents):
    """Groups of rows that are whole in both: more than a panel of them are packed, and squares are transposed."""
    row = "edcba-dabfe-fc"
    sizes = dict(zip("abedfc", (*extents, 6)))
    arrays = random_arrays(row, sizes, dtype, 5)
    plan = Contraction(text_of(row), sizes, dtype, backend=get_backend("cpu", threads=1), how="direct")
    assert_close(computed(plan.backend, plan, arrays), *wanted(row, arrays), sizes)


@pytest.mark.parametrize("columns", [1, 3, 8, 11, 30, 40, 66, 130])
@pytest.mark.parametrize("rows", [5, 9, 12, 16, 30, 48, 52, 144, 200])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rows_and_columns_that_are_read_where_they_lie(dtype, rows, columns):
    """Rows run along memory in the left factor, columns lie evenly, or in two pieces. Rows are packed on the way where
    more columns are to come. The sum has several parts. A last panel of rows or of columns begins with some of those
    before it."""
    sizes = dict(a=rows, b=columns, c=5, d=81)
    for row in ("ab-acd-dbc", "ab-acd-dcb", "ab-cad-cbd", "aeb-acd-dbec"):
        own = {index: (sizes | {"e": 2})[index] for index in sorted(set(row) - {"-"})}
        arrays = random_arrays(row, own, dtype, columns)
        plan = Contraction(text_of(row), own, dtype, backend=get_backend("cpu", threads=1), how="direct")
        assert_close(computed(plan.backend, plan, arrays), *wanted(row, arrays), (row, own))


class Fenced:
    """Arrays that end where memory ends: behind them is a page that cannot be read."""

    def __init__(self):
        self.kept = []

    def array(self, values):
        room = -(-values.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
        memory = mmap.mmap(-1, room + mmap.PAGESIZE)
        begin = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        protect = ctypes.CDLL(None).mprotect
        assert protect(ctypes.c_void_p(begin + room), ctypes.c_size_t(mmap.PAGESIZE), 0) == 0

        found = np.frombuffer(memory, values.dtype, values.size, room - values.nbytes).reshape(values.shape)
        found[...] = values
        self.kept.append(memory)
        return found


@pytest.mark.skipif(sys.platform != "linux", reason="mprotect by its Linux arguments")
@pytest.mark.parametrize("rows, columns", [(5, 3), (9, 8), (12, 11), (21, 9), (45, 13), (47, 1), (93, 1), (93, 30)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_nothing_behind_an_array_is_read(dtype, rows, columns):
    """Last panels of one to three packs, and the last columns, as they lie. Small whole numbers: exact."""
    fenced, rng = Fenced(), np.random.default_rng(rows)
    left = fenced.array(rng.integers(-3, 4, (200, rows)).astype(dtype))
    right = fenced.array(rng.integers(-3, 4, (200, columns)).astype(dtype))
    found = contract("ki,kj->ij", left, right, backend="cpu", how="direct")
    assert np.array_equal(found, left.T @ right)


@pytest.mark.parametrize("past", [False, True])
@pytest.mark.parametrize("columns", [8, 24, 45, 130])
@pytest.mark.parametrize("rows", [4, 8, 16, 24, 48, 100])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_both_loops_have_the_same_bits(monkeypatch, dtype, rows, columns, past):
    """With wide vectors a loop of its own serves whole panels, if their sums are stored as they are. If an output is
    added to, the general loop serves all: added to zeros, it has the same bits. Rows are packed or lie, columns are
    packed or lie evenly; there are more terms than a turn of the loop has."""
    if past:
        monkeypatch.setattr(direct_host, "STREAMED", 0)
    backend = get_backend("cpu", threads=1)
    sizes = dict(a=rows, b=columns, c=12, d=27, e=2)
    for row in ("ab-ad-bd", "ab-da-bd", "cba-adc-bd", "cba-dca-bd", "abe-ad-bed", "ecba-adce-db"):
        own = {index: sizes[index] for index in sorted(set(row) - {"-"})}
        arrays = random_arrays(row, own, dtype, columns)
        plan, adding = (
            Contraction(text_of(row, *how), own, dtype, backend=backend, how="direct") for how in ((), (True,))
        )

        found = computed(backend, plan, arrays)
        added = computed(backend, adding, {**arrays, "C": np.zeros_like(arrays["C"])})
        assert_close(found, *wanted(row, arrays), (row, own))
        assert np.array_equal(found, added), (row, own)


@pytest.mark.parametrize("size", [8, 4])
def test_groups_of_rows_fill_panels(size):
    """Rows that run along one index in the left factor and along another in the output: pieces of both make whole
    panels of 48 rows, also where the sum is so long that half a line of the output has to do."""
    for terms in (100, 144, 170):
        sizes = dict(a=144, b=144, c=24, d=terms)
        f = along_rows(fold(sizes, dense("cba", sizes), dense("adb", sizes), dense("cd", sizes)))
        rows = tables(f, size).rows
        assert rows.group % 48 == 0
        assert rows.together(0) > 0.95


@pytest.mark.parametrize("out, bands", [("cba", True), ("cab", False)])
def test_rows_in_bands(out, bands):
    """Rows run along b in the left factor: the output runs along a, in squares that are transposed, or along b."""
    sizes = dict(a=144, b=144, c=24, d=144)
    f = along_rows(fold(sizes, dense(out, sizes), dense("adb", sizes), dense("cd", sizes)))
    assert tables(f, 8).rows.in_bands(4) == bands


@pytest.mark.parametrize("terms, past", [(192, True), (193, False)])
def test_a_large_output_that_is_written_once_bypasses_the_caches(terms, past):
    """A longer sum is added up in the output, part by part."""
    sizes = dict(i=2048, j=1024, k=terms)  # 16 MB
    f = along_rows(fold(sizes, dense("ij", sizes), dense("ik", sizes), dense("kj", sizes)))
    assert HostDirect()._past(tables(f, 8), f, 8) == past


@pytest.mark.parametrize(
    "run, columns, slow, shared",
    [
        (24, 12, 288, True),
        (16, 12, 192, True),
        (8, 3, 24, False),
        (20, 12, 240, False),
        (24, 12, 296, False),
        (40, 12, 480, False),  # a panel of 48 rows ends within a run: two halves of a line come at different times
    ],
)
def test_columns_that_follow_each_other_share_cache_lines(run, columns, slow, shared):
    """float32, lines of 16: runs of rows are pieces of 8, an even number of columns, the slower index on lines."""
    sizes = dict(a=run, b=columns, c=5, k=7)
    out = dict(a=1, b=run, c=slow)
    f = along_rows(fold(sizes, out, dense("kca", sizes), dense("bk", sizes)))
    assert direct_host._on_lines(f, 4) == shared


@pytest.mark.parametrize(
    "run, rows, slow, whole",
    [
        (24, 4, 96, True),
        (16, 5, 80, True),
        (16, 5, 88, False),
        (24, 5, 120, False),
        (20, 4, 80, True),
        (20, 4, 96, True),
    ],
)
def test_runs_that_follow_each_other_fill_cache_lines(run, rows, slow, whole):
    """float32, lines of 16: indices of the rows that follow each other in the output are one run, of whole lines or
    not. The columns' index steps over `slow` numbers."""
    sizes = dict(a=run, b=rows, c=6, k=7)
    out = dict(a=1, b=run, c=slow)
    f = along_rows(fold(sizes, out, dense("kba", sizes), dense("ck", sizes)))
    assert direct_host.whole_lines(tables(f, 4), 4) == whole


def test_a_large_output_that_begins_beside_a_cache_line(monkeypatch):
    """It is written through the caches: stores past them have to be on a boundary. Numbers behind it stay."""
    monkeypatch.setattr(direct_host, "STREAMED", 0)
    sizes = dict(i=64, j=48, k=9)
    plan = Contraction("C[i j] = A[i k] B[k j]", sizes, backend=get_backend("cpu", threads=1), how="direct")
    rng = np.random.default_rng(3)
    arrays = dict(A=rng.random((64, 9)), B=rng.random((9, 48)))

    for begin in (0, 2):
        room = plan.backend.empty(64 * 48 + 8)
        room.fill(np.nan)
        C = room[begin : begin + 64 * 48].reshape(64, 48)
        plan.bind(dict(arrays, C=C))()
        assert_close(C, arrays["A"] @ arrays["B"], 20 * EPS["float64"] * arrays["A"] @ arrays["B"])
        assert np.isnan(room[begin + 64 * 48 :]).all()


def test_blocks_are_as_large_as_the_second_cache_allows(monkeypatch):
    """192 terms of float64. Rows of many columns are packed; those of few columns may stay as they lie."""

    def blocks(columns, cache):
        monkeypatch.setattr(direct_host.cpu, "second_cache", lambda: cache)
        places = [np.arange(count, dtype=np.int64) for count in (5000, columns, 192)]
        lines = [Lines(place, place) for place in places]
        return HostDirect()._blocks(Tables(*lines, ()), 1, 8)

    assert blocks(1000, 512 << 10).rows == 96 and blocks(1000, 2 << 20).rows == 384
    assert blocks(100, 2 << 20).rows == 144
    assert blocks(100, 1 << 20).rows_in_place and not blocks(1000, 1 << 20).rows_in_place


@pytest.mark.parametrize("terms, rows", [(24, 96), (40, 48), (60, 384), (192, 384)])
@pytest.mark.parametrize("whole", [True, False])
def test_rows_of_a_short_sum_stay_in_the_first_cache(terms, rows, whole, monkeypatch):
    """Cores that work on 64 bytes at once meet all columns there, also if the output is written in short
    runs. A longer sum has rows in the second cache, as other cores have."""
    monkeypatch.setattr(direct_host.cpu, "has_whole_vectors", lambda target: whole)
    monkeypatch.setattr(direct_host.cpu, "second_cache", lambda: 2 << 20)
    apart = np.arange(4800, dtype=np.int64) * 7
    runs = np.concatenate([np.arange(24) + 1000 * k for k in range(200)])
    lines = Lines(apart, runs, 8), Lines(apart, apart), Lines(*[np.arange(terms, dtype=np.int64)] * 2)

    found = HostDirect()._blocks(Tables(*lines, ()), 1, 8)
    assert found[:2] == ((rows, rows) if whole and rows < 384 else (384, 48))


@pytest.mark.parametrize(
    "rows, block, together, items, found",
    [
        (600, 384, 1, 2, (336, 336)),  # blocks of 384 would leave 216 for the other thread
        (5000, 384, 8, 8, (336, 672)),
        (1000, 96, 24, 8, (96, 192)),
        (20, 384, 1, 2, (48, 48)),
        (4800, 384, 96, 2, (384, 2688)),
        (4800, 48, 96, 2, (48, 2400)),  # a block has no room for what comes together
    ],
)
def test_threads_get_items_of_about_the_same_size(rows, block, together, items, found):
    """Whole blocks, which are whole panels."""
    assert direct_host.of_threads(rows, block, together, items) == found


# ---- tables


def test_an_output_in_short_runs_is_written_in_order():
    """A panel of 48 rows meets all columns before the next one does. Runs of single rows gain nothing by that."""
    runs = lambda length: np.concatenate([np.arange(length) + 1000 * k for k in range(50)])
    assert direct_host.rows_at_once(runs(24), 384) == 48
    assert direct_host.rows_at_once(runs(24), 40) == 40
    for length in (1, 200):
        assert direct_host.rows_at_once(runs(length), 384) == 384
    assert direct_host.rows_at_once(np.arange(1000), 384) == 384


def test_blocks_have_whole_groups():
    """384 rows are usual. Groups of 256 fill panels of 48 better if there are three; one larger group is a block."""
    assert direct_host.block_rows(1, 2000, 384) == 384
    assert direct_host.block_rows(24, 2000, 384) == 384
    assert direct_host.block_rows(128, 2000, 384) == 384
    assert direct_host.block_rows(256, 2000, 384) == 256
    assert direct_host.block_rows(576, 2000, 384) == 576
    assert direct_host.block_rows(576, 500, 384) == 384
    assert direct_host.block_rows(576, 96, 384) == 96


def test_a_cache_line_is_asked_for_once():
    """Rows of three blocks, of which some begin in the same line of 8 numbers."""
    places = np.array([0, 100, 1, 101, 2, 102, 3, 103, 16, 24])
    lines, ends = direct_host.lines_of(places, 4, 8)
    assert lines.tolist() == [0, 100, 2, 102, 16, 24]
    assert ends.tolist() == [2, 4, 6]


def test_terms_have_the_same_order_for_any_batch():
    """So an entry has the same bits in any batch. The batch lies inside, between and outside of the sums' indices."""
    for left, right in (("iklme", "mlkje"), ("ekilm", "kjmle"), ("ikelm", "mjlek")):
        orders = []
        for n in (1, 2, 30):
            extents = dict(e=n, i=4, j=6, k=9, l=10, m=11)
            f = along_rows(fold(extents, dense("ije", extents), dense(left, extents), dense(right, extents)))
            terms = tables(f, 8).terms
            factor = terms.first if f.steps[1].keys() == set(left) else terms.second
            orders.append(np.argsort(factor, kind="stable"))
        assert all(np.array_equal(order, orders[0]) for order in orders), (left, right)


@pytest.mark.parametrize("row", TCCG)
def test_every_number_has_its_place(row):
    """Rows and columns are as many as the indices have, and lie where the output's numbers lie."""
    extents = dict(zip("abcdefg", (6, 5, 8, 3, 7, 4, 2)))
    out, left, right = row.split("-")
    f = along_rows(fold(extents, dense(out, extents), dense(left, extents), dense(right, extents)))
    t = tables(f, 8)

    every = np.add.outer(t.rows.second, t.columns.second).ravel()
    for axis in t.loops:
        every = np.add.outer(every, np.arange(axis.extent) * axis.step[OUT]).ravel()
    assert np.array_equal(np.sort(every), np.arange(np.prod([extents[i] for i in out])))

    # The output runs along the rows, and so does the larger array that can.
    assert any(axis.step[OUT] == 1 for axis in f.m)
    assert any(np.any(np.diff(places) == 1) for places in t.rows)


def test_a_type_that_is_not_served():
    plan = Contraction("C[i j] = A[i k] B[k j]", dict(i=2, j=3, k=4), backend=get_backend("cpu"))
    assert "float64 or float32" in SMALL.serves(dataclasses.replace(plan.program, dtype="complex128"))
