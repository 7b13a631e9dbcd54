// A cubic equation of state of a mixture,
//   p = R T/(v - b) - a(T)/D,  D = (v + delta1 b)(v + delta2 b),
// per kg: a [Pa m6/kg2], b, v [m3/kg], R = R_s [J/kg/K]. The equations differ only in their records in records.py,
// where their sources are named.
#pragma once
#include "gas/equations/attraction.h"
#include "gas/equations/free_root.h"
#include "gas/thermal/ideal_gas.h"

// One-fluid mixing: a with its derivatives, b = sum Y_i b_i/W_i, and the volume translation.
template <class M, class R, class Species>
POINT_FN void cubic_mixture_at(const M &m, const R T, const Species &Y, const PairSums<R> &pairs, R &a_mix, R &a_T,
                               R &a_TT, R &b_mix, R &shift_mix) {
    const R known_T = known_temperature(T);
    R root_T, inv_root;
    root_and_inverse(known_T, root_T, inv_root);
    weighted_sum<M::NS>(b_mix, m.b_mass, Y);
    shift_mix = R(0.0);
    if constexpr (M::translated && SIDE_BY_SIDE<Species>) weighted_sum<M::NS>(shift_mix, m.shift_mass, Y);
    else if constexpr (M::translated) {
        R shift[1] = {R(0.0)};
        FOR_OWN (s, M::NS) shift[0] += Y[s] * m.shift_mass[s];
        sum_over_owners(shift);
        shift_mix = shift[0];
    }
    attraction(m, known_T, root_T, inv_root, Y, pairs, a_mix, a_T, a_TT);
}

template <class M, class R, class Species>
POINT_FN void cubic_mixture(const M &m, const R T, const Species &Y, R &a_mix, R &a_T, R &a_TT, R &b_mix,
                            R &shift_mix) {
    cubic_mixture_at(m, T, Y, pair_sums<M, R>(m, Y), a_mix, a_T, a_TT, b_mix, shift_mix);
}

// Pseudo-critical state: a of the mixture at alpha = 1, then as for a pure substance,
//   a = Omega_a (R Tc)^2/pc, b = Omega_b R Tc/pc.
template <class M, class R, class Species, class Delta>
POINT_FN void critical_state(const M &m, const Species &Y, const R R_s, const Delta delta_mix, R &Tc_mix, R &pc_mix,
                             R &vc_mix) {
    R b, yy, yz, zz;
    weighted_sum<M::NS>(b, m.b_mass, Y);
    if constexpr (M::by_pairs) yy = quadratic_one<M, R>(m.pair_critical, Y, [](auto, const auto y) { return y; });
    else
        attraction_sums(
            m, Y, R_s,
            [&](auto s, const auto Y_s, const auto, auto &y, auto &z) INLINED {
                y = Y_s * of_species(m.root_ac_mass, s);
                z = 0.0;
            },
            yy, yz, zz);
    if constexpr (M::deltas_by_species) { // dp/dv = d2p/dv2 = 0 of the mixture's shape
        const R d = shape(m, delta_mix).sum;
        const R more = 1.0 + delta_mix;
        const R y = 1.0 + cbrt(2.0 * more) + cbrt(4.0 / more);
        const R below = 3.0 * y + d - 1.0;
        Tc_mix = yy * below / (R_s * b * (3.0 * y * (y + d) + d * (d + 1.0) - 1.0));
        pc_mix = R_s * Tc_mix / (b * below);
        vc_mix = y * R_UNIVERSAL * Tc_mix / (below * pc_mix);
    } else {
        Tc_mix = yy * (m.omega_b[0] / m.omega_a[0]) / (R_s * b);
        pc_mix = m.omega_b[0] * R_s * Tc_mix / b;
        vc_mix = (m.omega_vc[0] * R_UNIVERSAL) * Tc_mix / pc_mix;
    }
}

// Z, vol and v - b of (T, p)
template <class M, class R, class Delta>
POINT_FN void cubic_root(const M &m, const R T, const R p, const R R_s, const R a_mix, const R b_mix, const R shift_mix,
                         const Delta delta_mix, R &Z, R &vol, R &v_free) {
    const R RT = R_s * T;
    const R known_p = select(p > 0.0, p, R(NOT_A_NUMBER));
    R inv_RT, v_ideal;
    if constexpr (IN_CHAINS<R>) { // 1/p is ready before R T is
        inv_RT = 1.0 / RT;
        v_ideal = RT * (1.0 / known_p);
    } else {
        const R inv = 1.0 / (RT * known_p);
        inv_RT = inv * p;
        v_ideal = inv * RT * RT;
    }
    const R inv_ideal = inv_RT * known_p;

    const R B = b_mix * inv_ideal;
    const R A = a_mix * (inv_RT * inv_ideal);
    const R u = free_root(m, A, B, delta_mix, Absent());
    v_free = u * v_ideal;
    Z = u + B;
    vol = v_free + b_mix;
    if constexpr (M::translated) {
        Z -= shift_mix * inv_ideal;
        vol -= shift_mix;
    }
}

// Which of the roots v > b a state is: 0 the only root, 1 the smallest of several, 2 the largest, 3 unstable. The
// smallest and the largest of three roots lie on either side of the inflection of the cubic. p <= 0 occurs only for a
// prescribed density: a stable state is then a liquid under tension, the only stable state of this pressure.
template <class M, class R, class Delta>
POINT_FN void cubic_phase_flag(const M &m, const R T, const R p, const R R_s, const R a_mix, const R b_mix,
                               const R v_free, const R p_v, const Delta delta_mix, R &phase_flag) {
    const R inv_RT = 1.0 / (R_s * T);
    const R A = a_mix * p * inv_RT * inv_RT;
    const R B = b_mix * p * inv_RT;
    R c2, c1, c0;
    cubic_coefficients(shape(m, delta_mix), A, B, c2, c1, c0);
    const auto tension = p <= 0.0;
    const auto three = cubic_discriminant(c2, c1, c0) >= 0.0 && c2 < 0.0 && c1 > 0.0;
    const R of_three = select(tension || 3.0 * (p * v_free * inv_RT) + c2 < 0.0, R(1.0), R(2.0));
    phase_flag =
        select(p_v < 0.0, select(tension || three, of_three, R(0.0)), select(p_v >= 0.0, R(3.0), R(NOT_A_NUMBER)));
}

// 1/(v - b), 1/D, rho = 1/(v - shift) and 1/(v + (delta1 + delta2) b/2)
template <class M, class R, class Delta>
POINT_FN void cubic_reciprocals(const M &m, const R b_mix, const R v_free, const R vol, const Delta delta_mix, R &rho,
                                R &inv_free, R &inv_D, R &inv_centred) {
    const auto eos = shape(m, delta_mix);
    const R D = v_free * v_free + b_mix * (eos.linear * v_free + eos.constant * b_mix);
    const R centred = v_free + (0.5 * eos.linear) * b_mix;
    R inverses[] = {v_free, D, vol, centred};
    invert_all(inverses);
    inv_free = inverses[0];
    inv_D = inverses[1];
    rho = inverses[2];
    inv_centred = inverses[3];
}

template <class M, class R> POINT_FN void molar_volume(const M &, const R W, const R vol, R &v_mol) { v_mol = W * vol; }

// p_v = -R T/(v - b)^2 + a D_v/D^2, p_T = R/(v - b) - a'/D, with D_v = dD/dv.
template <class M, class R, class Delta>
POINT_FN void cubic_pressure_slopes(const M &m, const R T, const R R_s, const R a_mix, const R a_T, const R b_mix,
                                    const R v_free, const R inv_free, const R inv_D, const Delta delta_mix,
                                    R &p_v_attractive, R &p_v_repulsive, R &p_v, R &p_T, R &v_p) {
    const R D_v = 2.0 * v_free + shape(m, delta_mix).linear * b_mix;
    p_v_attractive = a_mix * D_v * (inv_D * inv_D);
    p_v_repulsive = 0.0 - R_s * T * (inv_free * inv_free); // one operation; a sign in front would be one more
    p_v = p_v_attractive + p_v_repulsive;
    p_T = R_s * inv_free - a_T * inv_D;
    v_p = 1.0 / p_v;
}

template <class M, class R, class Delta>
POINT_FN void cubic_departure(const M &m, const R b_mix, const R inv_centred, const Delta delta_mix, R &cubic_L) {
    cubic_L = departure_integral(shape(m, delta_mix), b_mix, inv_centred);
}

// h = h_ig + R T (Z - 1) + (T a' - a) L. The volume translation's -p shift is part of Z.
template <class M, class R>
POINT_FN void cubic_enthalpy(const M &, const R T, const R R_s, const R h_ig, const R Z, const R a_mix, const R a_T,
                             const R cubic_L, R &h) {
    h = h_ig + R_s * T * (Z - 1.0) + (T * a_T - a_mix) * cubic_L;
}

// s = s_ig + R ln(p (v - b)/(R T)) + a' L
template <class M, class R>
POINT_FN void cubic_entropy(const M &, const R T, const R p, const R R_s, const R s_ig, const R v_free, const R a_T,
                            const R cubic_L, R &s) {
    s = s_ig + R_s * log(p * v_free / (R_s * T)) + a_T * cubic_L;
}

// s+ = -s_res(T, rho)/R = ln(v/(v_eq - b)) - a' L/R: s_res is relative to the ideal gas of the same T and density. v is
// the volume after translation, v_eq the equation's own.
template <class M, class R>
POINT_FN void cubic_residual_entropy(const M &, const R R_s, const R a_T, const R vol, const R inv_free,
                                     const R cubic_L, R &residual_entropy) {
    residual_entropy = log(vol * inv_free) - a_T * cubic_L / R_s;
}

// cv = cp_ig - R + T a'' L
template <class M, class R>
POINT_FN void cubic_cv(const M &, const R T, const R R_s, const R cp_ig, const R a_TT, const R cubic_L, R &cv) {
    cv = cp_ig - R_s + T * a_TT * cubic_L;
}

// cp = cv - T p_T^2/p_v
template <class M, class R>
POINT_FN void heat_capacity_p(const M &, const R T, const R cv, const R p_T, const R v_p, R &cp) {
    cp = cv - T * p_T * p_T * v_p;
}

// gamma = cp/cv and c^2 = (dp/d rho)_s = -v^2 gamma p_v with a single root: c = v s/sqrt(s cv), s = -p_v cp. NaN unless
// cv > 0: far outside the range of the polynomials cp and cv are both negative, so s cv alone would not show it.
template <class M, class R>
POINT_FN void heat_capacity_ratio(const M &, const R cp, const R cv, const R p_v, const R vol, R &gamma, R &c) {
    const R rigid = 0.0 - p_v * cp;
    if constexpr (IN_CHAINS<R>) {
        const R inverse = select(cv > 0.0, 1.0 / cv, R(NOT_A_NUMBER));
        gamma = cp * inverse;
        c = vol * sqrt(rigid * inverse);
    } else {
        const R inverse = select(cv > 0.0, inverse_root(rigid * cv), R(NOT_A_NUMBER));
        const R share = rigid * inverse;
        gamma = cp * inverse * share;
        c = vol * share;
    }
}

// rho_p = -rho^2 v_p, rho_T = rho^2 p_T v_p
template <class M, class R>
POINT_FN void density_slopes(const M &, const R rho, const R p_T, const R v_p, R &rho_p, R &rho_T) {
    rho_p = 0.0 - rho * rho * v_p;
    rho_T = 0.0 - p_T * rho_p;
}

// h_p = v + T p_T/p_v, written without the ideal-gas parts, which cancel. h_T = cp.
template <class M, class R>
POINT_FN void enthalpy_slopes(const M &, const R T, const R a_T, const R b_mix, const R shift_mix, const R v_free,
                              const R inv_D, const R p_v_attractive, const R p_v_repulsive, const R v_p, const R cp,
                              R &h_p, R &h_T) {
    h_p = ((v_free + b_mix) * p_v_attractive - T * a_T * inv_D + b_mix * p_v_repulsive) * v_p;
    if constexpr (M::translated) h_p -= shift_mix;
    h_T = cp;
}

// e = h - p v
template <class M, class R> POINT_FN void internal_energy(const M &, const R p, const R vol, const R h, R &e) {
    e = h - p * vol;
}
