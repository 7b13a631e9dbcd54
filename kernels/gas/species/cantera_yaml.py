"""Reads a gas phase of a Cantera YAML file into SpeciesData: Peng-Robinson, Redlich-Kwong or ideal gas.

The caller chooses the equation of state; the phase's `thermo` does not.

A file that does not exist is looked for in the data folder of Cantera, if Cantera is installed (`gri30.yaml`).
The phase's `species` may be names, `all`, or {section or otherfile.yaml/section: names or all}, where the other file
lies beside this one, or in that folder. Electrons and solids are refused by name. Of each species are read:
  `composition`; `thermo` (cantera_thermo.py); `transport` (gas); `critical-parameters`;
  `equation-of-state`: Peng-Robinson (a, b, acentric-factor, binary-a) or Redlich-Kwong (a0 or [a0, a1] with
  a = a0 + a1 T, b, binary-a).
The file's `units` and explicit units are taken into account. Atomic weights: cantera_elements.py.

These keys are ours; Cantera ignores them:
  in critical-parameters: `critical-molar-volume` (measured), `rackett-compressibility` (Z_RA of Rackett's equation);
  in equation-of-state or critical-parameters: `volume-translation` (Peneloux's c for the equation that is used);
  in a species a map `real-gas`: `substance` (its CAS number, for a look-up), `association-factor`, `diffusion-volume`,
  `liquid-density` (a map of temperature, pressure, density), `sutherland` (a map of viscosity, temperature, constant),
  `power-law` (a map of viscosity, temperature, exponent);
  in a phase a map `real-gas`: `diffusion-fit-range: [T_low, T_high]`; `fluids`, a table beside the file, such as
  `python -m frame fit` writes, with parameters of some of the species.

Cantera looks up missing critical properties in a data base by name. Here a missing number is an error, unless the
caller asks for a look-up or an estimate (choices, critical.py); SpeciesData.origin then says so for each number, and
one warning names the species that are estimated. Absent transport data are then estimated too.
"""

from __future__ import annotations

import dataclasses
import json
import warnings

import numpy as np

from ...engine.errors import closest
from .arrays import checked_kij
from .cantera_elements import read_elements
from .cantera_eos import IDEAL, PENG_ROBINSON, RK, binary, binary_rk
from .cantera_file import File, Node, cantera_data  # noqa: F401
from .cantera_reactions import ReactionText
from .cantera_species import Needs, species_row
from .cantera_thermo import polynomial_fields
from .critical import FROM, Unusable
from .data import SpeciesData
from .gas_constant import GAS_CONSTANT
from .heat_capacities import warn_of_large
from .names import Names, own_name
from .units import short as _short

GASES = (PENG_ROBINSON, RK, IDEAL)
# Keys of a phase: those of Cantera's gases, and `real-gas`.
PHASE = (
    "name thermo elements species kinetics reactions transport state real-gas rate-multipliers adjacent-phases "
    "skip-undeclared-elements skip-undeclared-third-bodies explicit-third-body-duplicates units note"
).split()


def gas_phases(path) -> list[tuple[str, str]]:
    """[(name, thermo model)] of the gas phases of a file; empty for a file without phases. Raises MixtureError."""
    phases = File(path).top.data.get("phases") or []

    gases = []
    for number, data in enumerate(phases, 1):
        if isinstance(data, dict) and data.get("thermo") in GASES:
            gases.append((_named(data, number), data["thermo"]))
    return gases


def models_for(equation: str) -> tuple[str, ...]:
    """The thermo models that a phase may have for this value of option `equation`."""
    return {"ideal": (IDEAL, PENG_ROBINSON), "rk": (RK, PENG_ROBINSON)}.get(equation, (PENG_ROBINSON,))


def read_cantera_yaml(path, phase=None, models=(PENG_ROBINSON,), without=(), choices=None, R=GAS_CONSTANT):
    """Reads one phase; returns (SpeciesData, phase name).

    phase: name; None: the first phase of the file whose thermo model is in `models`, else the first gas phase.
    models: thermo models for the equation of state, see `models_for`. If ideal-gas is the first, critical properties
    may be missing (nan).
    without: names of species to leave out.
    choices: {species: choice}, see critical.py: missing critical properties are looked up or estimated. None: they are
    an error.
    R: the molar gas constant, J/mol/K.

    Raises MixtureError with the file, the species or phase, the field, what was found and what was wanted.
    """
    # The phase and the entries of its species.
    file = File(path, R=R)
    node, name = _choose_phase(file, phase, models)
    entries = _species_of(file, node)
    without = [_own(node, name, entries) for name in without]
    if choices is not None:
        choices = {key if key == "*" else _own(node, key, entries): choice for key, choice in choices.items()}

    # The fields of each species. Redlich-Kwong needs no acentric factor.
    rk = node.data["thermo"] == RK == models[0]
    ideal = models[0] == IDEAL
    needs = Needs(model=RK if rk else PENG_ROBINSON, optional=ideal or rk, choices=choices)
    kept = [entry for entry in entries if entry.data["name"] not in without]
    rows, nodes, atoms = _species_rows(node, kept, read_elements(file, node), needs)

    # SpeciesData checks the fields, so that k_ij follows from valid a and b.
    bare = _checked(node, rows, str(path), R, needs.optional)
    left_out = tuple(entry.data["name"] for entry in entries if entry.data["name"] not in atoms)
    known = Names((*bare.names, *left_out))
    kij, rk_a = np.zeros((bare.ns, bare.ns)), None
    if rk:
        kij, rk_a = binary_rk(node, known, nodes, bare)
    elif not ideal:
        kij = binary(known, nodes, bare.a)

    # Reactions stay text until a rate is needed.
    reactions = None
    if node.has("kinetics"):
        reactions = ReactionText(file, node, bare.names, atoms, left_out)

    pairs: dict = dict(kij=checked_kij(bare.names, kij, str(path)), rk_a=rk_a)
    species = dataclasses.replace(bare, **pairs, reactions=reactions, atoms=atoms)
    if node.child("real-gas").has("fluids"):
        table = node.child("real-gas").text("fluids", "a file beside this one")
        species = species.with_fluids(file.path.parent / table)

    _warn_of_estimates(node, species)
    warn_of_large(species, node.where)
    return species, name


def _checked(phase, rows, where: str, R: float, without_critical: bool) -> SpeciesData:
    """Species data of the rows of the species, without pairs and reactions. Raises MixtureError."""
    columns = {field: [row[field] for row in rows] for field in rows[0]}
    names, p_ref = columns.pop("name"), set(columns.pop("p_ref"))
    phase.refuse(len(p_ref) > 1, f"species have different reference-pressure {sorted(p_ref)} Pa, wanted one for all.")

    sources = dict(zip(names, columns.pop("sources")))
    origin = dict(zip(names, columns.pop("origin")))

    species = SpeciesData.from_arrays(
        names,
        **polynomial_fields(columns.pop("polynomials")),
        **columns,
        p_ref=p_ref.pop(),
        gas_constant=R,
        T_fit=_fit_range(phase),
        without_critical=without_critical,
        of_atoms=True,
        where=where,
    )
    return dataclasses.replace(species, sources=sources, origin=origin)


def _own(phase, name, entries) -> str:
    """The file's name of a species to leave out or to choose. Raises MixtureError if it is not in the phase."""
    names = [entry.data["name"] for entry in entries]
    own = own_name(name, names)
    if own is None:
        phase.fail(f"no species {_short(name)} to leave out or choose{closest(name, names)}.")
    return str(own)


def _species_rows(phase, entries, elements, needs: Needs):
    """(rows, nodes, {species: {element: atoms}}) of the entries.

    Species with undeclared elements are left out if the phase
    says so. Raises a single MixtureError for all species that cannot be used.
    """
    rows, nodes, atoms = [], [], {}
    unusable = {}
    for entry in entries:
        name = entry.data["name"]
        composition = entry.child("composition", "a map of elements")
        if elements.leaves_out(composition):
            continue
        try:
            rows.append(species_row(entry, elements, needs))
        except Unusable as error:
            unusable[name] = str(error)
        else:
            nodes.append(entry)
            atoms[name] = {e: composition.number(e) for e in composition.data}

    _refuse_unusable(phase, unusable)
    phase.refuse(not rows, "has no species.")
    return rows, nodes, atoms


def _refuse_unusable(phase, unusable):
    """Raises MixtureError for {species: reason}, if any: a single message, with the remedies."""
    if not unusable:
        return

    # Species by reason.
    groups: dict = {}
    for name, reason in unusable.items():
        groups.setdefault(reason, []).append(repr(name))
    reasons = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in groups.items())

    # Remedies.
    remedy = f"To leave out: without={json.dumps([*unusable])}."
    lacks_data = [name for name, reason in unusable.items() if reason.endswith(FROM)]
    if lacks_data:
        numbers = '{"Tc": ..., "pc": ..., "omega": ...}'
        remedy += f" Or give numbers in K and Pa: critical={{{json.dumps(lacks_data[0])}: {numbers}}}."

    phase.fail(f"{reasons}. {remedy}")


def _warn_of_estimates(phase, species):
    """Warns once of all species whose critical properties are estimated."""
    estimated = species.estimated()
    if not estimated:
        return

    mask = [name in estimated for name in species.names]
    warnings.warn(
        f"{phase.where}: critical properties of {len(estimated)} of {species.ns} species are estimated, which is for "
        f"traces: {species.named(mask)}. `python -m frame info` and species.estimated() show rules and errors; "
        'critical={"NAME": "CAS number"} chooses a substance.',
        stacklevel=3,
    )


def _named(data, number):
    """The name of a phase for messages; `phase 2` for a phase without a name."""
    name = data.get("name") if isinstance(data, dict) else None
    return f"phase {number}" if name is None else str(name)


def _phases(file):
    """{name: Node} of the phases of a file. Raises MixtureError."""
    phases = {}
    for number, data in enumerate(file.top.items("phases", "a list of phases", least=1), 1):
        name = _named(data, number)
        node = Node(data, f"{file.path}: phase {number}", file.top.units)
        node.refuse(
            isinstance(data.get("name"), (dict, list, bool)) or not name,
            f"name: got {_short(data.get('name'))}, wanted the name of the phase.",
        )
        node.where = f"{file.path}: phase {_short(name)}"
        file.top.refuse(name in phases, f"phase {_short(name)} is defined more than once.")
        phases[name] = node
    return phases


def _choose_phase(file, wanted, models):
    """(Node, name) of the wanted phase, or of the first that fits the models. Raises MixtureError."""
    phases = _phases(file)
    known = ", ".join(map(repr, phases))
    wanted = None if wanted is None else str(wanted)
    file.top.refuse(wanted is not None and wanted not in phases, f"has no phase {wanted!r}, wanted one of {known}.")

    name = wanted if wanted is not None else _first_fitting(phases, models)
    node = phases[name]
    thermo = node.data.get("thermo")
    node.spelt(*PHASE)
    node.refuse(thermo not in GASES, f"thermo is {_short(thermo)}, wanted a gas: {', '.join(map(repr, GASES))}.")
    return node, name


def _first_fitting(phases, models):
    """Name of the first phase with one of the models, else of the first gas phase, else of the first phase."""
    for accepted in (models, GASES):
        for name, node in phases.items():
            if node.data.get("thermo") in accepted:
                return name
    return next(iter(phases))


def _species_of(file, phase):
    """The species entries [Node] of a phase, in the order of the phase."""
    chosen = phase.data.get("species", "all")
    if chosen == "all":
        chosen = [{"species": "all"}]
    good = isinstance(chosen, list) and chosen
    phase.refuse(not good, f"species: got {_short(chosen)}, wanted 'all' or a list.")
    sections: dict = {}
    out: dict = {}

    def pick(source, names):
        """Adds the entries of these names from `section` or `file/section`."""
        if source not in sections:
            folder, _, section = source.rpartition("/")
            where = file.beside(folder) if folder else file
            sections[source] = where.section(section)
        available = sections[source]

        if names == "all":
            names = list(available)
        text = f"species: {source}: got {_short(names)}, wanted 'all' or a list of names."
        phase.refuse(not isinstance(names, list), text)

        for name in names:
            known = isinstance(name, str) and name in available
            phase.refuse(not known, f"species {_short(name)} is not defined in section {source!r}.")
            phase.refuse(name in out, f"species {_short(name)} is listed more than once.")
            out[name] = available[name]

    for item in chosen:
        if isinstance(item, dict):
            for source, names in item.items():
                pick(str(source), names)
        else:
            pick("species", [item])
    return list(out.values())


def _fit_range(phase):
    """diffusion-fit-range of a phase, (T_low, T_high) [K]; None if there is none."""
    key, wanted = "diffusion-fit-range", "two temperatures in K"
    if not phase.has("real-gas"):
        return None

    block = phase.child("real-gas")
    block.only(key, "fluids", "note")
    if not block.has(key):
        return None
    return tuple(block.finite(key, T, wanted) for T in block.items(key, wanted, 2, 2))
