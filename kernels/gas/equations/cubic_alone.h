// Mixtures of a point by itself (engine/numbers/alone.h): species fill vectors. The formulas are those of cubic.h,
// which includes this file.
#pragma once

// a, a', a'' of any alpha but Soave's, in one sweep
template <class M, class Species>
POINT_FN void general_side_by_side(const M &m, const double T, const Species &Y, double &a_mix, double &a_T,
                                   double &a_TT) {
    double yz, zz;
    attraction_side_by_side(
        Constant<3>(), m, Y, T,
        [&](const auto some, const auto y, const auto at, auto &x) INLINED {
            M::root_attraction(m, at, some, x[0], x[1], x[2]);
            for (auto &element : x) element = y * element;
        },
        a_mix, yz, zz);
    a_T = yz + yz;
    a_TT = zz + zz;
}
