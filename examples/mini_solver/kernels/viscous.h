// Viscous, conductive and diffusive fluxes of one direction at the faces on the low side of cells t, as point values to
// fourth order (their fourth-order divergence is taken in update.h). Rows: NS species, 3 momentum, energy.
//   J_k = J*_k - Y_k sum_j J*_j,  J*_k = -n W_k D_k dX_k/dn  (n molar density; D_k for gradients of mole fractions)
//   tau = mu (grad u + grad u^T - 2/3 div u I),  q = -lam grad T + sum_k h_Y J_k,  energy = q - tau u
#pragma once
#include "stencil.h"

template <class R> POINT_FN void cells_of(const double *row, const int t, const int s, R (&q)[4]) {
    UNROLL
    for (int m = 0; m < 4; ++m) q[m] = at<R>(row, t + (m - 2) * s);
}

// Derivative at the face in the direction of stride b: of the fourth-order central derivatives in the four cells.
template <class R> POINT_FN R across(const double *row, const int t, const int s, const int b) {
    R q[4];
    UNROLL
    for (int m = 0; m < 4; ++m) {
        const int c = t + (m - 2) * s;
        q[m] = (8.0 * (at<R>(row, c + b) - at<R>(row, c - b)) - (at<R>(row, c + 2 * b) - at<R>(row, c - 2 * b))) *
               (1.0 / 12.0);
    }
    return face_mean(q);
}

// d is known to the compiler: it leaves out the two derivatives across the face that the stress on it does not have.
template <int d, class R, class Arguments>
POINT_FN void viscous_normal_to(const Arguments &a, const int t, const int count) {
    double *const flux = d == 0 ? a.viscous_x : d == 1 ? a.viscous_y : a.viscous_z;
    const int s = a.stride[d];

    // Velocity and its derivatives at the face.
    R F[NS + 4], q[4], du[3][3], u[3]; // du[c][b]: d u_c/d x_b
    UNROLL
    for (int c = 0; c < 3; ++c) {
        const double *row = a.Q + (CELL_U + c) * a.ld_Q;
        cells_of(row, t, s, q);
        u[c] = face_mean(q);
        const R normal = face_slope(q);
        UNROLL
        for (int b = 0; b < 3; ++b) {
            if (b >= DIMENSIONS) du[c][b] = R(0.0);
            else if (b == d) du[c][b] = normal * inv_apart<R>(a, b, t);
            else du[c][b] = across<R>(row, t, s, a.stride[b]) * inv_width<R>(a, b, t);
        }
    }

    // Stress tau = mu (du_d/dx_c + du_c/dx_d - 2/3 delta div u), and the work that it does.
    cells_of(a.mu, t, s, q);
    const R mu = face_mean_positive(q);
    R divergence = du[0][0] + du[1][1] + du[2][2];
#if AXISYMMETRIC
    const double radius = d == 1 ? radius_of_face(a, t) : radius_of_cell(a, t);
    divergence += radius == 0.0 ? du[1][1] : u[1] / radius;
#endif
    R energy = R(0.0);
    UNROLL
    for (int c = 0; c < 3; ++c) {
        R tau = mu * (du[d][c] + du[c][d]);
        if (c == d) tau -= (2.0 / 3.0) * mu * divergence;
        F[FLUX_M + c] = -tau;
        energy -= tau * u[c];
    }

    // Heat conduction.
    cells_of(a.lam, t, s, q);
    const R lam = face_mean_positive(q);
    cells_of(a.T, t, s, q);
    energy -= lam * face_slope(q) * inv_apart<R>(a, d, t);
#if NS_GT_1

    // Diffusion J_k = -n D_k W_k dX_k/dx: molar densities of the cells and of the face first.
    R molar[4] = {R(0.0), R(0.0), R(0.0), R(0.0)};
    R J[NS];
    R total = R(0.0);
    R density[NS];
    R rho = R(0.0);
    FOR_SPECIES (k, NS) {
        cells_of(a.Q + k * a.ld_Q, t, s, q);
        UNROLL
        for (int m = 0; m < 4; ++m) molar[m] += q[m] * INV_W[k];
        density[k] = face_mean_positive(q);
        rho += density[k];
    }

    const R n = face_mean_positive(molar);
    UNROLL
    for (int m = 0; m < 4; ++m) molar[m] = 1.0 / molar[m];
    FOR_SPECIES (k, NS) {
        cells_of(a.Q + k * a.ld_Q, t, s, q);
        UNROLL
        for (int m = 0; m < 4; ++m) q[m] = q[m] * INV_W[k] * molar[m];
        const R slope = face_slope(q) * inv_apart<R>(a, d, t);
        cells_of(a.D + k * a.ld_D, t, s, q);
        J[k] = -n * face_mean_positive(q) * slope * (1.0 / INV_W[k]);
        total += J[k];
    }

    // Correction velocity: the fluxes sum to 0. Species carry their enthalpy.
    const R share = total / rho;
    FOR_SPECIES (k, NS) {
        const R corrected = J[k] - density[k] * share;
        cells_of(a.h_Y + k * a.ld_h_Y, t, s, q);
        energy += face_mean(q) * corrected;
        F[k] = corrected;
    }

    // A cell is marked for the limiter where more leaves than a part of what it has.
    if (a.asks) {
        R left = R(0.0), right = R(0.0);
        FOR_SPECIES (k, NS) left += at<R>(a.Q + k * a.ld_Q, t - s), right += at<R>(a.Q + k * a.ld_Q, t);
        auto calm = rho > 0.0;
        FOR_SPECIES (k, NS) {
            const auto onwards = F[k] > 0.0;
            const R rho_k = select(onwards, at<R>(a.Q + k * a.ld_Q, t - s), at<R>(a.Q + k * a.ld_Q, t));
            const R have = rho_k + FLOOR * select(onwards, left, right);
            calm = both(calm, a.length[0] * fabs(F[k]) <= a.room[d] * have);
        }
        mark(a.asks, -1.0, t, s, !calm, count);
    }
#else
    F[0] = R(0.0);
#endif
    F[NS + 3] = energy;
    FOR_SPECIES (v, NS + 4) put(flux + v * a.ld_viscous_x, t, F[v], count); // behind all loads
}

template <class R, class Arguments>
POINT_FN void viscous(const Arguments &a, const int d, const int t, const int count) {
    if (d == 0) viscous_normal_to<0, R>(a, t, count);
    if (d == 1) viscous_normal_to<1, R>(a, t, count);
    if (d == 2) viscous_normal_to<2, R>(a, t, count);
}
