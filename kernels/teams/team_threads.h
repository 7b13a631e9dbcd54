// team.h on CUDA: a team is a block, a member VECTOR neighbouring threads of a warp, a lane one of them. What the
// threads of a block have in common lies in shared memory: first the team's own slots, then the scratch of level 0.
#pragma once
#include "teams/reducers.h"

extern __shared__ double shared_memory[];

POINT_FN scalar as_number(long i) { return scalar(i); }
POINT_FN long index_of(long i) { return i; }
template <class F> POINT_FN void each_lane(long i, const F &f) { f(i); }
template <class T> POINT_FN T &element(T *data, long at) { return data[at]; }
template <class T> POINT_FN T element(const T *data, long at) { return __ldg(data + at); } // nothing writes it

#ifdef FRAME_STAND_IN // the tests' CUDA on a CPU: any two blocks that run at the same time differ
static inline long place_of_warp() { return blockIdx.x * 32L + threadIdx.x / 32; }
#else
POINT_FN long place_of_warp() { // among those that can run at the same time
    unsigned sm, warp;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
    return sm * 64L + warp;
}
#endif

// ---- what the threads of a warp, of a block do together
template <int THREADS> struct Group {
    static constexpr int WARPS = (THREADS + 31) / 32;
    static constexpr bool WHOLE = THREADS % 32 == 0;
    POINT_FN static int lane() { return threadIdx.x & 31; }
    POINT_FN static int warp() { return threadIdx.x >> 5; }
    POINT_FN static int here() { return WHOLE || warp() < WARPS - 1 ? 32 : THREADS % 32; } // threads of this warp
    POINT_FN static unsigned mask() { return here() == 32 ? 0xffffffffu : (1u << here()) - 1; }
};

// Values of any size between the threads of a warp: in pieces of 4 bytes where they are no numbers.
template <class T> constexpr bool IS_NUMBER = false;
template <> constexpr bool IS_NUMBER<double> = true;
template <> constexpr bool IS_NUMBER<float> = true;
template <> constexpr bool IS_NUMBER<long> = true;
template <> constexpr bool IS_NUMBER<int> = true;

template <class T, class F> POINT_FN T in_pieces(const T &x, const F &f) {
    if constexpr (IS_NUMBER<T>) return f(x);
    else {
        constexpr int PIECES = (sizeof(T) + 3) / 4;
        unsigned piece[PIECES] = {};
        memcpy(piece, &x, sizeof(T));
        UNROLL
        for (int k = 0; k < PIECES; ++k) piece[k] = f(piece[k]);
        T y;
        memcpy(&y, piece, sizeof(T));
        return y;
    }
}

template <class T> POINT_FN T of_partner(unsigned mask, const T &x, int bits) {
    return in_pieces(x, [&](auto piece) { return __shfl_xor_sync(mask, piece, bits); });
}

template <class T> POINT_FN T of_lower(unsigned mask, const T &x, int by) {
    return in_pieces(x, [&](auto piece) { return __shfl_up_sync(mask, piece, by); });
}

template <class T> POINT_FN T of_lane(unsigned mask, const T &x, int lane) {
    return in_pieces(x, [&](auto piece) { return __shfl_sync(mask, piece, lane); });
}

// x = x of this lane and of its partner, joined in their order
template <class R, class T> POINT_FN void join_partner(T &x, const T &other, bool behind, const R &reducer) {
    if (behind) {
        T both = other;
        reducer.join(both, x);
        x = both;
    } else reducer.join(x, other);
}

// x of all threads whose numbers differ in the bits from `low` on, joined in their order; every caller gets it.
// turn: 0 or 1, which of two rows of 32 slots the block uses: one barrier is enough then.
template <int THREADS, class T, class R> POINT_FN T joined(T x, int low, const R &reducer, int &turn) {
    typedef Group<THREADS> G;
    UNROLL
    for (int bit = low; bit < 32; bit <<= 1) {
        const T other = of_partner(G::mask(), x, bit);
        if (G::WHOLE || (G::lane() ^ bit) < G::here()) join_partner(x, other, G::lane() & bit, reducer);
    }
    if (!G::WHOLE) x = of_lane(G::mask(), x, G::lane() & (low - 1)); // the lower ones have joined all
    if constexpr (G::WARPS > 1) {
        static_assert(sizeof(T) <= 256, "values of up to 256 bytes");
        constexpr int SIZE = (sizeof(T) + 7) / 8, AT_ONCE = 32 / SIZE; // warps whose values a row holds
        T all;
        UNROLL
        for (int first = 0; first < G::WARPS; first += AT_ONCE) {
            double *const row = shared_memory + 32 * turn;
            turn ^= 1;
            const int place = G::warp() - first;
            if (G::lane() == 0 && place >= 0 && place < AT_ONCE) *(T *)(row + SIZE * place) = x;
            __syncthreads();
            if (first == 0) all = *(T *)row;
            for (int w = first ? first : 1; w < G::WARPS && w < first + AT_ONCE; ++w)
                reducer.join(all, *(T *)(row + SIZE * (w - first)));
        }
        x = all;
    }
    return x;
}

// x of all threads before this one, among those whose numbers differ in the bits from `low` on; and that of all.
template <int THREADS, class T, class R> POINT_FN T joined_before(T x, int low, T &all, const R &reducer, int &turn) {
    typedef Group<THREADS> G;
    UNROLL
    for (int bit = low; bit < 32; bit <<= 1) {
        const T other = of_lower(G::mask(), x, bit);
        if (G::lane() >= bit) join_partner(x, other, true, reducer);
    }
    T before = of_lower(G::mask(), x, low);
    if (G::lane() < low) reducer.neutral(before);
    all = of_lane(G::mask(), x, G::here() - 1);
    if constexpr (G::WARPS > 1) {
        static_assert(sizeof(T) <= 8, "scans over several warps have values of up to 8 bytes");
        T *const slot = (T *)(shared_memory + 32 * turn);
        turn ^= 1;
        if (G::lane() == 0) slot[G::warp()] = all;
        __syncthreads();
        T lower;
        reducer.neutral(lower), reducer.neutral(all);
        for (int w = 0; w < G::WARPS; ++w) {
            if (w == G::warp()) lower = all;
            reducer.join(all, slot[w]);
        }
        reducer.join(lower, before);
        before = lower;
    }
    return before;
}

// value = that of the first thread, for all: all wait for it
template <int THREADS, class T> POINT_FN void tell(T &value, int &turn) {
    static_assert(sizeof(T) <= 256, "values of up to 256 bytes");
    if constexpr (THREADS > 32) {
        T *const slot = (T *)(shared_memory + 32 * turn);
        turn ^= 1;
        if (threadIdx.x == 0) *slot = value;
        __syncthreads();
        value = *slot;
    } else value = of_lane(Group<THREADS>::mask(), value, 0);
}

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
    template <class F> POINT_FN void for_vector(long n, const F &f) const { over(vector(n), f); }
    template <class S> POINT_FN auto scratch(const S &s) const { return s.at(level, rank()); }
};

template <int SIZE, int VECTOR> struct Team {
    static constexpr int THREADS = SIZE * VECTOR, LANES = VECTOR;
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
    template <class F> POINT_FN void for_vector(long n, const F &f) const { over(vector(n), f); }
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

template <int PARTS, int SIZE, int VECTOR, class F> POINT_FN void for_parts(const Team<SIZE, VECTOR> &, const F &f) {
    f(PartOf<PARTS, SIZE * VECTOR, VECTOR>());
}

template <class T, class F> POINT_FN void single_per_team(const T &, const F &f) {
    if (threadIdx.x == 0) f();
}

template <class T, class F, class V> POINT_FN void single_per_team(const T &team, const F &f, V &value) {
    if (threadIdx.x == 0) f(value);
    team.tell(value);
}

template <int VECTOR, class F> POINT_FN void single_per_member(const Member<VECTOR> &, const F &f) {
    if (threadIdx.x % VECTOR == 0) f();
}

template <int VECTOR, class F, class V> POINT_FN void single_per_member(const Member<VECTOR> &, const F &f, V &value) {
    if (threadIdx.x % VECTOR == 0) f(value);
    value = of_lane(LanesOf<VECTOR>::mask(), value, threadIdx.x & 31 & ~(VECTOR - 1));
}

#include "teams/atomics_threads.h"

// ---- launches
struct Report; // of a CPU
struct League {
    char *shares;  // a record of values for each block
    char *arena;   // scratch of level 1, a piece for each id of `pieces`
    long bytes[2]; // of scratch of a team, by level
    Token pieces;
    unsigned *ended; // blocks that have left their share
    Report *report;
    long chunk;       // of a CPU
    const void *line; // of a CPU
};

template <class T> POINT_FN T past_cache(const T *first, size_t bytes) { // of this multiprocessor
    const T *const at = (const T *)((const char *)first + bytes);
    if constexpr (SAME<T, double> || SAME<T, float>) return __ldcg(at);
    else {
        unsigned piece[sizeof(T) / 4];
        for (int k = 0; k < int(sizeof(T) / 4); ++k) piece[k] = __ldcg((const unsigned *)at + k);
        T x;
        memcpy(&x, piece, sizeof(T));
        return x;
    }
}

// The league's results: of a block, then by the block that ends last, in the order of the blocks.
template <int THREADS, class RESULTS, class A>
POINT_FN void add_up(const League &a, const Place *totals, A &results, int &turn) {
    typedef typename RESULTS::Values Values;
    Values *const shares = (Values *)a.shares;
    results.with(shares[blockIdx.x], [&](auto &own, auto &share) {
        const auto x = joined<THREADS>(own.value, 1, own.reducer, turn);
        if (threadIdx.x == 0) share = x;
    });
    double last = 0.0;
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(a.ended, 1u) == unsigned(gridDim.x) - 1;
        __threadfence();
    }
    if (joined<THREADS>(last, 1, Sum(), turn) < 0.5) return;
    int k = 0;
    results.with(shares[0], [&](auto &own, auto &first) {
        own.reducer.neutral(own.value);
        UNROLL_BY(8) // loads ahead of the joins
        for (int b = threadIdx.x; b < int(gridDim.x); b += THREADS)
            own.reducer.join(own.value, past_cache(&first, b * sizeof(Values)));
        const auto x = joined<THREADS>(own.value, 1, own.reducer, turn);
        if (threadIdx.x == 0) put(totals[k], x);
        ++k;
    });
    if (threadIdx.x == 0) *a.ended = 0;
}

// body(team, results) for each team; of the lanes of a member the first one's results count. SCRATCH: the next team of
// a block waits until all have left the one before. PIECES: there is scratch of level 1.
template <class TEAM, class, class RESULTS, bool SCRATCH, bool PIECES, bool, class Body>
POINT_FN void for_league(long items, const League &a, const Place *totals, const Body &body) {
    constexpr int THREADS = TEAM::THREADS, OWN = THREADS > 32 ? 64 : 0;
    typename RESULTS::Accumulators results;
    TEAM team;
    team.teams = items, team.turn = 0, team.level[0] = (char *)(shared_memory + OWN), team.level[1] = nullptr;
    long piece = 0;
    if constexpr (PIECES) {
        single_per_team(team, [&](long &id) { id = a.pieces.acquire(); }, piece);
        team.level[1] = a.arena + piece * a.bytes[1];
    }
    for (long number = blockIdx.x; number < items; number += gridDim.x) {
        team.number = number;
#ifdef FRAME_STAND_IN // what is read before it is written is NaN, here too
        if (SCRATCH && threadIdx.x == 0) {
            memset(team.level[0], 0xff, a.bytes[0]);
            if (PIECES) memset(team.level[1], 0xff, a.bytes[1]);
        }
        if (SCRATCH) __syncthreads();
#endif
        body(team, results);
        if (SCRATCH) __syncthreads();
    }
    if constexpr (PIECES) single_per_team(team, [&] { a.pieces.release(piece); }); // behind the barrier above
    if constexpr (RESULTS::COUNT > 0) {
        if (threadIdx.x % TEAM::LANES) results.each([](auto &x, int) { x.reducer.neutral(x.value); });
        add_up<THREADS, RESULTS>(a, totals, results, team.turn);
    }
}

// body(i, results) for `items` indices from `begin` on, one a thread. COPIES: a thread has many, whose loads go ahead
template <int THREADS, class RESULTS, bool COPIES, class Body>
POINT_FN void for_range(long items, const League &a, const Place *totals, long begin, const Body &body) {
    typename RESULTS::Accumulators results;
    const long step = gridDim.x * (long)THREADS;
    long i = blockIdx.x * (long)THREADS + threadIdx.x;
    if constexpr (COPIES)
        for (; i + 3 * step < items; i += 4 * step) {
            UNROLL
            for (int k = 0; k < 4; ++k) body(begin + i + k * step, results);
        }
    for (; i < items; i += step) body(begin + i, results);
    int turn = 0;
    if constexpr (RESULTS::COUNT > 0) add_up<THREADS, RESULTS>(a, totals, results, turn);
}

// What a tile of a scan has published: nothing, its own value, or the value with all before it
enum { NOTHING, OF_TILE, WITH_ALL_BEFORE };

// The value and the word that tells which. A small value is written and read together with the word. Others have a
// place for each kind, and a fence keeps the order.
#ifdef FRAME_STAND_IN
constexpr long AT_ONCE = 0; // bytes of a value
#else
constexpr long AT_ONCE = 8;
#endif
template <class T, bool SMALL = sizeof(T) <= AT_ONCE> struct alignas(16) Published {
    long what;
    T value;
    POINT_FN void write(long what, const T &x) {
        unsigned long bits = 0;
        memcpy(&bits, &x, sizeof(T));
        asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(this), "l"(what), "l"(bits) : "memory");
    }
    POINT_FN long read(T &x) const {
        long what;
        unsigned long bits;
        asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(what), "=l"(bits) : "l"(this) : "memory");
        memcpy(&x, &bits, sizeof(T));
        return what;
    }
};

template <class T> struct Published<T, false> {
    long what;
    T value[2]; // OF_TILE, WITH_ALL_BEFORE
    POINT_FN void write(long what, const T &x) {
        value[what - OF_TILE] = x;
        __threadfence();
        *(volatile long *)&this->what = what;
    }
    POINT_FN long read(T &x) const {
        const long what = *(const volatile long *)&this->what;
        if (what == NOTHING) return what;
        __threadfence();
        x = past_cache(value, (what - OF_TILE) * sizeof(T));
        return what;
    }
};

// A scan over `items` indices from `begin` on: body(i, s, last), first with last = false, then with last = true and all
// before i in s. A block takes the next tile. It publishes what its tile gives, then joins what the tiles before have
// published, back to one that knows all before itself (Merrill and Garland 2016, "Single-pass parallel prefix scan with
// decoupled look-back").
template <class T> struct Tiles {
    unsigned *next;     // number of the next tile
    Published<T> *tile; // what each has published

    template <int THREADS> POINT_FN long take(int &turn) const { // a tile for the block
        long number = 0;
        if (threadIdx.x == 0) number = atomicAdd(next, 1u);
        tell<THREADS>(number, turn);
        return number;
    }

    // All before a tile, for the threads of a warp: each reads a tile, back to one that knows all before itself. More
    // tiles at once are asked for too early, and again.
    template <class R> POINT_FN T before(long number, const R &reducer) const {
        const int lane = threadIdx.x & 31;
        T found;
        reducer.neutral(found);
        for (long at = number - 1 - lane;; at -= 32) {
            long what = WITH_ALL_BEFORE;
            T x;
            reducer.neutral(x);
            if (at >= 0)
                while ((what = tile[at].read(x)) == NOTHING) __nanosleep(20);
            const int nearest = __ffs(__ballot_sync(0xffffffffu, what == WITH_ALL_BEFORE)) - 1; // -1: none
            if (nearest >= 0 && lane > nearest) reducer.neutral(x);
            UNROLL
            for (int bit = 1; bit < 32; bit <<= 1) // a higher lane is an earlier tile
                join_partner(x, of_partner(0xffffffffu, x, bit), !(lane & bit), reducer);
            join_partner(found, x, true, reducer);
            if (nearest >= 0) return found;
        }
    }
};

// A warp's part of a tile in shared memory: EACH rows of 32 indices, or EACH neighbours for each thread
template <class T, int EACH> struct PartOfTile {
    T *first;
    POINT_FN static constexpr int place(int n) { return n + n / EACH; } // a thread's neighbours begin in another bank
    POINT_FN T &of_row(int k) const { return first[place(32 * k + (threadIdx.x & 31))]; }
    POINT_FN T &of_thread(int k) const { return first[place(EACH * (threadIdx.x & 31)) + k]; }
};

template <int THREADS, class RESULTS, class Body>
POINT_FN void for_scan(long items, const League &a, const Place *totals, long begin, const Body &body) {
    typedef typename RESULTS::Only::R R;
    typedef typename RESULTS::Only::T T;
    constexpr int EACH = THREADS > 512 ? 8 : 16, PART = 32 * EACH; // indices of a thread, as in items.py, and of a warp
    static_assert(THREADS % 32 == 0, "a scan has whole warps");
    const R reducer;
    const long size = THREADS * (long)EACH, count = (items + size - 1) / size;
    const Tiles<T> tiles{a.ended + 1, (Published<T> *)a.shares};
    const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    constexpr int SLOTS = THREADS > 32 ? 64 : 0; // of sums, ahead of the tile
    typedef PartOfTile<T, EACH> Part;
    const Part part{(T *)(shared_memory + SLOTS) + warp * Part::place(PART)};
    int turn = 0;

    // f(k, i) for the indices of a tile, rows of 32 neighbours; a tile that is not whole asks for each
    const auto rows_of = [&](const long tile, const auto &f) {
        const long first = tile * size + warp * PART + lane;
        if ((tile + 1) * size <= items) {
            UNROLL
            for (int k = 0; k < EACH; ++k) f(k, begin + first + 32 * k);
        } else {
            UNROLL
            for (int k = 0; k < EACH; ++k)
                if (first + 32 * k < items) f(k, begin + first + 32 * k);
        }
    };

    // What each index of a tile gives
    T given[EACH];
    const auto read_tile = [&](const long tile) {
        UNROLL
        for (int k = 0; k < EACH; ++k) reducer.neutral(given[k]);
        rows_of(tile, [&](int k, long i) INLINED { given_by(body, i, given[k], reducer); });
    };

    long tile = tiles.template take<THREADS>(turn);
    read_tile(tile);
    while (tile < count) {
        long following = 0; // tile of this block
        if (threadIdx.x == 0) following = atomicAdd(tiles.next, 1u);

        // A thread joins its neighbours one after the other; then all of the threads before it, and all of the tile
        UNROLL
        for (int k = 0; k < EACH; ++k) part.of_row(k) = given[k];
        __syncwarp();
        T own[EACH], of_thread, all;
        reducer.neutral(of_thread);
        UNROLL
        for (int k = 0; k < EACH; ++k) {
            own[k] = part.of_thread(k);
            reducer.join(of_thread, own[k]);
        }
        T before = joined_before<THREADS>(of_thread, 1, all, reducer, turn);
        if (threadIdx.x == 0 && tile > 0) tiles.tile[tile].write(OF_TILE, all);

        // All before each index in the tile
        UNROLL
        for (int k = 0; k < EACH; ++k) {
            part.of_thread(k) = before;
            reducer.join(before, own[k]);
        }
        __syncwarp();

        // The next tile is on its way while the block looks back
        tell<THREADS>(following, turn);
        read_tile(following);

        T earlier; // all before the tile
        reducer.neutral(earlier);
        if (threadIdx.x < 32) {
            earlier = tiles.before(tile, reducer);
            if (lane == 0) {
                T with = earlier;
                reducer.join(with, all);
                tiles.tile[tile].write(WITH_ALL_BEFORE, with);
                if (tile == count - 1) put(totals[0], with);
            }
        }
        tell<THREADS>(earlier, turn);

        rows_of(tile, [&](int k, long i) INLINED {
            T x = earlier;
            reducer.join(x, part.of_row(k));
            last_pass(body, i, x, reducer);
        });
        __syncwarp(); // all have read, before the next tile is written
        tile = following;
    }

    // The block that ends last leaves everything as it was.
    double last = 0.0;
    if (threadIdx.x == 0) last = atomicAdd(a.ended, 1u) == unsigned(gridDim.x) - 1;
    if (joined<THREADS>(last, 1, Sum(), turn) < 0.5) return;
    for (long tile = threadIdx.x; tile < count; tile += THREADS) tiles.tile[tile].what = NOTHING;
    if (threadIdx.x == 0) {
        *a.ended = *tiles.next = 0;
        if (items == 0) {
            T none;
            reducer.neutral(none);
            put(totals[0], none);
        }
    }
}

template <int RANK, int D, class Body, class... I>
POINT_FN void at_indices(const long (&at)[RANK], const Body &body, I... i) {
    if constexpr (D == RANK) body(i...);
    else at_indices<RANK, D + 1>(at, body, i..., at[D]);
}

// first[d]: where tile `number` begins. inverse: of tiles[d], the number of tiles along d; see inverse_of of items.py
template <class ORDER, int RANK>
POINT_FN void tile_of(long number, const long (&tiles)[RANK], const long (&inverse)[RANK], const int (&tile)[RANK],
                      long (&first)[RANK]) {
    unsigned rest = unsigned(number);
    UNROLL
    for (int k = 0; k < RANK - 1; ++k) {
        const int d = ORDER::of(k);
        const unsigned whole = (__umulhi(rest, unsigned(inverse[d])) + rest) >> int(inverse[d] >> 32);
        first[d] = long(int(rest - whole * unsigned(tiles[d])) * tile[d]), rest = whole;
    }
    first[ORDER::of(RANK - 1)] = long(rest) * tile[ORDER::of(RANK - 1)];
}

// body(results, i, j, ...) for `items` indices from `begin` on, one a thread, in the order of memory. extent, inverse:
// along each index
template <class RESULTS, class ORDER, int THREADS, int RANK, class Body>
POINT_FN void for_indices(long items, const League &a, const Place *totals, const long (&begin)[RANK],
                          const long (&extent)[RANK], const long (&inverse)[RANK], const Body &body) {
    typename RESULTS::Accumulators results;
    int one[RANK];
    UNROLL
    for (int d = 0; d < RANK; ++d) one[d] = 1;
    for (long number = blockIdx.x * (long)THREADS + threadIdx.x; number < items; number += gridDim.x * (long)THREADS) {
        long at[RANK];
        if (items >> 31) tile_of<ORDER>(number, extent, one, at);
        else tile_of<ORDER>(number, extent, inverse, one, at);
        UNROLL
        for (int d = 0; d < RANK; ++d) at[d] += begin[d];
        at_indices<RANK, 0>(at, [&](auto... i) { body(results, i...); });
    }
    int turn = 0;
    if constexpr (RESULTS::COUNT > 0) add_up<THREADS, RESULTS>(a, totals, results, turn);
}

// body(results, i, j, ...) for `extent` indices from `begin` on: a block a tile, one a thread. items: number of tiles;
// tiles, inverse: along each index. OUTER, INNER: orders of the tiles, of the indices in a tile
template <class RESULTS, class OUTER, class INNER, int THREADS, int RANK, class Body>
POINT_FN void for_tiles(long items, const League &a, const Place *totals, const long (&begin)[RANK],
                        const long (&extent)[RANK], const int (&tile)[RANK], const long (&tiles)[RANK],
                        const long (&inverse)[RANK], const Body &body) {
    typename RESULTS::Accumulators results;
    const auto work_on = [&](const long number) {
        long at[RANK];
        if (items >> 31) tile_of<OUTER>(number, extent, tile, at);
        else tile_of<OUTER>(number, tiles, inverse, tile, at);
        int rest = threadIdx.x;
        bool in = true;
        UNROLL
        for (int k = 0; k < RANK; ++k) {
            const int d = INNER::of(k);
            at[d] += rest % tile[d], rest /= tile[d];
            in = in && at[d] < extent[d];
            at[d] += begin[d];
        }
        if (in) at_indices<RANK, 0>(at, [&](auto... i) { body(results, i...); });
    };

    // With results a block has many tiles. Tiles side by side, and warps of a tile, have parts of lines of memory in
    // common: what is written of a line at about the same time goes to memory once.
    constexpr int IN_TURN = RESULTS::COUNT > 0 ? 4 : 1;
    const long in_turn = items < IN_TURN * (long)gridDim.x ? 1 : IN_TURN;
    for (long first = blockIdx.x * in_turn; first < items; first += gridDim.x * in_turn)
        for (long number = first; number < items && number < first + in_turn; ++number) {
            work_on(number);
            if (IN_TURN > 1) __syncthreads();
        }
    int turn = 0;
    if constexpr (RESULTS::COUNT > 0) add_up<THREADS, RESULTS>(a, totals, results, turn);
}
