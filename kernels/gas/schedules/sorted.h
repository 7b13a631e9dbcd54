// Points of one kind side by side on CUDA, so that a warp does not wait for a point of another kind. A block takes
// every gridDim.x-th group of 32 points, a window of them at a time, and sorts them by their kind. Points of quick
// kinds come first, in a pass that has no more code than they need: what they need beyond that is put off. Points of
// other kinds and those that are put off are listed, and worked on in whole when there are enough of them for all
// warps.
//
// Of the program P beside thread.h:
//   KINDS, QUICK    kinds of points; those below QUICK are quick
//   is_put_off(x)   whether a pass has put the point off, which left this value there
// and of How:
//   AHEAD    units of 8 bytes of shared memory ahead of the order of points
//   WINDOW   points of a window
//   LISTED   points of the list from which on they are worked on
#pragma once
#include "gas/schedules/thread.h"

// The mixture in the first pass
struct QuickPass : Mixture {};
template <> constexpr bool IS_QUICK_PASS<QuickPass> = true;

POINT_FN int lane_of_warp() { return threadIdx.x & 31; }
POINT_FN int lane_of(const unsigned bits) { return __ffs(bits) - 1; }
POINT_FN unsigned lanes_before() { return (1u << lane_of_warp()) - 1; }

// The first number of `count` more at `number`, for a warp that takes them together
POINT_FN int take_together(int *number, const int count) {
    return __shfl_sync(WARP, lane_of_warp() == 0 ? atomicAdd(number, count) : 0, 0);
}

// A number for each lane of `asks`, one after the other from `number` on
POINT_FN int take_one(int *number, const bool asks) {
    const unsigned all = __ballot_sync(WARP, asks);
    return take_together(number, __popc(all)) + __popc(all & lanes_before());
}

// The same with a counter for each kind; nothing for the lanes of kind -1
POINT_FN int take_one_of(int *numbers, const int kind) {
    const unsigned alike = __match_any_sync(WARP, kind), before = alike & lanes_before();
    int number = 0;
    if (kind >= 0 && before == 0) number = atomicAdd(numbers + kind, __popc(alike));
    return __shfl_sync(WARP, number, lane_of(alike)) + __popc(before);
}

// Which of gridDim.x groups a block takes in a turn: another place in each, by the golden ratio, so that it does not
// meet the same place of every line of a grid
POINT_FN unsigned place_in_turn(const unsigned turn) {
    const unsigned along = __umulhi(turn * 2654435769u, gridDim.x), place = blockIdx.x + along;
    return place < gridDim.x ? place : place - gridDim.x;
}

// The order of a block's points, in shared memory
template <class How, class P> struct Order {
    int begin[P::KINDS + 1];                   // of each kind in place[]
    int quick, all;                            // points of quick kinds, and of all
    int taken;                                 // groups of points that warps have taken
    int number;                                // points in list[]
    int place[How::WINDOW];                    // points of the window by their kind; numbers within the block
    int list[2 * (How::WINDOW + How::LISTED)]; // behind `number` points that are put off again

    // Sorts points first .. first + count - 1, whole groups. kind_of(i): kind of point i, -1 beyond the last
    template <class KindOf> POINT_FN void sort(const int first, const int count, const KindOf &kind_of) {
        __syncthreads();
        if (threadIdx.x <= P::KINDS) begin[threadIdx.x] = 0;
        __syncthreads();

        UNROLL_BY(4)
        for (int i = threadIdx.x; i < count; i += How::THREADS) take_one_of(begin + 1, kind_of(first + i));
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int k = 1; k <= P::KINDS; ++k) begin[k] += begin[k - 1];
            quick = begin[P::QUICK], all = begin[P::KINDS], taken = 0;
        }
        __syncthreads();

        UNROLL_BY(4)
        for (int i = threadIdx.x; i < count; i += How::THREADS) {
            const int kind = kind_of(first + i), to = take_one_of(begin, kind);
            if (kind >= 0) place[to] = first + i;
        }
        __syncthreads();
    }

    POINT_FN void put_off(const int point, const bool late) {
        const int to = take_one(&number, late);
        if (late) list[to] = point;
    }

    // Warps take points of the window, the slow kinds first. quickly(i, is_there), wholly(i, is_there): work on point
    // i, and whether it is put off
    template <class Quickly, class Wholly> POINT_FN void work_on_window(const Quickly &quickly, const Wholly &wholly) {
        const int groups_in_whole = (all - quick + 31) / 32, groups = groups_in_whole + (quick + 31) / 32;
        for (int group; (group = take_together(&taken, 1)) < groups;) {
            const bool in_whole = group < groups_in_whole;
            const int end = in_whole ? all : quick, begin = in_whole ? quick : 0;
            const int i = end - 1 - 32 * (in_whole ? group : group - groups_in_whole) - lane_of_warp();
            const int point = place[i < begin ? begin : i];
            put_off(point, in_whole ? wholly(point, i >= begin) : quickly(point, i >= begin));
        }
        __syncthreads();
    }

    // Each warp takes points of the list. Those that are put off again come to its begin.
    template <class Work> POINT_FN void work_on_list(const Work &work) {
        const int before = number;
        __syncthreads();
        if (threadIdx.x == 0) taken = 0;
        __syncthreads();
        for (int first; (first = 32 * take_together(&taken, 1)) < before;) {
            const int i = first + lane_of_warp();
            const int point = list[i < before ? i : 0];
            put_off(point, work(point, i < before));
        }
        __syncthreads();
        const int again = number - before;
        for (int i = threadIdx.x; i < again; i += How::THREADS) list[i] = list[before + i];
        __syncthreads();
        if (threadIdx.x == 0) number = again;
        __syncthreads();
    }
};

// Waits for the copies into the thread's column
template <class How> struct Arrival {
    POINT_FN void operator()() const {
        if constexpr (How::COLUMNS) {
            copies_done();
            __syncwarp();
        }
    }
};

// A point's work, in a function of its own: the quick pass does not hold its numbers
template <class How, class Work>
RARE_FN void in_whole(const Mixture &m, const long first, outside *column, const Work work) {
    work(m, first, column, Arrival<How>());
}

// key_at(first): the value by which this thread's point has its kind. work(m, first, column, arrived) as in thread.h.
template <class How, class P, class Key, class Work>
POINT_FN void run_sorted(const Mixture &m, const long n, const Key &key_at, const Work &work) {
    extern __shared__ double shared_memory[];
    Order<How, P> &order = *(Order<How, P> *)(shared_memory + How::AHEAD);
    const Mixture &constants = copied_constants<How>(m);
    outside *const column = (outside *)(shared_memory + How::CONSTANTS) + threadIdx.x;
    copies_done();

    const int points =
        32 * int(((n + 31) / 32 + gridDim.x - 1) / gridDim.x); // of the block, with those beyond the last
    const auto first_of = [&](const int i) {                   // as if this thread's point were in the thread's place
        return (i / 32 * (long)gridDim.x + place_in_turn(i / 32)) * 32 + i % 32 - threadIdx.x;
    };
    const auto is_late = [&](const long first) { return first + threadIdx.x < n && P::is_put_off(key_at(first)); };
    const auto kind_of = [&](const int i) {
        const long first = first_of(i);
        return first + threadIdx.x < n ? P::kind(key_at(first)) : -1;
    };
    const auto quickly = [&](const int i, const bool is_there) {
        const long first = is_there ? first_of(i) : n;
        work(static_cast<const QuickPass &>(constants), first, column, Arrival<How>());
        if constexpr (How::COLUMNS) __syncwarp();
        return is_late(first);
    };
    const auto wholly = [&](const int i, const bool is_there) {
        const long first = is_there ? first_of(i) : n;
        in_whole<How>(constants, first, column, work);
        if constexpr (How::COLUMNS) __syncwarp();
        return is_late(first);
    };

    if (threadIdx.x == 0) order.number = 0;
    for (int first = 0; first < points; first += How::WINDOW) {
        const int left = points - first, count = left < How::WINDOW ? left : How::WINDOW;
        order.sort(first, count, kind_of);
        order.work_on_window(quickly, wholly);
        while (order.number >= (left > count ? How::LISTED : 1)) order.work_on_list(wholly);
    }
}
