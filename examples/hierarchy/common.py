"""Tools of the exercises: arguments, the declaration's header, times, the printed line, the check."""

from __future__ import annotations

import argparse
import dataclasses
import functools
import inspect
import pathlib
import statistics
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT)] * (str(ROOT) not in sys.path)

from kernels import get_backend, team_kernel  # noqa: E402  found from any folder

ORDERS = {"right": "C", "lanes": "C", "left": "F"}  # NumPy's names of the layouts of the exercises


class WrongResult(ArithmeticError):
    """An exercise did not give what it has to."""


def kernels_of(file):
    """team_kernel for the header beside an exercise."""
    return functools.partial(team_kernel, header=pathlib.Path(file).resolve().with_suffix(".h"))


@dataclasses.dataclass(frozen=True)
class Moved:
    """Bytes that a run has to move, at least."""

    read: float = 0.0  # of arrays that are only read
    written: float = 0.0  # of arrays that are only written
    updated: float = 0.0  # of arrays that are read and written
    again: float = 0.0  # of lines that accesses ask for once more, and a CPU's caches have: beside the total

    @property
    def total(self) -> float:
        return self.read + self.written + 2 * self.updated


@dataclasses.dataclass(frozen=True)
class Timed:
    """Seconds of a run in each round, and in turns with it those of plain loops that move the same bytes."""

    moved: Moved
    runs: list[float]
    loops: list[float]  # empty where there are none, see `plain_loops`

    @property
    def seconds(self) -> float:
        """Median of the runs [s]; NaN without one."""
        return statistics.median(self.runs) if self.runs else float("nan")


# `bench hierarchy` sets it on a CPU: a function of Moved that gives loops, with `loops.work()` and `loops.times`: the
# bytes of a run over those that work() moves.
plain_loops = None


def timed(backend, run, nrepeat: int, moved, turns: int | None = None) -> Timed:
    """nrepeat rounds of `turns` runs each, after one that is not counted. turns None: up to 20 where a run is shorter
    than a millisecond, so that a device need not wait for the host. moved: Moved, or bytes that are only read."""
    run()

    if turns is None:
        start = backend.mark()
        run()
        turns = max(1, min(20, int(1e-3 / max(backend.elapsed(start, backend.mark()), 1e-6))))

    def marked(work, often):
        start = backend.mark()
        for _ in range(often):
            work()
        return start, backend.mark()

    moved = moved if isinstance(moved, Moved) else Moved(moved)
    loops = plain_loops(moved) if plain_loops else None
    runs, others = [], []

    for _ in range(nrepeat):
        runs.append(marked(run, turns))
        if loops:
            others.append(marked(loops.work, 1))

    return Timed(
        moved,
        [backend.elapsed(*pair) / turns for pair in runs],
        [backend.elapsed(*pair) * loops.times for pair in others],
    )


def seconds(backend, run, nrepeat: int) -> float:
    """Median of the runs [s]; see `timed`."""
    return timed(backend, run, nrepeat, 0).seconds


def check(what: str, result, wanted, within: float = 0.0) -> None:
    """Raises WrongResult unless every number is as wanted, within an absolute error."""
    result, wanted = np.asarray(result, float), np.asarray(wanted, float)
    if np.isnan(result).any():
        raise WrongResult(f"{what}: NaN. In the stand-in scratch is NaN until it is written: read before written.")

    wrong = np.argwhere(~(abs(result - wanted) <= within))
    if len(wrong):
        at = tuple(map(int, wrong[0]))
        where = f" of {result.size} numbers {len(wrong)} are wrong; at {at}:" * bool(at)
        raise WrongResult(f"{what}:{where} {result[at]:.17g}, wanted {wanted[at]:.17g}, within {within:g}.")


# The resource that limits an exercise. ITEMS: fewer than a device has threads.
BYTES, ATOMICS, STRIDES, CALLS, ITEMS = "bytes", "atomics", "strides", "calls", "items"


def on_a_device(backend, by: str) -> str:
    """The bottleneck by design: `by` on a device; the bytes on a CPU, where a thread goes along its own row."""
    return by if backend.in_warps else BYTES


@dataclasses.dataclass(frozen=True)
class Said:
    """A line that an exercise printed."""

    name: str
    sizes: tuple
    time: Timed
    by: str  # what takes the time by design: the bytes, or something that takes longer


said: list[Said] = []  # what `bench hierarchy` reads


def say(name: str, backend, sizes, result, time: Timed, more: str = "", by: str = BYTES) -> None:
    """name backend sizes result time GB/s."""
    said.append(Said(name, tuple(sizes), time, by))
    words = " ".join(map(str, sizes))
    rate = time.moved.total / time.seconds * 1e-9
    print(f"{name} {backend} {words} {result:.17g} {time.seconds:.4g} s {rate:.4g} GB/s {more}".rstrip())


def main(*exercises) -> None:
    """Runs an exercise by its name, with sizes from the command line: its keyword arguments are the options."""
    parser = argparse.ArgumentParser(description=inspect.getmodule(exercises[0]).__doc__)
    names = parser.add_subparsers(dest="name", required=True)

    for exercise in exercises:
        own = names.add_parser(exercise.__name__, help=exercise.__doc__.split("\n")[0], description=exercise.__doc__)
        own.add_argument("--backend", default="auto", help="auto, cpu, cuda, or stand-in: the CUDA side on a CPU")

        for name, p in inspect.signature(exercise).parameters.items():
            if p.default is not inspect.Parameter.empty and name != "quick":
                own.add_argument(f"-{name}", type=int, default=p.default)

    given = vars(parser.parse_args())
    chosen = {exercise.__name__: exercise for exercise in exercises}[given.pop("name")]
    chosen(backend_named(given.pop("backend")), **given)


def backend_named(name: str):
    """A backend; "stand-in" is the one of the tests, which finds missing barriers."""
    if name != "stand-in":
        return get_backend(name)

    sys.path.append(str(ROOT / "tests"))
    import cuda_on_cpu

    from kernels.engine.backend import cache, cuda

    folder = cache.folder() / "stand-in"
    folder.mkdir(exist_ok=True)
    sys.modules["cupy"] = cuda_on_cpu.make()
    cuda.machine_code = cuda_on_cpu.compiler(folder)

    return get_backend("cuda")
