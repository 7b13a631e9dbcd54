// Derivatives of the rates, analytic, and reactors that are made of them. Everything is of T and the partial densities
// x_k = rho Y_k: rates of a real gas go with ln gamma(T, x), pressures with p(T, x) (partial_densities.h).
//
// A rate coefficient is differentiated by the body that makes it, on dual numbers; the products by hand.
#pragma once
#ifndef ON_DEVICE
#include <stdio.h>
#include <stdlib.h>
#endif
#include "point/equations/partial_densities.h"
#include "point/kinetics.h"

constexpr double LEAST_THIRD = 1e-30; // mol/m3: less of a collider counts as this, so that k/[M] is a number

#ifdef LANES
#define FOR_UNKNOWNS(i, count) FOR_OWN (i, count)
#else
#define FOR_UNKNOWNS(i, count) UNROLL_BY(SPECIES_UNROLL + 1) for (int i = 0; i < (count); ++i)
#endif

// Whether a thread of a GPU has matrices of species in registers: every index is known to the compiler then.
template <class M> POINT_FN constexpr bool in_registers() {
#ifdef ON_DEVICE
    return M::RATES_WRITTEN && SPECIES_ARRAYS;
#else
    return false;
#endif
}

// Whether what colliders do is written out, as the reactions are.
template <class M> POINT_FN constexpr bool colliders_written() {
#ifdef ON_DEVICE
    return in_registers<M>();
#else
    return M::RATES_WRITTEN;
#endif
}

// An array of a body's own. Large ones are not on a host's stack: of 1268 species a matrix of packs takes 100 MB.
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

#ifndef LANES
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
    const R start = 0.0 * (p * s.inv_T);
    FOR_SPECIES (k, M::NS) w[k] = start;
    add_net_rates(m, s, w);
    FOR_SPECIES (k, M::NS) w[k] = w[k] * m.W[k];
}
#endif

// Net production w_i and its slopes: J[i LD + j] in c_j, T at constant c; G in ln gamma_k of `consistent` rates; third
// in [M]; common in every c_k, by colliders; p in ln p.
template <class M, class R, int LD> struct Slopes {
    static constexpr int NS = M::NS, GS = with_gamma<M>() ? NS * NS : 1;
    static constexpr bool walked = GS > 1 && !M::kinetics_fugacity; // G by the reactions
    static constexpr bool pressed = M::RATE_PLOGS + M::RATE_CHEBYSHEVS > 0;
    R w[NS], T[NS], p[pressed ? NS : 1], common[NS];
    Room<R, LD * LD> J;
    Room<R, GS> G;
    Room<R, (M::RATE_COLLIDERS + 1) * NS> third;
};

// What they are made of beside the activities. d: rate coefficients only, directions T and (ln [M] or ln p); E: 1/I.
// One structure: NVRTC 13.0 put E and inv_third, as variables of their own, where rate_coefficients has arrays.
template <class M, class R> struct SlopeParts {
    Reacting<M, Dual<R, 2>> d;
    R E[M::NS], L_T[M::NS], inv_third[M::RATE_COLLIDERS + 1];
};

// The walker that fills them. s: activities. S, Parts, O: Reacting, SlopeParts, Slopes, or what looks like them
template <class M, class R, int LD, class S, class Parts, class O> struct SlopeWalker {
    static constexpr int NS = M::NS;
    const M &m;
    const S &s;
    const Parts &parts;
    O &o;

    // q of a reaction by its parts: all but the collider and k; the collider's number; k's number; r and its slope in T
    template <class Net>
    POINT_FN void rate(const R bare, const int number, const int collider, const R back_T, const R back,
                       const Net &net) const {
        const Dual<R, 2> own = parts.d.k[number];
        const bool multiplied = collider < M::RATE_COLLIDERS;
        const R third = multiplied ? s.third[collider] : R(1.0), by_k = bare * third, q = by_k * own.v,
                q_T = by_k * own.d[0] - back_T, q_z = by_k * own.d[1], q_M = bare * own.v;
        const bool blended = number >= M::RATE_EXPONENTS && number < M::RATE_EXPONENTS + M::RATE_FALLOFFS;
        const bool pressed = number >= M::RATE_EXPONENTS + M::RATE_FALLOFFS;
        net([&](int i, const scalar nu) INLINED {
            o.w[i] += nu * q;
            o.T[i] += nu * q_T;
        });
        if (multiplied) net([&](int i, const scalar nu) INLINED { o.third[collider * NS + i] += nu * q_M; });
        if (blended) {
            const int of = M::falloff_collider(number - M::RATE_EXPONENTS);
            const R slope = q_z * parts.inv_third[of];
            net([&](int i, const scalar nu) INLINED { o.third[of * NS + i] += nu * slope; });
        }
        if constexpr (Slopes<M, R, LD>::pressed) {
            if (pressed) net([&](int i, const scalar nu) INLINED { o.p[i] += nu * q_z; });
        }
        if constexpr (Slopes<M, R, LD>::walked)
            net([&](int i, const scalar nu) INLINED {
                net([&](int j, const scalar other) INLINED { o.G[i * NS + j] -= (nu * other) * back; });
            });
    }

    // J(i, j): that of the i-th and the j-th of the species
    template <int A, int B, class Species, class Slope>
    POINT_FN void pair(const scalar factor, const int number, const int collider, const scalar reversible,
                       const Species &at, const Slope &J) const {
        const auto net = [&](const auto &add) INLINED {
            UNROLL
            for (int i = 0; i < A + B; ++i) add(at[i], i < A ? -1.0 : 1.0);
        };
        R scale = factor * s.I[at[0]], before = s.D[at[0]], of_L = parts.L_T[at[A]] - parts.L_T[at[0]];
        UNROLL
        for (int j = 1; j < A; ++j) {
            scale = scale * s.I[at[j]], before = before * s.D[at[j]];
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
        const R scaled = all * scale, back = scaled * after;
        rate(scale * (before - after), number, collider, back * of_L, back, net);
        UNROLL
        for (int j = 0; j < A; ++j) {
            R slope = factor * all;
            UNROLL
            for (int l = 0; l < A; ++l)
                if (l != j) slope = slope * s.c[at[l]];
            UNROLL
            for (int i = 0; i < A + B; ++i) J(i, j) += (i < A ? -1.0 : 1.0) * slope;
        }
        if (reversible > 0) {
            UNROLL
            for (int j = A; j < A + B; ++j) {
                R slope = scaled * parts.E[at[j]];
                UNROLL
                for (int l = A; l < A + B; ++l)
                    if (l != j) slope = slope * s.D[at[l]];
                UNROLL
                for (int i = 0; i < A + B; ++i) J(i, j) -= (i < A ? -1.0 : 1.0) * slope;
            }
        }
    }

    template <int A, int B, int NUMBER, int K, int THIRD, int REVERSIBLE, int... AT>
    POINT_FN void written(const scalar factor, Indices<A, B, NUMBER, K, THIRD, REVERSIBLE, AT...>) const {
        constexpr int at[] = {AT...};
        pair<A, B>(factor, K, THIRD, REVERSIBLE, at,
                   [&](int i, int j) INLINED -> R & { return o.J[at[i] * LD + at[j]]; });
    }
    template <int A, int B> POINT_FN const scalar *pairs(const scalar *row, const int count) const {
        UNROLL_BY(1)
        for (int i = 0; i < count; ++i, row += 5 + A + B) {
            long at[A + B];
            R *line[A + B]; // so that an address is a sum of two
            UNROLL
            for (int j = 0; j < A + B; ++j) at[j] = whole_number(row[5 + j]), line[j] = o.J + at[j] * LD;
            pair<A, B>(row[0], whole_number(row[2]), whole_number(row[3]), row[4], at,
                       [&](int i, int j) INLINED -> R & { return line[i][at[j]]; });
        }
        return row;
    }

    // use(species, d prod c^order/dc) of the terms of `factors`
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
    POINT_FN const scalar *other(const scalar *row) const {
        const OtherReaction r = other_reaction(row);
        const int number = whole_number(row[2]), collider = whole_number(row[3]);
        const auto net = [&](const auto &add) INLINED {
            UNROLL_BY(1)
            for (int t = 0; t < r.net; ++t) add(whole_number(r.n[2 * t]), r.n[2 * t + 1]);
        };
        R all = row[0] * parts.d.k[number].v;
        if (collider < M::RATE_COLLIDERS) all = all * s.third[collider];
        const R there = factors(s.c, r.f, r.forward, R(row[0]));
        R bare = there, back = 0.0 * there, of_L = R(0.0);
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

// d[M]/dc_k is the collider's common efficiency, and of some species more or less: o.common[i] is the slope in every
// c_k, use(i, k, slope) for what these add; from a table of each collider: rows, special species, the rows, species and
// efficiency
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
            const int rows = whole_number(at[0]), specials = whole_number(at[1]);
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
// 0 where these read
template <class M, class R, int LD> POINT_FN void clear_colliders(const M &m, Slopes<M, R, LD> &o) {
    if constexpr (colliders_written<M>()) {
        UNROLL_IF(in_registers<M>())
        for (int i = 0; i < M::RATE_COLLIDERS * M::NS; ++i) o.third[i] = R(0.0);
    } else {
        const scalar *at = m.reaction_specials;
        UNROLL_BY(1)
        for (int j = 0; j < M::RATE_COLLIDERS; ++j) {
            const int rows = whole_number(at[0]), specials = whole_number(at[1]);
            UNROLL_BY(1)
            for (int r = 0; r < rows; ++r) o.third[j * M::NS + whole_number(at[2 + r])] = R(0.0);
            at += 2 + rows + 2 * specials;
        }
    }
}

// Fills them; J is 0 already, where reactions of the mechanism add to it. s: activities; of a real gas ln gamma and its
// slope in T.
template <class M, class R, int LD>
PART_FN void reaction_slopes(const M &m, const R T_given, const R *x, const Partial<M, R> &state,
                             const PartialSlopes<M, R> &slopes, Reacting<M, R> &s, R *ln_gamma, R *ln_gamma_T,
                             Slopes<M, R, LD> &o) {
    constexpr int NS = M::NS, COLLIDERS = M::RATE_COLLIDERS;
    constexpr bool real = with_gamma<M>(), fugacity = real && M::kinetics_fugacity;
    const R T = reacting_temperature(T_given), p = slopes.p;
    SlopeParts<M, R> parts;
    Reacting<M, Dual<R, 2>> &d = parts.d;
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
    Dual<R, 2> T_d = still<2>(T), p_d = still<2>(p);
    T_d.d[0] = R(1.0), p_d.d[1] = p;
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
    rate_coefficients<true>(m, T_d, p_d, d);

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
    walk_reactions(m, SlopeWalker<M, R, LD, Reacting<M, R>, SlopeParts<M, R>, Slopes<M, R, LD>>{m, s, parts, o});
}

// Slopes of the net production in moles, all but what third bodies, ln gamma and p add to every column of a row: those
// are in o.common, o.G and o.p. o.T is complete.
template <class M, class R>
POINT_FN void slopes_in_moles(const M &m, const R T, const R *x, const Partial<M, R> &state,
                              const PartialSlopes<M, R> &slopes, Slopes<M, R, M::NS> &o) {
    constexpr int NS = M::NS;
    constexpr bool real = with_gamma<M>(), fugacity = real && M::kinetics_fugacity;
    Reacting<M, R> s;
    R ln_gamma[real ? NS : 1], ln_gamma_T[real ? NS : 1];
    UNROLL_IF(in_registers<M>())
    for (int i = 0; i < NS * NS; ++i) o.J[i] = R(0.0);
    reaction_slopes(m, T, x, state, slopes, s, ln_gamma, ln_gamma_T, o);
    if constexpr (fugacity) {
        R gamma[NS];
        FOR_SPECIES (k, NS) gamma[k] = exp(ln_gamma[k]);
        FOR_SPECIES (i, NS) {
            FOR_SPECIES (k, NS) {
                const R slope = o.J[i * NS + k], in_ln = slope * s.c[k];
                o.G[i * NS + k] = in_ln;
                o.T[i] += in_ln * ln_gamma_T[k];
                o.J[i * NS + k] = slope * gamma[k];
            }
        }
    }
    if constexpr (Slopes<M, R, NS>::pressed) {
        const R inv_p = 1.0 / slopes.p;
        FOR_SPECIES (i, NS) {
            o.p[i] = o.p[i] * inv_p;
            o.T[i] += o.p[i] * slopes.p_T;
        }
    }
    collider_slopes(m, o, [&](int i, int k, const R slope) INLINED { o.J[i * NS + k] += slope; });
}

// The slopes in mass, a row after the other: use(i, in_x, in_T), in_x(k) is d w_i/d x_k.
template <class M, class R, class Use>
POINT_FN void slope_rows(const M &m, const Partial<M, R> &state, const PartialSlopes<M, R> &slopes,
                         const Slopes<M, R, M::NS> &o, const Use &use) {
    constexpr int NS = M::NS;
    constexpr bool pressed = Slopes<M, R, NS>::pressed;
    FOR_SPECIES (i, NS) {
        const R W = R(m.W[i]), common = W * o.common[i];
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

template <class M, class R, class Species, class OutX, class OutT>
POINT_FN void production_slopes(const M &m, const R T, const R rho, const Species &Y, OutX &omega_rho, OutT &omega_T) {
    constexpr int NS = M::NS;
    R x[NS];
    FOR_SPECIES (k, NS) x[k] = rho * Y[k];
    Partial<M, R> state;
    PartialSlopes<M, R> slopes;
    Slopes<M, R, NS> o;
    partial_state<true>(m, T, x, state);
    partial_slopes(m, x, state, slopes);
    slopes_in_moles(m, T, x, state, slopes, o);
    const auto past = goes_past(omega_rho, NS * NS);
    slope_rows(m, state, slopes, o, [&](int i, const auto &in_x, const R in_T) INLINED {
        FOR_SPECIES (k, NS) set_past(omega_rho, i * NS + k, in_x(k), past);
        omega_T.set(i, in_T);
    });
}

template <class M, class R, class Species>
POINT_FN void slope_time(const M &m, const R T, const R rho, const Species &Y, R &tau_slopes) {
    constexpr int NS = M::NS;
    R x[NS], fastest = R(1e-30);
    FOR_SPECIES (k, NS) x[k] = rho * Y[k];
    Partial<M, R> state;
    PartialSlopes<M, R> slopes;
    Slopes<M, R, NS> o;
    partial_state<true>(m, T, x, state);
    partial_slopes(m, x, state, slopes);
    slopes_in_moles(m, T, x, state, slopes, o);
    slope_rows(m, state, slopes, o, [&](int, const auto &in_x, const R) INLINED {
        R row = R(0.0);
        FOR_SPECIES (k, NS) row += fabs(in_x(k));
        fastest = select(row > fastest, row, select(row < 1e300, fastest, row)); // NaN where a row is none
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

// ---- closed adiabatic reactors. Unknowns z = (x_1 .. x_ns, T). At constant volume dx_k/dt = w_k and U(T, x) stays; at
// constant pressure the cubic metre also shrinks by theta: dx_k/dt = w_k + theta x_k, p stays and dU/dt = (p + U)
// theta:
//   U_T dT/dt - T p_T theta = -sum U_k w_k,   p_T dT/dt + (sum p_k x_k) theta = -sum p_k w_k.
template <class R> struct Changes {
    R T, theta;
};
template <bool PRESSURE, class M, class R>
POINT_FN Changes<R> changes_of(const M &, const R T, const R *x, const PartialSlopes<M, R> &s, const R *w) {
    R heat = R(0.0);
    FOR_OWN (k, M::NS) heat += s.U_x[own(k)] * w[own(k)];
    heat = summed(heat);
    if constexpr (PRESSURE) {
        R work = R(0.0), stiffness = R(0.0);
        FOR_OWN (k, M::NS) {
            work += s.p_x[own(k)] * w[own(k)];
            stiffness += s.p_x[own(k)] * x[own(k)];
        }
        work = summed(work), stiffness = summed(stiffness);
        const R Tp_T = T * s.p_T, inv = 1.0 / (s.U_T * stiffness + Tp_T * s.p_T);
        return {R(-((heat * stiffness + Tp_T * work) * inv)), R((s.p_T * heat - s.U_T * work) * inv)};
    } else return {R(-(heat / s.U_T)), R(0.0)};
}

template <bool PRESSURE, class M, class R> POINT_FN Changes<R> reactor(const M &m, const R T, const R *x, R *w) {
    Partial<M, R> state;
    PartialSlopes<M, R> s;
    partial_state<true>(m, T, x, state);
    production(m, T, x, state, w);
    partial_slopes(m, x, state, s);
    return changes_of<PRESSURE>(m, T, x, s, w);
}

// f = dz/dt from w, and what the second derivatives of energy and pressure bring to J: their gradient's change along it
template <bool PRESSURE, class M, class R>
POINT_FN Changes<R> change_along(const M &m, const R T, const R *x, const PartialSlopes<M, R> &s, const R *w, R *f,
                                 PartialSlopes<M, Dual<R>> &along) {
    constexpr int NS = M::NS;
    const Changes<R> c = changes_of<PRESSURE>(m, T, x, s, w);
    FOR_OWN (k, NS) f[own(k)] = PRESSURE ? w[own(k)] + x[own(k)] * c.theta : w[own(k)];
    if (owns(NS)) f[own(NS)] = c.T;
    Dual<R> xs[owned(NS)], at;
    at = moving(T, c.T);
    FOR_OWN (k, NS) xs[own(k)] = moving(x[own(k)], f[own(k)]);
    Partial<M, Dual<R>> state;
    partial_state<true>(m, at, xs, state);
    partial_slopes(m, xs, state, along);
    return c;
}

// Of a reactor's Jacobian df/dz what is not production: its row of T; at constant pressure the slopes of theta.
template <bool PRESSURE, class M, class R> struct JacobianEnds {
    static constexpr int NS = M::NS, N = NS + 1;
    R T[N], theta[PRESSURE ? N : 1], stiffness; // sum p_k x_k, and slopes: there before the first row
    Changes<R> c;
    PartialSlopes<M, R> slopes;
};

// f = dz/dt, and row by row the slopes of the production, by use(i, in_x, in_T) as slope_rows, where in_x(k) is called
// once for each k; then the ends. With what shrinks at constant pressure, J_ij = slope + x_i theta_j + theta delta_ij.
template <bool PRESSURE, class M, class R, class Use>
POINT_FN void reactor_jacobian(const M &m, const R T, const R *x, R *w, R *f, JacobianEnds<PRESSURE, M, R> &ends,
                               const Use &use) {
    constexpr int NS = M::NS, N = NS + 1;
    PartialSlopes<M, R> &s = ends.slopes;
    Partial<M, R> state;
    Slopes<M, R, NS> o;
    partial_state<true>(m, T, x, state);
    partial_slopes(m, x, state, s);
    slopes_in_moles(m, T, x, state, s, o);
    FOR_SPECIES (k, NS) w[k] = m.W[k] * o.w[k];
    ends.stiffness = R(0.0);
    if constexpr (PRESSURE) {
        FOR_SPECIES (k, NS) ends.stiffness += s.p_x[k] * x[k];
    }
    R heat[N], work[PRESSURE ? N : 1]; // what a column changes of sum U_k w_k and of sum p_k w_k
    FOR_UNKNOWNS(j, N) {
        heat[j] = R(0.0);
        if constexpr (PRESSURE) work[j] = R(0.0);
    }
    const auto counted = [&](const int i, const int j, const R slope) INLINED {
        heat[j] += s.U_x[i] * slope;
        if constexpr (PRESSURE) work[j] += s.p_x[i] * slope;
        return slope;
    };
    slope_rows(m, state, s, o, [&](int i, const auto &in_x, const R in_T) INLINED {
        use(i, [&](int k) INLINED { return counted(i, k, in_x(k)); }, counted(i, NS, in_T));
    });
    PartialSlopes<M, Dual<R>> along;
    const Changes<R> c = ends.c = change_along<PRESSURE>(m, T, x, s, w, f, along);
    FOR_SPECIES (j, NS) {
        heat[j] += along.U_x[j].d[0];
        if constexpr (PRESSURE) heat[j] -= s.p_x[j] * c.theta, work[j] += along.p_x[j].d[0] + s.p_x[j] * c.theta;
    }
    heat[NS] += along.U_T.d[0];
    if constexpr (PRESSURE) heat[NS] -= (s.p_T + s.U_T) * c.theta, work[NS] += along.p_T.d[0];
    const R Tp_T = T * s.p_T, inv = 1.0 / (PRESSURE ? s.U_T * ends.stiffness + Tp_T * s.p_T : s.U_T);
    FOR_UNKNOWNS(j, N) {
        if constexpr (PRESSURE) {
            ends.T[j] = -((heat[j] * ends.stiffness + Tp_T * work[j]) * inv);
            ends.theta[j] = (s.p_T * heat[j] - s.U_T * work[j]) * inv;
        } else ends.T[j] = -(heat[j] * inv);
    }
}

// ---- as quantities
template <class M, class R, class Species, class Out>
POINT_FN void volume_reactor(const M &m, const R T, const R rho, const Species &Y, Out &f_cv) {
    R x[M::NS], w[M::NS];
    FOR_SPECIES (k, M::NS) x[k] = rho * Y[k];
    f_cv.set(M::NS, reactor<false>(m, T, x, w).T);
    FOR_SPECIES (k, M::NS) f_cv.set(k, w[k]);
}

template <class M, class R, class Species, class Out>
POINT_FN void pressure_reactor(const M &m, const R T, const R rho, const Species &Y, Out &f_cp) {
    R x[M::NS], w[M::NS];
    FOR_SPECIES (k, M::NS) x[k] = rho * Y[k];
    f_cp.set(M::NS, reactor<true>(m, T, x, w).T);
    const R inv_rho = 1.0 / rho;
    FOR_SPECIES (k, M::NS) f_cp.set(k, w[k] * inv_rho);
}

template <class M, class R, class Species, class Out>
POINT_FN void volume_jacobian(const M &m, const R T, const R rho, const Species &Y, Out &J_cv) {
    constexpr int NS = M::NS, N = NS + 1;
    R x[NS], w[NS], f[N];
    JacobianEnds<false, M, R> ends;
    FOR_SPECIES (k, NS) x[k] = rho * Y[k];
    const auto past = goes_past(J_cv, N * N);
    reactor_jacobian(m, T, x, w, f, ends, [&](int i, const auto &in_x, const R in_T) INLINED {
        FOR_SPECIES (k, NS) set_past(J_cv, i * N + k, in_x(k), past);
        J_cv.set(i * N + NS, in_T);
    });
    FOR_UNKNOWNS(j, N) J_cv.set(NS * N + j, ends.T[j]);
}

// Unknowns (Y, T) at constant p: dY_i/dt = w_i/rho. With rho(T, p, Y): rho_Yj = -rho^2 p_j/stiffness, rho_T = -rho
// p_T/stiffness.
template <class M, class R, class Species, class Out>
POINT_FN void pressure_jacobian(const M &m, const R T, const R rho, const Species &Y, Out &J_cp) {
    constexpr int NS = M::NS, N = NS + 1;
    R x[NS], w[NS], f[N];
    JacobianEnds<true, M, R> ends;
    const R inv_rho = 1.0 / rho;
    const auto past = goes_past(J_cp, N * N);
    FOR_SPECIES (k, NS) x[k] = rho * Y[k];
    const auto row = [&](int i, const R *of_x, const R of_T, const R of_rho, const R scale) INLINED {
        R all = of_rho; // what a change of rho brings
        FOR_SPECIES (k, NS) all += of_x[k] * Y[k];
        all = all * -(rho / ends.stiffness);
        FOR_SPECIES (j, NS)
            set_past(J_cp, i * N + j, R((rho * of_x[j] + all * rho * ends.slopes.p_x[j]) * scale), past);
        J_cp.set(i * N + NS, (of_T + all * ends.slopes.p_T) * scale);
    };
    reactor_jacobian(m, T, x, w, f, ends, [&](int i, const auto &in_x, const R in_T) INLINED {
        R own[NS];
        FOR_SPECIES (k, NS) own[k] = in_x(k);
        row(i, own, in_T, -(w[i] * inv_rho), inv_rho);
    });
    row(NS, ends.T, ends.T[NS], R(0.0), R(1.0));
}

// J times a vector without J: the reactor on dual numbers that move along it
template <class M, class R, class Species, class Vector, class Out>
POINT_FN void volume_jacobian_product(const M &m, const Vector &dz, const R T, const R rho, const Species &Y,
                                      Out &J_cv_dz) {
    Dual<R> x[M::NS], w[M::NS];
    FOR_SPECIES (k, M::NS) x[k] = moving(R(rho * Y[k]), R(dz[k]));
    J_cv_dz.set(M::NS, reactor<false>(m, moving(T, R(dz[M::NS])), x, w).T.d[0]);
    FOR_SPECIES (k, M::NS) J_cv_dz.set(k, w[k].d[0]);
}

template <class M, class R, class Species, class Vector, class Out>
POINT_FN void pressure_jacobian_product(const M &m, const Vector &dw, const R T, const R rho, const Species &Y,
                                        Out &J_cp_dw) {
    constexpr int NS = M::NS;
    R plain[NS], stiffness = R(0.0), rho_change;
    FOR_SPECIES (k, NS) plain[k] = rho * Y[k];
    {
        Partial<M, R> state;
        PartialSlopes<M, R> s;
        partial_state<true>(m, T, plain, state);
        partial_slopes(m, plain, state, s);
        rho_change = s.p_T * dw[NS];
        FOR_SPECIES (k, NS) {
            stiffness += s.p_x[k] * plain[k];
            rho_change += rho * s.p_x[k] * dw[k];
        }
        rho_change = -(rho * rho_change / stiffness);
    }
    Dual<R> x[NS], w[NS];
    FOR_SPECIES (k, NS) x[k] = moving(plain[k], R(rho * dw[k] + Y[k] * rho_change));
    J_cp_dw.set(NS, reactor<true>(m, moving(T, R(dw[NS])), x, w).T.d[0]);
    const Dual<R> inv_rho = 1.0 / moving(rho, rho_change);
    FOR_SPECIES (k, NS) J_cp_dw.set(k, (w[k] * inv_rho).d[0]);
}

// ---- a reactor over a step, by Rodas4: six stages, order 4 with an error of order 3, L-stable, one LU a step (Hairer
// & Wanner 1996; coefficients as the Kinetic PreProcessor has them). Every point has its own step h:
//   (4/h - J) K_i = f(z + sum a_ij K_j) + sum c_ij K_j/h,  z1 = z + sum m_j K_j,  error K_6.
// The last stage's state is z1 without K_6.
constexpr double REACT_COLDEST = 200.0, REACT_HOTTEST = 6000.0, LEAST_FRACTION = -1e-8;
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
    static constexpr int NS = M::NS, SUM = NS, P = NS + 1;
    static constexpr bool pressed = M::RATE_PLOGS + M::RATE_CHEBYSHEVS > 0;
    static constexpr bool real = with_gamma<M>();
    static constexpr int OF_B = SUM + 1 + pressed, OF_S = OF_B + 1, OF_C = OF_S + 1, // sums that ln gamma goes with
        AT_T = OF_B + (real ? 2 + M::translated : 0), THETA = AT_T + 1, N = AT_T + 1 + PRESSURE;
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
        const int at = listed(k), rows = listed(at + 1);
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
        const R grown = d - c.theta, inv_p = 1.0 / s.p;
        R of_theta = T * s.p_T;
        for (int i = NS; i < N; ++i)
            for (int j = NS; j < N; ++j) A[i * N + j] = R(0.0);
        FOR_SPECIES (k, NS) {
            R *const row = A + k * N, energy = along.U_x[k].d[0] - s.p_x[k] * c.theta + s.U_x[k] * grown;
            row[k] -= grown;
            row[SUM] = o.common[k], row[AT_T] = o.T[k];
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
#ifdef LANES
#include "point/reactor_lanes.h"
template <bool SPARSE, bool PRESSURE, class M, class R> struct SystemOf {
    typedef LanesSystem<PRESSURE, M, R> type;
};
#else
template <bool SPARSE, bool PRESSURE, class M, class R> struct SystemOf {
    typedef DenseSystem<PRESSURE, M, R> type;
};
template <bool PRESSURE, class M, class R> struct SystemOf<true, PRESSURE, M, R> {
    typedef SparseSystem<PRESSURE, M, R> type;
};
#endif

template <class M, class R, class Species> POINT_FN R density_of(const M &m, const R T, const R p, const Species &Y) {
    R W, R_s;
    molar_mass(m, Y, W, R_s);
    if constexpr (M::equation_ideal) return p / (R_s * T);
    else {
        R a, a_T, a_TT, b, shift, Z, vol, v_free;
        cubic_mixture(m, T, Y, a, a_T, a_TT, b, shift);
        cubic_root(m, T, p, R_s, a, b, shift, delta_of(m, Y), Z, vol, v_free);
        return 1.0 / vol;
    }
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
    static constexpr int NS = M::NS, N = NS + 1, STAGES = 6;
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
        auto good = fit && T >= REACT_COLDEST && T <= REACT_HOTTEST && dt >= 0.0 && dt < 1e300;
        good = good && rho > 0.0 && rho < 1e300;
        R wrong = R(0.0);
        FOR_OWN (k, NS) wrong += select(z[own(k)] >= LEAST_FRACTION * rho, R(0.0), R(1.0));
        good = good && summed(wrong) < 0.5;
        const double rtol = m.react_rtol, atol_T = 10.0 * rtol;
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
        const double rtol = m.react_rtol, atol_T = 10.0 * rtol;
        const R until = dt * (1.0 - 1e-12);
        R z1[owned(N)], f[owned(N)], K[STAGES][owned(N)];
        const R inv_h = 1.0 / h;
        system.prepare(afresh(m), z, R(4.0 * inv_h), f);
#ifdef LANES // all loads at once; K of the stages to come is 0
        constexpr bool AT_ONCE = true;
        for (int s = 0; s < STAGES; ++s) FOR_UNKNOWNS(i, N) K[s][own(i)] = R(0.0);
#else
        constexpr bool AT_ONCE = false;
#endif
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
                if (owns(NS)) z1[own(NS)] = at_most(at_least(z1[own(NS)], REACT_COLDEST), REACT_HOTTEST);
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
        const R unit = h / sqrt(sqrt(error)), moved = select(taken && unit_before > 0.0, unit / unit_before, R(1.0));
        unit_before = select(taken, unit, R(0.0));
        h = smaller(larger(R(0.9 * unit * at_most(at_least(moved, 0.7), 1.1)), R(0.2 * h)), R(60.0 * h));
        const R T = of_owner(z, NS);
        const auto gone = taken && !(T > REACT_COLDEST && T < REACT_HOTTEST);
        status = select(gone, R(double(LEFT_RANGE)), status);
        active = active && !gone && t < until;
        const auto stuck = active && !(t + h > t);
        status = select(stuck, R(double(STEP_TOO_SMALL)), status);
        active = active && !stuck;
        h = select(active, smaller(h, dt - t), R(1e-9));
    }

    template <class Fractions> POINT_FN void end(const M &m, R &T, R &p, const Fractions &Y) {
        status = select(active, R(double(TOO_MANY_STEPS)), status);
        R sum = R(0.0);
        FOR_OWN (k, NS) sum += z[own(k)];
        sum = summed(sum);
        const R reached = of_owner(z, NS);
        const auto moved = steps > 0.0, done = status <= double(REACTED);
        const R inverse = 1.0 / sum, none = R(NOT_A_NUMBER);
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
POINT_FN void react(const M &m, R &T, R &p, const Fractions &Y, const R dt, R &status, R &steps) {
    Integration<PRESSURE, M, R> point(m);
    point.begin(m, T, p, Y, dt);
    UNROLL_BY(1)
    for (double step = 0; step < m.react_most && any_of(point.active); step += 1) point.step(m);
    point.end(m, T, p, Y);
    status = point.status, steps = point.steps;
}

// The same for a thread of a GPU that takes one point after the other: those beside it in its warp need other numbers
// of steps. at(use) calls use(T, p, Y, dt, status, steps) of its point, and writes these where that returns true;
// next() goes to the next point and tells whether there is one.
template <bool PRESSURE, class M, class R, class At, class Next>
POINT_FN void react_in_turn(const M &m, const R, const At &at, const Next &next) {
    Integration<PRESSURE, M, R> point(m);
    bool more = next();
    const auto begin = [&](R &T, R &p, const auto &Y, const R dt, R &, R &) {
        point.begin(m, T, p, Y, dt);
        return false;
    };
    const auto end = [&](R &T, R &p, const auto &Y, const R, R &status, R &steps) {
        point.end(m, T, p, Y);
        status = point.status, steps = point.steps;
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
template <class... A> POINT_FN void react_at_volume_in_turn(A &&...a) { react_in_turn<false>(a...); }
template <class... A> POINT_FN void react_at_pressure_in_turn(A &&...a) { react_in_turn<true>(a...); }

// The same bodies read other constants of an ideal gas than of a cubic equation, so each is declared twice.
#define OF_BOTH(name) \
    template <class... A> POINT_FN void ideal_##name(A &&...a) { name(a...); } \
    template <class... A> POINT_FN void cubic_##name(A &&...a) { name(a...); }
OF_BOTH(production_slopes)
OF_BOTH(slope_time)
OF_BOTH(volume_reactor)
OF_BOTH(pressure_reactor)
OF_BOTH(volume_jacobian)
OF_BOTH(pressure_jacobian)
OF_BOTH(volume_jacobian_product)
OF_BOTH(pressure_jacobian_product)
OF_BOTH(volume_implicit)
OF_BOTH(react_at_volume)
OF_BOTH(react_at_pressure)
OF_BOTH(react_at_volume_in_turn)
OF_BOTH(react_at_pressure_in_turn)
#ifdef LANES
OF_BOTH(volume_jacobian_in_turn)
OF_BOTH(volume_implicit_in_turn)
#endif
#undef OF_BOTH
