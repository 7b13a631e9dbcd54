"""Species input: constants, polynomials and transport data of a mixture, from arrays or from a Cantera file."""

from .arrays import KIJ_LIMIT  # noqa: F401
from .data import NASA_CONTINUITY, NoSpecies, SpeciesData, nasa7, nasa9  # noqa: F401
from .fields import CRITICAL, OMEGA_A, OMEGA_B, OMEGA_VC, ONE_ATM  # noqa: F401
from .gas_constant import GAS_CONSTANT  # noqa: F401
