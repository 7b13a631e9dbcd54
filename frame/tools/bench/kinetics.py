"""`bench kinetics`: production of species by reactions against plain Fortran, KinetiX and Cantera, and reactors.

Values are compared before anything is timed. The reactors are in reactors.py.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import pathlib
import statistics
import tempfile
import time
from collections.abc import Callable

import numpy as np

from kernels import Mixture, collections
from kernels.gas import counting
from kernels.gas.program import Program, Wanted
from kernels.gas.species.cantera_yaml import cantera_data

from ...errors import BackendError, MixtureError
from . import ceilings, fortran, inputs, reactors
from .kinetics_fortran import LEVELS, STYLES, Fortran, tables
from .kinetix import KinetiX
from .report import Report, Row
from .timing import Conditions, Launch, WrongValues, in_turns, part, sampled, took, with_density

GIVEN, WANTED = ("T", "p", "rho", "Y"), "omega"
CHECKED = 1024  # points compared before timing
FEW = 256  # points of a round of Cantera
POINTS = {"host": 4096, "device": 1_000_000}  # by the backend's memory; a CPU takes as many as a chunk of a host has
STATES = {"host": "random", "device": "smooth"}
# Relative to the gross rates. Rates are exp of sums up to 300, which carry 300 eps; the compiler's vector functions add
# some units of the last place.
TOLERANCE = 1e-10
# Mechanism: the file, and for a part of it the elements of the species that stay, and their most C.
MECHANISMS: dict[str, tuple] = {
    "h2o2": ("h2o2.yaml", None),
    "CH4/O2": ("gri30.yaml", ({"H", "C", "O"}, 2)),
    "GRI-3.0": ("gri30.yaml", None),
}
PART = """
phases:
- name: part
  thermo: ideal-gas
  species: [{{{file}/species: [{names}]}}]
  skip-undeclared-third-bodies: true
  kinetics: gas
  reactions: [{{{file}/reactions: declared-species}}]
  transport: mixture-averaged
"""
# Other programs that the warps of a GPU share: outputs and inputs; None: those of the collection.
PROGRAMS: dict[str, tuple | None] = {
    "omega, heat_release": (("omega", "heat_release"), GIVEN),
    "omega, rho": (("omega", "rho"), ("T", "p", "Y")),
    "creation, destruction": (("creation", "destruction"), GIVEN),
    "tau_chem": (("tau_chem",), GIVEN),
    "kinetics": None,
    "thermal_kinetics": None,
}


def files(folder):
    """Yields (name, Cantera YAML file) of the mechanisms; a part of a file goes into `folder`. Raises BackendError
    if Cantera's files are not there."""
    data = cantera_data()
    if data is None:
        raise BackendError("the mechanisms are files of Cantera, which is not installed: install it, or give a file.")

    for name, (file, limits) in MECHANISMS.items():
        yield name, _part_of(data / file, limits, pathlib.Path(folder)) if limits else data / file


def _part_of(path: pathlib.Path, limits: tuple[set, int], folder: pathlib.Path) -> pathlib.Path:
    """A file with some species and their reactions. limits: elements of the species, most C."""
    elements, carbons = limits
    species = Mixture.from_yaml(path, equation="ideal", takahashi="off").species
    atoms = species.reactions.composition  # type: ignore[union-attr]
    names = [s for s in species.names if set(atoms[s]) <= elements and atoms[s].get("C", 0) <= carbons]

    out = folder / f"part_of_{path.name}"
    out.write_text(PART.format(file=path.name, names=", ".join(names)))
    return out


class Cantera:
    """Cantera from Python, a state in each call. Its time is the time of the mechanism less the time of its species
    without reactions. A phase of another equation of state becomes an ideal gas, as ours is."""

    name = "Cantera from Python"

    def __init__(self, path):
        import cantera as ct

        self.gas = ct.Solution(str(path))
        species = self.gas.species()
        if self.gas.thermo_model != "ideal-gas":
            self.gas = ct.Solution(thermo="ideal-gas", kinetics="gas", species=species, reactions=self.gas.reactions())
        self.bare = ct.Solution(thermo="ideal-gas", kinetics="gas", species=species, reactions=[])

    def states(self, gas, state: dict):
        """Yields the net production rates of each state."""
        for k in range(state["T"].size):
            gas.TDY = state["T"][k], state["rho"][k], state["Y"][:, k]
            yield gas.net_production_rates

    def rates(self, mixture, state: dict) -> np.ndarray:
        """omega [kg/m3/s] (ns, n)."""
        return np.array(list(self.states(self.gas, state))).T * 1e3 * mixture.species.W[:, None]

    def seconds(self, state: dict) -> float:
        """Seconds of all states: processor time, least of three each. Otherwise the load of the machine could make the
        difference negative."""
        with_reactions, without = (
            min(took(lambda gas=gas: list(self.states(gas, state)), time.process_time) for _ in range(3))
            for gas in (self.gas, self.bare)
        )
        return with_reactions - without


def checked(ours, rival, gross, what: str, name: str = WANTED, scale: str = "the gross rate") -> float:
    """Largest difference over the gross rates (or over another scale). Raises WrongValues beyond TOLERANCE."""
    off = np.abs(ours - rival) / np.maximum(gross, 1e-200)
    largest = float(np.max(off))
    if not largest <= TOLERANCE:
        place = tuple(int(x) for x in np.argwhere(~(off <= TOLERANCE))[0])
        raise WrongValues(
            f"{what}: '{name}' differs by {largest:.1e} of {scale}, allowed is {TOLERANCE:g}; first of species "
            f"{place[0]} at point {place[1]}: {ours[place]:.17g} and {rival[place]:.17g}. Nothing was timed."
        )
    return largest


@functools.lru_cache(maxsize=1)
def given_states(mixture, points: int, kind: str) -> dict:
    """Inputs of the programs, computed once for all rows of a mechanism."""
    state = with_density(mixture, inputs.states(mixture.ns, points, kind))
    return {name: state[name] for name in GIVEN}


@dataclasses.dataclass
class Beside:
    """A rival whose rates are right."""

    name: str
    error: float  # largest difference over the gross rates
    points: int  # of a sample
    timer: Callable[[], float]  # seconds of a sample


def measure(case: str, mixture, path, how: Conditions) -> list[Row]:
    """Rows of omega of a mechanism: a row for each rival, and a row beside Cantera if it is installed. path: file of
    the mechanism. Raises WrongValues."""
    state = given_states(mixture, how.points, how.kind)
    ours = Launch(mixture.program(outputs=(WANTED,), given=GIVEN, backend=how.backend), state)
    ours.work()

    label = f"{case}, {mixture.nr} reactions"
    beside = _rivals(mixture, path, how, ours, label)

    # Times.
    timers = {"ours": sampled(how.backend, ours.work)} | {each.name: each.timer for each in beside}
    seconds = {name: statistics.median(times) for name, times in in_turns(timers, how.repeats).items()}

    # Rows.
    cost = counting.cost(mixture, (WANTED,), part(state, slice(CHECKED)))
    row = Row.timed("kinetics", label, mixture.ns, how.points, how.backend, seconds["ours"])
    row = row.below(*ours.bound(how.roofs, cost))
    rows = [row.beside(each.name, each.points / seconds[each.name], each.error) for each in beside]

    return rows or [row]


def _rivals(mixture, path, how: Conditions, ours: Launch, label: str) -> list[Beside]:
    """The rivals whose rates at the first points agree with ours. Raises WrongValues."""
    state = given_states(mixture, how.points, how.kind)
    few, chunk = part(state, slice(CHECKED)), part(state, slice(POINTS["host"]))
    omega = ours.result(WANTED, slice(CHECKED))
    gross = sum(mixture.properties("creation destruction", backend="cpu", **few).values())

    beside = []
    for rival in how.rivals:
        work, found = rival.prepare(mixture, few)
        work()
        error = checked(omega, found(), gross, f"{label}, {rival.name}")
        work, _ = rival.prepare(mixture, chunk)
        work()
        beside.append(Beside(rival.name, error, chunk["T"].size, functools.partial(took, work)))

    if importlib.util.find_spec("cantera"):
        cantera, sample = Cantera(path), part(state, slice(FEW))
        error = checked(omega, cantera.rates(mixture, few), gross, f"{label}, {cantera.name}")
        beside.append(Beside(cantera.name, error, sample["T"].size, functools.partial(cantera.seconds, sample)))

    return beside


def programs(case: str, mixture, how: Conditions) -> list[Row]:
    """Rows of the other programs of a device, for a real gas also of omega alone. Raises WrongValues if values differ
    from a CPU's."""
    state = given_states(mixture, how.points, how.kind)
    chosen = dict(PROGRAMS)
    if mixture.options["equation"] != "ideal":
        chosen = {WANTED: ((WANTED,), GIVEN), **chosen}

    rows = []
    for name, names in chosen.items():
        outputs, given = names or (collections[name].outputs, collections[name].given)
        program = Program(mixture, Wanted(outputs, given), backend=how.backend)
        ours = Launch(program, {quantity: state[quantity] for quantity in given})
        ours.work()

        error = _beside_a_cpu(ours, mixture, {quantity: state[quantity] for quantity in given}, f"{case}, {name}")
        timer = sampled(how.backend, ours.work)
        seconds = statistics.median(timer() for _ in range(how.repeats))
        row = Row.timed("kinetics", f"{case}: {name}", mixture.ns, how.points, how.backend, seconds)
        rows.append(dataclasses.replace(row, max_rel_diff=error))

    return rows


def _beside_a_cpu(ours: Launch, mixture, given: dict, what: str) -> float:
    """Largest difference of all outputs from a CPU's, over gross rates or over the size. Raises WrongValues."""
    few = part(given, slice(CHECKED))
    wanted = mixture.properties(" ".join(ours.program.writes), backend="cpu", **few)

    # Gross rates, and the heat of the gross rates.
    TpY = {name: few[name] for name in ("T", "p", "Y")}
    made = mixture.properties("creation destruction h_Y", backend="cpu", **TpY)
    gross = made["creation"] + made["destruction"]
    scales = dict.fromkeys(("omega", "creation", "destruction"), gross)
    scales["heat_release"] = np.sum(np.abs(made["h_Y"]) * gross, axis=0)

    worst = 0.0
    for output, values in wanted.items():
        values = np.atleast_2d(values)
        size = np.abs(values) + 1e-3 * np.max(np.abs(values))
        found = ours.result(output, slice(CHECKED))
        worst = max(worst, checked(found, values, scales.get(output, size), what, output, "its size"))
    return worst


class Mechanisms:
    """The rows of all mechanisms of a run, with the facts that are reported beside them."""

    def __init__(self, given, how: Conditions, folder, say):
        self.given, self.how, self.folder, self.say = given, how, folder, say
        self.rows: list[Row] = []
        self.of_reactors: list[Row] = []
        self.facts: list[str] = []

    def wants(self, case: str) -> bool:
        """Whether --cases asks for it; other benches' --cases do not count."""
        asked = self.given.cases if self.given.bench == "kinetics" else None
        return not asked or case in asked

    def add(self, name: str, path) -> None:
        """Measures a mechanism. path: its file."""
        self.say(f"kinetics: {name}")
        mixture = Mixture.from_yaml(path, equation="ideal", takahashi="off")
        on_device = self.how.backend.memory == "device"

        if self.wants("omega"):
            how = dataclasses.replace(self.how, rivals=self._rivals(name, path, mixture))
            self.rows += measure(name, mixture, path, how)
        if self.wants("programs") and on_device:
            self.rows += programs(name, mixture, self.how)
        if self.wants("real") and on_device:
            self._real_gas(name, path)
        if name in reactors.IGNITIONS and (self.wants("matrices") or self.wants("react")):
            self._reactors(name, path, mixture)

    def _rivals(self, name: str, path, mixture) -> tuple:
        """The rivals that know this mechanism; facts say why others are left out."""
        rivals = list(self.how.rivals)
        try:
            tables(mixture)
        except BackendError as error:
            rivals = []
            self.facts.append(f"{name}: {error}")

        try:
            rivals.append(KinetiX(path, self.folder, self.given.kinetix))
        except BackendError as error:
            self.facts.append(f"{name}: KinetiX is left out: {error}")
        return tuple(rivals)

    def _real_gas(self, name: str, path) -> None:
        try:
            real = Mixture.from_yaml(path, equation="pr", takahashi="off", critical="fill")
        except MixtureError as error:
            self.facts.append(f"{name}: its real gas is left out: {error}")
        else:
            self.rows += programs(f"{name}, real gas", real, self.how)

    def _reactors(self, name: str, path, mixture) -> None:
        ignition = reactors.Ignition.of(name, mixture, path)
        if self.wants("matrices"):
            self.of_reactors += reactors.matrices(ignition, self.how)
        if self.wants("react"):
            row, fact = reactors.react(ignition, self.how)
            self.of_reactors.append(row)
            self.facts.append(fact)


def run(given, backend, say) -> Report:
    """All rows. say(text) reports progress."""
    points, kind = given.points or POINTS[backend.memory], given.states or STATES[backend.memory]
    rivals, fact = _fortran()
    how = Conditions(backend, ceilings.measure(backend), points, given.repeats, rivals, kind)

    with tempfile.TemporaryDirectory() as folder:
        try:
            chosen = [(pathlib.Path(given.mixture).name, given.mixture)] if given.mixture else [*files(folder)]
        except BackendError as error:
            return Report([], [fact, str(error)], "")

        mechanisms = Mechanisms(given, how, folder, say)
        for name, path in chosen:
            mechanisms.add(name, path)

    rows = mechanisms.rows + mechanisms.of_reactors
    facts = [
        fact,
        *mechanisms.facts,
        f"{points} points a pass, {kind} states, {given.repeats} rounds",
        f"ceilings: {how.roofs.told()}",
    ]
    if any(row.rival == Cantera.name for row in rows):
        import cantera

        facts.append(f"Cantera {cantera.__version__}")
    return Report(rows, facts, NOTES)


def _fortran() -> tuple[tuple, str]:
    """(Fortran rivals, line on their compiler); without a compiler (no rivals, the reason)."""
    try:
        rivals = []
        for level in LEVELS:
            rivals += [Fortran(style, level) for style in STYLES]
        return tuple(rivals), f"{fortran.compiler()[1]}, -march=native"
    except BackendError as error:
        return (), f"Fortran is left out: {error}"


NOTES = (
    "omega of an ideal gas from T, p, rho, Y. Ours and each rival in turns, medians; in brackets how many times faster "
    "ours is. "
    f"Values are compared at up to {CHECKED} points before anything is timed; allowed: {TOLERANCE:g} of the gross "
    "rates. Fortran on one core, from the same tables: textbook: one point at a time, an exponential for each rate "
    "coefficient and one for each equilibrium constant; reduced: the layer's own algebra over blocks of points, which "
    "the compiler vectorises. KinetiX: C++ that it generates, one point at a time on one core. Cantera: on one core "
    "from Python, a state a call, less the time of the same calls without reactions. Bound: the slowest of the roofs; "
    "operations are counted by running the kernel on a number type "
    "that counts. On a GPU also other programs, alone, compared with a CPU's values: from T, p, Y and, if they do not "
    "make it, rho; real gas: Peng-Robinson. CH4/O2: the species of GRI-3.0 that are made of C, H and O and have at "
    "most two C. "
    "J_cv, J, LU, solve (implicit_cv) and react: states along an ignition. Beside them Cantera's slopes of the "
    "production rates; these and a dense solve by LAPACK, and that alone; CVODE from Cantera's reactor of constant "
    f"volume, rtol {reactors.USUAL[0]:g}, which starts anew in each cell, react with rtol 1e-4. Differences: from "
    f"Cantera's slopes; of the residual; of T from CVODE at rtol {reactors.TIGHT[0]:g}, a 100th of it where a cell "
    "ignites within the step."
)
