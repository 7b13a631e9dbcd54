// Intrepid's contraction of two fields, out(c, l, r) = sum over k of left(c, l, k) right(c, r, k), in plain CUDA: what
// the team kernels `flat` and `slicing` of contractions9 are held against (`python -m frame bench intrepid`), and the
// set-up that such a program needs.
//   nvcc -O3 -arch=sm_90 examples/hierarchy/by_hand.cu -o by_hand && ./by_hand 10000 16 16 64
// Source: Kokkos-Intrepid clinic, report of 2015, sections 3.3 and 4.2.

// a thread an output
extern "C" __global__ void flat(const double *__restrict__ left, const double *__restrict__ right,
                                double *__restrict__ out, int C, int L, int R, int K) {
    const long at = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (at >= (long)C * L * R) return;
    const long c = at / (L * R);
    const int l = at / R % L, r = at % R;
    const double *const a = left + (c * L + l) * K, *const b = right + (c * R + r) * K;
    double sum = 0;
    for (int k = 0; k < K; ++k) sum += a[k] * b[k];
    out[at] = sum;
}

// a block a row of the left field, which lies in shared memory; a thread an output
extern "C" __global__ void slicing(const double *__restrict__ left, const double *__restrict__ right,
                                   double *__restrict__ out, int C, int L, int R, int K) {
    extern __shared__ double row[];
    const long c = blockIdx.x / L;
    const int l = blockIdx.x % L;
    for (int k = threadIdx.x; k < K; k += blockDim.x) row[k] = left[(c * L + l) * K + k];
    __syncthreads();
    for (int r = threadIdx.x; r < R; r += blockDim.x) {
        const double *const b = right + (c * R + r) * K;
        double sum = 0;
        for (int k = 0; k < K; ++k) sum += row[k] * b[k];
        out[(c * L + l) * R + r] = sum;
    }
}

#ifndef __CUDACC_RTC__
#include <cstdio>
#include <cstdlib>
#include <vector>

static void checked(cudaError_t status) {
    if (status != cudaSuccess) {
        std::fprintf(stderr, "%s\n", cudaGetErrorString(status));
        std::exit(1);
    }
}

int main(int count, char **words) {
    if (count < 5) {
        std::fprintf(stderr, "by_hand CELLS LEFT RIGHT NUMBERS\n");
        return 2;
    }
    const int C = std::atoi(words[1]), L = std::atoi(words[2]), R = std::atoi(words[3]), K = std::atoi(words[4]);
    std::vector<double> left((size_t)C * L * K, 1.0), right((size_t)C * R * K, 1.0), out((size_t)C * L * R);

    // Set-up: an array on the device for each array of the host, with its bytes counted by hand; copies.
    double *on_device_left, *on_device_right, *on_device_out;
    checked(cudaMalloc(&on_device_left, left.size() * sizeof(double)));
    checked(cudaMalloc(&on_device_right, right.size() * sizeof(double)));
    checked(cudaMalloc(&on_device_out, out.size() * sizeof(double)));
    checked(cudaMemcpy(on_device_left, left.data(), left.size() * sizeof(double), cudaMemcpyHostToDevice));
    checked(cudaMemcpy(on_device_right, right.data(), right.size() * sizeof(double), cudaMemcpyHostToDevice));

    // Launch: blocks, threads and shared memory by hand.
    slicing<<<C * L, R, K * sizeof(double)>>>(on_device_left, on_device_right, on_device_out, C, L, R, K);
    checked(cudaGetLastError());
    checked(cudaMemcpy(out.data(), on_device_out, out.size() * sizeof(double), cudaMemcpyDeviceToHost));

    checked(cudaFree(on_device_left));
    checked(cudaFree(on_device_right));
    checked(cudaFree(on_device_out));
    for (const double x : out) {
        if (x != K) return 1;
    }
    std::printf("%zu numbers, all %d\n", out.size(), K);
    return 0;
}
#endif
