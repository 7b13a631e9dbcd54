// A reactor over a step, by Rodas4: six stages, order 4 with an error estimate of order 3, L-stable, one LU a step
// (Hairer & Wanner 1996; coefficients as the Kinetic PreProcessor has them). Every point has its own step h:
//   (4/h - J) K_i = f(z + sum a_ij K_j) + sum c_ij K_j/h,  z1 = z + sum m_j K_j,  error K_6.
// The state of the last stage is z1 without K_6.
#pragma once
#include "gas/reactors/linear_systems.h"

constexpr double REACT_COLDEST = 20.0;   // K; rates below 200 K are those at 200 K (rates.h)
constexpr double LEAST_FRACTION = -1e-8; // mass fraction of a species at the begin
enum { REACTED, TOO_MANY_STEPS, STEP_TOO_SMALL, LEFT_RANGE = 4, INPUT_OUT_OF_RANGE };

template <class M, class R, class Species> POINT_FN R density_of(const M &m, const R T, const R p, const Species &Y) {
    R W, R_s;
    molar_mass(m, Y, W, R_s);
    return density_of_root(m, T, p, Y, R_s);
}

// (1/dt - J)^-1 f
template <class M, class R, class Species, class Out>
POINT_FN void volume_implicit(const M &m, const R T, const R rho, const Species &Y, const R dt, Out &implicit_cv) {
    constexpr int N = M::NS + 1;
    R z[N], f[N];
    FOR_SPECIES (k, M::NS) z[k] = rho * Y[k];
    z[M::NS] = T;

    typename SystemOf<sparse<M>(), false, M, R>::type system(m);
    system.prepare(m, z, R(1.0 / dt), f);
    system.solve(m, f);

    for (int i = 0; i < N; ++i) implicit_cv.set(i, f[i]);
}

// The same constants, at an address that a GPU's compiler takes for another: it would read them ahead of the loop over
// steps, and keep hundreds of them in local memory.
template <class M> POINT_FN const M &afresh(const M &m) {
#ifdef ON_DEVICE
    long zero = 0;
    asm volatile("" : "+l"(zero));
    return *(const M *)((const char *)&m + zero);
#else
    return m;
#endif
}

// A point on its way through dt: begin, then step while it is active, then end.
template <bool PRESSURE, class M, class R> struct Integration {
    static constexpr int NS = M::NS;
    static constexpr int N = NS + 1;
    static constexpr int STAGES = 6;
    typedef decltype(R(0.0) < R(0.0)) Flag;

    typename SystemOf<sparse<M>(), PRESSURE, M, R>::type system;
    R z[owned(N)]; // partial densities and T; where the status is not 0, the state that was reached
    R t;           // time so far
    R h;           // the next step
    R unit_before; // the step whose error would have been 1, at the last step if that was taken; else 0
    R dt;          // the time to go through
    R atol;        // of partial densities
    R steps;       // taken and rejected
    R status;
    Flag active;

    POINT_FN Integration(const M &m) : system(m) {}

    // into = dz/dt at a state
    PART_FN static void changes(const M &constants, const R *at, R *into) {
        const M &m = afresh(constants);
        const Changes<R> by = reactor<PRESSURE>(m, of_owner(at, NS), at, into);
        if constexpr (PRESSURE) {
            FOR_OWN (k, NS) into[own(k)] += at[own(k)] * by.theta;
        }
        if (owns(NS)) into[own(NS)] = by.T;
    }

    template <class Fractions>
    POINT_FN void begin(const M &m, const R T, const R p, const Fractions &Y, const R dt_given) {
        const R rho = density_of(m, T, p, Y);
        FOR_OWN (k, NS) z[own(k)] = rho * Y[k];
        if (owns(NS)) z[own(NS)] = T;
        begin(m, rho, p > 0.0 && p < 1e300, dt_given);
    }

    // From z, whose density is rho. fit: whether the rest of the input is in range
    POINT_FN void begin(const M &m, const R rho, const Flag fit, const R dt_given) {
        dt = dt_given;

        // Input in range.
        const R T = of_owner(z, NS);
        auto good = fit && T >= REACT_COLDEST && T <= M::T_end && dt >= 0.0 && dt < 1e300;
        good = good && rho > 0.0 && rho < 1e300;
        R wrong = R(0.0);
        FOR_OWN (k, NS) wrong += select(z[own(k)] >= LEAST_FRACTION * rho, R(0.0), R(1.0));
        good = good && summed(wrong) < 0.5;

        // The first step: half the time in which the state changes by its tolerance.
        const double rtol = m.react_rtol;
        const double atol_T = 10.0 * rtol;
        atol = m.react_atol * rho;
        R f[owned(N)], size = R(0.0);
        t = R(0.0);
        changes(m, z, f);
        FOR_UNKNOWNS(i, N) {
            const R part = f[own(i)] / ((i < NS ? atol : R(atol_T)) + rtol * fabs(z[own(i)]));
            size += part * part;
        }
        size = summed(size);
        h = larger(smaller(R(0.5 / (sqrt(size * (1.0 / N)) + 1e-30)), dt), R(1e-18 * dt));

        active = good && dt > 0.0;
        status = select(good, R(double(REACTED)), R(double(INPUT_OUT_OF_RANGE)));
        steps = unit_before = R(0.0);
        h = select(active, h, R(1e-9));
    }

    // One function: as several, the same arithmetic took 1.13 times as long on an H200, with other roundings.
    POINT_FN void step(const M &m) {
        // a_ij and c_ij, j < i: a line for each stage i from the second on.
        // clang-format off
        static constexpr double a[] = {
            1.544,
            0.9466785280815826, 0.2557011698983284,
            3.314825187068521, 2.896124015972201, 0.9986419139977817,
            1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950,
            1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950, 1.0};
        static constexpr double c[] = {
            -5.6688,
            -2.430093356833875, -0.2063599157091915,
            -0.1073529058151375, -9.594562251023355, -20.47028614809616,
            7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160,
            8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054};
        // clang-format on

        const double rtol = m.react_rtol;
        const double atol_T = 10.0 * rtol;
        const R until = dt * (1.0 - 1e-12);
        R z1[owned(N)], f[owned(N)], K[STAGES][owned(N)];
        const R inv_h = 1.0 / h;
        system.prepare(afresh(m), z, R(4.0 * inv_h), f);

        // A thread that shares its point has few unknowns: it loads all at once. K of the stages to come is 0.
        constexpr bool AT_ONCE = owned(N) < N;
        if constexpr (AT_ONCE) {
            for (int s = 0; s < STAGES; ++s) FOR_UNKNOWNS(i, N) K[s][own(i)] = R(0.0);
        }

        // The stages.
        int row = 0; // of a and c
        UNROLL_BY(1)
        for (int s = 0; s < STAGES; ++s) {
            if (s > 0) {
                FOR_UNKNOWNS(i, N) {
                    R sum = z[own(i)];
                    UNROLL_IF(AT_ONCE)
                    for (int j = 0; j < (AT_ONCE ? STAGES - 1 : s); ++j) sum += a[row + j] * K[j][own(i)];
                    z1[own(i)] = sum;
                }
                if (owns(NS)) z1[own(NS)] = at_most(at_least(z1[own(NS)], REACT_COLDEST), M::T_end);
                changes(m, z1, f);
            }

            FOR_UNKNOWNS(i, N) {
                R sum = R(0.0);
                UNROLL_IF(AT_ONCE)
                for (int j = 0; j < (AT_ONCE ? STAGES - 1 : s); ++j) sum += c[row + j] * K[j][own(i)];
                K[s][own(i)] = f[own(i)] + sum * inv_h;
            }
            system.solve(m, K[s]);
            row += s;
        }

        // The state after the step, and its error over the tolerance; 1e10 for NaN.
        R error = R(0.0);
        FOR_UNKNOWNS(i, N) {
            const R off = K[STAGES - 1][own(i)];
            z1[own(i)] += off;
            const R part = off / ((i < NS ? atol : R(atol_T)) + rtol * larger(fabs(z1[own(i)]), fabs(z[own(i)])));
            error += part * part;
        }
        error = sqrt(summed(error) * (1.0 / N));
        error = select(error < 1e100, at_least(error, 1e-10), R(1e10));

        // The step is taken if its error is within the tolerance.
        const auto taken = active && error <= 1.0;
        FOR_UNKNOWNS(i, N) z[own(i)] = select(taken, z1[own(i)], z[own(i)]);
        t = select(taken, t + h, t);
        steps = select(active, steps + 1.0, steps);

        // The next step follows from the step whose error would be 1, and from its growth since the last step, which is
        // expected again (Gustafsson's predictive control, in Hairer & Wanner). The first steps are small: h may become
        // 60 times as large.
        const R unit = h / sqrt(sqrt(error));
        const R growth = select(taken && unit_before > 0.0, unit / unit_before, R(1.0));
        unit_before = select(taken, unit, R(0.0));
        h = smaller(larger(R(0.9 * unit * at_most(at_least(growth, 0.7), 1.1)), R(0.2 * h)), R(60.0 * h));

        // The end: at dt, out of the range of T, or with a step that no longer changes t.
        const R T = of_owner(z, NS);
        const auto gone = taken && !(T > REACT_COLDEST && T < M::T_end);
        status = select(gone, R(double(LEFT_RANGE)), status);
        active = active && !gone && t < until;
        const auto stuck = active && !(t + h > t);
        status = select(stuck, R(double(STEP_TOO_SMALL)), status);
        active = active && !stuck;
        h = select(active, smaller(h, dt - t), R(1e-9));
    }

    // T, p and Y at the end of dt. NaN where the status is not 0; as they were where no step was needed
    template <class Fractions> POINT_FN void end(const M &m, R &T, R &p, Fractions &Y) {
        status = select(active, R(double(TOO_MANY_STEPS)), status);

        R sum = R(0.0);
        FOR_OWN (k, NS) sum += z[own(k)];
        sum = summed(sum);
        const R reached = of_owner(z, NS);
        const auto stepped = steps > 0.0;
        const auto done = status <= double(REACTED);
        const R inverse = 1.0 / sum;
        const R nan = R(NOT_A_NUMBER);

        if constexpr (!PRESSURE) {
            Partial<M, R> state;
            partial_state<false>(m, reached, z, state);
            p = select(stepped, partial_pressure(m, state), p);
        }

        T = select(done, select(stepped, reached, T), nan);
        p = select(done, p, nan);
        FOR_OWN (k, NS) Y.set(k, select(done, select(stepped, z[own(k)] * inverse, R(Y[k])), nan));
    }
};

template <bool PRESSURE, class M, class R, class Fractions>
POINT_FN void react(const M &m, R &T, R &p, Fractions &Y, const R dt, R &status, R &steps) {
    Integration<PRESSURE, M, R> point(m);
    point.begin(m, T, p, Y, dt);

    UNROLL_BY(1)
    for (double step = 0; step < m.react_most && any_of(point.active); step += 1) point.step(m);

    point.end(m, T, p, Y);
    status = point.status;
    steps = point.steps;
}

// The same for a thread of a GPU that takes points from a queue: its neighbours in the warp need different numbers of
// steps. next() goes to the next point, and returns false at the end. at(use) calls use(T, p, Y, dt, status, steps)
// with the point's values, and writes them if use returns true.
template <bool PRESSURE, class M, class R, class At, class Next>
POINT_FN void react_from_queue(const M &m, const R, const At &at, const Next &next) {
    Integration<PRESSURE, M, R> point(m);
    bool more = next();

    const auto begin = [&](R &T, R &p, const auto &Y, const R dt, R &, R &) {
        point.begin(m, T, p, Y, dt);
        return false;
    };
    const auto end = [&](R &T, R &p, auto &Y, const R, R &status, R &steps) {
        point.end(m, T, p, Y);
        status = point.status;
        steps = point.steps;
        return true;
    };

    bool fresh = true;
    UNROLL_BY(1)
    while (more) {
        if (fresh) at(begin);
        fresh = !(any_of(point.active) && all_of(point.steps < m.react_most));

        if (!fresh) point.step(m);
        else {
            at(end);
            more = next();
        }
    }
}

template <class... A> POINT_FN void react_at_volume(A &&...a) { react<false>(a...); }
template <class... A> POINT_FN void react_at_pressure(A &&...a) { react<true>(a...); }
template <class... A> POINT_FN void react_at_volume_from_queue(A &&...a) { react_from_queue<false>(a...); }
template <class... A> POINT_FN void react_at_pressure_from_queue(A &&...a) { react_from_queue<true>(a...); }
