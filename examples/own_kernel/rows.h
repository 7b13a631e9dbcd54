// Rows of a matrix: their products with a vector, and their largest entries
template <class M, class Team, class S> POINT_FN void rows(const M &m, const Team &team, S &total) {
    const long i = team.league_rank();
    scalar sum, most;
    reduce(team.vector(m.M), [&](auto j, auto &s) { s += m.A(i, j) * m.x(j); }, sum);
    reduce(team.vector(m.M), [&](auto j, auto &s) { s.join(m.A(i, j)); }, most, Max());
    single_per_team(team, [&] {
        m.y(i) = m.factor * sum;
        m.largest(i) = most;
        total += m.factor * sum;
    });
}
