// Division, roots, exp and log of a pack of eight doubles with AVX-512. The processor has instructions that take
// exponents and mantissas apart. Tables of sixteen numbers are looked up within registers, which keeps the polynomials
// short. Included by pack.h.
#pragma once
#include "engine/numbers/binary_powers.h"

#define LANES(x) ((__m512d)(x))
POINT_FN lanes_d looked_up(const Sixteen &table, lanes_i index) { // by the low four bits
    return (lanes_d)_mm512_permutex2var_pd(_mm512_loadu_pd(table.at), (__m512i)index, _mm512_loadu_pd(table.at + 8));
}

// Intel's divider takes 16 cycles for 8 quotients and 24 or more for 8 roots. On Intel a looked-up start of 14 bits is
// therefore refined by fused multiply-adds. AMD's divider is faster than that (SSE4A tells an AMD processor). The last
// correction starts from 42 bits: about one result in 2^30 is not the correctly rounded one. A divisor that is 0 or
// infinite gives NaN.
#ifndef __SSE4A__
POINT_FN lanes_d reciprocal_start(lanes_d b) {
    const lanes_d y = (lanes_d)_mm512_rcp14_pd(LANES(b)), e = 1.0 - b * y;
    return y + y * (e + e * e);
}

POINT_FN vec operator/(vec a, vec b) {
    const lanes_d y = reciprocal_start(b.v), q = a.v * y;
    return vec(q + y * (a.v - b.v * q));
}

POINT_FN vec operator/(double a, vec b) {
    if (a != 1.0) return vec(a) / b;
    const lanes_d y = reciprocal_start(b.v);
    return vec(y + y * (1.0 - b.v * y));
}

// 1/x with two roundings instead of one, for results that are rounded in many steps anyway
POINT_FN vec inverse(vec x) {
    const lanes_d y = (lanes_d)_mm512_rcp14_pd(LANES(x.v)), e = 1.0 - x.v * y, better = y + y * e;
    return vec(better + better * (e * e));
}

POINT_FN vec operator/(vec a, double b) { return vec(a.v / b); }
POINT_FN vec sqrt(vec a) {
    const __mmask8 other = _mm512_cmp_pd_mask(LANES(a.v), _mm512_setzero_pd(), _CMP_NEQ_UQ); // the root of 0 is 0
    const lanes_d y = (lanes_d)_mm512_maskz_rsqrt14_pd(other, LANES(a.v)), g = a.v * y, h = 0.5 * y, r = 0.5 - g * h;
    const lanes_d better = g + g * (r + 1.5 * r * r);
    return vec(better + (h + h * r) * (a.v - better * better));
}
#else
POINT_FN vec sqrt(vec a) { return vec((lanes_d)_mm512_sqrt_pd(LANES(a.v))); }
#endif

// x^(-1/2) and x^(-1/4) of x > 0. The starts have 14 and 13 bits; the series of (1 - e)^(-1/2) and (1 - e)^(-1/4)
// correct them.
POINT_FN vec inverse_root(vec x) { return vec(inverse_root_from(x.v, (lanes_d)_mm512_rsqrt14_pd(LANES(x.v)))); }

POINT_FN vec inverse_fourth_root(vec x) {
    const lanes_d s = (lanes_d)_mm512_rsqrt14_pd(LANES(x.v)), y = s * (lanes_d)_mm512_rsqrt14_pd(LANES(s)), y2 = y * y,
                  e = 1.0 - x.v * y2 * y2;
    return vec(y + y * (e * (0.25 + e * (5.0 / 32 + e * (15.0 / 128 + e * (195.0 / 2048))))));
}

// exp(x) = 2^n 2^(j/16) exp(r) with x = k ln 2 + r, k = n + j/16, |r| <= ln(2)/32. exp(r) is a polynomial
// (fits/exponentials.py: error 1.2e-17). expm1 has a polynomial for exp(r) - 1
// (fits/exponentials.py: relative error 3.5e-18).
struct Exponent {
    lanes_d k, r_high;
    lanes_i j;
}; // r = r_high - k LN2_REST; LN2_REST is the part of ln 2 that r_high leaves out
constexpr double LN2_REST = 1.90821492927058770002e-10;
POINT_FN Exponent exponent(vec x) { // |x| < 1e13
    const lanes_d shifted = x.v * 1.4426950408889634074 + SIXTEENTHS, k = shifted - SIXTEENTHS;
    return {k, x.v - k * 6.93147180369123816490e-01, (lanes_i)shifted};
}

POINT_FN vec exp(vec x) {
    const Exponent e = exponent(x);
    const lanes_d r = e.r_high - e.k * LN2_REST, r2 = r * r;
    const lanes_d q = (0.50000000000000056828 + r * 0.16666666664413364456) +
                      r2 * (0.041666666659633116593 + r * (0.008333472062002202252 + r * 0.0013889129368188245352));
    const lanes_d root = looked_up(ROOTS_OF_TWO, e.j), y = root + root * (r + r2 * q);
    return vec((lanes_d)_mm512_scalef_pd(LANES(y), LANES(e.k))); // y 2^floor(k)
}

POINT_FN vec expm1(vec x) { // x < 709
    const Exponent e = exponent(x);
    const lanes_d r = e.r_high - (e.k * LN2_REST - LN2 * looked_up(LOST_IN_ROOTS, e.j)), r2 = r * r;
    const lanes_d q = (0.5 + r * 0.16666666666666669) + r2 * ((0.04166666666358933 + r * 0.008333333332991407) +
                                                              r2 * (0.0013889063615251755 + r * 0.000198414639814658));
    const lanes_d scale = (lanes_d)_mm512_scalef_pd(LANES(looked_up(ROOTS_OF_TWO, e.j)), LANES(e.k));
    return vec(scale * (r + r2 * q) + (scale - 1.0));
}

// 2^(a b) with a b = n + j/16 + f. The product a b is not rounded; |a b| < 1e13.
struct BinaryExponent {
    lanes_d k, f;
    lanes_i j;
};

POINT_FN BinaryExponent binary_exponent(vec a, vec b) {
    const lanes_d shifted = a.v * b.v + SIXTEENTHS, k = shifted - SIXTEENTHS;
    return {k, a.v * b.v - k, (lanes_i)shifted};
}

POINT_FN vec two_to(vec a, vec b) {
    const BinaryExponent e = binary_exponent(a, b);
    const double *const c = TWO_TO;
    const lanes_d f = e.f, f2 = f * f, p = (c[0] + f * c[1]) + f2 * ((c[2] + f * c[3]) + f2 * (c[4] + f * c[5])),
                  root = looked_up(ROOTS_OF_TWO, e.j);
    return vec((lanes_d)_mm512_scalef_pd(LANES(root + (root * f) * p), LANES(e.k))); // 2^floor(k)
}

POINT_FN vec two_to_less_one(vec a, vec b) { // a b < 1023
    const BinaryExponent e = binary_exponent(a, b);
    const double *const c = TWO_TO_LESS_ONE;
    const lanes_d f = e.f + looked_up(LOST_IN_ROOTS, e.j), f2 = f * f;
    const lanes_d p = (c[0] + f * c[1]) + f2 * ((c[2] + f * c[3]) + f2 * ((c[4] + f * c[5]) + f2 * c[6]));
    const lanes_d scale = (lanes_d)_mm512_scalef_pd(LANES(looked_up(ROOTS_OF_TWO, e.j)), LANES(e.k));
    return vec((scale * f) * p + (scale - 1.0));
}

POINT_FN vec where_positive(vec x, lanes_d y) { // y where x is positive and finite, else NaN
    const __mmask8 out = _mm512_fpclass_pd_mask(LANES(x.v), 0x01 | 0x02 | 0x04 | 0x08 | 0x10 | 0x40 | 0x80);
    return vec((lanes_d)_mm512_mask_mov_pd(LANES(y), out, _mm512_set1_pd(NOT_A_NUMBER)));
}

// log(x) = k ln 2 - ln c + ln(1 + r) with x = 2^k m, 0.75 <= m < 1.5, m = (1 + r)/c. The first bits of m give c.
// ln(1 + r) is a polynomial (fits/logarithms.py: error 1.1e-17). c = 1 on both sides of m = 1: there nothing cancels.
// Zero, negative numbers, infinity and NaN give NaN.
constexpr Sixteen LOG_C = {{1.0, 0.9142857142857143, 0.8648648648648649, 0.8205128205128205, 0.7804878048780488,
                            0.7441860465116279, 0.7111111111111111, 0.6808510638297872, 1.3061224489795917,
                            1.2549019607843137, 1.2075471698113207, 1.1636363636363636, 1.1228070175438596,
                            1.0847457627118644, 1.0491803278688525, 1.0}};
constexpr Sixteen MINUS_LN_C = {{0.0, 0.08961215868968717, 0.14518200984449783, 0.19782574332991992, 0.2478361639045812,
                                 0.2954642128938359, 0.3409265869705932, 0.38441169891033206, -0.26706278524904514,
                                 -0.22705745063534608, -0.18859116980754997, -0.15154989812720088, -0.11583181552512165,
                                 -0.0813456394539524, -0.04800921918636066, 0.0}};
POINT_FN vec log(vec x) {
    const __m512d m = _mm512_getmant_pd(LANES(x.v), _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_src);
    const __mmask8 below = _mm512_cmp_pd_mask(m, _mm512_set1_pd(1.0), _CMP_LT_OQ);
    const __m512d e = _mm512_getexp_pd(LANES(x.v));
    const lanes_d k = (lanes_d)_mm512_mask_add_pd(e, below, e, _mm512_set1_pd(1.0));
    const lanes_i index = (lanes_i)_mm512_srli_epi64((__m512i)m, 48);
    const lanes_d r = (lanes_d)m * looked_up(LOG_C, index) - 1.0, r2 = r * r, r4 = r2 * r2;
    const lanes_d q =
        ((-0.5000000000000002488 + r * 0.33333333333347546656) +
         r2 * (-0.24999999999860930181 + r * 0.19999999927801687204)) +
        r4 * ((-0.16666666160157728273 + r * 0.1428581984179667561) +
              r2 * ((-0.12501869626297751653 + r * 0.11071430724792614741) - r2 * 0.087450341247080936962));
    const lanes_d large = k * 6.93147180369123816490e-01 + looked_up(MINUS_LN_C, index);
    return where_positive(x, large + (r + (r2 * q + k * 1.90821492927058770002e-10)));
}

// x = 8^q m, 1 <= m < 8. s is a start for m^(-1/3) (fits/roots.py: within 5.7e-6), y = m s^2 a start for m^(1/3). A
// series in e = 1 - y s corrects y.
constexpr Sixteen THIRD_POWERS = {{1.0, 0.7937005259840998, 0.6299605249474366}}; // of 1/2
POINT_FN vec cbrt(vec x) {
    const lanes_d k = (lanes_d)_mm512_getexp_pd(LANES(x.v));
    const lanes_d m = (lanes_d)_mm512_getmant_pd(LANES(x.v), _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src), m2 = m * m;
    const lanes_d q = (lanes_d)_mm512_floor_pd(LANES(k * (1.0 / 3.0) + 1.0 / 6.0)), rest = k - q * 3.0;
    const lanes_d start =
        (1.7810576834729116 - m * 1.56602865052105739) + m2 * ((1.24378538856220807 - m * 0.597872626125945329) +
                                                               m2 * (0.156071471991335261 - m * 0.0170190161356291345));
    const lanes_d s = start * looked_up(THIRD_POWERS, (lanes_i)(rest + ROUNDER)),
                  z = (lanes_d)_mm512_scalef_pd(LANES(m), LANES(rest));
    const lanes_d y = (z * s) * s, e = 1.0 - y * s,
                  better = y + y * (e * (2.0 / 3.0 + e * (5.0 / 9.0 + e * (40.0 / 81.0))));
    return where_positive(x, (lanes_d)_mm512_scalef_pd(LANES(better), LANES(q)));
}

// 1/16 <= x < 4096; see binary_powers.h
template <class Exponent> POINT_FN vec power(Exponent, vec x) {
    static constexpr PowerTables t = power_tables(Exponent::value);
    const lanes_d m = (lanes_d)_mm512_getmant_pd(LANES(x.v), _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src);
    const lanes_i first = (lanes_i)_mm512_srli_epi64((__m512i)bits(x), 48),
                  k = (lanes_i)_mm512_srli_epi64((__m512i)bits(x), 52);
    const lanes_d r = m * looked_up(t.c, first) - 1.0, r2 = r * r,
                  scale = looked_up(t.of_exponent, k) * looked_up(t.of_c, first);
    const double *const b = t.series;
    const lanes_d q =
        ((b[1] + r * b[2]) + r2 * (b[3] + r * b[4])) + (r2 * r2) * ((b[5] + r * b[6]) + r2 * (b[7] + r * b[8]));
    return vec(scale + (scale * r) * q);
}

struct MinusTwoThirds {
    static constexpr long double value = -2.0L / 3;
};

POINT_FN vec inverse_two_thirds(vec x) { return power(MinusTwoThirds(), x); }
#undef LANES
