"""(1 + r)^a, |r| <= 1/33, to which tables reduce x^a: power_tables in binary_powers.h. The compiler computes the tables
for each exponent a.

The binomial series goes to r^9. Its last term is replaced by the polynomial of lower degree that is nearest to it:
T_9(33 r)/256 times the size of that term is subtracted, where T_9 is the Chebyshev polynomial (|T_9| <= 1). The error
is then mainly the tenth power. For a = -2/3 it is 2.5e-16; the best polynomial of this degree would have 3e-17.
"""

import re
from decimal import Decimal

from .maker import Fit, between, polynomial

HEADER = "engine/numbers/binary_powers.h"
R_MOST = Decimal(1) / 33


def binomials(a: Decimal) -> list[Decimal]:
    """Coefficients of the series of (1 + r)^a, from r to r^9."""
    terms = [a]
    for n in range(2, 10):
        terms.append(terms[-1] * (a - (n - 1)) / n)
    return terms


def chebyshev(n: int) -> list[int]:
    """Coefficients of the Chebyshev polynomial of degree n, the constant first."""
    before, now = [1], [0, 1]
    for _ in range(n - 1):
        before, now = now, [2 * x - y for x, y in zip([0, *now], [*before, 0, 0])]
    return now


def nearest(a: Decimal) -> list[Decimal]:
    """Coefficients from r to r^8: the series with its ninth power replaced."""
    *series, last = binomials(a)
    for power, coefficient in enumerate(chebyshev(9)[1:9]):
        series[power] -= last / 256 * coefficient * R_MOST ** (8 - power)
    return series


def as_in_header(a: Decimal) -> list[Decimal]:
    """The same coefficients with the changes that the statements in the header make."""
    text = between(HEADER, "double factor = double(term) / 256;", "return t;")
    *series, factor = binomials(a)
    factor /= 256

    for place, sign, times, below in re.findall(r"series\[(\d)\] ([+-])= (\d+) \* \(factor /= (\d+ \* \d+)\)", text):
        one, other = map(int, below.split("*"))
        factor /= one * other
        series[int(place) - 1] += int(sign + times) * factor

    return series


def one_set(name: str, a: Decimal, comment: str) -> Fit:
    """The fit of (1 + r)^a for |r| up to R_MOST. comment: the line above the coefficients."""
    return Fit(
        "power " + name,
        HEADER,
        ("double factor = double(term) / 256;", "return t;"),
        comment,
        (-R_MOST, R_MOST),
        lambda c, r: (1 + r * polynomial(c, r)) / (1 + r) ** a - 1,
        "the binomial series, its ninth power replaced by lower powers",
        lambda: nearest(a),
        arrange=lambda _: as_in_header(a),
    )


SETS = [
    one_set("x^(-2/3)", Decimal(-2) / 3, "fits/powers.py: error of x^(-2/3) 2.5e-16"),
    one_set("x^-0.14874", Decimal("-0.14874"), "of x^-0.14874 1.7e-17"),
]
