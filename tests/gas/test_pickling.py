"""Mixtures that were used are copied, pickled and sent to other processes: the same bits come back."""

import concurrent.futures
import copy
import multiprocessing
import pickle

import numpy as np
import pytest
from mixtures_for_tests import ROOT

from kernels import Mixture, MixtureError, NoSpecies

T = np.linspace(150.0, 2500.0, 7)


def used() -> Mixture:
    mix = Mixture.from_yaml(ROOT / "examples/mixtures/ch4_o2_4.yaml", equation="srk", lewis={"O2": 1.1})
    numbers(mix)
    mix.properties("rho", T=300.0, p=1e5, Y="CH4:1")  # one state, whose call is bound and has a lock
    return mix


def numbers(mix: Mixture) -> dict:
    """All that a process of a pool computes; its results go back by pickle."""
    Y = {name: 1.0 + s for s, name in enumerate(mix.names)}
    return mix.properties("rho h c mu lam D", T=T, p=1e7, Y=Y, backend="cpu")


def assert_same(found: dict, wanted: dict) -> None:
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        assert np.isfinite(values).all()
        np.testing.assert_array_equal(found[name], values, err_msg=name)


COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{
        f"pickle {n}": lambda mix, n=n: pickle.loads(pickle.dumps(mix, n))
        for n in range(2, pickle.HIGHEST_PROTOCOL + 1)
    },
}


@pytest.mark.parametrize("way", COPIES)
def test_a_copy_after_use(way):
    mix = used()
    other = COPIES[way](mix)

    assert (other.names, other.options, other.notes) == (mix.names, mix.options, mix.notes)
    assert_same(numbers(other), numbers(mix))
    assert other.species.atoms == mix.species.atoms != {}


@pytest.mark.parametrize("way", ["deepcopy", "pickle 5"])
def test_moved_constants_are_kept(way):
    plain = used()
    mix = plain.moved(lambda array: array * (1 + 1e-3))
    wanted = numbers(mix)

    assert_same(numbers(COPIES[way](mix)), wanted)
    assert not np.array_equal(wanted["rho"], numbers(plain)["rho"])


@pytest.mark.parametrize("way", ["deepcopy", "pickle 5"])
def test_species_stay_read_only(way):
    species = COPIES[way](used()).species
    with pytest.raises(ValueError, match="read-only"):
        species.W[0] = 1.0


@pytest.mark.parametrize("way", COPIES)
def test_species_without_data(way):
    other = COPIES[way](NoSpecies(3))
    assert other.names == NoSpecies(3).names
    with pytest.raises(MixtureError, match="no species data"):
        other.W  # noqa: B018


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_in_a_pool_of_processes(method):
    mix = used()
    wanted = numbers(mix)

    context = multiprocessing.get_context(method)
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        for found in pool.map(numbers, [mix] * 3, timeout=300):
            assert_same(found, wanted)


def test_reactions_go_along():
    mix = Mixture.from_yaml(ROOT / "examples/mechanisms/h2_o2.yaml")
    state = dict(T=1500.0, p=1e6, Y="H2:1, O2:8", dt=1e-6, backend="cpu")
    wanted = mix.react(**state)
    assert wanted["status"] == 0

    assert_same(pickle.loads(pickle.dumps(mix)).react(**state), wanted)
