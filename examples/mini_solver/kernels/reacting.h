// A cell as a closed adiabatic reactor at constant volume, by the layer's integration (point/integration.h). Its energy
// stays as it is to rounding: of what was integrated the composition is kept, and T is that of the energy with it. The
// cell keeps its state where the status is not 0, and its bits where the time is 0.
#pragma once
#include "flow.h"
#include "point/integration.h"

template <class M, class R, class Species>
POINT_FN void cell_reactor(const M &m, R &T, R &p, const Species &rho_k, const R e_vol, const R reaction_time,
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
    FOR_SPECIES (k, M::NS) sum += z[k];
    const R scale = rho / sum;
    FOR_SPECIES (k, M::NS) z[k] = z[k] * scale;
    const auto moved = reaction_steps > 0.0 && reaction_status <= 0.0;
    R reached = z[M::NS];
    flow_temperature_e(m, e_vol, z, reached);
    const R root_T = sqrt(known_temperature(reached)), inv_root = 1.0 / root_T;
    const auto eos = shape(m, delta_of(m, z));
    const R p_then = flow_at(m, reached, z, flow_sums(m, reached, root_T, inv_root, z, pair_sums<M, R>(m, z)), eos).p;
    T = select(moved, reached, T);
    p = select(moved, p_then, p);
    FOR_SPECIES (k, M::NS) rho_k.set(k, select(moved, z[k], R(rho_k[k])));
}
