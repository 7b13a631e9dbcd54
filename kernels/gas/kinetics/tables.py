"""A mechanism as named rows: reactions, rate coefficients, colliders.

Each target has one encoder, which writes these rows as its body reads them: `plain.py` for a thread or a vector lane
with a point to itself, `crew.py` for the warps of a block, `lanes.py` for the lanes of a warp.
"""

from __future__ import annotations

import collections
import copy
import dataclasses
import itertools

import numpy as np

from ..species.reactions import Arrhenius, Falloff, Reaction
from . import tabled
from .falloffs import FalloffRow, falloff_row, reference_limit

COLDEST = 200.0  # K, as in rates.h
FARTHEST = 400.0  # of |L_k|, 50 less than the bound in rates.h: room for ln gamma
MOST = 500.0  # of |sums of L_k| over the species of a side, the exponents of products: room for rate coefficients
PATTERNS = tuple(itertools.product((1, 2, 3), (1, 2, 3)))  # (species of the left side, of the right side)
COLLIDERS_AT_ONCE = 4  # the body sums so many at a time: the table is filled up with empty ones


# ---------------------------------------------------------------- rows


@dataclasses.dataclass(frozen=True)
class ReactionRow:
    """A reaction of the fast form: one to three species a side, integer coefficients, orders equal to these."""

    factor: float  # A times the multiplier, SI; 1 if the coefficient's own row has it
    number: int  # place in the mechanism, from 0
    coefficient: int  # row of the rate coefficient: exponents first, then falloffs, then those of tabled.py
    collider: int  # row of third-body weights; the number of colliders if none multiplies the rate
    reversible: bool
    reactants: tuple[int, ...]  # species; a coefficient of 2 is the species twice; those on both sides are the last
    products: tuple[int, ...]  # the same
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
        """{species: its weight less the usual one}, for species whose weight is not the usual one."""
        usual = self.usual
        return {s: weight - usual for s, weight in enumerate(self.weights) if weight != usual}


# ---------------------------------------------------------------- tables


class ReactionTables:
    """The rows of a mixture's mechanism, and what they are numbered by.

    Raises MixtureError if the species have no mechanism, or a reaction cannot be read.
    """

    ns: int
    reactions: tuple[Reaction, ...]
    L: np.ndarray  # (ns, temperatures): L_k of rates.h
    shift: np.ndarray  # (2, ns): alpha, beta of each species; alpha + beta/T cancels in every reaction
    exponents: list[tuple[float, float]]  # (b, E/R [K]) of rate coefficients, each pair once
    colliders: list[ColliderRow]  # those of falloffs first
    logs: int  # so many of the colliders' logarithms are needed
    falloffs: list[FalloffRow]
    tabled: list[tabled.Row]  # rows of `reaction_tabled`, kind by kind
    pairs: dict[tuple[int, int], list[ReactionRow]]  # by pattern, in the mechanism's order
    others: list[GeneralRow]

    def __init__(self, species):
        mechanism = species.mechanism
        self.ns, self.reactions = species.ns, mechanism.reactions
        self.L, self.shift = _elements(species, mechanism)

        falloffs = [r for r in self.reactions if isinstance(r.rate, Falloff)]
        with_rows = tabled.in_order(self.reactions)

        sums_of = self._number_colliders(falloffs)
        exponent_of = self._number_exponents(falloffs)

        # Rate coefficients with rows of their own follow the exponents, kind by kind.
        self.falloffs = []
        for r in falloffs:
            rate: Falloff = r.rate  # type: ignore[assignment]
            self.falloffs.append(falloff_row(rate, r.multiplier, exponent_of[r.number], sums_of[r.number][0]))
        self.tabled = [tabled.row(r, sums_of[r.number], self.ns, species.R) for r in with_rows]
        of_rows = enumerate([*falloffs, *with_rows], len(self.exponents))
        coefficient_of = exponent_of | {r.number: place for place, r in of_rows}

        # Reactions: those of the fast form by pattern, the others apart.
        self.pairs = {pattern: [] for pattern in PATTERNS}
        self.others = []

        for r in self.reactions:
            multiplies = r.collider and not isinstance(r.rate, Falloff)
            head = (
                r.rate.A * r.multiplier if isinstance(r.rate, Arrhenius) else 1.0,
                r.number,
                coefficient_of[r.number],
                sums_of[r.number][0] if multiplies else len(self.colliders),
                r.reversible,
            )
            if _paired(r, self.L):
                row = ReactionRow(*head, *_sides(r), r.net)
                self.pairs[row.pattern].append(row)
            else:
                self.others.append(_general_row(r, head, self.shift))

    def _number_colliders(self, falloffs) -> dict[int, list[int]]:
        """{number of a reaction: rows of the sums that its rate depends on}. Falloffs come first: the body needs their
        logarithms."""
        rows: dict[tuple, ColliderRow] = {}
        of_reaction: dict[int, list[int]] = {}

        for r in [*falloffs, *self.reactions]:
            of_reaction[r.number] = []
            for weights in r.sums(self.ns):
                row = rows.setdefault(tuple(weights), ColliderRow(weights, set()))
                row.touched |= set(r.net)
                of_reaction[r.number].append(list(rows).index(tuple(weights)))

        self.logs = len({of_reaction[r.number][0] for r in falloffs})
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
            limit = reference_limit(r.rate)
            of_reaction[r.number] = rows.setdefault((limit.b, limit.E), len(rows))

        self.exponents = list(rows)
        return of_reaction

    @property
    def coefficients(self) -> int:
        """Number of rate coefficients of all kinds."""
        return len(self.exponents) + len(self.falloffs) + len(self.tabled)

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
        """The species without a weight of their own; there is at least one."""
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
            turned = [_by_frequency(row, often) for row in rows]
            turned.sort(key=lambda row: (row.collider < len(self.colliders), row.reactants + row.products))
            other.pairs[pattern] = turned

        return other


# ---------------------------------------------------------------- species


def _elements(species, mechanism):
    """(L (ns, T), shift (2, ns)): g/RT + ln(RT/p_ref) less the nearest sum over atoms of alpha + beta/T, which cancels
    in every reaction; and the two coefficients of this sum for each species."""
    T = np.geomspace(COLDEST, species.T_end, 60)  # over which exponentials have to stay in range
    ideal = [species.polynomial(s, T) for s in range(species.ns)]
    g = np.array([h - entropy + np.log(species.R * T / species.p_ref) for _, h, entropy in ideal])

    atoms = mechanism.composition
    basis = np.stack([atoms[:, None] * np.ones_like(T)[:, None], atoms[:, None] / T[:, None]], axis=-1)
    columns = basis.reshape(g.size, -1)
    fit = np.linalg.lstsq(columns, g.ravel(), rcond=None)[0].reshape(-1, 2)

    shift = atoms @ fit
    return g - shift[:, :1] - shift[:, 1:] / T, shift.T


# ---------------------------------------------------------------- reactions


def _species(side) -> collections.Counter:
    """Each species of a side as often as it counts."""
    return collections.Counter({s: round(nu) for s, nu in side.items()})


def _sides(reaction: Reaction) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(reactants, products). Species on both sides come last, in the same order on both sides."""
    left, right = _species(reaction.reactants), _species(reaction.products)
    both = left & right
    last = tuple(both.elements())
    return (*(left - both).elements(), *last), (*(right - both).elements(), *last)


def _by_frequency(row: ReactionRow, often: collections.Counter) -> ReactionRow:
    """The row with its more frequent reactants first; species on both sides stay the last."""
    both = (collections.Counter(row.reactants) & collections.Counter(row.products)).total()
    consumed = len(row.reactants) - both
    first = sorted(row.reactants[:consumed], key=lambda s: (-often[s], s))
    return dataclasses.replace(row, reactants=(*first, *row.reactants[consumed:]))


def _paired(reaction: Reaction, L) -> bool:
    """Whether the fast form serves: integer coefficients, up to three species a side, orders equal to the coefficients,
    exponentials in range all along the products of a side. A reactant is consumed."""
    if not any(nu < 0 for nu in reaction.net.values()):
        return False

    for side in (reaction.reactants, reaction.products):
        if any(nu != round(nu) for nu in side.values()):
            return False

        species = list(_species(side).elements())
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
