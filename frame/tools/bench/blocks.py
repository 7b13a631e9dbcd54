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

from kernels.engine.backend import device_nodes, has_driver

from ...devices import mps
from ...errors import ArgumentError, BackendError, refuse
from ...mpi import numa_node, spread
from ...shipped import ROOT
from . import launch, report
from .report import Report, Row
from .timing import in_turns

MEMORIES = ("pageable", "pinned", "device")
WAYS = ("block", "loop", "queue")  # a block call; a call for each array and chunk; the same with parameter queue
FRINGES = {"0": (0,) * 6, "3": (3,) * 6, "mixed": (3, 3, 2, 0, 1, 0)}  # low and high face in x, y, z
MIXTURES = {4: "ch4_o2_4.yaml", 10: "ch4_o2.yaml"}  # those that a Fortran host reads
STREAMED = 2**26  # bytes: more than caches hold
MIXTURES_FOLDER = ROOT / "examples" / "mixtures"


@dataclasses.dataclass(frozen=True)
class Share:
    """Ranks that share a machine."""

    ranks: int
    gpus: int = 1

    def __str__(self) -> str:
        return f"{self.ranks} rank{'s' * (self.ranks > 1)}" + f" on {self.gpus} GPUs" * (self.gpus > 1)


@dataclasses.dataclass(frozen=True)
class Case:
    """A block call, or the calls of a loop over chunks."""

    shape: tuple[int, int, int]  # extents of the selected box
    fringe: str  # a key of FRINGES
    ns: int
    memory: str  # of MEMORIES
    way: str  # of WAYS
    chunk: int  # points of the views

    @property
    def points(self) -> int:
        return self.shape[0] * self.shape[1] * self.shape[2]

    @property
    def bytes(self) -> tuple[int, int]:
        """Bytes a point: in (T, p, Y) and out (rho, h, c, mu, lam, D)."""
        return 8 * (2 + self.ns), 8 * (5 + self.ns)

    def words(self, seconds: float) -> str:
        """The line that tells a rank of the case. seconds: of a sample."""
        numbers = (*self.shape, *FRINGES[self.fringe], self.ns, self.chunk, seconds)
        return " ".join(["case", self.way, self.memory, *map(str, numbers)])

    def told(self, share: Share) -> str:
        """The case in words."""
        box = "x".join(map(str, self.shape))
        return f"{box}, fringe {self.fringe}, {self.memory}, {self.way}, {share}"


def add_arguments(parser) -> None:
    """Options of `bench blocks`."""
    names = dict(metavar="NAME,...")
    numbers = dict(metavar="N,...", type=_numbers)
    parser.add_argument("--backend", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--shapes", type=_shapes, default=_shapes("32x32x32,64x64x64,128x128x128,256x128x64"))
    parser.add_argument("--fringes", type=_some_of(FRINGES), default=["0", "3", "mixed"], **names)
    parser.add_argument("--ns", default=[10], help="numbers of species (default: 10)", **numbers)
    parser.add_argument("--memory", type=_some_of(MEMORIES), default=["pageable", "pinned"], **names)
    parser.add_argument("--ways", type=_some_of(WAYS), default=["block"], help=", ".join(WAYS), **names)
    parser.add_argument("--ranks", default=[1], **numbers)
    parser.add_argument("--gpus", default=[1], help="that the ranks share (default: 1)", **numbers)
    parser.add_argument("--chunks", default=None, help="default: 131072; CPU 8192", **numbers)
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


def _some_of(known):
    """The type of an option: some of the known names, with commas between."""

    def names(text: str) -> list[str]:
        found = text.split(",")
        wrong = [name for name in found if name not in known]
        if wrong:
            raise argparse.ArgumentTypeError(f"'{wrong[0]}', wanted some of {', '.join(known)}.")
        return found

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


# ---- processes


class Rank:
    """A process that answers each line of input by a line of output."""

    def __init__(self, command: list[str], cores: set[int], environment: dict[str, str]):
        self._said = tempfile.TemporaryFile("w+")  # noqa: SIM115  until the rank has ended
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            bufsize=1,
            env=os.environ | environment,
            preexec_fn=lambda: os.sched_setaffinity(0, cores),  # before its first thread
        )
        assert self._process.stdin and self._process.stdout
        self._to, self._from = self._process.stdin, self._process.stdout

    def tell(self, line: str) -> None:
        """Sends a line. If the process has ended, its answer says why."""
        with contextlib.suppress(BrokenPipeError):
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
        """Closes the input and waits for the process."""
        with contextlib.suppress(BrokenPipeError):  # a line that a dead rank did not read is still there
            self._to.close()
        self._process.wait()


class Ranks:
    """Processes with the same backend, each with its share of the cores. host: "python" or "fortran"."""

    def __init__(self, share: Share, given, backend: str, environment: dict[str, str], host: str):
        self.backend = backend
        command = [sys.executable, "-m", f"{__package__}.blocks_rank"]
        if host == "fortran":
            command = [str(given.program or fortran_host()), str(MIXTURES_FOLDER)]

        # The environment of all ranks. The ranks on a GPU are told as a launcher would tell them.
        on_a_gpu = -(-share.ranks // share.gpus)
        common = {"FRAME_BACKEND": backend, "OMP_WAIT_POLICY": "passive"}
        if backend == "cpu":
            common["FRAME_THREADS"] = "1"
        common |= environment | {"MPI_LOCALNRANKS": str(on_a_gpu)}
        if given.threads:
            common["FRAME_THREADS"] = str(given.threads)

        # Cores and GPU of each rank.
        cores = sorted(os.sched_getaffinity(0))
        shares = []
        for k in range(share.ranks):
            own = cores[k * len(cores) // share.ranks : (k + 1) * len(cores) // share.ranks]
            shares.append(set(own or [cores[k % len(cores)]]))
        places = []
        if share.gpus > 1:
            places = spread([numa_node(own) for own in shares], device_nodes()[: share.gpus])

        self.each = []
        for k, rank_cores in enumerate(shares):
            variables = dict(common)
            if given.trace:
                variables["FRAME_TRACE"] = f"{given.trace}-{k}"
            if places:
                variables |= one_gpu(places[k], share.gpus)
            self.each.append(Rank(command, rank_cores, variables))

    def ask(self, line: str) -> list[list[str]]:
        """The answers of all ranks to a line."""
        for rank in self.each:
            rank.tell(line)
        return [rank.answer() for rank in self.each]

    def pace(self, line: str) -> float:
        """Seconds a call over all ranks together."""
        rates = [int(calls) / float(seconds) for _, calls, seconds in self.ask(line)]
        return 1 / sum(rates)

    def end(self) -> None:
        for rank in self.each:
            rank.end()


def one_gpu(place: int, gpus: int) -> dict[str, str]:
    """Environment in which a rank sees a single GPU."""
    seen = os.environ.get("CUDA_VISIBLE_DEVICES") or ",".join(map(str, range(gpus)))
    if len(seen.split(",")) < gpus:
        raise ArgumentError(f"--gpus {gpus}: CUDA_VISIBLE_DEVICES has {seen}.")
    return {"CUDA_VISIBLE_DEVICES": seen.split(",")[place]}


def fortran_host() -> pathlib.Path:
    """The program built from blocks.f90."""
    return launch.host("blocks.f90", module=True)


# ---- the bench


def run(given) -> list[dict]:
    """Prints the table, writes the JSON; returns the rows. Raises the layer's errors."""
    made = measure(given, say=lambda text: print(text, file=sys.stderr, flush=True))
    out = sys.stderr if given.json == "-" else sys.stdout

    blocks = [row for row in made.rows if row.bench != "launch"]
    calls = [row for row in made.rows if row.bench == "launch"]
    tables = "\n\n".join(report.table(rows) for rows in (blocks, calls) if rows)
    print("\n".join([*made.facts, "", tables, "", made.notes]), file=out)

    report.write(report.dumps(made.rows), given.json)
    return [row.record() for row in made.rows]


def cases(given, backend: str) -> list[Case]:
    """All combinations of the options that the backend has. Raises ArgumentError."""
    if given.host == "fortran":
        other = [ns for ns in given.ns if ns not in MIXTURES]
        if other:
            raise ArgumentError(f"--host fortran --ns {other[0]}: wanted some of {', '.join(map(str, MIXTURES))}.")

    chunks = given.chunks or [8192 if backend == "cpu" else 131072]
    options = (given.shapes, given.fringes, given.ns, given.memory, given.ways, chunks)
    found = [Case(*each) for each in itertools.product(*options)]
    found = [case for case in found if _can(case, backend, given.host)]
    if not found:
        raise ArgumentError("no case is left: a CPU has no pinned memory, and loops do not take arrays of the device.")
    return found


def _can(case: Case, backend: str, host: str) -> bool:
    """Whether a host of this kind has the case on the backend."""
    if case.memory == "device":
        return backend == "cuda" and host == "python" and case.way == "block"
    return backend == "cuda" or case.memory == "pageable"


NOTES = "Time a point over all ranks together."
NOTES_OF_A_GPU = (
    " bound: plain copies of as many bytes, in and out at once, by the same ranks in the same run. beside: as many "
    "ranks on the CPU, one thread each."
)


def measure(given, say) -> Report:
    """Runs every case on every number of ranks. say(text): progress. Raises ArgumentError."""
    backend = given.backend
    if backend == "auto":
        backend = "cuda" if has_driver() else "cpu"
    refuse(backend == "cpu" and given.gpus != [1], "--gpus is for backend cuda.")

    rows, facts = [], []
    for ranks, gpus in itertools.product(given.ranks, given.gpus):
        if ranks >= gpus:
            run_ = _Run(given, backend, Share(ranks, gpus))
            rows += run_.measure(say)
            facts += [fact for fact in run_.facts if fact not in facts]

    if given.small:
        say("small calls from Fortran")
        rows += launch.small_blocks(backend) + launch.stripe_calls(backend)
    return Report(rows, facts, NOTES + NOTES_OF_A_GPU * (backend == "cuda"))


class _Run:
    """All cases on a number of ranks: ours; the ranks that copy; as many ranks on the CPU."""

    def __init__(self, given, backend: str, share: Share):
        self.given, self.backend, self.share = given, backend, share
        self.facts: list[str] = []
        self.link: Ranks | None = None  # on a GPU
        self.beside: Ranks | None = None

    def measure(self, say) -> list[Row]:
        """A row for each case."""
        given, share, on_gpu = self.given, self.share, self.backend == "cuda"
        untraced = argparse.Namespace(**{**vars(given), "trace": None})
        with self._service() as environment, contextlib.ExitStack() as ended:

            def started(*how) -> Ranks:
                ranks = Ranks(*how)
                ended.callback(ranks.end)
                return ranks

            # The processes.
            self.ours = started(share, given, self.backend, environment, given.host)
            if on_gpu:
                is_python = given.host == "python"
                self.link = self.ours if is_python else started(share, untraced, "cuda", environment, "python")
            if on_gpu and not given.no_cpu:
                self.beside = started(Share(share.ranks), untraced, "cpu", {}, given.host)

            # The cases.
            if share.ranks == given.ranks[0]:
                self.facts.append(" ".join((self.link or self.ours).ask("facts")[0]))
            rows = []
            for case in cases(given, self.backend):
                say(case.told(share))
                rows.append(self._row(case))
                if self.link and case.memory == "pageable":
                    rate = packing_rate(self.link, given.repeats)
                    self.facts.append(packing(case, share, rate, rows[-1]))
            return rows

    @contextlib.contextmanager
    def _service(self):
        """The environment of the ranks. Where several share a GPU, CUDA's multi-process service runs meanwhile."""
        ranks = self.share.ranks
        if self.backend != "cuda" or ranks <= self.share.gpus or self.given.mps != "auto":
            yield {}
            return

        why = mps.hindrance()
        for _ in range(5):  # the ranks before may still be listed
            if not why.startswith("another process"):
                break
            time.sleep(1)
            why = mps.hindrance()
        if why:
            self.facts.append(f"{ranks} ranks without CUDA's multi-process service: {why}")
            yield {}
            return

        folder = mps.start([os.getpid()])
        self.facts.append(f"{ranks} ranks by CUDA's multi-process service")
        try:
            yield mps.environment(folder)
        finally:
            mps.stop(folder)

    def _row(self, case: Case) -> Row:
        """The row of a case: ours, copies and CPU ranks in turns."""
        given = self.given
        for ranks in dict.fromkeys(filter(None, (self.ours, self.link))):
            ranks.ask(case.words(given.seconds))
        timers = {"ours": lambda: self.ours.pace("go")}

        link = self.link if case.memory != "device" else None
        if link:
            timers = {"limit": lambda: link.pace("limit"), **timers}
        beside = self.beside
        if beside:
            on_cpu = dataclasses.replace(case, memory="pageable", way="block", chunk=8192)
            beside.ask(on_cpu.words(given.seconds))
            timers["beside"] = lambda: beside.pace("go")

        seconds = {name: statistics.median(times) for name, times in in_turns(timers, given.repeats).items()}
        label = case.told(self.share) + f", chunk {case.chunk}" * (case.way != "block")
        row = Row.timed("blocks", label, case.ns, case.points, self.backend, seconds["ours"])
        if beside:
            row = row.beside(f"{self.share.ranks} on the CPU", case.points / seconds["beside"])
        if link:
            row = row.below(case.points / seconds["limit"], "link")
        return row


def packing_rate(ranks: Ranks, repeats: int) -> float:
    """Bytes that the packing threads of all ranks read and write a second."""
    return 2 * STREAMED / statistics.median(ranks.pace(f"stream {STREAMED}") for _ in range(repeats))


def packing(case: Case, share: Share, rate: float, row: Row) -> str:
    """The bound by the bandwidth of host memory, in words: CPU threads read and write each byte once."""
    least = 2 * sum(case.bytes) / rate
    return (
        f"{case.told(share)}, NS {case.ns}: the threads copy {1e-9 * rate:.0f} GB/s, read and written: packing and "
        f"unpacking alone takes {1e9 * least:.2f} ns a point, {100 * least * row.points_per_s:.0f} % of its time"
    )
