// Ideal-gas properties of a point by itself (engine/numbers/alone.h): species fill vectors. The formulas are those of
// ideal_gas.h, which includes this file.
#pragma once

// sum(f_i) and sum(f_i weight_i)
template <int NS, class Species>
POINT_FN void sums_side_by_side(Constant<NS>, const double *weight, const Species &fraction, double &sum,
                                double &mean) {
    vec sums = 0.0, means = 0.0;
    in_packs_of<NS>([&](const auto some) INLINED {
        const vec f = some(numbers_of(fraction));
        sums += f;
        means += f * some(weight);
    });
    sum = sum_of_lanes(sums);
    mean = sum_of_lanes(means);
}

// The first COUNT NASA-7 coefficients of some species
template <int COUNT, class M, class Some>
POINT_FN void nasa7_of_some(const M &m, const vec T, const Some some, vec (&c)[COUNT]) {
    const auto low = T <= some(m.T_mid);
    UNROLL
    for (int k = 0; k < COUNT; ++k) c[k] = select(low, some(m.nasa_low + k * M::NS), some(m.nasa_high + k * M::NS));
    if constexpr (M::cold_ranges) {
        const auto cold = T < some(m.T_cold);
        UNROLL
        for (int k = 0; k < COUNT; ++k) c[k] += select(cold, some(m.nasa_cold + k * M::NS), vec(0.0));
    }
}

template <class M, class Species>
POINT_FN void ideal_side_by_side(const M &m, const double T, const Species &Y, double &cp_ig, double &h_ig) {
    vec cp = 0.0, h = 0.0;
    in_packs_of<M::NS>([&](const auto some) INLINED {
        vec c[6];
        nasa7_of_some(m, vec(T), some, c);
        const vec y = some(numbers_of(Y));
        cp += y * nasa_cp(vec(T), c);
        h += y * nasa_enthalpy(vec(T), c);
    });
    cp_ig = sum_of_lanes(cp);
    h_ig = sum_of_lanes(h);
}
