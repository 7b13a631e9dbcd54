"""What the laws are asked of: inputs, quantities, and the states and models that are not judged."""

from __future__ import annotations

import numpy as np

from kernels.gas.equations.mapped_numbers import coldest
from kernels.gas.equations.records import MAPPED

GIVEN = ("T", "p", "Y", "u", "v", "w")

# All quantities of all laws, so that a single compiled program is enough.
THERMAL = "W Z rho h e s cp cv gamma c rho_p rho_T h_p h_T e_p e_T s_p s_T h0 X cp_ig h_ig s_ig".split()

OF_CV = {"cv", "gamma", "c"}  # quantities that need a positive heat capacity
NEARLY_PURE = 0.9  # mole fraction


def too_cold(mixture, states, X) -> np.ndarray:
    """States (n,) at which equation mapped says that cv of a nearly pure fluid may be negative, far below freezing."""
    if mixture.options["equation"] not in MAPPED:
        return np.zeros(states["T"].shape, bool)
    return ((X > NEARLY_PURE) & (states["T"] < coldest(mixture.species)[:, None])).any(0)


def unjudged(mixture) -> set[str]:
    """Quantities that are not judged: the transport model has no values, negative values, poles or steps there."""
    viscosity = mixture.options["viscosity"]
    published = mixture.options["chung"] != "polefree"

    out = set()
    if viscosity == "lucas" or (viscosity == "chung" and published):
        out.add("mu")
    if viscosity in ("chung", "lucas") and published:
        out.add("lam")

    return out
