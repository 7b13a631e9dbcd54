// The linear systems (d - J) K = b of an integration. J is the Jacobian of a closed reactor, d = 4/h of its step h.
// They are dense, or sparse where the mechanism has a table of its elimination (elimination.py).
#pragma once
#include "gas/reactors/closed_reactor.h"

// ---- dense

// Few unknowns are written out: the right-hand side then stays in registers, and on a GPU the matrix.
template <int N> constexpr bool written_out() { return N <= 16 && SPECIES_ARRAYS; }

// LU in place without pivoting, 1/u on the diagonal. d dominates the diagonal where h is small. A NaN pivot makes the
// step NaN; the step is then rejected.
template <int N, class R> POINT_FN void factorise(R *A) {
    const auto column = [&](auto k) INLINED {
        const R inverse = 1.0 / A[k * N + k];
        A[k * N + k] = inverse;

        UNROLL_IF(written_out<N>())
        for (int i = k + 1; i < N; ++i) {
            const R factor = A[i * N + k] * inverse;
            A[i * N + k] = factor;

            if constexpr (written_out<N>()) {
                UNROLL
                for (int j = k + 1; j < N; ++j) A[i * N + j] -= factor * A[k * N + j];
            } else {
                UNROLL_BY(1)
                for (int j = k + 1; j < N; ++j) A[i * N + j] -= factor * A[k * N + j];
            }
        }
    };

    if constexpr (written_out<N>()) for_constants<N>(column);
    else {
        UNROLL_BY(1)
        for (int k = 0; k < N; ++k) column(k);
    }
}

// b becomes A^-1 b. A: as factorise leaves it
template <int N, class R> POINT_FN void solve(const R *A, R *b) {
    if constexpr (written_out<N>()) {
        R x[N];
        UNROLL
        for (int i = 0; i < N; ++i) x[i] = b[i];

        for_constants<N>([&](auto k) INLINED {
            UNROLL
            for (int i = k + 1; i < N; ++i) x[i] -= A[i * N + k] * x[k];
        });

        for_constants<N>([&](auto from_last) INLINED {
            constexpr int k = N - 1 - from_last.value;
            x[k] = x[k] * A[k * N + k];
            UNROLL
            for (int i = 0; i < k; ++i) x[i] -= A[i * N + k] * x[k];
        });

        UNROLL
        for (int i = 0; i < N; ++i) b[i] = x[i];
    } else {
        UNROLL_BY(1)
        for (int k = 0; k < N; ++k) {
            UNROLL_BY(1)
            for (int i = k + 1; i < N; ++i) b[i] -= A[i * N + k] * b[k];
        }

        UNROLL_BY(1)
        for (int k = N - 1; k >= 0; --k) {
            b[k] = b[k] * A[k * N + k];
            UNROLL_BY(1)
            for (int i = 0; i < k; ++i) b[i] -= A[i * N + k] * b[k];
        }
    }
}

template <bool PRESSURE, class M, class R> struct DenseSystem {
    static constexpr int N = M::NS + 1;

    Room<R, N * N> A; // d - J, then its factors

    POINT_FN DenseSystem(const M &) {}

    // f = dz/dt at z, and the factors of d - J there
    PART_FN void prepare(const M &m, const R *z, const R d, R *f) {
        constexpr int NS = M::NS;
        const R *const x = z;
        R w[NS];
        JacobianEnds<PRESSURE, M, R> ends;

        // Rows of the species: production.
        reactor_jacobian(m, z[NS], x, w, f, ends, [&](int i, const auto &in_x, const R in_T) INLINED {
            FOR_SPECIES (k, NS) A[i * N + k] = -in_x(k);
            A[i * N + NS] = -in_T;
        });

        // The row of T.
        FOR_UNKNOWNS(j, N) A[NS * N + j] = -ends.T[j];

        // At constant pressure the cubic metre shrinks by theta.
        if constexpr (PRESSURE) {
            FOR_SPECIES (i, NS) {
                FOR_UNKNOWNS(j, N) A[i * N + j] -= x[i] * ends.theta[j];
                A[i * N + i] -= ends.c.theta;
            }
        }

        UNROLL_IF(written_out<N>())
        for (int i = 0; i < N; ++i) A[i * N + i] += d;

        factorise<N, R>(A);
    }

    PART_FN void solve(const M &, R *b) const { ::solve<N, R>(A, b); }
};

// ---- sparse

// The unknowns are K_k/W_k, then the quantities that couple all species, each with a row of its own:
//   SUM     the sum of the K_k/W_k, with which third bodies change
//   P       the change of p, if rates depend on p
//   OF_B..  sums on which ln gamma depends
//   AT_T    the change of T
//   THETA   at constant pressure the change of theta
//
// With d K - w_x K - w_T K_T - x theta' = b the rows of energy and pressure take w_x K from the rows of the species, so
// that neither needs a product with w_x:
//   sum (U_k (d - theta) + h_k) K_k + (U_T d + h_T) K_T - (T p_T + sum U_k x_k) theta' = U_T b_T + sum U_k b_k,
//   sum (p_k (d - theta) + g_k) K_k + (p_T d + g_T) K_T = p_T b_T + sum p_k b_k;
// h and g are the changes of U and p along f at constant w and theta. All rows are rows of J - d.
//
// Species are eliminated in the order of a table, which lists the rows and columns that are left in each elimination.
// The coupling quantities come last.

// Whether the system is sparse. ln gamma depends on a few sums only where the attraction of two species is a product.
template <class M> POINT_FN constexpr bool sparse() {
    if constexpr (!with_gamma<M>()) return M::RATE_ELIMINATED > 0;
    else if constexpr (M::kinetics_fugacity || M::by_pairs || M::deltas_by_species) return false;
    else return M::RATE_ELIMINATED > 0 && M::kij_none;
}

template <bool PRESSURE, class M, class R> struct SparseSystem {
    static constexpr bool pressed = M::RATES_PRESSED;
    static constexpr bool real = with_gamma<M>();

    // Places of the unknowns.
    static constexpr int NS = M::NS;
    static constexpr int SUM = NS;
    static constexpr int P = NS + 1;
    static constexpr int OF_B = SUM + 1 + pressed;
    static constexpr int OF_S = OF_B + 1;
    static constexpr int OF_C = OF_S + 1;
    static constexpr int AT_T = OF_B + (real ? 2 + M::translated : 0);
    static constexpr int THETA = AT_T + 1;
    static constexpr int N = AT_T + 1 + PRESSURE;

    Slopes<M, R, N> o; // o.J is the matrix; in the end it holds the factors of the coupling quantities
    Room<R, M::RATE_ELIMINATED - 3 * NS + 2 * NS *(N - NS)>
        factors; // by species: 1/pivot, its row, its column's factors
    PartialSlopes<M, R> s;

    // The table of the elimination. A CPU keeps it as integers, since it reads them often.
#ifdef ON_DEVICE
    const scalar *table;
    POINT_FN SparseSystem(const M &m) : table(m.reaction_elimination) {}
    POINT_FN int listed(const int i) const { return whole_number(table[i]); }
#else
    int table[M::RATE_ELIMINATED];
    POINT_FN SparseSystem(const M &m) {
        for (int i = 0; i < M::RATE_ELIMINATED; ++i) table[i] = whole_number(m.reaction_elimination[i]);
    }
    POINT_FN int listed(const int i) const { return table[i]; }
#endif

    // An elimination: its species; how many rows and columns are left; where the table lists them.
    struct Lists {
        int pivot, rows, columns, row, column;
    };

    POINT_FN Lists lists(const int k) const {
        const int at = listed(k);
        const int rows = listed(at + 1);
        return {listed(at), rows, listed(at + 2), at + 3, at + 3 + rows};
    }

    // use(i) of each species of a list, then of each coupling quantity
    template <class Use> POINT_FN void each(const int from, const int count, const Use &use) const {
        UNROLL_BY(1)
        for (int n = 0; n < count; ++n) use(listed(from + n));

        UNROLL
        for (int i = NS; i < N; ++i) use(i);
    }

    // f = dz/dt at z, and the factors of J - d there. One function, as `step` is (integration.h)
    PART_FN void prepare(const M &m, const R *z, const R d, R *f) {
        R *const A = o.J;

        // Zeros where the reactions, or the elimination, write.
        UNROLL_BY(1)
        for (int k = 0; k < NS; ++k) {
            const Lists l = lists(k);
            A[l.pivot * N + l.pivot] = R(0.0);
            each(l.row, l.rows, [&](int i) INLINED { A[i * N + l.pivot] = R(0.0); });
            each(l.column, l.columns, [&](int j) INLINED { A[l.pivot * N + j] = R(0.0); });
        }

        // The state, and the slopes of the rates: J of the species.
        const R T = z[NS];
        Partial<M, R> state;
        partial_state<true>(m, T, z, state);
        partial_slopes(m, z, state, s);
        {
            Reacting<M, R> reacting;
            R ln_gamma[real ? NS : 1], ln_gamma_T[real ? NS : 1];
            reaction_slopes(m, T, z, state, s, reacting, ln_gamma, ln_gamma_T, o);
        }
        collider_slopes(m, o, [&](int i, int k, const R slope) INLINED { A[i * N + k] += slope; });

        // f, and the changes of the slopes of U and p along it.
        R w[NS];
        FOR_SPECIES (k, NS) w[k] = m.W[k] * o.w[k];
        PartialSlopes<M, Dual<R>> along;
        const Changes<R> c = change_along<PRESSURE>(m, T, z, s, w, f, along);
        const R grown = d - c.theta;

        // The rows and columns of the coupling quantities.
        const R inv_p = 1.0 / s.p;
        R of_theta = T * s.p_T;
        for (int i = NS; i < N; ++i)
            for (int j = NS; j < N; ++j) A[i * N + j] = R(0.0);

        FOR_SPECIES (k, NS) {
            R *const row = A + k * N, energy = along.U_x[k].d[0] - s.p_x[k] * c.theta + s.U_x[k] * grown;
            row[k] -= grown;
            row[SUM] = o.common[k];
            row[AT_T] = o.T[k];
            if constexpr (pressed) row[P] = o.p[k] * inv_p, A[P * N + k] = s.p_x[k] * m.W[k];
            A[SUM * N + k] = R(1.0);
            A[AT_T * N + k] = energy * m.W[k];
            if constexpr (PRESSURE) {
                of_theta += s.U_x[k] * z[k];
                row[THETA] = z[k] * m.inv_W[k];
                A[THETA * N + k] = (along.p_x[k].d[0] + s.p_x[k] * (c.theta + grown)) * m.W[k];
            }
        }

        // Rows and columns of the sums on which ln gamma depends.
        if constexpr (real) {
            const R zero = R(0.0), one = R(1.0);

            // The sum at place `at`: sum weight(k) K_k; ln gamma_k changes by activity_along of the other arguments.
            const auto sum = [&](const int at, const R of_R, const R of_b, const R of_c, const R of_S,
                                 const auto &weight) {
                R slope[NS];
                FOR_SPECIES (k, NS) {
                    slope[k] = activity_along(m, state, k, of_R, of_b, of_c, of_S);
                    if (at > SUM) A[at * N + k] = weight(k) * m.W[k];
                }

                FOR_SPECIES (i, NS) {
                    R all = at > SUM ? zero : A[i * N + SUM];
                    FOR_SPECIES (k, NS) all += o.G[i * NS + k] * slope[k];
                    A[i * N + at] = all;
                }

                if (at > SUM) A[at * N + at] = -one;
            };

            sum(SUM, R(R_UNIVERSAL), zero, zero, zero, [&](int) { return zero; });
            sum(OF_B, zero, one, zero, zero, [&](int k) { return zero + m.b_mass[k]; });
            sum(OF_S, zero, zero, zero, one, [&](int k) { return state.S[k]; });
            if constexpr (M::translated) sum(OF_C, zero, zero, one, zero, [&](int k) { return zero + shift_of(m, k); });
        }

        A[SUM * N + SUM] = R(-1.0);
        if constexpr (pressed) A[P * N + P] = R(-1.0), A[P * N + AT_T] = s.p_T;
        A[AT_T * N + AT_T] = along.U_T.d[0] - (PRESSURE ? (s.p_T + s.U_T) * c.theta : R(0.0)) + s.U_T * d;
        if constexpr (PRESSURE) {
            A[AT_T * N + THETA] = -of_theta;
            A[THETA * N + AT_T] = along.p_T.d[0] + s.p_T * d;
        }

        // Each species, in the order of the table, off the rows that are left.
        R *next = factors;

        UNROLL_BY(1)
        for (int k = 0; k < NS; ++k) {
            const Lists l = lists(k);
            R *const pivot = A + l.pivot * N, *const upper = next, inverse = 1.0 / pivot[l.pivot];
            *next++ = inverse;
            each(l.column, l.columns, [&](int j) INLINED { *next++ = pivot[j]; });

            // Rows of species, four at a time: each number of the pivot's row is then read once for four.
            int n = 0;
            UNROLL_BY(1)
            for (; n + 4 <= l.rows; n += 4) {
                const int four[] = {listed(l.row + n), listed(l.row + n + 1), listed(l.row + n + 2),
                                    listed(l.row + n + 3)};
                eliminate<4>(l, upper, four, inverse, next);
            }
            UNROLL_BY(1)
            for (; n < l.rows; ++n) {
                const int single[] = {listed(l.row + n)};
                eliminate<1>(l, upper, single, inverse, next);
            }

            // Rows of the coupling quantities.
            int coupling[N - NS];
            UNROLL
            for (int i = NS; i < N; ++i) coupling[i - NS] = i;
            eliminate<N - NS>(l, upper, coupling, inverse, next);
        }

        // LU of the square that is left.
        UNROLL
        for (int k = NS; k < N; ++k) {
            const R inverse = 1.0 / A[k * N + k];
            A[k * N + k] = inverse;
            UNROLL
            for (int i = k + 1; i < N; ++i) {
                const R factor = A[i * N + k] * inverse;
                A[i * N + k] = factor;
                UNROLL
                for (int j = k + 1; j < N; ++j) A[i * N + j] -= factor * A[k * N + j];
            }
        }
    }

    // Takes the pivot's row, times a factor, off COUNT rows. next: where the factors are kept
    template <int COUNT>
    POINT_FN void eliminate(const Lists &l, const R *upper, const int *rows, const R inverse, R *&next) {
        R factor[COUNT], *row[COUNT];
        UNROLL
        for (int i = 0; i < COUNT; ++i) {
            row[i] = o.J + rows[i] * N;
            factor[i] = row[i][l.pivot] * inverse;
            *next++ = factor[i];
        }

        each(l.column, l.columns, [&](int j) INLINED {
            const R known = *++upper;
            UNROLL
            for (int i = 0; i < COUNT; ++i) row[i][j] -= factor[i] * known;
        });
    }

    // b becomes K.
    PART_FN void solve(const M &m, R *b) const {
        const R *const A = o.J;

        // The right-hand sides: -b in moles, the energy, the pressure.
        R v[N], energy = s.U_T * b[NS], work = s.p_T * b[NS];
        FOR_SPECIES (k, NS) {
            energy += s.U_x[k] * b[k];
            if constexpr (PRESSURE) work += s.p_x[k] * b[k];
            v[k] = -(b[k] * m.inv_W[k]);
        }
        for (int i = NS; i < N; ++i) v[i] = R(0.0);
        v[AT_T] = energy;
        if constexpr (PRESSURE) v[THETA] = work;

        // Forward: species, then the coupling quantities.
        const R *next = factors;
        UNROLL_BY(1)
        for (int k = 0; k < NS; ++k) {
            const Lists l = lists(k);
            const R known = v[l.pivot];
            next += 1 + l.columns + (N - NS);
            each(l.row, l.rows, [&](int i) INLINED { v[i] -= *next++ * known; });
        }
        UNROLL
        for (int k = NS; k < N; ++k) {
            UNROLL
            for (int i = k + 1; i < N; ++i) v[i] -= A[i * N + k] * v[k];
        }

        // Back: the coupling quantities, then species from the last to the first.
        UNROLL
        for (int k = N - 1; k >= NS; --k) {
            UNROLL
            for (int j = k + 1; j < N; ++j) v[k] -= A[k * N + j] * v[j];
            v[k] = v[k] * A[k * N + k];
        }
        UNROLL_BY(1)
        for (int k = NS - 1; k >= 0; --k) {
            const Lists l = lists(k);
            next -= 1 + l.columns + l.rows + 2 * (N - NS);
            const R *const upper = next + 1 + l.columns;
            R sum = v[l.pivot];
            UNROLL
            for (int j = NS; j < N; ++j) sum -= upper[j - NS] * v[j];
            UNROLL_BY(1)
            for (int n = 0; n < l.columns; ++n) sum -= next[1 + n] * v[listed(l.column + n)];
            v[l.pivot] = sum * next[0];
        }

        FOR_SPECIES (k, NS) b[k] = v[k] * m.W[k];
        b[NS] = v[AT_T];
    }
};

template <bool SPARSE, bool PRESSURE, class M, class R> struct SystemOf {
    typedef DenseSystem<PRESSURE, M, R> type;
};

template <bool PRESSURE, class M, class R> struct SystemOf<true, PRESSURE, M, R> {
    typedef SparseSystem<PRESSURE, M, R> type;
};
