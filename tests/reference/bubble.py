"""Bubble points of Peng-Robinson mixtures by Newton's method in volumes, from the equation as it is printed: pressures
of both phases, and fugacities as derivatives of the Helmholtz energy. No cubic is solved, no root is chosen, and
nothing is shared with the layer's flash: no test of stability, no Rachford-Rice, another set of unknowns.

Slopes by complex steps (Squire & Trapp 1998): exact to rounding.
"""

from types import SimpleNamespace

import numpy as np

R = 8.31446261815324
# Roots of 64 x^3 + 6 x^2 + 12 x - 1 (Peng & Robinson 1976: 0.45724 and 0.0778 when rounded)
ETA = 1 / (1 + (4 - 8**0.5) ** (1 / 3) + (4 + 8**0.5) ** (1 / 3))
OMEGA_A, OMEGA_B = (8 + 40 * ETA) / (49 - 37 * ETA), ETA / (3 + ETA)
STEPS = 60


class PengRobinson:
    """The equation at T. data: Tc, pc, omega, kij; the alpha of 1976 up to omega = 0.491, that of 1978 beyond."""

    def __init__(self, data, T):
        w = data.omega
        heavy = 0.379642 + w * (1.48503 - w * (0.164423 - 0.016666 * w))
        m = np.where(w > 0.491, heavy, 0.37464 + w * (1.54226 - 0.26992 * w))
        root_a = np.sqrt(OMEGA_A * (R * data.Tc) ** 2 / data.pc) * (1 + m * (1 - np.sqrt(T / data.Tc)))
        self.T, self.b = T, OMEGA_B * R * data.Tc / data.pc
        self.a = root_a[:, None] * root_a * (1 - data.kij)

    def pressure(self, v, x):
        a, b = x @ self.a @ x, x @ self.b
        return R * self.T / (v - b) - a / (v * (v + b) + b * (v - b))

    def ln_fugacities(self, v, x):
        """ln f_i less ln x_i, of one mole in the volume v."""
        a, b, a_i, RT = x @ self.a @ x, x @ self.b, 2 * self.a @ x, R * self.T
        far, near = v + (1 + 2**0.5) * b, v + (1 - 2**0.5) * b
        log, attraction = np.log(far / near), a / (8**0.5 * b * RT)
        of_b = 1 / (v - b) - attraction * (v / (far * near) * 8**0.5 - log / b)
        return np.log(RT / (v - b)) + of_b * self.b - attraction * log * a_i / a


def residual(eos, x, unknowns):
    """0 at the bubble point. unknowns: ln K_i, ln(v/b - 1) of the liquid and of the vapour."""
    ln_K, b = unknowns[:-2], eos.b
    y = np.exp(ln_K) * x
    v_l, v_v = x @ b * (1 + np.exp(unknowns[-2])), y @ b * (1 + np.exp(unknowns[-1]))
    p_l, p_v = eos.pressure(v_l, x), eos.pressure(v_v, y)
    of_f = ln_K + eos.ln_fugacities(v_v, y) - eos.ln_fugacities(v_l, x)
    return np.append(of_f, [y.sum() - 1, (p_l - p_v) * x @ b / (R * eos.T)])


def slopes(function, at):
    """d function_i/d at_j."""
    columns = [function(at + 1e-30j * one).imag / 1e-30 for one in np.eye(at.size)]
    return np.stack(columns, axis=1)


def bubble_point(data, T, x, start) -> SimpleNamespace:
    """p [Pa] and y of the first vapour of the liquid x at T [K]. start: p and y to begin from; a few percent will do.
    Raises RuntimeError if Newton's method does not settle there."""
    x, eos = np.asarray(x, float), PengRobinson(data, T)
    volumes = [np.roots(_cubic(eos, start.p, z)) for z in (x, start.y)]
    v_l, v_v = (pick(v.real[np.abs(v.imag) < 1e-9 * np.abs(v)]) for pick, v in zip((min, max), volumes))
    free = [v / (z @ eos.b) - 1 for v, z in ((v_l, x), (v_v, start.y))]
    unknowns = np.log(np.r_[start.y / x, free])

    for _ in range(STEPS):
        step = np.linalg.solve(slopes(lambda u: residual(eos, x, u), unknowns), residual(eos, x, unknowns))
        unknowns = unknowns - step * min(1, 0.3 / np.abs(step).max())
        if np.abs(step).max() < 1e-12:
            v_l = x @ eos.b * (1 + np.exp(unknowns[-2]))
            return SimpleNamespace(p=eos.pressure(v_l, x), y=np.exp(unknowns[:-2]) * x)
    raise RuntimeError(f"no bubble point near T = {T}, p = {start.p}")


def _cubic(eos, p, x):
    """Coefficients of v^3, v^2, v, 1."""
    a, b, RT = x @ eos.a @ x, x @ eos.b, R * eos.T
    return [p, p * b - RT, a - 3 * p * b**2 - 2 * RT * b, p * b**3 + RT * b**2 - a * b]
