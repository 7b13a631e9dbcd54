// What a CPU's memory takes for some bytes: loops without any other work, over arrays that no cache holds.
#pragma once
#ifndef VECTOR_BYTES
#include "engine/numbers/pack.h"
#endif
#include "engine/numbers/launch.h"
#include "engine/numbers/past.h"

// Arrays that are read, written, changed where they lie, in lines of eight numbers. A launch goes through all of them
// side by side. A small array is read again and again, from the caches.
struct Mix {
    const double *read;
    double *written, *changed;
    const double *again; // AGAIN numbers
    long lines_read, lines_written, lines_changed, lines_again;
    long past; // stores to `written` go past the caches, or the core reads a line before it writes to it
    double *sums;
};

POINT_FN void store_by(long past, double *to, vec x) {
    if (!past) return store(to, x);
#ifdef __AVX__
    store_past(to, x);
#else
    for (int l = 0; l < VECTOR_LANES; ++l) store_past(to + l, x.v[l]);
#endif
}

// Part `number` of `parts` equal ones of a mix
struct MixPart {
    static constexpr long LINE = 8;
    static constexpr long AGAIN = 16384; // a power of two; the second cache holds as many, the first one does not
    long number, parts;

    template <class F> POINT_FN void each_pack(long lines, const F &f) const {
        const long behind = lines * (number + 1) / parts * LINE;
        for (long i = lines * number / parts * LINE; i < behind; i += VECTOR_LANES) f(i);
    }
    POINT_FN vec move(const Mix &a) const {
        vec sum = vec(0.0);
        each_pack(a.lines_read, [&](long i) INLINED {
            vec x;
            load(a.read + i, x);
            sum += x;
        });

        each_pack(a.lines_again, [&](long i) INLINED {
            vec x;
            load(a.again + i % AGAIN, x);
            sum += x;
        });

        // Not one number for all: memory writes lines of equal numbers faster.
        each_pack(a.lines_written, [&](long i) INLINED { store_by(a.past, a.written + i, sum + vec(double(i))); });

        each_pack(a.lines_changed, [&](long i) INLINED {
            vec x;
            load(a.changed + i, x);
            store(a.changed + i, x + vec(1.0));
        });
        return sum;
    }
};

// items: parts of the mix, of a few KiB each
// clang-format off
KERNEL(move_mix, Mix) {
    const Mix a = *record;
    _Pragma("omp parallel for schedule(static) num_threads(threads)")
    for (int thread = 0; thread < threads; ++thread) {
        vec sum = vec(0.0);
        for (long part = items * thread / threads; part < items * (thread + 1) / threads; ++part)
            sum += MixPart{part, items}.move(a);
        store(a.sums + thread * 64L, sum);
        done_past();
    }
    return 0;
}
// clang-format on
