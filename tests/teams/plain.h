// Bodies as a user of Kokkos writes them: single indices, plain numbers, if and else.
#pragma once

template <class M> POINT_FN void plain_if(const M &m, const int i) {
    double twice = m.x(i);
    twice *= 2;
    if (i > 0) m.y(i) = m.x(i - 1);
    else m.y(i) = 7;
    m.z(i) = twice;
}

template <class M, class S, class Q> POINT_FN void plain_results(const M &m, const long i, S &sum, Q &most) {
    if (m.x(i) > 0.5) sum += m.x(i);
    most.join(m.x(i));
    atomic_add(m.count(0), 1);
    atomic_add(m.bins(int(8 * m.x(i))), 1);
    m.scattered(int(8 * m.x(i))) += 1;
}

template <class M, class S> POINT_FN void plain_life(const M &m, const int i, const int j, S &alive) {
    int sum = 0;
    for (int a = -1; a <= 1; ++a)
        for (int b = -1; b <= 1; ++b)
            if (a || b) sum += m.now(i + a, j + b);
    m.next(i, j) = sum == 3 ? 1 : sum == 2 ? m.now(i, j) : 0;
    alive += m.next(i, j);
}

template <class M, class S> POINT_FN void plain_triples(const M &m, int i, int j, int k, S &least) {
    if (m.a(i, j, k) > 0.25) least.join(m.a(i, j, k), (i * m.J + j) * m.K + k);
}

template <class M, class S> POINT_FN void plain_filter(const M &m, const int i, S &update, const bool final) {
    if (m.x(i) > 0.5) {
        if (final) m.kept(update) = i;
        update += 1;
    }
}

template <class M, class Team> POINT_FN void plain_team(const M &m, const Team &team) {
    const int e = team.league_rank();
    double sum = 0, most = 0;
    long many = 0;
    const auto large = [=](int j) { return m.x(e, j) > 0.25; };
    reduce(team.vector(m.n), [&](const int j, double &s) { s += large(j) ? m.x(e, j) : 0; }, sum);
    reduce(
        team.vector(m.x.extent(1)),
        [&](const int j, double &s) {
            if (m.x(e, j) > s) s = m.x(e, j);
        },
        most, Max());
    reduce(team.each(m.n), [&](const int j, long &s) { s += large(j); }, many);
    const long all = scan<long>(team.vector(m.n), [&](const int j, long &s, const bool last) {
        if (large(j)) {
            if (last) m.at(e, s) = j;
            ++s;
        }
    });
    team.for_vector(m.n, [&](const int j) { m.odd(e, j) = j % 2 ? m.x(e, j) : 0; });
    team.member().for_vector(m.n, [&](const long j) { m.half(e, j) = 0.5 * m.x(e, j); });
    single_per_team(team, [&] {
        m.found(e, 0) = sum;
        m.found(e, 1) = most;
        m.found(e, 2) = many;
        m.found(e, 3) = all;
    });
}

// A histogram in scratch by single lanes; a count of packs inside of single lanes
template <class M, class Team> POINT_FN void plain_histogram(const M &m, const Team &team) {
    const auto own = team.scratch(m.own);
    team.for_vector(4, [&](auto b) { own(b) = 0; });
    team.barrier();
    team.for_vector(m.n, [&](auto i) { each_lane(i, [&](long k) { atomic_add(own(m.bin(k)), 1); }); });
    team.barrier();
    team.for_vector(4, [&](auto b) { each_lane(b, [&](long k) { atomic_add(m.bins(k), own(k)); }); });
}

template <class M, class Team> POINT_FN void plain_nested(const M &m, const Team &team) {
    const auto own = team.scratch(m.own);
    team.for_vector(4, [&](auto b) { own(b) = 0; });
    team.barrier();
    team.for_vector(m.n, [&](auto i) {
        each_lane(i, [&](long k) { team.member().for_vector(3, [&](auto j) { atomic_add(own(m.bin(k)), 1); }); });
    });
    team.barrier();
    team.for_vector(4, [&](auto b) { each_lane(b, [&](long k) { atomic_add(m.bins(k), own(k)); }); });
}

// ---- packs: what numbers of a device can, packs can

template <class M, class I> POINT_FN void plain_functions(const M &m, const I i) {
    const auto x = m.x(i);
    m.y(0, i) = +fma(x, 2.0, 1.0) + rsqrt(x);
    m.y(1, i) = asinh(x) + acosh(1.0 + x) + atanh(0.5 * x);
    m.y(2, i) = remainder(x, 0.3) + fdim(x, 0.5) + nearbyint(9.0 * x) + logb(x);
    Real<I> quotient = x;
    quotient /= 0.25;
    m.y(3, i) = quotient;
    m.is(0, i) = isnan(m.odd(i));
    m.is(1, i) = isinf(m.odd(i));
    m.is(2, i) = isfinite(m.odd(i));
    m.is(3, i) = signbit(m.odd(i));
}

template <class M, class I, class S> POINT_FN void plain_whole(const M &m, const I i, S &count) {
    m.k(i) <<= 2;
    m.k(i) %= 7;
    m.k(i) >>= 1;
    m.half(i) = select(i % 3 == 0, 5, 2) / 2 * 2 + select(i % 2 == 0, 1, m.k(i));
    count += select(m.k(i) > 1, 1, 0);
}
