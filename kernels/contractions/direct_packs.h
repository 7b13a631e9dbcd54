// The general product of two tensors on CPU vector units: out[m n] (+)= number sum over k of left[m k] right[k n].
//
// Rows, columns and terms of the sum are tables: where each lies in the arrays that have it. So the order of indices in
// memory is free, and one compiled source serves all extents. An item is a block of rows for one turn of the outer
// loops. Its part of the left factor is packed for the second cache, DEPTH terms at a time; a panel of COLUMNS columns
// of the right factor is packed for the first cache, and meets all panels of rows there.
//
// organisations/direct_host.py writes the constants in front of this file:
//   SCALAR             double or float
//   ROWS, DEPTH        rows of a block, a multiple of a panel; terms of the sum that are packed at a time
//   ADDS               whether the output's old value is added
//
// After K. Goto & R. van de Geijn, "Anatomy of high-performance matrix multiplication", ACM TOMS 34 (2008), with the
// copies of the packing made through tables; P. Springer & P. Bientinesi, ACM TOMS 44 (2018), do so for tensors.
#pragma once
#include <string.h>
#include "engine/numbers/launch.h"
#include "contractions/transpose_packs.h"
#ifdef _OPENMP
#include <omp.h>
#endif

// A panel of rows has PACKS packs. Their sums with COLUMNS columns fill the registers.
constexpr int PACKS = 3, COLUMNS = PACK_BYTES == 64 ? 8 : 4;

typedef SCALAR Pack __attribute__((vector_size(PACK_BYTES)));
constexpr int LANES = PACK_BYTES / sizeof(SCALAR), PANEL = PACKS * LANES;
constexpr long BLOCK_SCALARS = long(ROWS) * DEPTH, PANEL_SCALARS = long(COLUMNS) * DEPTH;

POINT_FN Pack load(const SCALAR *from) {
    Pack x;
    memcpy(&x, from, sizeof(Pack));
    return x;
}
POINT_FN void store(SCALAR *to, Pack x) { memcpy(to, &x, sizeof(Pack)); }

POINT_FN long least(long a, long b) { return a < b ? a : b; }

// Whether a pack's lanes lie side by side.
POINT_FN bool side_by_side(const long *place) {
    for (int i = 1; i < LANES; ++i)
        if (place[i] != place[0] + i) return false;
    return true;
}

// Whether the same lanes of LANES packs lie side by side.
POINT_FN bool crossed(const long *place) {
    for (int q = 1; q < LANES; ++q)
        for (int i = 0; i < LANES; ++i)
            if (place[q * LANES + i] != place[i] + q) return false;
    return true;
}

// ---- packing --------------------------------------------------------------------------------------------------------

// Rows (or columns) of a factor, packed as panels of WIDTH lines: panels[line / WIDTH][term][line % WIDTH]. A panel has
// room for DEPTH terms.
template <int WIDTH> struct Packing {
    SCALAR *panels;
    const SCALAR *from;
    const long *line, *term; // where lines and terms begin
    long lines, terms;

    POINT_FN SCALAR *at(long l, long k) const {
        return panels + l / WIDTH * (long(WIDTH) * DEPTH) + k * WIDTH + l % WIDTH;
    }

    POINT_FN void all() const {
        constexpr int SQUARE = LANES * LANES;
        long l = 0;
        while (l + LANES <= lines && l % WIDTH + LANES <= WIDTH) {
            if (side_by_side(line + l)) together(l);
            else if (WIDTH % LANES == 0 && l + SQUARE <= lines && crossed(line + l)) {
                across(l);
                l += SQUARE;
                continue;
            } else apart(l);
            l += LANES;
        }

        // The lines that are left, and zeros up to a whole panel.
        for (const long end = (lines + WIDTH - 1) / WIDTH * WIDTH; l < end; ++l)
            for (long k = 0; k < terms; ++k) *at(l, k) = l < lines ? from[line[l] + term[k]] : 0;
    }

    // Neighbours of a pack lie side by side.
    POINT_FN void together(long l) const {
        for (long k = 0; k < terms; ++k) store(at(l, k), load(from + line[l] + term[k]));
    }

    // The same lanes of the next LANES packs lie side by side.
    POINT_FN void across(long l) const {
        for (long k = 0; k < terms; ++k) {
            Pack x[LANES];
            UNROLL
            for (int i = 0; i < LANES; ++i) x[i] = load(from + line[l + i] + term[k]);
            transpose<1, LANES>(x);
            UNROLL
            for (int q = 0; q < LANES; ++q) store(at(l + q * LANES, k), x[q]);
        }
    }

    // Lines lie apart. Terms may lie side by side.
    POINT_FN void apart(long l) const {
        const SCALAR *begin[LANES];
        UNROLL
        for (int i = 0; i < LANES; ++i) begin[i] = from + line[l + i];

        long k = 0;
        while (k < terms) {
            if (k + LANES <= terms && side_by_side(term + k)) {
                Pack x[LANES];
                UNROLL
                for (int i = 0; i < LANES; ++i) x[i] = load(begin[i] + term[k]);
                transpose<1, LANES>(x);
                UNROLL
                for (int q = 0; q < LANES; ++q) store(at(l, k + q), x[q]);
                k += LANES;
                continue;
            }
            SCALAR *const to = at(l, k);
            UNROLL
            for (int i = 0; i < LANES; ++i) to[i] = begin[i][term[k]];
            ++k;
        }
    }
};

// ---- a panel of rows and a panel of columns -------------------------------------------------------------------------

struct Sums {
    Pack sum[COLUMNS][PACKS];
};

POINT_FN Sums multiply(const SCALAR *__restrict__ rows, const SCALAR *__restrict__ columns, long terms) {
    Sums s;
    UNROLL
    for (int c = 0; c < COLUMNS; ++c) {
        UNROLL
        for (int p = 0; p < PACKS; ++p) s.sum[c][p] = Pack{};
    }

    for (long k = 0; k < terms; ++k) {
        Pack row[PACKS];
        UNROLL
        for (int p = 0; p < PACKS; ++p) row[p] = load(rows + k * PANEL + p * LANES);
        UNROLL
        for (int c = 0; c < COLUMNS; ++c) {
            const SCALAR x = columns[k * COLUMNS + c];
            UNROLL
            for (int p = 0; p < PACKS; ++p) s.sum[c][p] += row[p] * x;
        }
    }
    return s;
}

// Into tile[column][row].
POINT_FN void keep(const Sums &s, SCALAR *tile) {
    UNROLL
    for (int c = 0; c < COLUMNS; ++c) {
        UNROLL
        for (int p = 0; p < PACKS; ++p) store(tile + c * ROWS + p * LANES, s.sum[c][p]);
    }
}

// ---- the output -----------------------------------------------------------------------------------------------------

// Where the results of a block of rows and a panel of columns go.
struct Target {
    SCALAR *out;
    const long *row, *column; // places in the output
    long rows, columns;       // that exist
    SCALAR number;
    bool adds; // to what is there

    // Whether all packs of rows lie side by side.
    POINT_FN bool whole() const {
        for (long r = 0; r + LANES <= rows; r += LANES)
            if (!side_by_side(row + r)) return false;
        return true;
    }

    POINT_FN void put(SCALAR *to, Pack x) const { store(to, adds ? load(to) + number * x : number * x); }
    POINT_FN void put(SCALAR *to, SCALAR x) const { *to = adds ? *to + number * x : number * x; }

    // Packs of rows that lie side by side: the sums of a panel of rows, from row r on.
    POINT_FN void leave(const Sums &s, long r) const {
        UNROLL
        for (int p = 0; p < PACKS; ++p) {
            const long first = r + p * LANES;
            UNROLL
            for (int c = 0; c < COLUMNS; ++c) {
                if (c >= columns) break;
                if (first + LANES <= rows) put(out + column[c] + row[first], s.sum[c][p]);
                else
                    for (int i = 0; first + i < rows && i < LANES; ++i)
                        put(out + column[c] + row[first + i], s.sum[c][p][i]);
            }
        }
    }

    // Packs of rows that lie apart: the sums of all rows, from tile[column][row]. square: of each pack, whether it and
    // the next ones are `crossed`.
    POINT_FN void settle(const SCALAR *tile, const bool *square) const {
        for (int c = 0; c < least(COLUMNS, columns); ++c) {
            SCALAR *const to = out + column[c];
            const SCALAR *const sums = tile + c * ROWS;
            long r = 0;
            while (r < rows) {
                if (square[r / LANES]) {
                    Pack x[LANES];
                    UNROLL
                    for (int q = 0; q < LANES; ++q) x[q] = load(sums + r + q * LANES);
                    transpose<1, LANES>(x);
                    UNROLL
                    for (int i = 0; i < LANES; ++i) put(to + row[r + i], x[i]);
                    r += LANES * LANES;
                    continue;
                }
                for (const long end = least(r + LANES, rows); r < end; ++r) put(to + row[r], sums[r]);
            }
        }
    }
};

// ---- items ----------------------------------------------------------------------------------------------------------

// scratch: of a thread.
POINT_FN void block(const Arguments &a, long item, SCALAR *scratch) {
    // The block of rows, and the turns of the outer loops.
    const long blocks = (a.rows + ROWS - 1) / ROWS, first_row = item % blocks * ROWS;
    long turn = item / blocks, at_out = 0, at_left = 0, at_right = 0;
    for (long d = a.loops - 1; d >= 0; --d) {
        const long x = turn % a.extent[d];
        turn /= a.extent[d];
        at_out += x * a.out_step[d], at_left += x * a.left_step[d], at_right += x * a.right_step[d];
    }
    const SCALAR *const left = (const SCALAR *)a.left + at_left, *const right = (const SCALAR *)a.right + at_right;
    SCALAR *const out = (SCALAR *)a.out + at_out;

    const long rows = least(ROWS, a.rows - first_row);
    const long *const row_left = (const long *)a.row_left + first_row;
    const long *const row_out = (const long *)a.row_out + first_row;
    const long *const column_right = (const long *)a.column_right, *const column_out = (const long *)a.column_out;
    SCALAR *const packed = scratch, *const panel = packed + BLOCK_SCALARS, *const tile = panel + PANEL_SCALARS;
    const bool whole = Target{out, row_out, column_out, rows, a.columns, 1, false}.whole();
    bool square[ROWS / LANES];
    for (long r = 0; r < rows; r += LANES) square[r / LANES] = r + LANES * LANES <= rows && crossed(row_out + r);

    for (long k = 0; k < a.terms; k += DEPTH) {
        const long terms = least(DEPTH, a.terms - k);
        const long *const term_left = (const long *)a.term_left + k, *const term_right = (const long *)a.term_right + k;
        Packing<PANEL>{packed, left, row_left, term_left, rows, terms}.all();

        for (long c = 0; c < a.columns; c += COLUMNS) {
            const long columns = a.columns - c;
            Packing<COLUMNS>{panel, right, column_right + c, term_right, least(COLUMNS, columns), terms}.all();

            const Target target = {out, row_out, column_out + c, rows, columns, SCALAR(a.number), ADDS || k > 0};
            for (long r = 0; r < rows; r += PANEL) {
                const Sums s = multiply(packed + r * DEPTH, panel, terms);
                if (whole) target.leave(s, r);
                else keep(s, tile + r);
            }
            if (!whole) target.settle(tile, square);
        }
    }
}

KERNEL(contraction, Arguments) {
    const Arguments a = *record;
    SCALAR *const scratch = (SCALAR *)a.scratch;
    constexpr long EACH = BLOCK_SCALARS + PANEL_SCALARS + long(COLUMNS) * ROWS;
    if (threads == 1) {
        for (long item = 0; item < items; ++item) block(a, item, scratch);
        return 0;
    }
#pragma omp parallel for schedule(static) num_threads(threads)
    for (long item = 0; item < items; ++item) block(a, item, scratch + EACH * omp_get_thread_num());
    return 0;
}
