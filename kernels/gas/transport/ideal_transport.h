// Viscosity and conductivity of dilute gases. Each species has a law mu(T); Wilke's and Mathur's rules mix them.
#pragma once
#include "gas/thermal/ideal_gas.h"

// Viscosity of a species: A T^1.5/(T + S) (Sutherland), or A T^n (power law).
template <class M, class R> POINT_FN R species_viscosity(const M &m, const R T, const R root_T, const R ln_T, int s) {
    if constexpr (M::viscosity_powerlaw) return m.viscosity_factor[s] * exp(m.viscosity_constant[s] * ln_T);
    else return m.viscosity_factor[s] * (T * root_T) / (T + m.viscosity_constant[s]);
}

// Wilke 1950 and Mathur, Tondon & Saxena 1967 (originals not seen):
//   mu = sum_i x_i mu_i/sum_j x_j phi_ij, phi_ij = (1 + sqrt(mu_i/mu_j) (W_j/W_i)^(1/4))^2/sqrt(8 (1 + W_i/W_j))
//   lam = (sum_i x_i lam_i + 1/sum_i(x_i/lam_i))/2, lam_i = mu_i (cp_i + 5/4 R/W_i) (Eucken)
// Y_i/W_i replaces x_i in mu: the factor W cancels. With r_i = sqrt(mu_i)/W_i^(1/4) one root for each species is
// enough, and only r_i and 1/r_i are stored.
template <class M, class R, class Species>
POINT_FN void wilke_transport(const M &m, R T, const Species &Y, const R W, R &mu, R &lam) {
    T = known_temperature(T);
    const R root_T = sqrt(T);
    R ln_T = T;
    if constexpr (M::viscosity_powerlaw) ln_T = log(T);

    // Laws of the species, and the two means of lam.
    R r[M::NS], inv_r[M::NS], series = R(0.0), parallel = R(0.0);
    FOR_SPECIES (s, M::NS) {
        const R moles = Y[s] * m.inv_W[s];
        const R viscosity = species_viscosity(m, T, root_T, ln_T, s);
        const R conductivity = viscosity * (species_cp(m, T, s) + m.eucken[s]);
        series += moles * conductivity;
        parallel += moles / conductivity;
        r[s] = sqrt(viscosity) * m.wilke_mass[s];
        inv_r[s] = 1.0 / r[s];
    }

    lam = 0.5 * (W * series + 1.0 / (W * parallel));

    // mu, a double sum; mu_i x_i = W Y_i (r_i W_i^-1/4)^2
    mu = W * 0.0; // NaN where Y is not a composition
    FOR_SPECIES (i, M::NS) {
        R friction = R(0.0);
        FOR_SPECIES (j, M::NS) friction += Y[j] * square(1.0 + r[i] * inv_r[j]) * m.wilke_pair[i * M::NS + j];
        mu += Y[i] * square(r[i] * m.wilke_mass[i]) / friction;
    }
}
