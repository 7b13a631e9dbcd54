// Species fastest, POINTS points at a time: their results are made in a buffer in the cache and leave as one contiguous
// stream of whole lines, whatever NS is.
#pragma once
#include "warp_team_cpu.h"

POINT_FN void over_blocks(const Loops &a, int threads)
{
    constexpr long PIECE = long(POINTS)*NS*NS;
    static_assert(PIECE*sizeof(real) % 64 == 0, "pieces start on cache lines");
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        alignas(64) real buffer[PIECE];     // on the stack: a static one in an inline function would be one for all libraries
#pragma omp for schedule(static)
        for (long first = 0; first < a.n; first += POINTS) {
            const long points = a.n - first < POINTS ? a.n - first : POINTS, values = points*NS*NS, whole = values - values % WIDTH;
            for (long i = 0; i < points; ++i) team<false>(a, first + i, buffer + i*NS*NS);
            real *const out = a.out + first*NS*NS;
            for (long i = 0; i < whole; i += WIDTH) put(out + i, fetch<lanes>(buffer + i));
            for (long i = whole; i < values; ++i) out[i] = buffer[i];
        }
        streams_end();
    }
}
