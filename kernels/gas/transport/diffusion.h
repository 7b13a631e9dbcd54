// Binary and mixture-averaged diffusion coefficients.
//   f_ij = 1/(p D_ij) = (f_ij)_0/(D p)_R
// (f_ij)_0: the friction of the pair at low pressure. (D p)_R: Takahashi's correction for pressure. The mixture needs
// sum_j x_j/(p D_ij) = sum_j x_j f_ij: with f_ij no pair costs a division.
#pragma once
#include "gas/thermal/ideal_gas.h"

// Index of the pair (i, j <= i) in tables over the lower triangle with its diagonal.
POINT_FN constexpr int pair_index(int i, int j) { return i * (i + 1) / 2 + j; }

// State of a point, common to all pairs: (f_ij)_0 = factor * (polynomial in `variable`). kinetic: T^-1.5 and T^-1/4;
// fuller: T^-1.75 and a constant. cantera: T^-1.5 p D_ij is a polynomial in ln T. NaN if T or p is not positive.
template <class R> struct DiffusionState {
    R variable, factor, p, T, inv_tenfold;
};

template <class M, class R> POINT_FN DiffusionState<R> diffusion_state(const R T_given, const R p_given) {
    DiffusionState<R> state;
    const R T = state.T = known_temperature(T_given);
    const R inv_fourth = inverse_fourth_root(T);
    const R inv_root = square(inv_fourth);
    state.factor = inv_root * inv_root * inv_root;
    if constexpr (M::diffusion_kinetic) state.variable = inv_fourth;
    else if constexpr (M::diffusion_cantera) state.variable = log(T);
    else {
        state.variable = T;
        state.factor *= inv_fourth;
    }
    state.p = select(p_given > 0.0, p_given, R(NOT_A_NUMBER));
    if constexpr (M::takahashi_smooth && !number<R>::wide) {
        state.inv_tenfold = 0.1 / at_least(state.p, 1e-20); // times x pc it stays finite in single precision
        state.T = at_least(state.T, 0.01); // else 1/(1 + Tr) could be rounded to 1, which lies in no window
    }
    return state;
}

// (f_ij)_0/state.factor, j <= i: Horner's rule on the coefficients of the pair.
template <class M, class R> POINT_FN R low_friction(const M &m, const DiffusionState<R> &state, int i, int j) {
    constexpr int terms = M::FRICTION_TERMS;
    const scalar *c = m.friction_fit + terms * pair_index(i, j);
    R sum = R(c[terms - 1]);
    UNROLL
    for (int k = terms - 2; k >= 0; --k) sum = c[k] + state.variable * sum;
    if constexpr (M::diffusion_cantera) return 1.0 / sum;
    else return sum;
}

// Takahashi 1975: the factor (D p)_R, with the reduced temperature and pressure of the pair. In each row of Pr
//   (D p)_R = D0 (1 - A Tr^-B)(1 - C Tr^-E)
// Between rows the factor is linear in Pr; above Pr = 5 the last row holds.
// `table` follows Cantera: 1 below Pr = 0.1 (with a step to 1.01(...) there), 1e-20 if the result is negative. In cold
// liquid both brackets are negative, and their product is positive and large: a factor of 7 for liquid oxygen at 120 K,
// 100 bar.
// `smooth`: linear from 1 at Pr = 0 to the first row, negative brackets count as 0, and the factor is at least 0.01
// (measured ratios in liquids are about 0.1).
//
// TakahashiRow: number of a row, and the weight of the next row.
template <class R> struct TakahashiRow {
    R row, share;
};

// The rows of Pr have steps of 0.1 up to 0.6, of 0.2 up to 2, of 0.5 up to 3, then of 1. So the row number is a concave
// function of Pr, the smallest of several straight lines. tenfold: 10 Pr.
template <class F> POINT_FN F takahashi_number(const F tenfold) {
    return smaller(smaller(smaller(tenfold, F(3.0f) + F(0.5f) * tenfold),
                           smaller(F(9.0f) + F(0.2f) * tenfold, F(12.0f) + F(0.1f) * tenfold)),
                   F(17.0f));
}

template <class R> POINT_FN TakahashiRow<R> takahashi_row(const R Pr) {
    const R number = smaller(smaller(10.0 * Pr, 3.0 + 5.0 * Pr), smaller(9.0 + 2.0 * Pr, 12.0 + Pr));
    const R row = floor_small(at_most(number, 16.5));
    return {row, number - row};
}

// The formula itself, in the rows below and above Pr.
template <class M, class R> POINT_FN R takahashi_formula(const M &m, const R Tr, const R Pr) {
    const R ln_Tr = log(Tr);
    const TakahashiRow<R> at = takahashi_row(Pr);
    R factor[2];

    UNROLL
    for (int side = 0; side < 2; ++side) {
        const R row = at.row + double(side);
        R first = 1.0 - table_row(m.takahashi_A, row) * exp(-ln_Tr * table_row(m.takahashi_B, row));
        R second = 1.0 - table_row(m.takahashi_C, row) * exp(-ln_Tr * table_row(m.takahashi_E, row));
        if constexpr (M::takahashi_smooth) first = at_least(first, 0.0), second = at_least(second, 0.0);
        factor[side] = table_row(m.takahashi_D, row) * first * second;
    }

    const R between = factor[0] + at.share * (factor[1] - factor[0]);
    if constexpr (M::takahashi_smooth) return at_least(between, 0.01);
    else return at_least(select(Pr < 0.1, R(1.0), between), 1e-20);
}

// `smooth` reads the factor minus 1 from a table of cubics in 1/(1 + Tr), in single precision: no logarithm, no power.
// TakahashiPlace: index of the table's entry, position x in its window, and the weight `share` of the next row.
template <class R> struct TakahashiPlace {
    typename number<R>::index line;
    typename number<R>::narrow x, share;
};

// Contribution of a species to the reduced temperature and pressure of its pairs, x_i Tc_i + x_j Tc_j and alike. Both
// are quotients of such sums. The quotient of the temperature needs double precision, because the factor depends
// strongly on it. Conversions and divisions are slow on a GPU: there the window comes from terms in single precision,
// the position in it from terms in double precision.
template <class R> struct FrictionPart {
    R x;
    typename number<R>::narrow amount, pressure;
#ifdef WHOLE_BELOW
    R tc;
    typename number<R>::narrow along, width;
#else
    R width;
#endif
    POINT_FN FrictionPart() {}

    template <class M> POINT_FN FrictionPart(const M &m, const DiffusionState<R> &state, int s, const R x) : x(x) {
        if constexpr (M::takahashi_smooth && !number<R>::wide) {
            amount = narrow(x);
            pressure = narrow(x * (m.pc[s] * state.inv_tenfold));
#ifdef WHOLE_BELOW
            tc = x * m.Tc[s];
            along = narrow(tc);
            width = narrow((tc + x * state.T) * (1.0 / CUBIC_WINDOWS));
#else
            width = x * (m.Tc[s] + state.T);
#endif
        }
    }
};

template <class M, class R>
POINT_FN TakahashiPlace<R> takahashi_place(const M &m, const DiffusionState<R> &state, int i, int j,
                                           const FrictionPart<R> &part_i, const FrictionPart<R> &part_j) {
    TakahashiPlace<R> place;
#ifdef WHOLE_BELOW
    const R tc = part_i.tc + part_j.tc;
    const auto inv_width = reciprocal(part_i.width + part_j.width); // of a window
    const auto window = whole_below(part_i.along + part_j.along, inv_width, CUBIC_WINDOWS - 1);
    place.x = narrow(tc - over_windows(window) * (tc + (part_i.x + part_j.x) * state.T)) * inv_width - 0.5f;
#else
    const auto window =
        window_of(part_i.x * m.Tc[i] + part_j.x * m.Tc[j], part_i.width + part_j.width, place.x); // 1/(1 + Tr)
#endif
    const auto row =
        row_of(takahashi_number(rough_quotient(part_i.amount + part_j.amount, part_i.pressure + part_j.pressure)),
               place.share);
    place.line = table_index(window, row);
    return place;
}

template <class M, class R> POINT_FN R takahashi_reciprocal(const M &m, const TakahashiPlace<R> &place) {
    static_assert(CUBIC_WINDOWS == M::TAKAHASHI_WINDOWS, "one table, two sides");
    typename number<R>::narrow low, high;
    two_cubics(m.takahashi_cubics, place.line, place.x, low, high);
    low = at_least(low, -1.0);
    high = at_least(high, -1.0);
    return widen(reciprocal(at_least(1.0f + (low + place.share * (high - low)), 0.01)));
}

template <class M, class R>
POINT_FN R takahashi_over_one(const M &m, const DiffusionState<R> &state, int i, int j, const FrictionPart<R> &part_i,
                              const FrictionPart<R> &part_j) {
    if constexpr (M::takahashi_smooth && !number<R>::wide)
        return takahashi_reciprocal<M, R>(m, takahashi_place(m, state, i, j, part_i, part_j));
    else {
        const R xi = part_i.x;
        const R xj = part_j.x;
        const R tc = xi * m.Tc[i] + xj * m.Tc[j];
        const R pc = xi * m.pc[i] + xj * m.pc[j];
        const R inv = (xi + xj) / (tc * pc);
        return 1.0 / takahashi_formula(m, state.T * (inv * pc), bounded_index(state.p * (inv * tc), 5.0));
    }
}

// f_ij/state.factor at the pressure of the point, j <= i.
template <class M, class R>
POINT_FN R friction(const M &m, const DiffusionState<R> &state, int i, int j, const FrictionPart<R> &xi,
                    const FrictionPart<R> &xj) {
    const R low = low_friction(m, state, i, j);
    if constexpr (M::takahashi_off) return low;
    else return low * takahashi_over_one(m, state, i, j, xi, xj);
}

// Mole fractions, at least 1e-20: D of a pure point is then the limit for compositions nearby.
template <class M, class R, class Species> struct Floored {
    const M &m;
    const Species &Y;
    const R W;
    POINT_FN R operator[](int s) const { return at_least(Y[s] * m.inv_W[s] * W, 1e-20); }
};

// Moles of each species in a kilogram, at least 1e-20. With takahashi = table: moles in a mole of mixture, because
// there the factor of a pair may be 1e-20 too, and the lower bound would not be negligible in a sum.
template <class M, class R, class Species> struct FlooredMoles {
    const M &m;
    const Species &Y;
    const R W;
    POINT_FN R mass(int s) const {
        if constexpr (M::takahashi_table) return at_least(Y[s] * W, m.least_mass[s]);
        else return at_least(Y[s], m.least_mass[s]);
    }

    POINT_FN R total() const {
        if constexpr (M::takahashi_table) return W;
        else return R(1.0);
    }

    POINT_FN R operator[](int s) const { return mass(s) * m.inv_W[s]; }
};

// A panel of the pairs i > j: ROWS rows from `first` on, whose sums stay in registers.
template <int ROWS, int SUMS, class M, class R, class Weight>
POINT_FN void friction_panel(const M &m, const DiffusionState<R> &state, const int first,
                             const FrictionPart<R> (&x)[M::NS], const Weight &weight, R (&sums)[SUMS][M::NS]) {
    R row[SUMS][ROWS];
    UNROLL
    for (int s = 0; s < SUMS; ++s) UNROLL
    for (int i = 0; i < ROWS; ++i) row[s][i] = R(0.0);

    // Pairs with the species before the panel.
    FOR_SPECIES (j, first) {
        R column[SUMS];
        UNROLL
        for (int s = 0; s < SUMS; ++s) column[s] = sums[s][j];

        UNROLL
        for (int i = 0; i < ROWS; ++i) {
            const R f = friction(m, state, first + i, j, x[first + i], x[j]);
            UNROLL
            for (int s = 0; s < SUMS; ++s) {
                row[s][i] += weight(s, j) * f;
                column[s] += weight(s, first + i) * f;
            }
        }

        UNROLL
        for (int s = 0; s < SUMS; ++s) sums[s][j] = column[s];
    }

    // Pairs within the panel.
    UNROLL
    for (int j = 0; j < ROWS; ++j) {
        UNROLL
        for (int i = j + 1; i < ROWS; ++i) {
            const R f = friction(m, state, first + i, first + j, x[first + i], x[first + j]);
            UNROLL
            for (int s = 0; s < SUMS; ++s) {
                row[s][i] += weight(s, first + j) * f;
                row[s][j] += weight(s, first + i) * f;
            }
        }
    }

    UNROLL
    for (int s = 0; s < SUMS; ++s) UNROLL
    for (int i = 0; i < ROWS; ++i) sums[s][first + i] = row[s][i];
}

// sums[s][k] = sum_{j != k} weight(s, j) f_kj/state.factor for SUMS weights. The pairs i > j are swept in panels of
// M::PANEL rows: of few species each written out, of many in a loop, which compilers take in seconds.
constexpr int PANELS_WRITTEN = 64; // species
template <int FIRST, int SUMS, class M, class R, class Weight>
POINT_FN void friction_panels(const M &m, const DiffusionState<R> &state, const FrictionPart<R> (&x)[M::NS],
                              const Weight &weight, R (&sums)[SUMS][M::NS]) {
    if constexpr (M::NS > PANELS_WRITTEN) {
        constexpr int REST = M::NS % M::PANEL;
        for (int first = 0; first + M::PANEL <= M::NS; first += M::PANEL) {
            friction_panel<M::PANEL, SUMS>(m, state, first, x, weight, sums);
        }
        if constexpr (REST > 0) { friction_panel<REST, SUMS>(m, state, M::NS - REST, x, weight, sums); }
    } else if constexpr (FIRST < M::NS) {
        constexpr int ROWS = M::NS - FIRST < M::PANEL ? M::NS - FIRST : M::PANEL;
        friction_panel<ROWS, SUMS>(m, state, FIRST, x, weight, sums);
        friction_panels<FIRST + ROWS, SUMS>(m, state, x, weight, sums);
    }
}

// The same sums row by row, for packs with the tabulated factor. A row takes two sweeps: table indices first, then the
// sums. Their chains of dependent operations are short, so the processor works on several pairs at once.
template <int SUMS, class M, class R, class Weight>
POINT_FN void friction_rows(const M &m, const DiffusionState<R> &state, const FrictionPart<R> (&x)[M::NS],
                            const Weight &weight, R (&sums)[SUMS][M::NS]) {
    TakahashiPlace<R> place[M::NS];
    for (int i = 0; i < M::NS; ++i) {
        R row[SUMS];
        for (int j = 0; j < i; ++j) place[j] = takahashi_place(m, state, i, j, x[i], x[j]);
        UNROLL
        for (int s = 0; s < SUMS; ++s) row[s] = R(0.0);

        for (int j = 0; j < i; ++j) {
            const R f = low_friction(m, state, i, j) * takahashi_reciprocal<M, R>(m, place[j]);
            UNROLL
            for (int s = 0; s < SUMS; ++s) {
                row[s] += weight(s, j) * f;
                sums[s][j] += weight(s, i) * f;
            }
        }

        UNROLL
        for (int s = 0; s < SUMS; ++s) sums[s][i] = row[s];
    }
}

// The same sums for many species on a GPU, where an array over the species does not fit into registers: whole rows, a
// few at a time. Each pair is computed twice, and nothing has to be stored.
template <int SUMS, class M, class R, class Species, class Weight, class Done>
POINT_FN void friction_whole_rows(const M &m, const DiffusionState<R> &state, const Species &x, const Weight &weight,
                                  const Done &done) {
    constexpr int ROWS = 4;
    for (int first = 0; first < M::NS; first += ROWS) {
        R row[ROWS][SUMS];
        FrictionPart<R> own[ROWS];

        UNROLL
        for (int i = 0; i < ROWS; ++i) {
            const int k = first + i < M::NS ? first + i : M::NS - 1;
            own[i] = FrictionPart<R>(m, state, k, x[k]);
            UNROLL
            for (int s = 0; s < SUMS; ++s) row[i][s] = R(0.0);
        }

        for (int j = 0; j < M::NS; ++j) {
            const FrictionPart<R> other(m, state, j, x[j]);
            UNROLL
            for (int i = 0; i < ROWS; ++i) {
                const int k = first + i < M::NS ? first + i : M::NS - 1;
                if (k != j) {
                    const R f =
                        k > j ? friction(m, state, k, j, own[i], other) : friction(m, state, j, k, other, own[i]);
                    UNROLL
                    for (int s = 0; s < SUMS; ++s) row[i][s] += weight(s, j, other.x) * f;
                }
            }
        }

        UNROLL
        for (int i = 0; i < ROWS; ++i)
            if (first + i < M::NS) done(first + i, own[i].x, row[i]);
    }
}

// The same for one weight, each pair computed once: the output array holds the sums of the other rows meanwhile. The
// rows that do not fill a block of ROWS come first. So full blocks need no condition, and the pairs of a block are
// independent of each other.
template <class M, class R, class Species, class Out, class Done>
POINT_FN void friction_in_place(const M &m, const DiffusionState<R> &state, const Species &x, Out &out,
                                const Done &done) {
    constexpr int ROWS = M::NS > 24 ? 5 : 4;
    constexpr int REST = M::NS % ROWS; // 5 rows are up to 8 % faster, but spill with 128 registers

    const auto rows_from = [&](auto count, const int first) {
        constexpr int rows = count.value;
        R row[rows];
        FrictionPart<R> own[rows];
        UNROLL
        for (int i = 0; i < rows; ++i) {
            row[i] = R(0.0);
            own[i] = FrictionPart<R>(m, state, first + i, x[first + i]);
        }
        R next = x[0];

        UNROLL_BY(1) for (int j = 0; j < first; ++j) {
            const FrictionPart<R> other(m, state, j, next);
            next = x[j + 1]; // loaded while the pairs are computed
            R column = out[j];

            UNROLL
            for (int i = 0; i < rows; ++i) {
                const R f = friction(m, state, first + i, j, own[i], other);
                row[i] += other.x * f;
                column += own[i].x * f;
            }

            out.set(j, column);
        }

        UNROLL
        for (int i = 1; i < rows; ++i) UNROLL
        for (int j = 0; j < i; ++j) {
            const R f = friction(m, state, first + i, first + j, own[i], own[j]);
            row[i] += own[j].x * f;
            row[j] += own[i].x * f;
        }

        UNROLL
        for (int i = 0; i < rows; ++i) out.set(first + i, row[i]);
    };

    if constexpr (REST > 0) rows_from(Constant<REST>(), 0);
    UNROLL_BY(1) for (int first = REST; first < M::NS; first += ROWS) rows_from(Constant<ROWS>(), first);
    FOR_SPECIES (k, M::NS) done(k, x[k], out[k]);
}

// Calls done(k, x_k, sums of row k) for all k, by the fastest of the ways above.
template <int SUMS, class M, class R, class Species, class Weight, class Done>
POINT_FN void friction_sums(const M &m, const DiffusionState<R> &state, const Species &x, const Weight &weight,
                            const Done &done) {
    R of_row[SUMS];
    if constexpr (SPECIES_ARRAYS) {
        R sums[SUMS][M::NS];
        FrictionPart<R> own[M::NS];
        FOR_SPECIES (s, M::NS) own[s] = FrictionPart<R>(m, state, s, x[s]);
        const auto own_weight = [&](int s, int j) { return weight(s, j, own[j].x); };
        if constexpr (M::takahashi_smooth && number<R>::lanes > 1) friction_rows<SUMS>(m, state, own, own_weight, sums);
        else friction_panels<0, SUMS>(m, state, own, own_weight, sums);

        FOR_SPECIES (k, M::NS) {
            UNROLL
            for (int s = 0; s < SUMS; ++s) of_row[s] = sums[s][k];
            done(k, own[k].x, of_row);
        }
    } else friction_whole_rows<SUMS>(m, state, x, weight, done);
}

// f_ij of a single pair.
template <class M, class R>
POINT_FN R pair_friction(const M &m, const DiffusionState<R> &state, int i, int j, const R xi, const R xj) {
    return state.factor * friction(m, state, i, j, FrictionPart<R>(m, state, i, xi), FrictionPart<R>(m, state, j, xj));
}

// D_ij = 1/(p f_ij), symmetric.
template <class M, class R, class Species, class Out>
POINT_FN void binary_diffusion(const M &m, const R T, const R p, const Species &Y, const R W, Out &D_ij) {
    const DiffusionState<R> state = diffusion_state<M>(T, p);
    const Floored<M, R, Species> x{m, Y, W};
    const R inv_p = 1.0 / state.p;
    for (int i = 0; i < M::NS; ++i)
        for (int j = 0; j <= i; ++j) {
            const R xi = x[i];
            const R xj = x[j];
            const R pD = 1.0 / pair_friction(m, state, i, j, xi, xj);
            const R D =
                select(xi + xj > 0.0, pD * inv_p, R(NOT_A_NUMBER)); // the index of the table would lose a NaN in x
            D_ij.set(i * M::NS + j, D);
            D_ij.set(j * M::NS + i, D);
        }
}

// The sum of all shares except a given share, without cancellation. Below 0.6 of the total, total - share loses no
// digits. At most one share is larger: `rest` is the sum of the others. about: the total, to within 1e-5.
template <class R> struct Others {
    R total, limit, rest;
    template <int NS, class Value> POINT_FN static Others of(const R about, const Value &value) {
        const R limit = 0.6 * about;
        R total = R(0.0), rest = R(0.0);

        FOR_SPECIES (s, NS) {
            const R share = value(s);
            total += share;
            rest += select(roughly_less(share, limit), share, R(0.0));
        }

        return {total, limit, rest};
    }

    POINT_FN R operator()(const R share) const { return select(roughly_less(share, limit), total - share, rest); }
};

// x[0] x[1] ... x[COUNT - 1]
template <int COUNT, class R> POINT_FN R product(const R *x) {
    if constexpr (COUNT == 1) return x[0];
    else return product<COUNT / 2>(x) * product<COUNT - COUNT / 2>(x + COUNT / 2);
}

// above_k/(below_k scale) for COUNT species with a single division, r = 1/(scale times the product of all below_k).
template <int COUNT, class R, class Out>
POINT_FN void quotients(const R *above, const R *below, const R r, Out &out, int first) {
    constexpr int half = COUNT / 2;
    if constexpr (COUNT == 1) out.set(first, above[0] * r);
    else {
        quotients<half>(above, below, r * product<COUNT - half>(below + half), out, first);
        quotients<COUNT - half>(above + half, below + half, r * product<half>(below), out, first + half);
    }
}

// D_k = (1 - Y_k)/sum_{j != k} x_j/D_kj, in the mass-averaged frame, gradient of mole fractions.
// Computed as sum_{j != k} x_j W_j/(W sum_{j != k} x_j/D_kj): nothing cancels in the numerator. Moles per kilogram
// replace the mole fractions x: numerator and denominator change by the same factor.
template <class M, class R, class Species, class Out>
POINT_FN void mixture_diffusion(const M &m, const R T, const R p, const Species &Y, const R W, Out &D) {
    const DiffusionState<R> state = diffusion_state<M>(T, p);
    if constexpr (M::NS == 1) D.set(0, W / (W * (state.p * pair_friction(m, state, 0, 0, R(1.0), R(1.0)))));
    else {
        const FlooredMoles<M, R, Species> x{m, Y, W};
        const R scale = state.factor * W * state.p;
#ifdef MATRIX_UNITS
        if constexpr (M::takahashi_off && !M::diffusion_cantera) {
            friction_products(m, state.variable, Y,
                              Others<R>::template of<M::NS>(x.total(), [&](int s) { return x.mass(s); }), scale, D);
        } else
#endif
            if constexpr (SPECIES_ARRAYS) {
            R above[M::NS], below[M::NS];
            friction_sums<1>(
                m, state, x, [](int, int, const R xj) { return xj; },
                [&](int k, const R, const R(&of_row)[1]) { below[k] = of_row[0]; });

            if constexpr (M::NS <= 10) { // the sum before a species plus the sum after it: nothing cancels
                R ahead = R(0.0), behind = R(0.0);
                FOR_SPECIES (k, M::NS) {
                    above[k] = ahead;
                    ahead += x.mass(k);
                }
                FOR_SPECIES (k, M::NS) {
                    above[M::NS - 1 - k] += behind;
                    behind += x.mass(M::NS - 1 - k);
                }
            } else { // many species: the two running sums would be long chains of dependent additions
                const auto others = Others<R>::template of<M::NS>(x.total(), [&](int s) { return x.mass(s); });
                FOR_SPECIES (k, M::NS) above[k] = others(x.mass(k));
            }

            // with `table` the sums reach 1e30: in single precision not even two of them may be multiplied
            constexpr int AT_ONCE = M::takahashi_table ? 1 : IN_SINGLE ? 2 : 4;
            constexpr int rest = M::NS % AT_ONCE;
            constexpr int whole = M::NS - rest;
            const auto divide = [&](auto count, int first) {
                quotients<count.value>(above + first, below + first,
                                       inverse(product<count.value>(below + first) * scale), D, first);
            };
            FOR_SPECIES (s, whole / AT_ONCE) divide(Constant<AT_ONCE>(), AT_ONCE * s);
            if constexpr (rest > 0) divide(Constant<rest>(), whole);
        } else {
            const auto others = Others<R>::template of<M::NS>(x.total(), [&](int s) { return x.mass(s); });
            const auto done = [&](int k, const R, const R sum) { D.set(k, others(x.mass(k)) / (scale * sum)); };
            Held<R, M::NS> sums; // used where the output array has less precision than a sum
            if constexpr (sizeof(outside) < sizeof(scalar)) friction_in_place(m, state, x, sums, done);
            else friction_in_place(m, state, x, D, done);
        }
    }
}

// D_k = (1 - x_k)/sum_{j != k} x_j/D_kj, in the mole-averaged frame, from D: a factor (1 - x_k)/(1 - Y_k).
template <class M, class R, class Species, class In, class Out>
POINT_FN void mixture_diffusion_mole(const M &m, const Species &Y, const R W, const In &D, Out &D_mole) {
    if constexpr (M::NS == 1) D_mole.set(0, D[0]);
    else {
        const Floored<M, R, Species> x{m, Y, W};
        const auto moles = Others<R>::template of<M::NS>(R(1.0), [&](int s) { return x[s]; });
        const auto mass = Others<R>::template of<M::NS>(W, [&](int s) { return x[s] * m.W[s]; });
        FOR_SPECIES (s, M::NS) D_mole.set(s, D[s] * (W * moles(x[s]) / mass(x[s] * m.W[s])));
    }
}

//   1/D_k = sum_{j != k} x_j/D_kj + x_k/(W - x_k W_k) sum_{j != k} x_j W_j/D_kj
// in the mass-averaged frame, gradient of mass fractions. Kee, Coltrin & Glarborg 2003, 12.178 (original not seen).
template <class M, class R, class Species, class Out>
POINT_FN void mixture_diffusion_mass(const M &m, const R T, const R p, const Species &Y, const R W, Out &D_mass) {
    const DiffusionState<R> state = diffusion_state<M>(T, p);
    if constexpr (M::NS == 1) D_mass.set(0, W / (W * (state.p * pair_friction(m, state, 0, 0, R(1.0), R(1.0)))));
    else {
        const Floored<M, R, Species> x{m, Y, W};
        const auto others = Others<R>::template of<M::NS>(W, [&](int s) { return x[s] * m.W[s]; });
        const R scale = state.factor * state.p;
        friction_sums<2>(
            m, state, x, [&](int s, int j, const R xj) { return s ? xj * m.W[j] : xj; },
            [&](int k, const R xk, const R(&sum)[2]) {
                const R mass = others(xk * m.W[k]);
                D_mass.set(k, mass / (scale * (mass * sum[0] + xk * sum[1])));
            });
    }
}

// D_k from constant Lewis numbers, lam/(rho cp Le_k), or Schmidt numbers, mu/(rho Sc_k).
template <class M, class R, class Out>
POINT_FN void lewis_diffusion(const M &m, const R lam, const R rho, const R cp, Out &D_lewis) {
    const R a = lam / (rho * cp);
    FOR_SPECIES (s, M::NS) D_lewis.set(s, a * m.inv_lewis[s]);
}

template <class M, class R, class Out>
POINT_FN void schmidt_diffusion(const M &m, const R mu, const R rho, Out &D_schmidt) {
    const R nu = mu / rho;
    FOR_SPECIES (s, M::NS) D_schmidt.set(s, nu * m.inv_schmidt[s]);
}
