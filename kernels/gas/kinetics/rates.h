// Finite-rate chemistry: rate coefficients, rates of reactions, net production of species. The mechanism is data, in
// the tables that plain.py makes; one body serves any number of reactions.
//
// A reversible reaction costs no exponential of its own. Each species has two:
//   I_k = exp(-L_k) and D_k = c_k exp(L_k),  L_k = g_k/RT + ln(RT/p_ref) (and ln gamma_k, as option kinetics says).
// The net rate k_f (prod c^nu' - prod c^nu''/Kc) is then
//   k_f (product of I of the reactants) (product of D of the reactants - product of D of the products).
#pragma once
#include "gas/kinetics/tabled.h"

// Below COLDEST rate coefficients are those at COLDEST: exponentials would leave the range of doubles. FARTHEST bounds
// L_k; tables.py sees to it that the products of a reaction stay in range too. REVERSE bounds ln(1/Kc).
constexpr double COLDEST = 200.0, FARTHEST = 450.0, REVERSE = 600.0;

template <class Given> struct is_given {
    static constexpr bool value = true;
};

template <> struct is_given<Absent> {
    static constexpr bool value = false;
};

// ln gamma_k, f_k = gamma_k C_k R T: gamma_k = phi_k Z
template <class M, class R, class Phi, class Out>
POINT_FN void activity_coefficients(const M &, const R Z, const Phi &ln_phi, Out &ln_gamma) {
    const R ln_Z = log(Z);
    const auto set = [&](const auto k) INLINED { ln_gamma.set(k, ln_phi[k] + ln_Z); };
    if constexpr (SIDE_BY_SIDE<Phi>) for_some_species(Constant<M::NS>(), set);
    else {
        FOR_OWN (k, M::NS) set(k);
    }
}

// What the cold range of species k (ideal_gas.h) adds to g_k/RT: rates need it where one begins above COLDEST
template <class M, class R, class Which>
POINT_FN R cold_potential(const M &m, const R T, const R ln_T, const R inv_T, const Which k) {
    R a[7];
    UNROLL
    for (int i = 0; i < 7; ++i) a[i] = R(of_species(m.nasa_cold + i * M::NS, k));
    const R by_T = T * (a[1] * 0.5 + T * (a[2] * (1.0 / 6.0) + T * (a[3] * (1.0 / 12.0) + T * (a[4] * 0.05))));
    const R g = a[0] * (1.0 - ln_T) - by_T + a[5] * inv_T - a[6];
    return select(T < of_species(m.T_cold, k), g * (of_species(m.W, k) * (1 / R_UNIVERSAL)), R(0.0));
}

// g_k/RT + ln(RT/p_ref) less what cancels in every balanced reaction, which keeps exponentials in range
template <bool SHIFTED, class M, class R, class Which>
POINT_FN R potential(const M &m, const R T, const R ln_T, const R inv_T, const Which k) {
    if constexpr (SHIFTED && M::NASA9_RANGES == 0) { // all of it is in the coefficients of both ranges
        const auto of_range = [&](const scalar *table) {
            const auto a = [&](const int i) { return of_species(table + i * M::NS, k); };
            const R by_T = a(1) + T * (a(2) + T * (a(3) + T * (a(4) + T * a(5))));
            return R((by_T + a(0) * ln_T) + a(6) * inv_T);
        };

        const scalar *a = m.reaction_potentials, *const upper = a + 7 * M::NS;
        const auto low = T <= of_species(m.T_mid, k);
        if constexpr (M::cold_reactions) {
            return select(low, of_range(a), of_range(upper)) + cold_potential(m, T, ln_T, inv_T, k);
        }
        if constexpr (NEIGHBOURS_AGREE<R>) {
            if (all_of(low)) return of_range(a);
            if (!any_of(low)) return of_range(upper);
        }
        return select(low, of_range(a), of_range(upper));
    } else {
        const R g = species_ideal<true>(m, T, ln_T, k) * (inv_T * (m.W[k] * (1 / R_UNIVERSAL))) + ln_T;
        if constexpr (SHIFTED) return g - m.reaction_shift[k] - m.reaction_shift[M::NS + k] * inv_T;
        else return g - m.reaction_shift[2 * M::NS];
    }
}

// What the reactions of a point read. c: what reactants count with [mol/m3]; C: concentrations, where rate coefficients
// depend on them; third: [M] of each collider, and 1; k: rate coefficients, of which several reactions may share one.
template <class M, class R> struct Reacting {
    static constexpr int SPECIES = room_for<R>(M::NS);
    static constexpr int COLLIDERS = room_for<R>(M::RATE_COLLIDERS) + 1;
    static constexpr int RATES = M::RATE_EXPONENTS + M::RATE_FALLOFFS + M::RATES_TABLED;
    static constexpr int MIXED = M::RATES_MIXED ? SPECIES : 1;
    R c[SPECIES], C[MIXED], L[SPECIES], D[SPECIES], I[SPECIES], third[COLLIDERS], k[room_for<R>(RATES)];
    R inv_T;
};

template <bool UNROLLED = false, class M, class R>
POINT_FN void rate_coefficients(const M &m, const R T, const R p, Reacting<M, R> &s) {
    const R ln_T = log(T);
    const R inv_T = s.inv_T;
    R *k = s.k;
    UNROLL_IF(UNROLLED && M::RATES_WRITTEN && SPECIES_ARRAYS)
    for (int j = 0; j < M::RATE_EXPONENTS; ++j)
        k[j] = exp(m.reaction_exponents[j] * ln_T - m.reaction_exponents[M::RATE_EXPONENTS + j] * inv_T);

    if constexpr (M::RATE_FALLOFFS > 0) {
        R ln_third[M::RATE_LOGS + 1];
        UNROLL_IF(UNROLLED && M::RATES_WRITTEN && SPECIES_ARRAYS)
        for (int j = 0; j < M::RATE_LOGS; ++j) ln_third[j] = log(at_least(s.third[j], SMALLEST));

        // A and coefficient of the limit that it is a multiple of, ln(k_low/k_high) as ln A, b, E; collider, whether
        // chemically activated, form, its 7 numbers. Three short loops: what of several reactions is independent can
        // then run at the same time.
        R ln_Pr[M::RATE_FALLOFFS], ln_F[M::RATE_FALLOFFS], *const rate = k + M::RATE_EXPONENTS;
        const scalar *f = m.reaction_falloffs;

        UNROLL_IF(UNROLLED && M::RATES_WRITTEN && SPECIES_ARRAYS)
        for (int i = 0; i < M::RATE_FALLOFFS; ++i, f += 15) {
            ln_Pr[i] = reduced_pressure(f, ln_T, inv_T, ln_third[M::falloff_collider(i)]);
            const R Pr = exp(ln_Pr[i]);
            rate[i] = f[0] * k[M::falloff_base(i)] / (1.0 + Pr);
            if (f[6] < 1) rate[i] = rate[i] * Pr;
        }

        f = m.reaction_falloffs;
        UNROLL_IF(UNROLLED && M::RATES_WRITTEN && SPECIES_ARRAYS)
        for (int i = 0; i < M::RATE_FALLOFFS; ++i, f += 15) {
            const int form = whole_number(f[7]);
            if (form == 1 || form == 2) ln_F[i] = ln_centre(form, f + 8, T, inv_T);
        }
        f = m.reaction_falloffs;

        UNROLL_IF(UNROLLED && M::RATES_WRITTEN && SPECIES_ARRAYS)
        for (int i = 0; i < M::RATE_FALLOFFS; ++i, f += 15) {
            const int form = whole_number(f[7]);
            if (form == 3) rate[i] = rate[i] * exp(ln_of_sri(f + 8, T, ln_T, inv_T, ln_Pr[i]));
            else if (form > 0) rate[i] = rate[i] * exp(ln_blending(ln_F[i], ln_Pr[i]));
        }
    }

    const R *const C = s.C;
    tabled_rates(m, T, p, ln_T, inv_T, C, k + M::RATE_EXPONENTS + M::RATE_FALLOFFS);
}

// C_k [mol/m3]; c_k and L_k of s
template <class M, class R, class Species, class Gamma>
POINT_FN void concentration(const M &m, const R T, const R ln_T, const R inv_T, const R rho, const Species &Y,
                            const Gamma &ln_gamma, const int k, R &C, Reacting<M, R> &s) {
    C = rho * (Y[k] * m.inv_W[k]);
    s.c[k] = C;
    if constexpr (M::RATES_MIXED) s.C[k] = C;
    R L = potential<true>(m, T, ln_T, inv_T, k);
    if constexpr (is_given<Gamma>::value) {
        if constexpr (M::kinetics_fugacity) s.c[k] = C * exp(ln_gamma[k]);
        else L += ln_gamma[k];
    }
    s.L[k] = L;
}

// [M] of the colliders
template <bool UNROLLED = false, class M, class R>
POINT_FN void third_bodies(const M &m, const R *C, Reacting<M, R> &s) {
    // species that count in each collider as most others do are added up once; there is one at least. Nothing is
    // subtracted, so nothing cancels.
    R rest = R(0.0);
    R weighted[M::RATE_WEIGHTED + 1];
    int place[M::RATE_WEIGHTED + 1];

    UNROLL_IF(UNROLLED && M::RATES_WRITTEN && SPECIES_ARRAYS)
    for (int i = 0; i < M::NS; ++i) {
        const int k = M::collider_species(i);
        if (i < M::RATE_WEIGHTED) place[i] = k, weighted[i] = C[k];
        else place[M::RATE_WEIGHTED] = k, rest += C[k];
    }

    weighted[M::RATE_WEIGHTED] = rest;
    UNROLL_IF(UNROLLED && M::RATES_WRITTEN && SPECIES_ARRAYS)
    for (int j = 0; j < M::RATE_COLLIDERS; j += 4) { // four at a time, so that a concentration serves several
        const scalar *w = m.reaction_colliders + j;
        R sum[4];
        UNROLL
        for (int i = 0; i < 4; ++i) sum[i] = R(0.0);
        FOR_SPECIES (t, M::RATE_WEIGHTED + 1) {
            UNROLL
            for (int i = 0; i < 4; ++i) sum[i] += w[place[t] * M::RATE_COLLIDERS + i] * weighted[t];
        }
        UNROLL
        for (int i = 0; i < 4; ++i) s.third[j + i] = sum[i];
    }

    s.third[M::RATE_COLLIDERS] = R(1.0);
}

// all but the rate coefficients; T is bounded already
template <bool UNROLLED = false, class M, class R, class Species, class Gamma>
POINT_FN void activities(const M &m, const R T, const R rho, const Species &Y, const Gamma &ln_gamma,
                         Reacting<M, R> &s) {
    const R ln_T = log(T);
    const R inv_T = 1.0 / T;
    s.inv_T = inv_T;
    R C[M::NS];

    FOR_SPECIES (k, M::NS) {
        concentration(m, T, ln_T, inv_T, rho, Y, ln_gamma, k, C[k], s);
        s.I[k] = exp(at_most(at_least(-s.L[k], -FARTHEST), FARTHEST));
        s.D[k] = s.c[k] / s.I[k];
    }

    third_bodies<UNROLLED>(m, C, s);
}

#ifdef VECTORS_ALONE
#include "gas/kinetics/rates_alone.h"
#endif

template <class R> POINT_FN R reacting_temperature(const R T) { return at_least(known_temperature(T), COLDEST); }

// UNROLLED: where a GPU holds the species in registers and the reactions are written out, all the rest is too
template <bool UNROLLED = false, class M, class R, class Species, class Gamma>
POINT_FN void reacting(const M &m, R T, const R p, const R rho, const Species &Y, const Gamma &ln_gamma,
                       Reacting<M, R> &s) {
    T = reacting_temperature(T);
    if constexpr (FILLS_VECTORS<R>) {
        reacting_alone(m, T, p, rho, Y, ln_gamma, s);
    } else {
        activities<UNROLLED>(m, T, rho, Y, ln_gamma, s);
        rate_coefficients<UNROLLED>(m, T, p, s);
    }
}

// Whether a species of a row of A reactants and B products stands on both sides: it is neither made nor consumed. Such
// species are the last ones of each side, in the same order; the first reactant is none (tables.py). To add a rate and
// subtract it again would leave its rounding.
template <int A, int B, class Species> POINT_FN bool on_both_sides(const Species &at, const int j) {
    const int reactant = j < A ? j : j - B;
    const int product = reactant + B;
    return reactant > 0 && product >= A && at[reactant] == at[product];
}

// use(number, forward, reverse, net, each_net, each_left, each_right) of a reaction with A reactants and B products,
// each with the coefficient 1 (a species may be among them several times, also on both sides); each_*(add) calls
// add(species, nu)
template <int A, int B, class M, class R, class Species, class Use>
POINT_FN void paired_reaction(const Reacting<M, R> &s, const R factor, const int number, const scalar reversible,
                              const Species &at, const Use &use) {
    R scale = factor * s.I[at[0]];
    R before = s.D[at[0]];
    UNROLL
    for (int j = 1; j < A; ++j) scale = scale * s.I[at[j]], before = before * s.D[at[j]];
    R after = reversible * s.D[at[A]];
    UNROLL
    for (int j = A + 1; j < A + B; ++j) after = after * s.D[at[j]];

    const auto net = [&](const auto &add) {
        UNROLL
        for (int j = 0; j < A + B; ++j)
            if (!on_both_sides<A, B>(at, j)) add(at[j], j < A ? -1.0 : 1.0);
    };

    const auto left = [&](const auto &add) {
        UNROLL
        for (int j = 0; j < A; ++j) add(at[j], 1.0);
    };
    const auto right = [&](const auto &add) {
        UNROLL
        for (int j = A; j < A + B; ++j) add(at[j], 1.0);
    };
    use(number, scale * before, scale * after, scale * (before - after), net, left, right);
}

// those of one kind, from the table: factor, number, coefficient, collider, 1 where reversible, species. Those without
// a collider come first, so that the branch is alike for many in a row.
template <int A, int B, class M, class R, class Use>
POINT_FN const scalar *paired_reactions(const Reacting<M, R> &s, const scalar *row, const int count, const Use &use) {
    UNROLL_BY(1)
    for (int i = 0; i < count; ++i, row += 5 + A + B) {
        int at[A + B];
        UNROLL
        for (int j = 0; j < A + B; ++j) at[j] = whole_number(row[5 + j]);
        const int third = whole_number(row[3]);
        R factor = row[0] * s.k[whole_number(row[2])];
        if (third < M::RATE_COLLIDERS) factor = factor * s.third[third];
        paired_reaction<A, B>(s, factor, whole_number(row[1]), row[4], at, use);
    }

    return row;
}

// one of those that the mixture writes out: known to the compiler are all indices
template <class M, class R, class Use, int A, int B, int NUMBER, int K, int THIRD, int REVERSIBLE, int... AT>
POINT_FN void written_reaction(const Reacting<M, R> &s, const scalar factor,
                               Indices<A, B, NUMBER, K, THIRD, REVERSIBLE, AT...>, const Use &use) {
    constexpr int at[] = {AT...};
    R all = factor * s.k[K];
    if constexpr (THIRD < M::RATE_COLLIDERS) all = all * s.third[THIRD];
    paired_reaction<A, B>(s, all, NUMBER, REVERSIBLE, at, use);
}

// product x^order by a term: species, order, and whether it is a whole stoichiometric one
template <class R> POINT_FN R factor_of(const R x, const scalar *term, R product) {
    if (term[2] > 0) {
        UNROLL_BY(1)
        for (int n = whole_number(term[1]); n > 0; --n) product = product * x;
        return product;
    }

    return product * select(x > 0.0, exp(term[1] * log(at_least(x, SMALLEST))), 0.0 * x);
}

// product of c^order over `count` terms (species, order, whether the order is a stoichiometric integer). Integer orders
// keep the sign of c; other powers are 0 where c <= 0
template <class R, class Species> POINT_FN R factors(const Species &c, const scalar *term, const int count, R product) {
    UNROLL_BY(1)
    for (int t = 0; t < count; ++t, term += 3) product = factor_of(c[whole_number(term[0])], term, product);
    return product;
}

// Whether reactions of few species are calls, not loops over the rows of a table.
template <class M, class R> constexpr bool are_written() {
    return M::RATES_WRITTEN || (M::RATES_WRITTEN_ALONE && FILLS_VECTORS<R>);
}

// All reactions, by way of a walker: written(factor, Indices) of each that is written out, pairs<A, B>(row, count) of
// those of one kind, other(row) of each other; the last two return where the table goes on.
template <class R, class M, class Walker> POINT_FN void walk_reactions(const M &m, const Walker &walker) {
    const scalar *row = m.reaction_pairs;
    if constexpr (are_written<M, R>()) {
        M::written_reactions(M::RATES_WRITTEN ? m.reaction_factors : row,
                             [&](const scalar factor, auto indices) INLINED { walker.written(factor, indices); });
    } else {
        row = walker.template pairs<1, 1>(row, M::RATE_PAIRS_11);
        row = walker.template pairs<1, 2>(row, M::RATE_PAIRS_12);
        row = walker.template pairs<1, 3>(row, M::RATE_PAIRS_13);
        row = walker.template pairs<2, 1>(row, M::RATE_PAIRS_21);
        row = walker.template pairs<2, 2>(row, M::RATE_PAIRS_22);
        row = walker.template pairs<2, 3>(row, M::RATE_PAIRS_23);
        row = walker.template pairs<3, 1>(row, M::RATE_PAIRS_31);
        row = walker.template pairs<3, 2>(row, M::RATE_PAIRS_32);
        row = walker.template pairs<3, 3>(row, M::RATE_PAIRS_33);
    }

    row = m.reaction_others;
    UNROLL_BY(1)
    for (int i = 0; i < M::RATE_OTHERS; ++i) row = walker.other(row);
}

// A row of the others: factor, number, coefficient, collider, 1 where reversible, two numbers for what an imbalance
// within the tolerance leaves of the shift; counts and then terms of: forward orders, reverse orders, both sides, net
struct OtherReaction {
    const scalar *row, *f, *r, *l, *g, *n, *end;
    int forward, reverse, left, right, net;
};

POINT_FN OtherReaction other_reaction(const scalar *row) {
    OtherReaction o;
    o.row = row;
    o.forward = whole_number(row[7]);
    o.reverse = whole_number(row[8]);
    o.left = whole_number(row[9]);
    o.right = whole_number(row[10]);
    o.net = whole_number(row[11]);
    o.f = row + 12;
    o.r = o.f + 3 * o.forward;
    o.l = o.r + 3 * o.reverse;
    o.g = o.l + 2 * o.left;
    o.n = o.g + 2 * o.right;
    o.end = o.n + 2 * o.net;
    return o;
}

template <class M, class R, class Use, class S = Reacting<M, R>> struct RateWalker {
    const S &s;
    const Use &use;
    template <class Which> POINT_FN void written(const scalar factor, Which which) const {
        written_reaction(s, factor, which, use);
    }

    template <int A, int B> POINT_FN const scalar *pairs(const scalar *row, const int count) const {
        return paired_reactions<A, B, M, R>(s, row, count, use);
    }

    POINT_FN const scalar *other(const scalar *row) const {
        const OtherReaction o = other_reaction(row);
        const R k = row[0] * s.k[whole_number(row[2])] * s.third[whole_number(row[3])];
        const R there = factors<R>(s.c, o.f, o.forward, k);
        R back = 0.0 * there;

        if (row[4] > 0) {
            R ln = row[5] + row[6] * s.inv_T;
            UNROLL_BY(1)
            for (int t = 0; t < o.net; ++t) ln += o.n[2 * t + 1] * s.L[whole_number(o.n[2 * t])];
            back = factors(s.c, o.r, o.reverse, k * exp(at_most(ln, REVERSE)));
        }

        const auto each = [](const scalar *from, const int count) {
            return [=](const auto &add) {
                UNROLL_BY(1)
                for (int t = 0; t < count; ++t) add(whole_number(from[2 * t]), from[2 * t + 1]);
            };
        };

        use(whole_number(row[1]), there, back, there - back, each(o.n, o.net), each(o.l, o.left), each(o.g, o.right));
        return o.end;
    }
};

template <class M, class R, class Use>
POINT_FN void for_reactions(const M &m, const Reacting<M, R> &s, const Use &use) {
    walk_reactions<R>(m, RateWalker<M, R, Use>{s, use});
}

// Net production where reactions are not written out: w_k += sum nu q. Rows stand by their first reactant, whose part
// of the products and whose sum stay in registers for as long as it is the same.
template <class M, class R> struct NetWalker {
    const Reacting<M, R> &s;
    R *w;

    POINT_FN const scalar *other(const scalar *row) const {
        const auto use = [&](int, const R &, const R &, const R &q, const auto &net, const auto &, const auto &) {
            net([&](int k, const scalar nu) { w[k] += nu * q; });
        };
        return RateWalker<M, R, decltype(use)>{s, use}.other(row);
    }

    template <int A, int B> POINT_FN const scalar *pairs(const scalar *row, const int count) const {
        for (int i = 0; i < count;) {
            const scalar same = row[5];
            const int first = whole_number(same);
            const R I = s.I[first];
            const R D = s.D[first];
            R sum = R(0.0);

            UNROLL_BY(1)
            do {
                int at[A + B];
                at[0] = first;
                UNROLL
                for (int j = 1; j < A + B; ++j) at[j] = whole_number(row[5 + j]);
                const int third = whole_number(row[3]);
                R scale = row[0] * s.k[whole_number(row[2])];
                R before = D;
                R after = row[4] * s.D[at[A]];
                if (third < M::RATE_COLLIDERS) scale = scale * s.third[third];
                scale = scale * I;
                UNROLL
                for (int j = 1; j < A; ++j) scale = scale * s.I[at[j]], before = before * s.D[at[j]];
                UNROLL
                for (int j = A + 1; j < A + B; ++j) after = after * s.D[at[j]];
                const R q = scale * (before - after);
                sum = sum - q;
                UNROLL
                for (int j = 1; j < A; ++j)
                    if (!on_both_sides<A, B>(at, j)) w[at[j]] = w[at[j]] - q;
                UNROLL
                for (int j = A; j < A + B; ++j)
                    if (!on_both_sides<A, B>(at, j)) w[at[j]] = w[at[j]] + q;
                ++i, row += 5 + A + B;
            } while (i < count && row[5] == same);

            w[first] = w[first] + sum;
        }

        return row;
    }
};

// w_k += sum nu q [mol/m3/s]
template <class M, class R> POINT_FN void add_net_rates(const M &m, const Reacting<M, R> &s, R *w) {
    if constexpr (are_written<M, R>())
        for_reactions(m, s, [&](int, const R &, const R &, const R &q, const auto &net, const auto &, const auto &) {
            net([&](int k, const scalar nu) { w[k] += nu * q; });
        });
    else walk_reactions<R>(m, NetWalker<M, R>{s, w});
}

template <class M, class R, class Species, class Gamma, class Out>
POINT_FN void net_production(const M &m, const R T, const R p, const R rho, const Species &Y, const Gamma &ln_gamma,
                             Out &omega_mol) {
    Reacting<M, R> s;
    reacting<true>(m, T, p, rho, Y, ln_gamma, s);
    R w[M::NS];
    const R start = 0.0 * (rho * s.inv_T); // NaN where the state is none, also for species without reactions
    FOR_SPECIES (k, M::NS) w[k] = start;
    add_net_rates(m, s, w);
    FOR_SPECIES (k, M::NS) omega_mol.set(k, w[k]);
}

template <class M, class R, class Species, class Gamma, class OutC, class OutD>
POINT_FN void gross_production(const M &m, const R T, const R p, const R rho, const Species &Y, const Gamma &ln_gamma,
                               OutC &creation, OutD &destruction) {
    Reacting<M, R> s;
    reacting<true>(m, T, p, rho, Y, ln_gamma, s);
    R made[M::NS], gone[M::NS];
    const R start = 0.0 * (rho * s.inv_T);
    FOR_SPECIES (k, M::NS) made[k] = gone[k] = start;
    for_reactions(m, s, [&](int, const R &f, const R &r, const R &, const auto &, const auto &left, const auto &right) {
        left([&](int k, const scalar nu) { gone[k] += nu * f, made[k] += nu * r; });
        right([&](int k, const scalar nu) { made[k] += nu * f, gone[k] += nu * r; });
    });
    FOR_SPECIES (k, M::NS) {
        creation.set(k, made[k] * m.W[k]);
        destruction.set(k, gone[k] * m.W[k]);
    }
}

template <class M, class Moles, class Out>
POINT_FN void mass_production(const M &m, const Moles &omega_mol, Out &omega) {
    FOR_OWN (k, M::NS) omega.set(k, omega_mol[k] * m.W[k]);
}

template <class M, class R, class Species, class Gamma, class OutF, class OutR, class OutN>
POINT_FN void reaction_rates(const M &m, const R T, const R p, const R rho, const Species &Y, const Gamma &ln_gamma,
                             OutF &rate_f, OutR &rate_r, OutN &rate_net) {
    Reacting<M, R> s;
    reacting<true>(m, T, p, rho, Y, ln_gamma, s);

    for_reactions(m, s, [&](int i, const R &f, const R &r, const R &q, const auto &, const auto &, const auto &) {
        rate_f.set(i, f);
        rate_r.set(i, r);
        rate_net.set(i, q);
    });
}

// in the file's order: count, then species and net coefficient of each
template <class M, class R, class Out> POINT_FN void equilibrium_constants(const M &m, R T, Out &Kc) {
    T = reacting_temperature(T);
    const R ln_T = log(T);
    const R inv_T = 1.0 / T;
    R g[M::NS];
    FOR_SPECIES (k, M::NS) g[k] = potential<false>(m, T, ln_T, inv_T, k);
    const scalar *at = m.reaction_net;

    UNROLL_BY(1)
    for (int i = 0; i < M::NR; ++i) {
        const int count = whole_number(*at++);
        R ln = 0.0 * inv_T;
        UNROLL_BY(1)
        for (int t = 0; t < count; ++t, at += 2) ln = ln - at[1] * g[whole_number(at[0])];
        Kc.set(i, exp(at_most(ln, BLENDED)));
    }
}

template <class M, class Enthalpies, class Masses, class R>
POINT_FN void chemical_heat(const M &, const Enthalpies &h_Y, const Masses &omega, R &heat_release) {
    heat_release = R(0.0);
    FOR_OWN (k, M::NS) heat_release = heat_release - h_Y[k] * omega[k];
    heat_release = over_owners(heat_release, [](const R a, const R b) { return a + b; });
}

template <class M, class R, class Species, class Masses>
POINT_FN void chemical_time(const M &, const R rho, const Species &Y, const Masses &destruction, R &tau_chem) {
    R fastest = 1e-30 + 0.0 * rho;
    FOR_OWN (k, M::NS) {
        const R own = destruction[k] / (rho * at_least(Y[k], 1e-6));
        fastest = select(Y[k] > 1e-6 && own > fastest, own, select(own < 1e300, fastest, own));
    }
    const auto faster = [](const R a, const R b) { return select(b > a, b, select(b < 1e300, a, b)); };
    tau_chem = 1.0 / over_owners(fastest, faster);
}
