// team.h on a CPU: a team is one member, its lanes are those of a pack, the league is shared out to OpenMP threads. An
// index of the lanes is a pack of indices; a view gives a pack of elements for it.
#pragma once
#include <omp.h>
#include <sched.h>
#include <stdlib.h>
#ifndef VECTOR_BYTES // a source has it in front, so that a precompiled form can serve
#include "engine/numbers/pack.h"
#endif

// first + l step of lane l < count. FULL: all lanes of a pack. Sums, and products with whole numbers, are such again.
template <bool FULL> struct Lanes {
    long first, step;
    int count;
};

// clang-format off
template <bool FULL> POINT_FN Lanes<FULL> operator+(Lanes<FULL> i, long k) { return {i.first + k, i.step, i.count}; }
template <bool FULL> POINT_FN Lanes<FULL> operator+(long k, Lanes<FULL> i) { return i + k; }
template <bool FULL> POINT_FN Lanes<FULL> operator-(Lanes<FULL> i, long k) { return i + -k; }
template <bool FULL> POINT_FN Lanes<FULL> operator*(Lanes<FULL> i, long k) { return {i.first * k, i.step * k, i.count}; }
template <bool FULL> POINT_FN Lanes<FULL> operator*(long k, Lanes<FULL> i) { return i * k; }
template <bool FULL> POINT_FN Lanes<FULL> operator+(Lanes<FULL> i, Lanes<FULL> k) {
    return {i.first + k.first, i.step + k.step, i.count};
}

// clang-format on
template <bool FULL> POINT_FN vec as_number(Lanes<FULL> i) {
    vec x;
    for (int l = 0; l < VECTOR_LANES; ++l) x.v[l] = scalar(i.first + l * i.step);
    return x;
}

POINT_FN scalar as_number(long i) { return scalar(i); }
// f(i) for each single index
template <bool FULL, class F> POINT_FN void each_lane(Lanes<FULL> i, const F &f) {
    for (int l = 0; l < i.count; ++l) f(i.first + l * i.step);
}

template <class F> POINT_FN void each_lane(long i, const F &f) { f(i); }
// x of the lanes below count, else y
POINT_FN vec of_first(int count, vec x, vec y) {
    return select(as_number(Lanes<true>{0, 1, VECTOR_LANES}) < double(count), x, y);
}

// Elements of a view at the lanes' indices; lanes beyond the last read 0 and are not written.
POINT_FN void load_first(int count, const double *from, vec &x) {
#ifdef AVX512_DOUBLE
    x.v = (lanes_d)_mm512_maskz_loadu_pd(__mmask8((1u << count) - 1), from);
#else
    for (int l = 0; l < count; ++l) x.v[l] = scalar(from[l]);
#endif
}

template <class T> POINT_FN void load_first(int count, const T *from, vec &x) {
    for (int l = 0; l < count; ++l) x.v[l] = scalar(from[l]);
}

template <bool FULL, class T> POINT_FN vec taken(T *data, Lanes<FULL> i) {
    vec x(0.0);
    data += i.first;
    if (FULL && i.step == 1) load(data, x);
    else if (i.step == 1) load_first(i.count, data, x);
    else
        for (int l = 0; l < (FULL ? VECTOR_LANES : i.count); ++l) x.v[l] = scalar(data[l * i.step]);
    return x;
}

template <class T, bool FULL> struct Elements {
    T *data;
    Lanes<FULL> i;
    POINT_FN operator vec() const { return taken(data, i); }
    POINT_FN const Elements &operator=(vec x) const {
        T *const to = data + i.first;
        if (FULL && i.step == 1) store(to, x);
        else
            for (int l = 0; l < (FULL ? VECTOR_LANES : i.count); ++l) to[l * i.step] = x.v[l];
        return *this;
    }
    POINT_FN const Elements &operator=(double x) const { return *this = vec(x); }
    POINT_FN const Elements &operator=(const Elements &x) const { return *this = vec(x); }
    POINT_FN const Elements &operator+=(vec x) const { return *this = vec(*this) + x; }
    POINT_FN const Elements &operator-=(vec x) const { return *this = vec(*this) - x; }
    POINT_FN const Elements &operator*=(vec x) const { return *this = vec(*this) * x; }
    Elements(T *data, Lanes<FULL> i) : data(data), i(i) {}
    Elements(const Elements &) = default;
};

template <class T> POINT_FN T &element(T *data, long at) { return data[at]; }
template <class T, bool FULL> POINT_FN Elements<T, FULL> element(T *data, Lanes<FULL> at) { return {data, at}; }
template <class T> POINT_FN T element(const T *data, long at) { return data[at]; }
template <class T, bool FULL> POINT_FN vec element(const T *data, Lanes<FULL> at) { return taken(data, at); }

// ---- loops over lanes
template <class F> POINT_FN void for_lanes(long first, long behind, const F &f) {
    long i = first;
    for (; i + VECTOR_LANES <= behind; i += VECTOR_LANES) f(Lanes<true>{i, 1, VECTOR_LANES});
    if (i < behind) f(Lanes<false>{i, 1, int(behind - i)});
}

template <class Join> POINT_FN scalar folded(vec x, const Join &join) { // a tree over the lanes
    for (int half = VECTOR_LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; ++l) x.v[l] = join(scalar(x.v[l]), scalar(x.v[l + half]));
    return x.v[0];
}

struct Each { // of a team: its one member takes all
    long n;
};

struct Vector { // the same, in packs
    long n;
};

// sum = join of what f(i, s) adds to s. Without a join s starts as 0; with one, `sum` comes in as its neutral element.
template <class F, class T, class Join> POINT_FN void reduce(Each range, const F &f, T &sum, const Join &) {
    for (long i = 0; i < range.n; ++i) f(i, sum);
}

template <class F, class Join> POINT_FN void reduce(Vector range, const F &f, scalar &sum, const Join &join) {
    constexpr int W = VECTOR_LANES, AHEAD = 4; // sums that do not wait for each other
    vec s[AHEAD];
    for (int k = 0; k < AHEAD; ++k) s[k] = vec(sum);
    long i = 0;
    for (; i + AHEAD * W <= range.n; i += AHEAD * W)
        for (int k = 0; k < AHEAD; ++k) f(Lanes<true>{i + k * W, 1, W}, s[k]);
    for (; i + W <= range.n; i += W) f(Lanes<true>{i, 1, W}, s[0]);
    if (i < range.n) {
        vec with = s[1];
        f(Lanes<false>{i, 1, int(range.n - i)}, with);
        s[1] = of_first(int(range.n - i), with, s[1]);
    }
    sum = folded(join(join(s[0], s[1]), join(s[2], s[3])), join);
}

// f(i, sum, true) with the sum of all before; f adds what i brings. Returns the total.
template <class F, class T = scalar> POINT_FN T scan(Each range, const F &f, T sum = 0) {
    for (long i = 0; i < range.n; ++i) f(i, sum, true);
    return sum;
}

template <class F, class T = scalar> POINT_FN T scan(Vector range, const F &f, T sum = 0) {
    return scan(Each{range.n}, f, sum);
}

// ---- member and team
struct Member {
    char *const (&level)[2];
    POINT_FN int rank() const { return 0; }
    POINT_FN static constexpr int lanes() { return 1; }
    POINT_FN Vector vector(long n) const { return {n}; }
    template <class F> POINT_FN void for_vector(long n, const F &f) const { for_lanes(0, n, f); }
    template <class S> POINT_FN auto scratch(const S &s) const { return s.at(level, 0); }
};

template <int, int> struct Team {
    long number, teams;
    char *level[2];
    POINT_FN long league_rank() const { return number; }
    POINT_FN long league_size() const { return teams; }
    POINT_FN int rank() const { return 0; }
    POINT_FN static constexpr int size() { return 1; }
    POINT_FN Member member() const { return {level}; }
    POINT_FN void barrier() const {}
    POINT_FN Each each(long n) const { return {n}; }
    POINT_FN Vector vector(long n) const { return {n}; }
    template <class F> POINT_FN void for_each(long n, const F &f) const {
        for (long i = 0; i < n; ++i) f(i);
    }
    template <class F> POINT_FN void for_vector(long n, const F &f) const { for_lanes(0, n, f); }
    template <class S> POINT_FN auto scratch(const S &s) const { return s.at(level, 0); }
};

// One of several parts of a team: here one after the other.
struct PartOf {
    int place;
    POINT_FN int number() const { return place; }
    POINT_FN int rank() const { return 0; }
    POINT_FN static constexpr int size() { return 1; }
    POINT_FN void barrier() const {}
    template <class F> POINT_FN void for_each(long n, const F &f) const {
        for (long i = 0; i < n; ++i) f(i);
    }
    template <class F> POINT_FN void for_vector(long n, const F &f) const { for_lanes(0, n, f); }
};

template <int PARTS, int SIZE, int VECTOR, class F> POINT_FN void for_parts(const Team<SIZE, VECTOR> &, const F &f) {
    for (int k = 0; k < PARTS; ++k) f(PartOf{k});
}

template <class T, class F> POINT_FN void single_per_team(const T &, const F &f) { f(); }
template <class T, class F, class V> POINT_FN void single_per_team(const T &, const F &f, V &value) { f(value); }
template <class F> POINT_FN void single_per_member(const Member &, const F &f) { f(); }
template <class F, class V> POINT_FN void single_per_member(const Member &, const F &f, V &value) { f(value); }

// ---- atomics: each returns the value before
template <class T, class Make> POINT_FN T atomic_change(T &at, const Make &make) {
    T old, wanted;
    __atomic_load(&at, &old, __ATOMIC_RELAXED);
    do wanted = make(old);
    while (!__atomic_compare_exchange(&at, &old, &wanted, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return old;
}

template <class T, class X> POINT_FN T atomic_add(T &at, X x) {
    return atomic_change(at, [&](T old) { return T(old + T(x)); });
}

template <class T, class X> POINT_FN T atomic_max(T &at, X x) {
    return atomic_change(at, [&](T old) { return old > T(x) ? old : T(x); });
}

template <class T, class X> POINT_FN T atomic_exchange(T &at, X x) {
    return atomic_change(at, [&](T) { return T(x); });
}

template <class T, class W, class X> POINT_FN T atomic_compare_exchange(T &at, W wanted, X x) {
    return atomic_change(at, [&](T old) { return old == T(wanted) ? T(x) : old; });
}

template <class T, bool FULL> POINT_FN void atomic_add(Elements<T, FULL> at, vec x) {
    for (int l = 0; l < at.i.count; ++l) atomic_add(at.data[at.i.first + l * at.i.step], x.v[l]);
}

// one element, what each lane brings
template <bool FULL, class T> POINT_FN void atomic_add(Lanes<FULL> i, T &at, vec x) {
    for (int l = 0; l < i.count; ++l) atomic_add(at, x.v[l]);
}

template <class T, class X> POINT_FN void atomic_add(long, T &at, X x) { atomic_add(at, x); }

// Ids below `size`, each held by one thread at a time. field: a bit an id, null: a thread's own number.
struct Token {
    unsigned *field;
    long size;
    POINT_FN long acquire() const {
        if (!field) return omp_get_thread_num();
        const long words = (size + 31) / 32;
        for (long w = omp_get_thread_num() % words;; w = (w + 1) % words) {
            for (int bit = 0; bit < 32 && 32 * w + bit < size; ++bit)
                if (!(__atomic_fetch_or(field + w, 1u << bit, __ATOMIC_ACQUIRE) >> bit & 1)) return 32 * w + bit;
            if (w == words - 1) sched_yield();
        }
    }
    POINT_FN void release(long id) const {
        if (field) __atomic_fetch_and(field + id / 32, ~(1u << id % 32), __ATOMIC_RELEASE);
    }
};

// ---- launches
// The league's sums: one of each share of the work, added in the order of the shares. Their number does not depend on
// the threads, so the sums do not.
constexpr long SHARES = 512;
struct League {
    scalar *shares; // SHARES x SUMS
    char *arena;    // not used: a thread has its own
    long bytes[2];  // of scratch of a team, by level
    Token pieces;   // not used
    unsigned *ended;
};

// work(number of the share, first, behind, sums) for each of `shares` shares of `items`
template <class Work> POINT_FN int share_out(long items, int threads, const League &a, const Work &work) {
    const long shares = items < SHARES ? items : SHARES, ahead = (a.bytes[0] + 63) / 64 * 64,
               bytes = (ahead + a.bytes[1] + 63) / 64 * 64;
    int failed = 0;
#pragma omp parallel num_threads(threads) if (threads > 1) reduction(| : failed)
    {
        char *const arena = bytes ? (char *)aligned_alloc(64, size_t(bytes)) : nullptr;
        failed |= bytes && !arena;
#pragma omp for schedule(static)
        for (long share = 0; share < shares; ++share) {
            char *const level[2] = {arena, arena + ahead};
            if (arena || !bytes)
                work(share, items / shares * share + (share < items % shares ? share : items % shares),
                     items / shares * (share + 1) + (share < items % shares ? share + 1 : items % shares), level);
        }
        free(arena);
    }
    return failed;
}

template <int SUMS> POINT_FN void add_shares(long items, const League &a, scalar *const *totals) {
    for (int k = 0; k < SUMS; ++k) {
        scalar total = 0;
        for (long share = 0; share < (items < SHARES ? items : SHARES); ++share) total += a.shares[share * SUMS + k];
        *totals[k] = total;
    }
}

// body(team, sums) for each team
template <class TEAM, int SUMS, bool, bool, class Body>
POINT_FN int for_league(long items, int threads, const League &a, scalar *const *totals, const Body &body) {
    const auto work = [&](long share, long first, long behind, char *const(&level)[2]) {
        scalar sums[SUMS + 1] = {};
        for (long number = first; number < behind; ++number) body(TEAM{number, items, {level[0], level[1]}}, sums);
        for (int k = 0; k < SUMS; ++k) a.shares[share * SUMS + k] = sums[k];
    };
    const int failed = share_out(items, threads, a, work);
    add_shares<SUMS>(items, a, totals);
    return failed;
}

// body(i, sums) for each i, in packs
template <int, int SUMS, class Body>
POINT_FN int for_range(long items, int threads, const League &a, scalar *const *totals, const Body &body) {
    const long packs = (items + VECTOR_LANES - 1) / VECTOR_LANES;
    const auto work = [&](long share, long first, long behind, char *const(&)[2]) {
        vec sums[SUMS + 1], before[SUMS + 1];
        for (int k = 0; k <= SUMS; ++k) sums[k] = vec(0.0);
        const long last = behind * VECTOR_LANES < items ? behind * VECTOR_LANES : items;
        for_lanes(first * VECTOR_LANES, last, [&](auto i) {
            for (int k = 0; k < SUMS; ++k) before[k] = sums[k];
            body(i, sums);
            for (int k = 0; k < SUMS; ++k) sums[k] = of_first(i.count, sums[k], before[k]);
        });
        for (int k = 0; k < SUMS; ++k) a.shares[share * SUMS + k] = folded(sums[k], Plus());
    };
    const int failed = share_out(packs, threads, a, work);
    add_shares<SUMS>(packs, a, totals);
    return failed;
}

// body(i, j, ...) over first[d] <= i, j, ... < behind[d]. LAST: the last index is the fastest, in packs; else the
// first.
template <int RANK, bool LAST, int D = 0, class Body, class... I>
POINT_FN void over_tile(const long *first, const long *behind, const Body &body, I... i) {
    constexpr int d = LAST ? D : RANK - 1 - D;
    const auto go = [&](auto at) {
        if constexpr (D == RANK - 1 && LAST) body(i..., at);
        else if constexpr (D == RANK - 1) body(at, i...);
        else if constexpr (LAST) over_tile<RANK, LAST, D + 1>(first, behind, body, i..., at);
        else over_tile<RANK, LAST, D + 1>(first, behind, body, at, i...);
    };
    if constexpr (D == RANK - 1) for_lanes(first[d], behind[d], go);
    else
        for (long at = first[d]; at < behind[d]; ++at) go(at);
}

POINT_FN int lanes_in(long) { return VECTOR_LANES; }
template <bool FULL> POINT_FN int lanes_in(Lanes<FULL> i) { return i.count; }
// body(sums, i, j, ...) for each (i, j, ...) below `extent`, tile by tile; items: number of tiles
template <int SUMS, int RANK, bool LAST, class Body>
POINT_FN int for_tiles(long items, int threads, const League &a, scalar *const *totals, const long (&extent)[RANK],
                       const int (&tile)[RANK], const Body &body) {
    const auto work = [&](long share, long from, long behind, char *const(&)[2]) {
        vec sums[SUMS + 1], before[SUMS + 1];
        for (int k = 0; k <= SUMS; ++k) sums[k] = vec(0.0);
        for (long number = from; number < behind; ++number) {
            long first[RANK], last[RANK];
            tile_of<RANK, LAST>(number, extent, tile, first);
            for (int d = 0; d < RANK; ++d) last[d] = first[d] + tile[d] < extent[d] ? first[d] + tile[d] : extent[d];
            over_tile<RANK, LAST>(first, last, [&](auto... i) {
                for (int k = 0; k < SUMS; ++k) before[k] = sums[k];
                body(sums, i...);
                const int count = (lanes_in(i) + ...) - (RANK - 1) * VECTOR_LANES;
                for (int k = 0; k < SUMS; ++k) sums[k] = of_first(count, sums[k], before[k]);
            });
        }
        for (int k = 0; k < SUMS; ++k) a.shares[share * SUMS + k] = folded(sums[k], Plus());
    };
    const int failed = share_out(items, threads, a, work);
    add_shares<SUMS>(items, a, totals);
    return failed;
}
