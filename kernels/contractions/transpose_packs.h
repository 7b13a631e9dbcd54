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
template <int S, int L, class V> POINT_FN void transpose(V (&x)[L]) {
    if constexpr (S < L) {
        UNROLL
        for (int i = 0; i < L; ++i)
            if (!(i & S)) exchange<S, L>(x[i], x[i + S], typename Count<L>::type());
        transpose<S * 2, L>(x);
    }
}
