// The clock of a flow: time, steps taken, and the length of the next step from the largest rates of the state. It lies
// where the kernels are, so that several steps can be queued, and no host waits between them.
//
// A step beyond the time that is asked for has length 0, and so has every step after a state without a time step: the
// other kernels leave such a flow as it is.
#pragma once
#include "engine/numbers/launch.h"

enum { LENGTH, TIME, STEPS, UNTIL, REACHED, LIMIT, CFL, LAST, FAILED }; // of the clock, as clock.py has them
typedef unsigned long long Bits;                                        // of a double

// board: of this rank, where each rank has a line for messages of even and one for messages of odd number: rates, then
// the number. boards: of all ranks. count: messages so far. late: 1 + the rank that was waited for in vain, the
// number, and the number seen.
struct NextStep {
    double *clock, *rates;
    double cfl, fourier, time_step;
    long viscous, ranks, rank, patience;
    volatile Bits *boards[MOST_RANKS];
    volatile Bits *board;
    Bits *count;
    long *late;
};

#ifdef ON_DEVICE
// The largest rates of all ranks; their bits are ordered as they are, a NaN above all. Two lines suffice: a rank that
// writes message n + 2 has read all messages n + 1, which their ranks wrote after they had read n.
POINT_FN void largest_of_all(const NextStep &a) {
    const Bits number = ++*a.count;
    const long parity = number & 1;
    Bits *mine = (Bits *)a.rates;
    for (int r = 0; r < a.ranks; ++r) {
        volatile Bits *line = a.boards[r] + (2 * a.rank + parity) * LINE;
        for (int v = 0; v <= a.viscous; ++v) line[1 + v] = mine[v];
    }
    __threadfence_system();
    for (int r = 0; r < a.ranks; ++r) a.boards[r][(2 * a.rank + parity) * LINE] = number;
    for (int r = 0; r < a.ranks; ++r) {
        volatile Bits *line = a.board + (2 * r + parity) * LINE;
        for (long looks = 0; line[0] < number && looks < a.patience && !a.late[0]; ++looks) __nanosleep(100);
        if (line[0] < number && !a.late[0]) a.late[1] = number, a.late[2] = line[0], a.late[0] = 1 + r;
    }
    __threadfence_system();
    for (int r = 0; r < a.ranks; ++r)
        for (int v = 0; v <= a.viscous; ++v) {
            const Bits theirs = a.board[(2 * r + parity) * LINE + 1 + v];
            mine[v] = theirs > mine[v] ? theirs : mine[v];
        }
    if (a.late[0]) a.clock[FAILED] = 1.0;
}
#endif

// One item. The rates are 0 afterwards, for the next search.
POINT_FN void next_step_item(const NextStep &a, const long) {
#ifdef ON_DEVICE
    if (a.ranks > 1) largest_of_all(a);
#endif
    const double waves = a.rates[0];
    const double diffusion = a.viscous ? a.rates[1] : 0.0;
    const double infinite = 1.0 / 0.0;
    for (int v = 0; v <= a.viscous; ++v) a.rates[v] = 0.0;
    double *clock = a.clock;
    clock[LENGTH] = 0.0;
    if (!(waves < infinite && diffusion < infinite)) clock[FAILED] = 1.0;
    if (clock[FAILED] != 0.0 || clock[TIME] >= clock[REACHED]) return;
    double length = a.cfl / waves;
    if (diffusion > 0.0 && a.fourier / diffusion < length) length = a.fourier / diffusion;
    if (a.time_step > 0.0) length = a.time_step;
    if (clock[LIMIT] < length) length = clock[LIMIT];
    if (clock[UNTIL] - clock[TIME] < length) length = clock[UNTIL] - clock[TIME];
    clock[LENGTH] = clock[LAST] = length;
    clock[CFL] = length * waves;
    clock[TIME] += length;
    clock[STEPS] += 1.0;
}

ITEM_KERNEL(next_step, NextStep, 1, next_step_item)
