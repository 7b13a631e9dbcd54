"""The limit of the ideal gas, p -> 0."""

from __future__ import annotations

import numpy as np

from ..report import Row
from ..states import P_RANGE, draw, with_root
from .judged import GIVEN, THERMAL

STATES = 20_000

# Law: (quantities, departure from the ideal gas, size). All departures go to 0 linearly in p.
LAWS = {
    "Z -> 1": ("Z", lambda q: q["Z"] - 1, lambda q: 1.0),
    "rho -> p W/(R T)": ("rho W", lambda q: q["rho"] * q["R"] * q["T"] / (q["p"] * q["W"]) - 1, lambda q: 1.0),
    "h -> h_ig": ("h h_ig W", lambda q: q["h"] - q["h_ig"], lambda q: q["R"] * q["T"] / q["W"]),
    "s -> s_ig": ("s s_ig W", lambda q: q["s"] - q["s_ig"], lambda q: q["R"] / q["W"]),
    "cp -> cp_ig": ("cp cp_ig W", lambda q: q["cp"] - q["cp_ig"], lambda q: q["R"] / q["W"]),
    "cv -> cp_ig - R/W": ("cv cp_ig W", lambda q: q["cv"] - q["cp_ig"] + q["R"] / q["W"], lambda q: q["R"] / q["W"]),
    "c^2 -> gamma R T/W": (
        "c gamma W",
        lambda q: q["c"] ** 2 * q["W"] / (q["gamma"] * q["R"] * q["T"]) - 1,
        lambda q: 1.0,
    ),
    "rho_p -> W/(R T)": ("rho_p W", lambda q: q["rho_p"] * q["R"] * q["T"] / q["W"] - 1, lambda q: 1.0),
    "T rho_T/rho -> -1": ("rho rho_T", lambda q: q["T"] * q["rho_T"] / q["rho"] + 1, lambda q: 1.0),
}
LOW = 50.0  # Pa; pressures are 50, 100 and 200 Pa
# Extrapolated to p = 0 through three pressures the error is third order: (1e-3)^3, Z - 1 being at most 1e-3 at the
# largest; cancellation against h_ig (formation enthalpies of some 1e3 R T) leaves 15 eps 1e3 of R T.
TOLERANCE = 1e-8


def rows(job):
    mixture = with_root(job.mixture, "vapour") or job.mixture
    states = draw(mixture, max(job.subset(STATES), 64), job.seed + 57)

    # Three pressures.
    at = []
    for factor in (1, 2, 4):
        given = {**{k: states[k] for k in GIVEN}, "p": np.full(states["T"].shape, LOW * factor)}
        at.append({**given, "R": mixture.species.R, **mixture.properties(THERMAL, backend=job.backend, **given)})

    liquid = np.abs(at[2]["Z"] - 1) > 1e-3

    shown = {**states, "p": np.full(states["T"].shape, P_RANGE[0])}
    for law, (_, departure, size) in LAWS.items():
        first, second, third = (departure(q) for q in at)
        row = Row(
            "identities",
            law,
            TOLERANCE,
            "of R T, R or 1",
            f"p -> 0: extrapolated from {LOW:g}, {2 * LOW:g}, {4 * LOW:g} Pa; left out where the cold gas departs "
            "from ideal by more than 1e-3",
        )
        yield row.add((8 * first - 6 * second + third) / 3, size(at[0]), shown, liquid)
