#pragma once
// Bodies of packs that ask for the value before an atomic: each index has an answer of its own.

template <class M, class I> POINT_FN void asked_once(const M &m, const I i) {
    const long at = atomic_fetch_add(m.count(0), 1);
    m.taken(at) += 1;
    m.last(1) = 0 * atomic_add_fetch(m.count(1), 2);
    m.y(i) = 2.0 * m.x(i);
}

// Elements at an index that is read: a counting sort
template <class M, class I> POINT_FN void asked_at_keys(const M &m, const I i) {
    const auto k = m.key(i);
    m.taken(m.start(k) + atomic_fetch_inc(m.fill(k))) = i;
}

template <class M, class I, class J> POINT_FN void asked_by_pairs(const M &m, const I i, const J j) {
    if (atomic_exchange(m.taken((i + j) % m.n), 1) == 0) atomic_add(m.count(0), 1);
}

// In a team: by a function, in a loop, in a sum; what one does for all is asked once
template <class M> POINT_FN long next_of(const M &m, int k) { return atomic_fetch_add(m.count(k), 1); }
template <class M, class Team> POINT_FN void asked_in_teams(const M &m, const Team &team) {
    const long first = team.league_rank() * m.n;
    team.for_vector(m.n, [&](auto i) { m.taken(next_of(m, 0)) += 1, m.y(first + i) = 0.5 * m.x(first + i); });
    double sum;
    reduce(
        team.vector(m.n),
        [&](auto i, auto &s) {
            s += m.x(first + i);
            if (atomic_compare_exchange(m.count(3), long(i) - 1, long(i)) == long(i) - 1) s += 0;
            m.second(next_of(m, 1)) += 1;
        },
        sum);
    single_per_team(team, [&] { m.sum(team.league_rank()) = sum, m.most(0) = 1, next_of(m, 2); });
}

// A unique id, whose holder alone changes what belongs to it
template <class M, class I> POINT_FN void asked_for_ids(const M &m, const I i) {
    const long id = m.pool.acquire();
    m.held(id) += 1;
    m.y(i) = m.x(i);
    m.pool.release(id);
}
