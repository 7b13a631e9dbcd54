// Vectors of single precision beside packs of doubles, and look-up in tables of cubics in single precision. One such
// vector has the lanes of two packs. With FRAME_SINGLE a pack itself is such a vector.
#pragma once
typedef float lanes_f __attribute__((vector_size(VECTOR_BYTES)));
typedef int lanes_n __attribute__((vector_size(VECTOR_BYTES)));
typedef unsigned lanes_un __attribute__((vector_size(VECTOR_BYTES)));
constexpr int NARROW_LANES = VECTOR_BYTES / 4;

#ifdef FRAME_SINGLE
typedef vec narrow_pack;
POINT_FN vec narrow(vec a) { return a; }
POINT_FN vec widen(vec a) { return a; }
POINT_FN vec reciprocal(vec a) { return 1.0 / a; }
#else
struct narrow_pack {
    lanes_f v;
    POINT_FN narrow_pack() {}
    POINT_FN narrow_pack(float s) : v(s - lanes_f{}) {}
    POINT_FN explicit narrow_pack(lanes_f x) : v(x) {}
};

POINT_FN narrow_pack operator+(narrow_pack a, narrow_pack b) { return narrow_pack(a.v + b.v); }
POINT_FN narrow_pack operator-(narrow_pack a, narrow_pack b) { return narrow_pack(a.v - b.v); }
POINT_FN narrow_pack operator*(narrow_pack a, narrow_pack b) { return narrow_pack(a.v * b.v); }
#if VECTOR_BYTES == 64
POINT_FN narrow_pack larger(narrow_pack a, narrow_pack b) {
    return narrow_pack((lanes_f)_mm512_max_ps((__m512)a.v, (__m512)b.v));
}

POINT_FN narrow_pack smaller(narrow_pack a, narrow_pack b) {
    return narrow_pack((lanes_f)_mm512_min_ps((__m512)a.v, (__m512)b.v));
}

POINT_FN narrow_pack narrow(twin a) {
    return narrow_pack((lanes_f)_mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps((__m512d)a.lo.v)),
                                                   _mm512_cvtpd_ps((__m512d)a.hi.v), 1));
}

POINT_FN twin widen(narrow_pack a) {
    return {vec((lanes_d)_mm512_cvtps_pd(_mm512_castps512_ps256((__m512)a.v))),
            vec((lanes_d)_mm512_cvtps_pd(_mm512_extractf32x8_ps((__m512)a.v, 1)))};
}

// One step of Newton's method from the 14 bits that the processor looks up: relative error 4e-9 beside the rounding of
// single precision.
POINT_FN narrow_pack reciprocal(narrow_pack a) {
    const lanes_f r = (lanes_f)_mm512_rcp14_ps((__m512)a.v);
    return narrow_pack(r + r * (1.0f - a.v * r));
}

POINT_FN narrow_pack rough_quotient(narrow_pack a, narrow_pack b) {
    const lanes_f r = (lanes_f)_mm512_rcp14_ps((__m512)b.v), q = a.v * r;
    return narrow_pack(q + r * (a.v - b.v * q));
}
#else
POINT_FN narrow_pack larger(narrow_pack a, narrow_pack b) { return narrow_pack(a.v > b.v ? a.v : b.v); }
POINT_FN narrow_pack smaller(narrow_pack a, narrow_pack b) { return narrow_pack(a.v < b.v ? a.v : b.v); }
typedef float half_f __attribute__((vector_size(VECTOR_BYTES / 2)));
POINT_FN narrow_pack narrow(twin a) {
    const half_f parts[2] = {__builtin_convertvector(a.lo.v, half_f), __builtin_convertvector(a.hi.v, half_f)};
    narrow_pack r;
    memcpy(&r.v, parts, sizeof r.v);
    return r;
}

POINT_FN twin widen(narrow_pack a) {
    half_f parts[2];
    memcpy(parts, &a.v, sizeof parts);
    return {vec(__builtin_convertvector(parts[0], lanes_d)), vec(__builtin_convertvector(parts[1], lanes_d))};
}

POINT_FN narrow_pack reciprocal(narrow_pack a) { return narrow_pack(1.0f / a.v); }
POINT_FN narrow_pack rough_quotient(narrow_pack a, narrow_pack b) { return narrow_pack(a.v / b.v); }
#endif
#endif

// The window's number stands in the upper 16 bits. The lower bits are undefined.
struct Window {
    lanes_n high;
};

struct Row {
    lanes_n at;
};

struct Lines {
    unsigned at[NARROW_LANES];
}; // byte offset of each lane's cubic in the table
POINT_FN Row row_of(narrow_pack number, narrow_pack &share) {
    const lanes_n row = __builtin_convertvector((lanes_f)number.v, lanes_n);
    share = number - narrow_pack(__builtin_convertvector(row, lanes_f));
    return {row};
}
#ifdef FRAME_SINGLE
POINT_FN Window window_of(vec above, vec below, vec &x) {
    vec share;
    const Row window = row_of(smaller(double(CUBIC_WINDOWS) * (above / below), vec(CUBIC_WINDOWS - 0.001)), share);
    x = share - 0.5;
    return {window.at << 16};
}
#else
// In 1.5*2^20 + q with q < 1 the last 32 bits are the binary digits of q. The first nine are the window's number, the
// others the place in the window. A quotient that is NaN gives some window as well.
static_assert(CUBIC_WINDOWS == 1 << 9, "what 23 digits, the fraction of a float, leave of 32");
POINT_FN lanes_d digits(vec above, vec below) {
#ifdef AVX512_DOUBLE
    const lanes_d r = (lanes_d)_mm512_rcp14_pd((__m512d)below.v);
    return above.v * (r + r * (1.0 - below.v * r)) + 1.5 * (1 << 20);
#else
    return above.v / below.v + 1.5 * (1 << 20);
#endif
}

POINT_FN Window window_of(twin above, twin below, narrow_pack &x) {
    const lanes_d lo = digits(above.lo, below.lo), hi = digits(above.hi, below.hi);
#if VECTOR_BYTES == 64
    const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    const lanes_un place = (lanes_un)_mm512_permutex2var_epi32((__m512i)lo, even, (__m512i)hi);
#else
    typedef int half_n __attribute__((vector_size(VECTOR_BYTES / 2)));
    const half_n parts[2] = {__builtin_convertvector((lanes_i)lo, half_n),
                             __builtin_convertvector((lanes_i)hi, half_n)};
    lanes_un place;
    memcpy(&place, parts, sizeof place);
#endif
    x.v = (lanes_f)((place & 0x7fffff) | 0x3f800000) - 1.5f;
    return {(lanes_n)(place >> 7)};
}
#endif
POINT_FN Lines table_index(Window window, Row row) {
#if VECTOR_BYTES == 64
    const __m512i both =
        _mm512_ternarylogic_epi32((__m512i)window.high, (__m512i)row.at, _mm512_set1_epi32(0xffff0000), 0xec);
    const lanes_n n = (lanes_n)_mm512_madd_epi16(
        both, _mm512_set1_epi32((int(sizeof(Cubic)) * CUBICS_A_WINDOW << 16) + int(sizeof(Cubic))));
#else
    const lanes_n n =
        (lanes_n)((lanes_un)window.high >> 16) * (int(sizeof(Cubic)) * CUBICS_A_WINDOW) + row.at * int(sizeof(Cubic));
#endif
    Lines out;
    memcpy(out.at, &n, sizeof n);
    return out;
}

#if VECTOR_BYTES == 64
// Values at xx of the cubics at eight lines and of the cubics that follow them in the table. The result has four groups
// of four values: at lines 0 to 3, their followers, at lines 4 to 7, their followers. A cubic is 128 bits. Lines i and
// i + 4 are loaded side by side. A transposition within 128 bits then collects each coefficient of all cubics.
template <class From> POINT_FN __m512 eight_cubics(const From &from, const int first, const __m512 xx) {
    const auto both = [&](int i) {
        return _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(from(first + i))),
                                  _mm256_loadu_ps(from(first + i + 4)), 1);
    };
    const __m512 r0 = both(0), r1 = both(1), r2 = both(2), r3 = both(3);
    const __m512d s0 = (__m512d)_mm512_unpacklo_ps(r0, r1), s1 = (__m512d)_mm512_unpacklo_ps(r2, r3);
    const __m512d s2 = (__m512d)_mm512_unpackhi_ps(r0, r1), s3 = (__m512d)_mm512_unpackhi_ps(r2, r3);
    const __m512 c0 = (__m512)_mm512_unpacklo_pd(s0, s1), c1 = (__m512)_mm512_unpackhi_pd(s0, s1);
    const __m512 c2 = (__m512)_mm512_unpacklo_pd(s2, s3), c3 = (__m512)_mm512_unpackhi_pd(s2, s3);
    return c0 + xx * (c1 + xx * (c2 + xx * c3));
}
#endif
// The cubic at a lane's line and the one that follows it are 8 neighbouring floats. Both are evaluated at once.
POINT_FN void two_cubics(const scalar *table, const Lines &line, narrow_pack x, narrow_pack &here,
                         narrow_pack &behind) {
    const auto from = [&](int lane) { return ((const Cubic *)((const char *)table + line.at[lane]))->c; };
#if VECTOR_BYTES == 64
    const __m512 xs = (__m512)x.v;
    const __m512 low = eight_cubics(from, 0, _mm512_shuffle_f32x4(xs, xs, 0x50)),
                 high = eight_cubics(from, 8, _mm512_shuffle_f32x4(xs, xs, 0xfa));
    here.v = (lanes_f)_mm512_shuffle_f32x4(low, high, 0x88);
    behind.v = (lanes_f)_mm512_shuffle_f32x4(low, high, 0xdd);
#else
    lanes_f c[8];
    UNROLL
    for (int k = 0; k < 8; ++k)
        for (int i = 0; i < NARROW_LANES; ++i) c[k][i] = from(i)[k];
    here.v = c[0] + x.v * (c[1] + x.v * (c[2] + x.v * c[3]));
    behind.v = c[4] + x.v * (c[5] + x.v * (c[6] + x.v * c[7]));
#endif
}
