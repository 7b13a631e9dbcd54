// Bodies for test_team_as_written.py: what a user may write, beside the exercises.
#pragma once

// the least value of four indices, its place, and the sum
template <class M, class I, class J, class K, class L, class SUM, class LEAST>
POINT_FN void least_of_four(const M &m, const I i, const J j, const K k, const L l, SUM &sum, LEAST &least) {
    const auto x = m.v(i, j, k, l);
    least.join(x, ((i * m.J + j) * m.K + k) * m.L + l);
    sum += x;
}

// a histogram with weights
template <class M, class I> POINT_FN void weighted(const M &m, const I i) {
    each_lane(i, [&](long k) {
        m.count(m.bin(k))++;
        m.weight(m.bin(k)) += m.w(k);
    });
}
