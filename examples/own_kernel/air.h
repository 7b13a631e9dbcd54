// A host's own kernels: an ideal gas whose heat capacity grows linearly with T, and Sutherland's viscosity.
#pragma once

constexpr double AIR_R = 287.05, AIR_CV = 690.0, AIR_CV_SLOPE = 0.09; // J/kg/K, J/kg/K, J/kg/K2

// e = AIR_CV T + AIR_CV_SLOPE T^2/2 solved for T by Newton from the T that comes in; p = rho R T. An error eps in T
// becomes about 0.05 eps^2 in a step, so 4 steps take a start value wrong by half to rounding.
template <class M, class R> POINT_FN void air_ideal_gas(const M &, const R rho, const R e, R &T, R &p) {
    UNROLL
    for (int step = 0; step < 4; ++step)
        T = T - (T * (AIR_CV + 0.5 * AIR_CV_SLOPE * T) - e) / (AIR_CV + AIR_CV_SLOPE * T);
    p = rho * AIR_R * T;
}

template <class M, class R> POINT_FN void air_sutherland(const M &, const R T, R &mu) {
    mu = 1.458e-6 * T * sqrt(T) / (T + 110.4);
}
