"""Every value of every option has an oracle, and that oracle tells the value from the other values."""

import numpy as np
import pytest
import test_kinetics as rates
from kernel_cases import alone, assert_as_oracle
from mixtures_for_tests import species_set
from reference import evaluate, phases
from reference.options import ORACLES, Alone, Data, Phases, Rates, ThirdPhase, TwoPhaseViscosity

import kernels
from kernels import Mixture, MixtureError

OPTIONS = dict(kernels.OPTIONS)  # of the project: other tests declare more
VALUES = [(option, value) for option, values in OPTIONS.items() for value in values]


def values_with(kind):
    return [key for key in VALUES if isinstance(ORACLES.get(key), kind)]


def test_every_value_has_an_oracle():
    missing = [f"{option} = {value}" for option, value in VALUES if (option, value) not in ORACLES]
    assert not missing, f"{missing}: wanted a row in tests/reference/options.py"
    gone = [f"{option} = {value}" for option, value in ORACLES if (option, value) not in VALUES]
    assert not gone, f"{gone}: no such value is declared"


def others(option, value):
    """The other values of an option that the same kernels serve, by other rules."""
    row = ORACLES[option, value]
    for other in OPTIONS[option]:
        found = ORACLES.get((option, other))
        if other == value or found is None or found.kernels != row.kernels:
            continue

        is_same_rule = row.same_as == other or found.same_as == value
        if not is_same_rule:
            yield other


@pytest.mark.parametrize("option, value", values_with(Alone), ids=str)
def test_kernels_of_a_value(option, value):
    """The kernels that read the option, alone: as the oracle of this value, and not as the oracle of another value."""
    row = ORACLES[option, value]
    options = {**dict(row.beside), option: value}
    found = {name: alone(name, row.species, row.states, **options) for name in row.kernels}

    for name, (inputs, got) in found.items():
        assert_as_oracle(name, row.species, inputs, got, **options)

    for other in others(option, value):
        with pytest.raises(AssertionError):  # the oracle of another value
            for name, (inputs, got) in found.items():
                assert_as_oracle(name, row.species, inputs, got, **{**options, option: other})


@pytest.mark.parametrize("option, value", values_with(Rates), ids=str)
def test_rates_of_a_value(option, value):
    row = ORACLES[option, value]
    mix, (T, p, Y) = rates.mixture(**dict(row.beside), **{option: value}), rates.states()
    got = mix.properties(row.quantities, T=T, p=p, Y=Y)

    rates.compare(mix, got, wanted_rates(mix, option, value, T, p, Y))

    for other in OPTIONS[option]:
        if other != value:
            with pytest.raises(AssertionError):
                rates.compare(mix, got, wanted_rates(mix, option, other, T, p, Y))


def wanted_rates(mix, option, value, T, p, Y):
    """The oracle's rates with this value, whatever the mixture has."""
    chosen = {**mix.options, option: value}
    return rates.oracle(mix, T, p, Y, chosen["chebyshev"] == "clamp", chosen["kinetics"])


@pytest.mark.parametrize("option, value", values_with(Phases), ids=str)
def test_phases_of_a_value(option, value):
    """CH4 and CO2 at 225 K and 20 bar, two phases: rho of the value, and far from the other's. 1e-9: substitution ends
    at 1e-13 of ln K, some 1e-11 of beta."""
    data, T, p = species_set(2), np.array([225.0]), np.array([2e6])
    X = np.array([[0.5], [0.5]])
    split = phases.split(data, T, p, X)
    assert split.two and 0.1 < split.beta < 0.9
    rho = {
        True: phases.mixture_of(data, T, p, split).rho,
        False: evaluate(data, T, p, X=X, tracked=False, transport=False).rho,
    }

    got = Mixture(data, **{option: value}).properties("rho", T=T, p=p, X=X)["rho"]

    two = ORACLES[option, value].two
    np.testing.assert_allclose(got, rho[two].astype(float), rtol=1e-9)
    assert abs(got - rho[not two]) > 0.05 * got


@pytest.mark.parametrize("option, value", values_with(ThirdPhase), ids=str)
@pytest.mark.filterwarnings("ignore:a third phase would lower")
def test_third_phase_of_a_value(option, value):
    """CH4, CO2 and water at 225 K: the split in two is kept, and a trial phase lies far below the tangent plane of its
    phases."""
    data, T, p = species_set(10), np.array([225.0]), np.array([2e6])
    X = np.zeros((10, 1))
    X[[data.names.index(name) for name in ("CH4", "CO2", "H2O")], 0] = 0.3, 0.4, 0.3

    got = Mixture(data, phases="equilibrium", **{option: value}).properties("phases_status beta Y_l", T=T, p=p, X=X)
    x = got["Y_l"] / data.W[:, None]
    tm, _ = phases.tangent_distance(data, T, p, x / x.sum(0))

    assert tm < -0.1 and 0.1 < got["beta"] < 0.9
    assert got["phases_status"] == ORACLES[option, value].status


@pytest.mark.parametrize("option, value", values_with(TwoPhaseViscosity), ids=str)
def test_viscosity_of_two_phases_of_a_value(option, value):
    """The state of test_phases_of_a_value; each phase's viscosity by the oracle. 1e-8: mu of the liquid grows with
    some power of 6 of the density, whose error there is 1e-9."""
    data, T, p = species_set(2), np.array([225.0]), np.array([2e6])
    X = np.array([[0.5], [0.5]])
    split = phases.split(data, T, p, X)
    whole = phases.mixture_of(data, T, p, split)
    v, l = (evaluate(data, T, p, X=x, tracked=False) for x in (split.y, split.x))
    w = whole.beta_mass
    shares = w, w * whole.rho / v.rho
    wanted = {name: row.whole(v.mu, l.mu, *shares) for (of, name), row in ORACLES.items() if of == option}

    got = Mixture(data, phases="equilibrium", **{option: value}).properties("mu", T=T, p=p, X=X)["mu"]

    np.testing.assert_allclose(got, wanted.pop(value).astype(float), rtol=1e-8)
    assert all(abs(got / other - 1) > 0.05 for other in wanted.values())


FILE = """
phases: [{name: gas, thermo: Peng-Robinson, species: [C2H5OH]}]
species:
- {name: C2H5OH, composition: {C: 2, H: 6, O: 1}, thermo: {model: NASA7, temperature-ranges: [200.0, 6000.0],
     data: [[4.0, 0, 0, 0, 0, -1000.0, 4.0]]}}
"""


@pytest.mark.parametrize("option, value", values_with(Data), ids=str)
def test_data_of_a_value(option, value, tmp_path):
    """Ethanol in a file without critical properties. 0.1 % in Tc, 2 % in pc and omega: sources differ by that much."""
    row, path = ORACLES[option, value], tmp_path / "ethanol.yaml"
    path.write_text(FILE)

    if row.Tc is None:
        with pytest.raises(MixtureError, match="critical"):
            Mixture.from_yaml(path, **{option: value}).properties("rho", T=300.0, p=1e5, X=np.ones(1))
        return

    species = Mixture.from_yaml(path, **{option: value}).species
    np.testing.assert_allclose(species.Tc, row.Tc, rtol=1e-3)
    np.testing.assert_allclose(species.pc, row.pc, rtol=2e-2)
    np.testing.assert_allclose(species.omega, row.omega, rtol=2e-2)
