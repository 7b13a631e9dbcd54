// Bodies for test_team_users.py, as solvers have them.
#pragma once

// L x = b of many small systems, one for each member, column by column in its scratch
template <class M, class Team> POINT_FN void substituted(const M &m, const Team &team) {
    const long e = team.league_rank() * team.size() + team.rank();
    if (e >= m.E) return;
    const auto member = team.member();
    const auto s = member.scratch(m.s);
    member.for_vector(m.N, [&](auto i) { s(i) = m.b(e, i); });
    for (int k = 0; k < m.N; ++k) {
        const scalar x = s(k) / m.L(e, k, k);
        single_per_member(member, [&] { m.x(e, k) = x; });
        member.for_vector(m.N - k - 1, [&](auto i) { s(k + 1 + i) -= m.L(e, k + 1 + i, k) * x; });
    }
}

// y = A x, rows in compressed form: members over rows, lanes over a row
template <class M, class Team> POINT_FN void sparse(const M &m, const Team &team) {
    const long first = team.league_rank() * m.rows;
    team.for_each(min(m.rows, m.n - first), [&](int r) {
        const long i = first + r;
        const long begin = m.row(i);
        double sum;
        reduce(
            team.member().vector(m.row(i + 1) - begin),
            [&](auto k, auto &s) { s += m.value(begin + k) * m.x(m.column(begin + k)); }, sum);
        single_per_member(team.member(), [&] { m.y(i) = sum; });
    });
}

// charges on a grid, each in parts to two nodes
template <class M> POINT_FN void deposited(const M &m, int p) {
    const int at = m.cell(p);
    m.charge(at) += 1 - m.weight(p);
    m.charge(at + 1) += m.weight(p);
    m.count(0) += 1;
}

// arrays of several types of numbers that are read and written
template <class M, class I, class S> POINT_FN void of_all_types(const M &m, I i, S &sum) {
    const auto narrow = m.narrow(i);
    const auto k = m.k(i);
    m.wide(i) = 2.0 * narrow + 0.5 * k + sqrt(narrow) + select(k > 1.5, narrow, 0.25) + max(narrow, 1.0);
    m.narrow(i) = m.wide(i) - k;
    m.k(i) = k * 3 + m.big(i) % 7;
    m.big(i) = (m.big(i) >> 1) ^ 5;
    sum += m.narrow(i);
}
