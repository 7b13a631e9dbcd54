"""CUDA: a thread has a point to itself, all intermediates in registers. thread.h has the loop over points."""

from __future__ import annotations

import itertools
import typing

from ...engine.backend.base import Shape, Source
from ..plan import Plan
from ..records import PointKernel
from ..registry import registry
from ..structure import structure, structure_size
from .schedule import CONTIGUOUS, Lie, Schedule
from .text import (
    Call,
    bodies,
    call,
    defines,
    discarded,
    dropped,
    folders,
    include,
    spelled_headers,
    start,
)

CONSTANT_MEMORY = 60 * 1024  # bytes: 64 KiB less what the compiler itself puts there

# The program's own function lets pointers be __restrict__.
PROGRAM = """\
{defines}#define SPECIES_UNROLL {unroll}
#define COLUMN_STRIDE {stride}
{macros}{numbers}typedef {real} real;
{structure}{headers}{constant}struct How {{
    static constexpr int THREADS = {points};
    static constexpr int CONSTANTS = {copied};
    static constexpr bool COLUMNS = {columns};
    static constexpr bool PERSISTENT = {persistent};{members}
}};
{declarations}
POINT_FN void points_of_a_thread(const Mixture &constants, const long n, const long skipped, {parameters}) {{
{loop}
}}
typedef Arguments<{count}> ProgramArguments;
KERNEL(frame_run, ProgramArguments, {bounds}) {{
    points_of_a_thread({mixture}, items - a.skipped, a.skipped, {box}{arrays});
}}
"""
LOOP = """\
    const auto work = [&](const Mixture &m, const long first, outside *const column, const auto &arrived) {{
        (void)column;
        {body}
    }};
    run_program<How>(constants, n, skipped, work);"""


class Thread(Schedule):
    """A thread a point. `hold` says where species inputs stay between sweeps."""

    name = "thread"
    on_device = True
    holds: tuple[str, ...] = ("registers", "shared", "reload")
    frame = "gas/schedules/thread.h"  # the loop over points
    numbers = ""  # header of the number type; empty: that of a thread, or of matrix units
    real = "point"  # number type
    prefix = ""  # of the types Place and Field

    # ---- launch

    def points(self, p: Plan) -> int:
        """Points that a block has at the same time."""
        return self.threads(p)

    def threads(self, p: Plan) -> int:
        """Threads of a block."""
        return p.launch.threads

    def copied(self, p: Plan) -> int:
        """Units of 8 bytes of constants that a block copies to shared memory: all or none."""
        return structure_size(p) if p.launch.constants == "shared" else 0

    def column_stride(self, p: Plan) -> int:
        """Distance of a species' values in shared memory from those of the next species. Lanes that are served at once,
        sixteen for doubles, read four species of four points (eight of single numbers), which then lie in different
        banks."""
        return self.threads(p) + 32 // p.dtype.itemsize

    def shared_bytes(self, p: Plan) -> int:
        """Bytes of shared memory of a block."""
        held = p.dtype.itemsize * self.column_stride(p) * sum(map(p.rows, columns(p)))
        return held + 8 * self.copied(p)

    def blocks(self, p: Plan) -> int:
        """Blocks on a multiprocessor for which the compiler allots registers; 0: no limit."""
        return p.launch.blocks

    def shape(self, p: Plan) -> Shape:
        """Threads, shared memory [bytes] and blocks of a launch."""
        resident = p.launch.blocks if p.launch.persistent else 0
        return Shape(p.launch.threads, shared=self.shared_bytes(p), resident=resident)

    def in_constant_memory(self, p: Plan) -> bool:
        """Whether the mixture's constants lie in constant memory: the launch asks for it, and they fit."""
        return p.launch.constants == "constant" and 8 * structure_size(p) <= CONSTANT_MEMORY

    def reads_inputs_once(self, p: Plan) -> bool:
        return p.launch.hold != "reload"

    def skips_points(self, p: Plan) -> bool:
        return True

    def record_tail(self, skipped: int, box: typing.Sequence[int]) -> list[int]:
        return [skipped, *box]

    # ---- text

    def macros(self, p: Plan) -> str:
        """Macros ahead of the number type."""
        return "#define SPECIES_HELD\n" if p.launch.hold == "registers" else ""

    def sizes(self, p: Plan) -> dict[str, int]:
        """Sizes of this schedule in the struct How."""
        return {}

    def declarations(self, p: Plan) -> str:
        """Text ahead of the loop over points."""
        return ""

    def cooperative_headers(self, p: Plan) -> list[str]:
        """Headers behind those of the kernels, with bodies for this schedule's number type."""
        return []

    def render(self, p: Plan, lie: Lie = CONTIGUOUS) -> Source:
        """The source of a plan; its kernel `frame_run` takes the record of thread.h."""
        how = p.launch

        units = "matrix_units" if how.pairs == "units" else "thread"
        in_constant_memory = self.in_constant_memory(p)
        pointers, arrays, count = _of_arrays(p, lie)
        headers = [*self.cooperative_headers(p), self.frame]
        threads, blocks = self.threads(p), self.blocks(p)

        text = PROGRAM.format(
            defines=defines(p),
            unroll=p.ns if how.hold == "registers" else how.unroll,
            stride=self.column_stride(p),
            macros=self.macros(p) + _lies(lie),
            numbers=include(self.numbers or f"engine/numbers/{units}.h"),
            real=self.real,
            structure=structure(p),
            headers=spelled_headers(p) + "".join(map(include, headers)),
            constant="__constant__ Mixture mixture;\n" if in_constant_memory else "",
            points=self.points(p),
            copied=self.copied(p),
            columns=str(bool(columns(p))).lower(),
            persistent=str(how.persistent).lower(),
            members="".join(f"\n    static constexpr int {name} = {value};" for name, value in self.sizes(p).items()),
            declarations=self.declarations(p),
            parameters="const Box &box" + "".join(pointers),
            loop=self.loop(p),
            count=count,
            bounds=f"{threads}, {blocks}" if blocks else threads,
            mixture="mixture" if in_constant_memory else "*a.constants",
            box="a.box" if lie.box else "Box()",
            arrays="".join(arrays),
        )

        return Source(p.name, text, folders(p), bodies=bodies(p), pieces=p.pieces, entry="frame_run")

    def loop(self, p: Plan) -> str:
        """The loop over points around the work of a point."""
        body = "\n        ".join(PointText(self, p).lines())
        return LOOP.format(body=body)

    def species_values(self, rows: int) -> str:
        """Type of an array of values of each species that no array in memory takes."""
        return f"Held<real, {rows}>"

    def keeps_inputs(self, p: Plan) -> bool:
        """Whether species inputs are copied to registers, rather than read again by each sweep."""
        return p.launch.hold != "reload"

    def called(self, made: Call) -> str:
        """The statement that calls a body."""
        return made.text()

    def arrival(self) -> list[str]:
        """Lines behind the copies to shared memory."""
        return ["arrived();"]

    def scalar_condition(self, p: Plan, number: int) -> str:
        """Condition under which a thread stores the scalar result of this number."""
        return ""


def _lies(lie: Lie) -> str:
    """Macros for arrays that lie so."""
    return "#define BOXED\n" * bool(lie.box) + "#define ROWS_APART\n" * lie.apart


def _of_arrays(p: Plan, lie: Lie) -> tuple[list[str], list[str], int]:
    """(parameters at_{name} and ld_{name} of each array, their values, entries of the record)"""
    if lie.apart:
        parameters = [f", outside *const *const at_{a}, const long ld_{a}" for a in p.arguments]
        first = list(itertools.accumulate(map(p.rows, p.arguments), initial=0))
        return parameters, [f", a.row + {row}, 0" for row in first[:-1]], first[-1]

    parameters = [f", outside *const __restrict__ at_{a}, const long ld_{a}" for a in p.arguments]
    values = [f", a.array[{number}].at, a.array[{number}].ld" for number in range(len(p.arguments))]
    return parameters, values, len(values)


def columns(p: Plan) -> list[str]:
    """Inputs whose species values are held in shared memory."""
    if p.launch.hold != "shared":
        return []
    return [a for a in p.reads if registry.quantities[a].per == "ns" and a not in p.writes]


class PointText:
    """The lines of C++ that do a point: inputs, calls, results."""

    def __init__(self, schedule: Thread, p: Plan):
        self.schedule, self.p = schedule, p
        self.place, self.field = f"{schedule.prefix}Place", f"{schedule.prefix}Field"
        self.columns, self.kept, self.dropped = columns(p), _kept_wide(p), dropped(p)
        self.known: set[str] = set()  # names that have a variable
        self.copies: list[str] = []  # to shared memory
        self.statements: list[str] = []
        self.rows_copied = 0

    def lines(self) -> list[str]:
        """All lines of a point."""
        for kernel in self.p.kernels:
            self._inputs(kernel)
            self.statements += discarded(self.p, kernel, self.dropped[kernel], "real")
            self._outputs(kernel)
            self.statements.append(self.schedule.called(call(self.p, kernel, self.dropped[kernel], "real")))

        self._results()

        here = f"const {self.place} here(first, n, box);"
        return [here, *self.copies, *self.schedule.arrival(), *self.statements]

    def _inputs(self, kernel: PointKernel) -> None:
        for name in kernel.reads:
            if name not in self.known:
                self.known.add(name)
                self._fetch(name)

    def _fetch(self, name: str) -> None:
        """A number, a column of shared memory, an array in memory, or registers."""
        p, rows = self.p, self.p.rows(name)
        kind = f"{self.field}<>" if name in p.writes else f"{self.field}<true>"
        where = _where(name)

        if registry.quantities[name].per == "":
            self.statements.append(f"real {name} = {kind}{where}[0];")
        elif name in self.columns and name not in self.kept:
            self.copies.append(f"const Column {name}{{column + {self.rows_copied}*COLUMN_STRIDE}};")
            self.copies.append(f"FOR_SPECIES(s, {rows}) {name}.copy(s, {kind}{where});")
            self.rows_copied += rows
        elif name in self.kept or self._in_registers(name):
            self.statements.append(f"Held<real, {rows}> {name};")
            self.statements.append(f"FOR_SPECIES(s, {rows}) {name}.set(s, {kind}{where}[s]);")
        else:
            self.statements.append(f"const {kind} {name}{where};")

    def _in_registers(self, name: str) -> bool:
        is_species_input = registry.quantities[name].per == "ns" and name not in self.p.writes
        return is_species_input and self.schedule.keeps_inputs(self.p)

    def _outputs(self, kernel: PointKernel) -> None:
        """Variables that the kernel writes; results of species go straight to memory."""
        p = self.p
        for name in kernel.writes:
            if name in self.known or name in self.dropped[kernel]:
                continue

            self.known.add(name)
            if registry.quantities[name].per == "":
                self.statements.append(f"real {name}{start(kernel)};")
            elif name in p.writes and name not in self.kept:
                self.statements.append(f"const {self.field}<> {name}{_where(name)};")
            else:
                self.statements.append(f"{self.schedule.species_values(p.rows(name))} {name};")

    def _results(self) -> None:
        """Stores of scalars, and of species values that were kept wide."""
        scalars = [name for name in self.p.writes if registry.quantities[name].per == ""]
        for number, name in enumerate(scalars):
            condition = self.schedule.scalar_condition(self.p, number)
            self.statements.append(f"{condition}{self.field}<>{_where(name)}.set(0, {name});")

        for name in self.kept:
            stored = f"{self.field}<>{_where(name)}.set(s, {name}[s]);"
            self.statements.append(f"FOR_OWN(s, {self.p.rows(name)}) {stored}")


def _where(name: str) -> str:
    """The members of a Field: the rows of an array, at the place of the point."""
    return f"{{{{at_{name}, ld_{name}}}, here}}"


def _kept_wide(p: Plan) -> list[str]:
    """Species values that the launch writes and a kernel of it reads: where arrays are narrower than the arithmetic,
    they stay in registers to the end, so that only results are rounded."""
    if p.precision != "mixed":
        return []

    read = {name for kernel in p.kernels for name in kernel.reads}
    return [name for name in p.writes if registry.quantities[name].per and name in read]


THREAD = Thread()
