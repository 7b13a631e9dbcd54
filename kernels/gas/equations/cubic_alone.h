// Mixtures of a point by itself (engine/numbers/alone.h): species fill vectors. The formulas are those of cubic.h,
// which includes this file.
#pragma once

// a, a', a'' of any alpha but Soave's, in one sweep
template <class M, class Species>
POINT_FN void general_side_by_side(const M &m, const double T, const Species &Y, double &a_mix, double &a_T,
                                   double &a_TT) {
    double yz, zz;
    attraction_side_by_side(
        Constant<3>(), m, Y, T,
        [&](const auto some, const auto y, const auto at, auto &x) INLINED {
            M::root_attraction(m, at, some, x[0], x[1], x[2]);
            for (auto &element : x) element = y * element;
        },
        a_mix, yz, zz);
    a_T = yz + yz;
    a_TT = zz + zz;
}

// Whether the largest root is the only one that counts, and lies so near u = 1 that iteration may start there
template <class M>
POINT_FN bool is_thin(const M &, const double A, const double B, const double c2, const double c1, const double c0) {
    const bool several = c1 > 0.0 && cubic_discriminant(c2, c1, c0) >= 0.0;
    return A >= 0.0 && A < 0.125 && B < 0.2 && !several;
}

// That root. At u = 1 the cubic is A, and its slope is s + A with s = 1 + linear B + constant B^2: all that waits for A
// is short. To the second order u = 1 - t (1 + t (k/s - 1)), t = A/s, where k is half of the second derivative; this
// leaves 2.3 A^3. What is behind a step of Halley's is its third power, and below rounding where A is small.
template <class M, class Shape>
POINT_FN double root_of_thin_gas(const M &, const Shape &eos, const double A, const double B, const double c2,
                                 const double c1, const double c0) {
    const double inverse = quotient_start(1.0, 1.0 + B * (eos.linear + eos.constant * B)),
                 bend = (3.0 + c2) * inverse - 1.0;
    const double t = A * inverse;
    double u = 1.0 - t * (1.0 + t * bend);

    if (A > 1.0 / 128) {
        const double f = ((u + c2) * u + c1) * u + c0, slope = (3.0 * u + 2.0 * c2) * u + c1;
        u -= quotient_start(f * slope, slope * slope - f * (3.0 * u + c2));
    }
    return polished(u, c2, c1, c0);
}
