// A statement that uses each number of its largest array once: a sum, a weighted sum, a product number by number. The
// core goes through that array as it lies; the arithmetic is done while memory is waited for.
//
// organisations/sweep.py writes FACTORS, how many factors there are, LOOPS and TOGETHER, and the record. Its loops are
// in the order of the largest array, the slowest first. The last loop is a run. Factors that lie side by side along it
// come first (`along` of them); the others stay, and are with `number` the run's weight. What the output does along a
// run (`kind`):
//   STAYS       a run is a sum. Runs of the loop `row` are added up W at a time
//   LIES        numbers side by side. Of a sum over the loop `row` several runs are added together, so that the output
//               is read and written seldom
//   SCATTERED   as STAYS, of factors that lie anyhow
#pragma once
#include "contractions/packs.h"

typedef Pack<W> V;
enum Kind { STAYS, LIES, SCATTERED };
constexpr int OUT = FACTORS; // the output's place among the arrays
constexpr int LINE = 64 / sizeof(scalar), UNITS = 4;

// Where a turn of the loops begins in each array
struct Place {
    const scalar *x[FACTORS];
    scalar *out;

    POINT_FN Place(const Arguments &a) : x{SWEEP_FACTORS}, out((scalar *)a.out) {}
    POINT_FN void move(const Arguments &a, const int loop, const long turns) {
        UNROLL
        for (int f = 0; f < FACTORS; ++f) x[f] += turns * a.step[f * LOOPS + loop];
        out += turns * a.step[OUT * LOOPS + loop];
    }
    POINT_FN Place moved(const Arguments &a, const int loop, const long turns) const {
        Place to = *this;
        to.move(a, loop, turns);
        return to;
    }

    // Of a run: its weight
    template <int ALONG> POINT_FN scalar weight(const Arguments &a) const {
        scalar product = scalar(a.number);
        UNROLL
        for (int f = ALONG; f < FACTORS; ++f) product *= *x[f];
        return product;
    }
    // the product of the factors along it, from number j on
    template <int ALONG> POINT_FN V pack(const long j) const {
        V product = fetch<V, W, 1>(x[0] + j);
        UNROLL
        for (int f = 1; f < ALONG; ++f) product *= fetch<V, W, 1>(x[f] + j);
        return product;
    }
};

// work(place, fresh) at each turn of the loops from `loop` to `end` - 1. fresh: no turn before had the same outputs.
template <class Work>
static void each_turn(const Arguments &a, const Place at, const int loop, const int end, const bool fresh,
                      const Work &work) {
    if (loop == end) return work(at, fresh);
    const bool sums = a.step[OUT * LOOPS + loop] == 0;
    for (long t = 0; t < a.extent[loop]; ++t) {
        const Place here = at.moved(a, loop, t);
        const bool is_fresh = fresh && !(sums && t);
        if (loop + 1 == end) work(here, is_fresh);
        else each_turn(a, here, loop + 1, end, is_fresh, work);
    }
}

// ---- the output stays along a run
template <int ALONG> struct Summed {
    const Arguments &a;
    const long run = a.extent[a.loops - 1];

    // Of the numbers of a run from j on, fewer than W: a masked load of them takes Zen 4 half as long as a run of 100
    POINT_FN scalar of_rest(const Place &at, long j) const {
        scalar sum[UNITS] = {};
        for (; j < run; ++j) {
            scalar product = at.x[0][j];
            UNROLL
            for (int f = 1; f < ALONG; ++f) product *= at.x[f][j];
            sum[j % UNITS] += product;
        }
        return (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
    // Partial sums of a run
    POINT_FN V of_run(const Place &at) const {
        V sum[UNITS] = {};
        long j = 0;
        for (; j + UNITS * W <= run; j += UNITS * W) {
            UNROLL
            for (int u = 0; u < UNITS; ++u) sum[u] += at.pack<ALONG>(j + u * W);
        }
        for (; j + W <= run; j += W) sum[0] += at.pack<ALONG>(j);
        sum[1][0] += of_rest(at, j);
        return (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
    // Sums of `count` runs of the loop `row`, W at most
    POINT_FN V of_runs(const Place &at, const long count) const {
        Tile<W, 1, W> sums = {};
        for (long r = 0; r < count; ++r) {
            const Place here = at.moved(a, a.row, r);
            sums.at[r][0] = of_run(here) * here.template weight<ALONG>(a);
        }
        return folded<W / 2, 0>(sums);
    }
};

// Of factors that lie anyhow, lanes are runs
struct Scattered {
    const Arguments &a;

    POINT_FN scalar of_run(const Place &at) const {
        const int last = a.loops - 1;
        scalar sum[UNITS] = {};
        for (long j = 0; j < a.extent[last]; ++j) {
            scalar product = scalar(a.number);
            UNROLL
            for (int f = 0; f < FACTORS; ++f) product *= at.x[f][j * a.step[f * LOOPS + last]];
            sum[j % UNITS] += product;
        }
        return (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
    POINT_FN V of_runs(const Place &at, const long count) const {
        V sums = {};
        for (long r = 0; r < count; ++r) sums[r] = of_run(at.moved(a, a.row, r));
        return sums;
    }
};

// All runs of the loop `row`
template <class Sums> static void sum_runs(const Arguments &a, const Place &at, const bool fresh, const Sums &sums) {
    const long turns = a.extent[a.row], step = a.step[OUT * LOOPS + a.row];
    scalar total = 0;
    for (long r = 0; r < turns; r += W) {
        const long count = turns - r < W ? turns - r : W;
        const V found = sums.of_runs(at.moved(a, a.row, r), count);
        scalar *const out = at.out + r * step;
        if (step == 0) {
            for (long i = 0; i < count; ++i) total += found[i];
        } else if (step == 1 && count == W) {
            leave<W>(out, fresh ? found : fetch<V, W, 1>(out) + found);
        } else
            for (long i = 0; i < count; ++i) out[i * step] = fresh ? found[i] : out[i * step] + found[i];
    }
    if (step == 0) *at.out = fresh ? total : *at.out + total;
}

// ---- the output lies side by side along a run
// RUNS of them are added to the output, or written there. PAST: past the caches
template <int ALONG, int RUNS, bool FRESH, bool PAST> struct Added {
    static constexpr int VECTORS = RUNS == 1 ? UNITS : 1; // at a time: loads go before stores

    const Arguments &a;
    const long run = a.extent[a.loops - 1];
    const scalar *x[RUNS][ALONG];
    scalar weight[RUNS], *out;

    POINT_FN Added(const Arguments &a, const Place &first) : a(a), out(first.out) {
        UNROLL
        for (int r = 0; r < RUNS; ++r) {
            const Place at = first.moved(a, a.row, r);
            UNROLL
            for (int f = 0; f < ALONG; ++f) x[r][f] = at.x[f];
            weight[r] = at.template weight<ALONG>(a);
        }
    }
    // The sum after `before`: one run after the other, so that its bits do not depend on RUNS. The factors are
    // fetched(array)
    template <class Fetched> POINT_FN V after(const V before, const Fetched &fetched) const {
        V sum = before;
        UNROLL
        for (int r = 0; r < RUNS; ++r) {
            V product = fetched(x[r][0]);
            UNROLL
            for (int f = 1; f < ALONG; ++f) product *= fetched(x[r][f]);
            if (FRESH && r == 0) sum = product * weight[r];
            else sum += product * weight[r];
        }
        return sum;
    }
    template <int COUNT> POINT_FN void packs(const long j) const {
        V sums[COUNT];
        UNROLL
        for (int v = 0; v < COUNT; ++v) {
            const long at = j + v * W;
            const V before = FRESH ? V{} : fetch<V, W, 1>(out + at);
            sums[v] = after(before, [=](const scalar *from) { return fetch<V, W, 1>(from + at); });
        }
        UNROLL
        for (int v = 0; v < COUNT; ++v) {
            if (PAST) stream(out + j + v * W, sums[v]);
            else leave<W>(out + j + v * W, sums[v]);
        }
    }
    POINT_FN void part(const long j, const int n) const {
        const V before = FRESH ? V{} : load_part<V>(out + j, n);
        store_part(out + j, after(before, [=](const scalar *from) { return load_part<V>(from + j, n); }), n);
    }
    POINT_FN void whole() const {
        long j = 0;
        for (; j + VECTORS * W <= run; j += VECTORS * W) packs<VECTORS>(j);
        for (; j + W <= run; j += W) packs<1>(j);
        if (j < run) part(j, int(run - j));
    }
};

template <int ALONG, int RUNS> static void add_runs(const Arguments &a, const Place &first, const bool fresh) {
    if (RUNS == 1 && a.past) Added<ALONG, RUNS, true, true>(a, first).whole();
    else if (fresh) Added<ALONG, RUNS, true, false>(a, first).whole();
    else Added<ALONG, RUNS, false, false>(a, first).whole();
}

// Turns from r on of the loop `row`, RUNS together as long as there are so many
template <int ALONG, int RUNS> static void add_turns(const Arguments &a, const Place &at, const bool fresh, long r) {
    const int inner = a.row + 1, run = a.loops - 1;
    for (; r + RUNS <= a.extent[a.row]; r += RUNS) {
        const Place here = at.moved(a, a.row, r);
        const bool is_fresh = fresh && r == 0;
        if (inner == run) add_runs<ALONG, RUNS>(a, here, is_fresh);
        else
            each_turn(a, here, inner, run, is_fresh, [&](const Place &first, const bool is_first) {
                add_runs<ALONG, RUNS>(a, first, is_first); //
            });
    }
    if constexpr (RUNS > 1) add_turns<ALONG, 1>(a, at, fresh, r);
}

// ---- all loops
template <int ALONG> static void sweep(const Arguments &a, const Place &begin) {
    each_turn(a, begin, 0, a.row, !a.adds, [&](const Place &at, const bool fresh) {
        if (a.kind == SCATTERED) sum_runs(a, at, fresh, Scattered{a});
        else if (a.kind == STAYS) sum_runs(a, at, fresh, Summed<ALONG>{a});
        else if (a.together > 1) add_turns<ALONG, TOGETHER>(a, at, fresh, 0);
        else add_turns<ALONG, 1>(a, at, fresh, 0);
    });
}
template <int ALONG = 1> static void sweep_along(const Arguments &a, const Place &begin) {
    if constexpr (ALONG < FACTORS) {
        if (a.along > ALONG) return sweep_along<ALONG + 1>(a, begin);
    }
    sweep<ALONG>(a, begin);
}

// Threads share the loop `split`, whose turns have outputs of their own, in whole cache lines.
KERNEL(contraction, Arguments) {
    const Arguments a = *record;
    const long extent = a.extent[a.split], lines = (extent + LINE - 1) / LINE;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (long part = 0; part < items; ++part) {
        const long first = lines * part / items * LINE, end = lines * (part + 1) / items * LINE;
        Arguments mine = a;
        mine.extent[a.split] = (end < extent ? end : extent) - first;
        Place begin(a);
        begin.move(a, a.split, first);
        if (mine.extent[a.split] > 0) sweep_along(mine, begin);
    }
    if (a.past) end_of_streams();
    return 0;
}
