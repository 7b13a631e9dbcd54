// What a body adds to on a CPU: a number for each lane of its packs, folded at the end.
#pragma once

POINT_FN vec chosen(vmask c, vec yes, vec no) { return select(c, yes, no); }

struct Lane {  // of the pack at work
    int count; // lanes that take part
    int alone; // the one that each_lane is at; -1: all
    POINT_FN static Lane all() { return {VECTOR_LANES, -1}; }
    // At the beginning of a pack: a compiler then sees that no lane is alone, and keeps what is added up in registers
    template <bool FULL> POINT_FN static Lane of(const Lanes<FULL> &i) { return {FULL ? VECTOR_LANES : i.count, -1}; }
};

template <class R, class T, bool IN_PACKS> struct PackOf {
    typedef Packed<T> type;
};

template <class R, class T> struct PackOf<R, T, true> {
    typedef vec type;
};

// Lane l has what lane l + BY had
template <int BY, int... L> POINT_FN vec turned(vec x, std::integer_sequence<int, L...>) {
    return vec(lanes_d{x.v[(L + BY) % VECTOR_LANES]...});
}

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
        else if constexpr (IN_PACKS) join_all(pack_of(x)...);
        else if (at.count == VECTOR_LANES)
            for (int l = 0; l < VECTOR_LANES; ++l) join_lane(l, x...);
        else
            for (int l = 0; l < at.count; ++l) join_lane(l, x...);
    }
    POINT_FN void join_all(vec x) {
        vec all = value;
        reducer.join(all, x);
        value = at.count == VECTOR_LANES ? all : of_first(at.count, all, value);
    }
    // Of the same lanes
    POINT_FN void join_values(const PackAccumulator &other) {
        if constexpr (IN_PACKS) reducer.join(value, other.value);
        else
            for (int l = 0; l < VECTOR_LANES; ++l) reducer.join(value.lane[l], other.value.lane[l]);
    }
    POINT_FN T folded() const { // a tree over the lanes
        if constexpr (IN_PACKS) return folded_by<VECTOR_LANES / 2>(value).v[0];
        T x[VECTOR_LANES];
        for (int l = 0; l < VECTOR_LANES; ++l) x[l] = lane(l);
        for (int half = VECTOR_LANES / 2; half > 0; half /= 2)
            for (int l = 0; l < half; ++l) reducer.join(x[l], x[l + half]);
        return x[0];
    }
    template <int HALF> POINT_FN vec folded_by(vec x) const {
        if constexpr (HALF > 0) {
            reducer.join(x, turned<HALF>(x, std::make_integer_sequence<int, VECTOR_LANES>()));
            return folded_by<HALF / 2>(x);
        } else return x;
    }
    ACCUMULATES
};

// Of the first pass of a scan. A body reads it in the last pass only, and the compiler sees both.
template <class R, class T> struct ScanPackAccumulator : PackAccumulator<R, T> {
    using PackAccumulator<R, T>::PackAccumulator;
    POINT_FN operator T() const { return this->folded(); }
};

template <class R, class T> POINT_FN T lane_of(const PackAccumulator<R, T> &x, int l) { return x.lane(l); }
template <class R, class T> POINT_FN T lane_of(const ScanPackAccumulator<R, T> &x, int l) { return x.lane(l); }

// Of functions that take plain numbers: lane by lane
template <bool FULL, class A, class F> POINT_FN void each_value(const Lanes<FULL> &i, A &to, const F &f) {
    [[maybe_unused]] const Single single(i);
    for (int l = 0; l < i.count; ++l) {
        auto x = to.lane(l);
        f(i.first + l * i.step, x);
        to.set(l, x);
    }
}

// Of the body of a scan: the lane that each_lane is at
template <class R, class T, class F> POINT_FN void with_plain_sum(ScanPackAccumulator<R, T> &sum, const F &f) {
    T x = sum.lane(sum.at.alone);
    as_plain_number<ScanPackAccumulator<R, T>>(x, f);
    sum.set(sum.at.alone, x);
}
