// Derivatives in the composition. V(T, p, m), H and so on are those of masses m_k, homogeneous of degree 1 in them; a
// partial property is the derivative in m_k at constant T and p, and m = Y is put in after: V = v, H = h. At the end:
// of e and s in p and T.
#pragma once
#include "gas/equations/cubic.h"

// use(k, |g_k - q_k s|, d|g_k - q_k s|/d(-s), (Ky)_k, (Kz)_k) for every species k, with y and z of cubic_mixture and s
// = sqrt(T): K times two vectors, by panels of rows so that a species value serves several.
template <int ROWS, class M, class R, class Vectors, class First, class Row>
POINT_FN void row_panel(const M &m, const Vectors &yz, First first, const Row &row) {
    R sum_y[ROWS], sum_z[ROWS], y, z;
    UNROLL
    for (int i = 0; i < ROWS; ++i) sum_y[i] = sum_z[i] = R(0.0);

    FOR_SPECIES (j, M::NS) {
        yz(j, y, z);
        UNROLL
        for (int i = 0; i < ROWS; ++i) {
            sum_y[i] += y * m.kij_rows[j * M::NS + first + i];
            sum_z[i] += z * m.kij_rows[j * M::NS + first + i];
        }
    }

    UNROLL
    for (int i = 0; i < ROWS; ++i) row(first + i, sum_y[i], sum_z[i]);
}

// (Y M)_k with the three matrices of PairSums
template <int ROWS, class M, class R, class Species, class First, class Row>
POINT_FN void pair_panel(const M &m, const Species &Y, First first, const Row &row) {
    R constant[ROWS], linear[ROWS], square[ROWS];
    UNROLL
    for (int i = 0; i < ROWS; ++i) constant[i] = linear[i] = square[i] = R(0.0);

    FOR_SPECIES (j, M::NS) {
        const R y = Y[j];
        UNROLL
        for (int i = 0; i < ROWS; ++i) {
            constant[i] += y * m.pair_rows[j * M::NS + first + i];
            linear[i] += y * m.pair_rows[(M::NS + j) * M::NS + first + i];
            square[i] += y * m.pair_rows[(2 * M::NS + j) * M::NS + first + i];
        }
    }

    UNROLL
    for (int i = 0; i < ROWS; ++i) row(first + i, constant[i], linear[i], square[i]);
}

// panel(number of rows, first row), both constants where species are held in registers
template <class M, class Panel> POINT_FN void for_panels(const Panel &panel) {
    constexpr int P = M::NS < 4 ? M::NS : 4;
    constexpr int full = M::NS / P;
    constexpr int rest = M::NS % P;
#ifdef SPECIES_HELD
    for_constants<full>([&](auto i) { panel(Constant<P>(), Constant<i.value * P>()); });
#else
    for (int i = 0; i < full; ++i) panel(Constant<P>(), i * P);
#endif
    if constexpr (rest > 0) panel(Constant<rest>(), Constant<full * P>());
}

template <class M, class R, class Vectors, class Row>
POINT_FN void products_with_rows(const M &m, const Vectors &yz, const Row &row) {
    if constexpr (M::kij_dense || M::kij_sparse)
        for_panels<M>([&](auto rows, auto first) { row_panel<rows.value, M, R>(m, yz, first, row); });
    else {
        R sum_y = R(0.0);
        R sum_z = R(0.0);
        R y;
        R z;

        FOR_OWN (j, M::NS) {
            yz(j, y, z);
            sum_y += y;
            sum_z += z;
        }

        both_over_owners(sum_y, sum_z);
        if constexpr (M::kij_lowrank) {
            R a[M::KIJ_RANK], b[M::KIJ_RANK];
            UNROLL
            for (int r = 0; r < M::KIJ_RANK; ++r) {
                a[r] = b[r] = R(0.0);
                FOR_OWN (j, M::NS) {
                    yz(j, y, z);
                    a[r] += y * m.kij_factor[r * M::NS + j];
                    b[r] += z * m.kij_factor[r * M::NS + j];
                }

                both_over_owners(a[r], b[r]);
                a[r] = m.kij_sign[r] * a[r];
                b[r] = m.kij_sign[r] * b[r];
            }

            FOR_OWN (k, M::NS) {
                R of_y = sum_y;
                R of_z = sum_z;
                UNROLL
                for (int r = 0; r < M::KIJ_RANK; ++r) {
                    of_y -= m.kij_factor[r * M::NS + k] * a[r];
                    of_z -= m.kij_factor[r * M::NS + k] * b[r];
                }
                row(k, of_y, of_z);
            }
        } else {
            FOR_OWN (k, M::NS) row(k, sum_y, sum_z);
        }
    }
}

// The sums S_k, S_k' of attraction_slopes from the elements pair(s, y, z) of the vectors and row(k, (Ky)_k, (Kz)_k). On
// a CPU's stack nothing is computed twice.
template <class M, class R, class Pair, class Row>
POINT_FN void slopes_by_rows(const M &m, const Pair &pair, const Row &row) {
    if constexpr (number<R>::lanes > 1) {
        R y[M::NS], z[M::NS];
        FOR_SPECIES (s, M::NS) pair(s, y[s], z[s]);
        products_with_rows<M, R>(m, [&](int s, R &ys, R &zs) { ys = y[s], zs = z[s]; }, row);
    } else products_with_rows<M, R>(m, pair, row);
}

// Soave's alpha as published, and a smooth one where no species bends
template <class M, class R, class Species, class Use>
POINT_FN void straight_slopes(const M &m, const R root_T, const Species &Y, const Use &use) {
    const R half_inv_root = 0.5 / root_T;
    slopes_by_rows<M, R>(
        m,
        [&](int s, R &y, R &z) {
            const R root_a = m.g_mass[s] - m.q_mass[s] * root_T;
            const R n = flipped(Y[s], root_a);
            y = n * root_a;
            z = n * m.q_mass[s];
        },
        [&](int k, const R of_y, const R of_z) {
            const R root_a = m.g_mass[k] - m.q_mass[k] * root_T;
            use(k, fabs(root_a) * of_y,
                -half_inv_root * (flipped(R(m.q_mass[k]), root_a) * of_y + fabs(root_a) * of_z));
        });
}

template <class M, class R, class Species, class Use>
POINT_FN void bent_slopes(const M &m, const R root_T, const Species &Y, const Use &use) {
    const R half_inv_root = 0.5 / root_T;
    slopes_by_rows<M, R>(
        m,
        [&](int s, R &y, R &z) {
            R second;
            bent_root(m, root_T, s, y, z, second);
            y = Y[s] * y;
            z = Y[s] * z;
        },
        [&](int k, const R of_y, const R of_z) {
            R root, first, second;
            bent_root(m, root_T, k, root, first, second);
            use(k, root * of_y, -half_inv_root * (first * of_y + root * of_z));
        });
}

// The same, kept. Species by value: the copy has an address, the caller's stays in registers.
template <class M, class R, class Species>
RARE_FN void kept_bent_slopes(const M &m, const R root_T, const Species Y, R *S, R *S_T) {
    bent_slopes(m, root_T, Y, [&](int k, const R S_k, const R S_T_k) { S[k] = S_k, S_T[k] = S_T_k; });
}

#ifdef VECTORS_ALONE
#include "gas/equations/derivatives_alone.h"
#endif

// S_k = sum_i m_i a_ik, a_ik = sqrt(a_i a_k)(1 - k_ik) or that of the pair, half the derivative of a in m_k, and S_k':
// use(k, S_k, S_k')
template <class M, class R, class Species, class Use>
POINT_FN void attraction_slopes(const M &m, const R T, const Species &Y, const Use &use) {
    const R root_T = sqrt(known_temperature(T));
    if constexpr (SIDE_BY_SIDE<Species> && !M::by_pairs) slopes_side_by_side(m, known_temperature(T), root_T, Y, use);
    else if constexpr (M::by_pairs) {
        const R half_inv_root = 0.5 / root_T;
        const R inv_root = 2.0 * half_inv_root;

        for_panels<M>([&](auto rows, auto first) {
            pair_panel<rows.value, M, R>(m, Y, first, [&](int k, const R constant, const R linear, const R square) {
                if constexpr (M::alpha_general)
                    use(k, constant * inv_root + square * root_T,
                        (square - constant * (inv_root * inv_root)) * half_inv_root);
                else {
                    const R slope = linear - square * root_T;
                    use(k, constant - (linear + slope) * root_T, -slope * inv_root);
                }
            });
        });
    } else if constexpr (M::alpha_general)
        slopes_by_rows<M, R>(
            m,
            [&](int s, R &y, R &z) {
                R second;
                M::root_attraction(m, known_temperature(T), s, y, z, second);
                y = Y[s] * y;
                z = Y[s] * z;
            },
            [&](int k, const R of_y, const R of_z) {
                R root, root_T, root_TT;
                M::root_attraction(m, known_temperature(T), k, root, root_T, root_TT);
                use(k, root * of_y, root_T * of_y + root * of_z);
            });
    else if constexpr (M::alpha_bends) {
        if constexpr (!RARE_APART) bent_slopes(m, root_T, Y, use); // code of both would double long bodies
        else if (any_of(T > m.bend_T[0])) {                        // a thread decides for its own point
            R S[M::NS], S_T[M::NS];
            kept_bent_slopes(m, root_T, Y, S, S_T);
            FOR_SPECIES (k, M::NS) use(k, S[k], S_T[k]);
        } else straight_slopes(m, root_T, Y, use);
    } else straight_slopes(m, root_T, Y, use);
}

// h_ig of species k alone [J/kg]; WITH_ENTROPY: h_ig - T s_ig at the reference pressure
template <bool WITH_ENTROPY, class M, class R> POINT_FN R species_ideal(const M &m, const R T, const R ln_T, int k) {
    if constexpr (M::NASA9_RANGES > 0) {
        R c[9];
        UNROLL
        for (int i = 0; i < 9; ++i) c[i] = nasa9_coefficient(m, T, i, k);
        const R inv_T = 1.0 / T;
        const R h = c[7] - c[0] * inv_T + c[1] * ln_T +
                    T * (c[2] + T * (c[3] * 0.5 + T * (c[4] * (1.0 / 3.0) + T * (c[5] * 0.25 + T * (c[6] * 0.2)))));
        if constexpr (!WITH_ENTROPY) return h;
        else
            return h - T * (c[2] * ln_T - inv_T * (c[1] + inv_T * (c[0] * 0.5)) +
                            T * (c[3] + T * (c[4] * 0.5 + T * (c[5] * (1.0 / 3.0) + T * (c[6] * 0.25)))) + c[8]);
    } else {
        R c[7];
        nasa7_coefficients(m, T, k, c);
        const R h =
            c[5] + T * (c[0] + T * (c[1] * 0.5 + T * (c[2] * (1.0 / 3.0) + T * (c[3] * 0.25 + T * (c[4] * 0.2)))));
        if constexpr (!WITH_ENTROPY) return h;
        else
            return h - T * (c[0] * ln_T + T * (c[1] + T * (c[2] * 0.5 + T * (c[3] * (1.0 / 3.0) + T * (c[4] * 0.25)))) +
                            c[6]);
    }
}

template <class M, class R> POINT_FN R log_for_ideal(const M &, const R T) { // nine coefficients need it for h
    if constexpr (M::NASA9_RANGES > 0) return log(T);
    else return R(0.0);
}

// How the shape of D moves with the mass of species k, where delta1 is one of each: sum_k = d(delta1 + delta2)/dm_k =
// slope (delta1_k - delta1) W/W_k; of what depends on `of_sum` times that sum, the derivative.
template <class M, class R, class Shape, class Which>
POINT_FN auto shape_slope(const M &m, const Shape &eos, const R R_s, const R of_sum, const Which k) {
    if constexpr (M::deltas_by_species)
        return of_sum * (eos.slope * (R_UNIVERSAL / R_s)) *
               (of_species(m.delta_numbers, k) - eos.delta1 * of_species(m.delta_numbers + M::NS, k));
    else return R(0.0);
}

// v_k = -p_k/p_v with p_k = dp/dm_k at constant T, V. In h_k what would cancel, V p_k + V p_v v_k, is left out:
// h_k = h_k,ig - R_k T + 2 (T S_k' - S_k) L + (T a' - a)((V/D - L) b_k/b + L_sum sum_k) + T p_T v_k.
// The shape adds a b (V - b)/D^2 sum_k to p_k, as dD/d sum = b (V - b).
template <class M, class R, class Species, class Delta, class OutV, class OutH, class OutE>
POINT_FN void cubic_partial_properties(const M &m, const R T, const R p, const Species &Y, const R R_s, const R a_mix,
                                       const R a_T, const R b_mix, const R v_free, const R inv_free, const R inv_D,
                                       const R p_T, const R v_p, const R cubic_L, const Delta delta_mix, OutV &v_Y,
                                       OutH &h_Y, OutE &e_Y) {
    const auto eos = shape(m, delta_mix);
    const R D_b = eos.sum * v_free + (eos.sum + 2.0 * eos.product) * b_mix;
    const R v = v_free + b_mix;
    const R of_b = R_s * T * (inv_free * inv_free) + a_mix * D_b * (inv_D * inv_D);
    const R of_gas = inv_free * R_UNIVERSAL * T;
    const R h_of_b = (T * a_T - a_mix) * (v * inv_D - cubic_L) / b_mix;
    const R two_L = 2.0 * cubic_L;
    const R two_inv_D = 2.0 * inv_D;
    const R Tp_T = T * p_T;
    const R ln_T = log_for_ideal(m, T);
    R p_of_sum = R(0.0), h_of_sum = R(0.0);

    if constexpr (M::deltas_by_species) {
        p_of_sum = a_mix * b_mix * v_free * (inv_D * inv_D);
        h_of_sum =
            (T * a_T - a_mix) * departure_slope(eos, b_mix, R(1.0 / (v_free + 0.5 * eos.linear * b_mix)), cubic_L);
    }

    attraction_slopes(m, T, Y, [&](int k, const R S, const R S_T) {
        R v_k = two_inv_D * S - of_gas * m.inv_W[k] - of_b * m.b_mass[k];
        if constexpr (M::deltas_by_species) v_k -= shape_slope(m, eos, R_s, p_of_sum, k);
        v_k = v_k * v_p;
        R h_k = species_ideal<false>(m, T, ln_T, k) - R_UNIVERSAL * T * m.inv_W[k] + two_L * (T * S_T - S) +
                h_of_b * m.b_mass[k] + Tp_T * v_k;
        if constexpr (M::deltas_by_species) h_k += shape_slope(m, eos, R_s, h_of_sum, k);
        R v_moved = v_k;
        e_Y.set(k, h_k - p * v_k);
        if constexpr (M::translated) {
            v_moved -= R(m.shift_mass[k]);
            h_k -= p * m.shift_mass[k];
        }
        v_Y.set(k, v_moved);
        h_Y.set(k, h_k);
    });
}

// R_k T ln phi_k = -R_k T ln(p (v - b)/(R_s T)) + R_s T b_k/(v - b) - 2 S_k L - a ((V/D - L) b_k/b + L_sum sum_k)
template <class M, class R, class Species, class Delta, class Out>
POINT_FN void cubic_fugacity(const M &m, const R T, const R p, const Species &Y, const R R_s, const R a_mix,
                             const R b_mix, const R v_free, const R inv_free, const R inv_D, const R cubic_L,
                             const Delta delta_mix, Out &ln_phi) {
    const auto eos = shape(m, delta_mix);
    const R RT = R_s * T;
    const R ln_u = log(p * v_free / RT);
    const R inv_RT = 1.0 / (R_UNIVERSAL * T);
    const R v = v_free + b_mix;
    const R of_b = RT * inv_free - a_mix * (v * inv_D - cubic_L) / b_mix;
    const R two_L = 2.0 * cubic_L;
    R of_sum = R(0.0);
    if constexpr (M::deltas_by_species)
        of_sum = a_mix * departure_slope(eos, b_mix, R(1.0 / (v_free + 0.5 * eos.linear * b_mix)), cubic_L);

    attraction_slopes(m, T, Y, [&](const auto k, const auto S, const auto) INLINED {
        auto work = of_b * of_species(m.b_mass, k) - two_L * S;
        if constexpr (M::deltas_by_species) work -= shape_slope(m, eos, R_s, of_sum, k);
        if constexpr (M::translated) work -= p * of_species(m.shift_mass, k);
        ln_phi.set(k, work * (of_species(m.W, k) * inv_RT) - ln_u);
    });
}

// g_k = h_k,ig - T s_k,ig(p_ref) + R_k T (ln(x_k p/p_ref) + ln phi_k)
template <class M, class R, class Species, class Phi, class Out>
POINT_FN void chemical_potentials(const M &m, const R T, const R p, const Species &Y, const R W, const Phi &ln_phi,
                                  Out &g_Y) {
    const R ln_T = log(T);
    const R ln_p = log(p * m.inv_p_ref[0]);
    const R RT = R_UNIVERSAL * T;
    FOR_SPECIES (k, M::NS) {
        const R ln_x = log(at_least(Y[k] * m.inv_W[k] * W, SMALLEST));
        g_Y.set(k, species_ideal<true>(m, T, ln_T, k) + RT * m.inv_W[k] * (ln_x + ln_p + ln_phi[k]));
    }
}

// ---- ideal gases
template <class M, class R, class OutV, class OutH, class OutE>
POINT_FN void ideal_partial_properties(const M &m, R T, const R p, OutV &v_Y, OutH &h_Y, OutE &e_Y) {
    T = select(p > 0.0, known_temperature(T), R(NOT_A_NUMBER));
    const R ln_T = log_for_ideal(m, T);
    const R RT = R_UNIVERSAL * T;
    const R inv_p = 1.0 / p;

    FOR_OWN (k, M::NS) {
        const R work = RT * m.inv_W[k];
        const R h = species_ideal<false>(m, T, ln_T, k);
        v_Y.set(k, work * inv_p);
        h_Y.set(k, h);
        e_Y.set(k, h - work);
    }
}

template <class M, class R, class Out> POINT_FN void ideal_fugacity(const M &, const R T, const R p, Out &ln_phi) {
    const R zero = select(p > 0.0 && T > 0.0, R(0.0), R(NOT_A_NUMBER));
    FOR_SPECIES (k, M::NS) ln_phi.set(k, zero);
}

// ---- of any equation of state
template <class M, class R, class Species, class Out>
POINT_FN void density_in_composition(const M &, const R rho, const Species &v_Y, Out &rho_Y) {
    const R minus_rho2 = -rho * rho;
    FOR_SPECIES (k, M::NS) rho_Y.set(k, minus_rho2 * v_Y[k]);
}

// eps_k = h_k - (cp/beta) rho v_k, beta = -rho_T/rho
template <class M, class R, class Species, class Enthalpies, class Out>
POINT_FN void energy_in_partial_density(const M &, const R rho, const R cp, const R rho_T, const Species &v_Y,
                                        const Enthalpies &h_Y, Out &eps_k) {
    const R factor = cp * rho * rho / rho_T;
    FOR_SPECIES (k, M::NS) eps_k.set(k, h_Y[k] + factor * v_Y[k]);
}

template <class M, class R, class Enthalpies, class Potentials, class Out>
POINT_FN void partial_entropies(const M &, const R T, const Enthalpies &h_Y, const Potentials &g_Y, Out &s_Y) {
    const R inv_T = 1.0 / T;
    FOR_SPECIES (k, M::NS) s_Y.set(k, (h_Y[k] - g_Y[k]) * inv_T);
}

// ---- in p and T. e as a function of v and T: de/dv = T p_T - p = (a - T a')/D, without what cancels in an ideal gas
template <class M, class R>
POINT_FN void energy_slopes(const M &, const R a_mix, const R a_T, const R T, const R inv_D, const R p_T, const R v_p,
                            const R cv, R &e_p, R &e_T) {
    e_p = (a_mix - T * a_T) * inv_D * v_p;
    e_T = cv - e_p * p_T;
}

template <class M, class R> POINT_FN void ideal_energy_slopes(const M &, const R h_p, const R cv, R &e_p, R &e_T) {
    e_p = h_p; // 0, NaN where the state is none
    e_T = cv;
}

template <class M, class R>
POINT_FN void entropy_slopes(const M &, const R T, const R p_T, const R v_p, const R cp, R &s_p, R &s_T) {
    s_p = p_T * v_p;
    s_T = cp / T;
}

template <class M, class R>
POINT_FN void compressibilities(const M &, const R rho, const R rho_p, const R rho_T, R &kappa_T, R &alpha_p) {
    const R v = 1.0 / rho;
    kappa_T = rho_p * v;
    alpha_p = -rho_T * v;
}

// (dT/dp)_h of dh = h_p dp + cp dT = 0
template <class M, class R> POINT_FN void joule_thomson(const M &, const R h_p, const R cp, R &mu_JT) {
    mu_JT = -h_p / cp;
}

// g = h - T s
template <class M, class R> POINT_FN void gibbs_energy(const M &, const R T, const R h, const R s, R &g) {
    g = h - T * s;
}
