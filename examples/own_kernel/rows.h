// Rows of a matrix: their products with a vector, and their largest entries
template <class M, class Team> POINT_FN void rows(const M &m, const Team &team, scalar &total) {
    const long i = team.league_rank();
    scalar sum, most = m.A(i, 0);
    reduce(team.vector(m.M), [&](auto j, auto &s) { s += m.A(i, j) * m.x(j); }, sum);
    reduce(
        team.vector(m.M), [&](auto j, auto &s) { s = larger(s, m.A(i, j)); }, most,
        [](auto a, auto b) { return larger(a, b); });
    single_per_team(team, [&] {
        m.y(i) = m.factor * sum;
        m.largest(i) = most;
        total += m.factor * sum;
    });
}
