// Species fastest, a block for POINTS points at a time: inputs staged in shared memory by loads of neighbouring values,
// then every thread keeps to its VECTOR columns x and walks down the rows. COLUMNS*ROWS threads write ROWS neighbouring
// rows, a contiguous piece of memory.
#pragma once
#include "loops.h"

POINT_FN void over_teams(const Loops &a)
{
    typedef Pack<VECTOR> P;
    constexpr int COLUMNS = NS/VECTOR, THREADS = COLUMNS*ROWS;
    static_assert(NS % VECTOR == 0, "rows start on a pack's boundary");
    alignas(128) extern __shared__ double shared_memory[];
    real *const ax = (real *)shared_memory, *const bx = ax + POINTS*NS, *const ay = bx + POINTS*NS, *const by = ay + POINTS*NS;
    const int me = threadIdx.x, x = me % COLUMNS*VECTOR, row = me/COLUMNS;
    ROLLED for (long first = blockIdx.x*(long)POINTS; first < a.n; first += gridDim.x*(long)POINTS) {
        const int values = (a.n - first < POINTS ? int(a.n - first) : POINTS)*NS;
        ROLLED for (int i = me*VECTOR; i < values; i += THREADS*VECTOR) {
            *(P *)(ax + i) = fetch<P>(a.ax + first*NS + i);
            *(P *)(bx + i) = fetch<P>(a.bx + first*NS + i);
            *(P *)(ay + i) = fetch<P>(a.ay + first*NS + i);
            *(P *)(by + i) = fetch<P>(a.by + first*NS + i);
        }
        __syncthreads();
        real *const out = a.out + first*NS*NS + x;
        UNROLL_BY(4) for (int j = row; j < values; j += ROWS) {          // row j of the group: point j/NS, y = j%NS
            const int start = j/NS*NS + x;
            put(out + long(j)*NS, outer(fetch<P>(ax + start), fetch<P>(bx + start), spread<VECTOR>(ay[j]), spread<VECTOR>(by[j])));
        }
        __syncthreads();
    }
}
