// The functions of packs in single precision that differ from those in double; pack.h says what each is for. A pack has
// 16 lanes with AVX-512, 8 with AVX. exp, log and cbrt are within 2 units in the last place where the result is a
// normal number.
#pragma once

#ifndef LONG_PACKS
POINT_FN bool any_of(vmask c) {
#if VECTOR_LANES == 16
    return c.m != 0;
#elif VECTOR_LANES == 8
    return _mm256_movemask_ps((__m256)c.m) != 0;
#else
    return (c.m[0] | c.m[1] | c.m[2] | c.m[3]) != 0;
#endif
}
#endif

POINT_FN vec to_number(lanes_i n) { return vec(converted<lanes_d>(n)); }

// ln 2 in two parts. The first has so few bits that its multiples are exact. The polynomial of exp has degree 7 and is
// interpolated at Chebyshev points (fits/exponentials.py: error 6.9e-10).
constexpr double LN2_HIGH = 0.693359375, LN2_LOW = -2.12194440054690583e-4;
struct ExpParts {
    vec scale, less_one;
};

POINT_FN ExpParts exp_parts(vec r, lanes_i n) {
    vec r2 = r * r;
    vec q =
        (0.5 + r * 0.166666672) + r2 * ((0.0416664667 + r * 0.00833331048) + r2 * (0.00139336498 + r * 0.000198909911));
    return {from_bits((n + 127) << 23), r + r2 * q};
}

POINT_FN ExpParts exp_parts(vec x) {
    x = at_most(at_least(x, -87.0), 88.0);
    lanes_i n;
    vec k = nearest(x * LOG2E, n);
    return exp_parts((x - k * LN2_HIGH) - k * LN2_LOW, n);
}

POINT_FN void split_exponent(vec x, vec &m, lanes_i &e) {
    lanes_i b = bits(x);
    e = (b - 0x3f3504f3) >> 23;
    m = from_bits(b - (e << 23));
}

// 2 atanh(s)/s - 2 of w = s^2 < 0.03: its power series. The next term is below 5e-9
// (fits/logarithms.py: error 1.7e-9).
POINT_FN vec atanh_series(vec w) {
    return w * ((2.0 / 3.0 + w * (2.0 / 5.0)) + (w * w) * (2.0 / 7.0 + w * (2.0 / 9.0)));
}

POINT_FN vec log(vec x) {
    vec m;
    lanes_i e;
    split_exponent(x, m, e);
    vec k = to_number(e), f = m - 1.0, s = f / (m + 1.0), series = atanh_series(s * s);
    vec half_f2 = 0.5 * f * f;
    vec r = k * LN2_HIGH - ((half_f2 - (s * (half_f2 + series) + k * LN2_LOW)) - f);
    return select(x > 0.0 && x < 3.4028234e38, r, vec(NOT_A_NUMBER));
}

#include "engine/numbers/pack_cube_root.h"

POINT_FN vec two_thirds_start(vec x) { // x^(2/3), fits/roots.py: relative error 1.7e-3
    const vec thirds = to_number(bits(x)) * (-1.0 / 3.0) + 1419967116.0;
    const vec y = from_bits(converted<lanes_i>(thirds.v)), xy = x * y; // x^(-1/3) within 5 %
    return xy * (1.335 - (1.0 / 3.0) * (xy * (y * y)));
}

POINT_FN vec inverse_root_start(vec x) { // 1/sqrt(x), fits/roots.py: relative error 1.8e-3
    const vec y = from_bits(0x5f3759df - (lanes_i)((lanes_u)bits(x) >> 1));
    return y * (1.5 - 0.5 * x * y * y);
}

POINT_FN vec table_row(const scalar *table, vec row) {
    lanes_d r;
    for (int i = 0; i < VECTOR_LANES; ++i) r[i] = table[int(row.v[i])];
    return vec(r);
}

POINT_FN vec rough_quotient(vec a, vec b) { return a / b; }
