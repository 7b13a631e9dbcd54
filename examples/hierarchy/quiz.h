// sums of 10 of every thread
template <class M, class I, class S> POINT_FN void quiz_flat(const M &, const I, S &total) { total += 10.0; }

// of every member of a team of N, counted once
template <class M, class Team> POINT_FN void quiz_team(const M &m, const Team &team, scalar &total) {
    scalar sum;
    reduce(team.vector(m.N), [&](auto, auto &s) { s += 10.0; }, sum);
    single_per_team(team, [&] { total += sum; });
}
// every member has the team's sum, and each adds it
template <class M, class Team> POINT_FN void quiz_nested(const M &m, const Team &team, scalar &total) {
    scalar sum;
    reduce(team.vector(m.N), [&](auto, auto &s) { s += 10.0; }, sum);
    team.for_each(m.N, [&](long) { total += sum; });
}
