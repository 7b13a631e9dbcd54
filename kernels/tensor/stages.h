// Tensor expressions by stages: the statements of an entry one after the other, what lies between in shared memory.
// Products run on the FP64 matrix units; a lane reads what the unit takes from it. render_stages.py writes the loops.
#pragma once
#include "numbers/launch.h"
#include "numbers/multiply_add.h"

extern __shared__ double shared_memory[];

// Arrays may be of single precision; sums and what lies in shared memory are of double precision.
// An output that nothing reads again does not displace others in the caches.
POINT_FN void leave(scalar *to, double value) { __stcs(to, scalar(value)); }

// The second cache is asked for what will be read.
POINT_FN void ask(const scalar *from) {
#ifndef FRAME_STAND_IN
    asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
#else
    (void)*(const volatile scalar *)from; // outside of an array it fails, as it would there
#endif
}

// A lane's two neighbouring numbers of a row, in one load.
POINT_FN void pair(const double *from, double &first, double &second) {
    const double2 both = *(const double2 *)from;
    first = both.x, second = both.y;
}
POINT_FN void pair(const float *from, double &first, double &second) {
    const float2 both = *(const float2 *)from;
    first = both.x, second = both.y;
}

// The column of a tile of eight that the unit takes from lane `row`, so that what it gives back to the lanes of a row
// lies side by side in fours: column 2 k is k there, column 2 k + 1 is k + 4.
POINT_FN int column_of(int row) { return (row >> 1) + 4 * (row & 1); }

// Bulk copies into shared memory: one thread asks, all wait. `gate` counts the bytes that have come; phases follow each
// other, the first one is 0. The copied bytes are there for a thread after its own wait.
#ifdef FRAME_STAND_IN
// The numbers are poison until a wait finds that all are on their way.
static struct {
    double *to;
    const double *from;
    int numbers;
} asked[4096];
static int copies_asked, numbers_expected, numbers_asked;
static inline void gate_open(unsigned long long *) { copies_asked = numbers_expected = numbers_asked = 0; }
static inline void gate_expect(unsigned long long *, int numbers) { numbers_expected += numbers; }
static inline void bulk(double *to, const double *from, int numbers, unsigned long long *) {
    if ((unsigned long)to % 16 || (unsigned long)from % 16 || numbers % 2) __builtin_trap(); // as the device does
    for (int i = 0; i < numbers; ++i) to[i] = NOT_A_NUMBER;
    asked[copies_asked++] = {to, from, numbers};
    numbers_asked += numbers;
}
static inline void gate_wait(unsigned long long *, int) {
    while (numbers_asked < numbers_expected || !numbers_expected) give_way();
    for (; copies_asked; --copies_asked) {
        auto &copy = asked[copies_asked - 1];
        for (int i = 0; i < copy.numbers; ++i) copy.to[i] = copy.from[i];
    }
}
#else
POINT_FN unsigned in_shared(const void *at) { return (unsigned)__cvta_generic_to_shared(at); }
POINT_FN void gate_open(unsigned long long *gate) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n\tfence.mbarrier_init.release.cluster;" ::"r"(in_shared(gate))
                 : "memory");
}
POINT_FN void gate_expect(unsigned long long *gate, int numbers) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(in_shared(gate)), "r"(numbers * 8)
                 : "memory");
}
POINT_FN void bulk(double *to, const double *from, int numbers, unsigned long long *gate) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(in_shared(to)),
        "l"(__cvta_generic_to_global(from)), "r"(numbers * 8), "r"(in_shared(gate))
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
