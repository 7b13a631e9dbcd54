// Viscosity and conductivity of a dense mixture by Chung's method. Units of the model: sigma [A], eps/k [K], M [g/mol],
// Vc [cm3/mol]. Equation numbers: Poling, Prausnitz & O'Connell, 5th ed. (as cited by other codes; original not seen).
#pragma once
#include "gas/thermal/pairs.h"
#include "gas/thermal/ideal_gas.h"

// Divisions are the most expensive operations here. So each kernel brings its terms over one common denominator and
// takes one reciprocal.

// Mixing rules 9-5.25 to 9-5.44, x the mole fractions:
//   sigma_m^3 = sum_ij x_i x_j sigma_ij^3
//   eps_m sigma_m^3 = sum_ij x_i x_j eps_ij sigma_ij^3
//   eps_m sigma_m^2 sqrt(M_m) = sum_ij x_i x_j eps_ij sigma_ij^2 sqrt(M_ij)
// and alike for omega_m, the dipole moment and kappa_m. sigma_ij, eps_ij, ... are geometric means. So each double sum
// is a product of single sums, except the sum of M_m: it takes the constant matrix eps_ij sigma_ij^2 sqrt(M_ij)/(W_i
// W_j). fill_m = y/rho with y = rho_mol Vc_m/6 (9-6.20).
template <class M, class R, class Species>
POINT_FN void chung_mixture(const M &m, const Species &Y, const R W, R &sigma_m, R &eps_m, R &omega_m, R &M_m, R &mu_r4,
                            R &kappa_m, R &inv_eps_m, R &inv_M_m, R &scale_m, R &unit_m, R &fill_m) {
    // Single sums over the mass fractions: x_s = W Y_s/W_s, the factor W follows below.
    // The double sum of M_m is a sum of few squares where species are many.
    R t[5], pairs;
    if constexpr (M::CHUNG_SQUARES > 0)
        sums_and_squares<M::CHUNG_SQUARES, M>(m.chung_rows, m.chung_squares, Y, t, pairs);
    else {
        sums_of_rows<5, M>(m.chung_rows, Y, t);
        pairs = quadratic_one<M, R>(m.chung_pair, Y, [](auto, const auto y) { return y; });
    }
    pairs = W * W * pairs;
    const R t1 = t[0];
    const R t2 = t[1];
    const R t3 = t[2];
    const R t4 = t[3];
    const R t5 = t[4];

    // One division: r = 1/(t1 t2 pairs). sqrt(eps_m) = t2/t1.
    const R both = t1 * t2;
    const R r = inverse(both * pairs);
    const R inv_both = r * pairs;
    const R inv_t1 = inv_both * t2;
    const R root_eps = t2 * inv_t1;

    // sigma_m^3 = root^2
    const R root = W * t1;
    const R inv_sigma = inverse_two_thirds(root);
    const R inv_sigma2 = square(inv_sigma);
    const R sigma2 = square(root) * inv_sigma;
    sigma_m = sigma2 * inv_sigma;

    eps_m = square(root_eps);
    inv_eps_m = square(t1 * (inv_both * t1));
    omega_m = t3 * inv_t1;
    kappa_m = square(W * t5);

    // sqrt(M_m) = pairs/(eps_m sigma_m^2)
    const R root_M = pairs * (inv_eps_m * inv_sigma2);
    M_m = square(root_M);
    inv_M_m = square(r * both * (eps_m * sigma2));
    scale_m = root_M * inv_sigma2;
    unit_m = scale_m * root_eps;

    // mu_r^4 = 131.3^4 mu_m^4/(Vc_m Tc_m)^2, mu_m^4 = sigma_m^3 (W t4)^2, sigma_m^3 = root^2
    constexpr double dipole = 131.3 * 131.3 / 1.2593 * (0.809 * 0.809 * 0.809);
    mu_r4 = square(dipole * (t4 * inv_eps_m) * inv_t1);

    // Vc_m [m3/mol] = 1e-6 (sigma_m/0.809)^3
    constexpr double sixth = 1e-6 / (6.0 * 0.809 * 0.809 * 0.809);
    if constexpr (M::chung_cantera)
        fill_m = (1e3 * sixth) * (root * root) * inv_M_m; // Cantera divides by Chung's pseudo molar mass
    else fill_m = sixth * (root * t1);
}

// The exponent of the first term of 9-4.3.
struct NeufeldExponent {
    static constexpr double value = -0.14874;
};

// Omega_v = 1.16145 T*^-0.14874 + 0.52487 exp(-0.77320 T*) + 2.16178 exp(-2.43787 T*)   (Neufeld's fit, 9-4.3)
// T* is bounded to 1/16 ... 4095: beyond, the fit has no meaning.
template <class R> POINT_FN R collision_integral(const R T_star) {
    const R bounded = at_most(T_star, 4095.0);
    return 1.16145 * power(NeufeldExponent(), at_least(bounded, 0.0625)) +
           0.52487 * two_to(bounded, R(-0.77320 * LOG2E)) + 2.16178 * two_to(bounded, R(-2.43787 * LOG2E));
}

// Low-pressure viscosity 9-4.10, eta0 = 26.69e-7 Fc sqrt(M_m T)/(sigma_m^2 Omega_v) [Pa s], with
//   Fc = 1 - 0.2756 omega_m + 0.059035 mu_r^4 + kappa_m                                    (9-4.11)
// root_m = sqrt(M_m T)/sigma_m^2.
template <class M, class R>
POINT_FN void chung_dilute(const M &, const R T, const R eps_m, const R omega_m, const R mu_r4, const R kappa_m,
                           const R inv_eps_m, const R scale_m, R &T_star, R &inv_T_star, R &root_m, R &eta0) {
    T_star = T * inv_eps_m;
    const R inv_root = inverse_root(T);
    const R Omega_v = collision_integral(T_star);

    inv_T_star = eps_m * (inv_root * inv_root);
    root_m = scale_m * (T * inv_root);

    constexpr double c = 26.69e-7;
    eta0 = (c - 0.2756 * c * omega_m + 0.059035 * c * mu_r4 + c * kappa_m) * root_m * inverse(Omega_v);
}

// y = rho_mol Vc_m/6 and (1 - y)^3, 9-6.20. y is at least SMALLEST, so the limit of zero density needs no branch. From
// y = 1 on, which only an ideal gas reaches, the dense-gas functions are past their pole: NaN.
template <class M, class R> POINT_FN void chung_density(const M &, const R rho, const R fill_m, R &fill, R &gap3) {
    fill = at_least(rho * fill_m, SMALLEST);
    const R gap = 1.0 - fill;
    gap3 = select(gap > 0.0, gap * gap * gap, R(NOT_A_NUMBER));
}

// The dense-gas function of viscosity (9-6.22) and conductivity (10-5.8), G1 = (1 - y/2)/(1 - y)^3:
//   G2 = [c1 (1 - exp(-c4 y))/y + c2 G1 exp(c5 y) + c3 G1]/(c1 c4 + c2 + c3) = numerator/(y denominator)
// minus_c4 is -c4.
template <class R> struct ChungShape {
    R numerator, denominator;
};

template <class R>
POINT_FN ChungShape<R> chung_shape(const R y, const R gap3, const R c1, const R c2, const R c3, const R minus_c4,
                                   const R c5) {
    const R binary = LOG2E * y;
    return {y * (1.0 - 0.5 * y) * (c2 * two_to(c5, binary) + c3) - c1 * gap3 * two_to_less_one(minus_c4, binary),
            (c2 + c3 - c1 * minus_c4) * gap3};
}

// Viscosity of the dense gas, 9-6.18 to 9-6.23 with Table 9-6:
//   mu = eta0 (1/G2 + E6 y) + 36.344e-7 sqrt(M_m Tc_m)/Vc_m^(2/3) E7 y^2 G2 exp(E8 + E9/T* + E10/T*^2)    [Pa s]
//   E_i = a_i + b_i omega + c_i mu_r^4 + d_i kappa
// `polefree` bounds the arguments of E_1..E_10: omega' = max(omega, 0), kappa' = 0, mu_r4' = min(mu_r4, m/2). Here m is
// the smallest positive mu_r4 with E1 E4 + E2 + E3 = 0, so this pole is never reached. `polefree` also takes E_2 >= 0:
// E_2 is negative for polar mixtures, and in cold water exp(E_5 y) makes its term the largest, so that mu < 0.
template <class M, class R>
POINT_FN void chung_viscosity(const M &, const R omega_m, const R mu_r4, const R kappa_m, const R unit_m,
                              const R inv_T_star, const R eta0, const R fill, const R gap3, R &mu) {
    R w = omega_m;
    R d4 = mu_r4;
    if constexpr (M::chung_polefree) {
        w = at_least(w, 0.0);

        // m/2 is 0.045 at omega' = 0 and grows with omega'. m is a root of a quadratic equation whose coefficients are
        // polynomials in omega'. Two thirds to six sevenths of the terms cancel.
        if (any_of(d4 > 0.04)) {
            constexpr double a1 = 6.324, b1 = 50.412, c1 = -51.680, a4 = 6.623, b4 = 38.096, c4 = -8.464;
            const R linear = (c4 * a1 + c1 * a4 - 6.257e-3 - 168.48) + (c4 * b1 + c1 * b4) * w;
            const R constant =
                (a1 * a4 + 1.210e-3 + 5.283) + w * ((a1 * b4 + a4 * b1 - 1.154e-3 + 254.209) + (b1 * b4) * w);
            const R squared = at_least(linear * linear - (4.0 * c1 * c4) * constant, SMALLEST);
            d4 = smaller((0.25 / (c1 * c4)) * (-linear - squared * inverse_root(squared)), d4);
        }
    }

    // The coefficients. E_8..E_10 stand in an exponent of 2, so they are multiplied by log2(e).
    const auto E = [&](double a, double b, double c, double d) {
        const R sum = a + b * w + c * d4;
        if constexpr (M::chung_polefree) return sum;
        else return sum + d * kappa_m;
    };
    const R E1 = E(6.324, 50.412, -51.680, 1189.0);
    R E2 = E(1.210e-3, -1.154e-3, -6.257e-3, 0.03728);
    if constexpr (M::chung_polefree) E2 = at_least(E2, 0.0);
    const R E3 = E(5.283, 254.209, -168.48, 3898.0);
    const R minus_E4 = E(-6.623, -38.096, 8.464, -31.42);
    const R E5 = E(19.745, 7.630, -14.354, 31.53);
    const R E6 = E(-1.900, -12.537, M::chung_cantera ? 4.958 : 4.985, -18.15);
    constexpr double c = 26.69e-7;
    constexpr double unit = 36.344e-7 * (0.809 * 0.809);
    constexpr double root_of_Tc = 1.12218536793169784; // sqrt(1.2593)
    const R E7 = E(24.275 * c, 3.450 * c, -11.291 * c, 69.35 * c);
    const R E8 = E(0.7972 * LOG2E, 1.117 * LOG2E, 0.01235 * LOG2E, -4.117 * LOG2E);
    const R E9 = E(-0.2382 * LOG2E, 0.06770 * LOG2E, -0.8163 * LOG2E, 4.025 * LOG2E);
    const R E10 = E(0.06863 * LOG2E, 0.3479 * LOG2E, 0.5926 * LOG2E, -0.727 * LOG2E);

    // G2 = n/(y d); everything over the denominator n d.
    const ChungShape<R> G = chung_shape(fill, gap3, E1, E2, E3, minus_E4, E5);
    const R n = G.numerator;
    const R d = G.denominator;
    const R dilute = eta0 * d * (d + E6 * n);
    const R dense = (unit_m * E7) * (n * n) * two_to(E8 + inv_T_star * (E9 + inv_T_star * E10), R(1.0));
    mu = (unit * root_of_Tc / c) * (fill * inverse(n * d)) * (dilute + dense);
}

// Conductivity of the dense gas, 10-5.5 to 10-5.8 with Table 10-3:
//   lam = 31.2 eta0 Psi/M' (1/G2 + B6 y) + q B7 y^2 sqrt(Tr) G2                                         [W/m/K]
//   q = 3.586e-3 sqrt(Tc/M')/Vc^(2/3), M' in kg/mol
//   Psi = 1 + alpha (0.215 + 0.28288 alpha - 1.061 beta + 0.26665 Z)/(0.6366 + beta Z + 1.061 alpha beta)
//   alpha = cv/R - 3/2, beta = 0.7862 - 0.7109 omega + 1.3168 omega^2, Z = 2 + 10.5 Tr^2                (10-3.14)
// cv_mol is the ideal-gas cv [J/mol/K]; with chung = cantera the real-gas cv. `polefree` takes B_7 >= 0. B_7 and the
// dense term are negative beyond the dipoles to which the table was fitted (mu_r4 > 1.7, mixtures of hydrogen and
// water).
template <class M, class R>
POINT_FN R chung_lambda(const R cv_mol, const R omega_m, const R mu_r4, const R kappa_m, const R T_star,
                        const R inv_M_m, const R root_m, const R eta0, const R fill, const R gap3) {
    const R w = omega_m;
    const R d4 = mu_r4;
    const R k = kappa_m;

    // B_i of Table 10-3
    const R B1 = (M::chung_cantera ? 2.44166 : 2.4166) + 0.74824 * w - 0.91858 * d4 + 121.72 * k;
    const R B2 = -0.50924 - 1.5094 * w - 49.991 * d4 + 69.983 * k;
    const R B3 = 6.6107 + 5.6207 * w + 64.760 * d4 + 27.039 * k;
    const R minus_B4 = -14.543 + 8.9139 * w + 5.6379 * d4 - 74.344 * k;
    const R B5 = 0.79274 + 0.82019 * w - 0.69369 * d4 + 6.3173 * k;
    const R B6 = -5.8634 + 12.801 * w + 9.5893 * d4 + 65.529 * k;

    // q sqrt(Tr) = 3.586e-3 sqrt(Tc/M')/Vc^(2/3) sqrt(T/Tc), divided by the factor 31.2e3 of the dilute term
    constexpr double factor = 31.2e3;
    constexpr double q = 3.586e-3 * (0.809 * 0.809) * 31.6227766016837933 / factor; // sqrt(1e3)
    R B7 = 91.089 * q + 128.11 * q * w - 54.217 * q * d4 + 523.81 * q * k;
    if constexpr (M::chung_polefree) B7 = at_least(B7, 0.0);

    // Psi = above/below; G2 = n/(y d); everything over the denominator d n below.
    const ChungShape<R> H = chung_shape(fill, gap3, B1, B2, B3, minus_B4, B5);
    const R alpha = cv_mol * (1.0 / R_UNIVERSAL) - 1.5;
    const R beta = 0.7862 + w * (-0.7109 + 1.3168 * w);
    const R zeta = 2.0 + (10.5 / (1.2593 * 1.2593)) * square(T_star);
    const R below = 0.6366 + beta * (zeta + 1.061 * alpha);
    const R above = below + alpha * (0.215 + 0.28288 * alpha - 1.061 * beta + 0.26665 * zeta);
    const R n = H.numerator;
    const R d = H.denominator;
    const R n_below = n * below;
    const R dilute = (eta0 * d) * above * (d + B6 * n);
    const R dense = (root_m * B7) * n * n_below;
    return factor * inv_M_m * (fill * inverse(d * n_below)) * (dilute + dense);
}

template <class M, class R>
POINT_FN void chung_conductivity(const M &, const R W, const R cp_ig, const R omega_m, const R mu_r4, const R kappa_m,
                                 const R T_star, const R inv_M_m, const R root_m, const R eta0, const R fill,
                                 const R gap3, R &lam) {
    lam = chung_lambda<M>(cp_ig * W - R_UNIVERSAL, omega_m, mu_r4, kappa_m, T_star, inv_M_m, root_m, eta0, fill, gap3);
}

template <class M, class R>
POINT_FN void chung_conductivity_cantera(const M &, const R W, const R cv, const R omega_m, const R mu_r4,
                                         const R kappa_m, const R T_star, const R inv_M_m, const R root_m, const R eta0,
                                         const R fill, const R gap3, R &lam) {
    lam = chung_lambda<M>(cv * W, omega_m, mu_r4, kappa_m, T_star, inv_M_m, root_m, eta0, fill, gap3);
}
