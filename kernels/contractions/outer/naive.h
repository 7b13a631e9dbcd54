// Every load and store as the formula says, nothing unrolled, nothing kept.
#pragma once
#include "outer.h"

template <class P> POINT_FN void loops_at(const Loops &a, const long t) {
    ROLLED
    for (int y = 0; y < NY; ++y) ROLLED
    for (int x = 0; x < NX; ++x) put(a.out + at(a, y, x, t), outer(x_at<P>(a, x, t), y_at<P>(a, y, t)));
}
