"""States from other variables than T and p: T from (h, p), (e, rho), (s, p) or (p, rho), p from (rho, T); composition
given.

Each is taken where its names are given: properties("T c", h=..., p=..., Y=...). T_start, when given, starts the
iteration. `unconverged` tells hosts by point what was not found.
"""

from ..declare import point_kernel, quantity
from ..registry import registry
from ..thermal.ideal_gas import END
from .cubic import DELTA, FAMILY

for name, unit, what in (
    ("T_start", "K", "start of the iteration for T; where it is not between 20 K and the end of the search, 300 K"),
    (
        "unconverged",
        "1",
        "0: T found; 1: no state has the value given, T is where h, s or e jumps over it; 2: nothing found, T is NaN",
    ),
):
    quantity(name, unit, what)

PAIRS, NASA = (" ".join(registry.kernels[name].constants) for name in ("cubic_mixture", "ideal_gas"))
SINGLE = (
    "it ends where a step is below 1e-9 of T, and rounding h, e or s to single (6e-8) moves T by more, "
    "in boiling mixtures by any amount"
)
METHOD = f"Newton's method in a bracket of 20 to {END}, 60 steps at most"
RANGE = f"T from 20 to {END}"
NOTE = (
    "1 in unconverged: h between two phases of equal Gibbs energy (a mixture boils at one temperature here), or at a "
    "temperature where an f_i of a published alpha changes sign, since a' jumps there"
)


def inversion(name, reads, given, more="", valid=f"{RANGE}; p > 0", also=""):
    """Declare the two kernels of an inversion: with a start of the host's own, T_start, and without.

    name: of the pair in the kernels' names. reads, given: as in point_kernel. more: further constants. also: results
    beside T and unconverged.
    """
    for start in ("", " T_start"):
        point_kernel(
            f"temperature_from_{name}{start.replace(' T', '')}",
            header="gas/equations/inversion.h",
            sweeps="states",
            reads=reads + start,
            writes=f"T unconverged{also}",
            given=given + start,
            constants=f"{PAIRS} {DELTA} {NASA}{more}",
            source=METHOD,
            valid=valid,
            note=NOTE,
            when={"equation": FAMILY},
            double_only=SINGLE,
        )


inversion("h_p", "h p Y R_s", "h", " h_mid?")
inversion("s_p", "s p Y W R_s", "s", " inv_p_ref")
inversion("e_rho", "e rho Y R_s", "e rho", " h_mid?", valid=f"{RANGE}; 1/rho > b")
inversion("p_rho", "p rho Y R_s", "p rho", valid=f"{RANGE}; 1/rho > b", also=" Z vol v_free")


def ideal_kernel(name, reads, writes, given, source, valid, **more):
    """Declare a kernel of ideal gases."""
    point_kernel(
        name,
        header="gas/equations/inversion.h",
        sweeps="states",
        reads=reads,
        writes=writes,
        given=given,
        source=source,
        valid=valid,
        when={"equation": "ideal"},
        **more,
    )


for name, reads, given, further in (
    ("h", "h Y", "h", " h_mid?"),
    ("e", "e Y R_s", "e", " h_mid?"),
    ("s_p", "s p Y W", "s", " inv_p_ref"),
):
    ideal_kernel(
        f"ideal_temperature_from_{name}",
        reads,
        "T unconverged",
        given,
        METHOD,
        RANGE,
        constants=f"{NASA}{further}",
        packs=2,
        double_only=SINGLE,
    )
ideal_kernel(
    "ideal_temperature_from_p_rho",
    "p rho R_s",
    "T unconverged",
    "p rho",
    "definition, T = p/(rho R_s)",
    f"{RANGE} (else NaN)",
    constants="T_end?",
)
ideal_kernel("ideal_pressure", "rho T R_s", "p", "rho", "definition, p = rho R_s T", "rho > 0, T > 0")
point_kernel(
    "cubic_pressure",
    header="gas/equations/inversion.h",
    sweeps="states",
    reads="rho T R_s a_mix b_mix shift_mix delta_mix?",
    writes="p Z vol v_free",
    given="rho",
    constants=DELTA,
    source="the equation's own (equations/records.py; originals not seen)",
    valid="1/rho > b (else NaN); p may be negative",
    when={"equation": FAMILY},
    note="the density given chooses the root",
)
point_kernel(
    "cubic_residual_entropy_of_density",
    header="gas/equations/inversion.h",
    packs=4,
    reads="rho R_s a_T b_mix shift_mix delta_mix?",
    writes="residual_entropy",
    given="rho",
    constants=DELTA,
    source="the equation's own (equations/records.py; originals not seen), departure function",
    valid="1/rho > b (else NaN)",
    when={"equation": FAMILY},
    note="no root is sought: the density given is the state's",
)
