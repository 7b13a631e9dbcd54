// The split of an unstable mixture at T and p: Newton's method in ln K with the equation of Rachford & Rice inside.
#pragma once
#include "gas/phases/stability.h"

constexpr double NEAR = 1e-8;       // residuals of ln f_i from which one more step of Newton's method is the last
constexpr double FLAT = 1e-11;      // residuals of ln f_i that count as 0
constexpr double QUADRATIC = 1e-4;  // steps of Newton's method below which the ratio to the step before tells the next
constexpr double CLOSE = 0.03;      // that step before, from where on the method converges so
constexpr double PRECISE = 1e-12;   // the next step that is not taken, in ln K: beta may be off by 100 times that
constexpr double LEANS = 0.01;      // and down to which the phases of a start keep the roots that they are to have
constexpr double SAME_PHASE = 1e-5; // largest |ln K_i| of a split into twice the same phase
constexpr double DISTINCT = 0.1;    // largest |ln K_i| from which on beta tells whether there are two phases
constexpr int BEST_TRIAL = 1, ALL_TRIALS = 1000;       // starts of a split that are tried
constexpr int RACHFORD_STEPS = 30, NEARBY_STEPS = 4;   // the latter from a beta that is nearly known
constexpr double ON_THE_WAY = 1e-6, AT_THE_END = 1e-8; // relative steps of that beta which are the last

// Whether Newton's step, the largest of the unknowns, is the last: the next would be C step^2 with C = step/before^2.
template <class R> POINT_FN MaskOf<R> is_last_step(const R step, const R before, const R precise) {
    return step < QUADRATIC && before < CLOSE && step * step * step < precise * (before * before);
}

// y_i = K_i x_i: mole fractions; beta: share of the phase y, rest = 1 - beta with its own digits
template <class M, class R> struct TwoPhases {
    R beta, rest, ln_K[M::NS], x[M::NS], y[M::NS];
    R ln_phi[M::NS], V_x, V_y; // of x, and volumes, at the last step
};

// Amounts of the points of `where` from b, the share of the smaller phase; for_liquid: that is x. ratio: K, or 1/K for
// x
template <class M, class R>
POINT_FN void set_amounts(const M &, const R *z, const R *ratio, const R b, const MaskOf<R> for_liquid,
                          const MaskOf<R> where, TwoPhases<M, R> &s) {
    s.beta = select(where, select(for_liquid, R(1.0 - b), b), s.beta);
    s.rest = select(where, select(for_liquid, b, R(1.0 - b)), s.rest);
    FOR_SPECIES (i, M::NS) {
        const R one = z[i] * inverse(R(1.0 + b * (ratio[i] - 1.0)));
        const R other = one * ratio[i];
        s.x[i] = select(where, select(for_liquid, other, one), s.x[i]);
        s.y[i] = select(where, select(for_liquid, one, other), s.y[i]);
    }
}

// Solves sum z_i (K_i - 1)/(1 + beta (K_i - 1)) = 0 for the smaller of the two phases, K -> 1/K if this is the liquid,
// so that a trace of it keeps its digits. beta may lie outside (0, 1) (negative flash); the bracket is that of
// Leibovici & Neoschil 1992 (original not seen). Only the points of `ask` change.
template <class M, class R>
POINT_FN void rachford_rice(const M &m, const R *z, const R *K, const MaskOf<R> ask, TwoPhases<M, R> &s) {
    constexpr int NS = M::NS;
    R half = R(0.0);
    R ratio[NS];
    R k[NS]; // K or 1/K; k: less 1
    FOR_SPECIES (i, NS) half += z[i] * (K[i] - 1.0) * inverse(R(K[i] + 1.0));
    const auto for_liquid = half > 0.0;

    R low = R(-1e9), high = R(1e9);
    FOR_SPECIES (i, NS) {
        ratio[i] = select(for_liquid, inverse(K[i]), K[i]);
        k[i] = ratio[i] - 1.0;
        const auto there = z[i] > 1e-30;
        const auto above = k[i] > 1e-14;
        const auto below = k[i] < -1e-14;
        const R inv_k = inverse(select(above || below, k[i], R(1.0)));
        low = select(there && above, larger(low, R((ratio[i] * z[i] - 1.0) * inv_k)), low);
        high = select(there && below, smaller(high, R((z[i] - 1.0) * inv_k)), high);
    }

    // From the end of the bracket, not its middle: a trace of a phase lies next to it
    R b = select(for_liquid, s.rest, s.beta);
    b = select(b > low, smaller(b, high), low);
    auto open = ask;
    UNROLL_BY(1)
    for (int step = 0; step < RACHFORD_STEPS; ++step) {
        R f = R(0.0), slope = R(0.0), terms = R(0.0);
        FOR_SPECIES (i, NS) {
            const R d = k[i] * inverse(R(1.0 + b * k[i]));
            const R term = z[i] * d;
            f += term;
            slope -= term * d;
            terms += fabs(term);
        }
        low = select(open && f > 0.0, b, low);
        high = select(open && f < 0.0, b, high);
        // The bracket is closed: an exact root is one of its ends.
        const R newton = b - f / smaller(slope, R(-1e-300));
        const auto sound = newton >= low && newton <= high;
        const R middle = select(low > 0.0, sqrt(fabs(low * high)), R(0.5 * (low + high)));
        const R next = select(sound, newton, middle);
        const R moved = fabs(next - b);
        b = select(open, next, b);
        // Newton's step after one of e b is of e^2 b at most, where b is in (0, 1/2]: |k b/(1 + b k)| < 1 there
        const R enough = select(sound && b > 0.0 && b < 0.6, R(1e-8), R(1e-14));
        open = open && moved > enough * fabs(b) && fabs(f) > 1e-15 * terms;
        if (everywhere(!open)) break;
    }

    set_amounts(m, z, ratio, b, for_liquid, ask, s);
}

// The same where beta is nearly known and in (0, 1): Newton's method without a bracket. enough: relative step that is
// the last, which leaves its square. The points of `ask` that need the bracket
template <class M, class R>
POINT_FN MaskOf<R> rachford_rice_nearby(const M &m, const R *z, const R *K, const MaskOf<R> ask, const double enough,
                                        TwoPhases<M, R> &s) {
    constexpr int NS = M::NS;
    R ratio[NS];
    const auto for_liquid = s.rest < s.beta;
    FOR_SPECIES (i, NS) ratio[i] = select(for_liquid, inverse(K[i]), K[i]);

    R b = select(for_liquid, s.rest, s.beta);
    auto open = ask;
    UNROLL_BY(1)
    for (int step = 0; step < NEARBY_STEPS && any_of(open); ++step) {
        R f = R(0.0), slope = R(1e-300);
        FOR_SPECIES (i, NS) {
            const R k = ratio[i] - 1.0;
            const R d = k * inverse(R(1.0 + b * k));
            const R term = z[i] * d;
            f += term;
            slope += term * d;
        }
        const R change = f * inverse(slope);
        b = select(open, R(b + change), b);
        open = open && !(b > 0.0 && b < 0.6 && fabs(change) < enough * b);
    }
    set_amounts(m, z, ratio, b, for_liquid, ask && !open, s);
    return open;
}

// Where Rachford & Rice's beta is outside (0, 1) though the feed is unstable: beta goes a part of the way to that end,
// and x, y are normalised. The points that were moved.
template <class M, class R>
POINT_FN MaskOf<R> keep_inside(const M &, const R *z, const R *K, const R beta_before, const R rest_before,
                               TwoPhases<M, R> &s) {
    constexpr int NS = M::NS;
    const auto too_low = s.beta < 0.0;
    const auto too_high = s.rest < 0.0;
    const auto out = too_low || too_high;
    if (any_of(out)) {
        const R beta = select(too_low, R(0.3 * beta_before), R(1.0 - 0.3 * rest_before));
        const R rest = select(too_low, R(1.0 - 0.3 * beta_before), R(0.3 * rest_before));
        R x[NS], y[NS], sum_x = R(0.0), sum_y = R(0.0);
        FOR_SPECIES (i, NS) {
            x[i] = z[i] / (rest + beta * K[i]);
            y[i] = K[i] * x[i];
            sum_x += x[i];
            sum_y += y[i];
        }
        s.beta = select(out, beta, s.beta);
        s.rest = select(out, rest, s.rest);
        FOR_SPECIES (i, NS) {
            s.x[i] = select(out, R(x[i] / sum_x), s.x[i]);
            s.y[i] = select(out, R(y[i] / sum_y), s.y[i]);
        }
    }
    return out;
}

// Where the matrix is not positive definite: how much longer the step becomes, up to which largest one
constexpr double STRETCH = 10.0, LEAVES = 0.3;
constexpr double SADDLE = 1e-2; // residual below which it is taken at once: substitution stays at a saddle

// Newton's step in ln K from the residual g, in place of -g where `want` and the matrix is positive definite, or `any`:
//   s_i^2 = z_i K_i/(rest + beta K_i)^2,  C = rest Phi^v + beta Phi^l,
//   step + (C - 1) s^2 y = -g,  step = y - sum s_i^2 y_i
template <class M, class R>
POINT_FN MaskOf<R> split_step(const M &m, const Attraction<M, R> &at, const TwoPhases<M, R> &s,
                              const Weights<M, R> &weight, const Phase<M, R> &v, const Phase<M, R> &l, const R *g,
                              const MaskOf<R> want, const MaskOf<R> any, R *step) {
    constexpr int NS = M::NS;
    AmountSystem<M, R> system;
    system.weight = weight;
    R residual[NS], y[NS], sum = R(0.0), longest = R(0.0);
    FOR_SPECIES (k, NS) residual[k] = -g[k];
    amounts_of_two<true>(m, at, v, s.rest, l, s.beta, system);
    factorise_amounts(m, at, system);
    solve_amounts(m, at, system, residual, y);

    FOR_SPECIES (k, NS) sum += weight[k] * y[k];
    FOR_SPECIES (k, NS) {
        y[k] -= sum;
        longest = larger(fabs(y[k]), longest);
    }
    const auto good = system.definite;
    const auto taken = want && (good || any);
    const R longer = larger(R(1.0), smaller(R(STRETCH), R(LEAVES / at_least(longest, 1e-300))));
    const R stretch = select(good, R(1.0), longer);
    FOR_SPECIES (k, NS) step[k] = select(taken, within(R(stretch * y[k]), 2.0), step[k]);
    return good && want;
}

struct Effort {
    int most;  // steps
    int plain; // of these by substitution at the start
    int bold;  // step from which Newton's method takes residuals up to SWINGS
};

// Equal fugacities from s.ln_K and s.beta, for the points of `ask`: those found, into two phases that differ. lean: of
// the phase y of a feed that is known to be unstable (equation.h), while residuals are large; x is a liquid then, and
// beta is kept in (0, 1).
template <class M, class R, class Lean>
PART_FN MaskOf<R> split(const M &m, Feed<M, R> &feed, const MaskOf<R> ask, const Effort effort, const Lean lean,
                        TwoPhases<M, R> &s) {
    constexpr int NS = M::NS;
    constexpr bool is_unstable = !is_absent<Lean>;
    // Steps in which beta is kept inside; from which raised pivots are taken, and substitution is damped: it swings
    // where the liquid attracts a gas strongly.
    constexpr int FREE = 20, RAISED = 6, DAMPED = 8;
    auto open = ask;
    auto found = nowhere<R>();
    auto was_outside = nowhere<R>();
    R K[NS], root_K[NS], root_z[NS], inv_root_z[NS];
    R step_before = R(0.0), size_before = R(1e9); // the step of Newton's method, the largest residual
    FOR_SPECIES (k, NS) {
        root_z[k] = larger(R(sqrt(feed.z[k])), R(LEAST_ROOT));
        inv_root_z[k] = inverse(root_z[k]);
        s.x[k] = select(ask, feed.z[k], s.x[k]);
        s.y[k] = select(ask, feed.z[k], s.y[k]);
    }

    const auto share = [&](const MaskOf<R> where, const double enough) {
        auto rest = where;
        if constexpr (!is_unstable) rest = rachford_rice_nearby(m, feed.z, K, where, enough, s);
        if (any_of(rest)) rachford_rice(m, feed.z, K, rest, s);
    };

    UNROLL_BY(1)
    for (int count = 0; count < effort.most; ++count) {
        // Compositions of this K
        const R beta_before = s.beta;
        const R rest_before = s.rest;
        R far = R(0.0);
        FOR_SPECIES (k, NS) {
            root_K[k] = exp(0.5 * within(s.ln_K[k], 200.0));
            K[k] = root_K[k] * root_K[k];
            far = larger(select(feed.z[k] > ABSENT, R(fabs(s.ln_K[k])), R(0.0)), far);
        }
        share(open, ON_THE_WAY);
        auto moved = nowhere<R>();
        if constexpr (is_unstable) {
            if (count < FREE) moved = keep_inside(m, feed.z, K, beta_before, rest_before, s) && open;
        } else {
            // Outside twice: no longer two phases. Newton's method ends there, as its matrix is not positive definite.
            // Of a nearly pure species beta says nothing: K is 1 where it boils.
            const auto is_outside = (s.beta < 0.0 || s.rest < 0.0) && far > DISTINCT;
            open = open && !(is_outside && was_outside);
            was_outside = is_outside;
            if (everywhere(!open)) break;
        }

        // Fugacities
        R of_v[NS], of_l[NS], g[NS], step[NS], size = R(0.0), all = R(0.0);
        Phase<M, R> v, l;
        auto leans = nowhere<R>();
        if constexpr (is_unstable) {
            if (count < DAMPED) leans = size_before >= LEANS;
            phase_at_pressure(m, feed.at, feed.p, s.x, l, of_l, select(leans, R(LEAN), R(0.0)));
            phase_at_pressure(m, feed.at, feed.p, s.y, v, of_v, select(leans, lean, R(0.0)));
        } else {
            phase_at_pressure(m, feed.at, feed.p, s.x, l, of_l);
            phase_at_pressure(m, feed.at, feed.p, s.y, v, of_v);
        }
        feed.steps += 2.0 * counted_in<R>(open);
        FOR_SPECIES (k, NS) {
            g[k] = s.ln_K[k] + of_v[k] - of_l[k];
            const auto there = feed.z[k] > ABSENT;
            size = larger(select(there, R(fabs(g[k])), R(0.0)), size);
            all += fabs(g[k]);
        }
        const auto lost = far < SAME_PHASE || !(all < 1e300); // NaN in any of them is NaN in the sum
        open = open && !lost;
        if (everywhere(!open)) break;

        // Step
        const auto swings = size >= 1.0 && size > 0.5 * size_before;
        const double slow = count < 3 * DAMPED ? 0.4 : 0.15;
        const R part = count < DAMPED ? select(swings, R(0.4), R(1.0)) : R(slow);
        FOR_SPECIES (k, NS) step[k] = -(part * g[k]);
        auto newton = nowhere<R>();
        const auto want = open && !moved && size < (count < effort.bold ? 1.0 : SWINGS);
        Weights<M, R> weight;
        FOR_SPECIES (k, NS) {
            const R shared = s.rest + s.beta * K[k];
            const R both = inverse(R(root_K[k] * shared));
            weight.set(k, R(root_z[k] * K[k] * both), R(inv_root_z[k] * shared * shared * both));
        }
        const auto any = count >= RAISED ? want : want && size < SADDLE;
        if (count >= effort.plain && any_of(want)) newton = split_step(m, feed.at, s, weight, v, l, g, want, any, step);
        R most = R(0.0);
        FOR_SPECIES (k, NS) {
            most = larger(select(feed.z[k] > ABSENT, R(fabs(step[k])), R(0.0)), most);
            s.ln_K[k] = select(open, R(s.ln_K[k] + step[k]), s.ln_K[k]);
        }
        const auto settled = newton && (size < NEAR || is_last_step(most, step_before, R(PRECISE)));
        const auto last = open && !moved && !leans && (size < FLAT || settled);
        size_before = size;
        if (any_of(last)) {
            s.V_x = select(last, l.V, s.V_x);
            s.V_y = select(last, v.V, s.V_y);
            FOR_SPECIES (k, NS) s.ln_phi[k] = select(last, of_l[k], s.ln_phi[k]);
        }
        step_before = select(newton, most, R(0.0));
        found = found || last;
        open = open && !last;
        if (everywhere(!open)) break;
    }

    // Compositions of the last K
    FOR_SPECIES (k, NS) K[k] = exp(within(s.ln_K[k], 200.0));
    share(found, AT_THE_END);
    return found;
}

// ln K of a trial and of what is left of the feed without half as much of the trial as there can be, for sign = 1 where
// the trial is the phase y
template <class M, class R>
POINT_FN void start_beside(const M &, const Feed<M, R> &feed, const R *ln_W, const R sign, R *ln_K) {
    constexpr int NS = M::NS;
    R w[NS], top = R(-1e300), sum = R(0.0), most = R(1.0);
    FOR_SPECIES (k, NS) top = larger(ln_W[k], top);
    FOR_SPECIES (k, NS) {
        w[k] = exp(at_least(R(ln_W[k] - top), -700.0));
        sum += w[k];
    }
    FOR_SPECIES (k, NS) {
        w[k] = w[k] / sum;
        most = select(w[k] > 1e-100, smaller(most, R(feed.z[k] / w[k])), most);
    }
    const R part = 0.5 * most;
    FOR_SPECIES (k, NS) {
        const R left = (feed.z[k] - part * w[k]) / (1.0 - part);
        ln_K[k] = sign * (log(at_least(w[k], LEAST_AMOUNT)) - log(at_least(left, LEAST_AMOUNT)));
    }
}

// Takes as much of a trial's phase from one mole z as leaves 1 mole of W in the place of its sum to the power `part`.
// The trial becomes mole fractions.
template <class M, class R> POINT_FN void take_away(const M &, const double part, R *ln_W, R *z) {
    R w[M::NS], sum = R(0.0), most = R(1.0), total = R(0.0);
    FOR_SPECIES (k, M::NS) {
        w[k] = exp(within(ln_W[k], 300.0));
        sum += w[k];
    }
    FOR_SPECIES (k, M::NS) {
        w[k] = w[k] / sum;
        most = select(w[k] > 1e-100, smaller(most, R(z[k] / w[k])), most);
    }
    const R kept = at_most(exp(-part * log(sum)), 1.0);
    FOR_SPECIES (k, M::NS) {
        const R share = at_most(w[k] * most / at_least(z[k], LEAST_AMOUNT), 1.0);
        z[k] = z[k] * ((1.0 - share) + share * kept);
        total += z[k];
        ln_W[k] = log(at_least(w[k], LEAST_AMOUNT));
    }
    FOR_SPECIES (k, M::NS) z[k] = z[k] / total;
}

// ln K of a trial beside what is left of a feed that has next to nothing of a species which the trial's phase needs: W
// is up to 1e12 times z then, and tells nothing of what else that phase takes up, as dodecane does hydrogen. So nearly
// all of the phase is taken away, and the trial is made again.
template <class M, class R>
PHASE_PART void start_depleted(const M &m, Feed<M, R> &feed, const MaskOf<R> ask, Trial<M, R> &trial, R *ln_K) {
    constexpr double NEARLY_ALL = 0.9;
    Feed<M, R> left = feed;
    Phase<M, R> f;
    R ln_phi[M::NS];
    take_away(m, NEARLY_ALL, trial.ln_W, left.z);
    phase_at_pressure(m, left.at, left.p, left.z, f, ln_phi);
    tangent_plane_of(m, f.V, ln_phi, left);
    minimise_later(m, left, ask, Aim::STATIONARY, trial, R(LEAN));
    feed.steps = left.steps;

    take_away(m, 1.0, trial.ln_W, left.z);
    FOR_SPECIES (k, M::NS) ln_K[k] = trial.ln_W[k] - log(at_least(left.z[k], LEAST_AMOUNT));
}

// The two phases of an unstable feed, from the trials of its test. One start after the other, each for the points that
// the starts before did not lead to 0 < beta < 1: the best trial; as much of it at its stationary point as there is;
// that beside what is left of the feed; the vapour-like and the liquid-like trial at their stationary points; both of
// these together; Wilson's K; trials that are rich in one species, at their stationary points. attempts: how many of
// these. The points of `ask` that were found.
template <class M, class R>
PHASE_PART MaskOf<R> split_unstable(const M &m, Feed<M, R> &feed, const MaskOf<R> ask, const Verdict<M, R> &verdict,
                                    TwoPhases<M, R> &s, const int attempts = ALL_TRIALS) {
    constexpr int NS = M::NS;
    enum { BEST, BEST_AT_END, DEPLETED, VAPOUR_AT_END, LIQUID_AT_END, BOTH, WILSON, RICH };
    auto todo = ask;
    auto found = nowhere<R>();
    R critical = R(0.0);
    FOR_SPECIES (k, NS) critical += feed.z[k] * (m.phase_b[k] * m.phase_critical[0]);
    const R of_feed = select(feed.V > critical, R(-LEAN), R(LEAN));
    UNROLL_BY(1)
    for (int attempt = 0; attempt < RICH + NS && attempt < attempts; ++attempt) {
        R ln_K[NS];
        if (attempt == WILSON) wilson(m, feed, ln_K);
        else if (attempt == BOTH) {
            FOR_SPECIES (k, NS) ln_K[k] = within(R(verdict.ln_W[0][k] - verdict.ln_W[1][k]), 40.0);
        } else {
            const int row = attempt == VAPOUR_AT_END ? 0 : attempt == LIQUID_AT_END ? 1 : 2;
            Trial<M, R> trial;
            trial.tm = R(1.0);
            FOR_SPECIES (k, NS) {
                const R rich = R(k == attempt - RICH ? 0.0 : m.phase_ln_rest[0]);
                trial.ln_W[k] = attempt >= RICH ? rich : verdict.ln_W[row][k];
            }
            const R like = R(attempt == VAPOUR_AT_END ? 1.0 : 0.0);
            const R is_vapour = row == 2 && attempt < RICH ? verdict.is_vapour : like;
            const R sign = 2.0 * is_vapour - 1.0;
            const R root = select(is_vapour > 0.5, R(0.0), R(LEAN));
            if (attempt != BEST) minimise_later(m, feed, todo, Aim::STATIONARY, trial, root);
            FOR_SPECIES (k, NS) ln_K[k] = sign * (trial.ln_W[k] - feed.ln_z[k]);
            if (attempt == BEST_AT_END) start_beside(m, feed, trial.ln_W, sign, ln_K);
            if (attempt == DEPLETED) {
                start_depleted(m, feed, todo, trial, ln_K);
                FOR_SPECIES (k, NS) ln_K[k] = sign * ln_K[k];
            }
        }

        FOR_SPECIES (k, NS) s.ln_K[k] = select(todo, ln_K[k], s.ln_K[k]);
        s.beta = select(todo, R(0.5), s.beta);
        s.rest = select(todo, R(0.5), s.rest);
        const Effort effort = attempt == BEST       ? Effort{40, 1, 4}
                              : attempt <= DEPLETED ? Effort{80, 0, 0}
                                                    : Effort{80, 5, 7};
        R lean = of_feed; // beside a trial liquid
        if (attempt <= DEPLETED) lean = select(verdict.is_vapour > 0.5, R(-LEAN), of_feed);
        else if (attempt != LIQUID_AT_END && attempt < RICH) lean = R(-LEAN);
        const auto now = split(m, feed, todo, effort, lean, s) && s.beta > 0.0 && s.rest > 0.0;
        found = found || now;
        todo = todo && !now;
        if (attempt == BEST_AT_END) todo = todo && verdict.certain; // the others were close to the feed: one phase
        if (everywhere(!todo)) break;
    }
    return found;
}
