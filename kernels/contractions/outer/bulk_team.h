// Block team whose results, too, are staged in shared memory and leave by the bulk copy engine (sm_90): one instruction
// writes the whole contiguous piece of POINTS points, whatever NX is. Two buffers: one leaves while the next is
// computed.
#pragma once
#include "outer.h"

#if defined(FRAME_STAND_IN) // the tests' stand-in for a GPU
POINT_FN void bulk_store(real *to, const real *from, int bytes) { memcpy(to, from, bytes); }
POINT_FN void bulk_close() {}
template <int LEFT> POINT_FN void bulk_wait() {}
POINT_FN void bulk_fence() {}
#else
POINT_FN void bulk_store(real *to, const real *from, int bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)),
                 "r"((unsigned)__cvta_generic_to_shared(from)), "r"(bytes)
                 : "memory");
}
POINT_FN void bulk_close() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int LEFT> POINT_FN void bulk_wait() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(LEFT) : "memory");
}
POINT_FN void bulk_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
#endif

POINT_FN void over_teams(const Loops &a) {
    typedef Pack<VECTOR> P;
    constexpr int PIECE = POINTS * NX * NY;
    constexpr int GRAIN = 16 / sizeof(real);
    static_assert(PIECE % GRAIN == 0 && NX % VECTOR == 0, "pieces start on 16 bytes, rows on packs");
    alignas(128) extern __shared__ double shared_memory[];
    real *const buffer = (real *)shared_memory; // two pieces, then the inputs
    real *const in = buffer + 2 * ((PIECE + 31) / 32 * 32);
    constexpr int XS = POINTS * NX;
    constexpr int YS = POINTS * NY; // numbers of a term
    real *const staged_y = in + TERMS * XS;
    const int me = threadIdx.x;
    int turn = 0;
    ROLLED
    for (long first = blockIdx.x * (long)POINTS; first < a.n; first += gridDim.x * (long)POINTS, turn ^= 1) {
        const int points = a.n - first < POINTS ? int(a.n - first) : POINTS;
        const int all = points * NX * NY;
        real *const made = buffer + turn * ((PIECE + 31) / 32 * 32), *const out = a.out + first * NX * NY;
        ROLLED
        for (int i = me; i < points * NX; i += BLOCK) {
            UNROLL
            for (int q = 0; q < TERMS; ++q) in[q * XS + i] = __ldg(a.x[q] + first * NX + i);
        }
        ROLLED
        for (int i = me; i < points * NY; i += BLOCK) {
            UNROLL
            for (int q = 0; q < TERMS; ++q) staged_y[q * YS + i] = __ldg(a.y[q] + first * NY + i);
        }
        if (me == 0) bulk_wait<1>(); // the copy before last has read this buffer
        __syncthreads();
        UNROLL_BY(4) for (int i = me * VECTOR; i < all; i += BLOCK * VECTOR) {
            const int j = i / NX;
            const int x = i - j * NX + j / NY * NX; // the row, and its x factor's place
            *(P *)(made + i) = outer(held<P>(in + x, XS), held_spread<VECTOR>(staged_y + j, YS));
        }
        bulk_fence(); // each thread's own stores, before the copy engine reads them
        __syncthreads();
        const int whole = all / GRAIN * GRAIN;
        if (me == 0) {
            if (whole) bulk_store(out, made, whole * int(sizeof(real)));
            bulk_close();
        }
        if (me < all - whole) out[whole + me] = made[whole + me];
    }
    if (me == 0) bulk_wait<0>(); // shared memory must outlive the copies
}
