// Products of matrices by libxsmm for each turn of outer loops: out[m n] = sum over k of first[m k] second[k n],
// columns first, as libxsmm counts. Kernels are asked for once in a run. Matrices beyond a tile are cut into tiles:
// factors are packed tile by tile for the second and third cache where that is asked for, by libxsmm's own copies.
//
// xsmm_products.py fills the record. NUMBER: double or float. DISPATCH: libxsmm's function of that type.
#pragma once
#include <libxsmm.h>
#include "engine/numbers/launch.h"

constexpr long M = 64, N = 64, K = 256, ROWS = 4 * M; // of a tile; rows of the first factor that are packed at a time

POINT_FN long least(long a, long b) { return a < b ? a : b; }

// The kernels of a product, by whether the tile is the last one along m, n, k, and whether it adds.
struct Kernels {
    libxsmm_xmmfunction of[2][2][2][2];
    const Arguments &a;

    bool asked() {
        for (int i = 0; i < 16; ++i) {
            const bool last_m = i & 1, last_n = i & 2, last_k = i & 4, adds = i & 8;
            const int m = extent(a.m, M, last_m), n = extent(a.n, N, last_n), k = extent(a.k, K, last_k);
            if (!m || !n || !k) continue;
            const int ld_first = a.pack_first ? m : a.first_ld, ld_out = a.out_ld;
            const bool turned = a.second_turned && !a.pack_second;
            const int ld_second = a.pack_second ? k : a.second_ld;
            const NUMBER one = 1, beta = adds;
            const int flags = turned ? LIBXSMM_GEMM_FLAG_TRANS_B : LIBXSMM_GEMM_FLAG_NONE;
            const int prefetch = LIBXSMM_GEMM_PREFETCH_NONE;
            auto &kernel = of[last_m][last_n][last_k][adds].PRECISION;
            kernel = DISPATCH(m, n, k, &ld_first, &ld_second, &ld_out, &one, &beta, &flags, &prefetch);
            if (!kernel) return false;
        }
        return true;
    }

    // Of a tile; 0 if no tile is so. The last tile may be a whole one.
    static int extent(long all, long tile, bool last) {
        if (last) return all - (all - 1) / tile * tile;
        return all > tile ? tile : 0;
    }
};

// A part of a matrix to dense columns. turned: its rows lie side by side, not its columns.
POINT_FN void pack(NUMBER *to, const NUMBER *from, long rows, long columns, long ld, bool turned) {
    if (turned) libxsmm_otrans(to, from, sizeof(NUMBER), columns, rows, ld, rows);
    else libxsmm_matcopy(to, from, sizeof(NUMBER), rows, columns, ld, rows);
}

POINT_FN void product(const Arguments &a, const Kernels &kernels, const NUMBER *first, const NUMBER *second,
                      NUMBER *out, bool adds) {
    const long first_m = a.first_turned ? a.first_ld : 1, first_k = a.first_turned ? 1 : a.first_ld;
    const long second_k = a.second_turned ? a.second_ld : 1, second_n = a.second_turned ? 1 : a.second_ld;
    NUMBER *const packed = (NUMBER *)a.scratch, *const panels = packed + ROWS * K;

    for (long k = 0; k < a.k; k += K) {
        const long terms = least(K, a.k - k);
        for (long n = 0; n < a.n && a.pack_second; n += N)
            pack(panels + n * terms, second + k * second_k + n * second_n, terms, least(N, a.n - n), a.second_ld,
                 a.second_turned);

        for (long row = 0; row < a.m; row += ROWS) {
            const long end = least(a.m, row + ROWS);
            for (long m = row; m < end && a.pack_first; m += M)
                pack(packed + (m - row) * terms, first + m * first_m + k * first_k, least(M, end - m), terms,
                     a.first_ld, a.first_turned);

            for (long n = 0; n < a.n; n += N) {
                const NUMBER *const column = a.pack_second ? panels + n * terms : second + k * second_k + n * second_n;
                for (long m = row; m < end; m += M) {
                    const NUMBER *const rows =
                        a.pack_first ? packed + (m - row) * terms : first + m * first_m + k * first_k;
                    kernels.of[m + M >= a.m][n + N >= a.n][k + K >= a.k][adds || k > 0].PRECISION(
                        rows, column, out + m + n * a.out_ld);
                }
            }
        }
    }
}

// Where a turn of some loops lies in the three arrays.
struct Places {
    long out, first, second;
};
POINT_FN Places places(long turn, long loops, const long *extent, const long *out, const long *first,
                       const long *second) {
    Places at = {0, 0, 0};
    for (long d = loops - 1; d >= 0; --d) {
        const long x = turn % extent[d];
        turn /= extent[d];
        at.out += x * out[d], at.first += x * first[d], at.second += x * second[d];
    }
    return at;
}

// items: turns of the loops. Returns 1 if libxsmm has no kernel for a product.
KERNEL(xsmm_products, Arguments) {
    (void)threads;
    const Arguments &a = *record;
    Kernels kernels = {{}, a};
    if (!kernels.asked()) return 1;

    for (long item = 0; item < items; ++item) {
        const Places at = places(item, a.loops, a.extent, a.out_step, a.first_step, a.second_step);
        for (long turn = 0; turn < a.sum_turns; ++turn) {
            const Places more = places(turn, a.sums, a.sum_extent, a.sum_out, a.sum_first, a.sum_second);
            product(a, kernels, (const NUMBER *)a.first + at.first + more.first,
                    (const NUMBER *)a.second + at.second + more.second, (NUMBER *)a.out + at.out, turn > 0);
        }
    }
    return 0;
}
