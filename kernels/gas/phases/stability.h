// Whether a phase at T and p is stable: Michelsen's test by the distance from the tangent plane (Michelsen 1982,
// original not seen), from starts that are like a vapour, like a liquid, half-way to that, rich in the heaviest
// species, and rich in each other that may be a liquid by itself.
#pragma once
#include "gas/phases/curvature.h"
#include "gas/thermal/inversion.h"

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
constexpr int FOLLOW_STEPS = 5;      // of a trial that an earlier test found: two where the state has changed by little
constexpr double CLEAR = 0.01;       // residuals^2 in units of tm below which a trial from an earlier one is as good as
                                     // stationary: Newton's next step changes tm by some residual^2
constexpr double APART = 1e-2;       // distance from the feed beyond which a trial is a phase of its own
constexpr double SAME_ROOT = 0.2;    // relative difference of volumes below which a trial near the feed is the feed
constexpr double LEAP = 0.5;         // largest step in ln W where Newton's matrix is not positive definite
constexpr double WILSON = 5.373;     // phase_wilson over 1 + omega
constexpr double NEAR_DEW = 1.5;     // volume, in critical ones, from which on a feed has no lighter phase beside it
constexpr double DENSE_GAS = 3.0;    // and up to which it is a dense gas
constexpr double GAS = 6.0;          // and above which it is a thin one
constexpr double REAL = 0.9;         // p V/(RT) above which a gas is nearly ideal, far from its critical point
constexpr double UNSATURATED = -4.5; // ln of the ratio of fugacities of the heaviest species below which none condenses
constexpr double DENSE = 0.5;        // and below which it is a liquid far from its critical point
// ln of the ratio of amounts beyond which a species is all of a trial; and beyond which it is that where the liquid
// repels the others, as water does a hydrocarbon: with a hundredth of them the trial is a gas.
constexpr double NEXT_TO_NOTHING = 4.0, TRACES = 8.0;
constexpr double OF_SATURATED = 0.4; // -ln of the fugacity coefficient of a saturated vapour at the critical point
constexpr double OWN_LIQUID = -0.5;  // ln of the ratio of a species' fugacity to that of its own liquid, by Wilson's K,
                                     // above which it may split off as that: Wilson's K is off by some 20 %
constexpr double FROZEN = 0.2, FROZEN_OMEGA = 4.0; // of ln of vapour pressures over Tc/T - 2, below 0.5 Tc
constexpr double NEARLY_OWN = -0.2;                // the same in a dense feed that is mostly this species
constexpr double UNLIKE = 0.2; // the same over its mole fraction, an activity coefficient, in other dense feeds
// T/Tc of a species from which on a liquid of it needs others; ln of the ratio of their amount to its own there
constexpr double NEAR_CRITICAL = 0.95, LN_OTHERS = -1.9;
constexpr double MAINLY = 0.7; // share from which on a phase is much the same as the liquid of its main species

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
// `near` then keep their step.
//   (I + S Phi S/sum W) q = -S r, S = diag sqrt(W),  step = -r - Phi S q/sum W
template <class M, class R>
POINT_FN void trial_step(const M &m, const Attraction<M, R> &at, const Phase<M, R> &f, const R *S, const R inv_sum,
                         const R *r, const MaskOf<R> want, const MaskOf<R> near, R *step) {
    constexpr int NS = M::NS;
    Curvature<M, R> c;
    curvature_of<true>(m, at, f, inv_sum, c);

    R H[lower(NS, 0)], inv_D[NS], q[NS];
    FOR_SPECIES (k, NS) q[k] = -(S[k] * r[k]);
    const auto add_own = [&](const int i, const int j, R &sum) { add_own_element<true>(m, f, c, i, j, sum); };
    scaled_curvature<true>(m, at, S, c.common, add_own, H);
    const auto definite = factorise_symmetric<NS>(H, inv_D);
    solve_symmetric<NS>(H, inv_D, q);

    R a_w[NS], of_q[NS], longest = R(0.0);
    begin_products(m, at, S, q, q, a_w, of_q);
    add_curvature_times<true>(m, f, c, q, a_w, of_q);
    FOR_SPECIES (k, NS) {
        of_q[k] = -r[k] - of_q[k];
        longest = larger(fabs(of_q[k]), longest);
    }
    const R part = select(definite || longest < LEAP, R(1.0), R(LEAP / longest));
    const auto taken = want && (near || definite);
    FOR_SPECIES (k, NS) step[k] = select(taken, within(R(part * of_q[k]), 2.0), step[k]);
}

// What a trial is for: whether tm < 0 somewhere, the stationary point behind, or whether the stationary point of an
// earlier test, from which it begins, is still above the plane
enum class Aim { DECIDE, STATIONARY, FOLLOW };

// The way of a trial down to a stationary point
template <class R> struct Descent {
    MaskOf<R> open; // points that go on
    R count;        // evaluations of the trial, in units of a point
    R size;         // largest residual of the last step
    R lean;         // of the root in the first steps (equation.h): LEAN, or 0
    R hope;         // sum of amounts after the first step below which a trial is given up, as above the plane; or 0
    double most;    // after so many a point ends undecided
};

template <class M, class R> POINT_FN void begin_descent(const MaskOf<R> where, Descent<R> &way, Trial<M, R> &trial) {
    way.open = way.open || where;
    way.count = select(where, R(0.0), way.count);
    way.size = select(where, R(1e9), way.size);
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
    const auto stationary = top < 1e-9 || above;
    // The feed itself, and not a phase of nearly its composition, as of a nearly pure species that boils
    const auto is_root = fabs(f.V - feed.V) < SAME_ROOT * feed.V;
    const auto nears_feed =
        is_root && tm > -UNSTABLE && tm < 1e-2 && far < 1e-2 && fabs(2.0 * tm - toward) < 0.2 * fabs(toward);
    auto ended = stationary || nears_feed || far < 1e-10 || !(fabs(tm) < 1e300);
    if (aim != Aim::STATIONARY) ended = ended || below;
    trial.tm = select(at_work, tm, trial.tm);
    trial.unstable = trial.unstable || (at_work && below);
    trial.apart = trial.apart || (at_work && above && far > APART);
    trial.itself = trial.itself || (at_work && is_root && (nears_feed || far < 1e-10));
    trial.off = select(at_work && way.count < 0.5, size, trial.off);
    way.size = size;
    way.open = at_work && !ended;

    // Substitution twice, then Newton; at once from an earlier trial
    const auto near = size < 1.0 && way.count > (aim == Aim::FOLLOW ? -1.0 : 1.5);
    const auto want = way.open && (near || (way.count > PLAIN && size < SWINGS));
    if (any_of(want)) trial_step(m, feed.at, f, S, inv_sum, r, want, near, change);
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
    way.open = trial.unstable = trial.undecided = trial.apart = trial.itself = nowhere<R>();
    way.count = way.size = trial.off = R(0.0);
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

// What the test of a feed found, with the starts of a split
template <class M, class R> struct Verdict {
    MaskOf<R> unstable, certain; // certain: tm < 0 was seen
    MaskOf<R> alone;             // all trials, of one or more, ended as the feed itself
    R tm;                        // the least
    R ln_W[3][M::NS];            // the trials: vapour-like, liquid-like, and that of tm
    R is_vapour;                 // 1: that of tm is taken for the vapour, 0: for the liquid
    R shadow; // of a stable feed: the least tm of a trial that is apart, ln_W[2] its amounts; or NO_SHADOW
};

constexpr double NO_SHADOW = 1e9;
constexpr double HOT_BELOW = 3e7; // Pa; gases split at higher pressures far above their critical temperatures

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

// The starts: vapour-like, liquid-like, half-way to that from a gas, rich in the heaviest species, rich in others
enum { LIKE_VAPOUR, LIKE_LIQUID, HALF_WAY, RICH_IN_HEAVIEST, RICH_IN_ANOTHER, TRIALS };

// ln of the ratio of a species' fugacity to that of its liquid by itself: Wilson's vapour pressure, the fugacity
// coefficient of that vapour, and the liquid's own volume. The vapour pressure of a cold polar species is lower than
// Wilson's, by half at 0.5 Tc of methanol; below 0.5 Tc those of all equations fall behind Wilson's, by a factor of 30
// for water at 0.25 Tc. d: ln of the fugacity over p
template <class M, class R>
POINT_FN R over_own_liquid(const M &m, const Feed<M, R> &feed, const R d, const R ln_K, const int k) {
    const R omega = m.phase_wilson[k] * (1.0 / WILSON) - 1.0;
    const R cold = larger(R(m.phase_Tc[k] / feed.at.T - 1.0), R(0.0));
    const R frozen = larger(R(cold - 1.0), R(0.0));
    const R saturated = OF_SATURATED * exp(m.phase_wilson[k] - m.phase_wilson[k] * (m.phase_Tc[k] / feed.at.T));
    return d - ln_K + saturated * (m.phase_Tc[k] / feed.at.T) - m.phase_b[k] * (feed.p / feed.at.RT) + omega * cold +
           (FROZEN + FROZEN_OMEGA * omega) * frozen;
}

// ln of the amount of species i in a trial that is rich in species k, of which there is 1. Next to the critical
// temperature of that, and above, it is a liquid with enough of the others alone. x: the phase that they come from;
// where k is its main species the trial is to be unlike it.
template <class M, class R>
POINT_FN R rest_of_trial(const M &m, const Feed<M, R> &feed, const R *x, const int i, const R x_k, const R Tc_k) {
    const R others = log(at_least(x[i], LEAST_AMOUNT)) - log(at_least(R(1.0 - x_k), LEAST_AMOUNT));
    const auto takes_up = feed.at.T > NEAR_CRITICAL * Tc_k && x_k < MAINLY;
    return select(takes_up, R(LN_OTHERS + others), R(m.phase_ln_rest[0]));
}

// Species other than the heaviest that may be liquids by themselves, one after the other, the largest ratio of
// fugacities first. Water beside a heavier hydrocarbon, say, or a gas at hundreds of bar.
template <class M, class R> struct Another {
    R own[M::NS];   // ln of the ratio; BARRED: no trial
    R turn, most;   // whose turn it is, and its ratio
    MaskOf<R> some; // whether there is one
    R heaviest;     // ln of the ratio of the heaviest species
};
constexpr double BARRED = -1e9;

// The species with the largest ratio below that of the last, of those that may split off; of any for the points of
// `free`
template <class M, class R>
POINT_FN void find_next(const M &, const Feed<M, R> &feed, const MaskOf<R> is_dense, const MaskOf<R> free,
                        const R below, Another<M, R> &another) {
    another.most = R(BARRED);
    FOR_SPECIES (k, M::NS) {
        const R own = another.own[k];
        const auto is_unlike = own > NEARLY_OWN || own - feed.ln_z[k] > UNLIKE;
        const auto may_split = free || (own > OWN_LIQUID && (!is_dense || is_unlike));
        const auto is_next = may_split && own < below && own > another.most;
        another.most = select(is_next, own, another.most);
        another.turn = select(is_next, R(double(k)), another.turn);
    }
    another.some = another.most > BARRED;
}

template <class M, class R>
POINT_FN void find_another(const M &m, const Feed<M, R> &feed, const R *ln_K, const R least, const MaskOf<R> is_dense,
                           Another<M, R> &another) {
    another.heaviest = R(BARRED);
    another.turn = R(0.0);
    FOR_SPECIES (k, M::NS) {
        const R own = over_own_liquid(m, feed, feed.d[k], ln_K[k], k);
        const auto is_other = ln_K[k] > least;
        another.heaviest = select(is_other, another.heaviest, larger(own, another.heaviest));
        another.own[k] = select(is_other, own, R(BARRED));
    }
    find_next(m, feed, is_dense, feed.p > HOT_BELOW, R(1e300), another);

    // After the first only those that may be a liquid
    FOR_SPECIES (k, M::NS) {
        const auto is_first = another.own[k] >= another.most;
        const auto is_cold = feed.at.T < m.phase_Tc[k];
        another.own[k] = select(is_first || is_cold, another.own[k], R(BARRED));
    }
}

// What the trials that ended found: the best is kept
template <class M, class R>
POINT_FN void conclude_trial(const MaskOf<R> ended, const R start, const MaskOf<R> is_liquid, const Trial<M, R> &trial,
                             Verdict<M, R> &v) {
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
}

// The starts of a test of a feed: which of them it needs, and whose turn it is
template <class M, class R> struct Starts {
    R ln_K[M::NS], least;   // Wilson's; that of the heaviest species
    R start;                // whose turn it is
    MaskOf<R> is_liquid;    // the feed is denser than its critical point
    MaskOf<R> is_dense;     // a liquid far from that
    MaskOf<R> is_dense_dew; // a dense gas with no lighter phase beside it
    MaskOf<R> may_condense; // a gas of which a species is near its own liquid
    MaskOf<R> is_heavy;     // the liquid-like start is rich in the heaviest species already
    Another<M, R> another;  // other species that may split off
};

// No vapour-like trial where the feed is a gas. A dense one is tried half-way to the liquid, too: trials that begin as
// far away as Wilson's K says come back to it near critical points.
template <class M, class R> POINT_FN void find_starts(const M &m, const Feed<M, R> &feed, Starts<M, R> &o) {
    R heaviest = R(-1e9), critical = R(0.0);
    o.least = R(1e9);
    FOR_SPECIES (k, M::NS) {
        const auto lower = o.ln_K[k] < o.least && feed.z[k] > 1e-20;
        o.least = select(lower, o.ln_K[k], o.least);
        heaviest = select(lower, R(feed.ln_z[k] - o.ln_K[k]), heaviest);
        critical += feed.z[k] * (m.phase_b[k] * m.phase_critical[0]); // volume
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
    const auto is_dense_gas = feed.V < DENSE_GAS * critical;
    const auto is_real = feed.p * feed.V < REAL * feed.at.RT && feed.V < GAS * critical;
    o.is_dense_dew = is_near_dew && is_dense_gas;
    o.may_condense = o.another.heaviest > UNSATURATED && !o.is_dense && (is_dense_gas || is_real);
    o.start = select(is_near_dew, R(double(LIKE_LIQUID)), R(double(LIKE_VAPOUR)));
}

// The trial of the start whose turn it is. The vapour of a liquid is that of its fugacities, an ideal gas: Wilson's K
// of a gas far above its critical temperature is too small by an order of magnitude, hydrogen in hot water say.
template <class M, class R>
POINT_FN void begin_trial(const M &m, const Feed<M, R> &feed, const MaskOf<R> begin, const Starts<M, R> &o,
                          Descent<R> &way, Trial<M, R> &trial) {
    const auto is_vapour = o.start < LIKE_VAPOUR + 0.5;
    const auto is_heaviest = o.start < RICH_IN_HEAVIEST + 0.5;
    const R part = select(o.start > LIKE_LIQUID + 0.5, R(0.5), R(1.0));
    begin_descent(begin, way, trial);
    way.lean = select(is_vapour, R(0.0), R(LEAN));
    FOR_SPECIES (k, M::NS) {
        const auto is_other = o.ln_K[k] > o.least;
        const auto is_another = fabs(o.another.turn - double(k)) < 0.5;
        const auto is_rich = (is_heaviest && !is_other) || (!is_heaviest && is_another);
        const R rich = select(is_rich, R(0.0), R(m.phase_ln_rest[0]));
        const R vapour = select(o.is_liquid, feed.d[k], R(feed.ln_z[k] + o.ln_K[k]));
        const R like = select(is_vapour, vapour, R(feed.ln_z[k] - part * o.ln_K[k]));
        trial.ln_W[k] = select(begin, select(o.start > HALF_WAY + 0.5, rich, like), trial.ln_W[k]);
    }
}

// The next start of the points whose trial has ended: those that have one
template <class M, class R>
POINT_FN MaskOf<R> next_start(const M &m, const Feed<M, R> &feed, const MaskOf<R> ended, const Trial<M, R> &trial,
                              const Verdict<M, R> &v, Starts<M, R> &o) {
    o.start = select(ended, R(o.start + 1.0), o.start);
    const auto is_half_way = o.start > HALF_WAY - 0.5 && o.start < HALF_WAY + 0.5;
    const auto is_new = o.may_condense && !v.certain && (o.is_dense_dew || trial.itself);
    o.start = select(ended && is_half_way && !is_new, R(o.start + 1.0), o.start);
    const auto is_done = o.start > RICH_IN_HEAVIEST - 0.5 && o.start < RICH_IN_HEAVIEST + 0.5 && o.is_heavy;
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
    v.unstable = v.certain = v.alone = nowhere<R>();
    v.tm = v.is_vapour = R(0.0);
    v.shadow = R(NO_SHADOW);
    FOR_SPECIES (k, NS) v.ln_W[0][k] = v.ln_W[1][k] = v.ln_W[2][k] = feed.ln_z[k];
    const auto tested = ask && !is_hot(m, feed, o.ln_K);
    if (!any_of(tested)) return;
    v.alone = tested;
    find_starts(m, feed, o);

    Trial<M, R> trial;
    Descent<R> way;
    way.open = trial.unstable = trial.undecided = trial.apart = trial.itself = nowhere<R>();
    way.count = way.lean = way.hope = way.size = trial.tm = trial.off = R(0.0);
    way.most = STABILITY_STEPS;
    FOR_SPECIES (k, NS) trial.ln_W[k] = feed.ln_z[k];

    auto begin = tested;
    UNROLL_BY(1)
    for (int step = 0; step < (TRIALS + NS) * STABILITY_STEPS; ++step) {
        if (any_of(begin)) begin_trial(m, feed, begin, o, way, trial);
        const auto before = way.open;
        step_of_trial(m, feed, Aim::DECIDE, way, trial);

        const auto ended = before && !way.open;
        begin = ended;
        if (!any_of(ended)) continue;
        conclude_trial(ended, o.start, o.is_liquid, trial, v);
        begin = next_start(m, feed, ended, trial, v, o);
        if (!any_of(way.open || begin)) break;
    }
}
