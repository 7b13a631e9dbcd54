"""A mixture of constant composition by the Peng-Robinson equation that boils: vapour and liquid at one pressure, one
temperature and equal fugacities, without slip (the homogeneous equilibrium model). Plain Python: nothing of the layer's
kernels.

As one phase it is a gas of its own a(T) and b. As two, at T and the volume v of a mole, the unknowns u are ln K_i =
ln(y_i/x_i), beta, and ln(v/b - 1) of both phases. Newton's method solves
  ln K_i + ln f_i(y, v_v) - ln f_i(x, v_l) = 0,  sum (y_i - x_i) = 0,  p_v = p_l,  beta v_v + (1 - beta) v_l = v.
The equations are smooth where the first vapour comes, beta = 0. Slopes are complex steps, those of the
state in T and v by the implicit function: du/dT = -J^-1 dr/dT.
"""

import functools
import math

import numpy as np

from .riemann import ROOT2, Gas, R, march

STEP = 1e-30  # of complex steps
BRANCH = 20  # steps of one phase for one of two, which is dear


class OnePhase(Gas):
    """The mixture as one phase, metastable too. X: mole fractions of the species."""

    stride = 8  # of a short way in the liquid

    def __init__(self, species, X):
        assert species.omega.max() <= 0.491, "light species"
        self.X, self.W = X, float(X @ species.W)
        self.Tc, self.root_a, self.b_i = species.Tc, np.sqrt(species.a), species.b
        self.kappa = 0.37464 + species.omega * (1.54226 - 0.26992 * species.omega)
        self.pairs, self.b = 1 - species.kij, float(X @ species.b)
        self.species = species

    def roots(self, T):
        """sqrt(a_i) and its two slopes in T, (ns, m) each."""
        root, kappa = self.root_a[:, None], self.kappa[:, None]
        half = kappa * np.sqrt(T / self.Tc[:, None])
        return root * (1 + kappa - half), -root * half / (2 * T), root * half / (4 * T * T)

    def _attraction(self, T):
        f, f_T, f_TT = (self.X * part[:, 0] for part in self.roots(T))
        k = self.pairs
        return float(f @ k @ f), float(2 * f @ k @ f_T), float(2 * (f_T @ k @ f_T + f @ k @ f_TT))

    def _ideal(self, T):
        c = ideal_coefficients(self.species, T)[:, :, 0]
        cp0 = R * self.X @ (c[0] + T * (c[1] + T * (c[2] + T * (c[3] + T * c[4]))))
        return float(cp0), float(self.X @ ideal_enthalpies(c, T))


def ideal_coefficients(species, T):
    """Coefficients of NASA's polynomials at T: (7, ns, m)."""
    is_low = np.atleast_1d(np.real(T)) <= species.T_mid[:, None]
    return np.where(is_low, species.nasa_low.T[:, :, None], species.nasa_high.T[:, :, None])


def ideal_enthalpies(c, T):
    return R * (c[5] + T * (c[0] + T * (c[1] / 2 + T * (c[2] / 3 + T * (c[3] / 4 + T * c[4] / 5)))))


class BoilingMixture(Gas):
    """p, e, c, entropy slope of the mixture at (T, rho), one phase or two, as a liquid that boils: its bubble line is
    looked for, its dew line is not."""

    def __init__(self, species, X):
        self.one = OnePhase(species, np.asarray(X, float))
        self.W, self.Tc = self.one.W, float(species.Tc.max())
        self.start = None  # u of the last state of two phases
        self.kink = functools.lru_cache(1000)(self._kink)

    # ---- a phase of mole fractions x (ns, m) in the volume v of a mole, m states at a time; complex numbers serve
    def _pressure(self, T, v, x):
        f, b = x * self.one.roots(T)[0], self.one.b_i @ x
        return R * T / (v - b) - (f * (self.one.pairs @ f)).sum(0) / (v * (v + b) + b * (v - b))

    def _ln_f(self, T, v, x):
        """ln f_i less ln x_i."""
        roots, b_i = self.one.roots(T)[0], self.one.b_i
        of_pairs, b = roots * (self.one.pairs @ (x * roots)), b_i @ x
        a, far, near = (x * of_pairs).sum(0), v + (1 + ROOT2) * b, v + (1 - ROOT2) * b
        log, size = np.log(far / near), 1 / (2 * ROOT2 * b * R * T)
        of_b = 1 / (v - b) - size * a * (2 * ROOT2 * v / (far * near) - log / b)
        return np.log(R * T / (v - b)) + of_b * b_i[:, None] - 2 * size * log * of_pairs

    def _energy(self, T, v, x):
        roots, slopes, _ = self.one.roots(T)
        f, b = x * roots, self.one.b_i @ x
        with_pairs = self.one.pairs @ f
        a, a_T = (f * with_pairs).sum(0), 2 * (x * slopes * with_pairs).sum(0)
        L = np.log((v + (1 + ROOT2) * b) / (v + (1 - ROOT2) * b)) / (2 * ROOT2 * b)
        h0 = (x * ideal_enthalpies(ideal_coefficients(self.one.species, T), T)).sum(0)
        return h0 - R * T + (T * a_T - a) * L

    # ---- two phases, u (ns + 3, m)
    def _parts(self, u):
        """beta, x, y, v_l, v_v."""
        K, beta = np.exp(u[:-3]), u[-3]
        x = self.one.X[:, None] / (1 + beta * (K - 1))
        y = K * x
        return beta, x, y, self.one.b_i @ x * (1 + np.exp(u[-2])), self.one.b_i @ y * (1 + np.exp(u[-1]))

    def _residual(self, u, T, v):
        beta, x, y, v_l, v_v = self._parts(u)
        of_f = u[:-3] + self._ln_f(T, v_v, y) - self._ln_f(T, v_l, x)
        of_p = (self._pressure(T, v_v, y) - self._pressure(T, v_l, x)) * v_l / (R * T)
        return np.stack([*of_f, (y - x).sum(0), of_p, (beta * v_v + (1 - beta) * v_l) / v - 1])

    def _slopes(self, u, T, v):
        """The residual at u, T, v, and its slopes in u, T and v."""
        n = u.size
        moved = 1j * STEP * np.eye(n + 2)
        found = self._residual(u[:, None] + moved[:n], T + moved[n], v + moved[n + 1])
        return found[:, 0].real, found[:, :n].imag / STEP, found[:, n:].imag / STEP

    def both_at(self, T, rho):
        """As `at`, of two phases."""
        v, u = self.W / rho, self.start
        for _ in range(60):
            residual, in_u, in_state = self._slopes(u, T, v)
            step = np.linalg.solve(in_u, residual)
            u = u - step * min(1, 0.5 / np.abs(step).max())
            if np.abs(step).max() < 1e-8:  # the next would be its square
                break
        else:
            raise RuntimeError(f"no two phases at {T} K, {rho} kg/m3")

        self.start = u
        u_state = -np.linalg.solve(in_u, in_state)
        at_u = u[:, None] + 1j * STEP * u_state
        p, e = self._values(at_u, T + 1j * STEP * np.array([1, 0]))
        p_T, cv, p_v = p[0].imag / STEP, e[0].imag / STEP, p[1].imag / STEP
        c = math.sqrt(v * v * (T * p_T * p_T / cv - p_v) / self.W)

        return p[0].real, e[0].real / self.W, c, p_T, cv / self.W

    def _values(self, u, T):
        beta, x, y, v_l, v_v = self._parts(u)
        return self._pressure(T, v_l, x), beta * self._energy(T, v_v, y) + (1 - beta) * self._energy(T, v_l, x)

    # ---- the liquid
    def first_vapour(self, T, rho):
        """(ln of the sum of the first vapour, its y, its volume) of the liquid at T, rho: above 0 where it boils."""
        v, X = self.W / rho, self.one.X[:, None]
        p, of_x = self._pressure(T, v, X)[0], self._ln_f(T, v, X)
        if p <= 0:
            return math.inf, None, None
        w = X * np.exp(of_x) / p  # an ideal gas

        for _ in range(200):
            y, before = w / w.sum(), w
            volume = self._thin_volume(T, p, y[:, 0])
            w = X * np.exp(of_x - self._ln_f(T, volume, y))
            if np.abs(w - before).max() < 1e-14:
                break
        else:
            raise RuntimeError(f"the first vapour at {T} K, {rho} kg/m3 is not found")

        return math.log(w.sum()), y[:, 0], volume

    def _thin_volume(self, T, p, y):
        f, b, RT = y * self.one.roots(T)[0][:, 0], y @ self.one.b_i, R * T
        a = f @ self.one.pairs @ f
        roots = np.roots([p, p * b - RT, a - 3 * p * b**2 - 2 * RT * b, p * b**3 + RT * b**2 - a * b])
        return roots[np.abs(roots.imag) < 1e-9 * np.abs(roots)].real.max()

    def boils(self, T, rho):
        """Whether the liquid at T, rho boils."""
        return T < self.Tc and self.W / rho < 4 * self.one.b and self.first_vapour(T, rho)[0] > 0

    # ---- states
    def at(self, T, rho):
        return self.one.at(T, rho)

    def pieces(self, rho, T, to):
        """From the liquid into two phases the slopes jump; behind it the mixture stays in two."""
        kink = self.kink(rho, T) if to < rho and self.W / rho < 4 * self.one.b else None
        if kink is None or to >= kink:
            return [(self.one, rho, to)]
        return [(self.one, rho, kink), (Both(self), kink, to)]

    def _kink(self, rho, T):
        """Density at which the isentrope of the liquid begins to boil; None if it does not boil down to rho/2. The
        kink is the start of two phases."""
        x, end = math.log(rho), math.log(0.5 * rho)
        ends = np.linspace(x, end, 200)

        for x0, x1 in zip(ends[:-1], ends[1:]):
            after = march(self.one, math.exp(x0), T, math.exp(x1), 1, 1)[-1, 1]
            if self.boils(after, math.exp(x1)):
                break
            T = after
        else:
            return None

        low, high = x0, x1
        for _ in range(45):
            middle = 0.5 * (low + high)
            after = march(self.one, math.exp(x0), T, math.exp(middle), 1, 4)[-1, 1]
            low, high = (low, middle) if self.boils(after, math.exp(middle)) else (middle, high)

        kink = math.exp(low)
        T = march(self.one, math.exp(x0), T, kink, 1, 4)[-1, 1]
        _, y, volume = self.first_vapour(T, kink)
        free = [self.W / kink / self.one.b - 1, volume / (y @ self.one.b_i) - 1]
        self.at_kink = np.concatenate([np.log(y / self.one.X), [0.0], np.log(free)])
        return kink


class Both:
    """A BoilingMixture that stays in two phases, from its bubble point on."""

    stride = BRANCH

    def __init__(self, gas):
        gas.start = gas.at_kink
        self.at = gas.both_at
