// Tiled, with the tile's y inputs copied into an array of the thread's own: indexed by a running variable, so that it
// lies in memory (CUDA: local memory in L1; CPU: the stack) and not in registers.
#pragma once
#include "outer.h"

template <class P> POINT_FN void loops_at(const Loops &a, const long t) {
    Factors<P> cy[TILE];
    ROLLED
    for (int tile = 0; tile < NY; tile += TILE) {
        const int count = tile + TILE < NY ? TILE : NY - tile;
        ROLLED
        for (int j = 0; j < count; ++j) cy[j] = y_at<P>(a, tile + j, t);
        ROLLED
        for (int x = 0; x < NX; ++x) ROLLED
        for (int j = 0; j < count; ++j) put(a.out + at(a, tile + j, x, t), outer(x_at<P>(a, x, t), cy[j]));
    }
}
