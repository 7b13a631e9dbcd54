"""All that is known of a mixture as text: its species' constants with origins, and the warnings about them."""

import numpy as np

from . import mixture_checks as checks, tables
from .mixture_checks import JUMP, T_HIGH, T_LOW, grouped

# Heading, unit, field of SpeciesData (None: pc Vc/(R Tc)), divisor to the unit, digits.
CONSTANTS = (
    ("W", "g/mol", "W", 1e-3, ".4f"),
    ("Tc", "K", "Tc", 1.0, ".3f"),
    ("pc", "bar", "pc", 1e5, ".3f"),
    ("omega", "-", "omega", 1.0, ".4f"),
    ("Vc", "cm3/mol", "Vc", 1e-6, ".2f"),
    ("Zc", "-", None, 1.0, ".4f"),
    ("dipole", "debye", "dipole", 1.0, ".3f"),
    ("assoc.", "-", "kappa_assoc", 1.0, ".3f"),
    ("sigma", "A", "diameter", 1e-10, ".3f"),
    ("eps/k", "K", "well_depth", 1.0, ".1f"),
    ("polariz.", "A3", "polarizability", 1e-30, ".2f"),
    ("Z_rot", "-", "rotational_relaxation", 1.0, ".1f"),
    ("Fuller", "-", "fuller_volume", 1.0, ".2f"),
    ("shift c", "cm3/mol", "volume_translation", 1e-6, ".3f"),
    ("Z_RA", "-", "Z_RA", 1.0, ".4f"),
    ("liquid", "kg/m3", "liquid_density", 1.0, ".2f"),
    ("at", "K", "liquid_T", 1.0, ".3f"),
    ("and", "bar", "liquid_p", 1e5, ".4g"),
)
ONE_PHASE = (
    "one phase at every point (phases single): below the critical point a liquid or a gas, never both",
    "inside the two-phase region of a mixture the result is a single phase that would split; phase_flag 3: unstable",
    "option phases = equilibrium computes vapour and liquid",
)
ROOTS = {
    "gibbs": "root gibbs: the stable root of T and p; rho, h and cp of a pure fluid jump where it boils",
    "vapour": "root vapour: the gas wherever the equation has one, also below its boiling point",
    "liquid": "root liquid: the liquid wherever the equation has one, also above its boiling point",
}


def species_table(species) -> list[str]:
    """Lines of a table of constants, a line for each species. `-`: unknown; `*`: not in the file, origin below."""
    # Columns that some species has, with a heading and a unit.
    columns = []
    for column in CONSTANTS:
        field = column[2]
        if field is None or np.isfinite(getattr(species, field)).any():
            columns.append(column)

    head = [["species"], [""]]
    for heading, unit, *_ in columns:
        head[0].append(heading)
        head[1].append(f"[{unit}]")

    # Values.
    Zc = species.pc * species.Vc / (species.R * species.Tc)
    cells = []
    for s, name in enumerate(species.names):
        row = [name]
        for _, _, field, by, digits in columns:
            value = Zc[s] if field is None else getattr(species, field)[s]
            star = "*" if field in species.origin.get(name, {}) else ""
            row.append(f"{value / by:{digits}}{star}" if np.isfinite(value) else "-")

        cells.append(row)

    return tables.aligned([*head, *cells])


def origins(species) -> list[str]:
    """Lines on the origin of the numbers: first of numbers that are not in the file, then the notes of the file."""
    out = []
    for name in species.names:
        fields_by_origin: dict[str, list[str]] = {}
        for field, text in species.origin.get(name, {}).items():
            fields_by_origin.setdefault(text, []).append(field)
        for text, fields in fields_by_origin.items():
            out.append((name, f"{', '.join(fields)}: {text}"))

    for name in species.names:
        for block, note in species.sources.get(name, {}).items():
            out.append((name, f"{block}: {note}"))

    return grouped(out)


def binaries(species) -> list[str]:
    """A line on k_ij: the largest values with their pairs. Empty for a single species."""
    pairs = []
    for i in range(species.ns):
        for j in range(i):
            pairs.append((species.kij[i, j], f"{species.names[i]}/{species.names[j]}"))

    if not pairs:
        return []

    nonzero = sorted([pair for pair in pairs if pair[0]], key=lambda pair: -abs(pair[0]))
    if not nonzero:
        return ["k_ij = 0 for every pair"]

    shown = [f"{name} {k:.4g}" for k, name in nonzero[:12]]
    if len(nonzero) > 12:
        shown.append("...")

    return [f"k_ij of {len(nonzero)} of {len(pairs)} pairs: {', '.join(shown)}"]


def below_critical(options) -> list[str]:
    """Lines on what results are below the critical point."""
    if options["equation"] == "ideal":
        return ["an ideal gas: it never condenses, whatever T and p"]
    if options["phases"] == "equilibrium":
        return ["vapour and liquid in equilibrium, two phases at most; no solids"]
    return [*ONE_PHASE[:1], ROOTS[options["root"]], *ONE_PHASE[1:]]


def report(mixture) -> str:
    """All tables and warnings of a mixture, as text."""
    species = mixture.species

    covered = [f"polynomials meet within {JUMP:g} and cover {T_LOW:g} to {T_HIGH:g} K"]
    consistent = ["critical, Lennard-Jones and polar constants are consistent"]
    units = (
        "SI inside (kg, m, s, K, mol); the file's units are converted by its `units` entry and by units at single "
        f"numbers; reference pressure of entropies {species.p_ref:g} Pa; diffusion fitted from "
        f"{species.T_fit[0]:g} to {species.T_fit[1]:g} K"
    )

    # (title, lines); a block without lines is left out.
    blocks = [
        ("species constants (*: not in the file; Vc -: the model's own is used)", species_table(species)),
        ("origin of the constants", origins(species) or ["the file, without further notes"]),
        ("binary interaction", binaries(species)),
        ("ideal gas", checks.polynomial_checks(species) or covered),
        ("consistency", checks.constant_checks(species) or consistent),
        ("reactions", checks.reaction_checks(species)),
        ("below the critical point", below_critical(mixture.options)),
        ("where formulas change", checks.alpha_zeros(mixture) + checks.poles(mixture)),
        ("units", [units]),
    ]

    out = []
    for title, lines in blocks:
        if lines:
            out.append(f"\n{title}")
            out += [f"  {line}" for line in lines]

    return "\n".join(out)
