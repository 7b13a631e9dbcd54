// Packs of indices on a CPU, the elements of a view at them, and what a body adds to for each of them.
#pragma once

// first + l step of lane l < count. FULL: all lanes of a pack. Sums, and products with whole numbers, are such again.
// alone: where each_lane says which lane is at work, for the accumulators beside it.
template <bool FULL> struct Lanes {
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

POINT_FN vec as_number(const Packed<long> &x) { return x; }
// ---- elements of a view at the lanes' indices; lanes beyond the last read 0 and are not written
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

template <bool FULL> POINT_FN vec taken(const scalar *data, Lanes<FULL> i) {
    vec x(0.0);
    data += i.first;
    if (FULL && i.step == 1) load(data, x);
    else if (i.step == 1) load_first(i.count, data, x);
    else
        for (int l = 0; l < (FULL ? VECTOR_LANES : i.count); ++l) x.v[l] = data[l * i.step];
    return x;
}

template <bool FULL, class T> POINT_FN Packed<T> taken(const T *data, Lanes<FULL> i) {
    Packed<T> x = {};
    for (int l = 0; l < (FULL ? VECTOR_LANES : i.count); ++l) x.lane[l] = data[i.first + l * i.step];
    return x;
}

template <class T, bool FULL> struct Elements {
    T *data;
    Lanes<FULL> i;
    POINT_FN auto all() const { return taken((const T *)data, i); }
    POINT_FN operator decltype(taken((const T *)nullptr, Lanes<FULL>()))() const { return all(); }
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
    Elements(T *data, Lanes<FULL> i) : data(data), i(i) {}
    Elements(const Elements &) = default;
};

// What lane l has of something that may be a pack.
template <class X> POINT_FN X lane_of(const X &x, int) { return x; }
POINT_FN scalar lane_of(const vec &x, int l) { return x.v[l]; }
template <class T> POINT_FN T lane_of(const Packed<T> &x, int l) { return x.lane[l]; }
template <bool FULL> POINT_FN long lane_of(const Lanes<FULL> &x, int l) { return x.first + l * x.step; }
template <class T, bool FULL> POINT_FN T lane_of(const Elements<T, FULL> &x, int l) { return x.data[lane_of(x.i, l)]; }
template <class R, class T> struct PackAccumulator;
template <class R, class T> POINT_FN T lane_of(const PackAccumulator<R, T> &x, int l);
POINT_FN bool lane_of(const vmask &x, int l) {
#if VECTOR_BYTES == 64
    return x.m >> l & 1;
#else
    return x.m[l] != 0;
#endif
}

template <class T, bool FULL>
template <class X>
POINT_FN const Elements<T, FULL> &Elements<T, FULL>::operator=(const X &x) const {
    if constexpr (SAME<T, scalar>) {
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

template <class T, bool FULL>
template <class X, class F>
POINT_FN const Elements<T, FULL> &Elements<T, FULL>::changed(const X &x, const F &f) const {
    if constexpr (SAME<T, scalar>) return *this = f(vec(all()), vec(x));
    else {
        Packed<T> made = all();
        for (int l = 0; l < i.count; ++l) made.lane[l] = f(made.lane[l], T(lane_of(x, l)));
        return *this = made;
    }
}

template <class T> POINT_FN T &element(T *data, long at) { return data[at]; }
template <class T, bool FULL> POINT_FN Elements<T, FULL> element(T *data, Lanes<FULL> at) { return {data, at}; }
template <class T> POINT_FN T element(const T *data, long at) { return data[at]; }
template <class T, bool FULL> POINT_FN auto element(const T *data, Lanes<FULL> at) { return taken(data, at); }

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
