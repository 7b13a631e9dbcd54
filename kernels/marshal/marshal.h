// Block -> stripe and back on the CPU. Points are numbered x fastest, then y, then z, within the selected extents.
#pragma once

struct frame_region {
    long extent[3], stride[4], variables, bytes;
};

// Calls line(offset in the block, offset in the stripe, points) for each run of points along x.
template <class Line> static inline void each_line(const frame_region &r, long start, long count, Line line) {
    const long nx = r.extent[0], ny = r.extent[1];
    long x = start % nx, y = start / nx % ny, z = start / (nx * ny);
    for (long at = 0; at < count;) {
        const long run = nx - x < count - at ? nx - x : count - at;
        line(x * r.stride[0] + y * r.stride[1] + z * r.stride[2], at, run);
        at += run;
        x = 0;
        if (++y == ny) y = 0, ++z;
    }
}

// Block and view hold double or float each; where they differ a value is converted on its way.
template <class View, class Element>
static void gather(View *view, long ld, const Element *first, const frame_region &r, long start, long count) {
    for (long v = 0; v < r.variables; ++v)
        each_line(r, start, count, [&](long from, long to, long run) {
            const Element *source = first + v * r.stride[3] + from;
            View *target = view + v * ld + to;
            if (r.stride[0] == 1)
                for (long i = 0; i < run; ++i) target[i] = View(source[i]);
            else
                for (long i = 0; i < run; ++i) target[i] = View(source[i * r.stride[0]]);
        });
}

template <class View, class Element>
static void scatter(const View *view, long ld, Element *first, const frame_region &r, long start, long count) {
    for (long v = 0; v < r.variables; ++v)
        each_line(r, start, count, [&](long from, long to, long run) {
            const View *source = view + v * ld + to;
            Element *target = first + v * r.stride[3] + from;
            if (r.stride[0] == 1)
                for (long i = 0; i < run; ++i) target[i] = Element(source[i]);
            else
                for (long i = 0; i < run; ++i) target[i * r.stride[0]] = Element(source[i]);
        });
}

// view_bytes and region->bytes: of an element, 8 or 4
extern "C" void frame_gather(void *view, long ld, long view_bytes, const void *first, const frame_region *region,
                             long start, long count) {
    if (view_bytes == 8 && region->bytes == 8) gather((double *)view, ld, (const double *)first, *region, start, count);
    else if (view_bytes == 8) gather((double *)view, ld, (const float *)first, *region, start, count);
    else if (region->bytes == 8) gather((float *)view, ld, (const double *)first, *region, start, count);
    else gather((float *)view, ld, (const float *)first, *region, start, count);
}

extern "C" void frame_scatter(const void *view, long ld, long view_bytes, void *first, const frame_region *region,
                              long start, long count) {
    if (view_bytes == 8 && region->bytes == 8)
        scatter((const double *)view, ld, (double *)first, *region, start, count);
    else if (view_bytes == 8) scatter((const double *)view, ld, (float *)first, *region, start, count);
    else if (region->bytes == 8) scatter((const float *)view, ld, (double *)first, *region, start, count);
    else scatter((const float *)view, ld, (float *)first, *region, start, count);
}
