"""Point programs for CPU vector units: stages over packs of points, around which packs.h has the loop.

A kernel that loops over more than a few species is a stage of its own, since it needs the vector registers.
Neighbouring kernels of one formula share one. Kernels work on as many packs at a time as they declare. With one species
what follows from the composition alone is found once.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools

import numpy as np

from ...engine.backend.base import Rows, Source
from ..plan import Plan
from ..records import PointKernel
from ..registry import registry
from ..structure import structure
from .schedule import CONTIGUOUS, Lie, Schedule
from .text import bodies, call, defines, discarded, dropped, folders, include, key_of, kinds, spelled_headers, start

VECTORS = {1: "vec", 2: "twin", 4: "quad"}
# precision: header, number types of a stage by packs of a value
NUMBERS = {
    "double": ("engine/numbers/pack.h", VECTORS),
    "mixed": ("engine/numbers/pack.h", VECTORS),
    "single": ("engine/numbers/pack.h", VECTORS),
    "scalar": ("engine/numbers/platform.h", dict.fromkeys(VECTORS, "double")),
    "wide": ("engine/numbers/platform.h", dict.fromkeys(VECTORS, "wide")),
    "count": ("engine/numbers/counted.h", dict.fromkeys(VECTORS, "counted")),
}
BOXES = {"": "", "even": "#define BOXED\n", "uneven": "#define BOXED\n#define UNEVEN\n"}
FEW = 6  # species: sweeps over so many share a stage with their neighbours, which is 1 to 2 % faster


class Packs(Schedule):
    """A vector lane a point, one or more packs at a time."""

    name = "packs"

    def takes(self, how, kernels) -> bool:
        return how is None

    def apart(self, arrays) -> bool:
        return False  # a table has the rows of all arrays, wherever they lie

    def places(self, arrays: list[Rows]) -> tuple[list[int], np.ndarray]:
        addresses: list[int] = []
        for array in arrays:
            addresses += array.addresses
        table = np.array(addresses, dtype=np.int64)
        return [table.ctypes.data], table

    def render(self, p: Plan, lie: Lie = CONTIGUOUS) -> Source:
        """The source of a plan; its kernel `frame_run` takes the record of packs.h. Lines of a box have points that lie
        one behind the other."""
        header, types = NUMBERS[p.precision]
        own = BOXES[lie.box] or ("#define POINTS_PUT_OFF\n" if key_of(p.kernels) else "")
        text = [
            own + defines(p) + include(header) + f"typedef {types[4]} real;\n",
            structure(p) + spelled_headers(p) + include("gas/schedules/packs.h"),
            _program(p, types, lie.box == "even"),
            "KERNEL(frame_run, Arguments<Program::COUNT>) { return run_program<Program>(*record, items, threads); }\n",
        ]

        return Source(
            p.name,
            "\n".join(text),
            folders(p),
            quick=p.precision in ("count", "wide"),  # a few points, or arithmetic by library calls
            libraries=("quadmath",) if p.precision == "wide" else (),
            bodies=bodies(p),
            pieces=p.pieces,
            entry="frame_run",
        )


# ---------------------------------------------------------------- stages


def _sweeps(kernel: PointKernel, ns: int) -> bool:
    """Whether the kernel loops over more than a few species."""
    return ns > FEW and any(registry.quantities[q].per for q in kernel.reads + kernel.writes)


def _packs(kernel: PointKernel, p: Plan) -> int:
    """Packs of a value. Two if a table in single precision is looked up: so many numbers of it are one vector."""
    if p.precision != "single" and any(name.rstrip("?") in p.tables for name in kernel.constants):
        return 2
    if kernel.running.packs == 4 and p.ns > 10 and _sweeps(kernel, p.ns):
        return 2
    return kernel.running.packs


def _stages(kernels, p: Plan) -> list[list[PointKernel]]:
    """Kernels by the loop over points that they share."""
    stages: list[list[PointKernel]] = []
    open_to_more = False

    for kernel in kernels:
        own = kernel.running.alone or _sweeps(kernel, p.ns)
        if own or not open_to_more or _packs(stages[-1][0], p) != _packs(kernel, p):
            stages.append([kernel])
        else:
            stages[-1].append(kernel)
        open_to_more = not own

    return stages


class Names:
    """Meanings of a program's names: arrays, rows of scratch, numbers that follow from one species."""

    def __init__(self, p: Plan):
        self.p = p
        self.lost = dropped(p)
        self.once, self.known = _of_composition(p)

        # With one species: inputs that are 1, results that are found once.
        wanted = set(p.writes)
        for kernel in p.kernels:
            if kernel not in self.once:
                wanted.update(kernel.reads)

        self.ones = [name for name in self.known if name in p.reads]
        self.found = [name for name in self.known if name not in p.reads and name in wanted]

        # Scalar inputs that are copied, so that a composition that does not sum to 1 reaches every result as NaN.
        self.checked = []
        if self.known:
            self.checked = [name for name in p.reads if not registry.quantities[name].per and name not in p.writes]

        # Rows of scratch: what kernels hand on, copies, numbers that are found once.
        made: dict[str, None] = {}
        for kernel in p.kernels:
            made |= dict.fromkeys(kernel.writes)
        self.inner = [name for name in made if name not in p.arguments and name not in self.known]
        sizes = {name: p.rows(name) for name in self.inner}
        sizes |= dict.fromkeys([*self.checked, *map(_one, self.found)], 1)
        self.places = dict(zip(sizes, itertools.accumulate(sizes.values(), initial=0)))
        self.scratch = max(sum(sizes.values()), 1)


def _one(name: str) -> str:
    """The variable of a number that is found once."""
    return f"one_{name}"


def _of_composition(p: Plan) -> tuple[list[PointKernel], list[str]]:
    """With one species: the kernels that need nothing but the composition, which is 1 at every point, and the names so
    known, inputs first."""
    known: list[str] = []
    if p.ns == 1:
        known += [name for name in ("Y", "X") if name in p.reads and name not in p.writes]

    kernels = []
    for kernel in p.kernels:
        alike = all(registry.quantities[name].per in ("", "ns") for name in kernel.writes)
        if kernel.reads and set(kernel.reads) <= set(known) and alike and not set(kernel.writes) & set(p.reads):
            kernels.append(kernel)
            known += [name for name in kernel.writes if name not in known]

    return kernels, known


# ---------------------------------------------------------------- the program


@dataclasses.dataclass
class Loop:
    """A loop over the packs of a block."""

    said: str  # comment on top
    real: str  # number type
    lines: list[str]
    short: Loop | None = None  # the same for several packs, of which all points need little


def _program(p: Plan, types, boxed: bool) -> str:
    """The structure Program of packs.h."""
    names = Names(p)
    stages = _stages([kernel for kernel in p.kernels if kernel not in names.once], p)
    loops = _loops(names, stages, types)

    body = _pointers(names, stages) + [_loop(p, loops, number) for number in range(len(loops))]
    members = [
        f"static constexpr int COUNT = {len(p.arguments)}, SCRATCH = {names.scratch};",
        _array("int", "ROWS", [p.rows(a) for a in p.arguments]),
        _array("bool", "INPUT", [a in p.reads for a in p.arguments]),
        _array("bool", "OUTPUT", [a in p.writes for a in p.arguments]),
        *kinds(p, _rows(p)),
        _together(loops),
        _function("composed(const Mixture &m, stored *scratch)", _composed(names, types)),
        _function(
            "stages(const Mixture &m, const Points &points, stored *scratch)",
            body,
        ),
    ]

    # Lines of a box: a single stage of scalars can be put together of them in registers.
    if boxed:
        lines = len(loops) == len(stages) == 1 and not names.inner and all(map(_scalar, stages[0]))
        members.append(f"static constexpr bool LINES = {str(lines).lower()};")
        if lines:
            members.append(_lines(names, stages[0]))

    # In a namespace of its own: the loader makes one of what has the same name in several libraries.
    return "namespace {\nstruct Program {\n" + "\n".join(members) + "\n};\n}\n"


def _loops(names: Names, stages, types) -> list[Loop]:
    """A loop for each stage, behind a check of the composition where there is one species."""
    p, loops = names.p, []
    if names.known:
        loops.append(Loop("where one species is not all there is, NaN", types[1], _not_whole(names, types[1])))

    for number, stage in enumerate(stages):
        later = set(p.writes)
        for following in stages[number + 1 :]:
            for kernel in following:
                later.update(kernel.reads + kernel.writes)

        real = types[_packs(stage[0], p)]
        said = ", ".join(kernel.name for kernel in stage)
        loop = Loop(said, real, _stage(names, stage, real, later))
        packs = stage[0].running.short
        if packs and types[packs] != types[1]:
            loop.short = Loop(said, types[packs], _stage(names, stage, types[packs], later, is_short=True))
        loops.append(loop)

    return loops


def _scalar(kernel: PointKernel) -> bool:
    """Whether the kernel reads and writes one number of a point each."""
    return not any(registry.quantities[name].per for name in kernel.reads + kernel.writes)


def _pointers(names: Names, stages) -> list[str]:
    """Declarations of the rows of arrays, of rows of scratch, and of numbers that are found once."""
    in_tables: set[str] = set()
    for stage in stages:
        in_tables |= _in_tables(names, stage)

    p, lines = names.p, ["const long count = points.count;"]
    used = ["m", "scratch"]
    for a, first in _rows(p).items():
        lines.append(f"stored *const *const row_{a} = points.row + {first};")

        if p.rows(a) == 1:
            pointer = f"given_{a}" if a in names.checked else f"at_{a}"
            lines.append(f"stored *__restrict {pointer} = row_{a}[0] + points.first;")
            used.append(pointer)
        else:
            lines.append(f"const bool past_{a} = go_past<{p.rows(a)}>(row_{a}, points);")
            used.append(f"past_{a}")

    for name in (*names.inner, *names.checked):
        lines.append(f"stored *__restrict at_{name} = scratch + {names.places[name]}*ROW;")
        used.append(f"at_{name}")
        if name in in_tables:
            rows = names.p.rows(name)
            lines.append(f"stored *row_{name}[{rows}];")
            lines.append(f"for (int r = 0; r < {rows}; ++r) row_{name}[r] = at_{name} + r*ROW;")

    for name in names.found:
        lines.append(f"const stored {_one(name)} = scratch[{names.places[_one(name)]}*ROW];")
        used.append(_one(name))

    lines.append(" ".join(f"(void){name};" for name in used))
    return lines


def _rows(p: Plan) -> dict[str, int]:
    """{array: its first row}, of the rows of all arrays"""
    sizes = map(p.rows, p.arguments)
    return dict(zip(p.arguments, itertools.accumulate(sizes, initial=0)))


def _together(loops: list[Loop]) -> str:
    """The number of points of the widest pack, as a member."""
    lanes = [f"number<{real}>::lanes" for real in dict.fromkeys(loop.real for loop in loops)]
    widest = functools.reduce(lambda a, b: f"({a} > {b} ? {a} : {b})", lanes, "1")
    return f"static constexpr long TOGETHER = {widest};"


def _array(kind: str, name: str, values) -> str:
    return f"static constexpr {kind} {name}[] = {{{', '.join(str(value).lower() for value in values)}}};"


def _function(head: str, lines) -> str:
    return f"STAGE_FN void {head} {{\n" + "\n".join(lines) + "\n}"


def _composed(names: Names, types) -> list[str]:
    """Numbers that follow from one species, found once for all points."""
    p, real = names.p, types[1]
    lines = ["(void)m; (void)scratch;"]
    lines += [f"Held<{real}, 1> {a}{{{{1.0}}}};" for a in names.ones]

    for kernel in names.once:
        lost = names.lost[kernel]
        lines += discarded(p, kernel, lost, real)

        for name in kernel.writes:
            if name not in lost:
                species = registry.quantities[name].per
                lines.append(f"Held<{real}, 1> {name};" if species else f"{real} {name}{start(kernel)};")

        lines.append(call(p, kernel, lost, real).text())

    for name in names.found:
        value = f"{name}[0]" if registry.quantities[name].per else name
        lines.append(f"store(scratch + {names.places[_one(name)]}*ROW, {value});")

    return lines


def _not_whole(names: Names, real: str) -> list[str]:
    """Lines for mixtures of one species: NaN into the scalar inputs of points whose composition is not 1."""
    lines = [f"{real} {a}; load(at_{a} + t, {a});" for a in names.ones]
    lines.append(f"const {real} known = {' + '.join(f'not_whole({a})' for a in names.ones)};")
    for a in names.checked:
        lines.append(f"{real} {a}; load(given_{a} + t, {a}); store(at_{a} + t, {a} + known);")

    for a in names.found:
        if a in names.p.writes:
            lines.append(f"store(at_{a} + t, {real}({_one(a)}) + known);")

    return lines


# ---------------------------------------------------------------- a stage


def _stage(names: Names, stage, real: str, later, is_short: bool = False) -> list[str]:
    """Loads, calls and stores of a stage. later: names that are needed behind it. is_short: by the short body of its
    one kernel; where that does not serve, nothing is stored."""
    p, lines = names.p, []
    in_tables = _in_tables(names, stage)
    declared: set[str] = set()
    kept: list[str] = []

    for kernel in stage:
        lost = names.lost[kernel]
        lines += discarded(p, kernel, lost, real)

        for name in kernel.reads + kernel.writes:
            if name not in declared and name not in lost:
                declared.add(name)
                lines.append(_variable(names, kernel, name, real, in_tables))

        called = call(p, kernel, lost, real)
        lines.append(f"if (!{called.short()}) break;" if is_short else called.text())
        kept += [name for name in kernel.writes if name in later and name not in lost and name not in kept]

    scalars = [name for name in kept if not registry.quantities[name].per]
    return lines + [f"store(at_{name} + t, {name});" for name in scalars]


def _in_tables(names: Names, stage) -> set[str]:
    """Intermediates of several rows that a stage takes by a table, as it takes arrays: a body may have one type for all
    its inputs of each species, and one for all its outputs."""
    groups = []
    for kernel in stage:
        for group in (kernel.reads, kernel.writes):
            groups.append({name for name in group if registry.quantities[name].per and name not in names.known})

    tables = {name for group in groups for name in group if name not in names.inner}
    before = -1
    while len(tables) > before:
        before = len(tables)
        for group in groups:
            if group & tables:
                tables |= group

    return tables & set(names.inner)


def _variable(names: Names, kernel: PointKernel, name: str, real: str, in_tables: set[str]) -> str:
    """The declaration of a name's variable, loaded if the kernel reads it."""
    per = registry.quantities[name].per
    if name in names.known:
        value = _one(name) if name in names.found else "1.0"
        return f"const Held<{real}, 1> {name}{{{{{value}}}}};" if per else f"const {real} {name}({value});"

    if per:
        if name in in_tables:
            return f"const Rows<{real}> {name}{{row_{name}, t}};"
        if name in names.inner:
            return f"const EvenRows<{real}, ROW> {name}{{at_{name} + t}};"
        past = f", past_{name}" if name in kernel.writes and names.p.rows(name) > 1 else ""
        return f"const Rows<{real}> {name}{{row_{name}, points.first + t{past}}};"
    if name in kernel.reads:
        return f"{real} {name}; load(at_{name} + t, {name});"

    return f"{real} {name}{start(kernel)};"


LINES = """\
template <long N> static POINT_FN void lines(const Mixture &m, outside *const *row, const long step) {{
(void)m;
{loads}
UNROLL
for (long t = 0; t < N; ++t) {{
    {stage}
}}
{stores}
}}"""


def _lines(names: Names, stage) -> str:
    """A stage of scalars for packs that are put together of lines of N points."""
    p = names.p
    loads, stores = [], []

    for i, a in enumerate(p.arguments):
        load = f" load_lines<N>(row[{i}], step, at_{a});" if a in p.reads else ""
        loads.append(f"vec at_{a}[N];{load}")
        if a in p.writes:
            stores.append(f"store_lines<N>(row[{i}], step, at_{a});")

    inside = "\n    ".join(_stage(names, stage, "vec", set(p.writes)))
    return LINES.format(loads="\n".join(loads), stage=inside, stores="\n".join(stores))


def _loop(p: Plan, loops: list[Loop], number: int) -> str:
    """Loop `number` over the block's packs. It also asks ahead for its part of the arrays."""
    loop = loops[number]
    inside = "\n    ".join([*_short(p, loops, number), *loop.lines, *_asked_ahead(p, loop.real, number, len(loops))])
    head = f"for (long t = 0; t < count; t += number<{loop.real}>::lanes)"
    return f"// {loop.said}\n{head} {{\n    {inside}\n}}"


SHORT = """\
while (t + number<{real}>::lanes <= count) {{
        // several packs at a time, until one has a point that needs more
        {inside}
        t += number<{real}>::lanes;
    }}
    if (t >= count) break;"""


def _short(p: Plan, loops: list[Loop], number: int) -> list[str]:
    """The packs ahead whose points all need little."""
    short = loops[number].short
    if short is None:
        return []

    inside = "\n        ".join([*short.lines, *_asked_ahead(p, short.real, number, len(loops))])
    return [SHORT.format(real=short.real, inside=inside)]


def _asked_ahead(p: Plan, real: str, number: int, loops: int) -> list[str]:
    """Requests for the part of the arrays that loop `number` asks ahead for."""
    lines = []
    for k, a in enumerate(p.arguments):
        part = (number - k) % loops
        if part < p.rows(a) and registry.quantities[a].per in ("", "ns"):
            write = str(a in p.writes).lower()
            rows = f"row_{a}, points.first + t, {p.rows(a)}"
            lines.append(f"ask_ahead<number<{real}>::lanes, {write}>({rows}, {part}, {loops});")

    return lines


PACKS = Packs()
