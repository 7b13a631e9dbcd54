// Sums over pairs of species with a constant symmetric matrix: sum_ij y_i K_ij z_j.
// The strict lower triangle is stored by panels of M::PANEL rows, in the order in which the sweep below reads it. Half
// the diagonal follows. matrix_units.h has the same sums for the matrix units of a GPU.
#pragma once
#ifndef MATRIX_UNITS

// Where the rows of a panel begin in the triangle
template <int P> POINT_FN constexpr int panel_start(int panel) {
    return P * P * (panel * (panel - 1) / 2) + panel * (P * (P - 1) / 2);
}

// Where K_ij of the triangle lies, row > column
template <class M> POINT_FN constexpr int pair_place(int row, int column) {
    constexpr int P = M::PANEL;
    const int first = row / P * P;
    const int rows = M::NS - first < P ? M::NS - first : P;
    const int start = panel_start<P>(row / P);
    const int own = column - first; // within the panel, below 0 before it
    if (own < 0) return start + column * rows + (row - first);
    return start + first * rows + own * rows - own * (own + 1) / 2 + (row - column - 1);
}

// One panel of ROWS rows starting at row `first`: adds the panel's share (half diagonal and strictly lower part).
template <int ROWS, class R, class Vectors, class First>
POINT_FN void panel_two(const scalar *k, const scalar *half_diagonal, const Vectors &yz, First first, R &yy, R &yz_sum,
                        R &zz) {
    R row_y[ROWS], row_z[ROWS], y, z;
    UNROLL
    for (int i = 0; i < ROWS; ++i) {
        yz(first + i, y, z);
        row_y[i] = y * half_diagonal[first + i];
        row_z[i] = z * half_diagonal[first + i];
    }

    FOR_SPECIES (j, first) {
        yz(j, y, z);
        UNROLL
        for (int i = 0; i < ROWS; ++i) {
            row_y[i] += y * k[j * ROWS + i];
            row_z[i] += z * k[j * ROWS + i];
        }
    }

    k += first * ROWS;
    int at = 0;

    UNROLL
    for (int j = 0; j < ROWS; ++j) {
        yz(first + j, y, z);
        UNROLL
        for (int i = j + 1; i < ROWS; ++i, ++at) {
            row_y[i] += y * k[at];
            row_z[i] += z * k[at];
        }
    }

    UNROLL
    for (int i = 0; i < ROWS; ++i) {
        yz(first + i, y, z);
        yy += y * row_y[i];
        yz_sum += y * row_z[i];
        yz_sum += z * row_y[i];
        zz += z * row_z[i];
    }
}

#ifdef SPECIES_HELD
// K y and zKz in unrolled loops, each K_ij read once. The diagonal of K is 1.
template <class M, class R>
POINT_FN void held_products(const scalar *k, const R (&y)[M::NS], const R (&z)[M::NS], R (&K_y)[M::NS], R &zz) {
    R pairs = R(0.0); // of zKz, below the diagonal
    zz = R(0.0);

    for_constants<M::NS>([&](const auto row) INLINED {
        R row_z = R(0.0);
        K_y[row] = y[row];

        for_constants<row.value>([&](const auto column) INLINED {
            const scalar k_ij = k[pair_place<M>(row.value, column.value)];
            K_y[row] += k_ij * y[column];
            K_y[column] += k_ij * y[row];
            row_z += k_ij * z[column];
        });

        pairs += z[row] * row_z;
        zz += z[row] * z[row];
    });

    zz += pairs + pairs;
}
#endif

template <class M, class R, class Vectors>
POINT_FN void panels_two(const scalar *k, const Vectors &yz, R &yy, R &yz_sum, R &zz) {
    constexpr int P = M::PANEL;
    constexpr int full = M::NS / P;
    constexpr int rest = M::NS % P;
    const scalar *half_diagonal = k + M::NS * (M::NS - 1) / 2;
    yy = R(0.0), yz_sum = R(0.0), zz = R(0.0);
#ifdef SPECIES_HELD
    for_constants<full>([&](auto panel) {
        panel_two<P>(k + panel_start<P>(panel), half_diagonal, yz, Constant<panel.value * P>(), yy, yz_sum, zz);
    });
#else
    for (int panel = 0; panel < full; ++panel)
        panel_two<P>(k + panel_start<P>(panel), half_diagonal, yz, panel * P, yy, yz_sum, zz);
#endif
    if constexpr (rest > 0)
        panel_two<rest>(k + panel_start<P>(full), half_diagonal, yz, Constant<full * P>(), yy, yz_sum, zz);
    yy = yy + yy;
    zz = zz + zz;
}

// The same for one panel, row by row: y and z stay in registers instead of the rows' sums. The rows are not to be
// interleaved: there are no registers for more than one.
template <class M, class R>
POINT_FN void triangle_two(const scalar *k, const R *y, const R *z, R &yy, R &yz_sum, R &zz) {
    const scalar *half_diagonal = k + M::NS * (M::NS - 1) / 2;
    yy = R(0.0), yz_sum = R(0.0), zz = R(0.0);

    UNROLL
    for (int i = 0; i < M::NS; ++i) {
        R row_y = y[i] * half_diagonal[i];
        R row_z = z[i] * half_diagonal[i];
        int at = i - 1;
        UNROLL
        for (int j = 0; j < i; at += M::NS - 2 - j, ++j) {
            row_y += y[j] * k[at];
            row_z += z[j] * k[at];
        }
        yy += y[i] * row_y;
        yz_sum += y[i] * row_z;
        yz_sum += z[i] * row_y;
        zz += z[i] * row_z;
        asm volatile("");
    }

    yy = yy + yy;
    zz = zz + zz;
}

// yKy, yKz, zKz in one sweep; pair(s, Y_s, x, y, z) gives the two vectors' elements from a species value and one number
// of the point.
template <class M, class R, class Species, class Pair>
POINT_FN void quadratic_two(const scalar *k, const Species &Y, const R x, const Pair &pair, R &yy, R &yz_sum, R &zz) {
    if constexpr (number<R>::lanes > 1) { // a CPU's stack is in L1: nothing is computed twice
        R y[M::NS], z[M::NS];
        FOR_SPECIES (s, M::NS) pair(s, Y[s], x, y[s], z[s]);
        if constexpr (M::NS <= M::PANEL) triangle_two<M>(k, y, z, yy, yz_sum, zz);
        else
            one_by_one(
                [&](auto pack_of) { // the accumulators of one pack fill the registers
                    panels_two<M>(
                        k, [&](int s, auto &ys, auto &zs) { ys = pack_of(y[s]), zs = pack_of(z[s]); }, pack_of(yy),
                        pack_of(yz_sum), pack_of(zz));
                },
                yy);
    } else panels_two<M>(k, [&](int s, R &y, R &z) { pair(s, Y[s], x, y, z); }, yy, yz_sum, zz);
}

// One panel of yKy, yKz, zKz + yKw: row_y serves y, z and w.
template <int ROWS, class R, class Vectors, class First>
POINT_FN void panel_bent(const scalar *k, const scalar *half_diagonal, const Vectors &yzw, First first, R &yy,
                         R &yz_sum, R &zz, R &yw) {
    R row_y[ROWS], row_z[ROWS], row_w[ROWS], y, z, w;
    UNROLL
    for (int i = 0; i < ROWS; ++i) {
        yzw(first + i, y, z, w);
        row_y[i] = y * half_diagonal[first + i];
        row_z[i] = z * half_diagonal[first + i];
        row_w[i] = w * half_diagonal[first + i];
    }

    FOR_SPECIES (j, first) {
        yzw(j, y, z, w);
        UNROLL
        for (int i = 0; i < ROWS; ++i) {
            row_y[i] += y * k[j * ROWS + i];
            row_z[i] += z * k[j * ROWS + i];
            row_w[i] += w * k[j * ROWS + i];
        }
    }

    k += first * ROWS;
    int at = 0;

    UNROLL
    for (int j = 0; j < ROWS; ++j) {
        yzw(first + j, y, z, w);
        UNROLL
        for (int i = j + 1; i < ROWS; ++i, ++at) {
            row_y[i] += y * k[at];
            row_z[i] += z * k[at];
            row_w[i] += w * k[at];
        }
    }

    UNROLL
    for (int i = 0; i < ROWS; ++i) {
        yzw(first + i, y, z, w);
        yy += y * row_y[i];
        yz_sum += y * row_z[i];
        yz_sum += z * row_y[i];
        zz += z * row_z[i];
        yw += y * row_w[i];
        yw += w * row_y[i];
    }
}

template <class M, class R, class Vectors>
POINT_FN void panels_bent(const scalar *k, const Vectors &yzw, R &yy, R &yz_sum, R &zz) {
    constexpr int P = M::PANEL;
    constexpr int full = M::NS / P;
    constexpr int rest = M::NS % P;
    const scalar *half_diagonal = k + M::NS * (M::NS - 1) / 2;
    R yw = R(0.0);
    yy = R(0.0), yz_sum = R(0.0), zz = R(0.0);
#ifdef SPECIES_HELD
    for_constants<full>([&](auto panel) {
        panel_bent<P>(k + panel_start<P>(panel), half_diagonal, yzw, Constant<panel.value * P>(), yy, yz_sum, zz, yw);
    });
#else
    for (int panel = 0; panel < full; ++panel)
        panel_bent<P>(k + panel_start<P>(panel), half_diagonal, yzw, panel * P, yy, yz_sum, zz, yw);
#endif
    if constexpr (rest > 0)
        panel_bent<rest>(k + panel_start<P>(full), half_diagonal, yzw, Constant<full * P>(), yy, yz_sum, zz, yw);
    yy = yy + yy;
    zz = (zz + zz) + yw;
}

template <class M, class R>
POINT_FN void triangle_bent(const scalar *k, const R *y, const R *z, const R *w, R &yy, R &yz_sum, R &zz) {
    const scalar *half_diagonal = k + M::NS * (M::NS - 1) / 2;
    R yw = R(0.0);
    yy = R(0.0), yz_sum = R(0.0), zz = R(0.0);

    UNROLL
    for (int i = 0; i < M::NS; ++i) {
        R row_y = y[i] * half_diagonal[i];
        R row_z = z[i] * half_diagonal[i];
        R row_w = w[i] * half_diagonal[i];
        int at = i - 1;

        UNROLL
        for (int j = 0; j < i; at += M::NS - 2 - j, ++j) {
            row_y += y[j] * k[at];
            row_z += z[j] * k[at];
            row_w += w[j] * k[at];
        }

        yy += y[i] * row_y;
        yz_sum += y[i] * row_z;
        yz_sum += z[i] * row_y;
        zz += z[i] * row_z;
        yw += y[i] * row_w;
        yw += w[i] * row_y;
        asm volatile("");
    }

    yy = yy + yy;
    zz = (zz + zz) + yw;
}

template <int ROWS, class R, class Vector, class First>
POINT_FN R panel_one(const scalar *k, const scalar *half_diagonal, const Vector &y, First first) {
    R row[ROWS], sum = R(0.0);
    UNROLL
    for (int i = 0; i < ROWS; ++i) row[i] = y(first + i) * half_diagonal[first + i];

    FOR_SPECIES (j, first) {
        const R yj = y(j);
        UNROLL
        for (int i = 0; i < ROWS; ++i) row[i] += yj * k[j * ROWS + i];
    }

    k += first * ROWS;
    int at = 0;

    UNROLL
    for (int j = 0; j < ROWS; ++j) {
        const R yj = y(first + j);
        UNROLL
        for (int i = j + 1; i < ROWS; ++i, ++at) row[i] += yj * k[at];
    }

    UNROLL
    for (int i = 0; i < ROWS; ++i) sum += y(first + i) * row[i];
    return sum;
}

// yKy of one vector; element(s, Y_s)
template <class M, class R, class Species, class Element>
POINT_FN R quadratic_one(const scalar *k, const Species &Y, const Element &element) {
    if constexpr (SIDE_BY_SIDE<Species>) return quadratic_side_by_side(Constant<M::NS>(), k, Y, element);
    constexpr int P = M::PANEL;
    constexpr int full = M::NS / P;
    constexpr int rest = M::NS % P;
    const scalar *half_diagonal = k + M::NS * (M::NS - 1) / 2;
    const auto y = [&](int s) { return element(s, Y[s]); };
    R sum = R(0.0);
#ifdef SPECIES_HELD
    for_constants<full>([&](auto panel) {
        sum += panel_one<P, R>(k + panel_start<P>(panel), half_diagonal, y, Constant<panel.value * P>());
    });
#else
    for (int panel = 0; panel < full; ++panel)
        sum += panel_one<P, R>(k + panel_start<P>(panel), half_diagonal, y, panel * P);
#endif
    if constexpr (rest > 0) sum += panel_one<rest, R>(k + panel_start<P>(full), half_diagonal, y, Constant<full * P>());
    return sum + sum;
}
#endif

// Sums over the species by constants in rows: sums[k] = sum_s rows[k NS + s] Y_s. A GPU's matrix units form them in
// double precision. In single precision they would wait for conversions.
#ifdef MATRIX_UNITS
constexpr bool SUMS_BY_UNITS = !IN_SINGLE;
#else
constexpr bool SUMS_BY_UNITS = false;
template <int ROWS, class M, int COUNT, class R, class Species>
POINT_FN void tile_sums_and_squares(const scalar *, const scalar *, const Species &, R (&)[COUNT], R &);
#endif

template <int COUNT, class M, class R, class Species>
POINT_FN void sums_of_rows(const scalar *rows, const Species &Y, R (&sums)[COUNT]) {
    if constexpr (SUMS_BY_UNITS) {
        R none;
        tile_sums_and_squares<0, M>(rows, rows, Y, sums, none);
    } else {
        UNROLL
        for (int k = 0; k < COUNT; ++k) sums[k] = R(0.0);

        FOR_SPECIES (s, M::NS) {
            const R y = Y[s];
            UNROLL
            for (int k = 0; k < COUNT; ++k) sums[k] += y * rows[k * M::NS + s];
        }
    }
}

// sums[k] of COUNT rows, and the squares of ROWS others
template <int ROWS, class M, int COUNT, class R, class Species>
POINT_FN void sums_and_squares(const scalar *rows, const scalar *others, const Species &Y, R (&sums)[COUNT],
                               R &squares) {
    if constexpr (SUMS_BY_UNITS) tile_sums_and_squares<ROWS, M>(rows, others, Y, sums, squares);
    else {
        constexpr int AT_ONCE = ROWS < 5 ? ROWS : 5;
        sums_of_rows<COUNT, M>(rows, Y, sums);
        squares = R(0.0);

        for_constants<(ROWS + AT_ONCE - 1) / AT_ONCE>([&](const auto part) INLINED {
            constexpr int first = decltype(part)::value * AT_ONCE;
            constexpr int count = ROWS - first < AT_ONCE ? ROWS - first : AT_ONCE;
            R sum[count];
            sums_of_rows<count, M>(others + first * M::NS, Y, sum);
            UNROLL
            for (int k = 0; k < count; ++k) squares += sum[k] * sum[k];
        });
    }
}

// y M y with the three constant matrices of which a_ij(T) is made: pair_constant - 2 pair_linear s + pair_square s^2
// (option mixing = pseudocritical), or (pair_constant + pair_square s^2)/s (a Redlich-Kwong phase that brings its own)
template <class R> struct PairSums {
    R constant, linear, square;
};

template <class M, class R, class Species> POINT_FN PairSums<R> pair_sums(const M &m, const Species &Y) {
    if constexpr (M::by_pairs) {
        const auto itself = [](auto, const auto y) { return y; };
        return {quadratic_one<M, R>(m.pair_constant, Y, itself), quadratic_one<M, R>(m.pair_linear, Y, itself),
                quadratic_one<M, R>(m.pair_square, Y, itself)};
    } else return {R(0.0), R(0.0), R(0.0)};
}

// yKy and yKz alone, of the vectors straight(s, Y_s, x, y, z)
template <class M, class R, class Species, class Straight>
POINT_FN void quadratic_with(const M &m, const Species &Y, const R x, const Straight &straight, R &yy, R &yz_sum) {
#ifdef MATRIX_UNITS
    quadratic_with<M>(m.one_minus_kij, m.kij_upper, Y, x, straight, yy, yz_sum);
#else
    R zz;
    quadratic_two<M>(m.one_minus_kij, Y, x, straight, yy, yz_sum, zz);
#endif
}

// Whether a condition holds at a point of those that work together: on a GPU's matrix units the whole warp.
#ifdef MATRIX_UNITS
template <class Mask> POINT_FN bool anywhere(const Mask condition) { return !__all_sync(WARP, !any_of(condition)); }
#else
template <class Mask> POINT_FN bool anywhere(const Mask condition) { return any_of(condition); }
#endif

// yKy, yKz, zKz + yKw: with the elements straight(s, Y_s, x, y, z), where w = 0, or, where `bends`, with bent(s, Y_s,
// x, y, z, w).
#ifdef MATRIX_UNITS
template <class M, class R, class Species, class Straight, class Bent>
POINT_FN void quadratic_bending(const M &m, const Species &Y, const R x, const bool bends, const Straight &straight,
                                const Bent &bent, R &yy, R &yz_sum, R &zz) {
    if (bends) quadratic_three<M>(m.one_minus_kij, m.kij_upper, Y, x, bent, yy, yz_sum, zz);
    else quadratic_two<M>(m.one_minus_kij, Y, x, straight, yy, yz_sum, zz);
}
#else
template <class M, class R, class Species, class Straight, class Bent>
POINT_FN void quadratic_bending(const M &m, const Species &Y, const R x, const bool bends, const Straight &straight,
                                const Bent &bent, R &yy, R &yz_sum, R &zz) {
    const scalar *const k = m.one_minus_kij;
    if (!bends) quadratic_two<M>(k, Y, x, straight, yy, yz_sum, zz);
    else if constexpr (number<R>::lanes > 1) {
        R y[M::NS], z[M::NS], w[M::NS];
        FOR_SPECIES (s, M::NS) bent(s, Y[s], x, y[s], z[s], w[s]);
        if constexpr (M::NS <= M::PANEL) triangle_bent<M>(k, y, z, w, yy, yz_sum, zz);
        else
            one_by_one(
                [&](auto pack_of) {
                    panels_bent<M>(
                        k,
                        [&](int s, auto &ys, auto &zs, auto &ws) {
                            ys = pack_of(y[s]);
                            zs = pack_of(z[s]);
                            ws = pack_of(w[s]);
                        },
                        pack_of(yy), pack_of(yz_sum), pack_of(zz));
                },
                yy);
    } else panels_bent<M>(k, [&](int s, R &y, R &z, R &w) { bent(s, Y[s], x, y, z, w); }, yy, yz_sum, zz);
}
#endif

template <class R> POINT_FN void both_over_owners(R &a, R &b) {
    R sums[2] = {a, b};
    sum_over_owners(sums);
    a = sums[0];
    b = sums[1];
}

// The same three sums with K = 1 - k_ij, each structure of k_ij by its cheapest way.
template <class M, class R, class Species, class Pair>
POINT_FN void attraction_sums(const M &m, const Species &Y, const R x, const Pair &pair, R &yy, R &yz_sum, R &zz) {
    if constexpr (SIDE_BY_SIDE<Species>) {
        const auto of_some = [&](auto some, auto y, auto at, auto &own) INLINED { pair(some, y, at, own[0], own[1]); };
        attraction_side_by_side(Constant<2>(), m, Y, x, of_some, yy, yz_sum, zz);
    } else if constexpr (M::kij_dense) quadratic_two<M>(m.one_minus_kij, Y, x, pair, yy, yz_sum, zz);
    else {
        const auto yz = [&](int s, R &y, R &z) { pair(s, Y[s], x, y, z); };
        R sum_y = R(0.0);
        R sum_z = R(0.0);
        R y;
        R z;

        FOR_OWN (s, M::NS) {
            yz(s, y, z);
            sum_y += y;
            sum_z += z;
        }

        both_over_owners(sum_y, sum_z);
        yy = sum_y * sum_y;
        yz_sum = sum_y * sum_z;
        zz = sum_z * sum_z;

        if constexpr (M::kij_lowrank) {
            UNROLL
            for (int r = 0; r < M::KIJ_RANK; ++r) {
                R a = R(0.0), b = R(0.0);
                FOR_OWN (s, M::NS) {
                    yz(s, y, z);
                    a += y * m.kij_factor[r * M::NS + s];
                    b += z * m.kij_factor[r * M::NS + s];
                }

                both_over_owners(a, b);
                yy -= m.kij_sign[r] * (a * a);
                yz_sum -= m.kij_sign[r] * (a * b);
                zz -= m.kij_sign[r] * (b * b);
            }
        }

        if constexpr (M::kij_sparse) {
            for (int pair = 0; pair < M::KIJ_PAIRS; ++pair) {
                R yi, zi, yj, zj;
                yz(int(m.kij_first[pair]), yi, zi);
                yz(int(m.kij_second[pair]), yj, zj);
                const scalar twice = 2 * m.kij_value[pair];
                yy -= twice * (yi * yj);
                yz_sum -= m.kij_value[pair] * (yi * zj + zi * yj);
                zz -= twice * (zi * zj);
            }
        }
    }
}

// yKy, yKz, zKz + yKw of three vectors if k_ij is not dense. A few factors of a low rank share a sweep over the
// species.
template <class M, class R, class Species, class Bent>
POINT_FN void bent_sums(const M &m, const Species &Y, const R x, const Bent &bent, R &yy, R &yz_sum, R &zz) {
    R sums[3] = {R(0.0), R(0.0), R(0.0)};
    R y;
    R z;
    R w;

    FOR_OWN (s, M::NS) {
        bent(s, Y[s], x, y, z, w);
        sums[0] += y;
        sums[1] += z;
        sums[2] += w;
    }

    sum_over_owners(sums);
    yy = sums[0] * sums[0];
    yz_sum = sums[0] * sums[1];
    zz = sums[1] * sums[1];
    R yw = sums[0] * sums[2];

    if constexpr (M::kij_lowrank) {
        constexpr int AT_ONCE = 2;
        UNROLL
        for (int first = 0; first < M::KIJ_RANK; first += AT_ONCE) {
            R of[AT_ONCE][3];
            UNROLL
            for (int i = 0; i < AT_ONCE; ++i) of[i][0] = of[i][1] = of[i][2] = R(0.0);

            FOR_OWN (s, M::NS) {
                bent(s, Y[s], x, y, z, w);
                UNROLL
                for (int i = 0; i < AT_ONCE; ++i) {
                    if (first + i < M::KIJ_RANK) {
                        const scalar factor = m.kij_factor[(first + i) * M::NS + s];
                        of[i][0] += y * factor;
                        of[i][1] += z * factor;
                        of[i][2] += w * factor;
                    }
                }
            }

            UNROLL
            for (int i = 0; i < AT_ONCE; ++i) {
                if (first + i < M::KIJ_RANK) {
                    const scalar sign = m.kij_sign[first + i];
                    sum_over_owners(of[i]);
                    yy -= sign * (of[i][0] * of[i][0]);
                    yz_sum -= sign * (of[i][0] * of[i][1]);
                    zz -= sign * (of[i][1] * of[i][1]);
                    yw -= sign * (of[i][0] * of[i][2]);
                }
            }
        }
    }

    if constexpr (M::kij_sparse) {
        for (int pair = 0; pair < M::KIJ_PAIRS; ++pair) {
            const int i = int(m.kij_first[pair]);
            const int j = int(m.kij_second[pair]);
            R yi, zi, wi, yj, zj, wj;
            bent(i, Y[i], x, yi, zi, wi);
            bent(j, Y[j], x, yj, zj, wj);
            const scalar twice = 2 * m.kij_value[pair];
            yy -= twice * (yi * yj);
            yz_sum -= m.kij_value[pair] * (yi * zj + zi * yj);
            zz -= twice * (zi * zj);
            yw -= m.kij_value[pair] * (yi * wj + wi * yj);
        }
    }

    zz += yw;
}

// yKy, yKz, zKz + yKw with each structure of k_ij, as quadratic_bending.
template <class M, class R, class Species, class Straight, class Bent>
POINT_FN void bending_sums(const M &m, const Species &Y, const R x, const bool bends, const Straight &straight,
                           const Bent &bent, R &yy, R &yz_sum, R &zz) {
    if constexpr (SIDE_BY_SIDE<Species>) {
        if (!bends) return attraction_sums(m, Y, x, straight, yy, yz_sum, zz);
        const auto of_some = [&](auto some, auto y, auto at, auto &own)
                                 INLINED { bent(some, y, at, own[0], own[1], own[2]); };
        attraction_side_by_side(Constant<3>(), m, Y, x, of_some, yy, yz_sum, zz);
    } else if constexpr (M::kij_dense) quadratic_bending(m, Y, x, bends, straight, bent, yy, yz_sum, zz);
    else if (bends) bent_sums(m, Y, x, bent, yy, yz_sum, zz);
    else attraction_sums(m, Y, x, straight, yy, yz_sum, zz);
}

#ifdef VECTORS_ALONE
#include "gas/thermal/pairs_alone.h"
#endif
