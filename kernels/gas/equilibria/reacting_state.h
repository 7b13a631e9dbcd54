// Properties of a state at T, V [m3] and amounts n_k [mol], for the search for a chemical equilibrium. The mass is the
// mass of a mole of the initial mixture, so that V and the energies are per mole of the initial mixture.
#pragma once
#include "gas/equations/partial_densities.h"
#include "gas/equilibria/components.h"

template <class M, class R> struct ReactingState {
    R g[M::NS]; // mu_k/RT less ln n_k
    R e[M::NS]; // partial molar enthalpies over RT; at constant volume energies, dU/dn_k at constant T and V
    R energy;   // H/RT; at constant volume U/RT
    R heat;     // Cp/R; at constant volume Cv/R
    R p;        // Pa
};

// What does not change during the search
template <class R> struct Closed {
    R target; // T [K], or H, U [J] or S [J/K]
    R held;   // p [Pa] or V [m3]
    R mass;   // kg
};

enum class Given { T, ENERGY, ENTROPY };

// Of each species at T and the reference pressure: mu_k/RT; where T is sought, h_k/RT and cp_k/R too
template <Given GIVEN, class M, class R> struct IdealPotentials {
    static constexpr int HEATS = GIVEN == Given::T ? 1 : M::NS;

    R g[M::NS], h[HEATS], cp[HEATS];
};

template <Given GIVEN, class M, class R>
PART_FN void ideal_potentials(const M &m, const R T, IdealPotentials<GIVEN, M, R> &o) {
    const R ln_T = log(T);
    const R inv_RT = 1.0 / (R_UNIVERSAL * T);
    FOR_SPECIES (k, M::NS) {
        o.g[k] = species_ideal<true>(m, T, ln_T, k) * (inv_RT * m.W[k]);
        if constexpr (GIVEN != Given::T) {
            o.h[k] = species_ideal<false>(m, T, ln_T, k) * (inv_RT * m.W[k]);
            o.cp[k] = species_cp(m, T, k) * (m.W[k] * (1 / R_UNIVERSAL));
        }
    }
}

// Of ideal gases; sum: that of the amounts
template <bool VOLUME, Given GIVEN, class M, class R>
POINT_FN void ideal_reacting_state(const M &m, const R T, const IdealPotentials<GIVEN, M, R> &ideal, const R *n,
                                   const R sum, const Closed<R> &closed, ReactingState<M, R> &s) {
    s.p = VOLUME ? R(sum * R_UNIVERSAL * T / closed.held) : closed.held;
    const R ln_c = log(s.p * m.inv_p_ref[0] / sum); // of RT/(V p_ref)
    s.energy = s.heat = R(0.0);
    FOR_SPECIES (k, M::NS) {
        s.g[k] = ideal.g[k] + ln_c;
        if constexpr (GIVEN != Given::T) {
            s.e[k] = VOLUME ? R(ideal.h[k] - 1.0) : ideal.h[k];
            s.energy += n[k] * s.e[k];
            s.heat += n[k] * (VOLUME ? R(ideal.cp[k] - 1.0) : ideal.cp[k]);
        }
    }
}

// Of a cubic equation, or of one whose root is mapped
template <bool VOLUME, Given GIVEN, class M, class R>
PART_FN void real_reacting_state(const M &m, const R T, const IdealPotentials<GIVEN, M, R> &ideal, const R *n,
                                 const Closed<R> &closed, ReactingState<M, R> &s) {
    const R RT = R_UNIVERSAL * T;
    const R inv_RT = 1.0 / RT;
    const R inv_mass = 1.0 / closed.mass;

    // Partial densities
    R x[M::NS], rho;
    if constexpr (VOLUME) rho = closed.mass / closed.held;
    else {
        R R_s = R(0.0);
        FOR_SPECIES (k, M::NS) {
            x[k] = n[k] * m.W[k] * inv_mass;
            R_s += n[k];
        }
        R_s = R_s * (R_UNIVERSAL * inv_mass);
        rho = density_of_root(m, T, closed.held, x, R_s);
    }
    FOR_SPECIES (k, M::NS) x[k] = n[k] * m.W[k] * (rho * inv_mass);

    // Potentials and slopes
    Partial<M, R> state;
    PartialSlopes<M, R> slopes;
    R ln_gamma[M::NS], ln_gamma_T[M::NS];
    partial_state<GIVEN != Given::T>(m, T, x, state);
    partial_activities(m, state, ln_gamma, ln_gamma_T);
    s.p = VOLUME ? partial_pressure(m, state) : closed.held;
    const R V = closed.mass / rho;
    const R ln_c = log(RT * m.inv_p_ref[0] / V);
    FOR_SPECIES (k, M::NS) s.g[k] = ideal.g[k] + ln_c + ln_gamma[k];
    if constexpr (GIVEN != Given::T) {
        partial_slopes(m, x, state, slopes);
        R stiffness = R(0.0);
        s.energy = energy_of_volume(T, state) + (VOLUME ? R(0.0) : closed.held);
        FOR_SPECIES (k, M::NS) {
            stiffness += x[k] * slopes.p_x[k];
            s.energy += x[k] * slopes.U_x[k];
        }
        s.energy = s.energy * V * inv_RT;
        s.heat = slopes.U_T;
        if constexpr (!VOLUME) s.heat += T * slopes.p_T * slopes.p_T / stiffness;
        s.heat = s.heat * V * (1 / R_UNIVERSAL);
        const R work = VOLUME ? R(0.0) : R(T * slopes.p_T / stiffness);
        FOR_SPECIES (k, M::NS) s.e[k] = (slopes.U_x[k] + work * slopes.p_x[k]) * (m.W[k] * inv_RT);
    }
}
