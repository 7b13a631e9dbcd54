// Convective fluxes at the faces on the low side of cells t: central (KEEP), blended with HLLC of WENO5-Z states where
// the sensor asks for it. Flux rows: NS species, 3 momentum, A, E.
// Double flux: cell i sees the internal energy of its neighbours as p/(g_i - 1) + rho e0_i. Its energy flux is then
// A/(g_i - 1) + (mass flux) e0_i + E, where both cells of a face share A and E. e0 is frozen for a step, and the energy
// that is advanced is without rho e0: so the term in e0_i drops out.
// Conservative: A = 0, and E is the whole energy flux.
#pragma once
#include "hllc.h"

// How rough a quantity is: its fourth difference over its second differences and a floor. 1 beside a jump, O(dx^2) in
// smooth flow, at extrema too.
template <class R> POINT_FN R roughness(const R (&q)[5], const R floor) {
    const R low = q[0] - 2.0 * q[1] + q[2];
    const R mid = q[1] - 2.0 * q[2] + q[3];
    const R high = q[2] - 2.0 * q[3] + q[4];
    return fabs(low - 2.0 * mid + high) / (fabs(low) + 2.0 * fabs(mid) + fabs(high) + floor);
}

template <class R> POINT_FN void neighbours(const double *row, const int t, const int s, R (&q)[5]) {
    UNROLL
    for (int m = 0; m < 5; ++m) q[m] = at<R>(row, t + (m - 2) * s);
}

// Waves of the grid's own length, which the central flux neither damps nor carries the right way: 1 where p goes up and
// down from cell to cell as sound does, by 1e-5 of itself or more; 0 where it does not alternate. Where u' is at most
// three times that of a sound wave (p' = rho c u') it is sound; in slow turbulence u' is far more, about 1/M times. All
// components of u on all five cells count: one of them on one cell is near 0 here and there in any turbulence.
template <class R, class Arguments>
POINT_FN R ringing(const Arguments &a, const int d, const int t, const R (&p)[5], const R rho) {
    const R low = p[0] - 2.0 * p[1] + p[2];
    const R mid = p[1] - 2.0 * p[2] + p[3];
    const R high = p[2] - 2.0 * p[3] + p[4];
    R u[5], motion = R(0.0);
    UNROLL
    for (int c = 0; c < 3; ++c) {
        neighbours(a.Q + (CELL_U + c) * a.ld_Q, t, a.stride[d], u);
        motion +=
            square(u[0] - 2.0 * u[1] + u[2]) + square(u[1] - 2.0 * u[2] + u[3]) + square(u[2] - 2.0 * u[3] + u[4]);
    }
    const auto rings = low * mid < 0.0 && mid * high < 0.0 &&
                       square(low) + square(mid) + square(high) >= 0.09 * rho * at<R>(a.gamma_c, t) * p[2] * motion;
    const R least = smaller(fabs(mid), smaller(fabs(low), fabs(high)));
    return select(rings, 4.0 * least / (fabs(low) + 2.0 * fabs(mid) + fabs(high) + 1e-4 * p[2]), R(0.0));
}

// theta of a cell in direction d, 0 to 1. Shocks show in the roughness of p. Interfaces show in the roughness of rho
// and rho_k less what sound does to them, rho_k - Y_k p/c^2: so the pressure field of a vortex is not taken for one.
// The roughnesses of p (floor 40 %) and rho (floor 6 %) are squared: fluctuations of a few per mille, as turbulence at
// low Mach number has, leave the flux central. That of species (floor 2 %) is not: partial densities have to stay
// positive.
template <class R, class Arguments> POINT_FN R theta_at(const Arguments &a, const int d, const int t) {
    const int s = a.stride[d];
    R q[5], rest[5], p[5], rho = R(0.0);
    neighbours(a.Q + CELL_P * a.ld_Q, t, s, p);
    R x = roughness(p, 0.4 * p[2]);
    R mixing = R(0.0);
    FOR_SPECIES (k, NS) rho += at<R>(a.Q + k * a.ld_Q, t);
    const R by_sound = 1.0 / (at<R>(a.gamma_c, t) * p[2]);
    const R floor = 0.06 * rho; // rho c^2 = gamma_c p
    UNROLL
    for (int m = 0; m < 5; ++m) rest[m] = -(p[m] - p[2]) * (rho * by_sound);
    FOR_SPECIES (k, NS) {
        neighbours(a.Q + k * a.ld_Q, t, s, q);
        const R share = q[2] * by_sound; // Y_k/c^2
        UNROLL
        for (int m = 0; m < 5; ++m) {
            rest[m] += q[m];
            q[m] -= (p[m] - p[2]) * share;
        }
        if (NS > 1) mixing = larger(mixing, roughness(q, 0.02 * rho));
    }
    x = larger(x, roughness(rest, floor));
    // below 5 % it is 0: smooth flow stays central, and needs no reconstruction and no bounds
    x = larger(square(x * a.inv_threshold), larger(mixing * a.inv_threshold, ringing(a, d, t, p, rho)));
    x = (x - 0.05) * (1.0 / 0.95);
    return larger(smaller(x, R(1.0)), R(0.0));
}

// Whether theta is 0 for certain in both cells of a face, by products instead of the divisions that it takes: all
// fourth differences are well below the floors of their roughnesses, and p does not alternate. The six cells of the
// face's stencil are those that both look at. Differences of rho_k and rho are multiplied by rho c^2; what sound does
// to them is taken from these.
template <class R> struct Smooth {
    static constexpr double MOST = 0.2, MOST_MIXING = 0.049; // parts of the threshold: 0.2^2 < 0.05
    R bend[4], of_p[2], stiffness[2], mixing[2];

    // second differences, and the fourth ones of the two cells
    static POINT_FN void differences(const R (&q)[6], R (&second)[4], R (&fourth)[2]) {
        UNROLL
        for (int m = 0; m < 4; ++m) second[m] = q[m] - 2.0 * q[m + 1] + q[m + 2];
        UNROLL
        for (int c = 0; c < 2; ++c) fourth[c] = second[c] - 2.0 * second[c + 1] + second[c + 2];
    }
    POINT_FN Smooth(const R (&p)[6], const R gamma_l, const R gamma_r) {
        differences(p, bend, of_p);
        stiffness[0] = gamma_l * p[2];
        stiffness[1] = gamma_r * p[3];
        mixing[0] = mixing[1] = R(0.0);
    }
    // of rho_k or rho in cell c, less what sound does to it
    POINT_FN R rest(const R (&q)[6], const R (&fourth)[2], const int c) const {
        return fabs(stiffness[c] * fourth[c] - q[2 + c] * of_p[c]);
    }
    POINT_FN void add(const R (&rho_k)[6]) {
        R second[4], fourth[2];
        differences(rho_k, second, fourth);
        UNROLL
        for (int c = 0; c < 2; ++c) mixing[c] = larger(mixing[c], rest(rho_k, fourth, c));
    }
    POINT_FN auto operator()(const R (&p)[6], const R (&rho)[6], const double inv_threshold) const {
        R second[4], fourth[2];
        differences(rho, second, fourth);
        auto yes = rho[2] > 0.0;
        UNROLL
        for (int c = 0; c < 2; ++c) {
            const R scale = rho[2 + c] * stiffness[c];
            yes = both(yes, inv_threshold * fabs(of_p[c]) <= (0.4 * MOST) * p[2 + c]);
            yes = both(yes, larger(bend[c] * bend[c + 1], bend[c + 1] * bend[c + 2]) >= 0.0);
            yes = both(yes, inv_threshold * mixing[c] <= (0.02 * MOST_MIXING) * scale);
            yes = both(yes, inv_threshold * rest(rho, fourth, c) <= (0.06 * MOST) * scale);
        }
        return yes;
    }
};

// WENO5-Z value at the face between q[2] and q[3], seen from q[2] (Borges et al. 2008). tiny: of the squares of q.
template <class R> POINT_FN R weno(const R q0, const R q1, const R q2, const R q3, const R q4, const double tiny) {
    const R b0 = (13.0 / 12.0) * square(q0 - 2.0 * q1 + q2) + 0.25 * square(q0 - 4.0 * q1 + 3.0 * q2);
    const R b1 = (13.0 / 12.0) * square(q1 - 2.0 * q2 + q3) + 0.25 * square(q1 - q3);
    const R b2 = (13.0 / 12.0) * square(q2 - 2.0 * q3 + q4) + 0.25 * square(3.0 * q2 - 4.0 * q3 + q4);
    // The weights are d_k (1 + (tau/(b_k + small))^2) over their sum. All are multiplied by the product of the three
    // (b_k + small)^2, which leaves one division.
    const R small = tiny * (square(q0) + square(q1) + square(q2) + square(q3) + square(q4)) + 1e-45;
    const R tau2 = square(b0 - b2);
    const R c0 = square(b0 + small);
    const R c1 = square(b1 + small);
    const R c2 = square(b2 + small);
    const R w0 = 0.1 * (c0 + tau2) * (c1 * c2);
    const R w1 = 0.6 * (c1 + tau2) * (c0 * c2);
    const R w2 = 0.3 * (c2 + tau2) * (c0 * c1);
    // a correction to q2: a uniform field keeps its bits
    const R d0 = (2.0 * (q0 - q2) - 7.0 * (q1 - q2)) * (1.0 / 6.0);
    const R d1 = ((q2 - q1) + 2.0 * (q3 - q2)) * (1.0 / 6.0);
    const R d2 = (5.0 * (q3 - q2) - (q4 - q2)) * (1.0 / 6.0);
    return q2 + (w0 * d0 + w1 * d1 + w2 * d2) / (w0 + w1 + w2);
}

template <class R> struct Sides {
    R l, r;
};

template <class R> POINT_FN Sides<R> reconstruct(const R (&q)[6], const double tiny) {
    return {weno(q[0], q[1], q[2], q[3], q[4], tiny), weno(q[5], q[4], q[3], q[2], q[1], tiny)};
}

template <class R> POINT_FN void stencil_of(const double *row, const int t, const int s, R (&q)[6]) {
    UNROLL
    for (int m = 0; m < 6; ++m) q[m] = at<R>(row, t + (m - 3) * s);
}

constexpr double TINY = 1e-14;

template <class R, class Arguments>
POINT_FN void put_flux(const Arguments &a, const int d, const int t, const int count, const R (&F)[NS], const R (&M)[3],
                       const R FA, const R FE) {
    double *const flux = flux_of<R>(a, d);
    FOR_SPECIES (k, NS) put(flux + k * a.ld_flux_x, t, F[k], count);
    UNROLL
    for (int c = 0; c < 3; ++c) put(flux + (FLUX_M + turned(d, c)) * a.ld_flux_x, t, M[c], count);
    put(flux + FLUX_A * a.ld_flux_x, t, FA, count);
    put(flux + FLUX_E * a.ld_flux_x, t, FE, count);
}

// The central flux. Returns whether the face's flux may have to be blended.
template <class R, class Arguments>
POINT_FN auto convective(const Arguments &a, const int d, const int t, const int count) {
    const int s = a.stride[d];
    const double *Q = a.Q;
    R u[3][6], p[6], rho[6], rate[6], F[NS];
    UNROLL
    for (int c = 0; c < 3; ++c) stencil_of(Q + (CELL_U + turned(d, c)) * a.ld_Q, t, s, u[c]);
    stencil_of(Q + CELL_P * a.ld_Q, t, s, p);

    // ---- KEEP: pairs (A, B) of cells on both sides of the face, weights of the central derivative of order ORDER
#if ORDER == 6
    constexpr int PAIRS = 6;
    constexpr int A[6] = {2, 2, 1, 2, 1, 0};
    constexpr int B[6] = {3, 4, 3, 5, 4, 3};
    constexpr double WEIGHT[6] = {1.5, -0.3, -0.3, 1.0 / 30, 1.0 / 30, 1.0 / 30};
#else
    constexpr int PAIRS = 3;
    constexpr int A[3] = {2, 2, 1};
    constexpr int B[3] = {3, 4, 3};
    constexpr double WEIGHT[3] = {4.0 / 3, -1.0 / 6, -1.0 / 6};
#endif
    UNROLL
    for (int m = 0; m < 6; ++m) rho[m] = R(0.0);
    UNROLL
    for (int i = 0; i < PAIRS; ++i) rate[i] = (0.25 * WEIGHT[i]) * (u[0][A[i]] + u[0][B[i]]);

    const R gamma_l = at<R>(a.gamma_c, t - s);
    const R gamma_r = at<R>(a.gamma_c, t);
#if DISSIPATION == 1
    Smooth<R> smooth(p, gamma_l, gamma_r);
#endif

    // Species.
    R worst = R(-1e300); // by how much what leaves of a species is above its part
    R jumps[PAIRS];
    UNROLL
    for (int i = 0; i < PAIRS; ++i) jumps[i] = R(0.0);
    FOR_SPECIES (k, NS) {
        R r[6], sum = R(0.0);
        stencil_of(Q + k * a.ld_Q, t, s, r);
        UNROLL
        for (int m = 0; m < 6; ++m) rho[m] += r[m];
        UNROLL
        for (int i = 0; i < PAIRS; ++i) sum += rate[i] * (r[A[i]] + r[B[i]]);
        F[k] = sum;
        worst = larger(worst, a.length[0] * fabs(sum) - a.room[d] * smaller(r[2], r[3]));
#if DISSIPATION == 1
        if (NS > 1) smooth.add(r);
#endif
#if CONSERVATIVE
        R eps[6];
        stencil_of(a.eps_k + k * a.ld_eps_k, t, s, eps);
        UNROLL
        for (int i = 0; i < PAIRS; ++i) jumps[i] += (eps[B[i]] - eps[A[i]]) * (r[B[i]] - r[A[i]]);
#endif
    }

    // Momentum, pressure and energy.
    R M[3] = {R(0.0), R(0.0), R(0.0)};
    R FA = R(0.0);
    R FE = R(0.0);
#if CONSERVATIVE
    R e[6];
    stencil_of(a.e_vol, t, s, e);
#endif
    UNROLL
    for (int i = 0; i < PAIRS; ++i) {
        const int l = A[i];
        const int r = B[i];
        const R mass = rate[i] * (rho[l] + rho[r]);
        const R pressure = (0.5 * WEIGHT[i]) * (p[l] + p[r]);
        UNROLL
        for (int c = 0; c < 3; ++c) M[c] += 0.5 * mass * (u[c][l] + u[c][r]);
        M[0] += pressure;
        FE += 0.5 * mass * (u[0][l] * u[0][r] + u[1][l] * u[1][r] + u[2][l] * u[2][r]) +
              (0.5 * WEIGHT[i]) * (u[0][l] * p[r] + u[0][r] * p[l]);
#if CONSERVATIVE
        FE += rate[i] * ((e[l] + e[r]) - 0.5 * jumps[i]);
#else
        FA += rate[i] * (p[l] + p[r]);
#endif
    }

    put_flux(a, d, t, count, F, M, FA, FE);
#if DISSIPATION == 1
    const auto unsure = !smooth(p, rho, a.inv_threshold);
#else
    const auto unsure = R(DISSIPATION) > 0.0;
#endif
    if (a.asks) {
        // what the limiter wants to know of a cell, of this face alone
        const R jump = square(u[0][3] - u[0][2]);
        const R low = smaller(p[2], p[3]);
        const R high = larger(p[2], p[3]);
        auto calm = both(low >= 0.5 * high,
                         both(gamma_l * rho[2] * jump <= 0.089 * p[2], gamma_r * rho[3] * jump <= 0.089 * p[3]));
        calm = both(calm, worst <= (a.room[d] * FLOOR) * smaller(rho[2], rho[3]));
        mark(a.asks, -1.0, t, s, !calm, count);
    }
    return unsure;
}

// Of a face that has its central flux: blends it with HLLC of WENO5-Z states, by the larger theta of its two cells.
template <class R, class Arguments>
POINT_FN void upwind(const Arguments &a, const int d, const int t, const int count) {
    double *const flux = flux_of<R>(a, d);
    const int s = a.stride[d];
    const double *Q = a.Q;
#if DISSIPATION == 1
    const R theta = larger(theta_at<R>(a, d, t - s), theta_at<R>(a, d, t));
#else
    const R theta(1.0);
#endif
    const auto blended = theta > 0.0;
    if (!any_of(blended)) return;
    if (a.asks) {
        mark(a.asks, -1.0, t, s, blended, count);
        mark(a.rough, 1.0, t, s, blended, count);
    }

    // States on both sides of the face: partial densities, velocity, pressure.
    R q6[6], mass_l = R(0.0), mass_r = R(0.0), left[NS], right[NS];
    FOR_SPECIES (k, NS) {
        stencil_of(Q + k * a.ld_Q, t, s, q6);
        Sides<R> q = reconstruct(q6, TINY);
        q.l = select(q.l >= 0.0, q.l, q6[2]);
        q.r = select(q.r >= 0.0, q.r, q6[3]);
        left[k] = q.l;
        right[k] = q.r;
        mass_l += q.l;
        mass_r += q.r;
    }

    Sides<R> U[3];
    UNROLL
    for (int c = 0; c < 3; ++c) {
        stencil_of(Q + (CELL_U + turned(d, c)) * a.ld_Q, t, s, q6);
        U[c] = reconstruct(q6, TINY);
    }

    stencil_of(Q + CELL_P * a.ld_Q, t, s, q6);
    Sides<R> P = reconstruct(q6, TINY);
    P.l = select(P.l > 0.0, P.l, q6[2]);
    P.r = select(P.r > 0.0, P.r, q6[3]);

    // where a density vanishes, the partial densities of the cells are taken
    const auto empty = !(mass_l > 0.0 && mass_r > 0.0);
    if (any_of(empty)) {
        R rho_l = R(0.0), rho_r = R(0.0);
        FOR_SPECIES (k, NS) {
            const R l = at<R>(Q + k * a.ld_Q, t - s);
            const R r = at<R>(Q + k * a.ld_Q, t);
            left[k] = select(empty, l, left[k]);
            right[k] = select(empty, r, right[k]);
            rho_l += l;
            rho_r += r;
        }
        mass_l = select(empty, rho_l, mass_l);
        mass_r = select(empty, rho_r, mass_r);
    }

    // HLLC of these states, blended into the central flux.
    const Passed<R> q = hllc<R>({mass_l, U[0].l, U[1].l, U[2].l, P.l, at<R>(a.gamma_c, t - s)},
                                {mass_r, U[0].r, U[1].r, U[2].r, P.r, at<R>(a.gamma_c, t)});

    R F[NS], M[3], FA, FE;
    FOR_SPECIES (k, NS) load(flux + k * a.ld_flux_x + t, F[k]);
    UNROLL
    for (int c = 0; c < 3; ++c) load(flux + (FLUX_M + turned(d, c)) * a.ld_flux_x + t, M[c]);
    load(flux + FLUX_A * a.ld_flux_x + t, FA);
    load(flux + FLUX_E * a.ld_flux_x + t, FE);

    FOR_SPECIES (k, NS) F[k] += theta * (select(q.from_left, left[k], right[k]) * q.carried - F[k]);
    UNROLL
    for (int c = 0; c < 3; ++c) M[c] += theta * (q.M[c] - M[c]);

    R energy = q.E;
#if CONSERVATIVE
    stencil_of(a.e_vol, t, s, q6);
    const Sides<R> E = reconstruct(q6, TINY);
    energy += q.carried * select(q.from_left, E.l, E.r);
#else
    FA += theta * (q.A - FA);
#endif
    FE += theta * (energy - FE);
    put_flux(a, d, t, count, F, M, FA, FE);
}
