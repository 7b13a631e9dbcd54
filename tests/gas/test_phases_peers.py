"""Phase equilibrium beside other codes, with the same constants: thermo, ThermoPack, teqp, feos. Each is
skipped where it is not installed."""

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


@pytest.mark.parametrize("equation", ["pr", "srk"])
def test_beside_thermopack(equation):
    """With ThermoPack's critical data; beta to its tolerance, 1e-7, and the volumes of both phases."""
    package = pytest.importorskip("thermopack.cubic", reason="the package thermopack is not installed")
    names = ("nC4", "nC5", "nC6")
    model = package.cubic("NC4,NC5,NC6", equation.upper(), alpha="Classic")
    numbers = range(1, 4)
    for i in numbers:
        for j in numbers:
            if i != j:
                model.set_kij(i, j, 0.0)
    Tc, pc, omega = (
        np.array([of(s) for s in numbers])
        for of in (model.critical_temperature, model.critical_pressure, model.acentric_factor)
    )
    mix = Mixture(changed(species(names), Tc=Tc, pc=pc, omega=omega), phases="equilibrium", equation=equation)

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
