#pragma once

// ---- unique_token_pool

// A generator's state for each id of the pool: a draw takes an id, and nobody else has it meanwhile. owner(id) is 1
// while an id is held, so that two holders would be seen.
template <class M, class I> POINT_FN void unique_token_pool(const M &m, const I draw) {
    each_lane(draw, [&](long) {
        const long id = m.pool.acquire();
        if (atomic_exchange(m.owner(id), 1) != 0) atomic_add(m.overlaps(0), 1);
        const unsigned long next = (unsigned long)(m.state(id)) * 6364136223846793005ul + 1442695040888963407ul;
        m.state(id) = long(next);
        m.sum(id) += double(next >> 11) * (1.0 / 9007199254740992.0); // 0 to 1
        m.count(id) += 1;
        atomic_exchange(m.owner(id), 0);
        m.pool.release(id);
    });
}

// ---- unique_token_team

// An id a team: one member acquires it, all get it, and it is released behind a barrier
template <class M, class Team> POINT_FN void unique_token_team(const M &m, const Team &team) {
    long id = -1;
    single_per_team(
        team,
        [&](long &mine) {
            mine = m.pool.acquire();
            if (atomic_exchange(m.owner(mine), 1) != 0) atomic_add(m.overlaps(0), 1);
            atomic_max(m.most(0), atomic_add_fetch(m.held(0), 1));
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

// ---- scatter

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
    team.for_vector(n, [&](auto i) { atomic_add(own(m.bin(first + i)), 1); });
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
// by an array to which a body only adds: the layer says how threads share it
template <class M, class I> POINT_FN void scatter_view(const M &m, const I i) { m.histogram(m.bin(i)) += 1; }
