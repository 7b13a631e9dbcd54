// The ideal gas in a flow solver's own variables, T and the partial densities rho_k. N = sum rho_k R/W_k [J/m3/K]:
//   p = N T,   rho e = rho h - N T,   rho cv = rho cp - N.
#pragma once
#include "gas/equations/derivatives.h"
#include "newton.h"

template <class R, class M, class Species> POINT_FN R ideal_flow_N(const M &m, const Species &rho_k) {
    R moles = R(0.0);
    FOR_SPECIES (k, M::NS) moles += rho_k[k] * m.inv_W[k];
    return R_UNIVERSAL * moles;
}

template <class M, class R, class Species>
POINT_FN void ideal_flow_temperature_p(const M &m, const R p, const Species &rho_k, R &T) {
    const R N = ideal_flow_N<R>(m, rho_k);
    T = select(N > 0.0 && p > 0.0, p / N, R(NOT_A_NUMBER));
}

// gamma_c = rho c^2/p = cp/cv, gruneisen = p_T/(rho cv)
template <class M, class R, class Species>
POINT_FN void ideal_flow_state(const M &m, const R T, const Species &rho_k, R &p_eos, R &e_vol, R &cv_vol, R &gamma_c,
                               R &gruneisen) {
    R cp, h;
    ideal_gas(m, T, rho_k, cp, h); // weighted by rho_k: per volume
    const R N = ideal_flow_N<R>(m, rho_k);
    p_eos = N * T;
    e_vol = h - N * T;
    cv_vol = cp - N;
    gruneisen = N / cv_vol;
    gamma_c = 1.0 + gruneisen;
}

// T of given rho e by Newton from the T that comes in, no step beyond 30 %, as flow_temperature_e.
template <class M, class R, class Species>
POINT_FN void ideal_flow_temperature_e(const M &m, const R e_vol, const Species &rho_k, R &T) {
    const R N = ideal_flow_N<R>(m, rho_k);
    newton<8>(T, !(T < 0.0), 0.3, 0.3, [&](const R at) INLINED {
        R cp, h;
        ideal_gas(m, at, rho_k, cp, h);
        return R((e_vol - (h - N * at)) / (cp - N));
    });
}

// p_k = dp/drho_k = R T/W_k at constant T; then eps_k = e_k - (rho cv/p_T) p_k, and h_Y is the species' own enthalpy.
template <class M, class R, class Species, class OutH, class OutE>
POINT_FN void ideal_flow_partials(const M &m, const R T, const Species &rho_k, OutH &h_Y, OutE &eps_k) {
    R cp, h;
    ideal_gas(m, T, rho_k, cp, h);
    const R N = ideal_flow_N<R>(m, rho_k);
    const R ratio = (cp - N) / N;
    const R ln_T = log_for_ideal(m, T);
    FOR_SPECIES (k, M::NS) {
        const R h_k = species_ideal<false>(m, T, ln_T, k);
        const R p_k = R_UNIVERSAL * T * m.inv_W[k];
        h_Y.set(k, h_k);
        eps_k.set(k, h_k - p_k - ratio * p_k);
    }
}
