"""Nekbone with all vectors on the device: conjugate gradients for a Helmholtz problem on a brick of spectral elements.

The operator of the elements is one tensor expression; sums over shared points and updates of vectors are team kernels.
Steps of the iteration are numbers in the device's memory too, so the host waits for nothing before the end.

    python examples/nekbone/nekbone.py --backend cuda --elements 10,10,10 --points 12

prints the known answer's check (10 points, 5 x 5 x 2 elements), then time, unknowns a second and the share of the
bound: bytes that have to move over the rate of a copy, measured in the same run.
"""

import argparse
import pathlib
import statistics

import numpy as np

from kernels import BackendError, Contraction, League, Range, get_backend, team_kernel
from kernels.contractions import named
from kernels.engine import tune

HEADER = pathlib.Path(__file__).with_suffix(".h")
BRICK = dict(header=HEADER, numbers="n mx my mz", over=League("E", team="auto 256"))
DIRECTION = team_kernel("nek_direction", Range("N"), header=HEADER, arrays="r(N) p(N) rho(1) rho_old(1)", writes="p")
GATHER = team_kernel("nek_gather", arrays="w(E,n,n,n) p(E,n,n,n) v(E,n,n,n)", writes="v", results="pap", **BRICK)
STEP = team_kernel(
    "nek_step",
    arrays="x(E,n,n,n) r(E,n,n,n) p(E,n,n,n) v(E,n,n,n) rho(1) pap(1)",
    writes="x r",
    results="rho_new",
    **BRICK,
)
START = team_kernel(
    "nek_start", arrays="f(E,n,n,n) x(E,n,n,n) r(E,n,n,n) p(E,n,n,n)", writes="x r p", results="rho", **BRICK
)
# Bytes of a point and iteration: the operator reads u and six factors and writes w; direction r, p, p; gather w, p, v;
# step x, r twice, p, v.
MOVED = 8 * (8 + 3 + 3 + 6)
KNOWN = {0: 1.206441384e2, 1: 6.793130e1, 10: 5.448778, 20: 5.298850e-1, 50: 4.850574e-4, 100: 3.243876e-9}


def lobatto(n):
    """(points, weights, D): D u is the slope of the polynomial with the values u at the points."""
    P = np.polynomial.legendre.Legendre.basis(n - 1)
    x = np.concatenate([[-1.0], np.sort(P.deriv().roots().real), [1.0]])
    last = P(x)
    D = last[:, None] / (last * (x[:, None] - x + np.eye(n)))
    np.fill_diagonal(D, 0)
    np.fill_diagonal(D, -D.sum(axis=1))

    return x, 2 / (n * (n - 1) * last**2), D


def right_side(count):
    """sin(1e9 cos(1e9 i^2)), i from 1, where i^2 is a whole number of 32 bits."""
    i = np.arange(1, count + 1, dtype=np.int64)
    square = (i * i + 2**31) % 2**32 - 2**31
    return np.sin(1e9 * np.cos(1e9 * square))


class Nekbone:
    """The problem of n points a direction on a brick of elements. solve() iterates; norms() tells what is left."""

    def __init__(self, n: int, elements, iterations: int = 100, backend=None, quick: bool = False):
        be = self.backend = get_backend(backend)
        self.n, self.elements, self.iterations = n, tuple(elements), iterations
        E, brick = int(np.prod(elements)), dict(zip(("mx", "my", "mz"), elements), n=n)
        self.points = E * n**3
        _, weight, D = lobatto(n)
        shape = (E, n, n, n)

        def array(values=None, shape=shape):
            made = be.empty(shape)
            made[...] = 0.0 if values is None else be.from_host(np.ascontiguousarray(np.broadcast_to(values, shape)))
            return made

        cube = weight[:, None, None] * weight[:, None] * weight
        g = {f"g{k}": array(cube if k in (1, 4, 6) else None) for k in range(1, 7)}
        self.f, self.x, self.r, self.p, self.w, self.v = (array() for _ in range(6))
        self.f[...] = be.from_host(right_side(self.points).reshape(shape))
        self.rho, self.pap = array(1.0, (iterations + 2,)), array(shape=(iterations + 1,))
        text = named.TEXTS["ax"]
        ax = Contraction(text.text, dict.fromkeys("ijkl", n), backend=be, quick=quick, **text.options)
        self.how = ax.how
        operator = ax.bind({"D": be.from_host(D), "u": self.p, "w": self.w, **g}, E)
        fields = dict(x=self.x, r=self.r, p=self.p, w=self.w, v=self.v, f=self.f)
        flat = {name: fields[name].reshape(-1) for name in "rp"}

        def at(array, k):
            return array[k : k + 1]

        def bound(kernel, names, **more):
            return kernel.bind({**{x: fields[x] for x in names}, **more}, be, quick=quick, **brick)

        # rho[0] is for the first direction, where p = 0: any number but 0 does
        self.steps = [bound(START, "fxrp", rho=at(self.rho, 1))]

        for k in range(1, iterations + 1):
            before, now, then = (at(self.rho, k + d) for d in (-1, 0, 1))
            pap = at(self.pap, k)
            self.steps += [
                DIRECTION.bind({**flat, "rho": now, "rho_old": before}, be, quick=quick),
                operator,
                bound(GATHER, "wpv", pap=pap),
                bound(STEP, "xrpv", rho=now, pap=pap, rho_new=then),
            ]

        self.whole = self._all

        try:
            self._all()  # compiles, and takes room, before a device records
            self.whole = be.record(self._all)
        except BackendError as reason:
            print(f"not recorded: {reason}")

    def _all(self) -> None:
        for step in self.steps:
            step()

    def solve(self) -> float:
        """Seconds of the backend's clock."""
        begin = self.backend.mark()
        self.whole()
        return self.backend.elapsed(begin, self.backend.mark())

    def norms(self) -> np.ndarray:
        """Norms of the residual, before the first iteration and after each."""
        return np.sqrt(self.backend.to_host(self.rho)[1:])

    def alpha(self, k: int) -> float:
        """The step of iteration k."""
        return float(self.backend.to_host(self.rho)[k] / self.backend.to_host(self.pap)[k])

    @property
    def unknowns(self) -> int:
        """Points inside, each once."""
        return int(np.prod([m * (self.n - 1) - 1 for m in self.elements]))


def copy_rate(backend, count: int = 1 << 26) -> float:
    """Bytes a second, read and written, of a copy."""
    a, b = backend.empty((count,)), backend.empty((count,))
    a[...] = 1.0
    times = [tune.seconds(backend, lambda: backend.arrays.copyto(b, a)) for _ in range(6)]

    return 16 * count / statistics.median(times[1:])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", choices=("auto", "cpu", "cuda"))
    parser.add_argument("--elements", type=lambda t: tuple(map(int, t.split(","))), default=(10, 10, 10))
    parser.add_argument("--points", type=int, default=12, help="of a direction: one more than the order")
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    check = Nekbone(10, (5, 5, 2), 100, given.backend)
    check.solve()
    norms = check.norms()
    off = {k: abs(norms[k] / known - 1) for k, known in KNOWN.items()}
    right = (
        all(x <= (1e-4 if k < 100 else 1e-2) for k, x in off.items()) and abs(check.alpha(100) / 4.178151e-1 - 1) < 1e-2
    )

    print(f"off the known answer by {', '.join(f'{x:.1e}' for x in off.values())}: {'right' if right else 'WRONG'}")
    del check
    problem = Nekbone(given.points, given.elements, given.iterations, given.backend)
    problem.solve()
    time = statistics.median(problem.solve() for _ in range(given.repeats))
    rate = copy_rate(problem.backend)
    floor = MOVED * problem.points * given.iterations / rate
    flops = problem.points * given.iterations * (12 * given.points + 34)  # as Nekbone counts them
    print(
        f"nekbone {problem.backend} {problem.backend.product} {given.points} points, elements "
        f"{' x '.join(map(str, given.elements))}, {given.iterations} iterations; operator: {problem.how}\n"
        f"  time {time * 1e3:.3f} ms; {problem.unknowns * given.iterations / time:.3e} unknowns a second, "
        f"{problem.points * given.iterations / time:.3e} points a second; {flops / time * 1e-9:.1f} GF/s\n"
        f"  bound: {MOVED} bytes a point and iteration at {rate * 1e-12:.2f} TB/s: {floor * 1e3:.3f} ms; "
        f"share {floor / time:.2f}"
    )

    return 0 if right else 1


if __name__ == "__main__":
    raise SystemExit(main())
