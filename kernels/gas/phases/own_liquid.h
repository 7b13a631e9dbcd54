// Which species of a feed may split off as liquids that are mostly they: by the ratio of their fugacity to that of the
// liquid of the species alone.
#pragma once
#include "gas/phases/trial.h"

constexpr double WILSON = 5.373;     // phase_wilson over 1 + omega
constexpr double OF_SATURATED = 0.4; // -ln of the fugacity coefficient of a saturated vapour at the critical point
constexpr double OWN_LIQUID = -0.5;  // ln of the ratio of a species' fugacity to that of its own liquid, by Wilson's K,
                                     // above which it may split off as that: Wilson's K is off by some 20 %
constexpr double OF_ALL_REPELLED = 0.6; // sum of the ratios of several from which on they may be a liquid together
constexpr double OF_ALL_LIGHTER = 1.1;  // the same of all but the heaviest species: about 1 in an ideal feed
constexpr double FROZEN = 0.2, FROZEN_OMEGA = 4.0; // of ln of vapour pressures over Tc/T - 2, below 0.5 Tc
constexpr double MEANINGLESS = 0.35;               // T/Tc below which Wilson's K is off by a factor of e and more
constexpr double TOO_LITTLE = 1e-8;                // of a species in the feed, to count
constexpr double NEARLY_OWN = -0.2;                // the same in a dense feed that is mostly this species
constexpr double UNLIKE = 0.2; // the same over its mole fraction, an activity coefficient, in other dense feeds
// Both in a dense feed next to a critical point of two liquids: each of these holds much of the other species
constexpr double OWN_OF_REPELLED = -0.9, REPELLED_MUCH = 0.75;
constexpr double NEAR_CRITICAL = 0.95; // T/Tc of a species from which on a liquid of it needs others
// T/Tc of a species up to which there are liquids that are mostly it: what they dissolve makes them less volatile
constexpr double LIQUEFIES = 1.1;
// T/Tc of a species above which a phase that is mostly it is a gas: the other trials find that
constexpr double GAS_BY_ITSELF = 1.5;
constexpr double MAINLY = 0.7;    // share from which on a phase is much the same as the liquid of its main species
constexpr double HOT_BELOW = 3e7; // Pa; gases split at higher pressures far above their critical temperatures

// ln of the ratio of a species' fugacity to that of its liquid by itself. That is estimated from Wilson's vapour
// pressure, the fugacity coefficient of that vapour, and the liquid's own volume. Where the estimate means nothing the
// result is no less than 0, for more than a trace of the species. The vapour pressure of a cold polar species is lower
// than Wilson's, by half at 0.5 Tc of methanol; below 0.5 Tc those of all equations fall behind Wilson's, by a factor
// of 30 for water at 0.25 Tc. d: ln of the fugacity over p
template <class M, class R>
POINT_FN R over_own_liquid(const M &m, const Feed<M, R> &feed, const R d, const R ln_K, const int k) {
    const R omega = m.phase_wilson[k] * (1.0 / WILSON) - 1.0;
    const R cold = larger(R(m.phase_Tc[k] / feed.at.T - 1.0), R(0.0));
    const R frozen = larger(R(cold - 1.0), R(0.0));
    const R saturated = OF_SATURATED * exp(m.phase_wilson[k] - m.phase_wilson[k] * (m.phase_Tc[k] / feed.at.T));
    const R ratio = d - ln_K + saturated * (m.phase_Tc[k] / feed.at.T) - m.phase_b[k] * (feed.p / feed.at.RT) +
                    omega * cold + (FROZEN + FROZEN_OMEGA * omega) * frozen;
    const auto is_unknown = feed.at.T < MEANINGLESS * m.phase_Tc[k] && feed.z[k] > TOO_LITTLE;
    return select(is_unknown, larger(ratio, R(0.01 * k)), ratio);
}

// What a trial that is rich in one species, of which there is 1, has of the others: `part` of their mole fractions in
// the phase that they come from, or next to nothing. Next to the critical temperature of the species, and above, only
// enough of them make it a liquid.
template <class M, class R> struct OtherSpecies {
    R ln_part, ln_rest;
    MaskOf<R> are_some;

    POINT_FN R amount(const R ln_x) const { return select(are_some, R(ln_part + ln_x), ln_rest); }
};

// x, Tc: mole fraction of the species in that phase, and its critical temperature. Where it is the main one the trial
// is to be unlike the phase. ln_ratio: of the amount of the others, where there are some
template <class M, class R>
POINT_FN OtherSpecies<M, R> others_of_trial(const M &m, const R T, const R x, const R Tc, const double ln_ratio) {
    OtherSpecies<M, R> o;
    o.ln_part = ln_ratio - log(at_least(R(1.0 - x), LEAST_AMOUNT));
    o.ln_rest = R(m.phase_ln_rest[0]);
    o.are_some = T > NEAR_CRITICAL * Tc && x < MAINLY;
    return o;
}

// Species other than the heaviest that may be liquids by themselves, one after the other, the largest ratio of
// fugacities first. Water beside a heavier hydrocarbon, say, or a gas at hundreds of bar.
template <class M, class R> struct Another {
    R own[M::NS];    // ln of the ratio; BARRED: no trial
    R turn, most;    // whose turn it is, and its ratio
    MaskOf<R> some;  // whether there is one
    R heaviest;      // ln of the ratio of the heaviest species
    MaskOf<R> mixed; // several that the feed repels may be a liquid together: the first of them is tried
};
constexpr double BARRED = -1e9;

// The species with the largest ratio below that of the last, of those that may split off; of any for the points of
// `free`
template <class M, class R>
POINT_FN void find_next(const M &m, const Feed<M, R> &feed, const MaskOf<R> is_dense, const MaskOf<R> free,
                        const R below, Another<M, R> &another) {
    another.most = R(BARRED);
    FOR_SPECIES (k, M::NS) {
        const R own = another.own[k];
        const R activity = own - feed.ln_z[k]; // ln of its coefficient
        const auto is_unlike = own > NEARLY_OWN || activity > UNLIKE;
        const auto is_first = below > -BARRED;
        const auto is_repelled = is_dense && own > OWN_OF_REPELLED && activity > REPELLED_MUCH;
        const auto is_near = own > OWN_LIQUID || is_repelled || (is_first && another.mixed && own > BARRED);
        const auto is_gas = feed.at.T > GAS_BY_ITSELF * m.phase_Tc[k];
        const auto may_split = free || (is_near && !is_gas && (!is_dense || is_unlike));
        const auto is_next = may_split && own < below && own > another.most;
        another.most = select(is_next, own, another.most);
        another.turn = select(is_next, R(double(k)), another.turn);
    }
    another.some = another.most > BARRED;
}

template <class M, class R>
POINT_FN void find_another(const M &m, const Feed<M, R> &feed, const R *ln_K, const R least, const MaskOf<R> is_dense,
                           Another<M, R> &another) {
    another.heaviest = R(BARRED);
    another.turn = R(0.0);
    FOR_SPECIES (k, M::NS) {
        const R own = over_own_liquid(m, feed, feed.d[k], ln_K[k], k);
        const auto is_other = ln_K[k] > least;
        another.heaviest = select(is_other, another.heaviest, larger(own, another.heaviest));
        another.own[k] = select(is_other, own, R(BARRED));
    }

    // An ideal liquid of all that a dense feed repels has the sum of their ratios; and one of all but the heaviest
    // species, of which the feed may repel one and attract another
    R repelled = R(0.0), lighter = R(0.0);
    FOR_SPECIES (k, M::NS) {
        const auto is_liquid = feed.at.T < LIQUEFIES * m.phase_Tc[k] && feed.z[k] > TOO_LITTLE;
        const R ratio = select(is_liquid, exp(at_most(another.own[k], 1.0)), R(0.0));
        repelled += select(another.own[k] - feed.ln_z[k] > UNLIKE, ratio, R(0.0));
        lighter += ratio;
    }
    another.mixed = is_dense && (repelled > OF_ALL_REPELLED || lighter > OF_ALL_LIGHTER);
    find_next(m, feed, is_dense, feed.p > HOT_BELOW, R(1e300), another);

    // After the first only those that may be a liquid: at high pressure also a little above the critical temperature
    const R coldest = select(feed.p > HOT_BELOW, R(1.0 / LIQUEFIES), R(1.0)) * feed.at.T;
    FOR_SPECIES (k, M::NS) {
        const auto is_first = another.own[k] >= another.most;
        const auto is_cold = coldest < m.phase_Tc[k];
        another.own[k] = select(is_first || is_cold, another.own[k], R(BARRED));
    }
}
