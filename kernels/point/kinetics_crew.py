"""The reactions as steps of a crew: what kinetics_crew.h reads."""

from __future__ import annotations

import dataclasses
import itertools

# What a step does, as in kinetics_crew.h
EXPONENT, THIRD, FALLOFF, PLOG, CHEBYSHEV, OTHER, REACTANT, PRODUCT = (2**k for k in range(8))
WARPS = 8  # of a crew
TABLES = ("reaction_coefficients", "reaction_steps", "reaction_sums")
# Numbers of a point in shared memory: two blocks of 64 points share a multiprocessor up to 226, one has room for 454.
# Portions are made for ROWS of them, where that is enough, or else for MOST_ROWS; some are a little longer than others.
ROWS, MOST_ROWS = 216, 444


def _word(a: int, b: int, c: int, d: int = 0) -> float:
    """A double that is a whole number and has in its bits three numbers of 16 bits and one of four. So it comes through
    all that is done to tables, and a GPU need not convert it."""
    return float(2**52 + (a | b << 16 | c << 32 | d << 48))


@dataclasses.dataclass
class _Step:
    """A reaction. A, b, E of its rate coefficient; rows of two reactants, two products, a third of each; the row of its
    collider, or the place in the table of others; the place in its coefficient's own table; of each rate that it leaves
    the (species, nu)."""

    flags: int
    A: float
    b: float
    E: float
    rows: list[int]
    last: int
    place: int
    leaves: list[list[tuple[int, int]]]

    def weight(self):
        """Steps that are alike, and so stand together; the longest first."""
        long = self.flags & (FALLOFF | PLOG | CHEBYSHEV | OTHER)
        return long, self.flags & EXPONENT, self.flags & (THIRD | REACTANT | PRODUCT)

    def words(self, to: int) -> list[float]:
        """to: the row of its first rate."""
        a, b, c, d, e, f = self.rows
        return [_word(a, b, c, self.flags & 15), _word(d, e, f, self.flags >> 4), _word(to, self.last, self.place)]


@dataclasses.dataclass
class OfCrew:
    """values: the tables. sizes: of them CREW_ROWS is how many numbers a point has in shared memory. order: of the
    species in the table of sums."""

    values: dict[str, list[float]]
    sizes: dict[str, int]
    order: list[int]


def tables(net, ns, exponents, falloffs, plog_rows, chebyshev_rows, pairs, others, colliders, logs, weighted) -> OfCrew:
    """The reactions in portions, each of which has some of every kind, and the rates that make up each species.

    net: {species: nu} of each reaction. exponents: (b, E). falloffs: how many. pairs, others: rows as kinetics.py has
    them. colliders, logs, weighted: sizes of that name."""
    tabled = [(FALLOFF, i) for i in range(falloffs)]
    for flag, rows in ((PLOG, plog_rows), (CHEBYSHEV, chebyshev_rows)):
        tabled += [(flag, place) for place in itertools.accumulate(map(len, rows[:-1]), initial=0)][: len(rows)]
    steps = _steps(net, ns, exponents, tabled, pairs, others, colliders)
    first = 2 * ns + 3 + colliders + logs
    least = first + max(ns, weighted + WARPS)
    if least > MOST_ROWS:
        return _none()
    rates = sum(len(step.leaves) for step in steps)
    count = max(-(-rates // ((ROWS if least <= ROWS else MOST_ROWS) - first)), 1)
    coefficients: list[float] = []
    words: list[float] = []
    # of each portion and species: rows to add, to subtract
    sums: list[list[tuple[list, list]]] = [[([], []) for _ in range(ns)] for _ in range(count)]
    ends = [first] * count  # of each portion: the row behind its rates
    for i, step in enumerate(steps):
        portion = i // WARPS % count
        coefficients += [step.A, step.b, step.E]
        words += step.words(ends[portion])
        for terms in step.leaves:
            for s, nu in terms:
                sums[portion][s][nu < 0].extend([ends[portion]] * abs(nu))
            ends[portion] += 1
    most = max(least, *ends)
    shares = _shared([sum(len(rows) for part in sums for rows in part[s]) for s in range(ns)])
    heads: list[float] = []
    threes: list[float] = []
    for of_species in sums:
        for s in shares:
            at = [ns * count + len(threes)]
            for rows in of_species[s]:
                rows = rows + [2 * ns + 2] * (-len(rows) % 3)  # with the row that is 0
                threes += [_word(*rows[i : i + 3]) for i in range(0, len(rows), 3)]
                at.append(ns * count + len(threes))
            heads.append(_word(*at))
    places = max(len(heads + threes), *(sum(map(len, rows)) for rows in (others, plog_rows, chebyshev_rows)))
    if places >= 2**16:
        return _none()
    # |ln k - ln A| from 200 to 1e9 K: where it is far from 700, exp need not see to its range
    bounded = all(21 * abs(b) + abs(E) / 200 < 700 for b, E in exponents)
    return OfCrew(
        dict(zip(TABLES, (coefficients or [0.0], words or [0.0], heads + threes))),
        dict(CREW_ROWS=most, CREW_WARPS=WARPS, RATES_BOUNDED=bounded, RATE_PORTIONS=count, RATE_STEPS=len(steps)),
        shares,
    )


def _none() -> OfCrew:
    """Of mechanisms that have too many species or reactions."""
    return OfCrew(dict.fromkeys(TABLES, [0.0]), {"CREW_ROWS": 0}, [])


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
    """tabled: (flag, place) of rate coefficients that are no exponents."""
    one, zero = 2 * ns, 2 * ns + 2
    steps = []

    def add(row, flags, rows, last, leaves):
        factor, _, k = row[:3]
        b, E = exponents[k] if k < len(exponents) else (0.0, 0.0)
        kind, place = tabled[k - len(exponents)] if k >= len(exponents) else (EXPONENT * bool(b or E), 0)
        steps.append(_Step(flags | kind, factor, b, E, rows, last, place, leaves))

    for (left, right), rows in pairs.items():
        for row in rows:
            third, reversible = row[3:5]
            reactants = [2 * s for s in row[5 : 5 + left]] + [one] * (3 - left)
            products = [2 * s for s in row[5 + left :]] + [one] * (3 - right) if reversible else [zero, one, one]
            flags = THIRD * (third < colliders) | REACTANT * (left == 3) | PRODUCT * (products[2] != one)
            leaves = [[(s, round(nu)) for s, nu in net[row[1]].items()]]
            places = [*reactants[:2], *products[:2], reactants[2], products[2]]
            add(row, flags, places, zero + 1 + third, leaves)
    place = 0
    for row in others:  # they multiply by nu themselves
        add(row, OTHER, [one] * 6, place, [[(s, 1)] for s in net[row[1]]])
        place += len(row)
    return sorted(steps, key=_Step.weight, reverse=True)
