// What an equation of state gives to its phases beside the cubic of its root w (phase.h): the functions of
// EquationOf<M>, chosen here and nowhere else. An equation that lacks one of them does not compile.
//
// The volume V of a phase is that of the equation. Its least value, at infinite pressure, is linear in the amounts;
// room = V - least is positive in every state, as free = w - B is.
#pragma once
#include "gas/phases/attraction.h"
#include "gas/equations/inversion.h"

// T of one phase by six bodies with a common name: of inversion.h, or of mapped.h
#define TEMPERATURES_OF_ONE_PHASE(body) \
    template <class... A> static POINT_FN void from_e_rho(A &&...a) { body##_from_e_rho(a...); } \
    template <class... A> static POINT_FN void from_e_rho_start(A &&...a) { body##_from_e_rho_start(a...); } \
    template <class... A> static POINT_FN void from_h_p(A &&...a) { body##_from_h_p(a...); } \
    template <class... A> static POINT_FN void from_h_p_start(A &&...a) { body##_from_h_p_start(a...); } \
    template <class... A> static POINT_FN void from_s_p(A &&...a) { body##_from_s_p(a...); } \
    template <class... A> static POINT_FN void from_s_p_start(A &&...a) { body##_from_s_p_start(a...); }

template <class M, bool MAPPED> struct PhaseEquation;
template <class M> using EquationOf = PhaseEquation<M, M::mapped>;

// A root that is not that of the lower Gibbs energy: lean > 0 makes it the smallest of several, lean < 0 the largest,
// by what it adds to the Gibbs energy of a root u; 0 leaves it. more: what the equation adds itself, as free_root has
// it.
constexpr double LEAN = 1e6;
template <class More, class R> struct Leaning {
    More more;
    R lean;

    template <class Shape> POINT_FN R gibbs(const Shape &eos, const R A, const R B, const R u) const {
        R sum = lean * u;
        if constexpr (!is_absent<More>) sum += more.gibbs(eos, A, B, u);
        return sum;
    }
};

template <class More, class R> POINT_FN Leaning<More, R> leaning(const More &more, const R lean) {
    return {more, lean};
}

template <class PackOf, class More, class R> POINT_FN auto piece(const PackOf &pack_of, const Leaning<More, R> &of) {
    return leaning(piece(pack_of, of.more), pack_of(of.lean));
}

// free of one mole at T and p
template <class M, class R, class F, class More>
POINT_FN R leaning_root(const M &m, const R T, const R p, const F &f, const More &more, const R lean) {
    const R RT = R_UNIVERSAL * T;
    const R inv = 1.0 / (RT * p);
    const R inv_RT = inv * p;
    const R A = f.D * inv_RT * (inv_RT * p);
    const R B = f.B * (inv_RT * p);
    return free_root(m, A, B, delta_of(m, f), leaning(more, lean)) * (inv * RT * RT);
}

// The root is the volume: least = B, room = free. F has no further parts.
template <class M> struct PhaseEquation<M, false> {
    static constexpr double HIGHEST = 1e300;     // pressure [Pa]
    template <class R> struct Parts {};          // what a phase keeps
    template <class R> struct CurvatureParts {}; // and its second derivatives

    // Least volume of a mole of species k
    template <class R> static POINT_FN R least(const M &m, const R, const int k) { return R(m.phase_b[k]); }

    // The volume at the critical point of the cubic
    template <class R> static POINT_FN R critical_volume(const M &m, const R, const R *, const R B) {
        return m.phase_critical[0] * B;
    }

    template <class R, class F> static POINT_FN void add_sums(const M &, const R, const R *, F &f) { f.least = f.B; }

    // free from V and room, and the other way round
    template <class F> static POINT_FN void place(const M &, F &f) { f.free = f.room; }
    template <class F> static POINT_FN void measure(F &f) {
        f.room = f.free;
        f.V = f.free + f.B;
    }

    // free of one mole at T and p: of several roots that of the lower Gibbs energy, or that of the lean
    template <class R, class F, class Lean>
    static POINT_FN R root(const M &m, const R T, const R p, const F &f, const Lean &lean) {
        if constexpr (is_absent<Lean>) {
            R Z, V, free;
            cubic_root(m, T, p, R(R_UNIVERSAL), f.D, f.B, R(0.0), delta_of(m, f), Z, V, free);
            return free;
        } else return leaning_root(m, T, p, f, Absent(), lean);
    }

    // ln of the ratio of free of two phases from that of room, eta
    template <class R, class F> static POINT_FN R log_of_free(const R eta, const F &, const F &) { return eta; }

    // The parts' terms in what phase.h, curvature.h, direct.h and entropy.h compute
    template <class R, class F> static POINT_FN void add_stiffness(const Attraction<M, R> &, F &) {}
    template <class R, class F> static POINT_FN void add_pressure_slopes(const M &, const Attraction<M, R> &, F &) {}
    template <class R, class F> static POINT_FN void add_energy_slopes(const M &, const R, const R, F &) {}
    template <class R, class F>
    static POINT_FN void add_fugacities(const M &, const Attraction<M, R> &, const F &, R *) {}
    template <class R, class F, class E>
    static POINT_FN void add_energy(const M &, const Attraction<M, R> &, const F &, E &) {}
    template <class R, class F> static POINT_FN void add_entropy(const Attraction<M, R> &, const F &, R &) {}
    template <class R, class F> static POINT_FN void add_pull(const Attraction<M, R> &, const F &, R &) {}
    template <class R, class F> static POINT_FN void add_swelling(const F &, const R, R &) {}

    template <class R, class F, class C>
    static POINT_FN void add_curvature(const M &, const Attraction<M, R> &, const F &, const R, C &) {}
    template <class R, class F, class C>
    static POINT_FN void add_element(const M &, const F &, const C &, const int, const int, R &) {}
    template <class R, class F, class C>
    static POINT_FN void add_product(const M &, const F &, const C &, const R *, R *) {}

    TEMPERATURES_OF_ONE_PHASE(temperature)
    template <class R, class Species>
    static POINT_FN void from_p_rho(const M &m, const R p, const R rho, const Species &Y, const R R_s, const R T_start,
                                    R &T, R &unconverged) {
        R Z, vol, free;
        temperature_from_p_rho_start(m, p, rho, Y, R_s, T_start, T, unconverged, Z, vol, free);
    }
};

// Least volume of the amounts x
template <class M, class R> POINT_FN R least_volume(const M &m, const R T, const R *x) {
    R sum = R(0.0);
    FOR_SPECIES (k, M::NS) sum += x[k] * EquationOf<M>::least(m, T, k);
    return sum;
}
