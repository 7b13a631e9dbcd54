// A scan over all indices of a launch on a CPU: body(i, s, last), first with last = false, then with last = true and
// all before i in s.
//
// A thread takes the next block of indices, sums its parts, waits for the sum of all before, and goes through the block
// once more while it is in its cache. Blocks and parts do not depend on the threads, so sums do not. Whole numbers are
// the same in any order: a single thread goes through them once.
#pragma once

// Chains of real additions take longer than memory: four of them run side by side, each through a part of the block.
// A block stays in the second cache; with shorter ones threads wait for each other more often.
template <class T> struct ScanBlock {
    static constexpr bool IS_WHOLE = HasNoFraction<T>::value;
    static constexpr long PARTS = IS_WHOLE ? 1 : 4, SIZE = 8192, OF_PART = SIZE / PARTS;
    static_assert(OF_PART % VECTOR_LANES == 0, "a part is whole packs");
    long first, behind; // indices
    T of[PARTS];        // what each part gives, then all before it

    POINT_FN ScanBlock(long number, long items, long begin)
        : first(begin + (number * SIZE < items ? number * SIZE : items)),
          behind(begin + ((number + 1) * SIZE < items ? (number + 1) * SIZE : items)) {}
    POINT_FN long of_part(long p) const { // its first index
        const long at = first + p * OF_PART;
        return at < behind ? at : behind;
    }
    // The first pass
    template <class Body, class R> POINT_FN void sum(const Body &body, const R &reducer) {
        for (int p = 0; p < PARTS; ++p) {
            Lane lane = Lane::all();
            ScanPackAccumulator<R, T> all(reducer, lane);
            const auto at = [&](auto i) {
                lane = Lane::of(i);
                body(i, all, false);
            };
            for_lanes(of_part(p), of_part(p + 1), at, &lane.alone);
            of[p] = all.folded();
        }
    }
    // x: all before the block; returns all behind it
    template <class R> POINT_FN T begin_with(T x, const R &reducer) {
        for (int p = 0; p < PARTS; ++p) {
            T with = x;
            reducer.join(with, of[p]);
            of[p] = x;
            x = with;
        }
        return x;
    }
    // The last pass
    template <class Body, class R> POINT_FN void go_through(const Body &body, const R &reducer) {
        T x[PARTS];
        for (int p = 0; p < PARTS; ++p) x[p] = of[p];
        if (PARTS > 1 && behind - first == SIZE) {
            for (long i = 0; i < OF_PART; ++i) {
                UNROLL
                for (int p = 0; p < PARTS; ++p) last_pass(body, first + p * OF_PART + i, x[p], reducer);
            }
        } else
            for (int p = 0; p < PARTS; ++p)
                for (long i = of_part(p); i < of_part(p + 1); ++i) last_pass(body, i, x[p], reducer);
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
    POINT_FN void next(T with) {
        before = with;
        __atomic_store_n(&done, done + 1, __ATOMIC_RELEASE);
    }
};

template <int, int, class RESULTS, class Body>
POINT_FN int for_scan(long items, int threads, const League &, const Place *totals, long begin, const Body &body) {
    typedef typename RESULTS::Only::R R;
    typedef typename RESULTS::Only::T T;
    typedef ScanBlock<T> Block;
    const long blocks = (items + Block::SIZE - 1) / Block::SIZE;
    alignas(128) long taken = 0; // blocks
    ScanFront<T> front;
    R().neutral(front.before);
    if (threads == 1 && Block::IS_WHOLE) {
        const Body own = body;
        T x = front.before;
        for (long i = begin; i < begin + items; ++i) last_pass(own, i, x, R());
        put(totals[0], x);
        return 0;
    }
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        const Body own = body;
        const R reducer;
        while (true) {
            const long number = __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED);
            if (number >= blocks) break;
            Block block(number, items, begin);
            block.sum(own, reducer);

            front.wait_for(number);
            front.next(block.begin_with(front.before, reducer));

            block.go_through(own, reducer);
        }
    }
    put(totals[0], front.before);
    return 0;
}
