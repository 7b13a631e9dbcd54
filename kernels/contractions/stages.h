// Tensor expressions by stages: the statements of an entry one after the other, what lies between in shared memory.
// Products run on the FP64 matrix units; a lane reads what the unit takes from it. render_stages.py writes the loops.
#pragma once
#include "engine/numbers/launch.h"
#include "engine/numbers/multiply_add.h"

extern __shared__ double shared_memory[];

// Arrays may be of single precision; sums are of double precision, and what lies in shared memory too, where it is not
// narrow.
// An output that nothing reads again does not displace others in the caches.
POINT_FN void leave(scalar *to, double value) { __stcs(to, scalar(value)); }

// The second cache is asked for what will be read.
POINT_FN void ask(const scalar *from) {
#ifndef FRAME_STAND_IN
    asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
#else
    (void)*(const volatile scalar *)from; // an address outside of the array fails here, as the load would
#endif
}

// A lane's two neighbouring numbers of a row, in one load.
POINT_FN void pair(const double *from, double &first, double &second) {
    const double2 both = *(const double2 *)from;
    first = both.x;
    second = both.y;
}

template <class T> POINT_FN void pair(const float *from, T &first, T &second) {
    const float2 both = *(const float2 *)from;
    first = both.x;
    second = both.y;
}

// A line of N numbers, a step apart: into registers, and out of them; V numbers that lie side by side at once.
template <int V> struct alignas(sizeof(scalar) * V) Near {
    scalar v[V];
};

template <int N, int V> POINT_FN void take(const scalar *from, long step, scalar (&to)[N]) {
    if constexpr (V > 1) {
        UNROLL
        for (int i = 0; i < N; i += V) {
            const Near<V> some = *(const Near<V> *)(from + i);
            UNROLL
            for (int j = 0; j < V; ++j) to[i + j] = some.v[j];
        }
    } else {
        UNROLL
        for (int i = 0; i < N; ++i) to[i] = from[i * step];
    }
}

template <int V, int N> POINT_FN void put(const scalar (&from)[N], scalar *to) {
    UNROLL
    for (int i = 0; i < N; i += V) {
        Near<V> some;
        UNROLL
        for (int j = 0; j < V; ++j) some.v[j] = from[i + j];
        *(Near<V> *)(to + i) = some;
    }
}

// to[r, n] += sum over k of m[n, k] line[r, k]; steps of the matrix MN, MK. A number of the matrix serves all rows; two
// that lie side by side are read at once, so they are used one after the other.
template <int MN, int MK, int R, int N, int K>
POINT_FN void add_lines(const scalar *m, const scalar (&line)[R][K], scalar (&to)[R][N]) {
    constexpr int BESIDE = MK == 1 ? 2 : 1;
    UNROLL
    for (int first = 0; first < K; first += BESIDE) {
        UNROLL
        for (int n = 0; n < N; ++n) {
            UNROLL
            for (int k = first; k < first + BESIDE && k < K; ++k) {
                UNROLL
                for (int r = 0; r < R; ++r) to[r][n] += m[n * MN + k * MK] * line[r][k];
            }
        }
    }
}

// The column of a tile of eight that the unit takes from lane `row`. Column 2 k is k there, column 2 k + 1 is k + 4: so
// what it gives back to the lanes of a row lies side by side in fours.
POINT_FN int column_of(int row) { return (row >> 1) + 4 * (row & 1); }

// Copies of 16 bytes into shared memory: they are there after the thread's own wait, for others after a barrier.
// Bulk copies into shared memory: one thread asks, all wait. `gate` counts the bytes that have come; phases follow each
// other, the first one is 0. The copied bytes are there for a thread after its own wait.
#ifdef FRAME_STAND_IN
// The numbers are poison until a wait finds that all of the gate's phase are on their way.
// Where the device has a gate's counter, its number stands: blocks in flight have their own.
static struct Gate {
    int phase, expected, asked, copies;
    struct {
        scalar *to;
        const scalar *from;
        int numbers;
    } copy[1024];
} all_gates[64];

static inline Gate &gate_of(unsigned long long *at) { return all_gates[*at]; }
static inline void gate_open(unsigned long long *at) {
    static unsigned long long opened;
    *at = opened++ % 64;
    Gate &g = all_gates[*at];
    g.phase = g.expected = g.asked = g.copies = 0;
}

static inline void gate_expect(unsigned long long *at, int numbers) { gate_of(at).expected += numbers; }
static inline void bulk(scalar *to, const scalar *from, int numbers, unsigned long long *at) {
    if ((unsigned long)to % 16 || (unsigned long)from % 16 || numbers * sizeof(scalar) % 16)
        __builtin_trap(); // as the device does
    for (int i = 0; i < numbers; ++i) to[i] = NOT_A_NUMBER;
    Gate &g = gate_of(at);
    if (g.copies == 1024) __builtin_trap();
    g.copy[g.copies++] = {to, from, numbers};
    g.asked += numbers;
}

static inline void gate_wait(unsigned long long *at, int phase) {
    Gate &g = gate_of(at);
    while (g.phase == phase && (!g.expected || g.asked < g.expected)) give_way();
    if (g.phase != phase) return; // a thread that came before has found it complete
    for (int k = 0; k < g.copies; ++k)
        for (int i = 0; i < g.copy[k].numbers; ++i) g.copy[k].to[i] = g.copy[k].from[i];
    g.phase ^= 1, g.expected = g.asked = g.copies = 0;
}

static inline void copy_piece(scalar *to, const scalar *from) {
    if ((unsigned long)to % 16 || (unsigned long)from % 16) __builtin_trap();
    for (unsigned i = 0; i < 16 / sizeof(scalar); ++i) to[i] = from[i];
}

static inline void pieces_wait() {}
#else
POINT_FN unsigned in_shared(const void *at) { return (unsigned)__cvta_generic_to_shared(at); }
POINT_FN void copy_piece(scalar *to, const scalar *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(in_shared(to)), "l"(__cvta_generic_to_global(from))
                 : "memory");
}

POINT_FN void pieces_wait() { asm volatile("cp.async.wait_all;" ::: "memory"); }
POINT_FN void gate_open(unsigned long long *gate) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n\tfence.mbarrier_init.release.cluster;" ::"r"(in_shared(gate))
                 : "memory");
}

POINT_FN void gate_expect(unsigned long long *gate, int numbers) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(in_shared(gate)),
                 "r"(numbers * int(sizeof(scalar)))
                 : "memory");
}

POINT_FN void bulk(scalar *to, const scalar *from, int numbers, unsigned long long *gate) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(in_shared(to)),
        "l"(__cvta_generic_to_global(from)), "r"(numbers * int(sizeof(scalar))), "r"(in_shared(gate))
        : "memory");
}

POINT_FN void gate_wait(unsigned long long *gate, int phase) {
    asm volatile("{\n\t.reg .pred done;\nWAIT:\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t@done "
                 "bra DONE;\n\t"
                 "bra WAIT;\nDONE:\n\t}" ::"r"(in_shared(gate)),
                 "r"(phase)
                 : "memory");
}
#endif
