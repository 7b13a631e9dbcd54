// Atomics and unique ids on a CPU.
#pragma once

#include "teams/atomic_operations.h"

// at = make(what is there); returns what was there
template <class T, class Make> POINT_FN T atomic_change(T &at, const Make &make) {
    CAN_TELL(ANYONE);
    if (of_this_thread(&at)) {
        const T alone = at;
        at = make(alone);
        return alone;
    }
    T old, wanted;
    __atomic_load(&at, &old, __ATOMIC_RELAXED);
    do wanted = make(old);
    while (!__atomic_compare_exchange(&at, &old, &wanted, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return old;
}

// Whole numbers: an instruction that does not try again.
#define ATOMIC_INSTRUCTION(name) \
    template <class T> POINT_FN T atomic_by(Atomic_##name, T &at, T b) { \
        CAN_TELL(ANYONE); \
        if constexpr (T(0.5) == T(0)) \
            if (!of_this_thread(&at)) return __atomic_fetch_##name(&at, b, __ATOMIC_RELAXED); \
        return atomic_change(at, [&](T a) { return Atomic_##name::of(a, b); }); \
    }
ATOMIC_INSTRUCTION(add)
ATOMIC_INSTRUCTION(sub)
ATOMIC_INSTRUCTION(and)
ATOMIC_INSTRUCTION(or)
ATOMIC_INSTRUCTION(xor)
#undef ATOMIC_INSTRUCTION

// Where nobody asks for the value before: each lane of the pack at work brings its x. Those that can be joined come
// together, as on a device.
template <class OPERATION, class T, class X>
__attribute__((noinline)) void atomic_bring_all(OPERATION operation, T &at, const X &x) {
    const int count = count_at_work();
    if constexpr (OPERATION::CAN_JOIN) {
        T all = Made<T>::of(lane_of(x, 0));
        for (int l = 1; l < count; ++l) all = OPERATION::join(all, Made<T>::of(lane_of(x, l)));
        atomic_by(operation, at, all);
    } else
        for (int l = 0; l < count; ++l) atomic_by(operation, at, Made<T>::of(lane_of(x, l)));
}

template <class OPERATION, class T, class X> POINT_FN void atomic_bring(OPERATION operation, T &at, const X &x) {
#ifdef COUNTS_LANES
    const int count = of_this_thread(&at) ? count_in_room(&at) : count_at_work();
    if (__builtin_expect(count > 1, false)) return atomic_bring_all(operation, at, x);
#endif
    atomic_by(operation, at, Made<T>::of(lane_of(x, 0)));
}

template <class T> POINT_FN T atomic_load(T &at) {
    CAN_TELL(ANYONE);
    T x;
    __atomic_load(&at, &x, __ATOMIC_RELAXED);
    return x;
}

template <class T, class X> POINT_FN T atomic_exchange(T &at, X x) {
    return atomic_change(at, [&](T) { return Made<T>::of(x); });
}

template <class T, class X> POINT_FN void atomic_store(T &at, X x) { atomic_exchange(at, x); }
template <class T, class W, class X> POINT_FN T atomic_compare_exchange(T &at, W wanted, X x) {
    return atomic_change(at, [&](T old) { return old == Made<T>::of(wanted) ? Made<T>::of(x) : old; });
}

// elements at a pack of indices; a single element, what each lane brings
#define ATOMIC_IN_PACKS(name) \
    template <class T, class I, class X> POINT_FN void atomic_##name(const Elements<T, I> &at, const X &x) { \
        for (int l = 0; l < count_of_lanes(at.i); ++l) atomic_fetch_##name(at.data[lane_of(at.i, l)], lane_of(x, l)); \
    } \
    template <bool FULL, class T, class X> POINT_FN void atomic_##name(Lanes<FULL> i, T &at, const X &x) { \
        for (int l = 0; l < i.count; ++l) atomic_fetch_##name(at, lane_of(x, l)); \
    }
#include "teams/atomics.h"

template <class T, class I> struct AtomicElement<Elements<T, I>> {
    Elements<T, I> at;
    ATOMIC_CHANGES
};

template <class T, class I> POINT_FN AtomicElement<Elements<T, I>> atomic_element(Elements<T, I> at) { return {at}; }

// Ids below `size`, each held by one thread at a time. field: a bit an id, null: a thread's own number.
struct Token {
    unsigned *field;
    long size;
    POINT_FN long acquire() const {
        CAN_TELL(ANYONE);
        if (!field) return omp_get_thread_num();
        const long words = (size + 31) / 32;
        for (long w = omp_get_thread_num() % words;; w = (w + 1) % words) {
            for (int bit = 0; bit < 32 && 32 * w + bit < size; ++bit)
                if (!(__atomic_fetch_or(field + w, 1u << bit, __ATOMIC_ACQUIRE) >> bit & 1)) return 32 * w + bit;
            if (w == words - 1) sched_yield();
        }
    }
    POINT_FN void release(long id) const {
        if (field) __atomic_fetch_and(field + id / 32, ~(1u << id % 32), __ATOMIC_RELEASE);
    }
};
