"""Critical enhancement of the conductivity, as published but for the exponent 1/2; SI.

lam = lam_b + rho cp R_D k T/(6 pi mu xi) (Omega - Omega_0)
Omega = 2/pi ((cp - cv)/cp atan(q xi) + cv/cp q xi)
Omega_0 = 2/pi (1 - exp(-1/(1/(q xi) + (q xi rho_c/rho)^2/3)))
xi = xi_0 (Delta chi/Gamma_0)^(1/2)
Delta chi = p_c rho/rho_c^2 (drho/dp(T, rho) - T_R/T drho/dp(T_R, rho)), T_R = 3/2 Tc
"""

import numpy as np

from . import chung, mapped
from .residual import AVOGADRO, BOLTZMANN
from .tracked import LD, Tracked, value

PI = LD("3.14159265358979323846")
R_D, GAMMA_0 = LD("1.03"), LD("0.058")
LEAST = LD("1e-300")


def means(X, sp):
    """(l = (V_c/N_A)^(1/3) [m], p_c V_c [J/mol]), means by mole fractions X (ns, n)."""
    volumes, pc = [], []
    estimated = chung.critical_volume(sp, "polefree")

    for s, name in enumerate(sp.names):
        row = mapped.rows().get(mapped.ROWS.get(name.upper(), name))
        volumes.append(row["M"] / row["rhoc"] if row else estimated[s])
        pc.append(row["pc"] if row else sp.pc[s])

    if isinstance(sp.W, Tracked):
        volumes, pc = (np.stack([x if isinstance(x, Tracked) else Tracked(x) for x in row]) for row in (volumes, pc))
    volumes, pc = (x if isinstance(x, Tracked) else np.array(x, LD) for x in (volumes, pc))

    length = np.cbrt(volumes / AVOGADRO)
    return (X * length[:, None]).sum(0), (X * (pc * volumes)[:, None]).sum(0)


def susceptibility(T, rho, W, a, a_T, p_v, attractive, repulsive, Tc, length, pv):
    """Delta chi. At T_R the parts of p_v have the factors T_R/T and a(T_R)/a = exp((T_R - T) a'/a)."""
    there = Tc * LD("1.5")
    volume = length**3 * AVOGADRO
    pc, rho_c = pv / volume, W / volume
    p_v_there = repulsive * (there / T) + attractive * np.exp((there - T) * a_T / a)

    slope, slope_there = -rho * rho / p_v, -rho * rho / p_v_there
    chi = pc * rho / (rho_c * rho_c) * (slope - there / T * slope_there)
    return np.where(value(p_v_there) < 0, np.maximum(chi, 0 * chi + LEAST), 0 * chi + LEAST)


def enhancement(T, rho, W, cp, cv, mu, chi, length):
    """What is added to the conductivity."""
    xi = LD("0.266") * length * np.sqrt(chi / GAMMA_0)
    y = xi / (LD("0.863") * length - LD("0.024e-9"))
    rho_c = W / (length**3 * AVOGADRO)

    omega = (cp - cv) / cp * np.arctan(y) + cv / cp * y
    omega_0 = -np.expm1(-1 / (1 / y + (y * rho_c / rho) * (y * rho_c / rho) / 3))
    return rho * cp * R_D * BOLTZMANN * T / (PI * 6 * mu * xi) * ((2 / PI) * (omega - omega_0))


def _means(sp, o, Y, W):
    length, pv = means(Y * W / sp.W[:, None], sp)
    return dict(l_mean=length, pv_mean=pv)


def _susceptibility(sp, o, T, rho, W, a_mix, a_T, p_v, p_v_attractive, p_v_repulsive, Tc_mean, l_mean, pv_mean):
    chi = susceptibility(T, rho, W, a_mix, a_T, p_v, p_v_attractive, p_v_repulsive, Tc_mean, l_mean, pv_mean)
    return dict(susceptibility=chi)


def _enhanced(sp, o, T, rho, W, cp, cv, mu, lam_background, susceptibility, l_mean):
    return dict(lam=lam_background + enhancement(T, rho, W, cp, cv, mu, susceptibility, l_mean))


KERNELS = {
    "enhancement_means": _means,
    "critical_susceptibility": _susceptibility,
    "critical_enhancement": _enhanced,
}
