// Of two splits of a feed that of the lower Gibbs energy. Water with a little fuel is liquid water and fuel, or steam
// and fuel, and the test of the feed finds the fuel alone; two liquids may boil, which it says as well.
#pragma once
#include "gas/phases/split.h"

constexpr double DOMINANT = 0.5;    // share of a phase from which on a species is its main one
constexpr double TOO_LITTLE = 1e-8; // of a species in the feed, to count
constexpr double REPELLED = 0.25;   // ln of the activity coefficient of a species from which its liquid may split again
constexpr double NEARLY_VAPOUR = 0.7; // sum of fugacities over p from which two liquids may have a vapour
constexpr double LOWER = 1e-8; // distance from the common tangent plane, or less Gibbs energy, that counts [RT a mole]

// The common tangent plane of two phases, at x as it is now: the last step of a split has moved it
template <class M, class R>
PART_FN Feed<M, R> common_plane(const M &m, const Feed<M, R> &feed, const TwoPhases<M, R> &s) {
    Feed<M, R> plane = feed;
    Phase<M, R> f;
    R ln_phi[M::NS];
    FOR_SPECIES (k, M::NS) plane.z[k] = s.x[k];
    phase_at_pressure(m, feed.at, feed.p, plane.z, f, ln_phi);
    tangent_plane_of(m, f.V, ln_phi, plane);
    plane.steps = R(0.0);
    return plane;
}

// The phase that may lie below the plane
template <class M, class R> struct Candidate {
    R ln_W[M::NS];
    MaskOf<R> is_vapour;
};

// The points of `ask` with another phase than those of s, of two species: beside two liquids a vapour; else the liquid
// of the species with the largest ratio of its fugacity to that of its own liquid, if it is the main one of no liquid,
// or the main one in a liquid that repels it.
template <class M, class R>
POINT_FN MaskOf<R> may_be_lower(const M &m, const Feed<M, R> &feed, const MaskOf<R> ask, const TwoPhases<M, R> &s,
                                Candidate<M, R> &o) {
    R b_x = R(0.0), b_y = R(0.0);
    FOR_SPECIES (k, M::NS) {
        b_x += s.x[k] * m.phase_b[k];
        b_y += s.y[k] * m.phase_b[k];
    }
    const auto x_dense = s.V_x < m.phase_critical[0] * b_x, y_dense = s.V_y < m.phase_critical[0] * b_y;

    // Of more than two species three phases may be stable at any T and p, and none of two is better than another
    R present = R(0.0);
    auto some = nowhere<R>();
    FOR_SPECIES (k, M::NS) {
        const auto is_there = feed.z[k] > TOO_LITTLE;
        present += select(is_there, R(1.0), R(0.0));
        some = some || (is_there && feed.at.T < m.phase_Tc[k]);
    }
    some = some && ask && present < 2.5;
    o.is_vapour = nowhere<R>();
    if (!any_of(some)) return some;

    // The vapour of both, as an ideal gas: f_i/p
    R d[M::NS], of_vapour = R(0.0);
    FOR_SPECIES (k, M::NS) {
        d[k] = log(at_least(s.x[k], LEAST_AMOUNT)) + s.ln_phi[k];
        of_vapour += exp(within(d[k], 300.0));
    }
    o.is_vapour = some && x_dense && y_dense && of_vapour > NEARLY_VAPOUR;

    // The liquid of a species
    R ln_K[M::NS], own[M::NS], most = R(-1e9);
    wilson(m, feed, ln_K);
    FOR_SPECIES (k, M::NS) {
        const auto in_x = x_dense && s.x[k] > DOMINANT, in_y = y_dense && s.y[k] > DOMINANT;
        const R share = select(in_x, s.x[k], s.y[k]), by_itself = over_own_liquid(m, feed, d[k], ln_K[k], k);
        const auto is_other = !(in_x || in_y) || by_itself - log(at_least(share, LEAST_AMOUNT)) > REPELLED;
        own[k] = select(is_other && feed.at.T < m.phase_Tc[k] && feed.z[k] > TOO_LITTLE, by_itself, R(-1e9));
        most = larger(own[k], most);
    }
    FOR_SPECIES (k, M::NS) o.ln_W[k] = select(o.is_vapour, d[k], select(own[k] >= most, R(0.0), R(m.phase_ln_rest[0])));
    return o.is_vapour || (some && most > OWN_LIQUID);
}

// Whether the stationary point of a trial is below the plane. Its evaluations are those of the feed.
template <class M, class R>
PHASE_PART MaskOf<R> is_below(const M &m, Feed<M, R> plane, const MaskOf<R> ask, Feed<M, R> &feed, Trial<M, R> &trial) {
    minimise_later(m, plane, ask, Aim::STATIONARY, trial);
    feed.steps += plane.steps;
    return ask && trial.tm < -LOWER && !trial.undecided;
}

// Takes the other split of the points of `ask` where another phase is below the tangent plane of s: that phase beside
// one of both
template <class M, class R>
PHASE_PART void take_lower_split(const M &m, Feed<M, R> &feed, const MaskOf<R> ask, TwoPhases<M, R> &s) {
    constexpr int NS = M::NS;
    Candidate<M, R> o;
    auto todo = may_be_lower(m, feed, ask, s, o);
    if (!any_of(todo)) return;

    const Feed<M, R> plane = common_plane(m, feed, s);
    Trial<M, R> trial;
    FOR_SPECIES (k, NS) trial.ln_W[k] = o.ln_W[k];
    todo = todo && is_below(m, plane, todo, feed, trial);
    if (!any_of(todo)) return;

    R w[NS], sum = R(0.0), to_x = R(0.0), to_y = R(0.0);
    FOR_SPECIES (k, NS) {
        w[k] = exp(within(trial.ln_W[k], 300.0));
        sum += w[k];
    }
    FOR_SPECIES (k, NS) {
        w[k] = w[k] / sum;
        to_x += fabs(w[k] - s.x[k]);
        to_y += fabs(w[k] - s.y[k]);
    }

    // Beside the phase that is less alike, then beside the other
    for (int attempt = 0; attempt < 2; ++attempt) {
        const auto beside_x = attempt == 0 ? to_x > to_y : to_x <= to_y;
        TwoPhases<M, R> other = s;
        other.beta = other.rest = R(0.5);
        FOR_SPECIES (k, NS) {
            const R kept = select(beside_x, s.x[k], s.y[k]);
            const R ln_K = log(at_least(kept, LEAST_AMOUNT)) - log(at_least(w[k], LEAST_AMOUNT));
            other.ln_K[k] = select(o.is_vapour, -ln_K, ln_K);
        }
        const R lean = select(o.is_vapour, R(-LEAN), R(0.0));
        auto lower = split(m, feed, todo, Effort{80, 2, 4}, lean, other) && other.beta > 0.0 && other.rest > 0.0;
        if (any_of(lower)) {
            const Feed<M, R> now = common_plane(m, feed, other);
            R change = R(0.0);
            FOR_SPECIES (k, NS) change += feed.z[k] * (now.d[k] - plane.d[k]);
            lower = lower && change < -LOWER;
            // The phase that is left out, or one like it, is below the new plane where three phases are stable: then s
            // stays
            FOR_SPECIES (k, NS) trial.ln_W[k] = log(at_least(select(beside_x, s.y[k], s.x[k]), LEAST_AMOUNT));
            if (any_of(lower)) lower = lower && !is_below(m, now, lower, feed, trial);
        }

        s.beta = select(lower, other.beta, s.beta);
        s.rest = select(lower, other.rest, s.rest);
        FOR_SPECIES (k, NS) {
            s.ln_K[k] = select(lower, other.ln_K[k], s.ln_K[k]);
            s.x[k] = select(lower, other.x[k], s.x[k]);
            s.y[k] = select(lower, other.y[k], s.y[k]);
        }
        todo = todo && !lower;
        if (!any_of(todo)) return;
    }
}
