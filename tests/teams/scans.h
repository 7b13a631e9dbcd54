// Bodies for test_team_scan_bodies.py: the sum of a scan in formulas, by several reducers, for packs and single
// indices.
#pragma once

// an integral by weights: the sum in a formula of real numbers
template <class M, class I, class S> POINT_FN void integral(const M &m, const I i, S &sum, bool last) {
    const auto half = 0.5 * m.width(i);
    sum += half * m.f(i);
    if (last) m.to(i) = 2.0 * sum - m.f(i);
}

// numbers of segments from their heads: the sum as an index, and in a formula of whole numbers
template <class M, class I, class S> POINT_FN void segments(const M &m, const I i, S &count, bool last) {
    count += select(m.head(i), 1, 0);
    if (last) m.segment(i) = count - 1, m.label(i) = m.name(count);
}

// by other reducers, with all before and with this one
template <class M, class I, class S> POINT_FN void signs(const M &m, const I i, S &product, bool last) {
    if (last) m.before(i) = product;
    product *= m.v(i);
    if (last) m.with(i) = product;
}
template <class M, class I, class S> POINT_FN void bits(const M &m, const I i, S &odd, bool last) {
    if (last) m.before(i) = odd;
    odd ^= m.v(i);
    if (last) m.with(i) = odd;
}
template <class M, class I, class S> POINT_FN void extremes(const M &m, const I i, S &most, bool last) {
    if (last) m.before(i) = most;
    most.join(m.v(i));
    if (last) m.with(i) = most;
}

// as a user of Kokkos writes it
template <class M, class S> POINT_FN void rises(const M &m, const int i, S &count, bool last) {
    if (m.v(i) > m.v(i - 1)) {
        if (last) m.at(count) = i;
        count += 1;
    }
}

// past the caches, in place of what was read
template <class M, class I, class S> POINT_FN void past(const M &m, const I i, S &sum, bool last) {
    if (last) m.before(i) = sum;
    sum += m.v(i);
}
template <class M, class I, class S> POINT_FN void in_place(const M &m, const I i, S &sum, bool last) {
    sum += m.v(i);
    if (last) m.v(i) = sum;
}

// The first thread that sums index 0 waits until another one has gone through a later block, as if its core were taken
template <class M, class S> POINT_FN void stalled(const M &m, const long i, S &sum, bool last) {
    constexpr long PATIENCE = 1L << 31;
    if (i == 0 && !last && atomic_fetch_add(m.calls(0), 1) == 0) {
        for (long turns = 0; turns < PATIENCE && atomic_load(m.calls(1)) == 0; ++turns) {}
        m.told(0) = atomic_load(m.calls(1));
    }
    if (last && i == m.n - 1) atomic_store(m.calls(1), 1);
    sum += m.v(i);
    if (last) m.v(i) = sum;
}
