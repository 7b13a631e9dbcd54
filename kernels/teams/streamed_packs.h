// Streamed arrays on a CPU: whole packs that begin where a vector may go past the caches. A core then reads no line
// before it writes to it. Parts of lines would take memory longer, and so would single numbers beside loads.
#pragma once

template <class T, class I>
POINT_FN StreamedElement<Elements<T, I>, typename Elements<T, I>::Value> streamed(const Elements<T, I> &at) {
    return {at};
}

template <class T, class I, class X> POINT_FN void assign_streamed(const Elements<T, I> &at, const X &x) {
#ifdef __AVX__
    constexpr bool FULL = I::IS_FULL;
    if constexpr (FULL && SAME<T, scalar> && SAME<I, Lanes<FULL>>) {
        scalar *const to = at.data + at.i.first;
        if (at.i.step == 1 && size_t(to) % VECTOR_BYTES == 0) return store_past(to, vec(x));
    }
#endif
    at.store_all(x);
}
