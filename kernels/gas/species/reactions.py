"""Reactions of a gas: SI units with mol, activation energies as temperatures (E/R), species by index."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np


@dataclasses.dataclass(frozen=True)
class Arrhenius:
    """Rate coefficient A T^b exp(-E/T)."""

    A: float  # (m3/mol)^(n - 1)/s for a rate with n concentrations
    b: float
    E: float  # activation energy over R [K]

    name: ClassVar[str] = ""

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

    @property
    def name(self) -> str:
        return f"{'chemically activated' if self.activated else 'falloff'} {self.form}"


@dataclasses.dataclass(frozen=True)
class Plog:
    """ln k is linear in ln p between tabulated pressures, and constant beyond the first and the last."""

    pressures: tuple[float, ...]  # Pa, ascending
    terms: tuple[tuple[Arrhenius, ...], ...]  # Arrhenius terms at each pressure; k is their sum

    name: ClassVar[str] = "P-log"


@dataclasses.dataclass(frozen=True)
class Chebyshev:
    """log10 k = sum_tp a_tp T_t(x) T_p(y). x is linear in 1/T, y in log p; both are -1 to 1 over the ranges."""

    temperatures: tuple[float, float]  # range [K]
    pressures: tuple[float, float]  # range [Pa]
    data: tuple[tuple[float, ...], ...]  # a_tp, a row for each t

    name: ClassVar[str] = "Chebyshev"


@dataclasses.dataclass(frozen=True)
class BlowersMasel:
    """A T^b exp(-E/T), where E goes with the heat of the reaction, dH: 0 up to -4 E0, dH from 4 E0 on, between
    (w + dH/2) (V - 2w + dH)^2/(V^2 - 4 w^2 + dH^2) with V = 2w (w + E0)/(w - E0). All energies over R [K]."""

    A: float  # (m3/mol)^(n - 1)/s for a rate with n concentrations
    b: float
    E0: float  # intrinsic activation energy
    w: float  # mean of the energies of the bond that breaks and of the bond that forms

    name: ClassVar[str] = "Blowers-Masel"


@dataclasses.dataclass(frozen=True)
class BurkeCollider:
    """A collider of a linear Burke reaction."""

    species: int
    efficiency: Arrhenius  # without a unit
    rate: Plog | Chebyshev | Falloff | None  # None: that of M


@dataclasses.dataclass(frozen=True)
class LinearBurke:
    """k = sum of k_j(T, p S/(eps_j C)) eps_j C_j/S over all species; S = sum eps_j C_j, C = sum C_j. M's rate at p S/C
    counts for colliders without one, and for species that are no colliders (eps = 1). A falloff has [M] = p/RT."""

    reference: Plog | Chebyshev | Falloff  # M's
    colliders: tuple[BurkeCollider, ...]

    name: ClassVar[str] = "linear Burke"

    @property
    def rates(self) -> list:
        """The rate of M, and the rates of colliders that have their own."""
        return [self.reference, *(each.rate for each in self.colliders if each.rate is not None)]

    @property
    def species(self) -> list[int]:
        """Colliders with M's rate, then those with their own."""
        like = [each.species for each in self.colliders if each.rate is None]
        return like + [each.species for each in self.colliders if each.rate is not None]

    def sums(self, ns: int) -> list[np.ndarray]:
        """Weights (ns,) of sums of C_k, by which the slopes of k in all C_k come about: C, then each collider's own."""
        return [np.ones(ns), *np.eye(ns)[self.species]]


Rate = Arrhenius | Falloff | Plog | Chebyshev | BlowersMasel | LinearBurke


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
    rate: Rate
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
        three_body = self.collider and not isinstance(self.rate, Falloff)
        return f"{'three-body ' if three_body else ''}{self.rate.name}".strip() or "elementary"

    def sums(self, ns: int) -> list[np.ndarray]:
        """Weights (ns,) of the sums of concentrations that the rate depends on, beside those of its own species: [M]
        first, if it has a collider."""
        collider = [self.collider.weights(ns)] if self.collider else []
        return [*collider, *self.rate.sums(ns)] if isinstance(self.rate, LinearBurke) else collider


@dataclasses.dataclass(frozen=True)
class Mechanism:
    """The reactions of a mixture."""

    names: tuple[str, ...]  # species (ns,)
    composition: np.ndarray  # atoms of each element in each species (ns, elements)
    reactions: tuple[Reaction, ...]
    notes: tuple[str, ...] = ()  # notes for readers of results
