"""An entry for each point kernel: its declared reads in, its writes out, by the equations of the oracle.

An entry is called as f(sp, options, **reads) with sp = species.arrays(...) holding `fit` for kinetic diffusion,
`viscosity` {law: (factor, constant)} and `table_error` of tabulated kernels (diffusion.takahashi).
An entry for many reads takes them as one namespace, f(sp, options, q): reads.at_once makes it callable as above.
A kernel without an entry fails the test that goes through the registry.
"""

from types import SimpleNamespace

import numpy as np

from . import (
    chung,
    cubic,
    diffusion,
    enhancement,
    ideal as dilute_gas,
    ideal_gas,
    lucas,
    mapped_kernels,
    oracle,
    residual,
    turbulence,
)
from .reads import at_once
from .species import R
from .tracked import LD, Tracked


def _X(Y, W, sp):
    return Y * W / sp.W[:, None]


def molar_mass(sp, o, Y):
    moles = (Y / sp.W[:, None]).sum(0)
    return dict(W=1 / moles, R_s=R * moles)


def mole_fractions(sp, o, Y, W):
    return dict(X=_X(Y, W, sp))


def mass_fractions(sp, o, X):
    return dict(Y=X * sp.W[:, None] / (X * sp.W[:, None]).sum(0))


def ideal(sp, o, T, Y):
    cp, h, _ = ideal_gas.nasa(T, sp)
    per_kg = Y * R / sp.W[:, None]
    return dict(cp_ig=(per_kg * cp).sum(0), h_ig=T * (per_kg * h).sum(0))


def ideal_entropy(sp, o, T, p, Y, W):
    return dict(s_ig=ideal_gas.mixture(T, p, _X(Y, W, sp), sp)[2] / W)


def total_enthalpy(sp, o, h, u, v, w):
    return dict(h0=h + (u * u + v * v + w * w) / 2)


def cubic_mixture(sp, o, T, Y):
    n = Y / sp.W[:, None]
    out = dict(
        zip(("a_mix", "a_T", "a_TT", "b_mix"), cubic.mixture_ab(T, n, sp, o["alpha"], o["equation"], o["mixing"]))
    )
    out["shift_mix"] = cubic.shift(n, sp, o) if o["translation"] != "none" else 0 * out["b_mix"]

    return out


def critical_state(sp, o, Y, R_s, delta_mix=None):
    return dict(
        zip(
            ("Tc_mix", "pc_mix", "vc_mix"),
            cubic.pseudo_critical(Y / sp.W[:, None] * (R / R_s), sp, o["equation"], o["mixing"]),
        )
    )


def root(sp, o, q):
    RT = q.R_s * q.T
    B = q.b_mix * q.p / RT
    u, undecided = cubic.compressibility(q.a_mix * q.p / (RT * RT), B, o["root"], cubic.shape_at(q, o))
    v_free = u * RT / q.p
    Z, vol = u + B, v_free + q.b_mix
    if o["translation"] != "none":
        Z, vol = Z - q.shift_mix * q.p / RT, vol - q.shift_mix

    return dict(Z=Z, vol=vol, v_free=v_free, undecided=undecided)


def cubic_delta(sp, o, Y, W):
    delta_1 = cubic.EQUATIONS[o["equation"]].delta1(sp)
    return dict(delta_mix=(W * Y * (delta_1 / sp.W)[:, None]).sum(0))


def reciprocals(sp, o, q):
    D, D_v = cubic.attraction(q.v_free + q.b_mix, q.b_mix, cubic.shape_at(q, o))
    return dict(rho=1 / q.vol, inv_free=1 / q.v_free, inv_D=1 / D, inv_centred=2 / D_v)


def heat_capacity_ratio(sp, o, cp, cv, p_v, vol):
    root = np.sqrt(-p_v * cp * cv)  # cp/cv and c with the roundings of one root for both
    return dict(gamma=(cp / root) * (-p_v * cp / root), c=vol * (-p_v * cp / root))


def departure(sp, o, q):
    eos = cubic.shape_at(q, o)
    return dict(cubic_L=cubic.departure_log(1 / q.inv_centred - LD("0.5") * eos.total * q.b_mix, q.b_mix, eos))


def slopes(sp, o, q):
    _, D_v = cubic.attraction(q.v_free + q.b_mix, q.b_mix, cubic.shape_at(q, o))
    attractive = q.a_mix * D_v * q.inv_D * q.inv_D
    repulsive = -q.R_s * q.T * q.inv_free * q.inv_free
    p_v = attractive + repulsive

    return dict(
        p_v_attractive=attractive,
        p_v_repulsive=repulsive,
        p_v=p_v,
        p_T=q.R_s * q.inv_free - q.a_T * q.inv_D,
        v_p=1 / p_v,
    )


def phase_flag(sp, o, q):
    flag, undecided = cubic.phase_flag(q, cubic.shape_at(q, o))
    return dict(phase_flag=Tracked(flag, exact=True), undecided=undecided)


def enthalpy(sp, o, q):
    return dict(h=q.h_ig + q.R_s * q.T * (q.Z - 1) + (q.T * q.a_T - q.a_mix) * q.cubic_L)


def entropy(sp, o, q):
    return dict(s=q.s_ig + q.R_s * np.log(q.v_free * q.p / (q.R_s * q.T)) + q.a_T * q.cubic_L)


def enthalpy_slopes(sp, o, q):
    # v p_v + T p_T written out, without its ideal parts
    attractive = (q.v_free + q.b_mix) * q.p_v_attractive
    h_p = (attractive - q.T * q.a_T * q.inv_D + q.b_mix * q.p_v_repulsive) * q.v_p
    return dict(h_p=h_p - q.shift_mix if o["translation"] != "none" else h_p, h_T=q.cp)


def chung_inputs(T, rho, M, m, form):
    """Intermediate results of the Chung kernels, by name, from m = pair_rules(...)."""
    sigma = np.cbrt(m.sigma3)
    y = chung.reduced_density(rho, M, m, form)

    return dict(
        sigma_m=sigma,
        eps_m=m.eps,
        omega_m=m.omega,
        M_m=m.M,
        mu_r4=m.mur4,
        kappa_m=m.kappa,
        inv_eps_m=1 / m.eps,
        inv_M_m=1 / m.M,
        scale_m=np.sqrt(m.M) / sigma**2,
        unit_m=np.sqrt(m.M * m.eps) / sigma**2,
        fill_m=y / rho,
        T_star=T / m.eps,
        inv_T_star=m.eps / T,
        root_m=np.sqrt(m.M * T) / sigma**2,
        eta0=chung.dilute(T, m)[0],
        fill=y,
        gap3=(1 - y) ** 3,
    )


def chung_mixture(sp, o, Y, W):
    m = chung.pair_rules(_X(Y, W, sp), sp, o["chung"])
    y = chung.reduced_density(1, W, m, o["chung"])
    sigma = np.cbrt(m.sigma3)

    return dict(
        sigma_m=sigma,
        eps_m=m.eps,
        omega_m=m.omega,
        M_m=m.M,
        mu_r4=m.mur4,
        kappa_m=m.kappa,
        inv_eps_m=1 / m.eps,
        inv_M_m=1 / m.M,
        scale_m=np.sqrt(m.M) / sigma**2,
        unit_m=np.sqrt(m.M * m.eps) / sigma**2,
        fill_m=y,
    )


def _polar(q):
    return SimpleNamespace(omega=q.omega_m, mur4=q.mu_r4, kappa=q.kappa_m)


def chung_dilute(sp, o, q):
    m = _polar(q)
    m.M, m.eps, m.sigma3 = q.scale_m**2, q.eps_m, LD(1)  # M and sigma enter as sqrt(M)/sigma^2
    return dict(
        T_star=q.T * q.inv_eps_m,
        inv_T_star=q.eps_m / q.T,
        root_m=q.scale_m * np.sqrt(q.T),
        eta0=chung.dilute(q.T, m)[0],
    )


def chung_density(sp, o, rho, fill_m):
    y = rho * fill_m
    return dict(fill=y, gap3=(1 - y) ** 3)


def chung_viscosity(sp, o, q):
    unit = q.unit_m * np.sqrt(LD("1.2593")) * LD("0.809") ** 2
    dilute_star = q.eta0 / (
        LD("26.69e-7") * q.unit_m
    )  # sqrt(T*) Fc/Omega_v: eta0 = 26.69e-7 Fc unit_m sqrt(T*)/Omega_v
    inv_gap = 1 / np.cbrt(q.gap3)

    mu = chung.reduced_viscosity(1 / q.inv_T_star, dilute_star, unit, q.fill, inv_gap, _polar(q), o["chung"])
    return dict(mu=mu)


def chung_conductivity(sp, o, q):
    cv_mol = q.cv * q.W if hasattr(q, "cv") else q.cp_ig * q.W - R  # of the real gas in form cantera
    m = _polar(q)
    m.M = 1 / q.inv_M_m
    q_root = LD("3.586e-3") * q.root_m * q.inv_M_m * np.sqrt(LD(1000)) * LD("0.809") ** 2
    T_r, inv_gap = q.T_star / LD("1.2593"), 1 / np.cbrt(q.gap3)

    return dict(lam=chung.reduced_conductivity(T_r, q.eta0, q_root, q.fill, inv_gap, cv_mol, m, o["chung"]))


def binary_diffusion(sp, o, T, p, Y, W):
    D = diffusion.binary(T, p, _X(Y, W, sp), sp, o["diffusion"], o["takahashi"], sp.fit, sp.table_error)
    return dict(D_ij=D)


def lucas_viscosity(sp, o, T, p, Y, W):
    return dict(
        mu=lucas.viscosity(T, p, _X(Y, W, sp), sp, chung.critical_volume(sp, o["chung"]), o["chung"] == "cantera")
    )


def _averaged(name, average):
    def entry(sp, o, T, p, Y, W):
        X = _X(Y, W, sp)
        D = diffusion.binary(T, p, X, sp, o["diffusion"], o["takahashi"], sp.fit, sp.table_error)
        return {name: average(X, D, sp)}

    return entry


def mixture_diffusion_mole(sp, o, Y, W, D):
    """From D by the two definitions: their ratio is (1 - x_k)/(1 - Y_k)."""
    if sp.ns == 1:
        return dict(D_mole=D)
    x = np.maximum(_X(Y, W, sp), diffusion.FLOOR)
    return dict(D_mole=D * W * diffusion._others(x) / diffusion._others(x * sp.W[:, None]))


def wilke_transport(sp, o, T, Y, W):
    X, law = _X(Y, W, sp), o["viscosity"]
    mu = dilute_gas.species_viscosity(T, law, *sp.viscosity[law])
    cp = ideal_gas.nasa(T, sp)[0] * R / sp.W[:, None]
    return dict(mu=dilute_gas.wilke(X, sp.W, mu), lam=dilute_gas.mathur(X, sp.W, mu, cp))


def fractions_but_last(sp, o, rhoY_but_last, rho):
    others = rhoY_but_last / rho if sp.ns > 1 else np.zeros((0, *rho.shape))
    return dict(Y=np.stack([*others, 1 - others.sum(0)]))


THERMAL = {
    "density_of_partial_densities": lambda sp, o, rhoY: dict(rho=rhoY.sum(0)),
    "fractions_of_partial_densities": lambda sp, o, rhoY, rho: dict(Y=rhoY / rho),
    "fractions_of_all_but_the_last": fractions_but_last,
    "velocity_of_momentum": lambda sp, o, rhou, rhov, rhow, rho: dict(u=rhou / rho, v=rhov / rho, w=rhow / rho),
    "energy_of_total_energy": lambda sp, o, rhoE, rho, u, v, w: dict(e=rhoE / rho - (u * u + v * v + w * w) / 2),
    "ideal_equation": lambda sp, o, T, p, R_s, cp_ig, h_ig: dilute_gas.state(T, p, R_s, cp_ig, h_ig),
    "ideal_equation_entropy": lambda sp, o, s_ig: dict(s=s_ig),
    "ideal_phase_flag": lambda sp, o, vol: dict(phase_flag=Tracked(np.zeros(vol.shape), exact=True)),
    "molar_mass": molar_mass,
    "mole_fractions": mole_fractions,
    "mass_fractions": mass_fractions,
    "ideal_gas": ideal,
    "ideal_gas_entropy": ideal_entropy,
    "total_enthalpy": total_enthalpy,
    "cubic_mixture": cubic_mixture,
    "cubic_delta": cubic_delta,
    "critical_state": critical_state,
    "cubic_root": at_once(root),
    "cubic_reciprocals": at_once(reciprocals),
    "cubic_pressure_slopes": at_once(slopes),
    "cubic_phase_flag": at_once(phase_flag),
    "molar_volume": lambda sp, o, W, vol: dict(v_mol=W * vol),
    "cubic_departure": at_once(departure),
    "cubic_enthalpy": at_once(enthalpy),
    "cubic_entropy": at_once(entropy),
    "cubic_residual_entropy": lambda sp, o, R_s, a_T, vol, inv_free, cubic_L: dict(
        residual_entropy=np.log(vol * inv_free) - a_T * cubic_L / R_s
    ),
    "cubic_cv": lambda sp, o, T, R_s, cp_ig, a_TT, cubic_L: dict(cv=cp_ig - R_s + T * a_TT * cubic_L),
    "heat_capacity_p": lambda sp, o, T, cv, p_T, v_p: dict(cp=cv - T * p_T * p_T * v_p),
    "heat_capacity_ratio": heat_capacity_ratio,
    "density_slopes": lambda sp, o, rho, p_T, v_p: dict(rho_p=-rho * rho * v_p, rho_T=rho * rho * p_T * v_p),
    "enthalpy_slopes": at_once(enthalpy_slopes),
    "internal_energy": lambda sp, o, p, vol, h: dict(e=h - p * vol),
    **mapped_kernels.THERMAL,
}
TRANSPORT = {
    "chung_mixture": chung_mixture,
    "chung_dilute": at_once(chung_dilute),
    "chung_density": chung_density,
    "chung_viscosity": at_once(chung_viscosity),
    "lucas_viscosity": lucas_viscosity,
    "chung_conductivity": at_once(chung_conductivity),
    "chung_conductivity_cantera": at_once(chung_conductivity),
    "binary_diffusion": binary_diffusion,
    "mixture_diffusion": _averaged("D", diffusion.mixture_averaged),
    "mixture_diffusion_mole": mixture_diffusion_mole,
    "mixture_diffusion_mass": _averaged("D_mass", diffusion.mass_gradient),
    "lewis_diffusion": lambda sp, o, lam, rho, cp: dict(
        D_lewis=oracle.over_species(lam / (rho * cp), o["lewis"], sp.ns)
    ),
    "schmidt_diffusion": lambda sp, o, mu, rho: dict(D_schmidt=oracle.over_species(mu / rho, o["schmidt"], sp.ns)),
    "wilke_transport": wilke_transport,
    "prandtl_number": lambda sp, o, mu, cp, lam: dict(Pr=mu * cp / lam),
    "lewis_numbers": lambda sp, o, lam, rho, cp, D: dict(Le=lam / (rho * cp) / D),
    **residual.KERNELS,
    **enhancement.KERNELS,
    **turbulence.KERNELS,
}
