// What a processor or device can do at most, by the layer's own functions. Before this file: engine/numbers/pack.h or
// engine/numbers/thread.h. ceilings.py writes a PACE(name, type, expression in x) for each way to an operation.
#pragma once
#include "engine/numbers/launch.h"

struct Pace {
    const double *in;
    double *out;
    long passes;
};
// The arrays of a collection without its arithmetic: `reads` rows in, `writes` rows out; items are the points. On a
// device only the first `kept` of a row out are written.
struct MovedRows {
    const double *in;
    double *out;
    long reads, writes, kept;
};

#ifdef ON_DEVICE
// Eight independent chains a thread; the function maps each chain into itself.
#define PACE(name, type, expression) \
    KERNEL(pace_##name, Pace, 256) { \
        const long t = blockIdx.x * (long)blockDim.x + threadIdx.x; \
        type chain[8], sum = type(0.0); \
        for (int i = 0; i < 8; ++i) chain[i] = type(0.5 + 0.01 * i + 1e-9 * t); \
        for (long pass = 0; pass < a.passes; ++pass) \
            for (int i = 0; i < 8; ++i) { \
                const type x = chain[i]; \
                chain[i] = expression; \
            } \
        for (int i = 0; i < 8; ++i) sum += chain[i]; \
        if (t < items) a.out[t] = sum; \
    }

// A thread takes two neighbouring points, so that a load or store is 16 bytes, and keeps several loads on their way.
struct alignas(16) Pair {
    double x, y;
};
POINT_FN void move_rows(Pair *out, const Pair *in, const long pairs, const long reads, const long writes,
                        const long kept) {
    const long t = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (t >= pairs) return;
    Pair sum = {0.0, 0.0};
    UNROLL_BY(8) for (long r = 0; r < reads; ++r) {
        const Pair value = in[r * pairs + t];
        sum.x += value.x, sum.y += value.y;
    }
    if (t >= kept && sum.x == sum.x) return; // no number is NaN, which the compiler does not know
    UNROLL_BY(8) for (long w = 0; w < writes; ++w) out[w * pairs + t] = sum;
}
KERNEL(pace_rows, MovedRows, 256) {
    move_rows((Pair *)a.out, (const Pair *)a.in, items / 2, a.reads, a.writes, a.kept / 2);
}

#else
// Over arrays that stay in L1. The barrier keeps the compiler from doing one pass for all.
#define PACE(name, type, expression) \
    KERNEL(pace_##name, Pace) { \
        (void)threads; \
        for (long pass = 0; pass < record->passes; ++pass) { \
            for (long t = 0; t < items; t += VECTOR_LANES) { \
                type x; \
                load(record->in + t, x); \
                store(record->out + t, expression); \
            } \
            asm volatile("" ::: "memory"); \
        } \
        return 0; \
    }

static volatile double near_one = 0.999999, small = 1e-9;

KERNEL(count_lanes, Pace) {
    record->out[0] = VECTOR_LANES;
    return (void)items, (void)threads, 0;
}

// Enough independent chains to fill two units of latency 4, few enough for 16 registers.
KERNEL(pace_fma, Pace) {
    constexpr int CHAINS = 12;
    const vec factor = vec(near_one), summand = vec(small);
    vec x[CHAINS], sum = vec(0.0);
    for (int i = 0; i < CHAINS; ++i) x[i] = vec(1.0 + i);
    for (long pass = 0; pass < record->passes; ++pass) UNROLL
    for (int i = 0; i < CHAINS; ++i) x[i] = x[i] * factor + summand;
    for (int i = 0; i < CHAINS; ++i) sum += x[i];
    store(record->out, sum);
    return (void)items, (void)threads, 0;
}

KERNEL(pace_rows, MovedRows) {
    (void)threads;
    for (long t = 0; t < items; t += VECTOR_LANES) {
        vec sum = vec(0.0), x;
        for (long r = 0; r < record->reads; ++r) {
            load(record->in + r * items + t, x);
            sum += x;
        }
        for (long w = 0; w < record->writes; ++w) store(record->out + w * items + t, sum);
    }
    return 0;
}
#endif
