// Species fastest, the lanes of a vector unit for a point: neighbouring x, rows one after the other. Where a row is no
// multiple of a pack, its last pack begins earlier and writes some values a second time.
#pragma once
#include "loops.h"

// all rows of one point; ALIGNED: they start on boundaries that streaming stores ask for
template <bool ALIGNED> POINT_FN void team(const Loops &a, const long t, real *out) {
    const real *ax = a.ax + t * NS, *bx = a.bx + t * NS, *ay = a.ay + t * NS, *by = a.by + t * NS;
    ROLLED
    for (int y = 0; y < NS; ++y, out += NS) {
        if (NS < WIDTH) {
            for (int x = 0; x < NS; ++x) out[x] = outer(ax[x], bx[x], ay[y], by[y]);
        } else {
            const lanes cy = ay[y] - lanes{}, dy = by[y] - lanes{};
            UNROLL
            for (int x = 0; x < NS; x += WIDTH) {
                const int from = x + WIDTH <= NS ? x : NS - WIDTH;
                const lanes made = outer(fetch<lanes>(ax + from), fetch<lanes>(bx + from), cy, dy);
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
        for (long t = 0; t < a.n; ++t) team<NS % WIDTH == 0>(a, t, a.out + t * NS * NS);
        streams_end();
    }
}
