// What the solver's stencil kernels share. A body works on one cell (or face) of the block, or on a pack of neighbours
// in x. t is the cell's offset in the block; its neighbour in direction d is a.stride[d] further. The rows of an array
// are variables, a.ld_<name> apart.
#pragma once

enum { CELL_U = NS, CELL_P = NS + 3, ROWS_U = NS + 4, FLUX_M = NS, FLUX_A = NS + 3, FLUX_E = NS + 4 };

template <class R> POINT_FN R at(const double *row, const long t) {
    R x;
    load(row + t, x);
    return x;
}

// The last pack of a line is partly full: only `count` values are written.
POINT_FN void put(double *row, const long t, const double x, int) { row[t] = x; }
#ifdef VECTOR_LANES
POINT_FN void put(double *row, const long t, const vec x, const int count) {
    if (count >= VECTOR_LANES) store(row + t, x);
    else
        for (int i = 0; i < count; ++i) row[t + i] = x.v[i];
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
template <class R> POINT_FN R face_flux(const double *row, const long t, const long s) {
    const R here = at<R>(row, t);
    return corrected(here, R((2.0 * here - at<R>(row, t + s) - at<R>(row, t - s)) * (1.0 / 24.0)));
}

// 1/width of cell t in direction d, and 1/spacing at the face on its low side. On a stretched grid they lie in lines of
// numbers along each direction.
#if METRICS
template <class R, class Arguments>
POINT_FN R on_line(const Arguments &a, const double *x, const double *y, const double *z, const int d, const long t) {
    const long k = t / a.stride[2], rest = t - k * a.stride[2], j = rest / a.stride[1];
    if (d == 0) return at<R>(x, rest - j * a.stride[1]);
    return R(d == 1 ? y[j] : z[k]);
}
template <class R, class Arguments> POINT_FN R inv_width(const Arguments &a, const int d, const long t) {
    return on_line<R>(a, a.inv_width_x, a.inv_width_y, a.inv_width_z, d, t);
}
template <class R, class Arguments> POINT_FN R inv_apart(const Arguments &a, const int d, const long t) {
    return on_line<R>(a, a.inv_apart_x, a.inv_apart_y, a.inv_apart_z, d, t);
}
#else
template <class R, class Arguments> POINT_FN double inv_width(const Arguments &a, const int d, const long) {
    return a.inv_dx[d];
}
template <class R, class Arguments> POINT_FN double inv_apart(const Arguments &a, const int d, const long) {
    return a.inv_dx[d];
}
#endif
