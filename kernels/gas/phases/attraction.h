// a_ij of all pairs of species at one temperature, molar [Pa m6/mol2], whatever alpha, k_ij and mixing rule the mixture
// has. Done once for a temperature, used by every phase and trial phase there.
#pragma once
#include "gas/equations/derivatives.h"

// A part of a long body that few points need. Unlike PART_FN it is a function of its own on a GPU, too, and the first
// pass over the points calls none: the numbers that it is given would lie in memory.
#ifdef ON_DEVICE
#define PHASE_PART __device__ __noinline__
#else
#define PHASE_PART PART_FN
#endif

template <class M, class R> struct Attraction {
    static constexpr int HELD = M::by_pairs ? 1 : M::NS;

    R T, inv_T, RT, inv_RT, root_of_T;
    R root[HELD], root_T[HELD], root_TT[HELD]; // sqrt(a_i) and its derivatives in T; not used with matrices a_ij(T)
};

// sqrt(a_i) of a species and its derivatives in T, molar. Soave: bent_root, or |g - q sqrt(T)| as published.
template <class M, class R>
POINT_FN void species_attraction(const M &m, const Attraction<M, R> &at, int s, R &root, R &root_T, R &root_TT) {
    if constexpr (M::alpha_general) {
        M::root_attraction(m, at.T, s, root, root_T, root_TT);
    } else if constexpr (M::alpha_bends) {
        // Derivatives in sqrt(T). Few species are so hot that the line bends.
        R first = R(m.q_mass[s]);
        R second = R(0.0);
        root = m.g_mass[s] - m.q_mass[s] * at.root_of_T;
        if (any_of(root * m.bend_inverse[s] < 1.0)) bent_root(m, at.root_of_T, s, root, first, second);
        root_T = -0.5 * (at.root_of_T * at.inv_T) * first;
        root_TT = (0.25 * second - 0.5 * root_T) * at.inv_T;
    } else {
        const R with_sign = m.g_mass[s] - m.q_mass[s] * at.root_of_T;
        root = fabs(with_sign);
        root_T = -0.5 * (at.root_of_T * at.inv_T) * flipped(R(m.q_mass[s]), with_sign);
        root_TT = -0.5 * at.inv_T * root_T;
    }
    root = root * m.W[s];
    root_T = root_T * m.W[s];
    root_TT = root_TT * m.W[s];
}

template <class M, class R> POINT_FN void attraction_at(const M &m, const R T, Attraction<M, R> &at) {
    at.T = T;
    at.RT = R_UNIVERSAL * T;
    at.inv_RT = inverse(at.RT);
    at.inv_T = R_UNIVERSAL * at.inv_RT;
    at.root_of_T = sqrt(T);
    if constexpr (!M::by_pairs) {
        FOR_SPECIES (s, M::NS) species_attraction(m, at, s, at.root[s], at.root_T[s], at.root_TT[s]);
    }
}

// 1 - k_ij
template <class M> POINT_FN double one_minus_kij(const M &m, int i, int j) {
    if constexpr (M::kij_dense || M::kij_sparse) return m.kij_rows[i * M::NS + j];
    double sum = 1.0;
    if constexpr (M::kij_lowrank) {
        UNROLL
        for (int r = 0; r < M::KIJ_RANK; ++r)
            sum -= m.kij_sign[r] * (m.kij_factor[r * M::NS + i] * m.kij_factor[r * M::NS + j]);
    }
    return sum;
}

// Vector r of k_ij = sum_r sign_r k_ri k_rj at species i, of mixtures that have few (few_vectors.h): k_ri, and sign_r
template <class M> POINT_FN double kij_vector(const M &m, int r, int i) {
    if constexpr (M::PHASE_VECTORS > 3) return m.phase_factor[r * M::NS + i];
    return 0.0;
}
template <class M> POINT_FN double kij_sign(const M &m, int r) {
    if constexpr (M::PHASE_VECTORS > 3) return m.phase_sign[r];
    return 0.0;
}

template <class M, class R> POINT_FN R pair_attraction(const M &m, const Attraction<M, R> &at, int i, int j) {
    if constexpr (M::by_pairs) {
        constexpr int MATRIX = M::NS * M::NS;
        const int row = i * M::NS + j;
        const double constant = m.pair_rows[row];
        const double linear = m.pair_rows[MATRIX + row];
        const double square = m.pair_rows[2 * MATRIX + row];
        const double both = m.W[i] * m.W[j];
        if constexpr (M::alpha_general) return (constant / at.root_of_T + square * at.root_of_T) * both;
        else return (constant + at.root_of_T * (square * at.root_of_T - 2.0 * linear)) * both;
    } else return at.root[i] * at.root[j] * one_minus_kij(m, i, j);
}

// Amounts of substance read as masses.
template <class M, class R> struct Masses {
    const M &m;
    const R *moles;
    POINT_FN R operator[](int s) const { return moles[s] * m.W[s]; }
};

// use(k, sum_j a_kj x_j, its first derivative in T, half the second derivative as it enters the sum over k).
// HEAT: with the derivatives; otherwise they are not to be used.
template <bool HEAT, class M, class R, class Use>
POINT_FN void attraction_rows(const M &m, const Attraction<M, R> &at, const R *x, const Use &use) {
    if constexpr (M::by_pairs && HEAT) {
        Dual<R> moving_x[M::NS];
        FOR_SPECIES (k, M::NS) moving_x[k] = still<1>(x[k] * m.W[k]);
        attraction_slopes(m, moving(at.T, R(1.0)), moving_x, [&](int k, const Dual<R> S, const Dual<R> S_T) {
            use(k, R(S.v * m.W[k]), R(S_T.v * m.W[k]), R(S_T.d[0] * (0.5 * m.W[k])));
        });
    } else if constexpr (M::by_pairs) {
        attraction_slopes(m, at.T, Masses<M, R>{m, x},
                          [&](int k, const R S, const R S_T) { use(k, R(S * m.W[k]), R(S_T * m.W[k]), R(0.0)); });
    } else {
        products_with_rows<M, R>(
            m,
            [&](int j, R &y, R &z) {
                y = at.root[j] * x[j];
                z = at.root_T[j] * x[j];
            },
            [&](int k, const R of_y, const R of_z) {
                use(k, R(at.root[k] * of_y), R(at.root_T[k] * of_y + at.root[k] * of_z),
                    R(at.root_TT[k] * of_y + at.root_T[k] * of_z));
            });
    }
}
