// Bodies of the kernels that phases.py declares, first part: the state of a point in phase equilibrium, whether it is
// one phase or two (flash.h, volume.h, enthalpy.h, entropy.h). Each is found in three ways: from nothing, from a
// temperature, from the state that the point had. vol, ln_kappa, eta and phases_status hand it on.
#pragma once
#include "gas/phases/entropy.h"

// The composition in moles
template <class M, class R> struct Moles {
    R z[M::NS]; // mole fractions; negative ones count as 0
    R W, R_s;   // kg/mol, J/kg/K; NaN where Y is no composition
    R shift;    // volume translation of one mole [m3]
};

template <class M, class R, class Species> POINT_FN void moles_of(const M &m, const Species &Y, Moles<M, R> &o) {
    const R moles = mean_of<R, M>(m.inv_W, Y);
    o.W = inverse(moles);
    o.R_s = R_UNIVERSAL * moles;
    R sum = moles * 0.0;
    FOR_SPECIES (k, M::NS) {
        o.z[k] = at_least(Y[k], 0.0) * m.inv_W[k];
        sum += o.z[k];
    }
    const R inv_sum = inverse(sum);
    o.shift = R(0.0);
    FOR_SPECIES (k, M::NS) {
        o.z[k] = o.z[k] * inv_sum;
        if constexpr (M::translated) o.shift += o.z[k] * (m.shift_mass[k] * m.W[k]);
    }
}

template <class M, class R, class Kappas>
POINT_FN void read_start(const M &, const Kappas &ln_kappa, const R eta, State<M, R> &s) {
    s.eta = eta;
    s.carried = true;
    s.late = s.on_the_way = nowhere<R>();
    s.steps = steps_before(s);
    FOR_SPECIES (k, M::NS) s.ln_kappa[k] = ln_kappa[k];
}

// ---- where a search begins
// A point whose state is sought. HAS_T: s.T is known, or near
template <class M, class R, bool HAS_T> struct Search {
    Moles<M, R> moles;
    State<M, R> s;
    MaskOf<R> warm; // the point has two phases to begin from
};

template <bool HAS_T, class M, class R, class Species>
POINT_FN void begin_cold(const M &m, const Species &Y, const R T, Search<M, R, HAS_T> &o) {
    moles_of(m, Y, o.moles);
    o.s.T = T;
    o.s.p = o.s.V = R(NOT_A_NUMBER);
    o.s.eta = o.s.steps = R(0.0);
    o.s.carried = false;
    o.s.late = o.s.on_the_way = o.warm = nowhere<R>();
    FOR_SPECIES (k, M::NS) o.s.ln_kappa[k] = R(0.0);
}

template <class R, class M, class Species> POINT_FN auto from_nothing(const M &m, const Species &Y) {
    Search<M, R, false> o;
    begin_cold(m, Y, R(NOT_A_NUMBER), o);
    return o;
}

template <class M, class R, class Species> POINT_FN auto from_T(const M &m, const Species &Y, const R T) {
    Search<M, R, true> o;
    begin_cold(m, Y, T, o);
    return o;
}

template <class M, class R, class Species, class Kappas>
POINT_FN auto from_state(const M &m, const Species &Y, const R T, const Kappas &ln_kappa, const R eta) {
    Search<M, R, true> o;
    moles_of(m, Y, o.moles);
    o.s.T = T;
    o.s.p = o.s.V = R(NOT_A_NUMBER);
    read_start(m, ln_kappa, eta, o.s);
    o.warm = is_warm(o.s);
    return o;
}

template <class M, class R, bool HAS_T> POINT_FN MaskOf<R> is_warm_near_T(const Search<M, R, HAS_T> &o) {
    return o.warm && o.s.T > T_LOWEST && o.s.T < M::T_end;
}

template <class M, class R> POINT_FN void give(const Moles<M, R> &moles, const R energy, Given<M, R> &given) {
    FOR_SPECIES (k, M::NS) given.z[k] = moles.z[k];
    given.energy = energy;
}

// What a kernel writes of a state; NaN where none was found. A point that is put off has a mark in eta alone.
template <class M, class R, class Out>
POINT_FN void hand_on(const M &m, const Moles<M, R> &moles, const State<M, R> &s, R &status, R &vol, Out &ln_kappa,
                      R &eta, R &steps) {
    status = select(s.V > 0.0, status, R(double(NOT_FOUND)));
    const auto lost = is_lost(status);
    const R none = R(NOT_A_NUMBER);
    if constexpr (M::phases_check) {
        const auto two = has_two_phases(status);
        if (any_of(two)) status = select(needs_a_third(m, moles.z, s, two), R(double(NEEDS_A_THIRD)), status);
    }
    vol = select(lost, none, R((s.V - moles.shift) / moles.W));
    eta = select(s.late, R(s.eta + s.steps), select(lost, none, s.eta));
    steps = s.steps;
    FOR_SPECIES (k, M::NS) ln_kappa.set(k, select(lost && !s.late, none, s.ln_kappa[k]));
}

// ---- from T and p
template <class M, class R, class Out>
POINT_FN void state_at_T_p(const M &m, const R p, Search<M, R, true> o, R &vol, Out &ln_kappa, R &eta, R &status,
                           R &steps) {
    o.s.T = known_temperature(o.s.T);
    o.s.p = select(p > 0.0 && p < 1e300, p, R(NOT_A_NUMBER));
    status = R(double(NOT_FOUND));
    flash(m, o.moles.z, o.s.T > 0.0 && o.s.p > 0.0 && o.moles.W > 0.0, o.warm, o.s, status);
    hand_on(m, o.moles, o.s, status, vol, ln_kappa, eta, steps);
}

template <class M, class R, class Species, class Out>
POINT_FN void equilibrium_T_p(const M &m, const R T, const R p, const Species &Y, R &vol, Out &ln_kappa, R &eta,
                              R &phases_status, R &phases_steps) {
    state_at_T_p(m, p, from_T(m, Y, T), vol, ln_kappa, eta, phases_status, phases_steps);
}

template <class M, class R, class Species, class Out>
POINT_FN void equilibrium_T_p_warm(const M &m, const R T, const R p, const Species &Y, Out &ln_kappa, R &eta, R &vol,
                                   R &phases_status, R &phases_steps) {
    state_at_T_p(m, p, from_state(m, Y, T, ln_kappa, eta), vol, ln_kappa, eta, phases_status, phases_steps);
}

// Points that rest in the room of their last test, or are plainly hot. They are one phase then, and short bodies serve
// several packs of them at a time: a pack by itself waits for each of its results.
template <class M, class R, class Species, class Out> struct Resting {
    Moles<M, R> moles;
    State<M, R> s;
    bool moves; // whether some settle anew

    // Whether all points may rest
    POINT_FN bool begin(const M &m, const Species &Y, const Out &ln_kappa, const R eta) {
        s.eta = eta;
        if (!all_of(is_marked_settled(s))) return false;
        moles_of(m, Y, moles);
        read_start(m, ln_kappa, eta, s);
        return true;
    }
    // Whether they do, at T and p
    POINT_FN bool rests(const M &m, const R T, const R p) {
        const auto settled = is_settled(m, moles.z, T, p, s);
        moves = !all_of(settled);
        if (!moves) return true;

        const auto hot = !settled && is_plainly_hot(m, T, p);
        settle(hot, moles.z, T, p, s);
        return all_of(settled || hot);
    }
    POINT_FN void hand_on(const M &, const R V, R &vol, Out &ln_kappa, R &eta, R &status, R &steps) const {
        vol = (V - moles.shift) / moles.W;
        status = R(double(ONE_PHASE));
        steps = R(1.0);
        if (!moves) return;

        eta = s.eta;
        FOR_SPECIES (k, M::NS) ln_kappa.set(k, s.ln_kappa[k]);
    }
};

template <class M, class R, class Species, class Out>
POINT_FN bool equilibrium_T_p_warm_short(const M &m, const R T, const R p, const Species &Y, Out &ln_kappa, R &eta,
                                         R &vol, R &phases_status, R &phases_steps) {
    Resting<M, R, Species, Out> o;
    const R known_T = known_temperature(T);
    if (!o.begin(m, Y, ln_kappa, eta) || !all_of(p > 0.0) || !o.rests(m, known_T, p)) return false;

    Attraction<M, R> at;
    Phase<M, R> whole;
    attraction_at(m, known_T, at);
    phase_sums<false>(m, at, o.moles.z, whole);
    phase_root(m, at, p, whole);
    if (!all_of(whole.free > 0.0 && whole.free < 1e300)) return false;

    o.hand_on(m, whole.V, vol, ln_kappa, eta, phases_status, phases_steps);
    return true;
}

// ---- from T and rho
template <class M, class R, class Out>
POINT_FN void state_of_rho_T(const M &m, const R rho, Search<M, R, true> o, R &p, R &vol, Out &ln_kappa, R &eta,
                             R &status, R &steps) {
    Given<M, R> given;
    give(o.moles, R(o.moles.W * 0.0), given); // NaN where Y is no composition
    o.s.T = known_temperature(o.s.T);
    o.s.V = o.moles.W / select(rho > 0.0 && o.s.T > 0.0, rho, R(NOT_A_NUMBER)) + o.moles.shift;
    const auto as_one_phase = [&](R &T, R &missed) { T = o.s.T, missed = R(0.0); };
    state_at_volume<Fixed::T_V>(m, given, o.warm, as_one_phase, o.s, status);
    hand_on(m, o.moles, o.s, status, vol, ln_kappa, eta, steps);
    p = select(is_lost(status), R(NOT_A_NUMBER), o.s.p);
}

template <class M, class R, class Species, class Out>
POINT_FN void equilibrium_rho_T(const M &m, const R rho, const R T, const Species &Y, R &p, R &vol, Out &ln_kappa,
                                R &eta, R &phases_status, R &phases_steps) {
    state_of_rho_T(m, rho, from_T(m, Y, T), p, vol, ln_kappa, eta, phases_status, phases_steps);
}

template <class M, class R, class Species, class Out>
POINT_FN void equilibrium_rho_T_warm(const M &m, const R rho, const R T, const Species &Y, Out &ln_kappa, R &eta, R &p,
                                     R &vol, R &phases_status, R &phases_steps) {
    state_of_rho_T(m, rho, from_state(m, Y, T, ln_kappa, eta), p, vol, ln_kappa, eta, phases_status, phases_steps);
}

// ---- from two quantities, neither of which is T
// What is given, with find(m, Y, o, status): T, p, V and the phases of the search o. The temperature as if the mixture
// were one phase begins from T_start where the search has one.
template <class M, class R> struct EnergyAndDensity {
    R e, rho;

    template <bool HAS_T, class Species>
    POINT_FN void find(const M &m, const Species &Y, Search<M, R, HAS_T> &o, R &status) const {
        const R T_start = o.s.T;
        const R R_s = o.moles.R_s;
        const auto as_one_phase = [&](R &T, R &missed) {
            if constexpr (HAS_T) EquationOf<M>::from_e_rho_start(m, e, rho, Y, R_s, T_start, T, missed);
            else EquationOf<M>::from_e_rho(m, e, rho, Y, R_s, T, missed);
        };

        Given<M, R> given;
        give(o.moles, R(e * o.moles.W), given);
        o.s.V = o.moles.W / select(rho > 0.0, rho, R(NOT_A_NUMBER)) + o.moles.shift;
        state_at_volume<Fixed::U_V>(m, given, is_warm_near_T(o), as_one_phase, o.s, status);
    }
};

template <class M, class R> struct EnthalpyAndPressure {
    R h, p;

    template <bool HAS_T, class Species>
    POINT_FN void find(const M &m, const Species &Y, Search<M, R, HAS_T> &o, R &status) const {
        const R T_start = o.s.T;
        const R R_s = o.moles.R_s;
        const auto as_one_phase = [&](R &T, R &missed) {
            if constexpr (HAS_T) EquationOf<M>::from_h_p_start(m, h, p, Y, R_s, T_start, T, missed);
            else EquationOf<M>::from_h_p(m, h, p, Y, R_s, T, missed);
        };

        Given<M, R> given;
        give(o.moles, R(h * o.moles.W + p * o.moles.shift), given);
        o.s.p = p;
        state_of_enthalpy_and_pressure(m, given, is_warm_near_T(o), as_one_phase, o.s, status);
    }
};

template <class M, class R> struct EntropyAndPressure {
    R s, p;

    template <bool HAS_T, class Species>
    POINT_FN void find(const M &m, const Species &Y, Search<M, R, HAS_T> &o, R &status) const {
        const R T_start = o.s.T;
        const R W = o.moles.W;
        const R R_s = o.moles.R_s;
        const auto as_one_phase = [&](R &T, R &missed) {
            if constexpr (HAS_T) EquationOf<M>::from_s_p_start(m, s, p, Y, W, R_s, T_start, T, missed);
            else EquationOf<M>::from_s_p(m, s, p, Y, W, R_s, T, missed);
        };
        const auto of_species = [&](const R at) { return R(entropy_of_temperature(m, at, Y) * W); };

        o.s.p = p;
        state_of_entropy_and_pressure(m, o.moles.z, R(s * W), is_warm_near_T(o), as_one_phase, of_species, o.s, status);
    }
};

template <class M, class R> struct PressureAndDensity {
    R p, rho;

    template <bool HAS_T, class Species>
    POINT_FN void find(const M &m, const Species &Y, Search<M, R, HAS_T> &o, R &status) const {
        const R T_start = HAS_T ? o.s.T : R(T_PLAIN);
        const R R_s = o.moles.R_s;
        const auto as_one_phase = [&](R &T, R &missed) {
            EquationOf<M>::from_p_rho(m, p, rho, Y, R_s, T_start, T, missed);
        };

        Given<M, R> given;
        give(o.moles, R(o.moles.W * 0.0), given); // NaN where Y is no composition
        o.s.p = p;
        o.s.V = o.moles.W / select(rho > 0.0 && p > 0.0 && p < 1e300, rho, R(NOT_A_NUMBER)) + o.moles.shift;
        state_at_volume<Fixed::p_V>(m, given, is_warm_near_T(o), as_one_phase, o.s, status);
    }
};

// The state of what is given, from where the search begins; returns its p
template <class M, class R, bool HAS_T, class Both, class Species, class Out>
POINT_FN R state_of(const M &m, const Both &both, const Species &Y, Search<M, R, HAS_T> o, R &T, R &vol, R &unconverged,
                    Out &ln_kappa, R &eta, R &status, R &steps) {
    both.find(m, Y, o, status);
    hand_on(m, o.moles, o.s, status, vol, ln_kappa, eta, steps);

    const auto lost = is_lost(status);
    T = select(lost, R(NOT_A_NUMBER), o.s.T);
    unconverged = select(lost, R(2.0), R(0.0));
    return select(lost, R(NOT_A_NUMBER), o.s.p);
}

template <class M, class R, class Species, class Out>
POINT_FN void equilibrium_e_rho(const M &m, const R e, const R rho, const Species &Y, R &T, R &p, R &vol,
                                R &unconverged, Out &ln_kappa, R &eta, R &phases_status, R &phases_steps) {
    p = state_of(m, EnergyAndDensity<M, R>{e, rho}, Y, from_nothing<R>(m, Y), T, vol, unconverged, ln_kappa, eta,
                 phases_status, phases_steps);
}

template <class M, class R, class Species, class Out>
POINT_FN void equilibrium_e_rho_start(const M &m, const R e, const R rho, const Species &Y, const R T_start, R &T, R &p,
                                      R &vol, R &unconverged, Out &ln_kappa, R &eta, R &phases_status,
                                      R &phases_steps) {
    p = state_of(m, EnergyAndDensity<M, R>{e, rho}, Y, from_T(m, Y, T_start), T, vol, unconverged, ln_kappa, eta,
                 phases_status, phases_steps);
}

template <class M, class R, class Species, class Out>
POINT_FN void equilibrium_e_rho_warm(const M &m, const R e, const R rho, const Species &Y, const R T_start,
                                     Out &ln_kappa, R &eta, R &T, R &p, R &vol, R &unconverged, R &phases_status,
                                     R &phases_steps) {
    p = state_of(m, EnergyAndDensity<M, R>{e, rho}, Y, from_state(m, Y, T_start, ln_kappa, eta), T, vol, unconverged,
                 ln_kappa, eta, phases_status, phases_steps);
}

template <class M, class R, class Species, class Out>
POINT_FN bool equilibrium_e_rho_warm_short(const M &m, const R e, const R rho, const Species &Y, const R T_start,
                                           Out &ln_kappa, R &eta, R &T, R &p, R &vol, R &unconverged, R &phases_status,
                                           R &phases_steps) {
    Resting<M, R, Species, Out> o;
    if (!o.begin(m, Y, ln_kappa, eta)) return false;

    R found_T;
    EquationOf<M>::from_e_rho_start(m, e, rho, Y, o.moles.R_s, T_start, found_T, unconverged);
    if (!all_of(unconverged < 0.5 && rho > 0.0)) return false;

    Feed<M, R> feed;
    Phase<M, R> whole;
    const R V = o.moles.W / rho + o.moles.shift;
    const auto sound = feed_at_volume(m, o.moles.z, found_T, V, feed, whole, p);
    if (!all_of(sound) || !o.rests(m, found_T, p) || !all_of(is_root(m, feed, whole))) return false;

    T = found_T;
    unconverged = R(0.0);
    o.hand_on(m, V, vol, ln_kappa, eta, phases_status, phases_steps);
    return true;
}

template <class M, class R, class Species, class Out>
POINT_FN void equilibrium_h_p(const M &m, const R h, const R p, const Species &Y, R &T, R &vol, R &unconverged,
                              Out &ln_kappa, R &eta, R &phases_status, R &phases_steps) {
    state_of(m, EnthalpyAndPressure<M, R>{h, p}, Y, from_nothing<R>(m, Y), T, vol, unconverged, ln_kappa, eta,
             phases_status, phases_steps);
}

template <class M, class R, class Species, class Out>
POINT_FN void equilibrium_h_p_start(const M &m, const R h, const R p, const Species &Y, const R T_start, R &T, R &vol,
                                    R &unconverged, Out &ln_kappa, R &eta, R &phases_status, R &phases_steps) {
    state_of(m, EnthalpyAndPressure<M, R>{h, p}, Y, from_T(m, Y, T_start), T, vol, unconverged, ln_kappa, eta,
             phases_status, phases_steps);
}

template <class M, class R, class Species, class Out>
POINT_FN void equilibrium_h_p_warm(const M &m, const R h, const R p, const Species &Y, const R T_start, Out &ln_kappa,
                                   R &eta, R &T, R &vol, R &unconverged, R &phases_status, R &phases_steps) {
    state_of(m, EnthalpyAndPressure<M, R>{h, p}, Y, from_state(m, Y, T_start, ln_kappa, eta), T, vol, unconverged,
             ln_kappa, eta, phases_status, phases_steps);
}

template <class M, class R, class Species, class Out>
POINT_FN void equilibrium_s_p(const M &m, const R s, const R p, const Species &Y, R &T, R &vol, R &unconverged,
                              Out &ln_kappa, R &eta, R &phases_status, R &phases_steps) {
    state_of(m, EntropyAndPressure<M, R>{s, p}, Y, from_nothing<R>(m, Y), T, vol, unconverged, ln_kappa, eta,
             phases_status, phases_steps);
}

template <class M, class R, class Species, class Out>
POINT_FN void equilibrium_s_p_start(const M &m, const R s, const R p, const Species &Y, const R T_start, R &T, R &vol,
                                    R &unconverged, Out &ln_kappa, R &eta, R &phases_status, R &phases_steps) {
    state_of(m, EntropyAndPressure<M, R>{s, p}, Y, from_T(m, Y, T_start), T, vol, unconverged, ln_kappa, eta,
             phases_status, phases_steps);
}

template <class M, class R, class Species, class Out>
POINT_FN void equilibrium_s_p_warm(const M &m, const R s, const R p, const Species &Y, const R T_start, Out &ln_kappa,
                                   R &eta, R &T, R &vol, R &unconverged, R &phases_status, R &phases_steps) {
    state_of(m, EntropyAndPressure<M, R>{s, p}, Y, from_state(m, Y, T_start, ln_kappa, eta), T, vol, unconverged,
             ln_kappa, eta, phases_status, phases_steps);
}

template <class M, class R, class Species, class Out>
POINT_FN void equilibrium_p_rho(const M &m, const R p, const R rho, const Species &Y, R &T, R &vol, R &unconverged,
                                Out &ln_kappa, R &eta, R &phases_status, R &phases_steps) {
    state_of(m, PressureAndDensity<M, R>{p, rho}, Y, from_nothing<R>(m, Y), T, vol, unconverged, ln_kappa, eta,
             phases_status, phases_steps);
}

template <class M, class R, class Species, class Out>
POINT_FN void equilibrium_p_rho_start(const M &m, const R p, const R rho, const Species &Y, const R T_start, R &T,
                                      R &vol, R &unconverged, Out &ln_kappa, R &eta, R &phases_status,
                                      R &phases_steps) {
    state_of(m, PressureAndDensity<M, R>{p, rho}, Y, from_T(m, Y, T_start), T, vol, unconverged, ln_kappa, eta,
             phases_status, phases_steps);
}

template <class M, class R, class Species, class Out>
POINT_FN void equilibrium_p_rho_warm(const M &m, const R p, const R rho, const Species &Y, const R T_start,
                                     Out &ln_kappa, R &eta, R &T, R &vol, R &unconverged, R &phases_status,
                                     R &phases_steps) {
    state_of(m, PressureAndDensity<M, R>{p, rho}, Y, from_state(m, Y, T_start, ln_kappa, eta), T, vol, unconverged,
             ln_kappa, eta, phases_status, phases_steps);
}
