// Copies boxes of values to other boxes: into a fringe from inside the block, from a neighbour's message, from a wall's
// mirror; into a message. One launch copies many boxes of any strides; each value is multiplied by a factor (0: nothing
// is read), and a number is added. Also: what orders messages between devices.
#pragma once
#include "engine/numbers/launch.h"

struct Part {
    const double *from;
    double *to;
    long from_row, to_row, from_stride[3], to_stride[3], cells[3], rows, from_slot, to_slot, start;
    double factor, added;
};

struct Moves {
    Part part[MOST_PARTS];
    long parts, total;
    const long *count; // number of messages so far, or 0: even and odd ones lie in different slots
    long last_decides; // whether a device leaves out the other rows where the last one is 1
};

// n values along a line in any direction
POINT_FN void move_line(const Part &m, const double *from, const long from_step, double *to, const long to_step,
                        const long n) {
    if (m.factor == 1.0) {
        UNROLL_BY(4)
        for (long i = 0; i < n; ++i) to[i * to_step] = from[i * from_step];
    } else {
        for (long i = 0; i < n; ++i)
            to[i * to_step] = (m.factor == 0.0 ? 0.0 : m.factor * from[i * from_step]) + m.added;
    }
}

// Items are the cells of all parts; on a device the blocks of a row of the grid take a row of the values. A CPU goes
// along x, and has no slots.
KERNEL(move_boxes, Moves, 128) {
#ifdef ON_DEVICE
    const long item = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (item >= items) return;
    const long parity = a.count ? *a.count & 1 : 0;
    int p = 0;
    while (p + 1 < a.parts && item >= a.part[p + 1].start) ++p;
    const Part &m = a.part[p];
    const unsigned cell = unsigned(item - m.start);
    const unsigned nx = m.cells[0];
    const unsigned ny = m.cells[1];
    const unsigned row = cell / nx;
    const unsigned x = cell - row * nx;
    const unsigned z = row / ny;
    const unsigned y = row - z * ny;
    const double *from =
        m.from + parity * m.from_slot + (x * m.from_stride[0] + y * m.from_stride[1] + z * m.from_stride[2]);
    double *to = m.to + parity * m.to_slot + (x * m.to_stride[0] + y * m.to_stride[1] + z * m.to_stride[2]);
    const long v = blockIdx.y;
    if (v >= m.rows || (a.last_decides && v + 1 < m.rows && from[(m.rows - 1) * m.from_row] == 1.0)) return;
    move_line(m, from + v * m.from_row, 0, to + v * m.to_row, 0, 1);
#else
    (void)items, (void)threads;
    for (long p = 0; p < record->parts; ++p) {
        const Part &m = record->part[p];
        for (long v = 0; v < m.rows; ++v)
            for (long z = 0; z < m.cells[2]; ++z)
                for (long y = 0; y < m.cells[1]; ++y)
                    move_line(m, m.from + v * m.from_row + y * m.from_stride[1] + z * m.from_stride[2],
                              m.from_stride[0], m.to + v * m.to_row + y * m.to_stride[1] + z * m.to_stride[2],
                              m.to_stride[0], m.cells[0]);
    }
    return 0;
#endif
}

#ifdef ON_DEVICE
// The order of messages between devices. It is queued behind the moves that pack: a neighbour that sees the number can
// rely on what was packed before.
struct Signal {
    volatile long *theirs[2], *mine[2]; // of the low and the high side; 0: no neighbour
    long *count;                        // messages sent
    long *late;                         // after a wait in vain: 1 + side, the number it waited for, the number it saw
    double *alarm;                      // NaN after a wait in vain
    long post, wait, patience;
};

// One thread, one item.
KERNEL(signal_neighbours, Signal, 1) {
    long number = *a.count;
    if (a.post) {
        *a.count = ++number;
        __threadfence_system();
        for (int side = 0; side < 2; ++side)
            if (a.theirs[side]) *a.theirs[side] = number;
    }
    if (a.wait) {
        for (int side = 0; side < 2; ++side)
            if (a.mine[side]) {
                long seen = *a.mine[side];
                for (long looks = 0; seen < number && looks < a.patience && !a.late[0]; ++looks) {
                    __nanosleep(100);
                    seen = *a.mine[side];
                }
                if (seen < number && !a.late[0]) {
                    a.late[1] = number;
                    a.late[2] = seen;
                    a.late[0] = 1 + side;
                    if (a.alarm) *a.alarm = NOT_A_NUMBER;
                }
            }
        __threadfence_system();
    }
}
#endif
