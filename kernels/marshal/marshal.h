// Block -> stripe and back on the CPU. Points are numbered x fastest, then y, then z, within the selected extents.
#pragma once
#include <string.h>

struct frame_region { long extent[3], stride[4], variables; };

// Calls line(offset in the block, offset in the stripe, points) for each run of points along x.
template <class Line> static inline void each_line(const frame_region &r, long start, long count, Line line)
{
    const long nx = r.extent[0], ny = r.extent[1];
    long x = start % nx, y = start/nx % ny, z = start/(nx*ny);
    for (long at = 0; at < count;) {
        const long run = nx - x < count - at ? nx - x : count - at;
        line(x*r.stride[0] + y*r.stride[1] + z*r.stride[2], at, run);
        at += run;
        x = 0;
        if (++y == ny) y = 0, ++z;
    }
}

extern "C" void frame_gather(double *view, long ld, const double *first, const frame_region *region, long start, long count)
{
    const frame_region &r = *region;
    for (long v = 0; v < r.variables; ++v)
        each_line(r, start, count, [&](long from, long to, long run) {
            const double *source = first + v*r.stride[3] + from;
            double *target = view + v*ld + to;
            if (r.stride[0] == 1) memcpy(target, source, run*sizeof(double));
            else for (long i = 0; i < run; ++i) target[i] = source[i*r.stride[0]];
        });
}

extern "C" void frame_scatter(const double *view, long ld, double *first, const frame_region *region, long start, long count)
{
    const frame_region &r = *region;
    for (long v = 0; v < r.variables; ++v)
        each_line(r, start, count, [&](long from, long to, long run) {
            const double *source = view + v*ld + to;
            double *target = first + v*r.stride[3] + from;
            if (r.stride[0] == 1) memcpy(target, source, run*sizeof(double));
            else for (long i = 0; i < run; ++i) target[i*r.stride[0]] = source[i];
        });
}
