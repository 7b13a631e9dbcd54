"""Transport by residual-entropy scaling (viscosity = residual): laws, limits, and reference values."""

from functools import lru_cache

import numpy as np
import pytest
from kernel_cases import compare, expected, mixture, states
from mixtures_for_tests import changed
from reference import residual as law

from kernels import ArgumentError, Mixture, registry
from kernels.gas.equations.mapped_numbers import mapped_numbers
from kernels.gas.species import SpeciesData, fluids
from kernels.gas.transport import residual

OPTIONS = {"equation": "mapped", "viscosity": "residual"}
EPS = np.finfo(float).eps
K, AVOGADRO = 1.380649e-23, 6.02214076e23


@lru_cache(None)
def of_rows(*rows, names=()):
    """A mixture of rows of fluids.csv, under names of the substances or the names given. cp = 3.5 R each."""
    known = {row: name for name, row in reversed(fluids.names().items())}
    chosen = [fluids.fluids()[row] for row in rows]
    polynomial = np.zeros((len(rows), 7))
    polynomial[:, 0] = 3.5

    data = SpeciesData.from_arrays(
        list(names or (known[row] for row in rows)),
        [row.M for row in chosen],
        [row.omega for row in chosen],
        polynomial,
        polynomial,
        1000.0,
        Tc=[row.Tc for row in chosen],
        pc=[row.pc for row in chosen],
        dipole=0.0,
    )
    return Mixture(data, **OPTIONS)


# ---- against the oracle


@pytest.mark.parametrize("ns", (1, 2, 10))
@pytest.mark.quick(ns=[1, 10])
def test_from_T_p_Y(ns):
    """From the equation of state to mu and lam."""
    names = "mu lam eta0 residual_entropy"
    got = mixture(ns, **OPTIONS).properties(names, **{k: states(ns, 1000)[k] for k in "TpY"})
    q = expected(ns, 1000, **OPTIONS)
    q.eta0 = law.inputs(q.T, q.rho, q.W, q.residual_entropy, q.scaling)["eta0"]

    compare(names, got, q, f"NS={ns}")


def test_the_critical_entropy_is_the_equations():
    """s+ at the critical point, which the universal curve of a species without a row needs, by the kernels. 1e-11: its
    integrals divide by delta_1 delta_2 four times, which takes two to three digits of 1e-15."""
    mix = mixture(10, **OPTIONS)
    Tc, X = mapped_numbers(mix.species).Tc, np.eye(10)
    rho = mix.species.W / mix.properties("vc_mix", X=X)["vc_mix"]

    got = mix.properties("residual_entropy", T=Tc, rho=rho, X=X)["residual_entropy"]
    np.testing.assert_allclose(residual.mapped_critical_entropy(mix.species), got, rtol=1e-11)


# ---- laws


def dense_and_thin(ns, n=400):
    """States from a liquid to a thin gas as T [K], rho [kg/m3], X (ns, n)."""
    rng = np.random.default_rng(ns)
    T, p, X = rng.uniform(60, 3000, n), 10 ** rng.uniform(4, 8, n), rng.dirichlet(np.full(ns, 0.3), n).T
    return T, p, X


def test_viscosity_and_conductivity_grow_with_the_entropy():
    """At a given T, density and composition, mu and lam are positive and grow with s+ from 0 to 12: liquids have 2 to
    6. All rows of fluids.csv, pure and mixed."""
    rows = tuple(fluids.fluids())
    mix, ns, n = of_rows(*rows), len(rows), 200
    T, _, X = dense_and_thin(ns, n)
    X[:, :ns] = np.eye(ns)
    known = mix.properties("W inv_eps_m inv_M_m scale_m n1_m n2_m n3_m n4_m b1_m b2_m b3_m f0_m f1_m Tc_mean", X=X)
    rho = known["W"] / 10 ** np.random.default_rng(0).uniform(-4.6, -1, n)

    # A column of s+ for each state.
    known = {name: value[:, None] for name, value in known.items()}
    given = dict(T=T[:, None], rho=rho[:, None], residual_entropy=np.linspace(0.0, 12.0, 241), cp_ig=4e4, **known)

    for name, kernels in (("mu", ("scale", "dilute", "viscosity")), ("lam", ("scale", "dilute", "conductivity"))):
        have = dict(given)
        for kernel in kernels:
            have |= called(mix, f"residual_{kernel}", have)

        assert (have[name] > 0).all() and np.isfinite(have[name]).all(), name
        frozen = name == "mu" and have["mu"] > 1e20  # the exponent is bounded where nothing flows
        assert (np.diff(have[name], axis=1) > 0)[~np.broadcast_to(frozen, have[name].shape)[:, 1:]].all(), name


def called(mix, name, have, precision="double"):
    """A kernel alone, with what it reads of the arrays that there are."""
    reads = registry.kernels[name].for_options(mix.options).reads
    return mix.kernel(name)(precision=precision, **{read: have[read] for read in reads})


def test_a_pure_species_among_others():
    """A species of a mixture, the others 0: what the species alone has. 1e-13: sums over the others are exact zeros,
    the powers of sums take some ten roundings, and exp(P) multiplies by P < 15."""
    mix = mixture(10, **OPTIONS)
    T, p = np.array([95.0, 150.0, 300.0, 2000.0]), np.array([2e7, 6e6, 1e5, 4e7])

    for name in ("CH4", "O2", "CO2", "CO", "H2", "OH"):
        alone = Mixture(mix.species.subset([name]), **OPTIONS).properties("mu lam", T=T, p=p, Y=np.ones((1, 4)))
        got = mix.properties("mu lam", T=T, p=p, Y=f"{name}:1")
        for quantity in ("mu", "lam"):
            np.testing.assert_allclose(got[quantity], alone[quantity], rtol=1e-13, err_msg=name)


@pytest.mark.parametrize("row, twice", [("CH4", ("CH4", "ch4")), ("NH3", ("NH3", "H3N")), ("nC4", ("C4H10", "NC4H10"))])
def test_a_species_in_two_parts(row, twice):
    """A species split into two identical species: nothing changes but roundings, 1e-13."""
    one, two = of_rows(row, "O2"), of_rows(row, row, "O2", names=(*twice, "O2"))
    T, p, X = dense_and_thin(2)
    part = 0.3 * X[0]

    got = two.properties("mu lam", T=T, p=p, X=np.stack([part, X[0] - part, X[1]]))
    for name, value in one.properties("mu lam", T=T, p=p, X=X).items():
        np.testing.assert_allclose(got[name], value, rtol=2e-12, err_msg=name)


def test_a_thin_gas_has_the_viscosity_of_the_dilute_gas():
    """mu -> eta0: the dense part is n1 s+ in units that are about eta0, and s+ is rho b of 1e-8 here; of cold water 100
    times that."""
    mix = mixture(10, **OPTIONS)
    s = {k: states(10, 300)[k] for k in "TY"}
    got = mix.properties("mu eta0", **s, rho=1e-5)

    np.testing.assert_allclose(got["mu"], got["eta0"], rtol=1e-4)
    assert (got["mu"] >= got["eta0"]).all()


def test_a_density_that_is_given():
    """mu and lam of T and a density are those of T and p that have this density. 1e-9: v - b of a liquid amplifies a
    rounding ten times, s+ and exp(P) a hundred times; roots next to saturation are left out by the median."""
    mix = mixture(10, **OPTIONS)
    s = {k: states(10, 500)[k] for k in "TpY"}
    at_p = mix.properties("rho mu lam", **s)
    of_rho = mix.properties("mu lam", T=s["T"], Y=s["Y"], rho=at_p["rho"])

    for name in ("mu", "lam"):
        np.testing.assert_allclose(of_rho[name], at_p[name], rtol=1e-9)


def test_no_nan_in_the_box():
    """60 to 4000 K (water from 150 K), 1e4 to 1e8 Pa, pure species and all pairs, the others 1e-12 each: finite and
    positive, next to the value without the traces. Water and methanol below their melting points are glass."""
    rows = ("N2", "O2", "CH4", "H2", "CO2", "H2O", "CO", "Ar", "C2H6", "nC7", "nC12", "NH3", "CH3OH")
    mix, ns = of_rows(*rows), len(rows)
    pairs = [np.eye(ns)[i] + np.eye(ns)[j] for i in range(ns) for j in range(i + 1)]
    X = np.maximum(np.array(pairs).T / 2, 1e-12)[:, :, None, None]

    T, p = np.geomspace(150.0, 4000.0, 12)[:, None], np.geomspace(1e4, 1e8, 9)
    got = mix.properties("mu lam rho", T=T, p=p, X=X)
    for name in ("mu", "lam"):
        assert np.isfinite(got[name]).all() and (got[name] > 0).all(), name

    dry = np.repeat([row not in ("H2O", "CH3OH") for row in rows], 1)
    cold = X[:, ~(X[~dry] > 0.1).any(0)[:, 0, 0]]
    got = mix.properties("mu lam", T=np.array([60.0, 90.0, 120.0])[:, None], p=p, X=cold)
    for name in ("mu", "lam"):
        assert np.isfinite(got[name]).all() and (got[name] > 0).all(), name


def test_diffusion_is_the_same_law():
    """D does not know of the viscosity's law; D_schmidt follows it."""
    s = {k: states(10, 100)[k] for k in "TpY"}
    got, plain = (mixture(10, **o).properties("D D_schmidt mu rho", **s) for o in (OPTIONS, {"equation": "mapped"}))

    assert (got["D"] == plain["D"]).all()
    assert np.abs(got["mu"] / plain["mu"] - 1).max() > 0.01
    np.testing.assert_allclose(got["D_schmidt"][0], got["mu"] / got["rho"] / 0.7, rtol=4 * EPS)


# ---- reference values

# CoolProp 8.0.0: N2, O2 and air Lemmon & Jacobsen 2004; CH4 Quinones-Cisneros & Deiters 2006, Friend et al. 1989; H2
# Muzny et al. 2013, Assael et al. 2011; CO2 Laesecke & Muzny 2017, Huber et al. 2016; H2O Huber et al. 2009, 2012
# (originals not seen). Species, T [K], p [Pa], mu [Pa s], lam [W/m/K], and what the law may be off, per cent. The
# law was fitted to the same equations at other states, so this is no independent validation.
PURE = (
    ("N2", 80.0, 5e6, 1.5711e-04, 1.4512e-01, 2, 4),
    ("N2", 100.0, 1e7, 9.3648e-05, 1.1590e-01, 2, 2),
    ("N2", 300.0, 1e5, 1.7890e-05, 2.5968e-02, 2, 5),
    ("O2", 90.0, 1e7, 2.1511e-04, 1.5818e-01, 2, 3),
    ("O2", 200.0, 2e7, 3.7703e-05, 5.4568e-02, 3, 5),
    ("CH4", 110.0, 1e7, 1.3543e-04, 1.9644e-01, 2, 3),
    ("CH4", 250.0, 2e7, 2.4300e-05, 7.4001e-02, 5, 5),
    ("CH4", 500.0, 1e6, 1.7072e-05, 6.8838e-02, 2, 2),
    ("H2", 25.0, 5e6, 1.3356e-05, 1.1344e-01, 4, 5),
    ("H2", 300.0, 1e5, 8.9385e-06, 1.8670e-01, 2, 2),
    ("CO2", 230.0, 1e7, 2.2062e-04, 1.6856e-01, 3, 3),
    ("CO2", 350.0, 2e7, 4.7703e-05, 6.6808e-02, 3, 5),
    ("H2O", 450.0, 2e7, 1.5790e-04, 6.8662e-01, 4, 8),
    ("H2O", 1000.0, 1e6, 3.7655e-05, 9.6534e-02, 3, 4),
)


@pytest.mark.parametrize("name, T, p, mu, lam, mu_off, lam_off", PURE)
def test_reference_values(name, T, p, mu, lam, mu_off, lam_off):
    mix = mixture(1 if name == "N2" else 10, **OPTIONS)
    got = mix.properties("mu lam", T=T, p=p, X=f"{name}:1")

    assert abs(got["mu"] / mu - 1) < mu_off / 100
    assert abs(got["lam"] / lam - 1) < lam_off / 100


# T [K], p [Pa], mu [Pa s] of air: Lemmon & Jacobsen 2004 as in CoolProp 8.0.0 (original not seen).
AIR = (
    (90.0, 2e6, 1.2018e-04),
    (100.0, 1e6, 8.8326e-05),
    (110.0, 5e6, 7.4626e-05),
    (120.0, 1e7, 6.6995e-05),
    (140.0, 4e6, 1.3059e-05),
    (150.0, 1e7, 3.2064e-05),
    (200.0, 1e5, 1.3333e-05),
    (300.0, 1e5, 1.8537e-05),
    (300.0, 1e7, 2.0637e-05),
    (600.0, 1e5, 3.0769e-05),
    (1000.0, 1e5, 4.3280e-05),
)


def test_viscosity_of_air():
    """Nitrogen, oxygen and argon, mixed by mole fractions: no number of the law was fitted to a mixture."""
    T, p, mu = np.array(AIR).T
    got = of_rows("N2", "O2", "Ar").properties("mu", T=T, p=p, X="N2:0.7812, O2:0.2096, AR:0.0092")["mu"]
    assert np.abs(got / mu - 1).max() < 0.04


def test_compressed_warm_air_is_less_exact():
    """20 to 50 MPa between 200 and 300 K: 6.6 to 10.6 % too viscous, beyond what the table above keeps."""
    got = of_rows("N2", "O2", "Ar").properties(
        "mu", T=np.array([200.0, 300.0]), p=np.array([2e7, 5e7]), X="N2:0.7812, O2:0.2096, AR:0.0092"
    )["mu"]
    off = got / np.array([2.7800e-05, 3.4825e-05]) - 1
    assert ((off > 0.04) & (off < 0.12)).all()


# Propane, T [K], p [Pa], mu [Pa s]: Vogel et al. 1998 as in CoolProp 8.0.0 (original not seen)
PROPANE = ((200.0, 5e6, 3.0035e-04), (280.0, 1e7, 1.3369e-04), (400.0, 1e5, 1.0819e-05))


def test_species_without_a_row():
    """Propane under a name that has no row: the universal curve gives the viscosity of the liquid within 20 %, that of
    the gas within 8 %."""
    row = fluids.fluids()["C3H8"]
    data = of_rows("C3H8").species
    stranger = Mixture(
        changed(data, Vc=np.array([row.M / row.rhoc]), dipole=np.zeros(1)).subset(["C3H8"], shown=["X3"]), **OPTIONS
    )
    assert any("universal curve" in note for note in stranger.notes)

    T, p, mu = np.array(PROPANE).T
    got = stranger.properties("mu", T=T, p=p, X=np.ones((1, 3)))["mu"]
    assert (np.abs(got / mu - 1) < (0.2, 0.2, 0.08)).all()


# ---- refused


@pytest.mark.parametrize("equation", ["pr", "srk", "rkpr", "ideal"])
def test_another_equation_is_refused(equation):
    with pytest.raises(ArgumentError, match=f"'residual'.*'mapped'.*equation = '{equation}'"):
        mixture(1, equation=equation, viscosity="residual")


def test_the_bodies_in_single_precision():
    """The bodies alone: 1e-4, since exp(P) multiplies 6e-8 by P < 10, and powers of sums take ten roundings."""
    mix, s = mixture(10, **OPTIONS), {k: states(10, 200)[k] for k in "TpY"}
    warm = s["T"] > 200
    reads = (
        "T rho W cp_ig residual_entropy inv_eps_m inv_M_m scale_m n1_m n2_m n3_m n4_m b1_m b2_m b3_m f0_m f1_m Tc_mean"
    )
    have = mix.properties(reads.replace("T ", "", 1), **s) | dict(T=s["T"])
    have = {name: value[warm] for name, value in have.items()}

    found = {}
    for precision in ("double", "single"):
        given = {name: value.astype(np.float32) for name, value in have.items()}
        for kernel in ("dilute", "scale", "viscosity", "conductivity"):
            given |= called(mix, f"residual_{kernel}", given, precision)
        found[precision] = given

    for name in ("mu", "lam"):
        np.testing.assert_allclose(found["single"][name], found["double"][name], rtol=1e-4)
