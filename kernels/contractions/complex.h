// Complex numbers of threads: both parts side by side, as NumPy and CuPy have them. From here on `scalar` is such a
// number; a real number becomes one with an imaginary part of 0.
#pragma once
#include "engine/numbers/launch.h"

struct alignas(2 * sizeof(scalar)) Complex {
    scalar re, im;

    Complex() = default;
    POINT_FN Complex(double real) : re(scalar(real)), im(0) {}
    POINT_FN Complex(scalar re, scalar im) : re(re), im(im) {}

    POINT_FN Complex &operator+=(Complex x) {
        re += x.re;
        im += x.im;
        return *this;
    }
    POINT_FN Complex &operator-=(Complex x) {
        re -= x.re;
        im -= x.im;
        return *this;
    }
};

POINT_FN Complex operator+(Complex x, Complex y) { return Complex(x.re + y.re, x.im + y.im); }

POINT_FN Complex operator-(Complex x) { return Complex(-x.re, -x.im); }

POINT_FN Complex operator*(Complex x, Complex y) {
    return Complex(x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re);
}

POINT_FN Complex &operator*=(Complex &x, Complex y) { return x = x * y; }

// The number of the lane `away` lanes from this one.
POINT_FN Complex beyond(Complex x, int away) {
    return Complex(__shfl_xor_sync(0xffffffffu, x.re, away), __shfl_xor_sync(0xffffffffu, x.im, away));
}

POINT_FN Complex fresh(const Complex *at) { return Complex(fresh(&at->re), fresh(&at->im)); }

#define scalar Complex
