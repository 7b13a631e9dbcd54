"""`auto`: the GPU or the CPU, by a committed table of measured times and a short formula. Nothing is timed in a run.

Nanoseconds a point, of all ranks of a device together, for T, p, Y in and rho, h, c, mu, lam, D out (`BYTES`):

    CPU = core(species) / cores^0.9                             cores: of all threads of the ranks
    GPU = max(bytes / link, kernel(species))                    block calls
        + arrays x wait / (chunk x ranks)                       a call for each array and chunk, each of which waits

core and kernel are rows of rule.csv, between them by the logarithms. link, bytes a second in and out, is the median of
the rows of block calls; wait, of one call, the longest of the rows with the shortest chunk. Both belong to a way of
sharing: one rank alone; several by CUDA's multi-process service; several in turns, where they wait one after the other
and the ranks do not count. A device that is not in the table has the first one's times, in proportion to its link, and
to its memory or arithmetic, whichever is slower.
"""

from __future__ import annotations

import csv
import functools
import math
import pathlib
import statistics
import typing

from kernels.engine.backend.base import Rates

from ..errors import BackendError, refuse

CALLS = ("chunks", "blocks")  # how a host calls: array by array and chunk by chunk, or by block calls
HOW = {"alone": "has", "service": "share by MPS", "turns": "share in turns"}
TABLE = pathlib.Path(__file__).with_suffix(".csv")
ARRAYS = 10  # calls a chunk: 3 arrays in, a launch, 6 arrays out
# 4 ranks were 4.0 times as fast as one, 8 were 5.6 to 7.7 times, 16 were 8.6 times
TOGETHER = 0.9
SINGLE = {"CPU": 1.4, "GPU": 1.5}  # times faster than double, docs/explanation/accuracy.md
KNOWN = {"NVIDIA H200": Rates("NVIDIA H200", "", 63e9, 4.9e12, 33e12)}  # PCIe 5 x16; from the driver
LEAST_LINK = 12e9  # where the system does not tell: PCIe 3 x16


class Row(typing.NamedTuple):
    """A measured time."""

    calls: str  # of CALLS; "cores": one rank by block calls on a CPU; "kernel": data on the device
    sharing: str  # a key of HOW
    ranks: int
    species: int
    chunk: int
    bytes: int  # of a point, in and out
    arrays: int  # calls a chunk
    gpu: float  # ns a point of all ranks together, NaN: not measured
    cpu: float  # the same
    device: str
    host: str  # of the CPU's figure
    date: str
    by: str  # the command that printed it


@functools.cache
def table() -> tuple[Row, ...]:
    """The rows of rule.csv."""

    def row(line: dict[str, str]) -> Row:
        whole = {key: int(line[key] or 0) for key in ("ranks", "species", "chunk", "bytes", "arrays")}
        times = {key: float(line[key] or "nan") for key in ("gpu", "cpu")}
        return Row(**{**line, **whole, **times})  # type: ignore[arg-type]

    with open(TABLE, newline="") as file:
        return tuple(map(row, csv.DictReader(file)))


class Work(typing.NamedTuple):
    """The work of the host, as far as frame_initialize and the options describe it."""

    species: int
    precision: str
    calls: str
    chunk: int

    @property
    def bytes(self) -> int:
        return 8 * (7 + 2 * self.species)


class Facts(typing.NamedTuple):
    """The facts of a rank that the rule decides by."""

    node: int  # any number, the same for all ranks of a node
    ranks: int  # for how many ranks it stands
    cores: int  # of its threads on the CPU
    rates: Rates | None  # of its device; None: it has none
    work: Work
    auto: bool  # whether the rule decides here
    service: bool  # whether ranks share devices by CUDA's service
    used: bool  # whether the host uses the device itself


def cpu(work: Work, cores: int) -> float:
    """ns a point of ranks that have so many cores together."""
    times = {row.species: row.cpu for row in table() if row.calls == "cores"}
    return _between(times, work.species) / cores**TOGETHER / _faster(work, "CPU")


def gpu(work: Work, rates: Rates, ranks: int, service: bool) -> float:
    """ns a point of so many ranks together on this device."""
    like, link, kernel = _proportions(rates)
    sharing = sharing_of(ranks, service)
    times = {row.species: row.gpu for row in table() if row.calls == "kernel" and row.device == like}
    kernels = _between(times, work.species) * kernel / _faster(work, "GPU")
    taken = max(work.bytes / (_link(like, sharing) * link), kernels)

    if work.calls == "chunks":
        taken += ARRAYS * _wait(like, sharing) / (work.chunk * _at_once(sharing, ranks))
    return taken


def sharing_of(ranks: int, service: bool) -> str:
    """The word of the table for how ranks share a device. service: whether CUDA's multi-process service runs."""
    if ranks == 1:
        return "alone"
    return "service" if service else "turns"


def choose(everyone: list[Facts]) -> tuple[bool, str]:
    """(whether the GPU is taken, a line that says why the CPU is), the same for all ranks: of every device of the job
    the slowest counts. Errors: BackendError if ranks would not take the same side."""
    asked = [rank for rank, facts in enumerate(everyone) if facts.auto]
    _refuse_nodes_in_part(everyone, asked)
    if not asked or any(everyone[rank].rates is None for rank in asked):
        return False, ""
    if any(everyone[rank].used for rank in asked):
        return True, ""

    chosen: dict[Work, tuple[bool, str]] = {}
    sides: dict[bool, list[int]] = {}

    for rank in asked:
        work = everyone[rank].work
        if work not in chosen:
            chosen[work] = _slowest(everyone, work)
        sides.setdefault(chosen[work][0], []).append(rank)

    if len(sides) > 1:
        raise BackendError(
            f"backend auto: {_ranks(sides[True])} would take the GPU and {_ranks(sides[False])} the CPU, as they "
            "differ in species, precision, calls or chunk; set FRAME_BACKEND."
        )

    return chosen[everyone[asked[0]].work]


def _refuse_nodes_in_part(everyone: list[Facts], asked: list[int]) -> None:
    """Raises BackendError if some ranks of a node see a device, and others there do not."""
    nodes: dict[int, list[int]] = {}
    for rank in asked:
        nodes.setdefault(everyone[rank].node, []).append(rank)

    for _, ranks in sorted(nodes.items()):
        without = [rank for rank in ranks if everyone[rank].rates is None]
        refuse(
            0 < len(without) < len(ranks),
            f"backend auto: {_ranks(without)} of a node with GPUs see none, the others there do; set FRAME_BACKEND, or "
            "CUDA_VISIBLE_DEVICES alike.",
            BackendError,
        )


class _Times(typing.NamedTuple):
    """Nanoseconds that a rank of a device waits for a point: ns a point of all ranks together, times their number."""

    gpu: float
    cpu: float
    ranks: int
    sharing: str  # in words


def _slowest(everyone: list[Facts], work: Work) -> tuple[bool, str]:
    """As `choose`, for ranks that all do this work: a step lasts as long as its slowest rank."""
    devices: dict[tuple[int, Rates], list[Facts]] = {}
    for facts in everyone:
        if facts.rates is not None:
            devices.setdefault((facts.node, facts.rates), []).append(facts)

    found = [_times(work, rates, shared) for (_, rates), shared in devices.items()]
    slowest = max(found)
    host = max([times.cpu for times in found])

    if slowest.gpu <= host:
        return True, ""

    return False, (
        f"auto takes the CPU: {slowest.sharing}, called by {_called(work)}: about {slowest.gpu / slowest.ranks:.3g} ns "
        f"a point there, {host / slowest.ranks:.3g} on their cores (python -m frame info has the table, FRAME_BACKEND "
        "forces a side)"
    )


def _times(work: Work, rates: Rates, shared: list[Facts]) -> _Times:
    """shared: the ranks that share a device."""
    service = shared[0].service
    ranks = sum([facts.ranks for facts in shared])
    cores = sum([facts.ranks * facts.cores for facts in shared])
    plural = "s" if ranks > 1 else ""
    sharing = f"{ranks} rank{plural} {HOW[sharing_of(ranks, service)]} a GPU ({rates.product})"

    return _Times(ranks * gpu(work, rates, ranks, service), ranks * cpu(work, cores), ranks, sharing)


def _called(work: Work) -> str:
    return "blocks" if work.calls == "blocks" else f"chunks of {work.chunk} (FRAME_CALLS=blocks: by block calls)"


def _ranks(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:8])) + ", ..." * (len(numbers) > 8)
    return f"rank{'s' * (len(numbers) > 1)} {shown}"


def _faster(work: Work, side: str) -> float:
    return SINGLE[side] if work.precision == "single" else 1.0


def known(rates: Rates) -> bool:
    """Whether the table has figures of this device."""
    return any(row.device == rates.product for row in table())


def _proportions(rates: Rates) -> tuple[str, float, float]:
    """(device of the table; and as factors of that device: rate of the link, time of a kernel)"""
    if known(rates):
        return rates.product, 1.0, 1.0

    like = next(row.device for row in table() if row.device)
    its = KNOWN[like]
    slower = [theirs / ours for ours, theirs in ((rates.memory, its.memory), (rates.double, its.double)) if ours]

    return like, (rates.link or LEAST_LINK) / its.link, max(slower, default=1.0)


def _rows(calls: str, device: str, sharing: str) -> list[Row]:
    return [row for row in table() if (row.calls, row.device, row.sharing) == (calls, device, sharing)]


@functools.cache
def _link(device: str, sharing: str) -> float:
    """Bytes a nanosecond that block calls move in and out."""
    return statistics.median(row.bytes / row.gpu for row in _rows("blocks", device, sharing))


@functools.cache
def _wait(device: str, sharing: str) -> float:
    """Nanoseconds of one call of a chunk, beyond what a block call takes: the longest of the shortest chunk that was
    measured, where waits count most."""
    link, rows = _link(device, sharing), _rows("chunks", device, sharing)
    shortest = min(row.chunk for row in rows)
    return max(
        (row.gpu - row.bytes / link) * row.chunk * _at_once(sharing, row.ranks) / row.arrays
        for row in rows
        if row.chunk == shortest
    )


def _at_once(sharing: str, ranks: int) -> int:
    """How many ranks wait at the same time."""
    return 1 if sharing == "turns" else ranks


def _between(times: dict[int, float], species: int) -> float:
    """The time at this number of species: straight lines between logarithms, the last lines go on."""
    known = sorted(times)
    n = sum([m < species for m in known])
    n = min(max(n, 1), len(known) - 1)

    a, b = math.log(known[n - 1]), math.log(known[n])
    low, high = math.log(times[known[n - 1]]), math.log(times[known[n]])
    x = math.log(max(species, 1))

    return math.exp(low + (high - low) * (x - a) / (b - a))
