"""The reactions as the lanes of a warp take them, which share a point: what reactor_lanes.h reads."""

from __future__ import annotations

import collections
import dataclasses

from ..kinetics.crew import word
from ..plan import LARGE

REACTIONS, RATES, SLOPES = "lanes_reactions", "lanes_rates", "lanes_slopes"
EFFICIENCIES = "lanes_efficiencies"
NOWHERE, FLIP = 2**18 - 1, 2**19  # not the last of a sum; what is added up so far is to be taken off
PORTION = 32  # reactions whose slopes are in shared memory at the same time
# Numbers of a reaction there: its rate, its slopes in T and in [M] of its collider, in three reactants and three
# products; in ln p where coefficients go with it
RATE, OF_T, OF_THIRD, OF_SPECIES, OF_P = 0, 1, 2, 3, 9
CHOICE = 64  # reactions of which the next one is chosen
CHUNK = 16  # rates that are added up in a row, and then their sums
MEMORY = 100 * 1024  # bytes of shared memory of a point; two at least are to fit
Terms = list[tuple[int, bool]]  # of a sum: numbers of V, and whether to subtract them


@dataclasses.dataclass
class OfLanes:
    """values: the tables. sizes: of them LANES_ROWS is how many numbers a point has in shared memory."""

    values: dict[str, list[float]]
    sizes: dict[str, int]


def none() -> OfLanes:
    """Of mechanisms that have reactions of other kinds, or too many."""
    return OfLanes({name: [0.0] for name in (REACTIONS, RATES, SLOPES, EFFICIENCIES)}, {"LANES_ROWS": 0})


def tables(net, ns, pairs, others, coefficients, exponents, falloff_colliders, no_collider, rows, weights) -> OfLanes:
    """net: {species: nu} of each reaction. pairs, others: rows as kinetics.py has them. coefficients: how many there
    are, of which the first are exponents, then falloffs. rows: of each collider the species that its reactions make or
    consume. weights: of each collider (what most species count, {species: how much more})."""
    of_three, of_two = (
        [(pattern, row) for pattern, of_pattern in pairs.items() for row in of_pattern if (max(pattern) > 2) == three]
        for three in (True, False)
    )
    listed = of_three + of_two
    pressed = coefficients > exponents + len(falloff_colliders)
    values = OF_P + pressed
    n = ns + 1
    counts = [0] * ns  # of the rates that make up a species
    for _, row in listed:
        for i, nu in net[row[1]].items():
            counts[i] += abs(round(nu))
    for row in others:
        for i in net[row[1]]:
            counts[i] += 1
    behind = sum(len(net[row[1]]) for row in others) + sum(-(-count // CHUNK) for count in counts)
    at = dict.fromkeys("A W P COMMON PAIRS END_OF_ZERO D I C E L_T THIRD K K_T K_Z V".split(), 0)
    sizes = dict(
        A=n * (n | 1),
        W=ns,
        P=ns * pressed,
        COMMON=ns,
        PAIRS=sum(map(len, rows)),
        END_OF_ZERO=0,
        **dict.fromkeys(("D", "I", "C", "E", "L_T"), ns + 2),
        THIRD=no_collider + 1,
        K=coefficients,
        K_T=coefficients,
        K_Z=coefficients - exponents,
        V=max(values * PORTION, 3 * ns, len(listed) + behind) + 1,
    )
    total = 0
    for name in at:
        at[name], total = total, total + sizes[name]
    total += total % 2  # two numbers side by side are one access
    if 8 * total > MEMORY or sizes["V"] > 2**13 or not listed:
        return none()
    listed = _apart(of_three, ns) + _apart(of_two, ns)
    zero = sizes["V"] - 1  # a number of V that is 0
    one = ns
    place, first_pair = {}, 0  # of (collider, species) among the pairs
    for j, of_collider in enumerate(rows):
        for i in sorted(of_collider):
            place[j, i] = at["PAIRS"] + first_pair
            first_pair += 1
    efficient: dict[int, list[tuple[int, float]]] = collections.defaultdict(list)
    for (j, i), pair in place.items():
        usual, more = weights[j]
        if usual:
            efficient[at["COMMON"] + i].append((pair, usual))
        for k, weight in more.items():
            efficient[i * (n | 1) + k].append((pair, weight))
    if any(row[3] < no_collider or exponents <= row[2] < exponents + len(falloff_colliders) for row in others):
        return none()  # slopes in [M] have no place
    words: list[float] = []
    rates: dict[int, Terms] = collections.defaultdict(list)  # of the species
    slopes = []
    for first in range(0, len(listed), PORTION):
        gathered: dict[int, Terms] = collections.defaultdict(list)
        for r, ((left, right), row) in enumerate(listed[first : first + PORTION]):
            _, number, k, third, reversible, *species = (round(x) if i else x for i, x in enumerate(row))
            falloff = k - exponents
            blended = 0 <= falloff < len(falloff_colliders)
            collider = falloff_colliders[falloff] if blended else third
            reactants, products = species[:left], species[left:]
            a, b, c, d, e, f, *_ = _places((left, right), row, one)
            if max(a, b, c, d, e, f) > 255 or k >= 2**16:
                return none()
            words += [row[0], word(a | b << 8 | c << 16 | d << 24, e | f << 8)]
            words += [word(k | third << 16, collider if blended else no_collider)]
            terms = [(j, OF_SPECIES + at_left) for at_left, j in enumerate(reactants)]
            terms += [(j, OF_SPECIES + 3 + at_right) for at_right, j in enumerate(products)] * bool(reversible)
            for i, nu in net[number].items():
                rates[i] += [(first + r, nu < 0)] * abs(round(nu))
                own = lambda value: [(value * PORTION + r, nu < 0)] * abs(round(nu))
                gathered[at["W"] + i] += own(RATE)
                gathered[i * (n | 1) + ns] += own(OF_T)
                for j, value in terms:
                    gathered[i * (n | 1) + j] += own(value)
                if collider < no_collider:
                    gathered[place[collider, i]] += own(OF_THIRD)
                if falloff >= len(falloff_colliders):
                    gathered[at["P"] + i] += own(OF_P)
        slopes += _table(gathered, zero, 8)
    parts: dict[int, Terms] = {}  # sums of CHUNK rates
    sums: dict[int, Terms] = {}
    behind = len(listed)  # an other reaction leaves its rate times nu, in the order of its net species
    for row in others:
        for i in net[row[1]]:
            rates[i].append((behind, False))
            behind += 1
    for i in range(ns):
        sums[at["W"] + i] = []
        rates[i].sort(key=lambda term: not term[1])  # so that few parts have both signs
        for start in range(0, len(rates[i]), CHUNK):
            part = behind + len(parts)
            parts[at["V"] + part] = rates[i][start : start + CHUNK]
            sums[at["W"] + i].append((part, False))
        sums[at["W"] + i] = sums[at["W"] + i] or [(zero, False)]  # of species without reactions
    slopes += [0.0] * (LARGE + 1 - len(slopes))  # in the device's memory: read once a step, they are not worth copying
    return OfLanes(
        {
            REACTIONS: words,
            RATES: _table(parts, zero, 4) + _table(sums, zero, 4),
            SLOPES: slopes,
            EFFICIENCIES: _weighted(efficient, at["PAIRS"]),
        },
        {f"LANES_{name}": number for name, number in at.items()}
        | dict(LANES_ROWS=total, LANES_REACTIONS=len(listed), LANES_LONG=-(-len(of_three) // 32) * 32)
        | dict(LANES_PORTION=PORTION, LANES_ZERO=zero),
    )


def _apart(listed: list, ns: int) -> list:
    """Reactions in an order in which those that lanes take at the same time have species and coefficients in different
    banks of shared memory, or share them."""
    left, out = list(listed), list[tuple]()
    busy = [_Banks() for _ in range(8)]
    while left:
        if len(out) % 16 == 0:
            busy = [_Banks() for _ in range(8)]
        places = [_places(pattern, row, ns) for pattern, row in left[:CHOICE]]
        waits = [sum(banks.wait(place) for banks, place in zip(busy, of_one)) for of_one in places]
        n = waits.index(min(waits))
        for banks, place in zip(busy, places[n]):
            banks.take(place)
        out.append(left.pop(n))
    return out


def _places(pattern, row, one: int) -> list[int]:
    """What a reaction reads: three reactants, three products, its coefficient and collider."""
    (left, right), (k, third, reversible, *species) = pattern, map(round, row[2:])
    products = species[left:] + [one] * (3 - right) if reversible else [one + 1, one, one]
    return [*species[:left], *[one] * (3 - left), *products, k, third]


def _table(gathered: dict[int, Terms], zero: int, ahead: int) -> list[float]:
    """Sums, each by one lane: how many words a lane has, a multiple of `ahead`, and these, those of all lanes side by
    side. A word: the places in bytes of two numbers of V, whether they are the last ones to subtract, and with the
    last ones of a sum where it goes. zero: the number that fills up."""
    out = {}
    for target, terms in gathered.items():
        pairs = []
        for sign in (True, False):  # what is subtracted comes first
            some = [number for number, negative in terms if negative == sign]
            some += [zero] * (len(some) % 2)
            pairs += [(pair, sign) for pair in zip(some[::2], some[1::2])]
        out[target] = pairs
    lanes = _spread(_dealt(out, ((zero, zero), False), ahead))
    words = []
    for n, row in enumerate(zip(*lanes)):
        for lane, (((a, b), negative), target) in zip(lanes, row):
            last = negative and (target != NOWHERE or not lane[n + 1][0][1])  # of what is subtracted
            words.append(word(8 * (a | b << 16), target | FLIP * last))
    return [float(len(lanes[0])), *words]


def _spread(lanes: list[list]) -> list[list]:
    """The terms of each sum in another order, so that what lanes read at the same time lies in different banks of
    shared memory. Sixteen lanes are served at once, of one number all of them."""
    busy = [[_Banks(), _Banks()] for _ in range(2 * len(lanes[0]))]  # of each place in a lane's list, for half a warp
    out: list[list] = []
    for n, lane in enumerate(lanes):
        first, numbers = 0, []
        for t, ((_, negative), target) in enumerate(lane):
            if target == NOWHERE and t + 1 < len(lane) and lane[t + 1][0][1] == negative:
                continue
            terms = [number for (pair, _), _ in lane[first : t + 1] for number in pair]
            for place in range(2 * first, 2 * t + 2):
                banks = busy[place][n // 16]
                number = min(terms, key=banks.wait)
                banks.take(number)
                terms.remove(number)
                numbers.append(number)
            first = t + 1
        out.append([((two, sign), to) for two, ((_, sign), to) in zip(zip(numbers[::2], numbers[1::2]), lane)])
    return out


class _Banks:
    """Of shared memory, in one access."""

    def __init__(self):
        self._numbers: list[set[int]] = [set() for _ in range(16)]

    def wait(self, number: int) -> int:
        """How many others come first."""
        bank = self._numbers[number % 16]
        return 0 if number in bank else len(bank)

    def take(self, number: int) -> None:
        self._numbers[number % 16].add(number)


def _weighted(sums: dict[int, list[tuple[int, float]]], still: int) -> list[float]:
    """As _table, of numbers of the memory times weights, which follow a row of words. still: a place without a sum."""
    lanes = _dealt(sums, (still, 0.0), 1)
    out = [float(len(lanes[0]))]
    for row in zip(*lanes):
        out += [word(source, target) for (source, _), target in row] + [weight for (_, weight), _ in row]
    return out


def _dealt(sums: dict, nothing, ahead: int) -> list[list]:
    """Of 32 lanes the items, each with the target where it is the last of a sum, else NOWHERE. The longest sums come
    first, to the lane with the least to do."""
    lanes: list[list] = [[] for _ in range(32)]
    for target, items in sorted(sums.items(), key=lambda pair: -len(pair[1])):
        if items:
            own = min(lanes, key=len)
            own += [(item, NOWHERE) for item in items[:-1]] + [(items[-1], target)]
    length = -(-max(map(len, lanes)) // ahead) * ahead or ahead
    return [own + [(nothing, NOWHERE)] * (length - len(own)) for own in lanes]
