// Launches on CUDA: leagues of teams and ranges of indices, and how the results of blocks become those of a launch.
#pragma once

struct Report; // of a CPU
struct League {
    char *shares;  // a record of values for each block
    char *arena;   // scratch of level 1, a piece for each id of `pieces`
    long bytes[2]; // of scratch of a team, by level
    Token pieces;
    unsigned *ended; // blocks that have left their share
    Report *report;
    long chunk;       // of a CPU
    const void *line; // of a CPU
};

template <class T> POINT_FN T past_cache(const T *first, size_t bytes) { // of this multiprocessor
    const T *const at = (const T *)((const char *)first + bytes);
    if constexpr (SAME<T, double> || SAME<T, float>) return __ldcg(at);
    else {
        unsigned piece[sizeof(T) / 4];
        for (int k = 0; k < int(sizeof(T) / 4); ++k) piece[k] = __ldcg((const unsigned *)at + k);
        T x;
        memcpy(&x, piece, sizeof(T));
        return x;
    }
}

// The league's results: of a block, then by the block that ends last, in the order of the blocks.
template <int THREADS, class RESULTS, class A>
POINT_FN void add_up(const League &a, const Place *totals, A &results, int &turn) {
    typedef typename RESULTS::Values Values;
    Values *const shares = (Values *)a.shares;
    results.with(shares[blockIdx.x], [&](auto &own, auto &share) {
        const auto x = joined<THREADS>(own.value, 1, own.reducer, turn);
        if (threadIdx.x == 0) share = x;
    });
    double last = 0.0;

    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(a.ended, 1u) == unsigned(gridDim.x) - 1;
        __threadfence();
    }

    if (joined<THREADS>(last, 1, Sum(), turn) < 0.5) return;
    int k = 0;

    results.with(shares[0], [&](auto &own, auto &first) {
        own.reducer.neutral(own.value);
        UNROLL_BY(8) // loads ahead of the joins
        for (int b = threadIdx.x; b < int(gridDim.x); b += THREADS)
            own.reducer.join(own.value, past_cache(&first, b * sizeof(Values)));
        const auto x = joined<THREADS>(own.value, 1, own.reducer, turn);
        if (threadIdx.x == 0) put(totals[k], x);
        ++k;
    });

    if (threadIdx.x == 0) *a.ended = 0;
}

// body(team, results) for each team; of the lanes of a member the first one's results count. SCRATCH: the next team of
// a block waits until all have left the one before. PIECES: there is scratch of level 1.
template <class TEAM, class, class RESULTS, bool SCRATCH, bool PIECES, bool, class Body>
POINT_FN void for_league(long items, const League &a, const Place *totals, const Body &body) {
    constexpr int THREADS = TEAM::THREADS;
    constexpr int OWN = THREADS > 32 ? 64 : 0;
    typename RESULTS::Accumulators results;
    TEAM team;
    team.teams = items;
    team.turn = 0;
    team.level[0] = (char *)(shared_memory + OWN);
    team.level[1] = nullptr;
    long piece = 0;
    if constexpr (PIECES) {
        single_per_team(team, [&](long &id) { id = a.pieces.acquire(); }, piece);
        team.level[1] = a.arena + piece * a.bytes[1];
    }

    for (long number = blockIdx.x; number < items; number += gridDim.x) {
        team.number = number;
#ifdef FRAME_STAND_IN // what is read before it is written is NaN, here too
        if (SCRATCH && threadIdx.x == 0) {
            memset(team.level[0], 0xff, a.bytes[0]);
            if (PIECES) memset(team.level[1], 0xff, a.bytes[1]);
        }
        if (SCRATCH) __syncthreads();
#endif
        body(team, results);
        if (SCRATCH) __syncthreads();
    }

    if constexpr (PIECES) single_per_team(team, [&] { a.pieces.release(piece); }); // behind the barrier above
    if constexpr (RESULTS::COUNT > 0) {
        if (threadIdx.x % TEAM::LANES) results.each([](auto &x, int) { x.reducer.neutral(x.value); });
        add_up<THREADS, RESULTS>(a, totals, results, team.turn);
    }
}

// body(i, results) for `items` indices from `begin` on, one a thread. COPIES: a thread has many, whose loads go ahead
template <int THREADS, class RESULTS, bool COPIES, class Body>
POINT_FN void for_range(long items, const League &a, const Place *totals, long begin, const Body &body) {
    typename RESULTS::Accumulators results;
    const long step = gridDim.x * (long)THREADS;
    const long first = blockIdx.x * (long)THREADS + threadIdx.x;
    const auto at = [&](long i) INLINED { body(begin + i, results); };
    if constexpr (COPIES) by_fours(first, items, step, at);
    else
        for (long i = first; i < items; i += step) at(i);
    int turn = 0;
    if constexpr (RESULTS::COUNT > 0) add_up<THREADS, RESULTS>(a, totals, results, turn);
}
