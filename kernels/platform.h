// What differs between CUDA and the CPU, in one place: function attributes, unrolling, NaN, and the vocabulary that
// point bodies use on any number type: select, any_of, all_of, at_least, at_most, Rows.
#pragma once

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define POINT_FN __device__ __forceinline__
#define UNROLL _Pragma("unroll")
#ifndef SPECIES_UNROLL
#define SPECIES_UNROLL 1
#endif
#define NOT_A_NUMBER __longlong_as_double(0x7ff8000000000000LL)   // NVRTC has no constexpr NaN
#define FRAME_PRAGMA(x) _Pragma(#x)
#define UNROLL_BY(n) FRAME_PRAGMA(unroll n)
#define FOR_SPECIES(s, count) UNROLL_BY(SPECIES_UNROLL) for (int s = 0; s < (count); ++s)
#else
#include <math.h>
#define POINT_FN inline __attribute__((always_inline))
#define NOT_A_NUMBER __builtin_nan("")
#define UNROLL _Pragma("GCC unroll 16")
#define FOR_SPECIES(s, count) for (int s = 0; s < (count); ++s)
#endif

constexpr double SQRT2 = 1.41421356237309504880;
constexpr double R_UNIVERSAL = 8.31446261815324;  // J/mol/K, CODATA 2018 (exact: k_B N_A)

// ---- scalar number types; the CPU pack brings its own overloads of these names
POINT_FN double select(bool condition, double yes, double no) { return condition ? yes : no; }
POINT_FN double larger(double a, double b) { return a > b ? a : b; }     // b where one of them is NaN
POINT_FN double smaller(double a, double b) { return a < b ? a : b; }
POINT_FN bool any_of(bool condition) { return condition; }
POINT_FN bool all_of(bool condition) { return condition; }
POINT_FN double cbrt_start(double x) { return cbrt(x); }
POINT_FN double table_row(const double *table, double row) { return table[int(row)]; }
POINT_FN void table_line(const double *table, double line, double (&c)[8]) {
    const double *from = table + 8*int(line);
    UNROLL for (int k = 0; k < 8; ++k) c[k] = from[k];
}
POINT_FN double floor_small(double x) { return floor(x); }
POINT_FN void load(const double *address, double &x) { x = *address; }
POINT_FN void store(double *address, double x) { *address = x; }

#ifdef FRAME_WIDE       // before the templates below: built-in types are not found by argument-dependent look-up
#include "wide.h"
#endif

template <class R> struct number {           // how a number type sits in memory
    static constexpr int lanes = 1;
    static constexpr bool wide = false;
    typedef R stored;
};

#ifdef FRAME_WIDE
template <> struct number<wide> {
    static constexpr int lanes = 1;
    static constexpr bool wide = true;
    typedef __float128 stored;
};
#endif

// Bounds that keep NaN, unlike fmin and fmax.
template <class R> POINT_FN R at_least(R x, double floor) { return larger(R(floor), x); }
template <class R> POINT_FN R at_most(R x, double ceiling) { return smaller(R(ceiling), x); }
// What indexes a table: NaN and negative numbers become 0 (the NaN is carried by the values beside it).
template <class R> POINT_FN R bounded_index(R x, double ceiling) { return larger(at_most(x, ceiling), R(0.0)); }
template <class R> POINT_FN R square(R x) { return x*x; }

// The values of one point (or one pack of points) of an array (count, points) with points fastest.
template <class R> struct Rows {
    typename number<R>::stored *base;
    long stride;
    POINT_FN R operator[](int s) const { R x; load(base + s*stride, x); return x; }
    POINT_FN void set(int s, R x) const { store(base + s*stride, x); }
};

// The same, held in registers; constant indices only.
template <class R, int N> struct Held {
    R value[N];
    POINT_FN R operator[](int s) const { return value[s]; }
    POINT_FN void set(int s, R x) { value[s] = x; }
};
