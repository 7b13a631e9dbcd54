// The end of direct_packs.h: sums of a panel of rows and a panel of columns go to the output.
#pragma once
#include "contractions/direct_panels.h"

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
    long places = 0;             // of all pieces, joined by `or`: whether they begin on a boundary
    int length[ROWS];            // of the run that a row begins
    Band band[ROWS / LANES + 1]; // that begins at each pack of rows, where there are no pieces

    // all_at_once: no sums go to the output by a tile if there are pieces.
    POINT_FN RowRuns(const long *row, long rows, bool all_at_once) : piece(LANES) {
        if (!in_pieces<LANES>(row, rows)) piece = HALF;
        if (piece == HALF && HALF < LANES && !in_pieces<HALF>(row, rows)) piece = LEAST_PIECE;
        if (piece == LEAST_PIECE && !in_pieces<LEAST_PIECE>(row, rows)) piece = 1;
        for (long r = 0; r < rows; r += piece) places |= row[r];
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

// Where the packs of a panel begin in the output, read once for all its columns.
struct Places {
    long of[PACKS];

    POINT_FN Places(const long *row) {
        UNROLL
        for (int p = 0; p < PACKS; ++p) of[p] = row[p * LANES];
    }
    POINT_FN long operator[](int p) const { return of[p]; }
};

// Where the results of a block of rows and a panel of columns go.
struct Target {
    SCALAR *out;
    const long *row, *column; // places in the output
    long rows, columns;       // that exist
    SCALAR number;
    Store how;
    int piece;    // rows that lie side by side
    bool streams; // whether sums of whole panels go past the caches, piece by piece

    POINT_FN Target(SCALAR *out, const long *row, const long *column, long rows, long columns, SCALAR number, Store how,
                    const RowRuns &runs)
        : out(out), row(row), column(column), rows(rows), columns(columns), number(number), how(how), piece(runs.piece),
          streams(false) {
        if (how != PAST || columns < COLUMNS || piece < HALF || HALF == LEAST_PIECE && piece == HALF) return;

        long places = runs.places | long((unsigned long)out / SIZE);
        UNROLL
        for (int c = 0; c < COLUMNS; ++c) places |= column[c];
        streams = !(places & (piece - 1));
    }

    // Of a whole panel whose sums go there from registers, past the caches only in whole pieces.
    POINT_FN Target(SCALAR *out, const long *row, const long *column, Store how, int piece)
        : out(out), row(row), column(column), rows(PANEL), columns(COLUMNS), number(1), how(how), piece(piece),
          streams(how == PAST) {}

    // Whether the sums of whole panels go from registers to the output.
    POINT_FN bool from_registers() const {
        return columns == COLUMNS && (piece == LANES || (piece > 1 && how < SCALED));
    }

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

    // Asks for the numbers of the bands of a block, whose sums go there after those of all its rows.
    POINT_FN void expect_bands(const RowRuns &runs) const {
        if (how == PAST || piece > 1) return;
        for (long r = 0; r < rows; r += LANES) {
            const Band band = runs.band[r / LANES];
            if (!band.width) continue;
            for (int c = 0; c < least(COLUMNS, columns); ++c)
                for (int i = 0; i < band.width; ++i) __builtin_prefetch(out + row[r + i] + column[c], 1, 3);
            r += long(band.width) * band.depth - LANES;
        }
    }

    // The sums of a whole panel, from row r on. odd: whether the number of panels before it is. half: room for packs.
    POINT_FN void leave(const Sums &s, long r, bool odd, SCALAR *half) const {
        if (streams && piece == LANES) return stream_packs(s, r, odd, half);
        if (streams) return stream_parts(s, r);
        if (piece == HALF && HALF < LANES) return leave_parts<HALF>(s, r);
        if (piece == LEAST_PIECE && LEAST_PIECE < LANES) return leave_parts<LEAST_PIECE>(s, r);
        if (how < SCALED) return leave_packs(s, r);
        UNROLL
        for (int c = 0; c < COLUMNS; ++c) {
            UNROLL
            for (int p = 0; p < PACKS; ++p) put<Pack>(out + column[c] + row[r + p * LANES], s.sum[c][p]);
        }
    }
    POINT_FN void leave_packs(const Sums &s, long r) const {
        const Places place(row + r);
        UNROLL
        for (int c = 0; c < COLUMNS; ++c) {
            SCALAR *const to = out + column[c];
            UNROLL
            for (int p = 0; p < PACKS; ++p) store(to + place[p], s.sum[c][p]);
        }
    }
    // Past the caches, pack by pack. A panel of narrow vectors has one and a half cache lines: the last pack of a panel
    // waits in `half` for the first one of the next, so that each line is written as a whole.
    POINT_FN void stream_packs(const Sums &s, long r, bool odd, SCALAR *half) const {
        if constexpr (LANES < LINE && PANEL % LINE) {
            if (odd && row[r] == row[r - 1] + 1) return stream_packs<false, true>(s, r, half);
            const bool more = !odd && r + 2 * PANEL <= rows;
            if (more && row[r + PANEL] == row[r + PANEL - 1] + 1) return stream_packs<true, false>(s, r, half);
        }
        stream_packs<false, false>(s, r, half);
    }
    // WAITS: the last packs do. WAITED: those of the panel before did.
    template <bool WAITS, bool WAITED> POINT_FN void stream_packs(const Sums &s, long r, SCALAR *half) const {
        const Places place(row + r);
        UNROLL
        for (int c = 0; c < COLUMNS; ++c) {
            SCALAR *const to = out + column[c];
            if (WAITED) stream(to + place[0] - LANES, load(half + c * LANES));
            UNROLL
            for (int p = 0; p < PACKS - WAITS; ++p) stream(to + place[p], s.sum[c][p]);
            if (WAITS) store(half + c * LANES, s.sum[c][PACKS - 1]);
        }
    }

    // Past the caches by halves of packs. The next column may go on in the same cache line.
    POINT_FN void stream_parts(const Sums &s, long r) const {
        UNROLL
        for (int c = 0; c < COLUMNS; ++c) stream_column<0>(s.sum[c], out + column[c], r);
    }
    template <int FIRST> POINT_FN void stream_column(const Pack (&sum)[PACKS], SCALAR *to, long r) const {
        if constexpr (FIRST < PANEL) {
            stream(to + row[r + FIRST], lanes_of<FIRST % LANES, HALF>(sum[FIRST / LANES]));
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
        typedef typename Count<SQUARES>::type Squares;
        typedef typename Count<SIDE * SQUARES>::type Packs;
        for (int u = 0; u < band.width; u += SIDE)
            across<SIDE, SQUARES>(to, sums + r + u, row + r + u, band.width, Squares(), Packs());
    }
    template <int SIDE, int SQUARES, int... V, int... I>
    POINT_FN void across(SCALAR *to, const SCALAR *sums, const long *line, long width, Numbers<V...>,
                         Numbers<I...>) const {
        const Square<SIDE> x[SQUARES] = {Square<SIDE>(sums + V * SIDE * width, width)...};
        (put(to + line[I / SQUARES] + I % SQUARES * SIDE, x[I % SQUARES].row[I / SQUARES]), ...);
    }
};
