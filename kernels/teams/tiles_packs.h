// Loops over several indices on a CPU, tile by tile: the fastest index in packs.
#pragma once
#include "teams/tiles_ahead.h"

// The index of dimension D: `fastest` of the fastest one, else a number
template <bool FASTEST, class I> POINT_FN auto index_at(long at, const I &fastest) {
    if constexpr (FASTEST) return fastest;
    else return at;
}

template <class ORDER, int RANK, class I, class Body, int... D>
POINT_FN void at_indices(const long (&at)[RANK], const I &fastest, const Body &body, std::integer_sequence<int, D...>) {
    body(index_at<D == ORDER::of(0)>(at[D], fastest)...);
}

// body(i, j, ...) over first[d] <= i, j, ... < behind[d], the fastest index in packs from `origin` on
template <class RESULTS, class ORDER, int K, int RANK, class Ahead, class Body>
POINT_FN void over_tile(long origin, const long (&first)[RANK], const long (&behind)[RANK], long (&at)[RANK],
                        Lane &lane, Ahead &ahead, const Body &body) {
    constexpr int d = ORDER::of(K);
    if constexpr (K == 0) {
        const auto go = of_packs([&](auto fastest) {
            lane = Lane::of(fastest);
            at_indices<ORDER>(at, fastest, body, std::make_integer_sequence<int, RANK>());
        });
        for_lanes_of<RESULTS>(origin, first[d], behind[d], go, &lane.alone, ahead.work);
        ahead.end_row();
    } else
        for (at[d] = first[d]; at[d] < behind[d]; ++at[d])
            over_tile<RESULTS, ORDER, K - 1>(origin, first, behind, at, lane, ahead, body);
}

// A shape of tiles: RUN indices along the fastest index, LEAST to MOST along the others together. Memory reads and
// writes a row of each array side by side, and a core follows a number of them only. Rows of up to WHOLE indices lie
// one behind the other, and are taken so.
template <int RUN, int LEAST, int MOST, int WHOLE> struct Fit {
    static constexpr long SEVERAL = 512; // indices of short rows in a tile
    long run;
    int least, most;
    POINT_FN explicit Fit(long fastest) : run(RUN), least(LEAST), most(MOST) {
        const long row = fastest > 0 ? fastest : 1;
        if (row <= WHOLE) run = row, least = most = row < SEVERAL ? int(SEVERAL / row) : 1;
        else if (row < RUN) least *= int(RUN / row), most *= int(RUN / row);
    }
};

template <class ORDER> struct Tile {
    static constexpr int RANK = ORDER::RANK;
    int size[RANK];
    POINT_FN explicit Tile(const int (&tile)[RANK]) {
        for (int d = 0; d < RANK; ++d) size[d] = tile[d];
    }
    template <class FIT> POINT_FN Tile(const int (&tile)[RANK], const FIT &fit) : Tile(tile) {
        int rows = 1;
        for (int k = 1; k < RANK; ++k) rows *= size[ORDER::of(k)];
        size[ORDER::of(0)] = int(fit.run);
        for (int k = RANK - 1; k > 0 && rows > fit.most; --k) { // fewer rows, of the slowest index first
            int &own = size[ORDER::of(k)];
            const int others = rows / own;
            const int left = others < fit.most ? fit.most / others : 1;
            if (own > left) own = left, rows = others * own;
        }
        if (RANK > 1 && rows < fit.least) size[ORDER::of(RANK > 1)] *= (fit.least + rows - 1) / rows;
    }
    POINT_FN long number(const long (&extent)[RANK]) const { // of tiles
        long all = 1;
        for (int d = 0; d < RANK; ++d) all *= (extent[d] + size[d] - 1) / size[d];
        return all;
    }
};

// The indices of all tiles, with those that the first packs lack.
template <class OUTER, int RANK> struct TileSpace {
    long begin[RANK], origin[RANK], extent[RANK];
    int size[RANK]; // of a tile
    // first[d] <= i < behind[d] of a tile
    POINT_FN void bounds(long number, long (&first)[RANK], long (&behind)[RANK]) const {
        tile_of<OUTER>(number, extent, size, first);
        for (int d = 0; d < RANK; ++d) {
            const long end = first[d] + size[d];
            behind[d] = origin[d] + (end < extent[d] ? end : extent[d]);
            first[d] += origin[d];
            if (first[d] < begin[d]) first[d] = begin[d];
        }
    }
};

// body(results, i, j, ...) for `extent` indices from `begin` on, tile by tile: fitted ones where there are many. OUTER,
// INNER: orders of the tiles, of the indices in a tile. arrays: RowsAhead of those that lie across each other
template <class RESULTS, class OUTER, class INNER, class FIT, int RANK, class Body, class... Rows>
POINT_FN int for_tiles(long, int threads, const League &a, const Place *totals, const long (&begin)[RANK],
                       const long (&extent)[RANK], const int (&declared)[RANK], const long (&)[RANK],
                       const long (&)[RANK], const Body &body, const Rows &...arrays) {
    constexpr int FASTEST = INNER::of(0);
    const long short_by = missing<RESULTS>(a, begin[FASTEST]);
    TileSpace<OUTER, RANK> space;
    long indices = 1;
    for (int d = 0; d < RANK; ++d) {
        indices *= extent[d];
        const long more = d == FASTEST ? short_by : 0;
        space.begin[d] = begin[d];
        space.origin[d] = begin[d] - more;
        space.extent[d] = extent[d] + more;
    }
    const Tile<INNER> own(declared), fit(declared, FIT(space.extent[FASTEST]));
    const Tile<INNER> tile = fit.number(space.extent) < SHARES ? own : fit;
    for (int d = 0; d < RANK; ++d) space.size[d] = tile.size[d];

    const auto work = [&](long from, long end, Lane &lane, auto &results) {
        const auto own_body = of_thread(body);
        TilesAhead<RANK, Rows...> ahead(indices, arrays...);
        long first[RANK], behind[RANK], at[RANK], next_first[RANK], next_behind[RANK];
        if (from < end) space.bounds(from, next_first, next_behind);
        for (long number = from; number < end; ++number) {
            long rows = 1;
            for (int d = 0; d < RANK; ++d) {
                first[d] = next_first[d];
                behind[d] = next_behind[d];
                if (d != FASTEST) rows *= behind[d] - first[d];
            }
            if (number + 1 < end) space.bounds(number + 1, next_first, next_behind);
            ahead.begin(rows, next_first, next_behind);

            over_tile<RESULTS, INNER, RANK - 1>(space.origin[FASTEST], first, behind, at, lane, ahead,
                                                [&](auto... i) { own_body(results, i...); });
        }
    };
    return share_packs<RESULTS>(tile.number(space.extent), threads, a, totals, work);
}
