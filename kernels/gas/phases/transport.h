// Transport coefficients of vapour and liquid in equilibrium: the laws of one phase at each phase's density and
// composition, and a rule for the whole. The rules are conventions: phases move together, and their interface has no
// resistance.
#pragma once
#include "gas/phases/flash.h"
#include "gas/transport/chung.h"
#include "gas/transport/diffusion.h"
#include "gas/transport/enhancement.h"

// Chung's viscosity and conductivity of a phase
template <class M, class R, class Species>
POINT_FN void chung_of_phase(const M &m, const R T, const R rho, const Species &Y, R &mu, R &lam) {
    const R W = 1.0 / mean_of<R, M>(m.inv_W, Y);
    R cp_ig, h_ig;
    ideal_gas(m, T, Y, cp_ig, h_ig);

    R sigma_m, eps_m, omega_m, M_m, mu_r4, kappa_m, inv_eps_m, inv_M_m, scale_m, unit_m, fill_m;
    chung_mixture(m, Y, W, sigma_m, eps_m, omega_m, M_m, mu_r4, kappa_m, inv_eps_m, inv_M_m, scale_m, unit_m, fill_m);

    R T_star, inv_T_star, root_m, eta0, fill, gap3;
    chung_dilute(m, T, eps_m, omega_m, mu_r4, kappa_m, inv_eps_m, scale_m, T_star, inv_T_star, root_m, eta0);
    chung_density(m, rho, fill_m, fill, gap3);
    chung_viscosity(m, omega_m, mu_r4, kappa_m, unit_m, inv_T_star, eta0, fill, gap3, mu);
    chung_conductivity(m, W, cp_ig, omega_m, mu_r4, kappa_m, T_star, inv_M_m, root_m, eta0, fill, gap3, lam);
}

// Adds the critical enhancement of a phase, by equation `mapped`.
template <class M, class R, class Species>
POINT_FN void enhance(const M &m, const R T, const R rho, const Species &Y, const R W, const R R_s, const R mu,
                      const R Tc_mean, R &lam) {
    MappedState<R> s;
    R e;
    mapped_state_of_density(m, T, rho, Y, R_s, delta_of(m, Y), s, e);

    R l_mean, pv_mean, susceptibility;
    enhancement_means(m, Y, W, l_mean, pv_mean);
    critical_susceptibility(m, T, rho, W, s.a, s.a_T, s.p_v, s.p_v_attractive, s.p_v_repulsive, Tc_mean, l_mean,
                            pv_mean, susceptibility);

    const R background = lam;
    critical_enhancement(m, T, rho, W, s.cp, s.cv, mu, background, susceptibility, l_mean, lam);
}

// Those by residual entropy, of equation `mapped`
template <class M, class R, class Species>
POINT_FN void residual_of_phase(const M &m, const R T, const R rho, const Species &Y, R &mu, R &lam) {
    const R moles = mean_of<R, M>(m.inv_W, Y), W = 1.0 / moles, R_s = R_UNIVERSAL * moles;
    R cp_ig, h_ig;
    ideal_gas(m, T, Y, cp_ig, h_ig);

    R a, a_T, a_TT, b, map_0, map_1, map_2, map_3, shift_T, shift_TT, residual_entropy;
    mapped_mixture(m, T, Y, a, a_T, a_TT, b, map_0, map_1, map_2, map_3, shift_T, shift_TT);
    mapped_residual_entropy_of_density(m, rho, T, R_s, a, a_T, b, map_0, map_1, map_2, map_3, shift_T, delta_of(m, Y),
                                       residual_entropy);

    R inv_eps_m, inv_M_m, scale_m, eta0, excess_unit;
    residual_mixture(m, Y, W, inv_eps_m, inv_M_m, scale_m);
    residual_dilute(m, T, inv_eps_m, scale_m, eta0);
    residual_scale(m, T, rho, W, residual_entropy, excess_unit);

    R n1_m, n2_m, n3_m, n4_m, b1_m, b2_m, b3_m, f0_m, f1_m, Tc_mean;
    residual_coefficients(m, Y, W, n1_m, n2_m, n3_m, n4_m, b1_m, b2_m, b3_m, f0_m, f1_m, Tc_mean);
    residual_viscosity(m, T, residual_entropy, eta0, excess_unit, n1_m, n2_m, n3_m, n4_m, mu);
    residual_conductivity(m, T, W, cp_ig, residual_entropy, inv_M_m, eta0, excess_unit, b1_m, b2_m, b3_m, f0_m, f1_m,
                          Tc_mean, lam);
    if constexpr (M::enhancement_critical) enhance(m, T, rho, Y, W, R_s, mu, Tc_mean, lam);
}

// mcadams: 1/mu = w/mu_v + (1 - w)/mu_l, w the vapour's share of the mass
// dukler:    mu = a mu_v + (1 - a) mu_l, a its share of the volume;  lam in any case like that
// mu and lam of the whole by those of its phases. law(rho, Y, mu, lam): of one phase
template <class M, class R, class Species, class Law>
POINT_FN void mix_phases(const M &, const Species &Y_l, const Species &Y_v, const R rho_l, const R rho_v,
                         const R beta_mass, const R beta_volume, const R phases_status, const Law &law, R &mu, R &lam) {
    law(rho_v, Y_v, mu, lam);
    const auto two = has_two_phases(phases_status);
    if (!any_of(two)) return;

    R mu_l, lam_l, mixed;
    law(rho_l, Y_l, mu_l, lam_l);
    if constexpr (M::two_phase_viscosity_mcadams) mixed = 1.0 / (beta_mass / mu + (1.0 - beta_mass) / mu_l);
    else mixed = beta_volume * mu + (1.0 - beta_volume) * mu_l;
    mu = select(two, mixed, mu);
    lam = select(two, R(beta_volume * lam + (1.0 - beta_volume) * lam_l), lam);
}

template <class M, class R, class Species>
POINT_FN void equilibrium_residual(const M &m, const R T, const Species &Y_l, const Species &Y_v, const R rho_l,
                                   const R rho_v, const R beta_mass, const R beta_volume, const R phases_status, R &mu,
                                   R &lam) {
    const auto law = [&](const R rho, const Species &Y, R &of_mu, R &of_lam) {
        residual_of_phase(m, T, rho, Y, of_mu, of_lam);
    };
    mix_phases(m, Y_l, Y_v, rho_l, rho_v, beta_mass, beta_volume, phases_status, law, mu, lam);
}

template <class M, class R, class Species>
POINT_FN void equilibrium_chung(const M &m, const R T, const Species &Y_l, const Species &Y_v, const R rho_l,
                                const R rho_v, const R beta_mass, const R beta_volume, const R phases_status, R &mu,
                                R &lam) {
    const auto law = [&](const R rho, const Species &Y, R &of_mu, R &of_lam) {
        chung_of_phase(m, T, rho, Y, of_mu, of_lam);
    };
    mix_phases(m, Y_l, Y_v, rho_l, rho_v, beta_mass, beta_volume, phases_status, law, mu, lam);
}

// D_k = w D_k(vapour) + (1 - w) D_k(liquid): the phases' diffusion fluxes at a common gradient, weighted with the mass
template <class M, class R, class Species, class Out>
POINT_FN void equilibrium_diffusion(const M &m, const R T, const R p, const Species &Y_l, const Species &Y_v,
                                    const R beta_mass, const R phases_status, Out &D) {
    Held<R, M::NS> of_v, of_l;
    mixture_diffusion(m, T, p, Y_v, R(1.0 / mean_of<R, M>(m.inv_W, Y_v)), of_v);
    const auto two = has_two_phases(phases_status);
    if (any_of(two)) {
        mixture_diffusion(m, T, p, Y_l, R(1.0 / mean_of<R, M>(m.inv_W, Y_l)), of_l);
        FOR_SPECIES (k, M::NS) of_v.set(k, select(two, R(beta_mass * of_v[k] + (1.0 - beta_mass) * of_l[k]), of_v[k]));
    }
    FOR_SPECIES (k, M::NS) D.set(k, of_v[k]);
}
