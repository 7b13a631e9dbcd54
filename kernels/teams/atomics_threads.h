// Atomics and unique ids on CUDA.
#pragma once

// ---- atomics: each returns the value before. Whole numbers are of 64 bits.
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

POINT_FN double atomic_add(double &at, double x) { return atomicAdd(&at, x); }
POINT_FN float atomic_add(float &at, double x) { return atomicAdd(&at, float(x)); }
POINT_FN long atomic_add(long &at, long x) { return long(atomicAdd((word *)&at, word(x))); }
template <class T, class X> POINT_FN T atomic_max(T &at, X x) {
    return atomic_change(at, [&](T old) { return old > T(x) ? old : T(x); });
}

template <class T, class X> POINT_FN T atomic_exchange(T &at, X x) {
    return from_bits_of<T>(atomicExch((typename Bits<T>::type *)&at, Bits<T>::of(T(x))));
}

template <class T, class W, class X> POINT_FN T atomic_compare_exchange(T &at, W wanted, X x) {
    return from_bits_of<T>(atomicCAS((typename Bits<T>::type *)&at, Bits<T>::of(T(wanted)), Bits<T>::of(T(x))));
}

// one element, what each lane brings
template <class T, class X> POINT_FN void atomic_add(long, T &at, X x) { atomic_add(at, x); }

// Ids below `size`, each held by one thread at a time. field: a bit an id. The search begins where no other warp that
// runs now begins, if the pool is large enough.
struct Token {
    unsigned *field;
    long size;
    POINT_FN long acquire() const {
        const long words = (size + 31) / 32;
        for (long w = place_of_warp() % words;; w = (w + 1) % words) {
            const long left = size - 32 * w;
            const unsigned valid = left < 32 ? (1u << left) - 1 : 0xffffffffu, mine = 1u << (threadIdx.x & 31);
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
