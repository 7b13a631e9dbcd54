// Bodies for test_team_ported.py: teams, ported from Kokkos.
#pragma once

// a transposition through scratch, whose rows are a number longer
template <class M, class Team> POINT_FN void through_scratch(const M &m, const Team &team) {
    const long across = (m.J + m.T - 1) / m.T, i0 = team.league_rank() / across * m.T,
               j0 = team.league_rank() % across * m.T;
    const long rows = min(m.T, m.I - i0), columns = min(m.T, m.J - j0);
    const auto tile = team.scratch(m.tile);
    const auto member = team.member();
    team.for_each(rows, [&](long i) { member.for_vector(columns, [&](auto j) { tile(i, j) = m.a(i0 + i, j0 + j); }); });
    team.barrier();
    team.for_each(columns, [&](long j) { member.for_vector(rows, [&](auto i) { m.b(j0 + j, i0 + i) = tile(i, j); }); });
}

// y = A x, a team a row, offsets of 64 bits
template <class M, class Team> POINT_FN void row_of_team(const M &m, const Team &team) {
    const long i = team.league_rank(), begin = m.row(i);
    double sum;
    reduce(
        team.vector(m.row(i + 1) - begin), [&](auto k, auto &s) { s += m.value(begin + k) * m.x(m.column(begin + k)); },
        sum);
    single_per_team(team, [&] { m.y(i) = sum; });
}

// number, sum and ends of each segment, as a struct of the user's
struct Stats {
    double sum, least, most;
    long count;
};

template <class M, class Team> POINT_FN void of_segments(const M &m, const Team &team) {
    const long s = team.league_rank(), begin = m.begin(s);
    const auto join = [](const Stats &a, const Stats &b) {
        return Stats{a.sum + b.sum, min(a.least, b.least), max(a.most, b.most), a.count + b.count};
    };
    Stats all{0, 1e300, -1e300, 0};
    reduce(
        team.each(m.begin(s + 1) - begin),
        [&](long k, Stats &x) {
            const double v = m.x(begin + k);
            x = join(x, {v, v, v, 1});
        },
        all, join);
    single_per_team(
        team, [&] { m.out(s, 0) = all.sum, m.out(s, 1) = all.least, m.out(s, 2) = all.most, m.out(s, 3) = all.count; });
}

// each member counts, has its place by a scan over the members, and writes there
template <class M, class Team> POINT_FN void places_of_members(const M &m, const Team &team) {
    const long e = team.league_rank();
    const int share = int((m.n + team.size() - 1) / team.size());
    const long begin = min(m.n, 1L * team.rank() * share), end = min(m.n, begin + share);
    long own = 0;
    for (long i = begin; i < end; ++i) own += m.x(e, i) > 0.5;

    long place = 0;
    const long all = scan<long>(team.each(team.size()), [&](int, long &sum, bool last) {
        if (last) place = sum;
        sum += own;
    });
    for (long i = begin; i < end; ++i)
        if (m.x(e, i) > 0.5) m.kept(e, place++) = int(i);
    single_per_team(team, [&] { m.count(e) = int(all); });
}

// values that one member has for all, of several sizes
template <class M, class Team> POINT_FN void passed_on(const M &m, const Team &team) {
    const long e = team.league_rank();
    const auto member = team.member();
    Stats stats;
    single_per_team(team, [&](Stats &x) { x = {m.x(e), m.x(e) - 1, m.x(e) + 1, e}; }, stats);
    Several<scalar, 4> four;
    single_per_team(
        team,
        [&](auto &x) {
            for (int k = 0; k < 4; ++k) x.v[k] = k + m.x(e);
        },
        four);
    bool odd = false;
    single_per_member(member, [&](bool &x) { x = e % 2; }, odd);
    team.for_each(m.n, [&](long i) {
        const double all = stats.sum + stats.least + stats.most + stats.count + four.v[3];
        member.for_vector(2, [&](auto l) { m.out(e, i, l) = all + odd; });
    });
}

// reductions over no index, at each level
template <class M, class Team, class S> POINT_FN void of_none(const M &m, const Team &team, S &most) {
    const auto none = [&](int row, const auto &range) {
        bool all = false, any = true;
        scalar least = 0, sum = 1;
        Located<scalar> first;
        int bits = 1;
        reduce(range, [&](auto i, auto &s) { s &= m.x(i) > 0.0; }, all, AllOf());
        reduce(range, [&](auto i, auto &s) { s |= m.x(i) > 0.0; }, any, AnyOf());
        reduce(range, [&](auto i, auto &s) { s.join(m.x(i)); }, least, Min());
        reduce(range, [&](auto i, auto &s) { s.join(m.x(i), i); }, first, MinLoc());
        reduce(range, [&](auto i, auto &s) { s += m.x(i); }, sum);
        reduce(range, [&](auto i, auto &s) { s ^= i; }, bits, BitXor());
        single_per_team(team, [&] {
            m.out(row, 0) = all, m.out(row, 1) = any, m.out(row, 2) = least, m.out(row, 3) = first.at;
            m.out(row, 4) = sum, m.out(row, 5) = bits;
        });
    };
    none(0, team.each(m.none)), none(1, team.vector(m.none)), none(2, team.member().vector(m.none));
    single_per_team(team, [&] { most.join(1.0); });
}

// Gauss' elimination of small systems with the largest pivot, in scratch
template <class M, class Team> POINT_FN void eliminated(const M &m, const Team &team) {
    const long e = team.league_rank();
    const auto member = team.member();
    const auto a = team.scratch(m.s);
    team.for_each(m.n, [&](long i) { member.for_vector(m.n + 1, [&](auto j) { a(i, j) = m.A(e, i, j); }); });
    team.barrier();
    for (long k = 0; k < m.n; ++k) {
        Located<scalar> pivot;
        reduce(team.each(m.n - k), [&](long i, auto &p) { p.join(fabs(a(k + i, k)), k + i); }, pivot, MaxLoc());
        team.for_vector(m.n + 1, [&](auto j) {
            const auto other = a(pivot.at, j);
            const auto own = a(k, j);
            a(k, j) = other, a(pivot.at, j) = own;
        });
        team.barrier();
        team.for_each(m.n, [&](long i) {
            if (i == k) return;
            const scalar factor = a(i, k) / a(k, k);
            member.for_vector(m.n - k, [&](auto j) { a(i, k + 1 + j) -= factor * a(k, k + 1 + j); });
        });
        team.barrier();
    }
    team.for_each(m.n, [&](long i) { single_per_member(member, [&] { m.x(e, i) = a(i, m.n) / a(i, i); }); });
}

// Jacobi's sweeps of a tile in two rooms of scratch, until they change less than a bound
template <class M, class Team> POINT_FN void relaxed(const M &m, const Team &team) {
    const long e = team.league_rank();
    const auto rooms = team.scratch(m.rooms);
    team.for_vector(m.n, [&](auto i) { rooms(0, i) = rooms(1, i) = m.u(e, i); });
    team.barrier();
    int turns = 0;
    double change = 1;
    while (change > m.within && turns < 500) {
        const auto from = subview(rooms, turns % 2, ALL), to = subview(rooms, 1 - turns % 2, ALL);
        reduce(
            team.vector(m.n - 2),
            [&](auto k, auto &most) {
                to(k + 1) = 0.5 * (from(k) + from(k + 2));
                most.join(fabs(to(k + 1) - from(k + 1)));
            },
            change, Max());
        ++turns;
    }
    team.for_vector(m.n, [&](auto i) { m.u(e, i) = rooms(turns % 2, i); });
    single_per_team(team, [&] { m.turns(e) = turns; });
}
