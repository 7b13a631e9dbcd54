"""Critical properties that a mixture file does not give (option critical = fill): first which substance a species is,
then that substance's numbers from the package chemicals; and an estimate for species that no one could bottle.

**Identity.** A species is the substance that its row of substances.csv names, where its composition is the row's
formula; or the one that the caller chose by CAS number. A name without a row is taken for a substance only where it is
the substance's own name (`toluene`). Otherwise, where any substance of this composition has measured data, the species
is refused, and the message lists them: a wrong isomer is worse than none.

**Data** are measured: values from group contributions are refused. Every number has its origin.

**Estimates** serve atoms, radicals, ions, fleeting molecules of substances.csv, species of whose composition no
substance has measured data, and those for which the caller asks. The first of these that there are numbers for:
  1. Tc, pc of the file's own Redlich-Kwong a and b; omega = 0;
  2. Chung's relations for a simple fluid from the transport data, or from those of substances.csv:
     Tc = 1.2593 eps/k, Vc = (sigma/0.809)^3 [cm3/mol, A], pc = 0.291 R Tc/Vc, omega = 0;
  3. from the composition, for 2 to 20 atoms of C, N, O with at least one C, n of them in all:
     Tc = exp(5.72 + 0.31 ln n + 0.28 O/n + 0.58 N/n) K, Vc = 4 + 31.1 C + 12.4 H + 25.3 O + 33.7 N cm3/mol,
     pc = 0.256 R Tc/Vc, omega = 0.21 + 0.032 n. Fitted here to the 1210 such substances of the package whose Tc and Vc
     were measured: half of them are met within 6, 9 and 4 % in Tc, pc, Vc, and 95 % within 17, 27 and 12 %.
Estimates are for traces. Take 0.1 % of a radical whose Tc is wrong by a factor of two. A mixture's density then moves
by less than 0.25 % in 99 of 100 states between 90 and 3500 K, 1 and 300 bar; next to its critical point by 1.2 %
(tests/test_substances.py).
"""

from __future__ import annotations

import contextlib
import csv
import functools
import importlib
import math
import pathlib
import re
import statistics
from typing import NamedTuple

from ..errors import ArgumentError, MixtureError, refuse
from .data import GAS_CONSTANT

TABLE = pathlib.Path(__file__).with_name("substances.csv")
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
SIMPLE_FLUID = "Tc = 1.2593 eps/k, Vc = (sigma/0.809)^3, pc = 0.291 R Tc/Vc, omega = 0"
BY_COMPOSITION = "Tc, pc, Vc, omega from the numbers of atoms (half of all molecules within 6, 9, 4 % of Tc, pc, Vc)"
AGREE = 0.2  # of a value: measured ones that differ more from the others are misprints
ZC = (0.1, 0.36)  # critical compressibility, from hydrogen fluoride's (it associates) to above any fluid's
NEEDED = ("Tc", "pc", "omega")
FROM = "there are no transport data to estimate Tc and pc from"
CAS = re.compile(r"\d{2,7}-\d\d-\d")
ESTIMATE, OTHERS = "estimate", "*"  # a choice, and the key of the choice for all species that are not identified
WAYS = f'a CAS number, "{ESTIMATE}", or numbers such as {{"Tc": 514.7, "pc": 6.27e6, "omega": 0.646}} in K and Pa'


class Substance(NamedTuple):
    """A row of substances.csv. cas: empty for what has no measured critical point; "solid" for what is no gas. sigma
    [A] and eps [K] are nan where the row has none."""

    cas: str
    atoms: tuple
    name: str
    sigma: float
    eps: float


class Unidentified(MixtureError):
    """Several substances may be meant by a species; the text says which, as "'C4H8' may be 106-98-9 1-butene, ..."."""


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
        known = Substance(cas, atoms, row["substance"], *(float(row[key] or "nan") for key in ("sigma", "eps")))
        out |= {(name, atoms): known for name in row["names"].split()}
    return out


def solid(name: str, composition) -> str:
    """What a species of this name is where it is no gas, such as soot; else nothing."""
    row = table().get((name.upper(), _atoms({k: v for k, v in composition.items() if isinstance(v, (int, float))})))
    return row.name if row and row.cas == "solid" else ""


def package():
    """The package chemicals. Raises MixtureError, which names it, where it is not installed."""
    try:
        return importlib.import_module("chemicals")
    except ImportError:
        raise MixtureError(
            "critical = fill needs the Python package chemicals, which is not installed: pip install chemicals, or "
            "the project with its extra 'critical'. Or give each species critical-parameters in the file."
        ) from None


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
def looked_up(cas: str, name: str) -> tuple[dict, dict]:
    """({Tc [K], pc [Pa], omega, Vc [m3/mol], Z_RA}, {field: origin}) of a substance; both are empty where not all of
    Tc, pc, omega were measured. Callers do not change them. Raises MixtureError where the package is missing."""
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
        origin["Z_RA"] = f"chemicals {chemicals.__version__}, {name} ({cas}), Hankinson & Thomson's table (COSTALD)"
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


def _measured(atoms) -> list[tuple[str, str, frozenset]]:
    """Those of this composition with measured Tc, pc and omega."""
    return [known for known in _listed().get(atoms, []) if looked_up(*known[:2])[0]]


def _odd(atoms) -> bool:
    """Whether the number of electrons is odd: a radical, but for NO and NO2, which have rows of their own."""
    elements = importlib.import_module("chemicals.elements").periodic_table
    return sum(count * (1 if e in ("D", "Tr") else elements[e].number) for e, count in atoms) % 2 == 1


def chosen_substance(where: str, cas: str, atoms) -> tuple[dict, dict]:
    """As `looked_up`, for a CAS number that the caller gives. Raises MixtureError where it is none, or belongs to
    another formula, or has no measured data."""
    package()
    text = f"{where}: {cas!r} was chosen as its substance"
    refuse(not CAS.fullmatch(cas), f"{text}, wanted {WAYS}.", MixtureError)
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


def estimated(atoms, reason: str, diameter: float, well_depth: float, redlich_kwong=None) -> tuple[dict, dict]:
    """({field: value}, {field: origin}) by the rules above; both are empty where none applies. diameter [m] and
    well_depth [K]: nan where not known. redlich_kwong: Tc, pc of the file's a and b."""
    number = dict(atoms)
    heavy = {element: number.get(element, 0.0) for element in "CNO"}
    n = sum(heavy.values())
    if redlich_kwong:
        values, rule = (
            dict(zip(("Tc", "pc"), redlich_kwong)) | {"omega": 0.0},
            "Tc, pc of the file's Redlich-Kwong a, b",
        )
    elif diameter > 0 and well_depth > 0:
        Tc, Vc = 1.2593 * well_depth, (diameter * 1e10 / 0.809) ** 3 * 1e-6
        values, rule = {"Tc": Tc, "pc": 0.291 * GAS_CONSTANT * Tc / Vc, "omega": 0.0, "Vc": Vc}, SIMPLE_FLUID
    elif set(number) <= set("CHNO") and heavy["C"] and 2 <= n <= 20:
        Tc = math.exp(5.72 + 0.31 * math.log(n) + 0.28 * heavy["O"] / n + 0.58 * heavy["N"] / n)
        Vc = (4 + 31.1 * heavy["C"] + 12.4 * number.get("H", 0.0) + 25.3 * heavy["O"] + 33.7 * heavy["N"]) * 1e-6
        values = {"Tc": Tc, "pc": 0.256 * GAS_CONSTANT * Tc / Vc, "omega": 0.21 + 0.032 * n, "Vc": Vc}
        rule = BY_COMPOSITION
    else:
        return {}, {}
    return values, dict.fromkeys(values, f"estimated: {rule}; {reason}")


def identified(where: str, name: str, atoms, choice, others) -> tuple[dict, dict, str]:
    """({field: value}, {field: origin}, reason): the values of the substance that a species is; or, where it has no
    measured ones, no values and the reason. Raises Unidentified where nothing decides between substances, MixtureError
    for a choice that does not fit. choice, others: see `filled`."""
    row = table().get((name.upper(), atoms))
    if isinstance(choice, str) and choice != ESTIMATE:
        return *chosen_substance(where, choice, atoms), ""
    if choice == ESTIMATE:
        return {}, {}, "as the caller chose"
    if row and not row.cas:
        return {}, {}, f"{row.name} has no measured critical point"
    if row:
        values, origin = looked_up(row.cas, row.name)
        return values, origin, f"{row.name} ({row.cas}) has no measured critical point in the package chemicals"
    if "E" in dict(atoms):
        return {}, {}, "an ion"
    if len(atoms) == 1 and atoms[0][1] == 1 and atoms[0][0] not in NOBLE:
        return {}, {}, "an atom"
    try:
        if _odd(atoms):
            return {}, {}, "a radical (odd number of electrons)"
        like = _measured(atoms)
    except KeyError as error:  # an element of the file's own
        raise MixtureError(f"{where}: element {error} is unknown here; wanted {WAYS}.") from None
    for cas, its_name, names in like:
        if name.lower() in names:
            return *looked_up(cas, its_name), ""
    if like and others != ESTIMATE:
        shown = ", ".join(f"{cas} {its_name}" for cas, its_name, _ in like[:4])
        more = f" and {len(like) - 4} more" if len(like) > 4 else ""
        raise Unidentified(f"{name!r} may be {shown}{more}")
    reason = "not identified, as the caller chose" if like else f"no {_formula(atoms)} has measured critical properties"
    return {}, {}, reason


def filled(
    where: str,
    name: str,
    composition: dict,
    diameter=math.nan,
    well_depth=math.nan,
    *,
    choice=None,
    others=None,
    rk=None,
) -> tuple[dict, dict]:
    """({Tc, pc, omega and, where known, Vc, Z_RA}, {field: origin}) of a species.

    where: start of messages. composition: element -> number of atoms. diameter [m], well_depth [K]: of its transport
    data. choice: None; a CAS number; "estimate"; or {Tc [K], pc [Pa], omega, Vc [m3/mol]}. others: "estimate", where
    species that are not identified are to be estimated. rk: Tc, pc of the file's own Redlich-Kwong a and b.
    Raises Unidentified, Unusable, or MixtureError which names the missing package or what is wrong with the choice.
    """
    package()
    if isinstance(choice, dict):
        known = dict(zip((*NEEDED, "Vc"), (choice.get(field) for field in (*NEEDED, "Vc"))))
        values = {field: float(value) for field, value in known.items() if isinstance(value, (int, float))}
        wrong = set(choice) - set(values) or set(NEEDED) - set(values)
        refuse(wrong, f"{where}: critical properties {choice} were chosen, wanted {WAYS}.", MixtureError)
        return values, dict.fromkeys(values, "given by the caller")
    atoms = _atoms(composition)
    try:
        values, origin, reason = identified(where, name, atoms, choice, others)
    except Unidentified:
        if not rk:
            raise
        values, origin, reason = {}, {}, "which isomer it is does not matter"
    row = table().get((name.upper(), atoms))
    if not values and row and not (diameter > 0 and well_depth > 0):
        diameter, well_depth = row.sigma * 1e-10, row.eps
        reason += "; sigma, eps/k of substances.csv"
    if not values:
        values, origin = estimated(atoms, reason, diameter, well_depth, rk)
    refuse(not values, f"{reason}; {FROM}", Unusable)
    return values, origin


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
