"""The mechanism as crew.h reads it: for the warps of a block, which share the reactions of the block's points."""

from __future__ import annotations

import dataclasses

from ...engine.backend.facts import REFERENCE
from ..plan import LARGE
from .tables import GeneralRow, ReactionRow, ReactionTables

# Bits of a step: the kind of its rate coefficient, and the rows that it has in addition; the same in crew.h
EXPONENT, THIRD, FALLOFF, TABLED, OTHER, REACTANT, PRODUCT = (2**k for k in range(7))
LONG = FALLOFF | TABLED | OTHER  # steps that take five times as long as the others
ONE_AT_A_TIME = TABLED | OTHER | REACTANT | PRODUCT  # of the others a warp takes two at a time

WARPS = 8  # of a block
POINTS = 64  # of a block
SUMS_AT_ONCE = 8  # of a point, that other kernels may ask the warps for (sum_over_owners)
STEPS, STEPS_APART = "reaction_steps", "reaction_steps_apart"  # constants: for net rates; for both directions


def rooms() -> tuple[int, int]:
    """Bytes of shared memory of a block: if a multiprocessor has two of them, and if it has one."""
    return REFERENCE.shared_for(2), REFERENCE.shared_for(1)


def word(low: int, high: int = 0) -> float:
    """A double with two integers in its bits, of 32 and of 20 bits. It is an integer itself: so it survives all that is
    done to tables, and a GPU need not convert it."""
    return float(2**52 + (low | high << 32))


@dataclasses.dataclass
class _Step:
    """A reaction as a warp takes it. Rows are of a point's numbers in shared memory."""

    flags: int  # bits above
    A: float  # of the rate coefficient
    b: float
    E: float  # K
    rows: list[int]  # two reactants, two products, third of each; the last two of an OTHER: its place in the table
    last: int  # row of the collider; for a falloff, row of the collider's logarithm
    place: int  # in the table of the coefficient's kind
    net: list[tuple[int, int]]  # (species, nu) of the net rate; of an OTHER nu is 1
    reactants: list[int]  # a species for each unit of nu; of an OTHER each species once
    products: list[int]

    @property
    def is_other(self) -> bool:
        """Whether the step leaves rates times nu, in rows of its own."""
        return bool(self.flags & OTHER)

    def weight(self):
        """Order of the steps: alike ones together, the longest first."""
        return self.flags & LONG, self.flags & EXPONENT, self.flags & (THIRD | REACTANT | PRODUCT)

    def own_rows(self) -> int:
        """Number of rows for its rates, beside the row that each step has."""
        return 2 * (len(self.reactants) + len(self.products)) if self.is_other else 0

    def row_of_table(self, to: int) -> list[float]:
        """Six numbers. to: the first of its own rows."""
        reactant, reactant_2, product, product_2, reactant_3, product_3 = self.rows
        if self.is_other:
            reactant = to

        return [
            self.A,
            self.b,
            self.E,
            word(reactant, reactant_2),
            word(product | self.flags << 24, product_2),
            word(self.last | self.place << 16, reactant_3 | product_3 << 10),
        ]


@dataclasses.dataclass
class OfCrew:
    """The encoded mechanism."""

    values: dict[str, list[float]]
    sizes: dict[str, int]  # CREW_ROWS: numbers of a point in shared memory, 0 without room; CREW_BYTES: beside points
    order: list[int]  # species in the order of the table of sums


@dataclasses.dataclass
class _Rows:
    """Rows of a point's numbers: D and I of each species in turns, a factor 1, a product 0, colliders, logarithms of
    the first colliders, then rates."""

    ns: int
    colliders: int
    logs: int

    @property
    def one(self) -> int:
        return 2 * self.ns

    @property
    def zero(self) -> int:
        return row_of_zero(self.ns)

    @property
    def third(self) -> int:
        return self.zero + 1

    @property
    def ln_third(self) -> int:
        return self.third + self.colliders

    @property
    def rates(self) -> int:
        return self.ln_third + self.logs


def encoded(tables: ReactionTables) -> OfCrew:
    """The reactions in portions, each with some of every kind, and the lists of rates that make up each species."""
    rows = _Rows(tables.ns, len(tables.colliders), tables.logs)
    steps = _steps(tables, rows)
    if not steps or not _fits_in_words(tables):
        return none()

    # Species in the order in which the warps add up their rates.
    totals = [0] * tables.ns
    for step in steps:
        for s, nu in step.net:
            totals[s] += abs(nu)

    shares = _shared(totals)

    # Room for the rates of a portion: one row for each of its steps at least.
    least = max(rows.rates + max(tables.ns, len(tables.weighted) + WARPS), SUMS_AT_ONCE * WARPS)
    two_blocks, one_block = rooms()
    room = two_blocks if 8 * POINTS * least < two_blocks else one_block
    free = room // (8 * POINTS) - rows.rates
    if 8 * POINTS * least > room or free < 1:
        return none()

    # The smallest number of portions that leaves room.
    for count in range(-(-len(steps) // free), -(-len(steps) // WARPS) + 1):
        laid = _laid_out(steps, shares, rows.rates, count)
        height, size = max(least, laid.rows), 2 * 8 * WARPS * max(laid.net.block, laid.apart.block)
        if 8 * POINTS * height + size <= room:
            break
    else:
        return none()

    sizes = {
        "CREW_ROWS": height,
        "CREW_BYTES": size,
        "CREW_WARPS": WARPS,
        "RATES_BOUNDED": _bounded(tables.exponents),
        "RATE_PORTIONS": count,
        "RATE_REVERSE": laid.reverse,
        "RATE_BLOCK": laid.net.block,
        "RATE_LISTS": laid.net.lists,
        "RATE_BLOCK_APART": laid.apart.block,
        "RATE_LISTS_APART": laid.apart.lists,
    }

    return OfCrew({STEPS: laid.net.values, STEPS_APART: laid.apart.values}, sizes, shares)


def none() -> OfCrew:
    """For mechanisms that have too many species or reactions, or no reactions."""
    return OfCrew({STEPS: [0.0], STEPS_APART: [0.0]}, {"CREW_ROWS": 0}, [])


def _fits_in_words(tables: ReactionTables) -> bool:
    """Whether places in the tables of general reactions and of rate coefficients have 16 bits."""
    others = [row.numbers() for row in tables.others]
    tabled = [row.numbers for row in tables.tabled]
    return all(sum(map(len, table)) < 2**16 for table in (others, tabled))


def _bounded(exponents) -> bool:
    """Whether |ln k - ln A| from 200 to 1e9 K is so far from 700 that exp need not see to its range."""
    return all(21 * abs(b) + abs(E) / 200 < 700 for b, E in exponents)


@dataclasses.dataclass
class _Blocks:
    """The work of each warp, portion by portion: its steps, then lists of the rates to add up."""

    values: list[float]  # of each block: number of steps and row of the first rate, rows of the steps, lists
    block: int  # doubles of a block
    lists: int  # doubles ahead of a block's lists


@dataclasses.dataclass
class _LaidOut:
    """All portions."""

    rows: int  # of a point
    reverse: int  # rows between a rate and that of the other direction, where both are kept
    net: _Blocks  # for net rates
    apart: _Blocks  # for both directions


def _laid_out(steps, shares, first: int, count: int) -> _LaidOut:
    """The steps in `count` portions for net rates, in twice as many for both directions, which take two rows each.

    All portions have some steps of every kind. first: row of the first rate; rows that steps have in addition come
    behind all rates."""
    units = _units(steps)
    net = [units[p::count] for p in range(count)]
    apart = [units[p :: 2 * count] for p in range(2 * count)]

    reverse = max(map(_size, apart))
    own = first + max(max(map(_size, net)), 2 * reverse)
    end = own + max(map(_own_rows, net))

    of_net: list[tuple] = []
    for portion in net:
        of_net += _portion(portion, shares, first, own, 0)
    of_apart: list[tuple] = []
    for portion in apart:
        of_apart += _portion(portion, shares, first, own, reverse)

    zero = row_of_zero(len(shares))
    return _LaidOut(end, reverse, _blocks(of_net, zero), _blocks(of_apart, zero))


def _size(portion) -> int:
    """Number of steps of a portion's units."""
    return sum(map(len, portion))


def _own_rows(portion) -> int:
    """Number of rows that a portion's steps have in addition."""
    return sum(step.own_rows() for unit in portion for step in unit)


def _units(steps) -> list[list[_Step]]:
    """Two steps of one kind, which a warp takes at a time, or one step."""
    units: list[list[_Step]] = []
    for step in steps:
        before = units[-1] if units else []
        if len(before) == 1 and before[0].flags == step.flags and not step.flags & ONE_AT_A_TIME:
            before.append(step)
        else:
            units.append([step])

    return units


def _portion(units, shares, first: int, own: int, reverse: int):
    """[(head and rows of the table, lists)] of the warps. own: first of the rows that steps have in addition. reverse:
    as in _LaidOut, 0 for net rates."""
    made: list[tuple[list, list]] = [([], []) for _ in shares]  # of a species: rows to add, and to subtract
    gone: list[tuple[list, list]] = [([], []) for _ in shares]
    tables, row = [], first

    def note_own(step: _Step) -> None:
        """Rows of a step that has rows of its own."""
        sides = step.reactants + step.products
        for t, s in enumerate(sides if reverse else [s for s, _ in step.net]):
            made[s][0].append(own + t)
            gone[s][0].append(own + len(sides) + t)

    def note_both_ways(step: _Step) -> None:
        """The forward rate stands in the row, the backward rate `reverse` rows behind it."""
        for s in step.reactants:
            made[s][0].append(row + reverse)
            gone[s][0].append(row)
        for s in step.products:
            made[s][0].append(row)
            gone[s][0].append(row + reverse)

    for steps in _dealt(units):
        table = [word(len(steps), row), 0.0]
        for step in steps:
            table += step.row_of_table(own)
            if step.is_other:
                note_own(step)
                own += step.own_rows()
            elif reverse:
                note_both_ways(step)
            else:
                for s, nu in step.net:
                    made[s][nu < 0].extend([row] * abs(nu))
            row += 1
        tables.append(table)

    # Each warp adds up every eighth of the species in `shares`.
    zero = row_of_zero(len(shares))
    out = []

    for warp, table in enumerate(tables):
        lists = []
        for s in shares[warp::WARPS]:
            lists.append(_signed(made[s], zero))
            if reverse:
                lists.append(_signed(gone[s], zero))
        out.append((table, lists))

    return out


def _dealt(units) -> list[list[_Step]]:
    """The steps of each warp: the longest units first, each to the warp that has the least to do. Two steps that take
    longer than a warp's share of all are taken apart."""
    share = sum(map(_cost, units)) / WARPS
    parts: list[list[_Step]] = []
    for unit in units:
        parts += [unit] if _cost(unit) <= share else [[step] for step in unit]

    warps: list[list[_Step]] = [[] for _ in range(WARPS)]
    busy = [0.0] * WARPS

    for unit in sorted(parts, key=_cost, reverse=True):
        warp = busy.index(min(busy))
        busy[warp] += _cost(unit)
        warps[warp] += unit

    return warps


def _cost(unit) -> float:
    """Instructions of a unit for a point, about; of two steps at a time the second adds less."""
    flags = unit[0].flags
    if flags & LONG:
        one = 250
    elif flags & EXPONENT:
        one = 45
    else:
        one = 25

    return one * (1.6 if len(unit) == 2 else 1.0)


def row_of_zero(ns: int) -> int:
    """The row of a product 0: behind D and I of each species and of a factor 1."""
    return 2 * ns + 2


def _blocks(parts, zero: int) -> _Blocks:
    """parts: (head and rows of the table, lists) of each block. All blocks have one size, a multiple of 16 bytes.

    Together they are too long for the struct of constants: they stand in the device's memory, and are copied from
    there."""
    lists_at = max(len(table) for table, _ in parts)
    words = max(sum(map(len, lists)) for _, lists in parts) + 4  # a warp reads on while it adds up its last four rows

    values: list[float] = []
    for table, lists in parts:
        values += table + [0.0] * (lists_at - len(table))
        before = len(values)
        for words_of_list in lists:
            values += words_of_list
        values += [word(zero, zero)] * (words - (len(values) - before))

    values += [0.0] * (LARGE + 1 - len(values))
    return _Blocks(values, lists_at + words, lists_at)


def _signed(lists, zero: int) -> list[float]:
    """The words of (rows to add, rows to subtract): two rows in a word, with a bit for the sign of each, and a bit for
    the end in the first of the last two words. zero: the row that fills up."""
    rows = [(row, 0) for row in lists[0]] + [(row, 1) for row in lists[1]]
    rows += [(zero, 0)] * (-len(rows) % 4 or 4 * (not rows))

    pairs = []
    for (a, sign_of_a), (b, sign_of_b) in zip(rows[::2], rows[1::2]):
        pairs.append((a | sign_of_a << 31 | sign_of_b << 30, b))
    pairs[-2] = (pairs[-2][0] | 1 << 29, pairs[-2][1])

    return [word(*pair) for pair in pairs]


def _shared(lengths) -> list[int]:
    """Species in the order in which the warps take their sums, the first of each warp first. The longest sums go to the
    warp with the least to do, but each warp has its number of species."""
    ns = len(lengths)
    warps: list[list[int]] = [[] for _ in range(WARPS)]
    busy = [0] * WARPS
    room = [-(-(ns - warp) // WARPS) for warp in range(WARPS)]

    for s in sorted(range(ns), key=lambda s: -lengths[s]):
        free = [warp for warp in range(WARPS) if len(warps[warp]) < room[warp]]
        warp = min(free, key=busy.__getitem__)
        busy[warp] += lengths[s]
        warps[warp].append(s)

    return [warps[i % WARPS][i // WARPS] for i in range(ns)]


def _steps(tables: ReactionTables, at: _Rows) -> list[_Step]:
    """All reactions, the longest first."""
    coefficients = _coefficients(tables, at)
    steps = []

    for rows in tables.pairs.values():
        for row in rows:
            steps.append(_paired_step(row, coefficients[row.coefficient], at))

    place = 0
    for other in tables.others:
        steps.append(_other_step(other, coefficients[other.coefficient], place, at))
        place += len(other.numbers())

    return sorted(steps, key=_Step.weight, reverse=True)


@dataclasses.dataclass
class _Coefficient:
    """How a step makes its rate coefficient."""

    kind: int  # bits of a step
    place: int  # in the table of its kind
    b: float
    E: float  # K
    collider: int  # of a falloff: row of the logarithm of its collider


def _coefficients(tables: ReactionTables, at: _Rows) -> list[_Coefficient]:
    """In the order in which the rows of reactions number them."""
    out = [_Coefficient(EXPONENT if b or E else 0, 0, b, E, 0) for b, E in tables.exponents]
    for i, row in enumerate(tables.falloffs):
        out.append(_Coefficient(FALLOFF, i, row.limit.b, row.limit.E, at.ln_third + row.collider))

    place = 0
    for tabled in tables.tabled:
        out.append(_Coefficient(TABLED, place, 0.0, 0.0, 0))
        place += len(tabled.numbers)

    return out


def _paired_step(row: ReactionRow, by: _Coefficient, at: _Rows) -> _Step:
    reactants = [2 * s for s in row.reactants] + [at.one] * (3 - len(row.reactants))
    products = [at.zero, at.one, at.one]
    if row.reversible:
        products = [2 * s for s in row.products] + [at.one] * (3 - len(row.products))

    flags = by.kind
    if row.collider < at.colliders:
        flags |= THIRD
    if len(row.reactants) == 3:
        flags |= REACTANT
    if products[2] != at.one:
        flags |= PRODUCT

    return _Step(
        flags=flags,
        A=row.factor,
        b=by.b,
        E=by.E,
        rows=[*reactants[:2], *products[:2], reactants[2], products[2]],
        last=by.collider if by.kind == FALLOFF else at.third + row.collider,
        place=by.place,
        net=[(s, round(nu)) for s, nu in row.net.items()],
        reactants=list(row.reactants),
        products=list(row.products),
    )


def _other_step(row: GeneralRow, by: _Coefficient, place: int, at: _Rows) -> _Step:
    """place: of the row in the table of general reactions, in numbers."""
    return _Step(
        flags=OTHER | by.kind,
        A=row.factor,
        b=by.b,
        E=by.E,
        rows=[at.one] * 4 + [place % 1024, place // 1024],
        last=by.collider if by.kind == FALLOFF else 0,
        place=by.place,
        net=[(s, 1) for s in row.net],
        reactants=list(row.reactants),
        products=list(row.products),
    )
