"""The state from which a flow starts: two of temperature, pressure and density, velocity and composition."""

import warnings

import numpy as np

from .case import LOWEST_T
from .errors import wanted
from .expression import Place
from .properties import KEPT
from .sides import composition


def of_case(case, block, mixture) -> dict:
    """{"velocity", "Y" and two of T, p, rho: values} of the case's expressions, as Flow.start takes them."""
    initial, shape = case.initial, block.cells[::-1]
    x = [np.broadcast_to(c, shape) for c in block.coordinates()]
    place = Place("[initial]", x, initial["constants"])

    def value(key):
        return np.broadcast_to(place.value(key, initial[key]), shape)

    state = {}
    for key in ("T", "p", "rho"):
        if initial[key] != "":
            state[key] = value(key)
            lowest = state[key].min()
            wanted(lowest > 0, f"[initial] {key}: lowest value {lowest:g}; wanted positive everywhere.")

    state["velocity"] = np.stack([value(key) for key in "uvw"])
    state["Y"] = composition(initial["X"], initial["Y"], mixture, place)

    return state


class Initial:
    """initial(given): (U, Q) of a flow, as its set_state takes them; given as its start has it.

    Errors: CaseError where the equation of state has no such state.
    """

    def __init__(self, flow):
        self.flow, self.shape = flow, flow.block.cells[::-1]

    def __call__(self, given):
        Y, u = self._flat(given["Y"]), self._flat(given["velocity"])
        if self.flow.scheme.phases:
            return self._phases(self._flat(given["T"]), self._flat(given["p"]), Y, u)

        T, p, rho = self._completed(given, Y)
        self._refuse_impossible(T, p, rho)

        # Total energy; double flux makes it of p.
        conservative = self.flow.scheme.conservative
        rho_k = rho * Y
        mass = rho_k.sum(0)
        energy = np.ones(self.shape)
        if conservative:
            energy = self._property("e_vol", T=T, rho_k=rho_k) + 0.5 * mass * (u * u).sum(0)

        rows = [*u, p, T] if conservative else [*u, p]
        return np.stack([*rho_k, *(mass * u), energy]), np.stack(rows)

    def _completed(self, given, Y):
        """Temperature, pressure and density of two of them."""
        if "rho" in given:
            rho = self._flat(given["rho"])
            if "p" in given:
                p = self._flat(given["p"])
            else:
                p = self._property("p_eos", T=self._flat(given["T"]), rho_k=rho * Y)
        else:
            p, T = self._flat(given["p"]), self._flat(given["T"])
            self._refuse_cold(T)
            rho = self._property("rho", T=T, p=p, Y=Y)

        return self._property("T", p=p, rho_k=rho * Y), p, rho

    def _phases(self, T, p, Y, u):
        """Phases in equilibrium at T and p."""
        flow = self.flow
        self._refuse_cold(T)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a point without a state is refused below
            found = flow.mixture.properties(["rho", "e", *KEPT], backend=flow.backend, T=T, p=p, Y=Y)

        rho = found["rho"]
        self._refuse_impossible(T, p, rho)

        energy = rho * (found["e"] + 0.5 * (u * u).sum(0))
        rows = [*u, p, T, *found["ln_kappa"], found["eta"], found["phases_status"]]
        return np.stack([*(rho * Y), *(rho * u), energy]), np.stack(rows)

    def _flat(self, values):
        """The values as a contiguous array of the block's shape."""
        return np.ascontiguousarray(np.broadcast_to(values, (*np.shape(values)[:-3], *self.shape)), dtype=float)

    def _property(self, name, **arrays):
        return self.flow.mixture.properties(name, backend=self.flow.backend, **arrays)[name]

    def _refuse_impossible(self, T, p, rho):
        """CaseError where the equation of state has no temperature, or one below the models' range."""
        fits = np.isfinite(T) & np.isfinite(rho) & (rho > 0) & (p > 0)
        k, j, i = np.unravel_index(np.argmin(fits), fits.shape)  # the first that does not fit, if there is one

        wanted(
            fits.all(),
            f"[initial]: no state of the equation of state at cell ({i}, {j}, {k}) of rank {self.flow.ranks.rank}: p = "
            f"{p[k, j, i]:g} Pa, rho = {rho[k, j, i]:g} kg/m3, T = {T[k, j, i]:g} K.",
        )

        self._refuse_cold(T)

    @staticmethod
    def _refuse_cold(T):
        """CaseError for temperatures below the models' range."""
        lowest = T.min()
        said = f"[initial]: lowest temperature {lowest:g} K; the models end at {LOWEST_T:g} K."
        wanted(not lowest < LOWEST_T, said)
