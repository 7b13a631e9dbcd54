// A point by itself, as doubles: a function of one point has no neighbours to fill a vector with. Where a body has many
// numbers of a kind, these fill it: exponentials of rate coefficients, say. Ahead of the bodies, in place of
// platform.h.
#pragma once
#include "engine/numbers/platform.h"

#ifndef ON_DEVICE
#include "engine/numbers/pack.h"

template <> inline constexpr bool NEIGHBOURS_AGREE<double> = true;
template <> inline constexpr bool FILLS_VECTORS<double> = true;

// x = function(x) for each of `count` numbers, a pack at a time
template <class Function> POINT_FN void in_packs(double *x, const int count, const Function &function) {
    int i = 0;
    for (; i + VECTOR_LANES <= count; i += VECTOR_LANES) {
        vec pack;
        load(x + i, pack);
        store(x + i, function(pack));
    }
    if (i == count) return;

    double rest[VECTOR_LANES] = {};
    for (int k = i; k < count; ++k) rest[k - i] = x[k];
    vec pack;
    load(rest, pack);
    store(rest, function(pack));
    for (int k = i; k < count; ++k) x[k] = rest[k - i];
}

POINT_FN void exp_all(double *x, const int count) {
    in_packs(x, count, [](const vec pack) { return exp(pack); });
}

POINT_FN void log_all(double *x, const int count) {
    in_packs(x, count, [](const vec pack) { return log(pack); });
}
#endif
