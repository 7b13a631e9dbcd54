"""Point programs for CUDA: a thread a point, organised as the plan's Launch says; threads.h has the frame."""

from __future__ import annotations

from ...engine.backend.base import Shape, Source
from ...engine.backend.facts import REFERENCE
from ..declare import quantities
from ..plan import (
    Plan,
    bodies,
    call,
    defines,
    discarded,
    dropped,
    folders,
    include,
    spelled_headers,
    start,
    structure,
    structure_size,
)

# The number type of a schedule, by `hold`; others have that of a thread.
HEADERS = {"crew": "engine/numbers/crew.h", "lanes": "engine/numbers/lanes.h"}


def in_constant_memory(p: Plan) -> bool:
    """Whether the mixture's constants lie in constant memory: the launch asks for it, and they fit."""
    return p.launch.constants == "constant" and 8 * structure_size(p) <= REFERENCE.constant


def column_stride(p: Plan) -> int:
    """From a species' values in shared memory to the next one's. Lanes that are served at once, sixteen for doubles,
    read four species of four points (eight of single numbers): these then lie in different banks."""
    return p.launch.threads + 32 // p.dtype.itemsize


def columns(p: Plan) -> list[str]:
    """Inputs whose species values are held in shared memory."""
    if p.launch.hold != "shared":
        return []
    return [a for a in p.reads if quantities[a].per == "ns" and a not in p.writes]


def crewed(p: Plan) -> bool:
    """Whether warps share the work of points, of which each lane has `unroll`."""
    return p.launch.hold == "crew"


def in_turn(p: Plan) -> bool:
    """Whether a thread, or a warp whose lanes share a point, takes the next one when it is done."""
    return by_lanes(p) or len(p.kernels) == 1 and p.kernels[0].in_turn


def by_lanes(p: Plan) -> bool:
    """Whether the lanes of a warp share the work of a point."""
    return p.launch.hold == "lanes"


def copied(p: Plan) -> int:
    """Units of 8 bytes of constants that a block copies to shared memory: all, or none where that leaves no room for
    the points of two warps."""
    size = structure_size(p)
    fit = not by_lanes(p) or size + 2 + 2 * p.sizes["LANES_ROWS"] <= REFERENCE.shared_of_block // 8
    return size if p.launch.constants == "shared" and fit else 0


def block_of_lanes(p: Plan) -> tuple[int, int]:
    """(warps of a block, bytes of shared memory): as many as there is memory for."""
    used, rows = ahead_of_lanes(p), p.sizes["LANES_ROWS"]
    warps = max(min(p.launch.threads // 32, (REFERENCE.shared_of_block // 8 - used) // rows), 1)
    return warps, 8 * (used + warps * rows)


def ahead_of_lanes(p: Plan) -> int:
    """Units of 8 bytes of shared memory ahead of that of the points: constants, and how many points are taken. Even,
    so that two numbers of a point side by side are one access."""
    return (copied(p) + 2) // 2 * 2


def points_of_block(p: Plan) -> int:
    """Points that a block of threads has at the same time."""
    return 32 * p.launch.unroll if crewed(p) else p.launch.threads


def shape(p: Plan) -> Shape:
    """Threads, shared memory [bytes] and blocks of the plan's launch."""
    if crewed(p):
        points = points_of_block(p)
        shared = 8 * points * p.sizes["CREW_ROWS"] + p.sizes["CREW_BYTES"]
        return Shape(p.launch.threads, covers=points, shared=shared)
    if by_lanes(p):
        warps, shared = block_of_lanes(p)
        return Shape(32 * warps, covers=warps, shared=shared, resident=-1)
    held = p.dtype.itemsize * column_stride(p) * sum(map(p.rows, columns(p)))
    shared = held + 8 * copied(p)
    if in_turn(p):
        return Shape(p.launch.threads, shared=shared + 8, resident=-1)
    return Shape(p.launch.threads, shared=shared, resident=p.launch.blocks if p.launch.persistent else 0)


def render(p: Plan, boxed: bool = False) -> Source:
    """The source of a plan; its kernel `frame_run` takes the record of threads.h. boxed: for a box of larger arrays."""
    how = p.launch
    arguments = "".join(f", outside *const __restrict__ at_{a}, const long ld_{a}" for a in p.arguments)
    given = "".join(f", a.array[{i}].at, a.array[{i}].ld" for i in range(len(p.arguments)))
    threads = 32 * block_of_lanes(p)[0] if by_lanes(p) else how.threads
    bounds = f"{threads}, {how.blocks}" if how.blocks else f"{threads}"
    body = "\n        ".join(_work(p))
    from_ = "mixture" if in_constant_memory(p) else "*a.constants"
    count = f"Arguments<{len(p.arguments)}>"
    text = [
        defines(p) + f"#define SPECIES_UNROLL {p.ns if how.hold == 'registers' else how.unroll}",
        f"#define COLUMN_STRIDE {column_stride(p)}",
        *["#define SPECIES_HELD"] * (how.hold == "registers"),
        *[f"#define CREW {how.threads // 32}\n#define LANE_POINTS {how.unroll}"] * crewed(p),
        *[f"#define LANES {ahead_of_lanes(p)}"] * by_lanes(p),
        *["#define BOXED"] * boxed,
        include(HEADERS.get(how.hold) or f"engine/numbers/{'matrix_units' if how.pairs == 'units' else 'thread'}.h")
        + f"typedef {'several' if crewed(p) else 'point'} real;",
        structure(p) + spelled_headers(p) + include("gas/schedules/threads.h"),
        *["__constant__ Mixture mixture;"] * in_constant_memory(p),
        "struct How {",
        f"    static constexpr int THREADS = {points_of_block(p)};",
        f"    static constexpr int CONSTANTS = {copied(p)};",
        f"    static constexpr bool COLUMNS = {str(bool(columns(p))).lower()};",
        f"    static constexpr bool PERSISTENT = {str(how.persistent).lower()};",
        "};",
        # a function of its own, for pointers to be __restrict__
        "POINT_FN void points_of_a_thread(const Mixture &constants, const long n, const long skipped, "
        f"const Box &box{arguments}) {{",
        *(_in_turn(p, body) if in_turn(p) else _of_points(body)),
        f"typedef {count} ProgramArguments;",
        f"KERNEL(frame_run, ProgramArguments, {bounds}) {{",
        f"    points_of_a_thread({from_}, items - a.skipped, a.skipped, {'a.box' if boxed else 'Box()'}{given});\n}}\n",
    ]
    return Source(p.name, "\n".join(text), folders(p), bodies=bodies(p), pieces=p.pieces, entry="frame_run")


def _of_points(body: str) -> list[str]:
    return [
        "    const auto work = [&](const Mixture &m, const long first, outside *const column, const auto &arrived) {",
        f"        (void)column;\n        {body}",
        "    };",
        "    run_program<How>(constants, n, skipped, work);\n}",
    ]


def _in_turn(p: Plan, body: str) -> list[str]:
    kernel = p.kernels[0]
    return [
        "    const auto work = [&](const Mixture &m, const auto &take) {",
        "        long first; // that of the block if this thread's place in it were its point's",
        "        const auto at = [&](const auto &use) {",
        f"        {body}",
        "        };",
        f"        {kernel.name}_in_turn(m, real(0.0), at, [&] {{",
        "            first = take() - threadIdx.x;",
        "            return first + threadIdx.x < n;",
        "        });",
        "    };",
        "    run_in_turn<How>(constants, work);\n}",
    ]


def _kept_wide(p: Plan) -> list[str]:
    """Species values that a kernel reads which the launch itself writes: where arrays are narrower than the arithmetic,
    they stay in registers to the end, so that only results are rounded."""
    read = {name for kernel in p.kernels for name in kernel.reads}
    return [w for w in p.writes if quantities[w].per and w in read and p.precision == "mixed"]


def _work(p: Plan) -> list[str]:
    """Lines that do one point: inputs, calls, results."""
    lines, copies, kept, lost = [], [], _kept_wide(p), dropped(p)
    known: set[str] = set()
    column, place = columns(p), 0
    crew = "Crew" * crewed(p)

    def fetch(name):
        nonlocal place
        kind = f"{crew}Field<>" if name in p.writes else f"{crew}Field<true>"
        rows, where = p.rows(name), f"{{at_{name}, ld_{name}, here}}"
        if quantities[name].per == "":
            lines.append(f"real {name} = {kind}{{at_{name}, 0, here}}[0];")
        elif name not in kept and name in column:
            copies.append(f"const Column {name}{{column + {place}*COLUMN_STRIDE}};")
            copies.append(f"FOR_SPECIES(s, {rows}) {name}.copy(s, {kind}{where});")
            place += rows
        elif name not in kept and (
            p.launch.hold in ("reload", "crew", "lanes") or quantities[name].per != "ns" or name in p.writes
        ):
            lines.append(f"const {kind} {name}{where};")
        else:
            lines.append(f"Held<real, {rows}> {name};")
            lines.append(f"FOR_SPECIES(s, {rows}) {name}.set(s, {kind}{where}[s]);")

    for kernel in p.kernels:
        for name in kernel.reads:
            if name not in known:
                known.add(name)
                fetch(name)
        lines += discarded(p, kernel, lost[kernel], "real")
        for name in kernel.writes:
            if name not in known and name not in lost[kernel]:
                known.add(name)
                if quantities[name].per == "":
                    lines.append(f"real {name}{start(kernel)};")
                elif name in p.writes and name not in kept:
                    lines.append(f"const {crew}Field<> {name}{{at_{name}, ld_{name}, here}};")
                else:
                    lines.append(f"{f'Owned<{p.rows(name)}>' if crew else f'Held<real, {p.rows(name)}>'} {name};")
        called = call(p, kernel, lost[kernel], "real")
        if in_turn(p):
            called = f"if (!{called.replace(f'{kernel.name}(m, ', 'use(').rstrip(';')}) return;"
        lines.append(called)
    scalars = [w for w in p.writes if quantities[w].per == ""]
    once = [f"if (crew_rank() == {i % (p.launch.threads // 32)}) " * crewed(p) for i in range(len(scalars))]
    lines += [f"{one}{crew}Field<>{{at_{w}, 0, here}}.set(0, {w});" for one, w in zip(once, scalars)]
    lines += [f"FOR_OWN(s, {p.rows(w)}) {crew}Field<>{{at_{w}, ld_{w}, here}}.set(s, {w}[s]);" for w in kept]
    return [f"const {crew}Place here(first, n, box);", *copies, *["arrived();"] * (not in_turn(p)), *lines]
