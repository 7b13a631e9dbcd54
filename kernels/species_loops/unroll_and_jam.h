// TILE values of y in registers, all of them served by one load of x. AHEAD: so many x at a time, for loads in flight.
#pragma once
#include "loops.h"
#ifndef AHEAD
#define AHEAD 1
#endif
#ifdef ON_DEVICE
#define OVER_X UNROLL_BY(AHEAD)
#else
#define OVER_X ROLLED
#endif

template <int T, class P> POINT_FN void jam(const Loops &a, const long t, const int first) {
    P ay[T], by[T];
    UNROLL
    for (int j = 0; j < T; ++j) {
        ay[j] = fetch<P>(a.ay + at(a, first + j, t));
        by[j] = fetch<P>(a.by + at(a, first + j, t));
    }
    OVER_X for (int x = 0; x < NS; ++x) {
        const P ax = fetch<P>(a.ax + at(a, x, t)), bx = fetch<P>(a.bx + at(a, x, t));
        UNROLL
        for (int j = 0; j < T; ++j) put(a.out + at(a, first + j, x, t), outer(ax, bx, ay[j], by[j]));
    }
}

template <class P> POINT_FN void loops_at(const Loops &a, const long t) {
    int y = 0;
    ROLLED
    for (; y + TILE <= NS; y += TILE) jam<TILE, P>(a, t, y);
    if constexpr (NS % TILE != 0) jam<NS % TILE, P>(a, t, y);
}
