// Points of one phase that need no test of stability, or a short one. A point that carries its state keeps what its
// last test found, in place of ln kappa and eta of two phases:
//   STABLE .. RESTING: ln_kappa_k = z_k p of the test [Pa]
//   FOLLOWED: ln_kappa_k = ln W_k of the trial phase that was nearest to the plane; eta also counts the short tests
//   eta = KEPT mark + T of the test [K]
//
// 1. Where the mixture is stable, and the same phase at four states around, it is stable in the room between (as the
//    shadow region of Rasmussen et al. 2006, original not seen; the sizes are measured here). A point is tested anew
//    where it has left the room around its test.
// 2. A point that does not stay where it was follows its trial phase: Newton's method from the last W, in two or three
//    evaluations. The whole test comes where this is not clearly above the plane, where any K_i = W_i/z_i changes by
//    much, as that of a species which was not there before, and after a sum of changes.
#pragma once
#include "gas/phases/direct.h"

#ifdef POINTS_PUT_OFF // defined by packs.py and sorted.py
constexpr bool PUTS_OFF = true;
#else
constexpr bool PUTS_OFF = false;
#endif

constexpr double KEPT = 1e4; // more than any T; eta of two phases is far below
// Marks: stable there; stable around; stable around, and no trial phase but itself; the same, while no species comes
// that was next to nothing; stable there, but not around; stable there, to be tested around at the next call; from here
// on with a trial phase: short tests and changes since then add to the mark
enum { STABLE = 1, SETTLED, ALONE, SINGLE, NEAR_TWO_PHASES, RESTING, FOLLOWED };

// Changes of T, p, z_k within a room, relative; and those of z_k that are added
struct Room {
    double T, p, z, trace;
};
constexpr Room ROOM = {0.01, 0.03, 0.02, 1e-3};                 // the states around have as much more of each species
constexpr Room ROOM_ALONE = {0.01, 0.03, 0.02, 5e-3};           // where the feed is the only trial phase
constexpr Room ROOM_SINGLE = {0.015, 0.045, 0.09, 0.0};         // the same, without other species
constexpr double PROBE_T = 0.03, PROBE_p = 0.1, PROBE_z = 0.06; // of the states around
constexpr double PROBE_V = 1.25;   // ratio of volumes beyond which a state around is another phase
constexpr double PATIENCE = 0.125; // part of the room within which a point has to stay to have the states around tested

constexpr double CURVED = 0.7; // least curvature of the Gibbs energy of mixing, 1 of an ideal gas
constexpr double STIFF = 0.6;  // least -V^2 (dp/dV)/(RT) of a mole, 1 of an ideal gas, 0 at a critical point
constexpr double CURVED_SINGLE = 0.5, STIFF_SINGLE = 0.7; // the same of a single phase
constexpr double STEEP = 0.1; // and least residual of its trials, sqrt(W) |r|, on their way to the feed
constexpr double SLOW = 0.3;  // part of the room of a feed alone within which a point has to stay from test to test

constexpr int FOLLOW_MARKS = 16;      // of which a short test takes one, and one more for each FOLLOW_UNIT
constexpr double FOLLOW_UNIT = 0.05;  // of the largest change of ln K_i
constexpr double FOLLOW_T = 0.05;     // relative change of T since the whole test
constexpr double FOLLOW_ABOVE = 1e-2; // tm of the trial below which the whole test decides

// Marks of points that are put off, eta = KEPT mark + evaluations so far. A test is due: they were two phases; tested
// before; tested before, and of nearly the same T still; they are two phases that another may be below, and eta keeps
// their start as a part of an evaluation. The test has found a trial phase, ln_kappa_k = ln W_k: for the
// liquid; for the vapour; none, but the point is not one phase.
enum { WAS_TWO = FOLLOWED + FOLLOW_MARKS, WAS_TESTED, WAS_SLOW, DOUBTED, HAS_LIQUID, HAS_VAPOUR, HAS_NONE };
constexpr double LARGEST_ETA = 60.0, SPAN_OF_ETA = 128.0; // of a start that is kept so

// What a point that carries eta is likely to need: nothing, a short test, two phases, which are quick; tests around, a
// whole test. Equal effort side by side: whole tests by the temperature of the last, two phases by eta, since little of
// a phase takes more steps.
constexpr int TEST_KINDS = 8, TWO_KINDS = 10;
constexpr double KIND_T = 16.0; // K
enum { NOTHING, SHORT_TEST, TWO_PHASES, TESTS_AROUND = TWO_PHASES + TWO_KINDS, WHOLE_TEST };
constexpr int QUICK_KINDS_OF_ETA = TESTS_AROUND;
constexpr int KINDS_OF_ETA = WHOLE_TEST + TEST_KINDS;

// Lists of points that are put off: a test is due; it has been
enum { DUE, TESTED, LISTS_OF_ETA };
POINT_FN int list_of_eta(const double eta) {
    const int on = eta >= KEPT * HAS_LIQUID ? TESTED : DUE;
    return eta >= KEPT * WAS_TWO ? on : -1;
}

POINT_FN int kind_of_eta(const double eta) {
    // Without branches, so that vectors serve
    const int whole = WHOLE_TEST + int(eta >= KEPT ? eta * (1.0 / KIND_T) : 0.0) % TEST_KINDS;
    const double place = eta + 0.5 * TWO_KINDS > 0.0 ? eta + 0.5 * TWO_KINDS : 0.0;
    const int two = TWO_PHASES + int(place < TWO_KINDS - 0.5 ? place : TWO_KINDS - 0.5);
    int kind = eta >= KEPT * SETTLED ? NOTHING : whole;
    kind = eta >= KEPT * NEAR_TWO_PHASES ? whole : kind;
    kind = eta >= KEPT * RESTING ? TESTS_AROUND : kind;
    kind = eta >= KEPT * FOLLOWED ? SHORT_TEST : kind;
    kind = eta >= KEPT * WAS_TWO ? whole : kind;
    const int other = fabs(eta) > 0.0 ? two : WHOLE_TEST; // NaN, too, says nothing
    return eta >= KEPT ? kind : other;
}

// Nothing is kept
template <class M, class R> POINT_FN void forget(const MaskOf<R> mask, State<M, R> &s) {
    s.eta = select(mask, R(0.0), s.eta);
    FOR_SPECIES (k, M::NS) s.ln_kappa[k] = select(mask, R(0.0), s.ln_kappa[k]);
}

// T of the last whole test
template <class M, class R> POINT_FN R tested_temperature(const State<M, R> &s) {
    return s.eta - KEPT * floor_small(s.eta * (1.0 / KEPT));
}

template <class M, class R> POINT_FN MaskOf<R> has_mark(const State<M, R> &s, const int mark) {
    return s.eta >= KEPT * mark && s.eta < KEPT * (mark + 1);
}

// Whether nothing is to be tested in the room
template <class M, class R> POINT_FN MaskOf<R> is_marked_settled(const State<M, R> &s) {
    return s.eta >= KEPT * SETTLED && s.eta < KEPT * NEAR_TWO_PHASES;
}

// Whether T, p, z lie in a room, or a part of it, around the state of the point's last test
template <class M, class R>
POINT_FN MaskOf<R> is_in_room(const M &, const R *z, const R T, const R p, const double part, const Room &room,
                              const State<M, R> &s) {
    auto inside = s.eta >= KEPT && s.eta < (RESTING + 1) * KEPT;
    R tested_p = R(0.0);
    FOR_SPECIES (k, M::NS) tested_p += s.ln_kappa[k];
    const R tested_T = tested_temperature(s);
    const R trace = room.trace * tested_p;
    inside = inside && fabs(T - tested_T) <= (part * room.T) * tested_T;
    inside = inside && fabs(p - tested_p) <= (part * room.p) * tested_p;
    FOR_SPECIES (k, M::NS) {
        const R now = z[k] * tested_p;
        const R tested = s.ln_kappa[k];
        inside = inside && fabs(now - tested) <= part * (room.z * tested + trace);
    }
    return inside;
}

// Whether the point is settled still
template <class M, class R>
POINT_FN MaskOf<R> is_settled(const M &m, const R *z, const R T, const R p, const State<M, R> &s) {
    const auto marked = is_marked_settled(s);
    if (!any_of(marked)) return marked;
    const auto rests = [&](const MaskOf<R> has_room, const Room &room) {
        return has_room && is_in_room(m, z, T, p, 1.0, room, s);
    };
    const auto alone = has_mark(s, ALONE);
    const auto single = has_mark(s, SINGLE);
    auto inside = rests(marked && !alone && !single, ROOM);
    if (any_of(alone)) inside = inside || rests(alone, ROOM_ALONE);
    if (any_of(single)) inside = inside || rests(single, ROOM_SINGLE);
    return inside;
}

// Whether the last test followed a trial phase; whether that began at nearly this T
template <class M, class R> POINT_FN MaskOf<R> is_follower(const State<M, R> &s) {
    return s.eta >= KEPT * FOLLOWED && s.eta < KEPT * WAS_TWO;
}

template <class M, class R> POINT_FN MaskOf<R> is_slow_follower(const State<M, R> &s, const R T) {
    const auto near = fabs(tested_temperature(s) - T) < (PATIENCE * ROOM.T) * T;
    return (is_follower(s) && near) || has_mark(s, WAS_SLOW);
}

template <class M, class R> POINT_FN MaskOf<R> is_put_off_with_trial(const State<M, R> &s) {
    return s.eta >= KEPT * HAS_LIQUID;
}

// Evaluations of a point before it was put off
template <class M, class R> POINT_FN R steps_before(const State<M, R> &s) {
    const R mark = floor_small(s.eta * (1.0 / KEPT));
    return select(s.eta >= KEPT * WAS_TWO, floor_small(R(s.eta - KEPT * mark)), R(0.0));
}

// Marks the points of `where`, of two phases: another phase may be below
template <class M, class R> POINT_FN void doubt(const MaskOf<R> where, State<M, R> &s) {
    const R part = 0.5 + within(s.eta, LARGEST_ETA) * (1.0 / SPAN_OF_ETA);
    s.eta = select(where, R(KEPT * DOUBTED + part), s.eta);
}

// eta of such a start
template <class M, class R> POINT_FN void recall_start(State<M, R> &s) {
    const R part = s.eta - floor_small(s.eta);
    s.eta = select(has_mark(s, DOUBTED), R(SPAN_OF_ETA * (part - 0.5)), s.eta);
}

// Puts off the points of `where` that need more than their kind: a pack would wait for each of them. Where points are
// sorted by kind (packs.h), they are worked on side by side when the others are done. T: as one phase, where it is
// known.
template <class M, class R> POINT_FN MaskOf<R> put_off(const MaskOf<R> where, const R T, State<M, R> &s) {
    if (!PUTS_OFF || !s.carried || !any_of(where)) return nowhere<R>();
    const auto two = s.eta < KEPT && fabs(s.eta) > 0.0;
    const auto settled = is_marked_settled(s);
    const auto follows = is_follower(s);
    const auto doubted = has_mark(s, DOUBTED);
    auto late = where && (two || settled || follows);
    const R mark =
        select(two, R(double(WAS_TWO)), select(is_slow_follower(s, T), R(double(WAS_SLOW)), R(double(WAS_TESTED))));
    s.eta = select(late, R(KEPT * mark), s.eta);
    if constexpr (IS_QUICK_PASS<M>) late = late || (where && doubted);
    s.late = s.late || late;
    return late;
}

// Puts off the points of `where` that the test has found not to be one phase, with their trial phases
template <class M, class R>
POINT_FN MaskOf<R> put_off_with_trial(const MaskOf<R> where, const Verdict<M, R> &verdict, State<M, R> &s) {
    if (!PUTS_OFF || !s.carried || !any_of(where)) return nowhere<R>();
    const auto late = where && !is_put_off_with_trial(s);
    const R mark = select(verdict.is_vapour > 0.5, R(double(HAS_VAPOUR)), R(double(HAS_LIQUID)));
    s.eta = select(late, R(KEPT * select(verdict.unstable, mark, R(double(HAS_NONE)))), s.eta);
    FOR_SPECIES (k, M::NS) s.ln_kappa[k] = select(late, verdict.ln_W[2][k], s.ln_kappa[k]);
    s.late = s.late || late;
    return late;
}

// What the test of such a point had found
template <class M, class R> POINT_FN void recall_trial(const State<M, R> &s, Verdict<M, R> &verdict) {
    const auto known = is_put_off_with_trial(s);
    const auto unstable = known && !has_mark(s, HAS_NONE);
    verdict.unstable = verdict.unstable || unstable;
    verdict.is_vapour = select(known, select(has_mark(s, HAS_VAPOUR), R(1.0), R(0.0)), verdict.is_vapour);
    FOR_SPECIES (k, M::NS) verdict.ln_W[2][k] = select(known, s.ln_kappa[k], verdict.ln_W[2][k]);
}

// The points of `where` settle at T, p, z: the room begins around it
template <class M, class R>
POINT_FN void settle(const MaskOf<R> where, const R *z, const R T, const R p, State<M, R> &s) {
    if (!any_of(where)) return;
    s.eta = select(where, R(KEPT * SETTLED + T), s.eta);
    FOR_SPECIES (k, M::NS) s.ln_kappa[k] = select(where, R(z[k] * p), s.ln_kappa[k]);
}

// A state beside a feed: warmer and richer in the light species (warm = 1) or the other way (-1), at higher pressure
// (high = 1) or lower (-1), with as much more of each species
struct Beside {
    double warm, high, trace;
};

// Whether the mixture is the same phase at a state beside, and stable: what the test there found is in `verdict`
template <class M, class R>
PHASE_PART MaskOf<R> is_stable_beside(const M &m, const Feed<M, R> &feed, const Beside &there, const MaskOf<R> ask,
                                      R &steps, Verdict<M, R> &verdict) {
    constexpr int NS = M::NS;
    R ln_K[NS], mean = R(0.0), sum = R(0.0), ln_phi[NS];
    wilson(m, feed, ln_K);
    FOR_SPECIES (k, NS) mean += feed.z[k] * ln_K[k];

    Feed<M, R> beside;
    attraction_at(m, R(feed.at.T * (1.0 + there.warm * PROBE_T)), beside.at);
    beside.p = feed.p * (1.0 + there.high * PROBE_p);
    beside.steps = counted_in<R>(ask);
    FOR_SPECIES (k, NS) {
        beside.z[k] = feed.z[k] * (1.0 + there.warm * select(ln_K[k] > mean, R(PROBE_z), R(-PROBE_z))) + there.trace;
        sum += beside.z[k];
    }
    FOR_SPECIES (k, NS) beside.z[k] = beside.z[k] / sum;

    Phase<M, R> whole;
    phase_at_pressure(m, beside.at, beside.p, beside.z, whole, ln_phi);
    tangent_plane_of(m, whole.V, ln_phi, beside);
    const auto same = whole.V < feed.V * PROBE_V && whole.V * PROBE_V > feed.V;
    test_stability(m, beside, ask && same, verdict);
    steps += beside.steps;
    return same && !verdict.unstable;
}

// Whether no other phase is near a feed of which all trials ended as the feed itself (as the limits of Rasmussen et al.
// 2006, original not seen; the sizes are measured here):
//   the cubic has no second root in a wide room around, as for a nearly pure liquid that is about to boil;
//   no critical point is near: the isotherm is not flat, nor is the Gibbs energy of mixing, of which the least
//   eigenvalue of I + S Phi S is above CURVED; with more of each species the trials end alike.
// Of 570 000 random states at corners of such rooms none had two phases.
// Without that room for more, of a gas: where the trials were nowhere nearly stationary on their way to the feed. Of
// 1.5 million random states at corners of such rooms none had two phases, nor of those 1.25 times as far away.
template <class M, class R>
PHASE_PART MaskOf<R> is_alone(const M &m, const Feed<M, R> &feed, const MaskOf<R> ask, const MaskOf<R> with_more,
                              R &steps) {
    constexpr int NS = M::NS;
    Phase<M, R> whole;
    R ln_phi[NS];
    phase_at_pressure(m, feed.at, feed.p, feed.z, whole, ln_phi);
    steps += counted_in<R>(ask);

    // Roots in the room
    const auto eos = shape(m, delta_of(m, whole));
    const R ideal = feed.p * feed.at.inv_RT;
    const R B = whole.B * ideal;
    const R pull = whole.D / whole.B * feed.at.inv_RT; // A/B
    auto alone = ask;
    R here = 0.7 * B; // to 1.4 B
    for (int i = 0; i < 5; ++i, here = 1.19 * here) {
        for (int k = 0; k < 2; ++k) {
            R c2, c1, c0;
            cubic_coefficients(eos, R(pull * here * (k ? 1.07 : 0.93)), here, c2, c1, c0);
            alone = alone && !(c2 < 0.0 && c1 > 0.0 && cubic_discriminant(c2, c1, c0) >= 0.0);
        }
    }
    alone = alone && whole.V * whole.V * whole.P_V < -select(with_more, R(STIFF), R(STIFF_SINGLE));
    if (!any_of(alone)) return alone;

    // The least eigenvalue
    AmountSystem<M, R> system;
    FOR_SPECIES (k, NS) {
        const R root = larger(R(sqrt(feed.z[k])), R(LEAST_ROOT));
        system.weight.set(k, root, inverse(root));
    }
    const R share = select(with_more, R(1.0 / (1.0 - CURVED)), R(1.0 / (1.0 - CURVED_SINGLE)));
    amounts_of_one(m, feed.at, whole, share, system);
    factorise_amounts(m, feed.at, system);
    alone = alone && system.definite;
    const auto look = alone && with_more;
    if (!any_of(look)) return alone;

    Verdict<M, R> of_more;
    const auto same = is_stable_beside(m, feed, {0.0, 0.0, ROOM_ALONE.trace}, look, steps, of_more);
    return alone && (!with_more || (same && of_more.alone));
}

// Whether a feed is a gas beyond the density next to critical points. A fluid that is denser may dissolve next to
// nothing of a species, and less at once where it becomes thinner.
template <class M, class R> POINT_FN MaskOf<R> is_gas(const M &m, const Feed<M, R> &feed) {
    R critical = R(0.0); // volume
    FOR_SPECIES (k, M::NS) critical += feed.z[k] * (m.phase_b[k] * m.phase_critical[0]);
    return feed.V > NEAR_DEW * critical;
}

// Whether a point has left its last test by little: it may stay in the room of a feed alone for some calls
template <class M, class R> POINT_FN MaskOf<R> is_slow(const M &m, const Feed<M, R> &feed, const State<M, R> &s) {
    const auto was_alone = has_mark(s, ALONE);
    const auto within_part = [&](const double part) {
        return is_in_room(m, feed.z, feed.at.T, feed.p, part, ROOM_ALONE, s);
    };
    return (!was_alone && within_part(SLOW)) || (was_alone && within_part(1.0 + SLOW));
}

// What the points of `tested` keep: those of `stable` have passed the whole test at the feed. The states around are
// tested where the point has stayed in the room of the tests before: a point that moves on soon gains nothing, and
// follows its trial phase. That is done a call later, when such points are side by side.
template <class M, class R>
PHASE_PART void keep_test(const M &m, const Feed<M, R> &feed, const MaskOf<R> tested, const MaskOf<R> stable,
                          const Verdict<M, R> &verdict, State<M, R> &s) {
    if (!s.carried) return forget(tested, s);
    forget(tested && !stable, s);
    const auto near = stable && has_mark(s, NEAR_TWO_PHASES) && is_in_room(m, feed.z, feed.at.T, feed.p, 1.0, ROOM, s);
    const auto there = stable && is_in_room(m, feed.z, feed.at.T, feed.p, PATIENCE, ROOM, s);
    const auto stays = there && has_mark(s, STABLE);
    const auto rests = there && has_mark(s, RESTING);
    auto settled = stable && is_plainly_hot(m, feed.at.T, feed.p);
    const auto ask = rests && !settled;
    if (any_of(ask)) {
        auto around = ask;
        UNROLL_BY(1)
        for (int corner = 0; corner < 4; ++corner) {
            const double warm = corner & 1 ? 1.0 : -1.0;
            const double high = corner & 2 ? warm : -warm; // boiling, condensing first
            Verdict<M, R> of_corner;
            around = around && is_stable_beside(m, feed, {warm, high, ROOM.trace}, around, s.steps, of_corner);
        }
        settled = settled || around;
    }

    // A feed that is its only trial phase: with room for more of each species, of a point that will not leave it at
    // once
    auto alone = stable && verdict.alone && !settled && !near;
    auto with_more = alone;
    if (any_of(alone)) {
        with_more = alone && is_slow(m, feed, s);
        alone = with_more || (alone && verdict.least > STEEP && is_gas(m, feed));
    }
    if (any_of(alone)) alone = is_alone(m, feed, alone, with_more, s.steps);
    const auto not_alone = with_more && !alone && !stays;
    settled = settled || alone;

    // After some short tests a slow point may settle; the others follow on
    const auto was_tested = s.eta >= KEPT && !has_mark(s, WAS_TWO) && !has_mark(s, DOUBTED);
    const auto has_trial = stable && was_tested && verdict.shadow < NO_SHADOW;
    const auto follow = has_trial && !settled && !stays && !is_slow_follower(s, feed.at.T);
    R mark = select(stays, R(double(RESTING)), R(double(STABLE)));
    mark = select(near || ask || not_alone, R(double(NEAR_TWO_PHASES)), mark);
    mark = select(follow, R(double(FOLLOWED)), mark);
    mark = select(settled, R(double(SETTLED)), mark);
    mark = select(alone, select(with_more, R(double(ALONE)), R(double(SINGLE))), mark);
    const auto kept = stable && (!near || follow); // the room of a test that failed around stays where it is
    s.eta = select(kept, R(KEPT * mark + feed.at.T), s.eta);
    FOR_SPECIES (k, M::NS) {
        const R trial = verdict.ln_W[2][k];
        const R partial_p = feed.z[k] * feed.p;
        s.ln_kappa[k] = select(kept, select(follow, trial, partial_p), s.ln_kappa[k]);
    }
}

// The short test: the points of `ask` whose trial phase is clearly above the plane still. They keep it as it is now.
template <class M, class R>
PART_FN MaskOf<R> is_followed(const M &m, Feed<M, R> &feed, const MaskOf<R> ask, State<M, R> &s) {
    const auto now = ask && is_follower(s) && fabs(tested_temperature(s) - feed.at.T) < FOLLOW_T * feed.at.T;
    if (!any_of(now)) return now;

    Trial<M, R> trial;
    trial.tm = R(1.0);
    FOR_SPECIES (k, M::NS) trial.ln_W[k] = select(now, s.ln_kappa[k], feed.ln_z[k]);
    minimise_tangent_distance(m, feed, now, Aim::FOLLOW, trial);
    const R mark = floor_small(s.eta * (1.0 / KEPT)) + 1.0 + floor_small(at_most(trial.off, 1.0) * (1.0 / FOLLOW_UNIT));
    const auto passed =
        now && trial.apart && !trial.unstable && trial.tm > FOLLOW_ABOVE && mark < double(FOLLOWED + FOLLOW_MARKS);
    s.eta = select(passed, R(KEPT * mark + tested_temperature(s)), s.eta);
    FOR_SPECIES (k, M::NS) s.ln_kappa[k] = select(passed, trial.ln_W[k], s.ln_kappa[k]);
    return passed;
}
