"""`explain` about the choice, on texts of TCCG: prices as times, the bound, and the reason."""

import math
import re

import numpy as np
import pytest
from tensor_cases import XEON

from frame.tools.bench import tccg
from kernels import ComplexContraction, Contraction, contract, get_backend
from kernels.contractions import asked, host_rates, operands, repeats, small_products, string_call, table
from kernels.contractions.fold import Move
from kernels.contractions.organisations import core_products, library_costs
from kernels.engine.errors import ArgumentError

NAMES = ("ab-ac-cb", "abc-bda-dc", "abcd-dbea-ec", "abcd-aebf-dfce", "abcdef-dega-gfbc")
SIZES = dict(zip("abcdefg", (24, 20, 16, 12, 18, 14, 10)))
LINE = re.compile(r"organisation (\w+).*: ([\d.]+) us an entry, ([\d.]+) times (\w+) alone(  <- chosen)?$", re.M)
BOUND = re.compile(r"bound of an entry on (.+): bytes alone ([\d.]+) us \(.*\), flops alone ([\d.]+) us")
DIGITS = 6e-3  # three digits of a number: off by 1 of 200 at most


def planned(name, style, **options):
    backend = get_backend("cpu") if style == "packs" else get_backend("cuda", arch="sm_90")
    return Contraction(tccg.text(name), {i: SIZES[i] for i in {*name} - {"-"}}, backend=backend, **options)


def expected(name, batch):
    """(bytes, flops) of an entry in double precision, from the indices."""
    arrays = name.split("-")
    own = [math.prod(SIZES[i] for i in indices if i != batch) for indices in arrays if batch in indices]
    every = {i for indices in arrays for i in indices if i != batch}
    return 8 * sum(own), 2 * math.prod(SIZES[i] for i in every)


@pytest.mark.parametrize("style, model", [("packs", "one core"), ("threads", "an H100")])
@pytest.mark.parametrize("name", NAMES)
def test_times_bound_and_reason(name, style, model):
    """The bound from bytes and flops alone; a time for each organisation; the lowest is chosen, and why."""
    plan = planned(name, style)
    told, rates = plan.explain(), library_costs.rates(style, "float64")

    found, by_bytes, by_flops = BOUND.search(told).groups()
    moved, flops = expected(name, plan.expression.batch)
    assert found == model
    assert float(by_bytes) == pytest.approx(moved / rates.memory * 1e6, rel=DIGITS)
    assert float(by_flops) == pytest.approx(flops / rates.flops["float64"] * 1e6, rel=DIGITS)

    lines = LINE.findall(told)
    assert [how for how, *_ in lines] == [how.name for _, how, _ in plan.candidates]
    times = [float(time) for _, time, *_ in lines]
    assert times == sorted(times) and len(times) > 1

    # Beside the bound, which is the longer of both.
    longer = "bytes" if float(by_bytes) > float(by_flops) else "flops"
    for _, time, ratio, name_, _ in lines:
        assert name_ == longer
        assert float(ratio) == pytest.approx(float(time) / max(float(by_bytes), float(by_flops)), rel=3 * DIGITS)

    assert [bool(mark) for *_, mark in lines] == [True] + [False] * (len(lines) - 1)
    reason = re.search(r"chosen: (\w+), because its estimate is the lowest, ([\d.]+) of the time of (\w+); (\w+)", told)
    assert reason.group(1, 3, 4) == (lines[0][0], lines[1][0], longer)
    assert float(reason[2]) == pytest.approx(times[0] / times[1], rel=0.06)  # two digits


@pytest.mark.parametrize("name", ["ab-ac-cb", "abcd-aebf-dfce"])
def test_the_time_of_a_library_is_that_of_its_model(name):
    """A price goes to seconds and back: the library's own model has seconds."""
    plan = planned(name, "threads", how="library")
    how, p = plan.how, plan.program
    seconds = how.price(p) * library_costs.unit("threads", p)
    time = next(float(time) for name_, time, *_ in LINE.findall(plan.explain()) if name_ == "library")
    assert plan.seconds == seconds and time == pytest.approx(seconds * 1e6, rel=DIGITS)


def test_other_reasons(monkeypatch, large_cache):
    """The caller's choice, a single organisation, a row of the table."""
    usual = planned("abcd-dbea-ec", "packs")
    other = next(how.name for _, how, _ in usual.candidates if how.name != usual.how.name)
    told = planned("abcd-dbea-ec", "packs", how=other).explain()
    assert f"because the caller or the text names it; the model would take {usual.how.name}." in told
    assert [how for how, *_, mark in LINE.findall(told) if mark] == [other]
    told = planned("abcd-dbea-ec", "packs", how=usual.how.name).explain()
    assert "because the caller or the text names it, as the model would." in told

    text, sizes = "o[e i k] = a[e i j] b[j k]", dict(i=128, j=128, k=128)
    told = ComplexContraction(text, sizes, backend="cpu").explain()
    assert "chosen: library, because no other organisation serves it." in told
    assert f"an entry: {8 * 128**3} flops" in told  # four products and four sums of real numbers for each term
    products, parts = (float(re.search(f"{x}: ([\\d.]+) us", told)[1]) for x in ("complex numbers", "their copies"))
    assert 0 < products < parts

    # The speed that arrays had.
    plan = ComplexContraction("o[e i k] = a[e i j] b[j k]", dict(i=2, j=3, k=2), backend="cpu", quick=True)
    arrays = dict(a=np.ones((5, 2, 3)) * 1j, b=np.ones((3, 2)) * 1j, o=np.zeros((5, 2, 2)) * 1j)
    assert "reached: 5 entries in " in plan.explain(arrays) and (arrays["o"] == -3).all()

    monkeypatch.setattr(table, "in_force", lambda: "some.csv")
    monkeypatch.setattr(usual, "row", table.Row._make([None] * len(table.Row._fields))._replace(line=7, order=0))
    assert f"chosen by some.csv, line 7: {usual.how}, order 0" in usual.explain()


# Strings of users and times of one core that were measured on a Zen 4 with arrays in the caches, in microseconds: what
# is chosen by this core's rates has to take at most 1.5 times the least.
ZEN4 = host_rates.HostRates(3.1e10, 1.4e10, 5.3e10, 6.4e-10, 5.1e10, 3.6e-10, 3.6e-9)
MEASURED = {
    ("ijd,ij->id", "50 60 64, 50 60"): dict(rows=29, library=30, sweep=50, lanes=60, direct=120),
    ("n,ni,nj->ij", "5000, 5000 50, 5000 50"): dict(lanes=697, apart=730, library=1018, rows=1377),
    (",ij->ij", ", 1500 1000"): dict(rows=592, sweep=640, lanes=1247, library=554, direct=5923),
    ("kl,eijl->eijk", "8 8, 500 8 8 8"): dict(rows=86, lanes=212, library=263, direct=436, folded=522),
    ("bij,bj->bi", "100000 3 3, 100000 3"): dict(
        lanes=522, folded=832, rows=2170, library=3365, sweep=3625, direct=14622
    ),
    ("ir,jr->ijr", "200 20, 200 20"): dict(direct=195, rows=276, lanes=309, library=491, sweep=591),
    ("bi,bj->bij", "50000 3, 50000 3"): dict(rows=158, lanes=222, library=815, sweep=1380, direct=6877, block=322),
    ("ij,j->ji", "1500 1000, 1000"): dict(rows=470, sweep=490, lanes=940, library=560),
    ("ij,kl->ikjl", "40 40, 30 30"): dict(sweep=185, rows=310, direct=440, lanes=520, library=790),
    ("ni,ij->nj", "50000 5, 5 5"): dict(library=180, rows=296, lanes=626, direct=600),
    ("ik,kj->ij", "4 10000, 10000 4"): dict(library=15, rows=45, lanes=70, direct=180),
}


@pytest.mark.parametrize("text, shapes", MEASURED)
def test_strings_of_users_go_to_fast_organisations(text, shapes, monkeypatch, caches_of_zen4):
    monkeypatch.setattr(repeats, "kept", repeats.Kept())
    monkeypatch.setattr(small_products, "call_of", lambda *given: None)
    monkeypatch.setenv("FRAME_ARCH", "x86-64-v4")  # planned, not run
    monkeypatch.setattr(host_rates, "of", lambda dtype: ZEN4)
    times = MEASURED[text, shapes]
    operands = [np.ones(tuple(map(int, shape.split()))) for shape in shapes.split(",")]
    plans = []

    def planned(job, *given):
        plans.append(job.plan)
        raise ArgumentError("planned")

    monkeypatch.setattr(string_call, "_evaluated", planned)
    with pytest.raises(ArgumentError, match="planned"):
        contract(text, *operands)
    assert times[plans[0].how.name] <= 1.5 * min(times.values()), plans[0].how.name


def test_a_product_of_three_may_be_taken_at_once():
    """No factor is multiplied before, where that saves nothing; so the arrays are gone through once."""
    sizes = dict(i=40, j=30)
    plan = Contraction("o[i] = a[i j] b[i j] c[i j]", sizes, backend="cpu", batch="")
    assert [len(p.statements) for p in plan.programs][-1] == 1 and len(plan.program.statements) == 1

    rng = np.random.default_rng(0)
    arrays = {name: rng.random((40, 30)) for name in "abc"}
    wanted = np.einsum("ij,ij,ij->i", *arrays.values())
    for how in ("sweep", "folded", "rows"):
        out = np.full(40, np.nan)
        Contraction("o[i] = a[i j] b[i j] c[i j]", sizes, backend="cpu", batch="", how=how).bind({**arrays, "o": out})()
        np.testing.assert_allclose(out, wanted, rtol=32 * np.finfo(float).eps)  # 30 terms of one sign

    chain = Contraction("o[i] = a[i j] b[j k] c[k]", sizes | dict(k=20), backend="cpu", batch="")
    assert all(len(p.statements) == 2 for p in chain.programs)


# ---- threads --------------------------------------------------------------------------------------------------------


def by_usual_rates(monkeypatch, library: float = 1.0) -> None:
    """library: times the usual pace of NumPy's products. Memory and packing take no time."""
    rates = host_rates.usual("float64")._replace(memory=1e15, factor=0.0)
    monkeypatch.setattr(host_rates, "of", lambda dtype: rates._replace(library=rates.library * library))


@pytest.mark.parametrize("threads, library, how", [(1, 1.0, "library"), (8, 1.0, "direct"), (8, 8.0, "library")])
def test_threads_count_in_the_choice(monkeypatch, threads, library, how):
    """A product of large matrices: `direct` has the backend's threads, NumPy's library its own, whose pace is
    measured."""
    by_usual_rates(monkeypatch, library)
    plan = Contraction(
        "o[i k] = a[i j] b[j k]", dict(j=600, k=600), backend=get_backend("cpu", threads=threads), entries=600
    )
    assert plan.how.name == how
    assert ("8 threads" in plan.explain()) == (threads == 8)


@pytest.mark.parametrize("how, entries, times", [("rows", 3, 3), ("rows", 100, 4), ("lanes", 8, 1), ("lanes", 16, 2)])
def test_threads_share_entries(monkeypatch, how, entries, times):
    """Each has entries of its own, by `lanes` packs of eight."""
    by_usual_rates(monkeypatch)
    plans = [
        Contraction(
            "o[e i k] = a[e i j] b[e j k]",
            dict.fromkeys("ijk", 6),
            backend=get_backend("cpu", threads=threads),
            how=how,
            entries=entries,
        )
        for threads in (1, 4)
    ]
    assert plans[0].seconds == pytest.approx(times * plans[1].seconds)


def test_steps_have_their_own_shares(monkeypatch):
    """Of a chain by `apart` a product by the library takes as long by any number of threads."""
    by_usual_rates(monkeypatch)
    text, sizes = "o[i j] = w[g] a[g i] b[g j]", dict(g=20000, j=300)
    one, four = (
        Contraction(text, sizes, backend=get_backend("cpu", threads=threads), how="apart", entries=300)
        for threads in (1, 4)
    )
    assert four.seconds < one.seconds < 4.001 * four.seconds


# ---- prices on a core ---------------------------------------------------------------------------------------------


def seconds(text, how, entries, **sizes):
    """The model's time of an organisation for all entries, by the rates of a usual core."""
    plan = Contraction(text, sizes, backend=get_backend("cpu"), how=how, entries=entries)
    return plan.seconds * entries


@pytest.mark.parametrize("k, packs", [(400, False), (4000, True)])
def test_small_products_of_the_library_are_not_packed(monkeypatch, k, packs):
    """Below a million multiply-adds, with 512-bit vectors, where OpenBLAS reads both factors as they lie."""
    monkeypatch.setattr(library_costs.cpu, "vector_bytes", lambda target: 64)
    found = []
    for factor in (1e-10, 1e-8):
        rates = host_rates.usual("float64")._replace(factor=factor)
        monkeypatch.setattr(host_rates, "of", lambda dtype, rates=rates: rates)
        found.append(seconds("o[i j] = a[i k] b[k j]", "library", 33, k=k, j=33))
    assert (found[1] > 2 * found[0]) == packs


@pytest.mark.parametrize("extent, terms, packed", [(40, 40, True), (30, 20, True), (30, 60, False)])
def test_sums_along_both_factors_are_packed(monkeypatch, extent, terms, packed):
    """OpenBLAS reads them as they lie for few numbers of a long sum only, with 512-bit vectors."""
    monkeypatch.setattr(library_costs.cpu, "vector_bytes", lambda target: 64)
    both = core_products.Matrices(extent, extent, terms, turned=True, across=False)
    assert core_products.is_unpacked("float64", both) != packed
    assert core_products.is_unpacked("float64", both._replace(turned=False))
    assert not core_products.is_unpacked("complex128", both)


def test_rows_that_begin_inside_cache_lines_cost_more(monkeypatch):
    """Products number by number, as many: of rows of 32 numbers each pack is a cache line, of rows of 30 it lies in
    two. Memory takes no time."""
    monkeypatch.setattr(host_rates, "of", lambda dtype: ZEN4._replace(memory=1e15))
    whole = seconds("o[e j k] = a[e j] b[k]", "rows", 40, j=1200, k=32)
    broken = seconds("o[e j k] = a[e j] b[k]", "rows", 40, j=1280, k=30)
    assert broken > 1.2 * whole


@pytest.mark.parametrize("matrix", ["n i", "i n"])
def test_a_matrix_times_a_vector_streams_from_a_large_cache(matrix, monkeypatch):
    """8 MB, nearly at the pace of other organisations: on a Xeon of the fourth generation 16 MB of complex128 took the
    library 0.73 and 1.2 ms, a real contraction, which was chosen, 1.2 and 3.1. Arithmetic takes no time."""
    monkeypatch.setattr(host_rates, "of", lambda dtype: ZEN4._replace(library=1e15, factor=0.0))
    monkeypatch.setattr(host_rates, "has_large_cache", lambda: True)
    monkeypatch.setattr(library_costs.cpu, "second_cache", lambda: 2 << 20)
    vector = seconds(f"o[n] = a[{matrix}] b[i]", "library", 1000, i=1000)
    columns = seconds(f"o[n q] = a[{matrix}] b[i q]", "library", 1000, i=1000, q=2)
    assert 1.2 * vector < columns


@pytest.mark.parametrize("extent, waits", [(144, True), (64, False)])
def test_the_library_waits_for_a_large_cache_before_it_packs(extent, waits, monkeypatch, large_cache):
    """A core of a Xeon took the sum of both for 136 products of 144 x 144 x 136. Below a million multiply-adds nothing
    is packed, and the factors come during the arithmetic."""
    text, sizes, count = "o[e i k] = a[e i j] b[e j k]", dict.fromkeys("ijk", extent), 136
    slow = seconds(text, "library", count, **sizes)
    monkeypatch.setattr(host_rates, "of", lambda dtype: XEON._replace(memory=1e30))
    fast = seconds(text, "library", count, **sizes)

    moved = 8 * extent**2 * 4 * count  # an output is read before it is written
    share = (slow - fast) / (moved / XEON.memory)
    assert share == pytest.approx(1.0, rel=1e-2) if waits else share < 0.6


@pytest.mark.parametrize("i, k, waits", [(17600, 10, True), (10, 17600, False)])
def test_one_product_with_long_runs_is_packed_while_it_multiplies(i, k, waits, monkeypatch, large_cache):
    """A Xeon took 0.75 to 1.0 of the memory's time besides for many rows, 0.4 to 0.6 for long ones."""
    slow = seconds("o[i k] = a[i j] b[j k]", "library", i, j=26, k=k)
    monkeypatch.setattr(host_rates, "of", lambda dtype: XEON._replace(memory=1e30))
    fast = seconds("o[i k] = a[i j] b[j k]", "library", i, j=26, k=k)
    moved = 8 * (26 * (i + k) + 2 * i * k)
    share = (slow - fast) / (moved / XEON.memory)
    assert share == pytest.approx(1.0, rel=1e-2) if waits else 0.2 < share < 0.7


@pytest.mark.parametrize("name", ["abc-adc-bd", "abc-adc-db", "abc-acd-db", "abc-ad-bdc"])
def test_batches_that_the_library_packs_go_to_direct(name, large_cache):
    """20 MB: `direct` took a core of a Xeon 12 to 14 ms, the library 17 to 19."""
    sizes = tccg.extents(name, 20)
    entries = sizes.pop(name[2])
    assert Contraction(tccg.text(name), sizes, backend="cpu", entries=entries).how.name == "direct"


# Strings that a core of a Xeon took from a large, slow last cache: what the model chose before took 1.3 to 2.5 times as
# long.
FROM_LARGE_CACHE = [
    ("o[q r] = a[p q r s] d[p s]", dict(p=26, r=26, s=26), 26, "sweep"),  # 230 us; rows 570
    ("o[n] = a[n i j] b[n i j]", dict(i=3, j=3), 20000, "lanes"),  # 121 us; rows 188
    ("C[c b a] = A[c e d a] B[d b e]", dict(a=48, b=40, d=40, e=48), 40, "direct"),  # 7.8 ms; rows 9.8
    ("o[b] = a[i b] c[i j b] d[j b]", dict(i=3, j=3), 200000, "lanes"),  # 1.1 ms; sweep 2.5, whose runs are read again
    ("o[e d i] = a[e q d] b[q i]", dict(d=3, q=27, i=20), 2000, "rows"),  # 129 us; direct 356
    ("o[p r] = a[p q r s] d[q s]", dict(q=31, r=31, s=31), 31, "sweep"),  # 450 us; rows 860: broken squares
    ("o[j] = a[i j] b[i j]", dict(i=300), 300, "sweep"),  # 40 us; lanes 75, whose scratch leaves the first cache
    ("o[i j] = a[i j] b[j i]", dict(j=300), 300, "sweep"),  # 99 us; lanes 160
    ("o[i n] = a[i j n] b[j n]", dict(j=5, n=20000), 5, "sweep"),  # 304 us; rows 359, by pieces of a sum
    ("o[i k] = a[i j k]", dict(j=70, k=80), 60, "sweep"),  # 102 us; rows 125
    ("o[p q] = a[g p] b[g q] w[g]", dict(g=5000, q=50), 50, "apart"),  # 950 us; lanes 1520, which wait for pieces
    ("o[p q] = a[g p] b[g q] w[g]", dict(g=1000, q=20), 20, "lanes"),  # 36 us; rows 65
    ("o[x y z] = a[x y z s] b[s]", dict(y=30, z=30, s=10), 30, "folded"),  # 93 us; the library 159, of short rows
]


@pytest.mark.parametrize("text, sizes, entries, how", FROM_LARGE_CACHE)
def test_work_waits_for_a_large_cache(text, sizes, entries, how, large_cache):
    assert Contraction(text, sizes, backend="cpu", entries=entries).how.name == how


@pytest.mark.parametrize("orbitals", [(10, 24), (12, 30)])
def test_parts_of_arrays_that_all_entries_read_are_copied_too(orbitals, large_cache):
    """The library took a core of a Xeon 0.4 and 1.3 ms, the parts by `lanes` with their copies 0.6 and 3.1."""
    o, v = orbitals
    text, sizes = "o[c b] = a[k l c d] b[l k d b]", dict(k=o, l=o, d=v, b=v)
    plan = ComplexContraction(text, sizes, backend="cpu", entries=v)
    assert plan.products is plan.served and plan.products.how.name == "library"

    copied = 16 * v * (2 * o * o * v + 1)  # bytes; each is read and written
    assert plan._seconds_of_copies() * v > 2 * copied / (3 * XEON.memory)


@pytest.mark.parametrize("extent, passes", [(16, True), (256, True), (512, False)])
def test_outputs_bypass_a_large_cache(extent, passes, large_cache):
    """32 MB by `rows`: on a Xeon past the cache in 0.4 to 0.7 of the time, unless an entry, which is made in scratch,
    leaves the second cache on the way. There entries were slower by 1.3 to 1.5."""
    count = (32 << 20) // (8 * extent**2)
    plan = Contraction("o[e i k] = a[e i] b[e k]", dict(i=extent, k=extent), backend="cpu", how="rows", entries=count)
    assert library_costs.passes("packs", plan.program, plan.program.arrays["o"]) == passes
    values = dict(at_o=0, step_o=extent**2, ld_o=1)
    assert operands.bypass(plan, values, count) == passes
    assert not operands.bypass(plan, values, 16 // extent + 1)  # the caches hold a few entries


@pytest.mark.parametrize(
    "order, inner, passes", [("eji", 8, True), ("jei", 8, True), ("jei", 10, False), ("jie", 10, True)]
)
def test_stores_past_the_caches_begin_on_lines(order, inner, passes, monkeypatch):
    """Elsewhere a processor stops the program: `jei` of ten numbers did. One rounding a number."""
    monkeypatch.setattr(library_costs, "streamed", lambda *sizes: True)
    entries, sizes = 104, {"j": 16, "i": inner}
    extent = sizes | {"e": entries}
    text = f"batch e; o[{' '.join(order)}] = a[j e] b[i]"
    plan = Contraction(text, sizes, backend="cpu", how="lanes", entries=entries)

    random = np.random.default_rng(5)
    a, b = random.random((16, entries)), random.random(inner)
    room = np.full(16 * inner * entries + 8, np.nan)
    first = -(room.ctypes.data // 8) % 8
    o = room[first : len(room) - 8 + first].reshape([extent[i] for i in order])

    arrays = {"o": o, "a": a, "b": b}
    assert plan.checked(arrays, entries)["past"] == passes
    plan.bind(arrays, entries)()

    np.testing.assert_allclose(o, np.einsum(f"je,i->{order}", a, b), rtol=np.finfo(float).eps)


def test_entries_in_a_large_cache_are_asked_for_ahead(large_cache):
    """They come as late as from memory: 10000 products of 8 x 8 x 8 by `rows` took 0.6 of the time."""
    assert library_costs.from_afar(15 << 20) and not library_costs.from_memory(15 << 20)
    assert not library_costs.from_afar(1 << 20)


@pytest.mark.parametrize("n, about", [(0, 1), (1, 1), (31, 31), (40, 40), (100, 96), (127, 128), (5000, 5120)])
def test_plans_are_made_for_about_as_many_entries(n, about):
    """Four numbers in each octave beyond 32."""
    assert asked.about(n) == about


def test_pieces_that_lie_apart_are_waited_for():
    """Rows gather an entry whose pieces lie a batch apart, 20000 of 8 numbers, each in a cache line of its own."""
    apart = seconds("o[k i] = a[n k] b[n k i]", "rows", 5, n=20000, i=8)
    together = seconds("o[k i] = a[k n] b[k n i]", "rows", 5, n=20000, i=8)
    assert apart > 1.2 * together


def test_copies_of_blocks_that_squares_do_not_divide_cost_more():
    """float32, transposed in squares of 16: as many numbers in blocks of 16 x 16, 24 x 24 and 8 x 8."""

    def each(extent):
        count = 9216 // extent**2
        moves = [Move(count, extent**2, extent**2), Move(extent, extent, 1), Move(extent, 1, extent)]
        return library_costs.copy_seconds("packs", "float32", moves)

    assert each(16) < each(24) < each(8)


def test_entries_of_which_a_pack_is_beyond_the_second_cache_cost_more():
    """As many numbers: packs of entries of 100 stay in the second cache while they are worked on, those of 20000 leave
    it."""
    small = seconds("o[e i] = a[e i] b[i]", "lanes", 20000, i=100)
    large = seconds("o[e i] = a[e i] b[i]", "lanes", 100, i=20000)
    assert large > 1.2 * small


def test_a_common_array_that_is_read_in_pieces_far_apart_costs_more():
    """All entries read 8 MB: a sum goes along its lines, or from line to line, 8 kB apart."""
    along = seconds("o[e i] = a[i j] b[e j]", "lanes", 64, i=1000, j=1000)
    across = seconds("o[e i] = a[j i] b[e j]", "lanes", 64, i=1000, j=1000)
    assert across > 1.2 * along


def test_runs_that_are_left_cost_more_than_runs_that_are_added():
    """Products number by number write each short run; a sum of as many runs holds it in registers."""
    outer = seconds("o[e i j] = a[e i] b[e j]", "sweep", 1000, i=20, j=7)
    total = seconds("o[e j] = a[e i j]", "sweep", 1000, i=20, j=7)
    assert outer > 2 * total


@pytest.mark.parametrize(
    "text, a, how",
    [
        ("ij,j->ij", np.ones((3000, 2000))[::2, ::2], "sweep"),  # 12 MB are read once, not copied before
        ("ij,jk->ik", np.ones((10, 40))[:, ::2], "lanes"),  # NumPy copies it for its library, too
    ],
)
def test_the_choice_counts_copies_of_arrays_with_gaps(text, a, how, monkeypatch, caches_of_zen4):
    monkeypatch.setattr(repeats, "kept", repeats.Kept())
    monkeypatch.setattr(small_products, "call_of", lambda *given: None)
    monkeypatch.setattr(host_rates, "of", lambda dtype: ZEN4)
    plans = []
    monkeypatch.setattr(string_call, "_evaluated", lambda job, *given: plans.append(job) or np.zeros(job.shape))

    other = np.ones(a.shape[1]) if text == "ij,j->ij" else np.ones((a.shape[1], 12))
    for left in (a, a.copy()):
        contract(text, left, other)

    with_gaps, contiguous = plans
    assert with_gaps.plan.how.name == how
    assert contiguous.gaps == 0 <= with_gaps.gaps


ON_A_DEVICE = (  # statement, sizes, batch, entries; the fastest on an H200, and by how much
    ("o[i] = a[i i] b[i]", dict(i=5000), "", 0, "flat"),  # library 2.5, direct 9 with float32
    ("o[j] = a[i i j]", dict(i=1000, j=300), "", 0, "sums"),  # library 1.4
    ("o[n k] = x[n d] c[k d]", dict(d=8, k=16), "n", 100000, "direct"),  # flat 2.4 with float64
    ("o[b c] = a[a b c] w[a]", dict(a=3, c=1000), "b", 1000, "flat"),  # stages 1.7, 2.9
    ("o[a b] = a[a b c] w[c]", dict(b=1000, c=3), "a", 1000, "flat"),  # stages 1.6, 2.0
    ("o[i j] = a[i k a b] c[k j a b]", dict(i=20, k=20, a=50, b=50, j=20), "", 0, "moments"),  # direct 1.2, library 2.3
    ("o[i] = a[i j] w[j]", dict(i=50, j=1000000), "", 0, "moments"),  # sums 1.25 with float64, 1.2 with float32
    ("o[s] = a[s x]", dict(s=9, x=2097152), "", 0, "sums"),  # moments 1.6 with float64
    ("o[i j] = a[i n] b[j n]", dict(i=24, j=24, n=100000), "", 0, "moments"),  # direct 1.3, 1.8; library 1.7, 4.0
    ("o[x p q] = a[x g p] b[g q]", dict(g=20000, p=60, q=60), "x", 3, "direct"),  # library 3.0 with float64
    ("o[a c] = x[a b c]", dict(b=301, c=302), "a", 300, "sums"),  # team 1.3, 1.16
    ("o[i] = w[n] a[n i]", dict(n=500000, i=30), "", 0, "columns"),  # moments 1.16, 1.26
    ("o[x y z] = a[x y z s]", dict(y=100, z=100, s=10), "x", 100, "flat"),  # sums 1.8 with float32
    ("o[x y i] = a[x y i j] b[x y j]", dict(y=700, i=5, j=5), "x", 700, "flat"),  # stages 5, 8
    ("o[e q a] = a[e q a b] b[e q b]", dict(q=8, a=3, b=3), "e", 20011, "flat"),  # stages 2.3 with float64
    ("o[e i j] = w[q] a[e q i] b[e q j]", dict(q=8, i=8, j=8), "e", 20000, "flat"),  # stages 1.6, apart 1.5
    ("o[k l j] = a[k j] b[l j]", dict(k=60, l=60), "j", 300, "flat"),  # a thread for each of few points 20
    ("o[a e] = a[m n e f] b[a f m n]", dict(m=14, n=14, e=50, f=50), "a", 50, "direct"),  # library 1.3, 1.6
    ("o[e q d] = a[e d f] b[e q f]", dict(d=3, f=3, q=27), "e", 160000, "stages"),  # flat 1.13, 1.24
    ("o[b i k] = a[b i j] b[b j k]", dict(i=12, j=12, k=12), "b", 17361, "stages"),  # flat 1.45 with float64
)


@pytest.mark.parametrize("text, sizes, batch, n, how", ON_A_DEVICE)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_strings_on_a_device_go_to_the_fastest_organisation(text, sizes, batch, n, how, dtype):
    target = get_backend("cuda", arch="sm_90")
    assert Contraction(text, sizes, dtype, backend=target, batch=batch, entries=n).how.name == how


@pytest.mark.parametrize("extent, how", [(3, "flat"), (8, "flat"), (16, "library"), (24, "library")])
def test_batches_of_complex_matrices_go_to_the_fastest_organisation(extent, how):
    """On an H200 the library takes 1.9 times as long as `flat` of 8, half of its time of 16, 0.4 of 24."""
    target = get_backend("cuda", arch="sm_90")
    sizes = dict(i=extent, j=extent, k=extent)
    text, n = "o[b i k] = a[b i j] b[b j k]", 2500000 // extent**2
    c = ComplexContraction(text, sizes, "complex128", target, batch="b", entries=n)
    assert c.products and c.products.how.name == how


@pytest.mark.parametrize(
    "text, sizes, numbers",
    [
        ("o[i] = a[i i]", dict(i=5000), 5000 * 8 + 5000),  # a line of 64 bytes for each number
        ("o[j] = a[i i j]", dict(i=1000, j=300), 1000 * 300 + 300),  # rows of many lines
        ("o[i] = a[i i]", dict(i=4), 4 * 4 + 4),  # no more than the whole array
        ("o[i j] = a[i j]", dict(i=5, j=7), 2 * 5 * 7),
    ],
)
def test_of_a_diagonal_its_lines_move(text, sizes, numbers):
    assert Contraction(text, sizes, backend="cpu", batch="").bytes == 8 * numbers
