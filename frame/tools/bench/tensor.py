"""`bench tensor`: tensor expressions on one core, beside numpy.einsum, numpy.matmul and libxsmm where it is installed.

Values of ours and of every rival are checked first. Then all run in turns in one thread; medians of its processor time
count, which is not the time that other processes took. Start it with OPENBLAS_NUM_THREADS=1 in the environment: threads
of NumPy's library would not be counted.
"""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

from kernels import Contraction, get_backend
from kernels.backend.base import Shape, Source
from kernels.backend.record import record
from kernels.tensor import named

from ...errors import BackendError, FrameError

HERE = pathlib.Path(__file__).resolve().parent
ROUNDS = 9
LEAST = 2e-3  # seconds of one measurement: shorter work is repeated
FIELD = "out[c l r] = left[c l p] right[c r p]"
XSMM = Source(
    "xsmm",
    f'#include "{HERE / "tensor_xsmm.h"}"\n',
    libraries=("xsmm", "xsmmnoblas", "dl", "m", "pthread"),
)


@dataclasses.dataclass(frozen=True)
class Case:
    """rivals: names of methods of Rivals; those that the machine lacks are left out."""

    name: str
    text: str
    sizes: dict[str, int]
    entries: int
    options: dict
    rivals: tuple[str, ...]


def cases() -> list[Case]:
    lg3, eqn1 = named.TEXTS["lg3"], named.TEXTS["eqn1"]
    made = [
        Case("Lg3 n = 12", lg3.text, dict.fromkeys("ijkl", 12), n, lg3.options, ("einsum", "matmul", "xsmm_lg3"))
        for n in (64, 2000)
    ]
    made += [
        Case("Eqn.(1) n = 10", eqn1.text, dict.fromkeys("ijklmn", 10), n, eqn1.options, ("einsum", "kron", "xsmm_eqn1"))
        for n in (64, 5000)
    ]
    for size, points, numbers in ((8, 8, (1000, 10000)), (16, 64, (100, 10000))):
        sizes = dict(l=size, r=size, p=points)
        made += [
            Case(f"FieldField {size} x {size} x {points}", FIELD, sizes, n, {}, ("einsum", "matmul")) for n in numbers
        ]
    return made


class Rivals:
    """Other ways to compute a case: each method returns (work, results) for its arrays."""

    def __init__(self, case: Case, plan: Contraction, arrays):
        self.case, self.plan, self.arrays = case, plan, arrays
        self.out = [plan.backend.empty(arrays[name].shape) for name in plan.expression.outputs]

    def einsum(self):
        made: list = []
        strings = []
        for s in self.plan.expression.statements:
            (t,) = s.terms
            left = ",".join("".join(f.indices) for f in t.factors)
            strings.append((f"{left}->{''.join(s.out.indices)}", [self.arrays[f.name] for f in t.factors]))

        def work():
            made[:] = [np.einsum(text, *operands, optimize=True) for text, operands in strings]

        return work, made

    def matmul(self):
        a, out = self.arrays, self.out
        if "left" in a:
            turned = a["right"].transpose(0, 2, 1)
            return (lambda: np.matmul(a["left"], turned, out=out[0])), out
        D, u = a["D"], a["u"]
        e, n = u.shape[:2]
        turned = np.ascontiguousarray(D.T)

        def work():
            np.matmul(u.reshape(-1, n), turned, out=out[0].reshape(-1, n))
            np.matmul(D, u.reshape(e * n, n, n), out=out[1].reshape(e * n, n, n))
            np.matmul(D, u.reshape(e, n, n * n), out=out[2].reshape(e, n, n * n))

        return work, out

    def kron(self):
        """One product with C, one with the Kronecker product of A and B."""
        a, out, n = self.arrays, self.out, len(self.arrays["A"])
        both = np.ascontiguousarray(np.einsum("lk,mj->lmjk", a["A"], a["B"]).reshape(n * n, n * n))

        def work():
            part = np.matmul(a["U"].reshape(-1, n), a["C"]).reshape(-1, n * n, n)
            np.matmul(part.transpose(0, 2, 1), both, out=out[0].reshape(-1, n, n * n))

        return work, out

    def _xsmm(self, function: str, inputs):
        module, be = self.plan.backend.compile(XSMM), self.plan.backend
        at = np.zeros(4, np.int64)
        at[: len(inputs)] = [be.address(x) for x in inputs]
        to = np.zeros(3, np.int64)
        to[: len(self.out)] = [be.address(x) for x in self.out]
        held = record("at:whole:4 out:whole:3", at=at, out=to)
        run = module.bind(function, Shape(), held, keep=(inputs, self.out))
        return (lambda: run(self.case.entries)), self.out

    def xsmm_lg3(self):
        D = self.arrays["D"]
        return self._xsmm("xsmm_lg3", [D, np.ascontiguousarray(D.T), self.arrays["u"]])

    def xsmm_eqn1(self):
        a = self.arrays
        turned = [np.ascontiguousarray(a[name].T) for name in "AB"]
        return self._xsmm("xsmm_eqn1", [*turned, a["C"], a["U"]])


def check(name: str, found, wanted, sizes) -> float:
    """The largest error over the size of the terms. Raises FrameError above 200 eps: sums of up to 64 terms, thrice."""
    worst = max(float((abs(f - w) / s).max()) for f, w, s in zip(found, wanted, sizes))
    if not worst <= 200 * np.finfo(float).eps:
        raise FrameError(f"{name}: off by {worst:.1e} of the terms' size.")
    return worst


def seconds(work: Callable[[], object]) -> float:
    begin = time.thread_time()
    work()
    once = time.thread_time() - begin
    if once >= LEAST:
        return once
    often = int(LEAST / once) + 1
    begin = time.thread_time()
    for _ in range(often):
        work()
    return (time.thread_time() - begin) / often


def measure(case: Case, rounds: int, told=lambda text: None) -> list[dict]:
    """Rows of ours, in every organisation, and of the rivals; the model's choice first."""
    backend = get_backend("cpu", threads=1)
    plan = Contraction(case.text, case.sizes, backend=backend, **case.options)
    rng, arrays = np.random.default_rng(0), {}
    for a in plan.program.arguments:
        arrays[a.name] = backend.empty(plan.shape(a.name, case.entries))
        arrays[a.name][...] = rng.random(arrays[a.name].shape) - 0.5
    outputs = [arrays[name] for name in plan.expression.outputs]
    rivals = Rivals(case, plan, arrays)
    work, made = rivals.einsum()
    work()
    wanted = [x.copy() for x in made]
    size, terms = Rivals(case, plan, {name: abs(a) for name, a in arrays.items()}).einsum()
    size()
    runs, errors = {}, {}
    for _, how, _ in plan.candidates:
        ours = Contraction(case.text, case.sizes, backend=backend, how=how.name, **case.options)
        for x in outputs:
            x.fill(np.nan)
        run = ours.bind(arrays, case.entries)
        run()
        errors[how.name] = check(f"{case.name}, {how}", outputs, wanted, terms)
        runs[how.name] = run
    for name in case.rivals:
        try:
            work, results = getattr(rivals, name)()
        except BackendError as error:
            told(f"{name} is left out: {str(error).splitlines()[0]}")
            continue
        for x in rivals.out:
            x.fill(np.nan)
        work()
        errors[name] = check(f"{case.name}, {name}", results, wanted, terms)
        runs[name] = work
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds + 1):
        for name, run in runs.items():
            times[name].append(seconds(run))
    median = {name: statistics.median(found[1:]) for name, found in times.items()}
    best = min((median[name] for name in median if name in case.rivals), default=None)
    quickest = min((min(times[name]) for name in median if name in case.rivals), default=0.0)
    return [
        {
            "bench": "tensor",
            "case": case.name,
            "entries": case.entries,
            "name": name,
            "ours": name not in case.rivals,
            "chosen": name == plan.how.name,
            "seconds": median[name],
            "fastest": min(times[name]),
            "flops_per_s": plan.flops * case.entries / median[name],
            "bytes_per_s": plan.bytes * case.entries / median[name],
            "ratio": best / median[name] if best else None,  # how many times faster than the best rival
            "fastest_ratio": quickest / min(times[name]) if best else None,
            "max_rel_diff": errors[name],
            "backend": str(backend),
            "device": backend.product,
        }
        for name in runs
    ]


HEAD = ("case", "entries", "by", "ms", "GF/s", "GB/s", "beside the best rival", "by fastest times", "rel. diff.")


def table(rows) -> str:
    lines = [HEAD]
    for r in rows:
        lines.append(
            (
                r["case"],
                str(r["entries"]),
                f"{r['name']}{' (chosen)' * r['chosen']}" if r["ours"] else f"  {r['name']}",
                f"{r['seconds'] * 1e3:.3f}",
                f"{r['flops_per_s'] * 1e-9:.1f}",
                f"{r['bytes_per_s'] * 1e-9:.1f}",
                *("-" if r[key] is None else f"{r[key]:.2f}x" for key in ("ratio", "fastest_ratio")),
                f"{r['max_rel_diff']:.1e}",
            )
        )
    width = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join("  ".join(f"{cell:<{w}}" for cell, w in zip(line, width)).rstrip() for line in lines)


def add_arguments(parser) -> None:
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"turns that medians are taken of ({ROUNDS})")
    parser.add_argument("--cases", metavar="TEXT", default="", help="only cases whose name begins so, such as Lg3")
    parser.add_argument("--entries", type=int, help="of the batch, instead of each case's own numbers")
    parser.add_argument(
        "--json", metavar="FILE", help="rows as JSON; -: to standard output, the table to standard error"
    )


def run(given) -> None:
    """`python -m frame bench tensor`."""
    chosen = [case for case in cases() if case.name.startswith(given.cases)]
    if not chosen or given.rounds < 1 or (given.entries is not None and given.entries < 1):
        raise FrameError(f"--cases '{given.cases}', --rounds, --entries: wanted a case's name, and 1 or more.")
    if given.entries:
        named_once = {case.name: case for case in chosen}
        chosen = [dataclasses.replace(case, entries=given.entries) for case in named_once.values()]
    said: dict[str, None] = {}
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        said["OPENBLAS_NUM_THREADS is not 1: what NumPy's threads do is not counted"] = None
    rows = [row for case in chosen for row in measure(case, given.rounds, lambda text: said.setdefault(text))]
    out = sys.stderr if given.json == "-" else sys.stdout
    print("\n".join(["tensor expressions, one core: " + rows[0]["device"], *said, "", table(rows)]), file=out)
    if given.json:
        text = json.dumps(rows, indent=1)
        if given.json == "-":
            print(text)
        else:
            pathlib.Path(given.json).write_text(text + "\n")
