// The state of a point from h and p, in the same order as that from e and rho.
#pragma once
#include "gas/phases/volume.h"

// T in a bracket: H grows with T at constant p. begin: as `start` of bracketed_at_volume.
template <class M, class R>
PHASE_PART void bracketed_at_pressure(const M &m, const Given<M, R> &given, const MaskOf<R> ask,
                                      const State<M, R> &begin, State<M, R> &s, R &status) {
    State<M, R> now = begin;
    now.steps = s.steps;
    now.carried = false; // states on the way are not kept
    const R start = select(begin.T > T_LOWEST && begin.T < T_HIGHEST, begin.T, R(T_PLAIN));
    now.T = start;
    auto open = ask;
    auto warm = nowhere<R>();
    auto from_nothing = nowhere<R>();
    Bracket<R> in_T;
    begin_bracket(in_T);
    open_bracket(ask, R(T_LOWEST), R(T_HIGHEST), in_T);

    UNROLL_BY(1)
    for (int count = 0; count < BRACKET_STEPS; ++count) {
        R kind;
        Heat<M, R> heat;
        const auto two = flash_with_heat(m, given.z, open, warm, now, kind, heat);
        const R H = heat.U + now.p * now.V;
        const R Tp_T = now.p + heat.U_V;
        const R cp = heat.C_v - Tp_T * Tp_T / (heat.P_V * (R_UNIVERSAL * now.T) * now.T);
        const R miss = select(cp < 0.0, R(TOO_COLD), R(given.energy - H));
        const End<R> end{now.T, H, R(now.V - least_volume(m, now.T, given.z)), H, !two};
        narrow_bracket(open && miss > 0.0, open && miss < 0.0, end, in_T);

        // Two phases nearby, or a jump of H: `direct`
        const auto shut = in_T.high < in_T.low * (1.0 + 1e-7);
        const auto lever = open && shut && in_T.plain_low && in_T.plain_high && in_T.free_high > in_T.free_low;
        const auto nearby = two && fabs(miss) < 0.1 * cp * now.T;
        auto refused = nowhere<R>(); // pairs that a third phase lowers, and that are not the lowest
        if (any_of(lever || nearby)) {
            const R share = (given.energy - in_T.energy_low) / (in_T.energy_high - in_T.energy_low);
            State<M, R> from = now, jump = now;
            by_lever(m, given.z, within(share, 1.0), in_T.free_high, in_T.free_low, jump);
            take(lever, jump, from);
            const auto done =
                direct_later<Fixed::H_p>(m, given, open && (lever || nearby), from) && has_room(m, given.z, from);
            const auto ended = take_two_phases(m, given.z, done, from, s, status);
            now.steps = from.steps;
            open = open && !ended;
            refused = done && !ended;
        }
        const auto close = open && fabs(miss) < 1e-10 * cp * now.T && cp > 0.0 && kind < 1.5;
        if (any_of(close)) {
            open = open && !take_close(m, given.z, close, two, now, s, status);
            refused = refused || (open && close);
        }
        open = go_on(open, refused, from_nothing, in_T, status);
        warm = two && !from_nothing;
        if (everywhere(!open)) break;

        // At a start where the single phase boils its two sides are tried first
        const R newton = now.T + miss / cp;
        auto sound = newton > in_T.low && newton < in_T.high && cp > 0.0;
        if (count % 6 == 5) sound = nowhere<R>();
        R T = select(sound, newton, sqrt(in_T.low * in_T.high));
        if (count == 0) T = select(miss > 0.0, R(start * (1.0 + 1e-8)), R(start * (1.0 - 1e-8)));
        now.T = select(open, T, now.T);
    }
    s.steps = now.steps;
}

// V at the T and p of a start. Where both roots are the same, one phase keeps its share of the free volume.
template <class M, class R> PART_FN void set_warm_volume(const M &m, const R *z, State<M, R> &s) {
    Attraction<M, R> at;
    Phase<M, R> v, l;
    R x[M::NS], y[M::NS], beta = R(0.0), rest = R(0.0);
    attraction_at(m, s.T, at);
    FOR_SPECIES (k, M::NS) {
        const R kappa = exp(within(s.ln_kappa[k], 300.0));
        x[k] = z[k] / (1.0 + kappa);
        y[k] = x[k] * kappa;
        rest += x[k];
        beta += y[k];
    }
    FOR_SPECIES (k, M::NS) {
        x[k] = x[k] / rest;
        y[k] = y[k] / beta;
    }
    phase_sums<false>(m, at, x, l);
    phase_sums<false>(m, at, y, v);
    phase_root(m, at, s.p, l);
    phase_root(m, at, s.p, v);
    const R ratio = exp(within(R(s.eta - log(beta / rest)), 100.0));
    const auto alike = v.room < 1.5 * l.room;
    const auto thin = alike && l.room > l.B;
    const R room_l = select(thin, R(v.room / ratio), l.room);
    const R room_v = select(alike && !thin, R(l.room * ratio), v.room);
    s.V = beta * (room_v + v.least) + rest * (room_l + l.least);
}

// T, V, ln kappa and eta of s from its p and the enthalpy; the rest as above
template <class M, class R, class Single>
PART_FN void state_of_enthalpy_and_pressure(const M &m, const Given<M, R> &given, const MaskOf<R> warm,
                                            const Single &single, State<M, R> &s, R &status) {
    auto todo = given.energy > -1e300 && given.energy < 1e300 && s.p > 0.0 && s.p < 1e300;
    status = R(double(NOT_FOUND));

    // Two phases, as it was
    if (any_of(warm && todo)) {
        State<M, R> from = s;
        set_warm_volume(m, given.z, from);
        const auto done = direct<Fixed::H_p>(m, given, warm && todo, from, true) && has_room(m, given.z, from);
        todo = todo && !take_from_start(m, given.z, done, from, s, status);
        todo = todo && !put_off(warm && todo, s.T, s);
    }
    if (everywhere(!todo)) return;

    // One phase, if that is stable; two phases from a flash at that T
    R T, unconverged, kind = R(double(NOT_FOUND));
    single(T, unconverged);
    const auto has_T = unconverged < 0.5;
    State<M, R> from = s;
    from.T = select(unconverged < 1.5, T, R(T_PLAIN));
    flash(m, given.z, todo && has_T, nowhere<R>(), from, kind);
    const auto one = todo && has_T && kind < 0.5;
    const auto two = todo && has_T && kind > 0.5 && kind < 1.5;
    take(todo, from, s);
    s.steps = from.steps;
    status = select(one, R(double(ONE_PHASE)), status);
    todo = todo && !one && !s.late;
    if constexpr (IS_QUICK_PASS<M>) {
        put_off(todo, s.T, s);
        return;
    }
    if (everywhere(!todo)) return;

    const State<M, R> begin = s;
    auto done = direct_later<Fixed::H_p>(m, given, two, from) && has_room(m, given.z, from);
    if (any_of(done)) done = is_found_again(m, given.z, done, from);
    todo = todo && !take_two_phases(m, given.z, done, from, s, status);
    s.steps = from.steps;
    if (any_of(todo)) bracketed_at_pressure(m, given, todo, begin, s, status);
}
