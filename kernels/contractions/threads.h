// Tensor expressions on CUDA devices. An entry of the batch belongs to a thread (flat), to a team of a block's threads
// with its shared memory (team, lines), or to several blocks (tiles). The renderer writes which loop goes to what; here
// is what the loops call.
#pragma once
#include "engine/numbers/launch.h"

// The number of the lane `away` lanes from this one.
POINT_FN scalar beyond(scalar x, int away) { return __shfl_xor_sync(0xffffffffu, x, away); }

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
        const int q = x / (N * N), i = x / N % N, j = x % N;
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
