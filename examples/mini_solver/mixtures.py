"""The mixture of a case, as the layer has it."""

import importlib.util
import math
import pathlib

from kernels import Mixture, SpeciesData

from .errors import check_known, wanted
from .expression import is_number


def cantera_folders() -> list[pathlib.Path]:
    """Where Cantera keeps its mechanisms; empty where it is not installed. Nothing is imported."""
    found = importlib.util.find_spec("cantera")
    if found is None:
        return []

    return [pathlib.Path(place) / "data" for place in found.submodule_search_locations or ()]


def make(given, file):
    """The layer's Mixture. given: section [mixture]; file: where its species are, None for an ideal gas and for species
    that the layer brings."""
    for option, served, words in (("mixing", "vdw", "'vdw'"), ("translation", "none", "untranslated volumes")):
        value = given["options"].get(option, served)
        said = f"[mixture] options: {option} = {value!r}; the solver's kernels know {words} only."
        wanted(value == served, said)

    if given["ideal_gas"]:
        g = {"gamma": 1.4, "W": 0.028}
        check_known(given["ideal_gas"], g, "[mixture] ideal_gas: unknown key")
        g |= given["ideal_gas"]
        fit = all(map(is_number, g.values())) and 1 < g["gamma"] < 5 / 3 + 1e-9 and g["W"] > 0
        wanted(fit, f"[mixture] ideal_gas = {given['ideal_gas']}; wanted gamma (1 to 5/3) and W [kg/mol].")

        return Mixture(ideal_gas_species(**g), **given["options"])

    names = given["species"]
    if file:
        data, options = species_from_file(given, file)
    else:
        names = names_that_the_layer_has(given)
        data, options = Mixture.species_from_names(dict.fromkeys(names), **given["options"])
    if names:
        data = with_copies(data, names)

    return untranslated(Mixture(data, **options))


def untranslated(mixture):
    """The mixture, without the translation that the layer chooses by default where it has no better equation."""
    if mixture.options["translation"] == "none":
        return mixture
    return Mixture(mixture.species, **mixture.options | {"translation": "none"})


def species_from_file(given, file):
    """Species of the file, all of them, and the options of the mixture. The options decide what the file has to have:
    an ideal gas, for example, needs no critical properties."""
    return Mixture.species_from_yaml(file, given["phase"] or None, without=given["without"], **given["options"])


def names_that_the_layer_has(given):
    """The species of the section as the layer's own file calls them; a copy of a species comes again."""
    for key in ("phase", "without"):
        wanted(not given[key], f"[mixture] {key} = {given[key]!r}: belongs to a file, and no file is given.")

    check_names(given["species"])
    return [Mixture.known_name(name) for name in given["species"]]


def ideal_gas_species(gamma, W):
    """A species that Peng-Robinson treats as an ideal gas of constant gamma to 1e-10: Tc = 1 K, alpha = 1."""
    omega = (1.54226 - math.sqrt(1.54226**2 + 4 * 0.26992 * 0.37464)) / (2 * 0.26992)  # where kappa(omega) = 0
    row = [gamma / (gamma - 1), 0, 0, 0, 0, 0, 0]
    return SpeciesData.from_arrays(["gas"], [W], [omega], [row], [row], [1000.0], Tc=1.0, pc=1e10, T_min=1.0, T_max=1e4)


def check_names(names):
    wanted(all(isinstance(n, str) for n in names), f"[mixture] species = {names}; wanted a list of names.")


def with_copies(data, names):
    """A subset of the species; a name given again becomes a second species of the same data, `N2`, `N2_2`, ...: a
    tracer."""
    check_names(names)
    names = [data.names[data.index(name)] for name in names]
    if len(set(names)) == len(names):
        return data.subset(names)

    return data.subset(
        names, [n if names[:i].count(n) == 0 else f"{n}_{names[:i].count(n) + 1}" for i, n in enumerate(names)]
    )
