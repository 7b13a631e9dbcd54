// Where the search for an equilibrium starts. Without the entropy of mixing the least Gibbs energy is a linear program,
//   least sum_k n_k g_k,  sum_k n_k nu_kc = b_c,  n_k >= 0,
// and its solution has as many species as there are components: the main species, nearly always. Their potentials give
// the amounts of all others, ln x_k = sum_c nu_kc pi_c - g_k. (STANJAN and CEQ start so: Reynolds 1986; Pope 2004,
// Combust. Flame 139, 222; originals not seen.) The program is solved by the simplex method: first components that are
// there in negative amounts give way (dual steps), then others to species that cost less (primal steps).
#pragma once
#include "gas/equilibria/components.h"

constexpr double ABSENT_LN = -1e5;   // ln n_k of a species that cannot be
constexpr int START_EXCHANGES = 24;  // of each kind; a point that needs more starts with equal amounts
constexpr double ABSENT_COST = 1e30; // of a species that cannot be
constexpr double GAIN = 1e-6;        // of g: smaller differences are not worth an exchange
constexpr double NO_AMOUNT = 1e-13;  // of a component, beside all: 0 that was rounded, or a trace
constexpr double SCARCE = 1e-3;      // less of a component than this may be there by dissociation

// Species of which an element did not come stay away: ln n_k = ABSENT_LN. The others have ln n_k = 0.
template <class M, class R> POINT_FN void leave_out_elements(const M &m, const R *n_0, R *ln_n) {
    FOR_SPECIES (k, M::NS) ln_n[k] = R(0.0);
    UNROLL_BY(1)
    for (int e = 0; e < M::EQUILIBRIUM_ELEMENTS; ++e) {
        const scalar *atoms = m.equilibrium_atoms + e * M::NS;
        R all = R(0.0);
        FOR_SPECIES (k, M::NS) all += n_0[k] * atoms[k];
        if (everywhere(all > 0.0)) continue;
        FOR_SPECIES (k, M::NS)
            if (atoms[k] > 0) ln_n[k] = select(all > 0.0, ln_n[k], R(ABSENT_LN));
    }
}

// Where none of a component came, and species can only take it up or only give it off, all that do stay away
template <class M, class R> PART_FN void leave_out_components(const M &, const Components<M, R> &o, R *ln_n) {
    constexpr int N = Components<M, R>::N;
    UNROLL_BY(1)
    for (int round = 0; round < N; ++round) {
        UNROLL_BY(1)
        for (int c = 0; c < N; ++c) {
            R positive = R(0.0), negative = R(0.0);
            FOR_SPECIES (k, M::NS) {
                const R there = select(ln_n[k] >= 0.0, o.nu[k * N + c], R(0.0));
                positive = larger(there, positive);
                negative = smaller(there, negative);
            }

            const auto none = fabs(o.b[c]) <= 0.0 && (positive <= 0.0 || negative >= 0.0);
            FOR_SPECIES (k, M::NS) ln_n[k] = select(none && fabs(o.nu[k * N + c]) > 0.0, R(ABSENT_LN), ln_n[k]);
        }
    }
}

// First components with their amounts b_c and potentials, and the reduced costs: g_k less the potentials of its
// components
template <class M, class R>
POINT_FN void priced_components(const M &m, const R *g, const R *ln_n, const R *n_0, Components<M, R> &o, R *cost) {
    constexpr int N = Components<M, R>::N;
    UNROLL
    for (int c = 0; c < N; ++c) {
        o.pi[c] = g[(int)m.equilibrium_first[c]];
        o.b[c] = R(0.0);
    }

    FOR_SPECIES (k, M::NS) {
        R r = g[k];
        UNROLL
        for (int c = 0; c < N; ++c) {
            const R nu = R(m.equilibrium_formulas[k * N + c]);
            r -= nu * o.pi[c];
            o.b[c] += n_0[k] * nu;
            o.nu[k * N + c] = nu;
        }

        cost[k] = select(ln_n[k] < 0.0, R(ABSENT_COST), r);
    }
}

// The species that enters: so far none; species k
template <class M, class R> POINT_FN void nobody(const M &, Exchange<M, R> &e) {
    UNROLL
    for (int d = 0; d < Exchange<M, R>::N; ++d) e.enters[d] = R(0.0);
    e.cost = R(0.0);
}

template <class M, class R>
POINT_FN void offer(const M &, const Components<M, R> &o, const int k, const R cost, const MaskOf<R> better,
                    Exchange<M, R> &e) {
    constexpr int N = Components<M, R>::N;
    e.cost = select(better, cost, e.cost);
    UNROLL
    for (int d = 0; d < N; ++d) e.enters[d] = select(better, o.nu[k * N + d], e.enters[d]);
}

// Dual step: the component with the most negative amount gives way to the species that costs least for its share.
// Whether there is one.
template <class M, class R>
POINT_FN MaskOf<R> dual_exchange(const M &m, const Components<M, R> &o, const R *cost, const MaskOf<R> where,
                                 Exchange<M, R> &e) {
    constexpr int N = Components<M, R>::N;
    R least = R(-NO_AMOUNT);
    R marked[N];
    UNROLL
    for (int c = 0; c < N; ++c) least = smaller(o.b[c], least);
    auto open = where && least < -NO_AMOUNT;
    if (!any_of(open)) return open;

    UNROLL
    for (int c = 0; c < N; ++c) {
        const auto here = open && o.b[c] <= least;
        marked[c] = select(here, R(1.0), R(0.0));
        open = open && !here;
    }

    nobody(m, e);
    R worth = R(1e-2 * ABSENT_COST);
    R pivot = R(0.0);

    FOR_SPECIES (k, M::NS) {
        R share = R(0.0);
        UNROLL
        for (int c = 0; c < N; ++c) share += marked[c] * o.nu[k * N + c];
        const auto takes = share < 0.0;
        const R price = cost[k] / select(takes, -share, R(1.0));
        const auto better = takes && price < worth;
        worth = select(better, price, worth);
        pivot = select(better, share, pivot);
        offer(m, o, k, cost[k], better, e);
    }

    const auto found = pivot < 0.0;
    const R inverse = select(found, R(1.0 / select(found, pivot, R(1.0))), R(0.0));
    UNROLL
    for (int c = 0; c < N; ++c) e.leaves[c] = marked[c] * inverse;
    return found;
}

// Primal step: the species with the lowest reduced cost enters; the component that it uses up first gives way.
// Whether there is one.
template <class M, class R>
POINT_FN MaskOf<R> primal_exchange(const M &m, const Components<M, R> &o, const R *cost, const MaskOf<R> where,
                                   Exchange<M, R> &e) {
    constexpr int N = Components<M, R>::N;
    R worth = R(-GAIN);
    FOR_SPECIES (k, M::NS) worth = smaller(worth, cost[k]);
    auto open = where && worth < -GAIN;
    if (!any_of(open)) return open;
    nobody(m, e);
    FOR_SPECIES (k, M::NS) offer(m, o, k, cost[k], open && cost[k] <= worth, e);

    R least = R(1e300);
    UNROLL
    for (int c = 0; c < N; ++c) {
        const auto used = e.enters[c] > 0.0;
        const R lasts = at_least(o.b[c], 0.0) / select(used, e.enters[c], R(1.0));
        least = select(used, smaller(lasts, least), least);
    }

    open = open && least < 1e299;
    const auto found = open;

    UNROLL
    for (int c = 0; c < N; ++c) {
        const auto used = e.enters[c] > 0.0;
        const R inverse = 1.0 / select(used, e.enters[c], R(1.0));
        const auto here = open && used && at_least(o.b[c], 0.0) * inverse <= least * (1.0 + 1e-14);
        e.leaves[c] = select(here, inverse, R(0.0));
        open = open && !here;
    }

    return found;
}

// Components of the least sum of costs. Whether it was found.
template <class M, class R>
PART_FN MaskOf<R> cheapest_components(const M &m, const R *g, const R *ln_n, const R *n_0, const MaskOf<R> where,
                                      Components<M, R> &o) {
    R cost[M::NS];
    Exchange<M, R> e;
    priced_components(m, g, ln_n, n_0, o, cost);
    auto left = where;
    const auto changed = [&](const int k, const R share) INLINED { cost[k] -= share * e.cost; };

    UNROLL_BY(1)
    for (int count = 0; count < START_EXCHANGES; ++count) {
        left = dual_exchange(m, o, cost, left, e);
        if (!any_of(left)) break;
        exchanged(m, e, o.b);
        take_place(m, e, o, changed);
    }

    auto good = where && !left;

    left = good;
    UNROLL_BY(1)
    for (int count = 0; count < START_EXCHANGES; ++count) {
        left = primal_exchange(m, o, cost, left, e);
        if (!any_of(left)) break;
        exchanged(m, e, o.b);
        take_place(m, e, o, changed);
    }

    good = good && !left;
    amounts_of(m, n_0, !nowhere<R>(), o); // again: of a scarce element exchanges leave rounding only
    UNROLL
    for (int c = 0; c < Components<M, R>::N; ++c) good = good && o.b[c] > -1e-9;
    return good;
}

// ln of the fractions of the components in the mixture of them alone. Less than SCARCE may come from the dissociation
// of the others: as much as balances what takes most of it up, species m with nu_mc < 0 and
//   ln x_m = ln x_c nu_mc - cost_m = ln x_c
template <class M, class R>
POINT_FN void component_fractions(const M &, const R *g, const R *ln_n, const R sum, const Components<M, R> &o,
                                  R *ln_x) {
    constexpr int N = Components<M, R>::N;
    constexpr double least = 1e-9;
    const R inverse = 1.0 / sum;
    UNROLL
    for (int c = 0; c < N; ++c) ln_x[c] = log(at_least(R(o.b[c] * inverse), least));

    UNROLL_BY(1)
    for (int c = 0; c < N; ++c) {
        const R part = o.b[c] * inverse;
        const auto scarce = part < SCARCE;
        if (!any_of(scarce)) continue;

        R there = R(-600.0);
        FOR_SPECIES (k, M::NS) {
            const R own = o.nu[k * N + c];
            R other = o.pi[c] * own - g[k];
            UNROLL
            for (int d = 0; d < N; ++d) other += d == c ? R(0.0) : R(o.nu[k * N + d] * (o.pi[d] + ln_x[d]));
            const auto takes = own < 0.0 && ln_n[k] >= 0.0;
            there = select(takes, larger(there, R(other / (1.0 - smaller(own, R(0.0))))), there);
        }

        there = larger(log(at_least(part, 1e-300)), smaller(there, R(0.0)));
        ln_x[c] = select(scarce, there, ln_x[c]);
    }
}

// ln n_k and the potentials of the components, which are the main species. g: potentials of the species without ln x_k,
// at constant V without ln n_k. ln_n comes with 0 for the species that can be.
template <bool VOLUME, class M, class R>
POINT_FN void start_from_main_species(const M &m, const R *g, R *ln_n, Components<M, R> &o) {
    constexpr int N = Components<M, R>::N;
    R ln_x[N], sum = R(0.0);
    UNROLL
    for (int c = 0; c < N; ++c) sum += at_least(o.b[c], 0.0);
    component_fractions(m, g, ln_n, sum, o, ln_x);

    const R ln_sum = log(sum);
    const R most = VOLUME ? ln_sum : R(0.0);
    const R more = VOLUME ? R(0.0) : ln_sum;
    UNROLL
    for (int c = 0; c < N; ++c) o.pi[c] += ln_x[c] + most;

    FOR_SPECIES (k, M::NS) {
        R ln_of = -g[k];
        UNROLL
        for (int c = 0; c < N; ++c) ln_of += o.nu[k * N + c] * o.pi[c];
        ln_n[k] = select(ln_n[k] >= 0.0, at_least(R(smaller(ln_of, most) + more), -5e3), ln_n[k]);
    }
}

// Whether a component did not come, though species that can be have it; an amount may be a 0 that was rounded
template <class M, class R> POINT_FN MaskOf<R> may_lack(const M &, const R *ln_n, const Components<M, R> &o) {
    constexpr int N = Components<M, R>::N;
    auto lacks = nowhere<R>();

    UNROLL_BY(1)
    for (int c = 0; c < N; ++c) {
        const auto little = fabs(o.b[c]) < NO_AMOUNT;
        if (!any_of(little)) continue;
        R used = R(0.0);
        FOR_SPECIES (k, M::NS) used += select(ln_n[k] >= 0.0, fabs(o.nu[k * N + c]), R(0.0));
        lacks = lacks || (little && used > 0.0);
    }

    return lacks;
}

// Components among the species of the initial state, whose amounts are exact; species that these cannot form stay
// absent. Equal amounts if no main species were found, or if a species was left out.
template <class M, class R>
PART_FN void start_from_equal_amounts(const M &m, const R *n_0, const MaskOf<R> where, MaskOf<R> found, R *ln_n,
                                      Components<M, R> &o) {
    constexpr int N = Components<M, R>::N;
    R n[M::NS], can[M::NS], count = R(0.0);
    FOR_SPECIES (k, M::NS) {
        can[k] = select(ln_n[k] > 0.5 * ABSENT_LN, R(0.0), R(ABSENT_LN));
        n[k] = select(can[k] >= 0.0, at_least(n_0[k], 1e-100), R(0.0));
    }
    Components<M, R> came;
    first_components(m, came);
    choose_components(m, n, n_0, !nowhere<R>(), came);
    leave_out_components(m, came, can);

    FOR_SPECIES (k, M::NS) {
        found = found && !(can[k] < 0.0 && n[k] > 0.0);
        count += select(can[k] >= 0.0, R(1.0), R(0.0));
    }
    const auto equal = where && !found;
    const R ln_each = -log(at_least(count, 1.0));
    FOR_SPECIES (k, M::NS) ln_n[k] = select(equal, select(can[k] >= 0.0, ln_each, R(ABSENT_LN)), ln_n[k]);
    FOR_SPECIES (i, M::NS * N) o.nu[i] = select(equal, came.nu[i], o.nu[i]);
    UNROLL
    for (int c = 0; c < N; ++c) {
        o.b[c] = select(equal, came.b[c], o.b[c]);
        o.pi[c] = select(equal, came.pi[c], o.pi[c]);
    }
}

// ln n_k and components, from potentials g of the species without ln x_k; at constant V without ln n_k
template <bool VOLUME, class M, class R>
POINT_FN void start(const M &m, const R *g, const R *n_0, const MaskOf<R> where, R *ln_n, Components<M, R> &o) {
    leave_out_elements(m, n_0, ln_n);
    const auto found = cheapest_components(m, g, ln_n, n_0, where, o);
    const auto lacks = may_lack(m, ln_n, o);
    start_from_main_species<VOLUME>(m, g, ln_n, o);
    const auto unclear = where && (lacks || !found);
    if (any_of(unclear)) start_from_equal_amounts(m, n_0, unclear, found, ln_n, o);
}
