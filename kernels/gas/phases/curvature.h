// Second derivatives of a phase's Helmholtz or Gibbs energy in the amounts, and the symmetric systems of Newton's
// method in which they stand.
#pragma once
#include "gas/phases/phase.h"

// Symmetric matrices: N (N + 1)/2 elements by rows of the lower triangle
#ifdef ON_DEVICE
constexpr int FEW_ROWS = 12; // spilled numbers are read at known places, others of an array are not
#else
constexpr int FEW_ROWS = 5;
#endif
template <int N> constexpr bool few() { return N <= FEW_ROWS && SPECIES_ARRAYS; } // loops over them are written out
// each(i) for i = 0 .. N - 1: constants where the loop is written out
template <int N, class Each> POINT_FN void for_rows(const Each &each) {
    if constexpr (few<N>()) for_constants<N>(each);
    else {
        for (int i = 0; i < N; ++i) each(i);
    }
}
POINT_FN constexpr int lower(int i, int j) { return i * (i + 1) / 2 + j; }

// share times F_ij = d2F/dn_i dn_j, or with PRESSURE share times d ln phi_i/dn_j at constant T, p of one mole,
//   F_ij + 1 + P_i P_j/P_V.
// The part that phases at the same T have in common, in whose factors they are added: X_i b_j + X_j b_i + a_a a_ij +
// one
template <class M, class R> struct CommonCurvature {
    R X[M::NS], a_a, one;
};

// and each phase's own: Y_i delta_j + Y_j delta_i, with PRESSURE P_P P_i P_j, and what EquationOf adds
template <class M, class R> struct Curvature : EquationOf<M>::template CurvatureParts<R> {
    static constexpr int SHAPED = M::deltas_by_species ? M::NS : 1;
    CommonCurvature<M, R> common;
    R Y[SHAPED], P_P;
};

template <bool PRESSURE, class M, class R>
POINT_FN void curvature_of(const M &m, const Attraction<M, R> &at, const Phase<M, R> &f, const R share,
                           Curvature<M, R> &c) {
    const R of_D = share * at.inv_RT;
    const R D_i = -(of_D * f.psi_B);
    const R one = share * f.inv_free;
    const R b = 0.5 * (one * f.n * f.inv_free - of_D * f.D * f.psi_BB);
    FOR_SPECIES (k, M::NS) c.common.X[k] = one + b * m.phase_b[k] + D_i * slope_of_D(m, at, f, k);
    c.common.a_a = -2.0 * (of_D * f.psi);
    c.common.one = PRESSURE ? share : R(0.0);
    if constexpr (PRESSURE) c.P_P = share / f.P_V;

    if constexpr (M::deltas_by_species) {
        const R b_d = -(of_D * f.D * f.psi_Bd);
        const R d_d = -0.5 * (of_D * f.D * f.psi_dd);
        const R D_d = -(of_D * f.psi_d);
        const R one_d = of_D * f.D * f.psi_d / f.n;
        FOR_SPECIES (k, M::NS) {
            c.common.X[k] += b_d * f.delta_i[k];
            c.Y[k] = one_d + D_d * f.D_i[k] + d_d * f.delta_i[k];
        }
    }
    EquationOf<M>::add_curvature(m, at, f, share, c);
}

// Both phases together
template <class M, class R>
POINT_FN void add_common(const CommonCurvature<M, R> &v, const CommonCurvature<M, R> &l, CommonCurvature<M, R> &both) {
    both.a_a = v.a_a + l.a_a;
    both.one = v.one + l.one;
    FOR_SPECIES (k, M::NS) both.X[k] = v.X[k] + l.X[k];
}

template <bool PRESSURE, class M, class R>
POINT_FN void add_own_element(const M &m, const Attraction<M, R> &at, const Phase<M, R> &f, const Curvature<M, R> &c,
                              int i, int j, R &sum) {
    if constexpr (PRESSURE) sum += c.P_P * (slope_of_p(m, at, f, i) * slope_of_p(m, at, f, j));
    if constexpr (M::deltas_by_species) sum += c.Y[i] * f.delta_i[j] + c.Y[j] * f.delta_i[i];
    EquationOf<M>::add_element(m, f, c, i, j, sum);
}

// F_ij of one phase
template <class M, class R>
POINT_FN R curvature_element(const M &m, const Attraction<M, R> &at, const Phase<M, R> &f, const Curvature<M, R> &c,
                             int i, int j) {
    R sum = c.common.a_a * pair_attraction(m, at, i, j);
    add_own_element<false>(m, at, f, c, i, j, sum);
    return sum + c.common.X[i] * m.phase_b[j] + c.common.X[j] * m.phase_b[i];
}

// H_ij = delta_ij + S_i S_j C_ij, where add_own(i, j, sum) adds the phases' own parts of C_ij. PRESSURE: with `one`.
template <bool PRESSURE, class M, class R, class Own>
POINT_FN void scaled_curvature(const M &m, const Attraction<M, R> &at, const R *S, const CommonCurvature<M, R> &c,
                               const Own &add_own, R *H) {
    constexpr int NS = M::NS;
    R S_b[NS], S_X[NS];
    FOR_SPECIES (k, NS) {
        S_b[k] = S[k] * m.phase_b[k];
        S_X[k] = S[k] * c.X[k];
    }
    for_rows<NS>([&](const auto i) {
        UNROLL_FEW(few<NS>())
        for (int j = 0; j <= i; ++j) {
            R sum = c.a_a * pair_attraction(m, at, i, j);
            if constexpr (PRESSURE) sum += c.one;
            add_own(i, j, sum);
            H[lower(i, j)] = S[i] * S[j] * sum + (S_X[i] * S_b[j] + S_X[j] * S_b[i]);
        }
        H[lower(i, i)] += R(1.0);
    });
}

// out_i = sum_j F_ij w_j of one phase
template <class M, class R>
POINT_FN void curvature_times(const M &m, const Attraction<M, R> &at, const Phase<M, R> &f, const R *w, R *out) {
    Curvature<M, R> c;
    curvature_of<false>(m, at, f, R(1.0), c);

    R of_b = R(0.0), of_X = R(0.0);
    FOR_SPECIES (k, M::NS) {
        of_b += m.phase_b[k] * w[k];
        of_X += c.common.X[k] * w[k];
    }
    attraction_rows<false>(m, at, w, [&](int k, const R a_w, const R, const R) {
        out[k] = c.common.X[k] * of_b + m.phase_b[k] * of_X + c.common.a_a * a_w;
    });

    if constexpr (M::deltas_by_species) {
        R of_d = R(0.0), of_Y = R(0.0);
        FOR_SPECIES (k, M::NS) {
            of_d += f.delta_i[k] * w[k];
            of_Y += c.Y[k] * w[k];
        }
        FOR_SPECIES (k, M::NS) out[k] += c.Y[k] * of_d + f.delta_i[k] * of_Y;
    }
    EquationOf<M>::add_product(m, f, c, w, out);
}

// ---- symmetric systems
constexpr int ROWS = 4; // that are worked on together, of matrices whose loops are not written out

// H_ij -= sum of H_ik H_jk, k < j, in rows i to i + COUNT - 1: a sum by itself waits for each of its products
template <int COUNT, class R> POINT_FN void subtract_products(R *H, const int i, const int j) {
    R sum[COUNT];
    UNROLL
    for (int r = 0; r < COUNT; ++r) sum[r] = H[lower(i + r, j)];
    for (int k = 0; k < j; ++k) {
        const R factor = H[lower(j, k)];
        UNROLL
        for (int r = 0; r < COUNT; ++r) sum[r] -= H[lower(i + r, k)] * factor;
    }
    UNROLL
    for (int r = 0; r < COUNT; ++r) H[lower(i + r, j)] = sum[r];
}

// L D L^T in place, without pivoting or roots, and 1/D. Whether the matrix is positive definite. Where it is not,
// a pivot is raised, and the solution is still a direction along which the energy falls. In place of the diagonal of H
// stays what was added to it.
template <int N, class R> POINT_FN auto factorise_symmetric(R *H, R *inv_D) {
    auto definite = R(0.0) < R(1.0);
    for_rows<N>([&](const auto j) {
        const R before = fabs(H[lower(j, j)]);
        R pivot = H[lower(j, j)];
        UNROLL_FEW(few<N>())
        for (int k = 0; k < j; ++k) {
            const R scaled = H[lower(j, k)];
            H[lower(j, k)] = scaled * inv_D[k];
            pivot -= scaled * H[lower(j, k)];
        }
        const auto sound = pivot > 1e-12 * before;
        definite = definite && sound;
        H[lower(j, j)] = R(0.0);
        if (!all_of(sound)) {
            const R raised = select(sound, pivot, larger(R(0.1 * before), fabs(pivot)));
            H[lower(j, j)] = raised - pivot;
            pivot = raised;
        }
        inv_D[j] = inverse(pivot);

        // l_ij d_j until row i is reached
        if constexpr (few<N>()) {
            UNROLL_FEW(few<N>())
            for (int i = j + 1; i < N; ++i) {
                R sum = H[lower(i, j)];
                UNROLL_FEW(few<N>())
                for (int k = 0; k < j; ++k) sum -= H[lower(i, k)] * H[lower(j, k)];
                H[lower(i, j)] = sum;
            }
        } else {
            int i = j + 1;
            for (; i + ROWS <= N; i += ROWS) subtract_products<ROWS>(H, i, j);
            for (; i < N; ++i) subtract_products<1>(H, i, j);
        }
    });
    return definite;
}

template <int N, class R> POINT_FN void solve_symmetric(const R *H, const R *inv_D, R *x) {
    if constexpr (few<N>()) {
        for_rows<N>([&](const auto i) {
            UNROLL_FEW(few<N>())
            for (int k = 0; k < i; ++k) x[i] -= H[lower(i, k)] * x[k];
        });
        for_rows<N>([&](const auto turn) {
            const int i = N - 1 - turn;
            x[i] = x[i] * inv_D[i];
            UNROLL_FEW(few<N>())
            for (int k = i + 1; k < N; ++k) x[i] -= H[lower(k, i)] * x[k];
        });
    } else {
        // Column by column, for the same reason
        for (int k = 0; k < N; ++k) {
            const R x_k = x[k];
            for (int i = k + 1; i < N; ++i) x[i] -= H[lower(i, k)] * x_k;
        }
        for (int k = 0; k < N; ++k) x[k] = x[k] * inv_D[k];
        for (int k = N - 1; k > 0; --k) {
            const R x_k = x[k];
            for (int i = 0; i < k; ++i) x[i] -= H[lower(k, i)] * x_k;
        }
    }
}
