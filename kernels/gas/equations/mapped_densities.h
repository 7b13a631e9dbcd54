// Equation `mapped` as a function of T and the partial densities x_k (partial_densities.h). Of masses x_k in a cubic
// metre, V = 1,
//   F(T, x) = T N K - A L,  K = I - ln w,  w = W - B,  W - C(T, W) = V.
// K and L are functions of V, B, the coefficients c_j - tau of C and, L, of delta1 + delta2 (volume_map.h). All but the
// last are linear in x. With ' for d/dT at constant W,
//   F_V = -p = A/D - T N/w,  U = F - T F_T = (T A_T - A) L + T p C',
//   dp/dx_k = (dp/dx_k at constant W) + p_V C_k,  C_k = dC/dx_k at constant T, W.
#pragma once
#include "engine/numbers/dual.h"
#include "gas/equations/mapped.h"

// ---- integrals of dual numbers: a series has the slope of the function that it stands for

template <class V, int N> POINT_FN Dual<V, N> log_of_shape(const Dual<V, N> Delta_less_one) {
    return with_slope(Delta_less_one, V(log_of_shape(Delta_less_one.v)), V(1.0 / (1.0 + Delta_less_one.v)));
}

template <class Shape, class V, int N> POINT_FN Dual<V, N> atanh_within(const Shape &eos, const Dual<V, N> w) {
    const V F = atanh_within(eos, w.v);
    return with_slope(w, F, V(atanh_slope(w.v, F)));
}

// Newton's method for the value. One step more, on the moving numbers, gives their slopes.
template <class V, int N>
POINT_FN Dual<V, N> free_volume_of(const VolumeMap<Dual<V, N>> &map, const Dual<V, N> B, const Dual<V, N> volume) {
    const VolumeMap<V> values = volume_map(map.c0.v, map.c1.v, map.c2.v, map.c3.v);
    const Dual<V, N> w = still<N>(free_volume_of(values, B.v, volume.v));
    Dual<V, N> C, C_W;
    map_at(map, B, w, C, C_W);
    return w - (w + (B - volume) - C) / (1.0 - C_W);
}

// ---- a state

template <class R> struct MappedDensities {
    VolumeMap<R> map;
    R w, C_T, C_TT;     // C', C''
    R x, moment_over_b; // B/W and sum_k k c_k x^k/B, for C_k
    R p, p_V, p_T_at_W;
    MapGradients<R> g;
};

// Fills what does not depend on A: s.of_map, and of s all of w, D and L. State: Partial.
template <class M, class R, class Shape, class State>
POINT_FN void place_map(const M &m, const R T, const R *x, const Shape &eos, State &s) {
    auto &own = s.of_map;
    map_sums(m, known_temperature(T), x, own.map, own.C_T, own.C_TT);
    own.w = free_volume_of(own.map, s.B, s.V);
    const R W = own.w + s.B;
    s.w_inv = 1.0 / own.w;
    s.inv_D = 1.0 / (own.w * own.w + s.B * (eos.linear * own.w + eos.constant * s.B));
    s.D_V = 2.0 * W + eos.sum * s.B;
    s.D_B = eos.sum * W + (2.0 * eos.product) * s.B;

    own.x = s.B / W;
    own.moment_over_b = map_moment(own.map, own.x) / s.B;
    map_gradients(eos, own.map, s.B, own.w, s.w_inv, s.inv_D, own.g);
    s.L = own.g.L;
    s.L_V = -s.inv_D;
    s.L_B = own.g.L_b;
    s.L_s = own.g.L_sum;
}

// Fills what depends on A.
template <class R, class State> POINT_FN void press_map(const R T, State &s) {
    auto &own = s.of_map;
    R C, C_W;
    map_at(own.map, s.B, own.w, C, C_W);
    const R p_W = s.A * s.D_V * (s.inv_D * s.inv_D) - T * s.N * (s.w_inv * s.w_inv);
    own.p = T * s.N * s.w_inv - s.A * s.inv_D;
    own.p_V = p_W / (1.0 - C_W);
    own.p_T_at_W = s.N * s.w_inv - s.A_T * s.inv_D;
}

// Derivatives in x_k at constant T and V of p, of U but for the ideal gas, and of F but for R_k T K.
template <class R> struct MappedRow {
    R p, U, F;
};

template <class M, class R, class State>
POINT_FN MappedRow<R> mapped_row(const M &m, const R T, const State &s, const int k) {
    const auto &own = s.of_map;
    const scalar b = m.b_mass[k];
    const R of_sum = sum_slope(m, s, k);
    const R of_D = s.A * (s.inv_D * s.inv_D);
    const MapSlope<R> C = map_slope(m, T, own.x, own.moment_over_b, k);
    const R L = own.g.L_b * b + over_map(m, T, own.g.L_c, k) + own.g.L_sum * of_sum;
    const R K = own.g.K_b * b + over_map(m, T, own.g.K_c, k);

    const R p_at_W = gas_constant(m, k) * T * s.w_inv + b * (T * s.N * (s.w_inv * s.w_inv) + of_D * s.D_B) -
                     2.0 * (s.S[k] * s.inv_D) + of_D * (s.B * own.w) * of_sum;
    const R p = p_at_W + own.p_V * C.shift;
    const R U = (T * s.A_T - s.A) * L - 2.0 * (s.S[k] - T * s.S_T[k]) * s.L + T * (p * own.C_T + own.p * C.rate);
    return {p, U, R(T * s.N * K - 2.0 * (s.S[k] * s.L) - s.A * L)};
}

// Slopes: PartialSlopes with the parts of the ideal gas in U_T, U_x.
template <class M, class State, class Slopes> POINT_FN void add_mapped_slopes(const M &m, const State &s, Slopes &o) {
    const auto T = s.T;
    const auto &own = s.of_map;
    o.p_T = own.p_T_at_W + own.p_V * own.C_T;
    o.U_T += T * (s.A_TT * s.L + (2.0 * own.p_T_at_W + own.p_V * own.C_T) * own.C_T + own.p * own.C_TT);
    FOR_SPECIES (k, M::NS) {
        const auto row = mapped_row(m, T, s, k);
        o.p_x[k] = row.p;
        o.U_x[k] += row.U;
    }
}

// ln gamma_k = K + F_k/(R_k T), and its derivative in T at constant x: d(F_k/T)/dT = -U_k/T^2.
template <class M, class R, class State>
POINT_FN void mapped_activities(const M &m, const State &s, R *ln_gamma, R *ln_gamma_T) {
    const R inv_T = 1.0 / s.T;
    const R K = s.of_map.g.I + log(s.w_inv);
    FOR_SPECIES (k, M::NS) {
        const MappedRow<R> row = mapped_row(m, s.T, s, k);
        const R inv_RT = inv_T * (m.W[k] * (1 / R_UNIVERSAL));
        ln_gamma[k] = row.F * inv_RT + K;
        ln_gamma_T[k] = -(row.U * inv_RT * inv_T);
    }
}

// ---- second derivatives

// A change of the densities: what the sums over them change by.
template <class R> struct MappedChange {
    R N, B, A, sum, c[4];
};

// Changes along it of K, L, T N K_b - A L_b, T N K_c - A L_c and -A L_sum.
template <class R> struct MappedCurvature {
    R K, L, of_b, of_c[4], of_sum;
};

// The gradients of K and L, on numbers that move
template <class R, class State>
POINT_FN MappedCurvature<R> mapped_curvature(const R T, const State &s, const MappedChange<R> &by) {
    const auto &own = s.of_map;
    const Dual<R> none(0.0), sum = moving(s.sum, by.sum), B = moving(s.B, by.B);
    const MixedShape<Dual<R>> eos{none, none, sum, 1.0 - sum, 0.25 * sum * sum + sum - 1.0, 2.0 + sum, none};
    const VolumeMap<Dual<R>> map = volume_map(moving(own.map.c0, by.c[0]), moving(own.map.c1, by.c[1]),
                                              moving(own.map.c2, by.c[2]), moving(own.map.c3, by.c[3]));

    // w = V - B + C(W): dw = (dC at constant w - dB)/(1 - C_W)
    Dual<R> C, C_W;
    map_at(map, B, still<1>(own.w), C, C_W);
    const Dual<R> w = moving(own.w, R((C.d[0] - by.B) / (1.0 - C_W.v)));

    MapGradients<Dual<R>> g;
    map_gradients(eos, map, B, w, 1.0 / w, 1.0 / (w * w + B * (eos.linear * w + eos.constant * B)), g);
    const Dual<R> TN = moving(R(T * s.N), R(T * by.N)), A = moving(s.A, by.A);
    MappedCurvature<R> o;
    o.K = g.I.d[0] - w.d[0] * s.w_inv;
    o.L = g.L.d[0];
    o.of_b = (TN * g.K_b - A * g.L_b).d[0];
    o.of_sum = -(A * g.L_sum).d[0];
    UNROLL
    for (int j = 0; j < 4; ++j) o.of_c[j] = (TN * g.K_c[j] - A * g.L_c[j]).d[0];
    return o;
}

// As activity_curvature of partial_densities.h.
template <class M, class R, class State, class Use>
POINT_FN void mapped_activity_curvature(const M &m, const State &s, const R *y, const Use &use) {
    constexpr int NS = M::NS;
    const R T = s.T;
    const R inv_T = 1.0 / T;
    R v[NS], of_S = R(0.0), of_delta = R(0.0), of_moles = R(0.0), swollen = R(0.0);
    MappedChange<R> by;
    by.N = by.B = R(0.0);
    UNROLL
    for (int j = 0; j < 4; ++j) by.c[j] = R(0.0);

    // The change v_k = y_k/(R_k T), and the sums over it
    const scalar *const numbers = &m.map_numbers[0];
    FOR_SPECIES (k, NS) {
        v[k] = y[k] * (inv_T * (m.W[k] * (1 / R_UNIVERSAL)));
        by.N += gas_constant(m, k) * v[k];
        by.B += m.b_mass[k] * v[k];
        of_S += s.S[k] * v[k];
        of_delta += delta_slope(m, s, k) * v[k];
        of_moles += s.inv_moles * m.inv_W[k] * v[k];
        swollen += v[k] * (numbers[4 * NS + k] * inverse_of_swelling(m, T, k));
        UNROLL
        for (int j = 0; j < 4; ++j) by.c[j] += v[k] * numbers[j * NS + k];
    }
    by.A = 2.0 * of_S;
    by.sum = s.of_delta * of_delta;
    by.c[0] -= swollen;
    const MappedCurvature<R> o = mapped_curvature(T, s, by);

    // The second derivatives of delta1 + delta2, as in cubic_curvature
    const R inv_more = 1.0 / (1.0 + s.delta);
    const R A_L_s = s.A * s.L_s;
    const R delta_j =
        s.of_delta * o.of_sum - A_L_s * (4.0 * (inv_more * inv_more * inv_more) * of_delta - s.of_delta * of_moles);
    const R moles_j = A_L_s * by.sum * s.inv_moles;

    attraction_slopes(m, T, v, [&](int j, const R of_a, const R) {
        use(j, T * gas_constant(m, j) * o.K + o.of_b * m.b_mass[j] + over_map(m, T, o.of_c, j) +
                   delta_j * delta_slope(m, s, j) + moles_j * m.inv_W[j] - 2.0 * (of_a * s.L + s.S[j] * o.L));
    });
}
