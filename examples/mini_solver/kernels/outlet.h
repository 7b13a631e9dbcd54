// Non-reflecting outlet at a boundary face normal to direction a.direction (side a.side: 0 low, 1 high): the flux
// through it is set so that the cell beside it changes as the characteristic relations say (Poinsot & Lele 1992); the
// incoming wave relaxes to p_target (Rudy & Strikwerda 1980; originals not seen). The energy of a real gas changes by
// p_t/Gruneisen + sum eps_k rho_k,t.
#pragma once
#include "stencil.h"

// One-sided derivative at cell t along the outward normal, second order. b: stride towards the inside.
template <class R> POINT_FN R outward(const double *row, const long t, const long b, const double inv_dx) {
    return (1.5 * at<R>(row, t) - 2.0 * at<R>(row, t + b) + 0.5 * at<R>(row, t + 2 * b)) * inv_dx;
}

template <class R, class Arguments> POINT_FN void outlet(const Arguments &a, const long t, const int count) {
    const int d = a.direction;
    const long s = a.stride[d], b = a.side ? -s : s;
    const double sign = a.side ? 1.0 : -1.0, h = a.inv_dx[d];
    R rho = R(0.0), rho_n = R(0.0), u[3], slope[3];
    FOR_SPECIES (k, NS) {
        rho += at<R>(a.Q + k * a.ld_Q, t);
        rho_n += outward<R>(a.Q + k * a.ld_Q, t, b, h);
    }
    UNROLL
    for (int c = 0; c < 3; ++c) {
        u[c] = at<R>(a.Q + (CELL_U + c) * a.ld_Q, t);
        slope[c] = outward<R>(a.Q + (CELL_U + c) * a.ld_Q, t, b, h);
    }
    const R p = at<R>(a.Q + CELL_P * a.ld_Q, t), p_n = outward<R>(a.Q + CELL_P * a.ld_Q, t, b, h);
    const R c2 = at<R>(a.gamma_c, t) * p / rho, c = sqrt(c2);
    const R un = sign * (d == 0   ? u[0]
                         : d == 1 ? u[1]
                                  : u[2]),
            u_n = sign * (d == 0   ? slope[0]
                          : d == 1 ? slope[1]
                                   : slope[2]);
    const R mach2 = un * un / c2;
    const R relax = a.sigma * (1.0 - mach2) * c * (p - a.p_target) * a.inv_length;
    const auto leaves = un - c >= 0.0; // supersonic: nothing comes in
    const R L1 = select(leaves, (un - c) * (p_n - rho * c * u_n), relax);
    const R out = larger(un, R(0.0)); // back-flow: nothing is known of what comes in, so its gradients are 0
    const R L5 = (un + c) * (p_n + rho * c * u_n), L2 = out * (c2 * rho_n - p_n);
    const R d2 = 0.5 * (L5 + L1), d1 = (L2 + d2) / c2, d3 = (L5 - L1) / (2.0 * rho * c);
    // rates of the normal direction: rho_k, velocity, pressure
    R kinetic = R(0.0), rate_u[3], energy = -d2;
    UNROLL
    for (int v = 0; v < 3; ++v) rate_u[v] = v == d ? -sign * d3 : -out * slope[v];
    const double *inner = a.flux + (a.side ? 0 : s); // the cell's other face
    double *face = a.flux + (a.side ? s : 0);
    const double width = (a.side ? -1.0 : 1.0) / h; // F_face = F_inner -+ dx rate
#if CONSERVATIVE
    energy = energy / at<R>(a.gruneisen, t);
#else
    energy = energy / (at<R>(a.gamma_c, t) - 1.0);
#endif
    FOR_SPECIES (k, NS) {
        const R r = at<R>(a.Q + k * a.ld_Q, t), y = r / rho,
                y_n = (outward<R>(a.Q + k * a.ld_Q, t, b, h) - y * rho_n) / rho;
        const R rate = -(y * d1 + rho * out * y_n);
#if CONSERVATIVE
        energy += at<R>(a.eps_k + k * a.ld_eps_k, t) * rate;
#endif
        put(face + k * a.ld_flux, t, at<R>(inner + k * a.ld_flux, t) + width * rate, count);
    }
    UNROLL
    for (int v = 0; v < 3; ++v) {
        const R rate = rho * rate_u[v] - u[v] * d1;
        kinetic += u[v] * rate + 0.5 * u[v] * u[v] * d1;
        put(face + (FLUX_M + v) * a.ld_flux, t, at<R>(inner + (FLUX_M + v) * a.ld_flux, t) + width * rate, count);
    }
    put(face + FLUX_A * a.ld_flux, t, at<R>(inner + FLUX_A * a.ld_flux, t), count);
    put(face + FLUX_E * a.ld_flux, t, at<R>(inner + FLUX_E * a.ld_flux, t) + width * (energy + kinetic), count);
}
