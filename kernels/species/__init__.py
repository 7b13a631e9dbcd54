"""Species input: constants, polynomials and transport data of a mixture, from arrays or from a Cantera file."""

from .data import (  # noqa: F401
    BOUNDS,
    CRITICAL,
    GAS_CONSTANT,
    KIJ_LIMIT,
    NASA_CONTINUITY,
    OMEGA_A,
    OMEGA_B,
    ONE_ATM,
    OPTIONAL,
    SpeciesData,  # noqa: F401
    nasa7,
    nasa9,
)
