// A phase of equation `mapped`: V = w - C, C = sum_k c_k x^k - tau(T), x = B/w. At constant T, with K = -ln(w - B) + I
// and the cubic's psi replaced by L,
//   F = n (ln V + K) - D L/(RT),  I = sum_k k c_k I_k/B,  L = psi + sum_k k c_k J_(k+1)/B^2
// (I_k, J_k: volume_map.h). c_k and tau are sums over the species. K and L are known as functions of w, and
//   F_i  = (F_i)_w - pi C_i,  pi = p/(RT)
//   F_ij = (F_ij)_w - pi C_ij - P_i C_j - P_j C_i + P_V C_i C_j
// where ( )_w is the derivative of n K - D L/(RT) at constant w, C_i = dC/dn_i at constant T and w,
//   P_V = (P_V)_w/h,  P_i = (P_i)_w + P_V C_i,  h = dV/dw.
// From V = w - C and dF/dV = n/V - pi: dw/dn_i = C_i/h at constant V.
#pragma once
#include "gas/equations/mapped.h"
#include "gas/phases/equation.h"

template <class M> struct PhaseEquation<M, true> {
    static constexpr int NS = M::NS;
    static constexpr double HIGHEST = HIGHEST_PRESSURE;

    template <class R> struct Parts {
        VolumeMap<R> map;      // of the amounts [m3]
        R C_T, C_TT, least_T;  // derivatives in T at constant w; that of `least`
        R x, C, moment, pi, I; // C, sum k c_k x^k and so on at w
        R K_B, K_BB;           // derivatives of I in B at constant w
        // Derivatives in c_k, k = 1, 2, 3, at constant w: of K, K_B, L, L_B, L_delta
        R K_c[3], K_Bc[3], L_c[3], L_Bc[3], L_dc[3];
        R C_i[NS], K_i[NS], L_i[NS]; // C_i; sums over k of the derivatives in c_k times c_ki
    };

    // F_ij gains the symmetric products of 1 and A, D_i and of_D, delta_i and of_d, C_i and of_C, and X more of b
    template <class R> struct CurvatureParts {
        R A[NS], of_D[NS], of_d[NS], of_C[NS];
    };

    // c_ki, k = 1, 2, 3 [m3/mol]
    static POINT_FN double coefficient(const M &m, const int k, const int i) {
        return m.map_numbers[k * NS + i] * m.W[i];
    }

    template <class R> static POINT_FN R over_coefficients(const M &m, const R (&factor)[3], const int i) {
        return factor[0] * coefficient(m, 1, i) + factor[1] * coefficient(m, 2, i) + factor[2] * coefficient(m, 3, i);
    }

    template <class R> static POINT_FN R least(const M &m, const R T, const int k) {
        const scalar *const numbers = &m.map_numbers[0];
        const double of_map = numbers[k] + numbers[NS + k] + numbers[2 * NS + k] + numbers[3 * NS + k];
        return m.phase_b[k] + m.W[k] * (numbers[4 * NS + k] * inverse_of_swelling(m, T, k) - of_map);
    }

    template <class R> static POINT_FN R critical_volume(const M &m, const R T, const R *z, const R B) {
        VolumeMap<R> map;
        R C_T, C_TT;
        map_sums(m, T, Masses<M, R>{m, z}, map, C_T, C_TT);
        return m.phase_critical[0] * B - map_value(map, R(1.0 / m.phase_critical[0]));
    }

    template <class R, class F> static POINT_FN void add_sums(const M &m, const R T, const R *x, F &f) {
        map_sums(m, T, Masses<M, R>{m, x}, f.map, f.C_T, f.C_TT);
        f.least = f.B - map_value(f.map, R(1.0));
        f.least_T = -f.C_T;
    }

    template <class F> static POINT_FN void place(const M &, F &f) { f.free = free_volume_of(f.map, f.B, f.V); }

    // room = free + C(1) - C(x) without their difference
    template <class F> static POINT_FN void measure(F &f) {
        const auto w = f.free + f.B;
        const auto inv_w = inverse(w);
        const auto x = f.B * inv_w;
        const auto steep = f.map.c1 + f.map.c2 * (1.0 + x) + f.map.c3 * (1.0 + x * (1.0 + x));
        f.room = f.free * (1.0 + steep * inv_w);
        f.V = w - map_value(f.map, x);
    }

    template <class R, class F> static POINT_FN R log_of_free(const R, const F &v, const F &l) {
        return log(v.free * l.inv_free);
    }

    template <class R, class F, class Lean>
    static POINT_FN R root(const M &m, const R T, const R p, const F &f, const Lean &lean) {
        if constexpr (!is_absent<Lean>) {
            const auto known = p > 0.0 && p <= HIGHEST_PRESSURE;
            return leaning_root(m, T, R(select(known, p, R(NOT_A_NUMBER))), f, map_of_root(f.map, f.B), lean);
        } else {
            R Z, V, free, C, C_w;
            mapped_root(m, T, p, R(R_UNIVERSAL), f.D, f.B, f.map.c0, f.map.c1, f.map.c2, f.map.c3, f.delta, Z, V, free,
                        C, C_w);
            return free;
        }
    }

    // The map at w, p, and P_V at constant T
    template <class R, class F> static POINT_FN void add_stiffness(const Attraction<M, R> &at, F &f) {
        const R inv_w = inverse(R(f.free + f.B));
        f.x = f.B * inv_w;
        f.C = map_value(f.map, f.x);
        f.moment = map_moment(f.map, f.x);
        f.pi = f.n * f.inv_free + f.D * f.psi_V * at.inv_RT;
        f.P_V = f.P_V * inverse(R(1.0 + f.moment * inv_w));
    }

    // C_i, and P_i at constant V
    template <class R, class F> static POINT_FN void add_pressure_slopes(const M &m, const Attraction<M, R> &at, F &f) {
        const R moment_over_b = f.moment * inverse(f.B);
        FOR_SPECIES (k, NS) f.C_i[k] = (own_map(m, f.x, k) + moment_over_b * m.b_mass[k]) * m.W[k];
        for_swelling(m, at.T, [&](const int k, const R tau, const R) INLINED { f.C_i[k] -= tau * m.W[k]; });
        FOR_SPECIES (k, NS) f.P_i[k] += f.P_V * f.C_i[k];
    }

    // psi becomes L; L_s, L_ss: derivatives of psi in delta1 + delta2
    template <class R, class F> static POINT_FN void add_energy_slopes(const M &m, const R L_s, const R L_ss, F &f) {
        const auto eos = shape(m, f.delta);
        const R x = f.x;
        const R w = f.free + f.B;
        const R inv_B = inverse(f.B);
        const R inv_B2 = inv_B * inv_B;
        const R inv_product = inverse(eos.product);
        MapIntegrals<R> in;
        free_integrals(x, R(-log(f.free * (x * inv_B))), in);
        shape_integrals(eos, x, R(f.B * f.psi), inv_product, in);
        shape_slopes(eos, R(f.B * L_s), inv_product, in);

        // Second derivatives of J_k in delta1 + delta2, by the derivative of the recursion for J_slope
        const R inv_Delta = inverse(in.Delta);
        const R bend = (x - x * x) * inv_Delta;
        R J_curved[5];
        J_curved[0] = f.B * L_ss;
        J_curved[1] =
            0.5 * inv_product * (4.0 * in.J_slope[1] - bend * bend - eos.sum * J_curved[0] - 2.0 * in.J_slope[0]);
        UNROLL
        for (int k = 2; k < 5; ++k)
            J_curved[k] =
                inv_product * (2.0 * (in.J_slope[k] - in.J_slope[k - 1]) - eos.sum * J_curved[k - 1] - J_curved[k - 2]);

        // From delta1 + delta2 to delta1
        const R inv_more = inverse(R(1.0 + f.delta));
        const R slope_d = 4.0 * inv_more * inv_more * inv_more;
        const R slope = eos.slope;
        const R slope2 = slope * slope;

        // Parts of each c_k. With I_x = x^k/(1 - x), J_x = x^(k+1)/Delta: of I_k/B the derivatives in B are
        // (x I_x - I)/B^2, (x^2 I_xx - 2 x I_x + 2 I)/B^3; of J/B^2 they are (x J_x - 2 J)/B^3,
        // (x^2 J_xx - 4 x J_x + 6 J)/B^4
        const R c[3] = {f.map.c1, f.map.c2, f.map.c3};
        const R rest = w * f.inv_free; // 1/(1 - x)
        const R steep = x * (eos.sum + 2.0 * (eos.product * x)) * inv_Delta;
        R power = R(1.0), I = R(0.0), psi = R(0.0), psi_B = R(0.0), psi_BB = R(0.0), psi_d = R(0.0), psi_Bd = R(0.0),
          psi_dd = R(0.0);
        f.K_B = f.K_BB = R(0.0);
        UNROLL
        for (int k = 1; k < 4; ++k) {
            const int n = k - 1;
            power = power * x;
            const R xI_x = x * power * rest;
            const R x2I_xx = xI_x * (k + x * rest);
            const R xJ_x = x * x * power * inv_Delta;
            const R x2J_xx = xJ_x * ((k + 1.0) - steep);
            const R J_d = in.J_slope[k + 1] * slope;
            const R xJ_xd = -(xJ_x * bend) * slope;
            f.K_c[n] = k * in.I[k] * inv_B;
            f.K_Bc[n] = k * (xI_x - in.I[k]) * inv_B2;
            f.L_c[n] = k * in.J[k + 1] * inv_B2;
            f.L_Bc[n] = k * (xJ_x - 2.0 * in.J[k + 1]) * (inv_B2 * inv_B);
            f.L_dc[n] = k * J_d * inv_B2;

            I += c[n] * f.K_c[n];
            f.K_B += c[n] * f.K_Bc[n];
            f.K_BB += c[n] * (k * (x2I_xx - 2.0 * (xI_x - in.I[k]))) * (inv_B2 * inv_B);
            psi += c[n] * f.L_c[n];
            psi_B += c[n] * f.L_Bc[n];
            psi_BB += c[n] * (k * (x2J_xx - 4.0 * xJ_x + 6.0 * in.J[k + 1])) * (inv_B2 * inv_B2);
            psi_d += c[n] * f.L_dc[n];
            psi_Bd += c[n] * (k * (xJ_xd - 2.0 * J_d)) * (inv_B2 * inv_B);
            psi_dd += c[n] * (k * (J_curved[k + 1] * slope2 + in.J_slope[k + 1] * slope_d)) * inv_B2;
        }
        f.I = I;
        f.psi += psi;
        f.psi_B += psi_B;
        f.psi_BB += psi_BB;
        f.psi_d += psi_d;
        f.psi_Bd += psi_Bd;
        f.psi_dd += psi_dd;

        FOR_SPECIES (k, NS) {
            f.K_i[k] = over_coefficients(m, f.K_c, k);
            f.L_i[k] = over_coefficients(m, f.L_c, k);
        }
    }

    template <class R, class F>
    static POINT_FN void add_fugacities(const M &m, const Attraction<M, R> &at, const F &f, R *out) {
        const R of_L = -f.D * at.inv_RT;
        FOR_SPECIES (k, NS) out[k] += f.I + f.n * (f.K_B * m.phase_b[k] + f.K_i[k]) + of_L * f.L_i[k] - f.pi * f.C_i[k];
    }

    // U gains T p C', with C' = dC/dT at constant w
    template <class R, class F, class E>
    static POINT_FN void add_energy(const M &m, const Attraction<M, R> &at, const F &f, E &e) {
        const R T = at.T;
        const R p = at.RT * f.pi;
        const R p_V = at.RT * f.P_V;
        const R rest = T * f.D_T - f.D;
        const R p_T_at_w = R_UNIVERSAL * f.n * f.inv_free + f.D_T * f.psi_V;
        e.U += T * p * f.C_T;
        e.U_V += T * p_V * f.C_T;
        e.C_v += T * ((2.0 * p_T_at_w + p_V * f.C_T) * f.C_T + p * f.C_TT);
        FOR_SPECIES (k, NS) { e.U_i[k] += rest * (f.L_i[k] + f.psi_V * f.C_i[k]) + T * at.RT * f.P_i[k] * f.C_T; }
        for_swelling(m, T, [&](const int k, const R, const R rate) INLINED { e.U_i[k] += T * p * (rate * m.W[k]); });
    }

    template <class R, class F> static POINT_FN void add_entropy(const Attraction<M, R> &at, const F &f, R &entropy) {
        entropy += at.RT * f.pi * f.C_T - R_UNIVERSAL * f.n * f.I;
    }

    // p + V p_V of the cubic is p + w (p_V)_w; V/h - w = (w C_w - C)/h with w C_w = -moment
    template <class R, class F> static POINT_FN void add_pull(const Attraction<M, R> &at, const F &f, R &pull) {
        pull -= at.RT * f.P_V * (f.moment + f.C);
    }

    // The change of room by that of `least` in T
    template <class R, class F> static POINT_FN void add_swelling(const F &f, const R dT, R &room) {
        room -= f.least_T * dT;
    }

    template <class R, class F, class Sums>
    static POINT_FN void add_curvature(const M &m, const Attraction<M, R> &at, const F &f, const R share, Sums &c) {
        // C_ij = (y_i b_j + y_j b_i)/B + b_i b_j sum k (k - 1) c_k x^k/B^2 with y_i = sum k c_ki x^k
        const R of_L = -share * f.D * at.inv_RT;
        const R of_K = share * f.n;
        const R of_C = -share * f.pi;
        const R inv_B = 1.0 / f.B;
        const R second = f.x * f.x * (f.map.c2 + 3.0 * (f.map.c3 * f.x));
        const R one = share * f.K_B;
        const R b = 0.5 * (of_K * f.K_BB) + of_C * (second * (inv_B * inv_B));

        R with_b[3], power = R(1.0);
        UNROLL
        for (int n = 0; n < 3; ++n) {
            power = power * f.x;
            with_b[n] = of_K * f.K_Bc[n] + of_L * f.L_Bc[n] + of_C * ((n + 1.0) * power * inv_B);
        }
        FOR_SPECIES (k, NS) {
            c.A[k] = share * f.K_i[k];
            c.common.X[k] += one + b * m.phase_b[k] + over_coefficients(m, with_b, k);
            c.of_D[k] = -share * at.inv_RT * f.L_i[k];
            c.of_d[k] = of_L * over_coefficients(m, f.L_dc, k);
            c.of_C[k] = share * (0.5 * f.P_V * f.C_i[k] - f.P_i[k]);
        }
    }

    template <class R, class F, class Sums>
    static POINT_FN void add_element(const M &, const F &f, const Sums &c, const int i, const int j, R &sum) {
        sum += c.A[i] + c.A[j];
        sum += c.of_D[i] * f.D_i[j] + c.of_D[j] * f.D_i[i] + c.of_d[i] * f.delta_i[j] + c.of_d[j] * f.delta_i[i];
        sum += c.of_C[i] * f.C_i[j] + c.of_C[j] * f.C_i[i];
    }

    template <class R, class F, class Sums>
    static POINT_FN void add_product(const M &, const F &f, const Sums &c, const R *w, R *out) {
        R of_1 = R(0.0), of_A = R(0.0), D = R(0.0), of_D = R(0.0), d = R(0.0), of_d = R(0.0), C = R(0.0), of_C = R(0.0);
        FOR_SPECIES (k, NS) {
            of_1 += w[k];
            of_A += c.A[k] * w[k];
            D += f.D_i[k] * w[k];
            of_D += c.of_D[k] * w[k];
            d += f.delta_i[k] * w[k];
            of_d += c.of_d[k] * w[k];
            C += f.C_i[k] * w[k];
            of_C += c.of_C[k] * w[k];
        }
        FOR_SPECIES (k, NS)
            out[k] += of_A + c.A[k] * of_1 + c.of_D[k] * D + f.D_i[k] * of_D + c.of_d[k] * d + f.delta_i[k] * of_d +
                      c.of_C[k] * C + f.C_i[k] * of_C;
    }

    TEMPERATURES_OF_ONE_PHASE(mapped_temperature)
    template <class R, class Species>
    static POINT_FN void from_p_rho(const M &m, const R p, const R rho, const Species &Y, const R R_s, const R T_start,
                                    R &T, R &unconverged) {
        R Z, vol, free, shift, shift_w;
        mapped_temperature_from_p_rho_start(m, p, rho, Y, R_s, T_start, T, unconverged, Z, vol, free, shift, shift_w);
    }
};
