// The species loops in plain CUDA, as the talk of 2017 has them ("Using Kokkos for performant cross-platform
// acceleration of liquid rocket simulations"): what `bench species-loops` holds the layer against. A thread a point.
// Compiled with NS species, JAM rows at a time, NUMBER double or float. N: row length; points: of the field.

// points fastest: "naive"
extern "C" __global__ void naive_left(const NUMBER *__restrict__ ax, const NUMBER *__restrict__ bx,
                                      const NUMBER *__restrict__ ay, const NUMBER *__restrict__ by,
                                      NUMBER *__restrict__ out, long N, long points) {
    const long t = threadIdx.x + blockIdx.x * (long)blockDim.x;
    if (t >= points) return;
#pragma unroll 1
    for (int y = 0; y < NS; ++y) {
#pragma unroll 1
        for (int x = 0; x < NS; ++x)
            out[N * (NS * y + x) + t] = ax[x * N + t] * ay[y * N + t] + bx[x * N + t] * by[y * N + t];
    }
}

// points fastest: "unroll and jam", JAM rows y in registers
extern "C" __global__ void jam_left(const NUMBER *__restrict__ ax, const NUMBER *__restrict__ bx,
                                    const NUMBER *__restrict__ ay, const NUMBER *__restrict__ by,
                                    NUMBER *__restrict__ out, long N, long points) {
    const long t = threadIdx.x + blockIdx.x * (long)blockDim.x;
    if (t >= points) return;
#pragma unroll 1
    for (int first = 0; first < NS; first += JAM) {
        NUMBER a[JAM], b[JAM];
#pragma unroll
        for (int j = 0; j < JAM; ++j) a[j] = ay[(first + j) * N + t], b[j] = by[(first + j) * N + t];
#pragma unroll 1
        for (int x = 0; x < NS; ++x) {
            const NUMBER p = ax[x * N + t], q = bx[x * N + t];
#pragma unroll
            for (int j = 0; j < JAM; ++j) out[N * (NS * (first + j) + x) + t] = p * a[j] + q * b[j];
        }
    }
}

// species fastest: "naive"
extern "C" __global__ void naive_right(const NUMBER *__restrict__ ax, const NUMBER *__restrict__ bx,
                                       const NUMBER *__restrict__ ay, const NUMBER *__restrict__ by,
                                       NUMBER *__restrict__ out, long, long points) {
    const long t = threadIdx.x + blockIdx.x * (long)blockDim.x;
    if (t >= points) return;
#pragma unroll 1
    for (int y = 0; y < NS; ++y) {
#pragma unroll 1
        for (int x = 0; x < NS; ++x)
            out[(t * NS + y) * NS + x] = ax[t * NS + x] * ay[t * NS + y] + bx[t * NS + x] * by[t * NS + y];
    }
}
