// A scan over all indices of a launch on a CPU: body(i, s, last), first with last = false, then with last = true and
// all before i in s.
//
// A thread takes the next block of indices, sums it, waits for the sum of all before, and goes through it once more
// while it is in its cache. Meanwhile, slice by slice, it sums the block that it takes next: memory reads that one
// while it writes this. Blocks do not depend on the threads, so sums do not.
#pragma once

struct ScanBlock {
    static constexpr long SIZE = 2048, SLICE = 64;
    static constexpr long FAR = 1 << 18; // indices whose numbers a core's caches do not hold
    static_assert(SLICE % VECTOR_LANES == 0, "a slice is whole packs");
    long first, behind; // indices
    POINT_FN ScanBlock(long number, long items)
        : first(number * SIZE < items ? number * SIZE : items), behind(first + SIZE < items ? first + SIZE : items) {}
    POINT_FN bool is_whole() const { return behind - first == SIZE; }
};

// The first pass over indices from `first`, where a pack begins, to below `behind`.
template <class Body, class Packs>
POINT_FN void sum_block(long first, long behind, const Body &body, Packs &all, Lane &lane) {
    const auto at = [&](auto i) {
        lane.count = i.count;
        body(i, all, false);
    };
    for_lanes(first, behind, at, &lane.alone);
}

// The last pass over indices. x: all before; returns all behind. A value, or the compiler expects the body to write it.
template <class Body, class R, class T>
POINT_FN T scan_block(long first, long behind, const Body &body, T x, const R &reducer) {
    for (long i = first; i < behind; ++i) last_pass(body, i, x, reducer);
    return x;
}

template <int, class RESULTS, class Body>
POINT_FN int for_scan(long items, int threads, const League &, const Place *totals, const Body &body) {
    typedef typename RESULTS::Only::R R;
    typedef typename RESULTS::Only::T T;
    constexpr long SIZE = ScanBlock::SIZE, SLICE = ScanBlock::SLICE;
    const R reducer;
    const long blocks = (items + SIZE - 1) / SIZE;
    // Chains of real additions are slower in slices: worth it where memory takes longer.
    const bool in_slices = HasNoFraction<T>::value || items > ScanBlock::FAR;
    long taken = 0, done = 0; // blocks
    T before;                 // all before block `done`
    reducer.neutral(before);
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        T own; // what the next block gives
        long number = -1;
        const auto take = [&] { number = __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED); };
        const auto go_on = [&](const ScanBlock &block, T x) { // the last pass, and the first one over the next block
            take();
            const ScanBlock next(number, items);
            Lane lane = {VECTOR_LANES, -1};
            PackAccumulator<R, T> all(reducer, lane);
            if (in_slices && block.is_whole() && next.is_whole())
                for (long k = 0; k < SIZE; k += SLICE) {
                    x = scan_block(block.first + k, block.first + k + SLICE, body, x, reducer);
                    sum_block(next.first + k, next.first + k + SLICE, body, all, lane);
                }
            else {
                x = scan_block(block.first, block.behind, body, x, reducer);
                sum_block(next.first, next.behind, body, all, lane);
            }
            own = all.folded();
        };

        T none;
        reducer.neutral(none);
        go_on(ScanBlock(0, 0), none);
        while (number < blocks) {
            const ScanBlock block(number, items);
            while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) != number) sched_yield();
            const T x = before;
            reducer.join(before, own);
            __atomic_store_n(&done, number + 1, __ATOMIC_RELEASE);
            go_on(block, x);
        }
    }
    put(totals[0], before);
    return 0;
}
