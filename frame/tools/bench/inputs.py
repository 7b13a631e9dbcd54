"""Mixtures and states to measure with: any number of species from 1 to 60, made from a shipped mixture.

The first ten species are those of examples/mixtures/ch4_o2.yaml. Behind them the same ten come again and again, every
constant off by up to 10 %: synthetic, but of the size and spread of real species, and species s is the same at every
NS.
"""

from __future__ import annotations

import numpy as np

import kernels
from kernels import SpeciesData
from kernels.gas.species.cantera_yaml import read_cantera_yaml

from ...errors import ArgumentError
from ...shipped import ROOT

SHIPPED = ROOT / "examples" / "mixtures" / "ch4_o2.yaml"
MOST = 60
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


def species(ns: int, kij: str = "dense") -> SpeciesData:
    """`ns` species with a k_ij of the structure asked for; "file": that of the shipped mixture, repeated with its
    species."""
    if not 1 <= ns <= MOST:
        raise ArgumentError(f"--ns {ns}: wanted 1 to {MOST}.")
    if not SHIPPED.is_file():
        raise ArgumentError(
            f"{SHIPPED} is not there: the benchmark runs from the project's folder; or give --mixture FILE."
        )
    base = read_cantera_yaml(SHIPPED)[0]
    parent = np.arange(ns) % base.ns
    factor, names = {field: np.ones(ns) for field in SCALED}, []
    nasa = np.ones(ns)
    for s in range(ns):
        names.append(base.names[parent[s]] + (f"_{s // base.ns + 1}" if s >= base.ns else ""))
        if s < base.ns:
            continue
        random = np.random.default_rng([s, 17])
        for field in SCALED:
            factor[field][s] = random.uniform(0.9, 1.1)
        nasa[s] = random.uniform(1.0, 1.1)  # not below: a monatomic cv is the least there is
    fields = {field: getattr(base, field)[parent] * factor[field] for field in SCALED}
    fields |= {field: getattr(base, field)[parent] for field in KEPT}
    fields |= {field: getattr(base, field)[parent] * nasa[:, None] for field in ("nasa_low", "nasa_high")}
    matrix = base.kij[np.ix_(parent, parent)] if kij == "file" else kij_matrix(ns, kij)
    return SpeciesData.from_arrays(names, kij=matrix, p_ref=base.p_ref, T_fit=base.T_fit, **fields)


def kij_matrix(ns: int, kind: str) -> np.ndarray:
    """none; dense: any number up to 0.15; lowrank: three families, numbers between them; sparse: about one pair a
    species."""
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
    """The mixture of ns species with this structure of k_ij."""
    return kernels.Mixture(species(ns, kij), **options)


def with_kij(mix_species: SpeciesData, kij: str) -> SpeciesData:
    """Species of a file, with k_ij of the wanted structure."""
    if kij == "file":
        return mix_species
    fields = (*SCALED, *KEPT, "nasa_low", "nasa_high")
    return SpeciesData.from_arrays(
        mix_species.names,
        kij=kij_matrix(mix_species.ns, kij),
        p_ref=mix_species.p_ref,
        T_fit=mix_species.T_fit,
        **{field: getattr(mix_species, field) for field in fields},
    )


KINDS = ("random", "smooth")
PERIOD = 4096  # points of the smooth field from one layer's middle to that of the next but one


def states(ns: int, n: int, kind: str = "random") -> dict[str, np.ndarray]:
    """T [K], p [Pa] (n,), Y (ns, n); the first m of n points are those of n = m.

    random: T uniform, p uniform in its logarithm, Y uniform over all compositions, no point like its neighbour: every
    branch of a kernel is met within a pack or a warp. smooth: what a block of a flow code holds.
    """
    if kind == "smooth":
        return smooth_states(ns, n)
    random = [np.random.default_rng([ns, which]) for which in range(3)]
    amounts = random[2].exponential(size=(n, ns)).T.copy()
    low, high = np.log(P_RANGE)
    T, p = random[0].uniform(*T_RANGE, n), np.exp(random[1].uniform(low, high, n))
    return {"T": T, "p": p, "Y": amounts / amounts.sum(0)}


def smooth_states(ns: int, n: int) -> dict[str, np.ndarray]:
    """Mixing layers of two streams of 300 K and 600 K at 100 bar (5 % waves), a flame of up to 3000 K in each, which is
    strong in some and out in others. Three compositions, one a stream and one burnt. T changes by 20 K a point at
    most."""
    streams = np.random.default_rng([ns, 3]).exponential(size=(3, ns))
    streams = (streams.T / streams.sum(1))[:, :, None]  # (ns, stream, 1)
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
