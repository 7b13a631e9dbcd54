// Bodies for test_team_checks.py: parts of arrays and of scratch, right ones and wrong ones.
#pragma once

template <class M, class Team> POINT_FN void part_too_long(const M &m, const Team &team) {
    const auto row = subview(m.v, team.league_rank(), part(1, m.n + 2));
    team.for_vector(m.n, [&](auto i) { m.out(i) = row(i); });
}

template <class M, class Team> POINT_FN void part_of_no_row(const M &m, const Team &team) {
    const auto row = subview(m.v, team.league_rank() + 2, ALL);
    team.for_vector(m.n, [&](auto i) { m.out(i) = row(i); });
}

template <class M, class Team> POINT_FN void beyond_a_part(const M &m, const Team &team) {
    const auto row = subview(m.v, team.league_rank(), part(1, m.n));
    team.for_vector(m.n, [&](auto i) { m.out(i) = row(i); });
}

template <class M, class Team> POINT_FN void halves_with(const M &m, const Team &team) {
    const auto row = subview(m.v, team.league_rank(), part(0, m.n));
    const auto b = subview(team.scratch(m.b), 1, ALL);
    team.for_each(m.n, [&](long i) { b(i) = row(i); });
    team.barrier();
    team.for_each(m.n, [&](long i) { m.out(i) = b(m.n - 1 - i); });
}

template <class M, class Team> POINT_FN void halves_without(const M &m, const Team &team) {
    const auto b = subview(team.scratch(m.b), 1, ALL);
    team.for_each(m.n, [&](long i) { b(i) = m.v(0, i); });
    team.for_each(m.n, [&](long i) { m.out(i) = b(m.n - 1 - i); });
}
