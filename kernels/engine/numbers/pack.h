// The CPU number type. A pack holds one value for each of several neighbouring points, in the compiler's vector types.
// The values are doubles, or floats with FRAME_SINGLE (functions of floats: pack_single.h). All arithmetic on lanes is
// IEEE. Do not compile with -ffast-math: it would break the functions below.
#pragma once
#include <string.h>
#include "engine/numbers/platform.h"
#if defined(__AVX__)
#include <immintrin.h>
#endif

// NARROW_PACKS: 256 bits also where there are 512, but on AMD's processors (SSE4A), whose units stay the same
#if defined(LONG_PACKS)
#define VECTOR_BYTES LONG_PACKS
#elif defined(__AVX512F__) && defined(__AVX512DQ__) && (!defined(NARROW_PACKS) || defined(__SSE4A__))
#define VECTOR_BYTES 64
#elif defined(__AVX__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16 // SSE2, NEON
#endif
#ifdef FRAME_SINGLE
#define VECTOR_LANES (VECTOR_BYTES / 4)
typedef int whole;
typedef unsigned unsigned_whole;
#else
#define VECTOR_LANES (VECTOR_BYTES / 8)
typedef long long whole;
typedef unsigned long long unsigned_whole;
#endif
#if VECTOR_BYTES == 64 && !defined(FRAME_SINGLE)
#define AVX512_DOUBLE // division, roots, exp and log are those of avx512.h
#endif
constexpr unsigned_whole SIGN = unsigned_whole(1) << (8 * sizeof(scalar) - 1);

#ifdef LONG_PACKS
#include "engine/numbers/side_by_side.h"
typedef SideBySide<scalar> lanes_d;
typedef SideBySide<whole> lanes_i;
typedef SideBySide<unsigned_whole> lanes_u;
#else
typedef scalar lanes_d __attribute__((vector_size(VECTOR_BYTES)));
typedef whole lanes_i __attribute__((vector_size(VECTOR_BYTES)));
typedef unsigned_whole lanes_u __attribute__((vector_size(VECTOR_BYTES)));
template <class To, class From> POINT_FN To converted(From x) { return __builtin_convertvector(x, To); }
#endif

#if VECTOR_BYTES == 64 && defined(FRAME_SINGLE)
typedef __mmask16 lanes_m;
#elif VECTOR_BYTES == 64
typedef __mmask8 lanes_m;
#else
typedef lanes_i lanes_m;
#endif
struct vmask {
    lanes_m m;
};

struct vec {
    lanes_d v;
    POINT_FN vec() {}
    POINT_FN vec(double s) : v(scalar(s) - lanes_d{}) {}
    POINT_FN explicit vec(lanes_d x) : v(x) {}
};

#define BINARY(op) \
    POINT_FN vec operator op(vec a, vec b) { return vec(a.v op b.v); } \
    POINT_FN vec operator op(vec a, double b) { return vec(a.v op scalar(b)); } \
    POINT_FN vec operator op(double a, vec b) { return vec(scalar(a) op b.v); }
BINARY(+)
BINARY(-)
BINARY(*)
#if !defined(AVX512_DOUBLE) || defined(__SSE4A__)
BINARY(/)
#endif
#undef BINARY
POINT_FN vec operator-(vec a) { return vec(-a.v); }
POINT_FN vec &operator+=(vec &a, vec b) {
    a.v += b.v;
    return a;
}

POINT_FN vec &operator-=(vec &a, vec b) {
    a.v -= b.v;
    return a;
}

POINT_FN vec &operator*=(vec &a, vec b) {
    a.v *= b.v;
    return a;
}

#if VECTOR_BYTES == 64 && defined(FRAME_SINGLE)
#define COMPARED(op, code) _mm512_cmp_ps_mask((__m512)a.v, (__m512)b.v, code)
#elif VECTOR_BYTES == 64
#define COMPARED(op, code) _mm512_cmp_pd_mask((__m512d)a.v, (__m512d)b.v, code)
#else
#define COMPARED(op, code) (lanes_m)(a.v op b.v)
#endif
#define COMPARE(op, code) \
    POINT_FN vmask operator op(vec a, vec b) { return vmask{COMPARED(op, code)}; } \
    POINT_FN vmask operator op(vec a, double b) { return a op vec(b); }
COMPARE(<, _CMP_LT_OQ)
COMPARE(>, _CMP_GT_OQ)
COMPARE(<=, _CMP_LE_OQ)
COMPARE(>=, _CMP_GE_OQ)
#undef COMPARE
#undef COMPARED
POINT_FN vmask operator&&(vmask a, vmask b) { return vmask{lanes_m(a.m & b.m)}; }
POINT_FN vmask operator||(vmask a, vmask b) { return vmask{lanes_m(a.m | b.m)}; }
POINT_FN vmask operator!(vmask a) { return vmask{lanes_m(~a.m)}; }

POINT_FN lanes_i bits(vec a) { return (lanes_i)a.v; }
POINT_FN vec from_bits(lanes_i a) { return vec((lanes_d)a); }

POINT_FN vec select(vmask c, vec yes, vec no) {
#if VECTOR_BYTES == 64 && defined(FRAME_SINGLE)
    return vec((lanes_d)_mm512_mask_blend_ps(c.m, (__m512)no.v, (__m512)yes.v));
#elif VECTOR_BYTES == 64
    return vec((lanes_d)_mm512_mask_blend_pd(c.m, (__m512d)no.v, (__m512d)yes.v));
#elif defined(LONG_PACKS)
    return vec(chosen_lanes(c.m, yes.v, no.v));
#else
    return vec(c.m ? yes.v : no.v);
#endif
}

// one instruction on a whole pack where the processor has it
#if VECTOR_BYTES == 64 && defined(FRAME_SINGLE)
#define HARDWARE(op, ...) return vec((lanes_d)_mm512_##op##_ps(__VA_ARGS__))
typedef __m512 hardware;
#elif VECTOR_BYTES == 64
#define HARDWARE(op, ...) return vec((lanes_d)_mm512_##op##_pd(__VA_ARGS__))
typedef __m512d hardware;
#elif VECTOR_BYTES == 32 && defined(FRAME_SINGLE)
#define HARDWARE(op, ...) return vec((lanes_d)_mm256_##op##_ps(__VA_ARGS__))
typedef __m256 hardware;
#elif VECTOR_BYTES == 32
#define HARDWARE(op, ...) return vec((lanes_d)_mm256_##op##_pd(__VA_ARGS__))
typedef __m256d hardware;
#else
#define HARDWARE(op, ...)
typedef lanes_d hardware;
#endif
// NaN is treated as in the scalar forms: the result is b.
POINT_FN vec larger(vec a, vec b) {
    HARDWARE(max, (hardware)a.v, (hardware)b.v);
    return select(a > b, a, b);
}

POINT_FN vec smaller(vec a, vec b) {
    HARDWARE(min, (hardware)a.v, (hardware)b.v);
    return select(a < b, a, b);
}

// A small integer n is kept in the low bits of 1.5*2^MANTISSA + n. One addition then rounds to nearest and converts.
constexpr int MANTISSA = sizeof(scalar) == 4 ? 23 : 52;
constexpr double ROUNDER = 1.5 * (1LL << MANTISSA);

// x^(-1/2) of x > 0 from a start y of 14 bits, by the series of (1 - e)^(-1/2)
template <class R> POINT_FN R inverse_root_from(const R x, const R y) {
    const R e = 1.0 - (x * y) * y;
    return y + y * (e * (0.5 + e * (3.0 / 8 + e * (5.0 / 16))));
}

#ifdef AVX512_DOUBLE
#include "engine/numbers/avx512.h"
#elif defined(LONG_PACKS)
POINT_FN vec sqrt(vec a) { return vec(roots(a.v)); }
#else
POINT_FN vec sqrt(vec a) {
    HARDWARE(sqrt, (hardware)a.v);
    lanes_d r;
    for (int i = 0; i < VECTOR_LANES; ++i) r[i] = __builtin_sqrt(a.v[i]);
    return vec(r);
}
#endif

POINT_FN vec nearest(vec a, lanes_i &n) {
    vec t = a + ROUNDER;
    n = bits(t) - bits(vec(ROUNDER));
    return t - ROUNDER;
}

POINT_FN vec floor_small(vec a) { // |a| < 2^(MANTISSA - 1)
    HARDWARE(floor, (hardware)a.v);
    lanes_i n;
    vec k = nearest(a, n);
    return select(k > a, k - 1.0, k);
}

#undef HARDWARE

#ifdef LONG_PACKS
POINT_FN bool any_of(vmask c) {
    whole any = 0;
    for (int l = 0; l < VECTOR_LANES; ++l) any |= c.m[l];
    return any != 0;
}
#endif

#ifdef FRAME_SINGLE
#include "engine/numbers/pack_single.h"
#else
#ifndef LONG_PACKS
POINT_FN bool any_of(vmask c) {
#if VECTOR_LANES == 8
    return c.m != 0;
#elif VECTOR_LANES == 4
    return _mm256_movemask_pd((__m256d)c.m) != 0;
#else
    return (c.m[0] | c.m[1]) != 0;
#endif
}
#endif

POINT_FN vec to_number(lanes_i n) { return from_bits(n + bits(vec(ROUNDER))) - ROUNDER; }

// exp(x) = 2^n exp(r), |r| <= ln(2)/2. exp(r) is a polynomial of degree 11, interpolated at Chebyshev points
// (fits/exponentials.py: error 3.4e-17). NaN stays NaN: the scale 2^n is a factor, not an addition to the exponent
// field.
struct ExpParts {
    vec scale, less_one;
}; // 2^n and exp(r) - 1

POINT_FN ExpParts exp_parts(vec r, lanes_i n) {
    vec r2 = r * r, r4 = r2 * r2;
    vec q01 = 0.5 + r * 0.16666666666666669, q23 = 0.04166666666662399 + r * 0.008333333333330051,
        q45 = 0.0013888888917281794 + r * 0.00019841269863105968,
        q67 = 2.480152119021773e-05 + r * 2.7557268378684192e-06,
        q89 = 2.7620138719733994e-07 + r * 2.5100424157005067e-08;
    vec q = (q01 + r2 * q23) + r4 * ((q45 + r2 * q67) + r4 * q89);
    return {from_bits((n + 1023) << 52), r + r2 * q};
}

POINT_FN ExpParts exp_parts(vec x) {
    x = at_most(at_least(x, -708.0), 709.0);
    lanes_i n;
    vec k = nearest(x * LOG2E, n);
    return exp_parts((x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10, n);
}

#ifndef AVX512_DOUBLE
POINT_FN vec atanh_series(vec w) { // 2 atanh(s)/s - 2 of w = s^2
    const vec w2 = w * w;
    return w *
           ((6.666666666666735130e-01 + w * 3.999999999940941908e-01) +
            w2 * ((2.857142874366239149e-01 + w * 2.222219843214978396e-01) +
                  w2 * ((1.818357216161805012e-01 + w * 1.531383769920937332e-01) + w2 * 1.479819860511658591e-01)));
}

// log(x) = k ln 2 + log(m), m in [sqrt(1/2), sqrt(2)). log(m) is the odd series in (m-1)/(m+1) (coefficients: fdlibm;
// fits/logarithms.py: error 1.2e-18). Zero, negative numbers, infinity and NaN give NaN.
POINT_FN void split_exponent(vec x, vec &m, lanes_i &e) {
    lanes_i b = bits(x);
    e = (b - 0x3fe6a09e667f3bcdLL) >> 52;
    m = from_bits(b - (e << 52));
}

POINT_FN vec log(vec x) {
    vec m;
    lanes_i e;
    split_exponent(x, m, e);
    vec k = to_number(e), f = m - 1.0, s = f / (m + 1.0), series = atanh_series(s * s);
    vec half_f2 = 0.5 * f * f;
    vec r =
        k * 6.93147180369123816490e-01 - ((half_f2 - (s * (half_f2 + series) + k * 1.90821492927058770002e-10)) - f);
    return select(x > 0.0 && x < 1.7976931348623157e308, r, vec(NOT_A_NUMBER));
}

#include "engine/numbers/pack_cube_root.h"
#endif

// Rough functions of numbers >= 0, as starts of iterations. The bits of a double, read as an integer, are nearly
// proportional to its binary logarithm. A step of Newton's method follows. Zero gives a finite number.
constexpr double ROUGH_THIRDS = 1499678884705075.0;
template <class R> POINT_FN R two_thirds_from(const R x, const R y) { // y: x^(-1/3) within 5 %
    const R xy = x * y;
    return xy * (1.335 - (1.0 / 3.0) * (xy * (y * y)));
}

POINT_FN vec two_thirds_start(vec x) { // x^(2/3), fits/roots.py: relative error 2.6e-3
#ifdef AVX512_DOUBLE
    const lanes_d thirds = (lanes_d)_mm512_cvtepi64_pd((__m512i)bits(x)) * (-1.0 / 3.0) + ROUGH_THIRDS * 4096;
    return two_thirds_from(x, from_bits((lanes_i)_mm512_cvtpd_epi64((__m512d)thirds)));
#else
    lanes_i n;
    nearest(to_number((lanes_i)((lanes_u)bits(x) >> 12)) * (-1.0 / 3.0) + ROUGH_THIRDS, n);
    return two_thirds_from(x, from_bits(n << 12));
#endif
}

POINT_FN vec inverse_root_start(vec x) { // 1/sqrt(x), fits/roots.py: relative error 1.8e-3
#ifdef AVX512_DOUBLE
    return vec((lanes_d)_mm512_rsqrt14_pd((__m512d)x.v));
#else
    const vec y = from_bits(0x5fe6eb50c7b537a9LL - (lanes_i)((lanes_u)bits(x) >> 1));
    return y * (1.5 - 0.5 * x * y * y);
#endif
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

POINT_FN vec rough_quotient(vec a, vec b) {
#if VECTOR_LANES == 8
    const vec r = vec((lanes_d)_mm512_rcp14_pd((__m512d)b.v)), q = a * r;
    return q + r * (a - b * q);
#else
    return a / b;
#endif
}
#endif

POINT_FN bool all_of(vmask c) { return !any_of(!c); }

#ifdef LONG_PACKS
POINT_FN void load(const scalar *address, vec &x) {
    for (auto &part : x.v.part) memcpy(&part, address, sizeof part), address += lanes_d::OF_PART;
}

POINT_FN void store(scalar *address, vec x) {
    for (const auto &part : x.v.part) memcpy(address, &part, sizeof part), address += lanes_d::OF_PART;
}
#else
POINT_FN void load(const scalar *address, vec &x) { memcpy(&x.v, address, sizeof x.v); }
POINT_FN void store(scalar *address, vec x) { memcpy(address, &x.v, sizeof x.v); }
#endif
// Past the caches; the address is a multiple of VECTOR_BYTES.
#if VECTOR_BYTES == 64
POINT_FN void store_past(scalar *address, vec x) { _mm512_stream_si512((__m512i *)address, (__m512i)x.v); }
#elif VECTOR_BYTES == 32
POINT_FN void store_past(scalar *address, vec x) { _mm256_stream_si256((__m256i *)address, (__m256i)x.v); }
#elif defined(LONG_PACKS)
POINT_FN void store_past(scalar *address, vec x) {
    for (const auto &part : x.v.part) {
#if PART_BYTES == 64
        _mm512_stream_si512((__m512i *)address, (__m512i)part);
#elif PART_BYTES == 32
        _mm256_stream_si256((__m256i *)address, (__m256i)part);
#else
        memcpy(address, &part, sizeof part);
#endif
        address += lanes_d::OF_PART;
    }
}
#endif

POINT_FN vec fabs(vec a) { return from_bits(bits(a) & whole(~SIGN)); }
// With AVX-512 each is one instruction, whose last operand is a truth table. 0xd8: `sign` in the sign bit, `size` in
// the others; 0x78: x ^ (sign & SIGN).
#if VECTOR_BYTES == 64
#define BITWISE(a, b, table) \
    return vec((lanes_d)_mm512_ternarylogic_epi64((__m512i)bits(a), (__m512i)bits(b), \
                                                  (__m512i)(lanes_i{} + whole(SIGN)), table))
POINT_FN vec copysign(vec size, vec sign) { BITWISE(size, sign, 0xd8); }
POINT_FN vec flipped(vec x, vec sign) { BITWISE(x, sign, 0x78); } // -x where sign is negative
#undef BITWISE
#else
POINT_FN vec copysign(vec size, vec sign) {
    return from_bits((bits(size) & whole(~SIGN)) | (bits(sign) & whole(SIGN)));
}

POINT_FN vec flipped(vec x, vec sign) { // -x where sign is negative
    return from_bits(bits(x) ^ (bits(sign) & whole(SIGN)));
}
#endif
#ifndef AVX512_DOUBLE
POINT_FN vec exp(vec x) {
    const ExpParts e = exp_parts(x);
    return (1.0 + e.less_one) * e.scale;
}

POINT_FN vec expm1(vec x) {
    const ExpParts e = exp_parts(x);
    return e.scale * e.less_one + (e.scale - 1.0);
}

POINT_FN ExpParts binary_parts(vec x) { // 2^x; x is a product that was rounded
    constexpr double most = sizeof(scalar) == 4 ? 126.0 : 1022.0;
    x = at_most(at_least(x, -most), most);
    lanes_i n;
    vec k = nearest(x, n);
    return exp_parts((x - k) * LN2, n);
}

POINT_FN vec two_to(vec a, vec b) {
    const ExpParts e = binary_parts(a * b);
    return (1.0 + e.less_one) * e.scale;
}

POINT_FN vec two_to_less_one(vec a, vec b) {
    const ExpParts e = binary_parts(a * b);
    return e.scale * e.less_one + (e.scale - 1.0);
}
#endif

#ifndef LONG_PACKS
// Two values as one; each is a pack or a `two` of packs. Constants are loaded once for both, and while one half waits
// for a result, the processor works on the other. A quad of four packs needs 32 registers. Processors with fewer take
// two packs instead. -DQUAD=vec makes it one pack: the same values by less code, which compiles sooner.
template <class M> struct two_masks {
    M lo, hi;
};

template <class V> struct two {
    V lo, hi;
    POINT_FN two() {}
    POINT_FN two(double s) : lo(s), hi(s) {}
    POINT_FN two(V a, V b) : lo(a), hi(b) {}
};

template <class M> POINT_FN two_masks<M> masks(M lo, M hi) { return {lo, hi}; }
typedef two<vec> twin;
#ifdef QUAD
typedef QUAD quad;
#elif VECTOR_BYTES == 64
typedef two<twin> quad;
#else
typedef twin quad;
#endif
#define OF_TWO template <class V> POINT_FN
#define BINARY(op) \
    OF_TWO two<V> operator op(two<V> a, two<V> b) { return {a.lo op b.lo, a.hi op b.hi}; } \
    OF_TWO two<V> operator op(two<V> a, double b) { return {a.lo op b, a.hi op b}; } \
    OF_TWO two<V> operator op(double a, two<V> b) { return {a op b.lo, a op b.hi}; }
#define COMPARE(op) \
    OF_TWO auto operator op(two<V> a, two<V> b) { return masks(a.lo op b.lo, a.hi op b.hi); } \
    OF_TWO auto operator op(two<V> a, double b) { return masks(a.lo op b, a.hi op b); }
#define UPDATE(op) \
    OF_TWO two<V> &operator op(two<V> &a, two<V> b) { \
        a.lo op b.lo; \
        a.hi op b.hi; \
        return a; \
    }
#define LOGICAL(op) \
    template <class M> POINT_FN two_masks<M> operator op(two_masks<M> a, two_masks<M> b) { \
        return {a.lo op b.lo, a.hi op b.hi}; \
    }
#define OF_ONE(name) \
    OF_TWO two<V> name(two<V> a) { return {name(a.lo), name(a.hi)}; }
#define OF_BOTH(name) \
    OF_TWO two<V> name(two<V> a, two<V> b) { return {name(a.lo, b.lo), name(a.hi, b.hi)}; }
BINARY(+)
BINARY(-)
BINARY(*)
BINARY(/)
COMPARE(<)
COMPARE(>)
COMPARE(<=)
COMPARE(>=)
UPDATE(+=)
UPDATE(-=)
UPDATE(*=)
LOGICAL(&&)
LOGICAL(||)
OF_ONE(fabs)
OF_ONE(sqrt)
OF_ONE(exp)
OF_ONE(expm1)
OF_ONE(log)
OF_ONE(cbrt)
OF_ONE(floor_small)
OF_ONE(two_thirds_start)
OF_ONE(inverse_root_start)
OF_ONE(inverse)
OF_ONE(inverse_root)
OF_ONE(inverse_fourth_root)
OF_ONE(inverse_two_thirds)
OF_BOTH(two_to)
OF_BOTH(two_to_less_one)
OF_BOTH(larger)
OF_BOTH(smaller)
OF_BOTH(copysign)
OF_BOTH(flipped)
OF_BOTH(rough_quotient)
OF_TWO two<V> operator-(two<V> a) { return {-a.lo, -a.hi}; }
template <class M> POINT_FN two_masks<M> operator!(two_masks<M> a) { return {!a.lo, !a.hi}; }
template <class M, class V> POINT_FN two<V> select(two_masks<M> c, two<V> yes, two<V> no) {
    return {select(c.lo, yes.lo, no.lo), select(c.hi, yes.hi, no.hi)};
}

template <class M> POINT_FN bool any_of(two_masks<M> c) { return any_of(c.lo || c.hi); }
template <class M> POINT_FN bool all_of(two_masks<M> c) { return all_of(c.lo && c.hi); }
template <class Exponent, class V> POINT_FN two<V> power(Exponent e, two<V> x) {
    return {power(e, x.lo), power(e, x.hi)};
}

#include "engine/numbers/pack_table.h"
template <> struct number<vec> {
    static constexpr int lanes = VECTOR_LANES;
    static constexpr bool wide = false;
    typedef scalar stored;
    typedef narrow_pack narrow; // as many lanes as one pack in single precision, as two packs in double
    typedef Lines index;
};

template <class V> struct number<two<V>> : number<vec> {
    static constexpr int lanes = 2 * number<V>::lanes;
};

OF_TWO void load(const scalar *address, two<V> &x) {
    load(address, x.lo);
    load(address + number<V>::lanes, x.hi);
}

OF_TWO void store(scalar *address, two<V> x) {
    store(address, x.lo);
    store(address + number<V>::lanes, x.hi);
}
#undef OF_TWO
#undef BINARY
#undef COMPARE
#undef UPDATE
#undef LOGICAL
#undef OF_ONE
#undef OF_BOTH

template <class Use, class V> POINT_FN void one_by_one(const Use &use, two<V>) {
    one_by_one([&](auto pack_of) { use([=](auto &x) -> auto & { return pack_of(x.lo); }); }, V());
    one_by_one([&](auto pack_of) { use([=](auto &x) -> auto & { return pack_of(x.hi); }); }, V());
}
#endif
