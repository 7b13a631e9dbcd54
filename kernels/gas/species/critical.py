"""Critical properties that a mixture file lacks (option critical = fill): look-up by substance, else an estimate.

**Identity.** A species is a substance if substances.csv has a row with this name and this composition, or if the caller
chose a CAS number. A name without a row counts only if it is the name of the substance (`toluene`). Numbers appended by
a mechanism generator (`ethane(1)`) and bond marks (`CF2:O`, `CH3-CF3`) are ignored. All other species are estimated: a
wrong isomer is worse than an estimate.

**Data** are measured; values from group contributions are refused. Each value has an origin. critical_points.csv holds
the values of the substances in substances.csv; the package chemicals has more substances.

**Estimates** (estimates.py) serve atoms, radicals, short-lived molecules of substances.csv, and species whose name is
no substance. Ions are estimated from Lennard-Jones data, and refused without.
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
from .atomic_weights import ELECTRONS
from .gas_constant import GAS_CONSTANT

TABLE = pathlib.Path(__file__).with_name("substances.csv")
POINTS = pathlib.Path(__file__).with_name("critical_points.csv")
FIELDS = ("Tc", "pc", "omega", "Vc", "Z_RA")
METHODS = FIELDS[:4]  # fields for which the package chemicals names the source
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
AGREE = 0.2  # relative; a measured value farther from the median of all sources is a misprint
ZC = (0.1, 0.36)  # possible critical compressibility factors: hydrogen fluoride (it associates) has the lowest
ZC_SIMPLE, ZC_SLOPE = 0.291, 0.080  # Zc = 0.291 - 0.080 omega, Lee & Kesler 1975 (original not seen)
ION = "an ion"
ESTIMATED = "estimated"
NEEDED = ("Tc", "pc", "omega")
FROM = "there are no transport data to estimate Tc and pc from"
CAS = re.compile(r"\d{2,7}-\d\d-\d")
ESTIMATE = "estimate"  # a choice for a species, instead of a CAS number
OTHERS = "*"  # key of a choice for all other species
WAYS = f'a CAS number, "{ESTIMATE}", or numbers such as {{"Tc": 514.7, "pc": 6.27e6, "omega": 0.646}} in K and Pa'


class Substance(NamedTuple):
    """A row of substances.csv."""

    cas: str  # CAS number; empty: no measured critical point; "solid": not a gas
    atoms: tuple  # ((element, number), ...), see `counted`
    name: str
    basis: str  # how the species names of the row are read
    sigma: float  # Lennard-Jones diameter [A]; nan if unknown
    eps: float  # well depth over k [K]; nan if unknown


class Unusable(MixtureError):
    """A species that cannot be used in a gas mixture, or not with this equation of state. The text is the reason."""


def counted(formula: str) -> tuple:
    """((element, number), ...) in alphabetical order of a formula such as C2H6O."""
    atoms: dict[str, float] = {}
    for element, number in re.findall(r"([A-Z][a-z]?)(\d*)", formula):
        atoms[element] = atoms.get(element, 0) + float(number or 1)
    return tuple(sorted(atoms.items()))


def _atoms(composition) -> tuple:
    """((element, number), ...) in alphabetical order of a composition {element: number}."""
    return tuple(sorted((element, float(count)) for element, count in composition.items() if count))


@functools.cache
def table() -> dict[tuple, Substance]:
    """{(name in capital letters, atoms): Substance} of substances.csv."""
    lines = [line for line in TABLE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]

    out: dict[tuple, Substance] = {}
    for row in csv.DictReader(lines):
        atoms = counted(row["formula"])
        substance = Substance(
            cas="" if row["CAS"] == "-" else row["CAS"],
            atoms=atoms,
            name=row["substance"],
            basis=row["basis"],
            sigma=float(row["sigma"] or "nan"),
            eps=float(row["eps"] or "nan"),
        )
        for name in row["names"].split():
            out[name, atoms] = substance
    return out


def solid(name: str, composition) -> str:
    """The substance's name if the species is a solid, such as soot; else ""."""
    atoms = _atoms({element: count for element, count in composition.items() if isinstance(count, (int, float))})
    row = table().get((name.upper(), atoms))
    return row.name if row and row.cas == "solid" else ""


def package():
    """The package chemicals. Raises MixtureError if it is not installed."""
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
    """(value, source) of a property of the substance `cas`; (None, None) if there is no measured value.

    get(cas, method=source), methods(cas): functions of the package chemicals. possible: bounds. Of the measured values
    within the bounds, the first in the package's order counts that is near their median: within AGREE, relative, or
    within `least`. (For phenanthrene one source has Tc in thousands of K; for hydrazine one has a Vc of no fluid.)
    """
    # Measured values within the bounds.
    values = {}
    for source in methods(cas):
        if source.upper() in GROUP_CONTRIBUTIONS:
            continue
        value = float(get(cas, method=source))
        if possible[0] < value < possible[1]:
            values[source] = value
    if not values:
        return None, None

    # The first value near the median.
    middle = statistics.median_high(values.values())
    for source, value in values.items():
        if abs(value - middle) <= max(AGREE * abs(middle), least):
            return value, source
    return None, None


@functools.cache
def shipped() -> dict[str, tuple[dict, dict]]:
    """{CAS: ({field: value}, {field: source})} of critical_points.csv."""
    lines = POINTS.read_text(encoding="utf-8").splitlines()
    version = next(line for line in lines if line.startswith("# chemicals "))[2:]

    out = {}
    for row in csv.DictReader(line for line in lines if not line.startswith("#")):
        values = {field: float(row[field]) for field in FIELDS if row[field]}

        # The column `methods` has a source for each of METHODS that the row has, in this order.
        measured = [field for field in METHODS if field in values]
        methods = dict(zip(measured, row["methods"].split()))
        if "Z_RA" in values:
            methods["Z_RA"] = COSTALD

        out[row["CAS"]] = values, {field: (version, method) for field, method in methods.items()}
    return out


def looked_up(cas: str, name: str) -> tuple[dict, dict]:
    """({Tc [K], pc [Pa], omega, Vc [m3/mol], Z_RA}, {field: origin}) of a substance. Callers must not change them.

    Both are empty if Tc, pc or omega was not measured, or if critical_points.csv lacks the substance and the package
    chemicals is not installed.
    """
    if cas in shipped():
        values, sources = shipped()[cas]
        origin = {}
        for field, (version, method) in sources.items():
            origin[field] = f"{version}, {name} ({cas}), {method}"
        return values, origin
    return from_package(cas, name) if installed() else ({}, {})


@functools.cache
def from_package(cas: str, name: str) -> tuple[dict, dict]:
    """As `looked_up`, from the package chemicals. Raises MixtureError if it is not installed."""
    chemicals = package()
    source = f"chemicals {chemicals.__version__}, {name} ({cas})"
    values: dict[str, float] = {}
    origin: dict[str, str] = {}

    for field, get, methods in (
        ("Tc", chemicals.Tc, chemicals.Tc_methods),
        ("pc", chemicals.Pc, chemicals.Pc_methods),
        ("omega", chemicals.omega, chemicals.omega_methods),
        ("Vc", chemicals.Vc, chemicals.Vc_methods),
    ):
        possible = _possible_volumes(values) if field == "Vc" else (-math.inf, math.inf)
        least = 0.05 if field == "omega" else 0.0
        value, method = _measured_value(get, methods, cas, least, possible)
        if value is not None:
            values[field] = value
            origin[field] = f"{source}, {method}"

    if not set(NEEDED) <= set(values):
        return {}, {}

    with contextlib.suppress(KeyError, AttributeError, ValueError):  # 190 substances have it
        values["Z_RA"] = float(importlib.import_module("chemicals.volume").rho_data_COSTALD.at[cas, "Z_RA"])
        origin["Z_RA"] = f"{source}, {COSTALD}"
    return values, origin


def _possible_volumes(values) -> tuple[float, float]:
    """Bounds of Vc [m3/mol] from Zc = pc Vc/(R Tc); infinite, so that no Vc is accepted, without Tc and pc."""
    if not {"Tc", "pc"} <= set(values):
        return math.inf, math.inf

    volume = GAS_CONSTANT * values["Tc"] / values["pc"]
    return ZC[0] * volume, ZC[1] * volume


@functools.cache
def _listed() -> dict[tuple, list[tuple[str, str, frozenset]]]:
    """{atoms: [(CAS, name, all names in lower case)]} of the substances that have a measured critical point in the
    package chemicals."""
    critical = importlib.import_module("chemicals.critical")
    identifiers = importlib.import_module("chemicals.identifiers")
    tables = [getattr(critical, f"critical_data_{part}") for part in ("CRC", "IUPAC", "Matthews", "PSRKR4", "Yaws")]
    tables += [critical.critical_data_PassutDanner, critical.critical_data_PinaMartines]

    numbers: dict[str, None] = {}
    for each in tables:
        numbers |= dict.fromkeys(each.index)

    out: dict[tuple, list[tuple[str, str, frozenset]]] = {}
    for cas in numbers:
        try:
            found = identifiers.search_chemical(cas)
        except ValueError:  # not in the package's data base of names
            continue
        names = frozenset(name.lower() for name in (found.common_name, found.iupac_name) if name)
        if not set(found.formula) & set("+-"):
            out.setdefault(counted(found.formula), []).append((cas, found.common_name, names))
    return out


def _odd(atoms) -> bool:
    """Whether the number of electrons is odd. Then the species is a radical (except NO and NO2, which have rows in
    substances.csv). False if the file defines an element of the species."""
    if not all(element in ELECTRONS for element, _ in atoms):
        return False
    return sum(count * ELECTRONS[element] for element, count in atoms) % 2 == 1


def is_fleeting(name: str, composition) -> bool:
    """Whether nobody has measured a critical point of the species: a radical, an atom, a fleeting molecule.

    composition: {element: number of atoms}; empty where it is unknown: then the name decides alone.
    """
    if not composition:
        return any(theirs == name.upper() and not row.cas for (theirs, _), row in table().items())

    atoms = _atoms(composition)
    row = _row(name, atoms)
    return not row.cas if row else _odd(atoms)


def chosen_substance(where: str, cas: str, atoms) -> tuple[dict, dict]:
    """As `looked_up`, for a CAS number chosen by the caller. where: start of messages.

    Raises MixtureError if it is no CAS number, has another formula, or has no measured data.
    """
    text = f"{where}: {cas!r} was chosen as its substance"
    refuse(not CAS.fullmatch(cas), f"{text}, wanted {WAYS}.", MixtureError)

    # Shipped data.
    row = next((row for row in table().values() if row.cas == cas), None)
    if row and row.atoms == atoms and cas in shipped():
        return looked_up(cas, row.name)

    # The package chemicals.
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
    """A formula such as C2H6O."""
    formula = ""
    for element, count in atoms:
        formula += element if count == 1 else f"{element}{count:g}"
    return formula


NUMBERED = re.compile(r"(.+)\(\d+\)$")  # ethane(1): the generator RMG numbers the species
BOND = re.compile(r"[:=]|(?<=[A-Za-z0-9)])-(?=[A-Z(])")  # CF2:O, CH3-CF3
PLAIN = re.compile(r"([A-Z][a-z]?\d*)+")


def _word(name: str) -> str:
    """n-octane of C8H18,n-octane: NASA's data base writes a formula and a name. "" for other names."""
    formula, _, word = name.partition(",")
    return word.lower() if PLAIN.fullmatch(formula) else ""


def _row(name: str, atoms) -> Substance | None:
    """The row of substances.csv for a species; None if there is none.

    The name is tried as it is, then without a generator's number, then without bond marks. Generators name isomers by
    their formula (`C6H6(27)`). So a numbered formula counts only if a single stable molecule has it. In
    `C8H18,n-octane` the name counts, not the formula.
    """
    word = _word(name)
    if word:
        return next((row for (_, theirs), row in table().items() if theirs == atoms and row.name == word), None)

    numbered = NUMBERED.match(name)
    bare = numbered[1] if numbered else name
    symbols = re.findall("[A-Z][a-z]?", bare)
    is_numbered_formula = numbered and PLAIN.fullmatch(bare) and len(symbols) == len(set(symbols))
    is_large = estimates.counts(atoms)[1].sum() > 2

    for label in dict.fromkeys((name, bare, BOND.sub("", bare))):
        row = table().get((label.upper(), atoms))
        if row is None:
            continue
        has_isomers = is_large and row.basis != "structure"
        if not (is_numbered_formula and has_isomers):
            return row
    return None


def _named(name: str, atoms) -> tuple[str, str] | None:
    """(CAS, name) of the substance in the package chemicals with this name and composition; None if there is none, or
    if the package is not installed."""
    if not installed():
        return None

    labels = {name.lower(), _word(name) or name.lower()}
    numbered = NUMBERED.match(name)
    if numbered:
        labels.add(numbered[1].lower())

    for cas, substance, names in _listed().get(atoms, []):
        if labels & names and looked_up(cas, substance)[0]:
            return cas, substance
    return None


def identified(where: str, name: str, atoms, choice) -> tuple[dict, dict, str]:
    """Measured values of a species: ({field: value}, {field: origin}, reason).

    Without values both maps are empty, and the reason says why. where, choice: see `filled`. Raises MixtureError for a
    choice that does not fit the species.
    """
    # The caller's choice.
    if isinstance(choice, str) and choice != ESTIMATE:
        return *chosen_substance(where, choice, atoms), ""
    if choice == ESTIMATE:
        return {}, {}, "as the caller chose"

    # A substance of substances.csv.
    row = _row(name, atoms)
    if row and not row.cas:
        return {}, {}, f"{row.name} has no measured critical point"
    if row:
        return *looked_up(row.cas, row.name), f"{row.name} ({row.cas}) has no measured critical point"

    # Ions, atoms, radicals.
    if "E" in dict(atoms):
        return {}, {}, ION
    if len(atoms) == 1 and atoms[0][1] == 1 and atoms[0][0] not in NOBLE:
        return {}, {}, "an atom"
    if _odd(atoms):
        return {}, {}, "a radical (odd number of electrons)"

    # A substance of the package chemicals.
    substance = _named(name, atoms)
    if substance:
        return *looked_up(*substance), ""
    lacking = "" if installed() else ", and the package chemicals, which has more names, is not installed"
    return {}, {}, f"the name tells no substance of this composition{lacking}"


class Clues(NamedTuple):
    """Numbers of a file from which critical properties can be estimated."""

    diameter: float = math.nan  # m, of Lennard-Jones; nan: unknown
    well_depth: float = math.nan  # K, likewise
    rk: tuple[float, float] | None = None  # (Tc [K], pc [Pa]) of a and b of Redlich-Kwong


NO_CLUES = Clues()


def filled(where: str, name: str, composition: dict, clues: Clues = NO_CLUES, choice=None):
    """Critical properties of a species: ({Tc, pc, omega and, if known, Vc, Z_RA}, {field: origin}).

    where: start of messages.
    composition: {element: number of atoms}.
    choice: None; a CAS number; "estimate"; or {Tc [K], pc [Pa], omega, Vc [m3/mol]}.

    Raises Unusable for ions without transport data; MixtureError if a package is missing or the choice is wrong.
    """
    # Numbers chosen by the caller.
    if isinstance(choice, dict):
        values = {}
        for field in (*NEEDED, "Vc"):
            value = choice.get(field)
            if isinstance(value, (int, float)):
                values[field] = float(value)
        wrong = set(choice) - set(values) or set(NEEDED) - set(values)
        refuse(wrong, f"{where}: critical properties {choice} were chosen, wanted {WAYS}.", MixtureError)
        return values, dict.fromkeys(values, "given by the caller")

    # Measured values.
    atoms = _atoms(composition)
    values, origin, reason = identified(where, name, atoms, choice)
    if values:
        return values, origin

    # An estimate.
    diameter, well_depth, rk = clues
    known = diameter > 0 and well_depth > 0
    refuse(reason == ION and not known and not rk, f"{reason}; {FROM}", Unusable)
    row = _row(name, atoms)
    if row and not known and row.eps > 0:
        diameter, well_depth = row.sigma * 1e-10, row.eps
        reason += "; sigma, eps/k of substances.csv"

    guess = estimates.estimated(atoms, diameter, well_depth, rk)
    return guess.values, dict.fromkeys(guess.values, f"{ESTIMATED}: {guess.rule}; {reason}")


def transport(name: str, composition: dict, critical: dict) -> tuple[dict, dict]:
    """Transport data of a species that has none in the file.

    Returns ({diameter [m], well_depth [K], dipole [D], polarizability [m3]}, {field: origin}): from substances.csv,
    else by Chung's relations from Tc, pc, omega, Vc in `critical`. The molecule counts as nonpolar.
    """
    row = _row(name, _atoms(composition))
    if row and row.eps > 0:
        rule = "sigma, eps/k of substances.csv"
        values = {"diameter": row.sigma * 1e-10, "well_depth": row.eps}
    else:
        rule = "sigma = 0.809 Vc^(1/3), eps/k = Tc/1.2593"
        Tc, pc, omega, Vc = (critical.get(field, math.nan) for field in FIELDS[:4])
        if not Vc > 0:
            Vc = (ZC_SIMPLE - ZC_SLOPE * omega) * GAS_CONSTANT * Tc / pc
        values = estimates.lennard_jones(Tc, Vc)

    values |= {"dipole": 0.0, "polarizability": 0.0}
    return values, dict.fromkeys(values, f"{ESTIMATED}: {rule}, nonpolar; the file has no transport data")


def choices(given) -> dict:
    """{species: choice} if the value of option `critical` is a dict; empty for a text. Raises ArgumentError for choices
    of another kind."""
    if not isinstance(given, dict):
        return {}

    wrong = [value for value in given.values() if not isinstance(value, (str, dict))]
    refuse(wrong, f"critical: {wrong[:1]} came for a species, wanted {WAYS}.", ArgumentError)
    others = given.get(OTHERS, ESTIMATE)
    refuse(others != ESTIMATE, f'critical: "{OTHERS}" is {others!r}, wanted "{ESTIMATE}".', ArgumentError)
    return dict(given)
