"""Species loops: out[y, x] = ax[x] ay[y] + bx[x] by[y] at each point, one kernel in eight organisations and two
layouts.

loop = SpeciesLoop(ns=16, layout="right", backend="cuda")      # the tuned variant, or a default
run = loop.bind({"ax": ax, ..., "out": out}, n)
run()
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import os

import numpy as np

from ..backend import get_backend
from ..codegen import tune
from ..errors import ArgumentError, FrameError, VariantUnsuitable
from .declaration import FORMULA, LAYOUTS, NAME, READS, STRATEGIES, TYPES, Variant, bytes_a_point, oracle, shapes
from .fields import Fields, WrongResult, broadcasting

__all__ = [
    "FORMULA",
    "LAYOUTS",
    "NAME",
    "READS",
    "STRATEGIES",
    "TYPES",
    "Fields",
    "SpeciesLoop",
    "Variant",
    "WrongResult",
    "broadcasting",
    "bytes_a_point",
    "engine",
    "key",
    "oracle",
    "shapes",
    "tune_loops",
]
ODD = 203  # points of the small check: no multiple of any vector or team


def engine(backend=None):
    """What runs species loops on a backend (a name or a Backend)."""
    backend = get_backend(backend) if backend is None or isinstance(backend, str) else backend
    if backend.name == "cuda":
        from .cuda import Engine
    else:
        from .cpu import Engine
    return Engine(backend)


def key(eng, layout: str, ns: int, n: int, dtype) -> tune.Key:
    return tune.Key(eng.device, NAME, f"ns={ns} layout={layout}", np.dtype(dtype).name, eng.compiler, n)


class SpeciesLoop:
    """The kernel for ns species, compiled when it is bound.

    layout "left" (point fastest) or "right" (species fastest); dtype float64 or float32. variant: a Variant; default:
    what tuning found for this device, shape and compiler, else the engine's default. Arrays that do not lie as the
    variant needs (alignment) get the naive one.
    """

    def __init__(self, ns: int, layout: str = "left", dtype="float64", backend=None, variant: Variant | None = None):
        if ns < 1:
            raise ArgumentError(f"species loops: ns = {ns}, wanted 1 or more.")
        if layout not in LAYOUTS or np.dtype(dtype).name not in TYPES:
            raise ArgumentError(
                f"species loops: layout '{layout}', type {np.dtype(dtype).name}; wanted {' or '.join(LAYOUTS)}, "
                f"{' or '.join(TYPES)}."
            )
        self.ns, self.layout, self.dtype, self.variant = ns, layout, np.dtype(dtype), variant
        self.engine = engine(backend)

    def chosen(self, n: int) -> Variant:
        if self.variant is not None:
            return self.variant
        wanted = tune.choice(key(self.engine, self.layout, self.ns, n, self.dtype))
        default = self.engine.default(self.layout, self.ns, self.dtype)
        if wanted is None or wanted == default.id:
            return default
        return next((v for v in self.engine.variants(self.ns, self.dtype) if v.id == wanted), default)

    def bind(self, arrays, n: int):
        """run() for n points of the arrays ax, bx, ay, by, out (see LAYOUTS); shapes and types are checked here,
        once."""
        for name in (*READS, "out"):
            if name not in arrays:
                raise ArgumentError(f"species loops: array '{name}' is missing.")
            shape, rows = tuple(arrays[name].shape), self.ns if name in READS else self.ns**2
            fits = len(shape) == 2 and (
                shape[0] == rows and shape[1] >= n if self.layout == "left" else shape[1] == rows and shape[0] >= n
            )
            if not fits or str(arrays[name].dtype) != self.dtype.name or not arrays[name].flags.c_contiguous:
                wanted = f"({rows}, {n} or more)" if self.layout == "left" else f"({n} or more, {rows})"
                raise ArgumentError(
                    f"species loops: '{name}' is {shape} {arrays[name].dtype}, wanted {wanted} {self.dtype.name}, "
                    "contiguous."
                )
        variant = self.chosen(n)
        try:
            return self._run(variant, arrays, n)
        except VariantUnsuitable:
            naive = next(
                v
                for v in self.engine.variants(self.ns, self.dtype)
                if v.strategy == "naive" and v.layout == self.layout
            )
            if self.variant is not None or naive == variant:
                raise
            return self._run(naive, arrays, n)

    def _run(self, variant, arrays, n):
        code, _ = self.engine.compile(variant, self.ns, self.dtype)
        return self.engine.bind(code, variant, self.ns, arrays, n)


def tune_loops(eng, layout: str, ns: int, n: int, dtype, rounds: int = 5, variants=None, told=None, keep: bool = True):
    """Outcomes of all variants of one layout at n points (see tune.search), and the Fields they ran on; the best is
    kept."""
    few, many = Fields(eng, layout, ns, min(n, ODD), dtype), Fields(eng, layout, ns, n, dtype, seed=1)
    prepared = {}

    def prepare(variant):
        code, report = eng.compile(variant, ns, dtype)
        prepared[variant] = eng.bind(code, variant, ns, few.arrays, few.n)
        return eng.bind(code, variant, ns, many.arrays, n), report

    def verify(variant, run):
        errors = []
        for fields, work in ((few, prepared[variant]), (many, run)):
            fields.poison()
            work()
            errors.append(fields.check())
        return max(errors)

    def clock(run):
        start = eng.backend.mark()
        run()
        return eng.backend.elapsed(start, eng.backend.mark())

    def ahead(variant):
        with contextlib.suppress(FrameError):  # whoever prepares it gets to hear
            eng.ahead(variant, ns, dtype)

    able = [v for v in (variants if variants is not None else eng.variants(ns, dtype)) if v.layout == layout]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(ahead, able))
    outcomes = tune.search(able, prepare, verify, clock, rounds, told)
    if keep and outcomes and outcomes[0].seconds is not None:
        tune.keep(key(eng, layout, ns, n, dtype), outcomes[0].variant.id, outcomes[0].seconds)
    return outcomes, many
