// The shape of D = (v + delta1 b)(v + delta2 b), which tells cubic equations of state apart: delta1 and delta2 of all
// species, or of the mixture.
#pragma once
#include "gas/thermal/pairs.h"

// The shape of D if all species have the same delta1 and delta2: constants that the compiler knows.
template <class M> struct OneShape {
    static constexpr double delta1 = M::delta_1;
    static constexpr double delta2 = M::delta_2;
    static constexpr double sum = M::delta_sum;
    static constexpr double product = M::delta_product;
    static constexpr double half_gap_2 = 0.25 * sum * sum - product; // ((delta1 - delta2)/2)^2
    // D = free^2 + linear b free + constant b^2 with free = v - b: no term is negative, so nothing cancels in a liquid
    static constexpr double linear = 2.0 + sum;
    static constexpr double constant = 1.0 + sum + product;

    // near: x^2 in departure_integral is below 1/2. apart: division by delta1 - delta2 is safe.
    static constexpr bool near = half_gap_2 <= 0.125 * linear * linear;
    static constexpr bool apart = half_gap_2 > 0.05;
};

// The shape of D if each species has a delta1, and the mixture their mean. delta2 = (1 - delta1)/(1 + delta1), so that
// product = 1 - sum. slope: d sum/d delta1.
template <class R> struct MixedShape {
    R delta1, delta2, sum, product, half_gap_2, linear, slope;
    static constexpr double constant = 2.0;
    static constexpr bool near = false;
    static constexpr bool apart = false;
};

template <class M> POINT_FN constexpr OneShape<M> shape(const M &, Absent) { return {}; }
template <class M, class R> POINT_FN MixedShape<R> shape(const M &, const R delta) {
    const R inverse = 1.0 / (1.0 + delta);
    const R other = (1.0 - delta) * inverse;
    const R gap = delta - other;
    const R sum = delta + other;
    return {delta, other, sum, 1.0 - sum, 0.25 * gap * gap, 2.0 + sum, gap * inverse};
}

// delta1 of the mixture, sum X_i delta1_i, if each species has a delta1. Y: amounts in any proportion to mass
// fractions.
template <class M, class Species> POINT_FN auto delta_of(const M &m, const Species &Y) {
    if constexpr (M::deltas_by_species) {
        if constexpr (SIDE_BY_SIDE<Species>) {
            double sum, moles;
            weighted_sum<M::NS>(sum, m.delta_numbers, Y);
            weighted_sum<M::NS>(moles, m.delta_numbers + M::NS, Y);
            return sum / moles;
        }
        auto sum = Y[0] * m.delta_numbers[0];
        auto moles = Y[0] * m.delta_numbers[M::NS];
        FOR_SPECIES (s, M::NS - 1) {
            const auto y = Y[s + 1];
            sum += y * m.delta_numbers[s + 1];
            moles += y * m.delta_numbers[M::NS + s + 1];
        }
        return sum / moles;
    } else return Absent();
}

template <class M, class R, class Species>
POINT_FN void cubic_delta(const M &m, const Species &Y, const R W, R &delta_mix) {
    R per_mass;
    weighted_sum<M::NS>(per_mass, m.delta_numbers, Y);
    delta_mix = W * per_mass;
}

template <class X> constexpr bool is_absent = false;
template <> constexpr bool is_absent<Absent> = true;
