"""A pure gas of the Peng-Robinson equation that boils and condenses: vapour and liquid at one pressure and one
temperature, without slip (the homogeneous equilibrium model). Plain Python: nothing of the layer's kernels.

Two phases at T have equal fugacities. With shares of the mass x and 1 - x, v = x v_v + (1 - x) v_l:
  p = p_sat(T),  p_T = dp_sat/dT = (h_v - h_l)/(T (v_v - v_l)),  c^2 = v^2 T p_T^2/cv,
  cv = x e_v' + (1 - x) e_l' + x' (e_v - e_l), primes along the saturation line at constant v.
"""

import dataclasses
import functools
import math

import numpy as np

from .riemann import ROOT2, Gas, R, march


@dataclasses.dataclass(frozen=True)
class Saturation:
    """Both phases at T: p [Pa], dp/dT, and of liquid and vapour v [m3/kg], e [J/kg] and their slopes in T."""

    p: float
    p_T: float
    v: tuple[float, float]
    e: tuple[float, float]
    v_T: tuple[float, float]
    e_T: tuple[float, float]


class OnePhase(Gas):
    """The gas as one phase, metastable too."""


class PhasesGas(Gas):
    """p, e, c, entropy slope of one species at (T, rho), one phase or two."""

    def __init__(self, species):
        super().__init__(species)
        self.one = OnePhase(species)
        self._p_sat = {}  # {T: p}, the last as start of the next
        self.saturation = functools.lru_cache(100_000)(self._saturation)
        self.kink = functools.lru_cache(1000)(self._kink)

    # ---- saturation
    def _volumes(self, T, p):
        """Smallest and largest molar volume of the equation at T, p."""
        a, b = self._attraction(T)[0], self.b
        A, B = a * p / (R * T) ** 2, b * p / (R * T)
        c2, c1, c0 = -(1 - B), A - 3 * B * B - 2 * B, -(A * B - B * B - B**3)

        # the cubic without its quadratic term: t^3 + m t + n
        m, n = c1 - c2 * c2 / 3, 2 * c2**3 / 27 - c2 * c1 / 3 + c0
        if 4 * m**3 + 27 * n * n >= 0:
            return None
        size = 2 * math.sqrt(-m / 3)
        angle = math.acos(max(-1.0, min(1.0, 3 * n / (m * size)))) / 3
        roots = [size * math.cos(angle - 2 * math.pi * k / 3) - c2 / 3 for k in range(3)]

        return min(roots) * R * T / p, max(roots) * R * T / p

    def _ln_phi(self, T, p, v):
        a, b = self._attraction(T)[0], self.b
        Z = p * v / (R * T)
        L = math.log((v + (1 + ROOT2) * b) / (v + (1 - ROOT2) * b)) / (2 * ROOT2 * b)
        return Z - 1 - math.log(Z * (1 - b / v)) - a * L / (R * T)

    def _pressure(self, T):
        """p_sat by Newton's method: d(ln phi_v - ln phi_l)/dp = (v_v - v_l)/(R T)."""
        p = self._p_sat.get("last", (0, 0))
        p = p[1] if abs(p[0] - T) < 0.02 * T else self._start(T)
        for _ in range(60):
            both = self._volumes(T, p)
            if both is None:
                p = self._start(T)
                both = self._volumes(T, p)
            step = (self._ln_phi(T, p, both[1]) - self._ln_phi(T, p, both[0])) * R * T / (both[1] - both[0])
            p = max(p - step, 0.2 * p)
            if abs(step) < 1e-14 * p:
                break

        self._p_sat["last"] = T, p
        return p, self._volumes(T, p)

    def _start(self, T):
        """A pressure at which the equation has three roots: between those of its spinodal at T."""
        rho = np.linspace(1e-3, 0.9, 2000) / self.b
        a = self._attraction(T)[0]
        v = 1 / rho
        p = R * T / (v - self.b) - a / (v * v + 2 * self.b * v - self.b**2)
        falls = np.flatnonzero(np.diff(p) < 0)
        return 0.5 * (max(p[falls[-1] + 1], 0.0) + p[falls[0]])

    def _saturation(self, T):
        p, volumes = self._pressure(T)
        v = [volume / self.W for volume in volumes]
        states = [self.one.at(T, 1 / one) for one in v]
        e = [state[1] for state in states]
        p_T = (e[1] - e[0] + p * (v[1] - v[0])) / (T * (v[1] - v[0]))

        v_T, e_T = [], []
        for one, (_, _, c, slope, cv) in zip(v, states):
            p_v = T * slope**2 / cv - (c / one) ** 2
            v_T.append((p_T - slope) / p_v)
            e_T.append(cv + (T * slope - p) * v_T[-1])

        return Saturation(p, p_T, tuple(v), tuple(e), tuple(v_T), tuple(e_T))

    def boils(self, T, rho):
        """Whether there are two phases at T, rho."""
        if T >= self.Tc * (1 - 1e-6):
            return False
        liquid, vapour = self.saturation(T).v
        return liquid < 1 / rho < vapour

    # ---- states
    def at(self, T, rho):
        return self.both_at(T, rho) if self.boils(T, rho) else self.one.at(T, rho)

    def both_at(self, T, rho):
        """As `at`, of two phases."""
        s, v = self.saturation(T), 1 / rho
        apart = s.v[1] - s.v[0]
        x = (v - s.v[0]) / apart
        x_T = -(x * s.v_T[1] + (1 - x) * s.v_T[0]) / apart
        e = x * s.e[1] + (1 - x) * s.e[0]
        cv = x * s.e_T[1] + (1 - x) * s.e_T[0] + x_T * (s.e[1] - s.e[0])

        return s.p, e, v * s.p_T * math.sqrt(T / cv), s.p_T, cv

    # ---- isentropes
    def pieces(self, rho, T, to):
        """From one phase into two the slopes jump; behind it the gas stays in two."""
        if self.boils(T, rho):
            return [(Both(self), rho, to)]
        kink = self.kink(rho, T, to < rho)
        if kink is None or (to - kink) * (rho - kink) > 0:
            return [(self.one, rho, to)]

        return [(self.one, rho, kink), (Both(self), kink, to)]

    def _kink(self, rho, T, thinner):
        """Density at which the isentrope of one phase meets the saturation line; None where it does not down to a
        thousandth, or up to twice, of its density. The line is met once: bisection."""
        near, far = math.log(rho), math.log(rho * (1e-3 if thinner else 2.0))

        # The first point inside, then the place where it comes in.
        ends = np.linspace(near, far, 400)
        for x0, x1 in zip(ends[:-1], ends[1:]):
            T1 = march(self.one, math.exp(x0), T, math.exp(x1), 1, 1)[-1, 1]
            if self.boils(T1, math.exp(x1)):
                break
            T = T1
        else:
            return None

        low, high = x0, x1
        for _ in range(50):
            middle = 0.5 * (low + high)
            T1 = march(self.one, math.exp(x0), T, math.exp(middle), 1, 4)[-1, 1]
            low, high = (low, middle) if self.boils(T1, math.exp(middle)) else (middle, high)

        return math.exp(low)


class Both:
    """A PhasesGas that stays in two phases, at their boundary too. Each state takes a search for p_sat."""

    stride = 5

    def __init__(self, gas):
        self.at = gas.both_at
