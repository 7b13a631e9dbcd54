// Entropy of a state of one phase or two, and the state of an entropy and a pressure.
#pragma once
#include "gas/phases/enthalpy.h"

// Entropy of a phase less that of its species at p_ref:
//   psi D_T - R [sum n_i ln(n_i/n) + n ln(n R T/((w - B) p_ref))], and what EquationOf adds
template <class M, class R>
POINT_FN R phase_entropy(const M &m, const Attraction<M, R> &at, const R *x, const Phase<M, R> &f) {
    R mixing = R(0.0);
    FOR_SPECIES (k, M::NS) {
        const R share = at_least(x[k] / f.n, LEAST_AMOUNT);
        mixing += x[k] * log(share);
    }
    mixing += f.n * log(f.n * at.RT * f.inv_free * m.inv_p_ref[0]);
    R entropy = f.psi * f.D_T - R_UNIVERSAL * mixing;
    EquationOf<M>::add_entropy(at, f, entropy);
    return entropy;
}

// Entropy of one mole, less that of its species at p_ref
template <class M, class R>
PHASE_PART R state_entropy(const M &m, const R *z, const State<M, R> &s, const MaskOf<R> two) {
    Attraction<M, R> at;
    Phase<M, R> whole;
    attraction_at(m, s.T, at);
    phase_sums<true>(m, at, z, whole);
    place_phase(m, s.V, whole);
    phase_slopes(m, at, whole);
    R entropy = phase_entropy(m, at, z, whole);
    if (any_of(two)) {
        Parts<M, R> o;
        parts_of(m, z, s, o);
        const R both = phase_entropy(m, o.at, o.v, o.of_v) + phase_entropy(m, o.at, o.l, o.of_l);
        entropy = select(two, both, entropy);
    }
    return entropy;
}

// T in a bracket: S grows with T at constant p. ideal(T): entropy of the species at p_ref, of one mole. warm: the
// points whose ln kappa and eta are a start of two phases.
template <class M, class R, class Ideal>
PHASE_PART void bracketed_at_entropy(const M &m, const R *z, const R S, const MaskOf<R> ask, MaskOf<R> warm,
                                     const Ideal &ideal, State<M, R> &s, R &status) {
    State<M, R> now = s;
    now.carried = false; // states on the way are not kept
    now.T = select(s.T > T_LOWEST && s.T < T_HIGHEST, s.T, R(T_PLAIN));
    auto open = ask;
    auto from_nothing = nowhere<R>();
    Bracket<R> in_T;
    begin_bracket(in_T);
    open_bracket(ask, R(T_LOWEST), R(T_HIGHEST), in_T);

    UNROLL_BY(1)
    for (int count = 0; count < BRACKET_STEPS; ++count) {
        R kind;
        Heat<M, R> heat;
        const auto two = flash_with_heat(m, z, open, warm, now, kind, heat);
        const R found = state_entropy(m, z, now, two) + ideal(now.T);
        const R Tp_T = now.p + heat.U_V;
        const R cp = heat.C_v - Tp_T * Tp_T / (heat.P_V * (R_UNIVERSAL * now.T) * now.T);
        const R miss = select(cp < 0.0, R(TOO_COLD), R(S - found));
        const End<R> end{now.T, found, R(now.V - least_volume(m, now.T, z)), R(heat.U + now.p * now.V), !two};
        narrow_bracket(open && miss > 0.0, open && miss < 0.0, end, in_T);

        // A jump of S, a pure species boils: H jumps by as large a share, and `direct` has it
        const auto shut = in_T.high < in_T.low * (1.0 + 1e-9);
        const auto lever = open && shut && in_T.plain_low && in_T.plain_high && in_T.free_high > in_T.free_low;
        auto refused = nowhere<R>(); // pairs that a third phase lowers, and that are not the lowest
        if (any_of(lever)) {
            const R share = (S - in_T.value_low) / (in_T.value_high - in_T.value_low);
            State<M, R> from = now;
            Given<M, R> given;
            FOR_SPECIES (k, M::NS) given.z[k] = z[k];
            given.energy = in_T.energy_low + share * (in_T.energy_high - in_T.energy_low);
            by_lever(m, z, within(share, 1.0), in_T.free_high, in_T.free_low, from);
            const auto done = direct_later<Fixed::H_p>(m, given, lever, from) && has_room(m, z, from);
            const auto ended = take_two_phases(m, z, done, from, s, status);
            now.steps = from.steps;
            open = open && !ended;
            refused = done && !ended;
        }
        const auto close = open && fabs(miss) < 1e-10 * cp && cp > 0.0 && kind < 1.5;
        if (any_of(close)) {
            open = open && !take_close(m, z, close, two, now, s, status);
            refused = refused || (open && close);
        }
        open = go_on(open, refused, from_nothing, in_T, status);
        warm = two && !from_nothing;
        if (everywhere(!open)) break;

        const R newton = now.T * exp(within(R(miss / cp), 1.0));
        auto sound = newton > in_T.low && newton < in_T.high && cp > 0.0;
        if (count % 6 == 5) sound = nowhere<R>();
        now.T = select(open, select(sound, newton, sqrt(in_T.low * in_T.high)), now.T);
    }
    s.steps = now.steps;
}

// T, V, ln kappa and eta of s from its p and the entropy S of one mole. warm: the points with a start. single(T,
// unconverged): T as if the mixture were one phase.
template <class M, class R, class Single, class Ideal>
PART_FN void state_of_entropy_and_pressure(const M &m, const R *z, const R S, const MaskOf<R> warm,
                                           const Single &single, const Ideal &ideal, State<M, R> &s, R &status) {
    auto todo = S > -1e300 && S < 1e300 && s.p > 0.0 && s.p < 1e300;
    status = R(double(NOT_FOUND));

    // One phase, if that is stable
    const auto fresh = todo && !warm;
    if (any_of(fresh)) {
        R T, unconverged, kind = R(double(NOT_FOUND));
        single(T, unconverged);
        const auto has_T = fresh && unconverged < 0.5;
        State<M, R> from = s;
        from.T = select(unconverged < 1.5, T, R(T_PLAIN));
        flash(m, z, has_T, nowhere<R>(), from, kind);
        const auto one = has_T && kind < 0.5;
        take(fresh, from, s);
        s.steps = from.steps;
        status = select(one, R(double(ONE_PHASE)), status);
        todo = todo && !one && !s.late;
    }
    if constexpr (IS_QUICK_PASS<M>) put_off(todo, s.T, s);
    else if (any_of(todo)) bracketed_at_entropy(m, z, S, todo, warm && todo, ideal, s, status);
}
