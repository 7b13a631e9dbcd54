"""Writes the source around point bodies: the constants' struct, the loop over points, loads, calls, stores. Never a formula.

CUDA: one thread a point, everything between stays in registers. CPU: stages over blocks of BLOCK points whose
intermediates stay in L1; a kernel that loops over species is a stage of its own (it needs the vector registers),
neighbouring one-formula kernels share one. A last partial block runs on padded copies, so there is no remainder loop
and a point's result does not depend on its place.
"""
from __future__ import annotations

import dataclasses
import pathlib

import numpy as np

from .declare import PointKernel, quantities
from .errors import ArgumentError

HERE = pathlib.Path(__file__).resolve().parent
BLOCK = 128                 # points; with 30 intermediates 34 KB
LARGE = 2048                # numbers; longer constants stand outside the struct, which keeps a pointer to them
HELD_SPECIES = 24           # CUDA: up to here species arrays are held in registers and loops are unrolled (1.8 times faster at 20 on an H200)


@dataclasses.dataclass(frozen=True)
class Plan:
    """What is to be emitted: kernels in order, external names, kept outputs, sizes, switches, layout of the constants."""

    kernels: tuple[PointKernel, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    sizes: dict[str, int]
    flags: dict[str, bool]
    constants: tuple[tuple[str, int], ...]      # name, length, in the order of the struct

    @property
    def ns(self) -> int:
        return self.sizes["NS"]

    def rows(self, name) -> int:
        return quantities[name].rows(self.ns)

    @property
    def arguments(self) -> tuple[str, ...]:
        """Every array the launch touches: the external inputs, then the kept outputs that are not updated in place."""
        return self.reads + tuple(w for w in self.writes if w not in self.reads)


def plan(kernels, outputs, mixture) -> Plan:
    """Join kernels by names. `outputs` None: everything they write is kept."""
    made: set[str] = set()
    reads: list[str] = []
    names: list[str] = []
    for kernel in kernels:
        reads += [r for r in kernel.reads if r not in made and r not in reads]
        made.update(kernel.writes)
        for name in kernel.constants:
            optional, name = name.endswith("?"), name.rstrip("?")
            if name in mixture.constants:
                if name not in names:
                    names.append(name)
            elif name in mixture.lacks:
                raise ArgumentError(f"kernel '{kernel.name}' cannot be used with this mixture: {mixture.lacks[name]}.")
            elif not optional:
                raise ArgumentError(f"kernel '{kernel.name}' needs the mixture constant '{name}', which this mixture does not have.")
    if outputs is None:
        outputs = [w for k in kernels for w in k.writes]
    writes = tuple(dict.fromkeys(w for w in outputs if w in made))
    return Plan(tuple(kernels), tuple(reads), writes, dict(mixture.sizes), mixture.flags(),
                tuple((n, mixture.constants[n].size) for n in names))


def _struct(p: Plan) -> str:
    sizes = "\n".join(f"    static constexpr int {k} = {v};" for k, v in p.sizes.items())
    flags = "\n".join(f"    static constexpr bool {k} = {'true' if v else 'false'};" for k, v in p.flags.items())
    data = "\n".join(f"    const double *{k};" if n > LARGE else f"    double {k}[{n}];" for k, n in p.constants) or "    double unused[1];"
    return f"struct Mixture {{\n{sizes}\n{flags}\n{data}\n}};\n"


def pack_constants(p: Plan, constants, backend):
    """The struct's bytes as float64, and what must be kept alive: arrays that it points to, in the backend's memory."""
    parts, keep = [], []
    for name, length in p.constants:
        if length > LARGE:
            address, array = backend.resident(constants[name])
            keep.append(array)
            parts.append(np.array([address], dtype=np.uint64).view(np.float64))
        else:
            parts.append(constants[name])
    return np.concatenate(parts or [np.zeros(1)]), keep


def _include(name: str) -> str:
    return f'#include "{name}"\n'


def headers(p: Plan) -> list[pathlib.Path]:
    return list(dict.fromkeys(k.header for k in p.kernels))


def dependencies(p: Plan) -> list[pathlib.Path]:
    """Every file whose text decides the program: the headers and all of the project's own."""
    own = sorted(HERE.glob("*.h")) + sorted((HERE / "point").glob("*.h"))
    return list(dict.fromkeys(own + [f for h in headers(p) for f in sorted(h.parent.glob("*.h"))]))


def _call(kernel: PointKernel, constants: str) -> str:
    in_place = [w for w in kernel.writes if w in kernel.reads]
    names = [*kernel.reads, *(w for w in kernel.writes if w not in in_place)]
    return f"{kernel.name}({', '.join([constants, *names])});"


# ---------------------------------------------------------------- CUDA

def cuda_source(p: Plan, threads: int) -> str:
    """extern "C" frame_run(constants, n, then pointer and row stride of each of p.arguments)."""
    arguments = "".join(f", double *const __restrict__ at_{a}, const long ld_{a}" for a in p.arguments)
    held = p.ns <= HELD_SPECIES
    lines = []
    known: set[str] = set()

    def fetch(name):
        if quantities[name].per == "":
            lines.append(f"double {name} = at_{name}[t];")
        elif held and quantities[name].per == "ns" and name not in p.writes:
            lines.append(f"Held<double, {p.rows(name)}> {name};")
            lines.append(f"FOR_SPECIES(s, {p.rows(name)}) {name}.set(s, at_{name}[t + s*ld_{name}]);")
        else:
            lines.append(f"const Rows<double> {name}{{at_{name} + t, ld_{name}}};")

    for kernel in p.kernels:
        for name in kernel.reads:
            if name not in known:
                known.add(name)
                fetch(name)
        for name in kernel.writes:
            if name not in known:
                known.add(name)
                if quantities[name].per == "":
                    lines.append(f"double {name};")
                elif name in p.writes:
                    lines.append(f"const Rows<double> {name}{{at_{name} + t, ld_{name}}};")
                else:
                    lines.append(f"Held<double, {p.rows(name)}> {name};")
        lines.append(_call(kernel, "m"))
    lines += [f"at_{w}[t] = {w};" for w in p.writes if quantities[w].per == ""]
    body = "\n    ".join(lines)
    return (f"#define SPECIES_UNROLL {p.ns if held else 4}\n" + _include("platform.h") + _struct(p)
            + "".join(_include(h.name) for h in headers(p))
            + ("__constant__ Mixture mixture;\n" if constants_fit(p) else "")
            + f'extern "C" __global__ void __launch_bounds__({threads}) frame_run(const Mixture *constants, const long n{arguments})\n{{\n'
            + f"    const long t = blockIdx.x*(long)blockDim.x + threadIdx.x;\n    if (t >= n) return;\n"
            + f"    const Mixture &m = {'mixture' if constants_fit(p) else '*constants'};\n    {body}\n}}\n")


def constants_fit(p: Plan) -> bool:
    """Whether the constants go into __constant__ memory (64 KiB less what the compiler itself puts there)."""
    return 8*sum(n if n <= LARGE else 1 for _, n in p.constants) <= 60*1024


# ---------------------------------------------------------------- CPU

PRECISIONS = {"double": ("pack.h", "vec"), "scalar": ("platform.h", "double"), "wide": ("platform.h", "wide"),
              "count": ("counted.h", "counted")}          # header, number type


def _stages(p: Plan) -> list[list[PointKernel]]:
    stages: list[list[PointKernel]] = []
    for kernel in p.kernels:
        sweeps = any(quantities[q].per for q in kernel.reads + kernel.writes)
        if sweeps or not stages or stages[-1][0] is None:
            stages.append([None, kernel] if sweeps else [kernel])
        else:
            stages[-1].append(kernel)
    return [[k for k in stage if k is not None] for stage in stages]


def cpu_source(p: Plan, precision: str = "double") -> str:
    """extern "C" frame_run(constants, pointers, row strides, n, threads); arrays in the order of p.arguments."""
    header, real = PRECISIONS[precision]
    inner = [w for k in p.kernels for w in k.writes if w not in p.arguments]
    inner = list(dict.fromkeys(inner))
    at, place = 0, {}
    for name in inner:
        place[name] = at
        at += p.rows(name)
    outside = sum(p.rows(a) for a in p.arguments)
    stages = _stages(p)
    touched = [{q for k in stage for q in k.reads + k.writes} for stage in stages]
    body = []
    for number, stage in enumerate(stages):
        needed_later = set().union(*touched[number + 1:], p.writes)
        lines, known = [], set()
        for kernel in stage:
            for name in kernel.reads + kernel.writes:
                if name in known:
                    continue
                known.add(name)
                if quantities[name].per:
                    lines.append(f"const Rows<real> {name}{{at_{name} + t, ld_{name}}};")
                elif name in kernel.reads:
                    lines.append(f"real {name}; load(at_{name} + t, {name});")
                else:
                    lines.append(f"real {name};")
            lines.append(_call(kernel, "m"))
        made = dict.fromkeys(w for k in stage for w in k.writes if not quantities[w].per and w in needed_later)
        lines += [f"store(at_{w} + t, {w});" for w in made]
        inside = "\n        ".join(lines)
        body.append(f"    // {', '.join(k.name for k in stage)}\n    for (long t = 0; t < count; t += LANES) {{\n        {inside}\n    }}")
    pointers = [f"stored *__restrict at_{a} = outer[{i}]; const long ld_{a} = stride[{i}];" for i, a in enumerate(p.arguments)]
    pointers += [f"stored *__restrict at_{n} = scratch + {place[n]}*ROW; const long ld_{n} = ROW;" for n in inner]
    unused = " ".join(f"(void)at_{a}; (void)ld_{a};" for a in (*p.arguments, *inner))
    rows = ", ".join(str(p.rows(a)) for a in p.arguments)
    is_output = ", ".join("true" if a in p.writes else "false" for a in p.arguments)
    is_input = ", ".join("true" if a in p.reads else "false" for a in p.arguments)
    text = ("#define FRAME_WIDE\n" if precision == "wide" else "") + _include(header) + f"typedef {real} real;\n" + _struct(p)
    text += "".join(f'#include "{h.name}"\n' for h in headers(p))
    text += f"""
#include <fenv.h>
#include <stdlib.h>
typedef number<real>::stored stored;
constexpr long BLOCK = {BLOCK}, ROW = BLOCK + 8, LANES = number<real>::lanes;   // rows a little apart: no 4 KiB aliasing
constexpr int COUNT = {len(p.arguments)}, ROWS[COUNT] = {{{rows}}};
constexpr bool INPUT[COUNT] = {{{is_input}}}, OUTPUT[COUNT] = {{{is_output}}};

// all stages over `count` points, a multiple of LANES
static void block(const Mixture &m, stored *const *outer, const long *stride, stored *scratch, const long count)
{{
    {chr(10).join('    ' + line for line in pointers).strip()}
    (void)m; (void)scratch; {unused}
{chr(10).join(body)}
}}

// a partial block (or one in another number type): on copies, filled up to whole packs with the last point
static void copied_block(const Mixture &m, double *const *array, const long *ld, stored *scratch, long first, long count)
{{
    const long whole = (count + LANES - 1)/LANES*LANES;
    stored *copy[COUNT], *next = scratch + {max(at, 1)}*ROW;
    long stride[COUNT];
    for (int a = 0; a < COUNT; ++a) {{
        copy[a] = next;
        stride[a] = ROW;
        next += ROWS[a]*ROW;
        if (INPUT[a])
            for (int r = 0; r < ROWS[a]; ++r)
                for (long t = 0; t < whole; ++t) copy[a][r*ROW + t] = array[a][r*ld[a] + first + (t < count ? t : count - 1)];
    }}
    block(m, copy, stride, scratch, whole);
    for (int a = 0; a < COUNT; ++a)
        if (OUTPUT[a])
            for (int r = 0; r < ROWS[a]; ++r)
                for (long t = 0; t < count; ++t) array[a][r*ld[a] + first + t] = double(copy[a][r*ROW + t]);
}}

template <class S> static void full_block(const Mixture &m, double *const *array, const long *ld, S *scratch, long first)
{{
    copied_block(m, array, ld, scratch, first, BLOCK);
}}
template <> void full_block<double>(const Mixture &m, double *const *array, const long *ld, double *scratch, long first)
{{
    double *outer[COUNT];
    for (int a = 0; a < COUNT; ++a) outer[a] = array[a] + first;
    block(m, (stored *const *)outer, ld, (stored *)scratch, BLOCK);
}}

// 0: done, 1: no memory for the scratch
extern "C" int frame_run(const void *constants, double *const *array, const long *ld, long n, int threads)
{{
    const Mixture &m = *(const Mixture *)constants;
    int failed = 0;
#pragma omp parallel num_threads(threads) if (threads > 1) reduction(| : failed)
    {{
        fenv_t host;        // these are the host's own threads, and it may have set traps for floating-point exceptions
        if (threads > 1) feholdexcept(&host), fesetenv(FE_DFL_ENV);
        stored *scratch = (stored *)aligned_alloc(64, ({max(at, 1)} + {outside})*ROW*sizeof(stored));
        failed = !scratch;
#pragma omp for schedule(static)
        for (long first = 0; first < n; first += BLOCK) {{
            if (!scratch) continue;
            if (n - first >= BLOCK) full_block<stored>(m, array, ld, scratch, first);
            else copied_block(m, array, ld, scratch, first, n - first);
        }}
        free(scratch);
        if (threads > 1) fesetenv(&host);
    }}
    return failed;
}}
"""
    return text
