// A bracket of an unknown, T or p, for searches that nothing else ends: its ends with what is known there.
#pragma once
#include "gas/phases/flash.h"

constexpr int BRACKET_STEPS = 400; // evaluations of the bracketed search
constexpr int FROM_NOTHING = 60; // of these, after which each begins from nothing: a start keeps to its own two phases
                                 // where two others have a lower Gibbs energy, and p and V then go by no curve

// A search in a bracket, with what was seen at its ends for the lever rule
template <class R> struct Bracket {
    R low, high;                     // of the unknown
    R value_low, value_high;         // of the function at the ends
    R free_low, free_high;           // V less its least value there
    R energy_low, energy_high;       // U or H there
    MaskOf<R> seen_low, seen_high;   // whether the ends were evaluated
    MaskOf<R> plain_low, plain_high; // and are one phase
};

template <class R> POINT_FN void open_bracket(const MaskOf<R> where, const R low, const R high, Bracket<R> &b) {
    b.low = select(where, low, b.low);
    b.high = select(where, high, b.high);
    b.seen_low = b.seen_low && !where;
    b.seen_high = b.seen_high && !where;
    b.plain_low = b.plain_low && !where;
    b.plain_high = b.plain_high && !where;
}

// What one end has
template <class R> struct End {
    R at, value, free, energy;
    MaskOf<R> plain;
};

template <class R>
POINT_FN void narrow_bracket(const MaskOf<R> is_low, const MaskOf<R> is_high, const End<R> &end, Bracket<R> &b) {
    b.low = select(is_low, end.at, b.low);
    b.value_low = select(is_low, end.value, b.value_low);
    b.free_low = select(is_low, end.free, b.free_low);
    b.energy_low = select(is_low, end.energy, b.energy_low);
    b.seen_low = b.seen_low || is_low;
    b.plain_low = (b.plain_low && !is_low) || (end.plain && is_low);
    b.high = select(is_high, end.at, b.high);
    b.value_high = select(is_high, end.value, b.value_high);
    b.free_high = select(is_high, end.free, b.free_high);
    b.energy_high = select(is_high, end.energy, b.energy_high);
    b.seen_high = b.seen_high || is_high;
    b.plain_high = (b.plain_high && !is_high) || (end.plain && is_high);
}

// The same of an unknown and its function alone, value_low > 0 > value_high. The value of an end that stays is halved,
// so that the chord comes from both sides (Illinois rule).
template <class R>
POINT_FN void narrow(const MaskOf<R> is_low, const MaskOf<R> is_high, const R at, const R value, Bracket<R> &b) {
    b.value_low = select(is_low, value, select(is_high, R(0.5 * b.value_low), b.value_low));
    b.value_high = select(is_high, value, select(is_low, R(0.5 * b.value_high), b.value_high));
    b.low = select(is_low, at, b.low);
    b.high = select(is_high, at, b.high);
    b.seen_low = b.seen_low || is_low;
    b.seen_high = b.seen_high || is_high;
}

// The zero of the chord between the ends; where they were not both seen, an end
template <class R> POINT_FN R chord_of(const Bracket<R> &b) {
    const R zero = b.low + (b.high - b.low) * (b.value_low / (b.value_low - b.value_high));
    return select(b.seen_low && b.seen_high, zero, b.high);
}

// Two phases of the feed's own composition, with free volumes of the vapour and the liquid, where the function jumps:
// a pure species boils. beta: share of the vapour.
template <class M, class R>
POINT_FN void by_lever(const M &m, const R *z, const R beta, const R free_v, const R free_l, State<M, R> &s) {
    const R ratio = log(beta / (1.0 - beta));
    FOR_SPECIES (k, M::NS) s.ln_kappa[k] = ratio;
    s.V = least_volume(m, s.T, z) + beta * free_v + (1.0 - beta) * free_l;
    s.eta = ratio + log(free_v / free_l);
}

template <class M, class R> POINT_FN MaskOf<R> has_room(const M &m, const R *z, const State<M, R> &s) {
    return s.V > least_volume(m, s.T, z);
}
