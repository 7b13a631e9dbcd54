// Lines of memory of the next tile on a CPU. Where arrays lie across each other, rows in a tile are short ones of many
// pages, and a core does not read ahead. So each row of a tile asks for some rows of the next one: they are in the
// second cache when their tile begins.
#pragma once

// An array with all indices of the tiles, and the rows of it that a tile has.
template <int RANK> struct RowsAhead {
    static constexpr int LINE = 64, PAGE = 4096; // bytes; a core reads ahead in a page
    const char *data;
    int nearest;            // index along which neighbours lie side by side
    long step[RANK];        // bytes from an index to the next one
    long first[RANK] = {0}; // of the tile
    long behind[RANK] = {0};
    long at[RANK] = {0}; // the next row
    long rows = 0, asked = 0;

    POINT_FN void begin(const long (&from)[RANK], const long (&end)[RANK]) {
        rows = is_apart() ? 1 : 0;
        asked = 0;
        for (int d = 0; d < RANK; ++d) {
            first[d] = at[d] = from[d];
            behind[d] = end[d];
            if (d != nearest) rows *= end[d] - from[d];
        }
    }
    // Whether each row is in another page
    POINT_FN bool is_apart() const {
        for (int d = 0; d < RANK; ++d)
            if (d != nearest && step[d] < PAGE) return false;
        return true;
    }
    // Up to this part of all rows
    POINT_FN void ask(long part, long parts) {
        for (; asked * parts < part * rows; ++asked) {
            const char *row = data;
            for (int d = 0; d < RANK; ++d) row += at[d] * step[d];
            const long bytes = (behind[nearest] - first[nearest]) * step[nearest];
            for (long byte = 0; byte < bytes; byte += LINE) __builtin_prefetch(row + byte, 0, 2);
            next();
        }
    }
    POINT_FN void next() {
        for (int d = 0; d < RANK; ++d) {
            if (d == nearest) continue;
            if (++at[d] < behind[d]) return;
            at[d] = first[d];
        }
    }
};

// NEAREST_FIRST: the indices of the tiles by the distance of neighbours in the array
template <class NEAREST_FIRST, class T, int RANK, Layout LAYOUT>
POINT_FN RowsAhead<RANK> rows_of(const View<T, RANK, LAYOUT> &view) {
    RowsAhead<RANK> rows;
    rows.data = (const char *)view.data;
    rows.nearest = NEAREST_FIRST::of(0);
    for (int k = 0; k < RANK; ++k)
        rows.step[NEAREST_FIRST::of(k)] = view.stride[LAYOUT == LEFT ? k : RANK - 1 - k] * long(sizeof(T));
    return rows;
}

// All of them, while the rows of a tile are worked on. Nothing is asked for where the second cache has them all.
template <int RANK, class... Rows> struct TilesAhead {
    static constexpr long CACHED = 1 << 20; // bytes
    std::tuple<Rows...> arrays;
    bool are_far;
    const Work work{};
    long row = 0, rows = 1; // of the tile at work

    // indices: of all tiles
    POINT_FN explicit TilesAhead(long indices, const Rows &...arrays)
        : arrays(arrays...), are_far(indices * (arrays.step[arrays.nearest] + ...) > CACHED) {}
    // rows: of the tile at work; first, behind: the next one
    POINT_FN void begin(long of_tile, const long (&first)[RANK], const long (&behind)[RANK]) {
        row = 0;
        rows = of_tile;
        std::apply([&](auto &...array) { (array.begin(first, behind), ...); }, arrays);
    }
    POINT_FN void end_row() {
        ++row;
        if (are_far) std::apply([&](auto &...array) { (array.ask(row, rows), ...); }, arrays);
    }
};

template <int RANK> struct TilesAhead<RANK> {
    const Work work{};
    POINT_FN explicit TilesAhead(long) {}
    POINT_FN void begin(long, const long (&)[RANK], const long (&)[RANK]) {}
    POINT_FN void end_row() {}
};
