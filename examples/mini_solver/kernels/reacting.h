// A cell of a cubic equation of state as a closed adiabatic reactor at constant volume; see cell.h.
#pragma once
#include "cell.h"
#include "flow.h"

template <class M, class R, class Species>
POINT_FN void cell_reactor(const M &m, R &T, R &p, const Species &rho_k, const R e_vol, const R reaction_time,
                           R &reaction_status, R &reaction_steps) {
    const auto state = [&](const auto &z, R &reached, R &p_then) {
        flow_temperature_e(m, e_vol, z, reached);
        const R root_T = sqrt(known_temperature(reached));
        const R inv_root = 1.0 / root_T;
        const auto eos = shape(m, delta_of(m, z));
        const FlowSums<R> f = flow_sums(m, reached, root_T, inv_root, z, pair_sums<M, R>(m, z));
        p_then = flow_at(m, reached, z, f, eos).p;
    };
    react_cell(m, state, T, p, rho_k, reaction_time, reaction_status, reaction_steps);
}
