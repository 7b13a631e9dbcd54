// Slopes of the attraction of a point by itself (engine/numbers/alone.h): species fill vectors. The formulas are those
// of derivatives.h, which includes this file.
#pragma once

// sqrt(a_k) of some species, and `slope` and `factor` by which S_k' = factor (slope (Ky)_k + sqrt(a_k) (Kz)_k)
template <class M, class Which, class R>
POINT_FN void root_of_some(const M &m, const R T, const R root_T, const Which some, R &root, R &slope) {
    R second;
    if constexpr (M::alpha_general) M::root_attraction(m, T, some, root, slope, second);
    else if constexpr (M::alpha_bends) bent_root(m, root_T, some, root, slope, second);
    else {
        const R q = some(m.q_mass);
        const R root_a = some(m.g_mass) - q * root_T;
        root = fabs(root_a);
        slope = flipped(q, root_a);
    }
}

template <class M> constexpr int kij_rank() {
    if constexpr (M::kij_lowrank) return M::KIJ_RANK;
    else return 0;
}

// Ky of a vector y of all species
template <class M> struct ProductsWithRows {
    const M &m;
    const double *y; // in whole packs
    double sum, factors[kij_rank<M>() + 1];

    POINT_FN ProductsWithRows(const M &m, const double *y) : m(m), y(y) {
        if constexpr (!M::kij_dense && !M::kij_sparse) sum = weighted(nullptr);
        if constexpr (M::kij_lowrank) {
            for (int r = 0; r < M::KIJ_RANK; ++r) factors[r] = m.kij_sign[r] * weighted(m.kij_factor + r * M::NS);
        }
    }

    POINT_FN double weighted(const double *weight) const {
        Sum<M::NS> of;
        in_packs_of<M::NS>([&](const auto some) INLINED { of.add(weight ? some(y) * some(weight) : some(y)); });
        return of.value();
    }

    template <class Which> POINT_FN auto operator()(const Which some) const {
        typename Which::Numbers row = 0.0;
        if constexpr (M::kij_dense || M::kij_sparse) {
            for (int j = 0; j < M::NS; ++j) row += some(m.kij_rows + j * M::NS) * y[j];
        } else {
            row = sum;
            if constexpr (M::kij_lowrank) {
                for (int r = 0; r < M::KIJ_RANK; ++r) row -= some(m.kij_factor + r * M::NS) * factors[r];
            }
        }
        return row;
    }
};

// use(some, S, S'), or use(k, S_k, S_k') for each of them where that takes an index
template <class Use, class Which, class Numbers>
POINT_FN auto use_some(const Use &use, const Which some, const Numbers S, const Numbers S_T, int)
    -> decltype(use(some, S, S_T)) {
    use(some, S, S_T);
}

template <class Use, class Numbers>
POINT_FN void use_some(const Use &use, const Some<1> some, const Numbers S, const Numbers S_T, long) {
    use(some.first, S, S_T);
}

template <class Use, int COUNT>
POINT_FN void use_some(const Use &use, const Some<COUNT> some, const vec S, const vec S_T, long) {
    for (int k = 0; k < COUNT; ++k) use(some.first + k, S.v[k], S_T.v[k]);
}

// attraction_slopes
template <class M, class Species, class Use>
POINT_FN void slopes_side_by_side(const M &m, const double T, const double root_T, const Species &Y, const Use &use) {
    PairVectors<M::NS, 2> own, of_Y; // sqrt(a) and its slope, and these times Y
    in_packs_of<M::NS>([&](const auto some) INLINED {
        typename decltype(some)::Numbers root, slope;
        root_of_some(m, decltype(root)(T), decltype(root)(root_T), some, root, slope);
        store(own.of[0] + some.first, root);
        store(own.of[1] + some.first, slope);
        store(of_Y.of[0] + some.first, some.only(Y[some] * root));
        store(of_Y.of[1] + some.first, some.only(Y[some] * slope));
    });

    const ProductsWithRows<M> of_y(m, of_Y.of[0]), of_z(m, of_Y.of[1]);
    const double factor = M::alpha_general ? 1.0 : -0.5 / root_T;
    in_packs_of<M::NS>([&](const auto some) INLINED {
        const auto root = some(own.of[0]);
        const auto products = of_y(some);
        use_some(use, some, root * products, factor * (some(own.of[1]) * products + root * of_z(some)), 0);
    });
}
