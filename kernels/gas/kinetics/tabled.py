"""Rate coefficients with rows of their own in a table, as tabled.h reads them: a kind, a factor, the kind's numbers.

A new kind: its numbers, a class in species/reactions.py; its reader, a function of species/cantera_rates.py with its
name in cantera_reactions.py; an entry of KINDS and a function here that writes its row; a body in tabled.h that reads
that, also on dual numbers; its oracle in tests/reference/kinetics.py, an example in tests/mechanisms_for_tests.py.
Nothing else knows kinds.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from ..species.reactions import BlowersMasel, Chebyshev, Falloff, LinearBurke, Plog, Reaction
from .falloffs import falloff_row, reference_limit

NEVER = -690.0  # ln of an efficiency of 0


@dataclasses.dataclass(frozen=True)
class Row:
    """A rate coefficient in the table."""

    kind: type  # of KINDS
    numbers: list[float]


# In the order of TabledKind in tabled.h, and of the rows: what depends on T alone comes first, on concentrations last.
# The name: how many rows of the kind there are, within other rows too, as the compiler knows it.
KINDS: dict[type, str] = {
    BlowersMasel: "RATE_BLOWERS_MASELS",
    Plog: "RATE_PLOGS",
    Chebyshev: "RATE_CHEBYSHEVS",
    LinearBurke: "RATE_LINEAR_BURKES",
    Falloff: "RATE_FALLOFFS_OF_P",  # within the row of a mixture's rule; other falloffs have a table of their own
}
ALONE = [kind for kind in KINDS if kind is not Falloff]
PRESSED = (Plog, Chebyshev, LinearBurke)  # depend on p
MIXED = (LinearBurke,)  # depend on concentrations


def in_order(reactions) -> list[Reaction]:
    """The reactions with rows in the table, kind by kind."""
    out: list[Reaction] = []
    for kind in ALONE:
        out += [r for r in reactions if isinstance(r.rate, kind)]
    return out


def row(reaction: Reaction, columns: list[int], ns: int, R: float) -> Row:
    """The row of a reaction's rate coefficient. columns: rows of colliders for the sums that it depends on."""
    rate = reaction.rate
    if isinstance(rate, BlowersMasel):
        numbers = _blowers_masel(rate, reaction)
    elif isinstance(rate, LinearBurke):
        numbers = _linear_burke(rate, reaction.multiplier, columns, ns, R)
    else:
        numbers = _of_p(rate, reaction.multiplier, R)
    return Row(type(rate), numbers)


def sizes(reactions) -> dict[str, int]:
    """Numbers that the compiler knows."""
    rates = [r.rate for r in in_order(reactions)]
    within: list = []
    for rate in rates:
        within += [rate, *rate.rates] if isinstance(rate, LinearBurke) else [rate]

    out = {name: sum(isinstance(rate, kind) for rate in within) for kind, name in KINDS.items()}
    return out | {
        "RATES_TABLED": len(rates),
        "RATES_PRESSED": any(isinstance(rate, PRESSED) for rate in rates),
        "RATES_MIXED": sum(isinstance(rate, MIXED) for rate in rates),
    }


def _kind(rate) -> int:
    return list(KINDS).index(type(rate))


def _of_p(rate, multiplier: float, R: float) -> list[float]:
    """A rate that depends on T and p. R: the gas constant, J/mol/K."""
    if isinstance(rate, Plog):
        numbers = _plog(rate, multiplier)
    elif isinstance(rate, Chebyshev):
        numbers = _chebyshev(rate, multiplier)
    else:
        numbers = _falloff(rate, multiplier, R)
    return [_kind(rate), *numbers]


def _plog(rate: Plog, multiplier: float) -> list[float]:
    """Multiplier, number of pressures; of each pressure ln p, 1/(ln p less the ln p before), number of terms, terms.

    A term: A, or ln A of a single term; b; E/R."""
    row: list[float] = [multiplier, len(rate.pressures)]
    before = None

    for p, terms in zip(rate.pressures, rate.terms):
        row += [np.log(p), 1 / np.log(p / before) if before else 0.0, len(terms)]
        before = p
        for term in terms:
            row += [np.log(term.A) if len(terms) == 1 else term.A, term.b, term.E]

    return row


def _chebyshev(rate: Chebyshev, multiplier: float) -> list[float]:
    """Multiplier, rows, columns, x = a + b/T and y = c + d ln p, the coefficients times ln 10."""
    (T0, T1), (p0, p1) = rate.temperatures, rate.pressures
    x, y = 1 / T1 - 1 / T0, np.log(p1 / p0)
    data = np.log(10) * np.array(rate.data)
    along = [-(1 / T0 + 1 / T1) / x, 2 / x, -(np.log(p0) + np.log(p1)) / y, 2 / y]
    return [multiplier, *data.shape, *along, *data.ravel()]


def _falloff(rate: Falloff, multiplier: float, R: float) -> list[float]:
    """b, E/R of the reference limit, the numbers of a falloff's row; [M] is p/RT, of which 1/R is in the ratio here."""
    limit, found = reference_limit(rate), falloff_row(rate, multiplier)
    ratio = [found.ratio[0] - np.log(R), *found.ratio[1:]]
    return [limit.b, limit.E, *dataclasses.replace(found, ratio=ratio).numbers()]


def _blowers_masel(rate: BlowersMasel, reaction: Reaction) -> list[float]:
    """A, b, E0/R, w/R, then the species and how many more of them are products than reactants."""
    out = [_kind(rate), rate.A * reaction.multiplier, rate.b, rate.E0, rate.w, len(reaction.net)]
    for s, nu in reaction.net.items():
        out += [s, nu]
    return out


def _linear_burke(rate: LinearBurke, multiplier: float, columns, ns: int, R: float) -> list[float]:
    """Multiplier, column of the sum of C, species without an efficiency; colliders: species, column, ln A, b, E/R of
    the efficiency; the rate of M, then the rates of colliders that have their own."""
    column_of = dict(zip(rate.species, columns[1:]))
    rest = [s for s in range(ns) if s not in column_of]
    like = [collider for collider in rate.colliders if collider.rate is None]
    own = [collider for collider in rate.colliders if collider.rate is not None]

    out = [_kind(rate), multiplier, columns[0], len(rest), *rest, len(like), len(own)]
    for collider in (*like, *own):
        eps = collider.efficiency
        out += [collider.species, column_of[collider.species], np.log(eps.A) if eps.A else NEVER, eps.b, eps.E]
    for each in rate.rates:
        out += _of_p(each, 1.0, R)
    return out
