"""e^r and 2^f on a short interval, to which exp, expm1 and powers of two are reduced.

Packs without AVX-512 and threads take x = n ln 2 + r, |r| <= ln(2)/2, and e^r = 1 + r + r^2 q(r). Degree 9 of q is the
lowest with an error below the rounding of a double (1.1e-16). Single precision has degree 5, whose error is a hundredth
of the rounding (6e-8). With AVX-512 and for powers of two a table has the factors 2^(j/16), so |r| <= ln(2)/32. There
degree 4 of q for exp, and degree 5 for expm1, are the lowest with an error below the rounding.

q is made on a slightly wider interval: r is rounded and may lie beyond the end. The constant of an interpolated q
differs from 1/2 by a rounding and is set to 1/2.
"""

from decimal import Decimal
from functools import lru_cache
from math import factorial

from .maker import INTERPOLATED, LN2, MINIMAX, Fit, Table, interpolated, minimax, polynomial, rounded, series

# Factors of the wider interval.
WIDER = Decimal("1.0005")
WIDER_SINGLE = Decimal("1.0001")

# Headers with the coefficients.
PACK = "engine/numbers/pack.h"
SINGLE = "engine/numbers/pack_single.h"
AVX512 = "engine/numbers/avx512.h"
POWERS = "engine/numbers/binary_powers.h"


@lru_cache(None)
def exponential_tail(r, terms: int = 2) -> Decimal:
    """(e^r - the first `terms` terms of its series)/r^terms."""
    return series(r, lambda n: 1 / Decimal(factorial(n + terms)))


@lru_cache(None)
def binary(f) -> Decimal:
    """(2^f - 1)/f"""
    return LN2 * exponential_tail(LN2 * f, 1)


def of_exp(q, r) -> Decimal:
    """Relative error of e^r = 1 + r + r^2 q(r)."""
    return (1 + r + r * r * polynomial(q, r)) / r.exp() - 1


def of_expm1(q, r) -> Decimal:
    """Relative error of e^r - 1 = r + r^2 q(r)."""
    return (1 + r * polynomial(q, r)) / exponential_tail(r, 1) - 1


def half_first(q) -> list[Decimal]:
    """q with its constant set to 1/2."""
    return [Decimal("0.5"), *q[1:]]


def short_exp() -> list[Decimal]:
    """q that minimises the largest absolute error of r^2 q. That is nearly the relative error of e^r: e^r is near 1."""
    end = WIDER * LN2 / 32

    def error(q, r):
        return r * r * (polynomial(q, r) - exponential_tail(r))

    return minimax(error, interpolated(exponential_tail, 4, -end, end), -end, end)


def nearest_binary(degree: int) -> list[Decimal]:
    """The polynomial of (2^f - 1)/f that minimises the largest absolute error. Its value is near ln 2."""
    end = Decimal(1) / 32

    def error(p, f):
        return polynomial(p, f) - binary(f)

    return minimax(error, interpolated(binary, degree, -end, end), -end, end)


def lost_in_roots() -> list[Decimal]:
    """Binary logarithms of 2^(j/16) divided by its double."""
    return [Decimal(j) / 16 - rounded(Decimal(2) ** (Decimal(j) / 16)).ln() / LN2 for j in range(16)]


def usual_exp(degree: int, wider: Decimal = WIDER, parts: int = 2) -> list[Decimal]:
    """q of this degree, interpolated on |r| <= ln(2)/parts and a little beyond."""
    end = wider * LN2 / parts
    return half_first(interpolated(exponential_tail, degree, -end, end))


HALF = (-LN2 / 2, LN2 / 2)  # |r| of exp without a table of factors
SHORT = (-LN2 / 32, LN2 / 32)  # with one
SHORT_BINARY = (Decimal(-1) / 32, Decimal(1) / 32)

SETS = [
    Fit(
        name="exp",
        header=PACK,
        section=("vec q01 =", "vec q ="),
        comment="fits/exponentials.py: error 3.4e-17",
        ends=HALF,
        error=of_exp,
        way=INTERPOLATED,
        make=lambda: usual_exp(9),
    ),
    Fit(
        name="exp of a thread",
        header="engine/numbers/thread.h",
        section=("EXP_SERIES[10] = {", "}"),
        comment="fits/exponentials.py: error 3.4e-17",
        ends=HALF,
        error=of_exp,
        way=INTERPOLATED,
        make=lambda: usual_exp(9),
    ),
    Fit(
        name="exp in single precision",
        header=SINGLE,
        section=("vec q = (", "return"),
        comment="fits/exponentials.py: error 6.9e-10",
        ends=HALF,
        error=of_exp,
        way=INTERPOLATED,
        make=lambda: usual_exp(5, WIDER_SINGLE),
        single=True,
    ),
    Fit(
        name="exp with AVX-512",
        header=AVX512,
        section=("const lanes_d r = e.r_high - e.k * LN2_REST, r2 = r * r; const lanes_d q =", ";"),
        comment="fits/exponentials.py: error 1.2e-17",
        ends=SHORT,
        error=of_exp,
        way=MINIMAX,
        make=short_exp,
    ),
    Fit(
        name="expm1 with AVX-512",
        header=AVX512,
        section=("looked_up(LOST_IN_ROOTS, e.j)), r2 = r * r; const lanes_d q =", ";"),
        comment="fits/exponentials.py: relative error 3.5e-18",
        ends=SHORT,
        error=of_expm1,
        way=INTERPOLATED,
        make=lambda: usual_exp(5, parts=32),
    ),
    Fit(
        name="two_to",
        header=POWERS,
        section=("TWO_TO[6] = {", "}"),
        comment="fits/exponentials.py: error 1.5e-17",
        ends=SHORT_BINARY,
        error=lambda p, f: (1 + f * polynomial(p, f)) / (f * LN2).exp() - 1,
        way=MINIMAX,
        make=lambda: nearest_binary(5),
    ),
    Fit(
        name="two_to_less_one",
        header=POWERS,
        section=("TWO_TO_LESS_ONE[7] = {", "}"),
        comment="fits/exponentials.py: relative error 3.5e-17",
        ends=SHORT_BINARY,
        error=lambda p, f: polynomial(p, f) / binary(f) - 1,
        way=MINIMAX,
        make=lambda: nearest_binary(6),
    ),
    Table(
        "roots of two",
        POWERS,
        ("ROOTS_OF_TWO = {{", "}}"),
        "2^(j/16)",
        lambda: [Decimal(2) ** (Decimal(j) / 16) for j in range(16)],
    ),
    Table("lost in roots", POWERS, ("LOST_IN_ROOTS = {{", "}}"), "log2(2^(j/16)/its double)", lost_in_roots),
]
