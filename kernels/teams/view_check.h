// Arrays and scratch that know their extents, for bind(check=True) on a CPU: an index beyond one is told with the
// array's name and the place in the body. Such an access goes to an element that is nobody's, and the launch is an
// error.
#pragma once

// Where a problem is told, and of what.
struct Told {
    Report *report;
    const char *name;
    const char *what = ""; // "a part of "
};

POINT_FN bool below(long i, long extent) { return 0 <= i && i < extent; }
template <bool FULL> POINT_FN bool below(Lanes<FULL> i, long extent) {
    return below(i.first, extent) && below(i.first + (i.count - 1) * i.step, extent);
}

template <bool FULL> POINT_FN bool below(const Whole<long, FULL> &i, long extent) {
    for (int l = 0; l < i.count; ++l)
        if (!below(i.lane[l], extent)) return false;
    return true;
}

POINT_FN long beyond(long i, long) { return i; }
template <class I> POINT_FN long beyond(const I &i, long extent) { // the first that is
    for (int l = 0; l < i.count; ++l)
        if (!below(long(lane_of(i, l)), extent)) return lane_of(i, l);
    return lane_of(i, 0);
}

template <class V> struct CheckedArray;
template <class T, int RANK, Layout LAYOUT> struct CheckedArray<View<T, RANK, LAYOUT>> : View<T, RANK, LAYOUT> {
    typedef View<T, RANK, LAYOUT> V;
    Told told;
    CheckedArray(const V &view, const Told &told) : V(view), told(told) {}

    template <class... I> POINT_FN bool contains(const char *file, int line, const I &...i) const {
        int d = 0;
        return (contains_one(file, line, d++, i) & ...);
    }
    template <class I> POINT_FN bool contains_one(const char *file, int line, int d, const I &i) const {
        const auto at = index_of(i);
        if (below(at, this->extent[d])) return true;
        tell(file, line, d, beyond(at, this->extent[d]));
        return false;
    }
    __attribute__((noinline)) void tell(const char *file, int line, int d, long i) const {
#pragma omp critical(frame_problem)
        if (!told.report->problem[0])
            snprintf(told.report->problem, sizeof told.report->problem,
                     "%s:%d: index %ld of %s'%s' is beyond its extent, %ld in dimension %d", Members::name_of(file),
                     line, i, told.what, told.name, this->extent[d], d + 1);
    }
    template <class... I> POINT_FN decltype(auto) checked(const char *file, int line, const I &...i) const {
        static thread_local typename std::remove_const<T>::type nobody[1];
        const auto at = this->template offset<0>(index_of(i)...);
        return contains(file, line, i...) ? element(this->data, at) : element((T *)nobody, at * 0);
    }

    // A part of the array. A part that goes beyond the array is reported, and has no elements.
    template <class... A> POINT_FN auto part_of(const char *file, int line, const A &...a) const {
        auto part = subview(static_cast<const V &>(*this), a...);
        int d = 0;
        if (!(holds(file, line, d++, a) & ...))
            for (long &n : part.extent.n) n = 0;
        return CheckedArray<decltype(part)>(part, {told.report, told.name, "a part of "});
    }
    POINT_FN bool holds(const char *, int, int, All) const { return true; }
    POINT_FN bool holds(const char *file, int line, int d, long i) const { return contains_one(file, line, d, i); }
    POINT_FN bool holds(const char *file, int line, int d, const Part &p) const {
        if (p.behind <= p.first) return true;
        return contains_one(file, line, d, p.first) && contains_one(file, line, d, p.behind - 1);
    }

    // As many indices as the array has dimensions, behind them the place in the body.
#define INDEXED(rank, types, arguments, ...) \
    template <types, int R = RANK, class = typename std::enable_if<R == rank>::type> \
    POINT_FN decltype(auto) operator()(arguments, PLACE) const { \
        return checked(file, line, __VA_ARGS__); \
    } \
    template <types, int R = RANK, class = typename std::enable_if<R == rank>::type> \
    POINT_FN friend auto subview(const CheckedArray &all, arguments, PLACE) { \
        return all.part_of(file, line, __VA_ARGS__); \
    }
#define AND ,
    INDEXED(1, class I, const I &i, i)
    INDEXED(2, class I AND class J, const I &i AND const J &j, i, j)
    INDEXED(3, class I AND class J AND class K, const I &i AND const J &j AND const K &k, i, j, k)
    INDEXED(4, class I AND class J AND class K AND class L, const I &i AND const J &j AND const K &k AND const L &l, i,
            j, k, l)
    INDEXED(5, class I AND class J AND class K AND class L AND class M,
            const I &i AND const J &j AND const K &k AND const L &l AND const M &m, i, j, k, l, m)
    INDEXED(6, class I AND class J AND class K AND class L AND class M AND class N,
            const I &i AND const J &j AND const K &k AND const L &l AND const M &m AND const N &n, i, j, k, l, m, n)
#undef AND
#undef INDEXED
};
