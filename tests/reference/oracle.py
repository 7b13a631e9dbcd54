"""Every public quantity at T, p, Y from one call."""

from dataclasses import dataclass
from typing import Any

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


def over_species(x, number, ns):
    """x/number for each species, (ns, n)."""
    return np.stack([x / n for n in np.broadcast_to(np.asarray(number, LD), (ns,))])


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
    if (X is None) == (Y is None):
        raise ValueError("one of X and Y")

    sp = species.arrays(data, tracked)
    sp.cold = cold(o)
    number = _tracked if tracked else _plain

    mixed = _of_mass(number(Y), sp) if X is None else _of_moles(number(X), sp)
    q = _thermal(number(T), number(p), mixed, sp, o)

    if velocity is not None:
        u, v, w = (number(c) for c in velocity)
        q.u, q.v, q.w = u, v, w
        q.h0 = q.h + (u * u + v * v + w * w) / 2

    if not transport:
        return q

    _add_transport(q, sp, o)
    if fit is not None or o["diffusion"] == "fuller":
        coefficients = None if fit is None else number(fit, np.abs(np.asarray(fit, float)))
        _add_diffusion(q, sp, o, coefficients, table_error)

    return q


def _tracked(v, err=None):
    return Tracked(v, err, exact=err is None)


def _plain(v, err=None):
    return np.asarray(v, LD)


@dataclass(frozen=True)
class Composition:
    """Both fractions of a mixture, and its mean molar mass."""

    X: Any  # (ns, n)
    Y: Any  # (ns, n)
    W: Any  # kg/mol (n)


def _of_mass(Y, sp):
    X, W = ideal_gas.mole_fractions(Y, sp.W)
    return Composition(X, Y, W)


def _of_moles(X, sp):
    W = ideal_gas.mean_molar_mass(X, sp.W) / X.sum(0)
    X = X / X.sum(0)
    return Composition(X, X * sp.W[:, None] / W, W)


def _thermal(T, p, mixed, sp, o):
    """Thermal quantities of a kg, and the pseudo-critical point."""
    X, Y, W = mixed.X, mixed.Y, mixed.W
    is_mapped = o["equation"] == "mapped"
    cp0, h0, s0 = ideal_gas.mixture(T, p, X, sp)
    at = cubic.State(T, p, species.R / W, (cp0 / W, h0 / W, s0 / W))

    q = (mapped if is_mapped else cubic).state(at, Y / sp.W[:, None], sp, o)
    q.X, q.Y, q.W = X, Y, W
    q.cp_ig, q.h_ig, q.s_ig = at.ideal
    q.cp_ig_mol = cp0
    q.v_mol = W * q.vol

    if is_mapped:
        q.Tc_mix, q.pc_mix, q.vc_mix = mapped.pseudo_critical(X, sp)
    else:
        q.Tc_mix, q.pc_mix, q.vc_mix = cubic.pseudo_critical(X, sp, o["equation"], o["mixing"])

    return q


def _add_transport(q, sp, o):
    """Viscosity and conductivity by the options."""
    m = q.chung = chung.pair_rules(q.X, sp, o["chung"])
    cv = q.cv * q.W if o["chung"] == "cantera" else q.cp_ig_mol - species.R

    q.lam = chung.conductivity(q.T, q.rho, q.W, cv, m, o["chung"])
    if o["viscosity"] == "lucas":
        volumes = chung.critical_volume(sp, o["chung"])
        q.mu = lucas.viscosity(q.T, q.p, q.X, sp, volumes, o["chung"] == "cantera")
    elif o["viscosity"] == "residual":
        _add_residual_transport(q, sp, o)
    else:
        q.mu = chung.viscosity(q.T, q.rho, q.W, m, o["chung"])


def _add_residual_transport(q, sp, o):
    """mu and lam by residual entropy, with the quantities that the kernels of the critical enhancement hand each
    other."""
    q.scaling = residual.mixture(q.X, sp)
    q.mu, q.lam_background = residual.transport(q.T, q.rho, q.W, q.cp_ig_mol, q.residual_entropy, q.scaling)
    q.lam = q.lam_background

    if o["enhancement"] == "critical":
        q.l_mean, q.pv_mean = enhancement.means(q.X, sp)
        q.Tc_mean = q.scaling.Tc
        q.susceptibility = enhancement.susceptibility(q)
        q.lam = q.lam_background + enhancement.enhancement(q)


def _add_diffusion(q, sp, o, fit, table_error):
    """Diffusion coefficients of pairs, and of each species in the mixture."""
    q.D_ij = diffusion.binary(q.T, q.p, q.X, sp, o["diffusion"], o["takahashi"], fit, table_error)
    q.D = diffusion.mixture_averaged(q.X, q.D_ij, sp)
    q.D_mole = diffusion.mole_averaged(q.X, q.D_ij, sp)
    q.D_mass = diffusion.mass_gradient(q.X, q.D_ij, sp)
    q.D_lewis = over_species(q.lam / (q.rho * q.cp), o["lewis"], sp.ns)
    q.D_schmidt = over_species(q.mu / q.rho, o["schmidt"], sp.ns)
