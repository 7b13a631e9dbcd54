// out(c, l, r) = sum over k of left(c, l, k) right(c, r, k), k = (p, d1, d2): Intrepid's nine, where data has L = 1,
// and data with data R = 1 too. One body for each way to share out the work.
#pragma once

struct Output {
    long c, l, r;
};
template <class M> POINT_FN Output output_of(const M &m, long at) {
    return {at / (m.L * m.R), at / m.R % m.L, at % m.R};
}
template <class M> POINT_FN scalar product(const M &m, const Output &o, long k) {
    return m.left(o.c, o.l, k) * m.right(o.c, o.r, k);
}

// a thread an output
template <class M, class I> POINT_FN void flat(const M &m, const I at) {
    each_lane(at, [&](long i) {
        const Output o = output_of(m, i);
        scalar sum = 0;
        for (long k = 0; k < m.K; ++k) sum += product(m, o, k);
        m.out(o.c, o.l, o.r) = sum;
    });
}
// a team an output; members over d2, over d1 d2, over p d1 d2, each with a loop over the rest
template <class M, class Team> POINT_FN void members_over(const M &m, const Team &team, long many) {
    const Output o = output_of(m, team.league_rank());
    scalar sum;
    reduce(
        team.each(many),
        [&](long d, auto &s) {
            for (long k = d; k < m.K; k += many) s += product(m, o, k);
        },
        sum);
    single_per_team(team, [&] { m.out(o.c, o.l, o.r) = sum; });
}
template <class M, class Team> POINT_FN void depth1(const M &m, const Team &team) { members_over(m, team, m.D2); }
template <class M, class Team> POINT_FN void depth2(const M &m, const Team &team) {
    members_over(m, team, m.D1 * m.D2);
}
template <class M, class Team> POINT_FN void depth3(const M &m, const Team &team) { members_over(m, team, m.K); }
// a team of 32 lanes an output, with a stride of 32 along k
template <class M, class Team> POINT_FN void teamstride(const M &m, const Team &team) {
    const Output o = output_of(m, team.league_rank());
    const auto member = team.member();
    scalar sum;
    reduce(member.vector(m.K), [&](auto k, auto &s) { s += m.left(o.c, o.l, k) * m.right(o.c, o.r, k); }, sum);
    single_per_member(member, [&] { m.out(o.c, o.l, o.r) = sum; });
}
// a member an output, its lanes as many as k, rounded up to a power of two
template <class M, class Team> POINT_FN void special(const M &m, const Team &team) {
    const auto member = team.member();
    const long first = team.league_rank() * m.outputs, left = m.C * m.L * m.R - first;
    team.for_each(left < m.outputs ? left : m.outputs, [&](long i) {
        const Output o = output_of(m, first + i);
        scalar sum;
        reduce(member.vector(m.K), [&](auto k, auto &s) { s += m.left(o.c, o.l, k) * m.right(o.c, o.r, k); }, sum);
        single_per_member(member, [&] { m.out(o.c, o.l, o.r) = sum; });
    });
}
// a team for ROWS left rows in scratch; members over r
template <int ROWS, class M, class Team> POINT_FN void rows_in_scratch(const M &m, const Team &team) {
    const long groups = (m.L + ROWS - 1) / ROWS, c = team.league_rank() / groups,
               l0 = team.league_rank() % groups * ROWS, rows = l0 + ROWS <= m.L ? ROWS : m.L - l0;
    const auto own = team.scratch(m.rows);
    for (long row = 0; row < rows; ++row) team.for_vector(m.K, [&](auto k) { own(row, k) = m.left(c, l0 + row, k); });
    team.barrier();
    team.for_each(rows * m.R, [&](long i) {
        const long row = i / m.R, r = i % m.R;
        scalar sum = 0;
        for (long k = 0; k < m.K; ++k) sum += own(row, k) * m.right(c, r, k);
        m.out(c, l0 + row, r) = sum;
    });
}
template <class M, class Team> POINT_FN void slicing1(const M &m, const Team &team) { rows_in_scratch<1>(m, team); }
template <class M, class Team> POINT_FN void adaptive2(const M &m, const Team &team) { rows_in_scratch<2>(m, team); }
// a team for 16 x 16 outputs, with tiles of both factors in scratch
template <class M, class Team> POINT_FN void tiling(const M &m, const Team &team) {
    constexpr long T = 16;
    const long down = (m.L + T - 1) / T, across = (m.R + T - 1) / T, at = team.league_rank(), c = at / (down * across),
               l0 = at / across % down * T, r0 = at % across * T;
    const auto left = team.scratch(m.tile_left);
    const auto right = team.scratch(m.tile_right);
    const auto sums = team.scratch(m.tile_sums);
    team.for_each(T * T, [&](long i) { sums(i) = 0; });
    for (long k0 = 0; k0 < m.K; k0 += T) {
        team.for_each(T * T, [&](long i) {
            const long row = i / T, k = k0 + i % T;
            left(row, i % T) = l0 + row < m.L && k < m.K ? m.left(c, l0 + row, k) : scalar(0);
            right(row, i % T) = r0 + row < m.R && k < m.K ? m.right(c, r0 + row, k) : scalar(0);
        });
        team.barrier();
        team.for_each(T * T, [&](long i) {
            scalar sum = sums(i);
            for (long k = 0; k < T; ++k) sum += left(i / T, k) * right(i % T, k);
            sums(i) = sum;
        });
        team.barrier();
    }
    team.for_each(T * T, [&](long i) {
        if (l0 + i / T < m.L && r0 + i % T < m.R) m.out(c, l0 + i / T, r0 + i % T) = sums(i);
    });
}
