// The naive loops, unrolled as the compiler sees fit: with few rows it keeps all inputs in registers.
#pragma once
#include "outer.h"

template <class P> POINT_FN void loops_at(const Loops &a, const long t) {
    for (int y = 0; y < NY; ++y) COMPILER_CHOOSES
    for (int x = 0; x < NX; ++x) put(a.out + at(a, y, x, t), outer(x_at<P>(a, x, t), y_at<P>(a, y, t)));
}
