// TILE values of y for each x: the x inputs are used TILE times, if a cache still holds them. "Reduced occupancy" asks
// for shared memory that it does not use: fewer threads are resident, and each has more of the cache.
#pragma once
#include "outer.h"

template <class P> POINT_FN void loops_at(const Loops &a, const long t) {
    ROLLED
    for (int tile = 0; tile < NY; tile += TILE) {
        const int end = tile + TILE < NY ? tile + TILE : NY;
        ROLLED
        for (int x = 0; x < NX; ++x) ROLLED
        for (int y = tile; y < end; ++y) put(a.out + at(a, y, x, t), outer(x_at<P>(a, x, t), y_at<P>(a, y, t)));
    }
}
