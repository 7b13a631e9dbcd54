// Binary and mixture-averaged diffusion: a low-pressure model, 1/(p D_ij), times Takahashi's correction for pressure.
#pragma once

// Index of the pair (i, j <= i) in tables over the lower triangle with its diagonal.
POINT_FN constexpr int pair_index(int i, int j) { return i*(i + 1)/2 + j; }

// What the pairs share at one point.
template <class R> struct DiffusionState { R ln_T, temperature_factor, p, T; };

template <class M, class R> POINT_FN DiffusionState<R> diffusion_state(const R T, const R p) {
    DiffusionState<R> state;
    const R root = sqrt(select(T > 0.0, T, R(NOT_A_NUMBER)));
    state.T = T;
    state.p = select(p > 0.0, p, R(NOT_A_NUMBER));
    if constexpr (M::diffusion_kinetic) {
        state.ln_T = log(T);
        state.temperature_factor = 1.0/(T*root);
    } else {
        state.ln_T = T;
        state.temperature_factor = 1.0/(T*root*sqrt(root));     // T^1.75
    }
    return state;
}

// Takahashi 1975, the factor (D p)_R from reduced temperature and pressure of the pair: D0 (1 - A Tr^-B)(1 - C Tr^-E) in
// each row of Pr, linear between rows, the last row above Pr = 5.
// `table`, as Cantera: 1 below Pr = 0.1 (a step to 1.01(...) there), 1e-20 where the result is negative. In cold liquid both
// brackets are negative and their product is positive and large: a factor of 7 for liquid oxygen at 120 K, 100 bar.
// `smooth`: linear from 1 at Pr = 0 to the first row, negative brackets count as 0, and the factor is 0.01 or more (liquids
// diffuse slowly, but they do; measured ratios are about 0.1).
template <class R> struct TakahashiRow { R row, share; };

// The rows stand at steps of 0.1 up to 0.6, 0.2 to 2, 0.5 to 3, then 1: their number is a concave function of Pr.
template <class R> POINT_FN TakahashiRow<R> takahashi_row(const R Pr) {
    const R number = smaller(smaller(10.0*Pr, 3.0 + 5.0*Pr), smaller(9.0 + 2.0*Pr, 12.0 + Pr)), row = floor_small(at_most(number, 16.5));
    return {row, number - row};
}

template <class M, class R>
POINT_FN R takahashi_formula(const M &m, const R Tr, const R Pr) {
    const R ln_Tr = log(Tr);
    const TakahashiRow<R> at = takahashi_row(Pr);
    R factor[2];
    UNROLL for (int side = 0; side < 2; ++side) {
        const R row = at.row + double(side);
        R first = 1.0 - table_row(m.takahashi_A, row)*exp(-ln_Tr*table_row(m.takahashi_B, row));
        R second = 1.0 - table_row(m.takahashi_C, row)*exp(-ln_Tr*table_row(m.takahashi_E, row));
        if constexpr (M::takahashi_smooth) first = at_least(first, 0.0), second = at_least(second, 0.0);
        factor[side] = table_row(m.takahashi_D, row)*first*second;
    }
    const R between = factor[0] + at.share*(factor[1] - factor[0]);
    if constexpr (M::takahashi_smooth) return at_least(between, 0.01);
    else return at_least(select(Pr < 0.1, R(1.0), between), 1e-20);
}

// `smooth` from cubics in 1/(1 + Tr), tabulated: no logarithm, no powers. Where to look, and the value there.
template <class R> struct TakahashiPlace { R line, x, share; };

template <class M, class R>
POINT_FN TakahashiPlace<R> takahashi_place(const M &m, const DiffusionState<R> &state, int i, int j, const R xi, const R xj) {
    const R both = xi + xj, tc = xi*m.Tc[i] + xj*m.Tc[j], pc = xi*m.pc[i] + xj*m.pc[j];
    const R warm = tc + both*state.T, inv = 1.0/(warm*pc);              // 1/(1 + Tr) = tc/warm
    const R along = bounded_index(tc*(pc*inv), 0.999)*double(M::TAKAHASHI_WINDOWS), window = floor_small(along);
    const TakahashiRow<R> at = takahashi_row(bounded_index(both*state.p*(warm*inv), 5.0));
    return {at.row*double(M::TAKAHASHI_WINDOWS) + window, along - window, at.share};
}

template <class M, class R> POINT_FN R takahashi_lookup(const M &m, const TakahashiPlace<R> &place) {
    R c[8];
    table_line(m.takahashi_lines, place.line, c);
    const R x = place.x, low = at_least(c[0] + x*(c[1] + x*(c[2] + x*c[3])), 0.0), high = at_least(c[4] + x*(c[5] + x*(c[6] + x*c[7])), 0.0);
    return at_least(low + place.share*(high - low), 0.01);
}

template <class M, class R>
POINT_FN R takahashi_factor(const M &m, const DiffusionState<R> &state, int i, int j, const R xi, const R xj) {
    if constexpr (M::takahashi_smooth && !number<R>::wide) return takahashi_lookup(m, takahashi_place(m, state, i, j, xi, xj));
    else {
        const R tc = xi*m.Tc[i] + xj*m.Tc[j], pc = xi*m.pc[i] + xj*m.pc[j], inv = (xi + xj)/(tc*pc);
        return takahashi_formula(m, state.T*(inv*pc), bounded_index(state.p*(inv*tc), 5.0));
    }
}

// p D_ij at low pressure [Pa m2/s] times temperature_factor
template <class M, class R>
POINT_FN R low_pressure(const M &m, const DiffusionState<R> &state, int i, int j) {
    if constexpr (M::diffusion_kinetic) {
        constexpr int pairs = M::NS*(M::NS + 1)/2;
        const double *c = m.binary_fit + pair_index(i, j);
        return c[0] + state.ln_T*(c[pairs] + state.ln_T*(c[2*pairs] + state.ln_T*(c[3*pairs] + state.ln_T*c[4*pairs])));
    } else return R(m.fuller_pD[pair_index(i, j)]);
}

// 1/(p D_ij) [1/(Pa m2/s)]
template <class M, class R>
POINT_FN R inverse_pD(const M &m, const DiffusionState<R> &state, int i, int j, const R xi, const R xj) {
    R pD = low_pressure(m, state, i, j);
    if constexpr (!M::takahashi_off) pD = pD*takahashi_factor(m, state, i, j, xi, xj);
    return state.temperature_factor/pD;
}

// 1/(p D_ij) of species i with all j < i. On packs in two sweeps: each has a short chain of dependent operations, so
// that the processor keeps several pairs in flight.
template <class M, class R>
POINT_FN void inverse_pD_row(const M &m, const DiffusionState<R> &state, int i, const R (&x)[M::NS], R (&inverse)[M::NS]) {
    if constexpr (M::takahashi_smooth && number<R>::lanes > 1) {
        TakahashiPlace<R> place[M::NS];
        FOR_SPECIES(j, i) place[j] = takahashi_place(m, state, i, j, x[i], x[j]);
        FOR_SPECIES(j, i) inverse[j] = state.temperature_factor/(low_pressure(m, state, i, j)*takahashi_lookup(m, place[j]));
    } else FOR_SPECIES(j, i) inverse[j] = inverse_pD(m, state, i, j, x[i], x[j]);
}

// Mole fraction floored at 1e-20, so that a pure point keeps a limit.
template <class M, class R, class Species>
POINT_FN R floored_x(const M &m, const Species &Y, const R W, int s) { return at_least(Y[s]*m.inv_W[s]*W, 1e-20); }

template <class M, class R, class Species, class Out>
POINT_FN void binary_diffusion(const M &m, const R T, const R p, const Species &Y, const R W, Out &D_ij) {
    const DiffusionState<R> state = diffusion_state<M>(T, p);
    for (int i = 0; i < M::NS; ++i)
        for (int j = 0; j <= i; ++j) {
            const R xi = floored_x(m, Y, W, i), xj = floored_x(m, Y, W, j), pD = 1.0/inverse_pD(m, state, i, j, xi, xj);
            const R D = select(xi + xj > 0.0, pD/state.p, R(NOT_A_NUMBER));     // a NaN in x is lost in the index of the table
            D_ij.set(i*M::NS + j, D);
            D_ij.set(j*M::NS + i, D);
        }
}

// D_k = sum_{j != k} x_j W_j / (W sum_{j != k} x_j/D_kj), which is (1 - Y_k)/sum_{j != k} x_j/D_kj without its cancellation.
template <class M, class R, class Species, class Out>
POINT_FN void mixture_diffusion(const M &m, const R T, const R p, const Species &Y, const R W, Out &D) {
    const DiffusionState<R> state = diffusion_state<M>(T, p);
    if constexpr (M::NS == 1) D.set(0, W/(W*state.p*inverse_pD(m, state, 0, 0, R(1.0), R(1.0))));
    else {
        R x[M::NS], resistance[M::NS], inverse[M::NS], others = R(0.0);
        FOR_SPECIES(s, M::NS) {
            x[s] = floored_x(m, Y, W, s);
            resistance[s] = R(0.0);
        }
        FOR_SPECIES(i, M::NS) {
            inverse_pD_row(m, state, i, x, inverse);
            R sum = R(0.0);
            FOR_SPECIES(j, i) {
                sum += x[j]*inverse[j];
                resistance[j] += x[i]*inverse[j];
            }
            resistance[i] = sum;
        }
        const R scale = 1.0/(W*state.p);
        R mass[M::NS];
        FOR_SPECIES(s, M::NS) {             // sums of x W before and behind s, never a difference
            mass[s] = others;
            others += x[s]*m.W[s];
        }
        others = R(0.0);
        FOR_SPECIES(back, M::NS) {
            const int s = M::NS - 1 - back;
            D.set(s, (mass[s] + others)*scale/resistance[s]);
            others += x[s]*m.W[s];
        }
    }
}
