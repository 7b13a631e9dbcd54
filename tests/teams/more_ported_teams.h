// Bodies for test_team_more_ported.py: teams, ported from Kokkos.
#pragma once

// factors of small matrices without pivots, in scratch of level 0, of level 1
template <class M, class Team, class S> POINT_FN void factored_in(const M &m, const Team &team, const S &a) {
    const int e = team.league_rank();
    team.for_each(m.n, [&](int i) { team.member().for_vector(m.n, [&](int j) { a(i, j) = m.A(e, i, j); }); });
    team.barrier();
    for (int k = 0; k < m.n - 1; ++k) {
        const double inverse = 1 / a(k, k);
        team.for_each(m.n - k - 1, [&](int r) {
            const int i = k + 1 + r;
            const double l = a(i, k) * inverse;
            team.member().for_vector(m.n - k - 1, [&](int c) { a(i, k + 1 + c) -= l * a(k, k + 1 + c); });
            single_per_member(team.member(), [&] { a(i, k) = l; });
        });
        team.barrier();
    }
    team.for_each(m.n, [&](int i) { team.member().for_vector(m.n, [&](int j) { m.LU(e, i, j) = a(i, j); }); });
}
template <class M, class Team> POINT_FN void factored(const M &m, const Team &team) {
    factored_in(m, team, team.scratch(m.a));
}
template <class M, class Team> POINT_FN void factored_far(const M &m, const Team &team) {
    factored_in(m, team, team.scratch(m.a));
}

// keys with their values, odd places and even places in turns
template <class M, class Team> POINT_FN void sorted_pairs(const M &m, const Team &team) {
    const int e = team.league_rank(), n = m.n;
    const auto key = team.scratch(m.key);
    const auto value = team.scratch(m.value);
    team.for_each(n,
                  [&](int i) { single_per_member(team.member(), [&] { key(i) = m.k(e, i), value(i) = m.x(e, i); }); });
    team.barrier();
    for (int phase = 0; phase < n; ++phase) {
        const int first = phase % 2;
        team.for_each((n - first) / 2, [&](int p) {
            const int i = first + 2 * p;
            single_per_member(team.member(), [&] {
                if (key(i) <= key(i + 1)) return;
                const int k = key(i);
                const double x = value(i);
                key(i) = key(i + 1), value(i) = value(i + 1);
                key(i + 1) = k, value(i + 1) = x;
            });
        });
        team.barrier();
    }
    team.for_vector(n, [&](auto i) { m.k(e, i) = key(i), m.x(e, i) = value(i); });
}

// a pass of a radix sort: how many have each digit, where they begin, the order of equals kept
template <class M, class Team> POINT_FN void by_digits(const M &m, const Team &team) {
    const int e = team.league_rank();
    const auto begin = team.scratch(m.begin);
    for (int digit = 0; digit < 4; ++digit) {
        const long many = scan<long>(team.each(m.n), [&](const int i, long &at, const bool last) {
            const bool own = ((m.k(e, i) >> m.shift) & 3) == digit;
            if (own && last) {
                const long before = digit == 0 ? 0 : begin(digit - 1);
                m.sorted(e, before + at) = m.k(e, i);
            }
            if (own) at += 1;
        });
        single_per_team(team, [&] { begin(digit) = (digit == 0 ? 0 : begin(digit - 1)) + many; });
        team.barrier();
    }
}

// forces of all on all, tiles of places in scratch; each member keeps the force of one
template <class M, class Team, class S> POINT_FN void attracted(const M &m, const Team &team, S &energy) {
    const auto tile = team.scratch(m.tile);
    const int own = team.league_rank() * team.size() + team.rank();
    const double x = own < m.n ? m.x(own, 0) : 0, y = own < m.n ? m.x(own, 1) : 0;
    double fx = 0, fy = 0, potential = 0;
    for (int first = 0; first < m.n; first += team.size()) {
        const int many = min(team.size(), m.n - first);
        if (team.rank() < many)
            for (int d = 0; d < 3; ++d)
                tile(team.rank(), d) = d < 2 ? m.x(first + team.rank(), d) : m.mass(first + team.rank());
        team.barrier();
        for (int k = 0; k < many; ++k) {
            if (first + k == own) continue;
            const double dx = tile(k, 0) - x, dy = tile(k, 1) - y;
            fx += tile(k, 2) * dx, fy += tile(k, 2) * dy, potential += tile(k, 2) * (dx * dx + dy * dy);
        }
        team.barrier();
    }
    if (own >= m.n) return;
    single_per_member(team.member(), [&] { m.f(own, 0) = fx, m.f(own, 1) = fy; });
    energy += potential;
}

// three levels, several reducers at each
template <class M, class Team, class S, class MOST, class AT>
POINT_FN void three_levels(const M &m, const Team &team, S &total, MOST &most, AT &where) {
    const int e = team.league_rank();
    double sum = 0, largest = 0;
    long odd = 0;
    bool all = true;
    reduce(
        team.each(m.J),
        [&](const int j, double &outer) {
            double inner = 0, high = 0;
            const auto lanes = team.member().vector(m.K);
            reduce(lanes, [&](const int k, double &s) { s += m.v(e, j, k); }, inner);
            reduce(lanes, [&](const int k, double &s) { s = s > m.v(e, j, k) ? s : m.v(e, j, k); }, high, Max());
            single_per_member(team.member(), [&] { m.rows(e, j) = inner + high; });
            outer += inner * (j + 1);
        },
        sum);
    reduce(
        team.vector(m.J * m.K), [&](const int i, double &s) { s = max(s, m.v(e, i / m.K, i % m.K)); }, largest, Max());
    reduce(team.vector(m.J), [&](auto j, auto &s) { s += select(m.v(e, j, 0) < 0.0, 1, 0); }, odd);
    reduce(team.each(m.J), [&](const int j, bool &s) { s = s && m.v(e, j, 0) > -9; }, all, AllOf());
    single_per_team(team, [&] {
        m.found(e, 0) = sum, m.found(e, 1) = largest, m.found(e, 2) = odd, m.found(e, 3) = all;
        total += sum;
        most.join(largest);
        where.join(largest, e);
    });
}

// matrix products by tiles of both factors in scratch
template <class M, class Team> POINT_FN void multiplied(const M &m, const Team &team) {
    const long across = (m.J + m.T - 1) / m.T, i0 = team.league_rank() / across * m.T,
               j0 = team.league_rank() % across * m.T;
    const auto a = team.scratch(m.a);
    const auto b = team.scratch(m.b);
    const auto c = team.scratch(m.c);
    const auto member = team.member();
    team.for_each(m.T, [&](int i) { member.for_vector(m.T, [&](auto j) { c(i, j) = 0.0; }); });
    for (long k0 = 0; k0 < m.K; k0 += m.T) {
        team.for_each(m.T, [&](int i) {
            member.for_vector(m.T, [&](int j) {
                a(i, j) = i0 + i < m.I && k0 + j < m.K ? m.A(i0 + i, k0 + j) : 0;
                b(i, j) = k0 + i < m.K && j0 + j < m.J ? m.B(k0 + i, j0 + j) : 0;
            });
        });
        team.barrier();
        team.for_each(m.T, [&](int i) {
            for (int k = 0; k < m.T; ++k) {
                const double x = a(i, k);
                member.for_vector(m.T, [&](auto j) { c(i, j) += x * b(k, j); });
            }
        });
        team.barrier();
    }
    team.for_each(min(m.T, m.I - i0), [&](int i) {
        member.for_vector(min(m.T, m.J - j0), [&](auto j) { m.C(i0 + i, j0 + j) = c(i, j); });
    });
}

// rows of a grid with two more on each side in scratch; what comes from beyond the grid is its last number
template <class M, class Team> POINT_FN void smoothed(const M &m, const Team &team) {
    const int row = team.league_rank();
    const auto s = team.scratch(m.s);
    team.for_vector(m.n + 4, [&](auto i) { s(i) = m.u(row, min(max(i - 2, 0), m.n - 1)); });
    team.barrier();
    team.for_vector(m.n,
                    [&](auto i) { m.v(row, i) = s(i) + 4.0 * s(i + 1) + 6.0 * s(i + 2) + 4.0 * s(i + 3) + s(i + 4); });
}

// branches that all members take alike, with barriers in them
template <class M, class Team> POINT_FN void branched(const M &m, const Team &team) {
    const int e = team.league_rank();
    const auto s = team.scratch(m.s);
    const bool turned = e % 2 == 1;
    team.for_each(m.n,
                  [&](int i) { single_per_member(team.member(), [&] { s(i) = turned ? -m.x(e, i) : m.x(e, i); }); });
    turned ? team.barrier() : team.barrier();
    if (e % 3 == 0) {
        team.for_each(m.n, [&](int i) { single_per_member(team.member(), [&] { m.y(e, i) = s(m.n - 1 - i); }); });
        return;
    }
    double sum = 0;
    turned ? reduce(
                 team.each(m.n), [&](int i, double &t) { t += s(i); }, sum)
           : reduce(team.vector(m.n), [&](int i, double &t) { t += 2 * s(i); }, sum);
    team.for_each(m.n, [&](int i) {
        if (i % 2) return;
        team.member().for_vector(1, [&](int) {
            if (s(i) < 0) return;
            m.y(e, i) = sum;
        });
    });
}

// histograms with weights, a copy in scratch for each team
template <class M, class Team> POINT_FN void weighed_by_teams(const M &m, const Team &team) {
    const auto own = team.scratch(m.own);
    const long first = team.league_rank() * m.share, many = min(m.share, m.n - first);
    team.for_each(m.bins, [&](int b) { single_per_member(team.member(), [&] { own(b) = 0; }); });
    team.barrier();
    team.for_vector(many, [&](const int k) { atomic_add(own(m.k(first + k)), m.x(first + k)); });
    team.barrier();
    team.for_vector(m.bins, [&](auto b) { m.sum(b) += own(b); });
}
