// The general product of two tensors on CPU vector units: out[m n] (+)= number sum over k of left[m k] right[k n].
//
// Rows, columns and terms of the sum are tables: where each lies in the arrays that have it. So the order of indices in
// memory is free, and one compiled source serves all extents. An item is some blocks of rows for one turn of the outer
// loops. A block's part of the left factor is packed for the second cache, DEPTH terms at a time. A panel of COLUMNS
// columns of the right factor is packed for the first cache and meets all panels of rows there; where an item has
// several passes, a chunk of columns is packed before them.
//
// A pass is a part of a block that meets all columns before the next part does. Where the output is written in short
// runs, it has one panel of rows, so the output is written in order.
//
// organisations/direct_host.py writes the constants in front of this file:
//   SCALAR             double or float
//   ROWS, DEPTH        rows of a pass, at most, a multiple of a panel; terms of the sum that are packed at a time
//
// How the output is stored is a number of the launch, not of the source: the compiler writes each part once.
//
// After K. Goto & R. van de Geijn, "Anatomy of high-performance matrix multiplication", ACM TOMS 34 (2008), with the
// copies of the packing (direct_packing.h) made through tables; P. Springer & P. Bientinesi, ACM TOMS 44 (2018), do so
// for tensors.
#pragma once
#include "contractions/direct_packing.h"
#ifdef _OPENMP
#include <omp.h>
#endif

// For more columns, rows are packed while they are multiplied as they lie.
constexpr int FEW_COLUMNS = PACK_BYTES == 64 ? 64 : 16;

// ---- a panel of rows and a panel of columns -------------------------------------------------------------------------

struct Sums {
    Pack sum[COLUMNS][PACKS];
};

// A panel of columns: packed, or as it lies. at(k): the columns of term k.
struct PackedColumns {
    const SCALAR *panel;

    struct At {
        const SCALAR *first;

        POINT_FN SCALAR operator()(int c) const { return first[c]; }
    };
    POINT_FN At at(long k) const { return {panel + k * COLUMNS}; }
};
// Columns that lie evenly: so few registers have all places.
struct ColumnsInPlace {
    const char *first;
    long step, thrice; // bytes from column to column
    const long *term;

    // Columns beyond the last one are the first one again; their sums are not stored.
    POINT_FN ColumnsInPlace(const SCALAR *from, const long *place, const long *term, long columns)
        : first((const char *)(from + place[0])), step(columns < COLUMNS ? 0 : (place[1] - place[0]) * SIZE),
          thrice(3 * step), term(term) {}

    POINT_FN static bool serves(const long *place, long columns) {
        if (columns < COLUMNS) return columns == 1;
        for (int c = 2; c < COLUMNS; ++c)
            if (place[c] - place[c - 1] != place[1] - place[0]) return false;
        return true;
    }

    struct At {
        const char *low, *high; // columns 0 and 4
        long step, thrice;

        POINT_FN SCALAR operator()(int c) const {
            const char *const four = c < 4 ? low : high;
            return *(const SCALAR *)(four + (c % 4 == 3 ? thrice : c % 4 * step));
        }
    };
    POINT_FN At at(long k) const {
        const char *low = first + term[k] * SIZE;
        // Else the compiler keeps a place of each column, for which there are too few registers.
        __asm__ volatile("" : "+r"(low));
        return {low, low + 4 * step, step, thrice};
    }
};

// A panel of rows: packed, or as it lies, where the rows of each pack lie side by side.
struct PackedRows {
    static constexpr bool ONCE = false; // whether few columns meet rows of this kind: short code compiles faster
    const SCALAR *panel;

    POINT_FN Pack operator()(int p, long k) const { return load(panel + k * PANEL + p * LANES); }
};
struct RowsInPlace {
    static constexpr bool ONCE = false;
    const SCALAR *pack[PACKS];
    const long *term;

    POINT_FN RowsInPlace(const SCALAR *from, const long *place, const long *term) : term(term) {
        UNROLL
        for (int p = 0; p < PACKS; ++p) pack[p] = from + place[p * LANES];
    }
    POINT_FN Pack operator()(int p, long k) const { return load(pack[p] + term[k]); }
};
// The same where the rows of the whole panel lie side by side: a register less for each pack.
struct PanelInPlace {
    const SCALAR *first;
    const long *term;

    POINT_FN Pack operator()(int p, long k) const { return load(first + term[k] + p * LANES); }
};
// Rows that lie in place, and are packed on the way for the columns to come.
template <class Rows> struct RowsOnTheWay {
    static constexpr bool ONCE = true;
    Rows rows;
    SCALAR *panel;

    POINT_FN Pack operator()(int p, long k) const {
        const Pack x = rows(p, k);
        store(panel + k * PANEL + p * LANES, x);
        return x;
    }
};

template <class Rows, class Columns>
POINT_FN Sums multiply(const Rows &rows, const Columns &columns, long terms, Ahead &ahead, Expected expected) {
    Sums s;
    UNROLL
    for (int c = 0; c < COLUMNS; ++c) {
        UNROLL
        for (int p = 0; p < PACKS; ++p) s.sum[c][p] = Pack{};
    }

    const auto add = [&](long k) __attribute__((always_inline)) {
        Pack row[PACKS];
        UNROLL
        for (int p = 0; p < PACKS; ++p) row[p] = rows(p, k), hold(row[p]);
        const auto column = columns.at(k);
        UNROLL
        for (int c = 0; c < COLUMNS; ++c) {
            Pack x = column(c) - Pack{};
            hold(x);
            UNROLL
            for (int p = 0; p < PACKS; ++p) s.sum[c][p] += row[p] * x;
        }
    };

    Ahead mine = ahead;
    mine.new_panel();
    long k = 0;
    for (; k + TERMS <= terms; k += TERMS) {
        mine.ask();
        if (Expected::SPREAD) expected.ask();
        if constexpr (Rows::ONCE) {
            _Pragma("GCC unroll 1") for (int i = 0; i < TERMS; ++i) add(k + i);
        } else {
            UNROLL_TERMS
            for (int i = 0; i < TERMS; ++i) add(k + i);
        }
    }
    for (; k < terms; ++k) add(k);
    ahead = mine;
    return s;
}

// A panel of rows, which is packed or lies in place.
struct RowPanel {
    const SCALAR *from;     // the left factor
    const long *row, *term; // places of the rows and of the terms
    SCALAR *packed;
    bool lies;  // whether it is multiplied as it lies
    bool packs; // whether it is packed meanwhile

    // The sums with columns that lie in place. Rows that lie are packed for the next columns.
    POINT_FN Sums sums(const ColumnsInPlace &columns, long terms, Ahead &ahead, const Expected &expected) const {
        if (!lies) return multiply(PackedRows{packed}, columns, terms, ahead, expected);

        const PanelInPlace rows = {from + row[0], term};
        return multiply(RowsOnTheWay<PanelInPlace>{rows, packed}, columns, terms, ahead, expected);
    }

    // The sums with packed columns.
    POINT_FN Sums sums(const PackedColumns &columns, long terms, Ahead &ahead, const Expected &expected) const {
        if (!lies) return multiply(PackedRows{packed}, columns, terms, ahead, expected);

        const RowsInPlace rows(from, row, term);
        if (!packs) return multiply(rows, columns, terms, ahead, expected);
        return multiply(RowsOnTheWay<RowsInPlace>{rows, packed}, columns, terms, ahead, expected);
    }
};

// Into tile[column][row].
POINT_FN void keep(const Sums &s, SCALAR *tile) {
    UNROLL
    for (int c = 0; c < COLUMNS; ++c) {
        UNROLL
        for (int p = 0; p < PACKS; ++p) store(tile + c * ROWS + p * LANES, s.sum[c][p]);
    }
}

// ---- the output -----------------------------------------------------------------------------------------------------

// How sums are stored.
enum Store {
    PLAIN,  // as they are
    PAST,   // the same past the caches, for an output that is larger than they are
    SCALED, // times a number
    ADDED   // the same, added to what is there
};

// How the rows of a block lie in the output.
struct RowRuns {
    int piece;                   // rows, a pack or a part of one, that lie side by side everywhere; 1: fewer
    int length[ROWS];            // of the run that a row begins
    Band band[ROWS / LANES + 1]; // that begins at each pack of rows, where there are no pieces

    // all_at_once: no sums go to the output by a tile if there are pieces.
    POINT_FN RowRuns(const long *row, long rows, bool all_at_once) : piece(LANES) {
        if (!in_pieces<LANES>(row, rows)) piece = HALF;
        if (piece == HALF && HALF < LANES && !in_pieces<HALF>(row, rows)) piece = LEAST_PIECE;
        if (piece == LEAST_PIECE && !in_pieces<LEAST_PIECE>(row, rows)) piece = 1;
        if (piece > 1 && all_at_once) return;

        for (long r = rows; r-- > 0;) length[r] = r + 1 < rows && row[r + 1] == row[r] + 1 ? length[r + 1] + 1 : 1;
        for (long r = 0; r < rows && piece == 1; r += LANES) {
            Band found = Band::at<LANES>(row + r, rows - r, LINE);
            if (!found.width) found = Band::at<LANES>(row + r, rows - r, LANES);
            if (!found.width) found = Band::at<HALF>(row + r, rows - r, HALF);
            band[r / LANES] = found;
        }
    }
    template <int PIECE> POINT_FN static bool in_pieces(const long *row, long rows) {
        for (long r = 0; r + PIECE <= rows; r += PIECE)
            if (!side_by_side<PIECE>(row + r)) return false;
        return true;
    }
};

// Where the results of a block of rows and a panel of columns go.
struct Target {
    SCALAR *out;
    const long *row, *column; // places in the output
    long rows, columns;       // that exist
    SCALAR number;
    Store how;

    // A pack; a part of one, or a number.
    POINT_FN void put(SCALAR *to, Pack x) const {
        if (how == PAST && (unsigned long)to % PACK_BYTES == 0) return stream(to, x);
        put<Pack>(to, x);
    }
    template <class T> POINT_FN void put(SCALAR *to, T x) const {
        T old;
        if (how >= SCALED) x = number * x;
        if (how == ADDED) memcpy(&old, to, sizeof(T)), x += old;
        memcpy(to, &x, sizeof(T));
    }

    // The numbers of a panel of rows.
    POINT_FN Expected expected(long r, long turn) const { return Expected(out, row + r, column, turn); }

    // Asks for the numbers of the bands of a block, whose sums go there after those of all its rows.
    POINT_FN void expect_bands(const RowRuns &runs) const {
        if (how == PAST || runs.piece > 1) return;
        for (long r = 0; r < rows; r += LANES) {
            const Band band = runs.band[r / LANES];
            if (!band.width) continue;
            for (int c = 0; c < least(COLUMNS, columns); ++c)
                for (int i = 0; i < band.width; ++i) __builtin_prefetch(out + row[r + i] + column[c], 1, 3);
            r += long(band.width) * band.depth - LANES;
        }
    }

    // The sums of a whole panel, from row r on. piece: rows that lie side by side. half: room for the packs of a cache
    // line of which another panel has the other half.
    POINT_FN void leave(const Sums &s, long r, int piece, SCALAR *half) const {
        if (how == PAST && piece == LANES) return stream_packs(s, r, half);
        if (how == PAST && piece == HALF && HALF > LEAST_PIECE) return stream_parts(s, r);
        if (piece == LANES) return leave_packs(s, r);
        if (piece == HALF) return leave_parts<HALF>(s, r);
        leave_parts<LEAST_PIECE>(s, r);
    }
    POINT_FN void leave_packs(const Sums &s, long r) const {
        UNROLL
        for (int p = 0; p < PACKS; ++p) {
            SCALAR *const to = out + row[r + p * LANES];
            if (how == PLAIN) {
                UNROLL
                for (int c = 0; c < COLUMNS; ++c) store(to + column[c], s.sum[c][p]);
            } else {
                UNROLL
                for (int c = 0; c < COLUMNS; ++c) put(to + column[c], s.sum[c][p]);
            }
        }
    }
    // Past the caches, pack by pack. A panel of narrow vectors has one and a half cache lines: the last pack of a panel
    // waits for the first one of the next, so that each line is written as a whole.
    POINT_FN void stream_packs(const Sums &s, long r, SCALAR *half) const {
        constexpr bool HALVES = LANES < LINE && PACKS * LANES % LINE;
        const bool second = r / PANEL % 2 && row[r] == row[r - 1] + 1;
        const bool first = r / PANEL % 2 == 0 && r + 2 * PANEL <= rows && row[r + PANEL] == row[r + PANEL - 1] + 1;
        UNROLL
        for (int c = 0; c < COLUMNS; ++c) {
            SCALAR *const to = out + column[c];
            if (HALVES && second) put(to + row[r] - LANES, load(half + c * LANES));
            UNROLL
            for (int p = 0; p < PACKS; ++p) {
                if (HALVES && first && p == PACKS - 1) store(half + c * LANES, s.sum[c][p]);
                else put(to + row[r + p * LANES], s.sum[c][p]);
            }
        }
    }

    // Past the caches by halves of packs. The next column may go on in the same cache line.
    POINT_FN void stream_parts(const Sums &s, long r) const {
        UNROLL
        for (int c = 0; c < COLUMNS; ++c) stream_column<0>(s.sum[c], out + column[c], r);
    }
    template <int FIRST> POINT_FN void stream_column(const Pack (&sum)[PACKS], SCALAR *to, long r) const {
        if constexpr (FIRST < PANEL) {
            const auto x = lanes_of<FIRST % LANES, HALF>(sum[FIRST / LANES]);
            SCALAR *const part = to + row[r + FIRST];
            if ((unsigned long)part % sizeof(x) == 0) stream(part, x);
            else memcpy(part, &x, sizeof(x));
            stream_column<FIRST + HALF>(sum, to, r);
        }
    }
    template <int PIECE, int FIRST = 0> POINT_FN void leave_parts(const Sums &s, long r) const {
        if constexpr (FIRST < LANES) {
            UNROLL
            for (int p = 0; p < PACKS; ++p) {
                SCALAR *const to = out + row[r + p * LANES + FIRST];
                UNROLL
                for (int c = 0; c < COLUMNS; ++c) {
                    const auto x = lanes_of<FIRST, PIECE>(s.sum[c][p]);
                    memcpy(to + column[c], &x, sizeof(x));
                }
            }
            leave_parts<PIECE, FIRST + PIECE>(s, r);
        }
    }

    // The sums of other rows, from row `first` on, by tile[column][row].
    PART_FN void settle(const SCALAR *tile, long first, const RowRuns &runs) const {
        for (int c = 0; c < least(COLUMNS, columns); ++c) {
            SCALAR *const to = out + column[c];
            const SCALAR *const sums = tile + c * ROWS;
            long r = first;
            while (r < rows) {
                const Band band = runs.piece == 1 && r % LANES == 0 ? runs.band[r / LANES] : Band{0, 0};
                if (!band.width) copy(to + row[r], sums + r, runs.length[r]);
                else if (band.depth == LINE) across_band<LANES, LINE / LANES>(to, sums, r, band);
                else if (LANES < LINE && band.depth == LANES) across_band<LANES, 1>(to, sums, r, band);
                else across_band<HALF, 1>(to, sums, r, band);
                r += band.width ? band.width * band.depth : runs.length[r];
            }
        }
    }

    // Sums that lie side by side.
    POINT_FN void copy(SCALAR *to, const SCALAR *sums, long count) const {
        long i = 0;
        for (; i + LANES <= count; i += LANES) put(to + i, load(sums + i));
        copy_few<HALF>(to, sums, i, count);
    }
    template <int COUNT> POINT_FN void copy_few(SCALAR *to, const SCALAR *sums, long i, long count) const {
        if constexpr (COUNT < LEAST_PIECE) {
            for (; i < count; ++i) put(to + i, sums[i]);
        } else {
            typename Few<COUNT>::type x;
            if (i + COUNT <= count) memcpy(&x, sums + i, sizeof(x)), put(to + i, x), i += COUNT;
            copy_few<COUNT / 2>(to, sums, i, count);
        }
    }

    // Squares of sums to lines of the output, one line after the other. Packs that follow each other in a line are
    // `width` sums apart.
    template <int SIDE, int SQUARES>
    POINT_FN void across_band(SCALAR *to, const SCALAR *sums, long r, const Band &band) const {
        for (int u = 0; u < band.width; u += SIDE) {
            Square<SIDE> x[SQUARES];
            UNROLL
            for (int v = 0; v < SQUARES; ++v) {
                UNROLL
                for (int i = 0; i < SIDE; ++i) x[v].fetch(i, sums + r + u + (v * SIDE + i) * band.width);
                transpose<1, SIDE>(x[v].row);
            }
            UNROLL
            for (int i = 0; i < SIDE; ++i) {
                UNROLL
                for (int v = 0; v < SQUARES; ++v) put(to + row[r + u + i] + v * SIDE, x[v].row[i]);
            }
        }
    }
};

// ---- items ----------------------------------------------------------------------------------------------------------

// A thread's memory for what it packs.
struct Room {
    SCALAR *rows;    // ROWS x DEPTH: a block
    SCALAR *tile;    // COLUMNS x ROWS: sums whose rows lie apart
    SCALAR *columns; // a panel, or a chunk of them for several blocks
};

// The arrays at a turn of the outer loops.
struct Turn {
    const SCALAR *left, *right;
    SCALAR *out;
};

POINT_FN Turn turn_of(const Arguments &a, long turn) {
    long left = 0, right = 0, out = 0;
    for (long d = a.loops - 1; d >= 0; --d) {
        const long x = turn % a.extent[d];
        turn /= a.extent[d];
        out += x * a.out_step[d], left += x * a.left_step[d], right += x * a.right_step[d];
    }
    return {(const SCALAR *)a.left + left, (const SCALAR *)a.right + right, (SCALAR *)a.out + out};
}

// How columns lie that meet a block of rows.
enum Lie { IN_PLACE, TO_PACK, PACKED };

// Terms and columns that meet a block of rows.
struct Part {
    long first_term, terms, first_column, columns;
    Lie lie;
};

// Rows of the whole panels, from the first one on, of which each COUNT lie side by side in the left factor.
template <int COUNT> POINT_FN long panels_in_place(const long *row_left, long rows) {
    long r = 0;
    for (; r + PANEL <= rows; r += PANEL)
        for (int p = 0; p < PANEL; p += COUNT)
            if (!side_by_side<COUNT>(row_left + r + p)) return r;
    return r;
}

// The block after a block: its rows, one of each cache line, and its terms.
struct Next {
    const long *line;
    long lines, term, terms;
};

// A block of rows with the terms and columns that meet it.
struct Block {
    Turn at;
    Part part;
    long first, rows, lying; // the first row; how many there are; those of whole panels that are multiplied as they lie
    Room room;
};

// Rows from `begin` of a block on, `rows` of them, meet all columns of a part.
PART_FN void pass(const Arguments &a, const Block &b, long begin, long rows, Ahead &next_rows) {
    const Part &part = b.part;
    const long *const row_left = (const long *)a.row_left + b.first + begin;
    const long *const row_out = (const long *)a.row_out + b.first + begin;
    const long *const column_right = (const long *)a.column_right + part.first_column;
    const long *const column_out = (const long *)a.column_out + part.first_column;
    const long *const term_left = (const long *)a.term_left + part.first_term;
    const long *const term_right = (const long *)a.term_right + part.first_term;

    SCALAR *const packed = b.room.rows + begin * part.terms;
    // Rows that lie are packed while the first columns meet them.
    const bool packs = part.lie == IN_PLACE || part.columns > FEW_COLUMNS;
    const Store how = part.first_term ? ADDED : Store(a.store);
    const long turns = part.terms / TERMS;
    const RowRuns runs(row_out, rows, rows % PANEL == 0 && part.columns % COLUMNS == 0 && how < SCALED);
    const long wanted = how == PAST ? 0 : Expected::each(turns); // numbers of the output, at a turn
    const long lying = b.lying < begin ? 0 : least(b.lying - begin, rows);

    // Columns that are not packed yet are asked for during the first panel of rows, the next rows during the others.
    Ahead next_columns(b.at.right, column_right, term_right, COLUMNS, part.terms, 1, turns);

    for (long c = 0; c < part.columns; c += COLUMNS) {
        const long columns = least(COLUMNS, part.columns - c);
        const Target target = {b.at.out, row_out, column_out + c, rows, columns, SCALAR(a.number), how};
        if (part.lie != PACKED) {
            // The columns of the next panel.
            const long *const next = column_right + c + columns;
            const long more = least(COLUMNS, part.columns - c - columns);
            next_columns.aim(next, more == COLUMNS && side_by_side<COLUMNS>(next) ? 1 : more);
        }

        target.expect_bands(runs);

        // Whole panels go from registers to the output; parts of packs as they are.
        const bool from_registers = runs.piece == LANES || (runs.piece > 1 && how < SCALED);
        const long at_once = from_registers && columns == COLUMNS ? rows / PANEL * PANEL : 0;

        const ColumnsInPlace columns_in_place(b.at.right, column_right + c, term_right, columns);
        SCALAR *const panel = b.room.columns + (part.lie == PACKED ? c * part.terms : 0);
        const bool in_place = part.lie == IN_PLACE && ColumnsInPlace::serves(column_right + c, columns);
        if (part.lie != PACKED && !in_place)
            Packing<COLUMNS>{panel, b.at.right, column_right + c, term_right, columns, part.terms}.all();

        for (long r = 0; r < rows; r += PANEL) {
            const Expected expected = target.expected(r, r < at_once ? wanted : 0);
            Ahead &ahead = part.lie != PACKED && !r ? next_columns : next_rows;
            const RowPanel row_panel = {
                b.at.left, row_left + r, term_left, packed + r * part.terms, r < lying && (!c || !packs), packs};
            Sums s;
            if (in_place) s = row_panel.sums(columns_in_place, part.terms, ahead, expected);
            else s = row_panel.sums(PackedColumns{panel}, part.terms, ahead, expected);

            if (r < at_once) target.leave(s, r, runs.piece, b.room.tile);
            else keep(s, b.room.tile + r);
        }
        if (at_once < rows) target.settle(b.room.tile, at_once, runs);
    }
}

PART_FN void block(const Arguments &a, Turn at, Part part, long first, long rows, Next next, Room room) {
    const long *const row_left = (const long *)a.row_left + first;
    const long *const term_left = (const long *)a.term_left + part.first_term;

    // Rows beyond those that are multiplied as they lie are packed. Where columns lie in place, too, the rows of a
    // panel have to lie side by side.
    long lying = 0;
    if (a.rows_in_place && part.lie == IN_PLACE) lying = panels_in_place<PANEL>(row_left, rows);
    else if (a.rows_in_place) lying = panels_in_place<LANES>(row_left, rows);
    const Block b = {at, part, first, rows, lying, room};
    Packing<PANEL>{room.rows + lying * part.terms, at.left, row_left + lying, term_left, rows - lying, part.terms}
        .all();

    // What is read next: the next block of rows, or the next panel of columns where no other rows meet these columns.
    const long passes = (rows + a.pass - 1) / a.pass, column_panels = (part.columns + COLUMNS - 1) / COLUMNS;
    const long row_panels = (rows + PANEL - 1) / PANEL - (part.lie != PACKED ? passes : 0);
    Ahead ahead(at.left, next.line, (const long *)a.term_left + next.term, row_panels ? next.lines : 0, next.terms,
                row_panels * column_panels, part.terms / TERMS);

    for (long r = 0; r < rows; r += a.pass) pass(a, b, r, least(a.pass, rows - r), ahead);
}

// The block after a block: of the rows that are left, or of an item's first rows with the next terms.
POINT_FN Next next_of(const Arguments &a, const Part &part, long first, long row, long end) {
    const long term = part.first_term + part.terms;
    const auto block_at = [&](long r, long k, long terms) {
        const long *const lines = (const long *)a.line_end + r / a.block;
        const long begin = r ? lines[-1] : 0;
        return Next{(const long *)a.line_left + begin, lines[0] - begin, k, terms};
    };
    if (row < end) return block_at(row, part.first_term, part.terms);
    if (term < a.terms) return block_at(first, term, least(DEPTH, a.terms - term));
    return {nullptr, 0, 0, 0};
}

// The rows of an item at a turn of the outer loops.
PART_FN void rows_of(const Arguments &a, long item, const Room &room) {
    const long parts = (a.rows + a.item_rows - 1) / a.item_rows;
    const long first = item % parts * a.item_rows, end = least(first + a.item_rows, a.rows);
    const Turn at = turn_of(a, item / parts);
    const long *const column_right = (const long *)a.column_right, *const term_right = (const long *)a.term_right;

    for (long c = 0; c < a.columns; c += a.chunk)
        for (long k = 0; k < a.terms; k += DEPTH) {
            const Lie lie = end - first > a.pass ? PACKED : a.in_place ? IN_PLACE : TO_PACK;
            const Part part = {k, least(DEPTH, a.terms - k), c, least(a.chunk, a.columns - c), lie};
            if (lie == PACKED)
                Packing<COLUMNS>{room.columns, at.right, column_right + c, term_right + k, part.columns, part.terms}
                    .all();

            for (long row = first; row < end; row += a.block) {
                const long rows = least(a.block, end - row);
                block(a, at, part, row, rows, next_of(a, part, first, row + rows, end), room);
            }
        }
    if (a.store == PAST) end_of_streams();
}

KERNEL(contraction, Arguments) {
    const Arguments a = *record;
    SCALAR *const scratch = (SCALAR *)a.scratch;
    const auto room = [&](long thread) {
        SCALAR *const mine = scratch + a.room * thread;
        return Room{mine, mine + long(ROWS) * DEPTH, mine + long(ROWS) * (DEPTH + COLUMNS)};
    };
    if (threads == 1) {
        for (long item = 0; item < items; ++item) rows_of(a, item, room(0));
        return 0;
    }
#pragma omp parallel for schedule(static) num_threads(threads)
    for (long item = 0; item < items; ++item) rows_of(a, item, room(omp_get_thread_num()));
    return 0;
}
