// contractFieldFieldScalar: two left rows of a team in scratch, a right field a member and lane; an odd L has a team
// with one row
template <class M, class Team> POINT_FN void slicing(const M &m, const Team &team) {
    const long pairs = (m.L + 1) / 2, c = team.league_rank() / pairs, l0 = team.league_rank() % pairs * 2,
               rows = l0 + 2 <= m.L ? 2 : m.L - l0;
    const auto left = team.scratch(m.left_rows);
    team.for_vector(rows * m.P, [&](auto i) {
        each_lane(i, [&](long k) { left(k / m.P, k % m.P) = m.left(c, l0 + k / m.P, k % m.P); });
    });
    team.barrier();
    team.for_vector(m.R, [&](auto r) {
        for (long row = 0; row < rows; ++row) {
            Real<decltype(r)> sum(0.0);
            for (long p = 0; p < m.P; ++p) sum += left(row, p) * m.right(c, r, p);
            m.out(c, l0 + row, r) = sum;
        }
    });
}
