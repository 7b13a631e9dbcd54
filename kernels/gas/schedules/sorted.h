// Points of one kind side by side on CUDA, so that a warp does not wait for a point of another kind. A block takes
// every gridDim.x-th group of 32 points, a window of them at a time, and sorts them by their kind. First come points of
// quick kinds, in a pass that has no more code than they need: what they need beyond that is put off. Then points are
// worked on in whole, list by list: those of other kinds with those that were put off. So all warps of a block are at
// the same part of the program, whose code is larger than the caches of instructions.
//
// Of the program P beside thread.h:
//   KINDS, QUICK   kinds of points; those below QUICK are quick
//   LISTS          lists of points to be worked on in whole. The first has the points of other kinds, too
//   list_of(x)     the list of a point that was put off, which left this value there; -1: it is done. Work on a list
//                  puts points off to later lists only
// and of How:
//   AHEAD    units of 8 bytes of shared memory ahead of the order of points
//   WINDOW   points of a window
//   LISTED   points of a list from which on they are worked on; the last window leaves none
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
    const unsigned alike = __match_any_sync(WARP, kind);
    const unsigned before = alike & lanes_before();
    int number = 0;
    if (kind >= 0 && before == 0) number = atomicAdd(numbers + kind, __popc(alike));
    return __shfl_sync(WARP, number, lane_of(alike)) + __popc(before);
}

// Which of gridDim.x groups a block takes in a turn: another place in each, by the golden ratio, so that it does not
// meet the same place of every line of a grid
POINT_FN unsigned place_in_turn(const unsigned turn) {
    const unsigned along = __umulhi(turn * 2654435769u, gridDim.x);
    const unsigned place = blockIdx.x + along;
    return place < gridDim.x ? place : place - gridDim.x;
}

// The order of a block's points, in shared memory. Points are numbered within the block.
template <class How, class P> struct Order {
    static constexpr int WINDOW = How::WINDOW;
    static constexpr int LISTED = How::LISTED;

    int end[P::KINDS];                       // of each kind in place[]
    int taken;                               // points that warps have taken
    int listed[P::LISTS];                    // points of each list
    int place[WINDOW];                       // points of the window by their kind
    int list[P::LISTS][WINDOW + 2 * LISTED]; // of a list before, and what two lists have left

    POINT_FN void begin() {
        if (threadIdx.x < P::LISTS) listed[threadIdx.x] = 0;
    }

    // Sorts points first .. first + count - 1, whole groups. kind_of(i): kind of point i, -1 beyond the last
    template <class KindOf> POINT_FN void sort(const int first, const int count, const KindOf &kind_of) {
        __syncthreads();
        if (threadIdx.x < P::KINDS) end[threadIdx.x] = 0;
        __syncthreads();

        // Numbers of each kind, and where each begins
        int *const kinds = list[0] + 2 * LISTED; // free between two windows
        constexpr int TURNS = 8;                 // whose values are on their way at the same time
        for (int begin = threadIdx.x; begin < count; begin += TURNS * How::THREADS) {
            int kind[TURNS];
            UNROLL
            for (int t = 0; t < TURNS; ++t) {
                const int i = begin + t * How::THREADS;
                kind[t] = i < count ? kind_of(first + i) : -1;
            }
            UNROLL
            for (int t = 0; t < TURNS; ++t) {
                const int i = begin + t * How::THREADS;
                if (i < count) kinds[i] = kind[t];
                take_one_of(end, kind[t]);
            }
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int k = 0, begin = 0; k < P::KINDS; ++k) {
                const int number = end[k];
                end[k] = begin;
                begin += number;
            }
        }
        __syncthreads();

        // Places
        UNROLL_BY(4)
        for (int i = threadIdx.x; i < count; i += How::THREADS) {
            const int kind = kinds[i];
            const int to = take_one_of(end, kind);
            if (kind >= 0) place[to] = first + i;
        }
        __syncthreads();
    }

    // Warps take `count` points, the last of them first. work(i, is_there): works on point i, and returns its list
    template <class Work> POINT_FN void work_on(const int *points, const int count, const Work &work) {
        __syncthreads();
        if (threadIdx.x == 0) taken = 0;
        __syncthreads();

        for (int first; (first = take_together(&taken, 32)) < count;) {
            const int i = count - 1 - first - lane_of_warp();
            const int point = points[i < 0 ? 0 : i];
            const int on = work(point, i >= 0);
            const int to = take_one_of(listed, on);
            if (on >= 0) list[on][to] = point;
        }
        __syncthreads();
    }

    // Points of the window of other kinds than quick ones
    POINT_FN void list_the_others() {
        const int quick = end[P::QUICK - 1];
        const int others = end[P::KINDS - 1] - quick;
        for (int i = threadIdx.x; i < others; i += How::THREADS) list[0][listed[0] + i] = place[quick + i];
        __syncthreads();
        if (threadIdx.x == 0) listed[0] += others;
        __syncthreads();
    }

    // Lists of `least` points or more
    template <class Work> POINT_FN void work_on_lists(const int least, const Work &work) {
        for (int l = 0; l < P::LISTS; ++l) {
            const int count = listed[l];
            if (count < least) continue;

            work_on(list[l], count, work);
            if (threadIdx.x == 0) listed[l] = 0;
            __syncthreads();
        }
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
RARE_FN double in_whole(const Mixture &m, const long first, outside *column, const Work work) {
    return work(m, first, column, Arrival<How>());
}

// key_at(first): the value by which this thread's point has its kind. work(m, first, column, arrived) as in thread.h;
// it returns that value as the point leaves it, which is not read from memory again.
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
    const auto list_of = [&](const long first, const double key) {
        return first + threadIdx.x < n ? P::list_of(key) : -1;
    };
    const auto kind_of = [&](const int i) {
        const long first = first_of(i);
        return first + threadIdx.x < n ? P::kind(key_at(first)) : -1;
    };
    const auto quickly = [&](const int i, const bool is_there) {
        const long first = is_there ? first_of(i) : n;
        const double key = work(static_cast<const QuickPass &>(constants), first, column, Arrival<How>());
        if constexpr (How::COLUMNS) __syncwarp();
        return list_of(first, key);
    };
    const auto wholly = [&](const int i, const bool is_there) {
        const long first = is_there ? first_of(i) : n;
        const double key = in_whole<How>(constants, first, column, work);
        if constexpr (How::COLUMNS) __syncwarp();
        return list_of(first, key);
    };

    order.begin();
    for (int first = 0; first < points; first += How::WINDOW) {
        const int left = points - first;
        const int count = left < How::WINDOW ? left : How::WINDOW;
        order.sort(first, count, kind_of);
        order.work_on(order.place, order.end[P::QUICK - 1], quickly);
        order.list_the_others();
        order.work_on_lists(left > count ? How::LISTED : 1, wholly);
    }
}
