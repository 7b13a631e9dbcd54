// Closed adiabatic reactors and their Jacobians. Unknowns z = (x_1 .. x_ns, T). At constant volume dx_k/dt = w_k and
// U(T, x) stays; at constant pressure the cubic metre also shrinks by theta: dx_k/dt = w_k + theta x_k, p stays and
// dU/dt = (p + U) theta:
//   U_T dT/dt - T p_T theta = -sum U_k w_k,   p_T dT/dt + (sum p_k x_k) theta = -sum p_k w_k.
#pragma once
#include "gas/kinetics/slopes.h"

template <class R> struct Changes {
    R T, theta;
};

template <bool PRESSURE, class M, class R>
POINT_FN Changes<R> changes_of(const M &, const R T, const R *x, const PartialSlopes<M, R> &s, const R *w) {
    R heat = R(0.0);
    FOR_OWN (k, M::NS) heat += s.U_x[own(k)] * w[own(k)];
    heat = summed(heat);

    if constexpr (PRESSURE) {
        R work = R(0.0), stiffness = R(0.0);
        FOR_OWN (k, M::NS) {
            work += s.p_x[own(k)] * w[own(k)];
            stiffness += s.p_x[own(k)] * x[own(k)];
        }
        work = summed(work);
        stiffness = summed(stiffness);
        const R Tp_T = T * s.p_T;
        const R inv = 1.0 / (s.U_T * stiffness + Tp_T * s.p_T);
        return {R(-((heat * stiffness + Tp_T * work) * inv)), R((s.p_T * heat - s.U_T * work) * inv)};
    } else return {R(-(heat / s.U_T)), R(0.0)};
}

template <bool PRESSURE, class M, class R> POINT_FN Changes<R> reactor(const M &m, const R T, const R *x, R *w) {
    Partial<M, R> state;
    PartialSlopes<M, R> s;
    partial_state<true>(m, T, x, state);
    production(m, T, x, state, w);
    partial_slopes(m, x, state, s);
    return changes_of<PRESSURE>(m, T, x, s, w);
}

// f = dz/dt from w, and what the second derivatives of energy and pressure bring to J: their gradient's change along it
template <bool PRESSURE, class M, class R>
POINT_FN Changes<R> change_along(const M &m, const R T, const R *x, const PartialSlopes<M, R> &s, const R *w, R *f,
                                 PartialSlopes<M, Dual<R>> &along) {
    constexpr int NS = M::NS;
    const Changes<R> c = changes_of<PRESSURE>(m, T, x, s, w);
    FOR_OWN (k, NS) f[own(k)] = PRESSURE ? w[own(k)] + x[own(k)] * c.theta : w[own(k)];
    if (owns(NS)) f[own(NS)] = c.T;
    Dual<R> xs[owned(NS)], at;
    at = moving(T, c.T);
    FOR_OWN (k, NS) xs[own(k)] = moving(x[own(k)], f[own(k)]);
    Partial<M, Dual<R>> state;
    partial_state<true>(m, at, xs, state);
    partial_slopes(m, xs, state, along);
    return c;
}

// Of a reactor's Jacobian df/dz what is not production: its row of T; at constant pressure the slopes of theta.
template <bool PRESSURE, class M, class R> struct JacobianEnds {
    static constexpr int NS = M::NS;
    static constexpr int N = NS + 1;
    R T[N], theta[PRESSURE ? N : 1], stiffness; // sum p_k x_k, and slopes: there before the first row
    Changes<R> c;
    PartialSlopes<M, R> slopes;
};

// f = dz/dt, and row by row the slopes of the production, by use(i, in_x, in_T) as slope_rows, where in_x(k) is called
// once for each k; then the ends. With what shrinks at constant pressure, J_ij = slope + x_i theta_j + theta delta_ij.
template <bool PRESSURE, class M, class R, class Use>
POINT_FN void reactor_jacobian(const M &m, const R T, const R *x, R *w, R *f, JacobianEnds<PRESSURE, M, R> &ends,
                               const Use &use) {
    constexpr int NS = M::NS;
    constexpr int N = NS + 1;
    PartialSlopes<M, R> &s = ends.slopes;
    Partial<M, R> state;
    Slopes<M, R, NS> o;
    partial_state<true>(m, T, x, state);
    partial_slopes(m, x, state, s);
    slopes_in_moles(m, T, x, state, s, o);
    FOR_SPECIES (k, NS) w[k] = m.W[k] * o.w[k];
    ends.stiffness = R(0.0);
    if constexpr (PRESSURE) {
        FOR_SPECIES (k, NS) ends.stiffness += s.p_x[k] * x[k];
    }
    R heat[N], work[PRESSURE ? N : 1]; // what a column changes of sum U_k w_k and of sum p_k w_k
    FOR_UNKNOWNS(j, N) {
        heat[j] = R(0.0);
        if constexpr (PRESSURE) work[j] = R(0.0);
    }

    const auto counted = [&](const int i, const int j, const R slope) INLINED {
        heat[j] += s.U_x[i] * slope;
        if constexpr (PRESSURE) work[j] += s.p_x[i] * slope;
        return slope;
    };

    slope_rows(m, state, s, o, [&](int i, const auto &in_x, const R in_T) INLINED {
        use(i, [&](int k) INLINED { return counted(i, k, in_x(k)); }, counted(i, NS, in_T));
    });
    PartialSlopes<M, Dual<R>> along;
    const Changes<R> c = ends.c = change_along<PRESSURE>(m, T, x, s, w, f, along);
    FOR_SPECIES (j, NS) {
        heat[j] += along.U_x[j].d[0];
        if constexpr (PRESSURE) heat[j] -= s.p_x[j] * c.theta, work[j] += along.p_x[j].d[0] + s.p_x[j] * c.theta;
    }
    heat[NS] += along.U_T.d[0];
    if constexpr (PRESSURE) heat[NS] -= (s.p_T + s.U_T) * c.theta, work[NS] += along.p_T.d[0];
    const R Tp_T = T * s.p_T;
    const R inv = 1.0 / (PRESSURE ? s.U_T * ends.stiffness + Tp_T * s.p_T : s.U_T);

    FOR_UNKNOWNS(j, N) {
        if constexpr (PRESSURE) {
            ends.T[j] = -((heat[j] * ends.stiffness + Tp_T * work[j]) * inv);
            ends.theta[j] = (s.p_T * heat[j] - s.U_T * work[j]) * inv;
        } else ends.T[j] = -(heat[j] * inv);
    }
}

// ---- as quantities
template <class M, class R, class Species, class Out>
POINT_FN void volume_reactor(const M &m, const R T, const R rho, const Species &Y, Out &f_cv) {
    R x[M::NS], w[M::NS];
    FOR_SPECIES (k, M::NS) x[k] = rho * Y[k];
    f_cv.set(M::NS, reactor<false>(m, T, x, w).T);
    FOR_SPECIES (k, M::NS) f_cv.set(k, w[k]);
}

template <class M, class R, class Species, class Out>
POINT_FN void pressure_reactor(const M &m, const R T, const R rho, const Species &Y, Out &f_cp) {
    R x[M::NS], w[M::NS];
    FOR_SPECIES (k, M::NS) x[k] = rho * Y[k];
    f_cp.set(M::NS, reactor<true>(m, T, x, w).T);
    const R inv_rho = 1.0 / rho;
    FOR_SPECIES (k, M::NS) f_cp.set(k, w[k] * inv_rho);
}

template <class M, class R, class Species, class Out>
POINT_FN void volume_jacobian(const M &m, const R T, const R rho, const Species &Y, Out &J_cv) {
    constexpr int NS = M::NS;
    constexpr int N = NS + 1;
    R x[NS], w[NS], f[N];
    JacobianEnds<false, M, R> ends;
    FOR_SPECIES (k, NS) x[k] = rho * Y[k];
    reactor_jacobian(m, T, x, w, f, ends, [&](int i, const auto &in_x, const R in_T) INLINED {
        FOR_SPECIES (k, NS) set_past(J_cv, i * N + k, in_x(k));
        J_cv.set(i * N + NS, in_T);
    });
    FOR_UNKNOWNS(j, N) J_cv.set(NS * N + j, ends.T[j]);
}

// Unknowns (Y, T) at constant p: dY_i/dt = w_i/rho. With rho(T, p, Y): rho_Yj = -rho^2 p_j/stiffness, rho_T = -rho
// p_T/stiffness.
template <class M, class R, class Species, class Out>
POINT_FN void pressure_jacobian(const M &m, const R T, const R rho, const Species &Y, Out &J_cp) {
    constexpr int NS = M::NS;
    constexpr int N = NS + 1;
    R x[NS], w[NS], f[N];
    JacobianEnds<true, M, R> ends;
    const R inv_rho = 1.0 / rho;
    FOR_SPECIES (k, NS) x[k] = rho * Y[k];

    const auto row = [&](int i, const R *of_x, const R of_T, const R of_rho, const R scale) INLINED {
        R all = of_rho; // what a change of rho brings
        FOR_SPECIES (k, NS) all += of_x[k] * Y[k];
        all = all * -(rho / ends.stiffness);
        FOR_SPECIES (j, NS) set_past(J_cp, i * N + j, R((rho * of_x[j] + all * rho * ends.slopes.p_x[j]) * scale));
        J_cp.set(i * N + NS, (of_T + all * ends.slopes.p_T) * scale);
    };

    reactor_jacobian(m, T, x, w, f, ends, [&](int i, const auto &in_x, const R in_T) INLINED {
        R own[NS];
        FOR_SPECIES (k, NS) own[k] = in_x(k);
        row(i, own, in_T, -(w[i] * inv_rho), inv_rho);
    });

    row(NS, ends.T, ends.T[NS], R(0.0), R(1.0));
}

// J times a vector without J: the reactor on dual numbers that move along it
template <class M, class R, class Species, class Vector, class Out>
POINT_FN void volume_jacobian_product(const M &m, const Vector &dz, const R T, const R rho, const Species &Y,
                                      Out &J_cv_dz) {
    Dual<R> x[M::NS], w[M::NS];
    FOR_SPECIES (k, M::NS) x[k] = moving(R(rho * Y[k]), R(dz[k]));
    J_cv_dz.set(M::NS, reactor<false>(m, moving(T, R(dz[M::NS])), x, w).T.d[0]);
    FOR_SPECIES (k, M::NS) J_cv_dz.set(k, w[k].d[0]);
}

template <class M, class R, class Species, class Vector, class Out>
POINT_FN void pressure_jacobian_product(const M &m, const Vector &dw, const R T, const R rho, const Species &Y,
                                        Out &J_cp_dw) {
    constexpr int NS = M::NS;
    R plain[NS], stiffness = R(0.0), rho_change;
    FOR_SPECIES (k, NS) plain[k] = rho * Y[k];

    {
        Partial<M, R> state;
        PartialSlopes<M, R> s;
        partial_state<true>(m, T, plain, state);
        partial_slopes(m, plain, state, s);
        rho_change = s.p_T * dw[NS];
        FOR_SPECIES (k, NS) {
            stiffness += s.p_x[k] * plain[k];
            rho_change += rho * s.p_x[k] * dw[k];
        }
        rho_change = -(rho * rho_change / stiffness);
    }

    Dual<R> x[NS], w[NS];
    FOR_SPECIES (k, NS) x[k] = moving(plain[k], R(rho * dw[k] + Y[k] * rho_change));
    J_cp_dw.set(NS, reactor<true>(m, moving(T, R(dw[NS])), x, w).T.d[0]);
    const Dual<R> inv_rho = 1.0 / moving(rho, rho_change);
    FOR_SPECIES (k, NS) J_cp_dw.set(k, (w[k] * inv_rho).d[0]);
}
