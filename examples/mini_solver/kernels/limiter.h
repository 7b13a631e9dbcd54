// Bounds of a stage, by Zalesak's flux correction (J. Comput. Phys. 31, 1979): each cell says which share of the
// higher-order corrections of its faces it can bear, out of it and into it. If no flux can leave the bounds, nothing
// changes.
//
// Bounds. Partial densities stay 0 or more (so 0 <= Y <= 1), density and pressure above 0. Where the sensor sees an
// interface the molar density also stays between the molar densities of the cell, its neighbours and the first-order
// result: at a given pressure this bounds the temperature. (If each partial density overshoots a little by itself, the
// mixed gas is hotter than every gas of which it is mixed.) Diffusion changes the bounds of the molar density by as
// much as the molar density itself, since the pressure equation has all of it.
//
// Corrections. Species are corrected towards the donor cell, carried with the velocity of the higher-order pressure
// flux. The correction so keeps uniform pressure and velocity, and the temperature of a mixture lies between. It keeps
// its bounds while less than a whole cell flows out in a step. Where pressure or velocity change so much between cells
// that the pressure may come near 0, all fluxes together are corrected towards HLLC of the cells' own states, in double
// flux.
//
// Rows of `shares`:
//   k < NS    the share of species k that may be taken from a cell
//   LOWERS    of corrections that lower its molar density
//   RAISES    of corrections that raise it
//   BULK      of all corrections at once
//   ANY       0 if any of these is below 1; 1: the other rows are not written, and not read
// ANY is also 1 in the fringe beyond the domain's sides, whose faces are not corrected (open = 0). The fluxes set ANY
// to -1 in cells to be checked: a face takes more than a part of a cell's content (fluxes.py), or another bound may be
// needed. `rough` is 1 where they saw an interface.
#pragma once
#include "hllc.h"

enum { LOWERS = NS, RAISES, BULK, SHARES, ANY = SHARES };

constexpr double ROUGH = 1.0, SHORT = 2.0, LOUD = 4.0; // why a cell asks for its shares, summed, negative, in ANY
constexpr double KEEP_BACK = 1e-13;                    // of what may be taken: rounding of the update
constexpr double LEAST = 0.1;                          // share of the first-order density and pressure that stays

// ---- at the face on the low side of cell t, normal to direction d
template <class R, class Arguments> POINT_FN R species_flux(const Arguments &a, const int t, const int d, const int k) {
    return at<R>(flux_of<R>(a, d) + k * a.ld_flux_x, t);
}

#if VISCOUS
template <class R, class Arguments> POINT_FN double *viscous_row(const Arguments &a, const int d, const int k) {
    return (d == 0 ? a.viscous_x : d == 1 ? a.viscous_y : a.viscous_z) + k * a.ld_viscous_x;
}
#endif

// diffusion of a species, as the update takes its divergence
template <class R, class Arguments> POINT_FN R diffusion(const Arguments &a, const int t, const int d, const int k) {
#if VISCOUS
    return face_flux<R>(viscous_row<R>(a, d, k), t, a.stride[d]);
#else
    (void)a, (void)t, (void)d, (void)k;
    return R(0.0);
#endif
}

template <class R> struct Donor {
    R velocity, open;
    decltype(R(0.0) >= 0.0) is_left;
};

template <class R, class Arguments> POINT_FN Donor<R> donor_of(const Arguments &a, const int t, const int d) {
    const int s = a.stride[d];
#if CONSERVATIVE
    const double *u = a.Q + (CELL_U + d) * a.ld_Q;
    const R velocity = 0.5 * (at<R>(u, t - s) + at<R>(u, t));
#else
    const double *p = a.Q + CELL_P * a.ld_Q;
    const R velocity = 2.0 * at<R>(flux_of<R>(a, d) + FLUX_A * a.ld_flux_x, t) / (at<R>(p, t - s) + at<R>(p, t));
#endif
    return {velocity, at<R>(a.open + d * a.ld_open, t), velocity >= 0.0};
}

template <class R, class Arguments>
POINT_FN R donor_flux(const Arguments &a, const int t, const int d, const Donor<R> &f, const int k) {
    const double *row = a.Q + k * a.ld_Q;
    return f.velocity * select(f.is_left, at<R>(row, t - a.stride[d]), at<R>(row, t));
}

template <class R, class Arguments> POINT_FN Beside<R> state_beside(const Arguments &a, const int t, const int d) {
    R u[3], rho = R(0.0);
    UNROLL
    for (int c = 0; c < 3; ++c) u[c] = at<R>(a.Q + (CELL_U + turned(d, c)) * a.ld_Q, t);
    FOR_SPECIES (k, NS) rho += at<R>(a.Q + k * a.ld_Q, t);

    return {rho, u[0], u[1], u[2], at<R>(a.Q + CELL_P * a.ld_Q, t), at<R>(a.gamma_c, t)};
}

// Fluxes of first order.
template <class R> struct First {
    Passed<R> q;
    R mass; // of all species
};

template <class R, class Arguments> POINT_FN First<R> first_order(const Arguments &a, const int t, const int d) {
    const int s = a.stride[d];
    const Beside<R> l = state_beside<R>(a, t - s, d), r = state_beside<R>(a, t, d);
    First<R> f{hllc(l, r), R(0.0)};
    f.mass = f.q.carried * select(f.q.from_left, l.rho, r.rho);
    turn_back(d, f.q.M);
#if CONSERVATIVE
    f.q.E += f.q.carried * select(f.q.from_left, at<R>(a.e_vol, t - s), at<R>(a.e_vol, t));
#endif
    return f;
}

template <class R, class Arguments> POINT_FN R molar_density(const Arguments &a, const int t) {
    R n = R(0.0);
    FOR_SPECIES (k, NS) n += INV_W[k] * at<R>(a.Q + k * a.ld_Q, t);
    return n;
}

// The share of `wanted` that is there
template <class R> POINT_FN R share_of(const R have, const R wanted) {
    return select(wanted > have, larger(have, R(0.0)) / larger(wanted, R(1e-300)), R(1.0));
}

// ---- a cell's shares
template <class R, class Arguments>
POINT_FN R species_bounds(const Arguments &a, const int t, const int count, const double step, const R rho,
                          const R rough, const R short_of) {
    R rho_k[NS], taken[NS], lowers = R(0.0), raises = R(0.0), least = R(1.0);
    const R here = molar_density<R>(a, t);
    R lowest = here;
    R highest = here;
    R n = here;
    R left = R(1.0);
    R diffused = R(0.0);
    FOR_SPECIES (k, NS) rho_k[k] = at<R>(a.Q + k * a.ld_Q, t) + FLOOR * rho, taken[k] = R(0.0);

    // First order at all faces, and what the higher order takes in addition.
    UNROLL
    for (int face = 0; face < 2 * DIMENSIONS; ++face) {
        const int d = face / 2;
        const int side = face % 2;
        const int s = a.stride[d];
        const int at_face = t + side * s;
        const auto out = (side ? step : -step) * area_over_volume<R>(a, d, t, side); // what leaves counts positive
        const Donor<R> f = donor_of<R>(a, at_face, d);
        const R beside = molar_density<R>(a, side ? t + s : t - s);
        R moles = R(0.0);
        FOR_SPECIES (k, NS) {
            const R high = species_flux<R>(a, at_face, d, k);
            const R diffuses = out * diffusion<R>(a, at_face, d, k);
            const R low = select(f.open > 0.5, donor_flux(a, at_face, d, f, k), high);
            const R more = out * (high - low);
            rho_k[k] -= out * low;
            n -= (INV_W[k] * out) * low;
            diffused -= INV_W[k] * diffuses;
            taken[k] += larger(diffuses + larger(more, R(0.0)), R(0.0)); // whatever the neighbour leaves of `more`
            moles += INV_W[k] * more;
        }
        lowest = smaller(lowest, beside);
        highest = larger(highest, beside);
        left -= out * f.velocity;
        lowers += larger(moles, R(0.0));
        raises += larger(-moles, R(0.0));
    }

    // Shares of the species.
    const auto asked = rough > 0.0 || short_of > 0.0;
    const auto bounded = rough > 0.0; // whatever neighbours in its pack ask
    FOR_SPECIES (k, NS) {
        const R share = select(asked, share_of<R>(rho_k[k] * (1.0 - KEEP_BACK), taken[k]), R(1.0));
        put(a.shares + k * a.ld_shares, t, share, count);
        least = smaller(least, share);
    }

    // Bounds are compressed with the fluid: else an extremum would keep each expansion of a sound wave and lose each
    // compression. What diffuses comes on top, in a fluid that it has made expand.
    lowest *= left, highest *= left;
    const R may_lower = select(bounded, share_of<R>(n - lowest, lowers), R(1.0));
    const R may_raise = select(bounded, share_of<R>(highest - n, raises), R(1.0));

    put(a.shares + LOWERS * a.ld_shares, t, may_lower, count);
    put(a.shares + RAISES * a.ld_shares, t, may_raise, count);
    return smaller(least, smaller(may_lower, may_raise));
}

// Density and, in double flux, p/(g - 1) are concave in what is advanced: they hold for any shares of the faces'
// corrections if they hold with the corrections of any of its faces in full and of the others not at all. With apec
// density alone is bounded: where its pressure ends is not known in terms of the energy.
template <class R, class Arguments>
POINT_FN R bulk_bounds(const Arguments &a, const int t, const double step, const R rho, const R p, const R inverse) {
    R more[2 * DIMENSIONS][5], first[5], squares = R(0.0), share = R(1.0); // momentum, energy, density

    // The state, and the first-order state after the stage.
    UNROLL
    for (int c = 0; c < 3; ++c) {
        const R u = at<R>(a.Q + (CELL_U + c) * a.ld_Q, t);
        first[c] = rho * u;
        squares += u * u;
    }

    first[3] = p * inverse + 0.5 * rho * squares;
    first[4] = rho;

    UNROLL
    for (int face = 0; face < 2 * DIMENSIONS; ++face) {
        const int d = face / 2;
        const int side = face % 2;
        const int at_face = t + side * a.stride[d];
        const auto out = (side ? step : -step) * area_over_volume<R>(a, d, t, side);
        const First<R> f = first_order<R>(a, at_face, d);
        const auto open = at<R>(a.open + d * a.ld_open, at_face) > 0.5;
        const double *flux = flux_of<R>(a, d);
        R high[5] = {R(0.0), R(0.0), R(0.0), R(0.0), R(0.0)};
        R low[5];

        UNROLL
        for (int c = 0; c < 3; ++c) high[c] = at<R>(flux + (FLUX_M + c) * a.ld_flux_x, at_face), low[c] = f.q.M[c];
        high[3] = at<R>(flux + FLUX_E * a.ld_flux_x, at_face);
        low[3] = f.q.E;
#if !CONSERVATIVE
        high[3] += inverse * at<R>(flux + FLUX_A * a.ld_flux_x, at_face);
        low[3] += inverse * f.q.A;
#endif
        FOR_SPECIES (k, NS) high[4] += at<R>(flux + k * a.ld_flux_x, at_face);
        low[4] = f.mass;

        UNROLL
        for (int c = 0; c < 5; ++c) {
            const R taken = select(open, low[c], high[c]);
            first[c] -= out * taken;
            more[face][c] = out * (high[c] - taken);
        }
    }
#if AXISYMMETRIC
    first[1] += step * (area_over_volume<R>(a, 1, t, 1) - area_over_volume<R>(a, 1, t, 0)) * outward_push<R>(a, t);
#endif

    // The share that any set of faces can bear in full.
    const auto energy = [](const R(&v)[5]) { return v[3] - 0.5 * (square(v[0]) + square(v[1]) + square(v[2])) / v[4]; };
    const R at_first = energy(first);
    const R least = LEAST * at_first;
    for (int faces = 1; faces < 1 << (2 * DIMENSIONS); ++faces) { // a bit for each
        R all[5] = {R(0.0), R(0.0), R(0.0), R(0.0), R(0.0)};
        UNROLL
        for (int face = 0; face < 2 * DIMENSIONS; ++face) {
            const double in = faces >> face & 1;
            UNROLL
            for (int c = 0; c < 5; ++c) all[c] += in * more[face][c];
        }
        R b = share_of<R>((1.0 - LEAST) * first[4], all[4]);
#if !CONSERVATIVE
        R full[5];
        UNROLL
        for (int c = 0; c < 5; ++c) full[c] = first[c] - b * all[c];
        b *= share_of<R>(at_first - least, at_first - energy(full));
#endif
        share = smaller(share, b);
    }
#if CONSERVATIVE
    return select(first[4] > 0.0, share, R(0.0));
#else
    return select(first[4] > 0.0 && at_first > 0.0, share, R(0.0));
#endif
}

// For a cell that the fluxes ask about, three cheap questions, mostly answered with yes. Has the cell twice as much of
// each species as leaves it? Is there no interface? Does the pressure, which changes by rho c^2 div u, change too
// little between cells to come near 0? Returns where an answer is no
template <class R, class Arguments> POINT_FN auto bounds(const Arguments &a, const int t, const int count) {
    const auto unasked = at<R>(a.shares + ANY * a.ld_shares, t) >= 1.0;
    if (all_of(unasked)) return !unasked;

    const double step = a.scale * a.length[0];

    // Species: can they pay for what leaves?
    R rho = R(0.0), rough = R(0.0), short_of = R(0.0), loud = R(0.0), shock = R(0.0);
    FOR_SPECIES (k, NS) rho += at<R>(a.Q + k * a.ld_Q, t);

    FOR_SPECIES (k, NS) {
        R leaves = R(0.0);
        UNROLL
        for (int d = 0; d < DIMENSIONS; ++d) {
            const int s = a.stride[d];
            R low = larger(-species_flux<R>(a, t, d, k), R(0.0));
            R high = larger(species_flux<R>(a, t + s, d, k), R(0.0));
#if VISCOUS // no more than 1.5 of the point values diffuses, in their direction
            const double *row = viscous_row<R>(a, d, k);
            low += 1.5 * larger(-at<R>(row, t), R(0.0));
            high += 1.5 * larger(at<R>(row, t + s), R(0.0));
#endif
            leaves += net<R>(a, d, t, R(-low), high);
        }

        const R have = at<R>(a.Q + k * a.ld_Q, t) + FLOOR * rho;
        short_of = select(step * leaves <= 0.5 * have, short_of, R(1.0));
    }

    // Pressure and velocity: are the neighbours' near?
    const R p = at<R>(a.Q + CELL_P * a.ld_Q, t);
    const R g = at<R>(a.gamma_c, t);

    UNROLL
    for (int d = 0; d < DIMENSIONS; ++d) {
        const int s = a.stride[d];
        const double *row = a.Q + CELL_P * a.ld_Q, *u = a.Q + (CELL_U + d) * a.ld_Q;
        const R p_l = at<R>(row, t - s);
        const R p_r = at<R>(row, t + s);
        const R jump = larger(fabs(at<R>(u, t + s) - at<R>(u, t)), fabs(at<R>(u, t) - at<R>(u, t - s)));
        const auto quiet =
            smaller(p_l, p_r) >= 0.5 * p && larger(p_l, p_r) <= 2.0 * p && g * rho * square(jump) <= 0.09 * p;
        loud = select(quiet, loud, R(1.0));
        shock = larger(shock, larger(fabs(p_l - p), fabs(p_r - p)));
    }

#if DISSIPATION == 1
    rough = at<R>(a.rough, t);
    put(a.rough, t, R(0.0), count);
#endif

    // Not in a shock: only at one pressure does the molar density of neighbours bound the temperature.
    rough = select(shock <= 0.2 * p, rough, R(0.0));

    const auto calm = !(rough > 0.0 || short_of > 0.0 || loud > 0.0);
    const R asks = select(rough > 0.0, R(ROUGH), R(0.0)) + short_of * SHORT + loud * LOUD;
    put(a.shares + ANY * a.ld_shares, t, select(calm, R(1.0), -asks), count);
    return !calm;
}

// The shares of a cell that `bounds` is not sure of.
template <class R, class Arguments> POINT_FN void shares_of(const Arguments &a, const int t, const int count) {
    const double step = a.scale * a.length[0];
    const R asks = larger(-at<R>(a.shares + ANY * a.ld_shares, t), R(0.0));
    const R loud = select(asks >= LOUD, R(1.0), R(0.0));
    const R others = asks - LOUD * loud;
    const R short_of = select(others >= SHORT, R(1.0), R(0.0));
    const R rough = others - SHORT * short_of;

    R rho = R(0.0), bulk = R(1.0);
    FOR_SPECIES (k, NS) rho += at<R>(a.Q + k * a.ld_Q, t);
    const R least = species_bounds(a, t, count, step, rho, rough, short_of);

    if (any_of(loud > 0.0)) {
        const R p = at<R>(a.Q + CELL_P * a.ld_Q, t);
        const R inverse = 1.0 / (at<R>(a.gamma_c, t) - 1.0);
        bulk = select(loud > 0.0, bulk_bounds(a, t, step, rho, p, inverse), bulk);
    }

    put(a.shares + BULK * a.ld_shares, t, bulk, count);
    put(a.shares + ANY * a.ld_shares, t, select(smaller(least, bulk) < 1.0, R(0.0), R(1.0)), count);
}

// ---- the correction of a face: its fluxes lose the part that its two cells cannot bear

template <class R, class Arguments> POINT_FN auto limit(const Arguments &a, const int d, const int t, const int) {
    const double *any = a.shares + ANY * a.ld_shares;
    return smaller(at<R>(any, t - a.stride[d]), at<R>(any, t)) < 1.0;
}

template <class R, class Arguments>
POINT_FN void take_back(const Arguments &a, const int d, const int t, const int count) {
    const int s = a.stride[d];
    const double *any = a.shares + ANY * a.ld_shares;
    const auto left = at<R>(any, t - s) < 1.0, right = at<R>(any, t) < 1.0;

    const auto share_left = [&](const int row) {
        return select(left, at<R>(a.shares + row * a.ld_shares, t - s), R(1.0));
    };
    const auto share_right = [&](const int row) {
        return select(right, at<R>(a.shares + row * a.ld_shares, t), R(1.0));
    };

    const R bulk = smaller(share_left(BULK), share_right(BULK));
    const Donor<R> f = donor_of<R>(a, t, d);
    const auto here = f.open > 0.5 && (left || right);
    double *flux = flux_of<R>(a, d);

    // The share of all species together, by the bounds of the molar density.
    R moles = R(0.0), mass = R(0.0), energy = R(0.0); // mass, energy: of the corrections
    FOR_SPECIES (k, NS) moles += INV_W[k] * (species_flux<R>(a, t, d, k) - donor_flux(a, t, d, f, k));
    const auto onwards = moles > 0.0;
    const R together = smaller(bulk, smaller(select(onwards, share_left(LOWERS), share_right(LOWERS)),
                                             select(onwards, share_right(RAISES), share_left(RAISES))));

    // Species: together, then each by its own share.
    FOR_SPECIES (k, NS) {
        const R before = species_flux<R>(a, t, d, k);
        const R low = donor_flux(a, t, d, f, k);
        const R diffuses = diffusion<R>(a, t, d, k);
        const R once = select(here && together < 1.0, low + together * (before - low), before);
        const R more = (once - low) + diffuses;
        const R share = select(more > 0.0, share_left(k), share_right(k));
        const R after = select(here && share < 1.0, low + (share * more - diffuses), once);
        mass += after - before;
#if CONSERVATIVE
        const double *eps = a.eps_k + k * a.ld_eps_k;
        energy += (after - before) * (0.5 * (at<R>(eps, t - s) + at<R>(eps, t)));
#endif
        put(flux + k * a.ld_flux_x, t, after, count);
    }

    // Everything towards the first order.
    R change[5] = {R(0.0), R(0.0), R(0.0), R(0.0), R(0.0)}; // momentum, E, A
    if (any_of(bulk < 1.0)) {
        const First<R> first = first_order<R>(a, t, d);
        R carried = mass;
        FOR_SPECIES (k, NS) carried -= at<R>(flux + k * a.ld_flux_x, t); // less the mass before
        mass += (1.0 - bulk) * (-carried - first.mass);
        UNROLL
        for (int c = 0; c < 3; ++c)
            change[c] = (1.0 - bulk) * (first.q.M[c] - at<R>(flux + (FLUX_M + c) * a.ld_flux_x, t));
        change[3] = (1.0 - bulk) * (first.q.E - at<R>(flux + FLUX_E * a.ld_flux_x, t));
        change[4] = (1.0 - bulk) * (first.q.A - at<R>(flux + FLUX_A * a.ld_flux_x, t));
    }

    // Momentum and energy go with the mass of the corrections.
    R squares = R(0.0);
    UNROLL
    for (int c = 0; c < 3; ++c) {
        const double *velocity = a.Q + (CELL_U + c) * a.ld_Q;
        double *to = flux + (FLUX_M + c) * a.ld_flux_x;
        const R u = 0.5 * (at<R>(velocity, t - s) + at<R>(velocity, t));
        const R high = at<R>(to, t);
        squares += u * u;
        put(to, t, select(here, high + (change[c] + mass * u), high), count);
    }

    double *A = flux + FLUX_A * a.ld_flux_x, *E = flux + FLUX_E * a.ld_flux_x;
    const R high = at<R>(E, t);
    const R through = at<R>(A, t);
    put(E, t, select(here, high + (change[3] + 0.5 * squares * mass + energy), high), count);
#if !CONSERVATIVE
    put(A, t, select(here, through + change[4], through), count);
#endif
}
