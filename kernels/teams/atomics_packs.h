// Atomics and unique ids on a CPU.
#pragma once

// ---- atomics: each returns the value before
template <class T, class Make> POINT_FN T atomic_change(T &at, const Make &make) {
    CAN_TELL(0);
    T old, wanted;
    __atomic_load(&at, &old, __ATOMIC_RELAXED);
    do wanted = make(old);
    while (!__atomic_compare_exchange(&at, &old, &wanted, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return old;
}

template <class T, class X> POINT_FN T atomic_add(T &at, X x) {
    return atomic_change(at, [&](T old) { return T(old + T(x)); });
}

template <class T, class X> POINT_FN T atomic_max(T &at, X x) {
    return atomic_change(at, [&](T old) { return old > T(x) ? old : T(x); });
}

template <class T, class X> POINT_FN T atomic_exchange(T &at, X x) {
    return atomic_change(at, [&](T) { return T(x); });
}

template <class T, class W, class X> POINT_FN T atomic_compare_exchange(T &at, W wanted, X x) {
    return atomic_change(at, [&](T old) { return old == T(wanted) ? T(x) : old; });
}

template <class T, bool FULL> POINT_FN void atomic_add(Elements<T, FULL> at, vec x) {
    for (int l = 0; l < at.i.count; ++l) atomic_add(at.data[lane_of(at.i, l)], x.v[l]);
}

// one element, what each lane brings
template <bool FULL, class T> POINT_FN void atomic_add(Lanes<FULL> i, T &at, vec x) {
    for (int l = 0; l < i.count; ++l) atomic_add(at, x.v[l]);
}

template <class T, class X> POINT_FN void atomic_add(long, T &at, X x) { atomic_add(at, x); }

// Ids below `size`, each held by one thread at a time. field: a bit an id, null: a thread's own number.
struct Token {
    unsigned *field;
    long size;
    POINT_FN long acquire() const {
        CAN_TELL(0);
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
