// The state of a point from h and p, in the same order as that from e and rho.
#pragma once
#include "gas/phases/volume.h"

// For bracketed_at_pressure
template <class M, class R> struct SoughtEnthalpy {
    static constexpr Fixed FIXED = Fixed::H_p;
    static constexpr double NEARBY = 0.1;
    static constexpr bool BOILS_AT_START = true;
    const Given<M, R> &given;
    R target = given.energy;

    POINT_FN R value(const M &, const State<M, R> &now, const MaskOf<R>, const Heat<M, R> &heat) const {
        return heat.U + now.p * now.V;
    }
    POINT_FN MaskOf<R> jumps(const Bracket<R> &in_T) const { return in_T.high < in_T.low * (1.0 + 1e-7); }
    POINT_FN R slope(const State<M, R> &now, const Heat<M, R> &, const R cp) const { return cp * now.T; }
    POINT_FN R next(const R T, const R miss, const R slope) const { return T + T * (miss / slope); }
    POINT_FN void hold(const Bracket<R> &, const R, State<M, R> &) const {}
};

// V at the T and p of a start. Where both roots are the same, one phase keeps its share of the free volume.
template <class M, class R> PART_FN void set_warm_volume(const M &m, const R *z, State<M, R> &s) {
    Attraction<M, R> at;
    Phase<M, R> v, l;
    R x[M::NS], y[M::NS], beta = R(0.0), rest = R(0.0);
    attraction_at(m, s.T, at);
    FOR_SPECIES (k, M::NS) {
        const R kappa = exp(within(s.ln_kappa[k], 300.0));
        x[k] = z[k] / (1.0 + kappa);
        y[k] = x[k] * kappa;
        rest += x[k];
        beta += y[k];
    }
    FOR_SPECIES (k, M::NS) {
        x[k] = x[k] / rest;
        y[k] = y[k] / beta;
    }
    phase_sums<false>(m, at, x, l);
    phase_sums<false>(m, at, y, v);
    phase_root(m, at, s.p, l);
    phase_root(m, at, s.p, v);
    const R ratio = exp(within(R(s.eta - log(beta / rest)), 100.0));
    const auto alike = v.room < 1.5 * l.room;
    const auto thin = alike && l.room > l.B;
    const R room_l = select(thin, R(v.room / ratio), l.room);
    const R room_v = select(alike && !thin, R(l.room * ratio), v.room);
    s.V = beta * (room_v + v.least) + rest * (room_l + l.least);
}

// T, V, ln kappa and eta of s from its p and the enthalpy; the rest as above
template <class M, class R, class Single>
PART_FN void state_of_enthalpy_and_pressure(const M &m, const Given<M, R> &given, const MaskOf<R> warm,
                                            const Single &single, State<M, R> &s, R &status) {
    auto todo = given.energy > -1e300 && given.energy < 1e300 && s.p > 0.0 && s.p < 1e300;
    status = R(double(NOT_FOUND));

    // Two phases, as it was
    if (any_of(warm && todo)) {
        R ln_phi[M::NS];
        State<M, R> from = s;
        recall_start(from);
        set_warm_volume(m, given.z, from);
        const auto done = direct<Fixed::H_p>(m, given, warm && todo, from, true, ln_phi) && has_room(m, given.z, from);
        todo = todo && !take_from_start(m, given.z, done, ln_phi, from, s, status);
        todo = todo && !put_off(warm && todo, s.T, s);
    }
    if (everywhere(!todo)) return;

    // One phase, if that is stable; two phases from a flash at that T
    R T, unconverged, kind = R(double(NOT_FOUND));
    single(T, unconverged);
    const auto has_T = unconverged < 0.5;
    State<M, R> from = s;
    from.T = select(unconverged < 1.5, T, R(T_PLAIN));
    flash(m, given.z, todo && has_T, nowhere<R>(), from, kind);
    const auto one = todo && has_T && kind < 0.5;
    const auto two = todo && has_T && kind > 0.5 && kind < 1.5;
    take(todo, from, s);
    s.steps = from.steps;
    status = select(one, R(double(ONE_PHASE)), status);
    todo = todo && !one && !s.late;
    if constexpr (IS_QUICK_PASS<M>) {
        put_off(todo, s.T, s);
        return;
    }
    if (everywhere(!todo)) return;

    const State<M, R> begin = s;
    auto done = direct_later<Fixed::H_p>(m, given, two, from) && has_room(m, given.z, from);
    if (any_of(done)) done = is_found_again(m, given.z, done, from);
    todo = todo && !take_two_phases(m, given.z, done, from, s, status);
    s.steps = from.steps;
    if (any_of(todo)) {
        SoughtEnthalpy<M, R> sought{given};
        bracketed_at_pressure(m, sought, todo, nowhere<R>(), begin, s, status);
    }
}
