"""The reactions as steps of a crew: what kinetics_crew.h reads."""

from __future__ import annotations

import dataclasses
import itertools

# What a step does, as in kinetics_crew.h
EXPONENT, THIRD, FALLOFF, PLOG, CHEBYSHEV, OTHER, REACTANT, PRODUCT = (2**k for k in range(8))
WARPS = 8  # of a crew
STEPS = "reaction_steps"
SUMS, SUMS_APART = "reaction_sums", "reaction_sums_apart"  # of net rates; of both directions
# Numbers of a point in shared memory: two blocks of 64 points share a multiprocessor up to ROWS, one has MOST_ROWS.
ROWS, MOST_ROWS = 226, 454
SUMS_AT_ONCE = 8  # of a point, that other kernels may ask the warps for (sum_over_owners)


def _word(low: int, high: int = 0) -> float:
    """A double that is a whole number and has in its bits one of 32 bits and one of 20. So it comes through all that is
    done to tables, and a GPU need not convert it."""
    return float(2**52 + (low | high << 32))


@dataclasses.dataclass
class _Step:
    """A reaction. A, b, E of its rate coefficient; rows of two reactants, two products, a third of each; the row of its
    collider, that of its logarithm for a falloff, or the place in the table of others; the place in its coefficient's
    own table. Species by the rates that
    make and consume them: (species, nu) of the net rate; reactants, products, one for each unit of nu. Of an `other`,
    which leaves rates times nu, `net` has a species for each of these, and the sides have each species once."""

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
        words = [_word(a, b), _word(c | self.flags << 24, d), _word(self.last | self.place << 16, e | f << 10)]
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
    first = ln_third + logs
    least = max(first + max(ns, weighted + WARPS), SUMS_AT_ONCE * WARPS)
    if least > MOST_ROWS:
        return none()
    eights = -(-len(steps) // WARPS)
    for count in range(1, eights + 1):  # portions: the first that leave room
        rounds = -(-eights // count)
        own = first + WARPS * (rounds + rounds % 2)  # rows of steps that need some of their own stand behind the others
        ends = [own] * count
        places = []
        for i, step in enumerate(steps):
            places.append(ends[i // WARPS % count])
            ends[i // WARPS % count] += step.own_rows()
        if max(ends) <= (ROWS if least <= ROWS else MOST_ROWS):
            break
    else:
        return none()
    # of each portion and species: lists of rows, 0 to add and 1 to subtract; of each half: of what is made and consumed
    of_portions: list[list[tuple[list, list]]] = [[([], []) for _ in range(ns)] for _ in range(count)]
    of_halves: list[list[tuple[list, list]]] = [[([], []) for _ in range(ns)] for _ in range(2 * count)]
    table: list[float] = []
    for i, (step, place) in enumerate(zip(steps, places)):
        turn, portion = divmod(i // WARPS, count)
        row = first + WARPS * turn + i % WARPS
        reverse = row + (-WARPS if turn % 2 else WARPS)
        half = of_halves[portion + turn % 2 * count]
        table += step.row_of_table(place)
        if step.flags & OTHER:
            sides = step.reactants + step.products
            for t, (s, _) in enumerate(step.net):
                of_portions[portion][s][0].append(place + t)
            for t, s in enumerate(sides):
                half[s][0].append(place + t)
                half[s][1].append(place + len(sides) + t)
            continue
        for s, nu in step.net:
            of_portions[portion][s][nu < 0].extend([row] * abs(nu))
        for species, made, consumed in ((step.reactants, reverse, row), (step.products, row, reverse)):
            for s in species:
                half[s][0].append(made)
                half[s][1].append(consumed)
    shares = _shared([sum(len(rows) for part in of_portions for rows in part[s]) for s in range(ns)])
    zero = 2 * ns + 2
    sums = _lists([[[_signed(of[s], zero)] for s in shares] for of in of_portions])
    sums_apart = _lists([[[_signed((rows, []), zero) for rows in of[s]] for s in shares] for of in of_halves])
    if max(sum(map(len, rows)) for rows in (others, plog_rows, chebyshev_rows)) >= 2**16:
        return none()
    # |ln k - ln A| from 200 to 1e9 K: where it is far from 700, exp need not see to its range
    bounded = all(21 * abs(b) + abs(E) / 200 < 700 for b, E in exponents)
    return OfCrew(
        {STEPS: table or [0.0], SUMS: sums, SUMS_APART: sums_apart},
        dict(
            CREW_ROWS=max(least, *ends),
            CREW_WARPS=WARPS,
            RATES_BOUNDED=bounded,
            RATE_PORTIONS=count,
            RATE_STEPS=len(steps),
        ),
        shares,
    )


def none() -> OfCrew:
    """Of mechanisms that have too many species or reactions."""
    return OfCrew(dict.fromkeys((STEPS, SUMS, SUMS_APART), [0.0]), {"CREW_ROWS": 0}, [])


def _signed(lists, zero: int) -> list[float]:
    """The words of lists of rows to add and to subtract: two rows in a word, with a bit for the sign and one for the
    end. zero: the row that fills up."""
    pairs = []
    for sign, rows in zip((0, 1 << 31), lists):
        rows = rows + [zero] * (len(rows) % 2)
        pairs += [(a | sign, b) for a, b in zip(rows[::2], rows[1::2])]
    pairs = pairs or [(zero, zero)]
    pairs[-1] = (pairs[-1][0] | 1 << 30, pairs[-1][1])
    return [_word(*pair) for pair in pairs]


def _lists(parts) -> list[float]:
    """parts[portion][species][which]: words. In the order in which the warps read them, one warp after the other; ahead
    of all of them where each warp's begin, behind them one that is read ahead."""
    begin: list[float] = []
    out: list[float] = []
    for warp in range(WARPS):
        begin.append(float(WARPS + len(out)))
        out += [w for species in parts for lists in species[warp::WARPS] for words in lists for w in words]
    return [*begin, *out, 0.0]


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
    one, zero = 2 * ns, 2 * ns + 2
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
        add(row, OTHER, [one] * 6, place, [(s, 1) for s in net[row[1]]], sides[:left], sides[left:])
        place += len(row)
    return sorted(steps, key=_Step.weight, reverse=True)
