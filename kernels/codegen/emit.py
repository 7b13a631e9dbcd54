"""Writes the source around point bodies: the constants' struct, the loop over points, loads, calls, stores. Never a
formula.

CUDA: one thread a point, everything between stays in registers. CPU: stages over blocks of BLOCK points whose
intermediates stay in L1; a kernel that loops over more than a few species is a stage of its own (it needs the vector
registers), neighbouring kernels of one formula share one; kernels work on as many packs at a time as they declare. A
last partial block runs on padded copies, so there is no remainder loop and a point's result does not depend on its
place. With one species what follows from the composition alone is found once.
"""

from __future__ import annotations

import dataclasses
import pathlib

import numpy as np

from ..declare import PointKernel, quantities
from ..errors import ArgumentError

HERE = pathlib.Path(__file__).resolve().parents[1]
BLOCK = 128  # points; with 30 intermediates 34 KB
BY_TILES = ("friction_fit", "Tc", "pc")  # what mixture_diffusion by matrix units does without
LARGE = 2048  # numbers; longer constants stand outside the struct, which keeps a pointer to them

# precision: header on a CPU, number types of a stage there by packs of a value. "mixed": arrays given and returned are
# single precision, all between is double; "single": arithmetic and constants too. CUDA has those that are in DEVICE.
PACKS = {1: "vec", 2: "twin", 4: "quad"}
PRECISIONS = {
    "double": ("numbers/pack.h", PACKS),
    "mixed": ("numbers/pack.h", PACKS),
    "single": ("numbers/pack.h", PACKS),
    **{
        name: (header, dict.fromkeys(PACKS, real))
        for name, header, real in (
            ("scalar", "numbers/platform.h", "double"),
            ("wide", "numbers/platform.h", "wide"),
            ("count", "numbers/counted.h", "counted"),
        )
    },
}
DEVICE = ("double", "mixed", "single")
FLOAT_ARRAYS = ("mixed", "single")


def dtype_of(precision: str) -> np.dtype:
    """Type of the arrays that a program of this precision takes and fills. Raises ArgumentError for an unknown
    precision."""
    if precision not in PRECISIONS:
        raise ArgumentError(f"precision '{precision}'; wanted one of {', '.join(PRECISIONS)}.")
    return np.dtype(np.float32 if precision in FLOAT_ARRAYS else np.float64)


@dataclasses.dataclass(frozen=True)
class Launch:
    """How a CUDA kernel is organised. threads: a block; points: a thread; hold: where species inputs stay between
    sweeps, "registers" (every species loop unrolled), "shared" memory or nowhere ("reload"); unroll: of species loops
    that are not unrolled entirely; blocks: a multiprocessor, which limits registers (0: no limit); pairs: rows of a
    panel of a pair matrix, or "units" for the matrix units; constants: read from "constant" or from "shared" memory;
    persistent: only `blocks` a multiprocessor, which take one stretch of points after the other, so that constants are
    copied to shared memory once."""

    threads: int = 128
    points: int = 1
    hold: str = "registers"
    unroll: int = 4
    blocks: int = 0
    pairs: int | str = 4
    constants: str = "constant"
    persistent: bool = False


@dataclasses.dataclass(frozen=True)
class Plan:
    """What is to be emitted: kernels in order, external names, kept outputs, sizes, switches, constants (those for a
    GPU's matrix units are doubles in any precision) and those of them that are tables in single precision; on CUDA also
    how."""

    kernels: tuple[PointKernel, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    sizes: dict[str, int]
    flags: dict[str, bool]
    values: dict[str, np.ndarray]
    tables: tuple[str, ...] = ()
    how: Launch | None = None
    precision: str = "double"
    numbers: dict[str, float] = dataclasses.field(default_factory=dict)
    members: str = ""

    @property
    def dtype(self) -> np.dtype:
        """Of the arrays given and returned."""
        return dtype_of(self.precision)

    @property
    def ns(self) -> int:
        return self.sizes["NS"]

    def rows(self, name) -> int:
        return quantities[name].rows(self.ns)

    @property
    def arguments(self) -> tuple[str, ...]:
        """Every array the launch touches: the external inputs, then the kept outputs that are not updated in place."""
        return self.reads + tuple(w for w in self.writes if w not in self.reads)

    @property
    def constants(self) -> tuple[tuple[str, int], ...]:
        """(name, size) in the order of the struct: those that it points to first, then doubles, so that nothing is
        padded."""
        ordered = sorted(self.values.items(), key=lambda pair: (pair[1].size <= LARGE, -pair[1].itemsize))
        return tuple((name, value.size) for name, value in ordered)


def plan(kernels, outputs, mixture, how: Launch | None = None, precision: str = "double") -> Plan:
    """Join kernels by names. `outputs` None: everything they write is kept."""
    made: set[str] = set()
    reads: list[str] = []
    values: dict[str, np.ndarray] = {}
    pairs = how.pairs if how else panel_rows(mixture.ns)
    by_tiles = pairs == "units" and mixture.ns > 1 and "friction_tiles" in mixture.pairs  # in place of BY_TILES
    for kernel in kernels:
        if precision == "single" and kernel.double_only:
            raise ArgumentError(
                f"kernel '{kernel.name}' has no single precision: {kernel.double_only}; precision 'mixed' has it."
            )
        reads += [r for r in kernel.reads if r not in made and r not in reads]
        made.update(kernel.writes)
        for name in kernel.constants:
            optional, name = name.endswith("?"), name.rstrip("?")
            if by_tiles and kernel.name == "mixture_diffusion" and name in BY_TILES:
                continue
            if name in mixture.constants:
                values[name] = mixture.constants[name]
            elif name in mixture.pairs:
                if name not in values and (pairs == "units" or mixture.pairs[name].ndim == 2):
                    values[name] = laid_out(mixture.pairs[name], pairs)
            elif name in mixture.tables:  # constants are doubles: two single numbers take the place of one
                table = mixture.tables[name].swapaxes(0, 1) if how else mixture.tables[name]
                values[name] = (
                    np.ascontiguousarray(table).reshape(-1).view(np.float32 if precision == "single" else np.float64)
                )
            elif name in mixture.lacks:
                raise ArgumentError(f"kernel '{kernel.name}' cannot be used with this mixture: {mixture.lacks[name]}.")
            elif not optional:
                raise ArgumentError(
                    f"kernel '{kernel.name}' needs the mixture constant '{name}', which this mixture does not have."
                )
    if precision == "single":  # of a GPU's matrix units only those for doubles are accurate enough
        wide = mixture.pairs if pairs == "units" else ()
        values = {name: np.asarray(value, np.float64 if name in wide else np.float32) for name, value in values.items()}
    if outputs is None:
        outputs = [w for k in kernels for w in k.writes]
    writes = tuple(dict.fromkeys(w for w in outputs if w in made))
    return Plan(
        tuple(kernels),
        tuple(reads),
        writes,
        mixture.sizes | {"PANEL": 4 if pairs == "units" else pairs},
        mixture.flags(),
        values,
        tuple(name for name in mixture.tables if name in values),
        how,
        precision,
        mixture.numbers,
        mixture.members,
    )


# ---------------------------------------------------------------- layouts of pair matrices


def panel_rows(ns: int) -> int:
    """CPU: rows of a register panel: all up to 10 species, else the size from 10 down to 7 that leaves the fuller last
    panel."""
    if ns <= 10:
        return ns
    return min((10, 9, 8, 7), key=lambda rows: (-ns % rows, -rows))


def laid_out(matrix: np.ndarray, pairs: int | str) -> np.ndarray:
    """For matrix_units.h tiles of each matrix, of a quadratic form's half (lower triangle, half the diagonal). For
    pairs.h that triangle by panels of rows in the order in which they are swept, then half the diagonal."""
    if matrix.ndim == 3:
        return np.concatenate([tiles(m) for m in matrix])
    half = np.tril(matrix, -1) + np.diag(0.5 * np.diag(matrix))
    if pairs == "units":
        return tiles(half, triangle=True)
    ns = len(matrix)
    panels = []
    for first in range(0, ns, pairs):
        last = min(first + pairs, ns)
        panels += [matrix[first:last, j] for j in range(first)]
        panels += [matrix[j + 1 : last, j] for j in range(first, last)]
    return np.concatenate([*panels, np.diag(half)])


def tiles(matrix: np.ndarray, triangle: bool = False) -> np.ndarray:
    """A (ns, ns) matrix in the order in which matrix_units.h reads it: for eight rows at a time, four columns at a time
    up to the diagonal for a lower triangle, one number a lane. Row 2t + q of a tile is that of species 4q + t."""
    ns = len(matrix)
    padded = np.zeros((-(-ns // 8) * 8, -(-ns // 8) * 8))
    padded[:ns, :ns] = matrix
    lane = np.arange(32)
    row = 4 * (lane // 4 % 2) + lane // 8
    out = []
    for tile in range(0, ns, 8):
        for step in range(0, min(tile + 8, -(-ns // 4) * 4) if triangle else -(-ns // 4) * 4, 4):
            out.append(padded[tile + row, step + lane % 4])
    return np.concatenate(out)


def _struct(p: Plan) -> str:
    sizes = "\n".join(f"    static constexpr int {k} = {v};" for k, v in p.sizes.items())
    flags = "\n".join(f"    static constexpr bool {k} = {'true' if v else 'false'};" for k, v in p.flags.items())
    numbers = "\n".join(f"    static constexpr double {k} = {float(v)!r};" for k, v in p.numbers.items())
    kinds = {name: "float" if value.dtype == np.float32 else "double" for name, value in p.values.items()}
    data = (
        "\n".join(f"    const {kinds[k]} *{k};" if n > LARGE else f"    {kinds[k]} {k}[{n}];" for k, n in p.constants)
        or "    scalar unused[1];"
    )
    return f"struct alignas(8) Mixture {{\n{sizes}\n{flags}\n{numbers}\n{p.members}{data}\n}};\n"


def pack_constants(p: Plan, backend):
    """The struct's bytes as float64, and what must be kept alive: arrays that it points to, in the backend's memory."""
    data, at, keep = np.zeros(8 * struct_size(p), np.uint8), 0, []
    for name, size in p.constants:
        value = p.values[name]
        if size > LARGE:
            address, array = backend.resident(value)
            keep.append(array)
            value = np.array([address], dtype=np.uint64)
        data[at : at + value.nbytes] = value.view(np.uint8)
        at += value.nbytes
    return data.view(np.float64), keep


def _defines(p: Plan) -> str:
    names = {
        "FRAME_FLOAT_ARRAYS": p.precision in FLOAT_ARRAYS,
        "FRAME_SINGLE": p.precision == "single",
        "FRAME_WIDE": p.precision == "wide",
    }
    return "".join(f"#define {name}\n" for name, wanted in names.items() if wanted)


def _include(name: str) -> str:
    return f'#include "{name}"\n'


def _spelled(header: pathlib.Path) -> str:
    """As sources include it: the project's own from its root, a host's by its name."""
    return str(header.relative_to(HERE)) if header.is_relative_to(HERE) else header.name


def headers(p: Plan) -> list[pathlib.Path]:
    return list(dict.fromkeys(k.header for k in p.kernels))


def dependencies(p: Plan) -> list[pathlib.Path]:
    """Every file whose text decides the program: the headers and all of the project's own."""
    own = sorted((HERE / "numbers").glob("*.h")) + sorted((HERE / "point").rglob("*.h"))
    return list(dict.fromkeys(own + [f for h in headers(p) for f in sorted(h.parent.glob("*.h"))]))


def _call(kernel: PointKernel, constants: str, dropped: set[str]) -> str:
    in_place = [w for w in kernel.writes if w in kernel.reads]
    given = [name if name in kernel.reads else "Absent()" for name in (r.rstrip("?") for r in kernel.order)]
    names = [*given, *(f"{kernel.name}_{w}" if w in dropped else w for w in kernel.writes if w not in in_place)]
    return f"{kernel.name}({', '.join([constants, *names])});"


def _dropped(p: Plan) -> dict[PointKernel, set[str]]:
    """What each kernel writes into nothing: names that were given or made before it stay as they are."""
    made: set[str] = set()
    out = {}
    for kernel in p.kernels:
        out[kernel] = {
            w for w in kernel.writes if w not in kernel.reads and (w in made or w in p.reads and w not in p.writes)
        }
        made.update(kernel.writes)
    return out


def _nothing(kernel: PointKernel, names: set[str], real: str) -> list[str]:
    return [f"{'Discarded' if quantities[w].per else real} {kernel.name}_{w};" for w in kernel.writes if w in names]


# ---------------------------------------------------------------- CUDA


def struct_size(p: Plan) -> int:
    """Of the constants, in units of 8 bytes."""
    return max(-(-sum(v.nbytes if v.size <= LARGE else 8 for v in p.values.values()) // 8), 1)


def in_constant_memory(p: Plan) -> bool:
    """Whether the constants are there (64 KiB less what the compiler itself puts there)."""
    return p.how.constants == "constant" and 8 * struct_size(p) <= 60 * 1024


def column_stride(p: Plan) -> int:
    """From a species' values in shared memory to the next one's: lanes that are served at once, sixteen for doubles,
    read four species of four points (eight of single numbers), which so lie in different banks."""
    return p.how.threads + 32 // p.dtype.itemsize


def shared_bytes(p: Plan) -> int:
    """Dynamic shared memory of a block."""
    species = sum(p.rows(a) for a in p.reads if quantities[a].per == "ns" and a not in p.writes)
    held = p.dtype.itemsize * column_stride(p) * p.how.points * species if p.how.hold == "shared" else 0
    return held + (8 * struct_size(p) if p.how.constants == "shared" else 0)


def _kept_wide(p: Plan) -> list[str]:
    """Species values that a kernel reads which the launch itself writes: where arrays are narrower than the arithmetic,
    they stay in registers to the end, so that only results are rounded."""
    read = {name for kernel in p.kernels for name in kernel.reads}
    return [w for w in p.writes if quantities[w].per and w in read and p.precision == "mixed"]


def cuda_source(p: Plan) -> str:
    """extern "C" frame_run(constants, n, arrays); arrays: pointer and row stride of each of p.arguments, in one struct,
    so that a launch has three arguments whatever the program. The body is a function of its own, for pointers to be
    __restrict__."""
    how = p.how
    members = "".join(f" outside *at_{a}; long ld_{a};" for a in p.arguments)
    arguments = "".join(f", outside *const __restrict__ at_{a}, const long ld_{a}" for a in p.arguments)
    given = "".join(f", arrays.at_{a}, arrays.ld_{a}" for a in p.arguments)
    lines, copies, kept = [], [], _kept_wide(p)
    known: set[str] = set()
    shared, dropped = 0, _dropped(p)

    def fetch(name):
        nonlocal shared
        kind = "Field<POINTS>" if name in p.writes else "Field<POINTS, true>"
        field = f"const {kind} {name}{{at_{name}, ld_{name}, here}};"
        if quantities[name].per == "":
            lines.append(f"real {name} = {kind}{{at_{name}, 0, here}}[0];")
        elif name not in kept and (how.hold == "reload" or quantities[name].per != "ns" or name in p.writes):
            lines.append(field)
        else:
            if how.hold == "shared" and name not in kept:
                copies.append(f"const Column<POINTS> {name}{{column + {shared}*POINTS*COLUMN_STRIDE}};")
                copies.append(f"FOR_SPECIES(s, {p.rows(name)}) {name}.copy(s, {kind}{{at_{name}, ld_{name}, here}});")
                shared += p.rows(name)
            else:
                lines.append(f"Held<real, {p.rows(name)}> {name};")
                lines.append(f"FOR_SPECIES(s, {p.rows(name)}) {name}.set(s, {kind}{{at_{name}, ld_{name}, here}}[s]);")

    for kernel in p.kernels:
        for name in kernel.reads:
            if name not in known:
                known.add(name)
                fetch(name)
        lines += _nothing(kernel, dropped[kernel], "real")
        for name in kernel.writes:
            if name not in known and name not in dropped[kernel]:
                known.add(name)
                if quantities[name].per == "":
                    lines.append(f"real {name};")
                elif name in p.writes and name not in kept:
                    lines.append(f"const Field<POINTS> {name}{{at_{name}, ld_{name}, here}};")
                else:
                    lines.append(f"Held<real, {p.rows(name)}> {name};")
        lines.append(_call(kernel, "m", dropped[kernel]))
    lines += [f"Field<POINTS>{{at_{w}, 0, here}}.set(0, {w});" for w in p.writes if quantities[w].per == ""]
    lines += [f"FOR_SPECIES(s, {p.rows(w)}) Field<POINTS>{{at_{w}, ld_{w}, here}}.set(s, {w}[s]);" for w in kept]
    unroll = p.ns if how.hold == "registers" else how.unroll
    bounds = f"{how.threads}, {how.blocks}" if how.blocks else f"{how.threads}"
    span, prologue = how.threads * how.points, []
    if shared_bytes(p):
        prologue.append("extern __shared__ double shared_memory[];")
    if how.constants == "shared":
        prologue += [
            f"for (int i = threadIdx.x; i < {struct_size(p)}; i += blockDim.x) copy_async(shared_memory + i, (const "
            "double *)constants + i);",
            "const Mixture &m = *(const Mixture *)shared_memory;",
        ]
    else:
        prologue.append(f"const Mixture &m = {'mixture' if in_constant_memory(p) else '*constants'};")
    if shared:
        prologue.append(
            "outside *const column = (outside *)(shared_memory + "
            f"{struct_size(p) if how.constants == 'shared' else 0}) + threadIdx.x;"
        )
    meet = (
        ["copies_done();", "__syncthreads();" if how.constants == "shared" else "__syncwarp();"]
        if shared_bytes(p)
        else []
    )
    if how.persistent:
        prologue += [
            *meet,
            f"UNROLL_BY(1) for (long first = blockIdx.x*{span}L; first < n; first += gridDim.x*{span}L) {{",
        ]
        copies += ["copies_done();", "__syncwarp();"] * bool(shared)
        lines += ["__syncwarp();"] * bool(shared) + ["}"]  # other lanes have read this one's column
    else:
        prologue.append(f"const long first = blockIdx.x*{span}L;")
        copies += meet
    body = "\n    ".join([*prologue, "const Place<POINTS> here(first, n);", *copies, *lines])
    return (
        _defines(p)
        + f"#define SPECIES_UNROLL {unroll}\n#define POINTS {how.points}\n#define COLUMN_STRIDE {column_stride(p)}\n"
        + ("#define SPECIES_HELD\n" if how.hold == "registers" else "")
        + _include("numbers/matrix_units.h" if how.pairs == "units" else "numbers/thread.h")
        + "typedef points<POINTS> real;\n"
        + _struct(p)
        + "".join(_include(_spelled(h)) for h in headers(p))
        + ("__constant__ Mixture mixture;\n" if in_constant_memory(p) else "")
        + f"struct Arrays {{{members} }};\n"
        + f"POINT_FN void points_of_a_thread(const Mixture *constants, const long n{arguments})\n{{\n    {body}\n}}\n"
        + f'extern "C" __global__ void __launch_bounds__({bounds}) frame_run(const Mixture *constants, const long n, '
        "const Arrays arrays)\n" + f"{{\n    points_of_a_thread(constants, n{given});\n}}\n"
    )


# ---------------------------------------------------------------- CPU


def _of_composition(p: Plan) -> tuple[list[PointKernel], list[str]]:
    """With one species: the kernels that need nothing but the composition, which is 1 at every point, and the names so
    known, the given ones first."""
    known = [a for a in ("Y", "X") if p.ns == 1 and a in p.reads and a not in p.writes]
    kernels = []
    for kernel in p.kernels:
        alike = all(quantities[q].per in ("", "ns") for q in kernel.writes) and not set(kernel.writes) & set(p.reads)
        if kernel.reads and set(kernel.reads) <= set(known) and alike:
            kernels.append(kernel)
            known += [w for w in kernel.writes if w not in known]
    return kernels, known


def _sweeps(kernel: PointKernel, ns: int) -> bool:
    """Whether it loops over species, and over more than are worth a stage of their own (to six, 1 or 2 % are won
    without)."""
    return ns > 6 and any(quantities[q].per for q in kernel.reads + kernel.writes)


def _packs(kernel: PointKernel, p: Plan) -> int:
    """Two where a table in single precision is looked up: so many numbers of it are one vector."""
    if p.precision != "single" and any(name.rstrip("?") in p.tables for name in kernel.constants):
        return 2
    return 2 if kernel.packs == 4 and p.ns > 10 and _sweeps(kernel, p.ns) else kernel.packs


def _stages(kernels, p: Plan) -> list[list[PointKernel]]:
    stages: list[list[PointKernel]] = []
    for kernel in kernels:
        sweeps = _sweeps(kernel, p.ns)
        closed = not stages or stages[-1][0] is None or _packs(stages[-1][0], p) != _packs(kernel, p)
        if sweeps or kernel.alone or closed:
            stages.append([None, kernel] if sweeps or kernel.alone else [kernel])
        else:
            stages[-1].append(kernel)
    return [[k for k in stage if k is not None] for stage in stages]


def cpu_source(p: Plan) -> str:
    """extern "C" frame_run(constants, pointers, row strides, n, threads); arrays in the order of p.arguments."""
    header, types = PRECISIONS[p.precision]
    once, known = _of_composition(p)
    checked = [a for a in p.reads if known and not quantities[a].per and a not in p.writes]
    wanted = {q for k in p.kernels if k not in once for q in k.reads} | set(p.writes)
    whole, found = [a for a in known if a in p.reads], [a for a in known if a not in p.reads and a in wanted]
    inner = list(dict.fromkeys(w for k in p.kernels for w in k.writes if w not in p.arguments and w not in known))
    at, place = 0, {}
    for name in [*inner, *checked, *(f"one_{a}" for a in found)]:
        place[name] = at
        at += p.rows(name) if name in inner else 1
    outside, dropped = sum(p.rows(a) for a in p.arguments), _dropped(p)

    def unvaried(name, real):
        value = f"one_{name}" if name in found else "1.0"
        return (
            f"const Held<{real}, 1> {name}{{{{{value}}}}};"
            if quantities[name].per
            else f"const {real} {name}({value});"
        )

    loops = []  # what is said of each, its number type, its lines
    if known:
        lines = [f"{types[1]} {a}; load(at_{a} + t, {a});" for a in whole]
        lines.append(f"const {types[1]} known = {' + '.join(f'not_whole({a})' for a in whole)};")
        lines += [f"{types[1]} {a}; load(given_{a} + t, {a}); store(at_{a} + t, {a} + known);" for a in checked]
        lines += [f"store(at_{a} + t, {types[1]}(one_{a}) + known);" for a in found if a in p.writes]
        loops.append(("where one species is not all there is, NaN", types[1], lines))
    stages = _stages((k for k in p.kernels if k not in once), p)
    touched = [{q for k in stage for q in k.reads + k.writes} for stage in stages]
    for number, stage in enumerate(stages):
        needed_later = set().union(*touched[number + 1 :], p.writes)
        real = types[_packs(stage[0], p)]
        lines, declared = [], set()
        for kernel in stage:
            lines += _nothing(kernel, dropped[kernel], real)
            for name in kernel.reads + kernel.writes:
                if name in declared or name in dropped[kernel]:
                    continue
                declared.add(name)
                if name in known:
                    lines.append(unvaried(name, real))
                elif quantities[name].per:
                    lines.append(f"const Rows<{real}> {name}{{at_{name} + t, ld_{name}}};")
                elif name in kernel.reads:
                    lines.append(f"{real} {name}; load(at_{name} + t, {name});")
                else:
                    lines.append(f"{real} {name};")
            lines.append(_call(kernel, "m", dropped[kernel]))
        made = dict.fromkeys(
            w for k in stage for w in k.writes if not quantities[w].per and w in needed_later and w not in dropped[k]
        )
        lines += [f"store(at_{w} + t, {w});" for w in made]
        loops.append((", ".join(k.name for k in stage), real, lines))
    body = []
    for number, (said, real, lines) in enumerate(loops):
        for k, a in enumerate(p.arguments):
            part = (number - k) % len(loops)
            if part < p.rows(a) and quantities[a].per in ("", "ns"):
                write, array = "true" if a in p.writes else "false", "given" if a in checked else "at"
                lines.append(
                    f"ask_ahead<number<{real}>::lanes, {write}>({array}_{a} + t, ld_{a}, {p.rows(a)}, {part}, "
                    f"{len(loops)});"
                )
        inside = "\n        ".join(lines)
        body.append(
            f"    // {said}\n    for (long t = 0; t < count; t += number<{real}>::lanes) {{\n        {inside}\n    }}"
        )
    pointers = [
        f"stored *__restrict {'given' if a in checked else 'at'}_{a} = outer[{i}]; const long ld_{a} = stride[{i}];"
        for i, a in enumerate(p.arguments)
    ]
    pointers += [
        f"stored *__restrict at_{n} = scratch + {place[n]}*ROW;" + (f" const long ld_{n} = ROW;" if n in inner else "")
        for n in [*inner, *checked]
    ]
    pointers += [f"const stored one_{n} = scratch[{place[f'one_{n}']}*ROW];" for n in found]
    composition = [f"Held<{types[1]}, 1> {a}{{{{1.0}}}};" for a in whole]
    for kernel in once:
        composition += _nothing(kernel, dropped[kernel], types[1])
        composition += [
            f"Held<{types[1]}, 1> {w};" if quantities[w].per else f"{types[1]} {w};"
            for w in kernel.writes
            if w not in dropped[kernel]
        ]
        composition.append(_call(kernel, "m", dropped[kernel]))
    composition += [
        f"store(scratch + {place[f'one_{a}']}*ROW, {a}{'[0]' if quantities[a].per else ''});" for a in found
    ]
    unused = " ".join(f"(void)at_{a}; (void)ld_{a};" for a in (*p.arguments, *inner)) + "".join(
        f" (void)one_{a};" for a in found
    )
    rows = ", ".join(str(p.rows(a)) for a in p.arguments)
    is_output = ", ".join("true" if a in p.writes else "false" for a in p.arguments)
    is_input = ", ".join("true" if a in p.reads else "false" for a in p.arguments)
    text = _defines(p) + _include(header) + f"typedef {types[4]} real;\n" + _struct(p)
    text += "".join(_include(_spelled(h)) for h in headers(p))
    text += f"""
#include <fenv.h>
#include <stdlib.h>
typedef number<real>::stored stored;
constexpr long BLOCK = {BLOCK}, ROW = BLOCK + 64/sizeof(stored), LANES = number<real>::lanes;   // rows a little apart: no 4 KiB aliasing
constexpr int COUNT = {len(p.arguments)}, ROWS[COUNT] = {{{rows}}};
constexpr bool INPUT[COUNT] = {{{is_input}}}, OUTPUT[COUNT] = {{{is_output}}};

// Asks memory for the next block's share of an array: there are more streams than hardware foresees, and those that are written have
// to be read too. Each stage asks for its part of the rows, so that requests are spread over the whole block's time.
template <int POINTS, bool WRITE> static inline void ask_ahead(const stored *now, long stride, int rows, int part, int parts)
{{
    for (int r = part; r < rows; r += parts)
        for (long k = 0; k < POINTS; k += 64/long(sizeof(stored))) __builtin_prefetch(now + r*stride + k + BLOCK, WRITE, WRITE ? 3 : 2);
}}

// what follows from the composition alone, where it is the same at every point
static void composed(const Mixture &m, stored *scratch)
{{
    (void)m; (void)scratch;
    {chr(10).join("    " + line for line in composition).strip()}
}}

// all stages over `count` points, a multiple of LANES
static void block(const Mixture &m, stored *const *outer, const long *stride, stored *scratch, const long count)
{{
    {chr(10).join("    " + line for line in pointers).strip()}
    (void)m; (void)scratch; {unused}
{chr(10).join(body)}
}}

// A whole block where it lies; a partial one, or one of arrays of another type than the stages work on, on copies, filled up to
// whole packs with the last point.
static void some_points(const Mixture &m, outside *const *array, const long *ld, stored *scratch, const long first, const long count)
{{
    stored *copy[COUNT], *next = scratch + {max(at, 1)}*ROW;
    if (sizeof(outside) == sizeof(stored) && count == BLOCK) {{
        for (int a = 0; a < COUNT; ++a) copy[a] = (stored *)(array[a] + first);
        block(m, copy, ld, scratch, BLOCK);
        return;
    }}
    const long whole = (count + LANES - 1)/LANES*LANES;
    long stride[COUNT];
    for (int a = 0; a < COUNT; ++a) {{
        copy[a] = next;
        stride[a] = ROW;
        next += ROWS[a]*ROW;
        if (INPUT[a])
            for (int r = 0; r < ROWS[a]; ++r) {{
                const outside *from = array[a] + r*ld[a] + first;
                stored *to = copy[a] + r*ROW;
                for (long t = 0; t < count; ++t) to[t] = from[t];
                for (long t = count; t < whole; ++t) to[t] = from[count - 1];
            }}
    }}
    block(m, copy, stride, scratch, whole);
    for (int a = 0; a < COUNT; ++a)
        if (OUTPUT[a])
            for (int r = 0; r < ROWS[a]; ++r)
                for (long t = 0; t < count; ++t) array[a][r*ld[a] + first + t] = outside(copy[a][r*ROW + t]);
}}

// 0: done, 1: no memory for the scratch
extern "C" int frame_run(const void *constants, outside *const *array, const long *ld, long n, int threads)
{{
    const Mixture &m = *(const Mixture *)constants;
    int failed = 0;
#pragma omp parallel num_threads(threads) if (threads > 1) reduction(| : failed)
    {{
        fenv_t host;        // these are the host's own threads, and it may have set traps for floating-point exceptions
        if (threads > 1) feholdexcept(&host), fesetenv(FE_DFL_ENV);
        stored *scratch = (stored *)aligned_alloc(64, ({max(at, 1)} + {outside})*ROW*sizeof(stored));
        failed = !scratch;
        if (scratch) composed(m, scratch);
#pragma omp for schedule(static)
        for (long first = 0; first < n; first += BLOCK) {{
            if (scratch) some_points(m, array, ld, scratch, first, n - first < BLOCK ? n - first : BLOCK);
        }}
        free(scratch);
        if (threads > 1) fesetenv(&host);
    }}
    return failed;
}}
"""
    return text
