"""Random states in phase equilibrium: how many are not found from T and p, e and rho, h and p, s and p; and how many
splits a third phase would lower further. Two stable phases have the least Gibbs energy of all, whatever their start.

Without a mixture: the mixtures of MIXTURES, whose names are those of species that the package brings.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses

import numpy as np

import kernels

from .report import Row
from .states import compositions

BLOCK = 1 << 18  # states of a launch
WARM = 273.0  # K above which every state has to be found: colder, cubic equations of water and CO2 have more phases
SAME = 1e-6  # relative difference of T above which a state of e and rho, h and p, or s and p is another
P_RANGE = (1e4, 3e7)  # Pa
# Names of species, and T [K] of their states: the dome and as much around it
MIXTURES = {
    "N2 NC12H26": (280.0, 800.0),
    "O2 H2": (60.0, 300.0),
    "CH4 O2": (80.0, 300.0),
    "NC4H10 IC4H10 NC5H12 NC7H16": (250.0, 600.0),
    "CH4 O2 CO2 H2O": (200.0, 700.0),
    "N2 CO2 CH4 C2H6 C3H8 NC4H10 NC5H12 NC7H16": (150.0, 600.0),
}
# Ways to a state: outputs and inputs. T and p also make what the others are given.
GIVEN = {
    "T p": ("phases_status e rho h s", "T p Y"),
    "e rho": ("T phases_status", "e rho Y"),
    "h p": ("T phases_status", "h p Y"),
    "s p": ("T phases_status", "s p Y"),
}


@dataclasses.dataclass
class Counts:
    """States of a mixture that were asked for in a way."""

    states: int = 0
    two: int = 0  # in two phases
    lost: int = 0  # not found, or the energy and density of three phases
    lost_warm: int = 0  # of these above WARM
    third: int = 0  # found in two phases of which one is not stable
    other: int = 0  # found at another temperature


class Found(Row):
    """How many states of a mixture were not found in a way; judged above WARM."""

    def __init__(self, mixture, way: str):
        name = " ".join(mixture.names)
        super().__init__("phases", f"{name}, {way}", 0.0, "not found")
        self.mixture, self.way, self.counts = name, way, Counts()

    def gather(self, state: dict, status, T) -> None:
        """Adds states: T, p, Y of the state, phases_status and T of the way."""
        lost, warm = (status == 2) | (status == 4), state["T"] >= WARM
        self.counts.states += lost.size
        self.counts.two += int(np.sum((status == 1) | (status == 3)))
        self.counts.third += int(np.sum(status == 3))
        self.counts.lost += int(np.sum(lost))
        self.counts.lost_warm += int(np.sum(lost & warm))
        with np.errstate(invalid="ignore"):
            self.counts.other += int(np.sum(np.abs(T / state["T"] - 1) > SAME))
        self.add(lost.astype(float), 1.0, state, left_out=~warm)


def missing(mixture) -> str | None:
    """Why a mixture cannot be compared, or None."""
    if mixture is not None and mixture.options["phases"] != "equilibrium":
        return "the mixture has no phase equilibrium; --phases equilibrium"
    return None


def run(job) -> list[Row]:
    """Rows of the job's mixture, or of all MIXTURES."""
    if job.mixture is not None:
        low, high = 0.5 * job.mixture.species.Tc.min(), 1.2 * job.mixture.species.Tc.max()
        return of_mixture(job.mixture, (low, high), job)

    rows = []
    for names, T_range in MIXTURES.items():
        mixture = kernels.Mixture.from_names(names, **{**job.options, "phases": "equilibrium"})
        rows += of_mixture(mixture, T_range, job)
    return rows


def program(mixture, way: str, backend):
    """The program of a way, which tests the phases of each split for a third."""
    checked = kernels.Mixture(mixture.species, **{**mixture.options, "phases_check": "on"})
    outputs, given = GIVEN[way]
    return checked.program(outputs.split(), given.split(), backend=backend)


def programs(mixture, backend) -> dict:
    """{way: its program}, compiled side by side."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        made = {way: pool.submit(program, mixture, way, backend) for way in GIVEN}
        return {way: each.result() for way, each in made.items()}


def states(mixture, T_range, n: int, random) -> dict:
    """T [K], p [Pa], Y (ns, n): T uniform, ln p uniform, all kinds of compositions."""
    T = random.uniform(*T_range, n)
    p = np.exp(random.uniform(*np.log(P_RANGE), n))
    return {"T": T, "p": p, "Y": compositions(mixture.ns, n, random)}


def of_mixture(mixture, T_range, job) -> list[Row]:
    """Rows of a mixture: T and p, then back from energies. Where T and p are not found, no energies are asked for."""
    random = np.random.default_rng(job.seed)
    made = programs(mixture, job.backend)
    rows = {way: Found(mixture, way) for way in made}

    for first in range(0, job.states, BLOCK):
        state = states(mixture, T_range, min(BLOCK, job.states - first), random)
        found = launched(made["T p"], state, job.backend)
        rows["T p"].gather(state, found["phases_status"], state["T"])

        there = np.isin(found["phases_status"], (0, 1, 3))
        known = {name: value[..., there] for name, value in {**state, **found}.items()}
        for way in list(GIVEN)[1:]:
            back = launched(made[way], known, job.backend)
            rows[way].gather(known, back["phases_status"], back["T"])

    for row in rows.values():
        if row.where is not None:
            n = row.where["Y"] / mixture.species.W
            row.where["X"] = dict(zip(mixture.names, (n / n.sum()).tolist()))
    return list(rows.values())


def launched(program, given: dict, backend) -> dict:
    """Results of a program, {name: (n,)}."""
    n = given["Y"].shape[1]
    rows = {name: program.plan.rows(name) for name in (*program.reads, *program.writes)}
    arrays = {name: backend.empty((rows[name], backend.pad(n)), float) for name in rows}
    for name in program.reads:
        values = np.ascontiguousarray(np.reshape(given[name], (rows[name], n)))
        arrays[name][:, :n] = backend.from_host(values, np.float64)

    program.bind(arrays)(n)
    return {name: backend.to_host(arrays[name][:, :n])[0] for name in program.writes}


def table(rows) -> str:
    """A line for each mixture and way."""
    width = max(len(row.mixture) for row in rows)
    out = [
        f"\nphase equilibrium, p of {P_RANGE[0] / 1e5:g} to {P_RANGE[1] / 1e5:g} bar",
        f"  {'mixture':{width}} {'from':>6} {'states':>9} {'two phases':>10} {'not found':>9} {'above 273 K':>11} "
        f"{'a third':>7} {'another T':>9}  worst at",
    ]
    for row in rows:
        c, mark = row.counts, "  " if row.passed else "X "
        out.append(
            f"{mark}{row.mixture:{width}} {row.way:>6} {c.states:>9} {c.two:>10} {c.lost:>9} {c.lost_warm:>11} "
            f"{c.third:>7} {c.other:>9}  {row.place()}"
        )
    return "\n".join(out)
