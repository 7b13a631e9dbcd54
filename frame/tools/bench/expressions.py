"""The rival that a Python programmer would write: the thermal collection as array expressions, in NumPy or CuPy.

Whole-array operations, the same strength-reduced algebra as the layer's (the double sums are one matrix product each);
the cubic by its closed form with two Newton steps. `xp` is the array module.
"""

from __future__ import annotations

import numpy as np

from kernels.gas.equations.constants import alpha_slope
from kernels.gas.equations.records import BEND
from kernels.gas.species import GAS_CONSTANT as R

ROOT2 = float(np.sqrt(2.0))
CHUNK = 1000  # points at a time on a CPU, so that intermediates stay in cache


def constants(mixture, xp) -> dict:
    """Data of the species for the expressions: columns (ns, 1) in the memory of the array module."""
    data, options = mixture.species, mixture.options

    def column(values):
        return xp.asarray(np.ascontiguousarray(values.reshape(-1, 1)))

    # sqrt(a alpha) = g - q sqrt(T); smooth alpha adds size (1/P(x) - 1 + x) where x = slope sqrt(T) - offset > 0.
    kappa = alpha_slope(data.omega, options["alpha"], options["equation"])
    root_a = np.sqrt(data.a)
    size = root_a * (1 - BEND)
    slope = kappa / np.sqrt(data.Tc) / (1 - BEND)

    return {
        "inv_W": column(1 / data.W),
        "b": column(data.b),
        # Attraction.
        "bends": options["alpha"] == "smooth",
        "g": column(root_a * (1 + kappa)),
        "q": column(root_a * kappa / np.sqrt(data.Tc)),
        "slope": column(slope),
        "offset": column((kappa + BEND) / (1 - BEND)),
        "size": column(size),
        "curvature": column(2 * size * slope**2),
        "K": xp.asarray(1 - data.kij) if data.kij.any() else None,
        # Ideal gas.
        "T_mid": column(data.T_mid),
        "nasa_low": [column(data.nasa_low[:, k]) for k in range(6)],
        "nasa_high": [column(data.nasa_high[:, k]) for k in range(6)],
    }


def thermal(xp, c, T, p, Y) -> dict:
    """The outputs of the collection `thermal` at T, p (n,), Y (ns, n). Root rule: lower Gibbs energy."""
    amounts = Y * c["inv_W"]
    W = 1 / amounts.sum(0)
    X = amounts * W

    cp_ig, h_ig = ideal_gas(xp, c, T, X)
    a, a_T, a_TT = attraction(xp, c, T, X)
    b = (X * c["b"]).sum(0)

    # Volume, and the slopes of p(T, v).
    Z = compressibility(xp, a * p / (R * T) ** 2, b * p / (R * T))
    v = Z * R * T / p
    L = xp.log((v + (1 + ROOT2) * b) / (v + (1 - ROOT2) * b)) / (2 * ROOT2 * b)
    D = v * v + 2 * b * v - b * b
    p_T = R / (v - b) - a_T / D
    p_v = -R * T / (v - b) ** 2 + 2 * a * (v + b) / D**2

    # Properties per kg, and the slopes of the density.
    rho = W / v
    h = (h_ig + p * v - R * T + (T * a_T - a) * L) / W
    cv = (cp_ig - R + T * a_TT * L) / W
    cp = cv - T * p_T * p_T / (p_v * W)
    gamma = cp / cv
    rho_p, rho_T = -rho / (v * p_v), rho * p_T / (v * p_v)

    return {
        "W": W,
        "Z": Z,
        "rho": rho,
        "h": h,
        "e": h - p / rho,
        "cp": cp,
        "cv": cv,
        "gamma": gamma,
        "c": xp.sqrt(gamma / rho_p),
        "rho_p": rho_p,
        "rho_T": rho_T,
        "h_p": (1 + T * rho_T / rho) / rho,
        "h_T": cp,
    }


def ideal_gas(xp, c, T, X) -> tuple:
    """(cp [J/(mol K)], h [J/mol]) of the mixture as an ideal gas. The polynomials are mixed first: two sets of
    coefficients, by each species' T_mid."""
    low = T <= c["T_mid"]
    a = [(X * xp.where(low, cold, hot)).sum(0) for cold, hot in zip(c["nasa_low"], c["nasa_high"])]

    cp = R * (a[0] + T * (a[1] + T * (a[2] + T * (a[3] + T * a[4]))))
    h = R * (a[5] + T * (a[0] + T * (a[1] / 2 + T * (a[2] / 3 + T * (a[3] / 4 + T * a[4] / 5)))))
    return cp, h


def attraction(xp, c, T, X) -> tuple:
    """(a, da/dT, d2a/dT2) of the mixture: a = sum_ij y_i y_j (1 - k_ij) with y_i = X_i sqrt(a_i alpha_i)."""
    root_T = xp.sqrt(T)
    signed = c["g"] - c["q"] * root_T  # sqrt(a_i alpha_i) but for its sign, or for its bend

    # y, and its slopes: z = -2 sqrt(T) dy/dT; w has what the bend adds to the second one.
    if c["bends"]:
        x = xp.maximum(c["slope"] * root_T - c["offset"], 0.0)
        inverse = 1 / (1 + x * (1 + x * (1 + x)))
        P_x = 1 + x * (2 + 3 * x)
        steep = P_x * inverse * inverse

        y = X * (signed + c["size"] * (inverse - 1 + x))
        z = X * c["q"] * steep
        w = X * c["curvature"] * (steep * P_x * inverse - (1 + 3 * x) * inverse * inverse)
    else:
        y = X * abs(signed)
        z = X * c["q"] * xp.sign(signed)
        w = 0 * X

    # Double sums over the species.
    if c["K"] is None:
        y, z, w = y.sum(0), z.sum(0), w.sum(0)
        yy, yz, zz = y * y, y * z, z * z + y * w
    else:
        Ky, Kz = c["K"] @ y, c["K"] @ z
        yy, yz, zz = (y * Ky).sum(0), (z * Ky).sum(0), (z * Kz).sum(0) + (w * Ky).sum(0)

    return yy, -yz / root_T, (zz + yz / root_T) / (2 * T)


def compressibility(xp, A, B):
    """Z by Cardano's formulas, both cases at all points; of two roots above B that of lower residual Gibbs energy."""
    c2, c1, c0 = B - 1, A - (3 * B + 2) * B, (B * B + B - A) * B
    Q = (c2 * c2 - 3 * c1) / 9
    S = ((2 * c2 * c2 - 9 * c1) * c2 + 27 * c0) / 54
    three = S * S < Q**3

    def polished(Z):
        for _ in range(2):
            Z = Z - (((Z + c2) * Z + c1) * Z + c0) / ((3 * Z + 2 * c2) * Z + c1)
        return Z

    def gibbs(Z):
        return Z - xp.log(Z - B) - A / (2 * ROOT2 * B) * xp.log((Z + (1 + ROOT2) * B) / (Z + (1 - ROOT2) * B))

    # Three roots: the outer two.
    root_Q = xp.sqrt(xp.where(three, Q, 1.0))
    angle = xp.arccos(xp.where(three, S / root_Q**3, 0.0))
    vapour = polished(-2 * root_Q * xp.cos((angle + 2 * np.pi) / 3) - c2 / 3)
    liquid = polished(-2 * root_Q * xp.cos(angle / 3) - c2 / 3)

    # A single root.
    big = xp.cbrt(abs(S) + xp.sqrt(xp.where(three, 0.0, S * S - Q**3)))
    single = polished(-xp.sign(S) * (big + Q / xp.where(big > 0, big, 1.0)) - c2 / 3)

    # The choice. Without a liquid root B + 1 stands in for it, so that the logarithms are defined.
    two = three & (liquid > B)
    safe_liquid, safe_vapour = xp.where(two, liquid, B + 1), xp.where(two, vapour, B + 1)
    chosen = xp.where(two & (gibbs(safe_liquid) < gibbs(safe_vapour)), liquid, vapour)
    return xp.where(three, chosen, single)


class Numpy:
    """The expressions on a CPU, a thousand points at a time."""

    name = "NumPy expressions"

    def prepare(self, mixture, collection: str, state: dict):
        """(work, results) as of fortran.Fortran; thermal only."""
        c, n = constants(mixture, np), state["T"].size
        results: dict[str, np.ndarray] = {}
        starts = range(0, n, CHUNK)
        parts = [[np.ascontiguousarray(state[name][..., at : at + CHUNK]) for name in ("T", "p", "Y")] for at in starts]

        def work():
            with np.errstate(all="ignore"):
                for first, part in zip(starts, parts):
                    for name, value in thermal(np, c, *part).items():
                        results.setdefault(name, np.empty(n))[first : first + CHUNK] = value

        return work, results


class Cupy:
    """The expressions on a GPU, all points at once."""

    name = "CuPy expressions"

    def __init__(self, backend):
        self.backend = backend

    def prepare(self, mixture, collection: str, state: dict):
        be, xp = self.backend, self.backend.arrays
        c = constants(mixture, xp)
        T, p, Y = (be.from_host(state[name]) for name in ("T", "p", "Y"))
        results: dict = {}  # name -> CuPy array

        def work():
            results.clear()
            results.update(thermal(xp, c, T, p, Y))

        return work, results
