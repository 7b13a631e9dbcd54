// Quadruple precision. The point bodies run on it as a reference for their other precisions. CPU only.
#pragma once
#include <quadmath.h>
typedef __float128 wide;
POINT_FN wide select(bool condition, wide yes, wide no) { return condition ? yes : no; }
POINT_FN wide larger(wide a, wide b) { return a > b ? a : b; }
POINT_FN wide smaller(wide a, wide b) { return a < b ? a : b; }
POINT_FN wide sqrt(wide x) { return sqrtq(x); }
POINT_FN wide exp(wide x) { return expq(x); }
POINT_FN wide expm1(wide x) { return expm1q(x); }
POINT_FN wide two_to(wide a, wide b) { return expq(M_LN2q * (a * b)); }
POINT_FN wide two_to_less_one(wide a, wide b) { return expm1q(M_LN2q * (a * b)); }
POINT_FN wide log(wide x) { return x > 0 ? logq(x) : wide(NOT_A_NUMBER); }
POINT_FN wide cbrt(wide x) { return cbrtq(x); }
POINT_FN wide flipped(wide x, wide sign) { return copysignq(1, sign) * x; }
POINT_FN wide two_thirds_start(wide x) {
    const wide root = cbrtq(x);
    return root * root;
}

POINT_FN wide inverse_root_start(wide x) { return 1 / sqrtq(x); }
POINT_FN wide atanh_over_root(wide w) {
    const wide root = sqrtq(w);
    return w > 1e-30 ? atanhq(root) / root : 1 + w / 3;
}

POINT_FN wide arctangent(wide x) { return atanq(x); }
POINT_FN wide fabs(wide x) { return fabsq(x); }
POINT_FN wide copysign(wide size, wide sign) { return copysignq(size, sign); }
POINT_FN wide floor_small(wide x) { return floorq(x); }
POINT_FN wide rough_quotient(wide a, wide b) { return a / b; }
POINT_FN wide table_row(const double *table, wide row) { return table[int(row)]; }
POINT_FN void load(const double *address, wide &x) { x = *address; }
POINT_FN void store(double *address, wide x) { *address = double(x); }
POINT_FN void load(const wide *address, wide &x) { x = *address; }
POINT_FN void store(wide *address, wide x) { *address = x; }
