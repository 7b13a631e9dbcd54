"""python -m examples.mini_solver scaling, under mpirun: the same flow on 1, 2, 4, ... of the ranks, up to all of them.

Strong: one grid, shared by more and more ranks; the fields at the end have to be the same to the bit. Weak: a block of
that size for each rank. On a GPU with each way of exchange that is asked for. Ranks that take no part sleep.
"""

import dataclasses
import hashlib
import json
import pathlib
import time
from typing import NamedTuple

import numpy as np

from . import layer, mailboxes
from .case import Case
from .changes import change
from .errors import NoWay, wanted
from .exchange import ways as ways_here
from .files import save, whole
from .flow import Flow
from .results import try_folder

ROUNDS, WARM = 3, 3
LAYER = "0.5*(1 - tanh((y - 0.5e-3 + 5e-5*sin(2*pi*x/2e-3))/1e-4))"
PARTS = {
    "properties": ("properties",),
    "fluxes": ("flux", "viscous", "boundaries", "limiter"),
    "exchange": ("exchange",),
    "update": ("update", "time step"),
}


def layer_case(
    cells,
    blocks=(1, 1, 1),
    scheme="double_flux",
    viscous=True,
    species=("CH4", "O2"),
    options=None,
    changes=(),
    **parallel,
) -> Case:
    """A layer of cold O2 below warm CH4, 3-D, repeated `blocks` times in x, y, z. cells: of all blocks together.
    changes: as changes.change takes them."""
    data = dict(
        mixture={"file": "examples/mixtures/ch4_o2.yaml", "species": list(species), "options": options or {}},
        domain=dict(cells=list(cells), upper=[2e-3 * blocks[0], 1e-3, 1e-3 * blocks[2]]),
        time={"steps": 1},
        initial=dict(
            p=1e7,
            X={"O2": LAYER, "CH4": "rest"},
            T=f"300 - 180*{LAYER}",
            u=f"40 - 60*{LAYER}",
            v="0.3*sin(2*pi*x/2e-3)",
            w="0.3*sin(2*pi*z/1e-3)",
        ),
        boundary={"y": "slip_wall"},
        numerics=dict(scheme=scheme, viscous=viscous),
        parallel=parallel,
    )

    change(data, changes)

    return Case(data)


def counts(ranks) -> list[int]:
    """1, 2, 4, ... and all of them."""
    return sorted({2**k for k in range(ranks.bit_length())} | {ranks})


def grid_of(n) -> tuple[int, int, int]:
    """Ranks in x and z, as square as they can be, more of them in z; y, which has walls, stays whole."""
    x = max(d for d in range(1, int(n**0.5) + 1) if n % d == 0)
    return x, 1, n // x


def measure(flow, steps) -> dict:
    """Seconds a step (of the slowest rank) in the fastest of some rounds, and the shares of its parts (mean over the
    ranks). Where steps are graphs, which have no timers inside, the shares are those of steps that are launched kernel
    by kernel, which take "launched" seconds."""
    best = fastest(flow, steps, watch=True)

    if flow.backend.memory == "device":  # with or without graphs: all flows take as many steps
        fast = fastest(flow, steps, watch=False)
        if flow.replay.able:
            best |= {"launched": best["step"], "step": fast["step"]}

    return best | {"graph": flow.replay.able, "note": flow.replay.note}


def fastest(flow, steps, watch) -> dict:
    """The fastest of some rounds. watch: as Replay has it."""
    flow.replay.watch = watch
    flow.take(WARM)

    rounds = [measure_round(flow, steps) for _ in range(ROUNDS)]

    return min(rounds, key=lambda measured: measured["step"])


def measure_round(flow, steps) -> dict:
    """Seconds a step, shares of its parts, milliseconds by timer."""
    layer.restart_timers(flow.frame)
    flow.backend.synchronize()
    flow.ranks.smallest([0.0])  # together
    began = time.perf_counter()

    flow.take(steps)
    flow.backend.synchronize()
    took = -float(flow.ranks.smallest([began - time.perf_counter()])[0])

    seconds = layer.seconds(flow.frame)
    spent = [sum(seconds[name] for name in names) for names in PARTS.values()]
    spent = flow.ranks.total(spent) / flow.ranks.size / took

    return {
        "step": took / steps,
        **dict(zip(PARTS, map(float, spent))),
        "rest": float(1 - spent.sum()),
        "ms": {name: 1e3 * spent / steps for name, spent in seconds.most_common()},
    }


def digest(flow) -> str:
    """A digest of all bits of the flow's state, on rank 0."""
    text = hashlib.sha256()
    for row in flow.state()["U"]:
        field = whole(flow, row)
        if field is not None:
            text.update(field.tobytes())

    return text.hexdigest()[:16]


class Table:
    """Measured rows, printed on rank 0. wrong: whether numbers of ranks gave different bits."""

    def __init__(self, rank):
        self.rank, self.rows, self.wrong = rank, [], False

    def say(self, text):
        if self.rank == 0:
            print(text, flush=True)

    def head(self, kind, cells, changes):
        """kind: "strong" or "weak"."""
        size = f"{cells} x {cells} x {cells} cells {'in all' if kind == 'strong' else 'a rank'}"
        words = "".join(f", {change}" for change in changes)
        parts = " ".join(f"{part:>10}" for part in (*PARTS, "rest"))

        self.say(
            f"{kind}: {size}, double flux, viscous, CH4 and O2{words}\n"
            f"{'ranks':>6} {'grid':>7} {'exchange':>15} {'ms/step':>9} {'point steps/s':>14} {'efficiency':>10}  "
            f"{parts}{'  bits' if kind == 'strong' else ''}"
        )

    def missing(self, ranks, grid, way, error):
        """A way of exchange that these ranks do not have."""
        self.say(f"{ranks:6d} {self._grid(grid):>7} {way:>15}: {error}")

    def add(self, row, flow):
        """Compare a row with the first row of its kind, keep it, and print it."""
        first = next((other for other in self.rows if other["kind"] == row["kind"]), row)

        row["rate"] = float(np.prod(flow.case.cells)) / row["step"]
        row["efficiency"] = row["rate"] / (row["ranks"] * first["rate"])

        bits = ""
        if row["kind"] == "strong":
            row["digest"] = digest(flow)
            same = row["digest"] == first["digest"]
            bits = "  same" if same else "  OTHER"
            self.wrong = self.wrong or self.rank == 0 and not same

        self.rows.append(row)
        parts = " ".join(f"{100 * row[part]:8.1f} %" for part in (*PARTS, "rest"))
        self.say(
            f"{row['ranks']:6d} {self._grid(row['grid']):>7} {row['exchange_way']:>15} {1e3 * row['step']:9.3f} "
            f"{row['rate']:14.3e} {100 * row['efficiency']:8.1f} %  {parts}{bits}"
        )

    @staticmethod
    def _grid(grid) -> str:
        return " x ".join(map(str, grid[::2]))


@dataclasses.dataclass(frozen=True)
class Study:
    """Sizes and kinds of flows that are measured."""

    cells: int = 64  # along each edge of the grid, or of each rank's block
    steps: int = 10  # of a round
    changes: tuple[str, ...] = ()  # of the case, as changes.change takes them
    ways: tuple[str, ...] = ("all",)  # of exchange, on a GPU
    kinds: tuple[str, ...] = ("strong", "weak")

    def check(self):
        """Errors: CaseError for less than a cell or a step."""
        wanted(self.cells >= 8, f"--cells {self.cells}; wanted 8 or more.")
        wanted(self.steps >= 1, f"--steps {self.steps}; wanted 1 or more.")

    def case(self, kind, grid, **parallel) -> Case:
        """The case of a kind on a grid of ranks."""
        blocks = grid if kind == "weak" else (1, 1, 1)
        return layer_case([self.cells * count for count in blocks], blocks, changes=self.changes, **parallel)


def main(comm, study, backend=None, path=None) -> int:
    """Exit status 0, or 2 where ranks give other bits. comm: COMM_WORLD, None without mpirun. Table on rank 0, JSON in
    `path`."""
    rank = comm.rank if comm is not None else 0
    study.check()
    if path and rank == 0:
        try_folder(pathlib.Path(path).parent)
    mailboxes.PATIENCE = 2**25  # nothing here takes longer than half a minute

    # All flows share a Frame: each rank keeps its device.
    frame = layer.open_frame(backend or "auto", comm)
    layer.begin(frame, study.case("strong", (1, 1, 1)).make_mixture())

    table = Table(rank)
    for kind in study.kinds:
        table.head(kind, study.cells, study.changes)
        run_kind(table, study, kind, comm, frame)

    if path and rank == 0:
        told = {"backend": frame.backend.describe(), "steps": study.steps, "rows": table.rows}
        save(pathlib.Path(path), json.dumps(told, indent=1, default=str).encode())

    frame.finalize()
    if table.wrong:
        table.say("ranks do NOT give the same bits")

    return 2 if comm is not None and comm.bcast(table.wrong) or table.wrong else 0


def run_kind(table, study, kind, comm, frame):
    """The rows of a kind, by numbers of ranks. Ranks that take no part sleep."""
    ways = ways_here(frame.backend) if "all" in study.ways else study.ways
    if comm is None:
        run(table, study, Flown(kind, 1, ways[0]), None, frame)
        return

    for n in counts(comm.size):
        takes_part = comm.rank < n
        group = comm.Split(0 if takes_part else 1, comm.rank)
        for way in ways if n > 1 else ways[:1]:
            if takes_part:
                run(table, study, Flown(kind, n, way), group, frame)

        wait_asleep(comm)
        group.Free()


class Flown(NamedTuple):
    """A flow of a row."""

    kind: str  # "strong" or "weak"
    ranks: int
    way: str  # of exchange


def run(table, study, flown, group, frame):
    """Measure a flow on the ranks of a group, and add its row to the table."""
    grid = grid_of(flown.ranks)
    case = study.case(flown.kind, grid, ranks=list(grid), exchange=flown.way)

    try:
        flow = Flow(case, group, frame)
    except NoWay as error:  # all ranks get it together
        table.missing(flown.ranks, grid, flown.way, error)
        return

    row = {
        "kind": flown.kind,
        "ranks": flown.ranks,
        "grid": grid,
        "exchange_way": flow.exchange.traffic(),
        "cells": flow.case.cells,
        **measure(flow, study.steps),
    }

    table.add(row, flow)

    flow.close()
    del flow
    frame.backend.release()


def wait_asleep(comm):
    """Wait for all ranks without taking their processor's time."""
    waiting = comm.Ibarrier()
    while not waiting.Test():
        time.sleep(0.005)
