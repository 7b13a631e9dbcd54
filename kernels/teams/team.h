// Hierarchical parallelism: a league of teams, a team of members, a member of lanes. One header for CUDA and CPU; the
// primitives are in team_threads.h (blocks, threads, sub-warps) and team_packs.h (OpenMP, fibres, packs); scan_ and
// tiles_ of both have further launches. This file has what both share. docs/howto/team_kernels.md is the page for
// authors.
//
//   for_league            the launch itself: one call of the body a team, or for_range, for_tiles
//   team.for_each(n, f)   f(i) over the members         team.for_vector(n, f)   over members x lanes
//   member.for_vector     f(i) over the lanes           reduce, scan            over team.each(n), team.vector(n),
//   single_per_team, single_per_member                                          member.vector(n)
//   team.barrier()        team.scratch(m.x), member.scratch(m.x)                m.token.acquire(), release(id)
//   for_parts<P>(team, f) f(part) of P parts of the team, which have barriers of their own: part.barrier()
//   atomic_add and others (atomics.h), atomic(m.v)(i) += x                      subview(v, i, ALL, part(a, b))
#pragma once
#include "engine/numbers/launch.h"
#include "teams/functions.h"

enum Layout { RIGHT, LEFT, STRIDED }; // which index has neighbours in memory: the last, the first, none

// All indices of a range, the fastest first
template <int... D> struct Order {
    static constexpr int RANK = sizeof...(D);
    POINT_FN static constexpr int of(int k) {
        const int dimension[] = {D...};
        return dimension[k];
    }
};

// first[d]: where tile `number` begins. ORDER: of the tiles
template <class ORDER, int RANK>
POINT_FN void tile_of(long number, const long (&extent)[RANK], const int (&tile)[RANK], long (&first)[RANK]) {
    UNROLL
    for (int k = 0; k < RANK; ++k) {
        const int d = ORDER::of(k);
        if (k == RANK - 1) { // the slowest
            first[d] = number * tile[d];
            return;
        }
        const long many = (extent[d] + tile[d] - 1) / tile[d];
        if ((number | many) >> 32) first[d] = number % many * tile[d], number /= many;
        else { // a device divides 32 bits four times as fast
            const unsigned n = unsigned(number);
            const unsigned by = unsigned(many);
            const unsigned whole = n / by;
            first[d] = long(n - whole * by) * tile[d];
            number = whole;
        }
    }
}

#ifdef ON_DEVICE
#include "teams/team_threads.h"
#else
#include "teams/team_packs.h"
#endif

// The number type that goes with an index: a value, or a pack of them.
template <class I> using Real = decltype(as_number(I{}));

// Numbers of elements along each dimension: v.extent(0), or v.extent[0]
template <int RANK> struct Extents {
    long n[RANK];
    POINT_FN long operator()(int d) const { return n[d]; }
    POINT_FN long operator[](int d) const { return n[d]; }
    POINT_FN long &operator[](int d) { return n[d]; }
    POINT_FN const long *begin() const { return n; }
    POINT_FN const long *end() const { return n + RANK; }
};

// An array at an address of somebody else's. v(i, j) is its element: a reference, or the value where T is const. On a
// CPU one of the indices may be a pack of them.
template <class T, int RANK, Layout LAYOUT = RIGHT> struct View {
    typedef T Element;
    T *data;
    Extents<RANK> extent;
    long stride[RANK];
    POINT_FN View() {}
    POINT_FN View(T *data, const long (&n)[RANK]) : data(data) {
        long step = 1;
        for (int k = 0; k < RANK; ++k) {
            const int d = LAYOUT == LEFT ? k : RANK - 1 - k;
            extent[d] = n[d];
            stride[d] = step;
            step *= n[d];
        }
    }
    template <int D> POINT_FN long step() const {
        return (LAYOUT == RIGHT && D == RANK - 1) || (LAYOUT == LEFT && D == 0) ? 1 : stride[D];
    }
    template <int D, class I, class... More> POINT_FN auto offset(I i, More... more) const {
        if constexpr (sizeof...(More) > 0) return i * step<D>() + offset<D + 1>(more...);
        else return i * step<D>();
    }
    template <class... I> POINT_FN decltype(auto) operator()(const I &...i) const {
        static_assert(sizeof...(I) == RANK, "as many indices as the array has dimensions");
        return element(data, offset<0>(index_of(i)...));
    }
};

// An array to which threads only add: m.h(k) += x.
template <class V> struct Scatter {
    V view;
    void *copies; // a CPU's threads may have a copy each, see scatter_packs.h; a device's blocks: scatter_threads.h
    const int *lanes = nullptr; // at work in a CPU's thread
    template <class... I> POINT_FN auto operator()(const I &...i) const { return scatter_of(*this, view(i...)); }
    POINT_FN long extent(int d) const { return view.extent[d]; }
    POINT_FN Scatter of_thread() const { return copy_of_thread(*this); }
    POINT_FN void contribute(int threads) const { contribute_copies(*this, threads); }
};

template <class S, class E> struct ScatterElement {
    const S &to;
    E at;
    template <class X> POINT_FN void operator+=(const X &x) const { scatter_add(to, at, x); }
    template <class X> POINT_FN void operator-=(const X &x) const { scatter_add(to, at, 0L - x); }
    POINT_FN void operator++() const { scatter_add(to, at, 1); }
    POINT_FN void operator++(int) const { scatter_add(to, at, 1); }
};

template <class V, class T> POINT_FN ScatterElement<Scatter<V>, T &> scatter_of(const Scatter<V> &to, T &at) {
    return {to, at};
}

// An array to whose elements a body only assigns, m.y(i) = x, and which nobody reads soon.
template <class T, class X> POINT_FN void assign_streamed(T &at, const X &x) { at = x; }
template <class E, class Value> struct StreamedElement { // or elements at a pack of indices
    E at;
    template <class X> POINT_FN void operator=(const X &x) const { assign_streamed(at, x); }
    template <class X> POINT_FN void operator+=(const X &) const { is_read<X>(); }
    template <class X> POINT_FN void operator-=(const X &) const { is_read<X>(); }
    template <class X> POINT_FN void operator*=(const X &) const { is_read<X>(); }
    POINT_FN operator Value() const { return is_read<E>(), Value(); }
    template <class X> POINT_FN static void is_read() {
        static_assert(!sizeof(X), "an array marked :stream is only assigned, m.y(i) = x: it is read here");
    }
};

template <class T> POINT_FN StreamedElement<T &, T> streamed(T &at) { return {at}; }
template <class V> struct Streamed {
    V view;
    template <class... I> POINT_FN auto operator()(const I &...i) const { return streamed(view(i...)); }
    POINT_FN long extent(int d) const { return view.extent[d]; }
};

#ifdef ON_DEVICE
#include "teams/scatter_threads.h"
#else
#include "teams/streamed_packs.h"
#include "teams/scatter_packs.h"
#include "teams/tiles_packs.h"
#endif

// A part of a view: a number takes one index of a dimension, ALL every one, part(a, b) those from a to below b.
struct All {};
constexpr All ALL{};
struct Part {
    long first, behind;
};

POINT_FN Part part(long first, long behind) { return {first, behind}; }
template <class A> struct Kept {
    static constexpr bool value = false;
};

template <> struct Kept<All> {
    static constexpr bool value = true;
};

template <> struct Kept<Part> {
    static constexpr bool value = true;
};

POINT_FN long first_of(long i, long) { return i; }
POINT_FN long first_of(All, long) { return 0; }
POINT_FN long first_of(Part p, long) { return p.first; }
POINT_FN long count_of(long, long) { return 1; }
POINT_FN long count_of(All, long extent) { return extent; }
POINT_FN long count_of(Part p, long) { return p.behind - p.first; }
template <class... A> struct Outer { // whether the first, the last of these stays a dimension
    static constexpr bool all[] = {Kept<A>::value...};
    static constexpr bool first = all[0];
    static constexpr bool last = all[sizeof...(A) - 1];
};

template <class T, int RANK, Layout LAYOUT, class... A> POINT_FN auto subview(const View<T, RANK, LAYOUT> &v, A... a) {
    static_assert(sizeof...(A) == RANK, "as many places as the array has dimensions");
    constexpr int rank = (int(Kept<A>::value) + ...);
    static_assert(rank > 0, "an element is v(i, j)");
    constexpr Layout layout = LAYOUT == RIGHT && Outer<A...>::last   ? RIGHT
                              : LAYOUT == LEFT && Outer<A...>::first ? LEFT
                                                                     : STRIDED;
    View<T, rank, layout> s;
    s.data = v.data;
    int from = 0, to = 0;
    const auto take = [&](auto x) {
        s.data += first_of(x, 0) * v.stride[from];
        if constexpr (Kept<decltype(x)>::value) {
            s.extent[to] = count_of(x, v.extent[from]);
            s.stride[to] = v.stride[from];
            ++to;
        }
        ++from;
    };
    (take(a), ...);
    return s;
}

template <class V, class... A> POINT_FN auto subview(const Streamed<V> &v, A... a) {
    return Streamed<decltype(subview(v.view, a...))>{subview(v.view, a...)};
}

#ifndef ON_DEVICE
#include "teams/ahead_packs.h"
#endif
#ifdef CHECK_SCRATCH
#include "teams/view_check.h"
#endif

// Room that the declaration names: bytes from the start of its level, of each team or each member.
template <class T, int RANK, int LEVEL, bool OF_MEMBER> struct Scratch {
    static constexpr bool MEMBERS = OF_MEMBER;
    POINT_FN static void is_of_member() {
        static_assert(OF_MEMBER, "scratch of a team is had by the team: team.scratch(m.b)");
    }
    long offset, piece, extent[RANK];
#ifdef CHECK_SCRATCH
    Told told;
    CheckedArray<View<T, RANK>> at(char *const (&level)[2], int rank) const {
        return {View<T, RANK>((T *)(level[LEVEL] + offset + rank * piece), extent), told};
    }
    Scratch(long offset, long piece, const long (&n)[RANK], const Told &told) : Scratch(offset, piece, n) {
        this->told = told;
    }
#else
    POINT_FN View<T, RANK> at(char *const (&level)[2], int rank) const {
        return View<T, RANK>((T *)(level[LEVEL] + offset + rank * piece), extent);
    }
#endif
    POINT_FN Scratch(long offset, long piece, const long (&n)[RANK]) : offset(offset), piece(piece) {
        for (int d = 0; d < RANK; ++d) extent[d] = n[d];
    }
};

// Functions of a body that take plain numbers, as Kokkos' do: f(long i, double &s), f(long i, long &s, bool last). Each
// index then comes by itself, and s is read and written.
template <class A, class F> POINT_FN void each_value(long i, A &to, const F &f) { f(i, to.value); }
template <class F> struct PlainFunction {
    const F &f;
    template <class I, class A> POINT_FN void operator()(const I &i, A &to) const {
        if constexpr (CanCall<F, const I &, A &>::value) f(i, to);
        else if constexpr (CanCall<F, long, A &>::value) each_lane(i, [&](long k) { f(k, to); });
        else each_value(i, to, f);
    }
    template <class A> POINT_FN void operator()(long i, A &to, bool last) const {
        if constexpr (CanCall<F, long, A &, bool>::value) f(i, to, last);
        else f(i, to.value, last);
    }
};

template <class F> POINT_FN PlainFunction<F> plain_function(const F &f) { return {f}; }

// The body of a scan over all indices. It takes its sum as `S &s`; or as a plain number, `long &s`, and is then called
// for single indices. error: the same call in a form whose errors a compiler explains.
template <class F, class Error> struct ScanBody {
    F f;
    Error error;
    template <class I, class A>
    POINT_FN auto operator()(const I &i, A &sum, bool last) const -> decltype(void(f(i, sum, last))) {
        f(i, sum, last);
    }
    template <class A> POINT_FN void operator()(long i, A &sum, bool last) const {
        const auto plain = [&](auto &x) ASKED_CALL(f(i, x, last));
        if constexpr (CanCall<F, long, A &, bool>::value) f(i, sum, last);
        else if constexpr (TakesPlain<A, decltype(plain)>::value) with_plain_sum(sum, plain);
        else error(i, sum, last);
    }
    template <class A> static constexpr bool HAS_PLAIN_SUM = !CanCall<F, long, A &, bool>::value;
};

template <class F, class Error> POINT_FN ScanBody<F, Error> scan_body(const F &f, const Error &error) {
    return {f, error};
}

// sum = the sum of all that f(i, s) gives to s, for all i of a range: s += x. With a reducer, what it makes of them:
// s.join(x). A function f(a, b) is a reducer, too, whose neutral element comes in as x.
template <class Range, class F, class T> POINT_FN void reduce(const Range &range, const F &f, T &sum) {
    over_range(range, plain_function(f), sum, Sum());
}

template <class Range, class F, class T, class R>
POINT_FN void reduce(const Range &range, const F &f, T &x, const R &reducer) {
    over_range(range, plain_function(f), x, reducer_of(reducer, x));
}

// f(i, s, last) for all i of a range: f gives what i brings, s += x. It is called with last = false, perhaps, then with
// last = true, where s is the sum of all before. Returns the sum of all. With a reducer: s.join(x).
template <class T = scalar, class Range, class F, class R = Sum>
POINT_FN T scan(const Range &range, const F &f, const R &reducer = R()) {
    T x;
    reducer.neutral(x);
    scan_range(range, plain_function(f), x, reducer);
    return x;
}
