// A cell as a closed adiabatic reactor at constant volume, by the layer's integration (gas/reactors/integration.h). Its
// energy stays as it is to rounding: of what was integrated the composition is kept, and T is that of the energy with
// it. The cell keeps its state where the status is not 0, and its bits where the time is 0.
#pragma once
#include "gas/reactors/integration.h"

// state(z, T, p): T, which comes in within 30 %, and p of the cell's energy with partial densities z.
template <class M, class R, class Species, class State>
POINT_FN void react_cell(const M &m, const State &state, R &T, R &p, const Species &rho_k, const R reaction_time,
                         R &reaction_status, R &reaction_steps) {
    Integration<false, M, R> point(m);
    R(&z)[M::NS + 1] = point.z;
    R rho = R(0.0), sum = R(0.0);
    FOR_SPECIES (k, M::NS) {
        z[k] = rho_k[k];
        rho += z[k];
    }
    z[M::NS] = T;
    point.begin(m, rho, rho > 0.0, reaction_time);
    UNROLL_BY(1)
    for (double step = 0; step < m.react_most && any_of(point.active); step += 1) point.step(m);
    reaction_steps = point.steps;
    reaction_status = select(point.active, R(double(TOO_MANY_STEPS)), point.status);

    // the composition, with the density that the cell had
    FOR_SPECIES (k, M::NS) sum += z[k];
    const R scale = rho / sum;
    FOR_SPECIES (k, M::NS) z[k] = z[k] * scale;

    R reached = z[M::NS];
    R p_then;
    state(z, reached, p_then);
    const auto moved = reaction_steps > 0.0 && reaction_status <= 0.0;
    T = select(moved, reached, T);
    p = select(moved, p_then, p);
    FOR_SPECIES (k, M::NS) rho_k.set(k, select(moved, z[k], R(rho_k[k])));
}
