// What the organisations of the species loops share: the formula, the two layouts, packs, streaming stores, and
// SPECIES_LOOP(name, call, threads[, blocks]), the kernel that makes `call` do all points.
// Defined before this file: REAL (double, float), SPECIES (NS), RIGHT (0: point fastest, 1: species fastest),
// STREAM (1: stores that pass the caches by), VECTOR (CUDA: values a load or store takes).
#pragma once
#include "numbers/launch.h"

typedef REAL real;
constexpr int NS = SPECIES;

struct Loops {
    const real *__restrict__ ax, *__restrict__ bx, *__restrict__ ay, *__restrict__ by;
    real *__restrict__ out;
    long n, ld; // points; row length where points are fastest
};

// A launch's record of arguments; its items are the points.
struct Arguments {
    const real *ax, *bx, *ay, *by;
    real *out;
    long ld;
};

template <class P> POINT_FN P outer(P ax, P bx, P ay, P by) { return ax * ay + bx * by; }

// Where species s, or the pair (y, x), of point t stands.
POINT_FN long at(const Loops &a, int s, long t) { return RIGHT ? t * NS + s : s * a.ld + t; }
POINT_FN long at(const Loops &a, int y, int x, long t) {
    return RIGHT ? (t * NS + y) * NS + x : (long(y) * NS + x) * a.ld + t;
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
template <int W> POINT_FN Pack<W> outer(Pack<W> ax, Pack<W> bx, Pack<W> ay, Pack<W> by) {
    Pack<W> r;
    UNROLL
    for (int i = 0; i < W; ++i) r.v[i] = outer(ax.v[i], bx.v[i], ay.v[i], by.v[i]);
    return r;
}

// Inputs: the load of what nothing writes, so that the compiler may move it over stores.
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
// In shared memory.
template <class P> POINT_FN P held(const real *from) { return *(const P *)from; }

POINT_FN void stream(double *to, Pack<1> p) { __stcs(to, double(p.v[0])); }
POINT_FN void stream(float *to, Pack<1> p) { __stcs(to, float(p.v[0])); }
template <int W> POINT_FN void stream(double *to, Pack<W> p) {
    static_assert(W == 2, "16 bytes");
    double2 w;
    w.x = p.v[0], w.y = p.v[1];
    __stcs((double2 *)to, w);
}
template <int W> POINT_FN void stream(float *to, Pack<W> p) {
    if constexpr (W == 2) {
        float2 w;
        w.x = p.v[0], w.y = p.v[1];
        __stcs((float2 *)to, w);
    } else {
        static_assert(W == 4, "16 bytes");
        float4 w;
        w.x = p.v[0], w.y = p.v[1], w.z = p.v[2], w.w = p.v[W - 1];
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

#define SPECIES_LOOP(name, call, ...) \
    KERNEL(name, Arguments, __VA_ARGS__) { call(Loops{a.ax, a.bx, a.ay, a.by, a.out, items, a.ld}); }

#else
#include <string.h>
#define ROLLED _Pragma("GCC ivdep") _Pragma("GCC unroll 1")
#define COMPILER_CHOOSES _Pragma("GCC ivdep") _Pragma("GCC unroll 16")

#if defined(__AVX512F__)
#define PACK_BYTES 64
#elif defined(__AVX__)
#define PACK_BYTES 32
#else
#define PACK_BYTES 16
#endif

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

#define SPECIES_LOOP(name, call, ...) \
    KERNEL(name, Arguments) { \
        const Arguments &a = *record; \
        call(Loops{a.ax, a.bx, a.ay, a.by, a.out, items, a.ld}, threads); \
        return 0; \
    }
#endif
