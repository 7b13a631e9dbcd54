// CUDA's qualifiers, variables and functions of the device as plain C++; in front of every source, precompiled.
#define __CUDACC_RTC__
#define FRAME_STAND_IN
#include <math.h>
#include <sched.h>
#include <string.h>
#include <ucontext.h>

#define __global__
#define __device__
#define __constant__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)

struct Index {
    int x, y, z;
};
static Index blockIdx, gridDim, blockDim, threadIdx;

struct alignas(16) double2 {
    double x, y;
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};

template <class T> static inline void __stcs(T *to, T value) { *to = value; }

#define __shared__
alignas(128) double shared_memory[32 * 1024];
static inline bool __isShared(const void *at) {
    return at >= shared_memory && at < shared_memory + sizeof shared_memory / sizeof(double);
}
static const int unknown_at_first = [] {
    for (double &x : shared_memory) x = __builtin_nan("");
    return 0;
}();

// ---- threads

// Threads that meet at barriers are fibres: each runs up to its barrier, then gives way to the next thread of its
// block. Two blocks of teams (team.h) are in flight and take turns.
enum { READY, AT_BARRIER, AT_WARP, AT_PART, WHO_IS_HERE, ENDED };
constexpr int MOST = 1024, IN_FLIGHT = 2;

struct Fibre {
    ucontext_t context;
    int state;
    unsigned mask;
    const void *place; // in the program
};
static Fibre fibre[IN_FLIGHT * MOST];
static ucontext_t block_loop;
static int running = -1;
static void **arguments;

static inline void give_way(int state = READY, unsigned mask = 0) {
    fibre[running].state = state, fibre[running].mask = mask;
    swapcontext(&fibre[running].context, &block_loop);
}

static inline void __syncthreads() { give_way(AT_BARRIER); }
static inline void named_barrier(int id, int threads) { give_way(AT_PART, unsigned(id) << 16 | threads); }
static inline void __syncwarp(unsigned mask = ~0u) { give_way(AT_WARP, mask); }

// ---- warps

// Each lane shows its values, all meet, each reads the values of others, all meet.
static double shown[IN_FLIGHT * MOST][3];

template <class T> static inline T __shfl_sync(unsigned mask, T value, int lane) {
    memcpy(shown[running], &value, sizeof value);
    __syncwarp(mask);
    memcpy(&value, shown[(running & ~31) + (lane & 31)], sizeof value);
    __syncwarp(mask);
    return value;
}

static inline int __all_sync(unsigned mask, int here) {
    shown[running][0] = here;
    __syncwarp(mask);
    int all = 1;
    for (int lane = 0; lane < 32 && (running & ~31 & MOST - 1) + lane < blockDim.x; ++lane)
        if (mask >> lane & 1) all &= shown[(running & ~31) + lane][0] != 0;
    __syncwarp(mask);
    return all;
}

static inline unsigned __ballot_sync(unsigned mask, int here) {
    shown[running][0] = here;
    __syncwarp(mask);
    unsigned lanes = 0;
    for (int lane = 0; lane < 32 && (running & ~31 & MOST - 1) + lane < blockDim.x; ++lane)
        if (mask >> lane & 1 && shown[(running & ~31) + lane][0] != 0) lanes |= 1u << lane;
    __syncwarp(mask);
    return lanes;
}

static inline unsigned __match_any_sync(unsigned mask, int value) {
    shown[running][0] = value;
    __syncwarp(mask);
    unsigned lanes = 0;
    for (int lane = 0; lane < 32 && (running & ~31 & MOST - 1) + lane < blockDim.x; ++lane)
        if (mask >> lane & 1 && shown[(running & ~31) + lane][0] == value) lanes |= 1u << lane;
    __syncwarp(mask);
    return lanes;
}

template <class T> static inline int __match_all_sync(unsigned mask, T value, int *alike) {
    const T first = __shfl_sync(mask, value, __builtin_ffs(mask) - 1);
    return *alike = __all_sync(mask, value == first);
}

// The lanes of a warp that reach the same place of the program in the same round of their block
__attribute__((noinline)) static unsigned __activemask() {
    fibre[running].place = __builtin_return_address(0);
    give_way(WHO_IS_HERE);
    return fibre[running].mask;
}

template <class T> static inline T __shfl_xor_sync(unsigned mask, T value, int bits) {
    return __shfl_sync(mask, value, (running & 31) ^ bits);
}

template <class T> static inline T __shfl_up_sync(unsigned mask, T value, int by) {
    const int lane = running & 31;
    return __shfl_sync(mask, value, lane < by ? lane : lane - by);
}

// ---- matrix units

// mma.sync m16n8k4, float64, with the fragments of the PTX manual
static inline void matrix_unit(double (&c)[4], const double (&a)[2], double b) {
    const int warp = running & ~31, row = (running & 31) >> 2, column = running & 3;
    shown[running][0] = a[0], shown[running][1] = a[1], shown[running][2] = b;
    __syncwarp();
    for (int r = 0; r < 2; ++r)
        for (int q = 0; q < 2; ++q)
            for (int k = 0; k < 4; ++k)
                c[2 * r + q] += shown[warp + 4 * row + k][r] * shown[warp + 4 * (2 * column + q) + k][2];
    __syncwarp();
}

// The same in TF32, which reads the 11 leading digits of a number
static inline double leading(float x) {
    int bits;
    memcpy(&bits, &x, 4), bits &= ~0x1fff, memcpy(&x, &bits, 4);
    return x;
}

static inline void matrix_unit(float (&c)[4], const float (&a)[2], float b) {
    double sums[4] = {c[0], c[1], c[2], c[3]};
    matrix_unit(sums, {leading(a[0]), leading(a[1])}, leading(b));
    for (int i = 0; i < 4; ++i) c[i] = float(sums[i]);
}

static inline int min(int a, int b) { return a < b ? a : b; }

// ---- atomics, loads and bits

// Fibres change only at barriers, so plain statements are atomic.
template <class T> static inline T atomicExch(T *at, T value) {
    const T old = *at;
    *at = value;
    return old;
}

template <class T> static inline T atomicMax(T *at, T x) { return atomicExch(at, x > *at ? x : *at); }
template <class T> static inline T atomicMin(T *at, T x) { return atomicExch(at, x < *at ? x : *at); }
template <class T> static inline T atomicXor(T *at, T x) { return atomicExch(at, *at ^ x); }
template <class T> static inline T atomicAdd(T *at, T x) { return atomicExch(at, T(*at + x)); }
template <class T> static inline T atomicOr(T *at, T x) { return atomicExch(at, *at | x); }
template <class T> static inline T atomicAnd(T *at, T x) { return atomicExch(at, *at & x); }
template <class T> static inline T atomicCAS(T *at, T wanted, T x) { return atomicExch(at, *at == wanted ? x : *at); }

static inline void __threadfence() {}
template <class T> static inline T __ldcg(const T *at) { return *at; }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned long)a * b >> 32; }
static inline int __ffs(unsigned x) { return __builtin_ffs(x); }

static inline int __float_as_int(float x) {
    int bits;
    memcpy(&bits, &x, 4);
    return bits;
}

static inline float __int_as_float(int bits) {
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

static inline long long __double_as_longlong(double x) {
    long long bits;
    memcpy(&bits, &x, 8);
    return bits;
}

// The cached load of memory that no thread writes. It reads global memory only: NaN for shared memory
static inline float __ldg(const float *at) { return *at; }
static inline long __ldg(const long *at) { return *at; }
static inline int __ldg(const int *at) { return *at; }
static inline float4 __ldg(const float4 *at) { return *at; }
static inline double2 __ldg(const double2 *at) { return *at; }
static inline double __ldg(const double *at) {
    return at >= shared_memory && at < shared_memory + 32 * 1024 ? __builtin_nan("") : *at;
}

static inline void __threadfence_system() { __sync_synchronize(); }
static inline void __nanosleep(unsigned) {
    sched_yield();
    if (running >= 0) give_way();
}

static inline double __longlong_as_double(long long bits) {
    double x;
    memcpy(&x, &bits, 8);
    return x;
}
