// Tensor expressions on CUDA devices. An entry of the batch belongs to a thread (flat), to a team of a block's threads
// with its shared memory (team, lines), or to several blocks (tiles). The renderer writes which loop goes to what; here
// is what the loops call.
#pragma once
#include "engine/numbers/launch.h"

// The number of the lane `away` lanes from this one.
POINT_FN scalar beyond(scalar x, int away) { return __shfl_xor_sync(0xffffffffu, x, away); }

// A number that another block may have written: not from the first cache.
POINT_FN scalar fresh(const scalar *at) { return __ldcg(at); }

#ifdef FRAME_COMPLEX
#include "contractions/complex.h"
#endif

extern __shared__ double shared_memory[];

// A line in registers: to[o] = or += number * sum over k of m[o, k] from[k]. Steps: of the matrix MO, MK; of the lines
// `ahead` and `along`.
template <int O, int K, int MO, int MK, bool ADD>
POINT_FN void line(const scalar *m, const scalar *from, long ahead, scalar *to, long along, double number) {
    scalar held[K];
    UNROLL
    for (int k = 0; k < K; ++k) held[k] = from[k * ahead];
    UNROLL
    for (int o = 0; o < O; ++o) {
        scalar sum = m[o * MO] * held[0];
        UNROLL
        for (int k = 1; k < K; ++k) sum += m[o * MO + k * MK] * held[k];
        sum *= scalar(number);
        to[o * along] = ADD ? to[o * along] + sum : sum;
    }
}

// The lower half of the last two of Q x N x N numbers, in both halves. me, of `all` threads.
template <int Q, int N> POINT_FN void mirror(const scalar *from, scalar *to, int me, int all) {
    for (int x = me; x < Q * N * N; x += all) {
        const int q = x / (N * N);
        const int i = x / N % N;
        const int j = x % N;
        to[x] = from[q * N * N + (i > j ? i * N + j : j * N + i)];
    }
}

// V neighbours, read or written at once.
template <int V> struct alignas(sizeof(scalar) * V) Near {
    scalar v[V];
};

// The sum over W neighbouring lanes, of each group of them.
template <int W> POINT_FN scalar over_lanes(scalar sum) {
    UNROLL
    for (int away = W / 2; away; away /= 2) sum += beyond(sum, away);
    return sum;
}

// A thread of a team that has a number in common: LANES neighbouring lanes of each of WARPS warps of a block.
template <int LANES, int WARPS> struct Member {
    int rank;   // among the threads of the team
    int number; // of the block's numbers

    POINT_FN Member() {
        const int warp = threadIdx.x / 32;
        const int lane = threadIdx.x % 32;
        rank = warp % WARPS * LANES + lane % LANES;
        number = (warp / WARPS * 32 + lane) / LANES;
    }
};

// The sum over a team, for all its threads: over lanes, then over warps in their order. All threads of a block come.
template <int LANES, int WARPS> POINT_FN scalar over_team(scalar sum) {
    sum = over_lanes<LANES>(sum);
    if (WARPS == 1) return sum;

    scalar *const sums = (scalar *)shared_memory;
    __syncthreads(); // what was there before has been read
    sums[threadIdx.x] = sum;
    __syncthreads();

    const int first = (threadIdx.x / 32 / WARPS * WARPS) * 32 + threadIdx.x % 32;
    sum = 0;
    UNROLL
    for (int w = 0; w < WARPS; ++w) sum += sums[first + w * 32];
    return sum;
}

// Whether this block is the last of `blocks` that count together. The last block sees all that the others wrote. The
// counter is 0 before and after. All threads of a block must call.
POINT_FN bool is_last_of(int blocks, int *counter) {
    int *const before = (int *)shared_memory;
    __syncthreads(); // the block has written, and has read its shared memory
    if (threadIdx.x == 0) {
        __threadfence(); // other blocks see all that this block wrote before its count
        *before = atomicAdd(counter, 1);
        if (*before == blocks - 1) *counter = 0;
        __threadfence(); // and nothing is read before that
    }
    __syncthreads();
    return *before == blocks - 1;
}
