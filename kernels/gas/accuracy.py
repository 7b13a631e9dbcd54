"""Option accuracy: one word in place of several options, and the place where a mixture's models are chosen together."""

import os

import numpy as np

from ..engine.errors import ArgumentError, refuse
from .declare import option, preset
from .equations.mapped_numbers import RADICAL, why_not_correlated
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
# A volume translation from measured liquid densities
FITTED = {"translation": "fitted"}
# Who gives an option of the equation of state, or a form of Chung's transport, chooses models one by one.
YIELDS = ("equation", "alpha", "mixing", "translation", "chung")


def spelled(options: dict) -> str:
    """Options as a page names them."""
    return ", ".join(f"`{key} = {value}`" for key, value in options.items())


ABOUT = {
    "nearest": f"Stands for {spelled(REFERENCE)} where each species that can condense has a row in `fluids.csv`; "
    f"else for {spelled(FITTED)} where one has a measured liquid density; else for nothing. `info` and the start "
    "say which and why. As the default it leaves options alone that are given, and has no effect beside a given "
    f"{', '.join(YIELDS)}.",
    "chosen": "Each option as it is given, else its default.",
    "cantera": "Stands for the options that reproduce Cantera 3.2. "
    + "; ".join(f"`equation = {equation}`: {spelled(options)}" for equation, options in AS_CANTERA.items())
    + ".",
    "reference": f"Stands for {spelled(REFERENCE)}: what comes closest to reference equations, of liquids too.",
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
    """({option: value} nearest to measurements that these species allow, why). species: None before a file was read."""
    if species is None or isinstance(species, NoSpecies):
        return {}, "no species yet"

    lacking = [name for s, name in enumerate(species.names) if not _has_numbers(species, s)]
    if lacking:
        why = f"no row of fluids.csv for {', '.join(lacking)}"
    else:
        return REFERENCE, "every species that can condense has a row of fluids.csv: liquid densities within some 1 %"

    if np.isfinite(species.liquid).all(1).any():
        return FITTED, f"{why}; liquid densities of the species that have a measured one: within some 1 %"
    return {}, f"{why}, and no measured liquid density: Peng-Robinson is up to some 15 % off in cold liquids"


def _has_numbers(species, s) -> bool:
    """Whether species s has a row, or needs none, as radicals do not condense."""
    return bool(row_of(species, s)) or why_not_correlated(species, s) == RADICAL


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
preset("accuracy", "reference", lambda options, species: (REFERENCE, ""))
preset("accuracy", "nearest", nearest)
