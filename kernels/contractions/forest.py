"""Extremely randomized trees for regression (Geurts, Ernst, Wehenkel 2006): the surrogate of SURF, the search of Nelson
et al. 2015. Own code, since a search has a few hundred points of some twenty numbers: a library of learning would be a
hundred times as large as what is needed of it. Section 3 of Geurts et al. tries as many cuts as there are features
for regression; TRIES is fewer, which makes a search quicker where features are numbers."""

from __future__ import annotations

import numpy as np

TREES, LEAST, TRIES = 40, 3, 8  # trees; points of a node that is split; cuts that are tried at a node


class Forest:
    """fit(X, y), then predict(X): the mean over the trees. X (points, features), y (points)."""

    def __init__(self, seed: int = 0, trees: int = TREES, tries: float = TRIES):
        self.rng, self.count, self.tries = np.random.default_rng(seed), trees, tries
        self.trees: list = []

    def fit(self, X, y) -> Forest:
        X, y = np.asarray(X, float), np.asarray(y, float)
        self.trees = [self._grow(X, y) for _ in range(self.count)]
        return self

    def _grow(self, X, y):
        """A leaf's mean, or (feature, cut, tree below it, tree above it)."""
        low, high = X.min(axis=0), X.max(axis=0)
        free = np.flatnonzero(low < high)
        if len(y) < LEAST or not free.size or np.ptp(y) == 0:
            return float(y.mean())

        # A random cut of each of some features; the cut that leaves the least variance is taken.
        some = self.rng.choice(free, int(min(self.tries, free.size)), replace=False)
        cuts = self.rng.uniform(low[some], high[some])
        below = X[:, some] <= cuts
        left = _left(below, y) + _left(~below, y)
        best = int(np.argmin(left))
        if not np.isfinite(left[best]):
            return float(y.mean())

        feature, cut, below = some[best], cuts[best], below[:, best]
        return feature, cut, self._grow(X[below], y[below]), self._grow(X[~below], y[~below])

    def predict(self, X) -> np.ndarray:
        X = np.asarray(X, float)
        return np.mean([self._all(tree, X) for tree in self.trees], axis=0)

    def _all(self, tree, X) -> np.ndarray:
        if not isinstance(tree, tuple) or not len(X):
            return np.full(len(X), 0.0 if isinstance(tree, tuple) else tree)

        feature, cut, below, above = tree
        low = X[:, feature] <= cut
        made = np.empty(len(X))
        made[low], made[~low] = self._all(below, X[low]), self._all(above, X[~low])

        return made


def _left(members, y) -> np.ndarray:
    """The variance of each part times its points; inf for a part without points. members (points, parts)."""
    count = members.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = members.T @ y / count
        squares = ((y[:, None] - mean) ** 2 * members).sum(axis=0)
    return np.where(count > 0, squares, np.inf)
