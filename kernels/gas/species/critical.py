"""Critical properties that a mixture file does not give (option critical = fill): first which substance a species is,
then that substance's measured numbers; and an estimate for every other species.

**Identity.** A species is the substance that its row of substances.csv names, where its composition is the row's
formula; or the one that the caller chose by CAS number. A name without a row is taken for a substance only where it is
the substance's own name (`toluene`). Numbers that a generator appends (`ethane(1)`) and marks of bonds (`CF2:O`,
`CH3-CF3`) do not count. Every other species is estimated: a wrong isomer is worse than an estimate.

**Data** are measured: values from group contributions are refused. Every number has its origin. Those of the substances
in substances.csv are shipped, critical_points.csv; the package chemicals has more.

**Estimates** (estimates.py) serve atoms, radicals, fleeting molecules of substances.csv, and species whose name tells
no substance. Ions are estimated from Lennard-Jones data only, and else refused.
Estimates are for traces. Take 0.1 % of a radical whose Tc is wrong by a factor of two. A mixture's density then moves
by less than 0.25 % in 99 of 100 states between 90 and 3500 K, 1 and 300 bar; next to its critical point by 1.2 %
(tests/gas/test_substances.py).
"""

from __future__ import annotations

import contextlib
import csv
import functools
import importlib
import importlib.util
import math
import pathlib
import re
import statistics
from typing import NamedTuple

from ...engine.errors import ArgumentError, MixtureError, refuse
from . import estimates
from .fields import GAS_CONSTANT

TABLE = pathlib.Path(__file__).with_name("substances.csv")
POINTS = pathlib.Path(__file__).with_name("critical_points.csv")
FIELDS = ("Tc", "pc", "omega", "Vc", "Z_RA")
METHODS = FIELDS[:4]  # of which the package names the source
NOBLE = ("He", "Ne", "Ar", "Kr", "Xe", "Rn")
GROUP_CONTRIBUTIONS = (
    "JOBACK",
    "WILSON_JASPERSON",
    "FEDORS",
    "GRIGORAS",
    "HEKAYATI",
    "MEISSNER",
    "MODIFIED_WILSON_JASPERSON",
    "IHMELS",
)
COSTALD = "Hankinson & Thomson's table (COSTALD)"
AGREE = 0.2  # of a value: measured ones that differ more from the others are misprints
ZC = (0.1, 0.36)  # critical compressibility, from hydrogen fluoride's (it associates) to above any fluid's
ZC_SIMPLE, ZC_SLOPE = 0.291, 0.080  # Zc = 0.291 - 0.080 omega, Lee & Kesler 1975 (original not seen)
ION = "an ion"
ESTIMATED = "estimated"
NEEDED = ("Tc", "pc", "omega")
FROM = "there are no transport data to estimate Tc and pc from"
CAS = re.compile(r"\d{2,7}-\d\d-\d")
ESTIMATE, OTHERS = "estimate", "*"  # a choice, and a key for all other species, which are estimated in any case
WAYS = f'a CAS number, "{ESTIMATE}", or numbers such as {{"Tc": 514.7, "pc": 6.27e6, "omega": 0.646}} in K and Pa'


class Substance(NamedTuple):
    """A row of substances.csv. cas: empty for what has no measured critical point; "solid" for what is no gas. sigma
    [A] and eps [K] are nan where the row has none. basis: how its names are read."""

    cas: str
    atoms: tuple
    name: str
    basis: str
    sigma: float
    eps: float


class Unusable(MixtureError):
    """A species that cannot be in a gas mixture, or not with this equation; the text is the reason."""


def counted(formula: str) -> tuple:
    """((element, number), ...) in alphabetical order of a formula such as C2H6O."""
    atoms: dict[str, float] = {}
    for element, number in re.findall(r"([A-Z][a-z]?)(\d*)", formula):
        atoms[element] = atoms.get(element, 0) + float(number or 1)
    return tuple(sorted(atoms.items()))


def _atoms(composition) -> tuple:
    return tuple(sorted((element, float(count)) for element, count in composition.items() if count))


@functools.cache
def table() -> dict[tuple, Substance]:
    """{(name in capital letters, atoms): Substance} of substances.csv."""
    lines = [line for line in TABLE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    out: dict[tuple, Substance] = {}
    for row in csv.DictReader(lines):
        atoms, cas = counted(row["formula"]), row["CAS"].replace("-", "", row["CAS"] == "-")
        known = Substance(
            cas, atoms, row["substance"], row["basis"], *(float(row[key] or "nan") for key in ("sigma", "eps"))
        )
        out |= {(name, atoms): known for name in row["names"].split()}
    return out


def solid(name: str, composition) -> str:
    """What a species of this name is where it is no gas, such as soot; else nothing."""
    atoms = _atoms({element: count for element, count in composition.items() if isinstance(count, (int, float))})
    row = table().get((name.upper(), atoms))
    return row.name if row and row.cas == "solid" else ""


def package():
    """The package chemicals. Raises MixtureError, which names it, where it is not installed."""
    try:
        return importlib.import_module("chemicals")
    except ImportError:
        raise MixtureError(
            "a CAS number without a row in substances.csv needs the Python package chemicals, which is not installed: "
            "pip install chemicals, or the project with its extra 'critical'. Or give numbers in K and Pa."
        ) from None


@functools.cache
def installed() -> bool:
    """Whether there is a package chemicals. It is not imported."""
    return importlib.util.find_spec("chemicals") is not None


def _measured_value(get, methods, cas, least=0.0, possible=(-math.inf, math.inf)):
    """(value, its source): of the measured and possible values the first, in the package's order, within AGREE of their
    median, or within `least`. (For phenanthrene one source has Tc in thousands of K, for hydrazine one has a Vc that is
    no fluid's.) (None, None) where there is none."""
    values = {m: float(get(cas, method=m)) for m in methods(cas) if m.upper() not in GROUP_CONTRIBUTIONS}
    values = {m: value for m, value in values.items() if possible[0] < value < possible[1]}
    middle = statistics.median_high(values.values()) if values else 0.0
    near = [(value, m) for m, value in values.items() if abs(value - middle) <= max(AGREE * abs(middle), least)]
    return near[0] if near else (None, None)


@functools.cache
def shipped() -> dict[str, tuple[dict, dict]]:
    """{CAS: ({field: value}, {field: source})} of critical_points.csv."""
    lines = POINTS.read_text(encoding="utf-8").splitlines()
    version = next(line for line in lines if line.startswith("# chemicals "))[2:]
    out = {}
    for row in csv.DictReader(line for line in lines if not line.startswith("#")):
        values = {field: float(row[field]) for field in FIELDS if row[field]}
        methods = dict(zip([field for field in METHODS if row[field]], row["methods"].split()))
        methods |= {"Z_RA": COSTALD} if "Z_RA" in values else {}
        out[row["CAS"]] = values, {field: (version, method) for field, method in methods.items()}
    return out


def looked_up(cas: str, name: str) -> tuple[dict, dict]:
    """({Tc [K], pc [Pa], omega, Vc [m3/mol], Z_RA}, {field: origin}) of a substance; both are empty where not all of
    Tc, pc, omega were measured, or where it is neither shipped nor the package is there. Callers do not change them."""
    if cas in shipped():
        values, sources = shipped()[cas]
        return values, {field: f"{whose}, {name} ({cas}), {how}" for field, (whose, how) in sources.items()}
    return from_package(cas, name) if installed() else ({}, {})


@functools.cache
def from_package(cas: str, name: str) -> tuple[dict, dict]:
    """As `looked_up`, from the package. Raises MixtureError where it is missing."""
    chemicals = package()
    values: dict[str, float] = {}
    origin: dict[str, str] = {}
    for field, get, methods in (
        ("Tc", chemicals.Tc, chemicals.Tc_methods),
        ("pc", chemicals.Pc, chemicals.Pc_methods),
        ("omega", chemicals.omega, chemicals.omega_methods),
        ("Vc", chemicals.Vc, chemicals.Vc_methods),
    ):
        unit = GAS_CONSTANT * values["Tc"] / values["pc"] if field == "Vc" and {"Tc", "pc"} <= set(values) else math.inf
        possible = (ZC[0] * unit, ZC[1] * unit) if field == "Vc" else (-math.inf, math.inf)
        value, method = _measured_value(get, methods, cas, 0.05 if field == "omega" else 0.0, possible)
        if value is not None:
            values[field] = value
            origin[field] = f"chemicals {chemicals.__version__}, {name} ({cas}), {method}"
    if not set(NEEDED) <= set(values):
        return {}, {}
    with contextlib.suppress(KeyError, AttributeError, ValueError):  # 190 substances have it
        values["Z_RA"] = float(importlib.import_module("chemicals.volume").rho_data_COSTALD.at[cas, "Z_RA"])
        origin["Z_RA"] = f"chemicals {chemicals.__version__}, {name} ({cas}), {COSTALD}"
    return values, origin


@functools.cache
def _listed() -> dict[tuple, list[tuple[str, str, frozenset]]]:
    """{atoms: [(CAS, name, all names in small letters)]} of the substances in the package's tables of critical
    points."""
    critical, identifiers = (importlib.import_module(f"chemicals.{part}") for part in ("critical", "identifiers"))
    tables = [getattr(critical, f"critical_data_{part}") for part in ("CRC", "IUPAC", "Matthews", "PSRKR4", "Yaws")]
    tables += [critical.critical_data_PassutDanner, critical.critical_data_PinaMartines]
    out: dict[tuple, list[tuple[str, str, frozenset]]] = {}
    for cas in dict.fromkeys(cas for some in tables for cas in some.index):
        try:
            found = identifiers.search_chemical(cas)
        except ValueError:  # not in its data base of names
            continue
        names = frozenset(name.lower() for name in (found.common_name, found.iupac_name) if name)
        if not set(found.formula) & set("+-"):
            out.setdefault(counted(found.formula), []).append((cas, found.common_name, names))
    return out


def _odd(atoms) -> bool:
    """Whether the number of electrons is odd: a radical, but for NO and NO2, which have rows of their own. False for
    elements of the file's own."""
    elements = importlib.import_module("chemicals.elements").periodic_table
    try:
        return sum(count * (1 if e in estimates.HYDROGENS else elements[e].number) for e, count in atoms) % 2 == 1
    except KeyError:
        return False


def chosen_substance(where: str, cas: str, atoms) -> tuple[dict, dict]:
    """As `looked_up`, for a CAS number that the caller gives. Raises MixtureError where it is none, or belongs to
    another formula, or has no measured data."""
    text = f"{where}: {cas!r} was chosen as its substance"
    refuse(not CAS.fullmatch(cas), f"{text}, wanted {WAYS}.", MixtureError)
    row = next((row for row in table().values() if row.cas == cas), None)
    if row and row.atoms == atoms and cas in shipped():
        return looked_up(cas, row.name)
    package()
    try:
        found = importlib.import_module("chemicals.identifiers").search_chemical(cas)
    except ValueError:
        raise MixtureError(f"{text}: the package chemicals has no such CAS number.") from None
    if counted(found.formula) != atoms:
        raise MixtureError(f"{text}: that is {found.common_name}, {found.formula}, the species is {_formula(atoms)}.")
    values, origin = looked_up(cas, found.common_name)
    refuse(not values, f"{text}: {found.common_name} has no measured Tc, pc and omega; wanted {WAYS}.", MixtureError)
    return values, origin


def _formula(atoms) -> str:
    return "".join(f"{element}{count:g}" if count != 1 else element for element, count in atoms)


NUMBERED = re.compile(r"(.+)\(\d+\)$")  # ethane(1): the generator RMG numbers its species
BOND = re.compile(r"[:=]|(?<=[A-Za-z0-9)])-(?=[A-Z(])")  # CF2:O, CH3-CF3
PLAIN = re.compile(r"([A-Z][a-z]?\d*)+")


def _row(name: str, atoms) -> Substance | None:
    """The row of a species: by its name, then without a generator's number, then without marks of bonds. Generators
    name isomers by their formula (`C6H6(27)`): a numbered formula counts only where it has one stable molecule."""
    numbered = NUMBERED.match(name)
    bare = numbered[1] if numbered else name
    symbols = re.findall("[A-Z][a-z]?", bare)
    formula = numbered and PLAIN.fullmatch(bare) and len(symbols) == len(set(symbols))
    for label in dict.fromkeys((name, bare, BOND.sub("", bare))):
        row = table().get((label.upper(), atoms))
        several = formula and row and row.basis != "structure" and estimates.counts(atoms)[1].sum() > 2
        if row and not several:
            return row
    return None


def _named(name: str, atoms) -> tuple[str, str] | None:
    """(CAS, name) of the substance of this composition whose own name a species has; None without the package."""
    numbered = NUMBERED.match(name)
    labels = {name.lower(), numbered[1].lower() if numbered else name.lower()}
    for cas, its_name, names in _listed().get(atoms, []) if installed() else []:
        if labels & names and looked_up(cas, its_name)[0]:
            return cas, its_name
    return None


def identified(where: str, name: str, atoms, choice) -> tuple[dict, dict, str]:
    """({field: value}, {field: origin}, reason): the measured values of the substance that a species is; or no values
    and the reason. choice: see `filled`. Raises MixtureError for a choice that does not fit."""
    if isinstance(choice, str) and choice != ESTIMATE:
        return *chosen_substance(where, choice, atoms), ""
    if choice == ESTIMATE:
        return {}, {}, "as the caller chose"

    row = _row(name, atoms)
    if row and not row.cas:
        return {}, {}, f"{row.name} has no measured critical point"
    if row:
        return *looked_up(row.cas, row.name), f"{row.name} ({row.cas}) has no measured critical point"

    if "E" in dict(atoms):
        return {}, {}, ION
    if len(atoms) == 1 and atoms[0][1] == 1 and atoms[0][0] not in NOBLE:
        return {}, {}, "an atom"
    if installed() and _odd(atoms):
        return {}, {}, "a radical (odd number of electrons)"

    own = _named(name, atoms)
    if own:
        return *looked_up(*own), ""
    lacking = "" if installed() else ", and the package chemicals, which has more names, is not installed"
    return {}, {}, f"the name tells no substance of this composition{lacking}"


def filled(where: str, name: str, composition: dict, diameter=math.nan, well_depth=math.nan, *, choice=None, rk=None):
    """({Tc, pc, omega and, where known, Vc, Z_RA}, {field: origin}) of a species.

    where: start of messages. composition: element -> number of atoms. diameter [m], well_depth [K]: of its transport
    data. choice: None; a CAS number; "estimate"; or {Tc [K], pc [Pa], omega, Vc [m3/mol]}. rk: Tc, pc of the file's own
    Redlich-Kwong a and b. Raises Unusable for ions without transport data, or MixtureError which names the missing
    package or what is wrong with the choice.
    """
    if isinstance(choice, dict):
        known = dict(zip((*NEEDED, "Vc"), (choice.get(field) for field in (*NEEDED, "Vc"))))
        values = {field: float(value) for field, value in known.items() if isinstance(value, (int, float))}
        wrong = set(choice) - set(values) or set(NEEDED) - set(values)
        refuse(wrong, f"{where}: critical properties {choice} were chosen, wanted {WAYS}.", MixtureError)
        return values, dict.fromkeys(values, "given by the caller")

    atoms = _atoms(composition)
    values, origin, reason = identified(where, name, atoms, choice)
    if values:
        return values, origin

    known = diameter > 0 and well_depth > 0
    refuse(reason == ION and not known and not rk, f"{reason}; {FROM}", Unusable)
    row = _row(name, atoms)
    if row and not known and row.eps > 0:
        diameter, well_depth = row.sigma * 1e-10, row.eps
        reason += "; sigma, eps/k of substances.csv"
    guess = estimates.estimated(atoms, diameter, well_depth, rk)
    return guess.values, dict.fromkeys(guess.values, f"{ESTIMATED}: {guess.rule}; {reason}")


def transport(name: str, composition: dict, critical: dict) -> tuple[dict, dict]:
    """({diameter [m], well_depth [K], dipole [D], polarizability [m3]}, {field: origin}) of a species without transport
    data: those of substances.csv, or Chung's relations for Tc, Vc of `critical`. The molecule counts as nonpolar."""
    row = _row(name, _atoms(composition))
    if row and row.eps > 0:
        values, rule = {"diameter": row.sigma * 1e-10, "well_depth": row.eps}, "sigma, eps/k of substances.csv"
    else:
        Tc, pc, omega, Vc = (critical.get(field, math.nan) for field in FIELDS[:4])
        Vc = Vc if Vc > 0 else (ZC_SIMPLE - ZC_SLOPE * omega) * GAS_CONSTANT * Tc / pc
        values, rule = estimates.lennard_jones(Tc, Vc), "sigma = 0.809 Vc^(1/3), eps/k = Tc/1.2593"
    values |= {"dipole": 0.0, "polarizability": 0.0}
    return values, dict.fromkeys(values, f"{ESTIMATED}: {rule}, nonpolar; the file has no transport data")


def choices(given) -> dict:
    """{species: choice} of the value of `critical` that a caller gives as a dict; empty for a text. Raises
    ArgumentError."""
    if not isinstance(given, dict):
        return {}
    wrong = [value for value in given.values() if not isinstance(value, (str, dict))]
    refuse(wrong, f"critical: {wrong[:1]} came for a species, wanted {WAYS}.", ArgumentError)
    others = given.get(OTHERS, ESTIMATE)
    refuse(others != ESTIMATE, f'critical: "{OTHERS}" is {others!r}, wanted "{ESTIMATE}".', ArgumentError)
    return dict(given)
