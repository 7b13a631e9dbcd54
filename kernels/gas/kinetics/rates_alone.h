// Rate coefficients and activities of a point by itself (engine/numbers/alone.h): the exponentials of species, rates
// and falloffs fill vectors together. The formulas are those of rates.h, which includes this file.
//
// Three steps follow one another: exponentials of T alone, logarithms, exponentials of ln F. So the reduced pressure is
// [M] exp(ln(k_low/k_high)), the logarithm of which is needed for Troe's and SRI's forms only.
#pragma once

// A falloff's numbers: A; ln(k_low/k_high) as ln A, b, E; collider; whether it is chemically activated; form and its 7
template <class M> POINT_FN const scalar *falloff_at(const M &m, const int i) { return m.reaction_falloffs + 15 * i; }

// The three terms of Troe's centre: weight exp(exponent), 0 and 0 where there is none
template <class R> POINT_FN void troe_terms(const scalar *f, const R T, const R inv_T, R *weight, R *exponent) {
    const bool is_troe = whole_number(f[7]) == 1;
    const bool there[3] = {is_troe && (f[9] < 0 || f[9] > 0), is_troe && (f[11] < 0 || f[11] > 0),
                           is_troe && f[13] > 0};
    for (int j = 0; j < 3; ++j) {
        weight[j] = there[j] ? f[9 + 2 * j] : 0.0;
        exponent[j] = there[j] ? -f[10 + 2 * j] * (j < 2 ? T : inv_T) : 0.0;
    }
}

// rate: A times the limit's coefficient, which the blending multiplies. reduced, terms, weight: of T alone, as above
template <class M, class R>
POINT_FN void blended_falloffs(const M &m, const R T, const R ln_T, const R inv_T, const R *ln_reduced,
                               const R *reduced, const R *terms, const R *weight, Reacting<M, R> &s) {
    constexpr int COUNT = M::RATE_FALLOFFS;
    const R most = 1e299, least = 1e-299; // of Pr, as BLENDED bounds its logarithm
    R ln[M::RATE_LOGS + COUNT], blending[COUNT], *const rate = s.k + M::RATE_EXPONENTS;

    for (int j = 0; j < M::RATE_LOGS; ++j) ln[j] = at_least(s.third[j], SMALLEST);
    for (int i = 0; i < COUNT; ++i) {
        const scalar *const f = falloff_at(m, i);
        R centre = f[8] + weight[3 * i] * terms[3 * i] + weight[3 * i + 1] * terms[3 * i + 1] +
                   weight[3 * i + 2] * terms[3 * i + 2];
        if (whole_number(f[7]) == 2) centre = centre + f[9] * T;
        ln[M::RATE_LOGS + i] = at_least(centre, SMALLEST);
    }
    log_all(ln, M::RATE_LOGS + COUNT);

    for (int i = 0; i < COUNT; ++i) {
        const scalar *const f = falloff_at(m, i);
        const int form = whole_number(f[7]), collider = M::falloff_collider(i);
        const R third = at_least(s.third[collider], SMALLEST), Pr = smaller(larger(least, third * reduced[i]), most),
                ln_Pr = at_most(at_least(ln_reduced[i] + ln[collider], -BLENDED), BLENDED);

        rate[i] = f[0] * s.k[M::falloff_base(i)] / (1.0 + Pr);
        if (f[6] < 1) rate[i] = rate[i] * Pr;
        if (form == 3) blending[i] = ln_of_sri(f + 8, T, ln_T, inv_T, ln_Pr);
        else blending[i] = form > 0 ? ln_blending(ln[M::RATE_LOGS + i], ln_Pr) : 0.0;
    }

    exp_all(blending, COUNT);
    for (int i = 0; i < COUNT; ++i) rate[i] = rate[i] * blending[i];
}

template <class M, class R, class Species, class Gamma>
POINT_FN void reacting_alone(const M &m, const R T, const R p, const R rho, const Species &Y, const Gamma &ln_gamma,
                             Reacting<M, R> &s) {
    constexpr int RATES = M::RATE_EXPONENTS, FALLOFFS = M::RATE_FALLOFFS, SPECIES = RATES + FALLOFFS,
                  TERMS = SPECIES + M::NS;
    const R ln_T = log(T), inv_T = 1.0 / T;
    R C[M::NS], x[TERMS + 3 * FALLOFFS], weight[3 * FALLOFFS + 1], ln_reduced[FALLOFFS + 1];

    // All exponents of T alone.
    for (int j = 0; j < RATES; ++j) x[j] = m.reaction_exponents[2 * j] * ln_T - m.reaction_exponents[2 * j + 1] * inv_T;
    for (int i = 0; i < FALLOFFS; ++i) {
        const scalar *const f = falloff_at(m, i);
        x[RATES + i] = ln_reduced[i] = f[2] + f[3] * ln_T - f[4] * inv_T;
        troe_terms(f, T, inv_T, weight + 3 * i, x + TERMS + 3 * i);
    }
    for (int k = 0; k < M::NS; ++k) {
        concentration(m, T, ln_T, inv_T, rho, Y, ln_gamma, k, C[k], s);
        x[SPECIES + k] = at_most(at_least(-s.L[k], -FARTHEST), FARTHEST);
    }
    exp_all(x, TERMS + 3 * FALLOFFS);

    for (int j = 0; j < RATES; ++j) s.k[j] = x[j];
    for (int k = 0; k < M::NS; ++k) {
        s.I[k] = x[SPECIES + k];
        s.D[k] = s.c[k] / s.I[k];
    }
    s.inv_T = inv_T;
    third_bodies(m, C, s);
    if constexpr (FALLOFFS > 0) blended_falloffs(m, T, ln_T, inv_T, ln_reduced, x + RATES, x + TERMS, weight, s);
    tabulated_rates(m, p, ln_T, inv_T, s.k + RATES + FALLOFFS);
}
