// Bodies for test_team_scan_bodies.py: scans whose sum is a plain number, as Kokkos' are.
#pragma once

template <class M> POINT_FN void plain_places(const M &m, const int i, long &sum, const bool last) {
    if (m.v(i) < 0) return;
    if (last) m.at(sum) = i;
    sum++;
}
template <class M> POINT_FN void plain_places_of_int(const M &m, const int i, int &sum, const bool last) {
    if (m.v(i) < 0) return;
    if (last) m.at(sum) = i;
    sum++;
}
template <class M> POINT_FN void plain_sums(const M &m, const long i, scalar &sum, const bool last) {
    sum = sum + m.v(i);
    if (last) m.to(i) = sum;
}
template <class M> POINT_FN void plain_most(const M &m, const long i, long &most, const bool last) {
    if (m.v(i) > most) most = m.v(i);
    if (last) m.at(i) = most;
}
template <class M> POINT_FN void plain_wide(const M &m, const long i, int &sum, const bool last) {
    sum = int(unsigned(sum) + unsigned(m.v(i))); // begins again behind the largest number
    if (last) m.at(i) = sum;
}
