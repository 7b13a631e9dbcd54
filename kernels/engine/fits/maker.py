"""Tools of all fits: reading coefficients from a header, and computing them anew in 50 digits by two methods.

Interpolation: the polynomial is exact at Chebyshev points, and the peaks of its error are nearly equal.
Minimax fit (Remez): all peaks of the error are equal, which makes the largest peak as small as possible.
"""

import math
import pathlib
import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from itertools import groupby

HEADERS = pathlib.Path(__file__).resolve().parents[2]
DIGITS = Context(prec=50)
LN2 = Decimal(2).ln(DIGITS)

# Methods, in words.
INTERPOLATED = "interpolated at Chebyshev points"
MINIMAX = "largest error minimised (Remez)"

# A number in C++ with the sign in front of its term, as in `a - x * 2.0`.
SIGNED = re.compile(r"([-+]?)\s*(?:[A-Za-z]\w*\s*\*\s*)*(?<![\w.])(0x[0-9a-f]+|\d+(?:\.\d*)?(?:e[-+]?\d+)?)")


def rounded(x, single: bool = False) -> Decimal:
    """The nearest double; with `single` the float nearest to that double, as a compiler rounds."""
    if single:
        return Decimal(struct.unpack("f", struct.pack("f", x))[0])
    return Decimal(float(x))


def one_line(text: str) -> str:
    """The text on a single line: all runs of blanks and line ends become a blank."""
    return " ".join(text.split())


def between(header: str, start: str, end: str) -> str:
    """The text of a header (path below kernels/) between `start` and the next `end`.

    Raises LookupError unless `start` occurs exactly once and `end` follows.
    """
    _, *behind = one_line((HEADERS / header).read_text()).split(start)
    if len(behind) != 1 or end not in behind[0]:
        raise LookupError(f"{header}: {start!r} occurs {len(behind)} times, wanted once and followed by {end!r}.")
    return behind[0].split(end)[0]


def numbers(text: str) -> list[float]:
    """The numbers in C++ text, in order. A number in a subtracted term, as in `a - x * 2.0`, is negative."""
    found = []
    for sign, digits in SIGNED.findall(text):
        if "x" in digits:
            digits = str(int(digits, 16))
        found.append(float(sign + digits))

    return found


@dataclass(frozen=True)
class Fit:
    """A set of coefficients c in a header: place, function, method."""

    name: str
    header: str  # path below kernels/
    section: tuple[str, str]  # texts in the header before and behind the coefficients
    comment: str  # statement of the error in the header; the last word is the number
    ends: tuple[Decimal | int, Decimal | int]  # interval on which the set is used
    error: Callable  # error(c, x), relative unless the comment says otherwise
    way: str  # method, in words
    make: Callable | None = None  # computes the set; None: only the error is computed
    single: bool = False  # used in single precision
    arrange: Callable = list  # brings the numbers of the header into the order of c

    def committed(self) -> list[Decimal]:
        """The coefficients in the header."""
        text = between(self.header, *self.section)
        return [rounded(x, self.single) for x in self.arrange(numbers(text))]

    def made(self) -> list[Decimal]:
        """The coefficients computed anew and rounded; empty without `make`."""
        if self.make is None:
            return []
        with localcontext(DIGITS):
            return [rounded(x, self.single) for x in self.make()]

    def largest_error(self, c) -> float:
        """Largest |error| of coefficients c over the interval (400 points)."""
        with localcontext(DIGITS):
            return float(max(abs(self.error(c, x)) for x in chebyshev_points(400, *self.ends, outermost=True)))

    def apart(self, c, other) -> float:
        """Largest difference of the errors of two sets of coefficients over the interval."""
        with localcontext(DIGITS):
            points = chebyshev_points(400, *self.ends, outermost=True)
            return float(max(abs(self.error(c, x) - self.error(other, x)) for x in points))

    def stated(self) -> float:
        """The error that the header states. Raises LookupError if the header lacks the comment."""
        text = one_line((HEADERS / self.header).read_text().replace("//", " "))
        if self.comment not in text:
            raise LookupError(f"{self.header} does not say {self.comment!r}.")
        return float(self.comment.split()[-1])

    def lines(self) -> Iterator[str]:
        """Lines of the report: method, coefficients in the header and computed, errors."""
        committed, made = self.committed(), self.made()
        error = self.largest_error(committed)
        unit = 2.0**-24 if self.single else 2.0**-53
        yield f"{self.way}; interval {float(self.ends[0]):.6g} to {float(self.ends[1]):.6g}"

        if made:
            yield f"{'in the header':>24} {'made here':>24}  relative difference"
            for ours, theirs in zip(committed, made):
                yield f"{float(ours):24.17g} {float(theirs):24.17g}  {float(ours / theirs - 1):.0e}"

        made_here = f"; of the set made here {self.largest_error(made):.3g}" if made else ""
        yield f"largest error: {error:.3g}; the header says {self.stated():.3g}{made_here}"
        if error < 10 * unit:
            yield f"that is {error / unit:.2g} roundings to a {'float' if self.single else 'double'}, {unit:.1e}"


@dataclass(frozen=True)
class Table:
    """Numbers in a header that follow from a formula, rounded once."""

    name: str
    header: str  # path below kernels/
    section: tuple[str, str]  # texts in the header before and behind the numbers
    formula: str  # for people
    make: Callable  # computes the numbers

    def committed(self) -> list[Decimal]:
        """The numbers in the header."""
        return [rounded(x) for x in numbers(between(self.header, *self.section))]

    def made(self) -> list[Decimal]:
        """The numbers computed anew and rounded."""
        with localcontext(DIGITS):
            return [rounded(x) for x in self.make()]

    def lines(self) -> Iterator[str]:
        """The line of the report."""
        same = [a == b for a, b in zip(self.committed(), self.made())]
        yield f"{sum(same)} of {len(same)} numbers are the doubles nearest to {self.formula}"


@dataclass(frozen=True)
class Check:
    """A function in a header without coefficients: only its errors are computed."""

    name: str
    header: str  # path below kernels/
    errors: Callable[[], dict[str, float]]  # {kind of error: largest error}

    def lines(self) -> Iterator[str]:
        """Lines of the report."""
        for kind, error in self.errors().items():
            yield f"largest {kind} error {error:.2g}"


def chebyshev_points(n: int, a, b, outermost: bool = False) -> list[Decimal]:
    """The n zeros of the Chebyshev polynomial of degree n on [a, b].

    outermost: the n points at which the Chebyshev polynomial of degree n - 1 is +-1, with both ends.
    """
    if outermost:
        angles = [math.pi * (i / (n - 1)) for i in range(n)]
    else:
        angles = [math.pi * ((i + 0.5) / n) for i in range(n)]

    middle, half = (Decimal(a) + Decimal(b)) / 2, (Decimal(b) - Decimal(a)) / 2
    return [middle - half * Decimal(math.cos(angle)) for angle in angles]


def polynomial(c, x) -> Decimal:
    """c[0] + c[1] x + c[2] x^2 + ..."""
    total = Decimal(0)
    for coefficient in reversed(c):
        total = total * x + coefficient
    return total


def series(x, coefficient: Callable) -> Decimal:
    """sum of coefficient(n) x^n, |x| < 1."""
    total, power, n = Decimal(0), Decimal(1), 0
    while abs(power) > Decimal("1e-50"):
        total += power * coefficient(n)
        power, n = power * x, n + 1
    return total


def solve(rows, right) -> list[Decimal]:
    """Solution of linear equations by Gaussian elimination with partial pivoting."""
    rows = [[*row, y] for row, y in zip(rows, right)]
    for i in range(len(rows)):
        # The pivot to row i, scaled to 1.
        pivot = max(range(i, len(rows)), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]

        # Eliminate column i from all other rows.
        for k in range(len(rows)):
            if k != i:
                rows[k] = [x - rows[k][i] * y for x, y in zip(rows[k], rows[i])]

    return [row[-1] for row in rows]


def corrected(error: Callable, c, points, level: bool = False) -> list[Decimal]:
    """Coefficients after a step of Newton's method for error(c, x) = 0 at as many points as coefficients.

    level: at a point more, for errors of equal size with alternating signs. For polynomials a single step is exact.
    """
    step = Decimal("1e-10")
    rows, right = [], []

    for i, x in enumerate(points):
        here = error(c, x)
        slopes = [(error([*c[:k], c[k] + step, *c[k + 1 :]], x) - here) / step for k in range(len(c))]
        rows.append([*slopes, Decimal((-1) ** i)] if level else slopes)
        right.append(-here)

    return [coefficient + change for coefficient, change in zip(c, solve(rows, right))]


def interpolated(f: Callable, degree: int, a, b) -> list[Decimal]:
    """Coefficients, the constant first, of the polynomial through f at the degree + 1 Chebyshev points of [a, b]."""
    points = chebyshev_points(degree + 1, a, b)

    def error(c, x):
        return polynomial(c, x) - f(x)

    return corrected(error, [Decimal(0)] * len(points), points)


def minimax(error: Callable, start, a, b) -> list[Decimal]:
    """The coefficients that minimise the largest |error(c, x)| over [a, b], by the algorithm of Remez.

    start: coefficients whose error changes sign once for each coefficient, such as an interpolation. At the minimum the
    error has a peak more than coefficients, all of equal height and with alternating signs. Raises ArithmeticError if
    such peaks are not found.
    """
    points, c, peaks = chebyshev_points(400, a, b, outermost=True), list(start), None
    for _ in range(50):
        # The peaks: the largest error in each run of equal sign.
        errors = [(error(c, x), x) for x in points]
        same_sign = groupby((pair for pair in errors if pair[0]), key=lambda pair: pair[0] > 0)
        highest = [max(run, key=lambda pair: abs(pair[0])) for _, run in same_sign]

        # A peak more than coefficients: drop the lower of the outermost peaks.
        while len(highest) > len(c) + 1:
            del highest[0 if abs(highest[0][0]) < abs(highest[-1][0]) else -1]
        if len(highest) <= len(c):
            raise ArithmeticError(f"the error has {len(highest)} peaks, wanted {len(c) + 1}: choose another start.")

        before, peaks = peaks, [x for _, x in highest]
        if peaks == before:
            return c

        c = corrected(error, c, peaks, level=True)

    raise ArithmeticError("the peaks of the error do not converge.")
