"""Cases of tensor expressions that several test files share: the stand-in of a device, plans by every organisation,
Nekbone's operators, random statements."""

import contextlib
import functools
import shutil
import sys

import cuda_on_cpu
import numpy as np
import pytest
from reference import tensor as reference

from kernels import Contraction, get_backend
from kernels.contractions import host_rates, permute
from kernels.engine import backend as backends
from kernels.engine.backend import cuda

machine_code = cuda.machine_code  # the real one: the stand-in puts another in its place
DTYPES = ("float32", "float64", "complex64", "complex128")
EPS = {name: np.finfo(name).eps for name in ("float64", "float32")}
XEON = host_rates.HostRates(1.59e10, 8.16e9, 6.48e10, 6.17e-10, 5.31e10, 6.1e-10, 5.53e-9)  # float64, fourth generation
LG3 = {"ur": "il,ekjl->ekji", "us": "jl,ekli->ekji", "ut": "kl,elji->ekji"}
LG3T = ("li,ekjl->ekji", "lj,ekli->ekji", "lk,elji->ekji")


@contextlib.contextmanager
def on_stand_in(folder):
    """The CUDA backend on the stand-in of a device. folder: of what it compiles."""
    permute._module.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "cupy", cuda_on_cpu.make())
        patch.setattr(backends, "_made", functools.cache(backends._made.__wrapped__))
        patch.setattr(cuda, "machine_code", cuda_on_cpu.compiler(folder))
        yield get_backend("cuda")


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory):
    if not shutil.which("g++"):
        pytest.skip("the stand-in needs g++")
    with on_stand_in(cuda_on_cpu.shared_folder(tmp_path_factory.getbasetemp())) as backend:
        yield backend


@pytest.fixture(scope="module", params=["cpu", "stand-in", pytest.param("gpu", marks=pytest.mark.gpu)])
def every_backend(request):
    """A CPU, the stand-in of a device, and with `pytest -m gpu` a GPU."""
    if request.param == "stand-in":
        return request.getfixturevalue("stand_in")
    return get_backend("cuda" if request.param == "gpu" else "cpu")


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


def indexed(statements, arrays) -> dict:
    """{name: (array, its indices)} of all that the statements read and write."""
    references = [r for out, _, terms in statements for r in (out, *(f for _, factors in terms for f in factors))]
    return {name: (arrays[name], indices) for name, indices in references}


def some_entries(array, indices: str, n: int):
    """The first n entries of the batch, whose index is e."""
    return array[tuple(slice(n if i == "e" else None) for i in indices)] if "e" in indices else array


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

    fewer = int(rng.integers(0, batch + 1))
    cut = {name: some_entries(a, indices, fewer) for name, (a, indices) in indexed(statements, arrays).items()}

    def check(plan, some):
        """Values, and the same bits in a smaller batch, but for sums by a vendor's library."""
        found = run(plan, arrays, batch)
        if backend.memory == "host" and not plan.how.sums_by_a_vendor(plan.program):
            for name, part in run(plan, cut, fewer).items():
                whole = some_entries(found[name], next(s[0][1] for s in statements if s[0][0] == name), fewer)
                assert np.array_equal(part, whole, equal_nan=True), (seed, str(plan.how), name, fewer)
        for s in some:
            name = s[0][0]
            assert reference.close(found[name], wanted[name], EPS[dtype]), (seed, str(plan.how), reference.text([s]))
        return len(some)

    text = lambda some: reference.text(some, ("[]", "()")[seed // 4 % 2])
    for plan in organisations(text(statements), extents, backend, dtype=dtype, batch="e"):
        compared += check(plan, statements)
    for k, s in enumerate(statements[:alone]):
        make = functools.partial(Contraction, text([s]), extents, dtype, backend, batch="e", quick=True)
        able = make().candidates
        compared += check(make(how=able[(seed + k) % len(able)][1].name), [s])

    return (len(statements), compared) if told else compared


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


def whole(rng, shape, dtype="float64"):
    """Small whole numbers, also in the imaginary part."""
    x = rng.integers(-3, 4, shape)
    return (x + 1j * rng.integers(-3, 4, shape)).astype(dtype) if np.dtype(dtype).kind == "c" else x.astype(dtype)


def python_calls(work) -> int:
    """Python functions that are called."""
    count = 0

    def counted(frame, event, argument):
        nonlocal count
        count += event == "call"

    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count
