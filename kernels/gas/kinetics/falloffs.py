"""Falloff and chemically activated rate coefficients as rows that falloffs.h reads."""

from __future__ import annotations

import dataclasses

import numpy as np

from ..species.reactions import Arrhenius, Falloff

NEVER = 1e10  # 1/K: exp(-T x) is 0 from this x on
GONE = 1e8  # K: exp(-x/T) is 0 from this x on
ALWAYS = 1e-25  # 1/K: exp(-T x) is 1 below this x
NO_BLENDING = [0.0] * 7
FORMS = {"Lindemann": 0, "Troe": 1, "Tsang": 2, "SRI": 3}


@dataclasses.dataclass(frozen=True)
class FalloffRow:
    """A falloff or chemically activated coefficient. Reference limit: high pressure for a falloff, low for an activated
    reaction."""

    limit: Arrhenius  # the reference limit
    base: int  # row of the limit's (b, E/R) among the exponents
    collider: int  # row of third-body weights
    factor: float  # A of the reference limit times the multiplier; 0 if either limit is 0
    ratio: list[float]  # ln A, b, E/R of low over high
    activated: bool
    form: int  # FORMS
    blending: list[float]  # seven numbers of ln_blending in falloffs.h

    def numbers(self) -> list[float]:
        """The row of `reaction_falloffs`."""
        return [self.factor, self.base, *self.ratio, self.collider, self.activated, self.form, *self.blending]


def reference_limit(rate: Falloff) -> Arrhenius:
    """The limit of which the rate coefficient is a multiple."""
    return rate.low if rate.activated else rate.high


def falloff_row(rate: Falloff, multiplier: float, base: int = 0, collider: int = 0) -> FalloffRow:
    """The row of a coefficient. base, collider: rows of the tables; 0 where others find the limit and ln [M]."""
    low, high, limit = rate.low, rate.high, reference_limit(rate)
    if not low.A * high.A:  # one limit is 0, and so is the rate
        return FalloffRow(limit, base, collider, 0.0, [0.0, 0.0, 0.0], False, 0, NO_BLENDING)

    factor = limit.A * multiplier
    if rate.form == "SRI" and not rate.numbers[3]:
        factor = 0.0
    ratio = [np.log(low.A / high.A), low.b - high.b, low.E - high.E]

    return FalloffRow(limit, base, collider, factor, ratio, rate.activated, FORMS[rate.form], _blending(rate))


def _blending(rate: Falloff) -> list[float]:
    """Seven numbers of ln_blending in falloffs.h."""
    if rate.form == "SRI":
        a, b, c, d, e = rate.numbers
        second = 1 / c if c and 1 / c <= NEVER else 0.0
        return [np.log(d) if d > 0 else -1e3, e, a if b < GONE else 0.0, min(b, GONE), second, 0.0, 0.0]

    if rate.form == "Tsang":
        return [*rate.numbers, 0.0, 0.0, 0.0, 0.0, 0.0]
    if rate.form == "Lindemann":
        return NO_BLENDING

    # Troe: F_cent = constant + sum of share exp(-T inverse) over two terms + exp(-T2/T).
    a, T3, T1, T2 = rate.numbers
    constant, terms = 0.0, []

    for share, T in ((1 - a, T3), (a, T1)):
        inverse = 1 / T if abs(T) >= 1e-300 else np.inf
        if 0 <= inverse < ALWAYS:
            constant += share
        if ALWAYS <= abs(inverse) <= NEVER:
            terms += [share, inverse]
        else:
            terms += [0.0, 0.0]

    return [constant, *terms, float(T2 != 0 and T2 < GONE), min(T2, GONE)]
