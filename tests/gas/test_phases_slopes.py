"""Slopes, speeds of sound and transport of vapour and liquid in equilibrium, against differences and laws."""

from functools import lru_cache

import numpy as np
import pytest
from phases_for_tests import (
    ALKANES,
    PRODUCTS,
    SPRAY,
    flash,
    mixture,
    results,
    species,
    states,
)

from kernels import ArgumentError, Mixture

# ---- slopes


@lru_cache
def smooth(names):
    """Two-phase states, some 1 % of T and 5 % of p away from the boundary."""
    (T, p, X), q, mix = states(names), results(names), mixture(names)
    inside = (q["phases_status"] == 1) & (q["beta"] > 0.03) & (q["beta"] < 0.97)
    for a, b in ((1.01, 1), (0.99, 1), (1, 1.05), (1, 0.95)):
        inside &= flash(mix, T=T * a, p=p * b, X=X)["phases_status"] == 1
    k = np.flatnonzero(inside)[:60]
    return dict(T=T[k], p=p[k], Y=q["Y"][:, k])


def difference(mix, names, state, name, step):
    """Derivatives of the whole flash by central differences of fourth order, relative steps of `step` in `name`."""
    at = {}
    for k in (-2, -1, 1, 2):
        at[k] = flash(mix, **{**state, name: state[name] * (1 + k * step)})
    out = {}
    for of in names.split():
        out[of] = (8 * (at[1][of] - at[-1][of]) - (at[2][of] - at[-2][of])) / (12 * step * state[name])
    return out


@pytest.mark.parametrize("names", [SPRAY, PRODUCTS])
@pytest.mark.quick(names=[PRODUCTS])
def test_slopes_are_those_of_the_flash(names):
    """Differences of fourth order, steps of 1e-4: truncated at 1e-16 of a fifth derivative, rounded at 1e-12/1e-4."""
    state, mix = smooth(names), mixture(names)
    assert state["T"].size > 20
    q = mix.properties("rho h e s rho_p rho_T h_p h_T e_p e_T s_p s_T cp c gamma cv", **state)

    for of, slope in (("T", "rho_T h_T e_T s_T"), ("p", "rho_p h_p e_p s_p")):
        found = difference(mix, "rho h e s", state, of, 1e-4)
        for name, mine in zip("rho h e s".split(), slope.split()):
            scale = (
                np.abs(q[mine]) + 1e-2 * (np.abs(q[name]) + (q["cp"] * state["T"] if name in "he" else 0)) / state[of]
            )
            off = np.abs(found[name] - q[mine]) / scale
            assert np.median(off) < 1e-8 and off.max() < 1e-5, (of, name)

    np.testing.assert_allclose(q["h_T"], q["cp"])
    np.testing.assert_allclose(q["gamma"], q["cp"] / q["cv"])
    np.testing.assert_allclose(q["c"] ** 2, q["gamma"] / q["rho_p"], rtol=1e-8)


@pytest.mark.parametrize("side", ["bubble_T", "dew_T"])
@pytest.mark.parametrize("p", [1e5, 5e6])
def test_little_of_a_phase_is_next_to_none(side, p):
    """Nitrogen and dodecane along T through a boundary, 1e-15 to 1e-8 of T from it: shares down to 1e-7 are there, and
    energies and volumes of both sides meet. Tangent planes 1e-9 RT below a feed count, and so a share of 1e-9 may be
    left out: of a liquid in a gas of 1000 times its volume that is 1e-7 of the energy, RT a mole, at most."""
    mix, X = Mixture.from_names("N2 NC12H26", phases="equilibrium", equation="pr"), np.array([0.5, 0.5])
    off = np.geomspace(1e-15, 1e-8, 22)
    off = np.r_[-off[::-1], 0.0, off]
    T = getattr(mix, side)(p, X) * (1 + off)
    q = mix.properties("phases_status beta e rho Y", T=T, p=p, X=np.repeat(X[:, None], T.size, 1))
    two = q["phases_status"] == 1
    assert two.any() and not two.all()
    assert np.minimum(q["beta"], 1 - q["beta"])[two].min() < 1e-7

    energy = q["e"] * (mix.species.W @ X) / (8.314 * T)
    for values, scale in ((energy, 1.0), (q["rho"], q["rho"].max())):
        left, right = (np.polyval(np.polyfit(off[at], values[at], 1), 0) for at in (off < -1e-11, off > 1e-11))
        assert abs(left - right) < 1e-7 * scale

    found = mix.properties("T", e=q["e"], rho=q["rho"], Y=q["Y"])
    np.testing.assert_allclose(found["T"], T, rtol=1e-9)


def test_slopes_next_to_vacuum():
    """Dodecane with nitrogen at 40 to 1000 Pa, where the liquid's dp/dV is 1e10 to 1e14 times that of the whole. c by
    differences along an isentrope, 1e-6: fourth order, and 1e-10 of rho over steps of 1e-3; sums as below."""
    mix, p, ones = mixture(SPRAY), np.array([40.0, 50.0, 100.0, 1000.0]), np.ones(4)
    q = mix.properties("phases_status c c_frozen s vol h Y v_Y h_Y", T=300 * ones, p=p, X=[0.3 * ones, 0.7 * ones])
    assert (q["phases_status"] == 1).all() and (q["c"] < q["c_frozen"]).all()

    rho = {k: mix.properties("rho", s=q["s"], p=p * (1 + 1e-3 * k), Y=q["Y"])["rho"] for k in (-2, -1, 1, 2)}
    slope = (8 * (rho[1] - rho[-1]) - (rho[2] - rho[-2])) / (12e-3 * p)
    np.testing.assert_allclose(q["c"], slope**-0.5, rtol=1e-6)
    np.testing.assert_allclose((q["Y"] * q["v_Y"]).sum(0), q["vol"], rtol=1e-9)
    np.testing.assert_allclose((q["Y"] * q["h_Y"]).sum(0), q["h"], rtol=1e-9)


def test_slopes_in_composition():
    """dV/dm_k and dH/dm_k at constant T and p, the phases in equilibrium, by differences in one mass; both sum to the
    whole, within 1e-10: some 1e4 roundings of the flash's own residuals."""
    state, mix = smooth(PRODUCTS), mixture(PRODUCTS)
    q = mix.properties("vol h v_Y h_Y e_Y rho rho_Y g_Y s ln_phi", **state)
    Y, step = state["Y"], 1e-5
    np.testing.assert_allclose((Y * q["v_Y"]).sum(0), q["vol"], rtol=1e-10)
    np.testing.assert_allclose((Y * q["h_Y"]).sum(0), q["h"], rtol=1e-10)
    np.testing.assert_allclose((Y * q["g_Y"]).sum(0), q["h"] - state["T"] * q["s"], rtol=1e-9)
    np.testing.assert_allclose(q["rho_Y"], -(q["rho"] ** 2) * q["v_Y"])

    for k in range(len(PRODUCTS)):
        both = []
        for sign in (1, -1):
            moved = Y.copy()
            moved[k] += sign * step
            m = moved.sum(0)
            both.append({n: m * v for n, v in flash(mix, **{**state, "Y": moved / m}).items()})
        for name, mine in (("vol", "v_Y"), ("h", "h_Y")):
            found = (both[0][name] - both[1][name]) / (2 * step)
            off = np.abs(found - q[mine][k]) / (np.abs(q[mine]).max(0) + np.abs(q[name]))
            assert np.median(off) < 1e-7 and np.quantile(off, 0.9) < 1e-5, (k, name)


@pytest.mark.parametrize("names", [SPRAY, ALKANES])
@pytest.mark.quick(names=[SPRAY])
def test_speeds_of_sound(names):
    """c <= c_frozen <= c_wood: each constraint that is let go softens the mixture. With one phase all are c of a
    mixture of one phase."""
    (T, p, X), q = states(names), results(names)
    c = mixture(names).properties("c c_frozen c_wood", T=T, p=p, X=X)
    two = q["phases_status"] == 1
    assert (c["c"] < c["c_frozen"])[two].all() and (c["c_frozen"] <= c["c_wood"] * (1 + 1e-12))[two].all()
    assert (c["c"] / c["c_frozen"])[two].min() < 0.9

    one = Mixture(species(names)).properties("c", T=T, p=p, X=X)["c"][~two]
    for name in c:
        np.testing.assert_allclose(c[name][~two], one, rtol=1e-10)


def test_one_phase_is_as_with_one_phase():
    """Every scalar of a stable state is that of phases = single, to rounding."""
    (T, p, X), q = states(SPRAY), results(SPRAY)
    one = q["phases_status"] == 0
    names = "Z rho h s cp cv gamma c p_T p_v v_p rho_p rho_T h_p h_T e_p e_T e v_mol phase_flag W"
    got, wanted = (
        m.properties(names, T=T[one], p=p[one], X=X[:, one]) for m in (mixture(SPRAY), Mixture(species(SPRAY)))
    )
    for name in names.split():
        scale = np.abs(wanted[name]) + (1e3 if name in ("h", "e", "s") else 0)
        assert (np.abs(got[name] - wanted[name]) <= 1e-9 * scale).all(), name


# ---- transport


@lru_cache
def gases():
    """Species with transport data."""
    return Mixture.from_yaml("examples/mixtures/ch4_o2.yaml").species.subset(["CH4", "O2", "CO2"])


def test_transport_of_two_phases():
    """Each phase as a mixture of its own: mu by McAdams' rule, lam by volumes, D by masses. With one phase, that of the
    phase. 1e-13: the same sums, and shares of 1e-15."""
    random, n = np.random.default_rng(1), 200
    T, p = random.uniform(100, 280, n), np.exp(random.uniform(np.log(1e5), np.log(8e6), n))
    X = random.dirichlet(np.ones(3), n).T
    names = "mu lam D beta_mass beta_volume Y_l Y_v rho_l rho_v phases_status"
    q = Mixture(gases(), phases="equilibrium").properties(names, T=T, p=p, X=X)
    assert 40 < (q["phases_status"] == 1).sum() < 160

    alone = Mixture(gases())
    phases = {}
    for k in "vl":
        Y = q[f"Y_{k}"]
        phases[k] = alone.properties("mu lam", T=T, rho=q[f"rho_{k}"], Y=Y) | alone.properties("D", T=T, p=p, Y=Y)
    v, l, w, a = phases["v"], phases["l"], q["beta_mass"], q["beta_volume"]
    np.testing.assert_allclose(1 / q["mu"], w / v["mu"] + (1 - w) / l["mu"], rtol=1e-13)
    np.testing.assert_allclose(q["lam"], a * v["lam"] + (1 - a) * l["lam"], rtol=1e-13)
    np.testing.assert_allclose(q["D"], w * v["D"] + (1 - w) * l["D"], rtol=1e-13)


def test_transport_without_a_rule_is_refused():
    for options, name, text in (
        (dict(viscosity="lucas"), "mu", "phases = 'equilibrium' with viscosity = 'lucas'"),
        (dict(chung="cantera"), "lam", "phases = 'equilibrium' with chung = 'cantera'"),
        (dict(), "D_mass", "phases = 'equilibrium'"),
    ):
        with pytest.raises(ArgumentError, match=f"'{name}' cannot be computed .*not there for {text}"):
            Mixture(gases(), phases="equilibrium", **options).properties(name, T=200.0, p=1e6, X=[0.3, 0.3, 0.4])
