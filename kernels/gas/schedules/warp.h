// The lanes of a warp share the work of one point: lane i owns species i, and every 32nd after it. Scalars are alike in
// all lanes. What lanes need of each other lies in shared memory, or comes by shuffles. A warp takes points from a
// queue.
//   AHEAD_OF_POINTS: units of 8 bytes of shared memory ahead of the points' numbers
#pragma once
#define FOR_OWN(s, count) \
    UNROLL \
    for (int turn = 0; turn < ((count) + 31) / 32; ++turn) \
        if (const int s = 32 * turn + (int)(threadIdx.x & 31); s < (count))
#define FOR_UNKNOWNS(i, count) FOR_OWN (i, count)
#include "engine/numbers/dual.h"
#include "engine/numbers/thread.h"

POINT_FN int lane_rank() { return threadIdx.x & 31; }
POINT_FN constexpr int owned(const int count) { return (count + 31) / 32; }
POINT_FN int own(const int s) { return s / 32; }
POINT_FN bool owns(const int s) { return lane_rank() == s % 32; }

POINT_FN point of_lane(const point x, const int lane) { return of(__shfl_sync(WARP, x.v, lane)); }
template <class R> POINT_FN R of_owner(const R *x, const int s) { return of_lane(x[s / 32], s % 32); }

POINT_FN point across(const point x, const int bits) { return of(__shfl_xor_sync(WARP, x.v, bits)); }
template <class V, int N> POINT_FN Dual<V, N> across(Dual<V, N> x, const int bits) {
    x.v = across(x.v, bits);
    UNROLL
    for (int i = 0; i < N; ++i) x.d[i] = across(x.d[i], bits);
    return x;
}

// join(a, b) has the bits of join(b, a), so that all lanes get the same bits.
template <class R, class Join> POINT_FN R over_owners(R part, const Join &join) {
    UNROLL
    for (int bits = 16; bits > 0; bits >>= 1) part = join(part, across(part, bits));
    return part;
}

template <class R, int N> POINT_FN void sum_over_owners(R (&x)[N]) {
    UNROLL
    for (int k = 0; k < N; ++k) x[k] = over_owners(x[k], [](const R a, const R b) { return a + b; });
}
