"""The pure-Fortran properties of fortran_stub/ against the oracles: libframe is compared with them, so they have to be
right."""

import subprocess

import cffi
import numpy as np
import pytest
from mixtures_for_tests import ROOT, species_set
from reference import EPS, evaluate
from states import random_states

from frame.tools.bench.fortran import NAMES, OPTIONS, STYLES
from kernels.gas.species.kinetic_theory import pair_fit

# Absolute error of Takahashi's factor: reduced.f90 reads cubics in single precision, the others use the formula.
TABLE_ERRORS = {}


@pytest.fixture(scope="module", params=["tables", "textbook", "reduced"])
def fortran(request, tmp_path_factory):
    """The Fortran modules as a shared library, compiled as for the demo: with pair tables, or with the textbook's
    sums."""
    sources = [ROOT / "fortran_stub" / "rivals" / f"{name}.f90" for name in STYLES[request.param]]
    folder = tmp_path_factory.mktemp("properties")

    subprocess.run(
        [
            "gfortran",
            "-O3",
            "-march=native",
            "-fPIC",
            "-shared",
            f"-J{folder}",
            "-o",
            folder / "libproperties.so",
            *sources,
        ],
        check=True,
    )

    ffi = cffi.FFI()
    ffi.cdef("""int realgas_setup(int, double *, double *, double *, double *, double *, double *, double *, double *,
                                  double *, double *, double *, double *, double *, int *);
                void realgas_points(int, int, double *, double *, double *, double *, double *);""")
    library = ffi.dlopen(str(folder / "libproperties.so"))
    TABLE_ERRORS[library] = 2e-7 if request.param == "reduced" else 0.0

    return ffi, library


def doubles(ffi, array):
    assert array.dtype == np.float64 and array.flags.c_contiguous
    return ffi.from_buffer("double[]", array)


def setup(fortran, data, fit, **options):
    """Fill the species tables; returns the status."""
    ffi, lib = fortran

    fields = [
        data.W,
        data.Tc,
        data.pc,
        data.omega,
        data.Vc,
        data.dipole,
        data.kappa_assoc,
        data.kij,
        data.nasa_low,
        data.nasa_high,
        data.T_mid,
        np.moveaxis(fit, 0, 2),
        data.fuller_volume,
    ]

    fields = [np.array(f, dtype=float, order="C") for f in fields]
    codes = ffi.new("int[]", [OPTIONS[k].index(options[k]) + 1 if k in options else 1 for k in OPTIONS])

    return lib.realgas_setup(len(data.W), *[doubles(ffi, f) for f in fields], codes)


def points(fortran, T, p, Y, part=3, scalars=None):
    """(scalars by name, D) at the points."""
    ffi, lib = fortran
    Y = np.ascontiguousarray(Y)
    out = np.full((len(NAMES), T.size), np.nan) if scalars is None else scalars
    D = np.full(Y.shape, np.nan)
    lib.realgas_points(T.size, part, *[doubles(ffi, a) for a in (T, p, Y, out, D)])

    return dict(zip(NAMES, out)), D


def worst(got, want, mask, more=0.0):
    """Largest |got - want| in units of eps times the oracle's rounding bound (see tests/reference/tracked.py) plus
    `more`."""
    error = np.abs((got - want.val).astype(float))
    ratio = error / (EPS * (want.err + more))
    return np.max(np.where(np.isnan(ratio), np.inf, ratio)[..., mask])


# Allowed multiples of the oracle's running rounding bound for plain Fortran. The bound follows one order of operations.
# Fortran's double sums over pairs, its Horner forms and its cubic in Z (the oracle's is in Z - B) have others. And pow,
# exp and acos of the C library round by up to 1 ulp each, where the bound counts half. So a few units, not hundreds.
ALLOWED = 8


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"chung": "published", "takahashi": "table"},
        {"chung": "cantera", "alpha": "cantera", "diffusion": "cantera"},
        {"diffusion": "fuller", "root": "vapour"},
        {"takahashi": "off", "root": "liquid"},
    ],
    ids=lambda o: " ".join(o.values()) or "default",
)
@pytest.mark.parametrize("ns, kij", [(1, "file"), (2, "dense"), (10, "file"), (10, "dense"), (53, "file")])
@pytest.mark.quick(ns=[1, 2, 10])
@pytest.mark.quick(fortran="reduced", options={})
def test_agrees_with_the_oracle(fortran, ns, kij, options):
    data = species_set(ns, kij)
    fit = pair_fit(data, "cantera" if options.get("diffusion") == "cantera" else "kinetic")

    if options.get("diffusion") == "fuller" and np.isnan(data.fuller_volume).any():
        assert setup(fortran, data, fit, **options) == 3
        return

    T, p, Y = random_states(ns, 400)

    assert setup(fortran, data, fit, **options) == 0

    got, D = points(fortran, T, p, Y)
    want = evaluate(data, T, p, Y=Y, fit=fit, table_error=TABLE_ERRORS[fortran[1]], **options)
    decided = ~want.undecided

    assert decided.mean() > 0.95

    # (1 + T rho_T/rho)/rho, as in plain codes, cancels in a hot gas; the oracle and the layer use a form without
    # cancellation
    cancels = {"h_p": np.abs(T * got["rho_T"] / got["rho"]) / got["rho"]}
    far = {name: worst(got[name], getattr(want, name), decided, cancels.get(name, 0)) for name in NAMES if name != "h0"}
    far["D"] = worst(D, want.D, decided)

    assert max(far.values()) < ALLOWED, {name: float(f"{value:.3g}") for name, value in far.items()}


def test_parts_join(fortran):
    """Thermal, then viscous at the resulting density, gives the bits of both at once."""
    data = species_set(10)
    setup(fortran, data, pair_fit(data, "kinetic"))
    T, p, Y = random_states(10, 200)
    both, D_both = points(fortran, T, p, Y)
    scalars = np.full((len(NAMES), T.size), np.nan)
    points(fortran, T, p, Y, 1, scalars)
    apart, D = points(fortran, T, p, Y, 2, scalars)

    assert np.array_equal(D, D_both)

    for name in NAMES:
        assert np.array_equal(apart[name], both[name]), name


def test_root_rule(fortran):
    """Boiling nitrogen: the volume by the vapour rule is above that by the liquid rule; Gibbs takes one of the two and
    changes once in p."""
    data = species_set(1)
    fit = pair_fit(data, "kinetic")
    p = np.linspace(1e5, 25e5, 400)
    T, Y = np.full(p.size, 105.0), np.ones((1, p.size))
    rho = {}

    for root in OPTIONS["root"]:
        assert setup(fortran, data, fit, root=root) == 0
        rho[root] = points(fortran, T, p, Y, 1)[0]["rho"]

    two = rho["vapour"] < rho["liquid"]

    assert 0 < two.sum() < p.size

    liquid = rho["gibbs"] == rho["liquid"]

    assert np.all(liquid | (rho["gibbs"] == rho["vapour"]))

    first = np.argmax(two & liquid)

    assert first > 0 and np.all(liquid[first:]) and not np.any((two & liquid)[:first])
    # Vapour pressure of nitrogen at 105 K is 10.84 bar (NIST WebBook); Peng-Robinson is within 2 % of it for such
    # fluids.
    assert p[first] == pytest.approx(10.84e5, rel=0.02)


def test_pole_free_form_is_positive(fortran):
    data = species_set(10)
    fit = pair_fit(data, "kinetic")
    T, p, Y = random_states(10, 20000, seed=3)

    assert setup(fortran, data, fit) == 0

    out, D = points(fortran, T, p, Y)

    for values in (out["mu"], out["lam"], D):
        assert np.all(np.isfinite(values)) and np.all(values > 0)

    assert setup(fortran, data, fit, chung="published") == 0
    assert np.any(points(fortran, T, p, Y)[0]["mu"] <= 0)  # the reason for the default form


def test_agrees_with_cantera(fortran):
    """Form `cantera` against Cantera itself where both are on the same root. Cantera ends its search for the volume at
    a relative error of about 1e-11 (seen: 2e-11). c and the derivatives amplify that up to 100 times near the ridge:
    1e-8."""
    ct = pytest.importorskip("cantera")
    data = species_set(10)
    gas = ct.Solution(str(ROOT / "examples/mixtures/ch4_o2.yaml"), transport_model="high-pressure-Chung")

    assert setup(fortran, data, pair_fit(data, "kinetic"), chung="cantera", alpha="cantera", takahashi="table") == 0

    T, p, Y = random_states(10, 300, seed=5)
    got, _ = points(fortran, T, p, Y)
    want = {name: np.empty(T.size) for name in ("rho", "h", "e", "cp", "cv", "c", "mu", "lam")}

    for i in range(T.size):
        gas.TPY = T[i], p[i], Y[:, i]
        for name, value in zip(
            want, (gas.density, gas.h, gas.u, gas.cp, gas.cv, gas.sound_speed, gas.viscosity, gas.thermal_conductivity)
        ):
            want[name][i] = value

    same = np.abs(got["rho"] / want["rho"] - 1) < 1e-6

    assert same.mean() > 0.95

    for name in want:
        scale = np.abs(want[name]) + (got["cp"] * T if name in ("h", "e") else 0)
        assert np.max((np.abs(got[name] - want[name]) / scale)[same]) < 1e-8, name


def test_setup_refuses(fortran):
    data = species_set(2)
    fit = pair_fit(data, "kinetic")
    ffi, lib = fortran
    one = np.ones(2)
    table = [doubles(ffi, np.ones(k)) for k in (4, 14, 14)]
    rest = [doubles(ffi, np.ones(k)) for k in (2, 20, 2)]
    args = [doubles(ffi, one)] * 7 + table + rest

    assert lib.realgas_setup(2, *args, ffi.new("int[]", [4, 1, 1, 1, 1])) == 1
    assert lib.realgas_setup(2, *args, ffi.new("int[]", [1, 1, 1, 1, 0])) == 1
    assert lib.realgas_setup(0, *args, ffi.new("int[]", [1, 1, 1, 1, 1])) == 2
    assert setup(fortran, data, fit) == 0
