// The state of a point at T and p, whether it is one phase or two, with its energy and slopes. Warm, from the
// ln kappa and eta of the point's last state, or cold. Loops end when all points that work together are done; a point
// that is done keeps its values, so that its result does not depend on its neighbours.
#pragma once
#include "gas/phases/lower.h"
#include "gas/phases/settled.h"

enum { ONE_PHASE, IN_TWO_PHASES, NOT_FOUND, NEEDS_A_THIRD, IN_THREE_PHASES };

template <class R> POINT_FN R status_of(const MaskOf<R> two) {
    return select(two, R(double(IN_TWO_PHASES)), R(double(ONE_PHASE)));
}

// Whether a status says that results are those of two phases; whether there is no state of one or two
template <class R> POINT_FN MaskOf<R> has_two_phases(const R status) {
    return (status > IN_TWO_PHASES - 0.5 && status < IN_TWO_PHASES + 0.5) ||
           (status > NEEDS_A_THIRD - 0.5 && status < NEEDS_A_THIRD + 0.5);
}

template <class R> POINT_FN MaskOf<R> is_lost(const R status) {
    return (status > NOT_FOUND - 0.5 && status < NOT_FOUND + 0.5) || status > IN_THREE_PHASES - 0.5;
}

template <class M, class R> POINT_FN void take(const MaskOf<R> mask, const State<M, R> &from, State<M, R> &to) {
    to.T = select(mask, from.T, to.T);
    to.p = select(mask, from.p, to.p);
    to.V = select(mask, from.V, to.V);
    to.eta = select(mask, from.eta, to.eta);
    FOR_SPECIES (k, M::NS) to.ln_kappa[k] = select(mask, from.ln_kappa[k], to.ln_kappa[k]);
    to.steps = from.steps; // counted by point
    to.late = from.late;
    to.carried = from.carried;
}

// Whether the state is that of two phases to start from: not NaN, and not the zeros of one phase
template <class M, class R> POINT_FN MaskOf<R> is_warm(const State<M, R> &s) {
    R sum = fabs(s.eta);
    FOR_SPECIES (k, M::NS) sum += fabs(s.ln_kappa[k]);
    return sum > 0.0 && sum < 1e300 && (s.eta < KEPT || has_mark(s, DOUBTED));
}

// Amounts, volumes and ln kappa of two phases at T, p
template <class M, class R>
PART_FN void set_two_phases(const M &m, const Feed<M, R> &feed, const TwoPhases<M, R> &two, const MaskOf<R> mask,
                            State<M, R> &s) {
    Phase<M, R> v, l;
    phase_sums<false>(m, feed.at, two.x, l);
    phase_sums<false>(m, feed.at, two.y, v);
    phase_root(m, feed.at, feed.p, l);
    phase_root(m, feed.at, feed.p, v);
    const R ratio = log(two.beta / two.rest);
    s.V = select(mask, R(two.beta * v.V + two.rest * l.V), s.V);
    s.eta = select(mask, R(ratio + log(v.room / l.room)), s.eta);
    FOR_SPECIES (k, M::NS) s.ln_kappa[k] = select(mask, R(two.ln_K[k] + ratio), s.ln_kappa[k]);
}

template <class M, class R> POINT_FN void feed_of(const M &m, const R *z, const R T, const R p, Feed<M, R> &feed) {
    attraction_at(m, T, feed.at);
    feed.p = p;
    feed.steps = R(0.0);
    FOR_SPECIES (k, M::NS) feed.z[k] = z[k];
}

// The root of the feed as one phase, and what a test of its stability needs for the points of `tested`
template <class M, class R>
POINT_FN void feed_at_pressure(const M &m, const MaskOf<R> tested, Feed<M, R> &feed, Phase<M, R> &whole) {
    if (any_of(tested)) {
        R ln_phi[M::NS];
        phase_at_pressure(m, feed.at, feed.p, feed.z, whole, ln_phi);
        tangent_plane_of(m, whole.V, ln_phi, feed);
    } else {
        phase_sums<false>(m, feed.at, feed.z, whole);
        phase_root(m, feed.at, feed.p, whole);
    }
}

// The points of `ask`, of unstable feeds, of which the trial's phase has next to no moles: it is not below the plane
// without the species that the feed has too little of. There are no more moles of it than of a species that it needs.
template <class M, class R>
PHASE_PART MaskOf<R> has_gone(const M &m, Feed<M, R> &feed, const MaskOf<R> ask, const Verdict<M, R> &verdict) {
    Trial<M, R> trial;
    FOR_SPECIES (k, M::NS) trial.ln_W[k] = verdict.ln_W[2][k];
    const R lean = select(verdict.is_vapour > 0.5, R(0.0), R(LEAN));
    minimise_later(m, feed, ask, Aim::STATIONARY, trial, lean);

    R W[M::NS], sum = R(0.0), rest = R(1.0);
    FOR_SPECIES (k, M::NS) {
        W[k] = exp(within(trial.ln_W[k], 300.0));
        sum += W[k];
    }
    FOR_SPECIES (k, M::NS) rest -= select(feed.z[k] * sum > GONE * W[k], W[k], R(0.0));
    return ask && rest > -UNSTABLE;
}

// The split of the points of `known`, from the trial that their test found in a call before
template <class M, class R>
POINT_FN MaskOf<R> split_from_trial(const M &m, Feed<M, R> &feed, const MaskOf<R> known, const State<M, R> &s,
                                    TwoPhases<M, R> &two) {
    if (!any_of(known)) return known;

    Verdict<M, R> verdict;
    verdict.unstable = verdict.certain = verdict.alone = nowhere<R>();
    verdict.is_vapour = verdict.tm = R(0.0);
    FOR_SPECIES (k, M::NS) verdict.ln_W[0][k] = verdict.ln_W[1][k] = verdict.ln_W[2][k] = feed.ln_z[k];
    recall_trial(s, verdict);
    return split_unstable(m, feed, known, verdict, two, BEST_TRIAL);
}

// The points of `unknown` that have two phases, by the whole test of stability. An unstable feed is put off, and split
// in the next call from the trial that was found; where that fails the test is made again, for all its trials. lost:
// unstable feeds of which no split is found
template <class M, class R>
POINT_FN MaskOf<R> search_phases(const M &m, Feed<M, R> &feed, MaskOf<R> unknown, TwoPhases<M, R> &two, State<M, R> &s,
                                 MaskOf<R> &lost) {
    auto found = split_from_trial(m, feed, unknown && is_put_off_with_trial(s), s, two);
    unknown = unknown && !found;
    if (any_of(unknown)) {
        Verdict<M, R> verdict;
        test_stability(m, feed, unknown, verdict);
        unknown = unknown && !put_off_with_trial(verdict.unstable, verdict, s);

        const auto unstable = unknown && verdict.unstable;
        if (any_of(unstable)) {
            const auto now = split_unstable(m, feed, unstable, verdict, two);
            auto missed = unstable && verdict.certain && !now;
            if (any_of(missed)) missed = missed && !has_gone(m, feed, missed, verdict);
            lost = lost || missed;
            found = found || now;
        }
        keep_test(m, feed, unknown, unknown && !unstable, verdict, s);
    }
    if (any_of(found)) take_lower_split(m, feed, found, two);
    return found;
}

// The two phases of the points of `ask` at T and p, from the ln kappa of s: those found. Their amounts and roots at the
// K_i of the start, then Newton's method without roots. ln_phi: of the liquid
template <class M, class R>
PART_FN MaskOf<R> pair_from_start(const M &m, Feed<M, R> &feed, const MaskOf<R> ask, State<M, R> &s, R *ln_phi) {
    constexpr int NS = M::NS;
    TwoPhases<M, R> two;
    R K[NS], v = R(0.0), l = R(0.0);
    FOR_SPECIES (k, NS) {
        K[k] = exp(within(s.ln_kappa[k], 300.0));
        const R share = feed.z[k] * inverse(R(1.0 + K[k]));
        l += share;
        v += share * K[k];
    }
    auto open = ask && v > 0.0 && l > 0.0;
    const R inv_ratio = select(open, R(l / v), R(1.0));
    const R ratio = log(inv_ratio);
    two.beta = select(open, v, R(0.5));
    two.rest = select(open, l, R(0.5));
    FOR_SPECIES (k, NS) {
        K[k] = K[k] * inv_ratio;
        two.ln_K[k] = s.ln_kappa[k] + ratio;
        two.x[k] = two.y[k] = feed.z[k];
    }
    const auto far = rachford_rice_nearby(m, feed.z, K, open, ON_THE_WAY, two);
    if (any_of(far)) rachford_rice(m, feed.z, K, far, two);
    open = open && two.beta > 0.0 && two.rest > 0.0;
    if (!any_of(open)) return open;

    Given<M, R> given;
    given.energy = R(0.0);
    FOR_SPECIES (k, NS) given.z[k] = feed.z[k];
    set_two_phases(m, feed, two, open, s);
    return direct<Fixed::T_p>(m, given, open, s, true, ln_phi);
}

// The two phases of a state, as those of a split, without ln phi
template <class M, class R> POINT_FN void pair_of(const M &m, const R *z, const State<M, R> &s, TwoPhases<M, R> &two) {
    R least_v = R(0.0), least_l = R(0.0);
    two.beta = two.rest = R(0.0);
    FOR_SPECIES (k, M::NS) {
        const R kappa = exp(within(s.ln_kappa[k], 300.0));
        const R least = EquationOf<M>::least(m, s.T, k);
        two.x[k] = z[k] * inverse(R(1.0 + kappa));
        two.y[k] = two.x[k] * kappa;
        two.rest += two.x[k];
        two.beta += two.y[k];
        least_l += two.x[k] * least;
        least_v += two.y[k] * least;
    }

    const R ratio = exp(within(s.eta, 300.0));
    const R room_l = (s.V - least_l - least_v) * inverse(R(1.0 + ratio));
    const R inv_rest = inverse(two.rest);
    const R inv_beta = inverse(two.beta);
    two.V_x = (room_l + least_l) * inv_rest;
    two.V_y = (room_l * ratio + least_v) * inv_beta;

    const R ln_ratio = log(two.beta * inv_rest);
    FOR_SPECIES (k, M::NS) {
        two.x[k] = two.x[k] * inv_rest;
        two.y[k] = two.y[k] * inv_beta;
        two.ln_K[k] = s.ln_kappa[k] - ln_ratio;
    }
}

// The points of `started` that keep the two phases of their start, as they are at T and p: no other phase is below both
template <class M, class R>
POINT_FN MaskOf<R> keeps_pair(const M &m, Feed<M, R> &feed, const MaskOf<R> started, State<M, R> &s) {
    R ln_phi[M::NS];
    State<M, R> from = s;
    const auto done = pair_from_start(m, feed, started, from, ln_phi);

    auto third = done && has_two_liquids(m, feed.z, feed.at.T);
    if (any_of(third)) {
        TwoPhases<M, R> two;
        pair_of(m, feed.z, from, two);
        FOR_SPECIES (k, M::NS) two.ln_phi[k] = ln_phi[k];
        third = is_above_another(m, feed, third, two);
    }

    const auto kept = done && !third;
    take(kept, from, s);
    s.steps = from.steps;
    if constexpr (IS_QUICK_PASS<M>) doubt(third, s);
    return kept;
}

// Fills V, ln kappa and eta of s at its T and p for the points of `ask`; warm: those whose ln kappa and eta are a
// start of two phases.
template <class M, class R>
PART_FN void flash(const M &m, const R *z, const MaskOf<R> ask, const MaskOf<R> warm, State<M, R> &s, R &status) {
    constexpr int NS = M::NS;
    Feed<M, R> feed;
    feed_of(m, z, s.T, s.p, feed);
    TwoPhases<M, R> two;
    two.beta = two.rest = R(0.5);
    FOR_SPECIES (k, NS) two.ln_K[k] = R(0.0);
    auto found = nowhere<R>();
    auto kept = nowhere<R>();

    // Warm: accepted where beta is inside, and no other phase is below the plane of both. States of a search are far
    // from each other
    const auto started = ask && warm;
    if (any_of(started) && s.carried) kept = keeps_pair(m, feed, started, s);
    else if (any_of(started)) {
        R v = R(0.0), l = R(0.0);
        FOR_SPECIES (k, NS) {
            const R kappa = exp(within(s.ln_kappa[k], 300.0));
            const R share = z[k] / (1.0 + kappa);
            l += share;
            v += share * kappa;
        }
        const auto usable = started && v > 0.0 && l > 0.0;
        const R ratio = log(at_least(v, LEAST_AMOUNT) / at_least(l, LEAST_AMOUNT));
        two.beta = select(usable, v, two.beta);
        two.rest = select(usable, l, two.rest);
        FOR_SPECIES (k, NS) two.ln_K[k] = select(usable, R(s.ln_kappa[k] - ratio), R(0.0));
        found = split(m, feed, usable, Effort{12, 0, 12}, Absent(), two) && two.beta > 0.0 && two.rest > 0.0;
        const auto looked_at = found && !s.on_the_way;
        if (any_of(looked_at)) {
            const auto above = is_above_another(m, feed, looked_at, two);
            found = found && !above;
        }
    }
    const auto left = put_off(started && !found && !kept, s.T, s);

    // The others: one phase, unless it is unstable
    const auto rest = ask && !found && !kept && !left;
    auto lost = nowhere<R>();
    if (any_of(rest)) {
        const auto settled = rest && is_settled(m, z, s.T, s.p, s);
        const auto hot = rest && !settled && is_plainly_hot(m, s.T, s.p);
        const auto tested = rest && !settled && !hot;
        if (s.carried) settle(hot, z, s.T, s.p, s);
        Phase<M, R> whole;
        feed_at_pressure(m, tested, feed, whole);
        feed.steps += counted_in<R>(rest);
        const auto is_state = whole.free > 0.0 && whole.free < 1e300;
        lost = rest && !is_state;
        auto unknown = tested && is_state && !is_followed(m, feed, tested && is_state, s);
        unknown = unknown && !put_off(unknown, s.T, s);
        if constexpr (!IS_QUICK_PASS<M>) found = found || search_phases(m, feed, unknown, two, s, lost);
        s.V = select(ask && !found && !kept, whole.V, s.V);
    }
    if (any_of(found)) set_two_phases(m, feed, two, found, s);
    s.steps += feed.steps;
    status = select(ask, select(lost, R(double(NOT_FOUND)), status_of<R>(found || kept)), status);
}

// ---- energy and slopes of the state
// Of one mole at constant V: energy, heat capacity, dU/dV; and (dp/dV)/(RT)
template <class M, class R> struct Heat {
    R U, C_v, U_V, P_V, pull;
};

// Of one phase; pull: p + V dp/dV, without what cancels in a gas
template <class M, class R>
POINT_FN void heat_of_one(const M &m, const R *z, const State<M, R> &s, Phase<M, R> &f, Energy<M, R> &in,
                          Heat<M, R> &o) {
    Attraction<M, R> at;
    IdealEnergies<M, R> ideal;
    attraction_at(m, s.T, at);
    ideal_energies(m, at, ideal);
    phase_sums<true>(m, at, z, f);
    place_phase(m, s.V, f);
    phase_slopes(m, at, f);
    phase_energy(m, at, ideal, z, f, in);
    o.U = in.U;
    o.C_v = in.C_v;
    o.U_V = in.U_V;
    o.P_V = f.P_V;
    o.pull = f.D * ((f.free + f.B) * f.psi_VV + f.psi_V) - at.RT * f.n * f.B * (f.inv_free * f.inv_free);
    EquationOf<M>::add_pull(at, f, o.pull);
}

// Of two: e and k are the changes of the parts with tau and, less their sign, with V
template <class M, class R>
POINT_FN void heat_of_two(const M &m, const Parts<M, R> &o, const Coupled<M, R> &system, const MaskOf<R> two, R *e,
                          R *k, const State<M, R> &s, Heat<M, R> &heat) {
    solve_for_T(m, o, system, e);
    solve_for_V(m, o, system, k);
    const R per_T2 = 1.0 / (o.at.RT * s.T);
    // A pure species boils at constant pressure: dp/dV is 0, and a rounding error below that
    const R P_V = smaller(R(system.P_V + product(system, system.f, k)), R(1e-16 * system.P_V));
    heat.U = select(two, R(o.in_v.U + o.in_l.U), heat.U);
    heat.C_v = select(two, R(system.C_v + product(system, system.c, e) * per_T2), heat.C_v);
    heat.U_V = select(two, R(system.U_V - product(system, system.f, e)), heat.U_V);
    heat.P_V = select(two, P_V, heat.P_V);
    heat.pull = select(two, R(s.p + s.V * P_V * o.at.RT), heat.pull);
}

template <class M, class R>
PHASE_PART void heat_of(const M &m, const R *z, const State<M, R> &s, const MaskOf<R> two, Heat<M, R> &heat) {
    {
        Phase<M, R> whole;
        Energy<M, R> in;
        heat_of_one(m, z, s, whole, in, heat);
    }
    if (any_of(two)) {
        Parts<M, R> parts;
        Coupled<M, R> system;
        R e[M::NS + 1], k[M::NS + 1];
        parts_of(m, z, s, parts);
        coupled_system(m, parts, system);
        heat_of_two(m, parts, system, two, e, k, s, heat);
    }
}

// A flash of the points of `open` at T and p with the energy and slopes there: the points with two phases
template <class M, class R>
PHASE_PART MaskOf<R> flash_with_heat(const M &m, const R *z, const MaskOf<R> open, const MaskOf<R> warm, State<M, R> &s,
                                     R &kind, Heat<M, R> &heat) {
    kind = R(double(NOT_FOUND));
    flash(m, z, open, warm, s, kind);
    const auto two = open && kind > 0.5 && kind < 1.5;
    heat_of(m, z, s, two, heat);
    return two;
}
