// Loops over several indices on CUDA: a thread each, in tiles or in the order of memory.
#pragma once

template <int RANK, int D, class Body, class... I>
POINT_FN void at_indices(const long (&at)[RANK], const Body &body, I... i) {
    if constexpr (D == RANK) body(i...);
    else at_indices<RANK, D + 1>(at, body, i..., at[D]);
}

// first[d]: where tile `number` begins. inverse: of tiles[d], the number of tiles along d; see inverse_of of items.py
template <class ORDER, int RANK>
POINT_FN void tile_of(long number, const long (&tiles)[RANK], const long (&inverse)[RANK], const int (&tile)[RANK],
                      long (&first)[RANK]) {
    unsigned rest = unsigned(number);
    UNROLL
    for (int k = 0; k < RANK - 1; ++k) {
        const int d = ORDER::of(k);
        const unsigned whole = (__umulhi(rest, unsigned(inverse[d])) + rest) >> int(inverse[d] >> 32);
        first[d] = long(int(rest - whole * unsigned(tiles[d])) * tile[d]);
        rest = whole;
    }
    first[ORDER::of(RANK - 1)] = long(rest) * tile[ORDER::of(RANK - 1)];
}

// body(results, i, j, ...) for `items` indices from `begin` on, one a thread, in the order of memory. extent, inverse:
// along each index
template <class RESULTS, class ORDER, int THREADS, int RANK, class Body>
POINT_FN void for_indices(long items, const League &a, const Place *totals, const long (&begin)[RANK],
                          const long (&extent)[RANK], const long (&inverse)[RANK], const Body &body) {
    typename RESULTS::Accumulators results;
    int one[RANK];
    UNROLL
    for (int d = 0; d < RANK; ++d) one[d] = 1;
    for (long number = blockIdx.x * (long)THREADS + threadIdx.x; number < items; number += gridDim.x * (long)THREADS) {
        long at[RANK];
        if (items >> 31) tile_of<ORDER>(number, extent, one, at);
        else tile_of<ORDER>(number, extent, inverse, one, at);
        UNROLL
        for (int d = 0; d < RANK; ++d) at[d] += begin[d];
        at_indices<RANK, 0>(at, [&](auto... i) { body(results, i...); });
    }
    int turn = 0;
    if constexpr (RESULTS::COUNT > 0) add_up<THREADS, RESULTS>(a, totals, results, turn);
}

// body(results, i, j, ...) for `extent` indices from `begin` on: a block a tile, one a thread. items: number of tiles;
// tiles, inverse: along each index. OUTER, INNER: orders of the tiles, of the indices in a tile
template <class RESULTS, class OUTER, class INNER, int THREADS, int RANK, class Body>
POINT_FN void for_tiles(long items, const League &a, const Place *totals, const long (&begin)[RANK],
                        const long (&extent)[RANK], const int (&tile)[RANK], const long (&tiles)[RANK],
                        const long (&inverse)[RANK], const Body &body) {
    typename RESULTS::Accumulators results;
    const auto work_on = [&](const long number) {
        long at[RANK];
        if (items >> 31) tile_of<OUTER>(number, extent, tile, at);
        else tile_of<OUTER>(number, tiles, inverse, tile, at);
        int rest = threadIdx.x;
        bool in = true;
        UNROLL
        for (int k = 0; k < RANK; ++k) {
            const int d = INNER::of(k);
            at[d] += rest % tile[d], rest /= tile[d];
            in = in && at[d] < extent[d];
            at[d] += begin[d];
        }
        if (in) at_indices<RANK, 0>(at, [&](auto... i) { body(results, i...); });
    };

    // With results a block has many tiles. Tiles side by side, and warps of a tile, have parts of lines of memory in
    // common: what is written of a line at about the same time goes to memory once.
    constexpr int IN_TURN = RESULTS::COUNT > 0 ? 4 : 1;
    const long in_turn = items < IN_TURN * (long)gridDim.x ? 1 : IN_TURN;
    for (long first = blockIdx.x * in_turn; first < items; first += gridDim.x * in_turn)
        for (long number = first; number < items && number < first + in_turn; ++number) {
            work_on(number);
            if (IN_TURN > 1) __syncthreads();
        }
    int turn = 0;
    if constexpr (RESULTS::COUNT > 0) add_up<THREADS, RESULTS>(a, totals, results, turn);
}
