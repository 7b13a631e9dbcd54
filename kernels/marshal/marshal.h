// Block -> stripe and back. Points are numbered x fastest, then y, then z, within the selected extents.
#pragma once
#include "numbers/launch.h"

// Strides are in elements of the block, ld in elements of the view; `block` points at the first selected element.
struct Stripe {
    void *block, *view;
    long ld, start, variables, nx, ny, sx, sy, sz, sv;
};

// line(offset in the block, offset in the stripe, points) for each run of points along x; on a device a thread has one
template <class Line> POINT_FN void each_line(const Stripe &r, long start, long count, const Line &line) {
    const long row = start / r.nx, plane = row / r.ny;
#ifdef ON_DEVICE
    return line((start - row * r.nx) * r.sx + (row - plane * r.ny) * r.sy + plane * r.sz, 0, Constant<1>());
#endif
    long x = start - row * r.nx, y = row - plane * r.ny, z = plane;
    for (long at = 0; at < count;) {
        const long run = r.nx - x < count - at ? r.nx - x : count - at;
        line(x * r.sx + y * r.sy + z * r.sz, at, run);
        at += run;
        x = 0;
        if (++y == r.ny) y = 0, ++z;
    }
}

// A variable a row; what is no variable of this row is another one's. The view's type is Inner, the block's Outer.
template <class Inner, class Outer, class Copy>
POINT_FN void move_stripe(const Stripe &r, long first, long count, long row, long rows, const Copy &copy) {
    for (long v = row; v < r.variables; v += rows)
        each_line(r, r.start + first, count, [&](long from, long to, auto run) {
            copy((Inner *)r.view + v * r.ld + first + to, (Outer *)r.block + v * r.sv + from, run);
        });
}

// Block and view hold double or float each; where they differ a value is converted on its way.
template <class Inner, class Outer> POINT_FN void gather(const Stripe &r, long first, long count, long row, long rows) {
    move_stripe<Inner, Outer>(r, first, count, row, rows, [&](Inner *view, const Outer *block, auto run) {
        if (r.sx == 1)
            for (long i = 0; i < run; ++i) view[i] = Inner(block[i]);
        else
            for (long i = 0; i < run; ++i) view[i] = Inner(block[i * r.sx]);
    });
}

template <class Inner, class Outer>
POINT_FN void scatter(const Stripe &r, long first, long count, long row, long rows) {
    move_stripe<Inner, Outer>(r, first, count, row, rows, [&](const Inner *view, Outer *block, auto run) {
        if (r.sx == 1)
            for (long i = 0; i < run; ++i) block[i] = Outer(view[i]);
        else
            for (long i = 0; i < run; ++i) block[i * r.sx] = Outer(view[i]);
    });
}

// Named by the bytes of an element: of the block's, then of the view's.
RANGE_KERNEL(gather_8_8, Stripe, 256, (gather<double, double>))
RANGE_KERNEL(gather_8_4, Stripe, 256, (gather<float, double>))
RANGE_KERNEL(gather_4_8, Stripe, 256, (gather<double, float>))
RANGE_KERNEL(gather_4_4, Stripe, 256, (gather<float, float>))
RANGE_KERNEL(scatter_8_8, Stripe, 256, (scatter<double, double>))
RANGE_KERNEL(scatter_8_4, Stripe, 256, (scatter<float, double>))
RANGE_KERNEL(scatter_4_8, Stripe, 256, (scatter<double, float>))
RANGE_KERNEL(scatter_4_4, Stripe, 256, (scatter<float, float>))
