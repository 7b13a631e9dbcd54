// A scan over all indices of a launch on a CPU: body(i, s, last), first with last = false, then with last = true and
// all before i in s.
//
// A thread takes the next block of indices, sums it, waits for the sum of all before, and goes through the block once
// more while it is in its cache. A single thread goes through it once, where the sum is the same then. Blocks do not
// depend on the threads, so sums do not.
#pragma once
#include "teams/scan_lanes.h"

// A block whose body takes one index after the other. Chains of real additions take longer than memory: four of them
// run side by side, each through a part of the block. Whole numbers are the same in any order.
template <class R, class T> struct ScanOneByOne {
    static constexpr bool IS_WHOLE = HasNoFraction<T>::value;
    static constexpr bool IN_ONE_PASS = IS_WHOLE;
    static constexpr long PARTS = IS_WHOLE ? 1 : 4, SIZE = 8192, OF_PART = SIZE / PARTS;
    static_assert(OF_PART % VECTOR_LANES == 0, "a part is whole packs");
    const R reducer;
    long first, behind; // indices
    T ahead[PARTS];     // what the parts ahead of each give

    POINT_FN ScanOneByOne(long, long first, long behind) : reducer(), first(first), behind(behind) {}
    POINT_FN long of_part(long p) const { // its first index
        const long at = first + p * OF_PART;
        return at < behind ? at : behind;
    }
    template <class Body> POINT_FN T sum(const Body &body) {
        T all;
        reducer.neutral(all);
        for (int p = 0; p < PARTS; ++p) {
            Lane lane = Lane::all();
            ScanPackAccumulator<R, T> own(reducer, lane);
            const auto at = [&](auto i) {
                lane = Lane::of(i);
                at_each([&](auto k) BODY_CALL(body(k, own, false)), i);
            };
            for_lanes(of_part(p), of_part(p + 1), at, &lane.alone);
            ahead[p] = all;
            reducer.join(all, own.folded());
        }
        return all;
    }
    template <class Body> POINT_FN void go_through(const Body &body, T before) const {
        T x[PARTS];
        for (int p = 0; p < PARTS; ++p) {
            x[p] = before;
            reducer.join(x[p], ahead[p]);
        }
        if (PARTS > 1 && behind - first == SIZE) {
            for (long i = 0; i < OF_PART; ++i) {
                UNROLL
                for (int p = 0; p < PARTS; ++p) last_pass(body, first + p * OF_PART + i, x[p], reducer);
            }
        } else
            for (int p = 0; p < PARTS; ++p)
                for (long i = of_part(p); i < of_part(p + 1); ++i) last_pass(body, i, x[p], reducer);
    }
    // All behind the block
    template <class Body> POINT_FN T in_one_pass(const Body &body, T before) const {
        for (long i = first; i < behind; ++i) last_pass(body, i, before, reducer);
        return before;
    }
};

// Blocks whose sum is known, and the sum of all of them: in one line of memory, which goes from thread to thread.
template <class T> struct alignas(128) ScanFront {
    long done = 0;
    T before;
    POINT_FN void wait_for(long number) const { // nearly done, unless its thread has lost its core
        for (int turns = 0; __atomic_load_n(&done, __ATOMIC_ACQUIRE) != number; ++turns)
            if (turns > 1000) sched_yield();
    }
    template <class R> POINT_FN T next(T sum, const R &reducer) { // returns all before
        const T own = before;
        reducer.join(before, sum);
        __atomic_store_n(&done, done + 1, __ATOMIC_RELEASE);
        return own;
    }
};

// Returns the sum of all. origin: the first index of the first block, `begin` or some that are missing ahead of it
template <class Block, class R, class T, class Body, class... Views>
POINT_FN T scan_blocks(long items, int threads, long origin, long begin, const Body &body, const Views &...later) {
    const auto ask = [=](const auto &i) INLINED { (ask_later(later, i), ...); };
    const long end = begin + items, blocks = (end - origin + Block::SIZE - 1) / Block::SIZE;
    const auto block_of = [&](long number) {
        const long first = origin + number * Block::SIZE, behind = first + Block::SIZE;
        return Block(first, first < begin ? begin : first, behind < end ? behind : end);
    };
    ScanFront<T> front;
    R().neutral(front.before);
    if (threads == 1 && Block::IN_ONE_PASS) {
        const auto own = asking(of_thread(body), ask);
        for (long number = 0; number < blocks; ++number) front.before = block_of(number).in_one_pass(own, front.before);
        done_past();
        return front.before;
    }

    alignas(128) long taken = 0; // blocks
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        const auto own = asking(of_thread(body), ask);
        while (true) {
            const long number = __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED);
            if (number >= blocks) break;
            Block block = block_of(number);
            const T sum = block.sum(own);

            front.wait_for(number);
            block.go_through(own, front.next(sum, R()));
        }
        done_past();
    }
    return front.before;
}

// IN_PACKS: the body has no each_lane. later: arrays with an element for each index
template <int, int, class RESULTS, bool IN_PACKS, class Body, class... Views>
POINT_FN int for_scan(long items, int threads, const League &a, const Place *totals, long begin, const Body &body,
                      const Views &...later) {
    typedef typename RESULTS::Only::R R;
    typedef typename RESULTS::Only::T T;
    if constexpr (IN_PACKS && TakesPacks<R, T, OfThread<Body>>::value) {
        // Packs begin with a line of memory where sums are the same in any order
        const long origin = HasNoFraction<T>::value ? begin - missing<Results<>>(a, begin) : begin;
        put(totals[0], scan_blocks<ScanInPacks<R, T>, R, T>(items, threads, origin, begin, body, later...));
    } else put(totals[0], scan_blocks<ScanOneByOne<R, T>, R, T>(items, threads, begin, begin, body, later...));
    return 0;
}
