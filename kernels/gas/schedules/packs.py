"""Point programs for CPU vector units: stages over packs of points, around which packs.h has the loop.

A kernel that loops over more than a few species is a stage of its own, since it needs the vector registers.
Neighbouring kernels of one formula share one. Kernels work on as many packs at a time as they declare. With one species
what follows from the composition alone is found once.
"""

from __future__ import annotations

import itertools
import typing

from ...engine.backend.base import Source
from ..declare import PointKernel, quantities
from ..structure import structure
from .schedule import Schedule
from .text import bodies, call, defines, discarded, dropped, folders, include, spelled_headers, start

if typing.TYPE_CHECKING:
    from ..plan import Plan

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
LINE = 4  # packs.h has a case for each
FEW = 6  # species: sweeps over so many share a stage with their neighbours, which is 1 to 2 % faster


class Packs(Schedule):
    """A vector lane a point, one or more packs at a time."""

    name = "packs"

    def takes(self, how, kernels) -> bool:
        return how is None

    def render(self, p: Plan, boxed: bool = False) -> Source:
        """The source of a plan; its kernel `frame_run` takes the record of packs.h. boxed: for a box of larger arrays,
        of lines of at most LINE points that lie one behind the other."""
        header, types = NUMBERS[p.precision]
        text = [
            ("#define BOXED\n" if boxed else "") + defines(p) + include(header) + f"typedef {types[4]} real;\n",
            structure(p) + spelled_headers(p) + include("gas/schedules/packs.h"),
            _program(p, types, boxed),
            "KERNEL(frame_run, Arguments<Program::COUNT>) { return run_program<Program>(*record, items, threads); }\n",
        ]
        return Source(
            p.name,
            "\n".join(text),
            folders(p),
            quick=p.precision in ("count", "wide"),  # a few points, or arithmetic by library calls
            libraries=("quadmath",) if p.precision == "wide" else (),
            bodies=bodies(p),
        )


def _of_composition(p: Plan) -> tuple[list[PointKernel], list[str]]:
    """With one species: the kernels that need nothing but the composition, which is 1 at every point, and the names so
    known, the given ones first."""
    known: list[str] = [a for a in ("Y", "X") if p.ns == 1 and a in p.reads and a not in p.writes]
    kernels = []
    for kernel in p.kernels:
        alike = all(quantities[q].per in ("", "ns") for q in kernel.writes) and not set(kernel.writes) & set(p.reads)
        if kernel.reads and set(kernel.reads) <= set(known) and alike:
            kernels.append(kernel)
            known += [w for w in kernel.writes if w not in known]
    return kernels, known


def _sweeps(kernel: PointKernel, ns: int) -> bool:
    return ns > FEW and any(quantities[q].per for q in kernel.reads + kernel.writes)


def _packs(kernel: PointKernel, p: Plan) -> int:
    """Two where a table in single precision is looked up: so many numbers of it are one vector."""
    if p.precision != "single" and any(name.rstrip("?") in p.tables for name in kernel.constants):
        return 2
    return 2 if kernel.packs == 4 and p.ns > 10 and _sweeps(kernel, p.ns) else kernel.packs


def _stages(kernels, p: Plan) -> list[list[PointKernel]]:
    stages: list[list[PointKernel]] = []
    open_to_more = False
    for kernel in kernels:
        own = kernel.alone or _sweeps(kernel, p.ns)
        if own or not open_to_more or _packs(stages[-1][0], p) != _packs(kernel, p):
            stages.append([kernel])
        else:
            stages[-1].append(kernel)
        open_to_more = not own
    return stages


def _program(p: Plan, types, boxed: bool) -> str:
    once, known = _of_composition(p)
    lost = dropped(p)
    # scalar inputs that are copied, so that a composition that is none reaches every result as NaN
    checked = [a for a in p.reads if known and not quantities[a].per and a not in p.writes]
    wanted = {q for k in p.kernels if k not in once for q in k.reads} | set(p.writes)
    given = [a for a in known if a in p.reads]
    found = [a for a in known if a not in p.reads and a in wanted]
    made = dict.fromkeys(w for k in p.kernels for w in k.writes)
    inner = [w for w in made if w not in p.arguments and w not in known]
    sizes = {a: p.rows(a) for a in inner} | dict.fromkeys([*checked, *(f"one_{a}" for a in found)], 1)  # in scratch
    places = dict(zip(sizes, itertools.accumulate(sizes.values(), initial=0)))

    loops = []  # what is said of each, its number type, its lines
    if known:
        loops.append(
            ("where one species is not all there is, NaN", types[1], _not_whole(p, given, checked, found, types))
        )
    stages = _stages([k for k in p.kernels if k not in once], p)
    touched = [{q for k in stage for q in k.reads + k.writes} for stage in stages]
    for number, stage in enumerate(stages):
        later = set().union(*touched[number + 1 :], p.writes)
        real = types[_packs(stage[0], p)]
        loops.append((", ".join(k.name for k in stage), real, _stage(p, stage, real, later, known, found, lost)))
    pointers = [
        f"stored *__restrict {'given' if a in checked else 'at'}_{a} = array[{i}]; const long ld_{a} = stride[{i}];"
        for i, a in enumerate(p.arguments)
    ]
    for name in (*inner, *checked):
        row = f" const long ld_{name} = ROW;" if name in inner else ""
        pointers.append(f"stored *__restrict at_{name} = scratch + {places[name]}*ROW;{row}")
    pointers += [f"const stored one_{n} = scratch[{places[f'one_{n}']}*ROW];" for n in found]
    pointers.append(
        "".join(f"(void)at_{a}; (void)ld_{a}; " for a in (*p.arguments, *inner)) + "(void)m; (void)scratch;"
    )
    pointers += [f"(void)one_{a};" for a in found]
    members = [
        f"static constexpr int COUNT = {len(p.arguments)}, SCRATCH = {max(sum(sizes.values()), 1)};",
        f"static constexpr int ROWS[] = {{{', '.join(str(p.rows(a)) for a in p.arguments)}}};",
        f"static constexpr bool INPUT[] = {{{', '.join(str(a in p.reads).lower() for a in p.arguments)}}};",
        f"static constexpr bool OUTPUT[] = {{{', '.join(str(a in p.writes).lower() for a in p.arguments)}}};",
        _function("composed(const Mixture &m, stored *scratch)", _composed(p, once, given, found, lost, places, types)),
        _function(
            "stages(const Mixture &m, stored *const *array, const long *stride, stored *scratch, const long count)",
            [*pointers, *(_loop(p, loops, number, checked) for number in range(len(loops)))],
        ),
    ]
    lines = len(loops) == len(stages) == 1 and not inner and not any(quantities[q].per for q in touched[0])
    if boxed:
        members += [
            f"static constexpr bool LINES = {str(lines).lower()};",
            *(_lines(p, stage, lost) for stage in stages * lines),
        ]
    # in a namespace of its own: the loader makes one of what has the same name in several libraries
    return "namespace {\nstruct Program {\n" + "\n".join(members) + "\n};\n}\n"


def _function(head: str, lines) -> str:
    return f"__attribute__((noinline)) static void {head} {{\n" + "\n".join(lines) + "\n}"


def _composed(p, once, given, found, lost, places, types):
    lines = ["(void)m; (void)scratch;"] + [f"Held<{types[1]}, 1> {a}{{{{1.0}}}};" for a in given]
    for kernel in once:
        lines += discarded(p, kernel, lost[kernel], types[1])
        for w in kernel.writes:
            if w not in lost[kernel]:
                lines.append(f"Held<{types[1]}, 1> {w};" if quantities[w].per else f"{types[1]} {w}{start(kernel)};")
        lines.append(call(p, kernel, lost[kernel], types[1]).text())
    for a in found:
        lines.append(f"store(scratch + {places[f'one_{a}']}*ROW, {a}{'[0]' if quantities[a].per else ''});")
    return lines


def _not_whole(p, given, checked, found, types):
    real = types[1]
    lines = [f"{real} {a}; load(at_{a} + t, {a});" for a in given]
    lines.append(f"const {real} known = {' + '.join(f'not_whole({a})' for a in given)};")
    lines += [f"{real} {a}; load(given_{a} + t, {a}); store(at_{a} + t, {a} + known);" for a in checked]
    return lines + [f"store(at_{a} + t, {real}(one_{a}) + known);" for a in found if a in p.writes]


def _stage(p, stage, real, later, known, found, lost):
    """Loads, calls and stores of one stage."""
    lines, declared = [], set()
    for kernel in stage:
        lines += discarded(p, kernel, lost[kernel], real)
        for name in kernel.reads + kernel.writes:
            if name in declared or name in lost[kernel]:
                continue
            declared.add(name)
            if name in known:
                value = f"one_{name}" if name in found else "1.0"
                per = quantities[name].per
                lines.append(
                    f"const Held<{real}, 1> {name}{{{{{value}}}}};" if per else f"const {real} {name}({value});"
                )
            elif quantities[name].per:
                lines.append(f"const Rows<{real}> {name}{{at_{name} + t, ld_{name}}};")
            else:
                load = name in kernel.reads
                lines.append(
                    f"{real} {name}; load(at_{name} + t, {name});" if load else f"{real} {name}{start(kernel)};"
                )
        lines.append(call(p, kernel, lost[kernel], real).text())
    kept = dict.fromkeys(
        w for k in stage for w in k.writes if not quantities[w].per and w in later and w not in lost[k]
    )
    return lines + [f"store(at_{w} + t, {w});" for w in kept]


def _lines(p: Plan, stage, lost) -> str:
    """A stage of scalars for packs that are put together of lines of N points."""
    made = []
    for i, a in enumerate(p.arguments):
        made.append(f"vec at_{a}[N];" + f" load_lines<N>(array[{i}].at, step, at_{a});" * (a in p.reads))
    inside = "\n    ".join(_stage(p, stage, "vec", set(p.writes), [], [], lost))
    made.append(f"UNROLL\nfor (long t = 0; t < N; ++t) {{\n    {inside}\n}}")
    made += [f"store_lines<N>(array[{i}].at, step, at_{a});" for i, a in enumerate(p.arguments) if a in p.writes]
    given = "const Mixture &m, const Array *array, const long step"
    return f"template <long N> static POINT_FN void lines({given}) {{\n" + "\n".join(["(void)m;", *made]) + "\n}"


def _loop(p: Plan, loops, number: int, checked) -> str:
    """Loop `number` over the block's packs, which also asks ahead for its part of the arrays."""
    said, real, lines = loops[number]
    ahead = []
    for k, a in enumerate(p.arguments):
        part = (number - k) % len(loops)
        if part < p.rows(a) and quantities[a].per in ("", "ns"):
            write, array = str(a in p.writes).lower(), "given" if a in checked else "at"
            rows = f"{array}_{a} + t, ld_{a}, {p.rows(a)}"
            ahead.append(f"ask_ahead<number<{real}>::lanes, {write}>({rows}, {part}, {len(loops)});")
    inside = "\n    ".join([*lines, *ahead])
    return f"// {said}\nfor (long t = 0; t < count; t += number<{real}>::lanes) {{\n    {inside}\n}}"


PACKS = Packs()
