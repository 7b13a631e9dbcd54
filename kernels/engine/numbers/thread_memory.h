// Where a CUDA thread's points lie: in a box of an array, in rows of memory, in columns of shared memory; and the
// stores and copies between them. The numbers are those of thread.h.
#pragma once

// Where point number p lies in the arrays of a launch, from their first element on: at p; or, BOXED, in a box of nx by
// ny by any number of points of larger arrays. Such a launch has fewer than 2^31 points.
struct Box {
#ifdef BOXED
    long nx, ny, sx, sy, sz;
    POINT_FN long at(long p) const {
        const unsigned row = unsigned(p) / unsigned(nx);
        const unsigned z = row / unsigned(ny);
        return (unsigned(p) - row * unsigned(nx)) * sx + (row - z * unsigned(ny)) * sy + z * sz;
    }
#else
    POINT_FN long at(long p) const { return p; }
#endif
};

// Where a thread's point lies. A thread beyond the last point works on the last point and stores nothing. So every warp
// keeps its 32 active threads.
struct Place {
    const long own, n;
    const Box &box;
    bool in;
    long at;

    // first: the first point of the block; points below 0 are as those beyond the last
    POINT_FN Place(long first, long n, const Box &box) : own(first + threadIdx.x), n(n), box(box) {
        in = is_point(own);
        at = box.at(in ? own : n - 1);
    }
    POINT_FN bool is_point(long p) const { return (unsigned long)p < (unsigned long)n; }

    // the point of another thread of the warp
    POINT_FN long of_lane(int lane) const { return own - (int)(threadIdx.x & 31) + lane; }
};

// A store under a condition, as one instruction without a branch.
#ifdef FRAME_STAND_IN
static inline void store_if(bool wanted, outside *to, outside x) {
    if (wanted) *to = x;
}
#else
POINT_FN void store_if(bool wanted, double *to, double x) {
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %0, 0; @p st.global.f64 [%1], %2; }" ::"r"((int)wanted), "l"(to),
                 "d"(x)
                 : "memory");
}

POINT_FN void store_if(bool wanted, float *to, float x) {
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %0, 0; @p st.global.f32 [%1], %2; }" ::"r"((int)wanted), "l"(to),
                 "f"(x)
                 : "memory");
}
#endif

// The rows of an array in memory: row s from its point `at` on is of(s, at). With ROWS_APART they lie anywhere, and
// every row begins `first` numbers behind its address.
#ifdef ROWS_APART
struct RowsInMemory {
    outside *const *row;
    long first;
    POINT_FN outside *of(int s, long at) const { return row[s] + (first + at); }
    POINT_FN RowsInMemory from(long at) const { return {row, first + at}; }
};
#else
struct RowsInMemory {
    outside *base;
    long stride;
    POINT_FN outside *of(int s, long at) const { return base + (s * stride + at); }
    POINT_FN RowsInMemory from(long at) const { return {base + at, stride}; }
};
#endif

// Species values at the point of another thread of the warp: in memory, in a column of shared memory.
struct OtherPoint {
    RowsInMemory rows;
    POINT_FN double operator[](int s) const { return *rows.of(s, 0); }
};

struct OtherColumn {
    const outside *base;
    POINT_FN double operator[](int s) const { return base[s * long(COLUMN_STRIDE)]; }
};

struct OtherResult {
    RowsInMemory rows;
    bool in;
    POINT_FN void set(int s, double x, bool known = true) const { store_if(in && known, rows.of(s, 0), outside(x)); }
};

constexpr unsigned WARP = 0xffffffffu;

// A copy from device to shared memory that does not pass through registers. All copies of a thread are under way at
// once.
#ifdef FRAME_STAND_IN
template <class T> static inline void copy_async(T *to, const T *from) { *to = *from; }
static inline void copies_done() {}
#else
template <class T> POINT_FN void copy_async(T *to, const T *from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from),
                 "n"(sizeof(T))
                 : "memory");
}

POINT_FN void copies_done() { asm volatile("cp.async.wait_all;" ::: "memory"); }
#endif

// An array (count, points) at a thread's point. GIVEN: no kernel writes to it, so it may be read through the read-only
// cache.
template <bool GIVEN = false> struct Field {
    RowsInMemory rows;
    const Place &place;
    POINT_FN outside *at(int s) const { return rows.of(s, place.at); }
    POINT_FN point operator[](int s) const {
        if constexpr (GIVEN) return of(__ldg(at(s)));
        else return of(*at(s));
    }
    POINT_FN void set(int s, point x) const { store_if(place.in, at(s), outside(x.v)); }
    POINT_FN OtherPoint of_lane(int lane) const {
        const long t = place.of_lane(lane);
        return {rows.from(place.box.at(place.is_point(t) ? t : place.n - 1))};
    }
    POINT_FN OtherResult to_lane(int lane) const {
        const long t = place.of_lane(lane);
        return {rows.from(place.box.at(t)), place.is_point(t)};
    }
};

// Species values of a thread's point in shared memory. Each thread has its own column.
struct Column {
    outside *base;
    POINT_FN point operator[](int s) const { return of(base[s * COLUMN_STRIDE]); }
    template <bool GIVEN> POINT_FN void copy(int s, const Field<GIVEN> &from) const {
        copy_async(base + s * COLUMN_STRIDE, from.at(s));
    }
    POINT_FN OtherColumn of_lane(int lane) const { return {base - (int)(threadIdx.x & 31) + lane}; }
};
