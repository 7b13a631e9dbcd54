// Scattered sums on a CPU: each thread adds to a copy of its own, which begins and ends as 0; to the array itself where
// there is one thread; by atomics where the copies would be too large.
#pragma once

template <class V, class T, class I>
POINT_FN ScatterElement<Scatter<V>, Elements<T, I>> scatter_of(const Scatter<V> &to, Elements<T, I> at) {
    return {to, at};
}

template <class V> POINT_FN long elements_of(const V &view) {
    long count = 1;
    for (const long n : view.extent) count *= n;
    return count;
}

// From a thread's copy to the next: two threads do not write to the same lines of memory.
template <class V> POINT_FN long apart(const V &view) {
    constexpr long LINES = 128 / sizeof(*view.data);
    return (elements_of(view) + LINES - 1) / LINES * LINES;
}

// A body sees the copy of its thread in place of the array.
template <class V> POINT_FN Scatter<V> copy_of_thread(const Scatter<V> &all) {
    Scatter<V> own = all;
#ifdef COUNTS_LANES
    own.lanes = lanes_at_work;
#endif
    if (all.copies && all.copies != all.view.data)
        own.view.data = (decltype(own.view.data))all.copies + omp_get_thread_num() * apart(all.view);
    return own;
}

template <class V, class T, class X> POINT_FN void scatter_add(const Scatter<V> &to, T &at, const X &x) {
    CAN_TELL(ANYONE);
    if (!to.copies) return atomic_add(at, x);
    at += Made<T>::of(lane_of(x, 0));
    for (int l = 1; __builtin_expect(l < *to.lanes, false); ++l) at += Made<T>::of(lane_of(x, l));
}

// One lane after the other: an index may stand there twice.
template <class V, class T, class I, class X>
POINT_FN void scatter_add(const Scatter<V> &to, const Elements<T, I> &at, const X &x) {
    CAN_TELL(ANYONE);
    if (!to.copies) return atomic_add(at, x);
    for (int l = 0; l < count_of_lanes(at.i); ++l) at.data[lane_of(at.i, l)] += Made<T>::of(lane_of(x, l));
}

template <class V> POINT_FN void contribute_copies(const Scatter<V> &to, int threads) {
    auto *const copies = (decltype(to.view.data))to.copies;
    if (!copies || copies == to.view.data) return;
    const long count = elements_of(to.view), next = apart(to.view);
#pragma omp parallel for num_threads(threads)
    for (long k = 0; k < count; ++k)
        for (int t = 0; t < threads; ++t) {
            to.view.data[k] += copies[t * next + k];
            copies[t * next + k] = 0;
        }
}
