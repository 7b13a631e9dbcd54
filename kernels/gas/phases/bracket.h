// A bracket of an unknown, T or p, for searches that nothing else ends: its ends with what is known there.
#pragma once
#include "gas/phases/flash.h"

constexpr int BRACKET_STEPS = 400; // evaluations of the bracketed search
// Of these, after which each pair is looked at, and after as many again each state begins from nothing: a start keeps
// to its own two phases where two others have a lower Gibbs energy, and p and V then go by no curve
constexpr int FROM_NOTHING = 60;
// What energy and entropy miss where a heat capacity is negative: the equation does not hold there, T is too low
constexpr double TOO_COLD = 1e300;

// A search in a bracket, with what was seen at its ends for the lever rule
template <class R> struct Bracket {
    R low, high;                     // of the unknown
    R value_low, value_high;         // of the function at the ends
    R free_low, free_high;           // V less its least value there
    R energy_low, energy_high;       // U or H there
    MaskOf<R> seen_low, seen_high;   // whether the ends were evaluated
    MaskOf<R> plain_low, plain_high; // and are one phase
};

template <class R> POINT_FN void begin_bracket(Bracket<R> &b) {
    b.seen_low = b.seen_high = b.plain_low = b.plain_high = nowhere<R>();
    b.low = b.high = R(1.0);
}

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

// The same of an unknown and its function alone, value_low > 0 > value_high. The value of an end that stays is halved,
// so that the chord comes from both sides (Illinois rule).
template <class R>
POINT_FN void narrow(const MaskOf<R> is_low, const MaskOf<R> is_high, const R at, const R value, Bracket<R> &b) {
    b.value_low = select(is_low, value, select(is_high, R(0.5 * b.value_low), b.value_low));
    b.value_high = select(is_high, value, select(is_low, R(0.5 * b.value_high), b.value_high));
    b.low = select(is_low, at, b.low);
    b.high = select(is_high, at, b.high);
    b.seen_low = b.seen_low || is_low;
    b.seen_high = b.seen_high || is_high;
}

// The zero of the chord between the ends; where they were not both seen, an end
template <class R> POINT_FN R chord_of(const Bracket<R> &b) {
    const R zero = b.low + (b.high - b.low) * (b.value_low / (b.value_low - b.value_high));
    return select(b.seen_low && b.seen_high, zero, b.high);
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

// ---- what is found
constexpr double BELOW = -1e-8; // tm of a third phase at most; the other phase of two has 0, off by rounding
// Gibbs energy of a phase over that of its composition's root, as another one [RT a mole]; a pure species that boils
// has 0, off by what its volume is
constexpr double ABOVE_ROOT = 1e-6;

// The plane of the feed `feed`, one phase of two, for species of which it has next to nothing: their ln x comes from
// the other phase. A logarithm that ends at LEAST_AMOUNT lifts the plane, and cold water, of which dodecane has 1e-110,
// looks like a third phase. ln_K: of the other phase over this one, sign * two.ln_K
template <class M, class R>
POINT_FN void lower_plane_of_absent(const M &, const TwoPhases<M, R> &two, const R *other, const double sign,
                                    Feed<M, R> &feed) {
    FOR_SPECIES (k, M::NS) {
        const R ln_x = log(at_least(other[k], LEAST_AMOUNT)) - sign * two.ln_K[k];
        const R change = smaller(R(ln_x - feed.ln_z[k]), R(0.0));
        feed.ln_z[k] += change;
        feed.d[k] += change;
    }
}

// Whether the phase of a feed at the volume V, of its pressure, has more Gibbs energy than at the root of the equation,
// of which the plane is: a liquid far above its boiling point, which `direct` may end at
template <class M, class R> PHASE_PART MaskOf<R> is_above_root(const M &m, const Feed<M, R> &feed, const R V) {
    Phase<M, R> f;
    R ln_phi[M::NS], excess = R(0.0);
    phase_sums<false>(m, feed.at, feed.z, f);
    place_phase(m, V, f);
    phase_slopes(m, feed.at, f);
    phase_fugacities(m, feed.at, f, R(-log(feed.p * f.free * feed.at.inv_RT)), ln_phi);
    FOR_SPECIES (k, M::NS) excess += feed.z[k] * (feed.ln_z[k] + ln_phi[k] - feed.d[k]);
    return excess > ABOVE_ROOT;
}

// Whether a phase of two is unstable itself: a third one would lower the Gibbs energy
template <class M, class R>
PHASE_PART MaskOf<R> needs_a_third(const M &m, const R *z, const State<M, R> &s, const MaskOf<R> ask) {
    Feed<M, R> feed;
    TwoPhases<M, R> two;
    pair_of(m, z, s, two);

    auto third = nowhere<R>();
    UNROLL_BY(1)
    for (int side = 0; side < 2; ++side) {
        Phase<M, R> f;
        Verdict<M, R> verdict;
        R ln_phi[M::NS];
        feed_of(m, side ? two.y : two.x, s.T, s.p, feed);
        phase_at_pressure(m, feed.at, feed.p, feed.z, f, ln_phi);
        tangent_plane_of(m, f.V, ln_phi, feed);
        lower_plane_of_absent(m, two, side ? two.x : two.y, side ? -1.0 : 1.0, feed);

        const R V = side ? two.V_y : two.V_x;
        const auto is_another = ask && fabs(f.V - V) > ANOTHER_ROOT * V;
        if (any_of(is_another)) third = third || (is_another && is_above_root(m, feed, V));
        test_stability(m, feed, ask, verdict);
        third = third || (verdict.certain && verdict.tm < BELOW);

        // Trials that are rich in one species: the usual ones may both end as the other phase. Both phases have the
        // same tangent plane, so that these trials are the same for both.
        UNROLL_BY(1)
        for (int rich = 0; rich < M::NS && side == 0; ++rich) {
            const auto still = ask && !third;
            if (!any_of(still)) break;
            Trial<M, R> trial;
            FOR_SPECIES (k, M::NS) trial.ln_W[k] = R(k == rich ? 0.0 : m.phase_ln_rest[0]);
            minimise_later(m, feed, still, Aim::DECIDE, trial);
            third = third || (still && trial.unstable && !trial.undecided && trial.tm < BELOW);
        }
    }
    return third;
}

// Whether a flash at the T and p of a split finds the same split. Newton's steps end at any two phases of this enthalpy
// that are in equilibrium with each other, such as two liquids where a vapour is stable. 1e-6 of V
// is far above the rounding of both searches; a split that is refused in vain is found once more by the bracket.
template <class M, class R>
PHASE_PART MaskOf<R> is_found_again(const M &m, const R *z, const MaskOf<R> ask, State<M, R> &s) {
    State<M, R> now = s;
    R kind = R(double(NOT_FOUND));
    now.carried = false;
    flash(m, z, ask, nowhere<R>(), now, kind);
    s.steps = now.steps;
    return ask && kind > 0.5 && kind < 1.5 && fabs(now.V - s.V) < 1e-6 * s.V;
}

// Takes the two phases of the points of `done`: those that end a search. Stable ones do, and the pair of the lowest
// Gibbs energy at its T and p where a third phase would lower that further. The least Gibbs energy of all pairs is
// concave in T and p, and so no other T and p have such a pair of this energy and volume. Any other pair with a third
// phase below it is kept where nothing else is found.
template <class M, class R>
PHASE_PART MaskOf<R> take_two_phases(const M &m, const R *z, const MaskOf<R> done, State<M, R> &from, State<M, R> &s,
                                     R &status) {
    if (!any_of(done)) return done;
    const auto third = needs_a_third(m, z, from, done);
    auto right = done && !third;
    auto lowest = nowhere<R>();
    if (any_of(third)) lowest = is_found_again(m, z, third, from);

    const auto first = third && !lowest && status > NOT_FOUND - 0.5 && status < NOT_FOUND + 0.5;
    take(right || lowest || first, from, s);
    status = select(right, R(double(IN_TWO_PHASES)), status);
    status = select(lowest || first, R(double(NEEDS_A_THIRD)), status);
    return right || lowest;
}

// Takes the two phases of the points of `done` that began from a start: those that no other is below, and the pair of
// the lowest Gibbs energy at its T and p. A quick pass leaves the others to the search in whole. ln_phi: of the
// liquid
template <class M, class R>
POINT_FN MaskOf<R> take_from_start(const M &m, const R *z, const MaskOf<R> done, const R *ln_phi, State<M, R> &from,
                                   State<M, R> &s, R &status) {
    auto taken = done;
    auto third = done && has_two_liquids(m, z, from.T);
    if (any_of(third)) {
        Feed<M, R> feed;
        TwoPhases<M, R> two;
        feed_of(m, z, from.T, from.p, feed);
        pair_of(m, z, from, two);
        FOR_SPECIES (k, M::NS) two.ln_phi[k] = ln_phi[k];
        third = is_above_another(m, feed, third, two);
        from.steps += feed.steps;
    }
    if (any_of(third)) {
        auto lowest = nowhere<R>();
        if constexpr (!IS_QUICK_PASS<M>) lowest = is_found_again(m, z, third, from);
        taken = taken && (!third || lowest);
    }

    take(taken, from, s);
    s.steps = from.steps;
    if constexpr (IS_QUICK_PASS<M>) doubt(third, s);
    const R kind = select(third, R(double(NEEDS_A_THIRD)), R(double(IN_TWO_PHASES)));
    status = select(taken, kind, status);
    return taken;
}

// Takes the state of the points of `close`, of one phase or, where `two`, of two: those that end a search
template <class M, class R>
POINT_FN MaskOf<R> take_close(const M &m, const R *z, const MaskOf<R> close, const MaskOf<R> two, State<M, R> &now,
                              State<M, R> &s, R &status) {
    const auto one = close && !two;
    take(one, now, s);
    status = select(one, R(double(ONE_PHASE)), status);
    return one || take_two_phases(m, z, close && two, now, s, status);
}

// The points of `lost` whose function jumps over what is given, between states of which one has two phases: three
template <class R> POINT_FN void tell_three_phases(const MaskOf<R> lost, const Bracket<R> &b, R &status) {
    const auto jumps = b.seen_low && b.seen_high && !(b.plain_low && b.plain_high) && b.high < b.low * (1.0 + 1e-7);
    status = select(lost && is_lost(status) && jumps, R(double(IN_THREE_PHASES)), status);
}

// Which of the points of `open` a search by T goes on with. Its states start from one another, and so keep to their own
// two phases where two others have a lower Gibbs energy: where that leaves no T, or was seen in `refused`, it begins
// again. First each pair is looked at, then each state begins from nothing.
template <class M, class R>
POINT_FN MaskOf<R> go_on(const M &, const MaskOf<R> open, const MaskOf<R> refused, MaskOf<R> &on_the_way,
                         MaskOf<R> &from_nothing, Bracket<R> &in_T, R &status) {
    const auto spent = open && !(in_T.high > in_T.low * (1.0 + 1e-13));
    const auto lost = spent && from_nothing;
    const auto again = open && !from_nothing && (spent || refused);
    tell_three_phases(lost, in_T, status);
    open_bracket(again, R(T_LOWEST), R(M::T_end), in_T);
    from_nothing = from_nothing || (again && !on_the_way);
    on_the_way = on_the_way && !again;
    return open && !lost;
}
