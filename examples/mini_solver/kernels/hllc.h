// The HLLC flux between two states, and which component of the velocity is normal to the face.
#pragma once
#include "stencil.h"

// The component normal to direction d comes first, then the other two in their order: which one is the c-th.
POINT_FN int turned(const int d, const int c) { return d + c < 3 ? d + c : d + c - 3; }
template <class R> POINT_FN void turn_back(const int d, R (&u)[3]) {
    const R n = u[0];
    const R a = u[1];
    const R b = u[2];
    if (d == 1) u[0] = b, u[1] = n, u[2] = a;
    if (d == 2) u[0] = a, u[1] = b, u[2] = n;
}

// HLLC on one side: chi = rho*/rho, velocity and pressure between the waves, or the state itself outside them.
template <class R> struct Side {
    R chi, u, p, work;
};

template <class R>
POINT_FN Side<R> hllc_side(const R rho, const R u, const R p, const R S, const R S_M, const bool left) {
    const auto outside = left ? S >= 0.0 : S <= 0.0;
    const R gap = select(outside, R(1.0), S - S_M);
    const R chi = select(outside, R(1.0), (S - u) / gap);
    const R p_star = select(outside, p, p + rho * (S - u) * (S_M - u));
    const R work = select(outside, R(0.0), (S_M - u) * (rho * S_M + p / select(outside, R(1.0), S - u)));
    return {chi, select(outside, u, S_M), p_star, work};
}

// A state beside a face, u normal to it. g: rho c^2/p of the cell.
template <class R> struct Beside {
    R rho, u, v, w, p, g;
};

// What passes: from which side, the velocity that partial densities there are carried with, momentum, and the energy in
// two parts (convective.h). In the conservative form internal energy goes with `carried` too.
template <class R> struct Passed {
    decltype(R(0.0) >= 0.0) from_left;
    R carried, M[3], A, E;
};

template <class R> POINT_FN Passed<R> hllc(const Beside<R> &l, const Beside<R> &r) {
    const R c_l = sqrt(l.g * l.p / l.rho);
    const R c_r = sqrt(r.g * r.p / r.rho);
    const R fastest = larger(c_l, c_r);
    const R root_l = sqrt(l.rho);
    const R root_r = sqrt(r.rho);
    const R roe = (root_l * l.u + root_r * r.u) / (root_l + root_r);
    const R S_L = smaller(l.u - c_l, roe - fastest);
    const R S_R = larger(r.u + c_r, roe + fastest);
    const R ml = l.rho * (S_L - l.u);
    const R mr = r.rho * (S_R - r.u);
    // relative to the mean velocity: in a uniform stream S_M is that velocity to rounding
    const R mean = 0.5 * (l.u + r.u);
    const R half = 0.5 * (r.u - l.u);
    const R S_M = mean + (r.p - l.p - half * (ml + mr)) / (ml - mr);
    const auto from_left = S_M >= 0.0;
    const Side<R> sl = hllc_side(l.rho, l.u, l.p, S_L, S_M, true), sr = hllc_side(r.rho, r.u, r.p, S_R, S_M, false);
    const R chi = select(from_left, sl.chi, sr.chi);
    const R un = select(from_left, sl.u, sr.u);
    const R ps = select(from_left, sl.p, sr.p);
    const R work = select(from_left, sl.work, sr.work);
    const R rho = select(from_left, l.rho, r.rho);
    const R u = select(from_left, l.u, r.u);
    const R v = select(from_left, l.v, r.v);
    const R w = select(from_left, l.w, r.w);
    const R p = select(from_left, l.p, r.p);
    const R carried = chi * un;
    const R m = rho * carried;
    return {from_left,
            carried,
            {m * un + ps, m * v, m * w},
            carried * p,
            carried * (rho * (0.5 * (u * u + v * v + w * w)) + work) + ps * un};
}
