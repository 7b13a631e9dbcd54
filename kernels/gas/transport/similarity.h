// Numbers of similarity: ratios of properties that other kernels compute.
#pragma once
#include "engine/numbers/platform.h"

// Pr = (mu/rho)/(lam/(rho cp))
template <class M, class R> POINT_FN void prandtl_number(const M &, const R mu, const R cp, const R lam, R &Pr) {
    Pr = mu * cp / lam;
}

// Le_k = (lam/(rho cp))/D_k
template <class M, class R, class Species, class Out>
POINT_FN void lewis_numbers(const M &, const R lam, const R rho, const R cp, const Species &D, Out &Le) {
    const R heat = lam / (rho * cp);
    FOR_SPECIES (k, M::NS) Le.set(k, heat / D[k]);
}
