// From fluxes to the next stage: U + w0 (U0 - U) + w1 dt L(U), then its velocity and, in double flux, its pressure.
// The new U is the old one plus a change: where nothing changes, nothing is rounded. Otherwise equal cells would all
// round the same way, and the sums over the domain would drift.
// U is NS partial densities, which are rows of Q, 3 momentum, energy (in double flux without rho e0:
// p/(g - 1) + rho |u|^2/2, which is made of Q). `momentum` has the other rows, U0 all rows.
#pragma once
#include "stencil.h"

// A step of length 0 changes nothing, not even by rounding: the clock asks for it where the flow has come to its end.
// Newton's method could round T and p differently, so they are kept, and its start, too. first: of the step's stages,
// which makes U0.
template <class R, class Arguments> POINT_FN void update(const Arguments &a, const int t, const int count) {
    if (a.length[0] == 0.0) {
#if CONSERVATIVE
        for (int v = CELL_P; v < CELL_END && a.first; ++v)
            put(a.kept + (v - CELL_P) * a.ld_kept, t, at<R>(a.Q + v * a.ld_Q, t), count);
#endif
        return;
    }

    // Divergence of the convective fluxes.
    R L[NS + 5], extra[NS + 4];
    FOR_SPECIES (v, NS + 5) L[v] = R(0.0);
    UNROLL
    for (int d = 0; d < DIMENSIONS; ++d) {
        const double *flux = d == 0 ? a.flux_x : d == 1 ? a.flux_y : a.flux_z;
        const int s = a.stride[d];
#if AXISYMMETRIC
        const R push = d == 1 ? at<R>(a.around, t) : R(0.0);
        FOR_SPECIES (v, NS + 5) {
            const R less =
                v == FLUX_M + 1 ? push : R(0.0); // before they are differenced: uniform pressure moves nothing
            L[v] -=
                net<R>(a, d, t, at<R>(flux + v * a.ld_flux_x, t) - less, at<R>(flux + v * a.ld_flux_x, t + s) - less);
        }
#else
        FOR_SPECIES (v, NS + 5)
            L[v] -= net<R>(a, d, t, at<R>(flux + v * a.ld_flux_x, t), at<R>(flux + v * a.ld_flux_x, t + s));
#endif
    }

    R Q_u[3], rho = R(0.0), momentum[3];
#if VISCOUS || SOURCE
    FOR_SPECIES (v, NS + 4) {
        extra[v] = R(0.0);
#if SOURCE
        extra[v] = at<R>(a.source + v * a.ld_source, t);
#endif
    }
#if VISCOUS
    UNROLL
    for (int d = 0; d < DIMENSIONS; ++d) {
        const double *flux = d == 0 ? a.viscous_x : d == 1 ? a.viscous_y : a.viscous_z;
        const int s = a.stride[d];
        FOR_SPECIES (v, NS + 4) {
            const double *f = flux + v * a.ld_viscous_x;
            extra[v] -= net<R>(a, d, t, face_flux<R>(f, t, s), face_flux<R>(f, t + s, s));
        }
    }
#if AXISYMMETRIC
    extra[NS + 1] -= at<R>(a.around + a.ld_around, t);
#endif
#endif

    // Diffusion and sources are added; the rate of energy follows.
    FOR_SPECIES (v, NS + 3) L[v] += extra[v];
    UNROLL
    for (int c = 0; c < 3; ++c) Q_u[c] = at<R>(a.Q + (CELL_U + c) * a.ld_Q, t);
#if CONSERVATIVE
    R energy = L[FLUX_E] + extra[NS + 3];
#else
    // Viscosity, conduction and diffusion change the pressure by dp = Gruneisen (d(rho e) - sum_k eps_k d rho_k).
    R kinetic = R(0.0);
    R gained = R(0.0);
    R heat = extra[NS + 3];
    FOR_SPECIES (k, NS) {
        gained += extra[k];
        heat -= at<R>(a.eps_k + k * a.ld_eps_k, t) * extra[k];
    }
    UNROLL
    for (int c = 0; c < 3; ++c) kinetic += Q_u[c] * (extra[NS + c] - 0.5 * Q_u[c] * gained);
    const R inverse = 1.0 / (at<R>(a.gamma_c, t) - 1.0);
    R energy = L[FLUX_E] + inverse * L[FLUX_A] + kinetic + at<R>(a.gruneisen, t) * inverse * (heat - kinetic);
#endif
#elif CONSERVATIVE
    R energy = L[FLUX_E];
#else
    const R inverse = 1.0 / (at<R>(a.gamma_c, t) - 1.0);
    R energy = L[FLUX_E] + inverse * L[FLUX_A];
#endif

    const double w0 = a.w0;
    const double step = a.w1 * a.length[0]; // dt lies in memory: a CUDA graph repeats a launch with the same arguments

    // all that is read comes before all that is written: a compiler cannot tell whether they overlap
    R rho_start = R(0.0), rho_before = R(0.0), squares_start = R(0.0), squares_before = R(0.0);
    R starts[NS + 3], befores[NS + 3];
    FOR_SPECIES (v, NS + 3) {
        const double *row = v < NS ? a.Q + v * a.ld_Q : a.momentum + (v - NS) * a.ld_momentum;
        befores[v] = at<R>(row, t);
        starts[v] = at<R>(a.first ? row : a.U0 + v * a.ld_U0, t);
    }

    // Energy's rows: of apec, or the pressure of double flux.
    double *const row_0 = a.U0 + (NS + 3) * a.ld_U0;
#if CONSERVATIVE
    double *const row = a.momentum + 3 * a.ld_momentum;
#else
    double *const row = a.Q + CELL_P * a.ld_Q;
    const R gamma_c = at<R>(a.gamma_c, t);
#endif
    const R last = at<R>(row, t);
    const R last_start = at<R>(a.first ? row : row_0, t);

    // Species and momentum of the next stage.
    FOR_SPECIES (v, NS + 3) {
        const R start = starts[v];
        const R before = befores[v];
        const R U = before + (w0 * (start - before) + step * L[v]);
        put(v < NS ? a.Q + v * a.ld_Q : a.momentum + (v - NS) * a.ld_momentum, t, U, count);
        if (a.first) put(a.U0 + v * a.ld_U0, t, before, count);
        if (v < NS) {
            rho += U;
            rho_start += start;
            rho_before += before;
        } else {
            momentum[v - NS] = U;
            squares_start += start * start;
            squares_before += before * before;
        }
    }

    // Energy of the next stage.
    const R inv_rho = 1.0 / rho;
#if CONSERVATIVE
    const R total = last + (w0 * (last_start - last) + step * energy);
    put(row, t, total, count);
#else
    // The energy row of U0 holds p at the start of the step, so that the same gamma_c makes all three energies.
    const R before = last * inverse + 0.5 * squares_before / rho_before;
    const R total = before + (w0 * (last_start * inverse + 0.5 * squares_start / rho_start - before) + step * energy);
#endif
    if (a.first) put(row_0, t, last, count);

    // Velocity, and pressure or internal energy.
    R kinetic_energy = R(0.0);
    UNROLL
    for (int c = 0; c < 3; ++c) {
        const R velocity = momentum[c] * inv_rho;
        kinetic_energy += 0.5 * momentum[c] * velocity;
        put(a.Q + (CELL_U + c) * a.ld_Q, t, velocity, count);
    }
#if CONSERVATIVE
    put(a.e_vol, t, total - kinetic_energy, count);
#else
    put(row, t, (total - kinetic_energy) * (gamma_c - 1.0), count);
#endif
}

// Around an axis, before the update, which writes Q: what neighbours have to do with the pressure on the sides of a
// ring, and with tau_theta/r = mu (2 v/r - 2/3 div u)/r, which pulls it inwards.
template <class R, class Arguments> POINT_FN void around(const Arguments &a, const int t, const int count) {
#if AXISYMMETRIC
    put(a.around, t, outward_push<R>(a, t), count);
#if VISCOUS
    const double *along = a.Q + CELL_U * a.ld_Q, *out = along + a.ld_Q;
    const double by_radius = 1.0 / radius_of_cell(a, t);
    const R about = at<R>(out, t) * by_radius;
    const R divergence = 0.5 * (at<R>(along, t + 1) - at<R>(along, t - 1)) * inv_width<R>(a, 0, t) +
                         0.5 * (at<R>(out, t + a.stride[1]) - at<R>(out, t - a.stride[1])) * inv_width<R>(a, 1, t) +
                         about;
    put(a.around + a.ld_around, t, at<R>(a.mu, t) * (2.0 * about - (2.0 / 3.0) * divergence) * by_radius, count);
#endif
#else
    (void)a, (void)t, (void)count;
#endif
}

// End of a step of length 0: p, T and the start of the next search as they were.
template <class R, class Arguments> POINT_FN void keep(const Arguments &a, const int t, const int count) {
    if (a.length[0] != 0.0) return;
    for (int v = CELL_P; v < CELL_END; ++v)
        put(a.Q + v * a.ld_Q, t, at<R>(a.kept + (v - CELL_P) * a.ld_kept, t), count);
}

// Rates that bound the time step [1/s]: waves sum_d (|u_d| + c)/dx_d, diffusion max(4/3 mu/rho, lam/(rho cv), D_k)
// sum_d 1/dx_d^2. A state without a sound speed gives NaN.
template <class R, class Arguments>
POINT_FN void rates(const Arguments &a, const int t, int, R (&values)[1 + VISCOUS]) {
    R rho = R(0.0);
    FOR_SPECIES (k, NS) rho += at<R>(a.Q + k * a.ld_Q, t);

    // Sound speed.
    const R p = at<R>(a.Q + CELL_P * a.ld_Q, t);
    const R g = at<R>(a.gamma_c, t);
    const R c2 = g * p / rho;
    const auto sound = rho > 0.0 && c2 > 0.0
#if !CONSERVATIVE
                       && g > 1.0 && p > 0.0
#endif
        ;
    const R c = sqrt(select(sound, c2, R(NOT_A_NUMBER)));

    // Waves.
    R waves = R(0.0);
    UNROLL
    for (int d = 0; d < DIMENSIONS; ++d)
        waves += (fabs(at<R>(a.Q + (CELL_U + d) * a.ld_Q, t)) + c) * area_over_volume<R>(a, d, t, 1);
    values[0] = waves;
#if VISCOUS
    R nu = larger((4.0 / 3.0) * at<R>(a.mu, t) / rho, at<R>(a.lam, t) / at<R>(a.cv_vol, t));
#if NS_GT_1
    FOR_SPECIES (k, NS) nu = larger(nu, at<R>(a.D + k * a.ld_D, t));
#endif
    R inverse = R(0.0);
    UNROLL
    for (int d = 0; d < DIMENSIONS; ++d) inverse += R(inv_width<R>(a, d, t) * inv_width<R>(a, d, t));
    values[1] = nu * inverse;
#endif
}
