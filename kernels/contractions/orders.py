"""Evaluation orders: which products of a term come first, and what is computed once.

A product of n factors has (2n-3)!! orders: binary trees whose inner nodes are products of two. A node costs the product
of the extents of all indices it runs over, without the batch index. An index of one factor only is summed before the
product, if that costs less (Nelson et al. 2015, Algorithm 1). A node without the batch index is shared by the batch; it
costs nothing if the caller named the batch index, else it counts as any other (Expression.found).

`lower` rewrites statements so that no product with a sum has more than two factors, each inner node a local of its own.
Products that are equal up to the names of their indices become one local.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import math
from typing import Any

from . import paths
from .expression import Expression, Reference, Statement, Term

ENUMERATED = 6  # factors: up to 945 trees are looked at one by one
KEPT = 32  # trees of equal costs, each of which is planned: factors without indices cost the same in any tree
SUBSETS = 9  # factors: of more than ENUMERATED, one cheapest tree is built up from subsets; of more, paths.py finds one

# A tree is the number of a factor, or a pair of trees.


@dataclasses.dataclass(frozen=True)
class Orders:
    """The orders of one term. Costs are multiply-adds of an entry."""

    count: int  # of all trees
    cheapest: tuple  # the cheapest trees, KEPT of them at most
    cost: int  # of the cheapest trees
    dearest: int  # cost of the dearest tree
    direct: int  # cost of all loops at once


def extent(indices, sizes, batch) -> int:
    """How many values these indices take together. The batch does not count."""
    return math.prod(sizes[i] for i in set(indices) if i != batch)


def leaves(tree) -> frozenset[int]:
    """Numbers of the factors in a tree of products."""
    return frozenset((tree,)) if isinstance(tree, int) else leaves(tree[0]) | leaves(tree[1])


def result(part, factors, kept) -> frozenset[str]:
    """Indices that the product of these factors keeps, since the left side or other factors have them."""
    inside = frozenset().union(*(factors[k] for k in part))
    outside = frozenset(kept).union(*(f for k, f in enumerate(factors) if k not in part))
    return inside & outside


def cost(tree, factors, kept, sizes, batch, entries: int = 0) -> tuple[int, int]:
    """Multiply-adds of a tree: (for each entry of the batch, once for all). entries: see `value`."""
    if isinstance(tree, int):
        return 0, 0

    (each, once), _ = node(tree, factors, kept, sizes, batch, entries)
    for below in tree:
        each_below, once_below = cost(below, factors, kept, sizes, batch, entries)
        each, once = each + each_below, once + once_below

    return each, once


def value(price: tuple[int, int], entries: int) -> tuple[int, int]:
    """A cost that can be compared. entries: how many entries of the batch the work that is done once is held against;
    0: as many as make it free."""
    each, once = price
    return (each * entries + once, once) if entries else price


def node(tree, factors, kept, sizes, batch, entries: int = 0) -> tuple[tuple[int, int], tuple[int, ...]]:
    """(cost of the product of two trees, without what lies below; the factors that are summed before it)."""
    own = []  # indices of the two sides
    for part in map(leaves, tree):
        own.append(factors[min(part)] if len(part) == 1 else result(part, factors, kept))

    found = []
    for some in _lone(tree, factors, kept):
        sides = [result(leaves(t), factors, kept) if t in some else side for t, side in zip(tree, own)]
        spent = [frozenset().union(*sides), *(factors[k] for k in some)]
        each = sum(extent(over, sizes, batch) for over in spent if batch is None or batch in over)
        once = sum(extent(over, sizes, batch) for over in spent if batch is not None and batch not in over)
        found.append(((each, once), some))

    return min(found, key=lambda choice: (value(choice[0], entries), len(choice[1])))


def _lone(tree, factors, kept) -> list[tuple[int, ...]]:
    """Sets of the tree's own factors that have an index which no other factor and no left side has."""
    able = [t for t in tree if isinstance(t, int) and result(leaves(t), factors, kept) < factors[t]]
    sets: list[tuple[int, ...]] = []
    for count in range(len(able) + 1):
        sets += itertools.combinations(able, count)
    return sets


def between(tree, factors, kept, sizes, batch, entries: int = 0, top: bool = True) -> int:
    """Numbers of an entry that a tree keeps between its products."""
    if isinstance(tree, int):
        return 0

    _, summed = node(tree, factors, kept, sizes, batch, entries)
    here = 0 if top else extent(result(leaves(tree), factors, kept), sizes, batch)
    here += sum(extent(result(leaves(k), factors, kept), sizes, batch) for k in summed)
    return here + sum(between(t, factors, kept, sizes, batch, entries, False) for t in tree)


def trees(numbers: tuple[int, ...]):
    """All binary trees over these factors; the first factor is always on the left."""
    if len(numbers) == 1:
        yield numbers[0]
        return

    first, *rest = numbers
    for size in range(len(rest)):
        for some in itertools.combinations(rest, size):
            others = tuple(k for k in rest if k not in some)
            yield from itertools.product(trees((first, *some)), trees(others))


def orders(term: Term, out: Reference, sizes, batch, found: bool = False) -> Orders:
    """The orders in which a term can be evaluated, with their costs in multiply-adds an entry.

    sizes: {index: extent}. found: see Expression. Of more than ENUMERATED factors, one cheapest or cheap order.
    """
    factors = tuple(frozenset(f.indices) for f in term.factors)
    kept, n = frozenset(out.indices), len(factors)
    everything = frozenset().union(kept, *factors)
    direct = extent(everything, sizes, batch)
    if n < 2:
        return Orders(1, (0,) if n else (), direct, direct, direct)

    entries = entries_of(term, out, sizes, batch, found)
    count = math.prod(range(2 * n - 3, 0, -2))

    if n > ENUMERATED:
        best = _from_subsets(factors, kept, sizes, batch, entries) if n <= SUBSETS else None
        if best is None:
            best = paths.cheap(factors, kept, dict(sizes) | {batch: entries or paths.BATCH})
        return Orders(count, (best,), cost(best, factors, kept, sizes, batch, entries)[0], 0, direct)

    priced = []
    for tree in trees(tuple(range(n))):
        price = cost(tree, factors, kept, sizes, batch, entries)
        priced.append((value(price, entries), price[0], tree))

    least = min(total for total, _, _ in priced)
    cheapest = tuple(tree for total, _, tree in priced if total == least)[:KEPT]
    return Orders(
        count,
        cheapest,
        min(each for total, each, _ in priced if total == least),
        max(each for _, each, _ in priced),
        direct,
    )


def entries_of(term: Term, out: Reference, sizes, batch, found: bool) -> int:
    """How many entries of the batch the work that is done once is held against, see `value`: with a batch index that
    was found, as many as the largest extent of the others."""
    if not found:
        return 0
    everything = {*out.indices, *(i for f in term.factors for i in f.indices)}
    return max([sizes[i] for i in everything if i != batch], default=1)


def _from_subsets(factors, kept, sizes, batch, entries: int):
    """The cheapest tree: of each subset of the factors the cheapest pair of trees of two parts."""
    n = len(factors)
    best: dict[frozenset[int], Any] = {frozenset((k,)): ((0, 0), k) for k in range(n)}

    for size in range(2, n + 1):
        for part in map(frozenset, itertools.combinations(range(n), size)):
            made = []
            for left, right in _pairs(part, best):
                here, _ = node((left[1], right[1]), factors, kept, sizes, batch, entries)
                price = here[0] + left[0][0] + right[0][0], here[1] + left[0][1] + right[0][1]
                made.append((price, (left[1], right[1])))

            best[part] = min(made, key=lambda choice: value(choice[0], entries))

    return best[frozenset(range(n))][1]


def _pairs(part: frozenset[int], best):
    """Pairs of the best trees of two parts; the first factor is always on the left."""
    low, *others = sorted(part)
    for count in range(len(others)):
        for some in itertools.combinations(others, count):
            left = frozenset((low, *some))
            yield best[left], best[part - left]


# ---- equal products -------------------------------------------------------------------------------------------------


def same_up_to_names(factors, kept, batch, symmetric=frozenset()):
    """(key, order) of a product. Products that are equal up to the names of indices have equal keys.

    factors: (what, indices); the batch index keeps its name. order: the kept indices in the key's order.
    """
    groups = []
    for _, group in itertools.groupby(sorted(factors, key=lambda f: str(f[0])), key=lambda f: f[0]):
        groups.append(list(itertools.permutations(group)))

    choices_ = []
    for arranged in itertools.product(*groups):
        flat = list(itertools.chain.from_iterable(arranged))
        turned = [(f[1], exchanged(f[1], batch)) if f[0] in symmetric else (f[1],) for f in flat]
        for indices in itertools.product(*turned):
            choices_.append(_numbered([f[0] for f in flat], indices, kept, batch))

    return min(choices_)


def _numbered(names, indices, kept, batch):
    """((key, numbers of the kept indices), kept indices) with indices numbered as they come; the batch's is -1."""
    number: dict[str, int] = {}
    for i in itertools.chain.from_iterable(indices):
        number.setdefault(i, len(number))
    if batch in number:
        number[batch] = -1

    key = tuple((str(name), tuple(number[i] for i in own)) for name, own in zip(names, indices))
    order = tuple(sorted((i for i in number if i in kept), key=number.__getitem__))
    return (key, tuple(number[i] for i in order)), order


def families(e: Expression) -> list[int]:
    """How many products of several factors are equal up to the names of all indices, the batch index too.

    For the 27 triples kernels: three families of nine.
    """
    keys: collections.Counter = collections.Counter()
    for s in e.statements:
        for t in s.terms:
            if len(t.factors) > 1 and not s.function:
                factors = [(f.name, f.indices) for f in t.factors]
                keys[same_up_to_names(factors, s.out.indices, None, e.symmetric)[0]] += 1

    return sorted(keys.values(), reverse=True)


def exchanged(indices, batch):
    """The last two indices, but the batch's, exchanged."""
    *_, i, j = (place for place, index in enumerate(indices) if index != batch)
    made = list(indices)
    made[i], made[j] = made[j], made[i]
    return tuple(made)


# ---- sums that are equal up to names --------------------------------------------------------------------------------


def gathered(e: Expression, sizes, most: int):
    """Statements in which products that a sum adds several times, each time with its indices in another order, are
    computed once and added up first; None where nothing is gained.

    T[d a b] += x[d a] y[b] - x[d b] y[a] + u[d a] v[b] - u[d b] v[a]   becomes
    s0[d a b] = x[d a] y[b] + u[d a] v[b];  T[d a b] += s0[d a b] - s0[d b a]

    The output's first indices stay as they are (so that several blocks may share the work), as few as leave locals of
    at most `most` numbers. Products go into one local where they are used in the same orders, with the same signs or
    all with opposite ones.
    """
    out, last = e.statements[0].out, e.statements[0].out.indices
    if any(s.out != out or s.function or not (s.add or k == 0) for k, s in enumerate(e.statements)) or e.symmetric:
        return None
    terms = [t for s in e.statements for t in s.terms]
    if any(len(t.factors) != 2 or any(f.name == out.name for f in t.factors) for t in terms):
        return None

    # The output's last indices, as many as leave a local that is small enough.
    inner = next((last[k:] for k in range(len(last)) if extent(last[k:], sizes, e.batch) <= most), ())
    if not inner or e.batch in inner or len(inner) > ENUMERATED:
        return None
    groups = regrouped(terms, inner)
    if not groups or max(len(lead) for lead, _ in groups) < 2:
        return None

    # A local for each group, and the sum of the locals in all orders.
    fixed = last[: len(last) - len(inner)]
    locals_: list[Statement] = []
    sums: list[Term] = []

    for lead, parts in groups:
        name = f"s{len(locals_)}"
        while name in e.references:
            name += "_"
        first = next(iter(lead))  # the local's own indices: those of its first use
        locals_.append(Statement(Reference(name, (*fixed, *first)), parts))
        for order, number in lead.items():
            sums.append(Term(number, (Reference(name, (*fixed, *order)),)))

    return (*locals_, Statement(out, tuple(sums), e.statements[0].add))


def regrouped(terms, inner):
    """Groups of products, [({order of the inner indices: number}, terms)]; None if a term lacks an inner index.

    The sum of all groups is the sum of the terms. A group is the sum over the orders of the number times the group's
    terms. These are written for the first order; another order puts its inner indices in the place of the first's.
    """
    uses: dict[tuple, dict[tuple[str, ...], float]] = {}  # product: order of the inner indices -> number
    for t in terms:
        key, order = _placed(t, inner)
        if set(order) != set(inner):
            return None
        found = uses.setdefault(key, {})
        found[order] = found.get(order, 0.0) + t.number

    # Products that are used in the same orders, with the same numbers but for a factor, are a group.
    groups: list[tuple[dict, list]] = []  # (orders and numbers, [(product, number, places of its indices)])
    for key, orders_ in uses.items():
        for lead, members in groups:
            match = _same_uses(lead, orders_)
            if match:
                members.append((key, *match))
                break
        else:
            groups.append((orders_, [(key, 1.0, tuple(range(len(inner))))]))

    return [(lead, tuple(_written(next(iter(lead)), member) for member in members)) for lead, members in groups]


def _written(first: tuple[str, ...], member) -> Term:
    """A product of a group with the indices of the group's first order."""
    key, number, places = member
    names = {k: first[place] for k, place in enumerate(places)}
    factors = []
    for name, indices in key:
        factors.append(Reference(name, tuple(i if isinstance(i, str) else names[i] for i in indices)))
    return Term(number, tuple(factors))


def _placed(t: Term, inner):
    """(the product with its inner indices numbered as they come, those indices in that order). Indices of sums are
    numbered on."""
    factors = sorted(t.factors, key=lambda f: f.name)
    order = tuple(dict.fromkeys(i for f in factors for i in f.indices if i in inner))
    place = {i: k for k, i in enumerate(order)}
    return tuple((f.name, tuple(place.get(i, i) for i in f.indices)) for f in factors), order


def _same_uses(lead, other):
    """(number, places): `other` is number times `lead` with the indices of lead permuted to these places. None: it is
    not."""
    if len(lead) != len(other):
        return None
    width = len(next(iter(lead)))

    for places in itertools.permutations(range(width)):
        back = {_put(order, places): number for order, number in other.items()}
        if set(back) != set(lead):
            continue
        ratios = {back[order] / lead[order] for order in lead}
        if len(ratios) == 1:
            return ratios.pop(), places

    return None


def _put(order: tuple[str, ...], places: tuple[int, ...]) -> tuple[str, ...]:
    """The indices of an order at these places."""
    found = [""] * len(order)
    for index, place in zip(order, places):
        found[place] = index
    return tuple(found)


# ---- statements of two factors --------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Lowered:
    """Statements in which no product with a sum has more than two factors."""

    statements: tuple[Statement, ...]
    made: frozenset[str]  # locals that `lower` added
    trees: tuple  # the order of each term that had a choice
    flops: int  # of one entry of the batch
    shared: int  # flops of what is done once


def choices(e: Expression, sizes) -> list[tuple[int, int, Orders]]:
    """(statement, term, orders) of each term that has more than two factors and a sum."""
    found = []
    for k, s in enumerate(e.statements):
        for m, t in enumerate(s.terms):
            if len(t.factors) > 2 and t.sums(s.out) and not s.function:
                found.append((k, m, orders(t, s.out, sizes, e.batch, e.found)))

    return found


def lower(e: Expression, sizes, chosen=None, share: bool = True) -> Lowered:
    """Statements of at most two factors. chosen: {(statement, term): tree}; others take the first of the cheapest.

    share: products that come more than once, which a first pass finds, are computed once.
    """
    known = {(k, m): found.cheapest[0] for k, m, found in choices(e, sizes)} | dict(chosen or {})
    twice: frozenset = frozenset()

    if share:
        seen: collections.Counter = collections.Counter()
        _Lowering(e, sizes, known, frozenset(), seen).run()
        twice = frozenset(key for key, times in seen.items() if times > 1)

    lowering = _Lowering(e, sizes, known, twice, collections.Counter())
    statements = lowering.run()

    flops = {False: 0, True: 0}  # by whether they are done once
    for s in statements:
        count, once = flops_of(s, sizes, e.batch)
        flops[once] += count

    trees_ = tuple(sorted(known.items()))
    return Lowered(tuple(statements), frozenset(lowering.made), trees_, flops[False], flops[True])


def flops_of(s: Statement, sizes, batch) -> tuple[int, bool]:
    """(additions and multiplications, whether they are done once for the whole batch)."""
    flops = 0
    for t in s.terms:
        over = extent((*s.out.indices, *t.sums(s.out)), sizes, batch)
        flops += over * max(len(t.factors) - 1, 0) + (over if t.sums(s.out) else 0)

    flops += (len(s.terms) - 1 + s.add) * extent(s.out.indices, sizes, batch)
    return flops, batch is not None and batch not in s.out.indices


class _Lowering:
    """Rewrites statements one after the other."""

    def __init__(self, e: Expression, sizes, known, twice, seen):
        self.e, self.sizes, self.known, self.twice, self.seen = e, sizes, known, twice, seen
        self.made: dict[str, tuple] = {}  # key of each local
        self.local: dict[tuple, tuple[str, tuple[int, ...]]] = {}  # key: name, the order of its indices in the key's
        self.version: collections.Counter = collections.Counter()  # how often an array was written
        self.done: list[Statement] = []

    def run(self) -> list[Statement]:
        for k, s in enumerate(self.e.statements):
            if not s.function:
                terms = [self.term(s, t, self.known.get((k, m))) for m, t in enumerate(s.terms)]
                s = s._replace(terms=tuple(terms))

            self.done.append(s)
            self.version[s.out.name] += 1
        return self.done

    def term(self, s: Statement, t: Term, tree) -> Term:
        """A term as a product of two. tree: the order of evaluation; None: there is no choice."""
        if tree is None and (len(t.factors) != 2 or not t.sums(s.out)):
            return t
        tree = (0, 1) if tree is None else tree
        factors = tuple(frozenset(f.indices) for f in t.factors)
        kept = frozenset(s.out.indices)
        entries = entries_of(t, s.out, self.sizes, self.e.batch, self.e.found)

        def walk(tree, wanted, top=False):
            """The factors that stand for a part of the product. wanted: the indices of the reader, in order."""
            if isinstance(tree, int):
                return [t.factors[tree]]
            inside = kept if top else result(leaves(tree), factors, kept)
            order = _order(inside, wanted)
            _, summed = node(tree, factors, kept, self.sizes, self.e.batch, entries)
            pair = []

            for part in tree:
                if part in summed:
                    pair += self.product([t.factors[part]], _order(result(leaves(part), factors, kept), order), False)
                else:
                    pair += walk(part, order)

            return self.product(pair, order, top)

        return Term(t.number, tuple(walk(tree, s.out.indices, top=True)))

    def product(self, pair, order, top: bool):
        """The product of two references, or the local that holds it. order: of the indices that it keeps."""
        own = [i for i in order if any(i in f.indices for f in pair)]
        what = [((f.name, self.version[f.name]), f.indices) for f in pair]
        symmetric = frozenset((name, 0) for name in self.e.symmetric)
        key, canonical = same_up_to_names(what, frozenset(own), self.e.batch, symmetric)
        self.seen[key] += 1
        if top and key not in self.twice:
            return pair

        if key not in self.local:
            name = f"t{len(self.local)}"
            while name in self.e.references:
                name += "_"
            self.local[key] = name, tuple(canonical.index(i) for i in own)
            self.made[name] = key
            self.done.append(Statement(Reference(name, tuple(own)), (Term(1.0, tuple(pair)),)))

        name, places = self.local[key]
        return [Reference(name, tuple(canonical[p] for p in places))]


def _order(own: frozenset[str], wanted) -> tuple[str, ...]:
    """The indices of a local: first the indices that its reader sums, then the others in the reader's order. The last
    index of both is then the same."""
    return (*sorted(own - set(wanted)), *(i for i in wanted if i in own))
