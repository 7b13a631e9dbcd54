// The Jacobian of U = (rho, rho u, rho v, rho w, rho E, rho Y_1 .. rho Y_ns-1) in Q = (p, u, v, w, T, Y_1 .. Y_ns-1), E
// = h - p/rho + |u|^2/2, with rho_p replaced by rho_p_prime (Gamma of preconditioned schemes), and its inverse. Any
// equation of state. With d rho = rho_p' dp + rho_T dT + sum rho_Yk dY_k:  dU = (1, u, v, w, H, Y_j) d rho + rho (0,
// du, dv, dw, dh + u.du - dp/rho, dY_j).
#pragma once

// With Y_ns = 1 - sum of the others, the slope in Y_k is the derivative in Y_k less the derivative in Y_ns
template <class R, class Species> POINT_FN R less_last(const Species &of_Y, int k, int ns) {
    return of_Y[k] - of_Y[ns - 1];
}

template <class M, class R, class Vector, class Species, class Fractions, class Out>
POINT_FN void gamma_product(const M &, const Vector &dQ, const R rho, const R u, const R v, const R w, const R h,
                            const R rho_p_prime, const R rho_T, const R h_p, const R h_T, const Species &rho_Y,
                            const Species &h_Y, const Fractions &Y, Out &dU) {
    constexpr int N = M::NS - 1;
    const R dp = dQ[0];
    const R du = dQ[1];
    const R dv = dQ[2];
    const R dw = dQ[3];
    const R dT = dQ[4];
    R d_rho = rho_p_prime * dp + rho_T * dT;
    R dh = h_p * dp + h_T * dT;
    FOR_SPECIES (k, N) {
        const R dY = dQ[5 + k];
        d_rho += less_last<R>(rho_Y, k, M::NS) * dY;
        dh += less_last<R>(h_Y, k, M::NS) * dY;
    }
    dU.set(0, d_rho);
    dU.set(1, u * d_rho + rho * du);
    dU.set(2, v * d_rho + rho * dv);
    dU.set(3, w * d_rho + rho * dw);
    dU.set(4, (h + 0.5 * (u * u + v * v + w * w)) * d_rho + rho * (dh + (u * du + v * dv + w * dw)) - dp);
    FOR_SPECIES (k, N) dU.set(5 + k, Y[k] * d_rho + rho * dQ[5 + k]);
}

// What the inverse needs beside the vectors: 1/d with d = rho_p' rho h_T + rho_T (1 - rho h_p), the determinant of the
// two rows that are left for dp and dT once du and dY are known.
template <class R> struct GammaInverse {
    R inv_rho, inv_d, of_h_p, of_h_T;
};

template <class R>
POINT_FN GammaInverse<R> gamma_inverse_of(const R rho, const R rho_p_prime, const R rho_T, const R h_p, const R h_T) {
    const R of_h_p = 1.0 - rho * h_p;
    const R of_h_T = rho * h_T;
    const R d = rho_p_prime * of_h_T + rho_T * of_h_p;
    const R inv = 1.0 / (rho * d);
    return {inv * d, inv * rho, of_h_p, of_h_T};
}

template <class M, class R, class Vector, class Species, class Fractions, class Out>
POINT_FN void gamma_inverse_product(const M &, const Vector &dU, const R rho, const R u, const R v, const R w,
                                    const R h, const R rho_p_prime, const R rho_T, const R h_p, const R h_T,
                                    const Species &rho_Y, const Species &h_Y, const Fractions &Y, Out &dQ) {
    constexpr int N = M::NS - 1;
    const GammaInverse<R> g = gamma_inverse_of(rho, rho_p_prime, rho_T, h_p, h_T);
    const R d_rho = dU[0];
    const R mu = dU[1] - u * d_rho;
    const R mv = dU[2] - v * d_rho;
    const R mw = dU[3] - w * d_rho;

    // rho_p' dp + rho_T dT = a,  rho h_T dT - (1 - rho h_p) dp = b
    R a = d_rho;
    R b = dU[4] - (h + 0.5 * (u * u + v * v + w * w)) * d_rho - (u * mu + v * mv + w * mw);
    FOR_SPECIES (k, N) {
        const R m = dU[5 + k] - Y[k] * d_rho;
        const R dY = m * g.inv_rho;
        a -= less_last<R>(rho_Y, k, M::NS) * dY;
        b -= less_last<R>(h_Y, k, M::NS) * m;
        dQ.set(5 + k, dY);
    }
    dQ.set(0, (g.of_h_T * a - rho_T * b) * g.inv_d);
    dQ.set(1, mu * g.inv_rho);
    dQ.set(2, mv * g.inv_rho);
    dQ.set(3, mw * g.inv_rho);
    dQ.set(4, (rho_p_prime * b + g.of_h_p * a) * g.inv_d);
}

// Row i (of U), column j (of Q) at i nq + j.
template <class M, class R, class Species, class Fractions, class Out>
POINT_FN void gamma_matrix(const M &, const R rho, const R u, const R v, const R w, const R h, const R rho_p_prime,
                           const R rho_T, const R h_p, const R h_T, const Species &rho_Y, const Species &h_Y,
                           const Fractions &Y, Out &gamma_jacobian) {
    constexpr int N = M::NS - 1;
    constexpr int NQ = N + 5;
    const R velocity[3] = {u, v, w};
    const R H = h + 0.5 * (u * u + v * v + w * w);
    const auto column = [&](int j, const R d_rho, const R energy) { // of a variable that only moves rho and h
        gamma_jacobian.set(j, d_rho);
        UNROLL
        for (int i = 0; i < 3; ++i) gamma_jacobian.set((1 + i) * NQ + j, velocity[i] * d_rho);
        gamma_jacobian.set(4 * NQ + j, H * d_rho + energy);
        FOR_SPECIES (s, N) gamma_jacobian.set((5 + s) * NQ + j, Y[s] * d_rho);
    };
    column(0, rho_p_prime, rho * h_p - 1.0);
    column(4, rho_T, rho * h_T);
    UNROLL
    for (int j = 0; j < 3; ++j) {
        column(1 + j, R(0.0), rho * velocity[j]);
        gamma_jacobian.set((1 + j) * NQ + 1 + j, rho);
    }
    FOR_SPECIES (k, N) {
        const R d_rho = less_last<R>(rho_Y, k, M::NS);
        column(5 + k, d_rho, rho * less_last<R>(h_Y, k, M::NS));
        gamma_jacobian.set((5 + k) * NQ + 5 + k, Y[k] * d_rho + rho);
    }
}

// Row i (of Q), column j (of U) at i nq + j: gamma_inverse_product on unit vectors.
template <class M, class R, class Species, class Fractions, class Out>
POINT_FN void gamma_inverse_matrix(const M &, const R rho, const R u, const R v, const R w, const R h,
                                   const R rho_p_prime, const R rho_T, const R h_p, const R h_T, const Species &rho_Y,
                                   const Species &h_Y, const Fractions &Y, Out &gamma_inverse) {
    constexpr int N = M::NS - 1;
    constexpr int NQ = N + 5;
    const GammaInverse<R> g = gamma_inverse_of(rho, rho_p_prime, rho_T, h_p, h_T);
    const R velocity[3] = {u, v, w};
    const R zero = R(0.0);
    const auto pressure_and_temperature = [&](int j, const R a, const R b) {
        gamma_inverse.set(j, (g.of_h_T * a - rho_T * b) * g.inv_d);
        gamma_inverse.set(4 * NQ + j, (rho_p_prime * b + g.of_h_p * a) * g.inv_d);
    };
    R a = R(1.0);
    R b = 0.5 * (u * u + v * v + w * w) - h;
    FOR_SPECIES (k, N) {
        const R of_rho = less_last<R>(rho_Y, k, M::NS) * g.inv_rho;
        const R of_h = less_last<R>(h_Y, k, M::NS);
        a += of_rho * Y[k];
        b += of_h * Y[k];
        pressure_and_temperature(5 + k, -of_rho, -of_h);
        UNROLL
        for (int i = 0; i < 3; ++i) gamma_inverse.set((1 + i) * NQ + 5 + k, zero);
        FOR_SPECIES (s, N) gamma_inverse.set((5 + s) * NQ + 5 + k, zero);
        gamma_inverse.set((5 + k) * NQ + 5 + k, g.inv_rho);
        UNROLL
        for (int j = 1; j < 5; ++j) gamma_inverse.set((5 + k) * NQ + j, zero);
        gamma_inverse.set((5 + k) * NQ, -Y[k] * g.inv_rho);
    }
    pressure_and_temperature(0, a, b);
    pressure_and_temperature(4, zero, R(1.0));
    UNROLL
    for (int i = 0; i < 3; ++i) {
        pressure_and_temperature(1 + i, zero, -velocity[i]);
        UNROLL
        for (int j = 1; j < 5; ++j) gamma_inverse.set((1 + i) * NQ + j, zero);
        gamma_inverse.set((1 + i) * NQ + 1 + i, g.inv_rho);
        gamma_inverse.set((1 + i) * NQ, -velocity[i] * g.inv_rho);
    }
}

template <class M, class R>
POINT_FN void sound_speed_from_density_and_enthalpy(const M &, const R rho, const R rho_p, const R rho_T, const R h_p,
                                                    const R h_T, R &c) {
    const R rho_h_T = rho * h_T;
    const R squared = rho_h_T / (rho_p * rho_h_T + rho_T * (1.0 - rho * h_p));
    c = sqrt(select(rho_h_T > 0.0, squared, R(NOT_A_NUMBER)));
}

template <class M, class R> POINT_FN void no_preconditioning(const M &, const R rho_p, R &rho_p_prime) {
    rho_p_prime = rho_p;
}

// the rho_p that makes the sound speed V_p, by 1/c^2 = rho_p + rho_T (1 - rho h_p)/(rho h_T)
template <class M, class R>
POINT_FN void preconditioning(const M &, const R V_p, const R rho, const R rho_T, const R h_p, const R h_T,
                              R &rho_p_prime) {
    rho_p_prime = 1.0 / (V_p * V_p) - rho_T * (1.0 - rho * h_p) / (rho * h_T);
}
