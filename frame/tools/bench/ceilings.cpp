// What this processor can do at most, on the layer's own packs: each call does `passes` passes, timed by the caller.
#include "numbers/pack.h"

static volatile double near_one = 0.999999, small = 1e-9;

// Enough independent chains to fill two FMA units of latency 4, few enough for 16 registers.
extern "C" double pace_fma(long passes) {
    constexpr int CHAINS = 12;
    const vec factor = vec(near_one), summand = vec(small);
    vec x[CHAINS], sum = vec(0.0);
    for (int i = 0; i < CHAINS; ++i) x[i] = vec(1.0 + i);
    for (long pass = 0; pass < passes; ++pass) UNROLL
    for (int i = 0; i < CHAINS; ++i) x[i] = x[i] * factor + summand;
    for (int i = 0; i < CHAINS; ++i) sum += x[i];
    double lane[VECTOR_LANES];
    store(lane, sum);
    return lane[0];
}
extern "C" int vector_lanes() { return VECTOR_LANES; }
extern "C" long flops_fma(long passes) { return passes * 12 * VECTOR_LANES * 2; }

// Over arrays that stay in L1; the barrier keeps the compiler from doing one pass for all. The kernels have several ways
// to a quotient or a root, and ceilings.py takes the fastest of each.
#define PACE(name, expression) \
    extern "C" void pace_##name(const double *in, double *out, long n, long passes) { \
        for (long pass = 0; pass < passes; ++pass) { \
            for (long t = 0; t < n; t += VECTOR_LANES) { \
                vec x; \
                load(in + t, x); \
                store(out + t, expression); \
            } \
            asm volatile("" ::: "memory"); \
        } \
    }
PACE(divide, 1.5 / x)
PACE(divide_inverse, inverse(x))
PACE(divide_rough, rough_quotient(vec(1.5), x))
PACE(root, sqrt(x))
PACE(root_inverse, inverse_root(x))
PACE(exp, exp(x))
PACE(exp_binary, two_to(x, vec(1.0)))
PACE(log, log(x))
PACE(cube_root, cbrt(x))
PACE(cube_root_inverse, inverse_two_thirds(x))
PACE(start, two_thirds_start(x))
PACE(start_root, inverse_root_start(x))

// The arrays of a collection without its arithmetic: `reads` rows of n points in, `writes` rows out, point by point.
extern "C" void pace_rows(const double *in, double *out, long n, long reads, long writes) {
    for (long t = 0; t < n; t += VECTOR_LANES) {
        vec sum = vec(0.0), x;
        for (long r = 0; r < reads; ++r) {
            load(in + r * n + t, x);
            sum += x;
        }
        for (long w = 0; w < writes; ++w) store(out + w * n + t, sum);
    }
}
