"""States at which a mixture is validated: the whole envelope. Places where equations of state fail are drawn more
often."""

import numpy as np

import kernels

T_RANGE, P_RANGE = (80.0, 3500.0), (0.1e5, 500e5)  # K, Pa
SHARES = {"envelope": 0.5, "critical": 0.2, "roots": 0.2, "kinks": 0.1}
KINDS = tuple(SHARES)


def compositions(ns: int, n: int, random) -> np.ndarray:
    """Mass fractions (ns, n), in turn: a pure species, an edge (two species), a few species, all species, all with
    traces to 1e-12."""
    Y = np.zeros((ns, n))
    kind = np.arange(n) % 5
    pure, edge, few, even, traces = (np.flatnonzero(kind == k) for k in range(5))
    Y[random.integers(ns, size=pure.size), pure] = 1
    first = random.integers(ns, size=edge.size)
    second = (first + random.integers(1, max(ns, 2), size=edge.size)) % ns
    share = random.random(edge.size)
    np.add.at(Y, (first, edge), share)
    np.add.at(Y, (second, edge), 1 - share)
    Y[:, few] = random.dirichlet(np.full(ns, 0.1), few.size).T
    Y[:, even] = random.dirichlet(np.full(ns, 1.0), even.size).T
    Y[:, traces] = random.dirichlet(np.full(ns, 1.0), traces.size).T * 10 ** random.uniform(-12, 0, (ns, traces.size))
    return Y / Y.sum(0)


def _log_uniform(low, high, n, random):
    return np.exp(random.uniform(np.log(low), np.log(high), n))


def envelope(mixture, n, random):
    """T uniform in one half and uniform in ln T in the other, p uniform in ln p."""
    T = np.where(np.arange(n) % 2 == 0, random.uniform(*T_RANGE, n), _log_uniform(*T_RANGE, n, random))
    return T, _log_uniform(*P_RANGE, n, random), compositions(mixture.ns, n, random)


def near_critical(mixture, n, random):
    """T [K], p [Pa], Y (ns, n) around the pseudo-critical state of each composition, at distances from 30 % down to
    1e-6; anywhere in the envelope where it is not known (ideal gas)."""
    Y = compositions(mixture.ns, n, random)
    if not np.isfinite(mixture.species.Tc).all():
        return envelope(mixture, n, random)
    at = mixture.properties("Tc_mix pc_mix", Y=Y, backend="cpu")
    away = _log_uniform(1e-6, 0.3, n, random)
    angle = random.uniform(0, 2 * np.pi, n)
    return at["Tc_mix"] * (1 + away * np.cos(angle)), at["pc_mix"] * np.exp(2 * away * np.sin(angle)), Y


def with_root(mixture, root):
    """The same mixture with another rule for the root; None where the equation of state has no such option."""
    if mixture.options["equation"] == "ideal":
        return None
    return kernels.Mixture.from_species(mixture.species, **{**mixture.options, "root": root})


def three_roots(mixture, n, random):
    """States at which the cubic has a liquid and a vapour root: both are computed and differ. Fewer than n where such
    states are rare.

    Candidates lie around the vapour pressure that corresponding states give the pseudo-critical fluid,
    log10(p/pc) = 7/3 (1 + omega)(1 - Tc/T) (the definition of omega is that it holds at T = 0.7 Tc).
    """
    liquid, vapour = with_root(mixture, "liquid"), with_root(mixture, "vapour")
    found = []
    for _ in range(8 if liquid else 0):
        Y = compositions(mixture.ns, 2 * n, random)
        at = mixture.properties("Tc_mix pc_mix X", Y=Y, backend="cpu")
        T = at["Tc_mix"] * random.uniform(0.35, 1.0, 2 * n)
        slope = 7 / 3 * np.log(10) * (1 + np.maximum(mixture.species.omega @ at["X"], -0.5))
        p = at["pc_mix"] * np.exp(slope * (1 - at["Tc_mix"] / T) + random.normal(0, 1.0, 2 * n))
        inside = (T > T_RANGE[0]) & (T < T_RANGE[1]) & (p > P_RANGE[0]) & (p < P_RANGE[1])
        T, p, Y = T[inside], p[inside], Y[:, inside]
        # h and s are computed too, as for the saturation laws, so that both share one compiled program
        both = [m.properties(["h", "s", "rho"], T=T, p=p, Y=Y, backend="cpu")["rho"] for m in (liquid, vapour)]
        keep = both[0] > both[1] * (1 + 1e-9)
        found.append((T[keep], p[keep], Y[:, keep]))
        if sum(f[0].size for f in found) >= n:
            break
    if not found:
        return np.zeros(0), np.zeros(0), np.zeros((mixture.ns, 0))
    return tuple(np.concatenate(part, axis=-1)[..., :n] for part in zip(*found))


def kinks(mixture, n, random):
    """States at temperatures where formulas change branch: NASA polynomials meet, or sqrt(a_i) passes through zero."""
    from kernels.gas.equations.constants import alpha_slope

    species = mixture.species
    kappa = alpha_slope(species.omega, mixture.options["alpha"], mixture.options["equation"])
    with np.errstate(divide="ignore", invalid="ignore"):
        places = np.concatenate([species.T_mid, species.Tc, species.Tc * (1 + 1 / kappa) ** 2])
    places = places[np.isfinite(places) & (places > T_RANGE[0]) & (places < T_RANGE[1])]
    T, p, Y = envelope(mixture, n, random)
    if places.size:
        T = random.choice(places, n) * (1 + random.choice([-1, 1], n) * _log_uniform(1e-15, 1e-3, n, random))
    return T, p, Y


def draw(mixture, n: int, seed: int = 1) -> dict[str, np.ndarray]:
    """n states: T [K], p [Pa], Y (ns, n), u, v, w [m/s], kind (index into KINDS), in random order. A seed always gives
    the same states."""
    random = np.random.default_rng([seed, mixture.ns])
    parts = []
    for name, make in zip(KINDS[1:], (near_critical, three_roots, kinks)):
        T, p, Y = make(mixture, round(n * SHARES[name]), random)
        parts.append((np.clip(T, *T_RANGE), np.clip(p, *P_RANGE), Y, np.full(T.size, KINDS.index(name))))
    rest = n - sum(part[0].size for part in parts)
    parts.append((*envelope(mixture, rest, random), np.zeros(rest, int)))
    T, p, Y, kind = (np.concatenate(part, axis=-1) for part in zip(*parts))
    order = random.permutation(n)
    out: dict[str, np.ndarray] = {"T": T[order], "p": p[order], "Y": np.ascontiguousarray(Y[:, order])}
    out["kind"] = kind[order]
    out.update(zip("uvw", random.uniform(-500, 500, (3, n))))
    return out


def part(states: dict, pick) -> dict:
    """Some of the states: a slice, a mask or indices."""
    return {name: np.ascontiguousarray(v[..., pick]) for name, v in states.items()}


def blocks(mixture, n: int, seed: int, size: int):
    """The n states in blocks that fit in memory, each with its own seed and the same shares of every kind."""
    for number, first in enumerate(range(0, n, size)):
        yield draw(mixture, min(size, n - first), seed + 1000 * number)
