"""Tensor expressions: values of every organisation, on the CPU and (CUDA) on the stand-in, against numpy.einsum.

Tolerance: 4 K eps times the sum of the terms' sizes (reference/tensor.py); with small whole numbers sums are exact.
"""

import numpy as np
import pytest
from tensor_cases import (
    LG3,
    LG3T,  # noqa: F401  for other files
    ax,
    check_random,
    empty,
    nekbone,
    on_stand_in,  # noqa: F401  for other files
    organisations,
    run,
    stand_in,  # noqa: F401  a fixture
)

from kernels import Contraction, contract, get_backend
from kernels.contractions import named


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.quick(seed=0)
def test_random_expressions(seed):
    assert check_random(get_backend("cpu"), seed)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.quick(seed=1)
def test_random_expressions_on_the_stand_in(stand_in, seed):  # noqa: F811
    assert check_random(stand_in, seed, alone=2)


@pytest.mark.parametrize("where", ["cpu", "cuda"])
@pytest.mark.parametrize("n, batch", [(n, {2: 9, 3: 1, 7: 5, 13: 3}.get(n, 2)) for n in range(2, 18)])
@pytest.mark.quick(batch=1, where="cuda")
@pytest.mark.quick(batch=5, where="cpu")
def test_nekbone_in_whole_numbers(stand_in, n, batch, where):  # noqa: F811
    """Lg3, Lg3t and Ax exactly, by every organisation; outputs were NaN."""
    backend = stand_in if where == "cuda" else get_backend("cpu")
    arrays, sizes = nekbone(n, batch, whole=True)
    text, options = named.AX.replace("w[", "w[", 1), named.TEXTS["ax"].options
    wanted = {name: np.einsum(text, arrays["D"], arrays["u"]) for name, text in LG3.items()} | {"w": ax(arrays)}
    options = {**options, "local": "wr ws wt"}  # ur, us, ut are stored too

    for plan in organisations(text, sizes, backend, **options):
        found = run(plan, {**arrays, **empty(plan, batch)}, batch)
        for name in ("ur", "us", "ut", "w"):
            assert np.array_equal(found[name], wanted[name]), (plan.how, name)


def test_lg3t_is_the_adjoint_of_lg3():
    """<Lg3 u, v> = <u, Lg3t v>"""
    n, batch = 5, 4
    arrays, _ = nekbone(n, batch)
    D, u = arrays["D"], arrays["u"]
    v = np.random.default_rng(1).random((3, batch, n, n, n)) - 0.5

    slopes = contract(named.LG3, D=D, u=u)
    back = contract(named.LG3T, D=D, ur=v[0], us=v[1], ut=v[2])

    left = sum(np.vdot(a, b) for a, b in zip(slopes, v))
    right = np.vdot(u, back)
    assert abs(left - right) < 1e-12 * sum(abs(a).sum() for a in slopes)


def test_ax_is_symmetric_and_not_negative():
    """<v, Ax u> = <u, Ax v> and <u, Ax u> >= 0, for factors that are a positive matrix at every point."""
    n, batch = 5, 4
    arrays, _ = nekbone(n, batch)
    rng = np.random.default_rng(1)
    u, v = arrays["u"], rng.random((batch, n, n, n)) - 0.5

    # G = R R^T, and its six entries g1 .. g6.
    root = rng.random((3, 3, batch, n, n, n)) - 0.5
    square = np.einsum("xyekji,zyekji->xzekji", root, root)
    factors = {}
    for number, place in enumerate([(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)], 1):
        factors[f"g{number}"] = np.ascontiguousarray(square[place])

    def apply(x):
        return contract(named.AX, D=arrays["D"], u=x, **factors, **named.TEXTS["ax"].options)

    of_u, of_v = apply(u), apply(v)
    scale = abs(of_u).sum()
    assert abs(np.vdot(v, of_u) - np.vdot(u, of_v)) < 1e-12 * scale
    assert np.vdot(u, of_u) > -1e-12 * scale


def test_lg3_has_the_slopes_of_a_polynomial():
    """x^3 y - 2 z^2 + y^2 z on Chebyshev points, where slopes are exact up to degree n - 1."""
    n = 5
    points = np.cos(np.pi * np.arange(n) / (n - 1))
    weights = np.array([2.0, *[1.0] * (n - 2), 2.0]) * (-1.0) ** np.arange(n)
    slope = np.outer(weights, 1 / weights) / (points[:, None] - points + np.eye(n))
    slope -= np.diag(slope.sum(axis=1))

    z, y, x = np.meshgrid(points, points, points, indexing="ij")
    values = x**3 * y - 2 * z**2 + y**2 * z
    ur, us, ut = contract(named.LG3, D=slope, u=values[None])

    for found, wanted in ((ur, 3 * x**2 * y), (us, x**3 + 2 * y * z), (ut, -4 * z + y**2)):
        np.testing.assert_allclose(found[0], wanted, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("where", ["cpu", "cuda"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.quick(dtype="float64", where="cpu")
@pytest.mark.quick(dtype="float32", where="cuda")
def test_eqn1_with_six_extents(stand_in, dtype, where):  # noqa: F811
    """All different, one of them 1; += reads the old values once."""
    backend = stand_in if where == "cuda" else get_backend("cpu")
    sizes, batch = dict(l=3, k=4, m=5, j=1, n=6, i=7), 11
    shapes = dict(A="lk", B="mj", C="ni", U="elmn", V="eijk")
    rng = np.random.default_rng(0)
    arrays = {
        name: rng.integers(-2, 3, [sizes.get(i, batch) for i in indices]).astype(dtype)
        for name, indices in shapes.items()
    }
    wanted = arrays["V"] + np.einsum("lk,mj,ni,elmn->eijk", *(arrays[a] for a in "ABCU"))

    for plan in organisations(named.TEXTS["eqn1_add"].text, sizes, backend, dtype=dtype, **named.TEXTS["eqn1"].options):
        assert np.array_equal(run(plan, arrays, batch)["V"], wanted), plan.how


@pytest.mark.parametrize("where", ["cpu", "cuda"])
def test_tce_ex_with_ten_extents(stand_in, where):  # noqa: F811
    """The example of four factors; two indices have one value."""
    backend = stand_in if where == "cuda" else get_backend("cpu")
    sizes, batch = dict(zip("bcdefijkl", (3, 2, 4, 1, 5, 7, 2, 1, 6))), 3
    shapes = dict(A="acik", B="befl", C="dfjk", D="cdel", S="abij")
    rng = np.random.default_rng(0)
    arrays = {
        name: rng.integers(-2, 3, [sizes.get(i, batch) for i in indices]).astype(float)
        for name, indices in shapes.items()
    }
    wanted = np.einsum("acik,befl,dfjk,cdel->abij", *(arrays[x] for x in "ABCD"))
    arrays["S"][...] = np.nan
    t = named.TEXTS["tce_ex"]

    for plan in organisations(t.text, sizes, backend, **t.options):
        assert np.array_equal(run(plan, arrays, batch)["S"], wanted), plan.how


@pytest.mark.parametrize("dtype, lines", [("float64", (9, 12, 17)), ("float32", (17,))])
def test_lanes_across_short_lines(dtype, lines):
    """Lines of the output that are no whole number of packs: lanes go across them, and the tile is turned on its way
    out. Whole numbers come exactly; what lies behind the output stays."""
    backend, rng, text = get_backend("cpu"), np.random.default_rng(0), "T[e m n k] = A[l k] U[e l m n]"
    taken = 0
    for k in lines:
        for m, n in ((3, 7), (10, 10)):
            sizes, batch = dict(k=k, l=9, m=m, n=n), 3
            A, U = (rng.integers(-9, 10, shape).astype(dtype) for shape in ((9, k), (batch, 9, m, n)))
            room = np.full((batch + 1, m, n, k), -1.0, dtype)
            plan = Contraction(text, sizes, dtype, backend=backend, quick=True, batch="e", how="rows")
            plan.bind(dict(A=A, U=U, T=room[:batch]), batch)()
            assert np.array_equal(room[:batch], np.einsum("lk,elmn->emnk", A, U)), (k, m, n)
            assert np.all(room[batch] == -1.0)
            taken += f"row = 1, column = {k};" in plan.source.text

    assert taken >= len(lines)


@pytest.mark.parametrize("where", ["cpu", "cuda"])
@pytest.mark.quick(where="cpu")
def test_triples_with_seven_extents(stand_in, where):  # noqa: F811
    """A kernel of each kind of NWChem's, in integers. The batch index d of operands is the last one, or an inner
    one."""
    from test_tensor_text import triple

    backend = stand_in if where == "cuda" else get_backend("cpu")
    letters = dict(zip("abcdefg", (2, 3, 4, 5, 6, 1, 7)))
    rng = np.random.default_rng(0)

    for kind, number in (("s1", 5), ("d1", 4), ("d2", 9))[where == "cpu" :]:
        sign, operands, result = triple(kind, number)
        rename = dict(zip(result, "defabc"))  # the text's names
        first, second = (rng.integers(-3, 4, [letters[i] for i in o]).astype(float) for o in operands)
        old = rng.integers(-9, 10, [letters[i] for i in result]).astype(float)
        wanted = old + (1 if sign == "+" else -1) * np.einsum(f"{','.join(operands)}->{result}", first, second)
        sizes = {rename.get(i, i): x for i, x in letters.items()}
        n = sizes.pop("d")

        for plan in organisations(named.TEXTS[f"{kind}_{number}"].text, sizes, backend, batch="d"):
            a, b = plan.expression.inputs
            assert np.array_equal(run(plan, {a: first, b: second, "T3": old}, n)["T3"], wanted), plan.how


def test_products_computed_once_for_three_kernels():
    """d1_1 to d1_3 into one T3: their product is one local; batch indices of operands in several places."""
    text, n = named.triples("d1", (1, 2, 3)), 3
    rng = np.random.default_rng(0)
    t2, v2 = rng.integers(-3, 4, (n,) * 4).astype(float), rng.integers(-3, 4, (n,) * 4).astype(float)
    wanted = sum(
        (-1) ** (k + 1) * np.einsum(f"aedg,gfbc->{out}", t2, v2) for k, out in enumerate(("defabc", "defbac", "defbca"))
    )

    for plan in organisations(text, dict.fromkeys("abcefg", n), get_backend("cpu"), batch="d"):
        assert len(plan.program.statements) == 4
        found = run(plan, {"t2": t2, "v2": v2, "T3": np.zeros((n,) * 6)}, n)
        assert np.array_equal(found["T3"], wanted)


@pytest.mark.parametrize("where", ["cpu", "cuda"])
def test_locals_shared_by_the_batch_and_symmetric_operands(stand_in, where):  # noqa: F811
    """Half of a symmetric operand is read: the other half is NaN. A local without the batch index is made once."""
    backend = stand_in if where == "cuda" else get_backend("cpu")
    rng, n, batch = np.random.default_rng(0), 6, 11
    fill = lambda *s: rng.integers(-3, 4, s).astype(float)
    arrays = {"A": fill(n, 4), "B": fill(4, n), "x": fill(batch, n), "a": fill(n, n), "b": fill(batch, n, n)}
    whole = {k: np.tril(arrays[k]) + np.swapaxes(np.tril(arrays[k], -1), -1, -2) for k in "ab"}

    for k in "ab":
        arrays[k][..., ~np.tri(n, dtype=bool)] = np.nan

    text = (
        "M[i j] = A[i k] B[k j]; o[e i] = M[i j] x[e j] - a[i j] x[e j]; q[e] = 0.5 b[e i j] x[e i] x[e j] + 2 x[e i]"
    )
    M, x = arrays["A"] @ arrays["B"], arrays["x"]
    wanted = {
        "o": x @ (M - whole["a"]).T,
        "q": 0.5 * np.einsum("eij,ei,ej->e", whole["b"], x, x) + 2 * x.sum(axis=1),
    }
    options = dict(local="M", symmetric="a b", batch="e", constant="A B")

    for plan in organisations(text, dict(i=n, j=n, k=4), backend, **options):
        found = run(plan, {**arrays, **empty(plan, batch)}, batch)
        assert all(np.array_equal(found[name], wanted[name]) for name in wanted), plan.how


@pytest.mark.parametrize("where", ["cpu", "cuda"])
@pytest.mark.parametrize("layout", ["left", "right"])
@pytest.mark.quick(layout="left", where="cpu")
@pytest.mark.quick(layout="right", where="cuda")
def test_point_layouts_and_functions_of_a_host(stand_in, tmp_path, layout, where):  # noqa: F811
    """The species loops, and pair values that a host's function forms at the point, in both layouts."""
    backend = stand_in if where == "cuda" else get_backend("cpu")
    (tmp_path / "pair_value.h").write_text(
        "template <class A, class B, class C> POINT_FN auto pair_value(A s, B r, C c) { return s * r + 2.0 * c; }\n"
    )
    rng, ns, n = np.random.default_rng(0), 5, 21
    fill = lambda *s: rng.integers(-3, 4, s).astype(float)
    a = {name: fill(ns, n) for name in ("ax", "bx", "ay", "by")} | {"c": fill(ns, ns)}
    pair = a["ax"][:, None] * a["ax"][None] + 2 * a["c"][:, :, None]
    wanted = {
        "out": a["ay"][:, None] * a["ax"] + a["by"][:, None] * a["bx"],
        "m": np.einsum("yxt,xt->yt", pair, a["bx"]),
    }
    text = """out[y x] = ax[x] ay[y] + bx[x] by[y]
    map q[y x] = pair_value(ax[y], ax[x], c[y x])
    m[y] = q[y x] bx[x]"""
    turn = lambda x: x if layout == "left" or x is a["c"] else np.ascontiguousarray(np.moveaxis(x, -1, 0))
    options = dict(point="t", layout=layout, constant="c", local="q", headers=("pair_value.h",), folders=(tmp_path,))

    for plan in organisations(text, dict(x=ns, y=ns), backend, **options):
        found = run(plan, {**{k: turn(v) for k, v in a.items()}, **empty(plan, n)}, n)
        for name, value in wanted.items():
            assert np.array_equal(found[name], turn(value)), (plan.how, name)
