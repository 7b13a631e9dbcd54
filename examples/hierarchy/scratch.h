#pragma once

// ---- scratch_field, and scratch_race: the same without its barrier

// contractDataFieldScalar: result(e, q) = sum over i of A(e, q, i) B(e, i), with B(e, :) in the team's scratch
template <bool WAIT, class M, class Team, class S> POINT_FN void field(const M &m, const Team &team, S &total) {
    const long e = team.league_rank();
    const auto b = team.scratch(m.b);
    const auto member = team.member();
    team.for_vector(m.V, [&](auto i) { b(i) = m.B(e, i); });
    if (WAIT) team.barrier(); // a member reads what others have written
    team.for_each(m.Q, [&](long q) {
        scalar sum;
        reduce(member.vector(m.V), [&](auto i, auto &s) { s += m.A(e, q, i) * b(i); }, sum);
        single_per_member(member, [&] { m.result(e, q) = sum; });
        total += sum;
    });
}
template <class M, class Team, class S> POINT_FN void scratch_field(const M &m, const Team &team, S &total) {
    field<true>(m, team, total);
}
template <class M, class Team, class S> POINT_FN void scratch_race(const M &m, const Team &team, S &total) {
    field<false>(m, team, total);
}

// ---- field_variants: the same flat, without scratch

// a thread an element
template <class M, class I> POINT_FN void per_element(const M &m, const I e) {
    for (long q = 0; q < m.Q; ++q) {
        Real<I> sum(0.0);
        for (long i = 0; i < m.V; ++i) sum += m.A(e, q, i) * m.B(e, i);
        m.result(e, q) = sum;
    }
}
// a thread a point, indices by division
template <class M, class I> POINT_FN void per_point(const M &m, const I point) {
    each_lane(point, [&](long k) {
        const long e = k / m.Q, q = k % m.Q;
        scalar sum = 0;
        for (long i = 0; i < m.V; ++i) sum += m.A(e, q, i) * m.B(e, i);
        m.result(e, q) = sum;
    });
}
// a thread a pair of indices, in tiles
template <class M, class I, class J> POINT_FN void per_pair(const M &m, const I e, const J q) {
    Real<decltype(e + q)> sum(0.0);
    for (long i = 0; i < m.V; ++i) sum += m.A(e, q, i) * m.B(e, i);
    m.result(e, q) = sum;
}

// ---- scratch_levels

// Sums of what lies in scratch: of a team and of its members, level 0 and level 1
template <class M, class Team> POINT_FN void scratch_levels(const M &m, const Team &team) {
    const long e = team.league_rank();
    const auto near = team.scratch(m.near);
    const auto far = team.scratch(m.far);
    const auto member = team.member();
    const auto own = member.scratch(m.own);
    const auto own_far = member.scratch(m.own_far);
    team.for_vector(m.n0, [&](auto i) { near(i) = as_number(i) + as_number(e); });
    team.for_vector(m.n1, [&](auto i) { far(i) = as_number(i) - as_number(e); });
    team.barrier();
    scalar sum, more, rows;
    reduce(team.vector(m.n0), [&](auto i, auto &s) { s += near(m.n0 - 1 + i * -1); }, sum);
    reduce(team.vector(m.n1), [&](auto i, auto &s) { s += far(m.n1 - 1 + i * -1); }, more);
    reduce(
        team.each(m.rows),
        [&](long r, auto &all) {
            member.for_vector(m.n, [&](auto i) { own(i) = as_number(i) * as_number(r), own_far(i) = as_number(e); });
            scalar row;
            reduce(member.vector(m.n), [&](auto i, auto &s) { s += own(i) + own_far(i); }, row);
            all += row;
        },
        rows);
    single_per_team(team, [&] { m.result(e) = sum + more + rows; });
}

// ---- slicing

// contractFieldFieldScalar: two left rows of a team in scratch, a right field a member and lane; an odd L has a team
// with one row
template <class M, class Team> POINT_FN void slicing(const M &m, const Team &team) {
    const long pairs = (m.L + 1) / 2, c = team.league_rank() / pairs, l0 = team.league_rank() % pairs * 2,
               rows = l0 + 2 <= m.L ? 2 : m.L - l0;
    const auto left = team.scratch(m.left_rows);
    team.for_vector(rows * m.P, [&](auto i) {
        each_lane(i, [&](long k) { left(k / m.P, k % m.P) = m.left(c, l0 + k / m.P, k % m.P); });
    });
    team.barrier();
    team.for_vector(m.R, [&](auto r) { // a number of the right field serves both rows
        Real<decltype(r)> first(0.0), second(0.0);
        for (long p = 0; p < m.P; ++p) {
            const Real<decltype(r)> right = m.right(c, r, p);
            first += left(0, p) * right;
            second += left(rows - 1, p) * right;
        }
        m.out(c, l0, r) = first;
        if (rows == 2) m.out(c, l0 + 1, r) = second;
    });
}
