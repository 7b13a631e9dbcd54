"""`bench kinetics`: production of species by reactions of an ideal gas, on one core or a GPU, against plain Fortran and
Cantera, whose values are compared before anything is timed. Reactors are in reactors.py."""

from __future__ import annotations

import functools
import importlib.util
import pathlib
import statistics
import tempfile
import time

import cffi
import numpy as np

from kernels import collections
from kernels.engine.tune import seconds
from kernels.gas import counting
from kernels.gas.mixture import Mixture
from kernels.gas.program import Program
from kernels.gas.species.cantera_yaml import cantera_data
from kernels.gas.species.reactions import Arrhenius, Falloff

from ...errors import BackendError, MixtureError
from . import ceilings, fortran, inputs, reactors
from .kinetix import KinetiX
from .properties import SAMPLE, WrongValues, fill, part
from .report import Report, Row

GIVEN, WANTED = ("T", "p", "rho", "Y"), "omega"
CHECKED = 1024  # points compared before timing
FEW = 256  # points of a round of Cantera
POINTS = {"host": 4096, "device": 1_000_000}  # by the backend's memory; a CPU takes what a chunk of a host has
STATES = {"host": "random", "device": "smooth"}
# Of the gross rates: rates are exp of sums up to 300, which carry 300 eps, and vector functions of the compiler's are
# some units of the last place off.
TOLERANCE = 1e-10
# Three mechanisms: the file; where a part of it: the elements of the species that stay, and their most C.
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
# Further programs that the warps of a GPU share: outputs and inputs; a collection has inputs of its own.
PROGRAMS: dict[str, tuple | None] = {
    "omega, heat_release": (("omega", "heat_release"), GIVEN),
    "omega, rho": (("omega", "rho"), ("T", "p", "Y")),
    "creation, destruction": (("creation", "destruction"), GIVEN),
    "tau_chem": (("tau_chem",), GIVEN),
    "kinetics": None,
    "thermal_kinetics": None,
}
KINDS = ("elementary", "three-body", "Lindemann", "Troe")  # in the order of their numbers in kinetics.f90
STYLES, LEVELS = ("textbook", "reduced"), ("-O3", "-Ofast")

ffi = cffi.FFI()
ffi.cdef("""int kinetics_setup(int, int, int, int, int, int, double, double *, double *, double *, double *, double *,
                               double *, int *, int *, int *, int *, int *, double *, double *, double *, int *,
                               int *);
            void kinetics_points(int, int, double *, double *, double *, double *);""")


def files(folder):
    """(name, Cantera YAML file) of the mechanisms; a part of a file is written into `folder`. Raises BackendError
    where Cantera's files are not there."""
    data = cantera_data()
    if data is None:
        raise BackendError("the mechanisms are files of Cantera, which is not installed: install it, or give a file.")
    for name, (file, limits) in MECHANISMS.items():
        path = data / file
        if limits:
            species = Mixture.from_yaml(path, equation="ideal", takahashi="off").species
            atoms, (elements, carbons) = species.reactions.composition, limits  # type: ignore[union-attr]
            names = [s for s in species.names if set(atoms[s]) <= elements and atoms[s].get("C", 0) <= carbons]
            path = pathlib.Path(folder) / f"part_of_{file}"
            path.write_text(PART.format(file=file, names=", ".join(names)))
        yield name, path


class Fortran:
    """kinetics.f90 in a style, set up for a mixture at a time."""

    def __init__(self, style: str, level: str):
        self.name, self._style = f"gfortran {level}, {style}", STYLES.index(style) + 1
        self._library = ffi.dlopen(str(fortran.library("kinetics", level)))
        self._mixture = None

    def use(self, mixture) -> None:
        if self._mixture is mixture:
            return
        arguments = tables(mixture)
        pointers = [
            x if not isinstance(x, np.ndarray) else ffi.from_buffer("int[]" if x.dtype.kind == "i" else "double[]", x)
            for x in arguments
        ]
        if self._library.kinetics_setup(*pointers):
            raise BackendError("the Fortran rival has no reactions of a kind that the mechanism has.")
        self._mixture = mixture

    def prepare(self, mixture, state: dict):
        """(work, results): work() fills an array (ns, n), which results() returns."""
        n, omega = state["T"].size, np.full(state["Y"].shape, np.nan)
        arrays = [np.ascontiguousarray(state[name]) for name in ("T", "rho", "Y")]
        pointers = [ffi.from_buffer("double[]", array) for array in (*arrays, omega)]

        def work(keep=arrays):
            self.use(mixture)
            self._library.kinetics_points(n, self._style, *pointers)

        return work, lambda: omega


def tables(mixture) -> list:
    """What kinetics_setup takes: numbers, then arrays whose species, exponents and colliders count from 1. Raises
    BackendError for reactions that it does not know."""
    data, reactions = mixture.species, mixture.species.mechanism.reactions
    exponents: dict[tuple, int] = {}
    sets: dict[tuple, int] = {}

    def number(known, key):
        return known.setdefault(key, len(known)) + 1

    for r in reactions:
        kind = _kind(r)
        sides = [sum(side.values()) for side in (r.reactants, r.products)]
        plain = r.orders == r.reactants and max(sides) <= 3 and all(x == round(x) for x in sides)
        if kind not in KINDS or not plain:
            raise BackendError(f"the Fortran rival has no reaction such as '{r.equation}' ({r.kind}).")
    falloffs = [r for r in reactions if isinstance(r.rate, Falloff)]

    def weights(r):
        return tuple(r.collider.weights(data.ns))

    high = [r.rate.high if isinstance(r.rate, Falloff) else r.rate for r in reactions]
    at = [number(exponents, (rate.b, rate.E)) for rate in high]
    own = len(exponents)
    low = {r.number: number(exponents, (r.rate.low.b, r.rate.low.E)) for r in falloffs}
    for r in falloffs:
        number(sets, weights(r))
    logs = len(sets)

    def integers(values):
        return np.array(values, np.int32, order="C")

    def doubles(values):
        return np.array(values, float, order="C")

    collider = integers([number(sets, weights(r)) if r.collider else 0 for r in reactions])
    shift = np.reshape(mixture.constant("reaction_shift").array[: 2 * data.ns], (2, data.ns))
    shift = shift + [[-mixture.constant("reaction_shift").array[-1]], [0.0]]
    nasa = [np.array(rows, float) for rows in (data.nasa_low, data.nasa_high)]
    for rows in nasa:  # what cancels in every reaction, and would bring exponentials out of range
        rows[:, 5] -= shift[1]
        rows[:, 6] += shift[0]

    def species(side):
        return ([s + 1 for s, nu in side.items() for _ in range(round(nu))] + [0, 0, 0])[:3]

    blending = [_troe(r) for r in reactions]
    return [
        *(data.ns, len(reactions), own, len(exponents), len(sets), logs, float(data.p_ref)),
        *map(doubles, (data.W, data.T_mid, *nasa, list(exponents), list(sets))),
        *map(integers, ([KINDS.index(_kind(r)) for r in reactions], at, [low.get(r.number, 0) for r in reactions])),
        *(collider, integers([r.reversible for r in reactions])),
        doubles([rate.A * r.multiplier for r, rate in zip(reactions, high)]),
        doubles([r.rate.low.A * r.multiplier if isinstance(r.rate, Falloff) else 0.0 for r in reactions]),
        doubles(blending),
        integers([species(r.reactants) for r in reactions]),
        integers([species(r.products) for r in reactions]),
    ]


def _kind(reaction) -> str:
    rate = reaction.rate
    if isinstance(rate, Falloff):
        return "chemically activated" if rate.activated else rate.form
    if isinstance(rate, Arrhenius):
        return "three-body" if reaction.collider else "elementary"
    return reaction.kind


def _troe(reaction) -> tuple:
    """(a, T3, T1, T2) of Troe's form; 1 for other reactions, so that nothing divides by 0."""
    return reaction.rate.numbers if _kind(reaction) == "Troe" else (0.0, 1.0, 1.0, 0.0)


class Cantera:
    """Cantera from Python, one state a call. Its time is that of the mechanism less that of the same species without
    reactions."""

    name = "Cantera from Python"

    def __init__(self, path):
        import cantera as ct

        self.gas = ct.Solution(str(path))
        self.bare = ct.Solution(thermo="ideal-gas", kinetics="gas", species=self.gas.species(), reactions=[])

    def states(self, gas, state: dict):
        for k in range(state["T"].size):
            gas.TDY = state["T"][k], state["rho"][k], state["Y"][:, k]
            yield gas.net_production_rates

    def rates(self, mixture, state: dict):
        return np.array(list(self.states(self.gas, state))).T * 1e3 * mixture.species.W[:, None]

    def took(self, state: dict) -> float:
        """Seconds of all states: processor time, least of three each, so that another program's share of the machine
        does not make the difference negative."""
        least = [
            min(took(lambda gas=gas: list(self.states(gas, state)), time.process_time) for _ in range(3))
            for gas in (self.gas, self.bare)
        ]
        return least[0] - least[1]


def took(work, clock=time.perf_counter) -> float:
    """Seconds of a rival, all of which run on the host."""
    begin = clock()
    work()
    return clock() - begin


def checked(ours, rival, gross, what: str, name: str = "omega", scale: str = "the gross rate") -> float:
    """Largest difference over the gross rates, or another scale. WrongValues beyond TOLERANCE."""
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
    state = inputs.states(mixture.ns, points, kind)
    state["rho"] = mixture.properties("rho", backend="cpu", **state)["rho"]
    return {name: state[name] for name in GIVEN}


def measure(case: str, mixture, path, backend, points: int, repeats: int, roofs, rivals, kind: str) -> list[Row]:
    """Rows of one mechanism, one a rival of `rivals` and one beside Cantera where it is installed. path: its file."""
    state = given_states(mixture, points, kind)
    program = mixture.program(outputs=(WANTED,), given=GIVEN, backend=backend)
    arrays = {name: backend.empty((program.plan.rows(name), backend.pad(points))) for name in program.plan.arguments}
    fill(backend, arrays, state)
    bound_run = program.bind(arrays)

    def ours():
        return bound_run(points)

    ours()
    few = part(state, 0, min(points, CHECKED))
    omega = backend.to_host(arrays[WANTED][:, : few["T"].size])
    gross = sum(mixture.properties("creation destruction", backend="cpu", **few).values())
    label = f"{case}, {mixture.nr} reactions"
    works, rows = [], []
    chunk = part(state, 0, min(points, POINTS["host"]))
    for rival in rivals:
        work, found = rival.prepare(mixture, few)
        work()
        off = checked(omega, found(), gross, f"{label}, {rival.name}")
        works.append(rival.prepare(mixture, chunk)[0])
        works[-1]()
        rows.append((rival.name, off, chunk["T"].size))
    cantera = Cantera(path) if importlib.util.find_spec("cantera") else None
    if cantera:
        off = checked(omega, cantera.rates(mixture, few), gross, f"{label}, {cantera.name}")
        rows.append((cantera.name, off, FEW))
    often = max(1, int(SAMPLE / max(seconds(backend, ours), 1e-9)))
    mine: list[float] = []
    theirs: list[list[float]] = [[] for _ in rows]
    for _ in range(repeats):
        mine.append(seconds(backend, ours, often))
        for times, work in zip(theirs, works):
            times.append(took(work))
        if cantera:
            theirs[-1].append(cantera.took(part(state, 0, FEW)))
    pace = points / statistics.median(mine)
    cost = counting.cost(mixture, (WANTED,), {name: few[name][..., :CHECKED] for name in GIVEN})
    reads, writes = (sum(map(program.plan.rows, names)) for names in (program.plan.reads, program.plan.writes))
    bound, by = roofs.bound(cost, reads, writes, points)
    row = dict(bench="kinetics", case=label, ns=mixture.ns, points=points, backend=str(backend))
    row |= dict(seconds=points / pace, points_per_s=pace, bound=bound, bound_fraction=pace / bound, bound_by=by)
    out = []
    for (name, off, count), times in zip(rows, theirs):
        other = count / statistics.median(times)
        out.append(Row(**row, rival=name, rival_points_per_s=other, ratio=pace / other, max_rel_diff=off))
    return out or [Row(**row)]


def programs(case: str, mixture, backend, points: int, repeats: int, kind: str) -> list[Row]:
    """Rows of a device's other programs, of a real gas also of omega alone; values are compared with a CPU's.
    WrongValues beyond TOLERANCE."""
    state = given_states(mixture, points, kind)
    few = part(state, 0, min(points, CHECKED))
    given = {name: values for name, values in few.items() if name != "rho"}
    made = mixture.properties("creation destruction h_Y", backend="cpu", **given)
    gross = made["creation"] + made["destruction"]
    of_rates = dict.fromkeys(("omega", "creation", "destruction"), gross)
    of_rates["heat_release"] = np.sum(np.abs(made["h_Y"]) * gross, axis=0)
    rows = []
    alone = {WANTED: ((WANTED,), GIVEN)} if mixture.options["equation"] != "ideal" else {}
    for name, what in (alone | PROGRAMS).items():
        outputs, names = what if what else (collections[name].outputs, collections[name].given)
        program = Program(mixture, outputs, names, backend=backend)
        count = {a: program.plan.rows(a) for a in program.plan.arguments}
        arrays = {a: backend.empty((n, backend.pad(points))) for a, n in count.items()}
        fill(backend, arrays, {a: state[a] for a in names if a in arrays})
        bound_run = program.bind(arrays)

        def work(run=bound_run):
            return run(points)

        work()
        wanted = mixture.properties(" ".join(program.writes), backend="cpu", **{a: few[a] for a in names})
        worst = 0.0
        for output, values in wanted.items():
            found, values = backend.to_host(arrays[output][:, : few["T"].size]), np.atleast_2d(values)
            scale = of_rates.get(output, np.abs(values) + 1e-3 * np.max(np.abs(values)))
            worst = max(worst, checked(found, values, scale, f"{case}, {name}", output, "its size"))
        often = max(1, int(SAMPLE / max(seconds(backend, work), 1e-9)))
        took = statistics.median(seconds(backend, work, often) for _ in range(repeats))
        row = dict(bench="kinetics", case=f"{case}: {name}", ns=mixture.ns, points=points, backend=str(backend))
        rows.append(Row(**row, seconds=took, points_per_s=points / took, max_rel_diff=worst))
    return rows


def run(given, backend, say) -> Report:
    """All rows. say(text) reports progress."""
    chosen_cases = given.cases if given.bench == "kinetics" else None

    def wanted(case):
        return case in (chosen_cases or (case,))

    roofs = ceilings.measure(backend)
    points, kind = given.points or POINTS[backend.memory], given.states or STATES[backend.memory]
    rows: list[Row] = []
    of_reactors: list[Row] = []
    facts: list[str] = []
    try:
        rivals = [Fortran(style, level) for level in LEVELS for style in STYLES]
        facts.append(f"{fortran.compiler()[1]}, -march=native")
    except BackendError as error:
        rivals = []
        facts.append(f"Fortran is left out: {error}")
    with tempfile.TemporaryDirectory() as folder:
        try:
            chosen = [(pathlib.Path(given.mixture).name, given.mixture)] if given.mixture else [*files(folder)]
        except BackendError as error:
            return Report([], [*facts, str(error)], "")
        for name, path in chosen:
            say(f"kinetics: {name}")
            mixture = Mixture.from_yaml(path, equation="ideal", takahashi="off")
            beside: list = rivals
            try:
                tables(mixture)
            except BackendError as error:
                beside = []
                facts.append(f"{name}: {error}")
            try:
                beside = [*beside, KinetiX(path, folder, given.kinetix)]
            except BackendError as error:
                facts.append(f"{name}: KinetiX is left out: {error}")
            if wanted("omega"):
                rows += measure(name, mixture, path, backend, points, given.repeats, roofs, beside, kind)
            if wanted("programs") and backend.memory == "device":
                rows += programs(name, mixture, backend, points, given.repeats, kind)
            if wanted("real") and backend.memory == "device":
                try:
                    real = Mixture.from_yaml(path, takahashi="off", critical="fill")
                except MixtureError as error:
                    facts.append(f"{name}: its real gas is left out: {error}")
                else:
                    rows += programs(f"{name}, real gas", real, backend, points, given.repeats, kind)
            if (wanted("matrices") or wanted("react")) and name in reactors.IGNITIONS:
                along = reactors.along_ignition(path, *reactors.IGNITIONS[name][:3])
                what = (name, mixture, path, along, backend, given.repeats)
                if wanted("matrices"):
                    of_reactors += reactors.matrices(*what, roofs, took)
                if wanted("react"):
                    row, fact = reactors.react(*what, took)
                    of_reactors.append(row)
                    facts.append(fact)
    rows += of_reactors
    facts += [f"{points} points a pass, {kind} states, {given.repeats} rounds", f"ceilings: {roofs.told()}"]
    if any(row.rival == Cantera.name for row in rows):
        import cantera

        facts.append(f"Cantera {cantera.__version__}")
    return Report(rows, facts, NOTES)


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
