// Temperature from enthalpy and pressure, from energy and density, from entropy and pressure, from pressure and
// density; pressure from temperature and density.
#pragma once
#include "gas/equations/cubic.h"

// K: where searches begin, to end at M::T_end, and a start where none is given
constexpr double T_LOWEST = 20.0, T_PLAIN = 300.0;
constexpr int T_STEPS = 60;

// Points of a pack: which of them, and none; x within -most and most; 1 in the points of a mask, else 0.
template <class R> using MaskOf = decltype(R(0.0) < R(1.0));
template <class R> POINT_FN MaskOf<R> nowhere() { return R(1.0) < R(0.0); }
template <class R> POINT_FN R within(const R x, const double most) { return at_most(at_least(x, -most), most); }
template <class R> POINT_FN R counted_in(const MaskOf<R> mask) { return select(mask, R(1.0), R(0.0)); }

// A loop over points that work together ends when all are done: on a GPU's matrix units the whole warp.
#ifdef MATRIX_UNITS
template <class Mask> POINT_FN bool everywhere(const Mask done) { return __all_sync(WARP, all_of(done)); }
#else
template <class Mask> POINT_FN bool everywhere(const Mask done) { return all_of(done); }
#endif

// Newton's steps: newton() first, at each evaluation; ends(), whether the search does, if that is near; the next T.
template <class R> struct NewtonSteps {
    POINT_FN R newton(const R, const R miss, const R slope) { return miss / slope; }
    POINT_FN MaskOf<R> ends(const MaskOf<R> near) const { return near; }
    POINT_FN R next(const R at, const R newton) const { return at + newton; }
};

// With what a cubic adds, from the second evaluation on: the cubic in the value that has T and dT/dvalue of the last
// two,
//   T = T1 + g1 m1 + m1^2 (c2 + c3 m0),  m = target - value,  g = dT/dvalue
template <class R> struct CubicSteps {
    R T = R(0.0);
    R miss = R(0.0);
    R slope_T = R(NOT_A_NUMBER); // of the last evaluation: there is none yet
    R added;
    MaskOf<R> serves, sure;

    POINT_FN R newton(const R at, const R miss_now, const R slope) {
        const R slope_T_now = 1.0 / slope;
        const R newton = miss_now * slope_T_now;
        const R inverse_change = 1.0 / (miss - miss_now);
        const R distance = at - T;
        const R secant = distance * inverse_change;
        const R second = (slope_T_now - secant) * inverse_change;
        const R third = (second - (secant - slope_T) * inverse_change) * inverse_change;
        const R squared = miss_now * miss_now;
        const R of_second = squared * second;
        const R of_third = squared * third * miss;

        // Not far from both. A further term would be below rounding: its size follows from the ratio of the last two,
        // and from the second alone where the third is zero by chance.
        added = of_second + of_third;
        serves = fabs(added) < 0.1 * fabs(newton) && fabs(newton) < 0.1 * fabs(distance);
        sure = fabs(of_third * distance) < 1e-16 * (at * at) && of_third * of_third < 1e-16 * fabs(of_second * at) &&
               fabs(of_second) * (distance * distance) < 1e-15 * (at * at * at);
        T = at;
        miss = miss_now;
        slope_T = slope_T_now;
        return newton;
    }

    POINT_FN MaskOf<R> ends(const MaskOf<R> near) const { return near || (serves && sure); }
    POINT_FN R next(const R at, const R newton) const { return at + newton + select(serves, added, R(0.0)); }
};

// Of real gases, whose evaluations are long. The cubic pays where points fill packs: a GPU has no registers for it, and
// a single point would go through branches that nothing foretells.
template <class R, bool CUBIC> struct StepsOf {
    typedef NewtonSteps<R> Type;
};
template <class R> struct StepsOf<R, true> {
    typedef CubicSteps<R> Type;
};
template <class R> using RealSteps = typename StepsOf<R, (number<R>::lanes > 1 || FILLS_VECTORS<R>)>::Type;

// The T at which a function that grows with T is `target`: state(T, value, slope) gives it and its derivative. Steps in
// a bracket; where a step leaves it, or is not half of the step before the last, the bracket is halved (in log T). A
// converged point is not changed any more, so that its result does not depend on its neighbours. unconverged: 0, found;
// 1, the function jumps over the target, T is where; 2, nothing found, T is NaN.
template <class M, class Steps, class R, class State>
POINT_FN void temperature_by(const M &, Steps steps, const R target, const R start, const State &state, R &T,
                             R &unconverged) {
    // the step that is within `near` is still taken: what is left is of the order of its square
    constexpr double near = number<R>::wide ? 1e-17 : 1e-9;
    constexpr double shut = number<R>::wide ? 1e-20 : 1e-11;
    R low = R(T_LOWEST);
    R high = R(M::T_end);
    R last = R(M::T_end);
    R before = R(M::T_end);
    R at = select(start > T_LOWEST && start < M::T_end, start, R(T_PLAIN));
    auto open = target > -1e300 && target < 1e300;
    unconverged = R(2.0);

    for (int step = 0; step < T_STEPS; ++step) {
        R value, slope;
        state(at, value, slope);
        const R miss = target - value;
        const R newton = steps.newton(at, miss, slope);
        const R size = fabs(newton);
        low = select(miss > 0.0, at, low);
        high = select(miss < 0.0, at, high);
        const auto there = slope > 0.0 && steps.ends(size < near * at);
        const auto closed = high - low < shut * high;
        const R guess = steps.next(at, newton);
        const auto sound = slope > 0.0 && guess > low && guess < high && size < 0.5 * before;
        const auto straight = there || sound;
        R next = guess;
        if (!all_of(straight)) next = select(straight, guess, sqrt(low * high));
        const auto jump =
            closed && at > T_LOWEST * (1.0 + 1e-9) && at < M::T_end * (1.0 - 1e-9); // at an end there is none
        unconverged = select(open && there, R(0.0), select(open && jump, R(1.0), unconverged));
        before = last;
        last = fabs(next - at);
        at = select(open, next, at);
        open = open && !there && !closed;
        if (everywhere(!open)) break;
    }

    T = select(unconverged < 1.5, at, R(NOT_A_NUMBER));
}

template <class M, class R, class State>
POINT_FN void temperature_of(const M &m, const R target, const R start, const State &state, R &T, R &unconverged) {
    temperature_by(m, RealSteps<R>(), target, start, state, T, unconverged);
}

// ---- where no start is given: T of an ideal gas
// of constant heat capacity, that of T_PLAIN
template <class M, class R, class Species>
POINT_FN R plain_start(const M &m, const R target, const Species &Y, const R r) {
    R cp, h_plain;
    ideal_gas(m, R(T_PLAIN), Y, cp, h_plain);
    return T_PLAIN + (target - (h_plain - T_PLAIN * r)) / (cp - r);
}

// Whether h(T) - r T = target lies below the lowest T_mid (r = R_s: internal energy; r = 0: enthalpy)
template <class M, class R, class Species>
POINT_FN MaskOf<R> lower_range(const M &m, const R target, const Species &Y, const R r) {
    if constexpr (M::NASA9_RANGES > 0) return nowhere<R>();
    else {
        R h[1] = {R(0.0)};
        if constexpr (SIDE_BY_SIDE<Species>) weighted_sum<M::NS>(h[0], m.h_mid, Y);
        else {
            FOR_OWN (s, M::NS) h[0] += Y[s] * m.h_mid[s];
            sum_over_owners(h);
        }
        return target <= h[0] - r * R(m.T_mid_lowest[0]);
    }
}

// A start with the mixture's polynomial of that range: Halley's method for f(T) = h(T) - r T - target, from a
// temperature within the range,
//   T <- T - f f'/(f'^2 - f f''/2),   f' = cp - r,   f'' = cp'
// Errors are cubed. Three steps lead to within 1e-11 between 250 and 3500 K: one step of Newton's is left. Cold ranges,
// and species with a T_mid of their own, are left to Newton's method, too.
constexpr double T_OF_LOW = 600.0, T_OF_HIGH = 1800.0; // K: within the lower and the upper range
constexpr int HALLEY_STEPS = 3;
// Of real gases, where the start is off by the departure from an ideal gas: 1e-6 is near enough for a point by itself
template <class R> constexpr int REAL_STEPS = IN_CHAINS<R> ? 2 : HALLEY_STEPS;

// f as a polynomial: its coefficients c, and what is subtracted from T, over/under
template <class R> struct Halley {
    R c[6], over, under;

    template <class M, class Species> POINT_FN Halley(const IdealGasAt<M, R, Species> &gas, const R target, const R r) {
        UNROLL
        for (int k = 0; k < 6; ++k) c[k] = gas.c[k];
        sum_over_owners(c);
        c[0] -= r;
        c[5] -= target;
    }

    POINT_FN void at(const R T) {
        const R f = nasa_enthalpy(T, c);
        const R slope = nasa_cp(T, c);
        const R half_curve = nasa_cp_half_slope(T, c);
        over = f * slope;
        under = slope * slope - f * half_curve;
    }
};

template <int STEPS = HALLEY_STEPS, class M, class R, class Species>
POINT_FN R ideal_start(const IdealGasAt<M, R, Species> &gas, const R target, const R r) {
    if constexpr (M::NASA9_RANGES > 0) return plain_start(gas.m, target, gas.Y, r);
    else {
        Halley<R> step(gas, target, r);
        R T = select(gas.below, R(T_OF_LOW), R(T_OF_HIGH));
        UNROLL
        for (int k = 0; k < STEPS; ++k) {
            step.at(T);
            T -= quotient_start(step.over, step.under);
        }
        return T;
    }
}

// T by two such steps, and a third if it is small: the error after it, 0.02 of its cube, is then below rounding. This
// saves an evaluation, and evaluations wait for each other.
template <class M, class R, class Species>
POINT_FN bool ideal_by_halley(const IdealGasAt<M, R, Species> &gas, const R target, const R r, R &T, R &unconverged) {
    if constexpr (M::NASA9_RANGES > 0) return false;
    else {
        const R start = ideal_start<2>(gas, target, r);
        Halley<R> step(gas, target, r);
        step.at(start);
        const R last = step.over / step.under;

        // Where the last step may lead to: known before the step is.
        const R most = 1e-5 * start;
        const R low = start - most;
        const R high = start + most;
        if (!(low > T_LOWEST && high < M::T_end && gas.holds(low) && gas.holds(high))) return false;

        T = start - last;
        unconverged = R(0.0);
        return fabs(last) < most;
    }
}

// gas(T, cp_ig, h_ig) for a search. Coefficients summed over species are kept where species fill vectors.
template <class M, class R, class Species, class Mask>
POINT_FN auto ideal_gas_of(const M &m, const Species &Y, const Mask below) {
    if constexpr (SIDE_BY_SIDE<Species>) return IdealGasAt<M, R, Species>(m, Y, below);
    else return [&](const R T, R &cp_ig, R &h_ig) INLINED { ideal_gas(m, T, Y, cp_ig, h_ig); };
}

template <class M, class R, class Species>
POINT_FN R start_of_energy(const M &m, const R e, const Species &Y, const R R_s) {
    return ideal_start<REAL_STEPS<R>>(IdealGasAt<M, R, Species>(m, Y, lower_range(m, e, Y, R_s)), e, R_s);
}

template <class M, class R, class Species> POINT_FN R start_of_enthalpy(const M &m, const R h, const Species &Y) {
    return start_of_energy(m, h, Y, R(0.0));
}

template <class M, class R, class Species>
POINT_FN R start_of_entropy(const M &m, const R s, const R p, const Species &Y, const R W) {
    R cp, h, s_plain;
    ideal_gas(m, R(T_PLAIN), Y, cp, h);
    ideal_gas_entropy(m, R(T_PLAIN), p, Y, W, s_plain);
    return T_PLAIN * exp((s - s_plain) / cp);
}

// ---- ideal gases
template <class M, class R, class Species>
POINT_FN void ideal_temperature_from_h(const M &m, const R h, const Species &Y, R &T, R &unconverged) {
    const IdealGasAt<M, R, Species> gas(m, Y, lower_range(m, h, Y, R(0.0)));
    if constexpr (IN_CHAINS<R>) {
        if (ideal_by_halley(gas, h, R(0.0), T, unconverged)) return;
    }
    temperature_by(
        m, NewtonSteps<R>(), h, ideal_start(gas, h, R(0.0)),
        [&](const R at, R &value, R &slope) INLINED { gas(at, slope, value); }, T, unconverged);
}

template <class M, class R, class Species>
POINT_FN void ideal_temperature_from_e(const M &m, const R e, const Species &Y, const R R_s, R &T, R &unconverged) {
    const IdealGasAt<M, R, Species> gas(m, Y, lower_range(m, e, Y, R_s));
    if constexpr (IN_CHAINS<R>) {
        if (ideal_by_halley(gas, e, R_s, T, unconverged)) return;
    }
    temperature_by(
        m, NewtonSteps<R>(), e, ideal_start(gas, e, R_s),
        [&](const R at, R &value, R &slope) INLINED {
            gas(at, slope, value);
            value -= R_s * at;
            slope -= R_s;
        },
        T, unconverged);
}

template <class M, class R, class Species>
POINT_FN void ideal_temperature_from_s_p(const M &m, const R s, const R p, const Species &Y, const R W, R &T,
                                         R &unconverged) {
    R cp, h;
    const R mixing = entropy_of_mixing(m, p, Y, W);
    ideal_gas(m, R(T_PLAIN), Y, cp, h);
    temperature_by(
        m, NewtonSteps<R>(), s, T_PLAIN * exp((s + mixing - entropy_of_temperature(m, R(T_PLAIN), Y)) / cp),
        [&](const R at, R &value, R &slope) INLINED {
            R h;
            ideal_gas(m, at, Y, slope, h);
            value = entropy_of_temperature(m, at, Y) - mixing;
            slope = slope / at;
        },
        T, unconverged);
}

template <class M, class R>
POINT_FN void ideal_temperature_from_p_rho(const M &, const R p, const R rho, const R R_s, R &T, R &unconverged) {
    const R at = p / (select(rho > 0.0, rho, R(NOT_A_NUMBER)) * R_s);
    const auto found = at >= T_LOWEST && at <= M::T_end;
    T = select(found, at, R(NOT_A_NUMBER));
    unconverged = select(found, R(0.0), R(2.0));
}

template <class M, class R> POINT_FN void ideal_pressure(const M &, const R rho, const R T, const R R_s, R &p) {
    p = select(rho > 0.0, rho, R(NOT_A_NUMBER)) * R_s * known_temperature(T);
}

// ---- cubic equations
// What the inversions need of a state: all by the bodies of the cubic equation and of the ideal gas.
template <class R> struct CubicState {
    R a, a_T, a_TT, b, shift, Z, vol, v_free, rho, inv_free, inv_D, inv_centred, p_v_attractive, p_v_repulsive, p_v,
        p_T, v_p, L, cp_ig, h_ig, cv, cp;
};

template <class M, class R, class Species>
POINT_FN void cubic_state(const M &m, const R T, const R p, const Species &Y, const PairSums<R> &pairs, const R R_s,
                          CubicState<R> &s) {
    const auto delta = delta_of(m, Y);
    cubic_mixture_at(m, T, Y, pairs, s.a, s.a_T, s.a_TT, s.b, s.shift);
    cubic_root(m, T, p, R_s, s.a, s.b, s.shift, delta, s.Z, s.vol, s.v_free);
    cubic_reciprocals(m, s.b, s.v_free, s.vol, delta, s.rho, s.inv_free, s.inv_D, s.inv_centred);
    cubic_pressure_slopes(m, T, R_s, s.a, s.a_T, s.b, s.v_free, s.inv_free, s.inv_D, delta, s.p_v_attractive,
                          s.p_v_repulsive, s.p_v, s.p_T, s.v_p);
    cubic_departure(m, s.b, s.inv_centred, delta, s.L);
    ideal_gas(m, T, Y, s.cp_ig, s.h_ig);
    cubic_cv(m, T, R_s, s.cp_ig, s.a_TT, s.L, s.cv);
    heat_capacity_p(m, T, s.cv, s.p_T, s.v_p, s.cp);
}

template <class M, class R, class Species>
POINT_FN void temperature_from_h_p_start(const M &m, const R h, const R p, const Species &Y, const R R_s,
                                         const R T_start, R &T, R &unconverged) {
    const PairSums<R> pairs = pair_sums<M, R>(m, Y);
    temperature_of(
        m, h, T_start,
        [&](const R at, R &value, R &slope) INLINED {
            CubicState<R> s;
            cubic_state(m, at, p, Y, pairs, R_s, s);
            cubic_enthalpy(m, at, R_s, s.h_ig, s.Z, s.a, s.a_T, s.L, value);
            slope = s.cp;
        },
        T, unconverged);
}

template <class M, class R, class Species>
POINT_FN void temperature_from_h_p(const M &m, const R h, const R p, const Species &Y, const R R_s, R &T,
                                   R &unconverged) {
    temperature_from_h_p_start(m, h, p, Y, R_s, start_of_enthalpy(m, h, Y), T, unconverged);
}

template <class M, class R, class Species>
POINT_FN void temperature_from_s_p_start(const M &m, const R s, const R p, const Species &Y, const R W, const R R_s,
                                         const R T_start, R &T, R &unconverged) {
    const R mixing = entropy_of_mixing(m, p, Y, W);
    const PairSums<R> pairs = pair_sums<M, R>(m, Y);
    temperature_of(
        m, s, T_start,
        [&](const R at, R &value, R &slope) INLINED {
            CubicState<R> state;
            cubic_state(m, at, p, Y, pairs, R_s, state);
            cubic_entropy(m, at, p, R_s, entropy_of_temperature(m, at, Y) - mixing, state.v_free, state.a_T, state.L,
                          value);
            slope = state.cp / at;
        },
        T, unconverged);
}

template <class M, class R, class Species>
POINT_FN void temperature_from_s_p(const M &m, const R s, const R p, const Species &Y, const R W, const R R_s, R &T,
                                   R &unconverged) {
    temperature_from_s_p_start(m, s, p, Y, W, R_s, start_of_entropy(m, s, p, Y, W), T, unconverged);
}

// v - b of the equation of state at a given density; NaN where there is none
template <class M, class R> POINT_FN R free_volume(const M &, const R rho, const R b_mix, const R shift_mix) {
    const R free = 1.0 / rho + shift_mix - b_mix;
    return select(rho > 0.0 && free > 0.0, free, R(NOT_A_NUMBER));
}

// b of the mixture, and v - b at a given density
template <class M, class R, class Species>
POINT_FN void volumes_of_density(const M &m, const R rho, const Species &Y, R &b, R &v_free) {
    R shift = R(0.0);
    weighted_sum<M::NS>(b, m.b_mass, Y);
    if constexpr (M::translated && SIDE_BY_SIDE<Species>) weighted_sum<M::NS>(shift, m.shift_mass, Y);
    else if constexpr (M::translated) {
        FOR_SPECIES (s, M::NS) shift += Y[s] * m.shift_mass[s];
    }
    v_free = free_volume(m, rho, b, shift);
}

// at constant density no root is to be chosen: the state may be metastable, or one that no pressure holds. gas: the
// ideal gas of Y
template <class M, class R, class Species, class Gas>
POINT_FN void temperature_at_density(const M &m, const R e, const R rho, const Species &Y, const R R_s, const R T_start,
                                     const Gas &gas, R &T, R &unconverged) {
    R b, v_free;
    volumes_of_density(m, rho, Y, b, v_free);
    const auto eos = shape(m, delta_of(m, Y));
    const R L = departure_integral(eos, b, R(1.0 / (v_free + (0.5 * eos.linear) * b)));
    const PairSums<R> pairs = pair_sums<M, R>(m, Y);
    temperature_of(
        m, select(v_free > 0.0, e, R(NOT_A_NUMBER)), T_start,
        [&](const R at, R &value, R &slope) INLINED {
            R cp_ig, h_ig, a, a_T, a_TT, same_b, same_shift;
            cubic_mixture_at(m, at, Y, pairs, a, a_T, a_TT, same_b, same_shift);
            gas(at, cp_ig, h_ig);
            value = h_ig - R_s * at + (at * a_T - a) * L;
            cubic_cv(m, at, R_s, cp_ig, a_TT, L, slope);
        },
        T, unconverged);
}

template <class M, class R, class Species>
POINT_FN void temperature_from_e_rho_start(const M &m, const R e, const R rho, const Species &Y, const R R_s,
                                           const R T_start, R &T, R &unconverged) {
    temperature_at_density(m, e, rho, Y, R_s, T_start, ideal_gas_of<M, R>(m, Y, T_start <= T_OF_LOW), T, unconverged);
}

template <class M, class R, class Species>
POINT_FN void temperature_from_e_rho(const M &m, const R e, const R rho, const Species &Y, const R R_s, R &T,
                                     R &unconverged) {
    const auto gas = ideal_gas_of<M, R>(m, Y, lower_range(m, e, Y, R_s));
    R T_start;
    if constexpr (SIDE_BY_SIDE<Species>) T_start = ideal_start<REAL_STEPS<R>>(gas, e, R_s);
    else T_start = start_of_energy(m, e, Y, R_s);
    temperature_at_density(m, e, rho, Y, R_s, T_start, gas, T, unconverged);
}

// p = R T/(v - b) - a(T)/D grows with T. Z, vol and v_free are those of the density, which chooses the root.
template <class M, class R, class Species>
POINT_FN void temperature_from_p_rho_start(const M &m, const R p, const R rho, const Species &Y, const R R_s,
                                           const R T_start, R &T, R &unconverged, R &Z, R &vol, R &v_free) {
    R b;
    volumes_of_density(m, rho, Y, b, v_free);
    vol = 1.0 / rho;

    const auto eos = shape(m, delta_of(m, Y));
    const R D = v_free * v_free + b * (eos.linear * v_free + eos.constant * b);
    const R inv = 1.0 / (v_free * D);
    const R of_gas = R_s * (inv * D);
    const R of_a = inv * v_free;
    const PairSums<R> pairs = pair_sums<M, R>(m, Y);
    temperature_of(
        m, select(v_free > 0.0, p, R(NOT_A_NUMBER)), T_start,
        [&](const R at, R &value, R &slope) INLINED {
            R a, a_T, a_TT, same_b, same_shift;
            cubic_mixture_at(m, at, Y, pairs, a, a_T, a_TT, same_b, same_shift);
            value = at * of_gas - a * of_a;
            slope = of_gas - a_T * of_a;
        },
        T, unconverged);
    Z = p * vol / (R_s * T);
}

// p is nearly linear in T: one step from T_PLAIN is a good start.
template <class M, class R, class Species>
POINT_FN void temperature_from_p_rho(const M &m, const R p, const R rho, const Species &Y, const R R_s, R &T,
                                     R &unconverged, R &Z, R &vol, R &v_free) {
    temperature_from_p_rho_start(m, p, rho, Y, R_s, R(T_PLAIN), T, unconverged, Z, vol, v_free);
}

template <class M, class R, class Delta>
POINT_FN void cubic_pressure(const M &m, const R rho, const R T, const R R_s, const R a_mix, const R b_mix,
                             const R shift_mix, const Delta delta_mix, R &p, R &Z, R &vol, R &v_free) {
    const auto eos = shape(m, delta_mix);
    vol = 1.0 / rho;
    v_free = free_volume(m, rho, b_mix, shift_mix);
    const R RT = R_s * T;
    const R D = v_free * v_free + b_mix * (eos.linear * v_free + eos.constant * b_mix);
    p = RT / v_free - a_mix / D;
    Z = p * vol / RT;
}

// s+ of cubic.h at a given density
template <class M, class R, class Delta>
POINT_FN void cubic_residual_entropy_of_density(const M &m, const R rho, const R R_s, const R a_T, const R b_mix,
                                                const R shift_mix, const Delta delta_mix, R &residual_entropy) {
    const auto eos = shape(m, delta_mix);
    const R v_free = free_volume(m, rho, b_mix, shift_mix);
    const R centred = v_free + (0.5 * eos.linear) * b_mix;

    // 1/(v rho), 1/(v - b) and 1/centred with a single division
    const R below = v_free * rho;
    const R inv = 1.0 / (below * centred);
    const R L = departure_integral(eos, b_mix, R(inv * below));
    residual_entropy = log(inv * centred) - a_T * L / R_s;
}
