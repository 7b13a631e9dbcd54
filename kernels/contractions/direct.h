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
//   ADDS                      whether the output's old value is added
//   PARTS                     parts of the sum, by different blocks; with more than one `contraction_sum` adds them up
#pragma once
#include "engine/numbers/launch.h"
#include "engine/numbers/multiply_add.h"

extern __shared__ double shared_memory[];

constexpr int WARPS = WARPS_M * WARPS_N, THREADS = 32 * WARPS;
constexpr int ROWS = 16 * TILES_M * WARPS_M, COLUMNS = 8 * TILES_N * WARPS_N;
constexpr int SIZE = sizeof(scalar), APART = 16 / SIZE; // between lines: quarters of a warp then meet different banks
constexpr int GROUP = 8;                                // tiles of rows that share a tile of columns in the cache

template <bool ALONG, int LINES> constexpr int STAGE = ALONG ? LINES * DEPTH : DEPTH * (LINES + APART);
constexpr int LEFT_STAGE = STAGE<LEFT_ALONG, ROWS>, RIGHT_STAGE = STAGE<RIGHT_ALONG, COLUMNS>;

constexpr int FAST = OUT_ROWS ? ROWS : COLUMNS, SLOW = OUT_ROWS ? COLUMNS : ROWS, PITCH = FAST + APART;
constexpr int COPIES = STAGES * (LEFT_STAGE + RIGHT_STAGE), TILE = SLOW * PITCH;
constexpr int NUMBERS = COPIES > TILE ? COPIES : TILE; // of shared memory, in front of the tables

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
// meet all banks.
POINT_FN int along(int line, int k) {
    constexpr int LINE = DEPTH * SIZE, PART = 8 * SIZE; // bytes
    constexpr int PARTS_OF_LINE = LINE / PART, LINES_OF_BANKS = LINE < 128 ? 128 / LINE : 1;
    const int turn = line / LINES_OF_BANKS % PARTS_OF_LINE;
    return line * DEPTH + (k ^ turn * 8);
}

// The copies of a factor, of LINES rows or columns: what a thread copies at each step.
template <bool ALONG, int LINES, int WIDE, int FACTOR> struct Copies {
    static constexpr int FASTEST = (ALONG ? DEPTH : LINES) / WIDE, ALL = LINES * DEPTH / WIDE;
    static constexpr int TURNS = (ALL + THREADS - 1) / THREADS;
    static constexpr bool WHOLE = ALL % THREADS == 0, SAME = THREADS % FASTEST == 0;
    static constexpr int LINES_OF_THREAD = !ALONG && SAME ? 1 : TURNS;
    static constexpr bool KEPT = LINES_OF_THREAD <= 4; // where lines begin stays in registers

    const scalar *base;
    const int *table;                     // where each line begins, or OUTSIDE
    int line[KEPT ? LINES_OF_THREAD : 1]; // the same of the thread's lines

    // The line and the term of copy v.
    static POINT_FN int line_of(int v) { return ALONG ? v / FASTEST : v % FASTEST * WIDE; }
    static POINT_FN int term_of(int v) { return ALONG ? v % FASTEST * WIDE : v / FASTEST; }

    POINT_FN void begin(const scalar *at, const int *lines) {
        base = at, table = lines;
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
            const int v = threadIdx.x + i * THREADS, along_sum = term[TERMS == 1 ? 0 : i];
            const int begin =
                KEPT ? line[LINES_OF_THREAD == 1 || !KEPT ? 0 : i] : table[WHOLE || v < ALL ? line_of(v) : 0];
            from[i] = begin >= 0 && along_sum >= 0 ? begin + along_sum : OUTSIDE;
        }

        UNROLL
        for (int i = 0; i < TURNS; ++i) {
            const int v = threadIdx.x + i * THREADS, k = term_of(v), l = line_of(v);
            if (!WHOLE && v >= ALL) break;
            const bool inside = from[i] >= 0;
            copy<WIDE>(stage + (ALONG ? along(l, k) : k * (LINES + APART) + l), base + (inside ? from[i] : 0), inside);
        }
    }
};

// ---- digits ---------------------------------------------------------------------------------------------------------

// A row or column: where it begins in a factor and in the output. Digits that are parts of an index of another extent
// than theirs have a weight each; the index is then below a limit.
POINT_FN bool find(int number, long count, long digits, const long *extent, const long *factor_step,
                   const long *out_step, const long (*weight)[MOST_DIGITS], const long *limit, int &from, int &to) {
    const bool within = number < count;
    int left = within ? number : 0, first = 0, second = 0;
    from = to = 0;
    for (int d = 0; d < digits; ++d) {
        const int e = int(extent[d]), over = left / e, x = left - over * e;
        left = over;
        from += x * int(factor_step[d]), to += x * int(out_step[d]);
        first += x * int(weight[0][d]), second += x * int(weight[1][d]);
    }
    return within && first < limit[0] && second < limit[1];
}

// The place of a block: its entry, its tile, and where these begin in the arrays.
struct Place {
    const scalar *left, *right;
    scalar *out;
    int row, column; // the first of the tile
};

POINT_FN Place place_of(const Arguments &a, long block) {
    const int entry_tiles = int(a.row_tiles * a.column_tiles);
    long other = block / entry_tiles;
    const int tile = int(block % entry_tiles);

    // Tiles of GROUP rows run over all columns before the next ones.
    const int columns = int(a.column_tiles), group = tile / (GROUP * columns), inside = tile % (GROUP * columns);
    const int rows = min(GROUP, int(a.row_tiles) - group * GROUP);
    const int row = group * GROUP + inside % rows, column = inside / rows;

    long left = 0, right = 0, out = 0;
    for (int d = 0; d < a.others; ++d) {
        const long x = other % a.other_extent[d];
        other /= a.other_extent[d];
        left += x * a.other_left[d], right += x * a.other_right[d], out += x * a.other_out[d];
    }
    left += other * a.step_left, right += other * a.step_right, out += other * a.step_out;
    return {(const scalar *)a.at_left + left, (const scalar *)a.at_right + right, (scalar *)a.at_out + out, row * ROWS,
            column * COLUMNS};
}

// The tables of a tile in shared memory, behind the numbers.
struct Tables {
    int *row_from, *column_from; // where a row begins in the left factor, a column in the right factor
    int *row_to, *column_to;     // the same in the output, in the order of the finished tile
    int *row_spot, *column_spot; // where a row's numbers lie in the finished tile
};

POINT_FN Tables tables() {
    int *const first = (int *)((scalar *)shared_memory + NUMBERS);
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
            const bool inside = find(place.row + line, a.rows, a.row_digits, a.row_extent, a.row_left, a.row_out,
                                     a.row_weight, a.row_limit, from, to);
            t.row_from[line] = inside ? from : OUTSIDE, t.row_to[spot] = inside ? to : OUTSIDE;
            t.row_spot[line] = spot * (OUT_ROWS ? 1 : PITCH);
        } else {
            const int c = line - ROWS;
            const bool inside = find(place.column + c, a.columns, a.column_digits, a.column_extent, a.column_right,
                                     a.column_out, a.column_weight, a.column_limit, from, to);
            t.column_from[c] = inside ? from : OUTSIDE, t.column_to[spot] = inside ? to : OUTSIDE;
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
        const int r = lane >> 2, k = k0 + 2 * (lane & 3);
        UNROLL
        for (int t = 0; t < TILES_M; ++t) {
            UNROLL
            for (int i = 0; i < 2; ++i) {
                if constexpr (LEFT_ALONG) {
                    const Both both = *(const Both *)(rows + along(first_row + 16 * t + r + 8 * i, k));
                    left[t][0][i] = both.x, left[t][1][i] = both.y;
                } else {
                    const Both both = *(const Both *)(rows + (k + i) * (ROWS + APART) + first_row + 16 * t + 2 * r);
                    left[t][i][0] = both.x, left[t][i][1] = both.y;
                }
            }
        }

        if constexpr (RIGHT_ALONG) {
            UNROLL
            for (int t = 0; t < TILES_N; ++t) {
                const Both both = *(const Both *)(columns + along(first_column + 8 * t + r, k));
                right[t][0] = both.x, right[t][1] = both.y;
            }
        } else {
            UNROLL
            for (int i = 0; i < 2; ++i) {
                const scalar *const line = columns + (k + i) * (COLUMNS + APART) + first_column;
                UNROLL
                for (int t = 0; t < TILES_N / 2 * 2; t += 2) {
                    const Both both = *(const Both *)(line + 8 * t + 2 * r);
                    right[t][i] = both.x, right[t + 1][i] = both.y;
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

// value(v, place in shared memory): OUT_WIDE neighbours of the tile that belong to number v of a thread's turns.
template <class Value> POINT_FN void leave(const Tables &t, scalar *out, const Value &value) {
    const int *const fast_to = OUT_ROWS ? t.row_to : t.column_to, *const slow_to = OUT_ROWS ? t.column_to : t.row_to;
    constexpr int LINE = FAST / OUT_WIDE;
    for (int v = threadIdx.x; v < SLOW * LINE; v += THREADS) {
        const int fast = v % LINE * OUT_WIDE, slow = v / LINE;
        const int to_fast = fast_to[fast], to_slow = slow_to[slow];
        if (to_fast < 0 || to_slow < 0) continue;

        Near<OUT_WIDE> some = value(v, slow * PITCH + fast);
        Near<OUT_WIDE> *const to = (Near<OUT_WIDE> *)(out + (to_slow + to_fast));
        if (ADDS) {
            const Near<OUT_WIDE> old = *to;
            UNROLL
            for (int i = 0; i < OUT_WIDE; ++i) some.v[i] = old.v[i] + some.v[i];
        }
        *to = some;
    }
}

KERNEL(contraction, Arguments, THREADS, BLOCKS) {
    const Place place = place_of(a, blockIdx.x);
    const Tables t = tables();
    scalar *const numbers = (scalar *)shared_memory;
    (void)items;
    fill(a, place, t);
    __syncthreads();

    // The terms of this part of the sum, DEPTH at a time.
    const int steps = int(a.steps), first = PARTS > 1 ? int(long(steps) * blockIdx.y / PARTS) : 0;
    const int turns = (PARTS > 1 ? int(long(steps) * (blockIdx.y + 1) / PARTS) : steps) - first;
    const int *const terms = (const int *)a.at_terms + 2L * DEPTH * first;
    Copies<LEFT_ALONG, ROWS, LEFT_WIDE, 0> left;
    Copies<RIGHT_ALONG, COLUMNS, RIGHT_WIDE, 1> right;
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

    scalar sum[TILES_M][TILES_N][4];
    UNROLL
    for (int m = 0; m < TILES_M; ++m) {
        UNROLL
        for (int n = 0; n < TILES_N; ++n) {
            UNROLL
            for (int i = 0; i < 4; ++i) sum[m][n][i] = 0;
        }
    }

    // Multiply what has come; ask for what comes STAGES - 1 turns later.
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int first_row = warp / WARPS_N * 16 * TILES_M, first_column = warp % WARPS_N * 8 * TILES_N;
    for (int turn = 0; turn < turns; ++turn) {
        copied<STAGES - 2>();
        __syncthreads();
        ask(turn + STAGES - 1);

        const scalar *const rows = numbers + turn % STAGES * (LEFT_STAGE + RIGHT_STAGE);
        const scalar *const columns = rows + LEFT_STAGE;
        Fragments some[2];
        some[0].take(rows, columns, first_row, first_column, 0, lane);
        UNROLL
        for (int k = 0; k < DEPTH; k += 8) {
            if (k + 8 < DEPTH) some[(k / 8 + 1) % 2].take(rows, columns, first_row, first_column, k + 8, lane);
            some[k / 8 % 2].multiply(sum);
        }
    }
    copied<0>();
    __syncthreads();

    // The tile, in the order of the output.
    const scalar number = scalar(a.number);
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
                    numbers[row + column] = number * sum[m][n][2 * half + i];
                }
            }
        }
    }
    __syncthreads();

    if constexpr (PARTS == 1) {
        leave(t, place.out, [&](int, int at) { return *(const Near<OUT_WIDE> *)(numbers + at); });
    } else {
        scalar *const part = (scalar *)a.at_parts + (blockIdx.y * (long)gridDim.x + blockIdx.x) * (ROWS * COLUMNS);
        constexpr int LINE = FAST / OUT_WIDE;
        for (int v = threadIdx.x; v < SLOW * LINE; v += THREADS) {
            const int at = v / LINE * PITCH + v % LINE * OUT_WIDE;
            ((Near<OUT_WIDE> *)part)[v] = *(const Near<OUT_WIDE> *)(numbers + at);
        }
    }
}

#if PARTS > 1
// The parts of each number, in their order.
KERNEL(contraction_sum, Arguments, THREADS, BLOCKS) {
    const Place place = place_of(a, blockIdx.x);
    const Tables t = tables();
    (void)items;
    fill(a, place, t);
    __syncthreads();

    const long next = gridDim.x * (long)(ROWS * COLUMNS);
    const scalar *const parts = (const scalar *)a.at_parts + blockIdx.x * (long)(ROWS * COLUMNS);
    leave(t, place.out, [&](int v, int) {
        Near<OUT_WIDE> sum = ((const Near<OUT_WIDE> *)parts)[v];
        for (int p = 1; p < PARTS; ++p) {
            const Near<OUT_WIDE> more = ((const Near<OUT_WIDE> *)(parts + p * next))[v];
            UNROLL
            for (int i = 0; i < OUT_WIDE; ++i) sum.v[i] += more.v[i];
        }
        return sum;
    });
}
#endif
