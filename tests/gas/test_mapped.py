"""Equation mapped: identities by complex steps, limits in which it is a translated cubic, roots and saturation, what is
refused, and reference states of fluids."""

import dataclasses
import functools
import json
from pathlib import Path

import numpy as np
import pytest
from kernel_cases import THERMAL, check_single, compare, expected, mixture, states
from mixtures_for_tests import changed, species_set
from reference import EPS, LD, derivatives, mapped, single, species

from frame.tools.validate.scale import scales
from kernels import ArgumentError, Mixture, MixtureError, registry
from kernels.gas.equations import mapped_numbers as model, records
from kernels.gas.equations.records import Peneloux
from kernels.gas.species import GAS_CONSTANT as R, SpeciesData
from kernels.gas.species.critical import is_fleeting
from kernels.gas.species.fluids import fluids

OPTIONS = dict(equation="mapped")
DATA = Path(__file__).resolve().parents[1] / "data/fluid_states.json"

# Names of species whose row has another name, and where the fluids freeze [K].
NAMES = dict(nC4="NC4H10", nC5="NC5H12", nC6="NC6H14", nC7="NC7H16", nC8="NC8H18", nC9="NC9H20", nC10="NC10H22")
NAMES |= dict(nC12="NC12H26", He="HE", Ar="AR", Air="AIR", pH2="PH2")
TRIPLE = dict(N2=63.2, O2=54.4, CH4=90.7, H2=14.0, pH2=13.8, He=2.2, CO2=216.6, H2O=273.2, Ar=83.8, CO=68.2, C2H6=90.4)
TRIPLE |= dict(C2H4=104, C3H8=85.5, nC4=135, nC5=143.5, nC6=178, nC7=182.5, nC8=216.4, nC9=219.7, nC10=243.5)
TRIPLE |= dict(nC12=263.6, NH3=195.5, CH3OH=175.6, C2H5OH=159.1, Air=60)
ROWS = tuple(fluids())
ONE = np.ones((1, 1))


@functools.cache
def data(*rows):
    """SpeciesData of rows of fluids.csv, with a constant heat capacity of 7/2 R."""
    of = [fluids()[row] for row in rows]
    polynomial = [[3.5, 0, 0, 0, 0, -1000.0, 5.0]] * len(of)
    columns = {name: np.array([getattr(row, name) for row in of]) for name in ("M", "omega", "Tc", "pc")}
    W, omega = columns.pop("M"), columns.pop("omega")
    names = [NAMES.get(row, row) for row in rows]
    return SpeciesData.from_arrays(
        names, W, omega, polynomial, polynomial, 1000.0, T_min=1.0, T_max=6000.0, dipole=0.0, **columns
    )


@functools.cache
def fluid(*rows):
    return Mixture.from_species(data(*rows), **OPTIONS)


def rooted(rows, root):
    return Mixture.from_species(data(*rows), root=root, **OPTIONS)


# ---- against the oracle


@pytest.mark.parametrize("ns", (1, 2, 10, 53))
@pytest.mark.quick(ns=10)
def test_every_name(ns):
    """Quadratures take the place of the closed integrals; the bound is that of the closed forms."""
    n = 200 if ns == 53 else 1000
    names = f"{THERMAL} map_0 map_1 map_2 map_3 map_I shift_w shift_T shift_TT"
    got = mixture(ns, **OPTIONS).properties(names, **states(ns, n))

    compare(names, got, expected(ns, n, "file", False, False, **OPTIONS), f"NS={ns} mapped")


@pytest.mark.parametrize("kij", ("none", "dense", "low_rank", "sparse"))
@pytest.mark.quick(kij="sparse")
def test_every_structure_of_kij(kij):
    names = "rho h s cp c a_mix a_T a_TT Tc_mix pc_mix vc_mix"
    given = {k: v for k, v in states(10, 300).items() if k in "TpY"}
    got = mixture(10, kij, **OPTIONS).properties(names, **given)

    compare(names, got, expected(10, 300, kij, False, False, **OPTIONS), f"k_ij {kij} mapped")


@pytest.mark.parametrize("root", ("vapour", "liquid"))
def test_root_alone(root):
    check_single("mapped_root", 1, 1000, root=root, **OPTIONS)


ALONE = [name for name in {**single.THERMAL, **derivatives.DERIVED} if name.startswith("mapped")]


@pytest.mark.parametrize("name", ALONE)
@pytest.mark.parametrize("ns", (1, 2, 10))
@pytest.mark.quick(ns=2)
def test_kernel_alone(name, ns):
    """Partial properties and fugacities against complex steps, temperatures against bisection."""
    check_single(name, ns, 100)


# ---- identities


SEVERAL = (("N2", "CH4", "nC12"), ("H2", "O2", "H2O"))


@pytest.mark.parametrize("rows", [*((row,) for row in ROWS), *SEVERAL], ids="+".join)
@pytest.mark.quick(rows=[("N2",), ("H2",), ("H2O",), *SEVERAL])
def test_derivatives_of_the_helmholtz_energy(rows):
    """p = -A_V, s = -A_T, e = A - T A_T, cv = E_T, p_T and p_V by complex steps on A_res(T, V) and E_res(T, V), at w of
    1.1 to 300 b, p below 1e9 Pa. 3e3 eps of the terms: at delta_1 = 2 the recursion of the integrals makes 1200 of a
    rounding. A rounding of v is w/(w - b) times that in w - b."""
    n, rng = 100, np.random.default_rng(len(rows))
    T = np.exp(rng.uniform(np.log(0.5), np.log(8), n)).astype(LD) * np.mean([fluids()[row].Tc for row in rows])
    ratio = np.exp(rng.uniform(np.log(1.1), np.log(300), n)).astype(LD)
    X = rng.dirichlet(np.ones(len(rows)), n).T.astype(LD)

    # v and W of w = ratio b
    sp = species.arrays(data(*rows))
    b = (X * mapped.cubic.ab(sp, "mapped")[1][:, None]).sum(0)
    c, tau = mapped.map_of(T, X, sp)
    v = ratio * b - mapped.polynomial(c, 1 / ratio) + tau[0]
    W = (X * sp.W[:, None]).sum(0)
    given = dict(T=T, rho=W / v, Y=X * sp.W[:, None] / W)
    names = "p p_T p_v cv e residual_entropy cp_ig h_ig R_s"
    got = fluid(*rows).properties(names, **{name: part.astype(float) for name, part in given.items()})

    # Steps along the imaginary axis
    step, still = mapped.STEP, X.astype(np.clongdouble)
    A, p, E = mapped.explicit(T, v, X, sp)
    A_V, p_V, _ = (np.imag(part) / step for part in mapped.explicit(T + 0j, v + 1j * step, still, sp))
    A_T, p_T, E_T = (np.imag(part) / step for part in mapped.explicit(T + 1j * step, v + 0j, still, sp))

    RT, thin = R * T, ratio / (ratio - 1)
    stiff = RT / (b * (ratio - 1)) * thin
    scale = np.maximum(1, np.maximum(np.abs(A), np.abs(E)) / RT)

    known = p < 9e8  # above 1e9 Pa the kernels give NaN
    assert known.mean() > 0.7

    def close(name, value, wanted, size):
        miss = (np.abs(value - wanted) / (3e3 * EPS * scale * size))[known]
        assert miss.max() <= 1, (name, float(miss.max()), float(T[miss.argmax()]), float(ratio[miss.argmax()]))

    close("p", got["p"], p, stiff)
    close("p = -A_V", got["p"], RT / v - A_V, stiff)
    close("p_V", got["p_v"] / W, p_V, stiff * thin / (b * (ratio - 1)) * ratio)
    close("p_T", got["p_T"], p_T, stiff * thin / T)
    close("s+ = A_T/R", got["residual_entropy"], A_T / R, thin)
    close("e", (got["e"] - got["h_ig"] + got["R_s"] * T) * W, E, RT + np.abs(got["h_ig"] * W) + p * v)
    close("E = A - T A_T", E, A - T * A_T, RT)
    close("cv", (got["cv"] - got["cp_ig"] + got["R_s"]) * W, E_T, R * 10 * thin * thin)


def test_ln_phi_of_a_mixture():
    """sum x_k ln phi_k = (h_res - T s_res)/(R T), and the sum of their slopes in T is -h_res/(R T^2) (Gibbs and
    Helmholtz), by a difference over 2e-4 T: 1e-6 of the terms, except near critical points."""
    s = {k: states(10, 300)[k] for k in "TpY"}
    mix = mixture(10, **OPTIONS)
    q = mix.properties("ln_phi h s h_ig s_ig R_s X", **s)
    RT = q["R_s"] * s["T"]
    residual = (q["h"] - q["h_ig"] - s["T"] * (q["s"] - q["s_ig"])) / RT
    size = 1 + np.abs(q["h"]) / RT + np.abs(q["s"]) / q["R_s"]

    assert (np.abs((q["X"] * q["ln_phi"]).sum(0) - residual) <= 500 * EPS * size).all()

    up, down = (mix.properties("ln_phi phase_flag", p=s["p"], Y=s["Y"], T=s["T"] * f) for f in (1 + 1e-4, 1 - 1e-4))
    slope = (q["X"] * (up["ln_phi"] - down["ln_phi"])).sum(0) / 2e-4
    wanted = -(q["h"] - q["h_ig"]) / RT
    miss = (np.abs(slope - wanted) / (1 + np.abs(wanted)))[up["phase_flag"] == down["phase_flag"]]

    assert miss.size > 270 and np.percentile(miss, 90) < 1e-6


def test_a_species_split_in_two():
    """Two names of one fluid, in any shares: nothing moves. 1e-10 of the largest: sums in another order."""
    rng, n = np.random.default_rng(7), 300
    T, p = rng.uniform(100, 900, n), np.exp(rng.uniform(np.log(1e4), np.log(1e8), n))
    X, share = rng.dirichlet(np.ones(3), n).T, rng.uniform(0, 1, n)
    three = data("CH4", "CO2", "H2O")
    four = three.subset(["CH4", "CO2", "CO2", "H2O"], shown=["CH4", "CO2", "co2", "H2O"])
    split = np.stack([X[0], share * X[1], (1 - share) * X[1], X[2]])

    names = "rho h cp c residual_entropy phase_flag Tc_mix vc_mix ln_phi h_Y"
    whole = Mixture.from_species(three, **OPTIONS).properties(names, T=T, p=p, X=X)
    parts = Mixture.from_species(four, **OPTIONS).properties(names, T=T, p=p, X=split)

    for name, part in parts.items():
        if part.ndim == 2:
            np.testing.assert_allclose(part[1], part[2], rtol=1e-12)
            part = part[[0, 1, 3]]
        np.testing.assert_allclose(part, whole[name], rtol=1e-10, atol=1e-10 * np.abs(whole[name]).max())


# ---- limits


@pytest.fixture
def flat(monkeypatch):
    """Equation mapped with P_1 .. P_3 = 0 and Q = 0, and a record of the same cubic with a constant translation."""
    of = model.mapped_numbers

    def flattened(species):
        numbers = of(species)
        return dataclasses.replace(numbers, P=numbers.P * np.array([1.0, 0, 0, 0])[:, None], Q=0 * numbers.Q)

    monkeypatch.setattr(model, "mapped_numbers", flattened)
    record = records.CUBICS["mapped"]

    with registry.temporary():
        records.add(dataclasses.replace(record, name="unmapped", translation=Peneloux(slope=0.0, zero=0.0)))
        yield

    for names in (records.FAMILY, records.ROOTS, records.BY_SPECIES, records.PSEUDOCRITICAL):
        names.remove("unmapped")
    del records.CUBICS["unmapped"]


def test_without_a_map_it_is_a_translated_cubic(flat):
    """Every number within 200 roundings of its terms; what is a difference (h_p, e_p), a sum with a large part (h, s)
    or a sum of logarithms (cubic_L of a thin gas) of the largest."""
    rows = ("N2", "CH4", "CO2", "nC12")
    plain = data(*rows)
    numbers = model.mapped_numbers(plain)
    b = records.rkpr_omega_b(numbers.delta_1) * R * numbers.Tc / numbers.pc
    shifted = changed(plain, volume_translation=numbers.P[0] * b)

    rng, n = np.random.default_rng(3), 1000
    s = dict(T=rng.uniform(80, 2000, n), p=np.exp(rng.uniform(np.log(1e4), np.log(1e8), n)))
    s["Y"] = rng.dirichlet(np.ones(4), n).T
    names = "rho h s e cp cv c rho_p rho_T h_p p_T p_v cubic_L residual_entropy v_Y h_Y ln_phi e_p phase_flag"
    got = Mixture.from_species(plain, **OPTIONS).properties(names, **s)
    wanted = Mixture.from_species(shifted, equation="unmapped", translation="peneloux").properties(names, **s)

    for name in names.split():
        size = np.abs(wanted[name])
        if name not in ("rho", "cv", "phase_flag"):
            size = size + np.percentile(size, 99)
        near_critical = 10 * np.abs(wanted["cp"] / wanted["cv"])

        assert (np.abs(got[name] - wanted[name]) <= 200 * EPS * size * near_critical).all(), name


def test_ideal_gas_at_no_density():
    """(Z - 1)/rho = B and s+/rho = B + T B', B = b - c_0 + tau - a/(R T). The next order is 1e-5 of the terms here, the
    rounding of Z - 1 another 1e-11."""
    s = {k: states(10, 300)[k] for k in "TY"}
    q = mixture(10, **OPTIONS).properties("Z residual_entropy a_mix a_T b_mix R_s map_0 shift_T", **s, rho=1e-2)

    of_a = q["a_mix"] / (q["R_s"] * s["T"])
    B = q["b_mix"] - q["map_0"] - of_a
    T_slope = -s["T"] * q["shift_T"] - q["a_T"] / q["R_s"] + of_a
    size = q["b_mix"] + of_a + np.abs(q["a_T"] / q["R_s"])

    assert (np.abs((q["Z"] - 1) / 1e-2 - B) <= 2e-3 * size).all()
    assert (np.abs(q["residual_entropy"] / 1e-2 - B - T_slope) <= 2e-3 * size).all()


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.quick(row=["N2", "H2O", "nC12"])
def test_the_critical_point_of_a_row(row):
    """p = pc, dp/dv = d2p/dv2 = 0 at Tc and the mapped volume; the latter by a difference over 2e-4 v, whose next term
    is 1e-4 of it."""
    own, mix = fluids()[row], fluid(row)
    v = mix.properties("vc_mix", Y=ONE)["vc_mix"][0]
    at = v * np.array([1 - 1e-4, 1, 1 + 1e-4])
    q = mix.properties("p p_v", T=own.Tc, rho=own.M / at, Y=np.ones((1, 3)))

    unit = R * own.Tc / (v * v) * own.M
    assert abs(q["p"][1] / own.pc - 1) < 1e-12
    assert abs(q["p_v"][1]) < 1e-11 * unit
    assert abs(q["p_v"][2] - q["p_v"][0]) / 2e-4 < 1e-3 * unit


# ---- roots and saturation


def saturation(rows, T):
    """psat [Pa] of a pure fluid at T (points) below 0.95 Tc: where both roots have one ln phi, by bisection."""
    own = fluids()[rows[0]]
    Y = np.ones((1, T.size))
    low, high = np.full(T.size, np.log(1e-5 * own.pc)), np.full(T.size, np.log(own.pc))
    liquid, vapour = rooted(rows, "liquid"), rooted(rows, "vapour")

    for _ in range(60):
        middle = (low + high) / 2
        l, v = (mix.properties("ln_phi v_free b_mix", T=T, p=np.exp(middle), Y=Y) for mix in (liquid, vapour))
        one = np.abs(l["v_free"] / v["v_free"] - 1) < 1e-9
        dense = np.where(one, v["v_free"] < 2 * v["b_mix"], l["ln_phi"][0] < v["ln_phi"][0])
        low, high = np.where(dense, low, middle), np.where(dense, middle, high)

    return np.exp((low + high) / 2)


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.quick(row=["N2", "H2O", "nC12"])
def test_gibbs_energies_are_equal_at_saturation(row):
    """Option gibbs changes the root at the p where both roots have one ln phi, and takes a stable one on both sides.
    There p is within 5 % of pc 10^(-1 - omega), the definition of omega, at 0.7 Tc (hydrogen and helium aside)."""
    own = fluids()[row]
    T, Y = own.Tc * np.array([0.7, 0.8, 0.9]), np.ones((1, 3))
    p = saturation((row,), T)

    below, above = (fluid(row).properties("phase_flag p_v rho", T=T, p=p * f, Y=Y) for f in (1 - 1e-7, 1 + 1e-7))
    assert (below["phase_flag"] == 2).all() and (above["phase_flag"] == 1).all()
    assert (below["p_v"] < 0).all() and (above["p_v"] < 0).all()
    assert (above["rho"] > 1.5 * below["rho"]).all()

    if row not in ("H2", "pH2", "He"):
        assert abs(p[0] / (own.pc * 10 ** (-1 - own.omega)) - 1) < 0.05


def test_the_root_of_a_volume():
    """w - C(w) = v at densities of all rows from a gas of w = 1e5 b to w = 1.001 b, beyond any pressure of use. The
    roundings of w, b, C and v, and of C that follows from that of w: 6 EPS of w."""
    T, free = (part.ravel() for part in np.meshgrid([100.0, 300.0, 2000.0], np.geomspace(1e-3, 1e5, 60)))
    mix = fluid(*ROWS)
    numbers = model.mapped_numbers(mix.species)
    b = (records.CUBICS["mapped"].ab(mix.species)[1] / mix.species.W)[:, None]

    t, x = T / numbers.Tc[:, None], 1 / (1 + free)
    P0, P1, P2, P3 = numbers.P[:, :, None]
    Q = np.where(np.abs(numbers.Q) < model.NO_SWELLING, 0, numbers.Q)[:, None]
    v = b * (1 + free - P0 - x * (P1 + x * (P2 + x * P3)) + 1.4 * Q / (t + 0.4))
    row, point = np.nonzero(v > 0)

    assert row.size > 0.95 * v.size

    v = v[row, point]
    q = mix.properties("v_free b_mix shift_mix", T=T[point], rho=1 / v, Y=np.eye(mix.ns)[:, row])
    w = q["v_free"] + q["b_mix"]

    assert (np.abs(w - q["shift_mix"] - v) <= 6 * EPS * w).all()
    np.testing.assert_allclose(w, q["b_mix"] * (1 + free[point]), rtol=20 * EPS)  # dw = dv/(1 - C_w), C_w < 0.7


def test_the_root_of_a_volume_of_another_map():
    """The same for a map with a least dv/dw of 0.3, which no row has: two steps leave 2e-3, so points of some densities
    take more. Their neighbours are at the first and the last densities, which need none."""
    b, (P1, P2, P3) = 1e-3, (5.1, -11.0, 6.1)
    free = np.geomspace(1e-3, 1e5, 600).reshape(20, 30).T.ravel()
    x = 1 / (1 + free)
    v = b * (1 + free - x * (P1 + x * (P2 + x * P3)))

    state = dict(rho=1 / v, T=300.0, R_s=300.0, a_mix=0.0, delta_mix=2.5)
    numbers = dict(b_mix=b, map_0=0.0, map_1=b * P1, map_2=b * P2, map_3=b * P3)
    got = fluid("N2").kernel("mapped_pressure")(**state, **numbers)["v_free"]

    np.testing.assert_allclose(b + got, b * (1 + free), rtol=20 * EPS)


def test_inside_the_spinodal():
    """A density between the spinodals is flagged unstable, another is not."""
    own, n = fluids()["N2"], 200
    rho = np.linspace(1.0, 3.0 * own.rhoc, n)
    q = fluid("N2").properties("phase_flag p_v", T=np.full(n, 0.8 * own.Tc), rho=rho, Y=np.ones((1, n)))

    assert ((q["phase_flag"] == 3) == (q["p_v"] >= 0)).all()
    assert 20 < (q["phase_flag"] == 3).sum() < 150


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.quick(row=["N2", "H2", "H2O", "nC12"])
def test_positive_over_the_box(row):
    """T from 0.95 of the triple point to 4000 K, 1e4 to 1e8 Pa, hydrogen and helium to 4e7: v > 0, dp/dv < 0, no NaN.
    cv of a monatomic gas would stay positive too, but for methanol below 160 K."""
    highest = 4e7 if row in ("H2", "pH2", "He") else 1e8
    T = np.geomspace(max(20.0, 0.95 * TRIPLE[row]), 4000, 50)
    T, p = (part.ravel() for part in np.meshgrid(T, np.geomspace(1e4, highest, 40)))
    q = fluid(row).properties("rho p_v h c cv cp_ig R_s phase_flag", T=T, p=p, Y=np.ones((1, T.size)))

    assert (q["rho"] > 0).all() and (q["p_v"] < 0).all() and (q["phase_flag"] < 3).all()
    assert np.isfinite(q["h"]).all() and np.isfinite(q["c"]).all()

    residual = (q["cv"] - q["cp_ig"]) / q["R_s"] + 1
    assert (residual > -1.45)[T > (160 if row == "CH3OH" else 0)].all()


def test_traces():
    """Corners of the composition with traces of 1e-12, and with none: no NaN, one density."""
    rows = ("H2", "O2", "H2O", "CO2", "He")
    T, p = (part.ravel() for part in np.meshgrid([300.0, 700.0, 3000.0], [1e5, 1e7, 1e8]))
    pure = np.repeat(np.eye(5), T.size, axis=1)
    T, p = np.tile(T, 5), np.tile(p, 5)

    q = fluid(*rows).properties("rho p_v h cv c ln_phi v_Y h_Y", T=T, p=p, X=1e-12 + (1 - 5e-12) * pure)
    alone = fluid(*rows).properties("rho", T=T, p=p, X=pure)

    assert all(np.isfinite(part).all() for part in q.values())
    assert (q["p_v"] < 0).all()
    np.testing.assert_allclose(q["rho"], alone["rho"], rtol=1e-9)


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.quick(row=["H2", "H2O", "nC12"])
def test_single_precision_over_the_box(row):
    """Within 32 of what rounding T, p and the constants once does: some 30 roundings follow. States where a rounding of
    p decides the phase are left out."""
    T = np.geomspace(max(20.0, 0.95 * TRIPLE[row]), 4000, 40).astype(np.float32)
    T, p = (part.ravel() for part in np.meshgrid(T, np.geomspace(1e4, 4e7, 25).astype(np.float32)))
    given = dict(T=T, p=p, Y=np.ones((1, T.size), np.float32))
    names, mix = "rho h s e cp cv c rho_p rho_T h_p v_Y h_Y".split(), fluid(row)

    single = mix.properties(names, precision="single", **given)
    wide = {name: part.astype(float) for name, part in given.items()}
    double = mix.properties(names, **wide)
    scale, undecided = scales(mix, names, wide)

    assert undecided.mean() < 0.01
    for name in names:
        miss = np.abs(single[name] - double[name]) / (2.0**-24 * scale[name])
        assert miss[..., ~undecided].max() < 32, (name, float(miss.max()))


# ---- rows, other species, refusals


def test_signs_of_alpha():
    """alpha' < 0 < alpha'' from 0.05 to 60 Tc in all rows but those that say so, of quantum fluids and hydrogen
    bonds."""
    odd = {row for row, f in fluids().items() if not model.is_regular(f.alpha_c, f.alpha_g, f.alpha_m)}
    assert (
        odd == {row for row, f in fluids().items() if f.alpha == "odd"} == {"H2", "pH2", "He", "H2O", "CH3OH", "C2H5OH"}
    )


def test_bounds_of_the_rows():
    """dv/dw and delta_1 stay away from their bounds; v is positive up to the highest pressure."""
    for row, own in fluids().items():
        assert model.volume_slope([own.P0, own.P1, own.P2, own.P3]).min() > 0.5 and own.d1 >= 2.0
        q = fluid(row).properties("vol", T=np.array([300.0, 4000.0]), p=1e9, Y=np.ones((1, 2)))
        assert (q["vol"] > 0).all(), row


def test_pressures_beyond_the_bound_are_none():
    q = fluid("N2").properties("rho", T=300.0, p=np.array([-1.0, 0.0, 1e9, 1.001e9]), Y=np.ones((1, 4)))
    assert list(np.isnan(q["rho"])) == [True, True, False, True]


def test_kinds_of_species():
    """A row where there is one; correlations for nonpolar fluids in the range of omega; else a constant translation."""
    ten = species_set(10)
    kinds = dict(zip(ten.names, model.mapped_numbers(ten).kinds))
    wanted = dict.fromkeys(("CH4", "O2", "CO2", "H2O", "CO", "H2"), "row")

    assert kinds == wanted | dict.fromkeys(("OH", "H", "O", "HO2"), "translation")

    one = data("C2H6").subset(["C2H6"], shown=["C3H6"])

    def kind(**fields):
        return model.mapped_numbers(changed(one, **fields)).kinds[0]

    assert kind() == "correlation"
    for fields in (dict(omega=[0.61]), dict(omega=[-0.06]), dict(Tc=[44.0]), dict(kappa_assoc=[0.1])):
        assert kind(**fields) == "translation"
    assert kind(dipole=[1.7]) == kind(dipole=[np.nan]) == "translation"


def test_radicals_have_no_correlation():
    """By their composition, whatever data the file has for them; NO and N2O are none. Without compositions the names
    tell."""
    of_53 = species_set(53)
    kinds = dict(zip(of_53.names, model.mapped_numbers(of_53).kinds))
    radicals = "C2H C2H3 C2H5 C3H7 HCCO CH2CHO NCO H2CN HCNN CH2(S) HCNO CH3O".split()

    assert {kinds[name] for name in radicals} == {"translation"}
    assert {kinds[name] for name in ("NO", "N2O", "C2H2", "CH2CO", "HNCO")} == {"correlation"}

    assert is_fleeting("CH2S", {"C": 1, "H": 2}) and not is_fleeting("CH2S", {"C": 1, "H": 2, "S": 1})
    assert is_fleeting("ch3", None) and not is_fleeting("NO2", {"N": 1, "O": 2})
    assert is_fleeting("ClO", {"Cl": 1, "O": 1}) and not is_fleeting("X", {"X": 1, "H": 3})


@pytest.mark.parametrize("row", ("C2H6", "C3H8", "nC7"))
def test_liquids_by_correlation(row):
    """A fluid without its row: liquid density at 0.7 Tc within 2 % of the row's."""
    own = fluids()[row]
    other = Mixture.from_species(data(row).subset(data(row).names, shown=["UNKNOWN"]), **OPTIONS)
    assert "by correlation" in other.notes[0]

    T = np.array([0.7 * own.Tc])
    a, b = (mix.properties("rho", T=T, p=2 * own.pc, Y=ONE)["rho"] for mix in (fluid(row), other))
    assert abs(b / a - 1) < 0.02


@pytest.mark.parametrize("omega", (0.2, 0.7))  # correlations, Peng-Robinson's shape
def test_a_measured_liquid_density_is_met(omega):
    """For a species without a row. 1e-12: the root of the cubic, and a volume of 1/10 of b as a difference."""
    T, p, rho = 250.0, 2e6, 590.0
    own = data("C3H8").subset(["C3H8"], shown=["UNKNOWN"])
    mix = Mixture.from_species(changed(own, omega=[omega], liquid=[[T, p, rho]]), **OPTIONS)

    assert any("shifted to a liquid density of UNKNOWN" in note for note in mix.notes)
    found = mix.properties("rho", T=T, p=p, Y=[1.0], backend="cpu")["rho"]
    assert found == pytest.approx(rho, rel=1e-12)


def test_numbers_of_no_liquid_are_refused():
    own = data("C3H8").subset(["C3H8"], shown=["UNKNOWN"])
    for fields, said in (
        (dict(liquid=[[365.0, 1e5, 590.0]]), "'UNKNOWN': equation mapped has no liquid at 365 K, 100000 Pa"),
        (dict(liquid=[[250.0, 2e6, 9000.0]]), "'UNKNOWN'.*at high pressure the volume falls to"),
    ):
        with pytest.raises(MixtureError, match=said):
            Mixture.from_species(changed(own, **fields), **OPTIONS)


@pytest.mark.parametrize(
    "changes, said",
    [
        (dict(delta_1=1.7), "delta_1 = 1.7 came, wanted 1.8 or more"),
        (dict(P=np.array([0.0, 0.0, -6.0, 4.0])), "dv/dw falls to .*wanted 0.3 or more"),
        (dict(g=1.2), "g = 1.2, wanted c > 0 and 0 <= g < 1"),
        (dict(c=2.0, g=0.9), "alpha has no negative slope"),
    ],
)
def test_numbers_that_are_refused(changes, said):
    row = dict(Tc=300.0, pc=4e6, delta_1=2.4, c=20.0, g=0.03, m=8.0, P=np.zeros(4), Q=0.0)
    model.check("X", None, model._Row(**row))
    with pytest.raises(MixtureError, match=f"species 'X', equation mapped: .*{said}"):
        model.check("X", None, model._Row(**{**row, **changes}))


def test_a_file_with_another_critical_point():
    """The row's is taken, as its other numbers belong to it, and the notes say so."""
    other = Mixture.from_species(changed(data("N2"), Tc=[140.0]), **OPTIONS)
    assert "N2: Tc = 140 of the input is not used, 126.192 of fluids.csv is." in " ".join(other.notes)
    assert not any("is not used" in note for note in fluid("N2").notes)

    given = dict(T=100.0, p=1e6, Y=ONE)
    assert other.properties("rho", **given)["rho"] == fluid("N2").properties("rho", **given)["rho"]


@pytest.mark.parametrize("options", (dict(translation="peneloux"), dict(mixing="pseudocritical")))
def test_options_that_do_not_go_with_it(options):
    with pytest.raises(ArgumentError, match="with equation = 'mapped' wanted"):
        Mixture.from_species(data("N2"), **options, **OPTIONS)


# ---- reference states

STATES = json.loads(DATA.read_text())["states"]


def test_the_states_are_the_reference_equations():
    """The numbers of the file, where CoolProp is installed; 1e-6 is what its versions may differ by."""
    coolprop = pytest.importorskip("CoolProp.CoolProp")
    for s in STATES:
        for name, key in (("rho", "D"), ("cp", "C"), ("c", "A"), ("cp0", "CP0MASS")):
            value = coolprop.PropsSI(key, "T", s["T"], "P", s["p"], s["coolprop"])
            assert s[name] == pytest.approx(value, rel=1e-6), s


# Median and largest error, percent, of density, cp and sound speed: those of all 24 fluids and 579 states, and 20 %
# more; of vapours the 95 % value for the largest. The largest c of liquids, 22.8 %, is cold water's.
ERRORS = {
    "liq": dict(rho=(0.6, 4.3), cp=(2.5, 42.0), c=(2.6, 27.4)),
    "vap": dict(rho=(0.5, 3.5), cp=(2.8, 18.0), c=(0.4, 2.5)),
    "sup": dict(rho=(1.2, 8.8), cp=(1.6, 25.7), c=(1.7, 18.0)),
}


@pytest.mark.parametrize("region", ERRORS)
def test_errors_at_reference_states(region):
    """cp of the ideal gas is the reference's, so that the equation alone is tested."""
    errors = {name: [] for name in ERRORS[region]}
    for s in (s for s in STATES if s["region"] == region):
        q = fluid(s["row"]).properties("rho cv cp_ig p_T p_v", T=np.array([s["T"]]), p=s["p"], Y=ONE)
        q = {name: float(part[0]) for name, part in q.items()}

        cv = q["cv"] - q["cp_ig"] + s["cp0"]
        cp = cv - s["T"] * q["p_T"] ** 2 / q["p_v"]
        c = np.sqrt(-cp / cv * q["p_v"]) / q["rho"]
        for name, value in (("rho", q["rho"]), ("cp", cp), ("c", c)):
            errors[name].append(100 * abs(value / s[name] - 1))

    for name, (median, largest) in ERRORS[region].items():
        assert np.median(errors[name]) < median, (name, errors[name])
        assert max(errors[name]) < largest, (name, errors[name])


def test_the_page_has_the_limits_of_the_record():
    page = (Path(__file__).parents[2] / "docs/explanation/models.md").read_text()
    assert records.CUBICS["mapped"].valid in " ".join(page.split())
