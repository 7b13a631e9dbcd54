// An array along whose columns a body goes with each pack of indices, on a CPU. Each line of memory is in another page
// than the last one, so a core does not read ahead. Each access asks for its line of the pack after the next one.
#pragma once

template <class T, int RANK, Layout LAYOUT> struct ColumnsView : View<T, RANK, LAYOUT> {
    static constexpr int MOST_LINES = 4; // of a pack whose neighbours are not side by side
    using View<T, RANK, LAYOUT>::View;
    POINT_FN explicit ColumnsView(const View<T, RANK, LAYOUT> &view) : View<T, RANK, LAYOUT>(view) {}
    template <class... I> POINT_FN decltype(auto) operator()(const I &...i) const {
        ask_behind(this->data, this->template offset<0>(index_of(i)...));
        return View<T, RANK, LAYOUT>::operator()(i...);
    }

private:
    template <class I> POINT_FN static void ask_behind(const T *, const I &) {}
    template <bool FULL> POINT_FN static void ask_behind(const T *data, const Lanes<FULL> &at) {
        if (at.step < 1 || at.step > MOST_LINES) return;
        const char *const line = (const char *)(data + at.first + 2 * VECTOR_LANES * at.step);
        for (int k = 0; k < at.step; ++k) __builtin_prefetch(line + 64 * k, 0, 2);
    }
};

template <class T, int RANK, Layout LAYOUT>
POINT_FN ColumnsView<T, RANK, LAYOUT> in_columns(const View<T, RANK, LAYOUT> &view) {
    return ColumnsView<T, RANK, LAYOUT>(view);
}

template <class T, int RANK, Layout LAYOUT, class... A>
POINT_FN auto subview(const ColumnsView<T, RANK, LAYOUT> &v, A... a) {
    return in_columns(subview(static_cast<const View<T, RANK, LAYOUT> &>(v), a...));
}
