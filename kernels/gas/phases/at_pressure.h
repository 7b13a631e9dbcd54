// T in a bracket at a given pressure, by an enthalpy, an entropy or a volume: each grows with T.
#pragma once
#include "gas/phases/bracket.h"

// What is sought, beside p: SoughtEnthalpy, SoughtEntropy or SoughtVolume. Each has
//   FIXED, given               what `direct` holds, and with which numbers
//   jumps(in_T)                whether the lever rule crosses a bracket: the value jumps there
//   NEARBY                     miss over slope up to which `direct` begins from two phases
//   BOILS_AT_START             T to begin from is where the mixture as one phase boils, if it does
//   target                     the value that is sought
//   value(m, now, two, heat)   that of a state
//   slope(now, heat, cp)       its derivative in ln T
//   next(T, miss, slope)       T by Newton's method
//   hold(in_T, share, from)    prepares `given` and the start `from` of `direct`; share: of the end of high T at a jump

// A flash of the points that go on, with what it misses
template <class R> struct MissedAtPressure {
    R value, slope;   // slope: in ln T
    R miss;           // target - value; TOO_COLD where the equation does not hold
    MaskOf<R> has_cp; // cp > 0
};

template <class Sought, class M, class R>
POINT_FN MissedAtPressure<R> missed_at_pressure(const M &m, const Sought &sought, const MaskOf<R> two,
                                                const State<M, R> &now, const Heat<M, R> &heat) {
    MissedAtPressure<R> o;
    const R Tp_T = now.p + heat.U_V;
    const R cp = heat.C_v - Tp_T * Tp_T / (heat.P_V * (R_UNIVERSAL * now.T) * now.T);
    o.value = sought.value(m, now, two, heat);
    o.slope = sought.slope(now, heat, cp);
    o.has_cp = cp > 0.0;
    o.miss = select(cp < 0.0, R(TOO_COLD), R(sought.target - o.value));
    return o;
}

// begin: T to begin from. warm: the points whose ln kappa and eta are a start of two phases.
template <class Sought, class M, class R>
PHASE_PART void bracketed_at_pressure(const M &m, Sought &sought, const MaskOf<R> ask, MaskOf<R> warm,
                                      const State<M, R> &begin, State<M, R> &s, R &status) {
    const R *const z = sought.given.z;
    State<M, R> now = begin;
    now.steps = s.steps;
    now.carried = false; // states on the way are not kept
    now.on_the_way = ask;
    const R start = select(begin.T > T_LOWEST && begin.T < M::T_end, begin.T, R(T_PLAIN));
    now.T = start;
    auto open = ask;
    auto from_nothing = nowhere<R>();
    Bracket<R> in_T;
    begin_bracket(in_T);
    open_bracket(ask, R(T_LOWEST), R(M::T_end), in_T);

    UNROLL_BY(1)
    for (int count = 0; count < BRACKET_STEPS; ++count) {
        R kind;
        Heat<M, R> heat;
        const auto two = flash_with_heat(m, z, open, warm, now, kind, heat);
        const auto off = missed_at_pressure(m, sought, two, now, heat);
        const R H = heat.U + now.p * now.V;
        const End<R> end{now.T, off.value, R(now.V - least_volume(m, now.T, z)), H, !two};
        narrow_bracket(open && off.miss > 0.0, open && off.miss < 0.0, end, in_T);

        // Two phases nearby, or a jump, as where a pure species boils: `direct`
        const auto plain = in_T.plain_low && in_T.plain_high && in_T.free_high > in_T.free_low;
        const auto lever = open && plain && sought.jumps(in_T);
        const auto nearby = open && two && fabs(off.miss) < Sought::NEARBY * off.slope;
        auto refused = nowhere<R>(); // pairs that a third phase lowers, and that are not the lowest
        if (any_of(lever || nearby)) {
            const R share = (sought.target - in_T.value_low) / (in_T.value_high - in_T.value_low);
            State<M, R> from = now, jump = now;
            by_lever(m, z, within(share, 1.0), in_T.free_high, in_T.free_low, jump);
            take(lever, jump, from);
            sought.hold(in_T, share, from);
            const auto done =
                direct_later<Sought::FIXED>(m, sought.given, lever || nearby, from) && has_room(m, z, from);
            const auto ended = take_two_phases(m, z, done, from, s, status);
            now.steps = from.steps;
            open = open && !ended;
            refused = done && !ended;
        }
        const auto close = open && fabs(off.miss) < 1e-10 * off.slope && off.has_cp && kind < 1.5;
        if (any_of(close)) {
            open = open && !take_close(m, z, close, two, now, s, status);
            refused = refused || (open && close);
        }
        const auto was_on_the_way = now.on_the_way;
        open = go_on(m, open, refused, now.on_the_way, from_nothing, in_T, status);
        warm = two && !from_nothing;
        if (everywhere(!open)) break;

        // At a start where the single phase boils its two sides are tried first
        const R newton = sought.next(now.T, off.miss, off.slope);
        auto sound = newton > in_T.low && newton < in_T.high && off.has_cp;
        if (count % 6 == 5) sound = nowhere<R>();
        R T = select(sound, newton, sqrt(in_T.low * in_T.high));
        if (count == 0 && Sought::BOILS_AT_START)
            T = select(off.miss > 0.0, R(start * (1.0 + 1e-8)), R(start * (1.0 - 1e-8)));
        now.T = select(open, T, now.T);

        // Pairs are looked at from the start on
        const auto anew = was_on_the_way && !now.on_the_way;
        now.T = select(anew, start, now.T);
        warm = warm && !anew;
    }
    s.steps = now.steps;
}
