// One product of the FP64 matrix units of a GPU, m16n8k4 and the longer shapes of sm_90: a warp adds to 16 x 8 numbers.
// multiply_add<STEPS>(c, a, b): c += a b over 4 STEPS numbers. With row = lane / 4, k = lane % 4 a lane has a[s] = {A
// of (row, 4 s + k), A of (row + 8, 4 s + k)}, b[s] = B of (4 s + k, column `row`), and of C the columns 2 k and 2 k +
// 1 of the rows `row` (c[0], c[1]) and row + 8 (c[2], c[3]).
#pragma once
#include "engine/numbers/platform.h"

#ifdef FRAME_STAND_IN
template <int STEPS> static inline void multiply_add(double (&c)[4], const double (*a)[2], const double *b) {
    for (int i = 0; i < STEPS; ++i) matrix_unit(c, a[i], b[i]);
}

template <int STEPS> static inline void add_rounded(float (&c)[4], const float (*a)[2], const float *b) {
    for (int i = 0; i < STEPS; ++i) matrix_unit(c, a[i], b[i]);
}
#else
// The TF32 units: of each number they take the 11 leading digits.
template <int STEPS> POINT_FN void add_rounded(float (&c)[4], const float (*a)[2], const float *b) {
    const auto bits = [](float x) { return __float_as_int(x); };
    if constexpr (STEPS >= 2) {
        asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, "
            "%2, %3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(bits(a[0][0])), "r"(bits(a[0][1])), "r"(bits(a[1][0])), "r"(bits(a[1][1])), "r"(bits(b[0])),
              "r"(bits(b[1])));
        add_rounded<STEPS - 2>(c, a + 2, b + 2);
    } else if constexpr (STEPS == 1) {
        asm("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(bits(a[0][0])), "r"(bits(a[0][1])), "r"(bits(b[0])));
    }
}

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

// The same in single precision: a number is the sum of two that the TF32 units take, the second with an error of up to
// 2^-21 of the number. Of four products the smallest, 2^-22, is left out.
POINT_FN void halves(float x, float &high, float &low) {
    high = __int_as_float((__float_as_int(x) + 0x1000) & ~0x1fff);
    low = x - high;
}

template <int STEPS> POINT_FN void multiply_add(float (&c)[4], const float (*a)[2], const float *b) {
    float a_high[STEPS][2], a_low[STEPS][2], b_high[STEPS], b_low[STEPS];
    UNROLL
    for (int s = 0; s < STEPS; ++s) {
        halves(a[s][0], a_high[s][0], a_low[s][0]);
        halves(a[s][1], a_high[s][1], a_low[s][1]);
        halves(b[s], b_high[s], b_low[s]);
    }
    add_rounded<STEPS>(c, a_low, b_high);
    add_rounded<STEPS>(c, a_high, b_low);
    add_rounded<STEPS>(c, a_high, b_high);
}
