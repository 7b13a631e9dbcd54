// Falloff and chemically activated rate coefficients: reduced pressure, and the blending of the two limits.
#pragma once
#include "gas/equations/derivatives.h"

constexpr double BLENDED = 690.0; // bound of |ln| of the reduced pressure
constexpr double INVERSE_LN10 = 0.43429448190325182765;

// A number of a table that is an index or a count, also where Mixture.moved has changed all constants a little
POINT_FN int whole_number(const scalar x) { return int(x + scalar(0.5)); }

// ln of a falloff's centre of T alone; Troe's (form 1) or Tsang's (2). f: its numbers
template <class R> POINT_FN R ln_centre(const int form, const scalar *f, const R T, const R inv_T) {
    R centre = f[0] + R(0.0);
    if (form == 2) centre = centre + f[1] * T;
    else {
        if (f[1] < 0 || f[1] > 0) centre = centre + f[1] * exp(-f[2] * T);
        if (f[3] < 0 || f[3] > 0) centre = centre + f[3] * exp(-f[4] * T);
        if (f[5] > 0) centre = centre + f[5] * exp(-f[6] * inv_T);
    }

    return log(at_least(centre, SMALLEST));
}

// ln F by that
template <class R> POINT_FN R ln_blending(const R ln_centre, const R ln_Pr) {
    const R L = ln_centre * INVERSE_LN10;
    const R above = ln_Pr * INVERSE_LN10 - 0.4 - 0.67 * L;
    const R below = 0.75 - 1.27 * L - 0.14 * above;
    return ln_centre * (below * below) / (below * below + above * above);
}

// ln F of SRI's form (3)
template <class R> POINT_FN R ln_of_sri(const scalar *f, const R T, const R ln_T, const R inv_T, const R ln_Pr) {
    const R log_Pr = ln_Pr * INVERSE_LN10;
    R inside = f[2] * exp(-f[3] * inv_T);
    if (f[4] > 0) inside = inside + exp(-f[4] * T);
    return f[0] + f[1] * ln_T + log(at_least(inside, SMALLEST)) / (1.0 + log_Pr * log_Pr);
}

// ln of a falloff's reduced pressure, in bounds
template <class R> POINT_FN R reduced_pressure(const scalar *f, const R ln_T, const R inv_T, const R ln_third) {
    return at_most(at_least(f[2] + f[3] * ln_T - f[4] * inv_T + ln_third, -BLENDED), BLENDED);
}

// Rate coefficient of a falloff. f: its row of the table. base: the coefficient of the reference limit, high pressure
// for a falloff, low pressure for an activated reaction
template <class R>
POINT_FN R falloff_rate(const scalar *f, const R T, const R ln_T, const R inv_T, const R base, const R ln_third) {
    const R ln_Pr = reduced_pressure(f, ln_T, inv_T, ln_third);
    const R Pr = exp(ln_Pr);
    const int form = whole_number(f[7]);
    R rate = f[0] * base / (1.0 + Pr);
    if (f[6] < 1) rate = rate * Pr;
    if (form == 3) rate = rate * exp(ln_of_sri(f + 8, T, ln_T, inv_T, ln_Pr));
    else if (form > 0) rate = rate * exp(ln_blending(ln_centre(form, f + 8, T, inv_T), ln_Pr));
    return rate;
}
