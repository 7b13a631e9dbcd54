// The inner loop of direct_packs.h: a panel of rows meets a panel of columns. What comes next is asked for meanwhile.
#pragma once
#include "contractions/direct_packing.h"

constexpr int TERMS = 4; // of a turn of the loop, at each of which numbers are asked for

// ---- requests -------------------------------------------------------------------------------------------------------

// Cache lines of a factor that are read next, asked for from memory while the present ones are multiplied: at each turn
// of the loop over terms so few that the multiply-adds do not wait.
struct Ahead {
    const SCALAR *from;
    const long *term, *line, *end; // no two lines are in one cache line
    long terms;
    long term_step; // numbers of a cache line along the terms
    long turn;      // requests at a turn
    long of_panel;  // terms of a panel during which there are requests

    // The next request. asking: of_panel, or 0 after the last one.
    long k = 0, asking = 0;
    const SCALAR *first = nullptr;
    const long *next = nullptr;

    // panels: of rows and columns, during which all numbers are asked for. turns: of the loop over a panel's terms.
    POINT_FN Ahead(const SCALAR *from, const long *line, const long *term, long lines, long terms, long panels,
                   long turns)
        : from(from), term(term), terms(terms), term_step(terms >= LINE && side_by_side<LINE>(term) ? LINE : 1),
          turn(0), of_panel(0) {
        const long requests = lines * ((terms + term_step - 1) / term_step);
        const long panel = panels ? (requests + panels - 1) / panels : 0;
        turn = turns ? (panel + turns - 1) / turns : 0;
        of_panel = turn ? (panel + turn - 1) / turn * TERMS : 0;
        aim(line, lines);
    }

    // Other lines, at the same pace.
    POINT_FN void aim(const long *other, long count) {
        line = other;
        end = other + count;
        go_to(count ? 0 : terms);
    }
    POINT_FN void go_to(long other) {
        k = other;
        next = line;
        asking = k < terms ? of_panel : 0;
        if (asking) first = from + term[k];
    }

    // The requests of a turn.
    POINT_FN void ask() {
        for (long left = turn; left > 0; --left) {
            __builtin_prefetch(first + *next, 0, 2);
            if (__builtin_expect(++next != end, 1)) continue;

            go_to(k + term_step);
            if (!asking) return;
        }
    }
};

// Columns that are not packed, asked for before they are read: those of the next panel, or all columns of the next
// terms where a few of them meet all rows at once.
struct NextColumns {
    const long *column;
    long columns;
    bool of_terms;
    Ahead ahead;

    // During the panel that begins with column c.
    POINT_FN void aim(long c) {
        if (of_terms) return;
        const long *const next = column + c + COLUMNS;
        const long more = least(COLUMNS, columns - c - COLUMNS);
        ahead.aim(next, more == COLUMNS && side_by_side<COLUMNS>(next) ? 1 : more > 0 ? more : 0);
    }
    POINT_FN bool asks(long c) const { return of_terms ? !c : c + COLUMNS < columns; }
};

// Numbers of the output to which the sums of a panel go, asked for so that they are in the cache when the sums are
// there. With wide vectors they are asked for during the multiplication (direct_wide.h), few at a time: the loads of
// the factors wait for the same buffers. With others there is no time for that.
struct Expected {
    const SCALAR *out;
    const long *row, *column; // places of the panel's rows and columns; column nullptr: nothing is asked for

    POINT_FN explicit Expected(const SCALAR *out) : out(out), row(nullptr), column(nullptr) {}

    // Other rows and columns.
    POINT_FN void aim(const long *rows, const long *columns) {
        row = rows;
        column = columns;
        if (PACK_BYTES == 64 || !column) return;
        for (int c = 0; c < COLUMNS; ++c) {
            UNROLL
            for (int p = 0; p < PACKS; ++p) __builtin_prefetch(out + row[p * LANES] + column[c], 1, 3);
        }
    }
};

// Both. It stays in memory: the loop needs its registers.
struct Requests {
    Ahead *ahead = nullptr;
    Expected expected;

    POINT_FN explicit Requests(const SCALAR *out) : expected(out) {}

    // At term `now` of a panel.
    POINT_FN void ask(long now) {
        if (now < ahead->asking) ahead->ask();
    }
};

// ---- panels ---------------------------------------------------------------------------------------------------------

// Where the terms of packed panels begin.
template <int WIDTH> struct PackedTerms {
    long at[DEPTH];

    constexpr PackedTerms() : at() {
        for (int k = 0; k < DEPTH; ++k) at[k] = long(k) * WIDTH;
    }
};
constexpr PackedTerms<PANEL> ROW_TERMS;
constexpr PackedTerms<COLUMNS> COLUMN_TERMS;

// Packed rows.
struct PackedRows {
    const SCALAR *panel;

    POINT_FN Pack operator()(int p, long k) const { return load(panel + k * PANEL + p * LANES); }
};
// Rows of a panel at which its packs begin.
struct Begins {
    long of[PACKS];

    // packs: fewer than PACKS have numbers. last: row of the last one.
    POINT_FN explicit Begins(int packs = PACKS, long last = PANEL - LANES) {
        UNROLL
        for (int p = 0; p < PACKS; ++p) of[p] = p < packs - 1 ? p * LANES : last;
    }
};

// Rows as they lie, those of each pack side by side. They are packed on the way for the columns to come.
struct LyingRows {
    const SCALAR *pack[PACKS];
    const long *term;
    SCALAR *packed; // nullptr: they are not packed

    // place: of the panel's rows. begin: row at which each pack begins.
    POINT_FN LyingRows(const SCALAR *from, const long *place, const long *term, SCALAR *packed, const Begins &begin)
        : term(term), packed(packed) {
        UNROLL
        for (int p = 0; p < PACKS; ++p) pack[p] = from + place[begin.of[p]];
    }
    POINT_FN explicit LyingRows(const SCALAR *panel) : term(ROW_TERMS.at), packed(nullptr) {
        UNROLL
        for (int p = 0; p < PACKS; ++p) pack[p] = panel + p * LANES;
    }
    POINT_FN Pack operator()(int p, long k) const { return load(pack[p] + term[k]); }
};

// A panel of packed columns. at(k): the columns of term k.
struct PackedColumns {
    const SCALAR *panel;

    struct At {
        const SCALAR *first;

        POINT_FN SCALAR operator()(int c) const { return first[c]; }
    };
    POINT_FN At at(long k) const { return {panel + k * COLUMNS}; }
};
// Columns that lie evenly: so few registers have all places.
struct EvenColumns {
    const char *first;
    long step, thrice; // bytes from column to column
    const long *term;

    // Columns beyond the last one are the first one again; their sums are not stored.
    POINT_FN EvenColumns(const SCALAR *from, const long *place, long columns, const long *term)
        : first((const char *)(from + place[0])), step(columns < COLUMNS ? 0 : (place[1] - place[0]) * SIZE),
          thrice(3 * step), term(term) {}
    // Packed columns.
    POINT_FN explicit EvenColumns(const SCALAR *panel)
        : first((const char *)panel), step(SIZE), thrice(3 * SIZE), term(COLUMN_TERMS.at) {}

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

// ---- sums -----------------------------------------------------------------------------------------------------------

struct Sums {
    Pack sum[COLUMNS][PACKS];
};

// Numbers 0 to P COLUMNS - 1 of sums, P for each column. They are written out by the compiler's front end: so sums lie
// in registers at every level of optimisation.
template <int P> using EachSum = typename Count<P * COLUMNS>::type;
template <int P> using EachPack = typename Count<P>::type;

template <int... I> POINT_FN void pack_rows(const PackedRows &, const Pack *, long, Numbers<I...>) {}
template <int... I> POINT_FN void pack_rows(const LyingRows &rows, const Pack *row, long k, Numbers<I...>) {
    if (rows.packed) (store(rows.packed + k * PANEL + I * LANES, row[I]), ...);
}

// A term of the sums of the first P packs.
template <int P, class Rows, class Columns, int... I, int... S>
POINT_FN void add_term(Sums &s, const Rows &rows, const Columns &columns, long k, Numbers<I...> packs, Numbers<S...>) {
    const Pack row[P] = {rows(I, k)...};
    pack_rows(rows, row, k, packs);

    const auto column = columns.at(k);
    (add_product(s.sum[S / P][S % P], row[S % P], column(S / P) - Pack{}), ...);
}

// Of the first P packs of a panel. direct_wide.h has all of them for vectors of 64 bytes.
template <int P = PACKS, class Rows, class Columns>
POINT_FN Sums multiply(const Rows &rows, const Columns &columns, long terms, Requests &requests) {
    Sums s{};
    const auto add = [&](long k) __attribute__((always_inline)) {
        add_term<P>(s, rows, columns, k, EachPack<P>(), EachSum<P>());
    };

    long k = 0;
    for (; k + TERMS <= terms; k += TERMS) {
        requests.ask(k);
        _Pragma("GCC unroll 1") for (int i = 0; i < TERMS; ++i) add(k + i);
    }
    for (; k < terms; ++k) add(k);
    return s;
}

// The first P packs of each column, into tile[column][row].
template <int P, int... S> POINT_FN void keep(const Sums &s, SCALAR *tile, const Begins &begin, Numbers<S...>) {
    (store(tile + S / P * ROWS + begin.of[S % P], s.sum[S / P][S % P]), ...);
}
template <int P = PACKS> POINT_FN void keep(const Sums &s, SCALAR *tile, const Begins &begin = Begins()) {
    keep<P>(s, tile, begin, EachSum<P>());
}

// The sums of `packs` packs, fewer than a panel has, into tile[column][row].
template <int P = PACKS - 1>
POINT_FN void multiply_few(int packs, const LyingRows &rows, const EvenColumns &columns, long terms, Requests &requests,
                           SCALAR *tile, const Begins &begin) {
    if constexpr (P > 0) {
        if (packs == P) return keep<P>(multiply<P>(rows, columns, terms, requests), tile, begin);
        multiply_few<P - 1>(packs, rows, columns, terms, requests, tile, begin);
    }
}
