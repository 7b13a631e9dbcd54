// Ids of a pool that kernels share: one takes an id for each index and keeps it, another one gives them back.
#pragma once
template <class M, class I> POINT_FN void take_ids(const M &m, const I i) {
    each_lane(i, [&](long k) { m.id(k) = m.pool.acquire(); });
}
template <class M, class I> POINT_FN void give_ids(const M &m, const I i) {
    each_lane(i, [&](long k) { m.pool.release(m.id(k)); });
}
