"""Evaluation orders: which products of a term come first, and what is computed once.

A product of n factors has (2n-3)!! orders: binary trees whose inner nodes are products of two. A node costs the product
of the extents of all indices it runs over, without the batch index; a node without the batch index is shared by the
batch and costs nothing. `lower` rewrites statements so that no product with a sum has more than two factors, each inner
node a local of its own. Products that are equal up to the names of their indices become one local.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import math
from typing import Any

from .text import Expression, Reference, Statement, Term

ENUMERATED = 6  # factors: up to 945 trees are looked at one by one; of more, one cheapest is built up from subsets

# A tree is the number of a factor, or a pair of trees.


@dataclasses.dataclass(frozen=True)
class Orders:
    """Of one term: how many trees there are, the cheapest ones, and what the cheapest and the dearest cost. direct: the
    cost of all loops at once."""

    count: int
    cheapest: tuple
    cost: int
    dearest: int
    direct: int


def extent(indices, sizes, batch) -> int:
    """How many values these indices take together. The batch does not count."""
    return math.prod(sizes[i] for i in set(indices) if i != batch)


def leaves(tree) -> frozenset[int]:
    """Numbers of the factors in a tree of products."""
    return frozenset((tree,)) if isinstance(tree, int) else leaves(tree[0]) | leaves(tree[1])


def result(part, factors, kept) -> frozenset[str]:
    """Indices that the product of these factors keeps: those that the left side or other factors have."""
    inside = frozenset().union(*(factors[k] for k in part))
    outside = frozenset(kept).union(*(f for k, f in enumerate(factors) if k not in part))
    return inside & outside


def cost(tree, factors, kept, sizes, batch) -> tuple[int, int]:
    """(for each entry of the batch, once for all)."""
    if isinstance(tree, int):
        return 0, 0
    parts = [leaves(t) for t in tree]
    over = frozenset().union(*(factors[min(p)] if len(p) == 1 else result(p, factors, kept) for p in parts))
    own = extent(over, sizes, batch)
    mine = (own, 0) if batch is None or batch in over else (0, own)
    below = [cost(t, factors, kept, sizes, batch) for t in tree]
    return mine[0] + sum(b[0] for b in below), mine[1] + sum(b[1] for b in below)


def between(tree, factors, kept, sizes, batch, top: bool = True) -> int:
    """Numbers of the products that a tree's later ones read, of an entry."""
    if isinstance(tree, int):
        return 0
    own = 0 if top else extent(result(leaves(tree), factors, kept), sizes, batch)
    return own + sum(between(t, factors, kept, sizes, batch, False) for t in tree)


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


def orders(term: Term, out: Reference, sizes, batch) -> Orders:
    """The orders in which a term can be evaluated, with their costs in multiply-adds an entry.

    sizes: {index: extent}. Of more than ENUMERATED factors the cheapest is found over subsets."""
    factors = tuple(frozenset(f.indices) for f in term.factors)
    kept, n = frozenset(out.indices), len(factors)
    direct = extent(frozenset().union(kept, *factors), sizes, batch)
    price = lambda tree: cost(tree, factors, kept, sizes, batch)
    if n < 2:
        return Orders(1, (0,) if n else (), direct, direct, direct)
    count = math.prod(range(2 * n - 3, 0, -2))
    if n > ENUMERATED:
        best = _from_subsets(n, price)
        return Orders(count, (best,), price(best)[0], 0, direct)
    made = [(price(tree), tree) for tree in trees(tuple(range(n)))]
    least = min(total for total, _ in made)
    costs = [total[0] for total, _ in made]
    return Orders(count, tuple(tree for total, tree in made if total == least), min(costs), max(costs), direct)


def _from_subsets(n: int, price):
    best: dict[frozenset[int], Any] = {frozenset((k,)): k for k in range(n)}
    for size in range(2, n + 1):
        for part in map(frozenset, itertools.combinations(range(n), size)):
            low, *others = sorted(part)
            choices = (
                (best[frozenset((low, *some))], best[part - {low, *some}])
                for r in range(size - 1)
                for some in itertools.combinations(others, r)
            )
            best[part] = min(choices, key=price)
    return best[frozenset(range(n))]


# ---- equal products -------------------------------------------------------------------------------------------------


def same_up_to_names(factors, kept, batch, symmetric=frozenset()):
    """(key, order): the key is equal for products that are equal up to the names of indices; order is the kept indices
    in the key's order. factors: (what, indices); the batch index keeps its name."""
    choices = []
    groups = [list(g) for _, g in itertools.groupby(sorted(factors, key=lambda f: str(f[0])), key=lambda f: f[0])]
    for arranged in itertools.product(*(itertools.permutations(group) for group in groups)):
        flat = [f for group in arranged for f in group]
        turned = [(f[1], exchanged(f[1], batch)) if f[0] in symmetric else (f[1],) for f in flat]
        for indices in itertools.product(*turned):
            number: dict[str, int] = {}
            for i in itertools.chain.from_iterable(indices):
                number.setdefault(i, len(number))
            mark = lambda i: -1 if i == batch else number[i]
            key = tuple((str(f[0]), tuple(map(mark, own))) for f, own in zip(flat, indices))
            order = tuple(sorted((i for i in number if i in kept), key=mark))
            choices.append(((key, tuple(map(mark, order))), order))
    return min(choices)


def families(e: Expression) -> list[int]:
    """How many products with a sum, or of several factors, fall into one family each: equal up to the names of all
    indices, the batch index too. For the 27 triples kernels: three of nine."""
    keys = collections.Counter(
        same_up_to_names([(f.name, f.indices) for f in t.factors], s.out.indices, None, e.symmetric)[0]
        for s in e.statements
        for t in s.terms
        if len(t.factors) > 1 and not s.function
    )
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
    out = e.statements[0].out
    if any(s.out != out or s.function or not (s.add or k == 0) for k, s in enumerate(e.statements)) or e.symmetric:
        return None
    if any(f.name == out.name for s in e.statements for t in s.terms for f in t.factors):
        return None
    terms = [t for s in e.statements for t in s.terms]
    inner = next(
        (out.indices[k:] for k in range(len(out.indices)) if extent(out.indices[k:], sizes, e.batch) <= most), ()
    )
    if not inner or (e.batch in inner) or len(inner) > ENUMERATED or any(len(t.factors) != 2 for t in terms):
        return None
    groups = regrouped(terms, inner)
    if not groups or max(len(lead) for lead, _ in groups) < 2:
        return None
    fixed = out.indices[: len(out.indices) - len(inner)]
    made: list[Statement] = []
    sums: list[Term] = []
    for lead, parts in groups:
        name = f"s{len(made)}"
        while name in e.references:
            name += "_"
        first = next(iter(lead))  # the local's own indices: those of its first use
        made.append(Statement(Reference(name, (*fixed, *first)), parts))
        sums += [Term(number, (Reference(name, (*fixed, *order)),)) for order, number in lead.items()]
    return (*made, Statement(out, tuple(sums), e.statements[0].add))


def regrouped(terms, inner):
    """[({order of the inner indices: number}, terms)], a group each. Their sum is the terms': in each group the sum
    over its orders of the number times the group's terms. These are written for the first order; another one puts its
    inner indices in the place of the first's. None where a term lacks an inner index."""
    uses: dict[tuple, dict[tuple[str, ...], float]] = {}  # product: order of the inner indices -> number
    for t in terms:
        key, order = _placed(t, inner)
        if set(order) != set(inner):
            return None
        found = uses.setdefault(key, {})
        found[order] = found.get(order, 0.0) + t.number
    groups: list[tuple[dict, list]] = []  # (orders and numbers, [(product, number, places of its indices)])
    for key, orders_ in uses.items():
        for lead, members in groups:
            match = _same_uses(lead, orders_)
            if match:
                members.append((key, *match))
                break
        else:
            groups.append((orders_, [(key, 1.0, tuple(range(len(inner))))]))
    made: list[tuple] = []
    for lead, members in groups:
        first = next(iter(lead))
        parts = []
        for key, number, places in members:
            names = {k: first[place] for k, place in enumerate(places)}
            refs = tuple(Reference(n, tuple(i if isinstance(i, str) else names[i] for i in own)) for n, own in key)
            parts.append(Term(number, refs))
        made.append((lead, tuple(parts)))
    return made


def _placed(t: Term, inner):
    """(the product with its inner indices numbered as they come, those indices in that order). Indices of sums are
    numbered on."""
    factors = sorted(t.factors, key=lambda f: f.name)
    order = tuple(dict.fromkeys(i for f in factors for i in f.indices if i in inner))
    place = {i: k for k, i in enumerate(order)}
    return tuple((f.name, tuple(place.get(i, i) for i in f.indices)) for f in factors), order


def _same_uses(lead, other):
    """(number, places) so that `other` is number times `lead` once its indices are put at those places; else None."""
    if len(lead) != len(other):
        return None
    width = len(next(iter(lead)))
    for places in itertools.permutations(range(width)):
        # order of other, its k-th index, is lead's index at places[k]
        turned = {}
        for order, number in other.items():
            back = [""] * width
            for k, place in enumerate(places):
                back[place] = order[k]
            turned[tuple(back)] = number
        if set(turned) == set(lead):
            ratios = {turned[order] / lead[order] for order in lead}
            if len(ratios) == 1:
                return ratios.pop(), places
    return None


# ---- statements of two factors --------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Lowered:
    """statements: none has a product with a sum of more than two factors. made: the locals that `lower` added. trees:
    the order of each term that had a choice. flops: of one entry of the batch; shared: of what is done once."""

    statements: tuple[Statement, ...]
    made: frozenset[str]
    trees: tuple
    flops: int
    shared: int


def choices(e: Expression, sizes) -> list[tuple[int, int, Orders]]:
    """(statement, term, orders) of each term that has more than two factors and a sum."""
    return [
        (k, m, orders(t, s.out, sizes, e.batch))
        for k, s in enumerate(e.statements)
        for m, t in enumerate(s.terms)
        if len(t.factors) > 2 and t.sums(s.out) and not s.function
    ]


def lower(e: Expression, sizes, chosen=None, share: bool = True) -> Lowered:
    """Statements of at most two factors. chosen: {(statement, term): tree}, else the first of the cheapest."""
    known = {(k, m): found.cheapest[0] for k, m, found in choices(e, sizes)} | dict(chosen or {})
    twice: frozenset = frozenset()
    if share:  # products that come more than once, found by a first pass
        seen: collections.Counter = collections.Counter()
        _Lowering(e, sizes, known, frozenset(), seen).run()
        twice = frozenset(key for key, times in seen.items() if times > 1)
    made = _Lowering(e, sizes, known, twice, collections.Counter())
    statements = made.run()
    work = [flops_of(s, sizes, e.batch) for s in statements]
    total = lambda shared: sum(flops for flops, once in work if once is shared)
    return Lowered(tuple(statements), frozenset(made.made), tuple(sorted(known.items())), total(False), total(True))


def flops_of(s: Statement, sizes, batch) -> tuple[int, bool]:
    """(additions and multiplications, whether they are done once for the whole batch)."""
    flops = 0
    for t in s.terms:
        over = extent((*s.out.indices, *t.sums(s.out)), sizes, batch)
        flops += over * max(len(t.factors) - 1, 0) + (over if t.sums(s.out) else 0)
    flops += (len(s.terms) - 1 + s.add) * extent(s.out.indices, sizes, batch)
    return flops, batch is not None and batch not in s.out.indices


class _Lowering:
    def __init__(self, e: Expression, sizes, known, twice, seen):
        self.e, self.sizes, self.known, self.twice, self.seen = e, sizes, known, twice, seen
        self.made: dict[str, tuple] = {}
        self.local: dict[tuple, tuple[str, tuple[int, ...]]] = {}  # key: name, the order of its indices in the key's
        self.version: collections.Counter = collections.Counter()
        self.done: list[Statement] = []

    def run(self) -> list[Statement]:
        for k, s in enumerate(self.e.statements):
            if s.function:
                self.done.append(s)
            else:
                terms = [self.term(s, t, self.known.get((k, m))) for m, t in enumerate(s.terms)]
                self.done.append(s._replace(terms=tuple(terms)))
            self.version[s.out.name] += 1
        return self.done

    def term(self, s: Statement, t: Term, tree) -> Term:
        if tree is None:
            if len(t.factors) == 2 and t.sums(s.out):
                tree = (0, 1)
            else:
                return t
        factors = tuple(frozenset(f.indices) for f in t.factors)
        kept = frozenset(s.out.indices)

        def walk(tree, wanted, top=False):
            """The factors that stand for this part of the product. wanted: the indices of what reads it, in order."""
            if isinstance(tree, int):
                return [t.factors[tree]]
            own = result(leaves(tree), factors, kept) if not top else kept
            order = _order(own, wanted)
            below = [walk(part, order) for part in tree]
            pair = [f for fs in below for f in fs]
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
    """The indices of a local: those that its reader sums first, then as the reader has them, so that the reader's last
    index is the local's."""
    return (*sorted(own - set(wanted)), *(i for i in wanted if i in own))
