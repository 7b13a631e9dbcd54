// Of two splits of a feed that of the lower Gibbs energy: water with a little fuel is liquid water and fuel, or steam
// and fuel, and the test of the feed finds the fuel alone.
#pragma once
#include "gas/phases/split.h"

constexpr double DOMINANT = 0.5;    // share of a phase from which on a species is its main one
constexpr double TOO_LITTLE = 1e-8; // of a species in the feed, to count
constexpr double LOWER = 1e-8; // distance from the common tangent plane, or less Gibbs energy, that counts [RT a mole]

// The common tangent plane of two phases
template <class M, class R>
POINT_FN Feed<M, R> common_plane(const M &, const Feed<M, R> &feed, const TwoPhases<M, R> &s) {
    Feed<M, R> plane = feed;
    FOR_SPECIES (k, M::NS) {
        plane.z[k] = s.x[k];
        plane.ln_z[k] = log(at_least(s.x[k], LEAST_AMOUNT));
        plane.d[k] = plane.ln_z[k] + s.ln_phi[k];
    }
    plane.V = s.V_x;
    plane.steps = R(0.0);
    return plane;
}

// ln of the ratio of each species' fugacity to that of its own liquid, of those that are the main one of no liquid
template <class M, class R> struct Candidates {
    R own[M::NS], most;
};

template <class M, class R>
POINT_FN MaskOf<R> may_be_liquid(const M &m, const Feed<M, R> &feed, const MaskOf<R> ask, const TwoPhases<M, R> &s,
                                 Candidates<M, R> &o) {
    R b_x = R(0.0), b_y = R(0.0);
    FOR_SPECIES (k, M::NS) {
        b_x += s.x[k] * m.phase_b[k];
        b_y += s.y[k] * m.phase_b[k];
    }
    const auto x_dense = s.V_x < m.phase_critical[0] * b_x, y_dense = s.V_y < m.phase_critical[0] * b_y;

    // Of more than two species three phases may be stable at any T and p, and none of two is better than another
    R present = R(0.0);
    FOR_SPECIES (k, M::NS) present += select(feed.z[k] > TOO_LITTLE, R(1.0), R(0.0));

    auto some = nowhere<R>();
    FOR_SPECIES (k, M::NS) {
        const auto is_main = (x_dense && s.x[k] > DOMINANT) || (y_dense && s.y[k] > DOMINANT);
        const auto cold = ask && present < 2.5 && feed.at.T < m.phase_Tc[k] && feed.z[k] > TOO_LITTLE && !is_main;
        o.own[k] = select(cold, R(0.0), R(-1e9));
        some = some || cold;
    }
    o.most = R(-1e9);
    if (!any_of(some)) return some;

    R ln_K[M::NS];
    wilson(m, feed, ln_K);
    const Feed<M, R> plane = common_plane(m, feed, s);
    FOR_SPECIES (k, M::NS) {
        o.own[k] += over_own_liquid(m, plane, ln_K, k);
        o.most = larger(o.own[k], o.most);
    }
    return some && o.most > OWN_LIQUID;
}

// Whether the stationary point of a trial is below the plane. Its evaluations are those of the feed.
template <class M, class R>
PHASE_PART MaskOf<R> is_below(const M &m, Feed<M, R> plane, const MaskOf<R> ask, Feed<M, R> &feed, Trial<M, R> &trial) {
    minimise_later(m, plane, ask, Aim::STATIONARY, trial);
    feed.steps += plane.steps;
    return ask && trial.tm < -LOWER && !trial.undecided;
}

// Takes the other split of the points of `ask` where a liquid of another species is below the tangent plane of s: that
// liquid beside one of both phases
template <class M, class R>
PHASE_PART void take_lower_split(const M &m, Feed<M, R> &feed, const MaskOf<R> ask, TwoPhases<M, R> &s) {
    constexpr int NS = M::NS;
    Candidates<M, R> o;
    auto todo = may_be_liquid(m, feed, ask, s, o);
    if (!any_of(todo)) return;

    // The liquid
    const Feed<M, R> plane = common_plane(m, feed, s);
    Trial<M, R> trial;
    FOR_SPECIES (k, NS) trial.ln_W[k] = select(o.own[k] >= o.most, R(0.0), R(m.phase_ln_rest[0]));
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
            other.ln_K[k] = log(at_least(kept, LEAST_AMOUNT)) - log(at_least(w[k], LEAST_AMOUNT));
        }
        auto lower = split(m, feed, todo, Effort{80, 2, 4}, R(0.0), other) && other.beta > 0.0 && other.rest > 0.0;
        R change = R(0.0);
        FOR_SPECIES (k, NS) {
            const R now = log(at_least(other.x[k], LEAST_AMOUNT)) + other.ln_phi[k];
            change += feed.z[k] * (now - plane.d[k]);
        }
        lower = lower && change < -LOWER;

        // The phase that is left out, or one like it, is below the new plane where three phases are stable: then s
        // stays
        FOR_SPECIES (k, NS) trial.ln_W[k] = log(at_least(select(beside_x, s.y[k], s.x[k]), LEAST_AMOUNT));
        if (any_of(lower)) lower = lower && !is_below(m, common_plane(m, feed, other), lower, feed, trial);
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
