"""python -m examples.mini_solver verify [--quick] [--jobs N]: the checks, their table, their pictures.

Each check yields rows (what, measured, bound, "below" or "above"). Exact solutions and the reference of the
manufactured flow use nothing of the layer; numbers quoted from elsewhere say so.
"""

import concurrent.futures
import math
import multiprocessing
import os
import pathlib
import time
import traceback

from kernels import get_backend

from ..errors import CaseError, wanted
from ..results import try_folder
from . import (
    axis,
    boundaries,
    flame,
    ideal_tubes,
    injection,
    interfaces,
    orders,
    restarts,
    shock_tubes,
    shu_osher,
    transport,
    turbulence,
    two_phases,
)
from .tools import CH4_O2 as CH4_O2, advance as advance, flow_of as flow_of  # the tests set up flows with them too

CHECKS = {
    "interface": interfaces.interface,
    "species_jump": interfaces.species_jump,
    "oxygen_in_hydrogen": interfaces.oxygen_in_hydrogen,
    "shock_tubes": shock_tubes.shock_tubes,
    "boiling_tube": two_phases.boiling_tube,
    "boiling_mixture": two_phases.boiling_mixture,
    "boiling_box": two_phases.closed_box,
    "contact": two_phases.contact,
    "ideal_tubes": ideal_tubes.ideal_tubes,
    "shu_osher": shu_osher.shu_osher,
    "jet": injection.jet,
    "coaxial_jet": injection.coaxial_jet,
    "impinging_jet": injection.impinging_jet,
    "vortex": orders.vortex,
    "vortex_real": orders.vortex_real,
    "acoustic": orders.acoustic,
    "time_order": orders.time_order,
    "manufactured": orders.manufactured_flow,
    "stretched": orders.stretched,
    "axisymmetric": axis.axisymmetric,
    "decay": transport.decay,
    "species_layer": transport.species_layer,
    "taylor_green": turbulence.taylor_green,
    "taylor_green_2d": turbulence.taylor_green_2d,
    "double_shear_layer": turbulence.double_shear_layer,
    "shear_layer": turbulence.shear_layer,
    "outlet": boundaries.outlet,
    "reflection": boundaries.reflection,
    "channel": boundaries.channel,
    "stretched_channel": boundaries.stretched_channel,
    "supersonic": boundaries.supersonic,
    "couette": boundaries.couette,
    "ignition": flame.ignition,
    "flame": flame.flame,
    "restart": restarts.restart,
}


def run(name, quick, pictures=None):
    """Rows (what, measured, bound, "below" or "above", passed) of one check."""
    return [
        (what, value, bound, sense, bool(value <= bound if sense == "below" else value >= bound))
        for what, value, bound, sense in CHECKS[name](quick, pictures)
    ]


def usual_jobs() -> int:
    """Checks at a time: as many as this process has cores; one where a device computes."""
    return 1 if get_backend().apart else len(os.sched_getaffinity(0))


def main(quick=False, only=(), folder=None, jobs=1) -> int:
    """Exit status 0 when every check passes, 2 otherwise. Table on the screen and in verify.md, pictures beside it. A
    check that ends by an error has failed; the others go on. jobs: checks at a time, each in a process of its own."""
    unknown = [name for name in only if name not in CHECKS]
    if unknown:
        raise CaseError(f"verify --only {unknown[0]}: unknown check; known: {', '.join(CHECKS)}.")
    wanted(jobs >= 1, f"verify --jobs {jobs}: wanted 1 or more.")

    folder = pathlib.Path(folder or "build/mini_solver/verify")
    try_folder(folder)

    lines, failed = ["| check | measured | bound | |", "|---|---|---|---|"], 0
    names = list(only or CHECKS)

    for name, (rows, seconds) in zip(names, _outcomes(names, quick, None if quick else folder, jobs)):
        for what, value, bound, sense, passed in rows:
            failed += not passed
            verdict, limit = "ok" if passed else "FAILED", f"{'<=' if sense == 'below' else '>='} {bound:.3g}"
            print(f"{verdict:<6} {what:<75} {value:10.3e} {limit}", flush=True)
            lines.append(f"| {what} | {value:.3e} | {limit} | {verdict} |")

        print(f"       {name}: {seconds:.1f} s", flush=True)
        (folder / "verify.md").write_text("\n".join(lines) + "\n")

    print(f"{len(lines) - 2 - failed} of {len(lines) - 2} passed; table: {folder / 'verify.md'}")

    return 2 if failed else 0


def _outcomes(names, quick, pictures, jobs):
    """(rows, seconds) of each check, in this order."""
    if min(jobs, len(names)) == 1:
        yield from (_outcome(name, quick, pictures) for name in names)
        return

    # New processes: a fork would take over what threads of this one hold.
    how = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(jobs, how) as pool:
        waiting = [pool.submit(_outcome, name, quick, pictures) for name in names]
        yield from (check.result() for check in waiting)


def _outcome(name, quick, pictures):
    """(rows, seconds) of a check; an error makes a row that has failed."""
    began = time.perf_counter()
    try:
        rows = run(name, quick, pictures)
    except Exception:
        traceback.print_exc()
        rows = [(f"{name}: ended by an error", math.nan, 0.0, "below", False)]

    return rows, time.perf_counter() - began
