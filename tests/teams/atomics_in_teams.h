// Bodies for test_team_atomics_in_teams.py: atomics, tokens and scattered sums of teams whose size is open.
#pragma once

// how often each number is in v: by scratch of the team, whose sums go to the counts of all
template <class M, class Team> POINT_FN void counted_in_scratch(const M &m, const Team &team) {
    const auto own = team.scratch(m.own);
    const long e = team.league_rank();
    team.for_each(m.bins, [&](long k) { own(k) = 0; });
    team.barrier();
    team.for_vector(m.n, [&](auto i) { each_lane(i, [&](long k) { atomic_add(own(m.v(e, k)), 1); }); });
    team.barrier();
    team.for_each(m.bins, [&](long k) { atomic_add(m.counts(k), own(k)); });
}

// the same by a scattered array
template <class M, class Team> POINT_FN void counted_by_scatter(const M &m, const Team &team) {
    const long e = team.league_rank();
    team.for_each(m.n, [&](long i) { m.counts(m.v(e, i)) += 1; });
}

// every operation on scratch: as on arrays, and the value before and behind
template <class M, class Team> POINT_FN void operations_in_scratch(const M &m, const Team &team) {
    const auto x = team.scratch(m.x);
    const auto k = team.scratch(m.k);
    const long e = team.league_rank();
    team.for_each(4, [&](long i) { x(i) = 1, k(i) = 1; });
    team.barrier();
    team.for_each(m.n, [&](long) {
        atomic_add(x(0), 2), atomic_mul(x(1), 1.5), atomic_max(x(2), 7), atomic_div(x(3), 2.0);
        atomic_add(k(0), 2), atomic_xor(k(1), 6), atomic_max(k(2), 7), atomic_inc_mod(k(3), 3);
    });
    team.barrier();
    single_per_team(team, [&] {
        for (int i = 0; i < 4; ++i) m.real(e, i) = x(i), m.whole(e, i) = k(i);
        m.told(e, 0) = atomic_fetch_add(k(0), 1), m.told(e, 1) = atomic_add_fetch(k(0), 1);
        m.told(e, 2) = atomic_exchange(k(0), 5), m.told(e, 3) = atomic_compare_exchange(k(0), 5, 9);
        m.told(e, 4) = atomic_load(k(0));
    });
}

// ---- what each member does
template <class M, class Team> POINT_FN void each_adds(const M &m, const Team &) { atomic_add(m.counts(0), 1); }

// for each lane of a member
template <class M, class Team> POINT_FN void lanes_add(const M &m, const Team &team) {
    team.member().for_vector(3, [&](auto i) { atomic_add(i, m.counts(0), 1); });
}

// where shared work found something
template <class M, class Team> POINT_FN void adds_if_found(const M &m, const Team &team) {
    long found = 0, most = 0;
    single_per_team(team, [&](long &x) { x = m.v(team.league_rank(), 0); }, found);
    reduce(team.each(m.n), [&](long i, auto &s) { s.join(m.v(team.league_rank(), i)); }, most, Max());
    if (found + most > 0) atomic_add(m.counts(0), 1);
}

// by a part of the team
template <class M, class Team> POINT_FN void parts_add(const M &m, const Team &team) {
    for_parts<2>(team, [&](const auto &part) { atomic_add(m.counts(part.number()), 1); });
}

// a member's own id
template <class M, class Team> POINT_FN void each_takes(const M &m, const Team &) {
    const long id = m.pool.acquire();
    m.counts(id) += 1;
    m.pool.release(id);
}
