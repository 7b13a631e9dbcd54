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
//
// Beside it what differs between CUDA and the CPU for every kernel: attributes of functions, unrolling, NaN. A kernel
// without mathematical functions needs no more of the layer: the system's <math.h> takes longer to read than some
// kernels to compile.
#pragma once

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define ON_DEVICE
#define POINT_FN __device__ __forceinline__
#define PART_FN POINT_FN
// A part that few points take: the others do not hold its numbers in registers.
#define RARE_FN __device__ __noinline__
#define INLINED // of a lambda
#define UNROLL _Pragma("unroll")
#ifndef SPECIES_UNROLL
#define SPECIES_UNROLL 1
#endif

#define NOT_A_NUMBER __longlong_as_double(0x7ff8000000000000LL) // NVRTC has no constexpr NaN
#define FRAME_PRAGMA(x) _Pragma(#x)
#define UNROLL_BY(n) FRAME_PRAGMA(unroll n)
#define UNROLL_IF(condition) FRAME_PRAGMA(unroll((condition) ? 128 : 1))
// Loops of at most 16 turns. Of a larger count NVRTC leaves loops inside of others as they are.
#define UNROLL_FEW(condition) FRAME_PRAGMA(unroll((condition) ? 16 : 1))
#define FOR_SPECIES(s, count) UNROLL_BY(SPECIES_UNROLL) for (int s = 0; s < (count); ++s)
#else
#include "engine/numbers/instructions.h"
#define POINT_FN inline __attribute__((always_inline))
// A part of a long body, of thousands of operations. A compiler allots the registers of a function better that is not
// all of it. Hidden, since other libraries of a process have parts of the same name.
#define PART_FN __attribute__((noinline, visibility("hidden")))
#define RARE_FN POINT_FN
#define INLINED __attribute__((always_inline))
#define NOT_A_NUMBER __builtin_nan("")
#define UNROLL _Pragma("GCC unroll 16")
#define UNROLL_BY(count)
#define UNROLL_IF(condition)
#define UNROLL_FEW(condition) _Pragma("GCC unroll 5")
#define FOR_SPECIES(s, count) for (int s = 0; s < (count); ++s)
#endif

// For a struct: the statics of its functions are its own, even if other libraries of the process have the same names.
#ifdef ON_DEVICE
#define HIDDEN
#else
#define HIDDEN [[gnu::visibility("hidden")]]
#endif

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
