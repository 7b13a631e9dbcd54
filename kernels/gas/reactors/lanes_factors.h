// Dense linear systems that the lanes of a warp solve together. The matrix lies in the memory that the warp has for its
// point, row i column j at i LD + j. Row i belongs to lane i % 32; a "turn" t is the rows 32 t .. 32 t + 31.
#pragma once

// The shared memory of the warp's point.
struct LanesMemory {
    double *const at;

    POINT_FN LanesMemory(const int rows) : at(own_memory(rows)) {}
    static POINT_FN double *own_memory(const int rows) {
        extern __shared__ double shared_memory[];
        return shared_memory + AHEAD_OF_POINTS + rows * ((int)threadIdx.x / 32);
    }

    POINT_FN point operator[](const int i) const { return of(at[i]); }
    POINT_FN void set(const int i, const point x) const { at[i] = x.v; }
};

// LU without pivoting, in shared memory.
template <class R, int N, bool IN_REGISTERS> struct LanesFactors {
    static constexpr int LD = N | 1; // odd: the rows of a column lie in different banks

    POINT_FN void factorise(const LanesMemory &s) const {
        UNROLL
        for (int turn = 0; turn < owned(N); ++turn) {
            const int end = N < 32 * turn + 32 ? N : 32 * turn + 32;
            const int fours = end / 4 * 4;

            UNROLL_BY(1)
            for (int k = 32 * turn; k < fours; k += 4) pivots<4>(s, turn, k);
            UNROLL_BY(1)
            for (int k = fours; k < end; ++k) pivots<1>(s, turn, k);
        }
    }

    // Eliminates COUNT pivots from k on, from the rows of `turn` and later turns. The diagonal becomes 1/pivot
    template <int COUNT> POINT_FN void pivots(const LanesMemory &s, const int turn, const int k) const {
        const int lane = lane_rank();
        const int behind = k + COUNT;
        R d[COUNT * COUNT];         // the pivots' square, in every lane
        R factor[COUNT * owned(N)]; // the pivots' columns, in the lane's rows

        // Load.
        UNROLL
        for (int r = 0; r < COUNT; ++r) {
            UNROLL
            for (int c = 0; c < COUNT; ++c) d[r * COUNT + c] = s[(k + r) * LD + k + c];
        }
        UNROLL
        for (int t = turn; t < owned(N); ++t) {
            const int i = 32 * t + lane;
            const int row = i < N ? i * LD : 0;
            UNROLL
            for (int c = 0; c < COUNT; ++c) factor[t * COUNT + c] = s[row + k + c];
        }
        __syncwarp();

        // Factorise the square, and the rows by it.
        UNROLL
        for (int c = 0; c < COUNT; ++c) {
            const R inverse = d[c * COUNT + c] = 1.0 / d[c * COUNT + c];
            const auto off = [&](R *row) {
                row[c] = row[c] * inverse;
                UNROLL
                for (int e = c + 1; e < COUNT; ++e) row[e] -= row[c] * d[c * COUNT + e];
            };

            UNROLL
            for (int r = c + 1; r < COUNT; ++r) off(d + r * COUNT);
            UNROLL
            for (int t = turn; t < owned(N); ++t) off(factor + t * COUNT);
        }

        // Store both.
        UNROLL
        for (int t = turn; t < owned(N); ++t) {
            const int i = 32 * t + lane;
            UNROLL
            for (int c = 0; c < COUNT; ++c) {
                if (i >= behind && i < N) s.set(i * LD + k + c, factor[t * COUNT + c]);
                UNROLL
                for (int r = 0; r < COUNT; ++r)
                    if (i == k + r) s.set(i * LD + k + c, d[r * COUNT + c]);
            }
        }

        // The pivots' rows: a lane takes columns.
        if constexpr (COUNT > 1) {
            UNROLL_BY(1)
            for (int j = behind + lane; j < N; j += 32) {
                R known[COUNT];
                UNROLL
                for (int r = 0; r < COUNT; ++r) {
                    known[r] = s[(k + r) * LD + j];
                    UNROLL
                    for (int c = 0; c < r; ++c) known[r] -= d[r * COUNT + c] * known[c];
                    if (r > 0) s.set((k + r) * LD + j, known[r]);
                }
            }
            __syncwarp();
        }

        // The rest of the lane's rows, WIDTH columns at a time. All loads come before the stores.
        const auto columns = [&](const int j, auto of) {
            constexpr int WIDTH = of.value;
            R known[COUNT * WIDTH], mine[WIDTH * owned(N)];

            UNROLL
            for (int r = 0; r < COUNT; ++r) {
                UNROLL
                for (int c = 0; c < WIDTH; ++c) known[r * WIDTH + c] = s[(k + r) * LD + j + c];
            }
            UNROLL
            for (int t = turn; t < owned(N); ++t) {
                const int i = 32 * t + lane;
                const int row = i < N ? i * LD : 0;
                UNROLL
                for (int c = 0; c < WIDTH; ++c) {
                    mine[t * WIDTH + c] = s[row + j + c];
                    UNROLL
                    for (int r = 0; r < COUNT; ++r) mine[t * WIDTH + c] -= factor[t * COUNT + r] * known[r * WIDTH + c];
                }
            }
            UNROLL
            for (int t = turn; t < owned(N); ++t) {
                const int i = 32 * t + lane;
                if (i >= behind && i < N) {
                    UNROLL
                    for (int c = 0; c < WIDTH; ++c) s.set(i * LD + j + c, mine[t * WIDTH + c]);
                }
            }
        };

        int j = behind;
        UNROLL_BY(1)
        for (; j + 4 <= N; j += 4) columns(j, Constant<4>());
        UNROLL_BY(1)
        for (; j < N; ++j) columns(j, Constant<1>());
        __syncwarp();
    }

    // Every lane solves for COUNT unknowns from k on, which lie in `turn`, and takes them off its own rows. UPPER: of
    // the upper triangle
    template <int COUNT, bool UPPER>
    POINT_FN void eliminated(const LanesMemory &s, const int turn, const int k, R *b) const {
        const int lane = lane_rank();
        R x[COUNT];
        UNROLL
        for (int c = 0; c < COUNT; ++c) x[c] = of_lane(b[turn], k + c - 32 * turn);

        UNROLL
        for (int n = 0; n < COUNT; ++n) {
            const int c = UPPER ? COUNT - 1 - n : n;
            UNROLL
            for (int e = 0; e < COUNT; ++e)
                if (UPPER ? e > c : e < c) x[c] -= s[(k + c) * LD + k + e] * x[e];
            if (UPPER) x[c] = x[c] * s[(k + c) * LD + k + c];
        }

        UNROLL
        for (int t = 0; t < owned(N); ++t) {
            const int i = 32 * t + lane;
            if (UPPER ? i < k : i >= k + COUNT && i < N) {
                UNROLL
                for (int c = 0; c < COUNT; ++c) b[t] -= s[i * LD + k + c] * x[c];
            }
        }

        UNROLL
        for (int c = 0; c < COUNT; ++c)
            if (owns(k + c)) b[turn] = x[c];
    }

    // b becomes A^-1 b.
    POINT_FN void solve(const LanesMemory &s, R *given) const {
        constexpr int WHOLE_TURNS = N / 32;
        constexpr int LEFT = N % 32;
        constexpr int FOURS = LEFT / 4 * 4;
        R b[owned(N)];
        UNROLL
        for (int t = 0; t < owned(N); ++t) b[t] = given[t];

        const auto forward = [&](const int turn, const int fours, const int end) {
            UNROLL_BY(1)
            for (int k = 32 * turn; k < 32 * turn + fours; k += 4) eliminated<4, false>(s, turn, k, b);
            UNROLL_BY(1)
            for (int k = 32 * turn + fours; k < end; ++k) eliminated<1, false>(s, turn, k, b);
        };

        const auto back = [&](const int turn, const int fours, const int end) {
            UNROLL_BY(1)
            for (int k = end - 1; k >= 32 * turn + fours; --k) eliminated<1, true>(s, turn, k, b);
            UNROLL_BY(1)
            for (int k = 32 * turn + fours - 4; k >= 32 * turn; k -= 4) eliminated<4, true>(s, turn, k, b);
        };

        UNROLL
        for (int turn = 0; turn < WHOLE_TURNS; ++turn) forward(turn, 32, 32 * turn + 32);
        if constexpr (LEFT > 0) {
            forward(WHOLE_TURNS, FOURS, N);
            back(WHOLE_TURNS, FOURS, N);
        }
        UNROLL
        for (int turn = WHOLE_TURNS - 1; turn >= 0; --turn) back(turn, 32, 32 * turn + 32);

        UNROLL
        for (int t = 0; t < owned(N); ++t) given[t] = b[t];
    }
};

// The inverse, by Gauss-Jordan elimination without pivoting. A lane has its row in registers; the lanes share the
// columns of the FEW rows beyond 32. Six right-hand sides follow: a product with the inverse has no chain of results
// that wait for each other, and its error is of the size that the rounding of b causes. A pivot's row and b reach all
// lanes through shared memory.
template <class R, int N> struct LanesFactors<R, N, true> {
    static constexpr int WHOLE = N < 32 ? N : 32;
    static constexpr int FEW = N - WHOLE;
    static constexpr int LD = N | 1;
    static constexpr int PAIRS = (N + 1) / 2;

    // Rows of the inverse, each to be multiplied by its scale.
    R row[N], scale;
    R few[FEW + 1], corner[FEW * FEW + 1],
        scales[FEW + 1]; // of the rows beyond 32: this lane's column; columns beyond 32

    static POINT_FN double *place(const LanesMemory &s, const int n) { return s.at + 2 * PAIRS * n; }

    static POINT_FN void read(const double *from, R *to) {
        UNROLL
        for (int j = 0; j < PAIRS; ++j) {
            const double2 two = ((const double2 *)from)[j];
            to[2 * j] = of(two.x), to[2 * j + 1] = of(two.y);
        }
    }

    POINT_FN void factorise(const LanesMemory &s) {
        const int lane = lane_rank();
        const int mine = lane < WHOLE ? lane : 0;
        UNROLL
        for (int j = 0; j < N; ++j) row[j] = s[mine * LD + j];
        UNROLL
        for (int r = 0; r < FEW; ++r) {
            few[r] = s[(WHOLE + r) * LD + lane];
            UNROLL
            for (int c = 0; c < FEW; ++c) corner[r * FEW + c] = s[(WHOLE + r) * LD + WHOLE + c];
        }
        scale = R(1.0);
        __syncwarp();

        for_constants<N>([&](auto pivot) INLINED {
            constexpr int k = pivot.value;
            constexpr int K = k - WHOLE;

            // The pivot's row to shared memory. There are two places: the last row may still be read.
            double *const shown = place(s, k % 2);
            if constexpr (K < 0) {
                if (lane == k) {
                    UNROLL
                    for (int j = 0; j < PAIRS; ++j)
                        ((double2 *)shown)[j] = {row[2 * j].v, 2 * j + 1 < N ? row[2 * j + 1].v : 0.0};
                }
            } else {
                shown[lane] = few[K].v;
                if (lane < FEW) {
                    UNROLL
                    for (int c = 0; c < FEW; ++c)
                        if (lane == c) shown[WHOLE + c] = corner[K * FEW + c].v;
                }
            }
            __syncwarp();

            // Take it off this lane's row.
            R known[2 * PAIRS];
            read(shown, known);
            const R inverse = 1.0 / known[k];
            const R own = FEW > 0 ? of(shown[lane]) : R(0.0);
            const bool is = K < 0 && lane == k;
            const R factor = select(is, R(0.0), -(row[k] * inverse));
            if (is) scale = inverse;
            row[k] = select(is, R(1.0), factor);
            UNROLL
            for (int j = 0; j < N; ++j)
                if (j != k) row[j] += factor * known[j];

            // And off the rows beyond 32.
            UNROLL
            for (int r = 0; r < FEW; ++r) {
                if (r == K) {
                    corner[r * FEW + r] = R(1.0), scales[r] = inverse;
                    continue;
                }
                const R of_few = -((K < 0 ? of_lane(few[r], k % 32) : corner[r * FEW + (K < 0 ? 0 : K)]) * inverse);
                few[r] = select(is, of_few, few[r] + of_few * own);
                UNROLL
                for (int c = 0; c < FEW; ++c)
                    corner[r * FEW + c] = c == K ? of_few : corner[r * FEW + c] + of_few * known[WHOLE + c];
            }
        });
    }

    // b becomes A^-1 b.
    POINT_FN void solve(const LanesMemory &s, R *b) const {
        const int lane = lane_rank();
        double *const shown = place(s, 2);

        // b to all lanes; the last b may still be read.
        __syncwarp();
        UNROLL
        for (int t = 0; t < owned(N); ++t)
            if (32 * t + lane < 2 * PAIRS) shown[32 * t + lane] = b[t].v;
        __syncwarp();

        // The lane's row times b, as four sums.
        R known[2 * PAIRS], sum[4];
        read(shown, known);
        UNROLL
        for (int j = 0; j < 4; ++j) sum[j] = row[j] * known[j];
        UNROLL
        for (int j = 4; j < N; ++j) sum[j % 4] += row[j] * known[j];
        const R own = b[0];
        b[0] = scale * ((sum[0] + sum[1]) + (sum[2] + sum[3]));

        // The rows beyond 32, by all lanes.
        UNROLL
        for (int r = 0; r < FEW; ++r) {
            R all = summed(few[r] * own);
            UNROLL
            for (int c = 0; c < FEW; ++c) all += corner[r * FEW + c] * known[WHOLE + c];
            if (lane == r) b[1] = scales[r] * all;
        }
    }
};
