"""atan(x)/x = 1 + w q(w) with w = x^2, 0 <= w <= tan(pi/8)^2: it stands in the critical enhancement of conductivity.

q is interpolated. Degree 10 is the lowest with an error below the rounding of a double (1.1e-16).
"""

from decimal import Decimal
from functools import lru_cache

from .atanh import alternating
from .maker import INTERPOLATED, Fit, interpolated, polynomial, series

HEADER, END = "engine/numbers/platform.h", (Decimal(2).sqrt() - 1) ** 2


@lru_cache(None)
def tail(w) -> Decimal:
    """The exact q(w) = (atan(x)/x - 1)/w."""
    return series(w, lambda n: Decimal((-1) ** (n + 1)) / (2 * n + 3))


def of_atan(q, w) -> Decimal:
    """Relative error of 1 + w q(w)."""
    return (1 + w * polynomial(q, w)) / (1 + w * tail(w)) - 1


SETS = [
    Fit(
        "atan",
        HEADER,
        ("atan_over_root(const R w) { const R w2 = w * w; const R even =", "return"),
        "fits/atan.py: relative error 7e-18",
        (0, END),
        of_atan,
        INTERPOLATED,
        lambda: interpolated(tail, 10, 0, END),
        arrange=alternating,
    ),
]
