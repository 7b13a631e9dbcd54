"""The cubic equations of state, one record each.

    p = R T/(v - b) - a_c alpha(T)/((v + delta_1 b)(v + delta_2 b)),  a_c = Omega_a (R Tc)^2/pc,  b = Omega_b R Tc/pc

Molar: v, b [m3/mol], a_c [Pa m6/mol2]. A record is all that distinguishes one equation from another; the one C++ body
(cubic.h) reads what is made of it. To add an equation: `add(Cubic(...))` and a line in the oracle of the tests.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from ...engine.errors import ArgumentError, MixtureError, refuse
from ..declare import Names, option
from ..species import CRITICAL, GAS_CONSTANT as R, OMEGA_A, OMEGA_B, OMEGA_VC, SpeciesData

FARTHEST = 8 / 9  # of ((delta_1 - delta_2)/(2 + delta_1 + delta_2))^2: as far as departure_integral of cubic.h is exact


@dataclasses.dataclass(frozen=True, kw_only=True)
class Soave:
    """sqrt(alpha_i) = |1 + kappa_i (1 - sqrt(T/Tc_i))|: sums over half the pairs, T of p and rho in closed form, mixing
    by pseudo-critical pairs. kappa: of the acentric factor; others: the same for values of option `alpha` beside the
    default."""

    kappa: Callable[[np.ndarray], np.ndarray]
    others: dict[str, Callable[[np.ndarray], np.ndarray]]

    def slope(self, omega, which: str):
        """kappa_i for a value of option `alpha`."""
        return self.others.get(which, self.kappa)(omega)


@dataclasses.dataclass(frozen=True, kw_only=True)
class General:
    """Any alpha > 0: sums over pairs of sqrt(a_i) and its derivatives, Newton's method for T of p and rho.

    constants: name -> function of SpeciesData, numbers (ns,) that the text may use. text: C++ that sets root, root_T
    and root_TT (sqrt(alpha) of a species, its first and second derivative in T [1/K, 1/K2]) from T, of any number type.
    """

    constants: dict[str, Callable[[SpeciesData], np.ndarray]]
    text: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Peneloux:
    """Volume translation c = slope (zero - Z_RA) R Tc/pc, Z_RA the Rackett factor: v = v_equation - c."""

    slope: float
    zero: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cubic:
    """One equation of state. Every field has to be given.

    delta_1, delta_2: numbers; or delta_1 a function of SpeciesData, (ns,), and delta_2 = `by_delta_1`.
    omega_a, omega_b, Z_c: Omega_a, Omega_b and the compressibility factor at the critical point; functions of delta_1
    where that is one. alpha: Soave or General. translation: Peneloux, or None where the equation has none. needs: the
    species fields it cannot do without. formula: alpha(T) in LaTeX. source, valid: for people.

    Raises ArgumentError for a field that is not what it has to be, TypeError for one that is not given.
    """

    name: str
    delta_1: float | Callable[[SpeciesData], np.ndarray]
    delta_2: float | Callable[[np.ndarray], np.ndarray]
    omega_a: float | Callable[[np.ndarray], np.ndarray]
    omega_b: float | Callable[[np.ndarray], np.ndarray]
    Z_c: float | Callable[[np.ndarray], np.ndarray]
    alpha: Soave | General
    translation: Peneloux | None
    needs: tuple[str, ...]
    formula: str
    source: str
    valid: str

    def __post_init__(self):
        def wanted(good, field, what):
            if not good:
                raise ArgumentError(f"equation '{self.name}': {field} = {getattr(self, field)!r}, wanted {what}.")

        wanted(isinstance(self.name, str) and self.name.isidentifier(), "name", "a name of letters, digits and _")
        kind, what = (callable, "a function") if self.by_species else (np.isreal, "a number")
        for field in ("delta_1", "delta_2", "omega_a", "omega_b", "Z_c"):
            wanted(getattr(self, field) is not None and kind(getattr(self, field)), field, what)
        wanted(not self.by_species or self.delta_2 is by_delta_1, "delta_2", "by_delta_1, since delta_1 is a function")
        wanted(isinstance(self.alpha, (Soave, General)), "alpha", "Soave or General")
        wanted(self.translation is None or isinstance(self.translation, Peneloux), "translation", "Peneloux or None")
        wanted(isinstance(self.needs, tuple), "needs", "names of species fields")
        for field in ("formula", "source", "valid"):
            wanted(isinstance(getattr(self, field), str) and getattr(self, field), field, "a text")
        if not callable(self.delta_1) and not callable(self.delta_2):
            wanted(self.delta_1 >= self.delta_2 > -1, "delta_2", "one between -1 and delta_1")
            wanted(self.spread(self.delta_1, self.delta_2) <= FARTHEST, "delta_1", "one nearer to delta_2")

    @property
    def by_species(self) -> bool:
        """Whether delta_1 is one of each species, mixed by moles."""
        return callable(self.delta_1)

    @property
    def soave(self) -> bool:
        return isinstance(self.alpha, Soave)

    @staticmethod
    def spread(delta_1, delta_2):
        return ((delta_1 - delta_2) / (2 + delta_1 + delta_2)) ** 2

    def about(self) -> str:
        """Its numbers, alpha and source, in Markdown with LaTeX."""
        symbols = {"delta_1": r"\delta_1", "delta_2": r"\delta_2", "omega_a": r"\Omega_a", "omega_b": r"\Omega_b"}
        numbers = [
            f"${symbol} = {getattr(self, field):.6g}$" for field, symbol in symbols.items() if not self.by_species
        ]
        shown = ", ".join(numbers) or r"$\delta_1$ of each species, $(1 + \delta_1)(1 + \delta_2) = 2$"
        return f"{shown}; ${self.formula}$. {self.source}. Valid: {self.valid}."

    def of_species(self, species: SpeciesData) -> dict[str, np.ndarray]:
        """delta_1, omega_a, omega_b, Z_c: numbers, or (ns,) where delta_1 is one of each species. Raises MixtureError
        for a delta_1 beyond what the body is exact for."""
        if not callable(self.delta_1):
            return {field: getattr(self, field) for field in ("delta_1", "omega_a", "omega_b", "Z_c")}
        delta = self.delta_1(species)
        for name, value in zip(species.names, delta):
            refuse(
                not (value > -1 and self.spread(value, by_delta_1(value)) <= FARTHEST),
                f"species {name!r}: delta_1 of equation {self.name} is {value:g}, too far from 0.",
                MixtureError,
            )
        return {"delta_1": delta} | {field: getattr(self, field)(delta) for field in ("omega_a", "omega_b", "Z_c")}

    def ab(self, species: SpeciesData) -> tuple[np.ndarray, np.ndarray]:
        """a_c [Pa m6/mol2] and b [m3/mol] of the species. Their own a and b are Peng-Robinson's; another equation's
        follow from the critical point that belongs to them."""
        if self.name == "pr":
            return species.a, species.b
        of = self.of_species(species)
        return of["omega_a"] * (R * species.Tc) ** 2 / species.pc, of["omega_b"] * R * species.Tc / species.pc


CUBICS: dict[str, Cubic] = {}
# all of them, those with delta_1 by species, and those with one for all
FAMILY, BY_SPECIES, ONE_SHAPE = Names(), Names(), Names()


def add(record: Cubic) -> None:
    """Make an equation a value of option `equation`. Raises ArgumentError where the name is taken."""
    refuse(CUBICS.get(record.name, record) != record, f"equation '{record.name}': the name is taken.")
    if record.name not in CUBICS:
        CUBICS[record.name] = record
        FAMILY.append(record.name)
        (BY_SPECIES if record.by_species else ONE_SHAPE).append(record.name)
        option("equation", {record.name: record.about()}, "equation of state", needs={record.name: record.needs})


def by_delta_1(delta_1):
    """delta_2 of the three-parameter cubics: (1 + delta_1)(1 + delta_2) = 2, as Peng-Robinson's and Redlich-Kwong's."""
    return (1 - delta_1) / (1 + delta_1)


# ---- Peng-Robinson, Soave-Redlich-Kwong


def _pr78(omega, first=0.379642, second=1.48503):
    """first, second: of heavy species, as published."""
    light = 0.37464 + omega * (1.54226 - 0.26992 * omega)
    heavy = first + omega * (second + omega * (-0.164423 + 0.016666 * omega))
    return np.where(omega <= 0.491, light, heavy)


add(
    Cubic(
        name="pr",
        delta_1=1 + np.sqrt(2),
        delta_2=1 - np.sqrt(2),
        omega_a=OMEGA_A,
        omega_b=OMEGA_B,
        Z_c=OMEGA_VC,
        alpha=Soave(kappa=_pr78, others={"cantera": lambda omega: _pr78(omega, 0.374642, 1.487503)}),
        # Jhaveri & Youngren 1988 give such a form; numbers as other codes have them
        translation=Peneloux(slope=0.50033, zero=0.25969),
        needs=CRITICAL,
        formula=r"\sqrt{\alpha} = |1 + \kappa\,(1 - \sqrt{T/T_c})|, \kappa \text{ by option alpha}",
        source="Peng & Robinson 1976; alpha of Robinson & Peng 1978 above omega 0.491 (originals not seen)",
        valid="non-polar fluids; liquids 10 % too dense without translation",
    )
)
add(
    Cubic(
        name="srk",
        delta_1=1.0,
        delta_2=0.0,
        omega_a=1 / (9 * (np.cbrt(2) - 1)),
        omega_b=(np.cbrt(2) - 1) / 3,
        Z_c=1 / 3,
        alpha=Soave(kappa=lambda omega: 0.480 + omega * (1.574 - 0.176 * omega), others={}),
        translation=Peneloux(slope=0.40768, zero=0.29441),
        needs=CRITICAL,
        formula=r"\sqrt{\alpha} = |1 + \kappa\,(1 - \sqrt{T/T_c})|, \kappa = 0.480 + 1.574\,\omega - 0.176\,\omega^2",
        source="Soave 1972; translation: Peneloux, Rauzy & Freze 1982 (originals not seen)",
        valid="non-polar fluids; liquids too light without translation",
    )
)

# ---- Redlich-Kwong: alpha = Tr^(-1/2); van der Waals: alpha = 1

add(
    Cubic(
        name="rk",
        delta_1=1.0,
        delta_2=0.0,
        omega_a=1 / (9 * (np.cbrt(2) - 1)),
        omega_b=(np.cbrt(2) - 1) / 3,
        Z_c=1 / 3,
        alpha=General(
            constants={"scale": lambda species: species.Tc**0.25},
            text="""root = scale * inverse_fourth_root(T);
root_T = -0.25 / T * root;
root_TT = -1.25 / T * root_T;""",
        ),
        translation=None,
        needs=("Tc", "pc"),
        formula=r"\alpha = \sqrt{T_c/T}, \text{ or a phase's own } a_{ij}(T) = (a_{0,ij} + a_{1,ij} T)/\sqrt{T}",
        source="Redlich & Kwong 1949 (original not seen)",
        valid="gases of simple molecules; p/pc < T/(2 Tc)",
    )
)
add(
    Cubic(
        name="vdw",
        delta_1=0.0,
        delta_2=0.0,
        omega_a=27 / 64,
        omega_b=1 / 8,
        Z_c=3 / 8,
        alpha=General(constants={}, text="root = R(1.0);\nroot_T = root_TT = R(0.0);"),
        translation=None,
        needs=("Tc", "pc"),
        formula=r"\alpha = 1",
        source="van der Waals 1873 (original not seen)",
        valid="qualitative: for teaching and tests",
    )
)

# ---- RKPR

MEASURED = 1.168  # its critical compressibility factor over the measured one
HIGHEST = 0.338426  # its largest critical compressibility factor


def rkpr_Z_c(species):
    """1.168 times the measured Z_c = pc Vc/(R Tc) of each species, but no more than the equation can have: above a
    measured 0.2898 (hydrogen, helium) the correlations are used at that end."""
    return np.minimum(MEASURED * species.pc * species.Vc / (R * species.Tc), HIGHEST)


def rkpr_delta_1(species):
    """delta_1 of each species by the correlation in Z_c."""
    below = HIGHEST - rkpr_Z_c(species)
    return 0.428363 + 18.496215 * below**0.66 + 789.723105 * below**2.512392


def rkpr_k(species):
    """k of alpha by the correlation in Z_c and omega."""
    Z, w = rkpr_Z_c(species), species.omega
    return (0.0017 - 2.4407 * Z) * w * w + (1.9681 + 7.4513 * Z) * w + 12.5040 * Z - 2.7238


def _critical(delta_1):
    """y and d, of which the critical constants are made: dp/dv = d2p/dv2 = 0 at Tc, pc."""
    return 1 + np.cbrt(2 * (1 + delta_1)) + np.cbrt(4 / (1 + delta_1)), (1 + delta_1**2) / (1 + delta_1)


def rkpr_omega_a(delta_1):
    """Omega_a of delta_1: a_c = Omega_a (R Tc)^2/pc (Cismondi & Mollerup 2005)."""
    y, d = _critical(delta_1)
    return (3 * y * y + 3 * y * d + d * d + d - 1) / (3 * y + d - 1) ** 2


def rkpr_omega_b(delta_1):
    """Omega_b of delta_1: b = Omega_b R Tc/pc (Cismondi & Mollerup 2005)."""
    y, d = _critical(delta_1)
    return 1 / (3 * y + d - 1)


def rkpr_own_Z_c(delta_1):
    """The critical compressibility that the equation itself has at delta_1 (Cismondi & Mollerup 2005)."""
    y, d = _critical(delta_1)
    return y / (3 * y + d - 1)


add(
    Cubic(
        name="rkpr",
        delta_1=rkpr_delta_1,
        delta_2=by_delta_1,
        omega_a=rkpr_omega_a,
        omega_b=rkpr_omega_b,
        Z_c=rkpr_own_Z_c,
        alpha=General(  # (3/(2 + Tr))^k
            constants={"Tc": lambda species: species.Tc, "half_k": lambda species: rkpr_k(species) / 2},
            text="""const R inverse_T = 1.0 / (2.0 * Tc + T);
root = exp(half_k * log(3.0 * Tc * inverse_T));
root_T = -half_k * inverse_T * root;
root_TT = -(half_k + 1.0) * inverse_T * root_T;""",
        ),
        translation=None,
        needs=(*CRITICAL, "Vc"),
        formula=r"\alpha = (3/(2 + T/T_c))^k",
        # two other codes have the same numbers; one of them, yaeos, fits k anew to omega, which moves v by some 5e-4
        source="Cismondi & Mollerup 2005 (original not seen)",
        valid="non-polar fluids; measured Z_c from 0.20 to 0.29",
    )
)
