// Rate coefficients by rows of a table, which tabled.py writes: kind, factor, numbers of the kind. Each kind has a body
// here and a row in tabled.py. All other files read such coefficients by tabled_rate.
#pragma once
#include "gas/kinetics/falloffs.h"

// Kinds of rows, in the order of KINDS in tabled.py
enum class TabledKind { BLOWERS_MASEL, PLOG, CHEBYSHEV, LINEAR_BURKE, FALLOFF_OF_P };

POINT_FN TabledKind kind_of(const scalar x) { return TabledKind(whole_number(x)); }

// What these coefficients depend on. C: concentrations [mol/m3] by C[k], if some kind of the mechanism needs them
template <class R, class Concentrations> struct RateState {
    R T, ln_T, inv_T, ln_p;
    Concentrations C;
};

// ln p, where some kind of the mechanism needs it
template <class M, class R> POINT_FN R ln_pressure(const R p) {
    if constexpr (M::RATES_PRESSED) return log(p);
    else return R(0.0);
}

template <class R, class Concentrations>
POINT_FN RateState<R, Concentrations> rate_state(const R T, const R ln_T, const R inv_T, const R ln_p,
                                                 const Concentrations C) {
    return {T, ln_T, inv_T, ln_p, C};
}

// ---- P-log
// ln k at one pressure of a P-log reaction, whose terms follow; `at` moves behind them
template <class R> POINT_FN R plog_entry(const scalar *&at, const R ln_T, const R inv_T) {
    const int terms = whole_number(at[2]);
    at += 3;

    if (terms == 1) {
        const R ln_k = at[0] + at[1] * ln_T - at[2] * inv_T;
        at += 3;
        return ln_k;
    }

    R sum = R(0.0);
    UNROLL_BY(1)
    for (int t = 0; t < terms; ++t, at += 3) sum = sum + at[0] * exp(at[1] * ln_T - at[2] * inv_T);
    return log(at_least(sum, SMALLEST));
}

// factor, pressures; for each: ln p, 1/(ln p - that before), terms, each of them A (ln A of one alone), b, E; `at`
// moves behind them
template <class R> POINT_FN R plog_rate(const scalar *&at, const R ln_T, const R inv_T, const R ln_p) {
    const scalar factor = at[0];
    const int pressures = whole_number(at[1]);
    at += 2;
    scalar ln_before = at[0];
    R before = plog_entry(at, ln_T, inv_T);
    R low = before;
    R high = before;
    R share = R(0.0);

    UNROLL_BY(1)
    for (int j = 1; j < pressures; ++j) {
        const scalar ln_here = at[0];
        const scalar inv_step = at[1];
        const R here = plog_entry(at, ln_T, inv_T);
        const auto beyond = ln_p > R(ln_before);
        low = select(beyond, before, low);
        high = select(beyond, here, high);
        share = select(beyond, (ln_p - ln_before) * inv_step, share);
        before = here;
        ln_before = ln_here;
    }

    return factor * exp(low + (high - low) * at_most(share, 1.0));
}

// ---- Chebyshev
// factor, rows, columns, x = .. + ../T, y = .. + .. ln p, coefficients of ln k; `at` moves behind them
template <class M, class R> POINT_FN R chebyshev_rate(const scalar *&at, const R inv_T, const R ln_p) {
    const int rows = whole_number(at[1]);
    const int columns = whole_number(at[2]);
    const scalar factor = at[0];
    R x = at[3] + at[4] * inv_T;
    R y = at[5] + at[6] * ln_p;
    if constexpr (M::chebyshev_clamp) {
        x = at_most(at_least(x, -1.0), 1.0);
        y = at_most(at_least(y, -1.0), 1.0);
    }
    R first = R(0.0), second = R(0.0), row = R(0.0); // Clenshaw's sums

    UNROLL_BY(1)
    for (int t = rows - 1; t >= 0; --t) {
        R one = R(0.0), two = R(0.0);
        UNROLL_BY(1)
        for (int j = columns - 1; j > 0; --j) {
            const R next = at[7 + t * columns + j] + 2.0 * y * one - two;
            two = one;
            one = next;
        }

        row = at[7 + t * columns] + y * one - two;
        if (t > 0) {
            const R next = row + 2.0 * x * first - second;
            second = first;
            first = next;
        }
    }

    at += 7 + rows * columns;
    return factor * exp(row + x * first - second);
}

// ---- Blowers-Masel: k = T^b exp(-E/T), where E goes with the heat of the reaction. Blowers & Masel 2000 (original not
// seen), as Cantera 3.2 has it: E = 0 below dH = -4 E0; E = dH above 4 E0; between
//   (w + dH/2) (V - 2w + dH)^2/(V^2 - 4 w^2 + dH^2),  V = 2w (w + E0)/(w - E0).
// All energies over R [K]; dH is that of the ideal gas at T. V - 2w cancels where w is large: it is formed from E0.
template <class R> POINT_FN R blowers_masel_energy(const scalar E0, const scalar w, const R dH) {
    const scalar more = 4 * w * E0 / (w - E0);
    const scalar product = more * (more + 4 * w); // V - 2w; this times V + 2w
    const R above = more + dH;
    const R between = (w + 0.5 * dH) * (above * above) / (product + dH * dH);
    return select(dH <= -4 * E0, R(0.0), select(dH > 4 * E0, dH, between));
}

// factor, b, E0, w, number of species, then species and products less reactants; `at` moves behind them
template <class M, class R>
POINT_FN R blowers_masel_rate(const M &m, const scalar *&at, const R T, const R ln_T, const R inv_T) {
    const scalar factor = at[0];
    const scalar b = at[1];
    const scalar E0 = at[2];
    const scalar w = at[3];
    const int species = whole_number(at[4]);
    at += 5;

    R dH = R(0.0);
    UNROLL_BY(1)
    for (int t = 0; t < species; ++t, at += 2) {
        const int k = whole_number(at[0]);
        dH = dH + species_ideal<false>(m, T, ln_T, k) * (at[1] * m.W[k] * (1 / R_UNIVERSAL));
    }
    return factor * exp(b * ln_T - blowers_masel_energy(E0, w, dH) * inv_T);
}

// ---- A function of T and p: P-log, Chebyshev, or Troe's falloff with [M] = p/RT

// b, E of the limit that it is a multiple of; the numbers of a falloff, whose ln(k_low/k_high) has - ln R
template <class R> POINT_FN R falloff_of_p(const scalar *&at, const R T, const R ln_T, const R inv_T, const R ln_p) {
    const scalar *const f = at + 2;
    const R base = exp(at[0] * ln_T - at[1] * inv_T);
    at = f + 15;
    return falloff_rate(f, T, ln_T, inv_T, base, R(ln_p - ln_T));
}

template <class M, class R, class State> POINT_FN R rate_of_p(const scalar *&at, const State &s, const R ln_p) {
    const TabledKind kind = kind_of(*at++);
    if constexpr (M::RATE_CHEBYSHEVS > 0) {
        if (kind == TabledKind::CHEBYSHEV) return chebyshev_rate<M>(at, s.inv_T, ln_p);
    }
    if constexpr (M::RATE_FALLOFFS_OF_P > 0) {
        if (kind == TabledKind::FALLOFF_OF_P) return falloff_of_p(at, s.T, s.ln_T, s.inv_T, ln_p);
    }
    return plog_rate(at, s.ln_T, s.inv_T, ln_p);
}

// ---- Linear Burke: a rule for mixtures. Singal et al. 2024 (original not seen), as Cantera 3.2 has it: with
// efficiencies eps_j(T), 1 for species without one, and S = sum eps_j C_j, C = sum C_j,
//   k = sum of k_j(T, p S/(eps_j C)) eps_j C_j/S.
// Colliders without a rate of their own have M's, at p S/C.

// A row behind its factor: the column of slopes in C; count, and species without an efficiency; counts of colliders
// with M's rate and with their own; of each of them species, column of its slopes, ln A, b, E; M's rate, their own
// rates
template <class R> struct BurkeSums {
    const scalar *colliders, *rates;
    int column, likes, owns;
    R all, of_M, weighted; // sums of C_k; of eps_k C_k where M's rate counts, and of all

    template <class State> POINT_FN BurkeSums(const scalar *at, const State &s) {
        column = whole_number(*at++);
        const int rest = whole_number(*at++);
        all = R(0.0);
        UNROLL_BY(1)
        for (int t = 0; t < rest; ++t) all = all + s.C[whole_number(*at++)];

        likes = whole_number(at[0]);
        owns = whole_number(at[1]);
        colliders = at + 2;
        rates = colliders + 5 * (likes + owns);
        of_M = weighted = all;

        UNROLL_BY(1)
        for (int t = 0; t < likes + owns; ++t) {
            const R C = s.C[collider(t)];
            const R part = C * exp(ln_efficiency(t, s));
            all = all + C;
            weighted = weighted + part;
            if (t < likes) of_M = of_M + part;
        }

        all = at_least(all, SMALLEST);
        weighted = at_least(weighted, SMALLEST);
    }

    POINT_FN int collider(const int t) const { return whole_number(colliders[5 * t]); }
    POINT_FN int column_of(const int t) const { return whole_number(colliders[5 * t + 1]); }
    template <class State> POINT_FN R ln_efficiency(const int t, const State &s) const {
        const scalar *const of = colliders + 5 * t;
        return of[2] + of[3] * s.ln_T - of[4] * s.inv_T;
    }
};

template <class M, class R, class State> POINT_FN R linear_burke_rate(const scalar *&at, const State &s) {
    const scalar factor = *at;
    const BurkeSums<R> sums(at + 1, s);
    const R ln_p = s.ln_p + log(sums.weighted / sums.all);
    at = sums.rates;

    R sum = rate_of_p<M>(at, s, ln_p) * sums.of_M;
    UNROLL_BY(1)
    for (int t = sums.likes; t < sums.likes + sums.owns; ++t) {
        const R ln_own = sums.ln_efficiency(t, s);
        sum = sum + rate_of_p<M>(at, s, R(ln_p - ln_own)) * (exp(ln_own) * s.C[sums.collider(t)]);
    }
    return factor * sum / sums.weighted;
}

// Slopes of k in C_j, from k and its slope in ln p, k_p: eps_j (k_j - k + k_p)/S - k_p/C. use(column, slope): first the
// slope in C, then for each collider the difference from it. at: behind the kind
template <class M, class R, class State, class Use>
POINT_FN void linear_burke_slopes(const scalar *at, const State &s, const R k, const R k_p, const Use &use) {
    const scalar factor = *at;
    const BurkeSums<R> sums(at + 1, s);
    const R ln_p = s.ln_p + log(sums.weighted / sums.all);
    const R inverse = 1.0 / sums.weighted;
    at = sums.rates;

    const R usual = (factor * rate_of_p<M>(at, s, ln_p) - k + k_p) * inverse;
    use(sums.column, R(usual - k_p / sums.all));

    UNROLL_BY(1)
    for (int t = 0; t < sums.likes + sums.owns; ++t) {
        const R ln_own = sums.ln_efficiency(t, s);
        R own = usual;
        if (t >= sums.likes) own = (factor * rate_of_p<M>(at, s, R(ln_p - ln_own)) - k + k_p) * inverse;
        use(sums.column_of(t), R(exp(ln_own) * own - usual));
    }
}

// ---- A row of any kind; `at` moves behind it
template <class M, class R, class Concentrations>
POINT_FN R tabled_rate(const M &m, const scalar *&at, const RateState<R, Concentrations> &s) {
    const TabledKind kind = kind_of(*at);
    if constexpr (M::RATE_BLOWERS_MASELS > 0) {
        if (kind == TabledKind::BLOWERS_MASEL) return blowers_masel_rate(m, ++at, s.T, s.ln_T, s.inv_T);
    }
    if constexpr (M::RATE_LINEAR_BURKES > 0) {
        if (kind == TabledKind::LINEAR_BURKE) return linear_burke_rate<M, R>(++at, s);
    }
    return rate_of_p<M>(at, s, s.ln_p);
}

// All rows, to out
template <class M, class R, class Concentrations>
POINT_FN void tabled_rates(const M &m, const R T, const R p, const R ln_T, const R inv_T, const Concentrations C,
                           R *out) {
    if constexpr (M::RATES_TABLED > 0) {
        const auto s = rate_state(T, ln_T, inv_T, ln_pressure<M>(p), C);
        const scalar *at = m.reaction_tabled;
        UNROLL_BY(1)
        for (int i = 0; i < M::RATES_TABLED; ++i) out[i] = tabled_rate(m, at, s);
    }
}
