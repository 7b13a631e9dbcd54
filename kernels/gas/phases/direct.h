// Two phases in equilibrium as functions of T and the total volume V of one mole, without a cubic to solve or a root to
// choose. Unknowns that cannot leave their domain:
//   ln kappa_i = ln(v_i/l_i)           amounts of vapour and liquid, v_i + l_i = z_i
//   eta = ln(room_v/room_l)            V less its least value (B of a cubic), whose sum is known
// Newton's method on equal fugacities and pressures, with T by the energy, and V by the pressure where this is given.
// Pure species are no special case. Derived from the Helmholtz energies of the phases; the same unknowns of state:
// Kumar, Sanderse et al. 2025 (original not seen).
#pragma once
#include "gas/phases/split.h"

constexpr double GONE = 1e-13; // a share of moles below which a phase has gone
constexpr int DIRECT_STEPS = 25;
// The next step that is not taken, in ln kappa, eta and ln T, where one phase is SOFT: -V dp/dV of its room over p. An
// error of the volume of two liquids is a large one of their pressure, and one of a volume that is held a large one of
// T: PRECISE
constexpr double PRECISE_BESIDE_GAS = 1e-10, SOFT = 10.0;
constexpr double SCARCE = 1e-3; // a share of moles below which a phase is given up that wanes:
constexpr int WANING = 3;       // in so many steps one after another all its amounts fall, in ln by WANES
constexpr double WANES = 0.5;

// One mole. With one phase ln kappa and eta are 0, or say where that was tested (settled.h).
template <class M, class R> struct State {
    R T, p, V; // V of the equation of state, before any translation
    R ln_kappa[M::NS], eta;
    R steps;              // evaluations of a phase
    bool carried;         // whether the caller keeps ln kappa and eta for the next call
    MaskOf<R> late;       // points that are put off (settled.h)
    MaskOf<R> on_the_way; // points of a search whose two phases are not looked at: those that end it are
};

// Both phases at T, V
template <class M, class R> struct Parts {
    Attraction<M, R> at;
    IdealEnergies<M, R> ideal;
    R v[M::NS], l[M::NS]; // amounts
    Weights<M, R> weight; // v_i l_i/z_i
    R beta, rest;         // sums of v and l
    R whole_room;         // of both
    Phase<M, R> of_v, of_l;
    Energy<M, R> in_v, in_l;
};

// Square roots of the feed, and 1 over them
template <class M, class R> struct Roots {
    R z[M::NS], inv_z[M::NS];
};

template <class M, class R> POINT_FN void roots_of(const M &, const R *z, Roots<M, R> &root) {
    FOR_SPECIES (k, M::NS) {
        root.z[k] = larger(R(sqrt(z[k])), R(LEAST_ROOT));
        root.inv_z[k] = inverse(root.z[k]);
    }
}

template <class M, class R>
POINT_FN void parts_of(const M &m, const R *z, const Roots<M, R> &root_of, const State<M, R> &s, Parts<M, R> &o) {
    attraction_at(m, s.T, o.at);
    ideal_energies(m, o.at, o.ideal);

    o.beta = o.rest = R(0.0);
    FOR_SPECIES (k, M::NS) {
        const R root = exp(0.5 * within(s.ln_kappa[k], 300.0));
        const R kappa = root * root;
        const R sum = 1.0 + kappa;
        const R both = inverse(R(root * sum));
        o.l[k] = z[k] * (root * both);
        o.v[k] = o.l[k] * kappa;
        o.weight.set(k, R(root_of.z[k] * (kappa * both)), R(root_of.inv_z[k] * (sum * sum * both)));
        o.beta += o.v[k];
        o.rest += o.l[k];
    }
    phase_sums<true>(m, o.at, o.v, o.of_v);
    phase_sums<true>(m, o.at, o.l, o.of_l);

    const R ratio = exp(within(s.eta, 300.0));
    o.whole_room = s.V - (o.of_v.least + o.of_l.least);
    const R room_l = o.whole_room * inverse(R(1.0 + ratio));
    place_room(m, room_l, o.of_l);
    place_room(m, R(room_l * ratio), o.of_v);
    phase_slopes(m, o.at, o.of_v);
    phase_slopes(m, o.at, o.of_l);
    phase_energy(m, o.at, o.ideal, o.v, o.of_v, o.in_v);
    phase_energy(m, o.at, o.ideal, o.l, o.of_l, o.in_l);
}

template <class M, class R> POINT_FN void parts_of(const M &m, const R *z, const State<M, R> &s, Parts<M, R> &o) {
    Roots<M, R> root;
    roots_of(m, z, root);
    parts_of(m, z, root, s, o);
}

// The second derivatives in v_i and V_v, for the changes y_i = dv_i/weight_i of the logarithms, and the columns of T
// and V:
//   y_i + sum_j (F_ij^v + F_ij^l) weight_j y_j + h_i dV_v = ..,  h_i = -(P_i^v + P_i^l),  H_VV = -(P_V^v + P_V^l)
//   c = (U_i^v - U_i^l, U_V^v - U_V^l), f = (P_i^l, P_V^l)
// V is eliminated first: a liquid is so much stiffer than a vapour of some pascals that its P_V, up to 1e15 times that
// of the vapour, would drown what is left. What remains of c and f is taken without these differences:
//   c_i - h_i c_V/H_VV;  f_i - h_i f_V/H_VV = (P_i^l P_V^v - P_i^v P_V^l)/P_V  with P_V = P_V^v + P_V^l
template <class M, class R> struct Coupled {
    static constexpr int NS = M::NS;
    static constexpr int N = NS + 1;
    AmountSystem<M, R> amounts; // what remains
    R h[NS], inv_H_VV;
    R c[NS], c_V, f[NS]; // what remains of c and f; c_V as above
    R part_v, part_l;    // P_V^v/P_V and P_V^l/P_V: f_V/H_VV is -part_l
    R C_v, U_V, P_V;     // of both phases at constant amounts, with equal pressures
    MaskOf<R> definite;
};

template <class M, class R> POINT_FN void coupled_system(const M &m, const Parts<M, R> &o, Coupled<M, R> &s) {
    constexpr int NS = M::NS;
    s.amounts.weight = o.weight;
    amounts_of_two<false>(m, o.at, o.of_v, R(1.0), o.of_l, R(1.0), s.amounts);

    // Volumes at equal pressures. Newton's method may pass phases that are not stable
    const R P_v = o.of_v.P_V;
    const R P_l = o.of_l.P_V;
    const R P_V = P_v + P_l;
    const auto stable = P_V < 0.0;
    const R inv_P_V = inverse(select(stable, P_V, R(-fabs(P_V) - 1e-300)));
    s.part_v = P_v * inv_P_V;
    s.part_l = P_l * inv_P_V;
    s.inv_H_VV = -inv_P_V;
    s.c_V = o.in_v.U_V - o.in_l.U_V;
    s.P_V = P_v * s.part_l;
    s.U_V = o.in_l.U_V * s.part_v + o.in_v.U_V * s.part_l;
    s.C_v = (o.in_v.C_v + o.in_l.C_v) + s.c_V * s.c_V * s.inv_H_VV * (1.0 / (o.at.RT * o.at.T));

    // What remains for the amounts
    FOR_SPECIES (i, NS) {
        const R P_i_v = slope_of_p(m, o.at, o.of_v, i);
        const R P_i_l = slope_of_p(m, o.at, o.of_l, i);
        const R U_i = slope_of_energy(m, o.at, o.of_v, o.in_v, i) - slope_of_energy(m, o.at, o.of_l, o.in_l, i);
        s.h[i] = -(P_i_v + P_i_l);
        s.c[i] = U_i - s.h[i] * (s.c_V * s.inv_H_VV);
        s.f[i] = P_i_l * s.part_v - P_i_v * s.part_l;
    }
    subtract_pressures(m, o.at, o.of_v, o.of_l, s.inv_H_VV, s.amounts);
    factorise_amounts(m, o.at, s.amounts);
    s.definite = s.amounts.definite && stable;
}

// sum of what both do to each other: a of forces, y of changes
template <class M, class R> POINT_FN R product(const Coupled<M, R> &s, const R *a, const R *y) {
    return weighted_product(s.amounts.weight, a, y);
}

// What a change y of the amounts does to V_v, at equal pressures
template <class M, class R> POINT_FN R moved_volume(const Coupled<M, R> &s, const R *y) {
    return s.inv_H_VV * product(s, s.h, y);
}

// The changes y by what remains of b, and b_V/H_VV
template <class M, class R>
POINT_FN void solve_coupled(const M &m, const Parts<M, R> &o, const Coupled<M, R> &s, const R *b, const R by_V, R *y) {
    solve_amounts(m, o.at, s.amounts, b, y);
    y[M::NS] = by_V - moved_volume(s, y);
}

// By c and by f
template <class M, class R> POINT_FN void solve_for_T(const M &m, const Parts<M, R> &o, const Coupled<M, R> &s, R *e) {
    solve_coupled(m, o, s, s.c, R(s.c_V * s.inv_H_VV), e);
}
template <class M, class R> POINT_FN void solve_for_V(const M &m, const Parts<M, R> &o, const Coupled<M, R> &s, R *k) {
    solve_coupled(m, o, s, s.f, R(-s.part_l), k);
}

// What is held beside the amounts: U and V, H and p, T and V, p and V, or T and p
enum class Fixed { U_V, H_p, T_V, p_V, T_p };

// energy: U, or H = U + p V [J/mol], V before any translation; otherwise unused, and NaN where Y is no composition
template <class M, class R> struct Given {
    R z[M::NS], energy;
};

// Newton's step: tau = dT/(RT^2), dV, and y, the changes of the amounts and of V_v, by -g + c tau - f dV. The rows of
// the energy and of the pressure give tau and dV.
template <class M, class R> struct Step {
    R y[M::NS + 1], tau, dV;
};

template <Fixed FIXED, class M, class R>
POINT_FN void coupled_step(const M &m, const Parts<M, R> &o, const Coupled<M, R> &s, const R *g, const R miss_energy,
                           const R miss_p, const R p, const R T, Step<M, R> &step) {
    constexpr int NS = M::NS;
    constexpr int N = NS + 1;
    R a[N], e[N], rest[NS], limit = 0.2 * o.at.inv_RT;
    const R by_V = g[NS] * s.inv_H_VV;
    FOR_SPECIES (i, NS) rest[i] = g[i] - s.h[i] * by_V;
    solve_coupled(m, o, s, rest, by_V, a);
    if constexpr (FIXED == Fixed::T_V) {
        step.tau = step.dV = R(0.0);
        UNROLL_FEW(few<N>())
        for (int i = 0; i < N; ++i) step.y[i] = -a[i];
        return;
    }
    const R of_p = miss_p - s.part_l * g[NS] + product(s, s.f, a);
    if constexpr (FIXED == Fixed::T_p) {
        R k[N];
        solve_for_V(m, o, s, k);
        const R nu = s.P_V + product(s, s.f, k);
        const R room = 0.5 * o.whole_room;
        step.tau = R(0.0);
        step.dV = larger(smaller(R(of_p * inverse(R(fabs(nu) + 1e-300))), room), R(-room));
        UNROLL_FEW(few<N>())
        for (int i = 0; i < N; ++i) step.y[i] = -(a[i] + k[i] * step.dV);
        return;
    }
    solve_for_T(m, o, s, e);
    const R mu = s.U_V + p - product(s, s.f, e); // T dp/dT
    if constexpr (FIXED == Fixed::p_V) {
        step.tau = larger(smaller(R(-of_p / mu), limit), R(-limit));
        step.dV = R(0.0);
        UNROLL_FEW(few<N>())
        for (int i = 0; i < N; ++i) step.y[i] = e[i] * step.tau - a[i];
        return;
    }
    const R of_energy = miss_energy - (s.c_V * by_V + product(s, s.c, a));
    const R alpha = s.C_v * (o.at.RT * T) + product(s, s.c, e);
    if constexpr (FIXED == Fixed::H_p) {
        R k[N];
        solve_for_V(m, o, s, k);
        const R nu = s.P_V + product(s, s.f, k);
        const R inv_determinant = -1.0 / (fabs(alpha * nu) + mu * mu);
        step.tau = (mu * of_p - nu * of_energy) * inv_determinant;
        step.dV = (mu * of_energy - alpha * of_p) * inv_determinant;
        const R room = 0.5 * o.whole_room;
        const R part =
            smaller(smaller(R(1.0), R(limit / (fabs(step.tau) + 1e-300))), R(room / (fabs(step.dV) + 1e-300)));
        step.tau = step.tau * part;
        step.dV = step.dV * part;
        UNROLL_FEW(few<N>())
        for (int i = 0; i < N; ++i) step.y[i] = e[i] * step.tau - a[i] - k[i] * step.dV;
    } else {
        step.tau = larger(smaller(R(-(of_energy * inverse(alpha))), limit), R(-limit));
        step.dV = R(0.0);
        UNROLL_FEW(few<N>())
        for (int i = 0; i < N; ++i) step.y[i] = e[i] * step.tau - a[i];
    }
}

// Whether a phase leaves the mixture: the ratios of amounts v_i/l_i all fall, or all grow, while there is little of it.
// Newton's method in their logarithms then takes step after step of about 1 and does not end.
template <class R> struct Waning {
    R steps = R(0.0); // one after another

    POINT_FN MaskOf<R> goes_on(const R least, const R most, const R beta, const R rest) {
        const auto wanes = (most < -WANES && beta < SCARCE) || (least > WANES && rest < SCARCE);
        steps = select(wanes, R(steps + 1.0), R(0.0));
        return steps > WANING - 0.5;
    }
};

// From the state s, for the points of `ask`: those found, with 0 < beta < 1. What is held stays; the others of T, p, V
// are found. gives_up: a phase that leaves is not followed to the end. ln_phi: of the liquid at the last step, if
// wanted
template <Fixed FIXED, class M, class R>
PART_FN MaskOf<R> direct(const M &m, const Given<M, R> &given, const MaskOf<R> ask, State<M, R> &s,
                         const bool gives_up = false, R *const ln_phi = nullptr) {
    constexpr int NS = M::NS;
    constexpr int N = NS + 1;
    constexpr bool PRESSURE = FIXED == Fixed::H_p || FIXED == Fixed::p_V || FIXED == Fixed::T_p;
    constexpr bool VOLUME = FIXED != Fixed::H_p && FIXED != Fixed::T_p;
    constexpr bool ENERGY = FIXED == Fixed::U_V || FIXED == Fixed::H_p;
    constexpr bool HOLDS_T = FIXED == Fixed::T_V || FIXED == Fixed::T_p;
    auto open = ask;
    auto found = nowhere<R>();
    R step_before = R(0.0); // of Newton's method
    Roots<M, R> root;
    roots_of(m, given.z, root);
    Waning<R> waning;
    if (ln_phi) {
        FOR_SPECIES (k, NS) ln_phi[k] = R(0.0);
    }

    UNROLL_BY(1)
    for (int count = 0; count < DIRECT_STEPS; ++count) {
        // State and residuals. That of the pressures is an error of volume: as an error of p a stiff liquid cannot meet
        // a tolerance.
        Parts<M, R> o;
        parts_of(m, given.z, root, s, o);
        s.steps += 2.0 * counted_in<R>(open);
        R F_v[NS], F_l[NS], g[N], size = R(0.0), apart = R(0.0), all = R(0.0);
        phase_fugacities(m, o.at, o.of_v, R(0.0), F_v);
        phase_fugacities(m, o.at, o.of_l, R(0.0), F_l);
        const R ln_free = EquationOf<M>::log_of_free(s.eta, o.of_v, o.of_l);
        const R pi_v = phase_pressure(o.at, o.of_v);
        const R pi_l = phase_pressure(o.at, o.of_l);
        FOR_SPECIES (k, NS) {
            g[k] = s.ln_kappa[k] - ln_free + (F_v[k] - F_l[k]);
            const auto there = given.z[k] > ABSENT;
            size = larger(select(there, R(fabs(g[k])), R(0.0)), size);
            apart = larger(select(there, R(fabs(s.ln_kappa[k] - ln_free)), R(0.0)), apart);
            all += fabs(g[k]);
        }
        g[NS] = pi_l - pi_v;
        R miss_energy = R(0.0);
        if constexpr (ENERGY) {
            const R U = o.in_v.U + o.in_l.U;
            miss_energy = (VOLUME ? U : R(U + s.p * s.V)) - given.energy;
            size = larger(R(fabs(miss_energy) / ((o.in_v.C_v + o.in_l.C_v) * s.T)), size);
        }
        const R miss_p = pi_l - s.p * o.at.inv_RT;
        const R stiffness = fabs(o.of_v.P_V) * o.of_v.V + fabs(o.of_l.P_V) * o.of_l.V;
        size = larger(R(fabs(g[NS]) / stiffness), size);
        if constexpr (PRESSURE) size = larger(R(fabs(miss_p) / stiffness), size);

        const auto gone = o.beta < GONE || o.rest < GONE || apart < SAME_PHASE;
        open = open && !gone && all + fabs(miss_energy) < 1e300 && o.whole_room > 0.0;
        if (everywhere(!open)) break;

        // Newton's step, as a step in ln kappa and eta
        Coupled<M, R> system;
        Step<M, R> step;
        coupled_system(m, o, system);
        coupled_step<FIXED>(m, o, system, g, miss_energy, miss_p, s.p, s.T, step);
        R d_kappa[NS], d_least = R(0.0), d_pi_v = R(0.0), d_pi_l = R(0.0);
        const R dV_v = step.y[NS];
        if constexpr (!HOLDS_T) {
            d_pi_v = o.in_v.U_V * step.tau;
            d_pi_l = o.in_l.U_V * step.tau;
        }
        R least = R(1e300), largest = R(-1e300); // of d ln kappa
        FOR_SPECIES (k, NS) {
            const R moved = o.weight[k] * step.y[k];
            d_least += EquationOf<M>::least(m, s.T, k) * moved;
            d_pi_v += slope_of_p(m, o.at, o.of_v, k) * moved;
            d_pi_l -= slope_of_p(m, o.at, o.of_l, k) * moved;

            d_kappa[k] = system.amounts.longer(k, step.y[k]);
            const auto there = given.z[k] > ABSENT;
            least = smaller(select(there, d_kappa[k], least), least);
            largest = larger(select(there, d_kappa[k], largest), largest);
        }
        d_pi_v += o.of_v.P_V * dV_v;
        d_pi_l += o.of_l.P_V * (step.dV - dV_v);
        if (gives_up) open = open && !waning.goes_on(least, largest, o.beta, o.rest);
        // eta = ln room_v - ln room_l
        const R dT = HOLDS_T ? R(0.0) : R(step.tau * o.at.RT * s.T);
        R d_room_v = dV_v - d_least;
        R d_room_l = step.dV - d_room_v;
        EquationOf<M>::add_swelling(o.of_v, dT, d_room_v);
        EquationOf<M>::add_swelling(o.of_l, dT, d_room_l);
        const R of_room_v = d_room_v * inverse(o.of_v.room);
        const R of_room_l = d_room_l * inverse(o.of_l.room);
        const R d_eta = of_room_v - of_room_l;
        R most = larger(larger(R(-least), largest), R(fabs(d_eta)));

        // The step within NEAR is the last, and the step that is known to lead there
        R cut = R(1.0);
        if (any_of(most > 2.0)) cut = smaller(cut, R(2.0 / most));
        most = larger(R(fabs(dT) / s.T), most);
        if constexpr (FIXED == Fixed::T_p) most = larger(larger(R(fabs(of_room_v)), R(fabs(of_room_l))), most);
        const R stiff_v = fabs(o.of_v.P_V) * o.of_v.room;
        const R stiff_l = fabs(o.of_l.P_V) * o.of_l.room;
        const auto soft = smaller(stiff_v, stiff_l) < SOFT * fabs(pi_v);
        constexpr double BESIDE_GAS = FIXED == Fixed::p_V || FIXED == Fixed::T_p ? PRECISE : PRECISE_BESIDE_GAS;
        const R precise = select(soft, R(BESIDE_GAS), R(PRECISE));
        const auto near = (size < NEAR && most < 1e-3) || is_last_step(most, step_before, precise);
        const auto last = open && (size < FLAT || (system.definite && near));
        step_before = select(system.definite, most, R(0.0));
        FOR_SPECIES (k, NS)
            s.ln_kappa[k] = select(open, R(s.ln_kappa[k] + cut * within(d_kappa[k], 300.0)), s.ln_kappa[k]);
        s.eta = select(open, R(s.eta + cut * d_eta), s.eta);
        s.T = select(open, R(s.T + cut * dT), s.T);
        if constexpr (!VOLUME) s.V = select(open, R(s.V + cut * step.dV), s.V);
        if constexpr (!PRESSURE) {
            const R pi = select(stiff_v < stiff_l, R(pi_v + d_pi_v), R(pi_l + d_pi_l));
            s.p = select(open, R(pi * (R_UNIVERSAL * s.T)), s.p);
        }
        if (ln_phi && any_of(last)) {
            // The liquid's own pressure before this step may be far off, or negative: it is stiff
            const R ideal = -log(s.p * o.at.inv_RT * o.of_l.free * inverse(o.rest));
            FOR_SPECIES (k, NS) ln_phi[k] = select(last, R(F_l[k] + ideal), ln_phi[k]);
        }
        // There is another zero where the equation is colder than it holds: a heat capacity is negative there
        found = found || (HOLDS_T ? last : last && o.in_v.C_v > 0.0 && o.in_l.C_v > 0.0);
        open = open && !last;
        if (everywhere(!open)) break;
    }
    return found;
}

// The same, for the few points of which that is not the first step
template <Fixed FIXED, class M, class R>
PHASE_PART MaskOf<R> direct_later(const M &m, const Given<M, R> &given, const MaskOf<R> ask, State<M, R> &s) {
    return direct<FIXED>(m, given, ask, s);
}
