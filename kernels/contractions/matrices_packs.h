// Complex numbers as matrices [[re, im], [-im, re]]: a copy has the numbers of each run as they are, and once more
// times i, `turned` real numbers behind. matrices.py writes the record; its last loop is a run, side by side in the
// copy.
#pragma once
#include "contractions/packs.h"

typedef Pack<W> V;

template <int... I> POINT_FN V times_i(V x, Numbers<I...>) {
    return __builtin_shufflevector(x, -x, (I % 2 ? I - 1 : W + I + 1)...);
}

// from: `count` complex numbers, `step` real numbers apart
static void copy_run(const scalar *from, const long step, scalar *to, scalar *turned, const long count) {
    typedef typename Count<W>::type All;
    long i = 0;
    if (step == 2)
        for (; i + W / 2 <= count; i += W / 2) {
            const V x = fetch<V, W, 1>(from + 2 * i);
            leave<W>(to + 2 * i, x);
            leave<W>(turned + 2 * i, times_i(x, All()));
        }
    for (; i < count; ++i) {
        const scalar re = from[i * step], im = from[i * step + 1];
        to[2 * i] = re, to[2 * i + 1] = im;
        turned[2 * i] = -im, turned[2 * i + 1] = re;
    }
}

KERNEL(matrices, Arguments) {
    const Arguments &a = *record;
    const int run = int(a.loops) - 1;
    const scalar *from = (const scalar *)a.source;
    scalar *to = (scalar *)a.target;
    long turn[LOOPS] = {};
    for (;;) {
        copy_run(from, a.source_step[run], to, to + a.turned, a.extent[run]);

        // The next turn of the loops around it
        int d = run - 1;
        for (; d >= 0; --d) {
            from += a.source_step[d], to += a.target_step[d];
            if (++turn[d] < a.extent[d]) break;
            from -= a.extent[d] * a.source_step[d], to -= a.extent[d] * a.target_step[d];
            turn[d] = 0;
        }
        if (d < 0) return 0;
    }
}
