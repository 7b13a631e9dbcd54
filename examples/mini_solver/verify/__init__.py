"""python -m examples.mini_solver verify [--quick]: the checks, their table, their pictures.

Each check yields rows (what, measured, bound, "below" or "above"). Exact solutions and the reference of the
manufactured flow use nothing of the layer; numbers quoted from elsewhere say so.
"""

import math
import pathlib
import time
import traceback

from ..errors import CaseError
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
)
from .tools import CH4_O2 as CH4_O2, advance as advance, flow_of as flow_of  # the tests set up flows with them too

CHECKS = {
    "interface": interfaces.interface,
    "species_jump": interfaces.species_jump,
    "shock_tubes": shock_tubes.shock_tubes,
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


def main(quick=False, only=(), folder=None) -> int:
    """Exit status 0 when every check passes, 2 otherwise. Table on the screen and in verify.md, pictures beside it. A
    check that ends by an error has failed; the others go on."""
    unknown = [name for name in only if name not in CHECKS]
    if unknown:
        raise CaseError(f"verify --only {unknown[0]}: unknown check; known: {', '.join(CHECKS)}.")

    folder = pathlib.Path(folder or "build/mini_solver/verify")
    try_folder(folder)

    lines, failed = ["| check | measured | bound | |", "|---|---|---|---|"], 0
    for name in only or CHECKS:
        began = time.perf_counter()

        try:
            rows = run(name, quick, None if quick else folder)
        except Exception:
            traceback.print_exc()
            rows = [(f"{name}: ended by an error", math.nan, 0.0, "below", False)]

        for what, value, bound, sense, passed in rows:
            failed += not passed
            verdict, limit = "ok" if passed else "FAILED", f"{'<=' if sense == 'below' else '>='} {bound:.3g}"
            print(f"{verdict:<6} {what:<75} {value:10.3e} {limit}", flush=True)
            lines.append(f"| {what} | {value:.3e} | {limit} | {verdict} |")

        print(f"       {name}: {time.perf_counter() - began:.1f} s", flush=True)
        (folder / "verify.md").write_text("\n".join(lines) + "\n")

    print(f"{len(lines) - 2 - failed} of {len(lines) - 2} passed; table: {folder / 'verify.md'}")

    return 2 if failed else 0
