// Composition and ideal-gas properties. Mixture coefficients are summed first, one polynomial is evaluated after.
#pragma once

// 1/sum(f_i weight_i) of mole or mass fractions f; NaN where they are not a composition (|sum f - 1| > 1e-6): everything
// that depends on it is then NaN too, at this point only.
template <class R, class M, class Species>
POINT_FN R inverse_mean(const double *weight, const Species &fraction) {
    R mean = fraction[0]*weight[0], sum = fraction[0];
    FOR_SPECIES(s, M::NS - 1) {
        const R f = fraction[s + 1];
        mean += f*weight[s + 1];
        sum += f;
    }
    const R off = sum - 1.0;
    return select(off < 1e-6 && off > -1e-6, 1.0/mean, R(NOT_A_NUMBER));
}

template <class M, class R, class Species>
POINT_FN void molar_mass(const M &m, const Species &Y, R &W) { W = inverse_mean<R, M>(m.inv_W, Y); }

template <class M, class R, class Species, class Out>
POINT_FN void mole_fractions(const M &m, const Species &Y, const R W, Out &X) {
    FOR_SPECIES(s, M::NS) X.set(s, Y[s]*m.inv_W[s]*W);
}

template <class M, class Species, class Out>
POINT_FN void mass_fractions(const M &m, const Species &X, Out &Y) {
    const auto scale = inverse_mean<decltype(X[0]), M>(m.W, X);
    FOR_SPECIES(s, M::NS) Y.set(s, X[s]*m.W[s]*scale);
}

// sum_i Y_i (R/W_i) c_ki for the first COUNT coefficients k, from one temperature range. It starts from 0, like the mixed
// sum below: the compiler then fuses both in the same way, and a point's bits do not depend on its neighbours.
template <int COUNT, class M, class R, class Species>
POINT_FN void nasa_sum(const double *coefficient, const Species &Y, R (&c)[COUNT]) {
    UNROLL for (int k = 0; k < COUNT; ++k) c[k] = R(0.0);
    FOR_SPECIES(s, M::NS) {
        const R y = Y[s];
        UNROLL for (int k = 0; k < COUNT; ++k) c[k] += y*coefficient[k*M::NS + s];
    }
}

// Mixture NASA-7 coefficients [J/kg/K, ...]. Ranges meet at each species' own T_mid; a pack (or warp) that lies wholly
// below the lowest or above the highest needs one table only.
template <int COUNT, class M, class R, class Species>
POINT_FN void nasa_mixture(const M &m, const R T, const Species &Y, R (&c)[COUNT]) {
    const auto below = T < m.T_mid_lowest[0], above = T >= m.T_mid_highest[0];
    if (all_of(below)) nasa_sum<COUNT, M>(m.nasa_low, Y, c);
    else if (all_of(above)) nasa_sum<COUNT, M>(m.nasa_high, Y, c);
    else {
        UNROLL for (int k = 0; k < COUNT; ++k) c[k] = R(0.0);
        FOR_SPECIES(s, M::NS) {
            const R y = Y[s];
            const auto low = T < m.T_mid[s];
            UNROLL for (int k = 0; k < COUNT; ++k)
                c[k] += y*select(low, R(m.nasa_low[k*M::NS + s]), R(m.nasa_high[k*M::NS + s]));
        }
    }
}

template <class R> POINT_FN R known_temperature(R T) { return select(T > 0.0 && T < 1e9, T, R(NOT_A_NUMBER)); }

template <class R, int N> POINT_FN R nasa_cp(const R T, const R (&c)[N]) {
    return c[0] + T*(c[1] + T*(c[2] + T*(c[3] + T*c[4])));
}

template <class M, class R, class Species>
POINT_FN void ideal_gas(const M &m, R T, const Species &Y, R &cp_ig, R &h_ig) {
    R c[6];
    T = known_temperature(T);
    nasa_mixture(m, T, Y, c);
    cp_ig = nasa_cp(T, c);
    h_ig = c[5] + T*(c[0] + T*(c[1]*0.5 + T*(c[2]*(1.0/3.0) + T*(c[3]*0.25 + T*(c[4]*0.2)))));
}

template <class M, class R, class Species>
POINT_FN void ideal_gas_entropy(const M &m, R T, const R p, const Species &Y, const R W, R &s_ig) {
    R c[7];
    T = known_temperature(T);
    nasa_mixture(m, T, Y, c);
    R mixing = R(0.0);
    FOR_SPECIES(s, M::NS) {
        const R x = Y[s]*m.inv_W[s]*W;
        mixing += select(x > 1e-300, x*log(at_least(x, 1e-300)), R(0.0));
    }
    s_ig = c[0]*log(T) + T*(c[1] + T*(c[2]*0.5 + T*(c[3]*(1.0/3.0) + T*(c[4]*0.25)))) + c[6]
           - R_UNIVERSAL*(mixing + log(p*m.inv_p_ref[0]))/W;
}

template <class M, class R>
POINT_FN void total_enthalpy(const M &, const R h, const R u, const R v, const R w, R &h0) {
    h0 = h + 0.5*(u*u + v*v + w*w);
}
