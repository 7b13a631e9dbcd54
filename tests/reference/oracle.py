"""Every public quantity at T, p, Y from one call."""
import numpy as np

from . import chung, diffusion, ideal_gas, peng_robinson, species
from .tracked import LD, Tracked

OPTIONS = {"root": "gibbs", "alpha": "pr78", "mixing": "vdw", "chung": "polefree", "diffusion": "kinetic",
           "takahashi": "smooth"}


def evaluate(data, T, p, Y=None, X=None, velocity=None, tracked=True, fit=None, transport=True, table_error=0.0, **options):
    """A namespace of quantities by their public names, species axis first; plus `undecided` (bool, n).

    data: SpeciesData or the like; fit: (5, ns, ns) binary-diffusion coefficients for diffusion="kinetic".
    table_error: see diffusion.takahashi.
    tracked: Tracked results (value and rounding bound); otherwise longdouble.
    """
    o = {**OPTIONS, **options}
    unknown = set(o) - set(OPTIONS)
    if unknown or o["mixing"] != "vdw":
        raise ValueError(f"options {sorted(unknown)}, mixing {o['mixing']!r}")
    sp = species.arrays(data, tracked)

    def number(v, err=None):
        return Tracked(v, err, exact=err is None) if tracked else np.asarray(v, LD)
    T, p = number(T), number(p)
    if (X is None) == (Y is None):
        raise ValueError("one of X and Y")
    if X is None:
        Y = number(Y)
        X, M = ideal_gas.mole_fractions(Y, sp.W)
    else:
        X = number(X)
        M = ideal_gas.mean_molar_mass(X, sp.W)/X.sum(0)
        X = X/X.sum(0)
        Y = X*sp.W[:, None]/M
    cp0, h0, s0 = ideal_gas.mixture(T, p, X, sp)
    q = peng_robinson.state(T, p, X, M, (cp0, h0, s0), sp, o["alpha"], o["root"])
    q.T, q.p, q.X, q.Y, q.W = T, p, X, Y, M
    q.cp_ig, q.h_ig, q.s_ig = cp0/M, h0/M, s0/M
    q.v_mol, q.pr_L = q.v, q.L
    del q.v, q.L                                               # v is a velocity in the public names
    if velocity is not None:
        u, v, w = (number(c) for c in velocity)
        q.u, q.v, q.w = u, v, w
        q.h0 = q.h + (u*u + v*v + w*w)/2
    q.Tc_mix, q.pc_mix, q.vc_mix = peng_robinson.pseudo_critical(X, sp)
    if transport:
        m = q.chung = chung.pair_rules(X, sp, o["chung"])
        cv = q.cv*M if o["chung"] == "cantera" else cp0 - species.R
        q.mu = chung.viscosity(T, q.rho, M, m, o["chung"])
        q.lam = chung.conductivity(T, q.rho, M, cv, m, o["chung"])
        if o["diffusion"] == "kinetic" and fit is None:
            return q
        fit_n = None if fit is None else number(fit, np.abs(np.asarray(fit, float)))
        q.D_ij = diffusion.binary(T, p, X, sp, o["diffusion"], o["takahashi"], fit_n, table_error)
        q.D = diffusion.mixture_averaged(X, q.D_ij, sp)
    return q


