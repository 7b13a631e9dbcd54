"""Reactions of a gas: SI units with mol, activation energies as temperatures (E/R), species by index."""

from __future__ import annotations

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class Arrhenius:
    """Rate coefficient A T^b exp(-E/T)."""

    A: float  # (m3/mol)^(n - 1)/s for a rate with n concentrations
    b: float
    E: float  # activation energy over R [K]

    def at(self, T):
        """The rate coefficient at T [K]."""
        return self.A * np.exp(self.b * np.log(T) - self.E / T)


@dataclasses.dataclass(frozen=True)
class Falloff:
    """Falloff: k_high Pr/(1 + Pr) F, or chemically activated: k_low F/(1 + Pr); Pr = k_low [M]/k_high."""

    low: Arrhenius  # low-pressure limit
    high: Arrhenius  # high-pressure limit
    form: str = "Lindemann"  # of the blending function F: Lindemann (F = 1), Troe, SRI, Tsang
    numbers: tuple[float, ...] = ()  # Troe: a, T3, T1, T2 (0: absent); SRI: a, b, c, d, e; Tsang: A, B
    activated: bool = False  # chemically activated


@dataclasses.dataclass(frozen=True)
class Plog:
    """ln k is linear in ln p between tabulated pressures, and constant beyond the first and the last."""

    pressures: tuple[float, ...]  # Pa, ascending
    terms: tuple[tuple[Arrhenius, ...], ...]  # Arrhenius terms at each pressure; k is their sum


@dataclasses.dataclass(frozen=True)
class Chebyshev:
    """log10 k = sum_tp a_tp T_t(x) T_p(y). x is linear in 1/T, y in log p; both are -1 to 1 over the ranges."""

    temperatures: tuple[float, float]  # range [K]
    pressures: tuple[float, float]  # range [Pa]
    data: tuple[tuple[float, ...], ...]  # a_tp, a row for each t


@dataclasses.dataclass(frozen=True)
class Collider:
    """A third body, [M] = sum_k e_k C_k."""

    name: str  # M, or the name of a species
    default: float  # e_k of species that `of` does not list
    of: dict[int, float]  # {species: e_k}

    def weights(self, ns: int) -> np.ndarray:
        """e_k of all species (ns,)."""
        weights = np.full(ns, self.default)
        weights[list(self.of)] = list(self.of.values())
        return weights


@dataclasses.dataclass(frozen=True)
class Reaction:
    """A reaction."""

    number: int  # index in the mechanism, from 0
    equation: str  # as the file has it
    reactants: dict[int, float]  # {species: coefficient}, without the collider
    products: dict[int, float]
    orders: dict[int, float]  # forward orders {species: order}
    reversible: bool
    rate: Arrhenius | Falloff | Plog | Chebyshev
    collider: Collider | None = None  # a factor of the rate; in a falloff reaction the [M] of Pr
    multiplier: float = 1.0
    duplicate: bool = False  # marked as a duplicate

    @property
    def net(self) -> dict[int, float]:
        """{species: coefficient as product less coefficient as reactant}, without zeros."""
        both = {s: self.products.get(s, 0) - self.reactants.get(s, 0) for s in (*self.reactants, *self.products)}
        return {s: nu for s, nu in both.items() if nu}

    @property
    def kind(self) -> str:
        """Type of the reaction in a word or two, for people."""
        if isinstance(self.rate, Falloff):
            return f"{'chemically activated' if self.rate.activated else 'falloff'} {self.rate.form}"

        name = {Arrhenius: "", Plog: "P-log", Chebyshev: "Chebyshev"}[type(self.rate)]
        return f"{'three-body ' if self.collider else ''}{name}".strip() or "elementary"


@dataclasses.dataclass(frozen=True)
class Mechanism:
    """The reactions of a mixture."""

    names: tuple[str, ...]  # species (ns,)
    composition: np.ndarray  # atoms of each element in each species (ns, elements)
    reactions: tuple[Reaction, ...]
    notes: tuple[str, ...] = ()  # notes for readers of results
