"""`bench launch`: time of a launch from Python and from Fortran, and time from start to first result."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import kernels
from kernels.engine.backend import cache
from kernels.engine.backend.base import Shape, Source
from kernels.engine.backend.record import record

from ...errors import BackendError
from ...shipped import BUILD, ROOT
from . import fortran
from .report import Report, Row
from .timing import Launch

HERE = pathlib.Path(__file__).resolve().parent
NITROGEN = ROOT / "examples" / "mixtures" / "n2.yaml"
MIXTURE = ROOT / "examples" / "mixtures" / "ch4_o2.yaml"
AIR = ROOT / "examples" / "own_kernel" / "air.py"
POINTS = 16  # next to no work: the call is left
STARTED = 64  # points of the first result of a process
SLAB = 64  # points in y and z of a slab of three in x
CALLS = 2000
NOTHING = Source(
    "nothing",
    """#include "engine/numbers/launch.h"
struct Unused {
    long unused;
};
POINT_FN void do_nothing(const Unused &, long) {}
ITEM_KERNEL(nothing, Unused, 32, do_nothing)
""",
)
FIRST_RESULT = (
    "from kernels import Mixture; import numpy as np; mix = Mixture.from_yaml({file!r}, equation='pr'); "
    "mix.properties('rho h c', backend={backend!r}, T=np.full(64, 300.0), p=1e5, Y=np.ones((1, 64)))"
)
PLAIN = {"FRAME_TIMERS": "0", "FRAME_CHECK": "0"}  # environment of the Fortran programs
NOTES = (
    f"{POINTS} points of nitrogen, so that next to no time goes into the work; medians. A cold start has an empty "
    "kernel cache, so it compiles; a warm one finds its kernels there."
)


def run(given, backend, say) -> Report:
    """Rows of the three parts. Notes name the parts that this machine cannot run."""
    notes = [NOTES]

    say("launches from Python")
    rows = from_python(backend, given.repeats)
    if not backend.apart:
        rows += one_state(backend, given.repeats)
    say("starts of Python")
    rows += python_starts(backend)
    say("entry points from Fortran")
    try:
        rows += from_fortran(backend, given.repeats)
        rows += small_blocks(backend)
        if not backend.apart:
            rows += single_points(backend)
    except BackendError as error:
        notes.append(f"Entry points from Fortran are left out: {error}")

    return Report(rows, [], "\n".join(notes))


def row(what: str, backend, seconds: float, points: int = POINTS) -> Row:
    """A row of a call."""
    return Row.timed("launch", what, 1, points, backend, seconds)


# ---- Python


def from_python(backend, repeats: int) -> list[Row]:
    """Rows on the time of a launch from Python, beside the launch of an empty kernel."""
    mixture = kernels.Mixture.from_yaml(NITROGEN, equation="pr")
    thermal = kernels.collections["thermal"]
    programs = {
        "launch of one kernel from Python": mixture.program(kernels=["total_enthalpy"], backend=backend),
        "launch of thermal from Python": mixture.program(thermal.outputs, ("T", "p", "Y"), backend=backend),
    }
    values = {"T": 300.0, "p": 1e7, "Y": 1.0, "h": 1e5, "u": 10.0, "v": 0.0, "w": 0.0}
    state = {name: np.full(POINTS, value) for name, value in values.items()}
    nothing = per_call(backend, empty_call(backend), repeats)

    rows = []
    for what, program in programs.items():
        seconds = per_call(backend, Launch(program, state).work, repeats)
        rows.append(row(what, backend, seconds).beside("an empty kernel", POINTS / nothing))
    return rows


def one_state(backend, repeats: int) -> list[Row]:
    """Rows on one state from plain numbers by Mixture.properties, ten species, beside Cantera where it is installed."""
    mixture = kernels.Mixture.from_yaml(MIXTURE, equation="pr")
    Y = np.zeros(mixture.ns)
    Y[:2] = 0.2, 0.8
    names = {"rho": "density", "rho h cp mu lam": "density enthalpy_mass cp_mass viscosity thermal_conductivity"}
    gas = None
    if importlib.util.find_spec("cantera"):
        gas = importlib.import_module("cantera").Solution(str(MIXTURE))

    rows = []
    for ours, theirs in names.items():
        seconds = per_call(backend, lambda ours=ours: mixture.properties(ours, T=300.0, p=1e5, Y=Y), repeats)
        made = Row.timed("launch", f"one state from Python: {ours}", mixture.ns, 1, backend, seconds)
        if gas:
            work = functools.partial(of_cantera, gas, Y, theirs.split())
            made = made.beside("Cantera", 1 / per_call(backend, work, repeats))
        rows.append(made)
    return rows


def of_cantera(gas, Y, names) -> list:
    """The same state and properties by Cantera."""
    gas.TPY = 300.0, 1e5, Y
    return [getattr(gas, name) for name in names]


def per_call(backend, work, repeats: int) -> float:
    """Median over the repeats of the mean seconds of a call, by the host's clock, until the queue is empty."""
    times = []
    for _ in range(repeats + 1):
        backend.synchronize()
        begin = time.perf_counter()
        for _ in range(CALLS):
            work()
        backend.synchronize()
        times.append((time.perf_counter() - begin) / CALLS)

    return statistics.median(times[1:])


def empty_call(backend):
    """call(): a kernel that does nothing, launched as every kernel is."""
    run = backend.compile(NOTHING).bind("nothing", Shape(32), record("unused:whole"))
    return lambda: run(1)


def python_starts(backend) -> list[Row]:
    """From the start of the interpreter to the first result, with an empty and with a filled kernel cache."""
    command = [sys.executable, "-c", FIRST_RESULT.format(file=str(NITROGEN), backend=str(backend))]
    bare = statistics.median(timed([sys.executable, "-c", "import numpy"])[0] for _ in range(3))
    with tempfile.TemporaryDirectory() as folder:
        cold = timed(command, FRAME_CACHE=folder)[0]
        warm = statistics.median(timed(command, FRAME_CACHE=folder)[0] for _ in range(3))

    rows = []
    for kind, seconds in (("cold", cold), ("warm", warm)):
        made = row(f"{kind} start of Python, first result", backend, seconds, STARTED)
        rows.append(made.beside("start of Python and NumPy", STARTED / bare))
    return rows


def timed(command, **environment) -> tuple[float, str]:
    """(seconds, standard output) of a process. Raises BackendError, with the output, if it fails."""
    words = [str(part) for part in command]
    begin = time.perf_counter()
    done = subprocess.run(words, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True)
    if done.returncode:
        raise BackendError(f"{command[0]} failed (status {done.returncode}): {(done.stdout + done.stderr)[-1500:]}")
    return time.perf_counter() - begin, done.stdout


# ---- Fortran


def host(name: str = "entry_points.f90", module: bool = False, level: str = "-O2", *more: str) -> pathlib.Path:
    """A Fortran program of this folder, compiled and linked against libframe, which is built if it is not there.
    module: the program uses frame_interface. more: flags of the compiler."""
    from ... import build

    program, version = fortran.compiler()
    library = BUILD / "libframe.so"
    if not library.is_file():
        build.build(fortran=False, say=lambda text: None)
    source, interface = HERE / name, build.fortran_module() if module else ""

    def make(path):
        link = [f"-L{library.parent}", "-lframe", f"-Wl,-rpath,{library.parent}"]
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            sources = [source]
            if module:
                used = pathlib.Path(folder) / "frame_interface.f90"
                used.write_text(interface)
                sources.insert(0, used)
            fortran.run(
                [program, level, *more, "-march=native", "-J", folder, *sources, "-o", path, *link], source.name
            )

    key = cache.key(source.read_bytes(), interface, level, *more, version, library)
    return cache.entry(f"{source.stem}-{key}", ".exe", make)


def printed(command, backend, **environment) -> dict[str, float]:
    """The numbers that a Fortran program prints, a name and a number in each line."""
    lines = timed(command, FRAME_BACKEND=str(backend), **PLAIN, **environment)[1].splitlines()
    pairs = [line.split() for line in lines if line]
    return {name: float(value) for name, value in pairs}


def small_blocks(backend) -> list[Row]:
    """Block calls with next to no work, and of a slab of three points in x, beside a plain loop."""
    program = host("small_blocks.f90", module=True, level="-O3")
    seconds = printed([program, MIXTURE, AIR, SLAB], backend)

    arrays = row("block call with 13 arrays of one point, from Fortran", backend, seconds["arrays"], 1)
    points = 3 * SLAB**2
    text = f"block call for a slab of 3 x {SLAB} x {SLAB} points, ideal gas"
    slab = row(text, backend, seconds["slab"], points)
    return [arrays, slab.beside("plain Fortran, -O3", points / seconds["plain"])]


MECHANISMS = {  # file, species, equation of state
    "H2/O2": ("h2_o2.yaml", 9, "ideal"),
    "CH4/O2": ("ch4_o2.yaml", 23, "ideal"),
    "H2/O2, Peng-Robinson": ("h2_o2.yaml", 9, "pr"),
    "CH4/O2, Peng-Robinson": ("ch4_o2.yaml", 23, "pr"),
}
FUNCTIONS = {"thermal": "thermal", "kinetics": "kinetics", "temperature": "T from e, rho"}
TEAM = 2  # threads of an OpenMP loop of the host


def single_points(backend) -> list[Row]:
    """Functions of one point beside block calls of 16^3 points, by one thread and in a loop of OpenMP; small block
    calls with species apart beside a 4-D array. All of the same host arrays in turns."""
    program = host("one_point.f90", True, "-O3", "-fopenmp")
    cores = len(os.sched_getaffinity(0))

    rows = []
    for gas, (file, ns, equation) in MECHANISMS.items():
        command = [program, ROOT / "examples" / "mechanisms" / file, ns, equation]
        seconds = printed(command, backend, OMP_NUM_THREADS="1")
        rows += point_rows(seconds, gas, ns, backend)
        if cores >= TEAM:
            team = str(TEAM)
            shared = printed(command, backend, OMP_NUM_THREADS=team, FRAME_THREADS=team)
            rows += point_rows(shared, f"{gas}, {team} threads", ns, backend)

        text = f"kinetics of {gas}, 8 x 8 x 8 points, a field for each species"
        rows.append(
            Row.timed("launch", text, ns, 1, backend, seconds["apart"]).beside("a 4-D array", 1 / seconds["array"])
        )

    return rows


def point_rows(seconds: dict[str, float], what: str, ns: int, backend) -> list[Row]:
    """Rows of the functions, from the numbers that one_point.f90 prints."""
    rows = []
    for name, text in FUNCTIONS.items():
        made = Row.timed("launch", f"function of one point, {text} of {what}", ns, 1, backend, seconds[name])
        rows.append(made.beside("block call of 16 x 16 x 16", 1 / seconds[f"{name}_block"]))
    return rows


STRIPES = {
    "put": "populateinputstripe of Q, from Fortran",
    "thermal": "eosthermalproperties, from Fortran",
    "launch": "launch of one kernel, from Fortran",
    "get": "populateoutputstripe, from Fortran",
}


def stripe_calls(backend) -> list[Row]:
    """Calls of the old-style entry points."""
    seconds = printed([host(), NITROGEN], backend)
    return [row(text, backend, seconds[name]) for name, text in STRIPES.items()]


def from_fortran(backend, repeats: int) -> list[Row]:
    """Calls of the old-style entry points in a Fortran program, and the time to its first result."""
    program = host()
    with tempfile.TemporaryDirectory() as folder:
        cold, *runs = (printed([program, NITROGEN], backend, FRAME_CACHE=folder) for _ in range(1 + min(repeats, 3)))
    warm = {name: statistics.median(run[name] for run in runs) for name in cold}

    rows = [row(text, backend, warm[name]) for name, text in STRIPES.items()]
    for kind, seconds in (("cold", cold["start"]), ("warm", warm["start"])):
        rows.append(row(f"{kind} start of libframe, first result", backend, seconds))
    return rows
