// A cubic equation of state of a mixture,
//   p = R T/(v - b) - a(T)/D,  D = (v + delta1 b)(v + delta2 b),
// per kg: a [Pa m6/kg2], b, v [m3/kg], R = R_s [J/kg/K]. The equations differ only in their records in records.py,
// where their sources are named.
#pragma once
#include "gas/thermal/pairs.h"
#include "gas/thermal/ideal_gas.h"

// The shape of D if all species have the same delta1 and delta2: constants that the compiler knows.
template <class M> struct OneShape {
    static constexpr double delta1 = M::delta_1, delta2 = M::delta_2, sum = M::delta_sum, product = M::delta_product;
    static constexpr double half_gap_2 = 0.25 * sum * sum - product; // ((delta1 - delta2)/2)^2
    // D = free^2 + linear b free + constant b^2 with free = v - b: no term is negative, so nothing cancels in a liquid
    static constexpr double linear = 2.0 + sum, constant = 1.0 + sum + product;

    // near: x^2 in departure_integral is below 1/2. apart: division by delta1 - delta2 is safe.
    static constexpr bool near = half_gap_2 <= 0.125 * linear * linear, apart = half_gap_2 > 0.05;
};

// The shape of D if each species has a delta1, and the mixture their mean. delta2 = (1 - delta1)/(1 + delta1), so that
// product = 1 - sum. slope: d sum/d delta1.
template <class R> struct MixedShape {
    R delta1, delta2, sum, product, half_gap_2, linear, slope;
    static constexpr double constant = 2.0;
    static constexpr bool near = false, apart = false;
};

template <class M> POINT_FN constexpr OneShape<M> shape(const M &, Absent) { return {}; }
template <class M, class R> POINT_FN MixedShape<R> shape(const M &, const R delta) {
    const R inverse = 1.0 / (1.0 + delta), other = (1.0 - delta) * inverse, gap = delta - other, sum = delta + other;
    return {delta, other, sum, 1.0 - sum, 0.25 * gap * gap, 2.0 + sum, gap * inverse};
}

// delta1 of the mixture, sum X_i delta1_i, if each species has a delta1. Y: amounts in any proportion to mass
// fractions.
template <class M, class Species> POINT_FN auto delta_of(const M &m, const Species &Y) {
    if constexpr (M::deltas_by_species) {
        if constexpr (SIDE_BY_SIDE<Species>)
            return weighted_side_by_side(Constant<M::NS>(), m.delta_numbers, Y) /
                   weighted_side_by_side(Constant<M::NS>(), m.delta_numbers + M::NS, Y);
        auto sum = Y[0] * m.delta_numbers[0], moles = Y[0] * m.delta_numbers[M::NS];
        FOR_SPECIES (s, M::NS - 1) {
            const auto y = Y[s + 1];
            sum += y * m.delta_numbers[s + 1];
            moles += y * m.delta_numbers[M::NS + s + 1];
        }
        return sum / moles;
    } else return Absent();
}

template <class M, class R, class Species>
POINT_FN void cubic_delta(const M &m, const Species &Y, const R W, R &delta_mix) {
    R per_mass;
    weighted_sum<M::NS>(per_mass, m.delta_numbers, Y);
    delta_mix = W * per_mass;
}

template <class X> constexpr bool is_absent = false;
template <> constexpr bool is_absent<Absent> = true;

// A pack's piece of what the choice of a root reads.
template <class PackOf> POINT_FN Absent piece(const PackOf &, Absent) { return {}; }
template <class PackOf, class R> POINT_FN auto piece(const PackOf &pack_of, R &delta) { return pack_of(delta); }

// f = ((1 + c)/(t + c))^m (1 + g (t - 1)), t = T/Tc, with two derivatives in T: f = k n, k = (scale r)^m, r = 1/(T +
// offset), n = factor + slope T, times an amount. m is 8 or 2. A record's text may call it.
template <class M, class R, class N>
POINT_FN void rational_alpha(const M &, const R T, const R r, const R amount, const N power, const N scale,
                             const N factor, const N slope, R &root, R &root_T, R &root_TT) {
    const R u = square(scale * r), n = factor + slope * T, n_r = n * r, steep = slope - power * n_r;
    const R k = amount * either(roughly_less(N(4.0), power), square(square(u)), u);
    root = k * n;
    root_T = k * steep;
    root_TT = power * (k * r) * ((n_r - slope) - steep); // m k r ((m + 1) n r - 2 slope)
}

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
    const R beta = b * inv_centred, w = eos.half_gap_2 * square(beta), F_w = atanh_slope(w, L / inv_centred);
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
        const R far = select(is_far, w, R(0.5)), inv_rest = inverse(R(1.0 - far)), half = inverse(R(far + far));
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
    const R h = eos.half_gap_2, h_s = 1.0 + 0.5 * eos.sum, beta = b * inv_centred, beta2 = beta * beta;
    R F_w, F_ww;
    atanh_slopes(R(h * beta2), R(L * centred), F_w, F_ww);

    const R tilt = h_s - h * beta, w_s = beta2 * tilt, slope = F_w * w_s;
    const R w_ss = beta2 * (0.5 - h_s * beta + 0.5 * (h * beta2) - beta * tilt);
    L_s = slope * inv_centred - 0.5 * (beta * L);
    L_ss = (F_ww * (w_s * w_s) + F_w * w_ss - 0.5 * (beta * slope)) * inv_centred + 0.25 * (beta2 * L) -
           0.5 * (beta * L_s);
}

// f = sqrt(a_i), f1 = -df/ds, f2 = d2f/ds2 in s = sqrt(T), per mass, of smooth_root in records.py. With the size c =
// (1 - BEND) sqrt(a_c)/W the straight line is g - q s = c (1 - y), and beyond it f = c/(1 + y + y^2 + y^3). Where y = 0
// the bits are those of g - q s.
template <class M, class R, class S>
POINT_FN void bent_root(const M &m, const R root_T, const S s, R &f, R &f1, R &f2) {
    const auto q = of_species(m.q_mass, s), inverse_size = of_species(m.bend_inverse, s);
    const R line = of_species(m.g_mass, s) - q * root_T, slope = q * inverse_size;
    const R y = larger(1.0 - line * inverse_size, R(0.0)), y2 = y * y, more = 1.0 + y;
    const R inverse = 1.0 / (more * y2 + more), inverse2 = inverse * inverse; // of P = 1 + y + y^2 + y^3
    const R P_y = (3.0 * y2 + y) + more, steep = P_y * inverse2;
    f = select(y > 0.0, of_species(m.bend_size, s) * inverse, line);
    f1 = q * steep;
    f2 = 2.0 * (q * slope) * (steep * P_y * inverse - (3.0 * y + 1.0) * inverse2);
}

template <class M, class R, class Species>
POINT_FN void bending_attraction(const M &m, const R root_T, const bool bends, const Species &Y, R &yy, R &yz, R &zz) {
    const auto straight = [&](auto s, const auto Y_s, const auto root_T, auto &y, auto &z) INLINED {
        const auto q = of_species(m.q_mass, s);
        y = Y_s * (of_species(m.g_mass, s) - q * root_T);
        z = Y_s * q;
    };
    const auto bent = [&](auto s, const auto Y_s, const auto root_T, auto &y, auto &z, auto &w) INLINED {
        bent_root(m, root_T, s, y, z, w);
        y = Y_s * y;
        z = Y_s * z;
        w = Y_s * w;
    };
    bending_sums(m, Y, root_T, bends, straight, bent, yy, yz, zz);
}

// a' and a'' of the sums of Soave's alpha, below
template <class R> POINT_FN void slopes_of_sums(const R inv_root, const R yz, const R zz, R &a_T, R &a_TT) {
    a_T = 0.0 - yz * inv_root; // one operation, -yz would be a second
    a_TT = (zz - a_T) * (0.5 * inv_root * inv_root);
}

// a, a', a'' (derivatives in T) of amounts Y. K = 1 - k_ij; yKz is the sum over i, j of y_i K_ij z_j.
//
// Soave's alpha: sqrt(a_i) = |g_i - q_i s|, s = sqrt(T), g = sqrt(a_c)(1 + kappa), q = sqrt(a_c) kappa/sqrt(Tc). With
//   y_i = n_i |g_i - q_i s|,  z_i = n_i q_i sign(g_i - q_i s),  n_i = Y_i/W_i
// three sums are enough:
//   a = yKy,  a' = -yKz/s,  a'' = (zKz + yKz/s)/(2T)
// For kappa < 0 (omega below -0.22: helium) the constants are -g and -q, so that q is positive. y is the same, and n
// with its sign flipped gives z its sign.
//
// Soave's alpha that bends (option alpha = smooth): y_i = n_i f_i, z_i = -n_i df_i/ds, w_i = n_i d2f_i/ds2, f_i of
// bent_root. To the last of the three sums yKw is added:
//   a = yKy,  a' = -yKz/s,  a'' = (zKz + yKw + yKz/s)/(2T)
//
// Matrices a_ij(T) instead of y_i y_j: (g_ij - q_ij s)^2 of pseudo-critical pairs, or (c_ij + q_ij s^2)/s of a
// Redlich-Kwong phase. Their sums do not depend on T. They are in `pairs`, computed once if many T are tried.
//
// Any other alpha, y_i = n_i sqrt(a_i) with derivatives z_i and w_i in T:
//   a = yKy,  a' = 2 yKz,  a'' = 2 (zKz + yKw)
template <class M, class R, class Species>
POINT_FN void attraction(const M &m, const R T, const R root_T, const R inv_root, const Species &Y,
                         const PairSums<R> &pairs, R &a_mix, R &a_T, R &a_TT) {
    R yz, zz;
    if constexpr (M::alpha_general && M::by_pairs) {
        const R constant = pairs.constant * (inv_root * inv_root), half = 0.5 * inv_root;
        a_mix = pairs.constant * inv_root + pairs.square * root_T;
        a_T = (pairs.square - constant) * half;
        a_TT = (3.0 * constant - pairs.square) * (0.5 * half * inv_root * inv_root);
    } else if constexpr (M::alpha_general && SIDE_BY_SIDE<Species>) {
        general_side_by_side(m, T, Y, a_mix, a_T, a_TT);
    } else if constexpr (M::alpha_general) {
        // Two sweeps: y with z, then y with w.
        R yw, ww;
        attraction_sums(
            m, Y, T,
            [&](int s, const R Y_s, const R at, R &y, R &z) {
                R second;
                M::root_attraction(m, at, s, y, z, second);
                y = Y_s * y;
                z = Y_s * z;
            },
            a_mix, yz, zz);
        attraction_sums(
            m, Y, T,
            [&](int s, const R Y_s, const R at, R &y, R &w) {
                R first;
                M::root_attraction(m, at, s, y, first, w);
                y = Y_s * y;
                w = Y_s * w;
            },
            a_mix, yw, ww);
        a_T = yz + yz;
        a_TT = 2.0 * (zz + yw);
    } else {
        if constexpr (M::by_pairs) {
            zz = pairs.square;
            yz = pairs.linear - zz * root_T;
            a_mix = pairs.constant - (pairs.linear + yz) * root_T;
        } else if constexpr (M::alpha_bends) bending_attraction(m, root_T, anywhere(T > m.bend_T[0]), Y, a_mix, yz, zz);
        else
            attraction_sums(
                m, Y, root_T,
                [&](auto s, const auto Y_s, const auto root_T, auto &y, auto &z) INLINED {
                    const auto q = of_species(m.q_mass, s);
                    const auto root_a = of_species(m.g_mass, s) - q * root_T, n = flipped(Y_s, root_a);
                    y = n * root_a;
                    z = n * q;
                },
                a_mix, yz, zz);
        slopes_of_sums(inv_root, yz, zz, a_T, a_TT);
    }
}

// One-fluid mixing: a with its derivatives, b = sum Y_i b_i/W_i, and the volume translation.
template <class M, class R, class Species>
POINT_FN void cubic_mixture_at(const M &m, const R T, const Species &Y, const PairSums<R> &pairs, R &a_mix, R &a_T,
                               R &a_TT, R &b_mix, R &shift_mix) {
    const R known_T = known_temperature(T);
    R root_T, inv_root;
    root_and_inverse(known_T, root_T, inv_root);
    weighted_sum<M::NS>(b_mix, m.b_mass, Y);
    shift_mix = R(0.0);
    if constexpr (M::translated && SIDE_BY_SIDE<Species>) weighted_sum<M::NS>(shift_mix, m.shift_mass, Y);
    else if constexpr (M::translated) {
        R shift[1] = {R(0.0)};
        FOR_OWN (s, M::NS) shift[0] += Y[s] * m.shift_mass[s];
        sum_over_owners(shift);
        shift_mix = shift[0];
    }
    attraction(m, known_T, root_T, inv_root, Y, pairs, a_mix, a_T, a_TT);
}

template <class M, class R, class Species>
POINT_FN void cubic_mixture(const M &m, const R T, const Species &Y, R &a_mix, R &a_T, R &a_TT, R &b_mix,
                            R &shift_mix) {
    cubic_mixture_at(m, T, Y, pair_sums<M, R>(m, Y), a_mix, a_T, a_TT, b_mix, shift_mix);
}

// Pseudo-critical state: a of the mixture at alpha = 1, then as for a pure substance,
//   a = Omega_a (R Tc)^2/pc, b = Omega_b R Tc/pc.
template <class M, class R, class Species, class Delta>
POINT_FN void critical_state(const M &m, const Species &Y, const R R_s, const Delta delta_mix, R &Tc_mix, R &pc_mix,
                             R &vc_mix) {
    R b, yy, yz, zz;
    weighted_sum<M::NS>(b, m.b_mass, Y);
    if constexpr (M::by_pairs) yy = quadratic_one<M, R>(m.pair_critical, Y, [](auto, const auto y) { return y; });
    else
        attraction_sums(
            m, Y, R_s,
            [&](auto s, const auto Y_s, const auto, auto &y, auto &z) INLINED {
                y = Y_s * of_species(m.root_ac_mass, s);
                z = 0.0;
            },
            yy, yz, zz);
    if constexpr (M::deltas_by_species) { // dp/dv = d2p/dv2 = 0 of the mixture's shape
        const R d = shape(m, delta_mix).sum, more = 1.0 + delta_mix, y = 1.0 + cbrt(2.0 * more) + cbrt(4.0 / more),
                below = 3.0 * y + d - 1.0;
        Tc_mix = yy * below / (R_s * b * (3.0 * y * (y + d) + d * (d + 1.0) - 1.0));
        pc_mix = R_s * Tc_mix / (b * below);
        vc_mix = y * R_UNIVERSAL * Tc_mix / (below * pc_mix);
    } else {
        Tc_mix = yy * (m.omega_b[0] / m.omega_a[0]) / (R_s * b);
        pc_mix = m.omega_b[0] * R_s * Tc_mix / b;
        vc_mix = (m.omega_vc[0] * R_UNIVERSAL) * Tc_mix / pc_mix;
    }
}

// The equation of state as a cubic in u = p (v - b)/(R T), u^3 + c2 u^2 + c1 u + c0 = 0, with A = a p/(R T)^2 and
// B = b p/(R T).
template <class Shape, class R>
POINT_FN void cubic_coefficients(const Shape &eos, const R A, const R B, R &c2, R &c1, R &c0) {
    const R B2 = B * B;
    c2 = eos.linear * B - 1.0, c1 = A + (eos.constant * B2 - eos.linear * B), c0 = -eos.constant * B2;
}

// Discriminant: not negative if all roots are real. It is computed from the coefficients, because in a thin gas two of
// the roots are nearly equal and tiny.
template <class R> POINT_FN R cubic_discriminant(const R c2, const R c1, const R c0) {
    const R square2 = c2 * c2;
    return c1 * c1 * (square2 - 4.0 * c1) + c0 * (c2 * (18.0 * c1 - 4.0 * square2) - 27.0 * c0);
}

// One Halley step on u^3 + c2 u^2 + c1 u + c0. A step that is not small (multiple root) is not taken.
template <class R> POINT_FN R polished(const R u, const R c2, const R c1, const R c0) {
    const R f = ((u + c2) * u + c1) * u + c0, slope = (3.0 * u + 2.0 * c2) * u + c1;
    const R step = rough_quotient(f * slope, slope * slope - f * (3.0 * u + c2));
    return u - select(fabs(step) < (IN_SINGLE ? 1e-3 : 1e-5), step, R(0.0));
}

// First guess of the outer root of t^3 - 3 e t = g >= 0: rational functions of g^(2/3)/e, fitted to Cardano's 2
// cos(acos/3), 2 cosh(acosh/3), 2 sinh(asinh/3), by gas/fits/cubic_start.py: relative error where e >= 0 3.3e-4,
// where e < 0 6.4e-3. With approximate divisions and roots: below 1 % (0.32 % for e >= 0).
template <class R> POINT_FN R outer_start(const R e, const R g) {
    const R G = two_thirds_start(g), G2 = G * G;
    const auto folded = e >= 0.0;
    const R P = G2 - e * (1.72 * G - 5.493 * e), below = G + 1.1737 * e;
    const R over = select(folded, 3.0 * e * below + G * (G + 0.15494 * e), g * P), under = G2 * G - 3.0 * e * P;

    // the square of `under` is g^4: near the critical point, where g is 1e-9, less than single precision has
    if constexpr (IN_SINGLE)
        return select(folded, over * inverse_root_start(at_least(over * below, SMALLEST)),
                      over / at_least(under, SMALLEST));
    return over * inverse_root_start(at_least(select(folded, over * below, under * under), SMALLEST));
}

// One Halley step on t^3 - 3 e t - g. The approximate quotient has a relative error of 4e-9, below the truncation error
// of the step.
template <class R> POINT_FN R halley(const R t, const R e, const R g) {
    const R t2 = t * t, F = t * (t2 - 3.0 * e) - g, slope = t2 - e; // a third of it
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
    const R largest = larger(centre + outer, far), smallest = smaller(centre + outer, far);
    u = select(deflated, largest, u);
    if constexpr (M::root_liquid) u = select(positive, smallest, u);
    if constexpr (M::root_gibbs)
        if (any_of(positive)) {
            // Difference of the residual Gibbs energies, liquid less vapour: g = Z - 1 - ln u - A/((delta1 - delta2) B)
            // ln(...). As a function of u it is stationary at the roots, so unpolished roots are good enough.
            const auto eos = shape(m, delta);
            const auto first = 1.0 + eos.delta1, second = 1.0 + eos.delta2;
            const R ul = select(positive, smallest, R(1.0)), uv = select(positive, largest, R(1.0)),
                    below = (ul + second * B) * (uv + first * B);
            const R over = (first - second) * B;
            R difference;
            if constexpr (eos.apart) {
                const R uv_below = uv * below, r = 1.0 / (over * uv_below), r_over = r * over;
                difference = (ul - uv) - log(ul * (r_over * below)) -
                             A * (r * uv_below) * log((ul + first * B) * (uv + second * B) * (r_over * uv));
            } else { // delta1 and delta2 may be equal: ln(1 + over t)/over, t = (uv - ul)/below
                const R t = (uv - ul) / below, middle = 1.0 / (2.0 + over * t);
                difference =
                    (ul - uv) - log(ul / uv) - 2.0 * A * t * middle * atanh_within(eos, square(over * t * middle));
            }
            if constexpr (!is_absent<More>) difference += more.gibbs(eos, A, B, ul) - more.gibbs(eos, A, B, uv);
            u = select(positive && difference < 0.0, smallest, u);
        }
}

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
    const R centre = c2 * (-1.0 / 3.0), e = (c2 * c2 - 3.0 * c1) * (1.0 / 9.0),
            f = ((centre + c2) * centre + c1) * centre + c0;
    R t = halley(outer_start(e, fabs(f)), e, fabs(f));
    if constexpr (number<R>::wide) {
        for (int step = 0; step < 6; ++step) t = halley(t, e, fabs(f));
    }
    R u = centre - flipped(t, f);

    // Three real roots by the discriminant. All are positive if the signs of the coefficients alternate (Descartes).
    // Otherwise only the largest is. For most gases the signs alone exclude three roots.
    const auto alternate = c2 < 0.0 && c1 > 0.0, several = alternate || f > 0.0;
    if (any_of(several)) {
        const R discriminant = cubic_discriminant(c2, c1, c0);
        auto three = discriminant >= 0.0;

        // In single precision the discriminant is lost in rounding near the critical point. There 4 e - t^2 decides, a
        // third of the squared distance of the two other roots. It cancels if these are nearly equal; then the
        // discriminant decides.
        const R apart = 4.0 * e - t * t;
        if constexpr (IN_SINGLE) three = apart > 0.1 * e || (three && apart > -1e-3 * e);
        const auto positive = three && alternate, deflated = three && several;
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

// Z, vol and v - b of (T, p)
template <class M, class R, class Delta>
POINT_FN void cubic_root(const M &m, const R T, const R p, const R R_s, const R a_mix, const R b_mix, const R shift_mix,
                         const Delta delta_mix, R &Z, R &vol, R &v_free) {
    const R RT = R_s * T, known_p = select(p > 0.0, p, R(NOT_A_NUMBER));
    R inv_RT, v_ideal;
    if constexpr (IN_CHAINS<R>) { // 1/p is ready before R T is
        inv_RT = 1.0 / RT;
        v_ideal = RT * (1.0 / known_p);
    } else {
        const R inv = 1.0 / (RT * known_p);
        inv_RT = inv * p;
        v_ideal = inv * RT * RT;
    }
    const R inv_ideal = inv_RT * known_p;

    const R B = b_mix * inv_ideal, A = a_mix * (inv_RT * inv_ideal);
    const R u = free_root(m, A, B, delta_mix, Absent());
    v_free = u * v_ideal;
    Z = u + B;
    vol = v_free + b_mix;
    if constexpr (M::translated) {
        Z -= shift_mix * inv_ideal;
        vol -= shift_mix;
    }
}

// Which of the roots v > b a state is: 0 the only root, 1 the smallest of several, 2 the largest, 3 unstable. The
// smallest and the largest of three roots lie on either side of the inflection of the cubic. p <= 0 occurs only for a
// prescribed density: a stable state is then a liquid under tension, the only stable state of this pressure.
template <class M, class R, class Delta>
POINT_FN void cubic_phase_flag(const M &m, const R T, const R p, const R R_s, const R a_mix, const R b_mix,
                               const R v_free, const R p_v, const Delta delta_mix, R &phase_flag) {
    const R inv_RT = 1.0 / (R_s * T), A = a_mix * p * inv_RT * inv_RT, B = b_mix * p * inv_RT;
    R c2, c1, c0;
    cubic_coefficients(shape(m, delta_mix), A, B, c2, c1, c0);
    const auto tension = p <= 0.0, three = cubic_discriminant(c2, c1, c0) >= 0.0 && c2 < 0.0 && c1 > 0.0;
    const R of_three = select(tension || 3.0 * (p * v_free * inv_RT) + c2 < 0.0, R(1.0), R(2.0));
    phase_flag =
        select(p_v < 0.0, select(tension || three, of_three, R(0.0)), select(p_v >= 0.0, R(3.0), R(NOT_A_NUMBER)));
}

// 1/(v - b), 1/D, rho = 1/(v - shift) and 1/(v + (delta1 + delta2) b/2)
template <class M, class R, class Delta>
POINT_FN void cubic_reciprocals(const M &m, const R b_mix, const R v_free, const R vol, const Delta delta_mix, R &rho,
                                R &inv_free, R &inv_D, R &inv_centred) {
    const auto eos = shape(m, delta_mix);
    const R D = v_free * v_free + b_mix * (eos.linear * v_free + eos.constant * b_mix),
            centred = v_free + (0.5 * eos.linear) * b_mix;
    R inverses[] = {v_free, D, vol, centred};
    invert_all(inverses);
    inv_free = inverses[0], inv_D = inverses[1], rho = inverses[2], inv_centred = inverses[3];
}

template <class M, class R> POINT_FN void molar_volume(const M &, const R W, const R vol, R &v_mol) { v_mol = W * vol; }

// p_v = -R T/(v - b)^2 + a D_v/D^2, p_T = R/(v - b) - a'/D, with D_v = dD/dv.
template <class M, class R, class Delta>
POINT_FN void cubic_pressure_slopes(const M &m, const R T, const R R_s, const R a_mix, const R a_T, const R b_mix,
                                    const R v_free, const R inv_free, const R inv_D, const Delta delta_mix,
                                    R &p_v_attractive, R &p_v_repulsive, R &p_v, R &p_T, R &v_p) {
    const R D_v = 2.0 * v_free + shape(m, delta_mix).linear * b_mix;
    p_v_attractive = a_mix * D_v * (inv_D * inv_D);
    p_v_repulsive = 0.0 - R_s * T * (inv_free * inv_free); // one operation; a sign in front would be one more
    p_v = p_v_attractive + p_v_repulsive;
    p_T = R_s * inv_free - a_T * inv_D;
    v_p = 1.0 / p_v;
}

template <class M, class R, class Delta>
POINT_FN void cubic_departure(const M &m, const R b_mix, const R inv_centred, const Delta delta_mix, R &cubic_L) {
    cubic_L = departure_integral(shape(m, delta_mix), b_mix, inv_centred);
}

// h = h_ig + R T (Z - 1) + (T a' - a) L. The volume translation's -p shift is part of Z.
template <class M, class R>
POINT_FN void cubic_enthalpy(const M &, const R T, const R R_s, const R h_ig, const R Z, const R a_mix, const R a_T,
                             const R cubic_L, R &h) {
    h = h_ig + R_s * T * (Z - 1.0) + (T * a_T - a_mix) * cubic_L;
}

// s = s_ig + R ln(p (v - b)/(R T)) + a' L
template <class M, class R>
POINT_FN void cubic_entropy(const M &, const R T, const R p, const R R_s, const R s_ig, const R v_free, const R a_T,
                            const R cubic_L, R &s) {
    s = s_ig + R_s * log(p * v_free / (R_s * T)) + a_T * cubic_L;
}

// s+ = -s_res(T, rho)/R = ln(v/(v_eq - b)) - a' L/R: s_res is relative to the ideal gas of the same T and density. v is
// the volume after translation, v_eq the equation's own.
template <class M, class R>
POINT_FN void cubic_residual_entropy(const M &, const R R_s, const R a_T, const R vol, const R inv_free,
                                     const R cubic_L, R &residual_entropy) {
    residual_entropy = log(vol * inv_free) - a_T * cubic_L / R_s;
}

// cv = cp_ig - R + T a'' L
template <class M, class R>
POINT_FN void cubic_cv(const M &, const R T, const R R_s, const R cp_ig, const R a_TT, const R cubic_L, R &cv) {
    cv = cp_ig - R_s + T * a_TT * cubic_L;
}

// cp = cv - T p_T^2/p_v
template <class M, class R>
POINT_FN void heat_capacity_p(const M &, const R T, const R cv, const R p_T, const R v_p, R &cp) {
    cp = cv - T * p_T * p_T * v_p;
}

// gamma = cp/cv and c^2 = (dp/d rho)_s = -v^2 gamma p_v with a single root: c = v s/sqrt(s cv), s = -p_v cp. NaN unless
// cv > 0: far outside the range of the polynomials cp and cv are both negative, so s cv alone would not show it.
template <class M, class R>
POINT_FN void heat_capacity_ratio(const M &, const R cp, const R cv, const R p_v, const R vol, R &gamma, R &c) {
    const R rigid = 0.0 - p_v * cp;
    if constexpr (IN_CHAINS<R>) {
        const R inverse = select(cv > 0.0, 1.0 / cv, R(NOT_A_NUMBER));
        gamma = cp * inverse;
        c = vol * sqrt(rigid * inverse);
    } else {
        const R inverse = select(cv > 0.0, inverse_root(rigid * cv), R(NOT_A_NUMBER)), share = rigid * inverse;
        gamma = cp * inverse * share;
        c = vol * share;
    }
}

// rho_p = -rho^2 v_p, rho_T = rho^2 p_T v_p
template <class M, class R>
POINT_FN void density_slopes(const M &, const R rho, const R p_T, const R v_p, R &rho_p, R &rho_T) {
    rho_p = 0.0 - rho * rho * v_p;
    rho_T = 0.0 - p_T * rho_p;
}

// h_p = v + T p_T/p_v, written without the ideal-gas parts, which cancel. h_T = cp.
template <class M, class R>
POINT_FN void enthalpy_slopes(const M &, const R T, const R a_T, const R b_mix, const R shift_mix, const R v_free,
                              const R inv_D, const R p_v_attractive, const R p_v_repulsive, const R v_p, const R cp,
                              R &h_p, R &h_T) {
    h_p = ((v_free + b_mix) * p_v_attractive - T * a_T * inv_D + b_mix * p_v_repulsive) * v_p;
    if constexpr (M::translated) h_p -= shift_mix;
    h_T = cp;
}

// e = h - p v
template <class M, class R> POINT_FN void internal_energy(const M &, const R p, const R vol, const R h, R &e) {
    e = h - p * vol;
}

#ifdef VECTORS_ALONE
#include "gas/equations/cubic_alone.h"
#endif
