// Composition and ideal-gas properties. The species' polynomial coefficients are summed first; then one polynomial of
// the mixture is evaluated.
#pragma once
#include "gas/thermal/pairs.h"

// sum(f_i weight_i) of mole or mass fractions f. NaN where they are not a composition (|sum f - 1| > WHOLE). All
// results that depend on the composition are then NaN too, at this point only.
template <class R, class M, class Species> POINT_FN R mean_of(const scalar *weight, const Species &fraction) {
    R sum, mean;
    if constexpr (SIDE_BY_SIDE<Species>) sums_side_by_side(Constant<M::NS>(), weight, fraction, sum, mean);
    else sums_over_species<M::NS>(sum, mean, weight, [&](const int s) INLINED { return fraction[s]; });
    return select(is_whole(sum), mean, R(NOT_A_NUMBER));
}

template <class M, class R, class Species> POINT_FN void molar_mass(const M &m, const Species &Y, R &W, R &R_s) {
    const R moles = mean_of<R, M>(m.inv_W, Y);
    W = 1.0 / moles;
    R_s = R_UNIVERSAL * moles;
}

template <class M, class R, class Species, class Out>
POINT_FN void mole_fractions(const M &m, const Species &Y, const R W, Out &X) {
    FOR_SPECIES (s, M::NS) X.set(s, Y[s] * m.inv_W[s] * W);
}

template <class M, class Species, class Out> POINT_FN void mass_fractions(const M &m, const Species &X, Out &Y) {
    const auto scale = 1.0 / mean_of<decltype(X[0]), M>(m.W, X);
    FOR_SPECIES (s, M::NS) Y.set(s, X[s] * m.W[s] * scale);
}

// sum_i Y_i (R/W_i) c_ki for the first COUNT coefficients k, from one temperature range. The sum starts from 0, like
// the one below for species on both sides of T_mid. The compiler then fuses both in the same way, and a point's bits do
// not depend on its neighbours.
template <int COUNT, class M, class R, class Species>
POINT_FN void nasa_sum(const scalar *coefficient, const Species &Y, R (&c)[COUNT]) {
    UNROLL
    for (int k = 0; k < COUNT; ++k) c[k] = R(0.0);

    FOR_OWN (s, M::NS) {
        const R y = Y[s];
        UNROLL
        for (int k = 0; k < COUNT; ++k) c[k] += y * coefficient[k * M::NS + s];
    }
}

// The same sums from the lower range where `below`, else from the upper. A pack (or warp) whose points agree reads a
// single table.
template <int COUNT, class M, class R, class Mask, class Species>
POINT_FN void nasa_of_range(const M &m, const Mask below, const Species &Y, R (&c)[COUNT]) {
    if constexpr (SIDE_BY_SIDE<Species>) range_by_rows(m, below, Y, c);
    else if (all_of(below)) nasa_sum<COUNT, M>(m.nasa_low, Y, c);
    else if (!any_of(below)) nasa_sum<COUNT, M>(m.nasa_high, Y, c);
    else {
        R high[COUNT];
        nasa_sum<COUNT, M>(m.nasa_low, Y, c);
        nasa_sum<COUNT, M>(m.nasa_high, Y, high);
        UNROLL
        for (int k = 0; k < COUNT; ++k) c[k] = select(below, c[k], high[k]);
    }
}

// Cold ranges (option cold_cp): below T_cold, where the polynomials of a species begin, nasa_cold is added to the
// coefficients of its lower polynomial. T_cold is 0 where a species has none. A pack (or warp) with no point below the
// highest T_cold skips the sum. Elsewhere a point above T_cold adds exact zeros.
template <int COUNT, class M, class R, class Species>
POINT_FN void add_cold_ranges(const M &m, const R T, const Species &Y, R (&c)[COUNT]) {
    if (any_of(T < m.T_cold_highest[0])) {
        if constexpr (SIDE_BY_SIDE<Species>) return cold_by_rows(m, T, Y, c);
        FOR_OWN (s, M::NS) {
            const R y = select(T < m.T_cold[s], R(Y[s]), R(0.0));
            UNROLL
            for (int k = 0; k < COUNT; ++k) c[k] += y * m.nasa_cold[k * M::NS + s];
        }
    }
}

// The same sums between the T_mid of the species: above some, below others
template <int COUNT, class M, class R, class Species>
POINT_FN void nasa_between(const M &m, const R T, const Species &Y, R (&c)[COUNT]) {
    UNROLL
    for (int k = 0; k < COUNT; ++k) c[k] = R(0.0);

    FOR_OWN (s, M::NS) {
        const R y = Y[s];
        const R low = select(T <= m.T_mid[s], y, R(0.0));
        const R high = y - low; // one of them is 0
        UNROLL
        for (int k = 0; k < COUNT; ++k) c[k] += low * m.nasa_low[k * M::NS + s];
        UNROLL
        for (int k = 0; k < COUNT; ++k) c[k] += high * m.nasa_high[k * M::NS + s];
    }
}

// NASA-7 coefficients of the mixture [J/kg/K, ...]. The two ranges of a species meet at its own T_mid; T_mid itself
// belongs to the lower range, as in CHEMKIN and Cantera. A pack (or warp) with all points below the lowest T_mid, or
// all above the highest, needs one table only. A pack with points of both kinds, and none between, needs no choice for
// each species.
template <int COUNT, class M, class R, class Species>
POINT_FN void nasa_ranges(const M &m, const R T, const Species &Y, R (&c)[COUNT]) {
    if constexpr (SIDE_BY_SIDE<Species>) return ranges_by_rows(m, T, Y, c);
    const auto below = T <= m.T_mid_lowest[0];
    const auto above = T > m.T_mid_highest[0];
    if (all_of(below || above)) nasa_of_range(m, below, Y, c);
    else nasa_between(m, T, Y, c);
}

// The same by a GPU's matrix units. A point between the ranges of two species has sums of its own, so that its bits,
// too, do not depend on its neighbours.
template <int COUNT, class M, class R, class Species>
POINT_FN void nasa_by_units(const M &m, const R T, const Species &Y, R (&c)[COUNT]) {
    const auto below = T <= m.T_mid_lowest[0];
    const auto above = T > m.T_mid_highest[0];
    if (anywhere(above)) sums_of_rows<COUNT, M>(m.nasa_high_tiles, Y, c);

    if (anywhere(below)) {
        R low[COUNT];
        sums_of_rows<COUNT, M>(m.nasa_low_tiles, Y, low);
        UNROLL
        for (int k = 0; k < COUNT; ++k) c[k] = select(below, low[k], c[k]);
    }

    if (any_of(!(below || above))) nasa_between(m, T, Y, c);
}

// what both ranges leave: cold ranges, and the parts of the threads that share a point
template <int COUNT, class M, class R, class Species>
POINT_FN void nasa_complete(const M &m, const R T, const Species &Y, R (&c)[COUNT]) {
    if constexpr (M::cold_ranges) { add_cold_ranges<COUNT>(m, T, Y, c); }
    sum_over_owners(c);
}

template <int COUNT, class M, class R, class Species>
POINT_FN void nasa_mixture(const M &m, const R T, const Species &Y, R (&c)[COUNT]) {
    nasa_ranges(m, T, Y, c);
    nasa_complete(m, T, Y, c);
}

template <class R> POINT_FN R known_temperature(R T) { return select(T > 0.0 && T < 1e9, T, R(NOT_A_NUMBER)); }

template <class R, int N> POINT_FN R nasa_cp(const R T, const R (&c)[N]) {
    return polynomial(T, c[0], c[1], c[2], c[3], c[4]);
}

// half of d cp/dT
template <class R, int N> POINT_FN R nasa_cp_half_slope(const R T, const R (&c)[N]) {
    return polynomial(T, 0.5 * c[1], c[2], 1.5 * c[3], 2.0 * c[4]);
}

// NASA-9 coefficients, any number of ranges: cp = c0/T^2 + c1/T + c2 + c3 T + ... + c6 T^4; c7 and c8 are the constants
// of h and s. A temperature where two ranges meet belongs to the upper one, as in Cantera.
template <class M, class R> POINT_FN R nasa9_coefficient(const M &m, const R T, int k, int s) {
    R c = R(m.nasa9[k * M::NS + s]);
    for (int r = 1; r < M::NASA9_RANGES; ++r)
        c = select(T >= m.nasa9_break[(r - 1) * M::NS + s], R(m.nasa9[(r * 9 + k) * M::NS + s]), c);
    return c;
}

template <int COUNT, class M, class R, class Species>
POINT_FN void nasa9_mixture(const M &m, const R T, const Species &Y, R (&c)[COUNT]) {
    UNROLL
    for (int k = 0; k < COUNT; ++k) c[k] = R(0.0);

    FOR_SPECIES (s, M::NS) {
        const R y = Y[s];
        UNROLL
        for (int k = 0; k < COUNT; ++k) c[k] += y * nasa9_coefficient(m, T, k, s);
    }
}

template <class R, int N> POINT_FN R nasa9_cp(const R T, const R (&c)[N]) {
    const R inv_T = 1.0 / T;
    return c[2] + inv_T * (c[1] + inv_T * c[0]) + T * (c[3] + T * (c[4] + T * (c[5] + T * c[6])));
}

template <class R, int N> POINT_FN R nasa_enthalpy(const R T, const R (&c)[N]) {
    return polynomial(T, c[5], c[0], c[1] * 0.5, c[2] * (1.0 / 3.0), c[3] * 0.25, c[4] * 0.2);
}

template <class M, class R, class Species>
POINT_FN void ideal_gas(const M &m, R T, const Species &Y, R &cp_ig, R &h_ig) {
    T = known_temperature(T);
    if constexpr (M::NASA9_RANGES > 0) {
        R c[8];
        nasa9_mixture(m, T, Y, c);
        cp_ig = nasa9_cp(T, c);
        h_ig = c[7] - c[0] / T + c[1] * log(T) +
               T * (c[2] + T * (c[3] * 0.5 + T * (c[4] * (1.0 / 3.0) + T * (c[5] * 0.25 + T * (c[6] * 0.2)))));
    } else {
        R c[6];
        if constexpr (SUMS_BY_UNITS) nasa_by_units(m, T, Y, c);
        else nasa_ranges(m, T, Y, c);
        nasa_complete(m, T, Y, c);
        cp_ig = nasa_cp(T, c);
        h_ig = nasa_enthalpy(T, c);
    }
}

// ideal_gas at many temperatures of one composition, with the same bits. The sums over species are formed once, from
// the range that is expected. below: temperatures up to the lowest T_mid; else they are above the highest. At other
// temperatures the sums are formed anew.
template <class M, class R, class Species> struct IdealGasAt {
    typedef decltype(R(0.0) < R(1.0)) Mask;
    const M &m;
    const Species &Y;
    const Mask below;
    R c[6];

    POINT_FN IdealGasAt(const M &m, const Species &Y, const Mask below) : m(m), Y(Y), below(below) {
        if constexpr (M::NASA9_RANGES == 0) { nasa_of_range(m, below, Y, c); }
    }

    // Where the sums over species are those of T; and where they are all that counts, without cold ranges
    POINT_FN Mask in_range(const R T) const {
        const auto low = T <= m.T_mid_lowest[0];
        const auto high = T > m.T_mid_highest[0];
        return (below && low) || (!below && high);
    }

    POINT_FN Mask holds(const R T) const {
        if constexpr (M::cold_ranges) return in_range(T) && T >= m.T_cold_highest[0];
        return in_range(T);
    }

    POINT_FN void operator()(R T, R &cp_ig, R &h_ig) const {
        if constexpr (M::NASA9_RANGES > 0) {
            ideal_gas(m, T, Y, cp_ig, h_ig);
        } else {
            T = known_temperature(T);
            R here[6];
            if (all_of(in_range(T))) {
                UNROLL
                for (int k = 0; k < 6; ++k) here[k] = c[k];
            } else {
                nasa_ranges(m, T, Y, here);
            }
            nasa_complete(m, T, Y, here);
            cp_ig = nasa_cp(T, here);
            h_ig = nasa_enthalpy(T, here);
        }
    }
};

// The first COUNT NASA-7 coefficients of species s
template <int COUNT, class M, class R> POINT_FN void nasa7_coefficients(const M &m, const R T, int s, R (&c)[COUNT]) {
    const auto low = T <= m.T_mid[s];
    UNROLL
    for (int k = 0; k < COUNT; ++k) c[k] = select(low, R(m.nasa_low[k * M::NS + s]), R(m.nasa_high[k * M::NS + s]));

    if constexpr (M::cold_ranges) {
        const auto cold = T < m.T_cold[s];
        UNROLL
        for (int k = 0; k < COUNT; ++k) c[k] += select(cold, R(m.nasa_cold[k * M::NS + s]), R(0.0));
    }
}

// cp [J/kg/K] of species s alone
template <class M, class R> POINT_FN R species_cp(const M &m, const R T, int s) {
    if constexpr (M::NASA9_RANGES > 0) {
        R c[7];
        UNROLL
        for (int k = 0; k < 7; ++k) c[k] = nasa9_coefficient(m, T, k, s);
        return nasa9_cp(T, c);
    } else {
        R c[5];
        nasa7_coefficients(m, T, s, c);
        return nasa_cp(T, c);
    }
}

// s_ig = (part that depends on T, at the reference pressure) - (part of pressure and mixing)
template <class M, class R, class Species> POINT_FN R entropy_of_temperature(const M &m, R T, const Species &Y) {
    T = known_temperature(T);
    if constexpr (M::NASA9_RANGES > 0) {
        R c[9];
        nasa9_mixture(m, T, Y, c);
        const R inv_T = 1.0 / T;
        return c[2] * log(T) - inv_T * (c[1] + inv_T * (c[0] * 0.5)) +
               T * (c[3] + T * (c[4] * 0.5 + T * (c[5] * (1.0 / 3.0) + T * (c[6] * 0.25)))) + c[8];
    } else {
        R c[7];
        nasa_mixture(m, T, Y, c);
        return c[0] * log(T) + T * (c[1] + T * (c[2] * 0.5 + T * (c[3] * (1.0 / 3.0) + T * (c[4] * 0.25)))) + c[6];
    }
}

template <class M, class R, class Species>
POINT_FN R entropy_of_mixing(const M &m, const R p, const Species &Y, const R W) {
    R mixing = R(0.0);
    FOR_SPECIES (s, M::NS) {
        const R x = Y[s] * m.inv_W[s] * W;
        mixing += select(x > SMALLEST, x * log(at_least(x, SMALLEST)), R(0.0));
    }
    return R_UNIVERSAL * (mixing + log(p * m.inv_p_ref[0])) / W;
}

template <class M, class R, class Species>
POINT_FN void ideal_gas_entropy(const M &m, const R T, const R p, const Species &Y, const R W, R &s_ig) {
    s_ig = entropy_of_temperature(m, T, Y) - entropy_of_mixing(m, p, Y, W);
}

template <class M, class R> POINT_FN void total_enthalpy(const M &, const R h, const R u, const R v, const R w, R &h0) {
    h0 = h + 0.5 * (u * u + v * v + w * w);
}

#ifdef VECTORS_ALONE
#include "gas/thermal/ideal_gas_alone.h"
#endif
