// Vapour and liquid in equilibrium in a flow solver's own variables: partial densities rho_k and energies of a cubic
// metre. The state of a cell is found by the layer's bodies (gas/phases/phases.h); T, ln_kappa and eta of the stage
// before are where it starts.
#pragma once
#include "gas/phases/phases.h"

template <class M, class R> POINT_FN void flow_volume(const M &, const R rho, R &vol) { vol = 1.0 / rho; }

// Y that a body of the layer reads
template <class R, int NS> struct Fractions {
    R at[NS];
    POINT_FN R operator[](const int k) const { return at[k]; }
};

// T, p and the phases of given rho e and rho_k
template <class M, class R, class Species, class Out>
POINT_FN void equilibrium_flow_temperature_e(const M &m, const R e_vol, const Species &rho_k, R &T, Out &ln_kappa,
                                             R &eta, R &p, R &phases_status, R &phases_steps) {
    R rho = R(0.0);
    R vol;
    R unconverged;
    FOR_SPECIES (k, M::NS) rho += rho_k[k];

    const R inv_rho = 1.0 / rho;
    const R T_start = T;
    Fractions<R, M::NS> Y;
    FOR_SPECIES (k, M::NS) Y.at[k] = rho_k[k] * inv_rho;

    equilibrium_e_rho_warm(m, R(e_vol * inv_rho), rho, Y, T_start, ln_kappa, eta, T, p, vol, unconverged, phases_status,
                           phases_steps);
}

// Per cubic metre. Two speeds of sound over p: gamma_c of the fastest wave, where nothing passes from phase to phase,
// and gamma_eq of the equilibrium.
template <class M, class R>
POINT_FN void equilibrium_flow_waves(const M &, const R rho, const R p, const R e, const R cv, const R c,
                                     const R c_frozen, const R p_T, R &e_vol, R &cv_vol, R &gamma_c, R &gamma_eq,
                                     R &gruneisen) {
    e_vol = rho * e;
    cv_vol = rho * cv;
    gamma_c = rho * c_frozen * c_frozen / p;
    gamma_eq = rho * c * c / p;
    gruneisen = p_T / cv_vol;
}

// eps_k = d(rho e)/drho_k at constant p, h_k - (T p_T - cv p_v/p_T) v_k, and the enthalpy that diffuses with a species.
// In a cell of two phases the partial properties of a trace have no bound: a little hydrogen above boiling oxygen makes
// a large volume of vapour. There all species share eps of the whole, which is exact where the composition stays, and
// what diffuses does so in the vapour, with the enthalpy of the ideal gas.
template <class M, class R, class Species, class OutE, class OutH>
POINT_FN void equilibrium_flow_partials(const M &m, const R T, const R vol, const R h, const R cv, const R p_T,
                                        const R p_v, const Species &v_Y, const Species &h_Y, const R phases_status,
                                        OutE &eps_k, OutH &h_carried) {
    const R of_v = cv * p_v / p_T - T * p_T;
    const R of_all = h + of_v * vol;
    const R ln_T = log_for_ideal(m, T);
    const auto two = has_two_phases(phases_status);
    FOR_SPECIES (k, M::NS) {
        eps_k.set(k, select(two, of_all, R(h_Y[k] + of_v * v_Y[k])));
        h_carried.set(k, select(two, species_ideal<false>(m, T, ln_T, k), R(h_Y[k])));
    }
}
