// The sides of the domain: what lies in the fringe beyond them, and what passes through their faces.
// A side has a slab of what its boundaries are given: three layers of the fringe, each `plane` points, the nearest
// first. So kinds and values may change from face to face. a.edge: number along a.direction of the last cell inside;
// a.side: 0 low, 1 high.
#pragma once
#include "stencil.h"

// rows of `given`; sides.py fills them
enum { KIND, VELOCITY, TEMPERATURE = VELOCITY + 3, PRESSURE, SIGMA, INV_LENGTH };
constexpr double WALL = 1, INLET = 2, SUPERSONIC_INLET = 3, OUTLET = 4, SUPERSONIC_OUTLET = 5; // 0: slip wall

struct Beyond {
    long slab, mirror, edge; // where in the slab, and offsets of the mirrored cell and of the last cell inside
};

template <class Arguments> POINT_FN Beyond beyond(const Arguments &a, const long t) {
    const long k = t / a.stride[2], j = (t - k * a.stride[2]) / a.stride[1], i = t - k * a.stride[2] - j * a.stride[1],
               d = a.direction;
    const long ex = a.stride[1], ey = a.stride[2] / a.stride[1], n = d == 0 ? i : d == 1 ? j : k;
    const long layer = a.side ? n - a.edge - 1 : a.edge - 1 - n, mirror = 2 * a.edge + (a.side ? 1 : -1) - n;
    const long at = d == 0 ? j + ey * k : d == 1 ? i + ex * k : i + ex * j;
    return {layer * a.plane + at, t + (mirror - n) * a.stride[d], t + (a.edge - n) * a.stride[d]};
}

// An inlet that lets waves out: sigma is positive. Other inlets hold their velocity.
template <class R, class Arguments> POINT_FN auto yielding(const Arguments &a, const long slab, const R kind) {
    return kind >= INLET && kind <= INLET && at<R>(a.given + SIGMA * a.ld_given, slab) > 0.0;
}

// The fringe from inside: walls mirror it, outlets and inlets copy the last cell. What the equation of state has to
// find then (an inlet's density, a wall's temperature) is collected in the slab.
template <class R, class Arguments> POINT_FN void side_mirror(const Arguments &a, const long t, const int count) {
    const Beyond b = beyond(a, t);
    const R kind = at<R>(a.given + KIND * a.ld_given, b.slab);
    const auto wall = kind <= WALL;
    const auto no_slip = kind >= WALL && wall;
    const auto inlet = kind >= INLET && kind <= SUPERSONIC_INLET;
    const auto held = inlet && !yielding(a, b.slab, kind);

    // all that is read comes before all that is written, as in update.h
    R rho = R(0.0);
    R rho_k[NS];
    R Y[NS];
    R u[3];
    FOR_SPECIES (k, NS) {
        const double *row = a.Q + k * a.ld_Q;
        rho_k[k] = select(wall, at<R>(row, b.mirror), at<R>(row, b.edge));
        Y[k] = at<R>(a.Y_in + k * a.ld_Y_in, b.slab);
        rho += rho_k[k];
    }

    // Velocity: of the wall or the inlet, mirrored, or of the last cell inside.
    UNROLL
    for (int c = 0; c < 3; ++c) {
        const double *row = a.Q + (CELL_U + c) * a.ld_Q;
        const R mirror = at<R>(row, b.mirror);
        const R V = at<R>(a.given + (VELOCITY + c) * a.ld_given, b.slab);
        const R slip = c == a.direction ? -mirror : mirror;
        const R at_wall = select(no_slip, 2.0 * V - mirror, slip);
        const R inside = at<R>(row, b.edge);
        const R given = c == a.direction ? select(held, V, inside) : select(inlet, V, inside);
        u[c] = select(wall, at_wall, given);
    }

    // Pressure.
    const double *row = a.Q + CELL_P * a.ld_Q;
    const auto set = inlet && kind >= SUPERSONIC_INLET;
    const R p = select(wall, at<R>(row, b.mirror),
                       select(set, at<R>(a.given + PRESSURE * a.ld_given, b.slab), at<R>(row, b.edge)));

    // Into the fringe and the slab.
    FOR_SPECIES (k, NS) {
        put(a.Q + k * a.ld_Q, t, rho_k[k], count);
        put(a.slab_rho_k + k * a.ld_slab_rho_k, b.slab, rho_k[k], count);
        put(a.slab_Y + k * a.ld_slab_Y, b.slab, select(inlet, Y[k], rho_k[k] / rho), count);
    }
    UNROLL
    for (int c = 0; c < 3; ++c) put(a.Q + (CELL_U + c) * a.ld_Q, t, u[c], count);
    put(a.Q + CELL_P * a.ld_Q, t, p, count);
    put(a.slab_p, b.slab, p, count);
#if CONSERVATIVE
    double *row_T = a.Q + (CELL_P + 1) * a.ld_Q;
    const R T = select(wall, at<R>(row_T, b.mirror), at<R>(row_T, b.edge));
    put(row_T, t, T, count);
#endif
#if PHASES // T of p and rho_k is known from inside
    put(a.slab_T, b.slab, T, count);
    for (int v = CELL_KAPPA; v < CELL_END; ++v) {
        double *kept = a.Q + v * a.ld_Q;
        put(kept, t, select(wall, at<R>(kept, b.mirror), at<R>(kept, b.edge)), count);
    }
#endif
}

// The temperature beyond: a wall's lies halfway between it and the mirrored cell's, which comes in; an inlet's is
// given, or found from its enthalpy (T 0).
template <class R, class Arguments> POINT_FN void side_temperature(const Arguments &a, const long t, const int count) {
    const Beyond b = beyond(a, t);
    const R kind = at<R>(a.given + KIND * a.ld_given, b.slab);
    const R T = at<R>(a.given + TEMPERATURE * a.ld_given, b.slab);
    const R inside = at<R>(a.slab_T, b.slab);
    const R wall = smaller(larger(2.0 * T - inside, 0.5 * T), 2.0 * T);
    const R found = select(T > 0.0, select(kind <= WALL, wall, T), inside);
    put(a.slab_T, b.slab, select(kind >= INLET && T <= 0.0, at<R>(a.slab_T_h, b.slab), found), count);
}

// The state that was found goes into the fringe of inlets and of walls with a temperature.
template <class R, class Arguments> POINT_FN void side_state(const Arguments &a, const long t, const int count) {
    const Beyond b = beyond(a, t);
    const R kind = at<R>(a.given + KIND * a.ld_given, b.slab);
    const R T = at<R>(a.given + TEMPERATURE * a.ld_given, b.slab);
    const R rho = at<R>(a.slab_rho, b.slab);
    const auto found = (kind >= INLET && kind <= SUPERSONIC_INLET) || (kind >= WALL && kind <= WALL && T > 0.0);
    FOR_SPECIES (k, NS) {
        double *row = a.Q + k * a.ld_Q;
        put(row, t, select(found, at<R>(a.slab_Y + k * a.ld_slab_Y, b.slab) * rho, at<R>(row, t)), count);
    }
#if CONSERVATIVE
    double *row = a.Q + (CELL_P + 1) * a.ld_Q;
    put(row, t, select(found, at<R>(a.slab_T, b.slab), at<R>(row, t)), count);
#endif
#if PHASES
    for (int v = CELL_KAPPA; v < CELL_END; ++v) {
        double *kept = a.Q + v * a.ld_Q;
        const double *state = v < CELL_ETA ? a.slab_ln_kappa + (v - CELL_KAPPA) * a.ld_slab_ln_kappa
                                           : (v < CELL_STATUS ? a.slab_eta : a.slab_phases_status);
        put(kept, t, select(found, at<R>(state, b.slab), at<R>(kept, t)), count);
    }
#endif
}

// One-sided derivative at cell t along the outward normal, second order where the profile is smooth. Its correction to
// the first difference is at most half of that: an interface that arrives must not look as if it left. b: stride
// towards the inside.
template <class R, class Width> POINT_FN R outward(const double *row, const long t, const long b, const Width inv_dx) {
    const R near = at<R>(row, t) - at<R>(row, t + b);
    const R next = at<R>(row, t + b) - at<R>(row, t + 2 * b);
    const R most = 0.5 * fabs(near);
    return (near + larger(smaller(0.5 * (near - next), most), -most)) * inv_dx;
}

// Non-reflecting outlets and inlets: the flux through the face is set so that the cell beside it, `edge`, changes as
// the characteristic relations say (Poinsot & Lele 1992); the incoming sound wave relaxes to an outlet's pressure (Rudy
// & Strikwerda 1980), or to an inlet's normal velocity (Yoo et al. 2005; originals not seen). What comes in with the
// flow is the state beyond an inlet, which has its temperature and composition at the pressure of `edge`; of what comes
// in at an outlet nothing is known. The energy of a real gas changes by p_t/Gruneisen + sum eps_k rho_k,t. Species go
// with the mass, in the proportions of where it comes from, which keeps them positive.
template <class R, class Arguments>
POINT_FN void open_side(const Arguments &a, const long face, const long edge, const long slab, R (&F)[NS + 5]) {
    const int d = a.direction;
    const long s = a.stride[d], b = a.side ? -s : s;
    const double sign = a.side ? 1.0 : -1.0;
    const auto h = inv_width<R>(a, d, edge);

    // The cell's state and its derivatives along the outward normal.
    R rho = R(0.0);
    R rho_n = R(0.0);
    R u[3];
    R slope[3];
    FOR_SPECIES (k, NS) {
        rho += at<R>(a.Q + k * a.ld_Q, edge);
        rho_n += outward<R>(a.Q + k * a.ld_Q, edge, b, h);
    }

    const auto inlet = at<R>(a.given + KIND * a.ld_given, slab) <= INLET;
    const long outer = edge - b;
    R rho_beyond = R(0.0);
    FOR_SPECIES (k, NS) rho_beyond += at<R>(a.Q + k * a.ld_Q, outer);
    UNROLL
    for (int c = 0; c < 3; ++c) {
        u[c] = at<R>(a.Q + (CELL_U + c) * a.ld_Q, edge);
        slope[c] = outward<R>(a.Q + (CELL_U + c) * a.ld_Q, edge, b, h);
    }
    const R p = at<R>(a.Q + CELL_P * a.ld_Q, edge);
    const R p_n = outward<R>(a.Q + CELL_P * a.ld_Q, edge, b, h);
    const R c2 = at<R>(a.gamma_c, edge) * p / rho;
    const R c = sqrt(c2);
    const R un = sign * (d == 0 ? u[0] : d == 1 ? u[1] : u[2]);
    const R u_n = sign * (d == 0 ? slope[0] : d == 1 ? slope[1] : slope[2]);

    // Characteristic waves L1 (sound, inwards), L2 (entropy), L5 (sound, outwards).
    const R mach2 = un * un / c2;
    const R wanted = sign * at<R>(a.given + (VELOCITY + d) * a.ld_given, slab);
    const R off = select(inlet, rho * c * (wanted - un), p - at<R>(a.given + PRESSURE * a.ld_given, slab));
    const R relax = at<R>(a.given + SIGMA * a.ld_given, slab) * (1.0 - mach2) * c * off *
                    at<R>(a.given + INV_LENGTH * a.ld_given, slab);
    const auto leaves = un - c >= 0.0; // supersonic: nothing comes in
    R spread = R(0.0); // around an axis: by what a flow along the radius lowers the pressure as it spreads
#if AXISYMMETRIC
    if (d == 1) spread = rho * c2 * u[1] * (1.0 / radius_of_cell(a, edge));
#endif
    const R L1 = select(leaves, (un - c) * (p_n - rho * c * u_n), relax - spread);
    const R out = larger(un, R(0.0));
    const R in = select(inlet, smaller(un, R(0.0)), R(0.0)) * h;
    const R L5 = (un + c) * (p_n + rho * c * u_n);
    const R L2 = out * (c2 * rho_n - p_n) + in * c2 * (rho_beyond - rho);
    const R d2 = 0.5 * (L5 + L1);
    const R d1 = (L2 + d2) / c2;
    const R d3 = (L5 - L1) / (2.0 * rho * c);

    // rates of the normal direction: rho_k, velocity, pressure
    R kinetic = R(0.0);
    R rate_u[3];
    R energy = -d2;
    UNROLL
    for (int v = 0; v < 3; ++v) {
        const R across = in * (at<R>(a.given + (VELOCITY + v) * a.ld_given, slab) - u[v]);
        rate_u[v] = v == d ? -sign * d3 : -out * slope[v] - across;
    }

    // Fluxes that give these rates, from those of the cell's other face.
    const double *inner = a.flux + (face - (a.side ? s : -s)); // the cell's other face
    const auto width = (a.side ? -1.0 : 1.0) / h;              // F_face = F_inner -+ dx rate
#if CONSERVATIVE
    energy = energy / at<R>(a.gruneisen, edge);
#else
    energy = energy / (at<R>(a.gamma_c, edge) - 1.0);
#endif
    R mass = R(0.0);
    FOR_SPECIES (k, NS) mass += at<R>(inner + k * a.ld_flux, 0);
    mass += width * -d1;
    const auto enters = inlet && (a.side ? mass < 0.0 : mass > 0.0);
    FOR_SPECIES (k, NS) {
        const double *row = a.Q + k * a.ld_Q;
        F[k] = mass * select(enters, at<R>(row, outer) / rho_beyond, at<R>(row, edge) / rho);
#if CONSERVATIVE // the energy goes with the species at the pressure that the relations give
        energy += at<R>(a.eps_k + k * a.ld_eps_k, edge) * ((F[k] - at<R>(inner + k * a.ld_flux, 0)) / width);
#endif
    }
    UNROLL
    for (int v = 0; v < 3; ++v) {
        const R rate = rho * rate_u[v] - u[v] * d1;
        kinetic += u[v] * rate + 0.5 * u[v] * u[v] * d1;
        F[FLUX_M + v] = at<R>(inner + (FLUX_M + v) * a.ld_flux, 0) + width * rate;
    }
    F[FLUX_A] = at<R>(inner + FLUX_A * a.ld_flux, 0);
    F[FLUX_E] = at<R>(inner + FLUX_E * a.ld_flux, 0) + width * (energy + kinetic);
}

// The fluxes through the faces of a side, after the stencils have written them. Walls let only pressure, friction and
// heat pass (where a wall has a temperature, the fringe does not mirror the inside: mass would leak). Through inlets
// and supersonic outlets passes what the state beyond, or the last one inside, carries: exactly what is given enters,
// and no grid-scale wave of the central flux goes through. No species diffuses through a side. `through` gathers what
// has passed, [SI units per m2]: the share of this stage in the step, species, momentum, energy.
template <class R, class Arguments> POINT_FN void side_flux(const Arguments &a, const long t, const int count) {
    const int d = a.direction;
    const long s = a.stride[d], edge = a.side ? t - s : t, outer = a.side ? t : t - s;
    const long slab = beyond(a, outer).slab; // faces lie on the low side of cells t
    const R kind = at<R>(a.given + KIND * a.ld_given, slab);
    const auto wall = kind <= WALL;
    const auto opening = (kind >= OUTLET && kind <= OUTLET) || yielding(a, slab, kind);
    const auto in = kind <= SUPERSONIC_INLET;

    R F[NS + 5], through[NS + 5];
    // carried by the state beyond (inlets) or by the last one inside (supersonic outlets)
    R u[3], rho = R(0.0);
    UNROLL
    for (int c = 0; c < 3; ++c) {
        const double *row = a.Q + (CELL_U + c) * a.ld_Q;
        u[c] = select(in, at<R>(row, outer), at<R>(row, edge));
    }

    const R un = d == 0 ? u[0] : d == 1 ? u[1] : u[2];
    const double *row = a.Q + CELL_P * a.ld_Q;
    const R p = select(in, at<R>(row, outer), at<R>(row, edge));
    FOR_SPECIES (k, NS) {
        const R r = select(in, at<R>(a.Q + k * a.ld_Q, outer), at<R>(a.Q + k * a.ld_Q, edge));
        rho += r;
        F[k] = select(wall, R(0.0), r * un);
    }

    UNROLL
    for (int c = 0; c < 3; ++c) {
        const R pressed = c == d ? at<R>(a.flux + (FLUX_M + c) * a.ld_flux, t) : R(0.0);
        F[FLUX_M + c] = select(wall, pressed, rho * un * u[c] + (c == d ? p : R(0.0)));
    }
    F[FLUX_A] = select(wall, R(0.0), p * un);
    R energy = (0.5 * rho * (u[0] * u[0] + u[1] * u[1] + u[2] * u[2]) + p) * un;
#if CONSERVATIVE
    energy += select(in, at<R>(a.e_vol, outer), at<R>(a.e_vol, edge)) * un;
#endif
    F[FLUX_E] = select(wall, R(0.0), energy);

    // Non-reflecting boundaries.
    if (any_of(opening)) {
        open_side(a, t, edge, slab, through);
        FOR_SPECIES (v, NS + 5) F[v] = select(opening, through[v], F[v]);
    }

    // What passes, with the energy of the side from which it comes.
    R passes[NS + 4], passed[NS + 4]; // all that is read comes before all that is written, as in update.h
    FOR_SPECIES (v, NS + 3) passes[v] = F[v];
    passes[NS + 3] = F[FLUX_E];
#if !CONSERVATIVE
    R mass = R(0.0), density = R(0.0);
    FOR_SPECIES (k, NS) mass += F[k];
    const auto enters = a.side ? mass < 0.0 : mass > 0.0;
    FOR_SPECIES (k, NS) density += select(enters, at<R>(a.Q + k * a.ld_Q, outer), at<R>(a.Q + k * a.ld_Q, edge));
    passes[NS + 3] += mass * select(enters, at<R>(a.e_vol, outer), at<R>(a.e_vol, edge)) / density;
#endif
    FOR_SPECIES (v, NS + 4) passed[v] = at<R>(a.through + v * a.ld_through, slab);

#if VISCOUS
    const long inwards = a.side ? -s : s;
    R opposite[NS];
    FOR_SPECIES (v, NS + 4) {
        const double *G = a.viscous_flux + v * a.ld_viscous_flux;
        if (v < NS) opposite[v] = at<R>(G, t + inwards);
        else passes[v] += face_flux<R>(G, t, s);
    }
    FOR_SPECIES (k, NS) { // their divergence takes one face beyond the side, too
        double *G = a.viscous_flux + k * a.ld_viscous_flux;
        put(G, t, R(0.0), count);
        put(G, t - inwards, -opposite[k], count);
    }
#endif

    FOR_SPECIES (v, NS + 5) put(a.flux + v * a.ld_flux, t, F[v], count);
    if (a.asks) put(a.asks, edge, R(-1.0), count); // nobody has looked at these fluxes
    FOR_SPECIES (v, NS + 4)
        put(a.through + v * a.ld_through, slab, passed[v] + (a.share * a.length[0]) * passes[v], count);
}
