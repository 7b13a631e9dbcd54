"""Mixtures and states to measure with: any number of species from 1 to 60, made from a shipped mixture.

The first ten species are the species of examples/mixtures/ch4_o2.yaml. The same ten follow again and again, with
constants off by up to 10 %: synthetic, but of the size and spread of real species. Species s is the same at every NS.
"""

from __future__ import annotations

import numpy as np

import kernels
from kernels import SpeciesData
from kernels.gas.species.cantera_yaml import read_cantera_yaml

from ...errors import refuse
from ...shipped import ROOT

SHIPPED = ROOT / "examples" / "mixtures" / "ch4_o2.yaml"
MOST = 60
LEAST_OMEGA = -0.219  # of H2. Somewhat below, equation mapped has no alpha for a species without a row
T_RANGE, P_RANGE = (300.0, 3000.0), (1e5, 300e5)  # K, Pa
SCALED = (
    "W",
    "Tc",
    "pc",
    "omega",
    "Vc",
    "dipole",
    "kappa_assoc",
    "diameter",
    "well_depth",
    "polarizability",
    "rotational_relaxation",
    "fuller_volume",
)
KEPT = ("T_min", "T_mid", "T_max", "geometry")
POLYNOMIALS = ("nasa_low", "nasa_high")


def species(ns: int, kij: str = "dense") -> SpeciesData:
    """`ns` species with a k_ij of this structure; "file": the k_ij of the shipped mixture, repeated with its species.
    Raises ArgumentError."""
    refuse(not 1 <= ns <= MOST, f"--ns {ns}: wanted 1 to {MOST}.")
    refuse(
        not SHIPPED.is_file(),
        f"{SHIPPED} is not there: the benchmark runs from the project's folder; or give --mixture FILE.",
    )
    base = read_cantera_yaml(SHIPPED)[0]
    parent = np.arange(ns) % base.ns

    # Names, and the factors of the species that come again.
    names = list(base.names[:ns])

    factor, nasa = {field: np.ones(ns) for field in SCALED}, np.ones(ns)
    for s in range(base.ns, ns):
        names.append(f"{base.names[parent[s]]}_{s // base.ns + 1}")
        random = np.random.default_rng([s, 17])
        for field in SCALED:
            factor[field][s] = random.uniform(0.9, 1.1)
        nasa[s] = random.uniform(1.0, 1.1)  # not below 1: no gas has less than a monatomic cv

    fields = {field: getattr(base, field)[parent] * factor[field] for field in SCALED}
    fields["omega"] = np.maximum(fields["omega"], LEAST_OMEGA)
    fields |= {field: getattr(base, field)[parent] for field in KEPT}
    fields |= {field: getattr(base, field)[parent] * nasa[:, None] for field in POLYNOMIALS}
    matrix = base.kij[np.ix_(parent, parent)] if kij == "file" else kij_matrix(ns, kij)

    return SpeciesData.from_arrays(names, kij=matrix, p_ref=base.p_ref, T_fit=base.T_fit, **fields)


def kij_matrix(ns: int, kind: str) -> np.ndarray:
    """k_ij (ns, ns). none: zeros; dense: any number up to 0.15; lowrank: three families, numbers between them; sparse:
    about one pair for each species."""
    if kind == "none":
        return np.zeros((ns, ns))

    if kind == "lowrank":
        between = np.array([[0.0, 0.12, -0.07], [0.12, 0.0, 0.04], [-0.07, 0.04, 0.0]])
        family = np.arange(ns) % 3
        return between[np.ix_(family, family)]

    random = np.random.default_rng(5)
    upper = np.triu(random.uniform(-0.15, 0.15, (MOST, MOST)), 1)[:ns, :ns]
    if kind == "sparse":
        upper = upper * (random.random((MOST, MOST))[:ns, :ns] < 2 / ns)

    return upper + upper.T


def mixture(ns: int, kij: str, **options):
    """The mixture of ns species with this structure of k_ij, by Peng-Robinson unless the options say otherwise."""
    return kernels.Mixture(species(ns, kij), **{"equation": "pr", **options})


def with_kij(mix_species: SpeciesData, kij: str) -> SpeciesData:
    """Species of a file, with k_ij of the wanted structure."""
    if kij == "file":
        return mix_species

    return mix_species.with_kij(kij_matrix(mix_species.ns, kij))


KINDS = ("random", "smooth")
PERIOD = 4096  # points from the middle of a mixing layer to the middle of the next but one, in the smooth field


def states(ns: int, n: int, kind: str = "random") -> dict[str, np.ndarray]:
    """T [K], p [Pa] (n,), Y (ns, n); the first m of n points are those of n = m.

    random: T uniform, p uniform in ln p, Y uniform over all compositions. No point is like the next: a pack or a warp
    meets every branch of a kernel. smooth: as in a block of a flow code.
    """
    if kind == "smooth":
        return smooth_states(ns, n)

    of_T, of_p, of_Y = (np.random.default_rng([ns, which]) for which in range(3))
    amounts = of_Y.exponential(size=(n, ns)).T.copy()
    low, high = np.log(P_RANGE)

    return {
        "T": of_T.uniform(*T_RANGE, n),
        "p": np.exp(of_p.uniform(low, high, n)),
        "Y": amounts / amounts.sum(0),
    }


def smooth_states(ns: int, n: int) -> dict[str, np.ndarray]:
    """Mixing layers of two streams of 300 K and 600 K at 100 bar (5 % waves), with a flame of up to 3000 K in some
    layers. Three compositions: of each stream, and burnt. T changes by 20 K a point at most."""
    # Compositions (ns, 1) of the streams and of the burnt gas.
    streams = np.random.default_rng([ns, 3]).exponential(size=(3, ns))
    streams = (streams.T / streams.sum(1))[:, :, None]

    # Mixed: 0 in a stream and 1 in the other; burnt: 1 in a flame.
    phase = 2 * np.pi / PERIOD * np.arange(n)
    mixed = 0.5 + 0.5 * np.tanh(2 * np.sin(phase))
    burnt = (0.5 + 0.5 * np.sin(phase / 7.3)) * np.exp(-(((mixed - 0.4) / 0.2) ** 2))

    cold = 300.0 * (1 - mixed) + 600.0 * mixed
    share = np.stack([(1 - mixed) * (1 - burnt), mixed * (1 - burnt), burnt])

    return {
        "T": cold + burnt * (T_RANGE[1] - cold),
        "p": 100e5 * (1 + 0.05 * np.sin(phase / 3.1)),
        "Y": sum(streams[:, k] * share[k] for k in range(3)),
    }
