// The cubic equation of state in a flow solver's own variables, T and the partial densities rho_k: no division by a
// volume, and every sum linear in rho_k. N = sum rho_k R/W_k [J/m3/K], B = sum rho_k b_k, A = sum_ij rho_i rho_j
// a_ij(T) [Pa]:
//   p = N T/(1 - B) - A/D,   D = (1 + delta1 B)(1 + delta2 B).
#pragma once
#include "gas/equations/derivatives.h"
#include "newton.h"

template <class M, class R, class Species>
POINT_FN void flow_linear_sums(const M &m, const Species &rho_k, R &N, R &B) {
    N = R(0.0), B = R(0.0);
    FOR_SPECIES (s, M::NS) {
        const R r = rho_k[s];
        N += r * m.inv_W[s];
        B += r * m.b_mass[s];
    }
    N = R_UNIVERSAL * N;
}

template <class Shape, class R> POINT_FN R flow_inv_D(const Shape &eos, const R B) {
    return 1.0 / (1.0 + B * (eos.sum + eos.product * B));
}

// N, B, A and its derivatives in T
template <class R> struct FlowSums {
    R N, B, A, A_T, A_TT;
};

// A of Soave's alpha beyond a bend. rho_k by value: its address is not that of the caller's, which stays in registers.
template <class M, class R, class Species>
RARE_FN void flow_bent_sums(const M &m, const R root_T, const Species rho_k, R *sums) {
    bending_attraction(m, root_T, true, rho_k, sums[0], sums[1], sums[2]);
}

template <class M, class R, class Species>
POINT_FN void flow_attraction(const M &m, const R T, const R root_T, const R inv_root, const Species &rho_k,
                              const PairSums<R> &pairs, R &A, R &A_T, R &A_TT) {
    if constexpr (M::alpha_bends && !M::by_pairs && RARE_APART) {
        R sums[3];
        if (anywhere(T > m.bend_T[0])) flow_bent_sums(m, root_T, rho_k, sums);
        else bending_attraction(m, root_T, false, rho_k, sums[0], sums[1], sums[2]);
        A = sums[0];
        slopes_of_sums(inv_root, sums[1], sums[2], A_T, A_TT);
    } else attraction(m, known_temperature(T), root_T, inv_root, rho_k, pairs, A, A_T, A_TT);
}

template <class M, class R, class Species>
POINT_FN FlowSums<R> flow_sums(const M &m, const R T, const R root_T, const R inv_root, const Species &rho_k,
                               const PairSums<R> &pairs) {
    FlowSums<R> f;
    flow_linear_sums(m, rho_k, f.N, f.B);
    flow_attraction(m, T, root_T, inv_root, rho_k, pairs, f.A, f.A_T, f.A_TT);
    return f;
}

// integral of dv/D from v to infinity, over the density: ln[(1 + delta1 B)/(1 + delta2 B)]/((delta1 - delta2) B)
template <class Shape, class R> POINT_FN R flow_log(const Shape &eos, const R B) {
    return departure_integral(eos, B, R(1.0 / (1.0 + (0.5 * eos.sum) * B)));
}

// T of p where p(T) is no quadratic in sqrt(T): Newton's method. Where a falls with T ever more slowly, p(T) rises ever
// more slowly, and it comes to the root from below; it starts from what an ideal gas of the free volume has, 20 K at
// least, and 40 steps are far more than it takes (test).
template <class M, class R, class Species>
POINT_FN R flow_temperature_by_newton(const M &m, const R p, const Species &rho_k, const R N, const R B,
                                      const R inv_D) {
    const PairSums<R> pairs = pair_sums<M, R>(m, rho_k);
    const R ideal = N / (1.0 - B);
    R T = larger(p / ideal, R(T_LOWEST));
    newton<40>(T, T > 0.0, 0.7, 3.0, [&](const R at) INLINED {
        const R root_T = sqrt(known_temperature(at));
        R A, A_T, A_TT;
        flow_attraction(m, at, root_T, R(1.0 / root_T), rho_k, pairs, A, A_T, A_TT);
        return R((p - (ideal * at - A * inv_D)) / (ideal - A_T * inv_D));
    });
    return T;
}

// sqrt(T) where A = gg - 2 gq s + qq s^2: the root of a2 s^2 + 2 a1 s - a0 = 0
template <class R> POINT_FN R flow_root(const R p, const R ideal, const R inv_D, const R gg, const R gq, const R qq) {
    const R a2 = ideal - qq * inv_D;
    const R a1 = gq * inv_D;
    const R a0 = gg * inv_D + p;
    return a0 / (a1 + sqrt(a1 * a1 + a2 * a0));
}

// Soave's alpha that bends: the quadratic below the first bend, Newton's method for points beyond it.
template <class M, class R, class Species>
POINT_FN R flow_temperature_with_bends(const M &m, const R p, const Species &rho_k, const R N, const R B,
                                       const R inv_D) {
    R gg, gq, qq;
    attraction_sums(
        m, rho_k, p,
        [&](int k, const R rho, const R, R &y, R &z) {
            y = rho * m.g_mass[k];
            z = rho * m.q_mass[k];
        },
        gg, gq, qq);
    const R s = flow_root(p, R(N / (1.0 - B)), inv_D, gg, gq, qq);
    const R T = s * s;

    const auto straight = T <= m.bend_T[0];
    if (everywhere(straight)) return T;
    return select(straight, T, flow_temperature_by_newton(m, p, rho_k, N, B, inv_D));
}

// Soave's published alpha: sqrt(a_i) = sigma_i (g_i - q_i s), sigma_i the sign. While no sign changes, A = A0 - A1 s +
// A2 s^2,
// and p(T) is a quadratic in s: T without iteration. Signs are those of the root before; three rounds, the first with
// those at s = 0. A point whose signs stay finds the same s again, so its result does not depend on its neighbours.
template <class M, class R, class Species>
POINT_FN void flow_temperature_p(const M &m, const R p, const Species &rho_k, R &T) {
    R N, B, s = R(0.0);
    flow_linear_sums(m, rho_k, N, B);
    const R inv_D = flow_inv_D(shape(m, delta_of(m, rho_k)), B);
    const R ideal = N / (1.0 - B);
    if constexpr (M::alpha_bends && !M::by_pairs) {
        T = flow_temperature_with_bends(m, p, rho_k, N, B, inv_D);
        T = select(N > 0.0 && B < 1.0, T, R(NOT_A_NUMBER));
    } else if constexpr (M::alpha_general || M::by_pairs) {
        T = flow_temperature_by_newton(m, p, rho_k, N, B, inv_D);
        T = select(N > 0.0 && B < 1.0, T, R(NOT_A_NUMBER));
    } else {
        for (int round = 0; round < 3; ++round) {
            if (round > 0) {
                R least = R(0.0);
                FOR_SPECIES (k, M::NS) least = smaller(least, (m.g_mass[k] - m.q_mass[k] * s) * m.g_mass[k]);
                if (everywhere(least >= 0.0)) break;
            }
            R gg, gq, qq;
            attraction_sums(
                m, rho_k, s,
                [&](int k, const R rho, const R root, R &y, R &z) {
                    const R n = flipped(rho, m.g_mass[k] - m.q_mass[k] * root);
                    y = n * m.g_mass[k];
                    z = n * m.q_mass[k];
                },
                gg, gq, qq);
            s = flow_root(p, ideal, inv_D, gg, gq, qq);
        }
        T = select(N > 0.0 && B < 1.0, s * s, R(NOT_A_NUMBER));
    }
}

template <class R> struct FlowState {
    R e_vol, cv_vol, p, p_T;
};

template <class M, class R, class Species, class Shape>
POINT_FN FlowState<R> flow_at(const M &m, const R T, const Species &rho_k, const FlowSums<R> &f, const Shape &eos) {
    R cp_ig, h_ig;
    ideal_gas(m, T, rho_k, cp_ig, h_ig); // weighted by rho_k: per volume
    const R inv_D = flow_inv_D(eos, f.B);
    const R inv_free = 1.0 / (1.0 - f.B);
    const R L = flow_log(eos, f.B);
    return {h_ig - f.N * T + (T * f.A_T - f.A) * L, cp_ig - f.N + T * f.A_TT * L, f.N * T * inv_free - f.A * inv_D,
            f.N * inv_free - f.A_T * inv_D};
}

// rho dp/drho at constant T and composition
template <class Shape, class R> POINT_FN R flow_stiffness(const R T, const FlowSums<R> &f, const Shape &eos) {
    const R inv_free = 1.0 / (1.0 - f.B);
    const R inv_D = flow_inv_D(eos, f.B);
    return f.N * T * (inv_free * inv_free) - f.A * (2.0 + eos.sum * f.B) * (inv_D * inv_D);
}

// Energy, and what waves need. gamma_c = rho c^2/p, gruneisen = p_T/(rho cv).
template <class M, class R, class Species>
POINT_FN void flow_state(const M &m, const R T, const Species &rho_k, R &p_eos, R &e_vol, R &cv_vol, R &gamma_c,
                         R &gruneisen) {
    const R root_T = sqrt(known_temperature(T));
    const R inv_root = 1.0 / root_T;
    const auto eos = shape(m, delta_of(m, rho_k));
    const FlowSums<R> f = flow_sums(m, T, root_T, inv_root, rho_k, pair_sums<M, R>(m, rho_k));
    const FlowState<R> q = flow_at(m, T, rho_k, f, eos);
    p_eos = q.p;
    e_vol = q.e_vol;
    cv_vol = q.cv_vol;
    gruneisen = q.p_T / q.cv_vol;
    gamma_c = (flow_stiffness(T, f, eos) + T * q.p_T * gruneisen) / q.p;
}

// T of given rho e by Newton from the T that comes in, no step beyond 30 %; 8 steps reach rounding from 30 % off
// (test).
template <class M, class R, class Species>
POINT_FN void flow_temperature_e(const M &m, const R e_vol, const Species &rho_k, R &T) {
    const auto eos = shape(m, delta_of(m, rho_k));
    const PairSums<R> pairs = pair_sums<M, R>(m, rho_k);
    newton<8>(T, !(T < 0.0), 0.3, 0.3, [&](const R at) INLINED {
        const R root_T = sqrt(known_temperature(at));
        const R inv_root = 1.0 / root_T;
        const FlowSums<R> f = flow_sums(m, at, root_T, inv_root, rho_k, pairs);
        const FlowState<R> q = flow_at(m, at, rho_k, f, eos);
        return R((e_vol - q.e_vol) / q.cv_vol);
    });
}

// Per species: p_k = dp/drho_k and e_k = d(rho e)/drho_k at constant T. Then eps_k = d(rho e)/drho_k at constant p
// = e_k - (rho cv/p_T) p_k, and the partial specific enthalpy h_Y = e_k + T p_T v_k, v_k = p_k/(rho dp/drho|T).
template <class M, class R, class Species, class OutH, class OutE>
POINT_FN void flow_partials(const M &m, const R T, const Species &rho_k, OutH &h_Y, OutE &eps_k) {
    const R root_T = sqrt(known_temperature(T));
    const R inv_root = 1.0 / root_T;
    const auto eos = shape(m, delta_of(m, rho_k));
    const FlowSums<R> f = flow_sums(m, T, root_T, inv_root, rho_k, pair_sums<M, R>(m, rho_k));
    const FlowState<R> q = flow_at(m, T, rho_k, f, eos);
    const R inv_free = 1.0 / (1.0 - f.B);
    const R inv_D = flow_inv_D(eos, f.B);
    const R L = flow_log(eos, f.B);
    const R RT = R_UNIVERSAL * T;
    const R ln_T = log_for_ideal(m, T);
    const R L_B = (inv_D - L) / f.B;
    const R excess = T * f.A_T - f.A;
    const R energy_b = excess * L_B;
    const R by_n = RT * inv_free;
    const R by_b = f.N * T * (inv_free * inv_free) + f.A * (eos.sum + 2.0 * eos.product * f.B) * (inv_D * inv_D);
    R by_sum = R(0.0), energy_sum = R(0.0); // where the shape moves with the composition; see shape_slope
    if constexpr (M::deltas_by_species) {
        by_sum = f.A * f.B * (1.0 - f.B) * (inv_D * inv_D);
        energy_sum = excess * departure_slope(eos, f.B, R(1.0 / (1.0 + 0.5 * eos.sum * f.B)), L);
    }
    const R volume = T * q.p_T / flow_stiffness(T, f, eos);
    const R energy = q.cv_vol / q.p_T;
    attraction_slopes(m, T, rho_k, [&](int s, const R S, const R S_T) { // half of dA/drho_s and of dA_T/drho_s
        R p_k = by_n * m.inv_W[s] + by_b * m.b_mass[s] - 2.0 * S * inv_D;
        R e_k =
            species_ideal<false>(m, T, ln_T, s) - RT * m.inv_W[s] + 2.0 * (T * S_T - S) * L + energy_b * m.b_mass[s];
        if constexpr (M::deltas_by_species) {
            p_k += shape_slope(m, eos, f.N, by_sum, s);
            e_k += shape_slope(m, eos, f.N, energy_sum, s);
        }
        h_Y.set(s, e_k + volume * p_k);
        eps_k.set(s, e_k - energy * p_k);
    });
}

template <class M, class R, class Species, class Out>
POINT_FN void flow_composition(const M &, const Species &rho_k, R &rho, Out &Y) {
    rho = R(0.0);
    FOR_SPECIES (s, M::NS) rho += rho_k[s];
    const R inv_rho = 1.0 / rho;
    FOR_SPECIES (s, M::NS) Y.set(s, rho_k[s] * inv_rho);
}
