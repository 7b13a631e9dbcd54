// What the solver's stencil kernels share. A body works on one cell (or face) of the block, or on a pack of neighbours
// in x. t is the cell's offset in the block; its neighbour in direction d is a.stride[d] further. The rows of an array
// are variables, a.ld_<name> apart.
#pragma once

constexpr double FLOOR = 1e-15 / NS; // of Y: what rounding leaves of a species that is not there is let alone
enum { CELL_U = NS, CELL_P = NS + 3, ROWS_U = NS + 4, FLUX_M = NS, FLUX_A = NS + 3, FLUX_E = NS + 4 };
// Rows behind p in the conservative form: T, and with phases in equilibrium ln_kappa of each species, eta and
// phases_status, from which the next search for the state starts.
#if PHASES
enum { CELL_KAPPA = NS + 5, CELL_ETA = CELL_KAPPA + NS, CELL_STATUS, CELL_END };
#else
enum { CELL_END = NS + 5 };
#endif

// ONLY_READ: no kernel of this source writes what it reads with `at`. A device's compiler may then move such a load
// ahead of a store, which it cannot tell apart from it otherwise.
template <class R> POINT_FN R at(const double *row, const int t) {
#if ONLY_READ && defined(ON_DEVICE)
    return R(__ldg(row + t));
#else
    R x;
    load(row + t, x);
    return x;
#endif
}

// Both conditions, without a branch that would make a device wait for the first before it loads what the second needs.
#ifdef ON_DEVICE
POINT_FN bool both(const bool a, const bool b) { return a & b; }
#else
template <class Mask> POINT_FN Mask both(const Mask a, const Mask b) { return a && b; }
#endif

// Convective fluxes through the faces normal to direction d.
template <class R, class Arguments> POINT_FN double *flux_of(const Arguments &a, const int d) {
    return d == 0 ? a.flux_x : d == 1 ? a.flux_y : a.flux_z;
}

// The last pack of a line is partly full: only `count` values are written.
POINT_FN void put(double *row, const int t, const double x, int) { row[t] = x; }
#ifdef ON_DEVICE
POINT_FN void put(double *row, const int t, const point x, int) { row[t] = x.v; }
#endif
#ifdef VECTOR_LANES
POINT_FN void put(double *row, const int t, const vec x, const int count) {
    if (count >= VECTOR_LANES) store(row + t, x);
    else
        for (int i = 0; i < count; ++i) row[t + i] = x.v[i];
}
#endif

// Writes a number to the cells on both sides of a face. Other faces of theirs may do so at the same time.
POINT_FN void mark(double *row, const double x, const int t, const int s, const bool which, int) {
    if (which) row[t - s] = row[t] = x;
}
#ifdef VECTOR_LANES
POINT_FN void mark(double *row, const double x, const int t, const int s, const vmask which, const int count) {
    if (!any_of(which)) return;
    const vec lanes = select(which, vec(1.0), vec(0.0));
    for (int i = 0; i < count; ++i)
        if (lanes.v[i] != 0.0) row[t - s + i] = row[t + i] = x;
}
#endif

// A fourth-order correction of a second-order value, no more than half of that: at the foot of a front the whole one
// would drive heat from cold to hot.
template <class R> POINT_FN R corrected(const R value, const R correction) {
    const R most = 0.5 * fabs(value);
    return value + larger(smaller(correction, most), -most);
}
// q[1] and q[2] lie beside the face: the value there to fourth order, and the normal derivative times the spacing
template <class R> POINT_FN R face_mean(const R (&q)[4]) {
    return (9.0 * (q[1] + q[2]) - (q[0] + q[3])) * (1.0 / 16.0);
}
// of what is positive and has to stay so
template <class R> POINT_FN R face_mean_positive(const R (&q)[4]) {
    const R mean = 0.5 * (q[1] + q[2]);
    return corrected(mean, R((2.0 * mean - (q[0] + q[3])) * (1.0 / 16.0)));
}
template <class R> POINT_FN R face_slope(const R (&q)[4]) {
    const R near = q[2] - q[1];
    return corrected(near, R((3.0 * near - (q[3] - q[0])) * (1.0 / 24.0)));
}
// A viscous flux at the face on the low side of cell t, from point values at the faces: differences of it are the
// fourth-order divergence.
template <class R> POINT_FN R face_flux(const double *row, const int t, const int s) {
    const R here = at<R>(row, t);
    return corrected(here, R((2.0 * here - at<R>(row, t + s) - at<R>(row, t - s)) * (1.0 / 24.0)));
}

// 1/width of cell t in direction d, and 1/spacing at the face on its low side. On a stretched grid they lie in lines of
// numbers along each direction.
#if METRICS
template <class R, class Arguments>
POINT_FN R on_line(const Arguments &a, const double *x, const double *y, const double *z, const int d, const int t) {
    const int k = t / a.stride[2];
    const int rest = t - k * a.stride[2];
    const int j = rest / a.stride[1];
    if (d == 0) return at<R>(x, rest - j * a.stride[1]);
    return R(d == 1 ? y[j] : z[k]);
}
template <class R, class Arguments> POINT_FN R inv_width(const Arguments &a, const int d, const int t) {
    return on_line<R>(a, a.inv_width_x, a.inv_width_y, a.inv_width_z, d, t);
}
template <class R, class Arguments> POINT_FN R inv_apart(const Arguments &a, const int d, const int t) {
    return on_line<R>(a, a.inv_apart_x, a.inv_apart_y, a.inv_apart_z, d, t);
}
#else
template <class R, class Arguments> POINT_FN double inv_width(const Arguments &a, const int d, const int) {
    return a.inv_dx[d];
}
template <class R, class Arguments> POINT_FN double inv_apart(const Arguments &a, const int d, const int) {
    return a.inv_dx[d];
}
#endif

// Around an axis y = 0, y is a radius: of the face on the low side of cell t, of the centre; a cell's ring is half the
// difference of the squares of its faces' radii.
#if AXISYMMETRIC
template <class Arguments> POINT_FN double radius_of_face(const Arguments &a, const int t) {
    return a.radius_y[t / a.stride[1]];
}
template <class Arguments> POINT_FN double radius_of_cell(const Arguments &a, const int t) {
    return a.centre_y[t / a.stride[1]];
}
template <class Arguments> POINT_FN double inv_ring(const Arguments &a, const int t) {
    return a.inv_ring_y[t / a.stride[1]];
}
// The pressure that pushes the sides of a ring outwards: the mean of what the central flux has at its two faces, while
// it hardly differs from the cell's own, with which a cell at low pressure keeps its pressure.
template <class R, class Arguments> POINT_FN R outward_push(const Arguments &a, const int t) {
    const double *p = a.Q + CELL_P * a.ld_Q;
    const int s = a.stride[1];
    const R here = at<R>(p, t);
    const R more = ((at<R>(p, t + s) - here) + (at<R>(p, t - s) - here)) * (1.0 / 12.0);
    return here + select(fabs(more) <= 0.02 * here, more, R(0.0));
}
#endif

// Area of a face of cell t, low or high (side 0, 1), over its volume.
template <class R, class Arguments>
POINT_FN auto area_over_volume(const Arguments &a, const int d, const int t, const int side) {
#if AXISYMMETRIC
    if (d == 1) return R(radius_of_face(a, t + side * a.stride[1]) * inv_ring(a, t));
#endif
    (void)side;
    return inv_width<R>(a, d, t);
}

// What leaves cell t through its two faces in direction d, by their fluxes, over its volume.
template <class R, class Arguments>
POINT_FN R net(const Arguments &a, const int d, const int t, const R low, const R high) {
#if AXISYMMETRIC
    if (d == 1) return (high * radius_of_face(a, t + a.stride[1]) - low * radius_of_face(a, t)) * inv_ring(a, t);
#endif
    return (high - low) * inv_width<R>(a, d, t);
}
