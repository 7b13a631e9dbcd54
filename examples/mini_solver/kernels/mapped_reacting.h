// A cell of equation `mapped` as a closed adiabatic reactor at constant volume; see cell.h.
#pragma once
#include "cell.h"
#include "mapped_flow.h"

template <class M, class R, class Species>
POINT_FN void mapped_cell_reactor(const M &m, R &T, R &p, const Species &rho_k, const R e_vol, const R reaction_time,
                                  R &reaction_status, R &reaction_steps) {
    const auto state = [&](const auto &z, R &reached, R &p_then) {
        MappedState<R> s;
        R e;
        mapped_flow_temperature_e(m, e_vol, z, reached);
        mapped_flow_at(m, reached, z, s, e);
        p_then = s.p;
    };
    react_cell(m, state, T, p, rho_k, reaction_time, reaction_status, reaction_steps);
}
