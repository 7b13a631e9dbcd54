// Whether a phase at T and p is stable: Michelsen's test by the distance from the tangent plane (Michelsen 1982,
// original not seen), from starts that are like a vapour, like a liquid, and rich in the heaviest species.
#pragma once
#include "gas/phases/curvature.h"
#include "gas/thermal/inversion.h"

constexpr double LEAST_AMOUNT = 1e-100; // smaller mole fractions count as that in logarithms
constexpr double ABSENT = 1e-25;        // residuals of scarcer species do not count
constexpr int STABILITY_STEPS = 40;
constexpr double CLEAR = 0.01; // residuals^2 in units of tm below which a trial from an earlier one is as good as
                               // stationary: Newton's next step changes tm by some residual^2
constexpr double APART = 1e-2; // distance from the feed beyond which a trial is a phase of its own
constexpr double GAS = 3.0;    // volume, in units of the critical, above which a feed has no lighter phase beside it

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
    const R inv_T = 1.0 / feed.at.T, ln_p = log(feed.p);
    FOR_SPECIES (k, M::NS) ln_K[k] = wilson_of(m, k, ln_p, inv_T);
}

// A trial phase of amounts W
template <class M, class R> struct Trial {
    R ln_W[M::NS], tm; // tm: distance from the plane, less than 0 where the feed is unstable
    MaskOf<R> unstable, undecided;
    MaskOf<R> apart; // above the plane and stationary, or nearly, and not the feed itself
    R off;           // largest residual at the start
};

// Newton's step in ln W from the residual r; where the matrix is not positive definite the step stays as it is.
//   (I + S Phi S/sum W) q = -S r, S = diag sqrt(W),  step = -r - Phi S q/sum W
template <class M, class R>
POINT_FN void trial_step(const M &m, const Attraction<M, R> &at, const Phase<M, R> &f, const R *W, const R inv_sum,
                         const R *r, const MaskOf<R> want, R *step) {
    constexpr int NS = M::NS;
    Curvature<M, R> c;
    curvature_of<true>(m, at, f, inv_sum, c);

    R H[lower(NS, 0)], inverse[NS], S[NS], q[NS];
    FOR_SPECIES (k, NS) {
        S[k] = sqrt(W[k]);
        q[k] = -(S[k] * r[k]);
    }
    UNROLL_IF(few<NS>())
    for (int i = 0; i < NS; ++i) {
        UNROLL_IF(few<NS>())
        for (int j = 0; j <= i; ++j)
            H[lower(i, j)] = S[i] * S[j] * curvature_element<true>(m, f, c, pair_attraction(m, at, i, j), i, j);
        H[lower(i, i)] += R(1.0);
    }
    const auto good = factorise_symmetric<NS>(H, inverse) && want;
    solve_symmetric<NS>(H, inverse, q);

    R a_w[NS], of_q[NS];
    begin_products(m, at, S, q, q, a_w, of_q);
    add_curvature_times<true>(m, f, c, q, a_w, of_q);
    FOR_SPECIES (k, NS) step[k] = select(good, within(R(-r[k] - of_q[k]), 2.0), step[k]);
}

// What a trial is for: whether tm < 0 somewhere, the stationary point behind, or whether the stationary point of an
// earlier test, from which it begins, is still above the plane
enum class Aim { DECIDE, STATIONARY, FOLLOW };

// Minimises tm from trial.ln_W for the points of `ask`. It ends where tm < 0 (STATIONARY: at the stationary point
// behind), where the trial is stationary, or where it becomes the feed itself. A point that is undecided after the last
// step counts as unstable: the split then decides.
template <class M, class R>
PHASE_PART void minimise_tangent_distance(const M &m, Feed<M, R> &feed, const MaskOf<R> ask, const Aim aim,
                                          Trial<M, R> &trial) {
    constexpr int NS = M::NS;
    auto open = ask;
    trial.unstable = trial.apart = nowhere<R>();
    trial.off = R(0.0);
    trial.tm = select(ask, R(1.0), trial.tm);

    UNROLL_BY(1)
    for (int step = 0; step < STABILITY_STEPS; ++step) {
        // The trial's ln phi
        R W[NS], w[NS], ln_phi[NS], r[NS], change[NS], sum = R(0.0);
        FOR_SPECIES (k, NS) {
            W[k] = exp(at_most(trial.ln_W[k], 50.0));
            sum += W[k];
        }
        const R inv_sum = 1.0 / sum;
        FOR_SPECIES (k, NS) w[k] = W[k] * inv_sum;
        Phase<M, R> f;
        phase_at_pressure(m, feed.at, feed.p, w, f, ln_phi);
        feed.steps += counted_in<R>(open);

        // Residual, distances from the plane and from the feed
        R tm = R(1.0), size = R(0.0), top = R(0.0), toward = R(0.0), far = R(0.0);
        FOR_SPECIES (k, NS) {
            r[k] = trial.ln_W[k] + ln_phi[k] - feed.d[k];
            const R apart = W[k] - feed.z[k];
            tm += W[k] * (r[k] - 1.0);
            size = larger(fabs(r[k]), size);
            top = larger(R(sqrt(W[k]) * fabs(r[k])), top);
            toward += apart * r[k];
            far += apart * (trial.ln_W[k] - feed.ln_z[k]);
            change[k] = -r[k];
        }
        // Another phase by its composition, or of the same composition by its volume
        const auto differs = far > 1e-8 || fabs(f.V - feed.V) > 1e-3 * feed.V;
        // Near a stationary point tm is off by some r^2: clearly above the plane, that is enough. Residuals of traces
        // count where an earlier trial is followed: there may have come more of them.
        auto flat = top < 1e-4;
        if (aim == Aim::FOLLOW) flat = flat || (size < 0.3 && top * top < CLEAR * tm);
        const auto above = flat && tm > (aim == Aim::STATIONARY ? 1e300 : 1e-5);
        const auto below = tm < -1e-9 && differs, stationary = top < 1e-9 || above;
        const auto nears_feed = tm > -1e-9 && tm < 1e-2 && far < 1e-2 && fabs(2.0 * tm - toward) < 0.2 * fabs(toward);
        const auto ended = stationary || nears_feed || far < 1e-10 || !(fabs(tm) < 1e300);
        trial.tm = select(open, tm, trial.tm);
        trial.unstable = trial.unstable || (open && below);
        trial.apart = trial.apart || (open && above && far > APART);
        if (step == 0) trial.off = size;
        open = open && !ended;
        if (aim != Aim::STATIONARY) open = open && !below;
        if (everywhere(!open)) break;

        // Substitution twice, then Newton; at once from an earlier trial
        const auto want = open && size < 1.0;
        if ((step >= 2 || aim == Aim::FOLLOW) && any_of(want)) trial_step(m, feed.at, f, W, inv_sum, r, want, change);
        FOR_SPECIES (k, NS) trial.ln_W[k] = select(open, R(trial.ln_W[k] + within(change[k], 10.0)), trial.ln_W[k]);
    }
    trial.undecided = open;
    trial.unstable = trial.unstable || open;
}

// What the test of a feed found, with the starts of a split
template <class M, class R> struct Verdict {
    MaskOf<R> unstable, certain; // certain: tm < 0 was seen
    R tm;                        // the least
    R ln_W[3][M::NS];            // the trials: vapour-like, liquid-like, and that of tm
    R is_vapour;                 // 1: that of tm is taken for the vapour, 0: for the liquid
    R shadow; // of a stable feed: the least tm of a trial that is apart, ln_W[2] its amounts; or NO_SHADOW
};

constexpr double NO_SHADOW = 1e9;
constexpr double HOT_BELOW = 3e7; // Pa; gases split at higher pressures far above their critical temperatures

// Whether each species is too hot for two phases, or next to nothing in any trial phase
template <class M, class R> POINT_FN MaskOf<R> is_hot(const M &m, const Feed<M, R> &feed, const R *ln_K) {
    auto cold = feed.p > HOT_BELOW;
    FOR_SPECIES (k, M::NS)
        cold = cold || !(feed.at.T > m.phase_hot[k] || feed.ln_z[k] + fabs(ln_K[k]) < m.phase_ln_trace[0]);
    return !cold;
}

template <class M, class R>
PHASE_PART void test_stability(const M &m, Feed<M, R> &feed, const MaskOf<R> ask, Verdict<M, R> &v) {
    constexpr int NS = M::NS;
    R ln_K[NS], least = R(1e9);
    wilson(m, feed, ln_K);
    FOR_SPECIES (k, NS) {
        least = smaller(least, select(feed.z[k] > 1e-20, ln_K[k], R(1e9)));
        v.ln_W[2][k] = feed.ln_z[k];
    }
    v.unstable = v.certain = nowhere<R>();
    v.tm = v.is_vapour = R(0.0);
    v.shadow = R(NO_SHADOW);
    const auto tested = ask && !is_hot(m, feed, ln_K);
    R critical = R(0.0); // volume
    FOR_SPECIES (k, NS) {
        v.ln_W[0][k] = v.ln_W[1][k] = feed.ln_z[k];
        critical += feed.z[k] * (m.phase_b[k] * m.phase_critical[0]);
    }
    const auto is_gas = feed.V > GAS * critical, is_liquid = feed.V < critical;

    UNROLL_BY(1)
    for (int start = 0; start < 3; ++start) {
        // Vapour-like unless the feed is a gas, liquid-like; where neither is found to be unstable, rich in the
        // heaviest species. The vapour of a liquid is that of its fugacities, an ideal gas: Wilson's K of a gas far
        // above its critical temperature is too small by an order of magnitude, hydrogen in hot water say.
        const auto now = start == 0 ? tested && !is_gas : start == 1 ? tested : tested && !v.unstable;
        if (start == 2 && !any_of(now)) break;
        Trial<M, R> trial;
        trial.tm = R(1.0);
        FOR_SPECIES (k, NS) {
            const R heavy = select(ln_K[k] > least, R(m.phase_ln_rest[0]), R(0.0));
            const R vapour = select(is_liquid, feed.d[k], R(feed.ln_z[k] + ln_K[k]));
            trial.ln_W[k] = start == 0 ? vapour : start == 1 ? R(feed.ln_z[k] - ln_K[k]) : heavy;
        }
        minimise_tangent_distance(m, feed, now, Aim::DECIDE, trial);

        // Keep the best
        const auto better = trial.unstable && now && (trial.tm < v.tm || !v.unstable);
        const auto nearest = trial.apart && now && !v.unstable && trial.tm < v.shadow;
        FOR_SPECIES (k, NS) {
            if (start < 2) v.ln_W[start][k] = select(now, trial.ln_W[k], v.ln_W[start][k]);
            v.ln_W[2][k] = select(better || nearest, trial.ln_W[k], v.ln_W[2][k]);
        }
        v.is_vapour = select(better, R(start == 0 ? 1.0 : 0.0), v.is_vapour);
        v.shadow = select(nearest, trial.tm, v.shadow);
        v.tm = select(better, trial.tm, v.tm);
        v.unstable = v.unstable || (trial.unstable && now);
        v.certain = v.certain || (trial.unstable && now && !trial.undecided);
    }
}
