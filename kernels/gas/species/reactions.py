"""Reactions of a gas, as rate kernels use them: SI units with mol, temperatures for energies, species by index."""

from __future__ import annotations

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class Arrhenius:
    """A T^b exp(-E/T). A: (m3/mol)^(n - 1)/s for a rate of n factors; E: activation energy over R [K]."""

    A: float
    b: float
    E: float

    def at(self, T):
        """Its value at T [K]."""
        return self.A * np.exp(self.b * np.log(T) - self.E / T)


@dataclasses.dataclass(frozen=True)
class Falloff:
    """k_high Pr/(1 + Pr) F; `activated`: k_low F/(1 + Pr); Pr = k_low [M]/k_high.

    form and numbers: "Lindemann" (); "Troe" (a, T3, T1, T2; T2 0 where there is none); "SRI" (a, b, c, d, e);
    "Tsang" (A, B).
    """

    low: Arrhenius
    high: Arrhenius
    form: str = "Lindemann"
    numbers: tuple[float, ...] = ()
    activated: bool = False


@dataclasses.dataclass(frozen=True)
class Plog:
    """ln k linear in ln p between pressures [Pa], ascending; at each the sum of some Arrhenius terms. Beyond the ends
    the end value."""

    pressures: tuple[float, ...]
    terms: tuple[tuple[Arrhenius, ...], ...]


@dataclasses.dataclass(frozen=True)
class Chebyshev:
    """log10 k = sum a_tp T_t(x) T_p(y), x linear in 1/T and y in log p; -1 to 1 over the ranges [K], [Pa]."""

    temperatures: tuple[float, float]
    pressures: tuple[float, float]
    data: tuple[tuple[float, ...], ...]


@dataclasses.dataclass(frozen=True)
class Collider:
    """[M] = sum_k e_k C_k; e_k is `default` but for the species in `of`. name: M, or the one species."""

    name: str
    default: float
    of: dict[int, float]

    def weights(self, ns: int) -> np.ndarray:
        """e_k, (ns,)."""
        weights = np.full(ns, self.default)
        weights[list(self.of)] = list(self.of.values())
        return weights


@dataclasses.dataclass(frozen=True)
class Reaction:
    """One reaction. number: its place in the file, from 0. reactants, products: {species: coefficient}, a collider
    taken off. orders: the forward ones, {species: order}. collider: it multiplies the rate of an Arrhenius, P-log or
    Chebyshev reaction, and is inside a falloff's."""

    number: int
    equation: str
    reactants: dict[int, float]
    products: dict[int, float]
    orders: dict[int, float]
    reversible: bool
    rate: Arrhenius | Falloff | Plog | Chebyshev
    collider: Collider | None = None
    multiplier: float = 1.0
    duplicate: bool = False

    @property
    def net(self) -> dict[int, float]:
        """{species: products less reactants}, where that is not 0."""
        both = {s: self.products.get(s, 0) - self.reactants.get(s, 0) for s in (*self.reactants, *self.products)}
        return {s: nu for s, nu in both.items() if nu}

    @property
    def kind(self) -> str:
        """What two reactions must have alike to be duplicates of each other; a word or two for people."""
        if isinstance(self.rate, Falloff):
            return f"{'chemically activated' if self.rate.activated else 'falloff'} {self.rate.form}"
        name = {Arrhenius: "", Plog: "P-log", Chebyshev: "Chebyshev"}[type(self.rate)]
        return f"{'three-body ' if self.collider else ''}{name}".strip() or "elementary"


@dataclasses.dataclass(frozen=True)
class Mechanism:
    """names: of the ns species; composition: (ns, elements) atoms; notes: what a reader should know."""

    names: tuple[str, ...]
    composition: np.ndarray
    reactions: tuple[Reaction, ...]
    notes: tuple[str, ...] = ()
