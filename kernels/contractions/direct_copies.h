// Copies of the factors of direct.h into shared memory, asynchronously.
#pragma once
#include "contractions/direct_tile.h"

// N neighbouring numbers into shared memory; zeros if they are not inside. They are there after `copied` and a barrier.
template <int N> POINT_FN void copy(scalar *to, const scalar *from, bool inside) {
#ifdef FRAME_STAND_IN
    if ((unsigned long)to % (N * SIZE) || (inside && (unsigned long)from % (N * SIZE))) __builtin_trap();
    for (int i = 0; i < N; ++i) to[i] = inside ? from[i] : 0;
#else
    const unsigned at = (unsigned)__cvta_generic_to_shared(to);
    const int bytes = inside ? N * SIZE : 0;
    if constexpr (N * SIZE == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(bytes) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(at), "l"(from), "n"(N * SIZE), "r"(bytes)
                     : "memory");
#endif
}

// The copies since the last call are a group.
POINT_FN void copies_end() {
#ifndef FRAME_STAND_IN
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until at most LEFT groups of copies of this thread are under way.
template <int LEFT> POINT_FN void copied() {
#ifndef FRAME_STAND_IN
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
#endif
}

// Where number k of a line lies that runs along the sum: parts of a line change places, so that eight lanes of a warp
// meet all banks. With an odd number of parts they do so anyway.
POINT_FN int along(int line, int k) {
    constexpr int LINE = DEPTH * SIZE;
    constexpr int PART = 8 * SIZE; // bytes
    constexpr int PARTS_OF_LINE = LINE / PART;
    constexpr int LINES_OF_BANKS = LINE < 128 ? 128 / LINE : 1;
    constexpr int PLACES = PARTS_OF_LINE & -PARTS_OF_LINE; // a power of two
    const int turn = line / LINES_OF_BANKS % PLACES;
    return line * DEPTH + (k ^ turn * 8);
}

// The copies of a factor, of LINES rows or columns: what a thread copies at each step. SORTED: lines come to lie in the
// output's order.
template <bool ALONG, int LINES, int WIDE, int FACTOR, bool SORTED> struct Copies {
    static constexpr int FASTEST = (ALONG ? DEPTH : LINES) / WIDE;
    static constexpr int ALL = LINES * DEPTH / WIDE;
    static constexpr int TURNS = (ALL + THREADS - 1) / THREADS;
    static constexpr bool WHOLE = ALL % THREADS == 0;
    static constexpr bool SAME = THREADS % FASTEST == 0;
    static constexpr int LINES_OF_THREAD = !ALONG && SAME ? 1 : TURNS;
    static constexpr bool KEPT = LINES_OF_THREAD <= 4; // where lines begin stays in registers

    const scalar *base;
    const int *table;                     // where each line begins, or OUTSIDE
    const int *spot;                      // the place of each line in the output's order
    int line[KEPT ? LINES_OF_THREAD : 1]; // the same of the thread's lines

    // The line and the term of copy v.
    static POINT_FN int line_of(int v) { return ALONG ? v / FASTEST : v % FASTEST * WIDE; }
    static POINT_FN int term_of(int v) { return ALONG ? v % FASTEST * WIDE : v / FASTEST; }

    POINT_FN void begin(const scalar *at, const int *lines, const int *spots) {
        base = at;
        table = lines;
        spot = spots;
        UNROLL
        for (int i = 0; KEPT && i < LINES_OF_THREAD; ++i) {
            const int v = threadIdx.x + i * THREADS;
            line[i] = WHOLE || v < ALL ? lines[line_of(v)] : OUTSIDE;
        }
    }

    // terms: where each term of the sum lies, in both factors. All places are read before the first copy.
    POINT_FN void ask(scalar *stage, const int *terms) const {
        constexpr int TERMS = ALONG && SAME ? 1 : TURNS;
        int term[TERMS], from[TURNS];
        UNROLL
        for (int i = 0; i < TERMS; ++i) {
            const int v = threadIdx.x + i * THREADS;
            term[i] = WHOLE || v < ALL ? terms[2 * term_of(v) + FACTOR] : OUTSIDE;
        }
        UNROLL
        for (int i = 0; i < TURNS; ++i) {
            const int v = threadIdx.x + i * THREADS;
            const int along_sum = term[TERMS == 1 ? 0 : i];
            const int begin =
                KEPT ? line[LINES_OF_THREAD == 1 || !KEPT ? 0 : i] : table[WHOLE || v < ALL ? line_of(v) : 0];
            from[i] = begin >= 0 && along_sum >= 0 ? begin + along_sum : OUTSIDE;
        }

        UNROLL
        for (int i = 0; i < TURNS; ++i) {
            const int v = threadIdx.x + i * THREADS;
            const int k = term_of(v);
            if (!WHOLE && v >= ALL) break;
            const int l = SORTED ? spot[line_of(v)] : line_of(v);
            const bool inside = from[i] >= 0;
            copy<WIDE>(stage + (ALONG ? along(l, k) : k * (LINES + APART) + l), base + (inside ? from[i] : 0), inside);
        }
    }
};

using LeftCopies = Copies<LEFT_ALONG, ROWS, LEFT_WIDE, 0, false>;
using RightCopies = Copies<RIGHT_ALONG, COLUMNS, RIGHT_WIDE, 1, STRAIGHT>;
