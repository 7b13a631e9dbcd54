// A cell of an ideal gas as a closed adiabatic reactor at constant volume; see reacting.h.
#pragma once
#include "cell.h"
#include "ideal_flow.h"

template <class M, class R, class Species>
POINT_FN void ideal_cell_reactor(const M &m, R &T, R &p, const Species &rho_k, const R e_vol, const R reaction_time,
                                 R &reaction_status, R &reaction_steps) {
    const auto state = [&](const auto &z, R &reached, R &p_then) {
        ideal_flow_temperature_e(m, e_vol, z, reached);
        p_then = ideal_flow_N<R>(m, z) * reached;
    };
    react_cell(m, state, T, p, rho_k, reaction_time, reaction_status, reaction_steps);
}
