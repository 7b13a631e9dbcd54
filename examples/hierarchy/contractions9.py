"""Exercise 20: Intrepid's nine contractions in the published ways to share out the work, all of them team kernels.

Sizes: -N cells, -M points, -E fields, and a second set with an odd number of everything.
"""

import numpy as np
from common import check, kernels_of, main, seconds

from kernels import League, Range, Sizes

declared = kernels_of(__file__)
ARRAYS = dict(arrays="left(C,L,K) right(C,R,K) out(C,L,R)", writes="out", source="Kokkos-Intrepid clinic, 2015")
OUTPUTS = "C*L*R"
STRATEGIES = {
    "flat": declared("flat", Range(OUTPUTS), **ARRAYS),
    "depth 1": declared("depth1", League(OUTPUTS, team="auto 32"), numbers="D2", **ARRAYS),
    "depth 2": declared("depth2", League(OUTPUTS, team="auto 32"), numbers="D1 D2", **ARRAYS),
    "depth 3": declared("depth3", League(OUTPUTS, team="auto 128"), **ARRAYS),
    "teamstride": declared("teamstride", League(OUTPUTS, team="auto 1", vector=32), **ARRAYS),
    "special": declared(
        "special",
        League(f"({OUTPUTS} + outputs - 1) // outputs", team="auto 8", vector=16),
        numbers="outputs",
        **ARRAYS,
    ),
    "slicing": declared("slicing1", League("C*L", team="auto 32", scratch={"team 0": "rows(1,K)"}), **ARRAYS),
    "adaptive": declared(
        "adaptive2", League("C*((L+1)//2)", team="auto 32", scratch={"team 0": "rows(2,K)"}), **ARRAYS
    ),
    "tiling": declared(
        "tiling",
        League(
            "C*((L+15)//16)*((R+15)//16)",
            team="auto 256",
            scratch={"team 0": "tile_left(16,17) tile_right(16,17) tile_sums(256)"},
        ),
        **ARRAYS,
    ),
}
NINE = {  # (left fields, right fields) of f fields; d1 x d2
    f"contract{a}{b}{kind}": (fields, dims)
    for a, b, fields in (("Data", "Data", (0, 0)), ("Data", "Field", (0, 1)), ("Field", "Field", (1, 1)))
    for kind, dims in (("Scalar", 0), ("Vector", 1), ("Tensor", 2))
}


def applies(strategy, L, R, K, D1, D2) -> bool:
    """Depths are for vectors and tensors, the special reduction for short sums, rows and tiles for fields."""
    return {
        "depth 1": D2 > 1,
        "depth 2": D1 * D2 > 1,
        "depth 3": K <= 1024,
        "special": K <= 16,
        "slicing": R > 1,
        "adaptive": L > 1,
        "tiling": L > 1,
    }.get(strategy, True)


def shape_of(strategy, L, R, K, D1, D2) -> tuple:
    """Members and lanes that the strategy asks for; None: as declared."""
    if strategy == "special":
        lanes = 1 << max(K - 1, 0).bit_length()
        return 128 // lanes, lanes

    members = {"depth 1": D2, "depth 2": D1 * D2, "depth 3": K, "slicing": R, "adaptive": 2 * R}.get(strategy)

    return min(members, 1024) if members else None, None


def call_of(strategy, L, R, K, D1, D2, quick=False) -> tuple[Sizes, dict]:
    """Sizes and numbers of a call of the strategy's kernel. quick: as declared, without a program of its own."""
    kernel = STRATEGIES[strategy]
    members, lanes = (None, None) if quick else shape_of(strategy, L, R, K, D1, D2)

    known = dict(D1=D1, D2=D2, outputs=members or kernel.team)
    numbers = {name: known[name] for name, _ in kernel.numbers}

    return Sizes(f"auto {members}" if members else None, lanes), numbers


def contractions9(backend, N=10000, M=64, E=16, nrepeat=5, quick=False):
    """Exercise 20: every contraction by every strategy that applies to it; the fastest is named."""
    rng = np.random.default_rng(20)
    for C, P, fields, dims in ((N, M, (E, E), (1, 3, 3)), (max(N // 10, 1), 9, (7, 5), (1, 3, 5))):
        for name, ((left_fields, right_fields), rank) in NINE.items():
            L, R = (fields[k] if has else 1 for k, has in enumerate((left_fields, right_fields)))
            D1, D2 = {0: (1, 1), 1: (1, dims[1]), 2: (dims[1], dims[2])}[rank]
            K = P * D1 * D2
            left, right = rng.random((C, L, K)), rng.random((C, R, K))
            wanted = np.einsum("clk,crk->clr", left, right, optimize=True)
            given = backend.placed(left=left, right=right)
            times, worst = {}, 0.0

            for strategy, kernel in STRATEGIES.items():
                if not applies(strategy, L, R, K, D1, D2):
                    continue

                sizes, numbers = call_of(strategy, L, R, K, D1, D2, quick)
                arrays = {**given, **backend.placed(out=np.full((C, L, R), np.nan))}
                run = kernel.bind(arrays, backend, sizes, quick=quick, **numbers)
                times[strategy] = seconds(backend, run, nrepeat)
                out = backend.to_host(arrays["out"])

                # two sums of K positive terms, each within K eps of its value, which is K at most
                check(f"{name}, {strategy}", out, wanted, 2 * K * K * np.finfo(float).eps)
                worst = max(worst, abs(out / wanted - 1).max())

            best = min(times, key=times.get)
            each = ", ".join(f"{strategy} {time * 1e6:.4g}" for strategy, time in times.items())
            rate = 8 * C * (L * K + R * K + L * R) / times[best] * 1e-9
            print(
                f"{name} {backend} {C} {L} {R} {P} {D1} {D2} error {worst:.2g} {times[best]:.4g} s {rate:.4g} GB/s "
                f"best {best}; us: {each}"
            )


if __name__ == "__main__":
    main(contractions9)
