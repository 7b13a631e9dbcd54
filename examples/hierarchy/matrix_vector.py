"""Exercises 1 to 6 and 19: <y|Ax> by threads, atomics, teams and lanes."""

import numpy as np
from common import (
    ATOMICS,
    BYTES,
    CALLS,
    ITEMS,
    ORDERS,
    STRIDES,
    Moved,
    check,
    kernels_of,
    main,
    on_a_device,
    say,
    timed,
)

from kernels import League, Range, Sizes

declared = kernels_of(__file__)


def bytes_of(N, M):
    """Bytes of y, A and x."""
    return 8 * (N * M + N + M)


def inner_product(kernel, backend, N, M, nrepeat, quick, by=BYTES):
    """Times <y|Ax> of ones and says it, with its total."""
    run = kernel.bind(backend.placed(y=np.ones(N), A=np.ones((N, M)), x=np.ones(M)), backend, quick=quick)
    time = timed(backend, run, nrepeat, bytes_of(N, M))
    check(kernel.name, run.value("total"), N * M)
    say(kernel.name, backend, (N, M), run.value("total"), time, by=by)


YAX_FLAT = declared("yax_flat", Range("N"), arrays="y(N) A(N,M) x(M)", results="total")


def yax_flat(backend, N=4096, M=1024, nrepeat=10, quick=False):
    """Exercise 1: <y|Ax> with a thread a row. With few rows a GPU is nearly empty."""
    inner_product(YAX_FLAT, backend, N, M, nrepeat, quick, on_a_device(backend, STRIDES))


YAX_ATOMIC = declared(
    "yax_atomic", Range("N*M"), arrays="y(N) A(N,M) x(M) total(1)", writes="total", source="not reproducible: atomics"
)


def yax_atomic(backend, N=4096, M=1024, nrepeat=3, quick=False):
    """Exercise 2: <y|Ax> with an atomic for every element: all wait for one address."""
    arrays = backend.placed(y=np.ones(N), A=np.ones((N, M)), x=np.ones(M), total=np.zeros(1))
    run = YAX_ATOMIC.bind(arrays, backend, quick=quick)
    time = timed(backend, run, nrepeat, bytes_of(N, M), turns=1)
    total = backend.to_host(arrays["total"])[0] / (1 + nrepeat)

    check("yax_atomic", total, N * M)
    say("yax_atomic", backend, (N, M), total, time, by=ATOMICS)


LAYOUTS = {
    layout: declared(
        f"yax_{layout}", Range("N", block=32), body="yax_layout", arrays=f"y(N) A(N,M){mark} x(M)", results="total"
    )
    for layout, mark in (("right", ""), ("left", ":left"))
}


def yax_layout(backend, N=4096, M=1024, nrepeat=10, quick=False):
    """Exercise 3: exercise 1 with A row by row (right) and column by column (left)."""
    times = {}
    for layout, kernel in LAYOUTS.items():
        arrays = backend.placed(y=np.ones(N), A=np.ones((N, M), order=ORDERS[layout]), x=np.ones(M))
        run = kernel.bind(arrays, backend, quick=quick)
        times[layout] = timed(backend, run, nrepeat, bytes_of(N, M))

        check(f"yax_layout, {layout}", run.value("total"), N * M)
        by = on_a_device(backend, STRIDES) if layout == "right" else BYTES
        say(f"yax_layout {layout}", backend, (N, M), run.value("total"), times[layout], by=by)

    ratio = times["right"].seconds / times["left"].seconds
    print(f"yax_layout {backend}: time of right over left {ratio:.3g}")


ATTEMPTS = [
    declared(name, League("N", team=128), arrays="y(N) A(N,M) x(M) total(1)", writes="total")
    for name in ("attempt_1", "attempt_2")
]


def yax_attempts(backend, N=4096, M=1024, nrepeat=3, quick=False):
    """Exercise 4, the two attempts before it: an atomic for each element, by the ranks of the members."""
    for kernel, team in zip(ATTEMPTS, (M, min(M, 128))):
        arrays = backend.placed(y=np.ones(N), A=np.ones((N, M)), x=np.ones(M), total=np.zeros(1))
        run = kernel.bind(arrays, backend, Sizes(team), quick=quick)
        time = timed(backend, run, nrepeat, bytes_of(N, M), turns=1)
        total = backend.to_host(arrays["total"])[0] / (1 + nrepeat)

        check(f"yax {kernel.name}", total, N * M)
        say(f"yax {kernel.name}", backend, (N, M), total, time, by=ATOMICS)


YAX_TEAM = declared("yax_team", League("N", team="auto 128"), arrays="y(N) A(N,M) x(M)", results="total")


def yax_team(backend, N=4096, M=1024, nrepeat=10, quick=False):
    """Exercise 4: <y|Ax> with a team a row: inner reduction over the columns; one member adds y(row) times the sum."""
    inner_product(YAX_TEAM, backend, N, M, nrepeat, quick)


YAX_PARTS = declared(
    "yax_parts", League("N*parts", team="auto 256"), arrays="y(N) A(N,M) x(M)", results="total", numbers="parts"
)
YAX_LANES = declared(
    "yax_lanes",
    League("(N + rows - 1) // rows", team="auto 64", vector=2),
    arrays="y(N) A(N,M) x(M)",
    results="total",
    numbers="rows",
)
SHARE = 4096  # columns of a team

# The resource that limits a device
SHORT_ROWS = {"flat": STRIDES, "team": CALLS, "parts": CALLS}
LONG_ROWS = {"flat": ITEMS, "team": ITEMS, "lanes": ITEMS}


def yax_rows_first(backend, N=10, M=1_000_000, nrepeat=3, quick=False):
    """Exercise 5: exercises 1 and 4 where rows are many and short, and where they are few and long; then a row for
    several teams, so that few rows fill a device, and many short rows for a team with two lanes a row."""
    for n, m in ((M, N), (N, M)):
        arrays = backend.placed(y=np.ones(n), A=np.ones((n, m)), x=np.ones(m))
        times = {}
        short = m < 1000

        for name, kernel, sizes, numbers in (
            ("flat", YAX_FLAT, Sizes(), {}),
            ("team", YAX_TEAM, Sizes("auto 32" if short else "auto 1024"), {}),
            ("parts", YAX_PARTS, Sizes("auto 32" if short else "auto 256"), {"parts": -(-m // SHARE)}),
            ("lanes", YAX_LANES, Sizes(), {"rows": 512}),
        ):
            run = kernel.bind(arrays, backend, sizes, quick=quick, **numbers)
            times[name] = timed(backend, run, nrepeat, bytes_of(n, m))
            check(f"yax_rows_first, {name}", run.value("total"), n * m)

            by = on_a_device(backend, (LONG_ROWS if n < m else SHORT_ROWS).get(name, BYTES))
            say(f"yax_rows_first {name}", backend, (n, m), run.value("total"), times[name], by=by)

        ratio = times["flat"].seconds / times["team"].seconds
        print(f"yax_rows_first {backend} {n} {m}: teams are {ratio:.3g} times as fast as flat")


SWEPT = {
    (method, layout): declared(
        f"{method}_{layout}",
        over,
        body=body,
        arrays=f"y(N) A(N,M){mark} x(M)",
        results="total",
        numbers=numbers,
    )
    for layout, mark in (("right", ""), ("left", ":left"))
    for method, body, over, numbers in (
        ("flat", "yax_layout", Range("N", block=128), ""),
        ("team", "yax_team", League("N", team="auto 128"), ""),
        ("vector", "yax_lanes", League("(N + rows - 1) // rows", team="auto 8", vector=32), "rows"),
    )
}


def yax_sweep(backend, N=65536, M=1024, nrepeat=3, quick=False):
    """Exercises 1, 4 and 6 by numbers of rows up to N, in both layouts: which of them fills the machine."""
    for n in [2**k for k in range(6, 40, 2) if 2**k < N] + [N]:
        for layout in ("right", "left"):
            arrays = backend.placed(y=np.ones(n), A=np.ones((n, M), order=ORDERS[layout]), x=np.ones(M))
            for method in ("flat", "team", "vector"):
                more = {"rows": 8} if method == "vector" else {}
                run = SWEPT[method, layout].bind(arrays, backend, quick=quick, **more)
                time = timed(backend, run, nrepeat, bytes_of(n, M))

                check(f"yax_sweep {method} {layout}", run.value("total"), n * M)
                by = on_a_device(backend, STRIDES) if (method == "flat") == (layout == "right") else BYTES
                say(f"yax_sweep {method} {layout}", backend, (n, M), run.value("total"), time, by=by)


YAX_VECTOR = declared(
    "yax_vector",
    League("E", team="auto 32", vector=8),
    arrays="y(E,N) A(E,N,M) x(E,M) result(E)",
    writes="result",
    results="total",
)


def yax_vector(backend, E=1000, N=32, M=32, nrepeat=10, quick=False):
    """Exercise 6: <y|Ax> of E elements, all three levels."""
    for name, y in (("y = 1", np.ones(E)), ("y = e + 1", np.arange(1.0, E + 1))):
        rows = np.repeat(y[:, None], N, axis=1)
        arrays = backend.placed(y=rows, A=np.ones((E, N, M)), x=np.ones((E, M)), result=np.full(E, np.nan))
        run = YAX_VECTOR.bind(arrays, backend, quick=quick)
        time = timed(backend, run, nrepeat, Moved(read=8 * E * (N * M + N + M), written=8 * E))

        check(f"yax_vector, elements, {name}", backend.to_host(arrays["result"]), N * M * y)
        check(f"yax_vector, {name}", run.value("total"), N * M * (E if name == "y = 1" else E * (E + 1) // 2))
        say("yax_vector", backend, (E, N, M), run.value("total"), time, f"({name})")


BOTH = dict(arrays="y(N) A(N,M) x(M)", results="product")
ROWS_OF = declared("rows_of", League("N", team="auto 32"), **BOTH)
COLUMNS_OF = declared(
    "columns_of",
    League("(M + width - 1) // width * ((N + share - 1) // share)", team="auto 4", vector=32),
    numbers="share width",
    **BOTH,
)


def nested_adjoint(backend, N=4096, M=1023, nrepeat=10, quick=False):
    """Exercise 19: <y|A x> = <A^T y|x>, a team a row for one, a team for some columns and rows for the other."""
    rng = np.random.default_rng(19)
    given = dict(y=rng.random(N), A=rng.random((N, M)), x=rng.random(M))
    products = []
    # a warp for 32 columns and many rows; a core reads whole rows, one after the other
    tile = {"share": 512, "width": 32} if backend.in_warps else {"share": 16, "width": min(M, 4096)}

    for kernel, numbers in ((ROWS_OF, {}), (COLUMNS_OF, tile)):
        run = kernel.bind(backend.placed(**given), backend, quick=quick, **numbers)
        time = timed(backend, run, nrepeat, bytes_of(N, M))
        products.append(run.value("product"))
        say(f"nested_adjoint {kernel.name}", backend, (N, M), products[-1], time)

    check("nested_adjoint", products[0] / products[1] - 1, 0, 1e-13)
    # all terms are positive: each sum of n terms is within n eps, and both together far within this
    check("nested_adjoint, numpy", products[0] / (given["y"] @ given["A"] @ given["x"]) - 1, 0, 1e-13)


if __name__ == "__main__":
    main(
        yax_flat, yax_atomic, yax_layout, yax_attempts, yax_team, yax_rows_first, yax_sweep, yax_vector, nested_adjoint
    )
