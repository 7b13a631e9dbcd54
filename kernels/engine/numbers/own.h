// What a host's kernels get beyond what the project's have: inputs that cannot be written, outputs that are NaN where
// the body does not set them, and functions under their usual names. docs/howto/kernel_language.md is the page for
// authors.
#pragma once
#include "engine/numbers/platform.h"

// An input: const, so that a body whose inputs and outputs are swapped does not compile.
template <class R> POINT_FN const R &given(const R &x) { return x; }
template <class R, class S> struct GivenSpecies {
    const S &from;
    POINT_FN const R operator[](int s) const { return from[s]; }
    POINT_FN decltype(auto) of_lane(int lane) const { return from.of_lane(lane); } // matrix_units.h
};

// Which of an output's ROWS values the body has set, a bit each. What it has not set becomes NaN afterwards; to begin
// with NaN in memory would cost a GPU a second store of each value. An output of very many values, whose bits would
// fill a GPU's memory, does begin with NaN. ROWS = 0: an output that is updated in place keeps what it has.
constexpr int MOST_BITS = 4096;
template <int ROWS, bool BITS = (ROWS > 0 && ROWS <= MOST_BITS)> struct Written {
    unsigned long long bits[(ROWS + 63) / 64] = {};
    POINT_FN void mark(int s) { bits[s / 64] |= 1ull << s % 64; }
    POINT_FN bool has(int s) const { return bits[s / 64] >> s % 64 & 1; }
    POINT_FN bool all() const {
        bool every = true;
        for (int w = 0; w < (ROWS + 63) / 64; ++w) every &= bits[w] == ~0ull >> (64 * w + 64 > ROWS ? -ROWS & 63 : 0);
        return every;
    }
};

template <int ROWS> struct Written<ROWS, false> {
    POINT_FN void mark(int) {}
    POINT_FN bool has(int) const { return true; }
    POINT_FN bool all() const { return true; }
};

// An output. What operator[] returns is const: `out[s] = x` would change a copy, and does not compile.
template <class R, int ROWS, class S> struct Result {
    S &to;
    Written<ROWS> &written;
    POINT_FN Result(S &to, Written<ROWS> &written) : to(to), written(written) {
        if constexpr (ROWS > MOST_BITS) {
            FOR_SPECIES (s, ROWS) to.set(s, R(NOT_A_NUMBER));
        }
    }
    POINT_FN const R operator[](int s) const { return written.has(s) ? R(to[s]) : R(NOT_A_NUMBER); }
    POINT_FN void set(int s, R x) const {
        to.set(s, x);
        written.mark(s);
    }
    POINT_FN void finish() const {
        if (written.all()) return;
        FOR_SPECIES (s, ROWS)
            if (!written.has(s)) to.set(s, R(NOT_A_NUMBER));
    }
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
