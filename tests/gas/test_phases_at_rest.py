"""Points of one phase that rest in the room of their last test, several packs at a time, and each beside a point that
does not: the same by rounding."""

import numpy as np
import pytest
from phases_for_tests import SPRAY, mixture

N = 96  # points, several packs of whatever width
OUTPUTS = "T p vol rho h cp c ln_kappa eta phases_status phases_steps"
START = "ln_kappa eta"
ROUNDING = 1e-12  # other orders of sums: some eps, ten times more by the root of the cubic


def rested(given: str):
    """What is given of N points that have settled, some by their temperature, some in a room of their own; their
    results a call later."""
    mix = mixture(SPRAY)
    T = np.where(np.arange(N) % 3 == 0, 900.0, np.linspace(300.0, 330.0, N))
    X = np.stack([np.linspace(0.02, 0.05, N), np.linspace(0.98, 0.95, N)])
    X = np.where(T > 800.0, X[::-1], X)
    state = mix.properties("e rho Y", T=T, p=np.full(N, 2e7), X=X) | {"T": T, "p": np.full(N, 2e7)}

    start = {"T_start": T} if "e" in given.split() else {}
    inputs = {name: state[name] for name in given.split()} | start | {"Y": state["Y"]}
    inputs |= {"ln_kappa": np.zeros((2, N)), "eta": np.zeros(N)}
    for _ in range(4):
        found = mix.properties(OUTPUTS, **inputs)
        inputs |= {name: found[name] for name in START.split()}
    return inputs, mix.properties(OUTPUTS, **inputs)


@pytest.mark.parametrize("given", ["T p", "e rho"])
def test_points_at_rest_beside_others(given):
    """All rest; then each third point begins from nothing, so that no pack rests."""
    mix = mixture(SPRAY)
    inputs, resting = rested(given)
    assert np.all(resting["phases_steps"] == 1) and np.all(resting["phases_status"] == 0)
    for name in START.split():
        np.testing.assert_array_equal(resting[name], inputs[name])

    others = np.arange(N) % 3 == 1
    mixed = inputs | {
        "ln_kappa": np.where(others, 0.0, inputs["ln_kappa"]),
        "eta": np.where(others, 0.0, inputs["eta"]),
    }
    found = mix.properties(OUTPUTS, **mixed)
    assert np.all(found["phases_steps"][others] > 1) and np.all(found["phases_status"] == 0)
    for name in ("T", "p", "vol", "rho", "h", "cp", "c"):
        np.testing.assert_allclose(found[name], resting[name], rtol=ROUNDING)


@pytest.mark.parametrize("given", ["T p", "e rho"])
@pytest.mark.parametrize("name", ["first", "second", "Y"])
def test_nan_at_rest(given, name):
    """A NaN among points at rest: its results are NaN with status 2, its neighbours' are as they were."""
    mix = mixture(SPRAY)
    inputs, resting = rested(given)
    name = {"first": given.split()[0], "second": given.split()[1]}.get(name, name)
    wrong = inputs[name].copy()
    wrong[..., 37] = np.nan

    found = mix.properties(OUTPUTS, **inputs | {name: wrong})
    assert found["phases_status"][37] == 2 and np.isnan(found["vol"][37])
    fine = np.arange(N) != 37
    for quantity in ("T", "p", "vol", "h"):
        np.testing.assert_allclose(found[quantity][fine], resting[quantity][fine], rtol=ROUNDING)


def test_points_that_settle_anew():
    """Hot points that leave their room settle where they are; others that leave it are tested."""
    mix = mixture(SPRAY)
    inputs, resting = rested("T p")
    hot = inputs["T"] > 800.0
    found = mix.properties(OUTPUTS, **inputs | {"T": inputs["T"] * 1.05})
    assert np.all(found["phases_steps"][hot] == 1) and np.all(found["phases_steps"][~hot] > 1)
    assert np.all(found["eta"][hot] - resting["eta"][hot] > 40.0)
