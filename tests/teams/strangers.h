// Bodies for test_team_strangers.py: what users of Kokkos write whom nobody here knows.
#pragma once

// y = A x: a team a row, lanes over its entries; values lie in one column of a table
template <class M, class Team> POINT_FN void row_of_table(const M &m, const Team &team) {
    const long i = team.league_rank();
    const auto value = subview(m.table, ALL, 1);
    const int begin = m.row(i), end = m.row(i + 1);
    scalar sum;
    reduce(team.vector(end - begin), [&](auto k, auto &s) { s += value(begin + k) * m.x(m.column(begin + k)); }, sum);
    single_per_team(team, [&] { m.y(i) = sum; });
}

// Tridiagonal systems, a team each: parallel cyclic reduction between two rooms of scratch
template <class M, class Team> POINT_FN void tridiagonal(const M &m, const Team &team) {
    const long e = team.league_rank();
    const auto s = team.scratch(m.s);
    team.for_vector(m.n, [&](auto i) {
        s(0, 0, i) = m.a(e, i), s(0, 1, i) = m.b(e, i), s(0, 2, i) = m.c(e, i), s(0, 3, i) = m.d(e, i);
    });
    team.barrier();
    int from = 0;
    for (int step = 1; step < m.n; step *= 2, from = 1 - from) {
        team.for_each(m.n, [&](int i) {
            const int to = 1 - from;
            const long low = max(i - step, 0), high = min(i + step, m.n - 1);
            const scalar down = i < step ? 0 : s(from, 0, i) / s(from, 1, low);
            const scalar up = i + step >= m.n ? 0 : s(from, 2, i) / s(from, 1, high);
            s(to, 1, i) = s(from, 1, i) - down * s(from, 2, low) - up * s(from, 0, high);
            s(to, 3, i) = s(from, 3, i) - down * s(from, 3, low) - up * s(from, 3, high);
            s(to, 0, i) = -down * s(from, 0, low);
            s(to, 2, i) = -up * s(from, 2, high);
        });
        team.barrier();
    }
    team.for_vector(m.n, [&](auto i) { m.x(e, i) = s(from, 3, i) / s(from, 1, i); });
}

// Keys with their places: odd-even transposition in scratch of whole numbers
template <class M, class Team> POINT_FN void ranked(const M &m, const Team &team) {
    const long e = team.league_rank();
    const auto key = team.scratch(m.key);
    const auto place = team.scratch(m.place);
    team.for_each(m.n, [&](long i) { key(i) = m.k(e, i), place(i) = int(i); });
    for (long turn = 0; turn < m.n; ++turn) {
        team.barrier();
        team.for_each(m.n / 2, [&](long half) {
            const long i = 2 * half + turn % 2;
            if (i + 1 < m.n && key(i) > key(i + 1)) {
                const int k = key(i), p = place(i);
                key(i) = key(i + 1), place(i) = place(i + 1);
                key(i + 1) = k, place(i + 1) = p;
            }
        });
    }
    team.barrier();
    team.for_vector(m.n, [&](auto i) { m.order(e, i) = place(i); });
}

// A histogram in the copy of an id
template <class M, class I> POINT_FN void counted_by_id(const M &m, const I i) {
    each_lane(i, [&](long k) {
        const auto id = m.pool.acquire();
        m.copy(id, m.bin(k))++;
        m.pool.release(id);
    });
}

// Five points with a halo in scratch; beyond the edge the nearest point
template <class M, class Team> POINT_FN void halo(const M &m, const Team &team) {
    const long across = (m.J + m.T - 1) / m.T, i0 = team.league_rank() / across * m.T,
               j0 = team.league_rank() % across * m.T;
    const auto s = team.scratch(m.s);
    const auto member = team.member();
    team.for_each(m.T + 2, [&](long i) {
        member.for_vector(m.T + 2, [&](auto j) {
            const auto at = max(0, min(j0 + j - 1, m.J - 1));
            s(i, j) = m.u(max(0, min(i0 + i - 1, m.I - 1)), at);
        });
    });
    team.barrier();
    team.for_each(min(m.T, m.I - i0), [&](long i) {
        member.for_vector(min(m.T, m.J - j0), [&](auto j) {
            m.v(i0 + i, j0 + j) = s(i, j + 1) + s(i + 2, j + 1) + s(i + 1, j) + s(i + 1, j + 2) - 4.0 * s(i + 1, j + 1);
        });
    });
}

// Charges to four nodes of a grid, and the field there back to the particle
template <class M, class I> POINT_FN void cloud(const M &m, const I p) {
    const auto x = m.x(p), y = m.y(p);
    each_lane(p, [&](long k) {
        const int i = int(m.x(k)), j = int(m.y(k));
        const scalar u = m.x(k) - i, v = m.y(k) - j;
        m.charge(i, j) += (1 - u) * (1 - v), m.charge(i + 1, j) += u * (1 - v);
        m.charge(i, j + 1) += (1 - u) * v, m.charge(i + 1, j + 1) += u * v;
    });
    m.distance(p) = sqrt(x * x + y * y);
}

// Number, mean and squared deviations, joined as by Chan, Golub and LeVeque
struct Moments : Reducer {
    template <class T> POINT_FN static void neutral(Several<T, 3> &x) { x.v[0] = x.v[1] = x.v[2] = 0; }
    template <class T> POINT_FN static void join(Several<T, 3> &a, const Several<T, 3> &b) {
        const T n = a.v[0] + b.v[0];
        if (n == 0) return;
        const T apart = b.v[1] - a.v[1];
        a.v[2] += b.v[2] + apart * apart * a.v[0] * b.v[0] / n;
        a.v[1] += apart * b.v[0] / n;
        a.v[0] = n;
    }
};

template <class M, class Team, class S> POINT_FN void moments(const M &m, const Team &team, S &all) {
    const long e = team.league_rank();
    Several<scalar, 3> rows;
    reduce(
        team.each(m.n),
        [&](long i, auto &s) {
            Several<scalar, 3> row;
            reduce(team.member().vector(m.k), [&](auto j, auto &r) { r.join(1.0, m.x(e, i, j), 0.0); }, row, Moments());
            s.join(row.v[0], row.v[1], row.v[2]);
        },
        rows, Moments());
    single_per_team(team, [&] {
        m.variance(e) = rows.v[0] > 0 ? rows.v[2] / rows.v[0] : 0;
        all.join(rows.v[0], rows.v[1], rows.v[2]);
    });
}

// Compaction in two launches: how many a team keeps; where it puts them, behind what other teams keep
template <class M, class Team> POINT_FN void kept_by_team(const M &m, const Team &team) {
    const long first = team.league_rank() * m.share;
    long kept;
    reduce(team.vector(min(m.share, m.n - first)), [&](auto i, auto &s) { s += m.x(first + i) > 0.5; }, kept);
    single_per_team(team, [&] { m.kept(team.league_rank()) = kept; });
}
template <class M, class I, class S> POINT_FN void offsets(const M &m, const I i, S &sum, bool last) {
    if (last) m.offset(i) = sum;
    sum += m.kept(i);
}
template <class M, class Team> POINT_FN void put_by_team(const M &m, const Team &team) {
    const long first = team.league_rank() * m.share, offset = m.offset(team.league_rank());
    scan<long>(team.each(min(m.share, m.n - first)), [&](long i, auto &before, bool last) {
        const bool keep = m.x(first + i) > 0.5;
        if (last && keep) m.out(offset + before) = m.x(first + i);
        before += keep;
    });
}

// Lists of what falls into the same bucket, pushed to their heads by compare and exchange
template <class M, class I> POINT_FN void pushed(const M &m, const I i) {
    each_lane(i, [&](long k) {
        const int bucket = m.bucket(k);
        int head = atomic_load(m.head(bucket));
        while (true) {
            m.next(k) = head;
            const int found = atomic_compare_exchange(m.head(bucket), head, int(k));
            if (found == head) break;
            head = found;
        }
    });
}

// Indices beyond 32 bits, without an array of so many
template <class M, class I, class S, class Q> POINT_FN void far_indices(const M &m, const I i, S &sum, Q &most) {
    sum += i % 1000003;
    most.join(i);
    m.hit(i - m.first) = i / 3 - m.first / 3;
}
