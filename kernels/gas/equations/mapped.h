// An equation of state whose volume is a map of the root of a cubic:
//   p(T, v) = R T/(w - b) - a(T)/D,  D = (w + delta1 b)(w + delta2 b),  v = w - C(T, w),
//   C = c0 + c1 x + c2 x^2 + c3 x^3 - tau(T),  x = b/w.
// c_k and tau are sums over the species, per kg. The cubic keeps its roots, its critical T and p, and its spinodal; all
// else integrates in closed form. Bodies call the body of the cubic and add the map's terms. With a prime for d/dT at
// constant w, C' = -tau', and h = dv/dw = 1 - C_w:
//   p_v = p_w/h,  p_T = (p_T)_w + p_v C'
//   A_res = -R T ln((w - b)/v) + R T I - a L,  I = integral of (h - 1)/(w - b), L = integral of h/D, dw from w up
// Derived here; the identities are tests.
#pragma once
#include "gas/equations/derivatives.h"
#include "gas/equations/inversion.h"
#include "gas/equations/mapped_mixture.h"

constexpr double HIGHEST_PRESSURE = 1e9; // Pa; far above, v of water and methanol passes zero

// ---- roots

template <class M, class R, class Delta>
POINT_FN void mapped_root(const M &m, const R T, const R p, const R R_s, const R a_mix, const R b_mix, const R map_0,
                          const R map_1, const R map_2, const R map_3, const Delta delta_mix, R &Z, R &vol, R &v_free,
                          R &shift_mix, R &shift_w) {
    const auto known = p > 0.0 && p <= HIGHEST_PRESSURE;
    const R RT = R_s * T;
    const R inv = 1.0 / (RT * select(known, p, R(NOT_A_NUMBER)));
    const R inv_RT = inv * p;
    const R v_ideal = inv * RT * RT;
    const R inv_ideal = inv_RT * p;

    const R B = b_mix * inv_ideal;
    const R A = a_mix * inv_RT * inv_ideal;
    const VolumeMap<R> map = volume_map(map_0, map_1, map_2, map_3);
    const R u = free_root(m, A, B, delta_mix, map_of_root(map, b_mix));

    v_free = u * v_ideal;
    map_at(map, b_mix, v_free, shift_mix, shift_w);
    Z = u + B - shift_mix * inv_ideal;
    vol = v_free + b_mix - shift_mix;
}

// p of a density, however high
template <class M, class R, class Delta>
POINT_FN void pressure_of_density(const M &m, const R rho, const R T, const R R_s, const R a_mix, const R b_mix,
                                  const VolumeMap<R> &map, const Delta delta_mix, R &p, R &vol, R &v_free, R &shift_mix,
                                  R &shift_w) {
    const auto eos = shape(m, delta_mix);
    vol = 1.0 / rho;
    v_free = free_volume_of(map, b_mix, vol);
    map_at(map, b_mix, v_free, shift_mix, shift_w);
    p = R_s * T / v_free - a_mix / (v_free * v_free + b_mix * (eos.linear * v_free + eos.constant * b_mix));
}

template <class M, class R, class Delta>
POINT_FN void mapped_pressure(const M &m, const R rho, const R T, const R R_s, const R a_mix, const R b_mix,
                              const R map_0, const R map_1, const R map_2, const R map_3, const Delta delta_mix, R &p,
                              R &Z, R &vol, R &v_free, R &shift_mix, R &shift_w) {
    pressure_of_density(m, rho, T, R_s, a_mix, b_mix, volume_map(map_0, map_1, map_2, map_3), delta_mix, p, vol, v_free,
                        shift_mix, shift_w);
    p = select(p <= HIGHEST_PRESSURE, p, R(NOT_A_NUMBER));
    Z = p * vol / (R_s * T);
}

// ---- properties

// p_v = p_w/h and its parts, p_T at constant v
template <class M, class R, class Delta>
POINT_FN void mapped_pressure_slopes(const M &m, const R T, const R R_s, const R a_mix, const R a_T, const R b_mix,
                                     const R v_free, const R inv_free, const R inv_D, const R shift_w, const R shift_T,
                                     const Delta delta_mix, R &p_v_attractive, R &p_v_repulsive, R &p_v, R &p_T,
                                     R &v_p) {
    const R slope = 1.0 - shift_w;
    const R inverse = 1.0 / slope;
    R p_w, w_p;
    cubic_pressure_slopes(m, T, R_s, a_mix, a_T, b_mix, v_free, inv_free, inv_D, delta_mix, p_v_attractive,
                          p_v_repulsive, p_w, p_T, w_p);
    p_v_attractive = p_v_attractive * inverse;
    p_v_repulsive = p_v_repulsive * inverse;
    p_v = p_w * inverse;
    v_p = w_p * slope;
    p_T += p_v * shift_T;
}

// b I, with log_free = ln(1 - x):
//   b I = (c1 + 2 c2 + 3 c3)(-ln(1 - x) - x) - (2 c2 + 3 c3) x^2/2 - c3 x^3
template <class R> POINT_FN R free_part(const VolumeMap<R> &map, const R x, const R log_free) {
    const R from_2 = 2.0 * map.c2 + 3.0 * map.c3;
    const R from_1 = map.c1 + from_2;
    return from_1 * (-log_free - x) - (x * x) * (0.5 * from_2 + map.c3 * x);
}

// b^2 L, the integrals of volume_map.h written out:
//   b^2 L = A2 x + A3 x^2/2 + A4 x^3/3 + A1 ln Delta + (b - A2 - sum A1) J_0
// A4 .. A1 are what the recursion of the J_k leaves to each term. With P = 1 + delta1 x and Q = 1 + delta2 x,
// ln Delta = ln P + ln Q and J_0 = (ln P - ln Q)/(delta1 - delta2). In a thin gas the error is 1e-16.
template <class Shape, class R>
POINT_FN R attractive_part(const Shape &eos, const VolumeMap<R> &map, const R b_mix, const R x, const R inv_product,
                           const R inv_gap) {
    const R A4 = inv_product * (3.0 * map.c3);
    const R A3 = inv_product * (2.0 * map.c2 - eos.sum * A4);
    const R A2 = inv_product * (map.c1 - A4 - eos.sum * A3);
    const R A1 = (-0.5 * inv_product) * (A3 + eos.sum * A2);
    const R of_J0 = inv_gap * (b_mix - A2 - eos.sum * A1);
    return x * (A2 + x * (0.5 * A3 + (1.0 / 3.0) * A4 * x)) + (A1 + of_J0) * log(1.0 + eos.delta1 * x) +
           (A1 - of_J0) * log(1.0 + eos.delta2 * x);
}

// L and I
template <class M, class R, class Delta>
POINT_FN void mapped_departure(const M &m, const R b_mix, const R v_free, const R inv_centred, const R map_1,
                               const R map_2, const R map_3, const Delta delta_mix, R &cubic_L, R &map_I) {
    const auto eos = shape(m, delta_mix);
    const VolumeMap<R> map = volume_map(R(0.0), map_1, map_2, map_3);

    R inverses[] = {v_free + b_mix, b_mix, eos.product, eos.delta1 - eos.delta2};
    invert_all(inverses);
    const R inv_w = inverses[0];
    const R inv_b = inverses[1];
    const R x = b_mix * inv_w;
    const R log_free = log(v_free * inv_w);
    map_I = free_part(map, x, log_free) * inv_b;

    if constexpr (IN_SINGLE) { // what is written out loses three digits
        MapIntegrals<R> s;
        cubic_L = departure_integral(eos, b_mix, inv_centred);
        shape_integrals(eos, x, R(b_mix * cubic_L), inverses[2], s);
        cubic_L += of_shape(map, s.J) * (inv_b * inv_b);
    } else cubic_L = attractive_part(eos, map, b_mix, x, inverses[2], inverses[3]) * (inv_b * inv_b);
}

// h = h_ig + R T (Z - 1) + (T a' - a) L + T p C'
template <class M, class R>
POINT_FN void mapped_enthalpy(const M &m, const R T, const R p, const R R_s, const R h_ig, const R Z, const R a_mix,
                              const R a_T, const R cubic_L, const R shift_T, R &h) {
    cubic_enthalpy(m, T, R_s, h_ig, Z, a_mix, a_T, cubic_L, h);
    h += T * p * shift_T;
}

// s = s_ig + R ln(p (w - b)/(R T)) + a' L - R I + p C'
template <class M, class R>
POINT_FN void mapped_entropy(const M &m, const R T, const R p, const R R_s, const R s_ig, const R v_free, const R a_T,
                             const R cubic_L, const R map_I, const R shift_T, R &s) {
    cubic_entropy(m, T, p, R_s, s_ig, v_free, a_T, cubic_L, s);
    s += p * shift_T - R_s * map_I;
}

// s+ = -s_res(T, rho)/R = ln(v/(w - b)) - a' L/R + I - p C'/R
template <class M, class R>
POINT_FN void mapped_residual_entropy(const M &m, const R p, const R R_s, const R a_T, const R vol, const R inv_free,
                                      const R cubic_L, const R map_I, const R shift_T, R &residual_entropy) {
    cubic_residual_entropy(m, R_s, a_T, vol, inv_free, cubic_L, residual_entropy);
    residual_entropy += map_I - p * shift_T / R_s;
}

// cv = cp_ig - R + T a'' L + T (2 (p_T)_w C' + p_v C'^2 + p C'')
template <class M, class R>
POINT_FN void mapped_cv(const M &m, const R T, const R p, const R R_s, const R cp_ig, const R a_TT, const R cubic_L,
                        const R p_v, const R p_T, const R shift_T, const R shift_TT, R &cv) {
    cubic_cv(m, T, R_s, cp_ig, a_TT, cubic_L, cv);
    cv += T * ((2.0 * p_T - p_v * shift_T) * shift_T + p * shift_TT);
}

// h_p = v + T p_T/p_v, written without the ideal-gas parts, which cancel:
//   (w p_attractive + (b + C_w (w - b)) p_repulsive - T a'/D)/p_v - C + T C'
template <class M, class R>
POINT_FN void mapped_enthalpy_slopes(const M &, const R T, const R a_T, const R b_mix, const R v_free, const R inv_D,
                                     const R p_v_attractive, const R p_v_repulsive, const R v_p, const R cp,
                                     const R shift_mix, const R shift_w, const R shift_T, R &h_p, R &h_T) {
    h_p = ((v_free + b_mix) * p_v_attractive - T * a_T * inv_D + (b_mix + shift_w * v_free) * p_v_repulsive) * v_p +
          (T * shift_T - shift_mix);
    h_T = cp;
}

// e as a function of v and T: de/dv = T p_T - p = (a - T a')/D + T p_v C'
template <class M, class R>
POINT_FN void mapped_energy_slopes(const M &, const R a_mix, const R a_T, const R T, const R inv_D, const R p_T,
                                   const R v_p, const R cv, const R shift_T, R &e_p, R &e_T) {
    e_p = (a_mix - T * a_T) * inv_D * v_p + T * shift_T;
    e_T = cv - e_p * p_T;
}

// ---- in the composition

// C_k, derivative of the map in m_k at constant T and W = w of the masses m: c_0k - tau_k + sum_j c_jk x^j + sum_j j
// c_j x^j b_k/b. rate: that of C'.
template <class R> struct MapSlope {
    R shift, rate;
};

// sum_j c_jk x^j
template <class M, class R> POINT_FN R own_map(const M &m, const R x, const int k) {
    const scalar *const numbers = &m.map_numbers[0];
    constexpr int NS = M::NS;
    return numbers[k] + x * (numbers[NS + k] + x * (numbers[2 * NS + k] + x * numbers[3 * NS + k]));
}

template <class M, class R>
POINT_FN MapSlope<R> map_slope(const M &m, const R T, const R x, const R moment_over_b, const int k) {
    const R r = inverse_of_swelling(m, T, k);
    const R tau = m.map_numbers[4 * M::NS + k] * r;
    return {own_map(m, x, k) - tau + moment_over_b * m.b_mass[k], tau * r};
}

// use(k, tau_k, -tau_k') of the few species that swell: a division for each
template <class M, class R, class Use> POINT_FN void for_swelling(const M &m, const R T, const Use &use) {
    for_few<typename M::Swelling>([&](const auto s) INLINED {
        const R r = inverse_of_swelling(m, T, int(s));
        const R tau = of_species(&m.map_numbers[4 * M::NS], s) * r;
        use(int(s), tau, R(tau * r));
    });
}

// sum_j c[j] c_jk, with c_0k - tau_k for c_0k
template <class M, class R> POINT_FN R over_map(const M &m, const R T, const R (&c)[4], const int k) {
    constexpr int NS = M::NS;
    const scalar *const numbers = &m.map_numbers[0];
    const R tau = numbers[4 * NS + k] * inverse_of_swelling(m, T, k);
    return c[0] * (numbers[k] - tau) + c[1] * numbers[NS + k] + c[2] * numbers[2 * NS + k] + c[3] * numbers[3 * NS + k];
}

// v_k = -p_k/p_v with p_k = dp/dm_k at constant T, V: (p_k)_w + p_v C_k. From E_k at constant T, V,
//   h_k = h_k,ig - R_k T + 2 (T S_k' - S_k) L + (T a' - a) L_k + T (p_T)_w v_k + T p C'_k
template <class M, class R, class Species, class Delta, class OutV, class OutH, class OutE>
POINT_FN void mapped_partial_properties(const M &m, const R T, const R p, const Species &Y, const R R_s, const R a_mix,
                                        const R a_T, const R b_mix, const R v_free, const R inv_free, const R inv_D,
                                        const R p_T, const R p_v, const R v_p, const R cubic_L, const R map_0,
                                        const R map_1, const R map_2, const R map_3, const R shift_T,
                                        const Delta delta_mix, OutV &v_Y, OutH &h_Y, OutE &e_Y) {
    const auto eos = shape(m, delta_mix);
    const VolumeMap<R> map = volume_map(map_0, map_1, map_2, map_3);
    const R D_b = eos.sum * v_free + (eos.sum + 2.0 * eos.product) * b_mix;
    const R x = b_mix / (v_free + b_mix);
    const R of_b = R_s * T * (inv_free * inv_free) + a_mix * D_b * (inv_D * inv_D);
    const R of_gas = inv_free * R_UNIVERSAL * T;
    const R p_of_sum = a_mix * b_mix * v_free * (inv_D * inv_D);
    const R moment_over_b = map_moment(map, x) / b_mix;
    const R two_L = 2.0 * cubic_L;
    const R two_inv_D = 2.0 * inv_D;
    const R T_p_T = T * (p_T - p_v * shift_T);
    const R of_L = T * a_T - a_mix;
    const R ln_T = log_for_ideal(m, T);
    MapGradients<R> g;
    map_gradients(eos, map, b_mix, v_free, inv_free, inv_D, g);

    attraction_slopes(m, T, Y, [&](int k, const R S, const R S_T) {
        const MapSlope<R> own = map_slope(m, T, x, moment_over_b, k);
        const R p_k = of_gas * m.inv_W[k] + of_b * m.b_mass[k] - two_inv_D * S + shape_slope(m, eos, R_s, p_of_sum, k);
        const R v_k = -(p_k * v_p) - own.shift;
        const R L_k = g.L_b * m.b_mass[k] + over_map(m, T, g.L_c, k) + shape_slope(m, eos, R_s, g.L_sum, k);
        const R h_k = species_ideal<false>(m, T, ln_T, k) - R_UNIVERSAL * T * m.inv_W[k] + two_L * (T * S_T - S) +
                      of_L * L_k + T_p_T * v_k + T * p * own.rate;
        v_Y.set(k, v_k);
        h_Y.set(k, h_k);
        e_Y.set(k, h_k - p * v_k);
    });
}

// R_k T ln phi_k = R_k T (I - ln(p (w - b)/(R_s T))) + R_s T I_k - 2 S_k L - a L_k
template <class M, class R, class Species, class Delta, class Out>
POINT_FN void mapped_fugacity(const M &m, const R T, const R p, const Species &Y, const R R_s, const R a_mix,
                              const R b_mix, const R v_free, const R inv_free, const R inv_D, const R cubic_L,
                              const R map_I, const R map_0, const R map_1, const R map_2, const R map_3,
                              const Delta delta_mix, Out &ln_phi) {
    const auto eos = shape(m, delta_mix);
    const R RT = R_s * T;
    const R own = map_I - log(p * v_free / RT);
    const R inv_RT = 1.0 / (R_UNIVERSAL * T);
    const R two_L = 2.0 * cubic_L;
    MapGradients<R> g;
    map_gradients(eos, volume_map(map_0, map_1, map_2, map_3), b_mix, v_free, inv_free, inv_D, g);

    const R of_b = RT * g.K_b - a_mix * g.L_b;
    const R of_sum = a_mix * g.L_sum;
    R of_c[4];
    UNROLL
    for (int k = 0; k < 4; ++k) of_c[k] = RT * g.K_c[k] - a_mix * g.L_c[k];

    attraction_slopes(m, T, Y, [&](int k, const R S, const R) {
        const R work = of_b * m.b_mass[k] + over_map(m, T, of_c, k) - two_L * S - shape_slope(m, eos, R_s, of_sum, k);
        ln_phi.set(k, work * (m.W[k] * inv_RT) + own);
    });
}

// ---- inversions

// A state by the bodies above, at w - b
template <class R> struct MappedState {
    R a, a_T, a_TT, b, shift, shift_w, shift_T, shift_TT, p, Z, vol, v_free, rho, inv_free, inv_D, inv_centred,
        p_v_attractive, p_v_repulsive, p_v, p_T, v_p, L, I, cp_ig, h_ig, cv, cp;
    VolumeMap<R> map;
};

template <class M, class R, class Species>
POINT_FN void mapped_mixture_state(const M &m, const R T, const Species &Y, MappedState<R> &s) {
    mapped_mixture(m, T, Y, s.a, s.a_T, s.a_TT, s.b, s.map.c0, s.map.c1, s.map.c2, s.map.c3, s.shift_T, s.shift_TT);
}

// Everything that follows from p, v and w
template <class M, class R, class Species, class Delta>
POINT_FN void mapped_thermal_state(const M &m, const R T, const Species &Y, const R R_s, const Delta delta,
                                   MappedState<R> &s) {
    cubic_reciprocals(m, s.b, s.v_free, s.vol, delta, s.rho, s.inv_free, s.inv_D, s.inv_centred);
    mapped_pressure_slopes(m, T, R_s, s.a, s.a_T, s.b, s.v_free, s.inv_free, s.inv_D, s.shift_w, s.shift_T, delta,
                           s.p_v_attractive, s.p_v_repulsive, s.p_v, s.p_T, s.v_p);
    mapped_departure(m, s.b, s.v_free, s.inv_centred, s.map.c1, s.map.c2, s.map.c3, delta, s.L, s.I);
    ideal_gas(m, T, Y, s.cp_ig, s.h_ig);
    mapped_cv(m, T, s.p, R_s, s.cp_ig, s.a_TT, s.L, s.p_v, s.p_T, s.shift_T, s.shift_TT, s.cv);
    heat_capacity_p(m, T, s.cv, s.p_T, s.v_p, s.cp);
}

template <class M, class R, class Delta>
POINT_FN void mapped_root_state(const M &m, const R T, const R p, const R R_s, const Delta delta, MappedState<R> &s) {
    mapped_root(m, T, p, R_s, s.a, s.b, s.map.c0, s.map.c1, s.map.c2, s.map.c3, delta, s.Z, s.vol, s.v_free, s.shift,
                s.shift_w);
}

template <class M, class R, class Species>
POINT_FN void mapped_state(const M &m, const R T, const R p, const Species &Y, const R R_s, MappedState<R> &s) {
    const auto delta = delta_of(m, Y);
    s.p = p;
    mapped_mixture_state(m, T, Y, s);
    mapped_root_state(m, T, p, R_s, delta, s);
    mapped_thermal_state(m, T, Y, R_s, delta, s);
}

template <class M, class R, class Species>
POINT_FN void mapped_temperature_from_h_p_start(const M &m, const R h, const R p, const Species &Y, const R R_s,
                                                const R T_start, R &T, R &unconverged) {
    temperature_of(
        m, h, T_start,
        [&](const R at, R &value, R &slope) {
            MappedState<R> s;
            mapped_state(m, at, p, Y, R_s, s);
            mapped_enthalpy(m, at, p, R_s, s.h_ig, s.Z, s.a, s.a_T, s.L, s.shift_T, value);
            slope = s.cp;
        },
        T, unconverged);
}

template <class M, class R, class Species>
POINT_FN void mapped_temperature_from_h_p(const M &m, const R h, const R p, const Species &Y, const R R_s, R &T,
                                          R &unconverged) {
    mapped_temperature_from_h_p_start(m, h, p, Y, R_s, start_of_enthalpy(m, h, Y), T, unconverged);
}

template <class M, class R, class Species>
POINT_FN void mapped_temperature_from_s_p_start(const M &m, const R s, const R p, const Species &Y, const R W,
                                                const R R_s, const R T_start, R &T, R &unconverged) {
    const R mixing = entropy_of_mixing(m, p, Y, W);
    temperature_of(
        m, s, T_start,
        [&](const R at, R &value, R &slope) {
            MappedState<R> state;
            mapped_state(m, at, p, Y, R_s, state);
            mapped_entropy(m, at, p, R_s, entropy_of_temperature(m, at, Y) - mixing, state.v_free, state.a_T, state.L,
                           state.I, state.shift_T, value);
            slope = state.cp / at;
        },
        T, unconverged);
}

template <class M, class R, class Species>
POINT_FN void mapped_temperature_from_s_p(const M &m, const R s, const R p, const Species &Y, const R W, const R R_s,
                                          R &T, R &unconverged) {
    mapped_temperature_from_s_p_start(m, s, p, Y, W, R_s, start_of_entropy(m, s, p, Y, W), T, unconverged);
}

// At constant density no root is to be chosen. e = h - p v. With partial densities for Y, N = sum rho_k R_k for R_s and
// 1 for rho it is the state of a cubic metre.
template <class M, class R, class Species, class Delta>
POINT_FN void mapped_state_of_density(const M &m, const R T, const R rho, const Species &Y, const R R_s,
                                      const Delta delta, MappedState<R> &s, R &e) {
    mapped_mixture_state(m, T, Y, s);
    pressure_of_density(m, rho, T, R_s, s.a, s.b, s.map, delta, s.p, s.vol, s.v_free, s.shift, s.shift_w);
    mapped_thermal_state(m, T, Y, R_s, delta, s);
    e = s.h_ig - R_s * T + (T * s.a_T - s.a) * s.L + T * s.p * s.shift_T;
}

template <class M, class R, class Species>
POINT_FN void mapped_temperature_from_e_rho_start(const M &m, const R e, const R rho, const Species &Y, const R R_s,
                                                  const R T_start, R &T, R &unconverged) {
    const auto delta = delta_of(m, Y);
    temperature_of(
        m, e, T_start,
        [&](const R at, R &value, R &slope) {
            MappedState<R> s;
            mapped_state_of_density(m, at, rho, Y, R_s, delta, s, value);
            slope = s.cv;
        },
        T, unconverged);
}

template <class M, class R, class Species>
POINT_FN void mapped_temperature_from_e_rho(const M &m, const R e, const R rho, const Species &Y, const R R_s, R &T,
                                            R &unconverged) {
    mapped_temperature_from_e_rho_start(m, e, rho, Y, R_s, start_of_energy(m, e, Y, R_s), T, unconverged);
}

// Z, vol, v_free and the map are those of the density, which chooses the root, at the T that is found.
template <class M, class R, class Species>
POINT_FN void mapped_temperature_from_p_rho_start(const M &m, const R p, const R rho, const Species &Y, const R R_s,
                                                  const R T_start, R &T, R &unconverged, R &Z, R &vol, R &v_free,
                                                  R &shift_mix, R &shift_w) {
    const auto delta = delta_of(m, Y);
    temperature_of(
        m, select(p <= HIGHEST_PRESSURE, p, R(NOT_A_NUMBER)), T_start,
        [&](const R at, R &value, R &slope) {
            MappedState<R> s;
            mapped_mixture_state(m, at, Y, s);
            pressure_of_density(m, rho, at, R_s, s.a, s.b, s.map, delta, s.p, s.vol, s.v_free, s.shift, s.shift_w);
            cubic_reciprocals(m, s.b, s.v_free, s.vol, delta, s.rho, s.inv_free, s.inv_D, s.inv_centred);
            mapped_pressure_slopes(m, at, R_s, s.a, s.a_T, s.b, s.v_free, s.inv_free, s.inv_D, s.shift_w, s.shift_T,
                                   delta, s.p_v_attractive, s.p_v_repulsive, s.p_v, s.p_T, s.v_p);
            value = s.p;
            slope = s.p_T;
        },
        T, unconverged);

    R b, shift_T, shift_TT;
    VolumeMap<R> map;
    weighted_sum<M::NS>(b, m.b_mass, Y);
    map_sums(m, T, Y, map, shift_T, shift_TT);
    vol = 1.0 / rho;
    v_free = free_volume_of(map, b, vol);
    map_at(map, b, v_free, shift_mix, shift_w);
    Z = p * vol / (R_s * T);
}

template <class M, class R, class Species>
POINT_FN void mapped_temperature_from_p_rho(const M &m, const R p, const R rho, const Species &Y, const R R_s, R &T,
                                            R &unconverged, R &Z, R &vol, R &v_free, R &shift_mix, R &shift_w) {
    mapped_temperature_from_p_rho_start(m, p, rho, Y, R_s, R(T_PLAIN), T, unconverged, Z, vol, v_free, shift_mix,
                                        shift_w);
}

// I - a' L/R
template <class M, class R, class Delta>
POINT_FN R departure_entropy(const M &m, const R R_s, const R a_T, const R b_mix, const R v_free,
                             const VolumeMap<R> &map, const Delta delta_mix) {
    const auto eos = shape(m, delta_mix);

    if constexpr (IN_SINGLE) {
        R L, I;
        const R inv_centred = 1.0 / (v_free + (0.5 * eos.linear) * b_mix);
        mapped_departure(m, b_mix, v_free, inv_centred, map.c1, map.c2, map.c3, delta_mix, L, I);
        return I - a_T * L / R_s;
    }

    // 1/w, 1/b, 1/product, 1/gap and 1/R with a single division
    const R w = v_free + b_mix;
    const R gap = eos.delta1 - eos.delta2;
    const R volumes = w * b_mix;
    const R deltas = eos.product * gap;
    const R both = volumes * deltas;
    const R inv = 1.0 / (both * R_s);
    const R inv_R = inv * both;
    const R inv_both = inv * R_s;
    const R inv_volumes = inv_both * deltas;
    const R inv_w = inv_volumes * b_mix;
    const R inv_b = inv_volumes * w;
    const R inv_deltas = inv_both * volumes;

    const R x = b_mix * inv_w;
    const R b_I = free_part(map, x, R(log(v_free * inv_w)));
    const R b2_L = attractive_part(eos, map, b_mix, x, R(inv_deltas * gap), R(inv_deltas * eos.product));
    return inv_b * (b_I - (a_T * inv_R * inv_b) * b2_L);
}

// s+ at a given density
template <class M, class R, class Delta>
POINT_FN void mapped_residual_entropy_of_density(const M &m, const R rho, const R T, const R R_s, const R a_mix,
                                                 const R a_T, const R b_mix, const R map_0, const R map_1,
                                                 const R map_2, const R map_3, const R shift_T, const Delta delta_mix,
                                                 R &residual_entropy) {
    const VolumeMap<R> map = volume_map(map_0, map_1, map_2, map_3);
    const R v_free = free_volume_of(map, b_mix, R(1.0 / rho));

    // p C'/R with one division
    const auto eos = shape(m, delta_mix);
    const R D = v_free * v_free + b_mix * (eos.linear * v_free + eos.constant * b_mix);
    const R of_map = shift_T * (R_s * T * D - a_mix * v_free) / (R_s * v_free * D);

    residual_entropy = departure_entropy(m, R_s, a_T, b_mix, v_free, map, delta_mix) - log(v_free * rho) - of_map;
}
