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
    log_all<M::RATE_LOGS + COUNT>(ln);

    for (int i = 0; i < COUNT; ++i) {
        const scalar *const f = falloff_at(m, i);
        const int form = whole_number(f[7]);
        const int collider = M::falloff_collider(i);
        const R third = at_least(s.third[collider], SMALLEST);
        const R Pr = smaller(larger(least, third * reduced[i]), most);
        const R ln_Pr = at_most(at_least(ln_reduced[i] + ln[collider], -BLENDED), BLENDED);

        rate[i] = f[0] * s.k[M::falloff_base(i)] / (1.0 + Pr);
        if (f[6] < 1) rate[i] = rate[i] * Pr;
        if (form == 3) blending[i] = ln_of_sri(f + 8, T, ln_T, inv_T, ln_Pr);
        else blending[i] = form > 0 ? ln_blending(ln[M::RATE_LOGS + i], ln_Pr) : 0.0;
    }

    exp_all<COUNT>(blending);
    for (int i = 0; i < COUNT; ++i) rate[i] = rate[i] * blending[i];
}

// [M] of the colliders, which fill vectors
template <class M> POINT_FN void third_bodies_in_packs(const M &m, const double *C, Reacting<M, double> &s) {
    double rest = 0.0;
    for (int i = M::RATE_WEIGHTED; i < M::NS; ++i) rest += C[M::collider_species(i)];

    in_packs_of<M::RATE_COLLIDERS>([&](const auto some) INLINED {
        const double *const w = m.reaction_colliders;
        typename decltype(some)::Numbers sum =
            some(w + M::collider_species(M::RATE_WEIGHTED) * M::RATE_COLLIDERS) * rest;
        for (int i = 0; i < M::RATE_WEIGHTED; ++i) {
            const int k = M::collider_species(i);
            sum += some(w + k * M::RATE_COLLIDERS) * C[k];
        }
        store(s.third + some.first, sum);
    });
    s.third[M::RATE_COLLIDERS] = 1.0;
}

// c_k, L_k, I_k and D_k of s, and [M] of the colliders
template <class M, class Species, class Gamma>
POINT_FN void activities_in_packs(const M &m, const double T, const double ln_T, const double inv_T, const double rho,
                                  const Species &Y, const Gamma &ln_gamma, Reacting<M, double> &s) {
    double C[Reacting<M, double>::SPECIES];
    in_packs_of<M::NS>([&](const auto some) INLINED {
        typedef typename decltype(some)::Numbers Numbers;
        const Numbers C_k = rho * (some(numbers_of(Y)) * some(m.inv_W));
        Numbers c = C_k, L = potential<true>(m, Numbers(T), Numbers(ln_T), Numbers(inv_T), some);
        if constexpr (is_given<Gamma>::value) {
            if constexpr (M::kinetics_fugacity) c = C_k * exp(some(numbers_of(ln_gamma)));
            else L += some(numbers_of(ln_gamma));
        }
        const Numbers I = exp(at_most(at_least(-L, -FARTHEST), FARTHEST));
        store(C + some.first, C_k);
        store(s.c + some.first, c);
        if constexpr (M::RATES_MIXED) store(s.C + some.first, C_k);
        store(s.L + some.first, L);
        store(s.I + some.first, I);
        store(s.D + some.first, c / I);
    });
    third_bodies_in_packs(m, C, s);
}

template <class M, class R, class Species, class Gamma>
POINT_FN void reacting_alone(const M &m, const R T, const R p, const R rho, const Species &Y, const Gamma &ln_gamma,
                             Reacting<M, R> &s) {
    constexpr int RATES = M::RATE_EXPONENTS;
    constexpr int FALLOFFS = M::RATE_FALLOFFS;
    const R ln_T = log(T);
    const R inv_T = 1.0 / T;
    R x[4 * FALLOFFS + 1], weight[3 * FALLOFFS + 1], ln_reduced[FALLOFFS + 1];
    s.inv_T = inv_T;

    // Exponents of T alone.
    for (int i = 0; i < FALLOFFS; ++i) {
        const scalar *const f = falloff_at(m, i);
        x[i] = ln_reduced[i] = f[2] + f[3] * ln_T - f[4] * inv_T;
        troe_terms(f, T, inv_T, weight + 3 * i, x + FALLOFFS + 3 * i);
    }
    if constexpr (M::NASA9_RANGES == 0 && SIDE_BY_SIDE<Species> && (SIDE_BY_SIDE<Gamma> || !is_given<Gamma>::value))
        activities_in_packs(m, T, ln_T, inv_T, rho, Y, ln_gamma, s);
    else activities(m, T, rho, Y, ln_gamma, s);

    // Rate coefficients.
    in_packs_of<RATES>([&](const auto some) INLINED {
        store(s.k + some.first, exp(some(m.reaction_exponents) * ln_T - some(m.reaction_exponents + RATES) * inv_T));
    });
    exp_all<4 * FALLOFFS>(x);

    if constexpr (FALLOFFS > 0) blended_falloffs(m, T, ln_T, inv_T, ln_reduced, x, x + FALLOFFS, weight, s);
    const R *const C = s.C;
    tabled_rates(m, T, p, ln_T, inv_T, C, s.k + RATES + FALLOFFS);
}
