// Species fastest, a warp a point: its lanes take VECTOR neighbouring x each, and where a row is shorter than the warp,
// several rows y at once, so that whole lines are written. The y inputs are the same for a row: loads that L1 serves.
#pragma once
#include "loops.h"

POINT_FN void over_teams(const Loops &a) {
    typedef Pack<VECTOR> P;
    constexpr int COLUMNS = NS / VECTOR, ROWS = COLUMNS < 32 ? 32 / COLUMNS : 1;
    static_assert(NS % VECTOR == 0, "rows start on a pack's boundary");
    const int lane = threadIdx.x % 32;
    const long teams = gridDim.x * (long)blockDim.x / 32;
    if (COLUMNS < 32 && lane >= ROWS * COLUMNS) return;
    ROLLED
    for (long t = (blockIdx.x * (long)blockDim.x + threadIdx.x) / 32; t < a.n; t += teams) ROLLED
    for (int x = (COLUMNS < 32 ? lane % COLUMNS : lane) * VECTOR; x < NS; x += 32 * VECTOR) {
        const P ax = fetch<P>(a.ax + t * NS + x), bx = fetch<P>(a.bx + t * NS + x);
        UNROLL_BY(AHEAD)
        for (int y = COLUMNS < 32 ? lane / COLUMNS : 0; y < NS; y += ROWS)
            put(a.out + (t * NS + y) * NS + x,
                outer(ax, bx, spread<VECTOR>(__ldg(a.ay + t * NS + y)), spread<VECTOR>(__ldg(a.by + t * NS + y))));
        if (COLUMNS < 32) break;
    }
}
