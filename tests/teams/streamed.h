#pragma once

template <class M, class I> POINT_FN void streamed_triad(const M &m, const I i) {
    m.a(i) = m.b(i) + m.s * m.c(i);
    m.k(i) = m.from(i);
}

template <class M, class I, class J> POINT_FN void streamed_pairs(const M &m, const I i, const J j) {
    m.a(i, j) = m.b(i, j) + as_number(i) - as_number(j);
}

template <class M, class Team> POINT_FN void streamed_rows(const M &m, const Team &team) {
    const long i = team.league_rank();
    const auto row = subview(m.a, i, ALL);
    team.for_vector(m.M, [&](auto j) { row(j) = m.b(i, j); });
    single_per_team(team, [&] { m.first(i) = m.b(i, 0); });
}

template <class M, class I, class S> POINT_FN void streamed_sums(const M &m, const I i, S &sum, bool last) {
    if (last) m.a(i) = sum;
    sum += m.b(i);
}
