// Equation `mapped` in a flow solver's own variables, as flow.h has the cubic equations: the layer's bodies for a
// density, of a cubic metre. Partial densities stand for Y, N = sum rho_k R/W_k [J/m3/K] for the gas constant, 1 for
// rho.
#pragma once
#include "gas/equations/mapped.h"
#include "newton.h"

template <class M, class R, class Species> POINT_FN R gas_constants(const M &m, const Species &rho_k) {
    R moles = R(0.0);
    FOR_SPECIES (s, M::NS) moles += rho_k[s] * m.inv_W[s];
    return R_UNIVERSAL * moles;
}

template <class M, class R, class Species>
POINT_FN void mapped_flow_at(const M &m, const R T, const Species &rho_k, MappedState<R> &s, R &e_vol) {
    const R N = gas_constants<M, R>(m, rho_k);
    mapped_state_of_density(m, known_temperature(T), R(1.0), rho_k, N, delta_of(m, rho_k), s, e_vol);
}

// T of p by Newton's method; p rises with T. It starts from what an ideal gas of the free volume has, 20 K at least; a
// step falls by 70 % at most and rises threefold.
template <class M, class R, class Species>
POINT_FN void mapped_flow_temperature_p(const M &m, const R p, const Species &rho_k, R &T) {
    const R N = gas_constants<M, R>(m, rho_k);
    const auto delta = delta_of(m, rho_k);
    T = larger(p / N, R(T_LOWEST));
    newton<40>(T, T > 0.0, 0.7, 3.0, [&](const R at) INLINED {
        MappedState<R> s;
        R p_T;
        mapped_mixture_state(m, at, rho_k, s);
        pressure_of_density(m, R(1.0), at, N, s.a, s.b, s.map, delta, s.p, s.vol, s.v_free, s.shift, s.shift_w);
        cubic_reciprocals(m, s.b, s.v_free, s.vol, delta, s.rho, s.inv_free, s.inv_D, s.inv_centred);
        mapped_pressure_slopes(m, at, N, s.a, s.a_T, s.b, s.v_free, s.inv_free, s.inv_D, s.shift_w, s.shift_T, delta,
                               s.p_v_attractive, s.p_v_repulsive, s.p_v, p_T, s.v_p);
        return R((p - s.p) / p_T);
    });
}

template <class M, class R, class Species>
POINT_FN void mapped_flow_state(const M &m, const R T, const Species &rho_k, R &p_eos, R &e_vol, R &cv_vol, R &gamma_c,
                                R &gruneisen) {
    MappedState<R> s;
    mapped_flow_at(m, T, rho_k, s, e_vol);
    p_eos = s.p;
    cv_vol = s.cv;
    gruneisen = s.p_T / s.cv;
    gamma_c = (T * s.p_T * gruneisen - s.p_v) / s.p; // of a cubic metre rho dp/drho at constant T is -p_v
}

// T of given rho e by Newton from the T that comes in, as flow_temperature_e.
template <class M, class R, class Species>
POINT_FN void mapped_flow_temperature_e(const M &m, const R e_vol, const Species &rho_k, R &T) {
    newton<8>(T, !(T < 0.0), 0.3, 0.3, [&](const R at) INLINED {
        MappedState<R> s;
        R e;
        mapped_flow_at(m, at, rho_k, s, e);
        return R((e_vol - e) / s.cv);
    });
}

// A quantity of each species that a body writes, to be read again.
template <class R, int NS> struct Kept {
    R at[NS];
    POINT_FN void set(const int k, const R value) { at[k] = value; }
};

struct Unread {
    template <class R> POINT_FN void set(int, const R) {}
};

// h_Y; eps_k = d(rho e)/drho_k at constant p, h_k - (T p_T - cv p_v/p_T) v_k.
template <class M, class R, class Species, class OutH, class OutE>
POINT_FN void mapped_flow_partials(const M &m, const R T, const Species &rho_k, OutH &h_Y, OutE &eps_k) {
    const auto delta = delta_of(m, rho_k);
    const R N = gas_constants<M, R>(m, rho_k);
    MappedState<R> s;
    R e_vol;
    mapped_flow_at(m, T, rho_k, s, e_vol);

    Kept<R, M::NS> v, h;
    Unread e;
    mapped_partial_properties(m, T, s.p, rho_k, N, s.a, s.a_T, s.b, s.v_free, s.inv_free, s.inv_D, s.p_T, s.p_v, s.v_p,
                              s.L, s.map.c0, s.map.c1, s.map.c2, s.map.c3, s.shift_T, delta, v, h, e);
    const R of_v = s.cv * s.p_v / s.p_T - T * s.p_T;
    FOR_SPECIES (k, M::NS) {
        h_Y.set(k, h.at[k]);
        eps_k.set(k, h.at[k] + of_v * v.at[k]);
    }
}
