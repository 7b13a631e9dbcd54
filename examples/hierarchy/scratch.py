"""Exercises 8 to 11: scratch of teams and members, and its barriers."""

import numpy as np
from common import BYTES, ITEMS, ORDERS, STRIDES, Moved, WrongResult, check, kernels_of, main, on_a_device, say, timed

from kernels import ArgumentError, BackendError, League, MDRange, Range, Sizes

declared = kernels_of(__file__)

FIELD = dict(
    over=League("E", team="auto 16", vector=8, scratch={"team 0": "b(V)"}),
    arrays="A(E,Q,V) B(E,V) result(E,Q)",
    writes="result",
    results="total",
)
SCRATCH_FIELD = declared("scratch_field", **FIELD)


def field_bytes(E, Q, V, of_a_line=8):
    """Bytes of A, B and the result. of_a_line: numbers that an element reads of each line of A and B, before the next
    element comes to the others."""
    numbers = E * V * (Q + 1)
    return Moved(read=8 * numbers, written=8 * E * Q, again=8 * numbers * (8 // of_a_line - 1))


def sums(kernel, backend, E, Q, V, nrepeat, quick, **more):
    """A = B = 1, then A = e + q and B = i. more: of bind."""
    i = np.arange(V, dtype=float)
    e_q = np.add.outer(np.arange(E), np.arange(Q)).astype(float)

    for A, B, wanted in (
        (np.ones((E, Q, V)), np.ones((E, V)), np.full((E, Q), float(V))),
        (np.repeat(e_q[:, :, None], V, 2), np.repeat(i[None], E, 0), e_q * (V * (V - 1) // 2)),
    ):
        arrays = backend.placed(A=A, B=B, result=np.full((E, Q), np.nan))
        run = kernel.bind(arrays, backend, quick=quick, **more)
        time = timed(backend, run, nrepeat, field_bytes(E, Q, V))

        check(kernel.name, backend.to_host(arrays["result"]), wanted)
        check(f"{kernel.name}, total", run.value("total"), wanted.sum())
        say(kernel.name, backend, (E, Q, V), run.value("total"), time)


def scratch_field(backend, E=10000, Q=16, V=64, nrepeat=10, quick=False):
    """Exercise 8: contractDataFieldScalar with a row in scratch, filled by the team, and a barrier."""
    sizes = Sizes("auto 8", 16) if backend.in_warps else Sizes()  # 16 lanes read a line of memory
    sums(SCRATCH_FIELD, backend, E, Q, V, nrepeat, quick, sizes=sizes)


FLAT = dict(writes="result", source="contractDataFieldScalar: the lectures' flat variants")
VARIANTS = {
    (body, layout): declared(
        f"{body}_{layout}",
        over,
        body=body,
        arrays=f"A(E,Q,V){mark} B(E,V){mark} result(E,Q){mark}",
        **FLAT,
    )
    for layout, mark in (("right", ""), ("left", ":left"))
    for body, over in (
        ("per_element", Range("E")),
        ("per_point", Range("E*Q")),
        ("per_pair", MDRange("E Q")),
    )
}


TAKES = {  # what takes a device's time
    "right": {"per_element": STRIDES, "per_point": STRIDES, "per_pair": STRIDES},
    "left": {"per_element": ITEMS, "per_point": STRIDES},
}


def field_variants(backend, E=10000, Q=16, V=64, nrepeat=10, quick=False):
    """Exercise 8 without scratch: a thread an element, a thread a point, a thread a pair of indices in tiles (MDRange),
    in both layouts."""
    i = np.arange(V, dtype=float)
    e_q = np.add.outer(np.arange(E), np.arange(Q)).astype(float)
    given = dict(A=np.repeat(e_q[:, :, None], V, 2), B=np.repeat(i[None], E, 0), result=np.full((E, Q), np.nan))

    for layout in ("right", "left"):
        arrays = backend.placed(**{name: np.array(values, order=ORDERS[layout]) for name, values in given.items()})
        for body in ("per_element", "per_point", "per_pair"):
            arrays["result"].fill(np.nan)
            run = VARIANTS[body, layout].bind(arrays, backend, quick=quick)
            of_a_line = 1 if (body, layout) == ("per_point", "left") else 8  # columns lie apart
            time = timed(backend, run, nrepeat, field_bytes(E, Q, V, of_a_line))
            result = backend.to_host(arrays["result"].T).T

            check(f"field {body} {layout}", result, e_q * (V * (V - 1) // 2))
            by = TAKES[layout].get(body, BYTES)
            if (body, layout) != ("per_point", "left"):  # where neighbours are columns apart, on a CPU, too
                by = on_a_device(backend, by)
            say(f"field {body} {layout}", backend, (E, Q, V), result.sum(), time, by=by)


SCRATCH_RACE = declared("scratch_race", **FIELD)


def scratch_race(backend, E=20, Q=16, V=64, nrepeat=0, quick=False):
    """Exercise 9: exercise 8 without the barrier. A CPU finds it by bind(check=True), with the lines of the body;
    `--backend stand-in` finds it since scratch is NaN there until it is written.

    On a GPU the threads of a warp may happen to be in time.
    """
    more = {"check": True} if backend.style == "packs" else {}
    sums(SCRATCH_FIELD, backend, E, Q, V, nrepeat, quick, **more)
    print("scratch_race, with the barrier: nothing is found")

    try:
        sums(SCRATCH_RACE, backend, E, Q, V, nrepeat, quick, **more)
    except (WrongResult, BackendError) as error:
        print(f"scratch_race, without it: {error}")
        return True

    print(f"scratch_race, without it: nothing is found by {backend}")

    return False


SCRATCH_LEVELS = declared(
    "scratch_levels",
    League(
        "E",
        team="auto 8",
        vector=32,
        scratch={"team 0": "near(n0)", "team 1": "far(n1)", "member 0": "own(n)", "member 1": "own_far(n)"},
    ),
    arrays="result(E)",
    writes="result",
    numbers="n0 n1 n rows",
)


def scratch_levels(backend, E=1000, nrepeat=3, quick=False):
    """Exercise 10: scratch of level 0 up to 227 KiB a team, level 1 beyond; of teams and of members at once."""
    n, rows, n1 = 32, 20, 2**17
    n0 = 227 * 1024 // 8 - 8 * n - 64  # with the members' 8 x 32 numbers, and 64 for sums, exactly 227 KiB
    arrays = backend.placed(result=np.full(E, np.nan))
    try:
        SCRATCH_LEVELS.bind(arrays, backend, quick=quick, n0=n0 + 128, n1=n1, n=n, rows=rows)
    except ArgumentError as error:
        print(f"scratch_levels, 228 KiB of level 0: {error}")
    else:
        raise AssertionError("228 KiB of level 0 were not refused.")

    run = SCRATCH_LEVELS.bind(arrays, backend, quick=quick, n0=n0, n1=n1, n=n, rows=rows)
    time = timed(backend, run, nrepeat, Moved(written=8 * E * (n0 + n1), read=8 * E * (n0 + n1)))
    e, sum_to = np.arange(E), lambda n: n * (n - 1) / 2
    wanted = sum_to(n0) + e * n0 + sum_to(n1) - e * n1 + rows * n * e + sum_to(n) * sum_to(rows)

    check("scratch_levels", backend.to_host(arrays["result"]), wanted)
    total = backend.to_host(arrays["result"]).sum()
    mib = f"(level 1: {run.resident} resident teams x {run.scratch[1]} bytes, {run.arena / 2**20:.4g} MiB held)"
    say("scratch_levels", backend, (E, n0, n1), total, time, mib)


SLICING = declared(
    "slicing",
    League("C * ((L + 1) // 2)", team="auto 128", scratch={"team 0": "left_rows(2,P)"}),
    arrays="left(C,L,P) right(C,R,P) out(C,L,R)",
    writes="out",
    source="slicing, adaptive: Kokkos-Intrepid clinic 2015, with its rows of an odd L",
)


def slicing_bytes(C, L, R, P):
    """Bytes of both fields and of what comes out; each pair of left rows goes through the right field."""
    pairs = (L + 1) // 2
    return Moved(read=8 * C * (L + R) * P, written=8 * C * L * R, again=8 * C * (pairs - 1) * R * P)


def slicing(backend, N=1000, M=125, nrepeat=10, quick=False):
    """Exercise 11: contractFieldFieldScalar with two left rows of a team in scratch. L = R = 125 is odd."""
    C, L, R, P = N, M, M, 27
    rng = np.random.default_rng(11)
    left, right = (rng.integers(-9, 10, (C, n, P)).astype(float) for n in (L, R))
    arrays = backend.placed(left=left, right=right, out=np.full((C, L, R), np.nan))
    run = SLICING.bind(arrays, backend, quick=quick)
    time = timed(backend, run, nrepeat, slicing_bytes(C, L, R, P))
    out = backend.to_host(arrays["out"])

    check("slicing", out, np.einsum("clp,crp->clr", left, right))
    say("slicing", backend, (C, L, R, P), abs(out).sum(), time, by=STRIDES)  # a lane reads a row of the right field


if __name__ == "__main__":
    main(scratch_field, field_variants, scratch_race, scratch_levels, slicing)
