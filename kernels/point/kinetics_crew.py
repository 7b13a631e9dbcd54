"""The reactions as steps of a crew: what kinetics_crew.h reads."""

from __future__ import annotations

import dataclasses
import itertools

# What a step does, as in kinetics_crew.h
EXPONENT, THIRD, FALLOFF, PLOG, CHEBYSHEV, OTHER, REACTANT, PRODUCT = (2**k for k in range(8))
WARPS = 8  # of a crew
STEPS = ("reaction_coefficients", "reaction_steps")
SUMS, SUMS_APART = "reaction_sums", "reaction_sums_apart"  # of net rates; of both directions
# Numbers of a point in shared memory: two blocks of 64 points share a multiprocessor up to ROWS, one has MOST_ROWS.
ROWS, MOST_ROWS = 226, 454


def _word(a: int, b: int, c: int, d: int = 0) -> float:
    """A double that is a whole number and has in its bits three numbers of 16 bits and one of four. So it comes through
    all that is done to tables, and a GPU need not convert it."""
    return float(2**52 + (a | b << 16 | c << 32 | d << 48))


@dataclasses.dataclass
class _Step:
    """A reaction. A, b, E of its rate coefficient; rows of two reactants, two products, a third of each; the row of its
    collider, or the place in the table of others; the place in its coefficient's own table; of each row that it leaves
    the (species, nu) of the net rate, the species of which the forward rate is one of consumption and the reverse one
    of production, and those where it is the other way round."""

    flags: int
    A: float
    b: float
    E: float
    rows: list[int]
    last: int
    place: int
    leaves: list[tuple[list[tuple[int, int]], list[int], list[int]]]

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
    for count in range(1, len(steps) + 2):  # the first that leaves room
        halves = [i // WARPS % (2 * count) for i in range(len(steps))]  # those of portion 0, 1, ..., then the others
        sizes = [0] * (2 * count)
        places = []  # of each step in its half
        for step, half in zip(steps, halves):
            places.append(sizes[half])
            sizes[half] += len(step.leaves)
        longest = max(sizes)
        if first + 2 * longest <= (ROWS if least <= ROWS else MOST_ROWS):
            break
    else:
        return _none()
    # of each portion and species: rows to add, to subtract; of each half and species: of what is made, consumed
    net = [[([], []) for _ in range(ns)] for _ in range(count)]
    apart = [[([], []) for _ in range(ns)] for _ in range(2 * count)]
    words: list[float] = []
    for step, half, place in zip(steps, halves, places):
        second = half >= count
        to = first + second * longest + place
        words += step.words(to)
        for row, (terms, consumed, made) in enumerate(step.leaves, to):
            reverse = row + (-longest if second else longest)
            for s, nu in terms:
                net[half % count][s][nu < 0].extend([row] * abs(nu))
            for one, other, rows in ((0, 1, consumed), (1, 0, made)):
                for s in rows:
                    apart[half][s][one].append(reverse)
                    apart[half][s][other].append(row)
    shares = _shared([sum(len(rows) for part in net for rows in part[s]) for s in range(ns)])
    sums, sums_apart = (_lists(parts, shares, 2 * ns + 2) for parts in (net, apart))
    tables = (sums, sums_apart, *(list(itertools.chain(*rows)) for rows in (others, plog_rows, chebyshev_rows)))
    if max(map(len, tables)) >= 2**16:
        return _none()
    # |ln k - ln A| from 200 to 1e9 K: where it is far from 700, exp need not see to its range
    bounded = all(21 * abs(b) + abs(E) / 200 < 700 for b, E in exponents)
    coefficients = [x for step in steps for x in (step.A, step.b, step.E)]
    return OfCrew(
        dict(zip((*STEPS, SUMS, SUMS_APART), (coefficients or [0.0], words or [0.0], sums, sums_apart))),
        dict(
            CREW_ROWS=max(least, first + 2 * longest),
            CREW_WARPS=WARPS,
            RATES_BOUNDED=bounded,
            RATE_PORTIONS=count,
            RATE_HALF=longest,
            RATE_STEPS=len(steps),
        ),
        shares,
    )


def _none() -> OfCrew:
    """Of mechanisms that have too many species or reactions."""
    return OfCrew(dict.fromkeys((*STEPS, SUMS, SUMS_APART), [0.0]), {"CREW_ROWS": 0}, [])


def _lists(parts, shares, zero: int) -> list[float]:
    """Of each part and species, these in the order of `shares`: where its two lists begin and end. Then the lists, three
    rows in a word. zero: the row that fills up."""
    heads: list[float] = []
    threes: list[float] = []
    before = len(parts) * len(shares)
    for of_species in parts:
        for s in shares:
            at = [before + len(threes)]
            for rows in of_species[s]:
                rows = rows + [zero] * (-len(rows) % 3)
                threes += [_word(*rows[i : i + 3]) for i in range(0, len(rows), 3)]
                at.append(before + len(threes))
            heads.append(_word(*at))
    return heads + threes


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
            terms = [(s, round(nu)) for s, nu in net[row[1]].items()]
            leaves = [(terms, row[5 : 5 + left], row[5 + left :])]
            places = [*reactants[:2], *products[:2], reactants[2], products[2]]
            add(row, flags, places, zero + 1 + third, leaves)
    place = 0
    for row in others:  # they multiply by nu themselves
        forward, reverse, left, right = (round(count) for count in row[7:11])
        at = 12 + 3 * (forward + reverse)
        sides = [round(s) for s in row[at : at + 2 * (left + right) : 2]]
        terms = [[(s, 1)] for s in net[row[1]]] + [[]] * (len(sides) - len(net[row[1]]))
        add(row, OTHER, [one] * 6, place, [(t, [], [s]) for t, s in zip(terms, sides)])
        place += len(row)
    return sorted(steps, key=_Step.weight, reverse=True)
