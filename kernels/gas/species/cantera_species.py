"""The fields of a species from its entry in a file of Cantera's format: composition, polynomials, critical properties,
transport data, notes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import NamedTuple

from ...engine.errors import MixtureError, refuse
from . import critical as substances
from .cantera_eos import PENG_ROBINSON, RK, eos_of, rk_critical
from .cantera_thermo import read_thermo
from .critical import Clues, Unusable, filled, solid
from .fields import OMEGA_A, OMEGA_B, ONE_ATM

# Models of equation-of-state for liquids and solids.
CONDENSED = (
    "constant-volume",
    "density-temperature-polynomial",
    "molar-volume-temperature-polynomial",
    "HKFT",
    "liquid-water-IAPWS95",
)
CRITICAL_VOLUMES = (1e-5, 1e-2)  # smallest and largest critical volume of a molecule [m3/mol]
GEOMETRY = {"atom": 0, "linear": 1, "nonlinear": 2}
ANGSTROM = 1e-10
# Key in `real-gas`: field of SpeciesData, and three numbers as arguments of Node.number: key, unit, default.
MEASURED = {
    "sutherland": ("sutherland", (("viscosity", "Pa*s"), ("temperature", "K"), ("constant", "K"))),
    "power-law": ("power_law", (("viscosity", "Pa*s"), ("temperature", "K"), ("exponent", "1"))),
    "liquid-density": ("liquid", (("temperature", "K"), ("pressure", "Pa", ONE_ATM), ("density", "kg/m^3"))),
}
# Keys of the maps of a species, and of these.
SPECIES = "name composition thermo transport equation-of-state critical-parameters real-gas sites units note".split()
TRANSPORT = (
    "model geometry diameter well-depth dipole polarizability rotational-relaxation acentric-factor "
    "dispersion-coefficient quadrupole-polarizability units note"
).split()
CRITICAL_POINT = (
    "critical-temperature critical-pressure critical-molar-volume critical-compressibility acentric-factor "
    "volume-translation rackett-compressibility units note source"
).split()
# Key in `critical-parameters`, field of SpeciesData, unit.
CRITICAL = (("critical-temperature", "Tc", "K"), ("critical-pressure", "pc", "Pa"), ("acentric-factor", "omega", "1"))


class Needs(NamedTuple):
    """The critical properties that an equation of state needs, and where they may come from."""

    model: str  # of the maps equation-of-state that are read
    optional: bool  # whether species may lack them: an ideal gas, or a and b of Redlich-Kwong
    choices: Mapping | None  # {species: choice} for a look-up of missing ones, see critical.py; None: they are an error

    @property
    def ideal(self) -> bool:
        """Whether nothing is read of them: an ideal gas."""
        return self.optional and self.model == PENG_ROBINSON


def species_row(node, elements, needs: Needs):
    """The fields of a species for SpeciesData.from_arrays, with name, p_ref, sources and origin.

    Raises Unusable for a species that is no gas molecule, MixtureError for its data.
    """
    node.spelt(*SPECIES)
    name, composition = node.data["name"], node.child("composition", "a map of elements")
    _refuse_condensed(node, name, composition)
    if not needs.optional:
        _refuse_electron(composition)

    # Molar mass [kg/mol] and polynomials.
    row: dict = {"name": name, "W": elements.mass(composition) * 1e-3}
    row |= read_thermo(node.child("thermo", "NASA7 polynomials"))

    # Critical properties.
    extra = node.child("real-gas")
    extra.only("substance", "association-factor", "diffusion-volume", *MEASURED, "note")
    row |= _critical_of(node, needs, extra, composition)

    # Transport data.
    row |= _transport(node, None if math.isnan(row["omega"]) else row["omega"])
    if needs.choices is not None and not node.has("transport") and not math.isnan(row["omega"]):
        absent, origin = substances.transport(name, composition.data, row)
        row |= absent | {"origin": row["origin"] | origin}

    # Numbers of the map `real-gas`.
    for key, (field, numbers) in MEASURED.items():
        row[field] = _measured(extra, key, numbers)
    row["kappa_assoc"] = extra.number("association-factor", default=0.0)
    row["fuller_volume"] = extra.number("diffusion-volume", default=math.nan)

    row["sources"] = _sources(node)
    return row


def _critical_of(node, needs: Needs, extra, composition) -> dict:
    """The critical properties of a species; nan where it may lack them and they are incomplete or cannot be read. See
    `_critical`."""
    # The file may name the substance; the caller's choice counts more.
    choices = None
    if needs.choices is not None:
        of_file = {}
        if extra.has("substance"):
            of_file[node.data["name"]] = extra.text("substance", "a CAS number, or 'estimate'")
        choices = of_file | dict(needs.choices)

    try:
        row = _critical(node, needs.model, choices, composition.data)
    except MixtureError:
        if choices is not None or not needs.ideal:
            raise
    else:
        chosen = node.data["name"] in (needs.choices or ())
        said = "critical: a choice came for this species, whose critical properties the file has; wanted one of them."
        node.refuse(chosen and not row["origin"], said)
        return row

    return dict.fromkeys(("Tc", "pc", "omega", "Vc", "volume_translation", "Z_RA"), math.nan) | {"origin": {}}


def _sources(node) -> dict[str, str]:
    """{block: note} of a species, for people."""
    sources = {}
    for block in ("thermo", "critical-parameters", "transport", "equation-of-state", "real-gas"):
        part = node.data.get(block)
        if isinstance(part, dict) and (note := part.get("note") or part.get("source")):
            sources[block] = str(note).strip()

    if node.has("note"):
        sources["species"] = str(node.data["note"]).strip()
    return sources


def _refuse_electron(composition):
    """Raises Unusable for the electron, which has no critical point."""
    refuse(set(composition.data) == {"E"}, "the electron, no molecule: it needs equation = 'ideal'", Unusable)


def _refuse_condensed(node, name, composition):
    """Raises Unusable for liquids, solids and surface species."""
    condensed = [model for model in CONDENSED if eos_of(node, model).data]
    if node.has("sites"):
        condensed.append("sites")
    reason = condensed[0] if condensed else solid(name, composition.data)
    refuse(reason, f"no gas ({reason})", Unusable)


def _measured(extra, key, numbers):
    """Three numbers of a viscosity law or a measured state; nan if the species has none."""
    if not extra.has(key):
        return [math.nan] * 3
    block = extra.child(key)
    block.only(*(name for name, *_ in numbers), "note")
    return [block.number(*number) for number in numbers]


def _critical(node, model, choices, composition):
    """{Tc [K], pc [Pa], omega, Vc [m3/mol] (measured), volume_translation [m3/mol], Z_RA, origin} of a species.

    A complete equation-of-state takes precedence over critical-parameters. All species get Tc and pc; a and b follow
    from them up to the last bits.
    choices: {species: choice}: missing numbers are looked up or estimated; None: they are an error.
    """
    eos = eos_of(node, model)
    critical = node.child("critical-parameters")
    critical.spelt(*CRITICAL_POINT)

    translation = critical.number("volume-translation", "m^3/kmol", math.nan)
    row = {
        "Vc": _critical_volume(critical),
        "volume_translation": eos.number("volume-translation", "m^3/kmol", translation) * 1e-3,
        "Z_RA": critical.number("rackett-compressibility", default=math.nan),
        "origin": {},
    }

    given = [key for key in ("a", "b", "acentric-factor") if eos.has(key)]
    if model == RK and {"a", "b"} <= set(given):
        row["Tc"], row["pc"] = rk_critical(eos)
        row["omega"] = critical.number("acentric-factor", default=math.nan)
    elif len(given) == 3 or (given and not node.has("critical-parameters")):
        row["Tc"], row["pc"], row["omega"] = _peng_robinson_critical(eos, node.units.R)
    elif choices is not None and not all(critical.has(key) for key, *_ in CRITICAL):
        _fill_critical(node, row, critical, choices, composition)
    elif not node.has("critical-parameters"):
        node.fail(
            "critical-parameters is missing, wanted critical-temperature, critical-pressure and acentric-factor "
            f"(or a, b and acentric-factor in an equation-of-state of model {PENG_ROBINSON}). "
            "The option critical = fill looks them up or estimates them; equation = ideal needs none"
            + ("; equation = rk takes the Redlich-Kwong a and b." if eos_of(node, RK).data else ".")
        )
    else:
        row["Tc"] = critical.positive("critical-temperature", "K")
        row["pc"] = critical.positive("critical-pressure", "Pa")
        row["omega"] = critical.number("acentric-factor", default=math.nan if model == RK else None)

    return row


def _peng_robinson_critical(eos, R: float) -> tuple[float, float, float]:
    """(Tc [K], pc [Pa], omega) from a, b and the acentric factor of an equation-of-state."""
    a = eos.positive("a", "Pa*m^6/kmol^2") * 1e-6
    b = eos.positive("b", "m^3/kmol") * 1e-3
    omega = eos.number("acentric-factor")

    Tc = a * OMEGA_B / (b * OMEGA_A * R)
    return Tc, OMEGA_B * R * Tc / b, omega


def _fill_critical(node, row, critical, choices, composition):
    """Adds critical properties to a row: those of the file, and looked up or estimated values for the others."""
    # The file's numbers.
    known = {field: critical.number(key, unit) for key, field, unit in CRITICAL if critical.has(key)}
    for field in ("Vc", "Z_RA"):
        if row[field] > 0:
            known[field] = row[field]

    # Values for the others.
    transport, name, eos = _transport(node), node.data["name"], eos_of(node, RK)
    clues = Clues(
        diameter=transport["diameter"],
        well_depth=transport["well_depth"],
        rk=rk_critical(eos) if eos.has("a") and eos.has("b") else None,
    )
    absent, origin = filled(node.where, name, composition, clues, choices.get(name))

    row |= absent | known
    row["origin"] = {field: text for field, text in origin.items() if field not in known}


def _critical_volume(critical):
    """critical-molar-volume [m3/mol]; nan if there is none.

    A number without a unit is in the units of the file. If this gives no possible critical volume, the number is in
    m3/kmol: files in other units have copied such numbers from Cantera's data base. Cantera does not read them.
    """
    key, unit = "critical-molar-volume", "m^3/kmol"
    volume = critical.number(key, unit, math.nan) * 1e-3
    if isinstance(critical.data.get(key), str) or math.isnan(volume):
        return volume

    copied = critical.data[key] * 1e-3
    low, high = CRITICAL_VOLUMES
    critical.refuse(
        not (low <= volume <= high or low <= copied <= high),
        f"{key}: got {critical.data[key]:g}, which is {volume:g} m3/mol in the file's units; wanted {low:g} to "
        f"{high:g} m3/mol, or a number with its unit, such as 98.6 cm^3/mol.",
    )
    return volume if low <= volume <= high else copied


def _transport(node, omega=None):
    """Transport data of a species with Cantera's defaults: an absent number is 0. nan without the block `transport`, or
    for a diameter or a well depth that it lacks: a law that reads these refuses the species.

    omega: acentric factor of the equation of state. A warning says if the block has another acentric factor.
    """
    if not node.has("transport"):
        unknown = ("diameter", "well_depth", "dipole", "polarizability", "rotational_relaxation")
        return {"geometry": -1} | dict.fromkeys(unknown, math.nan)

    block = node.child("transport")
    block.spelt(*TRANSPORT)
    block.choice("model", ["gas"], "'gas'")
    if omega is not None and block.has("acentric-factor") and abs(block.number("acentric-factor") - omega) > 1e-12:
        warnings.warn(
            f"{block.where}: acentric-factor {block.data['acentric-factor']} differs from {omega:g} of the "
            "equation of state, which is used for all models (Cantera uses each in its own model).",
            stacklevel=5,
        )

    return {
        "geometry": GEOMETRY[block.choice("geometry", GEOMETRY, "atom, linear or nonlinear")],
        "diameter": block.number("diameter", default=math.nan) * ANGSTROM,
        "well_depth": block.number("well-depth", default=math.nan),
        "dipole": block.number("dipole", default=0.0),
        "polarizability": block.number("polarizability", default=0.0) * ANGSTROM**3,
        "rotational_relaxation": block.number("rotational-relaxation", default=0.0),
    }
