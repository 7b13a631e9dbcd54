// Species fastest, a block for POINTS points at a time. Inputs are staged in shared memory by loads of neighbouring
// values; then each thread keeps to its VECTOR columns x and walks down the rows. At each step the block writes ROWS
// neighbouring rows, which are one piece of memory. A thread writes PARTS packs: where rows are no multiple of 16
// bytes, its store runs on into the next row.
#pragma once
#include "outer.h"
#ifndef PARTS
#define PARTS 1
#endif

// `count` values of each term, by loads of W neighbours, into arrays that are `apart`.
template <int W, int THREADS>
POINT_FN void stage(const real *const (&from)[TERMS], long first, int count, real *to, int apart) {
    ROLLED
    for (int i = threadIdx.x * W; i < count; i += THREADS * W) {
        UNROLL
        for (int q = 0; q < TERMS; ++q) *(Pack<W> *)(to + q * apart + i) = fetch<Pack<W>>(from[q] + first + i);
    }
}

POINT_FN void over_teams(const Loops &a) {
    typedef Pack<VECTOR> P;
    constexpr int COLUMNS = NX / VECTOR;
    constexpr int THREADS = COLUMNS * ROWS / PARTS;
    static_assert(NX % VECTOR == 0 && COLUMNS * ROWS % PARTS == 0 && NY * COLUMNS % PARTS == 0,
                  "rows are packs, points and steps whole stores");
    alignas(128) extern __shared__ double shared_memory[];
    constexpr int XS = POINTS * NX;
    constexpr int YS = POINTS * NY; // numbers of a term
    real *const staged_x = (real *)shared_memory, *const staged_y = staged_x + TERMS * XS;
    const int me = threadIdx.x;
    const int row = me * PARTS / COLUMNS;
    ROLLED
    for (long first = blockIdx.x * (long)POINTS; first < a.n; first += gridDim.x * (long)POINTS) {
        const int points = a.n - first < POINTS ? int(a.n - first) : POINTS;
        const int values = points * NY;
        stage<VECTOR, THREADS>(a.x, first * NX, points * NX, staged_x, XS);
        stage<NY % VECTOR ? 1 : VECTOR, THREADS>(a.y, first * NY, values, staged_y, YS);
        __syncthreads();
        real *const out = a.out + first * NX * NY + me * PARTS * VECTOR;
        UNROLL_BY(4) for (int step = 0; step + row < values; step += ROWS) {
            Pack<VECTOR * PARTS> made;
            UNROLL
            for (int k = 0; k < PARTS; ++k) { // row j of the group: point j / NY, y = j % NY
                const int pack = me * PARTS + k;
                const int j = step + pack / COLUMNS;
                const int start = j / NY * NX + pack % COLUMNS * VECTOR;
                const P part = outer(held<P>(staged_x + start, XS), held_spread<VECTOR>(staged_y + j, YS));
                UNROLL
                for (int i = 0; i < VECTOR; ++i) made.v[k * VECTOR + i] = part.v[i];
            }
            put(out + long(step) * NX, made);
        }
        __syncthreads();
    }
}
