// What the organisations of outer products share, out[y, x] = sum of x factors times y factors at each point: the two
// layouts, packs, streaming stores, and OUTER_LOOP(name, call, loops, threads[, blocks]), the kernel that makes `call`
// do all points.
// Defined before this file: NX, NY, TERMS, OUTER(x, y), which is the formula for numbers x[TERMS] and y[TERMS],
// RIGHT (0: point fastest, 1: slowest), STREAM (1: stores that pass the caches by), VECTOR (CUDA: values a load or
// store takes).
#pragma once
#include "engine/numbers/launch.h"

typedef scalar real;

struct Loops {
    const real *x[TERMS], *y[TERMS];
    real *__restrict__ out;
    long n, ld; // points; row length where points are fastest
};
template <class P> struct Factors {
    P v[TERMS];
};
template <class P> POINT_FN P outer(const Factors<P> &x, const Factors<P> &y) { return OUTER(x.v, y.v); }

// Where x, y, or the pair of them, of point t stands.
POINT_FN long at_x(const Loops &a, int x, long t) { return RIGHT ? t * NX + x : x * a.ld + t; }
POINT_FN long at_y(const Loops &a, int y, long t) { return RIGHT ? t * NY + y : y * a.ld + t; }
POINT_FN long at(const Loops &a, int y, int x, long t) {
    return RIGHT ? (t * NY + y) * NX + x : (long(y) * NX + x) * a.ld + t;
}

template <class P> POINT_FN P fetch(const real *from); // a number or a pack, on each kind of backend below
template <class P> POINT_FN Factors<P> x_at(const Loops &a, int x, long t) {
    Factors<P> f;
    UNROLL
    for (int q = 0; q < TERMS; ++q) f.v[q] = fetch<P>(a.x[q] + at_x(a, x, t));
    return f;
}
template <class P> POINT_FN Factors<P> y_at(const Loops &a, int y, long t) {
    Factors<P> f;
    UNROLL
    for (int q = 0; q < TERMS; ++q) f.v[q] = fetch<P>(a.y[q] + at_y(a, y, t));
    return f;
}

#ifdef ON_DEVICE
#define ROLLED _Pragma("unroll 1")
#define COMPILER_CHOOSES

template <int W> struct alignas(W * sizeof(real)) Pack {
    static constexpr int width = W;
    real v[W];
};
template <int W> POINT_FN Pack<W> spread(real value) {
    Pack<W> p;
    UNROLL
    for (int i = 0; i < W; ++i) p.v[i] = value;
    return p;
}
template <int W> POINT_FN Pack<W> outer(const Factors<Pack<W>> &x, const Factors<Pack<W>> &y) {
    Pack<W> r;
    UNROLL
    for (int i = 0; i < W; ++i) {
        Factors<real> one, other;
        UNROLL
        for (int q = 0; q < TERMS; ++q) one.v[q] = x.v[q].v[i], other.v[q] = y.v[q].v[i];
        r.v[i] = outer(one, other);
    }
    return r;
}

// Inputs: a load of memory that no thread writes, so that the compiler may move it over stores.
template <int BYTES> struct Word;
template <> struct Word<4> {
    typedef float type;
};
template <> struct Word<8> {
    typedef double type;
};
template <> struct Word<16> {
    typedef double2 type;
};
template <class P> POINT_FN P fetch(const real *from) {
    const auto word = __ldg((const typename Word<sizeof(P)>::type *)from);
    return *(const P *)&word;
}
// In shared memory, where the terms' arrays follow each other.
template <class P> POINT_FN Factors<P> held(const real *from, int apart) {
    Factors<P> f;
    UNROLL
    for (int q = 0; q < TERMS; ++q) f.v[q] = *(const P *)(from + q * apart);
    return f;
}
template <int W> POINT_FN Factors<Pack<W>> held_spread(const real *from, int apart) {
    Factors<Pack<W>> f;
    UNROLL
    for (int q = 0; q < TERMS; ++q) f.v[q] = spread<W>(from[q * apart]);
    return f;
}

POINT_FN void stream(double *to, Pack<1> p) { __stcs(to, double(p.v[0])); }
POINT_FN void stream(float *to, Pack<1> p) { __stcs(to, float(p.v[0])); }
template <int W> POINT_FN void stream(double *to, Pack<W> p) {
    static_assert(W == 2, "16 bytes");
    double2 w;
    w.x = p.v[0];
    w.y = p.v[1];
    __stcs((double2 *)to, w);
}
template <int W> POINT_FN void stream(float *to, Pack<W> p) {
    if constexpr (W == 2) {
        float2 w;
        w.x = p.v[0];
        w.y = p.v[1];
        __stcs((float2 *)to, w);
    } else {
        static_assert(W == 4, "16 bytes");
        float4 w;
        w.x = p.v[0];
        w.y = p.v[1];
        w.z = p.v[2];
        w.w = p.v[W - 1];
        __stcs((float4 *)to, w);
    }
}
template <int W> POINT_FN void put(real *to, Pack<W> p) {
    if (STREAM) stream(to, p);
    else *(Pack<W> *)to = p;
}

// Thread a point, or VECTOR neighbouring points: a strategy defines loops_at<P>(a, t), all the work at the points of
// one P. L is Loops: as a template, this asks for loops_at only where a strategy has one.
template <class P> POINT_FN void loops_at(const Loops &a, long t);
template <class L> POINT_FN void over_points(const L &a) {
    const long t = (blockIdx.x * (long)blockDim.x + threadIdx.x) * VECTOR;
    if (t + VECTOR <= a.n) loops_at<Pack<VECTOR>>(a, t);
}
// the last n % VECTOR points, one a thread
template <class L> POINT_FN void rest(const L &a) {
    const long t = a.n - a.n % VECTOR + threadIdx.x;
    if (t < a.n) loops_at<Pack<1>>(a, t);
}

#define OUTER_LOOP(name, call, loops, ...) \
    KERNEL(name, Arguments, __VA_ARGS__) { call(loops); }

#else
#include <string.h>
#include "contractions/pack_bytes.h"
#define ROLLED _Pragma("GCC ivdep") _Pragma("GCC unroll 1")
#define COMPILER_CHOOSES _Pragma("GCC ivdep") _Pragma("GCC unroll 16")

typedef real lanes __attribute__((vector_size(PACK_BYTES)));
constexpr int WIDTH = PACK_BYTES / sizeof(real);

template <class P> POINT_FN P fetch(const real *from) {
    P p;
    memcpy(&p, from, sizeof p);
    return p;
}
POINT_FN void put(real *to, real p) { *to = p; }
POINT_FN void put_plain(real *to, lanes p) { memcpy(to, &p, sizeof p); }
// `to` is on a boundary of the pack's size. The compilers' own builtins: the intrinsics' headers take longer to read
// than all of this to compile.
POINT_FN void put(real *to, lanes p) {
#if STREAM && defined(__clang__)
    __builtin_nontemporal_store(p, (lanes *)to);
#elif STREAM && PACK_BYTES == 64
    typedef long long words __attribute__((vector_size(64)));
    __builtin_ia32_movntdq512((words *)to, (words)p);
#elif STREAM && PACK_BYTES == 32
    typedef long long words __attribute__((vector_size(32)));
    __builtin_ia32_movntdq256((words *)to, (words)p);
#elif STREAM && defined(__SSE2__)
    typedef long long words __attribute__((vector_size(16)));
    __builtin_ia32_movntdq((words *)to, (words)p);
#else
    put_plain(to, p);
#endif
}
POINT_FN void streams_end() // streaming stores are in no order with others until then
{
#if STREAM && defined(__SSE2__)
    __builtin_ia32_sfence();
#endif
}

template <class P> POINT_FN void loops_at(const Loops &a, long t);
// All points, packs of points where these are fastest, one by one where species are (and the compiler's vectors then
// run over x).
template <class L> POINT_FN void over_points(const L &a, int threads) {
    const long whole = RIGHT ? 0 : a.n - a.n % WIDTH;
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
#pragma omp for schedule(static)
        for (long t = 0; t < whole; t += WIDTH) loops_at<lanes>(a, t);
#pragma omp for schedule(static)
        for (long t = whole; t < a.n; ++t) loops_at<real>(a, t);
        streams_end();
    }
}

#define OUTER_LOOP(name, call, loops, ...) \
    KERNEL(name, Arguments) { \
        const Arguments &a = *record; \
        call(loops, threads); \
        return 0; \
    }
#endif
