// Bodies of the kernels that phases.py declares, second part: properties of a state that states.h found.
#pragma once
#include "gas/phases/states.h"

// A state that another kernel found
template <class M, class R> struct Known {
    Moles<M, R> moles;
    State<M, R> s;
    MaskOf<R> two;
    R none; // 0, or NaN where no state was found
};

template <class M, class R, class Species, class Kappas>
POINT_FN void known_state(const M &m, const R T, const R p, const Species &Y, const R vol, const Kappas &ln_kappa,
                          const R eta, const R status, Known<M, R> &o) {
    moles_of(m, Y, o.moles);
    read_start(m, ln_kappa, eta, o.s);
    const auto lost = is_lost(status) || !(status >= 0.0);
    o.two = has_two_phases(status);
    o.none = select(lost, R(NOT_A_NUMBER), R(0.0));
    o.s.T = known_temperature(T) + o.none;
    o.s.p = p;
    o.s.V = vol * o.moles.W + o.moles.shift;
}

// Amounts and volumes of the phases, after translation: those of the vapour and of the liquid of one mole, and their
// masses. The vapour is the phase of lower mass density.
template <class M, class R> struct Named {
    R v[M::NS], l[M::NS], n_v, n_l, mass_v, mass_l, V_v, V_l;
    MaskOf<R> swapped;
};

template <class M, class R> POINT_FN void name_phases(const M &m, const Known<M, R> &o, Named<M, R> &n) {
    R least_v = R(0.0), least_l = R(0.0), shift_v = R(0.0);
    n.n_v = n.n_l = n.mass_v = n.mass_l = R(0.0);
    FOR_SPECIES (k, M::NS) {
        const R kappa = exp(within(o.s.ln_kappa[k], 300.0));
        n.l[k] = o.moles.z[k] / (1.0 + kappa);
        n.v[k] = n.l[k] * kappa;
        n.n_l += n.l[k];
        n.n_v += n.v[k];
        n.mass_l += n.l[k] * m.W[k];
        n.mass_v += n.v[k] * m.W[k];
        const R least = EquationOf<M>::least(m, o.s.T, k);
        least_l += n.l[k] * least;
        least_v += n.v[k] * least;
        if constexpr (M::translated) shift_v += n.v[k] * (m.shift_mass[k] * m.W[k]);
    }
    const R ratio = exp(within(o.s.eta, 300.0));
    const R room_l = (o.s.V - least_l - least_v) / (1.0 + ratio);
    n.V_v = room_l * ratio + least_v - shift_v;
    n.V_l = room_l + least_l - (o.moles.shift - shift_v);
    n.swapped = n.mass_v * n.V_l > n.mass_l * n.V_v;
}

template <class M, class R, class Species, class Kappas>
POINT_FN void equilibrium_amounts(const M &m, const R T, const R p, const Species &Y, const R vol,
                                  const Kappas &ln_kappa, const R eta, const R phases_status, R &beta, R &beta_mass,
                                  R &beta_volume, R &rho_l, R &rho_v) {
    Known<M, R> o;
    Named<M, R> n;
    known_state(m, T, p, Y, vol, ln_kappa, eta, phases_status, o);
    name_phases(m, o, n);

    // One phase: a vapour where its volume is above the critical volume of the equation
    R B = R(0.0);
    FOR_SPECIES (k, M::NS) B += o.moles.z[k] * m.phase_b[k];
    const R alone = select(o.s.V > EquationOf<M>::critical_volume(m, o.s.T, o.moles.z, B), R(1.0), R(0.0)) + o.none;
    const auto share = [&](const R v, const R l) { return select(n.swapped, l, v) / (v + l); };
    beta = select(o.two, share(n.n_v, n.n_l), alone);
    beta_mass = select(o.two, share(n.mass_v, n.mass_l), alone);
    beta_volume = select(o.two, share(n.V_v, n.V_l), alone);

    const R one = n.mass_v / n.V_v;
    const R other = n.mass_l / n.V_l;
    const R rho = 1.0 / vol + o.none;
    rho_v = select(o.two, smaller(one, other), rho);
    rho_l = select(o.two, larger(one, other), rho);
}

template <class M, class R, class Species, class Kappas, class OutL, class OutV>
POINT_FN void equilibrium_compositions(const M &m, const R T, const R p, const Species &Y, const R vol,
                                       const Kappas &ln_kappa, const R eta, const R phases_status, OutL &Y_l,
                                       OutV &Y_v) {
    Known<M, R> o;
    Named<M, R> n;
    known_state(m, T, p, Y, vol, ln_kappa, eta, phases_status, o);
    name_phases(m, o, n);
    const R per_v = 1.0 / n.mass_v;
    const R per_l = 1.0 / n.mass_l;
    FOR_SPECIES (k, M::NS) {
        const R v = n.v[k] * m.W[k] * per_v;
        const R l = n.l[k] * m.W[k] * per_l;
        const R y = Y[k] + o.none;
        Y_l.set(k, select(o.two, select(n.swapped, v, l), y));
        Y_v.set(k, select(o.two, select(n.swapped, l, v), y));
    }
}

// Slopes of each phase by itself: -(dV/dp) at constant T and at constant entropy, dV/dT at constant p, and C_p
template <class R> struct Alone {
    R V_p, V_s, V_T, C_p;
};

template <class R> POINT_FN Alone<R> slopes_alone(const R T, const R p, const R C_v, const R U_V, const R p_V) {
    const R p_T = (p + U_V) / T;
    const R V_p = -1.0 / p_V;
    const R V_T = p_T * V_p;
    const R C_p = C_v + T * p_T * V_T;
    return {V_p, R(V_p * C_v / C_p), V_T, C_p};
}

// MAY_BE_TWO: otherwise all points are one phase
template <bool MAY_BE_TWO, class M, class R, class Species, class Kappas>
POINT_FN void thermal_of(const M &m, const R T, const R p, const Species &Y, const R vol, const Kappas &ln_kappa,
                         const R eta, const R phases_status, R &Z, R &rho, R &h, R &s, R &cp, R &cv, R &gamma, R &c,
                         R &c_frozen, R &c_wood, R &p_T, R &p_v, R &v_p, R &rho_p, R &rho_T, R &h_p, R &h_T, R &e_p,
                         R &e_T) {
    constexpr int N = M::NS + 1;
    Known<M, R> o;
    known_state(m, T, p, Y, vol, ln_kappa, eta, phases_status, o);
    const R known_T = o.s.T;
    const R W = o.moles.W;
    const R RT = R_UNIVERSAL * known_T;
    const R V = o.s.V - o.moles.shift;

    // One phase
    Heat<M, R> heat;
    R entropy, soft_frozen, soft_wood; // the last two: -(dV/dp) of the waves
    heat.U = heat.C_v = heat.U_V = heat.P_V = heat.pull = entropy = soft_frozen = soft_wood = R(0.0);
    if (any_of(!o.two)) {
        Phase<M, R> whole;
        Energy<M, R> in;
        Attraction<M, R> at;
        heat_of_one(m, o.moles.z, o.s, whole, in, heat);
        attraction_at(m, known_T, at);
        entropy = phase_entropy(m, at, o.moles.z, whole);
        soft_frozen = soft_wood = slopes_alone(known_T, p, heat.C_v, heat.U_V, R(RT * heat.P_V)).V_s;
    }

    // Two
    if (MAY_BE_TWO && any_of(o.two)) {
        Parts<M, R> parts;
        Coupled<M, R> system;
        R e[N], k[N];
        parts_of(m, o.moles.z, o.s, parts);
        coupled_system(m, parts, system);
        heat_of_two(m, parts, system, o.two, e, k, o.s, heat);
        const Alone<R> v = slopes_alone(known_T, p, parts.in_v.C_v, parts.in_v.U_V, R(RT * parts.of_v.P_V)),
                       l = slopes_alone(known_T, p, parts.in_l.C_v, parts.in_l.U_V, R(RT * parts.of_l.P_V));
        const R V_T = v.V_T + l.V_T;
        soft_frozen = select(o.two, R(v.V_p + l.V_p - known_T * V_T * V_T / (v.C_p + l.C_p)), soft_frozen);
        soft_wood = select(o.two, R(v.V_s + l.V_s), soft_wood);
        entropy = select(
            o.two, R(phase_entropy(m, parts.at, parts.v, parts.of_v) + phase_entropy(m, parts.at, parts.l, parts.of_l)),
            entropy);
    }

    // Per kilogramme
    const R inv_W = inverse(W);
    const R inv_T = inverse(known_T);
    const R Tp_T = p + heat.U_V;
    const R slope_V = RT * heat.P_V;
    const R inv_slope = inverse(slope_V);
    cv = heat.C_v * inv_W;
    cp = cv - Tp_T * Tp_T * inv_slope * inv_T * inv_W;
    gamma = cp / cv;
    c = V * sqrt((Tp_T * Tp_T * inv_T / heat.C_v - slope_V) * inv_W);
    c_frozen = V * sqrt(inv_W / soft_frozen);
    c_wood = V * sqrt(inv_W / soft_wood);
    p_T = Tp_T * inv_T;
    p_v = slope_V * W;
    v_p = inv_slope * inv_W;
    Z = p * V / RT;
    rho = 1.0 / vol + o.none;
    h = (heat.U + p * V) * inv_W;
    s = entropy_of_temperature(m, known_T, Y) + entropy * inv_W;
    rho_p = -(rho * rho * v_p);
    rho_T = -(p_T * rho_p);
    h_p = (heat.pull + heat.U_V) * v_p - o.moles.shift * inv_W;
    h_T = cp;
    e_p = heat.U_V * v_p;
    e_T = cv - e_p * p_T;
}

template <class... A> POINT_FN void equilibrium_thermal(A &&...a) { thermal_of<true>(a...); }

template <class M, class R, class Species, class Kappas, class... Out>
POINT_FN bool equilibrium_thermal_short(const M &m, const R T, const R p, const Species &Y, const R vol,
                                        const Kappas &ln_kappa, const R eta, const R phases_status, Out &...out) {
    if (!all_of(phases_status >= 0.0 && phases_status < 0.5)) return false;
    thermal_of<false>(m, T, p, Y, vol, ln_kappa, eta, phases_status, out...);
    return true;
}

// 4: two phases; else the root as of one phase
template <class M, class R, class Species, class Kappas>
POINT_FN void equilibrium_phase_flag(const M &m, const R T, const R p, const Species &Y, const R vol,
                                     const Kappas &ln_kappa, const R eta, const R phases_status, R &phase_flag) {
    Known<M, R> o;
    Heat<M, R> heat;
    Phase<M, R> whole;
    Energy<M, R> in;
    known_state(m, T, p, Y, vol, ln_kappa, eta, phases_status, o);
    heat_of_one(m, o.moles.z, o.s, whole, in, heat);
    cubic_phase_flag(m, o.s.T, p, R(R_UNIVERSAL), whole.D, whole.B, whole.free, heat.P_V, delta_of(m, whole),
                     phase_flag);
    phase_flag = select(o.two, R(4.0), phase_flag);
}

// Partial properties of the state as a whole: dV/dm_k, dH/dm_k at constant T and p, the phases in equilibrium. With
// mu_k common to both, dp/dn_k = -dmu_k/dV and U_k = -RT^2 d(mu_k/RT)/dT at constant T, V; of the changes of mu_k in
// both phases the mean with weights l_k/z_k and v_k/z_k is taken, in which the ideal parts cancel.
template <class M, class R, class Species, class Kappas, class OutV, class OutH, class OutE>
POINT_FN void equilibrium_partial_properties(const M &m, const R T, const R p, const Species &Y, const R vol,
                                             const Kappas &ln_kappa, const R eta, const R phases_status, OutV &v_Y,
                                             OutH &h_Y, OutE &e_Y) {
    constexpr int NS = M::NS;
    constexpr int N = NS + 1;
    Known<M, R> o;
    known_state(m, T, p, Y, vol, ln_kappa, eta, phases_status, o);
    Heat<M, R> heat;
    R p_k[NS], U_k[NS]; // (dp/dn_k)/(RT), dU/dn_k at constant T, V
    {
        Attraction<M, R> at;
        IdealEnergies<M, R> ideal;
        Phase<M, R> whole;
        Energy<M, R> in;
        attraction_at(m, o.s.T, at);
        ideal_energies(m, at, ideal);
        heat_of_one(m, o.moles.z, o.s, whole, in, heat);
        FOR_SPECIES (k, NS) {
            p_k[k] = slope_of_p(m, at, whole, k);
            U_k[k] = ideal.u[k] + slope_of_energy(m, at, whole, in, k);
        }
    }
    if (any_of(o.two)) {
        Parts<M, R> parts;
        Coupled<M, R> system;
        R e[N], k_V[N], v_by_T[NS], l_by_T[NS], v_by_V[NS], l_by_V[NS];
        parts_of(m, o.moles.z, o.s, parts);
        coupled_system(m, parts, system);
        heat_of_two(m, parts, system, o.two, e, k_V, o.s, heat);
        const auto changes = [&](const R *y, R *of_v, R *of_l) {
            R moved[NS];
            FOR_SPECIES (k, NS) moved[k] = parts.weight[k] * y[k];
            curvature_times(m, parts.at, parts.of_v, moved, of_v);
            curvature_times(m, parts.at, parts.of_l, moved, of_l);
        };
        changes(e, v_by_T, l_by_T);
        changes(k_V, v_by_V, l_by_V);
        const R k_l = system.part_v - moved_volume(system, k_V); // 1 + k_V[NS], of the liquid's volume
        FOR_SPECIES (k, NS) {
            const R kappa = exp(within(o.s.ln_kappa[k], 300.0));
            const R of_l = 1.0 / (1.0 + kappa);
            const R of_v = kappa * of_l;
            const R P_v = slope_of_p(m, parts.at, parts.of_v, k);
            const R P_l = slope_of_p(m, parts.at, parts.of_l, k);
            const R U_v = slope_of_energy(m, parts.at, parts.of_v, parts.in_v, k);
            const R U_l = slope_of_energy(m, parts.at, parts.of_l, parts.in_l, k);
            const R by_V = of_v * (v_by_V[k] - P_v * k_V[NS]) - of_l * (l_by_V[k] - P_l * k_l);
            const R by_T = of_v * (v_by_T[k] - P_v * e[NS]) - of_l * (l_by_T[k] - P_l * e[NS]);
            p_k[k] = select(o.two, by_V, p_k[k]);
            U_k[k] = select(o.two, R(parts.ideal.u[k] + of_v * U_v + of_l * U_l - by_T), U_k[k]);
        }
    }
    const R Tp_T = p + heat.U_V;
    const R inv_P_V = -1.0 / heat.P_V;
    FOR_SPECIES (k, NS) {
        const R v_k = p_k[k] * inv_P_V;
        const R h_k = U_k[k] + Tp_T * v_k;
        double shift = 0.0;
        if constexpr (M::translated) shift = m.shift_mass[k];
        v_Y.set(k, R(v_k * m.inv_W[k] - shift));
        h_Y.set(k, R(h_k * m.inv_W[k] - p * shift));
        e_Y.set(k, R((h_k - p * v_k) * m.inv_W[k]));
    }
}

// ln(f_k/(z_k p)), which is the same in both phases
template <class M, class R, class Species, class Kappas, class Out>
POINT_FN void equilibrium_fugacity(const M &m, const R T, const R p, const Species &Y, const R vol,
                                   const Kappas &ln_kappa, const R eta, const R phases_status, Out &ln_phi) {
    constexpr int NS = M::NS;
    Known<M, R> o;
    known_state(m, T, p, Y, vol, ln_kappa, eta, phases_status, o);
    R F[NS];
    {
        Attraction<M, R> at;
        Phase<M, R> whole;
        attraction_at(m, o.s.T, at);
        phase_sums<false>(m, at, o.moles.z, whole);
        place_phase(m, o.s.V, whole);
        phase_slopes(m, at, whole);
        phase_fugacities(m, at, whole, R(-log(p * whole.free * at.inv_RT)), F);
    }
    if (any_of(o.two)) {
        Parts<M, R> parts;
        R F_v[NS], F_l[NS];
        parts_of(m, o.moles.z, o.s, parts);
        const R ideal_v = log(parts.at.RT * parts.of_v.inv_free / p);
        const R ideal_l = log(parts.at.RT * parts.of_l.inv_free / p);
        phase_fugacities(m, parts.at, parts.of_v, ideal_v, F_v);
        phase_fugacities(m, parts.at, parts.of_l, ideal_l, F_l);
        FOR_SPECIES (k, NS) {
            // n_k/z_k: kappa/(1 + kappa) of the vapour, 1/(1 + kappa) of the liquid. The phase that has more of it
            const R bounded = within(o.s.ln_kappa[k], 300.0);
            const R ln_share = -log(1.0 + exp(-fabs(bounded)));
            F[k] = select(o.two, R(ln_share + select(bounded > 0.0, F_v[k], F_l[k])), F[k]);
        }
    }
    FOR_SPECIES (k, NS) {
        R translated = F[k];
        if constexpr (M::translated) translated -= p * (m.shift_mass[k] * m.W[k]) / (R_UNIVERSAL * o.s.T);
        ln_phi.set(k, translated);
    }
}

// Second derivatives of F = A_res/(RT) in the amounts, of one mole at T and rho as one phase, whether it is stable or
// not
template <class M, class R, class Species, class Out>
POINT_FN void equilibrium_curvature(const M &m, const R T, const R rho, const Species &Y, Out &F_nn) {
    constexpr int NS = M::NS;
    Moles<M, R> moles;
    Attraction<M, R> at;
    Phase<M, R> whole;
    Curvature<M, R> c;
    moles_of(m, Y, moles);
    attraction_at(m, known_temperature(T), at);
    phase_sums<false>(m, at, moles.z, whole);
    place_phase(m, R(moles.W / select(rho > 0.0, rho, R(NOT_A_NUMBER)) + moles.shift), whole);
    phase_slopes(m, at, whole);
    curvature_of<false>(m, at, whole, R(1.0), c);
    FOR_SPECIES (i, NS) {
        for (int j = 0; j < NS; ++j) F_nn.set(i * NS + j, curvature_element(m, at, whole, c, i, j));
    }
}
