"""Declarations of models beside their bodies: options, exclusions, constants. A mixture asks for constants only when a
kernel does."""

import dataclasses
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from mixtures_for_tests import ROOT, species_set

import kernels
from kernels import ArgumentError, Constants, Mixture, MixtureError, NoSpecies, constant, registry, set_constant
from kernels.engine.registry import declared
from kernels.gas.declare import exclusion

HEADER = """#pragma once
template <class M, class R> POINT_FN void own_scaled(const M &m, const R T, R &mu) { mu = T * m.own_factor[0]; }
template <class M, class R, class S> POINT_FN void own_mean(const M &m, const S &Y, R &mu) {
    mu = R(0.0);
    FOR_SPECIES (s, M::NS) mu += Y[s] * m.own_mass[s];
    if constexpr (M::OWN_POWER == 2) mu = mu * mu;
}
"""
DECLARATION = """
from kernels import Constants, MixtureError, constants, option, point_kernel

calls = []

def given(species, options):
    return Constants({"own_factor": [2.5]})

def own_mass(species, options):
    calls.append(options["own"])
    species.refuse([name == "CO2" and options["own"] == "picky" for name in species.names], "a mass of its own")
    return Constants({"own_mass": species.W}, sizes={"OWN_POWER": 2 if options["own"] == "square" else 1})

option("own", dict.fromkeys(("plain", "square", "picky"), "text"), "a host's own choice")
constants("own_factor", given)
constants("own_mass own_other", own_mass)
about = dict(header="own.h", source="test", valid="everywhere")
point_kernel("own_scaled", reads="T", writes="mu", constants="own_factor", **about)
point_kernel("own_mean", reads="Y", writes="mu", constants="own_mass", **about)
"""


@pytest.fixture
def own(tmp_path):
    """A declaration file with constants; the registry is the process's, so it is put back after."""
    (tmp_path / "own.h").write_text(HEADER)
    (tmp_path / "own.py").write_text(DECLARATION)
    with registry.temporary():
        assert kernels.load_declarations(tmp_path / "own.py") == ["own_mean", "own_scaled"]
        yield tmp_path / "own.py"


def calls():
    """The options with which the file's own_mass was asked."""
    return list(registry.providers.values())[-1].make.__globals__["calls"]


def test_every_value_of_an_option_says_what_it_does():
    for option in registry.options.values():
        assert option.values == tuple(dict(option.about)) and all(len(text) > 10 for _, text in option.about)
    with pytest.raises(ArgumentError, match="option 'old': 'plain square' came, wanted a dictionary"):
        kernels.option("old", "plain square")


def test_a_hosts_own_constants(own):
    data = species_set(2)
    Y = np.array([0.25, 0.75])

    for value, power in (("plain", 1), ("square", 2)):
        out = Mixture(data, own=value).kernel("own_mean")(Y=Y[:, None], backend="cpu")
        np.testing.assert_allclose(out["mu"], (Y @ data.W) ** power, rtol=1e-15)

    with pytest.raises(ArgumentError, match="option own = 'wild'; wanted one of plain, square, picky"):
        Mixture(data, own="wild")
    assert kernels.OPTIONS["own"] == ("plain", "square", "picky")


def test_constants_are_made_when_asked_for_and_once(own):
    mix = Mixture(species_set(2))
    assert mix.constant("W").kind == "values" and not calls()
    assert mix.constant("own_mass").array is mix.constant("own_mass").array and calls() == ["plain"]

    known = mix.constant("own_other")  # declared, but not made for these options
    assert (known.kind, known.array, known.of.sizes) == (None, None, {"OWN_POWER": 1}) and calls() == ["plain"]
    assert mix.constant("nobodys") is None
    kinds = [mix.constant(name).kind for name in ("chung_pair", "chung_rows", "takahashi_cubics")]
    assert kinds == ["pairs", "rows", "tables"]


def test_what_the_species_lack_is_told_by_the_kernel_that_asks(own):
    mix = Mixture(species_set(2), own="picky")
    with pytest.raises(MixtureError, match="^species CO2 without a mass of its own$"):
        mix.constant("own_mass")

    with pytest.raises(
        ArgumentError, match="'own_mean' cannot be used with this mixture: species CO2 without a mass of its own"
    ):
        mix.kernel("own_mean")(Y=np.ones((2, 1)) / 2, backend="cpu")

    assert mix.kernel("own_scaled")(T=300.0, backend="cpu")["mu"] == 750


def test_without_species(own):
    """A host's own kernels, constants of given values included; whatever asks for species data is refused."""
    mix = Mixture(NoSpecies(3))
    assert mix.kernel("own_scaled")(T=300.0, backend="cpu")["mu"] == 750
    with pytest.raises(ArgumentError, match="'molar_mass' cannot be used with this mixture: there are no species data"):
        mix.kernel("molar_mass")(Y=np.ones((3, 1)) / 3, backend="cpu")


def test_a_file_may_be_loaded_again(own):
    count = len(registry.providers)
    assert kernels.load_declarations(own) == [] and len(registry.providers) == count


def test_a_name_has_one_maker(own):
    with pytest.raises(ArgumentError, match="constant 'own_mass' is already made by declared_own.own_mass"):
        kernels.constants("own_mass", lambda species, options: Constants())
    kernels.constants("shift_mass", lambda species, options: Constants(), when={"translation": "none"})  # apart


def test_a_maker_keeps_to_its_names_and_to_numbers(own):
    kernels.constants("own_third", lambda species, options: Constants({"own_third": [np.nan]}))
    with pytest.raises(MixtureError, match="constant 'own_third' is not finite; check the species data of CH4, CO2"):
        Mixture(species_set(2)).constant("own_third")

    kernels.constants("own_fourth", lambda species, options: Constants({"own_fifth": [1.0]}), when={"own": "square"})
    with pytest.raises(ArgumentError, match="made 'own_fifth', which is not among its names, own_fourth"):
        Mixture(species_set(2), own="square").constant("own_fourth")


def test_values_are_added_to_an_option_and_may_be_excluded(own):
    kernels.option("own", {"cubic": "text"}, needs={"cubic": ("fuller_volume",)})
    exclusion(lambda o: o["own"] == "cubic" and o["equation"] == "srk", "own = '{own}' without {equation}")
    assert kernels.OPTIONS["own"] == ("plain", "square", "picky", "cubic")

    data = species_set(2)
    with pytest.raises(ArgumentError, match="^own = 'cubic' without srk$"):
        Mixture(data, own="cubic", equation="srk")

    lacking = dataclasses.replace(data, fuller_volume=np.array([1.0, np.nan]))
    with pytest.raises(MixtureError, match=r"'CO2': Fuller diffusion volume .* is missing; own cubic needs it"):
        Mixture(lacking, own="cubic")


def test_a_header_is_found_beside_its_declaration_or_by_its_path(own):
    words = dict(reads="T", writes="mu", source="test", valid="everywhere")
    with pytest.raises(ArgumentError, match="header .*own.h' does not exist"):
        kernels.point_kernel("own_scaled_again", header="own.h", **words)  # nothing is being loaded
    made = kernels.point_kernel("own_scaled_again", header=own.parent / "own.h", **words)
    assert made.header == registry.kernels["own_scaled"].header

    with pytest.raises(ArgumentError, match="unknown argument 'pack', did you mean 'packs'; wanted packs, alone, "):
        kernels.point_kernel("own_packed", header=own.parent / "own.h", pack=4, **words)


@pytest.mark.parametrize("given", [{"lewis": 1.5}, {"lewis": {"CO2": 1.5}}])
def test_numbers_of_species_reach_their_model(given):
    expected = [1 / 1.5, 1 / 1.5] if given["lewis"] == 1.5 else [1.0, 1 / 1.5]
    assert Mixture(species_set(2), **given).constant("inv_lewis").array.tolist() == expected


@pytest.mark.parametrize("name, value", [("rtol", -1.0), ("rtol", 0.0), ("rtol", 1e6), ("atol", 0.0), ("most", 0.5)])
def test_constants_keep_to_their_range(name, value):
    name = f"react_{name}"
    before = declared.constants.value_of(name)
    low, high = registry.settable[name].range

    with pytest.raises(ArgumentError, match=re.escape(f"'{name}' [1]: {value} came, wanted {low:g} to {high:g}.")):
        set_constant(name, value)
    np.testing.assert_array_equal(declared.constants.value_of(name), before)


def test_a_range_that_is_none():
    for given in ((2, 1), "ab", (1,), (0, float("nan"))):
        with pytest.raises(ArgumentError, match="constant 'ranged': range = .* wanted .smallest, largest"):
            constant("ranged", "1", "a test", range=given)
    with pytest.raises(ArgumentError, match="constant 'ranged' .*: 3.0 came, wanted 1 to 2"):
        constant("ranged", "1", "a test", 3.0, range=(1, 2))


@pytest.mark.parametrize("folder", [".", "elsewhere"])
def test_a_program_has_its_header_beside_it(folder, tmp_path):
    """A script that declares a kernel itself, run from any folder; the header that is named is the missing one."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "twofold.h").write_text("template <class M, class R> POINT_FN void twofold(const M &, R T, R &mu) {}\n")
    program = tmp_path / "program.py"
    declared = "point_kernel('twofold', header={!r}, reads='T', writes='mu', source='', valid='')"
    lines = ["from kernels import point_kernel", declared.format("twofold.h"), declared.format("none.h")]
    program.write_text("\n".join(lines))

    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = [sys.executable, str(program)]
    done = subprocess.run(run, cwd=tmp_path / folder, env=environment, capture_output=True, text=True)
    assert f"header '{tmp_path / 'none.h'}' does not exist" in done.stderr, done.stderr
