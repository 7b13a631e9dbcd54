// L, the integral of dv/D from v to infinity, by which a cubic equation of state departs from the ideal gas, and its
// slopes in delta1 + delta2.
#pragma once
#include "gas/equations/cubic_shape.h"

// F(w) = atanh(sqrt(w))/sqrt(w), for w below 1/2 (`near`) or below 8/9: atanh(x) = 2 atanh(y), y = x/(1 + sqrt(1 -
// x^2)).
template <class Shape, class R> POINT_FN R atanh_within(const Shape &, const R w) {
    if constexpr (Shape::near) return atanh_over_root(w);
    else {
        const R inverse = 1.0 / (1.0 + sqrt(1.0 - w));
        return 2.0 * inverse * atanh_over_root(w * (inverse * inverse));
    }
}

// L = integral of dv/D from v to infinity = ln[(v + delta1 b)/(v + delta2 b)]/((delta1 - delta2) b).
// With c = v + (delta1 + delta2) b/2 and x = (delta1 - delta2) b/(2 c): L = atanh(x)/(x c), also for delta1 = delta2.
template <class Shape, class R> POINT_FN R departure_integral(const Shape &eos, const R b, const R inv_centred) {
    if constexpr (IN_CHAINS<R>)
        return inv_centred * atanh_within(eos, (eos.half_gap_2 * square(b)) * square(inv_centred));
    return inv_centred * atanh_within(eos, eos.half_gap_2 * square(b * inv_centred));
}

// dF/dw of F(w) = atanh(sqrt(w))/sqrt(w), from F: (1/(1 - w) - F)/(2 w). This form cancels for small w. There the
// series sum_k k w^(k - 1)/(2 k + 1) is used, whose 14 terms leave 1e-16 at w = 0.07.
template <class R> POINT_FN R atanh_slope(const R w, const R F) {
    constexpr double small = number<R>::wide ? 1e-8 : 0.07;
    const R far = select(w > small, w, R(1.0));
    R series = R(0.0);
    UNROLL
    for (int k = 14; k > 0; --k) series = series * w + k / (2.0 * k + 1.0);
    return select(w > small, (1.0 / (1.0 - select(w > small, w, R(0.0))) - F) / (2.0 * far), series);
}

// dL/d sum at constant v and b, with product = 1 - sum. L = F(w)/c, c = v + sum b/2, w = half_gap_2 (b/c)^2.
template <class Shape, class R>
POINT_FN R departure_slope(const Shape &eos, const R b, const R inv_centred, const R L) {
    const R beta = b * inv_centred;
    const R w = eos.half_gap_2 * square(beta);
    const R F_w = atanh_slope(w, L / inv_centred);
    return beta * (F_w * inv_centred * beta * (1.0 + 0.5 * eos.sum - eos.half_gap_2 * beta) - 0.5 * L);
}

// F' and F'' of F = atanh(sqrt(w))/sqrt(w): F'' = (1/(1 - w)^2 - 3 F')/(2 w), or the derivative of the series
template <class R> POINT_FN void atanh_slopes(const R w, const R F, R &F_w, R &F_ww) {
    constexpr double small = number<R>::wide ? 1e-3 : 0.07;
    const auto is_far = w > small;
    F_w = F_ww = R(0.0);
    if (any_of(!is_far)) {
        UNROLL
        for (int k = 14; k > 0; --k) {
            F_ww = F_ww * w + F_w;
            F_w = F_w * w + k / (2.0 * k + 1.0);
        }
    }
    if (any_of(is_far)) {
        const R far = select(is_far, w, R(0.5));
        const R inv_rest = inverse(R(1.0 - far));
        const R half = inverse(R(far + far));
        const R first = (inv_rest - F) * half;
        F_ww = select(is_far, R((inv_rest * inv_rest - 3.0 * first) * half), F_ww);
        F_w = select(is_far, first, F_w);
    }
}

// L_s = dL/d sum as departure_slope has it, and d2L/d sum2. With beta = b/c and h = half_gap_2, h' = 1 + sum/2:
//   dbeta/d sum = -beta^2/2,  dw/d sum = beta^2 (h' - h beta)
template <class Shape, class R>
POINT_FN void departure_slopes(const Shape &eos, const R b, const R centred, const R inv_centred, const R L, R &L_s,
                               R &L_ss) {
    const R h = eos.half_gap_2;
    const R h_s = 1.0 + 0.5 * eos.sum;
    const R beta = b * inv_centred;
    const R beta2 = beta * beta;
    R F_w, F_ww;
    atanh_slopes(R(h * beta2), R(L * centred), F_w, F_ww);

    const R tilt = h_s - h * beta;
    const R w_s = beta2 * tilt;
    const R slope = F_w * w_s;
    const R w_ss = beta2 * (0.5 - h_s * beta + 0.5 * (h * beta2) - beta * tilt);
    L_s = slope * inv_centred - 0.5 * (beta * L);
    L_ss = (F_ww * (w_s * w_s) + F_w * w_ss - 0.5 * (beta * slope)) * inv_centred + 0.25 * (beta2 * L) -
           0.5 * (beta * L_s);
}
