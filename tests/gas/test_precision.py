"""Single precision on both backends. "mixed" (only the arrays): the results of the double kernel, rounded once.
"single" (arithmetic too): errors within a few times those of rounding the inputs and constants once."""

import json
import pathlib
import platform

import hosts
import numpy as np
import pytest
from device_for_tests import be  # noqa: F401  the CUDA backend, or its stand-in on a CPU
from frame_host import Host, field
from kernel_cases import mixture, of_reactions
from reference import stripe as reference
from states import random_states

from frame.errors import StateError
from frame.tools import cli, validate
from frame.tools.bench import ceilings, inputs
from frame.tools.validate.scale import scales
from frame.tools.validate.wide import GIVEN, is_public, reachable
from kernels import Mixture, get_backend, registry
from kernels.engine.errors import ArgumentError
from kernels.marshal import Block, Marshal

SINGLE = np.float32
N = 301  # two whole blocks of the CPU's loop and a part


@pytest.fixture(params=["cpu", "cuda"])
def backend(request, be):  # noqa: F811
    return "cpu" if request.param == "cpu" else be


def rounded_states(ns, n=N, seed=41):
    """States that are exact in single precision."""
    T, p, Y = random_states(ns, n, seed)
    u, v, w = np.random.default_rng(seed).uniform(-300, 300, (3, n))
    return {name: np.asarray(value).astype(SINGLE) for name, value in zip(GIVEN, (T, p, Y, u, v, w))}


def assert_rounded_once(got, wanted, what):
    """got is wanted rounded to nearest: the same bits, NaN where wanted has NaN."""
    assert got.dtype == SINGLE, (what, got.dtype)
    with np.errstate(over="ignore"):
        expected = wanted.astype(SINGLE)
    differ = ~((got == expected) | (np.isnan(got) & np.isnan(expected)))
    assert not differ.any(), (what, got[differ][:3], wanted[differ][:3])


OPTIONS = [
    (1, {}),
    (2, {}),
    (10, {}),
    (10, {"equation": "srk", "translation": "peneloux", "diffusion": "fuller", "takahashi": "off"}),
    (10, {"viscosity": "lucas"}),
    (10, {"equation": "ideal", "viscosity": "sutherland", "takahashi": "off"}),
    (2, {"equation": "vdw"}),
    (10, {"equation": "rkpr"}),
    (10, {"equation": "mapped", "viscosity": "residual"}),
    (53, {}),
]


@pytest.mark.parametrize("ns, options", OPTIONS, ids=[f"{ns} {' '.join(o.values())}" for ns, o in OPTIONS])
@pytest.mark.quick(backend="cpu", ns=2, options={})
def test_mixed_is_the_double_result_rounded_once(backend, ns, options):
    """All quantities that follow from T, p, Y, in one launch. No intermediate is rounded, so the rounding of the output
    is the only error. The matrices of 53 species are left out: they take too long."""
    mix = mixture(ns, **options)
    names = [name for name in reachable(mix) if ns < 53 or "*" not in registry.quantities[name].per]
    given = rounded_states(ns, N if ns < 53 else 70)
    double = mix.properties(names, backend=backend, **given)
    mixed = mix.properties(names, backend=backend, precision="mixed", **given)

    assert len(names) > 40

    for name in names:
        assert np.isfinite(double[name]).mean() > (0.4 if "lucas" in options.values() else 0.99), name
        assert_rounded_once(mixed[name], double[name], f"{name}, NS={ns} {options}")


# Rounding inputs and constants once is 1 unit of the scale (frame/validate/scale.py). As in frame/validate/wide.py, 48
# units allow for some 30 roundings in between. Single precision adds the error of the place in a table: 384/(1 + Tr) is
# known to 384/2 roundings of the width of a cubic, over which the tabulated factor changes by 1/100 at most.
SINGLE_TOLERANCE = 48


@pytest.mark.parametrize("ns, options", OPTIONS, ids=[f"{ns} {' '.join(o.values())}" for ns, o in OPTIONS])
@pytest.mark.quick(backend="cuda", ns=10, options={})
def test_single_is_within_a_few_roundings(backend, ns, options):
    mix = mixture(ns, **options)
    names = [name for name in reachable(mix) if is_public(name) and "*" not in registry.quantities[name].per]
    given = rounded_states(ns, 2000 if backend == "cpu" else N)
    if ns == 53:
        given = {q: v[..., :300] for q, v in given.items()}
    double = mix.properties(names, backend="cpu", **given)  # the program that `scales` takes
    single = mix.properties(names, backend=backend, precision="single", **given)
    scale, undecided = scales(mix, names, {q: v.astype(float) for q, v in given.items()})
    worst = {}

    for name in names:
        assert single[name].dtype == SINGLE
        if options.get("viscosity") == "lucas" and not np.isfinite(double[name]).all():
            continue  # not defined for liquids, nor are quantities made from it

        lost = np.finfo(SINGLE).tiny  # below it a number has fewer digits
        worst[name] = np.max(
            np.where(undecided, 0, np.abs(single[name] - double[name]) / (2.0**-24 * scale[name] + lost))
        )

    print(f"NS={ns} {options}:", {name: f"{w:.1f}" for name, w in worst.items()})
    assert len(worst) > 20 and all(w <= SINGLE_TOLERANCE for w in worst.values()), worst


def conserved(made):
    """Conserved variables of a state with velocities of 100, 50 and 0 m/s."""
    rho = made["rho"]
    state = {"rhoY": rho * made["Y"], "rhou": 100 * rho, "rhov": 50 * rho, "rhow": 0 * rho}
    state["rhoY_but_last"] = state["rhoY"][:-1]
    state["rhoE"] = rho * (made["e"] + 0.5 * (100.0**2 + 50.0**2))
    return state


OF_REACTIONS = {"kinetics", "thermal_kinetics", "react_volume", "react_pressure"}  # the mixture below has none
IN_EQUILIBRIUM = {name for name in registry.collections if name.startswith("phases_from_")}  # see test_phases.py


EQUILIBRIA = {name for name in registry.collections if name.startswith("equilibrate_")}  # and has no atoms


@pytest.mark.parametrize("name", sorted(set(registry.collections) - OF_REACTIONS - IN_EQUILIBRIUM - EQUILIBRIA))
@pytest.mark.quick(backend="cpu", name="thermal")
@pytest.mark.quick(backend="cuda", name=["gamma_solve_dU", "thermal_viscous"])
def test_every_collection(backend, name):
    """Each collection by name, from its own inputs; inversions and the Jacobian too."""
    c, mix = registry.collections[name], mixture(2)
    random = np.random.default_rng(43)
    state = rounded_states(2)
    of_state = mix.properties("rho e", backend="cpu", **state)
    state |= {q: v.astype(SINGLE) for q, v in conserved(state | of_state).items()}
    more = [q for q in c.given if q not in state and q not in ("dQ", "dU", "muT")]
    made = mix.properties(more, backend="cpu", **rounded_states(2)) if more else {}
    state |= {q: v.astype(SINGLE) for q, v in made.items()}
    state |= {q: random.normal(size=(6, N)).astype(SINGLE) for q in ("dQ", "dU")}
    state["muT"] = random.uniform(0.0, 1e-3, N).astype(SINGLE)
    given = {q: state[q] for q in c.given}
    double, mixed = (
        mix.properties(c.outputs, backend=backend, precision=kind, **given) for kind in ("double", "mixed")
    )
    for q in c.outputs:
        assert_rounded_once(mixed[q], double[q], f"{name}: {q}")


@pytest.mark.parametrize("first", (0, 3, 6, 9))
@pytest.mark.quick(backend="cpu", first=0)
@pytest.mark.quick(backend="cuda", first=6)
def test_kernels_alone(backend, first):
    """A twelfth of the kernels of the default options, each launched alone; others on either backend. The fused launch
    above contains all of them."""
    mix, given = mixture(2), rounded_states(2)
    pool = reachable(mix)
    made = mix.properties(pool, backend="cpu", **given) | given
    made |= conserved(made)
    made |= {"T_start": made["T"], "V_p": made["c"], "dQ": np.ones((6, N)), "dU": np.ones((6, N))}
    ran = 0

    for kernel in list(registry.kernels.values())[first + (backend != "cpu") :: 12]:
        serves = kernel.serves(mix.options) and not of_reactions(kernel)  # this mixture has none
        if not serves or not all(read in made for read in kernel.reads):
            continue

        inputs = {q: made[q].astype(SINGLE) for q in kernel.reads}
        double, mixed = (
            mix.kernel(kernel.name)(backend=backend, precision=kind, **inputs) for kind in ("double", "mixed")
        )
        for q in kernel.writes:
            assert_rounded_once(mixed[q], double[q], f"{kernel.name}: {q}")
        ran += 1

    assert ran > 2


@pytest.mark.parametrize("name", ["viscous", "gamma_jacobian_properties"])
@pytest.mark.quick(backend="cuda")
def test_many_species(backend, name):
    """A kernel launched alone, as by a host: with 53 species a GPU keeps sums of pairs in the memory of the results, if
    their type is wide enough."""
    c, mix = registry.collections[name], mixture(53)
    given = {q: v for q, v in rounded_states(53, 70).items() if q in "TpY"}
    given |= {q: mix.properties(q, **given)[q].astype(SINGLE) for q in c.given if q not in given}
    double, mixed = (
        mix.properties(c.outputs, backend=backend, precision=kind, **given) for kind in ("double", "mixed")
    )
    for q in c.outputs:
        assert_rounded_once(mixed[q], double[q], f"{name}: {q}")


@pytest.mark.parametrize(
    "ns, kij, diffusion", [(15, "dense", "kinetic"), (26, "none", "fuller"), (50, "dense", "kinetic")]
)
@pytest.mark.quick(ns=15)
def test_pairs_by_a_gpus_matrix_units(be, ns, kij, diffusion):  # noqa: F811
    """The matrix units work on doubles: the matrices of pairs stay double; all other constants and the results are
    single."""
    mix = inputs.mixture(ns, kij, takahashi="off", diffusion=diffusion)
    given = {q: v for q, v in rounded_states(ns, 70).items() if q in "TpY"}
    given["rho"] = mix.properties("rho", **given)["rho"].astype(SINGLE)

    scale, undecided = scales(
        mix,
        [q for name in ("thermal", "viscous") for q in registry.collections[name].outputs],
        {q: given[q].astype(float) for q in "TpY"},
    )
    for name in ("thermal", "viscous"):
        c = registry.collections[name]
        state = {q: given[q] for q in c.given}
        plan = mix.program(outputs=c.outputs, given=c.given, backend=be, precision="single").plan
        wide = {q for q, value in plan.values.items() if value.dtype == np.float64}

        assert plan.how.pairs == "units"
        of_thermal = {"one_minus_kij", "kij_upper"} if kij == "dense" else set()
        of_viscous = {"friction_tiles"} | ({"chung_pair"} if ns < 50 else set())  # of 50 species few squares
        assert wide == (of_viscous if name == "viscous" else of_thermal)

        double = mix.properties(c.outputs, backend="cpu", **state)
        single = mix.properties(c.outputs, backend=be, precision="single", **state)

        for q in c.outputs:
            off = np.where(undecided, 0, np.abs(single[q] - double[q]) / (2.0**-24 * scale[q] + np.finfo(SINGLE).tiny))
            assert off.max() <= SINGLE_TOLERANCE, (q, off.max())


@pytest.mark.parametrize("precision", ["mixed", "single"])
@pytest.mark.quick(backend="cpu", precision="mixed")
@pytest.mark.quick(backend="cuda", precision="single")
def test_a_point_does_not_depend_on_its_place(backend, precision):
    mix, given = mixture(10), rounded_states(10)
    whole = mix.properties("rho D X", backend=backend, precision=precision, **given)
    part = mix.properties(
        "rho D X", backend=backend, precision=precision, **{q: v[..., 130:167] for q, v in given.items()}
    )
    for name in whole:
        assert np.array_equal(whole[name][..., 130:167], part[name]) and np.isfinite(part[name]).all(), name


def test_wrong_types_are_refused(backend):
    """A bound array must have the program's type. Doubles given to `properties` are rounded; given X and Y are returned
    unchanged."""
    mix = mixture(2)
    program = mix.program(outputs=("rho",), given=("T", "p", "Y"), backend=backend, precision="mixed")
    assert program.dtype == SINGLE

    arrays = {a: program.backend.empty((program.plan.rows(a), 8), SINGLE) for a in program.plan.arguments}
    with pytest.raises(ArgumentError, match="'T': type float64, wanted float32"):
        program.bind(arrays | {"T": program.backend.empty((1, 8))})

    double = mix.program(outputs=("rho",), given=("T", "p", "Y"), backend=backend)
    with pytest.raises(ArgumentError, match="type float32, wanted float64"):
        double.bind(arrays)
    with pytest.raises(ArgumentError, match="precision 'half'; wanted one of double, mixed, single"):
        mix.properties("rho", T=300.0, p=1e5, Y=[0.5, 0.5], precision="half")

    out = mix.properties("rho T", T=300.1, p=1e5, Y=[0.5, 0.5], precision="mixed", backend=backend)
    assert out["T"] == SINGLE(300.1) and out["rho"].dtype == SINGLE

    with pytest.raises(
        ArgumentError, match="'temperature_from_h_p' has no single precision: .* precision 'mixed' has it"
    ):
        mix.properties("T", h=1e5, p=1e5, Y=[0.5, 0.5], precision="single", backend=backend)


# ---- the layer


def test_a_fortran_host_with_arrays_and_views_of_either_type():
    done = hosts.run(hosts.compiled("single.f90"), hosts.ROOT / "examples" / "mixtures" / "ch4_o2.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    got = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()}
    assert got["rho"] == got["D"] == ["0"] * 3
    assert got["untouched"] == [str(2 * 7 * 5)] * 2 and got["sane"] == ["T", "T"] and int(got["rounded"][0]) > 300


@pytest.mark.parametrize("which", ["cpu", "cuda"])
@pytest.mark.parametrize("element", ["float64", "float32"])
@pytest.mark.parametrize("seed", range(8))
def test_stripes_are_converted_on_their_way(be, which, element, seed):  # noqa: F811
    """Random selections of blocks of either type, into views of the other type and back; fringe and padding are
    unchanged."""
    back, random = (get_backend("cpu") if which == "cpu" else be), np.random.default_rng(seed)
    shape = [int(random.integers(2, 9)) for _ in range(3)] + [3]
    lo = [int(random.integers(0, m)) for m in shape]
    n = [int(random.integers(1, m - a + 1)) for m, a in zip(shape, lo)]
    view_type = {"float64": "float32", "float32": "float64"}[element]
    host = np.asfortranarray(random.normal(size=shape).astype(element))
    size, total = host.itemsize, int(np.prod(n[:3]))
    block = Block(
        host.ctypes.data, tuple(shape), tuple(s // size for s in host.strides), tuple(lo), tuple(n), size=size
    )
    view = back.from_host(np.full((n[3], back.pad(total)), np.nan), view_type)
    Marshal(back).gather(block, 0, total, view)
    got = back.to_host(view)

    assert got.dtype == view_type and np.isnan(got[:, total:]).all()
    assert np.array_equal(got[:, :total], reference.gather(host, lo, n, 0, total).astype(view_type))

    wanted = reference.scatter(host, lo, n, 0, -got[:, :total])
    Marshal(back).scatter(block, 0, total, back.from_host(-got, view_type))
    assert np.array_equal(host, wanted)


def test_views_of_a_mixed_frame():
    """Views take half the bytes. Rows of Q, the last mass fraction and check mode work as in double. The option must be
    set before initialize."""
    answers = {}
    for precision in ("double", "mixed", "single"):
        host = Host(ns=10, nq=14, mixture="ch4_o2", precision=precision)
        Q = np.zeros((4, 3, 2, 14), order="F")
        Q[..., 0], Q[..., 4] = 1e7, 300.0
        Q[..., 5:] = np.random.default_rng(3).dirichlet(np.ones(10), (4, 3, 2))[..., :9]
        host.put("Q", Q)
        host.frame.set_parameter("check", 1.0)
        host.launch("thermal_viscous")

        answers[precision] = (
            host.get("rho", field(0)),
            np.array(host.impl.view("Y").array[:, :24]),
            host.impl.view("D").matrix,
        )

        with pytest.raises(StateError, match="option 'precision' has to be set before frame_initialize"):
            host.frame.set_option("precision", "double")

    with pytest.raises(ArgumentError, match="no single precision: .*precision 'mixed' has it"):
        host.launch("T_from_h_p")
    assert answers["mixed"][2].dtype == SINGLE and answers["mixed"][2].nbytes * 2 == answers["double"][2].nbytes
    assert (
        np.abs(answers["mixed"][1].astype(float).sum(0) - 1).max() <= 6e-8
    )  # ten fractions, each rounded twice by at most 2^-25 of it
    assert np.abs(answers["single"][0] / answers["double"][0] - 1).max() < 3e-6

    # rho changes with Y and p (T is exact here): |d ln rho/d ln Y_k| is about 1 or less
    assert np.abs(answers["mixed"][0] / answers["double"][0] - 1).max() < 3e-7
    with pytest.raises(ArgumentError, match="option 'precision' is 'half', wanted one of double, mixed, single"):
        Host(precision="half")


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize("precision", ["mixed", "single"])
def test_a_hosts_own_kernels(precision):
    """Registered declarations run on views of either type, T updated in place: the root of e = AIR_CV T + AIR_CV_SLOPE
    T^2/2."""
    host = Host(mixture="", precision=precision)
    host.frame.register_kernel(str(hosts.OWN_KERNEL))
    e = np.linspace(2e5, 5e5, 24).reshape(4, 3, 2, order="F")
    host.put("rho", field(1.25)), host.put("e", np.asfortranarray(e)), host.put("T", field(400.0))
    host.launch("air_ideal_gas")
    T = (np.sqrt(690.0**2 + 2 * 0.09 * e.astype(SINGLE).astype(float)) - 690.0) / 0.09
    roundings = 1 if precision == "mixed" else 6  # one at the end; single: some in the last step and in p
    for name, wanted in (("T", T), ("p", 1.25 * 287.05 * T)):
        assert np.abs(host.get(name, field(0)) / wanted - 1).max() <= 2.0**-24 * roundings * (1 + 1e-7), name


def test_the_host_link_carries_single_precision(be):  # noqa: F811
    """Pageable blocks in double are packed in the view's type, so that only half the bytes go to the device."""
    if be.arrays.__version__ != "stand-in":
        pytest.skip("looks into the stand-in")
    made, original = [], be.arrays.cuda.alloc_pinned_memory
    host = np.asfortranarray(np.random.default_rng(1).normal(size=(6, 5, 4, 2)))
    block = Block(host.ctypes.data, host.shape, (1, 6, 30, 120), (0, 0, 0, 0), host.shape)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(be.arrays.cuda, "alloc_pinned_memory", lambda n: (made.append(n), original(n))[1])
        for dtype in (SINGLE, np.dtype(float)):
            view = be.empty((2, 128), dtype)
            Marshal(be).gather(block, 0, 120, view)
            assert np.array_equal(be.to_host(view)[:, :120], host.reshape(120, 2, order="F").T.astype(dtype))

    assert made[1] - 64 == 2 * (made[0] - 64)  # 64: for the alignment


# ---- instruction sets, validation, bench


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the targets are those of x86-64")
@pytest.mark.parametrize("ns", (2, 10))
@pytest.mark.parametrize("target", ["x86-64", "x86-64-v3"])
@pytest.mark.quick(target="x86-64-v3", ns=2)
def test_narrower_packs(target, ns, monkeypatch):
    """4 and 8 lanes: AVX gives the bits of AVX-512; SSE2 has no FMA and differs. By the flags that users get: which
    products become FMAs may differ by -O1."""
    monkeypatch.delenv("FRAME_CXXFLAGS", raising=False)
    mix, names = mixture(ns), ("rho h cp c mu lam D X" if ns > 2 else "rho c mu D").split()
    given = {q: v for q, v in rounded_states(ns, 500).items() if q in "TpY"}
    here = mix.properties(names, backend="cpu", precision="single", **given)
    double = mix.properties(names, backend="cpu", **given)
    scale, undecided = scales(mix, names, {q: v.astype(float) for q, v in given.items()})
    monkeypatch.setenv("FRAME_ARCH", target)
    mix = Mixture(mix.species)
    got = mix.properties(names, backend="cpu", precision="single", **given)

    for name in names:
        off = np.where(
            undecided, 0, np.abs(got[name] - double[name]) / (2.0**-24 * scale[name] + np.finfo(SINGLE).tiny)
        )
        assert off.max() <= SINGLE_TOLERANCE, (name, off.max())
        if target == "x86-64-v3" and "avx512dq" in pathlib.Path("/proc/cpuinfo").read_text():
            assert np.array_equal(got[name], here[name]), name


FUNCTIONS = """#define FRAME_SINGLE
#define FRAME_FLOAT_ARRAYS
#include "engine/numbers/pack.h"
#define APPLY(name) extern "C" void apply_##name(const float *x, float *y, long n) { \\
    for (long t = 0; t < n; t += VECTOR_LANES) { vec v; load(x + t, v); store(y + t, name(v)); } }
APPLY(exp) APPLY(expm1) APPLY(log) APPLY(cbrt) APPLY(sqrt)
APPLY(floor_small) APPLY(two_thirds_start) APPLY(inverse_root_start)
"""
CASES = {
    "exp": (np.exp, -87, 88, 2),
    "expm1": (np.expm1, -20, 80, 3),
    "log": (np.log, 1e-37, 3e38, 2),
    "cbrt": (np.cbrt, 1e-37, 3e38, 2),
    "sqrt": (np.sqrt, 1e-37, 3e38, 0.6),
    "floor_small": (np.floor, -1e6, 1e6, 0),
    "two_thirds_start": (lambda x: np.cbrt(x) ** 2, 1e-30, 1e30, 3e-3 * 2**24),
    "inverse_root_start": (lambda x: 1 / np.sqrt(x), 1e-30, 1e30, 2e-3 * 2**24),
}


def test_functions_of_a_pack():
    """The layer's exp, log, cbrt in single precision against NumPy's in double, in units in the last place. NaN stays
    NaN; log and cbrt of a number <= 0 give NaN."""
    from kernels.engine.backend import cpu
    from kernels.engine.backend.base import Source

    random, ffi = np.random.default_rng(2), cpu.ffi.__class__()
    ffi.cdef("".join(f"void apply_{name}(const float *x, float *y, long n);" for name in CASES))
    library = ffi.dlopen(str(cpu.shared_object(Source("single-functions", FUNCTIONS))))

    def apply(name, x):
        x = np.ascontiguousarray(x, SINGLE)
        y = np.full_like(x, np.nan)
        getattr(library, f"apply_{name}")(
            ffi.cast("float *", x.ctypes.data), ffi.cast("float *", y.ctypes.data), x.size
        )

        return y

    for name, (exact, low, high, allowed) in CASES.items():
        x = random.uniform(low, high, 2**16) if low < 0 else np.exp(random.uniform(np.log(low), np.log(high), 2**16))
        x[: 2**14] = random.uniform(0.7, 1.5, 2**14)
        x = x.astype(SINGLE)
        wanted = exact(x.astype(float))
        off = np.abs(apply(name, x) - wanted) / np.spacing(np.abs(wanted).astype(SINGLE))
        print(name, f"{off.max():.2f}")

        assert off.max() <= allowed, (name, off.max(), x[off.argmax()])

    assert np.isnan(apply("exp", np.full(16, np.nan))).all()
    for name in ("log", "cbrt"):
        assert np.isnan(apply(name, np.repeat([0, -1, np.nan, -np.inf], 4))).all(), name


def test_validation_judges_and_tells():
    file = hosts.ROOT / "examples" / "mixtures" / "n2.yaml"
    said = []
    rows = validate.run(
        validate.Job(Mixture.from_yaml(file), file, states=3000, backend=get_backend("cpu")),
        against=["precision"],
        say=said.append,
    )
    judged = [row for row in rows if row.tolerance is not None]

    assert len(judged) > 50 and all(row.passed for row in judged), [(r.name, r.worst) for r in judged if not r.passed]
    median = {(row.name, row.unit): row.median for row in rows}

    assert 1e-9 < median["rho: mixed", "relative"] < median["rho: single", "relative"] < 1e-6
    assert "single, relative to double" in said[0] and "  rho " in said[0]


def test_validation_finds_a_second_rounding(monkeypatch):
    """With mixed results rounded once more, or single results wrong by 1e-3, the rows do not pass."""
    file = hosts.ROOT / "examples" / "mixtures" / "n2.yaml"
    right = Mixture.properties

    def wrong(self, names, precision="double", **given):
        off = {"mixed": 1 + 2.0**-23, "single": 1 + 1e-3}.get(precision, 1.0)
        return {
            name: (value * off).astype(value.dtype)
            for name, value in right(self, names, precision=precision, **given).items()
        }

    monkeypatch.setattr(Mixture, "properties", wrong)
    rows = validate.run(
        validate.Job(Mixture.from_yaml(file), file, states=500, backend=get_backend("cpu")),
        against=["precision"],
        say=lambda text: None,
    )
    failed = {row.name for row in rows if not row.passed}

    assert {"rho: mixed", "rho: single", "c: mixed", "mu: single"} <= failed


@pytest.mark.parametrize("precision", ["mixed", "single"])
@pytest.mark.full
def test_bench_beside_double(precision, capsys, monkeypatch):
    measure = ceilings.measure  # for a fiftieth of the time: no figure is judged
    monkeypatch.setattr(ceilings, "measure", lambda backend: measure(backend, 0.02))
    given = f"bench properties --precision {precision} --backend cpu --points 500 --repeats 1 --ns 3".split()

    assert cli.main([*given, "--cases", "thermal", "--json", "-"]) == 0
    out, shown = capsys.readouterr()
    rows = json.loads(out)

    assert rows[0]["rival"] == "in double" and precision in rows[0]["case"] and "in double" in shown
    assert 1e-9 < rows[0]["max_rel_diff"] < (1e-6 if precision == "mixed" else 1e-3)
    assert (rows[0]["bound"] is None) == (precision == "single")

    assert (
        cli.main(["bench", "launch", "--precision", precision]) == 1
        and "--precision: belongs to bench properties" in capsys.readouterr().err
    )
