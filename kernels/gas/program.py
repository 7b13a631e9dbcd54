"""Program: kernels joined into one launch for one mixture on one backend."""

from __future__ import annotations

import collections
import copy
import dataclasses
import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..engine.backend import get_backend
from ..engine.backend.base import Rows, check_rows
from ..engine.errors import BackendError, refuse
from ..engine.registry import declared
from . import launches, plan as plans, planning, schedules, structure
from .records import ANY, PointKernel
from .registry import registry
from .resolve import resolve

ACROSS = 1  # block of a multiprocessor where arrays lie across the link: more take the link from each other
LINE = 128  # bytes that a device asks for at once across the link
FEW_ROWS = 16  # with more, the work of a point outweighs its copies
MOST_ROWS = 192  # of a record with the address of each row
NEAR_ROWS = 32  # of packs.h's blocks, 1 KiB a row, in an L1 cache of 32 KiB


class Uneven(NamedTuple):
    """A box of arrays of different extents: point x + nx (y + ny z) lies x + y sy + z sz numbers behind the first
    number of a row."""

    nx: int
    ny: int
    steps: dict[str, list[tuple[int, int]]]  # (sy, sz) of each row of an argument

    def tables(self, arguments) -> tuple[np.ndarray, np.ndarray]:
        """sy and sz of all rows, one argument after the other."""
        rows = [step for name in arguments for step in self.steps[name]]
        table = np.array(rows, dtype=np.int64).reshape(-1, 2)
        return table[:, 0].copy(), table[:, 1].copy()


class Wanted(NamedTuple):
    """The kernels of a program: those that lead from given quantities to outputs, or kernels by name."""

    outputs: Sequence[str] | None = None  # quantities; with `kernels`, those to keep: None, all that they write
    given: Sequence[str] = ()  # quantities from which the outputs follow
    kernels: Sequence[str] | None = None  # names, each behind the kernels that write its inputs
    name: str = ""  # of the launch, for timers and messages; "": its kernel, or its outputs

    def records(self, options) -> list[PointKernel]:
        """The kernels in order. Raises ArgumentError for an unknown name, outputs that do not follow, a kernel for
        other options."""
        if self.kernels is None:
            return resolve(self.outputs, self.given, options)

        registry.refuse_unknown_kernel(self.kernels)
        records = [registry.kernels[name].for_options(options) for name in self.kernels]
        for record in records:
            served = dict(record.when) | ({} if record.phases == ANY else {"phases": record.phases})
            refuse(not record.serves(options), f"kernel '{record.name}' is for {served}, the mixture has {options}.")

        return records

    def plan(self, mixture, precision: str = "double", how=None) -> plans.Plan:
        """The plan of their launch. how: a Launch; None for a CPU. Raises ArgumentError as `records`, for what the
        mixture or the precision cannot serve, and where all outputs are given already."""
        records = self.records(mixture.options)
        plan = planning.make_plan(records, self.outputs, mixture, how, precision, self.title(records))
        refuse(not plan.writes, f"nothing to compute: {', '.join(self.outputs or ())} given already.")
        return plan

    def title(self, records: list[PointKernel]) -> str:
        """The name of the launch of these kernels."""
        names = [record.name for record in records]
        if self.name or len(names) == 1:
            return self.name or names[0]
        return "+".join(self.outputs or names)


class Program:
    """A compiled launch of the kernels that are wanted.

    precision: "double"; "mixed" (arrays are float32, the arithmetic stays double: results are rounded once); "single"
    (the arithmetic is float32 too; inversions refuse it); on the CPU also "scalar" (no packs), "wide" (quadruple: the
    kernels as their own reference, results rounded to double) and "count" (counting.py).
    how: a Launch in place of the table's. Raises ArgumentError if a name is unknown or cannot be made.

    Attributes: reads, writes, kernels (names); dtype of the arrays; plan; schedule.
    """

    def __init__(self, mixture, wanted: Wanted, backend=None, precision: str = "double", how=None) -> None:
        self.backend = backend = get_backend(backend)
        records = wanted.records(mixture.options)

        # How they are launched.
        self.dtype = plans.dtype_of(precision)
        table = functools.partial(launches.chosen, records, mixture, precision)
        how = how or backend.organised(table)

        self.kernels = tuple(r.name for r in records)
        self.plan = wanted.plan(mixture, precision, how)
        self.name = self.plan.name

        self.schedule = schedules.schedule_of_plan(self.plan)
        self._others: dict[schedules.Lie, Program] = {}  # for arrays that lie otherwise
        self.reads, self.writes = self.plan.reads, self.plan.writes
        self.settable = tuple(name for name in self.plan.values if name in declared.constants.declared)
        self.module = backend.compile(schedules.render(self.plan))

    @functools.cached_property
    def _constants(self):
        """(array of the struct of constants, None in constant memory; the arrays that the struct points to)"""
        data, keep = structure.filled_structure(self.plan, self.backend)
        if self.settable:
            declared.constants.users.add(self)

        if self.schedule.in_constant_memory(self.plan):
            self.module.fill("mixture", data)
            return None, keep

        return self.backend.from_host(data), keep

    def refresh(self) -> None:
        """Copy the present values of settable constants to the device, behind the launches queued so far."""
        there, keep = self._constants
        data, keep[:] = structure.filled_structure(self.plan, self.backend)

        if there is None:
            self.backend.synchronize()  # constant memory is written at once, not in the stream's order
            self.module.fill("mixture", data)
        else:
            there[...] = self.backend.from_host(data)

    @property
    def _rows(self) -> int:
        """Rows of all arrays."""
        return sum(map(self.plan.rows, self.plan.arguments))

    @property
    def small(self) -> bool:
        """On a CPU: whether its arrays have so few rows that copying them costs as much as the work."""
        return not self.schedule.on_device and self._rows <= FEW_ROWS

    @property
    def near(self) -> bool:
        """On a CPU: whether a block of its arrays fits in the L1 cache. Stages then read contiguous arrays where they
        lie as fast as copies of them. Kernels that iterate over whole states cost more at some points than at others:
        they go chunk by chunk, so that each thread gets points of all parts of a block."""
        if self.schedule.on_device or self._rows > NEAR_ROWS:
            return False
        return not any(
            how.alone and "states" in how.sweeps.split() for how in (kernel.running for kernel in self.plan.kernels)
        )

    def has_boxed(self, kind: str = "even") -> bool:
        """Whether `bind` takes a box, "even" or "uneven" (class Uneven). The question compiles the program for boxes;
        False if no compiler is here and the cache lacks it."""
        try:
            return bool(self._for(schedules.Lie(kind)))
        except BackendError:
            return False

    def takes_apart(self, arrays) -> bool:
        """Whether `bind` takes these arrays, some of whose rows may lie anywhere: their addresses fit in a record."""
        return self._rows <= MOST_ROWS or not self.schedule.apart(arrays)

    def _for(self, lie: schedules.Lie) -> Program:
        """The same program, compiled for arrays of this layout. Contiguous arrays keep their faster code."""
        if lie == schedules.CONTIGUOUS:
            return self

        if lie not in self._others:
            other = copy.copy(self)
            other.__dict__.pop("_constants", None)
            other.module = self.backend.compile(schedules.render(self.plan, lie))
            self._others[lie] = other

        return self._others[lie]

    @property
    def touches_once(self) -> bool:
        """On a device: whether a launch reads each input number once, and no result. Its arrays may then lie across a
        link."""
        plan = self.plan
        if not self.schedule.reads_inputs_once(plan):
            return False
        rows = {q for q in plan.arguments if registry.quantities[q].per}  # the others are in registers
        read = {q for kernel in plan.kernels for q in kernel.reads}

        return all(registry.quantities[q].per == "ns" for q in rows) and not read & rows & set(plan.writes)

    def bind(self, arrays, box=(), across: bool = False):
        """run(n), which launches for the first n points of the arrays. Names, shapes and types are checked here, once.

        box: (nx, ny, sx, sy, sz): point x + nx (y + ny z) lies x sx + y sy + z sz numbers behind an array's first
        number, instead of x + nx (y + ny z). On a CPU sx is 1, and n counts the points of complete lines; it may be
        Uneven there.
        across: arrays lie in the host's memory, across a device's link.
        Raises ArgumentError for a missing array, one of another shape or type, or one for two results.
        """
        missing = [a for a in self.plan.arguments if a not in arrays]
        refuse(
            missing,
            f"'{self.name}' needs {', '.join(self.plan.arguments)}; missing "
            f"{', '.join(map(registry.with_unit, missing))}.",
        )

        views = [arrays[a] for a in self.plan.arguments]
        rows = [self._rows_of(a, arrays[a]) for a in self.plan.arguments]
        self._refuse_results_in_one_array(rows)

        lie = schedules.Lie(_kind_of(box), self.schedule.apart(rows))
        return self._for(lie)._bind(views, rows, box, across)

    def _bind(self, views, rows: list[Rows], box, across: bool):
        # The record: constants, arrays, and what the schedule has behind them.
        there, keep = self._constants
        words = [0 if there is None else self.backend.address(there)]
        places, table = self.schedule.places(rows)
        skipped = self._before_a_line(rows) if across and not box else 0
        steps = None
        if isinstance(box, Uneven):
            steps = box.tables(self.plan.arguments)
            box = (box.nx, box.ny, *(table.ctypes.data for table in steps))
        words += [*places, *self.schedule.record_tail(skipped, box)]

        # Across a link: so much shared memory that no more than ACROSS blocks are resident.
        shape = self.schedule.shape(self.plan)
        if across:
            shape = dataclasses.replace(
                shape,
                shared=max(shape.shared, self.backend.shared_memory // ACROSS - self.backend.facts.shared_reserved),
            )

        most = min((array.points for array in rows), default=0) + skipped
        run = self.module.bind(
            "frame_run", shape, np.array(words, dtype=np.int64), most, (views, there, keep, table, steps)
        )
        if not self.settable:
            return _after(skipped, run) if skipped else run

        def run_with_constants(items):
            declared.constants.require(self.settable, self.name)
            run(items + skipped)

        return run_with_constants

    def _rows_of(self, name: str, array) -> Rows:
        """The rows of an argument. Raises ArgumentError for another shape or type."""
        rows = self.plan.rows(name)
        if isinstance(array, Rows):
            refuse(len(array.addresses) != rows, f"array '{name}': {len(array.addresses)} rows, wanted {rows}.")
            refuse(array.dtype != self.dtype, f"array '{name}': type {array.dtype}, wanted {self.dtype}.")
            return array

        stride, points = check_rows(name, array, rows, self.dtype)
        return Rows.even(self.backend.address(array), rows, stride * self.dtype.itemsize, points, self.dtype)

    def _refuse_results_in_one_array(self, rows: list[Rows]) -> None:
        """Raise ArgumentError if rows of two results begin at the same place: the last written would stay."""
        begins: dict[int, str] = {}
        for name, array in zip(self.plan.arguments, rows):
            for address in array.addresses if name in self.plan.writes and array.points else ():
                other = begins.setdefault(address, name)
                refuse(other != name, f"'{self.name}': results '{other}' and '{name}' have the same array.")

    def _before_a_line(self, arrays: list[Rows]) -> int:
        """Numbers from the begin of a line of memory to the first number of an array, in most rows of the arrays."""
        if not self.schedule.skips_points(self.plan):
            return 0

        distances: collections.Counter = collections.Counter()
        for array in arrays:
            for address in array.addresses:
                distances[address % LINE // self.dtype.itemsize] += 1

        return distances.most_common(1)[0][0]

    def __repr__(self):
        made = f"{' '.join(self.reads)} -> {' '.join(self.writes)}"
        return f"Program({self.name}: {made}; {len(self.kernels)} kernels, {self.backend})"


def _kind_of(box) -> str:
    """The kind of box that `bind` got, as Lie has it."""
    if not box:
        return ""
    return "uneven" if isinstance(box, Uneven) else "even"


def _after(skipped: int, run):
    """run(items) for a launch whose first block leaves out `skipped` threads."""
    return lambda items: run(items + skipped)
