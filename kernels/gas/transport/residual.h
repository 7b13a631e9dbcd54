// Viscosity and conductivity of gases and liquids by residual-entropy scaling: that of the dilute gas, and a dense part
// that is a function of s+ = -s_res(T, rho)/R in units of u = (N_A/(v s+))^(2/3). Rosenfeld 1977, Bell 2019, Yang et
// al. 2021 (originals not seen). The functions of s+ and their numbers are fitted here (species/fluids.csv).
#pragma once
#include "gas/transport/chung.h"

// Parameters of the dilute gas by Chung's mixing rules, as in chung_mixture:
//   sigma_m^3 = sum_ij x_i x_j sigma_ij^3
//   eps_m sigma_m^3 = sum_ij x_i x_j eps_ij sigma_ij^3
//   eps_m sigma_m^2 sqrt(M_m) = sum_ij x_i x_j eps_ij sigma_ij^2 sqrt(M_ij)
// x_s = W Y_s/W_s; the factor W follows below.
template <class M, class R, class Species>
POINT_FN void residual_mixture(const M &m, const Species &Y, const R W, R &inv_eps_m, R &inv_M_m, R &scale_m) {
    R t[2], pairs;
    if constexpr (M::RESIDUAL_SQUARES > 0)
        sums_and_squares<M::RESIDUAL_SQUARES, M>(m.residual_sizes, m.residual_squares, Y, t, pairs);
    else {
        sums_of_rows<2, M>(m.residual_sizes, Y, t);
        pairs = quadratic_one<M, R>(m.residual_pair, Y, [](auto, const auto y) { return y; });
    }
    pairs = W * W * pairs;
    const R t1 = t[0];
    const R t2 = t[1];

    // One division: r = 1/(t1 t2 pairs). sqrt(eps_m) = t2/t1.
    const R both = t1 * t2;
    const R r = inverse(both * pairs);
    const R inv_both = r * pairs;
    const R eps_m = square(t2 * (inv_both * t2));
    inv_eps_m = square(t1 * (inv_both * t1));

    // sigma_m^3 = root^2
    const R root = W * t1;
    const R inv_sigma = inverse_two_thirds(root);
    const R sigma2 = square(root) * inv_sigma;

    // sqrt(M_m) = pairs/(eps_m sigma_m^2); scale_m = sqrt(M_m)/sigma_m^2
    inv_M_m = square(r * both * (eps_m * sigma2));
    scale_m = pairs * inv_eps_m * square(square(inv_sigma));
}

// Means by mole fractions: coefficients of the dense parts and of the internal heat, and Tc. Few species have n4, b3
// and f1.
template <class M, class R, class Species>
POINT_FN void residual_coefficients(const M &m, const Species &Y, const R W, R &n1_m, R &n2_m, R &n3_m, R &n4_m,
                                    R &b1_m, R &b2_m, R &b3_m, R &f0_m, R &f1_m, R &Tc_mean) {
    R sum[7];
    sums_of_rows<7, M>(m.residual_rows, Y, sum);

    n1_m = W * sum[0];
    n2_m = W * sum[1];
    n3_m = W * sum[2];
    b1_m = W * sum[3];
    b2_m = W * sum[4];
    f0_m = W * sum[5];
    Tc_mean = W * sum[6];

    n4_m = W * sum_of_few<typename M::WithN4, R>(m.residual_n4, Y);
    b3_m = W * sum_of_few<typename M::WithB3, R>(m.residual_b3, Y);
    f1_m = W * sum_of_few<typename M::WithF1, R>(m.residual_f1, Y);
}

// eta0 = 26.69e-7 sqrt(M_m T)/(sigma_m^2 Omega_v) [Pa s]: 9-4.10 of chung.h with Fc = 1, which sigma and eps hold
template <class M, class R>
POINT_FN void residual_dilute(const M &, const R T, const R inv_eps_m, const R scale_m, R &eta0) {
    eta0 = 26.69e-7 * (scale_m * sqrt(T)) * inverse(collision_integral(R(T * inv_eps_m)));
}

// excess_unit = u sqrt(W k T/N_A), v = W/rho. v s+ tends to a number at zero density. It is bounded to 5e-7 to 0.033
// m3/mol, the range of the power: what fluids have lies within, and where rounding leaves s+ of a thin gas no digits,
// the product with a function of s+ stays small.
template <class M, class R>
POINT_FN void residual_scale(const M &, const R T, const R rho, const R W, const R residual_entropy, R &excess_unit) {
    constexpr double unit = 8e-6;                            // m3/mol; 8e-6^(-2/3) = 2500
    constexpr double factor = 2500.0 * 3.414549857170028e-8; // sqrt(k) N_A^(1/6)
    const R volume = (1.0 / unit) * W * residual_entropy * inverse(rho);
    excess_unit = factor * sqrt(W * T) * inverse_two_thirds(at_most(at_least(volume, 0.0625), 4095.0));
}

// mu = eta0 + excess_unit (exp(P) - 1), P = s+ (n1 + n2 s+)/(1 + n3 s+) (1 + n4/T). No coefficient is negative, so mu
// is positive and has no pole. P is at most 80, where mu is 1e30 Pa s.
template <class M, class R>
POINT_FN void residual_viscosity(const M &, const R T, const R residual_entropy, const R eta0, const R excess_unit,
                                 const R n1_m, const R n2_m, const R n3_m, const R n4_m, R &mu) {
    const R s = at_least(residual_entropy, 0.0);
    const R below = (1.0 + n3_m * s) * T;
    const R P = s * (n1_m + n2_m * s) * (T + n4_m) * inverse(below);
    mu = eta0 + excess_unit * two_to_less_one(at_most(P, 80.0), R(LOG2E));
}

// lam = eta0/M_m (15/4 R + f (cv - 3/2 R)) + excess_unit R/W s+ (b1 + b2 s+)/(1 + b3 s+),  f = f0 + f1 y(ln(T/Tc))
// cv is the ideal gas's; its part beyond translation is at least 0. y(x) = x/(1 + (x/x_max)^4)^(1/4) with x_max = -1
// below Tc and 3 above. It replaces a clip to -1 and 3 of the fit, and its first four derivatives are continuous.
template <class M, class R>
POINT_FN void residual_conductivity(const M &, const R T, const R W, const R cp_ig, const R residual_entropy,
                                    const R inv_M_m, const R eta0, const R excess_unit, const R b1_m, const R b2_m,
                                    const R b3_m, const R f0_m, const R f1_m, const R Tc_mean, R &lam) {
    const R s = at_least(residual_entropy, 0.0);
    const R denominator = 1.0 + b3_m * s;

    // 1/(1 + b3 s), 1/Tc and 1/W with a single division
    const R both = Tc_mean * W;
    const R inv = inverse(both * denominator);
    const R inv_both = inv * denominator;
    const R x = log(T * (inv_both * W));
    const R share = select(x < 0.0, x, (1.0 / 3.0) * x);
    const R f = f0_m + f1_m * (x * inverse_fourth_root(1.0 + square(square(share))));

    const R internal = at_least(cp_ig * W - 2.5 * R_UNIVERSAL, 0.0);
    const R dilute = 1e3 * inv_M_m * eta0 * (3.75 * R_UNIVERSAL + f * internal);
    const R dense = R_UNIVERSAL * (inv * Tc_mean) * excess_unit * (s * (b1_m + b2_m * s));
    lam = dilute + dense;
}
