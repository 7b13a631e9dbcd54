// Bodies of gpu_teams.py: additions to elements that many threads change.
#pragma once

// an atomic for each thread, joined by nobody
template <class M, class I> POINT_FN void in_turns(const M &m, const I i) { atomic_fetch_add(m.h(m.k(i)), 1); }
// lanes of a warp join what they bring to one element
template <class M, class I> POINT_FN void joined(const M &m, const I i) { atomic_add(m.h(m.k(i)), 1); }
// by a scattered array
template <class M, class I> POINT_FN void scattered(const M &m, const I i) { m.h(m.k(i)) += 1; }
// in branches: a third of the lanes
template <class M, class I> POINT_FN void third_in_turns(const M &m, const I i) {
    if (i % 3 == 0) atomic_fetch_add(m.h(m.k(i)), 1);
}
template <class M, class I> POINT_FN void third_joined(const M &m, const I i) {
    if (i % 3 == 0) atomic_add(m.h(m.k(i)), 1);
}
// A(i, j) = 1000 i + j, beside what is changed
template <class M, class I, class J> POINT_FN void tiled(const M &m, const I i, const J j) {
    m.A(i, j) = 1000.0 * as_number(i) + as_number(j);
    m.seen(i, j) += 1.0;
}
// a transposition
template <class M, class I, class J> POINT_FN void across(const M &m, const I i, const J j) { m.A(i, j) = m.B(i, j); }
// the same in tiles of 32 x 8, 2^shift of them one below the other, then the next ones along a row: pieces of columns
// that are written at about the same time are longer
template <class M, class T> POINT_FN void in_strips(const M &m, const T t) {
    const unsigned tile = unsigned(t / 256), k = unsigned(t % 256), high = unsigned(m.shift);
    const unsigned row = unsigned((m.J + 7) / 8) << high, strip = tile / row, rest = tile - strip * row;
    const long i = (long(strip << high) + (rest & ((1u << high) - 1))) * 32 + k / 8, j = long(rest >> high) * 8 + k % 8;
    if (i < m.I && j < m.J) m.A(i, j) = m.B(i, j);
}
