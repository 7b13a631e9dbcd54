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
    // Whether P_i and the residual U_i are sums of 1, b_i, D_i and its slope in T alone
    static constexpr bool IS_PLAIN = !M::deltas_by_species && !M::mapped;
    static constexpr int SHAPED = M::deltas_by_species ? M::NS : 1;
    static constexpr bool BY_VECTORS = M::PHASE_VECTORS > 0;
    static constexpr int ALONG = BY_VECTORS ? M::PHASE_VECTORS - 2 : 1;
    static constexpr int D_HELD = BY_VECTORS ? 1 : M::NS;
    static constexpr int P_HELD = IS_PLAIN ? 1 : M::NS;

    R n, B, D, D_T, D_TT;               // amount; sums and derivatives in T
    R D_i[D_HELD], D_iT[D_HELD];        // dD/dn_i = 2 sum_j a_ij n_j, and dD_T/dn_i: slope_of_D, slope_of_D_T
    R D_along[ALONG], D_T_along[ALONG]; // D_i over sqrt(a_i) in 1 and the vectors of k_ij (amounts.h); slopes in T
    R delta, delta_i[SHAPED];           // delta1 of the mixture and d delta1/dn_i, if each species has a delta1
    R least, room, V;                   // least volume, V - least, V
    R free, inv_free;                   // w - B, 1/(w - B)
    R psi, psi_V, psi_B, psi_VV, psi_VB, psi_BB;
    R psi_d, psi_Vd, psi_Bd, psi_dd; // derivatives in delta1
    R P_V, P_i[P_HELD];              // (dp/dV)/(RT), (dp/dn_i)/(RT): slope_of_p
    R P_one, P_b, P_D;               // the parts of the latter of 1, b_i, D_i
};

template <class M, class R> POINT_FN auto delta_of(const M &, const Phase<M, R> &f) {
    if constexpr (M::deltas_by_species) return f.delta;
    else return Absent();
}

// sum_r x_r u_r of species k, in 1 and the vectors of k_ij
template <class M, class R> POINT_FN R along_species(const M &m, const R *x, const int k) {
    R sum = x[0];
    UNROLL
    for (int r = 1; r < Phase<M, R>::ALONG; ++r) sum += kij_vector(m, r - 1, k) * x[r];
    return sum;
}

// dD/dn_k, its slope in T, and P_k
template <class M, class R>
POINT_FN R slope_of_D(const M &m, const Attraction<M, R> &at, const Phase<M, R> &f, const int k) {
    if constexpr (Phase<M, R>::BY_VECTORS) return at.root[k] * along_species(m, f.D_along, k);
    else return f.D_i[k];
}

template <class M, class R>
POINT_FN R slope_of_D_T(const M &m, const Attraction<M, R> &at, const Phase<M, R> &f, const int k) {
    if constexpr (Phase<M, R>::BY_VECTORS)
        return at.root_T[k] * along_species(m, f.D_along, k) + at.root[k] * along_species(m, f.D_T_along, k);
    else return f.D_iT[k];
}

template <class M, class R>
POINT_FN R slope_of_p(const M &m, const Attraction<M, R> &at, const Phase<M, R> &f, const int k) {
    if constexpr (Phase<M, R>::IS_PLAIN) return f.P_one + f.P_b * m.phase_b[k] + f.P_D * slope_of_D(m, at, f, k);
    else return f.P_i[k];
}

// D and its slopes by few vectors: with A_r = sum_k sqrt(a_k) u_rk n_k, u_0 = 1, D = A_0^2 - sum_r sign_r A_r^2
template <bool HEAT, class M, class R>
POINT_FN void attraction_by_vectors(const M &m, const Attraction<M, R> &at, const R *x, Phase<M, R> &f) {
    constexpr int ALONG = Phase<M, R>::ALONG;
    R A[ALONG], A_T[ALONG], A_TT[ALONG];
    UNROLL
    for (int r = 0; r < ALONG; ++r) A[r] = A_T[r] = A_TT[r] = R(0.0);
    FOR_SPECIES (k, M::NS) {
        UNROLL
        for (int r = 0; r < ALONG; ++r) {
            const R y = r ? R(x[k] * kij_vector(m, r - 1, k)) : x[k];
            A[r] += at.root[k] * y;
            if constexpr (HEAT) {
                A_T[r] += at.root_T[k] * y;
                A_TT[r] += at.root_TT[k] * y;
            }
        }
    }

    UNROLL
    for (int r = 0; r < ALONG; ++r) {
        const double sign = r ? -kij_sign(m, r - 1) : 1.0;
        f.D_along[r] = (2.0 * sign) * A[r];
        f.D += sign * (A[r] * A[r]);
        if constexpr (HEAT) {
            f.D_T_along[r] = (2.0 * sign) * A_T[r];
            f.D_T += f.D_along[r] * A_T[r];
            f.D_TT += sign * (A_T[r] * A_T[r] + A[r] * A_TT[r]);
        }
    }
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
    if constexpr (Phase<M, R>::BY_VECTORS) attraction_by_vectors<HEAT>(m, at, x, f);
    else {
        attraction_rows<HEAT>(m, at, x, [&](int k, const R S, const R S_T, const R S_TT) {
            f.D_i[k] = 2.0 * S;
            f.D += x[k] * S;
            if constexpr (HEAT) {
                f.D_iT[k] = 2.0 * S_T;
                f.D_T += x[k] * S_T;
                f.D_TT += x[k] * S_TT;
            }
        });
    }
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

    f.P_one = f.inv_free;
    f.P_D = f.psi_V * at.inv_RT;
    f.P_b = f.n * (f.inv_free * f.inv_free) + f.D * f.psi_VB * at.inv_RT;
    if constexpr (!Phase<M, R>::IS_PLAIN) {
        FOR_SPECIES (k, M::NS) f.P_i[k] = f.P_one + f.P_b * m.phase_b[k] + f.P_D * f.D_i[k];
    }

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
        out[k] = common + of_b * m.phase_b[k] + of_D * slope_of_D(m, at, f, k);
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

// U, dU/dV, the heat capacity at constant V; dU/dn_i less that of the ideal gas, at constant T, V: slope_of_energy
template <class M, class R> struct Energy {
    static constexpr int HELD = Phase<M, R>::IS_PLAIN ? 1 : M::NS;
    R U, U_V, C_v, U_i[HELD];
    R rest; // T D_T - D
};

template <class M, class R>
POINT_FN R slope_of_energy(const M &m, const Attraction<M, R> &at, const Phase<M, R> &f, const Energy<M, R> &e,
                           const int k) {
    if constexpr (Phase<M, R>::IS_PLAIN) {
        const R of_D = at.T * slope_of_D_T(m, at, f, k) - slope_of_D(m, at, f, k);
        return f.psi * of_D + f.psi_B * m.phase_b[k] * e.rest;
    } else return e.U_i[k];
}

template <class M, class R>
POINT_FN void phase_energy(const M &m, const Attraction<M, R> &at, const IdealEnergies<M, R> &ideal, const R *x,
                           const Phase<M, R> &f, Energy<M, R> &e) {
    const R rest = at.T * f.D_T - f.D;
    e.rest = rest;
    e.U = f.psi * rest;
    e.U_V = f.psi_V * rest;
    e.C_v = f.psi * at.T * f.D_TT;
    FOR_SPECIES (k, M::NS) {
        e.U += x[k] * ideal.u[k];
        e.C_v += x[k] * ideal.cv[k];
        if constexpr (!Phase<M, R>::IS_PLAIN)
            e.U_i[k] = f.psi * (at.T * f.D_iT[k] - f.D_i[k]) + f.psi_B * m.phase_b[k] * rest;
        if constexpr (M::deltas_by_species) e.U_i[k] += f.psi_d * f.delta_i[k] * rest;
    }
    EquationOf<M>::add_energy(m, at, f, e);
}
