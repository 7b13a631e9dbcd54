// The loop around a point program on a CPU: blocks of BLOCK points, whose intermediates stay in the L1 cache, in stages
// over packs. `real` and `Mixture` are defined before this file. After it packs.py defines a structure P, the program:
//   COUNT arrays of ROWS[] rows, which are INPUT[] or OUTPUT[] or both; SCRATCH rows of intermediates
//   composed(m, scratch)                       the part that depends on the composition alone, if that is uniform
//   stages(m, array, stride, scratch, count)   all stages over `count` points, a multiple of LANES
#pragma once
#include <fenv.h>
#include <stdlib.h>
#include "numbers/launch.h"

typedef number<real>::stored stored;
// Rows lie slightly more than a block apart, so that no two are a multiple of 4 KiB apart: such rows would share the
// same few lines of the L1 cache.
constexpr long BLOCK = 128, ROW = BLOCK + 64 / sizeof(stored), LANES = number<real>::lanes;

struct Array {
    outside *at;
    long ld;
};
template <int COUNT> struct Arguments {
    const Mixture *constants;
    Array array[COUNT];
};

// Prefetches an array's values of the next block: the hardware prefetcher does not follow so many streams, and a stream
// that is written has to be read too. Each stage prefetches its part of the rows, which spreads the requests over the
// time of a block.
template <int POINTS, bool WRITE>
static inline void ask_ahead(const stored *now, long stride, int rows, int part, int parts) {
    for (int r = part; r < rows; r += parts)
        for (long k = 0; k < POINTS; k += 64 / long(sizeof(stored)))
            __builtin_prefetch(now + r * stride + k + BLOCK, WRITE, WRITE ? 3 : 2);
}

// A whole block is computed in place. A partial block, or one whose arrays have another type than the stages, is copied
// first; the copy is filled up to whole packs with the last point. So there is no remainder loop, and a point's results
// do not depend on its place in the block.
template <class P>
static void some_points(const Mixture &m, const Array *array, stored *scratch, const long first, const long count) {
    stored *at[P::COUNT], *next = scratch + P::SCRATCH * ROW;
    long stride[P::COUNT];
    if (sizeof(outside) == sizeof(stored) && count == BLOCK) {
        for (int a = 0; a < P::COUNT; ++a) at[a] = (stored *)(array[a].at + first), stride[a] = array[a].ld;
        P::stages(m, at, stride, scratch, BLOCK);
        return;
    }
    const long whole = (count + LANES - 1) / LANES * LANES;
    for (int a = 0; a < P::COUNT; ++a) {
        at[a] = next;
        stride[a] = ROW;
        next += P::ROWS[a] * ROW;
        if (P::INPUT[a])
            for (int r = 0; r < P::ROWS[a]; ++r) {
                const outside *from = array[a].at + r * array[a].ld + first;
                stored *to = at[a] + r * ROW;
                for (long t = 0; t < count; ++t) to[t] = from[t];
                for (long t = count; t < whole; ++t) to[t] = from[count - 1];
            }
    }
    P::stages(m, at, stride, scratch, whole);
    for (int a = 0; a < P::COUNT; ++a)
        if (P::OUTPUT[a])
            for (int r = 0; r < P::ROWS[a]; ++r) {
                outside *to = array[a].at + r * array[a].ld + first;
                for (long t = 0; t < count; ++t) to[t] = outside(at[a][r * ROW + t]);
            }
}

// Points first .. end - 1 on one thread. Returns 0 when done, 1 when there is no memory for the scratch.
template <class P> static int some_blocks(const Mixture &m, const Array *array, long first, const long end) {
    int rows = P::SCRATCH;
    for (int a = 0; a < P::COUNT; ++a) rows += P::ROWS[a];
    stored *scratch = (stored *)aligned_alloc(64, rows * ROW * sizeof(stored));
    if (!scratch) return 1;
    P::composed(m, scratch);
    for (; first < end; first += BLOCK)
        some_points<P>(m, array, scratch, first, end - first < BLOCK ? end - first : BLOCK);
    free(scratch);
    return 0;
}

// One thread goes without OpenMP, whose regions cost a small call more than its work. Others are shared with the host,
// which may have set traps for floating-point exceptions.
template <class P> static int run_program(const Arguments<P::COUNT> &arguments, const long n, const int threads) {
    if (threads == 1) return some_blocks<P>(*arguments.constants, arguments.array, 0, n);
    const long blocks = (n + BLOCK - 1) / BLOCK;
    int failed = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(| : failed)
    for (int part = 0; part < threads; ++part) {
        fenv_t host;
        feholdexcept(&host), fesetenv(FE_DFL_ENV);
        const long first = blocks * part / threads * BLOCK, end = blocks * (part + 1) / threads * BLOCK;
        failed |= some_blocks<P>(*arguments.constants, arguments.array, first, end < n ? end : n);
        fesetenv(&host);
    }
    return failed;
}
