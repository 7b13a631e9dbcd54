// The state of a point, whether it is one phase or two: from T and p, from e and rho, from h and p. Warm, from the
// ln kappa and eta of the point's last state, or cold. Loops end when all points that work together are done; a point
// that is done keeps its values, so that its result does not depend on its neighbours.
#pragma once
#include "gas/phases/settled.h"

enum { ONE_PHASE, IN_TWO_PHASES, NOT_FOUND, NEEDS_A_THIRD, IN_THREE_PHASES };
constexpr int BRACKET_STEPS = 400; // evaluations of the bracketed search
constexpr int FROM_NOTHING = 60; // of these, after which each begins from nothing: a start keeps to its own two phases
                                 // where two others have a lower Gibbs energy, and p and V then go by no curve

template <class R> POINT_FN R status_of(const MaskOf<R> two) {
    return select(two, R(double(IN_TWO_PHASES)), R(double(ONE_PHASE)));
}

template <class M, class R> POINT_FN void take(const MaskOf<R> mask, const State<M, R> &from, State<M, R> &to) {
    to.T = select(mask, from.T, to.T);
    to.p = select(mask, from.p, to.p);
    to.V = select(mask, from.V, to.V);
    to.eta = select(mask, from.eta, to.eta);
    FOR_SPECIES (k, M::NS) to.ln_kappa[k] = select(mask, from.ln_kappa[k], to.ln_kappa[k]);
    to.steps = from.steps; // counted by point
    to.carried = from.carried;
}

// Whether the state is that of two phases to start from: not NaN, and not the zeros of one phase
template <class M, class R> POINT_FN MaskOf<R> is_warm(const State<M, R> &s) {
    R sum = fabs(s.eta);
    FOR_SPECIES (k, M::NS) sum += fabs(s.ln_kappa[k]);
    return sum > 0.0 && sum < 1e300 && s.eta < KEPT;
}

// Amounts, volumes and ln kappa of two phases at T, p
template <class M, class R>
PHASE_PART void set_two_phases(const M &m, const Feed<M, R> &feed, const TwoPhases<M, R> &two, const MaskOf<R> mask,
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

// ---- T and p
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

// Fills V, ln kappa and eta of s at its T and p for the points of `ask`; warm: those whose ln kappa and eta are a
// start of two phases.
template <class M, class R>
PHASE_PART void flash(const M &m, const R *z, const MaskOf<R> ask, const MaskOf<R> warm, State<M, R> &s, R &status) {
    constexpr int NS = M::NS;
    Feed<M, R> feed;
    feed_of(m, z, s.T, s.p, feed);
    TwoPhases<M, R> two;
    two.beta = two.rest = R(0.5);
    FOR_SPECIES (k, NS) two.ln_K[k] = R(0.0);
    auto found = nowhere<R>();

    // Warm: accepted where beta is inside
    const auto started = ask && warm;
    if (any_of(started)) {
        R v = R(0.0), l = R(0.0);
        FOR_SPECIES (k, NS) {
            const R kappa = exp(within(s.ln_kappa[k], 300.0)), share = z[k] / (1.0 + kappa);
            l += share;
            v += share * kappa;
        }
        const auto usable = started && v > 0.0 && l > 0.0;
        const R ratio = log(at_least(v, LEAST_AMOUNT) / at_least(l, LEAST_AMOUNT));
        two.beta = select(usable, v, two.beta);
        two.rest = select(usable, l, two.rest);
        FOR_SPECIES (k, NS) two.ln_K[k] = select(usable, R(s.ln_kappa[k] - ratio), R(0.0));
        found = split(m, feed, usable, Effort{12, 0, false}, two) && two.beta > 0.0 && two.rest > 0.0;
    }

    // The others: one phase, unless it is unstable
    const auto rest = ask && !found;
    auto lost = nowhere<R>();
    if (any_of(rest)) {
        const auto hot = rest && is_plainly_hot(m, s.T, s.p);
        const auto tested = rest && !hot && !is_settled(m, z, s.T, s.p, s);
        if (s.carried) settle(hot, z, s.T, s.p, s);
        Phase<M, R> whole;
        feed_at_pressure(m, tested, feed, whole);
        feed.steps += counted_in<R>(rest);
        const auto is_state = whole.free > 0.0 && whole.free < 1e300;
        lost = rest && !is_state;
        const auto unknown = tested && is_state && !is_followed(m, feed, tested && is_state, s);
        if (any_of(unknown)) {
            Verdict<M, R> verdict;
            test_stability(m, feed, unknown, verdict);
            if (any_of(verdict.unstable)) {
                const auto now = split_unstable(m, feed, verdict.unstable, verdict, two);
                found = found || now;
                lost = lost || (verdict.certain && !now);
            }
            keep_test(m, feed, unknown, unknown && !verdict.unstable, verdict, s);
        }
        s.V = select(ask && !found, whole.V, s.V);
    }
    if (any_of(found)) set_two_phases(m, feed, two, found, s);
    s.steps += feed.steps;
    status = select(ask, select(lost, R(double(NOT_FOUND)), status_of<R>(found)), status);
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
    o.U = in.U, o.C_v = in.C_v, o.U_V = in.U_V, o.P_V = f.P_V;
    o.pull = f.D * ((f.free + f.B) * f.psi_VV + f.psi_V) - at.RT * f.n * f.B * (f.inv_free * f.inv_free);
    EquationOf<M>::add_pull(at, f, o.pull);
}

// Of two: e and k are the changes of the parts with tau and, less their sign, with V
template <class M, class R>
POINT_FN void heat_of_two(const Parts<M, R> &o, const Coupled<M, R> &system, const MaskOf<R> two, R *e, R *k,
                          const State<M, R> &s, Heat<M, R> &heat) {
    constexpr int N = M::NS + 1;
    solve_coupled(system, system.c, e);
    solve_coupled(system, system.f, k);
    const R per_T2 = 1.0 / (o.at.RT * s.T);
    // A pure species boils at constant pressure: dp/dV is 0, and a rounding error below that
    const R P_V = smaller(R(o.of_l.P_V + product<N>(system.f, k)), R(1e-16 * o.of_l.P_V));
    heat.U = select(two, R(o.in_v.U + o.in_l.U), heat.U);
    heat.C_v = select(two, R(o.in_v.C_v + o.in_l.C_v + product<N>(system.c, e) * per_T2), heat.C_v);
    heat.U_V = select(two, R(o.in_l.U_V - product<N>(system.f, e)), heat.U_V);
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
        heat_of_two(parts, system, two, e, k, s, heat);
    }
}

// A flash of the points of `open` at T and p with the energy and slopes there: the points with two phases
template <class M, class R>
POINT_FN MaskOf<R> flash_with_heat(const M &m, const R *z, const MaskOf<R> open, const MaskOf<R> warm, State<M, R> &s,
                                   R &kind, Heat<M, R> &heat) {
    kind = R(double(NOT_FOUND));
    flash(m, z, open, warm, s, kind);
    const auto two = open && kind > 0.5 && kind < 1.5;
    heat_of(m, z, s, two, heat);
    return two;
}

// A search in a bracket, with what was seen at its ends for the lever rule
template <class R> struct Bracket {
    R low, high;                     // of the unknown
    R value_low, value_high;         // of the function at the ends
    R free_low, free_high;           // V less its least value there
    R energy_low, energy_high;       // U or H there
    MaskOf<R> seen_low, seen_high;   // whether the ends were evaluated
    MaskOf<R> plain_low, plain_high; // and are one phase
};

template <class R> POINT_FN void open_bracket(const MaskOf<R> where, const R low, const R high, Bracket<R> &b) {
    b.low = select(where, low, b.low);
    b.high = select(where, high, b.high);
    b.seen_low = b.seen_low && !where;
    b.seen_high = b.seen_high && !where;
    b.plain_low = b.plain_low && !where;
    b.plain_high = b.plain_high && !where;
}

// What one end has
template <class R> struct End {
    R at, value, free, energy;
    MaskOf<R> plain;
};

template <class R>
POINT_FN void narrow_bracket(const MaskOf<R> is_low, const MaskOf<R> is_high, const End<R> &end, Bracket<R> &b) {
    b.low = select(is_low, end.at, b.low);
    b.value_low = select(is_low, end.value, b.value_low);
    b.free_low = select(is_low, end.free, b.free_low);
    b.energy_low = select(is_low, end.energy, b.energy_low);
    b.seen_low = b.seen_low || is_low;
    b.plain_low = (b.plain_low && !is_low) || (end.plain && is_low);
    b.high = select(is_high, end.at, b.high);
    b.value_high = select(is_high, end.value, b.value_high);
    b.free_high = select(is_high, end.free, b.free_high);
    b.energy_high = select(is_high, end.energy, b.energy_high);
    b.seen_high = b.seen_high || is_high;
    b.plain_high = (b.plain_high && !is_high) || (end.plain && is_high);
}

// Two phases of the feed's own composition, with free volumes of the vapour and the liquid, where the function jumps:
// a pure species boils. beta: share of the vapour.
template <class M, class R>
POINT_FN void by_lever(const M &m, const R *z, const R beta, const R free_v, const R free_l, State<M, R> &s) {
    const R ratio = log(beta / (1.0 - beta));
    FOR_SPECIES (k, M::NS) s.ln_kappa[k] = ratio;
    s.V = least_volume(m, s.T, z) + beta * free_v + (1.0 - beta) * free_l;
    s.eta = ratio + log(free_v / free_l);
}

template <class M, class R> POINT_FN MaskOf<R> has_room(const M &m, const R *z, const State<M, R> &s) {
    return s.V > least_volume(m, s.T, z);
}

// ---- U and V, or T and V

// RT/(w - B) of one mole as one phase, a little more: the pressure is less
template <class M, class R> POINT_FN R repulsive_pressure(const M &m, const R T, const R V, const R *z) {
    Attraction<M, R> at;
    Phase<M, R> f;
    attraction_at(m, T, at);
    phase_sums<false>(m, at, z, f);
    place_phase(m, V, f);
    return at.RT / f.free * 1.0000001;
}

constexpr double BELOW = -1e-8; // tm of a third phase at most; the other phase of two has 0, off by rounding

// Whether a phase of two is unstable itself: a third one would lower the Gibbs energy
template <class M, class R>
PHASE_PART MaskOf<R> needs_a_third(const M &m, const R *z, const State<M, R> &s, const MaskOf<R> ask) {
    Feed<M, R> feed;
    R phase[2][M::NS], sum[2];
    sum[0] = sum[1] = R(0.0);
    FOR_SPECIES (k, M::NS) {
        const R kappa = exp(within(s.ln_kappa[k], 300.0)), share = z[k] / (1.0 + kappa);
        phase[0][k] = share;
        phase[1][k] = share * kappa;
        sum[0] += phase[0][k];
        sum[1] += phase[1][k];
    }

    auto third = nowhere<R>();
    UNROLL_BY(1)
    for (int side = 0; side < 2; ++side) {
        Phase<M, R> f;
        Verdict<M, R> verdict;
        R ln_phi[M::NS];
        FOR_SPECIES (k, M::NS) phase[side][k] = phase[side][k] / sum[side];
        feed_of(m, phase[side], s.T, s.p, feed);
        phase_at_pressure(m, feed.at, feed.p, feed.z, f, ln_phi);
        tangent_plane_of(m, f.V, ln_phi, feed);
        test_stability(m, feed, ask, verdict);
        third = third || (verdict.certain && verdict.tm < BELOW);

        // Trials that are rich in one species: the usual ones may both end as the other phase
        UNROLL_BY(1)
        for (int rich = 0; rich < M::NS; ++rich) {
            const auto still = ask && !third;
            if (!any_of(still)) break;
            Trial<M, R> trial;
            FOR_SPECIES (k, M::NS) trial.ln_W[k] = R(k == rich ? 0.0 : m.phase_ln_rest[0]);
            minimise_tangent_distance(m, feed, still, Aim::DECIDE, trial);
            third = third || (still && trial.unstable && !trial.undecided && trial.tm < BELOW);
        }
    }
    return third;
}

// The points that nothing else finds: T outside, unless it is held (U grows with T at constant V), p inside (V falls
// with p at constant T), both of the stable equilibrium, by Newton's method in brackets. Two phases are handed to
// `direct`.
template <Fixed FIXED, class M, class R>
PHASE_PART void bracketed_at_volume(const M &m, const Given<M, R> &given, const MaskOf<R> ask, State<M, R> &s,
                                    R &status) {
    constexpr bool ENERGY = FIXED == Fixed::U_V;
    const R V = s.V;
    State<M, R> now = s;
    now.carried = false; // states on the way are not kept
    now.T = select(s.T > T_LOWEST && s.T < T_HIGHEST, s.T, R(T_PLAIN));
    auto open = ask && V > least_volume(m, now.T, given.z), warm = nowhere<R>();
    status = select(ask, R(double(NOT_FOUND)), status);

    Bracket<R> in_T, in_p;
    in_T.seen_low = in_T.seen_high = in_p.seen_low = in_p.seen_high = nowhere<R>();
    in_T.plain_low = in_T.plain_high = in_p.plain_low = in_p.plain_high = nowhere<R>();
    in_T.low = in_T.high = in_p.low = in_p.high = R(1.0);
    open_bracket(ask, R(T_LOWEST), R(T_HIGHEST), in_T);
    const auto most_p = [&](const R T) { return repulsive_pressure(m, T, V, given.z); };
    const R least_p = R(1e-3);
    open_bracket(ask, least_p, most_p(now.T), in_p);
    now.p = select(s.p > least_p && s.p < in_p.high, s.p, sqrt(R(1e3) * in_p.high));

    UNROLL_BY(1)
    for (int count = 0; count < BRACKET_STEPS; ++count) {
        R kind;
        Heat<M, R> heat;
        const auto two = flash_with_heat(m, given.z, open, warm, now, kind, heat);
        warm = count < FROM_NOTHING ? two : nowhere<R>();

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
        if (any_of(lever || nearby)) {
            State<M, R> from = now, jump = now;
            by_lever(m, given.z, within(share, 1.0), in_p.free_low, in_p.free_high, jump);
            take(lever, jump, from);
            from.V = V;
            const auto done = direct<FIXED>(m, given, open && (lever || nearby), from) && from.p > 0.0;
            now.steps = from.steps;

            // Two phases of which one is unstable are kept where nothing else is found
            auto third = done;
            if (any_of(done)) third = done && needs_a_third(m, given.z, from, done);
            const auto right = done && !third, first = third && status < NOT_FOUND + 0.5;
            take(right || first, from, s);
            status = select(right, R(double(IN_TWO_PHASES)), status);
            status = select(first, R(double(NEEDS_A_THIRD)), status);
            open = open && !right;
        }

        // Energy at V: too small, then T is too low. At a jump of V by the lever rule: two states at the same T and p,
        // each of one phase or of two, make one of two or of three. Where V is larger than that of the least p, there
        // is next to no vapour.
        const R U_jump = in_p.energy_high + share * (in_p.energy_low - in_p.energy_high);
        const auto jumps = in_p.seen_low && in_p.seen_high, next_T = open && (at_V || shut);
        const R miss = select(at_V, miss_U, R(given.energy - select(jumps, U_jump, heat.U))),
                size = fabs(miss) / (heat.C_v * now.T);
        auto close = next_T && at_V && kind < 1.5;
        if (ENERGY) close = close && size < 1e-10;
        now.V = select(close, V, now.V);
        take(close, now, s);
        status = select(close, status_of<R>(two), status);
        // No T is left, at a jump between states of which one has two phases: there are three
        open = open && !close;
        auto no_other = next_T && !close;
        if (ENERGY) no_other = no_other && in_T.high < in_T.low * (1.0 + 1e-13);
        const auto three = no_other && shut && jumps && !(in_p.plain_low && in_p.plain_high);
        status = select(open && three && status < NOT_FOUND + 0.5, R(double(IN_THREE_PHASES)), status);
        open = open && !no_other;
        if (everywhere(!open)) break;

        in_T.low = select(next_T && miss > 0.0, now.T, in_T.low);
        in_T.high = select(next_T && miss < 0.0, now.T, in_T.high);
        if (count == FROM_NOTHING) open_bracket(open, R(T_LOWEST), R(T_HIGHEST), in_T);
        const R newton_T = now.T + miss_U / heat.C_v;
        auto sound = at_V && newton_T > in_T.low && newton_T < in_T.high && heat.C_v > 0.0;
        if (count % 8 == 7) sound = nowhere<R>(); // now and then a bisection, whatever Newton's method does
        const R T = select(next_T, select(sound, newton_T, sqrt(in_T.low * in_T.high)), now.T);

        // p of the next evaluation: by Newton's method in ln p, or along constant V where T changes
        const R along_p = within(R(miss_V * now.V * p_V / now.p), 20.0);
        const R along_T = within(R((T - now.T) * (now.p + heat.U_V) / (now.T * now.p)), 20.0);
        auto begin = next_T;
        if (count == FROM_NOTHING) begin = open;
        open_bracket(begin, least_p, most_p(T), in_p);
        R p = now.p * exp(select(next_T, along_T, along_p));
        auto inside = p > in_p.low && p < in_p.high;
        if (count % 6 == 5) inside = nowhere<R>();
        p = select(inside, p, sqrt(in_p.low * in_p.high));
        now.T = select(open, T, now.T);
        now.p = select(open, p, now.p);
    }
    s.steps = now.steps;
}

// A feed at T and V as one phase `whole`, whatever root of the equation V is. p: its pressure. Whether it is a state
// that may be stable.
template <class M, class R>
POINT_FN MaskOf<R> feed_at_volume(const M &m, const R *z, const R T, const R V, Feed<M, R> &feed, Phase<M, R> &whole,
                                  R &p) {
    feed_of(m, z, T, R(1.0), feed);
    phase_sums<false>(m, feed.at, z, whole);
    place_phase(m, V, whole);
    phase_slopes(m, feed.at, whole);
    p = phase_pressure(feed.at, whole) * feed.at.RT;
    feed.p = p;
    return p > 0.0 && whole.P_V < 0.0;
}

// Whether p falls with V all along the isotherm of one mole, as that of a fluid above its critical temperature: then
// there is a single root at any p.
template <class M, class R>
POINT_FN MaskOf<R> has_one_root(const M &m, const Attraction<M, R> &at, const Phase<M, R> &f) {
    if constexpr (M::deltas_by_species) return nowhere<R>();
    else return f.D * at.inv_RT < m.phase_one_root[0] * f.B;
}

// Whether that V is the stable root at its pressure: the only one, or the one that the equation gives
template <class M, class R> POINT_FN MaskOf<R> is_root(const M &m, const Feed<M, R> &feed, const Phase<M, R> &whole) {
    const auto alone = has_one_root(m, feed.at, whole);
    if (everywhere(alone)) return alone;
    const R free = EquationOf<M>::root(m, feed.at.T, feed.p, whole);
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

// T, p, ln kappa and eta of s from its V and the energy, or the rest from its V and T. warm: the points with a start.
// single(T, unconverged): T as if the mixture were one phase.
template <Fixed FIXED, class M, class R, class Single>
PHASE_PART void state_at_volume(const M &m, const Given<M, R> &given, const MaskOf<R> warm, const Single &single,
                                State<M, R> &s, R &status) {
    const R V = s.V;
    auto todo = given.energy > -1e300 && given.energy < 1e300 && V > 0.0;
    status = R(double(NOT_FOUND));

    // Two phases, as it was
    if (any_of(warm && todo)) {
        State<M, R> from = s;
        const auto done = direct<FIXED>(m, given, warm && todo, from) && from.p > 0.0;
        take(done, from, s);
        s.steps = from.steps;
        status = select(done, R(double(IN_TWO_PHASES)), status);
        todo = todo && !done;
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
        plane_at_volume(m, V, whole, feed);
        auto stable = tested && sound && is_followed(m, feed, tested && sound, s);
        if (any_of(stable)) stable = stable && is_root(m, feed, whole);
        const auto unknown = tested && !stable;
        test_stability(m, feed, unknown, verdict);
        const auto passed = unknown && sound && !verdict.unstable;
        keep_test(m, feed, unknown, passed, verdict, s);
        one = one || stable || passed;
    }
    s.steps += feed.steps;
    s.V = select(one, V, s.V);
    s.T = select(todo && has_T, T, s.T);
    s.p = select(one, p, select(todo, feed.p, s.p));
    status = select(one, R(double(ONE_PHASE)), status);
    todo = todo && !one;
    if (everywhere(!todo)) return;

    // Two phases from the trial of that test, then by brackets
    if (any_of(todo && has_T)) {
        State<M, R> from = s;
        start_from_trial(m, feed, verdict, todo, from);
        const auto done = direct<FIXED>(m, given, todo && has_T, from) && from.p > 0.0;
        s.steps = from.steps;

        // Two phases of which one is unstable are kept where nothing else is found
        auto third = done;
        if (any_of(done)) third = done && needs_a_third(m, given.z, from, done);
        take(done && !third, from, s);
        status = select(done, R(double(IN_TWO_PHASES)), status);
        todo = todo && !(done && !third);
        if (any_of(third)) {
            const State<M, R> two = from;
            bracketed_at_volume<FIXED>(m, given, third, s, status);
            const auto none = third && !(status < IN_TWO_PHASES + 0.5);
            const R steps = s.steps;
            take(none, two, s);
            s.steps = steps;
            status = select(none, R(double(NEEDS_A_THIRD)), status);
            todo = todo && !third;
        }
    }
    if (any_of(todo)) bracketed_at_volume<FIXED>(m, given, todo, s, status);
}

// ---- H and p
// T in a bracket: H grows with T at constant p
template <class M, class R>
PHASE_PART void bracketed_at_pressure(const M &m, const Given<M, R> &given, const MaskOf<R> ask, State<M, R> &s,
                                      R &status) {
    State<M, R> now = s;
    now.carried = false; // states on the way are not kept
    const R start = select(s.T > T_LOWEST && s.T < T_HIGHEST, s.T, R(T_PLAIN));
    now.T = start;
    auto open = ask, warm = nowhere<R>();
    status = select(ask, R(double(NOT_FOUND)), status);
    Bracket<R> in_T;
    in_T.seen_low = in_T.seen_high = in_T.plain_low = in_T.plain_high = nowhere<R>();
    in_T.low = in_T.high = R(1.0);
    open_bracket(ask, R(T_LOWEST), R(T_HIGHEST), in_T);

    UNROLL_BY(1)
    for (int count = 0; count < BRACKET_STEPS; ++count) {
        R kind;
        Heat<M, R> heat;
        const auto two = flash_with_heat(m, given.z, open, warm, now, kind, heat);
        warm = two;
        const R H = heat.U + now.p * now.V, miss = given.energy - H, Tp_T = now.p + heat.U_V;
        const R cp = heat.C_v - Tp_T * Tp_T / (heat.P_V * (R_UNIVERSAL * now.T) * now.T);
        const End<R> end{now.T, H, R(now.V - least_volume(m, now.T, given.z)), H, !two};
        narrow_bracket(open && miss > 0.0, open && miss < 0.0, end, in_T);

        // Two phases nearby, or a jump of H: `direct`
        const auto shut = in_T.high < in_T.low * (1.0 + 1e-7);
        const auto lever = open && shut && in_T.plain_low && in_T.plain_high && in_T.free_high > in_T.free_low;
        const auto nearby = two && fabs(miss) < 0.1 * cp * now.T;
        if (any_of(lever || nearby)) {
            const R share = (given.energy - in_T.energy_low) / (in_T.energy_high - in_T.energy_low);
            State<M, R> from = now, jump = now;
            by_lever(m, given.z, within(share, 1.0), in_T.free_high, in_T.free_low, jump);
            take(lever, jump, from);
            const auto done =
                direct<Fixed::H_p>(m, given, open && (lever || nearby), from) && has_room(m, given.z, from);
            now.steps = from.steps;
            take(done, from, s);
            status = select(done, R(double(IN_TWO_PHASES)), status);
            open = open && !done;
        }
        const auto close = open && fabs(miss) < 1e-10 * cp * now.T && cp > 0.0 && kind < 1.5;
        take(close, now, s);
        status = select(close, status_of<R>(two), status);
        open = open && !close && in_T.high > in_T.low * (1.0 + 1e-13);
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
template <class M, class R> PHASE_PART void set_warm_volume(const M &m, const R *z, State<M, R> &s) {
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
    const auto alike = v.room < 1.5 * l.room, thin = alike && l.room > l.B;
    const R room_l = select(thin, R(v.room / ratio), l.room),
            room_v = select(alike && !thin, R(l.room * ratio), v.room);
    s.V = beta * (room_v + v.least) + rest * (room_l + l.least);
}

// T, V, ln kappa and eta of s from its p and the enthalpy; the rest as above
template <class M, class R, class Single>
PHASE_PART void state_of_enthalpy_and_pressure(const M &m, const Given<M, R> &given, const MaskOf<R> warm,
                                               const Single &single, State<M, R> &s, R &status) {
    auto todo = given.energy > -1e300 && given.energy < 1e300 && s.p > 0.0 && s.p < 1e300;
    status = R(double(NOT_FOUND));

    // Two phases, as it was
    if (any_of(warm && todo)) {
        State<M, R> from = s;
        set_warm_volume(m, given.z, from);
        const auto done = direct<Fixed::H_p>(m, given, warm && todo, from) && has_room(m, given.z, from);
        take(done, from, s);
        s.steps = from.steps;
        status = select(done, R(double(IN_TWO_PHASES)), status);
        todo = todo && !done;
    }
    if (everywhere(!todo)) return;

    // One phase, if that is stable; two phases from a flash at that T
    R T, unconverged, kind = R(double(NOT_FOUND));
    single(T, unconverged);
    const auto has_T = unconverged < 0.5;
    State<M, R> from = s;
    from.T = select(unconverged < 1.5, T, R(T_PLAIN));
    flash(m, given.z, todo && has_T, nowhere<R>(), from, kind);
    const auto one = todo && has_T && kind < 0.5, two = todo && has_T && kind > 0.5 && kind < 1.5;
    take(todo, from, s);
    s.steps = from.steps;
    status = select(one, R(double(ONE_PHASE)), status);
    todo = todo && !one;
    if (everywhere(!todo)) return;

    const auto done = direct<Fixed::H_p>(m, given, two, from) && has_room(m, given.z, from);
    take(done, from, s);
    s.steps = from.steps;
    status = select(done, R(double(IN_TWO_PHASES)), status);
    todo = todo && !done;
    if (any_of(todo)) bracketed_at_pressure(m, given, todo, s, status);
}
