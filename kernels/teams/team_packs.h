// team.h on a CPU: the league is shared out to OpenMP threads, a member's lanes are those of a pack. An index of the
// lanes is a pack of indices; a view gives a pack of elements for it. A team has the declared number of members, which
// are fibres of one thread (team_fibres.h); a team of one member needs none.
#pragma once
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <tuple>
#include <type_traits>
#include <utility>
#ifndef VECTOR_BYTES // a source has it in front, so that a precompiled form can serve
#include "engine/numbers/pack.h"
#endif
#include "engine/numbers/past.h"
#include "teams/reducers.h"
#include "teams/lanes.h"
#include "teams/accumulators_packs.h"
#include "teams/functions_packs.h"
#include "teams/notes.h"

// ---- what a launch reports
struct Report {
    long members;      // of a team, as it ran
    char problem[504]; // of a body that did not come to its end, such as a barrier that some do not reach; or empty
};

// ---- loops over lanes
template <class F>
POINT_FN void for_lanes(long first, long behind, const F &f, int *alone = nullptr, const Work &work = Work()) {
    long i = first;
    for (; i + VECTOR_LANES <= behind; i += VECTOR_LANES) work.at_pack(f, Lanes<true>{i, 1, VECTOR_LANES, alone});
    if (i < behind) work.at_pack(f, Lanes<false>{i, 1, int(behind - i), alone});
}

// The same with packs that begin at `origin` and whole packs behind it; the first and the last one may be short
template <class F>
POINT_FN void for_lanes_from(long origin, long first, long behind, const F &f, int *alone, const Work &work) {
    const long ahead = (first - origin) % VECTOR_LANES, next = first - ahead + VECTOR_LANES;
    if (ahead > 0) {
        const long end = next < behind ? next : behind;
        if (first < end) work.at_pack(f, Lanes<false>{first, 1, int(end - first), alone});
        first = end;
    }
    for_lanes(first, behind, f, alone, work);
}

// Where ranges are long and a body reads few arrays: four parts of the range side by side. A core reads ahead in each,
// so that it waits less for memory. Parts do not begin at the same place of a page: stores would hold up loads there.
template <class F> POINT_FN void for_lanes_in_parts(long n, const F &f) {
    constexpr long W = VECTOR_LANES, PARTS = 4, LONG = 4096, PAGE = 64, APART = 5; // packs, all but LONG
    const Work work;
    long part = 0;
    if (n >= LONG) {
        part = n / PARTS / W;
        if (part % PAGE < APART) part -= APART;
        for (long p = 0; p < part; ++p)
            for (long k = 0; k < PARTS; ++k) work.at_pack(f, Lanes<true>{(k * part + p) * W, 1, VECTOR_LANES});
    }
    for_lanes(PARTS * part * W, n, f);
}

// ---- ranges of a member, and of a team of one
struct Each { // a loop
    long n;
};

struct Vector { // the same, in packs
    long n;
};

// sum = what the reducer makes of all that f(i, s) gives to s
template <class F, class R, class T> POINT_FN void over_range(Each range, const F &f, T &sum, const R &reducer) {
    Accumulator<R, T> all(reducer);
    for (long i = 0; i < range.n; ++i) f(i, all);
    sum = all.value;
}

// packs first, first + every, ... of a range of n
template <class F, class R, class T>
POINT_FN void over_packs(long first, long every, long n, const F &f, T &sum, const R &reducer) {
    constexpr int W = VECTOR_LANES;
    typedef PackAccumulator<R, T> A;
    const Work work;
    Lane lane;
    const auto go = [&](auto i, A &to) INLINED {
        lane = Lane::of(i);
        work.at_pack(f, i, to);
    };
    const auto whole = [&](long p, A &to) INLINED { go(Lanes<true>{p * W, 1, W, &lane.alone}, to); };

    A a(reducer, lane);
    long p = first;
    if ((p + 3 * every + 1) * W <= n) {
        A b(reducer, lane), c(reducer, lane), d(reducer, lane); // do not wait for each other
        for (; (p + 3 * every + 1) * W <= n; p += 4 * every)
            whole(p, a), whole(p + every, b), whole(p + 2 * every, c), whole(p + 3 * every, d);
        a.join_values(b), c.join_values(d);
        a.join_values(c);
    }
    for (; (p + 1) * W <= n; p += every) whole(p, a);
    if (p * W < n) go(Lanes<false>{p * W, 1, int(n - p * W), &lane.alone}, a);
    sum = a.folded();
}

template <class F, class R, class T> POINT_FN void over_range(Vector range, const F &f, T &sum, const R &reducer) {
    over_packs(0, 1, range.n, f, sum, reducer);
}

// x = all that came before, with f(i, s, true) for each i
template <class F, class R, class T> POINT_FN void scan_range(Each range, const F &f, T &x, const R &reducer) {
    for (long i = 0; i < range.n; ++i) last_pass(f, i, x, reducer);
}

template <class F, class R, class T> POINT_FN void scan_range(Vector range, const F &f, T &x, const R &reducer) {
    scan_range(Each{range.n}, f, x, reducer);
}

// ---- member and team
template <int VECTOR, int CHOSEN> struct Member { // CHOSEN: kernel whose number of members is not declared
    char *const (&level)[2];
    int number;
    POINT_FN int rank() const {
        if constexpr (CHOSEN > 0) CAN_TELL(CHOSEN);
        return number;
    }
    POINT_FN static constexpr int lanes() { return VECTOR; }
    POINT_FN Vector vector(long n) const { return {n}; }
    template <class F> POINT_FN void for_vector(long n, const F &f) const { for_lanes(0, n, f); }
    template <class S> POINT_FN auto scratch(const S &s) const { return s.is_of_member(), s.at(level, number); }
};

// The only member of a team, or of a part of it: nobody to wait for.
template <int CHOSEN> struct Alone {
    POINT_FN int rank() const {
        if constexpr (CHOSEN > 0) CAN_TELL(CHOSEN);
        return 0;
    }
    POINT_FN static int size() {
        if constexpr (CHOSEN > 0) CAN_TELL(CHOSEN);
        return 1;
    }
    POINT_FN void barrier() const {}
};

// A part of a team of one member. Parts run in order.
template <int CHOSEN> struct PartOfOne : Alone<CHOSEN> {
    int place;
    POINT_FN explicit PartOfOne(int place) : place(place) {}
    POINT_FN int number() const { return place; }
    template <class F> POINT_FN void for_each(long n, const F &f) const {
        for (long i = 0; i < n; ++i) f(i);
    }
    template <class F> POINT_FN void for_vector(long n, const F &f) const { for_lanes(0, n, f); }
};

// ARRAYS: of the kernel, where the number of members is not declared. Of several: team_fibres.h
template <int SIZE, int VECTOR, int CHOSEN = 0, int ARRAYS = 0> struct Team;

template <int VECTOR, int CHOSEN, int ARRAYS> struct Team<1, VECTOR, CHOSEN, ARRAYS> : Alone<CHOSEN> {
    static constexpr int SIZE = 1;
    static constexpr int KERNEL = CHOSEN;
    static constexpr bool IN_PARTS = CHOSEN > 0 && ARRAYS <= 4;
    long number, teams;
    char *level[2];
    mutable bool shared = false; // in work that is shared out, or done once a team
    mutable bool told = false;   // a result was given a value outside of that, which each of several members would do
    POINT_FN Team(long number, long teams, char *const (&room)[2])
        : number(number), teams(teams), level{room[0], room[1]} {}
    POINT_FN long league_rank() const { return number; }
    POINT_FN long league_size() const { return teams; }
    POINT_FN Member<VECTOR, CHOSEN> member() const { return {level, 0}; }
    POINT_FN Each each(long n) const { return {n}; }
    POINT_FN Vector vector(long n) const { return {n}; }
    template <class F> POINT_FN void for_each(long n, const F &f) const {
        for (long i = 0; i < n; ++i) share([&] { f(i); });
    }
    template <class F> POINT_FN void for_vector(long n, const F &f) const {
        const auto at = of_packs([&](auto i) { share([&] { at_each(f, i); }); });
        if constexpr (IN_PARTS) for_lanes_in_parts(n, at);
        else for_lanes(0, n, at);
    }
    template <class F> POINT_FN void share(const F &f) const { shared = true, f(), shared = false; }
    template <class F> POINT_FN void single(const F &f) const { share(f); }
    template <class F, class V> POINT_FN void single(const F &f, V &value, const char *, int) const {
        share([&] { f(value); });
    }
    template <int PARTS, class F> POINT_FN void parts(const F &f) const {
        for (int k = 0; k < PARTS; ++k) f(PartOfOne<CHOSEN>(k));
    }
    template <class S> POINT_FN auto scratch(const S &s) const { return s.at(level, 0); }
    struct Use { // of a league's result
        const Team *team;
        POINT_FN void used() const {
            if (CHOSEN > 0 && !team->shared) team->told = true;
        }
    };
};

#define PLACE const char *file = __builtin_FILE(), int line = __builtin_LINE()
template <int PARTS, class T, class F> POINT_FN void for_parts(const T &team, const F &f) {
    team.template parts<PARTS>(f);
}

template <class T, class F> POINT_FN void single_per_team(const T &team, const F &f) { team.single(f); }
template <class T, class F, class V> POINT_FN void single_per_team(const T &team, const F &f, V &value, PLACE) {
    team.single(f, value, file, line);
}

template <class M, class F> POINT_FN void single_per_member(const M &, const F &f) { f(); }
template <class M, class F, class V> POINT_FN void single_per_member(const M &, const F &f, V &value) { f(value); }

#include "teams/thread_room.h"
#include "teams/atomics_packs.h"

// ---- launches
// The league's results: one of each share of the work, joined in the order of the shares. Their number does not depend
// on the threads, so the results do not.
constexpr long SHARES = 512;
constexpr int TOLD = 2; // a launch ended with teams of one member, and its results depend on that
struct League {
    char *shares;    // SHARES records of values
    char *arena;     // not used: a thread has its own
    long bytes[2];   // of scratch of a team, by level
    Token pieces;    // not used
    unsigned *ended; // not used
    Report *report;
    long chunk;       // items that a share has at least
    const void *line; // where the largest array begins that packs go along; nullptr: none, or its rows lie unlike
};

// work(number of the share, first, behind, scratch) for each of up to SHARES shares of `items`
POINT_FN long shares_of(long items, const League &a) {
    const long most = (items + a.chunk - 1) / a.chunk;
    return most < SHARES ? most : SHARES;
}

template <class Work> POINT_FN int share_out(long items, int threads, const League &a, const Work &work) {
    const long shares = shares_of(items, a), ahead = (a.bytes[0] + 63) / 64 * 64,
               bytes = (ahead + a.bytes[1] + 63) / 64 * 64;
    int failed = 0;
#pragma omp parallel num_threads(threads) if (threads > 1) reduction(| : failed)
    {
        const Arena arena(size_t(bytes), omp_get_thread_num());
        failed |= bytes && !arena.memory;
#pragma omp for schedule(static)
        for (long share = 0; share < shares; ++share) {
            char *const level[2] = {arena.memory, arena.memory + ahead};
            if (arena.memory || !bytes)
                failed |=
                    work(share, items / shares * share + (share < items % shares ? share : items % shares),
                         items / shares * (share + 1) + (share < items % shares ? share + 1 : items % shares), level);
        }
        done_past();
    }
    return failed;
}

template <class RESULTS> POINT_FN void join_shares(long items, const League &a, const Place *totals) {
    if constexpr (RESULTS::COUNT > 0) {
        typedef typename RESULTS::Values Values;
        Values *const shares = (Values *)a.shares;
        typename RESULTS::Accumulators all;
        for (long share = 0; share < shares_of(items, a); ++share)
            all.with(shares[share], [](auto &to, const auto &x) { to.reducer.join(to.value, x); });
        all.each([&](const auto &x, int k) { put(totals[k], x.value); });
    }
}

#include "teams/team_fibres.h"
#include "teams/team_probe.h"

// A body as a thread calls it: a copy, so that the compiler knows that the body does not write its own addresses and
// extents. For scattered arrays `make` puts the thread's copies of them in their places.
template <class Make> struct ByThread {
    Make make;
};

template <class Make> POINT_FN ByThread<Make> by_thread(const Make &make) { return {make}; }
template <class Body> POINT_FN Body of_thread(const Body &body) { return body; }
template <class Make> POINT_FN auto of_thread(const ByThread<Make> &body) { return body.make(); }
template <class Body> using OfThread = decltype(of_thread(unevaluated<const Body &>()));

// An array with a row for each team. A team with a short row holds a core up, so that it does not read ahead far
// enough: each team asks for a row of a later one.
struct RowsOfTeams {
    static constexpr long LATER = 4096, SHORT = 1024, LINE = 64; // bytes
    const char *data;
    long bytes; // of a row
    POINT_FN void ask_later(long team) const {
        if (bytes > SHORT) return; // a core reads ahead by itself
        const char *const row = data + team * bytes + LATER;
        for (long byte = 0; byte < bytes; byte += LINE) __builtin_prefetch(row + byte, 0, 2);
    }
};

template <class V> POINT_FN RowsOfTeams rows_of_teams(const V &view) {
    return {(const char *)view.data, view.stride[0] * long(sizeof *view.data)};
}

// body(team, results) for each team of one member
template <class TEAM, class RESULTS, class Body, class... Rows>
POINT_FN int for_teams_of_one(long items, int threads, const League &a, const Body &body, const Rows &...rows) {
    return share_out(items, threads, a, [&](long share, long first, long behind, char *const(&level)[2]) {
        const auto own = of_thread(body);
        TEAM team(first, items, level);
        typename RESULTS::template Noted<typename TEAM::Use> results;
        results.each([&](auto &x, int) { x.use.team = &team; });
        for (; behind > team.number; ++team.number) {
            (rows.ask_later(team.number), ...);
            own(team, results);
        }
        if constexpr (RESULTS::COUNT > 0)
            results.with(((typename RESULTS::Values *)a.shares)[share], [](const auto &x, auto &to) { to = x.value; });
        return team.told ? TOLD : 0;
    });
}

// body(team, results) for each team. ONE: the team for a body that cannot tell its number of members. WRITES: the
// body writes arrays, and cannot be called twice.
template <class TEAM, class ONE, class RESULTS, bool, bool, bool WRITES, class Body, class... Rows>
HIDDEN POINT_FN int for_league(long items, int threads, const League &a, const Place *totals, const Body &body,
                               const Rows &...rows) {
    int failed = 0;
    static bool several = TEAM::SIZE > 1 && (SAME<TEAM, ONE> || can_tell(ONE::KERNEL));
    if constexpr (ONE::SIZE == 1)
        if (!__atomic_load_n(&several, __ATOMIC_RELAXED)) {
            a.report->members = 1;
            failed = for_teams_of_one<ONE, RESULTS>(items, threads, a, body, rows...);
            if (failed == TOLD && !WRITES) __atomic_store_n(&several, true, __ATOMIC_RELAXED); // it begins again
            else if (failed == TOLD)
                snprintf(a.report->problem, sizeof a.report->problem,
                         "each member gives a value to a result, outside of single_per_team and loops over the team, "
                         "so that the result depends on their number, which is not declared: declare team = %d",
                         TEAM::SIZE);
        }
    if constexpr (TEAM::SIZE > 1)
        if (__atomic_load_n(&several, __ATOMIC_RELAXED)) {
            a.report->members = TEAM::SIZE;
            failed = for_teams_of_fibres<TEAM, RESULTS>(items, threads, a, body);
        }
    join_shares<RESULTS>(items, a, totals);
    return failed;
}

template <class T> struct InPacks;
template <class... RESULT> struct InPacks<Results<RESULT...>> {
    typedef Tuple<PackAccumulator<typename RESULT::R, typename RESULT::T>...> type;
};
// work(share, first, behind, results) with results for packs, which are folded behind it
template <class RESULTS, class Work>
POINT_FN int share_packs(long items, int threads, const League &a, const Place *totals, const Work &work) {
    const int failed = share_out(items, threads, a, [&](long share, long first, long behind, char *const(&)[2]) {
        Lane lane = Lane::all();
        typename InPacks<RESULTS>::type results(lane);
        work(first, behind, lane, results);
        if constexpr (RESULTS::COUNT > 0)
            results.with(((typename RESULTS::Values *)a.shares)[share],
                         [](const auto &x, auto &to) { to = x.folded(); });
        return 0;
    });
    join_shares<RESULTS>(items, a, totals);
    return failed;
}

// Indices that the first pack of a range lacks, so that the others begin with a line of memory: a pack that lies across
// two lines takes twice as long where each is in another page. Not where sums would have other bits.
template <class RESULTS> POINT_FN long missing(const League &a, long begin) {
    if (RESULTS::COUNT > 0 || !a.line) return 0;
    const long at = (long((size_t)a.line / sizeof(scalar)) + begin) % VECTOR_LANES;
    return at < 0 ? at + VECTOR_LANES : at;
}

// for_lanes, where RESULTS has none along lines of memory
template <class RESULTS, class F>
POINT_FN void for_lanes_of(long origin, long first, long behind, const F &f, int *alone, const Work &work) {
    if constexpr (RESULTS::COUNT > 0) for_lanes(first, behind, f, alone, work);
    else for_lanes_from(origin, first, behind, f, alone, work);
}

// A line of a later pack. Scattered sums and scans hold a core up, so that it does not read ahead far enough.
template <class V, bool FULL> POINT_FN void ask_later(const V &view, const Lanes<FULL> &i) {
    constexpr long LATER = 64 * VECTOR_LANES;
    __builtin_prefetch(view.data + i.first + LATER, 0, 2);
}

// body(i, results) for `items` indices from `begin` on, in packs. later: arrays with an element for each index
template <int, class RESULTS, bool, class Body, class... Views>
POINT_FN int for_range(long items, int threads, const League &a, const Place *totals, long begin, const Body &body,
                       const Views &...later) {
    const long origin = begin - missing<RESULTS>(a, begin), end = begin + items;
    const long packs = (end - origin + VECTOR_LANES - 1) / VECTOR_LANES;
    return share_packs<RESULTS>(packs, threads, a, totals, [&](long first, long behind, Lane &lane, auto &results) {
        const long from = origin + first * VECTOR_LANES, to = origin + behind * VECTOR_LANES;
        const auto own = of_thread(body);
        const auto at = of_packs([&](auto i) {
            lane = Lane::of(i);
            (ask_later(later, i), ...);
            own(i, results);
        });
        for_lanes_of<RESULTS>(origin, from < begin ? begin : from, to < end ? to : end, at, &lane.alone, Work());
    });
}

#include "teams/scan_packs.h"
