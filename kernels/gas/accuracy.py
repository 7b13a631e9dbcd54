"""Option accuracy: one word in place of several options, and the place where a mixture's models are chosen together."""

import os

import numpy as np

from ..engine.errors import ArgumentError, MixtureError, refuse
from .declare import option, preset
from .equations.mapped_numbers import RADICAL, has_liquid, mapped_numbers, other_data, why_not_correlated
from .species import NoSpecies
from .species.fluids import row_of

# Cantera's phase Peng-Robinson with transport high-pressure-Chung; the tests and `validate --against cantera` compare.
CANTERA = {
    "alpha": "cantera",
    "mixing": "vdw",
    "translation": "none",
    "viscosity": "chung",
    "chung": "cantera",
    "diffusion": "cantera",
    "takahashi": "table",
    "kinetics": "fugacity",
}
# By equation of state. Cantera's transport of an ideal gas and of Redlich-Kwong are fits of its own: here D alone is
# the same.
AS_CANTERA = {
    "pr": CANTERA,
    "rk": {"diffusion": "cantera", "takahashi": "off", "kinetics": "fugacity"},
    "ideal": {"diffusion": "cantera", "takahashi": "off"},
}
# Fitted to reference equations of state and transport: species of fluids.csv, others by correlations.
REFERENCE = {"equation": "mapped", "viscosity": "residual", "cold_cp": "fitted"}
# The models that come closest to reference equations, at any cost
CLOSEST = REFERENCE | {"enhancement": "critical"}
# A volume translation from measured liquid densities
FITTED = {"translation": "fitted"}
# Who gives an option of the equation of state, or a form of Chung's transport, chooses models one by one.
YIELDS = ("equation", "alpha", "mixing", "translation", "chung")


def spelled(options: dict) -> str:
    """Options as a page names them."""
    return ", ".join(f"`{key} = {value}`" for key, value in options.items())


NEAREST = "nearest"  # the default

ABOUT = {
    NEAREST: f"Stands for {spelled(REFERENCE)} where a species has a row in `fluids.csv`; "
    f"else for {spelled(FITTED)} where one has a measured liquid density; else for nothing. Species without a row are "
    "estimated by name. The first does not come into question where a species has another Tc or pc than its row. "
    "`info` and the start say which and why. As the default it leaves options alone that are given, and has no effect "
    f"beside a given {', '.join(YIELDS)}.",
    "chosen": "Each option as it is given, else its default.",
    "cantera": "Stands for the options that reproduce Cantera 3.2. "
    + "; ".join(f"`equation = {equation}`: {spelled(options)}" for equation, options in AS_CANTERA.items())
    + ".",
    "reference": f"Stands for {spelled(CLOSEST)}: what comes closest to reference equations, of liquids too.",
}


def by_environment() -> str:
    """The default that the environment names, "" for none. Raises ArgumentError for a word that is no value."""
    word = os.environ.get("FRAME_ACCURACY", "")
    refuse(word and word not in ABOUT, f"FRAME_ACCURACY is '{word}', wanted one of {', '.join(ABOUT)}.")
    return word


option(
    "accuracy",
    ABOUT,
    "one word for several options: nearest to measurements, as chosen one by one, as Cantera 3.2, or closest to "
    "reference equations",
    switch="",
    by_environment=by_environment,
    yields_to=" ".join(YIELDS),
)


def nearest(options: dict, species) -> tuple[dict, str]:
    """({option: value} nearest to measurements that these species allow, why). species: None before a file was read.

    Species with a row of fluids.csv decide for equation `mapped`. A species without a row never decides: `mapped`
    meets its measured liquid density as translation = fitted does, and without such a density either equation has
    estimates only.
    """
    if species is None or isinstance(species, NoSpecies):
        return {}, "no species yet"

    why_not = _why_not_reference(species)
    if not why_not:
        return REFERENCE, _known_and_estimated(species)

    if has_liquid(species).any():
        return FITTED, f"{why_not}; liquid densities of the species that have a measured one: within some 1 %"
    return {}, f"{why_not}, and no measured liquid density: Peng-Robinson is up to some 15 % off in cold liquids"


def _why_not_reference(species) -> str:
    """Why REFERENCE does not come into question; "" where it does."""
    if not any(row_of(species, s) for s in range(species.ns)):
        return "no species has a row of fluids.csv by its name and molar mass, so the critical data given count"

    # Who gives other critical data means another fluid. A user's table of fluids was asked for.
    others = [each for each in other_data(species) if each[0] not in species.own_fluids]
    if others:
        name, field, came, own = others[0]
        more = f", and {len(others) - 1} more such numbers" if len(others) > 1 else ""
        return f"{name} has {field} = {came:g}, its row of fluids.csv {own:g}{more}: the critical data given count"

    try:
        mapped_numbers(species)
    except MixtureError as error:
        refuse(species.own_fluids, str(error), MixtureError)
        return str(error).rstrip(".")
    return ""


def _known_and_estimated(species) -> str:
    """Sources of the numbers of equation `mapped`, by species."""
    has_row = np.array([bool(row_of(species, s)) for s in range(species.ns)])
    measured = has_liquid(species) & ~has_row
    radical = np.array([why_not_correlated(species, s) == RADICAL for s in range(species.ns)]) & ~has_row
    estimated = ~has_row & ~measured & ~radical

    said = [f"rows of fluids.csv: {species.named(has_row)}, liquid densities within some 1 %"]
    if measured.any():
        said.append(f"a measured liquid density, else estimated: {species.named(measured)}")
    if estimated.any():
        said.append(f"estimated: {species.named(estimated)}")
    if radical.any():
        said.append(f"estimated radicals: {species.named(radical)}")
    return "; ".join(said)


def as_cantera(options: dict) -> dict:
    """{option: value} of Cantera's models at the equation of these options. Raises ArgumentError for an equation that
    Cantera does not have."""
    equation = options["equation"]
    if equation not in AS_CANTERA:
        raise ArgumentError(
            f"option accuracy = 'cantera': Cantera has no equation = '{equation}'; wanted {', '.join(AS_CANTERA)}."
        )
    return AS_CANTERA[equation]


preset("accuracy", "cantera", lambda options, species: (as_cantera(options), ""))
preset("accuracy", "reference", lambda options, species: (CLOSEST, ""))
preset("accuracy", NEAREST, nearest)
