// Time averages: mean and central second moments of the primitive fields, weighted by time (West 1979, original not
// seen). The difference from the mean is what is squared, so nothing cancels where a fluctuation is a small part of its
// field, as that of a pressure is.
// Rows of `mean`: rho, u, v, w, p, T, Y. Rows of `moments`: the squares of these; uv, uw, vw; rho with u, v, w, T, Y.
#pragma once
#include "stencil.h"

enum { MEAN_U = 1, MEAN_P = 4, MEAN_T, MEAN_Y, SHEAR = MEAN_Y + NS, WITH_RHO = SHEAR + 3, WITH_RHO_T = WITH_RHO + 3 };

// share: of this state in the time so far; weight: its time, times the share of all states before it
template <class R, class Arguments> POINT_FN void average(const Arguments &a, const long t, const int count) {
    R rho = R(0.0);
    R du[3];
    FOR_SPECIES (k, NS) rho += at<R>(a.Q + k * a.ld_Q, t);
    // the new value of a mean; the difference from the old one
    const auto moved = [&](const int row, const R now) {
        double *mean = a.mean + row * a.ld_mean;
        const R before = at<R>(mean, t);
        const R difference = now - before;
        put(mean, t, before + a.share * difference, count);
        return difference;
    };
    const auto gather = [&](const int row, const R product) {
        double *sum = a.moments + row * a.ld_moments;
        put(sum, t, at<R>(sum, t) + a.weight * product, count);
    };
    const R d_rho = moved(0, rho);
    gather(0, d_rho * d_rho);
    UNROLL
    for (int c = 0; c < 3; ++c) {
        du[c] = moved(MEAN_U + c, at<R>(a.Q + (CELL_U + c) * a.ld_Q, t));
        gather(MEAN_U + c, du[c] * du[c]);
        gather(WITH_RHO + c, d_rho * du[c]);
    }
    gather(SHEAR, du[0] * du[1]);
    gather(SHEAR + 1, du[0] * du[2]);
    gather(SHEAR + 2, du[1] * du[2]);
    const R d_p = moved(MEAN_P, at<R>(a.Q + CELL_P * a.ld_Q, t));
    const R d_T = moved(MEAN_T, at<R>(a.T, t));
    gather(MEAN_P, d_p * d_p);
    gather(MEAN_T, d_T * d_T);
    gather(WITH_RHO_T, d_rho * d_T);
    FOR_SPECIES (k, NS) {
        const R d = moved(MEAN_Y + k, at<R>(a.Q + k * a.ld_Q, t) / rho);
        gather(MEAN_Y + k, d * d);
        gather(WITH_RHO_T + 1 + k, d_rho * d);
    }
}
