// Lanes of a pack of several vectors side by side, as if the processor had such long vectors: LONG_PACKS bytes. Bodies
// that go along columns of memory then take several lines of each.
#pragma once
#include <type_traits>

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#define PART_BYTES 64
#elif defined(__AVX__)
#define PART_BYTES 32
#else
#define PART_BYTES 16
#endif

template <class T> struct SideBySide {
    typedef T Part __attribute__((vector_size(PART_BYTES)));
    static constexpr int PARTS = LONG_PACKS / PART_BYTES;
    static constexpr int LANES = LONG_PACKS / sizeof(T), OF_PART = PART_BYTES / sizeof(T);
    Part part[PARTS];

    SideBySide() = default;
    POINT_FN SideBySide(const SideBySide &other) {
        for (int k = 0; k < PARTS; ++k) part[k] = other.part[k];
    }

    POINT_FN SideBySide &operator=(const SideBySide &other) {
        for (int k = 0; k < PARTS; ++k) part[k] = other.part[k];
        return *this;
    }

    template <class... X, typename std::enable_if<sizeof...(X) == LANES, int>::type = 0>
    POINT_FN explicit SideBySide(X... lane) {
        const T all[] = {T(lane)...};
        memcpy(part, all, sizeof part);
    }

    // The same bits as numbers of another type
    template <class U> POINT_FN explicit operator SideBySide<U>() const {
        SideBySide<U> same;
        for (int k = 0; k < PARTS; ++k) same.part[k] = (typename SideBySide<U>::Part)part[k];
        return same;
    }

    POINT_FN T operator[](int l) const { return part[l / OF_PART][l % OF_PART]; }
    POINT_FN T &operator[](int l) { return ((T *)part)[l]; } // a vector's lanes are numbers in memory
};

#define EACH_PART(...) \
    for (int k = 0; k < SideBySide<T>::PARTS; ++k) all.part[k] = __VA_ARGS__; \
    return all;

#define BINARY(op) \
    template <class T> POINT_FN SideBySide<T> operator op(const SideBySide<T> &a, const SideBySide<T> &b) { \
        SideBySide<T> all; \
        EACH_PART(a.part[k] op b.part[k]) \
    } \
    template <class T, class X> POINT_FN SideBySide<T> operator op(const SideBySide<T> &a, X b) { \
        SideBySide<T> all; \
        EACH_PART(a.part[k] op T(b)) \
    } \
    template <class T, class X> POINT_FN SideBySide<T> operator op(X a, const SideBySide<T> &b) { \
        SideBySide<T> all; \
        EACH_PART(T(a) op b.part[k]) \
    }
#define UPDATE(op) \
    template <class T> POINT_FN SideBySide<T> &operator op## = (SideBySide<T> & a, const SideBySide<T> &b) { \
        for (int k = 0; k < SideBySide<T>::PARTS; ++k) a.part[k] = a.part[k] op b.part[k]; \
        return a; \
    }
#define COMPARE(op) \
    template <class T> POINT_FN SideBySide<whole> operator op(const SideBySide<T> &a, const SideBySide<T> &b) { \
        SideBySide<whole> all; \
        EACH_PART(a.part[k] op b.part[k]) \
    }
BINARY(+)
BINARY(-)
BINARY(*)
BINARY(/)
BINARY(&)
BINARY(|)
BINARY(^)
BINARY(<<)
BINARY(>>)
UPDATE(+)
UPDATE(-)
UPDATE(*)
COMPARE(<)
COMPARE(>)
COMPARE(<=)
COMPARE(>=)
#undef BINARY
#undef UPDATE
#undef COMPARE

template <class T> POINT_FN SideBySide<T> operator-(const SideBySide<T> &a) {
    SideBySide<T> all;
    EACH_PART(-a.part[k])
}

template <class T> POINT_FN SideBySide<T> operator~(const SideBySide<T> &a) {
    SideBySide<T> all;
    EACH_PART(~a.part[k])
}

template <class T>
POINT_FN SideBySide<T> chosen_lanes(const SideBySide<whole> &c, const SideBySide<T> &yes, const SideBySide<T> &no) {
    SideBySide<T> all;
    EACH_PART(c.part[k] ? yes.part[k] : no.part[k])
}

#undef EACH_PART

template <class To, class T> POINT_FN To converted(const SideBySide<T> &x) {
    To all;
    for (int k = 0; k < To::PARTS; ++k) all.part[k] = __builtin_convertvector(x.part[k], typename To::Part);
    return all;
}

// Square roots of a part: one instruction where the processor has it
#if PART_BYTES == 64 && defined(FRAME_SINGLE)
#define ROOTS_OF_PART(x) _mm512_sqrt_ps((__m512)(x))
#elif PART_BYTES == 64
#define ROOTS_OF_PART(x) _mm512_sqrt_pd((__m512d)(x))
#elif PART_BYTES == 32 && defined(FRAME_SINGLE)
#define ROOTS_OF_PART(x) _mm256_sqrt_ps((__m256)(x))
#elif PART_BYTES == 32
#define ROOTS_OF_PART(x) _mm256_sqrt_pd((__m256d)(x))
#endif
#ifdef ROOTS_OF_PART
POINT_FN SideBySide<scalar> roots(const SideBySide<scalar> &x) {
    SideBySide<scalar> all;
    for (int k = 0; k < all.PARTS; ++k) all.part[k] = (SideBySide<scalar>::Part)ROOTS_OF_PART(x.part[k]);
    return all;
}
#else
POINT_FN SideBySide<scalar> roots(const SideBySide<scalar> &x) {
    SideBySide<scalar> all;
    for (int l = 0; l < all.LANES; ++l) all[l] = __builtin_sqrt(x[l]);
    return all;
}
#endif
