// Streamed arrays on a CPU: whole packs that begin where a vector may go past the caches. A core then reads no line
// before it writes to it. Parts of lines would take memory longer, and so would single numbers beside loads.
#pragma once

template <class T, class I>
POINT_FN StreamedElement<Elements<T, I>, typename Elements<T, I>::Value> streamed(const Elements<T, I> &at) {
    return {at};
}

// Numbers as a pack of as many bytes
template <class T> POINT_FN vec bytes_of(const T (&lane)[VECTOR_LANES]) {
    vec x;
    memcpy(&x.v, lane, sizeof x.v);
    return x;
}

#ifdef __AVX__
// In parts of 16 bytes, at which arrays begin: a core joins parts that follow each other to a line
POINT_FN void stream(scalar *to, const vec &x) {
    if (size_t(to) % VECTOR_BYTES == 0) return store_past(to, x);
    __m128i part[VECTOR_BYTES / 16];
    memcpy(part, &x.v, sizeof part);
    for (int k = 0; k < VECTOR_BYTES / 16; ++k) _mm_stream_si128((__m128i *)to + k, part[k]);
}
#endif

template <class T, class I, class X> POINT_FN void assign_streamed(const Elements<T, I> &at, const X &x) {
#ifdef __AVX__
    constexpr bool FULL = I::IS_FULL;
    if constexpr (FULL && sizeof(T) == sizeof(scalar) && SAME<I, Lanes<FULL>>) {
        scalar *const to = (scalar *)(at.data + at.i.first);
        if (at.i.step == 1 && size_t(to) % 16 == 0) {
            if constexpr (SAME<T, scalar>) return stream(to, pack_of(x));
            T lane[VECTOR_LANES];
            for (int l = 0; l < VECTOR_LANES; ++l) lane[l] = T(lane_of(x, l));
            return stream(to, bytes_of(lane));
        }
    }
#endif
    at.store_all(x);
}
