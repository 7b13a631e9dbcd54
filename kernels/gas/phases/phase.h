// A phase of a mixture: a function of T, the volume V [m3] and the amounts n_i [mol]. All follows from the residual
// Helmholtz energy, of a cubic equation
//   F = A_res/(RT) = -n ln(1 - B/w) - D psi/(RT),  B = sum n_i b_i,  D = sum n_i n_j a_ij(T),
//   psi = integral of dw/((w + delta1 B)(w + delta2 B)) from w = V to infinity,
// whose derivatives in w, B and the mixture's delta1 carry indices V, B, d (Michelsen & Mollerup 2007, original not
// seen). psi is homogeneous of degree -1 in (w, B), so that its derivatives in B follow from those in w. What another
// equation adds is that of EquationOf<M>. The volume is that of the equation, before any translation.
#pragma once
#include "engine/numbers/dual.h"
#include "gas/phases/mapped_phase.h"

template <class M, class R> struct Phase : EquationOf<M>::template Parts<R> {
    static constexpr int SHAPED = M::deltas_by_species ? M::NS : 1;

    R n, B, D, D_T, D_TT;      // amount; sums and derivatives in T
    R D_i[M::NS], D_iT[M::NS]; // dD/dn_i = 2 sum_j a_ij n_j, and dD_T/dn_i
    R delta, delta_i[SHAPED];  // delta1 of the mixture and d delta1/dn_i, if each species has a delta1
    R least, room, V;          // least volume, V - least, V
    R free, inv_free;          // w - B, 1/(w - B)
    R psi, psi_V, psi_B, psi_VV, psi_VB, psi_BB;
    R psi_d, psi_Vd, psi_Bd, psi_dd; // derivatives in delta1
    R P_V, P_i[M::NS];               // (dp/dV)/(RT), (dp/dn_i)/(RT)
};

template <class M, class R> POINT_FN auto delta_of(const M &, const Phase<M, R> &f) {
    if constexpr (M::deltas_by_species) return f.delta;
    else return Absent();
}

// The sums over species. HEAT: derivatives in T too.
template <bool HEAT, class M, class R>
POINT_FN void phase_sums(const M &m, const Attraction<M, R> &at, const R *x, Phase<M, R> &f) {
    f.n = f.B = R(0.0);
    FOR_SPECIES (k, M::NS) {
        f.n += x[k];
        f.B += x[k] * m.phase_b[k];
    }

    f.D = f.D_T = f.D_TT = R(0.0);
    attraction_rows<HEAT>(m, at, x, [&](int k, const R S, const R S_T, const R S_TT) {
        f.D_i[k] = 2.0 * S;
        f.D += x[k] * S;
        if constexpr (HEAT) {
            f.D_iT[k] = 2.0 * S_T;
            f.D_T += x[k] * S_T;
            f.D_TT += x[k] * S_TT;
        }
    });
    if constexpr (HEAT) f.D_TT += f.D_TT;
    EquationOf<M>::add_sums(m, at.T, x, f);

    if constexpr (M::deltas_by_species) {
        const R inv_n = inverse(f.n);
        f.delta = R(0.0);
        FOR_SPECIES (k, M::NS) f.delta += x[k] * m.phase_delta[k];
        f.delta = f.delta * inv_n;
        FOR_SPECIES (k, M::NS) f.delta_i[k] = (m.phase_delta[k] - f.delta) * inv_n;
    }
}

// The volume of one mole at T and p: of several roots that of the lower Gibbs energy, or that of the lean
template <class M, class R, class Lean = Absent>
POINT_FN void phase_root(const M &m, const Attraction<M, R> &at, const R p, Phase<M, R> &f, const Lean &lean = {}) {
    f.free = EquationOf<M>::root(m, at.T, p, f, lean);
    EquationOf<M>::measure(f);
}

template <class M, class R> POINT_FN void place_phase(const M &m, const R V, Phase<M, R> &f) {
    f.V = V;
    f.room = V - f.least;
    EquationOf<M>::place(m, f);
}

template <class M, class R> POINT_FN void place_room(const M &m, const R room, Phase<M, R> &f) {
    f.room = room;
    f.V = room + f.least;
    EquationOf<M>::place(m, f);
}

// What p and its slope P_V need
template <class M, class R> POINT_FN void phase_stiffness(const M &m, const Attraction<M, R> &at, Phase<M, R> &f) {
    const auto eos = shape(m, delta_of(m, f));
    const R B = f.B;
    const R inv_D = inverse(R(f.free * f.free + B * (eos.linear * f.free + eos.constant * B)));
    f.inv_free = inverse(f.free);
    f.psi_V = -inv_D;
    f.psi_VV = (2.0 * (f.free + B) + eos.sum * B) * (inv_D * inv_D);
    f.P_V = f.D * f.psi_VV * at.inv_RT - f.n * (f.inv_free * f.inv_free);
    EquationOf<M>::add_stiffness(at, f);
}

// After phase_stiffness: the other derivatives of p
template <class M, class R> POINT_FN void pressure_slopes(const M &m, const Attraction<M, R> &at, Phase<M, R> &f) {
    const R w = f.free + f.B;
    f.psi_VB = -(2.0 * f.psi_V + w * f.psi_VV) * inverse(f.B);

    const R of_n = f.inv_free;
    const R of_D = f.psi_V * at.inv_RT;
    const R of_b = f.n * (f.inv_free * f.inv_free) + f.D * f.psi_VB * at.inv_RT;
    FOR_SPECIES (k, M::NS) f.P_i[k] = of_n + of_b * m.phase_b[k] + of_D * f.D_i[k];

    if constexpr (M::deltas_by_species) {
        const R L_Vs = f.B * f.free * (f.psi_V * f.psi_V);
        f.psi_Vd = L_Vs * shape(m, f.delta).slope;
        const R of_delta = f.D * f.psi_Vd * at.inv_RT;
        FOR_SPECIES (k, M::NS) f.P_i[k] += of_delta * f.delta_i[k];
    }
    EquationOf<M>::add_pressure_slopes(m, at, f);
}

// After pressure_slopes: psi with its other derivatives
template <class M, class R> POINT_FN void energy_slopes(const M &m, const Attraction<M, R> &at, Phase<M, R> &f) {
    const auto eos = shape(m, delta_of(m, f));
    const R B = f.B;
    const R w = f.free + B;
    const R inv_B = inverse(B);
    const R centred = f.free + (0.5 * eos.linear) * B;
    const R inv_centred = inverse(centred);
    f.psi = departure_integral(eos, B, inv_centred);
    f.psi_B = -(f.psi + w * f.psi_V) * inv_B;
    f.psi_BB = -(2.0 * f.psi_B + w * f.psi_VB) * inv_B;

    R L_s = R(0.0), L_ss = R(0.0);
    if constexpr (M::deltas_by_species) {
        // d sum/d delta1 = 1 - 2/(1 + delta1)^2, and its derivative
        const R inv_more = inverse(R(1.0 + f.delta));
        const R curved = 4.0 * inv_more * inv_more * inv_more;
        departure_slopes(eos, B, centred, inv_centred, f.psi, L_s, L_ss);
        f.psi_d = L_s * eos.slope;
        f.psi_Bd = -(f.psi_d + w * f.psi_Vd) * inv_B;
        f.psi_dd = L_ss * (eos.slope * eos.slope) + L_s * curved;
    }
    EquationOf<M>::add_energy_slopes(m, L_s, L_ss, f);
}

// After phase_stiffness: all other derivatives
template <class M, class R> POINT_FN void further_slopes(const M &m, const Attraction<M, R> &at, Phase<M, R> &f) {
    pressure_slopes(m, at, f);
    energy_slopes(m, at, f);
}

template <class M, class R> POINT_FN void phase_slopes(const M &m, const Attraction<M, R> &at, Phase<M, R> &f) {
    phase_stiffness(m, at, f);
    further_slopes(m, at, f);
}

// p/(RT)
template <class M, class R> POINT_FN R phase_pressure(const Attraction<M, R> &at, const Phase<M, R> &f) {
    return f.n * f.inv_free + f.D * f.psi_V * at.inv_RT;
}

// dF/dn_i less its common part -ln((w - B)/V), added to `common`. With common = -ln(p (w - B)/(RT)) it is ln phi_i of
// one mole.
template <class M, class R>
POINT_FN void phase_fugacities(const M &m, const Attraction<M, R> &at, const Phase<M, R> &f, const R common, R *out) {
    const R of_b = f.n * f.inv_free - f.D * f.psi_B * at.inv_RT;
    const R of_D = -f.psi * at.inv_RT;
    FOR_SPECIES (k, M::NS) {
        out[k] = common + of_b * m.phase_b[k] + of_D * f.D_i[k];
        if constexpr (M::deltas_by_species) out[k] -= f.D * f.psi_d * at.inv_RT * f.delta_i[k];
    }
    EquationOf<M>::add_fugacities(m, at, f, out);
}

// One mole of composition x at T and p: its root, slopes and ln phi_i
template <class M, class R, class Lean = Absent>
POINT_FN void phase_at_pressure(const M &m, const Attraction<M, R> &at, const R p, const R *x, Phase<M, R> &f,
                                R *ln_phi, const Lean &lean = {}) {
    phase_sums<false>(m, at, x, f);
    phase_root(m, at, p, f, lean);
    phase_slopes(m, at, f);
    phase_fugacities(m, at, f, R(-log(p * f.free * at.inv_RT)), ln_phi);
}

// ---- energy
// Ideal-gas energies u_i = h_i - RT [J/mol] and heat capacities at constant volume [J/mol/K] of the species
template <class M, class R> struct IdealEnergies {
    R u[M::NS], cv[M::NS];
};

template <class M, class R>
POINT_FN void ideal_energies(const M &m, const Attraction<M, R> &at, IdealEnergies<M, R> &ideal) {
    const R ln_T = log_for_ideal(m, at.T);
    FOR_SPECIES (k, M::NS) {
        ideal.u[k] = species_ideal<false>(m, at.T, ln_T, k) * m.W[k] - at.RT;
        ideal.cv[k] = species_cp(m, at.T, k) * m.W[k] - R_UNIVERSAL;
    }
}

// U, dU/dn_i at constant T, V; dU/dV; the heat capacity at constant V
template <class M, class R> struct Energy {
    R U, U_V, C_v, U_i[M::NS];
};

template <class M, class R>
POINT_FN void phase_energy(const M &m, const Attraction<M, R> &at, const IdealEnergies<M, R> &ideal, const R *x,
                           const Phase<M, R> &f, Energy<M, R> &e) {
    const R rest = at.T * f.D_T - f.D;
    e.U = f.psi * rest;
    e.U_V = f.psi_V * rest;
    e.C_v = f.psi * at.T * f.D_TT;
    FOR_SPECIES (k, M::NS) {
        e.U += x[k] * ideal.u[k];
        e.C_v += x[k] * ideal.cv[k];
        e.U_i[k] = ideal.u[k] + f.psi * (at.T * f.D_iT[k] - f.D_i[k]) + f.psi_B * m.phase_b[k] * rest;
        if constexpr (M::deltas_by_species) e.U_i[k] += f.psi_d * f.delta_i[k] * rest;
    }
    EquationOf<M>::add_energy(m, at, f, e);
}
