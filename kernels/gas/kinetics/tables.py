"""A mechanism as named rows: reactions, rate coefficients, colliders.

Each target has one encoder, which writes these rows as its body reads them: `plain.py` for a thread or a vector lane
with a point to itself, `crew.py` for the warps of a block, `reactors/lanes.py` for the lanes of a warp.
"""

from __future__ import annotations

import collections
import copy
import dataclasses
import itertools

import numpy as np

from ..species.reactions import Arrhenius, Chebyshev, Falloff, Plog, Reaction

T_GRID = np.geomspace(200.0, 6000.0, 60)  # K, over which exponentials have to stay in range
FARTHEST = 400.0  # of |L_k|, 50 less than the bound in rates.h: room for ln gamma
MOST = 500.0  # of |sums of L_k| over the species of a side, the exponents of products: room for rate coefficients
NEVER = 1e10  # 1/K: exp(-T x) is 0 from this x on
GONE = 1e8  # K: exp(-x/T) is 0 from this x on
ALWAYS = 1e-25  # 1/K: exp(-T x) is 1 below this x
NO_BLENDING = [0.0] * 7
PATTERNS = tuple(itertools.product((1, 2, 3), (1, 2, 3)))  # (species of the left side, of the right side)
COLLIDERS_AT_ONCE = 4  # the body sums so many at a time: the table is filled up with empty ones


# ---------------------------------------------------------------- rows


@dataclasses.dataclass(frozen=True)
class ReactionRow:
    """A reaction of the fast form: one to three species a side, integer coefficients, orders equal to these."""

    factor: float  # A times the multiplier, SI; 1 if the coefficient's own row has it
    number: int  # place in the mechanism, from 0
    coefficient: int  # row of the rate coefficient: exponents first, then falloffs, P-logs, Chebyshevs
    collider: int  # row of third-body weights; the number of colliders if none multiplies the rate
    reversible: bool
    reactants: tuple[int, ...]  # species; a coefficient of 2 is the species twice
    products: tuple[int, ...]
    net: dict[int, float]  # {species: products less reactants}

    @property
    def pattern(self) -> tuple[int, int]:
        """(number of reactants, number of products): an entry of PATTERNS."""
        return len(self.reactants), len(self.products)

    def head(self) -> list[float]:
        """The first five numbers of the row."""
        return [self.factor, self.number, self.coefficient, self.collider, self.reversible]

    def numbers(self) -> list[float]:
        """The row of `reaction_pairs`, as rates.h reads it."""
        return [*self.head(), *self.reactants, *self.products]


@dataclasses.dataclass(frozen=True)
class GeneralRow:
    """Any other reaction: more species, or coefficients and orders that are no small integers."""

    factor: float  # as in ReactionRow, up to `reversible`
    number: int
    coefficient: int
    collider: int
    reversible: bool
    shift: np.ndarray  # (2,): sum of nu alpha and of nu beta, which cancels if the reaction conserves elements
    forward: list[tuple[int, float, bool]]  # (species, order, whether that is its integer coefficient)
    reverse: list[tuple[int, float, bool]]  # (species, coefficient, whether that is an integer)
    reactants: dict[int, float]  # {species: coefficient}
    products: dict[int, float]
    net: dict[int, float]  # {species: products less reactants}

    def numbers(self) -> list[float]:
        """The row of `reaction_others`, as rates.h reads it: head, shift, five counts, five lists."""
        lists: list[list[tuple]] = [
            self.forward,
            self.reverse,
            list(self.reactants.items()),
            list(self.products.items()),
            list(self.net.items()),
        ]

        row: list[float] = [self.factor, self.number, self.coefficient, self.collider, self.reversible]
        row += [*self.shift, *map(len, lists)]
        for term in itertools.chain(*lists):
            row += term

        return row


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
    blending: list[float]  # seven numbers of ln_blending in rates.h

    def numbers(self) -> list[float]:
        """The row of `reaction_falloffs`."""
        return [self.factor, self.base, *self.ratio, self.collider, self.activated, self.form, *self.blending]


@dataclasses.dataclass
class ColliderRow:
    """[M] = sum of weight_k C_k."""

    weights: np.ndarray  # (ns,)
    touched: set[int]  # species that its reactions make or consume

    @property
    def usual(self) -> float:
        """The weight that most species have."""
        values, counts = np.unique(self.weights, return_counts=True)
        return values[counts.argmax()]

    @property
    def specials(self) -> dict[int, float]:
        """{species: its weight less the usual one} of the other species."""
        usual = self.usual
        return {s: weight - usual for s, weight in enumerate(self.weights) if weight != usual}


# ---------------------------------------------------------------- tables


class ReactionTables:
    """The rows of a mixture's mechanism, and what they are numbered by.

    Raises MixtureError if the species have no mechanism, or a reaction cannot be read.
    """

    ns: int
    reactions: tuple[Reaction, ...]
    L: np.ndarray  # (ns, temperatures of T_GRID): L_k of rates.h
    shift: np.ndarray  # (2, ns): alpha, beta of each species; alpha + beta/T cancels in every reaction
    exponents: list[tuple[float, float]]  # (b, E/R [K]) of rate coefficients, each pair once
    colliders: list[ColliderRow]  # those of falloffs first
    logs: int  # so many of the colliders' logarithms are needed
    falloffs: list[FalloffRow]
    plogs: list[list[float]]  # rows of `reaction_plogs`
    chebyshevs: list[list[float]]  # rows of `reaction_chebyshevs`
    pairs: dict[tuple[int, int], list[ReactionRow]]  # by pattern, in the mechanism's order
    others: list[GeneralRow]

    def __init__(self, species):
        mechanism = species.mechanism
        self.ns, self.reactions = species.ns, mechanism.reactions
        self.L, self.shift = _elements(species, mechanism)

        falloffs = [r for r in self.reactions if isinstance(r.rate, Falloff)]
        plogs = [(r, r.rate) for r in self.reactions if isinstance(r.rate, Plog)]
        chebyshevs = [(r, r.rate) for r in self.reactions if isinstance(r.rate, Chebyshev)]

        collider_of = self._number_colliders(falloffs)
        exponent_of = self._number_exponents(falloffs)

        # Rate coefficients with rows of their own follow the exponents, kind by kind.
        self.falloffs = [_falloff_row(r, exponent_of[r.number], collider_of[r.number]) for r in falloffs]
        self.plogs = [_plog_row(rate, r.multiplier) for r, rate in plogs]
        self.chebyshevs = [_chebyshev_row(rate, r.multiplier) for r, rate in chebyshevs]
        tabled = falloffs + [r for r, _ in plogs + chebyshevs]
        coefficient_of = exponent_of | {r.number: place for place, r in enumerate(tabled, len(self.exponents))}

        # Reactions: those of the fast form by pattern, the others apart.
        self.pairs = {pattern: [] for pattern in PATTERNS}
        self.others = []

        for r in self.reactions:
            multiplies = r.collider and not isinstance(r.rate, Falloff)
            head = (
                r.rate.A * r.multiplier if isinstance(r.rate, Arrhenius) else 1.0,
                r.number,
                coefficient_of[r.number],
                collider_of[r.number] if multiplies else len(self.colliders),
                r.reversible,
            )
            if _paired(r, self.L):
                row = ReactionRow(*head, _species(r.reactants), _species(r.products), r.net)
                self.pairs[row.pattern].append(row)
            else:
                self.others.append(_general_row(r, head, self.shift))

    def _number_colliders(self, falloffs) -> dict[int, int]:
        """{number of a reaction: row of its collider}. Falloffs come first: the body needs their logarithms."""
        rows: dict[tuple, ColliderRow] = {}
        of_reaction = {}

        for r in [*falloffs, *self.reactions]:
            if r.collider:
                weights = r.collider.weights(self.ns)
                row = rows.setdefault(tuple(weights), ColliderRow(weights, set()))
                row.touched |= set(r.net)
                of_reaction[r.number] = list(rows).index(tuple(weights))

        self.logs = len({of_reaction[r.number] for r in falloffs if r.collider})
        self.colliders = list(rows.values())
        for _ in range(-len(rows) % COLLIDERS_AT_ONCE):
            self.colliders.append(ColliderRow(np.zeros(self.ns), set()))

        return of_reaction

    def _number_exponents(self, falloffs) -> dict[int, int]:
        """{number of a reaction: row of its exponents}; of a falloff those of the reference limit. Arrhenius first."""
        rows: dict[tuple, int] = {}
        of_reaction = {}
        if not self.reactions:
            rows[0.0, 0.0] = 0  # a C++ array has one element at least

        for r in self.reactions:
            if isinstance(r.rate, Arrhenius):
                of_reaction[r.number] = rows.setdefault((r.rate.b, r.rate.E), len(rows))

        for r in falloffs:
            limit = _reference(r.rate)
            of_reaction[r.number] = rows.setdefault((limit.b, limit.E), len(rows))

        self.exponents = list(rows)
        return of_reaction

    @property
    def coefficients(self) -> int:
        """Number of rate coefficients of all kinds."""
        return len(self.exponents) + len(self.falloffs) + len(self.plogs) + len(self.chebyshevs)

    @property
    def weights(self) -> np.ndarray:
        """(colliders, ns): the third-body weights."""
        return np.array([row.weights for row in self.colliders]).reshape(-1, self.ns)

    @property
    def weighted(self) -> list[int]:
        """Species that some colliders count otherwise than most species."""
        if not self.colliders:
            return []
        columns = [tuple(column) for column in self.weights.T]
        usual = max(columns, key=columns.count)
        return [s for s, column in enumerate(columns) if column != usual]

    @property
    def unweighted(self) -> list[int]:
        """The other species, of which there is one at least."""
        weighted = self.weighted
        return [s for s in range(self.ns) if s not in weighted]

    def in_range(self, row: GeneralRow) -> bool:
        """Whether exponentials of the reaction's species stay in range, with room for ln gamma."""
        return np.abs(self.L[list(row.net)]).max(initial=0.0) < FARTHEST

    def sorted(self) -> ReactionTables:
        """The same tables, the reactions of each pattern in the order in which a loop over the table goes: without a
        collider first; the more frequent reactant of a reaction first, and reactions with the same one together."""
        often: collections.Counter = collections.Counter()
        for rows in self.pairs.values():
            for row in rows:
                often.update(row.reactants)

        other = copy.copy(self)
        other.pairs = {}

        for pattern, rows in self.pairs.items():
            turned = [
                dataclasses.replace(row, reactants=tuple(sorted(row.reactants, key=lambda s: (-often[s], s))))
                for row in rows
            ]
            turned.sort(key=lambda row: (row.collider < len(self.colliders), row.reactants + row.products))
            other.pairs[pattern] = turned

        return other


# ---------------------------------------------------------------- species


def _elements(species, mechanism):
    """(L (ns, T), shift (2, ns)): g/RT + ln(RT/p_ref) less the nearest sum over atoms of alpha + beta/T, which cancels
    in every reaction; and the two coefficients of this sum for each species."""
    ideal = [species.polynomial(s, T_GRID) for s in range(species.ns)]
    g = np.array([h - entropy + np.log(species.R * T_GRID / species.p_ref) for _, h, entropy in ideal])

    atoms = mechanism.composition
    basis = np.stack([atoms[:, None] * np.ones_like(T_GRID)[:, None], atoms[:, None] / T_GRID[:, None]], axis=-1)
    columns = basis.reshape(g.size, -1)
    fit = np.linalg.lstsq(columns, g.ravel(), rcond=None)[0].reshape(-1, 2)

    shift = atoms @ fit
    return g - shift[:, :1] - shift[:, 1:] / T_GRID, shift.T


# ---------------------------------------------------------------- reactions


def _species(side) -> tuple[int, ...]:
    """Each species of a side as often as it counts."""
    out: list[int] = []
    for s, nu in side.items():
        out += [s] * round(nu)
    return tuple(out)


def _paired(reaction: Reaction, L) -> bool:
    """Whether the fast form serves: integer coefficients, up to three species a side, orders equal to the coefficients,
    exponentials in range all along the products of a side."""
    for side in (reaction.reactants, reaction.products):
        if any(nu != round(nu) for nu in side.values()):
            return False

        species = list(_species(side))
        if not 1 <= len(species) <= 3 or np.abs(L[species]).max() >= FARTHEST:
            return False

        above, below = np.maximum(L[species], 0).sum(0), np.minimum(L[species], 0).sum(0)
        if max(above.max(), -below.min()) >= MOST:
            return False

    return reaction.orders == reaction.reactants


def _general_row(r: Reaction, head: tuple, shift) -> GeneralRow:
    forward = []
    for s, order in r.orders.items():
        forward.append((s, order, order == r.reactants.get(s) and order == round(order)))
    reverse = [(s, nu, nu == round(nu)) for s, nu in r.products.items()]

    left = sum(shift[:, s] * nu for s, nu in r.net.items()) if r.net else np.zeros(2)
    return GeneralRow(*head, left, forward, reverse, r.reactants, r.products, r.net)  # type: ignore[call-arg]


# ---------------------------------------------------------------- rate coefficients

FORMS = {"Lindemann": 0, "Troe": 1, "Tsang": 2, "SRI": 3}


def _reference(rate: Falloff) -> Arrhenius:
    """The limit of which the rate coefficient is a multiple."""
    return rate.low if rate.activated else rate.high


def _falloff_row(r: Reaction, base: int, collider: int) -> FalloffRow:
    rate: Falloff = r.rate  # type: ignore[assignment]
    low, high, limit = rate.low, rate.high, _reference(rate)
    if not low.A * high.A:  # one limit is 0, and so is the rate
        return FalloffRow(limit, base, collider, 0.0, [0.0, 0.0, 0.0], False, 0, NO_BLENDING)

    factor = limit.A * r.multiplier
    if rate.form == "SRI" and not rate.numbers[3]:
        factor = 0.0
    ratio = [np.log(low.A / high.A), low.b - high.b, low.E - high.E]

    return FalloffRow(limit, base, collider, factor, ratio, rate.activated, FORMS[rate.form], _blending(rate))


def _blending(rate: Falloff) -> list[float]:
    """Seven numbers of ln_blending in rates.h."""
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


def _plog_row(rate: Plog, multiplier: float) -> list[float]:
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


def _chebyshev_row(rate: Chebyshev, multiplier: float) -> list[float]:
    """Multiplier, rows, columns, x = a + b/T and y = c + d ln p, the coefficients times ln 10."""
    (T0, T1), (p0, p1) = rate.temperatures, rate.pressures
    x, y = 1 / T1 - 1 / T0, np.log(p1 / p0)
    data = np.log(10) * np.array(rate.data)
    along = [-(1 / T0 + 1 / T1) / x, 2 / x, -(np.log(p0) + np.log(p1)) / y, 2 / y]
    return [multiplier, *data.shape, *along, *data.ravel()]
