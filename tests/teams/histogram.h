#pragma once

// how many of first <= i < last that are taken lie in each bin, and what they weigh; the heaviest of all
template <class M, class Team, class S, class Q>
POINT_FN void histogram(const M &m, const Team &team, S &total, Q &heaviest) {
    const auto own = team.scratch(m.own);
    const auto heavy = team.scratch(m.heavy);
    team.for_each(m.bins, [&](long k) { own(k) = 0, heavy(k) = 0; });
    team.barrier();
    for (long i = m.first + team.rank(); i < m.last; i += team.size())
        if (m.taken(i)) {
            atomic_add(own(m.bin(i)), 1);
            atomic_add(heavy(m.bin(i)), m.weight(i));
            total += 1;
            heaviest.join(scalar(m.weight(i)), i);
        }
    team.barrier();
    team.for_each(m.bins, [&](long k) {
        m.counts(k) = own(k);
        m.weights(k) = heavy(k);
        m.odd(k) = own(k) % 2;
    });
}
