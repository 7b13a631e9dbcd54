// The state of a point from e, T or p and rho: warm by `direct`, one phase, a trial phase, else in brackets.
#pragma once
#include "gas/phases/at_pressure.h"

constexpr int SHARE_STEPS = 2;      // to the amounts of a start
constexpr double LARGE_SHARE = 0.5; // step from which they are left as they are

// RT/(w - B) of one mole as one phase, a little more: the pressure is less. At most the highest that the equation has.
template <class M, class R> POINT_FN R most_pressure(const M &m, const R T, const R V, const R *z) {
    Attraction<M, R> at;
    Phase<M, R> f;
    attraction_at(m, T, at);
    phase_sums<false>(m, at, z, f);
    place_phase(m, V, f);
    return at_most(R(at.RT / f.free * 1.0000001), EquationOf<M>::HIGHEST);
}

// A search for T and p at a volume: T outside, unless it is held (U grows with T at constant V), p inside (V falls with
// p at constant T), both of the stable equilibrium
template <class M, class R> struct VolumeSearch {
    R V;                     // that is sought
    State<M, R> now;         // where the search is
    Bracket<R> in_T, in_p;   // in_p: at the present T
    R p_low, p_high;         // at the ends of in_T
    MaskOf<R> open;          // points that go on
    MaskOf<R> warm;          // whose next state may start from the two phases of the last
    MaskOf<R> from_nothing;  // but does not
    MaskOf<R> ends_in_three; // whose last T ended at a jump between states of which one has two phases
};

// What the state at T and p misses
template <class R> struct Missed {
    R V;              // ln(V/V_now)
    R U, size;        // energy less that at T and V; over C_v T
    R jump;           // share of the end of low p in V, where V jumps
    MaskOf<R> at_V;   // V is right
    MaskOf<R> shut;   // p is known, and V jumps there
    MaskOf<R> across; // V is between those at the ends of in_p, and U by the lever rule
    MaskOf<R> next_T; // nothing is left to be seen at this T
    R T_low, T_high;  // where next_T: T is no lower, or no higher
};

constexpr double LEAST_P = 1e-3; // Pa

// All of p at a T, for the points of `where`
template <class M, class R>
POINT_FN void open_pressures(const M &m, const R *z, const MaskOf<R> where, const R T, VolumeSearch<M, R> &o) {
    open_bracket(where, R(LEAST_P), most_pressure(m, T, o.V, z), o.in_p);
}

template <class M, class R>
POINT_FN void begin_search(const M &m, const R *z, const MaskOf<R> ask, const R V, const State<M, R> &start,
                           VolumeSearch<M, R> &o) {
    o.V = V;
    o.now = start;
    o.now.carried = false; // states on the way are not kept
    o.now.on_the_way = ask;
    o.now.T = select(start.T > T_LOWEST && start.T < M::T_end, start.T, R(T_PLAIN));
    o.open = ask && V > least_volume(m, o.now.T, z);
    o.warm = o.from_nothing = o.ends_in_three = nowhere<R>();

    o.p_low = o.p_high = R(1.0);
    begin_bracket(o.in_T);
    begin_bracket(o.in_p);
    open_bracket(ask, R(T_LOWEST), R(M::T_end), o.in_T);
    open_pressures(m, z, ask, o.now.T, o);
    o.now.p = select(start.p > LEAST_P && start.p < o.in_p.high, start.p, sqrt(R(1e3) * o.in_p.high));
}

// What the state misses, and whether its T is done with. At a jump of V by the lever rule: two states at the same T and
// p, each of one phase or of two, make one of two or of three.
//
// The sign of what U misses is known before V is right. The entropy of the lowest states is concave, so that those at
// the ends of in_p, with 1/T and p/T less than those that are sought by b and q, have (U - U_k) b + (V - V_k) q <= 0.
// Their mean with the weights of the lever rule is (U - U_jump) b <= share (1 - share) (V_low - V_high) (q_low -
// q_high).
template <Fixed FIXED, class M, class R>
POINT_FN Missed<R> missed_at_volume(const M &m, const R *z, const R energy, const Heat<M, R> &heat,
                                    VolumeSearch<M, R> &o) {
    constexpr bool ENERGY = FIXED == Fixed::U_V;
    constexpr double NEARLY = 0.01; // of what U misses: V is right enough for it
    constexpr double PART = 0.1;    // of what U misses, over C_v T, that a bound of T may be off
    Missed<R> miss;
    const auto &in_p = o.in_p;
    const R free = o.V - least_volume(m, o.now.T, z);
    miss.V = log(o.V / o.now.V);
    miss.at_V = o.open && fabs(miss.V) < 1e-10;
    miss.shut = in_p.high < in_p.low * (1.0 + 1e-10);

    miss.jump = (free - in_p.free_high) / (in_p.free_low - in_p.free_high);
    const auto jumps = in_p.seen_low && in_p.seen_high;
    const R U_jump = in_p.energy_high + miss.jump * (in_p.energy_low - in_p.energy_high);
    const R U = energy - (heat.U + heat.U_V * (o.V - o.now.V));
    const R heat_of_T = heat.C_v * o.now.T;

    const R right_enough = NEARLY * at_most(R(fabs(U) / heat_of_T), 0.3);
    const auto near_V = fabs(miss.V) < (ENERGY ? right_enough : R(-1.0));
    const R lever = energy - U_jump;
    const R work = miss.jump * (1.0 - miss.jump) * (in_p.free_low - in_p.free_high) * (in_p.high - in_p.low);
    const R off = work / fabs(lever);
    const R T_low = o.now.T / (1.0 + off);
    const R T_high = o.now.T / (1.0 - off);
    const R little = PART * (fabs(lever) / (ENERGY ? heat_of_T : R(1e300)));
    const auto narrows =
        select(lever > 0.0, T_low, o.in_T.high) > o.in_T.low && select(lever < 0.0, T_high, o.in_T.low) < o.in_T.high;
    const auto early = jumps && off < little && off < 0.5 && narrows;

    // Where V is larger than that of the least p, there is next to no vapour
    miss.next_T = o.open && (miss.at_V || miss.shut || near_V || early);
    miss.U = select(miss.at_V || near_V, U, select(jumps, lever, R(energy - heat.U)));
    const auto too_hot = in_p.low >= EquationOf<M>::HIGHEST; // no pressure of the equation makes V as small
    miss.U = select(too_hot, R(-1e300), miss.U);
    miss.U = select(heat.C_v < 0.0, R(TOO_COLD), miss.U);
    miss.size = fabs(miss.U / heat_of_T);
    const auto by_bound = early && !miss.at_V && !near_V && !miss.shut;
    miss.T_low = select(by_bound, T_low, o.now.T);
    miss.T_high = select(by_bound, T_high, o.now.T);
    miss.across = jumps && !miss.at_V && !near_V;
    return miss;
}

// Two phases nearby, or a jump of V that the lever rule crosses, by `direct`. Ends the points that it finds. Those
// whose two phases are refused: a third is below them, and they are not the lowest pair
template <Fixed FIXED, class M, class R>
POINT_FN MaskOf<R> try_direct(const M &m, const Given<M, R> &given, const MaskOf<R> two, const Missed<R> &miss,
                              VolumeSearch<M, R> &o, State<M, R> &s, R &status) {
    constexpr double NEARBY = 0.1; // of T: a start of `direct`
    const auto &in_p = o.in_p;
    auto lever = o.open && in_p.plain_low && in_p.plain_high && in_p.free_low > in_p.free_high;
    lever = lever && (miss.shut || (miss.next_T && miss.across && miss.size < NEARBY));
    auto nearby = o.open && two && fabs(miss.V) < 0.3;
    if (FIXED == Fixed::U_V) nearby = nearby && (miss.at_V || miss.size < NEARBY);
    if (!any_of(lever || nearby)) return nowhere<R>();

    State<M, R> from = o.now, jump = o.now;
    by_lever(m, given.z, within(miss.jump, 1.0), in_p.free_low, in_p.free_high, jump);
    take(lever, jump, from);
    from.V = o.V;
    const auto done = direct_later<FIXED>(m, given, lever || nearby, from) && from.p > 0.0;
    const auto ended = take_two_phases(m, given.z, done, from, s, status);
    o.now.steps = from.steps;
    o.open = o.open && !ended;
    return done && !ended;
}

// Takes a state at which nothing is missed, and ends its points. Those whose two phases are refused
template <Fixed FIXED, class M, class R>
POINT_FN MaskOf<R> take_at_volume(const M &m, const R *z, const MaskOf<R> two, const R kind, const Missed<R> &miss,
                                  VolumeSearch<M, R> &o, State<M, R> &s, R &status) {
    auto close = o.open && miss.at_V && kind < 1.5;
    if (FIXED == Fixed::U_V) close = close && miss.size < 1e-10;
    if (!any_of(close)) return close;

    o.now.V = select(close, o.V, o.now.V);
    const auto ended = take_close(m, z, close, two, o.now, s, status);
    o.open = o.open && !ended;
    return close && !ended;
}

// Ends the points for which no T is left. States that start from one another keep to their own two phases where two
// others have a lower Gibbs energy, and p and V then go by no curve: the points that begin again where that left no T,
// was seen in `refused`, or takes too long. First each pair is looked at, then each state begins from nothing.
template <Fixed FIXED, class M, class R>
POINT_FN MaskOf<R> begin_again(const M &, const MaskOf<R> refused, const bool late, const Missed<R> &miss,
                               VolumeSearch<M, R> &o) {
    auto spent = o.open && miss.next_T;
    if (FIXED == Fixed::U_V) spent = spent && o.in_T.high < o.in_T.low * (1.0 + 1e-13);
    auto again = o.open && !o.from_nothing && (spent || refused);
    if (late) again = o.open && !o.from_nothing;
    o.open = o.open && (again || !spent);
    o.from_nothing = o.from_nothing || (again && !o.now.on_the_way);
    o.now.on_the_way = o.now.on_the_way && !again;
    open_bracket(again, R(T_LOWEST), R(M::T_end), o.in_T);
    return again;
}

// T and p of the next state: T by Newton's method or the chord, in its bracket; p by Newton's method in ln p, or along
// constant V where T changes
template <Fixed FIXED, class M, class R>
POINT_FN void move_on(const M &m, const R *z, const MaskOf<R> again, const Heat<M, R> &heat, const Missed<R> &miss,
                      const int count, VolumeSearch<M, R> &o) {
    auto &now = o.now;
    const auto &in_p = o.in_p;
    const R of_jump = (in_p.energy_low - in_p.energy_high) / (in_p.free_low - in_p.free_high);
    const R here_p = select(miss.across, sqrt(in_p.low * in_p.high), now.p);
    const R U_V = select(miss.across, of_jump, heat.U_V);
    const R p_V = heat.P_V * (R_UNIVERSAL * now.T);
    auto has_ends = nowhere<R>();
    R T = now.T;
    if constexpr (FIXED == Fixed::U_V) {
        const auto is_low = miss.next_T && miss.U > 0.0 && !again;
        const auto is_high = miss.next_T && miss.U < 0.0 && !again;
        narrow(is_low, is_high, select(is_low, miss.T_low, miss.T_high), miss.U, o.in_T);
        o.p_low = select(is_low, here_p, o.p_low);
        o.p_high = select(is_high, here_p, o.p_high);
        has_ends = o.in_T.seen_low && o.in_T.seen_high;
        const auto is_smooth = (fabs(miss.V) < 0.1 || !has_ends) && heat.C_v > 0.0;
        const R newton = select(is_smooth, R(now.T + miss.U / heat.C_v), chord_of(o.in_T));
        auto sound = newton > o.in_T.low && newton < o.in_T.high;
        if (count % 8 == 7) sound = nowhere<R>(); // now and then a bisection, whatever Newton's method does
        T = select(miss.next_T, select(sound, newton, sqrt(o.in_T.low * o.in_T.high)), now.T);
    }

    // p: between those at the ends of in_T, ln p over 1/T; along constant V from here; or at the same T
    const R part = (1.0 / T - 1.0 / o.in_T.low) / (1.0 / o.in_T.high - 1.0 / o.in_T.low);
    const R between = o.p_low * exp(within(R(part * log(o.p_high / o.p_low)), 60.0));
    const R along_T = within(R((T - now.T) * (here_p + U_V) / (now.T * here_p)), 20.0);
    const R along_p = within(R(miss.V * now.V * p_V / now.p), 20.0);
    R p = select(miss.next_T, select(has_ends, between, R(here_p * exp(along_T))), R(now.p * exp(along_p)));
    open_pressures(m, z, miss.next_T || again, T, o);
    auto inside = p > in_p.low && p < in_p.high;
    if (count % 6 == 5) inside = inside && fabs(miss.V) < 1e-3;

    // An end that was not seen, where Newton's method leads beyond it
    const auto above = p >= EquationOf<M>::HIGHEST && in_p.high >= EquationOf<M>::HIGHEST && !in_p.seen_high;
    const auto below = p <= in_p.low && !in_p.seen_low && !miss.next_T;
    const R end = select(above, in_p.high, in_p.low);
    p = select(inside, p, select(above || below, end, sqrt(in_p.low * in_p.high)));
    now.T = select(o.open, T, now.T);
    now.p = select(o.open, p, now.p);
}

// The points that nothing else finds, by Newton's method in brackets. Two phases are handed to `direct`. start: T and p
// to begin from; two phases that s has already, of which one is unstable, are none.
template <Fixed FIXED, class M, class R>
PHASE_PART void bracketed_at_volume(const M &m, const Given<M, R> &given, const MaskOf<R> ask, const State<M, R> &start,
                                    State<M, R> &s, R &status) {
    VolumeSearch<M, R> o;
    begin_search(m, given.z, ask, s.V, start, o);
    o.now.steps = s.steps;
    const R first_T = o.now.T;
    const R first_p = o.now.p;

    UNROLL_BY(1)
    for (int count = 0; count < BRACKET_STEPS; ++count) {
        R kind;
        Heat<M, R> heat;
        const auto two = flash_with_heat(m, given.z, o.open, o.warm && !o.from_nothing, o.now, kind, heat);
        o.warm = two;

        // Volume: too small, then p is too high
        const R least = least_volume(m, o.now.T, given.z);
        const End<R> end{o.now.p, o.now.V, R(o.now.V - least), heat.U, !two};
        narrow_bracket(o.open && o.now.V > o.V, o.open && o.now.V < o.V, end, o.in_p);
        const auto miss = missed_at_volume<FIXED>(m, given.z, given.energy, heat, o);

        auto refused = try_direct<FIXED>(m, given, two, miss, o, s, status);
        refused = refused || take_at_volume<FIXED>(m, given.z, two, kind, miss, o, s, status);

        const auto jumps = o.in_p.seen_low && o.in_p.seen_high && !(o.in_p.plain_low && o.in_p.plain_high);
        o.ends_in_three = (o.ends_in_three && !miss.next_T) || (miss.shut && !miss.at_V && jumps);
        const auto was_on_the_way = o.now.on_the_way;
        const auto again = begin_again<FIXED>(m, refused, count % FROM_NOTHING == FROM_NOTHING - 1, miss, o);
        if (everywhere(!o.open)) break;
        move_on<FIXED>(m, given.z, again, heat, miss, count, o);

        // Pairs are looked at from the start on
        const auto anew = again && was_on_the_way;
        o.now.T = select(anew, first_T, o.now.T);
        o.now.p = select(anew, first_p, o.now.p);
        o.warm = o.warm && !anew;
        if (any_of(anew)) open_pressures(m, given.z, anew, o.now.T, o);
    }
    status = select(ask && is_lost(status) && o.ends_in_three, R(double(IN_THREE_PHASES)), status);
    s.steps = o.now.steps;
}

// For bracketed_at_pressure. A large jump is crossed early: from liquid and gas at nearly the same T.
template <class M, class R> struct SoughtVolume {
    static constexpr Fixed FIXED = Fixed::p_V;
    static constexpr double NEARBY = 0.1;
    static constexpr bool BOILS_AT_START = false;
    const Given<M, R> &given;
    R target;

    POINT_FN R value(const M &, const State<M, R> &now, const MaskOf<R>, const Heat<M, R> &) const { return now.V; }
    POINT_FN MaskOf<R> jumps(const Bracket<R> &in_T) const {
        const auto is_large = in_T.free_high > 1.5 * in_T.free_low;
        return in_T.high < in_T.low * select(is_large, R(1.02), R(1.0 + 1e-9));
    }
    POINT_FN R slope(const State<M, R> &now, const Heat<M, R> &heat, const R) const {
        return -(now.p + heat.U_V) / (heat.P_V * (R_UNIVERSAL * now.T));
    }
    POINT_FN R next(const R T, const R miss, const R slope) const {
        const R V = target - miss;
        return T * exp(within(R(log(target / V) * (V / slope)), 1.0));
    }
    POINT_FN void hold(const Bracket<R> &, const R, State<M, R> &from) const { from.V = target; }
};

// A feed at T and V as one phase `whole`, whatever root of the equation V is, without its further slopes. p: its
// pressure. Whether it is a state that may be stable.
template <class M, class R>
POINT_FN MaskOf<R> feed_at_volume(const M &m, const R *z, const R T, const R V, Feed<M, R> &feed, Phase<M, R> &whole,
                                  R &p) {
    feed_of(m, z, T, R(1.0), feed);
    phase_sums<false>(m, feed.at, z, whole);
    place_phase(m, V, whole);
    phase_stiffness(m, feed.at, whole);
    p = phase_pressure(feed.at, whole) * feed.at.RT;
    feed.p = at_most(p, EquationOf<M>::HIGHEST);
    return p > 0.0 && p <= EquationOf<M>::HIGHEST && whole.P_V < 0.0;
}

// Whether p falls with V all along the isotherm of one mole, as that of a fluid above its critical temperature: then
// there is a single root at any p. The a/(b R T) of the critical isotherm grows with delta1 from 0.42 on, and
// delta1 of a mixture is no less than the least of the species.
template <class M, class R>
POINT_FN MaskOf<R> has_one_root(const M &m, const Attraction<M, R> &at, const Phase<M, R> &f) {
    return f.D * at.inv_RT < m.phase_one_root[0] * f.B;
}

// Whether that V is the stable root at its pressure: the only one, or the one that the equation gives
template <class M, class R> POINT_FN MaskOf<R> is_root(const M &m, const Feed<M, R> &feed, const Phase<M, R> &whole) {
    const auto alone = has_one_root(m, feed.at, whole);
    if (everywhere(alone)) return alone;
    const R free = EquationOf<M>::root(m, feed.at.T, feed.p, whole, Absent());
    return alone || fabs(free - whole.free) < 1e-6 * whole.V;
}

// Its tangent plane. Where its pressure is none that a phase can have, feed.p becomes the sum of the fugacities.
template <class M, class R>
POINT_FN void plane_at_volume(const M &m, const R V, const Phase<M, R> &whole, Feed<M, R> &feed) {
    constexpr int NS = M::NS;
    R F[NS], sum = R(0.0);
    phase_fugacities(m, feed.at, whole, R(log(V * whole.inv_free)), F);

    // ln phi = F - ln Z, f = z phi p
    const R ideal = feed.at.RT / V;
    FOR_SPECIES (k, NS) sum += feed.z[k] * exp(within(F[k], 300.0)) * ideal;
    feed.p = select(feed.p > 0.0, feed.p, sum);
    const R ln_Z = log(feed.p / ideal);
    FOR_SPECIES (k, NS) F[k] = F[k] - ln_Z;
    tangent_plane_of(m, V, F, feed);
}

// A start of `direct` at T, V from the trial of a feed that is not stable, for the points of `where`
template <class M, class R>
PHASE_PART void start_from_trial(const M &m, const Feed<M, R> &feed, const Verdict<M, R> &verdict,
                                 const MaskOf<R> where, State<M, R> &s) {
    constexpr int NS = M::NS;
    R x[NS], y[NS], trial[NS], sum = R(0.0);
    FOR_SPECIES (k, NS) {
        // Where no trial was found, the vapour of the feed as a liquid: f_i/p
        trial[k] = exp(within(select(verdict.unstable, verdict.ln_W[2][k], feed.d[k]), 100.0));
        sum += trial[k];
    }
    const auto of_vapour = verdict.is_vapour > 0.5 || !verdict.unstable;
    FOR_SPECIES (k, NS) {
        trial[k] = trial[k] / sum;
        x[k] = select(of_vapour, feed.z[k], trial[k]);
        y[k] = select(of_vapour, trial[k], feed.z[k]);
    }
    Phase<M, R> v, l;
    phase_sums<false>(m, feed.at, x, l);
    phase_sums<false>(m, feed.at, y, v);
    phase_root(m, feed.at, feed.p, l);
    phase_root(m, feed.at, feed.p, v);

    // Roots that do not differ: a dense liquid and a thin gas
    const auto alike = v.V < 1.2 * l.V;
    const R room_l = select(alike, R(0.2 * l.B), l.room);
    const R thin = larger(R(4.0 * v.B), R(2.0 * s.V));
    const R room_v = select(alike, thin, v.room);
    const R V_l = room_l + l.least;
    const R V_v = room_v + v.least;
    const R beta = at_least(at_most(R((s.V - V_l) / (V_v - V_l)), 0.98), 0.02);
    const R ratio = log(beta / (1.0 - beta));
    s.eta = select(where, R(ratio + log(room_v / room_l)), s.eta);
    FOR_SPECIES (k, NS) {
        const R ln_K = log(at_least(y[k], LEAST_AMOUNT) / at_least(x[k], LEAST_AMOUNT));
        s.ln_kappa[k] = select(where, R(ratio + select(feed.z[k] > 1e-90, ln_K, R(0.0))), s.ln_kappa[k]);
    }
}

// The amounts of a start at T and V. Its K_i and the ratio of its densities belong to the composition that the point
// had: at that which it has now ln kappa and eta are off by nearly the same number, the logarithm of `factor`. Newton's
// method to equal pressures in that.
template <class M, class R>
POINT_FN void share_by_pressure(const M &m, const R *z, const MaskOf<R> ask, State<M, R> &s) {
    Attraction<M, R> at;
    attraction_at(m, s.T, at);

    const R room = s.V - least_volume(m, s.T, z);
    const R ratio = exp(within(s.eta, 300.0));
    R kappa[M::NS], factor = R(1.0);
    FOR_SPECIES (k, M::NS) kappa[k] = exp(within(s.ln_kappa[k], 300.0));

    UNROLL_BY(1)
    for (int step = 0; step < SHARE_STEPS; ++step) {
        // Both phases. moved: d v_i/d ln factor
        Phase<M, R> of_v, of_l;
        R v[M::NS], l[M::NS], moved[M::NS];
        FOR_SPECIES (k, M::NS) {
            const R now = factor * kappa[k];
            const R share = inverse(R(1.0 + now));
            l[k] = z[k] * share;
            v[k] = l[k] * now;
            moved[k] = v[k] * share;
        }
        phase_sums<false>(m, at, v, of_v);
        phase_sums<false>(m, at, l, of_l);

        const R share_l = inverse(R(1.0 + factor * ratio));
        place_room(m, R(room * share_l), of_l);
        place_room(m, R(factor * ratio * of_l.room), of_v);
        phase_stiffness(m, at, of_v);
        phase_stiffness(m, at, of_l);
        pressure_slopes(m, at, of_v);
        pressure_slopes(m, at, of_l);

        // The difference of the pressures, and its slope
        R slope = R(0.0);
        R moved_volume = of_v.room * share_l;
        FOR_SPECIES (k, M::NS) {
            slope += moved[k] * (slope_of_p(m, at, of_v, k) + slope_of_p(m, at, of_l, k));
            moved_volume += moved[k] * EquationOf<M>::least(m, s.T, k);
        }
        slope += moved_volume * (of_v.P_V + of_l.P_V);
        const R change = (phase_pressure(at, of_l) - phase_pressure(at, of_v)) / slope;
        factor = select(fabs(change) < LARGE_SHARE, R(factor * (1.0 + change)), factor);
    }

    const R moved = select(ask, log(factor), R(0.0));
    s.eta += moved;
    FOR_SPECIES (k, M::NS) s.ln_kappa[k] += moved;
}

// T, p, ln kappa and eta of s from its V and the energy, or the rest from its V and T or p. warm: points with a start.
// single(T, unconverged): T as if the mixture were one phase.
template <Fixed FIXED, class M, class R, class Single>
PART_FN void state_at_volume(const M &m, const Given<M, R> &given, const MaskOf<R> warm, const Single &single,
                             State<M, R> &s, R &status) {
    const R V = s.V;
    auto todo = given.energy > -1e300 && given.energy < 1e300 && V > 0.0;
    status = R(double(NOT_FOUND));

    // Two phases, as it was
    if (any_of(warm && todo)) {
        R ln_phi[M::NS];
        State<M, R> from = s;
        recall_start(from);
        share_by_pressure(m, given.z, warm && todo, from);
        const auto done = direct<FIXED>(m, given, warm && todo, from, true, ln_phi) && from.p > 0.0;
        todo = todo && !take_from_start(m, given.z, done, ln_phi, from, s, status);
        todo = todo && !put_off(warm && todo, s.T, s);
    }
    if (everywhere(!todo)) return;

    // One phase, if that is stable
    R T, unconverged;
    single(T, unconverged);
    const auto has_T = unconverged < 0.5;
    Feed<M, R> feed;
    Phase<M, R> whole;
    R p;
    const auto sound = feed_at_volume(m, given.z, select(has_T, T, R(T_PLAIN)), V, feed, whole, p) && has_T;
    feed.steps = counted_in<R>(todo);
    const auto settled = todo && sound && is_settled(m, given.z, feed.at.T, p, s);
    const auto hot = todo && sound && !settled && is_plainly_hot(m, feed.at.T, p);
    auto one = settled || hot;
    if (any_of(one)) one = one && is_root(m, feed, whole);
    if (s.carried) settle(one && hot, given.z, feed.at.T, p, s);
    const auto tested = todo && has_T && !one;
    Verdict<M, R> verdict;
    if (any_of(tested)) {
        further_slopes(m, feed.at, whole);
        plane_at_volume(m, V, whole, feed);
        auto stable = tested && sound && is_followed(m, feed, tested && sound, s);
        if (any_of(stable)) stable = stable && is_root(m, feed, whole);
        auto unknown = tested && !stable && !is_put_off_with_trial(s);
        const auto late = put_off(unknown, feed.at.T, s);
        unknown = unknown && !late;
        todo = todo && !late;
        one = one || stable;
        if constexpr (!IS_QUICK_PASS<M>) {
            test_stability(m, feed, unknown, verdict);
            recall_trial(s, verdict);
            const auto passed = unknown && sound && !verdict.unstable;
            keep_test(m, feed, unknown, passed, verdict, s);
            one = one || passed;
        }
    }
    s.steps += feed.steps;
    s.V = select(one, V, s.V);
    s.T = select(todo && has_T, T, s.T);
    if constexpr (FIXED != Fixed::p_V) s.p = select(one, p, select(todo, feed.p, s.p));
    status = select(one, R(double(ONE_PHASE)), status);
    todo = todo && !one;
    if constexpr (IS_QUICK_PASS<M>) {
        put_off(todo, s.T, s);
        return;
    }
    todo = todo && !put_off_with_trial(todo, verdict, s);
    if (everywhere(!todo)) return;

    // Two phases from the trial of that test, then by brackets
    const State<M, R> start = s;
    if (any_of(todo && has_T)) {
        State<M, R> from = s;
        start_from_trial(m, feed, verdict, todo, from);
        const auto done = direct_later<FIXED>(m, given, todo && has_T, from) && from.p > 0.0;
        s.steps = from.steps;
        todo = todo && !take_two_phases(m, given.z, done, from, s, status);
    }
    if (!any_of(todo)) return;
    if constexpr (FIXED == Fixed::p_V) {
        SoughtVolume<M, R> sought{given, V};
        bracketed_at_pressure(m, sought, todo, nowhere<R>(), start, s, status);
    } else bracketed_at_volume<FIXED>(m, given, todo, start, s, status);
}
