// Real and imaginary parts of complex numbers: apart (`split`), and side by side again (`join`). The parts of W numbers
// are two packs. parts.py writes the record.
#pragma once
#include "contractions/packs.h"

constexpr long BLOCK = 1 << 14; // numbers of an item
typedef Pack<W> V;

template <int PART, int... I> POINT_FN V part_of(V low, V high, Numbers<I...>) {
    return __builtin_shufflevector(low, high, (2 * I + PART)...);
}
template <int HALF, int... I> POINT_FN V half_of(V real, V imaginary, Numbers<I...>) {
    return __builtin_shufflevector(real, imaginary, (I % 2 * W + HALF * (W / 2) + I / 2)...);
}

struct Parts {
    scalar *whole, *real, *imaginary;
    long count;

    POINT_FN Parts(const Arguments &a, const long block)
        : whole((scalar *)a.whole + 2 * block * BLOCK), real((scalar *)a.real + block * BLOCK),
          imaginary((scalar *)a.imaginary + block * BLOCK) {
        const long left = a.count - block * BLOCK;
        count = left < BLOCK ? left : BLOCK;
    }

    void split() const {
        typedef typename Count<W>::type All;
        long i = 0;
        for (; i + W <= count; i += W) {
            const V low = fetch<V, W, 1>(whole + 2 * i);
            const V high = fetch<V, W, 1>(whole + 2 * i + W);
            leave<W>(real + i, part_of<0>(low, high, All()));
            leave<W>(imaginary + i, part_of<1>(low, high, All()));
        }
        for (; i < count; ++i) {
            real[i] = whole[2 * i];
            imaginary[i] = whole[2 * i + 1];
        }
    }

    void join() const {
        typedef typename Count<W>::type All;
        long i = 0;
        for (; i + W <= count; i += W) {
            const V re = fetch<V, W, 1>(real + i);
            const V im = fetch<V, W, 1>(imaginary + i);
            leave<W>(whole + 2 * i, half_of<0>(re, im, All()));
            leave<W>(whole + 2 * i + W, half_of<1>(re, im, All()));
        }
        for (; i < count; ++i) {
            whole[2 * i] = real[i];
            whole[2 * i + 1] = imaginary[i];
        }
    }
};

KERNEL(split, Arguments) {
    const Arguments a = *record;
#pragma omp parallel for schedule(static) num_threads(threads) if (items > 1)
    for (long block = 0; block < items; ++block) Parts(a, block).split();
    return 0;
}
KERNEL(join, Arguments) {
    const Arguments a = *record;
#pragma omp parallel for schedule(static) num_threads(threads) if (items > 1)
    for (long block = 0; block < items; ++block) Parts(a, block).join();
    return 0;
}
