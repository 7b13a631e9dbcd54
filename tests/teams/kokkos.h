// Bodies for test_team_kokkos.py, after the exercises of Kokkos' tutorials and the examples of its programming guide.
#pragma once

// exercise 1, with the work of its lecture: a sum of squares
template <class M, class I, class S> POINT_FN void sum_of_squares(const M &, const I i, S &total) { total += i * i; }

// a sum of the squares of distances between two indices of a pack
template <class M, class I, class S> POINT_FN void distances(const M &m, const I i, S &total) {
    const auto mirrored = m.n - 1 - i;
    total += (i - mirrored) * (i - mirrored);
}

// stream compaction: the sum of a scan is the place of what is kept
template <class M, class I, class S> POINT_FN void compacted(const M &m, const I i, S &count, bool last) {
    each_lane(i, [&](long k) {
        if (m.x(k) > 0.0) {
            if (last) m.place(count) = k, m.value(count, 1) = m.x(k);
            count += 1;
        }
    });
}

// functions of C++ and CUDA, of real numbers
template <class M, class I> POINT_FN void functions_of_packs(const M &m, const I i) {
    const auto x = m.x(i);
    const auto y = m.x(m.n - 1 - i);
    m.f(0, i) = sin(x) + cos(x) + tan(0.1 * x);
    m.f(1, i) = asin(0.1 * x) + acos(0.1 * x) + atan(x) + atan2(x, 2.0);
    m.f(2, i) = sinh(x) + cosh(x) + tanh(x);
    m.f(3, i) = floor(x) + ceil(x) + trunc(x) + rint(x);
    m.f(4, i) = exp2(x) + log2(fabs(x)) + log10(fabs(x)) + log1p(fabs(x));
    m.f(5, i) = erf(x) + erfc(x) + hypot(x, y) + fmod(x, 0.75);
    m.f(6, i) = pow(fabs(x), 2.5) + pow(x, 3) + pow(1.5, x);
    m.f(7, i) = max(x, y) + min(x, 1.0) + max(0, x) + abs(x) + fmin(y, x) + fmax(x, 0.5);
}

// the number where the other one is NaN
template <class M, class I> POINT_FN void without_nan(const M &m, const I i) {
    m.f(0, i) = fmax(m.x(i), m.y(i)), m.f(1, i) = fmin(m.x(i), m.y(i));
    m.f(2, i) = max(m.x(i), m.y(i)), m.f(3, i) = min(m.x(i), m.y(i));
}

// whole numbers
template <class M, class I> POINT_FN void whole_functions(const M &m, const I i) {
    const auto k = m.k(i);
    m.f(0, i) = max(k, 3), m.f(1, i) = min(k, i), m.f(2, i) = max(i, 5), m.f(3, i) = min(m.big(i), k);
    m.f(4, i) = abs(k - 2), m.f(5, i) = -k, m.f(6, i) = ~k, m.f(7, i) = select(k > i, m.big(i), 7);
    m.f(8, i) = i * i - (i - k) * i;
}

// logical arrays as conditions
template <class M, class I, class COUNT> POINT_FN void by_flags(const M &m, const I i, COUNT &count) {
    const auto a = m.a(i);
    m.y(i) = select(a, m.x(i), -1.0);
    m.b(i) = !a || (m.x(i) > 2.0 && m.b(i));
    count += a && m.b(i);
}

// scratch of a team and of its members, of both levels, of real and whole numbers; an index that lies in scratch
template <class M, class Team> POINT_FN void four_scratches(const M &m, const Team &team) {
    const auto member = team.member();
    const auto tile = team.scratch(m.tile);
    const auto turned = team.scratch(m.turned);
    const auto row = member.scratch(m.row);
    const auto far = member.scratch(m.far);
    const long e = team.league_rank();
    team.for_each(m.n, [&](long i) {
        member.for_vector(m.k, [&](auto j) { tile(i, j) = m.v(e, i, j); });
        single_per_member(member, [&] { turned(i) = m.n - 1 - i; });
    });
    team.barrier();
    team.for_each(m.n, [&](long i) {
        member.for_vector(m.k, [&](auto j) { row(j) = tile(turned(i), j), far(j, 0) = 2.0 * tile(i, j); });
        scalar sum;
        reduce(member.vector(m.k), [&](auto j, auto &s) { s += row(j) - far(j, 0); }, sum);
        single_per_member(member, [&] { m.out(e, i) = sum; });
    });
}

// bitonic sort: a barrier for each of many steps
template <class M, class Team> POINT_FN void sorted(const M &m, const Team &team) {
    const auto s = team.scratch(m.s);
    const long e = team.league_rank();
    team.for_each(m.n, [&](long i) { s(i) = m.x(e, i); });
    for (long k = 2; k <= m.n; k *= 2)
        for (long step = k / 2; step > 0; step /= 2) {
            team.barrier();
            team.for_each(m.n, [&](long i) {
                const long other = i ^ step;
                if (other < i) return;
                const scalar a = s(i), b = s(other);
                if (((i & k) == 0) == (a > b)) s(i) = b, s(other) = a;
            });
        }
    team.barrier();
    team.for_each(m.n, [&](long i) { m.x(e, i) = s(i); });
}

// numbers in scratch among others: of packs, of single members
template <class M, class Team> POINT_FN void formulas_in_scratch(const M &m, const Team &team) {
    const auto k = team.scratch(m.k);
    const auto x = team.scratch(m.x);
    team.for_vector(m.n, [&](auto i) { k(i) = m.given(i), x(i) = 0.5 * m.given(i); });
    team.barrier();

    const auto formula = [&](long row, auto i) {
        m.whole(row, i) = max(k(i), 3) + min(2, k(i)) + abs(k(i)) - ~k(i) + k(i) % 3 + (m.n - k(i)) * i;
        m.real(row, i) =
            max(x(i), 1) + select(k(i) > 2, x(i), 1.0) + fabs(x(i)) - select(k(i) != 4 && !(k(i) < 1), x(i), 0.0);
    };
    team.for_vector(m.n, [&](auto i) { formula(0, i); });
    team.for_each(m.n, [&](long i) { formula(1, i); });

    long sum;
    reduce(team.vector(m.n), [&](auto i, auto &s) { s += m.given(abs(k(i)) % m.n) * k(i); }, sum);
    single_per_team(team, [&] { m.total(0) = sum; });
}

// one element that all indices change: once for each of them
template <class M, class I> POINT_FN void counted_once(const M &m, const I i) {
    atomic_add(m.whole(0), 1), atomic_inc(m.whole(1)), atomic_sub(m.whole(2), i), atomic(m.whole)(3) += m.k(i);
    atomic_add(m.real(0), m.x(i)), atomic_max(m.real(1), m.x(i)), atomic(m.real)(2) -= 0.5;
    each_lane(i, [&](long) { atomic_inc(m.whole(4)); });
    atomic_inc(m.whole(4)), atomic_inc(m.each(i)), atomic_dec(m.each(m.n - 1 - i));
    m.some(0) += 1, m.some(1) -= m.x(i), m.some(2)++;
}

template <class M, class Team> POINT_FN void counted_in_teams(const M &m, const Team &team) {
    const auto own = team.scratch(m.own);
    single_per_team(team, [&] { own(0) = 0; });
    team.barrier();
    team.for_vector(m.n, [&](auto i) { atomic_inc(own(0)), atomic_add(m.whole(0), m.k(i)); });
    scalar sum;
    reduce(
        team.vector(m.n),
        [&](auto i, auto &s) {
            atomic_inc(m.whole(1));
            s += as_number(i);
        },
        sum);
    team.barrier();
    single_per_team(team, [&] { atomic_add(m.whole(2), own(0)); });
}

// products and sums of numbers of 32 bits and of an index
template <class M, class I> POINT_FN void narrow_products(const M &m, const I i) {
    const auto k = m.k(i);
    m.f(0, i) = k * k, m.f(1, i) = k * 3 + k, m.f(2, i) = 1L * k * k, m.f(3, i) = k * i;
    m.f(4, i) = select(k > 0, k, 7) * k, m.f(5, i) = max(k, 5) * k, m.f(6, i) = (k - 1) % 7 * k;
}
