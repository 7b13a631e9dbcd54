// team.h on CUDA: a team is a block, a member VECTOR neighbouring threads of a warp, a lane one of them. What the
// threads of a block have in common lies in shared memory: first the team's own slots, then the scratch of level 0.
#pragma once
#include "teams/reducers.h"

extern __shared__ double shared_memory[];

POINT_FN scalar as_number(long i) { return scalar(i); }
template <class F> POINT_FN void each_lane(long i, const F &f) { f(i); }
template <class F, class... I> POINT_FN void at_each(const F &f, I... i) { f(i...); }
template <class T> POINT_FN T &element(T *data, long at) { return data[at]; }
template <class T> POINT_FN T element(const T *data, long at) { return __ldg(data + at); } // nothing writes it

#ifdef FRAME_STAND_IN // the tests' CUDA on a CPU: any two blocks that run at the same time differ
static inline long place_of_warp() { return blockIdx.x * 32L + threadIdx.x / 32; }
#else
POINT_FN long place_of_warp() { // among the warps that can run at the same time
    unsigned sm, warp;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
    return sm * 64L + warp;
}
#endif

#include "teams/group_threads.h"

// ---- ranges: whose index is which
template <int THREADS, int VECTOR> struct Each { // members
    long n;
    int &turn;
    static constexpr int count = THREADS / VECTOR;
    POINT_FN int own() const { return threadIdx.x / VECTOR; }
    template <class T, class R> POINT_FN T all(T x, const R &reducer) const {
        return joined<THREADS>(x, VECTOR, reducer, turn);
    }

    template <class T, class R> POINT_FN T before(T x, T &total, const R &reducer) const {
        return joined_before<THREADS>(x, VECTOR, total, reducer, turn);
    }
};

template <int THREADS> struct Vector { // members and lanes
    long n;
    int &turn;
    static constexpr int count = THREADS;
    POINT_FN int own() const { return threadIdx.x; }
    template <class T, class R> POINT_FN T all(T x, const R &reducer) const {
        return joined<THREADS>(x, 1, reducer, turn);
    }

    template <class T, class R> POINT_FN T before(T x, T &total, const R &reducer) const {
        return joined_before<THREADS>(x, 1, total, reducer, turn);
    }
};

template <int VECTOR> struct LanesOf { // of one member: the others may be elsewhere
    long n;
    static constexpr int count = VECTOR;
    POINT_FN int own() const { return threadIdx.x % VECTOR; }
    POINT_FN static unsigned mask() {
        return (VECTOR == 32 ? 0xffffffffu : (1u << VECTOR % 32) - 1) << (threadIdx.x & 31 & ~(VECTOR - 1));
    }

    template <class T, class R> POINT_FN T all(T x, const R &reducer) const {
        UNROLL
        for (int bit = 1; bit < VECTOR; bit <<= 1) join_partner(x, of_partner(mask(), x, bit), own() & bit, reducer);
        return x;
    }

    template <class T, class R> POINT_FN T before(T x, T &total, const R &reducer) const {
        UNROLL
        for (int bit = 1; bit < VECTOR; bit <<= 1) {
            const T other = of_lower(mask(), x, bit);
            if (own() >= bit) join_partner(x, other, true, reducer);
        }
        T before = of_lower(mask(), x, 1);
        if (own() == 0) reducer.neutral(before);
        total = of_lane(mask(), x, (threadIdx.x & 31) | (VECTOR - 1));
        return before;
    }
};

template <class Range, class F> POINT_FN void over(const Range &range, const F &f) {
    for (long i = range.own(); i < range.n; i += Range::count) f(i);
}

// f(i) for i from `first` on, four at a time: where f changes shared memory by atomics a compiler does not read ahead
// by itself.
template <class F> POINT_FN void by_fours(long first, long n, long step, const F &f) {
    long i = first;
    for (; i + 3 * step < n; i += 4 * step) {
        UNROLL
        for (int k = 0; k < 4; ++k) f(i + k * step);
    }
    for (; i < n; i += step) f(i);
}

// sum = what the reducer makes of all that f(i, s) gives to s
template <class Range, class F, class T, class R>
POINT_FN void over_range(const Range &range, const F &f, T &sum, const R &reducer) {
    Accumulator<R, T> own(reducer);
    over(range, [&](long i) { f(i, own); });
    sum = range.all(own.value, reducer);
}

// x = all that came before, with first f(i, s, false), then f(i, s, true) for each i
template <class Range, class F, class R, class T>
POINT_FN void scan_range(const Range &range, const F &f, T &x, const R &reducer) {
    for (long first = 0; first < range.n; first += Range::count) {
        const long i = first + range.own();
        T own, total, before = x;
        reducer.neutral(own);
        if (i < range.n) given_by(f, i, own, reducer);
        reducer.join(before, range.before(own, total, reducer));
        if (i < range.n) last_pass(f, i, before, reducer);
        reducer.join(x, total);
    }
}

// ---- member and team
template <int VECTOR> struct Member {
    char *const (&level)[2];
    POINT_FN int rank() const { return threadIdx.x / VECTOR; }
    POINT_FN static constexpr int lanes() { return VECTOR; }
    POINT_FN LanesOf<VECTOR> vector(long n) const { return {n}; }
    template <class F> POINT_FN void for_vector(long n, const F &f) const {
        over(vector(n), f);
        meet();
    }

    template <class S> POINT_FN auto scratch(const S &s) const { return s.is_of_member(), s.at(level, rank()); }
    // The lanes wait for each other, as in Kokkos: each may then read scratch that the others have written
    POINT_FN static void meet() {
        if constexpr (VECTOR > 1) __syncwarp(LanesOf<VECTOR>::mask());
    }
};

// AHEAD: the body changes whole numbers of 32 bits in scratch by atomics.
template <int SIZE, int VECTOR, bool AHEAD = false> struct Team {
    static constexpr int THREADS = SIZE * VECTOR;
    static constexpr int LANES = VECTOR;
    static_assert(VECTOR > 0 && VECTOR <= 32 && !(VECTOR & (VECTOR - 1)), "lanes: a power of two up to 32");
    static_assert(THREADS <= 1024, "members x lanes: up to 1024");
    long number, teams;
    char *level[2];
    mutable int turn;
    POINT_FN long league_rank() const { return number; }
    POINT_FN long league_size() const { return teams; }
    POINT_FN int rank() const { return threadIdx.x / VECTOR; }
    POINT_FN static constexpr int size() { return SIZE; }
    POINT_FN Member<VECTOR> member() const { return {level}; }
    POINT_FN void barrier() const { __syncthreads(); }
    POINT_FN Each<THREADS, VECTOR> each(long n) const { return {n, turn}; }
    POINT_FN Vector<THREADS> vector(long n) const { return {n, turn}; }
    template <class F> POINT_FN void for_each(long n, const F &f) const { over(each(n), f); }
    template <class F> POINT_FN void for_vector(long n, const F &f) const {
        if constexpr (AHEAD) by_fours(threadIdx.x, n, THREADS, f);
        else over(vector(n), f);
    }

    template <class S> POINT_FN auto scratch(const S &s) const { return s.at(level, rank()); }

    template <class T> POINT_FN void tell(T &value) const { ::tell<THREADS>(value, turn); }
};

// One of several equal parts of a team, whole warps that wait for each other and for no one else.
#ifndef FRAME_STAND_IN
POINT_FN void named_barrier(int id, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
#endif
template <int PARTS, int THREADS, int VECTOR> struct PartOf {
    static constexpr int count = THREADS / PARTS;
    static_assert(THREADS % (32 * PARTS) == 0, "parts of a team are whole warps: members x lanes, 32 for each part");
    static_assert(PARTS <= 15, "up to 15 parts: a block has 16 barriers");
    POINT_FN int number() const { return threadIdx.x / count; }
    POINT_FN int rank() const { return threadIdx.x % count / VECTOR; }
    POINT_FN static constexpr int size() { return count / VECTOR; }
    POINT_FN void barrier() const {
        if constexpr (count == 32) __syncwarp();
        else named_barrier(1 + number(), count);
    }

    template <class F> POINT_FN void for_each(long n, const F &f) const {
        for (long i = rank(); i < n; i += size()) f(i);
    }

    template <class F> POINT_FN void for_vector(long n, const F &f) const {
        for (long i = threadIdx.x % count; i < n; i += count) f(i);
    }
};

template <int PARTS, class T, class F> POINT_FN void for_parts(const T &, const F &f) {
    f(PartOf<PARTS, T::THREADS, T::LANES>());
}

template <class T, class F> POINT_FN void single_per_team(const T &, const F &f) {
    if (threadIdx.x == 0) f();
}

template <class T, class F, class V> POINT_FN void single_per_team(const T &team, const F &f, V &value) {
    if (threadIdx.x == 0) f(value);
    team.tell(value);
}

template <int VECTOR, class F> POINT_FN void single_per_member(const Member<VECTOR> &member, const F &f) {
    if (threadIdx.x % VECTOR == 0) f();
    member.meet();
}

template <int VECTOR, class F, class V> POINT_FN void single_per_member(const Member<VECTOR> &, const F &f, V &value) {
    if (threadIdx.x % VECTOR == 0) f(value);
    value = of_lane(LanesOf<VECTOR>::mask(), value, threadIdx.x & 31 & ~(VECTOR - 1));
}

#include "teams/atomics_threads.h"
#include "teams/launch_threads.h"
#include "teams/scan_threads.h"
#include "teams/tiles_threads.h"
