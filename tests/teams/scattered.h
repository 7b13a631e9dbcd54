// Bodies for test_team_scattered.py: sums to which any thread adds.
#pragma once

// a histogram: a count by whole numbers or real ones, and weights
template <class M, class I> POINT_FN void scattered(const M &m, const I i) {
    each_lane(i, [&](long k) {
        m.count(m.bin(k))++;
        m.weight(m.bin(k), k % 2) += m.v(k);
    });
    m.own(i) += m.v(i);
}

// each way to add; w is of the type of the sums
template <class M, class I> POINT_FN void each_way(const M &m, const I i) {
    each_lane(i, [&](long k) {
        m.added(m.bin(k)) += m.w(k);
        m.taken(m.bin(k)) -= m.w(k);
        ++m.counted(m.bin(k), 1);
    });
}

// the same by pairs of indices
template <class M, class I, class J> POINT_FN void of_pairs(const M &m, const I i, const J j) {
    each_lane(i * m.J + j, [&](long k) { m.added(m.bin(k / m.J, k % m.J)) += m.w(k / m.J, k % m.J); });
}

// by teams, with scratch and results beside
template <class M, class Team, class S> POINT_FN void of_teams(const M &m, const Team &team, S &sum) {
    const auto copy = team.scratch(m.copy);
    const long e = team.league_rank();
    team.for_each(m.n, [&](long k) { copy(k) = m.w(e, k); });
    team.barrier();
    team.for_vector(m.n, [&](auto k) { each_lane(k, [&](long k) { m.added(m.bin(e, k)) += copy(m.n - 1 - k); }); });
    long own;
    reduce(team.each(m.n), [&](long k, auto &s) { s += copy(k); }, own);
    single_per_team(team, [&] { sum += own; });
}
