// The general product of two tensors: out[m n] (+)= number sum over k of left[m k] right[k n], for each batch.
//
// Every group of indices (m, n, k, batch) is a list of digits, the first one running fastest; extents and steps are
// known at run time. A block has a tile of ROWS x COLUMNS numbers of the output. DEPTH terms of the sum at a time are
// copied into shared memory, STAGES copies ahead; a warp multiplies 16 x 8 numbers at a time on the matrix units. The
// finished tile goes through shared memory, so that neighbouring lanes write neighbouring numbers of the output.
//
// organisations/direct.py writes the constants in front of this file:
//   WARPS_M, WARPS_N          warps of a block, along rows and along columns
//   TILES_M, TILES_N          tiles of 16 rows and of 8 columns of a warp
//   DEPTH, STAGES, BLOCKS     BLOCKS: resident on a multiprocessor, which bounds the registers
//   LEFT_ALONG, RIGHT_ALONG   whether a factor runs along the sum in shared memory; else along rows or columns
//   LEFT_WIDE, RIGHT_WIDE     neighbouring numbers of a copy
//   OUT_ROWS, OUT_WIDE        whether the output runs along rows; neighbouring numbers of a store
//   ROWS_RAGGED, COLUMNS_RAGGED  whether digits of rows or columns have weights
//   ADDS                      whether the output's old value is added
//   PARTS                     parts of the sum, by different blocks; with more than one `contraction_sum` adds them up
//   HOLDS                     HOLDS_LEFT or HOLDS_RIGHT: a block works on tile after tile that have this factor in
//                             common, which stays in shared memory, and copies the other factor of the next tile
//                             meanwhile; a sum then has one step. HOLDS_NOTHING: a block has a tile
#pragma once
#include "engine/numbers/launch.h"
#include "engine/numbers/multiply_add.h"

extern __shared__ double shared_memory[];

static_assert(STAGES > 1, "a step is copied while another one is multiplied");
static_assert(HOLDS == HOLDS_NOTHING || PARTS == 1, "a block that holds a factor has whole sums");

constexpr int WARPS = WARPS_M * WARPS_N;
constexpr int THREADS = 32 * WARPS;
constexpr int ROWS = 16 * TILES_M * WARPS_M;
constexpr int COLUMNS = 8 * TILES_N * WARPS_N;
constexpr int SIZE = sizeof(scalar);
constexpr int APART = 16 / SIZE; // between lines: quarters of a warp then meet different banks
constexpr int GROUP = 8;         // tiles of rows that share a tile of columns in the cache

template <bool ALONG, int LINES> constexpr int STAGE = ALONG ? LINES * DEPTH : DEPTH * (LINES + APART);
constexpr int LEFT_STAGE = STAGE<LEFT_ALONG, ROWS>, RIGHT_STAGE = STAGE<RIGHT_ALONG, COLUMNS>;

constexpr int FAST = OUT_ROWS ? ROWS : COLUMNS;
constexpr int SLOW = OUT_ROWS ? COLUMNS : ROWS;
constexpr int PITCH = FAST + APART;
constexpr int TILE = SLOW * PITCH;

// Shared memory: the copies, then the finished tile, which takes the place of the copies where a block has one tile.
constexpr bool HOLDS_ANY = HOLDS != HOLDS_NOTHING;
constexpr int HELD = HOLDS == HOLDS_LEFT ? LEFT_STAGE : RIGHT_STAGE;
constexpr int PASSING = LEFT_STAGE + RIGHT_STAGE - HELD;
constexpr int COPIES = HOLDS_ANY ? HELD + 2 * PASSING : STAGES * (LEFT_STAGE + RIGHT_STAGE);
constexpr int FINISHED = HOLDS_ANY ? COPIES : 0;
constexpr int NUMBERS = FINISHED + (!HOLDS_ANY && COPIES > TILE ? COPIES : TILE); // before the tables
constexpr int SETS = HOLDS_ANY ? 3 : 1; // of tables: of the tile whose last numbers leave, of this and of the next one

constexpr int MOST_DIGITS = 8;
constexpr int OUTSIDE = -1; // the place of a line beyond the edge

// ---- copies into shared memory --------------------------------------------------------------------------------------

// N neighbouring numbers into shared memory; zeros if they are not inside. They are there after `copied` and a barrier.
template <int N> POINT_FN void copy(scalar *to, const scalar *from, bool inside) {
#ifdef FRAME_STAND_IN
    if ((unsigned long)to % (N * SIZE) || (inside && (unsigned long)from % (N * SIZE))) __builtin_trap();
    for (int i = 0; i < N; ++i) to[i] = inside ? from[i] : 0;
#else
    const unsigned at = (unsigned)__cvta_generic_to_shared(to);
    const int bytes = inside ? N * SIZE : 0;
    if constexpr (N * SIZE == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(bytes) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(at), "l"(from), "n"(N * SIZE), "r"(bytes)
                     : "memory");
#endif
}

// The copies since the last call are a group.
POINT_FN void copies_end() {
#ifndef FRAME_STAND_IN
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until at most LEFT groups of copies of this thread are under way.
template <int LEFT> POINT_FN void copied() {
#ifndef FRAME_STAND_IN
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
#endif
}

// Where number k of a line lies that runs along the sum: parts of a line change places, so that eight lanes of a warp
// meet all banks. With an odd number of parts they do so anyway.
POINT_FN int along(int line, int k) {
    constexpr int LINE = DEPTH * SIZE;
    constexpr int PART = 8 * SIZE; // bytes
    constexpr int PARTS_OF_LINE = LINE / PART;
    constexpr int LINES_OF_BANKS = LINE < 128 ? 128 / LINE : 1;
    constexpr int PLACES = PARTS_OF_LINE & -PARTS_OF_LINE; // a power of two
    const int turn = line / LINES_OF_BANKS % PLACES;
    return line * DEPTH + (k ^ turn * 8);
}

// The copies of a factor, of LINES rows or columns: what a thread copies at each step.
template <bool ALONG, int LINES, int WIDE, int FACTOR> struct Copies {
    static constexpr int FASTEST = (ALONG ? DEPTH : LINES) / WIDE;
    static constexpr int ALL = LINES * DEPTH / WIDE;
    static constexpr int TURNS = (ALL + THREADS - 1) / THREADS;
    static constexpr bool WHOLE = ALL % THREADS == 0;
    static constexpr bool SAME = THREADS % FASTEST == 0;
    static constexpr int LINES_OF_THREAD = !ALONG && SAME ? 1 : TURNS;
    static constexpr bool KEPT = LINES_OF_THREAD <= 4; // where lines begin stays in registers

    const scalar *base;
    const int *table;                     // where each line begins, or OUTSIDE
    int line[KEPT ? LINES_OF_THREAD : 1]; // the same of the thread's lines

    // The line and the term of copy v.
    static POINT_FN int line_of(int v) { return ALONG ? v / FASTEST : v % FASTEST * WIDE; }
    static POINT_FN int term_of(int v) { return ALONG ? v % FASTEST * WIDE : v / FASTEST; }

    POINT_FN void begin(const scalar *at, const int *lines) {
        base = at;
        table = lines;
        UNROLL
        for (int i = 0; KEPT && i < LINES_OF_THREAD; ++i) {
            const int v = threadIdx.x + i * THREADS;
            line[i] = WHOLE || v < ALL ? lines[line_of(v)] : OUTSIDE;
        }
    }

    // terms: where each term of the sum lies, in both factors. All places are read before the first copy.
    POINT_FN void ask(scalar *stage, const int *terms) const {
        constexpr int TERMS = ALONG && SAME ? 1 : TURNS;
        int term[TERMS], from[TURNS];
        UNROLL
        for (int i = 0; i < TERMS; ++i) {
            const int v = threadIdx.x + i * THREADS;
            term[i] = WHOLE || v < ALL ? terms[2 * term_of(v) + FACTOR] : OUTSIDE;
        }
        UNROLL
        for (int i = 0; i < TURNS; ++i) {
            const int v = threadIdx.x + i * THREADS;
            const int along_sum = term[TERMS == 1 ? 0 : i];
            const int begin =
                KEPT ? line[LINES_OF_THREAD == 1 || !KEPT ? 0 : i] : table[WHOLE || v < ALL ? line_of(v) : 0];
            from[i] = begin >= 0 && along_sum >= 0 ? begin + along_sum : OUTSIDE;
        }

        UNROLL
        for (int i = 0; i < TURNS; ++i) {
            const int v = threadIdx.x + i * THREADS;
            const int k = term_of(v);
            const int l = line_of(v);
            if (!WHOLE && v >= ALL) break;
            const bool inside = from[i] >= 0;
            copy<WIDE>(stage + (ALONG ? along(l, k) : k * (LINES + APART) + l), base + (inside ? from[i] : 0), inside);
        }
    }
};

using LeftCopies = Copies<LEFT_ALONG, ROWS, LEFT_WIDE, 0>;
using RightCopies = Copies<RIGHT_ALONG, COLUMNS, RIGHT_WIDE, 1>;

// ---- digits ---------------------------------------------------------------------------------------------------------

// number / extent, for 0 <= number < 2^31, by a product with the reciprocal that organisations/direct.py wrote: a
// division takes some 20 instructions.
POINT_FN int quotient(int number, long reciprocal, long shift) {
    const unsigned high = unsigned((unsigned long long)unsigned(number) * unsigned(reciprocal) >> 32);
    return int((high + unsigned(number)) >> int(shift));
}

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

// ---- a warp's numbers -----------------------------------------------------------------------------------------------

// The row of a lane's numbers: `half` 0 or 1 of tile t. The column: number j of tile t.
POINT_FN int row_of(int t, int half, int lane) {
    return 16 * t + (LEFT_ALONG ? (lane >> 2) + 8 * half : 2 * (lane >> 2) + half);
}
POINT_FN int column_of(int t, int j) {
    if (RIGHT_ALONG || (TILES_N % 2 && t == TILES_N - 1)) return 8 * t + j;
    return 16 * (t / 2) + 2 * j + t % 2;
}

struct alignas(2 * sizeof(scalar)) Both {
    scalar x, y;
};

// What a warp multiplies at a time: eight terms of the sum. A lane has terms 2 c and 2 c + 1, c = lane % 4.
struct Fragments {
    scalar left[TILES_M][2][2], right[TILES_N][2];

    POINT_FN void take(const scalar *rows, const scalar *columns, int first_row, int first_column, int k0, int lane) {
        const int r = lane >> 2;
        const int k = k0 + 2 * (lane & 3);
        UNROLL
        for (int t = 0; t < TILES_M; ++t) {
            UNROLL
            for (int i = 0; i < 2; ++i) {
                if constexpr (LEFT_ALONG) {
                    const Both both = *(const Both *)(rows + along(first_row + 16 * t + r + 8 * i, k));
                    left[t][0][i] = both.x;
                    left[t][1][i] = both.y;
                } else {
                    const Both both = *(const Both *)(rows + (k + i) * (ROWS + APART) + first_row + 16 * t + 2 * r);
                    left[t][i][0] = both.x;
                    left[t][i][1] = both.y;
                }
            }
        }

        if constexpr (RIGHT_ALONG) {
            UNROLL
            for (int t = 0; t < TILES_N; ++t) {
                const Both both = *(const Both *)(columns + along(first_column + 8 * t + r, k));
                right[t][0] = both.x;
                right[t][1] = both.y;
            }
        } else {
            UNROLL
            for (int i = 0; i < 2; ++i) {
                const scalar *const line = columns + (k + i) * (COLUMNS + APART) + first_column;
                UNROLL
                for (int t = 0; t < TILES_N / 2 * 2; t += 2) {
                    const Both both = *(const Both *)(line + 8 * t + 2 * r);
                    right[t][i] = both.x;
                    right[t + 1][i] = both.y;
                }
                if (TILES_N % 2) right[TILES_N - 1][i] = line[8 * (TILES_N - 1) + r];
            }
        }
    }

    POINT_FN void multiply(scalar (&sum)[TILES_M][TILES_N][4]) const {
        UNROLL
        for (int m = 0; m < TILES_M; ++m) {
            UNROLL
            for (int n = 0; n < TILES_N; ++n) multiply_add<2>(sum[m][n], left[m], right[n]);
        }
    }
};

// ---- the finished tile ----------------------------------------------------------------------------------------------

template <int N> struct alignas(N * sizeof(scalar)) Near {
    scalar v[N];
};

// OUT_WIDE neighbours of the finished tile to their place in the output; nowhere if there is none.
POINT_FN void put(scalar *out, int to_fast, int to_slow, Near<OUT_WIDE> some) {
    if (to_fast < 0 || to_slow < 0) return;
    Near<OUT_WIDE> *const to = (Near<OUT_WIDE> *)(out + (to_slow + to_fast));
    if (ADDS) {
        const Near<OUT_WIDE> old = *to;
        UNROLL
        for (int i = 0; i < OUT_WIDE; ++i) some.v[i] = old.v[i] + some.v[i];
    }
    *to = some;
}
POINT_FN void put(const Tables &t, scalar *out, int fast, int slow, Near<OUT_WIDE> some) {
    put(out, (OUT_ROWS ? t.row_to : t.column_to)[fast], (OUT_ROWS ? t.column_to : t.row_to)[slow], some);
}

// The finished tile to the output, or to the memory of the parts of sums.
POINT_FN void leave(const Tables &t, scalar *out, const scalar *tile) {
    constexpr int LINE = FAST / OUT_WIDE;
    if constexpr (THREADS % LINE == 0 && SLOW % (THREADS / LINE) == 0) { // a thread has the same place in all its lines
        const int fast = threadIdx.x % LINE * OUT_WIDE;
        const int first = threadIdx.x / LINE;
        const int to_fast = (OUT_ROWS ? t.row_to : t.column_to)[fast];
        const int *const slow_to = (OUT_ROWS ? t.column_to : t.row_to) + first;
        const scalar *const from = tile + first * PITCH + fast;
        if (to_fast < 0) return;
        UNROLL_BY(4)
        for (int slow = 0; slow < SLOW; slow += THREADS / LINE)
            put(out, to_fast, slow_to[slow], *(const Near<OUT_WIDE> *)(from + slow * PITCH));
        return;
    }
    for (int v = threadIdx.x; v < SLOW * LINE; v += THREADS) {
        const int fast = v % LINE * OUT_WIDE;
        const int slow = v / LINE;
        put(t, out, fast, slow, *(const Near<OUT_WIDE> *)(tile + slow * PITCH + fast));
    }
}
POINT_FN void leave_part(scalar *part, const scalar *tile) {
    constexpr int LINE = FAST / OUT_WIDE;
    for (int v = threadIdx.x; v < SLOW * LINE; v += THREADS)
        ((Near<OUT_WIDE> *)part)[v] = *(const Near<OUT_WIDE> *)(tile + v / LINE * PITCH + v % LINE * OUT_WIDE);
}

// The sums of a warp, number by number in the finished tile.
POINT_FN void finish(const scalar (&sum)[TILES_M][TILES_N][4], const Tables &t, scalar number, scalar *tile,
                     int first_row, int first_column, int lane) {
    UNROLL
    for (int m = 0; m < TILES_M; ++m) {
        UNROLL
        for (int half = 0; half < 2; ++half) {
            const int row = t.row_spot[first_row + row_of(m, half, lane)];
            UNROLL
            for (int n = 0; n < TILES_N; ++n) {
                UNROLL
                for (int i = 0; i < 2; ++i) {
                    const int column = t.column_spot[first_column + column_of(n, 2 * (lane & 3) + i)];
                    tile[row + column] = number * sum[m][n][2 * half + i];
                }
            }
        }
    }
}

// A warp's sums: adds DEPTH terms of all its numbers.
struct Sums {
    scalar number[TILES_M][TILES_N][4];

    POINT_FN void clear() {
        UNROLL
        for (int m = 0; m < TILES_M; ++m) {
            UNROLL
            for (int n = 0; n < TILES_N; ++n) {
                UNROLL
                for (int i = 0; i < 4; ++i) number[m][n][i] = 0;
            }
        }
    }

    POINT_FN void add(const scalar *rows, const scalar *columns, int first_row, int first_column, int lane) {
        Fragments some[2];
        some[0].take(rows, columns, first_row, first_column, 0, lane);
        UNROLL
        for (int k = 0; k < DEPTH; k += 8) {
            if (k + 8 < DEPTH) some[(k / 8 + 1) % 2].take(rows, columns, first_row, first_column, k + 8, lane);
            some[k / 8 % 2].multiply(number);
        }
    }
};

// A block for a tile, or for a part of its sum.
POINT_FN void one_tile(const Arguments &a) {
    scalar *const numbers = (scalar *)shared_memory;
    const int lane = threadIdx.x & 31;
    const int warp = threadIdx.x >> 5;
    const int first_row = warp / WARPS_N * 16 * TILES_M;
    const int first_column = warp % WARPS_N * 8 * TILES_N;

    const Place place = place_of(a, int(blockIdx.x));
    const Tables t = tables();
    fill(a, place, t);
    __syncthreads();

    // The terms of this part of the sum, DEPTH at a time.
    const int steps = int(a.steps);
    const int first = PARTS > 1 ? int(long(steps) * blockIdx.y / PARTS) : 0;
    const int turns = (PARTS > 1 ? int(long(steps) * (blockIdx.y + 1) / PARTS) : steps) - first;
    const int *const terms = (const int *)a.at_terms + 2L * DEPTH * first;
    LeftCopies left;
    RightCopies right;
    left.begin(place.left, t.row_from);
    right.begin(place.right, t.column_from);

    const auto ask = [&](int turn) {
        if (turn < turns) {
            scalar *const stage = numbers + turn % STAGES * (LEFT_STAGE + RIGHT_STAGE);
            left.ask(stage, terms + 2 * DEPTH * turn);
            right.ask(stage + LEFT_STAGE, terms + 2 * DEPTH * turn);
        }
        copies_end();
    };
    for (int turn = 0; turn < STAGES - 1; ++turn) ask(turn);

    // Multiply what has come; ask for what comes STAGES - 1 turns later.
    Sums sums;
    sums.clear();
    for (int turn = 0; turn < turns; ++turn) {
        copied<STAGES - 2>();
        __syncthreads();
        ask(turn + STAGES - 1);

        const scalar *const rows = numbers + turn % STAGES * (LEFT_STAGE + RIGHT_STAGE);
        sums.add(rows, rows + LEFT_STAGE, first_row, first_column, lane);
    }
    copied<0>();
    __syncthreads();

    // The tile, in the order of the output.
    finish(sums.number, t, scalar(a.number), numbers, first_row, first_column, lane);
    __syncthreads();
    if constexpr (PARTS == 1) leave(t, place.out, numbers);
    else leave_part((scalar *)a.at_parts + (blockIdx.y * (long)gridDim.x + blockIdx.x) * (ROWS * COLUMNS), numbers);
}

// A block for its share of all tiles. The factor that it holds is copied again where a tile has other numbers of it.
POINT_FN void tile_after_tile(const Arguments &a, long tiles) {
    scalar *const held = (scalar *)shared_memory, *const passing = held + HELD, *const finished = held + FINISHED;
    const int lane = threadIdx.x & 31;
    const int warp = threadIdx.x >> 5;
    const int first_row = warp / WARPS_N * 16 * TILES_M;
    const int first_column = warp % WARPS_N * 8 * TILES_N;
    constexpr bool LEFT_HELD = HOLDS == HOLDS_LEFT;

    const int *const terms = (const int *)a.at_terms;
    const auto ask_left = [&](const Place &place, const Tables &t, scalar *to) {
        LeftCopies left;
        left.begin(place.left, t.row_from);
        left.ask(to, terms);
    };
    const auto ask_right = [&](const Place &place, const Tables &t, scalar *to) {
        RightCopies right;
        right.begin(place.right, t.column_from);
        right.ask(to, terms);
    };
    const auto ask_held = [&](const Place &place, const Tables &t) {
        if constexpr (LEFT_HELD) ask_left(place, t, held);
        else ask_right(place, t, held);
    };
    const auto ask_passing = [&](const Place &place, const Tables &t, scalar *to) {
        if constexpr (LEFT_HELD) ask_right(place, t, to);
        else ask_left(place, t, to);
    };
    const auto same_held = [&](const Place &one, const Place &other) {
        return LEFT_HELD ? one.left == other.left && one.row == other.row
                         : one.right == other.right && one.column == other.column;
    };

    // The first tile of the share.
    const int first = int(tiles * blockIdx.x / gridDim.x);
    const int behind = int(tiles * (blockIdx.x + 1) / gridDim.x);
    Place place = place_of(a, first);
    fill(a, place, tables());
    __syncthreads();
    ask_held(place, tables());
    ask_passing(place, tables(), passing);
    copies_end();

    for (int number = first, set = 0; number < behind; ++number, set = (set + 1) % SETS) {
        const Tables t = tables(set), t_next = tables((set + 1) % SETS);
        const bool more = number + 1 < behind;
        Place next = place;
        if (more) {
            next = place_of(a, number + 1);
            fill(a, next, t_next);
        }

        // All is there, the tables of the next tile too, and nobody reads what the next copies overwrite.
        scalar *const stage = passing + (number - first) % 2 * PASSING;
        copied<0>();
        __syncthreads();
        if (more) ask_passing(next, t_next, passing + (number + 1 - first) % 2 * PASSING);
        copies_end();

        Sums sums;
        sums.clear();
        sums.add(LEFT_HELD ? held : stage, LEFT_HELD ? stage : held, first_row, first_column, lane);
        finish(sums.number, t, scalar(a.number), finished, first_row, first_column, lane);
        __syncthreads();
        if (more && !same_held(place, next)) {
            ask_held(next, t_next);
            copies_end();
        }
        leave(t, place.out, finished);
        place = next;
    }
}

KERNEL(contraction, Arguments, THREADS, BLOCKS) {
    if constexpr (HOLDS_ANY) tile_after_tile(a, items);
    else one_tile(a);
}

#if PARTS > 1
// Of many parts, ADDERS groups of ADDER threads add up every ADDERS-th part each; then their sums are added up.
constexpr int ADDERS = PARTS > 16 ? WARPS : 1;
constexpr int ADDER = THREADS / ADDERS;
constexpr int SLICES = (ROWS * COLUMNS / OUT_WIDE + ADDER - 1) / ADDER; // blocks of a tile

// The parts of each number, in their order.
KERNEL(contraction_sum, Arguments, THREADS, BLOCKS) {
    const Place place = place_of(a, int(blockIdx.x) / SLICES);
    const Tables t = tables();
    (void)items;
    fill(a, place, t);

    const int adder = threadIdx.x / ADDER;
    const int v = blockIdx.x % SLICES * ADDER + threadIdx.x % ADDER;
    const bool within = v < ROWS * COLUMNS / OUT_WIDE;
    const long next = gridDim.x / SLICES * (long)(ROWS * COLUMNS);
    const scalar *const parts = (const scalar *)a.at_parts + blockIdx.x / SLICES * (long)(ROWS * COLUMNS);
    Near<OUT_WIDE> sum{};
    if (within) {
        sum = ((const Near<OUT_WIDE> *)(parts + adder * next))[v];
        UNROLL_BY(8)
        for (int p = adder + ADDERS; p < PARTS; p += ADDERS) {
            const Near<OUT_WIDE> more = ((const Near<OUT_WIDE> *)(parts + p * next))[v];
            UNROLL
            for (int i = 0; i < OUT_WIDE; ++i) sum.v[i] += more.v[i];
        }
    }

    Near<OUT_WIDE> *const sums = (Near<OUT_WIDE> *)shared_memory;
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (adder > 0 || !within) return;
    for (int other = 1; other < ADDERS; ++other) {
        const Near<OUT_WIDE> more = sums[other * ADDER + threadIdx.x];
        UNROLL
        for (int i = 0; i < OUT_WIDE; ++i) sum.v[i] += more.v[i];
    }
    constexpr int LINE = FAST / OUT_WIDE;
    put(t, place.out, v % LINE * OUT_WIDE, v / LINE, sum);
}
#endif
