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

// Rows of a pass where the output is written in short runs: panels of all vector units fit in.
constexpr int SHORT_PASS = 48;

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

// Terms and columns that meet a block of rows.
struct Part {
    long first_term, terms, first_column, columns;
    Lie lie;
};

// Rows of the whole panels, from the first one on, whose packs lie side by side in the left factor.
POINT_FN long panels_in_place(const long *row_left, long rows) {
    long r = 0;
    for (; r + PANEL <= rows; r += PANEL)
        for (int p = 0; p < PANEL; p += LANES)
            if (!side_by_side<LANES>(row_left + r + p)) return r;
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

// Rows from `begin` of a block on, `rows` of them, meet all columns of a part. met: columns that they have met.
PART_FN void pass(const Arguments &a, const Block &b, long begin, long rows, long met, Ahead &next_rows) {
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
    Ahead next_columns(b.at.right, column_right, term_right, COLUMNS, terms, 1, turns);
    Requests requests(b.at.out);
    keep_in_memory(requests);

    for (long c = met; c < part.columns; c += COLUMNS) {
        const long columns = least(COLUMNS, part.columns - c);
        const Target target(b.at.out, row_out, column_out + c, rows, columns, SCALAR(a.number), how, runs);
        if (part.lie != PACKED) {
            // The columns of the next panel.
            const long *const next = column_right + c + columns;
            const long more = least(COLUMNS, part.columns - c - columns);
            next_columns.aim(next, more == COLUMNS && side_by_side<COLUMNS>(next) ? 1 : more);
        }

        target.expect_bands(runs);

        const bool in_place = part.lie == IN_PLACE && EvenColumns::serves(column_right + c, columns);
        SCALAR *const panel = b.room.columns + (part.lie == PACKED ? c * terms : 0);
        if (part.lie != PACKED && !in_place)
            Packing<COLUMNS>{panel, b.at.right, column_right + c, term_right, columns, terms}.all();

        const EvenColumns even =
            in_place ? EvenColumns(b.at.right, column_right + c, columns, term_right) : EvenColumns(panel);
        const long lie = !c || !packs ? lying : 0;
        const long at_once = target.from_registers() ? rows / PANEL * PANEL : 0;

        bool odd = false;
        for (long r = 0; r < rows; r += PANEL, odd = !odd) {
            requests.ahead = part.lie != PACKED && !r ? &next_columns : &next_rows;
            if (how != PAST) requests.expected.aim(row_out + r, r < at_once && turns ? column_out + c : nullptr);

            SCALAR *const row_panel = packed + r * terms;
            Sums s;
            const LyingRows some =
                r < lie ? LyingRows(left, row_left + r, term_left, packs ? row_panel : nullptr) : LyingRows(row_panel);
#if PACK_BYTES < 64
            if (r >= lie && !in_place) s = multiply(PackedRows{row_panel}, PackedColumns{panel}, terms, requests);
            else
#endif
                s = multiply(some, even, terms, requests);

            if (r < at_once) target.leave(s, r, odd, tile);
            else keep(s, tile + r);
        }
        if (at_once < rows) target.settle(tile, at_once, runs);
    }
}

// Whole panels of a block's rows meet whole panels of columns by the loop of direct_whole.h.
struct Met {
    long rows, columns; // that did
};
POINT_FN Met whole_panels(const Arguments &a, const Block &b, Ahead &next_rows) {
#if PACK_BYTES == 64
    const Part &part = b.part;
    const bool plain = !part.first_term && a.store == PLAIN, past = !part.first_term && a.store == PAST;
    const bool added = part.first_term && a.store <= PAST;
    const bool aligned = !((a.places | long((unsigned long)b.at.out / SIZE)) & (a.piece - 1));
    if (b.rows < PANEL || part.columns < COLUMNS || part.lie == IN_PLACE && !a.even) return {0, 0};

    WholePanels panels;
    panels.left = b.at.left, panels.right = b.at.right, panels.out = b.at.out;
    panels.row_left = (const long *)a.row_left + b.first;
    panels.row_out = (const long *)a.row_out + b.first;
    panels.column_right = (const long *)a.column_right + part.first_column;
    panels.column_out = (const long *)a.column_out + part.first_column;
    panels.term_left = (const long *)a.term_left + part.first_term;
    panels.term_right = (const long *)a.term_right + part.first_term;
    panels.rows = b.rows / PANEL * PANEL, panels.columns = part.columns / COLUMNS * COLUMNS;
    panels.terms = part.terms;
    panels.pass = a.pass == SHORT_PASS && part.lie == PACKED ? PANEL : a.pass;
    if (panels.rows == PANEL) panels.pass = PANEL;
    panels.lying = b.lying;
    panels.packs = part.lie == IN_PLACE || part.columns > FEW_COLUMNS;
    panels.lie = part.lie;
    panels.packed_rows = b.room.rows, panels.packed_columns = b.room.columns;

    Ahead next_columns(b.at.right, panels.column_right, panels.term_right, COLUMNS, part.terms, 1, part.terms / TERMS);
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

PART_FN void block(const Arguments &a, Turn at, Part part, long first, long rows, Next next, Room room) {
    const long *const row_left = (const long *)a.row_left + first;
    const long *const term_left = (const long *)a.term_left + part.first_term;

    // Rows beyond those that are multiplied as they lie are packed.
    const long lying = a.rows_in_place ? panels_in_place(row_left, rows) : 0;
    const Block b = {at, part, first, rows, lying, room};
    Packing<PANEL>{room.rows + lying * part.terms, at.left, row_left + lying, term_left, rows - lying, part.terms}
        .all();

    // What is read next: the next block of rows, or the next panel of columns where no other rows meet these columns.
    const long passes = (rows + a.pass - 1) / a.pass, column_panels = (part.columns + COLUMNS - 1) / COLUMNS;
    const long row_panels = (rows + PANEL - 1) / PANEL - (part.lie != PACKED ? passes : 0);
    Ahead ahead(at.left, next.line, (const long *)a.term_left + next.term, row_panels ? next.lines : 0, next.terms,
                row_panels * column_panels, part.terms / TERMS);

    // Whole panels, then the other columns, then the other rows.
    const Met met = whole_panels(a, b, ahead);
    if (met.columns < part.columns)
        for (long r = 0; r < met.rows; r += a.pass) pass(a, b, r, least(a.pass, met.rows - r), met.columns, ahead);
    for (long r = met.rows; r < rows; r += a.pass) pass(a, b, r, least(a.pass, rows - r), 0, ahead);
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
