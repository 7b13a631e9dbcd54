// A scan over all indices of a launch on a CPU: body(i, s, last), first with last = false, then with last = true and
// all before i in s.
//
// A thread takes the next block of indices, sums it, adds the sums of all before, and goes through the block once more
// while it is in its cache. A single thread goes through it once, where the sum is the same then. Blocks do not
// depend on the threads, so sums do not.
#pragma once
#include "teams/scan_lanes.h"

// A block whose body takes the indices in order. A chain of real additions takes longer than memory, so four chains run
// side by side, each through a part of the block. Sums of integers are the same in any order.
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
            const auto at = of_packs([&](auto i) {
                lane = Lane::of(i);
                at_each([&](auto k) BODY_CALL(body(k, own, false)), i);
            });
            for_lanes(of_part(p), of_part(p + 1), at, &lane.alone);
            ahead[p] = all;
            reducer.join(all, own.folded());
        }

        return all;
    }

    // Returns all behind the last part
    template <class Body> POINT_FN T go_through(const Body &body, T before) const {
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
        return x[PARTS - 1];
    }

    // All behind the block
    template <class Body> POINT_FN T in_one_pass(const Body &body, T before) const {
        for (long i = first; i < behind; ++i) last_pass(body, i, before, reducer);
        return before;
    }
};

// Sums of blocks that threads have made known, each once. A thread may have lost its core before its block has a sum:
// who waits for that sums the block, too, and nobody waits for the thread. (The body changes nothing before it has the
// sum of all before.)
template <class R, class T> struct ScanSums {
    enum State { OPEN, TAKEN, KNOWN };
    struct Sum {
        T value;
        int state;   // of OPEN = 0, as memory comes
        int helpers; // threads that sum it, too
    };

    Sum *const of_block;
    POINT_FN explicit ScanSums(long blocks) : of_block((Sum *)calloc(size_t(blocks) + 1, sizeof(Sum))) {}
    POINT_FN ~ScanSums() { free(of_block); }
    ScanSums(const ScanSums &) = delete;

    POINT_FN bool is_known(long block) const {
        return __atomic_load_n(&of_block[block].state, __ATOMIC_ACQUIRE) == KNOWN;
    }

    POINT_FN void offer(long block, const T &value) const {
        Sum &sum = of_block[block];
        int state = OPEN;
        if (!__atomic_compare_exchange_n(&sum.state, &state, TAKEN, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return;
        sum.value = value;
        __atomic_store_n(&sum.state, KNOWN, __ATOMIC_RELEASE);
    }

    // By the block's own thread, which then may change what helpers read
    POINT_FN void settle(long block, const T &value) const {
        offer(block, value);
        while (__atomic_load_n(&of_block[block].helpers, __ATOMIC_SEQ_CST) > 0) sched_yield();
    }

    template <class Make> POINT_FN void help(long block, const Make &make) const {
        Sum &sum = of_block[block];
        __atomic_fetch_add(&sum.helpers, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&sum.state, __ATOMIC_SEQ_CST) == OPEN) offer(block, make());
        __atomic_fetch_sub(&sum.helpers, 1, __ATOMIC_SEQ_CST);
    }

    // make(): the sum, for whoever has waited too long
    template <class Make> POINT_FN const T &value(long block, const Make &make) const {
        constexpr int PATIENCE = 1000; // turns, some blocks long
        for (int turns = 0; !is_known(block); ++turns) {
            if (turns == PATIENCE) help(block, make);
            if (turns > PATIENCE) sched_yield();
        }
        return of_block[block].value;
    }
};

// All before a block, as one thread follows the sums
template <class R, class T> struct ScanFront {
    const R reducer;
    long next = 0; // block
    T before;
    POINT_FN ScanFront() : reducer() { reducer.neutral(before); }
    template <class Make> POINT_FN T all_before(long block, const ScanSums<R, T> &sums, const Make &sum_of) {
        for (; next < block; ++next) reducer.join(before, sums.value(next, [&] { return sum_of(next); }));
        return before;
    }
};

// Whether a body has its sum as a plain number, of whole ones. The body may join numbers otherwise than its reducer
// does. This is found: the last pass then ends with another sum than the first.
template <class Body, class R, class T>
constexpr bool IS_CHECKED = HasNoFraction<T>::value && OfThread<Body>::template HAS_PLAIN_SUM<ScanAccumulator<R, T>>;
constexpr int OTHERWISE = 2;

// all = the sum of all; returns 1 without memory, OTHERWISE for such a body. origin: the first index of the first
// block, `begin` or some that are missing ahead of it
template <class Block, class R, class T, class Body, class... Views>
POINT_FN int scan_blocks(T &all, long items, int threads, long origin, long begin, const Body &body,
                         const Views &...later) {
    const auto ask = [=](const auto &i) INLINED { (ask_later(later, i), ...); };
    const long end = begin + items, blocks = (end - origin + Block::SIZE - 1) / Block::SIZE;
    const auto block_of = [&](long number) {
        const long first = origin + number * Block::SIZE, behind = first + Block::SIZE;
        return Block(first, first < begin ? begin : first, behind < end ? behind : end);
    };

    if (threads == 1 && Block::IN_ONE_PASS && !IS_CHECKED<Body, R, T>) {
        const auto own = asking(of_thread(body), ask);
        R().neutral(all);
        for (long number = 0; number < blocks; ++number) all = block_of(number).in_one_pass(own, all);
        done_past();
        return 0;
    }

    const ScanSums<R, T> sums(blocks);
    if (!sums.of_block) return 1;
    alignas(128) long taken = 0; // blocks
    int failed = 0;
#pragma omp parallel num_threads(threads) if (threads > 1) reduction(| : failed)
    {
        const auto own = asking(of_thread(body), ask);
        const auto sum_of = [&](long number) { return block_of(number).sum(own); };
        ScanFront<R, T> front;

        while (true) {
            const long number = __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED);
            if (number >= blocks) break;
            Block block = block_of(number);
            const T of_block = block.sum(own);
            sums.settle(number, of_block);
            const T before = front.all_before(number, sums, sum_of);
            const T behind = block.go_through(own, before);

            if constexpr (IS_CHECKED<Body, R, T>) {
                T wanted = before;
                R().join(wanted, of_block);
                if (behind != wanted) failed = OTHERWISE;
            }
        }

        done_past();
    }

    all = ScanFront<R, T>().all_before(blocks, sums, [](long) { return T(); });
    return failed;
}

// IN_PACKS: the body has no each_lane. later: arrays with an element for each index
template <int, int, class RESULTS, bool IN_PACKS, class Body, class... Views>
POINT_FN int for_scan(long items, int threads, const League &a, const Place *totals, long begin, const Body &body,
                      const Views &...later) {
    typedef typename RESULTS::Only::R R;
    typedef typename RESULTS::Only::T T;
    T all;
    int failed;

    if constexpr (IN_PACKS && TakesPacks<R, T, OfThread<Body>>::value) {
        // Packs begin with a line of memory where sums are the same in any order
        const long origin = HasNoFraction<T>::value ? begin - missing<Results<>>(a, begin) : begin;
        failed = scan_blocks<ScanInPacks<R, T>, R, T>(all, items, threads, origin, begin, body, later...);
    } else failed = scan_blocks<ScanOneByOne<R, T>, R, T>(all, items, threads, begin, begin, body, later...);

    if (!failed) put(totals[0], all);
    if (failed == OTHERWISE)
        snprintf(
            a.report->problem, sizeof a.report->problem,
            "the body gives other values in the last pass, or joins them otherwise than the declared reducer does");
    return failed;
}
