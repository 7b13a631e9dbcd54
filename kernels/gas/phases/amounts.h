// Newton's equations of the amounts of a phase, or of two: for the changes y_i of the logarithms,
//   y + C A y = beta,  C_ij = second derivatives in the amounts,  A = diag(weight)
// as the symmetric system of q = S y, S = sqrt(A). The matrix is written down and factorised, or, where k_ij has few
// vectors, solved by these (few_vectors.h).
#pragma once
#include "gas/phases/few_vectors.h"

constexpr double LEAST_ROOT = 1e-140; // of S: a species that is not there has its y, too

// weight_i = S_i^2
template <class M, class R> struct Weights {
    R S[M::NS], inv_S[M::NS];

    POINT_FN R operator[](const int k) const { return S[k] * S[k]; }
    // root > 0: of what the amount is a product with; inv_root: 1 over it
    POINT_FN void set(const int k, const R root, const R inv_root) {
        S[k] = root;
        inv_S[k] = inv_root;
    }
};

// sum_i weight_i a_i b_i
template <class M, class R> POINT_FN R weighted_product(const Weights<M, R> &weight, const R *a, const R *b) {
    R sum = R(0.0);
    FOR_SPECIES (k, M::NS) sum += weight[k] * (a[k] * b[k]);
    return sum;
}

template <class M, class R, bool BY_VECTORS = (M::PHASE_VECTORS > 0)> struct AmountSystem;

// ---- written down
template <class M, class R> struct AmountSystem<M, R, false> {
    Weights<M, R> weight;
    R H[lower(M::NS, 0)], inv_D[M::NS];
    MaskOf<R> definite;

    // y that a step of the logarithms takes: where a pivot was raised it is longer than y, as one of substitution is
    POINT_FN R longer(const int k, const R y) const { return y * (1.0 + H[lower(k, k)]); }
};

// C_ij = share d ln phi_i/dn_j of one mole
template <class M, class R>
POINT_FN void amounts_of_one(const M &m, const Attraction<M, R> &at, const Phase<M, R> &f, const R share,
                             AmountSystem<M, R, false> &o) {
    Curvature<M, R> c;
    curvature_of<true>(m, at, f, share, c);
    const auto add_own = [&](const int i, const int j, R &sum) { add_own_element<true>(m, at, f, c, i, j, sum); };
    scaled_curvature<true>(m, at, o.weight.S, c.common, add_own, o.H);
}

// C_ij = F_ij of both phases; with PRESSURE of_v and of_l times d ln phi_i/dn_j at constant T, p, less 1, which is the
// part of a common change of all K
template <bool PRESSURE, class M, class R>
POINT_FN void amounts_of_two(const M &m, const Attraction<M, R> &at, const Phase<M, R> &v, const R of_v,
                             const Phase<M, R> &l, const R of_l, AmountSystem<M, R, false> &o) {
    Curvature<M, R> c_v, c_l;
    CommonCurvature<M, R> both;
    curvature_of<PRESSURE>(m, at, v, of_v, c_v);
    curvature_of<PRESSURE>(m, at, l, of_l, c_l);
    add_common(c_v.common, c_l.common, both);
    const auto add_own = [&](const int i, const int j, R &sum) {
        add_own_element<PRESSURE>(m, at, v, c_v, i, j, sum);
        add_own_element<PRESSURE>(m, at, l, c_l, i, j, sum);
    };
    scaled_curvature<false>(m, at, o.weight.S, both, add_own, o.H);
}

// C less factor (P_i^v + P_i^l) (P_j^v + P_j^l)
template <class M, class R>
POINT_FN void subtract_pressures(const M &m, const Attraction<M, R> &at, const Phase<M, R> &v, const Phase<M, R> &l,
                                 const R factor, AmountSystem<M, R, false> &o) {
    constexpr int NS = M::NS;
    R P[NS];
    UNROLL_FEW(few<NS>())
    for (int i = 0; i < NS; ++i) P[i] = o.weight.S[i] * (slope_of_p(m, at, v, i) + slope_of_p(m, at, l, i));
    UNROLL_FEW(few<NS>())
    for (int i = 0; i < NS; ++i) {
        const R part = factor * P[i];
        for (int j = 0; j <= i; ++j) o.H[lower(i, j)] -= part * P[j];
    }
}

template <class M, class R>
POINT_FN void factorise_amounts(const M &, const Attraction<M, R> &, AmountSystem<M, R, false> &o) {
    o.definite = factorise_symmetric<M::NS>(o.H, o.inv_D);
}

template <class M, class R>
POINT_FN void solve_amounts(const M &, const Attraction<M, R> &, const AmountSystem<M, R, false> &o, const R *beta,
                            R *y) {
    R q[M::NS];
    FOR_SPECIES (k, M::NS) q[k] = o.weight.S[k] * beta[k];
    solve_symmetric<M::NS>(o.H, o.inv_D, q);
    FOR_SPECIES (k, M::NS) y[k] = q[k] * o.weight.inv_S[k];
}

// ---- by few vectors: 1, b_i, sqrt(a_i), and sqrt(a_i) times each vector of k_ij
template <class M, class R> struct AmountSystem<M, R, true> {
    static constexpr int N = M::PHASE_VECTORS;
    Weights<M, R> weight;
    FewVectors<N, R> vectors;
    MaskOf<R> definite;

    POINT_FN R longer(const int, const R y) const { return y; }
};

template <class M, class R> POINT_FN void vectors_at(const M &m, const Attraction<M, R> &at, const int k, R *u) {
    u[0] = R(1.0);
    u[1] = R(m.phase_b[k]);
    u[2] = at.root[k];
    UNROLL
    for (int r = 3; r < M::PHASE_VECTORS; ++r) u[r] = at.root[k] * kij_vector(m, r - 3, k);
}

// P_i in these vectors
template <class M, class R> POINT_FN void pressure_in_vectors(const Phase<M, R> &f, R *out) {
    out[0] = f.P_one;
    out[1] = f.P_b;
    UNROLL
    for (int r = 2; r < M::PHASE_VECTORS; ++r) out[r] = f.P_D * f.D_along[r - 2];
}

// c += share times F_ij of a phase (curvature.h)
template <class M, class R>
POINT_FN void add_curvature_in_vectors(const M &m, const Attraction<M, R> &at, const Phase<M, R> &f, const R share,
                                       FewVectors<M::PHASE_VECTORS, R> &o) {
    constexpr int N = M::PHASE_VECTORS;
    const R of_D = share * at.inv_RT;
    const R one = share * f.inv_free;
    const R of_a = -2.0 * (of_D * f.psi);

    o.c[lower(1, 0)] += one;
    o.c[lower(1, 1)] += one * f.n * f.inv_free - of_D * f.D * f.psi_BB;
    o.c[lower(2, 2)] += of_a;
    UNROLL
    for (int r = 2; r < N; ++r) o.c[lower(r, 1)] -= of_D * f.psi_B * f.D_along[r - 2];
    UNROLL
    for (int r = 3; r < N; ++r) o.c[lower(r, r)] -= kij_sign(m, r - 3) * of_a;
}

template <class M, class R>
POINT_FN void amounts_of_one(const M &m, const Attraction<M, R> &at, const Phase<M, R> &f, const R share,
                             AmountSystem<M, R, true> &o) {
    R P[M::PHASE_VECTORS];
    clear_vectors(o.vectors);
    add_curvature_in_vectors(m, at, f, share, o.vectors);
    pressure_in_vectors(f, P);
    add_square(R(share / f.P_V), P, o.vectors);
    o.vectors.c[0] += share;
}

template <bool PRESSURE, class M, class R>
POINT_FN void amounts_of_two(const M &m, const Attraction<M, R> &at, const Phase<M, R> &v, const R of_v,
                             const Phase<M, R> &l, const R of_l, AmountSystem<M, R, true> &o) {
    clear_vectors(o.vectors);
    add_curvature_in_vectors(m, at, v, of_v, o.vectors);
    add_curvature_in_vectors(m, at, l, of_l, o.vectors);
    if constexpr (PRESSURE) {
        R P[M::PHASE_VECTORS];
        pressure_in_vectors(v, P);
        add_square(R(of_v / v.P_V), P, o.vectors);
        pressure_in_vectors(l, P);
        add_square(R(of_l / l.P_V), P, o.vectors);
    }
}

template <class M, class R>
POINT_FN void subtract_pressures(const M &, const Attraction<M, R> &, const Phase<M, R> &v, const Phase<M, R> &l,
                                 const R factor, AmountSystem<M, R, true> &o) {
    R P[M::PHASE_VECTORS], of_l[M::PHASE_VECTORS];
    pressure_in_vectors(v, P);
    pressure_in_vectors(l, of_l);
    UNROLL
    for (int r = 0; r < M::PHASE_VECTORS; ++r) P[r] += of_l[r];
    add_square(R(-factor), P, o.vectors);
}

template <class M, class R>
POINT_FN void factorise_amounts(const M &m, const Attraction<M, R> &at, AmountSystem<M, R, true> &o) {
    FOR_SPECIES (k, M::NS) {
        R u[M::PHASE_VECTORS];
        vectors_at(m, at, k, u);
        add_species(o.weight[k], u, o.vectors);
    }
    factorise_vectors(o.vectors);
    o.definite = o.vectors.definite;
}

template <class M, class R>
POINT_FN void solve_amounts(const M &m, const Attraction<M, R> &at, const AmountSystem<M, R, true> &o, const R *beta,
                            R *y) {
    constexpr int N = M::PHASE_VECTORS;
    R t[N], u[N];
    UNROLL
    for (int r = 0; r < N; ++r) t[r] = R(0.0);
    FOR_SPECIES (k, M::NS) {
        const R weighted = o.weight[k] * beta[k];
        vectors_at(m, at, k, u);
        UNROLL
        for (int r = 0; r < N; ++r) t[r] += weighted * u[r];
    }

    solve_vectors(o.vectors, t);
    FOR_SPECIES (k, M::NS) {
        vectors_at(m, at, k, u);
        y[k] = beta[k];
        UNROLL
        for (int r = 0; r < N; ++r) y[k] += u[r] * t[r];
    }
}
