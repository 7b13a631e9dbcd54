#pragma once

template <class M, class I> POINT_FN void plain_real_index(const M &m, const I i) { m.h(floor(m.x(i))) += 1; }
template <class M> POINT_FN void plain_real_alone(const M &m, const long i) { m.h(8.0 * m.x(i)) += 1; }
template <class M, class I> POINT_FN void plain_chosen_index(const M &m, const I i) {
    m.h(select(m.x(i) > 0.5, 1, 0)) += 1;
}
template <class M> POINT_FN void plain_more(const M &m, const long i, const long j) { m.h(i) = m.x(j); }
