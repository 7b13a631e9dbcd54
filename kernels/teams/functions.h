// max, min and select of two numbers, whole ones as they are, and what else CUDA has and C++ does not. CUDA has max and
// min of equal types, where NaN gives the other number.
#pragma once

// An index as a view counts with it
POINT_FN long index_of(long i) { return i; }
#define IS_NO_INDEX \
    static_assert(!sizeof(X), "an index is a real number: count with whole numbers, of each_lane where they differ")
template <class X = double> POINT_FN long index_of(double) {
    IS_NO_INDEX;
    return 0;
}

template <class X = float> POINT_FN long index_of(float) {
    IS_NO_INDEX;
    return 0;
}

template <class X> struct Plain {};

#define IS_PLAIN(type) \
    template <> struct Plain<type> { \
        typedef void yes; \
    };
IS_PLAIN(int)
IS_PLAIN(long)
IS_PLAIN(unsigned)
IS_PLAIN(unsigned long)
IS_PLAIN(float)
IS_PLAIN(double)
#undef IS_PLAIN

#if !defined(ON_DEVICE) || defined(FRAME_STAND_IN)
#ifndef FRAME_STAND_IN // the tests' CUDA on a CPU has this one
POINT_FN int min(int a, int b) { return a < b ? a : b; }
#endif
POINT_FN int max(int a, int b) { return a > b ? a : b; }
POINT_FN long max(long a, long b) { return a > b ? a : b; }
POINT_FN long min(long a, long b) { return a < b ? a : b; }
POINT_FN unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }
POINT_FN unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
POINT_FN unsigned long max(unsigned long a, unsigned long b) { return a > b ? a : b; }
POINT_FN unsigned long min(unsigned long a, unsigned long b) { return a < b ? a : b; }
POINT_FN float max(float a, float b) { return fmaxf(a, b); }
POINT_FN float min(float a, float b) { return fminf(a, b); }
POINT_FN double max(double a, double b) { return fmax(a, b); }
POINT_FN double min(double a, double b) { return fmin(a, b); }
template <class X, class = typename Plain<X>::yes> POINT_FN auto rsqrt(X x) { return 1 / sqrt(x); }
#endif

template <class A, class B, class = typename Plain<A>::yes, class = typename Plain<B>::yes>
POINT_FN auto max(A a, B b) -> decltype(a + b) {
    typedef decltype(a + b) C;
    return max(C(a), C(b));
}

template <class A, class B, class = typename Plain<A>::yes, class = typename Plain<B>::yes>
POINT_FN auto min(A a, B b) -> decltype(a + b) {
    typedef decltype(a + b) C;
    return min(C(a), C(b));
}

template <class A, class B, class = typename Plain<A>::yes, class = typename Plain<B>::yes>
POINT_FN auto select(bool condition, A yes, B no) -> decltype(yes + no) {
    return condition ? yes : no;
}
