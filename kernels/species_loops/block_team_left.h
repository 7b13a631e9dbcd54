// Points fastest, a block for POINTS points: their x inputs staged in shared memory, read from device memory once.
// GROUPS of threads cover the points, VECTOR of them a thread; each group takes every GROUPS-th tile of TILE rows y.
#pragma once
#include "unroll_and_jam.h" // also for the last n % VECTOR points

template <int T>
POINT_FN void staged_jam(const Loops &a, const real *ax, const real *bx, const long t, const int first) {
    typedef Pack<VECTOR> P;
    P ay[T], by[T];
    UNROLL
    for (int j = 0; j < T; ++j) {
        ay[j] = fetch<P>(a.ay + at(a, first + j, t));
        by[j] = fetch<P>(a.by + at(a, first + j, t));
    }
    UNROLL_BY(AHEAD) for (int x = 0; x < NS; ++x) {
        const P cx = held<P>(ax + x * POINTS), dx = held<P>(bx + x * POINTS);
        UNROLL
        for (int j = 0; j < T; ++j) put(a.out + at(a, first + j, x, t), outer(cx, dx, ay[j], by[j]));
    }
}

POINT_FN void over_teams(const Loops &a) {
    typedef Pack<VECTOR> P;
    constexpr int COLUMNS = POINTS / VECTOR;
    alignas(128) extern __shared__ double shared_memory[];
    real *const ax = (real *)shared_memory, *const bx = ax + NS * POINTS;
    const int column = threadIdx.x % COLUMNS * VECTOR, group = threadIdx.x / COLUMNS;
    const long t = blockIdx.x * (long)POINTS + column;
    const bool mine = t + VECTOR <= a.n;
    if (mine) UNROLL_BY(4) for (int x = group; x < NS; x += GROUPS) {
            *(P *)(ax + x * POINTS + column) = fetch<P>(a.ax + at(a, x, t));
            *(P *)(bx + x * POINTS + column) = fetch<P>(a.bx + at(a, x, t));
        }
    __syncthreads();
    if (!mine) return;
    ROLLED
    for (int y = group * TILE; y + TILE <= NS; y += GROUPS * TILE) staged_jam<TILE>(a, ax + column, bx + column, t, y);
    if constexpr (NS % TILE != 0)
        if (NS / TILE % GROUPS == group) staged_jam<NS % TILE>(a, ax + column, bx + column, t, NS / TILE * TILE);
}
