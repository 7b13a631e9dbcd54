// <y|Ax> of every element: teams over elements, members over rows, lanes over columns
template <class M, class Team> POINT_FN void yax_vector(const M &m, const Team &team, scalar &total) {
    const long e = team.league_rank();
    const auto member = team.member();
    scalar element;
    reduce(
        team.each(m.N),
        [&](long i, scalar &rows) {
            scalar row;
            reduce(member.vector(m.M), [&](auto j, auto &s) { s += m.A(e, i, j) * m.x(e, j); }, row);
            rows += m.y(e, i) * row;
        },
        element);
    single_per_team(team, [&] { m.result(e) = element, total += element; });
}
