// What sweep_packs.h does where the last factor along a run lies side by side along the loop `row`, as in
// x[i j] y[j i]: W runs beside W numbers of each make a square, which is transposed in registers. So each cache line of
// that factor is read once, not once for each of its numbers.
#pragma once

// COUNT runs that follow each other along the loop `row`, W at most
template <int ALONG, int COUNT> struct Crossed {
    const Arguments &a;
    Place at;
    long run, step; // numbers of a run; step of the crossed factor along it
    long out_step;  // from run to run; 0: the output stays

    POINT_FN Crossed(const Arguments &a, const Place &first)
        : a(a), at(first), run(a.extent[a.loops - 1]), step(a.step[(ALONG - 1) * LOOPS + a.loops - 1]),
          out_step(a.step[OUT * LOOPS + a.row]) {}

    // Numbers j to j + W - 1 of the crossed factor for each run. The last runs have no whole square
    POINT_FN void square(V (&x)[W], const long j) const {
        const scalar *const from = at.x[ALONG - 1] + j * step;
        UNROLL
        for (int i = 0; i < W; ++i) {
            if constexpr (COUNT == W) x[i] = fetch<V, W, 1>(from + i * step);
            else x[i] = load_part<V>(from + i * step, COUNT);
        }
        transpose(x);
    }
    // The product of run r: of pack j, whose numbers of the crossed factor are in x; of number j
    POINT_FN V product(const int r, const long j, const V x) const {
        V found = fetch<V, W, 1>(row(0, r) + j);
        UNROLL
        for (int f = 1; f + 1 < ALONG; ++f) found *= fetch<V, W, 1>(row(f, r) + j);
        return found * x;
    }
    POINT_FN scalar product(const int r, const long j) const {
        scalar found = row(0, r)[j];
        UNROLL
        for (int f = 1; f + 1 < ALONG; ++f) found *= row(f, r)[j];
        return found * at.x[ALONG - 1][r + j * step];
    }
    POINT_FN const scalar *row(const int f, const int r) const { return at.x[f] + r * a.step[f * LOOPS + a.row]; }
    POINT_FN scalar weight(const int r) const { return at.moved(a, a.row, r).template weight<ALONG>(a); }

    // The sums of the runs
    POINT_FN V sums() const {
        V sum[COUNT] = {}, x[W];
        long j = 0;
        for (; j + W <= run; j += W) {
            square(x, j);
            UNROLL
            for (int r = 0; r < COUNT; ++r) sum[r] += product(r, j, x[r]);
        }

        Tile<W, 1, W> found = {};
        UNROLL
        for (int r = 0; r < COUNT; ++r) {
            scalar rest = 0;
            for (long k = j; k < run; ++k) rest += product(r, k);
            sum[r][0] += rest;
            found.at[r][0] = sum[r] * weight(r);
        }
        return folded<W / 2, 0>(found);
    }
    POINT_FN void leave_sums(const bool fresh) const {
        const V found = sums();
        if (!out_step) {
            scalar total = fresh ? scalar(0) : *at.out;
            for (int i = 0; i < COUNT; ++i) total += found[i];
            *at.out = total;
        } else
            for (int i = 0; i < COUNT; ++i) at.out[i * out_step] = fresh ? found[i] : at.out[i * out_step] + found[i];
    }

    // The runs are added to the output. FRESH: the first of them is written there instead
    template <bool FRESH, bool STAY> POINT_FN void add() const {
        scalar weights[COUNT];
        for (int r = 0; r < COUNT; ++r) weights[r] = weight(r);

        V x[W];
        long j = 0;
        for (; j + W <= run; j += W) {
            square(x, j);
            scalar *const out = at.out + j;
            V sum = FRESH ? -V{} : fetch<V, W, 1>(out);
            UNROLL
            for (int r = 0; r < COUNT; ++r) {
                if (!STAY && r) sum = FRESH ? -V{} : fetch<V, W, 1>(out + r * out_step);
                add_product(sum, product(r, j, x[r]), weights[r]);
                if (!STAY) leave<W>(out + r * out_step, sum);
            }
            if (STAY) leave<W>(out, sum);
        }
        for (; j < run; ++j)
            for (int r = 0; r < COUNT; ++r) {
                scalar &to = at.out[r * out_step + j];
                V sum = {FRESH && (!STAY || r == 0) ? scalar(-0.0) : to};
                add_product(sum, V{product(r, j)}, weights[r]);
                to = sum[0];
            }
    }
    POINT_FN void add(const bool fresh) const {
        if (fresh && out_step) add<true, false>();
        else if (fresh) add<true, true>();
        else if (out_step) add<false, false>();
        else add<false, true>();
    }
};

// Runs from r on of the loop `row`, COUNT at a time, then the others
template <int ALONG, int COUNT = W>
static void crossed(const Arguments &a, const Place &at, const bool fresh, long r = 0) {
    const bool sums = a.step[OUT * LOOPS + a.row] == 0;
    for (; r + COUNT <= a.extent[a.row]; r += COUNT) {
        const Crossed<ALONG, COUNT> runs(a, at.moved(a, a.row, r));
        const bool is_fresh = fresh && !(sums && r);
        if constexpr (SWEEP_KIND == STAYS) runs.leave_sums(is_fresh);
        else runs.add(is_fresh);
    }
    if constexpr (COUNT > 1) crossed<ALONG, COUNT == W ? W / 2 : 1>(a, at, fresh, r);
}
