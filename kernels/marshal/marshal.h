// Copies between blocks and stripes, all fields of a call in one launch. Points are numbered x fastest, then y, then z,
// within the selected extents.
#pragma once
#include "engine/numbers/launch.h"

constexpr int MOST_FIELDS = 24, MOST_BASES = 192;

// A field: `variables` components of nx x ny x ... selected points. block: address of the first selected element.
// Strides sx, sy, sz, sv are in elements of the block; ld, between rows, in elements of the view.
struct Field {
    void *block, *view;
    long ld, variables, nx, ny, sx, sy, sz, sv;
    long size;  // bytes of an element of the block, 8 or 4
    long bases; // index in `base` of the first component's address; -1: the components lie sv elements apart
};

// start: number of the first point. column: index of this point in the views. past, on a CPU, two bits. PAST: stores
// bypass the caches, because no CPU thread reads them soon. LATER: CPU threads may still copy until `finish_moves`.
constexpr long PAST = 1, LATER = 2;
struct Moves {
    long start, column, past, fields;
    Field field[MOST_FIELDS];
    void *base[MOST_BASES]; // addresses of components in arrays of their own: of their first selected elements
};

// Address of a component's first selected element.
template <class Outer> POINT_FN Outer *first_of(const Moves &a, const Field &f, const long v) {
    return f.bases < 0 ? (Outer *)f.block + v * f.sv : (Outer *)a.base[f.bases + v];
}

#ifdef ON_DEVICE

// Where a point's components lie: sv elements apart, or in arrays of their own.
template <class Outer> struct Strided {
    Outer *const block;
    const long sv;
    POINT_FN Outer &operator[](const long v) const { return block[v * sv]; }
};

template <class Outer> struct Apart {
    void *const *const base;
    const long at;
    POINT_FN Outer &operator[](const long v) const { return ((Outer *)base[v])[at]; }
};

// A point. Four variables at a time: their loads are in flight together, which matters for memory of the host.
template <class Inner, bool in, class Outer, class Where>
POINT_FN void move_components(const Field &f, const Where &component, const long to) {
    Inner *const view = (Inner *)f.view + to;
    for (long v = 0; v < f.variables; v += 4) {
        const long left = f.variables - v;
        if (in) {
            Outer x[4];
            UNROLL
            for (int k = 0; k < 4; ++k)
                if (k < left) x[k] = component[v + k];
            UNROLL
            for (int k = 0; k < 4; ++k)
                if (k < left) view[(v + k) * f.ld] = Inner(x[k]);
        } else {
            Inner x[4];
            UNROLL
            for (int k = 0; k < 4; ++k)
                if (k < left) x[k] = view[(v + k) * f.ld];
            UNROLL
            for (int k = 0; k < 4; ++k)
                if (k < left) component[v + k] = Outer(x[k]);
        }
    }
}

template <class Inner, class Outer, bool in>
POINT_FN void move_point(const Moves &a, const Field &f, const long at, const long to) {
    if (f.bases < 0) move_components<Inner, in, Outer>(f, Strided<Outer>{(Outer *)f.block + at, f.sv}, to);
    else move_components<Inner, in, Outer>(f, Apart<Outer>{a.base + f.bases, at}, to);
}

// Threads loop over the points, so few threads are enough: copies of both directions share the device with kernels.
template <class Inner, bool in> POINT_FN void move_points(const Moves &a, const long items) {
    const long step = gridDim.x * (long)blockDim.x;
    for (long item = blockIdx.x * (long)blockDim.x + threadIdx.x; item < items; item += step) {
        long nx = 0, ny = 0, x = 0, y = 0, z = 0;
        for (long n = 0; n < a.fields; ++n) {
            const Field &f = a.field[n];
            if (f.nx != nx || f.ny != ny) {
                const long point = a.start + item, row = point / f.nx;
                nx = f.nx;
                ny = f.ny;
                z = row / ny;
                x = point - row * nx;
                y = row - z * ny;
            }
            const long at = x * f.sx + y * f.sy + z * f.sz;
            if (f.size == 8) move_point<Inner, double, in>(a, f, at, a.column + item);
            else move_point<Inner, float, in>(a, f, at, a.column + item);
        }
    }
}

#define MOVE_KERNEL(name, Inner, in) \
    KERNEL(name, Moves, 256) { move_points<Inner, in>(a, items); }
#else
#include <fenv.h>
#include <stdlib.h>
#include "marshal/helpers.h"
#include "engine/numbers/past.h"

// Copies n elements with stride `step` from the block to the view (`in`), or back. N: n if it is a constant, else 0.
// STEP: the stride if it is a constant, else 0. The compiler makes vectors of constant strides only.
template <class Inner, class Outer, bool in, long N, long STEP>
POINT_FN void move_strided(Inner *__restrict__ view, Outer *__restrict__ block, const long n, const long step) {
    const long end = N ? N : n, stride = STEP ? STEP : step;
    for (long i = 0; i < end; ++i)
        if (in) view[i] = Inner(block[i * stride]);
        else block[i * stride] = Outer(view[i]);
}

template <class Inner, class Outer, bool in, long N>
POINT_FN void move_run(Inner *__restrict__ view, Outer *__restrict__ block, const long n, const long step) {
    if (step == 1) move_strided<Inner, Outer, in, N, 1>(view, block, n, 1);
    else if (step == -1) move_strided<Inner, Outer, in, N, -1>(view, block, n, -1);
    else move_strided<Inner, Outer, in, N, 0>(view, block, n, step);
}

// Copies complete lines of N points. A slab of a few points in x has thousands of lines.
template <class Inner, class Outer, bool in, long N>
inline long move_lines(const Field &f, Inner *__restrict__ view, Outer *__restrict__ block, long y, const long lines) {
    const long sx = f.sx, sy = f.sy;
    for (long left = lines, z = 0; left > 0; y = 0, ++z) {
        const long here = f.ny - y < left ? f.ny - y : left;
        Outer *from = block + y * sy + z * f.sz;
        if (sx == 1)
            for (long k = 0; k < here; ++k, from += sy, view += N) move_run<Inner, Outer, in, N>(view, from, N, 1);
        else
            for (long k = 0; k < here; ++k, from += sy, view += N) move_run<Inner, Outer, in, N>(view, from, N, sx);
        left -= here;
    }
    return lines * N;
}

// A point by its indices in the selected extents.
struct Place {
    long x, y, z;
};

inline Place place_of(const Field &f, const long point) {
    const long row = point / f.nx, z = row / f.ny;
    return {point - row * f.nx, row - z * f.ny, z};
}

// A variable of a field: `count` points from a place on.
template <class Inner, class Outer, bool in>
inline void move_row(const Field &f, const Place from, const long count, const bool past, Inner *view, Outer *block) {
    long x = from.x, y = from.y, z = from.z, at = 0;
    while (at < count) {
        const long lines = x || f.nx > 4 ? 0 : (count - at) / f.nx;
        if (lines) {
            switch (f.nx) {
            case 1:
                at += move_lines<Inner, Outer, in, 1>(f, view + at, block + z * f.sz, y, lines);
                break;
            case 2:
                at += move_lines<Inner, Outer, in, 2>(f, view + at, block + z * f.sz, y, lines);
                break;
            case 3:
                at += move_lines<Inner, Outer, in, 3>(f, view + at, block + z * f.sz, y, lines);
                break;
            default:
                at += move_lines<Inner, Outer, in, 4>(f, view + at, block + z * f.sz, y, lines);
            }
            y += lines, z += y / f.ny, y %= f.ny;
            continue;
        }
        const long run = f.nx - x < count - at ? f.nx - x : count - at;
        Outer *const first = block + x * f.sx + y * f.sy + z * f.sz;
        if (past && f.sx == 1 && run >= 32) {
            if (in) copy_past(view + at, first, run);
            else copy_past(first, view + at, run);
        } else move_run<Inner, Outer, in, 0>(view + at, first, run, f.sx);
        at += run;
        x = 0;
        if (++y == f.ny) y = 0, ++z;
    }
}

// Bytes between the first and the last point of a tile.
constexpr long TILE = 1 << 13;

// Points that are copied variable by variable. Where a point's variables lie side by side (the species first), a pass
// reads the cache lines of all variables: those of a tile stay in L1 until the last variable has passed.
inline long tile_of(const Moves &a, const Field &f, const long count) {
    if (f.variables == 1) return count;
    const long beside = labs(first_of<char>(a, f, 1) - first_of<char>(a, f, 0)) * (f.bases < 0 ? f.size : 1);
    const long apart = labs(f.sx) * f.size;
    if (beside == 0 || beside >= apart) return count;
    const long points = TILE / apart & ~7;
    return points < 8 ? 8 : points;
}

// All variables of `count` points from number `start` on.
template <class Inner, class Outer, bool in>
inline void move_field(const Moves &a, const Field &f, const long start, const long count, Inner *const view) {
    const long tile = tile_of(a, f, count);
    for (long at = 0; at < count; at += tile) {
        const Place from = place_of(f, start + at);
        const long here = count - at < tile ? count - at : tile;
        for (long v = 0; v < f.variables; ++v)
            move_row<Inner, Outer, in>(f, from, here, a.past & PAST, view + v * f.ld + at, first_of<Outer>(a, f, v));
    }
}

template <class Inner, bool in> void move_points(const Moves &a, const long first, const long count) {
    for (long n = 0; n < a.fields; ++n) {
        const Field &f = a.field[n];
        Inner *const view = (Inner *)f.view + a.column + first;
        if (f.size == 8) move_field<Inner, double, in>(a, f, a.start + first, count, view);
        else move_field<Inner, float, in>(a, f, a.start + first, count, view);
    }
    if (a.past & PAST) done_past();
}

static Helpers helpers;
static thread_local bool begun = false; // this thread began a copy, and has to call finish_moves

template <class Inner, bool in>
void move_part(const void *record, const long part, const long parts, const long items) {
    const long low = items * part / parts & ~7, high = items * (part + 1) / parts & ~7;
    move_points<Inner, in>(*(const Moves *)record, low, (part + 1 == parts ? items : high) - low);
}

static int finish() {
    if (begun) helpers.finish();
    begun = false;
    return 0;
}

// clang-format off
// OpenMP's threads are shared with the host, which may have set floating-point traps; a conversion to float may overflow.
// Copies that bypass the caches are for a device: no CPU kernel follows that needs these cores, so helpers copy.
#define MOVE_KERNEL(name, Inner, in)                                                                                   \
    KERNEL(name, Moves, 256) {                                                                                         \
        if (threads == 1) return move_points<Inner, in>(*record, 0, items), 0;                                         \
        if (record->past) {                                                                                            \
            begun |= helpers.begin(move_part<Inner, in>, record, items, threads);                                      \
            return record->past & LATER ? 0 : finish();                                                                \
        }                                                                                                              \
        _Pragma("omp parallel for schedule(static) num_threads(threads)")                                              \
        for (int part = 0; part < threads; ++part) {                                                                   \
            fenv_t host;                                                                                               \
            feholdexcept(&host), fesetenv(FE_DFL_ENV);                                                                 \
            move_part<Inner, in>(record, part, threads, items);                                                        \
            fesetenv(&host);                                                                                           \
        }                                                                                                              \
        return 0;                                                                                                      \
    }
// clang-format on
KERNEL(finish_moves, Moves, 256) { return finish(); }
#endif

// The number in a name: bytes of an element of the view.
MOVE_KERNEL(gather_8, double, true)
MOVE_KERNEL(gather_4, float, true)
MOVE_KERNEL(scatter_8, double, false)
MOVE_KERNEL(scatter_4, float, false)

// The last row of a view of fractions: 1 less the other rows, subtracted in double in the order of the rows.
struct Fractions {
    void *view;
    long ld, rows, column;
};

template <class Inner> POINT_FN void last_fraction(const Fractions &a, const long point) {
    Inner *const y = (Inner *)a.view + a.column + point;
    double rest = 1.0;
    for (long s = 0; s < a.rows - 1; ++s) rest -= y[s * a.ld];
    y[(a.rows - 1) * a.ld] = Inner(rest);
}

ITEM_KERNEL(last_fraction_8, Fractions, 256, last_fraction<double>)
ITEM_KERNEL(last_fraction_4, Fractions, 256, last_fraction<float>)
