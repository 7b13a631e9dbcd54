// The naive loops, unrolled as the compiler sees fit: with few species it keeps all inputs in registers.
#pragma once
#include "loops.h"

template <class P> POINT_FN void loops_at(const Loops &a, const long t) {
    for (int y = 0; y < NS; ++y) COMPILER_CHOOSES
    for (int x = 0; x < NS; ++x)
        put(a.out + at(a, y, x, t), outer(fetch<P>(a.ax + at(a, x, t)), fetch<P>(a.bx + at(a, x, t)),
                                          fetch<P>(a.ay + at(a, y, t)), fetch<P>(a.by + at(a, y, t))));
}
