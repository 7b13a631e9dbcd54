// The rival libxsmm: products of small matrices, made when they are asked for, one call for each. Row-major arrays are
// its column-major ones transposed, so factors change places.
#pragma once
#include <libxsmm.h>
#include "engine/numbers/launch.h"

struct Xsmm {
    const double *at[4]; // Lg3: D, D transposed, u. Eqn.(1): A transposed, B transposed, C, U. Fields: left, right
    double *out[3];
};
typedef libxsmm_dmmfunction Product;
static Product product(int m, int n, int k) { // overwrites: beta = 0
    const double one = 1, zero = 0;
    const int flags = LIBXSMM_GEMM_FLAG_NONE, prefetch = LIBXSMM_GEMM_PREFETCH_NONE;
    return libxsmm_dmmdispatch(m, n, k, nullptr, nullptr, nullptr, &one, &zero, &flags, &prefetch);
}

template <int N> static int lg3(const Xsmm &a, long items) {
    const Product rows = product(N, N * N, N), planes = product(N, N, N), whole = product(N * N, N, N);
    if (!rows || !planes || !whole) return 1;
    for (long e = 0; e < items; ++e) {
        const double *u = a.at[2] + e * N * N * N;
        double *const ur = a.out[0] + e * N * N * N, *const us = a.out[1] + e * N * N * N;
        rows(a.at[1], u, ur);
        for (int k = 0; k < N; ++k) planes(u + k * N * N, a.at[0], us + k * N * N);
        whole(u, a.at[0], a.out[2] + e * N * N * N);
    }
    return 0;
}

// [l m n] by C: [l m i]; by B: [l j i]; by A: [k j i]; then turned to [i j k].
template <int N> static int eqn1(const Xsmm &a, long items) {
    const Product rows = product(N, N * N, N), planes = product(N, N, N), whole = product(N * N, N, N);
    if (!rows || !planes || !whole) return 1;
    double s[N * N * N], t[N * N * N];
    for (long e = 0; e < items; ++e) {
        rows(a.at[2], a.at[3] + e * N * N * N, s);
        for (int l = 0; l < N; ++l) planes(s + l * N * N, a.at[1], t + l * N * N);
        whole(t, a.at[0], s);
        double *const v = a.out[0] + e * N * N * N;
        for (int i = 0; i < N; ++i)
            for (int j = 0; j < N; ++j)
                for (int k = 0; k < N; ++k) v[(i * N + j) * N + k] = s[(k * N + j) * N + i];
    }
    return 0;
}
// left [l p] by right [r p]: it makes no product with the first of its factors transposed, so right is turned before.
template <int L, int R, int P> static int fields(const Xsmm &a, long items) {
    const Product whole = product(R, L, P);
    if (!whole) return 1;
    alignas(64) double turned[P * R];
    for (long e = 0; e < items; ++e) {
        libxsmm_otrans(turned, a.at[1] + e * R * P, sizeof(double), P, R, P, R);
        whole(turned, a.at[0] + e * L * P, a.out[0] + e * L * R);
    }
    return 0;
}
KERNEL(xsmm_fields_8_8, Xsmm) { return (void)threads, fields<8, 8, 8>(*record, items); }
KERNEL(xsmm_fields_16_64, Xsmm) { return (void)threads, fields<16, 16, 64>(*record, items); }
KERNEL(xsmm_lg3, Xsmm) { return (void)threads, lg3<12>(*record, items); }
KERNEL(xsmm_eqn1, Xsmm) { return (void)threads, eqn1<10>(*record, items); }
