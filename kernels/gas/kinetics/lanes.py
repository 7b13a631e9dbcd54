"""The mechanism as lanes.h reads it: for the lanes of a warp, which share the reactions of a point."""

from __future__ import annotations

import collections
import dataclasses

from ...engine.backend.facts import KIB, REFERENCE
from ..plan import LARGE
from . import tabled
from .crew import word
from .tables import ReactionRow, ReactionTables

# Constants
REACTIONS, RATES, SLOPES = "lanes_reactions", "lanes_rates", "lanes_slopes"
EFFICIENCIES = "lanes_efficiencies"

# A word of a table of sums
NOWHERE = 2**18 - 1  # target of a term that is not the last of its sum
FLIP = 2**19  # the sum so far is to change its sign

# Numbers of a reaction in shared memory while its slopes are added up
RATE, OF_T, OF_THIRD = 0, 1, 2  # its rate; its slopes in T and in [M] of its collider
OF_SPECIES = 3  # its slopes in three reactants and three products
OF_P = 9  # its slope in ln p, where rate coefficients depend on p

PORTION = 32  # reactions whose slopes are in shared memory at the same time
CHOICE = 64  # reactions of which the next one is chosen
CHUNK = 16  # rates that are added up in a row, and then their sums

# Bytes of shared memory: a block has two points at least, and room for constants.
POINTS_OF_BLOCK = 2
CONSTANTS = 27 * KIB
MEMORY = (REFERENCE.shared_of_block - CONSTANTS) // POINTS_OF_BLOCK  # of a point, at most

MOST_VALUES = 2**13  # numbers of V, whose addresses in bytes have 16 bits
Terms = list[tuple[int, bool]]  # of a sum: numbers of V, and whether to subtract them


@dataclasses.dataclass
class OfLanes:
    """The encoded mechanism."""

    values: dict[str, list[float]]
    sizes: dict[str, int]  # LANES_ROWS: numbers of a point in shared memory, 0 without room


def none() -> OfLanes:
    """For mechanisms that have reactions of other kinds, or too many."""
    return OfLanes({name: [0.0] for name in (REACTIONS, RATES, SLOPES, EFFICIENCIES)}, {"LANES_ROWS": 0})


def encoded(tables: ReactionTables) -> OfLanes:
    """The reactions of the fast form in an order that keeps the banks of shared memory busy, and tables that say in
    which order rates and slopes are added up."""
    three, two = _by_length(tables)
    layout = _Layout(tables, len(three) + len(two))
    if not layout.fits or not all(_slopes_have_places(row, tables) for row in tables.others):
        return none()
    if any(row.kind in tabled.MIXED for row in tables.tabled):
        return none()

    listed = _apart(three, tables.ns) + _apart(two, tables.ns)
    if not all(_fits_in_words(row, tables.ns) for row in listed):
        return none()

    words: list[float] = []
    for row in listed:
        words += _words(row, tables)

    slopes: list[float] = []
    for first in range(0, len(listed), PORTION):
        slopes += _slopes(listed[first : first + PORTION], tables, layout)
    slopes += [0.0] * (LARGE + 1 - len(slopes))  # in the device's memory: read once a step, they are not worth copying

    values = {
        REACTIONS: words,
        RATES: _rates(listed, tables, layout),
        SLOPES: slopes,
        EFFICIENCIES: _efficiencies(tables, layout),
    }

    sizes = {f"LANES_{name}": place for name, place in layout.at.items()}
    sizes |= {
        "LANES_ROWS": layout.total,
        "LANES_REACTIONS": len(listed),
        "LANES_LONG": -(-len(three) // 32) * 32,
        "LANES_PORTION": PORTION,
        "LANES_ZERO": layout.zero,
    }

    return OfLanes(values, sizes)


def _by_length(tables: ReactionTables) -> tuple[list[ReactionRow], list[ReactionRow]]:
    """(reactions with three species on a side, the other reactions of the fast form)"""
    three, two = [], []
    for pattern, rows in tables.pairs.items():
        if max(pattern) > 2:
            three += rows
        else:
            two += rows

    return three, two


class _Layout:
    """Where a point's numbers lie in shared memory, in doubles.

    A: the matrix, rows of `stride`; W, P, COMMON: slopes of each species; PAIRS: of (collider, species); D, I, C, E,
    L_T: numbers of each species; THIRD: colliders; K, K_T, K_Z: rate coefficients, their slopes in T, in [M] or ln p;
    V: values of reactions, and parts of sums."""

    def __init__(self, tables: ReactionTables, listed: int):
        ns = tables.ns
        self.stride = (ns + 1) | 1
        self.pressed = any(row.kind in tabled.PRESSED for row in tables.tabled)
        self.listed = listed

        lengths = dict(
            A=(ns + 1) * self.stride,
            W=ns,
            P=ns * self.pressed,
            COMMON=ns,
            PAIRS=sum(len(collider.touched) for collider in tables.colliders),
            END_OF_ZERO=0,
            D=ns + 2,
            I=ns + 2,
            C=ns + 2,
            E=ns + 2,
            L_T=ns + 2,
            THIRD=len(tables.colliders) + 1,
            K=tables.coefficients,
            K_T=tables.coefficients,
            K_Z=tables.coefficients - len(tables.exponents),
            V=max((OF_P + self.pressed) * PORTION, 3 * ns, listed + _sums(tables)) + 1,
        )

        self.at: dict[str, int] = {}
        self.total = 0

        for name, length in lengths.items():
            self.at[name] = self.total
            self.total += length

        self.total += self.total % 2  # two numbers side by side are one access

        self.zero = lengths["V"] - 1  # the number of V that is 0
        self.pairs: dict[tuple[int, int], int] = {}  # (collider, species): place

        for j, collider in enumerate(tables.colliders):
            for i in sorted(collider.touched):
                self.pairs[j, i] = self.at["PAIRS"] + len(self.pairs)

    @property
    def fits(self) -> bool:
        """Whether there are reactions of the fast form, and room for their numbers."""
        return bool(self.listed) and 8 * self.total <= MEMORY and self.zero + 1 <= MOST_VALUES


def _sums(tables: ReactionTables) -> int:
    """Numbers of V behind the rates: rates of general reactions times nu, and parts of the sums of rates."""
    counts = [0] * tables.ns  # rates that make up a species
    for rows in tables.pairs.values():
        for row in rows:
            for i, nu in row.net.items():
                counts[i] += abs(round(nu))

    for other in tables.others:
        for i in other.net:
            counts[i] += 1

    return sum(len(row.net) for row in tables.others) + sum(-(-count // CHUNK) for count in counts)


def _slopes_have_places(row, tables: ReactionTables) -> bool:
    """Whether a general reaction's rate depends on no collider: slopes in [M] have places for the fast form only."""
    falloff = row.coefficient - len(tables.exponents)
    return row.collider == len(tables.colliders) and not 0 <= falloff < len(tables.falloffs)


# ---------------------------------------------------------------- reactions


def _sides(row: ReactionRow, one: int) -> list[int]:
    """Rows of three reactants and three products; row `one` has a factor 1, the next a product 0."""
    reactants = [*row.reactants] + [one] * (3 - len(row.reactants))
    if row.reversible:
        return reactants + [*row.products] + [one] * (3 - len(row.products))
    return [*reactants, one + 1, one, one]


def _fits_in_words(row: ReactionRow, one: int) -> bool:
    return max(_sides(row, one)) <= 255 and row.coefficient < 2**16


def _collider(row: ReactionRow, tables: ReactionTables) -> int:
    """The collider on which the rate depends, in a falloff or as a factor; the number of colliders if none."""
    falloff = row.coefficient - len(tables.exponents)
    if 0 <= falloff < len(tables.falloffs):
        return tables.falloffs[falloff].collider
    return row.collider


def _words(row: ReactionRow, tables: ReactionTables) -> list[float]:
    """A reaction's three numbers: factor; rows of species; coefficient, collider, collider of a falloff."""
    a, b, c, d, e, f = _sides(row, tables.ns)
    no_collider = len(tables.colliders)
    blended = 0 <= row.coefficient - len(tables.exponents) < len(tables.falloffs)

    return [
        row.factor,
        word(a | b << 8 | c << 16 | d << 24, e | f << 8),
        word(row.coefficient | row.collider << 16, _collider(row, tables) if blended else no_collider),
    ]


def _slopes(portion: list[ReactionRow], tables: ReactionTables, layout: _Layout) -> list[float]:
    """The table of sums for the rates and slopes of a portion of reactions."""
    gathered: dict[int, Terms] = collections.defaultdict(list)
    at, stride = layout.at, layout.stride
    rows = len(tables.exponents) + len(tables.falloffs)  # from this rate coefficient on

    for r, row in enumerate(portion):
        collider = _collider(row, tables)
        species = [(j, OF_SPECIES + place) for place, j in enumerate(row.reactants)]
        if row.reversible:
            species += [(j, OF_SPECIES + 3 + place) for place, j in enumerate(row.products)]

        for i, nu in row.net.items():
            targets = [(at["W"] + i, RATE), (i * stride + tables.ns, OF_T)]
            targets += [(i * stride + j, value) for j, value in species]
            if collider < len(tables.colliders):
                targets.append((layout.pairs[collider, i], OF_THIRD))
            if row.coefficient >= rows and tables.tabled[row.coefficient - rows].kind in tabled.PRESSED:
                targets.append((at["P"] + i, OF_P))

            for target, value in targets:
                gathered[target] += [(value * PORTION + r, nu < 0)] * abs(round(nu))

    return _table(gathered, layout.zero, 8)


def _rates(listed: list[ReactionRow], tables: ReactionTables, layout: _Layout) -> list[float]:
    """Two tables of sums for the net production of the species: parts of CHUNK rates, and the sums of the parts."""
    rates: dict[int, Terms] = collections.defaultdict(list)
    for r, row in enumerate(listed):
        for i, nu in row.net.items():
            rates[i] += [(r, nu < 0)] * abs(round(nu))

    behind = len(listed)  # a general reaction leaves its rate times nu, in the order of its net species
    for other in tables.others:
        for i in other.net:
            rates[i].append((behind, False))
            behind += 1

    parts: dict[int, Terms] = {}
    sums: dict[int, Terms] = {}

    for i in range(tables.ns):
        terms = sorted(rates[i], key=lambda term: not term[1])  # so that few parts have both signs
        of_species = []

        for start in range(0, len(terms), CHUNK):
            part = behind + len(parts)
            parts[layout.at["V"] + part] = terms[start : start + CHUNK]
            of_species.append((part, False))

        sums[layout.at["W"] + i] = of_species or [(layout.zero, False)]  # without reactions

    return _table(parts, layout.zero, 4) + _table(sums, layout.zero, 4)


def _efficiencies(tables: ReactionTables, layout: _Layout) -> list[float]:
    """Weighted sums of slopes in [M]: into COMMON by the usual weight of a collider, into the matrix by the others."""
    efficient: dict[int, list[tuple[int, float]]] = collections.defaultdict(list)
    weights = [(collider.usual, collider.specials) for collider in tables.colliders]

    for (j, i), pair in layout.pairs.items():
        usual, specials = weights[j]
        if usual:
            efficient[layout.at["COMMON"] + i].append((pair, usual))
        for k, weight in specials.items():
            efficient[i * layout.stride + k].append((pair, weight))

    return _weighted(efficient, layout.at["PAIRS"])


def _apart(listed: list[ReactionRow], one: int) -> list[ReactionRow]:
    """Reactions in an order in which those that lanes take at the same time have species and coefficients in different
    banks of shared memory, or share them."""
    left, out = list(listed), list[ReactionRow]()
    busy = [_Banks() for _ in range(8)]

    while left:
        if len(out) % 16 == 0:
            busy = [_Banks() for _ in range(8)]

        places = [[*_sides(row, one), row.coefficient, row.collider] for row in left[:CHOICE]]
        waits = [sum(map(_Banks.wait, busy, of_row)) for of_row in places]
        n = waits.index(min(waits))
        for banks, place in zip(busy, places[n]):
            banks.take(place)
        out.append(left.pop(n))

    return out


# ---------------------------------------------------------------- tables of sums


def _table(gathered: dict[int, Terms], zero: int, ahead: int) -> list[float]:
    """Sums, each by one lane: number of words of a lane, a multiple of `ahead`, then the words, all lanes side by side.

    A word: addresses in bytes of two numbers of V; whether they are the last ones to subtract; where the sum goes, with
    its last two numbers. zero: the number that fills up."""
    out = {}
    for target, terms in gathered.items():
        pairs = []
        for sign in (True, False):  # numbers to subtract come first
            some = [number for number, negative in terms if negative == sign]
            some += [zero] * (len(some) % 2)
            for pair in zip(some[::2], some[1::2]):
                pairs.append((pair, sign))
        out[target] = pairs

    lanes = _spread(_dealt(out, ((zero, zero), False), ahead))
    words = []

    for n, row in enumerate(zip(*lanes)):
        for lane, (((a, b), negative), target) in zip(lanes, row):
            last = negative and (target != NOWHERE or not lane[n + 1][0][1])  # of the numbers to subtract
            words.append(word(8 * (a | b << 16), target | FLIP * last))

    return [float(len(lanes[0])), *words]


def _spread(lanes: list[list]) -> list[list]:
    """The terms of each sum in another order, so that the numbers that lanes read at the same time lie in different
    banks of shared memory. Sixteen lanes are served at once, with one number each."""
    busy = [[_Banks(), _Banks()] for _ in range(2 * len(lanes[0]))]  # of each place in a lane's list, for half a warp
    out: list[list] = []

    for n, lane in enumerate(lanes):
        first, numbers = 0, []
        for t, ((_, negative), target) in enumerate(lane):
            if target == NOWHERE and t + 1 < len(lane) and lane[t + 1][0][1] == negative:
                continue

            terms: list[int] = []
            for (pair, _), _ in lane[first : t + 1]:
                terms += pair

            for place in range(2 * first, 2 * t + 2):
                banks = busy[place][n // 16]
                number = min(terms, key=banks.wait)
                banks.take(number)
                terms.remove(number)
                numbers.append(number)

            first = t + 1

        spread = []
        for two, ((_, sign), target) in zip(zip(numbers[::2], numbers[1::2]), lane):
            spread.append(((two, sign), target))
        out.append(spread)

    return out


class _Banks:
    """The banks of shared memory in one access."""

    def __init__(self):
        self._numbers: list[set[int]] = [set() for _ in range(16)]

    def wait(self, number: int) -> int:
        """How many other numbers of its bank come first."""
        bank = self._numbers[number % 16]
        return 0 if number in bank else len(bank)

    def take(self, number: int) -> None:
        """The number is part of the access."""
        self._numbers[number % 16].add(number)


def _weighted(sums: dict[int, list[tuple[int, float]]], still: int) -> list[float]:
    """As _table, of numbers of the memory times weights, which follow a row of words. still: a place without a sum."""
    lanes = _dealt(sums, (still, 0.0), 1)
    out = [float(len(lanes[0]))]

    for row in zip(*lanes):
        out += [word(source, target) for (source, _), target in row]
        out += [weight for (_, weight), _ in row]

    return out


def _dealt(sums: dict, nothing, ahead: int) -> list[list]:
    """The items of 32 lanes, each with the target if it is the last of a sum, else NOWHERE. The longest sums come
    first, to the lane with the least to do. All lanes are filled up by `nothing` to a multiple of `ahead`."""
    lanes: list[list] = [[] for _ in range(32)]
    for target, items in sorted(sums.items(), key=lambda pair: -len(pair[1])):
        if not items:
            continue
        lane = min(lanes, key=len)
        lane += [(item, NOWHERE) for item in items[:-1]]
        lane.append((items[-1], target))

    length = -(-max(map(len, lanes)) // ahead) * ahead or ahead
    for lane in lanes:
        lane += [(nothing, NOWHERE)] * (length - len(lane))
    return lanes
