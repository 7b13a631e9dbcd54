"""Team kernels on a CUDA device where threads meet: atomics on few elements, scattered sums, tiles.

python tests/gpu_teams.py       values are checked, then variants are timed in turns; some 60 s

Times in microseconds, medians of rounds; beside each variant how many times as fast as the first one of its row it is.
`bytes`: what the memory takes for the numbers that are read and written, at the pace of a copy in the same rounds.
"""

import argparse
import dataclasses
import pathlib
import statistics
import sys
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "examples" / "hierarchy")]

from common import backend_named  # noqa: E402

from kernels import MDRange, Range, Sizes, team_kernel  # noqa: E402
from kernels.teams.items import TileItems  # noqa: E402

HEADER = pathlib.Path(__file__).with_suffix(".h")
TYPES = {"int32": np.int32, "whole": np.int64, "real32": np.float32, "real64": np.float64}
BLOCKS = (None, 128, 1024)  # of scattered sums; None: the layer's
TILES = ((8, 8), (16, 4), (1, 32), (8, 32), (8, 64), (4, 64), (1, 256))
LARGE, SMALL = 2**25, 2**10  # numbers of a copy, on a device and in the stand-in


def declared(body, kind, mark=""):
    writes = "" if mark else "h"
    arrays = f"k(n):int32 h(bins):{kind}{mark}"
    return team_kernel(f"{body}_{kind}", Range("n"), body=body, header=HEADER, arrays=arrays, writes=writes)


ATOMICS = {(body, kind): declared(body, kind) for body in ("in_turns", "joined") for kind in TYPES}
THIRDS = {body: declared(body, "real64") for body in ("third_in_turns", "third_joined")}
SCATTERED = {kind: declared("scattered", kind, ":scatter") for kind in TYPES}
TILED = team_kernel("tiled", MDRange("I J", tile=(8, 8)), header=HEADER, arrays="A(I,J) seen(I,J)", writes="A seen")
STRIPS = team_kernel(
    "in_strips", Range("n", block=256), header=HEADER, arrays="A(I,J) B(I,J):left", writes="A", numbers="n shift"
)
ACROSS = team_kernel("across", MDRange("I J"), header=HEADER, arrays="A(I,J) B(I,J):left", writes="A")


@dataclasses.dataclass
class Row:
    """Variants that compute the same."""

    name: str
    moved: float  # bytes
    runs: dict  # {variant: work}
    check: object  # called behind a run that began with zeros


class Copy:
    """A copy of memory: the pace of a device's bytes."""

    def __init__(self, be, n: int):
        self.be, self.halves = be, be.empty((2, n))
        self.halves[...] = 1.0

    @property
    def moved(self) -> int:
        """Bytes read and written."""
        return self.halves.nbytes

    def __call__(self) -> None:
        self.halves[1][...] = self.halves[0]


def medians_of(be, runs: dict, rounds: int) -> dict:
    """{name: seconds}, timed in turns."""
    times = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            begin = be.mark()
            run()
            times[name].append(be.elapsed(begin, be.mark()))

    return {name: statistics.median(found) for name, found in times.items()}


def print_row(be, row: Row, rounds: int) -> None:
    """Values, then times in turns."""
    for variant, run in row.runs.items():
        row.check(run, f"{row.name}, {variant}")

    copy = Copy(be, SMALL if be.product == "stand-in" else LARGE)
    medians = medians_of(be, {copy: copy, **row.runs}, rounds)
    needed = row.moved * medians.pop(copy) / copy.moved

    first = next(iter(medians.values()))
    told = [f"{variant} {1e6 * t:.1f} ({first / t:.2f})" for variant, t in medians.items()]
    print(f"{row.name:<34} bytes {1e6 * needed:7.1f}  {'  '.join(told)}", flush=True)


# ---- atomics and scattered sums
def sums(be, name, kernels, k, bins, kind) -> Row:
    """kernels: {variant: (kernel, sizes)}"""
    here = be.placed(k=k, h=np.zeros(bins, TYPES[kind]))
    counts = {"all": np.bincount(k, minlength=bins), "third": np.bincount(k[::3], minlength=bins)}
    runs = {variant: kernel.bind(here, be, sizes) for variant, (kernel, sizes) in kernels.items()}

    def check(run, what):
        here["h"][...] = 0
        run()
        wanted = counts["third" if "third" in run.kernel.name else "all"]

        assert np.array_equal(np.array(be.to_host(here["h"])), wanted), what

    return Row(f"{name}, {kind}, {bins} of {k.size}", k.nbytes, runs, check)


def print_atomics(be, n: int, rounds: int) -> None:
    """An element for all threads; an element for each of many; a third of the lanes."""
    rng = np.random.default_rng(1)
    for kind in TYPES:
        kernels = {body: (ATOMICS[body, kind], Sizes()) for body in ("in_turns", "joined")}
        print_row(be, sums(be, "atomics", kernels, np.zeros(n // 8, np.int32), 1, kind), rounds)

        for bins in (64, 4096, n // 16):
            k = rng.integers(0, bins, n // 8, dtype=np.int32)
            print_row(be, sums(be, "atomics", kernels, k, bins, kind), rounds)

    thirds = {body: (kernel, Sizes()) for body, kernel in THIRDS.items()}
    print_row(be, sums(be, "a third", thirds, np.zeros(n // 8, np.int32), 1, "real64"), rounds)


def print_scattered(be, n: int, rounds: int) -> None:
    """By atomics, and by scattered arrays in blocks of several sizes."""
    rng = np.random.default_rng(2)
    for bins in (1, 64, 1000, 6000, 14000):
        k = rng.integers(0, bins, n, dtype=np.int32)
        for kind in TYPES:
            kernels = {"joined": (ATOMICS["joined", kind], Sizes())}
            kernels |= {f"scattered {block or ''}".rstrip(): (SCATTERED[kind], Sizes(block)) for block in BLOCKS}
            exact = n // 4 if kind == "real32" else n  # counts up to 2^24
            row = sums(be, "scattered", kernels, k[:exact], bins, kind)
            copies = [variant for variant, run in row.runs.items() if getattr(run, "scatter", {}).get("h") == "copies"]
            print_row(be, row, rounds)
            print(f"{'':<34} copies: {', '.join(copies) or 'none'}")


# ---- tiles
def print_tiles(be, shape, rounds: int) -> None:
    """Declared tiles, a tile a block, and several a block; a transposition in tiles of several shapes."""
    here = be.placed(A=np.zeros(shape), seen=np.zeros(shape))
    wanted = np.add.outer(1000.0 * np.arange(shape[0]), np.arange(shape[1]))

    def check(run, what):
        here["A"][...] = 0
        run()
        assert np.array_equal(be.to_host(here["A"]), wanted), what

    several = TileItems._several
    for tile in TILES:
        found = {}
        for variant, rule in (("a tile a block", lambda self, extents: 1), ("several", several)):
            TileItems._several = rule
            found[variant] = TILED.bind(here, be, Sizes(tile=tile))

        TileItems._several = several
        print_row(be, Row(f"tile {tile}", 3 * here["A"].nbytes, found, check), rounds)

    source = be.placed(B=np.asfortranarray(wanted))
    there = {"A": here["A"], **source}
    tiles = (None, (8, 32), (32, 8), (16, 16), (16, 32), (32, 16), (32, 32), (4, 32), (32, 4), (4, 64), (64, 4))
    found = {str(tile or "model"): ACROSS.bind(there, be, Sizes(tile=tile)) for tile in tiles}

    for shift in range(6):
        high = 32 << shift  # rows of a strip
        tiles = -(-shape[0] // high) * (high // 32) * -(-shape[1] // 8)
        found[f"strips of {high}"] = STRIPS.bind(there, be, n=256 * tiles, shift=shift)

    print_row(be, Row("transposition", 2 * here["A"].nbytes, found, check), rounds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", default="cuda", help="or stand-in, at small sizes: values only")
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    small = given.backend == "stand-in"
    device = backend_named(given.backend)

    begun = time.perf_counter()
    print_tiles(device, (40, 777) if small else (4000, 7770), given.rounds)
    print_atomics(device, 8000 if small else 32_000_000, given.rounds)
    print_scattered(device, 3000 if small else 50_000_000, given.rounds)
    print(f"{time.perf_counter() - begun:.0f} s")
