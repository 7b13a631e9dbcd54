// Dual numbers: a value and its derivatives in N directions, v + sum d_i e_i with e_i e_j = 0. A body that is run on
// them differentiates itself, exactly. V may be any number type, another dual number too.
#pragma once
#include "engine/numbers/platform.h"

template <class V, int N = 1> struct Dual {
    V v, d[N];
    POINT_FN Dual() {}
    POINT_FN Dual(double s) : v(s) {
        UNROLL
        for (int i = 0; i < N; ++i) d[i] = V(0.0);
    }
};
#define OF_DUAL template <class V, int N> POINT_FN
#define EACH(result) \
    UNROLL \
    for (int i = 0; i < N; ++i) r.d[i] = result; \
    return r

// a number that does not move
template <int N, class V> POINT_FN Dual<V, N> still(const V x) {
    Dual<V, N> r(0.0);
    r.v = x;
    return r;
}

// one that moves by `along` in the only direction
template <class V> POINT_FN Dual<V> moving(const V x, const V along) {
    Dual<V> r;
    r.v = x;
    r.d[0] = along;
    return r;
}

// f(a) from its value and its slope
OF_DUAL Dual<V, N> with_slope(const Dual<V, N> a, const V value, const V slope) {
    Dual<V, N> r;
    r.v = value;
    EACH(slope * a.d[i]);
}

OF_DUAL Dual<V, N> operator+(Dual<V, N> a, Dual<V, N> b) {
    Dual<V, N> r;
    r.v = a.v + b.v;
    EACH(a.d[i] + b.d[i]);
}

OF_DUAL Dual<V, N> operator-(Dual<V, N> a, Dual<V, N> b) {
    Dual<V, N> r;
    r.v = a.v - b.v;
    EACH(a.d[i] - b.d[i]);
}

OF_DUAL Dual<V, N> operator*(Dual<V, N> a, Dual<V, N> b) {
    Dual<V, N> r;
    r.v = a.v * b.v;
    EACH(a.d[i] * b.v + a.v * b.d[i]);
}

OF_DUAL Dual<V, N> operator/(Dual<V, N> a, Dual<V, N> b) {
    Dual<V, N> r;
    const V inverse = 1.0 / b.v;
    r.v = a.v * inverse;
    EACH((a.d[i] - r.v * b.d[i]) * inverse);
}

OF_DUAL Dual<V, N> operator-(Dual<V, N> a) {
    Dual<V, N> r;
    r.v = -a.v;
    EACH(-a.d[i]);
}

OF_DUAL Dual<V, N> operator+(Dual<V, N> a, double b) {
    a.v = a.v + b;
    return a;
}

OF_DUAL Dual<V, N> operator+(double a, Dual<V, N> b) { return b + a; }
OF_DUAL Dual<V, N> operator-(Dual<V, N> a, double b) {
    a.v = a.v - b;
    return a;
}

OF_DUAL Dual<V, N> operator-(double a, Dual<V, N> b) { return -b + a; }
OF_DUAL Dual<V, N> operator*(Dual<V, N> a, double b) {
    Dual<V, N> r;
    r.v = a.v * b;
    EACH(a.d[i] * b);
}

OF_DUAL Dual<V, N> operator*(double a, Dual<V, N> b) { return b * a; }
OF_DUAL Dual<V, N> operator/(Dual<V, N> a, double b) {
    Dual<V, N> r;
    r.v = a.v / b;
    EACH(a.d[i] / b);
}

OF_DUAL Dual<V, N> operator/(double a, Dual<V, N> b) {
    const V inverse = 1.0 / b.v;
    return with_slope(b, V(a * inverse), V(-(a * inverse) * inverse));
}

OF_DUAL Dual<V, N> &operator+=(Dual<V, N> &a, Dual<V, N> b) { return a = a + b; }
OF_DUAL Dual<V, N> &operator-=(Dual<V, N> &a, Dual<V, N> b) { return a = a - b; }
OF_DUAL Dual<V, N> &operator*=(Dual<V, N> &a, Dual<V, N> b) { return a = a * b; }
#define COMPARE(op) \
    OF_DUAL auto operator op(Dual<V, N> a, Dual<V, N> b) { return a.v op b.v; } \
    OF_DUAL auto operator op(Dual<V, N> a, double b) { return a.v op b; }
COMPARE(<)
COMPARE(>)
COMPARE(<=)
COMPARE(>=)
#undef COMPARE

template <class C, class V, int N> POINT_FN Dual<V, N> select(C condition, Dual<V, N> yes, Dual<V, N> no) {
    Dual<V, N> r;
    r.v = select(condition, yes.v, no.v);
    EACH(select(condition, yes.d[i], no.d[i]));
}

OF_DUAL Dual<V, N> larger(Dual<V, N> a, Dual<V, N> b) { return select(a.v > b.v, a, b); }
OF_DUAL Dual<V, N> smaller(Dual<V, N> a, Dual<V, N> b) { return select(a.v < b.v, a, b); }
OF_DUAL Dual<V, N> flipped(Dual<V, N> x, Dual<V, N> sign) {
    Dual<V, N> r;
    r.v = flipped(x.v, sign.v);
    EACH(flipped(x.d[i], sign.v));
}

OF_DUAL Dual<V, N> fabs(Dual<V, N> x) { return flipped(x, x); }
OF_DUAL Dual<V, N> exp(Dual<V, N> x) {
    const V value = exp(x.v);
    return with_slope(x, value, value);
}

OF_DUAL Dual<V, N> log(Dual<V, N> x) { return with_slope(x, V(log(x.v)), V(1.0 / x.v)); }
OF_DUAL Dual<V, N> sqrt(Dual<V, N> x) {
    const V value = sqrt(x.v);
    return with_slope(x, value, V(0.5 / value));
}
#undef EACH
#undef OF_DUAL

template <class V, int N> struct number<Dual<V, N>> {
    static constexpr int lanes = number<V>::lanes;
    static constexpr bool wide = number<V>::wide;
};
