// <y|Ax>, a team a row
template <class M, class Team> POINT_FN void yax_team(const M &m, const Team &team, scalar &total) {
    const long row = team.league_rank();
    scalar sum;
    reduce(team.vector(m.M), [&](auto j, auto &s) { s += m.A(row, j) * m.x(j); }, sum);
    single_per_team(team, [&] { total += m.y(row) * sum; });
}
