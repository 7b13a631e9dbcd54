// The state of a point from e and rho, or T and rho: warm by `direct`, one phase, a trial phase, else in brackets.
#pragma once
#include "gas/phases/bracket.h"

constexpr int SHARE_STEPS = 2;      // to the amounts of a start
constexpr double LARGE_SHARE = 0.5; // step from which they are left as they are

// RT/(w - B) of one mole as one phase, a little more: the pressure is less. At most the highest that the equation has.
template <class M, class R> POINT_FN R most_pressure(const M &m, const R T, const R V, const R *z) {
    Attraction<M, R> at;
    Phase<M, R> f;
    attraction_at(m, T, at);
    phase_sums<false>(m, at, z, f);
    place_phase(m, V, f);
    return at_most(R(at.RT / f.free * 1.0000001), EquationOf<M>::HIGHEST);
}

// The points that nothing else finds: T outside, unless it is held (U grows with T at constant V), p inside (V falls
// with p at constant T), both of the stable equilibrium, by Newton's method in brackets. Two phases are handed to
// `direct`. start: T and p to begin from; two phases that s has already, of which one is unstable, are none.
template <Fixed FIXED, class M, class R>
PHASE_PART void bracketed_at_volume(const M &m, const Given<M, R> &given, const MaskOf<R> ask, const State<M, R> &start,
                                    State<M, R> &s, R &status) {
    constexpr bool ENERGY = FIXED == Fixed::U_V;
    const R V = s.V;
    State<M, R> now = start;
    now.steps = s.steps;
    now.carried = false; // states on the way are not kept
    now.T = select(start.T > T_LOWEST && start.T < T_HIGHEST, start.T, R(T_PLAIN));
    auto open = ask && V > least_volume(m, now.T, given.z), warm = nowhere<R>(), ends_in_three = nowhere<R>();
    auto cold = nowhere<R>(); // points whose states begin from nothing: from one another they began in vain

    Bracket<R> in_T, in_p;
    in_T.seen_low = in_T.seen_high = in_p.seen_low = in_p.seen_high = nowhere<R>();
    in_T.plain_low = in_T.plain_high = in_p.plain_low = in_p.plain_high = nowhere<R>();
    in_T.low = in_T.high = in_p.low = in_p.high = R(1.0);
    open_bracket(ask, R(T_LOWEST), R(T_HIGHEST), in_T);
    const auto most_p = [&](const R T) { return most_pressure(m, T, V, given.z); };
    const R least_p = R(1e-3);
    open_bracket(ask, least_p, most_p(now.T), in_p);
    now.p = select(start.p > least_p && start.p < in_p.high, start.p, sqrt(R(1e3) * in_p.high));

    UNROLL_BY(1)
    for (int count = 0; count < BRACKET_STEPS; ++count) {
        R kind;
        Heat<M, R> heat;
        const auto two = flash_with_heat(m, given.z, open, warm && !cold, now, kind, heat);
        warm = two;

        // Volume: too small, then p is too high
        const R miss_V = log(V / now.V), p_V = heat.P_V * (R_UNIVERSAL * now.T);
        const R least = least_volume(m, now.T, given.z), free = V - least;
        const End<R> end{now.p, now.V, R(now.V - least), heat.U, !two};
        narrow_bracket(open && miss_V < 0.0, open && miss_V > 0.0, end, in_p);
        const auto at_V = open && fabs(miss_V) < 1e-10, shut = in_p.high < in_p.low * (1.0 + 1e-10);
        const R miss_U = given.energy - (heat.U + heat.U_V * (V - now.V));

        // Two phases nearby, or a jump of V that the lever rule crosses: `direct`
        const auto lever = open && shut && in_p.plain_low && in_p.plain_high && in_p.free_low > in_p.free_high;
        auto nearby = two && fabs(miss_V) < 0.3;
        if (ENERGY) nearby = nearby && (at_V || fabs(miss_U) < 0.1 * heat.C_v * now.T);
        const R share = (free - in_p.free_high) / (in_p.free_low - in_p.free_high);
        auto refused = nowhere<R>(); // pairs that a third phase lowers, and that are not the lowest
        if (any_of(lever || nearby)) {
            State<M, R> from = now, jump = now;
            by_lever(m, given.z, within(share, 1.0), in_p.free_low, in_p.free_high, jump);
            take(lever, jump, from);
            from.V = V;
            const auto done = direct_later<FIXED>(m, given, open && (lever || nearby), from) && from.p > 0.0;
            const auto ended = take_two_phases(m, given.z, done, from, s, status);
            now.steps = from.steps;
            open = open && !ended;
            refused = done && !ended;
        }

        // Energy at V: too small, then T is too low. At a jump of V by the lever rule: two states at the same T and p,
        // each of one phase or of two, make one of two or of three. Where V is larger than that of the least p, there
        // is next to no vapour.
        const R U_jump = in_p.energy_high + share * (in_p.energy_low - in_p.energy_high);
        const auto jumps = in_p.seen_low && in_p.seen_high, next_T = open && (at_V || shut);
        const auto too_hot = in_p.low >= EquationOf<M>::HIGHEST; // no pressure of the equation makes V as small
        R miss = select(at_V, miss_U, R(given.energy - select(jumps, U_jump, heat.U)));
        miss = select(too_hot, R(-1e300), miss);
        const R size = fabs(miss) / (heat.C_v * now.T);
        auto close = next_T && at_V && kind < 1.5;
        if (ENERGY) close = close && size < 1e-10;
        if (any_of(close)) {
            now.V = select(close, V, now.V);
            const auto ended = take_close(m, given.z, close, two, now, s, status);
            open = open && !ended;
            refused = refused || (close && !ended);
        }

        // At a jump between states of which one has two phases there are three
        const auto three = next_T && !at_V && jumps && !(in_p.plain_low && in_p.plain_high);
        ends_in_three = (ends_in_three && !next_T) || three;
        auto no_other = next_T;
        if (ENERGY) no_other = no_other && (close || in_T.high < in_T.low * (1.0 + 1e-13));
        auto again = open && !cold && (no_other || refused);
        if (count == FROM_NOTHING) again = open && !cold;
        open = open && (again || !no_other);
        if (everywhere(!open)) break;

        const auto moves_T = ENERGY ? next_T : nowhere<R>();
        narrow(moves_T && miss > 0.0, moves_T && miss < 0.0, now.T, miss, in_T);
        open_bracket(again, R(T_LOWEST), R(T_HIGHEST), in_T);
        cold = cold || again;
        const R newton_T = select(at_V && heat.C_v > 0.0, R(now.T + miss_U / heat.C_v), chord_of(in_T));
        auto sound = newton_T > in_T.low && newton_T < in_T.high;
        if (count % 8 == 7) sound = nowhere<R>(); // now and then a bisection, whatever Newton's method does
        const R T = select(moves_T, select(sound, newton_T, sqrt(in_T.low * in_T.high)), now.T);

        // p of the next evaluation: by Newton's method in ln p, or along constant V where T changes
        const R along_p = within(R(miss_V * now.V * p_V / now.p), 20.0);
        const R along_T = within(R((T - now.T) * (now.p + heat.U_V) / (now.T * now.p)), 20.0);
        open_bracket(next_T || again, least_p, most_p(T), in_p);
        R p = now.p * exp(select(next_T, along_T, along_p));
        auto inside = p > in_p.low && p < in_p.high;
        if (count % 6 == 5) inside = nowhere<R>();
        const auto beyond = p >= EquationOf<M>::HIGHEST && in_p.high >= EquationOf<M>::HIGHEST && !in_p.seen_high;
        p = select(inside, p, select(beyond, in_p.high, sqrt(in_p.low * in_p.high)));
        now.T = select(open, T, now.T);
        now.p = select(open, p, now.p);
    }
    status = select(ask && is_lost(status) && ends_in_three, R(double(IN_THREE_PHASES)), status);
    s.steps = now.steps;
}

// A feed at T and V as one phase `whole`, whatever root of the equation V is, without its further slopes. p: its
// pressure. Whether it is a state that may be stable.
template <class M, class R>
POINT_FN MaskOf<R> feed_at_volume(const M &m, const R *z, const R T, const R V, Feed<M, R> &feed, Phase<M, R> &whole,
                                  R &p) {
    feed_of(m, z, T, R(1.0), feed);
    phase_sums<false>(m, feed.at, z, whole);
    place_phase(m, V, whole);
    phase_stiffness(m, feed.at, whole);
    p = phase_pressure(feed.at, whole) * feed.at.RT;
    feed.p = at_most(p, EquationOf<M>::HIGHEST);
    return p > 0.0 && p <= EquationOf<M>::HIGHEST && whole.P_V < 0.0;
}

// Whether p falls with V all along the isotherm of one mole, as that of a fluid above its critical temperature: then
// there is a single root at any p. The a/(b R T) of the critical isotherm grows with delta1 from 0.42 on, and
// delta1 of a mixture is no less than the least of the species.
template <class M, class R>
POINT_FN MaskOf<R> has_one_root(const M &m, const Attraction<M, R> &at, const Phase<M, R> &f) {
    return f.D * at.inv_RT < m.phase_one_root[0] * f.B;
}

// Whether that V is the stable root at its pressure: the only one, or the one that the equation gives
template <class M, class R> POINT_FN MaskOf<R> is_root(const M &m, const Feed<M, R> &feed, const Phase<M, R> &whole) {
    const auto alone = has_one_root(m, feed.at, whole);
    if (everywhere(alone)) return alone;
    const R free = EquationOf<M>::root(m, feed.at.T, feed.p, whole, Absent());
    return alone || fabs(free - whole.free) < 1e-6 * whole.V;
}

// Its tangent plane. Where its pressure is none that a phase can have, feed.p becomes the sum of the fugacities.
template <class M, class R>
POINT_FN void plane_at_volume(const M &m, const R V, const Phase<M, R> &whole, Feed<M, R> &feed) {
    constexpr int NS = M::NS;
    R F[NS], sum = R(0.0);
    phase_fugacities(m, feed.at, whole, R(log(V * whole.inv_free)), F);

    // ln phi = F - ln Z, f = z phi p
    const R ideal = feed.at.RT / V;
    FOR_SPECIES (k, NS) sum += feed.z[k] * exp(within(F[k], 300.0)) * ideal;
    feed.p = select(feed.p > 0.0, feed.p, sum);
    const R ln_Z = log(feed.p / ideal);
    FOR_SPECIES (k, NS) F[k] = F[k] - ln_Z;
    tangent_plane_of(m, V, F, feed);
}

// A start of `direct` at T, V from the trial of a feed that is not stable, for the points of `where`
template <class M, class R>
PHASE_PART void start_from_trial(const M &m, const Feed<M, R> &feed, const Verdict<M, R> &verdict,
                                 const MaskOf<R> where, State<M, R> &s) {
    constexpr int NS = M::NS;
    R x[NS], y[NS], trial[NS], sum = R(0.0);
    FOR_SPECIES (k, NS) {
        // Where no trial was found, the vapour of the feed as a liquid: f_i/p
        trial[k] = exp(within(select(verdict.unstable, verdict.ln_W[2][k], feed.d[k]), 100.0));
        sum += trial[k];
    }
    const auto of_vapour = verdict.is_vapour > 0.5 || !verdict.unstable;
    FOR_SPECIES (k, NS) {
        trial[k] = trial[k] / sum;
        x[k] = select(of_vapour, feed.z[k], trial[k]);
        y[k] = select(of_vapour, trial[k], feed.z[k]);
    }
    Phase<M, R> v, l;
    phase_sums<false>(m, feed.at, x, l);
    phase_sums<false>(m, feed.at, y, v);
    phase_root(m, feed.at, feed.p, l);
    phase_root(m, feed.at, feed.p, v);

    // Roots that do not differ: a dense liquid and a thin gas
    const auto alike = v.V < 1.2 * l.V;
    const R room_l = select(alike, R(0.2 * l.B), l.room), thin = larger(R(4.0 * v.B), R(2.0 * s.V)),
            room_v = select(alike, thin, v.room);
    const R V_l = room_l + l.least, V_v = room_v + v.least;
    const R beta = at_least(at_most(R((s.V - V_l) / (V_v - V_l)), 0.98), 0.02), ratio = log(beta / (1.0 - beta));
    s.eta = select(where, R(ratio + log(room_v / room_l)), s.eta);
    FOR_SPECIES (k, NS) {
        const R ln_K = log(at_least(y[k], LEAST_AMOUNT) / at_least(x[k], LEAST_AMOUNT));
        s.ln_kappa[k] = select(where, R(ratio + select(feed.z[k] > 1e-90, ln_K, R(0.0))), s.ln_kappa[k]);
    }
}

// The amounts of a start at T and V. Its K_i and the ratio of its densities belong to the composition that the point
// had: at that which it has now ln kappa and eta are off by nearly the same number, the logarithm of `factor`. Newton's
// method to equal pressures in that.
template <class M, class R>
POINT_FN void share_by_pressure(const M &m, const R *z, const MaskOf<R> ask, State<M, R> &s) {
    Attraction<M, R> at;
    attraction_at(m, s.T, at);

    const R room = s.V - least_volume(m, s.T, z), ratio = exp(within(s.eta, 300.0));
    R kappa[M::NS], factor = R(1.0);
    FOR_SPECIES (k, M::NS) kappa[k] = exp(within(s.ln_kappa[k], 300.0));

    UNROLL_BY(1)
    for (int step = 0; step < SHARE_STEPS; ++step) {
        // Both phases. moved: d v_i/d ln factor
        Phase<M, R> of_v, of_l;
        R v[M::NS], l[M::NS], moved[M::NS];
        FOR_SPECIES (k, M::NS) {
            const R now = factor * kappa[k], share = inverse(R(1.0 + now));
            l[k] = z[k] * share;
            v[k] = l[k] * now;
            moved[k] = v[k] * share;
        }
        phase_sums<false>(m, at, v, of_v);
        phase_sums<false>(m, at, l, of_l);

        const R share_l = inverse(R(1.0 + factor * ratio));
        place_room(m, R(room * share_l), of_l);
        place_room(m, R(factor * ratio * of_l.room), of_v);
        phase_stiffness(m, at, of_v);
        phase_stiffness(m, at, of_l);
        pressure_slopes(m, at, of_v);
        pressure_slopes(m, at, of_l);

        // The difference of the pressures, and its slope
        R slope = R(0.0), moved_volume = of_v.room * share_l;
        FOR_SPECIES (k, M::NS) {
            slope += moved[k] * (of_v.P_i[k] + of_l.P_i[k]);
            moved_volume += moved[k] * EquationOf<M>::least(m, s.T, k);
        }
        slope += moved_volume * (of_v.P_V + of_l.P_V);
        const R change = (phase_pressure(at, of_l) - phase_pressure(at, of_v)) / slope;
        factor = select(fabs(change) < LARGE_SHARE, R(factor * (1.0 + change)), factor);
    }

    const R moved = select(ask, log(factor), R(0.0));
    s.eta += moved;
    FOR_SPECIES (k, M::NS) s.ln_kappa[k] += moved;
}

// T, p, ln kappa and eta of s from its V and the energy, or the rest from its V and T. warm: the points with a start.
// single(T, unconverged): T as if the mixture were one phase.
template <Fixed FIXED, class M, class R, class Single>
PART_FN void state_at_volume(const M &m, const Given<M, R> &given, const MaskOf<R> warm, const Single &single,
                             State<M, R> &s, R &status) {
    const R V = s.V;
    auto todo = given.energy > -1e300 && given.energy < 1e300 && V > 0.0;
    status = R(double(NOT_FOUND));

    // Two phases, as it was
    if (any_of(warm && todo)) {
        State<M, R> from = s;
        share_by_pressure(m, given.z, warm && todo, from);
        const auto done = direct<FIXED>(m, given, warm && todo, from, true) && from.p > 0.0;
        take(done, from, s);
        s.steps = from.steps;
        status = select(done, R(double(IN_TWO_PHASES)), status);
        todo = todo && !done;
        todo = todo && !put_off(warm && todo, s.T, s);
    }
    if (everywhere(!todo)) return;

    // One phase, if that is stable
    R T, unconverged;
    single(T, unconverged);
    const auto has_T = unconverged < 0.5;
    Feed<M, R> feed;
    Phase<M, R> whole;
    R p;
    const auto sound = feed_at_volume(m, given.z, select(has_T, T, R(T_PLAIN)), V, feed, whole, p) && has_T;
    feed.steps = counted_in<R>(todo);
    const auto hot = todo && sound && is_plainly_hot(m, feed.at.T, p);
    auto one = hot || (todo && sound && is_settled(m, given.z, feed.at.T, p, s));
    if (any_of(one)) one = one && is_root(m, feed, whole);
    if (s.carried) settle(one && hot, given.z, feed.at.T, p, s);
    const auto tested = todo && has_T && !one;
    Verdict<M, R> verdict;
    if (any_of(tested)) {
        further_slopes(m, feed.at, whole);
        plane_at_volume(m, V, whole, feed);
        auto stable = tested && sound && is_followed(m, feed, tested && sound, s);
        if (any_of(stable)) stable = stable && is_root(m, feed, whole);
        auto unknown = tested && !stable && !is_put_off_with_trial(s);
        const auto late = put_off(unknown, feed.at.T, s);
        unknown = unknown && !late;
        todo = todo && !late;
        one = one || stable;
        if constexpr (!IS_QUICK_PASS<M>) {
            test_stability(m, feed, unknown, verdict);
            recall_trial(s, verdict);
            const auto passed = unknown && sound && !verdict.unstable;
            keep_test(m, feed, unknown, passed, verdict, s);
            one = one || passed;
        }
    }
    s.steps += feed.steps;
    s.V = select(one, V, s.V);
    s.T = select(todo && has_T, T, s.T);
    s.p = select(one, p, select(todo, feed.p, s.p));
    status = select(one, R(double(ONE_PHASE)), status);
    todo = todo && !one;
    if constexpr (IS_QUICK_PASS<M>) {
        put_off(todo, s.T, s);
        return;
    }
    todo = todo && !put_off_with_trial(todo, verdict, s);
    if (everywhere(!todo)) return;

    // Two phases from the trial of that test, then by brackets
    const State<M, R> start = s;
    if (any_of(todo && has_T)) {
        State<M, R> from = s;
        start_from_trial(m, feed, verdict, todo, from);
        const auto done = direct_later<FIXED>(m, given, todo && has_T, from) && from.p > 0.0;
        s.steps = from.steps;
        todo = todo && !take_two_phases(m, given.z, done, from, s, status);
    }
    if (any_of(todo)) bracketed_at_volume<FIXED>(m, given, todo, start, s, status);
}
