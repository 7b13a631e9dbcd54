"""Transport of dilute gases: Sutherland's or a power law for each species, Wilke's and Mathur's rules (option viscosity
= sutherland, powerlaw)."""

import pathlib

from ...declare import point_kernel
from ..ideal_gas import NASA
from . import chung  # noqa: F401  (whose mu and lam these are)

HERE = pathlib.Path(__file__).parent

point_kernel(
    "wilke_transport",
    header=HERE / "ideal_transport.h",
    reads="T Y W",
    writes="mu lam",
    constants=NASA + " viscosity_factor viscosity_constant wilke_mass wilke_pair eucken",
    source="Wilke 1950; Mathur, Tondon & Saxena 1967; Eucken's lam = mu (cp + 5/4 R/W) (originals not seen, as in "
    "Poling et al. and Cantera)",
    valid="T > 0; low density",
    when={"viscosity": "sutherland powerlaw"},
)
