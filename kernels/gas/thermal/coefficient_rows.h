// Tables of coefficients by species, for sums at a point by itself (engine/numbers/alone.h). A function of one point
// fills them once, from the mixture's constants.
#pragma once
#include <type_traits>

// The coefficients of a range, a row for each species: a pack has coefficients, so a sum over species is an operation
// for each of them, with none left over.
template <int NS> struct RowsOfCoefficients {
    static constexpr int COEFFICIENTS = 7, ROW = 8;
    alignas(64) double row[NS][ROW];

    void fill(const double *coefficient) {
        for (int s = 0; s < NS; ++s)
            for (int k = 0; k < ROW; ++k) row[s][k] = k < COEFFICIENTS ? coefficient[k * NS + s] : 0.0;
    }
};

// Rows of all ranges of a mixture; none where it has no such coefficients
template <class M, class = void> struct NasaRows {
    void fill(const M &) {}
};

template <class M> struct NasaRows<M, std::void_t<decltype(M::nasa_low)>> {
    RowsOfCoefficients<M::NS> low, high, cold;

    void fill(const M &m) {
        low.fill(m.nasa_low);
        high.fill(m.nasa_high);
        if constexpr (M::cold_ranges) cold.fill(m.nasa_cold);
    }
};
