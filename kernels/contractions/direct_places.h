// Where the rows, columns and terms of a tile of direct.h lie: digits of each group of indices, tables of places.
#pragma once
#include "contractions/direct_tile.h"
#include "contractions/reciprocals.h"

// The digits of a group in the record.
struct Digits {
    const long *extent, *reciprocal, *shift, *factor_step, *out_step;
    const long (*weight)[MOST_DIGITS];
    const long *limit;
    bool ragged; // whether any digit has a weight
};

// A row or column: where it begins in a factor and in the output. Digits that are parts of an index of another extent
// than theirs have a weight each; the index is then below a limit.
POINT_FN bool find(int number, long count, long digits, const Digits &d, int &from, int &to) {
    const bool within = number < int(count);
    int left = within ? number : 0;
    int first = 0;
    int second = 0;
    from = to = 0;
    for (int i = 0; i < int(digits); ++i) {
        const int e = int(d.extent[i]);
        const int over = quotient(left, d.reciprocal[i], d.shift[i]);
        const int x = left - over * e;
        left = over;
        from += x * int(d.factor_step[i]);
        to += x * int(d.out_step[i]);
        if (d.ragged) first += x * int(d.weight[0][i]), second += x * int(d.weight[1][i]);
    }
    return within && first < int(d.limit[0]) && second < int(d.limit[1]);
}

// The place of a block: its entry, its tile, and where these begin in the arrays.
struct Place {
    const scalar *left, *right;
    scalar *out;
    int row, column; // the first of the tile
};

POINT_FN Place place_of(const Arguments &a, int block) {
    const int entry_tiles = int(a.row_tiles * a.column_tiles);
    const int columns = int(a.column_tiles);
    int other = block / entry_tiles;
    const int tile = block - other * entry_tiles;

    int row, column;
    if constexpr (HOLDS == HOLDS_LEFT) {
        row = tile / columns;
        column = tile - row * columns;
    } else if constexpr (HOLDS == HOLDS_RIGHT) {
        column = tile / int(a.row_tiles);
        row = tile - column * int(a.row_tiles);
    } else { // tiles of GROUP rows run over all columns before the next ones
        const int group = tile / (GROUP * columns);
        const int inside = tile - group * GROUP * columns;
        const int rows = min(GROUP, int(a.row_tiles) - group * GROUP);
        column = inside / rows;
        row = group * GROUP + inside - column * rows;
    }

    long left = 0, right = 0, out = 0;
    for (int d = 0; d < int(a.others); ++d) {
        const int over = other / int(a.other_extent[d]);
        const int x = other - over * int(a.other_extent[d]);
        other = over;
        left += x * a.other_left[d];
        right += x * a.other_right[d];
        out += x * a.other_out[d];
    }
    left += other * a.step_left;
    right += other * a.step_right;
    out += other * a.step_out;
    return {(const scalar *)a.at_left + left, (const scalar *)a.at_right + right, (scalar *)a.at_out + out, row * ROWS,
            column * COLUMNS};
}

// The tables of a tile in shared memory, behind the numbers.
struct Tables {
    int *row_from, *column_from; // where a row begins in the left factor, a column in the right factor
    int *row_to, *column_to;     // the same in the output, in the order of the finished tile
    int *row_spot, *column_spot; // where a row's numbers lie in the finished tile
};

POINT_FN Tables tables(int set = 0) {
    int *const first = (int *)((scalar *)shared_memory + NUMBERS) + set * 3 * (ROWS + COLUMNS);
    return {first,
            first + ROWS,
            first + ROWS + COLUMNS,
            first + 2 * ROWS + COLUMNS,
            first + 2 * ROWS + 2 * COLUMNS,
            first + 3 * ROWS + 2 * COLUMNS};
}

POINT_FN void fill(const Arguments &a, const Place &place, const Tables &t) {
    const int *const spots = (const int *)a.at_spots;
    for (int line = threadIdx.x; line < ROWS + COLUMNS; line += THREADS) {
        int from, to;
        const int spot = spots[line];
        if (line < ROWS) {
            const Digits digits{a.row_extent, a.row_reciprocal, a.row_shift, a.row_left,
                                a.row_out,    a.row_weight,     a.row_limit, ROWS_RAGGED};
            const bool inside = find(place.row + line, a.rows, a.row_digits, digits, from, to);
            t.row_from[line] = inside ? from : OUTSIDE;
            t.row_to[spot] = inside ? to : OUTSIDE;
            t.row_spot[line] = spot * (OUT_ROWS ? 1 : PITCH);
        } else {
            const int c = line - ROWS;
            const Digits digits{a.column_extent, a.column_reciprocal, a.column_shift, a.column_right,
                                a.column_out,    a.column_weight,     a.column_limit, COLUMNS_RAGGED};
            const bool inside = find(place.column + c, a.columns, a.column_digits, digits, from, to);
            t.column_from[c] = inside ? from : OUTSIDE;
            t.column_to[spot] = inside ? to : OUTSIDE;
            t.column_spot[c] = spot * (OUT_ROWS ? PITCH : 1);
        }
    }
}
