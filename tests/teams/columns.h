#pragma once
// Bodies that go along columns of memory, which packs of several vectors follow.

// Sums, products and conditions of real numbers down a column
template <class M, class I, class S, class L> POINT_FN void columns(const M &m, const I i, S &total, L &most) {
    Real<I> sum(0.0), positive(0.0);
    for (long j = 0; j < m.V; ++j) {
        const Real<I> a = m.A(i, j);
        sum += a * m.x(j);
        positive += select(a > 0.0, a, 0.0);
    }
    m.sum(i) = sum;
    m.positive(i) = positive;
    total += sum;
    most.join(sum, i);
}

// Functions of real numbers, and whole ones: an index that is read, a condition, an atomic, single lanes
template <class M, class I> POINT_FN void columns_of_all(const M &m, const I i) {
    const auto k = m.k(i);
    Real<I> sum(0.0);
    for (long j = 0; j < m.V; ++j) sum += fabs(m.A(i, j)) * exp(-0.125 * j);
    m.sum(i) = sqrt(sum) + pow(m.x(k % m.V), 2.0) + 0.5 * i;
    m.moved(k) = m.A(i, 1);
    m.bins(k % 7) += 1;
    atomic_add(m.count(0), 1);
    atomic_add(m.count(1), k & 3);
    each_lane(i, [&](long one) {
        if (one % 3 == 0) atomic_add(m.count(2), one);
    });
}

// Two indices, of which the first has its neighbours side by side
template <class M, class I, class J> POINT_FN void columns_of_pairs(const M &m, const I i, const J j) {
    Real<decltype(i + j)> sum(0.0);
    for (long k = 0; k < m.V; ++k) sum += m.A(i, j, k) * m.x(k);
    m.sum(i, j) = sum;
    m.seen(i, j) += 1;
}

// Every second number is side by side
template <class M, class I> POINT_FN void columns_of_parts(const M &m, const I i) {
    Real<I> sum(0.0);
    for (long j = 0; j < m.V; ++j) sum += m.A(0, i, j) - m.A(1, i, j);
    m.sum(i) = sum;
}
