// A statement that uses each number of its largest array once: a sum, a weighted sum, a product number by number. The
// core goes through that array as it lies; the arithmetic is done while memory is waited for.
//
// organisations/sweep.py writes the record and the constants: FACTORS, how many factors there are, LOOPS and TOGETHER.
// The loops are in the order of the largest array, the slowest first. The last loop is a run. Factors that lie side by
// side along it come first (SWEEP_ALONG of them); the others stay, and are with `number` the run's weight. What the
// output does along a run (SWEEP_KIND):
//   STAYS       a run is a sum. Runs of the loop `row` are added up W at a time
//   LIES        numbers side by side. Of a sum over the loop `row` several runs are added together, so that the output
//               is read and written seldom
// SWEEP_WIDTH: 1; 2: a turn of a run has two numbers, such as the parts of a complex number; a run that stays has two
// sums. SWEEP_APART: factors along a run have any steps, from turn to turn and (`second`) to the second number of a
// pair. SWEEP_CROSSED: the last factor along a run lies side by side along the loop `row` (sweep_crossed.h).
#pragma once
#include "contractions/packs.h"

typedef Pack<W> V;
typedef whole Bits __attribute__((vector_size(sizeof(V)))); // of the lanes of a pack
enum Kind { STAYS, LIES };
constexpr int OUT = FACTORS; // the output's place among the arrays
constexpr int LINE = 64 / sizeof(scalar);
constexpr int UNITS = 4;
constexpr int MOST_HELD = 8, MOST_PIECES = 2;
constexpr long HELD_ROWS = 32;

// How a factor lies along a run, whose turns have P numbers
template <int P, bool APART> struct Lie {
    long step, second;

    POINT_FN Lie(const Arguments &a, const int f) : step(a.step[f * LOOPS + a.loops - 1]), second(a.second[f]) {}
    POINT_FN const scalar *at(const scalar *x, const long j) const {
        return APART ? x + j / P * step + j % P * second : x + j;
    }
    POINT_FN V part(const scalar *x, const long j, const int n) const {
        if constexpr (!APART) return load_part<V>(x + j, n);
        V found = {};
        for (int i = 0; i < n; ++i) found[i] = *at(x, j + i);
        return found;
    }
    POINT_FN V pack(const scalar *x, const long j) const {
        if constexpr (!APART) return fetch<V, W, 1>(x + j);
        else return lanes(at(x, j), typename Count<W>::type());
    }
    template <int... I> POINT_FN V lanes(const scalar *first, Numbers<I...>) const {
        return V{first[I / P * step + I % P * second]...};
    }
};

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

// sum += x * y, rounded once where the core can, whatever the loop. Of two products that are added a compiler may round
// either one first
POINT_FN void add_product(V &sum, const V x, const scalar y) {
#ifdef __FMA__
    if (sizeof(scalar) == 8) __asm__("vfmadd231pd %2, %1, %0" : "+v"(sum) : "v"(x), "v"(y - V{}));
    else __asm__("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(x), "v"(y - V{}));
#else
#ifdef __aarch64__
    __asm__("" : "+w"(sum));
#endif
    sum += x * y;
#endif
}

// ---- the output stays along a run
template <int ALONG, int P, bool APART> struct Summed {
    const Arguments &a;
    const long run = a.extent[a.loops - 1] * P;
    Bits late = {}; // lanes of a run's last pack that no pack before has

    POINT_FN explicit Summed(const Arguments &a) : a(a) {
        for (int i = 0; i < W; ++i) late[i] = i < W - run % W ? 0 : -1;
    }

    // The products from number j of a run on: a pack, or fewer numbers
    POINT_FN V pack(const Place &at, const long j) const {
        V product = Lie<P, APART>(a, 0).pack(at.x[0], j);
        UNROLL
        for (int f = 1; f < ALONG; ++f) product *= Lie<P, APART>(a, f).pack(at.x[f], j);
        return product;
    }
    POINT_FN scalar number(const Place &at, const long j) const {
        scalar product = *Lie<P, APART>(a, 0).at(at.x[0], j);
        UNROLL
        for (int f = 1; f < ALONG; ++f) product *= *Lie<P, APART>(a, f).at(at.x[f], j);
        return product;
    }
    // Partial sums of a run: of pairs, those of first and second numbers in turns. What is left over is added by a pack
    // with numbers before it, whose lanes get zeros; numbers of a run shorter than W, or that lie apart, one by one. A
    // masked load of them takes Zen 4 half as long as a run of 100
    POINT_FN V of_run(const Place &at) const {
        V sum[UNITS] = {};
        long j = 0;
        for (; j + UNITS * W <= run; j += UNITS * W) {
            UNROLL
            for (int u = 0; u < UNITS; ++u) sum[u] += pack(at, j + u * W);
        }
        for (; j + W <= run; j += W) sum[0] += pack(at, j);
        if (!APART && j && j < run) {
            sum[1] += (V)((Bits)pack(at, run - W) & late);
            j = run;
        }
        scalar rest[UNITS] = {};
        for (; j < run; ++j) rest[j % UNITS] += number(at, j);
        if constexpr (P == 1) sum[1][0] += (rest[0] + rest[1]) + (rest[2] + rest[3]);
        else sum[1][0] += rest[0] + rest[2], sum[1][1] += rest[1] + rest[3];
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

    // All runs of the loop `row`
    void all(const Place &at, const bool fresh) const {
        const long turns = a.extent[a.row], step = a.step[OUT * LOOPS + a.row];
        scalar total = 0;
        for (long r = 0; r < turns; r += W) {
            const long count = turns - r < W ? turns - r : W;
            const V found = of_runs(at.moved(a, a.row, r), count);
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
    // The same of pairs: runs one after the other
    void all_pairs(const Place &at, const bool fresh) const {
        const bool sums = a.step[OUT * LOOPS + a.row] == 0;
        for (long r = 0; r < a.extent[a.row]; ++r) {
            const Place here = at.moved(a, a.row, r);
            const V found = of_run(here) * here.template weight<ALONG>(a);
            scalar total[2] = {found[0], found[1]};
            UNROLL
            for (int i = 2; i < W; ++i) total[i % 2] += found[i];
            const bool is_fresh = fresh && !(sums && r);
            for (int i = 0; i < 2; ++i) here.out[i] = is_fresh ? total[i] : here.out[i] + total[i];
        }
    }
};

// ---- the output lies side by side along a run
// RUNS of them are added to the output, or written there. PAST: past the caches
template <int ALONG, int P, bool APART, int RUNS, bool FRESH, bool PAST> struct Added {
    static constexpr int VECTORS = RUNS == 1 ? UNITS : 1; // at a time: loads go before stores

    const Arguments &a;
    const long run = a.extent[a.loops - 1] * P;
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
    // The sum of `before` and the runs in their order, so that its bits do not depend on RUNS. fetched(layout, array)
    // loads a factor
    template <class Fetched> POINT_FN V after(const V before, const Fetched &fetched) const {
        V sum = before;
        UNROLL
        for (int r = 0; r < RUNS; ++r) {
            V product = fetched(Lie<P, APART>(a, 0), x[r][0]);
            UNROLL
            for (int f = 1; f < ALONG; ++f) product *= fetched(Lie<P, APART>(a, f), x[r][f]);
            if (FRESH && r == 0) sum = product * weight[r];
            else add_product(sum, product, weight[r]);
        }
        return sum;
    }
    template <int COUNT> POINT_FN void packs(const long j) const {
        V sums[COUNT];
        UNROLL
        for (int v = 0; v < COUNT; ++v) {
            const long at = j + v * W;
            const V before = FRESH ? V{} : fetch<V, W, 1>(out + at);
            sums[v] = after(before, [=](const Lie<P, APART> lie, const scalar *from) { return lie.pack(from, at); });
        }
        UNROLL
        for (int v = 0; v < COUNT; ++v) {
            if (PAST) stream(out + j + v * W, sums[v]);
            else leave<W>(out + j + v * W, sums[v]);
        }
    }
    POINT_FN void part(const long j, const int n) const {
        const V before = FRESH ? V{} : load_part<V>(out + j, n);
        store_part(out + j,
                   after(before, [=](const Lie<P, APART> lie, const scalar *from) { return lie.part(from, j, n); }), n);
    }
    POINT_FN void whole() const {
        long j = 0;
        for (; j + VECTORS * W <= run; j += VECTORS * W) packs<VECTORS>(j);
        for (; j + W <= run; j += W) packs<1>(j);
        if (j < run) part(j, int(run - j));
    }
};

// A piece of short runs, so many numbers of `rows` of them: their sums, PACKS of them, stay in registers. Rounding is
// that of Added
template <int ALONG, int PACKS>
static void hold_runs(const Arguments &a, const long numbers, Place at, const long rows, const bool fresh) {
    const int last = int(numbers) - (PACKS - 1) * W;
    const auto load = [=](const scalar *from, const int v) {
        return v + 1 < PACKS ? fetch<V, W, 1>(from + v * W) : load_part<V>(from + v * W, last);
    };
    const auto product = [&](const int v) {
        V found = load(at.x[0], v);
        UNROLL
        for (int f = 1; f < ALONG; ++f) found *= load(at.x[f], v);
        return found;
    };

    // -0.0 plus a product is the product, its sign too. A first row of its own might be rounded by another order
    V sums[PACKS];
    UNROLL
    for (int v = 0; v < PACKS; ++v) sums[v] = fresh ? -V{} : load(at.out, v);
    for (long r = 0; r < rows; ++r, at.move(a, a.row, 1)) {
        const scalar weight = at.template weight<ALONG>(a);
        UNROLL
        for (int v = 0; v < PACKS; ++v) add_product(sums[v], product(v), weight);
    }
    UNROLL
    for (int v = 0; v + 1 < PACKS; ++v) leave<W>(at.out + v * W, sums[v]);
    store_part(at.out + (PACKS - 1) * W, sums[PACKS - 1], last);
}
template <int ALONG, int PACKS = MOST_HELD>
static void hold(const Arguments &a, const long numbers, const Place &at, const long rows, const bool fresh) {
    if constexpr (PACKS > 0) {
        if (numbers <= (PACKS - 1) * W) return hold<ALONG, PACKS - 1>(a, numbers, at, rows, fresh);
        hold_runs<ALONG, PACKS>(a, numbers, at, rows, fresh);
    }
}
// All runs, in pieces that have room: some runs after the others, so that the next piece finds its lines in a cache
template <int ALONG>
static void hold_pieces(const Arguments &a, const long numbers, const Place &at, const bool fresh) {
    const long rows = a.extent[a.row];
    if (numbers <= MOST_HELD * W) return hold<ALONG>(a, numbers, at, rows, fresh);

    const long pieces = (numbers + MOST_HELD * W - 1) / (MOST_HELD * W);
    const long piece = (numbers + pieces * W - 1) / (pieces * W) * W;
    for (long r = 0; r < rows; r += HELD_ROWS)
        for (long first = 0; first < numbers; first += piece) {
            Place here = at.moved(a, a.row, r);
            UNROLL
            for (int f = 0; f < ALONG; ++f) here.x[f] += first;
            here.out += first;
            const long own = numbers - first < piece ? numbers - first : piece;
            hold<ALONG>(a, own, here, rows - r < HELD_ROWS ? rows - r : HELD_ROWS, fresh && r == 0);
        }
}

template <int ALONG, int P, bool APART, int RUNS>
static void add_runs(const Arguments &a, const Place &first, const bool fresh) {
    if (RUNS == 1 && a.past) Added<ALONG, P, APART, RUNS, true, true>(a, first).whole();
    else if (fresh) Added<ALONG, P, APART, RUNS, true, false>(a, first).whole();
    else Added<ALONG, P, APART, RUNS, false, false>(a, first).whole();
}

// Turns from r on of the loop `row`, RUNS together as long as there are so many
template <int ALONG, int P, bool APART, int RUNS>
static void add_turns(const Arguments &a, const Place &at, const bool fresh, long r) {
    const int inner = a.row + 1;
    const int run = a.loops - 1;
    for (; r + RUNS <= a.extent[a.row]; r += RUNS) {
        const Place here = at.moved(a, a.row, r);
        const bool is_fresh = fresh && r == 0;
        if (inner == run) add_runs<ALONG, P, APART, RUNS>(a, here, is_fresh);
        else
            each_turn(a, here, inner, run, is_fresh, [&](const Place &first, const bool is_first) {
                add_runs<ALONG, P, APART, RUNS>(a, first, is_first); //
            });
    }
    if constexpr (RUNS > 1) add_turns<ALONG, P, APART, 1>(a, at, fresh, r);
}

static bool is_held(const Arguments &a, const long numbers) {
    return a.row + 2 == a.loops && a.step[OUT * LOOPS + a.row] == 0 && numbers <= MOST_PIECES * MOST_HELD * W;
}

#include "contractions/sweep_crossed.h"

// ---- all loops
static __attribute__((noinline)) void sweep(const Arguments &a, const Place &begin) {
    constexpr int ALONG = SWEEP_ALONG, P = SWEEP_WIDTH;
    constexpr bool APART = SWEEP_APART;
    each_turn(a, begin, 0, a.row, !a.adds, [&](const Place &at, const bool fresh) {
        if constexpr (SWEEP_CROSSED) crossed<ALONG>(a, at, fresh);
        else if constexpr (SWEEP_KIND == STAYS && P == 2) Summed<ALONG, P, APART>{a}.all_pairs(at, fresh);
        else if constexpr (SWEEP_KIND == STAYS) Summed<ALONG, P, APART>{a}.all(at, fresh);
        else {
            const long numbers = a.extent[a.loops - 1] * P; // of a run
            if (!APART && is_held(a, numbers)) hold_pieces<ALONG>(a, numbers, at, fresh);
            else if (a.together > 1) add_turns<ALONG, P, APART, TOGETHER>(a, at, fresh, 0);
            else add_turns<ALONG, P, APART, 1>(a, at, fresh, 0);
        }
    });
}

// Threads share the loop `split`, whose turns have outputs of their own, in whole cache lines.
static void part_of_sweep(const Arguments &a, const long part, const long parts) {
    const long extent = a.extent[a.split], lines = (extent + LINE - 1) / LINE;
    const long first = lines * part / parts * LINE, end = lines * (part + 1) / parts * LINE;
    Arguments mine = a;
    mine.extent[a.split] = (end < extent ? end : extent) - first;
    Place begin(a);
    begin.move(a, a.split, first);
    if (mine.extent[a.split] > 0) sweep(mine, begin);
}
KERNEL(contraction, Arguments) {
    const Arguments &a = *record;
    if (items == 1) sweep(a, Place(a)); // without OpenMP, whose regions cost a small call more than its work
    else {
#pragma omp parallel for schedule(static) num_threads(threads)
        for (long part = 0; part < items; ++part) part_of_sweep(a, part, items);
    }
    if (a.past) end_of_streams();
    return 0;
}
