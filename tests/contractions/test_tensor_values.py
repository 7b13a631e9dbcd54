"""Tensor expressions: values of every organisation, on the CPU and (CUDA) on the stand-in, against numpy.einsum.

Tolerance: 4 K eps times the sum of the terms' sizes (reference/tensor.py); with small whole numbers sums are exact.
Random expressions by hand; PYTHONPATH=tests, then
    python tests/contractions/test_tensor_values.py 10000 [cpu|cuda|gpu|both] [processes] [first seed]
cuda: on the stand-in; gpu: on a device; both: cpu and cuda.
"""

import concurrent.futures
import contextlib
import functools
import itertools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import cuda_on_cpu
import numpy as np
import pytest
from reference import tensor as reference

from kernels import Contraction, contract, get_backend
from kernels.contractions import intrepid, named
from kernels.engine import backend as backends
from kernels.engine.backend import cpu, cuda
from kernels.engine.errors import ArgumentError

machine_code = cuda.machine_code  # the real one: the stand-in puts another in its place
EPS = {name: np.finfo(name).eps for name in ("float64", "float32")}
LG3 = {"ur": "il,ekjl->ekji", "us": "jl,ekli->ekji", "ut": "kl,elji->ekji"}
LG3T = ("li,ekjl->ekji", "lj,ekli->ekji", "lk,elji->ekji")


@contextlib.contextmanager
def on_stand_in(folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "cupy", cuda_on_cpu.make())
        patch.setattr(backends, "_made", functools.cache(backends._made.__wrapped__))
        patch.setattr(cuda, "machine_code", cuda_on_cpu.compiler(folder))
        yield get_backend("cuda")


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory):
    if not shutil.which("g++"):
        pytest.skip("the stand-in needs g++")
    with on_stand_in(tmp_path_factory.mktemp("cuda")) as backend:
        yield backend


def organisations(text, sizes, backend, **options):
    """A plan for each organisation that can serve; compiled in haste."""
    first = Contraction(text, sizes, backend=backend, quick=True, **options)
    for _, how, _ in first.candidates:
        yield Contraction(text, sizes, backend=backend, quick=True, how=how.name, **options)


def run(plan, arrays, n):
    """Outputs, from copies of the arrays on the plan's backend."""
    backend = plan.backend
    held = {a.name: backend.from_host(np.array(arrays[a.name]), plan.dtype) for a in plan.program.arguments}
    plan.bind(held, n)()
    return {name: np.array(backend.to_host(held[name])) for name in plan.expression.outputs}


def check_random(backend, seed, count=6, told=False, alone=0):
    """`count` random statements in one kernel, by every organisation that serves all of them; then so many of them
    alone, by one organisation each, in turn: those of a GPU that serve one statement. Returns how many results were
    compared, told: and before that how many statements there were."""
    rng = np.random.default_rng(seed)
    layout, dtype, batch = ("right", "left")[seed % 2], ("float64", "float32")[seed // 2 % 2], int(rng.integers(0, 20))
    statements, extents = reference.random_statements(rng, count, layout)
    if not statements:
        return (0, 0) if told else 0
    arrays = reference.random_arrays(rng, statements, extents, batch, dtype)
    wanted, compared = reference.evaluate(statements, arrays), 0

    def check(plan, some):
        found = run(plan, arrays, batch)
        for s in some:
            name = s[0][0]
            assert reference.close(found[name], wanted[name], EPS[dtype]), (seed, str(plan.how), reference.text([s]))
        return len(some)

    text = lambda some: reference.text(some, ("[]", "()")[seed // 4 % 2])
    for plan in organisations(text(statements), extents, backend, dtype=dtype, batch="e"):
        compared += check(plan, statements)
    for k, s in enumerate(statements[:alone]):
        make = functools.partial(Contraction, text([s]), extents, dtype, "e", backend, quick=True)
        able = make().candidates
        compared += check(make(how=able[(seed + k) % len(able)][1].name), [s])
    return (len(statements), compared) if told else compared


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.quick(seed=0)
def test_random_expressions(seed):
    assert check_random(get_backend("cpu"), seed)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.quick(seed=1)
def test_random_expressions_on_the_stand_in(stand_in, seed):
    assert check_random(stand_in, seed, alone=2)


def nekbone(n, batch, dtype="float64", whole=False):
    """(arrays, sizes): D, u, six factors, of n points a direction."""
    rng = np.random.default_rng(n)
    fill = (
        (lambda *s: rng.integers(-3, 4, s).astype(dtype)) if whole else (lambda *s: (rng.random(s) - 0.5).astype(dtype))
    )
    arrays = {"D": fill(n, n), "u": fill(batch, n, n, n)}
    arrays |= {f"g{k}": fill(batch, n, n, n) for k in range(1, 7)}
    return arrays, dict.fromkeys("ijkl", n)


def empty(plan, n):
    """Outputs full of NaN: `=` never reads them."""
    return {name: np.full(plan.shape(name, n), np.nan, plan.dtype) for name in plan.expression.outputs}


def ax(a):
    D, g = a["D"], [a[f"g{k}"] for k in range(1, 7)]
    r, s, t = (np.einsum(text, D, a["u"]) for text in LG3.values())
    r, s, t = g[0] * r + g[1] * s + g[2] * t, g[1] * r + g[3] * s + g[4] * t, g[2] * r + g[4] * s + g[5] * t
    return sum(np.einsum(text, D, x) for text, x in zip(LG3T, (r, s, t)))


@pytest.mark.parametrize("where", ["cpu", "cuda"])
@pytest.mark.parametrize("n, batch", [(n, {2: 9, 3: 1, 7: 5, 13: 3}.get(n, 2)) for n in range(2, 18)])
@pytest.mark.quick(batch=1, where="cuda")
@pytest.mark.quick(batch=5, where="cpu")
def test_nekbone_in_whole_numbers(stand_in, n, batch, where):
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


def test_adjoints_and_derivatives():
    """<Lg3 u, v> = <u, Lg3t v>; Ax is symmetric, and not negative for factors that are so; slopes of a polynomial."""
    n, batch = 5, 4
    arrays, _ = nekbone(n, batch)
    rng = np.random.default_rng(1)
    v = rng.random((3, batch, n, n, n)) - 0.5
    D, u = arrays["D"], arrays["u"]
    slopes = contract(named.LG3, D=D, u=u)
    back = contract(named.LG3T, D=D, ur=v[0], us=v[1], ut=v[2])
    left, right = sum(np.vdot(a, b) for a, b in zip(slopes, v)), np.vdot(u, back)
    assert abs(left - right) < 1e-12 * sum(abs(a).sum() for a in slopes)
    root = rng.random((3, 3, batch, n, n, n)) - 0.5
    square = np.einsum("xyekji,zyekji->xzekji", root, root)  # positive
    g = {
        f"g{k}": np.ascontiguousarray(square[p])
        for k, p in enumerate([(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)], 1)
    }
    apply = lambda x: contract(named.AX, D=D, u=x, **g, **named.TEXTS["ax"].options)
    first, second = apply(u), apply(np.ascontiguousarray(v[0]))
    scale = abs(first).sum()
    assert abs(np.vdot(v[0], first) - np.vdot(u, second)) < 1e-12 * scale and np.vdot(u, first) > -1e-12 * scale
    x = np.cos(np.pi * np.arange(n) / (n - 1))  # Chebyshev points: exact slopes up to degree n - 1
    c = np.array([2.0, *[1.0] * (n - 2), 2.0]) * (-1.0) ** np.arange(n)
    slope = np.outer(c, 1 / c) / (x[:, None] - x + np.eye(n))
    slope -= np.diag(slope.sum(axis=1))
    f = lambda z, y, x: x**3 * y - 2 * z**2 + y**2 * z
    z, y, xs = np.meshgrid(x, x, x, indexing="ij")
    ur, us, ut = contract(named.LG3, D=slope, u=f(z, y, xs)[None])
    for found, wanted in ((ur, 3 * xs**2 * y), (us, xs**3 + 2 * y * z), (ut, -4 * z + y**2)):
        assert np.allclose(found[0], wanted, atol=1e-12)


@pytest.mark.parametrize("where", ["cpu", "cuda"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.quick(dtype="float64", where="cpu")
@pytest.mark.quick(dtype="float32", where="cuda")
def test_eqn1_with_six_extents(stand_in, dtype, where):
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
def test_tce_ex_with_ten_extents(stand_in, where):
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
    backend, rng = get_backend("cpu"), np.random.default_rng(0)
    taken = 0
    for k in lines:
        for m, n in ((3, 7), (10, 10)):
            sizes, batch = dict(k=k, l=9, m=m, n=n), 3
            A, U = (rng.integers(-9, 10, shape).astype(dtype) for shape in ((9, k), (batch, 9, m, n)))
            room = np.full((batch + 1, m, n, k), -1.0, dtype)
            plan = Contraction("T[e m n k] = A[l k] U[e l m n]", sizes, dtype, backend=backend, quick=True, batch="e")
            plan.bind(dict(A=A, U=U, T=room[:batch]), batch)()
            assert np.array_equal(room[:batch], np.einsum("lk,elmn->emnk", A, U)), (k, m, n)
            assert np.all(room[batch] == -1.0)
            taken += f"row = 1, column = {k};" in plan.source.text
    assert taken >= len(lines)


@pytest.mark.parametrize("where", ["cpu", "cuda"])
@pytest.mark.quick(where="cpu")
def test_triples_with_seven_extents(stand_in, where):
    """One of each kind of NWChem's kernels in whole numbers; the batch index d stands last, and inside, in operands."""
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
def test_locals_shared_by_the_batch_and_symmetric_operands(stand_in, where):
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
def test_point_layouts_and_functions_of_a_host(stand_in, tmp_path, layout, where):
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


@pytest.mark.parametrize("how", ["rows", "lanes"])
def test_bits_do_not_depend_on_batch_chunk_launch_or_threads(how):
    """Nor does a NaN in one entry, or an infinity, reach another. Entries may lie further apart than they are long."""
    n, batch = 5, 21
    arrays, sizes = nekbone(n, batch)
    arrays["u"][3] = np.nan
    arrays["u"][9, 1, 2, 3] = np.inf
    plans = [
        Contraction(named.LG3, sizes, backend=get_backend("cpu", threads=t), how=how, constant="D") for t in (1, 3)
    ]
    whole = run(plans[0], {**arrays, **empty(plans[0], batch)}, batch)
    assert np.array_equal(whole["ur"], run(plans[1], {**arrays, **empty(plans[1], batch)}, batch)["ur"], equal_nan=True)
    sane = np.isfinite(whole["ur"]).all(axis=(1, 2, 3))
    assert list(np.flatnonzero(~sane)) == [3, 9]
    for first, count in ((0, 1), (2, 3), (4, 9), (20, 1), (7, 0)):
        spaced = np.full((2 * count, n, n, n), np.nan)
        spaced[::2] = arrays["u"][first : first + count]
        part = {"D": arrays["D"], "u": spaced[::2], **empty(plans[0], count)}
        run_part = plans[0].bind(part, count)
        for _ in range(2):
            run_part()
            assert np.array_equal(part["us"], whole["us"][first : first + count], equal_nan=True)


def check_parts(backend, n, batch):
    """By every organisation: an entry has the same bits in any batch, at any place of it. One NaN reaches what einsum
    says that it reaches, and nothing else."""
    arrays, sizes = nekbone(n, batch)
    arrays["u"][1, 0, n - 1, 1] = np.nan
    rng = np.random.default_rng(n)
    fields = {"a": rng.random((batch, n, 2 * n)) - 0.5, "b": rng.random((batch, n + 1, 2 * n)) - 0.5}
    fields["a"][1, 1, 2] = np.nan
    slopes = {name: np.einsum(text, arrays["D"], arrays["u"]) for name, text in LG3.items()}
    field = "o[c l r] = a[c l p] b[c r p]"
    for text, extents, given, wanted, options in (
        (named.LG3, sizes, arrays, slopes, named.TEXTS["lg3"].options),
        (named.AX, sizes, arrays, {"w": ax(arrays)}, named.TEXTS["ax"].options),
        (field, dict(l=n, r=n + 1, p=2 * n), fields, {"o": np.einsum("clp,crp->clr", *fields.values())}, {}),
    ):
        for plan in organisations(text, extents, backend, **options):
            whole = run(plan, {**given, **empty(plan, batch)}, batch)
            for name, x in wanted.items():
                assert np.array_equal(np.isnan(whole[name]), np.isnan(x)), (str(plan.how), name)
            for first, count in ((0, 1), (1, batch - 1), (batch - 2, 2)):
                part = {k: a if k == "D" else a[first : first + count] for k, a in given.items()}
                found = run(plan, {**part, **empty(plan, count)}, count)
                for name, x in whole.items():
                    assert np.array_equal(found[name], x[first : first + count], equal_nan=True), (str(plan.how), name)


def test_parts_of_a_batch_have_the_bits_of_the_whole(stand_in):
    check_parts(stand_in, 4, 5)


def test_outputs_past_the_caches(monkeypatch):
    """Streaming stores change no bit; an entry that is no multiple of a cache line is stored as always; one has a
    page."""
    from kernels.contractions import contraction

    for n, ways in ((4, ("rows", "lanes")), (3, ("rows",)), (8, ("rows",))):
        arrays, sizes = nekbone(n, 9)
        for how in ways:
            plan = Contraction(named.LG3, sizes, backend="cpu", how=how, constant="D", quick=True)
            held = {name: plan.backend.empty(plan.shape(name, 9)) for name in plan.expression.outputs}
            results = []
            for limit in (1 << 40, 0):
                monkeypatch.setattr(contraction, "STREAMED", limit)
                for a in held.values():
                    a[...] = np.nan
                plan.bind({"D": arrays["D"], "u": arrays["u"], **held}, 9)()
                results.append({name: a.copy() for name, a in held.items()})
            assert all(np.array_equal(results[0][name], results[1][name]) for name in held)
            assert not np.isnan(results[0]["ut"]).any()


def test_contract_as_einsum():
    rng = np.random.default_rng(0)
    left, right = rng.integers(-3, 4, (4, 3, 9)).astype(float), rng.integers(-3, 4, (4, 5, 9)).astype(float)
    out = contract("clp,crp->clr", left, right)
    assert np.array_equal(out, np.einsum("clp,crp->clr", left, right))
    assert np.array_equal(contract("ij,jk", left[0], right[0].T), left[0] @ right[0].T)  # not contiguous: copied
    assert contract("clp,clp->", left, left) == np.vdot(left, left)
    assert contract("i,i->i", [1.0, 2.0], [3.0, 4.0]).tolist() == [3.0, 8.0]
    assert contract("clp,crp->clr", left[:0], right[:0]).shape == (0, 3, 5)
    with pytest.raises(ArgumentError, match="'operand1', index 'p': extent 8, wanted 9 as 'operand0' has it"):
        contract("clp,crp->clr", left, right[:, :, :8])
    with pytest.raises(ArgumentError, match="1 arrays in order, wanted 2"):
        contract("clp,crp->clr", left)
    with pytest.raises(ArgumentError, match="array 'o' is added to, so it has to be given"):
        contract("o[c l] += a[c l p]", a=left)


NUMBERS = (np.float64(3), np.ones(3).sum(), np.array([3.0, 1.0])[0], np.array(3.0), 3.0, 3, np.int64(3), np.float16(3))


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: f"{type(number).__name__}")
def test_an_operand_that_is_a_number(number):
    """NumPy's scalars tell the address of a copy that is freed at once. Memory of that size is used again between."""
    b = np.arange(12.0).reshape(3, 4)
    if isinstance(number, (float, int, np.generic)):
        assert np.array_equal(contract("o[i j] = a[] b[i j]", a=number, b=b), 3 * b)
    assert np.array_equal(contract(",ij->ij", number, b), 3 * b)

    plan, out = Contraction("o[i j] = a[] b[i j]", dict(j=4), backend="cpu"), np.full((3, 4), np.nan)
    if not isinstance(number, np.ndarray):
        run = plan.bind({"a": number, "b": b, "o": out})
        held = [np.full(1, -1.0) for _ in range(100)]
        run()
        assert np.array_equal(out, 3 * b) and len(held) == 100


def test_an_array_of_no_dimensions_is_read_at_each_run():
    plan, a, out = Contraction("o[i] = a[] b[i]", {}, backend="cpu"), np.array(3.0), np.full(4, np.nan)
    b = np.arange(4.0)
    run = plan.bind({"a": a, "b": b, "o": out})
    a[...] = 5
    run()
    assert np.array_equal(out, 5 * b)


def test_a_product_of_numpy_as_factor():
    """A step of conjugate gradients, in both precisions: small whole numbers, so that float32 is exact."""
    for dtype in (np.float64, np.float32):
        x = np.arange(1, 6, dtype=dtype)
        alpha = np.dot(x, x)
        got = contract("out[i] = alpha[] x[i] + y[i]", alpha=alpha, x=x, y=x)
        assert got.dtype == dtype and np.array_equal(got, 56 * x)
    assert contract("out[i] = a[] x[i]", a=0.5, x=x).dtype == np.float32  # Python's numbers take any type


def test_results_and_operands_of_no_dimensions():
    x, out = np.arange(4.0), np.full((), np.nan)
    assert contract("i,i->", x, x, out=out) is out and out == 14
    assert contract("->", np.array(3.0)) == 3 and contract(",->", 2.0, np.float64(3)) == 6
    assert contract(",i->i", np.float32(2), x.astype("f4")).dtype == np.float32


@pytest.mark.parametrize(
    "text, matrix", [("ii->i", np.ones((3, 3))), ("iij->ij", np.ones((3, 3, 4))), ("...i->...", np.ones((3, 3)))]
)
def test_einsum_forms_that_are_refused(text, matrix):
    with pytest.raises(ArgumentError, match="diagonals are not served|an ellipsis is not served"):
        contract(text, matrix)


def test_types_of_einsum_operands():
    """What is exact in float64 is taken: whole numbers, truth values, float16, another byte order."""
    x = np.arange(12.0).reshape(3, 4)
    for other in (x.astype(int), x.astype(np.float16), x.astype(">f8"), x[::-1][::-1], np.asfortranarray(x)):
        assert np.array_equal(contract("ij->ji", other), x.T)
    assert np.array_equal(contract("ij,ij->ij", x > 5, x), (x > 5) * x)


@pytest.mark.parametrize(
    "wrong, words",
    [
        (np.ones((2, 2)) * 1j, "'operand0': type complex128, wanted real numbers: the imaginary part would be lost"),
        (np.ones((2, 2), np.complex64), "'operand0': type complex64, wanted real"),
        (np.ones((2, 2), object), "'operand0': type object, wanted numbers"),
        (np.ones((2, 2), np.longdouble), "'operand0': type .*, wanted float64: digits would be lost"),
        (np.full((2, 2), 2**60), "'operand0': a whole number above 2\\^53"),
        (np.full((2, 2), "1"), "'operand0': type <U1, wanted numbers, not text"),
        (np.zeros((2, 2), "M8[s]"), "not dates"),
        (np.ma.array(np.ones((2, 2)), mask=np.eye(2)), "array 'operand0' is masked"),
    ],
)
def test_types_that_would_lose_something_are_refused(wrong, words):
    with pytest.raises(ArgumentError, match=words):
        contract("ij,jk->ik", wrong, np.ones((2, 2)))
    with pytest.raises(ArgumentError, match="array 'a'"):
        contract("o[i j] = a[i j] b[i j]", a=wrong, b=np.ones((2, 2)))


@pytest.mark.parametrize(
    "number, words",
    [
        (1j, "'a': type complex128, wanted real numbers"),
        (np.float64(3), "array 'a': type float64, wanted float32"),
        (2**24 + 1, "16777217 is not exact in float32"),
        (True, "'a': type bool, wanted numbers"),
        ("3", "array 'a' is str, wanted an array"),
    ],
)
def test_numbers_that_are_refused(number, words):
    with pytest.raises(ArgumentError, match=words):
        contract("o[i j] = a[] b[i j]", a=number, b=np.ones((2, 2), np.float32))


@pytest.mark.parametrize("out", [np.float64(0), 0.0])
def test_an_output_that_is_a_number_is_refused_by_name(out):
    with pytest.raises(ArgumentError, match="output 's' is a number \\(float.*, wanted an array to write"):
        contract("s[] = b[i] b[i]", b=np.ones(3), s=out)


def test_a_number_has_no_address():
    with pytest.raises(ArgumentError, match="is a number, which has no address"):
        get_backend("cpu").address(np.float64(1))


def check_device_arrays(backend):
    """CuPy's arrays in, CuPy's out: new ones, one that is added to in place, Intrepid's names."""
    rng, host = np.random.default_rng(0), lambda a: np.array(backend.to_host(a))
    left, right = rng.integers(-3, 4, (4, 3, 9)).astype(float), rng.integers(-3, 4, (4, 5, 9)).astype(float)
    a, b, wanted = backend.from_host(left), backend.from_host(right), np.einsum("clp,crp->clr", left, right)
    made = contract("clp,crp->clr", a, b)
    assert hasattr(made, "__cuda_array_interface__") and np.array_equal(host(made), wanted)
    assert contract("o[c l r] += a[c l p] b[c r p]", a=a, b=b, o=made) is made
    assert np.array_equal(host(made), 2 * wanted)
    out = backend.from_host(np.full(wanted.shape, np.nan))
    assert intrepid.contractFieldFieldScalar(out, a, b) is out and np.array_equal(host(out), wanted)
    intrepid.contractFieldFieldScalar(out, a, b, sumInto=True)
    assert np.array_equal(host(out), 2 * wanted)
    for number in (3.0, np.float64(3), np.float32(3)):
        assert np.array_equal(host(contract("o[c l p] = s[] a[c l p]", s=number, a=a)), 3 * left)
        assert np.array_equal(host(contract(",clp->clp", number, a)), 3 * left)
    plan = Contraction("o[c l r] = a[c l p] b[c r p]", dict(l=3, r=5, p=9), backend=backend)
    assert "reached: 4 entries in" in plan.explain({"a": a, "b": b, "o": out})
    with pytest.raises(ArgumentError, match="is not where backend cuda works"):
        contract("o[c l r] = a[c l p] b[c r p]", a=a, b=right)
    with pytest.raises(ArgumentError, match="'operand1', index 'p': extent 8, wanted 9"):
        contract("clp,crp->clr", a, b[:, :, :8])


def test_arrays_of_a_device_in_and_out(stand_in):
    check_device_arrays(stand_in)


def refused(**changes):
    """What binding says when one thing is changed."""
    plan = Contraction("o[e i] = a[e i j] m[i j]", dict(i=3, j=4), batch="e", backend="cpu")
    good = {"a": np.ones((5, 3, 4)), "m": np.ones((3, 4)), "o": np.ones((5, 3))}
    plan.bind(good, 5)
    n = changes.pop("n", 5)
    with pytest.raises(ArgumentError) as error:
        plan.bind({name: a for name, a in {**good, **changes}.items() if a is not None}, n)
    return str(error.value)


def test_what_binding_refuses():
    """Each array, index, found and wanted extent by name."""
    wide = np.ones((5, 3, 8))
    both = np.ones(100)
    read_only = np.ones((5, 3))
    read_only.flags.writeable = False
    for changes, why in (
        (dict(m=None), "array 'm' is missing"),
        (dict(x=np.ones(3)), "array 'x' is not in the tensor expression; it has a, m, o"),
        (dict(m=[1.0]), "array 'm' is list, wanted an array of numpy"),
        (dict(m=np.ones((3, 4), np.float32)), "array 'm': type float32, wanted float64"),
        (dict(m=np.ones(12)), "array 'm': 1 dimensions (12,), wanted 2: [i j]"),
        (dict(m=np.ones((3, 5))), "array 'm', index 'j': extent 5, wanted 4"),
        (dict(a=np.ones((4, 3, 4))), "array 'a', index 'e': extent 4, wanted 5 or more"),
        (dict(n=6), "array 'a', index 'e': extent 5, wanted 6 or more"),
        (dict(n=-1), "n = -1, wanted 0 or more"),
        (dict(a=wide[:, :, ::2]), "array 'a', index 'j': neighbours are 16 bytes apart, wanted 8"),
        (dict(m=np.ones((4, 3)).T), "array 'm', index 'j': neighbours are 24 bytes apart, wanted 8"),
        (dict(a=np.ones((5, 4, 3)).swapaxes(1, 2)), "array 'a', index 'j'"),
        (dict(a=both[:60].reshape(5, 3, 4), o=both[50:65].reshape(5, 3)), "output 'o' and array 'a' share memory"),
        (dict(o=read_only), "array 'o' is read-only"),
    ):
        assert why in refused(**changes), why


def test_every_cuda_organisation_compiles(monkeypatch):
    """For sm_90, by NVRTC; nothing is spilled."""
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
                report = target.compile(plan.source).report["contraction"]
                assert report["spill_stores"] == report["spill_loads"] == 0, (plan.how, report)
                seen.add(plan.how.name)
    assert seen == {"flat", "team", "lines", "tiles", "slices", "sums", "stages", "direct"}
    for how in ("stays", "orbits"):
        sizes = dict.fromkeys("abcefg", 16)
        plan = Contraction(named.all_triples(), sizes, backend=target, how=how, batch="d", quick=True)
        report = target.compile(plan.source).report["contraction"]
        # all of a block's registers are in use: a few numbers wait in the first cache
        assert report["spill_stores"] <= 256, (how, report)


TURNS = (  # text, batch, extents, organisation, the factor of what einsum gives
    ("T[d e f a b c] += t[a d] v[e f b c]", "d", dict(e=2, f=3, a=8, b=2, c=8), "flat threads=64 near=4 jam=4", 1),
    ("T[d e a c] += 2 x[d a g] v[g e c]", "d", dict(e=2, a=4, c=4, g=3), "flat threads=64 near=2 jam=2", 2),
)


def check_turns(backend):
    """Threads that have several numbers; the first array has entries off 16 bytes, the others lie as they want."""
    rng = np.random.default_rng(0)
    for text, batch, sizes, how, number in TURNS:
        plan = Contraction(text, sizes, "float32", batch, backend, how, quick=True)
        arrays = {a.name: rng.integers(-3, 4, plan.shape(a.name, 5)).astype("float32") for a in plan.program.arguments}
        e = plan.expression
        spelled = ",".join("".join(e.references[x][0].indices) for x in e.inputs)
        product = np.einsum(f"{spelled}->{''.join(e.references['T'][0].indices)}", *(arrays[x] for x in e.inputs))
        wanted = number * product + (arrays["T"] if "T" in e.updated else 0)
        assert np.array_equal(run(plan, arrays, 5)["T"], wanted), text
        assert how.partition(" ")[0] == plan.how.name and plan.how.jam > 1


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


def one_kernel(where: str, folder, seed: int):
    """(expressions, comparisons) of one seed on one backend, in a process of its own."""
    with contextlib.ExitStack() as stack:
        if where == "cuda":
            return check_random(stack.enter_context(on_stand_in(pathlib.Path(folder))), seed, told=True)
        return check_random(get_backend({"gpu": "cuda"}.get(where, where)), seed, told=True, alone=6 * (where == "gpu"))


def read_ahead(folder: pathlib.Path) -> pathlib.Path:
    """A compiler that has read the system's headers before: half of its time for a small kernel."""
    header, program = folder / "ahead.h", folder / "ahead"
    header.write_text("".join(f"#include <{name}.h>\n" for name in ("immintrin", "math", "omp", "stdlib", "string")))
    flags = [*cpu.FLAGS, "-march=" + cpu.target(), "-O1"]  # of a kernel compiled in haste
    subprocess.run([cpu.compiler(), *flags, "-x", "c++-header", header, "-o", f"{header}.gch"], check=True)
    program.write_text(f'#!/bin/sh\nexec {cpu.compiler()} -include {header} "$@"\n')
    program.chmod(0o700)
    return program


def main(count: int, where: str = "both", jobs: int = os.cpu_count() or 1, first: int = 1000):
    """So many random expressions on each backend, six in a kernel, each by every organisation. first: seed of the first
    kernel; a run that was ended goes on from the seed that it told last."""
    backends_ = ("cpu", "cuda") if where == "both" else (where,)
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        os.environ |= {"FRAME_CACHE": f"{folder}/cache"}
        if "cpu" in backends_:
            os.environ |= {"FRAME_CXX": str(read_ahead(pathlib.Path(folder)))}
        for name in backends_:
            expressions, compared, seeds = 0, 0, itertools.count(first)
            waiting: set = set()
            kernels_done = 0
            while expressions < count:
                while len(waiting) < 2 * jobs:
                    waiting.add(pool.submit(one_kernel, name, folder, next(seeds)))
                done, waiting = concurrent.futures.wait(waiting, return_when="FIRST_COMPLETED")
                for future in done:
                    more = future.result()  # raises what a process found
                    expressions, compared = expressions + more[0], compared + more[1]
                kernels_done += len(done)
                told = f"{name}: {expressions} expressions, {compared} results agree with einsum"
                print(f"{told}; about to seed {first + kernels_done}", flush=True)
            for future in waiting:
                future.cancel()
            concurrent.futures.wait(waiting)
            for future in waiting:
                if not future.cancelled():
                    future.result()


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:3], *map(int, sys.argv[3:5]))
