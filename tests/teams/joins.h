// Bodies for test_team_reducers.py and test_team_members.py.
#pragma once

// A reducer of our own: the longest of several vectors, with its squared length in front; the first of those as long.
struct Longest : Reducer {
    template <class T> POINT_FN static void neutral(Several<T, 3> &x) { x.v[0] = -1, x.v[1] = x.v[2] = 0; }
    template <class T> POINT_FN static void join(Several<T, 3> &a, const Several<T, 3> &b) {
        if (b.v[0] > a.v[0]) a = b;
    }
};

// what x and w of index k give to every kind of result; v(k): x of a single index
template <class X, class W, class K, class V, class SUM, class COUNT, class PRODUCT, class LEAST, class MOST,
          class BOTH, class FIRST, class LAST, class ENDS, class ALL, class ANY, class AND, class OR, class XOR,
          class FAR, class HIGH>
POINT_FN void give(const X x, const W w, const K k, const V &v, SUM &sum, COUNT &count, PRODUCT &product, LEAST &least,
                   MOST &most, BOTH &both, FIRST &first, LAST &last, ENDS &ends, ALL &all, ANY &any, AND &bits_and,
                   OR &bits_or, XOR &bits_xor, FAR &far, HIGH &high) {
    sum += x;
    count++;
    product *= select(x < 0.0, X(-1.0), X(1.0));
    least.join(x), most.join(x), both.join(x);
    first.join(x, k), last.join(x, k), ends.join(x, k);
    all &= x > -1000.0;
    any |= x > 40.0;
    bits_and &= w, bits_or |= w, bits_xor ^= w;
    high.join(w);
    each_lane(k, [&](long k) { far.join(v(k) * v(k), v(k), scalar(k)); });
}

// each index of a range; each pair of indices; each team
template <class M, class I, class... RESULT> POINT_FN void given(const M &m, const I i, RESULT &...results) {
    const Real<I> x = m.v(i);
    give(x, m.w(i), i, [&](long k) { return m.v(k); }, results...);
}

template <class M, class I, class J, class... RESULT>
POINT_FN void given_pairs(const M &m, const I i, const J j, RESULT &...results) {
    const auto k = i * m.J + j;
    const Real<decltype(k)> x = m.v(i, j);
    give(x, m.w(i, j), k, [&](long k) { return m.v(k / m.J, k % m.J); }, results...);
}

template <class M, class Team, class... RESULT>
POINT_FN void given_by_teams(const M &m, const Team &team, RESULT &...results) {
    const long e = team.league_rank();
    single_per_team(team, [&] { give(m.v(e), m.w(e), e, [&](long k) { return m.v(k); }, results...); });
}

// every reducer over a range of a team: real(0..), whole(0..) = the results over row e
template <class Range, class M, class Reals, class Wholes>
POINT_FN void every_reducer(const Range &range, const M &m, const long e, const Reals &real, const Wholes &whole) {
    scalar sum, product, least, most;
    Extremes<scalar> both;
    Located<scalar> first, last;
    Extremes<Located<scalar>> ends;
    Several<scalar, 3> far;
    long all, any, bits_and, bits_or, bits_xor, high, furthest = -1000;
    reduce(range, [&](auto i, auto &s) { s += m.v(e, i); }, sum);
    reduce(
        range,
        [&](auto i, auto &s) {
            const Real<decltype(i)> x = m.v(e, i);
            s *= select(x < 0.0, decltype(x)(-1.0), decltype(x)(1.0));
        },
        product, Product());
    reduce(range, [&](auto i, auto &s) { s.join(m.v(e, i)); }, least, Min());
    reduce(range, [&](auto i, auto &s) { s.join(m.v(e, i)); }, most, Max());
    reduce(range, [&](auto i, auto &s) { s.join(m.v(e, i)); }, both, MinMax());
    reduce(range, [&](auto i, auto &s) { s.join(m.v(e, i), i); }, first, MinLoc());
    reduce(range, [&](auto i, auto &s) { s.join(m.v(e, i), i); }, last, MaxLoc());
    reduce(range, [&](auto i, auto &s) { s.join(m.v(e, i), i); }, ends, MinMaxLoc());
    reduce(range, [&](auto i, auto &s) { s &= m.v(e, i) > -1000.0; }, all, AllOf());
    reduce(range, [&](auto i, auto &s) { s |= m.v(e, i) > 40.0; }, any, AnyOf());
    reduce(range, [&](auto i, auto &s) { s &= m.w(e, i); }, bits_and, BitAnd());
    reduce(range, [&](auto i, auto &s) { s |= m.w(e, i); }, bits_or, BitOr());
    reduce(range, [&](auto i, auto &s) { s ^= m.w(e, i); }, bits_xor, BitXor());
    reduce(range, [&](auto i, auto &s) { s.join(m.w(e, i)); }, high, Max());
    reduce(
        range,
        [&](auto i, auto &s) { each_lane(i, [&](long k) { s.join(m.v(e, k) * m.v(e, k), m.v(e, k), scalar(k)); }); },
        far, Longest());
    reduce( // a function as a reducer, with its neutral element
        range, [&](auto i, auto &s) { s.join(m.w(e, i)); }, furthest,
        [](long a, long b) { return a % 999983 > b % 999983 ? a : b; });

    const scalar reals[] = {sum,        product,          least,           most,    both.least, both.most, first.value,
                            last.value, ends.least.value, ends.most.value, far.v[0]};
    const long wholes[] = {all,      any,      bits_and, bits_or,       bits_xor,    high,
                           furthest, first.at, last.at,  ends.least.at, ends.most.at};
    for (int k = 0; k < 11; ++k) real(k, reals[k]), whole(k, wholes[k]);
}

// over members; over members and lanes; over the lanes of a member. A sum that each member adds to, a maximum of teams
template <class M, class Team, class SUM, class MOST>
POINT_FN void given_in_teams(const M &m, const Team &team, SUM &sum, MOST &most) {
    const long e = team.league_rank();
    const auto over = [&](int level, const auto &range) {
        const auto real = [&](int k, scalar x) { single_per_team(team, [&] { m.real(e, level, k) = x; }); };
        const auto whole = [&](int k, long x) { single_per_team(team, [&] { m.whole(e, level, k) = x; }); };
        every_reducer(range, m, e, real, whole);
    };
    over(0, team.each(m.n));
    over(1, team.vector(m.n));
    over(2, team.member().vector(m.n));
    single_per_team(team, [&] { most.join(m.real(e, 0, 3)); });
    sum += 1; // once a member
}

// what a body says to one result: refused unless it is what the reducer does
#define SAYS(name, statement) \
    template <class M, class I, class S> POINT_FN void name(const M &m, const I i, S &best) { statement; }
SAYS(says_larger, best = larger(best, m.v(i)))
SAYS(says_plus, best += m.v(i))
SAYS(says_assigns, best = m.v(i))
SAYS(says_or, best |= m.v(i) > 0.0)
SAYS(says_join, best.join(m.v(i)))
template <class M, class I> POINT_FN void says_scalar(const M &m, const I i, scalar &best) { best = m.v(i); }

// values of single lanes go to a result once
template <class M, class I, class S> POINT_FN void picked(const M &m, const I i, S &sum) {
    each_lane(i, [&](long k) { sum += m.v(m.from(k)); });
    sum += 1.0;
}

// ---- members of a team
// Which member has an index; a value that a member keeps from loop to loop; sums that each member adds
template <class M, class Team, class S> POINT_FN void members(const M &m, const Team &team, S &total) {
    const long e = team.league_rank();
    long kept = -1, told = -1;
    scalar sum = 0;
    team.for_each(team.size(), [&](long i) { kept = 1000 * e + i, sum += 1; });
    team.barrier();
    m.rank(e, team.rank()) = team.rank() + 100 * team.size();
    team.for_each(team.size(), [&](long i) { m.kept(e, i) = kept; });
    single_per_team(team, [&](long &x) { x = 7 + team.rank(); }, told);
    m.told(e, team.rank()) = told;
    m.counted(e, team.rank()) = sum;
    total += team.rank();
}

// What a chosen number of members must not change: nothing here tells it
template <class M, class Team, class S> POINT_FN void cannot_tell(const M &m, const Team &team, S &total) {
    scalar sum;
    reduce(team.vector(m.n), [&](auto i, auto &s) { s += m.v(team.league_rank(), i); }, sum);
    single_per_team(team, [&] { total += sum; });
}
// the results tell it
template <class M, class Team, class S> POINT_FN void tells_by_result(const M &, const Team &, S &total) { total += 1; }
template <class M, class Team, class S> POINT_FN void tells_and_writes(const M &m, const Team &team, S &total) {
    single_per_team(team, [&] { m.out(team.league_rank()) += 1; });
    total += 1;
}
template <class M, class Team> POINT_FN void tells_by_size(const M &m, const Team &team) {
    single_per_team(team, [&] { m.out(team.league_rank()) = team.size(); });
}

// barriers that some do not reach
template <class M, class Team> POINT_FN void half_waits(const M &m, const Team &team) {
    if (team.rank() < team.size() / 2) team.barrier();
    m.out(team.league_rank()) = 1;
}
template <class M, class Team> POINT_FN void waits_apart(const M &m, const Team &team) {
    if (team.rank() < team.size() / 2) team.barrier();
    else team.barrier();
    m.out(team.league_rank()) = 1;
}

// indices beyond an array, beyond scratch
template <class M, class I> POINT_FN void one_too_far(const M &m, const I i) { m.out(i) = m.v(i + 1); }
template <class M, class I, class J> POINT_FN void left_of_all(const M &m, const I i, const J j) {
    m.out(i, j) = m.v(i, j - 1);
}
template <class M, class Team> POINT_FN void small_scratch(const M &m, const Team &team) {
    const auto s = team.scratch(m.s);
    team.for_vector(m.n, [&](auto i) { s(i) = 1.0; });
}
template <class M, class Team> POINT_FN void small_own(const M &m, const Team &team) {
    const auto own = team.member().scratch(m.own);
    team.for_each(m.n, [&](long i) { own(i) = 1.0; });
}

// ---- scans
// prefix sums, with this index and without it, of real and of whole numbers; the largest so far
template <class M, class I, class S> POINT_FN void scanned(const M &m, const I i, S &sum, bool last) {
    if (last) m.before(i) = sum;
    sum += m.v(i);
    if (last) m.with(i) = sum;
}
template <class M, class I, class S> POINT_FN void highest(const M &m, const I i, S &most, bool last) {
    most.join(m.v(i));
    if (last) m.with(i) = most;
}
// whole numbers over members, the largest so far over members and lanes, and over lanes
template <class M, class Team> POINT_FN void scanned_in_teams(const M &m, const Team &team) {
    const long e = team.league_rank();
    const auto member = team.member();
    const long total = scan<long>(team.each(m.n), [&](long i, auto &s, bool last) {
        s += m.k(e, i);
        if (last) m.with(e, i) = s;
    });
    const auto highest = [&](long i, auto &s, bool last) {
        if (last) m.highest(e, i) = s;
        s.join(m.v(e, i));
    };
    const scalar most = scan(team.vector(m.n), highest, Max()), same = scan(member.vector(m.n), highest, Max());
    single_per_team(team, [&] { m.out(e, 0) = scalar(total), m.out(e, 1) = most, m.out(e, 2) = same; });
}

// ---- whole numbers of 4 bytes
template <class M, class I, class S> POINT_FN void counted_whole(const M &m, const I i, S &sum) { sum += m.w(i); }
template <class M, class I, class S> POINT_FN void scanned_whole(const M &m, const I i, S &sum, bool last) {
    if (last) m.before(i) = sum;
    sum += m.w(i);
}
template <class M, class Team, class S> POINT_FN void league_whole(const M &m, const Team &team, S &sum) {
    const long first = team.league_rank() * m.share, left = m.n - first;
    long own;
    reduce(team.vector(left < m.share ? left : m.share), [&](auto i, auto &s) { s += m.w(first + i); }, own);
    single_per_team(team, [&] { sum += own; });
}

// sums and prefix sums of whole numbers at every level; results of three reducers, and how many members there were
template <class M, class Team, class SUM, class COUNT, class MOST, class BITS>
POINT_FN void whole_levels(const M &m, const Team &team, SUM &sum, COUNT &count, MOST &most, BITS &bits) {
    const long e = team.league_rank();
    const auto member = team.member();
    long each, vector, lanes;
    reduce(team.each(m.n), [&](long i, auto &s) { s += m.w(e, i); }, each);
    reduce(team.vector(m.n), [&](auto i, auto &s) { s += m.w(e, i); }, vector);
    reduce(member.vector(m.n), [&](auto i, auto &s) { s += m.w(e, i); }, lanes);
    const long all = scan<long>(team.each(m.n), [&](long i, auto &s, bool last) {
        if (last) m.before(e, i) = s;
        s += m.w(e, i);
    });
    const long same = scan<long>(team.vector(m.n), [&](long i, auto &s, bool last) {
        s += m.w(e, i);
        if (last) m.with(e, i) = s;
    });
    single_per_team(team, [&] {
        m.out(e, 0) = each, m.out(e, 1) = vector, m.out(e, 2) = lanes, m.out(e, 3) = all, m.out(e, 4) = same;
        sum += each, most.join(each), bits ^= each;
    });
    count += 1;
}

// ---- ranges
// how often each index was met, and where
template <class M, class I, class S> POINT_FN void met(const M &m, const I i, S &sum) {
    m.seen(i) += 1;
    sum += i;
}
template <class M, class I, class S, class Q> POINT_FN void counted(const M &, const I i, S &count, Q &last) {
    count++, last.join(i);
}
// the same of a pair of indices, and the sum of the second
template <class M, class I, class J, class S> POINT_FN void met_beside(const M &m, const I i, const J j, S &sum) {
    m.seen(i, j) += 1;
    sum += j;
}
// the same of up to six indices, as digits of a number
template <class M, class... I> POINT_FN void met_in_tiles(const M &m, const I... i) { m.seen(i...) += 1; }

// each element of up to six indices
template <class M, class... I> POINT_FN void once(const M &m, const I... i) { m.seen(i...) += 1.0; }
// where the pack of an index begins; on a device it is alone
POINT_FN double begin_of(long i) { return double(i); }
template <class I> POINT_FN double begin_of(const I &i) { return double(i.first); }
template <class M, class I> POINT_FN void packs_open(const M &m, const I i) { m.at(i) = begin_of(i); }
template <class M, class I, class S> POINT_FN void packs_summed(const M &m, const I i, S &count) {
    m.at(i) = begin_of(i), count++;
}

// the sum of a row for each pair of indices
template <class M, class I, class J, class S> POINT_FN void rows_of_pairs(const M &m, const I i, const J j, S &sum) {
    Real<decltype(i + j)> row(0.0);
    for (long k = 0; k < m.V; ++k) row += m.A(i, j, k);
    m.out(i, j) = row;
    sum += row;
}

// ---- atomics
// every operation on one element; what came before and behind, summed up
template <class V, class T> POINT_FN void every_operation(const V &v, T x, long k) {
    atomic_add(v(0), x), atomic_sub(v(1), x);
    atomic_mul(v(2), k % 5 ? T(1) : T(2)), atomic_div(v(3), k % 5 ? T(1) : T(2));
    atomic_min(v(4), x), atomic_max(v(5), x);
    atomic_inc_mod(v(6), T(6)), atomic_dec_mod(v(7), T(6));
    atomic_inc(v(8)), atomic_dec(v(9));
    const T before = atomic_fetch_add(v(10), T(1)), behind = atomic_add_fetch(v(11), T(1));
    atomic_add(v(12), before), atomic_add(v(13), behind);
    const auto w = atomic(v);
    w(14) += x, w(15) -= x, w(16)++, w(17)--;
}
template <class V> POINT_FN void every_bit(const V &v, long k) {
    atomic_and(v(18), ~(1 << k % 20)), atomic_or(v(19), 1 << k % 20), atomic_xor(v(20), 1 << k % 20);
    const auto w = atomic(v);
    w(21) |= 1 << k % 13;
    atomic_store(v(22), 7);
}
template <class M, class I> POINT_FN void all_atomics(const M &m, const I i) {
    each_lane(i, [&](long k) {
        const int x = int(k % 101) - 50;
        every_operation(m.real, double(x), k), every_operation(m.narrow, float(x), k);
        every_operation(m.whole, long(x), k), every_operation(m.integer, x, k);
        every_bit(m.whole, k), every_bit(m.integer, k);
    });
    atomic(m.packed)(i) += 2.0;
}
// lanes that change the same element, together and in branches.
template <class V, class T> POINT_FN void in_company(const V &v, T x, long k) {
    atomic_add(v(0), x), atomic_sub(v(1), x), atomic_min(v(2), x), atomic_max(v(3), x);
    if (k % 3 == 0) atomic_add(v(4), x); // some lanes of a warp
    else if (k % 5 < 3) atomic_sub(v(4), x);
    atomic_add(v(5 + k % 2), x);      // two elements
    atomic_add(v(7 + k / 32 % 3), x); // an element a warp
    for (long turn = 0; turn < k % 4; ++turn) atomic_add(v(10), x);
    atomic_add(v(11), T(1));
    if (atomic_load(v(11)) < T(1)) atomic_add(v(12), T(1)); // never: a lane finds its own change
}
// NaN changes no minimum and no maximum
template <class V, class T> POINT_FN void with_nan(const V &v, T x, long k) {
    const T nan = T(0) / (x - x);
    atomic_min(v(13), k % 2 == 0 ? nan : x), atomic_max(v(14), k % 4 < 2 ? nan : x);
}
template <class V> POINT_FN void bits_in_company(const V &v, long k) {
    atomic_and(v(15), ~(1 << k % 20)), atomic_or(v(16), 1 << k % 20), atomic_xor(v(17), k);
}
template <class M, class I> POINT_FN void joined_atomics(const M &m, const I i) {
    each_lane(i, [&](long k) {
        const long x = m.x(k);
        in_company(m.real, double(x), k), in_company(m.narrow, float(x), k);
        in_company(m.whole, x, k), in_company(m.integer, int(x), k);
        with_nan(m.real, double(x), k), with_nan(m.narrow, float(x), k);
        bits_in_company(m.whole, k), bits_in_company(m.integer, k);
    });
}

// ---- queues
// Two launches of it wait for each other: each comes to its end with met = 1 if both are at work at the same time
template <class M, class Team> POINT_FN void meets(const M &m, const Team &team) {
    single_per_team(team, [&] {
        atomic_store(m.here(m.own), 1);
        long waited = 0;
        while (atomic_load(m.here(1 - m.own)) == 0 && waited < m.patience) waited++;
        m.met(m.own) = waited < m.patience;
    });
}
// x = factor x + 1, so that the order of launches shows
template <class M, class I> POINT_FN void in_order(const M &m, const I i) { m.x(i) = m.factor * m.x(i) + 1.0; }

// scratch that only the first team writes
template <class M, class Team> POINT_FN void left_over(const M &m, const Team &team) {
    const auto s = team.scratch(m.s);
    if (team.league_rank() == 0) single_per_team(team, [&] { s(0) = 1; });
    team.barrier();
    m.out(team.league_rank()) = s(0);
}

// Indices that begin below zero
template <class M, class I, class S> POINT_FN void below_zero(const M &m, const I i, S &sum) {
    m.u(i + m.halo) = as_number(i);
    sum += i;
}
template <class M, class I, class J> POINT_FN void below_zero_in_tiles(const M &m, const I i, const J j) {
    m.u(i + 3, j + 2) = 100.0 * as_number(i) + as_number(j);
}

// a copy between arrays that lie across each other
template <class M, class... I> POINT_FN void across(const M &m, const I... i) { m.to(i...) = m.from(i...); }
