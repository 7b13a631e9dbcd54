"""Random states at which a mixture is validated, over the whole range of T and p. Places at which equations of state
fail are drawn more often."""

import numpy as np

import kernels
from kernels.gas.equations.mapped_numbers import coldest
from kernels.gas.equations.records import MAPPED

T_RANGE, P_RANGE = (80.0, 3500.0), (0.1e5, 500e5)  # K, Pa
# Kind of state: share of the states.
SHARES = {"envelope": 0.5, "critical": 0.2, "roots": 0.2, "kinks": 0.1}
KINDS = tuple(SHARES)


def compositions(ns: int, n: int, random) -> np.ndarray:
    """Mass fractions (ns, n), alternately: a pure species, two species, a few species, all species, all species with
    traces down to 1e-12."""
    Y = np.zeros((ns, n))
    kind = np.arange(n) % 5
    pure, edge, few, even, traces = (np.flatnonzero(kind == k) for k in range(5))

    # Pure species.
    Y[random.integers(ns, size=pure.size), pure] = 1

    # Two species.
    first = random.integers(ns, size=edge.size)
    second = (first + random.integers(1, max(ns, 2), size=edge.size)) % ns
    share = random.random(edge.size)
    np.add.at(Y, (first, edge), share)
    np.add.at(Y, (second, edge), 1 - share)

    # More species.
    Y[:, few] = random.dirichlet(np.full(ns, 0.1), few.size).T
    Y[:, even] = random.dirichlet(np.full(ns, 1.0), even.size).T
    Y[:, traces] = random.dirichlet(np.full(ns, 1.0), traces.size).T * 10 ** random.uniform(-12, 0, (ns, traces.size))

    return Y / Y.sum(0)


def _log_uniform(low, high, n, random):
    return np.exp(random.uniform(np.log(low), np.log(high), n))


def envelope(mixture, n, random):
    """T [K], p [Pa], Y (ns, n): half of T uniform, half uniform in ln T; p uniform in ln p."""
    T = np.where(np.arange(n) % 2 == 0, random.uniform(*T_RANGE, n), _log_uniform(*T_RANGE, n, random))
    return T, _log_uniform(*P_RANGE, n, random), compositions(mixture.ns, n, random)


def near_critical(mixture, n, random):
    """T [K], p [Pa], Y (ns, n) around the pseudo-critical state of each composition, at relative distances from 1e-6 to
    0.3. For an ideal gas without critical properties: as `envelope`."""
    Y = compositions(mixture.ns, n, random)
    if not np.isfinite(mixture.species.Tc).all():
        return envelope(mixture, n, random)

    at = mixture.properties("Tc_mix pc_mix", Y=Y, backend="cpu")
    away = _log_uniform(1e-6, 0.3, n, random)
    angle = random.uniform(0, 2 * np.pi, n)

    return at["Tc_mix"] * (1 + away * np.cos(angle)), at["pc_mix"] * np.exp(2 * away * np.sin(angle)), Y


def with_root(mixture, root):
    """The mixture with another value of option `root`; None for an ideal gas."""
    if mixture.options["equation"] == "ideal":
        return None
    return kernels.Mixture.from_species(mixture.species, **{**mixture.options, "root": root})


def three_roots(mixture, n, random):
    """T [K], p [Pa], Y (ns, n) at which the cubic has a liquid and a vapour root: both are computed and differ.

    Fewer than n states if such states are rare. Candidates are near the vapour pressure of the pseudo-critical fluid by
    corresponding states, log10(p/pc) = 7/3 (1 + omega)(1 - Tc/T), which holds at T = 0.7 Tc by the definition of omega.
    """
    liquid, vapour = with_root(mixture, "liquid"), with_root(mixture, "vapour")
    found = []
    for _ in range(8 if liquid else 0):
        # Candidates.
        Y = compositions(mixture.ns, 2 * n, random)
        at = mixture.properties("Tc_mix pc_mix X", Y=Y, backend="cpu")
        T = at["Tc_mix"] * random.uniform(0.35, 1.0, 2 * n)
        slope = 7 / 3 * np.log(10) * (1 + np.maximum(mixture.species.omega @ at["X"], -0.5))
        p = at["pc_mix"] * np.exp(slope * (1 - at["Tc_mix"] / T) + random.normal(0, 1.0, 2 * n))
        inside = (T > T_RANGE[0]) & (T < T_RANGE[1]) & (p > P_RANGE[0]) & (p < P_RANGE[1])
        T, p, Y = T[inside], p[inside], Y[:, inside]

        # Both roots. h and s are computed too, as for the saturation laws: these use the same compiled program.
        names = ["h", "s", "rho"]
        rho_liquid = liquid.properties(names, T=T, p=p, Y=Y, backend="cpu")["rho"]
        rho_vapour = vapour.properties(names, T=T, p=p, Y=Y, backend="cpu")["rho"]
        keep = rho_liquid > rho_vapour * (1 + 1e-9)
        found.append((T[keep], p[keep], Y[:, keep]))
        if sum(f[0].size for f in found) >= n:
            break

    if not found:
        return np.zeros(0), np.zeros(0), np.zeros((mixture.ns, 0))
    return tuple(np.concatenate(part, axis=-1)[..., :n] for part in zip(*found))


def kinks(mixture, n, random):
    """T [K], p [Pa], Y (ns, n) near temperatures at which formulas change branch: NASA polynomials meet, or sqrt(a_i)
    passes through zero or bends."""
    from kernels.gas.equations.constants import alpha_bends, alpha_kinks

    species = mixture.species
    of_alpha = alpha_kinks(species, mixture.options), alpha_bends(species, mixture.options)
    places = np.concatenate([species.T_mid, species.Tc, *of_alpha])
    places = places[np.isfinite(places) & (places > T_RANGE[0]) & (places < T_RANGE[1])]

    T, p, Y = envelope(mixture, n, random)
    if places.size:
        T = random.choice(places, n) * (1 + random.choice([-1, 1], n) * _log_uniform(1e-15, 1e-3, n, random))

    return T, p, Y


def draw(mixture, n: int, seed: int = 1) -> dict[str, np.ndarray]:
    """n states: T [K], p [Pa], Y (ns, n), u, v, w [m/s], kind (index into KINDS), in random order.

    The same seed gives the same states.
    """
    random = np.random.default_rng([seed, mixture.ns])

    # Each kind, and the rest from the envelope.
    parts = []
    for name, make in zip(KINDS[1:], (near_critical, three_roots, kinks)):
        T, p, Y = make(mixture, round(n * SHARES[name]), random)
        parts.append((np.clip(T, *T_RANGE), np.clip(p, *P_RANGE), Y, np.full(T.size, KINDS.index(name))))

    rest = n - sum(part[0].size for part in parts)
    parts.append((*envelope(mixture, rest, random), np.zeros(rest, int)))
    T, p, Y, kind = (np.concatenate(part, axis=-1) for part in zip(*parts))

    # Random order, random velocities.
    order = random.permutation(n)
    out: dict[str, np.ndarray] = {"T": T[order], "p": p[order], "Y": np.ascontiguousarray(Y[:, order])}
    out["kind"] = kind[order]
    out.update(zip("uvw", random.uniform(-500, 500, (3, n))))

    return out


def part(states: dict, pick) -> dict:
    """The states of a slice, a mask or indices."""
    return {name: np.ascontiguousarray(v[..., pick]) for name, v in states.items()}


def blocks(mixture, n: int, seed: int, size: int):
    """Yields n states in blocks of at most `size`. Each block has another seed, and the same shares of all kinds."""
    for number, first in enumerate(range(0, n, size)):
        yield draw(mixture, min(size, n - first), seed + 1000 * number)


# ---- states that are not judged

OF_CV = {"cv", "gamma", "c"}  # quantities that need a positive heat capacity
NEARLY_PURE = 0.9  # mole fraction


def too_cold(mixture, states, X) -> np.ndarray:
    """States (n,) at which equation mapped says that cv of a nearly pure fluid may be negative, far below freezing."""
    if mixture.options["equation"] not in MAPPED:
        return np.zeros(states["T"].shape, bool)
    return ((X > NEARLY_PURE) & (states["T"] < coldest(mixture.species)[:, None])).any(0)
