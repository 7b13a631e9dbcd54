// A crew: the CREW warps of a block share 32 LANE_POINTS points. Each warp has all of these points: lane i has point i
// and every 32nd after it, as one number type, so that indices, branches and table entries serve several points. Each
// warp writes the results of the species that it owns (FOR_OWN). All warps have the same scalars.
#pragma once
#define FOR_OWN(s, count) \
    UNROLL \
    for (int turn = 0, rank = crew_rank(); turn < ((count) + CREW - 1) / CREW; ++turn) \
        if (const int s = CREW * turn + rank; s < (count))
#define COEFFICIENTS __constant__
#define EXP_IN_TWO_SUMS true
#include "engine/numbers/thread.h"

// A number of each point of a lane
struct several {
    scalar v[LANE_POINTS];
    POINT_FN several() {}
    POINT_FN several(double s) {
        UNROLL
        for (int i = 0; i < LANE_POINTS; ++i) v[i] = scalar(s);
    }
};

struct choices {
    bool v[LANE_POINTS];
};

template <class F> POINT_FN several each_point(const F &f) {
    several r;
    UNROLL
    for (int i = 0; i < LANE_POINTS; ++i) r.v[i] = f(i).v;
    return r;
}

template <class F> POINT_FN choices each_choice(const F &f) {
    choices r;
    UNROLL
    for (int i = 0; i < LANE_POINTS; ++i) r.v[i] = f(i);
    return r;
}

// clang-format off
#define UNARY(f) \
    POINT_FN several f(several x) { return each_point([&](int i) { return f(of(x.v[i])); }); }
UNARY(operator-) UNARY(exp) UNARY(log) UNARY(sqrt) UNARY(fabs) UNARY(expm1) UNARY(cbrt) UNARY(inverse_root)
UNARY(two_thirds_start) UNARY(inverse_root_start)
#undef UNARY
#define TWO(f) \
    POINT_FN several f(several x, several y) { return each_point([&](int i) { return f(of(x.v[i]), of(y.v[i])); }); }
TWO(larger) TWO(smaller) TWO(flipped) TWO(rough_quotient)
#undef TWO
#define BINARY(op) \
    POINT_FN several operator op(several x, several y) { return each_point([&](int i) { return of(x.v[i]) op of(y.v[i]); }); } \
    POINT_FN several operator op(several x, double c) { return each_point([&](int i) { return of(x.v[i]) op c; }); } \
    POINT_FN several operator op(double c, several y) { return each_point([&](int i) { return c op of(y.v[i]); }); }
BINARY(+) BINARY(-) BINARY(*) BINARY(/)
#undef BINARY
#define COMPARE(op) \
    POINT_FN choices operator op(several x, several y) { return each_choice([&](int i) { return x.v[i] op y.v[i]; }); } \
    POINT_FN choices operator op(several x, double b) { return each_choice([&](int i) { return x.v[i] op scalar(b); }); }
COMPARE(<) COMPARE(>) COMPARE(<=) COMPARE(>=)
#undef COMPARE
// clang-format on
template <> struct number<several> {
    static constexpr int lanes = 1;
    static constexpr bool wide = false;
    typedef scalar stored;
    typedef narrow_point narrow;
    typedef Line index;
};

POINT_FN several exp_within(several x) { // -708 <= x <= 709
    return each_point([&](int i) { return of(exponential_within(x.v[i])); });
}

POINT_FN several &operator+=(several &x, several y) { return x = x + y; }
POINT_FN several &operator-=(several &x, several y) { return x = x - y; }
POINT_FN several &operator*=(several &x, several y) { return x = x * y; }
POINT_FN choices operator&&(choices a, choices b) {
    return each_choice([&](int i) { return a.v[i] && b.v[i]; });
}

POINT_FN choices operator||(choices a, choices b) {
    return each_choice([&](int i) { return a.v[i] || b.v[i]; });
}

POINT_FN several select(choices c, several yes, several no) {
    return each_point([&](int i) { return select(c.v[i], of(yes.v[i]), of(no.v[i])); });
}

// All points of the warp decide: the lanes stay together, since they meet the other warps at barriers.
POINT_FN bool all_of(choices c) {
    bool all = true;
    UNROLL
    for (int i = 0; i < LANE_POINTS; ++i) all &= c.v[i];
    return __all_sync(WARP, all);
}

POINT_FN bool any_of(choices c) {
    bool any = false;
    UNROLL
    for (int i = 0; i < LANE_POINTS; ++i) any |= c.v[i];
    return !__all_sync(WARP, !any);
}

// The number of the warp. The compiler sees that it is the same for all lanes and, if CREW is a power of 2, below CREW.
POINT_FN int crew_rank() {
    const int rank = __shfl_sync(WARP, (int)threadIdx.x >> 5, 0);
    return CREW & (CREW - 1) ? rank : rank & (CREW - 1);
}

POINT_FN void crew_barrier() { __syncthreads(); }

// Values of the species that a warp owns, in registers
template <int N> struct Owned {
    several value[(N + CREW - 1) / CREW];
    POINT_FN several operator[](int s) const { return value[s / CREW]; }
    POINT_FN void set(int s, several x) { value[s / CREW] = x; }
};

// Where a lane's points lie. A lane beyond the last point works on the last point and stores nothing.
struct CrewPlace {
    bool in[LANE_POINTS];
    long at[LANE_POINTS];
    POINT_FN CrewPlace(const long first, const long n, const Box &box) {
        UNROLL
        for (int i = 0; i < LANE_POINTS; ++i) {
            const long own = first + 32 * i + (threadIdx.x & 31);
            in[i] = own < n;
            at[i] = box.at(in[i] ? own : n - 1);
        }
    }
};

template <bool GIVEN = false> struct CrewField {
    RowsInMemory rows;
    const CrewPlace &place;
    POINT_FN several operator[](int s) const {
        return each_point([&](int i) {
            const outside *const at = rows.of(s, place.at[i]);
            if constexpr (GIVEN) return of(__ldg(at));
            else return of(*at);
        });
    }
    POINT_FN void set(int s, several x) const {
        UNROLL
        for (int i = 0; i < LANE_POINTS; ++i) store_if(place.in[i], rows.of(s, place.at[i]), outside(x.v[i]));
    }
};

// Rows of shared memory, with a number for each point. The numbers of a lane lie side by side: two are one access.
struct alignas(LANE_POINTS % 2 ? 8 : 16) OfLane {
    double v[LANE_POINTS];
};

// A row's address has 32 bits; bits beyond are dropped. So bits of a row from the 24th may mean something else.
struct CrewMemory {
    unsigned own;
    POINT_FN OfLane *at(unsigned row) const {
        extern __shared__ double shared_memory[];
        return (OfLane *)((char *)shared_memory + (own + unsigned(32 * sizeof(OfLane)) * row));
    }
    POINT_FN several operator[](unsigned row) const {
        const OfLane x = *at(row);
        return each_point([&](int i) { return of(x.v[i]); });
    }
    POINT_FN void set(unsigned row, several x) const {
        OfLane y;
        UNROLL
        for (int i = 0; i < LANE_POINTS; ++i) y.v[i] = x.v[i];
        *at(row) = y;
    }
};

// The memory behind ROWS rows
template <int ROWS> POINT_FN double *crew_bytes() {
    extern __shared__ double shared_memory[];
    return shared_memory + 32 * LANE_POINTS * ROWS;
}

POINT_FN CrewMemory crew_memory() {
    unsigned own = (threadIdx.x & 31) * unsigned(sizeof(OfLane));
    asm("" : "+r"(own)); // computed once: the compiler would compute it for each row
    return {own};
}

template <class Join> POINT_FN several over_owners(const several part, const Join &join) {
    const CrewMemory s = crew_memory();
    crew_barrier(); // other warps may still read these rows
    s.set(crew_rank(), part);
    crew_barrier();
    several all = s[0];
    UNROLL
    for (int i = 1; i < CREW; ++i) all = join(all, s[i]);
    crew_barrier();
    return all;
}

template <int N> POINT_FN void sum_over_owners(several (&x)[N]) {
    static_assert(N <= 8, "there are rows for so many");
    const CrewMemory s = crew_memory();
    const int rank = crew_rank();
    crew_barrier();
    UNROLL
    for (int k = 0; k < N; ++k) s.set(N * rank + k, x[k]);
    crew_barrier();
    UNROLL
    for (int k = 0; k < N; ++k) {
        x[k] = s[k];
        UNROLL_BY(1)
        for (int i = 1; i < CREW; ++i) x[k] += s[N * i + k];
    }
    crew_barrier();
}

template <int COUNT, class Term> POINT_FN void sum_over_species(several &sum, const Term &term) {
    several part[1] = {several(0.0)};
    FOR_OWN (s, COUNT) part[0] += term(s);
    sum_over_owners(part);
    sum = part[0];
}

template <int COUNT, class Weight, class Term>
POINT_FN void sums_over_species(several &sum, several &weighted, const Weight *weight, const Term &term) {
    several part[2] = {several(0.0), several(0.0)};
    FOR_OWN (s, COUNT) {
        const several x = term(s);
        part[0] += x * weight[s];
        part[1] += x;
    }
    sum_over_owners(part);
    weighted = part[0];
    sum = part[1];
}

template <> constexpr bool NEIGHBOURS_AGREE<several> = true;
