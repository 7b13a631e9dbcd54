"""Mass fractions a little below 0, as advection leaves them: every quantity is finite, and continuous through 0."""

import numpy as np
import pytest
from device_for_tests import be  # noqa: F401  the fixture: a stand-in, or with -m gpu the device
from mechanisms_for_tests import path
from mixtures_for_tests import ROOT

import kernels
from kernels import Mixture

EPS = np.finfo(float).eps
BELOW = np.array([0.0, -1e-15, -1e-12, -1e-9, -1e-6, -1e-3])
# d ln(quantity)/dY of a species that is absent: weights 1/Y of radicals (1e-3 here), X ln X with its slope of 30, and
# molar masses, 2 to 44, between which a mass fraction shifts moles
STEEPEST = 1e4
REACTING = ("omega", "heat_release", "rate_net", "destruction", "omega_rho", "omega_T", "f_cv", "f_cp", "J_cv", "J_cp")


def states(mix, base):
    """Y (ns, species that is absent, BELOW): the most abundant other species takes what it lacks."""
    Y = np.repeat(np.repeat(base[:, None, None], mix.ns, 1), len(BELOW), 2)
    for s in range(mix.ns):
        rest = max((k for k in range(mix.ns) if k != s), key=lambda k: base[k])
        Y[rest, s] += base[s] - BELOW
        Y[s, s] = BELOW

    return Y


def check(mix, names, T, p, base, backend):
    given = dict(T=T, p=p, Y=np.concatenate([states(mix, base), states(mix, np.full(mix.ns, 1 / mix.ns))], axis=1))
    out = mix.properties(names, backend=backend, **given)

    for name in names:
        v = np.reshape(out[name], (-1, 2 * mix.ns, len(BELOW)))
        assert np.isfinite(v).all(), (name, mix.names, np.argwhere(~np.isfinite(v))[:3])
        scale = np.abs(v).max(axis=(0, 1, 2)) if name != "phase_flag" else 1.0
        change = np.abs(v - v[..., :1]).max(axis=(0, 1))
        assert (change <= (STEEPEST * np.abs(BELOW) + 1e4 * EPS) * scale).all(), (name, change / scale)


def known(mix):
    names = [q for q in kernels.registry.quantities if q not in ("T", "p", "Y") and not q.endswith("_eq")]
    return [q for q in names if mix.has_data_for([q], ["T", "p", "Y"])]  # of equilibria: test_equilibrium.py


# Lucas' viscosity and the laws of dilute gases are for hot states; cold ones of this mixture are liquid.
HOT, COLD = 600.0, 300.0
MODELS = {
    "pr": (COLD, {}),
    "ideal": (COLD, {"equation": "ideal"}),
    "srk": (COLD, {"equation": "srk"}),
    "rkpr": (COLD, {"equation": "rkpr"}),
    "rk": (HOT, {"equation": "rk"}),
    "vdw": (HOT, {"equation": "vdw"}),
    "pseudocritical": (HOT, {"mixing": "pseudocritical", "alpha": "published"}),
    "translated": (HOT, {"translation": "fitted"}),
    "lucas": (HOT, {"viscosity": "lucas"}),
    "sutherland": (COLD, {"viscosity": "sutherland"}),
    "powerlaw": (HOT, {"viscosity": "powerlaw"}),
    "fuller": (HOT, {"diffusion": "fuller"}),
    "cantera": (HOT, {"alpha": "cantera", "chung": "cantera", "diffusion": "cantera"}),
}


@pytest.mark.parametrize("model", list(MODELS))
@pytest.mark.quick(model="pr")
def test_properties(model):
    T, options = MODELS[model]
    mix = Mixture.from_yaml(ROOT / "examples/mixtures/ch4_o2_4.yaml", **options)
    check(mix, known(mix), T, 1e7, np.array([0.1, 0.7, 0.1, 0.1]), "cpu")


def test_rates():
    """Rates of every kind of reaction, among them fractional orders and falloff by a single species."""
    mix = Mixture.from_yaml(path(), "ideal", equation="ideal")
    names = [q for q in REACTING if mix.has_data_for([q], ["T", "p", "Y"])]
    assert len(names) > 5
    check(mix, names, 1500.0, 1e6, np.array([0.1, 0.6, 0.1, *[0.2 / (mix.ns - 3)] * (mix.ns - 3)]), "cpu")


def test_the_devices_source(be):  # noqa: F811
    mix = Mixture.from_yaml(ROOT / "examples/mixtures/ch4_o2_4.yaml")
    check(mix, ["rho", "h", "s", "cp", "c", "mu", "lam", "D"], 300.0, 1e7, np.array([0.1, 0.7, 0.1, 0.1]), be)
    mix = Mixture.from_yaml(path(), "ideal", equation="ideal")
    check(
        mix, ["omega", "heat_release"], 1500.0, 1e6, np.array([0.1, 0.6, 0.1, *[0.2 / (mix.ns - 3)] * (mix.ns - 3)]), be
    )
