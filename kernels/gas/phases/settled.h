// Points of one phase that need no test of stability. Where the mixture is stable, and the same phase at four states
// around, it is stable in the room between (as the shadow region of Rasmussen et al. 2006, original not seen; the sizes
// are measured here). A point that carries its state keeps the state of its last test, and is tested anew where it has
// left the room around it.
//
// What the point keeps, in place of ln kappa and eta of two phases:
//   ln_kappa_k = z_k p of the test [Pa],  eta = KEPT mark + T of the test [K]
#pragma once
#include "gas/phases/direct.h"

constexpr double KEPT = 1e4;                   // more than any T; eta of two phases is far below
enum { STABLE = 1, SETTLED, NEAR_TWO_PHASES }; // marks: stable there; stable around; stable there, but not around

constexpr double ROOM_T = 0.01, ROOM_p = 0.03, ROOM_z = 0.02;   // relative changes of T, p, z_k within the room
constexpr double PROBE_T = 0.03, PROBE_p = 0.1, PROBE_z = 0.06; // of the states around
constexpr double ROOM_TRACE = 1e-3; // and change of z_k: the states around have as much more of each species
constexpr double PROBE_V = 1.25;    // ratio of volumes beyond which a state around is another phase
constexpr double PATIENCE = 0.125; // part of the room within which a point has to stay to have the states around tested

// Nothing is kept
template <class M, class R> POINT_FN void forget(const MaskOf<R> mask, State<M, R> &s) {
    s.eta = select(mask, R(0.0), s.eta);
    FOR_SPECIES (k, M::NS) s.ln_kappa[k] = select(mask, R(0.0), s.ln_kappa[k]);
}

// Whether T, p, z lie in the room, or a part of it, around the state of the point's last test
template <class M, class R>
POINT_FN MaskOf<R> is_in_room(const M &, const R *z, const R T, const R p, const double part, const State<M, R> &s) {
    auto inside = s.eta >= KEPT && s.eta < (NEAR_TWO_PHASES + 1) * KEPT;
    R tested_p = R(0.0);
    FOR_SPECIES (k, M::NS) tested_p += s.ln_kappa[k];
    const R tested_T = s.eta - KEPT * floor_small(s.eta * (1.0 / KEPT)), trace = ROOM_TRACE * tested_p;
    inside = inside && fabs(T - tested_T) <= (part * ROOM_T) * tested_T;
    inside = inside && fabs(p - tested_p) <= (part * ROOM_p) * tested_p;
    FOR_SPECIES (k, M::NS) {
        const R now = z[k] * tested_p, tested = s.ln_kappa[k];
        inside = inside && fabs(now - tested) <= part * (ROOM_z * tested + trace);
    }
    return inside;
}

template <class M, class R> POINT_FN MaskOf<R> has_mark(const State<M, R> &s, const int mark) {
    return s.eta >= KEPT * mark && s.eta < KEPT * (mark + 1);
}

// Whether the mixture is stable, and the same phase, at a state that is warmer and richer in the light species (warm =
// 1) or the other way (-1), at higher pressure (high = 1) or lower (-1)
template <class M, class R>
PHASE_PART MaskOf<R> is_stable_beside(const M &m, const Feed<M, R> &feed, const double warm, const double high,
                                      const MaskOf<R> ask, R &steps) {
    constexpr int NS = M::NS;
    R ln_K[NS], mean = R(0.0), sum = R(0.0), ln_phi[NS];
    wilson(m, feed, ln_K);
    FOR_SPECIES (k, NS) mean += feed.z[k] * ln_K[k];

    Feed<M, R> beside;
    attraction_at(m, R(feed.at.T * (1.0 + warm * PROBE_T)), beside.at);
    beside.p = feed.p * (1.0 + high * PROBE_p);
    beside.steps = counted_in<R>(ask);
    FOR_SPECIES (k, NS) {
        beside.z[k] = feed.z[k] * (1.0 + warm * select(ln_K[k] > mean, R(PROBE_z), R(-PROBE_z))) + ROOM_TRACE;
        sum += beside.z[k];
    }
    FOR_SPECIES (k, NS) beside.z[k] = beside.z[k] / sum;

    Phase<M, R> whole;
    Verdict<M, R> verdict;
    phase_at_pressure(m, beside.at, beside.p, beside.z, whole, ln_phi);
    tangent_plane_of(m, whole.V, ln_phi, beside);
    const auto same = whole.V < feed.V * PROBE_V && whole.V * PROBE_V > feed.V;
    test_stability(m, beside, ask && same, verdict);
    steps += beside.steps;
    return same && !verdict.unstable;
}

// What the points of `tested` keep: those of `stable` have passed the test at the feed. The states around are tested
// where the point has stayed in the room of the test before: a point that moves on soon gains nothing.
template <class M, class R>
PHASE_PART void keep_test(const M &m, const Feed<M, R> &feed, const MaskOf<R> tested, const MaskOf<R> stable,
                          State<M, R> &s) {
    if (!s.carried) return forget(tested, s);
    forget(tested && !stable, s);
    const auto near = stable && has_mark(s, NEAR_TWO_PHASES) && is_in_room(m, feed.z, feed.at.T, feed.p, 1.0, s);
    const auto stays = stable && has_mark(s, STABLE) && is_in_room(m, feed.z, feed.at.T, feed.p, PATIENCE, s);
    auto settled = stable && feed.p < HOT_BELOW;
    FOR_SPECIES (k, M::NS) settled = settled && feed.at.T > m.phase_hot[k];
    const auto ask = stays && !settled;
    if (any_of(ask)) {
        auto around = ask;
        UNROLL_BY(1)
        for (int corner = 0; corner < 4; ++corner) {
            const double warm = corner & 1 ? 1.0 : -1.0, high = corner & 2 ? warm : -warm; // boiling, condensing first
            around = around && is_stable_beside(m, feed, warm, high, around, s.steps);
        }
        settled = settled || around;
    }
    const R mark =
        select(settled, R(double(SETTLED)), select(near || ask, R(double(NEAR_TWO_PHASES)), R(double(STABLE))));
    const auto kept = stable && !near; // the room of a test that failed around stays where it is
    s.eta = select(kept, R(KEPT * mark + feed.at.T), s.eta);
    FOR_SPECIES (k, M::NS) s.ln_kappa[k] = select(kept, R(feed.z[k] * feed.p), s.ln_kappa[k]);
}

template <class M, class R>
POINT_FN MaskOf<R> is_settled(const M &m, const R *z, const R T, const R p, const State<M, R> &s) {
    const auto marked = has_mark(s, SETTLED);
    if (!any_of(marked)) return marked;
    return marked && is_in_room(m, z, T, p, 1.0, s);
}
