"""The ceilings of the machine, measured in the run that they judge, and the bound of a collection that follows.

Memory: the faster of two ways to move as many bytes. The first is a plain copy. The second reads and writes the rows of
the collection without arithmetic, as often as the collection: a cache then serves both alike. Arithmetic: the pace of
fused multiply-adds, separately in single precision; and each function, division and root by the fastest of the layer's
own ways, at full pace. On a CPU divisions and roots have a unit of their own and overlap with the rest. On a GPU single
precision has a unit of its own, and divisions add to the multiply-adds that they are made of.
"""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Callable

import numpy as np

from kernels.engine.backend.base import Shape, Source
from kernels.engine.backend.record import record
from kernels.engine.tune import seconds

HERE = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass(frozen=True)
class Style:
    """How operations are timed for a style of sources."""

    ahead: str  # C++ before ceilings.h
    ways: dict[str, list[tuple[str, str]]]  # kind of operation -> (type, expression in x), the layer's own functions
    items: int  # of a launch
    passes: int  # of a launch
    chains: int  # operations of a pass and item
    samples: int  # the least counts; short, so that some meet no other load of the machine
    divider: bool  # see Ceilings

    def count(self, effort: float) -> int:
        """Items of a launch: whole blocks of threads, if there are blocks."""
        if self.chains == 1:
            return self.items
        return max(int(self.items // THREADS * effort), 1) * THREADS


STYLES = {
    "packs": Style(
        '#include "engine/numbers/pack.h"\n',
        {
            "divide": [("vec", "1.5 / x"), ("vec", "inverse(x)"), ("vec", "rough_quotient(vec(1.5), x)")],
            "root": [("vec", "sqrt(x)"), ("vec", "inverse_root(x)")],
            "exp": [("vec", "exp(x)"), ("vec", "two_to(x, vec(1.0))")],
            "log": [("vec", "log(x)")],
            "cube_root": [("vec", "cbrt(x)"), ("vec", "inverse_two_thirds(x)")],
            "start": [("vec", "two_thirds_start(x)"), ("vec", "inverse_root_start(x)")],
        },
        items=512,
        passes=2000,
        chains=1,
        samples=40,
        divider=True,
    ),
    "threads": Style(
        '#define COLUMN_STRIDE 1\n#include "engine/numbers/thread.h"\n',
        {
            "fma": [("double", "fma(x, 0.999999, 1e-9)")],
            "narrow": [("float", "fmaf(x, 0.999999f, 1e-9f)")],
            "divide": [("double", "quotient(1.5, x)"), ("double", "inverted(x)")],
            "narrow_divide": [("float", "quotient(1.5f, x)")],
            "root": [("double", "root(x + 1.0)"), ("double", "inverse_of_root(x + 1.0)")],
            "exp": [("double", "exponential(-x)"), ("double", "power_of_two(x, -1.5)")],
            "log": [("double", "logarithm(x + 3.0)")],
            "cube_root": [("double", "cube_root(x + 1.0)"), ("double", "inverse_of_two_thirds(x + 1.0)")],
            "start": [("double", "two_thirds_approximate(x + 1.0)"), ("double", "rsqrt_start(x + 1.0)")],
        },
        items=4096 * 256,
        passes=200,
        chains=8,
        samples=6,
        divider=False,
    ),
}
FUNCTIONS = ("exp", "log", "cube_root", "start")
FMA_CHAINS = 12  # of packs, in ceilings.h
THREADS = 256  # of a block, as in ceilings.h
LARGEST = 2**28  # bytes of a copy; more of them have the same pace
BEST_OF = 40
LONG = 5e-4  # shortest duration of a sample of memory's pace [s]: a single launch would be mostly its start
PACE = "in:address out:address passes:whole"
ROWS = "in:address out:address reads:whole writes:whole kept:whole"


@dataclasses.dataclass
class Ceilings:
    """Paces of the machine: operations and bytes a second."""

    flops: float
    rates: dict[str, float]  # functions, divisions, roots a second, by the names of counting.py
    memory: Callable[[int, int, int], float]  # (rows read, rows written, points) -> seconds, for rows of doubles
    divider: bool  # whether divisions and roots run beside everything else, and single precision does not

    def bound(self, cost, reads: int, writes: int, points: int, width: int = 8) -> tuple[float, str]:
        """(points a second, name of the roof) of work that reads and writes so many rows of numbers `width` bytes
        wide."""
        # Seconds a point, by kind.
        took = {kind: cost.operations[kind] / rate for kind, rate in self.rates.items()}
        divisions, single = took["divide"] + took["root"], took["narrow"]
        others = cost.flops / self.flops + sum(took[kind] for kind in FUNCTIONS)

        # Seconds a point, by roof.
        if self.divider:
            roofs = {"arithmetic": others + single, "division": divisions + took["narrow_divide"]}
        else:
            roofs = {"arithmetic": others + divisions, "single precision": single + took["narrow_divide"]}
        roofs["memory"] = self.memory(reads, writes, points * width // 8) / points

        name = max(roofs, key=roofs.__getitem__)
        return 1 / roofs[name], name

    def told(self) -> str:
        """The ceilings in words."""
        copy = LARGEST / self.memory(1, 1, LARGEST // 16)
        texts = [f"multiply-add {self.flops * 1e-9:.0f} GFLOP/s", f"copy {copy * 1e-9:.0f} GB/s"]
        texts += [f"{name.replace('_', ' ')} {rate * 1e-9:.2f} G/s" for name, rate in self.rates.items()]
        return ", ".join(texts)


def compiled(backend):
    """The module of all paces in the backend's style."""
    style = STYLES[backend.style]
    lines = [style.ahead + '#include "ceilings.h"']
    for name, ways in style.ways.items():
        lines += [f"PACE({name}_{k}, {kind}, {expression})" for k, (kind, expression) in enumerate(ways)]
    return backend.compile(Source("ceilings", "\n".join([*lines, ""]), (HERE,)))


def lanes(backend) -> int:
    """Doubles in a pack that this processor (or FRAME_ARCH) gets."""
    out = backend.empty(1)
    compiled(backend).launch("count_lanes", Shape(), record(PACE, out=backend.address(out)), 1)
    return int(out[0])


def measure(backend, effort: float = 1.0) -> Ceilings:
    """The ceilings of a backend. effort: how long to look; 1 is about half a second."""
    style, module = STYLES[backend.style], compiled(backend)
    items = style.count(effort)
    values = backend.from_host(np.linspace(0.5, 2.0, style.items))
    results = backend.empty(max(items, style.items))

    def pace(names, items: int, passes: int) -> float:
        """Operations a second by the fastest of some kernels."""
        passes = max(int(passes * effort), 20 if style.divider else 2)
        made = record(PACE, **{"in": backend.address(values)}, out=backend.address(results), passes=passes)
        least = np.inf
        for name in names:
            run = module.bind(f"pace_{name}", Shape(THREADS), made, keep=(values, results))
            least = min(least, *(seconds(backend, lambda run=run: run(items)) for _ in range(style.samples)))
        return items * style.chains * passes / least

    # Operations. The shortest get more passes.
    rates = {}
    for kind, ways in style.ways.items():
        passes = 10 * style.passes if kind in ("fma", "narrow") else style.passes
        rates[kind] = pace([f"{kind}_{k}" for k in range(len(ways))], items, passes)

    # A multiply-add counts twice. On a CPU single precision has twice the lanes.
    if style.divider:
        flops = 2 * pace(["fma"], FMA_CHAINS * lanes(backend), 50 * style.passes)
        rates["narrow"], rates["narrow_divide"] = 2 * flops, 2 * rates["divide"]
    else:
        flops = 2 * rates.pop("fma")
        rates["narrow"] *= 2

    memory = _remembered(_memory(backend, module), LARGEST * min(effort, 1))
    return Ceilings(flops, rates, memory, style.divider)


def fastest_memory(backend) -> float:
    """Bytes a second of a device's memory: nearly all read, or as many read as written, whichever is more."""
    memory = _memory(backend, compiled(backend))
    shapes = ((16, 1), (1, 1))
    seconds_of = {shape: memory(*shape, LARGEST // (8 * sum(shape)) // 16 * 16) for shape in shapes}
    return max(8 * sum(shape) * (LARGEST // (8 * sum(shape)) // 16 * 16) / took for shape, took in seconds_of.items())


def _memory(backend, module):
    """seconds(rows read, rows written, points) of the faster way to move as many bytes."""

    def memory(reads: int, writes: int, n: int) -> float:
        # The rows.
        source, to = backend.empty((reads, n)), backend.empty((writes, n))
        source[...], to[...] = 1.0, 0.0
        ends = {"in": backend.address(source), "out": backend.address(to)}
        made = record(ROWS, **ends, reads=reads, writes=writes, kept=n)
        move = module.bind("pace_rows", Shape(THREADS, covers=2 * THREADS), made)
        rows = _often(backend, lambda: move(n))
        del source, to

        # A copy.
        halves = backend.empty((2, max((reads + writes) * n // 2, 1)))
        halves[...] = 1.0
        return min(rows, _often(backend, lambda: backend.arrays.copyto(halves[1], halves[0])))

    return memory


def _often(backend, work) -> float:
    """Shortest time [s] of a call of work(), from samples of LONG or more."""
    count = max(1, int(LONG / max(seconds(backend, work), 1e-9)))
    return min(seconds(backend, work, count) for _ in range(BEST_OF))


def _remembered(memory, largest: float):
    """Seconds for a number of rows, measured once for each shape. Above `largest` bytes the time is extrapolated."""
    known: dict[tuple, float] = {}

    def took(reads: int, writes: int, points: int) -> float:
        n = int(min(points, largest / (8 * (reads + writes))))
        shape = reads, writes, max(n // 16, 1) * 16  # whole packs
        if shape not in known:
            known[shape] = memory(*shape)
        return known[shape] * points / shape[2]

    return took
