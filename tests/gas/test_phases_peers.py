"""Phase equilibrium beside other codes, with the same constants: thermo, ThermoPack, teqp, feos. Each is
skipped where it is not installed."""

import itertools

import numpy as np
import pytest
from mixtures_for_tests import changed
from phases_for_tests import ALKANES, NUMBERS, SPRAY, R, mixture, species, states

from frame.tools.bench import phase_rivals
from frame.tools.bench.phase_rivals import EXACT, ROUNDED
from kernels import Mixture

FEW = 48


def test_beside_thermo():
    """Peng-Robinson with the alpha of 1976: number of phases and share of the vapour. thermo's own tolerance is 1e-5 of
    beta."""
    pytest.importorskip("thermo", reason="the package thermo is not installed")
    T, p, X = (a[..., :FEW] for a in states(SPRAY))
    data = species(SPRAY)
    mine = mixture(SPRAY, alpha="pr76").properties("phases_status beta rho", T=T, p=p, X=X)

    flasher = phase_rivals.Thermo(data).flasher

    compared = 0
    for k in range(FEW):
        found = flasher.flash(T=float(T[k]), P=float(p[k]), zs=X[:, k].tolist())
        assert found.phase_count == 1 + mine["phases_status"][k]
        np.testing.assert_allclose(mine["rho"][k], found.MW() * 1e-3 / found.V(), rtol=1e-4)
        if found.phase_count == 2:
            share = found.betas[0]
            assert min(abs(mine["beta"][k] - share), abs(1 - mine["beta"][k] - share)) < 2e-5
            compared += 1
    assert compared > 10


def test_energies_beside_thermo():
    """T and phases from thermo's energy and volume, enthalpy, entropy: 1e-6 of T, by its beta of 1e-5. Its ideal gases
    have h = 0 and s = 0 at 298.15 K, ours h = 0 at 0 K and s = 0 at 1 K."""
    pytest.importorskip("thermo", reason="the package thermo is not installed")
    T, p, X = (a[..., :FEW] for a in states(SPRAY))
    data, mix = species(SPRAY), mixture(SPRAY, alpha="pr76")
    flasher = phase_rivals.Thermo(data).flasher
    found = [flasher.flash(T=float(T[k]), P=float(p[k]), zs=X[:, k].tolist()) for k in range(FEW)]

    cp = R * np.array([NUMBERS[name][4] for name in SPRAY]) @ X
    W = data.W @ X
    U, H, S, V = (np.array([getattr(state, name)() for state in found]) for name in "UHSV")
    given = {"e": (U + cp * 298.15) / W, "h": (H + cp * 298.15) / W, "s": (S + cp * np.log(298.15)) / W}
    given |= {"p": p, "rho": W / V}
    two = np.array([state.phase_count for state in found]) == 2
    assert 10 < two.sum() < FEW - 10

    for way in ("e rho", "h p", "s p"):
        mine = mix.properties("T phases_status", X=X, **{name: given[name] for name in way.split()})
        np.testing.assert_allclose(mine["T"], T, rtol=1e-6)
        np.testing.assert_array_equal(mine["phases_status"], two)


def pack_of_alkanes(pack_names, names, equation):
    """ThermoPack's model without k_ij, and the mixture with its critical data."""
    package = pytest.importorskip("thermopack.cubic", reason="the package thermopack is not installed")
    model = package.cubic(pack_names, equation.upper(), alpha="Classic")
    numbers = range(1, len(names) + 1)
    for i, j in itertools.permutations(numbers, 2):
        model.set_kij(i, j, 0.0)
    critical = {}
    for name, of in zip(
        ("Tc", "pc", "omega"), (model.critical_temperature, model.critical_pressure, model.acentric_factor)
    ):
        critical[name] = np.array([of(s) for s in numbers])
    return model, Mixture(changed(species(names), **critical), phases="equilibrium", equation=equation)


@pytest.mark.parametrize("equation", ["pr", "srk"])
def test_critical_points_beside_thermopack(equation):
    """T, p and v: 1e-6, where ThermoPack stops at 1e-7. It finds none beyond 0.8 of methane."""
    model, mix = pack_of_alkanes("C1,NC4,NC6", ("CH4", "nC4", "nC6"), equation)
    for X in ([0.7, 0.2, 0.1], [0.3, 0.3, 0.4], [0.05, 0.5, 0.45], [0.5, 0.5, 0.0], [0.0, 0.5, 0.5]):
        T, v, p = model.critical(np.array(X))
        mine = mix.critical_point(X)
        np.testing.assert_allclose([mine["T"], mine["p"], mine["v_mol"]], [T, p, v], rtol=1e-6)


@pytest.mark.parametrize("equation", ["pr", "srk"])
def test_beside_thermopack(equation):
    """With ThermoPack's critical data; beta to its tolerance, 1e-7, and the volumes of both phases."""
    model, mix = pack_of_alkanes("NC4,NC5,NC6", ("nC4", "nC5", "nC6"), equation)

    random, n = np.random.default_rng(7), 120
    T, p = random.uniform(300, 430, n), np.exp(random.uniform(np.log(1e5), np.log(2e6), n))
    X = random.dirichlet(np.ones(3), n).T
    mine = mix.properties("phases_status beta rho_l Y_l", T=T, p=p, X=X)

    compared = 0
    for k in range(n):
        found = model.two_phase_tpflash(float(T[k]), float(p[k]), X[:, k])
        two = found.phase == model.TWOPH
        assert two == (mine["phases_status"][k] == 1)
        if two:
            assert abs(mine["beta"][k] - found.betaV) < 2e-7
            x = mine["Y_l"][:, k] / mix.species.W
            np.testing.assert_allclose(x / x.sum(), found.x, atol=1e-6)
            compared += 1
    assert compared > 10


def test_beside_teqp():
    """Vapour pressures of pure species by teqp, from 0.6 to 0.99 of Tc: 1e-8, as sharp as the search."""
    teqp = pytest.importorskip("teqp", reason="the package teqp is not installed")
    for name in ("N2", "nC6"):
        Tc, pc, omega, W, _ = NUMBERS[name]
        model = teqp.canonical_PR([Tc], [pc], [omega])
        mix = mixture((name,))
        for T in Tc * np.array([0.6, 0.8, 0.95, 0.99]):
            rho_l, rho_v = model.superanc_rhoLV(float(T))
            rho_l, rho_v = model.pure_VLE_T(float(T), rho_l, rho_v, 10)
            z = np.ones(1)
            p = rho_v * R * T * (1 + model.get_Ar01(float(T), float(rho_v), z))
            mine = float(mix.bubble_p(T, [1.0]))
            np.testing.assert_allclose(mine, p, rtol=2e-7)
            found = mix.properties("rho_l rho_v", T=T, p=mine * np.array([1 - 1e-7, 1 + 1e-7]), Y=np.ones((1, 2)))
            np.testing.assert_allclose(found["rho_v"][0], rho_v * W, rtol=1e-4)
            np.testing.assert_allclose(found["rho_l"][1], rho_l * W, rtol=1e-4)


def test_alkanes_of_an_issue():
    """iC4, nC4, nC5, nC6 in equal moles at 303.15 K and 1 bar: beta of other codes, 0.6992069171."""
    beta = mixture(ALKANES).properties("beta", T=303.15, p=1e5, X=np.ones(4))["beta"]
    np.testing.assert_allclose(beta, 0.6992069171, rtol=0, atol=1e-9)


def test_beside_feos():
    """Spray and alkanes with the rounded 0.45724 and 0.0778 that feos has: number of phases, beta and densities.
    feos stops at 1e-8 of ln K; beta moves by some ten times that."""
    feos = pytest.importorskip("feos", minversion="0.10", reason="the package feos is not installed")
    si = pytest.importorskip("si_units", reason="the package si-units is not installed")
    for names in (SPRAY, ALKANES):
        data = species(names)
        equation = phase_rivals.feos_equation(data, data.Tc, data.pc, data.omega)
        critical = dict(zip(("Tc", "pc", "omega"), phase_rivals.equal_attraction(data, ROUNDED, EXACT)))
        mix = Mixture(changed(data, **critical), phases="equilibrium", alpha="pr76")

        T, p, X = (a[..., : 2 * FEW] for a in states(names))
        mine = mix.properties("phases_status beta rho_l rho_v", T=T, p=p, X=X)
        for k in np.flatnonzero(mine["phases_status"] == 1):
            found = feos.PhaseEquilibrium.tp_flash(equation, T[k] * si.KELVIN, p[k] * si.PASCAL, X[:, k])
            share = found.vapor_phase_fraction
            rho = [phase.mass_density() / (si.KILOGRAM / si.METER**3) for phase in (found.liquid, found.vapor)]
            if rho[0] < rho[1]:  # feos names the phases otherwise
                share, rho = 1 - share, rho[::-1]
            np.testing.assert_allclose(mine["beta"][k], share, atol=1e-6)
            np.testing.assert_allclose([mine["rho_l"][k], mine["rho_v"][k]], rho, rtol=1e-6)
        assert np.sum(mine["phases_status"] == 1) >= 10

        for k in np.flatnonzero(mine["phases_status"] == 0):
            with pytest.raises(RuntimeError, match="(?i)phase"):
                feos.PhaseEquilibrium.tp_flash(equation, T[k] * si.KELVIN, p[k] * si.PASCAL, X[:, k])
