"""The reactions as steps of a crew: what kinetics_crew.h reads."""

from __future__ import annotations

import dataclasses
import itertools

from ...engine.backend.facts import REFERENCE
from ..plan import LARGE

# What a step does, as in kinetics_crew.h
EXPONENT, THIRD, FALLOFF, PLOG, CHEBYSHEV, OTHER, REACTANT, PRODUCT = (2**k for k in range(8))
WARPS = 8  # of a crew
STEPS, STEPS_APART = "reaction_steps", "reaction_steps_apart"  # of net rates; of both directions
# Bytes of shared memory of a block of 64 points, of which a multiprocessor has two, or one
TWO_BLOCKS, ONE_BLOCK = REFERENCE.shared_for(2), REFERENCE.shared_for(1)
POINTS = 64
ONE_AT_A_TIME = PLOG | CHEBYSHEV | OTHER | REACTANT | PRODUCT  # else a warp takes two steps of a kind
SUMS_AT_ONCE = 8  # of a point, that other kernels may ask the warps for (sum_over_owners)


def word(low: int, high: int = 0) -> float:
    """A double that is a whole number and has in its bits one of 32 bits and one of 20. So it comes through all that is
    done to tables, and a GPU need not convert it."""
    return float(2**52 + (low | high << 32))


@dataclasses.dataclass
class _Step:
    """A reaction. A, b, E: of its rate coefficient. rows: of two reactants, two products, a third of each; of an
    `other` these last two are its place in the table of others. last: row of its collider, for a falloff of the
    collider's logarithm. place: in its coefficient's own table. net: (species, nu) of the net rate; reactants,
    products: one for each unit of nu. An `other` leaves rates times nu: its net has a species for each of these, its
    sides have each species once."""

    flags: int
    A: float
    b: float
    E: float
    rows: list[int]
    last: int
    place: int
    net: list[tuple[int, int]]
    reactants: list[int]
    products: list[int]

    def weight(self):
        """Steps that are alike, and so stand together; the longest first."""
        long = self.flags & (FALLOFF | PLOG | CHEBYSHEV | OTHER)
        return long, self.flags & EXPONENT, self.flags & (THIRD | REACTANT | PRODUCT)

    def own_rows(self) -> int:
        """How many rows it leaves its rates in, beside the one that each step has."""
        return 2 * (len(self.reactants) + len(self.products)) if self.flags & OTHER else 0

    def row_of_table(self, to: int) -> list[float]:
        """to: its own rows."""
        a, b, c, d, e, f = self.rows
        if self.flags & OTHER:
            a = to
        words = [word(a, b), word(c | self.flags << 24, d), word(self.last | self.place << 16, e | f << 10)]
        return [self.A, self.b, self.E, *words]


@dataclasses.dataclass
class OfCrew:
    """values: the tables. sizes: of them CREW_ROWS is how many numbers a point has in shared memory. order: of the
    species in the table of sums."""

    values: dict[str, list[float]]
    sizes: dict[str, int]
    order: list[int]


def tables(net, ns, exponents, falloffs, plog_rows, chebyshev_rows, pairs, others, colliders, logs, weighted) -> OfCrew:
    """The reactions in portions, each of which has some of every kind, and the rates that make up each species.

    net: {species: nu} of each reaction. exponents: (b, E). falloffs: b, E of the limit that it is a multiple of, its
    collider. pairs, others: rows as kinetics.py has them. colliders, logs, weighted: sizes of that name."""
    ln_third = 2 * ns + 3 + colliders
    tabled = [(FALLOFF, i, b, E, ln_third + collider) for i, (b, E, collider) in enumerate(falloffs)]
    for flag, rows in ((PLOG, plog_rows), (CHEBYSHEV, chebyshev_rows)):
        starts = itertools.accumulate(map(len, rows[:-1]), initial=0)
        tabled += [(flag, place, 0.0, 0.0, 0) for place in starts][: len(rows)]
    steps = _steps(net, ns, exponents, tabled, pairs, others, colliders)
    if not steps:
        return none()
    first = ln_third + logs
    least = max(first + max(ns, weighted + WARPS), SUMS_AT_ONCE * WARPS)
    totals = [0] * ns
    for step in steps:
        for s, nu in step.net:
            totals[s] += abs(nu)
    shares = _shared(totals)
    room = TWO_BLOCKS if 8 * POINTS * least < TWO_BLOCKS else ONE_BLOCK
    free = room // (8 * POINTS) - first  # rows of rates at most, of which each step of a portion has one
    if 8 * POINTS * least > room or free < 1:
        return none()
    for count in range(-(-len(steps) // free), -(-len(steps) // WARPS) + 1):  # portions: the first that leave room
        laid = _laid_out(steps, shares, first, count)
        rows, size = max(least, laid.rows), 2 * 8 * WARPS * max(laid.net.block, laid.apart.block)
        if 8 * POINTS * rows + size <= room:
            break
    else:
        return none()
    if max(sum(map(len, rows)) for rows in (others, plog_rows, chebyshev_rows)) >= 2**16:
        return none()
    # |ln k - ln A| from 200 to 1e9 K: where it is far from 700, exp need not see to its range
    bounded = all(21 * abs(b) + abs(E) / 200 < 700 for b, E in exponents)
    return OfCrew(
        {STEPS: laid.net.values, STEPS_APART: laid.apart.values},
        dict(
            CREW_ROWS=rows,
            CREW_BYTES=size,
            CREW_WARPS=WARPS,
            RATES_BOUNDED=bounded,
            RATE_PORTIONS=count,
            RATE_REVERSE=laid.reverse,
            RATE_BLOCK=laid.net.block,
            RATE_LISTS=laid.net.lists,
            RATE_BLOCK_APART=laid.apart.block,
            RATE_LISTS_APART=laid.apart.lists,
        ),
        shares,
    )


def none() -> OfCrew:
    """Of mechanisms that have too many species or reactions, or no reactions."""
    return OfCrew(dict.fromkeys((STEPS, STEPS_APART), [0.0]), {"CREW_ROWS": 0}, [])


@dataclasses.dataclass
class _Blocks:
    """What a warp does in a portion, one block after another, portion by portion: how many steps and the row of the
    first one's rate, rows of these steps, then lists of the rates that it adds up. block, lists: how many doubles a
    block has, and ahead of its lists."""

    values: list[float]
    block: int
    lists: int


@dataclasses.dataclass
class _LaidOut:
    """rows: of a point. reverse: of them lie between a rate and that of the other direction, where they are apart. net,
    apart: for net rates, for both directions."""

    rows: int
    reverse: int
    net: _Blocks
    apart: _Blocks


def _laid_out(steps, shares, first: int, count: int) -> _LaidOut:
    """The steps in `count` portions for net rates, in twice as many where directions are apart, which take two rows.
    All have some of every kind. Rows of rates begin at `first`; steps that need some of their own have them behind."""
    units = _units(steps)
    net, apart = ([units[p::n] for p in range(n)] for n in (count, 2 * count))
    most = lambda portions: max(sum(map(len, portion)) for portion in portions)
    reverse = most(apart)
    own = first + max(most(net), 2 * reverse)
    of_net = [part for portion in net for part in _portion(portion, shares, first, own, 0)]
    of_apart = [part for portion in apart for part in _portion(portion, shares, first, own, reverse)]
    end = own + max(sum(step.own_rows() for unit in portion for step in unit) for portion in net)
    zero = row_of_zero(len(shares))
    return _LaidOut(end, reverse, _blocks(of_net, zero), _blocks(of_apart, zero))


def _units(steps) -> list[list[_Step]]:
    """Two steps of one kind, which a warp takes at a time, or one."""
    units: list[list[_Step]] = []
    for step in steps:
        before = units[-1] if units else []
        if len(before) == 1 and before[0].flags == step.flags and not step.flags & ONE_AT_A_TIME:
            before.append(step)
        else:
            units.append([step])
    return units


def _portion(units, shares, first: int, own: int, reverse: int):
    """(head and rows of the table, lists) of each warp. reverse: as in _LaidOut, 0 for net rates."""
    made: list[tuple[list, list]] = [([], []) for _ in shares]  # of a species: rows to add, and to subtract
    gone: list[tuple[list, list]] = [([], []) for _ in shares]
    tables, row = [], first
    for steps in _dealt(units):
        table = [word(len(steps), row), 0.0]
        for step in steps:
            table += step.row_of_table(own)
            if step.flags & OTHER:
                sides = step.reactants + step.products
                for t, s in enumerate(sides if reverse else [s for s, _ in step.net]):
                    made[s][0].append(own + t)
                    gone[s][0].append(own + len(sides) + t)
                own += step.own_rows()
            elif reverse:
                for species, there, back in ((step.reactants, row + reverse, row), (step.products, row, row + reverse)):
                    for s in species:
                        made[s][0].append(there)
                        gone[s][0].append(back)
            else:
                for s, nu in step.net:
                    made[s][nu < 0].extend([row] * abs(nu))
            row += 1
        tables.append(table)
    zero = row_of_zero(len(shares))
    sums = [[made[s], gone[s]] if reverse else [made[s]] for s in shares]
    for warp, table in enumerate(tables):
        yield table, [_signed(rows, zero) for of_species in sums[warp::WARPS] for rows in of_species]


def _dealt(units) -> list[list[_Step]]:
    """The steps of each warp: the longest units first, each to the warp that has the least to do. Two steps that take
    longer than a warp's share of all are taken apart."""
    share = sum(map(_cost, units)) / WARPS
    units = [part for unit in units for part in ([unit] if _cost(unit) <= share else [[step] for step in unit])]
    warps: list[list[_Step]] = [[] for _ in range(WARPS)]
    busy = [0.0] * WARPS
    for unit in sorted(units, key=_cost, reverse=True):
        warp = busy.index(min(busy))
        busy[warp] += _cost(unit)
        warps[warp] += unit
    return warps


def _cost(unit) -> float:
    """Of a unit, about, in instructions of a point; of two steps at a time the second adds less."""
    step = unit[0]
    long = step.flags & (FALLOFF | PLOG | CHEBYSHEV | OTHER)
    return (250 if long else 45 if step.flags & EXPONENT else 25) * (1.6 if len(unit) == 2 else 1.0)


def row_of_zero(ns: int) -> int:
    """The row of a product 0: behind D and I of each species and of a factor 1."""
    return 2 * ns + 2


def _blocks(parts, zero: int) -> _Blocks:
    """parts: (head and rows of the table, lists) of each block. All blocks have one size, a whole number of 16 bytes.
    Together they are too long for the struct of constants: they stand in the device's memory, and are copied from
    there."""
    lists_at = max(len(table) for table, _ in parts)
    words = max(sum(map(len, lists)) for _, lists in parts) + 4  # a warp reads on while it adds up its last four rows
    values: list[float] = []
    for table, lists in parts:
        listed = [x for words_of in lists for x in words_of]
        values += table + [0.0] * (lists_at - len(table)) + listed + [word(zero, zero)] * (words - len(listed))
    return _Blocks(values + [0.0] * (LARGE + 1 - len(values)), lists_at + words, lists_at)


def _signed(lists, zero: int) -> list[float]:
    """The words of lists of rows to add and to subtract: two rows in a word, with a bit for each one's sign and one for
    the end in the first of the last two words. zero: the row that fills up."""
    rows = [(row, sign) for sign, some in enumerate(lists) for row in some]
    rows += [(zero, 0)] * (-len(rows) % 4 or 4 * (not rows))
    pairs = [(a | of_a << 31 | of_b << 30, b) for (a, of_a), (b, of_b) in zip(rows[::2], rows[1::2])]
    pairs[-2] = (pairs[-2][0] | 1 << 29, pairs[-2][1])
    return [word(*pair) for pair in pairs]


def _shared(lengths) -> list[int]:
    """Species in the order in which a crew's warps take their sums, the first of each warp first: the longest go to the
    warp with the least to do, but each warp has its number of them."""
    ns = len(lengths)
    warps: list[list[int]] = [[] for _ in range(WARPS)]
    room = lambda w: -(-(ns - w) // WARPS)
    for s in sorted(range(ns), key=lambda s: -lengths[s]):
        free = [w for w in range(WARPS) if len(warps[w]) < room(w)]
        warps[min(free, key=lambda w: sum(lengths[t] for t in warps[w]))].append(s)
    return [warps[i % WARPS][i // WARPS] for i in range(ns)]


def _steps(net, ns, exponents, tabled, pairs, others, colliders) -> list[_Step]:
    """tabled: of rate coefficients that are no exponents what they are, the place in their table; of falloffs b and E,
    the row of the logarithm of their collider."""
    one, zero = 2 * ns, row_of_zero(ns)
    steps = []

    def add(row, flags, rows, last, *species):
        factor, _, k = row[:3]
        if k < len(exponents):
            b, E = exponents[k]
            kind, place = EXPONENT * bool(b or E), 0
        else:
            kind, place, b, E, of_falloff = tabled[k - len(exponents)]
            last = of_falloff if kind == FALLOFF else last
        steps.append(_Step(flags | kind, factor, b, E, rows, last, place, *species))

    for (left, right), rows in pairs.items():
        for row in rows:
            third, reversible = row[3:5]
            reactants = [2 * s for s in row[5 : 5 + left]] + [one] * (3 - left)
            products = [2 * s for s in row[5 + left :]] + [one] * (3 - right) if reversible else [zero, one, one]
            flags = THIRD * (third < colliders) | REACTANT * (left == 3) | PRODUCT * (products[2] != one)
            terms = [(s, round(nu)) for s, nu in net[row[1]].items()]
            places = [*reactants[:2], *products[:2], reactants[2], products[2]]
            add(row, flags, places, zero + 1 + third, terms, row[5 : 5 + left], row[5 + left :])
    place = 0
    for row in others:  # they multiply by nu themselves
        forward, reverse, left, right = (round(count) for count in row[7:11])
        at = 12 + 3 * (forward + reverse)
        sides = [round(s) for s in row[at : at + 2 * (left + right) : 2]]
        rows = [one] * 4 + [place % 1024, place // 1024]
        add(row, OTHER, rows, 0, [(s, 1) for s in net[row[1]]], sides[:left], sides[left:])
        place += len(row)
    return sorted(steps, key=_Step.weight, reverse=True)
