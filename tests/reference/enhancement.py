"""Critical enhancement of the conductivity, as published but for the exponent 1/2; SI.

lam = lam_b + rho cp R_D k T/(6 pi mu xi) (Omega - Omega_0)
Omega = 2/pi ((cp - cv)/cp atan(q xi) + cv/cp q xi)
Omega_0 = 2/pi (1 - exp(-1/(1/(q xi) + (q xi rho_c/rho)^2/3)))
xi = xi_0 (Delta chi/Gamma_0)^(1/2)
Delta chi = p_c rho/rho_c^2 (drho/dp(T, rho) - T_R/T drho/dp(T_R, rho)), T_R = 3/2 Tc
"""

import numpy as np

from . import chung, mapped
from .reads import at_once
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


def susceptibility(q):
    """Delta chi. At T_R the parts of p_v have the factors T_R/T and a(T_R)/a = exp((T_R - T) a'/a)."""
    T, rho = q.T, q.rho
    there = q.Tc_mean * LD("1.5")
    volume = q.l_mean**3 * AVOGADRO
    pc, rho_c = q.pv_mean / volume, q.W / volume
    attractive = q.p_v_attractive * np.exp((there - T) * q.a_T / q.a_mix)
    p_v_there = q.p_v_repulsive * (there / T) + attractive

    slope, slope_there = -rho * rho / q.p_v, -rho * rho / p_v_there
    chi = pc * rho / (rho_c * rho_c) * (slope - there / T * slope_there)
    return np.where(value(p_v_there) < 0, np.maximum(chi, 0 * chi + LEAST), 0 * chi + LEAST)


def enhancement(q):
    """The enhancement of the conductivity."""
    cp, cv = q.cp, q.cv
    xi = LD("0.266") * q.l_mean * np.sqrt(q.susceptibility / GAMMA_0)
    y = xi / (LD("0.863") * q.l_mean - LD("0.024e-9"))
    rho_c = q.W / (q.l_mean**3 * AVOGADRO)

    omega = (cp - cv) / cp * np.arctan(y) + cv / cp * y
    omega_0 = -np.expm1(-1 / (1 / y + (y * rho_c / q.rho) * (y * rho_c / q.rho) / 3))
    return q.rho * cp * R_D * BOLTZMANN * q.T / (PI * 6 * q.mu * xi) * ((2 / PI) * (omega - omega_0))


def _means(sp, o, Y, W):
    length, pv = means(Y * W / sp.W[:, None], sp)
    return dict(l_mean=length, pv_mean=pv)


KERNELS = {
    "enhancement_means": _means,
    "critical_susceptibility": at_once(lambda sp, o, q: dict(susceptibility=susceptibility(q))),
    "critical_enhancement": at_once(lambda sp, o, q: dict(lam=q.lam_background + enhancement(q))),
}
