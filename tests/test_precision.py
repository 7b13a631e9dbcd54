"""Arrays in single precision, the arithmetic in double ("mixed"): the double kernel's results, rounded once, on both backends."""
import numpy as np
import pytest

from frame.validate.wide import GIVEN, reachable
from kernel_cases import mixture
from kernels import Mixture, declare
from kernels.errors import ArgumentError
from mixtures_for_tests import species_set
from states import random_states
from test_gpu import be         # noqa: F401  the CUDA backend, or its stand-in on a CPU

SINGLE = np.float32
N = 301                         # two whole blocks of the CPU's loop and a part


@pytest.fixture(params=["cpu", "cuda"])
def backend(request, be):       # noqa: F811
    return "cpu" if request.param == "cpu" else be


def rounded_states(ns, n=N, seed=41):
    """States that single precision holds exactly."""
    T, p, Y = random_states(ns, n, seed)
    u, v, w = np.random.default_rng(seed).uniform(-300, 300, (3, n))
    return {name: np.asarray(value).astype(SINGLE) for name, value in zip(GIVEN, (T, p, Y, u, v, w))}


def assert_rounded_once(got, wanted, what):
    """got is wanted, rounded to nearest: the same bits, NaN where that has NaN."""
    assert got.dtype == SINGLE, (what, got.dtype)
    with np.errstate(over="ignore"):
        expected = wanted.astype(SINGLE)
    differ = ~((got == expected) | (np.isnan(got) & np.isnan(expected)))
    assert not differ.any(), (what, got[differ][:3], wanted[differ][:3])


OPTIONS = [(1, {}), (2, {}), (10, {}), (10, {"equation": "srk", "translation": "peneloux", "diffusion": "fuller", "takahashi": "off"}),
           (10, {"viscosity": "lucas"}), (10, {"equation": "ideal", "viscosity": "sutherland", "takahashi": "off"}), (53, {})]


@pytest.mark.parametrize("ns, options", OPTIONS, ids=[f"{ns} {' '.join(o.values())}" for ns, o in OPTIONS])
def test_mixed_is_the_double_result_rounded_once(backend, ns, options):
    """Everything that T, p, Y lead to, in one launch: no name between is rounded, so that the only error is that of the output.
    The matrices of 53 species are left out for the time they take."""
    mix = mixture(ns, **options)
    names = [name for name in reachable(mix) if ns < 53 or "*" not in declare.quantities[name].per]
    given = rounded_states(ns, N if ns < 53 else 70)
    double = mix.properties(names, backend=backend, **given)
    mixed = mix.properties(names, backend=backend, precision="mixed", **given)
    assert len(names) > 40
    for name in names:
        assert np.isfinite(double[name]).mean() > (0.4 if "lucas" in options.values() else 0.99), name
        assert_rounded_once(mixed[name], double[name], f"{name}, NS={ns} {options}")


@pytest.mark.parametrize("name", sorted(declare.collections))
def test_every_collection(backend, name):
    """By name and from what it is given: inversions and the Jacobian too."""
    c, mix = declare.collections[name], mixture(2)
    random = np.random.default_rng(43)
    state = rounded_states(2) | {q: random.normal(size=(6, N)).astype(SINGLE) for q in ("dQ", "dU")}
    more = [q for q in c.given if q not in state]
    state |= {q: v.astype(SINGLE) for q, v in mix.properties(more, backend="cpu", **state).items()} if more else {}
    given = {q: state[q] for q in c.given}
    double, mixed = (mix.properties(c.outputs, backend=backend, precision=kind, **given) for kind in ("double", "mixed"))
    for q in c.outputs:
        assert_rounded_once(mixed[q], double[q], f"{name}: {q}")


def test_every_kernel_alone(backend):
    """Each kernel of the default options, on random inputs of a size that occurs."""
    mix, given = mixture(2), rounded_states(2)
    pool = reachable(mix)
    made = mix.properties(pool, backend="cpu", **given) | given
    made |= {"T_start": made["T"], "V_p": made["c"], "dQ": np.ones((6, N)), "dU": np.ones((6, N))}
    ran = 0
    for kernel in declare.kernels.values():
        if not kernel.serves(mix.options) or not all(read in made for read in kernel.reads):
            continue
        inputs = {q: made[q].astype(SINGLE) for q in kernel.reads}
        double, mixed = (mix.kernel(kernel.name)(backend=backend, precision=kind, **inputs) for kind in ("double", "mixed"))
        for q in kernel.writes:
            assert_rounded_once(mixed[q], double[q], f"{kernel.name}: {q}")
        ran += 1
    assert ran > 40


def test_a_point_does_not_depend_on_its_place(backend):
    mix, given = mixture(10), rounded_states(10)
    whole = mix.properties("rho D X", backend=backend, precision="mixed", **given)
    part = mix.properties("rho D X", backend=backend, precision="mixed", **{q: v[..., 130:167] for q, v in given.items()})
    for name in whole:
        assert np.array_equal(whole[name][..., 130:167], part[name]), name


def test_wrong_types_are_refused(backend):
    """A bound array has the program's type; doubles given to `properties` are rounded, and X, Y given are handed back as they went in."""
    mix = mixture(2)
    program = mix.program(outputs=("rho",), given=("T", "p", "Y"), backend=backend, precision="mixed")
    assert program.dtype == SINGLE
    arrays = {a: program.backend.empty((program.plan.rows(a), 8), SINGLE) for a in program.plan.arguments}
    with pytest.raises(ArgumentError, match="'T': type float64, wanted float32"):
        program.bind(arrays | {"T": program.backend.empty((1, 8))})
    double = mix.program(outputs=("rho",), given=("T", "p", "Y"), backend=backend)
    with pytest.raises(ArgumentError, match="type float32, wanted float64"):
        double.bind(arrays)
    with pytest.raises(ArgumentError, match="precision 'half'; wanted one of double, mixed"):
        mix.properties("rho", T=300.0, p=1e5, Y=[0.5, 0.5], precision="half")
    out = mix.properties("rho T", T=300.1, p=1e5, Y=[0.5, 0.5], precision="mixed", backend=backend)
    assert out["T"] == SINGLE(300.1) and out["rho"].dtype == SINGLE
