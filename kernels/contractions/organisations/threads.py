"""The common part of organisations by threads of a CUDA device."""

from __future__ import annotations

import functools

import numpy as np

from ...engine.backend.base import Shape, Source
from ...engine.backend.record import record, structure
from .. import render_threads as threads
from ..plan import Nest, Product, Program, includes, program_source
from . import device, library_costs
from .base import Organisation

ACROSS = 3.0  # times the memory's time of a large array of which neighbours of the output read numbers that lie apart
ENDS = 2  # numbers at the ends of a run that count as read across
LARGE = 4  # an array is large that has the largest array's numbers divided by this


def batch_is_last(p: Program) -> bool:
    """Whether neighbours of the output are entries."""
    out = p.arrays[p.expression.outputs[0]]
    return out.place is not None and out.place == len(out.extents) - 1


def step_of_neighbours(p: Program, n: Nest, f: int) -> int:
    """Numbers of a factor from one number of the output to its neighbour in memory; 0 if both read the same one."""
    if n.loops and not batch_is_last(p):
        return n.loops[-1].step[f]
    array = p.arrays[n.names[f]]
    return 0 if array.place is None else array.behind(array.place)


def memory_seconds(p: Program, beside: int = 0, apart: int = 0, near: int = 1) -> float:
    """Seconds of an entry that memory takes where neighbouring threads have neighbours of the output. beside: bytes
    from thread to thread up to which numbers do not lie apart; apart: bytes from which on they do. near: numbers of the
    output that a thread has."""
    found = library_costs.memory_seconds("threads", p)
    if p.mixed:
        return found

    size, numbers = np.dtype(p.dtype).itemsize, 0.0
    for n in threads.nests(p):
        for name in {n.names[f] for f in n.factors}:
            places = [f for f in n.factors if n.names[f] == name]
            across = 0.0
            for f in places:
                step = near * size * step_of_neighbours(p, n, f)
                lost = min((step - beside) / (apart - beside), 1.0) if apart else float(step > beside)
                across = max(across, _across(p, n, f, lost))
            numbers += across * p.arrays[name].size
    return found + (ACROSS - 1) * numbers * size / library_costs.DEVICE.memory


def _across(p: Program, n: Nest, f: int, lost: float) -> float:
    """The share of a factor that is read across: of a large one, if neighbours of the output read numbers that lie
    apart; the ends of runs, if neighbours lie side by side in short runs. A diagonal's lines are counted already. lost:
    the share of lines that come anew where neighbours lie apart."""
    if any(library_costs.is_diagonal(r) for r in p.expression.references.get(n.names[f], ())):
        return 0.0
    least = max(a.size for a in p.arguments) / LARGE
    step = step_of_neighbours(p, n, f)
    if p.arrays[n.names[f]].size < least or step == 0:
        return 0.0
    if step > 1:
        return max(lost, 0.0)
    if batch_is_last(p):
        return 0.0

    run = 1
    for loop in reversed(n.loops):
        if loop.step[f] != loop.step[0]:
            return min(1.0, ENDS / run)
        run *= loop.extent
    return 0.0


def several(count: int, words: str) -> list[str]:
    """Words about a number of an organisation that is more than 1, for readers."""
    return [f"{count} {words}"] if count > 1 else []


class Threads(Organisation):
    """Base of the organisations by threads: each statement is a nest of loops, which go to blocks and threads."""

    threads: int  # of a block
    near = 1  # neighbours that a thread reads or writes at once

    def waits(self, p: Program) -> float:
        threads_ = self.at_work(p, library_costs.usual_batch(p))
        return max(device.FULL / max(threads_, 1), 1.0)

    def floor(self, p: Program) -> float:
        return memory_seconds(p)

    def at_work(self, p: Program, n: int) -> int:
        """Threads that have something to do for n entries."""
        shape, items = self.shape(p), self.items(p, n)
        return -(-items // shape.covers) * shape.threads if shape.covers else items

    def details(self) -> list[str]:
        """The numbers, for readers."""
        return [f"{self.threads} threads"]

    def __str__(self):
        return f"{self.name} ({', '.join(self.details())})"

    def serves(self, p: Program) -> str:
        return "" if self.near == 1 or self.legal(p) else "near=1: neighbours are not read or written at once"

    # ---- text and launch
    def text(self, p: Program) -> list[str]:
        """The kernel, as pieces of C++."""
        raise NotImplementedError

    def render(self, p: Program, headers=(), folders=(), quick: bool = False) -> Source:
        parts = [
            *includes("contractions/threads.h", *headers),
            structure("Arguments", self.members(p)),
            *self.text(p),
        ]
        return program_source(self.name, p, parts, folders, quick)

    def members(self, p: Program) -> str:
        """Members of the record of arguments."""
        return threads.members(p)

    def for_arrays(self, p: Program, values) -> Threads:
        """This organisation, or its stand-in if arrays are not aligned."""
        return self

    def shape(self, p: Program) -> Shape:
        """Threads and shared memory of a block."""
        return Shape(self.threads)

    def items(self, p: Program, n: int) -> int:
        """Threads' or blocks' work for n entries."""
        raise NotImplementedError

    def launch(self, plan, arrays, values, n: int):
        p = plan.program
        how = self.for_arrays(p, values)
        module = plan.module(how)

        held = record(self.members(p), n=n, **threads.without_past(values))
        run = module.bind("contraction", how.shape(p), held, keep=list(arrays.values()))
        return functools.partial(run, how.items(p, n))

    # ---- search
    def legal(self, p: Program) -> bool:
        return 32 <= self.threads <= device.MOST_THREADS

    def cost(self, p: Program, moved: int, least: float) -> float:
        return device.clocks(self.effort(p), moved, np.dtype(p.dtype).itemsize)

    def effort(self, p: Program) -> device.Effort:
        accesses = flops = 0.0
        for n in threads.nests(p):
            accesses += n.size
            for q in n.products:
                many = threads.size(q.sums)
                flops += 2.0 * n.size * many
                accesses += self.accesses(p, n, q, many)
            accesses += self.idle(n)

        return device.Effort(accesses, flops / device.FMA, self.shared_bytes(p), self.threads)

    def accesses(self, p: Program, n: Nest, q: Product, many: int) -> float:
        """Numbers that are loaded for a product of a statement. many: terms of its sum."""
        return n.size * many * float(len(q.factors))

    def idle(self, n: Nest) -> int:
        """Turns of threads that have no number of a statement's output."""
        return 0

    def shared_bytes(self, p: Program) -> int:
        """Shared memory of a block."""
        return 0
