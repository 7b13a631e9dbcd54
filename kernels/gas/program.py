"""Program: kernels joined into one launch for one mixture on one backend."""

from __future__ import annotations

import collections
import copy
import dataclasses
import functools

import numpy as np

from ..engine.backend import get_backend
from ..engine.backend.base import check_rows
from ..engine.errors import ArgumentError, BackendError, refuse
from . import declare, plan as plans, schedules, structure
from .schedules import launches, packs

ACROSS = 1  # block of a multiprocessor where arrays lie across the link: more take the link from each other
LINE = 128  # bytes that a device asks for at once across the link
FEW_ROWS = 16  # with more, the work of a point outweighs its copies


class Program:
    """A compiled launch.

    outputs and given: the kernels that lead from the given names to the outputs. kernels: these by name instead, in an
    order in which each finds its inputs, everything they write kept. precision: "double"; "mixed" (arrays given and
    filled are float32, the arithmetic stays double: results are rounded once); "single" (the arithmetic is float32 too;
    inversions refuse it); on the CPU also "scalar" (no packs), "wide" (quadruple: the kernels as their own reference,
    results rounded to double) and "count" (counting.py). dtype: of the arrays. how: a Launch in place of the table's.
    reads, writes, kernels: names. Raises ArgumentError when a name is unknown or cannot be made.
    """

    def __init__(
        self, mixture, outputs=None, given=None, kernels=None, backend=None, precision="double", name=None, how=None
    ):
        self.backend = backend = get_backend(backend)
        if kernels is not None:
            declare.refuse_unknown_kernel(kernels)
            records = [declare.kernels[k].for_options(mixture.options) for k in kernels]
            unfit = [r for r in records if not r.serves(mixture.options)]
            if unfit:
                raise ArgumentError(
                    f"kernel '{unfit[0].name}' is for {dict(unfit[0].when)}, the mixture has {mixture.options}."
                )
        else:
            records = declare.resolve(outputs, given, mixture.options)
        self.dtype = plans.dtype_of(precision)
        if backend.style == "threads":
            how = how or launches.chosen(records, mixture, precision, backend.product, memory=backend.shared_memory)
        self.kernels = tuple(r.name for r in records)
        self.name = name or (self.kernels[0] if len(self.kernels) == 1 else "+".join(outputs or self.kernels))
        self.plan = plans.make_plan(records, outputs, mixture, how, precision, self.name)
        refuse(not self.plan.writes, f"nothing to compute: {', '.join(outputs or ())} given already.")
        self.schedule = self.plan.schedule
        self.reads, self.writes = self.plan.reads, self.plan.writes
        self.settable = tuple(name for name in self.plan.values if name in declare.settable)
        self.module = backend.compile(schedules.render(self.plan))

    @functools.cached_property
    def _constants(self):
        """(their array, None in constant memory; what keeps in place what they point to)"""
        data, keep = structure.filled_structure(self.plan, self.backend)
        if self.settable:
            declare.users.add(self)
        if self.schedule.in_constant_memory(self.plan):
            self.module.fill("mixture", data)
            return None, keep
        return self.backend.from_host(data), keep

    def refresh(self) -> None:
        """Give the constants that a host sets their values of now, after what was queued before."""
        there, keep = self._constants
        data, keep[:] = structure.filled_structure(self.plan, self.backend)
        if there is None:
            self.backend.synchronize()  # constant memory is written at once, not in the stream's order
            self.module.fill("mixture", data)
        else:
            there[...] = self.backend.from_host(data)

    longest_line = packs.LINE

    @property
    def small(self) -> bool:
        """On a CPU: whether its arrays have so few rows that copying them costs as much as the work."""
        return self.plan.how is None and sum(map(self.plan.rows, self.plan.arguments)) <= FEW_ROWS

    @functools.cached_property
    def has_boxed(self) -> bool:
        """Asked for, it compiles what `bind` with a box needs; False where no compiler is here and the cache lacks
        it."""
        try:
            return bool(self._boxed)
        except BackendError:
            return False

    @functools.cached_property
    def _boxed(self) -> Program:
        """The same, compiled for boxes of larger arrays: whole arrays should not pay for that."""
        other = copy.copy(self)
        other.__dict__.pop("_constants", None)
        other.module = self.backend.compile(schedules.render(self.plan, boxed=True))
        return other

    @property
    def touches_once(self) -> bool:
        """On a device: whether a launch reads each number of its inputs once, and none of its results: then its arrays
        may lie across a link."""
        plan = self.plan
        if plan.how is None or plan.launch.hold == "reload":
            return False
        rows = {q for q in plan.arguments if declare.quantities[q].per}  # the others are in registers
        read = {q for kernel in plan.kernels for q in kernel.reads}
        return all(declare.quantities[q].per == "ns" for q in rows) and not read & rows & set(plan.writes)

    def bind(self, arrays, box=(), across: bool = False):
        """Check names, shapes and types once; returns run(n), which launches for the first n points of the bound
        arrays. box: (nx, ny, sx, sy, sz); point x + nx (y + ny z) then lies x sx + y sy + z sz numbers from an
        array's first one, instead of x + nx (y + ny z). On a CPU nx is `longest_line` at most, sx is 1, and n counts
        whole lines. across: arrays lie in the host's memory, across a device's link."""
        return (self._boxed if box else self)._bind(arrays, box, across)

    def _bind(self, arrays, box, across):
        missing = [a for a in self.plan.arguments if a not in arrays]
        refuse(
            missing,
            f"'{self.name}' needs {', '.join(self.plan.arguments)}; missing "
            f"{', '.join(map(declare.with_unit, missing))}.",
        )
        views = [arrays[a] for a in self.plan.arguments]
        layout = [check_rows(a, arrays[a], self.plan.rows(a), self.dtype) for a in self.plan.arguments]
        there, keep = self._constants
        words = [0 if there is None else self.backend.address(there)] + [
            word for view, (stride, _) in zip(views, layout) for word in (self.backend.address(view), stride)
        ]
        skipped = self._before_a_line(views) if across and not box else 0
        words += self.schedule.record_tail(skipped, box)
        shape = self.schedule.shape(self.plan)
        if across:  # shared memory for no more than so many
            shape = dataclasses.replace(shape, shared=max(shape.shared, self.backend.shared_memory // ACROSS - 1024))
        most = min((length for _, length in layout), default=0) + skipped
        run = self.module.bind("frame_run", shape, np.array(words, dtype=np.int64), most, (views, there, keep))
        if not self.settable:
            return _after(skipped, run) if skipped else run

        def run_with_constants(items):
            declare.require_values(self.settable, self.name)
            run(items + skipped)

        return run_with_constants

    def _before_a_line(self, views) -> int:
        """Numbers from where a line begins to the first one of an array: as most rows of these have it."""
        if not self.schedule.skips_points(self.plan):
            return 0
        size = self.dtype.itemsize
        firsts = [self.backend.address(view) + row * view.strides[0] for view in views for row in range(view.shape[0])]
        return collections.Counter(first % LINE // size for first in firsts).most_common(1)[0][0]

    def __repr__(self):
        made = f"{' '.join(self.reads)} -> {' '.join(self.writes)}"
        return f"Program({self.name}: {made}; {len(self.kernels)} kernels, {self.backend})"


def _after(skipped: int, run):
    """run(items) for a launch whose first block leaves out so many threads."""
    return lambda items: run(items + skipped)
