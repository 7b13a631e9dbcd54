// What a host's kernels get beyond what the project's have: inputs that cannot be written, outputs that start as NaN,
// and functions under their usual names. docs/howto/kernel_language.md is the page for authors.
#pragma once
#include "numbers/platform.h"

// An input: const, so that a body whose inputs and outputs are swapped does not compile.
template <class R> POINT_FN const R &given(const R &x) { return x; }
template <class R, class S> struct Given {
    const S &from;
    POINT_FN const R operator[](int s) const { return from[s]; }
    POINT_FN decltype(auto) of_lane(int lane) const { return from.of_lane(lane); } // matrix_units.h
};
// An output of ROWS values at a point (0: one that is updated in place and keeps what it has). What operator[] returns
// is const: `out[s] = x` would change a copy, and does not compile.
template <class R, int ROWS, class S> struct Result {
    S &to;
    POINT_FN explicit Result(S &to) : to(to) {
        FOR_SPECIES (s, ROWS) to.set(s, R(NOT_A_NUMBER));
    }
    POINT_FN const R operator[](int s) const { return to[s]; }
    POINT_FN void set(int s, R x) const { to.set(s, x); }
};

// A plain number beside the number type. A pack of several has no conversion of its own.
template <class R> POINT_FN R &operator+=(R &a, double b) { return a = a + b; }
template <class R> POINT_FN R &operator-=(R &a, double b) { return a = a - b; }
template <class R> POINT_FN R &operator*=(R &a, double b) { return a = a * b; }
template <class R> POINT_FN R &operator/=(R &a, double b) { return a = a / b; }
template <class R> POINT_FN R &operator/=(R &a, R b) { return a = a / b; }
POINT_FN float select(bool c, float yes, float no) { return c ? yes : no; }
template <class C, class R> POINT_FN R select(C c, R yes, double no) { return select(c, yes, R(no)); }
template <class C, class R> POINT_FN R select(C c, double yes, R no) { return select(c, R(yes), no); }

// The larger and the smaller; NaN where one of both is NaN. CUDA has these three for plain numbers.
#if !defined(ON_DEVICE) || defined(FRAME_STAND_IN)
POINT_FN double max(double a, double b) { return a <= a ? larger(a, b) : a; }
POINT_FN double min(double a, double b) { return a <= a ? smaller(a, b) : a; }
POINT_FN double pow(double x, int n) { return pow(x, double(n)); }
#endif
template <class R> POINT_FN R max(R a, R b) { return select(a <= a, larger(a, b), a); }
template <class R> POINT_FN R max(R a, double b) { return at_least(a, b); }
template <class R> POINT_FN R max(double a, R b) { return at_least(b, a); }
template <class R> POINT_FN R min(R a, R b) { return select(a <= a, smaller(a, b), a); }
template <class R> POINT_FN R min(R a, double b) { return at_most(a, b); }
template <class R> POINT_FN R min(double a, R b) { return at_most(b, a); }

// x^y for x > 0; 0 where x is 0 and y positive; else NaN. Error: 2 + 2 |y log x| units in the last place.
template <class R> POINT_FN R pow(R x, R y) {
    const R power = exp(y * log(select(x > 0.0, x, R(1.0))));
    return select(x > 0.0, power, select(x >= 0.0 && y > 0.0, R(0.0), R(NOT_A_NUMBER)));
}
template <class R> POINT_FN R pow(R x, double y) { return pow(x, R(y)); }
template <class R> POINT_FN R pow(double x, R y) { return pow(R(x), y); }
// x^n for any x, by multiplication; n is known to the compiler where it is written as a number
template <class R> POINT_FN R pow(R x, int n) {
    R result(1.0), factor = n < 0 ? R(1.0 / x) : x;
    for (int rest = n < 0 ? -n : n; rest > 0; rest >>= 1) {
        if (rest & 1) result = result * factor;
        factor = factor * factor;
    }
    return result;
}
