#pragma once
template <class M, class R> POINT_FN void twice_T(const M &, const R T, R &p) { p = 2.0 * T; }
