// Cells that react: from the block into a batch without fringe, and back. Rows of `batch`: T, p, energy per volume,
// time over which the cell reacts, status, steps, partial densities.
#pragma once
#include "stencil.h"

enum { BATCH_T, BATCH_P, BATCH_E, BATCH_TIME, BATCH_STATUS, BATCH_STEPS, BATCH_RHO };

// number of cell t among the cells of the box
template <class Arguments> POINT_FN long number_in_box(const Arguments &a, const long t) {
    const long k = t / a.stride[2], rest = t - k * a.stride[2], j = rest / a.stride[1], i = rest - j * a.stride[1];
    return ((k - a.lo[2]) * (a.hi[1] - a.lo[1]) + (j - a.lo[1])) * (a.hi[0] - a.lo[0]) + (i - a.lo[0]);
}

// share: of the step. A cell colder than `coldest` does not react.
template <class R, class Arguments> POINT_FN void gather(const Arguments &a, const long t, const int count) {
    double *to = a.batch + number_in_box(a, t);
    const R T = at<R>(a.T, t);
    put(to + BATCH_T * a.ld_batch, 0, T, count);
    put(to + BATCH_P * a.ld_batch, 0, at<R>(a.Q + CELL_P * a.ld_Q, t), count);
    put(to + BATCH_E * a.ld_batch, 0, at<R>(a.e_vol, t), count);
    put(to + BATCH_TIME * a.ld_batch, 0, select(T < a.coldest, R(0.0), R(a.share * a.length[0])), count);
    FOR_SPECIES (k, NS) put(to + (BATCH_RHO + k) * a.ld_batch, 0, at<R>(a.Q + k * a.ld_Q, t), count);
}

// A cell whose integration came to no end keeps its state; its status stays to be told, and a rate that is not a number
// ends the flow at the next step.
template <class R, class Arguments> POINT_FN void scatter(const Arguments &a, const long t, const int count) {
    const double *from = a.batch + number_in_box(a, t);
    const R status = at<R>(from + BATCH_STATUS * a.ld_batch, 0);
    const auto asked = at<R>(from + BATCH_TIME * a.ld_batch, 0) > 0.0, reacted = asked && status <= 0.0;
    const auto back = [&](double *row, const int number) {
        put(row, t, select(reacted, at<R>(from + number * a.ld_batch, 0), at<R>(row, t)), count);
    };
    FOR_SPECIES (k, NS) back(a.Q + k * a.ld_Q, BATCH_RHO + k);
    back(a.Q + CELL_P * a.ld_Q, BATCH_P);
#if CONSERVATIVE
    back(a.Q + (CELL_P + 1) * a.ld_Q, BATCH_T);
#endif
    const R failed = select(asked, status, R(0.0));
    const R before = at<R>(a.failed, t);
    const R worst = larger(failed, before);
    put(a.failed, t, worst, count);
    for (int i = 0; i < count; ++i)
        if (a.failed[t + i] > 0.0) a.rate[0] = NOT_A_NUMBER;
}
