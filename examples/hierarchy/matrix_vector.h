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

// ---- yax_attempts

// <y|Ax>, a team a row. First attempt: a member an element, if the team has as many members as a row has elements
template <class M, class Team> POINT_FN void attempt_1(const M &m, const Team &team) {
    const long row = team.league_rank(), column = team.rank();
    atomic_add(m.total(0), m.y(row) * m.A(row, column) * m.x(column));
}
// second attempt: members go over the elements of the row
template <class M, class Team> POINT_FN void attempt_2(const M &m, const Team &team) {
    const long row = team.league_rank();
    for (long column = team.rank(); column < m.M; column += team.size())
        atomic_add(m.total(0), m.y(row) * m.A(row, column) * m.x(column));
}

// ---- yax_team

// <y|Ax>, a team a row
template <class M, class Team, class S> POINT_FN void yax_team(const M &m, const Team &team, S &total) {
    const long row = team.league_rank();
    const scalar y = m.y(row); // on its way while the others are
    scalar sum;
    reduce(team.vector(m.M), [&](auto j, auto &s) { s += m.A(row, j) * m.x(j); }, sum);
    single_per_team(team, [&] { total += y * sum; });
}

// ---- yax_rows_first, yax_sweep

// <y|Ax>, `parts` teams a row: the sums of parts of a row are added like the rows
template <class M, class Team, class S> POINT_FN void yax_parts(const M &m, const Team &team, S &total) {
    const long row = team.league_rank() % m.N, part = team.league_rank() / m.N, // rows share a part of x
        share = (m.M + m.parts - 1) / m.parts, first = part * share, left = m.M - first;
    const scalar y = m.y(row);
    scalar sum;
    reduce(
        team.vector(left < share ? left : share), [&](auto j, auto &s) { s += m.A(row, first + j) * m.x(first + j); },
        sum);
    single_per_team(team, [&] { total += y * sum; });
}

// <y|Ax>, a team for as many rows as it has members, lanes over columns
template <class M, class Team, class S> POINT_FN void yax_lanes(const M &m, const Team &team, S &total) {
    const long first = team.league_rank() * m.rows, left = m.N - first;
    const auto member = team.member();
    scalar own;
    reduce(
        team.each(left < m.rows ? left : m.rows),
        [&](long i, auto &rows) {
            const scalar y = m.y(first + i);
            scalar row;
            reduce(member.vector(m.M), [&](auto j, auto &s) { s += m.A(first + i, j) * m.x(j); }, row);
            rows += y * row;
        },
        own);
    single_per_team(team, [&] { total += own; });
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
            const scalar y = m.y(e, i);
            scalar row;
            reduce(member.vector(m.M), [&](auto j, auto &s) { s += m.A(e, i, j) * m.x(e, j); }, row);
            rows += y * row;
        },
        element);
    single_per_team(team, [&] { m.result(e) = element, total += element; });
}

// ---- nested_adjoint

// <y|A x>: a team a row
template <class M, class Team, class S> POINT_FN void rows_of(const M &m, const Team &team, S &product) {
    const long i = team.league_rank();
    const scalar y = m.y(i);
    scalar sum;
    reduce(team.vector(m.M), [&](auto j, auto &s) { s += m.A(i, j) * m.x(j); }, sum);
    single_per_team(team, [&] { product += y * sum; });
}
// <A^T y|x>: a team for `width` columns, whose lanes are neighbours in A, and for `share` rows in 16 parts
template <class M, class Team, class S> POINT_FN void columns_of(const M &m, const Team &team, S &product) {
    const long across = (m.M + m.width - 1) / m.width, first = team.league_rank() % across * m.width,
               n = first + m.width < m.M ? m.width : m.M - first, row0 = team.league_rank() / across * m.share,
               rows = row0 + m.share < m.N ? m.share : m.N - row0;
    const auto member = team.member();
    scalar sum;
    reduce(
        team.each(16),
        [&](long part, auto &parts) {
            scalar own;
            reduce(
                member.vector(n),
                [&](auto j, auto &s) {
                    Real<decltype(j)> column(0.0);
                    UNROLL_BY(16) // loads ahead of the sum
                    for (long i = part; i < rows; i += 16) column += m.A(row0 + i, first + j) * m.y(row0 + i);
                    s += column * m.x(first + j);
                },
                own);
            parts += own;
        },
        sum);
    single_per_team(team, [&] { product += sum; });
}
