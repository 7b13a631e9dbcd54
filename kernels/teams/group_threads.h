// Operations of all threads of a warp, or of a block, on CUDA: each gives a value, and gets the joined result.
#pragma once

template <int THREADS> struct Group {
    static constexpr int WARPS = (THREADS + 31) / 32;
    static constexpr bool WHOLE = THREADS % 32 == 0;
    POINT_FN static int lane() { return threadIdx.x & 31; }
    POINT_FN static int warp() { return threadIdx.x >> 5; }
    POINT_FN static int here() { return WHOLE || warp() < WARPS - 1 ? 32 : THREADS % 32; } // threads of this warp
    POINT_FN static unsigned mask() { return here() == 32 ? 0xffffffffu : (1u << here()) - 1; }
};

// Values of any size between the threads of a warp: in pieces of 4 bytes where they are no numbers.
template <class T> constexpr bool IS_NUMBER = false;
template <> constexpr bool IS_NUMBER<double> = true;
template <> constexpr bool IS_NUMBER<float> = true;
template <> constexpr bool IS_NUMBER<long> = true;
template <> constexpr bool IS_NUMBER<int> = true;

template <class T, class F> POINT_FN T in_pieces(const T &x, const F &f) {
    if constexpr (IS_NUMBER<T>) return f(x);
    else {
        constexpr int PIECES = (sizeof(T) + 3) / 4;
        unsigned piece[PIECES] = {};
        memcpy(piece, &x, sizeof(T));
        UNROLL
        for (int k = 0; k < PIECES; ++k) piece[k] = f(piece[k]);
        T y;
        memcpy(&y, piece, sizeof(T));
        return y;
    }
}

template <class T> POINT_FN T of_partner(unsigned mask, const T &x, int bits) {
    return in_pieces(x, [&](auto piece) { return __shfl_xor_sync(mask, piece, bits); });
}

template <class T> POINT_FN T of_lower(unsigned mask, const T &x, int by) {
    return in_pieces(x, [&](auto piece) { return __shfl_up_sync(mask, piece, by); });
}

template <class T> POINT_FN T of_lane(unsigned mask, const T &x, int lane) {
    return in_pieces(x, [&](auto piece) { return __shfl_sync(mask, piece, lane); });
}

// x = x of this lane and of its partner, joined in their order
template <class R, class T> POINT_FN void join_partner(T &x, const T &other, bool behind, const R &reducer) {
    if (behind) {
        T both = other;
        reducer.join(both, x);
        x = both;
    } else reducer.join(x, other);
}

// x of all threads whose numbers differ in the bits from `low` on, joined in their order; every caller gets it.
// turn: 0 or 1, which of two rows of 32 slots the block uses: one barrier is enough then.
template <int THREADS, class T, class R> POINT_FN T joined(T x, int low, const R &reducer, int &turn) {
    typedef Group<THREADS> G;
    UNROLL
    for (int bit = low; bit < 32; bit <<= 1) {
        const T other = of_partner(G::mask(), x, bit);
        if (G::WHOLE || (G::lane() ^ bit) < G::here()) join_partner(x, other, G::lane() & bit, reducer);
    }
    if (!G::WHOLE) x = of_lane(G::mask(), x, G::lane() & (low - 1)); // the lower ones have joined all
    if constexpr (G::WARPS > 1) {
        static_assert(sizeof(T) <= 256, "values of up to 256 bytes");
        constexpr int SIZE = (sizeof(T) + 7) / 8;
        constexpr int AT_ONCE = 32 / SIZE; // warps whose values a row holds
        T all;
        UNROLL
        for (int first = 0; first < G::WARPS; first += AT_ONCE) {
            double *const row = shared_memory + 32 * turn;
            turn ^= 1;
            const int place = G::warp() - first;
            if (G::lane() == 0 && place >= 0 && place < AT_ONCE) *(T *)(row + SIZE * place) = x;
            __syncthreads();
            if (first == 0) all = *(T *)row;
            for (int w = first ? first : 1; w < G::WARPS && w < first + AT_ONCE; ++w)
                reducer.join(all, *(T *)(row + SIZE * (w - first)));
        }
        x = all;
    }
    return x;
}

// x of all threads before this one, among those whose numbers differ in the bits from `low` on; and that of all.
template <int THREADS, class T, class R> POINT_FN T joined_before(T x, int low, T &all, const R &reducer, int &turn) {
    typedef Group<THREADS> G;
    UNROLL
    for (int bit = low; bit < 32; bit <<= 1) {
        const T other = of_lower(G::mask(), x, bit);
        if (G::lane() >= bit) join_partner(x, other, true, reducer);
    }
    T before = of_lower(G::mask(), x, low);
    if (G::lane() < low) reducer.neutral(before);
    all = of_lane(G::mask(), x, G::here() - 1);
    if constexpr (G::WARPS > 1) {
        static_assert(sizeof(T) <= 8, "scans over several warps have values of up to 8 bytes");
        T *const slot = (T *)(shared_memory + 32 * turn);
        turn ^= 1;
        if (G::lane() == 0) slot[G::warp()] = all;
        __syncthreads();
        T lower;
        reducer.neutral(lower), reducer.neutral(all);
        for (int w = 0; w < G::WARPS; ++w) {
            if (w == G::warp()) lower = all;
            reducer.join(all, slot[w]);
        }
        reducer.join(lower, before);
        before = lower;
    }
    return before;
}

// value = that of the first thread, for all: all wait for it
template <int THREADS, class T> POINT_FN void tell(T &value, int &turn) {
    static_assert(sizeof(T) <= 256, "values of up to 256 bytes");
    if constexpr (THREADS > 32) {
        T *const slot = (T *)(shared_memory + 32 * turn);
        turn ^= 1;
        if (threadIdx.x == 0) *slot = value;
        __syncthreads();
        value = *slot;
    } else value = of_lane(Group<THREADS>::mask(), value, 0);
}
