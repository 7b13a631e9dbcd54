// Points fastest, POINTS points at a time: their inputs stay in L1 and L2, and each row of the output gets a contiguous
// piece of POINTS values (whole pages, if they are enough) instead of one vector. TILE rows y share a load of x.
#pragma once
#include "unroll_and_jam.h" // for the last points

template <int T> POINT_FN void rows(const Loops &a, const long first, const long end, const int y) {
    ROLLED
    for (int x = 0; x < NX; ++x) ROLLED
    for (long t = first; t < end; t += WIDTH) {
        const Factors<lanes> cx = x_at<lanes>(a, x, t);
        UNROLL
        for (int j = 0; j < T; ++j) put(a.out + at(a, y + j, x, t), outer(cx, y_at<lanes>(a, y + j, t)));
    }
}

POINT_FN void over_blocks(const Loops &a, int threads) {
    const long whole = a.n - a.n % WIDTH;
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
#pragma omp for schedule(static)
        for (long first = 0; first < whole; first += POINTS) {
            const long end = whole - first < POINTS ? whole : first + POINTS;
            int y = 0;
            ROLLED
            for (; y + TILE <= NY; y += TILE) rows<TILE>(a, first, end, y);
            if constexpr (NY % TILE != 0) rows<NY % TILE>(a, first, end, y);
        }
#pragma omp for schedule(static)
        for (long t = whole; t < a.n; ++t) loops_at<real>(a, t);
        streams_end();
    }
}
