// Points that take unequal times come from a queue. Each block has a queue of its own, in shared memory, with every
// gridDim.x-th group of points; who is done with a point takes the next of the group.
// work(m, take): take() is the next point, beyond the last where there is none left.
#pragma once
#include "gas/schedules/thread.h"

template <class How> POINT_FN const Mixture &opened_queue(const Mixture &m, int *&taken) {
    extern __shared__ double shared_memory[];
    taken = (int *)(shared_memory + How::CONSTANTS);
    const Mixture &constants = copied_constants<How>(m);
    if (threadIdx.x == 0) *taken = 0;
    if constexpr (How::CONSTANTS > 0) copies_done();
    __syncthreads();
    return constants;
}

// A thread takes points, in groups of 32.
template <class How, class Work> POINT_FN void points_from_queue(const Mixture &m, const Work &work) {
    int *taken;
    work(opened_queue<How>(m, taken), [&] {
        const int i = atomicAdd(taken, 1);
        return (i / 32 * (long)gridDim.x + blockIdx.x) * 32 + i % 32;
    });
}

// A warp takes points, one at a time.
template <class How, class Work> POINT_FN void warps_from_queue(const Mixture &m, const Work &work) {
    int *taken;
    work(opened_queue<How>(m, taken), [&] {
        const int i = __shfl_sync(WARP, (threadIdx.x & 31) == 0 ? atomicAdd(taken, 1) : 0, 0);
        return (long)i * gridDim.x + blockIdx.x;
    });
}
