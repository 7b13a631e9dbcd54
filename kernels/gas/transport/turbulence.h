// Effective transport in a flow with an eddy viscosity muT, which the host's turbulence model supplies.
#pragma once

// mu_eff = mu + muT
template <class M, class R> POINT_FN void effective_viscosity(const M &, const R mu, const R muT, R &mu_eff) {
    mu_eff = mu + muT;
}

// lam_eff = lam + cp muT/Pr_t
template <class M, class R>
POINT_FN void effective_conductivity(const M &m, const R lam, const R cp, const R muT, R &lam_eff) {
    lam_eff = lam + cp * muT / m.Pr_t;
}

// D_eff = D + muT/(rho Sc_t), the same turbulent part for each species
template <class M, class R, class Species, class Out>
POINT_FN void effective_diffusion(const M &m, const Species &D, const R rho, const R muT, Out &D_eff) {
    const R turbulent = muT / (rho * m.Sc_t);
    FOR_SPECIES (k, M::NS) D_eff.set(k, D[k] + turbulent);
}
