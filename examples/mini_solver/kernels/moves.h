// Boxes of values to other boxes: the cells of a fringe from inside the block, from a neighbour's message, from a
// wall's mirror; packing and unpacking of messages. Many in one launch, any strides, each value times a factor (0:
// nothing is read) plus a number. Also: the largest value of each row, and what orders messages between devices.

struct Part {
    const double *from;
    double *to;
    long from_row, to_row, from_stride[3], to_stride[3], cells[3], rows, from_slot, to_slot, start;
    double factor, added;
};

struct Moves {
    Part part[MOST_PARTS];
    long parts, total;
    const long *count; // messages so far: even and odd ones lie in different slots
};

POINT_FN void move(const Part &m, const long parity, const unsigned cell) {
    const unsigned nx = m.cells[0], ny = m.cells[1], row = cell / nx, x = cell - row * nx, z = row / ny,
                   y = row - z * ny;
    const double *from =
        m.from + parity * m.from_slot + (x * m.from_stride[0] + y * m.from_stride[1] + z * m.from_stride[2]);
    double *to = m.to + parity * m.to_slot + (x * m.to_stride[0] + y * m.to_stride[1] + z * m.to_stride[2]);
    if (m.factor == 1.0) {
#pragma unroll 4
        for (long v = 0; v < m.rows; ++v) to[v * m.to_row] = from[v * m.from_row];
    } else {
        for (long v = 0; v < m.rows; ++v)
            to[v * m.to_row] = (m.factor == 0.0 ? 0.0 : m.factor * from[v * m.from_row]) + m.added;
    }
}

// A NaN has to win, and the order of threads must not matter: bits of positive doubles are ordered as the doubles are,
// NaN above.
POINT_FN unsigned long long bits_of(const double x) {
    union {
        double value;
        unsigned long long bits;
    } u = {x};
    return u.bits & 0x7fffffffffffffffULL;
}

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
extern "C" __global__ void __launch_bounds__(128) move_boxes(Moves m) {
    const long cell = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (cell >= m.total) return;
    const long parity = m.count ? *m.count & 1 : 0;
    int p = 0;
    while (p + 1 < m.parts && cell >= m.part[p + 1].start) ++p;
    move(m.part[p], parity, unsigned(cell - m.part[p].start));
}

// Largest magnitude of each row (blockIdx.y) into out, which holds zeros or what others found.
extern "C" __global__ void __launch_bounds__(256)
    largest(const double *values, long ld, long n, unsigned long long *out) {
    unsigned long long most = 0;
    for (long t = blockIdx.x * (long)blockDim.x + threadIdx.x; t < n; t += gridDim.x * (long)blockDim.x) {
        const unsigned long long here = bits_of(values[blockIdx.y * ld + t]);
        most = here > most ? here : most;
    }
    for (int lane = 16; lane; lane >>= 1) {
        const unsigned long long other = __shfl_xor_sync(0xffffffffu, most, lane);
        most = other > most ? other : most;
    }
    if ((threadIdx.x & 31) == 0) atomicMax(out + blockIdx.y, most);
}

// Order of messages between devices, in the stream of the moves: what was packed before is there once a neighbour sees
// its number.
struct Signal {
    volatile long *theirs[2], *mine[2]; // of the low and the high side; 0: no neighbour
    long *count, *late;                 // messages sent; which side waited in vain, for which number, and what it saw
    double *alarm;                      // NaN then
    long post, wait, patience;
};

extern "C" __global__ void signal_neighbours(Signal s) {
    long number = *s.count;
    if (s.post) {
        *s.count = ++number;
        __threadfence_system();
        for (int side = 0; side < 2; ++side)
            if (s.theirs[side]) *s.theirs[side] = number;
    }
    if (s.wait) {
        for (int side = 0; side < 2; ++side)
            if (s.mine[side]) {
                long seen = *s.mine[side];
                for (long looks = 0; seen < number && looks < s.patience && !s.late[0]; ++looks) {
                    __nanosleep(100);
                    seen = *s.mine[side];
                }
                if (seen < number && !s.late[0]) {
                    s.late[1] = number, s.late[2] = seen, s.late[0] = 1 + side;
                    if (s.alarm) *s.alarm = NOT_A_NUMBER;
                }
            }
        __threadfence_system();
    }
}
#else
extern "C" void move_boxes(const Moves *moves) {
    for (long p = 0; p < moves->parts; ++p) {
        const Part &m = moves->part[p];
        for (long v = 0; v < m.rows; ++v)
            for (long z = 0; z < m.cells[2]; ++z)
                for (long y = 0; y < m.cells[1]; ++y) {
                    const double *from = m.from + v * m.from_row + y * m.from_stride[1] + z * m.from_stride[2];
                    double *to = m.to + v * m.to_row + y * m.to_stride[1] + z * m.to_stride[2];
                    if (m.factor == 1.0)
                        for (long x = 0; x < m.cells[0]; ++x) to[x * m.to_stride[0]] = from[x * m.from_stride[0]];
                    else
                        for (long x = 0; x < m.cells[0]; ++x)
                            to[x * m.to_stride[0]] =
                                (m.factor == 0.0 ? 0.0 : m.factor * from[x * m.from_stride[0]]) + m.added;
                }
    }
}

extern "C" void largest(const double *values, long ld, long n, long rows, unsigned long long *out) {
    for (long v = 0; v < rows; ++v)
        for (long t = 0; t < n; ++t) {
            const unsigned long long here = bits_of(values[v * ld + t]);
            out[v] = here > out[v] ? here : out[v];
        }
}
#endif
