// Stores that bypass the caches, for memory that another processor or device reads next. No cache line is read before
// it is written.
#pragma once

#ifdef __SSE2__
#include <immintrin.h>
#include <stdint.h>
#include <string.h>
inline void store_past(double *at, const double x) {
    long long bits;
    memcpy(&bits, &x, sizeof bits);
    _mm_stream_si64((long long *)at, bits);
}

inline void store_past(float *at, const float x) {
    int bits;
    memcpy(&bits, &x, sizeof bits);
    _mm_stream_si32((int *)at, bits);
}

inline void done_past() { _mm_sfence(); }

// Stores of 256 bits: one core of an EPYC packed 18 GB/s, 13 by single numbers, 10 by ordinary stores.
template <class T> inline void copy_past(T *__restrict__ to, const T *__restrict__ from, const long n) {
    long i = 0;
#ifdef __AVX__
    constexpr long wide = 32 / sizeof(T);
    for (; i < n && ((uintptr_t)(to + i) & 31); ++i) store_past(to + i, from[i]);
    for (; i + wide <= n; i += wide)
        _mm256_stream_si256((__m256i *)(to + i), _mm256_loadu_si256((const __m256i *)(from + i)));
#endif
    for (; i < n; ++i) store_past(to + i, from[i]);
}
#else
template <class T> inline void store_past(T *at, const T x) { *at = x; }
inline void done_past() {}
template <class T> inline void copy_past(T *__restrict__ to, const T *__restrict__ from, const long n) {
    for (long i = 0; i < n; ++i) to[i] = from[i];
}
#endif
template <class T, class U> inline void copy_past(T *__restrict__ to, const U *__restrict__ from, const long n) {
    for (long i = 0; i < n; ++i) store_past(to + i, T(from[i]));
}
