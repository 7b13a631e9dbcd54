// Species fastest, a warp a point: its lanes take VECTOR neighbouring x each, and where a row is shorter than the warp,
// several rows y at once, so that whole lines are written. The y inputs are the same for a row: loads that L1 serves.
#pragma once
#include "outer.h"

POINT_FN void over_teams(const Loops &a) {
    typedef Pack<VECTOR> P;
    constexpr int COLUMNS = NX / VECTOR;
    constexpr int ROWS = COLUMNS < 32 ? 32 / COLUMNS : 1;
    static_assert(NX % VECTOR == 0, "rows start on a pack's boundary");
    const int lane = threadIdx.x % 32;
    const long teams = gridDim.x * (long)blockDim.x / 32;
    if (COLUMNS < 32 && lane >= ROWS * COLUMNS) return;
    ROLLED
    for (long t = (blockIdx.x * (long)blockDim.x + threadIdx.x) / 32; t < a.n; t += teams) ROLLED
    for (int x = (COLUMNS < 32 ? lane % COLUMNS : lane) * VECTOR; x < NX; x += 32 * VECTOR) {
        const Factors<P> cx = x_at<P>(a, x, t);
        UNROLL_BY(AHEAD)
        for (int y = COLUMNS < 32 ? lane / COLUMNS : 0; y < NY; y += ROWS) {
            Factors<P> cy;
            UNROLL
            for (int q = 0; q < TERMS; ++q) cy.v[q] = spread<VECTOR>(__ldg(a.y[q] + t * NY + y));
            put(a.out + (t * NY + y) * NX + x, outer(cx, cy));
        }
        if (COLUMNS < 32) break;
    }
}
