// The loop around a point program on a CPU: blocks of BLOCK points, whose intermediates stay in the L1 cache, in stages
// over packs. `real` and `Mixture` are defined before this file. After it packs.py defines a structure P, the program:
//   COUNT arrays of ROWS[] rows, which are INPUT[] or OUTPUT[] or both; SCRATCH rows of intermediates
//   composed(m, scratch)                       the part that depends on the composition alone, if that is uniform
//   stages(m, array, stride, scratch, count)   all stages over `count` points, a multiple of LANES
//   KIND, KINDS, kind(x)                       the array (or -1) by whose value x points are of one of KINDS kinds
//   is_put_off(x)                              whether the stages put a point off, which left this value there
//   TOGETHER                                   points of the widest pack of a stage
//   LINES, lines<N>(m, array, step)            whether there is one stage of scalars; for boxes: of SIDE lines of N
//   points
#pragma once
#include <fenv.h>
#include <stdlib.h>
#include "engine/numbers/launch.h"

#define STAGE_FN __attribute__((noinline)) static // of a program's stages
typedef number<real>::stored stored;
// Rows lie slightly more than a block apart, so that no two are a multiple of 4 KiB apart: such rows would share the
// same few lines of the L1 cache.
constexpr long BLOCK = 128, ROW = BLOCK + 64 / sizeof(stored), LANES = number<real>::lanes;

struct Array {
    outside *at;
    long ld;
};

// Of boxes of larger arrays: the selected extents, and how many numbers apart points are in x, y, z.
struct Box {
    long nx, ny, sx, sy, sz;
};

template <int COUNT> struct Arguments {
    const Mixture *constants;
    Array array[COUNT];
#ifdef BOXED
    Box box;
#endif
};

// Prefetches an array's values of the next block: the hardware prefetcher does not follow so many streams, and a stream
// that is written has to be read too. Each stage prefetches its part of the rows, which spreads the requests over the
// time of a block.
template <int POINTS, bool WRITE>
static inline void ask_ahead(const stored *now, long stride, int rows, int part, int parts) {
    for (int r = part; r < rows; r += parts)
        for (long k = 0; k < POINTS; k += 64 / long(sizeof(stored)))
            __builtin_prefetch(now + r * stride + k + BLOCK, WRITE, WRITE ? 3 : 2);
}

// Points that are copied first, point t from place(t); the copy is filled up to whole packs with the last point. So
// there is no remainder loop, and a point's results do not depend on its place in the block.
template <class P, class Place>
STAGE_FN void copied_points(const Mixture &m, const Array *array, stored *scratch, const long count,
                            const Place &place) {
    stored *at[P::COUNT], *next = scratch + P::SCRATCH * ROW;
    long stride[P::COUNT];
    const long whole = (count + LANES - 1) / LANES * LANES;
    for (int a = 0; a < P::COUNT; ++a) {
        at[a] = next;
        stride[a] = ROW;
        next += P::ROWS[a] * ROW;
        if (P::INPUT[a])
            for (int r = 0; r < P::ROWS[a]; ++r) {
                const outside *from = array[a].at + r * array[a].ld;
                stored *to = at[a] + r * ROW;
                const Place at_point = place;
                for (long t = 0; t < count; ++t) to[t] = from[at_point(t)];
                for (long t = count; t < whole; ++t) to[t] = to[count - 1];
            }
    }
    P::stages(m, at, stride, scratch, whole);
    for (int a = 0; a < P::COUNT; ++a)
        if (P::OUTPUT[a])
            for (int r = 0; r < P::ROWS[a]; ++r) {
                outside *to = array[a].at + r * array[a].ld;
                const stored *from = at[a] + r * ROW;
                const Place at_point = place;
                for (long t = 0; t < count; ++t) to[at_point(t)] = outside(from[t]);
            }
}

// A whole block is computed in place. A partial block, or one whose arrays have another type than the stages, is
// copied.
template <class P>
static void some_points(const Mixture &m, const Array *array, stored *scratch, const long first, const long count) {
    if (sizeof(outside) != sizeof(stored) || count != BLOCK)
        return copied_points<P>(m, array, scratch, count, [first](const long t) { return first + t; });
    stored *at[P::COUNT];
    long stride[P::COUNT];
    for (int a = 0; a < P::COUNT; ++a) at[a] = (stored *)(array[a].at + first), stride[a] = array[a].ld;
    P::stages(m, at, stride, scratch, BLOCK);
}

#ifdef BOXED
#include "gas/schedules/lines.h"

// Lines of N points in x, which lie one behind the other. All arrays go side by side, line by line: the processor waits
// for the memory of several at once, and goes on with the next lines while it computes.
template <class P, long N, bool IN, class Copy>
static inline void each_line(const Array *array, const Box &box, long line, const long lines, const Copy &copy) {
    long z = line / box.ny, y = line - z * box.ny;
    for (long done = 0; done < lines; y = 0, ++z) {
        const long end = box.ny - y < lines - done ? done + box.ny - y : lines;
        long from = y * box.sy + z * box.sz;
        for (; done < end; ++done, from += box.sy) {
            UNROLL
            for (int a = 0; a < P::COUNT; ++a)
                if (IN ? P::INPUT[a] : P::OUTPUT[a])
                    for (int r = 0; r < P::ROWS[a]; ++r) copy(a, r, array[a].at + r * array[a].ld + from, done * N);
        }
    }
}

template <class P, long N>
static void some_lines(const Mixture &m, const Array *array, const Box &box, stored *scratch, long line, long lines) {
    stored *at[P::COUNT], *next = scratch + P::SCRATCH * ROW;
    long stride[P::COUNT];
    for (int a = 0; a < P::COUNT; ++a) at[a] = next, stride[a] = ROW, next += P::ROWS[a] * ROW;
    each_line<P, N, true>(array, box, line, lines, [&](int a, int r, const outside *from, long t) {
        stored x[N];
        for (long i = 0; i < N; ++i) x[i] = from[i];
        for (long i = 0; i < N; ++i) at[a][r * ROW + t + i] = x[i];
    });
    const long count = lines * N, whole = (count + LANES - 1) / LANES * LANES;
    for (int a = 0; a < P::COUNT; ++a)
        for (int r = 0; r < P::ROWS[a] && P::INPUT[a]; ++r)
            for (long t = count; t < whole; ++t) at[a][r * ROW + t] = at[a][r * ROW + count - 1];
    P::stages(m, at, stride, scratch, whole);
    each_line<P, N, false>(array, box, line, lines, [&](int a, int r, outside *to, long t) {
        outside x[N];
        for (long i = 0; i < N; ++i) x[i] = outside(at[a][r * ROW + t + i]);
        for (long i = 0; i < N; ++i) to[i] = x[i];
    });
}

// As many of `count` lines of a plane as SIDE divides. A function of its own has all registers.
template <class P, long N>
static PART_FN void whole_sides(const Mixture &m, const Array *array, long from, const long step, const long count) {
    Array now[P::COUNT];
    for (int a = 0; a < P::COUNT; ++a) now[a].at = array[a].at + from;
    for (long line = 0; line + SIDE <= count; line += SIDE) {
        P::template lines<N>(m, now, step);
        UNROLL
        for (int a = 0; a < P::COUNT; ++a) now[a].at += SIDE * step;
    }
}

template <class P, long N>
static void all_lines(const Arguments<P::COUNT> &a, stored *scratch, long first, const long end) {
    const Box &box = a.box;
    long z = first / box.ny, y = first - z * box.ny;
    while (first < end) {
        long lines = end - first < BLOCK / N ? end - first : BLOCK / N;
        if constexpr (P::LINES) {
            const long left = box.ny - y < end - first ? box.ny - y : end - first, whole = left & ~(SIDE - 1);
            if (whole) whole_sides<P, N>(*a.constants, a.array, y * box.sy + z * box.sz, box.sy, whole);
            first += whole, y += whole, lines = left - whole;
        }
        if (lines) some_lines<P, N>(*a.constants, a.array, box, scratch, first, lines);
        first += lines, y += lines;
        z += y / box.ny, y %= box.ny;
    }
}

// The points of whole lines first .. end - 1.
template <class P> static void some_blocks(const Arguments<P::COUNT> &a, stored *scratch, long first, const long end) {
    (a.box.nx == 1   ? all_lines<P, 1>
     : a.box.nx == 2 ? all_lines<P, 2>
     : a.box.nx == 3 ? all_lines<P, 3>
                     : all_lines<P, 4>)(a, scratch, first, end);
}

template <class P> static long units(const Arguments<P::COUNT> &a, const long points) { return points / a.box.nx; }
#else
// Points of one kind side by side, so that a pack does not wait for a point of another kind: in a window of several
// blocks. Runs of packs of one kind each are computed in place, the points of other packs are copied, kind by kind.
// Points that are put off then, since they need more than their kind, come last, side by side.
constexpr long WINDOW = 32 * BLOCK;

struct Listed { // point t of a list
    const long *list;
    long operator()(const long t) const { return list[t]; }
};

template <class P> struct Sorted {
    int kind[WINDOW], begin[P::KINDS + 1];
    long place[WINDOW];

    // Kinds of the points from `first` on
    void read(const Array &key, const long first, const long count) {
        for (long t = 0; t < count; ++t) kind[t] = P::kind(key.at[first + t]);
        for (int &number : begin) number = 0;
    }
    bool is_uniform(const long t) const {
        bool same = true;
        for (long i = 1; i < P::TOGETHER; ++i) same &= kind[t + i] == kind[t];
        return same;
    }
    // Number of points in packs of several kinds, in place[] by their kind. use(first, count): a run of other packs
    template <class Use> long split(const long first, const long count, const Use &use) {
        long run = 0, end = 0;
        for (long t = 0; t < count; t = end) {
            end = t + P::TOGETHER < count ? t + P::TOGETHER : count;
            const bool whole = end - t == P::TOGETHER && is_uniform(t);
            if (whole && end - run < BLOCK) continue;
            if (whole) {
                use(first + run, end - run);
                run = end;
                continue;
            }
            if (t > run) use(first + run, t - run);
            for (long i = t; i < end; ++i) ++begin[kind[i] + 1], kind[i] += P::KINDS; // marked: to be copied
            run = end;
        }
        if (count > run) use(first + run, count - run);

        for (int k = 1; k <= P::KINDS; ++k) begin[k] += begin[k - 1];
        const long copied = begin[P::KINDS];
        for (long t = 0; t < count; ++t)
            if (kind[t] >= P::KINDS) place[begin[kind[t] - P::KINDS]++] = first + t;
        return copied;
    }
};

// Points that were put off, from several windows
template <class P> struct PutOff {
    long place[WINDOW + BLOCK], number = 0;

    template <class Place> void add(const Array &key, const long count, const Place &place_of) {
        for (long t = 0; t < count; ++t) {
            place[number] = place_of(t);
            number += P::is_put_off(key.at[place[number]]);
        }
    }
    // Works on them, by whole blocks as long as there may come more. A point may be put off twice.
    void work(const Mixture &m, const Array *array, stored *scratch, const bool more) {
        long now[BLOCK];
        while (number >= (more ? BLOCK : 1)) {
            const long count = number < BLOCK ? number : BLOCK;
            number -= count;
            for (long t = 0; t < count; ++t) now[t] = place[number + t];
            copied_points<P>(m, array, scratch, count, Listed{now});
            add(array[P::KIND], count, Listed{now});
        }
    }
};

template <class P>
static void sorted_points(const Mixture &m, const Array *array, stored *scratch, Sorted<P> &sorted, const long first,
                          const long count) {
    sorted.read(array[P::KIND], first, count);
    const auto in_place = [&](const long from, const long number) {
        if (sizeof(outside) != sizeof(stored))
            return copied_points<P>(m, array, scratch, number, [=](const long t) { return from + t; });
        stored *at[P::COUNT];
        long stride[P::COUNT];
        for (int a = 0; a < P::COUNT; ++a) at[a] = (stored *)(array[a].at + from), stride[a] = array[a].ld;
        P::stages(m, at, stride, scratch, number);
    };
    const long copied = sorted.split(first, count, in_place);
    for (long done = 0; done < copied; done += BLOCK) {
        const long left = copied - done;
        copied_points<P>(m, array, scratch, left < BLOCK ? left : BLOCK, Listed{sorted.place + done});
    }
}

template <class P> static void some_blocks(const Arguments<P::COUNT> &a, stored *scratch, long first, const long end) {
    if constexpr (P::KIND >= 0) {
        Sorted<P> sorted;
        PutOff<P> late;
        for (; first < end; first += WINDOW) {
            const long count = end - first < WINDOW ? end - first : WINDOW;
            sorted_points<P>(*a.constants, a.array, scratch, sorted, first, count);
            late.add(a.array[P::KIND], count, [=](const long t) { return first + t; });
            late.work(*a.constants, a.array, scratch, first + count < end);
        }
    } else {
        for (; first < end; first += BLOCK)
            some_points<P>(*a.constants, a.array, scratch, first, end - first < BLOCK ? end - first : BLOCK);
    }
}

template <class P> static long units(const Arguments<P::COUNT> &, const long points) { return points; }
#endif

// Points, or lines of a box, first .. end - 1 on one thread. Returns 0 when done, 1 when there is no memory for
// scratch.
template <class P> static int run_part(const Arguments<P::COUNT> &arguments, const long first, const long end) {
    int rows = P::SCRATCH;
    for (int a = 0; a < P::COUNT; ++a) rows += P::ROWS[a];
    stored *scratch = (stored *)aligned_alloc(64, rows * ROW * sizeof(stored));
    if (!scratch) return 1;
    P::composed(*arguments.constants, scratch);
    some_blocks<P>(arguments, scratch, first, end);
#if defined(__x86_64__)
    __builtin_ia32_sfence(); // what went past the caches
#endif
    free(scratch);
    return 0;
}

// One thread goes without OpenMP, whose regions cost a small call more than its work. Others are shared with the host,
// which may have set traps for floating-point exceptions.
template <class P> static int run_program(const Arguments<P::COUNT> &arguments, const long points, const int threads) {
    const long n = units<P>(arguments, points);
    if (threads == 1) return run_part<P>(arguments, 0, n);
    const long blocks = (n + BLOCK - 1) / BLOCK;
    int failed = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(| : failed)
    for (int part = 0; part < threads; ++part) {
        fenv_t host;
        feholdexcept(&host), fesetenv(FE_DFL_ENV);
        const long first = blocks * part / threads * BLOCK, end = blocks * (part + 1) / threads * BLOCK;
        failed |= run_part<P>(arguments, first, end < n ? end : n);
        fesetenv(&host);
    }
    return failed;
}
