// The balance of elements, written in components. Components are as many species as there are balances; the formula of
// every species k is a sum of those of the components, nu_kc. With the most abundant species as components the sums
//   H_cd = sum_k n_k nu_kc nu_kd
// are nearly diagonal, however scarce some of the components are: a scarce component is in scarce species only. The
// Newton step then has as many digits for a trace of 1e-30 as for a main species (Smith & Missen 1982, Chemical
// Reaction Equilibrium Analysis: "optimised basis"; original not seen).
#pragma once
#include "gas/equations/inversion.h"

template <class M, class R> struct Components {
    static constexpr int N = M::EQUILIBRIUM_COMPONENTS;

    R nu[M::NS * N]; // nu_kc
    R pi[N];         // potentials of the components over RT, as far as the iteration knows them
    R b[N];          // amounts that the mixture was made of
};

template <int N> POINT_FN constexpr int below(const int i, const int j) { return i * (i + 1) / 2 + j; }

// Components as Python chose them
template <class M, class R> POINT_FN void first_components(const M &m, Components<M, R> &o) {
    constexpr int N = Components<M, R>::N;
    FOR_SPECIES (i, M::NS * N) o.nu[i] = R(m.equilibrium_formulas[i]);
    UNROLL
    for (int c = 0; c < N; ++c) o.pi[c] = R(0.0);
}

// The amounts b that the mixture n_0 was made of; exactly 0 for a component that no species of n_0 contains
template <class M, class R>
POINT_FN void amounts_of(const M &, const R *n_0, const MaskOf<R> where, Components<M, R> &o) {
    constexpr int N = Components<M, R>::N;
    R b[N];
    UNROLL
    for (int c = 0; c < N; ++c) b[c] = R(0.0);
    FOR_SPECIES (k, M::NS) {
        UNROLL
        for (int c = 0; c < N; ++c) b[c] += n_0[k] * o.nu[k * N + c];
    }
    UNROLL
    for (int c = 0; c < N; ++c) o.b[c] = select(where, b[c], o.b[c]);
}

// A species that takes the place of a component. At points without an exchange `leaves` is 0 everywhere.
template <class M, class R> struct Exchange {
    static constexpr int N = M::EQUILIBRIUM_COMPONENTS;

    R enters[N]; // nu of the species
    R leaves[N]; // 1/enters[c] at the component c that gives way, 0 elsewhere
    R cost;      // potential of the species, less that of its components
};

// x, written in components, after an exchange. Returns the amount of the species that entered.
template <class M, class R> POINT_FN R exchanged(const M &, const Exchange<M, R> &e, R *x) {
    constexpr int N = Exchange<M, R>::N;
    R share = R(0.0);
    UNROLL
    for (int d = 0; d < N; ++d) share += e.leaves[d] * x[d];
    UNROLL
    for (int d = 0; d < N; ++d) {
        const R own = select(fabs(e.leaves[d]) > 0.0, R(1.0), R(0.0));
        x[d] -= (e.enters[d] - own) * share;
    }
    return share;
}

// The same for all formulas and potentials; each(k, share) sees the species k
template <class M, class R, class Each>
POINT_FN void take_place(const M &m, const Exchange<M, R> &e, Components<M, R> &o, const Each &each) {
    constexpr int N = Components<M, R>::N;
    constexpr double none = 1e-9; // smaller |nu| is a 0 that was rounded: formulas have small whole numbers
    R potential = e.cost;
    UNROLL
    for (int d = 0; d < N; ++d) potential += e.enters[d] * o.pi[d];
    UNROLL
    for (int d = 0; d < N; ++d) o.pi[d] = select(fabs(e.leaves[d]) > 0.0, potential, o.pi[d]);

    FOR_SPECIES (k, M::NS) {
        R row[N];
        UNROLL
        for (int d = 0; d < N; ++d) row[d] = o.nu[k * N + d];
        const R share = exchanged(m, e, row);
        UNROLL
        for (int d = 0; d < N; ++d) o.nu[k * N + d] = select(fabs(row[d]) < none, R(0.0), row[d]);
        each(k, share);
    }
}

// Component c gives way to the species with the largest n_k nu_kc^2, which may be itself
template <class M, class R>
POINT_FN void exchange(const M &m, const R *n, const MaskOf<R> where, const int c, Components<M, R> &o) {
    constexpr int N = Components<M, R>::N;
    Exchange<M, R> e;
    R most = R(0.0);
    UNROLL
    for (int d = 0; d < N; ++d) e.enters[d] = R(0.0);
    FOR_SPECIES (k, M::NS) {
        const R own = o.nu[k * N + c];
        const R size = n[k] * own * own;
        const auto more = where && size > most;
        most = select(more, size, most);
        UNROLL
        for (int d = 0; d < N; ++d) e.enters[d] = select(more, o.nu[k * N + d], e.enters[d]);
    }

    e.cost = R(0.0);
    UNROLL
    for (int d = 0; d < N; ++d)
        e.leaves[d] = d == c ? select(most > 0.0, R(1.0 / select(most > 0.0, e.enters[d], R(1.0))), R(0.0)) : R(0.0);
    take_place(m, e, o, [](int, R) INLINED {});
}

// All components give way to the most abundant species that can take their places
template <class M, class R>
PART_FN void choose_components(const M &m, const R *n, const R *n_0, const MaskOf<R> where, Components<M, R> &o) {
    UNROLL_BY(1)
    for (int c = 0; c < Components<M, R>::N; ++c) exchange(m, n, where, c, o);
    amounts_of(m, n_0, where, o);
}

// ---- systems with the matrix H
template <class M, class R> struct BalanceMatrix {
    static constexpr int N = M::EQUILIBRIUM_COMPONENTS;

    R lower[N * (N + 1) / 2]; // of L D L^T, below the diagonal
    R inverse[N];             // 1/D
};

// H and its factors. Where a pivot is small beside its diagonal, components are badly chosen: `poor`.
template <class M, class R>
POINT_FN void factorise_balance(const M &, const R *n, const Components<M, R> &o, BalanceMatrix<M, R> &h,
                                MaskOf<R> &poor) {
    constexpr int N = Components<M, R>::N;
    constexpr double bad = 1e-4, singular = 1e-13;
    R H[N * (N + 1) / 2];
    UNROLL
    for (int i = 0; i < N * (N + 1) / 2; ++i) H[i] = R(0.0);
    FOR_SPECIES (k, M::NS) {
        UNROLL
        for (int c = 0; c < N; ++c) {
            const R weighted = n[k] * o.nu[k * N + c];
            UNROLL
            for (int d = 0; d <= c; ++d) H[below<N>(c, d)] += weighted * o.nu[k * N + d];
        }
    }

    poor = nowhere<R>();
    UNROLL
    for (int c = 0; c < N; ++c) {
        const R diagonal = H[below<N>(c, c)];
        R pivot = diagonal;
        R scaled[N];
        UNROLL
        for (int d = 0; d < c; ++d) {
            R sum = H[below<N>(c, d)];
            UNROLL
            for (int e = 0; e < d; ++e) sum -= scaled[e] * h.lower[below<N>(d, e)];
            scaled[d] = sum;
            const R factor = sum * h.inverse[d];
            h.lower[below<N>(c, d)] = factor;
            pivot -= factor * sum;
        }
        const auto there = diagonal > 0.0; // else no species of the point has this component
        poor = poor || (there && pivot < bad * diagonal);
        h.inverse[c] = 1.0 / select(there, larger(pivot, singular * diagonal), R(1.0));
    }
}

template <class M, class R> POINT_FN void solve_balance(const M &, const BalanceMatrix<M, R> &h, R *x) {
    constexpr int N = BalanceMatrix<M, R>::N;
    UNROLL
    for (int c = 0; c < N; ++c) {
        UNROLL
        for (int d = 0; d < c; ++d) x[c] -= h.lower[below<N>(c, d)] * x[d];
    }
    UNROLL
    for (int c = 0; c < N; ++c) x[c] = x[c] * h.inverse[c];
    UNROLL
    for (int c = N - 1; c >= 0; --c) {
        UNROLL
        for (int d = c + 1; d < N; ++d) x[c] -= h.lower[below<N>(d, c)] * x[d];
    }
}
