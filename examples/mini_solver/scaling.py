"""python -m examples.mini_solver scaling, under mpirun: the same flow on 1, 2, 4, ... of the ranks, up to all of them.

Strong: one grid, shared by more and more ranks; the fields at the end have to be the same to the bit. Weak: a block of
that size for each rank. On a GPU with each way of exchange that is asked for. Ranks that take no part sleep.
"""

import hashlib
import json
import pathlib
import time

import numpy as np

from . import mailboxes
from .case import Case, change
from .errors import NoWay, wanted
from .files import save, whole
from .flow import Flow, backend_of
from .ranks import ways as ways_here
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
    changes: as case.change takes them."""
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

    def rounds(watch):
        flow.replay.watch, best = watch, None
        flow.take(WARM)
        for _ in range(ROUNDS):
            flow.timers.collect()
            flow.timers.seconds.clear()
            flow.backend.synchronize()
            flow.ranks.smallest([0.0])  # together
            began = time.perf_counter()
            flow.take(steps)
            flow.backend.synchronize()
            took = -float(flow.ranks.smallest([began - time.perf_counter()])[0])
            flow.timers.collect()
            spent = [sum(flow.timers.seconds[n] for n in names) for names in PARTS.values()]
            spent = flow.ranks.total(spent) / flow.ranks.size / took
            if best is None or took / steps < best["step"]:
                best = {
                    "step": took / steps,
                    **dict(zip(PARTS, map(float, spent))),
                    "rest": float(1 - spent.sum()),
                    "ms": {name: 1e3 * seconds / steps for name, seconds in flow.timers.seconds.most_common()},
                }
        return best

    best = rounds(True)
    if flow.backend.memory == "device":  # with or without graphs: all flows take as many steps
        fast = rounds(False)
        if flow.replay.able:
            best |= {"launched": best["step"], "step": fast["step"]}
    return best | {"graph": flow.replay.able, "note": flow.replay.note}


def digest(flow) -> str:
    """A digest of all bits of the flow's state, on rank 0."""
    text = hashlib.sha256()
    for row in flow.state()["U"]:
        field = whole(flow, row)
        if field is not None:
            text.update(field.tobytes())
    return text.hexdigest()[:16]


def main(comm, backend=None, ways=("all",), cells=64, steps=10, path=None, changes=(), kinds=("strong", "weak")) -> int:
    """Exit status 0, or 2 where ranks give other bits. comm: COMM_WORLD, None without mpirun. changes: as case.change
    takes them. Table on rank 0, JSON in `path`."""
    rank, size = (comm.rank, comm.size) if comm is not None else (0, 1)
    wanted(cells >= 8, f"--cells {cells}; wanted 8 or more.")
    wanted(steps >= 1, f"--steps {steps}; wanted 1 or more.")
    if path and rank == 0:
        try_folder(pathlib.Path(path).parent)
    rows, wrong, device = [], False, backend_of(backend or "auto")
    mailboxes.PATIENCE = 2**25  # nothing here takes longer than half a minute
    if "all" in ways:
        ways = ways_here(device)

    def say(text):
        if rank == 0:
            print(text, flush=True)

    for kind in kinds:
        say(
            f"{kind}: {cells} x {cells} x {cells} cells {'in all' if kind == 'strong' else 'a rank'}, double flux, "
            f"viscous, CH4 and O2{''.join(f', {c}' for c in changes)}\n"
            f"{'ranks':>6} {'grid':>7} {'exchange':>15} {'ms/step':>9} {'point steps/s':>14} {'efficiency':>10}  "
            + " ".join(f"{p:>10}" for p in (*PARTS, "rest"))
            + ("  bits" if kind == "strong" else "")
        )
        for n in counts(size):
            group = comm.Split(0 if rank < n else 1, rank) if comm is not None else None
            if rank < n:
                for way in ways if n > 1 else ways[:1]:
                    grid = grid_of(n)
                    blocks = grid if kind == "weak" else (1, 1, 1)
                    try:
                        flow = Flow(
                            layer_case(
                                [cells * b for b in blocks], blocks, changes=changes, ranks=list(grid), exchange=way
                            ),
                            group,
                            device,
                        )
                    except NoWay as error:  # all ranks get it together
                        say(f"{n:6d} {' x '.join(map(str, grid[::2])):>7} {way:>15}: {error}")
                        continue
                    row = {
                        "kind": kind,
                        "ranks": n,
                        "grid": grid,
                        "exchange_way": flow.exchange.traffic(),
                        "cells": flow.case.cells,
                        **measure(flow, steps),
                    }
                    row["rate"] = float(np.prod(flow.case.cells)) / row["step"]
                    one = next((r for r in rows if r["kind"] == kind), row)
                    row["efficiency"] = row["rate"] / (n * one["rate"])
                    if kind == "strong":
                        row["digest"] = digest(flow)
                    same = row.get("digest") == one.get("digest")
                    wrong = wrong or rank == 0 and not same
                    rows.append(row)
                    say(
                        f"{n:6d} {' x '.join(map(str, grid[::2])):>7} {row['exchange_way']:>15} "
                        f"{1e3 * row['step']:9.3f} {row['rate']:14.3e} "
                        f"{100 * row['efficiency']:8.1f} %  "
                        + " ".join(f"{100 * row[p]:8.1f} %" for p in (*PARTS, "rest"))
                        + (("  same" if same else "  OTHER") if kind == "strong" else "")
                    )
                    flow.close()
                    del flow
                    device.release()
            if comm is not None:
                waiting = comm.Ibarrier()
                while not waiting.Test():
                    time.sleep(0.005)
                group.Free()
    if path and rank == 0:
        told = {"backend": device.describe(), "steps": steps, "rows": rows}
        save(pathlib.Path(path), json.dumps(told, indent=1, default=str).encode())
    if wrong:
        say("ranks do NOT give the same bits")
    return 2 if comm is not None and comm.bcast(wrong) or wrong else 0
