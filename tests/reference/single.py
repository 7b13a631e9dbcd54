"""One entry for each point kernel: its declared reads in, its writes out, by the equations of the oracle.

An entry is called as f(sp, options, **reads) with sp = species.arrays(...) holding `fit` for kinetic diffusion
and `table_error` of tabulated kernels (diffusion.takahashi).
A kernel without an entry fails the test that goes through the registry.
"""
from types import SimpleNamespace

import numpy as np

from . import chung, diffusion, ideal_gas, peng_robinson
from .species import R

MIXTURE = ("sigma_m", "eps_m", "omega_m", "M_m", "mu_r4", "kappa_m")


def _X(Y, W, sp):
    return Y*W/sp.W[:, None]


def _pair_sums(sigma_m, eps_m, omega_m, M_m, mu_r4, kappa_m):
    sigma3 = sigma_m**3
    return SimpleNamespace(sigma3=sigma3, eps=eps_m, omega=omega_m, M=M_m, mur4=mu_r4, kappa=kappa_m,
                           Tc=chung.LD("1.2593")*eps_m, Vc=sigma3/chung.LD("0.809")**3)


def molar_mass(sp, o, Y):
    return dict(W=1/(Y/sp.W[:, None]).sum(0))


def mole_fractions(sp, o, Y, W):
    return dict(X=_X(Y, W, sp))


def mass_fractions(sp, o, X):
    return dict(Y=X*sp.W[:, None]/(X*sp.W[:, None]).sum(0))


def ideal(sp, o, T, Y):
    cp, h, _ = ideal_gas.nasa(T, sp)
    per_kg = Y*R/sp.W[:, None]
    return dict(cp_ig=(per_kg*cp).sum(0), h_ig=T*(per_kg*h).sum(0))


def ideal_entropy(sp, o, T, p, Y, W):
    return dict(s_ig=ideal_gas.mixture(T, p, _X(Y, W, sp), sp)[2]/W)


def total_enthalpy(sp, o, h, u, v, w):
    return dict(h0=h + (u*u + v*v + w*w)/2)


def pr_mixture(sp, o, T, Y, W):
    return dict(zip(("a_mix", "a_T", "a_TT", "b_mix"), peng_robinson.mixture_ab(T, _X(Y, W, sp), sp, o["alpha"])))


def critical_state(sp, o, Y, W):
    return dict(zip(("Tc_mix", "pc_mix", "vc_mix"), peng_robinson.pseudo_critical(_X(Y, W, sp), sp)))


def compressibility(sp, o, T, p, a_mix, b_mix):
    u, undecided = peng_robinson.compressibility(T, p, a_mix, b_mix, o["root"])
    return dict(Z=u + b_mix*p/(R*T), undecided=undecided)


def slopes(sp, o, T, a_mix, a_T, b_mix, v_mol):
    free, D = v_mol - b_mix, v_mol*v_mol + 2*b_mix*v_mol - b_mix*b_mix
    return dict(p_v=-R*T/(free*free) + 2*a_mix*(v_mol + b_mix)/(D*D), p_T=R/free - a_T/D)


def enthalpy(sp, o, T, W, h_ig, Z, a_mix, a_T, pr_L):
    return dict(h=h_ig + (R*T*(Z - 1) + (T*a_T - a_mix)*pr_L)/W)


def entropy(sp, o, W, s_ig, Z, b_mix, v_mol, a_T, pr_L):
    return dict(s=s_ig + (R*np.log(Z*(1 - b_mix/v_mol)) + a_T*pr_L)/W)


def enthalpy_slopes(sp, o, T, W, a_mix, a_T, b_mix, v_mol, p_v, cp):
    # v p_v + T p_T written out, without its ideal parts
    free, D = v_mol - b_mix, v_mol*v_mol + 2*b_mix*v_mol - b_mix*b_mix
    common = -R*T*b_mix/(free*free) + 2*a_mix*v_mol*(v_mol + b_mix)/(D*D) - T*a_T/D
    return dict(h_p=common/(p_v*W), h_T=cp)


def chung_mixture(sp, o, Y, W):
    m = chung.pair_rules(_X(Y, W, sp), sp, o["chung"])
    return dict(zip(MIXTURE, (np.cbrt(m.sigma3), m.eps, m.omega, m.M, m.mur4, m.kappa)))


def chung_dilute(sp, o, T, **mixture):
    m = _pair_sums(**mixture)
    eta0, Fc, omega_v = chung.dilute(T, m)
    return dict(T_star=T/m.eps, Omega_v=omega_v, Fc=Fc, eta0=eta0)


def chung_viscosity(sp, o, rho, W, T_star, Omega_v, Fc, **mixture):
    return dict(mu=chung.reduced_viscosity(T_star, Omega_v, Fc, rho, W, _pair_sums(**mixture), o["chung"]))


def chung_conductivity(sp, o, rho, W, T_star, eta0, cp_ig=None, cv=None, **mixture):
    cv_mol = cp_ig*W - R if cv is None else cv*W
    return dict(lam=chung.reduced_conductivity(T_star/chung.LD("1.2593"), eta0, rho, W, cv_mol, _pair_sums(**mixture),
                                               o["chung"]))


def binary_diffusion(sp, o, T, p, Y, W):
    D = diffusion.binary(T, p, _X(Y, W, sp), sp, o["diffusion"], o["takahashi"], sp.fit, sp.table_error)
    return dict(D_ij=D)


def mixture_diffusion(sp, o, T, p, Y, W):
    X = _X(Y, W, sp)
    D = diffusion.binary(T, p, X, sp, o["diffusion"], o["takahashi"], sp.fit, sp.table_error)
    return dict(D=diffusion.mixture_averaged(X, D, sp))


THERMAL = {
    "molar_mass": molar_mass, "mole_fractions": mole_fractions, "mass_fractions": mass_fractions, "ideal_gas": ideal,
    "ideal_gas_entropy": ideal_entropy, "total_enthalpy": total_enthalpy, "pr_mixture": pr_mixture,
    "critical_state": critical_state, "pr_compressibility": compressibility, "pr_pressure_slopes": slopes,
    "molar_volume": lambda sp, o, T, p, Z: dict(v_mol=Z*R*T/p),
    "density": lambda sp, o, W, v_mol: dict(rho=W/v_mol),
    "pr_log": lambda sp, o, b_mix, v_mol: dict(pr_L=peng_robinson.departure_log(v_mol, b_mix)),
    "pr_enthalpy": enthalpy, "pr_entropy": entropy,
    "pr_cv": lambda sp, o, T, W, cp_ig, a_TT, pr_L: dict(cv=cp_ig + (T*a_TT*pr_L - R)/W),
    "heat_capacity_p": lambda sp, o, T, W, cv, p_v, p_T: dict(cp=cv - T*p_T*p_T/(p_v*W)),
    "heat_capacity_ratio": lambda sp, o, cp, cv: dict(gamma=cp/cv),
    # rho = W/v: drho/dp = -W/v^2 dv/dp with dv/dp = 1/p_v, and dv/dT at constant p = -p_T/p_v
    "density_slopes": lambda sp, o, W, v_mol, p_v, p_T: dict(rho_p=-W/(v_mol*v_mol*p_v), rho_T=W*p_T/(v_mol*v_mol*p_v)),
    "enthalpy_slopes": enthalpy_slopes,
    "sound_speed": lambda sp, o, gamma, rho_p: dict(c=np.sqrt(gamma/rho_p)),
    "internal_energy": lambda sp, o, p, rho, h: dict(e=h - p/rho),
}
TRANSPORT = {
    "chung_mixture": chung_mixture, "chung_dilute": chung_dilute, "chung_viscosity": chung_viscosity,
    "chung_conductivity": chung_conductivity, "chung_conductivity_cantera": chung_conductivity,
    "binary_diffusion": binary_diffusion, "mixture_diffusion": mixture_diffusion,
}
