// Bodies for test_team_kernels.py: every primitive for teams of any size.
#pragma once

// sums, the largest, prefix sums of v(e, :) at all three levels; what single_ hands out
template <class M, class Team, class S, class Q>
POINT_FN void levels(const M &m, const Team &team, S &total, Q &squares) {
    const long e = team.league_rank();
    const auto member = team.member();
    scalar each, vector, lanes, least, told = 0;
    reduce(team.each(m.n), [&](long i, auto &s) { s += m.v(e, i); }, each);
    reduce(team.vector(m.n), [&](auto i, auto &s) { s += m.v(e, i); }, vector);
    reduce(member.vector(m.n), [&](auto i, auto &s) { s += m.v(e, i); }, lanes);
    reduce(team.vector(m.n), [&](auto i, auto &s) { s.join(m.v(e, i)); }, least, Min());
    const scalar scanned = scan(team.vector(m.n), [&](long i, auto &s, bool last) {
        if (last) m.prefix(e, i) = s;
        s += m.v(e, i);
    });
    single_per_team(team, [&](scalar &x) { x = each + 1; }, told);
    if (m.n > 0) team.for_vector(m.n, [&](auto i) { m.twice(e, i) = 2.0 * m.v(e, i) + (told - each - 1.0); });
    single_per_team(team, [&] {
        m.out(e, 0) = each, m.out(e, 1) = vector, m.out(e, 2) = lanes, m.out(e, 3) = least, m.out(e, 4) = scanned;
        total += each;
    });
    squares += 1.0; // once a member, whatever its lanes
}
// v(m, :) from the values of its neighbours, one of which another member has written
template <bool WAIT, class M, class Team> POINT_FN void shifted(const M &m, const Team &team) {
    const auto s = team.scratch(m.s);
    team.for_each(m.n, [&](long i) { s(i) = m.v(i); });
    if (WAIT) team.barrier();
    team.for_each(m.n, [&](long i) { m.out(i) = s((i + 1) % m.n); });
}
template <class M, class Team> POINT_FN void shifted_with(const M &m, const Team &team) { shifted<true>(m, team); }
template <class M, class Team> POINT_FN void shifted_without(const M &m, const Team &team) { shifted<false>(m, team); }
// the same in parts of a team, each for itself and as many times as its number says
template <int PARTS, bool WAIT, class M, class Team> POINT_FN void in_parts(const M &m, const Team &team) {
    const auto s = team.scratch(m.s);
    for_parts<PARTS>(team, [&](const auto &part) {
        const long p = part.number();
        for (long turn = 0; turn <= p; ++turn) {
            part.for_each(m.n, [&](long i) { s(p, i) = m.v(i) + turn; });
            if (WAIT) part.barrier();
            part.for_vector(m.n, [&](auto i) { each_lane(i, [&](long k) { m.out(p, k) = s(p, (k + 1) % m.n); }); });
            if (WAIT) part.barrier();
        }
    });
}
template <class M, class Team> POINT_FN void two_parts(const M &m, const Team &team) { in_parts<2, true>(m, team); }
template <class M, class Team> POINT_FN void four_parts(const M &m, const Team &team) { in_parts<4, true>(m, team); }
template <class M, class Team> POINT_FN void parts_without(const M &m, const Team &team) {
    in_parts<2, false>(m, team);
}
// one writes for all
template <class M, class Team> POINT_FN void one_writes(const M &m, const Team &team) {
    const auto s = team.scratch(m.s);
    single_per_team(team, [&] { s(0) = 1; });
    team.for_each(m.n, [&](long i) { m.out(team.league_rank(), i) = s(0); });
}
// a barrier that half of the team does not reach
template <class M, class Team> POINT_FN void astray(const M &m, const Team &team) {
    if (team.rank() >= team.size() / 2) {
        team.barrier();
        double x = team.rank();
        reduce(team.each(1), [&](long, auto &s) { s += x; }, x);
        m.out(0) = x;
    }
    team.barrier();
}
// old values of atomics; a lane at a time where lanes are indices
template <class M, class I> POINT_FN void atomics(const M &m, const I i) {
    each_lane(i, [&](long k) {
        atomic_max(m.real(0), double(k % 97));
        atomic_add(m.real(1), 0.5);
        if (atomic_compare_exchange(m.whole(0), k, -1) == k) atomic_add(m.whole(1), 1);
        atomic_max(m.whole(2), k);
        atomic_add(m.taken(atomic_fetch_add(m.whole(3), 1)), 1);
    });
    atomic_add(m.bins(i), 1.0);
    atomic_add(i, m.real(2), as_number(i));
}
// a pool that is as large as what can be held at once
template <class M, class I> POINT_FN void pool(const M &m, const I i) {
    each_lane(i, [&](long k) {
        const long id = m.ids.acquire();
        m.id(k) = id;
        m.ids.release(id);
    });
}
template <class M, class I, class S> POINT_FN void flat_sum(const M &m, const I i, S &total) {
    total += m.factor * m.v(i);
}
