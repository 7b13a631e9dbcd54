// The equation of state as a function of T and the partial densities x_k [kg/m3], for ideal gases and cubic equations:
// p, the derivatives of p and of the energy U of a cubic metre, ln gamma_k (fugacity) and its derivatives. All follow
// from the residual Helmholtz energy of a cubic metre [J/m3],
//   F(T, x) = -T N ln w - A L(V, B)
//   V = 1 + sum s_k x_k (s: volume translation),  B = sum b_k x_k,  w = V - B
//   N = sum R_k x_k,  A = sum a_kj x_k x_j
//   L = integral of dV/D from V to infinity,  D = (V + delta1 B)(V + delta2 B)
//   R_k T ln gamma_k = dF/dx_k
// If each species has a delta1, L and D also depend on delta1 + delta2 of the mixture, and so on each density. For
// equation `mapped`, mapped_densities.h has the parts of the map.
// Subscripts are partial derivatives: L_V, L_B, A_T, ...
#pragma once
#include "gas/equations/mapped_densities.h"

// Whether v follows from the root of the cubic by a map.
template <class M> constexpr bool mapped() {
    if constexpr (M::equation_ideal) return false;
    else return M::mapped;
}

template <class R, bool MAPPED> struct PartsOfMap {
    MappedDensities<R> of_map;
};
template <class R> struct PartsOfMap<R, false> {};

// F and its parts at one state.
template <class M, class R> struct Partial : PartsOfMap<R, mapped<M>()> {
    R T, N;
    R w_inv, A, A_T, A_TT, L, L_V, L_B, inv_D, D_V, D_B, B, V;
    R S[M::equation_ideal ? 1 : M::NS], S_T[M::equation_ideal ? 1 : M::NS]; // S_k = sum_j a_kj x_j, dS_k/dT
    // Only if each species has a delta1: sum = delta1 + delta2, dL/d sum, d sum/d delta1, delta1, 1/amount of
    // substance.
    R sum, L_s, of_delta, delta, inv_moles;
};

// Whether each species has a delta1.
template <class M> constexpr bool shaped() {
    if constexpr (M::equation_ideal) return false;
    else return M::deltas_by_species;
}

// s_k and R_k of a species
template <class M> POINT_FN double shift_of(const M &m, int k) {
    if constexpr (M::translated) return m.shift_mass[k];
    else return 0.0;
}

template <class M> POINT_FN double gas_constant(const M &m, int k) { return R_UNIVERSAL * m.inv_W[k]; }

// The sum of the parts of all threads that share the point (each adds the species of its FOR_OWN loops).
template <class R> POINT_FN R summed(const R part) {
    return over_owners(part, [](const R a, const R b) { return a + b; });
}

// L(V, B). For dual numbers the derivatives L_V = -1/D and L_B = (V/D - L)/B are used directly: nothing inside L has to
// be differentiated.
template <class Shape, class R> POINT_FN R departure_of(const Shape &eos, const R V, const R B, const R, const R) {
    return departure_integral(eos, B, R(1.0 / (V + (0.5 * eos.sum) * B)));
}

template <class R> POINT_FN R slope_in_sum(const MixedShape<R> &eos, const R V, const R B, const R L) {
    return departure_slope(eos, B, R(1.0 / (V + (0.5 * eos.sum) * B)), L);
}

template <class R>
POINT_FN Dual<R> departure_of(const MixedShape<Dual<R>> &eos, const Dual<R> V, const Dual<R> B, const Dual<R> inv_D,
                              const Dual<R> inv_B) {
    const MixedShape<R> still{eos.delta1.v,     eos.delta2.v, eos.sum.v,  eos.product.v,
                              eos.half_gap_2.v, eos.linear.v, eos.slope.v};
    const R L = departure_of(still, V.v, B.v, inv_D.v, inv_B.v);
    const R L_B = (V.v * inv_D.v - L) * inv_B.v;
    return moving(L, R(L_B * B.d[0] - inv_D.v * V.d[0] + slope_in_sum(still, V.v, B.v, L) * eos.sum.d[0]));
}

template <class Shape, class R>
POINT_FN Dual<R> departure_of(const Shape &eos, const Dual<R> V, const Dual<R> B, const Dual<R> inv_D,
                              const Dual<R> inv_B) {
    const R L = departure_of(eos, V.v, B.v, inv_D.v, inv_B.v);
    const R L_B = (V.v * inv_D.v - L) * inv_B.v;
    return moving(L, R(L_B * B.d[0] - inv_D.v * V.d[0]));
}

// Fills Partial for T and x. CURVED: A_TT too, by a dual number in T.
template <bool CURVED, class M, class R>
POINT_FN void partial_state(const M &m, const R T, const R *x, Partial<M, R> &s) {
    s.T = T;
    s.N = R(0.0);
    FOR_OWN (k, M::NS) s.N += gas_constant(m, k) * x[own(k)];
    s.N = summed(s.N);
    if constexpr (!M::equation_ideal) {
        // V, B, w and D
        const auto eos = shape(m, delta_of(m, x));
        s.V = R(1.0), s.B = R(0.0);
        FOR_SPECIES (k, M::NS) {
            s.B += m.b_mass[k] * x[k];
            if constexpr (M::translated) s.V += m.shift_mass[k] * x[k];
        }
        if constexpr (shaped<M>()) {
            R moles = R(0.0);
            FOR_SPECIES (k, M::NS) moles += m.inv_W[k] * x[k];
            s.inv_moles = 1.0 / moles;
            s.sum = eos.sum;
            s.delta = eos.delta1;
            s.of_delta = eos.slope;
        }
        if constexpr (mapped<M>()) place_map(m, T, x, eos, s);
        else {
            const R w = s.V - s.B;
            s.w_inv = 1.0 / select(w > 0.0, w, R(NOT_A_NUMBER));
            s.inv_D = 1.0 / (s.V * s.V + s.B * (eos.sum * s.V + eos.product * s.B));
            s.D_V = 2.0 * s.V + eos.sum * s.B;
            s.D_B = eos.sum * s.V + (2.0 * eos.product) * s.B;

            // L and its derivatives; L(tV, tB) = L/t gives L_B.
            const R inv_B = 1.0 / s.B;
            s.L = departure_of(eos, s.V, s.B, s.inv_D, inv_B);
            s.L_V = -s.inv_D;
            s.L_B = (s.V * s.inv_D - s.L) * inv_B;
            if constexpr (shaped<M>()) s.L_s = slope_in_sum(eos, s.V, s.B, s.L);
        }

        // A and its derivatives in T, species by species
        s.A = s.A_T = s.A_TT = R(0.0);
        if constexpr (CURVED) {
            Dual<R> along[M::NS], at;
            at = moving(T, R(1.0));
            FOR_SPECIES (k, M::NS) along[k] = still<1>(x[k]);
            attraction_slopes(m, at, along, [&](int k, const Dual<R> S, const Dual<R> S_T) {
                s.S[k] = S.v;
                s.S_T[k] = S_T.v;
                s.A += x[k] * S.v;
                s.A_T += x[k] * S_T.v;
                s.A_TT += x[k] * S_T.d[0];
            });
        } else
            attraction_slopes(m, T, x, [&](int k, const R S, const R S_T) {
                s.S[k] = S;
                s.S_T[k] = S_T;
                s.A += x[k] * S;
                s.A_T += x[k] * S_T;
            });
        if constexpr (mapped<M>()) press_map(T, s);
    }
}

// dU/dV at constant T and x: T p_T - p without the ideal parts, which cancel
template <class M, class R> POINT_FN R energy_of_volume(const R T, const Partial<M, R> &s) {
    const R of_cubic = (s.A - T * s.A_T) * s.inv_D;
    if constexpr (mapped<M>()) return of_cubic + T * s.of_map.p_V * s.of_map.C_T;
    else return of_cubic;
}

// rho of the root at T and p
template <class M, class R, class Species>
POINT_FN R density_of_root(const M &m, const R T, const R p, const Species &Y, const R R_s) {
    if constexpr (M::equation_ideal) return p / (R_s * T);
    else if constexpr (mapped<M>()) {
        MappedState<R> s;
        mapped_mixture_state(m, T, Y, s);
        mapped_root_state(m, T, p, R_s, delta_of(m, Y), s);
        return 1.0 / s.vol;
    } else {
        R a, a_T, a_TT, b, shift, Z, vol, v_free;
        cubic_mixture(m, T, Y, a, a_T, a_TT, b, shift);
        cubic_root(m, T, p, R_s, a, b, shift, delta_of(m, Y), Z, vol, v_free);
        return 1.0 / vol;
    }
}

// d delta1/dx_k and d sum/dx_k
template <class M, class R> POINT_FN R delta_slope(const M &m, const Partial<M, R> &s, const int k) {
    return s.inv_moles * (m.delta_numbers[k] - s.delta * m.delta_numbers[M::NS + k]);
}

template <class M, class R> POINT_FN R sum_slope(const M &m, const Partial<M, R> &s, const int k) {
    return s.of_delta * delta_slope(m, s, k);
}

// p = T N/w - A/D
template <class M, class R> POINT_FN R partial_pressure(const M &, const Partial<M, R> &s) {
    if constexpr (M::equation_ideal) return s.T * s.N;
    else return s.T * s.N * s.w_inv - s.A * s.inv_D;
}

// Derivatives of p and U in T and in the partial densities: U_T = rho cv, U_x = h_k - T p_T v_k.
template <class M, class R> struct PartialSlopes {
    R p, p_T, U_T, p_x[owned(M::NS)], U_x[owned(M::NS)];
};

template <class M, class R>
POINT_FN void partial_slopes(const M &m, const R *x, const Partial<M, R> &s, PartialSlopes<M, R> &o) {
    // The ideal-gas parts of U
    const R T = s.T;
    const R ln_T = log_for_ideal(m, T);
    o.p = partial_pressure(m, s);
    o.U_T = R(0.0);
    FOR_OWN (k, M::NS) {
        o.U_x[own(k)] = species_ideal<false>(m, T, ln_T, k) - gas_constant(m, k) * T;
        o.U_T += x[own(k)] * (species_cp(m, T, k) - gas_constant(m, k));
    }
    o.U_T = summed(o.U_T);

    // p, and the residual parts
    if constexpr (M::equation_ideal) {
        o.p_T = s.N;
        FOR_OWN (k, M::NS) o.p_x[own(k)] = gas_constant(m, k) * T;
    } else if constexpr (mapped<M>()) add_mapped_slopes(m, s, o);
    else {
        const R of_w = T * s.N * (s.w_inv * s.w_inv);
        const R of_D = s.A * (s.inv_D * s.inv_D);
        const R of_L = s.A - T * s.A_T;
        o.p_T = s.N * s.w_inv - s.A_T * s.inv_D;
        o.U_T += T * s.A_TT * s.L;
        FOR_SPECIES (k, M::NS) {
            const double b = m.b_mass[k];
            const double c = shift_of(m, k);
            o.p_x[k] = gas_constant(m, k) * T * s.w_inv + (b - c) * of_w - 2.0 * (s.S[k] * s.inv_D) +
                       of_D * (c * s.D_V + b * s.D_B);
            o.U_x[k] -= 2.0 * (s.S[k] - T * s.S_T[k]) * s.L + of_L * (b * s.L_B + c * s.L_V);
            if constexpr (shaped<M>()) {
                const R own = sum_slope(m, s, k);
                o.p_x[k] += of_D * (s.B * (s.V - s.B)) * own;
                o.U_x[k] -= of_L * s.L_s * own;
            }
        }
    }
}

// ln gamma_k = [T (b - s) N/w - 2 S_k L - A L_k]/(R_k T) - ln w with L_k = dL/dx_k, and d ln gamma_k/dT at constant x.
// For cubic equations only.
template <class M, class R>
POINT_FN void partial_activities(const M &m, const Partial<M, R> &s, R *ln_gamma, R *ln_gamma_T) {
    if constexpr (mapped<M>()) mapped_activities(m, s, ln_gamma, ln_gamma_T);
    else {
        const R T = s.T;
        const R inv_T = 1.0 / T;
        const R ln_w = -log(s.w_inv);
        const R Nw = s.N * s.w_inv;
        const R slope = s.A_T - s.A * inv_T;
        FOR_SPECIES (k, M::NS) {
            const double b = m.b_mass[k];
            const double c = shift_of(m, k);
            const R inv_RT = inv_T * (m.W[k] * (1 / R_UNIVERSAL));
            R L_k = b * s.L_B + c * s.L_V;
            if constexpr (shaped<M>()) L_k += s.L_s * sum_slope(m, s, k);
            ln_gamma[k] = (T * (b - c) * Nw - 2.0 * (s.S[k] * s.L) - s.A * L_k) * inv_RT - ln_w;
            ln_gamma_T[k] = -(2.0 * (s.S_T[k] - s.S[k] * inv_T) * s.L + slope * L_k) * inv_RT;
        }
    }
}

// The change of ln gamma_k for changes dx of the densities. Four sums over k are enough: of R_k dx_k, b_k dx_k, s_k
// dx_k and S_k dx_k. This needs a_kj = S_k S_j/A, a product of a factor of k and a factor of j.
template <class M, class R>
POINT_FN R activity_along(const M &m, const Partial<M, R> &s, const int k, const R of_R, const R of_b, const R of_c,
                          const R of_S) {
    const R T = s.T;
    const R L_VV = s.D_V * (s.inv_D * s.inv_D);
    const R L_BV = s.D_B * (s.inv_D * s.inv_D);
    const R L_BB = -(2.0 * s.L_B + s.V * L_BV) / s.B;
    const double b = m.b_mass[k];
    const double c = shift_of(m, k);

    // Second derivatives of F, row k, times dx
    const R of_w = of_c - of_b;
    const R of_L = s.L_B * of_b + s.L_V * of_c;
    const R in_w = T * s.w_inv * (s.N * s.w_inv * of_w - of_R);
    const R in_R = -(T * s.w_inv * of_w);
    const R in_b = -(2.0 * of_S * s.L_B + s.A * (L_BB * of_b + L_BV * of_c));
    const R in_c = -(2.0 * of_S * s.L_V + s.A * (L_BV * of_b + L_VV * of_c));
    const R sum =
        in_w * (c - b) + in_R * gas_constant(m, k) + in_b * b + in_c * c - 2.0 * (s.S[k] * (of_S / s.A * s.L + of_L));
    return sum * (m.W[k] * (1 / R_UNIVERSAL)) / T;
}

// sum_k y_k d ln gamma_k/dx_j for all j, by calls of use(j, sum). It is the matrix of second derivatives of F times the
// vector v_k = y_k/(R_k T).
template <class M, class R, class Use>
POINT_FN void cubic_curvature(const M &m, const Partial<M, R> &s, const R *y, const Use &use) {
    const R T = s.T;
    const R inv_T = 1.0 / T;
    const R inv_B = 1.0 / s.B;
    const R L_VV = s.D_V * (s.inv_D * s.inv_D);
    const R L_BV = s.D_B * (s.inv_D * s.inv_D);
    const R L_BB = -(2.0 * s.L_B + s.V * L_BV) * inv_B;

    // Sums over k: `of_b` is sum b_k v_k, and so on.
    R v[M::NS], of_R = R(0.0), of_b = R(0.0), of_c = R(0.0), of_S = R(0.0), of_delta = R(0.0), of_moles = R(0.0);
    FOR_SPECIES (k, M::NS) {
        v[k] = y[k] * (inv_T * (m.W[k] * (1 / R_UNIVERSAL)));
        of_R += gas_constant(m, k) * v[k];
        of_b += m.b_mass[k] * v[k];
        of_c += shift_of(m, k) * v[k];
        of_S += s.S[k] * v[k];
        if constexpr (shaped<M>()) {
            of_delta += delta_slope(m, s, k) * v[k];
            of_moles += s.inv_moles * m.inv_W[k] * v[k];
        }
    }

    // Factors of R_j, b_j, s_j in row j
    const R of_w = of_c - of_b;
    R of_L = s.L_B * of_b + s.L_V * of_c;
    const R w_j = T * s.w_inv * (s.N * s.w_inv * of_w - of_R);
    const R R_j = -(T * s.w_inv * of_w);
    R b_j = -(2.0 * of_S * s.L_B + s.A * (L_BB * of_b + L_BV * of_c));
    R c_j = -(2.0 * of_S * s.L_V + s.A * (L_BV * of_b + L_VV * of_c));
    R delta_j = R(0.0);
    R moles_j = R(0.0);
    if constexpr (shaped<M>()) {
        // Derivatives of L_V, L_B and L_s in the sum; L_Bs follows from L(tV, tB) = L/t.
        const R of_sum = s.of_delta * of_delta;
        const R inv_more = 1.0 / (1.0 + s.delta);
        const R L_Vs = s.B * (s.V - s.B) * (s.inv_D * s.inv_D);
        const R L_Bs = -(s.L_s + s.V * L_Vs) * inv_B;
        const Dual<R> sum = moving(s.sum, R(1.0)), none(0.0);
        const MixedShape<Dual<R>> eos{none, none, sum, 1.0 - sum, 0.25 * sum * sum + sum - 1.0, 2.0 + sum, none};
        const R L_ss = slope_in_sum(eos, still<1>(s.V), still<1>(s.B), moving(s.L, s.L_s)).d[0];
        of_L += s.L_s * of_sum;
        b_j -= s.A * L_Bs * of_sum;
        c_j -= s.A * L_Vs * of_sum;

        // Second derivatives of the sum. Those of delta1 are -(delta_k/(W_j n) + delta_j/(W_k n)), n the amount of
        // substance and delta_k = d delta1/dx_k.
        const R A_L_s = s.A * s.L_s;
        delta_j = -s.of_delta * (2.0 * of_S * s.L_s + s.A * (L_Bs * of_b + L_Vs * of_c + L_ss * of_sum)) -
                  A_L_s * (4.0 * (inv_more * inv_more * inv_more) * of_delta - s.of_delta * of_moles);
        moles_j = A_L_s * of_sum * s.inv_moles;
    }

    attraction_slopes(m, T, v, [&](int j, const R of_a, const R) {
        const double b = m.b_mass[j];
        const double c = shift_of(m, j);
        R own = w_j * (c - b) + R_j * gas_constant(m, j) + b_j * b + c_j * c - 2.0 * (of_a * s.L + s.S[j] * of_L);
        if constexpr (shaped<M>()) own += delta_j * delta_slope(m, s, j) + moles_j * m.inv_W[j];
        use(j, own);
    });
}

template <class M, class R, class Use>
POINT_FN void activity_curvature(const M &m, const Partial<M, R> &s, const R *y, const Use &use) {
    if constexpr (mapped<M>()) mapped_activity_curvature(m, s, y, use);
    else cubic_curvature(m, s, y, use);
}
