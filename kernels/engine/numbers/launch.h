// How a kernel is declared, for a CPU and for CUDA: it takes one record of arguments `a` and a number of items.
//
//   KERNEL(name, Record, threads[, blocks]) { ... }      on a device the work of one thread; on a CPU all the work,
//                                                        with the number of CPU threads as an argument
//   ITEM_KERNEL(name, Record, threads, body)             body(a, item) for each item
//   RANGE_KERNEL(name, Record, threads, body)            body(a, first, count, row, rows): the items from `first` on,
//                                                        in row `row` of a grid of blocks that has `rows` rows
//
// threads: threads of a block. blocks: blocks on a multiprocessor. Both come from the shape of the launch; a CPU
// ignores them.
#pragma once
#include "engine/numbers/platform.h"

#ifdef ON_DEVICE
#ifndef KERNEL // the tests' stand-in for a GPU defines its own
#define KERNEL(name, Record, ...) \
    extern "C" __global__ void __launch_bounds__(__VA_ARGS__) name(const Record a, const long items)
#endif
#define ITEM_KERNEL(name, Record, threads, body) \
    KERNEL(name, Record, threads) { \
        const long item = blockIdx.x * (long)blockDim.x + threadIdx.x; \
        if (item < items) body(a, item); \
    }
#define RANGE_KERNEL(name, Record, threads, body) \
    KERNEL(name, Record, threads) { \
        const long item = blockIdx.x * (long)blockDim.x + threadIdx.x; \
        if (item < items) body(a, item, 1, blockIdx.y, gridDim.y); \
    }
#else
// clang-format off
// A kernel returns 0 when it is done, another number when there was no memory for its scratch.
#define KERNEL(name, Record, ...) extern "C" int name(const Record *record, const long items, const int threads)
#define ITEM_KERNEL(name, Record, device_threads, body)                                                                \
    KERNEL(name, Record) {                                                                                             \
        const Record a = *record;                                                                                      \
        if (threads == 1) { /* without OpenMP, whose regions cost a small call more than its work */                   \
            for (long item = 0; item < items; ++item) body(a, item);                                                   \
            return 0;                                                                                                  \
        }                                                                                                              \
        _Pragma("omp parallel for schedule(static) num_threads(threads)")                                              \
        for (long item = 0; item < items; ++item) body(a, item);                                                       \
        return 0;                                                                                                      \
    }
#define RANGE_KERNEL(name, Record, device_threads, body)                                                               \
    KERNEL(name, Record) {                                                                                             \
        (void)threads;                                                                                                 \
        body(*record, 0, items, 0, 1);                                                                                 \
        return 0;                                                                                                      \
    }
// clang-format on
#endif
