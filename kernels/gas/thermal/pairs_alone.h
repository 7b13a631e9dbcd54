// Sums over pairs of species of a point by itself (engine/numbers/alone.h): species fill vectors. The sums are those of
// pairs.h, which includes this file.
#pragma once

// The whole rows of a matrix of pairs. They lie behind the triangle that pairs.h reads (pair_layouts.py).
template <int NS> POINT_FN const double *whole_rows(const double *k) { return k + NS * (NS + 1) / 2; }

// Elements of the vectors y, z, w of all species, in memory
template <int NS, int VECTORS> struct PairVectors {
    double of[VECTORS][room_for<double>(NS)];
};

// yKy of one vector; element(some, Y_some)
template <int NS, class Species, class Element>
POINT_FN double quadratic_side_by_side(Constant<NS>, const double *k, const Species &Y, const Element &element) {
    PairVectors<NS, 1> y;
    in_packs_of<NS>([&](const auto some)
                        INLINED { store(y.of[0] + some.first, some.only(element(some, some(numbers_of(Y))))); });

    Sum<NS> sum;
    in_packs_of<NS>([&](const auto some) INLINED {
        typename decltype(some)::Numbers row = 0.0;
        for (int j = 0; j < NS; ++j) row += some(whole_rows<NS>(k) + j * NS) * y.of[0][j];
        sum.add(some(y.of[0]) * row);
    });
    return sum.value();
}

// yKy, yKz, zKz and, of three vectors, zKz + yKw with whole rows of K
template <int NS, int VECTORS>
POINT_FN void sums_by_rows(const double *rows, const PairVectors<NS, VECTORS> &x, double &yy, double &yz, double &zz) {
    Sum<NS> of_yy, of_yz, of_zz;
    in_packs_of<NS>([&](const auto some) INLINED {
        typename decltype(some)::Numbers row_y = 0.0, row_z = 0.0;
        for (int j = 0; j < NS; ++j) {
            const auto k = some(rows + j * NS);
            row_y += k * x.of[0][j];
            row_z += k * x.of[1][j];
        }

        const auto z = some(x.of[1]);
        of_yy.add(some(x.of[0]) * row_y);
        of_yz.add(z * row_y);
        of_zz.add(z * row_z);
        if constexpr (VECTORS > 2) of_zz.add(some(x.of[2]) * row_y);
    });
    both_values(of_yy, of_yz, yy, yz);
    zz = of_zz.value();
}

// The part of a low rank, which is subtracted
template <int VECTORS, class M>
POINT_FN void subtract_factors(const M &m, const PairVectors<M::NS, VECTORS> &x, double &yy, double &yz, double &zz) {
    for (int r = 0; r < M::KIJ_RANK; ++r) {
        Sum<M::NS> sums[VECTORS];
        in_packs_of<M::NS>([&](const auto some) INLINED {
            const auto factor = some(m.kij_factor + r * M::NS);
            for (int v = 0; v < VECTORS; ++v) sums[v].add(factor * some(x.of[v]));
        });

        const double sign = m.kij_sign[r];
        double y, z;
        both_values(sums[0], sums[1], y, z);
        yy -= sign * (y * y);
        yz -= sign * (y * z);
        zz -= sign * (z * z);
        if constexpr (VECTORS > 2) zz -= sign * (y * sums[2].value());
    }
}

// The pairs of a list, which are subtracted
template <int VECTORS, class M>
POINT_FN void subtract_pairs(const M &m, const PairVectors<M::NS, VECTORS> &x, double &yy, double &yz, double &zz) {
    const auto &y = x.of[0], &z = x.of[1], &w = x.of[VECTORS - 1];
    for (int pair = 0; pair < M::KIJ_PAIRS; ++pair) {
        const int i = int(m.kij_first[pair]);
        const int j = int(m.kij_second[pair]);
        const double k = m.kij_value[pair];
        yy -= 2 * k * (y[i] * y[j]);
        yz -= k * (y[i] * z[j] + z[i] * y[j]);
        zz -= 2 * k * (z[i] * z[j]);
        if constexpr (VECTORS > 2) zz -= k * (y[i] * w[j] + w[i] * y[j]);
    }
}

// yKy, yKz, zKz of two vectors, or yKy, yKz, zKz + yKw of three, with K = 1 - k_ij. elements(some, Y_some, at, x): the
// elements x[0], x[1], ... of the vectors.
template <int VECTORS, class M, class Species, class Elements>
POINT_FN void attraction_side_by_side(Constant<VECTORS>, const M &m, const Species &Y, const double at,
                                      const Elements &elements, double &yy, double &yz, double &zz) {
    PairVectors<M::NS, VECTORS> x;
    Sum<M::NS> sums[VECTORS];
    in_packs_of<M::NS>([&](const auto some) INLINED {
        typedef typename decltype(some)::Numbers Numbers;
        Numbers own[VECTORS];
        elements(some, some(numbers_of(Y)), Numbers(at), own);
        for (int v = 0; v < VECTORS; ++v) {
            own[v] = some.only(own[v]);
            if constexpr (!M::kij_dense) sums[v].add(own[v]);
            if constexpr (!M::kij_none) store(x.of[v] + some.first, own[v]);
        }
    });

    if constexpr (M::kij_dense) sums_by_rows(whole_rows<M::NS>(m.one_minus_kij), x, yy, yz, zz);
    else {
        double y, z;
        both_values(sums[0], sums[1], y, z);
        yy = y * y;
        yz = y * z;
        zz = z * z;
        if constexpr (VECTORS > 2) zz += y * sums[2].value();
        if constexpr (M::kij_lowrank) subtract_factors(m, x, yy, yz, zz);
        if constexpr (M::kij_sparse) subtract_pairs(m, x, yy, yz, zz);
    }
}
