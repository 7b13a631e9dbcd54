// Tiled, with the tile's y inputs copied into an array of the thread's own: indexed by a running variable, so that it
// lies in memory (CUDA: local memory in L1; CPU: the stack) and not in registers.
#pragma once
#include "loops.h"

template <class P> POINT_FN void loops_at(const Loops &a, const long t) {
    P ay[TILE], by[TILE];
    ROLLED
    for (int tile = 0; tile < NS; tile += TILE) {
        const int count = tile + TILE < NS ? TILE : NS - tile;
        ROLLED
        for (int j = 0; j < count; ++j) {
            ay[j] = fetch<P>(a.ay + at(a, tile + j, t));
            by[j] = fetch<P>(a.by + at(a, tile + j, t));
        }
        ROLLED
        for (int x = 0; x < NS; ++x) ROLLED
        for (int j = 0; j < count; ++j)
            put(a.out + at(a, tile + j, x, t),
                outer(fetch<P>(a.ax + at(a, x, t)), fetch<P>(a.bx + at(a, x, t)), ay[j], by[j]));
    }
}
