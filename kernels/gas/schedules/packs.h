// The loop around a point program on a CPU: blocks of BLOCK points, whose intermediates stay in the L1 cache, in stages
// over packs. `real` and `Mixture` are defined before this file. After it packs.py defines a structure P, the program:
//   COUNT arrays of ROWS[] rows, which are INPUT[] or OUTPUT[] or both; SCRATCH rows of intermediates
//   composed(m, scratch)             the part that depends on the composition alone, if that is uniform
//   stages(m, points, scratch)       all stages over these points, whose number TOGETHER divides
//   KIND, KINDS, kind(x)             the row (or -1) by whose value x points are of one of KINDS kinds
//   LISTS, list_of(x)                which of LISTS lists a point is on that the stages put off, which left this value
//                                    there; -1: it is done. Work on a list puts points off to later lists only
//   TOGETHER                         points of the widest pack of a stage
//   LINES, lines<N>(m, row, step)    whether there is one stage of scalars; for boxes: of SIDE lines of N points
#pragma once
#include <fenv.h>
#include <stdlib.h>
#include "engine/numbers/launch.h"

#define STAGE_FN __attribute__((noinline)) static // of a program's stages
typedef number<real>::stored stored;
// Rows lie slightly more than a block apart, so that no two are a multiple of 4 KiB apart: such rows would share the
// same few lines of the L1 cache.
constexpr long BLOCK = 128, ROW = BLOCK + 64 / sizeof(stored);

// Points that the stages compute: points first .. first + count - 1 of the rows of all arrays, one array after the
// other. length: points of a row, 0 where rows are copies.
struct Points {
    stored *const *row;
    long first, count, length;
};

// Of boxes of larger arrays: the selected extents, and how many numbers apart points are in x, y, z. UNEVEN: for each
// row, where the arrays have different extents; points of a line lie side by side.
#ifdef UNEVEN
struct Box {
    long nx, ny;
    const long *sy, *sz;
};
#else
struct Box {
    long nx, ny, sx, sy, sz;
};
#endif

template <int COUNT> struct Arguments {
    const Mixture *constants;
    outside *const *row; // the first point of each row of the COUNT arrays, one array after the other
#ifdef BOXED
    Box box;
#endif
};

// Prefetches an array's values of the next block: the hardware prefetcher does not follow so many streams, and a stream
// that is written has to be read too. Each stage prefetches its part of the rows, which spreads the requests over the
// time of a block.
template <int POINTS, bool WRITE>
static inline void ask_ahead(stored *const *row, long now, int rows, int part, int parts) {
    for (int r = part; r < rows; r += parts)
        for (long k = 0; k < POINTS; k += 64 / long(sizeof(stored)))
            __builtin_prefetch(row[r] + now + k + BLOCK, WRITE, WRITE ? 3 : 2);
}

// Whether a matrix goes past the caches: it is larger than they are, and each pack is a whole line of memory.
constexpr long CACHED = 6 << 20; // bytes
template <int ROWS> static inline bool go_past(stored *const *row, const Points &points) {
    const long bytes = points.length * long(sizeof(stored));
    if (ROWS * bytes <= CACHED) return false;
    long unaligned = points.first * long(sizeof(stored));
    for (int r = 0; r < ROWS; ++r) unaligned |= long(row[r]);
    return unaligned % 64 == 0;
}

// The number of rows of all arrays; use(row) for each row of the inputs, or of the outputs.
template <class P> constexpr int all_rows() {
    int rows = 0;
    for (const int number : P::ROWS) rows += number;
    return rows;
}

template <class P, bool IN, class Use> static inline void for_rows(const Use &use) {
    int row = 0;
    UNROLL
    for (int a = 0; a < P::COUNT; ++a) {
        const int end = row + P::ROWS[a];
        if (IN ? P::INPUT[a] : P::OUTPUT[a])
            for (int r = row; r < end; ++r) use(r);
        row = end;
    }
}

// `count` points, filled up to the widest packs
template <class P> static inline long whole_packs(const long count) {
    return (count + P::TOGETHER - 1) / P::TOGETHER * P::TOGETHER;
}

// Memory of a thread: rows of intermediates, and a copy of a block of each row of the arrays.
struct Scratch {
    stored *inner;
    stored *const *copy;
};

// Copies of `count` points, filled up to `whole` with the last of them
template <class P> static inline void fill_up(const Scratch &scratch, const long count, const long whole) {
    for_rows<P, true>([&](const int r) {
        for (long t = count; t < whole; ++t) scratch.copy[r][t] = scratch.copy[r][count - 1];
    });
}

// Points that are copied first, point t from place(t); the copy is filled up to whole packs with the last point. So
// there is no remainder loop, and a point's results do not depend on its place in the block.
template <class P, class Place>
STAGE_FN void copied_points(const Mixture &m, outside *const *row, const Scratch &scratch, const long count,
                            const Place &place) {
    const long whole = whole_packs<P>(count);
    for_rows<P, true>([&](const int r) {
        const outside *from = row[r];
        stored *to = scratch.copy[r];
        const Place at_point = place;
#pragma GCC ivdep
        for (long t = 0; t < count; ++t) to[t] = from[at_point(t)];
    });
    fill_up<P>(scratch, count, whole);
    P::stages(m, Points{scratch.copy, 0, whole, 0}, scratch.inner);
    for_rows<P, false>([&](const int r) {
        outside *to = row[r];
        const stored *from = scratch.copy[r];
        const Place at_point = place;
#pragma GCC ivdep
        for (long t = 0; t < count; ++t) to[at_point(t)] = outside(from[t]);
    });
}

// Points that follow one another, `count` of them. A number that packs divide is computed in place. Another one is
// copied, and so are arrays of another type than the stages'.
template <class P>
static void some_points(const Mixture &m, outside *const *row, const Scratch &scratch, const long first,
                        const long count, const long length) {
    if (sizeof(outside) != sizeof(stored) || count % P::TOGETHER)
        return copied_points<P>(m, row, scratch, count, [first](const long t) { return first + t; });
    P::stages(m, Points{(stored *const *)row, first, count, length}, scratch.inner);
}

#ifdef BOXED
// Points first .. first + count - 1 as parts of lines: use(part, t, n) for n points that lie side by side; the first of
// them is number t.
struct PartOfLine {
    long x, y, z; // of its first point
};

template <class Use> static inline void each_part(const Box &box, const long first, const long count, const Use &use) {
    long line = first / box.nx, x = first - line * box.nx;
    for (long t = 0, n; t < count; t += n, x = 0, ++line) {
        const long z = line / box.ny, y = line - z * box.ny;
        n = box.nx - x < count - t ? box.nx - x : count - t;
        use(PartOfLine{x, y, z}, t, n);
    }
}

// Where a part of a line is in row r; compute_part: the stages, in place.
#ifdef UNEVEN
template <int COUNT>
static inline outside *part_of_row(const Arguments<COUNT> &a, const int r, const PartOfLine &part) {
    return a.row[r] + part.x + part.y * a.box.sy[r] + part.z * a.box.sz[r];
}

template <class P>
static inline void compute_part(const Arguments<P::COUNT> &a, const PartOfLine &part, const long n,
                                const Scratch &scratch) {
    stored *row[all_rows<P>()];
    for (int r = 0; r < all_rows<P>(); ++r) row[r] = (stored *)part_of_row(a, r, part);
    P::stages(*a.constants, Points{row, 0, n, 0}, scratch.inner);
}
#else
static inline long offset_of_part(const Box &box, const PartOfLine &part) {
    return part.x + part.y * box.sy + part.z * box.sz;
}

template <int COUNT>
static inline outside *part_of_row(const Arguments<COUNT> &a, const int r, const PartOfLine &part) {
    return a.row[r] + offset_of_part(a.box, part);
}

template <class P>
static inline void compute_part(const Arguments<P::COUNT> &a, const PartOfLine &part, const long n,
                                const Scratch &scratch) {
    P::stages(*a.constants, Points{(stored *const *)a.row, offset_of_part(a.box, part), n, 0}, scratch.inner);
}
#endif

// Points of longer lines, a block at a time. Parts of lines that packs divide are computed in place.
template <class P>
static void long_lines(const Arguments<P::COUNT> &a, const Scratch &scratch, long first, const long end) {
    const bool in_place = sizeof(outside) == sizeof(stored) && a.box.nx % P::TOGETHER == 0;
    for (; first < end; first += BLOCK) {
        const long count = end - first < BLOCK ? end - first : BLOCK, whole = whole_packs<P>(count);
        if (in_place && count == whole) {
            each_part(a.box, first, count,
                      [&](const PartOfLine &part, long, const long n) { compute_part<P>(a, part, n, scratch); });
            continue;
        }

        each_part(a.box, first, count, [&](const PartOfLine &part, const long t, const long n) {
            for_rows<P, true>([&](const int r) {
                const outside *from = part_of_row(a, r, part);
                for (long i = 0; i < n; ++i) scratch.copy[r][t + i] = from[i];
            });
        });
        fill_up<P>(scratch, count, whole);
        P::stages(*a.constants, Points{scratch.copy, 0, whole, 0}, scratch.inner);
        each_part(a.box, first, count, [&](const PartOfLine &part, const long t, const long n) {
            for_rows<P, false>([&](const int r) {
                outside *to = part_of_row(a, r, part);
                for (long i = 0; i < n; ++i) to[i] = outside(scratch.copy[r][t + i]);
            });
        });
    }
}

#ifdef UNEVEN
template <class P>
static void some_blocks(const Arguments<P::COUNT> &a, const Scratch &scratch, long first, const long end, long) {
    long_lines<P>(a, scratch, first, end);
}

template <class P> static long units(const Arguments<P::COUNT> &, const long points) { return points; }
#else
#include "gas/schedules/lines.h"

// Lines of N points in x, which lie one behind the other. All arrays go side by side, line by line: the processor waits
// for the memory of several at once, and goes on with the next lines while it computes.
template <class P, long N, bool IN, class Copy>
static inline void each_line(outside *const *row, const Box &box, long line, const long lines, const Copy &copy) {
    long z = line / box.ny, y = line - z * box.ny;
    for (long done = 0; done < lines; y = 0, ++z) {
        const long end = box.ny - y < lines - done ? done + box.ny - y : lines;
        long from = y * box.sy + z * box.sz;
        for (; done < end; ++done, from += box.sy)
            for_rows<P, IN>([&](const int r) { copy(r, row[r] + from, done * N); });
    }
}

template <class P, long N>
static void some_lines(const Mixture &m, outside *const *row, const Box &box, const Scratch &scratch, long line,
                       long lines) {
    each_line<P, N, true>(row, box, line, lines, [&](int r, const outside *from, long t) {
        stored x[N];
        for (long i = 0; i < N; ++i) x[i] = from[i];
        for (long i = 0; i < N; ++i) scratch.copy[r][t + i] = x[i];
    });
    const long count = lines * N, whole = whole_packs<P>(count);
    fill_up<P>(scratch, count, whole);
    P::stages(m, Points{scratch.copy, 0, whole, 0}, scratch.inner);
    each_line<P, N, false>(row, box, line, lines, [&](int r, outside *to, long t) {
        outside x[N];
        for (long i = 0; i < N; ++i) x[i] = outside(scratch.copy[r][t + i]);
        for (long i = 0; i < N; ++i) to[i] = x[i];
    });
}

// As many of `count` lines of a plane as SIDE divides. A function of its own has all registers.
template <class P, long N>
static PART_FN void whole_sides(const Mixture &m, outside *const *row, long from, const long step, const long count) {
    outside *now[P::COUNT];
    for (int a = 0; a < P::COUNT; ++a) now[a] = row[a] + from;
    for (long line = 0; line + SIDE <= count; line += SIDE) {
        P::template lines<N>(m, now, step);
        UNROLL
        for (int a = 0; a < P::COUNT; ++a) now[a] += SIDE * step;
    }
}

template <class P, long N>
static void all_lines(const Arguments<P::COUNT> &a, const Scratch &scratch, long first, const long end) {
    const Box &box = a.box;
    long z = first / box.ny, y = first - z * box.ny;
    while (first < end) {
        long lines = end - first < BLOCK / N ? end - first : BLOCK / N;
        if constexpr (P::LINES) {
            const long left = box.ny - y < end - first ? box.ny - y : end - first, whole = left & ~(SIDE - 1);
            if (whole) whole_sides<P, N>(*a.constants, a.row, y * box.sy + z * box.sz, box.sy, whole);
            first += whole;
            y += whole;
            lines = left - whole;
        }
        if (lines) some_lines<P, N>(*a.constants, a.row, box, scratch, first, lines);
        first += lines;
        y += lines;
        z += y / box.ny, y %= box.ny;
    }
}

constexpr long SHORT = 4; // points of the longest line with a copy of its own

// What threads share: whole lines, if these are short, else points.
template <class P>
static void some_blocks(const Arguments<P::COUNT> &a, const Scratch &scratch, long first, const long end, long) {
    (a.box.nx == 1       ? all_lines<P, 1>
     : a.box.nx == 2     ? all_lines<P, 2>
     : a.box.nx == 3     ? all_lines<P, 3>
     : a.box.nx == SHORT ? all_lines<P, SHORT>
                         : long_lines<P>)(a, scratch, first, end);
}

template <class P> static long units(const Arguments<P::COUNT> &a, const long points) {
    return a.box.nx > SHORT ? points : points / a.box.nx;
}
#endif
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
    void read(const outside *key, const long first, const long count) {
        for (long t = 0; t < count; ++t) kind[t] = P::kind(key[first + t]);
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
    static constexpr long MOST = WINDOW + 2 * BLOCK; // of a list before, and what two lists have left
    long place[P::LISTS][MOST], number[P::LISTS] = {};

    template <class Place> void add(const outside *key, const long count, const Place &place_of) {
        for (long t = 0; t < count; ++t) {
            const long at = place_of(t);
            const int on = P::list_of(key[at]);
            if (on >= 0) place[on][number[on]++] = at;
        }
    }
    // Computes what the lists hold, by whole blocks as long as there may come more
    void compute(const Mixture &m, outside *const *row, const Scratch &scratch, const bool more) {
        long now[BLOCK];
        for (int l = 0; l < P::LISTS; ++l) {
            while (number[l] >= (more ? BLOCK : 1)) {
                const long count = number[l] < BLOCK ? number[l] : BLOCK;
                number[l] -= count;
                for (long t = 0; t < count; ++t) now[t] = place[l][number[l] + t];
                copied_points<P>(m, row, scratch, count, Listed{now});
                add(row[P::KIND], count, Listed{now});
            }
        }
    }
};

template <class P>
static void sorted_points(const Mixture &m, outside *const *row, const Scratch &scratch, Sorted<P> &sorted,
                          const long first, const long count, const long length) {
    sorted.read(row[P::KIND], first, count);
    const long copied = sorted.split(first, count, [&](const long from, const long number) {
        some_points<P>(m, row, scratch, from, number, length);
    });
    for (long done = 0; done < copied; done += BLOCK) {
        const long left = copied - done;
        copied_points<P>(m, row, scratch, left < BLOCK ? left : BLOCK, Listed{sorted.place + done});
    }
}

template <class P>
static void some_blocks(const Arguments<P::COUNT> &a, const Scratch &scratch, long first, const long end,
                        const long length) {
    if constexpr (P::KIND >= 0) {
        Sorted<P> sorted;
        PutOff<P> late;
        for (; first < end; first += WINDOW) {
            const long count = end - first < WINDOW ? end - first : WINDOW;
            sorted_points<P>(*a.constants, a.row, scratch, sorted, first, count, length);
            late.add(a.row[P::KIND], count, [=](const long t) { return first + t; });
            late.compute(*a.constants, a.row, scratch, first + count < end);
        }
    } else {
        for (; first < end; first += BLOCK)
            some_points<P>(*a.constants, a.row, scratch, first, end - first < BLOCK ? end - first : BLOCK, length);
    }
}

template <class P> static long units(const Arguments<P::COUNT> &, const long points) { return points; }
#endif

// Points, or lines of a box, first .. end - 1 of `length` on one thread. Returns 0 when done, 1 when there is no memory
// for scratch.
template <class P>
static int run_part(const Arguments<P::COUNT> &arguments, const long first, const long end, const long length) {
    constexpr int ROWS = all_rows<P>();
    stored *const scratch = (stored *)aligned_alloc(64, (P::SCRATCH + ROWS) * ROW * sizeof(stored));
    if (!scratch) return 1;
    stored *copy[ROWS];
    for (int r = 0; r < ROWS; ++r) copy[r] = scratch + (P::SCRATCH + r) * ROW;
    P::composed(*arguments.constants, scratch);
    some_blocks<P>(arguments, Scratch{scratch, copy}, first, end, length);
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
    if (threads == 1) return run_part<P>(arguments, 0, n, n);
    const long blocks = (n + BLOCK - 1) / BLOCK;
    int failed = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(| : failed)
    for (int part = 0; part < threads; ++part) {
        fenv_t host;
        feholdexcept(&host), fesetenv(FE_DFL_ENV);
        const long first = blocks * part / threads * BLOCK, end = blocks * (part + 1) / threads * BLOCK;
        failed |= run_part<P>(arguments, first, end < n ? end : n, n);
        fesetenv(&host);
    }
    return failed;
}
