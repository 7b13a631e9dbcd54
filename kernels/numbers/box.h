// A kernel for the cells of a box in a block: a CPU takes packs of neighbours in x, a device a cell a thread.
//
//   BOX_KERNEL(name, Record, threads, body)     body<number>(a, cell, count) for a.lo <= (i, j, k) < a.hi
//
// Of the record it takes long lo[3], hi[3], stride[3]. cell: offset in the block, i + j*stride[1] + k*stride[2]. count:
// cells of a pack that are in the box. A launch has as many items as the box has cells.
#pragma once
#include "numbers/launch.h"

#ifdef ON_DEVICE
#define CONSTANT_TABLE __constant__ // numbers that are known when the source is written
#define BOX_KERNEL(name, Record, threads, body) \
    KERNEL(name, Record, threads) { \
        const long item = blockIdx.x * (long)blockDim.x + threadIdx.x; \
        if (item >= items) return; \
        const long nx = a.hi[0] - a.lo[0], ny = a.hi[1] - a.lo[1], row = item / nx, k = row / ny; \
        body<double>( \
            a, a.lo[0] + (item - row * nx) + (a.lo[1] + row - k * ny) * a.stride[1] + (a.lo[2] + k) * a.stride[2], 1); \
    }
#else
#include "numbers/pack.h"
#define CONSTANT_TABLE constexpr
// clang-format off
#define BOX_KERNEL(name, Record, device_threads, body)                                                                 \
    KERNEL(name, Record) {                                                                                             \
        const Record a = *record;                                                                                      \
        (void)items, (void)threads;                                                                                    \
        _Pragma("omp parallel for collapse(2) num_threads(threads) if (threads > 1)")                                  \
        for (long k = a.lo[2]; k < a.hi[2]; ++k)                                                                       \
            for (long j = a.lo[1]; j < a.hi[1]; ++j)                                                                   \
                for (long i = a.lo[0]; i < a.hi[0]; i += VECTOR_LANES) {                                               \
                    const long left = a.hi[0] - i;                                                                     \
                    body<vec>(a, i + j * a.stride[1] + k * a.stride[2],                                                \
                              left < VECTOR_LANES ? int(left) : VECTOR_LANES);                                         \
                }                                                                                                      \
        return 0;                                                                                                      \
    }
// clang-format on
#endif
