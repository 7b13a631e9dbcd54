// Points fastest, a block for POINTS points: their x inputs staged in shared memory, read from device memory once.
// GROUPS of threads cover the points, VECTOR of them a thread; each group takes every GROUPS-th tile of TILE rows y.
#pragma once
#include "unroll_and_jam.h" // also for the last n % VECTOR points

template <int T> POINT_FN void staged_jam(const Loops &a, const real *staged, const long t, const int first) {
    typedef Pack<VECTOR> P;
    Factors<P> cy[T];
    UNROLL
    for (int j = 0; j < T; ++j) cy[j] = y_at<P>(a, first + j, t);
    UNROLL_BY(AHEAD) for (int x = 0; x < NX; ++x) {
        const Factors<P> cx = held<P>(staged + x * POINTS, NX * POINTS);
        UNROLL
        for (int j = 0; j < T; ++j) put(a.out + at(a, first + j, x, t), outer(cx, cy[j]));
    }
}

POINT_FN void over_teams(const Loops &a) {
    typedef Pack<VECTOR> P;
    constexpr int COLUMNS = POINTS / VECTOR;
    alignas(128) extern __shared__ double shared_memory[];
    real *const staged = (real *)shared_memory; // the terms' x factors, NX x POINTS each
    const int column = threadIdx.x % COLUMNS * VECTOR;
    const int group = threadIdx.x / COLUMNS;
    const long t = blockIdx.x * (long)POINTS + column;
    const bool mine = t + VECTOR <= a.n;
    if (mine) UNROLL_BY(4) for (int x = group; x < NX; x += GROUPS) {
            const Factors<P> cx = x_at<P>(a, x, t);
            UNROLL
            for (int q = 0; q < TERMS; ++q) *(P *)(staged + (q * NX + x) * POINTS + column) = cx.v[q];
        }
    __syncthreads();
    if (!mine) return;
    ROLLED
    for (int y = group * TILE; y + TILE <= NY; y += GROUPS * TILE) staged_jam<TILE>(a, staged + column, t, y);
    if constexpr (NY % TILE != 0)
        if (NY / TILE % GROUPS == group) staged_jam<NY % TILE>(a, staged + column, t, NY / TILE * TILE);
}
