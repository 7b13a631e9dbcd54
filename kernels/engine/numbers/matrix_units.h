// The FP64 matrix units of a GPU (sm_80 and later have m8n8k4; here m16n8k4 and longer ones of sm_90 are used). A warp
// multiplies the species values of its 32 points, 16 at a time, by a constant matrix over pairs of species. Each lane
// itself forms the operands (point, species) that the unit reads from it: nothing is passed through shared memory. The
// columns of a tile are numbered so that a lane finds the products for the same (point, species) in its own
// accumulators. tiles() in plan.py lays the matrix out. In single precision an operand is formed in float and converted
// to double, once for each species and point, and the sums are rounded to float: the units for shorter types lose too
// many digits.
#pragma once
#include "engine/numbers/multiply_add.h"
#include "engine/numbers/thread.h"
#define MATRIX_UNITS

// Both functions hide from the compiler where a number comes from. Otherwise it would keep values derived from it (in
// single precision the converted number) in registers over a loop.
#ifdef FRAME_STAND_IN
static inline int fresh(int x) { return x; }
static inline double widened(double x) { return x; }
#else
POINT_FN int fresh(int x) {
    asm volatile("" : "+r"(x));
    return x;
}

POINT_FN double widened(double x) { return x; }
POINT_FN double widened(float x) {
    double y = x;
    asm("" : "+d"(y));
    return y;
}
#endif

// Where a lane stands in the matrix product: it has two of the 16 points (of half 0 or 1 of the warp), its rows, and
// one of the four species of each step.
struct Lane {
    int lane, row, species;
    POINT_FN Lane() : lane(fresh(threadIdx.x & 31)), row(lane >> 2), species(lane & 3) {}
    POINT_FN int point(int half, int r) const { return 16 * half + 8 * r + row; }
    template <class Row> POINT_FN void from_owners(scalar x, int half, Row (&rows)[2]) const {
        UNROLL
        for (int r = 0; r < 2; ++r) rows[r] = __shfl_sync(WARP, x, point(half, r));
    }

    template <class Species, class Point> POINT_FN void points_of(const Species &Y, int half, Point (&rows)[2]) const {
        UNROLL
        for (int r = 0; r < 2; ++r) rows[r] = Y.of_lane(point(half, r));
    }

    // Sum over the four lanes that share a row, given to the thread that owns the point. Even lanes add up the first
    // row, odd lanes the second.
    POINT_FN void to_owners(const double (&rows)[2], int half, scalar &x) const {
        const bool odd = lane & 1;
        double sum = (odd ? rows[1] : rows[0]) + __shfl_xor_sync(WARP, odd ? rows[0] : rows[1], 1);
        sum += __shfl_xor_sync(WARP, sum, 2);
        sum = __shfl_sync(WARP, sum, (lane & 7) * 4 + (lane >> 3 & 1));
        if ((lane >> 4) == half) x = scalar(sum);
    }
};

// A vector over the species at the two points of a lane: of each step of four species the lane's.
template <class M> constexpr int STEPS = (M::NS + 3) / 4;
template <class M> constexpr int TILES = (M::NS + 7) / 8;
template <class M> using Operand = double[STEPS<M>][2];

// use(step, species, point) of all elements that a lane has of an operand. Beyond NS the matrix is 0.
template <class M, class Use> POINT_FN void for_elements(const Lane &at, const Use &use) {
    UNROLL
    for (int i = 0; i < STEPS<M>; ++i) {
        const int s = 4 * i + at.species < M::NS ? 4 * i + at.species : M::NS - 1;
        UNROLL
        for (int r = 0; r < 2; ++r) use(i, s, r);
    }
}

// Eight rows of a symmetric matrix, those of two steps of species. pair_layouts.py lays out two parts of each tile: the
// columns up to the diagonal with half of it ("lower"), and those from the whole diagonal on ("upper").
template <class M, int TILE> struct MatrixTile {
    static constexpr int first = 2 * TILE, beyond = first + 2 < STEPS<M> ? first + 2 : STEPS<M>,
                         lower_place = TILE * (TILE + 1), upper_place = TILE * STEPS<M> - TILE * (TILE - 1);

    // c += products of COUNT columns, which stand at `place`, with the elements of v from step BEGIN on
    template <int BEGIN, int COUNT>
    static POINT_FN void add(const double *matrix, const int place, const Operand<M> &v, double (&c)[4]) {
        if constexpr (COUNT > 0) {
            double column[COUNT];
            UNROLL
            for (int i = 0; i < COUNT; ++i) column[i] = matrix[32 * (place + i)];
            multiply_add<COUNT>(c, v + BEGIN, column);
        }
    }

    static POINT_FN void add_lower(const double *lower, const Operand<M> &v, double (&c)[4]) {
        add<0, beyond>(lower, lower_place, v, c);
    }

    static POINT_FN void add_whole(const double *lower, const double *upper, const Operand<M> &v, double (&c)[4]) {
        add<0, first>(lower, lower_place, v, c);
        add<first, STEPS<M> - first>(upper, upper_place, v, c);
    }

    // use(step, point, place in c) of its rows
    template <class Use> static POINT_FN void for_rows(const Use &use) {
        for_constants<beyond - first>([&](auto q) {
            UNROLL
            for (int r = 0; r < 2; ++r) use(first + q.value, r, 2 * r + q.value);
        });
    }
};

template <class M, class Use> POINT_FN void for_tiles(const Use &use) {
    for_constants<TILES<M>>([&](auto tile) { use(MatrixTile<M, tile.value>()); });
}

// Eight sums that the four lanes of a row have of each of their four points, c[half][2 r + q] = sum number 4 q + (lane
// % 4), given to the threads that own the points. Each lane sends the sums of one point to its owner, then those of the
// next: a lane's registers are rotated before and after, since their numbers are known to the compiler.
template <class T> POINT_FN void rotated_if(const bool condition, const int by, T (&x)[4]) {
    const T old[4] = {x[0], x[1], x[2], x[3]};
    UNROLL
    for (int i = 0; i < 4; ++i) x[i] = condition ? old[(i + by) & 3] : old[i];
}

template <class T> POINT_FN void rotated(const int by, T (&x)[4]) {
    rotated_if(by & 1, 1, x);
    rotated_if(by & 2, 2, x);
}

template <int COUNT, class R> POINT_FN void sums_to_owners(const Lane &at, const double (&c)[2][4], R (&sums)[COUNT]) {
    const int owner = at.lane >> 3; // 2 half + r of the lane's own point
    UNROLL
    for (int q = 0; 4 * q < COUNT; ++q) {
        double given[4] = {c[0][q], c[0][2 + q], c[1][q], c[1][2 + q]};
        rotated(at.species, given);

        double got[4];
        UNROLL
        for (int step = 0; step < 4; ++step)
            got[(4 - step) & 3] = __shfl_sync(WARP, given[step], 4 * (at.lane & 7) + ((owner - step) & 3));
        rotated(4 - owner, got);

        UNROLL
        for (int k = 0; k < 4; ++k)
            if (4 * q + k < COUNT) sums[4 * q + k] = R(got[k]);
    }
}

// Sums over the species s of Y_s times element (k, s) of constant matrices: sums[k] of up to eight rows k, and the sum
// of the squares of those of ROWS other rows. The halves of the warp are not unrolled, as below.
template <int ROWS, class M, int COUNT, class R, class Species>
POINT_FN void tile_sums_and_squares(const double *tile, const double *others, const Species &Y, R (&sums)[COUNT],
                                    R &squares) {
    static_assert(COUNT <= 8, "the rows of a tile");
    double c[2][4] = {};

    UNROLL_BY(1) for (int half = 0; half < 2; ++half) {
        const Lane at;
        decltype(Y.of_lane(0)) n[2];
        Operand<M> y;
        at.points_of(Y, half, n);
        for_elements<M>(at, [&](int i, int s, int r) { y[i][r] = widened(n[r][s]); });

        const auto products = [&](const double *from, double (&to)[4]) {
            double column[STEPS<M>];
            UNROLL
            for (int i = 0; i < STEPS<M>; ++i) column[i] = from[32 * i + at.lane];
            UNROLL
            for (int q = 0; q < 4; ++q) to[q] = 0;
            multiply_add<STEPS<M>>(to, y, column);
        };

        UNROLL
        for (int q = 0; q < 4; ++q) c[0][q] = c[1][q]; // of the first half when the second is done
        products(tile, c[1]);

        if constexpr (ROWS > 0) {
            double sum[2] = {0, 0};
            for_constants<(ROWS + 7) / 8>([&](const auto number) {
                double of_rows[4];
                products(others + 32 * STEPS<M> * number.value, of_rows);
                UNROLL
                for (int q = 0; q < 4; ++q) sum[q >> 1] += of_rows[q] * of_rows[q];
            });

            at.to_owners(sum, half, squares.v);
        }
    }

    sums_to_owners(Lane(), c, sums);
}

// The quadratic forms yKy, yKz, zKz. pair(s, n, x, y, z) forms the elements y and z of the two vectors from species
// value n and one number x of the point. Here and below the loop over the two halves of the warp is not unrolled: the
// operands of both would take twice the registers.
template <class M, class R, class Species, class Pair>
POINT_FN void quadratic_two(const double *lower, const Species &Y, const R x, const Pair &pair, R &yy, R &yz, R &zz) {
    UNROLL_BY(1) for (int half = 0; half < 2; ++half) {
        const Lane at;
        scalar x_row[2];
        double sum_yy[2] = {0, 0};
        double sum_yz[2] = {0, 0};
        double sum_zz[2] = {0, 0};
        decltype(Y.of_lane(0)) n[2];
        at.from_owners(x.v, half, x_row);
        at.points_of(Y, half, n);

        Operand<M> y, z;
        for_elements<M>(at, [&](int i, int s, int r) {
            R ys, zs;
            pair(s, R(n[r][s]), R(x_row[r]), ys, zs);
            y[i][r] = ys.v;
            z[i][r] = zs.v;
        });

        for_tiles<M>([&](const auto tile) {
            double cy[4] = {0, 0, 0, 0};
            double cz[4] = {0, 0, 0, 0};
            tile.add_lower(lower + at.lane, y, cy);
            tile.add_lower(lower + at.lane, z, cz);

            tile.for_rows([&](int i, int r, int c) {
                sum_yy[r] += y[i][r] * cy[c];
                sum_yz[r] += y[i][r] * cz[c] + z[i][r] * cy[c];
                sum_zz[r] += z[i][r] * cz[c];
            });
        });

        at.to_owners(sum_yy, half, yy.v);
        at.to_owners(sum_yz, half, yz.v);
        at.to_owners(sum_zz, half, zz.v);
    }

    yy = yy + yy;
    zz = zz + zz;
}

// yKy, yKz, zKz + yKw. triple(s, n, x, y, z, w) forms the elements of three vectors. All of Ky serves y, z and w, so
// that w is no operand: it waits in memory, since registers hold two.
template <class M, class R, class Species, class Triple>
POINT_FN void quadratic_three(const double *lower, const double *upper, const Species &Y, const R x,
                              const Triple &triple, R &yy, R &yz, R &zz_yw) {
    UNROLL_BY(1) for (int half = 0; half < 2; ++half) {
        const Lane at;
        scalar x_row[2];
        double sum_yy[2] = {0, 0};
        double sum_yz[2] = {0, 0};
        double sum_zz[2] = {0, 0};
        double sum_yw[2] = {0, 0};
        decltype(Y.of_lane(0)) n[2];
        at.from_owners(x.v, half, x_row);
        at.points_of(Y, half, n);

        Operand<M> y, z;
        volatile Operand<M> w;

        for_elements<M>(at, [&](int i, int s, int r) {
            R ys, zs, ws;
            triple(s, R(n[r][s]), R(x_row[r]), ys, zs, ws);
            y[i][r] = ys.v;
            z[i][r] = zs.v;
            w[i][r] = ws.v;
        });

        __syncwarp(); // no element of w is computed later than here

        for_tiles<M>([&](const auto tile) {
            double cy[4] = {0, 0, 0, 0};
            double cz[4] = {0, 0, 0, 0};
            tile.add_whole(lower + at.lane, upper + at.lane, y, cy);
            tile.add_lower(lower + at.lane, z, cz);

            tile.for_rows([&](int i, int r, int c) {
                sum_yy[r] += y[i][r] * cy[c];
                sum_yz[r] += z[i][r] * cy[c];
                sum_zz[r] += z[i][r] * cz[c];
                sum_yw[r] += w[i][r] * cy[c];
            });
        });

        UNROLL
        for (int r = 0; r < 2; ++r) sum_yw[r] += sum_zz[r] + sum_zz[r];
        at.to_owners(sum_yy, half, yy.v);
        at.to_owners(sum_yz, half, yz.v);
        at.to_owners(sum_yw, half, zz_yw.v);
    }
}

// yKy and yKz alone: all of Ky serves both.
template <class M, class R, class Species, class Pair>
POINT_FN void quadratic_with(const double *lower, const double *upper, const Species &Y, const R x, const Pair &pair,
                             R &yy, R &yz) {
    UNROLL_BY(1) for (int half = 0; half < 2; ++half) {
        const Lane at;
        scalar x_row[2];
        double sum_yy[2] = {0, 0};
        double sum_yz[2] = {0, 0};
        decltype(Y.of_lane(0)) n[2];
        at.from_owners(x.v, half, x_row);
        at.points_of(Y, half, n);

        Operand<M> y, z;
        for_elements<M>(at, [&](int i, int s, int r) {
            R ys, zs;
            pair(s, R(n[r][s]), R(x_row[r]), ys, zs);
            y[i][r] = ys.v;
            z[i][r] = zs.v;
        });

        for_tiles<M>([&](const auto tile) {
            double cy[4] = {0, 0, 0, 0};
            tile.add_whole(lower + at.lane, upper + at.lane, y, cy);
            tile.for_rows([&](int i, int r, int c) {
                sum_yy[r] += y[i][r] * cy[c];
                sum_yz[r] += z[i][r] * cy[c];
            });
        });

        at.to_owners(sum_yy, half, yy.v);
        at.to_owners(sum_yz, half, yz.v);
    }
}

// yKy of one vector, with elements element(s, n)
template <class M, class R, class Species, class Element>
POINT_FN R quadratic_one(const double *lower, const Species &Y, const Element &element) {
    R total;
    UNROLL_BY(1) for (int half = 0; half < 2; ++half) {
        const Lane at;
        double sum[2] = {0, 0};
        decltype(Y.of_lane(0)) n[2];
        at.points_of(Y, half, n);

        Operand<M> y;
        for_elements<M>(at, [&](int i, int s, int r) { y[i][r] = element(s, R(n[r][s])).v; });

        for_tiles<M>([&](const auto tile) {
            double cy[4] = {0, 0, 0, 0};
            tile.add_lower(lower + at.lane, y, cy);
            tile.for_rows([&](int i, int r, int c) { sum[r] += y[i][r] * cy[c]; });
        });

        at.to_owners(sum, half, total.v);
    }

    return total + total;
}

// OUTSIDE: the constant does not lie in the struct but in device memory, and no kernel writes to it.
template <bool OUTSIDE> POINT_FN double constant_at(const double *address) {
    if constexpr (OUTSIDE) return __ldg(address);
    else return *address;
}

// The step (four species) of half Q of a tile. A compile-time constant where the tile is one.
template <int T, int Q> POINT_FN constexpr Constant<2 * T + Q> step_of(Constant<T>, Constant<Q>) { return {}; }
template <int Q> POINT_FN int step_of(int tile, Constant<Q>) { return 2 * tile + Q; }

// D_k of diffusion.h. sum_j f_kj x_j is a polynomial in one number of the point, with a constant matrix for each power.
// With more than 24 species both halves of the warp are done at once and share the loads of the matrix. In single
// precision the loop over tiles is not unrolled: reading a species' mass again is cheaper than converting it from its
// amount in double.
template <class M, class R, class Species, class Others, class Out>
POINT_FN void friction_products(const M &m, const R variable, const Species &Y, const Others &others, const R scale,
                                Out &D) {
    constexpr int STEPS = (M::NS + 3) / 4;
    constexpr int TILES = (M::NS + 7) / 8;
    constexpr int TERMS = M::FRICTION_TERMS;
    constexpr int AT_ONCE = M::NS > 24 ? 2 : 1;

    UNROLL_BY(1) for (int begin = 0; begin < 2; begin += AT_ONCE) {
        const Lane at;
        double x[AT_ONCE][STEPS][2], powers[AT_ONCE][2];
        decltype(Y.of_lane(0)) n[AT_ONCE][2];
        const auto floored = [&](int h, int r, int s) { return larger(m.least_mass[s], scalar(n[h][r][s])); };

        UNROLL
        for (int h = 0; h < AT_ONCE; ++h) {
            if constexpr (TERMS > 1) at.from_owners(variable.v, begin + h, powers[h]);
            at.points_of(Y, begin + h, n[h]);

            UNROLL
            for (int i = 0; i < STEPS; ++i) {
                const int s = 4 * i + at.species < M::NS ? 4 * i + at.species : M::NS - 1;
                UNROLL
                for (int r = 0; r < 2; ++r) x[h][i][r] = widened(floored(h, r, s) * m.inv_W[s]);
            }
        }

        scalar scales[AT_ONCE][2], total[AT_ONCE][2], rest[AT_ONCE][2];
        OtherResult to[AT_ONCE][2];

        UNROLL
        for (int h = 0; h < AT_ONCE; ++h) {
            at.from_owners(scale.v, begin + h, scales[h]);
            at.from_owners(others.total.v, begin + h, total[h]);
            at.from_owners(others.rest.v, begin + h, rest[h]);
            UNROLL
            for (int r = 0; r < 2; ++r) to[h][r] = D.to_lane(at.point(begin + h, r));
        }

        const double *b = m.friction_tiles + at.lane;
        const auto of_tile = [&](auto full, auto tile) {
            double c[AT_ONCE][4];
            UNROLL
            for (int h = 0; h < AT_ONCE; ++h) UNROLL
            for (int q = 0; q < 4; ++q) c[h][q] = 0;

            UNROLL
            for (int term = TERMS - 1; term >= 0; --term) {
                double column[STEPS];
                UNROLL
                for (int i = 0; i < STEPS; ++i)
                    column[i] = constant_at<sizeof(m.friction_tiles) == sizeof(double *)>(
                        b + 32 * ((term * TILES + tile) * STEPS + i));

                UNROLL
                for (int h = 0; h < AT_ONCE; ++h) {
                    if (term < TERMS - 1) UNROLL
                    for (int q = 0; q < 4; ++q) c[h][q] *= powers[h][q >> 1];
                    multiply_add<STEPS>(c[h], x[h], column);
                }
            }

            UNROLL
            for (int h = 0; h < AT_ONCE; ++h) UNROLL
            for (int r = 0; r < 2; ++r) {
                const Others of_row{R(total[h][r]), others.limit, R(rest[h][r])}; // the limit is one number
                const R below[2] = {R(c[h][2 * r]), R(c[h][2 * r + 1])}, divisor(scales[h][r]);

                const auto store = [&](auto q, const R inverse) {
                    const auto step = step_of(tile, q);
                    const int s = 4 * step + at.species;
                    const int k = full || s < M::NS ? s : M::NS - 1;
                    R share;
                    if constexpr (IN_SINGLE) share = R(floored(h, r, k));
                    else share = R(x[h][step][r]) * m.W[k];
                    const R result = of_row(share) * inverse;
                    to[h][r].set(s, result.v, full || 4 * step + 3 < M::NS || s < M::NS);
                };

                if constexpr (full.value) { // both are species: one division
                    const R inverse = 1.0 / (below[0] * below[1] * divisor);
                    for_constants<2>([&](auto q) { store(q, inverse * below[1 - q.value]); });
                } else
                    for_constants<STEPS - 2 * TILES + 2>([&](auto q) { store(q, 1.0 / (below[q.value] * divisor)); });
            }
        };

        if constexpr (IN_SINGLE) {
            constexpr int WHOLE_TILES = M::NS / 8;
            UNROLL_BY(1) for (int tile = fresh(0); tile < WHOLE_TILES; ++tile) of_tile(Constant<true>(), tile);
            if constexpr (WHOLE_TILES < TILES) of_tile(Constant<false>(), Constant<WHOLE_TILES>());
        } else for_constants<TILES>([&](auto tile) { of_tile(Constant<(8 * tile.value + 7 < M::NS)>(), tile); });
    }
}
