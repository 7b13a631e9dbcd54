"""What a core does in a second, for the prices of organisations on a CPU: measured on a machine, then read.

The first product of two tensors that is planned for a type of numbers measures: copies, products of NumPy's library
and products by `direct`, in turns; the least time of each counts. That takes 0.3 to 0.6 s of the processor, and the
time to compile `direct` of that type if the kernel cache has it not. The rates are an entry of the kernel cache,
rates-TYPE-KEY.json, whose key names processor, compiler, NumPy, its library and its threads. So all ranks read the
same, and choose the same.

Others may have used the core during all of a measurement. So later runs measure again, each time after a longer while
(AGAIN), and the least times of all measurements count. Then the entry stays as it is. Who removes it has all measured
anew.

FRAME_RATES=usual takes the rates of a usual core with vectors as wide as the target's instead. So do machines where
nothing can be compiled or written.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import json
import math
import os
import pathlib
import threading
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from ..engine.backend import array_calls, cache, cpu, get_backend
from ..engine.errors import ArgumentError, BackendError, CompileError
from . import permute
from .fold import Move

GENERATION = "8"  # of the measurement
AGAIN = (60.0, 600.0, 3600.0, 86400.0)  # seconds after the first, the second, ... measurement until the next one
CHOICES = ("measured", "usual")  # values of FRAME_RATES
STEADY, TURNS = 5, 60  # turns of measuring: see `_least_times`
NOISE = 0.02  # of a time
ALIKE, MORE_TURNS = 1.3, 16  # times the time of a product as large by other means, beyond which more turns look on
FAR = 4.0  # times the usual: a rate beyond was disturbed, or the clock is coarse
LARGE = 6  # times the bytes of a copy: of a last cache that holds both its arrays from turn to turn
COPIED = 16 << 20  # bytes of a copy: beyond the caches
THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")  # of NumPy's library
REAL = {"complex64": "float32", "complex128": "float64"}  # the parts of complex numbers


class HostRates(NamedTuple):
    """The pace of a core, for one type of numbers."""

    memory: float  # bytes a second, read or written
    copies: float  # the same of copies to another order
    library: float  # flops a second of large products by NumPy's library
    factor: float  # seconds that the library takes for a number of a factor, beside the flops
    panels: float  # flops a second of large products by `direct`
    gather: float  # seconds of a number that `direct` packs, where lines of a factor lie apart
    scatter: float  # seconds of a number that `direct` stores, where rows of the output lie apart


# A core with vectors of WIDTH bytes: AMD EPYC (Zen 3), g++ 12, OpenBLAS 0.3.31.
USUAL = {
    "float64": HostRates(1.2e10, 9e9, 4.5e10, 4e-10, 4.1e10, 4e-10, 2.5e-9),
    "float32": HostRates(1.2e10, 9e9, 9e10, 2e-10, 8.2e10, 3e-10, 2e-9),
}
WIDTH = 32

_known: dict[tuple, HostRates] = {}
_planners: list[Callable] = []  # (text, sizes, dtype) -> a Contraction by `direct`; see `plan_by`
_measuring = threading.RLock()  # other threads wait for the rates; the one that measures takes the usual ones


def of(dtype: str) -> HostRates:
    """The rates of this machine. Raises ArgumentError for a value of FRAME_RATES that is none."""
    dtype = REAL.get(dtype, dtype)
    named = os.environ.get("FRAME_RATES") or CHOICES[0]
    if named not in CHOICES:
        raise ArgumentError(f"FRAME_RATES = {named!r}; wanted {' or '.join(CHOICES)}.")

    key = dtype, named, os.environ.get("FRAME_CACHE"), cpu.target()
    with _measuring:
        if key not in _known:
            _known[key] = usual(dtype)  # for the products that are measured
            if named == "measured":
                _known[key] = _kept(dtype)
        return _known[key]


def plan_by(planner: Callable) -> Callable:
    """Products that are measured are planned by this function. contraction.py, which asks for the rates, gives it."""
    _planners[:] = [planner]
    return planner


def told(dtype: str) -> str:
    """Where the rates come from, for people; nothing is measured."""
    if os.environ.get("FRAME_RATES") == "usual":
        return "of a usual core, by FRAME_RATES"
    path = cache.folder() / f"{name(dtype)}.json"
    return str(path) if path.is_file() else "not measured yet: the first product of two tensors does that"


def has_large_cache() -> bool:
    """Whether the last cache holds all of the copy that measures the pace of memory: it is large, and slow."""
    return cpu.third_cache() > LARGE * COPIED


def usual(dtype: str) -> HostRates:
    """Rates by the width of the target's vectors alone."""
    rates, wider = USUAL[dtype], cpu.vector_bytes(cpu.target()) / WIDTH
    return rates._replace(library=rates.library * wider, panels=rates.panels * wider)


def _kept(dtype: str) -> HostRates:
    """The rates in the kernel cache, measured if it has none, or if they are due again; the usual ones where that is
    impossible."""

    def make(path):
        before = _told(path.with_name(f"{name(dtype)}.json"))
        rates, seconds = measured(dtype, before.get("seconds", {}))
        told = {"machine": get_backend("cpu", threads=1).product, "dtype": dtype, **rates._asdict()}
        told |= {"seconds": seconds, "measurements": before.get("measurements", 0) + 1, "measured": time.time()}
        path.write_text(json.dumps(told, indent=1) + "\n")

    try:
        found = json.loads(cache.renewed(name(dtype), ".json", make, _is_due).read_text())
    except (BackendError, CompileError, OSError):
        return usual(dtype)
    return HostRates(*(found[field] for field in HostRates._fields))


def _told(path: pathlib.Path) -> dict:
    """The contents of an entry of the kernel cache; {} if no entry can be read."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return {}


def _is_due(path: pathlib.Path) -> bool:
    """Whether rates are measured again: few measurements are in them, and the last one is long ago."""
    told = _told(path)
    count = told.get("measurements", 0)
    return 0 < count <= len(AGAIN) and abs(time.time() - told["measured"]) > AGAIN[count - 1]


def name(dtype: str) -> str:
    """Name of the cache entry, with all that decides the rates."""
    threads = [os.environ.get(variable) for variable in THREADS]
    compiler = get_backend("cpu", threads=1).compiler, *cpu.added_flags()
    key = cache.key(GENERATION, cpu.processor("native"), *compiler, *_library(), *threads)
    return f"rates-{dtype}-{key}"


def _library() -> tuple:
    """NumPy and the library that it has, as far as it says."""
    config = getattr(np.__config__, "CONFIG", {})
    return np.__version__, config.get("Build Dependencies", {}).get("blas", "")


# ---- measuring ------------------------------------------------------------------------------------------------------


class Trial(NamedTuple):
    """A piece of work, and how much there is of each kind."""

    run: Callable[[], object]
    flops: float = 0.0
    read: float = 0.0  # bytes
    written: float = 0.0  # bytes, with those that are read before
    numbers: float = 0.0  # of both factors, or that lie apart


def measured(dtype: str, before: Mapping[str, float]) -> tuple[HostRates, dict[str, float]]:
    """(rates, least seconds of each trial). before: least seconds of earlier measurements."""
    _compile_side_by_side(dtype)

    copy, trials = _copy(), {"turned": _turned(dtype), **_of_library(dtype), **_of_direct(dtype)}
    times = {key: min(took, before.get(key, math.inf)) for key, took in _least_times(copy, trials).items()}
    return _rates(dtype, copy, trials, times), times


def _compile_side_by_side(dtype: str) -> None:
    """Compiles the libraries of the trials and of later calls at the same time, one compiler each.

    A library that fails to compile is reported by the trial or the call that loads it.
    """
    (planner,) = _planners
    text, sizes, _ = DIRECT["panels"]
    size = np.dtype(dtype).itemsize

    sources = [
        *planner(text, sizes, dtype).sources(),  # first: it takes longest
        permute.source("packs", f"copy_{size}"),
        array_calls.SOURCE,
    ]

    def compiled(source) -> None:
        with contextlib.suppress(BackendError, CompileError, OSError):
            cpu.shared_object(source)

    with concurrent.futures.ThreadPoolExecutor(len(sources)) as pool:
        list(pool.map(compiled, sources))


def _rates(dtype: str, copy: Trial, trials: dict[str, Trial], times: Mapping[str, float]) -> HostRates:
    """The rates by times of trials, each of which has one kind of work more than those before it."""
    turned, large, long, panels, gather, scatter = trials.values()

    # The library: memory comes beside the rest.
    memory = (copy.read + copy.written) / times["copy"]
    copies = (turned.read + turned.written) / times["turned"]
    library = large.flops / (times["large"] - (large.read + large.written) / memory)
    factor = times["long"] - long.flops / library - (long.read + long.written) / memory

    # `direct`: all numbers come from memory and go there during the arithmetic.
    speed = panels.flops / times["panels"]
    apart, across = (
        times[key] - max(trial.flops / speed, (trial.read + trial.written) / memory)
        for key, trial in (("gather", gather), ("scatter", scatter))
    )

    each = factor / long.numbers, apart / gather.numbers, across / scatter.numbers
    found = HostRates(memory, copies, library, each[0], speed, *each[1:])
    return HostRates(*map(_bounded, found, usual(dtype)))


def _bounded(rate: float, like: float) -> float:
    """A rate within FAR times the usual one, in three digits."""
    return float(f"{min(max(rate, like / FAR), like * FAR):.3g}")


def _least_times(copy: Trial, trials: dict[str, Trial]) -> dict[str, float]:
    """Seconds of the processor for each trial and the copy: the least, when STEADY turns in a row made none faster. The
    copy goes before each trial, whose numbers then come from memory.

    On a core that others use a trial may find no quiet moment in so few turns. The two large products tell: they are of
    the same size, and take about as long."""
    least = dict.fromkeys(("copy", *trials), math.inf)
    steady = turns = 0
    while (steady < STEADY and turns < TURNS) or (turns < MORE_TURNS and not _are_alike(least)):
        faster = False
        for name_, trial in trials.items():
            for key, run in (("copy", copy.run), (name_, trial.run)):
                begin = time.thread_time()
                run()
                took = time.thread_time() - begin
                faster |= took < least[key] * (1 - NOISE)
                least[key] = min(took, least[key])

        steady = 0 if faster else steady + 1
        turns += 1
    return least


def _are_alike(least: dict[str, float]) -> bool:
    """Whether both large products take about as long."""
    faster, slower = sorted((least["large"], least["panels"]))
    return slower <= ALIKE * faster


def _copy() -> Trial:
    """Beyond the caches."""
    source = np.ones(COPIED // 8)
    return Trial(functools.partial(np.copyto, np.ones_like(source), source), 0.0, source.nbytes, source.nbytes)


TURNED = (128, 112, 144)  # extents of an array that is copied to the reverse order


def _turned(dtype: str) -> Trial:
    """A copy whose source runs along the slowest index of its target, as before and after products of the library."""
    source, target = np.ones(TURNED, dtype), np.ones(TURNED[::-1], dtype)
    far, near = ([stride // source.itemsize for stride in array.strides] for array in (source, target))
    moves = [Move(*move) for move in zip(TURNED, far, near[::-1])]

    ends = source.ctypes.data, target.ctypes.data
    run = permute.bound(get_backend("cpu", threads=1), dtype, moves, *ends, keep=(source, target))
    return Trial(run, 0.0, source.nbytes, target.nbytes)


# Products, m, n, k. Long sums of few numbers: both factors are packed, which OpenBLAS does not do below a million
# multiply-adds.
PRODUCTS = {"large": (1, 528, 768, 576), "long": (4, 36, 24, 3000)}


def _of_library(dtype: str) -> dict[str, Trial]:
    """Products by NumPy: a large one, some with long sums."""
    found = {}
    for name_, (count, m, n, k) in PRODUCTS.items():
        left, right, out = (np.ones((count, *shape), dtype) for shape in ((m, k), (k, n), (m, n)))
        run = functools.partial(np.matmul, left, right, out)
        read, numbers = left.nbytes + right.nbytes, left.size + right.size
        found[name_] = Trial(run, 2.0 * count * m * n * k, read, 2 * out.nbytes, numbers)
    return found


# Text, extents, array of which neighbours lie apart. NumPy asks for large pages of 2 MB for arrays from 4 MB on. Few
# fit into such an array: with 24000 columns a number apart took 2e-10 to 6e-10 s, as its pages happened to lie.
DIRECT = {
    "panels": ("C[m n] = A[m k] B[k n]", dict(m=528, n=768, k=576), ""),  # whole panels of all vectors
    "gather": ("C[m n] = A[m k] B[n k]", dict(m=24, n=48000, k=48), "B"),
    "scatter": ("C[i n j] = A[j k i] B[n k]", dict(i=120, j=120, k=80, n=24), "C"),
}


def _of_direct(dtype: str) -> dict[str, Trial]:
    """Products by `direct`: large; where lines of a factor lie apart; where rows of the output do."""
    (planner,) = _planners
    found = {}
    for name_, (text, sizes, apart) in DIRECT.items():
        plan = planner(text, sizes, dtype)
        arrays = {a.name: np.ones(plan.shape(a.name, 1), dtype) for a in plan.program.arguments}
        numbers = arrays[apart].size if apart else 0
        read = arrays["A"].nbytes + arrays["B"].nbytes
        found[name_] = Trial(plan.bind(arrays), float(plan.flops), read, 2 * arrays["C"].nbytes, numbers)
    return found
