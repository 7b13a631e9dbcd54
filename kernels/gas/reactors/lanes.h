// Reactors of ideal gases with integer coefficients, in which the lanes of a warp share a point (schedules/warp.h).
//
// Lanes divide species, rate coefficients and reactions among them. Rates of reactions and their slopes go to shared
// memory. Then a table lists, for each species or each entry of the matrix, the numbers to add up and their order. The
// system is dense; each lane has rows of it (lanes_factors.h). kinetics/lanes.py makes the tables.
#pragma once
#include "gas/reactors/lanes_factors.h"
#include "gas/reactors/reactor.h"

// Sums of numbers that lie from `from` on: use(target, sum) for each. The table begins with its length, then has that
// many words for each lane. A word has the places of two numbers to add, a bit that turns the sign of the sum so far,
// and, at the end of a sum, its target. AHEAD words are read before they are used. Returns the end of the table.
template <int AHEAD, class Use>
POINT_FN const double *gathered(const LanesMemory &s, const int from, const double *table, const Use &use) {
    const int length = whole_number(*table);
    const double *const words = table + 1 + lane_rank();
    const char *const values = (const char *)(s.at + from);
    double next[AHEAD], sum = 0.0;
    UNROLL
    for (int i = 0; i < AHEAD; ++i) next[i] = words[32 * i];

    UNROLL_BY(1)
    for (int t = 0; t < length; t += AHEAD) {
        double parts[AHEAD];
        unsigned then[AHEAD];
        UNROLL
        for (int i = 0; i < AHEAD; ++i) {
            const unsigned two = low_word(next[i]);
            parts[i] = *(const double *)(values + (two & 0xffff)) + *(const double *)(values + (two >> 16));
            then[i] = high_word(next[i]);
        }

        const int following = t + AHEAD < length ? t + AHEAD : t;
        UNROLL
        for (int i = 0; i < AHEAD; ++i) next[i] = words[32 * (following + i)];

        UNROLL
        for (int i = 0; i < AHEAD; ++i) {
            sum += parts[i];
            sum = from_words(high_word(sum) ^ (then[i] << 12 & 0x80000000u), low_word(sum));
            const int to = then[i] & 0x3ffff;
            if (to != 0x3ffff) use(to, sum);
            sum = to != 0x3ffff ? 0.0 : sum;
        }
    }

    return table + 1 + 32 * length;
}

// Concentrations, colliders and rate coefficients at T, to shared memory. SLOPES: with their slopes
template <bool SLOPES, class M, class R>
POINT_FN void lanes_coefficients(const M &m, const LanesMemory &s, const R T, const R p, const R *x) {
    constexpr int NS = M::NS;
    constexpr int COLLIDERS = M::RATE_COLLIDERS;
    constexpr int EXPONENTS = M::RATE_EXPONENTS;
    constexpr int FALLOFFS = M::RATE_FALLOFFS;
    const int lane = lane_rank();
    const Dual<R> along = moving(T, R(1.0)), ln_along = log(along), inv_along = 1.0 / along;
    const R ln_T = ln_along.v;
    const R inv_T = inv_along.v;

    // Species: c = I D, with I = exp(-L).
    R rest = R(0.0); // concentrations of the species that have the default weight in all colliders
    __syncwarp();
    FOR_OWN (k, NS) {
        const R c = x[own(k)] * m.inv_W[k];
        R L;
        if constexpr (SLOPES) {
            const Dual<R> moved = potential<true>(m, along, ln_along, inv_along, k);
            L = moved.v;
            s.set(M::LANES_L_T + k, moved.d[0]);
        } else L = potential<true>(m, T, ln_T, inv_T, k);
        const R I = exp(at_most(at_least(-L, -FARTHEST), FARTHEST));
        s.set(M::LANES_C + k, c), s.set(M::LANES_I + k, I), s.set(M::LANES_D + k, c / I);
        if constexpr (SLOPES) s.set(M::LANES_E + k, 1.0 / I);
        if (M::collider_place(k) >= M::RATE_WEIGHTED) rest += c;
    }
    if (lane < 2) { // two species that are none: a factor 1, a product 0
        const R what = R(lane ? 0.0 : 1.0);
        s.set(M::LANES_C + NS + lane, what), s.set(M::LANES_I + NS + lane, what);
        s.set(M::LANES_D + NS + lane, what), s.set(M::LANES_E + NS + lane, what);
        s.set(M::LANES_L_T + NS + lane, R(0.0)), s.set(M::LANES_V + M::LANES_ZERO, R(0.0));
    }
    rest = summed(rest);

    // Arrhenius factors.
    UNROLL_BY(4)
    for (int j = lane; j < EXPONENTS; j += 32) {
        const scalar b = m.reaction_exponents[j];
        const scalar E = m.reaction_exponents[EXPONENTS + j];
        if constexpr (SLOPES) {
            const Dual<R> k = exp(b * ln_along - E * inv_along);
            s.set(M::LANES_K + j, k.v), s.set(M::LANES_K_T + j, k.d[0]);
        } else s.set(M::LANES_K + j, exp(b * ln_T - E * inv_T));
    }
    __syncwarp();

    // Third bodies.
    UNROLL_BY(1)
    for (int j = lane; j < COLLIDERS; j += 32) {
        const scalar *w = m.reaction_weights + j * (M::RATE_WEIGHTED + 1);
        R sum = w[M::RATE_WEIGHTED] * rest;
        UNROLL_BY(4)
        for (int t = 0; t < M::RATE_WEIGHTED; ++t) sum += w[t] * s[M::LANES_C + M::collider_species(t)];
        s.set(M::LANES_THIRD + j, sum);
    }
    if (lane == 0) s.set(M::LANES_THIRD + COLLIDERS, R(1.0));
    __syncwarp();

    // Falloff.
    Dual<R, 2> T_d = still<2>(T), p_d = still<2>(p);
    T_d.d[0] = R(1.0);
    p_d.d[1] = p;
    const Dual<R, 2> ln_T_d = log(T_d), inv_T_d = 1.0 / T_d;
    const auto leave = [&](const bool mine, const int j, const Dual<R, 2> k) {
        if (mine)
            s.set(M::LANES_K + j, k.v), s.set(M::LANES_K_T + j, k.d[0]), s.set(M::LANES_K_Z + j - EXPONENTS, k.d[1]);
    };
    UNROLL_BY(1)
    for (int i = lane; i < FALLOFFS; i += 32) {
        const scalar *f = m.reaction_falloffs + 15 * i;
        const int base = whole_number(f[1]);
        const R third = s[M::LANES_THIRD + whole_number(f[5])];
        if constexpr (SLOPES) {
            const R some = at_least(third, LEAST_THIRD);
            Dual<R, 2> k = still<2>(s[M::LANES_K + base]), ln_third = still<2>(log(some));
            k.d[0] = s[M::LANES_K_T + base];
            ln_third.d[1] = R(1.0);
            leave(true, EXPONENTS + i, falloff_rate(f, T_d, ln_T_d, inv_T_d, k, ln_third));
        } else
            s.set(M::LANES_K + EXPONENTS + i,
                  falloff_rate(f, T, ln_T, inv_T, s[M::LANES_K + base], R(log(at_least(third, SMALLEST)))));
    }

    // Tables. Every lane reads them all: a row is found by the end of the row before.
    if constexpr (M::RATES_TABLED > 0) {
        const scalar *at = m.reaction_tabled;
        const auto state = rate_state(T, ln_T, inv_T, ln_pressure<M>(p), Absent());
        const auto state_d = rate_state(T_d, ln_T_d, inv_T_d, ln_pressure<M>(p_d), Absent());
        UNROLL_BY(1)
        for (int i = 0; i < M::RATES_TABLED; ++i) {
            const int j = EXPONENTS + FALLOFFS + i;
            const bool mine = lane == i % 32;
            if constexpr (SLOPES) leave(mine, j, tabled_rate(m, at, state_d));
            else {
                const R k = tabled_rate(m, at, state);
                if (mine) s.set(M::LANES_K + j, k);
            }
        }
    }
    __syncwarp();
}

// A reaction, unpacked from its row of the table.
template <class M> struct LanesReaction {
    scalar factor;
    int a, b, c; // reactants
    int d, e, f; // products
    int k;       // rate coefficient
    int third;   // the collider that multiplies
    int of;      // the collider of the falloff

    POINT_FN LanesReaction(const M &m, const int r) {
        const scalar *const row = m.lanes_reactions + 3 * r;
        const unsigned low = low_word(row[1]);
        const unsigned high = high_word(row[1]);
        const unsigned which = low_word(row[2]);

        factor = row[0];
        a = low & 255;
        b = low >> 8 & 255;
        c = low >> 16 & 255;
        d = low >> 24;
        e = high & 255;
        f = high >> 8 & 255;
        k = which & 0xffff;
        third = which >> 16;
        of = high_word(row[2]) & 0xffff;
    }
};

// use(r, three) for the reactions of this lane, first <= r < end. three: whether the reaction may have three reactants
// or products, which is so below `longer`
template <class Use> POINT_FN void each_reaction(const int longer, const int first, const int end, const Use &use) {
    const int middle = longer < first ? first : longer < end ? longer : end;
    UNROLL_BY(1)
    for (int r = first + lane_rank(); r < middle; r += 32) use(r, Constant<1>());

    UNROLL_BY(2)
    for (int r = middle + lane_rank(); r < end; r += 32) use(r, Constant<0>());
}

// ---- reactions of other kinds

// They are computed by the bodies of a thread, RateWalker and SlopeWalker. These types look like the arrays of a thread
// and lie in shared memory.
template <class M, class R> struct LanesListed {
    const LanesMemory &s;
    const int from;
    POINT_FN R operator[](const int k) const { return s[from + k]; }
};

template <class M, class R> struct LanesPotentials {
    const M &m;
    const R T, ln_T, inv_T;
    POINT_FN R operator[](const int k) const { return potential<true>(m, T, ln_T, inv_T, k); }
};

template <class M, class R> struct LanesReacting {
    const LanesListed<M, R> c, third, k;
    const LanesPotentials<M, R> L;
    const R inv_T;
    POINT_FN LanesReacting(const M &m, const LanesMemory &s, const R T)
        : c{s, M::LANES_C}, third{s, M::LANES_THIRD}, k{s, M::LANES_K}, L{m, T, R(log(T)), R(1.0 / T)}, inv_T(L.inv_T) {
    }
};

template <class M, class R> struct LanesCoefficients {
    const LanesMemory &s;
    POINT_FN Dual<R, 2> operator[](const int j) const {
        Dual<R, 2> k = still<2>(s[M::LANES_K + j]);
        k.d[0] = s[M::LANES_K_T + j];
        if (j >= M::RATE_EXPONENTS) k.d[1] = s[M::LANES_K_Z + j - M::RATE_EXPONENTS];
        return k;
    }
};

template <class M, class R> struct LanesSlopeParts {
    struct {
        const LanesCoefficients<M, R> k;
    } d;
    const LanesListed<M, R> L_T, inv_third;
};

// Sums in shared memory. Sum i lies at from + i apart; only the lane that owns i / row adds to it. from < 0: there are
// no such sums
template <class R> struct LanesSums {
    const LanesMemory &s;
    const int from, row, apart;
    struct Sum {
        double *to;

        POINT_FN void operator+=(const R x) const {
            if (to) *to += x.v;
        }
        POINT_FN void operator-=(const R x) const {
            if (to) *to -= x.v;
        }
    };
    POINT_FN Sum operator[](const int i) const {
        return {from >= 0 && owns(i / row) ? s.at + from + i * apart : (double *)0};
    }
};

template <class R> struct LanesSlopes {
    const LanesSums<R> w, T, p, J, G, third;
};

// Net production [kg/m3/s] of the species that a lane owns. It overloads `production` of a thread.
template <class M>
POINT_FN void production(const M &m, const point T_given, const point *x, const Partial<M, point> &state, point *w) {
    typedef point R;
    const LanesMemory s(M::LANES_ROWS);
    const R T = reacting_temperature(T_given);
    const R p = partial_pressure(m, state);
    lanes_coefficients<false>(m, s, T, p, x);

    // Rates of progress.
    each_reaction(M::LANES_LONG, 0, M::LANES_REACTIONS, [&](const int r, const auto three) {
        const LanesReaction<M> o(m, r);
        const R all = (o.factor * s[M::LANES_K + o.k]) * s[M::LANES_THIRD + o.third];
        R I = s[M::LANES_I + o.a] * s[M::LANES_I + o.b];
        R before = s[M::LANES_D + o.a] * s[M::LANES_D + o.b];
        R after = s[M::LANES_D + o.d] * s[M::LANES_D + o.e];
        if constexpr (three.value)
            I = I * s[M::LANES_I + o.c], before = before * s[M::LANES_D + o.c], after = after * s[M::LANES_D + o.f];
        s.set(M::LANES_V + r, (all * I) * (before - after));
    });

    if constexpr (M::RATE_OTHERS > 0) {
        const LanesReacting<M, R> all(m, s, T);
        int to = M::LANES_V + M::LANES_REACTIONS;
        const auto use = [&](int, const R &, const R &, const R &q, const auto &net, const auto &, const auto &) {
            net([&](int, const scalar nu) {
                if (owns(0)) s.set(to, nu * q);
                ++to;
            });
        };
        const RateWalker<M, R, decltype(use), LanesReacting<M, R>> walker{all, use};
        const scalar *row = m.reaction_others;
        UNROLL_BY(1)
        for (int i = 0; i < M::RATE_OTHERS; ++i) row = walker.other(row);
    }
    __syncwarp();

    // Sums by species, in two passes of the table.
    const auto take = [&](const int target, const double sum) { s.at[target] = sum; };
    const double *next = gathered<4>(s, M::LANES_V, m.lanes_rates, take);
    __syncwarp();
    gathered<4>(s, M::LANES_V, next, take);
    __syncwarp();

    const R start = 0.0 * (p / T); // NaN for a state that is NaN
    FOR_OWN (k, M::NS) w[own(k)] = (s[M::LANES_W + k] + start) * m.W[k];
}

// Slopes of the production, summed over the reactions. In rows of the matrix: in c_j and T. At LANES_W: the rates.
// Beside them: in [M] for pairs of collider and species, and in ln p.
template <class M, class R>
POINT_FN void lanes_slopes(const M &m, const LanesMemory &s, const R T_given, const R *x, const R p) {
    const R T = reacting_temperature(T_given);
    const int lane = lane_rank();
    __syncwarp(); // the last step's matrix may still be read
    UNROLL_BY(4)
    for (int i = lane; i < M::LANES_END_OF_ZERO; i += 32) s.at[i] = 0.0;
    lanes_coefficients<true>(m, s, T, p, x);

    // Portions of the reactions: slopes to shared memory, then their sums.
    const double *table = m.lanes_slopes;
    UNROLL_BY(1)
    for (int first = 0; first < M::LANES_REACTIONS; first += M::LANES_PORTION) {
        const int end = first + M::LANES_PORTION;
        const auto slopes = [&](const int n, const auto three) {
            constexpr bool THREE = three.value;
            const int r = n - first;
            const LanesReaction<M> o(m, n);
            const auto row = [&](const int of, int k) { return s[of + k]; };
            const auto third_of = [&](const int of, int k) { return THREE ? s[of + k] : R(1.0); };
            const auto leave = [&](int value, const R slope) {
                s.set(M::LANES_V + value * M::LANES_PORTION + r, slope);
            };

            // Rate coefficient, its slopes, third body.
            const bool exponent = o.k < M::RATE_EXPONENTS;
            const R k = s[M::LANES_K + o.k];
            const R k_T = s[M::LANES_K_T + o.k];
            const R k_z = exponent ? R(0.0) : s[M::LANES_K_Z + (exponent ? 0 : o.k - M::RATE_EXPONENTS)];
            const R third = s[M::LANES_THIRD + o.third];
            const R all = o.factor * k * third;

            // Concentrations c of reactants, D of products; products of I and D.
            const R ca = row(M::LANES_C, o.a);
            const R cb = row(M::LANES_C, o.b);
            const R cc = third_of(M::LANES_C, o.c);
            const R Dd = row(M::LANES_D, o.d);
            const R De = row(M::LANES_D, o.e);
            const R Df = third_of(M::LANES_D, o.f);
            const R I = row(M::LANES_I, o.a) * row(M::LANES_I, o.b) * third_of(M::LANES_I, o.c);
            const R before = row(M::LANES_D, o.a) * row(M::LANES_D, o.b) * third_of(M::LANES_D, o.c);
            const R after = Dd * De * Df;
            R of_L = row(M::LANES_L_T, o.d) + row(M::LANES_L_T, o.e) - row(M::LANES_L_T, o.a) - row(M::LANES_L_T, o.b);
            if constexpr (THREE) of_L += row(M::LANES_L_T, o.f) - row(M::LANES_L_T, o.c);

            const R bare = (o.factor * I) * (before - after);
            const R scaled = all * I;
            const R by_k = bare * third;
            const R in_z = by_k * k_z;

            // Rate; slopes in T, [M], the reactants, the products, ln p.
            leave(0, by_k * k);
            leave(1, by_k * k_T - scaled * after * of_L);
            if (o.of < M::RATE_COLLIDERS) leave(2, in_z / at_least(s[M::LANES_THIRD + o.of], LEAST_THIRD));
            else leave(2, bare * k);
            leave(3, all * (cb * cc)), leave(4, all * (ca * cc));
            leave(6, -(scaled * row(M::LANES_E, o.d) * (De * Df)));
            leave(7, -(scaled * row(M::LANES_E, o.e) * (Dd * Df)));
            if constexpr (THREE) leave(5, all * (ca * cb)), leave(8, -(scaled * row(M::LANES_E, o.f) * (Dd * De)));
            if constexpr (M::RATES_PRESSED) leave(9, in_z);
        };

        each_reaction(M::LANES_LONG, first, end < M::LANES_REACTIONS ? end : M::LANES_REACTIONS, slopes);
        __syncwarp();
        table = gathered<8>(s, M::LANES_V, table, [&](const int target, const double sum) { s.at[target] += sum; });
        __syncwarp();
    }

    // Reactions of other kinds.
    if constexpr (M::RATE_OTHERS > 0) {
        const LanesReacting<M, R> all(m, s, T);
        const LanesSlopeParts<M, R> parts{{{s}}, {s, M::LANES_L_T}, {s, M::LANES_THIRD}};
        constexpr int LD = (M::NS + 1) | 1;
        LanesSlopes<R> to{{s, M::LANES_W, 1, 1}, {s, M::NS, 1, LD}, {s, M::LANES_P, 1, 1},
                          {s, 0, LD, 1},         {s, -1, 1, 1},     {s, -1, 1, 1}};
        const SlopeWalker<M, R, LD, LanesReacting<M, R>, LanesSlopeParts<M, R>, LanesSlopes<R>> walker{m, all, parts,
                                                                                                       to};
        const scalar *row = m.reaction_others;
        UNROLL_BY(1)
        for (int i = 0; i < M::RATE_OTHERS; ++i) row = walker.other(row);
        __syncwarp();
    }

    // Efficiencies of colliders: the default to COMMON, differences of single species to the matrix.
    const double *const words = m.lanes_efficiencies + 1 + lane;
    const int length = whole_number(m.lanes_efficiencies[0]);
    double sum = 0.0;
    UNROLL_BY(4)
    for (int t = 0; t < length; ++t) {
        const double word = words[64 * t];
        const int to = high_word(word) & 0x3ffff;
        sum += words[64 * t + 32] * s.at[low_word(word)];
        if (to != 0x3ffff) {
            s.at[to] += sum;
            sum = 0.0;
        }
    }
    __syncwarp();
}

// ---- the Jacobian

// Slopes of dT/dt and theta in unknown j; j = NS is T. heat: change of U_j along f, plus sum_k U_k d w_k/d x_j. work:
// the same with p. U_j, p_j: slopes of U and p in unknown j
template <bool PRESSURE, class M, class R> struct JacobianColumn {
    R T, p_T, U_T;
    R stiffness; // sum p_k x_k
    Changes<R> c;

    POINT_FN Changes<R> operator()(const int j, R heat, R work, const R U_j, const R p_j) const {
        const R Tp_T = T * p_T;
        const R inv = 1.0 / (PRESSURE ? U_T * stiffness + Tp_T * p_T : U_T);

        if constexpr (PRESSURE) {
            if (j < M::NS) heat -= p_j * c.theta, work += p_j * c.theta;
            else heat -= (p_j + U_j) * c.theta;
            return {R(-((heat * stiffness + Tp_T * work) * inv)), R((p_T * heat - U_T * work) * inv)};
        } else return {R(-(heat * inv)), R(0.0)};
    }
};

// The linear systems (d - J) K = b of a step. OFTEN: solve is called several times for each prepare
template <bool PRESSURE, class M, class R, bool OFTEN = true> struct LanesSystem {
    static constexpr int NS = M::NS;
    static constexpr int N = NS + 1;
    static constexpr int LD = N | 1;

    LanesFactors<R, N, (OFTEN && N >= 4 && N <= 36)> factors;

    POINT_FN LanesSystem(const M &) {}

    POINT_FN void prepare(const M &m, const R *z, const R d, R *f) {
        const LanesMemory s(M::LANES_ROWS);
        matrix(m, s, z, d, f);
        factors.factorise(s);
    }

    POINT_FN void solve(const M &, R *b) const { factors.solve(LanesMemory(M::LANES_ROWS), b); }

    // d - J to the beginning of the memory, row i column j at i LD + j; f = dz/dt
    static POINT_FN void matrix(const M &m, const LanesMemory &s, const R *z, const R d, R *f) {
        // Slopes of the production in moles.
        const R T = of_owner(z, NS);
        PartialSlopes<M, R> slopes;
        {
            Partial<M, R> state;
            partial_state<true>(m, T, z, state);
            partial_slopes(m, z, state, slopes);
        }
        lanes_slopes(m, s, T, z, slopes.p);

        // f, and the changes of the slopes of U and p along it.
        R w[owned(NS)];
        FOR_OWN (k, NS) w[own(k)] = m.W[k] * s[M::LANES_W + k];
        PartialSlopes<M, Dual<R>> along;
        const Changes<R> c = change_along<PRESSURE>(m, T, z, slopes, w, f, along);
        R stiffness = R(0.0);
        if constexpr (PRESSURE) {
            FOR_OWN (k, NS) stiffness += slopes.p_x[own(k)] * z[own(k)];
            stiffness = summed(stiffness);
        }

        const JacobianColumn<PRESSURE, M, R> column{T, slopes.p_T, slopes.U_T, stiffness, c};
        constexpr bool pressed = M::RATES_PRESSED;
        constexpr int OF_U = M::LANES_V;
        constexpr int OF_P = OF_U + NS;
        constexpr int OF_X = OF_P + NS;
        const R inv_p = 1.0 / slopes.p;

        // Shared by all columns: sums over k of U_k and p_k times the slopes in every concentration, in T and in ln p.
        R U[3] = {R(0.0), R(0.0), R(0.0)};
        R p[3] = {R(0.0), R(0.0), R(0.0)};
        FOR_OWN (k, NS) {
            const R U_k = m.W[k] * slopes.U_x[own(k)];
            const R p_k = m.W[k] * slopes.p_x[own(k)];
            const R shared[] = {s[M::LANES_COMMON + k], s[k * LD + NS], pressed ? s[M::LANES_P + k] * inv_p : R(0.0)};
            UNROLL
            for (int i = 0; i < 2 + pressed; ++i) {
                U[i] += U_k * shared[i];
                if constexpr (PRESSURE) p[i] += p_k * shared[i];
            }
            s.set(OF_U + k, U_k), s.set(OF_P + k, p_k), s.set(OF_X + k, slopes.p_x[own(k)]);
        }
        sum_over_owners(U);
        if constexpr (PRESSURE) sum_over_owners(p);
        __syncwarp();

        // The row of T. A lane computes its columns.
        R theta[owned(NS)];
        FOR_OWN (j, NS) {
            R heat[2] = {U[0], R(0.0)};
            R work[2] = {p[0], R(0.0)};
            UNROLL_BY(4)
            for (int k = 0; k < NS; ++k) {
                const R slope = s[k * LD + j];
                heat[k % 2] += s[OF_U + k] * slope;
                if constexpr (PRESSURE) work[k % 2] += s[OF_P + k] * slope;
            }
            const R p_j = slopes.p_x[own(j)];
            const Changes<R> of_j = column(j, along.U_x[own(j)].d[0] + ((heat[0] + heat[1]) * m.inv_W[j] + U[2] * p_j),
                                           along.p_x[own(j)].d[0] + ((work[0] + work[1]) * m.inv_W[j] + p[2] * p_j),
                                           slopes.U_x[own(j)], p_j);
            s.set(NS * LD + j, -of_j.T);
            theta[own(j)] = of_j.theta;
        }
        const Changes<R> of_T = column(NS, along.U_T.d[0] + (U[1] + U[2] * slopes.p_T),
                                       along.p_T.d[0] + (p[1] + p[2] * slopes.p_T), slopes.U_T, slopes.p_T);
        if (owns(NS)) s.set(NS * LD + NS, d - of_T.T);
        __syncwarp();

        // The rows of the species. A lane computes its rows.
        if constexpr (PRESSURE) {
            FOR_OWN (j, NS) s.set(OF_U + j, theta[own(j)]);
            __syncwarp();
        }
        FOR_OWN (i, NS) {
            const R x = z[own(i)];
            const R W = R(m.W[i]);
            const R common = s[M::LANES_COMMON + i];
            const R in_p = pressed ? s[M::LANES_P + i] * inv_p : R(0.0);
            UNROLL_BY(4)
            for (int j = 0; j < NS; ++j) {
                R slope = (s[i * LD + j] + common) * m.inv_W[j];
                if constexpr (pressed) slope += in_p * s[OF_X + j];
                slope = W * slope;
                if constexpr (PRESSURE) slope += x * s[OF_U + j];
                s.set(i * LD + j, -slope);
            }
            const R slope = W * (s[i * LD + NS] + in_p * slopes.p_T);
            s.set(i * LD + NS, -(slope + x * of_T.theta)), s.set(i * LD + i, s[i * LD + i] + (d - c.theta));
        }
        __syncwarp();
    }
};

// An integration whose points are shared by the lanes takes this system.
template <bool PRESSURE, class M> struct SystemOf<false, PRESSURE, M, point> {
    typedef LanesSystem<PRESSURE, M, point> type;
};

template <bool PRESSURE, class M> struct SystemOf<true, PRESSURE, M, point> {
    typedef LanesSystem<PRESSURE, M, point> type;
};

// work(z) with the unknowns of a point
template <class M, class R, class Species, class Work>
POINT_FN bool of_unknowns(const M &, const R T, const R rho, const Species &Y, const Work &work) {
    R z[owned(M::NS + 1)];
    FOR_OWN (k, M::NS) z[own(k)] = rho * Y[k];
    if (owns(M::NS)) z[own(M::NS)] = T;
    work(z);
    return true;
}

template <class M, class R, class At, class Next>
POINT_FN void volume_jacobian_from_queue(const M &m, const R, const At &at, const Next &next) {
    typedef LanesSystem<false, M, R> System;
    const LanesMemory s(M::LANES_ROWS);
    UNROLL_BY(1)
    while (next())
        at([&](const R T, const R rho, const auto &Y, const auto &J_cv) {
            return of_unknowns(m, T, rho, Y, [&](const R *z) {
                R f[owned(System::N)];
                System::matrix(m, s, z, R(0.0), f);
                FOR_OWN (i, System::N) {
                    UNROLL_BY(4)
                    for (int j = 0; j < System::N; ++j) J_cv.set(i * System::N + j, -s[i * System::LD + j]);
                }
                __syncwarp();
            });
        });
}

template <class M, class R, class At, class Next>
POINT_FN void volume_implicit_from_queue(const M &m, const R, const At &at, const Next &next) {
    LanesSystem<false, M, R, false> system(m);
    UNROLL_BY(1)
    while (next())
        at([&](const R T, const R rho, const auto &Y, const R dt, const auto &implicit_cv) {
            return of_unknowns(m, T, rho, Y, [&](const R *z) {
                R f[owned(M::NS + 1)];
                system.prepare(m, z, R(1.0 / dt), f);
                system.solve(m, f);
                FOR_OWN (i, M::NS + 1) implicit_cv.set(i, f[own(i)]);
            });
        });
}

template <class... A> POINT_FN void ideal_volume_jacobian_from_queue(A &&...a) { volume_jacobian_from_queue(a...); }
template <class... A> POINT_FN void ideal_volume_implicit_from_queue(A &&...a) { volume_implicit_from_queue(a...); }
