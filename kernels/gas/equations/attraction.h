// a(T) of a mixture with two derivatives, for every alpha of records.py.
#pragma once
#include "gas/thermal/pairs.h"

// A species' f = k n, k = amount r^m, n = factor + slope T, r = 1/(share T + offset), share = 1/m, of an amount. Its
// derivatives in T are
//   f' = k slope - r f,  f'' = -r ((1 + share) f' + (1 - share) k slope).
// m is 8 or 2. curb: (1 - share) slope. The text of a record calls it. The struct of constants is declared behind that
// text, so `m` must be an argument.
template <class M, class R, class N>
POINT_FN void rational_root(const M &, const R T, const R amount, R &root, R &root_T, R &root_TT, const N share,
                            const N offset, const N factor, const N slope, const N curb) {
    const R r = inverse(R(share * T + offset));
    const R r2 = square(r);
    const R k = amount * either(roughly_less(share, N(0.25)), square(square(r2)), r2);
    root = k * (factor + slope * T);
    root_T = k * slope - r * root;
    root_TT = (0.0 - r) * ((1.0 + share) * root_T + k * curb);
}

#ifdef VECTORS_ALONE
// A point by itself (engine/numbers/alone.h), whose species fill vectors.

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
#endif

// f = sqrt(a_i), f1 = -df/ds, f2 = d2f/ds2 in s = sqrt(T), per mass, of smooth_root in records.py. With the size c =
// (1 - BEND) sqrt(a_c)/W the straight line is g - q s = c (1 - y), and beyond it f = c/(1 + y + y^2 + y^3). Where y = 0
// the bits are those of g - q s.
template <class M, class R, class S>
POINT_FN void bent_root(const M &m, const R root_T, const S s, R &f, R &f1, R &f2) {
    const auto q = of_species(m.q_mass, s);
    const auto inverse_size = of_species(m.bend_inverse, s);
    const R line = of_species(m.g_mass, s) - q * root_T;
    const R slope = q * inverse_size;
    const R y = larger(1.0 - line * inverse_size, R(0.0));
    const R y2 = y * y;
    const R more = 1.0 + y;
    const R inverse = 1.0 / (more * y2 + more);
    const R inverse2 = inverse * inverse; // of P = 1 + y + y^2 + y^3
    const R P_y = (3.0 * y2 + y) + more;
    const R steep = P_y * inverse2;
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
        const R constant = pairs.constant * (inv_root * inv_root);
        const R half = 0.5 * inv_root;
        a_mix = pairs.constant * inv_root + pairs.square * root_T;
        a_T = (pairs.square - constant) * half;
        a_TT = (3.0 * constant - pairs.square) * (0.5 * half * inv_root * inv_root);
    } else if constexpr (M::alpha_general && SIDE_BY_SIDE<Species>) {
        general_side_by_side(m, T, Y, a_mix, a_T, a_TT);
    } else if constexpr (M::alpha_general) {
        const auto bent = [&](int s, const R Y_s, const R at, R &y, R &z, R &w) {
            M::root_attraction(m, at, s, y, z, w);
            y = Y_s * y;
            z = Y_s * z;
            w = Y_s * w;
        };

        const auto straight = [&](int s, const R Y_s, const R at, R &y, R &z) {
            R w;
            bent(s, Y_s, at, y, z, w);
        };
        bending_sums(m, Y, T, true, straight, bent, a_mix, yz, zz);
        a_T = yz + yz;
        a_TT = zz + zz;
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
                    const auto root_a = of_species(m.g_mass, s) - q * root_T;
                    const auto n = flipped(Y_s, root_a);
                    y = n * root_a;
                    z = n * q;
                },
                a_mix, yz, zz);
        slopes_of_sums(inv_root, yz, zz, a_T, a_TT);
    }
}
