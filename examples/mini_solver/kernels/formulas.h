// What formulas.py renders formulas of t with. NumPy's meaning of each, also of what is no number; true is 1, false 0.
#pragma once
#include "engine/numbers/launch.h"

POINT_FN double is(const bool b) { return b ? 1.0 : 0.0; }
POINT_FN double both_of(const double a, const double b) { return is(a != 0.0 && b != 0.0); }
POINT_FN double either_of(const double a, const double b) { return is(a != 0.0 || b != 0.0); }
POINT_FN double chosen(const double where, const double a, const double b) { return where != 0.0 ? a : b; }
POINT_FN double least_of(const double a, const double b) { return a < b || a != a ? a : b; }
POINT_FN double most_of(const double a, const double b) { return a > b || a != a ? a : b; }
POINT_FN double sign_of(const double a) { return a != a ? a : is(a > 0.0) - is(a < 0.0); }
POINT_FN double step_at(const double a, const double at_0) { return a != a ? a : a == 0.0 ? at_0 : is(a > 0.0); }
POINT_FN double modulo(const double a, const double b) {
    const double rest = fmod(a, b);
    return rest != 0.0 && (rest < 0.0) != (b < 0.0) ? rest + b : rest;
}
POINT_FN bool is_finite(const double v) { return v - v == 0.0; }

// The slab has FRINGE layers, all of which are given the same.
POINT_FN void set(const Given &a, double *row, const long n, const double v) {
    for (int layer = 0; layer < FRINGE; ++layer) row[layer * a.plane + n] = v;
}

POINT_FN double sum_of(const double (&Y)[NS]) {
    double sum = 0.0;
    for (int k = 0; k < NS; ++k) sum += Y[k];
    return sum;
}

POINT_FN bool is_composition(const double (&Y)[NS]) {
    bool positive = true;
    for (int k = 0; k < NS; ++k) positive = positive && Y[k] >= -1e-12;
    return positive && fabs(sum_of(Y) - 1.0) < 1e-6;
}

// Sum 1, none below 0; of mole fractions mass fractions.
POINT_FN void as_mass(double (&Y)[NS], const double *W) {
    for (int k = 0; k < NS; ++k) Y[k] = most_of(Y[k], 0.0);
    const double sum = sum_of(Y);
    for (int k = 0; k < NS; ++k) Y[k] = Y[k] / sum;
    if (!W) return;
    for (int k = 0; k < NS; ++k) Y[k] *= W[k];
    const double mass = sum_of(Y);
    for (int k = 0; k < NS; ++k) Y[k] /= mass;
}
