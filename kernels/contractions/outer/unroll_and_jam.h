// TILE values of y in registers, all of them served by one load of x. AHEAD: so many x at a time, for loads in flight.
#pragma once
#include "outer.h"
#ifndef AHEAD
#define AHEAD 1
#endif
#ifdef ON_DEVICE
#define OVER_X UNROLL_BY(AHEAD)
#else
#define OVER_X ROLLED
#endif

template <int T, class P> POINT_FN void jam(const Loops &a, const long t, const int first) {
    Factors<P> cy[T];
    UNROLL
    for (int j = 0; j < T; ++j) cy[j] = y_at<P>(a, first + j, t);
    OVER_X for (int x = 0; x < NX; ++x) {
        const Factors<P> cx = x_at<P>(a, x, t);
        UNROLL
        for (int j = 0; j < T; ++j) put(a.out + at(a, first + j, x, t), outer(cx, cy[j]));
    }
}

template <class P> POINT_FN void loops_at(const Loops &a, const long t) {
    int y = 0;
    ROLLED
    for (; y + TILE <= NY; y += TILE) jam<TILE, P>(a, t, y);
    if constexpr (NY % TILE != 0) jam<NY % TILE, P>(a, t, y);
}
