"""`bench blocks`: block calls and chunk loops of ranks that share a machine, on arrays of the host's.

Each rank is a process of its own (blocks_rank.py, or blocks.f90 with --host fortran), with its share of the cores. For
every case the ranks work at the same time, in turns with the same number of ranks on the CPU, and with plain copies of
as many bytes, in and out at once: the link's limit. Values are checked before anything is timed.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import itertools
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from kernels.engine.backend import device_nodes

from ...devices import mps
from ...errors import ArgumentError, BackendError, refuse
from ...mpi import numa_node, spread
from ...shipped import ROOT
from . import report
from .report import Report, Row

MEMORIES = ("pageable", "pinned", "device")
WAYS = ("block", "loop", "queue")  # a block call; a call for each array and chunk; the same with parameter queue
FRINGES = {"0": (0,) * 6, "3": (3,) * 6, "mixed": (3, 3, 2, 0, 1, 0)}  # low and high face in x, y, z
MIXTURES = {4: "ch4_o2_4.yaml", 10: "ch4_o2.yaml"}  # those that a Fortran host reads
STREAMED = 2**26  # bytes: more than caches hold
MIXTURES_FOLDER = ROOT / "examples" / "mixtures"


@dataclasses.dataclass(frozen=True)
class Case:
    """shape: extents of the selected box. fringe: a key of FRINGES. chunk: points of the views."""

    shape: tuple[int, int, int]
    fringe: str
    ns: int
    memory: str
    way: str
    chunk: int

    @property
    def points(self) -> int:
        return self.shape[0] * self.shape[1] * self.shape[2]

    @property
    def bytes(self) -> tuple[int, int]:
        """Of a point, in (T, p, Y) and out (rho, h, c, mu, lam, D)."""
        return 8 * (2 + self.ns), 8 * (5 + self.ns)

    def words(self, seconds: float) -> str:
        numbers = (*self.shape, *FRINGES[self.fringe], self.ns, self.chunk, seconds)
        return " ".join(["case", self.way, self.memory, *map(str, numbers)])

    def told(self, ranks: int, gpus: int = 1) -> str:
        box = "x".join(map(str, self.shape))
        on = f" on {gpus} GPUs" * (gpus > 1)
        return f"{box}, fringe {self.fringe}, {self.memory}, {self.way}, {ranks} rank{'s' * (ranks > 1)}{on}"


def add_arguments(parser) -> None:
    """Options of `bench blocks`."""

    def words(known):
        return lambda text: _words(text, known)

    parser.add_argument("--backend", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--shapes", type=_shapes, default=_shapes("32x32x32,64x64x64,128x128x128,256x128x64"))
    parser.add_argument("--fringes", type=words(FRINGES), default=["0", "3", "mixed"], metavar="NAME,...")
    parser.add_argument("--ns", type=_numbers, default=[10], metavar="N,...", help="numbers of species (default: 10)")
    parser.add_argument("--memory", type=words(MEMORIES), default=["pageable", "pinned"], metavar="NAME,...")
    parser.add_argument("--ways", type=words(WAYS), default=["block"], metavar="NAME,...", help=", ".join(WAYS))
    parser.add_argument("--ranks", type=_numbers, default=[1], metavar="N,...")
    parser.add_argument("--gpus", type=_numbers, default=[1], metavar="N,...", help="that the ranks share (default: 1)")
    parser.add_argument("--chunks", type=_numbers, default=None, metavar="N,...", help="default: 131072; CPU 8192")
    parser.add_argument("--threads", type=int, help="that pack pageable memory, a rank (default: its cores)")
    parser.add_argument("--seconds", type=float, default=0.2, help="of a sample (default: 0.2)")
    parser.add_argument("--repeats", type=int, default=5, help="samples that the medians are taken of (default: 5)")
    parser.add_argument("--host", choices=("python", "fortran"), default="python", help="what the ranks are")
    parser.add_argument(
        "--program", metavar="FILE", help="the Fortran host, where no compiler is: blocks.f90, compiled"
    )
    parser.add_argument("--mps", choices=("auto", "off"), default="auto", help="ranks share a GPU by CUDA's service")
    parser.add_argument("--no-cpu", action="store_true", help="leave the CPU ranks out")
    parser.add_argument(
        "--small", action="store_true", help="also calls with next to no work, from Fortran: blocks, slabs, stripes"
    )
    parser.add_argument("--trace", metavar="FILE", help="what the ranks do in the last case: FILE-RANK.0.json each")
    parser.add_argument("--json", metavar="FILE", help="rows as JSON; -: to standard output, the table to the other")


def _words(text: str, known) -> list[str]:
    names = text.split(",")
    wrong = [name for name in names if name not in known]
    if wrong:
        raise argparse.ArgumentTypeError(f"'{wrong[0]}', wanted some of {', '.join(known)}.")
    return names


def _numbers(text: str) -> list[int]:
    parts = text.split(",")
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise argparse.ArgumentTypeError(f"'{text}', wanted whole numbers from 1 with commas between.")
    return [int(part) for part in parts]


def _shapes(text: str) -> list[tuple[int, ...]]:
    shapes = [tuple(_numbers(part.replace("x", ","))) for part in text.split(",")]
    if any(len(shape) != 3 for shape in shapes):
        raise argparse.ArgumentTypeError(f"'{text}', wanted extents such as 64x64x64 with commas between.")
    return shapes


class Rank:
    """A process that answers each line of input by a line of output."""

    def __init__(self, command, backend: str, cores, environment):
        self._said = tempfile.TemporaryFile("w+")  # noqa: SIM115  until the rank has ended
        threads = {"FRAME_THREADS": "1"} if backend == "cpu" else {}
        self._process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            bufsize=1,
            env=os.environ | {"FRAME_BACKEND": backend, "OMP_WAIT_POLICY": "passive"} | threads | environment,
            preexec_fn=lambda: os.sched_setaffinity(0, cores),  # before its first thread
        )
        assert self._process.stdin and self._process.stdout
        self._to, self._from = self._process.stdin, self._process.stdout

    def tell(self, line: str) -> None:
        with contextlib.suppress(BrokenPipeError):  # its answer says why
            self._to.write(line + "\n")

    def answer(self) -> list[str]:
        """The next line of the process. Raises BackendError, with the output, if it has ended or reports an error."""
        line = self._from.readline()
        if not line or line.startswith("wrong"):
            self._process.kill()
            self._process.wait()
            self._said.seek(0)
            said = (line + self._said.read()).strip()[-1500:] or "nothing"
            raise BackendError(f"bench blocks: a rank ended (status {self._process.returncode}); it said: {said}")
        return line.split()

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> None:
        with contextlib.suppress(BrokenPipeError):  # a line that a dead rank did not read is still there
            self._to.close()
        self._process.wait()


def one_gpu(place: int, gpus: int) -> dict[str, str]:
    """Environment in which a rank sees a single GPU."""
    seen = os.environ.get("CUDA_VISIBLE_DEVICES") or ",".join(map(str, range(gpus)))
    if len(seen.split(",")) < gpus:
        raise ArgumentError(f"--gpus {gpus}: CUDA_VISIBLE_DEVICES has {seen}.")
    return {"CUDA_VISIBLE_DEVICES": seen.split(",")[place]}


class Ranks:
    """Processes with the same backend. host: "python" or "fortran"."""

    def __init__(self, number: int, given, backend: str, environment, host: str, gpus: int = 1):
        command = (
            [given.program or fortran_host(), MIXTURES_FOLDER]
            if host == "fortran"
            else [sys.executable, "-m", f"{__package__}.blocks_rank"]
        )
        cores = sorted(os.sched_getaffinity(0))
        shares = [set(cores[k * len(cores) // number : (k + 1) * len(cores) // number]) for k in range(number)]
        environment = {**environment, "MPI_LOCALNRANKS": str(-(-number // gpus))}  # on a GPU, as a launcher would say
        if given.threads:
            environment |= {"FRAME_THREADS": str(given.threads)}
        places = spread([numa_node(share) for share in shares], device_nodes()[:gpus]) if gpus > 1 else []
        self.backend = backend
        self.each = []
        for k, share in enumerate(shares):
            traced = {"FRAME_TRACE": f"{given.trace}-{k}"} if given.trace else {}
            own = one_gpu(places[k], gpus) if places else {}
            self.each.append(Rank(command, backend, share or {cores[k % len(cores)]}, {**environment, **traced, **own}))

    def ask(self, line: str) -> list[list[str]]:
        for rank in self.each:
            rank.tell(line)
        return [rank.answer() for rank in self.each]

    def pace(self, line: str) -> float:
        """Seconds a call over all ranks together."""
        return 1 / sum(int(calls) / float(seconds) for _, calls, seconds in self.ask(line))

    def end(self) -> None:
        for rank in self.each:
            rank.end()


def fortran_host() -> pathlib.Path:
    """The program built from blocks.f90."""
    from . import launch

    return launch.host("blocks.f90", module=True)


def run(given) -> list[dict]:
    """Print the table, write the JSON; returns the rows. Raises the layer's errors."""
    made = measure(given, say=lambda text: print(text, file=sys.stderr, flush=True))
    out = sys.stderr if given.json == "-" else sys.stdout
    parts = [[row for row in made.rows if (row.bench == "launch") == small] for small in (False, True)]
    tables = "\n\n".join(report.table(rows) for rows in parts if rows)
    print("\n".join([*made.facts, "", tables, "", made.notes]), file=out)
    if given.json == "-":
        print(report.dumps(made.rows))
    elif given.json:
        pathlib.Path(given.json).write_text(report.dumps(made.rows) + "\n")
    return [row.record() for row in made.rows]


def cases(given, backend: str) -> list[Case]:
    """All combinations that were asked for and that the backend has. Raises ArgumentError."""
    chunks = given.chunks or [8192 if backend == "cpu" else 131072]
    made = [
        Case(*each)
        for each in itertools.product(given.shapes, given.fringes, given.ns, given.memory, given.ways, chunks)
    ]

    def fits(c):
        return (backend == "cuda" or c.memory == "pageable") and (c.way == "block" or c.memory != "device")

    if given.host == "fortran":
        other = [ns for ns in given.ns if ns not in MIXTURES]
        if other:
            raise ArgumentError(f"--host fortran --ns {other[0]}: wanted some of {', '.join(map(str, MIXTURES))}.")
        made = [case for case in made if case.memory != "device"]
    made = [case for case in made if fits(case)]
    if not made:
        raise ArgumentError("no case is left: a CPU has no pinned memory, and loops do not take arrays of the device.")
    return made


def measure(given, say) -> Report:
    """Run every case on every number of ranks. say(text): progress. Raises ArgumentError."""
    backend = given.backend
    if backend == "auto":
        from kernels.engine import backend as backends

        backend = "cuda" if backends.has_driver() else "cpu"
    refuse(backend == "cpu" and given.gpus != [1], "--gpus is for backend cuda.")
    rows, facts = [], []
    for number, gpus in itertools.product(given.ranks, given.gpus):
        if number < gpus:
            continue
        found, told = _with_ranks(given, backend, number, gpus, say)
        rows += found
        facts += [fact for fact in told if fact not in facts]
    if given.small:
        from . import launch

        say("small calls from Fortran")
        rows += launch.small_blocks(backend) + launch.stripe_calls(backend)
    notes = (
        "Time a point over all ranks together. bound: plain copies of as many bytes, in and out at once, by the same "
        "ranks in the same run. beside: as many ranks on the CPU, one thread each."
    )
    return Report(rows, facts, notes if backend == "cuda" else notes.split(". bound")[0] + ".")


def _with_ranks(given, backend: str, number: int, gpus: int, say) -> tuple[list[Row], list[str]]:
    environment, facts, folder = {}, [], None
    if backend == "cuda" and number > gpus and given.mps == "auto":
        why = mps.hindrance()
        for _ in range(5):  # ranks of before may still be listed
            if not why.startswith("another process"):
                break
            time.sleep(1)
            why = mps.hindrance()
        if why:
            facts.append(f"{number} ranks without CUDA's multi-process service: {why}")
        else:
            folder = mps.start([os.getpid()])
            environment = mps.environment(folder)
            facts.append(f"{number} ranks by CUDA's multi-process service")
    plain = argparse.Namespace(**{**vars(given), "trace": None})
    ours = link = Ranks(number, given, backend, environment, given.host, gpus)
    if backend == "cuda" and given.host == "fortran":
        link = Ranks(number, plain, backend, environment, "python", gpus)
    beside = None if backend == "cpu" or given.no_cpu else Ranks(number, plain, "cpu", {}, given.host)
    try:
        facts += [" ".join(link.ask("facts")[0])] * (number == given.ranks[0])
        rows = []
        for case in cases(given, backend):
            say(case.told(number, gpus))
            rows.append(_row(given, case, number, gpus, ours, link, beside))
            if backend == "cuda" and case.memory == "pageable":
                facts.append(_packing(given, case, number, gpus, link, rows[-1]))
        return rows, facts
    finally:
        for ranks in filter(None, dict.fromkeys((ours, link, beside))):
            ranks.end()
        if folder:
            mps.stop(folder)


def _packing(given, case: Case, number: int, gpus: int, ranks: Ranks, row: Row) -> str:
    """Bound by the bandwidth of host memory: CPU threads read and write each byte once."""
    rate = 2 * STREAMED / statistics.median(ranks.pace(f"stream {STREAMED}") for _ in range(given.repeats))
    least = 2 * sum(case.bytes) / rate
    return (
        f"{case.told(number, gpus)}, NS {case.ns}: the threads copy {1e-9 * rate:.0f} GB/s, read and written: packing "
        f"and unpacking alone takes {1e9 * least:.2f} ns a point, {100 * least * row.points_per_s:.0f} % of its time"
    )


def _row(given, case: Case, number: int, gpus: int, ours: Ranks, link: Ranks, beside: Ranks | None) -> Row:
    line = case.words(given.seconds)
    for ranks in dict.fromkeys((ours, link)):
        ranks.ask(line)
    if beside:
        beside.ask(dataclasses.replace(case, memory="pageable", way="block", chunk=8192).words(given.seconds))
    linked = ours.backend == "cuda" and case.memory != "device"
    times: dict[str, list[float]] = {"limit": [], "ours": [], "beside": []}
    for _ in range(given.repeats):
        if linked:
            times["limit"].append(link.pace("limit"))
        times["ours"].append(ours.pace("go"))
        if beside:
            times["beside"].append(beside.pace("go"))
    pace = {name: case.points / statistics.median(taken) for name, taken in times.items() if taken}
    row = Row(
        "blocks", case.told(number, gpus), case.ns, case.points, ours.backend, case.points / pace["ours"], pace["ours"]
    )
    row.case += f", chunk {case.chunk}" * (case.way != "block")
    if beside:
        row.rival, row.rival_points_per_s = f"{number} on the CPU", pace["beside"]
        row.ratio = pace["ours"] / pace["beside"]
    if linked:
        row.bound, row.bound_by, row.bound_fraction = pace["limit"], "link", pace["ours"] / pace["limit"]
    return row
