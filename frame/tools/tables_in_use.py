"""Lines on the tables of measured times in use: launches, tensor expressions, placement."""

import itertools
import os

import numpy as np

import kernels
from kernels.contractions import host_rates, table as organisations
from kernels.gas import launches

from ..config import Config
from ..devices import rule
from ..errors import ArgumentError, FrameError

CHUNK = 12288  # points of a chunk in the lines on placement, as in the demo


def launch_table(mixture=None) -> list[tuple[str, str]]:
    """Lines on the table of CUDA launches in use; for a mixture on a device also on the rows for its collections."""
    path = launches.in_force()
    why = "FRAME_LAUNCHES" if path != launches.COMMITTED else "the project's own; FRAME_LAUNCHES names another"
    measured = dict.fromkeys(f"{row.device}, {row.compiler}, {row.date}" for row in launches.read(path))

    rows = [("launches", f"{path} ({why}), measured on {'; '.join(measured)}")]
    try:
        backend = kernels.get_backend(Config().backend)
    except FrameError:  # a line above has the reason
        return rows

    if mixture is None or backend.style != "threads":
        return rows

    for c in kernels.collections.values():
        try:
            row = launches.serving(
                kernels.resolve(c.outputs, c.given, mixture.options),
                mixture,
                "double",
                backend.product,
                memory=backend.shared_memory,
            )
        except ArgumentError:  # not for these options
            continue

        rows.append((f"  {c.name}", f"line {row.line}, of {row.ns} species: {launches.text(row.how)}"))

    return rows


def organisation_table() -> list[tuple[str, str]]:
    """Lines on the table of organisations of tensor expressions in use, and on the rows measured on this machine."""
    path = organisations.in_force()
    named = path != organisations.COMMITTED
    why = "FRAME_ORGANISATIONS" if named else "the project's own; FRAME_ORGANISATIONS names another"
    known = organisations.rows(path)

    rows = [("organisations", f"{path} ({why}): {len(known)} tensor expressions")]
    try:
        backend = kernels.get_backend(Config().backend)
    except FrameError:  # a line above has the reason
        return rows

    if backend.style == "packs":
        rows += [(f"  rates, {dtype}", host_rates.told(dtype)) for dtype in host_rates.USUAL]
    for row in known.values():
        if row.key[3:] == (backend.product, backend.compiler, organisations.GENERATOR):
            told = f"line {row.line}, {row.date}: order {row.order}, {row.how}"
            rows.append((f"  {row.case[:40]}", f"{row.key.dtype} {row.key.sizes}: {told}"))

    return rows


def placement_table(config: Config, ns: int) -> list[tuple[str, str]]:
    """Lines on the side that `auto` chooses here, and with 1, 4, 8, 16 single-core ranks on a GPU, and on the measured
    times behind the choice."""
    # The rates of the GPU, or of the first GPU in the table.
    try:
        here = kernels.engine.backend.device_rates(0) if kernels.engine.backend.cuda_devices("auto") else None
    except FrameError:  # a line above says why there is no GPU
        here = None

    rates = here or next(iter(rule.KNOWN.values()))
    source = _source_of_times(here)
    forced = "" if config.backend == "auto" else f"; FRAME_BACKEND={config.backend} forces a side"
    rows = [("placement", f"FRAME_PLACEMENT {config.placement}, FRAME_CALLS {config.calls}; {source}{forced}")]
    rows.append(("  here", _side_here(config, here, ns)))

    # Estimates for several ranks, with and without CUDA's multi-process service.
    for ranks in (1, 4, 8, 16):
        estimates = []
        services = (True, False) if ranks > 1 else (True,)

        for calls, service in itertools.product(rule.CALLS[::-1], services):
            work = rule.Work(ns, config.precision, calls, CHUNK)
            gpu, cpu = rule.gpu(work, rates, ranks, service), rule.cpu(work, ranks)
            how = {"alone": "", "service": " by MPS", "turns": " in turns"}[rule.sharing_of(ranks, service)]
            estimates.append(f"{calls}{how} {gpu:.3g}: {'GPU' if gpu <= cpu else 'CPU'}")

        head = f"{_ranks(ranks)}, {rates.product}, ns a point of {ns} species"
        rows.append((f"  {ranks}", f"{head}: CPU {cpu:.3g}; GPU, {', '.join(estimates)}"))

    # Measured times.
    for row in rule.table():
        times = [f"{side} {ns_}" for side, ns_ in (("GPU", row.gpu), ("CPU", row.cpu)) if np.isfinite(ns_)]
        case = " ".join(filter(None, (row.calls, row.sharing, _ranks(row.ranks))))
        where = ", ".join(filter(None, (row.device, row.host, row.date, row.by)))
        rows.append(
            ("  measured", f"{case}, {row.species} species, chunk {row.chunk}: {', '.join(times)} ns ({where})")
        )

    return rows


def _ranks(number: int) -> str:
    """ "1 rank", "4 ranks"."""
    return "1 rank" if number == 1 else f"{number} ranks"


def _source_of_times(gpu) -> str:
    """On which times the choice for this GPU rests. gpu: its Rates; None: there is no GPU."""
    if gpu is None:
        return "no GPU here: CPU"
    if rule.known(gpu):
        return f"{gpu.product} is in the table"

    figures = (
        ("link", gpu.link, 1e9, "GB/s"),
        ("memory", gpu.memory, 1e12, "TB/s"),
        ("double precision", gpu.double, 1e12, "Tflop/s"),
    )
    shown = []
    for name, value, unit, unit_name in figures:
        shown.append(f"{name} {value / unit:.3g} {unit_name}" if value else f"{name} not told")
    known = ", ".join(rule.KNOWN)

    return f"{gpu.product} is not in the table: times of {known} in proportion to its {', '.join(shown)}"


def _side_here(config: Config, rates, ns: int) -> str:
    """The side (GPU or CPU) that `auto` chooses for this process as a single rank."""
    facts = rule.Facts(
        0,
        1,
        min(config.threads, len(os.sched_getaffinity(0))),
        rates,
        rule.Work(ns, config.precision, config.calls, CHUNK),
        True,
        kernels.engine.backend.mps_runs(),
        False,
    )
    on_gpu, said = rule.choose([facts])
    return f"1 rank, {facts.cores} of its cores, chunk {CHUNK}: " + (said or ("GPU" if on_gpu else "CPU"))
