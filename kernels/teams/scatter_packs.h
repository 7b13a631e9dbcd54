// Scattered sums on a CPU: each thread adds to a copy of its own, which begins and ends as 0; to the array itself where
// there is one thread; by atomics where the copies would be too large.
#pragma once

template <class V, class T, bool FULL>
POINT_FN ScatterElement<V, Elements<T, FULL>> scatter_of(const Scatter<V> &to, Elements<T, FULL> at) {
    return {to, at};
}

template <class V> POINT_FN long elements_of(const V &view) {
    long count = 1;
    for (const long n : view.extent) count *= n;
    return count;
}

template <class V, class T, class X> POINT_FN void scatter_add(const Scatter<V> &to, T &at, const X &x) {
    CAN_TELL(ANYONE);
    if (!to.copies) atomic_add(at, x);
    else ((T *)to.copies)[omp_get_thread_num() * elements_of(to.view) + (&at - to.view.data)] += Made<T>::of(x);
}

template <class V, class T, bool FULL, class X>
POINT_FN void scatter_add(const Scatter<V> &to, const Elements<T, FULL> &at, const X &x) {
    for (int l = 0; l < at.i.count; ++l) scatter_add(to, at.data[lane_of(at.i, l)], lane_of(x, l));
}

template <class V> POINT_FN void contribute_copies(const Scatter<V> &to, int threads) {
    auto *const copies = (decltype(to.view.data))to.copies;
    if (!copies || copies == to.view.data) return;
    const long count = elements_of(to.view);
#pragma omp parallel for num_threads(threads)
    for (long k = 0; k < count; ++k)
        for (int t = 0; t < threads; ++t) {
            to.view.data[k] += copies[t * count + k];
            copies[t * count + k] = 0;
        }
}
