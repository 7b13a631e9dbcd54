// Sums of what lies in scratch: of a team and of its members, level 0 and level 1
template <class M, class Team> POINT_FN void scratch_levels(const M &m, const Team &team) {
    const long e = team.league_rank();
    const auto near = team.scratch(m.near), far = team.scratch(m.far);
    const auto member = team.member();
    const auto own = member.scratch(m.own), own_far = member.scratch(m.own_far);
    team.for_vector(m.n0, [&](auto i) { near(i) = as_number(i) + as_number(e); });
    team.for_vector(m.n1, [&](auto i) { far(i) = as_number(i) - as_number(e); });
    team.barrier();
    scalar sum, more, rows;
    reduce(team.vector(m.n0), [&](auto i, auto &s) { s += near(m.n0 - 1 + i * -1); }, sum);
    reduce(team.vector(m.n1), [&](auto i, auto &s) { s += far(m.n1 - 1 + i * -1); }, more);
    reduce(
        team.each(m.rows),
        [&](long r, scalar &all) {
            member.for_vector(m.n, [&](auto i) { own(i) = as_number(i) * as_number(r), own_far(i) = as_number(e); });
            scalar row;
            reduce(member.vector(m.n), [&](auto i, auto &s) { s += own(i) + own_far(i); }, row);
            all += row;
        },
        rows);
    single_per_team(team, [&] { m.result(e) = sum + more + rows; });
}
