"""A plan: kernels joined by names into one launch, and the constants that they read, laid out.

What a plan says is rendered by packs.py for CPU vector units and by threads.py for CUDA.
"""

from __future__ import annotations

import dataclasses
import pathlib

import numpy as np

from ..engine.errors import ArgumentError, MixtureError, VariantUnsuitable, refuse
from .declare import Constants, PointKernel, options, quantities, settable, value_of

HERE = pathlib.Path(__file__).resolve().parents[1]
LARGE = 2048  # numbers; longer constants stand outside the struct, which keeps a pointer to them

# What is single precision: of "mixed" the arrays given and returned, all between is double; of "single" the arithmetic
# and the constants too. "scalar" (no packs), "wide" (quadruple) and "count" (operations) are for tests, on a CPU.
PRECISIONS = ("double", "mixed", "single", "scalar", "wide", "count")
ON_DEVICE = PRECISIONS[:3]
FLOAT_ARRAYS = ("mixed", "single")


def dtype_of(precision: str) -> np.dtype:
    """Type of the arrays that a program of this precision takes and fills. Raises ArgumentError for an unknown
    precision."""
    refuse(precision not in PRECISIONS, f"precision '{precision}'; wanted one of {', '.join(PRECISIONS)}.")
    return np.dtype(np.float32 if precision in FLOAT_ARRAYS else np.float64)


@dataclasses.dataclass(frozen=True)
class Launch:
    """How a CUDA kernel is organised, a thread a point.

    threads: of a block. hold: where species inputs stay between sweeps, "registers" (every species loop unrolled),
    "shared" memory, or nowhere ("reload"); "crew": not a thread a point, the warps of a block share the work of points;
    "lanes": the lanes of a warp share that of one, and a block has as many warps, up to `threads`, as there is shared
    memory for.
    unroll: of species loops that are not unrolled entirely; of a crew, the points of a lane. blocks: of a
    multiprocessor, which limits registers (0: no limit). pairs: rows of a panel of a pair matrix, or "units" for the
    matrix units. constants: read from "constant", "shared" or "device" memory. persistent: only `blocks` a
    multiprocessor, which take one stretch of points after the other, so that constants are copied to shared memory
    once.
    """

    threads: int = 128
    hold: str = "registers"
    unroll: int = 4
    blocks: int = 0
    pairs: int | str = 4
    constants: str = "constant"
    persistent: bool = False


@dataclasses.dataclass(frozen=True)
class Plan:
    """What is to be rendered.

    kernels: in order. reads, writes: external names, and kept outputs. sizes, flags: compile-time numbers and switches.
    values: constants; those for a GPU's matrix units are doubles in any precision. tables: the constants that are
    tables in single precision. how: on CUDA.
    """

    name: str
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
    pieces: tuple[tuple[str, str], ...] = ()

    @property
    def launch(self) -> Launch:
        """How it is organised on CUDA; a plan for a CPU has none."""
        assert self.how is not None
        return self.how

    @property
    def dtype(self) -> np.dtype:
        """Of the arrays given and returned."""
        return dtype_of(self.precision)

    @property
    def ns(self) -> int:
        return self.sizes["NS"]

    def rows(self, name) -> int:
        return quantities[name].rows(self.ns, self.sizes.get("NR", 0))

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


def make_plan(kernels, outputs, mixture, how: Launch | None = None, precision: str = "double", name: str = "") -> Plan:
    """Join kernels by names. outputs: what is kept; None: everything they write. how: None for a CPU.

    Raises ArgumentError for a kernel that this mixture or precision cannot serve.
    """
    refuse(
        how is not None and precision not in ON_DEVICE,
        f"precision '{precision}' is for the CPU; a device has {', '.join(ON_DEVICE)}.",
    )
    refuse(
        how is not None and how.hold == "crew" and not in_crew(kernels, mixture),
        f"hold 'crew': the warps of a block cannot share the work of {', '.join(k.name for k in kernels)} here.",
        VariantUnsuitable,
    )
    refuse(
        how is not None and how.hold == "lanes" and not in_lanes(kernels, mixture),
        f"hold 'lanes': the lanes of a warp cannot share the work of {', '.join(k.name for k in kernels)} here.",
        VariantUnsuitable,
    )
    made: set[str] = set()
    reads: list[str] = []
    for kernel in kernels:
        refuse(
            precision == "single" and kernel.double_only,
            f"kernel '{kernel.name}' has no single precision: {kernel.double_only}; precision 'mixed' has it.",
        )
        reads += [r for r in kernel.reads if r not in made and r not in reads]
        made.update(kernel.writes)
    if outputs is None:
        outputs = [w for k in kernels for w in k.writes]
    writes = tuple(dict.fromkeys(w for w in outputs if w in made))
    pairs = how.pairs if how else panel_rows(mixture.ns)
    values, tables, makers = _constants(kernels, mixture, pairs, precision, how)
    sizes = {"NS": mixture.ns, "PANEL": 4 if pairs == "units" else pairs}
    if any(quantities[q].per == "nr" for kernel in kernels for q in kernel.reads + kernel.writes):
        sizes["NR"] = mixture.nr
    flags: dict[str, bool] = {}
    for option, value in mixture.options.items():
        flags |= options[option].switches(value)
    numbers: dict[str, float] = {}
    for maker in makers:
        flags |= {k: v for k, v in maker.sizes.items() if isinstance(v, bool)}
        sizes |= {k: v for k, v in maker.sizes.items() if not isinstance(v, bool)}
        numbers |= maker.numbers
    members = "".join(maker.members for maker in makers)
    return Plan(
        name,
        tuple(kernels),
        tuple(reads),
        writes,
        sizes,
        flags,
        values,
        tables,
        how,
        precision,
        numbers,
        members,
        tuple(piece for maker in makers for piece in maker.pieces.items()),
    )


def in_crew(kernels, mixture) -> bool:
    """Whether warps can share the work of a program's points: every kernel has a body for that, some have tables, which
    this mixture has too, and nothing is updated in place."""
    if not all(kernel.crew is not None and not set(kernel.reads) & set(kernel.writes) for kernel in kernels):
        return False
    if any(mixture.facts[fact] not in words for kernel in kernels for fact, words in kernel.crew_when):
        return False
    needed = [name for kernel in kernels for name in kernel.crew]
    return bool(needed) and all(
        _made(mixture, name) and mixture.constant(name).of.sizes["CREW_ROWS"] for name in needed
    )


def in_lanes(kernels, mixture) -> bool:
    """Whether the lanes of a warp can share the work of a program's point."""
    if len(kernels) != 1 or not kernels[0].lanes:
        return False
    name = kernels[0].lanes[0]
    return _made(mixture, name) and bool(mixture.constant(name).of.sizes["LANES_ROWS"])


def _constants(kernels, mixture, pairs, precision: str, how: Launch | None):
    """(name -> values as the struct holds them, names of those that are tables, everything made with them)"""
    values: dict[str, np.ndarray] = {}
    wide: list[str] = []
    tables: list[str] = []
    makers: list[Constants] = []
    single = np.float32 if precision == "single" else np.float64
    for kernel in kernels:
        units = pairs == "units" and mixture.ns > 1
        spared = {q for name, others in kernel.instead if units and _made(mixture, name) for q in others}
        hold = how.hold if how else ""
        for name in (
            kernel.lanes if hold == "lanes" else kernel.constants + ((kernel.crew or ()) if hold == "crew" else ())
        ):
            optional, name = name.endswith("?"), name.rstrip("?")
            if name in values or name in spared:
                continue
            if name in settable:
                values[name] = value_of(name)
                continue
            try:
                found = mixture.constant(name)
            except MixtureError as error:
                raise ArgumentError(f"kernel '{kernel.name}' cannot be used with this mixture: {error}.") from None
            if found is not None and all(found.of is not known for known in makers):
                makers.append(found.of)
            if found is None or found.kind is None:
                refuse(
                    not optional,
                    f"kernel '{kernel.name}' needs the mixture constant '{name}', which this mixture does not have.",
                )
            elif found.kind == "pairs":
                if pairs == "units" or found.array.ndim == 2:
                    values[name] = laid_out(found.array, pairs)
                    wide += [name] * (pairs == "units")  # the units for less than doubles lose too much
            elif found.kind == "tables":  # constants are doubles: two single numbers take the place of one
                table = found.array.swapaxes(0, 1) if how else found.array
                values[name] = np.ascontiguousarray(table).reshape(-1).view(single)
                tables.append(name)
            else:
                values[name] = found.array
    if precision == "single":
        values = {n: np.asarray(v, np.float64 if n in wide else np.float32) for n, v in values.items()}
    return values, tuple(tables), makers


def _made(mixture, name: str) -> bool:
    """Whether the mixture has this constant."""
    try:
        found = mixture.constant(name)
    except MixtureError:
        return False
    return found is not None and found.kind is not None


# ---------------------------------------------------------------- layouts of pair matrices


def panel_rows(ns: int) -> int:
    """CPU: rows of a register panel: all up to 10 species, else the size from 10 down to 7 that leaves the fuller last
    panel."""
    return ns if ns <= 10 else min((10, 9, 8, 7), key=lambda rows: (-ns % rows, -rows))


def laid_out(matrix: np.ndarray, pairs: int | str) -> np.ndarray:
    """For matrix_units.h tiles of each matrix, of a quadratic form's half (lower triangle, half the diagonal). For
    pairs.h that triangle by panels of rows in the order in which they are swept, then half the diagonal."""
    if matrix.ndim == 3:
        return np.concatenate([tiles(m) for m in matrix])
    half = np.tril(matrix, -1) + np.diag(0.5 * np.diag(matrix))
    if isinstance(pairs, str):  # "units"
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


# ---------------------------------------------------------------- what both renderers write


def structure(p: Plan) -> str:
    """The constants' struct in C++."""
    sizes = "\n".join(f"    static constexpr int {k} = {v};" for k, v in p.sizes.items())
    flags = "\n".join(f"    static constexpr bool {k} = {'true' if v else 'false'};" for k, v in p.flags.items())
    numbers = "\n".join(f"    static constexpr double {k} = {float(v)!r};" for k, v in p.numbers.items())
    kinds = {name: "float" if value.dtype == np.float32 else "double" for name, value in p.values.items()}
    some = {k: f"[{n}]" * (k not in settable or settable[k].count is not None) for k, n in p.constants}
    data = (
        "\n".join(
            f"    const {kinds[k]} *{k};" if n > LARGE else f"    {kinds[k]} {k}{some[k]};" for k, n in p.constants
        )
        or "    scalar unused[1];"
    )
    return f"struct HIDDEN alignas(8) Mixture {{\n{sizes}\n{flags}\n{numbers}\n{p.members}{data}\n}};\n"


def structure_size(p: Plan) -> int:
    """Of that struct, in units of 8 bytes."""
    return max(-(-sum(v.nbytes if v.size <= LARGE else 8 for v in p.values.values()) // 8), 1)


def filled_structure(p: Plan, backend) -> tuple[np.ndarray, list]:
    """The struct's bytes as float64, with settable constants as they are now; and the arrays in the backend's memory
    that it points to, to be kept alive."""
    data, at, keep = np.zeros(8 * structure_size(p), np.uint8), 0, []
    for name, size in p.constants:
        value = p.values[name] if name not in settable else value_of(name).astype(p.values[name].dtype)
        if size > LARGE:
            keep.append(backend.from_host(value, value.dtype))
            value = np.array([backend.address(keep[-1])], dtype=np.uint64)
        data[at : at + value.nbytes] = value.view(np.uint8)
        at += value.nbytes
    return data.view(np.float64), keep


def defines(p: Plan) -> str:
    """The macros of a precision, for the head of a source."""
    names = {
        "FRAME_FLOAT_ARRAYS": p.precision in FLOAT_ARRAYS,
        "FRAME_SINGLE": p.precision == "single",
        "FRAME_WIDE": p.precision == "wide",
    }
    return "".join(f"#define {name}\n" for name, wanted in names.items() if wanted)


def include(name: str) -> str:
    """A line that includes a header, by its path from `kernels/`."""
    return f'#include "{name}"\n'


def headers(p: Plan) -> list[pathlib.Path]:
    """Headers of the plan's kernels, each once, in their order."""
    return list(dict.fromkeys(k.header for k in p.kernels))


def spelled_headers(p: Plan) -> str:
    """Includes of the kernels' headers: the project's own from its root, a host's by its whole path, so that equal
    names do not clash."""
    names = [str(h.relative_to(HERE)) if h.is_relative_to(HERE) else str(h) for h in headers(p)]
    return "".join(map(include, ["engine/numbers/own.h"] * any(map(of_host, p.kernels)) + names))


def folders(p: Plan) -> tuple[pathlib.Path, ...]:
    """Where hosts' headers lie."""
    return tuple(dict.fromkeys(h.parent for h in headers(p) if not h.is_relative_to(HERE)))


def bodies(p: Plan) -> tuple[tuple[str, pathlib.Path, str], ...]:
    """What a message about a body that does not compile needs: its kernel, its header, its arguments."""
    return tuple(
        (k.name, k.header, f"reads {' '.join(k.order) or 'nothing'} and writes {' '.join(k.writes)}") for k in p.kernels
    )


def of_host(kernel: PointKernel) -> bool:
    """Whether it is a host's own: its body gets what own.h has."""
    return not kernel.header.is_relative_to(HERE)


def start(kernel: PointKernel) -> str:
    """How a value that the kernel writes is made; the project's own kernels need no NaN, as each has an oracle."""
    return "(NOT_A_NUMBER)" if of_host(kernel) else ""


def call(p: Plan, kernel: PointKernel, dropped: set[str], real: str) -> str:
    """The call of a body. That of a host gets its arguments as own.h guards them."""
    reads = [name if name in kernel.reads else "" for name in (r.rstrip("?") for r in kernel.order)]
    names = {w: f"{kernel.name}_{w}" if w in dropped else w for w in kernel.writes if w not in kernel.reads}
    if not of_host(kernel):
        return f"{kernel.name}({', '.join(['m', *(name or 'Absent()' for name in reads), *names.values()])});"
    guards, passed, after = [], ["m"], []
    for name in (*reads, *names):
        variable = names.get(name, name)
        if not name or not quantities[name].per:
            passed.append(variable if name in kernel.writes else f"given({variable})" if name else "Absent()")
            continue
        if name in kernel.writes:
            rows = 0 if name in kernel.reads else p.rows(name)
            guards.append(f"Written<{rows}> set_{name}; Result<{real}, {rows}, decltype({variable})> ")
            guards.append(f"own_{name}{{{variable}, set_{name}}}; ")
            after.append(f" own_{name}.finish();")
        else:
            guards.append(f"const Given<{real}, decltype({variable})> own_{name}{{{variable}}}; ")
        passed.append(f"own_{name}")
    return f"{{ {''.join(guards)}{kernel.name}({', '.join(passed)});{''.join(after)} }}"


def dropped(p: Plan) -> dict[PointKernel, set[str]]:
    """What each kernel writes into nothing: names that were given or made before it stay as they are."""
    made: set[str] = set()
    out = {}
    for kernel in p.kernels:
        out[kernel] = {
            w for w in kernel.writes if w not in kernel.reads and (w in made or w in p.reads and w not in p.writes)
        }
        made.update(kernel.writes)
    return out


def discarded(p: Plan, kernel: PointKernel, names: set[str], real: str) -> list[str]:
    """Declarations of what takes the values that are dropped. A host's body may read them back."""
    many = lambda w: f"Held<{real}, {p.rows(w)}>" if of_host(kernel) else "Discarded"
    return [
        f"{many(w)} {kernel.name}_{w};" if quantities[w].per else f"{real} {kernel.name}_{w}{start(kernel)};"
        for w in kernel.writes
        if w in names
    ]
