// Few products of whole numbers, summed exactly: whole_numbers.py writes the record. The operands are copied as numbers
// of 64 bits, those of a run side by side. A sum that might pass `most` answers 1, and nothing is written.
#pragma once
#include <stdint.h>

typedef int64_t Whole;
constexpr double BEYOND = 9.2e18; // below 2^63

// How an operand's numbers lie: bytes of a number, less than none if it has a sign
struct Lie {
    long bytes, dimensions;
    const long *extents, *steps; // bytes
};

// Copies a run of numbers. most: the largest of the numbers and of -1 minus the negative ones
template <class Number, bool APART>
static void widen_run(const char *from, const long step, Whole *to, const long count, Whole &most) {
    Whole largest = most;
    for (long i = 0; i < count; ++i) {
        Number number;
        __builtin_memcpy(&number, from + i * (APART ? step : long(sizeof(number))), sizeof(number));
        const Whole whole = Whole(number);
        const Whole size = number < 0 ? -1 - whole : whole;
        largest = size > largest ? size : largest;
        to[i] = whole;
        if (sizeof(number) == 8 && number >= 0 && whole < 0) largest = INT64_MAX; // beyond 2^63
    }
    most = largest;
}
template <class Number> static Whole *widen(const Lie &lie, const int d, const char *from, Whole *to, Whole &most) {
    const long extent = d < lie.dimensions ? lie.extents[d] : 1, step = d < lie.dimensions ? lie.steps[d] : 0;
    if (d + 1 < lie.dimensions) {
        for (long i = 0; i < extent; ++i) to = widen<Number>(lie, d + 1, from + i * step, to, most);
        return to;
    }
    if (step == long(sizeof(Number))) widen_run<Number, false>(from, step, to, extent, most);
    else widen_run<Number, true>(from, step, to, extent, most);
    return to + extent;
}

static Whole *widened(const Lie &lie, const char *from, Whole *to, Whole &most) {
    switch (lie.bytes) {
    case 1:
        return widen<uint8_t>(lie, 0, from, to, most);
    case 2:
        return widen<uint16_t>(lie, 0, from, to, most);
    case 4:
        return widen<uint32_t>(lie, 0, from, to, most);
    case 8:
        return widen<uint64_t>(lie, 0, from, to, most);
    case -1:
        return widen<int8_t>(lie, 0, from, to, most);
    case -2:
        return widen<int16_t>(lie, 0, from, to, most);
    case -4:
        return widen<int32_t>(lie, 0, from, to, most);
    default:
        return widen<int64_t>(lie, 0, from, to, most);
    }
}

template <class Number> static char *leave(char *out, const Whole *row, const long count) {
    for (long i = 0; i < count; ++i) {
        const Number number = Number(row[i]);
        __builtin_memcpy(out + i * long(sizeof(number)), &number, sizeof(number));
    }
    return out + count * long(sizeof(Number));
}
// Into a result whose numbers have so many bytes; 0: into truth values
static char *leave(char *out, const long bytes, const Whole *row, const long count) {
    switch (bytes) {
    case 0:
        return leave<bool>(out, row, count);
    case 1:
        return leave<int8_t>(out, row, count);
    case 2:
        return leave<int16_t>(out, row, count);
    case 4:
        return leave<int32_t>(out, row, count);
    default:
        return leave<int64_t>(out, row, count);
    }
}

// Products of the numbers of a run, the last loop. GOES: of each operand a bit, whether it lies side by side along the
// run; else it stays
template <unsigned GOES> POINT_FN Whole product(const Whole *const *x, const long i) {
    Whole made = 1;
    UNROLL
    for (int k = 0; k < OPERANDS; ++k) made *= x[k][GOES >> k & 1 ? i : 0];
    return made;
}

// All sums: loops over the output but for its last index, loops over the terms, then a run. A run lies along the
// output's last index, whose sums are added up side by side, or along the last sum (`dots`)
template <unsigned GOES> struct Sums {
    const Arguments &a;
    char *out;
    Whole row[FEW];

    explicit Sums(const Arguments &a) : a(a), out((char *)a.out) {}
    static void move(const Arguments &a, const int loop, const Whole **x) {
        for (int k = 0; k < OPERANDS; ++k) x[k] += a.step[k * LOOPS + loop];
    }
    void add_run(const Whole *const *x) {
        const long count = a.extent[a.loops - 1];
        if (a.dots) {
            Whole sum = 0;
            for (long i = 0; i < count; ++i) sum += product<GOES>(x, i);
            row[0] += sum;
        } else
            for (long i = 0; i < count; ++i) row[i] += product<GOES>(x, i);
    }
    void terms(const int loop, const Whole *const *from) {
        if (loop == a.loops - 1) return add_run(from);
        const Whole *x[OPERANDS];
        for (int k = 0; k < OPERANDS; ++k) x[k] = from[k];
        for (long i = 0; i < a.extent[loop]; ++i, move(a, loop, x)) terms(loop + 1, x);
    }
    void all(const int loop, const Whole *const *from) {
        if (loop == a.outer) {
            const long count = a.dots ? 1 : a.extent[a.loops - 1];
            for (long i = 0; i < count; ++i) row[i] = 0;
            terms(loop, from);
            out = leave(out, a.result, row, count);
            return;
        }
        const Whole *x[OPERANDS];
        for (int k = 0; k < OPERANDS; ++k) x[k] = from[k];
        for (long i = 0; i < a.extent[loop]; ++i, move(a, loop, x)) all(loop + 1, x);
    }
};
template <unsigned GOES = 0> static void add_up(const Arguments &a, const Whole *const *x) {
    if constexpr (GOES + 1 < 1u << OPERANDS) {
        if (a.goes > GOES) return add_up<GOES + 1>(a, x);
    }
    Sums<GOES>(a).all(0, x);
}

KERNEL(contraction, Arguments) {
    const Arguments &a = *record;
    Whole room[OPERANDS * FEW], *end = room;
    const Whole *x[OPERANDS];
    double most = a.terms;
    const void *const from[] = {WHOLE_OPERANDS};
    for (int k = 0; k < OPERANDS; ++k) {
        Whole size = 0;
        const Lie lie = {a.bytes[k], a.dimensions[k], a.shape + k * DIMENSIONS, a.lies + k * DIMENSIONS};
        x[k] = end;
        end = widened(lie, (const char *)from[k], end, size);
        most *= double(size) + 1;
    }
    if (!(most <= a.most) || most > BEYOND) return 1;
    add_up(a, x);
    return 0;
}
