// The ceiling: a copy of memory by the same stores. out[i] = x[i] for n values.
#pragma once
#include "outer.h"

POINT_FN void over_blocks(const Loops &a, int threads) {
    const long whole = a.n - a.n % WIDTH;
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
#pragma omp for schedule(static)
        for (long i = 0; i < whole; i += WIDTH) put(a.out + i, fetch<lanes>(a.x[0] + i));
        streams_end();
    }
    for (long i = whole; i < a.n; ++i) a.out[i] = a.x[0][i];
}
