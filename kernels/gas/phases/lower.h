// Of two splits of a feed that of the lower Gibbs energy. Water with a little fuel is liquid water and fuel, or steam
// and fuel, and the test of the feed finds the fuel alone; two liquids may boil, which it says as well; and a dense gas
// beside a liquid may be a second liquid.
#pragma once
#include "gas/phases/split.h"

constexpr double DOMINANT = 0.5; // share of a phase from which on a species is its main one
constexpr double LIQUID = 0.6;   // volume of a phase, in critical ones, up to which it may be that species' liquid
// ln of the activity coefficient of a species from which its liquid may split again, of two species and of more
constexpr double REPELLED = 0.25, REPELLED_OF_MORE = 0.4;
// The same of more where its fugacity is nearly that of its own liquid, and ln of the ratio of both up to which it is
constexpr double REPELLED_A_LITTLE = 0.15, AS_ITSELF = -0.1;
constexpr double ALSO_LIQUID = 2.0; // times the volume of the denser phase up to which the other one is a liquid, too
constexpr double NEARLY_ALL = 0.95; // share of a species from which on a liquid is that of the species, and no other is
constexpr double MUCH = 0.05; // share of a species near its critical temperature below which it is no liquid of its own
constexpr double NEARLY_VAPOUR = 0.5; // sum of fugacities over p from which two liquids may have a vapour
// Volume of a gas, in critical ones, up to which a liquid beside it and another may be stable; where its trial begins
// on the way from the gas to that
constexpr double CONDENSES = 10.0, PART_OF_THE_WAY = 0.25;
// Sum of sqrt(x_k y_k) of two liquids, 0 where they share no species, 1 where they are the same, from which and up to
// which a third may lie between: water with much ethanol, say, between water and a fuel with ethanol
constexpr double SHARED = 0.25, THE_SAME = 0.95;
// ln of the ratio of a species' fugacity to that of its own liquid, by Wilson's K, above which a liquid may be mostly
// that species; with others it takes up in the first step it amounts to HOPE then
constexpr double MAIN_OF_LIQUID = -1.2, HOPE = 0.5;
constexpr double LN_TAKEN_UP = -1.9; // ln of the ratio of others to that species next to its critical temperature
constexpr double ALIKE = 0.2;        // sum of the differences of mole fractions below which phases are alike
constexpr int PAIRS = 4;             // of which each takes the place of the one before
constexpr double LOWER = 1e-8; // distance from the common tangent plane, or less Gibbs energy, that counts [RT a mole]

// ln x_k of a split. Of a species that x has next to nothing of it comes from y: K as a number ends at exp(200)
template <class M, class R> POINT_FN R ln_of_x(const M &, const TwoPhases<M, R> &s, const int k) {
    const auto is_in_y = s.ln_K[k] > 0.0;
    const R more = select(is_in_y, s.y[k], s.x[k]);
    return log(at_least(more, LEAST_AMOUNT)) - select(is_in_y, s.ln_K[k], R(0.0));
}

constexpr double ANOTHER_ROOT = 0.1; // relative difference of volume from which a phase is another root

// The common tangent plane of two phases, at x as it is now: the last step of a split has moved it. A liquid that is
// hotter than its boiling point, as `direct` finds it, is not the root of the lower Gibbs energy: it keeps its own.
template <class M, class R>
PART_FN Feed<M, R> common_plane(const M &m, const Feed<M, R> &feed, const TwoPhases<M, R> &s) {
    Feed<M, R> plane = feed;
    Phase<M, R> f;
    R ln_phi[M::NS];
    FOR_SPECIES (k, M::NS) plane.z[k] = s.x[k];
    phase_at_pressure(m, feed.at, feed.p, plane.z, f, ln_phi);
    const auto is_root = fabs(f.V - s.V_x) < ANOTHER_ROOT * s.V_x;
    plane.V = select(is_root, f.V, s.V_x);
    plane.steps = R(0.0);
    FOR_SPECIES (k, M::NS) {
        plane.ln_z[k] = ln_of_x(m, s, k);
        plane.d[k] = plane.ln_z[k] + select(is_root, ln_phi[k], s.ln_phi[k]);
    }
    return plane;
}

// Whether two species are cold enough to be liquids of their own: only then another phase lies below two
template <class M, class R> POINT_FN MaskOf<R> has_two_liquids(const M &m, const R *z, const R T) {
    R liquids = R(0.0);
    FOR_SPECIES (k, M::NS) {
        const auto is_liquid = z[k] > TOO_LITTLE && T < LIQUEFIES * m.phase_Tc[k];
        liquids += select(is_liquid, R(1.0), R(0.0));
    }
    return liquids > 1.5;
}

// The same of two phases: near its critical temperature a species needs a partial pressure near its critical pressure
template <class M, class R>
POINT_FN MaskOf<R> has_two_liquids(const M &m, const R *z, const R T, const TwoPhases<M, R> &s) {
    R much[M::NS];
    FOR_SPECIES (k, M::NS) {
        const auto is_much = T < NEAR_CRITICAL * m.phase_Tc[k] || larger(s.x[k], s.y[k]) > MUCH;
        much[k] = select(is_much, z[k], R(0.0));
    }
    return has_two_liquids(m, much, T);
}

// Phases that may lie below the plane of a split. First a vapour beside two liquids; then a liquid between a gas and a
// liquid, or between two liquids; then liquids of a species, those with the largest ratio of its fugacity to that of
// its own liquid first
template <class M, class R> struct Candidates {
    MaskOf<R> is_vapour;  // whether it is the turn of a vapour
    MaskOf<R> is_between; // whether it is that of a liquid between both phases, unless it is a vapour's
    R between[M::NS];     // ln of its amounts at the start
    R d[M::NS];           // ln of the fugacities over p
    R own[M::NS], most;   // ln of the ratios; that of the liquid whose turn it is
};

// What the first are. V_x, V_y: of the phases, in critical volumes; repels: the liquid beside a gas may split; ternary:
// of three species or more, two of them liquids
template <class M, class R>
POINT_FN void find_first(const M &m, const R T, const MaskOf<R> some, const MaskOf<R> repels, const MaskOf<R> ternary,
                         const TwoPhases<M, R> &s, const R V_x, const R V_y, Candidates<M, R> &o) {
    const auto x_is_gas = V_x > V_y;
    const R of_gas = larger(V_x, V_y);
    const R of_liquid = smaller(V_x, V_y);
    R Tc_gas = R(0.0), shared = R(0.0);
    FOR_SPECIES (k, M::NS) {
        Tc_gas += select(x_is_gas, s.x[k], s.y[k]) * m.phase_Tc[k];
        shared += sqrt(s.x[k] * s.y[k]);
    }

    // A vapour beside two liquids
    o.is_vapour = some && of_gas < 1.0;
    if (any_of(o.is_vapour)) {
        R of_vapour = R(0.0);
        FOR_SPECIES (k, M::NS) of_vapour += exp(within(o.d[k], 300.0));
        o.is_vapour = o.is_vapour && of_vapour > NEARLY_VAPOUR;
    }

    // A gas that is cold and dense enough for a liquid of nearly its composition: that is a part of the way to the
    // liquid
    const auto is_cold = T < LIQUEFIES * Tc_gas;
    const auto condenses = some && repels && is_cold && of_gas > 1.0 && of_gas < CONDENSES && of_liquid < 1.0;
    const auto is_bridge = some && ternary && of_gas < 1.0 && shared > SHARED && shared < THE_SAME;
    o.is_between = condenses || is_bridge;
    if (!any_of(o.is_between)) return;

    const R from_x = select(x_is_gas, R(PART_OF_THE_WAY), R(1.0 - PART_OF_THE_WAY));
    const R part = select(condenses, from_x, R(0.5));
    FOR_SPECIES (k, M::NS) {
        const R ln_x = log(at_least(s.x[k], LEAST_AMOUNT));
        const R ln_y = log(at_least(s.y[k], LEAST_AMOUNT));
        o.between[k] = ln_x + part * (ln_y - ln_x);
    }
}

// The next liquid of a species, for the points of `where`: those that have one
template <class M, class R> POINT_FN MaskOf<R> find_liquid(const M &, const MaskOf<R> where, Candidates<M, R> &o) {
    R most = R(BARRED);
    FOR_SPECIES (k, M::NS) {
        const auto next = o.own[k] < o.most && o.own[k] > most;
        most = select(next, o.own[k], most);
    }
    o.most = select(where, most, o.most);
    return where && most > MAIN_OF_LIQUID;
}

// The next candidate of the points of `where`: those that have one
template <class M, class R> POINT_FN MaskOf<R> find_next(const M &m, const MaskOf<R> where, Candidates<M, R> &o) {
    const auto was_vapour = where && o.is_vapour;
    o.is_between = o.is_between && (was_vapour || !where);
    o.is_vapour = o.is_vapour && !where;

    const auto is_between = where && o.is_between;
    return is_between || find_liquid(m, where && !is_between, o);
}

// Leaves out liquids of species that the liquids of a split hold as an ideal one does, or that are one of these liquids
template <class M, class R>
POINT_FN void leave_ideal_out(const M &m, const R T, const TwoPhases<M, R> &s, Candidates<M, R> &o) {
    const R dense = smaller(s.V_x, s.V_y);
    const auto x_is_liquid = s.V_x < ALSO_LIQUID * dense;
    const auto y_is_liquid = s.V_y < ALSO_LIQUID * dense;
    FOR_SPECIES (k, M::NS) {
        const R share = larger(select(x_is_liquid, s.x[k], R(0.0)), select(y_is_liquid, s.y[k], R(0.0)));
        const auto is_ideal = o.own[k] < AS_ITSELF && o.own[k] - log(at_least(share, LEAST_AMOUNT)) < REPELLED;
        const auto is_there = share > NEARLY_ALL && T < NEAR_CRITICAL * m.phase_Tc[k];
        o.own[k] = select(is_ideal || is_there, R(BARRED), o.own[k]);
    }
}

// The candidates of the points of `ask`, and the points that may have any. Of liquids only those whose species is the
// main one of no liquid, or the main one in a liquid that repels it, or that is next to its critical temperature: two
// liquids are mainly methane there.
template <class M, class R>
POINT_FN MaskOf<R> find_candidates(const M &m, const Feed<M, R> &feed, const MaskOf<R> ask, const TwoPhases<M, R> &s,
                                   Candidates<M, R> &o) {
    R critical_x = R(0.0), critical_y = R(0.0), present = R(0.0);
    auto some = nowhere<R>();
    FOR_SPECIES (k, M::NS) {
        present += select(feed.z[k] > TOO_LITTLE, R(1.0), R(0.0));
        critical_x += s.x[k] * (m.phase_b[k] * m.phase_critical[0]);
        critical_y += s.y[k] * (m.phase_b[k] * m.phase_critical[0]);
        some = some || (feed.z[k] > TOO_LITTLE && feed.at.T < LIQUEFIES * m.phase_Tc[k]);
    }
    some = some && ask;
    o.is_vapour = o.is_between = nowhere<R>();
    FOR_SPECIES (k, M::NS) o.between[k] = R(0.0);
    if (!any_of(some)) return some;

    R ln_K[M::NS];
    const R V_x = s.V_x / critical_x;
    const R V_y = s.V_y / critical_y;
    FOR_SPECIES (k, M::NS) o.d[k] = ln_of_x(m, s, k) + s.ln_phi[k];

    // Fugacities over those of the species' own liquids, and whether the denser phase repels one of these liquids
    R own[M::NS];
    auto repels_some = nowhere<R>();
    wilson(m, feed, ln_K);
    FOR_SPECIES (k, M::NS) {
        own[k] = over_own_liquid(m, feed, o.d[k], ln_K[k], k);
        const R share = at_least(select(V_x < V_y, s.x[k], s.y[k]), LEAST_AMOUNT);
        const auto may_be_liquid = feed.at.T < LIQUEFIES * m.phase_Tc[k] && feed.z[k] > TOO_LITTLE;
        repels_some = repels_some || (may_be_liquid && own[k] - log(share) > REPELLED);
    }
    const auto two_liquids = has_two_liquids(m, feed.z, feed.at.T, s);
    const auto ternary = two_liquids && present > 2.5;
    find_first(m, feed.at.T, some, repels_some, ternary, s, V_x, V_y, o);

    // The liquid of a species
    const R repelled = select(present < 2.5, R(REPELLED), R(REPELLED_OF_MORE));
    FOR_SPECIES (k, M::NS) {
        const auto in_x = V_x < LIQUID && s.x[k] > DOMINANT;
        const auto in_y = V_y < LIQUID && s.y[k] > DOMINANT;
        const R share = select(in_x, s.x[k], s.y[k]);
        const R ln_share = 2.0 * (share - 1.0) / (share + 1.0); // within 0.03 from DOMINANT on
        const R by_itself = own[k];
        const auto is_critical = feed.at.T > NEAR_CRITICAL * m.phase_Tc[k] && by_itself > NEARLY_OWN;
        const R repels = by_itself - ln_share;
        const auto is_itself = ternary && repels > REPELLED_A_LITTLE && by_itself > AS_ITSELF;
        const auto is_other = !(in_x || in_y) || repels > repelled || is_critical || is_itself;
        o.own[k] =
            select(is_other && feed.at.T < LIQUEFIES * m.phase_Tc[k] && feed.z[k] > TOO_LITTLE, by_itself, R(BARRED));
    }
    return some;
}

// The first candidate of the points of `some`: those that have one
template <class M, class R> POINT_FN MaskOf<R> begin_with_first(const M &m, const MaskOf<R> some, Candidates<M, R> &o) {
    o.most = R(-BARRED);
    const auto is_first = o.is_vapour || o.is_between;
    return is_first || find_liquid(m, some && !is_first, o);
}

// Whether the candidate whose turn it is falls below the plane of a split. Its evaluations are those of the feed.
template <class M, class R>
PHASE_PART MaskOf<R> is_below(const M &m, Feed<M, R> plane, const MaskOf<R> ask, const TwoPhases<M, R> &s,
                              const Candidates<M, R> &o, Feed<M, R> &feed, Trial<M, R> &trial) {
    R x_main = R(0.0), Tc_main = R(1.0);
    FOR_SPECIES (k, M::NS) {
        const auto is_main = o.own[k] >= o.most && o.own[k] <= o.most;
        x_main = select(is_main, s.x[k], x_main);
        Tc_main = select(is_main, R(m.phase_Tc[k]), Tc_main);
    }
    const auto others = others_of_trial(m, feed.at.T, x_main, Tc_main, LN_TAKEN_UP);
    FOR_SPECIES (k, M::NS) {
        const auto is_main = o.own[k] >= o.most && o.own[k] <= o.most;
        const R rest = others.amount(log(at_least(s.x[k], LEAST_AMOUNT)));
        const R liquid = select(o.is_between, o.between[k], select(is_main, R(0.0), rest));
        trial.ln_W[k] = select(o.is_vapour, o.d[k], liquid);
    }

    const R lean = select(o.is_vapour, R(0.0), R(LEAN));
    minimise_later(m, plane, ask, Aim::DECIDE, trial, lean, select(o.is_vapour, R(0.0), R(HOPE)));
    feed.steps += plane.steps;
    return ask && trial.tm < -UNSTABLE && !trial.undecided;
}

// The same at the stationary point behind
template <class M, class R>
POINT_FN MaskOf<R> is_lower_at_end(const M &m, Feed<M, R> plane, const MaskOf<R> below, Feed<M, R> &feed,
                                   Trial<M, R> &trial) {
    minimise_later(m, plane, below, Aim::STATIONARY, trial);
    feed.steps += plane.steps;
    return below && trial.tm < -LOWER && !trial.undecided;
}

// The points of `ask` of whose two phases some candidate may lie below the plane; o: the first
template <class M, class R>
POINT_FN MaskOf<R> has_candidate(const M &m, const Feed<M, R> &feed, const MaskOf<R> ask, const TwoPhases<M, R> &s,
                                 Candidates<M, R> &o) {
    const auto some = find_candidates(m, feed, ask, s, o);
    if (!any_of(some)) return some;

    leave_ideal_out(m, feed.at.T, s, o);
    return begin_with_first(m, some, o);
}

// Whether a candidate is below the plane of two phases of the points of `ask`
template <class M, class R>
PHASE_PART MaskOf<R> has_lower(const M &m, Feed<M, R> &feed, const MaskOf<R> ask, const TwoPhases<M, R> &s) {
    Candidates<M, R> o;
    auto lower = nowhere<R>();
    auto todo = has_candidate(m, feed, ask, s, o);
    if (!any_of(todo)) return lower;

    const Feed<M, R> plane = common_plane(m, feed, s);
    UNROLL_BY(1)
    for (int turn = 0; turn <= M::NS + 1 && any_of(todo); ++turn) {
        Trial<M, R> trial;
        lower = lower || is_below(m, plane, todo, s, o, feed, trial);
        todo = find_next(m, todo, o) && !lower;
    }
    return lower;
}

// Whether another phase is below the two that a start has led to, of the points of `ask`. A quick pass makes no trials:
// where a candidate may be below, the whole search decides.
template <class M, class R>
POINT_FN MaskOf<R> is_above_another(const M &m, Feed<M, R> &feed, const MaskOf<R> ask, const TwoPhases<M, R> &s) {
    const auto doubtful = ask && has_two_liquids(m, feed.z, feed.at.T, s);
    if (!any_of(doubtful)) return doubtful;

    if constexpr (IS_QUICK_PASS<M>) {
        Candidates<M, R> o;
        return has_candidate(m, feed, doubtful, s, o);
    } else return has_lower(m, feed, doubtful, s);
}

// The parts of a split that another one takes the place of
template <class M, class R>
POINT_FN void take_split(const MaskOf<R> mask, const TwoPhases<M, R> &from, TwoPhases<M, R> &to) {
    to.beta = select(mask, from.beta, to.beta);
    to.rest = select(mask, from.rest, to.rest);
    to.V_x = select(mask, from.V_x, to.V_x);
    to.V_y = select(mask, from.V_y, to.V_y);
    FOR_SPECIES (k, M::NS) {
        to.ln_K[k] = select(mask, from.ln_K[k], to.ln_K[k]);
        to.x[k] = select(mask, from.x[k], to.x[k]);
        to.y[k] = select(mask, from.y[k], to.y[k]);
        to.ln_phi[k] = select(mask, from.ln_phi[k], to.ln_phi[k]);
    }
}

// Mole fractions of a trial, and how far they are from both phases of s
template <class M, class R> struct Third {
    R w[M::NS];
    R to_x, to_y; // sums of |w - x| and |w - y|
    MaskOf<R> is_vapour;
};

template <class M, class R>
POINT_FN void third_phase(const M &, const Trial<M, R> &trial, const TwoPhases<M, R> &s, Third<M, R> &o) {
    R sum = R(0.0);
    FOR_SPECIES (k, M::NS) {
        o.w[k] = exp(within(trial.ln_W[k], 300.0));
        sum += o.w[k];
    }

    o.to_x = o.to_y = R(0.0);
    FOR_SPECIES (k, M::NS) {
        o.w[k] = o.w[k] / sum;
        o.to_x += fabs(o.w[k] - s.x[k]);
        o.to_y += fabs(o.w[k] - s.y[k]);
    }
}

// A start of the split of the third phase beside x of s, or y, in equal amounts
template <class M, class R>
POINT_FN void start_with_third(const M &, const Third<M, R> &third, const MaskOf<R> beside_x, const TwoPhases<M, R> &s,
                               TwoPhases<M, R> &start) {
    start = s;
    start.beta = start.rest = R(0.5);
    FOR_SPECIES (k, M::NS) {
        const R kept = select(beside_x, s.x[k], s.y[k]);
        const R ln_K = log(at_least(kept, LEAST_AMOUNT)) - log(at_least(third.w[k], LEAST_AMOUNT));
        start.ln_K[k] = select(third.is_vapour, -ln_K, ln_K);
    }
}

// Takes the split of the third phase beside one of both of s, for the points of `ask`, where that is lower: beside the
// phase that is less alike; where three phases are stable beside the other, too, and the lowest of the pairs. plane:
// that of s. Where neither is lower, and the third phase is like one of s: beside what is left of the feed. Near a
// critical point that phase of s lies between two that are lower. The points that took one.
template <class M, class R>
PHASE_PART MaskOf<R> take_beside(const M &m, Feed<M, R> &feed, const Feed<M, R> &plane, const MaskOf<R> ask,
                                 const Third<M, R> &third, TwoPhases<M, R> &s) {
    const TwoPhases<M, R> before = s;
    const R lean = select(third.is_vapour, R(-LEAN), R(0.0));
    auto todo = ask;
    R change = R(0.0); // of the Gibbs energy [RT a mole]
    UNROLL_BY(1)
    for (int attempt = 0; attempt < 3 && any_of(todo); ++attempt) {
        if (attempt == 2) todo = todo && !(change < 0.0) && smaller(third.to_x, third.to_y) < ALIKE;
        const auto beside_x = attempt == 0 ? third.to_x > third.to_y : third.to_x <= third.to_y;
        TwoPhases<M, R> other;
        start_with_third(m, third, beside_x, before, other);
        if (attempt == 2) {
            R ln_w[M::NS];
            FOR_SPECIES (k, M::NS) ln_w[k] = log(at_least(third.w[k], LEAST_AMOUNT));
            start_beside(m, feed, ln_w, select(third.is_vapour, R(1.0), R(-1.0)), other.ln_K);
        }
        auto lower = split(m, feed, todo, Effort{80, 1, 4}, lean, other) && other.beta > 0.0 && other.rest > 0.0;
        if (!any_of(lower)) continue;

        // By how much the plane moves at the feed, and at the phase that was left
        const Feed<M, R> now = common_plane(m, feed, other);
        R at_feed = R(0.0), of_left = R(0.0);
        FOR_SPECIES (k, M::NS) {
            const R moved = now.d[k] - plane.d[k];
            at_feed += feed.z[k] * moved;
            of_left -= select(beside_x, before.y[k], before.x[k]) * moved;
        }

        lower = lower && at_feed < change - LOWER;
        change = select(lower, at_feed, change);
        take_split(lower, other, s);
        todo = todo && !(lower && of_left > -LOWER);
    }
    return change < 0.0;
}

// The candidates of other splits, for the points of `where`
template <class M, class R>
POINT_FN void take_candidates(const M &, const MaskOf<R> where, const Candidates<M, R> &from, Candidates<M, R> &to) {
    to.is_vapour = (from.is_vapour && where) || (to.is_vapour && !where);
    to.is_between = (from.is_between && where) || (to.is_between && !where);
    to.most = select(where, from.most, to.most);
    FOR_SPECIES (k, M::NS) {
        to.between[k] = select(where, from.between[k], to.between[k]);
        to.d[k] = select(where, from.d[k], to.d[k]);
        to.own[k] = select(where, from.own[k], to.own[k]);
    }
}

// Whether there is one that the pair before had not: it was a liquid of that, say
template <class M, class R>
POINT_FN MaskOf<R> has_more(const M &, const Candidates<M, R> &now, const Candidates<M, R> &before) {
    auto more = nowhere<R>();
    FOR_SPECIES (k, M::NS) more = more || (now.own[k] > MAIN_OF_LIQUID && !(before.own[k] > BARRED));
    return more;
}

// Takes a lower split of the points of `ask` where another phase is below the tangent plane of s: that phase beside one
// of both. One candidate after the other. Beside a new pair all are tried again where one was above the plane of the
// pair before, or was a phase of that: of water, a fuel and their vapour any may be the one that is left out.
template <class M, class R>
PHASE_PART void take_lower_split(const M &m, Feed<M, R> &feed, const MaskOf<R> ask, TwoPhases<M, R> &s) {
    Candidates<M, R> o;
    auto todo = find_candidates(m, feed, ask, s, o);
    if (any_of(todo)) todo = begin_with_first(m, todo, o);
    if (!any_of(todo)) return;

    Feed<M, R> plane = common_plane(m, feed, s);
    R pairs = R(1.0);
    auto passed = nowhere<R>(); // a candidate was above the plane of this pair
    UNROLL_BY(1)
    for (int turn = 0; turn < PAIRS * (M::NS + 2) && any_of(todo); ++turn) {
        Trial<M, R> trial;
        auto below = is_below(m, plane, todo, s, o, feed, trial);
        if (any_of(below)) below = is_lower_at_end(m, plane, below, feed, trial);

        passed = passed || (todo && !below);
        auto anew = below;
        if (any_of(below)) {
            Third<M, R> third;
            third.is_vapour = o.is_vapour;
            third_phase(m, trial, s, third);
            anew = take_beside(m, feed, plane, below, third, s);
            plane = common_plane(m, feed, s);
        }
        todo = find_next(m, todo, o);

        anew = anew && pairs < PAIRS - 0.5;
        if (!any_of(anew)) continue;
        Candidates<M, R> next;
        auto some = find_candidates(m, feed, anew, s, next);
        if (!any_of(some)) continue;
        anew = anew && (passed || has_more(m, next, o));
        some = begin_with_first(m, some && anew, next);
        take_candidates(m, anew, next, o);
        todo = (todo && !anew) || some;
        passed = passed && !anew;
        pairs += select(anew, R(1.0), R(0.0));
    }
}
