// A point by itself, as doubles: a function of one point has no neighbours to fill a vector with. Where a body has many
// numbers of a kind, these fill it: exponentials of rate coefficients, say. Ahead of the bodies, in place of
// platform.h.
#pragma once
#include "engine/numbers/kernel.h"

#ifdef ON_DEVICE
#include "engine/numbers/platform.h"
#else
#define HAS_ROUGH_STARTS
#include "engine/numbers/pack.h"
#define VECTORS_ALONE

// Rough, as of packs. A call of the C library's cube root takes as long as the rest of a root of the cubic.
POINT_FN double two_thirds_start(const double x) { return two_thirds_start(vec(x)).v[0]; }
POINT_FN double inverse_root_start(const double x) { return inverse_root_start(vec(x)).v[0]; }

template <> inline constexpr bool NEIGHBOURS_AGREE<double> = true;
template <> inline constexpr bool NEIGHBOURS_AGREE<vec> = true; // species of a point
template <> inline constexpr bool FILLS_VECTORS<double> = true;

// x = function(x) for each of `count` numbers, a pack at a time
template <class Function> POINT_FN void in_packs(double *x, const int count, const Function &function) {
    int i = 0;
    for (; i + VECTOR_LANES <= count; i += VECTOR_LANES) {
        vec pack;
        load(x + i, pack);
        store(x + i, function(pack));
    }
    if (i == count) return;

    double rest[VECTOR_LANES] = {};
    for (int k = i; k < count; ++k) rest[k - i] = x[k];
    vec pack;
    load(rest, pack);
    store(rest, function(pack));
    for (int k = i; k < count; ++k) x[k] = rest[k - i];
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

POINT_FN double sum_of_lanes(const vec x) {
#if VECTOR_BYTES == 64
    return _mm512_reduce_add_pd((__m512d)x.v);
#elif VECTOR_BYTES == 32
    const __m128d halves = _mm_add_pd(_mm256_castpd256_pd128((__m256d)x.v), _mm256_extractf128_pd((__m256d)x.v, 1));
    return halves[0] + halves[1];
#else
    return x.v[0] + x.v[1];
#endif
}

// Some of the species, or of the reactions, no more than a pack has lanes: some(x) are their numbers among those of
// all. The lanes behind them are 0, and some.only(x) makes them 0. One that is left is no pack.
template <int COUNT> struct Some {
    typedef vec Numbers;
    int first;
    POINT_FN vec operator()(const double *x) const { return load_first<COUNT>(x + first); }
    POINT_FN vec only(const vec x) const { return COUNT < VECTOR_LANES ? only_first<COUNT>(x) : x; }
};

template <> struct Some<1> {
    typedef double Numbers;
    int first;
    POINT_FN double operator()(const double *x) const { return x[first]; }
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
        else if constexpr (COUNT % VECTOR_LANES == 1) return sum_of_lanes(of_packs) + of_one;
        else return sum_of_lanes(of_packs);
    }
};

template <> constexpr int room_for<double>(const int count) {
    return (count + VECTOR_LANES - 1) / VECTOR_LANES * VECTOR_LANES;
}

// work(some) for COUNT numbers, a pack at a time
template <int COUNT, class Work> POINT_FN void in_packs_of(const Work &work) {
    constexpr int WHOLE = COUNT / VECTOR_LANES * VECTOR_LANES;
    for (int first = 0; first < WHOLE; first += VECTOR_LANES) work(Some<VECTOR_LANES>{first});
    if constexpr (WHOLE < COUNT) work(Some<COUNT - WHOLE>{WHOLE});
}

// sum x_s weight_s over NS species
template <int NS, class Species>
POINT_FN double weighted_side_by_side(Constant<NS>, const double *weight, const Species &x) {
    Sum<NS> sum;
    in_packs_of<NS>([&](const auto some) INLINED { sum.add(some(numbers_of(x)) * some(weight)); });
    return sum.value();
}

// Numbers of species that lie side by side in memory
template <> inline constexpr bool SIDE_BY_SIDE<EvenRows<double, 1>> = true;
POINT_FN const double *numbers_of(const EvenRows<double, 1> &x) { return x.base; }

POINT_FN void exp_all(double *x, const int count) {
    in_packs(x, count, [](const vec pack) { return exp(pack); });
}

POINT_FN void log_all(double *x, const int count) {
    in_packs(x, count, [](const vec pack) { return log(pack); });
}
#endif
