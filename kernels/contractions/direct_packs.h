// The general product of two tensors on CPU vector units: out[m n] (+)= number sum over k of left[m k] right[k n].
//
// Rows, columns and terms of the sum are tables: where each lies in the arrays that have it. So the order of indices in
// memory is free, and one compiled source serves all extents. An item is some blocks of rows for one turn of the outer
// loops. A block's part of the left factor is packed for the second cache, DEPTH terms at a time. A panel of COLUMNS
// columns of the right factor is packed for the first cache and meets all panels of rows there; where an item has
// several blocks, a chunk of columns is packed before them.
//
// organisations/direct_host.py writes the constants in front of this file:
//   SCALAR             double or float
//   ROWS, DEPTH        rows of a block, a multiple of a panel; terms of the sum that are packed at a time
//
// How the output is stored is a number of the launch, not of the source: the compiler writes each part once.
//
// After K. Goto & R. van de Geijn, "Anatomy of high-performance matrix multiplication", ACM TOMS 34 (2008), with the
// copies of the packing made through tables; P. Springer & P. Bientinesi, ACM TOMS 44 (2018), do so for tensors.
#pragma once
#include <string.h>
#include "engine/numbers/kernel.h"
#include "contractions/transpose_packs.h"
#ifdef _OPENMP
#include <omp.h>
#endif

// A panel of rows has PACKS packs. Their sums with COLUMNS columns fill the registers.
constexpr int PACKS = 3, COLUMNS = PACK_BYTES == 64 ? 8 : 4;

// Terms of a turn of the loop, which then takes little beside the multiply-adds. They are unrolled where there are
// registers for the numbers of several terms.
constexpr int TERMS = 4;
#if PACK_BYTES == 64
#define UNROLL_TERMS UNROLL
#else
#define UNROLL_TERMS _Pragma("GCC unroll 1")
#endif

typedef SCALAR Pack __attribute__((vector_size(PACK_BYTES)));
constexpr int LANES = PACK_BYTES / sizeof(SCALAR), PANEL = PACKS * LANES;
constexpr int LINE = 64 / sizeof(SCALAR); // numbers of a cache line

POINT_FN Pack load(const SCALAR *from) {
    Pack x;
    memcpy(&x, from, sizeof(Pack));
    return x;
}
POINT_FN void store(SCALAR *to, Pack x) { memcpy(to, &x, sizeof(Pack)); }

// Past the caches. to: on a pack's boundary. The compilers' own builtins: the intrinsics' headers take longer to read
// than half of this to compile.
POINT_FN void stream(SCALAR *to, Pack x) {
#if defined(__clang__)
    __builtin_nontemporal_store(x, (Pack *)to);
#elif PACK_BYTES == 64
    typedef long long words __attribute__((vector_size(64)));
    __builtin_ia32_movntdq512((words *)to, (words)x);
#elif PACK_BYTES == 32
    typedef long long words __attribute__((vector_size(32)));
    __builtin_ia32_movntdq256((words *)to, (words)x);
#else
    store(to, x);
#endif
}
POINT_FN void end_of_streams() {
#ifdef __SSE2__
    __builtin_ia32_sfence();
#endif
}

POINT_FN long least(long a, long b) { return a < b ? a : b; }

// Whether COUNT numbers lie side by side.
template <int COUNT> POINT_FN bool side_by_side(const long *place) {
    for (int i = 1; i < COUNT; ++i)
        if (place[i] != place[0] + i) return false;
    return true;
}

// Neighbours that lie apart, but side by side with those `width` further on: depth x width of them.
struct Band {
    int width, depth; // 0: there is none

    // The band that begins a list of places. SIDE: of squares that are transposed, of which the width has several.
    template <int SIDE> POINT_FN static Band at(const long *place, long count, int depth) {
        for (int width = SIDE; width <= 4 * LINE && long(width) * depth <= count; width += SIDE)
            if (place[width] == place[0] + 1) return crossed(place, width, depth) ? Band{width, depth} : Band{0, 0};
        return {0, 0};
    }

    POINT_FN static bool crossed(const long *place, int width, int depth) {
        for (int q = 1; q < depth; ++q)
            for (int i = 0; i < width; ++i)
                if (place[q * width + i] != place[i] + q) return false;
        return true;
    }
};

// ---- packing --------------------------------------------------------------------------------------------------------

// Rows (or columns) of a factor, packed as panels of WIDTH lines: panels[line / WIDTH][term][line % WIDTH].
template <int WIDTH> struct Packing {
    SCALAR *panels;
    const SCALAR *from;
    const long *line, *term; // where lines and terms begin
    long lines, terms;

    // Lanes of a piece of a panel.
    static constexpr int PIECE = LANES < WIDTH ? LANES : WIDTH;
    typedef SCALAR Piece __attribute__((vector_size(PIECE * sizeof(SCALAR))));

    POINT_FN SCALAR *at(long l, long k) const { return panels + l / WIDTH * (WIDTH * terms) + k * WIDTH + l % WIDTH; }
    POINT_FN static Piece fetch(const SCALAR *from) {
        Piece x;
        memcpy(&x, from, sizeof(Piece));
        return x;
    }

    PART_FN void all() const {
        long l = 0;
        while (l + PIECE <= lines && l % WIDTH + PIECE <= WIDTH) {
            if (side_by_side<PIECE>(line + l)) {
                together(l);
                l += PIECE;
                continue;
            }
            const Band band = Band::at<PIECE>(line + l, lines - l, PIECE);
            for (int u = 0; u < band.width; u += PIECE) across(l + u, band.width);
            if (!band.width) apart(l);
            l += band.width ? band.width * PIECE : PIECE;
        }

        // The lines that are left, and zeros up to a whole panel.
        for (const long end = (lines + WIDTH - 1) / WIDTH * WIDTH; l < end; ++l)
            for (long k = 0; k < terms; ++k) *at(l, k) = l < lines ? from[line[l] + term[k]] : 0;
    }

    // Neighbours of a piece lie side by side.
    POINT_FN void together(long l) const {
        const SCALAR *const begin = from + line[l];
        SCALAR *const to = at(l, 0);
        for (long k = 0; k < terms; ++k) memcpy(to + k * WIDTH, begin + term[k], sizeof(Piece));
    }

    // A square of a band: lines l, l + width, ...
    POINT_FN void across(long l, long width) const {
        const SCALAR *begin[PIECE];
        SCALAR *to[PIECE];
        UNROLL
        for (int i = 0; i < PIECE; ++i) begin[i] = from + line[l + i], to[i] = at(l + i * width, 0);

        for (long k = 0; k < terms; ++k) {
            Piece x[PIECE];
            UNROLL
            for (int i = 0; i < PIECE; ++i) x[i] = fetch(begin[i] + term[k]);
            transpose<1, PIECE>(x);
            UNROLL
            for (int i = 0; i < PIECE; ++i) memcpy(to[i] + k * WIDTH, &x[i], sizeof(Piece));
        }
    }

    // Lines lie apart. Terms may lie side by side.
    POINT_FN void apart(long l) const {
        const SCALAR *begin[PIECE];
        UNROLL
        for (int i = 0; i < PIECE; ++i) begin[i] = from + line[l + i];
        SCALAR *const to = at(l, 0);

        long k = 0;
        while (k < terms) {
            if (k + PIECE <= terms && side_by_side<PIECE>(term + k)) {
                Piece x[PIECE];
                UNROLL
                for (int i = 0; i < PIECE; ++i) x[i] = fetch(begin[i] + term[k]);
                transpose<1, PIECE>(x);
                UNROLL
                for (int q = 0; q < PIECE; ++q) memcpy(to + (k + q) * WIDTH, &x[q], sizeof(Piece));
                k += PIECE;
                continue;
            }
            UNROLL
            for (int i = 0; i < PIECE; ++i) to[k * WIDTH + i] = begin[i][term[k]];
            ++k;
        }
    }
};

// Numbers of a factor that are read next, asked for from memory while the present ones are multiplied: at each turn of
// the loop over terms so few that the multiply-adds do not wait.
struct Ahead {
    const SCALAR *from;
    const long *line, *term;
    long lines, terms;
    long line_step, term_step; // numbers of a cache line along the lines or along the terms
    long l = 0, k = 0;         // the next request
    long panel = 0, turn = 0;  // requests during the sums of a panel, and at a turn
    long left = 0;             // of a panel

    // panels: of rows and columns, during which all numbers are asked for. turns: of the loop over a panel's terms.
    POINT_FN Ahead(const SCALAR *from, const long *line, const long *term, long lines, long terms, long panels,
                   long turns)
        : from(from), line(line), term(term), lines(lines), terms(terms) {
        line_step = lines >= LINE && side_by_side<LINE>(line) ? LINE : 1;
        term_step = line_step == 1 && terms >= LINE && side_by_side<LINE>(term) ? LINE : 1;
        const long requests = ((lines + line_step - 1) / line_step) * ((terms + term_step - 1) / term_step);
        panel = (requests + panels - 1) / panels;
        turn = turns ? (panel + turns - 1) / turns : 0;
    }

    POINT_FN void new_panel() { left = panel; }
    POINT_FN void ask() {
        if (left <= 0) return;
        left -= turn;
        for (long i = 0; i < turn && k < terms; ++i) {
            __builtin_prefetch(from + line[l] + term[k], 0, 2);
            l += line_step;
            if (l >= lines) l = 0, k += term_step;
        }
    }
};

// ---- a panel of rows and a panel of columns -------------------------------------------------------------------------

struct Sums {
    Pack sum[COLUMNS][PACKS];
};

// A panel of columns: packed, or as it lies.
struct PackedColumns {
    const SCALAR *panel;

    POINT_FN SCALAR operator()(int c, long k) const { return panel[k * COLUMNS + c]; }
};
struct ColumnsInPlace {
    const SCALAR *column[COLUMNS];
    const long *term;

    // Columns beyond the last one are the first one again; their sums are not stored.
    POINT_FN ColumnsInPlace(const SCALAR *from, const long *place, const long *term, long columns) : term(term) {
        UNROLL
        for (int c = 0; c < COLUMNS; ++c) column[c] = from + place[c < columns ? c : 0];
    }
    POINT_FN SCALAR operator()(int c, long k) const {
        long at = term[k];
        // Columns are loaded in this order: two at a time would need more registers than there are.
        __asm__ volatile("" : "+r"(at));
        return column[c][at];
    }
};

// A panel of rows: packed, or as it lies, where the rows of each pack lie side by side.
struct PackedRows {
    const SCALAR *panel;

    POINT_FN Pack operator()(int p, long k) const { return load(panel + k * PANEL + p * LANES); }
};
struct RowsInPlace {
    const SCALAR *pack[PACKS];
    const long *term;

    POINT_FN RowsInPlace(const SCALAR *from, const long *place, const long *term) : term(term) {
        UNROLL
        for (int p = 0; p < PACKS; ++p) pack[p] = from + place[p * LANES];
    }
    POINT_FN Pack operator()(int p, long k) const { return load(pack[p] + term[k]); }
};

template <class Rows, class Columns>
POINT_FN Sums multiply(const Rows &rows, const Columns &columns, long terms, Ahead &ahead) {
    Sums s;
    UNROLL
    for (int c = 0; c < COLUMNS; ++c) {
        UNROLL
        for (int p = 0; p < PACKS; ++p) s.sum[c][p] = Pack{};
    }

    const auto add = [&](long k) __attribute__((always_inline)) {
        Pack row[PACKS];
        UNROLL
        for (int p = 0; p < PACKS; ++p) row[p] = rows(p, k);
        UNROLL
        for (int c = 0; c < COLUMNS; ++c) {
            const SCALAR x = columns(c, k);
            UNROLL
            for (int p = 0; p < PACKS; ++p) s.sum[c][p] += row[p] * x;
        }
    };

    ahead.new_panel();
    long k = 0;
    for (; k + TERMS <= terms; k += TERMS) {
        ahead.ask();
        UNROLL_TERMS
        for (int i = 0; i < TERMS; ++i) add(k + i);
    }
    for (; k < terms; ++k) add(k);
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

// How sums are stored.
enum Store {
    PLAIN,  // as they are
    PAST,   // the same past the caches, for an output that is larger than they are
    SCALED, // times a number
    ADDED   // the same, added to what is there
};

// Where the results of a block of rows and a panel of columns go.
struct Target {
    SCALAR *out;
    const long *row, *column; // places in the output
    long rows, columns;       // that exist
    SCALAR number;
    Store how;

    POINT_FN void put(SCALAR *to, Pack x) const {
        if (how == PAST && (unsigned long)to % PACK_BYTES == 0) return stream(to, x);
        if (how >= SCALED) x = number * x;
        if (how == ADDED) x += load(to);
        store(to, x);
    }
    POINT_FN void put(SCALAR *to, SCALAR x) const {
        if (how >= SCALED) x = number * x;
        *to = how == ADDED ? *to + x : x;
    }

    // Asks for the numbers to which the sums of a panel go, so that they are in the cache when the sums are there.
    POINT_FN void expect(long r) const {
        if (how == PAST) return;
        UNROLL
        for (int p = 0; p < PACKS; ++p) {
            UNROLL
            for (int c = 0; c < COLUMNS; ++c) __builtin_prefetch(out + row[r + p * LANES] + column[c], 1, 3);
        }
    }

    // The sums of a whole panel whose packs lie side by side, from row r on.
    POINT_FN void leave(const Sums &s, long r) const {
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

    // The sums of other rows, from row `first` on, by tile[column][row]. whole: packs lie side by side. bands: that
    // begin at each pack of rows.
    PART_FN void settle(const SCALAR *tile, long first, bool whole, const Band *bands) const {
        for (int c = 0; c < least(COLUMNS, columns); ++c) {
            SCALAR *const to = out + column[c];
            const SCALAR *const sums = tile + c * ROWS;
            long r = first;
            for (; whole && r + LANES <= rows; r += LANES) put(to + row[r], load(sums + r));
            while (r < rows) {
                const Band band = whole ? Band{0, 0} : bands[r / LANES];
                for (int u = 0; u < band.width; u += LANES) {
                    if (band.depth == LINE) across<LINE / LANES>(to, sums + r + u, row + r + u, band.width);
                    else across<1>(to, sums + r + u, row + r + u, band.width);
                }
                if (band.width) r += band.width * band.depth;
                else
                    for (const long end = least(r + LANES, rows); r < end; ++r) put(to + row[r], sums[r]);
            }
        }
    }

    // Squares of sums to lines of the output, one line after the other. Packs that follow each other in a line are
    // `width` sums apart.
    template <int SQUARES> POINT_FN void across(SCALAR *to, const SCALAR *sums, const long *line, long width) const {
        Pack x[SQUARES][LANES];
        UNROLL
        for (int v = 0; v < SQUARES; ++v) {
            UNROLL
            for (int i = 0; i < LANES; ++i) x[v][i] = load(sums + (v * LANES + i) * width);
            transpose<1, LANES>(x[v]);
        }
        UNROLL
        for (int i = 0; i < LANES; ++i) {
            UNROLL
            for (int v = 0; v < SQUARES; ++v) put(to + line[i] + v * LANES, x[v][i]);
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

// Rows of the whole panels, from the first one on, whose packs lie side by side in the left factor.
POINT_FN long panels_in_place(const long *row_left, long rows) {
    long r = 0;
    for (; r + PANEL <= rows; r += PANEL)
        for (int p = 0; p < PACKS; ++p)
            if (!side_by_side<LANES>(row_left + r + p * LANES)) return r;
    return r;
}

// The block after a block: its first row and its first term, and how many there are.
struct Next {
    long row, rows, term, terms;
};

PART_FN void block(const Arguments &a, Turn at, Part part, long first, long rows, Next next, Room room) {
    const long *const row_left = (const long *)a.row_left + first, *const row_out = (const long *)a.row_out + first;
    const long *const column_right = (const long *)a.column_right + part.first_column;
    const long *const column_out = (const long *)a.column_out + part.first_column;
    const long *const term_left = (const long *)a.term_left + part.first_term;
    const long *const term_right = (const long *)a.term_right + part.first_term;

    // How packs of rows lie in the output.
    bool whole = true;
    for (long r = 0; r + LANES <= rows && whole; r += LANES) whole = side_by_side<LANES>(row_out + r);
    Band bands[ROWS / LANES + 1];
    for (long r = 0; r < rows && !whole; r += LANES) {
        const Band line = Band::at<LANES>(row_out + r, rows - r, LINE);
        bands[r / LANES] = line.width ? line : Band::at<LANES>(row_out + r, rows - r, LANES);
    }

    // Rows beyond those that are multiplied as they lie are packed. Where columns are not, all rows are.
    const long lying = a.rows_in_place && part.lie != IN_PLACE ? panels_in_place(row_left, rows) : 0;
    Packing<PANEL>{room.rows + lying * part.terms, at.left, row_left + lying, term_left, rows - lying, part.terms}
        .all();
    const Store how = part.first_term ? ADDED : Store(a.store);

    // What is read next: the next block of rows, or the next panel of columns where no other rows meet these columns.
    const long row_panels = (rows + PANEL - 1) / PANEL, column_panels = (part.columns + COLUMNS - 1) / COLUMNS;
    const long turns = part.terms / TERMS;
    Ahead ahead(at.left, (const long *)a.row_left + next.row, (const long *)a.term_left + next.term, next.rows,
                next.terms, row_panels * column_panels, turns);

    for (long c = 0; c < part.columns; c += COLUMNS) {
        const long columns = least(COLUMNS, part.columns - c);
        const Target target = {at.out, row_out, column_out + c, rows, columns, SCALAR(a.number), how};
        if (part.lie != PACKED)
            ahead = Ahead(at.right, column_right + c + columns, term_right, least(COLUMNS, part.columns - c - columns),
                          part.terms, row_panels, turns);

        // Whole panels go from registers to the output.
        const long at_once = whole && columns == COLUMNS ? rows / PANEL * PANEL : 0;
        const auto take = [&](const Sums &s, long r) __attribute__((always_inline)) {
            if (r < at_once) target.leave(s, r);
            else keep(s, room.tile + r);
        };
        const auto meet_packed = [&](const auto &panel) __attribute__((always_inline)) {
            for (long r = lying; r < rows; r += PANEL) {
                if (r < at_once) target.expect(r);
                take(multiply(PackedRows{room.rows + r * part.terms}, panel, part.terms, ahead), r);
            }
        };

        if (part.lie == IN_PLACE) meet_packed(ColumnsInPlace(at.right, column_right + c, term_right, columns));
        else {
            SCALAR *const panel = room.columns + (part.lie == PACKED ? c * part.terms : 0);
            if (part.lie == TO_PACK)
                Packing<COLUMNS>{panel, at.right, column_right + c, term_right, columns, part.terms}.all();
            for (long r = 0; r < lying; r += PANEL) {
                if (r < at_once) target.expect(r);
                const RowsInPlace row_panel(at.left, row_left + r, term_left);
                take(multiply(row_panel, PackedColumns{panel}, part.terms, ahead), r);
            }
            meet_packed(PackedColumns{panel});
        }
        if (at_once < rows) target.settle(room.tile, at_once, whole, bands);
    }
}

// The block after a block: of the rows that are left, or of an item's first rows with the next terms.
POINT_FN Next next_of(const Arguments &a, const Part &part, long first, long row, long end) {
    const long term = part.first_term + part.terms;
    if (row < end) return {row, least(a.block, end - row), part.first_term, part.terms};
    if (term < a.terms) return {first, least(a.block, end - first), term, least(DEPTH, a.terms - term)};
    return {0, 0, 0, 0};
}

// The rows of an item at a turn of the outer loops.
PART_FN void rows_of(const Arguments &a, long item, const Room &room) {
    const long parts = (a.rows + a.item_rows - 1) / a.item_rows;
    const long first = item % parts * a.item_rows, end = least(first + a.item_rows, a.rows);
    const Turn at = turn_of(a, item / parts);
    const long *const column_right = (const long *)a.column_right, *const term_right = (const long *)a.term_right;

    for (long c = 0; c < a.columns; c += a.chunk)
        for (long k = 0; k < a.terms; k += DEPTH) {
            const Lie lie = end - first > a.block ? PACKED : a.in_place ? IN_PLACE : TO_PACK;
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
