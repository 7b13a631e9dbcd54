"""`bench tensor`: tensor expressions beside einsum and matmul of NumPy, CuPy and torch, opt_einsum, libxsmm, cuTENSOR.

Values of ours and of every rival are checked first. Then all run in turns; medians count.
On a CPU one thread runs, and its processor time counts, which is not the time that other processes took. Start it with
OPENBLAS_NUM_THREADS=1 in the environment: threads of NumPy's library would not be counted. What multiply-adds in
registers and a copy of as many bytes take is measured before; the longer of the two is the bound.
On a device its own clock counts. Cold: the caches hold other numbers, which were read last: with numbers that were
written there, the work would wait for their way to memory, which is none of its own. Hot: the same work ran just
before. Both are queued behind other work, so that no time of the host is in them. By a graph: short work of ours, hot,
launched many times by a graph; launches in a stream would have about a microsecond between them.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from kernels import Contraction, get_backend
from kernels.contractions import named, result_order
from kernels.contractions.evaluate import worst
from kernels.contractions.text import parse
from kernels.engine.backend.base import Shape
from kernels.engine.backend.record import record

from ...errors import BackendError, FrameError
from .. import tables
from . import ceilings, device_strings, options, report, strings
from .clocks import FAR_OFF, Clock, DeviceClock, Work, by_graph, in_turns, processor_seconds
from .tensor_rivals import Rivals

ROUNDS = 9
SINGLE = ("float32", "complex64")
SHORT = 30e-6  # seconds of work that a graph of many launches measures too
BANDWIDTH = {"NVIDIA H200": 4.2e12}  # bytes/s of a copy, read and written, as measured
FIELD = "out[c l r] = left[c l p] right[c r p]"
DATA_FIELD = "out[c f] = data[c p] field[c f p]"
DATA = "out[c] = left[c p] right[c p]"
ANY_ORDER = "ours, any order"  # a row: the output's order of memory is ours to choose
ALONE = "bytes alone"  # a row: as many bytes, read and written without arithmetic
READS = 8  # rows of that, at most, so that threads are many
POINTS = 10000 * 12**3  # of Nekbone's rows, whatever the order of their elements


@dataclasses.dataclass(frozen=True)
class AnyOrder:
    """A plan whose output lies in another order of memory than the text has."""

    plan: Contraction
    entries: int
    axes: tuple[int, ...]  # of the output, in the text's order

    @property
    def seconds(self) -> float:
        """The model's time."""
        return self.plan.seconds * self.entries


@dataclasses.dataclass(frozen=True)
class Case:
    """A contraction to be measured."""

    name: str
    text: str
    sizes: dict[str, int]
    entries: int
    options: dict
    rivals: tuple[str, ...]  # methods of Rivals; those that the machine lacks are left out
    dtype: str = "float64"
    told: int = 0  # entries for which the model chooses; 0: for a usual batch
    in_order: tuple[str, ...] = ()  # rivals that write the result in the text's order of memory; (): all do
    any_order: bool = False  # ours also with the result in any order of memory, as `contract` takes it

    def plan(self, backend, **more) -> Contraction:
        """Our plan; by default as the model chooses."""
        return Contraction(self.text, self.sizes, self.dtype, backend=backend, **self.options, **more)

    def plan_in_any_order(self, backend) -> AnyOrder:
        """Our plan with the output's dimensions in the order of memory that the model chooses."""
        (s,) = parse(self.text).statements
        extents = {**self.sizes, s.out.indices[0]: self.entries}

        def planned(order) -> AnyOrder:
            sizes = {i: x for i, x in extents.items() if i != order[0]}
            text = str(s._replace(out=s.out._replace(indices=order)))
            plan = Contraction(text, sizes, self.dtype, backend=backend, entries=extents[order[0]], **self.options)
            return AnyOrder(plan, extents[order[0]], result_order.places(order, s.out.indices))

        return result_order.cheapest(result_order.candidates("K", s, extents, ()), planned)


# Statements that use each number of their largest array once: (name, text, sizes, entries).
SWEPT = (
    ("Sum of first", "o[e k] = a[i e k]", dict(i=200, k=100), 100),
    ("Sum of middle", "o[e k] = a[e j k]", dict(j=100, k=100), 200),
    ("Sum of last", "o[e j] = a[e j k]", dict(j=100, k=100), 200),
    ("Weighted sum", "o[e] = a[i e] w[i]", dict(i=2000), 1000),
    ("Exchange", "o[e q] = a[e r q s] d[r s]", dict(q=40, r=40, s=40), 40),
    ("Dot of rows", "o[e] = a[e i] b[e i]", dict(i=20000), 100),
    ("Outer product", "o[e j] = a[e] b[j]", dict(j=1500), 1500),
    ("Scaled rows", "o[e j c] = a[e j c] s[c]", dict(j=1024, c=64), 16),
)

# Chains of products whose statements have little in common: the same columns.
CHAINS = (
    ("Chain: weighted moments", "o[i j] = w[n] x[n i] y[n j]", dict(n=200000, j=8), 8),
    ("Chain: weighted squares", "o[i j] = w[g] x[g i] y[g j]", dict(g=100000, j=60), 60),
    ("Chain: forms of rows", "o[g] = x[g i] m[i j] y[g j]", dict(i=60, j=60), 100000),
    ("Chain: third moments", "o[a b c] = x[i a] y[i b] z[i c]", dict(i=20000, b=16, c=16), 16),
    ("Chain: sum of outer products", "o[i j k] = x[i r] y[j r] z[k r]", dict(j=200, k=200, r=16), 200),
    ("Chain: scaled product", "o[i k] = a[i j] d[j] b[j k]", dict(j=1000, k=1000), 1000),
)


EINSUMS = ("einsum", "torch_einsum")
DEVICE_RIVALS = (*EINSUMS, "matmul", "torch_matmul")
CORE_RIVALS = ("einsum", "opt_einsum", "matmul")


def _told(rows, rivals) -> list[Case]:
    """Cases for which the model knows the number of entries."""
    return [Case(name, text, sizes, entries, {}, rivals, told=entries) for name, text, sizes, entries in rows]


def _in_both_types(case: Case) -> list[Case]:
    """A case, and the same in float32."""
    return [case, dataclasses.replace(case, name=f"{case.name}, float32", dtype="float32")]


# ---- cases of a core of a CPU


def cases() -> list[Case]:
    """All cases of a core."""
    nekbone, eqn1 = named.TEXTS["lg3"], named.TEXTS["eqn1"]
    found = []

    for n in (64, 2000):
        rivals = (*CORE_RIVALS, "xsmm_lg3")
        found.append(Case("Lg3 n = 12", nekbone.text, dict.fromkeys("ijkl", 12), n, nekbone.options, rivals))

    for n in (64, 5000):
        rivals = (*CORE_RIVALS, "xsmm_eqn1")
        found.append(Case("Eqn.(1) n = 10", eqn1.text, dict.fromkeys("ijklmn", 10), n, eqn1.options, rivals))

    for size, points, entries in ((8, 8, 1000), (8, 8, 10000), (16, 64, 100), (16, 64, 10000)):
        name = f"FieldField {size} x {size} x {points}"
        rivals = (*CORE_RIVALS, "xsmm_fields")
        found.append(Case(name, FIELD, dict(l=size, r=size, p=points), entries, {}, rivals))

    return found + _told(SWEPT + CHAINS, ("einsum", "opt_einsum"))


# ---- cases of a device


def device_cases() -> list[Case]:
    """All cases of a GPU."""
    return [
        *_nekbone_cases(),
        *_eqn1_cases(),
        *_field_cases(),
        *_triples_cases(),
        *_told(CHAINS, EINSUMS),
    ]


def _nekbone_cases() -> list[Case]:
    """Nekbone's operators."""
    found = []
    for n in (12, 8, 16):
        for key, name in (("lg3", "Lg3"), ("lg3t", "Lg3t"), ("ax", "Ax 6 factors"), ("ax_one", "Ax g = J")):
            t = named.TEXTS[key]
            sizes = dict.fromkeys("ijkl", n)
            entries = round(POINTS / n**3)
            found += _in_both_types(Case(f"{name} n = {n}", t.text, sizes, entries, t.options, DEVICE_RIVALS))

    return found


def _eqn1_cases() -> list[Case]:
    sizes = dict.fromkeys("ijklmn", 10)
    t, added = named.TEXTS["eqn1"], named.TEXTS["eqn1_add"]

    return [
        *_in_both_types(Case("Eqn.(1)", t.text, sizes, 10000, t.options, DEVICE_RIVALS)),
        Case("Eqn.(1) +=", added.text, sizes, 10000, added.options, DEVICE_RIVALS),
    ]


def _field_cases() -> list[Case]:
    """Intrepid's contractions of fields and data."""
    with_cutensor = (*DEVICE_RIVALS, "cutensor")
    found = []

    for size, points in ((8, 8), (16, 64), (64, 125)):
        sizes = dict(l=size, r=size, p=points)
        case = Case(f"FieldField {size},{points}", FIELD, sizes, 10000, {}, with_cutensor)
        found += _in_both_types(case) if size < 64 else [case]

    found += _in_both_types(Case("DataField 16,64", DATA_FIELD, dict(f=16, p=64), 10000, {}, with_cutensor))
    found += _in_both_types(Case("DataData 64", DATA, dict(p=64), 10000, {}, DEVICE_RIVALS))
    return found


def _triples_cases() -> list[Case]:
    """NWChem's triples kernels, and all of them in a launch."""
    extents = dict.fromkeys("abcefg", 16)
    rivals = (*EINSUMS, "cutensor")
    found = []

    for kind in named.ARRANGED:
        for k in range(1, 10):
            t = named.TEXTS[f"{kind}_{k}"]
            sizes = {i: x for i, x in extents.items() if kind != "s1" or i != "g"}
            case = Case(f"{kind.upper()}_{k}", t.text, sizes, 16, t.options, rivals)
            found += _in_both_types(case) if k == 1 else [case]

    found.append(Case("all 27 into one T3", named.all_triples(), extents, 16, dict(batch="d"), rivals))
    return found


# ---- measuring ------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Conditions:
    """How the rows of a run are measured."""

    backend: Any
    rounds: int
    clocks: dict[str, Clock]  # the first one counts
    roofs: ceilings.Ceilings | None  # of a CPU
    told: Callable[[str], object] = print  # lines on what was left out
    chosen: bool = False  # of ours, the model's choice alone


def conditions(name: str, rounds: int, told=print, chosen: bool = False) -> Conditions:
    """Conditions of a backend, "cpu" (one core) or "cuda"."""
    if name == "cuda":
        backend = get_backend("cuda")
        clock = DeviceClock(backend)
        return Conditions(backend, rounds, {"cold": clock.cold, "hot": clock.hot}, None, told, chosen)

    backend = get_backend("cpu", threads=1)
    roofs = ceilings.measure(backend)
    told(roofs.told())
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        told("OPENBLAS_NUM_THREADS is not 1: what NumPy's threads do is not counted")
    return Conditions(backend, rounds, {"seconds": processor_seconds}, roofs, told, chosen)


def check(name: str, found, wanted, sizes, eps: float = float(np.finfo(float).eps)) -> float:
    """As evaluate.worst, whose FrameError names the case."""
    try:
        return worst(found, wanted, sizes, eps)
    except FrameError as error:
        raise FrameError(f"{name}: {error}") from None


def bound(plan, entries: int, backend, roofs=None) -> float | None:
    """Seconds for the bytes that have to move, where the device's bandwidth was measured; for them or for the
    multiply-adds, whatever takes longer, where there are roofs."""
    if roofs:
        lanes = 2 if plan.dtype.name in SINGLE else 1  # times those of double precision, of which the roof is
        return max(plan.flops * entries / (lanes * roofs.flops), roofs.memory(1, 1, plan.bytes * entries // 16))
    rate = BANDWIDTH.get(backend.product)
    return plan.bytes * entries / rate if rate else None


def bytes_alone(plan, entries: int, backend) -> Work:
    """run() that reads and writes as many bytes as a contraction has to, and computes nothing."""
    e, p = plan.expression, plan.program
    arrays = {a.name: a for a in p.arguments if a.place is not None or not p.batch}

    def size(names) -> int:
        return sum(arrays[x].size for x in names if x in arrays) * entries * plan.dtype.itemsize

    # Rows of n doubles: of a short output with many inputs a part of a row is written.
    read, written = size({*e.inputs, *e.updated}), size(e.outputs)
    row = max(min(read, written), read // READS)  # bytes
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
    first = case.plan(backend, entries=case.told)
    if chosen:
        return [first]
    found = [first]
    for _, how, program in first.candidates:
        if how.name != first.how.name:
            order = first.programs.index(program)  # of evaluation, which an organisation was found for
            found.append(case.plan(backend, how=how, order=order, entries=case.told))
    return found


def compile_ahead(chosen: list[Case], backend) -> None:
    """All kernels, by several threads: the compiler of devices runs outside Python's lock."""
    plans = []
    for case in chosen:
        plans += ways(case, backend)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for _ in pool.map(lambda plan: plan.compile(), plans):
            pass


class Comparison:
    """Ours and the rivals on the same arrays: each is checked when it is added; then all are timed in turns."""

    def __init__(self, case: Case, how: Conditions, plan: Contraction):
        self.case, self.how, self.plan = case, how, plan
        self.works: dict[str, Work] = {}
        self.errors: dict[str, float] = {}
        self.ours: dict[str, str] = {}  # {name: organisation in words}
        self.order: dict[
            str, str
        ] = {}  # {name: the indices of the output as they lie}, in another order than the text's

        # Arrays, and outputs as they were before the first run.
        backend = how.backend
        rng = backend.arrays.random.RandomState(0)
        self.arrays: dict[str, Any] = {}
        for a in plan.program.arguments:
            self.arrays[a.name] = backend.empty(plan.shape(a.name, case.entries), plan.dtype)
            self.arrays[a.name][...] = rng.random_sample(self.arrays[a.name].shape) - 0.5
        self.outputs = [self.arrays[name] for name in plan.expression.outputs]
        self.old = [output.copy() for output in self.outputs]

        # Reference values, and the sizes of the terms.
        self.rivals = Rivals(plan, self.arrays, case.entries)
        self._anew()
        work, results = self.rivals.einsum()
        work()
        self.wanted = [x.copy() for x in results]
        sizes = {name: abs(a) for name, a in self.arrays.items()}
        work, self.terms = Rivals(plan, sizes, case.entries).sizes()
        work()

    def _anew(self, made=()) -> None:
        """Outputs as before the first run; NaN where the old values have no part, and in what a rival made."""
        e = self.plan.expression
        for name, output, before in zip(e.outputs, self.outputs, self.old):
            output[...] = before if name in e.updated else np.nan
        for output in made:
            output.fill(np.nan)

    def _check(self, name: str, results) -> float:
        eps = float(np.finfo(self.plan.dtype).eps)
        return check(f"{self.case.name}, {name}", results, self.wanted, self.terms, eps)

    # ---- works
    def add_ours(self, plan: Contraction) -> None:
        """Ours in an organisation. Raises FrameError for a wrong value."""
        self._anew()
        run = plan.bind(self.arrays, self.case.entries)
        run()

        name = plan.how.name
        self.errors[name] = self._check(str(plan.how), self.outputs)
        self.works[name] = run
        self.ours[name] = str(plan.how)

    def add_any_order(self) -> None:
        """Ours with the output in any order of memory. Raises FrameError for a wrong value."""
        found = self.case.plan_in_any_order(self.how.backend)
        (out,) = found.plan.expression.outputs
        room = self.how.backend.empty(found.plan.shape(out, found.entries), found.plan.dtype)
        room.fill(np.nan)

        run = found.plan.bind({**self.arrays, out: room}, found.entries)
        run()
        self.errors[ANY_ORDER] = self._check(f"{found.plan.how}, any order", [result_order.turned(room, found.axes)])
        self.works[ANY_ORDER] = run
        self.ours[ANY_ORDER] = str(found.plan.how)
        self.order[ANY_ORDER] = " ".join(found.plan.expression.references[out][-1].indices)

    def add_rival(self, name: str) -> None:
        """A method of Rivals, where the machine has it. Raises FrameError for a wrong value."""
        try:
            work, results = getattr(self.rivals, name)()
            self._anew(self.rivals.made)
            work()
        except (BackendError, ImportError, NotImplementedError) as error:
            self.how.told(f"{name} is left out: {str(error).splitlines()[0]}")
            return

        kind, arrays = type(self.outputs[0]), self.how.backend.arrays
        found = [x if isinstance(x, kind) else arrays.asarray(x) for x in results]
        self.errors[name] = self._check(name, found)
        self.works[name] = work

    def add_bytes_alone(self) -> None:
        """Add a kernel that only moves the bytes of the contraction, on a device."""
        self.works[ALONE] = bytes_alone(self.plan, self.case.entries, self.how.backend)
        self.errors[ALONE] = 0.0

    # ---- rows
    def rows(self) -> list[dict]:
        """A row for each work."""
        clocks = tuple(self.how.clocks.values())
        works = {name: (work, clocks) for name, work in self.works.items()}
        times = in_turns(works, self.how.rounds, FAR_OFF)
        best = Best(times, self.case.rivals)
        in_order = Best(times, self.case.in_order or self.case.rivals)

        rows = []
        for name, found in times.items():
            as_written = name in self.ours and name != ANY_ORDER
            rows.append(self._row(name, found, in_order if as_written else best))
        return rows

    def _row(self, name: str, times: np.ndarray, best: Best) -> dict:
        case, plan, backend = self.case, self.plan, self.how.backend
        medians = dict(zip(self.how.clocks, map(float, np.median(times, axis=0))))
        seconds, fastest = next(iter(medians.values())), float(times[:, 0].min())
        floor = bound(plan, case.entries, backend, self.how.roofs)

        is_short = name not in case.rivals and medians.get("hot", SHORT) < SHORT
        return {
            "bench": "tensor",
            "case": case.name,
            "entries": case.entries,
            "dtype": case.dtype,
            "name": name,
            "how": self.ours.get(name, ""),
            "ours": name in self.ours,
            "chosen": name == plan.how.name,
            "order": self.order.get(name, ""),
            **medians,
            "graph": by_graph(backend, self.works[name], self.how.rounds) if is_short else None,
            "seconds": seconds,
            "fastest": fastest,
            "flops_per_s": plan.flops * case.entries / seconds,
            "bytes_per_s": plan.bytes * case.entries / seconds,
            "bound": floor,
            "share": floor / seconds if floor else None,
            "ratio": best.median / seconds if best.median else None,  # how many times faster than the best rival
            "fastest_ratio": best.least / fastest if best.least else None,
            "max_rel_diff": self.errors[name],
            "backend": str(backend),
            "device": backend.product,
        }


class Best:
    """The best rival by the first clock: by medians, and by fastest times. None: no rival ran."""

    def __init__(self, times: dict[str, np.ndarray], rivals):
        found = [seconds[:, 0] for name, seconds in times.items() if name in rivals]
        self.median = min((float(np.median(seconds)) for seconds in found), default=None)
        self.least = min((float(seconds.min()) for seconds in found), default=None)


def measure(case: Case, how: Conditions) -> list[dict]:
    """Rows of ours, in every organisation with the model's choice first, and of the rivals. Raises FrameError for a
    wrong value."""
    plans = ways(case, how.backend, how.chosen)
    comparison = Comparison(case, how, plans[0])

    for plan in plans:
        comparison.add_ours(plan)
    if case.any_order:
        comparison.add_any_order()
    for name in case.rivals:
        comparison.add_rival(name)
    if how.backend.memory == "device":
        comparison.add_bytes_alone()

    return comparison.rows()


# ---- table ----------------------------------------------------------------------------------------------------------


def _number(digits: int, scale: float = 1.0) -> Callable[[float | None], str]:
    """A column's format: so many digits of value times scale, "-" for None."""
    return lambda value: "-" if value is None else f"{value * scale:.{digits}f}"


def _times(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}x"


# {heading: (key of a row, its format)}, behind case, entries and name
HOST_COLUMNS: dict[str, tuple[str, Callable]] = {
    "ms": ("seconds", _number(3, 1e3)),
    "GF/s": ("flops_per_s", _number(1, 1e-9)),
    "GB/s": ("bytes_per_s", _number(1, 1e-9)),
    "bound ms": ("bound", _number(3, 1e3)),
    "share": ("share", _number(2)),
    "beside the best rival": ("ratio", _times),
    "by fastest times": ("fastest_ratio", _times),
}
DEVICE_COLUMNS: dict[str, tuple[str, Callable]] = {
    "cold us": ("cold", _number(1, 1e6)),
    "hot us": ("hot", _number(1, 1e6)),
    "by a graph us": ("graph", _number(2, 1e6)),
    "bound us": ("bound", _number(1, 1e6)),
    "share": ("share", _number(2)),
    "beside the best rival": ("ratio", _times),
}


def table(rows) -> str:
    """The rows as text."""
    columns = DEVICE_COLUMNS if "hot" in rows[0] else HOST_COLUMNS
    lines = [("case", "entries", "by", *columns, "rel. diff.")]

    for row in rows:
        figures = [shown(row[key]) for key, shown in columns.values()]
        lines.append((row["case"], str(row["entries"]), _by(row), *figures, f"{row['max_rel_diff']:.1e}"))

    return "\n".join(tables.to_the_left(lines))


def _by(row) -> str:
    """Who: ours, with a mark at the model's choice, or a rival, indented."""
    if not row["ours"]:
        return f"  {row['name']}"
    return f"{row['name']} (chosen)" if row["chosen"] else row["name"]


# ---- command --------------------------------------------------------------------------------------------------------

OPTIONS: dict[str, dict] = {
    "--backend": options.ONE_CORE,
    "--rounds": options.rounds(ROUNDS),
    "--cases": dict(metavar="TEXT", default="", help="only cases whose name begins so, such as Lg3"),
    "--strings": dict(
        action="store_true",
        help="users' strings of einsum, as whole calls: beside NumPy and opt_einsum, or CuPy and torch",
    ),
    "--entries": dict(type=int, help="of the batch, instead of each case's own numbers"),
    "--json": options.JSON,
}


def add_arguments(parser) -> None:
    """Options of `bench tensor`."""
    options.add(parser, OPTIONS)


def _chosen(given) -> list[Case]:
    """The cases that were asked for. Raises FrameError."""
    known = device_cases() if given.backend == "cuda" else cases()
    prefixes = tuple(given.cases.split("|"))
    chosen = [case for case in known if case.name.startswith(prefixes)]
    options.refuse_below(given, rounds=1, entries=1)
    if not chosen:
        raise FrameError(f"--cases '{given.cases}'; known: {', '.join(dict.fromkeys(case.name for case in known))}.")

    if given.entries is None:
        return chosen
    by_name = {case.name: case for case in chosen}  # cases of a name differ in their entries
    return [dataclasses.replace(case, entries=given.entries) for case in by_name.values()]


def run(given) -> list[dict]:
    """`python -m frame bench tensor`; returns the rows. Raises FrameError for usage, or a value that is wrong."""
    if given.strings:
        return (device_strings if given.backend == "cuda" else strings).run(given)

    chosen = _chosen(given)
    said: dict[str, None] = {}
    how = conditions(given.backend, given.rounds, said.setdefault)
    if how.backend.memory == "device":
        compile_ahead(chosen, how.backend)

    rows: list[dict] = []
    for case in chosen:
        rows += measure(case, how)

    what = "one core" if how.backend.style == "packs" else "one device"
    report.show([f"tensor expressions, {what}: {rows[0]['device']}", *said, "", table(rows)], rows, given.json)
    return rows
