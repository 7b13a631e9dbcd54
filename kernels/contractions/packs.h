// Tensor expressions on CPU vector units. One tile does all the work: rows times columns of sums, held in vector
// registers, to which the terms of a statement are added. What the lanes of a pack are is the organisation:
//
//   ALONG   neighbours along the output's last index; a tile's columns are packs
//   FOLDED  neighbours along a sum, whose lanes are added up at the end
//   BATCH   entries of the batch; arrays are turned, so that these are neighbours
//
// A statement S has MODE, ROWS, COLUMNS, the output's steps row and column, whether it adds (ADD), and its TILE, where
// that is not for `best_tile` to say; MAY_OVERLAP: a sum may be made twice; BREAK: a row lies in pieces of so many
// numbers, `jump` apart, 0: it does not. A term T has FACTORS, SUMS and their extents, the steps of each factor along
// row, column, lane and sums, and the number before it. Steps and places are in numbers. A source includes
// engine/numbers/pack.h first.
#pragma once
#include <stdlib.h>
#include <string.h>
#include "engine/numbers/launch.h"
#if defined(_OPENMP)
#include <omp.h>
#endif

constexpr int W = VECTOR_LANES; // of a pack
enum Mode { ALONG, FOLDED, BATCH };

template <int BYTES> struct Vector {
    typedef scalar type __attribute__((vector_size(BYTES)));
    typedef scalar anywhere __attribute__((vector_size(BYTES), aligned(sizeof(scalar)), may_alias));
};
constexpr int bytes_for(int n) { // of the narrowest vector that holds n numbers
    const int bytes = n * int(sizeof(scalar));
    return bytes <= 16 ? 16 : bytes <= 32 && VECTOR_BYTES >= 32 ? 32 : VECTOR_BYTES;
}
template <int N> using Pack = typename Vector<bytes_for(N)>::type;
template <class V> constexpr int lanes_of = sizeof(V) / sizeof(scalar);

// ---- N numbers in a vector V: the lanes beyond them are 0, and their memory is not touched
#if VECTOR_BYTES == 64
#define MASKED(what) \
    if constexpr (sizeof(scalar) == 8 && sizeof(V) == 64) what(512, pd, __m512d); \
    else if constexpr (sizeof(scalar) == 8 && sizeof(V) == 32) what(256, pd, __m256d); \
    else if constexpr (sizeof(scalar) == 8) what(, pd, __m128d); \
    else if constexpr (sizeof(V) == 64) what(512, ps, __m512); \
    else if constexpr (sizeof(V) == 32) what(256, ps, __m256); \
    else what(, ps, __m128);
#define LOAD(bits, kind, type) return (V)_mm##bits##_maskz_loadu_##kind(mask, p)
#define STORE(bits, kind, type) _mm##bits##_mask_storeu_##kind(p, mask, (type)x)
template <class V> POINT_FN V load_part(const scalar *p, int n) {
    const int mask = (1 << n) - 1;
    MASKED(LOAD)
}

template <class V> POINT_FN void store_part(scalar *p, V x, int n, int first = 0) { // lanes first to n
    const int mask = (1 << n) - (1 << first);
    MASKED(STORE)
}

#undef MASKED
#undef LOAD
#undef STORE
#else
template <class V> POINT_FN V load_part(const scalar *p, int n) {
#if VECTOR_BYTES == 32
    if (n == 1) return V{*p};
    decltype(V{} < V{}) lane;
    UNROLL
    for (int i = 0; i < lanes_of<V>; ++i) lane[i] = i;
    const auto mask = lane < n;
    if constexpr (sizeof(scalar) == 8 && sizeof(V) == 32)
        return (V)_mm256_maskload_pd((const double *)p, (__m256i)mask);
    else if constexpr (sizeof(scalar) == 8) return (V)_mm_maskload_pd((const double *)p, (__m128i)mask);
    else if constexpr (sizeof(V) == 32) return (V)_mm256_maskload_ps((const float *)p, (__m256i)mask);
    else return (V)_mm_maskload_ps((const float *)p, (__m128i)mask);
#else
    V x = {};
    for (int i = 0; i < n; ++i) x[i] = p[i];
    return x;
#endif
}

template <class V> POINT_FN void store_part(scalar *p, V x, int n, int first = 0) { // lanes first to n
    for (int i = first; i < n; ++i) p[i] = x[i];
}
#endif
template <class V, int N, long LANE> POINT_FN V fetch(const scalar *p) {
    if constexpr (LANE == 0) return *p - V{};
    else if constexpr (LANE == 1 && N == lanes_of<V>) return *(const typename Vector<sizeof(V)>::anywhere *)p;
    else if constexpr (LANE == 1) return load_part<V>(p, N);
    else {
        V x = {};
        UNROLL
        for (int i = 0; i < N; ++i) x[i] = p[i * LANE];
        return x;
    }
}

template <int N, class V> POINT_FN void leave(scalar *p, V x) {
    if constexpr (N == lanes_of<V>) *(typename Vector<sizeof(V)>::anywhere *)p = x;
    else store_part(p, x, N);
}

template <int... I> struct Numbers {};
template <int N, int... I> struct Count : Count<N - 1, N - 1, I...> {};
template <int... I> struct Count<0, I...> {
    typedef Numbers<I...> type;
};
// Lanes from N on become 0: a factor that is spread may be infinite there.
template <int N, class V, int... I> POINT_FN V first_lanes(V x, Numbers<I...>) {
    return __builtin_shufflevector(x, V{}, (I < N ? I : lanes_of<V> + I)...);
}

// ---- a tile of sums
#define EACH_SUM(s) \
    UNROLL \
    for (int r = 0; r < s.rows; ++r) UNROLL \
    for (int c = 0; c < s.columns; ++c)
template <int R, int C, int N, int BACK = 0> struct Tile { // BACK: the last column begins so many numbers earlier
    typedef Pack<N> V;
    static constexpr int rows = R;
    static constexpr int columns = C;
    static constexpr int lanes = N;
    static constexpr int back(int c) { return c == C - 1 ? BACK : 0; }
    V at[R][C];
};

template <class T, class V, int N, int F> POINT_FN V product(const scalar *const (&at)[T::FACTORS], int r, int c) {
    const V x = fetch<V, N, T::lane[F]>(at[F] + r * T::row[F] + c * T::column[F]);
    if constexpr (F > 0) return product<T, V, N, F - 1>(at, r, c) * x;
    else if constexpr (T::number == 1.0 || T::number == -1.0) return x;
    else return x * scalar(T::number);
}

template <class T, bool FRESH, int N, class S> POINT_FN void one_turn(S &s, const scalar *const (&at)[T::FACTORS]) {
    typedef typename S::V V;
    EACH_SUM(s) {
        V x = product<T, V, N, T::FACTORS - 1>(at, r, c * T::STEP - S::back(c));
        if constexpr (T::FOLD && N < lanes_of<V>) x = first_lanes<N>(x, typename Count<lanes_of<V>>::type());
        if constexpr (FRESH) s.at[r][c] = T::number == -1.0 ? -x : x;
        else if constexpr (T::number == -1.0) s.at[r][c] -= x;
        else s.at[r][c] += x;
    }
}

template <class T, bool FRESH, int D, class S> POINT_FN void all_turns(S &s, const scalar *const (&at)[T::FACTORS]) {
    if constexpr (D == T::SUMS) one_turn<T, FRESH, S::lanes>(s, at);
    else if constexpr (D == 0 && T::FOLD) {
        constexpr int whole = T::extent[0] / W;
        constexpr int part = T::extent[0] % W;
        static_assert(T::SUMS == 1, "a sum of several loops is not folded");
        const scalar *next[T::FACTORS];

        for (int k = 0; k < whole; ++k) {
            UNROLL
            for (int f = 0; f < T::FACTORS; ++f) next[f] = at[f] + k * W * T::sum[f][0];
            one_turn<T, false, W>(s, next);
        }

        if constexpr (part > 0) {
            for (int f = 0; f < T::FACTORS; ++f) next[f] = at[f] + whole * W * T::sum[f][0];
            one_turn<T, false, part>(s, next);
        }
    } else
        for (int k = 0; k < T::extent[D]; ++k) {
            const scalar *next[T::FACTORS];
            UNROLL
            for (int f = 0; f < T::FACTORS; ++f) next[f] = at[f] + k * T::sum[f][D];
            all_turns<T, FRESH, D + 1>(s, next);
        }
}

template <class S> POINT_FN void clear(S &s) { EACH_SUM(s) s.at[r][c] = typename S::V{}; }
// A term: FIRST of its statement or not; at: its factors where the tile begins.
template <class T, bool FIRST, class S, class... P> POINT_FN void add(S &s, int r, int c, const P *...at) {
    const scalar *begin[] = {at...};
    UNROLL
    for (int f = 0; f < T::FACTORS; ++f) begin[f] += r * T::row[f] + c * T::column[f];
    constexpr bool FRESH = FIRST && T::SUMS == 0;
    if constexpr (FIRST && !FRESH) clear(s);
    all_turns<T, FRESH, 0>(s, begin);
}

template <class S> POINT_FN void add_number(S &s, bool first, double number) { // a term without factors
    EACH_SUM(s) s.at[r][c] = scalar(number) - typename S::V{} + (first ? typename S::V{} : s.at[r][c]);
}

// The sums of the lanes of A and B, in neighbouring lanes; always the same order.
template <int S, class V, int... I> POINT_FN V halves(V a, V b, Numbers<I...>) { // blocks of S of a and b, in turn
    constexpr int L = lanes_of<V>;
    return __builtin_shufflevector(a, b, (I / S % 2 ? L + I - S : I)...) +
           __builtin_shufflevector(a, b, (I / S % 2 ? L + I : I + S)...);
}

template <int I, class Sums> POINT_FN typename Sums::V sum_at(const Sums &s) { // row by row; 0 behind the last
    if constexpr (I < Sums::rows * Sums::columns) return s.at[I / Sums::columns][I % Sums::columns];
    else return typename Sums::V{};
}

// 2 S sums of a tile from number FIRST on, in one vector: each is in lanes that are 2 S apart, still to be added up
template <int S, int FIRST, class Sums> POINT_FN typename Sums::V folded(const Sums &s) {
    typedef typename Count<lanes_of<typename Sums::V>>::type All;
    if constexpr (S == 1) return halves<1>(sum_at<FIRST>(s), sum_at<FIRST + 1>(s), All());
    else return halves<S>(folded<S / 2, FIRST>(s), folded<S / 2, FIRST + S>(s), All());
}

// to[0 .. rows * columns): the sum of the lanes of each sum of a tile
template <int FIRST = 0, class Sums> POINT_FN void leave_folded(scalar *to, const Sums &s) {
    constexpr int L = lanes_of<typename Sums::V>;
    leave<L>(to + FIRST, folded<L / 2, FIRST>(s));
    if constexpr (FIRST + L < Sums::rows * Sums::columns) leave_folded<FIRST + L>(to, s);
}

// N lanes of a row that the output has in pieces of S::BREAK numbers, from number `at` of the row on.
template <class S, int N, class V> POINT_FN void leave_broken(scalar *row, int at, V x) {
    const int piece = at / S::BREAK;
    const int first = S::BREAK - at % S::BREAK;
    scalar *const to = row + piece * S::jump + at % S::BREAK;
    if (first >= N) leave<N>(to, x);
    else {
        store_part(to, x, first);
        store_part(to - S::BREAK + S::jump, x, N, first);
    }
}

template <int S, class V, int... I> POINT_FN void exchange(V &a, V &b, Numbers<I...>) {
    constexpr int L = lanes_of<V>;
    const V low = __builtin_shufflevector(a, b, (I & S ? L + I - S : I)...);
    b = __builtin_shufflevector(a, b, (I & S ? L + I : I + S)...);
    a = low;
}

template <int S = 1> POINT_FN void transpose(Pack<W> (&x)[W]) {
    if constexpr (S < W) {
        UNROLL
        for (int i = 0; i < W; ++i)
            if (!(i & S)) exchange<S>(x[i], x[i + S], typename Count<W>::type());
        transpose<S * 2>(x);
    }
}

// Whether lanes go across the output's lines, whose numbers are the tile's rows: these are turned on their way out.
template <class S> constexpr bool turned = S::MODE == ALONG && S::row == 1 && S::column > 1;

// to[i * step + r] = lane i of x[r], r < R
template <int R, class V> POINT_FN void leave_turned(scalar *to, long step, const V *x) {
    if constexpr (R >= W && lanes_of<V> == W) {
        V all[W];
        UNROLL
        for (int r = 0; r < W; ++r) all[r] = x[r];
        transpose(all);
        UNROLL
        for (int i = 0; i < W; ++i) leave<W>(to + i * step, all[i]);
        if constexpr (R > W) leave_turned<R - W>(to + W, step, x + W);
    } else if constexpr (R >= 2) {
        constexpr int L = lanes_of<V>;
        V low = x[0];
        V high = x[1];
        exchange<1>(low, high, typename Count<L>::type());
        UNROLL
        for (int i = 0; i < L; i += 2) {
            memcpy(to + i * step, (const scalar *)&low + i, 2 * sizeof(scalar));
            memcpy(to + (i + 1) * step, (const scalar *)&high + i, 2 * sizeof(scalar));
        }
        if constexpr (R > 2) leave_turned<R - 2>(to + 2, step, x + 2);
    } else {
        UNROLL
        for (int i = 0; i < lanes_of<V>; ++i) to[i * step] = x[0][i];
    }
}

// Into the output, at the tile's place.
template <class S, class Sums> POINT_FN void put(const Sums &s, int r0, int c0, scalar *out) {
    typedef typename Sums::V V;
    constexpr int R = Sums::rows;
    constexpr int C = Sums::columns;
    if constexpr (S::BREAK > 0) {
        EACH_SUM(s) leave_broken<S, Sums::lanes>(out + (r0 + r) * S::row, c0 + c * W - Sums::back(c), s.at[r][c]);
        return;
    }
    out += r0 * S::row + c0 * S::column;

    if constexpr (turned<S>) {
        static_assert(Sums::lanes == lanes_of<V> && !S::ADD, "whole packs that overwrite");
        UNROLL
        for (int c = 0; c < C; ++c) {
            V x[R];
            UNROLL
            for (int r = 0; r < R; ++r) x[r] = s.at[r][c];
            leave_turned<R>(out + (c * W - Sums::back(c)) * S::column, S::column, x);
        }
    } else if constexpr (S::MODE == FOLDED) {
        constexpr int L = lanes_of<V>;
        scalar sums[(R * C + L - 1) / L * L];
        leave_folded(sums, s);
        if constexpr (S::column == 1 && !S::ADD) {
            UNROLL
            for (int r = 0; r < R; ++r) memcpy(out + r * S::row, sums + r * C, C * sizeof(scalar));
        } else EACH_SUM(s) {
                scalar &to = out[r * S::row + c * S::column];
                to = S::ADD ? to + sums[r * C + c] : sums[r * C + c];
            }
    } else {
        constexpr int STEP = S::MODE == ALONG ? W : 1;
        constexpr int N = Sums::lanes;

        EACH_SUM(s) {
            scalar *const to = out + r * S::row + (c * STEP - Sums::back(c)) * S::column;
            V x = s.at[r][c];
            if constexpr (S::ADD) x = fetch<V, N, 1>(to) + x;
            leave<N>(to, x);
        }
    }
}

// ---- work(tile, row, column) for all tiles of a statement
struct Extents {
    int rows, columns;
};

// The tile that covers so many rows and columns in the fewest turns of the processor, roughly: a multiply-add takes
// one, but a tile of fewer than 8 has to wait for its results; a load takes half a one. Its rows are a multiple of
// `whole`, or all.
constexpr Extents best_tile(int rows, int columns, int whole) {
    constexpr int HELD = VECTOR_BYTES == 64 ? 24 : 12;
    constexpr int MOST = VECTOR_BYTES == 64 ? 12 : 6; // of 32 or 16 registers
    Extents best = {1, 1};
    double least = 1e30;
    for (int r = 1; r <= MOST && r <= rows; ++r)
        for (int c = r % whole && r < rows ? 9 : 1; c <= 8 && c <= columns && r * c <= HELD; ++c) {
            double sum = 0;
            for (int edge = 0; edge < 4; ++edge) { // the tiles within, and those of what is left over on the two sides
                const int h = edge & 1 ? rows % r : r;
                const int w = edge & 2 ? columns % c : c;
                const int many = (edge & 1 ? h > 0 : rows / r) * (edge & 2 ? w > 0 : columns / c);
                sum += many * ((h * w > 8 ? h * w : 8) + 0.5 * (h + w));
            }

            if (sum < least) least = sum, best = {r, c};
        }

    return best;
}

template <class S> constexpr Extents tile_of(int rows, int columns) {
    if (S::TILE.rows == 0) return best_tile(rows, columns, turned<S> ? W : 1);
    return {S::TILE.rows < rows ? S::TILE.rows : rows, S::TILE.columns < columns ? S::TILE.columns : columns};
}

template <int R, int C, int N, int BACK = 0, class Work> POINT_FN void tile_at(const Work &work, int r, int c) {
    Tile<R, C, N, BACK> s;
    work(s, r, c);
}

// Columns of a statement: packs of them, or single ones. OVER: the last pack begins this many numbers earlier, inside
// the pack before it, and computes its sums again: short rows then have full tiles.
template <class S> struct Columns {
    static constexpr bool packs = S::MODE == ALONG;
    static constexpr bool over = packs && S::MAY_OVERLAP && S::COLUMNS > W;
    static constexpr int left = packs ? S::COLUMNS % W : 0;
    static constexpr int OVER = over && left ? W - left : 0;
    static constexpr int all = (packs ? S::COLUMNS / W : S::COLUMNS) + (OVER > 0);
    static constexpr int rest = OVER ? 0 : left;
    static constexpr int step = packs ? W : 1;
};

template <class S, int R, int C, class Work> POINT_FN void row_of_tiles(const Work &work, int r) {
    typedef Columns<S> Q;
    constexpr bool whole = Q::all % C == 0;
    constexpr int many = Q::all / C - (whole && Q::OVER);
    for (int c = 0; c < many; ++c) tile_at<R, C, W>(work, r, c * C * Q::step);
    if constexpr (whole && Q::OVER) tile_at<R, C, W, Q::OVER>(work, r, many * C * Q::step);
    if constexpr (!whole) tile_at<R, Q::all % C, W, Q::OVER>(work, r, Q::all / C * C * Q::step);
}

template <class S> constexpr int number_of_tiles() {
    constexpr int all = Columns<S>::all;
    constexpr int rest = Columns<S>::rest;
    int sum = 0;
    if (all > 0) {
        constexpr Extents t = tile_of<S>(S::ROWS, all);
        sum += ((S::ROWS + t.rows - 1) / t.rows) * ((all + t.columns - 1) / t.columns);
    }
    if (rest > 0) sum += (S::ROWS + tile_of<S>(S::ROWS, 1).rows - 1) / tile_of<S>(S::ROWS, 1).rows;
    return sum;
}

template <class S, class Work> POINT_FN void tiles(const Work &work) {
    constexpr int all = Columns<S>::all;
    constexpr int rest = Columns<S>::rest;

    if constexpr (all > 0) {
        constexpr Extents t = tile_of<S>(S::ROWS, all);
        for (int r = 0; r + t.rows <= S::ROWS; r += t.rows) row_of_tiles<S, t.rows, t.columns>(work, r);
        if constexpr (S::ROWS % t.rows > 0)
            row_of_tiles<S, S::ROWS % t.rows, t.columns>(work, S::ROWS / t.rows * t.rows);
    }

    if constexpr (rest > 0) { // the last pack of each row, which is not full
        constexpr int R = tile_of<S>(S::ROWS, 1).rows;
        for (int r = 0; r + R <= S::ROWS; r += R) tile_at<R, 1, rest>(work, r, all * W);
        if constexpr (S::ROWS % R > 0) tile_at<S::ROWS % R, 1, rest>(work, S::ROWS / R * R, all * W);
    }
}

// ---- arrays turned: scratch[point][lane] of W entries that are `step` apart, of which `count` are there. A point is
// at q * ld + p, q < Q, p < P.

// Whole squares of a line of P points, ALL: of W entries. Returns the points that are done.
template <int P, bool ALL> POINT_FN int squares_in(const scalar *from, long step, int count, scalar *to) {
    typedef Pack<W> V;
    int p = 0;

    for (; p + W <= P; p += W) {
        V x[W];
        UNROLL
        for (int e = 0; e < W; ++e) x[e] = ALL || e < count ? fetch<V, W, 1>(from + e * step + p) : V{};
        transpose(x);
        UNROLL
        for (int e = 0; e < W; ++e) leave<W>(to + (p + e) * W, x[e]);
    }

    return p;
}

template <int Q, int P> static void turn_in(const scalar *from, long ld, long step, int count, scalar *to) {
    for (int q = 0; q < Q; ++q, from += ld) {
        int p = 0;
        if (step == 1 && P == 1 && count == W) leave<W>(to, fetch<Pack<W>, W, 1>(from)), p = 1;
        else if (step == 1 && P == 1) leave<W>(to, load_part<Pack<W>>(from, count)), p = 1;
        else if (count == W) p = squares_in<P, true>(from, step, count, to);
        else p = squares_in<P, false>(from, step, count, to);
        for (; p < P; ++p)
            for (int e = 0; e < W; ++e) to[p * W + e] = e < count ? from[e * step + p] : 0;
        to += P * W;
    }
}

// to[r * row + c] = from[r + c * lane]
template <int ROWS, int COLUMNS> static void turn(const scalar *from, long lane, scalar *to, long row) {
    typedef Pack<W> V;
    constexpr int R = ROWS / W * W;
    constexpr int C = COLUMNS / W * W;
    for (int c = 0; c < C; c += W)
        for (int r = 0; r < R; r += W) {
            V x[W];
            UNROLL
            for (int i = 0; i < W; ++i) x[i] = fetch<V, W, 1>(from + (c + i) * lane + r);
            transpose(x);
            UNROLL
            for (int i = 0; i < W; ++i) leave<W>(to + (r + i) * row + c, x[i]);
        }

    for (int r = 0; r < ROWS; ++r)
        for (int c = r < R ? C : 0; c < COLUMNS; ++c) to[r * row + c] = from[r + c * lane];
}

template <class V> POINT_FN void stream(scalar *to, V x);
template <int P, bool ALL> POINT_FN int squares_out(const scalar *from, scalar *to, long step, int count, bool past) {
    typedef Pack<W> V;
    int p = 0;

    for (; p + W <= P; p += W) {
        V x[W];
        UNROLL
        for (int e = 0; e < W; ++e) x[e] = fetch<V, W, 1>(from + (p + e) * W);
        transpose(x);

        UNROLL
        for (int e = 0; e < W; ++e) {
            if (!ALL && e >= count) continue;
            if (past) stream(to + e * step + p, x[e]);
            else leave<W>(to + e * step + p, x[e]);
        }
    }

    return p;
}

template <int Q, int P> static void turn_out(const scalar *from, scalar *to, long ld, long step, int count, bool past) {
    for (int q = 0; q < Q; ++q, to += ld) {
        int p = 0;
        if (step == 1 && P == 1 && count == W) {
            if (past) stream(to, fetch<Pack<W>, W, 1>(from));
            else leave<W>(to, fetch<Pack<W>, W, 1>(from));
            p = 1;
        } else if (step == 1 && P == 1) store_part(to, fetch<Pack<W>, W, 1>(from), count), p = 1;
        else if (count == W) p = squares_out<P, true>(from, to, step, count, past);
        else p = squares_out<P, false>(from, to, step, count, past);
        for (; p < P; ++p)
            for (int e = 0; e < count; ++e) to[e * step + p] = from[p * W + e];
        from += P * W;
    }
}

// ---- stores that pass the caches by; to: on a vector's boundary
template <class V> POINT_FN void stream(scalar *to, V x) {
#if VECTOR_BYTES == 64
    _mm512_stream_si512((__m512i *)to, (__m512i)x);
#elif VECTOR_BYTES == 32
    _mm256_stream_si256((__m256i *)to, (__m256i)x);
#else
    leave<W>(to, x);
#endif
}

template <long COUNT> static void copy_past(scalar *to, const scalar *from) {
    static_assert(COUNT % W == 0, "whole vectors");
    for (long i = 0; i < COUNT; i += W) stream(to + i, fetch<Pack<W>, W, 1>(from + i));
}

// Of the numbers that the next entry will write one in each page: the page is found before the stores wait for it.
template <int COUNT> POINT_FN void pages(const scalar *to) {
    constexpr int STEP = 4096 / int(sizeof(scalar));
    UNROLL
    for (int at = 0; at < COUNT; at += STEP) __builtin_prefetch(to + at, 1, 3);
}

// Arrays of so many numbers that the next entry will read, asked for in PARTS, those of an array one after
// the other: all at once would fill the queue to memory, behind which this entry's loads wait.
template <int PARTS, int... COUNT> struct Ahead {
    static constexpr int LINE = 64 / int(sizeof(scalar));
    static constexpr int count[] = {COUNT...};
    static constexpr int MANY = sizeof...(COUNT);
    const scalar *at[MANY];
    int done[MANY] = {};

    POINT_FN void ask() {
        UNROLL
        for (int x = 0; x < MANY; ++x) {
            constexpr int LINES = LINE * PARTS;
            for (int q = 0; q < (count[x] + LINES - 1) / LINES && done[x] < count[x]; ++q, done[x] += LINE)
                __builtin_prefetch(at[x] + done[x], 0, 2);
        }
    }
};

POINT_FN void end_of_streams() {
#if defined(__AVX__)
    _mm_sfence();
#endif
}

// ---- one entry whose points lie a batch apart, as one piece, and back
template <int Q, int P> static void gather(const scalar *from, long ld, scalar *to) {
    for (int q = 0; q < Q; ++q)
        for (int p = 0; p < P; ++p) to[q * P + p] = from[q * ld + p];
}

template <int Q, int P> static void scatter(const scalar *from, scalar *to, long ld) {
    for (int q = 0; q < Q; ++q)
        for (int p = 0; p < P; ++p) to[q * ld + p] = from[q * P + p];
}

// The lower half of the last two of Q x N x N numbers (packs, with L lanes), in both halves.
template <int Q, int N, int L> static void mirror(const scalar *from, scalar *to) {
    for (int q = 0; q < Q; ++q, from += N * N * L, to += N * N * L)
        for (int i = 0; i < N; ++i)
            for (int j = 0; j < N; ++j)
                memcpy(to + (i * N + j) * L, from + (i > j ? i * N + j : j * N + i) * L, L * sizeof(scalar));
}

constexpr long ON_STACK = 256 * 1024; // bytes, as render_packs.py has it
constexpr long LINE_NUMBERS = 64 / sizeof(scalar);

// The same address, of which the compiler knows nothing. GCC 12 and 13, once they have packed the stores to an array,
// take the array's alignment for that of each place in it. Masked loads from there are aligned ones then, which fault.
static scalar *hidden_address(scalar *p) {
    asm("" : "+r"(p));
    return p;
}

// work(first, last, scratch) of thread `me` of `all`, for its part of `count`. rooms: memory for the scratch of all
// threads, where that is larger than ON_STACK.
template <long SCRATCH, class Work>
static __attribute__((noinline)) void part_of_batch(long count, long me, long all, scalar *rooms, const Work &work) {
    const long first = count * me / all, last = count * (me + 1) / all;
    if constexpr (SCRATCH * sizeof(scalar) <= ON_STACK) {
        alignas(64) scalar scratch[SCRATCH < 1 ? 1 : SCRATCH];
        work(first, last, hidden_address(scratch));
    } else work(first, last, rooms + me * ((SCRATCH + LINE_NUMBERS - 1) / LINE_NUMBERS * LINE_NUMBERS));
}

// The same on every thread. One does without OpenMP, whose regions cost a small call more than its work
template <long SCRATCH, class Work> static void over_batch(long count, int threads, scalar *rooms, const Work &work) {
    if (threads > count) threads = count < 1 ? 1 : int(count);
#if defined(_OPENMP)
    if (threads > 1) {
#pragma omp parallel num_threads(threads)
        part_of_batch<SCRATCH>(count, omp_get_thread_num(), omp_get_num_threads(), rooms, work);
        return;
    }
#endif
    part_of_batch<SCRATCH>(count, 0, 1, rooms, work);
}
