// An array along whose columns a body goes with each pack of indices, on a CPU. Each line of memory is in another page
// than the last one, so a core does not read ahead. Each access asks for its line of the pack after the next one.
#pragma once

template <class T, int RANK, Layout LAYOUT> struct ColumnsView : View<T, RANK, LAYOUT> {
    using View<T, RANK, LAYOUT>::View;
    template <class... I> POINT_FN decltype(auto) operator()(const I &...i) const {
        ask_behind(this->data, this->template offset<0>(index_of(i)...));
        return View<T, RANK, LAYOUT>::operator()(i...);
    }

  private:
    template <class I> POINT_FN static void ask_behind(const T *, const I &) {}
    template <bool FULL> POINT_FN static void ask_behind(const T *data, const Lanes<FULL> &at) {
        if (at.step == 1) __builtin_prefetch(data + at.first + 2 * VECTOR_LANES, 0, 2);
    }
};
