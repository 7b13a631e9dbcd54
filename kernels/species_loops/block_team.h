// Species fastest, a block for POINTS points at a time. Inputs are staged in shared memory by loads of neighbouring
// values; then each thread keeps to its VECTOR columns x and walks down the rows. At each step the block writes ROWS
// neighbouring rows, which are one piece of memory. A thread writes PARTS packs: where rows are no multiple of 16
// bytes, its store runs on into the next row.
#pragma once
#include "loops.h"
#ifndef PARTS
#define PARTS 1
#endif

POINT_FN void over_teams(const Loops &a) {
    typedef Pack<VECTOR> P;
    constexpr int COLUMNS = NS / VECTOR, THREADS = COLUMNS * ROWS / PARTS;
    static_assert(NS % VECTOR == 0 && COLUMNS * ROWS % PARTS == 0 && NS * COLUMNS % PARTS == 0,
                  "rows are packs, points and steps whole stores");
    alignas(128) extern __shared__ double shared_memory[];
    real *const ax = (real *)shared_memory, *const bx = ax + POINTS * NS, *const ay = bx + POINTS * NS,
                *const by = ay + POINTS * NS;
    const int me = threadIdx.x, row = me * PARTS / COLUMNS;
    ROLLED
    for (long first = blockIdx.x * (long)POINTS; first < a.n; first += gridDim.x * (long)POINTS) {
        const int values = (a.n - first < POINTS ? int(a.n - first) : POINTS) * NS;
        ROLLED
        for (int i = me * VECTOR; i < values; i += THREADS * VECTOR) {
            *(P *)(ax + i) = fetch<P>(a.ax + first * NS + i);
            *(P *)(bx + i) = fetch<P>(a.bx + first * NS + i);
            *(P *)(ay + i) = fetch<P>(a.ay + first * NS + i);
            *(P *)(by + i) = fetch<P>(a.by + first * NS + i);
        }
        __syncthreads();
        real *const out = a.out + first * NS * NS + me * PARTS * VECTOR;
        UNROLL_BY(4) for (int step = 0; step + row < values; step += ROWS) {
            Pack<VECTOR * PARTS> made;
            UNROLL
            for (int k = 0; k < PARTS; ++k) { // row j of the group: point j/NS, y = j%NS
                const int pack = me * PARTS + k, j = step + pack / COLUMNS,
                          start = j / NS * NS + pack % COLUMNS * VECTOR;
                const P part =
                    outer(held<P>(ax + start), held<P>(bx + start), spread<VECTOR>(ay[j]), spread<VECTOR>(by[j]));
                UNROLL
                for (int i = 0; i < VECTOR; ++i) made.v[k * VECTOR + i] = part.v[i];
            }
            put(out + long(step) * NS, made);
        }
        __syncthreads();
    }
}
