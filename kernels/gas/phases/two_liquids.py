"""Where two liquids begin to boil: water and a fuel, say, which no single liquid lies next to the gas of.

Both liquids share a tangent plane, f_i. Their first vapour touches it: W_i = f_i/(p phi_i(W)) sums to 1 (Michelsen
1982, original not seen). The pair of the lowest Gibbs energy, which the flash finds, stays a pair of liquids somewhat
beyond that.
"""

from __future__ import annotations

import dataclasses

import numpy as np

NAMES = "phases_status beta rho rho_v Y_v ln_phi"
SUBSTITUTIONS = 60  # to the trial vapour, at most
SETTLED = 1e-13  # change of ln W that ends them
JUMP = 1e-3  # relative difference of the density of the lighter phase where a liquid boils
BESIDE = 1e-7  # relative distance from a boiling point to the states beside it
APART = 0.8  # of the lighter liquid's density, which a vapour has at most: a trial may end as that liquid
LEAST_MOLES = 1e-300  # of a species in a trial


@dataclasses.dataclass(frozen=True)
class Seen:
    """States of a line, each array of one shape."""

    without_vapour: np.ndarray  # one liquid or two
    liquids: np.ndarray  # two, without a vapour
    boils: np.ndarray  # two, and a vapour lies below their plane
    rho_v: np.ndarray  # of the lighter phase [kg/m3]


class Liquids:
    """Tells the states of a line (saturation.Line) at which the mixture is one liquid or two, without a vapour."""

    def __init__(self, line):
        options = {**line.mixture.options, "phases": "single"}
        of = type(line.mixture)
        self.line = line
        self.one_phase = of(line.mixture.species, **options)
        self.gas = of(line.mixture.species, **{**options, "root": "vapour"})

    def at(self, place) -> Seen:
        """The states at `place`, T [K] or p [Pa]; the points are its last axis."""
        found = self.line.at(place, NAMES)
        pair = found["phases_status"] == 1
        liquids = pair & self._is_liquid(found["Y_v"], found["rho_v"])
        boils = self._boils(place, liquids, found)
        one = (found["phases_status"] == 0) & (found["beta"] == 0)
        return Seen(one | (liquids & ~boils), liquids & ~boils, boils, found["rho_v"])

    def _is_liquid(self, Y, rho):
        """Whether a phase is denser than the critical point of the equation at its composition. A dense gas is, too."""
        critical = self.one_phase.properties("vc_mix W", Y=Y, backend="cpu")
        return rho * critical["vc_mix"] > critical["W"]

    def _boils(self, place, liquids, found):
        """Whether a vapour lies below the plane of two liquids."""
        boils = np.zeros(liquids.shape, bool)
        if not liquids.any():
            return boils

        T, p = (np.broadcast_to(given, liquids.shape)[liquids] for given in self.line.T_and_p(place))
        X = self.line.X_at(place)[:, liquids]
        ln_f = np.log(np.maximum(X, LEAST_MOLES)) + found["ln_phi"][:, liquids]

        # A point that is done keeps its trial, so that its result does not depend on the others
        ln_W, rho = ln_f, np.zeros(T.shape)
        done = np.zeros(T.shape, bool)
        for _ in range(SUBSTITUTIONS):
            W = np.exp(ln_W)
            trial = self.gas.properties("ln_phi rho", T=T, p=p, X=W / W.sum(0), backend="cpu")
            step = ln_f - trial["ln_phi"] - ln_W
            ln_W, rho = np.where(done, ln_W, ln_W + step), np.where(done, rho, trial["rho"])
            done |= np.abs(step).max(0) < SETTLED
            if done.all():
                break

        is_gas = rho < APART * found["rho_v"][liquids]
        boils[liquids] = is_gas & (np.exp(ln_W).sum(0) > 1)
        return boils


def boiling_place(line, order) -> np.ndarray:
    """T or p (points,) at which two liquids have their first vapour, on the way along `order` (some, points) to the
    gas; NaN where there is no such place, or a single liquid lies next to it."""
    liquids = Liquids(line)
    seen = liquids.at(order)

    # The last state without a vapour, and the next
    ends = seen.liquids[:-1] & ~seen.without_vapour[1:]
    number = len(ends) - 1 - np.argmax(ends[::-1], axis=0)
    points = np.arange(number.size)
    mine, other = order[number, points], order[number + 1, points]
    if not ends.any():
        return np.full(number.shape, np.nan)

    for _ in range(line.BISECTIONS):
        middle = np.sqrt(mine * other)
        here = liquids.at(middle).without_vapour
        mine, other = np.where(here, middle, mine), np.where(here, other, middle)

    # A dense gas that becomes a thin one does not boil: it changes smoothly
    found = np.sqrt(mine * other)
    onward = np.where(order[1] > order[0], 1 + BESIDE, 1 - BESIDE)
    before, behind = liquids.at(found / onward), liquids.at(found * onward)
    boils = behind.boils | (np.abs(np.log(before.rho_v / behind.rho_v)) > JUMP)
    return np.where(ends.any(0) & boils, found, np.nan)
