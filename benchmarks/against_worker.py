"""A side of against.py: a process that computes with a tree of the project, the old or the new tree.

Both sides run this file, with PYTHONPATH at their tree. So it uses only names that both have: Mixture, SpeciesData,
get_backend, quantities and the registry of declarations. Each line of standard input is a job (JSON), and a line of
standard output is the answer.
"""

import json
import os
import pathlib
import sys
import time
import traceback

import numpy as np

import kernels
from kernels import BackendError, FrameError, Mixture, SpeciesData, get_backend, quantities, registry

# A method of the registry in trees before 2026-11-27
resolve = getattr(registry, "resolve", None) or kernels.resolve

SPLIT = 37  # points of a second call: fewer than a block, not a multiple of a pack
SAMPLE = 0.01  # shortest duration of a timed sample [s]


def species(file, kij) -> SpeciesData:
    """The species of an .npz file, with the matrix of k_ij of this name."""
    with np.load(file, allow_pickle=False) as stored:
        data = {name: stored[name] for name in stored.files}
    matrices = {name: data.pop(name) for name in list(data) if name.startswith("kij_")}
    names, p_ref, T_fit = data.pop("names").tolist(), float(data.pop("p_ref")), tuple(data.pop("T_fit"))

    return SpeciesData.from_arrays(names, kij=matrices[f"kij_{kij}"], p_ref=p_ref, T_fit=T_fit, **data)


def outputs_of(job, mixture) -> list[str]:
    """The quantities that follow from the given quantities: of the transport models, or all others."""

    def can(name):
        try:
            return bool(resolve([name], job["given"], mixture.options))
        except FrameError:
            return False

    wanted = [name for name in quantities if (name in job["transport"]) == (job["outputs"] == "transport")]
    return [name for name in wanted if name not in job["given"] and can(name)]


def reader(job) -> dict:
    """The numbers that this tree's reader reads from a file."""
    data = Mixture.from_yaml(job["file"], phase=job["phase"]).species
    fields = {name: getattr(data, name) for name in data.__dataclass_fields__}
    return {name: value for name, value in fields.items() if isinstance(value, np.ndarray)}


def digest(job) -> dict:
    """Write job["out"]: the arrays of a case, points last: all points, then SPLIT of them from a second call. The
    inputs come from the file of states, or from the old side's results in job["base"]."""
    if job["program"] == "reader":
        results = reader(job)
    else:
        mixture = Mixture(species(job["species"], job["kij"]), **{"equation": "pr", **job["options"]})
        given = job["given"]
        names = job["names"] or (job["outputs"] if isinstance(job["outputs"], list) else outputs_of(job, mixture))
        names = [name for name in names if name in quantities]
        with np.load(job["states"]) as states:
            arrays = {name: states[name] for name in given if name in states.files}
        if len(arrays) < len(given):
            with np.load(job["base"]) as base:
                n = base["rho"].shape[-1] - SPLIT
                arrays |= {name: base[name][..., :n] for name in given if name not in arrays}

        parts = [
            mixture.properties(
                names,
                backend="cpu",
                precision=job["precision"],
                **{name: np.ascontiguousarray(value[..., :count]) for name, value in arrays.items()},
            )
            for count in (None, SPLIT)
        ]
        results = {name: np.concatenate([part[name] for part in parts], axis=-1) for name in names}

    part = pathlib.Path(job["out"]).with_suffix(f".{os.getpid()}.npz")
    np.savez(part, **results)
    part.replace(job["out"])

    return {"names": list(results)}


class Bound:
    """A collection bound to arrays of given states, as in a host."""

    def __init__(self, job):
        self.backend = get_backend(job["backend"], threads=1)
        mixture = Mixture(species(job["species"], "dense"), **{"equation": "pr", **job["options"]})
        given, outputs = (getattr(registry.collections[job["collection"]], name) for name in ("given", "outputs"))
        with np.load(job["states"]) as states:
            state = {name: states[name] for name in ("T", "p", "Y")}
        self.n = n = state["T"].size
        if "rho" in given:
            state["rho"] = mixture.properties("rho", backend=self.backend, **state)["rho"]
        program = mixture.program(outputs=outputs, given=given, backend=self.backend)
        arrays = {
            name: self.backend.empty((quantities[name].rows(mixture.ns), self.backend.pad(n)))
            for name in dict.fromkeys([*program.reads, *program.writes])
        }
        for name in program.reads:
            arrays[name][:, :n] = self.backend.from_host(np.ascontiguousarray(state[name]))
        self.run = program.bind(arrays)
        self.seconds(1)

    def seconds(self, often) -> float:
        """Mean time of `often` launches [s]. On the CPU it is processor time: others may use the machine."""
        begin, used = self.backend.mark(), time.process_time()
        for _ in range(often):
            self.run(self.n)
        if self.backend.describe()["name"] == "cpu":
            return (time.process_time() - used) / often

        return self.backend.elapsed(begin, self.backend.mark()) / often

    def often(self) -> int:
        """Number of launches that fill a sample."""
        return 1 + int(1.2 * SAMPLE / max(min(self.seconds(1) for _ in range(3)), 1e-7))


def main():
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # other prints go to stderr: stdout is for the answers alone

    bound = None
    for line in sys.stdin:
        job = json.loads(line)
        try:
            if job["verb"] == "digest":
                answer = digest(job)
            elif job["verb"] == "bind":
                bound = None  # frees its memory first
                bound = Bound(job)
                answer = {"often": bound.often()}
            else:
                bound.seconds(1)  # warms up the device or the core
                answer = {"seconds": bound.seconds(job["often"])}
        except Exception as error:
            refused = isinstance(error, FrameError) and not isinstance(error, BackendError)
            answer = {"error": f"{type(error).__name__}: {error}", "trace": traceback.format_exc(), "refused": refused}

        answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    tree = os.environ["PYTHONPATH"]
    found = sys.modules["kernels"].__file__
    if not os.path.realpath(found).startswith(os.path.realpath(tree) + os.sep):
        sys.exit(f"this side imports {found}, wanted a file below {tree}.")
    main()
