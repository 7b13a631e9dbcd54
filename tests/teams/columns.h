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

// Whole numbers beside real ones: an index that is read, a condition, an atomic, single lanes
template <class M, class I> POINT_FN void columns_of_all(const M &m, const I i) {
    const auto k = m.k(i);
    Real<I> sum(0.0);
    for (long j = 0; j < m.V; ++j) sum += fabs(m.A(i, j)) / (1.0 + j);
    m.sum(i) = sqrt(sum) + m.x(k % m.V) + 0.5 * i;
    m.moved(k) = m.A(i, 1);
    m.bins(k % 7) += 1;
    atomic_add(m.count(0), 1);
    atomic_add(m.count(1), k & 3);
    each_lane(i, [&](long one) {
        if (one % 3 == 0) atomic_add(m.count(2), one);
    });
}

// A function that takes longer than memory
template <class M, class I> POINT_FN void columns_of_functions(const M &m, const I i) {
    Real<I> sum(0.0);
    for (long j = 0; j < m.V; ++j) sum += exp(-0.125 * m.A(i, j));
    m.sum(i) = sum;
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

// Teams over several short rows: their lanes along a row, a part of it, whole numbers
template <class M, class Team, class S> POINT_FN void short_rows(const M &m, const Team &team, S &total) {
    const long first = team.league_rank() * m.share;
    const auto member = team.member();
    double all;
    reduce(
        team.each(min(m.share, m.N - first)),
        [&](long k, auto &rows) {
            const long row = first + k;
            double sum, some;
            long whole;
            const auto b = subview(m.B, ALL, row);
            reduce(member.vector(m.V), [&](auto j, auto &s) { s += m.A(row, j) * m.x(j); }, sum);
            reduce(member.vector(m.V - 1), [&](auto j, auto &s) { s += b(j + 1) + m.B(j, row); }, some);
            reduce(member.vector(m.V), [&](auto j, auto &s) { s += m.k(row, j); }, whole);
            single_per_member(member, [&] { m.sum(row) = sum + some + whole; });
            rows += sum;
        },
        all);
    single_per_team(team, [&] { total += all; });
}
