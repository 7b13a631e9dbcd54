// A histogram by atomics on one copy
template <class M, class I> POINT_FN void scatter_atomics(const M &m, const I i) {
    each_lane(i, [&](long k) { atomic_add(m.histogram(m.bin(k)), 1); });
}
// by a copy a team, in its scratch
template <class M, class Team> POINT_FN void scatter_teams(const M &m, const Team &team) {
    const long first = team.league_rank() * m.share, n = first + m.share < m.n ? m.share : m.n - first;
    const auto own = team.scratch(m.own);
    team.for_vector(m.bins, [&](auto b) { each_lane(b, [&](long k) { own(k) = 0; }); });
    team.barrier();
    team.for_vector(n, [&](auto i) { each_lane(i, [&](long k) { atomic_add(own(m.bin(first + k)), 1); }); });
    team.barrier();
    team.for_vector(m.bins, [&](auto b) { each_lane(b, [&](long k) { atomic_add(m.histogram(k), own(k)); }); });
}
// by a copy for each id of a pool
template <class M, class Team> POINT_FN void scatter_tokens(const M &m, const Team &team) {
    const long first = team.league_rank() * m.share, n = first + m.share < m.n ? m.share : m.n - first;
    long id = -1;
    single_per_team(team, [&](long &mine) { mine = m.pool.acquire(); }, id);
    team.for_vector(n, [&](auto i) { each_lane(i, [&](long k) { atomic_add(m.copies(id, m.bin(first + k)), 1); }); });
    team.barrier();
    single_per_team(team, [&] { m.pool.release(id); });
}
