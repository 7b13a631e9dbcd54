"""Species data of a mixture. The constants of every model are computed from them."""

from __future__ import annotations

import dataclasses
import math
import pathlib
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ...engine.errors import MixtureError, refuse
from .arrays import Checks, Rules, checked_arrays, checked_kij, locked
from .fields import BY_NAME, CRITICAL, FIELDS, OMEGA_VC, ONE_ATM
from .fluids import own_rows
from .gas_constant import chosen as chosen_gas_constant
from .heat_capacities import warn_of_small
from .interactions import kij_of_pairs
from .listed import listed
from .names import own_name
from .reactions import Mechanism

if TYPE_CHECKING:  # ruamel.yaml is needed for files only
    from numpy.typing import ArrayLike, NDArray

    from .cantera_reactions import ReactionText

HELD_TO = 6000.0  # K, to which the models go with polynomials that end below, extrapolated
NASA_CONTINUITY = 1e-3  # largest silent jump of cp/R, h/RT or s/R at T_mid; GRI-Mech 3.0 stays below 1e-5
NAMED = 12  # how many species a message names


def _column(field, k):
    """A property: column k of a field that holds several numbers of each species."""
    return property(lambda self: getattr(self, field)[:, k])


# The arrays over the species are attributes by the table of fields.
if TYPE_CHECKING:

    class _Arrays:
        def __getattr__(self, field: str) -> NDArray[Any]: ...

else:
    _Arrays = dataclasses.make_dataclass(
        "_Arrays",
        [(field.name, np.ndarray, dataclasses.field(default=None, kw_only=True)) for field in FIELDS],
        frozen=True,
        eq=False,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class SpeciesData(_Arrays):
    """Arrays over the ns species of a mixture, read-only, in SI units per mole; nan where a value is not known.

    The arrays are attributes: see the table in fields.py, with units and shapes. nasa9, T_break and rk_a are None for
    species that have none.
    """

    names: tuple[str, ...]
    R: float  # J/mol/K, the molar gas constant
    p_ref: float  # Pa, pressure of the ideal-gas entropies
    T_fit: tuple[float, float]  # (T_low, T_high) [K], range of the kinetic-theory fit of binary diffusion
    sources: dict[str, Any] = dataclasses.field(default_factory=dict)  # name -> {block: note}, the file's notes
    origin: dict = dataclasses.field(default_factory=dict)  # name -> {field: text}, numbers that were not in the file
    own_fluids: dict = dataclasses.field(default_factory=dict)  # name -> Fluid, rows of a table of the user's
    atoms: dict[str, dict[str, float]] = dataclasses.field(default_factory=dict)  # name -> {element: number in it}
    reactions: ReactionText | None = None  # unread; None where the species have none

    def __setstate__(self, state: dict[str, Any]) -> None:
        """From pickle and deepcopy, which forget that arrays are read-only."""
        for value in state.values():
            if isinstance(value, np.ndarray):
                locked(value)
        self.__dict__.update(state)

    @property
    def ns(self) -> int:
        return len(self.names)

    @property
    def T_end(self) -> float:
        """Where searches for a temperature, equilibria and reactors end [K]: where the first of the species'
        polynomials does, at 6000 K at least."""
        return max(HELD_TO, float(self.T_max.min()))

    @property
    def mechanism(self) -> Mechanism:
        """The reactions, read and checked at the first call. Raises MixtureError, which names the reaction and what is
        wrong with it."""
        if self.reactions is None:
            raise MixtureError("the species have no reactions: their phase has no `kinetics`")
        return self.reactions.read()

    liquid_T, liquid_p, liquid_density = (_column("liquid", k) for k in range(3))

    @classmethod
    def from_arrays(
        cls,
        names: Iterable[str],
        W: ArrayLike,
        omega: ArrayLike,
        nasa_low: ArrayLike | None,
        nasa_high: ArrayLike | None,
        T_mid: ArrayLike | None,
        *,
        p_ref: float = ONE_ATM,
        gas_constant: float | None = None,
        T_fit: tuple[float, float] | None = None,
        without_critical: bool = False,
        of_atoms: bool = False,
        where: str = "species data",
        **arrays: ArrayLike | None,
    ) -> SpeciesData:
        """Build from arrays of length ns (a scalar holds for all species), with the checks that a file gets.

        names: a list, or a text with blanks between them. arrays: those of the table in fields.py, by name; an absent
        one has its default there. Numbers by species, {"CH4": 190.6, ...} or with the index of a Series, a DataFrame or
        a DataArray, go by these names and may have other species too. Give either Tc [K] and
        pc [Pa], or a [Pa m6/mol2] and b [m3/mol]; the other two are computed.
        nasa9 (ns, ranges, 9) with T_break (ns, ranges + 1): these polynomials are used, and nasa_low, nasa_high, T_mid
        are None. A species with fewer ranges repeats its last range, with the last temperature again.
        gas_constant: R [J/mol/K]; None: the constant of this name, as kernels.set_constant has set it.
        without_critical: Tc, pc and omega may be unknown (nan); such species can be used with the ideal gas only.
        of_atoms: W follows from compositions, so that a large one is no error of units.
        where: start of the messages. Raises MixtureError. Warns where the NASA polynomials do not meet at T_mid.
        """
        rules = Rules(without_critical, of_atoms)
        checks = Checks(listed(names), where, chosen_gas_constant(gas_constant), rules)
        checks.check_names()

        unknown = set(arrays) - set(BY_NAME)
        optional = ", ".join(field.name for field in FIELDS if field.may_lack)
        checks.refuse(unknown, f"unknown field {min(unknown, default='')!r}; optional fields are {optional}.")

        # Numbers of each species.
        arrays |= dict(W=W, omega=omega, nasa_low=nasa_low, nasa_high=nasa_high, T_mid=T_mid)
        nine = _nine_coefficients(checks, arrays)
        data = checked_arrays(checks, arrays) | nine

        # Numbers of pairs.
        kij = arrays.get("kij")
        kij = checks.array(BY_NAME["kij"], 0.0 if kij is None else kij, spread=kij is None)
        data["kij"] = checked_kij(checks.names, kij, where)
        if arrays.get("rk_a") is not None:
            data["rk_a"] = checks.array(BY_NAME["rk_a"], arrays["rk_a"], spread=False)

        # Numbers of all.
        p_ref = float(_positive(checks, "p_ref", p_ref, (), "one positive pressure in Pa"))
        T_fit = common_range(data["T_min"], data["T_max"]) if T_fit is None else _ascending(checks, T_fit)

        out = cls(
            names=checks.names,
            R=checks.R,
            p_ref=p_ref,
            T_fit=T_fit,
            **{field: locked(array) for field, array in data.items()},
        )

        out._warn_of_jumps(where)
        warn_of_small(out, where)
        return out

    def _warn_of_jumps(self, where: str) -> None:
        """Warn where polynomials do not meet, at the caller of from_arrays."""
        for s, name in enumerate(self.names):
            for what, T, below, above in self.jumps(s, NASA_CONTINUITY):
                warnings.warn(
                    f"{where}: species {name!r}: {what} jumps from {below:g} to {above:g} at T_mid = {T:g} K.",
                    stacklevel=3,
                )

    def _breaks(self, s) -> np.ndarray:
        """Temperatures [K] at which two ranges of species s meet."""
        return self.T_mid[s : s + 1] if self.T_break is None else self.T_break[s, 1:-1]

    def polynomial(self, s: int, T: ArrayLike, above: bool | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """cp/R, h/RT and s/R of species s at T [K] (...); each has the shape of T.

        above: at a temperature where two ranges meet, take the upper (True) or the lower range (False). None: as in the
        kernels and in Cantera, the lower range for seven coefficients, the upper one for nine."""
        T = np.asarray(T, float)
        if self.nasa9 is None:
            rows, evaluate = np.array([self.nasa_low[s], self.nasa_high[s]]), nasa7
        else:
            rows, evaluate = self.nasa9[s], nasa9

        if above is None:
            above = self.nasa9 is not None
        number = np.searchsorted(self._breaks(s), T, side="right" if above else "left")
        return evaluate(rows[number], T)

    def jumps(self, s: int, limit: float) -> list[tuple[str, float, float, float]]:
        """[(name, T, below, above)]: cp/R, h/RT or s/R of species s that jump where ranges meet, by more than `limit`
        times the larger of 1 and the value."""
        out = []
        for T in np.unique(self._breaks(s)):
            below, above = self.polynomial(s, T, above=False), self.polynomial(s, T, above=True)
            for what, low, high in zip(("cp/R", "h/RT", "s/R"), map(float, below), map(float, above)):
                if abs(high - low) > limit * max(1.0, abs(low)):
                    out.append((what, float(T), low, high))

        return out

    def require(self, *fields: str, purpose: str = "the model") -> None:
        """Raise MixtureError that names the first species for which one of these optional fields is unknown."""
        for field in fields:
            for s in np.flatnonzero(np.isnan(getattr(self, field))):
                known = BY_NAME[field]
                raise MixtureError(
                    f"species {self.names[s]!r}: {known.what} ({field}, {known.unit}) is missing; {purpose} needs it."
                )

    def refuse(self, lacking: ArrayLike, what: str) -> None:
        """Raise MixtureError "species A, B without `what`" if the mask `lacking` (ns,) is true for any species."""
        refuse(np.any(lacking), f"species {self.named(lacking)} without {what}", MixtureError)

    def refuse_without_critical(self) -> None:
        """Raise MixtureError that names the species without Tc, pc or omega."""
        self.refuse(np.isnan([getattr(self, field) for field in CRITICAL]).any(0), "critical properties")

    def estimated(self) -> dict[str, str]:
        """{name: rule, its error, reason} of the species whose critical properties are estimated. `origin` has the
        source of every number that was not in the file."""
        tc = {name: fields.get("Tc", "") for name, fields in self.origin.items()}
        return {name: text for name, text in tc.items() if text.startswith("estimated: ")}

    def named(self, mask) -> str:
        """The names of the species where the mask (ns,) is true, as text."""
        names = [name for name, there in zip(self.names, mask) if there]
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        return ", ".join(names[:NAMED]) + more or "no species"

    def critical_volumes(self) -> tuple[np.ndarray, list[str]]:
        """(Vc [m3/mol] (ns,), notes). An unknown Vc is replaced by that of the Peng-Robinson equation; the notes say
        so."""
        known = np.isfinite(self.Vc)
        if known.all():
            return self.Vc.copy(), []

        note = f"no measured critical volume for {self.named(~known)}: Vc = 0.3074 R Tc/pc is used."
        return np.where(known, self.Vc, OMEGA_VC * self.R * self.Tc / self.pc), [note]

    def index(self, name: str) -> int:
        """Index of a species, which may have other letters or another usual name, as in Mixture.find. Raises
        MixtureError with the list of species if the mixture has no such species."""
        own = own_name(name, self.names)
        if own is None:
            raise MixtureError(f"species {name!r} is not in the mixture, which has {', '.join(self.names)}.")
        return self.names.index(own)

    def with_fit_range(self, T_low: float, T_high: float) -> SpeciesData:
        """The same data with another range [K] for the fit of binary diffusion (Cantera's is max(T_min) to
        min(T_max))."""
        return dataclasses.replace(self, T_fit=_ascending(Checks(self.names, "species data"), (T_low, T_high)))

    def with_fluids(self, path: str | pathlib.Path) -> SpeciesData:
        """The same data, with rows of a user's table of fluids: `python -m frame fit` writes such tables. Raises
        MixtureError for the table, or if no species has a row there."""
        return dataclasses.replace(self, own_fluids=self.own_fluids | own_rows(path, self.names, self.W))

    def with_kij(self, pairs: Mapping[Any, float] | ArrayLike) -> SpeciesData:
        """The same data with other binary interactions k_ij: of some pairs, {"N2/NC12H26": 0.19}, or of all, a
        symmetric matrix (ns, ns). Raises MixtureError for a species that is not there, a pair that comes twice, and
        values that are too large."""
        given = kij_of_pairs(self.names, self.kij, pairs) if isinstance(pairs, Mapping) else pairs
        kij = Checks(self.names, "species data").array(BY_NAME["kij"], given, spread=False)
        arrays: dict[str, Any] = {"kij": checked_kij(self.names, kij, "species data")}
        return dataclasses.replace(self, **arrays)

    def subset(self, names: Iterable[str], shown: Iterable[str] | None = None) -> SpeciesData:
        """The same data for some of the species, in the order given. T_fit is derived again unless it had been given.
        MixtureError for an unknown name. shown: other names for them; then a species may be taken several times, and
        reactions, which are of the names before, stay behind."""
        refuse(
            isinstance(names, (set, frozenset)), f"species {names!r}: a set has no order; wanted a list.", MixtureError
        )
        pick = [self.index(name) for name in listed(names)]
        names = tuple(self.names[s] for s in pick)
        called = names if shown is None else listed(shown)
        Checks(called, "species data").check_names()

        arrays = {field.name: locked(field.picked(getattr(self, field.name), pick)) for field in FIELDS}
        derived = self.T_fit == common_range(self.T_min, self.T_max)
        T_fit = common_range(arrays["T_min"], arrays["T_max"]) if derived else self.T_fit

        reactions = None
        if self.reactions and not shown:
            reactions = self.reactions.only(list(called))

        return dataclasses.replace(
            self,
            names=called,
            T_fit=T_fit,
            sources=_renamed(self.sources, names, called),
            origin=_renamed(self.origin, names, called),
            own_fluids=_renamed(self.own_fluids, names, called),
            atoms=_renamed(self.atoms, names, called),
            reactions=reactions,
            **arrays,
        )


def _nine_coefficients(checks: Checks, arrays: dict) -> dict[str, np.ndarray]:
    """The polynomials of nine coefficients among the arrays, which take the place of the others there; {} without
    them."""
    if arrays.get("nasa9") is None:
        return {}

    rows, T_break = checks.nine(arrays["nasa9"], arrays.get("T_break"))
    arrays |= dict(nasa_low=None, nasa_high=None)
    arrays |= dict(T_min=T_break[:, 0], T_mid=T_break[:, 1], T_max=T_break[:, -1])

    return {"nasa9": rows, "T_break": T_break}


def _positive(checks: Checks, name: str, given, shape: tuple[int, ...], wanted: str) -> np.ndarray:
    """Positive numbers of this shape. Raises MixtureError."""
    try:
        values = np.asarray(given)
    except ValueError:  # a list of lists of several lengths
        values = np.array(None)
    good = values.dtype.kind in "iuf" and values.shape == shape and ((values > 0) & (values < math.inf)).all()
    checks.refuse(not good, f"{name} is {given!r}, wanted {wanted}.")
    return values


def _ascending(checks: Checks, T_fit) -> tuple[float, float]:
    """The ends of a range of temperatures. Raises MixtureError unless they are two that ascend."""
    wanted = "two ascending temperatures in K"
    low, high = _positive(checks, "T_fit", T_fit, (2,), wanted)
    checks.refuse(not low < high, f"T_fit is {T_fit!r}, wanted {wanted}.")
    return float(low), float(high)


def common_range(T_min, T_max) -> tuple[float, float]:
    """The temperatures [K] at which the polynomials of all species hold: (lowest, highest)."""
    return float(T_min.max()), float(T_max.min())


def _renamed(by_name: dict, names, called) -> dict:
    """A dictionary by species for some of them: `names`, under their new names `called`."""
    return {new: by_name[old] for new, old in zip(called, names) if old in by_name}


class NoSpecies:
    """Stands for SpeciesData where a host has its own kernels and no mixture: ns species without data. A model that
    reads a field gets MixtureError."""

    def __init__(self, ns: int) -> None:
        self.ns, self.names = ns, tuple(f"species_{s + 1}" for s in range(ns))
        self.R = chosen_gas_constant()

    def require(self, *fields: str, purpose: str = "") -> None:
        """Checks nothing: a missing field is an error when a kernel reads it."""

    def __getattr__(self, field: str) -> NoReturn:
        if field.startswith("__"):  # pickle and copies ask for what an object may lack
            raise AttributeError(field)
        raise MixtureError("there are no species data")


def nasa7(coeff, T):
    """cp/R, h/RT and s/R, each (...), from NASA-7 coefficients (..., 7) at T [K] (...)."""
    a0, a1, a2, a3, a4, a5, a6 = np.moveaxis(np.asarray(coeff, float), -1, 0)
    cp = a0 + T * (a1 + T * (a2 + T * (a3 + T * a4)))
    h = a0 + T * (a1 / 2 + T * (a2 / 3 + T * (a3 / 4 + T * a4 / 5))) + a5 / T
    s = a0 * np.log(T) + T * (a1 + T * (a2 / 2 + T * (a3 / 3 + T * a4 / 4))) + a6
    return cp, h, s


def nasa9(coeff, T):
    """cp/R, h/RT and s/R, each (...), from NASA-9 coefficients (..., 9) at T [K] (...): cp/R has c0/T^2 ... c6 T^4,
    h/RT has c7/T, s/R has c8 (McBride, Zehe & Gordon, NASA TP-2002-211556)."""
    c0, c1, c2, c3, c4, c5, c6, c7, c8 = np.moveaxis(np.asarray(coeff, float), -1, 0)
    log = np.log(T)
    cp = (c0 / T + c1) / T + c2 + T * (c3 + T * (c4 + T * (c5 + T * c6)))
    h = (-c0 / T + c1 * log + c7) / T + c2 + T * (c3 / 2 + T * (c4 / 3 + T * (c5 / 4 + T * c6 / 5)))
    s = (-c0 / (2 * T) - c1) / T + c2 * log + T * (c3 + T * (c4 / 2 + T * (c5 / 3 + T * c6 / 4))) + c8

    return cp, h, s
