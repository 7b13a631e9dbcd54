"""The cubic equations of state, one record each.

    p = R T/(v - b) - a_c alpha(T)/((v + delta_1 b)(v + delta_2 b)),  a_c = Omega_a (R Tc)^2/pc,  b = Omega_b R Tc/pc

Molar units: v, b [m3/mol], a_c [Pa m6/mol2]. Equations differ only in their records. All of them share the kernels of
cubic.h. To add an equation: `add(Cubic(...))` here, and a line in the oracle of the tests.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from ...engine.errors import ArgumentError, MixtureError, refuse
from ..declare import option
from ..records import Names
from ..species import CRITICAL, OMEGA_A, OMEGA_B, OMEGA_VC, SpeciesData

# Largest ((delta_1 - delta_2)/(2 + delta_1 + delta_2))^2 for which departure_integral of departure.h is exact.
FARTHEST = 8 / 9


@dataclasses.dataclass(frozen=True, kw_only=True)
class Soave:
    """sqrt(alpha_i) = F(x), x = kappa_i (sqrt(T/Tc_i) - 1).

    Option `alpha` = smooth: F = 1 - x up to x = BEND, then (1 - BEND)/(1 + y + y^2 + y^3), y = (x - BEND)/(1 - BEND).
    F is three times continuously differentiable, positive, falling and convex for every x: 2 P'^2 - P P'' = 12 y^2 +
    16 y^3 + 12 y^4 for P = 1 + y + y^2 + y^3. With kappa > 0 alpha(T) is all of this too, since x(T) is concave.
    Any other value: F = |1 - x|, whose slope jumps at T = Tc (1 + 1/kappa)^2.

    With this form sums run over half the pairs, T of (p, rho) has a closed form below the bends, and mixing by
    pseudo-critical pairs is possible.
    """

    kappa: Callable[[np.ndarray], np.ndarray]  # kappa_i as a function of the acentric factor
    others: dict[str, Callable[[np.ndarray], np.ndarray]]  # the same for other values of option `alpha`

    def slope(self, omega, which: str):
        """kappa_i (ns,) for the acentric factors omega (ns,) and a value of option `alpha`."""
        return self.others.get(which, self.kappa)(omega)


BEND = 0.75  # of x in Soave: the smooth form is the published one up to here, T = Tc (1 + BEND/kappa)^2


def smooth_root(x):
    """F(x), dF/dx and d2F/dx2 of the smooth form of Soave's sqrt(alpha), for x of any shape."""
    y = np.maximum((x - BEND) / (1 - BEND), 0)
    P = 1 + y * (1 + y * (1 + y))
    P_y = 1 + y * (2 + 3 * y)
    P_yy = 2 + 6 * y

    F = np.where(y > 0, (1 - BEND) / P, 1 - x)
    return F, -P_y / P**2, (2 * P_y**2 / P - P_yy) / P**2 / (1 - BEND)


def refuse_wrong_signs(names, t, F, F_t, F_tt) -> None:
    """Raise MixtureError for the first species whose alpha = F^2 is not positive, falling and convex at every t.

    names: of the species. t: T/Tc (n,). F, F_t, F_tt: sqrt(alpha) and its derivatives in t, (species, n).
    """
    laws = (
        ("alpha > 0", F > 0),
        ("a falling alpha", F * F_t < 0),
        ("a convex alpha", F_t**2 + F * F_tt > 0),
    )
    for law, holds in laws:
        for name, row in zip(names, holds):
            if not row.all():
                T = t[~row][0]
                raise MixtureError(f"species {name!r}: wanted {law} at every temperature; it fails at T/Tc = {T:.3g}.")


@dataclasses.dataclass(frozen=True, kw_only=True)
class General:
    """Any other alpha > 0. Sums need sqrt(a_i) with its derivatives; T of (p, rho) takes Newton's method."""

    constants: dict[str, Callable[[SpeciesData], np.ndarray]]  # name in `text` -> function that returns (ns,)
    text: str  # C++: sets root, root_T [1/K], root_TT [1/K2], sqrt(alpha)/gain and its derivatives, from T
    gain: Callable[[SpeciesData], np.ndarray] = lambda species: np.ones(species.ns)  # (ns,), above 0
    scaled: tuple[str, ...] = ()  # constants that come times sqrt(a_c) gain/W: the text then sets sqrt(a_i) itself


@dataclasses.dataclass(frozen=True, kw_only=True)
class Peneloux:
    """Volume translation v = v_equation - c with c = slope (zero - Z_RA) R Tc/pc, Z_RA the Rackett factor."""

    slope: float
    zero: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class VolumeMap:
    """v = w - C(T, w) with w the root of the cubic: mapped.h. The numbers of a species belong together, so that the
    equation has its own Tc and pc."""

    of_species: Callable[[SpeciesData], Any]  # an object with Tc [K] and pc [Pa], (ns,) each


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cubic:
    """A cubic equation of state. No field has a default.

    delta_1 is a number for all species, or a function of SpeciesData that returns (ns,). In the second case delta_2 is
    the function `by_delta_1`, and omega_a, omega_b, Z_c are functions of delta_1.

    Raises ArgumentError for a field of the wrong kind, TypeError for a missing field.
    """

    name: str  # value of option `equation`
    delta_1: float | Callable[[SpeciesData], np.ndarray]
    delta_2: float | Callable[[np.ndarray], np.ndarray]
    omega_a: float | Callable[[np.ndarray], np.ndarray]  # Omega_a
    omega_b: float | Callable[[np.ndarray], np.ndarray]  # Omega_b
    Z_c: float | Callable[[np.ndarray], np.ndarray]  # compressibility factor at the critical point
    alpha: Soave | General
    translation: Peneloux | VolumeMap | None  # None: the volume is the cubic's own
    needs: tuple[str, ...]  # fields of SpeciesData that must be known
    formula: str  # alpha(T) in LaTeX
    source: str  # paper, or "original not seen"
    valid: str  # range of validity, for the documentation

    def __post_init__(self):
        # Kinds of the fields.
        self._require(
            isinstance(self.name, str) and self.name.isidentifier(), "name", "a name of letters, digits and _"
        )
        for field in ("delta_1", "delta_2", "omega_a", "omega_b", "Z_c"):
            self._require_number_or_function(field)
        self._require(
            not self.by_species or self.delta_2 is by_delta_1, "delta_2", "by_delta_1, since delta_1 is a function"
        )
        self._require(isinstance(self.alpha, (Soave, General)), "alpha", "Soave or General")
        self._require(
            self.translation is None or isinstance(self.translation, (Peneloux, VolumeMap)),
            "translation",
            "Peneloux, VolumeMap or None",
        )
        self._require(isinstance(self.needs, tuple), "needs", "names of species fields")

        for field in ("formula", "source", "valid"):
            text = getattr(self, field)
            self._require(isinstance(text, str) and text, field, "a text")

        # Range of delta_1, delta_2.
        if not callable(self.delta_1) and not callable(self.delta_2):
            self._require(self.delta_1 >= self.delta_2 > -1, "delta_2", "one between -1 and delta_1")
            self._require(self.spread(self.delta_1, self.delta_2) <= FARTHEST, "delta_1", "one nearer to delta_2")

    def _require(self, condition, field, wanted):
        """Raises ArgumentError with the field's value unless the condition holds."""
        if not condition:
            raise ArgumentError(f"equation '{self.name}': {field} = {getattr(self, field)!r}, wanted {wanted}.")

    def _require_number_or_function(self, field):
        """Raises ArgumentError unless the field is a function (delta_1 by species) or a number (delta_1 for all)."""
        value = getattr(self, field)
        if self.by_species:
            self._require(callable(value), field, "a function")
        else:
            self._require(value is not None and np.isreal(value), field, "a number")

    @property
    def by_species(self) -> bool:
        """Whether each species has a delta_1. The mixture's is then the mean by moles."""
        return callable(self.delta_1)

    @property
    def mapped(self) -> bool:
        """Whether v follows from the root of the cubic by a map."""
        return isinstance(self.translation, VolumeMap)

    @property
    def soave(self) -> bool:
        """Whether alpha has Soave's form."""
        return isinstance(self.alpha, Soave)

    @staticmethod
    def spread(delta_1, delta_2):
        """((delta_1 - delta_2)/(2 + delta_1 + delta_2))^2, the largest argument of departure_integral in a liquid."""
        return ((delta_1 - delta_2) / (2 + delta_1 + delta_2)) ** 2

    def about(self) -> str:
        """Description for the documentation, in Markdown with LaTeX: numbers, alpha, source, validity."""
        symbols = {"delta_1": r"\delta_1", "delta_2": r"\delta_2", "omega_a": r"\Omega_a", "omega_b": r"\Omega_b"}

        if self.by_species:
            shape = r"$\delta_1$ of each species, $(1 + \delta_1)(1 + \delta_2) = 2$"
        else:
            shape = ", ".join(f"${symbol} = {getattr(self, field):.6g}$" for field, symbol in symbols.items())

        return f"{shape}; ${self.formula}$. {self.source}. Valid: {self.valid}."

    def of_species(self, species: SpeciesData) -> dict[str, np.ndarray]:
        """{"delta_1", "omega_a", "omega_b", "Z_c"}: numbers, or (ns,) if each species has a delta_1.

        Raises MixtureError if a delta_1 is beyond the range in which the kernels are exact.
        """
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
        """a_c [Pa m6/mol2] (ns,) and b [m3/mol] (ns,).

        SpeciesData holds Peng-Robinson's a and b. Other equations compute a and b from Tc and pc; an equation with a
        volume map from the map's own Tc and pc.
        """
        if self.name == "pr":
            return species.a, species.b

        critical = self.of_species(species)
        of = self.translation.of_species(species) if isinstance(self.translation, VolumeMap) else species
        a = critical["omega_a"] * (species.R * of.Tc) ** 2 / of.pc
        b = critical["omega_b"] * species.R * of.Tc / of.pc

        return a, b


CUBICS: dict[str, Cubic] = {}
FAMILY = Names()  # cubic equations in v, or in v and a translation
MAPPED = Names()  # equations that map the root of a cubic to v
ROOTS = Names()  # both
PSEUDOCRITICAL = Names(["ideal"])  # equations with the pseudo-critical volume of a cubic; ideal: Peng-Robinson's
BY_SPECIES = Names()  # equations in which each species has a delta_1
ONE_SHAPE = Names()  # equations with one delta_1 for all species


def add(record: Cubic) -> None:
    """Makes an equation a value of option `equation`. Raises ArgumentError if another equation has its name."""
    refuse(CUBICS.get(record.name, record) != record, f"equation '{record.name}': the name is taken.")
    if record.name in CUBICS:
        return

    CUBICS[record.name] = record
    ROOTS.append(record.name)

    if record.mapped:
        MAPPED.append(record.name)
    else:
        FAMILY.append(record.name)
        PSEUDOCRITICAL.insert(-1, record.name)

    if record.by_species:
        BY_SPECIES.append(record.name)
    else:
        ONE_SHAPE.append(record.name)

    option("equation", {record.name: record.about()}, "equation of state", needs={record.name: record.needs})


def by_delta_1(delta_1):
    """delta_2 of the three-parameter cubics: (1 + delta_1)(1 + delta_2) = 2, as in Peng-Robinson and Redlich-Kwong."""
    return (1 - delta_1) / (1 + delta_1)


# ---- Peng-Robinson, Soave-Redlich-Kwong


def _pr78(omega, first=0.379642, second=1.48503):
    """kappa(omega) of Robinson & Peng 1978; first, second: the two leading coefficients for omega > 0.491."""
    light = 0.37464 + omega * (1.54226 - 0.26992 * omega)
    heavy = first + omega * (second + omega * (-0.164423 + 0.016666 * omega))
    return np.where(omega <= 0.491, light, heavy)


def _pr_cantera(omega):
    """kappa(omega) as in Cantera 3.2, with other leading coefficients for omega > 0.491."""
    return _pr78(omega, 0.374642, 1.487503)


def _pr76(omega):
    """kappa(omega) of Peng & Robinson 1976, for every acentric factor."""
    return 0.37464 + omega * (1.54226 - 0.26992 * omega)


def _soave(omega):
    """kappa(omega) of Soave 1972."""
    return 0.480 + omega * (1.574 - 0.176 * omega)


add(
    Cubic(
        name="pr",
        delta_1=1 + np.sqrt(2),
        delta_2=1 - np.sqrt(2),
        omega_a=OMEGA_A,
        omega_b=OMEGA_B,
        Z_c=OMEGA_VC,
        alpha=Soave(kappa=_pr78, others={"cantera": _pr_cantera, "pr76": _pr76}),
        # Jhaveri & Youngren 1988 give such a form; numbers as other codes have them
        translation=Peneloux(slope=0.50033, zero=0.25969),
        needs=CRITICAL,
        formula=r"\sqrt{\alpha} = 1 + \kappa\,(1 - \sqrt{T/T_c}), \text{ hot and } \kappa \text{ by option alpha}",
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
        alpha=Soave(kappa=_soave, others={}),
        translation=Peneloux(slope=0.40768, zero=0.29441),
        needs=CRITICAL,
        formula=r"\sqrt{\alpha} = 1 + \kappa\,(1 - \sqrt{T/T_c}), \text{ hot by option alpha}, "
        r"\kappa = 0.480 + 1.574\,\omega - 0.176\,\omega^2",
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

MEASURED = 1.168  # critical compressibility factor of the equation over the measured factor
HIGHEST = 0.338426  # largest critical compressibility factor of the equation


def rkpr_Z_c(species):
    """1.168 times the measured Z_c = pc Vc/(R Tc) of each species (ns,), at most the largest Z_c of the equation.

    The bound is reached at a measured Z_c of 0.2898 (hydrogen, helium).
    """
    return np.minimum(MEASURED * species.pc * species.Vc / (species.R * species.Tc), HIGHEST)


def rkpr_delta_1(species):
    """delta_1 of each species by the correlation in Z_c."""
    below = HIGHEST - rkpr_Z_c(species)
    return 0.428363 + 18.496215 * below**0.66 + 789.723105 * below**2.512392


def rkpr_k(species):
    """k of alpha by the correlation in Z_c and omega."""
    Z, w = rkpr_Z_c(species), species.omega
    return (0.0017 - 2.4407 * Z) * w * w + (1.9681 + 7.4513 * Z) * w + 12.5040 * Z - 2.7238


def _critical(delta_1):
    """y and d in the formulas of Omega_a, Omega_b and Z_c, which follow from dp/dv = d2p/dv2 = 0 at Tc, pc."""
    y = 1 + np.cbrt(2 * (1 + delta_1)) + np.cbrt(4 / (1 + delta_1))
    d = (1 + delta_1**2) / (1 + delta_1)
    return y, d


def rkpr_omega_a(delta_1):
    """Omega_a of delta_1: a_c = Omega_a (R Tc)^2/pc (Cismondi & Mollerup 2005)."""
    y, d = _critical(delta_1)
    return (3 * y * y + 3 * y * d + d * d + d - 1) / (3 * y + d - 1) ** 2


def rkpr_omega_b(delta_1):
    """Omega_b of delta_1: b = Omega_b R Tc/pc (Cismondi & Mollerup 2005)."""
    y, d = _critical(delta_1)
    return 1 / (3 * y + d - 1)


def rkpr_own_Z_c(delta_1):
    """Critical compressibility factor of the equation at delta_1 (Cismondi & Mollerup 2005)."""
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
        # Two other codes have the same numbers. Of these yaeos fits k to omega again, which changes v by some 5e-4.
        source="Cismondi & Mollerup 2005 (original not seen)",
        valid="non-polar fluids; measured Z_c from 0.20 to 0.29",
    )
)
