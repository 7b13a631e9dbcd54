// Ideal-gas properties of a point by itself (engine/numbers/alone.h): species fill vectors. The formulas are those of
// ideal_gas.h, which includes this file.
#pragma once
#include "gas/thermal/coefficient_rows.h"

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

// COUNT coefficients of the mixture, in packs
template <int COUNT> struct SummedCoefficients {
    static constexpr int PACKS = (COUNT + VECTOR_LANES - 1) / VECTOR_LANES;
    vec pack[PACKS];

    POINT_FN void take(double (&c)[COUNT]) const {
        UNROLL
        for (int k = 0; k < COUNT; ++k) c[k] = pack[k / VECTOR_LANES].v[k % VECTOR_LANES];
    }
};

// sum_s Y_s row(s); row(s): eight numbers. Four sums side by side, since each waits for its last addition.
template <int NS, int COUNT, class Species, class Row>
POINT_FN SummedCoefficients<COUNT> sum_of_rows(const Species &Y, const Row &row) {
    typedef SummedCoefficients<COUNT> Sums;
    constexpr int WAYS = NS < 4 ? NS : 4;
    constexpr int LAST = NS / WAYS * WAYS;
    Sums sums[4];
    const auto term = [&](const int s, const int p) INLINED {
        vec numbers;
        load(row(s) + p * VECTOR_LANES, numbers);
        return vec(numbers_of(Y)[s]) * numbers;
    };

    UNROLL
    for (int way = 0; way < 4; ++way)
        for (int p = 0; p < Sums::PACKS; ++p) sums[way].pack[p] = way < WAYS ? term(way, p) : vec(0.0);
    for (int s = WAYS; s < LAST; s += WAYS) {
        UNROLL
        for (int way = 0; way < WAYS; ++way)
            for (int p = 0; p < Sums::PACKS; ++p) sums[way].pack[p] += term(s + way, p);
    }
    UNROLL
    for (int way = 0; way < NS - LAST; ++way)
        for (int p = 0; p < Sums::PACKS; ++p) sums[way].pack[p] += term(LAST + way, p);

    for (int p = 0; p < Sums::PACKS; ++p)
        sums[0].pack[p] = (sums[0].pack[p] + sums[1].pack[p]) + (sums[2].pack[p] + sums[3].pack[p]);
    return sums[0];
}

// From the rows of one range
template <int COUNT, int NS, class Species>
POINT_FN SummedCoefficients<COUNT> sum_of_range(const RowsOfCoefficients<NS> &rows, const Species &Y) {
    return sum_of_rows<NS, COUNT>(Y, [&](const int s) INLINED { return rows.row[s]; });
}

// Where species lie on both sides of their T_mid. Whether a species' row is that of the lower range or the other, so
// many numbers behind, is found for a pack of species at a time: integers in the lanes, with which nothing is computed.
template <int COUNT, class M, class Species>
POINT_FN SummedCoefficients<COUNT> sum_of_both(const M &m, const double T, const Species &Y) {
    const long behind = m.rows.high.row[0] - m.rows.low.row[0];
    double as_lane, lanes[room_for<double>(M::NS)];
    __builtin_memcpy(&as_lane, &behind, sizeof as_lane);
    in_packs_of<M::NS>([&](const auto some) INLINED {
        typedef typename decltype(some)::Numbers Numbers;
        store(lanes + some.first, select(Numbers(T) <= some(m.T_mid), Numbers(0.0), Numbers(as_lane)));
    });
    return sum_of_rows<M::NS, COUNT>(Y, [&](const int s) INLINED {
        long distance;
        __builtin_memcpy(&distance, lanes + s, sizeof distance);
        return m.rows.low.row[s] + distance;
    });
}

// nasa_of_range of ideal_gas.h, by a branch, which is foretold: the address of a table would wait for T
template <int COUNT, class M, class Species>
POINT_FN void range_by_rows(const M &m, const bool below, const Species &Y, double (&c)[COUNT]) {
    SummedCoefficients<COUNT> sums;
    if (below) sums = sum_of_range<COUNT>(m.rows.low, Y);
    else sums = sum_of_range<COUNT>(m.rows.high, Y);
    sums.take(c);
}

// nasa_ranges
template <int COUNT, class M, class Species>
POINT_FN void ranges_by_rows(const M &m, const double T, const Species &Y, double (&c)[COUNT]) {
    SummedCoefficients<COUNT> sums;
    if (T > m.T_mid_highest[0]) sums = sum_of_range<COUNT>(m.rows.high, Y);
    else if (T <= m.T_mid_lowest[0]) sums = sum_of_range<COUNT>(m.rows.low, Y);
    else sums = sum_of_both<COUNT>(m, T, Y);
    sums.take(c);
}

// add_cold_ranges
template <int COUNT, class M, class Species>
POINT_FN void cold_by_rows(const M &m, const double T, const Species &Y, double (&c)[COUNT]) {
    double added[COUNT], cold[M::NS];
    for (int s = 0; s < M::NS; ++s) cold[s] = T < m.T_cold[s] ? Y[s] : 0.0;
    sum_of_range<COUNT>(m.rows.cold, EvenRows<double, 1>{cold}).take(added);
    for (int k = 0; k < COUNT; ++k) c[k] += added[k];
}
