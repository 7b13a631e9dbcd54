"""Data of option critical = fill, from the package chemicals.

    python -m kernels.gas.fits.critical_points

writes kernels/gas/species/critical_points.csv, the measured values of the substances in substances.csv. It prints the
coefficients of the rule by composition for kernels/gas/species/estimates.py, and the errors on substances that the fit
did not use.
"""

import csv
import sys

import numpy as np

from ..species import critical, estimates

# Sources with measured values. YAWS is left out: many of its values are estimates.
TRUSTED = {"HEOS", "CRC", "IUPAC", "MATTHEWS", "WEBBOOK", "PINAMARTINES", "PSRK", "PD"}
EACH_OUT = 5  # the fit does not use substances whose CAS number is a multiple
ROUNDS = 60  # of reweighted least squares, which converge to the smallest sum of absolute errors


class Measured:
    """Measured substances for the fit: atoms, and arrays of Tc [K], pc [Pa], omega, Vc [m3/mol] (nan: unknown)."""

    def __init__(self):
        rows = [row for row in _substances() if estimates.counts(row[1])[1].sum() > 0]
        self.atoms = [atoms for _, atoms, _ in rows]
        self.values = {}
        for field in ("Tc", "pc", "omega", "Vc"):
            self.values[field] = np.array([values.get(field, np.nan) for *_, values in rows])
        self.held_out = np.array([int(cas.replace("-", "")) % EACH_OUT == 0 for cas, *_ in rows])

    def design(self, field):
        """The matrix of the linear fit of a field, a row for each substance."""
        sizes = {"Tc": np.log, "omega": float}
        if field in sizes:
            return np.array([estimates.intensive(atoms, sizes[field]) for atoms in self.atoms])
        return np.array([estimates.extensive(atoms) for atoms in self.atoms])

    def target(self, field):
        """The right-hand side of the linear fit of a field: ln Tc, (pc/bar)^(-1/2), omega, Vc in cm3/mol."""
        value = self.values[field]
        if field == "Tc":
            return np.log(value)
        if field == "pc":
            return (value / 1e5) ** -0.5

        return value * 1e6 if field == "Vc" else value


def _substances():
    """Yields (CAS, atoms, values) for all substances with trusted, positive Tc and pc, without noble gases."""
    for atoms, known in critical._listed().items():
        if {element for element, _ in atoms} & set(critical.NOBLE):
            continue
        for cas, name, _ in known:
            values, origin = critical.from_package(cas, name)
            sound = values and values["Tc"] > 0 and values["pc"] > 0
            if sound and origin["Tc"].rpartition(", ")[2] in TRUSTED:
                yield cas, atoms, values


def fitted(measured, field) -> np.ndarray:
    """Coefficients of a field with the smallest sum of absolute errors (omega, ln Tc) or relative errors (others)."""
    rows = ~measured.held_out & np.isfinite(measured.values[field])
    A, b = measured.design(field)[rows], measured.target(field)[rows]
    if field in ("pc", "Vc"):
        A, b = A / b[:, None], np.ones(len(b))

    weight = np.ones(len(b))
    for _ in range(ROUNDS):
        root = np.sqrt(weight)
        found = np.linalg.lstsq(A * root[:, None], b * root, rcond=None)[0]
        weight = 1 / np.maximum(np.abs(A @ found - b), 5e-3)

    return found


def errors(measured, rows) -> dict:
    """{field: (median, 90 %)} of the errors of the rule by composition: relative, for omega absolute."""
    guess = [estimates.by_composition(atoms) for atoms, row in zip(measured.atoms, rows) if row]
    out = {}

    for field, known in measured.values.items():
        off = np.abs(np.array([g[field] for g in guess]) - known[rows])
        off = off if field == "omega" else off / known[rows]
        out[field] = tuple(np.nanpercentile(off, (50, 90)))

    return out


CLASSES = {
    "all": lambda elements: True,
    "C, H, N, O": lambda elements: elements <= set("CHNO"),
    "with F, Cl, Br or I": lambda elements: elements & {"F", "Cl", "Br", "I"},
    "with S": lambda elements: "S" in elements,
    "with Si, P or B": lambda elements: elements & {"Si", "P", "B"},
    "without C": lambda elements: "C" not in elements,
    "with other elements": lambda elements: elements - set(estimates.ELEMENTS) - set(estimates.HYDROGENS),
}


def table() -> list[list]:
    """Rows of critical_points.csv, in the order of substances.csv."""
    rows = {}
    for row in critical.table().values():
        values, origin = critical.from_package(row.cas, row.name) if row.cas[:1].isdigit() else ({}, {})
        if values:
            methods = [origin[field].rpartition(", ")[2] if field in origin else "" for field in critical.METHODS]
            numbers = [repr(values[field]) if field in values else "" for field in critical.FIELDS]
            rows[row.cas] = [row.cas, *numbers, " ".join(methods).strip()]

    return list(rows.values())


def main() -> int:
    """Writes the table, prints coefficients and errors."""
    # The table.
    version = critical.package().__version__
    with critical.POINTS.open("w", encoding="utf-8", newline="") as file:
        file.write(
            "# Measured critical properties of the substances in substances.csv, SI units per mole; methods: the\n"
        )
        file.write(f"# sources of Tc, pc, omega, Vc as the package names them.\n# chemicals {version}\n")
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["CAS", *critical.FIELDS, "methods"])
        rows.writerows(table())

    # The coefficients.
    measured = Measured()
    made = {field: tuple(float(f"{c:.4g}") for c in fitted(measured, field)) for field in ("Tc", "pc", "Vc", "omega")}
    for field, row in made.items():
        print(f"    {field!r}: {row},")
    estimates.COEFFICIENTS.update(made)

    # The errors, by class of substance.
    print(f"fitted to {(~measured.held_out).sum()} substances; median and 90 % error on the held-out ones:")
    for name, fits in CLASSES.items():
        inside = np.array([bool(fits({element for element, _ in atoms})) for atoms in measured.atoms])
        rows = measured.held_out & inside
        words = [f"{field} {a:.3f} {b:.3f}" for field, (a, b) in errors(measured, rows).items()]
        print(f"  {name} ({rows.sum()}): {', '.join(words)}")

    return 0


if __name__ == "__main__":
    sys.exit(main())
