"""Two-dimensional incompressible flow in a periodic unit square by a pseudo-spectral method in NumPy: what the solver
is compared with at low Mach number. Vorticity form, 2/3 rule, viscosity by integrating factor, classical Runge-Kutta.
"""

import math

import numpy as np


class Spectral:
    """n x n points, at the centres of as many cells: x = (i + 1/2)/n. nu: kinematic viscosity [1, in units of side and
    speed]."""

    def __init__(self, n, nu):
        self.n = n
        kx, ky = np.meshgrid(2 * math.pi * np.fft.rfftfreq(n, 1 / n), 2 * math.pi * np.fft.fftfreq(n, 1 / n))
        self.kx, self.ky, self.k2 = kx, ky, kx * kx + ky * ky
        self.inverse = np.where(self.k2 > 0, 1 / np.where(self.k2 > 0, self.k2, 1), 0)
        self.keep = (np.abs(kx) < 2 * math.pi * n / 3) & (np.abs(ky) < 2 * math.pi * n / 3)
        self.nu = nu

    def velocity(self, w):
        """u, v of the vorticity's transform w (the mean flow is zero)."""
        psi = w * self.inverse
        return np.fft.irfft2(1j * self.ky * psi, s=(self.n,) * 2), np.fft.irfft2(-1j * self.kx * psi, s=(self.n,) * 2)

    def pressure(self, w):
        """p/rho with zero mean: laplace p = -(u_x^2 + 2 u_y v_x + v_y^2)."""
        u, v = (np.fft.rfft2(q) for q in self.velocity(w))

        def slope(q, k):
            return np.fft.irfft2(1j * k * q, s=(self.n,) * 2)

        right = slope(u, self.kx) ** 2 + 2 * slope(u, self.ky) * slope(v, self.kx) + slope(v, self.ky) ** 2

        return np.fft.irfft2(np.fft.rfft2(right) * self.inverse, s=(self.n,) * 2)

    def _rate(self, w):
        u, v = self.velocity(w)
        w_x, w_y = (np.fft.irfft2(1j * k * w, s=(self.n,) * 2) for k in (self.kx, self.ky))
        return -np.fft.rfft2(u * w_x + v * w_y) * self.keep

    def run(self, u, v, end, courant=0.8):
        """(w at the start, w at `end`) from u, v (n, n), which have to be free of divergence and mean."""
        w = first = (1j * self.kx * np.fft.rfft2(v) - 1j * self.ky * np.fft.rfft2(u)) * self.keep

        steps = math.ceil(end * self.n * float(np.hypot(u, v).max()) / courant)
        dt = end / steps
        half = np.exp(-self.nu * self.k2 * dt / 2)
        for _ in range(steps):
            a = self._rate(w)
            b = self._rate(half * (w + dt / 2 * a))
            c = self._rate(half * w + dt / 2 * b)
            d = self._rate(half * (half * w + dt * c))
            w = half * half * w + dt / 6 * (half * half * a + 2 * half * (b + c) + d)

        return first, w
