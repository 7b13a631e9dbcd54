"""`bench tensor`: tensor expressions beside einsum and matmul of NumPy, CuPy and torch, opt_einsum, libxsmm, cuTENSOR.

Values of ours and of every rival are checked first. Then all run in turns; medians count.
On a CPU one thread runs, and its processor time counts, which is not the time that other processes took. Start it with
OPENBLAS_NUM_THREADS=1 in the environment: threads of NumPy's library would not be counted. What multiply-adds in
registers and a copy of as many bytes take is measured before; the longer of the two is the bound.
On a device its own clock counts. Cold: the caches hold other numbers, which were read last: with numbers that were
written there, the work would wait for their way to memory, which is none of its own. Hot: the same work ran just
before. Both wait behind that, so that no time of the host is in them. By a graph: hot, of short work of ours, which a
graph launches many times: between two launches of a stream lies about a microsecond more.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import json
import os
import pathlib
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

from kernels import Contraction, get_backend
from kernels.contractions import named
from kernels.contractions.evaluate import worst
from kernels.engine.backend.base import Shape
from kernels.engine.backend.record import record

from ...errors import BackendError, FrameError
from . import ceilings
from .tensor_rivals import Rivals

ROUNDS = 9
LEAST = 2e-3  # seconds of one measurement on a CPU: shorter work is repeated
FAR_OFF = 20  # times the quickest: measured once
SHORT, LAUNCHES = 30e-6, 64  # seconds of work that a graph of so many launches measures too
FLUSHED = 1 << 30  # bytes that are written, and half of them read, to empty a device's caches: so long that the host is
# done queueing
BANDWIDTH = {"NVIDIA H200": 4.2e12}  # bytes/s of a copy, read and written, as measured
FIELD = "out[c l r] = left[c l p] right[c r p]"
DATA_FIELD = "out[c f] = data[c p] field[c f p]"
DATA = "out[c] = left[c p] right[c p]"
ALONE = "bytes alone"  # a row: as many bytes, read and written without arithmetic
READS = 8  # rows of that, at most, so that threads are many
POINTS = 10000 * 12**3  # of Nekbone's rows, whatever the order of their elements


@dataclasses.dataclass(frozen=True)
class Case:
    """rivals: names of methods of Rivals; those that the machine lacks are left out."""

    name: str
    text: str
    sizes: dict[str, int]
    entries: int
    options: dict
    rivals: tuple[str, ...]
    dtype: str = "float64"
    told: int = 0  # entries for which the model chooses; 0: for a usual batch


def cases() -> list[Case]:
    """For one core of a CPU."""
    lg3, eqn1 = named.TEXTS["lg3"], named.TEXTS["eqn1"]
    arranged = ("einsum", "opt_einsum", "matmul")
    made = [
        Case("Lg3 n = 12", lg3.text, dict.fromkeys("ijkl", 12), n, lg3.options, (*arranged, "xsmm_lg3"))
        for n in (64, 2000)
    ]
    made += [
        Case("Eqn.(1) n = 10", eqn1.text, dict.fromkeys("ijklmn", 10), n, eqn1.options, (*arranged, "xsmm_eqn1"))
        for n in (64, 5000)
    ]
    for size, points, numbers in ((8, 8, (1000, 10000)), (16, 64, (100, 10000))):
        sizes = dict(l=size, r=size, p=points)
        made += [
            Case(f"FieldField {size} x {size} x {points}", FIELD, sizes, n, {}, (*arranged, "xsmm_fields"))
            for n in numbers
        ]
    return made


def device_cases() -> list[Case]:
    """For a GPU: Nekbone's operators, Eqn.(1), contractions of fields, the triples kernels."""
    einsums, products = ("einsum", "torch_einsum"), ("matmul", "torch_matmul")
    made = []

    def add(name, text, sizes, entries, options=None, rivals=einsums, single=False):
        made.append(Case(name, text, sizes, entries, options or {}, rivals))
        if single:
            made.append(Case(f"{name}, float32", text, sizes, entries, options or {}, rivals, "float32"))

    for n in (12, 8, 16):
        for key, name in (("lg3", "Lg3"), ("lg3t", "Lg3t"), ("ax", "Ax 6 factors"), ("ax_one", "Ax g = J")):
            t = named.TEXTS[key]
            add(
                f"{name} n = {n}",
                t.text,
                dict.fromkeys("ijkl", n),
                round(POINTS / n**3),
                t.options,
                (*einsums, *products),
                True,
            )
    for key, name in (("eqn1", "Eqn.(1)"), ("eqn1_add", "Eqn.(1) +=")):
        t = named.TEXTS[key]
        add(name, t.text, dict.fromkeys("ijklmn", 10), 10000, t.options, (*einsums, *products), key == "eqn1")
    for size, points in ((8, 8), (16, 64), (64, 125)):
        sizes = dict(l=size, r=size, p=points)
        add(f"FieldField {size},{points}", FIELD, sizes, 10000, None, (*einsums, *products, "cutensor"), size < 64)
    add("DataField 16,64", DATA_FIELD, dict(f=16, p=64), 10000, None, (*einsums, *products, "cutensor"), True)
    add("DataData 64", DATA, dict(p=64), 10000, None, (*einsums, *products), True)
    extents = dict.fromkeys("abcefg", 16)
    for kind in named.ARRANGED:
        for k in range(1, 10):
            t = named.TEXTS[f"{kind}_{k}"]
            sizes = {i: x for i, x in extents.items() if kind != "s1" or i != "g"}
            add(f"{kind.upper()}_{k}", t.text, sizes, 16, t.options, (*einsums, "cutensor"), k == 1)
    add("all 27 into one T3", named.all_triples(), extents, 16, dict(batch="d"), (*einsums, "cutensor"))
    return made


def check(name: str, found, wanted, sizes, eps: float = float(np.finfo(float).eps)) -> float:
    """As evaluate.worst, whose FrameError names the case."""
    try:
        return worst(found, wanted, sizes, eps)
    except FrameError as error:
        raise FrameError(f"{name}: {error}") from None


def seconds(work: Callable[[], object]) -> float:
    """Processor time of work() [s], repeated until the sum is LEAST."""
    begin = time.thread_time()
    work()
    once = time.thread_time() - begin
    if once >= LEAST:
        return once
    often = int(LEAST / once) + 1
    begin = time.thread_time()
    for _ in range(often):
        work()
    return (time.thread_time() - begin) / often


class DeviceClock:
    """cold(work), hot(work): seconds."""

    def __init__(self, backend):
        self.backend, self.memory = backend, backend.empty((FLUSHED,), np.dtype("int8"))
        self.often: dict[int, int] = {}

    def cold(self, work) -> float:
        self.memory.fill(0)
        self.memory[: FLUSHED // 2].view("int64").max()
        begin = self.backend.mark()
        work()
        return self.backend.elapsed(begin, self.backend.mark())

    def hot(self, work) -> float:
        self.memory.fill(0)
        work()
        begin = self.backend.mark()
        often = self.often.get(id(work), 1)
        for _ in range(often):
            work()
        time = self.backend.elapsed(begin, self.backend.mark()) / often
        self.often[id(work)] = min(max(int(1e-4 / time), 1), 16)
        return time


def by_graph(backend, work, rounds: int) -> float | None:
    """Seconds of one launch of many in a graph; None for work that a graph cannot record, such as a library's."""
    try:
        launch, times = backend.record(lambda: [work() for _ in range(LAUNCHES)]), []
    except BackendError:
        return None
    for _ in range(rounds + 1):
        begin = backend.mark()
        launch()
        times.append(backend.elapsed(begin, backend.mark()) / LAUNCHES)
    return statistics.median(times[1:])


def bound(plan, entries: int, backend, roofs=None) -> float | None:
    """Seconds for the bytes that have to move, where the device's bandwidth was measured; for them or for the
    multiply-adds, whatever takes longer, where there are roofs."""
    if roofs:
        return max(plan.flops * entries / roofs.flops, roofs.memory(1, 1, plan.bytes * entries // 16))
    rate = BANDWIDTH.get(backend.product)
    return plan.bytes * entries / rate if rate else None


def bytes_alone(plan, entries: int, backend):
    """run() that reads and writes as many bytes as a contraction has to, and computes nothing."""
    e, p = plan.expression, plan.program
    arrays = {a.name: a for a in p.arguments if a.place is not None or not p.batch}
    count = lambda names: sum(arrays[x].size for x in names if x in arrays) * entries
    read, written = (x * plan.dtype.itemsize for x in (count({*e.inputs, *e.updated}), count(e.outputs)))
    row = max(min(read, written), read // READS)  # bytes; of a short output with many inputs a part of a row is written
    n = -(-row // 512) * 64
    reads, writes = (max(round(x / (8 * n)), 1) for x in (read, written))
    came_from, to = backend.empty((reads, n)), backend.empty((writes, n))
    came_from[...], to[...] = 1.0, 0.0
    ends = {"in": backend.address(came_from), "out": backend.address(to)}
    made = record(ceilings.ROWS, **ends, reads=reads, writes=writes, kept=min(n, written // 8))
    shape = Shape(ceilings.THREADS, covers=2 * ceilings.THREADS)
    run = ceilings.compiled(backend).bind("pace_rows", shape, made, keep=(came_from, to))
    return lambda: run(n)


def ways(case: Case, backend, chosen: bool = False) -> list[Contraction]:
    """A plan for each organisation, the chosen one first; or that one alone."""
    first = Contraction(case.text, case.sizes, case.dtype, backend=backend, entries=case.told, **case.options)
    if chosen:
        return [first]
    others = [how for _, how, _ in first.candidates if how.name != first.how.name]
    return [
        first,
        *(Contraction(case.text, case.sizes, case.dtype, backend=backend, how=h, **case.options) for h in others),
    ]


def compile_ahead(chosen, backend) -> None:
    """All kernels, by several threads: the compiler of devices runs outside Python's lock."""
    plans = [plan for case in chosen for plan in ways(case, backend)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for _ in pool.map(lambda plan: plan.compile(), plans):
            pass


def measure(
    case: Case, rounds: int, told=lambda text: None, backend=None, clocks=None, roofs=None, chosen: bool = False
) -> list[dict]:
    """Rows of ours, in every organisation, and of the rivals; the model's choice first. clocks: name -> seconds of a
    work; the first one counts. roofs: ceilings.Ceilings of a CPU. chosen: ours only by default."""
    backend = backend or get_backend("cpu", threads=1)
    clocks = clocks or {"seconds": seconds}
    plans = ways(case, backend, chosen)
    plan = plans[0]
    rng, arrays = backend.arrays.random.RandomState(0), {}
    for a in plan.program.arguments:
        arrays[a.name] = backend.empty(plan.shape(a.name, case.entries), plan.dtype)
        arrays[a.name][...] = rng.random_sample(arrays[a.name].shape) - 0.5
    outputs = [arrays[name] for name in plan.expression.outputs]
    old = [x.copy() for x in outputs]
    updated = [name in plan.expression.updated for name in plan.expression.outputs]

    def anew(whole=()):
        """Outputs as before the first run; NaN where the old values have no part."""
        for x, before, add in zip(outputs, old, updated):
            x[...] = before if add else np.nan
        for x in whole:
            x.fill(np.nan)

    rivals = Rivals(plan, arrays, case.entries)
    anew()
    work, made = rivals.einsum()
    work()
    wanted = [x.copy() for x in made]
    size, terms = Rivals(plan, {name: abs(a) for name, a in arrays.items()}, case.entries).sizes()
    size()
    eps = float(np.finfo(plan.dtype).eps)
    runs, errors = {}, {}
    for ours in plans:
        anew()
        name = ours.how.name
        run = ours.bind(arrays, case.entries)
        run()
        errors[name] = check(f"{case.name}, {ours.how}", outputs, wanted, terms, eps)
        runs[name] = run
    for name in case.rivals:
        try:
            work, results = getattr(rivals, name)()
            anew(rivals.made)
            work()
        except (BackendError, ImportError, NotImplementedError) as error:
            told(f"{name} is left out: {str(error).splitlines()[0]}")
            continue
        found = [x if isinstance(x, type(outputs[0])) else backend.arrays.asarray(x) for x in results]
        errors[name] = check(f"{case.name}, {name}", found, wanted, terms, eps)
        runs[name] = work
    if backend.memory == "device":
        runs[ALONE], errors[ALONE] = bytes_alone(plan, case.entries, backend), 0.0
    times: dict[str, dict[str, list[float]]] = {key: {name: [] for name in runs} for key in clocks}
    main = next(iter(clocks))
    for turn in range(rounds + 1):
        for name, run in runs.items():
            if turn < 2 or times[main][name][1] < FAR_OFF * min(t[1] for t in times[main].values()):
                for key, clock in clocks.items():
                    times[key][name].append(clock(run))
    median = {key: {name: statistics.median(t[1:]) for name, t in found.items()} for key, found in times.items()}
    short = [n for n in runs if n not in case.rivals and median.get("hot", {}).get(n, SHORT) < SHORT]
    graph = {name: by_graph(backend, runs[name], rounds) for name in short}
    least = {name: min(t) for name, t in times[main].items()}
    best = min((median[main][name] for name in runs if name in case.rivals), default=None)
    quickest = min((least[name] for name in runs if name in case.rivals), default=0.0)
    floor = bound(plan, case.entries, backend, roofs)
    return [
        {
            "bench": "tensor",
            "case": case.name,
            "entries": case.entries,
            "dtype": case.dtype,
            "name": name,
            "how": next((str(p.how) for p in plans if p.how.name == name), ""),
            "ours": any(p.how.name == name for p in plans),
            "chosen": name == plan.how.name,
            **{key: median[key][name] for key in clocks},
            "graph": graph.get(name),
            "seconds": median[main][name],
            "fastest": least[name],
            "flops_per_s": plan.flops * case.entries / median[main][name],
            "bytes_per_s": plan.bytes * case.entries / median[main][name],
            "bound": floor,
            "share": floor / median[main][name] if floor else None,
            "ratio": best / median[main][name] if best else None,  # how many times faster than the best rival
            "fastest_ratio": quickest / least[name] if best else None,
            "max_rel_diff": errors[name],
            "backend": str(backend),
            "device": backend.product,
        }
        for name in runs
    ]


HEAD = (
    *("case", "entries", "by", "ms", "GF/s", "GB/s", "bound ms", "share"),
    *("beside the best rival", "by fastest times", "rel. diff."),
)
DEVICE_HEAD = (
    *("case", "entries", "by", "cold us", "hot us", "by a graph us", "bound us", "share"),
    *("beside the best rival", "rel. diff."),
)


def table(rows) -> str:
    """The rows as text."""
    on_device = "hot" in rows[0]
    lines = [DEVICE_HEAD if on_device else HEAD]
    ratio = lambda x: "-" if x is None else f"{x:.2f}x"
    for r in rows:
        name = f"{r['name']}{' (chosen)' * r['chosen']}" if r["ours"] else f"  {r['name']}"
        share = "-" if r["share"] is None else f"{r['share']:.2f}"
        if on_device:
            floor = "-" if r["bound"] is None else f"{r['bound'] * 1e6:.1f}"
            graph = "-" if r["graph"] is None else f"{r['graph'] * 1e6:.2f}"
            figures = [f"{r['cold'] * 1e6:.1f}", f"{r['hot'] * 1e6:.1f}", graph, floor, share, ratio(r["ratio"])]
        else:
            figures = [
                f"{r['seconds'] * 1e3:.3f}",
                f"{r['flops_per_s'] * 1e-9:.1f}",
                f"{r['bytes_per_s'] * 1e-9:.1f}",
                "-" if r["bound"] is None else f"{r['bound'] * 1e3:.3f}",
                share,
                *(ratio(r[key]) for key in ("ratio", "fastest_ratio")),
            ]
        lines.append((r["case"], str(r["entries"]), name, *figures, f"{r['max_rel_diff']:.1e}"))
    width = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join("  ".join(f"{cell:<{w}}" for cell, w in zip(line, width)).rstrip() for line in lines)


def add_arguments(parser) -> None:
    """Options of `bench tensor`."""
    parser.add_argument("--backend", choices=("cpu", "cuda"), default="cpu", help="one core (cpu), or a GPU")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"turns that medians are taken of ({ROUNDS})")
    parser.add_argument("--cases", metavar="TEXT", default="", help="only cases whose name begins so, such as Lg3")
    parser.add_argument("--entries", type=int, help="of the batch, instead of each case's own numbers")
    parser.add_argument(
        "--json", metavar="FILE", help="rows as JSON; -: to standard output, the table to standard error"
    )


def run(given) -> list[dict]:
    """`python -m frame bench tensor`; returns the rows."""
    known = device_cases() if given.backend == "cuda" else cases()
    prefixes = tuple(given.cases.split("|"))
    chosen = [case for case in known if case.name.startswith(prefixes)]
    if not chosen or given.rounds < 1 or (given.entries is not None and given.entries < 1):
        raise FrameError(f"--cases '{given.cases}', --rounds, --entries: wanted a case's name, and 1 or more.")
    if given.entries:
        named_once = {case.name: case for case in chosen}
        chosen = [dataclasses.replace(case, entries=given.entries) for case in named_once.values()]
    said: dict[str, None] = {}
    backend = get_backend("cuda") if given.backend == "cuda" else get_backend("cpu", threads=1)
    clocks: dict[str, Callable] = {"seconds": seconds}
    roofs = None
    if backend.memory == "device":
        clock = DeviceClock(backend)
        clocks = {"cold": clock.cold, "hot": clock.hot}
        compile_ahead(chosen, backend)
    else:
        roofs = ceilings.measure(backend)
        said[roofs.told()] = None
        if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
            said["OPENBLAS_NUM_THREADS is not 1: what NumPy's threads do is not counted"] = None
    tell = lambda text: said.setdefault(text)
    rows = [row for case in chosen for row in measure(case, given.rounds, tell, backend, clocks, roofs)]
    out = sys.stderr if given.json == "-" else sys.stdout
    what = "one core" if backend.style == "packs" else "one device"
    print("\n".join([f"tensor expressions, {what}: {rows[0]['device']}", *said, "", table(rows)]), file=out)
    if given.json:
        text = json.dumps(rows, indent=1)
        if given.json == "-":
            print(text)
        else:
            pathlib.Path(given.json).write_text(text + "\n")
    return rows
