// The ideal gas as an equation of state: vol = R_s T/p, cv = cp_ig - R_s. Quantities that follow by definition (gamma,
// rho_p, rho_T, c, e) have kernels that all equations of state share.
#pragma once
#include "gas/thermal/ideal_gas.h"

template <class M, class R>
POINT_FN void ideal_equation(const M &, const R T, const R p, const R R_s, const R cp_ig, const R h_ig, R &Z, R &vol,
                             R &rho, R &h, R &cp, R &cv, R &p_v, R &p_T, R &v_p, R &h_p, R &h_T) {
    const R RT = R_s * known_temperature(T);
    const R known = select(p > 0.0 && RT > 0.0, R(1.0), R(NOT_A_NUMBER));
    const R inv = known / (RT * p);
    const R inv_p = inv * RT;

    // Z is 1, or NaN for a state with T <= 0 or p <= 0; h_p is 0 or NaN.
    Z = known;
    h_p = Z * 0.0;

    vol = RT * inv_p;
    rho = p * (inv * p);
    p_v = -p * rho;
    p_T = R_s * rho;
    v_p = -vol * inv_p;

    h = h_ig * Z;
    cp = cp_ig * Z;
    h_T = cp;
    cv = cp - R_s;
}

template <class M, class R> POINT_FN void ideal_equation_entropy(const M &, const R s_ig, R &s) { s = s_ig; }

template <class M, class R> POINT_FN void ideal_phase_flag(const M &, const R vol, R &phase_flag) {
    phase_flag = select(vol > 0.0, R(0.0), R(NOT_A_NUMBER));
}
