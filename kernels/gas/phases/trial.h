// A trial phase of the test of stability: its way down to where it is below the tangent plane of a feed, or stationary
// (Michelsen 1982, original not seen).
#pragma once
#include "gas/phases/amounts.h"
#include "gas/equations/inversion.h"

constexpr double LEAST_AMOUNT = 1e-100; // smaller mole fractions count as that in logarithms
constexpr double ABSENT = 1e-25;        // residuals of scarcer species do not count
constexpr double UNSTABLE = 1e-9;       // distance below the tangent plane that counts
constexpr int STABILITY_STEPS = 40;
constexpr double LEANING = 7.5; // steps in which a trial that is to be a liquid takes its smallest volume, even where
                                // the largest has the lower Gibbs energy: the start is not yet the liquid's composition
// Residuals up to which Newton's method takes the place of a substitution that has not come near: it swings where the
// species of the liquid attract each other, as ammonia and water do. Steps of a trial before that.
constexpr double SWINGS = 10.0, PLAIN = 4.5;
constexpr double SLOWED = 9.5, PART = 0.4; // steps from which on substitution takes a part of each: it swings
constexpr int FOLLOW_STEPS = 5;   // of a trial that an earlier test found: two where the state has changed by little
constexpr double CLEAR = 0.01;    // residuals^2 in units of tm below which a trial from an earlier one is as good as
                                  // stationary: Newton's next step changes tm by some residual^2
constexpr double APART = 1e-2;    // distance from the feed beyond which a trial is a phase of its own
constexpr double FAR = 0.1;       // and beyond which it is on its way still
constexpr double SAME_ROOT = 0.2; // relative difference of volumes below which a trial near the feed is the feed
constexpr double LEAP = 0.5;      // largest step in ln W where Newton's matrix is not positive definite
constexpr double NO_LEAP = 0.5;   // largest change of composition in a step that must not leap, as it is measured there

// One mole of the mixture at T and p
template <class M, class R> struct Feed {
    Attraction<M, R> at;
    R p, z[M::NS], ln_z[M::NS];
    R V;        // of the phase that is tested
    R d[M::NS]; // ln z_i + ln phi_i: the tangent plane
    R steps;    // evaluations of ln phi of a phase, beside its derivatives
};

template <class M, class R> POINT_FN void tangent_plane_of(const M &, const R V, const R *ln_phi, Feed<M, R> &feed) {
    feed.V = V;
    FOR_SPECIES (k, M::NS) {
        feed.ln_z[k] = log(at_least(feed.z[k], LEAST_AMOUNT));
        feed.d[k] = feed.ln_z[k] + ln_phi[k];
    }
}

// ln K of Wilson's correlation, the start of the iterations
template <class M, class R> POINT_FN R wilson_of(const M &m, const int k, const R ln_p, const R inv_T) {
    return m.phase_ln_pc[k] - ln_p + m.phase_wilson[k] * (1.0 - m.phase_Tc[k] * inv_T);
}

template <class M, class R> POINT_FN void wilson(const M &m, const Feed<M, R> &feed, R *ln_K) {
    const R inv_T = 1.0 / feed.at.T;
    const R ln_p = log(feed.p);
    FOR_SPECIES (k, M::NS) ln_K[k] = wilson_of(m, k, ln_p, inv_T);
}

// A trial phase of amounts W
template <class M, class R> struct Trial {
    R ln_W[M::NS], tm; // tm: distance from the plane, less than 0 where the feed is unstable
    MaskOf<R> unstable, undecided;
    MaskOf<R> apart;  // above the plane and stationary, or nearly, and not the feed itself
    MaskOf<R> itself; // ended as the feed itself
    R off;            // largest residual at the start
};

// Newton's step in ln W from the residual r. Where the matrix is not positive definite it is a part of that with raised
// pivots, which leads downhill: substitution stays near a minimum that is about to be one, or was. Points that are not
// `near` then keep their step. most: the largest of it.
//   step + Phi W step/sum W = -r
template <class M, class R>
POINT_FN void trial_step(const M &m, const Attraction<M, R> &at, const Phase<M, R> &f, const R *S, const R inv_sum,
                         const R *r, const MaskOf<R> want, const MaskOf<R> near, const R most, R *step) {
    constexpr int NS = M::NS;
    AmountSystem<M, R> system;
    R residual[NS], of_q[NS], longest = R(0.0);
    FOR_SPECIES (k, NS) {
        const R root = larger(S[k], R(LEAST_ROOT));
        system.weight.set(k, root, inverse(root));
        residual[k] = -r[k];
    }
    amounts_of_one(m, at, f, inv_sum, system);
    factorise_amounts(m, at, system);
    solve_amounts(m, at, system, residual, of_q);

    const auto definite = system.definite;
    FOR_SPECIES (k, NS) {
        of_q[k] = system.longer(k, of_q[k]);
        longest = larger(fabs(of_q[k]), longest);
    }
    const R part = select(definite || longest < LEAP, R(1.0), R(LEAP / longest));
    const auto taken = want && (near || definite);
    FOR_SPECIES (k, NS) step[k] = select(taken, smaller(larger(R(part * of_q[k]), R(-most)), most), step[k]);
}

// Shortens a step, of residual r, to the largest change of composition that it may make, sqrt(w) |d ln w|. The sum of
// amounts then is the best one of the composition as it was. A liquid that attracts much of the feed lies between a
// trial that has none of it and the feed.
template <class M, class R> POINT_FN void shorten(const M &, const R *w, const R *r, const MaskOf<R> where, R *change) {
    R of_sum = R(0.0), best = R(0.0), longest = R(NO_LEAP);
    FOR_SPECIES (k, M::NS) {
        of_sum += w[k] * change[k];
        best -= w[k] * r[k];
    }
    FOR_SPECIES (k, M::NS) longest = larger(R(sqrt(w[k]) * fabs(change[k] - of_sum)), longest);
    const R part = NO_LEAP / longest;
    const auto shorter = where && longest > NO_LEAP;
    FOR_SPECIES (k, M::NS) change[k] = select(shorter, R(best + part * (change[k] - of_sum)), change[k]);
}

// What a trial is for: whether tm < 0 somewhere, the stationary point behind, or whether the stationary point of an
// earlier test, from which it begins, is still above the plane
enum class Aim { DECIDE, STATIONARY, FOLLOW };

// The way of a trial down to a stationary point
template <class R> struct Descent {
    MaskOf<R> open; // points that go on
    MaskOf<R> near; // points that begin near a minimum, beyond which substitution leaps
    R count;        // evaluations of the trial, in units of a point
    R size;         // largest residual of the last step
    R least;        // least sqrt(W) |r| FAR from the feed
    R lean;         // of the root in the first steps (equation.h): LEAN, or 0
    R hope;         // sum of amounts after the first step below which a trial is given up, as above the plane; or 0
    double most;    // after so many a point ends undecided
};

template <class M, class R> POINT_FN void begin_descent(const MaskOf<R> where, Descent<R> &way, Trial<M, R> &trial) {
    way.open = way.open || where;
    way.near = way.near && !where;
    way.count = select(where, R(0.0), way.count);
    way.size = select(where, R(1e9), way.size);
    way.least = select(where, R(1e9), way.least);
    trial.tm = select(where, R(1.0), trial.tm);
    trial.unstable = trial.unstable && !where;
    trial.undecided = trial.undecided && !where;
    trial.apart = trial.apart && !where;
    trial.itself = trial.itself && !where;
}

// A step of the trials that go on: they end where tm < 0 (STATIONARY: at the stationary point behind), where they are
// stationary, or where they become the feed itself.
template <class M, class R>
PART_FN void step_of_trial(const M &m, Feed<M, R> &feed, const Aim aim, Descent<R> &way, Trial<M, R> &trial) {
    constexpr int NS = M::NS;
    const auto at_work = way.open;

    // The trial's ln phi
    R S[NS], W[NS], w[NS], ln_phi[NS], r[NS], change[NS], sum = R(0.0);
    FOR_SPECIES (k, NS) {
        S[k] = exp(0.5 * at_most(trial.ln_W[k], 50.0));
        W[k] = S[k] * S[k];
        sum += W[k];
    }
    const R inv_sum = inverse(sum);
    FOR_SPECIES (k, NS) w[k] = W[k] * inv_sum;
    Phase<M, R> f;
    const R lean = select(way.count < LEANING, way.lean, R(0.0));
    phase_at_pressure(m, feed.at, feed.p, w, f, ln_phi, lean);
    feed.steps += counted_in<R>(at_work);

    // Residual, distances from the plane and from the feed
    R tm = R(1.0), size = R(0.0), top = R(0.0), toward = R(0.0), far = R(0.0);
    const R part = select(way.count > SLOWED, R(PART), R(1.0));
    FOR_SPECIES (k, NS) {
        r[k] = trial.ln_W[k] + ln_phi[k] - feed.d[k];
        const R apart = W[k] - feed.z[k];
        tm += W[k] * (r[k] - 1.0);
        size = larger(fabs(r[k]), size);
        top = larger(R(S[k] * fabs(r[k])), top);
        toward += apart * r[k];
        far += apart * (trial.ln_W[k] - feed.ln_z[k]);
        change[k] = -(part * r[k]);
    }

    // Another phase by its composition, or of the same composition by its volume
    const auto differs = far > 1e-8 || fabs(f.V - feed.V) > 1e-3 * feed.V;
    // Near a stationary point tm is off by some r^2: clearly above the plane, that is enough. Residuals of traces
    // count where an earlier trial is followed: there may have come more of them.
    auto flat = top < 1e-4;
    if (aim != Aim::STATIONARY) flat = flat || (size < 0.3 && top * top < CLEAR * tm);
    const auto above = flat && tm > (aim == Aim::STATIONARY ? 1e300 : 1e-5);
    const auto below = tm < -UNSTABLE && differs;
    // Of many moles the mole fractions' residuals count: those of the amounts are rounding errors of that size
    const auto stationary = top < 1e-9 || top * top * inv_sum < 1e-18 || above;
    // The feed itself, and not a phase of nearly its composition, as of a nearly pure species that boils. On the way to
    // it tm is a square of the distance, half of `toward`
    const auto is_root = fabs(f.V - feed.V) < SAME_ROOT * feed.V;
    const R bent = fabs(2.0 * tm - toward);
    const auto is_near = tm < 1e-2 && far < 1e-2 && bent < 0.2 * fabs(toward);
    const auto is_square = tm < 5e-2 && far < FAR && bent < 0.1 * fabs(toward);
    const auto nears_feed = is_root && tm > -UNSTABLE && (is_near || is_square);
    auto ended = stationary || nears_feed || far < 1e-10 || !(fabs(tm) < 1e300);
    if (aim != Aim::STATIONARY) ended = ended || below;
    trial.tm = select(at_work, tm, trial.tm);
    trial.unstable = trial.unstable || (at_work && below);
    trial.apart = trial.apart || (at_work && above && far > APART);
    trial.itself = trial.itself || (at_work && is_root && (nears_feed || far < 1e-10));
    trial.off = select(at_work && way.count < 0.5, size, trial.off);
    way.size = size;
    way.least = select(at_work && far > FAR, smaller(top, way.least), way.least);
    way.open = at_work && !ended;

    // Substitution twice, then Newton; at once from an earlier trial
    const auto near = size < 1.0 && way.count > (aim == Aim::FOLLOW ? -1.0 : 1.5);
    if (aim == Aim::STATIONARY) way.near = way.near || tm < -UNSTABLE;
    const auto leaps = way.open && way.near;
    const auto want = way.open && (near || leaps || (way.count > PLAIN && size < SWINGS));
    const R most = select(leaps, R(SWINGS), R(2.0));
    if (any_of(want)) trial_step(m, feed.at, f, S, inv_sum, r, want, near || leaps, most, change);
    if (any_of(leaps)) shorten(m, w, r, leaps, change);
    // An earlier trial ends with a substitution: what is kept is nearer than what was found to be near enough
    const auto moves = aim == Aim::FOLLOW ? at_work : way.open;
    FOR_SPECIES (k, NS) trial.ln_W[k] = select(moves, R(trial.ln_W[k] + within(change[k], 10.0)), trial.ln_W[k]);

    // Of a stationary point tm is 1 less the sum of its amounts
    const auto first = way.open && way.hope > 0.0 && way.count < 0.5;
    if (any_of(first)) {
        R left = R(0.0);
        FOR_SPECIES (k, NS) left += exp(at_most(trial.ln_W[k], 50.0));
        const auto hopeless = first && left < way.hope;
        trial.tm = select(hopeless, R(1.0 - left), trial.tm);
        way.open = way.open && !hopeless;
    }

    // A point that is undecided at last counts as unstable: the split then decides.
    way.count = way.count + 1.0;
    const auto spent = way.open && way.count > way.most - 0.5;
    trial.undecided = trial.undecided || spent;
    trial.unstable = trial.unstable || spent;
    way.open = way.open && !spent;
}

// Minimises tm from trial.ln_W for the points of `ask`. lean: of the root in the first steps; hope: of the first step
template <class M, class R>
POINT_FN void minimise_tangent_distance(const M &m, Feed<M, R> &feed, const MaskOf<R> ask, const Aim aim,
                                        Trial<M, R> &trial, const R lean = R(0.0), const R hope = R(0.0)) {
    Descent<R> way;
    way.open = way.near = trial.unstable = trial.undecided = trial.apart = trial.itself = nowhere<R>();
    way.count = way.size = way.least = trial.off = R(0.0);
    way.lean = lean;
    way.hope = hope;
    way.most = aim == Aim::FOLLOW ? FOLLOW_STEPS : STABILITY_STEPS;
    trial.tm = R(1.0);
    begin_descent(ask, way, trial);
    UNROLL_BY(1)
    for (int step = 0; step < STABILITY_STEPS && any_of(way.open); ++step) step_of_trial(m, feed, aim, way, trial);
}

// The same, for the few points of which that is not the first step
template <class M, class R>
PHASE_PART void minimise_later(const M &m, Feed<M, R> &feed, const MaskOf<R> ask, const Aim aim, Trial<M, R> &trial,
                               const R lean = R(0.0), const R hope = R(0.0)) {
    minimise_tangent_distance(m, feed, ask, aim, trial, lean, hope);
}
