// Three exercises as plain CUDA, as a programmer writes them for these sizes: what the team kernels are timed beside by
// `python -m frame bench hierarchy --backend cuda`. `total` is zero when a kernel begins.

static __device__ double over_warp(double x) {
    for (int bit = 16; bit > 0; bit >>= 1) x += __shfl_down_sync(0xffffffffu, x, bit);
    return x;
}

// <y|Ax>: a block a row
extern "C" __global__ void __launch_bounds__(128)
    yax_team(const double *__restrict__ y, const double *__restrict__ A, const double *__restrict__ x,
             double *__restrict__ total, int M) {
    __shared__ double of_warp[4];
    const double *const row = A + (long)blockIdx.x * M;
    double sum = 0;
#pragma unroll 8
    for (int j = threadIdx.x; j < M; j += 128) sum += row[j] * x[j];
    sum = over_warp(sum);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(total, y[blockIdx.x] * (of_warp[0] + of_warp[1] + of_warp[2] + of_warp[3]));
}

// <y|Ax> of each element: a block an element, a warp a row, lanes over columns
extern "C" __global__ void __launch_bounds__(256)
    yax_vector(const double *__restrict__ y, const double *__restrict__ A, const double *__restrict__ x,
               double *__restrict__ result, double *__restrict__ total, int N, int M) {
    __shared__ double of_warp[8];
    const long e = blockIdx.x;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    double sum = 0;
    for (int i = warp; i < N; i += 8) {
        double row = 0;
        for (int j = lane; j < M; j += 32) row += A[(e * N + i) * M + j] * x[e * M + j];
        sum += y[e * N + i] * row;
    }
    sum = over_warp(sum);
    if (lane == 0) of_warp[warp] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        double all = 0;
        for (int w = 0; w < 8; ++w) all += of_warp[w];
        result[e] = all;
        atomicAdd(total, all);
    }
}

// contractDataFieldScalar: a block an element, B's row in shared memory, eight lanes a point
extern "C" __global__ void __launch_bounds__(128)
    scratch_field(const double *__restrict__ A, const double *__restrict__ B, double *__restrict__ result,
                  double *__restrict__ total, int Q, int V) {
    extern __shared__ double b[];
    __shared__ double of_warp[4];
    const long e = blockIdx.x;
    const int lane = threadIdx.x % 8;
    for (int i = threadIdx.x; i < V; i += 128) b[i] = B[e * V + i];
    __syncthreads();
    double all = 0;
    for (int first = 0; first < Q; first += 16) { // every lane of a warp takes part in the shuffles
        const int q = first + threadIdx.x / 8;
        double sum = 0;
        if (q < Q)
            for (int i = lane; i < V; i += 8) sum += A[(e * Q + q) * V + i] * b[i];
        for (int bit = 4; bit > 0; bit >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, bit, 8);
        if (lane == 0 && q < Q) result[e * Q + q] = sum, all += sum;
    }
    all = over_warp(all);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = all;
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(total, of_warp[0] + of_warp[1] + of_warp[2] + of_warp[3]);
}
