// Exclusive prefix sums of 0 .. n-1: over the members, over members and lanes, over the lanes of each member
template <class M, class Team> POINT_FN void scan_of_three(const M &m, const Team &team) {
    const auto member = team.member();
    const scalar each = scan(team.each(m.n), [&](long i, scalar &sum, bool last) {
        if (last) m.prefix(0, i) = sum;
        sum += as_number(i);
    });
    const scalar vector = scan(team.vector(m.n), [&](long i, scalar &sum, bool last) {
        if (last) m.prefix(1, i) = sum;
        sum += as_number(i);
    });
    const scalar lanes = scan(member.vector(m.n), [&](long i, scalar &sum, bool last) {
        if (last) m.prefix(2, i) = sum;
        sum += as_number(i);
    });
    single_per_team(team, [&] { m.total(0) = each, m.total(1) = vector, m.total(2) = lanes; });
}
