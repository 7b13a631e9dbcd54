// L vectors of L lanes, transposed in registers.
#pragma once
#include "engine/numbers/kernel.h"
#include "contractions/pack_bytes.h"

template <int... I> struct Numbers {};
template <int N, int... I> struct Count : Count<N - 1, N - 1, I...> {};
template <int... I> struct Count<0, I...> {
    typedef Numbers<I...> type;
};

// Exchanges blocks of S lanes of two packs.
template <int S, int L, class V, int... I> POINT_FN void exchange(V &a, V &b, Numbers<I...>) {
    const V low = __builtin_shufflevector(a, b, (I & S ? L + I - S : I)...);
    b = __builtin_shufflevector(a, b, (I & S ? L + I : I + S)...);
    a = low;
}
// All exchanges are written out by the compiler's front end: so packs lie in registers at every level of optimisation.
template <int S, int L, class V, int... I> POINT_FN void transpose(V (&x)[L], Numbers<I...> lanes) {
    if constexpr (S < L) {
        (void(I & S || (exchange<S, L>(x[I], x[I | S], lanes), true)), ...);
        transpose<S * 2, L>(x, lanes);
    }
}
template <int L, class V> POINT_FN void transpose(V (&x)[L]) { transpose<1, L>(x, typename Count<L>::type()); }
