"""`bench launch`: time of a launch from Python and from Fortran, and time from start to first result."""

from __future__ import annotations

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

import kernels
from kernels.engine.backend import cache
from kernels.engine.backend.base import Shape, Source
from kernels.engine.backend.record import record

from ...errors import BackendError
from ...shipped import BUILD, ROOT
from . import fortran
from .report import Report, Row

HERE = pathlib.Path(__file__).resolve().parent
NITROGEN = ROOT / "examples" / "mixtures" / "n2.yaml"
MIXTURE = ROOT / "examples" / "mixtures" / "ch4_o2.yaml"
POINTS = 16  # next to no work: what is left is the call
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
    "from kernels import Mixture; import numpy as np; mix = Mixture.from_yaml({file!r}); "
    "mix.properties('rho h c', backend={backend!r}, T=np.full(64, 300.0), p=1e5, Y=np.ones((1, 64)))"
)


def run(given, backend, say) -> Report:
    """Rows of the three parts. Notes name the parts that this machine cannot run."""
    say("launches from Python")
    rows, left_out = from_python(backend, given.repeats), []
    say("starts of Python")
    rows += python_starts(backend)
    say("entry points from Fortran")
    try:
        rows += from_fortran(backend, given.repeats)
        rows += small_blocks(backend)
    except BackendError as error:
        left_out.append(f"Entry points from Fortran are left out: {error}")
    notes = (
        f"{POINTS} points of nitrogen, so that next to no time goes into the work; medians. A cold start has an empty "
        "kernel cache, so it compiles; a warm one finds its kernels there."
    )
    return Report(rows, [], "\n".join([notes, *left_out]))


def row(
    what: str, backend, seconds: float, points: int = POINTS, beside: str | None = None, takes: float | None = None
) -> Row:
    """beside and takes: something to hold it against, and its seconds for as many points."""
    made = Row("launch", what, 1, points, str(backend), seconds, points / seconds, beside)
    if takes is not None:
        made.rival_points_per_s, made.ratio = points / takes, takes / seconds
    return made


def per_call(backend, work, repeats: int) -> float:
    """Median over the repeats of the mean seconds of a call, on the host's clock, what was queued included."""
    times = []
    for _ in range(repeats + 1):
        backend.synchronize()
        begin = time.perf_counter()
        for _ in range(CALLS):
            work()
        backend.synchronize()
        times.append((time.perf_counter() - begin) / CALLS)
    return statistics.median(times[1:])


def from_python(backend, repeats: int) -> list[Row]:
    """Rows on the time of a launch from Python: N2, a few points."""
    mixture = kernels.Mixture.from_yaml(NITROGEN)
    rows = []
    beside, nothing = empty_call(backend)
    takes = per_call(backend, nothing, repeats)
    names: dict[str, dict[str, Any]] = {
        "launch of one kernel from Python": dict(kernels=["total_enthalpy"]),
        "launch of thermal from Python": dict(outputs=kernels.collections["thermal"].outputs, given=("T", "p", "Y")),
    }
    for what, chosen in names.items():
        program = mixture.program(backend=backend, **chosen)
        arrays = {a: backend.empty((program.plan.rows(a), backend.pad(POINTS))) for a in program.plan.arguments}
        for name, value in {"T": 300.0, "p": 1e7, "Y": 1.0, "h": 1e5, "u": 10.0, "v": 0.0, "w": 0.0}.items():
            if name in arrays:
                arrays[name][...] = value
        launch = program.bind(arrays)
        rows.append(row(what, backend, per_call(backend, lambda: launch(POINTS), repeats), beside=beside, takes=takes))
    return rows


def empty_call(backend):
    """(name, call): a kernel that does nothing, launched as every kernel is."""
    run = backend.compile(NOTHING).bind("nothing", Shape(32), record("unused:whole"))
    return "an empty kernel", lambda: run(1)


def timed(command, **environment) -> tuple[float, str]:
    """(seconds, standard output) of a process. Raises BackendError, with the output, if it fails."""
    begin = time.perf_counter()
    done = subprocess.run(
        [str(part) for part in command], cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True
    )
    if done.returncode:
        raise BackendError(f"{command[0]} failed (status {done.returncode}): {(done.stdout + done.stderr)[-1500:]}")
    return time.perf_counter() - begin, done.stdout


def python_starts(backend) -> list[Row]:
    """From starting the interpreter to the first result, with an empty and with a filled kernel cache."""
    command = [sys.executable, "-c", FIRST_RESULT.format(file=str(NITROGEN), backend=str(backend))]
    takes = statistics.median(timed([sys.executable, "-c", "import numpy"])[0] for _ in range(3))
    with tempfile.TemporaryDirectory() as folder:
        cold = timed(command, FRAME_CACHE=folder)[0]
        warm = statistics.median(timed(command, FRAME_CACHE=folder)[0] for _ in range(3))
    return [
        row(f"{kind} start of Python, first result", backend, seconds, 64, "start of Python and NumPy", takes)
        for kind, seconds in (("cold", cold), ("warm", warm))
    ]


def host(name: str = "entry_points.f90", module: bool = False, level: str = "-O2") -> pathlib.Path:
    """A Fortran program of this folder, compiled and linked against libframe, which is built when it is not there.
    module: it uses frame_interface."""
    from ... import build

    program, version = fortran.compiler()
    library = BUILD / "libframe.so"
    if not library.is_file():
        build.build(fortran=False, say=lambda text: None)
    source, interface = HERE / name, build.fortran_module() if module else ""

    def make(path):
        link = [f"-L{library.parent}", "-lframe", f"-Wl,-rpath,{library.parent}"]
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            used = pathlib.Path(folder) / "frame_interface.f90"
            used.write_text(interface)
            fortran.run(
                [program, level, "-march=native", "-J", folder, *[used] * module, source, "-o", path, *link],
                source.name,
            )

    return cache.entry(
        f"{source.stem}-{cache.key(source.read_bytes(), interface, level, version, library)}", ".exe", make
    )


def small_blocks(backend) -> list[Row]:
    """Block calls with next to no work, and of a slab of three points in x, beside a plain loop."""
    program = host("small_blocks.f90", module=True, level="-O3")
    given = MIXTURE, ROOT / "examples" / "own_kernel" / "air.py", 64
    lines = timed([program, *given], FRAME_BACKEND=str(backend), FRAME_TIMERS="0", FRAME_CHECK="0")[1].split("\n")
    told = {name: float(value) for name, value in (line.split() for line in lines if line)}
    slab = "block call for a slab of 3 x 64 x 64 points, ideal gas"
    return [
        row("block call with 13 arrays of one point, from Fortran", backend, told["arrays"], 1),
        row(slab, backend, told["slab"], 3 * 64**2, "plain Fortran, -O3", told["plain"]),
    ]


STRIPES = {
    "put": "populateinputstripe of Q, from Fortran",
    "thermal": "eosthermalproperties, from Fortran",
    "launch": "launch of one kernel, from Fortran",
    "get": "populateoutputstripe, from Fortran",
}


def stripe_calls(backend) -> list[Row]:
    """Calls of the old-style entry points."""
    environment = {"FRAME_BACKEND": str(backend), "FRAME_TIMERS": "0", "FRAME_CHECK": "0"}
    lines = timed([host(), NITROGEN], **environment)[1].split("\n")
    told = {name: float(value) for name, value in (line.split() for line in lines if line)}
    return [row(text, backend, told[name]) for name, text in STRIPES.items()]


def from_fortran(backend, repeats: int) -> list[Row]:
    """Calls of the old-style entry points in a Fortran program, and its time to the first result."""
    program, told = host(), []
    with tempfile.TemporaryDirectory() as folder:
        environment = {"FRAME_BACKEND": str(backend), "FRAME_CACHE": folder, "FRAME_TIMERS": "0", "FRAME_CHECK": "0"}
        for _ in range(1 + min(repeats, 3)):
            lines = timed([program, NITROGEN], **environment)[1].split("\n")
            told.append({name: float(value) for name, value in (line.split() for line in lines if line)})
    warm = {name: statistics.median(run[name] for run in told[1:]) for name in told[0]}
    rows = [row(text, backend, warm[name]) for name, text in STRIPES.items()]
    starts = {"cold": told[0]["start"], "warm": warm["start"]}
    return rows + [row(f"{kind} start of libframe, first result", backend, seconds) for kind, seconds in starts.items()]
