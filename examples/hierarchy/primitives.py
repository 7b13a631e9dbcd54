"""Exercises 7 and 14 to 17: reductions, tiles, parts of arrays, prefix sums, single threads."""

import numpy as np
from common import BYTES, CALLS, ORDERS, STRIDES, Moved, check, kernels_of, main, on_a_device, say, timed

from kernels import League, MDRange, Range, Scan, Sizes

declared = kernels_of(__file__)

QUIZ_FLAT = declared("quiz_flat", Range("E*N"), results="total:whole", numbers="E N")
QUIZ_TEAM = declared("quiz_team", League("E", team=32), results="total:whole", numbers="E")
QUIZ_NESTED = declared("quiz_nested", League("E", team=32), results="total:whole", numbers="E")


def quiz(backend, E=7, N=32, nrepeat=10, quick=False):
    """Exercise 7: the lectures' quiz, as it stands there: E teams of N members, or E N threads."""
    for kernel, wanted, numbers in (
        (QUIZ_FLAT, E * N * 10, {"E": E, "N": N}),
        (QUIZ_TEAM, E * N * 10, {"E": E}),
        (QUIZ_NESTED, E * N * N * 10, {"E": E}),
    ):
        sizes = Sizes() if kernel is QUIZ_FLAT else Sizes(team=N)
        run = kernel.bind({}, backend, sizes, quick=quick, **numbers)
        time = timed(backend, run, nrepeat, 8)

        check(kernel.name, run.value("total"), wanted)
        say(kernel.name, backend, (E, N), run.value("total"), time, by=CALLS)


TILED = [
    declared(
        f"mdrange_{a}x{b}_{order}",
        MDRange("I J", tile=(a, b), order=order),
        body="mdrange",
        arrays="A(I,J) written(I,J)",
        writes="A written",
        results="total count",
    )
    for a, b in ((8, 8), (16, 4), (1, 32))
    for order in ("right", "left")
]


LAYOUTS = {
    "right": "A(I,J) written(I,J)",
    "left": "A(I,J):left written(I,J):left",
    "across": "A(I,J):stream written(I,J):left",
}
TUNED = {
    layout: declared(
        f"mdrange_{layout}", MDRange("I J"), body="mdrange", arrays=arrays, writes="A written", results="total count"
    )
    for layout, arrays in LAYOUTS.items()
}


def tiled(n: int, m: int) -> Moved:
    """Bytes of A and of `written`."""
    return Moved(written=8 * n * m, updated=8 * n * m)


def tiled_by(kernel, backend) -> str:
    """With order "left" neighbours in a tile of a device are rows apart in memory."""
    return on_a_device(backend, STRIDES) if "left" in kernel.items.orders else BYTES


def mdrange_tuned(backend, N=1000, M=777, nrepeat=3, quick=False):
    """Exercise 14 without a tile: the model's, and the fastest of a search. Arrays lie row by row, column by column, or
    one so and one so."""
    for kernel in TUNED.values():
        arrays = {}
        for a in kernel.arrays:
            order = "F" if a.layout == "LEFT" else "C"
            arrays |= backend.placed(**{a.name: np.zeros((N, M), order=order)})

        found = kernel.tune(arrays, backend, rounds=nrepeat, quick=quick)
        (model,) = [outcome for outcome in found if outcome.variant == Sizes()]
        check(f"{kernel.name}, left out", sum(outcome.seconds is None for outcome in found), 0)
        check(f"{kernel.name}, arrays as before", backend.to_host(arrays["A"].T), np.zeros((M, N)))

        for name, outcome in (("model", model), ("tuned", found[0])):
            run = kernel.bind(arrays, backend, outcome.variant, quick=quick)
            time = timed(backend, run, nrepeat, tiled(N, M))
            say(f"{kernel.name} {name}", backend, (N, M), N * M, time, f"({run.why})")


def mdrange(backend, N=1000, M=777, nrepeat=3, quick=False):
    """Exercise 14: an iteration over two indices in tiles, with either of them the fastest."""
    wanted = 1000 * M * N * (N - 1) // 2 + N * M * (M - 1) // 2
    for kernel in TILED:
        arrays = backend.placed(A=np.full((N, M), np.nan), written=np.zeros((N, M)))
        run = kernel.bind(arrays, backend, quick=quick)
        time = timed(backend, run, nrepeat, tiled(N, M), turns=1)

        check(kernel.name, backend.to_host(arrays["A"]), np.add.outer(1000.0 * np.arange(N), np.arange(M)))
        check(f"{kernel.name}, total", run.value("total"), wanted)
        check(f"{kernel.name}, count", run.value("count"), N * M)
        check(f"{kernel.name}, written", backend.to_host(arrays["written"]), np.full((N, M), 1.0 + nrepeat))
        say(kernel.name, backend, (N, M), run.value("total"), time, by=tiled_by(kernel, backend))


SUBVIEWS = {
    layout: declared(
        f"subview_{layout}", Range("J"), body="subview_sum", arrays=f"v(I,J,K){mark}", numbers="at a b", results="total"
    )
    for layout, mark in (("right", ""), ("left", ":left"))
}
SUBVIEWS["lanes"] = declared(
    "subview_lanes",
    League("(J + rows - 1) // rows", team="auto 8", vector=32),
    arrays="v(I,J,K)",
    numbers="at a b rows",
    results="total",
)


def part_bytes(backend, layout, N, numbers) -> int:
    """Bytes of the lines that have these numbers: column by column one number of N is asked for."""
    line = 4 if backend.in_warps else 8  # numbers that memory gives at least
    return 8 * numbers * (min(N, line) if layout == "left" else 1)


def subview(backend, N=20, M=50, E=60, nrepeat=3, quick=False):
    """Exercise 15: a part of an array of three dimensions as an array of two.

    v is N x M x E.
    """
    i, j, k = np.ogrid[:N, :M, :E]
    v = 10000.0 * i + 100.0 * j + k
    at, a, b = N - 2, 3, E - 4
    wanted = (b - a) * (M * 10000 * at + 100 * M * (M - 1) // 2) + M * (b * (b - 1) - a * (a - 1)) // 2

    for layout, kernel in SUBVIEWS.items():
        arrays = backend.placed(v=np.array(v, order=ORDERS[layout]))
        more = {"rows": 8} if layout == "lanes" else {}
        run = kernel.bind(arrays, backend, quick=quick, at=at, a=a, b=b, **more)
        time = timed(backend, run, nrepeat, part_bytes(backend, layout, N, M * (b - a)))

        check(kernel.name, run.value("total"), wanted)
        by = BYTES if layout == "lanes" else on_a_device(backend, STRIDES)
        closed = f"(closed form {wanted})"
        say(kernel.name, backend, (N, M, E), run.value("total"), time, closed, by)


SCAN_OF_THREE = declared(
    "scan_of_three", League("1", team=12, vector=8), arrays="prefix(3,n) total(3)", writes="prefix total"
)


def scan(backend, nrepeat=3, quick=False):
    """Exercise 16: exclusive prefix sums over a team and over lanes."""
    for n in (1, 31, 32, 33, 1000):
        arrays = backend.placed(prefix=np.full((3, n), np.nan), total=np.full(3, np.nan))
        run = SCAN_OF_THREE.bind(arrays, backend, quick=quick)
        time = timed(backend, run, nrepeat, 24 * n)
        i = np.arange(n)

        check(f"scan of {n}", backend.to_host(arrays["prefix"]), np.tile(i * (i - 1) // 2, (3, 1)))
        check(f"scan of {n}, total", backend.to_host(arrays["total"]), [n * (n - 1) // 2] * 3)
        say("scan", backend, (n,), backend.to_host(arrays["total"])[0], time, by=CALLS)


SCAN_OF_ALL = declared(
    "scan_of_all", Scan("n"), arrays="v(n):whole before(n):whole:stream", writes="before", results="total:whole"
)


def scan_range(backend, N=10_000_000, nrepeat=3, quick=False):
    """Exercise 16, over all indices of a launch: exclusive prefix sums in a single pass over memory."""
    v = np.arange(N) % 1000
    arrays = backend.placed(v=v, before=np.zeros_like(v))
    run = SCAN_OF_ALL.bind(arrays, backend, quick=quick)
    time = timed(backend, run, nrepeat, Moved(read=8 * N, written=8 * N))

    check("scan_range", backend.to_host(arrays["before"]), np.cumsum(v) - v)
    check("scan_range, total", run.value("total"), v.sum())
    say("scan_range", backend, (N,), run.value("total"), time)


SINGLE = declared(
    "single",
    League("E", team=16, vector=8),
    arrays="teams(1):whole members(1):whole seen(E,N,M)",
    writes="teams members seen",
)


def single(backend, E=100, N=16, M=8, nrepeat=1, quick=False):
    """Exercise 17: work of a single thread for its team, of a single lane for its member; their values reach all."""
    zero = np.zeros(1, np.int64)
    arrays = backend.placed(teams=zero, members=zero.copy(), seen=np.full((E, N, M), np.nan))
    run = SINGLE.bind(arrays, backend, quick=quick)
    time = timed(backend, run, nrepeat, 8 * E * N * M, turns=1)
    teams, members = (backend.to_host(arrays[name])[0] / (1 + nrepeat) for name in ("teams", "members"))

    check("single, teams", teams, E)
    check("single, members", members, E * N)
    wanted = 1000.0 + np.add.outer(np.arange(E), 10 * np.arange(N))

    check("single, value", backend.to_host(arrays["seen"]), np.repeat(wanted[:, :, None], M, 2))
    say("single", backend, (E, N, M), members, time, f"({teams:g} teams)", by=CALLS)


if __name__ == "__main__":
    main(quiz, mdrange, mdrange_tuned, subview, scan, scan_range, single)
