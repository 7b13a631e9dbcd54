// Whole panels of direct_packs.h for vectors of 64 bytes, whose sums go to the output from registers as they are: less
// is stored between two of them than in the loop that serves all panels, see direct_wide.h.
#pragma once
#include "contractions/direct_stores.h"
#include "contractions/direct_wide.h"

// A place is made here, not kept from before.
template <class T> POINT_FN void anew(T *&place) { __asm__ volatile("" : "+r"(place)); }

// Whole panels of a block's rows and of columns that meet.
struct WholePanels {
    const SCALAR *left, *right;
    SCALAR *out;
    const long *row_left, *row_out, *column_right, *column_out, *term_left, *term_right; // places
    long rows, columns, terms;
    long pass;  // rows that meet all columns before the next ones do
    long lying; // rows that are multiplied as they lie; the others are packed
    bool packs; // whether these are packed while the first columns meet them
    Lie lie;    // of the columns
    SCALAR *packed_rows, *packed_columns;

    // How the loop goes through rows that are packed, or that lie.
    POINT_FN Walk walk(bool lies) const {
        const bool in_place = lie == IN_PLACE;
        const long step = in_place ? (column_right[1] - column_right[0]) * SIZE : SIZE;
        return {lies ? term_left : ROW_TERMS.at,
                in_place ? term_right : COLUMN_TERMS.at,
                terms,
                step,
                3 * step,
                out,
                nullptr,
                nullptr,
                nullptr};
    }

    // All passes. PIECE: rows that lie side by side in the output. next_columns: asked for during the first panel of
    // rows if they are not packed yet; next_rows: during the others.
    template <int PIECE, Store HOW> POINT_FN void meet(NextColumns &next_columns, Ahead &next_rows) const {
        if (pass == PANEL) meet<PIECE, HOW, true>(next_columns, next_rows);
        else meet<PIECE, HOW, false>(next_columns, next_rows);
    }
    // ALONE: a pass has one panel of rows. Without the loop over them less is stored for each panel.
    template <int PIECE, Store HOW, bool ALONE> PART_FN void meet(NextColumns &next_columns, Ahead &next_rows) const {
        Walk packed = walk(false), lies = walk(true);

        for (long begin = 0; begin < rows; begin += pass) {
            for (long c = 0; c < columns; c += COLUMNS) {
                if (lie != PACKED) prepare(c, next_columns);
                const bool asks_columns = lie != PACKED && next_columns.asks(c);
                const SCALAR *const column =
                    lie == IN_PLACE ? right + column_right[c] : packed_columns + (lie == PACKED ? c * terms : 0);

                const long end = ALONE ? begin + PANEL : least(begin + pass, rows);
                for (long r = begin; r < end; r += PANEL) {
                    const bool as_it_lies = r < lying && (!c || !packs);
                    SCALAR *const to = packed_rows + r * terms;
                    const SCALAR *row[PACKS];
                    UNROLL
                    for (int p = 0; p < PACKS; ++p)
                        row[p] = as_it_lies ? left + row_left[r + p * LANES] : to + p * LANES;
                    if (as_it_lies && packs) lies.packed = to;

                    Walk &way = as_it_lies ? lies : packed;
                    if (HOW != PAST) way.out_row = row_out + r, way.out_column = column_out + c;
                    const Sums s =
                        multiply(way, asks_columns && r == begin ? next_columns.ahead : next_rows, row, column);

                    const long *to_rows = row_out + r, *to_columns = column_out + c;
                    anew(to_rows), anew(to_columns);
                    Target(out, to_rows, to_columns, HOW, PIECE).leave(s, 0, false, nullptr);
                    if (ALONE) break;
                }
            }
        }
    }

    // The columns from column c on are packed, if they are to be, and the next ones are expected.
    POINT_FN void prepare(long c, NextColumns &next_columns) const {
        next_columns.aim(c);
        if (lie == TO_PACK) Packing<COLUMNS>{packed_columns, right, column_right + c, term_right, COLUMNS, terms}.all();
    }
};
