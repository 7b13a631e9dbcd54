// Mixtures of equation `mapped` of a point by itself (engine/numbers/alone.h): species fill vectors. The formulas are
// those of mapped_mixture.h, which includes this file.
#pragma once

// The map and its slopes in T
template <class M, class Species>
POINT_FN void map_side_by_side(const M &m, const double T, const Species &Y, VolumeMap<double> &map, double &shift_T,
                               double &shift_TT) {
    Sum<M::NS> of[7];
    in_packs_of<M::NS>([&](const auto some) INLINED {
        typedef typename decltype(some)::Numbers Numbers;
        const Numbers y = some(numbers_of(Y)), r = inverse_of_swelling(m, Numbers(T), some),
                      tau = y * some(&m.map_numbers[4 * M::NS]) * r;
        UNROLL
        for (int k = 0; k < 4; ++k) of[k].add(y * some(&m.map_numbers[k * M::NS]));
        of[4].add(tau);
        of[5].add(tau * r);
        of[6].add(tau * r * r);
    });

    double sums[7];
    UNROLL
    for (int k = 0; k < 7; ++k) sums[k] = of[k].value();
    map_of_sums(sums, map, shift_T, shift_TT);
}

// a, a', a'', unless it is Absent, and the map
template <class M, class Species, class Second>
POINT_FN void mapped_side_by_side(const M &m, const double T, const Species &Y, double &a_mix, double &a_T,
                                  Second &a_TT, VolumeMap<double> &map, double &shift_T, double &shift_TT) {
    double yz, zz;
    attraction_side_by_side(
        Constant<3>(), m, Y, T,
        [&](const auto some, const auto y, const auto at, auto &x)
            INLINED { own_numbers(m, at, y, some, x[0], x[1], x[2]); },
        a_mix, yz, zz);
    a_T = yz + yz;
    if constexpr (!is_absent<Second>) a_TT = zz + zz;
    map_side_by_side(m, T, Y, map, shift_T, shift_TT);
}
