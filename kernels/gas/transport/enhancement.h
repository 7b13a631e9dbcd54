// Critical enhancement of the conductivity: the simplified crossover model of Olchowy & Sengers 1989, with the lengths
// of Perkins, Sengers, Abdulagatov & Huber 2013 (originals not seen). A mixture counts as one fluid.
#pragma once
#include "gas/transport/residual.h"

// V_c [m3/mol] of l
template <class R> POINT_FN R volume_of_length(const R l) {
    constexpr double root_of_avogadro = 84446884.95844973; // N_A^(1/3)
    const R side = root_of_avogadro * l;
    return side * side * side;
}

// Means by mole fractions: l = (V_c/N_A)^(1/3) [m] and p_c V_c [J/mol]
template <class M, class R, class Species>
POINT_FN void enhancement_means(const M &m, const Species &Y, const R W, R &l_mean, R &pv_mean) {
    R l = R(0.0);
    R pv = R(0.0);
    FOR_SPECIES (s, M::NS) {
        const R y = Y[s];
        l += y * m.enhancement_rows[s];
        pv += y * m.enhancement_rows[M::NS + s];
    }
    l_mean = W * l;
    pv_mean = W * pv;
}

// The conductivity without its enhancement is that of residual_conductivity.
template <class M, class R>
POINT_FN void residual_background(const M &m, const R T, const R W, const R cp_ig, const R residual_entropy,
                                  const R inv_M_m, const R eta0, const R excess_unit, const R b1_m, const R b2_m,
                                  const R b3_m, const R f0_m, const R f1_m, const R Tc_mean, R &lam_background) {
    residual_conductivity(m, T, W, cp_ig, residual_entropy, inv_M_m, eta0, excess_unit, b1_m, b2_m, b3_m, f0_m, f1_m,
                          Tc_mean, lam_background);
}

// Delta chi = p_c rho/rho_c^2 (drho/dp(T, rho) - T_R/T drho/dp(T_R, rho)) with T_R = 3/2 Tc, above which it is 0, and
// drho/dp = -rho^2/p_v. At T_R the repulsive part of p_v has the factor T_R/T and the attractive part a(T_R)/a, where a
// goes on as the exponential that has its slope at T.
template <class M, class R>
POINT_FN void critical_susceptibility(const M &, const R T, const R rho, const R W, const R a_mix, const R a_T,
                                      const R p_v, const R p_v_attractive, const R p_v_repulsive, const R Tc_mean,
                                      const R l_mean, const R pv_mean, R &susceptibility) {
    const R Tc_3_2 = 1.5 * Tc_mean;
    const R ratio = Tc_3_2 / T;
    const R a_ratio = two_to(R((Tc_3_2 - T) * a_T / a_mix), R(LOG2E));
    const R p_v_there = ratio * p_v_repulsive + a_ratio * p_v_attractive;

    const R critical = pv_mean * volume_of_length(l_mean) / (W * W); // p_c/rho_c^2
    const R chi = critical * (rho * rho * rho) * (ratio * p_v - p_v_there) / (p_v * p_v_there);
    susceptibility = select(p_v_there < 0.0, at_least(chi, SMALLEST), R(SMALLEST));
}

// lam = lam_b + rho cp R_D k T/(6 pi mu xi) (Omega - Omega_0), with c = cv/cp, y = q xi:
//   Omega   = 2/pi ((1 - c) atan y + c y)
//   Omega_0 = 2/pi (1 - exp(-u)),  u = 1/(1/y + (y rho_c/rho)^2/3)
//   xi      = xi_0 (Delta chi/Gamma_0)^(1/2),  xi_0 = 0.266 l,  1/q = 0.863 l - 0.024 nm,  Gamma_0 = 0.058,  R_D = 1.03
// 1/2 is the exponent of an equation of state that is analytic at the critical point, as this is; a fluid's own is
// nu/gamma = 0.508. The difference of the two functions is summed from parts that are small where y is.
template <class M, class R>
POINT_FN void critical_enhancement(const M &, const R T, const R rho, const R W, const R cp, const R cv, const R mu,
                                   const R lam_background, const R susceptibility, const R l_mean, R &lam) {
    constexpr double factor = 1.03 * 1.380649e-23 / 29.608813203268076; // R_D k/(6 pi) 2/pi
    const R xi = 0.266 * l_mean * sqrt((1.0 / 0.058) * susceptibility);
    const R y = xi / (0.863 * l_mean - 0.024e-9);

    // (y rho_c/rho)^2 y/3
    const R thinness = W / (rho * volume_of_length(l_mean));
    const R cube = (1.0 / 3.0) * y * square(y * thinness);
    const R u = y / (1.0 + cube);

    // (1 - c) (atan y - y) + (y - u) + (u - 1 + exp(-u))
    const R c = cv / cp;
    const R crossover = (1.0 - c) * (arctangent(y) - y) + u * cube + (u + two_to_less_one(u, R(-LOG2E)));
    lam = lam_background + factor * T * (rho * cp) * crossover / (mu * xi);
}
