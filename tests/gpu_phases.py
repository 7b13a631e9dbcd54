"""Phase equilibrium on a device: results against the CPU, then nanoseconds a point. Species: 2, 4, 10 by name.

PYTHONPATH=.:tests python tests/gpu_phases.py cuda 2 4 10        or: cpu 2
"""

import concurrent.futures
import sys
import time

import numpy as np

from kernels import Mixture, SpeciesData, get_backend
from kernels.engine.tune import seconds

NAMES = "N2 C12H26 CH4 CO2 C2H6 C3H8 iC4 nC4 iC5 nC5".split()
TC = [126.19, 658.1, 190.56, 304.13, 305.32, 369.89, 407.81, 425.13, 460.35, 469.7]
PC = [33.96e5, 18.17e5, 45.99e5, 73.77e5, 48.72e5, 42.51e5, 36.29e5, 37.96e5, 33.78e5, 33.7e5]
OMEGA = [0.0372, 0.574, 0.0114, 0.2239, 0.0995, 0.1521, 0.184, 0.201, 0.2274, 0.251]
W = [0.028, 0.17033, 0.016, 0.044, 0.03, 0.044, 0.058, 0.058, 0.072, 0.072]
STATE = "ln_kappa eta phases_status phases_steps"
# name: outputs, given
PROGRAMS = {
    "Tp cold": (f"vol {STATE}", "T p Y"),
    "Tp warm": (f"vol {STATE}", "T p Y ln_kappa eta"),
    "UV warm": (f"T p {STATE}", "e rho Y T_start ln_kappa eta"),
    "properties": ("", "equilibrium_thermal internal_energy"),  # kernels
    "thermal, one phase": ("rho h cp c rho_p rho_T h_p", "T p Y"),
}


def mixture(ns, **options):
    nasa = np.zeros((ns, 7))
    nasa[:, 0], nasa[:, 1] = 4.0, 0.01
    kij = np.where(np.eye(ns) > 0, 0.0, 0.05)
    kij[0, 1] = kij[1, 0] = 0.19
    arrays = dict(Tc=TC[:ns], pc=PC[:ns], kij=kij, T_min=20.0, T_max=6e3)
    return Mixture(SpeciesData.from_arrays(NAMES[:ns], W[:ns], OMEGA[:ns], nasa, nasa, 1000.0, **arrays), **options)


def states(ns, n, ordered):
    """T, p, Y: half of them two phases. ordered: as neighbours of a field."""
    random = np.random.default_rng(1)
    i = np.arange(n)
    a = i / n if ordered else random.random(n)
    T = 300 + 500 * a
    p = 6e6 * (1 + 0.3 * np.sin(i * 1e-4)) if ordered else 1e5 * 200.0 ** random.random(n)
    share = 0.5 + 0.45 * np.sin(i * 3e-3) if ordered else random.random(n)
    X = np.stack([share, 1 - share, *(0.05 * random.random(n) for _ in range(ns - 2))])
    Y = X * np.array(W[:ns])[:, None]
    return dict(T=T, p=p, Y=Y / Y.sum(0))


class Run:
    """A program on arrays of its backend; what it updates is put back before each launch that is timed."""

    def __init__(self, program, given):
        self.program, self.n, self.backend = program, given["Y"].shape[1], program.backend
        self.given = {k: np.ascontiguousarray(np.reshape(given[k], (-1, self.n))) for k in program.reads}
        names = (*program.reads, *(w for w in program.writes if w not in program.reads))
        self.arrays = {k: self.backend.empty((program.plan.rows(k), self.n), np.float64) for k in names}
        self.there = {k: self.backend.from_host(v, np.float64) for k, v in self.given.items()}
        self._run = program.bind(self.arrays)

    def __call__(self):
        for k, v in self.there.items():
            self.arrays[k][...] = v
        self._run(self.n)
        return {k: np.squeeze(self.backend.to_host(self.arrays[k])) for k in self.program.writes}

    def time(self, rounds=3):
        """Seconds of a launch; starts are the results of the launch before, put back in between."""
        best = np.inf
        for _ in range(rounds):
            for k, v in self.there.items():
                self.arrays[k][...] = v
            self.backend.synchronize()
            best = min(best, seconds(self.backend, lambda: self._run(self.n)))
        return best


def programs(ns, backend):
    """All programs, compiled side by side."""
    two, one = mixture(ns, phases="equilibrium"), mixture(ns)

    def made(name):
        outputs, given = (text.split() for text in PROGRAMS[name])
        how = dict(outputs=outputs, given=given) if outputs else dict(kernels=given)
        begin = time.time()
        program = (one if "one phase" in name else two).program(**how, backend=backend)
        return program, time.time() - begin

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        return dict(zip(PROGRAMS, pool.map(made, PROGRAMS)))


def main(backend, sizes):
    n = 1 << 20 if backend == "cuda" else 1 << 12
    for ns in sizes:
        found = programs(ns, get_backend(backend))
        for name, (program, took) in found.items():
            report = getattr(program.module, "report", None) or {}
            print(f"NS={ns} {name}: compiled in {took:.0f} s {report}", flush=True)
        for ordered in (False, True):
            measure(
                ns, backend, {name: program for name, (program, _) in found.items()}, states(ns, n, ordered), ordered
            )


def measure(ns, backend, found, s, ordered):
    kind = "ordered" if ordered else "random"
    cold = Run(found["Tp cold"], s)
    q = cold()
    two = q["phases_status"] == 1
    few = slice(0, s["T"].size, max(1, s["T"].size // 4096))
    if backend == "cuda":
        wanted = mixture(ns, phases="equilibrium").properties(
            f"vol {STATE}", backend="cpu", **{k: np.ascontiguousarray(v[..., few]) for k, v in s.items()}
        )
        same = wanted["phases_status"] == q["phases_status"][few]
        both = same & (wanted["phases_status"] < 2)
        vol = np.abs(q["vol"][few] / wanted["vol"] - 1)[both].max()
        kappa = np.abs(q["ln_kappa"][..., few] - wanted["ln_kappa"])[..., both].max()
        print(f"NS={ns} {kind}: status differs {np.sum(~same)} of {same.size}, vol by {vol:.1e}, ln_kappa {kappa:.1e}")
    lost = np.sum(q["phases_status"] == 2)

    known = {**s, **q}
    p = Run(found["properties"], known)
    energy = {k: v for k, v in p().items() if k in ("e", "rho")}
    random = np.random.default_rng(2)
    moved = {
        "T_start": s["T"] * (1 + 0.002 * random.normal(size=two.size)),
        "ln_kappa": q["ln_kappa"] + 0.006 * random.normal(size=q["ln_kappa"].shape) * two,
        "eta": q["eta"] + 0.006 * random.normal(size=two.size) * two,
    }
    only = np.flatnonzero(two)
    in_two = {k: np.ascontiguousarray(v[..., only]) for k, v in {**s, **energy, **moved}.items()}
    warm = Run(found["UV warm"], in_two)
    back = warm()
    off = np.abs(back["T"] / s["T"][only] - 1)
    times = {
        "Tp cold": cold.time() / two.size,
        "Tp warm": Run(found["Tp warm"], {**s, **moved}).time() / two.size,
        "UV warm, two-phase points": warm.time() / only.size,
        "properties": p.time() / two.size,
        "thermal, one phase": Run(found["thermal, one phase"], s).time() / two.size,
    }
    print(
        f"NS={ns} {kind}: two phases {two.mean():.2f}, not found {lost}, UV warm found "
        f"{np.mean(back['phases_status'] == 1):.6f}, T off by {np.nanmax(off):.1e}, steps "
        f"{back['phases_steps'].mean() / 2:.2f}; ns a point: "
        + ", ".join(f"{k} {1e9 * t:.3g}" for k, t in times.items()),
        flush=True,
    )


if __name__ == "__main__":
    main(sys.argv[1], [int(a) for a in sys.argv[2:]])
