"""The kernels against Cantera 3.2, from the same shipped files, with Cantera's departures switched on."""

import contextlib
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from mixtures_for_tests import CANTERA_NAMES, changed
from reference import EPS, cubic, evaluate, value
from states import random_states

from kernels import Mixture
from kernels.gas.species.cantera_yaml import read_cantera_yaml
from kernels.gas.species.kinetic_theory import binary_fit

ct = pytest.importorskip("cantera")

MIXTURES = Path(__file__).resolve().parents[2] / "examples/mixtures"
OPTIONS = dict(alpha="cantera", chung="cantera", takahashi="table", diffusion="cantera")
GETTERS = {name: CANTERA_NAMES[name] for name in "rho h e s cp cv c mu lam D D_mole D_mass D_ij".split()}


@lru_cache(None)
def both(name):
    """Kernels, Cantera and the oracle (for the bounds) at states with one root: Cantera's choice of three has a
    memory."""
    path = str(MIXTURES / f"{name}.yaml")
    gas = ct.Solution(path)

    # the layer fits diffusion down to cryogenic temperatures, Cantera from the lowest of its NASA polynomials on
    mix = Mixture.from_species(changed(read_cantera_yaml(path)[0], T_fit=(gas.min_temp, gas.max_temp)), **OPTIONS)
    T, p, Y = random_states(mix.ns, 1200, seed=21)
    q = evaluate(mix.species, T, p, Y, transport=False, tracked=False, alpha="cantera")
    RT = q.R_s * T
    small, large = cubic.roots(q.a_mix * p / RT**2, q.b_mix * p / RT)
    keep = (small == large) & ~q.undecided
    T, p, Y = T[keep], p[keep], np.ascontiguousarray(Y[:, keep])
    theirs = {key: [] for key in (*GETTERS, "P")}

    for k in range(T.size):
        gas.TPY = T[k], p[k], Y[:, k]
        for key in theirs:
            theirs[key].append(getattr(gas, GETTERS.get(key, "P")))

    theirs = {key: np.moveaxis(np.array(v), 0, -1) for key, v in theirs.items()}
    ours = mix.properties([key for key in GETTERS if key[0] != "D"], T=T, p=p, Y=Y)

    # Cantera's D is that at the pressure of its own density, which in cold liquid is off by up to 1e-9
    ours.update(mix.properties("D D_mole D_mass D_ij", T=T, p=theirs.pop("P"), Y=Y))
    ours["D_ij"] = ours["D_ij"].reshape(mix.ns, mix.ns, -1)
    bounds = evaluate(mix.species, T, p, Y, fit=binary_fit(mix.species, *mix.species.T_fit), **OPTIONS)

    return ours, theirs, bounds, Y


@pytest.mark.parametrize("name", ("n2", "h2_o2", "ch4_o2"))
@pytest.mark.quick(name="h2_o2")
def test_enough_states(name):
    assert both(name)[3].shape[1] > 600


@pytest.mark.parametrize("quantity", GETTERS)
@pytest.mark.parametrize("name", ("n2", "h2_o2", "ch4_o2"))
@pytest.mark.quick(name="h2_o2")
def test_same_as_cantera(name, quantity):
    """1e-9 where conditioning allows, beyond that 64 times the oracle's rounding bound: Cantera divides a'' by alpha,
    stops its Newton early and cancels M - x_k W_k and 1 - x_k. D also has the step of its table where Pr crosses 0.1.
    """
    ours, theirs, q, Y = both(name)
    got, expected = ours[quantity], theirs[quantity]
    limit = 1e-9 * np.abs(expected) + 64 * EPS * getattr(q, quantity).err
    error = np.abs(got - expected)

    if quantity in ("D", "D_mole", "D_mass") and len(Y) > 1:
        rest = np.minimum(1 - Y, 1 - value(q.X).astype(float))
        limit = limit + 64 * EPS * np.abs(expected) / np.maximum(rest, 1e-300)
        error = np.where(rest < 1e-6, 0, error)  # Cantera's 0/0

    assert np.isfinite(expected).all() or quantity in ("D", "D_mole", "D_mass")
    outside = ~(error <= limit)
    assert not outside.any(), (
        f"{outside.sum()} of {error.size} outside, worst {np.nanmax(error / limit):.3g} times the limit"
    )

    relative = error / np.maximum(np.abs(value(getattr(q, quantity))).astype(float), 1e-300)
    assert np.nanmedian(relative) < 1e-12


@pytest.mark.parametrize("name", ("n2", "h2_o2", "ch4_o2"))
@pytest.mark.long(name="ch4_o2")
def test_lucas_viscosity_is_cantera_s(name):
    """Its transport model `high-pressure`, wherever it gives an answer; T_r <= 1 (its vapour pressure is another)
    included."""
    path = str(MIXTURES / f"{name}.yaml")
    gas = ct.Solution(path, transport_model="high-pressure")
    mix = Mixture.from_yaml(path, viscosity="lucas", chung="cantera")
    T, p, Y = random_states(mix.ns, 600, seed=9)
    theirs, at = np.full(T.size, np.nan), np.empty(T.size)

    for k in range(T.size):
        gas.TPY = T[k], p[k], Y[:, k]
        at[k] = gas.P  # that of its own density
        with contextlib.suppress(ct.CanteraError):
            theirs[k] = gas.viscosity

    ours = mix.properties("mu", T=T, p=at, Y=Y)["mu"]
    both = np.isfinite(theirs) & np.isfinite(ours)
    hot = T > mix.species.Tc @ (Y / mix.species.W[:, None] / (Y / mix.species.W[:, None]).sum(0))

    assert both.sum() > 300 and (both & ~hot).any()
    assert (np.isfinite(ours) | ~np.isfinite(theirs))[hot].all()

    # about twenty powers and exponentials in double precision, Tr^-37.7 and ln^4 Y among them
    np.testing.assert_allclose(ours[both], theirs[both], rtol=1e-12)
