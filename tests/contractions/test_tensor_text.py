"""Texts of tensor expressions: what is read, what is refused, orders of evaluation, products that are equal."""

import math

import numpy as np
import pytest

from kernels import contract, get_backend
from kernels.contractions import Contraction, named, orders
from kernels.contractions.organisations.packs import Lanes, Packs
from kernels.contractions.text import parse
from kernels.engine.errors import ArgumentError

# TENSOR kernels of NWChem as einsum strings over arrays in C order: h1 h2 h3 p4 p5 p6 = a .. f, h7 or p7 = g. Written
# down from its Fortran, the fastest index there last here.
TRIPLES = {
    "s1": "ad,efbc->defabc ad,efbc->defbac ad,efbc->defbca ad,efbc->edfabc ad,efbc->edfbac ad,efbc->edfbca "
    "ad,efbc->efdabc ad,efbc->efdbac ad,efbc->efdbca",
    "d1": "aedg,gfbc->defabc aedg,gfbc->defbac aedg,gfbc->defbca aedg,gfbc->fdeabc aedg,gfbc->fdebac aedg,gfbc->fdebca "
    "aedg,gfbc->dfeabc aedg,gfbc->dfebac aedg,gfbc->dfebca",
    "d2": "badg,efcg->defabc badg,efcg->defcab badg,efcg->defacb badg,efcg->edfabc badg,efcg->edfcab badg,efcg->edfacb "
    "badg,efcg->efdabc badg,efcg->efdcab badg,efcg->efdacb",
}
SIGNS = {"s1": "+-+-+-+-+", "d1": "-+--+-+-+", "d2": "--+++---+"}


def triple(kind, number):
    """(sign, operands' indices, result's) of kernel `kind`_`number`."""
    left, right = TRIPLES[kind].split()[number - 1].split("->")
    return SIGNS[kind][number - 1], left.split(","), right


def test_three_ways_to_write_one_thing():
    square = parse("ur[e k j i] = D[i l] u[e k j l]; w[e k j i] += 0.5 D[l i] ur[e k j l] - u[e k j i]", local="ur")
    commas = parse("ur[e,k,j,i] = D[i,l]*u[e,k,j,l]\nw[e k j i] += 0.5*D[l i] ur[e k j l] - u  # as before", local="ur")
    fortran = parse("ur(i,j,k,e) = D(l,i) u(l,j,k,e); w(i,j,k,e) += .5 D(i,l) ur(l,j,k,e) - u(i,j,k,e)", local="ur")

    assert square == commas and square.canonical() == fortran.canonical()
    assert (square.batch, square.inputs, square.outputs, square.updated) == ("e", ("D", "u"), ("w",), {"w"})
    assert parse("clp,crp->clr").canonical() == parse("o[x y z] = a[x y w] b[x z w]").canonical()
    assert parse("ij,jk").statements[0].out.indices == ("i", "k") and parse("ij,ji->").batch is None

    other = parse("o[x y z] = a[x y w] b[x w z]")
    assert other.canonical() != parse("o[x y z] = a[x y w] b[x z w]").canonical()


def test_options_in_the_text():
    """A host that passes one text gives them there; they are those of parse."""
    text = "wr(i,k) = g(i) u(i,k); w(i,k) = D(l,i) wr(l,k)"
    told = parse(f"local wr, q; {text}; batch k\n constant D  # a comment\nsymmetric D; q(i,k) = u(i,k)")
    assert told == parse(f"{text}; q(i,k) = u(i,k)", "k", local="wr q", constant="D", symmetric="D")

    for layout in ("left", "right"):
        options = dict(point="t", layout=layout, constant="c")
        assert parse(f"point t; layout {layout}; constant c; o[y] = x[y] c[y]") == parse("o[y] = x[y] c[y]", **options)

    assert parse("local(i) = batch(i) constant(i)").inputs == ("batch", "constant")  # arrays may have these names
    for line, why in (("batch i; batch i", "wanted one batch, once"), ("layout left right", "wanted one layout")):
        with pytest.raises(ArgumentError, match=why):
            parse(f"o[i] = x[i]; {line}")


def test_the_point_index_is_not_written():
    for layout, indices in (("left", ("y", "x", "t")), ("right", ("t", "y", "x"))):
        e = parse("out[y x] = ax[x] ay[y] + c[x y]", point="t", layout=layout, constant="c")
        assert e.batch == "t" and e.statements[0].out.indices == indices
        assert e.statements[0].terms[1].factors[0].indices == ("x", "y")


@pytest.mark.parametrize(
    "text, options, why",
    [
        ("", {}, "no statement"),
        ("o[i] = ", {}, "a term is missing"),
        ("o[i] = a[i] +", {}, "a term is missing"),
        ("o[i] == a[i]", {}, "where a name is wanted"),
        ("o[i] = a[i", {}, "'the end' where an index of 'a' is wanted"),
        ("o[i] = a[i] / b[i]", {}, "'/' means nothing here; factors are joined by '*' or a blank"),
        ("o[i] = 2 a[i 3]", {}, "'3' where an index of 'a' is wanted; for a fixed index pass that part of the array"),
        ("o = a b", {}, "indices of 'o' are nowhere told"),
        ("o = a[i] b[i]", {}, r"'o' has no brackets: write its indices, or o[] for one number"),
        (
            "a[i] = x[i]; b[i j] = y[i j]; o = a b",
            {},
            "factors of 'o' have the indices [i] and [i j]: write those of 'o'",
        ),
        ("o[e i i] = a[e i]", {}, "an index stands twice in o"),
        ("o[i] = a[i] b[i j] a[i j]", {}, "'a' has different numbers of indices"),
        ("o[i] = a[i] o[i]", {}, "'o' stands on both sides"),
        ("p[i] = o[i]; o[i] = a[i]", {}, "'o' is read before it is written"),
        ("o[i] += a[i]; p[i] = o[i]", {}, "'o' is added to, so no later statement can read it"),
        ("o[i] += a[i]; p[i] = o[i]", dict(local="o"), "local 'o' is added to before it is set"),
        ("o[i] = a[i]", dict(local="b"), "'b' is named local but is not in the text"),
        ("o[i] = a[i]", dict(local="a"), "'a' is named local but is never written"),
        ("o[e i] = a[i]", dict(constant="o"), "'o' is named constant but is written"),
        ("o[e i] = a[e i]", dict(symmetric="a", batch="e"), "'a' is named symmetric and has not two indices"),
        ("o[e i] = a[i]", dict(batch="x"), "no array has the batch index 'x'"),
        ("o[e i] = a[e i]; p[i] = b[i]", dict(batch="e"), "output 'p' does not have the batch index 'e'"),
        ("o[e] = a[e e]", dict(batch="e"), "the batch index 'e' stands twice in 'a': name another one"),
        ("m[i] = a[e i]; o[e i] = m[i]", dict(local="m", batch="e"), "local 'm' lacks the batch index"),
        ("map q[i] = f(a[i j])", {}, "has an index that the left side does not have"),
        ("o[i] = a[i]", dict(layout="up"), "layout 'up'; wanted left or right"),
        ("ij,j->k", {}, "index 'k' of the result is in no operand"),
        ("i...->i", {}, "an ellipsis has as many dimensions as the arrays: use contract(), or name each index"),
        ("i1->i", {}, "'i1', wanted letters"),
        ("o[i] = a[i]**2", {}, "'*' without a factor before it; a power is a product, such as a[i] a[i]"),
        ("o[i] = 1e400 a[i]", {}, "the numbers of a term make more than a float64 holds"),
        ("o[i] = 1e200 a[i] * 1e200", {}, "the numbers of a term make more than a float64 holds"),
        ("how; o[i] = a[i]", {}, "'how': wanted 'how ORGANISATION, with numbers such as threads=64'"),
        ("o[i] = a[i]\norder first", {}, "'order first': wanted 'order NUMBER'"),
        ("extent i; o[i] = a[i]", {}, "'extent i': wanted 'extent i=12 j=4..8'"),
        ("extent i=n; o[i] = a[i]", {}, "'extent i=n': wanted 'extent i=12 j=4..8'"),
        ("local; o[i] = a[i]", {}, "'local': wanted 'local NAME NAME'"),
        ("free extents; o[i] = a[i]", {}, "'free extents': wanted 'free'"),
    ],
)
def test_what_is_refused(text, options, why):
    with pytest.raises(ArgumentError) as error:
        parse(text, **options)
    assert why in str(error.value)


def test_arrays_may_have_the_names_of_options():
    """But contract takes options by these names."""
    assert parse("how[i] = local[i] free(i)\norder[i] = extent[i]").outputs == ("how", "order")
    for name in ("batch", "how", "local", "headers"):
        with pytest.raises(ArgumentError, match=f"'{name}' is an option of contract, and no name of an array"):
            contract(f"o[i] = {name}[i]", **{name: np.ones(3)})


def test_extents_are_asked_for():
    for sizes, why in (({"i": 2}, "'j' is None"), ({"i": 2, "j": 0}, "'j' is 0"), ({"i": 2, "j": 2.5}, "'j' is 2.5")):
        with pytest.raises(ArgumentError, match=f"extent of index {why}"):
            Contraction("o[e i] = a[e i j]", sizes)

    with pytest.raises(ArgumentError, match="dimension 1: 'i' = 2, 'j' = 3 differ"):
        Contraction("o[e i j] = a[e i] a[e j]", dict(i=2, j=3))
    with pytest.raises(ArgumentError, match="type int64, wanted float64 or float32"):
        Contraction("o[e i] = a[e i]", dict(i=2), dtype="int64")
    with pytest.raises(ArgumentError, match="no organisation 'flat' here; able: lanes, library, rows"):
        Contraction("o[e i] = a[e i]", dict(i=2), how="flat", backend="cpu")


@pytest.mark.parametrize("name, count, cheapest, cost", [("eqn1", 15, 6, 3 * 10**4), ("tce_ex", 15, 1, 6 * 10**5)])
def test_orders_are_all_binary_trees(name, count, cheapest, cost):
    """(2n-3)!! of them; Nelson et al. 2015 count 15 for Eqn.(1) and keep 6. tce_ex here without a batch index: then
    no product is free."""
    text = named.TEXTS[name]
    e = parse(text.text, batch="e" if name == "eqn1" else "", constant=text.options.get("constant", ()))
    sizes = dict.fromkeys(e.indices, 10)
    ((_, _, found),) = orders.choices(e, sizes)

    assert (found.count, len(found.cheapest)) == (count, cheapest)
    assert found.cost == (cost if name == "eqn1" else 3 * 10**6)

    if name == "eqn1":
        assert orders.lower(e, sizes).flops == 2 * cost  # a multiplication and an addition each
        assert found.direct == 10**6


def test_orders_of_five_and_of_many_factors():
    e = parse("o[a f] = p[a b] q[b c] r[c d] s[d e] t[e f]", batch="")
    ((_, _, found),) = orders.choices(e, dict(zip("abcdef", (2, 30, 2, 30, 2, 30))))
    assert found.count == 105 and found.cost == 2 * 30 * 2 * 2 + 2 * 2 * 2 + 2 * 2 * 30

    chain = [("o", "ah")] + [(f"m{k}", "abcdefgh"[k : k + 2]) for k in range(7)]
    e = parse(f"o[a h] = {' '.join(f'{n}[{i[0]} {i[1]}]' for n, i in chain[1:])}", batch="")
    sizes = dict(zip("abcdefgh", (9, 2, 8, 3, 7, 2, 6, 4)))
    ((_, _, found),) = orders.choices(e, sizes)
    dims = [sizes[i] for i in "abcdefgh"]
    best = {(k, k): 0 for k in range(7)}

    for width in range(1, 7):  # the textbook's order of a chain of matrices
        for i in range(7 - width):
            j = i + width
            best[i, j] = min(best[i, k] + best[k + 1, j] + dims[i] * dims[k + 1] * dims[j + 1] for k in range(i, j))

    assert found.count == math.prod(range(11, 0, -2)) and found.cost == best[0, 6]


def test_the_27_triples_kernels_are_three_families():
    """Equal up to names: nine and nine and nine. With the batch index kept, products are computed once for several of
    them: fewer than a third of the operations stay."""
    e = parse(named.all_triples(), batch="d")
    assert orders.families(e) == [9, 9, 9]
    sizes = dict.fromkeys(e.indices, 16)
    shared, apart = (orders.lower(e, sizes, share=share) for share in (True, False))

    assert len(apart.statements) == 27 and not apart.made
    assert 9.9e9 < apart.flops * 16 < 10.3e9 and shared.flops < 0.34 * apart.flops
    assert len(shared.made) >= 2


def test_texts_of_triples_are_the_known_strings():
    for kind in TRIPLES:
        for number in range(1, 10):
            sign, operands, result = triple(kind, number)
            (s,) = parse(named.TEXTS[f"{kind}_{number}"].text, batch="d").statements
            assert s.add and s.terms[0].number == (1 if sign == "+" else -1)

            back = dict(zip(s.out.indices, result))
            assert [[back.get(i, i) for i in f.indices] for f in s.terms[0].factors] == [list(o) for o in operands]


def test_explain_tells_what_was_chosen():
    plan = Contraction(named.TEXTS["eqn1_add"].text, dict.fromkeys("ijklmn", 4), batch="e", backend="cpu")
    told = plan.explain()
    assert "15, 6 cheapest with 768 multiply-adds an entry" in told and told.count("<- chosen") == 1
    assert told.count("1536 flops") == 6 and "an entry: 1600 flops, 1536 bytes" in told

    arrays = {a.name: np.ones(plan.shape(a.name, 9)) for a in plan.program.arguments}
    told = plan.explain(arrays)
    assert "reached: 9 entries in" in told and "a copy of as many bytes takes" in told
    assert told.count("1536 flops, 1024 bytes between its products") == 6  # two of 64 numbers
    assert plan.bytes == 3 * 64 * 8 and np.dtype(plan.dtype) == np.float64

    target = get_backend("cuda", arch="sm_90")
    assert "lines" in Contraction(named.LG3, dict.fromkeys("ijkl", 12), backend=target, constant="D").explain()


def test_equal_prices_are_no_error(monkeypatch):
    """The first of two organisations with the same price is taken."""
    for kind in (Packs, Lanes):
        monkeypatch.setattr(kind, "price", lambda how, p, least=0.0: 1.0)
    plan = Contraction("o[e i] = a[e i j] b[j]", dict(i=3, j=4), backend="cpu")
    assert plan.how is plan.candidates[0][1] and len(plan.candidates) > 1


@pytest.mark.parametrize(
    "text, index", [("R[i j] = a[i]", "j"), ("R[j i] = a[i]", "j"), ("R[j] = a[i]", "j"), ("R[i] = 2", "i")]
)
def test_an_extent_that_no_array_has(text, index):
    """An output that is made has its extents from other arrays; one that is given brings them along."""
    given = {"a": np.arange(4.0)} if "a" in text else {}
    with pytest.raises(ArgumentError, match=f"array 'R', index '{index}': no other array has it"):
        contract(text, **given)

    shape = {"R[i j] = a[i]": (4, 3), "R[j i] = a[i]": (3, 4), "R[j] = a[i]": (3,), "R[i] = 2": (3,)}[text]
    out = contract(text, **given, R=np.zeros(shape))
    wanted = {
        "R[i j] = a[i]": np.arange(4.0)[:, None],
        "R[j i] = a[i]": np.arange(4.0),
        "R[j] = a[i]": 6.0,
        "R[i] = 2": 2.0,
    }

    assert np.array_equal(out, np.broadcast_to(wanted[text], shape))


def test_a_number_is_written_with_empty_brackets():
    assert np.array_equal(contract("R[i] = a[] x[i]", a=2.0, x=np.arange(3.0)), [0, 2, 4])
    with pytest.raises(
        ArgumentError, match=r"array 'a': 0 dimensions \(\), wanted 1: a\[i\]; one number is a\[\] in the text"
    ):
        contract("R[i] = a x[i]", a=2.0, x=np.arange(3.0))


@pytest.mark.parametrize(
    "sizes, words",
    [
        ("i=3 j=4", "sizes 'i=3 j=4', wanted a dictionary such as {'i': 3}"),
        (5, "sizes 5, wanted a dictionary"),
        ({"j": "2"}, "extent of index 'j' is '2', wanted 1 or more"),
        ({"j": 2.5}, "extent of index 'j' is 2.5, wanted 1 or more"),
        ({}, "extent of index 'j' is None, wanted 1 or more"),
    ],
)
def test_sizes_that_are_none(sizes, words):
    with pytest.raises(ArgumentError, match=words):
        Contraction("o[i] = a[i j] x[j]", sizes, backend="cpu")
