"""`bench barracuda`: every row of the tables of Nelson et al. 2015, measured here.

T. Nelson, A. Rivera, P. Balaprakash, M. Hall, P. Hovland, E. Jessup, B. Norris, "Generating efficient tensor
contractions for GPUs", ICPP 2015. Table II: Eqn.(1), Lg3, Lg3t, TCE_ex; Tables III and IV: Nekbone; Table IV and Figure
3: S1, D1, D2, nine kernels each. Sides: sequential C, OpenMP, OpenACC naive and tuned, the layer, einsum of the array
library, torch; with --search SURF, the paper's search over the paper's space, beside the layer's own search.

The paper has a single tensor in Eqn.(1) and TCE_ex. It does not give the extents of TCE_ex (10 and 16 here), nor the
elements of Lg3 and Lg3t. Times are of data that lie where the work is. `with copies` is the layer as a host calls
it, by frame_contract with arrays of the host: inputs are copied to the device and outputs back in each call, from and
to pageable memory as in the paper, and from and to pinned memory.

On a CPU and for the sides in C the clock is the host's; a GPU's own clock counts there. Values are checked first.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
from typing import Any

import numpy as np

from kernels import Contraction, get_backend
from kernels.contractions import named, search, table as organisations
from kernels.contractions.evaluate import evaluate, worst
from kernels.contractions.organisations import family
from kernels.contractions.organisations.axes import Axes
from kernels.contractions.space import Candidate

from ...errors import BackendError, FrameError, refuse
from ...shipped import ROOT
from .. import tables
from . import options, plain_c, published, report, results
from .clocks import DeviceClock, host_seconds, medians
from .host_calls import HostCall, text_of
from .published import LAYER, SURF
from .tensor_rivals import Rivals

ROUNDS = 5
SEQUENTIAL, OURS = "sequential C", "own search"
NAMELIST = ROOT / "fortran_stub" / "nekbone" / "nekbone.nml"


@dataclasses.dataclass(frozen=True)
class Case:
    """A row of the paper's tables."""

    name: str  # begins as in published.PUBLISHED
    text: str
    sizes: dict[str, int]
    entries: int
    options: dict  # of the layer's plan
    plain: dict  # of the other sides: without a batch, where the paper has a single tensor

    def plan(self, backend, plain: bool = False, **more) -> Contraction:
        """The layer's plan, or that of the other sides."""
        options = {**(self.plain if plain else self.options), **more}
        return Contraction(self.text, self.all_sizes if plain else self.sizes, backend=backend, **options)

    @property
    def all_sizes(self) -> dict[str, int]:
        """The extents, the batch's too where the other sides have no batch."""
        batch = self.options.get("batch", "")
        return self.sizes | ({batch: self.entries} if batch and not self.plain["batch"] else {})


def cases(elements: int) -> list[Case]:
    """All rows but Nekbone's. elements: of Lg3 and Lg3t."""
    single = dict(batch="")
    eqn1 = "V[i j k] += A[l k] B[m j] C[n i] U[l m n]"  # Figure 2(a)
    found = [Case("Eqn.(1) n = 10", eqn1, dict.fromkeys("ijklmn", 10), 1, single, single)]

    for name, key in (("Lg3", "lg3"), ("Lg3t", "lg3t")):
        t = named.TEXTS[key]
        found.append(Case(f"{name} n = 12", t.text, dict.fromkeys("ijkl", 12), elements, t.options, t.options))
    for n in (10, 16):
        text = named.TEXTS["tce_ex"].text
        found.append(Case(f"TCE_ex N = {n}", text, dict.fromkeys("abcdefijkl", n), 1, single, single))
    for kind in named.ARRANGED:
        letters = "abcef" if kind == "s1" else "abcefg"
        for k in range(1, 10):
            t = named.TEXTS[f"{kind}_{k}"]
            found.append(Case(f"{kind.upper()}_{k} N = 16", t.text, dict.fromkeys(letters, 16), 16, t.options, single))
    return found


@dataclasses.dataclass(frozen=True)
class Conditions:
    """How the rows of a run are measured."""

    backend: Any
    rounds: int
    threads: int  # of OpenMP
    evaluations: int  # of a search, n_max; 0: none
    seconds: float  # of a search, at most
    openacc: pathlib.Path | None  # folder of executables; None: no OpenACC
    tuned: dict[str, Candidate]  # by case: the decomposition of OpenACC `tuned` that an earlier search found
    clock: DeviceClock | None  # None: a CPU


# ---- measuring ------------------------------------------------------------------------------------------------------


class Sides:
    """The sides of a case on the same numbers. `rows` has a row for each that was right."""

    def __init__(self, case: Case, how: Conditions, told):
        self.case, self.how, self.told = case, how, told
        self.plan = case.plan(how.backend)
        self.plain = case.plan(get_backend("cpu", threads=1), plain=True)
        rng = np.random.default_rng(0)
        self.given = {
            a.name: rng.random(self.plan.shape(a.name, case.entries)) - 0.5 for a in self.plan.program.arguments
        }

        # Reference values, and the sizes of the terms.
        e, einsum = self.plan.expression, _einsum
        self.wanted = evaluate(e, {x: a.copy() for x, a in self.given.items()}, einsum)
        self.terms = evaluate(e, {x: abs(a) for x, a in self.given.items()}, einsum, abs)
        self.flops = self.plain.flops * (case.entries if case.plain["batch"] else 1)
        self.rows: list[dict] = []

    def fresh(self) -> dict[str, np.ndarray]:
        """The inputs, and outputs as before a run: NaN where the old values have no part."""
        e, made = self.plan.expression, {x: a.copy() for x, a in self.given.items()}
        for x in e.outputs:
            if x not in e.updated:
                made[x][...] = np.nan
        return made

    def check(self, side: str, outputs) -> float:
        """The largest error over the size of the terms. Raises FrameError that names case and side."""
        try:
            return worst([np.asarray(x) for x in outputs], self.wanted, self.terms)
        except FrameError as error:
            raise FrameError(f"{self.case.name}, {side}: {error}") from None

    def row(self, side: str, seconds: float, error: float, **more) -> None:
        """Adds a row."""
        self.rows.append(
            {
                "bench": "barracuda",
                "case": self.case.name,
                "entries": self.case.entries,
                "side": side,
                "seconds": seconds,
                "gflops": self.flops / seconds * 1e-9,
                "max_rel_diff": error,
                "backend": str(self.how.backend),
                "device": self.how.backend.product,
                **more,
            }
        )

    # ---- sides
    def measure(self) -> list[dict]:
        """All rows of the case, with how many times faster each is than sequential C."""
        self._in_c()
        self._layer_and_libraries()
        found = self._searches() if self.how.evaluations else None
        if self.how.openacc:
            self._openacc(self.how.openacc, found)

        (base,) = (row["seconds"] for row in self.rows if row["side"] == SEQUENTIAL)
        return [{**row, "speedup": base / row["seconds"]} for row in self.rows]

    def _in_c(self) -> None:
        """Sequential C and OpenMP, in turns."""
        loops = plain_c.Loops(self.plain.program, self.case.entries, threads=self.how.threads)
        works, errors = {}, {}
        for side in (plain_c.SEQUENTIAL, plain_c.OPENMP):
            arrays = self.fresh()
            works[side] = plain_c.on_a_host(loops, side, arrays)
            works[side]()
            errors[side] = self.check(side, [arrays[x] for x in self.plan.expression.outputs])

        for side, seconds in medians(works, host_seconds, self.how.rounds).items():
            self.row(side, seconds, errors[side], threads=self.how.threads if side == plain_c.OPENMP else 1)

    def _layer_and_libraries(self) -> None:
        """The layer, einsum of NumPy or CuPy, torch where it is."""
        backend, plan, case = self.how.backend, self.plan, self.case
        arrays = {x: backend.from_host(a, plan.dtype) for x, a in self.fresh().items()}
        run = plan.bind(arrays, case.entries)
        run()
        outputs = [backend.to_host(arrays[x]) for x in plan.expression.outputs]
        works, errors = {LAYER: run}, {LAYER: self.check(LAYER, outputs)}

        for side in ("einsum", "torch_einsum") if backend.memory == "device" else ("einsum",):
            try:
                again = {x: backend.from_host(a, plan.dtype) for x, a in self.fresh().items()}
                work, results = getattr(Rivals(plan, again, case.entries), side)()
                work()
            except BackendError as error:
                self.told(f"{side} is left out: {str(error).splitlines()[0]}")
                continue
            found = [backend.to_host(backend.arrays.asarray(x)) for x in results]
            works[side], errors[side] = work, self.check(side, found)

        clock = self.how.clock.hot if self.how.clock else host_seconds
        for side, seconds in medians(works, clock, self.how.rounds).items():
            more = self._by_a_host() if side == LAYER and backend.memory == "device" else {}
            self.row(side, seconds, errors[side], how=str(plan.how) if side == LAYER else "", **more)

    def _by_a_host(self) -> dict[str, float]:
        """Seconds of a call with arrays of the host, pageable and pinned, and of the copies of pageable ones."""
        e, case = self.plan.expression, self.case
        call = HostCall(text_of(case.text, case.options), e, self.fresh(), self.how.backend)
        pageable = call.seconds(self.how.rounds)
        with call.pinned():
            pinned = call.seconds(self.how.rounds)

        if not e.updated:  # else each call has added once more
            self.check("with copies", [call.arrays[x] for x in e.outputs])
        return dict(
            with_copies=pageable.whole, copy_in=pageable.copy_in, copy_out=pageable.copy_out, pinned=pinned.whole
        )

    def _searches(self) -> search.Found | None:
        """SURF over Barracuda's pool, and the layer's own search; each with time, evaluations, and the best found.
        Returns SURF's; None: it did not run."""
        case = self.case
        surf = self._search(SURF, "surf", case.all_sizes, case.plain)
        if surf:
            # The model's choice is measured beside SURF's candidates and does not count.
            of_pool = {c: outcome for c, outcome in surf.outcomes.items() if isinstance(c.how, Axes)}
            self._row_of_search(SURF, surf, of_pool)

        own = self._search(OURS, "moves", case.sizes, case.options)
        if own:
            self._row_of_search(OURS, own, own.outcomes)

        return surf

    def _search(self, side: str, method: str, sizes: dict, marks: dict) -> search.Found | None:
        """A search by a method; None if it is not possible. sizes, marks: extents and options of the text."""
        how = self.how
        try:
            return search.search(
                functools.partial(Contraction, self.case.text, sizes, backend=how.backend, **marks),
                self.case.entries,
                search.Settings(
                    method=method,
                    seconds=how.seconds,
                    evaluations=how.evaluations + (method == "surf"),  # the model's choice is measured beside
                    batch_size=10,
                ),
                search.Tools(clock=how.clock.hot if how.clock else None),
            )
        except FrameError as error:
            self.told(f"{self.case.name}: {side} is left out: {str(error).splitlines()[0]}")
            return None

    def _row_of_search(self, side: str, found: search.Found, outcomes: dict) -> None:
        """Adds a row for the fastest of the outcomes that count, if any of them ran."""
        best = _fastest(outcomes)
        if best is None:
            return

        outcome = outcomes[best]
        self.row(
            side,
            outcome.seconds,
            outcome.error,
            how=str(best),
            evaluations=len(outcomes),
            search_seconds=found.took,
        )

    def _openacc(self, folder: pathlib.Path, found: search.Found | None) -> None:
        """OpenACC naive, and tuned by the decomposition that SURF found best. folder: of the executables."""
        best = _best_axes(found) or self.how.tuned.get(self.case.name)
        for side in (plain_c.NAIVE, plain_c.TUNED):
            loops = openacc_loops(self.case, side, self.plain, best)
            try:
                made = plain_c.on_a_device(loops, side, self.fresh(), folder, self.how.rounds)
            except BackendError as error:
                self.told(f"{side} is left out: {str(error).splitlines()[0]}")
                continue
            off = self.check(side, made.outputs)
            self.row(side, statistics.median(made.rounds), off, with_copies=made.with_copies)


def _fastest(outcomes: dict) -> Candidate | None:
    """The fastest candidate of a search; None if no candidate ran."""
    able = {candidate: outcome.seconds for candidate, outcome in outcomes.items() if outcome.seconds is not None}
    return min(able, key=able.__getitem__, default=None)


def _best_axes(found: search.Found | None) -> Candidate | None:
    """The fastest candidate of Barracuda's pool."""
    outcomes = found.outcomes if found else {}
    return _fastest({candidate: outcome for candidate, outcome in outcomes.items() if isinstance(candidate.how, Axes)})


def tuned_of(file: pathlib.Path | None) -> dict[str, Candidate]:
    """The decompositions of the SURF rows of a recorded run, by case. Raises ArgumentError for another file."""
    found: dict[str, Candidate] = {}
    for row in results.read(file).rows if file else ():
        if row["side"] == SURF:
            order, _, line = row["how"].removeprefix("order=").partition(" ")
            found[row["case"]] = Candidate(int(order), organisations.read(line, family("threads").kinds))
    return found


def _einsum(text: str, *arrays):
    return np.einsum(text, *arrays, optimize=True)


# ---- Nekbone --------------------------------------------------------------------------------------------------------

SOLVED = re.compile(r"^(plain|layer): time \[s\] +([\d.]+), of this the operator of the elements +([\d.]+)$", re.M)
RATE = re.compile(r"^ +GF/s +([\d.]+); of the operator alone +([\d.]+);", re.M)
RESIDENT = re.compile(
    r"^device: time \[s\] +([\d.]+), copies before it +([\d.]+), of x behind it +([\d.]+)\n +GF/s +([\d.]+);", re.M
)
TIMER = re.compile(r"^ +0 (\S.*?) +(\d+) +(\d+) +([\d.]+) ", re.M)


def nekbone(program: pathlib.Path, launcher: list[str], backend, told) -> list[dict]:
    """Rows of the Fortran program (make nekbone): plain loops, the layer on arrays of the host, and all vectors on the
    device; copies and kernels by the layer's timers. Raises FrameError where an answer is wrong."""
    if not program.is_file():
        told(f"Nekbone is left out: no {program}; `make build/nekbone` makes it.")
        return []

    command = [*launcher, str(program.resolve())]
    printed = _solved(command, "both", backend, timers=True)
    timers = {name: float(seconds) for name, _, _, seconds in TIMER.findall(printed)}
    facts = {
        "bench": "barracuda",
        "case": "Nekbone n = 12, 512 elements",
        "entries": 512,
        "backend": str(backend),
        "device": backend.product,
    }

    rows = []
    for (side, seconds, operator), (rate, _) in zip(SOLVED.findall(printed), RATE.findall(printed)):
        rows.append(
            {
                **facts,
                "side": "plain Fortran" if side == "plain" else LAYER,
                "seconds": float(seconds),
                "operator_seconds": float(operator),
                "gflops": float(rate),
                "timers": timers if side == "layer" else {},  # seconds of all runs together
            }
        )

    # Timers would wait for the device after each call.
    for found in RESIDENT.findall(_solved(command, "device", backend, timers=False)):
        seconds, copy_in, copy_out, rate = map(float, found)
        rows.append(
            {
                **facts,
                "side": f"{LAYER}, arrays of the device",
                "seconds": seconds,
                "copy_in": copy_in,
                "copy_out": copy_out,
                "gflops": rate,
            }
        )

    base = next((row["seconds"] for row in rows if row["side"] == "plain Fortran"), None)
    return [{**row, "speedup": base / row["seconds"] if base else None} for row in rows]


def _solved(command: list[str], method: str, backend, timers: bool) -> str:
    """The output of the program, run by this method. Raises FrameError where an answer is wrong."""
    environment = {**os.environ, "FRAME_TIMERS": str(int(timers)), "FRAME_BACKEND": str(backend)}
    with tempfile.TemporaryDirectory() as folder:
        namelist = pathlib.Path(folder, "nekbone.nml")
        namelist.write_text(re.sub(r"(?m)^( *method *=) *'\w+'", rf"\1 '{method}'", NAMELIST.read_text()))
        done = subprocess.run([*command, str(namelist)], capture_output=True, text=True, env=environment, timeout=300)

    refuse(
        done.returncode != 0,
        f"{command[-1]}, method {method}: status {done.returncode}: {(done.stderr or done.stdout)[-300:]}",
        FrameError,
    )
    return done.stdout


# ---- command --------------------------------------------------------------------------------------------------------

HEAD = (
    "case",
    "side",
    "us",
    "GF/s",
    "times sequential",
    "with copies us",
    "in",
    "out",
    "pinned us",
    "search s",
    "measured",
    "rel. diff.",
)


def table(rows) -> str:
    """The rows as text."""
    lines = [HEAD]
    for row in rows:
        microseconds = [row.get(key) for key in ("with_copies", "copy_in", "copy_out", "pinned")]
        lines.append(
            (
                row["case"],
                row["side"],
                f"{row['seconds'] * 1e6:.4g}",
                f"{row['gflops']:.4g}",
                f"{row['speedup']:.3g}" if row.get("speedup") else "-",
                *(f"{x * 1e6:.4g}" if x else "-" for x in microseconds),
                f"{row['search_seconds']:.3g}" if row.get("search_seconds") else "-",
                str(row.get("evaluations", "-")),
                f"{row['max_rel_diff']:.1e}" if "max_rel_diff" in row else "-",
            )
        )
    return "\n".join(tables.aligned(lines))


OPTIONS: dict[str, dict] = {
    # Measured cases.
    "--backend": dict(choices=("cpu", "cuda"), default="cpu", help="of the layer (default: cpu, one core)"),
    "--cases": dict(
        metavar="TEXT|TEXT",
        default="",
        help="rows that begin so, such as 'Lg3|S1_1|Nekbone'",
    ),
    "--rounds": options.rounds(ROUNDS),
    "--elements": dict(type=int, default=1000, help="of Lg3 and Lg3t (1000)"),
    "--threads": dict(type=int, default=os.cpu_count() or 1, help="of OpenMP (default: all cores)"),
    # Searches.
    "--search": dict(
        type=int,
        default=0,
        metavar="N",
        help="measurements of SURF and of the layer's search",
    ),
    "--seconds": dict(type=float, default=60.0, help="of a search, at most (60)"),
    # OpenACC.
    "--openacc": dict(
        metavar="FOLDER",
        type=pathlib.Path,
        help="executables of OpenACC; compiled there if gcc offloads",
    ),
    "--tuned": dict(
        metavar="RUN.json",
        type=pathlib.Path,
        help="--openacc: decompositions that SURF found in a recorded run",
    ),
    "--compile-only": dict(action="store_true", help="--openacc: compile, for another machine"),
    # Nekbone.
    "--nekbone": dict(metavar="FILE", type=pathlib.Path, default=ROOT / "build" / "nekbone"),
    "--launcher": dict(default="", metavar="WORDS", help="of Nekbone, such as 'mpirun -n 1'"),
    "--json": options.JSON,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `bench barracuda`."""
    options.add(parser, OPTIONS)


def _chosen(given) -> list[Case]:
    """The cases that were asked for. Raises FrameError."""
    prefixes = tuple(given.cases.split("|"))
    known = cases(given.elements)
    found = [case for case in known if case.name.startswith(prefixes)]
    asked = found or "Nekbone".startswith(prefixes)
    refuse(not asked, f"--cases '{given.cases}'; known: {', '.join(case.name for case in known)}, Nekbone.", FrameError)
    options.refuse_below(given, rounds=1, elements=1, threads=1, search=0)
    refuse(given.compile_only and not given.openacc, "--compile-only: wanted --openacc FOLDER.", FrameError)
    return found


def run(given) -> list[dict]:
    """`python -m frame bench barracuda`; returns the rows. Raises FrameError for usage, or a value that is wrong."""
    chosen = _chosen(given)
    if given.compile_only:
        return _compiled(chosen, given.openacc, tuned_of(given.tuned))

    backend = get_backend("cuda") if given.backend == "cuda" else get_backend("cpu", threads=1)
    clock = DeviceClock(backend) if backend.memory == "device" else None
    how = Conditions(
        backend, given.rounds, given.threads, given.search, given.seconds, given.openacc, tuned_of(given.tuned), clock
    )
    said: dict[str, None] = {}

    rows: list[dict] = []
    for case in chosen:
        rows += Sides(case, how, said.setdefault).measure()
        backend.release()
    if "Nekbone".startswith(tuple(given.cases.split("|"))):
        rows += nekbone(given.nekbone, given.launcher.split(), backend, said.setdefault)

    head = f"Barracuda's tables: {backend.product}, host of {os.cpu_count()} cores; gcc {' '.join(plain_c.FLAGS)}"
    report.show([head, *said, "", table(rows), "", *published.beside(rows)], rows, given.json)
    return rows


def _compiled(chosen: list[Case], folder: pathlib.Path, tuned: dict[str, Candidate]) -> list[dict]:
    """Compiles the executables of OpenACC. Raises BackendError."""
    host = get_backend("cpu", threads=1)
    for case in chosen:
        for side in (plain_c.NAIVE, plain_c.TUNED):
            loops = openacc_loops(case, side, case.plan(host, plain=True), tuned.get(case.name))
            print(f"{case.name}, {side}: {plain_c.executable(loops, side, folder)}")
    return []


def openacc_loops(case: Case, side: str, plain: Contraction, best: Candidate | None) -> plain_c.Loops:
    """The loops of a side of OpenACC; `tuned` in the order and decomposition that a search found."""
    if best is None or side == plain_c.NAIVE:
        return plain_c.Loops(plain.programs[0], case.entries)
    assert isinstance(best.how, Axes)
    return plain_c.Loops(plain.programs[best.order], case.entries, best.how)
