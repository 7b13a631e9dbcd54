// Packs of indices on a CPU, the elements of a view at them, and what a body adds to for each of them.
#pragma once

// first + l step of lane l < count. FULL: all lanes of a pack. Sums, and products with whole numbers, are such again.
// alone: where each_lane says which lane is at work, for the accumulators beside it.
template <bool FULL> struct Lanes {
    static constexpr bool IS_FULL = FULL;
    long first, step;
    int count;
    int *alone = nullptr;
};

// clang-format off
template <bool FULL> POINT_FN Lanes<FULL> operator+(Lanes<FULL> i, long k) { return {i.first + k, i.step, i.count, i.alone}; }
template <bool FULL> POINT_FN Lanes<FULL> operator+(long k, Lanes<FULL> i) { return i + k; }
template <bool FULL> POINT_FN Lanes<FULL> operator-(Lanes<FULL> i, long k) { return i + -k; }
template <bool FULL> POINT_FN Lanes<FULL> operator-(Lanes<FULL> i) { return i * -1; }
template <bool FULL> POINT_FN Lanes<FULL> operator-(long k, Lanes<FULL> i) { return -i + k; }
template <bool FULL> POINT_FN Lanes<FULL> operator*(Lanes<FULL> i, long k) { return {i.first * k, i.step * k, i.count, i.alone}; }
template <bool FULL> POINT_FN Lanes<FULL> operator*(long k, Lanes<FULL> i) { return i * k; }
template <bool FULL> POINT_FN Lanes<FULL> operator+(Lanes<FULL> i, Lanes<FULL> k) {
    return {i.first + k.first, i.step + k.step, i.count, i.alone};
}

// clang-format on
// In double a sum of packs: exact, since indices are below 2^53.
template <bool FULL> POINT_FN vec as_number(Lanes<FULL> i) {
    vec x;
    for (int l = 0; l < VECTOR_LANES; ++l) x.v[l] = scalar(IN_SINGLE ? i.first + l * i.step : l);
    return IN_SINGLE ? x : double(i.first) + double(i.step) * x;
}

POINT_FN scalar as_number(long i) { return scalar(i); }
// f(i) for each single index
template <bool FULL, class F> POINT_FN void each_lane(Lanes<FULL> i, const F &f) {
    for (int l = 0; l < i.count; ++l) {
        if (i.alone) *i.alone = l;
        f(i.first + l * i.step);
    }
    if (i.alone) *i.alone = -1;
}

template <class F> POINT_FN void each_lane(long i, const F &f) { f(i); }
// x of the lanes below count, else y
POINT_FN vec of_first(int count, vec x, vec y) {
    return select(as_number(Lanes<true>{0, 1, VECTOR_LANES}) < double(count), x, y);
}

// A value for each lane; of whole numbers also as a pack of real ones.
template <class T> struct alignas(sizeof(T) <= 8 ? sizeof(T) * VECTOR_LANES : alignof(T)) Packed {
    T lane[VECTOR_LANES];
    POINT_FN operator vec() const {
        vec x;
        for (int l = 0; l < VECTOR_LANES; ++l) x.v[l] = scalar(lane[l]);
        return x;
    }
};

// Whole numbers read at a pack of indices, themselves indices where a view takes them: m.x(m.k(i)). Sums, differences
// and products with whole numbers are such again.
template <class T, bool FULL> struct Whole : Packed<T> {
    static constexpr bool IS_FULL = FULL;
    int count; // of lanes that take part
};

template <class T, bool FULL> POINT_FN vec as_number(const Whole<T, FULL> &x) { return x; }
// What lane l has of something that may be a pack.
template <class X> POINT_FN X lane_of(const X &x, int) { return x; }
POINT_FN scalar lane_of(const vec &x, int l) { return x.v[l]; }
template <class T> POINT_FN T lane_of(const Packed<T> &x, int l) { return x.lane[l]; }
template <bool FULL> POINT_FN long lane_of(const Lanes<FULL> &x, int l) { return x.first + l * x.step; }
template <class T, bool FULL> POINT_FN T lane_of(const Whole<T, FULL> &x, int l) { return x.lane[l]; }
template <class T, class I> struct Elements;
template <class T, class I> POINT_FN T lane_of(const Elements<T, I> &x, int l) { return x.data[lane_of(x.i, l)]; }
template <class R, class T> struct PackAccumulator;
template <class R, class T> POINT_FN T lane_of(const PackAccumulator<R, T> &x, int l);
POINT_FN bool lane_of(const vmask &x, int l) {
#if VECTOR_BYTES == 64
    return x.m >> l & 1;
#else
    return x.m[l] != 0;
#endif
}

// ---- whole numbers
template <class X, bool = std::is_integral<X>::value> struct IfWhole {};
template <class X> struct IfWhole<X, true> {
    typedef int type;
};

template <bool FULL, class A, class B, class F>
POINT_FN Whole<long, FULL> each_of(int count, const A &a, const B &b, const F &f) {
    Whole<long, FULL> c;
    c.count = count;
    for (int l = 0; l < VECTOR_LANES; ++l) c.lane[l] = f(long(lane_of(a, l)), long(lane_of(b, l)));
    return c;
}

#define WITH_WHOLE(OP) \
    template <class T, bool FULL, class X, typename IfWhole<X>::type = 0> \
    POINT_FN Whole<long, FULL> operator OP(const Whole<T, FULL> &a, const X &b) { \
        return each_of<FULL>(a.count, a, b, [](long x, long y) { return x OP y; }); \
    } \
    template <class T, bool FULL, class X, typename IfWhole<X>::type = 0> \
    POINT_FN Whole<long, FULL> operator OP(const X &a, const Whole<T, FULL> &b) { \
        return each_of<FULL>(b.count, a, b, [](long x, long y) { return x OP y; }); \
    } \
    template <class T, class U, bool FULL> \
    POINT_FN Whole<long, FULL> operator OP(const Whole<T, FULL> &a, const Whole<U, FULL> &b) { \
        return each_of<FULL>(a.count, a, b, [](long x, long y) { return x OP y; }); \
    } \
    template <class T, bool FULL> \
    POINT_FN Whole<long, FULL> operator OP(const Whole<T, FULL> &a, const Lanes<FULL> &b) { \
        return each_of<FULL>(a.count, a, b, [](long x, long y) { return x OP y; }); \
    } \
    template <class T, bool FULL> \
    POINT_FN Whole<long, FULL> operator OP(const Lanes<FULL> &a, const Whole<T, FULL> &b) { \
        return each_of<FULL>(b.count, a, b, [](long x, long y) { return x OP y; }); \
    }
WITH_WHOLE(+)
WITH_WHOLE(-)
WITH_WHOLE(*)
#undef WITH_WHOLE

// An index as a view counts with it
POINT_FN long index_of(long i) { return i; }
template <bool FULL> POINT_FN Lanes<FULL> index_of(const Lanes<FULL> &i) { return i; }
template <class T, bool FULL> POINT_FN Whole<long, FULL> index_of(const Whole<T, FULL> &i) { return i + 0; }
template <class T, class I> POINT_FN auto index_of(const Elements<T, I> &i) { return index_of(i.all()); }

// ---- elements of a view at the lanes' indices; lanes beyond the last are not written
POINT_FN void load_first(int count, const double *from, vec &x) {
#ifdef AVX512_DOUBLE
    x.v = (lanes_d)_mm512_maskz_loadu_pd(__mmask8((1u << count) - 1), from);
#else
    for (int l = 0; l < count; ++l) x.v[l] = scalar(from[l]);
#endif
}

POINT_FN void load_first(int count, const float *from, vec &x) {
    for (int l = 0; l < count; ++l) x.v[l] = scalar(from[l]);
}

POINT_FN void store_first(int count, scalar *to, vec x) {
#ifdef AVX512_DOUBLE
    _mm512_mask_storeu_pd(to, __mmask8((1u << count) - 1), (__m512d)x.v);
#else
    for (int l = 0; l < count; ++l) to[l] = x.v[l];
#endif
}

// A pack of f(lane): the compiler takes numbers of many addresses together fastest from such a list
template <class F, int... L> POINT_FN lanes_d listed(const F &f, std::integer_sequence<int, L...>) {
    return lanes_d{f(L)...};
}

// The place of lane l. Lanes beyond the last one have that of the first, where there is something to read: a loop over
// some of the lanes takes longer.
template <class I> POINT_FN long place_of(const I &i, int l) { return lane_of(i, I::IS_FULL || l < i.count ? l : 0); }

template <class I> POINT_FN vec gathered(const scalar *data, const I &i) {
    vec x;
    x.v = listed([&](int l) { return data[place_of(i, l)]; }, std::make_integer_sequence<int, VECTOR_LANES>());
    return x;
}

template <bool FULL> POINT_FN vec taken(const scalar *data, Lanes<FULL> i) {
    if (i.step != 1) return gathered(data, i);
    vec x(0.0);
    if (FULL) load(data + i.first, x);
    else load_first(i.count, data + i.first, x);
    return x;
}

template <bool FULL> POINT_FN vec taken(const scalar *data, const Whole<long, FULL> &i) { return gathered(data, i); }

template <class T, bool FULL, bool = std::is_integral<T>::value> struct TakenAs {
    typedef Packed<T> type;
    POINT_FN static void count(type &, int) {}
};

template <class T, bool FULL> struct TakenAs<T, FULL, true> {
    typedef Whole<T, FULL> type;
    POINT_FN static void count(type &x, int count) { x.count = count; }
};

template <class I, class T> POINT_FN auto taken(const T *data, const I &i) {
    typedef TakenAs<T, I::IS_FULL> As;
    typename As::type x;
    As::count(x, i.count);
    for (int l = 0; l < VECTOR_LANES; ++l) x.lane[l] = data[place_of(i, l)];
    return x;
}

template <class T, class I> struct Elements { // I: Lanes, or Whole
    T *data;
    I i;
    POINT_FN auto all() const { return taken((const T *)data, i); }
    POINT_FN operator decltype(taken((const T *)nullptr, I()))() const { return all(); }
    template <class X> POINT_FN const Elements &operator=(const X &x) const;
    POINT_FN const Elements &operator=(const Elements &x) const { return *this = x.all(); }
    template <class X> POINT_FN const Elements &operator+=(const X &x) const {
        return changed(x, [](auto a, auto b) { return a + b; });
    }
    template <class X> POINT_FN const Elements &operator-=(const X &x) const {
        return changed(x, [](auto a, auto b) { return a - b; });
    }
    template <class X> POINT_FN const Elements &operator*=(const X &x) const {
        return changed(x, [](auto a, auto b) { return a * b; });
    }
    template <class X, class F> POINT_FN const Elements &changed(const X &x, const F &f) const;
    Elements(T *data, const I &i) : data(data), i(i) {}
    Elements(const Elements &) = default;
};

template <class T, class I>
template <class X>
POINT_FN const Elements<T, I> &Elements<T, I>::operator=(const X &x) const {
    constexpr bool FULL = I::IS_FULL;
    if constexpr (SAME<T, scalar> && SAME<I, Lanes<FULL>>) {
        T *const to = data + i.first;
        const vec all(x);
        if (FULL && i.step == 1) store(to, all);
        else if (i.step == 1) store_first(i.count, to, all);
        else
            for (int l = 0; l < (FULL ? VECTOR_LANES : i.count); ++l) to[l * i.step] = all.v[l];
    } else
        for (int l = 0; l < (FULL ? VECTOR_LANES : i.count); ++l) data[lane_of(i, l)] = T(lane_of(x, l));
    return *this;
}

template <class T, class I>
template <class X, class F>
POINT_FN const Elements<T, I> &Elements<T, I>::changed(const X &x, const F &f) const {
    if constexpr (SAME<T, scalar> && SAME<I, Lanes<I::IS_FULL>>) return *this = f(vec(all()), vec(x));
    else { // one after the other: an index may stand there twice
        for (int l = 0; l < i.count; ++l) {
            T &at = data[lane_of(i, l)];
            at = f(at, T(lane_of(x, l)));
        }
        return *this;
    }
}

template <class T> POINT_FN T &element(T *data, long at) { return data[at]; }
template <class T, class I> POINT_FN Elements<T, I> element(T *data, const I &at) { return {data, at}; }
template <class T> POINT_FN T element(const T *data, long at) { return data[at]; }
template <class T, class I> POINT_FN auto element(const T *data, const I &at) { return taken(data, at); }

// ---- accumulators of packs
POINT_FN vec chosen(vmask c, vec yes, vec no) { return select(c, yes, no); }

struct Lane {  // of the pack at work
    int count; // lanes that take part
    int alone; // the one that each_lane is at; -1: all
};

template <class R, class T, bool IN_PACKS> struct PackOf {
    typedef Packed<T> type;
};

template <class R, class T> struct PackOf<R, T, true> {
    typedef vec type;
};

template <class R, class T> struct PackAccumulator {
    static constexpr bool IN_PACKS = R::PACKS && SAME<T, scalar>;
    R reducer;
    typename PackOf<R, T, IN_PACKS>::type value;
    const Lane &at;
    POINT_FN explicit PackAccumulator(const Lane &at) : PackAccumulator(R(), at) {}
    POINT_FN PackAccumulator(const R &reducer, const Lane &at) : reducer(reducer), at(at) {
        T none;
        reducer.neutral(none);
        if constexpr (IN_PACKS) value = vec(double(none));
        else
            for (int l = 0; l < VECTOR_LANES; ++l) value.lane[l] = none;
    }
    PackAccumulator(const PackAccumulator &) = delete;
    POINT_FN operator T() const { return folded(); } // of a scan, where nobody reads it
    POINT_FN T lane(int l) const { return lane_of(value, l); }
    POINT_FN void set(int l, T x) {
        if constexpr (IN_PACKS) value.v[l] = x;
        else value.lane[l] = x;
    }
    template <class... X> POINT_FN void join_lane(int l, const X &...x) {
        T one = lane(l);
        reducer.join(one, Made<T>::of(lane_of(x, l)...));
        set(l, one);
    }
    template <class... X> POINT_FN void join(const X &...x) {
        if (at.alone >= 0) join_lane(at.alone, x...);
        else if constexpr (IN_PACKS) join_all(vec(x)...);
        else
            for (int l = 0; l < at.count; ++l) join_lane(l, x...);
    }
    POINT_FN void join_all(vec x) {
        vec all = value;
        reducer.join(all, x);
        value = at.count == VECTOR_LANES ? all : of_first(at.count, all, value);
    }
    POINT_FN T folded() const { // a tree over the lanes
        T x[VECTOR_LANES];
        for (int l = 0; l < VECTOR_LANES; ++l) x[l] = lane(l);
        for (int half = VECTOR_LANES / 2; half > 0; half /= 2)
            for (int l = 0; l < half; ++l) reducer.join(x[l], x[l + half]);
        return x[0];
    }
    ACCUMULATES
};

template <class R, class T> POINT_FN T lane_of(const PackAccumulator<R, T> &x, int l) { return x.lane(l); }
