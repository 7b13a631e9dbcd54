// One product of the FP64 matrix units of a GPU, m16n8k4 and the longer shapes of sm_90: a warp adds to 16 x 8 numbers.
// multiply_add<STEPS>(c, a, b): c += a b over 4 STEPS numbers. With row = lane / 4, k = lane % 4 a lane has a[s] = {A
// of (row, 4 s + k), A of (row + 8, 4 s + k)}, b[s] = B of (4 s + k, column `row`), and of C the columns 2 k and 2 k +
// 1 of the rows `row` (c[0], c[1]) and row + 8 (c[2], c[3]).
#pragma once
#include "numbers/platform.h"

#ifdef FRAME_STAND_IN
template <int STEPS> static inline void multiply_add(double (&c)[4], const double (*a)[2], const double *b) {
    for (int i = 0; i < STEPS; ++i) matrix_unit(c, a[i], b[i]);
}
#else
template <int STEPS> POINT_FN void multiply_add(double (&c)[4], const double (*a)[2], const double *b) {
    if constexpr (STEPS >= 4) {
        asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, "
            "{%12, %13, %14, %15}, {%0, %1, %2, %3};"
            : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
            : "d"(a[0][0]), "d"(a[0][1]), "d"(a[1][0]), "d"(a[1][1]), "d"(a[2][0]), "d"(a[2][1]), "d"(a[3][0]),
              "d"(a[3][1]), "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
        multiply_add<STEPS - 4>(c, a + 4, b + 4);
    } else if constexpr (STEPS >= 2) {
        asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, "
            "%2, %3};"
            : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
            : "d"(a[0][0]), "d"(a[0][1]), "d"(a[1][0]), "d"(a[1][1]), "d"(b[0]), "d"(b[1]));
        multiply_add<STEPS - 2>(c, a + 2, b + 2);
    } else if constexpr (STEPS == 1) {
        asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
            : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
            : "d"(a[0][0]), "d"(a[0][1]), "d"(b[0]));
    }
}
#endif
