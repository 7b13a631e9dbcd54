// Derivatives of the rates, analytic. The variables are T and the partial densities x_k = rho Y_k: rates of a real gas
// depend on ln gamma(T, x), pressures on p(T, x) (partial_densities.h).
//
// A rate coefficient is differentiated by its own body on dual numbers. The products of concentrations are
// differentiated by hand.
#pragma once
#ifndef ON_DEVICE
#include <stdio.h>
#include <stdlib.h>
#endif
#include "gas/equations/partial_densities.h"
#include "gas/kinetics/rates.h"

constexpr double LEAST_THIRD = 1e-30; // mol/m3; less of a collider counts as this much, so that k/[M] is finite

// Whether a thread of a GPU has matrices of species in registers: the compiler then knows every index.
template <class M> POINT_FN constexpr bool in_registers() {
#ifdef ON_DEVICE
    return M::RATES_WRITTEN && SPECIES_ARRAYS;
#else
    return false;
#endif
}

// Whether the slopes by colliders are written out, as the reactions are.
template <class M> POINT_FN constexpr bool colliders_written() {
#ifdef ON_DEVICE
    return in_registers<M>();
#else
    return M::RATES_WRITTEN;
#endif
}

// An array of a body. A large array is not on a host's stack: a matrix of packs of 1268 species takes 100 MB.
#ifdef ON_DEVICE
constexpr size_t ON_STACK = ~size_t(0);
#else
constexpr size_t ON_STACK = 512 << 10; // bytes
#endif

template <class R, long COUNT, bool SMALL = (sizeof(R) * COUNT <= ON_STACK)> struct Room {
    R at[COUNT];
    POINT_FN operator R *() { return at; }
    POINT_FN operator const R *() const { return at; }
};

#ifndef ON_DEVICE
template <class R, long COUNT> struct Room<R, COUNT, false> {
    R *const at = (R *)aligned_alloc(64, (sizeof(R) * COUNT + 63) / 64 * 64);

    Room() {
        if (at) return;
        fprintf(stderr, "no memory for a matrix of %ld MB\n", long(sizeof(R) * COUNT >> 20));
        abort();
    }

    Room(const Room &) = delete;
    ~Room() { free(at); }

    operator R *() { return at; }
    operator const R *() const { return at; }
};
#endif

template <class M> POINT_FN constexpr bool with_gamma() { return !M::equation_ideal && !M::kinetics_concentration; }

// Net production [kg/m3/s]
template <class M, class R>
POINT_FN void production(const M &m, const R T, const R *x, const Partial<M, R> &state, R *w) {
    Reacting<M, R> s;
    const R p = partial_pressure(m, state);

    if constexpr (with_gamma<M>()) {
        R ln_gamma[M::NS], slope[M::NS];
        partial_activities(m, state, ln_gamma, slope);
        reacting<true>(m, T, p, R(1.0), x, ln_gamma, s);
    } else reacting<true>(m, T, p, R(1.0), x, Absent(), s);

    // A state that is NaN makes every rate NaN.
    const R start = 0.0 * (p * s.inv_T);
    FOR_SPECIES (k, M::NS) w[k] = start;
    add_net_rates(m, s, w);
    FOR_SPECIES (k, M::NS) w[k] = w[k] * m.W[k];
}

// Net production w_i and its slopes.
template <class M, class R, int LD> struct Slopes {
    static constexpr int NS = M::NS;
    static constexpr int GS = with_gamma<M>() ? NS * NS : 1;
    static constexpr bool walked = GS > 1 && !M::kinetics_fugacity; // G by the reactions
    static constexpr bool pressed = M::RATES_PRESSED;

    R w[NS];                                     // the production itself
    R T[NS];                                     // in T at constant c
    R p[pressed ? NS : 1];                       // in ln p
    R common[NS];                                // in every c_k, by colliders
    Room<R, LD * LD> J;                          // in c_j, at i LD + j
    Room<R, GS> G;                               // in ln gamma_k, for `consistent` rates
    Room<R, (M::RATE_COLLIDERS + 1) * NS> third; // in [M]
};

// Intermediate results of the slopes, beside the activities. They are one structure: NVRTC 13.0 put E and inv_third, as
// variables, into the memory of arrays of rate_coefficients.
template <class M, class R> struct SlopeParts {
    Reacting<M, Dual<R, 2>> d; // rate coefficients only; directions T and (ln [M] or ln p)
    R E[M::NS];                // 1/I
    R L_T[M::NS];              // slope of the potential L in T
    R inv_third[M::RATE_COLLIDERS + 1];
    RateState<R, const R *> state; // for slopes of rate coefficients in concentrations
};

// Fills Slopes, reaction by reaction. S, Parts, O: Reacting, SlopeParts, Slopes, or types with their fields
template <class M, class R, int LD, class S, class Parts, class O> struct SlopeWalker {
    static constexpr int NS = M::NS;
    const M &m;
    const S &s; // activities
    const Parts &parts;
    O &o;

    // Adds the rate q = bare k [M] of a reaction. bare: the products of concentrations; number, collider: of k and of
    // the third body; back: the reverse rate; back_T: its slope in T, beside k's; net(add): calls add(i, nu) for each
    // species that changes
    template <class Net>
    POINT_FN void rate(const R bare, const int number, const int collider, const R back_T, const R back,
                       const Net &net) const {
        const Dual<R, 2> own = parts.d.k[number];
        const bool multiplied = collider < M::RATE_COLLIDERS;
        const R third = multiplied ? s.third[collider] : R(1.0);
        const R by_k = bare * third;
        const R q = by_k * own.v;
        const R q_T = by_k * own.d[0] - back_T;
        const R q_z = by_k * own.d[1];
        const R q_M = bare * own.v;

        const bool blended = number >= M::RATE_EXPONENTS && number < M::RATE_EXPONENTS + M::RATE_FALLOFFS;
        const bool pressed = number >= M::RATE_EXPONENTS + M::RATE_FALLOFFS;

        // Production, and its slope in T.
        net([&](int i, const scalar nu) INLINED {
            o.w[i] += nu * q;
            o.T[i] += nu * q_T;
        });

        // Slopes in what k depends on: the third body, of a falloff its own one, the pressure, concentrations.
        if (multiplied) net([&](int i, const scalar nu) INLINED { o.third[collider * NS + i] += nu * q_M; });

        if (blended) {
            const int of = M::falloff_collider(number - M::RATE_EXPONENTS);
            const R slope = q_z * parts.inv_third[of];
            net([&](int i, const scalar nu) INLINED { o.third[of * NS + i] += nu * slope; });
        }

        if constexpr (Slopes<M, R, LD>::pressed) {
            if (pressed) net([&](int i, const scalar nu) INLINED { o.p[i] += nu * q_z; });
        }
        if constexpr (M::RATES_MIXED > 0) {
            const int mixed = number - (M::RATE_EXPONENTS + M::RATE_FALLOFFS + M::RATES_TABLED - M::RATES_MIXED);
            if (mixed >= 0) mixture(mixed, by_k, own, net);
        }

        // Slopes in ln gamma.
        if constexpr (Slopes<M, R, LD>::walked)
            net([&](int i, const scalar nu) INLINED {
                net([&](int j, const scalar other) INLINED { o.G[i * NS + j] -= (nu * other) * back; });
            });
    }

    // Adds the slopes of a rate coefficient that depends on concentrations, as a third body does.
    template <class Net>
    POINT_FN void mixture(const int which, const R by_k, const Dual<R, 2> &k, const Net &net) const {
        const scalar *const at = m.reaction_tabled + M::mixed_place(which);
        linear_burke_slopes<M>(at, parts.state, k.v, k.d[1], [&](const int collider, const R slope) INLINED {
            const R q = by_k * slope;
            net([&](int i, const scalar nu) INLINED { o.third[collider * NS + i] += nu * q; });
        });
    }

    // A reaction of A reactants and B products. at: their species, reactants first; a species with coefficient 2 is
    // listed twice. J(i, j): the slope of the i-th species of the list in the j-th
    template <int A, int B, class Species, class Slope>
    POINT_FN void pair(const scalar factor, const int number, const int collider, const scalar reversible,
                       const Species &at, const Slope &J) const {
        const auto each = [&](const auto &use) INLINED {
            UNROLL
            for (int i = 0; i < A + B; ++i)
                if (!on_both_sides<A, B>(at, i)) use(i, i < A ? -1.0 : 1.0);
        };

        const auto net = [&](const auto &add)
                             INLINED { each([&](int i, const double nu) INLINED { add(at[i], nu); }); };

        // Concentrations are c = I D; all reactants' I are a factor of both directions.
        R scale = factor * s.I[at[0]];
        R before = s.D[at[0]];
        R of_L = parts.L_T[at[A]] - parts.L_T[at[0]];

        UNROLL
        for (int j = 1; j < A; ++j) {
            scale = scale * s.I[at[j]];
            before = before * s.D[at[j]];
            of_L -= parts.L_T[at[j]];
        }

        R after = reversible * s.D[at[A]];
        UNROLL
        for (int j = A + 1; j < A + B; ++j) {
            after = after * s.D[at[j]];
            of_L += parts.L_T[at[j]];
        }

        R all = parts.d.k[number].v;
        if (collider < M::RATE_COLLIDERS) all = all * s.third[collider];
        const R scaled = all * scale;
        const R back = scaled * after;
        rate(scale * (before - after), number, collider, back * of_L, back, net);

        // Slopes in the concentrations of reactants, then of products.
        UNROLL
        for (int j = 0; j < A; ++j) {
            R slope = factor * all;
            UNROLL
            for (int l = 0; l < A; ++l)
                if (l != j) slope = slope * s.c[at[l]];
            each([&](int i, const double nu) INLINED { J(i, j) += nu * slope; });
        }

        if (reversible > 0) {
            UNROLL
            for (int j = A; j < A + B; ++j) {
                R slope = scaled * parts.E[at[j]];
                UNROLL
                for (int l = A; l < A + B; ++l)
                    if (l != j) slope = slope * s.D[at[l]];
                each([&](int i, const double nu) INLINED { J(i, j) -= nu * slope; });
            }
        }
    }

    template <int A, int B, int NUMBER, int K, int THIRD, int REVERSIBLE, int... AT>
    POINT_FN void written(const scalar factor, Indices<A, B, NUMBER, K, THIRD, REVERSIBLE, AT...>) const {
        constexpr int at[] = {AT...};
        pair<A, B>(factor, K, THIRD, REVERSIBLE, at,
                   [&](int i, int j) INLINED -> R & { return o.J[at[i] * LD + at[j]]; });
    }

    // Reactions of a table, from `row` on. Returns where they end
    template <int A, int B> POINT_FN const scalar *pairs(const scalar *row, const int count) const {
        UNROLL_BY(1)
        for (int i = 0; i < count; ++i, row += 5 + A + B) {
            long at[A + B];
            R *line[A + B]; // rows of J: an address is then a sum of two numbers
            UNROLL
            for (int j = 0; j < A + B; ++j) at[j] = whole_number(row[5 + j]), line[j] = o.J + at[j] * LD;
            pair<A, B>(row[0], whole_number(row[2]), whole_number(row[3]), row[4], at,
                       [&](int i, int j) INLINED -> R & { return line[i][at[j]]; });
        }

        return row;
    }

    // use(species, d prod c^order/dc) for each term of `factors`
    template <class Use>
    POINT_FN void factor_slopes(const scalar *term, const int count, const R scale, const Use &use) const {
        UNROLL_BY(1)
        for (int t = 0; t < count; ++t) {
            const R c = s.c[whole_number(term[3 * t])];
            const scalar order = term[3 * t + 1];
            R slope = scale * order;
            if (term[3 * t + 2] > 0) {
                UNROLL_BY(1)
                for (int n = whole_number(order); n > 1; --n) slope = slope * c;
            } else slope = slope * select(c > 0.0, exp((order - 1) * log(at_least(c, LEAST_THIRD))), R(0.0));
            slope = factors(s.c, term, t, slope);
            use(whole_number(term[3 * t]), factors(s.c, term + 3 * (t + 1), count - t - 1, slope));
        }
    }

    // A reaction with any number of species and any orders. Returns where its row ends
    POINT_FN const scalar *other(const scalar *row) const {
        const OtherReaction r = other_reaction(row);
        const int number = whole_number(row[2]);
        const int collider = whole_number(row[3]);
        const auto net = [&](const auto &add) INLINED {
            UNROLL_BY(1)
            for (int t = 0; t < r.net; ++t) add(whole_number(r.n[2 * t]), r.n[2 * t + 1]);
        };

        R all = row[0] * parts.d.k[number].v;
        if (collider < M::RATE_COLLIDERS) all = all * s.third[collider];

        // Forward rate, and the reverse rate by the change of the potentials.
        const R there = factors(s.c, r.f, r.forward, R(row[0]));
        R bare = there;
        R back = 0.0 * there;
        R of_L = R(0.0);

        if (row[4] > 0) {
            R ln = row[5] + row[6] * s.inv_T;
            of_L = -row[6] * (s.inv_T * s.inv_T);
            net([&](int i, const scalar nu) INLINED {
                ln += nu * s.L[i];
                of_L += nu * parts.L_T[i];
            });
            const R inverse = exp(at_most(ln, REVERSE));
            bare = there - factors(s.c, r.r, r.reverse, row[0] * inverse);
            back = factors(s.c, r.r, r.reverse, all * inverse);
            factor_slopes(r.r, r.reverse, R(all * inverse), [&](int j, const R slope) INLINED {
                net([&](int i, const scalar nu) INLINED { o.J[i * LD + j] -= nu * slope; });
            });
        }

        rate(bare, number, collider, back * of_L, back, net);
        factor_slopes(r.f, r.forward, all, [&](int j, const R slope) INLINED {
            net([&](int i, const scalar nu) INLINED { o.J[i * LD + j] += nu * slope; });
        });
        return r.end;
    }
};

// Slopes by colliders. d[M]/dc_k is the collider's common efficiency; some species differ from it: o.common[i] is the
// slope in every c_k, use(i, k, slope) adds the differences. The table has for each collider the counts of rows and of
// special species, the rows, then each special species with its difference.
template <class M, class R, int LD, class Use>
POINT_FN void collider_slopes(const M &m, Slopes<M, R, LD> &o, const Use &use) {
    const scalar *at = m.reaction_specials;
    FOR_SPECIES (i, M::NS) o.common[i] = R(0.0);

    if constexpr (colliders_written<M>()) {
        UNROLL_IF(in_registers<M>())
        for (int j = 0; j < M::RATE_COLLIDERS; ++j)
            FOR_SPECIES (i, M::NS) o.common[i] += m.reaction_defaults[j] * o.third[j * M::NS + i];

        M::written_specials([&](const int place, const int j, const int i, const int k) {
            use(i, k, R(at[place] * o.third[j * M::NS + i]));
        });
    } else {
        UNROLL_BY(1)
        for (int j = 0; j < M::RATE_COLLIDERS; ++j) {
            const int rows = whole_number(at[0]);
            const int specials = whole_number(at[1]);
            const scalar *const special = at + 2 + rows;

            UNROLL_BY(1)
            for (int r = 0; r < rows; ++r) {
                const int i = whole_number(at[2 + r]);
                const R slope = o.third[j * M::NS + i];
                o.common[i] += m.reaction_defaults[j] * slope;
                UNROLL_BY(1)
                for (int n = 0; n < specials; ++n) use(i, whole_number(special[2 * n]), R(special[2 * n + 1] * slope));
            }

            at = special + 2 * specials;
        }
    }
}

// Zeros where collider_slopes reads.
template <class M, class R, int LD> POINT_FN void clear_colliders(const M &m, Slopes<M, R, LD> &o) {
    if constexpr (colliders_written<M>()) {
        UNROLL_IF(in_registers<M>())
        for (int i = 0; i < M::RATE_COLLIDERS * M::NS; ++i) o.third[i] = R(0.0);
    } else {
        const scalar *at = m.reaction_specials;
        UNROLL_BY(1)
        for (int j = 0; j < M::RATE_COLLIDERS; ++j) {
            const int rows = whole_number(at[0]);
            const int specials = whole_number(at[1]);
            UNROLL_BY(1)
            for (int r = 0; r < rows; ++r) o.third[j * M::NS + whole_number(at[2 + r])] = R(0.0);
            at += 2 + rows + 2 * specials;
        }
    }
}

// Fills Slopes but for `common`; o.J is 0 already where reactions add to it. s: activities; ln_gamma, ln_gamma_T: of a
// real gas, with its slope in T
template <class M, class R, int LD>
PART_FN void reaction_slopes(const M &m, const R T_given, const R *x, const Partial<M, R> &state,
                             const PartialSlopes<M, R> &slopes, Reacting<M, R> &s, R *ln_gamma, R *ln_gamma_T,
                             Slopes<M, R, LD> &o) {
    constexpr int NS = M::NS;
    constexpr int COLLIDERS = M::RATE_COLLIDERS;
    constexpr bool real = with_gamma<M>();
    constexpr bool fugacity = real && M::kinetics_fugacity;
    const R T = reacting_temperature(T_given);
    const R p = slopes.p;
    SlopeParts<M, R> parts;
    Reacting<M, Dual<R, 2>> &d = parts.d;

    // Activities, and the slopes of the potentials in T.
    if constexpr (real) {
        partial_activities(m, state, ln_gamma, ln_gamma_T);
        activities<true>(m, T, R(1.0), x, ln_gamma, s);
    } else activities<true>(m, T, R(1.0), x, Absent(), s);
    const Dual<R> along = moving(T, R(1.0)), ln_along = log(along), inv_along = 1.0 / along;

    FOR_SPECIES (k, NS) {
        parts.E[k] = 1.0 / s.I[k];
        parts.L_T[k] = potential<true>(m, along, ln_along, inv_along, k).d[0];
        if constexpr (real && !fugacity) parts.L_T[k] += ln_gamma_T[k];
    }

    // Rate coefficients on dual numbers.
    Dual<R, 2> T_d = still<2>(T), p_d = still<2>(p);
    T_d.d[0] = R(1.0);
    p_d.d[1] = p;
    d.inv_T = 1.0 / T_d;

    UNROLL_IF(in_registers<M>())
    for (int j = 0; j < COLLIDERS; ++j) {
        const R third = at_least(s.third[j], LEAST_THIRD);
        d.third[j] = still<2>(third);
        d.third[j].d[1] = third;
        parts.inv_third[j] = 1.0 / third;
    }

    parts.inv_third[COLLIDERS] = R(1.0);
    d.third[COLLIDERS] = Dual<R, 2>(1.0);

    if constexpr (M::RATES_MIXED > 0) {
        FOR_SPECIES (k, NS) d.C[k] = still<2>(s.C[k]);
        const R *const C = s.C;
        parts.state = rate_state(T, R(log(T)), s.inv_T, ln_pressure<M>(p), C);
    }

    rate_coefficients<true>(m, T_d, p_d, d);

    // Sums begin at zero, or at NaN for a state that is NaN.
    const R start = 0.0 * (p * s.inv_T);
    FOR_SPECIES (k, NS) o.w[k] = o.T[k] = start;
    if constexpr (Slopes<M, R, LD>::pressed) {
        FOR_SPECIES (k, NS) o.p[k] = R(0.0);
    }
    if constexpr (Slopes<M, R, LD>::walked) {
        UNROLL_IF(in_registers<M>())
        for (int i = 0; i < NS * NS; ++i) o.G[i] = R(0.0);
    }
    clear_colliders(m, o);

    walk_reactions<R>(m, SlopeWalker<M, R, LD, Reacting<M, R>, SlopeParts<M, R>, Slopes<M, R, LD>>{m, s, parts, o});
}

// Slopes of the net production in moles. o.T is complete. o.J lacks the parts that every column of a row gets: by third
// bodies (o.common), ln gamma (o.G) and p (o.p).
template <class M, class R>
POINT_FN void slopes_in_moles(const M &m, const R T, const R *x, const Partial<M, R> &state,
                              const PartialSlopes<M, R> &slopes, Slopes<M, R, M::NS> &o) {
    constexpr int NS = M::NS;
    constexpr bool real = with_gamma<M>();
    constexpr bool fugacity = real && M::kinetics_fugacity;
    Reacting<M, R> s;
    R ln_gamma[real ? NS : 1], ln_gamma_T[real ? NS : 1];

    UNROLL_IF(in_registers<M>())
    for (int i = 0; i < NS * NS; ++i) o.J[i] = R(0.0);
    reaction_slopes(m, T, x, state, slopes, s, ln_gamma, ln_gamma_T, o);

    // Rates in fugacities: a slope in c_k is one in ln gamma_k, too.
    if constexpr (fugacity) {
        R gamma[NS];
        FOR_SPECIES (k, NS) gamma[k] = exp(ln_gamma[k]);

        FOR_SPECIES (i, NS) {
            FOR_SPECIES (k, NS) {
                const R slope = o.J[i * NS + k];
                const R in_ln = slope * s.c[k];
                o.G[i * NS + k] = in_ln;
                o.T[i] += in_ln * ln_gamma_T[k];
                o.J[i * NS + k] = slope * gamma[k];
            }
        }
    }

    // From ln p to p, whose slope in T is known.
    if constexpr (Slopes<M, R, NS>::pressed) {
        const R inv_p = 1.0 / slopes.p;
        FOR_SPECIES (i, NS) {
            o.p[i] = o.p[i] * inv_p;
            o.T[i] += o.p[i] * slopes.p_T;
        }
    }

    collider_slopes(m, o, [&](int i, int k, const R slope) INLINED { o.J[i * NS + k] += slope; });
}

// The slopes in mass, row by row: use(i, in_x, in_T), where in_x(k) is d w_i/d x_k.
template <class M, class R, class Use>
POINT_FN void slope_rows(const M &m, const Partial<M, R> &state, const PartialSlopes<M, R> &slopes,
                         const Slopes<M, R, M::NS> &o, const Use &use) {
    constexpr int NS = M::NS;
    constexpr bool pressed = Slopes<M, R, NS>::pressed;

    FOR_SPECIES (i, NS) {
        const R W = R(m.W[i]);
        const R common = W * o.common[i];
        const auto of_reactions = [&](int k) INLINED { return R((W * o.J[i * NS + k] + common) * m.inv_W[k]); };
        const R in_T = W * o.T[i];

        if constexpr (with_gamma<M>() || pressed) {
            R row[NS];
            FOR_SPECIES (k, NS) row[k] = of_reactions(k);
            if constexpr (with_gamma<M>())
                activity_curvature(m, state, o.G + i * NS, [&](int k, const R slope) { row[k] += W * slope; });
            if constexpr (pressed) {
                const R in_p = W * o.p[i];
                FOR_SPECIES (k, NS) row[k] += in_p * slopes.p_x[k];
            }
            use(i, [&](int k) INLINED { return row[k]; }, in_T);
        } else use(i, of_reactions, in_T);
    }
}

// The same from T, rho and Y.
template <class M, class R, class Species, class Use>
POINT_FN void slope_rows_of(const M &m, const R T, const R rho, const Species &Y, const Use &use) {
    R x[M::NS];
    FOR_SPECIES (k, M::NS) x[k] = rho * Y[k];
    Partial<M, R> state;
    PartialSlopes<M, R> slopes;
    Slopes<M, R, M::NS> o;

    partial_state<true>(m, T, x, state);
    partial_slopes(m, x, state, slopes);
    slopes_in_moles(m, T, x, state, slopes, o);
    slope_rows(m, state, slopes, o, use);
}

template <class M, class R, class Species, class OutX, class OutT>
POINT_FN void production_slopes(const M &m, const R T, const R rho, const Species &Y, OutX &omega_rho, OutT &omega_T) {
    slope_rows_of(m, T, rho, Y, [&](int i, const auto &in_x, const R in_T) INLINED {
        FOR_SPECIES (k, M::NS) set_past(omega_rho, i * M::NS + k, in_x(k));
        omega_T.set(i, in_T);
    });
}

template <class M, class R, class Species>
POINT_FN void slope_time(const M &m, const R T, const R rho, const Species &Y, R &tau_slopes) {
    R fastest = R(1e-30);
    slope_rows_of(m, T, rho, Y, [&](int, const auto &in_x, const R) INLINED {
        R row = R(0.0);
        FOR_SPECIES (k, M::NS) row += fabs(in_x(k));
        fastest = select(row > fastest, row, select(row < 1e300, fastest, row)); // NaN if a row is NaN
    });

    tau_slopes = 1.0 / fastest;
}

// at constant T and p: d rho_k/dY_j = rho delta_kj + Y_k rho_Yj
template <class M, class R, class Matrix, class Species, class Slope, class Out>
POINT_FN void production_in_composition(const M &, const R rho, const Species &Y, const Slope &rho_Y,
                                        const Matrix &omega_rho, Out &omega_Y) {
    FOR_SPECIES (i, M::NS) {
        R all = R(0.0);
        FOR_SPECIES (k, M::NS) all += omega_rho[i * M::NS + k] * Y[k];
        FOR_SPECIES (j, M::NS) omega_Y.set(i * M::NS + j, rho * omega_rho[i * M::NS + j] + all * rho_Y[j]);
    }
}
