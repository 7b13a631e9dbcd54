// Bodies for test_team_as_written.py: what a user may write, beside the exercises.
#pragma once

// the least value of four indices, its place, and the sum
template <class M, class I, class J, class K, class L, class SUM, class LEAST>
POINT_FN void least_of_four(const M &m, const I i, const J j, const K k, const L l, SUM &sum, LEAST &least) {
    const auto x = m.v(i, j, k, l);
    least.join(x, ((i * m.J + j) * m.K + k) * m.L + l);
    sum += x;
}

// a histogram with weights
template <class M, class I> POINT_FN void weighted(const M &m, const I i) {
    each_lane(i, [&](long k) {
        m.count(m.bin(k))++;
        m.weight(m.bin(k)) += m.w(k);
    });
}

// whole numbers and indices in formulas and conditions
template <class M, class I, class COUNT, class SUM>
POINT_FN void whole_formulas(const M &m, const I i, COUNT &count, SUM &sum) {
    const auto k = m.k(i);
    m.quotient(i) = +k / 3 + i / 7 + 1000 / (i + 1);
    m.rest(i) = k % 5 - i % 4;
    m.bits(i) = ((k & 12) | (i << 2)) ^ (k >> 1);
    m.k(i) += 10;
    m.k(i) = m.k(i) * 2 + i;
    m.turns(i)++, --m.turns(i), m.turns(i) |= 6, m.turns(i) &= 3;
    m.x(i) /= 2.0;
    m.x(i) = select(i % 2 == 0, m.x(i) + 1.0, m.A(i / m.n2, i % m.n2));
    count += k == 3 || k != k, count += i >= m.n - 2;
    sum += m.x(i) > 4.0; // how many
}

// targets of four bytes, of one
template <class Range, class M, class F> POINT_FN void of_small_targets(const Range &range, const M &m, const F &put) {
    int sum, most, least, bits;
    float highest;
    bool all, any;
    Located<int> first;
    Extremes<int> both;
    reduce(range, [&](auto i, auto &s) { s += m.k(i); }, sum);
    reduce(range, [&](auto i, auto &s) { s.join(m.k(i)); }, most, Max());
    reduce(range, [&](auto i, auto &s) { s.join(m.k(i)); }, least, Min());
    reduce(range, [&](auto i, auto &s) { s |= m.k(i); }, bits, BitOr());
    reduce(range, [&](auto i, auto &s) { s.join(m.x(i)); }, highest, Max());
    reduce(range, [&](auto i, auto &s) { s &= m.k(i) > -7; }, all, AllOf());
    reduce(range, [&](auto i, auto &s) { s |= m.x(i) > 50.0; }, any, AnyOf());
    reduce(range, [&](auto i, auto &s) { s.join(m.k(i), i); }, first, MinLoc());
    reduce(range, [&](auto i, auto &s) { s.join(m.k(i)); }, both, MinMax());
    const long found[] = {sum, most, least, bits, long(highest), all, any, first.at, both.least, both.most};
    for (int k = 0; k < 10; ++k) put(k, found[k]);
}

template <class M, class Team> POINT_FN void small_targets(const M &m, const Team &team) {
    const auto over = [&](int level, const auto &range) {
        of_small_targets(range, m, [&](int k, long x) { single_per_team(team, [&] { m.out(level, k) = x; }); });
    };
    over(0, team.each(m.n));
    over(1, team.vector(m.n));
    over(2, team.member().vector(m.n));
    bool told = false;
    single_per_team(team, [](bool &x) { x = true; }, told);
    m.told(team.rank()) = told;
}

// variables with the values of elements from before a change, of arrays and of scratch
template <class M, class I> POINT_FN void exchanged(const M &m, const I i) {
    const auto x = m.x(i);
    const auto k = m.k(i);
    m.x(i) = m.z(i) = m.y(i);
    m.y(i) = x;
    m.k(i) += 1;
    m.before(i) = k;
}

template <class M, class Team> POINT_FN void turned_in_scratch(const M &m, const Team &team) {
    const auto s = team.scratch(m.s);
    const long first = team.rank(), size = team.size();
    for (long i = first; i < m.n; i += size) s(i) = m.x(i);
    team.barrier();
    auto told = s((first + 1) % m.n);
    team.barrier();
    s(first) = -1.0;
    told += 0.5;
    m.y(first) = told;
    team.barrier();
    team.for_vector(m.n, [&](auto i) {
        const auto old = s(i);
        s(i) = m.x(i);
        m.z(i) = old;
        s(i)++, s(i) /= 2.0;
        m.x(i) = s(i);
    });
}

// Indices among real and whole numbers: their values
template <class M, class I, class J> POINT_FN void values_of_indices(const M &m, const I i, const J j) {
    m.sum(i, j) = +i + 10 * j;
    m.scaled(i, j) = 0.5 * i - j / 4.0 + 2.5;
    m.product(i, j) = i * j;
    m.chosen(i, j) = select(0.75 * i < 2, 1.5 * i, 3.0 - j);
    m.whole(i, j) = 3 * i - j;
}

// Numbers that are equal, conditions that all indices share, conditions as numbers
template <class M, class I> POINT_FN void equal_numbers(const M &m, const I i) {
    const auto same = m.x(i) == m.y(i);
    m.out(0, i) = select(same, 1.0, 0.0) + select(m.x(i) != 0.5, 2.0, 0.0) + select(m.k(i) == m.x(i), 4.0, 0.0);
    m.out(1, i) = select(i == 2.5 || m.r(i) == m.y(i), 1.0, 0.0) + select(1.5 != m.k(i), 2.0, 0.0);
    m.out(2, i) = select(m.mode == 3 && m.x(i) > 0.5, 1.0, 0.0) + select(m.flag(i) || m.mode == 0, 2.0, 0.0);
    m.out(3, i) = select(m.mode != 3 || m.k(i) > 1, 1.0, 0.0) + select(m.flag(i) && m.mode == 3, 2.0, 0.0);
    m.out(4, i) = same != (m.k(i) > 1);
    m.out(5, i) += same == !m.flag(i);
    m.told(i) = m.x(i) == 0.5;
    auto next = m.n - 1 - i;
    next -= 1, next += 1;
    m.at(i) = next;
    m.chosen(0, i) = select(m.mode == 3, m.big(i), i);
    m.chosen(1, i) = select(m.mode == 3, 7, m.big(i)) + select(m.mode == 3, next, m.k(i));
    m.chosen(2, i) = m.big(select(m.mode == 3, m.at(i), i));
}
