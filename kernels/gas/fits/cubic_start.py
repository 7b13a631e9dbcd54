"""Start of the outer root t of t^3 - 3 e t = g >= 0, from G = g^(2/3): outer_start in gas/equations/free_root.h.

Only x = G/|e| matters. e > 0: t^2/e = 3 + x (x + b)/(x + a). e < 0: t = g P/(g^2 + 3 |e| P), P = G^2 + a |e| G + b e^2.
Both forms have the right limits at x = 0 and at large x. a and b minimise the largest relative error of t. One step of
Halley's method follows, so a start within 1 % is good enough.

`as_in_packs` is the error of the whole start with the rough roots of packs in double precision.
"""

from decimal import Decimal
from functools import lru_cache

from ...engine.fits import roots
from ...engine.fits.maker import MINIMAX, Check, Fit, chebyshev_points, corrected, minimax

HEADER = "gas/equations/free_root.h"
ENDS = Decimal(-7), Decimal(7)  # beyond them the error is smaller
WAY = f"{MINIMAX}; of ln(t - its least)"
THIRD = Decimal(1) / 3


@lru_cache(None)
def state(e: int, u) -> tuple[Decimal, Decimal, Decimal]:
    """(t, g, G) for e = 1 or -1, where the outer root t exceeds its smallest value by exp(u)."""
    t = u.exp() + (Decimal(3).sqrt() if e > 0 else 0)
    g = t**3 - 3 * e * t
    return t, g, g ** (2 * THIRD)


def of_folded(c, u) -> Decimal:
    """Relative error of the start t for e = 1 with a, b = c."""
    t, _, x = state(1, u)
    return (3 + x * (x + c[1]) / (x + c[0])).sqrt() / t - 1


def of_single_root(c, u) -> Decimal:
    """Relative error of the start t for e = -1 with a, b = c."""
    t, g, x = state(-1, u)
    P = x * x + c[0] * x + c[1]
    return g * P / (g * g + 3 * P) / t - 1


def nearest(error, *start):
    """A maker of (a, b) that minimises the largest error. The minimax fit starts from the numbers whose error is zero
    at two points."""

    def make():
        c, points = [Decimal(x) for x in start], chebyshev_points(2, -2, 2)
        for _ in range(8):
            c = corrected(error, c, points)
        return minimax(error, c, *ENDS)

    return make


FOLDED = Fit(
    "outer_start, e > 0",
    HEADER,
    ("below = G + ", "g * P"),
    "fits/cubic_start.py: relative error where e >= 0 3.3e-4",
    ENDS,
    of_folded,
    WAY,
    nearest(of_folded, 1, 0),
    arrange=lambda c: [c[0], c[2]],
)
SINGLE_ROOT = Fit(
    "outer_start, e < 0",
    HEADER,
    ("const R P = G2 - e * (", ")"),
    "where e < 0 6.4e-3",
    ENDS,
    of_single_root,
    WAY,
    nearest(of_single_root, 2, 5),
    arrange=lambda c: [c[0], -c[1]],
)


def as_in_packs(e: int) -> float:
    """Largest relative error of the start for e of one sign. Several sizes of e are tried: the errors of the rough
    roots depend on the size."""
    thirds, root = roots.TWO_THIRDS.committed(), roots.INVERSE_ROOT.committed()
    a, b = map(float, (FOLDED if e > 0 else SINGLE_ROOT).committed())
    worst = 0.0

    for u in chebyshev_points(150, -4, 4):
        t_one, g_one, _ = map(float, state(e, u))
        for size in (2.0 ** (n / 8) for n in range(48)):
            t, g = t_one * size**0.5, g_one * size**1.5
            G = roots.two_thirds_start(thirds, g)
            P, below = G * G + size * (a * G + b * size), G + a * size

            if e > 0:
                over = 3 * size * below + G * (G + b * size)
                start = over * roots.inverse_root_start(root, over * below)
            else:
                start = g * P * roots.inverse_root_start(root, (G**3 + 3 * size * P) ** 2)

            worst = max(worst, abs(start / t - 1))

    return worst


SETS = [
    FOLDED,
    SINGLE_ROOT,
    Check(
        "outer_start with the rough roots of packs",
        HEADER,
        lambda: {f"relative (e {sign} 0)": as_in_packs(e) for sign, e in ((">", 1), ("<", -1))},
    ),
]
