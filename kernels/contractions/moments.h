// Few numbers with long sums on CUDA devices: each thread has a part of all of them.
#pragma once
#include "contractions/threads.h"

// H sums over the lanes of a warp at once. With each exchange a lane gives half of its sums away, and adds what it is
// given to the other half, so that H exchanges do, not five times as many.
template <int H, int AWAY = 16> struct OverWarp {
    static constexpr int HALF = (H + 1) / 2;
    using Next = OverWarp<HALF, AWAY / 2>;
    static constexpr int LEFT = Next::LEFT; // sums that a lane has at the end

    static POINT_FN void add(scalar *sums) {
        const bool upper = threadIdx.x & AWAY;
        UNROLL
        for (int v = 0; v < HALF; ++v) {
            const scalar low = sums[v];
            const scalar high = v + HALF < H ? sums[v + HALF] : scalar(0);
            sums[v] = (upper ? high : low) + beyond(upper ? low : high, AWAY);
        }
        Next::add(sums);
    }

    // Which of the H sums a lane's number v is at the end; H or more: none of them.
    static POINT_FN int place(int v) {
        const int within = Next::place(v);
        if (within >= HALF) return H;
        return within + (threadIdx.x & AWAY ? HALF : 0);
    }
};

template <int H> struct OverWarp<H, 0> {
    static constexpr int LEFT = H;

    static POINT_FN void add(scalar *) {}
    static POINT_FN int place(int v) { return v; }
};

// Puts the sums of each warp side by side into shared memory. All threads of a block come.
template <int H> POINT_FN void put_sums_of_warps(scalar *sums) {
    OverWarp<H>::add(sums);
    scalar *const of_warp = (scalar *)shared_memory + threadIdx.x / 32 * H;
    UNROLL
    for (int v = 0; v < OverWarp<H>::LEFT; ++v) {
        const int h = OverWarp<H>::place(v);
        if (h < H) of_warp[h] = sums[v];
    }
    __syncthreads();
}

// Sum h of a block, after put_sums_of_warps: over its warps, in their order.
template <int H, int WARPS> POINT_FN scalar sum_of_block(int h) {
    const scalar *const of_warps = (const scalar *)shared_memory;
    scalar sum = 0;
    UNROLL
    for (int w = 0; w < WARPS; ++w) sum += of_warps[w * H + h];
    return sum;
}

// S sums of `PARTS` parts, for all lanes of a warp: which of them, `at` says. Their loads are under way together.
template <int PARTS, int S> POINT_FN void add_parts(const scalar *parts, const int (&at)[S], scalar (&sums)[S]) {
    UNROLL
    for (int s = 0; s < S; ++s) sums[s] = 0;

    UNROLL_BY(4)
    for (int k = threadIdx.x % 32; k < PARTS; k += 32) {
        UNROLL
        for (int s = 0; s < S; ++s) sums[s] += fresh(parts + at[s] * PARTS + k);
    }

    UNROLL
    for (int s = 0; s < S; ++s) sums[s] = over_lanes<32>(sums[s]);
}
