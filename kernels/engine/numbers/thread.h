// The CUDA number type: the value at the point that a thread works on. Division, roots, exp and log start from 20 bits
// of the special function unit and are refined by fused multiply-adds. The branches that IEEE arithmetic needs for
// subnormal and overflowing results are left out. Results are within 1.5 units in the last place where they are normal
// numbers; elsewhere they are NaN, 0 or infinity. A division costs 6 instructions instead of 12 and a call.
#pragma once
#include "engine/numbers/platform.h"
#include "engine/numbers/binary_powers.h"

#ifdef FRAME_STAND_IN // the tests' CUDA on a CPU
static inline double upper_half(double x) {
    long long b;
    memcpy(&b, &x, 8);
    b &= ~0xffffffffLL;
    memcpy(&x, &b, 8);
    return x;
} // keeps 20 bits of the mantissa

static inline double reciprocal_start(double x) { return upper_half(1.0 / x); }
static inline double rsqrt_start(double x) { return upper_half(1.0 / sqrt(x)); }
static inline float rsqrt_start(float x) { return float(1.0 / sqrt(x)); }
static inline float approximate_power(float x, float exponent) { return powf(x, exponent); }
static inline float rough_reciprocal(float x) { return 1.0f / x; }
static inline float whole_on_top(float start, float a) { return start + floorf(a); }
static inline float whole_on_top(float start, float a, float b) { return start + float(floor(double(a) * double(b))); }
static inline float single(double x) { return float(x); }

static inline int bits_of(float x) {
    int b;
    memcpy(&b, &x, 4);
    return b;
}

static inline int high_word(double x) {
    long long b;
    memcpy(&b, &x, 8);
    return int(b >> 32);
}

static inline int low_word(double x) {
    long long b;
    memcpy(&b, &x, 8);
    return int(b);
}

static inline double from_words(int high, int low) {
    return __longlong_as_double((long long)((unsigned long long)(unsigned)high << 32 | (unsigned)low));
}
#else
POINT_FN double reciprocal_start(double x) {
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    return y;
}

POINT_FN double rsqrt_start(double x) {
    double y;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    return y;
}

POINT_FN float rsqrt_start(float x) {
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

POINT_FN float approximate_power(float x, float exponent) { // error 3e-6 for 1e-30 < x < 1e30, |exponent| < 1
    float y;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(y * exponent));
    return y;
}

POINT_FN int high_word(double x) { return __double2hiint(x); }
POINT_FN int low_word(double x) { return __double2loint(x); }
POINT_FN double from_words(int high, int low) { return __hiloint2double(high, low); }

POINT_FN float rough_reciprocal(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
} // within 1 unit in the last place

POINT_FN float whole_on_top(float start, float a) {
    return __fadd_rd(a, start);
} // start + the largest whole number <= a (below: <= a b), for a, a b >= 0

POINT_FN float whole_on_top(float start, float a, float b) { return __fmaf_rd(a, b, start); }
POINT_FN float single(double x) {
    float y = float(x);
    asm("" : "+f"(y));
    return y;
} // the conversion is slow: the empty asm keeps the compiler from repeating it

POINT_FN int bits_of(float x) { return __float_as_int(x); }
#endif

POINT_FN double cbrt_approximate(double x) { return approximate_power(float(x), 1.0f / 3.0f); }
template <class T> POINT_FN T two_thirds_approximate(T x) {
    return approximate_power(float(x), 2.0f / 3.0f);
} // 0 where x is less than 1e-37

// Coefficients of exp and log: operands of the instructions, or kept in registers. A header that gives a thread several
// points has too few registers, and puts them into constant memory.
#ifndef COEFFICIENTS
#define COEFFICIENTS constexpr
#endif
// Whether exp has two sums side by side: a thread with few other things to do would wait for each term of one sum.
#ifndef EXP_IN_TWO_SUMS
#define EXP_IN_TWO_SUMS false
#endif
// (exp(r) - 1 - r)/r^2, that of exp_parts in pack.h (fits/exponentials.py: error 3.4e-17); 1/ln 2, ln 2 in two parts
COEFFICIENTS double EXP_SERIES[10] = {0.5,
                                      0.16666666666666669,
                                      0.04166666666662399,
                                      0.008333333333330051,
                                      0.0013888888917281794,
                                      0.00019841269863105968,
                                      2.480152119021773e-05,
                                      2.7557268378684192e-06,
                                      2.7620138719733994e-07,
                                      2.5100424157005067e-08};
COEFFICIENTS double EXP_PARTS[3] = {1.4426950408889634074, 6.93147180369123816490e-01, 1.90821492927058770002e-10};
// of w in log_series (fdlibm; fits/logarithms.py: error 1.2e-18)
COEFFICIENTS double LOG_SERIES[7] = {6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
                                     2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01,
                                     1.479819860511658591e-01};

template <int N> POINT_FN double polynomial(const double (&c)[N], double x) {
    double sum = c[N - 1];
    UNROLL
    for (int k = N - 2; k >= 0; --k) sum = fma(sum, x, c[k]);
    return sum;
}

// ---- one value
POINT_FN double inverted(double x) {
    const double y = reciprocal_start(x);
    const double e = fma(-x, y, 1.0);
    return fma(y, fma(e, e, e), y);
}

POINT_FN double quotient(double a, double b) {
    const double y = inverted(b);
    const double q = a * y;
    return fma(y, fma(-b, q, a), q);
}

POINT_FN double root(double x) {
    const double y = rsqrt_start(x);
    const double s = x * y;
    const double e = fma(-s, y, 1.0);
    const double better = fma(s, e * fma(0.375, e, 0.5), s);
    const double best = fma(fma(-better, better, x), 0.5 * y, better); // NaN where x is 0 or less
    return x == 0.0 ? x : best;
}

// exp(x), or without cancellation exp(x) - 1 = 2^k (exp(r) - 1) + (2^k - 1)
POINT_FN double exponential_within(double x, bool less_one = false) { // -708 <= x <= 709
    const double shifted = fma(x, EXP_PARTS[0], 6755399441055744.0);
    const double k = shifted - 6755399441055744.0;
    double r = fma(k, -EXP_PARTS[1], x);
    r = fma(k, -EXP_PARTS[2], r);
    double q;

    if constexpr (EXP_IN_TWO_SUMS) {
        const double r2 = r * r;
        double odd = EXP_SERIES[9];
        q = EXP_SERIES[8];
        UNROLL
        for (int k = 6; k >= 0; k -= 2) {
            q = fma(q, r2, EXP_SERIES[k]);
            odd = fma(odd, r2, EXP_SERIES[k + 1]);
        }
        q = fma(odd, r, q);
    } else q = polynomial(EXP_SERIES, r);

    const double scale = from_words(int((unsigned(low_word(shifted)) + 1023u) << 20), 0);
    if (less_one) return fma(scale, fma(r * r, q, r), scale - 1.0);
    return fma(r * r, q, r + 1.0) * scale;
}

POINT_FN double exponential(double x, bool less_one = false) {
    return exponential_within(x < -708.0 ? -708.0 : x > 709.0 ? 709.0 : x, less_one);
}

// 2^(a b) and 2^(a b) - 1. The product a b is not rounded; |a b| < 6e7.
struct BinaryExponent {
    double k, f;
    int n, j;
};

POINT_FN BinaryExponent binary_exponent(double a, double b) {
    const double shifted = fma(a, b, SIXTEENTHS);
    const double k = shifted - SIXTEENTHS;
    const int n = low_word(shifted) >> 4;
    return {k, fma(a, b, -k), n < -1022 ? -1022 : n > 1022 ? 1022 : n, low_word(shifted) & 15};
}

POINT_FN double scaled_root_of_two(const BinaryExponent &e) {
    const double root = ROOTS_OF_TWO.at[e.j];
    return from_words(int(unsigned(high_word(root)) + (unsigned(e.n) << 20)), low_word(root));
}

POINT_FN double power_of_two(double a, double b) {
    const BinaryExponent e = binary_exponent(a, b);
    const double scale = scaled_root_of_two(e);
    return fma(scale, e.f * polynomial(TWO_TO, e.f), scale);
}

POINT_FN double power_of_two_less_one(double a, double b) {
    const BinaryExponent e = binary_exponent(a, b);
    const double scale = scaled_root_of_two(e);
    const double f = e.f + LOST_IN_ROOTS.at[e.j];
    return fma(scale, f * polynomial(TWO_TO_LESS_ONE, f), scale - 1.0);
}

template <class Exponent> POINT_FN double power_of(Exponent, double x) {
    static constexpr PowerTables t = power_tables(Exponent::value);
    const int high = high_word(x);
    const int first = (high >> 16) & 15;
    const double m = (high & 0x7ff00000) == 0x7ff00000 ? x : from_words((high & 0xfffff) | 0x3ff00000, low_word(x));
    const double r = fma(m, t.c.at[first], -1.0);
    const double scale = t.of_exponent.at[(high >> 20) & 15] * t.of_c.at[first];
    double q = t.series[8];
    UNROLL
    for (int n = 7; n > 0; --n) q = fma(q, r, t.series[n]);
    return fma(scale, r * q, scale);
}

POINT_FN double inverse_of_root(double x) {
    const double y = rsqrt_start(x);
    const double e = fma(-x * y, y, 1.0);
    return fma(y * e, fma(0.375, e, 0.5), y);
}

POINT_FN double inverse_of_fourth_root(double x) {
    const double s = rsqrt_start(x);
    const double y = s * rsqrt_start(s);
    const double y2 = y * y;
    const double e = fma(-x * y2, y2, 1.0);
    return fma(y * e, fma(5.0 / 32, e, 0.25), y);
}

POINT_FN double inverse_of_two_thirds(double x) {
    const double r = reciprocal_start(cbrt_approximate(x));
    const double r2 = r * r;
    const double e = fma(-x * r, r2, 1.0);
    return fma(r2 * e, fma(5.0 / 9.0, e, 2.0 / 3.0), r2);
}

// 2 atanh(s)/s - 2 of w = s^2, in log(m) = 2 atanh(s), m = (1 + s)/(1 - s): the odd series without its leading term
POINT_FN double log_series(double w) { return w * polynomial(LOG_SERIES, w); }
POINT_FN double with_flipped_sign(double x, double sign) {
    return from_words(high_word(x) ^ (high_word(sign) & 0x80000000), low_word(x));
}

POINT_FN double logarithm(double x) {
    const unsigned high = high_word(x); // a shift or a sum of negative numbers has no meaning in C++17
    const int e = int(high - 0x3fe6a09eu) >> 20;
    const double m = from_words(int(high - (unsigned(e) << 20)), low_word(x));
    const double k = e;
    const double f = m - 1.0;
    const double s = f * inverted(m + 1.0);
    const double half = 0.5 * f * f;
    const double r = fma(k, 6.93147180369123816490e-01,
                         f - (half - fma(s, half + log_series(s * s), k * 1.90821492927058770002e-10)));
    return high - 0x00100000 < 0x7fe00000 ? r : NOT_A_NUMBER; // x is positive, finite and no subnormal number
}

POINT_FN double cube_root(double x) {
    const double r = reciprocal_start(cbrt_approximate(x));
    const double e = fma(-x * r, r * r, 1.0);
    const double better = fma(r * e, fma(2.0 / 9.0, e, 1.0 / 3.0), r);
    return x > 0.0 ? x * better * better : NOT_A_NUMBER;
}

// ---- one value in single precision: division and roots are refined as above, the rest is CUDA's own library
POINT_FN float quotient(float a, float b) {
    const float y = rough_reciprocal(b);
    const float q = a * y;
    return fmaf(y, fmaf(-b, q, a), q);
}

POINT_FN float inverted(float x) { return quotient(1.0f, x); }
POINT_FN float root(float x) { // a subnormal x counts as 0
    const float y = rsqrt_start(x);
    const float s = x * y;
    const float best = fmaf(0.5f * y, fmaf(-s, s, x), s);
    return fabsf(x) < 1.2e-38f ? 0.0f : best;
}

POINT_FN float exponential(float x, bool less_one = false) { return less_one ? expm1f(x) : expf(x); }
POINT_FN float logarithm(float x) { return x > 0.0f && x < 3.4028234e38f ? logf(x) : float(NOT_A_NUMBER); }
POINT_FN float cube_root(float x) { return x > 0.0f ? cbrtf(x) : float(NOT_A_NUMBER); }
POINT_FN float power_of_two(float a, float b) { return exp2f(a * b); }
POINT_FN float power_of_two_less_one(float a, float b) { return expm1f(a * b * float(LN2)); }
template <class Exponent> POINT_FN float power_of(Exponent, float x) {
    return exp2f(float(Exponent::value) * log2f(x));
}

POINT_FN float inverse_of_root(float x) {
    const float y = rsqrt_start(x);
    return fmaf(0.5f * y, fmaf(-x * y, y, 1.0f), y);
}

POINT_FN float inverse_of_fourth_root(float x) {
    const float s = rsqrt_start(x);
    const float y = s * rsqrt_start(s);
    const float y2 = y * y;
    return fmaf(0.25f * y, fmaf(-x * y2, y2, 1.0f), y);
}

POINT_FN float inverse_of_two_thirds(float x) {
    const float r = approximate_power(x, -1.0f / 3.0f);
    const float r2 = r * r;
    return fmaf(2.0f / 3.0f * r2, fmaf(-x * r, r2, 1.0f), r2);
}

POINT_FN float with_flipped_sign(float x, float sign) { return copysignf(1.0f, sign) * x; }

// ---- the number type: the value at a thread's point
struct point {
    scalar v;
    POINT_FN point() {}
    POINT_FN point(double s) : v(scalar(s)) {}
};

POINT_FN point of(scalar v) {
    point r;
    r.v = v;
    return r;
}

// clang-format off
#define BINARY(op) \
    POINT_FN point operator op(point x, point y) { return of(x.v op y.v); } \
    POINT_FN point operator op(point x, double c) { return of(x.v op scalar(c)); } \
    POINT_FN point operator op(double c, point y) { return of(scalar(c) op y.v); }
BINARY(+) BINARY(-) BINARY(*)
#undef BINARY
#define COMPARE(op) \
    POINT_FN bool operator op(point x, point y) { return x.v op y.v; } \
    POINT_FN bool operator op(point x, double b) { return x.v op scalar(b); }
COMPARE(<) COMPARE(>) COMPARE(<=) COMPARE(>=)
#undef COMPARE
// clang-format on
POINT_FN point operator/(point x, point y) { return of(quotient(x.v, y.v)); }
POINT_FN point operator/(point x, double b) { return of(quotient(x.v, scalar(b))); }
POINT_FN point operator/(double a, point y) { return of(a == 1.0 ? inverted(y.v) : quotient(scalar(a), y.v)); }
POINT_FN point operator-(point x) { return of(-x.v); }
POINT_FN point &operator+=(point &x, point y) { return x = x + y; }
POINT_FN point &operator-=(point &x, point y) { return x = x - y; }
POINT_FN point &operator*=(point &x, point y) { return x = x * y; }
POINT_FN point select(bool c, point yes, point no) { return of(c ? yes.v : no.v); }
POINT_FN point larger(point a, point b) { return of(a.v > b.v ? a.v : b.v); }
POINT_FN point smaller(point a, point b) { return of(a.v < b.v ? a.v : b.v); }
POINT_FN bool roughly_less(double a, double b) { return high_word(a) < high_word(b); }
POINT_FN bool roughly_less(float a, float b) { return a < b; }
POINT_FN bool roughly_less(point a, point b) { return roughly_less(a.v, b.v); }
POINT_FN point fabs(point x) { return of(fabs(x.v)); }
POINT_FN point copysign(point x, point s) { return of(copysign(x.v, s.v)); }
POINT_FN point sqrt(point x) { return of(root(x.v)); }
POINT_FN point exp(point x) { return of(exponential(x.v)); }
POINT_FN point expm1(point x) { return of(exponential(x.v, true)); }
POINT_FN point two_to(point x, point y) { return of(power_of_two(x.v, y.v)); }
POINT_FN point two_to_less_one(point x, point y) { return of(power_of_two_less_one(x.v, y.v)); }
template <class Exponent> POINT_FN point power(Exponent e, point x) { return of(power_of(e, x.v)); }
POINT_FN point inverse_root(point x) { return of(inverse_of_root(x.v)); }
POINT_FN point inverse_fourth_root(point x) { return of(inverse_of_fourth_root(x.v)); }
POINT_FN point inverse_two_thirds(point x) { return of(inverse_of_two_thirds(x.v)); }
POINT_FN point log(point x) { return of(logarithm(x.v)); }
POINT_FN point cbrt(point x) { return of(cube_root(x.v)); }
POINT_FN point flipped(point x, point s) { return of(with_flipped_sign(x.v, s.v)); }
POINT_FN point two_thirds_start(point x) { return of(two_thirds_approximate(x.v)); }
POINT_FN point inverse_root_start(point x) { return of(rsqrt_start(x.v)); }
POINT_FN point floor_small(point x) { return of(floor(x.v)); }
POINT_FN point table_row(const scalar *table, point row) { return of(table[int(row.v)]); }

POINT_FN double rough(double a, double b) { // relative error 1e-12
    const double y = reciprocal_start(b);
    const double q = a * y;
    return fma(q, fma(-b, y, 1.0), q);
}

POINT_FN float rough(float a, float b) { return a * inverted(b); }
POINT_FN point rough_quotient(point a, point b) { return of(rough(a.v, b.v)); }

// Single precision beside `point`, and an index into tables.
struct narrow_point {
    float v;
    POINT_FN narrow_point() {}
    POINT_FN narrow_point(float s) : v(s) {}
};

struct Line {
    unsigned at;
};

POINT_FN narrow_point operator+(narrow_point x, narrow_point y) { return x.v + y.v; }
POINT_FN narrow_point operator+(float a, narrow_point y) { return a + y.v; }
POINT_FN narrow_point operator-(narrow_point x, narrow_point y) { return x.v - y.v; }
POINT_FN narrow_point operator-(narrow_point x, float b) { return x.v - b; }
POINT_FN narrow_point operator*(narrow_point x, narrow_point y) { return x.v * y.v; }
POINT_FN narrow_point larger(narrow_point x, narrow_point y) { return larger(x.v, y.v); }
// The result indexes a table, so it must not be NaN: fminf returns the other argument.
POINT_FN narrow_point smaller(narrow_point x, narrow_point y) { return fminf(x.v, y.v); }
POINT_FN narrow_point reciprocal(narrow_point x) { return rough_reciprocal(x.v); }
POINT_FN narrow_point rough_quotient(narrow_point x, narrow_point y) { return quotient(x.v, y.v); }
POINT_FN narrow_point narrow(point x) { return single(x.v); }
POINT_FN point widen(narrow_point x) { return of(x.v); }

// A whole number n is kept in the last bits of TOP + n. That is quicker than conversions between integers and
// floating-point numbers. These numbers index a table. Their bound removes NaN; the place in the window carries it.
#define WHOLE_BELOW
struct Whole {
    float on_top;
};

constexpr float TOP = 8388608.0f;
constexpr float ROW_TOP = 14319616.0f;
constexpr unsigned TOP_BITS = 0x4b000000;
constexpr unsigned ROW_TOP_BITS = 0x4b5a8000;
POINT_FN Whole whole_below(narrow_point a, narrow_point b, float most) { // a b >= 0
    return {fminf(whole_on_top(TOP, a.v, b.v), TOP + most)};
}

POINT_FN Whole row_of(narrow_point number, narrow_point &share) {
    const float on_top = whole_on_top(ROW_TOP, number.v);
    share = number.v - (on_top - ROW_TOP);
    return {on_top};
}

// x/CUBIC_WINDOWS. In double precision the bits of x are put behind those of 2^52/CUBIC_WINDOWS, and that is
// subtracted.
POINT_FN point over_windows(Whole x) {
    return of(IN_SINGLE ? (x.on_top - TOP) * (1.0f / CUBIC_WINDOWS)
                        : from_words(0x43300000 - (9 << 20), bits_of(x.on_top)) -
                              (4503599627370496.0 + TOP_BITS) / CUBIC_WINDOWS);
}

// The windows of a row stand side by side in memory: neighbouring points mostly have the same row and share cache
// lines. ROW_TOP is chosen so that the leading bits of both numbers cancel in the sum and only the index is left.
static_assert(CUBIC_WINDOWS == 1 << 9 && ROW_TOP_BITS * 512u + TOP_BITS == 0, "in 32 bits");
POINT_FN Line table_index(Whole window, Whole row) {
    return {unsigned(bits_of(row.on_top)) * CUBIC_WINDOWS + unsigned(bits_of(window.on_top))};
}

POINT_FN void two_cubics(const scalar *table, Line line, narrow_point x, narrow_point &here, narrow_point &behind) {
    const float4 *const from = (const float4 *)table + line.at, first = __ldg(from),
                        second = __ldg(from + CUBIC_WINDOWS);
    here.v = cubic_at({first.x, first.y, first.z, first.w}, x.v);
    behind.v = cubic_at({second.x, second.y, second.z, second.w}, x.v);
}

template <> struct number<point> {
    static constexpr int lanes = 1;
    static constexpr bool wide = false;
    typedef scalar stored;
    typedef narrow_point narrow;
    typedef Line index;
};

#include "engine/numbers/thread_memory.h"
