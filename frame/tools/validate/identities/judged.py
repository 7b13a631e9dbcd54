"""The subjects of the laws: inputs, quantities, and the states and models that are not judged."""

from __future__ import annotations

GIVEN = ("T", "p", "Y", "u", "v", "w")

# All quantities of all laws, so that a single compiled program is enough.
THERMAL = "W Z rho h e s cp cv gamma c rho_p rho_T h_p h_T e_p e_T s_p s_T h0 X cp_ig h_ig s_ig".split()


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
