"""Saturation of pure species: equal energies of both phases, and Clapeyron's law."""

from __future__ import annotations

import dataclasses

import numpy as np

from kernels.gas.equations.records import MAPPED

from ..report import Row
from ..scale import EPS, scales
from ..states import with_root
from ..wide import TOLERANCE
from .one_state import TOLERANCE_OF_LAWS

HALVINGS = 70  # of an interval of ln p, beyond the last digit


def _switch(mixture, T, Y, dense, low, high):
    """The pressure at which the mixture's root changes from vapour to liquid, by bisection in ln p."""
    low, high = np.log(low), np.log(high)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        is_liquid = mixture.properties("rho", T=T, p=np.exp(middle), Y=Y, backend="cpu")["rho"] > dense
        low, high = np.where(is_liquid, low, middle), np.where(is_liquid, middle, high)

    return np.exp(0.5 * (low + high))


@dataclasses.dataclass(frozen=True)
class Alone:
    """A species by itself from 0.45 to 0.999 of its pseudo-critical temperature."""

    mixture: object
    phases: list  # the mixture with the root of the vapour and of the liquid
    Y: np.ndarray  # (ns, 60)
    critical: dict  # {name: (60,)} of Tc_mix, pc_mix, vc_mix, W

    @classmethod
    def of(cls, mixture, phases, s: int) -> Alone:
        """The species number s."""
        Y = np.zeros((mixture.ns, 60))
        Y[s] = 1
        return cls(mixture, phases, Y, mixture.properties("Tc_mix pc_mix vc_mix W", Y=Y, backend="cpu"))

    @property
    def T(self) -> np.ndarray:
        return self.critical["Tc_mix"] * np.linspace(0.45, 0.999, 60)

    def switch(self, T):
        """The pressure at which the root changes."""
        highest = self.critical["pc_mix"]
        dense = self.critical["W"] / self.critical["vc_mix"]
        return _switch(self.mixture, T, self.Y, dense, 1e-12 * highest, highest)

    def slope_of_switch(self):
        """dp/dT by a central difference over 2e-4 T."""
        step = 1e-4
        above, below = self.switch(self.T * (1 + step)), self.switch(self.T * (1 - step))
        return (above - below) / (2 * step * self.T)

    def in_phases(self, p):
        """({h, s, rho}, their scales) in vapour and in liquid at T and these pressures."""
        names, states = ["h", "s", "rho"], {"T": self.T, "p": p, "Y": self.Y}
        values = [phase.properties(names, backend="cpu", **states) for phase in self.phases]
        sizes = [scales(phase, ["h", "s"], states, "cpu")[0] for phase in self.phases]
        return values, sizes


def _equal_energies(mapped: bool) -> Row:
    """The row of g vapour = g liquid."""
    why = (
        "saturation: every species alone, 0.45 to 0.999 of its pseudo-critical temperature; g = h - T s by other "
        "kernels than the choice"
    )
    if mapped:
        why += f": {TOLERANCE:g}, a result's own, as the choice has integrals of the map of its own"

    tolerance = TOLERANCE if mapped else TOLERANCE_OF_LAWS
    return Row("identities", "g vapour = g liquid where the root switches", tolerance, "eps of scale", why)


def _clapeyron() -> Row:
    """The row of Clapeyron's law."""
    return Row(
        "identities",
        "dp/dT of the switch = (s_v - s_l)/(v_v - v_l)",
        1e-5,
        "relative",
        "Clapeyron: central difference over 2e-4 T, to 0.98 Tc; truncation (ln p)'''/6 (1e-4 T)^2 with ln p = -A "
        "Tc/T, A < 10: some 1e-6",
    )


def rows(job):
    mixture = job.mixture
    phases = [with_root(mixture, root) for root in ("vapour", "liquid")]
    if phases[0] is None or mixture.options["root"] != "gibbs":
        return

    equal = _equal_energies(mixture.options["equation"] in MAPPED)
    clapeyron = _clapeyron()

    for s in range(mixture.ns):
        alone = Alone.of(mixture, phases, s)
        T, p = alone.T, alone.switch(alone.T)
        (vapour, liquid), sizes = alone.in_phases(p)
        states = {"T": T, "p": p, "Y": alone.Y}
        one_root = ~(liquid["rho"] > 1.0001 * vapour["rho"])

        # g = h - T s
        g_vapour, g_liquid = (phase["h"] - T * phase["s"] for phase in (vapour, liquid))
        limit = sum(size["h"] + T * size["s"] for size in sizes)
        equal.add(g_vapour - g_liquid, EPS * limit, states, one_root)

        # dp/dT
        with np.errstate(invalid="ignore"):  # one root: left out
            wanted = (vapour["s"] - liquid["s"]) / (1 / vapour["rho"] - 1 / liquid["rho"])
        left_out = one_root | (T > 0.98 * alone.critical["Tc_mix"]) | (p < 1e-3)
        clapeyron.add(alone.slope_of_switch() - wanted, np.abs(wanted), states, left_out)

    yield equal
    yield clapeyron
