"""Exact solution of the Riemann problem of a pure gas, in plain Python: nothing of the layer's kernels. The gas is of
the Peng-Robinson equation, or of equation `mapped`.

Fans by integrating the isentrope (dT/drho = T p_T/(rho^2 cv), du = -+ c/rho drho, classical Runge-Kutta in ln rho),
shocks by the Rankine-Hugoniot energy relation; the pressure between them by the secant rule. All per kg, SI.
"""

import dataclasses
import math

import numpy as np

R = 8.31446261815324
ROOT2 = math.sqrt(2)


class Gas:
    """p, e, c, entropy slope of one species at (T, rho); species: SpeciesData of one species."""

    def __init__(self, species):
        sp = species
        omega = float(sp.omega[0])
        assert sp.ns == 1 and omega <= 0.491, "one light species"
        self.W, self.a, self.b, self.Tc = float(sp.W[0]), float(sp.a[0]), float(sp.b[0]), float(sp.Tc[0])
        self.kappa = 0.37464 + 1.54226 * omega - 0.26992 * omega**2
        self.low, self.high = np.asarray(sp.nasa_low[0]).tolist(), np.asarray(sp.nasa_high[0]).tolist()
        self.T_mid = float(sp.T_mid[0])

    def _attraction(self, T):
        root = math.sqrt(T / self.Tc)
        x = self.kappa * (root - 1)
        x_T = self.kappa * root / (2 * T)
        f, f_x, f_xx = 1 - x, -1.0, 0.0
        if x > 0.75:  # option alpha = smooth
            y = 4 * x - 3
            P, P_y = 1 + y + y**2 + y**3, 1 + 2 * y + 3 * y**2
            f, f_x, f_xx = 1 / (4 * P), -P_y / P**2, 4 * (2 * P_y**2 / P - 2 - 6 * y) / P**2

        f_T = f_x * x_T
        f_TT = f_xx * x_T**2 - f_T / (2 * T)
        return self.a * f * f, 2 * self.a * f * f_T, 2 * self.a * (f_T * f_T + f * f_TT)

    def at(self, T, rho):
        """(p, e, c, p_T, cv) at T [K], rho [kg/m3]; p_T at constant volume."""
        v, b = self.W / rho, self.b
        a, a_T, a_TT = self._attraction(T)
        D = v * v + 2 * b * v - b * b
        L = math.log((v + (1 + ROOT2) * b) / (v + (1 - ROOT2) * b)) / (2 * ROOT2 * b)
        cp0, h0 = self._ideal(T)
        p, p_T = R * T / (v - b) - a / D, R / (v - b) - a_T / D
        p_v = -R * T / (v - b) ** 2 + 2 * a * (v + b) / D**2
        cv = cp0 - R + T * a_TT * L
        e = h0 - R * T + (T * a_T - a) * L
        c2 = v * v * (T * p_T * p_T / cv - p_v) / self.W

        return p, e / self.W, math.sqrt(c2), p_T, cv / self.W

    def _ideal(self, T):
        c = self.low if T <= self.T_mid else self.high
        cp0 = R * (c[0] + T * (c[1] + T * (c[2] + T * (c[3] + T * c[4]))))
        h0 = R * (c[5] + T * (c[0] + T * (c[1] / 2 + T * (c[2] / 3 + T * (c[3] / 4 + T * c[4] / 5)))))
        return cp0, h0

    stride = 1  # of so many steps along an isentrope one is taken

    def pieces(self, rho, T, to):
        """[(gas, rho, rho)] of an isentrope from rho, T to the density `to`: pieces along which its slopes are
        smooth."""
        return [(self, rho, to)]

    def temperature(self, p, rho, T=300.0):
        for _ in range(200):
            now, _, _, p_T, _ = self.at(T, rho)
            step = (p - now) / p_T
            T += min(max(step, -0.3 * T), 0.3 * T)
            if abs(step) < 1e-14 * T:
                break
        return T


class MappedGas(Gas):
    """The same of equation `mapped`, by its definition: p(T, w) of a cubic, v = w - C(T, w), integrals by quadrature.
    fluid: a row of fluids.csv."""

    def __init__(self, species, fluid):
        super().__init__(species)
        self.fluid, self.Tc = fluid, fluid.Tc
        self.d1, self.d2 = fluid.d1, (1 - fluid.d1) / (1 + fluid.d1)
        y = 1 + (2 * (1 + fluid.d1)) ** (1 / 3) + (4 / (1 + fluid.d1)) ** (1 / 3)
        d = (1 + fluid.d1**2) / (1 + fluid.d1)
        self.b = R * fluid.Tc / fluid.pc / (3 * y + d - 1)
        self.a = (3 * y * (y + d) + d * d + d - 1) / (3 * y + d - 1) ** 2 * (R * fluid.Tc) ** 2 / fluid.pc
        self.c = [self.b * P for P in (fluid.P0, fluid.P1, fluid.P2, fluid.P3)]

        nodes, weights = np.polynomial.legendre.leggauss(24)
        self.nodes, self.weights = (nodes + 1) / 2, weights / 2

    def _attraction(self, T):
        t, c, g, m = T / self.Tc, self.fluid.alpha_c, self.fluid.alpha_g, self.fluid.alpha_m
        r, n = 1 / (t + c), 1 + g * (t - 1)
        k = ((1 + c) * r) ** m
        f, f_T = k * n, k * (g - m * n * r) / self.Tc
        f_TT = k * r * (m * (m + 1) * n * r - 2 * m * g) / self.Tc**2
        return self.a * f * f, 2 * self.a * f * f_T, 2 * self.a * (f_T * f_T + f * f_TT)

    def _map(self, x):
        """C without the swelling, and -w dC/dw."""
        c0, c1, c2, c3 = self.c
        return c0 + x * (c1 + x * (c2 + x * c3)), x * (c1 + x * (2 * c2 + x * 3 * c3))

    def at(self, T, rho):
        v, b, y = self.W / rho, self.b, 1 / (T / self.Tc + 0.4)
        a, a_T, a_TT = self._attraction(T)
        swelling = 1.4 * b * self.fluid.Q
        C_T, C_TT = swelling * y**2 / self.Tc, -2 * swelling * y**3 / self.Tc**2

        w = max(v + self._map(0.5)[0] - swelling * y, 1.05 * b)
        for _ in range(60):
            C, slope = self._map(b / w)
            step = (w - C + swelling * y - v) / (1 + slope / w)
            w = max(w - step, b + 0.2 * (w - b))
            if abs(step) < 1e-15 * w:
                break

        x = b / w
        h = 1 + self._map(x)[1] / w
        D, D_w = (w + self.d1 * b) * (w + self.d2 * b), 2 * w + (self.d1 + self.d2) * b
        p, p_T = R * T / (w - b) - a / D, R / (w - b) - a_T / D
        p_v = (a * D_w / D**2 - R * T / (w - b) ** 2) / h

        z = self.nodes * x
        slopes = 1 + z * self._map(z)[1] / b
        L = x / b * float(np.dot(self.weights, slopes / ((1 + self.d1 * z) * (1 + self.d2 * z))))

        cp0, h0 = self._ideal(T)
        e = h0 - R * T + (T * a_T - a) * L + T * p * C_T
        cv = cp0 - R + T * (a_TT * L + (2 * p_T + p_v * C_T) * C_T + p * C_TT)
        p_T += p_v * C_T
        c2 = v * v * (T * p_T * p_T / cv - p_v) / self.W

        return p, e / self.W, math.sqrt(c2), p_T, cv / self.W


def density(gas, T, p, start):
    """rho of T and p, the root that Newton's method reaches from `start`; dp/drho by differences."""
    rho = start
    for _ in range(80):
        now = gas.at(T, rho)[0]
        rho -= (now - p) / ((gas.at(T, rho * 1.000001)[0] - now) / (rho * 1e-6))

    return rho


@dataclasses.dataclass
class Wave:
    """The wave between a side and the contact: a fan or a shock. u, rho, T: the state behind the wave."""

    u: float
    rho: float
    T: float
    table: np.ndarray | None  # of a fan: rho, T, p, and u relative to the velocity of the side
    shock: float | None  # speed of a shock


def isentrope(gas, rho, T, to, sign, steps=800):
    """Rows (rho, T, p, u, c) from rho to `to`; sign -1: wave that runs to the left (u rises as rho falls). A gas that
    boils or condenses on the way gives its states by pieces (riemann_phases.py)."""
    rows, u = [], 0.0
    for piece, start, end in gas.pieces(rho, T, to):
        part = march(piece, start, T, end, sign, steps // piece.stride)
        part[:, 3] += u
        rows.append(part)
        T, u = part[-1, 1], part[-1, 3]

    return np.concatenate(rows)


def march(gas, rho, T, to, sign, steps):
    """An isentrope along which the gas has smooth slopes, by the classical Runge-Kutta method."""
    h = math.log(to / rho) / steps

    def slope(x, T):
        r = math.exp(x)
        _, _, c, p_T, cv = gas.at(T, r)
        return T * p_T / (r * cv), sign * c

    x, u, rows = math.log(rho), 0.0, []
    for _n in range(steps + 1):
        p, _, c, _, _ = gas.at(T, math.exp(x))
        rows.append((math.exp(x), T, p, u, c))
        k1 = slope(x, T)
        k2 = slope(x + h / 2, T + h / 2 * k1[0])
        k3 = slope(x + h / 2, T + h / 2 * k2[0])
        k4 = slope(x + h, T + h * k3[0])
        T += h / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0])
        u += h / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1])
        x += h

    return np.array(rows)


def secant(f, a, b, tolerance=1e-13, most=100, reach=math.inf):
    """A zero of f near a and b; reach: the longest step."""
    fa, fb = f(a), f(b)
    for _ in range(most):
        if fb == fa:
            break
        step = -fb * (b - a) / (fb - fa)
        a, b, fa = b, b + max(min(step, reach), -reach), fb
        if abs(b - a) <= tolerance * abs(b):
            break
        fb = f(b)

    return b


def wave(gas, rho, u, T, p_star, sign):
    """The wave from a side (rho, u, T) to pressure p_star; sign -1 left, 1 right."""
    p0, e0, c0, _, _ = gas.at(T, rho)
    if p_star > p0:

        def energy(r):
            Tr = gas.temperature(p_star, r, T)
            return gas.at(Tr, r)[1] - e0 - 0.5 * (p_star + p0) * (1 / rho - 1 / r)

        guess = rho * (1 + (p_star - p0) / (rho * c0 * c0 + 0.3 * (p_star - p0)))
        r = secant(energy, guess, 0.98 * guess + 0.02 * rho)
        flux = math.sqrt((p_star - p0) / (1 / rho - 1 / r))  # mass through the shock
        speed = u + sign * flux / rho

        return Wave(u + sign * (p_star - p0) / flux, r, gas.temperature(p_star, r, T), None, speed)

    # The density of p_star, by Newton's method with dp/d ln rho = rho c^2
    x, step = math.log(rho), (p_star - p0) / (rho * c0 * c0)
    for _ in range(100):
        x += step
        to, _, p, _, c = isentrope(gas, rho, T, math.exp(x), sign, 200)[-1]
        step = min(max((p_star - p) / (to * c * c), -0.5), 0.5)
        if abs(step) < 1e-12:
            break
    else:
        raise RuntimeError(f"no state of {p_star} Pa behind the fan")
    table = isentrope(gas, rho, T, to, sign, 1500)

    return Wave(u + table[-1, 3], table[-1, 0], table[-1, 1], table, None)


class Riemann:
    """left, right: (rho, u, p). `sample(x/t)` gives rho, u, p, T."""

    def __init__(self, gas, left, right):
        self.gas = gas
        self.left, self.right = [(rho, u, p, gas.temperature(p, rho)) for rho, u, p in (left, right)]

        sides = [(s[0], s[1], s[3]) for s in (self.left, self.right)]

        def miss(x):
            return wave(gas, *sides[0], math.exp(x), -1).u - wave(gas, *sides[1], math.exp(x), 1).u

        # A liquid moves by little until it boils: the first chords lead too far
        x1 = 0.5 * math.log(self.left[2] * self.right[2])
        self.p = math.exp(secant(miss, x1, x1 - 0.1, 1e-13, reach=0.5))
        self.waves = wave(gas, *sides[0], self.p, -1), wave(gas, *sides[1], self.p, 1)
        self.u = 0.5 * (self.waves[0].u + self.waves[1].u)

    def sample(self, speed):
        speed = np.asarray(speed, float)
        out = np.empty((4, *speed.shape))
        for sign, side, w in zip((-1, 1), (self.left, self.right), self.waves):
            here = speed < self.u if sign < 0 else speed >= self.u
            s = speed[here]
            if w.shock is not None:
                beyond = s < w.shock if sign < 0 else s > w.shock
                inner = np.array([w.rho, self.u, self.p, w.T])
                out[:, here] = np.where(beyond, np.array(side)[:, None], inner[:, None])
            else:
                rho, T, p, u, c = w.table.T
                u = u + side[1]
                head = u + sign * c
                order = np.argsort(head)
                out[:, here] = [np.interp(s, head[order], column[order]) for column in (rho, u, p, T)]

        return out
