// From the variables that a finite-volume code conserves to density, composition, velocity and internal energy. What
// follows from these (T, p, rates) is chosen by name, in the same launch.
#pragma once
#include "engine/numbers/platform.h"

// rho = sum (rho Y)_s
template <class M, class R, class Densities>
POINT_FN void density_of_partial_densities(const M &, const Densities &rhoY, R &rho) {
    sum_over_species<M::NS>(rho, [&](const int s) INLINED { return rhoY[s]; });
}

// 1/rho; NaN where there is no density
template <class R> POINT_FN R specific_volume(const R rho) { return 1.0 / select(rho > 0.0, rho, R(NOT_A_NUMBER)); }

// Y_s = (rho Y)_s/rho
template <class M, class R, class Densities, class Out>
POINT_FN void fractions_of_partial_densities(const M &, const Densities &rhoY, const R rho, Out &Y) {
    const R vol = specific_volume(rho);
    FOR_SPECIES (s, M::NS) Y.set(s, rhoY[s] * vol);
}

// The same if the density of the last species is not given: Y_ns = 1 - sum of the others
template <class M, class R, class Densities, class Out>
POINT_FN void fractions_of_all_but_the_last(const M &, const Densities &rhoY_but_last, const R rho, Out &Y) {
    const R vol = specific_volume(rho);
    R rest = rho * vol;
    FOR_SPECIES (s, M::NS - 1) {
        const R y = rhoY_but_last[s] * vol;
        rest -= y;
        Y.set(s, y);
    }
    Y.set(M::NS - 1, rest);
}

// u = (rho u)/rho
template <class M, class R>
POINT_FN void velocity_of_momentum(const M &, const R rhou, const R rhov, const R rhow, const R rho, R &u, R &v, R &w) {
    const R vol = specific_volume(rho);
    u = rhou * vol;
    v = rhov * vol;
    w = rhow * vol;
}

// e = (rho E)/rho - (u^2 + v^2 + w^2)/2
template <class M, class R>
POINT_FN void energy_of_total_energy(const M &, const R rhoE, const R rho, const R u, const R v, const R w, R &e) {
    e = rhoE * specific_volume(rho) - 0.5 * (u * u + v * v + w * w);
}
