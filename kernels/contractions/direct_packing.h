// What direct_packs.h reads: packs of numbers, and factors that are packed through tables of places for the caches.
#pragma once
#include <string.h>
#include "engine/numbers/kernel.h"
#include "contractions/transpose_packs.h"

// A panel of rows has PACKS packs. Their sums with COLUMNS columns fill the registers.
constexpr int PACKS = 3;
constexpr int COLUMNS = PACK_BYTES == 64 ? 8 : 4;

typedef SCALAR Pack __attribute__((vector_size(PACK_BYTES)));
constexpr int SIZE = sizeof(SCALAR);
constexpr int LANES = PACK_BYTES / SIZE;
constexpr int PANEL = PACKS * LANES;
constexpr int LINE = 64 / sizeof(SCALAR); // numbers of a cache line
constexpr int MOST_WIDE = 128;            // lines of a band

POINT_FN Pack load(const SCALAR *from) {
    Pack x;
    memcpy(&x, from, sizeof(Pack));
    return x;
}
POINT_FN void store(SCALAR *to, Pack x) { memcpy(to, &x, sizeof(Pack)); }

// A structure has an address that others may know: its fields are in memory.
template <class T> POINT_FN void keep_in_memory(T &x) { __asm__ volatile("" : : "r"(&x) : "memory"); }
// sum += x * y, in the order that is written. A compiler moves sums to other registers, and some to memory.
POINT_FN void add_product(Pack &sum, Pack x, Pack y) {
#ifdef __FMA__
    if (SIZE == 8) __asm__ volatile("vfmadd231pd %2, %1, %0" : "+v"(sum) : "v"(x), "v"(y));
    else __asm__ volatile("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(x), "v"(y));
#else
    sum += x * y;
#endif
}

// Past the caches. to: on a boundary of as many bytes, 16 at least. The compilers' own builtins: the intrinsics'
// headers take longer to read than half of this to compile.
typedef long long Bytes64 __attribute__((vector_size(64)));
typedef long long Bytes32 __attribute__((vector_size(32)));

template <class V> POINT_FN void stream(SCALAR *to, V x) {
#if defined(__clang__)
    __builtin_nontemporal_store(x, (V *)to);
#else
#if PACK_BYTES == 64
    if constexpr (sizeof(V) == 64) return __builtin_ia32_movntdq512((Bytes64 *)to, (Bytes64)x);
#endif
#if PACK_BYTES >= 32
    if constexpr (sizeof(V) == 32) return __builtin_ia32_movntdq256((Bytes32 *)to, (Bytes32)x);
#endif
    memcpy(to, &x, sizeof(V));
#endif
}
POINT_FN void end_of_streams() {
#ifdef __SSE2__
    __builtin_ia32_sfence();
#endif
}

// The fewest numbers that are loaded or stored together: 16 bytes.
constexpr int LEAST_PIECE = 16 / sizeof(SCALAR);

// Half a pack, if that is as much.
constexpr int HALF = LANES / 2 > LEAST_PIECE ? LANES / 2 : LEAST_PIECE;

// Lanes of a pack, `count` of them from lane `first` on: those of each I.
template <int COUNT> struct Few {
    typedef SCALAR type __attribute__((vector_size(COUNT * sizeof(SCALAR))));
};
template <int FIRST, int COUNT, int... I> POINT_FN typename Few<COUNT>::type lanes_of(Pack x, Numbers<I...>) {
    return __builtin_shufflevector(x, x, (FIRST + I)...);
}
template <int FIRST, int COUNT> POINT_FN typename Few<COUNT>::type lanes_of(Pack x) {
    if constexpr (COUNT == LANES) return x;
    else return lanes_of<FIRST, COUNT>(x, typename Count<COUNT>::type());
}

POINT_FN long least(long a, long b) { return a < b ? a : b; }

// Whether COUNT numbers lie side by side.
template <int COUNT> POINT_FN bool side_by_side(const long *place) {
    if (place[COUNT - 1] != place[0] + COUNT - 1) return false;
    long other = 0;
    for (int i = 1; i < COUNT - 1; ++i) other |= place[i] ^ (place[0] + i);
    return !other;
}

// Neighbours that lie apart, but side by side with those `width` further on: depth x width of them.
struct Band {
    int width, depth; // 0: there is none

    // The band that begins a list of places. SIDE: of squares that are transposed, of which the width has several.
    template <int SIDE> POINT_FN static Band at(const long *place, long count, int depth) {
        for (int width = SIDE; width <= MOST_WIDE && long(width) * depth <= count; width += SIDE)
            if (place[width] == place[0] + 1) return crossed(place, width, depth) ? Band{width, depth} : Band{0, 0};
        return {0, 0};
    }

    POINT_FN static bool crossed(const long *place, int width, int depth) {
        for (int q = 1; q < depth; ++q)
            for (int i = 0; i < width; ++i)
                if (place[q * width + i] != place[i] + q) return false;
        return true;
    }
};

// ---- packing --------------------------------------------------------------------------------------------------------

// SIDE vectors of as many numbers, turned: lines to terms, or back.
template <int SIDE> struct Square {
    typename Few<SIDE>::type row[SIDE];
    typedef typename Count<SIDE>::type Lines;

    // Line i from from[i] + at.
    POINT_FN Square(const SCALAR *const *from, long at) { fetch(from, at, Lines()), transpose(row); }
    // Line i from from + i step.
    POINT_FN Square(const SCALAR *from, long step) { fetch(from, step, Lines()), transpose(row); }

    // Line i to to[i] + at; to to + i step.
    POINT_FN void leave(SCALAR *const *to, long at) const { leave(to, at, Lines()); }
    POINT_FN void leave(SCALAR *to, long step) const { leave(to, step, Lines()); }

    template <int... I> POINT_FN void fetch(const SCALAR *const *from, long at, Numbers<I...>) {
        (memcpy(&row[I], from[I] + at, sizeof(row[I])), ...);
    }
    template <int... I> POINT_FN void fetch(const SCALAR *from, long step, Numbers<I...>) {
        (memcpy(&row[I], from + I * step, sizeof(row[I])), ...);
    }
    template <int... I> POINT_FN void leave(SCALAR *const *to, long at, Numbers<I...>) const {
        (memcpy(to[I] + at, &row[I], sizeof(row[I])), ...);
    }
    template <int... I> POINT_FN void leave(SCALAR *to, long step, Numbers<I...>) const {
        (memcpy(to + I * step, &row[I], sizeof(row[I])), ...);
    }
};

// Rows (or columns) of a factor, packed as panels of WIDTH lines: panels[line / WIDTH][term][line % WIDTH].
template <int WIDTH> struct Packing {
    SCALAR *panels;
    const SCALAR *from;
    const long *line, *term; // where lines and terms begin
    long lines, terms;

    // Lines that are packed together, at most and at least.
    static constexpr int PIECE = LANES < WIDTH ? LANES : WIDTH;
    static constexpr int LEAST = LEAST_PIECE;

    POINT_FN SCALAR *at(long l, long k) const { return panels + l / WIDTH * (WIDTH * terms) + k * WIDTH + l % WIDTH; }

    PART_FN void all() const {
        long l = 0;
        while (l < lines) {
            long done = whole<PIECE>(l);
            if (!done && room<PIECE>(l)) apart<PIECE>(l), done = PIECE;
            if (!done && room<LEAST>(l)) apart<LEAST>(l), done = LEAST;
            if (!done) one(l), done = 1;
            l += done;
        }

        // Zeros up to whole packs of the last panel.
        const long end = (lines + PIECE - 1) / PIECE * PIECE;
        SCALAR *const beyond = at(l, 0);
        for (long k = 0; k < terms && l < end; ++k)
            for (long i = 0; i < end - l; ++i) beyond[k * WIDTH + i] = 0;
    }

    // Whether there are SIDE lines of the same panel.
    template <int SIDE> POINT_FN bool room(long l) const { return l + SIDE <= lines && l % WIDTH + SIDE <= WIDTH; }

    // Lines that are packed by vectors of SIDE or fewer numbers, since neighbours of lines lie side by side; 0: none.
    template <int SIDE> POINT_FN long whole(long l) const {
        if (room<SIDE>(l)) {
            if (side_by_side<SIDE>(line + l)) return together<SIDE>(l), SIDE;
            const Band band = l % SIDE ? Band{0, 0} : Band::at<SIDE>(line + l, lines - l, SIDE);
            for (int u = 0; u < band.width; u += SIDE) across<SIDE>(l + u, band.width);
            if (band.width) return band.width * SIDE;
        }
        if constexpr (SIDE > LEAST) return whole<SIDE / 2>(l);
        return 0;
    }

    // Neighbours of SIDE lines lie side by side.
    template <int SIDE> POINT_FN void together(long l) const {
        const SCALAR *const begin = from + line[l];
        SCALAR *const to = at(l, 0);
        for (long k = 0; k < terms; ++k) memcpy(to + k * WIDTH, begin + term[k], SIDE * sizeof(SCALAR));
    }

    // A square of a band: lines l, l + width, ...
    template <int SIDE> POINT_FN void across(long l, long width) const {
        const SCALAR *begin[SIDE];
        SCALAR *to[SIDE];
        UNROLL
        for (int i = 0; i < SIDE; ++i) begin[i] = from + line[l + i], to[i] = at(l + i * width, 0);

        for (long k = 0; k < terms; ++k) Square<SIDE>(begin, term[k]).leave(to, k * WIDTH);
    }

    // SIDE lines lie apart. Terms may lie side by side.
    template <int SIDE> POINT_FN void apart(long l) const {
        const SCALAR *begin[SIDE];
        UNROLL
        for (int i = 0; i < SIDE; ++i) begin[i] = from + line[l + i];
        SCALAR *const to = at(l, 0);

        long k = 0;
        while (k < terms) {
            if (k + SIDE <= terms && side_by_side<SIDE>(term + k)) {
                square<SIDE>(begin, to, k), k += SIDE;
                continue;
            }
            if (SIDE > LEAST && k + LEAST <= terms && side_by_side<LEAST>(term + k)) {
                UNROLL
                for (int i = 0; i < SIDE; i += LEAST) square<LEAST>(begin + i, to + i, k);
                k += LEAST;
                continue;
            }
            UNROLL
            for (int i = 0; i < SIDE; ++i) to[k * WIDTH + i] = begin[i][term[k]];
            ++k;
        }
    }

    // SIDE lines and as many terms.
    template <int SIDE> POINT_FN void square(const SCALAR *const *begin, SCALAR *to, long k) const {
        Square<SIDE>(begin, term[k]).leave(to + k * WIDTH, WIDTH);
    }

    POINT_FN void one(long l) const {
        for (long k = 0; k < terms; ++k) *at(l, k) = from[line[l] + term[k]];
    }
};
