// Chung dense-gas viscosity and conductivity of a mixture. Units of the model: sigma [A], eps/k [K], M [g/mol], Vc [cm3/mol].
// Equation numbers: Poling, Prausnitz & O'Connell, 5th ed. (as cited by other codes; original not seen).
#pragma once
#include "pairs.h"
#include "ideal_gas.h"

// Mixing rules 9-5.25 to 9-5.44. sigma_ij, eps_ij, ... are geometric, so five of the six double sums are products of
// single ones; only M_m needs the pairs, through the constant matrix sqrt(M_ij).
template <class M, class R, class Species>
POINT_FN void chung_mixture(const M &m, const Species &Y, const R W, R &sigma_m, R &eps_m, R &omega_m, R &M_m, R &mu_r4, R &kappa_m) {
    R t1 = R(0.0), t2 = R(0.0), t3 = R(0.0), t4 = R(0.0), t5 = R(0.0);
    FOR_SPECIES(s, M::NS) {
        const R y = Y[s];
        t1 += y*m.chung_sigma15[s];
        t2 += y*m.chung_eps[s];
        t3 += y*m.chung_omega[s];
        t4 += y*m.chung_dipole[s];
        t5 += y*m.chung_kappa[s];
    }
    const R pairs = quadratic_one<M, R>(m.chung_root_M, m.chung_half_root_M_diagonal, [&](int s) { return Y[s]*m.chung_eps_sigma[s]; });
    const R inv_t1 = 1.0/t1, sigma3 = square(W*t1);
    sigma_m = cbrt(sigma3);
    eps_m = square(t2*inv_t1);
    omega_m = t3*inv_t1;
    kappa_m = square(W*t5);
    M_m = square(W*W*pairs/(eps_m*sigma_m*sigma_m));
    const R Vc_Tc = sigma3*eps_m*(1.2593/(0.809*0.809*0.809)), mu_m2 = W*t4;  // mu_m^4 = sigma_m^3 mu_m2^2
    mu_r4 = (131.3*131.3*131.3*131.3)*sigma3*square(mu_m2/Vc_Tc);
}

// Low-pressure limit 9-4.10 with Neufeld's collision integral 9-4.3 and the factor 9-4.11.
template <class M, class R>
POINT_FN void chung_dilute(const M &, const R T, const R sigma_m, const R eps_m, const R omega_m, const R M_m, const R mu_r4, const R kappa_m,
                           R &T_star, R &Omega_v, R &Fc, R &eta0) {
    T_star = T/eps_m;
    Omega_v = 1.16145*exp(-0.14874*log(T_star)) + 0.52487*exp(-0.77320*T_star) + 2.16178*exp(-2.43787*T_star);
    Fc = 1.0 - 0.2756*omega_m + 0.059035*mu_r4 + kappa_m;
    eta0 = 26.69e-7*Fc*sqrt(M_m*T)/(sigma_m*sigma_m*Omega_v);
}

// (1 - exp(-x))/x: the series where the difference would cancel
template <class R> POINT_FN R one_minus_exp_over(const R x) {
    const R series = 1.0 - x*(1.0/2)*(1.0 - x*(1.0/3)*(1.0 - x*(1.0/4)*(1.0 - x*(1.0/5)*(1.0 - x*(1.0/6)*(1.0 - x*(1.0/7)
                     *(1.0 - x*(1.0/8)*(1.0 - x*(1.0/9)*(1.0 - x*(1.0/10)))))))));
    const auto close = fabs(x) < 0.1;
    const R apart = select(close, R(1.0), x);
    return select(close, series, (1.0 - exp(-apart))/apart);
}

// The dense-gas function 9-6.22 / 10-5.8 of the first five coefficients.
template <class R> POINT_FN R chung_G2(const R y, const R c1, const R c2, const R c3, const R c4, const R c5) {
    const R gap = 1.0/(1.0 - y), G1 = (1.0 - 0.5*y)*gap*gap*gap;
    return (c1*c4*one_minus_exp_over(c4*y) + G1*(c2*exp(c5*y) + c3))/(c1*c4 + c2 + c3);
}

// y = rho_mol Vc_m/6, 9-6.20
template <class M, class R> POINT_FN R chung_fill(const R rho, const R W, const R sigma_m, const R M_m) {
    const R Vc = sigma_m*sigma_m*sigma_m*(1.0/(0.809*0.809*0.809));
    if constexpr (M::chung_cantera) return rho/M_m*Vc*(1e-3/6.0);    // Cantera divides by Chung's pseudo molar mass
    else return rho/W*Vc*(1e-6/6.0);
}

// 9-6.18 to 9-6.23, Table 9-6. `polefree`: in E_1..E_10 only, omega' = max(omega, 0), kappa' = 0 and
// mu_r4' = min(mu_r4, m/2), m the smallest positive root in mu_r4 of E1 E4 + E2 + E3 = 0, which is then never reached.
template <class M, class R>
POINT_FN void chung_viscosity(const M &, const R rho, const R W, const R sigma_m, const R eps_m, const R omega_m, const R M_m,
                              const R mu_r4, const R kappa_m, const R T_star, const R Omega_v, const R Fc, R &mu) {
    R w = omega_m, d4 = mu_r4, k = kappa_m;
    if constexpr (M::chung_polefree) {
        w = at_least(w, 0.0);
        k = k*0.0;
        const R A1 = 6.324 + 50.412*w, A4 = 6.623 + 38.096*w;
        const R linear = -8.464*A1 - 51.680*A4 + (-6.257e-3 - 168.48), constant = A1*A4 + (1.210e-3 + 5.283) + (-1.154e-3 + 254.209)*w;
        constexpr double quadratic = 51.680*8.464;
        const R root = 2.0*constant/(sqrt(at_least(linear*linear - 4.0*quadratic*constant, 0.0)) - linear);
        d4 = select(d4 > 0.5*root, 0.5*root, d4);
    }
    const R E1 = 6.324 + 50.412*w - 51.680*d4 + 1189.0*k;
    const R E2 = 1.210e-3 - 1.154e-3*w - 6.257e-3*d4 + 0.03728*k;
    const R E3 = 5.283 + 254.209*w - 168.48*d4 + 3898.0*k;
    const R E4 = 6.623 + 38.096*w - 8.464*d4 + 31.42*k;
    const R E5 = 19.745 + 7.630*w - 14.354*d4 + 31.53*k;
    const R E6 = -1.900 - 12.537*w + (M::chung_cantera ? 4.958 : 4.985)*d4 - 18.15*k;
    const R E7 = 24.275 + 3.450*w - 11.291*d4 + 69.35*k;
    const R E8 = 0.7972 + 1.117*w + 0.01235*d4 - 4.117*k;
    const R E9 = -0.2382 + 0.06770*w - 0.8163*d4 + 4.025*k;
    const R E10 = 0.06863 + 0.3479*w + 0.5926*d4 - 0.727*k;
    const R y = chung_fill<M>(rho, W, sigma_m, M_m), G2 = chung_G2(y, E1, E2, E3, E4, E5), inv_T = 1.0/T_star;
    const R dense = E7*y*y*G2*exp(E8 + inv_T*(E9 + inv_T*E10));
    const R reduced = sqrt(T_star)/Omega_v*(Fc*(1.0/G2 + E6*y)) + dense;
    mu = reduced*36.344e-7*sqrt(M_m*(1.2593*eps_m))*(0.809*0.809)/(sigma_m*sigma_m);
}

// 10-5.5 to 10-5.8 and Psi under 10-3.14, Table 10-3; cv_mol is ideal-gas cv (the real one in mode `cantera`).
template <class M, class R>
POINT_FN void chung_lambda(const R cv_mol, const R rho, const R W, const R sigma_m, const R eps_m, const R omega_m, const R M_m,
                           const R mu_r4, const R kappa_m, const R T_star, const R eta0, R &lam) {
    const R w = omega_m, d4 = mu_r4, k = kappa_m;
    const R B1 = (M::chung_cantera ? 2.44166 : 2.4166) + 0.74824*w - 0.91858*d4 + 121.72*k;
    const R B2 = -0.50924 - 1.5094*w - 49.991*d4 + 69.983*k;
    const R B3 = 6.6107 + 5.6207*w + 64.760*d4 + 27.039*k;
    const R B4 = 14.543 - 8.9139*w - 5.6379*d4 + 74.344*k;
    const R B5 = 0.79274 + 0.82019*w - 0.69369*d4 + 6.3173*k;
    const R B6 = -5.8634 + 12.801*w + 9.5893*d4 + 65.529*k;
    const R B7 = 91.089 + 128.11*w - 54.217*d4 + 523.81*k;
    const R y = chung_fill<M>(rho, W, sigma_m, M_m), H2 = chung_G2(y, B1, B2, B3, B4, B5);
    const R Tr = T_star*(1.0/1.2593);
    const R alpha = cv_mol*(1.0/R_UNIVERSAL) - 1.5, beta = 0.7862 + w*(-0.7109 + 1.3168*w), zeta = 2.0 + 10.5*Tr*Tr;
    const R psi = 1.0 + alpha*((0.215 + 0.28288*alpha - 1.061*beta + 0.26665*zeta)/(0.6366 + beta*zeta + 1.061*alpha*beta));
    const R q = 3.586e-3*sqrt(1.2593e3*eps_m/M_m)*(0.809*0.809)/(sigma_m*sigma_m);
    lam = 31.2e3*eta0*psi/M_m*(1.0/H2 + B6*y) + q*B7*y*y*sqrt(Tr)*H2;
}

template <class M, class R>
POINT_FN void chung_conductivity(const M &, const R rho, const R W, const R cp_ig, const R sigma_m, const R eps_m, const R omega_m,
                                 const R M_m, const R mu_r4, const R kappa_m, const R T_star, const R eta0, R &lam) {
    chung_lambda<M>(cp_ig*W - R_UNIVERSAL, rho, W, sigma_m, eps_m, omega_m, M_m, mu_r4, kappa_m, T_star, eta0, lam);
}

template <class M, class R>
POINT_FN void chung_conductivity_cantera(const M &, const R rho, const R W, const R cv, const R sigma_m, const R eps_m, const R omega_m,
                                         const R M_m, const R mu_r4, const R kappa_m, const R T_star, const R eta0, R &lam) {
    chung_lambda<M>(cv*W, rho, W, sigma_m, eps_m, omega_m, M_m, mu_r4, kappa_m, T_star, eta0, lam);
}
