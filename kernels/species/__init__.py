"""Species input: constants, polynomials and transport data of a mixture, from arrays or from a Cantera file."""
from .data import (BOUNDS, CRITICAL, GAS_CONSTANT, KIJ_LIMIT, NASA_CONTINUITY, OMEGA_A, OMEGA_B, ONE_ATM, OPTIONAL,  # noqa: F401
                   SpeciesData, nasa7, nasa9)  # noqa: F401
