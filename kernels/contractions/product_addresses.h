// Addresses of the matrices of a call of cuBLAS for many products, whose loops no step joins to one.
//
// Arguments: table: three rows of `count` addresses, one for each array; first: where the arrays begin; loops: how
// many, the slowest first; extent of each; step: bytes of each loop, array after array.
#pragma once
#include "engine/numbers/launch.h"

KERNEL(addresses, Arguments, 256) {
    const long item = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (item >= items) return;

    const int array = int(item / a.count);
    long rest = item % a.count, at = (long)a.first[array];
    for (int d = int(a.loops) - 1; d >= 0; --d) {
        at += rest % a.extent[d] * a.step[array * MOST_LOOPS + d];
        rest /= a.extent[d];
    }
    ((long *)a.table)[item] = at;
}
