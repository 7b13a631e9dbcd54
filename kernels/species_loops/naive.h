// Every load and store as the formula says, nothing unrolled, nothing kept.
#pragma once
#include "loops.h"

template <class P> POINT_FN void loops_at(const Loops &a, const long t) {
    ROLLED
    for (int y = 0; y < NS; ++y) ROLLED
    for (int x = 0; x < NS; ++x)
        put(a.out + at(a, y, x, t), outer(fetch<P>(a.ax + at(a, x, t)), fetch<P>(a.bx + at(a, x, t)),
                                          fetch<P>(a.ay + at(a, y, t)), fetch<P>(a.by + at(a, y, t))));
}
