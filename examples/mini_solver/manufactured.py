"""A manufactured flow of two species with every gradient, and its sources: textbook Peng-Robinson in complex NumPy,
nothing of the layer. Derivatives by the complex step (no cancellation), gradients inside the viscous fluxes
analytically."""

import numpy as np

from .riemann import ROOT2, R

STEP = 1e-30


class Gas:
    """p, rho e and h_k of (T, rho_k), complex-safe below the bends of alpha and on the low NASA range."""

    def __init__(self, species):
        sp = self.sp = species
        kappa = 0.37464 + 1.54226 * sp.omega - 0.26992 * sp.omega**2
        self.kappa = kappa
        self.a = np.sqrt(np.outer(sp.a, sp.a)) * (1 - sp.kij)

    def at(self, T, rho_k):
        """p [Pa], rho e [J/m3] and h_k [J/kg] at T (...) and partial densities rho_k (2, ...)."""
        sp = self.sp

        def wide(numbers):
            return numbers.reshape(-1, *(1,) * T.ndim)

        # Amounts in mol/m3, and the square root of alpha with its slope.
        W, kappa = wide(sp.W), wide(self.kappa)
        n_k = rho_k / W
        n = n_k.sum(0)
        root = np.sqrt(T / wide(sp.Tc))
        f = 1 + kappa * (1 - root)
        f_T = -kappa * root / (2 * T)

        # Attraction A = sum_ij n_i n_j a_ij, its slopes in T and n_k; covolume B.
        Kf = np.einsum("ij,j...->i...", self.a, n_k * f)  # sum_j a_ij n_j f_j
        Kg = np.einsum("ij,j...->i...", self.a, n_k * f_T)
        A = (n_k * f * Kf).sum(0)
        A_T = 2 * (n_k * f * Kg).sum(0)
        A_k = 2 * f * Kf
        A_Tk = 2 * (f * Kg + f_T * Kf)
        b_k = wide(sp.b)
        B = (n_k * b_k).sum(0)
        D = 1 + 2 * B - B * B
        L = np.log((1 + (1 + ROOT2) * B) / (1 + (1 - ROOT2) * B)) / (2 * ROOT2 * B)

        # Pressure, and energy by the ideal gas and the departure.
        c = [wide(column) for column in sp.nasa_low.T]
        h0 = R * (c[5] + T * (c[0] + T * (c[1] / 2 + T * (c[2] / 3 + T * (c[3] / 4 + T * c[4] / 5)))))
        p = n * R * T / (1 - B) - A / D
        e = (n_k * h0).sum(0) - n * R * T + (T * A_T - A) * L

        # Partial enthalpies at constant T and p, from the slopes at constant T and volume.
        p_k = R * T / (1 - B) + n * R * T * b_k / (1 - B) ** 2 - A_k / D + A * (2 - 2 * B) * b_k / D**2
        e_k = h0 - R * T + (T * A_Tk - A_k) * L + (T * A_T - A) * (1 / D - L) / B * b_k
        p_T = n * R / (1 - B) - A_T / D
        h_k = e_k + T * p_T * p_k / (n_k * p_k).sum(0)

        return p, e, h_k / W


class Flow:
    """Fields q = q0 (1 + sum of sines), periodic on [0, length]^dimensions; mu, lam, D constant."""

    def __init__(self, species, dimensions, length, mu, lam, D):
        self.gas, self.dimensions, self.k = Gas(species), dimensions, 2 * np.pi / length
        self.mu, self.lam, self.D = mu, lam, D
        random = np.random.default_rng(2)
        self.base = {"T": 300.0, "r0": 60.0, "r1": 120.0, "u": 40.0, "v": -25.0, "w": 30.0}
        self.phase = {name: random.uniform(0, 2 * np.pi, 3) for name in self.base}
        self.size = {"T": 0.08, "r0": 0.1, "r1": 0.08, "u": 0.4, "v": 0.4, "w": 0.4}

    def value(self, name, x):
        total = sum(np.sin(self.k * x[d] + self.phase[name][d]) for d in range(self.dimensions))
        return self.base[name] * (1 + self.size[name] / self.dimensions * total)

    def slope(self, name, x, d):
        out = np.zeros(np.broadcast_shapes(*(c.shape for c in x)))
        if d < self.dimensions:
            wave = np.cos(self.k * x[d] + self.phase[name][d])
            out = out + self.base[name] * self.size[name] / self.dimensions * self.k * wave

        return out

    def state(self, x):
        T = self.value("T", x)
        rho_k = np.stack([self.value("r0", x), self.value("r1", x)])
        u = np.stack([self.value(c, x) + 0 * T for c in "uvw"])
        return T, rho_k, u

    def flux(self, x, d, viscous):
        """Total flux in direction d: rows rho_k, momentum, energy."""
        rows = self._convective(x, d)
        if viscous:
            rows = [convective + more for convective, more in zip(rows, self._viscous(x, d))]

        shape = np.broadcast_shapes(*(c.shape for c in x))
        return np.stack([np.broadcast_to(row, shape) for row in rows])

    def _convective(self, x, d):
        T, rho_k, u = self.state(x)
        p, e, _ = self.gas.at(T, rho_k)
        rho = rho_k.sum(0)

        momentum = list(rho * u * u[d])
        momentum[d] = momentum[d] + p
        energy = (e + 0.5 * rho * (u * u).sum(0) + p) * u[d]
        return [*(rho_k * u[d]), *momentum, energy]

    def _viscous(self, x, d):
        """Diffusion, with a sum of zero, less the stress; heat conducted and brought by diffusion, less its work."""
        T, rho_k, u = self.state(x)
        *_, h_k = self.gas.at(T, rho_k)
        W = self.gas.sp.W.reshape(-1, *(1,) * T.ndim)

        # Stress.
        du = [[self.slope(c, x, b) for b in range(3)] for c in "uvw"]
        tau = [self.mu * (du[c][d] + du[d][c]) for c in range(3)]
        tau[d] = tau[d] - self.mu * 2 / 3 * (du[0][0] + du[1][1] + du[2][2])

        # Diffusion along the gradients of the mole fractions.
        n_k = rho_k / W
        n = n_k.sum(0)
        slope_n = np.stack([self.slope("r0", x, d), self.slope("r1", x, d)]) / W
        X_d = (slope_n - n_k / n * slope_n.sum(0)) / n
        J = -n * W * self.D * X_d
        J = J - rho_k / rho_k.sum(0) * J.sum(0)

        q = -self.lam * self.slope("T", x, d) + (h_k * J).sum(0)
        work = sum(t * v for t, v in zip(tau, u))
        return [*J, *(-t for t in tau), q - work]

    def source(self, x, viscous):
        """div of the flux: what keeps these fields steady."""
        total = 0.0
        for d in range(self.dimensions):
            moved = [c + (1j * STEP if b == d else 0) for b, c in enumerate(x)]
            total = total + self.flux(moved, d, viscous).imag / STEP

        return total
