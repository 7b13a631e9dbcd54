// A scan in packs on a CPU: the lanes of a pack bring their values, a tree over the lanes says what each has before it,
// and the body has that for all lanes. Blocks and trees do not depend on the threads, so sums do not.
#pragma once

// The values of the lanes of a pack, in a form that reducers join: real numbers, or the compiler's vectors
template <class R, class T> struct ScanLanes {
    static constexpr bool ARE_REAL = SAME<T, scalar>;
    static constexpr bool EXIST = ARE_REAL ? R::PACKS : R::VECTORS && (SAME<T, long> || SAME<T, int>);
    typedef T vector __attribute__((vector_size(sizeof(T) * VECTOR_LANES)));
    typedef std::make_integer_sequence<int, VECTOR_LANES> Numbers;

    vector v;
    POINT_FN static ScanLanes all(T x) { return {x - vector{}}; }
    POINT_FN static ScanLanes none(const R &reducer) {
        T x;
        reducer.neutral(x);
        return all(x);
    }
    POINT_FN void join(const R &reducer, ScanLanes later) {
        if constexpr (ARE_REAL) {
            vec own(v);
            reducer.join(own, vec(later.v));
            v = own.v;
        } else reducer.join(v, later.v);
    }
    // Lane l has what lane l - BY had; the first ones have what `first` has
    template <int BY, int... L> POINT_FN ScanLanes moved(ScanLanes first, std::integer_sequence<int, L...>) const {
        return {vector{(L < BY ? first.v[L] : v[L < BY ? 0 : L - BY])...}};
    }
    template <int BY> POINT_FN ScanLanes moved(ScanLanes first) const { return moved<BY>(first, Numbers()); }
    // Each lane with all before it
    template <int BY = 1> POINT_FN ScanLanes summed(const R &reducer) const {
        if constexpr (BY < VECTOR_LANES) {
            ScanLanes x = moved<BY>(none(reducer));
            x.join(reducer, *this);
            return x.template summed<2 * BY>(reducer);
        } else return *this;
    }
};

// The scan as a body sees it for a pack: the sum before each lane; after the body gives its value, the sum with it
template <class R, class T, bool FULL> struct ScannedPack {
    typedef ScanLanes<R, T> Values;
    typedef typename std::conditional<Values::ARE_REAL, vec, Whole<T, FULL>>::type Value;
    R reducer;
    Values value;
    int count; // lanes that take part
    POINT_FN ScannedPack(const R &reducer, const Values &value, int count)
        : reducer(reducer), value(value), count(count) {}
    ScannedPack(const ScannedPack &) = delete;
    POINT_FN T lane(int l) const { return value.v[l]; }
    POINT_FN operator Value() const {
        if constexpr (Values::ARE_REAL) return vec(value.v);
        else {
            Value x;
            memcpy(x.lane, &value.v, sizeof x.lane);
            x.count = count;
            return x;
        }
    }
    template <class X> POINT_FN void join(const X &x) {
        if constexpr (Values::ARE_REAL) value.join(reducer, {pack_of(x).v});
        else value.join(reducer, brought_by(whole_of(x)));
    }
    template <class X> POINT_FN Values brought_by(const X &x) const {
        Values own;
        if constexpr (std::is_base_of<Packed<T>, X>::value) memcpy(&own.v, x.lane, sizeof own.v);
        else
            for (int l = 0; l < VECTOR_LANES; ++l) own.v[l] = Made<T>::of(lane_of(x, l));
        return own;
    }
    ACCUMULATES
};

template <class R, class T, bool FULL> POINT_FN T lane_of(const ScannedPack<R, T, FULL> &x, int l) { return x.lane(l); }
template <class R, class T, bool FULL> struct WholePack<ScannedPack<R, T, FULL>> : WholePack<Whole<T, FULL>> {
    static constexpr bool value = std::is_integral<T>::value;
};

template <class R, class T, bool FULL> POINT_FN auto whole_of(const ScannedPack<R, T, FULL> &x) {
    return typename ScannedPack<R, T, FULL>::Value(x);
}

template <class R, class T, bool FULL> POINT_FN auto index_of(const ScannedPack<R, T, FULL> &x) {
    return index_of(whole_of(x));
}

template <class R, class T, bool FULL> POINT_FN vec as_number(const ScannedPack<R, T, FULL> &x) { return whole_of(x); }

// A body that asks for lines of later packs: ask(i)
template <class Body, class Ask> struct Asking {
    Body body;
    Ask ask;
    template <class I, class S>
    POINT_FN auto operator()(const I &i, S &sum, bool last) const -> decltype(void(body(i, sum, last))) {
        if constexpr (!SAME<I, long>)
            if (!last) ask(i);
        body(i, sum, last);
    }
};

template <class Body, class Ask> POINT_FN Asking<Body, Ask> asking(const Body &body, const Ask &ask) {
    return {body, ask};
}

// Whether a body takes packs, and its numbers are joined in packs
template <class R, class T, class Body, bool = ScanLanes<R, T>::EXIST> struct TakesPacks {
    static constexpr bool value = false;
};

template <class R, class T, class Body> struct TakesPacks<R, T, Body, true> {
    static constexpr bool value = CanCall<Body, const Lanes<true> &, ScannedPack<R, T, true> &, bool>::value;
};

// A block of indices whose body takes packs
template <class R, class T> struct ScanInPacks {
    static constexpr bool IN_ONE_PASS = true;
    static constexpr long SIZE = 8192;
    typedef ScanLanes<R, T> Values;
    const R reducer;
    long origin, first, behind; // where packs begin; indices

    POINT_FN ScanInPacks(long origin, long first, long behind)
        : reducer(), origin(origin), first(first), behind(behind) {}
    template <class Body> POINT_FN T sum(const Body &body) const {
        return each_pack(body, [](const auto &, const Values &, const Values &) {});
    }
    // Returns the sum of the block. before: all before it
    template <class Body> POINT_FN T go_through(const Body &body, T before) const {
        const Values none = Values::none(reducer), block = Values::all(before);
        return each_pack(body, [&](const auto &i, const Values &packs, const Values &with) INLINED {
            Values own = block, ahead = packs;
            ahead.join(reducer, with.template moved<1>(none));
            own.join(reducer, ahead);
            ScannedPack<R, T, std::decay_t<decltype(i)>::IS_FULL> scanned(reducer, own, i.count);
            body(i, scanned, true);
        });
    }
    // All behind the block
    template <class Body> POINT_FN T in_one_pass(const Body &body, T before) const {
        reducer.join(before, go_through(body, before));
        return before;
    }
    // use(i, what the packs before i give, each lane of i with all before it in the pack); returns the sum of the block
    template <class Body, class Use> POINT_FN T each_pack(const Body &body, const Use &use) const {
        Values packs = Values::none(reducer); // in all lanes
        const auto at = of_packs([&](auto i) INLINED {
            const Values with = brought(body, i).summed(reducer);
            use(i, packs, with);
            packs.join(reducer, Values::all(with.v[VECTOR_LANES - 1]));
        });
        for_lanes_from(origin, first, behind, at, nullptr, Work());
        return packs.v[0];
    }
    // What the lanes bring
    template <class Body, bool FULL> POINT_FN Values brought(const Body &body, const Lanes<FULL> &i) const {
        const Values none = Values::none(reducer);
        ScannedPack<R, T, FULL> own(reducer, none, i.count);
        body(i, own, false);
        if (!FULL)
            for (int l = i.count; l < VECTOR_LANES; ++l) own.value.v[l] = none.v[l];
        return own.value;
    }
};
