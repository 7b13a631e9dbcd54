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
  in a species a map `real-gas`: `substance` (its CAS number, for fill), `association-factor`, `diffusion-volume`,
  `liquid-density` (a map of temperature, pressure, density), `sutherland` (a map of viscosity, temperature, constant),
  `power-law` (a map of viscosity, temperature, exponent);
  in a phase a map `real-gas`: `diffusion-fit-range: [T_low, T_high]`; `fluids`, a table beside the file, such as
  `python -m frame fit` writes, with parameters of some of the species.

Cantera looks up missing critical properties in a data base by name. Here a missing number is an error, unless the
caller asks for a look-up or an estimate (fill=True, critical.py); SpeciesData.origin then says so for each number, and
one warning names the species that are estimated. Absent transport data are then estimated too.
"""

from __future__ import annotations

import dataclasses
import json
import math
import warnings

import numpy as np

from ...engine.errors import closest, refuse
from . import critical as substances
from .arrays import checked_kij
from .cantera_elements import read_elements
from .cantera_file import File, Node, cantera_data  # noqa: F401
from .cantera_reactions import ReactionText
from .cantera_thermo import polynomial_fields, read_thermo
from .critical import FROM, Unusable, filled, solid
from .data import SpeciesData
from .fields import OMEGA_A, OMEGA_B, ONE_ATM
from .gas_constant import GAS_CONSTANT
from .names import Names
from .units import short as _short

MODEL, RK, IDEAL = "Peng-Robinson", "Redlich-Kwong", "ideal-gas"
# Models of equation-of-state for liquids and solids.
CONDENSED = (
    "constant-volume",
    "density-temperature-polynomial",
    "molar-volume-temperature-polynomial",
    "HKFT",
    "liquid-water-IAPWS95",
)
CRITICAL_VOLUMES = (1e-5, 1e-2)  # smallest and largest critical volume of a molecule [m3/mol]
RK_A = ("Pa*m^6/kmol^2*K^0.5", "Pa*m^6/kmol^2/K^0.5")  # units of a0, a1
RK_OMEGA_A, RK_OMEGA_B = 1 / (9 * (2 ** (1 / 3) - 1)), (2 ** (1 / 3) - 1) / 3
GEOMETRY = {"atom": 0, "linear": 1, "nonlinear": 2}
ANGSTROM = 1e-10
# Key in `real-gas`: field of SpeciesData, and three numbers as arguments of Node.number: key, unit, default.
MEASURED = {
    "sutherland": ("sutherland", (("viscosity", "Pa*s"), ("temperature", "K"), ("constant", "K"))),
    "power-law": ("power_law", (("viscosity", "Pa*s"), ("temperature", "K"), ("exponent", "1"))),
    "liquid-density": ("liquid", (("temperature", "K"), ("pressure", "Pa", ONE_ATM), ("density", "kg/m^3"))),
}
# Key in `critical-parameters`, field of SpeciesData, unit.
CRITICAL = (("critical-temperature", "Tc", "K"), ("critical-pressure", "pc", "Pa"), ("acentric-factor", "omega", "1"))


GASES = (MODEL, RK, IDEAL)


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
    return {"ideal": (IDEAL, MODEL), "rk": (RK, MODEL)}.get(equation, (MODEL,))


def read_cantera_yaml(path, phase=None, fill=False, models=(MODEL,), without=(), choices=None, R=GAS_CONSTANT):
    """Reads one phase; returns (SpeciesData, phase name).

    phase: name; None: the first phase of the file whose thermo model is in `models`, else the first gas phase.
    fill: look up or estimate missing critical properties.
    models: thermo models for the equation of state, see `models_for`. If ideal-gas is the first, critical properties
    may be missing (nan).
    without: names of species to leave out.
    choices: {species: choice} for `fill`, see critical.py.
    R: the molar gas constant, J/mol/K.

    Raises MixtureError with the file, the species or phase, the field, what was found and what was wanted.
    """
    # The phase and the entries of its species.
    file = File(path, R=R)
    node, name = _choose_phase(file, phase, models)
    entries = _species_of(file, node)
    choices = choices or {}
    _refuse_unknown(node, [*without, *(key for key in choices if key != "*")], entries)

    # The fields of each species. Redlich-Kwong needs no acentric factor.
    rk = node.data["thermo"] == RK == models[0]
    ideal = models[0] == IDEAL or rk

    def row_of(entry, elements):
        return _species_row(entry, elements, choices if fill else None, ideal, RK if rk else MODEL)

    kept = [entry for entry in entries if entry.data["name"] not in without]
    rows, nodes, atoms = _species_rows(node, kept, read_elements(file, node), row_of)

    columns = {field: [row[field] for row in rows] for field in rows[0]}
    names, p_ref = columns.pop("name"), set(columns.pop("p_ref"))
    node.refuse(len(p_ref) > 1, f"species have different reference-pressure {sorted(p_ref)} Pa, wanted one for all.")

    # SpeciesData checks the fields, so that k_ij follows from valid a and b.
    bare = SpeciesData.from_arrays(
        names,
        **polynomial_fields(columns.pop("polynomials")),
        sources=dict(zip(names, columns.pop("sources"))),
        origin=dict(zip(names, columns.pop("origin"))),
        **columns,
        p_ref=p_ref.pop(),
        gas_constant=R,
        T_fit=_fit_range(node),
        without_critical=ideal,
        of_atoms=True,
        where=str(path),
    )

    left_out = tuple(entry.data["name"] for entry in entries if entry.data["name"] not in atoms)
    known = Names((*names, *left_out))
    kij, rk_a = _pair_matrices(node, known, nodes, bare, rk, models)

    # Reactions stay text until a rate is needed.
    reactions = None
    if node.has("kinetics"):
        reactions = ReactionText(file, node, tuple(names), atoms, left_out)

    pairs: dict = dict(kij=checked_kij(names, kij, str(path)), rk_a=rk_a)
    species = dataclasses.replace(bare, **pairs, reactions=reactions, atoms=atoms)
    if node.child("real-gas").has("fluids"):
        table = node.child("real-gas").text("fluids", "a file beside this one")
        species = species.with_fluids(file.path.parent / table)
    _warn_of_estimates(node, species)
    return species, name


def _pair_matrices(phase, known, nodes, data, rk, models):
    """(k_ij (ns, ns), a_ij (2, ns, ns) or None) of the equation of state; zero and None for an ideal gas."""
    if models[0] == IDEAL:
        return np.zeros((len(nodes), len(nodes))), None
    if rk:
        return _binary_rk(phase, known, nodes, data)
    return _binary(known, nodes, data.a), None


def _refuse_unknown(phase, wanted, entries):
    """Raises MixtureError if a species to leave out or to choose is not in the phase."""
    names = [entry.data["name"] for entry in entries]
    for name in wanted:
        phase.refuse(name not in names, f"no species {_short(name)} to leave out or choose{closest(name, names)}.")


def _species_rows(phase, entries, elements, row_of):
    """(rows, nodes, {species: {element: atoms}}) of the entries.

    row_of(entry, elements) returns the row of a species. Species with undeclared elements are left out if the phase
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
            rows.append(row_of(entry, elements))
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
    file.top.refuse(wanted is not None and wanted not in phases, f"has no phase {wanted!r}, wanted one of {known}.")

    name = wanted if wanted is not None else _first_fitting(phases, models)
    node = phases[name]
    thermo = node.data.get("thermo")
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


def _species_row(node, elements, choices, ideal, model):
    """The fields of a species for SpeciesData.from_arrays, with name, p_ref, sources and origin.

    choices: {species: choice} for missing critical properties; None: a missing property is an error. ideal: critical
    properties may be missing. model: model of equation-of-state to read. Raises Unusable for a species that is no gas
    molecule, MixtureError for its data.
    """
    name, composition = node.data["name"], node.child("composition", "a map of elements")
    _refuse_condensed(node, name, composition)
    if not ideal:
        _refuse_electron(composition)

    # Molar mass [kg/mol] and polynomials.
    row = {"name": name, "sources": {}, "W": elements.mass(composition) * 1e-3}
    row |= read_thermo(node.child("thermo", "NASA7 polynomials"))

    # Critical properties.
    extra = node.child("real-gas")
    extra.only("substance", "association-factor", "diffusion-volume", *MEASURED, "note")
    if ideal and model == MODEL and choices is None and not _eos(node).data and not node.has("critical-parameters"):
        critical: dict = dict.fromkeys(("Tc", "pc", "omega", "Vc", "volume_translation", "Z_RA"), math.nan)
        critical["origin"] = {}
    else:
        choice_of_file = {}
        if extra.has("substance"):
            choice_of_file[name] = extra.text("substance", "a CAS number, or 'estimate'")
        critical = _critical(node, model, None if choices is None else choice_of_file | choices, composition.data)
    row |= critical

    # Transport data.
    row |= _transport(node, None if math.isnan(critical["omega"]) else critical["omega"])
    if choices is not None and not node.has("transport") and not math.isnan(row["omega"]):
        absent, origin = substances.transport(name, composition.data, row)
        row |= absent | {"origin": row["origin"] | origin}

    # Numbers of the map `real-gas`.
    for key, (field, numbers) in MEASURED.items():
        row[field] = _measured(extra, key, numbers)
    row["kappa_assoc"] = extra.number("association-factor", default=0.0)
    row["fuller_volume"] = extra.number("diffusion-volume", default=math.nan)

    # Notes and sources, for people.
    for block in ("thermo", "critical-parameters", "transport", "equation-of-state", "real-gas"):
        part = node.data.get(block)
        if isinstance(part, dict) and (note := part.get("note") or part.get("source")):
            row["sources"][block] = str(note).strip()
    if node.has("note"):
        row["sources"]["species"] = str(node.data["note"]).strip()
    return row


def _refuse_electron(composition):
    """Raises Unusable for the electron, which has no critical point."""
    refuse(set(composition.data) == {"E"}, "the electron, no molecule: it needs equation = 'ideal'", Unusable)


def _refuse_condensed(node, name, composition):
    """Raises Unusable for liquids, solids and surface species."""
    condensed = [model for model in CONDENSED if _eos(node, model).data]
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


def _eos(node, model=MODEL):
    """The equation-of-state map of a species for this model; an empty map if there is none."""
    models = node.data.get("equation-of-state")
    if models is None:
        models = []
    elif not isinstance(models, list):
        models = [models]

    for data in models:
        block = Node(data, f"{node.where}: equation-of-state", node.units)
        if block.data.get("model") == model:
            return block
    return Node({}, node.where, node.units)


def _critical(node, model, choices, composition):
    """{Tc [K], pc [Pa], omega, Vc [m3/mol] (measured), volume_translation [m3/mol], Z_RA, origin} of a species.

    A complete equation-of-state takes precedence over critical-parameters. All species get Tc and pc; a and b follow
    from them up to the last bits.
    choices: {species: choice}: missing numbers are looked up or estimated; None: they are an error.
    """
    eos, critical = _eos(node, model), node.child("critical-parameters")
    translation = critical.number("volume-translation", "m^3/kmol", math.nan)
    row = {
        "Vc": _critical_volume(critical),
        "volume_translation": eos.number("volume-translation", "m^3/kmol", translation) * 1e-3,
        "Z_RA": critical.number("rackett-compressibility", default=math.nan),
        "origin": {},
    }

    given = [key for key in ("a", "b", "acentric-factor") if eos.has(key)]
    if model == RK and {"a", "b"} <= set(given):
        row["Tc"], row["pc"] = _rk_critical(eos)
        row["omega"] = critical.number("acentric-factor", default=math.nan)
    elif len(given) == 3 or (given and not node.has("critical-parameters")):
        a, b = eos.positive("a", "Pa*m^6/kmol^2") * 1e-6, eos.positive("b", "m^3/kmol") * 1e-3
        row["omega"] = eos.number("acentric-factor")
        row["Tc"] = a * OMEGA_B / (b * OMEGA_A * node.units.R)
        row["pc"] = OMEGA_B * node.units.R * row["Tc"] / b
    elif choices is not None and not all(critical.has(key) for key, *_ in CRITICAL):
        _fill_critical(node, row, critical, choices, composition)
    elif not node.has("critical-parameters"):
        node.fail(
            "critical-parameters is missing, wanted critical-temperature, critical-pressure and acentric-factor "
            f"(or a, b and acentric-factor in an equation-of-state of model {MODEL}). The option critical = fill looks "
            "them up or estimates them; equation = ideal needs none"
            + ("; equation = rk takes the Redlich-Kwong a and b." if _eos(node, RK).data else ".")
        )
    else:
        row["Tc"] = critical.positive("critical-temperature", "K")
        row["pc"] = critical.positive("critical-pressure", "Pa")
        row["omega"] = critical.number("acentric-factor", default=math.nan if model == RK else None)
    return row


def _fill_critical(node, row, critical, choices, composition):
    """Adds critical properties to a row: those of the file, and looked up or estimated values for the others."""
    # The file's numbers.
    known = {field: critical.number(key, unit) for key, field, unit in CRITICAL if critical.has(key)}
    for field in ("Vc", "Z_RA"):
        if row[field] > 0:
            known[field] = row[field]

    # Values for the others.
    transport, name, eos = _transport(node), node.data["name"], _eos(node, RK)
    absent, origin = filled(
        node.where,
        name,
        composition,
        transport["diameter"],
        transport["well_depth"],
        choice=choices.get(name),
        rk=_rk_critical(eos) if eos.has("a") and eos.has("b") else None,
    )

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


def _rk_a(block, key):
    """(a0 [Pa m6 K^0.5/mol2], a1 [Pa m6/K^0.5/mol2]) from a number a0 or a list [a0, a1]; a1 is 0 by default."""
    value = block.need(key, "a number or [a0, a1]")
    parts = value if isinstance(value, list) else [value]
    block.refuse(len(parts) not in (1, 2), f"{key}: got {_short(value)}, wanted a number or [a0, a1].")

    a = [0.0, 0.0]
    for k, part in enumerate(parts):
        try:
            a[k] = block.units.convert(part, RK_A[k]) * 1e-6
        except ValueError as error:
            block.fail(f"{key}: {error}.")
    return tuple(a)


def _rk_critical(eos):
    """Critical point (Tc [K], pc [Pa]) of p = R T/(v - b) - (a0 + a1 T)/(sqrt(T) v (v + b)).

    Tc solves a0 + a1 Tc = k Tc^1.5 with k = (Omega_a/Omega_b) R b.
    """
    a0, a1 = _rk_a(eos, "a")
    eos.refuse(not a0 > 0, f"a: got {_short(eos.data['a'])}, wanted a positive number.")
    b = eos.positive("b", "m^3/kmol") * 1e-3
    k = RK_OMEGA_A / RK_OMEGA_B * eos.units.R * b

    Tc = (a0 / k) ** (2 / 3)
    if a1:
        # Newton's method on a convex function, from above the root: every step comes closer.
        Tc = 4 * max(Tc, (a1 / k) ** 2)
        for _ in range(60):
            Tc -= (k * Tc**1.5 - a1 * Tc - a0) / (1.5 * k * Tc**0.5 - a1)

    return Tc, RK_OMEGA_B * eos.units.R * Tc / b


def _binary_rk(phase, known, nodes, data):
    """(k_ij (ns, ns), a_ij (2, ns, ns)) of a Redlich-Kwong phase. a_ij is None unless some a depends on T.

    Cross terms follow Cantera: sqrt(a0_i a0_j), sqrt(a1_i a1_j), or binary-a.
    """
    names, ns = data.names, len(nodes)

    # a0 and a1 of the pure species: from the file, else from Tc and pc.
    pure = np.zeros((2, ns))
    pure[0] = RK_OMEGA_A * data.R**2 * data.Tc**2.5 / data.pc
    for s, node in enumerate(nodes):
        eos = _eos(node, RK)
        if eos.has("a") and eos.has("b"):
            pure[:, s] = _rk_a(eos, "a")

    # Pairs.
    with np.errstate(invalid="ignore"):
        a = np.sqrt(pure[:, :, None] * pure[:, None])
    a[:, range(ns), range(ns)] = pure
    for i, j, value in _pairs(known, nodes, RK, _rk_a):
        a[:, i, j] = a[:, j, i] = value
    for i, j in np.argwhere(np.isnan(a[1])):
        phase.fail(
            f"a1 of {names[i]!r} and {names[j]!r} have different signs, of which there is no square root: wanted a "
            "binary-a."
        )

    if a[1].any():
        return np.zeros((ns, ns)), a
    return 1 - a[0] / np.sqrt(pure[0][:, None] * pure[0]), None


def _pairs(known, nodes, model, read):
    """Yields (i, j, value) for each binary-a. Either species of a pair may have it.

    known: Names of the phase. read(node, name): value of a key. Pairs with a species that the mixture leaves out are
    skipped. Raises MixtureError if both species have a binary-a, with different values.
    """
    found: dict = {}
    index = {node.data["name"]: s for s, node in enumerate(nodes)}
    for i, node in enumerate(nodes):
        pairs = _eos(node, model).child("binary-a")
        for other in [key for key in pairs.data if key != "units"]:
            name = known.find(other)
            pairs.refuse(name is None, known.absent(other))
            pairs.refuse(name == node.data["name"], "names the species itself, wanted another one.")
            if name not in index:
                continue

            j = index[name]
            value = read(pairs, other)
            got = ", ".join(f"{number:g}" for number in np.ravel(value))
            text = f"{other}: got {got} Pa m6/mol2, but {other!r} gives another value for the same pair."
            pairs.refuse(found.setdefault((min(i, j), max(i, j)), value) != value, text)
            yield i, j, value


def _binary(known, nodes, a):
    """k_ij (ns, ns) = 1 - a_ij/sqrt(a_i a_j) from binary-a."""

    def read(pairs, other):
        return pairs.number(other, "Pa*m^6/kmol^2") * 1e-6

    kij = np.zeros((len(nodes), len(nodes)))
    for i, j, value in _pairs(known, nodes, MODEL, read):
        kij[i, j] = kij[j, i] = 1 - value / math.sqrt(a[i] * a[j])
    return kij


def _transport(node, omega=None):
    """Transport data of a species with Cantera's defaults: an absent number is 0. nan without the block `transport`.

    omega: acentric factor of the equation of state. A warning says if the block has another acentric factor.
    """
    if not node.has("transport"):
        unknown = ("diameter", "well_depth", "dipole", "polarizability", "rotational_relaxation")
        return {"geometry": -1} | dict.fromkeys(unknown, math.nan)

    block = node.child("transport")
    block.choice("model", ["gas"], "'gas'")
    if omega is not None and block.has("acentric-factor") and abs(block.number("acentric-factor") - omega) > 1e-12:
        warnings.warn(
            f"{block.where}: acentric-factor {block.data['acentric-factor']} differs from {omega:g} of the "
            "equation of state, which is used for all models (Cantera uses each in its own model).",
            stacklevel=6,
        )

    return {
        "geometry": GEOMETRY[block.choice("geometry", GEOMETRY, "atom, linear or nonlinear")],
        "diameter": block.number("diameter") * ANGSTROM,
        "well_depth": block.number("well-depth"),
        "dipole": block.number("dipole", default=0.0),
        "polarizability": block.number("polarizability", default=0.0) * ANGSTROM**3,
        "rotational_relaxation": block.number("rotational-relaxation", default=0.0),
    }


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
