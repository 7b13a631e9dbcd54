// An array with which a body goes from line to line of memory that lie apart, on a CPU: down columns, where each line
// is in another page than the last one, or along rows, one for each lane. A core then does not read ahead, or along too
// many rows. Each access asks for a line of the pack after the next one.
#pragma once

template <class T, int RANK, Layout LAYOUT> struct ViewAhead : View<T, RANK, LAYOUT> {
    static constexpr int MOST_LINES = 4; // of a pack whose neighbours are not side by side
    static constexpr int AHEAD = 2 * VECTOR_LANES, LINE = 64;
    using View<T, RANK, LAYOUT>::View;
    POINT_FN explicit ViewAhead(const View<T, RANK, LAYOUT> &view) : View<T, RANK, LAYOUT>(view) {}
    template <class... I> POINT_FN decltype(auto) operator()(const I &...i) const {
        ask_ahead(this->data, this->template offset<0>(index_of(i)...));
        return View<T, RANK, LAYOUT>::operator()(i...);
    }

private:
    template <class I> POINT_FN static void ask_ahead(const T *, const I &) {}
    template <bool FULL> POINT_FN static void ask_ahead(const T *data, const Lanes<FULL> &at) {
        const T *const next = data + at.first + AHEAD * at.step;
        if (at.step > MOST_LINES) ask_of_rows(next, at.step);
        else if (at.step > 0)
            for (int k = 0; k < at.step; ++k) __builtin_prefetch((const char *)next + LINE * k, 0, 2);
    }
    // Each number of a line asks for the line of another row
    POINT_FN static void ask_of_rows(const T *next, long step) {
        const size_t row = size_t(next) / sizeof(T) % VECTOR_LANES;
        __builtin_prefetch(next + row * step, 0, 2);
    }
};

template <class T, int RANK, Layout LAYOUT>
POINT_FN ViewAhead<T, RANK, LAYOUT> ask_ahead(const View<T, RANK, LAYOUT> &view) {
    return ViewAhead<T, RANK, LAYOUT>(view);
}

template <class T, int RANK, Layout LAYOUT, class... A>
POINT_FN auto subview(const ViewAhead<T, RANK, LAYOUT> &v, A... a) {
    return ask_ahead(subview(static_cast<const View<T, RANK, LAYOUT> &>(v), a...));
}

// An array that a league reads. If it has many short rows, the work between rows keeps a core from reading ahead far
// enough: each pack of neighbours then prefetches a line of later rows.
template <class T, int RANK, Layout LAYOUT> struct ViewOfRows : View<T, RANK, LAYOUT> {
    static constexpr long LATER = 4096, SHORT = 1024, LARGE = 1 << 20; // bytes
    long later = 0; // numbers; 0: rows are long, or the caches have them all
    POINT_FN ViewOfRows(T *data, const long (&n)[RANK]) : View<T, RANK, LAYOUT>(data, n) {
        constexpr long SIZE = sizeof(T);
        const long row = n[LAYOUT == RIGHT ? RANK - 1 : 0];
        if (row * SIZE <= SHORT && bytes() > LARGE) later = LATER / SIZE;
    }
    POINT_FN long bytes() const {
        long all = sizeof(T);
        for (const long extent : this->extent) all *= extent;
        return all;
    }
    template <class... I> POINT_FN decltype(auto) operator()(const I &...i) const {
        if (later) ask_later(this->data + later, this->template offset<0>(index_of(i)...));
        return View<T, RANK, LAYOUT>::operator()(i...);
    }

private:
    template <class I> POINT_FN static void ask_later(const T *, const I &) {}
    template <bool FULL> POINT_FN static void ask_later(const T *data, const Lanes<FULL> &at) {
        if (at.step == 1) __builtin_prefetch(data + at.first, 0, 2);
    }
};

// The same of a league that changes elements by atomics: these hold a core up, however long the rows are.
template <class T, int RANK, Layout LAYOUT> struct ViewBesideAtomics : ViewOfRows<T, RANK, LAYOUT> {
    typedef ViewOfRows<T, RANK, LAYOUT> Rows;
    POINT_FN ViewBesideAtomics(T *data, const long (&n)[RANK]) : Rows(data, n) {
        if (this->bytes() > Rows::LARGE) this->later = Rows::LATER / sizeof(T);
    }
};
