// Equation `mapped` of a mixture: a, a', a'', b and the volume map of a composition, and its pseudo-critical point. The
// equation, with the meaning of the map's numbers: mapped.h.
#pragma once
#include "gas/equations/volume_map.h"

// tau of a species is b 1.4 Q Tc/(T + 0.4 Tc) = map_numbers[4]/(T + map_numbers[5])
template <class M, class R, class S> POINT_FN R inverse_of_swelling(const M &m, const R T, const S k) {
    return 1.0 / (T + of_species(&m.map_numbers[5 * M::NS], k));
}

// Adds the sums of c_0 .. c_3. Species that no correlation serves have c_0 alone.
template <class M, class R, class Species> POINT_FN void add_map(const M &m, const Species &Y, R *sums) {
    constexpr int WITH_ALL = M::Curved::COUNT == M::NS ? 4 : 1;
    const auto add = [&](const int k, const auto s) INLINED { sums[k] += R(Y[s]) * m.map_numbers[k * M::NS + s]; };

    FOR_OWN (s, M::NS) {
        UNROLL
        for (int k = 0; k < WITH_ALL; ++k) add(k, s);
    }
    if constexpr (WITH_ALL == 1)
        for_few<typename M::Curved>([&](const auto s) INLINED {
            if (!owns(s)) return;
            UNROLL
            for (int k = 1; k < 4; ++k) add(k, s);
        });
}

// Adds the species that swell to tau, -tau', tau''/2.
template <class M, class R, class Species>
POINT_FN void add_swelling(const M &m, const R T, const Species &Y, R *sums) {
    for_few<typename M::Swelling>([&](const auto s) INLINED {
        if (!owns(s)) return;
        const R r = inverse_of_swelling(m, T, int(s));
        const R tau = R(Y[s]) * m.map_numbers[4 * M::NS + s] * r;
        const R tau_r = tau * r;
        sums[0] += tau;
        sums[1] += tau_r;
        sums[2] += tau_r * r;
    });
}

template <class R> POINT_FN void map_of_sums(const R *sums, VolumeMap<R> &map, R &shift_T, R &shift_TT) {
    map = volume_map(R(sums[0] - sums[4]), sums[1], sums[2], sums[3]);
    shift_T = sums[5];
    shift_TT = -2.0 * sums[6];
}

template <class M, class R, class Species>
POINT_FN void map_sums(const M &m, const R T, const Species &Y, VolumeMap<R> &map, R &shift_T, R &shift_TT) {
    R sums[7];
    UNROLL
    for (int k = 0; k < 7; ++k) sums[k] = R(0.0);
    add_swelling(m, T, Y, sums + 4);
    add_map(m, Y, sums);
    sum_over_owners(sums);
    map_of_sums(sums, map, shift_T, shift_TT);
}

// The same and b
template <class M, class R, class Species>
POINT_FN void map_and_covolume(const M &m, const R T, const Species &Y, R &b_mix, VolumeMap<R> &map, R &shift_T,
                               R &shift_TT) {
    if constexpr (SUMS_BY_UNITS) {
        R rows[5], sums[7];
        sums_of_rows<5, M>(m.map_tiles, Y, rows);
        b_mix = rows[4];
        UNROLL
        for (int k = 0; k < 7; ++k) sums[k] = k < 4 ? rows[k] : R(0.0);
        add_swelling(m, T, Y, sums + 4);
        map_of_sums(sums, map, shift_T, shift_TT);
    } else {
        weighted_sum<M::NS>(b_mix, m.b_mass, Y);
        map_sums(m, T, Y, map, shift_T, shift_TT);
    }
}

// Y f, Y f', Y f'' of a species with f = sqrt(a_i). In unrolled loops the compiler knows m.
template <class M, class R, class S>
POINT_FN void own_numbers(const M &m, const R T, const R Y_s, const S s, R &y, R &z, R &w) {
    const auto number = [&](const int row) INLINED { return of_species(&m.alpha_numbers[row * M::NS], s); };
#ifdef SPECIES_HELD
    const auto share = is_among<typename M::Squared>(s) ? scalar(0.5) : scalar(0.125);
#else
    const auto share = number(0);
#endif
    rational_root(m, T, Y_s, y, z, w, share, number(1), number(2), number(3), number(4));
}

// a, a', a'' and the map with k_ij = 0: a single sweep. Here and below a'' may be Absent.
template <class M, class R, class Species, class Second>
POINT_FN void summed_mixture(const M &m, const R T, const Species &Y, R &a_mix, R &a_T, Second &a_TT, VolumeMap<R> &map,
                             R &shift_T, R &shift_TT) {
    R sums[10]; // of the map, then y, z, w
    UNROLL
    for (int k = 0; k < 10; ++k) sums[k] = R(0.0);
    FOR_OWN (s, M::NS) {
        R y, z, w;
        own_numbers(m, T, R(Y[s]), s, y, z, w);
        sums[7] += y;
        sums[8] += z;
        sums[9] += w;
    }
    add_map(m, Y, sums);
    add_swelling(m, T, Y, sums + 4);
    sum_over_owners(sums);
    map_of_sums(sums, map, shift_T, shift_TT);
    a_mix = sums[7] * sums[7];
    a_T = 2.0 * (sums[7] * sums[8]);
    if constexpr (!is_absent<Second>) a_TT = 2.0 * (sums[8] * sums[8] + sums[7] * sums[9]);
}

// Lanes of a GPU's matrix units compute numbers of each other's points: none can be stored.
#ifdef MATRIX_UNITS
constexpr bool STORES_SPECIES = false;
#else
constexpr bool STORES_SPECIES = true;
#endif

#ifdef SPECIES_HELD
// The same with k_ij of all pairs, in a GPU's registers: K y serves y, z and w, so that the pairs take three
// multiply-adds each.
template <class M, class R, class Species, class Second>
POINT_FN void held_attraction(const M &m, const R T, const Species &Y, R &a_mix, R &a_T, Second &a_TT) {
    R y[M::NS], z[M::NS], w[M::NS], K_y[M::NS], zz;
    FOR_SPECIES (s, M::NS) own_numbers(m, T, R(Y[s]), s, y[s], z[s], w[s]);
    held_products<M>(m.one_minus_kij, y, z, K_y, zz);

    R yz = R(0.0);
    R yw = R(0.0);
    a_mix = R(0.0);
    FOR_SPECIES (s, M::NS) {
        a_mix += y[s] * K_y[s];
        yz += z[s] * K_y[s];
        yw += w[s] * K_y[s];
    }
    a_T = yz + yz;
    if constexpr (!is_absent<Second>) a_TT = 2.0 * (zz + yw);
}
#endif

// The same with any k_ij. On a CPU one sweep over the pairs serves the three vectors; elsewhere, and where a sweep asks
// for a species again, numbers of the species are computed once and read in two.
template <class M, class R, class Species, class Second>
POINT_FN void stored_attraction(const M &m, const R T, const Species &Y, R &a_mix, R &a_T, Second &a_TT) {
    constexpr bool slopes_alone = is_absent<Second>;
    R yz, zz;
    if constexpr (!STORES_SPECIES || (number<R>::lanes > 1 && (M::kij_dense || M::kij_none))) {
        const auto bent = [&](int s, const R Y_s, const R at, R &y, R &z, R &w) {
            own_numbers(m, at, Y_s, s, y, z, w);
        };
        const auto straight = [&](int s, const R Y_s, const R at, R &y, R &z) {
            R w;
            bent(s, Y_s, at, y, z, w);
        };
        if constexpr (slopes_alone && M::kij_dense) quadratic_with(m, Y, T, straight, a_mix, yz);
        else bending_sums(m, Y, T, !slopes_alone, straight, bent, a_mix, yz, zz);
        if constexpr (!slopes_alone) a_TT = zz + zz; // zKz + yKw
    } else {
        R y[M::NS], z[M::NS], w[M::NS];
        FOR_SPECIES (s, M::NS) own_numbers(m, T, R(Y[s]), s, y[s], z[s], w[s]);
        const auto with_z = [&](int s, const R, const R, R &first, R &second) { first = y[s], second = z[s]; };
        attraction_sums(m, Y, T, with_z, a_mix, yz, zz);
        if constexpr (!slopes_alone) {
            R yw, ww;
            const auto with_w = [&](int s, const R, const R, R &first, R &second) { first = y[s], second = w[s]; };
            attraction_sums(m, Y, T, with_w, a_mix, yw, ww);
            a_TT = 2.0 * (zz + yw);
        }
    }
    a_T = yz + yz;
}

// The sums of the map have a loop for themselves where k_ij has one, which leaves a CPU's registers to each.
template <class M, class R, class Species, class Second>
POINT_FN void mapped_mixture(const M &m, const R T, const Species &Y, R &a_mix, R &a_T, Second &&a_TT, R &b_mix,
                             R &map_0, R &map_1, R &map_2, R &map_3, R &shift_T, R &shift_TT) {
    const R known_T = known_temperature(T);
    VolumeMap<R> map;
    if constexpr (SIDE_BY_SIDE<Species>) {
        weighted_sum<M::NS>(b_mix, m.b_mass, Y);
        mapped_side_by_side(m, known_T, Y, a_mix, a_T, a_TT, map, shift_T, shift_TT);
    } else if constexpr (M::kij_none && number<R>::lanes == 1) {
        weighted_sum<M::NS>(b_mix, m.b_mass, Y);
        summed_mixture(m, known_T, Y, a_mix, a_T, a_TT, map, shift_T, shift_TT);
    } else {
#ifdef SPECIES_HELD
        if constexpr (M::kij_dense) held_attraction(m, known_T, Y, a_mix, a_T, a_TT);
        else
#endif
            stored_attraction(m, known_T, Y, a_mix, a_T, a_TT);
        map_and_covolume(m, known_T, Y, b_mix, map, shift_T, shift_TT);
    }
    map_0 = map.c0;
    map_1 = map.c1;
    map_2 = map.c2;
    map_3 = map.c3;
}

// The pseudo-critical point of the cubic, its volume mapped at its temperature
template <class M, class R, class Species, class Delta>
POINT_FN void mapped_critical_state(const M &m, const Species &Y, const R R_s, const Delta delta_mix, R &Tc_mix,
                                    R &pc_mix, R &vc_mix) {
    R b, shift_T, shift_TT;
    VolumeMap<R> map;
    critical_state(m, Y, R_s, delta_mix, Tc_mix, pc_mix, vc_mix);
    weighted_sum<M::NS>(b, m.b_mass, Y);
    map_sums(m, Tc_mix, Y, map, shift_T, shift_TT);
    const R W = R_UNIVERSAL / R_s;
    vc_mix -= W * map_value(map, R(b * W / vc_mix));
}

#ifdef VECTORS_ALONE
#include "gas/equations/mapped_alone.h"
#endif
