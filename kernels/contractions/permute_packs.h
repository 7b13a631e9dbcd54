// Copies of arrays to another order of their dimensions, on CPU vector units. The work is a plane of rows and columns,
// for each turn of the outer loops, in blocks that fit the first cache. Where the source runs along the rows and the
// target along the columns, packs are transposed in registers.
//
// Arguments: source, target; loops over planes, the slowest first; rows, columns: extent, extent of a block, steps in
// source and target; number, old: of scaled copies. An item is a block of a plane. Macros: NAME of the kernel, NUMBER:
// type, SCALES: target = number * source (+ old target).
#pragma once
#include <string.h>
#include "engine/numbers/kernel.h"
#include "contractions/transpose_packs.h"

template <class T> constexpr bool in_packs = false;
template <> constexpr bool in_packs<float> = true;
template <> constexpr bool in_packs<double> = true;
template <class T> struct Lanes {
    typedef T type __attribute__((vector_size(PACK_BYTES)));
    static constexpr int count = PACK_BYTES / sizeof(T);
};
template <class T> struct Two {
    T v[2];
};
template <class T> POINT_FN Two<T> operator*(double number, Two<T> x) {
    return {T(number) * x.v[0], T(number) * x.v[1]};
}
template <class T> POINT_FN Two<T> operator+(Two<T> x, Two<T> y) { return {x.v[0] + y.v[0], x.v[1] + y.v[1]}; }
template <class T> struct Inside { // the type of the number that a T is multiplied by
    typedef T type;
};
template <class T> struct Inside<Two<T>> {
    typedef double type;
};

struct Plane {
    long rows, columns, row_from, row_to, column_from, column_to;
    double number;
    bool old;
};

template <class T, bool SCALED> POINT_FN void put(const Plane &p, T *to, T x) {
    if constexpr (SCALED) {
        const T value = typename Inside<T>::type(p.number) * x;
        *to = p.old ? *to + value : value;
    } else *to = x;
}
template <class T, bool SCALED> POINT_FN void one_by_one(const Plane &p, const T *from, T *to, long r0, long c0) {
    for (long r = r0; r < p.rows; ++r) {
        _Pragma("GCC unroll 4") for (long c = c0; c < p.columns; ++c)
            put<T, SCALED>(p, to + r * p.row_to + c * p.column_to, from[r * p.row_from + c * p.column_from]);
    }
}

// Packs of lines that lie `step` numbers apart.
template <class V, class T, int... I> POINT_FN void fetch(V *x, const T *from, long step, Numbers<I...>) {
    (memcpy(&x[I], from + I * step, sizeof(V)), ...);
}

// The source runs along the rows, the target along the columns.
template <class T, bool SCALED> POINT_FN void crossed(const Plane &p, const T *from, T *to) {
    typedef typename Lanes<T>::type V;
    constexpr int L = Lanes<T>::count;
    const long rows = p.rows - p.rows % L, columns = p.columns - p.columns % L;
    for (long c = 0; c < columns; c += L)
        for (long r = 0; r < rows; r += L) {
            V x[L];
            fetch(x, from + r + c * p.column_from, p.column_from, typename Count<L>::type());
            transpose(x);
            UNROLL
            for (int i = 0; i < L; ++i) {
                T *const line = to + (r + i) * p.row_to + c;
                if constexpr (SCALED) {
                    V old = {};
                    if (p.old) memcpy(&old, line, sizeof(V));
                    x[i] = p.old ? old + T(p.number) * x[i] : T(p.number) * x[i];
                }
                memcpy(line, &x[i], sizeof(V));
            }
        }

    Plane rest = p;
    one_by_one<T, SCALED>(rest, from, to, 0, columns);
    rest.columns = columns;
    one_by_one<T, SCALED>(rest, from, to, rows, 0);
}

// A short line, by vectors of BYTES or fewer. The last one has some of the numbers of the one before it, too.
template <int BYTES = PACK_BYTES> POINT_FN void copy_line(char *to, const char *from, long bytes) {
    if constexpr (BYTES >= 4) {
        if (bytes < BYTES) return copy_line<BYTES / 2>(to, from, bytes);
        for (long b = 0; b + BYTES < bytes; b += BYTES) memcpy(to + b, from + b, BYTES);
        memcpy(to + bytes - BYTES, from + bytes - BYTES, BYTES);
    }
}

// Both run along the columns.
template <class T, bool SCALED> POINT_FN void along(const Plane &p, const T *__restrict__ from, T *__restrict__ to) {
    const long bytes = p.columns * sizeof(T);
    for (long r = 0; r < p.rows; ++r) {
        const T *const source = from + r * p.row_from;
        T *const target = to + r * p.row_to;
        if constexpr (SCALED) {
#pragma GCC ivdep
            for (long c = 0; c < p.columns; ++c) put<T, SCALED>(p, target + c, source[c]);
        } else if (bytes < 256) copy_line((char *)target, (const char *)source, bytes);
        else memcpy(target, source, bytes);
    }
}

template <class T, bool SCALED> POINT_FN void permuted(const Arguments &a, long item) {
    // The block of the plane, then the turns of the outer loops.
    const long across = (a.columns + a.column_block - 1) / a.column_block;
    const long down = (a.rows + a.row_block - 1) / a.row_block;
    const long c = item % across * a.column_block, r = item / across % down * a.row_block;
    long rest = item / across / down, from = 0, to = 0;
    for (long d = a.loops - 1; d >= 0; --d) {
        const long turn = rest % a.extent[d];
        rest /= a.extent[d];
        from += turn * a.from_step[d];
        to += turn * a.to_step[d];
    }

    const long rows = a.rows - r < a.row_block ? a.rows - r : a.row_block;
    const long columns = a.columns - c < a.column_block ? a.columns - c : a.column_block;
    const Plane p = {rows, columns, a.row_from, a.row_to, a.column_from, a.column_to, a.number, a.old != 0};
    const T *const source = (const T *)a.source + from + r * p.row_from + c * p.column_from;
    T *const target = (T *)a.target + to + r * p.row_to + c * p.column_to;

    if (p.column_from == 1 && p.column_to == 1) {
        along<T, SCALED>(p, source, target);
        return;
    }
    if constexpr (in_packs<T>)
        if (p.row_from == 1 && p.column_to == 1) {
            crossed<T, SCALED>(p, source, target);
            return;
        }
    one_by_one<T, SCALED>(p, source, target, 0, 0);
}

ITEM_KERNEL(NAME, Arguments, 1, (permuted<NUMBER, SCALES>))
