// Species fastest, POINTS points at a time: their results are made in a buffer in the cache and leave as one contiguous
// stream of whole lines, whatever NX is.
#pragma once
#include "warp_team_cpu.h"

POINT_FN void over_blocks(const Loops &a, int threads) {
    constexpr long PIECE = long(POINTS) * NX * NY;
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        alignas(64) real
            buffer[PIECE + WIDTH]; // on the stack: a static one in an inline function would be one for all libraries
#pragma omp for schedule(static)
        for (long first = 0; first < a.n; first += POINTS) {
            const long points = a.n - first < POINTS ? a.n - first : POINTS, values = points * NX * NY;
            // whole lines are streamed, from a buffer that begins as far behind a line as its place in memory does;
            // what a piece has before and behind them is stored plainly
            real *const out = a.out + first * NX * NY;
            const long ahead = long(-(unsigned long)out % PACK_BYTES / sizeof(real)),
                       head = ahead < values ? ahead : values;
            const long end = values - (values - head) % WIDTH;
            real *const made = buffer + (WIDTH - ahead) % WIDTH;
            for (long i = 0; i < points; ++i) team<false>(a, first + i, made + i * NX * NY);
            for (long i = 0; i < head; ++i) out[i] = made[i];
            for (long i = head; i < end; i += WIDTH) put(out + i, fetch<lanes>(made + i));
            for (long i = end; i < values; ++i) out[i] = made[i];
        }
        streams_end();
    }
}
