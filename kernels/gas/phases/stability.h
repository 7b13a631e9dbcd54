// Whether a phase at T and p is stable: Michelsen's test by the distance from the tangent plane (Michelsen 1982,
// original not seen), from starts that are like a vapour, like a liquid, half-way to that, rich in the heaviest
// species, and rich in each other that may be a liquid by itself.
#pragma once
#include "gas/phases/own_liquid.h"

constexpr double NEAR_DEW = 1.5;     // volume, in critical ones, from which on a feed has no lighter phase beside it
constexpr double DENSE_GAS = 3.0;    // and up to which a gas is a dense one
constexpr double GAS = 6.0;          // and above which it is a thin one
constexpr double DENSE = 0.5;        // and below which it is a liquid far from its critical point
constexpr double REAL = 0.9;         // p V/(RT) above which a gas is nearly ideal, far from its critical point
constexpr double UNSATURATED = -4.5; // ln of the ratio of fugacities of the heaviest species below which none condenses
// ln of the ratio of amounts beyond which a species is all of a trial; and beyond which it is that where the liquid
// repels the others, as water does a hydrocarbon: with a hundredth of them the trial is a gas.
constexpr double NEXT_TO_NOTHING = 4.0, TRACES = 8.0;
// ln of p over the critical pressure up to which a species is a gas above its critical temperature; ln of the ratio of
// others to it that make it a liquid
constexpr double LN_GAS_P = 0.4, LN_OTHERS = -0.7;
// A few moles of a heavy species in a dense fluid: ln of its mole fraction and of Wilson's K up to which, and ln of the
// activity coefficient from which on it may split off with much of that fluid; ln of its amount beside the fluid's
constexpr double LN_FEW = -2.3, LN_HEAVY_K = -2.0, REPELLED_BY_FLUID = 0.4, LN_WITH_FLUID = -0.9;
constexpr double NO_SHADOW = 1e9;
// Evaluations after which a trial that is rich in the heaviest species is where the liquid-like one was, if all ln W
// are within a distance: it then ends as that did
constexpr double MEETS_AFTER = 2.0, MEETS = 0.05;
constexpr double ATTRACTS = 0.45; // T/Tc of a species below which a trial of its liquid may leap

// Whether all species are too hot for two phases
template <class M, class R> POINT_FN MaskOf<R> is_plainly_hot(const M &m, const R T, const R p) {
    auto hot = p < HOT_BELOW;
    FOR_SPECIES (k, M::NS) hot = hot && T > m.phase_hot[k];
    return hot;
}

// Whether each species is too hot for two phases, or next to nothing in any trial phase
template <class M, class R> POINT_FN MaskOf<R> is_hot(const M &m, const Feed<M, R> &feed, const R *ln_K) {
    auto cold = feed.p > HOT_BELOW;
    FOR_SPECIES (k, M::NS)
        cold = cold || !(feed.at.T > m.phase_hot[k] || feed.ln_z[k] + fabs(ln_K[k]) < m.phase_ln_trace[0]);
    return !cold;
}

// What the test of a feed found, with the starts of a split
template <class M, class R> struct Verdict {
    MaskOf<R> unstable, certain; // certain: tm < 0 was seen
    MaskOf<R> alone;             // all trials, of one or more, ended as the feed itself
    R least;                     // and the least residual, sqrt(W) |r|, on their way
    R tm;                        // the least
    R ln_W[3][M::NS];            // the trials: vapour-like, liquid-like, and that of tm
    R is_vapour;                 // 1: that of tm is taken for the vapour, 0: for the liquid
    R shadow; // of a stable feed: the least tm of a trial that is apart, ln_W[2] its amounts; or NO_SHADOW
};

// The starts: vapour-like, liquid-like, half-way to that from a gas, so far that the heaviest species is mixed with the
// others, rich in the heaviest species, rich in others
enum { LIKE_VAPOUR, LIKE_LIQUID, HALF_WAY, MIXED, RICH_IN_HEAVIEST, RICH_IN_ANOTHER, TRIALS };

// What the trials that ended found: the best is kept
template <class M, class R>
POINT_FN void conclude_trial(const MaskOf<R> ended, const R start, const MaskOf<R> is_liquid, const Trial<M, R> &trial,
                             const Descent<R> &way, Verdict<M, R> &v) {
    const auto better = trial.unstable && ended && (trial.tm < v.tm || !v.unstable);
    const auto nearest = trial.apart && ended && !v.unstable && trial.tm < v.shadow;
    const auto is_first = start<LIKE_VAPOUR + 0.5, is_third = start> LIKE_LIQUID + 0.5;
    FOR_SPECIES (k, M::NS) {
        v.ln_W[0][k] = select(ended && is_first, trial.ln_W[k], v.ln_W[0][k]);
        v.ln_W[1][k] = select(ended && !is_first && !is_third, trial.ln_W[k], v.ln_W[1][k]);
        v.ln_W[2][k] = select(better || nearest, trial.ln_W[k], v.ln_W[2][k]);
    }
    const auto is_lighter = is_first || (start > RICH_IN_HEAVIEST + 0.5 && is_liquid);
    v.is_vapour = select(better, select(is_lighter, R(1.0), R(0.0)), v.is_vapour);
    v.shadow = select(nearest, trial.tm, v.shadow);
    v.tm = select(better, trial.tm, v.tm);
    v.unstable = v.unstable || (trial.unstable && ended);
    v.certain = v.certain || (trial.unstable && ended && !trial.undecided);
    v.alone = v.alone && (trial.itself || !ended);
    v.least = select(ended, smaller(way.least, v.least), v.least);
}

// The starts of a test of a feed: which of them it needs, and whose turn it is
template <class M, class R> struct Starts {
    R ln_p, ln_K[M::NS]; // ln_K: Wilson's
    R least;             // ln_K of the heaviest species
    R fluid;             // mean ln_K of the feed
    R start;             // whose turn it is
    R half;              // part of the way to the liquid: less of it next to a critical point
    R mixed;             // and that to a mixed one
    MaskOf<R> is_liquid; // the feed is denser than its critical point
    MaskOf<R> is_dense;  // a liquid far from that
    MaskOf<R> is_dense_gas;
    MaskOf<R> may_condense; // a gas of which a species is near its own liquid
    MaskOf<R> repels;       // a dense fluid that repels the little that it has of the heaviest species
    MaskOf<R> is_heavy;     // the liquid-like start is rich in the heaviest species already
    Another<M, R> another;  // other species that may split off
    R on_way[M::NS];        // ln W of the liquid-like trial after MEETS_AFTER evaluations
    MaskOf<R> is_above;     // that trial has ended above the plane, or as the feed itself
    MaskOf<R> is_feed;      // as the feed itself
};

template <class M, class R> POINT_FN MaskOf<R> has_turn(const Starts<M, R> &o, const int start) {
    return o.start > start - 0.5 && o.start < start + 0.5;
}

// Keeps where the liquid-like trial is after some evaluations, and ends trials that are there after as many. Next to
// critical lines the one that is rich in the heaviest species comes to the same liquid, and back to the feed with it.
template <class M, class R>
POINT_FN void end_where_ways_meet(const M &, const Feed<M, R> &feed, Starts<M, R> &o, Descent<R> &way,
                                  Trial<M, R> &trial) {
    const auto now = way.open && way.count > MEETS_AFTER - 0.5 && way.count < MEETS_AFTER + 0.5;
    const auto is_first = now && has_turn(o, LIKE_LIQUID);
    if (any_of(is_first)) {
        FOR_SPECIES (k, M::NS) o.on_way[k] = select(is_first, trial.ln_W[k], o.on_way[k]);
    }

    auto meets = now && o.is_above && has_turn(o, RICH_IN_HEAVIEST);
    if (!any_of(meets)) return;
    FOR_SPECIES (k, M::NS) {
        const auto is_near = fabs(trial.ln_W[k] - o.on_way[k]) < MEETS;
        meets = meets && (is_near || feed.z[k] < ABSENT);
    }
    trial.itself = trial.itself || (meets && o.is_feed);
    way.open = way.open && !meets;
}

// No vapour-like trial where the feed is a gas. A dense one is tried half-way to the liquid, too: trials that begin as
// far away as Wilson's K says come back to it near critical points.
template <class M, class R> POINT_FN void find_starts(const M &m, const Feed<M, R> &feed, Starts<M, R> &o) {
    R heaviest = R(-1e9), critical = R(0.0), Tc = R(0.0);
    o.least = R(1e9);
    o.fluid = R(0.0);
    FOR_SPECIES (k, M::NS) {
        const auto lower = o.ln_K[k] < o.least && feed.z[k] > 1e-20;
        o.least = select(lower, o.ln_K[k], o.least);
        heaviest = select(lower, R(feed.ln_z[k] - o.ln_K[k]), heaviest);
        critical += feed.z[k] * (m.phase_b[k] * m.phase_critical[0]); // volume
        Tc += feed.z[k] * m.phase_Tc[k];
        o.fluid += feed.z[k] * o.ln_K[k];
    }

    o.is_liquid = feed.V < critical;
    o.is_dense = feed.V < DENSE * critical;
    find_another(m, feed, o.ln_K, o.least, o.is_dense, o.another);
    const R nothing = select(!o.is_liquid && o.another.heaviest > OWN_LIQUID, R(TRACES), R(NEXT_TO_NOTHING));
    o.is_heavy = !nowhere<R>();
    FOR_SPECIES (k, M::NS) {
        const auto is_little = feed.ln_z[k] - o.ln_K[k] < heaviest - nothing;
        o.is_heavy = o.is_heavy && (o.ln_K[k] <= o.least || is_little);
    }

    const auto is_near_dew = feed.V > NEAR_DEW * critical;
    const auto is_not_thin = feed.V < DENSE_GAS * critical;
    const auto is_real = feed.p * feed.V < REAL * feed.at.RT && feed.V < GAS * critical;
    const auto is_near_critical = !o.is_liquid && !is_near_dew && feed.at.T < LIQUEFIES * Tc;
    o.is_dense_gas = (is_near_dew && is_not_thin) || is_near_critical;
    o.half = select(is_near_dew, R(0.5), R(0.25));
    o.may_condense = o.another.heaviest > UNSATURATED && !o.is_dense && (is_not_thin || is_real);
    o.start = select(is_near_dew, R(double(LIKE_LIQUID)), R(double(LIKE_VAPOUR)));

    // A liquid that is mostly the heaviest species may take up so much of the fluid at once that its trial leaps over
    // the phase that is sought, and comes back to the feed
    const R ln_z = heaviest + o.least;
    const auto is_trace = ln_z < LN_FEW && o.least < LN_HEAVY_K;
    o.repels = is_not_thin && is_trace && o.another.heaviest - ln_z > REPELLED_BY_FLUID;
    const R over_fluid = at_most(R(o.least - o.fluid), LN_HEAVY_K);
    o.mixed = at_most(R((ln_z - LN_WITH_FLUID) / over_fluid), 1.0);
}

// The trial of the start whose turn it is. The vapour of a liquid is that of its fugacities, an ideal gas: Wilson's K
// of a gas far above its critical temperature is too small by an order of magnitude, hydrogen in hot water say.
template <class M, class R>
POINT_FN void begin_trial(const M &m, const Feed<M, R> &feed, const MaskOf<R> begin, const Starts<M, R> &o,
                          Descent<R> &way, Trial<M, R> &trial) {
    const auto is_vapour = o.start < LIKE_VAPOUR + 0.5;
    const auto is_heaviest = o.start < RICH_IN_HEAVIEST + 0.5;
    const R on_the_way = select(o.start > HALF_WAY + 0.5, o.mixed, o.half);
    const R part = select(o.start > LIKE_LIQUID + 0.5, on_the_way, R(1.0));
    begin_descent(begin, way, trial);
    // Beside a liquid a vapour keeps its root for a while, too: next to an azeotrope it has that of the liquid else
    way.lean = select(is_vapour, select(o.is_liquid, R(-LEAN), R(0.0)), R(LEAN));
    const auto is_mixed = has_turn(o, MIXED);

    // The species of a trial that is rich in one. Beside a liquid, at pressures where the species is a gas by itself,
    // it is a liquid with others: a vapour was tried
    R z_rich = R(1.0), Tc_rich = R(1.0);
    MaskOf<R> is_rich[M::NS];
    FOR_SPECIES (k, M::NS) {
        const auto is_another = fabs(o.another.turn - double(k)) < 0.5;
        is_rich[k] = (is_heaviest && o.ln_K[k] <= o.least) || (!is_heaviest && is_another);
        const R T_ratio = feed.at.T / m.phase_Tc[k];
        const auto is_gas = T_ratio > 1.0 && T_ratio < LIQUEFIES && o.ln_p < m.phase_ln_pc[k] + LN_GAS_P;
        z_rich = select(is_rich[k] && !is_heaviest && o.is_liquid && is_gas, feed.z[k], z_rich);
        Tc_rich = select(is_rich[k], R(m.phase_Tc[k]), Tc_rich);
    }
    const auto others = others_of_trial(m, feed.at.T, z_rich, Tc_rich, LN_OTHERS);
    const auto is_cold = o.start > MIXED + 0.5 && feed.at.T < ATTRACTS * Tc_rich;
    way.near = way.near || (begin && (is_mixed || is_cold));

    FOR_SPECIES (k, M::NS) {
        const R rich = select(is_rich[k], R(0.0), others.amount(feed.ln_z[k]));
        const R vapour = select(o.is_liquid, feed.d[k], R(feed.ln_z[k] + o.ln_K[k]));
        const R ln_K = select(is_mixed, smaller(R(o.ln_K[k] - o.fluid), R(0.0)), o.ln_K[k]);
        const R like = select(is_vapour, vapour, R(feed.ln_z[k] - part * ln_K));
        trial.ln_W[k] = select(begin, select(o.start > MIXED + 0.5, rich, like), trial.ln_W[k]);
    }
}

// The next start of the points whose trial has ended: those that have one
template <class M, class R>
POINT_FN MaskOf<R> next_start(const M &m, const Feed<M, R> &feed, const MaskOf<R> ended, const Trial<M, R> &trial,
                              const Verdict<M, R> &v, Starts<M, R> &o) {
    o.start = select(ended, R(o.start + 1.0), o.start);
    const auto is_half_way = has_turn(o, HALF_WAY);
    const auto is_new = o.may_condense && !v.certain && (o.is_dense_gas || trial.itself);
    o.half = select(ended && is_half_way && trial.itself, R(0.5), o.half);
    o.start = select(ended && is_half_way && !is_new, R(o.start + 1.0), o.start);
    const auto is_mixed = has_turn(o, MIXED);
    const auto leapt = o.repels && !v.certain && (trial.itself || trial.apart);
    o.start = select(ended && is_mixed && !leapt, R(o.start + 1.0), o.start);
    const auto is_done = has_turn(o, RICH_IN_HEAVIEST) && o.is_heavy;
    o.start = select(ended && is_done, R(o.start + 1.0), o.start);

    // The next species that may split off
    auto &another = o.another;
    const auto was_another = ended && o.start > RICH_IN_ANOTHER + 0.5 && !v.certain && another.some;
    if (any_of(was_another)) {
        Another<M, R> next = another;
        find_next(m, feed, o.is_dense, nowhere<R>(), another.most, next);
        another.most = select(was_another, next.most, another.most);
        another.turn = select(was_another, next.turn, another.turn);
        another.some = another.some && (!was_another || next.some);
        o.start = select(was_another && another.some, R(double(RICH_IN_ANOTHER)), o.start);
    }

    const auto is_first = o.start < HALF_WAY - 0.5;
    const auto is_heaviest = o.start < RICH_IN_HEAVIEST + 0.5;
    const auto is_another = o.start < RICH_IN_ANOTHER + 0.5 && another.some;
    return ended && (is_first || (!v.certain && (is_heaviest || is_another)));
}

// One start after the other. Each point goes on to its next by itself, so that points that are worked on side by side
// wait for the longest sum of trials, not for the longest of each.
template <class M, class R>
PHASE_PART void test_stability(const M &m, Feed<M, R> &feed, const MaskOf<R> ask, Verdict<M, R> &v) {
    constexpr int NS = M::NS;
    Starts<M, R> o;
    wilson(m, feed, o.ln_K);
    o.ln_p = log(feed.p);
    v.unstable = v.certain = v.alone = nowhere<R>();
    v.tm = v.is_vapour = R(0.0);
    v.shadow = R(NO_SHADOW);
    v.least = R(1e9);
    FOR_SPECIES (k, NS) v.ln_W[0][k] = v.ln_W[1][k] = v.ln_W[2][k] = feed.ln_z[k];
    const auto tested = ask && !is_hot(m, feed, o.ln_K);
    if (!any_of(tested)) return;
    v.alone = tested;
    find_starts(m, feed, o);
    o.is_above = o.is_feed = nowhere<R>();
    FOR_SPECIES (k, NS) o.on_way[k] = R(1e9);

    Trial<M, R> trial;
    Descent<R> way;
    way.open = way.near = trial.unstable = trial.undecided = trial.apart = trial.itself = nowhere<R>();
    way.count = way.lean = way.hope = way.size = way.least = trial.tm = trial.off = R(0.0);
    way.most = STABILITY_STEPS;
    FOR_SPECIES (k, NS) trial.ln_W[k] = feed.ln_z[k];

    auto begin = tested;
    UNROLL_BY(1)
    for (int step = 0; step < (TRIALS + NS) * STABILITY_STEPS; ++step) {
        if (any_of(begin)) begin_trial(m, feed, begin, o, way, trial);
        const auto before = way.open;
        step_of_trial(m, feed, Aim::DECIDE, way, trial);
        end_where_ways_meet(m, feed, o, way, trial);

        const auto ended = before && !way.open;
        begin = ended;
        if (!any_of(ended)) continue;
        conclude_trial(ended, o.start, o.is_liquid, trial, way, v);
        const auto of_liquid = ended && has_turn(o, LIKE_LIQUID);
        o.is_above = o.is_above || (of_liquid && !trial.unstable);
        o.is_feed = o.is_feed || (of_liquid && trial.itself);
        begin = next_start(m, feed, ended, trial, v, o);
        if (!any_of(way.open || begin)) break;
    }
}
