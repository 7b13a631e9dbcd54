"""Species loops: out[y, x] = ax[x] ay[y] + bx[x] by[y] at each point, one kernel in eight organisations and two
layouts.

loop = SpeciesLoop(ns=16, layout="right", backend="cuda")
run = loop.bind({"ax": ax, ..., "out": out}, n)
run()
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import os

import numpy as np

from ..backend import get_backend
from ..backend.record import record
from ..codegen import tune
from ..errors import ArgumentError, FrameError, VariantUnsuitable, refuse
from . import packs, threads
from .declaration import (
    FORMULA,
    LAYOUTS,
    NAME,
    READS,
    RECORD,
    REST,
    STRATEGIES,
    TYPES,
    Variant,
    bytes_a_point,
    oracle,
    shapes,
)
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
    "bind",
    "broadcasting",
    "bytes_a_point",
    "copier",
    "oracle",
    "shapes",
    "style",
    "tune_loops",
]
ODD = 203  # points of the small check: no multiple of any vector or team


def style(backend):
    """The module of a backend's variants: variants(ns, dtype) and default(layout, ns, dtype)."""
    return {"packs": packs, "threads": threads}[backend.style]


class SpeciesLoop:
    """The kernel for ns species, compiled when it is bound.

    layout "left" (point fastest) or "right" (species fastest); dtype float64 or float32. variant: a Variant or its id,
    as `python -m frame tune` finds them; None takes the style's default. Arrays that do not lie as the default needs
    (alignment) get the naive variant. Raises ArgumentError for what is not there.
    """

    def __init__(self, ns: int, layout: str = "left", dtype="float64", backend=None, variant=None):
        refuse(ns < 1, f"species loops: ns = {ns}, wanted 1 or more.")
        refuse(
            layout not in LAYOUTS or np.dtype(dtype).name not in TYPES,
            f"species loops: layout '{layout}', type {np.dtype(dtype).name}; wanted {' or '.join(LAYOUTS)}, "
            f"{' or '.join(TYPES)}.",
        )
        self.ns, self.layout, self.dtype = ns, layout, np.dtype(dtype)
        self.backend = get_backend(backend)
        if isinstance(variant, str):
            known = {v.id: v for v in style(self.backend).variants(ns, dtype) if v.layout == layout}
            refuse(variant not in known, f"species loops: no variant '{variant}' for {ns} species, layout '{layout}'.")
            variant = known[variant]
        self.given, self.variant = variant is not None, variant or style(self.backend).default(layout, ns, self.dtype)

    def bind(self, arrays, n: int):
        """run() for n points of the arrays ax, bx, ay, by, out (see LAYOUTS); shapes and types are checked here,
        once. Raises ArgumentError; VariantUnsuitable where the variant asked for cannot serve arrays or device."""
        for name in (*READS, "out"):
            refuse(name not in arrays, f"species loops: array '{name}' is missing.")
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
        try:
            return bind(self.backend, self.variant, self.ns, arrays, n)
        except VariantUnsuitable:
            naive = next(
                v
                for v in style(self.backend).variants(self.ns, self.dtype)
                if v.strategy == "naive" and v.layout == self.layout
            )
            if self.given or naive == self.variant:
                raise
            return bind(self.backend, naive, self.ns, arrays, n)


def compiled(backend, variant: Variant, ns: int, dtype):
    """The module of a variant. Raises VariantUnsuitable for a device without its instructions."""
    refuse(
        variant.generation > backend.generation,
        f"{variant.id}: it needs compute capability {variant.generation}, this is {backend.generation}.",
        VariantUnsuitable,
    )
    return backend.compile(variant.source(ns, dtype))


def bind(backend, variant: Variant, ns: int, arrays, n: int, module=None):
    """run(): all n points, by the variant's module if it is at hand. Raises VariantUnsuitable where the arrays do not
    lie as the variant needs, or where the device lacks what it needs."""
    names, size = (*READS, "out"), arrays["out"].dtype.itemsize
    addresses = {name: backend.address(arrays[name]) for name in names}
    rows = {arrays[name].strides[0] for name in names} if variant.layout == "left" else {0}
    refuse(len(rows) > 1, f"{variant.id}: rows of different lengths {sorted(rows)}.", VariantUnsuitable)
    refuse(
        any(place % variant.aligned for place in (*addresses.values(), *rows)),
        f"{variant.id}: arrays are not aligned to {variant.aligned} bytes.",
        VariantUnsuitable,
    )
    module = module or compiled(backend, variant, ns, arrays["out"].dtype)
    arguments, held = record(RECORD, **addresses, ld=rows.pop() // size), [arrays[name] for name in names]
    run = module.bind("species_loop", variant.shape, arguments, n, held)
    if n % variant.vector == 0:
        return lambda: run(n)
    rest = module.bind("species_loop_rest", REST, arguments, n, held)
    return lambda: (run(n), rest(n))


def copier(backend, to, source):
    """run(): one array over another of the same size, as fast as the backend can."""
    if backend.style == "packs":  # by streaming stores, which NumPy's copy may not have
        flat = {name: source.reshape(1, -1) for name in READS}
        return bind(backend, packs.COPY, 1, {**flat, "out": to.reshape(1, -1)}, to.size)
    return lambda: backend.arrays.copyto(to, source)


def tune_loops(backend, layout: str, ns: int, n: int, dtype, rounds: int = 5, variants=None, told=None):
    """Outcomes of all variants of one layout at n points (see tune.search), and the Fields they ran on."""
    few, many = Fields(backend, layout, ns, min(n, ODD), dtype), Fields(backend, layout, ns, n, dtype, seed=1)
    prepared = {}

    def prepare(variant):
        module = compiled(backend, variant, ns, dtype)
        prepared[variant] = bind(backend, variant, ns, few.arrays, few.n, module)
        return bind(backend, variant, ns, many.arrays, n, module), module.report.get("species_loop", {})

    def verify(variant, run):
        errors = []
        for fields, work in ((few, prepared[variant]), (many, run)):
            fields.poison()
            work()
            errors.append(fields.check())
        return max(errors)

    def ahead(variant):
        with contextlib.suppress(FrameError):  # whoever prepares it gets to hear
            compiled(backend, variant, ns, dtype)

    able = [v for v in variants or style(backend).variants(ns, dtype) if v.layout == layout]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:  # into the cache, all cores at work
        list(pool.map(ahead, able))
    return tune.search(able, prepare, verify, lambda run: tune.seconds(backend, run), rounds, told), many
