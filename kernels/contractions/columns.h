// Sums over the rows of a matrix on CUDA devices: a block reads it from end to end, by 16 bytes, and a thread's numbers
// lie in the same columns each time.
#pragma once
#include "contractions/threads.h"

// Adds up ROWS rows of C numbers in shared memory: the first row has the sums. All threads of a block come.
template <int C, int ROWS> POINT_FN void add_rows(scalar *held) {
    int rows = ROWS;
    while (rows > 1) {
        const int left = (rows + 1) / 2;
        __syncthreads();
        for (int k = threadIdx.x; k < (rows - left) * C; k += blockDim.x) held[k] += held[k + left * C];
        rows = left;
    }
    __syncthreads();
}

// The same of PARTS rows that other blocks have written: into shared memory, which all threads have read.
template <int C, int PARTS, int THREADS> POINT_FN void add_parts(const scalar *parts, scalar *held) {
    constexpr int ROWS = PARTS * C < THREADS ? PARTS : THREADS / C;
    constexpr int STEP = ROWS * C;
    __syncthreads();
    if (threadIdx.x < STEP) {
        scalar sum = 0;
        UNROLL_BY(8)
        for (int k = threadIdx.x; k < PARTS * C; k += STEP) sum += fresh(parts + k);
        held[threadIdx.x] = sum;
    }
    add_rows<C, ROWS>(held);
}
