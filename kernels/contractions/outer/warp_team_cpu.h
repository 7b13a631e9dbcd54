// Species fastest, the lanes of a vector unit for a point: neighbouring x, rows one after the other. Where a row is no
// multiple of a pack, its last pack begins earlier and writes some values a second time.
#pragma once
#include "outer.h"

// all rows of one point; ALIGNED: they start on boundaries that streaming stores ask for
template <bool ALIGNED> POINT_FN void team(const Loops &a, const long t, real *out) {
    ROLLED
    for (int y = 0; y < NY; ++y, out += NX) {
        const Factors<real> cy = y_at<real>(a, y, t);
        if (NX < WIDTH) {
            for (int x = 0; x < NX; ++x) out[x] = outer(x_at<real>(a, x, t), cy);
        } else {
            Factors<lanes> wide;
            UNROLL
            for (int q = 0; q < TERMS; ++q) wide.v[q] = cy.v[q] - lanes{};
            UNROLL
            for (int x = 0; x < NX; x += WIDTH) {
                const int from = x + WIDTH <= NX ? x : NX - WIDTH;
                const lanes made = outer(x_at<lanes>(a, from, t), wide);
                if (ALIGNED) put(out + from, made);
                else put_plain(out + from, made);
            }
        }
    }
}

POINT_FN void over_teams(const Loops &a, int threads) {
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
#pragma omp for schedule(static)
        for (long t = 0; t < a.n; ++t) team<NX % WIDTH == 0>(a, t, a.out + t * NX * NY);
        streams_end();
    }
}
