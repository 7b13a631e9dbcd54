"""Compare an old commit and the current tree on one machine: the numbers and the speed.

    .venv/bin/python benchmarks/against.py digests COMMIT [--quick] [--jobs 2] [--store FOLDER] [--json FILE]
    .venv/bin/python benchmarks/against.py speed COMMIT [--backend cuda] [--ns 1 10] [--cases thermal] [--json FILE]

--old FOLDER in place of COMMIT: a folder that holds the old tree, for a machine without the history. --new FOLDER:
another tree in place of the current one; with the old tree again it shows the noise.

digests: every quantity, option, precision and inversion at fixed states on the CPU, bit by bit (any NaN equals any
NaN). The results of the old side are kept in the store, in a folder named by processor and compiler, and reused the
next time. Exit status 1 where a difference is not listed with its reason in changed.toml.

speed: the collections of `bench properties` in turns: a process for each side, and a third with the old tree. A
round gives both ratios, new/old and old/old. Exit status 1 where a case's median of new/old is above LIMIT on a GPU, or
on a CPU above the upper quartile of old/old.

Both sides run against_worker.py with this interpreter and one kernel cache (FRAME_CACHE).
"""

import argparse
import concurrent.futures
import dataclasses
import fnmatch
import hashlib
import io
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time

import numpy as np

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from against_cases import FILES, SPEED, TRANSPORT, chosen, short, write_inputs, write_species  # noqa: E402

from kernels import Mixture  # noqa: E402

LIMIT = 1.02  # new/old on a GPU


class Side:
    """A process that computes with a tree. `ask` sends a job and returns the answer."""

    def __init__(self, tree):
        environment = os.environ | {"PYTHONPATH": str(tree), "PYTHONWARNINGS": "ignore"}
        command, pipe = [sys.executable, HERE / "against_worker.py"], subprocess.PIPE
        self.process = subprocess.Popen(command, cwd=tree, env=environment, text=True, stdin=pipe, stdout=pipe)

    def ask(self, **job) -> dict:
        print(json.dumps(job), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"a worker ended with status {self.process.wait()}; its errors stand above.")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def tree_of(commit, store) -> pathlib.Path:
    """The files of a commit, unpacked in the store."""
    git = ["git", "-C", str(HERE)]
    name = subprocess.check_output([*git, "rev-parse", f"{commit}^{{commit}}"], text=True).strip()
    tree = store / "trees" / name[:12]
    if not tree.is_dir():
        tree.parent.mkdir(parents=True, exist_ok=True)
        packed = subprocess.check_output(["git", "-C", str(HERE.parent), "archive", name])
        part = pathlib.Path(tempfile.mkdtemp(dir=tree.parent))
        with tarfile.open(fileobj=io.BytesIO(packed)) as files:
            files.extractall(part, filter="data")
        part.replace(tree)

    return tree


def machine() -> str:
    """Processor and compiler: the bits depend on them as on the code."""
    lines = pathlib.Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
    keep = [line for line in lines if line.split("\t")[0].strip() in ("model name", "flags", "Features", "CPU part")]
    compiler = subprocess.check_output([os.environ.get("FRAME_CXX", "g++"), "--version"], text=True).split("\n")[0]

    return "\n".join([*keep, compiler])


def contents(tree) -> str:
    """Hash of the numerical sources of a folder without a commit; it names the results."""
    files = sorted(f for f in (tree / "kernels").rglob("*") if f.suffix in (".py", ".h", ".cu"))
    return short("".join(f.read_text() for f in files))


# ---- digests


@dataclasses.dataclass
class Results:
    """A folder with a file for each case, as a tree computes it."""

    label: str  # old or new
    tree: pathlib.Path
    folder: pathlib.Path
    base: pathlib.Path  # the old side's results, from which the inversions of both sides start
    data: pathlib.Path  # species and states
    refused: dict[str, str] = dataclasses.field(default_factory=dict)  # case -> error

    def fill(self, todo, jobs: int) -> None:
        """Computes the cases that the folder lacks, by so many processes."""
        self.folder.mkdir(parents=True, exist_ok=True)
        begin, done = time.monotonic(), []

        # Cases that start from the same results stay in one process, in this order.
        groups: dict[tuple, list[dict]] = {}
        for case in todo:
            groups.setdefault((case["ns"], case["set"]), []).append(case)
        sides = [Side(self.tree) for _ in range(jobs)]
        free = list(sides)

        def work(cases):
            side = free.pop()
            for case in cases:
                self._compute(case, side)
                done.append(case)
                if len(done) % 50 == 0:
                    print(f"{self.label}: {len(done)} of {len(todo)}, {time.monotonic() - begin:.0f} s", flush=True)

            free.append(side)

        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            list(pool.map(work, groups.values()))
        for side in sides:
            side.close()
        told = f"{self.label} side: {time.monotonic() - begin:.0f} s; it refuses {len(self.refused)} cases"
        print(told, flush=True)

    def _compute(self, case: dict, side: Side) -> None:
        """A case: the file of results, or the file of the refusal beside it."""
        out = self.folder / case["file_name"]
        error = out.with_name(out.name + ".refused")
        if not out.is_file() and not error.is_file():
            answer = side.ask(**self._job(case, out))
            if answer.get("refused"):
                error.write_text(answer["error"])
            elif "error" in answer:  # no result
                self.refused[case["key"]] = answer["error"]

        if error.is_file():
            self.refused[case["key"]] = error.read_text()

    def _job(self, case: dict, out: pathlib.Path) -> dict:
        """The job of against_worker.py. names: the quantities of the old side, where it has been here before."""
        same = self.base / case["file_name"]
        file, phase = FILES[case["ns"]]
        kind = "nine" if case["set"] == "nine coefficients" else "species"
        paths = {
            "species": self.data / f"{kind}_{case['ns']}.npz",
            "states": self.data / f"states_{case['ns']}.npz",
            "out": out,
        }
        if case["base"]:
            paths["base"] = self.base / case["base"]

        job = case | {what: str(path) for what, path in paths.items()}
        names = np.load(same).files if same.is_file() else None

        return job | dict(verb="digest", names=names, file=file, phase=phase, transport=TRANSPORT)


def bits(array) -> np.ndarray:
    """Floating-point numbers as integers of the same bits; every NaN gives the same integer."""
    array = array if array.dtype.kind == "f" else array.astype(np.float64)
    array = np.where(np.isnan(array), array.dtype.type(np.nan), array)
    return array.view(np.int64 if array.itemsize == 8 else np.int32)


def steps(one, two) -> np.ndarray:
    """Number of floating-point steps from one to the other; +0 and -0 are the same."""
    one, two = (np.where(w < 0, np.iinfo(w.dtype).min - w, w) for w in (one, two))  # neighbours differ by 1
    rough = np.abs(two.astype(np.float64) - one)
    return np.where(rough < 1e6, np.abs(two - one), rough)


def difference(old, new, states) -> dict | None:
    """None where the bits are the same. Otherwise the largest difference, relative and in units of the last place;
    points: their number; first: the first place. A number in place of NaN, or the reverse, counts as infinite."""
    if new is None or old.shape != new.shape or old.dtype != new.dtype:
        told = "nothing" if new is None else f"{new.dtype}{list(new.shape)}"
        return dict(points=0, relative=np.inf, ulp=np.inf, first=f"{old.dtype}{list(old.shape)} -> {told}")

    whole = [bits(array) for array in (old, new)]
    off = whole[0] != whole[1]
    if not off.any():
        return None

    one, two = old[off].astype(np.float64), new[off].astype(np.float64)
    with np.errstate(all="ignore"):
        relative = np.abs(two - one) / np.maximum(np.abs(one), np.abs(two))
    relative = np.where(np.isnan(one) | np.isnan(two), np.inf, np.nan_to_num(relative))
    ulp = steps(*(w[off] for w in whole))
    place = tuple(map(int, np.argwhere(off)[0]))
    at = place[-1] % states["T"].size  # the second call's points are the first ones again
    told = f"{old[place]:.17g} -> {new[place]:.17g} at {list(place)}, T {states['T'][at]:.10g} p {states['p'][at]:.10g}"
    points = int(off.reshape(-1, off.shape[-1]).any(0).sum())

    return dict(points=points, relative=float(relative.max()), ulp=float(ulp.max()), first=told)


def reason(row, changes) -> str:
    """The reason in changed.toml that allows this difference; empty where there is none."""
    for change in changes:
        fits = all(fnmatch.fnmatchcase(row[name], change.get(name, "*")) for name in ("key", "quantity"))
        if fits and row["relative"] <= change["largest"]:
            return change["reason"]

    return ""


def compared(todo, old: Results, new: Results) -> tuple[list[dict], dict]:
    """(rows of the differences, {case: {quantity: hashes of both sides}})."""
    differences, table = [], {}
    for case in todo:
        key = case["key"]
        table[key] = {}

        # Refusals: the kinds of errors are compared.
        errors = [side.refused.get(key, "") for side in (old, new)]
        if errors[0].split(":")[0] != errors[1].split(":")[0]:
            told = " -> ".join(error or "computed" for error in errors)
            differences.append(dict(key=key, quantity="(all)", points=0, relative=np.inf, ulp=np.inf, first=told))

        if any(errors):
            continue

        # Numbers.
        states = np.load(old.data / f"states_{case['ns']}.npz")
        with np.load(old.folder / case["file_name"]) as before, np.load(new.folder / case["file_name"]) as after:
            for name in before.files:
                both = before[name], after[name] if name in after.files else None
                table[key][name] = [hashlib.sha256(bits(a).tobytes()).hexdigest() for a in both if a is not None]
                row = difference(*both, states)
                if row:
                    differences.append(dict(key=key, quantity=name) | row)

    return differences, table


def digests(given, old_tree, new_tree, store) -> int:
    """Compares the bits of all cases, prints the differences; returns the exit status."""
    begin = time.monotonic()
    todo = chosen(given.only, given.quick)
    print(f"{len(todo)} programs a side, 2 to 8 s each where the kernel cache lacks them.", flush=True)
    data = store / "inputs"
    write_inputs(data, lambda file, phase: Mixture.from_yaml(file, phase=phase).species)

    # The old side.
    folder = store / f"{contents(old_tree) if given.old else old_tree.name}-{short(machine())}"
    old = Results("old", old_tree, folder, folder, data)
    old.fill(todo, given.jobs)
    for key, error in old.refused.items():
        print(f"  {key}: {error[:100]}")
    if given.record:
        return 0

    # The new side.
    with tempfile.TemporaryDirectory(dir=store) as there:
        new = Results("new", new_tree, pathlib.Path(there), folder, data)
        new.fill(todo, given.jobs)
        differences, table = compared(todo, old, new)

    # Reasons; differences without a reason come first.
    changes = tomllib.loads((HERE / "changed.toml").read_text()).get("change", [])
    for row in differences:
        row["reason"] = reason(row, changes)
    for row in sorted(differences, key=lambda row: bool(row["reason"])):
        size = f"{row['points']} points | relative {row['relative']:.2g} | {row['ulp']:.3g} ulp"
        print(f"{row['key']} | {row['quantity']} | {size} | {row['first']} | {row['reason'] or 'NOT NAMED'}")

    unnamed, count = sum(not row["reason"] for row in differences), sum(map(len, table.values()))
    print(f"{count} arrays of {len(todo)} cases: {len(differences)} differ, {unnamed} without a reason in changed.toml")
    print(f"{time.monotonic() - begin:.0f} s")
    write(given.json, dict(machine=machine(), differences=differences, refused=old.refused, sha256=table))

    return 1 if unnamed else 0


def write(file: str | None, report: dict) -> None:
    """Writes a report to the file of --json."""
    if file:
        pathlib.Path(file).write_text(json.dumps(report, indent=1))


# ---- speed


def timed(sides: dict[str, Side], job: dict, rounds: int, what: str) -> dict[str, list[float]]:
    """Seconds of a launch of each side, in rounds; every second round in reverse order."""
    answers = [side.ask(verb="bind", **job) for side in sides.values()]
    for answer in answers:
        if "error" in answer:
            raise SystemExit(f"{what}: {answer['trace']}")

    often = max(answer["often"] for answer in answers)

    times: dict[str, list[float]] = {name: [] for name in sides}
    order = list(sides)

    for _ in range(rounds):
        for name in order:
            times[name].append(sides[name].ask(verb="time", often=often)["seconds"])
        order.reverse()

    return times


def row_of(case: str, ns: int, times: dict[str, list[float]], backend: str) -> dict:
    """Quartiles of the ratios, and whether the new side is slower than it may be."""
    row: dict = dict(case=case, ns=ns, seconds=statistics.median(times["old"]))
    for who in ("new", "again"):
        row[who] = list(np.quantile(np.array(times[who]) / times["old"], (0.25, 0.5, 0.75)))
    limit = LIMIT if backend == "cuda" else max(1, row["again"][2])
    row["slower"] = bool(row["new"][1] > limit)

    return row


def speed(given, old_tree, new_tree, store) -> int:
    """Times all cases by both trees, prints the ratios; returns the exit status."""
    from frame.tools.bench import inputs

    begin, rows = time.monotonic(), []
    points, kind = (100_000, "random") if given.backend == "cpu" else (1_000_000, "smooth")
    points = given.points or points
    sides = dict(old=Side(old_tree), new=Side(new_tree), again=Side(old_tree))
    print("median ratio (quartiles)       new/old               old/old               seconds a launch, old")

    with tempfile.TemporaryDirectory() as folder:
        files = {what: str(pathlib.Path(folder) / f"{what}.npz") for what in ("species", "states")}
        for ns in given.ns:
            write_species(files["species"], inputs.species(ns), {"dense": inputs.kij_matrix(ns, "dense")})
            np.savez(files["states"], **inputs.states(ns, points, kind))

            for name in given.cases:
                collection, options = SPEED[name]
                job = dict(backend=given.backend, collection=collection, options=options) | files
                row = row_of(name, ns, timed(sides, job, given.rounds, f"{name}, NS {ns}"), given.backend)
                rows.append(row)

                told = [f"{row[who][1]:.3f} ({row[who][0]:.3f} {row[who][2]:.3f})" for who in ("new", "again")]
                slower = "  SLOWER" if row["slower"] else ""
                print(f"{name:20} NS {ns:2}     {told[0]}   {told[1]}   {row['seconds']:.2e}{slower}", flush=True)

    for side in sides.values():
        side.close()

    middle = {who: statistics.median(row[who][1] for row in rows) for who in ("new", "again")}
    print(f"median of {len(rows)} cases: new/old {middle['new']:.4f}, old/old {middle['again']:.4f}; ", end="")
    print(f"{points} points, {given.rounds} rounds, {time.monotonic() - begin:.0f} s")
    write(given.json, dict(backend=given.backend, points=points, rounds=given.rounds, rows=rows, median=middle))

    return 1 if any(row["slower"] for row in rows) else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("digests", "speed"))
    parser.add_argument("commit", nargs="?")
    parser.add_argument("--old", help="a folder with the old tree, in place of COMMIT")
    parser.add_argument("--new", default=HERE.parent, help="a folder with the new tree, in place of the current one")
    parser.add_argument(
        "--store", default=HERE.parent / "build" / "against", help="for trees, states and the old side's results"
    )
    parser.add_argument("--json", help="a file for all results")
    parser.add_argument("--quick", action="store_true", help="digests: NS 1 and 10 alone")
    parser.add_argument("--only", nargs="+", default=["*"], help="digests: patterns of cases, as 'NS 10, srk*'")
    parser.add_argument("--jobs", type=int, default=1, help="digests: processes")
    parser.add_argument("--record", action="store_true", help="digests: the old side alone, into the store")
    parser.add_argument("--backend", choices=("cpu", "cuda"), default="cpu", help="speed")
    parser.add_argument("--ns", type=int, nargs="+", default=(1, 4, 10, 20, 50), help="speed")
    parser.add_argument("--cases", nargs="+", choices=tuple(SPEED), default=tuple(SPEED), help="speed")
    parser.add_argument("--points", type=int, help="speed")
    parser.add_argument("--rounds", type=int, default=21, help="speed")
    given = parser.parse_args()
    if bool(given.commit) == bool(given.old):
        parser.error("give COMMIT or --old FOLDER.")
    store = pathlib.Path(given.store).resolve()
    store.mkdir(parents=True, exist_ok=True)
    old_tree = pathlib.Path(given.old).resolve() if given.old else tree_of(given.commit, store)

    return (digests if given.what == "digests" else speed)(given, old_tree, pathlib.Path(given.new).resolve(), store)


if __name__ == "__main__":
    sys.exit(main())
