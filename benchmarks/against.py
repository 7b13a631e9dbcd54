"""An old commit and the current tree on one machine: are the numbers the same, is the speed the same?

    .venv/bin/python benchmarks/against.py digests COMMIT [--quick] [--jobs 2] [--store FOLDER] [--json FILE]
    .venv/bin/python benchmarks/against.py speed COMMIT [--backend cuda] [--ns 1 10] [--cases thermal] [--json FILE]
    ... --old FOLDER in place of COMMIT: a folder that holds the old tree, for a machine without the history
    ... --new FOLDER: another tree in place of the current one; the old tree once more shows what noise is

digests: every quantity, option, precision and inversion at fixed states on the CPU, bit by bit (NaN equals NaN). The
old side's results are kept in the store and taken from there the next time. Exit status 1 where anything differs that
changed.toml does not name with its reason.

speed: the collections of `bench properties` in turns, one process a side and a third one for the old tree again; all
three ratios come from the same rounds. Exit status 1 where the new side is slower than LIMIT allows on a GPU, or than
the old tree against itself on a CPU.

Both sides run against_worker.py with the same interpreter and the same kernel cache (FRAME_CACHE).
"""

import argparse
import concurrent.futures
import contextlib
import fnmatch
import hashlib
import io
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

from kernels import Mixture  # noqa: E402

VERSION = 1  # of the states below: old results with another one are not taken
NS = (1, 4, 10, 50)
FILES = {
    1: ("examples/mixtures/n2.yaml", None),
    4: ("examples/mixtures/ch4_o2_4.yaml", None),
    10: ("examples/mixtures/ch4_o2.yaml", None),
    50: ("tests/data/gri53.yaml", "gri53"),
}
POINTS = {1: 2003, 4: 2003, 10: 2003, 50: 403}  # odd: the last block and the last pack are partly full
T_RANGE, P_RANGE = (60.0, 3500.0), (1e3, 5e7)  # K, Pa
LIMIT = 1.02  # new/old on a GPU

# What the transport models make; everything else is thermodynamics
TRANSPORT = (
    "mu lam D D_ij D_mole D_mass D_lewis D_schmidt sigma_m eps_m omega_m M_m mu_r4 kappa_m inv_eps_m inv_M_m scale_m "
    "unit_m fill_m T_star inv_T_star root_m eta0 fill gap3"
).split()
IDEAL = {"equation": "ideal"}
THERMAL_SETS = {  # name: options, k_ij
    "default": ({}, "dense"),
    "srk": ({"equation": "srk"}, "dense"),
    "ideal": (IDEAL, "dense"),
    "vapour": ({"root": "vapour"}, "dense"),
    "liquid": ({"root": "liquid"}, "dense"),
    "largest": ({"root": "largest"}, "dense"),
    "peneloux": ({"translation": "peneloux"}, "dense"),
    "fitted": ({"translation": "fitted"}, "dense"),
    "alpha cantera": ({"alpha": "cantera"}, "dense"),
    "pseudocritical": ({"mixing": "pseudocritical"}, "dense"),
    "srk peneloux": ({"equation": "srk", "translation": "peneloux"}, "dense"),
    "srk pseudocritical": ({"equation": "srk", "mixing": "pseudocritical"}, "dense"),
    "k_ij none": ({}, "none"),
    "k_ij sparse": ({}, "sparse"),
    "k_ij low rank": ({}, "lowrank"),
    "nine coefficients": ({}, "dense"),
}
TRANSPORT_SETS = {
    "default": {},
    "lucas": {"viscosity": "lucas"},
    "sutherland": {"viscosity": "sutherland"},
    "powerlaw": {"viscosity": "powerlaw"},
    "published": {"chung": "published"},
    "chung cantera": {"chung": "cantera"},
    "fuller": {"diffusion": "fuller"},
    "diffusion cantera": {"diffusion": "cantera"},
    "table": {"takahashi": "table"},
    "off": {"takahashi": "off"},
    "fuller off": {"diffusion": "fuller", "takahashi": "off"},
    "pseudocritical": {"mixing": "pseudocritical"},
    "numbers": {"lewis": 1.3, "schmidt": 0.9},
    "ideal sutherland": IDEAL | {"viscosity": "sutherland", "takahashi": "off"},
    "ideal powerlaw": IDEAL | {"viscosity": "powerlaw", "diffusion": "fuller"},
    "srk lucas": {"equation": "srk", "viscosity": "lucas"},
    "all cantera": {"alpha": "cantera", "chung": "cantera", "diffusion": "cantera", "takahashi": "off"},
}
ALL = "T p Y u v w V_p dQ"
INVERSIONS = {  # given: outputs
    "h p Y": "T unconverged rho",
    "s p Y": "T unconverged rho",
    "e rho Y": "T p unconverged",
    "rho T X u v w dU": "p Y phase_flag h s c rho_p_prime dQ",
    "h p Y T_start": "T unconverged",
}
COLLECTIONS = {  # given: outputs, as hosts ask for them
    "T p Y": [
        "W Z rho h e cp cv gamma c rho_p rho_T h_p h_T mu lam D",
        "W Z rho h e cp cv gamma c rho_p rho_T h_p h_T",
    ],
    "T p Y rho": ["mu lam D"],
    "Y": ["Tc_mix pc_mix vc_mix"],
    "T p Y u v w": ["rho h0", "gamma_jacobian gamma_inverse"],
    "rho rho_p rho_T h_p h_T": ["c"],
}


def wanted(quick) -> list[dict]:
    """The cases: one program each."""
    cases = []

    def add(ns, name, program, precision, given, outputs, options, kij):
        key = f"NS {ns}, {name}, {program}, {precision}"
        cases.append(dict(key=key, ns=ns, set=name, program=program, precision=precision, given=given.split(),
                          outputs=outputs, options=options, kij=kij))  # fmt: skip

    for ns in (1, 10) if quick else NS:
        add(ns, "file", "reader", "double", "", None, {}, "none")
        for name, (options, kij) in THERMAL_SETS.items():
            if (name == "k_ij none" and ns == 1) or (kij in ("sparse", "lowrank") and ns < 10):
                continue
            few = name in ("default", "srk", "ideal", "k_ij low rank")
            for precision in ("double", "mixed", "single"):
                add(ns, name, "thermodynamics", precision, ALL, "rest", options, kij)
                for given, outputs in INVERSIONS.items():
                    if "T_start" in given and (name != "default" or ns == 50):
                        continue
                    if precision == "double" and (ns in (4, 10) or few) or name == "default" and ns == 4:
                        if precision != "single" or given.startswith("rho"):
                            add(ns, name, f"from {given}", precision, given, outputs.split(), options, kij)
        for name, options in TRANSPORT_SETS.items():
            for precision in ("double", "mixed", "single"):
                add(ns, name, "transport", precision, "T p Y", "transport", options, "dense")
        for given, lists in COLLECTIONS.items():
            for outputs in lists:
                for precision in ("double", "mixed", "single") if "mu" in outputs and "rho" in outputs else ("double",):
                    add(ns, "default", f"{outputs} of {given}", precision, given, outputs.split(), {}, "dense")
    if not quick:
        add(4, "default", "thermodynamics", "wide", ALL, "rest", {}, "dense")
        add(4, "default", "transport", "wide", "T p Y", "transport", {}, "dense")
        add(4, "srk", "thermodynamics", "wide", ALL, "rest", {"equation": "srk"}, "dense")
    return cases


def kij_matrices(ns) -> dict:
    """Of each structure that the layer sums in its own way."""
    random = np.random.default_rng(5)
    dense = np.triu(random.uniform(-0.15, 0.15, (ns, ns)), 1)
    sparse = np.zeros((ns, ns))
    for pair in range(ns // 4):
        sparse[2 * pair, 2 * pair + 1] = 0.02 + 0.01 * pair
    family = np.arange(ns) % 2
    low = 0.1 * (family[:, None] != family)
    return {"none": np.zeros((ns, ns)), "dense": dense + dense.T, "sparse": sparse + sparse.T, "lowrank": low}


OPTIONAL = (
    "W omega Tc pc nasa_low nasa_high T_min T_mid T_max kappa_assoc geometry Vc dipole diameter well_depth "
    "polarizability rotational_relaxation fuller_volume volume_translation sutherland power_law liquid"
).split()


def write_species(file, data, matrices, nine=False):
    """The arrays that SpeciesData.from_arrays takes. nine: the same polynomials with nine coefficients."""
    fields = {name: getattr(data, name) for name in OPTIONAL}
    if nine:
        nasa9 = np.zeros((data.ns, 2, 9))
        nasa9[:, 0, 2:], nasa9[:, 1, 2:] = data.nasa_low, data.nasa_high
        fields |= {"nasa9": nasa9, "T_break": np.stack([data.T_min, data.T_mid, data.T_max], axis=1)}
        fields = {name: value for name, value in fields.items() if name not in ("T_min", "T_max")}
    matrices = {f"kij_{name}": matrix for name, matrix in matrices.items()}
    np.savez(file, names=np.array(data.names), p_ref=data.p_ref, T_fit=data.T_fit, **fields, **matrices)


def write_states(file, ns, T_mid):
    """T, p, compositions from pure species to traces, velocities, vectors for the Jacobian."""
    n, random = POINTS[ns], np.random.default_rng([11, ns])
    T = np.exp(random.uniform(*np.log(T_RANGE), n))
    for edge in np.unique(T_mid):  # which polynomial is taken there is a choice of its own
        T = np.where(np.abs(T / edge - 1) < 1e-6, 1.001 * T, T)
    kind = np.arange(n) % 5
    amounts = random.exponential(size=(ns, n))
    amounts[:, kind == 1] *= 10.0 ** random.uniform(-14, 0, (ns, (kind == 1).sum()))
    amounts[:, kind == 2] *= random.random((ns, (kind == 2).sum())) < 0.3
    amounts[random.integers(ns, size=n), np.arange(n)] += 1e-3
    pure = np.eye(ns)[:, random.integers(ns, size=n)]
    Y, X = (np.where(kind == 0, pure, a / a.sum(0)) for a in (amounts, amounts[::-1]))
    velocity = {name: random.normal(0, 100, n) for name in ("u", "v", "w")}
    vectors = {name: random.normal(0, 1, (ns + 4, n)) * 10 ** random.uniform(-3, 3, n) for name in ("dQ", "dU")}
    p, V_p = np.exp(random.uniform(*np.log(P_RANGE), n)), np.exp(random.uniform(0, 6, n))
    np.savez(file, T=T, p=p, Y=Y, X=X, V_p=V_p, T_start=T * random.uniform(0.8, 1.2, n), **velocity, **vectors)


def inputs(folder):
    """Species and states of the digests, made once."""
    folder.mkdir(parents=True, exist_ok=True)
    for ns in NS:
        names = [folder / f"{what}_{ns}.npz" for what in ("species", "nine", "states")]
        if all(name.is_file() for name in names):
            continue
        data = Mixture.from_yaml(ROOT / FILES[ns][0], phase=FILES[ns][1]).species
        data = data.subset(data.names[:ns])
        for name, nine in zip(names, (False, True)):
            write_species(name, data, kij_matrices(ns), nine)
        write_states(names[2], ns, data.T_mid)


class Side:
    """A worker process with one tree."""

    def __init__(self, tree, log):
        environment = os.environ | {"PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
        self.process = subprocess.Popen([sys.executable, HERE / "against_worker.py"], cwd=tree, env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)  # fmt: skip

    def send(self, **job):
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()

    def answer(self) -> dict:
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"a worker ended with status {self.process.wait()}; its errors stand above.")
        return json.loads(line)

    def ask(self, **job) -> dict:
        self.send(**job)
        return self.answer()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def tree_of(commit, store) -> pathlib.Path:
    """The files of a commit, in the store."""
    name = subprocess.check_output(["git", "-C", ROOT, "rev-parse", f"{commit}^{{commit}}"], text=True).strip()
    tree = store / "trees" / name[:12]
    if not tree.is_dir():
        tree.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=tree.parent) as part:
            packed = subprocess.check_output(["git", "-C", ROOT, "archive", name])
            tarfile.open(fileobj=io.BytesIO(packed)).extractall(part, filter="data")
            shutil.copytree(part, tree)
    return tree


def machine() -> str:
    """What bits depend on: the processor and the compiler."""
    with contextlib.suppress(OSError):
        lines = pathlib.Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
        keep = [
            line for line in lines if line.split("\t")[0].strip() in ("model name", "flags", "Features", "CPU part")
        ]
        version = subprocess.run([os.environ.get("FRAME_CXX", "g++"), "--version"], capture_output=True, text=True)
        return "\n".join([*keep, version.stdout.split("\n")[0]])
    return platform.platform()


def short(text) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def file_of(case) -> str:
    return f"{case['key'][:60].replace(' ', '_').replace(',', '').replace('/', '_')}-{short(json.dumps([VERSION, case]))}.npz"


def run_side(tree, cases, folder, base, data, jobs, label):
    """Fills `folder` with one file a case. base: the folder of the old side's results. Refused: key -> error."""
    folder.mkdir(parents=True, exist_ok=True)
    groups: dict = {}
    for case in cases:  # those that start from the same results stay in one process, in their order
        groups.setdefault((case["ns"], case["set"]), []).append(case)
    groups, refused, begin, done = list(groups.values()), {}, time.monotonic(), []

    def work(_):
        side = Side(tree, sys.stderr)
        while groups:
            for case in groups.pop(0):
                done.append(case)
                out, error = folder / file_of(case), folder / (file_of(case) + ".refused")
                names = None
                if base != folder:
                    with contextlib.suppress(OSError), np.load(base / file_of(case)) as old:
                        names = old.files
                if not out.is_file() and not error.is_file():
                    nine = "nine" if case["set"] == "nine coefficients" else "species"
                    answer = side.ask(
                        verb="digest",
                        names=names,
                        transport=TRANSPORT,
                        file=FILES[case["ns"]][0],
                        phase=FILES[case["ns"]][1],
                        species=str(data / f"{nine}_{case['ns']}.npz"),
                        states=str(data / f"states_{case['ns']}.npz"),
                        base=str(base / file_of(base_of(case, cases))),
                        out=str(out),
                        **case,
                    )
                    if "error" in answer:
                        error.write_text(answer["error"])
                    if len(done) % 20 == 0:
                        print(f"{label}: {len(done)} of {len(cases)}, {time.monotonic() - begin:.0f} s", flush=True)
                if error.is_file():
                    refused[case["key"]] = error.read_text()
        side.close()

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(work, range(jobs)))
    return refused


def base_of(case, cases) -> dict:
    """The case whose results (h, s, e, rho ...) this one starts from."""
    same = [c for c in cases if (c["ns"], c["set"]) == (case["ns"], case["set"]) and c["program"] == "thermodynamics"]
    return same[0] if same else case


def ordered(array) -> np.ndarray:
    """Whole numbers that count floating-point numbers: neighbours differ by 1, both zeros are 0."""
    bits = array.view(np.int64 if array.itemsize == 8 else np.int32).astype(np.int64)
    least = np.int64(np.iinfo(np.int64 if array.itemsize == 8 else np.int32).min)
    return np.where(bits < 0, least - bits, bits)


def bits(array) -> np.ndarray:
    array = np.where(np.isnan(array), array.dtype.type(np.nan), array)
    return np.ascontiguousarray(array).view(np.int64 if array.itemsize == 8 else np.int32)


def difference(old, new, case, name, states) -> dict | None:
    """None where the bits are the same."""
    row = dict(key=case["key"], quantity=name, ns=case["ns"], set=case["set"], precision=case["precision"])
    if new is None or old is None or old.shape != new.shape or old.dtype != new.dtype:
        told = ["not there" if a is None else f"{a.dtype}{list(a.shape)}" for a in (old, new)]
        return row | dict(points=0, relative=np.inf, ulp=np.inf, first=f"old {told[0]}, new {told[1]}")
    if old.dtype.kind != "f":
        return None if np.array_equal(old, new) else row | dict(points=1, relative=np.inf, ulp=np.inf, first="")
    off = bits(old) != bits(new)
    if not off.any():
        return None
    one, two = old[off], new[off]
    with np.errstate(all="ignore"):
        relative = np.abs(two.astype(float) - one) / np.maximum(np.abs(one), np.abs(two)).astype(float)
    relative = np.where(np.isnan(one) | np.isnan(two), np.inf, np.nan_to_num(relative))
    ulp = np.abs(ordered(two).astype(float) - ordered(one).astype(float))
    points = off.reshape(-1, off.shape[-1]).any(0) if off.ndim > 1 else off
    first = int(np.flatnonzero(points)[0])
    place = tuple(np.argwhere(off)[0])
    told = f"{old[place]:.17g} -> {new[place]:.17g} at {list(map(int, place))}"
    if case["given"]:
        at = first % states["T"].size if first < states["T"].size else first - states["T"].size
        told += f": T {states['T'][at]:.10g} K, p {states['p'][at]:.10g} Pa"
    return row | dict(points=int(points.sum()), relative=float(relative.max()), ulp=float(ulp.max()), first=told)


def allowed(row, changes) -> str:
    """The reason that changed.toml gives for this difference."""
    for change in changes:
        fits = all(fnmatch.fnmatchcase(row[name], change.get(name, "*")) for name in ("key", "quantity"))
        if fits and row["relative"] <= change["largest"]:
            return change["reason"]
    return ""


def digests(given, old_tree, new_tree, store):
    cases = wanted(given.quick)
    only = given.only or ["*"]
    cases = [c for c in cases if any(fnmatch.fnmatchcase(c["key"], pattern) for pattern in only)]
    count = len({json.dumps([c[k] for k in ("ns", "given", "outputs", "options", "kij", "precision")]) for c in cases})
    print(
        f"{len(cases)} cases a side; about {count} programs a side, unless the kernel cache has them (2 to 8 s each)."
    )
    data = store / "inputs"
    inputs(data)
    old_folder = store / f"{old_tree.name}-{short(machine())}"
    begin = time.monotonic()
    refused_old = run_side(old_tree, cases, old_folder, old_folder, data, given.jobs, "old")
    print(f"old side: {time.monotonic() - begin:.0f} s; refused: {len(refused_old)}")
    for key, error in refused_old.items():
        print(f"  {key}: {error[:150]}")
    if given.record:
        return 0
    rows, table, compared = [], {}, 0
    with tempfile.TemporaryDirectory(dir=store) as folder:
        new_folder = pathlib.Path(folder)
        refused = run_side(new_tree, cases, new_folder, old_folder, data, given.jobs, "new")
        for case in cases:
            key = case["key"]
            with np.load(data / f"states_{case['ns']}.npz") as loaded:
                states = {name: loaded[name] for name in ("T", "p")}
            kinds = [text.split(":")[0] for text in (refused_old.get(key, ""), refused.get(key, ""))]
            if any(kinds):
                if kinds[0] != kinds[1]:
                    told = f"old {kinds[0] or 'computes'}, new {refused.get(key) or 'computes'}"
                    rows.append(dict(key=key, quantity="(all)", ns=case["ns"], set=case["set"], points=0,
                                     precision=case["precision"], relative=np.inf, ulp=np.inf, first=told))  # fmt: skip
                continue
            with np.load(old_folder / file_of(case)) as old, np.load(new_folder / file_of(case)) as new:
                for name in dict.fromkeys([*old.files, *new.files]):
                    both = [side[name] if name in side.files else None for side in (old, new)]
                    compared += 1
                    told = [hashlib.sha256(bits(a).tobytes() if a.dtype.kind == "f" else a.tobytes()).hexdigest()
                            if a is not None else None for a in both]  # fmt: skip
                    table.setdefault(key, {})[name] = told
                    row = difference(*both, case, name, states) if told[0] != told[1] else None
                    if row:
                        rows.append(row)
    changes = tomllib.loads((HERE / "changed.toml").read_text()).get("change", [])
    for row in rows:
        row["reason"] = allowed(row, changes)
    for row in sorted(rows, key=lambda row: bool(row["reason"])):
        print(f"{row['key']} | {row['quantity']} | {row['points']} points | relative {row['relative']:.2g} | "
              f"{row['ulp']:.3g} ulp | {row['first']} | {row['reason'] or 'NOT NAMED in changed.toml'}")  # fmt: skip
    unnamed = sum(not row["reason"] for row in rows)
    print(f"{compared} arrays in {len(cases)} cases compared: {len(rows)} differ, {unnamed} of them without a reason; "
          f"{time.monotonic() - begin:.0f} s")  # fmt: skip
    if given.json:
        report = dict(machine=machine(), compared=compared, differences=rows, refused=refused_old, sha256=table)
        pathlib.Path(given.json).write_text(json.dumps(report, indent=1))
    return 1 if unnamed else 0


# ---- speed
CASES = {  # of `bench properties`: collection, options
    "thermal": ("thermal", {"takahashi": "off"}),
    "viscous fuller": ("viscous", {"takahashi": "off", "diffusion": "fuller"}),
    "viscous kinetic": ("viscous", {"takahashi": "off"}),
    "viscous takahashi": ("viscous", {}),
    "thermal_viscous": ("thermal_viscous", {}),
}


def quartiles(values) -> list[float]:
    return [float(v) for v in np.quantile(values, (0.25, 0.5, 0.75))]


def speed(given, old_tree, new_tree, store):
    from frame.tools.bench import inputs as bench

    begin, rows = time.monotonic(), []
    points, kind = (100_000, "random") if given.backend == "cpu" else (1_000_000, "smooth")
    points = given.points or points
    sides = dict(old=Side(old_tree, sys.stderr), new=Side(new_tree, sys.stderr), again=Side(old_tree, sys.stderr))
    with tempfile.TemporaryDirectory() as folder:
        files = [str(pathlib.Path(folder) / name) for name in ("species.npz", "states.npz")]
        print(f"{'':33}new/old: quartiles      old/old: quartiles      seconds a launch, old")
        for ns in given.ns or (1, 4, 10, 20, 50):
            write_species(files[0], bench.species(ns), {"dense": bench.kij_matrix(ns, "dense")})
            np.savez(files[1], **bench.states(ns, points, kind))
            for name, (collection, options) in CASES.items():
                if given.cases and name not in given.cases:
                    continue
                job = dict(verb="bind", backend=given.backend, collection=collection, options=options, species=files[0],
                           states=files[1])  # fmt: skip
                bound = [side.ask(**job) for side in sides.values()]
                for answer in bound:
                    if "error" in answer:
                        raise SystemExit(f"{name}, NS {ns}: {answer['trace']}")
                often, times = max(answer["often"] for answer in bound), {who: [] for who in sides}
                for round_ in range(given.rounds):
                    for who in list(sides) if round_ % 2 else list(sides)[::-1]:
                        times[who].append(sides[who].ask(verb="time", often=often)["seconds"])
                ratios = {who: quartiles(np.array(times[who]) / times["old"]) for who in ("new", "again")}
                slow = ratios["new"][1] > (LIMIT if given.backend == "cuda" else max(1.0, ratios["again"][2]))
                rows.append(
                    dict(case=name, ns=ns, seconds=statistics.median(times["old"]), slower=bool(slow), **ratios)
                )
                told = "   ".join("%.3f (%.3f %.3f)" % (r[1], r[0], r[2]) for r in ratios.values())
                print(f"{name:20} NS {ns:3}       {told}     {rows[-1]['seconds']:.2e}{'  SLOWER' if slow else ''}",
                      flush=True)  # fmt: skip
    for side in sides.values():
        side.close()
    middle = {who: statistics.median(row[who][1] for row in rows) for who in ("new", "again")}
    print(f"median of all: new/old {middle['new']:.4f}, old/old {middle['again']:.4f}; {len(rows)} cases, {given.rounds} "
          f"rounds each, {time.monotonic() - begin:.0f} s")  # fmt: skip
    if given.json:
        pathlib.Path(given.json).write_text(
            json.dumps(dict(backend=given.backend, points=points, rows=rows, median=middle))
        )
    return 1 if any(row["slower"] for row in rows) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("digests", "speed"))
    parser.add_argument("commit", nargs="?")
    parser.add_argument("--old", help="a folder with the old tree, in place of COMMIT")
    parser.add_argument("--new", help="a folder with the new tree, in place of the current one")
    parser.add_argument("--store", help="where trees, states and the old side's results are kept (build/against)")
    parser.add_argument("--json")
    parser.add_argument("--quick", action="store_true", help="digests: NS 1 and 10 only")
    parser.add_argument("--only", nargs="+", help="digests: cases whose names fit one of these patterns")
    parser.add_argument("--jobs", type=int, default=1, help="digests: processes")
    parser.add_argument("--record", action="store_true", help="digests: only the old side, into the store")
    parser.add_argument("--backend", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--ns", type=int, nargs="+")
    parser.add_argument("--cases", nargs="+", choices=tuple(CASES))
    parser.add_argument("--points", type=int)
    parser.add_argument("--rounds", type=int, default=21)
    given = parser.parse_args()
    if bool(given.commit) == bool(given.old):
        parser.error("give COMMIT or --old FOLDER.")
    store = pathlib.Path(given.store or ROOT / "build" / "against").resolve()
    store.mkdir(parents=True, exist_ok=True)
    old_tree = pathlib.Path(given.old).resolve() if given.old else tree_of(given.commit, store)
    new_tree = pathlib.Path(given.new).resolve() if given.new else ROOT
    return (digests if given.what == "digests" else speed)(given, old_tree, new_tree, store)


if __name__ == "__main__":
    sys.exit(main())
