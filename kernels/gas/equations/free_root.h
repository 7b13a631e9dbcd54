// The root u = p (v - b)/(R T) of a cubic equation of state: the largest, or that of option `root`.
#pragma once
#include "gas/equations/departure.h"

// The equation of state as a cubic in u = p (v - b)/(R T), u^3 + c2 u^2 + c1 u + c0 = 0, with A = a p/(R T)^2 and
// B = b p/(R T).
template <class Shape, class R>
POINT_FN void cubic_coefficients(const Shape &eos, const R A, const R B, R &c2, R &c1, R &c0) {
    const R B2 = B * B;
    c2 = eos.linear * B - 1.0;
    c1 = A + (eos.constant * B2 - eos.linear * B);
    c0 = -eos.constant * B2;
}

// Discriminant: not negative if all roots are real. It is computed from the coefficients, because in a thin gas two of
// the roots are nearly equal and tiny.
template <class R> POINT_FN R cubic_discriminant(const R c2, const R c1, const R c0) {
    const R square2 = c2 * c2;
    return c1 * c1 * (square2 - 4.0 * c1) + c0 * (c2 * (18.0 * c1 - 4.0 * square2) - 27.0 * c0);
}

// One Halley step on u^3 + c2 u^2 + c1 u + c0. A step that is not small (multiple root) is not taken.
template <class R> POINT_FN R polished(const R u, const R c2, const R c1, const R c0) {
    const R f = ((u + c2) * u + c1) * u + c0;
    const R slope = (3.0 * u + 2.0 * c2) * u + c1;
    const R step = rough_quotient(f * slope, slope * slope - f * (3.0 * u + c2));
    return u - select(fabs(step) < (IN_SINGLE ? 1e-3 : 1e-5), step, R(0.0));
}

// First guess of the outer root of t^3 - 3 e t = g >= 0: rational functions of g^(2/3)/e, fitted to Cardano's 2
// cos(acos/3), 2 cosh(acosh/3), 2 sinh(asinh/3), by gas/fits/cubic_start.py: relative error where e >= 0 3.3e-4,
// where e < 0 6.4e-3. With approximate divisions and roots: below 1 % (0.32 % for e >= 0).
template <class R> POINT_FN R outer_start(const R e, const R g) {
    const R G = two_thirds_start(g);
    const R G2 = G * G;
    const auto folded = e >= 0.0;
    const R P = G2 - e * (1.72 * G - 5.493 * e);
    const R below = G + 1.1737 * e;
    const R over = select(folded, 3.0 * e * below + G * (G + 0.15494 * e), g * P);
    const R under = G2 * G - 3.0 * e * P;

    // the square of `under` is g^4: near the critical point, where g is 1e-9, less than single precision has
    if constexpr (IN_SINGLE)
        return select(folded, over * inverse_root_start(at_least(over * below, SMALLEST)),
                      over / at_least(under, SMALLEST));
    return over * inverse_root_start(at_least(select(folded, over * below, under * under), SMALLEST));
}

// One Halley step on t^3 - 3 e t - g. The approximate quotient has a relative error of 4e-9, below the truncation error
// of the step.
template <class R> POINT_FN R halley(const R t, const R e, const R g) {
    const R t2 = t * t;
    const R F = t * (t2 - 3.0 * e) - g;
    const R slope = t2 - e; // a third of it
    return t - rough_quotient(F * slope, at_least(3.0 * (slope * slope) - t * F, SMALLEST));
}

// Points with three real roots (`deflated`): u becomes the largest root, or the root of option `root` if all roots are
// positive. near: the outer root of the depressed cubic, from which deflation gives the others. more: Absent, or an
// object whose gibbs(eos, A, B, u) is what it adds to the residual Gibbs energy of the root u, over R T.
template <class M, class R, class Mask, class Delta, class More>
POINT_FN void one_of_three(const M &m, const R A, const R B, const R centre, const R e, const R f, const R discriminant,
                           const R near, const Mask deflated, const Mask positive, const Delta delta, const More &more,
                           R &u) {
    const R t = halley(near, e, fabs(f));
    R width = rough_quotient(sqrt(at_least(discriminant, 0.0)), at_least(3.0 * (t * t - e), SMALLEST));
    if constexpr (IN_SINGLE) {
        const R apart = 4.0 * e - near * near;
        width = select(apart > 0.1 * e, sqrt(at_least(3.0 * apart, 0.0)), width);
    }
    const R outer = -flipped(t, f);
    const R far = centre + 0.5 * flipped(t + width, f);
    const R largest = larger(centre + outer, far);
    const R smallest = smaller(centre + outer, far);
    u = select(deflated, largest, u);
    if constexpr (M::root_liquid) u = select(positive, smallest, u);
    if constexpr (M::root_gibbs)
        if (any_of(positive)) {
            // Difference of the residual Gibbs energies, liquid less vapour: g = Z - 1 - ln u - A/((delta1 - delta2) B)
            // ln(...). As a function of u it is stationary at the roots, so unpolished roots are good enough.
            const auto eos = shape(m, delta);
            const auto first = 1.0 + eos.delta1;
            const auto second = 1.0 + eos.delta2;
            const R ul = select(positive, smallest, R(1.0));
            const R uv = select(positive, largest, R(1.0));
            const R below = (ul + second * B) * (uv + first * B);
            const R over = (first - second) * B;
            R difference;

            if constexpr (eos.apart) {
                const R uv_below = uv * below;
                const R r = 1.0 / (over * uv_below);
                const R r_over = r * over;
                difference = (ul - uv) - log(ul * (r_over * below)) -
                             A * (r * uv_below) * log((ul + first * B) * (uv + second * B) * (r_over * uv));
            } else { // delta1 and delta2 may be equal: ln(1 + over t)/over, t = (uv - ul)/below
                const R t = (uv - ul) / below;
                const R middle = 1.0 / (2.0 + over * t);
                difference =
                    (ul - uv) - log(ul / uv) - 2.0 * A * t * middle * atanh_within(eos, square(over * t * middle));
            }

            if constexpr (!is_absent<More>) difference += more.gibbs(eos, A, B, ul) - more.gibbs(eos, A, B, uv);
            u = select(positive && difference < 0.0, smallest, u);
        }
}

#ifdef VECTORS_ALONE
// ---- a point by itself (engine/numbers/alone.h)

// Whether only the largest root counts, and is so near u = 1 that the iteration may start there
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
    const double inverse = quotient_start(1.0, 1.0 + B * (eos.linear + eos.constant * B));
    const double bend = (3.0 + c2) * inverse - 1.0;
    const double t = A * inverse;
    double u = 1.0 - t * (1.0 + t * bend);

    if (A > 1.0 / 128) {
        const double f = ((u + c2) * u + c1) * u + c0;
        const double slope = (3.0 * u + 2.0 * c2) * u + c1;
        u -= quotient_start(f * slope, slope * slope - f * (3.0 * u + c2));
    }

    return polished(u, c2, c1, c0);
}
#endif

// A pack's piece of what the choice of a root reads.
template <class PackOf> POINT_FN Absent piece(const PackOf &, Absent) { return {}; }
template <class PackOf, class R> POINT_FN auto piece(const PackOf &pack_of, R &delta) { return pack_of(delta); }

// u = p (v - b)/(R T) of A and B: every physical root has 0 < u <= 1 (for a >= 0).
//   1. A good first guess and one Halley step: the outer root t of the depressed cubic.
//   2. Deflation: the other roots, if they matter.
//   3. One Halley step on the cubic itself.
template <class M, class R, class Delta, class More>
POINT_FN R free_root(const M &m, const R A, const R B, const Delta delta_mix, const More &more) {
    R c2, c1, c0;
    const auto eos = shape(m, delta_mix);
    cubic_coefficients(eos, A, B, c2, c1, c0);
    if constexpr (IN_CHAINS<R>) {
        if (is_thin(m, A, B, c2, c1, c0)) return root_of_thin_gas(m, eos, A, B, c2, c1, c0);
    }

    // Depressed cubic, u = centre + t: t^3 - 3 e t + f = 0.
    const R centre = c2 * (-1.0 / 3.0);
    const R e = (c2 * c2 - 3.0 * c1) * (1.0 / 9.0);
    const R f = ((centre + c2) * centre + c1) * centre + c0;
    R t = halley(outer_start(e, fabs(f)), e, fabs(f));
    if constexpr (number<R>::wide) {
        for (int step = 0; step < 6; ++step) t = halley(t, e, fabs(f));
    }
    R u = centre - flipped(t, f);

    // Three real roots by the discriminant. All are positive if the signs of the coefficients alternate (Descartes).
    // Otherwise only the largest is. For most gases the signs alone exclude three roots.
    const auto alternate = c2 < 0.0 && c1 > 0.0;
    const auto several = alternate || f > 0.0;

    if (any_of(several)) {
        const R discriminant = cubic_discriminant(c2, c1, c0);
        auto three = discriminant >= 0.0;

        // In single precision the discriminant is lost in rounding near the critical point. There 4 e - t^2 decides, a
        // third of the squared distance of the two other roots. It cancels if these are nearly equal; then the
        // discriminant decides.
        const R apart = 4.0 * e - t * t;
        if constexpr (IN_SINGLE) three = apart > 0.1 * e || (three && apart > -1e-3 * e);
        const auto positive = three && alternate;
        const auto deflated = three && several;
        if (any_of(deflated))
            one_by_one(
                [&](auto pack_of) { // few packs hold such a point
                    if (any_of(pack_of(deflated)))
                        one_of_three(m, pack_of(A), pack_of(B), pack_of(centre), pack_of(e), pack_of(f),
                                     pack_of(discriminant), pack_of(t), pack_of(deflated), pack_of(positive),
                                     piece(pack_of, delta_mix), piece(pack_of, more), pack_of(u));
                },
                R());
    }

    u = polished(u, c2, c1, c0);
    if constexpr (number<R>::wide) u = polished(polished(u, c2, c1, c0), c2, c1, c0);
    return u;
}
