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
