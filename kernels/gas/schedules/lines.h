// Packs of points of several lines, for boxes of few points in x: a pack holds the points with the same x of SIDE
// lines, which lie `step` numbers apart. It is made in registers: what is put together in memory has to be there before
// it can be loaded, and the processor computes nothing meanwhile. packs.h includes this; `stored` and `outside` are
// defined.
#pragma once

constexpr long SIDE = VECTOR_LANES;
#if VECTOR_LANES == 2
#define SIDE_BY_SIDE(x) {x(0), x(1)}
#elif VECTOR_LANES == 4
#define SIDE_BY_SIDE(x) {x(0), x(1), x(2), x(3)}
#elif VECTOR_LANES == 8
#define SIDE_BY_SIDE(x) {x(0), x(1), x(2), x(3), x(4), x(5), x(6), x(7)}
#else
#define SIDE_BY_SIDE(x) \
    {x(0), x(1), x(2), x(3), x(4), x(5), x(6), x(7), x(8), x(9), x(10), x(11), x(12), x(13), x(14), x(15)}
#endif
#ifndef FRAME_SINGLE
// Two neighbours of a line at a time: a pack's 16 bytes number k are those of line 2 k, another one's those of line
// 2 k + 1, which lie side by side then.
typedef double couple __attribute__((vector_size(16), aligned(8)));
#if VECTOR_BYTES == 64
#define EACH_SIXTEEN(f) f(0) f(1) f(2) f(3)
#define SIXTEEN(x, k) (couple) _mm512_extractf64x2_pd((__m512d)x, k)
#define SET_SIXTEEN(x, k, to) x = (lanes_d)_mm512_insertf64x2((__m512d)x, (__m128d)(to), k);
POINT_FN lanes_d even(lanes_d a, lanes_d b) { return (lanes_d)_mm512_unpacklo_pd((__m512d)a, (__m512d)b); }
POINT_FN lanes_d odd(lanes_d a, lanes_d b) { return (lanes_d)_mm512_unpackhi_pd((__m512d)a, (__m512d)b); }
#elif VECTOR_BYTES == 32
#define EACH_SIXTEEN(f) f(0) f(1)
#define SIXTEEN(x, k) (couple) _mm256_extractf128_pd((__m256d)x, k)
#define SET_SIXTEEN(x, k, to) x = (lanes_d)_mm256_insertf128_pd((__m256d)x, (__m128d)(to), k);
POINT_FN lanes_d even(lanes_d a, lanes_d b) { return (lanes_d)_mm256_unpacklo_pd((__m256d)a, (__m256d)b); }
POINT_FN lanes_d odd(lanes_d a, lanes_d b) { return (lanes_d)_mm256_unpackhi_pd((__m256d)a, (__m256d)b); }
#else
#define EACH_SIXTEEN(f) f(0)
#define SIXTEEN(x, k) (couple) x
#define SET_SIXTEEN(x, k, to) x = (lanes_d)(to);
POINT_FN lanes_d even(lanes_d a, lanes_d b) { return lanes_d{a[0], b[0]}; }
POINT_FN lanes_d odd(lanes_d a, lanes_d b) { return lanes_d{a[1], b[1]}; }
#endif
#define OF_LINE(l) (at + (l) * step)
POINT_FN void load_couple(const double *at, const long step, vec &x, vec &y) {
    lanes_d a = {}, b = {};
#define SET(k) SET_SIXTEEN(a, k, *(const couple *)OF_LINE(2 * k)) SET_SIXTEEN(b, k, *(const couple *)OF_LINE(2 * k + 1))
    EACH_SIXTEEN(SET)
#undef SET
    x.v = even(a, b), y.v = odd(a, b);
}

POINT_FN void store_couple(double *at, const long step, const vec x, const vec y) {
    const lanes_d a = even(x.v, y.v), b = odd(x.v, y.v);
#define SET(k) *(couple *)OF_LINE(2 * k) = SIXTEEN(a, k), *(couple *)OF_LINE(2 * k + 1) = SIXTEEN(b, k);
    EACH_SIXTEEN(SET)
#undef SET
}
#undef OF_LINE
#endif
// These, where they do not apply: numbers of four bytes, which are converted or shorter than the arithmetic's.
POINT_FN void load_couple(const float *, long, vec &, vec &) {}
POINT_FN void store_couple(float *, long, vec, vec) {}
constexpr long COUPLES = sizeof(outside) == 8;

// A compiler that knew from where `at` moves on would keep an address for each number: more than there are registers.
template <long N> POINT_FN void load_lines(const outside *at, const long step, vec (&x)[N]) {
    constexpr long TWO = COUPLES * (N & ~1);
    asm("" : "+r"(at));
    UNROLL
    for (long i = 0; i < TWO; i += 2) load_couple(at + i, step, x[i], x[i + 1]);
#define OF_LINE(l) stored((at + l * step)[i])
    UNROLL
    for (long i = TWO; i < N; ++i) x[i].v = lanes_d SIDE_BY_SIDE(OF_LINE);
#undef OF_LINE
}

template <long N> POINT_FN void store_lines(outside *at, const long step, const vec (&x)[N]) {
    constexpr long TWO = COUPLES * (N & ~1);
    asm("" : "+r"(at));
    UNROLL
    for (long i = 0; i < TWO; i += 2) store_couple(at + i, step, x[i], x[i + 1]);
    UNROLL
    for (long i = TWO; i < N; ++i) {
        const lanes_d v = x[i].v;
        UNROLL
        for (long l = 0; l < SIDE; ++l) (at + l * step)[i] = outside(v[l]);
    }
}

POINT_FN void load(const vec *at, vec &x) { x = *at; }
POINT_FN void store(vec *at, const vec x) { *at = x; }
