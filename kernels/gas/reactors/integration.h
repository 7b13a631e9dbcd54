// A reactor over a step, by Rodas4: six stages, order 4 with an error of order 3, L-stable, one LU a step (Hairer
// & Wanner 1996; coefficients as the Kinetic PreProcessor has them). Every point has its own step h:
//   (4/h - J) K_i = f(z + sum a_ij K_j) + sum c_ij K_j/h,  z1 = z + sum m_j K_j,  error K_6.
// The last stage's state is z1 without K_6.
#pragma once
#include "gas/reactors/closed_reactor.h"

constexpr double REACT_COLDEST = 20.0; // K; rates below 200 K are those at 200 K (rates.h)
constexpr double LEAST_FRACTION = -1e-8;
enum { REACTED, TOO_MANY_STEPS, STEP_TOO_SMALL, LEFT_RANGE = 4, INPUT_OUT_OF_RANGE };

// LU in place without pivoting, 1/u on the diagonal. 4/h on the diagonal dominates where h is small: a pivot that is
// none gives numbers that are none, and the step is rejected. Few unknowns are written out: the right-hand side then
// stays in registers, and on a GPU the matrix.
template <int N> constexpr bool written_out() { return N <= 16 && SPECIES_ARRAYS; }
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

// The linear systems (d - J) K = b of a step. Dense:
template <bool PRESSURE, class M, class R> struct DenseSystem {
    static constexpr int N = M::NS + 1;
    Room<R, N * N> A;
    POINT_FN DenseSystem(const M &) {}
    PART_FN void prepare(const M &m, const R *z, const R d, R *f) {
        constexpr int NS = M::NS;
        const R *const x = z;
        R w[NS];
        JacobianEnds<PRESSURE, M, R> ends;
        reactor_jacobian(m, z[NS], x, w, f, ends, [&](int i, const auto &in_x, const R in_T) INLINED {
            FOR_SPECIES (k, NS) A[i * N + k] = -in_x(k);
            A[i * N + NS] = -in_T;
        });
        FOR_UNKNOWNS(j, N) A[NS * N + j] = -ends.T[j];
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

// Sparse. Unknowns are K_k/W_k, then what couples all species, each of which is an unknown with a row of its own: the
// sum of the K_k/W_k, by which third bodies move; the change of p, where rates go with it; sums that ln gamma goes
// with; the change of T; at constant pressure that of theta. With d K - w_x K - w_T K_T - x theta' = b the rows of
// energy and pressure take w_x K from the others, so that both need no product with w_x:
//   sum (U_k (d - theta) + h_k) K_k + (U_T d + h_T) K_T - (T p_T + sum U_k x_k) theta' = U_T b_T + sum U_k b_k,
//   sum (p_k (d - theta) + g_k) K_k + (p_T d + g_T) K_T = p_T b_T + sum p_k b_k;
// h and g are what moves at constant w and theta. Species are eliminated in the order of a table, which has the rows
// and columns that are left in each; what couples all comes last. All rows are those of J - d. ln gamma goes with a few
// sums only where the attraction of two species is a product.
template <class M> POINT_FN constexpr bool sparse() {
    if constexpr (!with_gamma<M>()) return M::RATE_ELIMINATED > 0;
    else if constexpr (M::kinetics_fugacity || M::by_pairs || M::deltas_by_species) return false;
    else return M::RATE_ELIMINATED > 0 && M::kij_none;
}

template <bool PRESSURE, class M, class R> struct SparseSystem {
    static constexpr int NS = M::NS;
    static constexpr int SUM = NS;
    static constexpr int P = NS + 1;
    static constexpr bool pressed = M::RATES_PRESSED;
    static constexpr bool real = with_gamma<M>();
    static constexpr int OF_B = SUM + 1 + pressed;
    static constexpr int OF_S = OF_B + 1;
    static constexpr int OF_C = OF_S + 1; // sums that ln gamma goes with
    static constexpr int AT_T = OF_B + (real ? 2 + M::translated : 0);
    static constexpr int THETA = AT_T + 1;
    static constexpr int N = AT_T + 1 + PRESSURE;
    Slopes<M, R, N> o; // whose J is the matrix
    // its factors by species: 1/pivot, the pivot's row, the column's factors; those of what couples all stay in J
    Room<R, M::RATE_ELIMINATED - 3 * NS + 2 * NS *(N - NS)> factors;
    PartialSlopes<M, R> s;
#ifdef ON_DEVICE
    const scalar *table;
    POINT_FN SparseSystem(const M &m) : table(m.reaction_elimination) {}
    POINT_FN int listed(const int i) const { return whole_number(table[i]); }
#else
    int table[M::RATE_ELIMINATED]; // numbers, which are read often
    POINT_FN SparseSystem(const M &m) {
        for (int i = 0; i < M::RATE_ELIMINATED; ++i) table[i] = whole_number(m.reaction_elimination[i]);
    }
    POINT_FN int listed(const int i) const { return table[i]; }
#endif
    struct Lists {
        int pivot, rows, columns, row, column;
    };
    POINT_FN Lists lists(const int k) const {
        const int at = listed(k);
        const int rows = listed(at + 1);
        return {listed(at), rows, listed(at + 2), at + 3, at + 3 + rows};
    }

    // use(i) of a list's species, and of what couples all
    template <class Use> POINT_FN void each(const int from, const int count, const Use &use) const {
        UNROLL_BY(1)
        for (int n = 0; n < count; ++n) use(listed(from + n));
        UNROLL
        for (int i = NS; i < N; ++i) use(i);
    }

    PART_FN void prepare(const M &m, const R *z, const R d, R *f) {
        R *const A = o.J;
        UNROLL_BY(1)
        for (int k = 0; k < NS; ++k) {
            const Lists l = lists(k);
            A[l.pivot * N + l.pivot] = R(0.0);
            each(l.row, l.rows, [&](int i) INLINED { A[i * N + l.pivot] = R(0.0); });
            each(l.column, l.columns, [&](int j) INLINED { A[l.pivot * N + j] = R(0.0); });
        }
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
        R w[NS];
        FOR_SPECIES (k, NS) w[k] = m.W[k] * o.w[k];
        PartialSlopes<M, Dual<R>> along;
        const Changes<R> c = change_along<PRESSURE>(m, T, z, s, w, f, along);
        const R grown = d - c.theta;
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
        if constexpr (real) {
            const R none = R(0.0), one = R(1.0);
            const auto sum = [&](const int at, const R of_R, const R of_b, const R of_c, const R of_S,
                                 const auto &weight) {
                R moves[NS];
                FOR_SPECIES (k, NS) {
                    moves[k] = activity_along(m, state, k, of_R, of_b, of_c, of_S);
                    if (at > SUM) A[at * N + k] = weight(k) * m.W[k];
                }
                FOR_SPECIES (i, NS) {
                    R all = at > SUM ? none : A[i * N + SUM];
                    FOR_SPECIES (k, NS) all += o.G[i * NS + k] * moves[k];
                    A[i * N + at] = all;
                }
                if (at > SUM) A[at * N + at] = -one;
            };
            sum(SUM, R(R_UNIVERSAL), none, none, none, [&](int) { return none; });
            sum(OF_B, none, one, none, none, [&](int k) { return none + m.b_mass[k]; });
            sum(OF_S, none, none, none, one, [&](int k) { return state.S[k]; });
            if constexpr (M::translated) sum(OF_C, none, none, one, none, [&](int k) { return none + shift_of(m, k); });
        }
        A[SUM * N + SUM] = R(-1.0);
        if constexpr (pressed) A[P * N + P] = R(-1.0), A[P * N + AT_T] = s.p_T;
        A[AT_T * N + AT_T] = along.U_T.d[0] - (PRESSURE ? (s.p_T + s.U_T) * c.theta : R(0.0)) + s.U_T * d;
        if constexpr (PRESSURE) {
            A[AT_T * N + THETA] = -of_theta;
            A[THETA * N + AT_T] = along.p_T.d[0] + s.p_T * d;
        }
        R *next = factors;
        UNROLL_BY(1)
        for (int k = 0; k < NS; ++k) {
            const Lists l = lists(k);
            R *const pivot = A + l.pivot * N, *const upper = next, inverse = 1.0 / pivot[l.pivot];
            *next++ = inverse;
            each(l.column, l.columns, [&](int j) INLINED { *next++ = pivot[j]; });
            int n = 0;
            UNROLL_BY(1)
            for (; n + 4 <= l.rows; n += 4) {
                const int four[] = {listed(l.row + n), listed(l.row + n + 1), listed(l.row + n + 2),
                                    listed(l.row + n + 3)};
                eliminate<4>(l, upper, four, inverse, next);
            }
            UNROLL_BY(1)
            for (; n < l.rows; ++n) {
                const int one[] = {listed(l.row + n)};
                eliminate<1>(l, upper, one, inverse, next);
            }
            int last[N - NS];
            UNROLL
            for (int i = NS; i < N; ++i) last[i - NS] = i;
            eliminate<N - NS>(l, upper, last, inverse, next);
        }
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

    // the pivot's row times a factor off COUNT rows
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
    PART_FN void solve(const M &m, R *b) const {
        const R *const A = o.J;
        R v[N], energy = s.U_T * b[NS], work = s.p_T * b[NS];
        FOR_SPECIES (k, NS) {
            energy += s.U_x[k] * b[k];
            if constexpr (PRESSURE) work += s.p_x[k] * b[k];
            v[k] = -(b[k] * m.inv_W[k]);
        }
        for (int i = NS; i < N; ++i) v[i] = R(0.0);
        v[AT_T] = energy;
        if constexpr (PRESSURE) v[THETA] = work;
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

template <class M, class R, class Species> POINT_FN R density_of(const M &m, const R T, const R p, const Species &Y) {
    R W, R_s;
    molar_mass(m, Y, W, R_s);
    return density_of_root(m, T, p, Y, R_s);
}

// (1/dt - J)^-1 f
template <class M, class R, class Species, class Out>
POINT_FN void volume_implicit(const M &m, const R T, const R rho, const Species &Y, const R dt, Out &implicit_cv) {
    constexpr int N = M::NS + 1;
    R z[N], f[N];
    FOR_SPECIES (k, M::NS) z[k] = rho * Y[k];
    z[M::NS] = T;
    typename SystemOf<sparse<M>(), false, M, R>::type system(m);
    system.prepare(m, z, R(1.0 / dt), f);
    system.solve(m, f);
    for (int i = 0; i < N; ++i) implicit_cv.set(i, f[i]);
}

// The same constants, at an address that a GPU's compiler takes for another: it would read them ahead of the loop over
// steps, and keep hundreds of them in local memory.
template <class M> POINT_FN const M &afresh(const M &m) {
#ifdef ON_DEVICE
    long none = 0;
    asm volatile("" : "+l"(none));
    return *(const M *)((const char *)&m + none);
#else
    return m;
#endif
}

// A point on its way through its time. begin, then step while it is active; end has its results. steps: those taken.
template <bool PRESSURE, class M, class R> struct Integration {
    static constexpr int NS = M::NS;
    static constexpr int N = NS + 1;
    static constexpr int STAGES = 6;
    typedef decltype(R(0.0) < R(0.0)) Flag;
    typename SystemOf<sparse<M>(), PRESSURE, M, R>::type system;
    R z[owned(N)]; // partial densities and T; where the status is not 0, what was reached
    R t, h, unit_before, dt, atol, steps, status; // unit_before: of the last step where that was taken, else 0
    Flag active;
    POINT_FN Integration(const M &m) : system(m) {}

    PART_FN static void changes(const M &constants, const R *at, R *into) {
        const M &m = afresh(constants);
        const Changes<R> by = reactor<PRESSURE>(m, of_owner(at, NS), at, into);
        if constexpr (PRESSURE) {
            FOR_OWN (k, NS) into[own(k)] += at[own(k)] * by.theta;
        }
        if (owns(NS)) into[own(NS)] = by.T;
    }

    template <class Fractions>
    POINT_FN void begin(const M &m, const R T, const R p, const Fractions &Y, const R dt_given) {
        const R rho = density_of(m, T, p, Y);
        FOR_OWN (k, NS) z[own(k)] = rho * Y[k];
        if (owns(NS)) z[own(NS)] = T;
        begin(m, rho, p > 0.0 && p < 1e300, dt_given);
    }

    // from z; rho: its density
    POINT_FN void begin(const M &m, const R rho, const Flag fit, const R dt_given) {
        dt = dt_given;
        const R T = of_owner(z, NS);
        auto good = fit && T >= REACT_COLDEST && T <= M::T_end && dt >= 0.0 && dt < 1e300;
        good = good && rho > 0.0 && rho < 1e300;
        R wrong = R(0.0);
        FOR_OWN (k, NS) wrong += select(z[own(k)] >= LEAST_FRACTION * rho, R(0.0), R(1.0));
        good = good && summed(wrong) < 0.5;
        const double rtol = m.react_rtol;
        const double atol_T = 10.0 * rtol;
        atol = m.react_atol * rho;
        R f[owned(N)], size = R(0.0);
        t = R(0.0);
        changes(m, z, f);
        FOR_UNKNOWNS(i, N) {
            const R part = f[own(i)] / ((i < NS ? atol : R(atol_T)) + rtol * fabs(z[own(i)]));
            size += part * part;
        }
        size = summed(size);
        h = larger(smaller(R(0.5 / (sqrt(size * (1.0 / N)) + 1e-30)), dt), R(1e-18 * dt));
        active = good && dt > 0.0;
        status = select(good, R(double(REACTED)), R(double(INPUT_OUT_OF_RANGE)));
        steps = unit_before = R(0.0);
        h = select(active, h, R(1e-9));
    }

    POINT_FN void step(const M &m) {
        static constexpr double a[] = {1.544,
                                       0.9466785280815826,
                                       0.2557011698983284,
                                       3.314825187068521,
                                       2.896124015972201,
                                       0.9986419139977817,
                                       1.221224509226641,
                                       6.019134481288629,
                                       12.53708332932087,
                                       -0.6878860361058950,
                                       1.221224509226641,
                                       6.019134481288629,
                                       12.53708332932087,
                                       -0.6878860361058950,
                                       1.0};
        static constexpr double c[] = {-5.6688,
                                       -2.430093356833875,
                                       -0.2063599157091915,
                                       -0.1073529058151375,
                                       -9.594562251023355,
                                       -20.47028614809616,
                                       7.496443313967647,
                                       -10.24680431464352,
                                       -33.99990352819905,
                                       11.70890893206160,
                                       8.083246795921522,
                                       -7.981132988064893,
                                       -31.52159432874371,
                                       16.31930543123136,
                                       -6.058818238834054};
        const double rtol = m.react_rtol;
        const double atol_T = 10.0 * rtol;
        const R until = dt * (1.0 - 1e-12);
        R z1[owned(N)], f[owned(N)], K[STAGES][owned(N)];
        const R inv_h = 1.0 / h;
        system.prepare(afresh(m), z, R(4.0 * inv_h), f);

        // A thread that shares its point has few unknowns: all loads at once; K of the stages to come is 0.
        constexpr bool AT_ONCE = owned(N) < N;
        if constexpr (AT_ONCE) {
            for (int s = 0; s < STAGES; ++s) FOR_UNKNOWNS(i, N) K[s][own(i)] = R(0.0);
        }
        int row = 0; // of a and c
        UNROLL_BY(1)
        for (int s = 0; s < STAGES; ++s) {
            if (s > 0) {
                FOR_UNKNOWNS(i, N) {
                    R sum = z[own(i)];
                    UNROLL_IF(AT_ONCE)
                    for (int j = 0; j < (AT_ONCE ? STAGES - 1 : s); ++j) sum += a[row + j] * K[j][own(i)];
                    z1[own(i)] = sum;
                }
                if (owns(NS)) z1[own(NS)] = at_most(at_least(z1[own(NS)], REACT_COLDEST), M::T_end);
                changes(m, z1, f);
            }
            FOR_UNKNOWNS(i, N) {
                R sum = R(0.0);
                UNROLL_IF(AT_ONCE)
                for (int j = 0; j < (AT_ONCE ? STAGES - 1 : s); ++j) sum += c[row + j] * K[j][own(i)];
                K[s][own(i)] = f[own(i)] + sum * inv_h;
            }
            system.solve(m, K[s]);
            row += s;
        }
        R error = R(0.0);
        FOR_UNKNOWNS(i, N) {
            const R off = K[STAGES - 1][own(i)];
            z1[own(i)] += off;
            const R part = off / ((i < NS ? atol : R(atol_T)) + rtol * larger(fabs(z1[own(i)]), fabs(z[own(i)])));
            error += part * part;
        }
        error = sqrt(summed(error) * (1.0 / N));
        error = select(error < 1e100, at_least(error, 1e-10), R(1e10));
        const auto taken = active && error <= 1.0;
        FOR_UNKNOWNS(i, N) z[own(i)] = select(taken, z1[own(i)], z[own(i)]);
        t = select(taken, t + h, t);
        steps = select(active, steps + 1.0, steps);

        // The step whose error would be 1, and how it moved since the last: it is taken to move on so (Gustafsson's
        // predictive control, in Hairer & Wanner). The first steps are small; 60 times as much is tried after one.
        const R unit = h / sqrt(sqrt(error));
        const R moved = select(taken && unit_before > 0.0, unit / unit_before, R(1.0));
        unit_before = select(taken, unit, R(0.0));
        h = smaller(larger(R(0.9 * unit * at_most(at_least(moved, 0.7), 1.1)), R(0.2 * h)), R(60.0 * h));
        const R T = of_owner(z, NS);
        const auto gone = taken && !(T > REACT_COLDEST && T < M::T_end);
        status = select(gone, R(double(LEFT_RANGE)), status);
        active = active && !gone && t < until;
        const auto stuck = active && !(t + h > t);
        status = select(stuck, R(double(STEP_TOO_SMALL)), status);
        active = active && !stuck;
        h = select(active, smaller(h, dt - t), R(1e-9));
    }

    template <class Fractions> POINT_FN void end(const M &m, R &T, R &p, Fractions &Y) {
        status = select(active, R(double(TOO_MANY_STEPS)), status);
        R sum = R(0.0);
        FOR_OWN (k, NS) sum += z[own(k)];
        sum = summed(sum);
        const R reached = of_owner(z, NS);
        const auto moved = steps > 0.0;
        const auto done = status <= double(REACTED);
        const R inverse = 1.0 / sum;
        const R none = R(NOT_A_NUMBER);
        if constexpr (!PRESSURE) {
            Partial<M, R> state;
            partial_state<false>(m, reached, z, state);
            p = select(moved, partial_pressure(m, state), p);
        }
        T = select(done, select(moved, reached, T), none);
        p = select(done, p, none);
        FOR_OWN (k, NS) Y.set(k, select(done, select(moved, z[own(k)] * inverse, R(Y[k])), none));
    }
};

template <bool PRESSURE, class M, class R, class Fractions>
POINT_FN void react(const M &m, R &T, R &p, Fractions &Y, const R dt, R &status, R &steps) {
    Integration<PRESSURE, M, R> point(m);
    point.begin(m, T, p, Y, dt);
    UNROLL_BY(1)
    for (double step = 0; step < m.react_most && any_of(point.active); step += 1) point.step(m);
    point.end(m, T, p, Y);
    status = point.status;
    steps = point.steps;
}

// The same for a thread of a GPU that takes points from a queue, since its neighbours in the warp need other numbers of
// steps. next() goes to the next point and returns whether there is one. at(use) calls use(T, p, Y, dt, status, steps)
// with the point's values, and writes them if use returns true.
template <bool PRESSURE, class M, class R, class At, class Next>
POINT_FN void react_from_queue(const M &m, const R, const At &at, const Next &next) {
    Integration<PRESSURE, M, R> point(m);
    bool more = next();
    const auto begin = [&](R &T, R &p, const auto &Y, const R dt, R &, R &) {
        point.begin(m, T, p, Y, dt);
        return false;
    };
    const auto end = [&](R &T, R &p, auto &Y, const R, R &status, R &steps) {
        point.end(m, T, p, Y);
        status = point.status;
        steps = point.steps;
        return true;
    };
    bool fresh = true;
    UNROLL_BY(1)
    while (more) {
        if (fresh) at(begin);
        fresh = !(any_of(point.active) && all_of(point.steps < m.react_most));
        if (!fresh) point.step(m);
        else {
            at(end);
            more = next();
        }
    }
}

template <class... A> POINT_FN void react_at_volume(A &&...a) { react<false>(a...); }
template <class... A> POINT_FN void react_at_pressure(A &&...a) { react<true>(a...); }
template <class... A> POINT_FN void react_at_volume_from_queue(A &&...a) { react_from_queue<false>(a...); }
template <class... A> POINT_FN void react_at_pressure_from_queue(A &&...a) { react_from_queue<true>(a...); }
