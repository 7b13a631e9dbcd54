// Whole numbers divided by extents that are known when a launch is bound.
#pragma once
#include "engine/numbers/launch.h"

// number / extent, for 0 <= number < 2^31, by a product with the reciprocal of reciprocals.py: a division takes some 20
// instructions.
POINT_FN int quotient(int number, long reciprocal, long shift) {
    const unsigned high = unsigned((unsigned long long)unsigned(number) * unsigned(reciprocal) >> 32);
    return int((high + unsigned(number)) >> int(shift));
}
