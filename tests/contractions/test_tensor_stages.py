"""Tensor expressions by stages on the CUDA stand-in: every parameter of the organisation, the fused triples kernels.

Numbers are whole, so that sums are exact in any order. Outputs start as NaN.
"""

import numpy as np
import pytest
from tensor_cases import LG3, LG3T, ax, empty, nekbone, run

from kernels import Contraction, get_backend
from kernels.contractions import named, orders, stages
from kernels.contractions.organisations import Unable
from kernels.contractions.organisations.staged import Staged, measured
from kernels.contractions.stages import memory
from kernels.contractions.text import parse
from kernels.engine.backend.base import Source
from kernels.engine.errors import ArgumentError

FIELD = "o[c l r] = a[c l p] b[c r p]"


def whole(rng, *shape):
    return rng.integers(-3, 4, shape).astype(float)


def einsum_of(s, arrays):
    """A statement of one term by numpy.einsum."""
    (t,) = s.terms
    left = ",".join("".join(f.indices) for f in t.factors)
    return t.number * np.einsum(f"{left}->{''.join(s.out.indices)}", *(arrays[f.name] for f in t.factors))


def test_strides_avoid_bank_conflicts():
    """Lanes that step along each of three dimensions: 16 banks are all different, which 12 x 12 x 12 without gaps does
    not give. An array that bulk copies fill has long runs at even places."""
    lanes = [(lane >> 2, lane & 3) for lane in range(16)]
    patterns = [(1.0, [[c, 0, r] for r, c in lanes]), (1.0, [[0, r, c] for r, c in lanes])]
    worst = lambda s: max(np.bincount(np.unique(np.array(p) @ np.array(s)) % 16).max() for _, p in patterns)

    assert worst((144, 12, 1)) > 1 and worst(memory.strides_for((12, 12, 12), patterns)) == 1
    outer, inner, one = memory.strides_for((12, 12, 12), patterns, even=64)
    assert inner == 12 and outer % 2 == 0 and one == 1
    assert memory.strides_for((64, 125), [(1.0, [[r, c] for r, c in lanes])], even=64) == (125, 1)


def test_products_of_the_27_texts_are_one_sum_in_nine_orders():
    """The 27 are three products; T3 takes their sum in three orders of h and three of p. What is gathered has the same
    value."""
    e = parse(named.all_triples(), batch="d")
    n = 3
    first, last = orders.gathered(e, dict.fromkeys("abcefg", n), n**3)

    assert (len(first.terms), len(last.terms)) == (9, 3)
    ((uses, terms),) = orders.regrouped(first.terms, ("d", "e", "f"))
    assert (len(uses), len(terms)) == (3, 3)

    rng = np.random.default_rng(0)
    arrays = {name: whole(rng, *(n,) * len(e.references[name][0].indices)) for name in e.inputs}
    wanted = sum(einsum_of(s, arrays) for s in e.statements)
    arrays[first.out.name] = sum(einsum_of(first._replace(terms=(t,)), arrays) for t in first.terms)

    assert np.array_equal(sum(einsum_of(last._replace(terms=(t,)), arrays) for t in last.terms), wanted)
    assert orders.gathered(parse(named.LG3, batch="e"), dict.fromkeys("ijkl", n), 100) is None
    assert orders.gathered(parse("o[e i j] = a[e i] b[j]", batch="e"), dict(i=2, j=2), 100) is None


def all_27(backend, n):
    """Every organisation for all 27 kernels against einsum; returns the names that ran."""
    names = []
    first = Contraction(named.all_triples(), dict.fromkeys("abcefg", n), backend=backend, batch="d", quick=True)
    rng = np.random.default_rng(n)
    arrays = {a.name: whole(rng, *first.shape(a.name, n)) for a in first.program.arguments}
    wanted = arrays["T3"] + sum(einsum_of(s, arrays) for s in first.expression.statements)

    for _, how, _ in first.candidates:
        if how.name in ("stages", "stays", "orbits"):
            plan = Contraction(named.all_triples(), first.sizes, backend=backend, batch="d", how=how, quick=True)
            assert np.array_equal(run(plan, arrays, n)["T3"], wanted), how
            names.append(how.name)

    return sorted(names)


@pytest.mark.parametrize("n", [3, 5])
@pytest.mark.quick(n=3)
def test_all_triples_in_one_kernel(stand_in, monkeypatch, n):
    """A team's numbers are bounded as they are for 16, so that the other indices are spread over teams here too."""
    monkeypatch.setattr(stages.plan, "LARGEST", n**3)
    assert all_27(stand_in, n) == ["orbits", "stages", "stays"]


VARIANTS = (  # lines lie apart where copies are made: of the last two no table's choice may have that
    dict(bulk=True, stage=1, tight=True, warps=2, ahead=2),
    dict(bulk=True, stage=2, tight=False, warps=1, ahead=1),
    dict(bulk=False, stage=1, tight=False, warps=2, ahead=2, apart=False),
    dict(paired=False, columns=1, batch=2, apart=False),
)
RINGS = (  # whatever the table's row has: only pairs come by bulk copies
    dict(bulk=True, paired=True, stage=1, warps=3, ring=2, apart=False),
    dict(bulk=True, paired=True, stage=1, warps=2, ring=3, tight=True, apart=False),
    dict(bulk=True, paired=True, stage=1, warps=2, apart=True),
)


def check_variants(backend, text, sizes, arrays, wanted, count, changed=VARIANTS, **options):
    made = lambda how: Contraction(text, sizes, backend=backend, how=how, quick=True, **options)
    first = made("stages")

    for changes in changed:
        plan = made(first.how.changed(**{"ring": 1, **changes}))
        found = run(plan, {**arrays, **empty(plan, count)}, count)
        assert all(np.array_equal(found[name], x) for name, x in wanted.items()), (text, changes)


@pytest.mark.parametrize("n", [8, 5])
@pytest.mark.quick(n=8)
def test_every_parameter_gives_the_same_numbers(stand_in, n):
    """Ax with bulk copies (n = 8) and where rows are odd; a field contraction whose rows are too many for registers."""
    arrays, sizes = nekbone(n, 2, whole=True)
    some = VARIANTS[::3] if n == 8 else VARIANTS
    check_variants(stand_in, named.AX, sizes, arrays, {"w": ax(arrays)}, 2, some, **named.TEXTS["ax"].options)

    rng = np.random.default_rng(n)
    fields = {"a": whole(rng, 2, 20, 45 + n), "b": whole(rng, 2, 19, 45 + n)}
    wanted = {"o": np.einsum("clp,crp->clr", *fields.values())}

    check_variants(stand_in, FIELD, dict(l=20, r=19, p=45 + n), fields, wanted, 2)


def ax_one(arrays):
    """Ax of elements that are neither turned nor stretched: the three directions with one factor."""
    there = [arrays["g"] * np.einsum(text, arrays["D"], arrays["u"]) for text in LG3.values()]
    return sum(np.einsum(text, arrays["D"], x) for text, x in zip(LG3T, there))


def check_chosen(backend, n, batch):
    """Checks the table's rows for Nekbone's operators, in both types of numbers."""
    for dtype in ("float64", "float32"):
        arrays, sizes = nekbone(n, batch, dtype, whole=True)
        arrays |= {"g": arrays["g1"], "ur": arrays["g2"], "us": arrays["g3"], "ut": arrays["g4"]}
        wanted = {
            "lg3": {name: np.einsum(text, arrays["D"], arrays["u"]) for name, text in LG3.items()},
            "lg3t": {"w": sum(np.einsum(text, arrays["D"], arrays[name]) for text, name in zip(LG3T, LG3))},
            "ax": {"w": ax(arrays)},
            "ax_one": {"w": ax_one(arrays)},
        }

        for key, results in wanted.items():
            t = named.TEXTS[key]
            plan = Contraction(t.text, sizes, dtype, backend=backend, how="stages", quick=True, **t.options)
            found = run(plan, {**arrays, **empty(plan, batch)}, batch)
            for name, x in results.items():
                assert np.array_equal(found[name], x), (key, dtype, n, plan.how)


@pytest.mark.parametrize("n", [8, 10, 12, 16])
@pytest.mark.quick(n=[8, 16])
def test_what_the_table_has(stand_in, n):
    """Its own extents, and 10, which takes the rows of 12."""
    check_chosen(stand_in, n, 3)


@pytest.mark.parametrize("n", [8, 5, 13])
@pytest.mark.quick(n=8)
def test_a_product_goes_on_with_the_numbers_of_the_one_before(stand_in, n):
    """Of Ax with one factor, no derivative is stored: three pairs of products, what lies between stays in registers. An
    infinite number makes the lines through it infinite or NaN, and no other."""
    arrays, sizes = nekbone(n, 3, whole=True)
    arrays = {"D": arrays["D"], "u": arrays["u"], "g": arrays["g1"]}
    options = named.TEXTS["ax_one"].options
    plan = Contraction(named.AX_ONE, sizes, backend=stand_in, how="stages", quick=True, **options)
    made = stages.plan_of(plan.program, plan.how)

    assert [len(step.statements) for step in made.steps if step.kind == "units"] == [2, 2, 2]
    assert len(made.inner) == 3 and not made.inner & set(made.held)
    check_variants(stand_in, named.AX_ONE, sizes, arrays, {"w": ax_one(arrays)}, 3, VARIANTS[:2], **options)

    more = VARIANTS[2:] + ONCE if n == 8 else ONCE[:1]  # 8 is in the table with lines apart
    check_variants(stand_in, named.AX_ONE, sizes, arrays, {"w": ax_one(arrays)}, 3, more, **options)
    arrays["u"][1, 0, n - 1, n - 1] = np.inf
    found = run(plan, {**arrays, **empty(plan, 3)}, 3)["w"]

    with np.errstate(invalid="ignore"):
        assert np.array_equal(np.isfinite(found), np.isfinite(ax_one(arrays)))


def test_a_local_that_two_products_read_is_stored(stand_in):
    """Registers serve one reader in the same rows: here are two, and one whose rows are other ones."""
    sizes = dict.fromkeys("ijkl", 8)
    arrays, _ = nekbone(8, 2, whole=True)
    arrays = {"D": arrays["D"], "u": arrays["u"]}
    both = "t[e k j i] = D[i l] u[e k j l]; w[e k j i] = D[l i] t[e k j l] + D[l j] t[e k l i]"
    other = "t[e k j i] = D[i l] u[e k j l]; w[e k j i] = D[j l] t[e k l i]"
    first = np.einsum("il,ekjl->ekji", arrays["D"], arrays["u"])
    wanted = {
        both: np.einsum("li,ekjl->ekji", arrays["D"], first) + np.einsum("lj,ekli->ekji", arrays["D"], first),
        other: np.einsum("jl,ekli->ekji", arrays["D"], first),
    }

    for text, w in wanted.items():
        plan = Contraction(text, sizes, backend=stand_in, how="stages", quick=True, batch="e", local="t", constant="D")
        assert not stages.plan_of(plan.program, plan.how).inner
        assert np.array_equal(run(plan, {**arrays, **empty(plan, 2)}, 2)["w"], w)


@pytest.mark.parametrize("factor", ["D[e e f]", "D[f e e k]", "D[f e e]", "D[e e]", "D[f e e e]", "D[e f]"])
def test_a_diagonal_that_two_products_read(stand_in, factor):
    """A copy in shared memory has a dimension for each index, however often the factor has it."""
    text = f"x[f e] = A[f e b k] {factor} C[f b]; y[f e] = B[f e b k] {factor} C[f b]"
    plan = Contraction(text, dict(e=3, b=2, k=4), backend=stand_in, batch="f", how="stages", quick=True)
    rng, n = np.random.default_rng(0), 5
    arrays = {name: whole(rng, *plan.shape(name, n)) for name in "ABCD"}
    arrays |= {name: np.full((n, 3), np.nan) for name in "xy"}
    found = run(plan, arrays, n)
    own = factor[2:-1].replace(" ", "")
    for name, large in (("x", "A"), ("y", "B")):
        assert np.array_equal(found[name], np.einsum(f"febk,{own},fb->fe", arrays[large], arrays["D"], arrays["C"]))


def check_rings(backend, n, batch):
    """Blocks that stay: Ax with one factor, whose parts all come by bulk copies; rows of a field."""
    arrays, sizes = nekbone(n, batch, whole=True)
    one = {"D": arrays["D"], "u": arrays["u"], "g": arrays["g1"]}
    check_variants(backend, named.AX_ONE, sizes, one, {"w": ax_one(one)}, batch, RINGS, **named.TEXTS["ax_one"].options)
    check_variants(backend, named.AX, sizes, arrays, {"w": ax(arrays)}, batch, RINGS[::2], **named.TEXTS["ax"].options)

    rng = np.random.default_rng(n)
    fields = {"a": whole(rng, batch, 20, 46), "b": whole(rng, batch, 18, 46)}
    wanted = {"o": np.einsum("clp,crp->clr", *fields.values())}

    check_variants(backend, FIELD, dict(l=20, r=18, p=46), fields, wanted, batch, RINGS)


def test_a_ring_of_bulk_copies(stand_in):
    """Two blocks share seven entries: more turns than room, each gate opens several times; and fewer entries than
    room."""
    check_rings(stand_in, 8, 7)
    check_rings(stand_in, 6, 1)


ONCE = (  # the first one also where rows are odd
    dict(bulk=True, stage=1, warps=3, once=True, turned=True, apart=False),
    dict(bulk=True, stage=1, warps=3, once=True, turned=True, apart=True),
    dict(bulk=True, stage=1, warps=2, once=True, turned=True, ring=2, apart=False),
)
NARROW = (
    dict(narrow=True, bulk=True, stage=1, warps=2, ring=2, apart=False, line=False),
    dict(narrow=True, bulk=True, stage=1, warps=3, apart=True, line=False),
    dict(narrow=True, bulk=False, warps=2, apart=False, line=False),
    dict(bulk=True, stage=1, warps=2, apart=False, line=False),
    dict(line=True, bulk=True, stage=1, warps=2, ahead=3, apart=True),
    dict(line=True, bulk=True, stage=1, warps=2, ring=2, apart=False),
    dict(split=True, bulk=True, stage=1, warps=2, ring=2, apart=False, line=False, once=True),
    dict(split=True, bulk=False, warps=3, apart=False, line=False),
)
SIX = (  # of six factors, whose products are not alone; with stage 0 these are staged too
    dict(line=True, bulk=False, warps=1, ahead=2, apart=False),
    dict(line=True, bulk=True, warps=2, stage=0, apart=False),
    dict(split=True, bulk=True, warps=2, stage=0, apart=False, line=False, narrow=False),
    dict(narrow=True, bulk=True, warps=1, stage=0, ring=2, apart=False, line=False),
)


def check_narrow(backend, n, batch):
    """Arrays of single precision that come by bulk copies, and stay so."""
    arrays, sizes = nekbone(n, batch, "float32", whole=True)
    one, options = {"D": arrays["D"], "u": arrays["u"], "g": arrays["g1"]}, dict(dtype="float32")
    wanted = {"w": ax_one(one)}

    check_variants(backend, named.AX_ONE, sizes, one, wanted, batch, NARROW, **options, **named.TEXTS["ax_one"].options)


def test_single_precision_in_shared_memory(stand_in):
    """And a row a thread, and numbers in two parts: of six factors too; not where the matrix is no constant."""
    check_narrow(stand_in, 8, 3)
    arrays, sizes = nekbone(6, 2, "float32", whole=True)
    options = dict(dtype="float32", **named.TEXTS["ax"].options)

    check_variants(stand_in, named.AX, sizes, arrays, {"w": ax(arrays)}, 2, SIX, **options)
    off = stand_in.empty((arrays["u"].size + 1,), np.float32)[1:].reshape(arrays["u"].shape)  # 4 bytes off
    off[...] = arrays["u"]
    one = {"D": arrays["D"], "u": arrays["u"], "g": arrays["g1"]}
    how = Staged.of(warps=2, line=True, stage=1)
    plan = Contraction(named.AX_ONE, sizes, "float32", backend=stand_in, how=how, **named.TEXTS["ax_one"].options)
    held = {name: stand_in.from_host(a, plan.dtype) for name, a in {**one, **empty(plan, 2)}.items()}
    plan.bind({**held, "u": off}, 2)()

    assert np.array_equal(held["w"], ax_one(one))

    how = Staged.of(warps=1, line=True)
    with pytest.raises(ArgumentError, match="constant matrices"):
        Contraction(named.AX, sizes, backend=stand_in, how=how, **{**options, "constant": ""})
    with pytest.raises(ArgumentError, match="matrices that the batch shares"):
        Contraction(FIELD, dict(l=4, r=4, p=8), "float32", backend=stand_in, how=how)


def test_numbers_in_two_parts_are_as_exact_as_single_precision(stand_in):
    """A number's second part is off by 2^-21 of the number at most, 2^-22 of a product is left out, and each sum of the
    unit rounds: 4 eps of the terms' size are enough for them, and those of whole numbers have no error at all."""
    arrays, sizes = nekbone(6, 2, "float32")
    exact = {name: a.astype(float) for name, a in arrays.items()}
    how = Staged.of(warps=2, split=True, stage=1)
    plan = Contraction(named.LG3, sizes, "float32", backend=stand_in, how=how, **named.TEXTS["lg3"].options)
    found = run(plan, {**arrays, **empty(plan, 2)}, 2)

    for name, text in LG3.items():
        size = np.einsum(text, abs(exact["D"]), abs(exact["u"]))
        off = abs(found[name] - np.einsum(text, exact["D"], exact["u"])) / size
        assert 0 < off.max() < 4 * 2**-23, name

    for more, dtype in ((dict(), "float64"), (dict(line=True), "float32")):
        with pytest.raises(ArgumentError, match="numbers in two parts float32 on the units"):
            how = Staged.of(warps=2, split=True, **more)
            Contraction(named.LG3, sizes, dtype, backend=stand_in, how=how, **named.TEXTS["lg3"].options)


def test_outer_products_with_other_sides(stand_in):
    """Two terms without sums whose rows and columns differ: number by number."""
    text, sizes = "o[e f q l] = a[e f] b[e q l] + c[e l] d[e f q]", dict(f=4, q=5, l=3)
    rng, shapes = np.random.default_rng(0), dict(a="ef", b="eql", c="el", d="efq")
    arrays = {x: whole(rng, *(sizes.get(i, 3) for i in own)) for x, own in shapes.items()}
    wanted = np.einsum("ef,eql->efql", arrays["a"], arrays["b"]) + np.einsum("el,efq->efql", arrays["c"], arrays["d"])

    for _, how, _ in Contraction(text, sizes, backend=stand_in).candidates:
        plan = Contraction(text, sizes, backend=stand_in, how=how.name, quick=True)
        assert np.array_equal(run(plan, {**arrays, **empty(plan, 3)}, 3)["o"], wanted), how


def test_lines_lie_apart_where_copies_can_be_had(stand_in):
    """The table's row for Ax with one factor; in single precision, or with odd rows, the same without such copies."""
    for dtype, n, apart in (("float64", 8, True), ("float64", 16, False), ("float32", 8, True), ("float32", 7, False)):
        options = dict(dtype=dtype, backend=stand_in, how="stages", **named.TEXTS["ax_one"].options)
        assert Contraction(named.AX_ONE, dict.fromkeys("ijkl", n), **options).how.copies.apart == apart, (dtype, n)


def test_a_ring_needs_bulk_copies(stand_in):
    """Where rows are odd there are none; arrays off 16 bytes are read without a ring."""
    how = Staged.of(warps=2, stage=1, ring=2)
    plan = Contraction(FIELD, dict(l=4, r=4, p=5), backend=stand_in, quick=True)
    with pytest.raises(Unable, match="ring"):
        stages.plan_of(plan.program, how)

    assert how.singly.copies.ring == 1 and not how.singly.warp.paired
    with pytest.raises(ArgumentError, match="ring of 2.* does not serve it, wanted for a ring bulk copies"):
        Contraction(FIELD, dict(l=4, r=4, p=5), backend=stand_in, how=how)


def test_arrays_off_16_bytes_and_nan_in_one_entry(stand_in):
    """Arrays that begin at an odd place are read number by number; a NaN stays in its entry, also where tiles are
    filled up."""
    n, batch = 8, 3
    arrays, sizes = nekbone(n, batch, whole=True)
    plan = Contraction(named.LG3, sizes, backend=stand_in, how="stages", quick=True, **named.TEXTS["lg3"].options)
    arrays["u"][1, 2, 3, 4] = np.nan
    room = stand_in.empty((arrays["u"].size + 2,))
    skip = 1 + (stand_in.address(room) % 16 != 0)
    odd = room[skip : skip + arrays["u"].size].reshape(arrays["u"].shape)

    assert stand_in.address(odd) % 16 == 8
    odd[...] = arrays["u"]
    held = {name: stand_in.from_host(x, plan.dtype) for name, x in {"D": arrays["D"], **empty(plan, batch)}.items()}
    plan.bind({**held, "u": odd}, batch)()

    for name, text in LG3.items():
        wanted = np.einsum(text, arrays["D"], arrays["u"])
        assert np.array_equal(np.isnan(held[name]).any(axis=(1, 2, 3)), [False, True, False])
        assert np.array_equal(held[name][[0, 2]], wanted[[0, 2]])


@pytest.mark.parametrize("what", ["gate_wait(gate, 0);", "__syncthreads();"])
def test_the_stand_in_finds_what_is_missing(stand_in, what):
    """Without the wait for a bulk copy, or without the barriers, numbers are wrong: shared memory is poisoned."""
    n = 8
    arrays, sizes = nekbone(n, 2, whole=True)
    how = measured("team", 8, 4).changed(bulk=True, stage=1)
    plan = Contraction(named.AX, sizes, backend=stand_in, how=how, quick=True, **named.TEXTS["ax"].options)
    real = plan.render

    def without(*given):
        source = real(*given)
        assert what in source.text
        head, *rest = source.text.split("held0[", 1)  # the counter's own barrier stays
        return Source(source.name, head + "held0[" + rest[0].replace(what, ""), source.folders, quick=True)

    plan.render = without
    assert not np.array_equal(run(plan, {**arrays, **empty(plan, 2)}, 2)["w"], ax(arrays))


@pytest.mark.gpu
def test_all_triples_on_a_gpu(monkeypatch):
    backend = get_backend("cuda")
    assert all_27(backend, 16) == ["orbits", "stages", "stays"]
    monkeypatch.setattr(stages.plan, "LARGEST", 125)

    assert all_27(backend, 5) == ["orbits", "stages", "stays"]


@pytest.mark.gpu
@pytest.mark.parametrize("n", [5, 8, 10, 12, 16])
def test_elements_on_a_gpu(n):
    """The table's extents among them, and every parameter."""
    backend = get_backend("cuda")
    check_chosen(backend, n, 1003)

    arrays, sizes = nekbone(n, 19, whole=True)
    check_variants(backend, named.AX, sizes, arrays, {"w": ax(arrays)}, 19, **named.TEXTS["ax"].options)
    one = {"D": arrays["D"], "u": arrays["u"], "g": arrays["g1"]}
    more = VARIANTS + ONCE[: 3 if n in (8, 12) else 1]

    check_variants(backend, named.AX_ONE, sizes, one, {"w": ax_one(one)}, 19, more, **named.TEXTS["ax_one"].options)

    if n in (8, 12):  # rows of 5 are odd; of 16 a ring's rooms are more than the shared memory
        check_rings(backend, n, 1000)
        check_narrow(backend, n, 1000)


@pytest.mark.gpu
def test_fields_on_a_gpu():
    """Bulk copies of rows of 125."""
    rng = np.random.default_rng(0)
    fields = {"a": whole(rng, 20, 64, 125), "b": whole(rng, 20, 64, 125)}
    wanted = {"o": np.einsum("clp,crp->clr", *fields.values())}

    check_variants(get_backend("cuda"), FIELD, dict(l=64, r=64, p=125), fields, wanted, 20)
