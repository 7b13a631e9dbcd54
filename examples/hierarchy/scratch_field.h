// contractDataFieldScalar: result(e, q) = sum over i of A(e, q, i) B(e, i), with B(e, :) in the team's scratch
template <bool WAIT, class M, class Team> POINT_FN void field(const M &m, const Team &team, scalar &total) {
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
template <class M, class Team> POINT_FN void scratch_field(const M &m, const Team &team, scalar &total) {
    field<true>(m, team, total);
}
template <class M, class Team> POINT_FN void scratch_race(const M &m, const Team &team, scalar &total) {
    field<false>(m, team, total);
}
