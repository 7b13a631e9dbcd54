// Sums over pairs of species with a constant symmetric matrix: sum_ij y_i K_ij z_j.
// The strict lower triangle is stored by panels of M::PANEL rows, in the order in which the sweep below reads it.
#pragma once

// One panel of ROWS rows starting at row `first`: adds the panel's share (half diagonal and strictly lower part).
template <int ROWS, class R, class Vectors>
POINT_FN void panel_two(const double *k, const double *half_diagonal, const Vectors &yz, int first, R &yy, R &yz_sum, R &zz) {
    R row_y[ROWS], row_z[ROWS], y, z;
    UNROLL for (int i = 0; i < ROWS; ++i) {
        yz(first + i, y, z);
        row_y[i] = y*half_diagonal[first + i];
        row_z[i] = z*half_diagonal[first + i];
    }
    FOR_SPECIES(j, first) {
        yz(j, y, z);
        UNROLL for (int i = 0; i < ROWS; ++i) {
            row_y[i] += y*k[j*ROWS + i];
            row_z[i] += z*k[j*ROWS + i];
        }
    }
    k += first*ROWS;
    int at = 0;
    UNROLL for (int j = 0; j < ROWS; ++j) {
        yz(first + j, y, z);
        UNROLL for (int i = j + 1; i < ROWS; ++i, ++at) {
            row_y[i] += y*k[at];
            row_z[i] += z*k[at];
        }
    }
    UNROLL for (int i = 0; i < ROWS; ++i) {
        yz(first + i, y, z);
        yy += y*row_y[i];
        yz_sum += y*row_z[i] + z*row_y[i];
        zz += z*row_z[i];
    }
}

// yKy, yKz, zKz in one sweep; yz(i, y, z) gives the two vectors' elements.
template <class M, class R, class Vectors>
POINT_FN void quadratic_two(const double *k, const double *half_diagonal, const Vectors &yz, R &yy, R &yz_sum, R &zz) {
    constexpr int P = M::PANEL, full = M::NS/P, rest = M::NS%P;
    yy = R(0.0), yz_sum = R(0.0), zz = R(0.0);
    for (int panel = 0; panel < full; ++panel) {
        panel_two<P>(k, half_diagonal, yz, panel*P, yy, yz_sum, zz);
        k += panel*P*P + P*(P - 1)/2;
    }
    if constexpr (rest > 0) panel_two<rest>(k, half_diagonal, yz, full*P, yy, yz_sum, zz);
    yy = yy + yy;
    zz = zz + zz;
}

template <int ROWS, class R, class Vector>
POINT_FN R panel_one(const double *k, const double *half_diagonal, const Vector &y, int first) {
    R row[ROWS], sum = R(0.0);
    UNROLL for (int i = 0; i < ROWS; ++i) row[i] = y(first + i)*half_diagonal[first + i];
    FOR_SPECIES(j, first) {
        const R yj = y(j);
        UNROLL for (int i = 0; i < ROWS; ++i) row[i] += yj*k[j*ROWS + i];
    }
    k += first*ROWS;
    int at = 0;
    UNROLL for (int j = 0; j < ROWS; ++j) {
        const R yj = y(first + j);
        UNROLL for (int i = j + 1; i < ROWS; ++i, ++at) row[i] += yj*k[at];
    }
    UNROLL for (int i = 0; i < ROWS; ++i) sum += y(first + i)*row[i];
    return sum;
}

template <class M, class R, class Vector>
POINT_FN R quadratic_one(const double *k, const double *half_diagonal, const Vector &y) {
    constexpr int P = M::PANEL, full = M::NS/P, rest = M::NS%P;
    R sum = R(0.0);
    for (int panel = 0; panel < full; ++panel) {
        sum += panel_one<P, R>(k, half_diagonal, y, panel*P);
        k += panel*P*P + P*(P - 1)/2;
    }
    if constexpr (rest > 0) sum += panel_one<rest, R>(k, half_diagonal, y, full*P);
    return sum + sum;
}

// The same three sums with K = 1 - k_ij, each structure of k_ij by its cheapest way.
template <class M, class R, class Vectors>
POINT_FN void attraction_sums(const M &m, const Vectors &yz, R &yy, R &yz_sum, R &zz) {
    if constexpr (M::kij_dense) quadratic_two<M>(m.one_minus_kij, m.half_one_minus_kij_diagonal, yz, yy, yz_sum, zz);
    else {
        R sum_y = R(0.0), sum_z = R(0.0), y, z;
        FOR_SPECIES(s, M::NS) {
            yz(s, y, z);
            sum_y += y;
            sum_z += z;
        }
        yy = sum_y*sum_y, yz_sum = sum_y*sum_z, zz = sum_z*sum_z;
        if constexpr (M::kij_lowrank) {
            UNROLL for (int r = 0; r < M::KIJ_RANK; ++r) {
                R a = R(0.0), b = R(0.0);
                FOR_SPECIES(s, M::NS) {
                    yz(s, y, z);
                    a += y*m.kij_factor[r*M::NS + s];
                    b += z*m.kij_factor[r*M::NS + s];
                }
                yy -= m.kij_sign[r]*(a*a);
                yz_sum -= m.kij_sign[r]*(a*b);
                zz -= m.kij_sign[r]*(b*b);
            }
        }
        if constexpr (M::kij_sparse) {
            for (int pair = 0; pair < M::KIJ_PAIRS; ++pair) {
                R yi, zi, yj, zj;
                yz(int(m.kij_first[pair]), yi, zi);
                yz(int(m.kij_second[pair]), yj, zj);
                const double twice = 2.0*m.kij_value[pair];
                yy -= twice*(yi*yj);
                yz_sum -= m.kij_value[pair]*(yi*zj + zi*yj);
                zz -= twice*(zi*zj);
            }
        }
    }
}
