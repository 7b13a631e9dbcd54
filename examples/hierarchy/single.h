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
