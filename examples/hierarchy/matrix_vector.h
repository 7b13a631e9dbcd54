#pragma once

// ---- yax_flat

// <y|Ax>, a thread a row
template <class M, class I, class S> POINT_FN void yax_flat(const M &m, const I row, S &total) {
    Real<I> sum(0.0);
    for (long j = 0; j < m.M; ++j) sum += m.A(row, j) * m.x(j);
    total += m.y(row) * sum;
}

// ---- yax_atomic

// <y|Ax>, an atomic for every element; whole numbers are exact in any order
template <class M, class I> POINT_FN void yax_atomic(const M &m, const I element) {
    each_lane(element, [&](long k) {
        const long row = k / m.M, j = k % m.M;
        atomic_add(m.total(0), m.y(row) * m.A(row, j) * m.x(j));
    });
}

// ---- yax_layout

// <y|Ax>, a thread a row, for either layout of A
template <class M, class I, class S> POINT_FN void yax_layout(const M &m, const I row, S &total) {
    Real<I> sum(0.0);
    UNROLL_BY(8) // loads ahead of the sum
    for (long j = 0; j < m.M; ++j) sum += m.A(row, j) * m.x(j);
    total += m.y(row) * sum;
}

// ---- yax_team

// <y|Ax>, a team a row
template <class M, class Team, class S> POINT_FN void yax_team(const M &m, const Team &team, S &total) {
    const long row = team.league_rank();
    scalar sum;
    reduce(team.vector(m.M), [&](auto j, auto &s) { s += m.A(row, j) * m.x(j); }, sum);
    single_per_team(team, [&] { total += m.y(row) * sum; });
}

// ---- yax_vector

// <y|Ax> of every element: teams over elements, members over rows, lanes over columns
template <class M, class Team, class S> POINT_FN void yax_vector(const M &m, const Team &team, S &total) {
    const long e = team.league_rank();
    const auto member = team.member();
    scalar element;
    reduce(
        team.each(m.N),
        [&](long i, auto &rows) {
            scalar row;
            reduce(member.vector(m.M), [&](auto j, auto &s) { s += m.A(e, i, j) * m.x(e, j); }, row);
            rows += m.y(e, i) * row;
        },
        element);
    single_per_team(team, [&] { m.result(e) = element, total += element; });
}

// ---- nested_adjoint

// <y|A x>: a team a row
template <class M, class Team, class S> POINT_FN void rows_of(const M &m, const Team &team, S &product) {
    const long i = team.league_rank();
    scalar sum;
    reduce(team.vector(m.M), [&](auto j, auto &s) { s += m.A(i, j) * m.x(j); }, sum);
    single_per_team(team, [&] { product += m.y(i) * sum; });
}
// <A^T y|x>: a team for 32 columns, whose lanes are neighbours in A; members over the rows
template <class M, class Team, class S> POINT_FN void columns_of(const M &m, const Team &team, S &product) {
    const long first = team.league_rank() * 32, n = first + 32 < m.M ? 32 : m.M - first;
    const auto partial = team.member().scratch(m.partial);
    const auto member = team.member();
    member.for_vector(n, [&](auto j) { partial(j) = 0.0; });
    team.for_each(m.N,
                  [&](long i) { member.for_vector(n, [&](auto j) { partial(j) += m.A(i, first + j) * m.y(i); }); });
    member.for_vector(n, [&](auto j) { partial(j) *= m.x(first + j); });
    scalar own;
    reduce(member.vector(n), [&](auto j, auto &s) { s += partial(j); }, own);
    product += own;
}
