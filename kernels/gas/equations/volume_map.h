// The map of a root w of a cubic equation of state to the volume v, and its integrals (mapped.h):
//   v = w - C(w),  C = c0 + c1 x + c2 x^2 + c3 x^3,  x = b/w
#pragma once
#include "gas/equations/cubic.h"

// C in units of v. c0 has the swelling -tau(T), too.
template <class R> struct VolumeMap {
    R c0, c1, c2, c3;
};

template <class R> POINT_FN VolumeMap<R> volume_map(const R c0, const R c1, const R c2, const R c3) {
    return {c0, c1, c2, c3};
}

template <class PackOf, class R> POINT_FN auto piece(const PackOf &pack_of, const VolumeMap<R> &map) {
    return volume_map(pack_of(map.c0), pack_of(map.c1), pack_of(map.c2), pack_of(map.c3));
}

template <class R> POINT_FN R map_value(const VolumeMap<R> &c, const R x) {
    return c.c0 + x * (c.c1 + x * (c.c2 + x * c.c3));
}

// sum_k k c_k x^k = -w C_w
template <class R> POINT_FN R map_moment(const VolumeMap<R> &c, const R x) {
    return x * (c.c1 + x * (2.0 * c.c2 + x * (3.0 * c.c3)));
}

// I_k = integral of y^k/(1 - y) and J_k of y^k/Delta(y), dy from 0 to x (in single precision without J_1); Delta = 1 +
// sum y + product y^2 = D/w^2 with sum = delta1 + delta2, product = delta1 delta2. J_slope: dJ_k/d sum with product = 1
// - sum.
template <class R> struct MapIntegrals {
    R x, I[4], J[5], J_slope[5];
    R Delta;
};

// 2 atanh(z) with z = (Delta - 1)/(Delta + 1): the logarithm of Delta without loss at small x. z^2 is below 0.22 for
// delta1 below 6.5, as z is largest at x near 1/2.
template <class R> POINT_FN R log_of_shape(const R Delta_less_one) {
    const R z = Delta_less_one / (2.0 + Delta_less_one);
    return 2.0 * z * atanh_over_root(z * z);
}

// In single precision J_2 .. J_4 and their slopes are sums over seven nodes of Gauss-Jacobi quadrature with the weight
// y^2 (scipy.special.roots_jacobi(7, 0, 2)). All terms are positive. The recursion loses three digits. For delta1
// of 1.8 to 6.5 the sums are within 7e-7 of J_k, and within 8e-6 of J_slope.
constexpr int NODES = 7;
constexpr double NODE[NODES] = {0.088816833436997256, 0.2264827534085625,  0.39997848672100705, 0.58599785540294025,
                                0.75944587395194252,  0.89691097085195093, 0.9798672262265995};
constexpr double NODE_WEIGHT[NODES] = {0.00089268803368920625, 0.0081629256323046892, 0.029422211289528585,
                                       0.063146378708891254,   0.09173380327979519,   0.090698824612686219,
                                       0.049276501776438164};

template <class Shape, class R> POINT_FN R shape_at(const Shape &eos, const R y) {
    return 1.0 + y * (eos.sum + eos.product * y);
}

// f_k = x^(k + 1) sum of weight t^(k - 2) value(x t), k = 2, 3, 4
template <class R, class Value> POINT_FN void sums_over_nodes(const R x, const Value &value, R (&f)[5]) {
    f[2] = f[3] = f[4] = R(0.0);
    UNROLL
    for (int n = 0; n < NODES; ++n) {
        const R part = NODE_WEIGHT[n] * value(R(NODE[n] * x));
        const R further = NODE[n] * part;
        f[2] += part;
        f[3] += further;
        f[4] += NODE[n] * further;
    }
    const R x2 = x * x;
    const R x3 = x2 * x;
    f[2] = x3 * f[2];
    f[3] = (x2 * x2) * f[3];
    f[4] = (x3 * x2) * f[4];
}

// J0 = b L of the cubic. The recursion from J1 up divides by the product, -0.67 or less for delta1 of 2 or more.
template <class Shape, class R>
POINT_FN void shape_integrals(const Shape &eos, const R x, const R J0, const R inv_product, MapIntegrals<R> &s) {
    const R x2 = x * x;
    const R Delta_less_one = x * (eos.sum + eos.product * x);
    s.x = x;
    s.Delta = 1.0 + Delta_less_one;
    s.J[0] = J0;
    if constexpr (IN_SINGLE) sums_over_nodes(x, [&](const R y) INLINED { return R(1.0 / shape_at(eos, y)); }, s.J);
    else {
        s.J[1] = 0.5 * inv_product * (log_of_shape(Delta_less_one) - eos.sum * J0);
        s.J[2] = inv_product * (x - eos.sum * s.J[1] - s.J[0]);
        s.J[3] = inv_product * (0.5 * x2 - eos.sum * s.J[2] - s.J[1]);
        s.J[4] = inv_product * ((1.0 / 3.0) * (x2 * x) - eos.sum * s.J[3] - s.J[2]);
    }
}

// I0 = -ln(1 - x)
template <class R> POINT_FN void free_integrals(const R x, const R I0, MapIntegrals<R> &s) {
    const R x2 = x * x;
    s.I[0] = I0;
    s.I[1] = s.I[0] - x;
    s.I[2] = s.I[1] - 0.5 * x2;
    s.I[3] = s.I[2] - (1.0 / 3.0) * (x2 * x);
}

// J0_slope: dJ_0/d sum. The others by the derivative of the recursion; in single precision dJ_k/d sum = -integral of
// y^k (y - y^2)/Delta^2.
template <class Shape, class R>
POINT_FN void shape_slopes(const Shape &eos, const R J0_slope, const R inv_product, MapIntegrals<R> &s) {
    s.J_slope[0] = J0_slope;
    if constexpr (IN_SINGLE) {
        const auto slope = [&](const R y) INLINED { return R((y * y - y) / square(shape_at(eos, y))); };
        sums_over_nodes(s.x, slope, s.J_slope);
    } else {
        s.J_slope[1] = inv_product * (0.5 * ((s.x - s.x * s.x) / s.Delta - s.J[0] - eos.sum * s.J_slope[0]) + s.J[1]);
        UNROLL
        for (int k = 2; k < 5; ++k)
            s.J_slope[k] = inv_product * (s.J[k] - s.J[k - 1] - eos.sum * s.J_slope[k - 1] - s.J_slope[k - 2]);
    }
}

// sum_k k c_k I_k, sum_k k c_k J_(k+1)
template <class R> POINT_FN R of_free(const VolumeMap<R> &c, const R (&I)[4]) {
    return c.c1 * I[1] + 2.0 * c.c2 * I[2] + 3.0 * c.c3 * I[3];
}

template <class R> POINT_FN R of_shape(const VolumeMap<R> &c, const R (&J)[5]) {
    return c.c1 * J[2] + 2.0 * c.c2 * J[3] + 3.0 * c.c3 * J[4];
}

// What the map adds to ln phi of the cubic's root u at constant T and p: I - a (L - L_cubic)/(R T) - p C/(R T). c0 is
// the same for all roots and is left out.
template <class R> struct MapOfRoot {
    const VolumeMap<R> map;
    const R b;

    template <class Shape> POINT_FN R gibbs(const Shape &eos, const R A, const R B, const R u) const {
        const R inv_w = 1.0 / (u + B);
        const R x = B * inv_w;
        const R inv_B = 1.0 / B;
        const R inv_product = 1.0 / eos.product;
        const R inv_centred = 1.0 / (u + (0.5 * eos.linear) * B);
        MapIntegrals<R> s;
        free_integrals(x, R(-log(u * inv_w)), s);
        shape_integrals(eos, x, R(B * departure_integral(eos, B, inv_centred)), inv_product, s);
        return (of_free(map, s.I) - A * inv_B * of_shape(map, s.J) - B * (map_value(map, x) - map.c0)) / b;
    }
};

template <class R> POINT_FN MapOfRoot<R> map_of_root(const VolumeMap<R> &map, const R b) { return {map, b}; }

template <class PackOf, class R> POINT_FN auto piece(const PackOf &pack_of, const MapOfRoot<R> &of) {
    return map_of_root(piece(pack_of, of.map), pack_of(of.b));
}

// C and its slope C_w at w, from w - b
template <class R>
POINT_FN void map_at(const VolumeMap<R> &map, const R b_mix, const R v_free, R &shift_mix, R &shift_w) {
    const R inv_w = 1.0 / (v_free + b_mix);
    const R x = b_mix * inv_w;
    shift_mix = map_value(map, x);
    shift_w = -(map_moment(map, x) * inv_w);
}

// f = x (v + C) - b, whose root is x = b/w at the specific volume v, and Halley's step to it. C_w < 0.7 makes v grow
// with w.
template <class R> struct VolumePolynomial {
    const VolumeMap<R> &map;
    const R b, v;

    POINT_FN R operator()(const R x) const { return x * (v + map_value(map, x)) - b; }

    POINT_FN R step(const R x, const R f) const {
        const R slope = v + map.c0 + x * (2.0 * map.c1 + x * (3.0 * map.c2 + x * (4.0 * map.c3)));
        const R half_curve = map.c1 + x * (3.0 * map.c2 + x * (6.0 * map.c3));
        return at_most(R(x - rough_quotient(R(f * slope), R(slope * slope - f * half_curve))), 1.0);
    }
};

// w - b at the specific volume v. Two steps of Halley's method, whose quotients may be rough, are within 7e-9 of x for
// all rows of fluids.csv, and for mixtures of them. Other maps may need more steps. Newton's step on w - C = v is the
// last, with which a rounding of x does not count:
//   w - b = b (v - b + C + (1 - x) moment)/(b + x moment),  moment = sum_k k c_k x^k
// NaN where v is less than at w = b.
template <class R> POINT_FN R free_volume_of(const VolumeMap<R> &map, const R b_mix, const R v) {
    constexpr int STEPS = number<R>::wide ? 4 : 2;
    constexpr int MORE = 2;
    constexpr double START = 0.65;                    // of x in C
    constexpr double CLOSE = IN_SINGLE ? 1e-4 : 3e-9; // f over b from which Newton's step reaches the last bits
    const VolumePolynomial<R> polynomial{map, b_mix, v};

    R x = rough_quotient(b_mix, larger(R(v + map_value(map, R(START))), R(1.05 * b_mix)));
    UNROLL
    for (int step = 0; step < STEPS; ++step) x = polynomial.step(x, polynomial(x));

    R f = polynomial(x);
    if (any_of(fabs(f) > CLOSE * b_mix)) {
        for (int step = 0; step < MORE; ++step) {
            x = select(fabs(f) > CLOSE * b_mix, polynomial.step(x, f), x);
            f = polynomial(x);
        }
    }

    const R least = b_mix - map_value(map, R(1.0));
    const R moment = map_moment(map, x);
    const R free = b_mix * ((v - b_mix) + map_value(map, x) + (1.0 - x) * moment) / (b_mix + x * moment);
    return select(v > 0.0 && v > least, free, R(NOT_A_NUMBER));
}

// Of masses in the volume V, b and c_k being sums over them: L, K = I - ln(w - b), and their derivatives in b, c_k and
// delta1 + delta2 at constant V.
template <class R> struct MapGradients {
    R L, L_b, L_c[4], L_sum;
    R I, K_b, K_c[4];
};

template <class Shape, class R>
POINT_FN void map_gradients(const Shape &eos, const VolumeMap<R> &map, const R b_mix, const R v_free, const R inv_free,
                            const R inv_D, MapGradients<R> &g) {
    const R w = v_free + b_mix;
    const R inv_b = 1.0 / b_mix;
    const R x = b_mix / w;
    const R inv_product = 1.0 / eos.product;
    const R inv_centred = 1.0 / (v_free + (0.5 * eos.linear) * b_mix);
    const R inv_b2 = inv_b * inv_b;
    const R plain_L = departure_integral(eos, b_mix, inv_centred);
    MapIntegrals<R> s;
    free_integrals(x, R(-log(v_free / w)), s);
    shape_integrals(eos, x, R(b_mix * plain_L), inv_product, s);
    shape_slopes(eos, R(b_mix * departure_slope(eos, b_mix, inv_centred, plain_L)), inv_product, s);

    const R of_J = of_shape(map, s.J) * inv_b2;
    const R of_I = of_free(map, s.I) * inv_b;
    g.L = plain_L + of_J;
    g.I = of_I;
    g.L_b = (w * inv_D - g.L - of_J) * inv_b;
    g.L_sum = (s.J_slope[0] + of_shape(map, s.J_slope) * inv_b) * inv_b;
    g.K_b = inv_free - of_I * inv_b;

    R power = R(1.0);
    UNROLL
    for (int k = 0; k < 4; ++k) {
        g.L_c[k] = (k > 0 ? R(k * inv_b2 * s.J[k + 1]) : R(0.0)) - power * inv_D;
        g.K_c[k] = (k > 0 ? R(k * inv_b * s.I[k]) : R(0.0)) - power * inv_free;
        power = power * x;
    }
}
