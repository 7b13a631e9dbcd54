#pragma once

// ---- quiz

// What is the sum? Of every thread,
template <class M, class I, class S> POINT_FN void quiz_flat(const M &, const I, S &total) {
    long thread_sum = 0;
    for (int i = 0; i < 10; ++i) ++thread_sum;
    total += thread_sum;
}
// of every member of a team,
template <class M, class Team, class S> POINT_FN void quiz_team(const M &, const Team &, S &total) {
    long thread_sum = 0;
    for (int i = 0; i < 10; ++i) ++thread_sum;
    total += thread_sum;
}
// of every member, each of which has the sum of its team
template <class M, class Team, class S> POINT_FN void quiz_nested(const M &, const Team &team, S &total) {
    long team_sum = 0;
    reduce(
        team.each(team.size()),
        [&](long, auto &partial) {
            long thread_sum = 0;
            for (int i = 0; i < 10; ++i) ++thread_sum;
            partial += thread_sum;
        },
        team_sum);
    total += team_sum;
}

// ---- mdrange

// A(i, j) = 1000 i + j, and how often an entry is written
template <class M, class I, class J, class S>
POINT_FN void mdrange(const M &m, const I i, const J j, S &total, S &count) {
    const auto value = 1000.0 * as_number(i) + as_number(j);
    m.A(i, j) = value;
    m.written(i, j) += 1.0;
    total += value;
    count += 1.0;
}

// ---- subview

// The sum over v(at, :, a:b), a row of the part a thread
template <class M, class I, class S> POINT_FN void subview_sum(const M &m, const I j, S &total) {
    const auto s = subview(m.v, m.at, ALL, part(m.a, m.b));
    for (long k = 0; k < s.extent[1]; ++k) total += s(j, k);
}

// The same, a member a row and lanes over k
template <class M, class Team, class S> POINT_FN void subview_lanes(const M &m, const Team &team, S &total) {
    const auto s = subview(m.v, m.at, ALL, part(m.a, m.b));
    const long first = team.league_rank() * m.rows, left = m.J - first;
    const auto member = team.member();
    scalar own;
    reduce(
        team.each(left < m.rows ? left : m.rows),
        [&](long j, auto &rows) {
            scalar row;
            reduce(member.vector(s.extent[1]), [&](auto k, auto &sum) { sum += s(first + j, k); }, row);
            rows += row;
        },
        own);
    single_per_team(team, [&] { total += own; });
}

// ---- scan

// Exclusive prefix sums over all indices of a launch
template <class M, class I, class S> POINT_FN void scan_of_all(const M &m, const I i, S &sum, bool last) {
    if (last) m.before(i) = sum;
    sum += m.v(i);
}

// Exclusive prefix sums of 0 .. n-1: over the members, over members and lanes, over the lanes of each member
template <class M, class Team> POINT_FN void scan_of_three(const M &m, const Team &team) {
    const auto member = team.member();
    const scalar each = scan(team.each(m.n), [&](long i, auto &sum, bool last) {
        if (last) m.prefix(0, i) = sum;
        sum += as_number(i);
    });
    const scalar vector = scan(team.vector(m.n), [&](long i, auto &sum, bool last) {
        if (last) m.prefix(1, i) = sum;
        sum += as_number(i);
    });
    const scalar lanes = scan(member.vector(m.n), [&](long i, auto &sum, bool last) {
        if (last) m.prefix(2, i) = sum;
        sum += as_number(i);
    });
    single_per_team(team, [&] { m.total(0) = each, m.total(1) = vector, m.total(2) = lanes; });
}

// ---- single

// How often single_per_team and single_per_member call; the value that everybody gets
template <class M, class Team> POINT_FN void single(const M &m, const Team &team) {
    const long e = team.league_rank();
    const auto member = team.member();
    double told = -1, own = -1;
    single_per_team(
        team,
        [&](double &value) {
            atomic_add(m.teams(0), 1);
            value = 1000.0 + e;
        },
        told);
    team.for_each(m.N, [&](long i) {
        single_per_member(
            member,
            [&](double &value) {
                atomic_add(m.members(0), 1);
                value = 10.0 * i;
            },
            own);
        member.for_vector(m.M, [&](auto j) { m.seen(e, i, j) = told + own + 0.0 * as_number(j); });
    });
}
