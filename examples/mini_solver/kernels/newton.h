// Newton's method at many points at the same time.
#pragma once
#include "gas/equations/inversion.h"

// T += change_at(T) where `open`, at most STEPS times, until the change is rounding. A step is at least -down T and at
// most up T. A converged point is not changed any more, so that its result does not depend on its neighbours.
template <int STEPS, class R, class Open, class Change>
POINT_FN void newton(R &T, Open open, const double down, const double up, const Change &change_at) {
    for (int step = 0; step < STEPS; ++step) {
        const R change = change_at(T);
        const R next = T + smaller(larger(change, -down * T), up * T);
        const auto done = fabs(change) < 1e-14 * T;
        T = select(open, next, T);
        open = open && !done;
        if (everywhere(!open)) break;
    }
}
