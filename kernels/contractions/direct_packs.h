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
// for tensors. direct_panels.h has the inner loop, direct_wide.h that of wide vectors, direct_stores.h
// what follows them, direct_whole.h both for panels of which nothing is left over.
#pragma once
#include "contractions/direct_stores.h"
// How columns lie that meet a block of rows.
enum Lie { IN_PLACE, TO_PACK, PACKED };
#if PACK_BYTES == 64
#include "contractions/direct_whole.h"
#endif
#ifdef _OPENMP
#include <omp.h>
#endif

// For more columns, rows are packed while they are multiplied as they lie.
constexpr int FEW_COLUMNS = PACK_BYTES == 64 ? 64 : 16;

// The most columns that are asked for a block of terms ahead.
constexpr int ASKED = 64;

// Rows of a pass where the output is written in short runs: panels of all vector units fit in.
constexpr int SHORT_PASS = 48;

// ---- items ----------------------------------------------------------------------------------------------------------

// A thread's memory for what it packs.
struct Room {
    SCALAR *rows;    // ROWS x DEPTH: a block
    SCALAR *tile;    // COLUMNS x ROWS, a pack before and one behind: sums whose rows lie apart
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
        out += x * a.out_step[d];
        left += x * a.left_step[d];
        right += x * a.right_step[d];
    }
    return {(const SCALAR *)a.left + left, (const SCALAR *)a.right + right, (SCALAR *)a.out + out};
}

// Terms and columns that meet a block of rows.
struct Part {
    long first_term, terms, first_column, columns;
    Lie lie;
};

// Packs of a panel that has so many rows.
POINT_FN int packs_of(long rows) { return rows < PANEL ? (rows + LANES - 1) / LANES : PACKS; }

POINT_FN bool packs_lie(const long *row_left, int packs) {
    for (int p = 0; p < packs; ++p)
        if (!side_by_side<LANES>(row_left + p * LANES)) return false;
    return true;
}

// Rows, from the first one on, whose packs lie side by side in the left factor: of whole panels, and those of the last
// panel if its last pack may have some of the rows before it.
POINT_FN long rows_that_lie(const long *row_left, long rows) {
    long r = 0;
    for (; r + PANEL <= rows; r += PANEL)
        if (!packs_lie(row_left + r, PACKS)) return r;

    const bool lie = rows >= LANES && packs_lie(row_left + r, (rows - r) / LANES);
    return lie && side_by_side<LANES>(row_left + rows - LANES) ? rows : r;
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
    long first, rows, lying; // the first row; how many there are; those that are multiplied as they lie
    Room room;
};

// Rows from `begin` of a block on, `rows` of them, meet all columns of a part. met: columns that they have met.
PART_FN void pass(const Arguments &a, const Block &b, long begin, long rows, long met, NextColumns &next_columns,
                  Ahead &next_rows) {
    const Part &part = b.part;
    const long *const row_left = (const long *)a.row_left + b.first + begin;
    const long *const row_out = (const long *)a.row_out + b.first + begin;
    const long *const column_right = (const long *)a.column_right + part.first_column;
    const long *const column_out = (const long *)a.column_out + part.first_column;
    const long *const term_left = (const long *)a.term_left + part.first_term;
    const long *const term_right = (const long *)a.term_right + part.first_term;

    const long terms = part.terms, turns = terms / TERMS;
    const SCALAR *const left = b.at.left;
    SCALAR *const packed = b.room.rows + begin * terms, *const tile = b.room.tile;
    // Rows that lie are packed while the first columns meet them.
    const bool packs = part.lie == IN_PLACE || part.columns > FEW_COLUMNS;
    const Store how = part.first_term ? ADDED : Store(a.store);
    const RowRuns runs(row_out, rows, rows % PANEL == 0 && part.columns % COLUMNS == 0 && how < SCALED);
    const long lying = b.lying < begin ? 0 : least(b.lying - begin, rows);

    // Columns that are not packed yet are asked for during the first panel of rows, the next rows during the others.
    Requests requests(b.at.out);
    keep_in_memory(requests);

    for (long c = met; c < part.columns; c += COLUMNS) {
        const long columns = least(COLUMNS, part.columns - c);
        const Target target(b.at.out, row_out, column_out + c, rows, columns, SCALAR(a.number), how, runs);
        if (part.lie != PACKED) next_columns.aim(c);
        target.expect_bands(runs);

        // The last columns as they lie, with some of those before them.
        const long again = part.columns < COLUMNS ? 0 : COLUMNS - columns, first = c - again;
        const bool in_place = part.lie == IN_PLACE && EvenColumns::serves(column_right + first, columns + again);
        SCALAR *const panel = b.room.columns + (part.lie == PACKED ? c * terms : 0);
        if (part.lie != PACKED && !in_place)
            Packing<COLUMNS>{panel, b.at.right, column_right + c, term_right, columns, terms}.all();

        const EvenColumns even =
            in_place ? EvenColumns(b.at.right, column_right + first, columns + again, term_right) : EvenColumns(panel);
        const long lie = !c || !packs ? lying : 0;
        const long at_once = target.from_registers() ? rows / PANEL * PANEL : 0;

        bool odd = false;
        for (long r = 0; r < rows; r += PANEL, odd = !odd) {
            requests.ahead = part.lie != PACKED && !r && next_columns.asks(c) ? &next_columns.ahead : &next_rows;
            if (how != PAST) requests.expected.aim(row_out + r, r < at_once && turns ? column_out + c : nullptr);

            // The last pack of a few that lie has some of the rows before it, too.
            const int some_packs = packs_of(rows - r);
            const bool overlaps = r < lying && rows - r < PANEL;
            const Begins begins = overlaps ? Begins(some_packs, rows - LANES - r) : Begins();

            SCALAR *const row_panel = packed + r * terms;
            const LyingRows some = r < lie
                                       ? LyingRows(left, row_left + r, term_left, packs ? row_panel : nullptr, begins)
                                       : LyingRows(row_panel);
            if (some_packs < PACKS) {
                multiply_few(some_packs, some, even, terms, requests, tile + r, begins);
                continue;
            }

            Sums s;
#if PACK_BYTES < 64
            if (r >= lie && !in_place) s = multiply(PackedRows{row_panel}, PackedColumns{panel}, terms, requests);
            else
#endif
                s = multiply(some, even, terms, requests);

            if (r < at_once) target.leave(s, r, odd, tile);
            else keep(s, tile + r, begins);
        }
        if (at_once < rows) target.settle(tile + (in_place ? again : 0) * ROWS, at_once, runs);
    }
}

// Whole panels of a block's rows meet whole panels of columns by the loop of direct_whole.h.
struct Met {
    long rows, columns; // that did
};
POINT_FN Met whole_panels(const Arguments &a, const Block &b, NextColumns &next_columns, Ahead &next_rows) {
#if PACK_BYTES == 64
    const Part &part = b.part;
    const bool plain = !part.first_term && a.store == PLAIN;
    const bool past = !part.first_term && a.store == PAST;
    const bool added = part.first_term && a.store <= PAST;
    const bool aligned = !((a.places | long((unsigned long)b.at.out / SIZE)) & (a.piece - 1));
    if (b.rows < PANEL || part.columns < COLUMNS || part.lie == IN_PLACE && !a.even) return {0, 0};

    WholePanels panels;
    panels.left = b.at.left;
    panels.right = b.at.right;
    panels.out = b.at.out;
    panels.row_left = (const long *)a.row_left + b.first;
    panels.row_out = (const long *)a.row_out + b.first;
    panels.column_right = (const long *)a.column_right + part.first_column;
    panels.column_out = (const long *)a.column_out + part.first_column;
    panels.term_left = (const long *)a.term_left + part.first_term;
    panels.term_right = (const long *)a.term_right + part.first_term;
    panels.rows = b.rows / PANEL * PANEL;
    panels.columns = part.columns / COLUMNS * COLUMNS;
    panels.terms = part.terms;
    panels.pass = a.pass == SHORT_PASS && part.lie == PACKED ? PANEL : a.pass;
    if (panels.rows == PANEL) panels.pass = PANEL;
    panels.lying = b.lying;
    panels.packs = part.lie == IN_PLACE || part.columns > FEW_COLUMNS;
    panels.lie = part.lie;
    panels.packed_rows = b.room.rows;
    panels.packed_columns = b.room.columns;

    if (past && aligned && a.piece == LANES) panels.meet<LANES, PAST>(next_columns, next_rows);
    else if (past && aligned && a.piece == HALF) panels.meet<HALF, PAST>(next_columns, next_rows);
    else if (plain && a.piece == LANES) panels.meet<LANES, PLAIN>(next_columns, next_rows);
    else if (added && a.piece == LANES) panels.meet<LANES, ADDED>(next_columns, next_rows);
    else return {0, 0};
    return {panels.rows, panels.columns};
#else
    return {0, 0};
#endif
}

// The columns that are asked for while a part's columns meet a block of rows. at_once: whether all rows meet them
// before the next ones do. line: room for ASKED of them.
POINT_FN NextColumns columns_after(const Arguments &a, const Turn &at, const Part &part, const Next &next, bool at_once,
                                   long *line) {
    const long *const column = (const long *)a.column_right + part.first_column;
    const long *const term = (const long *)a.term_right;
    const long turns = part.terms / TERMS;
    if (part.lie != IN_PLACE || next.term <= part.first_term || !at_once || part.columns <= COLUMNS ||
        part.columns > ASKED)
        return {column, part.columns, false,
                Ahead(at.right, column, term + part.first_term, COLUMNS, part.terms, 1, turns)};

    // Of those that lie side by side one of a cache line.
    long lines = 0;
    for (long c = 0; c < part.columns; ++c) {
        const long on = lines ? column[c] - line[lines - 1] : LINE;
        if (on < 0 || on >= LINE) line[lines++] = column[c];
    }
    return {column, part.columns, true, Ahead(at.right, line, term + next.term, lines, next.terms, 1, turns)};
}

PART_FN void block(const Arguments &a, Turn at, Part part, long first, long rows, Next next, Room room) {
    const long *const row_left = (const long *)a.row_left + first;
    const long *const term_left = (const long *)a.term_left + part.first_term;

    // Rows beyond those that are multiplied as they lie are packed.
    const long lying = a.rows_in_place ? rows_that_lie(row_left, rows) : 0;
    const Block b = {at, part, first, rows, lying, room};
    Packing<PANEL>{room.rows + lying * part.terms, at.left, row_left + lying, term_left, rows - lying, part.terms}
        .all();

    // What is read next: the next block of rows, or the next panel of columns where no other rows meet these columns.
    const long passes = (rows + a.pass - 1) / a.pass, column_panels = (part.columns + COLUMNS - 1) / COLUMNS;
    const long row_panels = (rows + PANEL - 1) / PANEL, turns = part.terms / TERMS;
    long lines[ASKED];
    NextColumns columns = columns_after(a, at, part, next, passes == 1, lines);
    const long with_columns = part.lie != PACKED ? passes * (columns.of_terms ? 1 : column_panels - 1) : 0;
    Ahead ahead(at.left, next.line, (const long *)a.term_left + next.term, next.lines, next.terms,
                row_panels * column_panels - with_columns, turns);

    // Whole panels, then the other columns, then the other rows.
    const Met met = whole_panels(a, b, columns, ahead);
    if (met.columns < part.columns)
        for (long r = 0; r < met.rows; r += a.pass)
            pass(a, b, r, least(a.pass, met.rows - r), met.columns, columns, ahead);
    for (long r = met.rows; r < rows; r += a.pass) pass(a, b, r, least(a.pass, rows - r), 0, columns, ahead);
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
        return Room{mine, mine + long(ROWS) * DEPTH + LINE, mine + long(ROWS) * (DEPTH + COLUMNS) + 2 * LINE};
    };
    if (threads == 1) {
        for (long item = 0; item < items; ++item) rows_of(a, item, room(0));
        return 0;
    }
#pragma omp parallel for schedule(static) num_threads(threads)
    for (long item = 0; item < items; ++item) rows_of(a, item, room(omp_get_thread_num()));
    return 0;
}
