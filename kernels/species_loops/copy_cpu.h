// The ceiling: a copy of memory by the same stores. out[i] = ax[i] for n values, no species.
#pragma once
#include "loops.h"

POINT_FN void over_blocks(const Loops &a, int threads) {
    const long whole = a.n - a.n % WIDTH;
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
#pragma omp for schedule(static)
        for (long i = 0; i < whole; i += WIDTH) put(a.out + i, fetch<lanes>(a.ax + i));
        streams_end();
    }
    for (long i = whole; i < a.n; ++i) a.out[i] = a.ax[i];
}
