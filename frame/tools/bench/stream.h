// What threads of a CPU make of its memory: a plain copy, past the caches, that packing is compared with.
#pragma once
#include "engine/numbers/launch.h"
#include "engine/numbers/past.h"

struct Copied {
    const double *in;
    double *out;
};

// clang-format off
KERNEL(copy_memory, Copied) {
    _Pragma("omp parallel for schedule(static) num_threads(threads)")
    for (int part = 0; part < threads; ++part) {
        const long low = items * part / threads, high = items * (part + 1) / threads;
        copy_past(record->out + low, record->in + low, high - low);
        done_past();
    }
    return 0;
}
// clang-format on
