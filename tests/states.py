"""Thermodynamic states for the tests: random ones over the whole envelope, and a grid."""

import numpy as np

T_RANGE = (80.0, 3500.0)  # K
P_RANGE = (1e5, 500e5)  # Pa


def compositions(ns, n, rng):
    """Mass fractions (ns, n), in turn: pure species, two species, few species, all species evenly, all with traces."""
    if ns == 1:
        return np.ones((1, n))

    Y = np.zeros((ns, n))
    kind = np.arange(n) % 5
    k = np.flatnonzero(kind == 0)
    Y[rng.integers(ns, size=k.size), k] = 1

    for c, shape in ((3, 1.0), (2, 0.1)):
        k = np.flatnonzero(kind == c)
        Y[:, k] = rng.dirichlet(np.full(ns, shape), k.size).T

    k = np.flatnonzero(kind == 4)
    Y[:, k] = rng.dirichlet(np.full(ns, 1.0), k.size).T * 10 ** rng.uniform(-12, 0, (ns, k.size))
    k = np.flatnonzero(kind == 1)
    pick = rng.random((ns, k.size)).argsort(0)[:2]
    share = rng.random(k.size)
    Y[pick[0], k], Y[pick[1], k] = share, 1 - share

    return Y / Y.sum(0)


def random_states(ns, n, seed=0):
    """T [K], p [Pa], Y (ns, n): T uniform in half of the states and uniform in log T in the other, p in log p."""
    rng = np.random.default_rng([seed, ns])
    T = np.where(np.arange(n) % 2 == 0, rng.uniform(*T_RANGE, n), np.exp(rng.uniform(*np.log(T_RANGE), n)))
    p = np.exp(rng.uniform(*np.log(P_RANGE), n))
    return T, p, compositions(ns, n, rng)


def grid(ns):
    """A grid in T and p (1000 K left out, where the two NASA ranges meet), its compositions in turn along it."""
    T = np.array([80, 95, 110, 126.5, 154.6, 175, 200, 260, 300, 500, 999, 1001, 1388, 1774, 2401, 2976, 3500.0])
    p = np.array([1, 3.4, 10, 30, 50.5, 74, 100, 150, 221, 300, 500.0]) * 1e5
    T, p = (v.ravel() for v in np.meshgrid(T, p, indexing="ij"))
    return T, p, compositions(ns, T.size, np.random.default_rng(ns))


def impossible_states(ns):
    """T [K], p [Pa], Y (ns, n) far outside any real state; a third of them has one species only."""
    T, p = (
        x.ravel()
        for x in np.meshgrid([1e-6, 1e-3, 1.0, 90.0, 300.0, 1e4, 1e8], [1e-40, 1e-25, 1e-10, 1.0, 1e5, 1e7, 1e10, 1e20])
    )

    Y = np.random.default_rng(1).dirichlet(np.full(ns, 0.3), T.size).T
    Y[:, ::3] = 0
    Y[0, ::3] = 1

    return T, p, Y
