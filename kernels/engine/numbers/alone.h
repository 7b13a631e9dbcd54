// A point by itself, as doubles: a function of one point has no neighbours to fill a vector with. Where a body has many
// numbers of a kind, these fill it: exponentials of rate coefficients, say. Ahead of the bodies, in place of
// platform.h.
#pragma once
#include "engine/numbers/kernel.h"

#ifdef ON_DEVICE
#include "engine/numbers/platform.h"
#else
#include "engine/numbers/pack.h"
#define VECTORS_ALONE

// Rough, as of packs. A call of the C library's cube root takes as long as the rest of a root of the cubic.
// Instructions for one double answer sooner than those for a pack.
#if defined(__AVX512DQ__) && defined(__AVX512VL__)
POINT_FN double two_thirds_start(const double x) {
    const __m128d bits = _mm_cvtepi64_pd(_mm_castpd_si128(_mm_set_sd(x))),
                  thirds = _mm_set_sd(bits[0] * (-1.0 / 3.0) + ROUGH_THIRDS * 4096);
    return two_thirds_from(x, _mm_castsi128_pd(_mm_cvtpd_epi64(thirds))[0]);
}

POINT_FN double inverse_root_start(const double x) { return _mm_rsqrt14_sd(_mm_set_sd(x), _mm_set_sd(x))[0]; }
POINT_FN double inverse_root(const double x) { return inverse_root_from(x, inverse_root_start(x)); }
POINT_FN double quotient_start(const double a, const double b) {
    return a * _mm_rcp14_sd(_mm_set_sd(b), _mm_set_sd(b))[0];
}
#else
POINT_FN double two_thirds_start(const double x) { return two_thirds_start(vec(x)).v[0]; }
POINT_FN double inverse_root_start(const double x) { return inverse_root_start(vec(x)).v[0]; }
#endif

template <> inline constexpr bool NEIGHBOURS_AGREE<double> = true;
template <> inline constexpr bool NEIGHBOURS_AGREE<vec> = true; // species of a point
template <> inline constexpr bool FILLS_VECTORS<double> = true;
template <> inline constexpr bool IN_CHAINS<double> = true;
template <> inline constexpr bool IN_CHAINS<vec> = true;

// A pack of the COUNT numbers at x, which were computed singly; the other lanes are 0. It is joined in registers: a
// load of a pack would wait until all numbers are in the cache.
template <int COUNT> POINT_FN vec joined(const double *x) {
    const auto at = [=](const int lane) INLINED { return lane < COUNT ? x[lane] : 0.0; };
#if VECTOR_LANES == 8
    return vec(lanes_d{at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)});
#elif VECTOR_LANES == 4
    return vec(lanes_d{at(0), at(1), at(2), at(3)});
#else
    return vec(lanes_d{at(0), at(1)});
#endif
}

// x = function(x) for each of COUNT numbers, a pack at a time
template <int COUNT, class Function> POINT_FN void in_packs(double *x, const Function &function) {
    constexpr int HERE = COUNT < VECTOR_LANES ? COUNT : VECTOR_LANES;
    if constexpr (HERE > 0) {
        const vec results = function(joined<HERE>(x));
        for (int k = 0; k < HERE; ++k) x[k] = results.v[k];
        in_packs<COUNT - HERE>(x + HERE, function);
    }
}

// The first COUNT numbers at x; the other lanes are 0.
template <int COUNT> POINT_FN vec load_first(const double *x) {
    vec pack;
#if VECTOR_BYTES == 64
    pack.v = (lanes_d)_mm512_maskz_loadu_pd((1 << COUNT) - 1, x);
#elif VECTOR_BYTES == 32
    const lanes_i wanted = {-(COUNT > 0), -(COUNT > 1), -(COUNT > 2), -(COUNT > 3)};
    pack.v = (lanes_d)_mm256_maskload_pd(x, (__m256i)wanted);
#else
    pack.v = lanes_d{x[0], COUNT > 1 ? x[COUNT - 1] : 0.0};
#endif
    return pack;
}

// Stores the first COUNT lanes of x.
template <int COUNT> POINT_FN void store_first(double *address, const vec x) {
#if VECTOR_BYTES == 64
    _mm512_mask_storeu_pd(address, (1 << COUNT) - 1, (__m512d)x.v);
#else
    for (int k = 0; k < COUNT; ++k) address[k] = x.v[k];
#endif
}

// x in the first COUNT lanes; the others are 0
template <int COUNT> POINT_FN vec only_first(const vec x) {
#if VECTOR_BYTES == 64
    return vec((lanes_d)_mm512_maskz_mov_pd((1 << COUNT) - 1, (__m512d)x.v));
#elif VECTOR_BYTES == 32
    const lanes_i wanted = {-(COUNT > 0), -(COUNT > 1), -(COUNT > 2), -(COUNT > 3)};
    return from_bits(bits(x) & wanted);
#else
    return vec(lanes_d{x.v[0], COUNT > 1 ? x.v[1] : 0.0});
#endif
}

// The sum of the lanes and, with ONE_MORE, of a number beside them. It is added where the rest waits for the upper half
// of a vector.
template <bool ONE_MORE> POINT_FN double sum_of_lanes(const vec x, const double one) {
#if VECTOR_BYTES == 16
    return ONE_MORE ? x.v[0] + x.v[1] + one : x.v[0] + x.v[1];
#else
#if VECTOR_BYTES == 64
    const __m256d lanes = _mm256_add_pd(_mm512_castpd512_pd256((__m512d)x.v), _mm512_extractf64x4_pd((__m512d)x.v, 1));
#else
    const __m256d lanes = (__m256d)x.v;
#endif
    __m128d low = _mm256_castpd256_pd128(lanes);
    if constexpr (ONE_MORE) low = _mm_add_sd(low, _mm_set_sd(one));
    const __m128d halves = _mm_add_pd(low, _mm256_extractf128_pd(lanes, 1));
    return halves[0] + halves[1];
#endif
}

// The same of two packs, in half of the operations
template <bool ONE_MORE>
POINT_FN void sums_of_lanes(const vec x, const vec y, const double one_x, const double one_y, double &sum_x,
                            double &sum_y) {
#if VECTOR_BYTES == 16
    sum_x = sum_of_lanes<ONE_MORE>(x, one_x), sum_y = sum_of_lanes<ONE_MORE>(y, one_y);
#else
#if VECTOR_BYTES == 64
    const __m512d pairs =
        _mm512_add_pd(_mm512_unpacklo_pd((__m512d)x.v, (__m512d)y.v), _mm512_unpackhi_pd((__m512d)x.v, (__m512d)y.v));
    const __m256d lanes = _mm256_add_pd(_mm512_castpd512_pd256(pairs), _mm512_extractf64x4_pd(pairs, 1));
#else
    const __m256d lanes =
        _mm256_add_pd(_mm256_unpacklo_pd((__m256d)x.v, (__m256d)y.v), _mm256_unpackhi_pd((__m256d)x.v, (__m256d)y.v));
#endif
    __m128d low = _mm256_castpd256_pd128(lanes);
    if constexpr (ONE_MORE) low = _mm_add_pd(low, _mm_set_pd(one_y, one_x));
    const __m128d sums = _mm_add_pd(low, _mm256_extractf128_pd(lanes, 1));
    sum_x = sums[0];
    sum_y = sums[1];
#endif
}

// Some of the species, or of the reactions, no more than a pack has lanes: some(x) are their numbers among those of
// all. The lanes behind them are 0, and some.only(x) makes them 0. One that is left is no pack.
template <int COUNT> struct Some {
    typedef vec Numbers;
    int first;
    POINT_FN vec operator()(const double *x) const { return load_first<COUNT>(x + first); }
    POINT_FN void set(double *x, const vec value) const { store_first<COUNT>(x + first, value); }
    POINT_FN vec only(const vec x) const { return COUNT < VECTOR_LANES ? only_first<COUNT>(x) : x; }
};

template <> struct Some<1> {
    typedef double Numbers;
    int first;
    POINT_FN double operator()(const double *x) const { return x[first]; }
    POINT_FN void set(double *x, const double value) const { x[first] = value; }
    POINT_FN double only(const double x) const { return x; }
};

template <int COUNT> POINT_FN auto of_species(const double *table, const Some<COUNT> some) { return some(table); }
POINT_FN vec either(const vmask condition, const vec yes, const vec no) { return select(condition, yes, no); }

// A sum over COUNT of them
template <int COUNT> struct Sum {
    vec of_packs = -0.0; // -0 + x is x: the compiler leaves the first sum out
    double of_one = -0.0;
    POINT_FN void add(const vec x) { of_packs += x; }
    POINT_FN void add(const double x) { of_one += x; }
    POINT_FN double value() const {
        if constexpr (COUNT == 1) return of_one;
        else return sum_of_lanes<COUNT % VECTOR_LANES == 1>(of_packs, of_one);
    }
};

// The values of both
template <int COUNT> POINT_FN void both_values(const Sum<COUNT> &x, const Sum<COUNT> &y, double &of_x, double &of_y) {
    if constexpr (COUNT == 1) of_x = x.of_one, of_y = y.of_one;
    else { sums_of_lanes<COUNT % VECTOR_LANES == 1>(x.of_packs, y.of_packs, x.of_one, y.of_one, of_x, of_y); }
}

template <> constexpr int room_for<double>(const int count) {
    return (count + VECTOR_LANES - 1) / VECTOR_LANES * VECTOR_LANES;
}

// work(some) for COUNT numbers, a pack at a time
template <int COUNT, class Work> POINT_FN void in_packs_of(const Work &work) {
    constexpr int WHOLE = COUNT / VECTOR_LANES * VECTOR_LANES;
    for (int first = 0; first < WHOLE; first += VECTOR_LANES) work(Some<VECTOR_LANES>{first});
    if constexpr (WHOLE < COUNT) work(Some<COUNT - WHOLE>{WHOLE});
}

// work(some) for all species: x[some], x.set(some, ..) and of_species(table, some) take them as they take the index of
// one
template <int COUNT, class Work> POINT_FN void for_some_species(Constant<COUNT>, const Work &work) {
    in_packs_of<COUNT>(work);
}

// Numbers of species that lie side by side in memory: of a species, or of some
template <> struct EvenRows<double, 1> {
    double *base;
    POINT_FN double operator[](const int s) const { return base[s]; }
    POINT_FN void set(const int s, const double x) const { base[s] = x; }
    template <int COUNT> POINT_FN auto operator[](const Some<COUNT> some) const { return some(base); }
    template <int COUNT, class Numbers> POINT_FN void set(const Some<COUNT> some, const Numbers x) const {
        some.set(base, x);
    }
};

template <> inline constexpr bool SIDE_BY_SIDE<EvenRows<double, 1>> = true;
POINT_FN const double *numbers_of(const EvenRows<double, 1> &x) { return x.base; }

// sum x_s weight_s over NS species
template <int NS> POINT_FN void weighted_sum(double &sum, const double *weight, const EvenRows<double, 1> &x) {
    Sum<NS> packs;
    in_packs_of<NS>([&](const auto some) INLINED { packs.add(some(x.base) * some(weight)); });
    sum = packs.value();
}

template <int COUNT> POINT_FN void exp_all(double *x) {
    in_packs<COUNT>(x, [](const vec pack) { return exp(pack); });
}

template <int COUNT> POINT_FN void log_all(double *x) {
    in_packs<COUNT>(x, [](const vec pack) { return log(pack); });
}
#endif
