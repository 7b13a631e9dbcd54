// The CPU number type: a pack holds one value for each of several neighbouring points, in compiler vector extensions.
// Everything is IEEE arithmetic on lanes; nothing here needs or survives -ffast-math.
#pragma once
#include <string.h>
#include "platform.h"
#if defined(__AVX__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#define VECTOR_LANES 8
#elif defined(__AVX__)
#define VECTOR_LANES 4
#else
#define VECTOR_LANES 2   // SSE2, NEON
#endif

typedef double lanes_d __attribute__((vector_size(8*VECTOR_LANES)));
typedef long long lanes_i __attribute__((vector_size(8*VECTOR_LANES)));

struct vmask { lanes_i m; };
struct vec {
    lanes_d v;
    POINT_FN vec() {}
    POINT_FN vec(double s) : v(s - lanes_d{}) {}
    POINT_FN explicit vec(lanes_d x) : v(x) {}
};

#define BINARY(op) \
    POINT_FN vec operator op(vec a, vec b) { return vec(a.v op b.v); } \
    POINT_FN vec operator op(vec a, double b) { return vec(a.v op b); } \
    POINT_FN vec operator op(double a, vec b) { return vec(a op b.v); }
BINARY(+) BINARY(-) BINARY(*) BINARY(/)
#undef BINARY
POINT_FN vec operator-(vec a) { return vec(-a.v); }
POINT_FN vec &operator+=(vec &a, vec b) { a.v += b.v; return a; }
POINT_FN vec &operator-=(vec &a, vec b) { a.v -= b.v; return a; }
POINT_FN vec &operator*=(vec &a, vec b) { a.v *= b.v; return a; }
#define COMPARE(op) \
    POINT_FN vmask operator op(vec a, vec b) { return vmask{(lanes_i)(a.v op b.v)}; } \
    POINT_FN vmask operator op(vec a, double b) { return vmask{(lanes_i)(a.v op vec(b).v)}; }
COMPARE(<) COMPARE(>) COMPARE(<=) COMPARE(>=)
#undef COMPARE
POINT_FN vmask operator&&(vmask a, vmask b) { return vmask{a.m & b.m}; }
POINT_FN vmask operator||(vmask a, vmask b) { return vmask{a.m | b.m}; }
POINT_FN vmask operator!(vmask a) { return vmask{~a.m}; }

POINT_FN lanes_i bits(vec a) { return (lanes_i)a.v; }
POINT_FN vec from_bits(lanes_i a) { return vec((lanes_d)a); }
POINT_FN vec select(vmask c, vec yes, vec no) { return vec(c.m ? yes.v : no.v); }
// one instruction each, with the same answer for NaN as the scalar forms
POINT_FN vec larger(vec a, vec b) {
#if VECTOR_LANES == 8
    return vec((lanes_d)_mm512_max_pd((__m512d)a.v, (__m512d)b.v));
#elif VECTOR_LANES == 4
    return vec((lanes_d)_mm256_max_pd((__m256d)a.v, (__m256d)b.v));
#else
    return select(a > b, a, b);
#endif
}
POINT_FN vec smaller(vec a, vec b) {
#if VECTOR_LANES == 8
    return vec((lanes_d)_mm512_min_pd((__m512d)a.v, (__m512d)b.v));
#elif VECTOR_LANES == 4
    return vec((lanes_d)_mm256_min_pd((__m256d)a.v, (__m256d)b.v));
#else
    return select(a < b, a, b);
#endif
}
POINT_FN bool any_of(vmask c) {
#if VECTOR_LANES == 8
    return _mm512_movepi64_mask((__m512i)c.m) != 0;
#elif VECTOR_LANES == 4
    return _mm256_movemask_pd((__m256d)c.m) != 0;
#else
    return (c.m[0] | c.m[1]) != 0;
#endif
}
POINT_FN bool all_of(vmask c) { return !any_of(!c); }

POINT_FN void load(const double *address, vec &x) { memcpy(&x.v, address, sizeof x.v); }
POINT_FN void store(double *address, vec x) { memcpy(address, &x.v, sizeof x.v); }

POINT_FN vec fabs(vec a) { return from_bits(bits(a) & 0x7fffffffffffffffLL); }
POINT_FN vec copysign(vec size, vec sign) {
    return from_bits((bits(size) & 0x7fffffffffffffffLL) | (bits(sign) & (long long)0x8000000000000000ULL));
}
POINT_FN vec sqrt(vec a) {
#if VECTOR_LANES == 8
    return vec((lanes_d)_mm512_sqrt_pd((__m512d)a.v));
#elif VECTOR_LANES == 4
    return vec((lanes_d)_mm256_sqrt_pd((__m256d)a.v));
#else
    lanes_d r;
    for (int i = 0; i < VECTOR_LANES; ++i) r[i] = __builtin_sqrt(a.v[i]);
    return vec(r);
#endif
}

// Integers of small size live in the low bits of 1.5*2^52 + n: rounding to nearest and conversion in one addition.
constexpr double ROUNDER = 6755399441055744.0;
POINT_FN vec nearest(vec a, lanes_i &n) {
    vec t = a + ROUNDER;
    n = bits(t) - bits(vec(ROUNDER));
    return t - ROUNDER;
}
POINT_FN vec to_number(lanes_i n) { return from_bits(n + bits(vec(ROUNDER))) - ROUNDER; }
POINT_FN vec floor_small(vec a) {        // |a| < 2^51
#if VECTOR_LANES == 8
    return vec((lanes_d)_mm512_floor_pd((__m512d)a.v));
#elif VECTOR_LANES == 4
    return vec((lanes_d)_mm256_floor_pd((__m256d)a.v));
#endif
    lanes_i n;
    vec k = nearest(a, n);
    return select(k > a, k - 1.0, k);
}

// exp by 2^n exp(r), |r| <= ln(2)/2; polynomial of degree 11, interpolated at Chebyshev points (error 1e-17).
// NaN stays NaN: the scale 2^n is a factor, not an addition to the exponent field.
POINT_FN vec exp(vec x) {
    x = at_most(at_least(x, -708.0), 709.0);
    lanes_i n;
    vec k = nearest(x*1.4426950408889634074, n);
    vec r = (x - k*6.93147180369123816490e-01) - k*1.90821492927058770002e-10;
    vec r2 = r*r, r4 = r2*r2;
    vec q01 = 0.5 + r*0.16666666666666669, q23 = 0.04166666666662399 + r*0.008333333333330051, q45 = 0.0013888888917281794 + r*0.00019841269863105968, q67 = 2.480152119021773e-05 + r*2.7557268378684192e-06, q89 = 2.7620138719733994e-07 + r*2.5100424157005067e-08;
    vec q = (q01 + r2*q23) + r4*((q45 + r2*q67) + r4*q89);
    return (1.0 + (r + r2*q))*from_bits((n + 1023) << 52);
}

// log by k ln 2 + log(m), m in [sqrt(1/2), sqrt(2)), with the odd series in (m-1)/(m+1) (coefficients: fdlibm).
// Zero, negative numbers, infinity and NaN give NaN.
POINT_FN void split_exponent(vec x, vec &m, lanes_i &e) {
    lanes_i b = bits(x);
    e = (b - 0x3fe6a09e667f3bcdLL) >> 52;
    m = from_bits(b - (e << 52));
}
POINT_FN vec log(vec x) {
    vec m;
    lanes_i e;
    split_exponent(x, m, e);
    vec k = to_number(e), f = m - 1.0, s = f/(m + 1.0), w = s*s, w2 = w*w;
    vec series = w*((6.666666666666735130e-01 + w*3.999999999940941908e-01)
                    + w2*((2.857142874366239149e-01 + w*2.222219843214978396e-01)
                          + w2*((1.818357216161805012e-01 + w*1.531383769920937332e-01) + w2*1.479819860511658591e-01)));
    vec half_f2 = 0.5*f*f;
    vec r = k*6.93147180369123816490e-01 - ((half_f2 - (s*(half_f2 + series) + k*1.90821492927058770002e-10)) - f);
    return select(x > 0.0 && x < 1.7976931348623157e308, r, vec(NOT_A_NUMBER));
}

// Cube root of positive normal numbers: exponent by three, polynomial start (1e-6), one Halley step.
POINT_FN void cbrt_split(vec x, vec &start, lanes_i &q, lanes_i &scaled) {
    vec m;
    lanes_i e;
    split_exponent(x, m, e);
    vec k = to_number(e), third = nearest(k*(1.0/3.0), q), rest = k - third*3.0;
    scaled = bits(x) - ((q + (q << 1)) << 52);
    start = (0.42168972671728805 + m*1.0560153104736694)
            + (m*m)*((-0.8360702136296013 + m*0.5109662902775375) + (m*m)*(-0.1795570628596505 + m*0.02695496222151213));
    start = start*select(rest < -0.5, vec(0.793700525984099737376), select(rest > 0.5, vec(1.259921049894873164767), vec(1.0)));
}
POINT_FN vec cbrt_start(vec x) {         // relative error 1.3e-6, for iterations that start from it
    vec y;
    lanes_i q, scaled;
    cbrt_split(select(x > 1e-300, x, vec(1e-300)), y, q, scaled);
    return from_bits(bits(y) + (q << 52));
}
POINT_FN vec cbrt(vec x) {
    vec y;
    lanes_i q, scaled;
    cbrt_split(x, y, q, scaled);
    vec z = from_bits(scaled), y3 = y*y*y;
    y = y - y*((y3 - z)/(y3 + y3 + z));
    return select(x > 0.0, from_bits(bits(y) + (q << 52)), vec(NOT_A_NUMBER));
}

POINT_FN vec table_row(const double *table, vec row) {
    lanes_i n;
    nearest(row, n);
#if VECTOR_LANES == 8
    return vec((lanes_d)_mm512_i64gather_pd((__m512i)n, table, 8));
#else
    lanes_d r;
    for (int i = 0; i < VECTOR_LANES; ++i) r[i] = table[n[i]];
    return vec(r);
#endif
}

// Line `line` of a table of 8 columns, for each lane: whole cache lines are loaded and transposed.
POINT_FN void table_line(const double *table, vec line, vec (&c)[8]) {
    lanes_i n;
    nearest(line, n);
#if VECTOR_LANES == 8
    __m512d r[8], s[8];
    UNROLL for (int i = 0; i < 8; ++i) r[i] = _mm512_loadu_pd(table + 8*n[i]);
    UNROLL for (int i = 0; i < 8; i += 2) {
        s[i] = _mm512_unpacklo_pd(r[i], r[i + 1]);
        s[i + 1] = _mm512_unpackhi_pd(r[i], r[i + 1]);
    }
    UNROLL for (int i = 0; i < 2; ++i) {
        const __m512d a = _mm512_shuffle_f64x2(s[i], s[i + 2], 0x88), b = _mm512_shuffle_f64x2(s[i + 4], s[i + 6], 0x88);
        const __m512d d = _mm512_shuffle_f64x2(s[i], s[i + 2], 0xdd), e = _mm512_shuffle_f64x2(s[i + 4], s[i + 6], 0xdd);
        c[i] = vec((lanes_d)_mm512_shuffle_f64x2(a, b, 0x88));
        c[i + 4] = vec((lanes_d)_mm512_shuffle_f64x2(a, b, 0xdd));
        c[i + 2] = vec((lanes_d)_mm512_shuffle_f64x2(d, e, 0x88));
        c[i + 6] = vec((lanes_d)_mm512_shuffle_f64x2(d, e, 0xdd));
    }
#else
    UNROLL for (int k = 0; k < 8; ++k) {
        lanes_d r;
        for (int i = 0; i < VECTOR_LANES; ++i) r[i] = table[8*n[i] + k];
        c[k] = vec(r);
    }
#endif
}

template <> struct number<vec> {
    static constexpr int lanes = VECTOR_LANES;
    static constexpr bool wide = false;
    typedef double stored;
};
