// A scan over all indices of a launch on CUDA, in a single pass over memory.
#pragma once

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

template <int THREADS, int EACH, class RESULTS, bool, class Body>
POINT_FN void for_scan(long items, const League &a, const Place *totals, long begin, const Body &body) {
    typedef typename RESULTS::Only::R R;
    typedef typename RESULTS::Only::T T;
    constexpr int PART = 32 * EACH; // indices of a warp
    static_assert(THREADS % 32 == 0, "a scan has whole warps");
    const R reducer;
    const long size = THREADS * (long)EACH, count = (items + size - 1) / size;
    const Tiles<T> tiles{a.ended + 1, (Published<T> *)a.shares};
    const int lane = threadIdx.x & 31;
    const int warp = threadIdx.x / 32;
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

        // A thread joins its own indices in order; then the threads before it, and the whole tile
        UNROLL
        for (int k = 0; k < EACH; ++k) part.of_row(k) = given[k];
        __syncwarp();
        T of_thread, all;
        reducer.neutral(of_thread);
        UNROLL
        for (int k = 0; k < EACH; ++k) reducer.join(of_thread, part.of_thread(k));
        T before = joined_before<THREADS>(of_thread, 1, all, reducer, turn);
        if (threadIdx.x == 0 && tile > 0) tiles.tile[tile].write(OF_TILE, all);

        // All before each index in the tile
        UNROLL
        for (int k = 0; k < EACH; ++k) {
            const T own = part.of_thread(k);
            part.of_thread(k) = before;
            reducer.join(before, own);
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
