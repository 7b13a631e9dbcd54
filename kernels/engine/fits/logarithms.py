"""ln m of m between sqrt(1/2) and sqrt(2), and ln(1 + r) of small r.

Packs without AVX-512 and threads take the odd series in s = (m - 1)/(m + 1), ln m = s (2 + w R(w)), w = s^2 < 0.0295.
Its coefficients are those of fdlibm (Sun Microsystems 1993, e_log.c: Remez, |error| of w R below 2^-58.45 = 2.5e-18
beside 2); only the error is found here. In single precision R is the truncated power series of 2 atanh(s)/s.

With AVX-512 a table brings m near 1: ln(1 + r) = r + r^2 q(r), -1/32 <= r <= 1/16. Next to m = 1 nothing else is added,
and the error relative to r counts. q therefore minimises the largest r |q - exact|. Degree 8 is
the lowest with an error below the rounding of a double.
"""

from decimal import Decimal
from functools import lru_cache

from .maker import MINIMAX, Fit, Table, interpolated, minimax, polynomial, rounded, series

AVX512, FDLIBM = "engine/numbers/avx512.h", "fdlibm's, not made here"
W_MOST = ((Decimal(2).sqrt() - 1) / (Decimal(2).sqrt() + 1)) ** 2
LOW, HIGH = Decimal(-1) / 32, Decimal(1) / 16


@lru_cache(None)
def logarithm_tail(r) -> Decimal:
    """(ln(1 + r) - r)/r^2"""
    return series(r, lambda n: Decimal((-1) ** (n + 1)) / (n + 2))


@lru_cache(None)
def atanh_series(w) -> Decimal:
    """2 atanh(s)/s of w = s^2"""
    return series(w, lambda n: Decimal(2) / (2 * n + 1))


def of_odd_series(c, w) -> Decimal:
    """Relative error of 2 atanh(s)/s = 2 + w R(w)."""
    return (2 + w * polynomial(c, w)) / atanh_series(w) - 1


def nearest() -> list[Decimal]:
    """q of ln(1 + r) that minimises the largest r |q - exact|."""

    def error(q, r):
        return abs(r) * (polynomial(q, r) - logarithm_tail(r))

    return minimax(error, interpolated(logarithm_tail, 8, LOW, HIGH), LOW, HIGH)


def first_factors() -> list[Decimal]:
    """The 16 factors c, one for each value of the first four bits of m: the reciprocal of the middle of those m, but 1
    on both sides of m = 1."""
    from_one = [1 / (1 + (Decimal(j) + Decimal("0.5")) / 16) for j in range(16)]
    return [Decimal(1), *from_one[1:8], *(2 * c for c in from_one[8:15]), Decimal(1)]


SETS = [
    Fit(
        "log",
        "engine/numbers/pack.h",
        ("atanh_series(vec w) { // 2 atanh(s)/s - 2 of w = s^2", "}"),
        "fits/logarithms.py: error 1.2e-18",
        (0, W_MOST),
        of_odd_series,
        FDLIBM,
    ),
    Fit(
        "log of a thread",
        "engine/numbers/thread.h",
        ("LOG_SERIES[7] = {", "}"),
        "fits/logarithms.py: error 1.2e-18",
        (0, W_MOST),
        of_odd_series,
        FDLIBM,
    ),
    Fit(
        "log in single precision",
        "engine/numbers/pack_single.h",
        ("POINT_FN vec atanh_series(vec w) {", "}"),
        "fits/logarithms.py: error 1.7e-9",
        (0, W_MOST),
        of_odd_series,
        "the truncated series",
        lambda: [Decimal(2) / (2 * n + 3) for n in range(4)],
        single=True,
        arrange=lambda c: [above / below for above, below in zip(c[-8::2], c[-7::2])],
    ),
    Fit(
        "log with AVX-512",
        AVX512,
        ("looked_up(LOG_C, index) - 1.0, r2 = r * r, r4 = r2 * r2;", "const lanes_d large"),
        "fits/logarithms.py: error 1.1e-17",
        (LOW, HIGH),
        lambda q, r: (1 + r * polynomial(q, r)) / (1 + r * logarithm_tail(r)) - 1,
        MINIMAX,
        nearest,
    ),
    Table("log's factors", AVX512, ("LOG_C = {{", "}}"), "1/(the middle of a sixteenth)", first_factors),
    Table(
        "their logarithms",
        AVX512,
        ("MINUS_LN_C = {{", "}}"),
        "minus ln of LOG_C",
        lambda: [-rounded(c).ln() for c in first_factors()],
    ),
]
