"""Fluids with parameters of their own for equation `mapped` and for transport by residual entropy: the rows of
fluids.csv, and the row of a species.

A species has the row of its substance on two conditions: substances.csv has its name, in upper or lower case, for the
substance, and its molar mass is the row's.
"""

from __future__ import annotations

import csv
import dataclasses
import functools
import math
import os
import pathlib

from ...engine.errors import MixtureError, refuse
from .critical import table

TABLE = pathlib.Path(__file__).with_name("fluids.csv")

# Relative difference of molar masses up to which a name counts: rounded atomic weights, not another formula.
SAME_MASS = 1e-3

# The substance of each fluid: its CAS number. Names of species follow from substances.csv.
SUBSTANCES = {
    "N2": "7727-37-9",
    "O2": "7782-44-7",
    "CH4": "74-82-8",
    "H2": "1333-74-0",
    "CO2": "124-38-9",
    "H2O": "7732-18-5",
    "He": "7440-59-7",
    "Ar": "7440-37-1",
    "CO": "630-08-0",
    "C2H6": "74-84-0",
    "C2H4": "74-85-1",
    "C3H8": "74-98-6",
    "nC4": "106-97-8",
    "nC5": "109-66-0",
    "nC6": "110-54-3",
    "nC7": "142-82-5",
    "nC8": "111-65-9",
    "nC9": "111-84-2",
    "nC10": "124-18-5",
    "nC12": "112-40-3",
    "NH3": "7664-41-7",
    "CH3OH": "67-56-1",
    "C2H5OH": "64-17-5",
}

# The name of each fluid in the package CoolProp.
COOLPROP = {
    "N2": "Nitrogen",
    "O2": "Oxygen",
    "CH4": "Methane",
    "H2": "Hydrogen",
    "pH2": "ParaHydrogen",
    "He": "Helium",
    "CO2": "CarbonDioxide",
    "H2O": "Water",
    "CO": "CarbonMonoxide",
    "Ar": "Argon",
    "C2H6": "Ethane",
    "C2H4": "Ethylene",
    "C3H8": "n-Propane",
    "nC4": "n-Butane",
    "nC5": "n-Pentane",
    "nC6": "n-Hexane",
    "nC7": "n-Heptane",
    "nC8": "n-Octane",
    "nC9": "n-Nonane",
    "nC10": "n-Decane",
    "nC12": "n-Dodecane",
    "NH3": "Ammonia",
    "CH3OH": "Methanol",
    "C2H5OH": "Ethanol",
    "Air": "Air",
}

# Fluids that are no substance of substances.csv, with the names of their species.
OTHERS = {
    "pH2": ("PH2", "P-H2", "PARA-H2", "PARAHYDROGEN"),
    "Air": ("AIR",),
}


@dataclasses.dataclass(frozen=True)
class Fluid:
    """A row of fluids.csv."""

    fluid: str  # name of the row
    Tc: float  # critical temperature of the equation [K]
    pc: float  # critical pressure of the equation [Pa]
    M: float  # molar mass [kg/mol]
    omega: float  # acentric factor
    rhoc: float  # measured critical density [kg/m3]

    # Equation of state: molar, x = b/w, t = T/Tc
    d1: float  # delta_1 of the cubic
    P0: float  # volume map, C = b (P0 + P1 x + P2 x^2 + P3 x^3 - 1.4 Q/(t + 0.4))
    P1: float
    P2: float
    P3: float
    Q: float
    alpha_c: float  # sqrt(alpha) = ((1 + c)/(t + c))^m (1 + g (t - 1))
    alpha_g: float
    alpha_m: float

    # Transport
    sigma: float  # diameter [A]
    eps: float  # well depth over k [K]
    n1: float  # viscosity, a function of the residual entropy
    n2: float
    n3: float
    n4: float
    b1: float  # conductivity, a function of the residual entropy
    b2: float
    b3: float
    f0: float  # conductivity of the dilute gas: the part of internal heat, and its slope in ln(T/Tc)
    f1: float

    # Where the numbers come from: `python -m frame fit`
    source: str = ""  # literature of the states that they were fitted to
    T_low: float = math.nan  # range of these states [K], [Pa]
    T_high: float = math.nan
    p_high: float = math.nan

    # ODD: alpha rises or is concave somewhere (hydrogen bonds, quantum effects); cv is positive at these states
    alpha: str = ""

    # Medians of the errors in percent, by region: of rho, cp, c, mu, lam with blanks between; - without states
    liq: str = ""  # liquid, T < 0.95 Tc
    satliq: str = ""  # saturated liquid
    vap: str = ""  # vapour, T < 0.95 Tc
    near: str = ""  # T within 6 % of Tc and density within 60 %
    trans: str = ""  # 0.95 to 1.2 Tc otherwise
    sup: str = ""  # 1.2 to 3 Tc
    hot: str = ""  # above 3 Tc


ODD = "odd"
TEXTS = ("fluid", "source", "alpha", "liq", "satliq", "vap", "near", "trans", "sup", "hot")
COLUMNS = tuple(field.name for field in dataclasses.fields(Fluid))


def read(path: str | pathlib.Path) -> dict[str, Fluid]:
    """{name of the row: Fluid} of a table as fluids.csv, such as `python -m frame fit` writes for a user's own fluid.

    The columns source to hot may be absent. Raises MixtureError, which names the file, the row and the column.
    """
    refuse(not isinstance(path, (str, os.PathLike)), f"table of fluids {path!r}: wanted its path.", MixtureError)
    path = pathlib.Path(path)
    try:
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    except (OSError, UnicodeDecodeError) as error:
        raise MixtureError(f"table of fluids {path}: cannot be read: {error}.") from None

    reader = csv.DictReader(lines)
    names = reader.fieldnames or []
    needed = [field.name for field in dataclasses.fields(Fluid) if field.default is dataclasses.MISSING]
    lacking = [name for name in needed if name not in names]
    unknown = [name for name in names if name not in COLUMNS]
    wrong = f"no column {', '.join(lacking)}" if lacking else f"unknown column {', '.join(unknown)}"
    refuse(
        lacking or unknown,
        f"table of fluids {path}: {wrong}; wanted {', '.join(needed)}, as `python -m frame fit` writes them.",
        MixtureError,
    )

    rows: dict[str, Fluid] = {}
    for row in reader:
        name = row["fluid"]
        refuse(name in rows, f"table of fluids {path}: row {name!r} came twice.", MixtureError)
        rows[name] = Fluid(**{column: _value(path, name, column, text) for column, text in row.items()})

    return rows


def _value(path, row: str, column: str, text):
    """The value of a cell: a text, or a finite number; of the range, which may be unknown, nan."""
    if column in TEXTS:
        refuse(
            column == "alpha" and text not in (None, "", ODD),
            f"table of fluids {path}, row {row!r}: alpha is {text!r}, wanted {ODD!r} or nothing.",
            MixtureError,
        )
        return text or ""

    try:
        number = float(text) if text else math.nan
    except ValueError:
        number = math.inf
    known = math.isfinite(number) or (not text and column in ("T_low", "T_high", "p_high"))
    refuse(not known, f"table of fluids {path}, row {row!r}: {column} is {text!r}, wanted a number.", MixtureError)
    return number


@functools.cache
def fluids() -> dict[str, Fluid]:
    """{name of the row: Fluid} of fluids.csv. Callers must not change it."""
    return read(TABLE)


@functools.cache
def names() -> dict[str, str]:
    """{name of a species, in capital letters: name of the row}."""
    by_substance = {cas: fluid for fluid, cas in SUBSTANCES.items()}

    rows = {fluid.upper(): fluid for fluid in SUBSTANCES}
    for (name, _), substance in table().items():
        if substance.cas in by_substance:
            rows[name] = by_substance[substance.cas]

    for fluid, others in OTHERS.items():
        rows |= dict.fromkeys(others, fluid)

    return rows


def fluid_of(name: str, W: float) -> Fluid | None:
    """The row of a species by its name and molar mass W [kg/mol]; None if it has no row."""
    fluid = fluids().get(names().get(name.upper(), ""))
    if fluid is None or abs(W - fluid.M) > SAME_MASS * fluid.M:
        return None

    return fluid


def own_rows(path: str | pathlib.Path, species_names, W) -> dict[str, Fluid]:
    """{name of a species: its row} of a user's table: the row of the species' own name, in upper or lower case, or of
    its substance under another usual name: a row `Ethanol` is that of C2H5OH.

    W (ns,): molar masses [kg/mol]. Raises MixtureError for a table of which no species has a row, and for a row of
    another molar mass.
    """
    rows = read(path)
    by_name = {name.upper(): row for name, row in rows.items()}
    found = {}
    for name, mass in zip(species_names, W):
        row = by_name.get(name.upper()) or by_name.get(names().get(name.upper(), "").upper())
        row = row or _of_its_substance(name, rows)
        if row is None:
            continue
        refuse(
            abs(mass - row.M) > SAME_MASS * row.M,
            f"table of fluids {path}, row {row.fluid!r}: M = {row.M:g} kg/mol, species {name!r} has {mass:g}.",
            MixtureError,
        )
        found[name] = row

    refuse(
        not found,
        f"table of fluids {path}: rows {', '.join(rows) or 'none'}; wanted a row with the name of a species: "
        f"{', '.join(species_names)}.",
        MixtureError,
    )
    return found


def _of_its_substance(name: str, rows: dict[str, Fluid]) -> Fluid | None:
    """The row whose name can mean only the substance that this species is; None for a formula of several isomers."""
    from .brought import substances  # reads the package's species: for names that the table spells otherwise

    substance = substances(name)
    same = [row for own, row in rows.items() if len(substance) == 1 and substances(own) == substance]
    return same[0] if len(same) == 1 else None


def row_of(species, s: int) -> Fluid | None:
    """The row of species s: of the user's table if it has one, else of fluids.csv; None if it has no row."""
    name = species.names[s]
    return species.own_fluids.get(name) or fluid_of(name, species.W[s])
