"""Species data of a mixture. The constants of every model are computed from them."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import resource
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...engine.errors import MixtureError, refuse
from .reactions import Mechanism

if TYPE_CHECKING:  # ruamel.yaml is needed for files only
    from .cantera_reactions import ReactionText

GAS_CONSTANT = 8.31446261815324  # J/mol/K, exact (SI 2019)
OMEGA_A = 0.45723552892138218  # Peng & Robinson 1976, to the last digit of a double
OMEGA_B = 0.0777960739038885
OMEGA_VC = 0.307401308698703833  # critical compressibility of the same equation
ONE_ATM = 101325.0
NASA_CONTINUITY = 1e-3  # largest silent jump of cp/R, h/RT or s/R at T_mid; GRI-Mech 3.0 stays below 1e-5
KIJ_LIMIT = 0.9  # published k_ij reach 0.6; a larger one most likely comes from an a_ij in another unit

NAMED = 12  # how many species a message names
PAIR_BYTES = 400  # of each pair of species, for the matrices of all models while they are made

# field: (unit, lowest, highest, what). The bounds admit every real molecule and catch a number in another unit.
BOUNDS = {
    "W": ("kg/mol", 5e-4, 2.0, "molar mass"),
    "Tc": ("K", 1.0, 1e4, "critical temperature"),
    "pc": ("Pa", 1e3, 1e10, "critical pressure"),
    "omega": ("-", -1.0, 3.0, "acentric factor"),
    "Vc": ("m3/mol", 1e-6, 1e-2, "critical molar volume"),
    "dipole": ("debye", 0.0, 30.0, "dipole moment"),
    "kappa_assoc": ("-", 0.0, 10.0, "association factor"),
    "diameter": ("m", 1e-11, 1e-8, "Lennard-Jones diameter"),
    "well_depth": ("K", 0.1, 1e5, "Lennard-Jones well depth"),
    "polarizability": ("m3", 0.0, 1e-27, "polarizability"),
    "rotational_relaxation": ("-", 0.0, 1e5, "rotational relaxation number"),
    "fuller_volume": ("-", 0.1, 1e4, "Fuller diffusion volume"),
    "volume_translation": ("m3/mol", -1e-3, 1e-3, "volume translation"),
    "Z_RA": ("-", 0.15, 0.35, "Rackett compressibility"),
    "T_min": ("K", 0.0, 1e5, "lowest temperature of the NASA polynomials"),
    "T_mid": ("K", 1.0, 1e5, "temperature where the NASA polynomials meet"),
    "T_max": ("K", 1.0, 1e5, "highest temperature of the NASA polynomials"),
}
HEAVIEST = 1e6  # kg/mol, of lumps of soot, whose molar mass follows from their atoms
CRITICAL = ("Tc", "pc", "omega")  # may be unknown where only the ideal gas is computed
OPTIONAL = (
    "Vc",
    "dipole",
    "diameter",
    "well_depth",
    "polarizability",
    "rotational_relaxation",
    "fuller_volume",
    "volume_translation",
    "Z_RA",
)


def free_memory() -> float:
    """Bytes that this process may still take from the machine, its control group and its own limit."""
    free = [limit for limit in resource.getrlimit(resource.RLIMIT_AS)[:1] if limit != resource.RLIM_INFINITY]
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        free.append(next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable")))
    with contextlib.suppress(OSError, ValueError):  # ValueError: no limit
        limit, used = (int(Path(f"/sys/fs/cgroup/memory.{what}").read_text()) for what in ("max", "current"))
        free.append(limit - used)
    return min(free, default=math.inf)


def _column(field, k):
    """A property: column k of a field that holds several numbers of each species."""
    return property(lambda self: getattr(self, field)[:, k])


@dataclass(frozen=True, eq=False)
class SpeciesData:
    """Arrays over the ns species of a mixture, read-only, in SI units per mole; nan where a value is not known.

    kij is symmetric with a zero diagonal: a_ij = sqrt(a_i a_j)(1 - k_ij).
    nasa_low, nasa_high: (ns, 7), a0..a6 of cp/R = a0 + a1 T + ... + a4 T^4, h/RT = a0 + a1 T/2 + ... + a5/T,
    s/R = a0 ln T + a1 T + ... + a6 at p_ref.
    nasa9: c0..c8 of cp/R = c0/T^2 + c1/T + c2 + c3 T + ... + c6 T^4; c7 and c8 are the constants of h/RT and s/R.
    geometry: 0 atom, 1 linear, 2 nonlinear, -1 unknown. T_fit: range of the kinetic-theory fit of binary diffusion.
    """

    names: tuple
    W: np.ndarray  # kg/mol
    Tc: np.ndarray  # K
    pc: np.ndarray  # Pa
    omega: np.ndarray
    a: np.ndarray  # Pa m6/mol2, without alpha(T)
    b: np.ndarray  # m3/mol
    kij: np.ndarray  # (ns, ns)
    Vc: np.ndarray  # m3/mol, measured
    dipole: np.ndarray  # debye
    kappa_assoc: np.ndarray  # Chung's association factor
    nasa_low: np.ndarray  # (ns, 7), T <= T_mid
    nasa_high: np.ndarray  # (ns, 7)
    T_min: np.ndarray  # K
    T_mid: np.ndarray
    T_max: np.ndarray
    geometry: np.ndarray
    diameter: np.ndarray  # m
    well_depth: np.ndarray  # K
    polarizability: np.ndarray  # m3
    rotational_relaxation: np.ndarray  # at 298 K
    fuller_volume: np.ndarray
    volume_translation: np.ndarray  # m3/mol, Peneloux's c: v = v_eos - c
    Z_RA: np.ndarray  # of Rackett's equation for saturated liquids; c follows from it where c is not known
    p_ref: float  # Pa, pressure of the ideal-gas entropies
    T_fit: tuple  # (T_low, T_high) [K]
    sources: dict  # name -> {block: note}, the file's notes on its numbers
    origin: dict = dataclasses.field(default_factory=dict)  # name -> {field: text}, numbers that were not in the file
    nasa9: np.ndarray | None = None  # (ns, ranges, 9); then nasa_low, nasa_high are nan. None where those are used
    T_break: np.ndarray | None = None  # (ns, ranges + 1) [K], ends of those ranges
    # (ns, 3): viscosity [Pa s] at a temperature [K], constant [K]; nan where not known
    sutherland: np.ndarray | None = None
    # (ns, 3): viscosity [Pa s] at a temperature [K], exponent; nan where not known
    power_law: np.ndarray | None = None
    # (ns, 3): temperature [K], pressure [Pa], density [kg/m3] of a measured liquid state; nan where not known
    liquid: np.ndarray | None = None
    # (2, ns, ns): a0 [Pa m6 K^0.5/mol2], a1 [Pa m6/K^0.5/mol2] of a Redlich-Kwong phase's own a_ij
    rk_a: np.ndarray | None = None
    reactions: ReactionText | None = None  # unread; None where the species have none

    @property
    def ns(self):
        return len(self.names)

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
        names,
        W,
        omega,
        nasa_low,
        nasa_high,
        T_mid,
        *,
        Tc=None,
        pc=None,
        a=None,
        b=None,
        kij=None,
        T_min=200.0,
        T_max=3500.0,
        kappa_assoc=0.0,
        geometry=-1,
        p_ref=ONE_ATM,
        T_fit=None,
        sources=None,
        origin=None,
        nasa9=None,
        T_break=None,
        sutherland=None,
        power_law=None,
        liquid=None,
        without_critical=False,
        of_atoms=False,
        where="species data",
        **optional,
    ):
        """Build from arrays of length ns (a scalar holds for all species), with the checks that a file gets.

        Give either Tc [K] and pc [Pa], or a [Pa m6/mol2] and b [m3/mol]; the other two are computed. `optional`: any of
        Vc, dipole, diameter, well_depth, polarizability, rotational_relaxation, fuller_volume, volume_translation,
        Z_RA; an absent one is unknown (nan). Units: see the fields of this class.
        nasa9 (ns, ranges, 9) with T_break (ns, ranges + 1): these polynomials are used, and nasa_low, nasa_high, T_mid
        are None. A species with fewer ranges repeats its last range, with the last temperature again.
        without_critical: Tc, pc and omega may be unknown (nan); such species can be used with the ideal gas only.
        of_atoms: W follows from compositions, so that a large one is no error of units.
        where: start of the messages. Raises MixtureError. Warns where the NASA polynomials do not meet at T_mid.
        """

        def refuse(wrong, text):
            if wrong:
                raise MixtureError(f"{where}: {text}")

        names = tuple(names)
        ns = len(names)
        good = ns and all(isinstance(n, str) and n for n in names)
        refuse(not good, f"species names are {names!r}, wanted at least one non-empty string.")
        need, free = PAIR_BYTES * ns**2, free_memory()
        refuse(
            need > 2**28 and need > free,
            f"matrices over the pairs of {ns} species take {need / 2**30:.1f} GiB, {free / 2**30:.1f} GiB are free.",
        )
        twice = sorted({n for n in names if names.count(n) > 1})
        refuse(twice, f"species {', '.join(map(repr, twice))} given more than once.")
        unknown = set(optional) - set(OPTIONAL)
        refuse(unknown, f"unknown field {min(unknown, default='')!r}; optional fields are {', '.join(OPTIONAL)}.")

        def array(field, value, shape, spread=True):
            try:
                value = _floats(value)
            except (TypeError, ValueError) as error:
                raise MixtureError(f"{where}: {field} is not an array of numbers ({error}).") from None
            if spread and value.ndim == 0:
                value = np.full(shape, float(value))
            refuse(value.shape != shape, f"{field} has shape {value.shape}, wanted {shape} for {ns} species.")
            return value

        def check(field, values, low, high, unit):
            may_lack = field in OPTIONAL or without_critical and field in CRITICAL
            for name, value in zip(names, values):
                good = low <= value <= high or (may_lack and math.isnan(value))
                refuse(not good, f"species {name!r}: {field} is {value:g}, wanted {low:g} to {high:g} {unit}.")

        if nasa9 is not None:
            nasa9, T_break = _nine(nasa9, T_break, names, refuse)
            T_min, T_mid, T_max = T_break[:, 0], T_break[:, 1], T_break[:, -1]
            nasa_low = nasa_high = np.full((ns, 7), np.nan)
        data = {"W": W, "omega": omega, "T_min": T_min, "T_mid": T_mid, "T_max": T_max, "kappa_assoc": kappa_assoc}
        data |= {field: optional.get(field, np.nan) for field in OPTIONAL}
        given = {"Tc": Tc, "pc": pc} if a is None and b is None else {"a": a, "b": b}
        for field, value in given.items():
            refuse(value is None, f"{field} is missing, wanted Tc and pc, or a and b.")
        data = {field: array(field, value, (ns,)) for field, value in (data | given).items()}
        if "Tc" in data:
            with np.errstate(all="ignore"):  # a zero or negative pc is refused below, with the species' name
                data["a"] = OMEGA_A * (GAS_CONSTANT * data["Tc"]) ** 2 / data["pc"]
                data["b"] = OMEGA_B * GAS_CONSTANT * data["Tc"] / data["pc"]
        else:
            if not without_critical:
                check("a", data["a"], 1e-6, 1e6, "Pa m6/mol2")
                check("b", data["b"], 1e-7, 1e-1, "m3/mol")
            data["Tc"] = data["a"] * OMEGA_B / (data["b"] * OMEGA_A * GAS_CONSTANT)
            data["pc"] = OMEGA_B * GAS_CONSTANT * data["Tc"] / data["b"]
        for field, (unit, low, high, _) in BOUNDS.items():
            check(field, data[field], low, HEAVIEST if field == "W" and of_atoms else high, unit)
        for name, lo, mid, hi in zip(names, data["T_min"], data["T_mid"], data["T_max"]):
            text = f"species {name!r}: T_min, T_mid, T_max are {lo:g}, {mid:g}, {hi:g} K, wanted ascending."
            refuse(not (lo <= mid <= hi and lo < hi), text)

        data["geometry"] = np.array(array("geometry", geometry, (ns,)), int)
        refuse(
            not np.isin(data["geometry"], (-1, 0, 1, 2)).all(),
            f"geometry is {data['geometry'].tolist()}, wanted 0 (atom), 1 (linear), 2 (nonlinear), -1 (unknown).",
        )

        def check_rows(field, value, columns, good, wanted):
            data[field] = array(field, np.full((ns, columns), np.nan) if value is None else value, (ns, columns), False)
            for name, row in zip(names, data[field]):
                refuse(not good(row), f"species {name!r}: {field} is {row.tolist()}, wanted {wanted}.")

        finite = lambda row: nasa9 is not None or np.isfinite(row).all() and row[:5].any()
        law = lambda row: np.isfinite(row).all() and 0 < row[0] < 1 and row[1] > 0 and row[2] > -100
        law_or_none = lambda row: np.isnan(row).all() or law(row)
        state_or_none = lambda row: np.isnan(row).all() or ((row > 0) & (row < (1e4, 1e10, 1e5))).all()
        wanted = "7 finite numbers, with a heat capacity above 0 (or the species left out)"
        check_rows("nasa_low", nasa_low, 7, finite, wanted)
        check_rows("nasa_high", nasa_high, 7, finite, wanted)
        for field, value in (("sutherland", sutherland), ("power_law", power_law)):
            check_rows(field, value, 3, law_or_none, "a viscosity [Pa s], a temperature [K] and a constant")
        wanted = "a temperature [K], a pressure [Pa] and a density [kg/m3]"
        check_rows("liquid", liquid, 3, state_or_none, wanted)
        if nasa9 is not None:
            data |= {"nasa9": nasa9, "T_break": T_break}
        kij = array("kij", 0.0 if kij is None else kij, (ns, ns), spread=kij is None)
        data["kij"] = checked_kij(names, kij, where)
        good = isinstance(p_ref, (int, float)) and 0 < p_ref < math.inf
        refuse(not good, f"p_ref is {p_ref!r}, wanted one positive pressure in Pa.")
        derived = T_fit is None
        T_fit = tuple(float(T) for T in ((data["T_min"].max(), data["T_max"].min()) if derived else T_fit))
        good = derived or len(T_fit) == 2 and 0 < T_fit[0] < T_fit[1] < math.inf
        refuse(not good, f"T_fit is {T_fit}, wanted two ascending temperatures in K.")
        out = cls(
            names=names,
            p_ref=float(p_ref),
            T_fit=T_fit,
            sources=dict(sources or {}),
            origin=dict(origin or {}),
            **{field: _locked(value) for field, value in data.items()},
        )
        for s, name in enumerate(names):
            for what, T, below, above in out.jumps(s, NASA_CONTINUITY):
                warnings.warn(
                    f"{where}: species {name!r}: {what} jumps from {below:g} to {above:g} at T_mid = {T:g} K.",
                    stacklevel=2,
                )
        return out

    def _breaks(self, s):
        """Temperatures [K] at which two ranges of species s meet."""
        return self.T_mid[s : s + 1] if self.T_break is None else self.T_break[s, 1:-1]

    def polynomial(self, s, T, above=None):
        """cp/R, h/RT and s/R of species s at T [K] (...); each has the shape of T.

        above: at a temperature where two ranges meet, take the upper (True) or the lower range (False). None: as in the
        kernels and in Cantera, the lower range for seven coefficients, the upper one for nine."""
        T = np.asarray(T, float)
        if self.nasa9 is None:
            rows, breaks, evaluate = np.array([self.nasa_low[s], self.nasa_high[s]]), self._breaks(s), nasa7
        else:
            rows, breaks, evaluate = self.nasa9[s], self._breaks(s), nasa9
        above = self.nasa9 is not None if above is None else above
        return evaluate(rows[np.searchsorted(breaks, T, side="right" if above else "left")], T)

    def jumps(self, s, limit):
        """[(name, T, below, above)]: cp/R, h/RT or s/R of species s that jump where ranges meet, by more than `limit`
        times the larger of 1 and the value."""
        out = []
        for T in np.unique(self._breaks(s)):
            for what, low, high in zip(
                ("cp/R", "h/RT", "s/R"), self.polynomial(s, T, above=False), self.polynomial(s, T, above=True)
            ):
                if abs(high - low) > limit * max(1.0, abs(low)):
                    out.append((what, float(T), float(low), float(high)))
        return out

    def require(self, *fields, purpose="the model"):
        """Raise MixtureError that names the first species for which one of these optional fields is unknown."""
        for field in fields:
            for s in np.flatnonzero(np.isnan(getattr(self, field))):
                unit, _, _, what = BOUNDS[field]
                raise MixtureError(
                    f"species {self.names[s]!r}: {what} ({field}, {unit}) is missing; {purpose} needs it."
                )

    def refuse(self, lacking, what):
        """Raise MixtureError "species A, B without `what`" if the mask `lacking` (ns,) is true for any species."""
        refuse(np.any(lacking), f"species {self.named(lacking)} without {what}", MixtureError)

    def refuse_without_critical(self):
        """Raise MixtureError that names the species without Tc, pc or omega."""
        self.refuse(np.isnan([getattr(self, field) for field in CRITICAL]).any(0), "critical properties")

    def estimated(self):
        """{name: rule, its error, reason} of the species whose critical properties are estimated. `origin` has the
        source of every number that was not in the file."""
        tc = {name: fields.get("Tc", "") for name, fields in self.origin.items()}
        return {name: text for name, text in tc.items() if text.startswith("estimated: ")}

    def named(self, mask):
        """The names of the species where the mask (ns,) is true, as text."""
        names = [name for name, there in zip(self.names, mask) if there]
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        return ", ".join(names[:NAMED]) + more or "no species"

    def critical_volumes(self):
        """(Vc [m3/mol] (ns,), notes). An unknown Vc is replaced by that of the Peng-Robinson equation; the notes say
        so."""
        known = np.isfinite(self.Vc)
        note = f"no measured critical volume for {self.named(~known)}: Vc = 0.3074 R Tc/pc is used."
        return np.where(known, self.Vc, OMEGA_VC * GAS_CONSTANT * self.Tc / self.pc), [] if known.all() else [note]

    def index(self, name):
        """Index of a species. MixtureError, which lists the species, where there is none of that name."""
        refuse(
            name not in self.names,
            f"species {name!r} is not in the mixture, which has {', '.join(self.names)}.",
            MixtureError,
        )
        return self.names.index(name)

    def with_fit_range(self, T_low, T_high):
        """The same data with another range [K] for the fit of binary diffusion (Cantera's is max(T_min) to
        min(T_max))."""
        return dataclasses.replace(self, T_fit=(float(T_low), float(T_high)))

    def subset(self, names, shown=None):
        """The same data for some of the species, in the order given. T_fit is derived again unless it had been given.
        MixtureError for an unknown name. shown: other names for them; then a species may be taken several times, and
        reactions, which are of the names before, stay behind."""
        pick, called = [self.index(n) for n in names], list(shown or names)
        derived = self.T_fit == (self.T_min.max(), self.T_max.min())
        fields = (
            set(BOUNDS) | {"geometry", "nasa_low", "nasa_high", "nasa9", "T_break", "sutherland", "power_law", "liquid"}
        ) - {"Tc", "pc"}
        arrays = {f: getattr(self, f)[pick] for f in fields if getattr(self, f) is not None}
        out = type(self).from_arrays(
            called,
            a=self.a[pick],
            b=self.b[pick],
            kij=self.kij[np.ix_(pick, pick)],
            p_ref=self.p_ref,
            T_fit=None if derived else self.T_fit,
            without_critical=bool(np.isnan([self.Tc, self.omega]).any()),
            of_atoms=True,
            **{
                kept: {new: getattr(self, kept)[n] for new, n in zip(called, names) if n in getattr(self, kept)}
                for kept in ("sources", "origin")
            },
            **arrays,
        )
        # Tc and pc keep the digits that were given; computed from a and b they could differ in the last one
        own = None if self.rk_a is None else self.rk_a[np.ix_((0, 1), pick, pick)]
        reactions = None if shown else self.reactions and self.reactions.only(called)
        return dataclasses.replace(
            out, Tc=_locked(self.Tc[pick]), pc=_locked(self.pc[pick]), rk_a=own, reactions=reactions
        )


class NoSpecies:
    """Stands for SpeciesData where a host has its own kernels and no mixture: ns species without data. A model that
    reads a field gets MixtureError."""

    def __init__(self, ns: int):
        self.ns, self.names = ns, tuple(f"species_{s + 1}" for s in range(ns))

    def require(self, *fields, purpose=""):
        """Checks nothing: a missing field is an error when a kernel reads it."""

    def __getattr__(self, field):
        raise MixtureError("there are no species data")


def _locked(value):
    value.flags.writeable = False
    return value


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


def checked_kij(names, kij, where):
    """kij, read-only. Raises MixtureError unless it is symmetric with a zero diagonal, and moderate."""
    for i, j in np.argwhere(~(np.abs(kij) <= KIJ_LIMIT)):
        raise MixtureError(
            f"{where}: kij of {names[i]!r} and {names[j]!r} is {kij[i, j]:g}, wanted {-KIJ_LIMIT} to {KIJ_LIMIT}."
        )
    for i, j in np.argwhere((kij != kij.T) | (np.eye(len(names), dtype=bool) & (kij != 0))):
        raise MixtureError(
            f"{where}: kij of {names[i]!r} and {names[j]!r} is {kij[i, j]:g} one way and {kij[j, i]:g} the other, "
            "wanted a symmetric matrix with a zero diagonal."
        )
    return _locked(kij)


def _floats(value) -> np.ndarray:
    """A copy as float64, None as nan. Raises TypeError for complex numbers: NumPy would drop the imaginary part."""
    if np.asarray(value).dtype.kind == "c":
        raise TypeError("complex numbers")
    return np.array(value, float)


def _nine(rows, T_break, names, refuse):
    """(nasa9, T_break), checked."""
    ns = len(names)
    try:
        rows, T_break = _floats(rows), _floats(T_break)
    except (TypeError, ValueError) as error:
        refuse(True, f"nasa9 or T_break is not an array of numbers ({error}).")
    refuse(
        rows.ndim != 3 or rows.shape[::2] != (ns, 9) or T_break.shape != (ns, rows.shape[1] + 1),
        f"nasa9 has shape {rows.shape} and T_break {T_break.shape}, wanted ({ns}, ranges, 9) and ({ns}, ranges + 1).",
    )
    for name, row, T in zip(names, rows, T_break):
        good = np.isfinite(row).all() and np.isfinite(T).all() and (np.diff(T) >= 0).all() and 0 <= T[0] < T[-1]
        text = f"species {name!r}: nasa9 has {row.tolist()} between {T.tolist()} K, wanted finite numbers and "
        refuse(not good, text + "ascending temperatures.")
    return rows, T_break
