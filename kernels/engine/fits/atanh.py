"""atanh(x)/x = 1 + w q(w) with w = x^2, 0 <= w <= 1/2: it stands in the departure functions of a cubic equation of
state.

q is interpolated. Degree 18 is the lowest with an error below the rounding of a double (1.1e-16). Single precision has
degree 8; the error of degree 7 is three quarters of the rounding (6e-8).
"""

from decimal import Decimal
from functools import lru_cache

from .maker import INTERPOLATED, Fit, interpolated, polynomial, series

HEADER, END = "engine/numbers/platform.h", Decimal("0.5")


@lru_cache(None)
def tail(w) -> Decimal:
    """The exact q(w) = (atanh(x)/x - 1)/w."""
    return series(w, lambda n: 1 / Decimal(2 * n + 3))


def alternating(c) -> list:
    """Coefficients in ascending powers of w. The header has those of even powers first, then those of odd powers."""
    even = (len(c) + 1) // 2
    both = [0.0] * len(c)
    both[::2], both[1::2] = c[:even], c[even:]
    return both


def of_atanh(q, w) -> Decimal:
    """Relative error of 1 + w q(w)."""
    return (1 + w * polynomial(q, w)) / (1 + w * tail(w)) - 1


SETS = [
    Fit(
        "atanh",
        HEADER,
        ("} const R even =", "return"),
        "fits/atanh.py: relative error 8e-17",
        (0, END),
        of_atanh,
        INTERPOLATED,
        lambda: interpolated(tail, 18, 0, END),
        arrange=alternating,
    ),
    Fit(
        "atanh in single precision",
        HEADER,
        ("if constexpr (IN_SINGLE) { const R even =", "return"),
        "in single precision 7e-9",
        (0, END),
        of_atanh,
        INTERPOLATED,
        lambda: interpolated(tail, 8, 0, END),
        single=True,
        arrange=alternating,
    ),
]
