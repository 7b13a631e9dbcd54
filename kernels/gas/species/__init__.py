"""Species input: constants, polynomials and transport data of a mixture, from arrays or from a Cantera file."""

from .data import (  # noqa: F401
    BOUNDS,
    CRITICAL,
    GAS_CONSTANT,
    KIJ_LIMIT,
    NASA_CONTINUITY,
    OMEGA_A,
    OMEGA_B,
    OMEGA_VC,
    ONE_ATM,
    OPTIONAL,
    NoSpecies,
    SpeciesData,
    nasa7,
    nasa9,
)
