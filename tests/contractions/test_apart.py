"""Statements one by one, each by the organisation that the model takes for it alone.

Numbers are whole and small, so any order of the sums is exact and numpy.einsum's values are met bit for bit.
"""

import re

import numpy as np
import pytest
from tensor_cases import machine_code

from frame.tools.bench import tensor as bench
from kernels import Contraction, contract, get_backend
from kernels.contractions.organisations import apart, family, library_costs
from kernels.contractions.plan import references
from kernels.engine.backend import cuda
from kernels.engine.errors import ArgumentError

CHAINS = (
    "n,ni,nj->ij",
    "gi,gj,g->ij",
    "ij,j,jk->ik",
    "ia,ib,ic->abc",
    "ir,jr,kr->ijk",
    "gi,ij,gj->g",
    "ab,asc,bsd->cd",
    "pqrs,pi,qa,rj,sb->iajb",
    "ij,jk,kl->",
    "ij,jk,kl->jl",
)
STEP = re.compile(r"step (.+): (\w+)", re.M)


@pytest.fixture(scope="module")
def be(every_backend):
    return every_backend


def whole(rng, shape, dtype="float64"):
    return rng.integers(-3, 4, shape).astype(dtype)


def operands(text, rng, most=6, dtype="float64"):
    """Arrays of the string's extents, from 1 to `most`."""
    inputs = text.split("->")[0].split(",")
    sizes = {i: int(rng.integers(1, most + 1)) for i in sorted(set("".join(inputs)))}
    return [whole(rng, [sizes[i] for i in own], dtype) for own in inputs]


def steps(style, program):
    """The steps that the model takes."""
    return apart.steps(apart.Able(style, free=False), program)


def random_chain(rng):
    """Three to five factors, each of one to three indices, and an output of up to three of them."""
    inputs = ["".join(rng.choice(list("abcdef"), rng.integers(1, 4), replace=False)) for _ in range(rng.integers(3, 6))]
    used = sorted(set("".join(inputs)))
    out = rng.choice(used, min(len(used), rng.integers(0, 4)), replace=False)
    return ",".join(inputs) + "->" + "".join(out)


def done(be, text, arrays, **options):
    """Values by statements one by one. None: the string is one statement."""
    there = [be.from_host(a, a.dtype) for a in arrays]
    try:
        return be.to_host(contract(text, *there, backend=be, how="apart", quick=True, **options))
    except ArgumentError as error:
        assert "no organisation 'apart' here" in str(error)
        return None


# ---- values ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("text", CHAINS)
def test_chains(be, text, dtype):
    arrays = operands(text, np.random.default_rng(1), dtype=dtype)
    found = done(be, text, arrays)
    assert found.dtype == dtype and np.array_equal(found, np.einsum(text, *arrays))


@pytest.mark.parametrize("seed", range(6))
def test_random_chains(be, seed):
    """Most strings of three factors and more are several statements."""
    rng, served = np.random.default_rng(seed), 0
    for _ in range(3):
        text = random_chain(rng)
        arrays = operands(text, rng, most=4)
        found = done(be, text, arrays)

        if found is not None:
            served += 1
            assert np.array_equal(found, np.einsum(text, *arrays)), text

    assert served, "no string of three was a chain"


@pytest.mark.parametrize("order", ["C", "F", "K"])
def test_layouts_and_out(be, order):
    """Operands in any order of memory; the result in each order, and in an array that is given."""
    rng, text = np.random.default_rng(2), "gi,ij,gj->gi"
    arrays = [whole(rng, (7, 5)), whole(rng, (5, 4)).T.copy().T, whole(rng, (9, 4))[1:8]]
    wanted = np.einsum(text, *arrays)

    assert np.array_equal(done(be, text, arrays, order=order), wanted)

    there = [be.from_host(a, a.dtype) for a in arrays]
    out = be.from_host(np.full((7, 5), np.nan), np.dtype("float64"))
    assert contract(text, *there, backend=be, how="apart", out=out, quick=True) is out
    assert np.array_equal(be.to_host(out), wanted)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_batches(be, n):
    """The batch has any extent; a local without the batch index is computed once; entries beyond n stay."""
    plan = Contraction(
        "o[e i] = a[e j] b[j k] c[k i]", dict(i=3, j=4, k=2), backend=be, batch="e", how="apart", quick=True, order=0
    )
    rng = np.random.default_rng(3)
    arrays = {"a": whole(rng, (6, 4)), "b": whole(rng, (4, 2)), "c": whole(rng, (2, 3)), "o": np.full((6, 3), 99.0)}
    there = {name: be.from_host(a, a.dtype) for name, a in arrays.items()}
    plan.bind(there, n)()

    found, wanted = be.to_host(there["o"]), arrays["o"].copy()
    wanted[:n] = arrays["a"][:n] @ arrays["b"] @ arrays["c"]
    assert np.array_equal(found, wanted)


def test_locals_sums_and_maps_of_a_text(be):
    """Statements of a text: locals that are added to, an output that is read, an output that is added to."""
    text = "t[e i] = a[e j] b[j i]; t[e i] += 2 a[e i]; v[e i] = t[e i] t[e i]; w[e] -= v[e i] c[i]; local t"
    plan = Contraction(text, dict(i=4, j=4), backend=be, how="apart", quick=True)
    rng = np.random.default_rng(4)
    a, b, c, w = whole(rng, (5, 4)), whole(rng, (4, 4)), whole(rng, 4), whole(rng, 5)
    there = {k: be.from_host(x, x.dtype) for k, x in dict(a=a, b=b, c=c, v=np.full((5, 4), np.nan), w=w.copy()).items()}
    run = plan.bind(there)
    run()
    run()

    v = (a @ b + 2 * a) ** 2
    assert np.array_equal(be.to_host(there["v"]), v)
    assert np.array_equal(be.to_host(there["w"]), w - 2 * v @ c)


def test_locals_share_memory_only_while_they_may(be):
    """A chain of four products: the third local lies where the first one lay, and the second lies elsewhere."""
    text, rng = "ab,bc,cd,de,ef->af", np.random.default_rng(5)
    arrays = [whole(rng, (40, 40)) for _ in range(5)]
    plan = Contraction(text, dict.fromkeys("abcdef", 40), backend=be, how="apart", quick=True)

    assert len(plan.program.statements) == 4
    assert np.array_equal(done(be, text, arrays), np.linalg.multi_dot(arrays))


def test_nan_stays_in_its_entry(be):
    arrays = operands("gi,ij,gj->g", np.random.default_rng(6))
    g, i = 7, arrays[1].shape[0]
    x, y, z = np.ones((g, i)), arrays[1], np.ones((g, arrays[1].shape[1]))
    x[3] = np.nan
    found = done(be, "gi,ij,gj->g", [x, y, z])

    assert np.isnan(found[3]) and np.array_equal(np.delete(found, 3), np.full(g - 1, y.sum()))


# ---- steps ----------------------------------------------------------------------------------------------------------


def planned(text, backend, entries=0, **sizes):
    return Contraction(text, sizes, backend=backend, how="apart", entries=entries)


@pytest.mark.parametrize("style", ["packs", "threads"])
def test_each_statement_by_its_own_choice(style):
    """Every step is what the model takes for it alone; explain names them; the price is the sum of their seconds."""
    backend = get_backend("cpu") if style == "packs" else get_backend("cuda", arch="sm_90")
    plan = planned("o[i j] = a[n] b[n i] c[n j]", backend, entries=8, n=200000, j=8)
    taken = steps(style, plan.program)
    for step in taken:
        assert step.how == family(style).choices(step.program)[0][1]

    told = plan.explain()
    assert STEP.findall(told) == [(str(*step.program.statements), step.how.name) for step in taken]

    seconds = sum(step.seconds for step in taken) + library_costs.fresh_seconds(style, plan.program)
    seconds = apart.BESIDE * (seconds + 2 * apart.BEGUN[style])
    assert plan.how.price(plan.program) * library_costs.unit(style, plan.program) * 8 == pytest.approx(seconds)


def test_a_product_number_by_number_is_no_call_of_a_library():
    """200000 products 1 x 1 x 8 took five times as long as the two steps."""
    plan = Contraction("o[i j] = a[n] b[n i] c[n j]", dict(n=200000, j=8), backend=get_backend("cuda", arch="sm_90"))
    first, _ = steps("threads", plan.program)
    assert plan.how.name == "apart" and first.how.name == "flat"


def test_the_order_of_a_local_suits_both_sides():
    """Written as [g j], not as the program has it, [j g]: rows of the sum that follows lie side by side then."""
    plan = planned("o[g] = x[g i] y[i j] z[g j]", get_backend("cuda", arch="sm_90"), g=100000, i=60, j=60)
    first, second = steps("threads", plan.program)
    (s,), (t,) = first.program.statements, second.program.statements

    assert s.out.indices[0] == "g" and s.out in references(t)
    assert plan.how.name == "apart"


def test_a_step_without_the_batch_has_one_of_its_own():
    plan = planned("o[i j] = a[n] b[n i] c[n j]", get_backend("cuda", arch="sm_90"), n=1000, j=8)
    first, second = steps("threads", plan.program)
    assert first.program.batch == "n" and first.entries == first.program.entries == 1000
    assert second.program.batch == plan.expression.batch == "i"


BITS = "last bits may depend on the batch"


def test_explain_says_who_adds_up():
    """A vendor's library sums in an order of its own. Its products without a sum keep their bits, as our steps do."""
    chain = planned("o[i j] = a[n] b[n i] c[n j]", get_backend("cpu"), entries=300, n=2000, j=300)
    _, last = steps("packs", chain.program)
    assert (BITS in chain.explain()) == (last.how.name == "library")

    for text, is_sum in (("o[b i j] = a[b i] c[b j]", False), ("o[b i j] = a[b i k] c[b k j]", True)):
        plan = Contraction(text, dict(i=3, j=3, **({"k": 3} if is_sum else {})), backend="cpu", how="library")
        assert (BITS in plan.explain()) == is_sum


def test_what_is_not_served():
    with pytest.raises(ArgumentError, match="no organisation 'apart' here"):
        Contraction("o[i k] = a[i j] b[j k]", dict(j=3, k=4), backend="cpu", how="apart")
    plan = Contraction("o[e i] = s[i j] a[e j] b[e i]; symmetric s", dict(i=3, j=3), backend="cpu")
    assert "apart" not in [how.name for _, how, _ in plan.candidates]


def test_fused_programs_stay_fused():
    """Chains are taken apart, or done at once where threads hold all sums. Other measured programs are not: their
    numbers stay in registers and shared memory."""
    backend, chains = get_backend("cuda", arch="sm_90"), {name for name, *_ in bench.CHAINS}
    for case in bench.device_cases():
        plan = case.plan(backend, entries=case.told)
        wanted = {"Chain: weighted moments": "moments"}.get(case.name, "apart")
        assert (plan.how.name == wanted) == (case.name in chains), case.name


@pytest.mark.parametrize("text", CHAINS[:7])
def test_kernels_compile_for_a_device(monkeypatch, text):
    """All kernels of the steps, by NVRTC, for a device that is not here."""
    monkeypatch.setattr(cuda, "machine_code", machine_code)
    sizes = dict.fromkeys("abcdefgijklmnpqrs", 20)
    plan = Contraction(
        text, {i: sizes[i] for i in set(text) & set(sizes)}, backend=get_backend("cuda", arch="sm_90"), how="apart"
    )
    plan.compile_ahead()
