// Tensor expressions by stages: the statements of an entry one after the other, what lies between in shared memory.
// Products run on the FP64 matrix units; a lane reads what the unit takes from it. render_stages.py writes the loops.
#pragma once
#include "numbers/launch.h"
#include "numbers/multiply_add.h"

extern __shared__ double shared_memory[];

// An output that nothing reads again does not displace others in the caches.
POINT_FN void leave(double *to, double value) { __stcs(to, value); }

// The second cache is asked for what will be read.
POINT_FN void ask(const double *from) {
#ifndef FRAME_STAND_IN
    asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
#else
    (void)*(const volatile double *)from; // outside of an array it fails, as it would there
#endif
}

// A lane's two neighbouring numbers of a row, in one load of 16 bytes.
POINT_FN void pair(const double *from, double &first, double &second) {
    const double2 both = *(const double2 *)from;
    first = both.x, second = both.y;
}

// The column of a tile of eight that the unit takes from lane `row`, so that what it gives back to the lanes of a row
// lies side by side in fours: column 2 k is k there, column 2 k + 1 is k + 4.
POINT_FN int column_of(int row) { return (row >> 1) + 4 * (row & 1); }
