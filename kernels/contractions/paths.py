"""An order of evaluation for products of many factors: opt_einsum's, if it is installed, else a greedy one.

Of a few factors all orders are looked at (orders.py). Of many there are too many: 10 factors have 34 million.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

BATCH = 1000  # entries that are assumed of a batch of any extent


def cheap(factors, kept, sizes):
    """A tree (orders.py) of a product. factors: the indices of each, sets. kept: of the result. sizes: all extents."""
    try:
        from opt_einsum.paths import auto
    except ImportError:
        return _greedy(factors, kept, sizes)

    path = auto([frozenset(f) for f in factors], frozenset(kept), dict(sizes))
    left = list(range(len(factors)))
    for step in path:
        taken = [left.pop(place) for place in sorted(step, reverse=True)]
        left.append(_joined(taken[::-1]))
    return _joined(left)


def _joined(trees):
    """A tree of several trees, one after the other."""
    first, *others = trees
    for tree in others:
        first = (first, tree)
    return first


def _greedy(factors, kept, sizes):
    """The cheaper of two greedy trees: by memory, and by multiply-adds."""
    made = [_by_steps(factors, kept, sizes, rule) for rule in (_growth, _work)]
    _, tree = min(made, key=lambda choice: choice[0])
    return tree


def _by_steps(factors, kept, sizes, rule) -> tuple[int, Any]:
    """(multiply-adds, tree) of the product that takes, step by step, the two factors that the rule puts first."""
    left = {k: frozenset(f) for k, f in enumerate(factors)}
    total = 0
    trees: dict[int, Any] = dict(enumerate(range(len(factors))))

    number = len(factors)
    while len(left) > 1:
        a, b = min(itertools.combinations(left, 2), key=lambda pair: rule(pair, left, kept, sizes))
        total += _size(left[a] | left[b], sizes)
        made = _product((a, b), left, kept)
        del left[a], left[b]
        left[number] = made
        trees[number] = (trees.pop(a), trees.pop(b))
        number += 1
    return total, trees.popitem()[1]


def _product(pair, left, kept) -> frozenset[str]:
    """Indices that the product of two factors keeps."""
    a, b = pair
    others = [indices for k, indices in left.items() if k not in pair]
    return (left[a] | left[b]) & frozenset(kept).union(*others)


def _growth(pair, left, kept, sizes) -> tuple:
    """(apart: no index in common, memory of the product beyond its factors', multiply-adds, the pair)."""
    a, b = pair
    memory = _size(_product(pair, left, kept), sizes) - _size(left[a], sizes) - _size(left[b], sizes)
    return not left[a] & left[b], memory, _size(left[a] | left[b], sizes), pair


def _work(pair, left, kept, sizes) -> tuple:
    """The same with multiply-adds before memory."""
    apart, memory, work, _ = _growth(pair, left, kept, sizes)
    return apart, work, memory, pair


def _size(indices, sizes) -> int:
    return math.prod(sizes[i] for i in indices)
