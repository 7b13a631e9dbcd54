"""Every public quantity at T, p, Y from one call."""

import numpy as np

from . import chung, cubic, diffusion, enhancement, ideal_gas, lucas, mapped, residual, species
from .tracked import LD, Tracked

OPTIONS = {
    "equation": "pr",
    "translation": "none",
    "root": "gibbs",
    "alpha": "smooth",
    "mixing": "vdw",
    "chung": "polefree",
    "viscosity": "chung",
    "enhancement": "none",
    "diffusion": "kinetic",
    "takahashi": "smooth",
    "lewis": 1.0,
    "schmidt": 0.7,
    "cold_cp": "",  # fitted with equation mapped, else polynomial
}


def cold(o) -> bool:
    """Whether species have cold ranges with these options."""
    return (o["cold_cp"] or ("fitted" if o["equation"] == "mapped" else "polynomial")) == "fitted"


def _over(x, number, ns):
    """x/number for each species, (ns, n)."""
    return np.stack([x / n for n in np.broadcast_to(np.asarray(number, LD), (ns,))])


def _cubic(T, p, n, R_s, sp, o, ideal):
    """Thermal quantities of amounts n, with `undecided`, of an equation whose v is the root of a cubic."""
    delta = cubic.delta_mixture(n, sp, o["equation"])
    eos = cubic.shape(o["equation"], delta)
    a, a_T, a_TT, b = cubic.mixture_ab(T, n, sp, o["alpha"], o["equation"], o["mixing"])
    RT = R_s * T
    u, undecided = cubic.compressibility(a * p / (RT * RT), b * p / RT, o["root"], eos)
    shift = cubic.shift(n, sp, o) if o["translation"] != "none" else None
    q = cubic.thermal(T, p, R_s, ideal, a, a_T, a_TT, b, shift, u, eos)

    if delta is not None:
        q.delta_mix = delta
    q.undecided, q.shift_mix = undecided, 0 * b if shift is None else shift
    return q


def _mapped(T, p, n, R_s, sp, o, ideal):
    """The same of equation mapped."""
    q, undecided = mapped.state(T, p, n, R_s, sp, o, ideal)
    q.undecided = undecided
    return q


def _enhanced(q, X, sp):
    """lam with its critical enhancement; keeps what its kernels hand each other."""
    q.l_mean, q.pv_mean = enhancement.means(X, sp)
    parts = q.p_v, q.p_v_attractive, q.p_v_repulsive
    q.susceptibility = enhancement.susceptibility(
        q.T, q.rho, q.W, q.a_mix, q.a_T, *parts, q.scaling.Tc, q.l_mean, q.pv_mean
    )
    added = enhancement.enhancement(q.T, q.rho, q.W, q.cp, q.cv, q.mu, q.susceptibility, q.l_mean)
    return q.lam_background + added


def evaluate(
    data, T, p, Y=None, X=None, velocity=None, tracked=True, fit=None, transport=True, table_error=0.0, **options
):
    """A namespace of quantities by their public names, species axis first; plus `undecided` (bool, n).

    data: SpeciesData or the like; fit: (terms, ns, ns) coefficients of the pairs for diffusion "kinetic" (friction_fit)
    or "cantera" (binary_fit).
    table_error: see diffusion.takahashi.
    tracked: Tracked results (value and rounding bound); otherwise longdouble.
    """
    o = {**OPTIONS, **options}
    unknown = set(o) - set(OPTIONS)
    if unknown:
        raise ValueError(f"options {sorted(unknown)}")

    sp = species.arrays(data, tracked)
    sp.cold = cold(o)

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
        M = ideal_gas.mean_molar_mass(X, sp.W) / X.sum(0)
        X = X / X.sum(0)
        Y = X * sp.W[:, None] / M

    cp0, h0, s0 = ideal_gas.mixture(T, p, X, sp)
    n, R_s = Y / sp.W[:, None], species.R / M
    ideal = cp0 / M, h0 / M, s0 / M
    solve = _mapped if o["equation"] == "mapped" else _cubic
    q = solve(T, p, n, R_s, sp, o, ideal)
    q.R_s = R_s
    q.T, q.p, q.X, q.Y, q.W = T, p, X, Y, M
    q.cp_ig, q.h_ig, q.s_ig = cp0 / M, h0 / M, s0 / M
    q.v_mol = M * q.vol

    if velocity is not None:
        u, v, w = (number(c) for c in velocity)
        q.u, q.v, q.w = u, v, w
        q.h0 = q.h + (u * u + v * v + w * w) / 2

    if o["equation"] == "mapped":
        q.Tc_mix, q.pc_mix, q.vc_mix = mapped.pseudo_critical(X, sp)
    else:
        q.Tc_mix, q.pc_mix, q.vc_mix = cubic.pseudo_critical(X, sp, o["equation"], o["mixing"])
    if transport:
        m = q.chung = chung.pair_rules(X, sp, o["chung"])
        cv = q.cv * M if o["chung"] == "cantera" else cp0 - species.R

        if o["viscosity"] == "lucas":
            q.mu = lucas.viscosity(T, p, X, sp, chung.critical_volume(sp, o["chung"]), o["chung"] == "cantera")
        else:
            q.mu = chung.viscosity(T, q.rho, M, m, o["chung"])

        q.lam = chung.conductivity(T, q.rho, M, cv, m, o["chung"])
        if o["viscosity"] == "residual":
            q.scaling = residual.mixture(X, sp)
            q.mu, q.lam_background = residual.transport(T, q.rho, M, cp0, q.residual_entropy, q.scaling)
            q.lam = _enhanced(q, X, sp) if o["enhancement"] == "critical" else q.lam_background
        if o["diffusion"] != "fuller" and fit is None:
            return q

        fit_n = None if fit is None else number(fit, np.abs(np.asarray(fit, float)))
        q.D_ij = diffusion.binary(T, p, X, sp, o["diffusion"], o["takahashi"], fit_n, table_error)
        q.D = diffusion.mixture_averaged(X, q.D_ij, sp)
        q.D_mole = diffusion.mole_averaged(X, q.D_ij, sp)
        q.D_mass = diffusion.mass_gradient(X, q.D_ij, sp)
        q.D_lewis = _over(q.lam / (q.rho * q.cp), o["lewis"], sp.ns)
        q.D_schmidt = _over(q.mu / q.rho, o["schmidt"], sp.ns)

    return q
