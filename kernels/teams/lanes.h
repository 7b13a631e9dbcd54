// Packs of indices on a CPU, and the elements of a view at them.
#pragma once

// first + l step of lane l < count. FULL: all lanes of a pack. Sums with whole numbers, and products with them, are
// such again; a product of two is a pack of whole numbers. With real numbers an index is its value, as on a device: a
// pack of real numbers. alone: where each_lane says which lane is at work, for the accumulators beside it.
template <bool FULL> struct Lanes {
    static constexpr bool IS_FULL = FULL;
    long first, step;
    int count;
    int *alone = nullptr;
    int *work = nullptr; // where the thread keeps how many lanes are at work; null: not known here

    // In double a sum of packs: exact, since indices are below 2^53.
    POINT_FN operator vec() const {
        vec x;
        for (int l = 0; l < VECTOR_LANES; ++l) x.v[l] = scalar(IN_SINGLE ? first + l * step : l);
        return IN_SINGLE ? x : double(first) + double(step) * x;
    }
};

template <bool FULL> POINT_FN Lanes<FULL> shifted(Lanes<FULL> i, long k) {
    return {i.first + k, i.step, i.count, i.alone};
}

template <bool FULL> POINT_FN Lanes<FULL> stretched(Lanes<FULL> i, long k) {
    return {i.first * k, i.step * k, i.count, i.alone};
}

// Products of an index with these are such numbers: what is above 2^63 is no index.
template <class K> constexpr bool IS_WIDE_UNSIGNED = std::is_unsigned<K>::value && sizeof(K) >= sizeof(long);
// clang-format off
#define WITH_FACTOR(WHICH) template <bool FULL, class K, typename std::enable_if<std::is_integral<K>::value && WHICH, int>::type = 0> POINT_FN Lanes<FULL>
#define WITH_INTEGER WITH_FACTOR(true)
WITH_INTEGER operator+(Lanes<FULL> i, K k) { return shifted(i, k); }
WITH_INTEGER operator+(K k, Lanes<FULL> i) { return shifted(i, k); }
WITH_INTEGER operator-(Lanes<FULL> i, K k) { return shifted(i, -long(k)); }
WITH_INTEGER operator-(K k, Lanes<FULL> i) { return shifted(stretched(i, -1), k); }
WITH_FACTOR(!IS_WIDE_UNSIGNED<K>) operator*(Lanes<FULL> i, K k) { return stretched(i, k); }
WITH_FACTOR(!IS_WIDE_UNSIGNED<K>) operator*(K k, Lanes<FULL> i) { return stretched(i, k); }
#undef WITH_INTEGER
#undef WITH_FACTOR
template <bool FULL> POINT_FN Lanes<FULL> operator-(Lanes<FULL> i) { return stretched(i, -1); }
template <bool FULL> POINT_FN Lanes<FULL> operator+(Lanes<FULL> i, Lanes<FULL> k) {
    return {i.first + k.first, i.step + k.step, i.count, i.alone};
}

template <bool FULL> POINT_FN Lanes<FULL> operator-(Lanes<FULL> i, Lanes<FULL> k) { return i + -k; }
template <bool FULL> POINT_FN Lanes<FULL> &operator+=(Lanes<FULL> &i, long k) { return i = i + k; }
template <bool FULL> POINT_FN Lanes<FULL> &operator-=(Lanes<FULL> &i, long k) { return i = i - k; }

// clang-format on
template <bool FULL> POINT_FN vec as_number(Lanes<FULL> i) { return i; }
POINT_FN scalar as_number(long i) { return scalar(i); }
// A pack of real numbers; a condition is 1 or 0
template <class X> POINT_FN vec pack_of(const X &x) { return vec(x); }
POINT_FN vec pack_of(const vmask &x) { return select(x, vec(1.0), vec(0.0)); }
// where all lanes share the condition
POINT_FN vec select(bool condition, vec yes, vec no) { return condition ? yes : no; }

// The pack among indices, and what stands for each of them at its lane with index k
template <bool FULL, class... More> POINT_FN Lanes<FULL> pack_among(const Lanes<FULL> &i, const More &...) { return i; }
template <class... More> POINT_FN auto pack_among(long, const More &...more) { return pack_among(more...); }
template <bool FULL> POINT_FN long at_lane(const Lanes<FULL> &, long k) { return k; }
POINT_FN long at_lane(long i, long) { return i; }

// f(i, j, ...), or f of single indices where it takes no packs
template <bool FULL, class F> POINT_FN void each_lane(Lanes<FULL> i, const F &f);
#ifdef SINGLE_LANES // bodies ask for the value before an atomic, which differs by the lane
constexpr bool IN_SINGLE_LANES = true;
#else
constexpr bool IN_SINGLE_LANES = false;
#endif

// A function of this layer, which hands packs on
template <class F> struct OfPacks {
    F f;
    template <bool FULL> POINT_FN void operator()(const Lanes<FULL> &i) const { f(i); }
};

template <class F> POINT_FN OfPacks<F> of_packs(const F &f) { return {f}; }

template <bool, class F, class... I> struct OneByOne {
    static constexpr bool value = false;
};

template <class F, class... I> struct OneByOne<true, F, I...> : CanCall<F, I...> {};

template <class F, class... I> POINT_FN void at_each(const F &f, const I &...i) {
    if constexpr ((SAME<I, long> && ...)) f(i...);
    else if constexpr (OneByOne<IN_SINGLE_LANES, F, decltype(at_lane(i, 0L))...>::value)
        each_lane(pack_among(i...), [&](long k) { f(at_lane(i, k)...); });
    else if constexpr (CanCall<F, const I &...>::value) f(i...);
    else each_lane(pack_among(i...), [&](long k) { f(at_lane(i, k)...); });
}

// The same with what f adds to
template <class F, bool FULL, class... More> POINT_FN void at_lanes(const F &f, const Lanes<FULL> &i, More &...more) {
    if constexpr (sizeof...(More) == 0) at_each(f, i);
    else if constexpr (IN_SINGLE_LANES) each_lane(i, [&](long k) { f(k, more...); });
    else f(i, more...);
}

// ---- the pack at work
// An atomic that changes a single element does so for each lane of the pack at work; sources that have none do not
// count (render.py).
#ifdef COUNTS_LANES
static thread_local int count_of_thread = 1;
static thread_local int *lanes_at_work = &count_of_thread; // or the thread's room has the count, see thread_room.h
POINT_FN int count_at_work() { return *lanes_at_work; }

struct Work { // a loop over packs, which finds the count once
    int *const count = lanes_at_work;

    template <bool FULL, class F, class... More> POINT_FN void at_pack(const F &f, Lanes<FULL> i, More &...more) const {
        i.work = count;
        *count = i.count;
        at_lanes(f, i, more...);
        *count = 1;
    }
};

struct Single { // one lane of a pack after the other
    int *const count;
    const int all;
    template <bool FULL>
    POINT_FN explicit Single(const Lanes<FULL> &i) : count(i.work ? i.work : lanes_at_work), all(*count) {
        *count = 1;
    }

    POINT_FN ~Single() { *count = all; }
    Single(const Single &) = delete;
};
#else
POINT_FN int count_at_work() { return 1; }

struct Work {
    template <bool FULL, class F, class... More>
    POINT_FN void at_pack(const F &f, const Lanes<FULL> &i, More &...more) const {
        at_lanes(f, i, more...);
    }
};

struct Single {
    template <bool FULL> POINT_FN explicit Single(const Lanes<FULL> &) {}
};
#endif

// f(i) for each single index
template <bool FULL, class F> POINT_FN void each_lane(Lanes<FULL> i, const F &f) {
    [[maybe_unused]] const Single single(i);
    for (int l = 0; l < i.count; ++l) {
        if (i.alone) *i.alone = l;
        f(i.first + l * i.step);
    }
    if (i.alone) *i.alone = -1;
}

template <class F> POINT_FN void each_lane(long i, const F &f) { f(i); }
// x of the lanes below count, else y
POINT_FN vec of_first(int count, vec x, vec y) {
#ifdef AVX512_DOUBLE
    return select(vmask{lanes_m((1u << count) - 1)}, x, y);
#else
    return select(as_number(Lanes<true>{0, 1, VECTOR_LANES}) < double(count), x, y);
#endif
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

// Whole numbers that a condition has chosen: nobody knows how many lanes take part. So they are no indices.
template <class T> struct ChosenWhole : Packed<T> {};

template <class T, bool FULL> POINT_FN vec as_number(const Whole<T, FULL> &x) { return x; }
template <class T> POINT_FN vec as_number(const ChosenWhole<T> &x) { return x; }
// What lane l has of something that may be a pack.
template <class X> POINT_FN X lane_of(const X &x, int) { return x; }
POINT_FN scalar lane_of(const vec &x, int l) { return x.v[l]; }
template <class T> POINT_FN T lane_of(const Packed<T> &x, int l) { return x.lane[l]; }
template <bool FULL> POINT_FN long lane_of(const Lanes<FULL> &x, int l) { return x.first + l * x.step; }
template <class T, bool FULL> POINT_FN T lane_of(const Whole<T, FULL> &x, int l) { return x.lane[l]; }
template <class T> POINT_FN T lane_of(const ChosenWhole<T> &x, int l) { return x.lane[l]; }
template <class T, class I> struct Elements;
template <class T, class I> POINT_FN T lane_of(const Elements<T, I> &x, int l) { return lane_of(x.value, l); }
template <class R, class T> struct PackAccumulator;
template <class R, class T> struct ScanPackAccumulator;
template <class R, class T> POINT_FN T lane_of(const PackAccumulator<R, T> &x, int l);
template <class R, class T> POINT_FN T lane_of(const ScanPackAccumulator<R, T> &x, int l);

POINT_FN bool lane_of(const vmask &x, int l) {
#if VECTOR_BYTES == 64
    return x.m >> l & 1;
#else
    return x.m[l] != 0;
#endif
}

#include "teams/whole_packs.h"

// An index as a view counts with it
template <bool FULL> POINT_FN Lanes<FULL> index_of(const Lanes<FULL> &i) { return i; }
template <class T, bool FULL> POINT_FN Whole<long, FULL> index_of(const Whole<T, FULL> &i) {
    return each_of<long, true>(i, 0L, [](long at, long) { return at; });
}

template <class T, class I> POINT_FN auto index_of(const Elements<T, I> &i) { return index_of(i.all()); }
template <class X = vec> POINT_FN Lanes<true> index_of(const vec &) {
    IS_NO_INDEX;
    return {};
}

template <class X> POINT_FN Lanes<true> index_of(const ChosenWhole<X> &) {
    static_assert(!sizeof(X), "an index differs by a condition: each_lane(i, f) has single indices for it");
    return {};
}

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

// Lanes of a pack that take part; known to the compiler where they are all
template <class I> POINT_FN int count_of_lanes(const I &i) { return I::IS_FULL ? VECTOR_LANES : i.count; }

// The index of lane l. Lanes beyond the last have the index of lane 0, which may be read: a loop over only some of the
// lanes takes longer.
template <class I> POINT_FN long place_of(const I &i, int l) { return lane_of(i, I::IS_FULL || l < i.count ? l : 0); }

template <class I> POINT_FN vec gathered(const scalar *data, const I &i) {
    vec x;
    x.v = listed([&](int l) { return data[place_of(i, l)]; }, std::make_integer_sequence<int, VECTOR_LANES>());
    return x;
}

// A vector of neighbours that are `step` apart. Four places of each half have their steps in common, so that all
// addresses stay in registers.
template <class V, int... L>
POINT_FN V strided_vector(const scalar *from, long step, std::integer_sequence<int, L...>) {
    constexpr int HALF = sizeof...(L) / 2;
    const scalar *const half[] = {from, from + HALF * step};
    return V{half[L / HALF][L % HALF * step]...};
}

// Of every second number, such as real parts: two vectors, the second of which ends with the last number
template <class V, int... L> POINT_FN V every_second(const scalar *from, std::integer_sequence<int, L...>) {
    constexpr int W = sizeof...(L);
    V first, second;
    memcpy(&first, from, sizeof first);
    memcpy(&second, from + W - 1, sizeof second);
    return __builtin_shufflevector(first, second, (2 * L < W ? 2 * L : 2 * L + 1)...);
}

template <class V> POINT_FN V strided_vector(const scalar *from, long step) {
    typedef std::make_integer_sequence<int, sizeof(V) / sizeof(scalar)> Numbers;
    return step == 2 ? every_second<V>(from, Numbers()) : strided_vector<V>(from, step, Numbers());
}

// A full pack
POINT_FN vec strided(const scalar *from, long step) {
    vec x;
#ifdef LONG_PACKS
    for (auto &part : x.v.part) part = strided_vector<lanes_d::Part>(from, step), from += lanes_d::OF_PART * step;
#else
    x.v = strided_vector<lanes_d>(from, step);
#endif
    return x;
}

POINT_FN void store_strided(scalar *to, long step, vec x) {
    constexpr int HALF = VECTOR_LANES / 2;
    scalar *const half[] = {to, to + HALF * step};
    for (int l = 0; l < VECTOR_LANES; ++l) half[l / HALF][l % HALF * step] = x.v[l];
}

template <bool FULL> POINT_FN vec taken(const scalar *data, Lanes<FULL> i) {
    if (FULL && i.step != 1) return strided(data + i.first, i.step);
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
    if constexpr (SAME<I, Lanes<true>>)
        if (i.step == 1) return memcpy(x.lane, data + i.first, sizeof x.lane), x;
    for (int l = 0; l < VECTOR_LANES; ++l) x.lane[l] = data[place_of(i, l)];
    return x;
}

// The operations that change a number, in each place that has them all
// clang-format off
#define EACH_OPERATION(CHANGES) \
    CHANGES(+) CHANGES(-) CHANGES(*) CHANGES(/) CHANGES(%) CHANGES(&) CHANGES(|) CHANGES(^) CHANGES(<<) CHANGES(>>)
// clang-format on

// Elements at a pack of indices, m.v(i). What stands in a formula is memory, as a reference is. A variable, auto x =
// m.v(i), has their values from its beginning, as on a device; it cannot be changed.
template <class T, class I> struct Elements { // I: Lanes, or Whole
    typedef decltype(taken((const T *)nullptr, I())) Value;
    T *data;
    I i;
    Value value;
    POINT_FN Elements(T *data, const I &i) : data(data), i(i), value(taken((const T *)data, i)) {}
    Elements(const Elements &) = default;
    POINT_FN Value all() const { return value; }
    POINT_FN operator Value() const { return value; }
    // In formulas numbers of another type than `scalar` are packs of it, as those of arrays that are only read
    template <class V = Value, typename std::enable_if<!SAME<V, vec>, int>::type = 0> POINT_FN operator vec() const {
        return value;
    }

    template <class X> POINT_FN Value operator=(const X &x) const && { return store_all(x), taken((const T *)data, i); }
    POINT_FN Value operator=(const Elements &x) const && { return store_all(x.value), x.value; }
    template <class X> POINT_FN void store_all(const X &x) const;
    template <class X, class F> POINT_FN Value changed(const X &x, const F &f) const;

#define CHANGES(OP) \
    template <class X> POINT_FN Value operator OP## = (const X &x) const && { \
        return changed(x, [](auto a, auto b) { return a OP b; }); \
    } \
    template <class X> POINT_FN void operator OP## = (const X &) const & { is_variable<X>(); }
    EACH_OPERATION(CHANGES)
#undef CHANGES
    POINT_FN void operator++() const && {
        changed(1, [](auto a, auto b) { return a + b; });
    }
    POINT_FN void operator++(int) const && {
        changed(1, [](auto a, auto b) { return a + b; });
    }
    POINT_FN void operator--() const && {
        changed(1, [](auto a, auto b) { return a - b; });
    }
    POINT_FN void operator--(int) const && {
        changed(1, [](auto a, auto b) { return a - b; });
    }

    template <class X> POINT_FN void operator=(const X &) const & { is_variable<X>(); }
    template <class X = T> POINT_FN void operator=(const Elements &) const & { is_variable<X>(); }
    template <class X> static void is_variable() {
        static_assert(sizeof(X) == 0, "a variable auto x = m.v(i) is changed, which may be one of its own or the "
                                      "array: write Real<I> x = m.v(i) for the one, m.v(i) = x for the other");
    }
};

template <class T, class I> template <class X> POINT_FN void Elements<T, I>::store_all(const X &x) const {
    constexpr bool FULL = I::IS_FULL;
    if constexpr (SAME<T, scalar> && SAME<I, Lanes<FULL>>) {
        T *const to = data + i.first;
        const vec all = pack_of(x);
        if (FULL && i.step == 1) store(to, all);
        else if (FULL) store_strided(to, i.step, all);
        else if (i.step == 1) store_first(i.count, to, all);
        else
            for (int l = 0; l < i.count; ++l) to[l * i.step] = all.v[l];
    } else
        for (int l = 0; l < count_of_lanes(i); ++l) data[lane_of(i, l)] = T(lane_of(x, l));
}

template <class T, class I>
template <class X, class F>
POINT_FN typename Elements<T, I>::Value Elements<T, I>::changed(const X &x, const F &f) const {
    if constexpr (SAME<T, scalar> && SAME<I, Lanes<I::IS_FULL>>) {
        const vec now = f(value, pack_of(x));
        store_all(now);
        return now;
    } else { // one after the other: an index may stand there twice
        for (int l = 0; l < count_of_lanes(i); ++l) {
            T &at = data[lane_of(i, l)];
            at = T(f(at, lane_of(x, l)));
        }
        return taken((const T *)data, i);
    }
}

template <class T, class I> POINT_FN const Elements<T, I> &&memory_at(const Elements<T, I> &at) {
    return static_cast<const Elements<T, I> &&>(at);
}

template <class T> POINT_FN T &memory_at(T &at) { return at; }
template <class T> POINT_FN T &element(T *data, long at) { return data[at]; }
template <class T, class I> POINT_FN Elements<T, I> element(T *data, const I &at) { return {data, at}; }
template <class T> POINT_FN T element(const T *data, long at) { return data[at]; }
// const: what is read cannot be assigned
template <class T, class I> POINT_FN const auto element(const T *data, const I &at) { return taken(data, at); }
