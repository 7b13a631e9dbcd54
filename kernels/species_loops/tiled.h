// TILE values of y for each x: the x inputs are used TILE times, if a cache still holds them. "Reduced occupancy" asks
// for shared memory that it does not use: fewer threads are resident, and each has more of the cache.
#pragma once
#include "loops.h"

template <class P> POINT_FN void loops_at(const Loops &a, const long t) {
    ROLLED
    for (int tile = 0; tile < NS; tile += TILE) {
        const int end = tile + TILE < NS ? tile + TILE : NS;
        ROLLED
        for (int x = 0; x < NS; ++x) ROLLED
        for (int y = tile; y < end; ++y)
            put(a.out + at(a, y, x, t), outer(fetch<P>(a.ax + at(a, x, t)), fetch<P>(a.bx + at(a, x, t)),
                                              fetch<P>(a.ay + at(a, y, t)), fetch<P>(a.by + at(a, y, t))));
    }
}
