"""Starts of roots. One or two steps of a higher-order method then give all digits.

cbrt: m^(1/3) of a mantissa m between sqrt(1/2) and sqrt(2); with AVX-512 m^(-1/3), 1 <= m < 2. The polynomial has
degree 5 and minimises the largest relative error. One step of Halley's method, or a few terms of a series, then reach
the rounding of a double.

two_thirds_start and inverse_root_start: the bits of a number, read as an integer, are nearly proportional to its binary
logarithm L. So magic - L/3 and magic - L/2 are nearly the bits of x^(-1/3) and x^(-1/2). A step of Newton's method
follows. The magic numbers of the square root are well known: Robertson's (2012, the best for doubles; original not
seen) and that of Quake III. For x^(2/3) the magic number was chosen by hand, and so was 1.335 in the place of Newton's
4/3: a step with 4/3 never gives too large a value. Only the errors are found here.
"""

import struct
from decimal import Decimal
from functools import lru_cache

from .maker import MINIMAX, Fit, Table, interpolated, minimax, polynomial

PACK, SINGLE = "engine/numbers/pack.h", "engine/numbers/pack_single.h"
CUBE_ROOT = "engine/numbers/pack_cube_root.h"
ROOT_OF_TWO = Decimal(2).sqrt()


@lru_cache(None)
def third_power(sign: int, x) -> Decimal:
    """x^(1/3) for sign 1, x^(-1/3) for sign -1."""
    return x ** (Decimal(sign) / 3)


def of_third(sign: int):
    """error(c, x) of a polynomial for x^(sign/3), relative."""
    return lambda c, x: polynomial(c, x) / third_power(sign, x) - 1


def nearest(sign: int, low, high):
    """make(): the coefficients whose largest error between low and high is least."""
    return lambda: minimax(of_third(sign), interpolated(lambda x: third_power(sign, x), 5, low, high), low, high)


def bits(x: float, single: bool) -> int:
    """The bits of a float or a double, read as an integer."""
    return struct.unpack("i" if single else "q", struct.pack("f" if single else "d", x))[0]


def from_bits(n: int, single: bool) -> float:
    """The float with these bits, of 32 (single) or 64."""
    return struct.unpack("f" if single else "d", struct.pack("i" if single else "q", n))[0]


def two_thirds_start(c, x: float, single: bool = False) -> float:
    """x^(2/3) as packs compute it, c = (magic number, 1.335). The magic number of doubles is in units of 2^12."""
    magic = int(c[0]) << (0 if single else 12)
    y = from_bits(magic - bits(x, single) // 3, single)
    return x * y * (float(c[1]) - x * y**3 / 3)


def inverse_root_start(c, x: float, single: bool = False) -> float:
    """1/sqrt(x) as packs compute it, c = (magic number)."""
    y = from_bits(int(c[0]) - (bits(x, single) >> 1), single)
    return y * (1.5 - 0.5 * x * y * y)


def of_two_thirds(single: bool):
    """error(c, x) of the start for x^(2/3) that is made of x's bits, relative."""
    return lambda c, x: two_thirds_start(c, float(x), single) / float(x) ** (2 / 3) - 1


def of_inverse_root(single: bool):
    """error(c, x) of the start for x^(-1/2) that is made of x's bits, relative."""
    return lambda c, x: inverse_root_start(c, float(x), single) * float(x) ** 0.5 - 1


def in_pack(name: str, header: str, comment: str, single: bool) -> Fit:
    """The fit of the cube root's start between 2^(-1/2) and 2^(1/2), for the header of a pack."""
    ends, section = (1 / ROOT_OF_TWO, ROOT_OF_TWO), (" start = (", ";")
    return Fit(name, header, section, comment, ends, of_third(1), MINIMAX, nearest(1, *ends), single=single)


MAGIC = "well-known magic number, not made here"
TWO_THIRDS = Fit(
    "two_thirds_start",
    PACK,
    ("constexpr double ROUGH_THIRDS =", "(1.0 / 3.0) * (xy"),
    "x^(2/3), fits/roots.py: relative error 2.6e-3",
    (1, 8),
    of_two_thirds(False),
    "chosen by hand",
    arrange=lambda c: [c[0], c[-1]],
)
INVERSE_ROOT = Fit(
    "inverse_root_start",
    PACK,
    ("POINT_FN vec inverse_root_start(vec x) {", " - (lanes_i)((lanes_u)bits(x) >> 1)"),
    "1/sqrt(x), fits/roots.py: relative error 1.8e-3",
    (1, 4),
    of_inverse_root(False),
    MAGIC,
    arrange=lambda c: c[-1:],
)
SETS = [
    in_pack("cbrt's start", CUBE_ROOT, "fits/roots.py: error 1.2e-6", False),
    in_pack("cbrt's start in single precision", CUBE_ROOT, "fits/roots.py: error 1.4e-6", True),
    Fit(
        "cbrt's start with AVX-512",
        "engine/numbers/avx512.h",
        ("const lanes_d start =", ";"),
        "fits/roots.py: within 5.7e-6",
        (1, 2),
        of_third(-1),
        MINIMAX,
        nearest(-1, Decimal(1), Decimal(2)),
    ),
    TWO_THIRDS,
    Fit(
        "two_thirds_start in single precision",
        SINGLE,
        ("const vec thirds = to_number(bits(x)) *", "(1.0 / 3.0) * (xy"),
        "x^(2/3), fits/roots.py: relative error 1.7e-3",
        (1, 8),
        of_two_thirds(True),
        "chosen by hand",
        single=True,
        arrange=lambda c: [c[2], c[-1]],
    ),
    INVERSE_ROOT,
    Fit(
        "inverse_root_start in single precision",
        SINGLE,
        ("POINT_FN vec inverse_root_start(vec x) {", " - (lanes_i)((lanes_u)bits(x) >> 1)"),
        "1/sqrt(x), fits/roots.py: relative error 1.8e-3",
        (1, 4),
        of_inverse_root(True),
        MAGIC,
        arrange=lambda c: c[-1:],
    ),
    Table(
        "third powers",
        "engine/numbers/avx512.h",
        ("THIRD_POWERS = {{", "}}"),
        "2^(-j/3)",
        lambda: [third_power(-1, Decimal(2) ** j) for j in range(3)],
    ),
]
