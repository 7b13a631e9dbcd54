// Chemical equilibrium of all species of a mixture: the least Gibbs energy (at constant p) or Helmholtz energy (at
// constant V) at the amounts of the elements that came. Newton's method in ln n_k (Gordon & McBride 1994, NASA RP-1311,
// eqs. 2.18 to 2.30 and 3.1 to 3.3; original not seen), with the balances in components (components.h):
//   d ln n_k = d ln N + sum_c nu_kc dpi_c + e_k d ln T - r_k,  r_k = mu_k/RT - sum_c nu_kc pi_c
// with N the sum of the amounts (d ln N is absent at constant V). The amounts of all components stay those that came,
// and N, H or S, U or S fit. A real gas has ln gamma_k in mu_k; its change with the amounts is left to the next step.
#pragma once
#include "gas/equilibria/reacting_state.h"
#include "gas/equilibria/start.h"

constexpr int EQUILIBRIUM_STEPS = 200;
constexpr double PATIENCE = 60; // steps after which T waits for the composition: a real gas near a jump of its root
constexpr double EQUILIBRIUM_START = 1500.0;                    // K, where T is not given
enum StatusOfEquilibrium { FOUND, NOT_FOUND, BEYOND, BETWEEN }; // BEYOND the range of T; BETWEEN two roots
constexpr double LEAST_LN = -690.0;                             // smallest ln n_k that counts
constexpr double COUNTS_LN = -115.0;                            // of amounts that decide when the search ends
constexpr double MAIN_LN = -18.420680743952367;                 // ln 1e-8: more is a main species
constexpr double RISE_LN = -9.210340371976182;                  // ln 1e-4: to which a scarce species may rise in a step
constexpr double LARGEST_STEP = 3.0, LARGEST_T_STEP = 0.4;      // of ln n_k of a main species, of ln T
constexpr double STEADY = 1e-3; // change of a main species from which on the sign of the miss counts
constexpr double JUMP = 1e-4;   // of ln T: a smaller jump of H or S at T is one of the polynomials, not of a root

// The amounts of ln n_k, and their sum
template <class M, class R> POINT_FN R amounts(const M &, const R *ln_n, R *n) {
    R sum = R(0.0);
    FOR_SPECIES (k, M::NS) {
        n[k] = select(ln_n[k] > 0.5 * ABSENT_LN, exp(at_least(ln_n[k], LEAST_LN)), R(0.0));
        sum += n[k];
    }
    return sum;
}

// Changes of ln n_k, of their sum and of ln T in a step
template <class M, class R> struct EquilibriumStep {
    R ln_n[M::NS], ln_sum, ln_T;
    R near; // largest change of a main species at constant T
    R most; // largest of all
    R miss; // of the target, as ln T: its sign says on which side of T the solution is
};

template <bool VOLUME, Given GIVEN, class M, class R>
POINT_FN void equilibrium_step(const M &m, const Closed<R> &closed, const R T, const R *ln_n, const R *n, const R sum,
                               const ReactingState<M, R> &s, const BalanceMatrix<M, R> &h, Components<M, R> &o,
                               const MaskOf<R> where, const MaskOf<R> closed_in, const R calm,
                               EquilibriumStep<M, R> &step) {
    constexpr int N = Components<M, R>::N;
    constexpr bool HEAT = GIVEN != Given::T;

    // Right-hand sides: at constant T; of the sum of the amounts; of ln T
    R x[N], of_sum[N], of_T[N], from_r = R(0.0), from_e = R(0.0);
    UNROLL
    for (int c = 0; c < N; ++c) {
        x[c] = o.b[c];
        of_sum[c] = of_T[c] = R(0.0);
    }
    FOR_SPECIES (k, M::NS) {
        R r = s.g[k] + ln_n[k];
        UNROLL
        for (int c = 0; c < N; ++c) r -= o.nu[k * N + c] * o.pi[c];
        step.ln_n[k] = -r;
        from_r += n[k] * r;
        if constexpr (HEAT) from_e += n[k] * s.e[k];
        UNROLL
        for (int c = 0; c < N; ++c) {
            const R weighted = n[k] * o.nu[k * N + c];
            x[c] -= weighted * (1.0 - r);
            of_sum[c] += weighted;
            if constexpr (HEAT) of_T[c] -= weighted * s.e[k];
        }
    }

    R border[N], sum_T = R(0.0);
    UNROLL
    for (int c = 0; c < N; ++c) border[c] = of_sum[c];
    step.ln_sum = R(0.0);
    solve_balance(m, h, x);
    if constexpr (HEAT) solve_balance(m, h, of_T);
    if constexpr (!VOLUME) {
        solve_balance(m, h, of_sum);
        R size = R(0.0);
        R miss = -from_r;
        R miss_T = from_e;
        UNROLL
        for (int c = 0; c < N; ++c) {
            size += border[c] * of_sum[c];
            miss += border[c] * x[c];
            if constexpr (HEAT) miss_T += border[c] * of_T[c];
        }
        const R inverse = 1.0 / size;
        step.ln_sum = miss * inverse;
        if constexpr (HEAT) sum_T = miss_T * inverse;
        UNROLL
        for (int c = 0; c < N; ++c) {
            x[c] -= of_sum[c] * step.ln_sum;
            if constexpr (HEAT) of_T[c] -= of_sum[c] * sum_T;
        }
    }

    // Changes at constant T, and with ln T
    R target = R(0.0);
    R slope = R(0.0);
    R with_T[HEAT ? M::NS : 1];
    step.near = R(0.0);
    const R main = log(sum) + MAIN_LN;
    FOR_SPECIES (k, M::NS) {
        R at_T = step.ln_n[k] + step.ln_sum;
        UNROLL
        for (int c = 0; c < N; ++c) at_T += o.nu[k * N + c] * x[c];
        step.ln_n[k] = at_T;
        step.near = larger(step.near, select(ln_n[k] > main, fabs(at_T), R(0.0)));
        if constexpr (HEAT) {
            R along = s.e[k] + sum_T;
            UNROLL
            for (int c = 0; c < N; ++c) along += o.nu[k * N + c] * of_T[c];
            with_T[k] = along;
            slope += n[k] * s.e[k] * along;
            const R moved = GIVEN == Given::ENERGY ? s.e[k] : R(s.e[k] - s.g[k] - ln_n[k]);
            target -= n[k] * moved * at_T;
        }
    }

    step.ln_T = step.miss = R(0.0);
    if constexpr (HEAT) {
        const R inv_R = R(1 / R_UNIVERSAL);
        if constexpr (GIVEN == Given::ENERGY) target += closed.target * inv_R / T - s.energy;
        else {
            // S = (H - G)/T; at constant volume H = U + p V
            R have = s.energy + (VOLUME ? R(s.p * closed.held * inv_R / T) : R(0.0));
            FOR_SPECIES (k, M::NS) have -= n[k] * (s.g[k] + ln_n[k]);
            target += closed.target * inv_R - have;
        }
        step.miss = target / (s.heat + slope);
        const R up = log(M::T_end / T);
        const R down = log(T_LOWEST / T);
        step.ln_T = select(step.near < calm, within(step.miss, LARGEST_T_STEP), R(0.0));
        step.ln_T = select(closed_in, R(0.0), larger(smaller(step.ln_T, up), down));
    }

    step.most = R(0.0);
    FOR_SPECIES (k, M::NS) {
        if constexpr (HEAT) step.ln_n[k] += with_T[k] * step.ln_T;
        step.most = larger(step.most, select(ln_n[k] > COUNTS_LN, fabs(step.ln_n[k]), R(0.0)));
    }
    step.ln_sum += sum_T * step.ln_T;
    UNROLL
    for (int c = 0; c < N; ++c) o.pi[c] = select(where, o.pi[c] + x[c] + of_T[c] * step.ln_T, o.pi[c]);
}

// The share of the step that is taken (Gordon & McBride's lambda)
template <class M, class R>
POINT_FN R share_of_step(const M &, const R *ln_n, const R sum, const EquilibriumStep<M, R> &step) {
    const R ln_sum = log(sum);
    R largest = fabs(step.ln_sum);
    R share = R(1.0);
    FOR_SPECIES (k, M::NS) {
        const R ln_x = ln_n[k] - ln_sum;
        const R rise = step.ln_n[k] - step.ln_sum;
        const auto main = ln_x > MAIN_LN;
        largest = larger(largest, select(main, step.ln_n[k], R(0.0)));
        const R space = RISE_LN - ln_x;
        const auto limits = !main && ln_n[k] > 0.5 * ABSENT_LN && step.ln_n[k] >= 0.0 && rise > space;
        if (any_of(limits)) share = select(limits, smaller(share, R(space / select(limits, rise, R(1.0)))), share);
    }
    return smaller(share, R(LARGEST_STEP / at_least(largest, LARGEST_STEP)));
}

// The state of equilibrium. n_0: amounts that came; T: given, or a start; where: the points with an input that can be.
// status: why it was not found. Whether it was.
template <bool VOLUME, Given GIVEN, class M, class R>
POINT_FN MaskOf<R> settle(const M &m, const Closed<R> &closed, const R *n_0, const MaskOf<R> where, R &T, R &p, R *n,
                          R &status, R &steps) {
    constexpr double real_from = 0.1; // change of a main species from which on a real gas is one
    constexpr double last = M::equation_ideal ? 1e-7 : 1e-11;

    Components<M, R> o;
    R ln_n[M::NS];
    IdealPotentials<GIVEN, M, R> ideal;
    ReactingState<M, R> s;
    ideal_potentials(m, T, ideal);
    const R ln_c = log((VOLUME ? R(R_UNIVERSAL * T / closed.held) : closed.held) * m.inv_p_ref[0]);
    FOR_SPECIES (k, M::NS) s.g[k] = ideal.g[k] + ln_c;
    start<VOLUME>(m, s.g, n_0, where, ln_n, o);

    R low = R(T_LOWEST);
    R high = R(M::T_end);
    auto open = where;
    auto found = nowhere<R>();
    auto real = nowhere<R>();
    steps = R(0.0);
    status = R(NOT_FOUND);
    UNROLL_BY(1)
    for (int count = 0; count < EQUILIBRIUM_STEPS; ++count) {
        // State
        const R sum = amounts(m, ln_n, n);
        ideal_reacting_state<VOLUME>(m, T, ideal, n, sum, closed, s);
        if constexpr (!M::equation_ideal)
            if (any_of(real && open)) {
                ReactingState<M, R> of_gas;
                real_reacting_state<VOLUME>(m, T, ideal, n, closed, of_gas);
                FOR_SPECIES (k, M::NS) {
                    s.g[k] = select(real, of_gas.g[k], s.g[k]);
                    if constexpr (GIVEN != Given::T) s.e[k] = select(real, of_gas.e[k], s.e[k]);
                }
                s.energy = select(real, of_gas.energy, s.energy);
                s.heat = select(real, of_gas.heat, s.heat);
                s.p = select(real, of_gas.p, s.p);
            }

        // Step. The bracket of T closes where H or S jumps over the target, or at an end of the range
        const auto closed_in = high - low < 1e-11 * high;
        BalanceMatrix<M, R> h;
        MaskOf<R> poor;
        factorise_balance(m, n, o, h, poor);
        poor = poor && open;
        if (any_of(poor)) {
            choose_components(m, n, n_0, poor, o);
            factorise_balance(m, n, o, h, poor);
        }
        EquilibriumStep<M, R> step;
        const R calm = select(steps > PATIENCE, R(STEADY), R(1.0));
        equilibrium_step<VOLUME, GIVEN>(m, closed, T, ln_n, n, sum, s, h, o, open, closed_in, calm, step);
        const R share = share_of_step(m, ln_n, sum, step);
        FOR_SPECIES (k, M::NS)
            ln_n[k] =
                select(open && ln_n[k] > 0.5 * ABSENT_LN, at_least(R(ln_n[k] + share * step.ln_n[k]), -5e3), ln_n[k]);

        // Temperature, in a bracket of states near equilibrium
        auto settled = open && share >= 1.0 && step.most < last && fabs(step.ln_T) < last;
        auto outside = nowhere<R>();
        if constexpr (GIVEN != Given::T) {
            settled = settled && fabs(step.miss) < JUMP;
            const auto beyond = open && closed_in && (T <= T_LOWEST || T >= M::T_end);
            const auto jumps = open && closed_in && !beyond && step.most < STEADY && fabs(step.miss) >= JUMP;
            status = select(beyond, R(BEYOND), select(jumps, R(BETWEEN), status));
            outside = beyond || jumps;

            auto knows = open && step.near < STEADY;
            if constexpr (!M::equation_ideal) knows = knows && real;
            low = select(knows && step.miss > 0.0, larger(T, low), low);
            high = select(knows && step.miss < 0.0, smaller(T, high), high);

            const R next = at_most(at_least(R(T * exp(share * step.ln_T)), T_LOWEST), M::T_end);
            const R before = T;
            const auto cut = steps > PATIENCE && fabs(step.ln_T) >= LARGEST_T_STEP; // may lead from end to end
            const auto kept = next >= low && next <= high && !cut;
            settled = settled && (kept || closed_in);
            T = select(open && !closed_in, select(kept, next, sqrt(low * high)), T);
            if (any_of(T < before || T > before)) ideal_potentials(m, T, ideal);
        }

        // End
        steps += counted_in<R>(open);
        if constexpr (M::equation_ideal) found = found || settled;
        else {
            found = found || (settled && real);
            real = real || (open && step.near < real_from && fabs(step.ln_T) < real_from);
        }
        open = open && !found && !outside && sum < 1e300; // NaN ends here
        if (everywhere(!open)) break;
    }

    const R sum = amounts(m, ln_n, n);
    p = VOLUME ? (M::equation_ideal ? R(sum * R_UNIVERSAL * T / closed.held) : s.p) : closed.held;
    return found;
}

// ---- kernels: from Y and two numbers of the state
template <bool VOLUME, Given GIVEN, class M, class R, class Species, class Out>
POINT_FN void chemical_equilibrium(const M &m, const R given, const R held, const Species &Y, R &T, R &p, Out &Y_eq,
                                   R &status, R &steps) {
    const R moles = mean_of<R, M>(m.inv_W, Y);
    R n_0[M::NS], n[M::NS], sum = R(0.0);
    FOR_SPECIES (k, M::NS) {
        n_0[k] = at_least(Y[k], 0.0) * m.inv_W[k];
        sum += n_0[k];
    }
    const R inverse = 1.0 / sum;
    Closed<R> closed;
    closed.mass = R(0.0);
    FOR_SPECIES (k, M::NS) {
        n_0[k] = n_0[k] * inverse;
        closed.mass += n_0[k] * m.W[k];
    }
    closed.target = GIVEN == Given::T ? given : R(given * closed.mass);
    closed.held = VOLUME ? R(closed.mass / held) : held;
    auto good = moles > 0.0 && sum > 0.0 && held > 0.0 && held < 1e300 && fabs(given) < 1e300;
    if constexpr (GIVEN == Given::T) good = good && given > 0.0 && given < 1e9;

    T = GIVEN == Given::T ? given : R(EQUILIBRIUM_START);
    auto found = settle<VOLUME, GIVEN>(m, closed, n_0, good, T, p, n, status, steps);
    const R none = R(NOT_A_NUMBER);
    R mass = R(0.0);
    FOR_SPECIES (k, M::NS) mass += n[k] * m.W[k];
    found = found && mass > 0.0 && mass < 1e300 && p > -1e300;
    FOR_SPECIES (k, M::NS) Y_eq.set(k, select(found, R(n[k] * m.W[k] / mass), none));
    T = select(found, T, none);
    p = select(found, p, none);
    status = select(found, R(FOUND), status);
}

template <class M, class R, class Species, class Out>
POINT_FN void equilibrate_T_p(const M &m, const R T, const R p, const Species &Y, Out &Y_eq, R &status, R &steps) {
    R T_eq, p_eq;
    chemical_equilibrium<false, Given::T>(m, T, p, Y, T_eq, p_eq, Y_eq, status, steps);
}

template <class M, class R, class Species, class Out>
POINT_FN void equilibrate_T_rho(const M &m, const R T, const R rho, const Species &Y, R &p_eq, Out &Y_eq, R &status,
                                R &steps) {
    R T_eq;
    chemical_equilibrium<true, Given::T>(m, T, rho, Y, T_eq, p_eq, Y_eq, status, steps);
}

template <class M, class R, class Species, class Out>
POINT_FN void equilibrate_h_p(const M &m, const R h, const R p, const Species &Y, R &T_eq, Out &Y_eq, R &status,
                              R &steps) {
    R p_eq;
    chemical_equilibrium<false, Given::ENERGY>(m, h, p, Y, T_eq, p_eq, Y_eq, status, steps);
}

template <class M, class R, class Species, class Out>
POINT_FN void equilibrate_e_rho(const M &m, const R e, const R rho, const Species &Y, R &T_eq, R &p_eq, Out &Y_eq,
                                R &status, R &steps) {
    chemical_equilibrium<true, Given::ENERGY>(m, e, rho, Y, T_eq, p_eq, Y_eq, status, steps);
}

template <class M, class R, class Species, class Out>
POINT_FN void equilibrate_s_p(const M &m, const R s, const R p, const Species &Y, R &T_eq, Out &Y_eq, R &status,
                              R &steps) {
    R p_eq;
    chemical_equilibrium<false, Given::ENTROPY>(m, s, p, Y, T_eq, p_eq, Y_eq, status, steps);
}

template <class M, class R, class Species, class Out>
POINT_FN void equilibrate_s_rho(const M &m, const R s, const R rho, const Species &Y, R &T_eq, R &p_eq, Out &Y_eq,
                                R &status, R &steps) {
    chemical_equilibrium<true, Given::ENTROPY>(m, s, rho, Y, T_eq, p_eq, Y_eq, status, steps);
}

// The same bodies read other constants of an ideal gas than of a cubic equation, so each is declared twice.
#define OF_BOTH(name) \
    template <class... A> POINT_FN void ideal_##name(A &&...a) { name(a...); } \
    template <class... A> POINT_FN void cubic_##name(A &&...a) { name(a...); }
OF_BOTH(equilibrate_T_p)
OF_BOTH(equilibrate_T_rho)
OF_BOTH(equilibrate_h_p)
OF_BOTH(equilibrate_e_rho)
OF_BOTH(equilibrate_s_p)
OF_BOTH(equilibrate_s_rho)
#undef OF_BOTH
