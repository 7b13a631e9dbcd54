#pragma once
// Indices read from arrays, over the indices of a launch and in teams.

// In formulas, beside the index itself, in both dimensions; k counts from m.first
template <class M, class I> POINT_FN void gathered(const M &m, const I i) {
    const auto k = m.k(i) - m.first;
    m.once(i) = m.x(k) + 2.0 * m.x(m.n - 1 - k);
    m.across(i) = m.A(k, i) + m.A(i, k);
    m.moved(k) = m.x(i);
    m.position(i) = k + i;
}

// An index may stand there twice
template <class M, class I> POINT_FN void tallied(const M &m, const I i) {
    atomic_add(m.count(m.k(i)), 1);
    atomic(m.count)(m.k(i)) += 2;
    m.sums(m.k(i)) += m.w(i);
}

// A sparse matrix times a vector: a team a row, its lanes over the entries
template <class M, class Team, class S> POINT_FN void sparse(const M &m, const Team &team, S &total) {
    const long row = team.league_rank(), first = m.rows(row), n = m.rows(row + 1) - first;
    scalar sum;
    reduce(team.vector(n), [&](auto e, auto &s) { s += m.values(first + e) * m.x(m.columns(first + e)); }, sum);
    single_per_team(team, [&] { m.y(row) = sum, total += n; });
}

// Each member a row of the team's, its lanes over the entries
template <class M, class Team> POINT_FN void sparse_rows(const M &m, const Team &team) {
    const long first = team.league_rank() * m.share, left = m.N - first;
    const auto member = team.member();
    team.for_each(left < m.share ? left : m.share, [&](long k) {
        const long at = m.rows(first + k), n = m.rows(first + k + 1) - at;
        scalar sum;
        reduce(member.vector(n), [&](auto e, auto &s) { s += m.values(at + e) * m.x(m.columns(at + e)); }, sum);
        single_per_member(member, [&] { m.y(first + k) = sum; });
    });
}
