// An id a team: one member acquires it, all get it, and it is released behind a barrier
template <class M, class Team> POINT_FN void unique_token_team(const M &m, const Team &team) {
    long id = -1;
    single_per_team(
        team,
        [&](long &mine) {
            mine = m.pool.acquire();
            if (atomic_exchange(m.owner(mine), 1) != 0) atomic_add(m.overlaps(0), 1);
            atomic_max(m.most(0), atomic_add(m.held(0), 1) + 1);
        },
        id);
    team.for_each(team.size(), [&](long) { single_per_member(team.member(), [&] { atomic_add(m.count(id), 1); }); });
    team.barrier();
    single_per_team(team, [&] {
        atomic_add(m.held(0), -1);
        atomic_exchange(m.owner(id), 0);
        m.pool.release(id);
    });
}
