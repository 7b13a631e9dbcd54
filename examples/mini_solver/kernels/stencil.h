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

// q[1] and q[2] lie beside the face: the value there to fourth order, and the normal derivative times the spacing
template <class R> POINT_FN R face_mean(const R (&q)[4]) {
    return (9.0 * (q[1] + q[2]) - (q[0] + q[3])) * (1.0 / 16.0);
}
template <class R> POINT_FN R face_slope(const R (&q)[4]) {
    return (27.0 * (q[2] - q[1]) - (q[3] - q[0])) * (1.0 / 24.0);
}
