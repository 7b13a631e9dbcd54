// Bodies of the kernels that reactor.py declares: slopes of rates (slopes.h), closed reactors and their Jacobians
// (closed_reactor.h), linear systems (linear_systems.h), reactors over a step (integration.h).
#pragma once
#include "gas/reactors/integration.h"

// The same bodies read other constants of an ideal gas than of a cubic equation, so each is declared twice.
#define OF_BOTH(name) \
    template <class... A> POINT_FN void ideal_##name(A &&...a) { name(a...); } \
    template <class... A> POINT_FN void cubic_##name(A &&...a) { name(a...); }
OF_BOTH(production_slopes)
OF_BOTH(slope_time)
OF_BOTH(volume_reactor)
OF_BOTH(pressure_reactor)
OF_BOTH(volume_jacobian)
OF_BOTH(pressure_jacobian)
OF_BOTH(volume_jacobian_product)
OF_BOTH(pressure_jacobian_product)
OF_BOTH(volume_implicit)
OF_BOTH(react_at_volume)
OF_BOTH(react_at_pressure)
OF_BOTH(react_at_volume_from_queue)
OF_BOTH(react_at_pressure_from_queue)
#undef OF_BOTH
