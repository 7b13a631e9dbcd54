// Copies of arrays to another order of their dimensions, on CUDA devices. permute.py cuts an array into tiles: a block
// reads a tile in the order of the source, passes it through shared memory, and writes it in the order of the target.
// So both are read and written in runs of neighbours. Blocks stay and take tile after tile; where a thread's numbers
// lie in a tile is found once, from tables.
//
// Arguments: source, target, tables (see Row), volume: numbers of a tile; shift: shared memory has a gap after every
// 2^shift numbers; loops over tiles, the slowest first; edge: for two loops whose last tile may be shorter, the number
// of the loop, its numbers in a tile and in all; number, old: of scaled copies. Macros: NAME of the kernel, NAME_OF_FEW
// of the kernel of small copies, whose arguments are in Few: reciprocals of
// the extents, numbers of the copy; NUMBER: type, SCALES: target = number * source (+ old target).
#pragma once
#include "contractions/reciprocals.h"
#include "engine/numbers/launch.h"

extern __shared__ double shared_memory[];

constexpr int EACH = 4;                        // numbers of a tile that a thread copies
enum Row { FROM, TO, AT, EDGE_FROM, EDGE_TO }; // steps in source and target, place in shared memory, places at edges

template <class T> struct alignas(2 * sizeof(T)) Two {
    T v[2];
};
POINT_FN float times(double number, float x) { return float(number) * x; }
POINT_FN double times(double number, double x) { return number * x; }
POINT_FN float plus(float x, float y) { return x + y; }
POINT_FN double plus(double x, double y) { return x + y; }
template <class T> POINT_FN Two<T> times(double number, Two<T> x) {
    return {times(number, x.v[0]), times(number, x.v[1])};
}
template <class T> POINT_FN Two<T> plus(Two<T> x, Two<T> y) { return {plus(x.v[0], y.v[0]), plus(x.v[1], y.v[1])}; }

// What a tile begins at, and how far two of its loops go.
struct Tile {
    long from, to;
    int left[2];
};
POINT_FN void find(const Arguments &a, long tile, Tile &t) {
    t.from = t.to = 0;
    t.left[0] = t.left[1] = 1 << 30;
    unsigned rest = unsigned(tile);
    for (int d = int(a.loops) - 1; d >= 0; --d) {
        const unsigned extent = unsigned(a.extent[d]);
        const unsigned before = rest / extent;
        const unsigned turn = rest - before * extent;
        rest = before;
        t.from += turn * a.from_step[d];
        t.to += turn * a.to_step[d];
        UNROLL
        for (int e = 0; e < 2; ++e)
            if (d == a.edge[e]) t.left[e] = int(a.edge_whole[e] - turn * a.edge_tile[e]);
    }
}
POINT_FN bool inside(const Tile &t, int edges) { return (edges & 0xffff) < t.left[0] && (edges >> 16) < t.left[1]; }

template <class T, bool SCALED, bool RAGGED> POINT_FN void over_tiles(const Arguments &a, long tiles) {
    T *const held = (T *)shared_memory;
    Tile *const found = (Tile *)(held + a.held);
    const int *const tables = (const int *)a.tables;
    const T *const source = (const T *)a.source;
    T *const target = (T *)a.target;
    const int volume = int(a.volume);
    const int threads = blockDim.x;

    int from[EACH], to[EACH], at[EACH];
    UNROLL
    for (int e = 0; e < EACH; ++e) {
        const int i = threadIdx.x + e * threads;
        if (i < volume) {
            from[e] = tables[FROM * volume + i];
            to[e] = tables[TO * volume + i];
            at[e] = tables[AT * volume + i];
        }
    }

    if (threadIdx.x == 0) find(a, blockIdx.x, found[0]);
    __syncthreads();
    int turn = 0;
    for (long tile = blockIdx.x; tile < tiles; tile += gridDim.x, turn ^= 1) {
        const Tile here = found[turn];
        T x[EACH];
        UNROLL
        for (int e = 0; e < EACH; ++e) {
            const int i = threadIdx.x + e * threads;
            if (i < volume && (!RAGGED || inside(here, tables[EDGE_FROM * volume + i])))
                x[e] = source[here.from + from[e]];
        }

        // The next tile's begin, while the loads are under way.
        if (threadIdx.x == 0 && tile + gridDim.x < tiles) find(a, tile + gridDim.x, found[turn ^ 1]);
        UNROLL
        for (int e = 0; e < EACH; ++e) {
            const int i = threadIdx.x + e * threads;
            if (i < volume) held[i + (i >> a.shift)] = x[e];
        }
        __syncthreads();

        UNROLL
        for (int e = 0; e < EACH; ++e) {
            const int i = threadIdx.x + e * threads;
            if (i < volume && (!RAGGED || inside(here, tables[EDGE_TO * volume + i]))) {
                T &put = target[here.to + to[e]];
                T value = held[at[e]];
                if (SCALED) {
                    value = times(a.number, value);
                    if (a.old) value = plus(put, value);
                }
                put = value;
            }
        }
        __syncthreads();
    }
}

template <class T, bool SCALED> POINT_FN void permuted(const Arguments &a, long tiles) {
    if (a.edge[0] < 0 && a.edge[1] < 0) over_tiles<T, SCALED, false>(a, tiles);
    else over_tiles<T, SCALED, true>(a, tiles);
}

constexpr int BLOCKS = SCALES || sizeof(NUMBER) > 8 ? 2 : 3;
#define PERMUTATION(name) \
    KERNEL(name, Arguments, 512, BLOCKS) { permuted<NUMBER, SCALES>(a, items); }
PERMUTATION(NAME)

// Small copies, a thread for each number in the order of the target: a row of blocks for each copy.
struct Copies {
    Few of[2];
};
#define PERMUTATIONS(name) \
    KERNEL(name, Copies, 128) { \
        const Few &own = a.of[blockIdx.y]; \
        const int number = blockIdx.x * 128 + threadIdx.x; \
        (void)items; \
        if (number >= own.numbers) return; \
        long from = 0; \
        long to = 0; \
        int left = number; \
        for (int d = int(own.loops) - 1; d >= 0; --d) { \
            const int before = quotient(left, own.reciprocal[d], own.shift[d]); \
            const int turn = left - before * int(own.extent[d]); \
            left = before; \
            from += turn * own.from_step[d]; \
            to += turn * own.to_step[d]; \
        } \
        ((NUMBER *)own.target)[to] = ((const NUMBER *)own.source)[from]; \
    }
PERMUTATIONS(NAME_OF_FEW)
