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
//   STRAIGHT                  whether sums go from registers to the output, which then does not run along rows; else
//                             through a finished tile in shared memory
//   PARTS                     parts of the sum, by different blocks; with more than one `contraction_sum` adds them up
//   HOLDS                     HOLDS_LEFT or HOLDS_RIGHT: a block works on tile after tile that have this factor in
//                             common, which stays in shared memory, and copies the other factor of the next tile
//                             meanwhile; a sum then has one step. HOLDS_NOTHING: a block has a tile
#pragma once
#include "contractions/direct_copies.h"
#include "contractions/direct_places.h"

// ---- a warp's numbers -----------------------------------------------------------------------------------------------

// The row of a lane's numbers: `half` 0 or 1 of tile t. The column: number j of tile t.
POINT_FN int row_of(int t, int half, int lane) {
    return 16 * t + (LEFT_ALONG ? (lane >> 2) + 8 * half : 2 * (lane >> 2) + half);
}
POINT_FN int column_of(int t, int j) {
    if (STRAIGHT || RIGHT_ALONG || (TILES_N % 2 && t == TILES_N - 1)) return 8 * t + j;
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
        } else if constexpr (STRAIGHT) {
            UNROLL
            for (int i = 0; i < 2; ++i) {
                UNROLL
                for (int t = 0; t < TILES_N; ++t)
                    right[t][i] = columns[(k + i) * (COLUMNS + APART) + first_column + 8 * t + r];
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

// Neighbours to memory. Two numbers of a sum that goes straight to the output do not displace others in the caches.
template <int N> POINT_FN void store(Near<N> *to, Near<N> some) {
#ifndef FRAME_STAND_IN
    if constexpr (STRAIGHT && !ADDS && N == 2 && SIZE == 8) {
        __stcs((double2 *)to, make_double2(some.v[0], some.v[1]));
        return;
    }
#endif
    *to = some;
}

// Neighbours to their place in the output; nowhere if there is none.
template <int N> POINT_FN void put(scalar *out, int to_fast, int to_slow, Near<N> some) {
    if (to_fast < 0 || to_slow < 0) return;
    Near<N> *const to = (Near<N> *)(out + (to_slow + to_fast));
    if (ADDS) {
        const Near<N> old = *to;
        UNROLL
        for (int i = 0; i < N; ++i) some.v[i] = old.v[i] + some.v[i];
    }
    store(to, some);
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

// The sums of a warp, straight to the output. Four lanes have eight neighbours of a row, two each.
POINT_FN void leave(const Sums &sums, const Tables &t, scalar number, scalar *out, int first_row, int first_column,
                    int lane) {
    constexpr int NEAR = OUT_WIDE > 1 ? 2 : 1;
    UNROLL
    for (int m = 0; m < TILES_M; ++m) {
        UNROLL
        for (int half = 0; half < 2; ++half) {
            const int to_row = t.row_to[first_row + row_of(m, half, lane)];
            UNROLL
            for (int n = 0; n < TILES_N; ++n) {
                UNROLL
                for (int i = 0; i < 2; i += NEAR) {
                    const int to_column = t.column_to[first_column + column_of(n, 2 * (lane & 3) + i)];
                    Near<NEAR> some;
                    UNROLL
                    for (int j = 0; j < NEAR; ++j) some.v[j] = number * sums.number[m][n][2 * half + i + j];
                    put(out, to_column, to_row, some);
                }
            }
        }
    }
}

// The same by four neighbours: of two tiles of eight columns, lanes of even number take the first one's numbers from
// the lane behind, those of odd number the second one's from the lane before.
POINT_FN void leave_by_fours(const Sums &sums, const Tables &t, scalar number, scalar *out, int first_row,
                             int first_column, int lane) {
    const int odd = lane & 1;
    const int fast = 8 * odd + 2 * (lane & 2);
    UNROLL
    for (int m = 0; m < TILES_M; ++m) {
        UNROLL
        for (int half = 0; half < 2; ++half) {
            const int to_row = t.row_to[first_row + row_of(m, half, lane)];
            UNROLL
            for (int n = 0; n + 1 < TILES_N; n += 2) {
                Near<4> some;
                UNROLL
                for (int i = 0; i < 2; ++i) {
                    const scalar x = number * sums.number[m][n][2 * half + i];
                    const scalar y = number * sums.number[m][n + 1][2 * half + i];
                    const scalar other = __shfl_xor_sync(0xffffffffu, odd ? x : y, 1);
                    some.v[i] = odd ? other : x;
                    some.v[2 + i] = odd ? y : other;
                }
                put(out, t.column_to[first_column + 8 * n + fast], to_row, some);
            }
        }
    }
}

POINT_FN void leave_straight(const Sums &sums, const Tables &t, scalar number, scalar *out, int first_row,
                             int first_column, int lane) {
    if constexpr (OUT_WIDE == 4 && TILES_N % 2 == 0)
        leave_by_fours(sums, t, number, out, first_row, first_column, lane);
    else leave(sums, t, number, out, first_row, first_column, lane);
}

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
    left.begin(place.left, t.row_from, t.row_spot);
    right.begin(place.right, t.column_from, t.column_spot);

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
    if constexpr (STRAIGHT) {
        leave_straight(sums, t, scalar(a.number), place.out, first_row, first_column, lane);
        return;
    }
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
        left.begin(place.left, t.row_from, t.row_spot);
        left.ask(to, terms);
    };
    const auto ask_right = [&](const Place &place, const Tables &t, scalar *to) {
        RightCopies right;
        right.begin(place.right, t.column_from, t.column_spot);
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
        const bool other_held = more && !same_held(place, next);
        if constexpr (!STRAIGHT) finish(sums.number, t, scalar(a.number), finished, first_row, first_column, lane);
        if (!STRAIGHT || other_held) __syncthreads();
        if (other_held) {
            ask_held(next, t_next);
            copies_end();
        }
        if constexpr (STRAIGHT) leave_straight(sums, t, scalar(a.number), place.out, first_row, first_column, lane);
        else leave(t, place.out, finished);
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
