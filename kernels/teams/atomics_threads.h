// Atomics and unique ids on CUDA.
#pragma once

#include "teams/atomic_operations.h"

typedef unsigned long long word;
template <class T> struct Bits { // 8 bytes
    typedef word type;
    POINT_FN static word of(double x) { return word(__double_as_longlong(x)); }
    POINT_FN static word of(long x) { return word(x); }
    POINT_FN static void back(word w, double &x) { x = __longlong_as_double((long long)w); }
    POINT_FN static void back(word w, long &x) { x = long(w); }
};

template <> struct Bits<float> {
    typedef int type;
    POINT_FN static int of(float x) { return __float_as_int(x); }
    POINT_FN static void back(int w, float &x) { x = __int_as_float(w); }
};

template <> struct Bits<int> {
    typedef int type;
    POINT_FN static int of(int x) { return x; }
    POINT_FN static void back(int w, int &x) { x = w; }
};

template <class T> POINT_FN T from_bits_of(typename Bits<T>::type w) {
    T x;
    Bits<T>::back(w, x);
    return x;
}

template <class T, class Make> POINT_FN T atomic_change(T &at, const Make &make) {
    typedef typename Bits<T>::type W;
    W old = *(volatile W *)&at, seen;
    for (;; old = seen) {
        seen = atomicCAS((W *)&at, old, Bits<T>::of(make(from_bits_of<T>(old))));
        if (seen == old) return from_bits_of<T>(old);
    }
}

template <class T> POINT_FN T atomic_load(T &at) { return *(volatile T *)&at; }
template <class T, class X> POINT_FN T atomic_exchange(T &at, X x) {
    return from_bits_of<T>(atomicExch((typename Bits<T>::type *)&at, Bits<T>::of(Made<T>::of(x))));
}

template <class T, class X> POINT_FN void atomic_store(T &at, X x) { atomic_exchange(at, x); }
template <class T, class W, class X> POINT_FN T atomic_compare_exchange(T &at, W wanted, X x) {
    return from_bits_of<T>(
        atomicCAS((typename Bits<T>::type *)&at, Bits<T>::of(Made<T>::of(wanted)), Bits<T>::of(Made<T>::of(x))));
}

// What the hardware has. Sums of long are those of unsigned numbers.
POINT_FN double atomic_by(Atomic_add, double &at, double x) { return atomicAdd(&at, x); }
POINT_FN float atomic_by(Atomic_add, float &at, float x) { return atomicAdd(&at, x); }
POINT_FN int atomic_by(Atomic_add, int &at, int x) { return atomicAdd(&at, x); }
POINT_FN long atomic_by(Atomic_add, long &at, long x) { return long(atomicAdd((word *)&at, word(x))); }
POINT_FN double atomic_by(Atomic_sub, double &at, double x) { return atomicAdd(&at, -x); }
POINT_FN float atomic_by(Atomic_sub, float &at, float x) { return atomicAdd(&at, -x); }
POINT_FN int atomic_by(Atomic_sub, int &at, int x) { return atomicAdd(&at, -x); }
POINT_FN long atomic_by(Atomic_sub, long &at, long x) { return long(atomicAdd((word *)&at, word(-x))); }
POINT_FN int atomic_by(Atomic_max, int &at, int x) { return atomicMax(&at, x); }
POINT_FN long atomic_by(Atomic_max, long &at, long x) { return long(atomicMax((long long *)&at, (long long)x)); }
POINT_FN int atomic_by(Atomic_min, int &at, int x) { return atomicMin(&at, x); }
POINT_FN long atomic_by(Atomic_min, long &at, long x) { return long(atomicMin((long long *)&at, (long long)x)); }
POINT_FN int atomic_by(Atomic_and, int &at, int x) { return atomicAnd(&at, x); }
POINT_FN long atomic_by(Atomic_and, long &at, long x) { return long(atomicAnd((word *)&at, word(x))); }
POINT_FN int atomic_by(Atomic_or, int &at, int x) { return atomicOr(&at, x); }
POINT_FN long atomic_by(Atomic_or, long &at, long x) { return long(atomicOr((word *)&at, word(x))); }
POINT_FN int atomic_by(Atomic_xor, int &at, int x) { return atomicXor(&at, x); }
POINT_FN long atomic_by(Atomic_xor, long &at, long x) { return long(atomicXor((word *)&at, word(x))); }

// x of the lanes of a mask, joined; the first lane gets it.
template <class OPERATION, class T> POINT_FN T joined_of_lanes(unsigned mask, T x) {
    constexpr unsigned ALL = 0xffffffffu;
    if (mask == ALL) {
        UNROLL
        for (int bit = 1; bit < 32; bit <<= 1) x = OPERATION::join(x, of_partner(ALL, x, bit));
        return x;
    }

    // In each round every other lane takes the x of the next one.
    const unsigned lane = threadIdx.x & 31;
    const unsigned behind = ~1u << lane;
    unsigned number = __popc(mask & ((1u << lane) - 1)); // of this lane, among those that are left
    for (unsigned left = mask; left & (left - 1);) {
        const int next = __ffs(left & behind) - 1; // -1: this is the last
        const T other = of_lane(mask, x, next < 0 ? lane : next);
        if (next >= 0) x = OPERATION::join(x, other);
        left &= __ballot_sync(mask, !(number & 1)), number >>= 1;
    }
    return x;
}

// Whether all lanes that are here name the same element: they then join their operands, and the first lane changes
// it. Shared memory joins whole numbers of 32 bits by itself, where a test would cost more: loops with one are not
// unrolled.
template <class OPERATION, class T> POINT_FN bool changed_together(OPERATION operation, T &at, T b) {
    if (SAME<T, int> && __isShared(&at)) return false;

    const unsigned here = __activemask();
    int alike;
    __match_all_sync(here, (word)&at, &alike);
    if (!alike) return false;

    b = joined_of_lanes<OPERATION>(here, b);
    if (int(threadIdx.x & 31) == __ffs(here) - 1) atomic_by(operation, at, b);
    __syncwarp(here); // behind it each lane finds its change
    return true;
}

// A change of which nobody asks for the value before
template <class OPERATION, class T, class X> POINT_FN void atomic_bring(OPERATION operation, T &at, const X &x) {
    const T b = Made<T>::of(x);
    if constexpr (OPERATION::CAN_JOIN)
        if (changed_together(operation, at, b)) return;
    atomic_by(operation, at, b);
}

#define ATOMIC_IN_PACKS(name)
#include "teams/atomics.h"

// Ids below `size`, each held by one thread at a time. field: a bit an id. The search begins where no other warp that
// runs now begins, if the pool is large enough.
struct Token {
    unsigned *field;
    long size;
    POINT_FN long acquire() const {
        const long words = (size + 31) / 32;
        for (long w = place_of_warp() % words;; w = (w + 1) % words) {
            const long left = size - 32 * w;
            const unsigned valid = left < 32 ? (1u << left) - 1 : 0xffffffffu;
            const unsigned mine = 1u << (threadIdx.x & 31);
            unsigned free = ~*(volatile unsigned *)(field + w) & valid;
            while (free) {
                const unsigned bit = free & mine ? mine : free & (0u - free);
                const unsigned held = atomicOr(field + w, bit);
                if (!(held & bit)) {
                    __threadfence();
                    return 32 * w + __popc(bit - 1);
                }
                free = ~held & valid;
            }
            if (w == words - 1) __nanosleep(200);
        }
    }
    POINT_FN void release(long id) const {
        __threadfence();
        atomicAnd(field + id / 32, ~(1u << id % 32));
    }
};
