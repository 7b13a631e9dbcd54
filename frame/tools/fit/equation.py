"""Fit of the equation of state to states of a fluid: least squares over density, cp, speed of sound, vapour pressure.

Constraints are penalties, which are 0 where a constraint holds: the map v(w) is monotone, v(w = b) is positive, alpha
falls with T and is convex. Bounds: delta_1 >= 2, because the kernel's recursion loses digits below; alpha_g < 1;
Q >= 0.
"""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

from kernels.gas.equations.mapped_numbers import is_regular
from kernels.gas.species import GAS_CONSTANT as R

from ...errors import ArgumentError
from ..reference_fluids import DILUTE, LIQUID, POINT, VAPOUR, Critical, States, regions
from .model import Cubic, Equation, caloric

# The residuals.
WEIGHTS = {"liq": 2.0, "satliq": 1.0, "vap": 0.7, "near": 0.5, "trans": 1.0, "sup": 1.0, "hot": 0.7}  # of a region
PERCENT = 0.01
BEND = 0.01  # relative error beyond which the square of a residual grows linearly
RIDGE = 0.02  # weight of the parameters themselves: without states that fix them they stay small
CLOSE = (0.02, 0.4)  # |T/Tc - 1|, |rho/rho_c - 1|: closer to the critical point no cubic fits, states are left out

# The constraints.
PENALTY = 1000.0  # a violation of 0.001 counts as much as an error of 1 % in all states
MARGIN = 0.01  # added to the limits below, because a penalty allows small violations
LEAST_STRETCH = 0.3  # limit of dv/dw; the layer refuses rows below
LEAST_VOLUME = 0.02  # limit of v(w = b)/b
LEAST_BEND = 0.02  # limit of alpha alpha''/alpha'^2; the law asks for 0
COLDEST_ALPHA, HOTTEST_ALPHA = 0.05, 60.0  # T/Tc between which alpha is checked

# alpha of polar and quantum fluids may rise or be concave in the cold, if cv is positive nevertheless. Without a row of
# the fluid both are tried: such an alpha wins if its cost is less by this factor.
MUCH_CLOSER = 1.5
COLD_STATES = (160, 60)  # temperatures and values of x = b/w at which cv is looked at

# The choice between powers of alpha.
MUCH_BETTER = 1.1  # factor on the cost of a fit with power 2: power 8 wins unless 2 is 10 % better

# x: P0..P3, ln alpha_c, alpha_g, Q, d1. With Q below 0 the residual cv of a cold compressed liquid is negative.
LOW = np.array([-20, -20, -20, -20, -3.0, 0.0, 0.0, 2.0])
HIGH = np.array([20, 20, 20, 20, 7.0, 0.985, 0.6, 6.5])


@dataclasses.dataclass(frozen=True)
class Weights:
    """Weights of the quantities: the residual of an error of 1 %."""

    rho: float = 1.0
    cp: float = 0.7
    c: float = 0.5
    p_sat: float = 0.7


@dataclasses.dataclass(frozen=True)
class Fitted:
    """An equation with the quality of its fit."""

    equation: Equation
    cost: float  # half the sum of squares, in percent
    evaluations: int
    regular: bool  # alpha falls and is convex at every temperature


def vector(equation: Equation) -> np.ndarray:
    """The parameters that the fit varies, in the order of LOW and HIGH."""
    e = equation
    return np.array([*e.P, np.log(e.alpha_c), e.alpha_g, e.Q, e.d1])


def equation_of(x, alpha_m: int) -> Equation:
    """The equation of a vector of parameters, with alpha's power."""
    *P, ln_alpha_c, alpha_g, Q, d1 = map(float, x)
    return Equation(
        alpha_c=float(np.exp(ln_alpha_c)),
        alpha_g=alpha_g,
        alpha_m=alpha_m,
        d1=d1,
        P=tuple(P),
        Q=Q,
    )


def generic(critical: Critical) -> Equation:
    """A start for a fluid without a row. Its parameters are polynomials of the acentric factor, fitted to 17 non-polar
    fluids."""
    omega = np.clip(critical.omega, -0.05, 0.6)
    P = np.array([-0.2076, 2.2344, -5.9269, 3.9739]) + omega * np.array([1.8878, -4.5771, 5.2326, -2.3842])

    # alpha_c and alpha_g such that sqrt(alpha) has this slope at Tc, over 2.
    slope = 0.2360 + omega * (0.8314 - 0.0676 * omega)
    y = slope / 7
    return Equation(alpha_c=1 / y - 1, alpha_g=max(8 * y - slope, 0.0), alpha_m=8, d1=2.414, P=tuple(P), Q=0.02)


def starts(critical: Critical) -> list[Equation]:
    """Starts for a fluid without a row."""
    if critical.Tc < 40:  # quantum fluids
        base = Equation(alpha_c=1.7, alpha_g=0.65, alpha_m=2, d1=2.0, P=(0.05, 2.6, -7.0, 4.8), Q=0.32)
        return [base, dataclasses.replace(base, P=(0.0, 0.0, 0.0, 0.0), Q=0.15)]

    base = generic(critical)
    flat = -0.1 if critical.omega < 0.25 else 0.2
    third = dataclasses.replace(base, d1=3.5, P=(flat, 0.0, 0.0, 0.0), Q=0.1)
    return [base, _with_power(critical, base, 2), third]


class Residuals:
    """Residuals of a fluid's states and constraints as a function of the fit's parameters."""

    def __init__(self, critical: Critical, states: States, alpha_m: int, regular: bool, weights: Weights):
        self.critical, self.alpha_m, self.regular, self.weights = critical, alpha_m, regular, weights

        # Points away from the critical point. Saturated vapour is left out: the vapour pressure determines it.
        Tr, dr = states.T / critical.Tc, states.rho / critical.rho_c
        close = (np.abs(Tr - 1) < CLOSE[0]) & (np.abs(dr - 1) < CLOSE[1])
        used = ((states.kind == POINT) & ~close) | ((states.kind == LIQUID) & (Tr < 0.985))
        share = np.zeros(states.size)
        for name, mask in regions(states, critical).items():
            mask = mask & used
            if mask.any():
                share[mask] = np.sqrt(WEIGHTS[name] / mask.sum())
        used &= share > 0
        self.points, self.share = states.chosen(used), share[used]
        self.w = None  # of the points, as the last call found them; the next call starts there

        # Vapour pressures.
        self.saturation = states.chosen((states.kind == LIQUID) & (Tr < 0.98) & (Tr > 0.4))

        # Where the constraints are checked.
        self.x = np.linspace(0, 1, 60)
        self.T_alpha = np.geomspace(COLDEST_ALPHA, HOTTEST_ALPHA, 80) * critical.Tc
        self.coldest = states.T.min()

    def __call__(self, numbers) -> np.ndarray:
        cubic = Cubic(self.critical, equation_of(numbers, self.alpha_m))
        with np.errstate(all="ignore"):
            parts = [*self.of_points(cubic), *self.of_saturation(cubic), *self.of_constraints(cubic)]
        return np.concatenate([*parts, RIDGE * numbers[1:]])

    def of_points(self, cubic: Cubic):
        """Errors of density, cp and c at T and density of the states. The error of the density is that of the pressure
        times the state's (d rho/d p)."""
        states, weights = self.points, self.weights
        self.w = cubic.w_of_v(states.T, self.critical.W / states.rho, self.w)
        at = cubic.at_w(states.T, self.w)
        cp, c = caloric(self.critical, states.T, at, states.cp0)
        stable = at["p_v"] < 0

        errors = {
            "rho": (at["p"] - states.p) * states.rho_p / states.rho,
            "cp": np.where(stable, cp / states.cp - 1, 1.0),
            "c": np.where(stable, c / states.c - 1, 1.0),
        }
        known = {"rho": True, "cp": np.isfinite(states.cp), "c": np.isfinite(states.c)}
        for name, error in errors.items():
            yield np.where(known[name], getattr(weights, name) * self.share * bounded(error, 0.3) / PERCENT, 0.0)

    def of_saturation(self, cubic: Cubic):
        """Errors of the vapour pressure."""
        states = self.saturation
        if states.size:
            error = cubic.saturation_error(states.T, states.p)
            yield self.weights.p_sat * bounded(error, 0.5) / PERCENT / np.sqrt(states.size)

    def of_constraints(self, cubic: Cubic):
        """Penalties; 0 where all constraints hold."""
        e = cubic.equation
        yield PENALTY * np.maximum(LEAST_STRETCH + MARGIN - cubic.stretch(self.x), 0)

        # v(w = b)/b over all temperatures. The shift is monotone in T: the coldest and the hottest suffice.
        ends = np.array([self.coldest, 1e3 * self.critical.Tc])
        volume = 1 - sum(e.P) + cubic.shift(ends)[0] / cubic.b
        yield PENALTY * np.maximum(LEAST_VOLUME + MARGIN - volume, 0)

        if self.regular:
            T = self.T_alpha
            alpha, alpha_T, alpha_TT = cubic.alpha(T)
            slope = T * alpha_T / alpha
            yield PENALTY * np.maximum(slope, 0)
            yield PENALTY * np.maximum(LEAST_BEND * slope**2 - T * T * alpha_TT / alpha, 0)


def bounded(error, limit: float):
    """A robust form of the error. Beyond BEND its square grows linearly, so that the fit follows the median. Beyond the
    limit it is constant: a state on another branch counts as one bad state."""
    error = limit * np.tanh(np.nan_to_num(error, nan=1.0) / limit)
    return np.sign(error) * BEND * np.sqrt(2 * (np.sqrt(1 + (error / BEND) ** 2) - 1))


def violations(critical: Critical, equation: Equation, states: States, cold: float | None = None) -> list[str]:
    """A sentence for each constraint that the equation breaks. Where alpha rises or is concave somewhere, cv has to be
    positive from cold [K] on, else from the coldest of the states on."""
    cubic = Cubic(critical, equation)
    coldest = states.T.min()
    ends = np.array([coldest, 1e3 * critical.Tc])
    stretch = cubic.stretch(np.linspace(0, 1, 400)).min()
    volume = (1 - sum(equation.P) + cubic.shift(ends)[0] / cubic.b).min()

    out = []
    if stretch < LEAST_STRETCH:
        out.append(f"dv/dw is {stretch:.2g} at the least, wanted {LEAST_STRETCH:g} or more")
    if volume <= 0:
        out.append(f"v(w = b)/b is {volume:.2g}, wanted more than 0")
    if equation.d1 < 2:
        out.append(f"delta_1 is {equation.d1:g}, wanted 2 or more")
    if equation.Q < 0:
        out.append(f"Q is {equation.Q:g}, wanted 0 or more")
    if not 0 <= equation.alpha_g < 1:
        out.append(f"alpha_g is {equation.alpha_g:g}, wanted 0 to 1")
    cold = cold or coldest
    if not has_regular_alpha(equation) and cv_from(critical, equation, states) > cold:
        out.append(f"alpha rises with T or is concave, and cv is negative at {cold:g} K")

    return out


def has_regular_alpha(equation: Equation) -> bool:
    """Whether alpha falls with T and is convex from 0.05 to 60 Tc."""
    return is_regular(equation.alpha_c, equation.alpha_g, equation.alpha_m)


def cv_from(critical: Critical, equation: Equation, states: States) -> float:
    """Temperature [K] from which cv is positive, up to the highest pressure of the cold states: that of the coldest
    state, or a higher one.

    The ideal gas's cp0 is interpolated between the states; a monatomic gas's where it is not known.
    """
    known = np.isfinite(states.cp0)
    T = np.linspace(states.T.min(), max(4 * critical.Tc, 1.1 * states.T.min()), COLD_STATES[0])[:, None]
    highest = states.p[states.T <= max(critical.Tc, states.T.min())].max()
    cp0 = np.full(T.shape, 2.5 * R)
    if known.any():
        order = np.argsort(states.T[known])
        cp0 = critical.W * np.interp(T, states.T[known][order], states.cp0[known][order])

    cubic = Cubic(critical, equation)
    at = cubic.at_w(T, cubic.b / np.linspace(0.02, 0.98, COLD_STATES[1]))
    real = (at["p"] > 0) & (at["p"] < highest) & (at["p_v"] < 0)
    negative = (real & (cp0 - R + at["cv_res"] <= 0)).any(1)
    return float(T[min(np.flatnonzero(negative)[-1] + 1, len(T) - 1), 0]) if negative.any() else float(T[0, 0])


def fit(critical: Critical, states: States, start: Equation | None, weights: Weights | None = None) -> Fitted:
    """The equation with the least cost among the fits that keep all constraints.

    start: the equation of the fluid's present row. Its alpha stays regular or not, as it is. None: several starts from
    the acentric factor, with a regular alpha and with any. alpha's power is 8, or 2 if that is better by MUCH_BETTER.
    Raises ArgumentError if no fit keeps the constraints.
    """
    if start:
        begins = [start, _with_power(critical, start, 10 - start.alpha_m)]
        kinds, cold = [has_regular_alpha(start)], 1.02 * cv_from(critical, start, states)
    else:
        begins, kinds, cold = starts(critical), [True, False], None

    good, broken = [], []
    for begin, regular in itertools.product(begins, kinds):
        found = _from(critical, states, begin, regular, weights or Weights())
        wrong = violations(critical, found.equation, states, cold)
        good += [] if wrong else [found]
        broken += wrong

    if not good:
        raise ArgumentError(f"fluid '{critical.name}': no parameters fit these states within bounds: {broken[0]}.")
    return min(good, key=_handicapped)


def _handicapped(found: Fitted) -> float:
    """The cost by which fits are compared."""
    cost = found.cost
    if found.equation.alpha_m != 8:
        cost *= MUCH_BETTER
    if not found.regular:
        cost *= MUCH_CLOSER
    return cost


def _from(critical: Critical, states: States, begin: Equation, regular: bool, weights: Weights) -> Fitted:
    """The fit from a start."""
    from scipy.optimize import least_squares

    residuals = Residuals(critical, _with_slopes(critical, states, begin), begin.alpha_m, regular, weights)
    inside = np.clip(vector(begin), LOW + 1e-9, HIGH - 1e-9)
    end = dict(xtol=1e-9, ftol=1e-9, gtol=1e-9, max_nfev=300)
    found = least_squares(residuals, inside, bounds=(LOW, HIGH), x_scale="jac", **end)
    equation = equation_of(found.x, begin.alpha_m)
    return Fitted(equation, float(found.cost), found.nfev, has_regular_alpha(equation))


def _with_power(critical: Critical, equation: Equation, power: int) -> Equation:
    """The equation with another power in alpha, and the same slope of alpha at Tc."""
    _, alpha_T, _ = Cubic(critical, equation).alpha(np.array([critical.Tc]))
    slope = -0.5 * critical.Tc * float(alpha_T[0])  # m/(1 + c) - g
    g = 0.03 if power == 8 else 0.4
    return dataclasses.replace(equation, alpha_m=power, alpha_g=g, alpha_c=max(power / (slope + g) - 1, 0.1))


def _with_slopes(critical: Critical, states: States, equation: Equation) -> States:
    """The states with (d rho/d p) where none is known, as a file of measurements has none: by the start's equation."""
    lacking = ~np.isfinite(states.rho_p)
    if not lacking.any():
        return states

    cubic = Cubic(critical, equation)
    with np.errstate(all="ignore"):
        kind = np.where(states.rho > critical.rho_c, LIQUID, VAPOUR)
        at = cubic.at_w(states.T, cubic.w_of_p(states.T, states.p, kind))
        slope = -critical.W / at["v"] ** 2 / at["p_v"]

    ideal = critical.W / (R * states.T)
    slope = np.where(np.isfinite(slope) & (slope > 0), slope, ideal)
    return dataclasses.replace(states, rho_p=np.where(lacking & (states.kind != DILUTE), slope, states.rho_p))
