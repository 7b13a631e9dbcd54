// Second derivatives of a phase's Helmholtz or Gibbs energy in the amounts, and the symmetric systems of Newton's
// method in which they stand.
#pragma once
#include "gas/phases/phase.h"

// share times F_ij = d2F/dn_i dn_j, or with PRESSURE share times d ln phi_i/dn_j at constant T, p of one mole,
//   F_ij + 1 + P_i P_j/P_V.
template <class M, class R> struct Curvature : EquationOf<M>::template CurvatureParts<R> {
    R both, b_b, a_a, b_D, one, P_P; // factors of b_i + b_j, b_i b_j, a_ij, D_i b_j + D_j b_i, 1, P_i P_j
    R D_d, b_d, d_d, d_both;         // of D_i delta_j + D_j delta_i and so on; d_both: of delta_i + delta_j
};

template <bool PRESSURE, class M, class R>
POINT_FN void curvature_of(const M &m, const Attraction<M, R> &at, const Phase<M, R> &f, const R share,
                           Curvature<M, R> &c) {
    const R of_D = share * at.inv_RT;
    c.both = share * f.inv_free;
    c.b_b = share * f.n * (f.inv_free * f.inv_free) - of_D * f.D * f.psi_BB;
    c.a_a = -2.0 * (of_D * f.psi);
    c.b_D = -(of_D * f.psi_B);
    if constexpr (PRESSURE) {
        c.one = share;
        c.P_P = share / f.P_V;
    }
    if constexpr (M::deltas_by_species) {
        c.D_d = -(of_D * f.psi_d);
        c.b_d = -(of_D * f.D * f.psi_Bd);
        c.d_d = -(of_D * f.D * f.psi_dd);
        c.d_both = of_D * f.D * f.psi_d / f.n;
    }
    EquationOf<M>::add_curvature(m, at, f, share, c);
}

template <bool PRESSURE, class M, class R>
POINT_FN R curvature_element(const M &m, const Phase<M, R> &f, const Curvature<M, R> &c, const R a_ij, int i, int j) {
    const double b_i = m.phase_b[i], b_j = m.phase_b[j];
    R sum = c.both * (b_i + b_j) + c.b_b * (b_i * b_j) + c.a_a * a_ij + c.b_D * (f.D_i[i] * b_j + f.D_i[j] * b_i);
    if constexpr (PRESSURE) sum += c.one + c.P_P * (f.P_i[i] * f.P_i[j]);
    if constexpr (M::deltas_by_species) {
        const R d_i = f.delta_i[i], d_j = f.delta_i[j];
        sum += c.D_d * (f.D_i[i] * d_j + f.D_i[j] * d_i) + c.b_d * (d_i * b_j + d_j * b_i) + c.d_d * (d_i * d_j) +
               c.d_both * (d_i + d_j);
    }
    EquationOf<M>::add_element(m, f, c, i, j, sum);
    return sum;
}

// out_i += sum_j of the element times w_j; a_w: sum_j a_ij w_j
template <bool PRESSURE, class M, class R>
POINT_FN void add_curvature_times(const M &m, const Phase<M, R> &f, const Curvature<M, R> &c, const R *w, const R *a_w,
                                  R *out) {
    R sum = R(0.0), of_b = R(0.0), of_D = R(0.0), of_P = R(0.0), of_d = R(0.0);
    FOR_SPECIES (k, M::NS) {
        sum += w[k];
        of_b += m.phase_b[k] * w[k];
        of_D += f.D_i[k] * w[k];
        if constexpr (PRESSURE) of_P += f.P_i[k] * w[k];
        if constexpr (M::deltas_by_species) of_d += f.delta_i[k] * w[k];
    }
    R constant = c.both * of_b, in_b = c.both * sum + c.b_b * of_b + c.b_D * of_D, in_D = c.b_D * of_b;
    if constexpr (PRESSURE) constant += c.one * sum;
    if constexpr (M::deltas_by_species) {
        constant += c.d_both * of_d;
        in_b += c.b_d * of_d;
        in_D += c.D_d * of_d;
    }
    FOR_SPECIES (k, M::NS) {
        out[k] += constant + in_b * m.phase_b[k] + in_D * f.D_i[k] + c.a_a * a_w[k];
        if constexpr (PRESSURE) out[k] += c.P_P * of_P * f.P_i[k];
        if constexpr (M::deltas_by_species)
            out[k] += (c.D_d * of_D + c.b_d * of_b + c.d_d * of_d + c.d_both * sum) * f.delta_i[k];
    }
    EquationOf<M>::add_product(m, f, c, w, out);
}

// sum_j a_ij w_j
template <class M, class R> POINT_FN void attraction_times(const M &m, const Attraction<M, R> &at, const R *w, R *out) {
    attraction_rows<false>(m, at, w, [&](int k, const R S, const R, const R) { out[k] = S; });
}

// Amounts w = S x of a step x, sum_j a_ij w_j, and out = 0, to which curvatures times w are added
template <class M, class R>
POINT_FN void begin_products(const M &m, const Attraction<M, R> &at, const R *S, const R *x, R *w, R *a_w, R *out) {
    FOR_SPECIES (k, M::NS) {
        w[k] = S[k] * x[k];
        out[k] = R(0.0);
    }
    attraction_times(m, at, w, a_w);
}

// ---- symmetric systems, N (N + 1)/2 elements by rows of the lower triangle
template <int N> constexpr bool few() { return N <= 5 && SPECIES_ARRAYS; } // loops over them are written out
POINT_FN constexpr int lower(int i, int j) { return i * (i + 1) / 2 + j; }

// L D L^T in place, without pivoting or roots; inverse: 1/D. Whether the matrix is positive definite. Where it is not,
// a pivot is raised, and the solution is still a direction along which the energy falls.
template <int N, class R> POINT_FN auto factorise_symmetric(R *H, R *inverse) {
    auto definite = R(0.0) < R(1.0);
    UNROLL_IF(few<N>())
    for (int j = 0; j < N; ++j) {
        const R before = fabs(H[lower(j, j)]);
        R pivot = H[lower(j, j)];
        UNROLL_IF(few<N>())
        for (int k = 0; k < j; ++k) {
            const R scaled = H[lower(j, k)];
            H[lower(j, k)] = scaled * inverse[k];
            pivot -= scaled * H[lower(j, k)];
        }
        const auto sound = pivot > 1e-12 * before;
        definite = definite && sound;
        pivot = select(sound, pivot, larger(R(0.1 * before), fabs(pivot)));
        inverse[j] = 1.0 / pivot;
        UNROLL_IF(few<N>())
        for (int i = j + 1; i < N; ++i) {
            R sum = H[lower(i, j)];
            UNROLL_IF(few<N>())
            for (int k = 0; k < j; ++k) sum -= H[lower(i, k)] * H[lower(j, k)];
            H[lower(i, j)] = sum; // l_ij d_j until row i is reached
        }
    }
    return definite;
}

template <int N, class R> POINT_FN void solve_symmetric(const R *H, const R *inverse, R *x) {
    UNROLL_IF(few<N>())
    for (int i = 0; i < N; ++i) {
        UNROLL_IF(few<N>())
        for (int k = 0; k < i; ++k) x[i] -= H[lower(i, k)] * x[k];
    }
    UNROLL_IF(few<N>())
    for (int i = N - 1; i >= 0; --i) {
        x[i] = x[i] * inverse[i];
        UNROLL_IF(few<N>())
        for (int k = i + 1; k < N; ++k) x[i] -= H[lower(k, i)] * x[k];
    }
}
