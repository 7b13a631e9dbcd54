"""The mapped cubic equation and residual-entropy transport of a pure fluid, in NumPy: what a fit moves and evaluates.

Molar SI units. The equation is a cubic in w; the volume is v = w - C(T, w):

    p = R T/(w - b) - a(T)/((w + d1 b)(w + d2 b)),   d2 = (1 - d1)/(1 + d1)
    C/b = P0 + P1 x + P2 x^2 + P3 x^3 - Q 1.4/(T/Tc + 0.4),   x = b/w
    sqrt(a/a_c) = ((1 + c)/(T/Tc + c))^m (1 + g (T/Tc - 1))

Everything else follows from p by integration at constant T. Derived for this equation; no published parameters.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from kernels.gas.species import GAS_CONSTANT as R

from ..reference_fluids import LIQUID, VAPOUR, Critical, States

AVOGADRO = 6.02214076e23  # 1/mol
BOLTZMANN = 1.380649e-23  # J/K
SMALLEST_ENTROPY = 1e-12  # of s+: positive at every state
STEPS = 60  # of Newton's method, at most


@dataclasses.dataclass(frozen=True)
class Equation:
    """Parameters of the equation."""

    alpha_c: float  # c of alpha, > 0
    alpha_g: float  # g of alpha, 0 to 1
    alpha_m: int  # m of alpha: 8, of quantum fluids 2
    d1: float  # delta 1, 2 or more
    P: tuple[float, ...]  # P0..P3 of the volume map
    Q: float  # of the part of the map that depends on T


@dataclasses.dataclass(frozen=True)
class Transport:
    """Parameters of viscosity and conductivity, all of them 0 or more."""

    sigma: float  # angstrom
    eps: float  # K
    n: tuple[float, ...]  # n1..n4 of the viscosity
    b: tuple[float, ...]  # b1..b3 of the conductivity
    f: tuple[float, ...]  # f0, f1 of the conductivity of the dilute gas


@functools.lru_cache(maxsize=4096)
def omegas(d1: float) -> tuple[float, float]:
    """(Omega_a, Omega_b): a_c = Omega_a (R Tc)^2/pc, b = Omega_b R Tc/pc, by the conditions at the critical point."""
    y = 1 + np.cbrt(2 * (1 + d1)) + np.cbrt(4 / (1 + d1))
    d = (1 + d1 * d1) / (1 + d1)
    k = 3 * y + d - 1
    return (3 * y * y + 3 * y * d + d * d + d - 1) / k**2, 1 / k


class Cubic:
    """The equation of a fluid: functions of arrays T [K] and w [m3/mol]."""

    def __init__(self, critical: Critical, equation: Equation):
        self.critical, self.equation = critical, equation
        d1 = equation.d1
        d2 = (1 - d1) / (1 + d1)
        self.d1, self.d2 = d1, d2
        self.sum, self.product = d1 + d2, d1 * d2

        Omega_a, Omega_b = omegas(d1)
        self.a_c = Omega_a * (R * critical.Tc) ** 2 / critical.pc
        self.b = Omega_b * R * critical.Tc / critical.pc

    # ---- parts
    def alpha(self, T):
        """a/a_c and its first and second derivative in T [1/K, 1/K2]."""
        e, Tc = self.equation, self.critical.Tc
        m, g = e.alpha_m, e.alpha_g
        t = T / Tc
        r = 1 / (t + e.alpha_c)
        k = ((1 + e.alpha_c) * r) ** m
        n = 1 + g * (t - 1)

        root = k * n
        root_T = k * (g - m * n * r) / Tc
        root_TT = k * r * (m * (m + 1) * n * r - 2 * m * g) / Tc**2
        return root * root, 2 * root * root_T, 2 * (root_T * root_T + root * root_TT)

    def shift(self, T):
        """tau of the map and its first and second derivative in T: C holds -tau."""
        Tc, b = self.critical.Tc, self.b
        y = 1 / (T / Tc + 0.4)
        k = 1.4 * b * self.equation.Q
        return k * y, -k * y * y / Tc, 2 * k * y**3 / Tc**2

    def map(self, x):
        """C + tau: the part of the map that depends on x = b/w alone."""
        P = self.equation.P
        return self.b * (P[0] + x * (P[1] + x * (P[2] + x * P[3])))

    def stretch(self, x):
        """h = dv/dw at constant T; the map is monotone where h > 0."""
        P = self.equation.P
        return 1 + x * x * (P[1] + x * (2 * P[2] + x * 3 * P[3]))

    # ---- states
    def at_w(self, T, w) -> dict:
        """Properties at T, w: p, v, p_v, p_T, residual cv, s+ = -s_res(T, rho)/R, residual Helmholtz energy."""
        b, m, q = self.b, self.sum, self.product
        P = self.equation.P
        alpha, alpha_T, alpha_TT = self.alpha(T)
        a, a_T, a_TT = self.a_c * alpha, self.a_c * alpha_T, self.a_c * alpha_TT
        tau, tau_T, tau_TT = self.shift(T)

        # The map.
        x = b / w
        v = w - self.map(x) + tau
        h = self.stretch(x)

        # Pressure and its slopes, T at constant w.
        free = w - b
        D = (w + self.d1 * b) * (w + self.d2 * b)
        p = R * T / free - a / D
        p_v = (-R * T / free**2 + a * (2 * w + m * b) / D**2) / h
        p_T = R / free - a_T / D

        # Integrals of h over the volume: of the repulsion, I; of the attraction, L.
        I1 = -np.log1p(-x) - x
        I2 = I1 - x * x / 2
        I3 = I2 - x**3 / 3
        I = P[1] * I1 + 2 * P[2] * I2 + 3 * P[3] * I3
        J0 = np.log((1 + self.d1 * x) / (1 + self.d2 * x)) / (self.d1 - self.d2)
        J1 = (np.log(1 + m * x + q * x * x) - m * J0) / (2 * q)
        J2 = (x - m * J1 - J0) / q
        J3 = (x * x / 2 - m * J2 - J1) / q
        J4 = (x**3 / 3 - m * J3 - J2) / q
        L = (J0 + P[1] * J2 + 2 * P[2] * J3 + 3 * P[3] * J4) / b

        # Residual properties; with C_T = -tau_T the shift adds to all of them.
        log_free = np.log(free / v)
        cv = T * a_TT * L + T * (-2 * p_T * tau_T + p_v * tau_T**2 - p * tau_TT)
        s = R * log_free - R * I + a_T * L - p * tau_T

        return dict(
            p=p,
            v=v,
            p_v=p_v,
            p_T=p_T - p_v * tau_T,
            cv_res=cv,
            s_plus=-s / R,
            A_res=-R * T * log_free + R * T * I - a * L,
        )

    def w_of_v(self, T, v, start=None):
        """w at T, v by Newton's method; v grows with w where h > 0. start: w nearby, if known."""
        target = v - self.shift(T)[0]
        if start is None:
            start = target + self.map(np.full_like(v, 0.5))
        w = np.maximum(start, 1.02 * self.b)
        for _ in range(STEPS):
            x = self.b / w
            step = (w - self.map(x) - target) / np.maximum(self.stretch(x), 0.05)
            w = np.maximum(w - step, self.b + 0.3 * (w - self.b))
            if np.all(np.abs(step) < 1e-13 * w):
                break

        return w

    def roots(self, T, p):
        """(smallest, largest) w that solve the cubic at T, p; equal where there is one root."""
        m, q = self.sum, self.product
        A = self.a_c * self.alpha(T)[0] * p / (R * T) ** 2
        B = self.b * p / (R * T)
        c2 = (m - 1) * B - 1
        c1 = A + (q - m) * B * B - m * B
        c0 = -(A * B + q * B * B + q * B**3)

        # Cardano's formulas.
        Q, S = (c2 * c2 - 3 * c1) / 9, (2 * c2**3 - 9 * c2 * c1 + 27 * c0) / 54
        several = S * S < Q**3
        third = np.arccos(np.clip(S / np.sqrt(np.where(several, Q**3, 1.0)), -1, 1)) / 3
        size = 2 * np.sqrt(np.where(several, Q, 0.0))
        found = np.stack([-size * np.cos(third + 2 * np.pi * k / 3) - c2 / 3 for k in (0, 1, 2)])

        t = -np.sign(S) * np.cbrt(np.abs(S) + np.sqrt(np.where(several, 0.0, S * S - Q**3)))
        single = t + np.where(t == 0, 0.0, Q / np.where(t == 0, 1.0, t)) - c2 / 3
        found = np.where(several, found, single)

        # Newton's method takes away the rounding of the formulas.
        for _ in range(3):
            F = ((found + c2) * found + c1) * found + c0
            F_Z = (3 * found + 2 * c2) * found + c1
            step = F / np.where(F_Z == 0, 1.0, F_Z)
            found = found - np.where(np.abs(step) < 1e-2 * np.abs(found), step, 0.0)

        found = np.where(found > B, found, np.nan)
        scale = R * T / p
        return np.nanmin(found, 0) * scale, np.nanmax(found, 0) * scale

    def ln_phi(self, T, p, w):
        """Logarithm of the fugacity coefficient at a root."""
        at = self.at_w(T, w)
        Z = p * at["v"] / (R * T)
        return at["A_res"] / (R * T) + Z - 1 - np.log(Z)

    def w_of_p(self, T, p, kind):
        """w at T, p: the stable root; of saturated states the root of their phase. kind: as in States."""
        low, high = self.roots(T, p)
        several = high > low * (1 + 1e-10)
        liquid = several & (self.ln_phi(T, p, low) < self.ln_phi(T, p, high))
        stable = np.where(liquid, low, high)
        return np.where(kind == LIQUID, low, np.where(kind == VAPOUR, high, stable))

    def saturation_error(self, T, p):
        """ln(p_sat of the equation/p), by one step of Newton's method at p; NaN where there is one root."""
        low, high = self.roots(T, p)
        liquid, vapour = self.at_w(T, low), self.at_w(T, high)
        wide = p / (R * T) * (vapour["v"] - liquid["v"])
        error = (self.ln_phi(T, p, low) - self.ln_phi(T, p, high)) / wide
        return np.where(high > 1.02 * low, error, np.nan)


def caloric(critical: Critical, T, at: dict, cp0) -> tuple:
    """(cp [J/kg/K], c [m/s]) of the properties at a state; c is NaN where it is not real. cp0: ideal gas [J/kg/K]."""
    cv = cp0 * critical.W - R + at["cv_res"]
    cp = cv - T * at["p_T"] ** 2 / at["p_v"]
    c2 = -(at["v"] ** 2) * at["p_v"] * cp / cv / critical.W
    return cp / critical.W, np.sqrt(np.where(c2 > 0, c2, np.nan))


# ---- transport


def dilute_viscosity(T, W, sigma, eps):
    """Viscosity [Pa s] of the dilute gas by Chapman-Enskog, collision integral of Neufeld et al. 1972.

    W: kg/mol; sigma: angstrom; eps: K. Originals not seen.
    """
    t = np.clip(T / eps, 0.0625, 4095.0)
    collision = 1.16145 * t**-0.14874 + 0.52487 * np.exp(-0.7732 * t) + 2.16178 * np.exp(-2.43787 * t)
    return 26.69e-7 * np.sqrt(1e3 * W * T) / (sigma**2 * collision)


def internal(T, Tc, f):
    """Factor of the internal degrees of freedom in the conductivity of the dilute gas: f0 + f1 y(ln(T/Tc)).

    y(x) = x/(1 + (x/x_most)^4)^(1/4) with x_most = -1 below Tc and 3 above.
    """
    x = np.log(T / Tc)
    share = np.where(x < 0, x, x / 3)
    return f[0] + f[1] * x / (1 + share**4) ** 0.25


def dilute_conductivity(T, critical: Critical, eta, cp0, f):
    """Conductivity [W/m/K] of the dilute gas. eta: its viscosity; cp0: J/kg/K."""
    excess = np.maximum(cp0 * critical.W - 2.5 * R, 0.0)
    return eta / critical.W * (3.75 * R + internal(T, critical.Tc, f) * excess)


def dense_scale(T, v, s_plus, W):
    """(viscosity [Pa s], conductivity [W/m/K]) by which residual-entropy scaling divides."""
    n = (AVOGADRO / (v * s_plus)) ** (2 / 3)
    mass = W / AVOGADRO
    return n * np.sqrt(mass * BOLTZMANN * T), BOLTZMANN * n * np.sqrt(BOLTZMANN * T / mass)


def viscosity_exponent(T, Tc, s_plus, n):
    """Exponent of the viscosity in s+."""
    return s_plus * (n[0] + n[1] * s_plus) / (1 + n[2] * s_plus) * (1 + n[3] * Tc / T)


def conductivity_ratio(s_plus, b):
    """The dense part of the conductivity over its scale."""
    return s_plus * (b[0] + b[1] * s_plus) / (1 + b[2] * s_plus)


def transport(critical: Critical, parameters: Transport, T, v, s_plus, cp0):
    """(viscosity [Pa s], conductivity [W/m/K])."""
    s = np.maximum(s_plus, SMALLEST_ENTROPY)
    eta = dilute_viscosity(T, critical.W, parameters.sigma, parameters.eps)
    viscous, thermal = dense_scale(T, v, s, critical.W)
    mu = eta + viscous * np.expm1(viscosity_exponent(T, critical.Tc, s, parameters.n))
    lam = dilute_conductivity(T, critical, eta, cp0, parameters.f) + thermal * conductivity_ratio(s, parameters.b)
    return mu, lam


# ---- all of it


@np.errstate(all="ignore")
def properties(critical: Critical, equation: Equation, parameters: Transport | None, states: States) -> dict:
    """{name: (n,)} of rho, cp, c, mu, lam at T, p of the states, with the states' own cp0."""
    cubic = Cubic(critical, equation)
    T, p = states.T, states.p
    at = cubic.at_w(T, cubic.w_of_p(T, p, states.kind))
    cp, c = caloric(critical, T, at, states.cp0)
    out = dict(rho=critical.W / at["v"], cp=cp, c=c)
    if parameters is not None:
        out["mu"], out["lam"] = transport(critical, parameters, T, at["v"], at["s_plus"], states.cp0)

    return out
