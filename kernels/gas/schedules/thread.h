// The loop over points on CUDA: one thread for each point, all intermediates in registers. thread.py writes a struct
// How:
//   THREADS: threads of a block
//   CONSTANTS: units of 8 bytes of constants to copy to shared memory; 0: no copy
//   COLUMNS: whether species values lie in shared memory
//   PERSISTENT: whether a block works on several groups of THREADS points, one after the other
// work(m, first, column, arrived) computes a block's points from `first` on. It starts the copies into its column and
// calls arrived(), which waits for them.
#pragma once
#include "engine/numbers/launch.h"

struct Array {
    outside *at;
    long ld;
};

// COUNT: arrays, or with ROWS_APART the rows of all arrays.
template <int COUNT> struct Arguments {
    const Mixture *constants;
#ifdef ROWS_APART
    outside *row[COUNT];
#else
    Array array[COUNT];
#endif
    long skipped;
#ifdef BOXED
    Box box;
#endif
};

template <class How> POINT_FN const Mixture &copied_constants(const Mixture &m) {
    extern __shared__ double shared_memory[];
    if constexpr (How::CONSTANTS > 0) {
        for (int i = threadIdx.x; i < How::CONSTANTS; i += blockDim.x)
            copy_async(shared_memory + i, (const double *)&m + i);
    }
    return How::CONSTANTS > 0 ? *(const Mixture *)shared_memory : m;
}

// The first block leaves out its first `skipped` threads: arrays across a link are then met where their lines begin.
template <class How, class Work>
POINT_FN void run_program(const Mixture &m, const long n, const long skipped, const Work &work) {
    extern __shared__ double shared_memory[];
    const Mixture &constants = copied_constants<How>(m);
    outside *const column = (outside *)(shared_memory + How::CONSTANTS) + threadIdx.x;
    const auto all_copied = [&] {
        if constexpr (How::CONSTANTS > 0 || How::COLUMNS) {
            copies_done();
            if constexpr (How::CONSTANTS > 0) __syncthreads();
            else __syncwarp();
        }
    };
    if constexpr (How::PERSISTENT) {
        all_copied();
        UNROLL_BY(1)
        for (long first = blockIdx.x * long(How::THREADS) - skipped; first < n;
             first += gridDim.x * long(How::THREADS)) {
            work(constants, first, column, [&] {
                if constexpr (How::COLUMNS) {
                    copies_done();
                    __syncwarp();
                }
            });
            if constexpr (How::COLUMNS) __syncwarp(); // other lanes of the warp may still read this column
        }
    } else work(constants, blockIdx.x * long(How::THREADS) - skipped, column, all_copied);
}
