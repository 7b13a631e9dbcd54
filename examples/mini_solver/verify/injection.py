"""Injection: species, density, pressure and temperature of the shipped jets stay in bounds; their balances close."""

import pathlib

import numpy as np

from ..case import Case
from ..flow import Flow
from .tools import advance, rows

CASES = pathlib.Path(__file__).parents[1] / "cases"


class Bounds:
    """The extremes of a flow after each step: lowest and highest Y, lowest rho and p, lowest and highest T."""

    def __init__(self):
        self.low, self.high = {}, {}

    def __call__(self, flow):
        fields = {n: flow.field(n) for n in ("rho", "p", "T")}
        fields["Y"] = np.stack([flow.field(f"Y_{n}") for n in flow.mixture.names])

        for name, field in fields.items():
            self.low[name] = min(self.low.get(name, np.inf), float(field.min()))
            self.high[name] = max(self.high.get(name, -np.inf), float(field.max()))


def injected(name, file, cells, end):
    """Rows of a shipped case into which 120 to 1000 K come, or are there at the start."""
    f = Flow(Case.from_file(CASES / file, [f"domain.cells = {list(cells)}", f"time.end = {end}"]))
    start, seen = f.sums(), Bounds()
    advance(f, end, seen)
    ns = f.ns
    changed = (f.sums()[: ns + 3] - start[: ns + 3] - f.balance.passed()[: ns + 3])[: ns + 2]
    # a rounding of the sums and of what passes each stage, 3e4 of them here, at random
    rounding = 4 * np.finfo(float).eps * (3 * f.steps) ** 0.5

    return rows(
        f"{name}, {cells[0]} x {cells[1]}, {f.steps} steps",
        ("lowest Y", -seen.low["Y"], 1e-14),
        ("highest Y less 1", seen.high["Y"] - 1, 1e-14),
        ("lowest density [kg/m3]", seen.low["rho"], 0.0, "above"),
        ("lowest pressure [Pa]", seen.low["p"], 0.0, "above"),
        ("lowest T [K]: 2 % below what comes in", seen.low["T"], 0.98 * 120, "above"),
        ("highest T [K]: 2 % above the start", seen.high["T"], 1.02 * 1000),
        ("species mass less what came in", float(np.abs(changed[:ns]).max() / start[:ns].sum()), 50 * rounding),
        # the pressure at the sides gives 30 times what the flow has
        ("momentum less what came in", float(np.abs(changed[ns:]).max()) / f.balance.momentum_scale(), 200 * rounding),
    )


def jet(quick, pictures):
    """Cold dense oxygen and hydrogen into hot gas at 70 bar."""
    for cells, end in (((24, 16), 6e-5),) if quick else (((48, 32), 6e-4), ((96, 64), 6e-4)):
        yield from injected("LOX/H2 jet", "lox_h2_jet.toml", cells, end)


def coaxial_jet(quick, pictures):
    """The same around an axis, on a stretched grid."""
    cells, end = ((24, 14), 3e-5) if quick else ((48, 32), 3e-4)
    return injected("coaxial LOX/H2 injector", "coaxial_jet.toml", cells, end)


def impinging_jet(quick, pictures):
    """Cold dense oxygen of 60 m/s against a hot wall: bounds and balances; and, once it flows aside, Bernoulli's
    pressure rho u^2/2 where it meets the wall, and its momentum rho u^2 times its width as the force on the wall."""
    speed, width, T = 60.0, 0.5e-3, 120.0
    for cells, end in (((16, 32), 7.2e-5),) if quick else (((24, 48), 2e-4), ((48, 96), 2e-4)):
        f = Flow(Case.from_file(CASES / "impinging_jet.toml", [f"domain.cells = {list(cells)}"]))
        start, seen, wall = f.sums(), Bounds(), []
        settled, area = (6e-5 if quick else 1e-4), f.case.dx[1]

        def watch(f, seen=seen, wall=wall, settled=settled, area=area):
            seen(f)
            if f.time > settled:
                p = f.field("p")[0, :, -1] - 100e5
                wall.append((p.max(), p.sum() * area))

        advance(f, end, watch)
        ns = f.ns
        changed = (f.sums()[: ns + 3] - start[: ns + 3] - f.balance.passed()[: ns + 3])[: ns + 2]
        oxygen = np.eye(ns)[f.mixture.names.index("O2")]
        rho = f.mixture.properties("rho", T=np.array([T]), p=100e5, Y=oxygen[:, None])["rho"][0]
        rounding = 4 * np.finfo(float).eps * (3 * f.steps) ** 0.5  # as of the jet above
        highest, force = np.mean(wall, 0)
        yield from rows(
            f"LOX jet against a wall, {cells[0]} x {cells[1]}, {f.steps} steps",
            ("lowest Y", -seen.low["Y"], 1e-14),
            ("highest Y less 1", seen.high["Y"] - 1, 1e-14),
            ("lowest pressure [Pa]", seen.low["p"], 0.0, "above"),
            ("lowest T [K]: 2 % below what comes in", seen.low["T"], 0.98 * T, "above"),
            ("highest T [K]: the wall's", seen.high["T"], 400.0),
            ("species mass less what came in", float(np.abs(changed[:ns]).max() / start[:ns].sum()), 50 * rounding),
            (
                "momentum less what came in",
                float(np.abs(changed[ns:]).max()) / f.balance.momentum_scale(),
                200 * rounding,
            ),
            # the gas around it is entrained and pushed aside, and the jet sways
            ("pressure where it meets the wall", abs(highest / (0.5 * rho * speed**2) - 1), 0.1),
            ("force on the wall", abs(force / (rho * speed**2 * width) - 1), 0.1),
        )
