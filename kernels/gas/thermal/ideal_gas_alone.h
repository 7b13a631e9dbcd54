// Ideal-gas properties of a point by itself (engine/numbers/alone.h): species fill vectors. The formulas are those of
// ideal_gas.h, which includes this file.
#pragma once

// sum(f_i) and sum(f_i weight_i)
template <int NS, class Species>
POINT_FN void sums_side_by_side(Constant<NS>, const double *weight, const Species &fraction, double &sum,
                                double &mean) {
    Sum<NS> sums, means;
    in_packs_of<NS>([&](const auto some) INLINED {
        const auto f = some(numbers_of(fraction));
        sums.add(f);
        means.add(f * some(weight));
    });
    both_values(sums, means, sum, mean);
}

// cp and h of the species by their coefficients, coefficients(some, k), summed up
template <class M, class Species, class Coefficients>
POINT_FN void ideal_sums(const M &m, const double T, const Species &Y, double &cp_ig, double &h_ig,
                         const Coefficients &coefficients) {
    Sum<M::NS> cp, h;
    in_packs_of<M::NS>([&](const auto some) INLINED {
        typedef typename decltype(some)::Numbers Numbers;
        const Numbers T_all = T, y = some(numbers_of(Y));
        Numbers c[6];
        UNROLL
        for (int k = 0; k < 6; ++k) c[k] = coefficients(some, k * M::NS);
        if constexpr (M::cold_ranges) {
            const auto cold = T_all < some(m.T_cold);
            UNROLL
            for (int k = 0; k < 6; ++k) c[k] += select(cold, some(m.nasa_cold + k * M::NS), Numbers(0.0));
        }
        cp.add(y * nasa_cp(T_all, c));
        h.add(y * nasa_enthalpy(T_all, c));
    });
    both_values(cp, h, cp_ig, h_ig);
}

// As nasa_ranges of ideal_gas.h: mostly all species are in the same range.
template <class M, class Species>
POINT_FN void ideal_side_by_side(const M &m, const double T, const Species &Y, double &cp_ig, double &h_ig) {
    const bool below = T <= m.T_mid_lowest[0], above = T > m.T_mid_highest[0];
    if (below || above) {
        const double *const table = below ? m.nasa_low : m.nasa_high;
        ideal_sums(m, T, Y, cp_ig, h_ig, [=](const auto some, const int k) INLINED { return some(table + k); });
    } else {
        ideal_sums(m, T, Y, cp_ig, h_ig, [&](const auto some, const int k) INLINED {
            typedef typename decltype(some)::Numbers Numbers;
            return select(Numbers(T) <= some(m.T_mid), some(m.nasa_low + k), some(m.nasa_high + k));
        });
    }
}
