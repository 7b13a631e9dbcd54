// <y|A x>: a team a row
template <class M, class Team> POINT_FN void rows_of(const M &m, const Team &team, scalar &product) {
    const long i = team.league_rank();
    scalar sum;
    reduce(team.vector(m.M), [&](auto j, auto &s) { s += m.A(i, j) * m.x(j); }, sum);
    single_per_team(team, [&] { product += m.y(i) * sum; });
}
// <A^T y|x>: a team for 32 columns, whose lanes are neighbours in A; members over the rows
template <class M, class Team> POINT_FN void columns_of(const M &m, const Team &team, scalar &product) {
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
