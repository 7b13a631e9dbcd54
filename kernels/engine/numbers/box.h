// Kernels over the cells of a box in a block. A CPU takes packs of neighbours in x, a device a cell for each thread.
//
//   BOX_KERNEL(name, Record, body, threads[, blocks])
//       calls body<number>(a, cell, count) for the cells a.lo <= (i, j, k) < a.hi.
//   FACE_BOX_KERNEL(name, Record, body, ...)
//       calls body<number>(a, d, cell, count) for the directions a.from <= d < a.to. In direction d the box begins
//       a.below cells earlier and ends a.above cells later.
//   BOX_KERNEL_THEN(name, Record, body, more, threads[, blocks])
//   FACE_BOX_KERNEL_THEN(name, Record, body, more, threads[, blocks])
//       call more as well where body returns true.
//
//   a         the record. It has long lo[3], hi[3], stride[3], tile[3], tiles[2], by_tiles[2]
//   cell      offset in the block, i + j*stride[1] + k*stride[2], below 2^31
//   count     cells of a pack that are in the box
//   threads, blocks    as in KERNEL
//
// `more` is for work that few cells need and that takes long. On a device the threads of a block share these cells, so
// that no thread waits for its neighbour. It may read what `body` wrote of the cell. Its launch needs TO_DO(threads)
// bytes of shared memory.
//
// Tiles. On a device the threads of a block take a tile of 2^tile[0] x 2^tile[1] x 2^tile[2] cells, so that neighbours
// in all directions come from the L1 of its multiprocessor. A launch has an item for each cell of the tiles, also for
// cells beyond the box. In x the tiles of a kernel over faces begin a.before cells before the box, which is a.below or
// more: the tiles can then begin with a line of memory.
#pragma once
#include "engine/numbers/launch.h"

// Bits of a double that is 0 or more. They have the order of the values; NaN comes last.
typedef unsigned long long OrderedBits;
POINT_FN OrderedBits ordered_bits(const double x) {
    union {
        double value;
        OrderedBits bits;
    } u = {x};

    return u.bits & 0x7fffffffffffffffULL;
}

#ifdef ON_DEVICE
#ifndef COLUMN_STRIDE
#define COLUMN_STRIDE 1 // of thread.h; nothing here has columns
#endif
#include "engine/numbers/thread.h"
#ifndef THREAD_NUMBER
#define THREAD_NUMBER point
#endif
#ifndef FACES_APART
#define FACES_APART 0
#endif

POINT_FN void load(const double *address, point &x) { x.v = *address; }

#define CONSTANT_TABLE __constant__ // a table whose values the source has
#define TO_DO(threads) (8 + 24 * (threads))

// Cells of a block's tile that wait for a second body, each with a direction.
struct ToDo {
    int *number, *cells, *directions;

    POINT_FN ToDo() {
        extern __shared__ double shared_memory[];
        number = (int *)shared_memory;
        cells = number + 2;
        directions = cells + 3 * blockDim.x;
        if (threadIdx.x == 0) *number = 0;
        __syncthreads();
    }

    POINT_FN void add(const int cell, const int d) const {
        const int at = atomicAdd(number, 1);
        cells[at] = cell;
        directions[at] = d;
    }

    // Calls work(direction, cell) for all cells of the block's threads.
    template <class Work> POINT_FN void share(const Work &work) const {
        __syncthreads();
        for (int i = threadIdx.x; i < *number; i += blockDim.x) work(directions[i], cells[i]);
    }
};

// The cell of this thread in its block's tile. a.tiles: tiles of the box along x and y. a.by_tiles: 2^38/tiles, rounded
// up; a product with it divides fewer than 2^26 tiles exactly.
struct PlaceInBox {
    int at[3]; // i, j, k

    template <class Record> POINT_FN PlaceInBox(const Record &a, const int (&below)[3]) {
        const unsigned x = a.tile[0];
        const unsigned y = a.tile[1];
        const unsigned tile = blockIdx.x;
        const unsigned thread = threadIdx.x;

        const unsigned row = (unsigned long long)tile * a.by_tiles[0] >> 38;
        const unsigned layer = (unsigned long long)row * a.by_tiles[1] >> 38;
        at[0] = int(a.lo[0]) - below[0] + ((tile - row * int(a.tiles[0])) << x) + (thread & ((1u << x) - 1));
        at[1] = int(a.lo[1]) - below[1] + ((row - layer * int(a.tiles[1])) << y) + (thread >> x & ((1u << y) - 1));
        at[2] = int(a.lo[2]) - below[2] + (layer << a.tile[2]) + (thread >> (x + y));
    }

    template <class Record> POINT_FN int cell(const Record &a) const {
        return at[0] + at[1] * int(a.stride[1]) + at[2] * int(a.stride[2]);
    }

    // Whether the cell is in the box in direction d; below, above: cells by which the box is wider.
    template <class Record> POINT_FN bool inside(const Record &a, const int d, const int below, const int above) const {
        return at[d] >= int(a.lo[d]) - below && at[d] < int(a.hi[d]) + above;
    }
};

template <class Record, class Work> POINT_FN void each_cell(const Record &a, const Work &work) {
    const int none[3] = {0, 0, 0};
    const PlaceInBox here{a, none};
    if (here.inside(a, 0, 0, 0) && here.inside(a, 1, 0, 0) && here.inside(a, 2, 0, 0)) work(here.cell(a));
}

// A thread takes the faces of its cell direction by direction: it finds the numbers that they share in L1. If that
// needs too many registers, FACES_APART is 1 and a launch has one direction.
template <class Record, class Work> POINT_FN void each_face(const Record &a, const Work &work) {
    int below[3];
    UNROLL
    for (int d = 0; d < 3; ++d) below[d] = d >= a.from && d < a.to ? (d ? a.below : a.before) : 0;
    const PlaceInBox here{a, below};

    // In the box, and in the box made wider.
    bool inside[3], wider[3];
    const int cell = here.cell(a);
    UNROLL
    for (int d = 0; d < 3; ++d) inside[d] = here.inside(a, d, 0, 0), wider[d] = here.inside(a, d, a.below, a.above);

    const int to = FACES_APART ? a.from + 1 : a.to;
    UNROLL_BY(1)
    for (int d = a.from; d < to; ++d)
        if ((inside[0] || (d == 0 && wider[0])) && (inside[1] || (d == 1 && wider[1])) &&
            (inside[2] || (d == 2 && wider[2])))
            work(d, cell);
}

// The same if few faces ask for work: a thread without such a face returns before it finds which of its faces are in
// the box.
template <class Record, class Asks, class Work>
POINT_FN void each_face_that(const Asks &asks, const Record &a, const Work &work) {
    int below[3];
    UNROLL
    for (int d = 0; d < 3; ++d) below[d] = d >= a.from && d < a.to ? (d ? a.below : a.before) : 0;
    const PlaceInBox here{a, below};
    const int cell = here.cell(a);
    bool within = true;
    bool any = false;

    UNROLL
    for (int d = 0; d < 3; ++d) within &= here.inside(a, d, below[d], d >= a.from && d < a.to ? a.above : 0);
    if (!within) return;

    UNROLL
    for (int d = 0; d < 3; ++d)
        if (d >= a.from && d < a.to) any |= asks(d, cell);
    if (!any) return;

    each_face(a, [&](const int d, const int t) {
        if (asks(d, t)) work(d, t);
    });
}

// ---- kernels of a device

#define BOX_KERNEL(name, Record, body, ...) \
    KERNEL(name, Record, __VA_ARGS__) { \
        (void)items; \
        each_cell(a, [&](const int cell) { body<THREAD_NUMBER>(a, cell, 1); }); \
    }

#define FACE_BOX_KERNEL(name, Record, body, ...) \
    KERNEL(name, Record, __VA_ARGS__) { \
        (void)items; \
        each_face(a, [&](const int d, const int cell) { body<THREAD_NUMBER>(a, d, cell, 1); }); \
    }

// *to becomes the largest of all threads. The lanes of a warp find their largest first; it is mostly below *to.
POINT_FN void raise(double *to, OrderedBits most) {
    for (int lane = 16; lane; lane >>= 1) {
        const OrderedBits other = __shfl_xor_sync(0xffffffffu, most, lane);
        most = other > most ? other : most;
    }
    if ((threadIdx.x & 31) == 0 && most > *(volatile OrderedBits *)to) atomicMax((OrderedBits *)to, most);
}

POINT_FN double number_of(const double x) { return x; }
POINT_FN double number_of(const point x) { return x.v; }

// The largest of each of `rows` values over the cells, to a.largest.
#define BOX_LARGEST_KERNEL(name, Record, body, rows, largest, ...) \
    KERNEL(name, Record, __VA_ARGS__) { \
        (void)items; \
        OrderedBits most[rows] = {}; \
        each_cell(a, [&](const int cell) { \
            THREAD_NUMBER values[rows]; \
            body<THREAD_NUMBER>(a, cell, 1, values); \
            UNROLL \
            for (int v = 0; v < rows; ++v) most[v] = ordered_bits(number_of(values[v])); \
        }); \
        UNROLL \
        for (int v = 0; v < rows; ++v) raise(a.largest + v, most[v]); \
    }

#define BOX_KERNEL_THEN(name, Record, body, more, ...) \
    KERNEL(name, Record, __VA_ARGS__) { \
        (void)items; \
        const ToDo left; \
        each_cell(a, [&](const int cell) { \
            if (body<THREAD_NUMBER>(a, cell, 1)) left.add(cell, 0); \
        }); \
        left.share([&](int, const int cell) { more<THREAD_NUMBER>(a, cell, 1); }); \
    }

#define FACE_BOX_KERNEL_THEN(name, Record, body, more, ...) \
    KERNEL(name, Record, __VA_ARGS__) { \
        (void)items; \
        const ToDo left; \
        each_face(a, [&](const int d, const int cell) { \
            if (body<THREAD_NUMBER>(a, d, cell, 1)) left.add(cell, d); \
        }); \
        left.share([&](const int d, const int cell) { more<THREAD_NUMBER>(a, d, cell, 1); }); \
    }

#define FACE_BOX_KERNEL_WHERE(name, Record, body, more, ...) \
    KERNEL(name, Record, __VA_ARGS__) { \
        (void)items; \
        const ToDo left; \
        each_face_that([&](const int d, const int cell) { return body<THREAD_NUMBER>(a, d, cell, 1); }, a, \
                       [&](const int d, const int cell) { left.add(cell, d); }); \
        left.share([&](const int d, const int cell) { more<THREAD_NUMBER>(a, d, cell, 1); }); \
    }
#else
#include "engine/numbers/pack.h"

#define CONSTANT_TABLE constexpr

// ---- kernels of a CPU

// *to becomes the largest of all threads.
inline void raise(double *to, const OrderedBits most) {
    OrderedBits *const at = (OrderedBits *)to;
    OrderedBits seen = __atomic_load_n(at, __ATOMIC_RELAXED);
    while (most > seen && !__atomic_compare_exchange_n(at, &seen, most, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

// clang-format off
#define BOX_KERNEL_OF(name, Record, call)                                                                              \
    KERNEL(name, Record) {                                                                                             \
        const Record a = *record;                                                                                      \
        (void)items, (void)threads;                                                                                    \
        _Pragma("omp parallel for collapse(2) num_threads(threads) if (threads > 1)")                                  \
        for (long k = a.lo[2]; k < a.hi[2]; ++k)                                                                       \
            for (long j = a.lo[1]; j < a.hi[1]; ++j)                                                                   \
                for (long i = a.lo[0]; i < a.hi[0]; i += VECTOR_LANES) {                                               \
                    const long left = a.hi[0] - i;                                                                     \
                    const int t = int(i + j * a.stride[1] + k * a.stride[2]);                                          \
                    const int count = left < VECTOR_LANES ? int(left) : VECTOR_LANES;                                  \
                    call                                                                                               \
                }                                                                                                      \
        return 0;                                                                                                      \
    }

#define FACE_BOX_KERNEL_OF(name, Record, call)                                                                         \
    KERNEL(name, Record) {                                                                                             \
        const Record a = *record;                                                                                      \
        (void)items, (void)threads;                                                                                    \
        for (int d = a.from; d < a.to; ++d) {                                                                          \
            long lo[3] = {a.lo[0], a.lo[1], a.lo[2]}, hi[3] = {a.hi[0], a.hi[1], a.hi[2]};                             \
            lo[d] -= a.below, hi[d] += a.above;                                                                        \
            _Pragma("omp parallel for collapse(2) num_threads(threads) if (threads > 1)")                              \
            for (long k = lo[2]; k < hi[2]; ++k)                                                                       \
                for (long j = lo[1]; j < hi[1]; ++j)                                                                   \
                    for (long i = lo[0]; i < hi[0]; i += VECTOR_LANES) {                                               \
                        const long left = hi[0] - i;                                                                   \
                        const int t = int(i + j * a.stride[1] + k * a.stride[2]);                                      \
                        const int count = left < VECTOR_LANES ? int(left) : VECTOR_LANES;                              \
                        call                                                                                           \
                    }                                                                                                  \
        }                                                                                                              \
        return 0;                                                                                                      \
    }

#define BOX_KERNEL(name, Record, body, ...) BOX_KERNEL_OF(name, Record, body<vec>(a, t, count);)
#define FACE_BOX_KERNEL(name, Record, body, ...) FACE_BOX_KERNEL_OF(name, Record, body<vec>(a, d, t, count);)
#define BOX_KERNEL_THEN(name, Record, body, more, ...)                                                                 \
    BOX_KERNEL_OF(name, Record, if (any_of(body<vec>(a, t, count))) more<vec>(a, t, count);)
#define FACE_BOX_KERNEL_THEN(name, Record, body, more, ...)                                                            \
    FACE_BOX_KERNEL_OF(name, Record, if (any_of(body<vec>(a, d, t, count))) more<vec>(a, d, t, count);)
#define FACE_BOX_KERNEL_WHERE FACE_BOX_KERNEL_THEN
#define BOX_LARGEST_KERNEL(name, Record, body, rows, largest, ...)                                                     \
    BOX_KERNEL_OF(                                                                                                     \
        name, Record, vec values[rows]; body<vec>(a, t, count, values); for (int v = 0; v < rows; ++v)                 \
            for (int lane = 0; lane < count; ++lane) raise(a.largest + v, ordered_bits(values[v].v[lane]));)
// clang-format on
#endif
