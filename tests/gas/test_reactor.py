"""Derivatives of rates and reactors: against differences of the oracle and of other kernels, Cantera, identities."""

import mechanisms_for_tests as mechanisms
import numpy as np
import pytest
from device_for_tests import be, is_gpu  # noqa: F401
from kernel_cases import project_kernels
from reference import kinetics
from reference.species import LD, R
from test_kinetics import mixture

from frame.tools.bench.kinetics import files
from kernels import Mixture

# Differences of fourth order with h = H of the variable: their error is H^4 (1.6e-15) times a fifth derivative over 30.
# Extrapolated Chebyshev rates go with T^60 here: 60^5/30 H^4 = 4e-8. Rounding leaves 1e-13/H of the gross rates.
H, DIFFERENCES = 2e-4, 1e-7
SLOPES = "rho creation destruction omega_rho omega_T"
REAL = [
    {},
    dict(kinetics="fugacity", alpha="cantera"),
    dict(equation="srk", translation="peneloux"),
    dict(equation="rk"),
    dict(kinetics="concentration"),
    dict(equation="rkpr"),
    dict(equation="rkpr", kinetics="fugacity"),
    dict(equation="mapped"),
    dict(equation="mapped", kinetics="fugacity"),
]
ids = lambda options: "-".join(options.values()) or "pr"


def states(n=24, ns=7, dense=False):
    """T above the species' T_mid, where polynomials and so the slopes jump; p, Y. dense: below it, at densities of
    liquids."""
    rng = np.random.default_rng(7)
    T, p = rng.uniform(1050, 3000, n), 10 ** rng.uniform(4.5, 7.3, n)
    if dense:
        T, p = rng.uniform(700, 990, n), 10 ** rng.uniform(7.5, 8.9, n)
    return T, p, np.ascontiguousarray(rng.dirichlet(np.full(ns, 0.8), n).T)


def slope(of, at, h):
    """Central difference of fourth order of of(at + c h)."""
    return (8 * (of(at + h) - of(at - h)) - (of(at + 2 * h) - of(at - 2 * h))) / (12 * h)


def column(of, x, j, h):
    """The same in x[j]."""

    def moved(value):
        y = x.copy()
        y[j] = value
        return of(y)

    return slope(moved, x[j], h)


def test_slopes_of_rates_by_the_oracle():
    """Every kind of reaction in an ideal gas, against differences of the textbook's longdouble rates, at p = C R T."""
    mix, (T, p, Y) = mixture(equation="ideal"), states()
    out, W = mix.properties(SLOPES, T=T, p=p, Y=Y), np.asarray(mix.species.W, LD)[:, None]

    def rates(T, x):
        C = x / W
        return kinetics.evaluate(mix.species.mechanism, mix.species, T, C.sum(0) * R * T, C).omega

    x, T = np.asarray(out["rho"] * Y, LD), np.asarray(T, LD)
    gross = out["creation"] + out["destruction"]
    close(out["omega_T"], slope(lambda at: rates(at, x), T, H * T), gross / T)

    for j in range(mix.ns):
        got = out["omega_rho"].reshape(7, 7, -1)[:, j]
        close(got, column(lambda y: rates(T, y), x, j, H * x[j]), gross / x[j])


def close(got, wanted, scale):
    error = np.abs(got - wanted) / np.maximum(np.abs(wanted) + scale, 1e-200)
    assert error.max() < DIFFERENCES, (float(error.max()), np.unravel_index(error.argmax(), error.shape))


FEW = """
- equation: H + O2 <=> O + OH
  rate-constant: {A: 2.65e+16, b: -0.6707, Ea: 17041.0}
- equation: H + O2 (+M) <=> HO2 (+M)
  type: falloff
  low-P-rate-constant: {A: 6.37e+20, b: -1.72, Ea: 524.8}
  high-P-rate-constant: {A: 4.65e+12, b: 0.44, Ea: 0.0}
  efficiencies: {H2: 2.0, H2O: 12.0}
- equation: 2 OH <=> O + H2O
  rate-constant: [3.57e+04, 2.4, -2110.0]
"""


PRESSED = """
- equation: HO2 + O <=> OH + O2
  type: pressure-dependent-Arrhenius
  rate-constants:
  - {P: 1.0 atm, A: 2.0e+13, b: 0.0, Ea: -445.0}
  - {P: 1000.0 atm, A: 1.0e+14, b: 0.0, Ea: 10.0}
- equation: H + O + M <=> OH + M
  rate-constant: {A: 5.0e+17, b: -1.0, Ea: 0.0}
  default-efficiency: 0.5
  efficiencies: {H2: 2.0, H2O: 6.0}
"""


MATRICES = {ids(options): options for options in [dict(equation="ideal"), *REAL]}
FEW_REACTIONS = {"few": {}, "few-mapped": dict(equation="mapped")}  # they compile sooner


@pytest.mark.parametrize("options", [*FEW_REACTIONS, *MATRICES])
@pytest.mark.quick(options="few")
def test_matrices_by_differences(options, tmp_path):
    """Every matrix by differences of what it is the derivative of, at the same equation of state. J_cp and omega_Y go
    along changes that keep sum(Y), since other states are none. A matrix times a vector is the same by another way."""
    if options in FEW_REACTIONS:
        file = tmp_path / "few.yaml"
        file.write_text(mechanisms.text(FEW))
        mix = Mixture.from_yaml(file, "real", **FEW_REACTIONS[options])
    else:
        mix = mixture(**MATRICES[options])

    T, p, Y = states(dense=mix.options["equation"] == "mapped")
    ns, n = Y.shape
    rng = np.random.default_rng(1)
    dz = rng.normal(size=(ns + 1, n)) * np.r_[np.ones(ns), 1000.0][:, None]
    names = f"{SLOPES} omega_Y h_Y cv f_cv f_cp J_cv J_cp J_cv_dz J_cp_dw"
    out = mix.properties(names, T=T, p=p, Y=Y, dz=dz, dw=dz)
    x, gross = out["rho"] * Y, out["creation"] + out["destruction"]
    at_density = lambda name, T, x: mix.properties(name, T=T, rho=x.sum(0), Y=x / x.sum(0))[name]
    at_pressure = lambda name, T, Y: mix.properties("f_cp omega", T=T, p=p, Y=Y)[name]
    J_cv, J_cp = (out[name].reshape(ns + 1, ns + 1, n) for name in ("J_cv", "J_cp"))

    np.testing.assert_allclose(J_cv[:ns, :ns].reshape(ns * ns, n), out["omega_rho"], rtol=1e-13)
    np.testing.assert_allclose(J_cv[:ns, ns], out["omega_T"], rtol=1e-13)

    def scale(f, J, size):  # of a row: what its terms are, gross
        own = np.append(gross if f == "f_cv" else gross / out["rho"], np.abs(out[f][-1:]) + heat, axis=0)
        return own / size + np.abs(J).max(1)

    # the energy's row: all that reactions release and take, over the heat capacity
    heat = np.abs(out["h_Y"] * gross).sum(0)[None] / (out["rho"] * out["cv"])
    close(J_cv[:, ns], slope(lambda at: at_density("f_cv", at, x), T, H * T), scale("f_cv", J_cv, T))
    close(J_cp[:, ns], slope(lambda at: at_pressure("f_cp", at, Y), T, H * T), scale("f_cp", J_cp, T))

    for j in range(ns):
        k, h = (j + 1) % ns, H * np.minimum(Y[j], Y[(j + 1) % ns])
        close(J_cv[:, j], column(lambda y: at_density("f_cv", T, y), x, j, H * x[j]), scale("f_cv", J_cv, x[j]))

        def exchanged(name, c):
            moved = Y.copy()
            moved[j] += c
            moved[k] -= c
            return at_pressure(name, T, moved)

        got, size = J_cp[:, j] - J_cp[:, k], h / H
        close(got, slope(lambda c: exchanged("f_cp", c), np.zeros(n), h), scale("f_cp", J_cp, size))
        got = out["omega_Y"].reshape(ns, ns, n)
        close(got[:, j] - got[:, k], slope(lambda c: exchanged("omega", c), np.zeros(n), h), gross / size)

    for J, name in ((J_cv, "J_cv_dz"), (J_cp, "J_cp_dw")):
        terms = np.einsum("ijn,jn->in", np.abs(J), np.abs(dz)) + np.abs(J).max((0, 1)) * 1e-6
        assert (np.abs(np.einsum("ijn,jn->in", J, dz) - out[name]) <= 1e-11 * terms).all(), name


@pytest.mark.parametrize("options", [dict(equation="ideal"), REAL[2], REAL[5], REAL[7]], ids=ids)
@pytest.mark.quick(options=[REAL[7]])
def test_reactors_by_partial_properties(options):
    """dT/dt from other kernels: h_Y and cp at constant p; at constant volume eps_k = h_k - T p_T v_k and cv."""
    mix, (T, p, Y) = mixture(**options), states(dense=options["equation"] == "mapped")
    names = "rho omega f_cv f_cp h_Y v_Y cp cv rho_p rho_T"
    o = mix.properties(names, T=T, p=p, Y=Y)
    p_T = -o["rho_T"] / o["rho_p"]
    own = o["h_Y"] - T * p_T * o["v_Y"]

    for f, energies, heat in (("f_cp", o["h_Y"], o["cp"]), ("f_cv", own, o["cv"])):
        terms = energies * o["omega"] / (o["rho"] * heat)
        np.testing.assert_array_less(np.abs(o[f][-1] + terms.sum(0)), 1e-11 * np.abs(terms).sum(0))

    np.testing.assert_allclose(o["f_cv"][:-1], o["omega"], atol=1e-12 * np.abs(o["omega"]).max())
    np.testing.assert_allclose(o["f_cp"][:-1], o["omega"] / o["rho"], atol=1e-12 * np.abs(o["f_cp"][:-1]).max())


def test_slopes_are_cantera_s():
    """Elementary, three-body and falloff reactions, for which Cantera's derivatives are exact, of h2o2.yaml."""
    ct = pytest.importorskip("cantera")
    mix, gas = Mixture.from_yaml("h2o2.yaml", equation="ideal", takahashi="off"), ct.Solution("h2o2.yaml")
    T, p, Y = states(12, 10)
    out = mix.properties(f"{SLOPES} tau_slopes", T=T, p=p, Y=Y)
    W = mix.species.W
    modes = np.linalg.eigvals(np.moveaxis(out["omega_rho"].reshape(10, 10, -1), -1, 0))

    assert (np.abs(modes).max(1) * out["tau_slopes"] <= 1 + 1e-12).all()
    rows = np.abs(out["omega_rho"]).reshape(10, 10, -1).sum(1)
    np.testing.assert_allclose(out["tau_slopes"], 1 / rows.max(0), rtol=1e-13)

    many = np.resize(np.arange(12), 8400)  # 6.7 MB, which are written past the caches
    again = mix.properties(f"{SLOPES} tau_slopes", T=T[many], p=p[many], Y=Y[:, many])
    np.testing.assert_array_equal(again["omega_rho"], out["omega_rho"][:, many])

    for i in range(T.size):
        gas.TPY = T[i], p[i], Y[:, i]
        wanted = gas.net_production_rates_ddCi * W[:, None] / W  # kmol/m3/s by kmol/m3
        gross = (out["creation"] + out["destruction"])[:, i]
        got = out["omega_rho"].reshape(10, 10, -1)[..., i]
        size = gross[:, None] / (out["rho"][i] * Y[:, i]) + np.abs(wanted)

        # Cantera's derivative of a falloff's F in [M] is a difference
        assert (np.abs(got - wanted) <= 1e-6 * size + 1e-200).all(), i
        in_T = gas.net_production_rates_ddT * 1e3 * W
        assert (np.abs(out["omega_T"][:, i] - in_T) <= 1e-6 * (gross / T[i] + np.abs(in_T))).all(), i


def test_a_linearly_implicit_step(monkeypatch, tmp_path):
    """(1/dt - J) K = f to rounding of its terms, sparse and dense. The row of T is a sum of
    the others' with the species' energies. Elimination without pivoting may grow by 1e4."""
    T, p, Y = states()
    file = tmp_path / "few.yaml"
    file.write_text(mechanisms.text(FEW + PRESSED.lstrip()))

    for share in (0.0, 1e9):
        monkeypatch.setattr("kernels.gas.kinetics.elimination.DENSE", 0)
        monkeypatch.setattr("kernels.gas.kinetics.elimination.SPARSER", share)
        mix = Mixture.from_yaml(file, "ideal", equation="ideal")

        for dt in (1e-9, 1e-5):
            out = mix.properties("f_cv J_cv implicit_cv h_Y rho cv", T=T, p=p, Y=Y, dt_cv=dt)
            J = out["J_cv"].reshape(8, 8, -1)
            left = np.eye(8)[..., None] / dt - J

            product, terms = (
                np.einsum("ijn,jn->in", *x)
                for x in ((left, out["implicit_cv"]), (np.abs(left), np.abs(out["implicit_cv"])))
            )

            terms += np.abs(out["f_cv"])
            terms[-1] += (np.abs(out["h_Y"]) * terms[:-1]).sum(0) / (out["rho"] * out["cv"])
            off = np.abs(product - out["f_cv"]) / np.maximum(terms, 1e-200)  # a species without reactions has 0

            assert off.max() < 1e-11, (share, off.max(1))


def test_absent_species_have_slopes():
    """Concentrations of 0, and a collider that is not there: finite, and those of a trace."""
    mix, (T, p, Y) = mixture(equation="ideal"), states()
    Y[3:] = 0
    Y /= Y.sum(0)
    some = Y + 1e-14 * (Y == 0)
    at, near = (mix.properties(SLOPES, T=T, p=p, Y=y / y.sum(0)) for y in (Y, some))
    for name in ("omega_rho", "omega_T"):
        assert np.isfinite(at[name]).all(), name
    size = np.abs(near["omega_rho"]).max(0)

    # a trace of 1e-14 changes what is linear in it by that, and half orders by 1e-7
    whole = np.abs(at["omega_rho"] - near["omega_rho"]) <= 1e-5 * size
    assert whole.mean() > 0.9


def test_slope_time_of_a_gas_that_does_not_react():
    mix = Mixture.from_yaml("h2o2.yaml", equation="ideal", takahashi="off")
    tau = mix.properties("tau_slopes", T=np.array([200.0, np.nan]), p=1e5, X="AR:1")["tau_slopes"]
    assert tau[0] > 1e9 and np.isnan(tau[1])


def test_every_kernel_of_reactors_is_here():
    names = {name for name, kernel in project_kernels().items() if kernel.header.name == "reactor.h"}
    both = "production_slopes slope_time volume_reactor pressure_reactor volume_jacobian pressure_jacobian"
    both += " volume_jacobian_product pressure_jacobian_product volume_implicit"
    both += " react_at_volume react_at_pressure"  # those: test_react.py
    wanted = {f"{one}_{name}" for name in both.split() for one in ("ideal", "cubic")}
    wanted |= {"production_in_composition"}

    assert names == wanted


@pytest.mark.parametrize("equation", ["ideal", "mapped"])
@pytest.mark.quick(equation="ideal")
def test_cuda(be, equation, tmp_path):  # noqa: F811
    """The CUDA source: on the stand-in, and with `pytest -m gpu` on a device. Few reactions: the programs of all take
    seven seconds to compile."""
    (tmp_path / "few.yaml").write_text(mechanisms.text(FEW))
    phase = "ideal" if equation == "ideal" else "real"
    mix, (T, p, Y) = Mixture.from_yaml(tmp_path / "few.yaml", phase, equation=equation), states()
    dz = np.ones((8, T.size))
    here, there = (mix.properties("omega_T J_cp_dw", T=T, p=p, Y=Y, dw=dz, backend=b) for b in ("cpu", be))
    for name in here:
        assert (np.abs(here[name] - there[name]) <= 1e-10 * np.abs(here[name]).max(0)).all(), name


@pytest.mark.full
def test_slopes_by_tables_cuda(be, monkeypatch):  # noqa: F811
    """As larger mechanisms run there."""
    monkeypatch.setattr("kernels.gas.kinetics.plain.WRITTEN", 0)
    mix, (T, p, Y) = Mixture.from_yaml(mechanisms.path(), "ideal", equation="ideal"), states()
    here, there = (mix.properties("omega_rho", T=T, p=p, Y=Y, backend=b)["omega_rho"] for b in ("cpu", be))

    assert (np.abs(here - there) <= 1e-10 * np.abs(here).max(0)).all()


def test_larger_mechanism_cuda(be, tmp_path):  # noqa: F811
    """Where species are in memory NVRTC 13.0 kept two arrays at one place, and slopes of reverse rates were noise."""
    if not is_gpu(be):
        pytest.skip("32 species compile for minutes on the stand-in")
    pytest.importorskip("cantera")  # has the file
    mix = Mixture.from_yaml(dict(files(tmp_path))["CH4/O2"], equation="ideal", takahashi="off")
    T, p, Y = states(ns=mix.ns)
    given = dict(T=T, p=p, Y=Y, dt_cv=np.full(T.size, 1e-8))
    here, there = (mix.properties("J_cv J_cp omega_Y implicit_cv", **given, backend=b) for b in ("cpu", be))
    for name in here:  # a linear system's rounding grows by its condition
        assert (np.abs(here[name] - there[name]) <= 1e-8 * np.abs(here[name]).max(0)).all(), name


def test_as_a_loop_over_tables(monkeypatch):
    """How larger mechanisms run."""
    mix, (T, p, Y) = mixture(equation="ideal"), states()
    written = mix.properties(SLOPES, T=T, p=p, Y=Y)
    monkeypatch.setattr("kernels.gas.kinetics.plain.WRITTEN", 0)
    looped = Mixture.from_yaml(mechanisms.path(), "ideal", equation="ideal")
    for name, value in looped.properties("omega_rho omega_T", T=T, p=p, Y=Y).items():
        assert (np.abs(value - written[name]) <= 1e-12 * np.abs(written[name]).max(0)).all(), name
