// Entropy of a state of one phase or two, and the state of an entropy and a pressure.
#pragma once
#include "gas/phases/enthalpy.h"

// Entropy of a phase less that of its species at p_ref:
//   psi D_T - R [sum n_i ln(n_i/n) + n ln(n R T/((w - B) p_ref))], and what EquationOf adds
template <class M, class R>
POINT_FN R phase_entropy(const M &m, const Attraction<M, R> &at, const R *x, const Phase<M, R> &f) {
    R mixing = R(0.0);
    FOR_SPECIES (k, M::NS) {
        const R share = at_least(x[k] / f.n, LEAST_AMOUNT);
        mixing += x[k] * log(share);
    }
    mixing += f.n * log(f.n * at.RT * f.inv_free * m.inv_p_ref[0]);
    R entropy = f.psi * f.D_T - R_UNIVERSAL * mixing;
    EquationOf<M>::add_entropy(at, f, entropy);
    return entropy;
}

// Entropy of one mole, less that of its species at p_ref
template <class M, class R>
PHASE_PART R state_entropy(const M &m, const R *z, const State<M, R> &s, const MaskOf<R> two) {
    Attraction<M, R> at;
    Phase<M, R> whole;
    attraction_at(m, s.T, at);
    phase_sums<true>(m, at, z, whole);
    place_phase(m, s.V, whole);
    phase_slopes(m, at, whole);
    R entropy = phase_entropy(m, at, z, whole);
    if (any_of(two)) {
        Parts<M, R> o;
        parts_of(m, z, s, o);
        const R both = phase_entropy(m, o.at, o.v, o.of_v) + phase_entropy(m, o.at, o.l, o.of_l);
        entropy = select(two, both, entropy);
    }
    return entropy;
}

// For bracketed_at_pressure. At a jump, as where a pure species boils, H jumps by as large a share as S.
template <class M, class R, class Ideal> struct SoughtEntropy {
    static constexpr Fixed FIXED = Fixed::H_p;
    static constexpr double NEARBY = -1.0; // no search of two phases holds S
    static constexpr bool BOILS_AT_START = false;
    Given<M, R> given;
    R target;
    const Ideal &ideal; // ideal(T): entropy of the species at p_ref, of one mole

    POINT_FN R value(const M &m, const State<M, R> &now, const MaskOf<R> two, const Heat<M, R> &) const {
        return state_entropy(m, given.z, now, two) + ideal(now.T);
    }
    POINT_FN MaskOf<R> jumps(const Bracket<R> &in_T) const { return in_T.high < in_T.low * (1.0 + 1e-9); }
    POINT_FN R slope(const State<M, R> &, const Heat<M, R> &, const R cp) const { return cp; }
    POINT_FN R next(const R T, const R miss, const R slope) const { return T * exp(within(R(miss / slope), 1.0)); }
    POINT_FN void hold(const Bracket<R> &in_T, const R share, State<M, R> &) {
        given.energy = in_T.energy_low + share * (in_T.energy_high - in_T.energy_low);
    }
};

// T, V, ln kappa and eta of s from its p and the entropy S of one mole. warm: the points with a start. single(T,
// unconverged): T as if the mixture were one phase.
template <class M, class R, class Single, class Ideal>
PART_FN void state_of_entropy_and_pressure(const M &m, const R *z, const R S, const MaskOf<R> warm,
                                           const Single &single, const Ideal &ideal, State<M, R> &s, R &status) {
    auto todo = S > -1e300 && S < 1e300 && s.p > 0.0 && s.p < 1e300;
    status = R(double(NOT_FOUND));

    // One phase, if that is stable
    const auto fresh = todo && !warm;
    if (any_of(fresh)) {
        R T, unconverged, kind = R(double(NOT_FOUND));
        single(T, unconverged);
        const auto has_T = fresh && unconverged < 0.5;
        State<M, R> from = s;
        from.T = select(unconverged < 1.5, T, R(T_PLAIN));
        flash(m, z, has_T, nowhere<R>(), from, kind);
        const auto one = has_T && kind < 0.5;
        take(fresh, from, s);
        s.steps = from.steps;
        status = select(one, R(double(ONE_PHASE)), status);
        todo = todo && !one && !s.late;
    }
    if constexpr (IS_QUICK_PASS<M>) put_off(todo, s.T, s);
    else if (any_of(todo)) {
        SoughtEntropy<M, R, Ideal> sought{{}, S, ideal};
        FOR_SPECIES (k, M::NS) sought.given.z[k] = z[k];
        const State<M, R> begin = s;
        bracketed_at_pressure(m, sought, todo, warm && todo, begin, s, status);
    }
}
