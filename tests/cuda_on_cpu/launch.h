// engine/numbers/launch.h takes this file in place of its own: launch_<kernel>(grid, rows, threads, addresses of record
// and items), and record_<kernel>(), the record's size. TEAMS: threads of a block wait for each other at barriers, so
// they are fibres. TOGETHER: the threads of a team end together.
static long launch_items;

// ---- kernels without barriers: a loop

template <class Work> static void run_threads(int gx, int gy, int bx, const Work &work) {
    gridDim = {gx, gy, 1}, blockDim = {bx, 1, 1};
    for (int y = 0; y < gy; ++y)
        for (int x = 0; x < gx; ++x)
            for (int t = 0; t < bx; ++t) {
                blockIdx = {x, y, 0}, threadIdx = {t, 0, 0};
                work();
            }
}

// ---- kernels with barriers: fibres

static void (*thread_of_team)();
static const char *problem;

static void run_fibre() {
    thread_of_team();
    fibre[running].state = ENDED;
}

// A block in flight: its place in the grid, and its shared memory while another block runs.
struct Block {
    Index at;
    bool live;
    double shared[32 * 1024];
};

static void begin(Block &b, int slot, int x, int y, int bx, int shared) {
    static char stack[IN_FLIGHT * MOST][65536];
    b.at = {x, y, 0}, b.live = true;
    memset(b.shared, 0xff, shared); // NaN

    for (int t = slot * MOST; t < slot * MOST + bx; ++t) {
        ucontext_t &c = fibre[t].context;
        getcontext(&c);
        c.uc_stack.ss_sp = stack[t], c.uc_stack.ss_size = sizeof stack[t], c.uc_link = &block_loop;
        makecontext(&c, run_fibre, 0);
        fibre[t].state = READY;
    }
}

// The threads of a block, and what a round does with them. Each function returns whether a thread went on, or may.
struct Threads {
    Fibre *const own;
    const int slot, bx;

    // Every thread that is ready runs to its next barrier; in every other block the last thread comes first.
    bool run(const Index &at) const {
        const bool backwards = (at.x + at.y) & 1;
        bool moved = false;
        blockIdx = at;
        for (int k = 0; k < bx; ++k) {
            const int t = backwards ? bx - 1 - k : k;
            if (own[t].state != READY) continue;
            threadIdx = {t, 0, 0}, running = slot * MOST + t, moved = true;
            swapcontext(&block_loop, &own[t].context);
        }
        running = -1;
        return moved;
    }

    // Barriers of parts: open when as many threads wait as the barrier names.
    bool open_parts() const {
        bool moved = false;
        for (unsigned id = 0; id < 16; ++id) {
            unsigned here = 0, named = 0;
            for (int t = 0; t < bx; ++t)
                if (own[t].state == AT_PART && own[t].mask >> 16 == id) ++here, named = own[t].mask & 0xffff;

            for (int t = 0; t < bx && here && here == named; ++t)
                if (own[t].state == AT_PART && own[t].mask >> 16 == id) own[t].state = READY, moved = true;
        }
        return moved;
    }

    // A thread that asks for the active lanes gets the lanes of its warp at the same place of the program.
    bool answer_who_is_here() const {
        bool moved = false;
        for (int t = 0; t < bx; ++t) {
            if (own[t].state != WHO_IS_HERE) continue;
            unsigned here = 0;
            for (int l = first_lane(t); l < end_of_warp(t); ++l)
                if (own[l].state == WHO_IS_HERE && own[l].place == own[t].place) here |= 1u << (l & 31);

            for (int l = first_lane(t); l < end_of_warp(t); ++l)
                if (here >> (l & 31) & 1) own[l].state = READY, own[l].mask = here;
            moved = true;
        }
        return moved;
    }

    // Barriers of warps: open when all lanes of the mask wait there with the same mask, or have ended.
    bool open_warps() const {
        bool moved = false;
        for (int t = 0; t < bx; ++t) {
            bool met = own[t].state == AT_WARP;
            for (int l = first_lane(t); l < end_of_warp(t) && met; ++l)
                if (own[t].mask >> (l & 31) & 1)
                    met = own[l].state == ENDED || (own[l].state == AT_WARP && own[l].mask == own[t].mask);

            for (int l = first_lane(t); l < end_of_warp(t) && met; ++l)
                if (own[t].mask >> (l & 31) & 1 && own[l].state == AT_WARP) own[l].state = READY, moved = true;
        }
        return moved;
    }

    // The barrier of the block: opens when all threads wait there. Threads that have ended do not count, unless
    // TOGETHER.
    bool open_block() const {
        bool ended = false;
        for (int t = 0; t < bx; ++t) {
            ended |= own[t].state == ENDED;
            if (own[t].state != ENDED && own[t].state != AT_BARRIER) return false;
        }
        if (ended && TOGETHER) return false;

        bool moved = false;
        for (int t = 0; t < bx; ++t)
            if (own[t].state == AT_BARRIER) own[t].state = READY, moved = true;
        return moved;
    }

    bool are_live() const {
        for (int t = 0; t < bx; ++t)
            if (own[t].state != ENDED) return true;
        return false;
    }

    static int first_lane(int t) { return t & ~31; }
    int end_of_warp(int t) const { return min(bx, first_lane(t) + 32); }
};

// All threads of a block run to their next barrier; barriers then open. Returns false if none moved: a deadlock.
static bool round(Block &b, int slot, int bx) {
    const Threads threads{fibre + slot * MOST, slot, bx};
    bool moved = threads.run(b.at);
    moved |= threads.open_parts();
    moved |= threads.answer_who_is_here();
    moved |= threads.open_warps();
    moved |= threads.open_block();
    b.live = threads.are_live();
    return moved || !b.live;
}

static void run_teams(int gx, int gy, int bx, int shared) {
    static Block block[IN_FLIGHT];
    const int slots = TOGETHER && shared <= 48 * 1024 ? IN_FLIGHT : 1;
    gridDim = {gx, gy, 1}, blockDim = {bx, 1, 1};
    memset(shared_memory, 0xff, sizeof shared_memory);
    for (int s = 0; s < slots; ++s) block[s].live = false;

    for (long next = 0, left = 1; left && !problem;) {
        left = 0;
        bool moved = false;

        for (int s = 0; s < slots; ++s) {
            Block &b = block[s];
            if (!b.live && next < (long)gx * gy) begin(b, s, next % gx, next / gx, bx, shared), ++next;
            if (!b.live) continue;

            memcpy(shared_memory, b.shared, shared);
            moved |= round(b, s, bx);
            memcpy(b.shared, shared_memory, shared);
            left += b.live || next < (long)gx * gy;
        }

        if (left && !moved) problem = "threads wait at a barrier that others of their block or warp do not reach";
    }
}

// ---- entries

#ifdef TEAMS
#define RUN(name, Record) \
    thread_of_team = [] { name(*(const Record *)arguments[0], launch_items); }; \
    run_teams(gx, gy, bx, shared)
#else
#define RUN(name, Record) run_threads(gx, gy, bx, [] { name(*(const Record *)arguments[0], launch_items); })
#endif

#define KERNEL(name, Record, ...) \
    static void name(const Record &a, const long items); \
    extern "C" long record_##name() { return sizeof(Record); } \
    extern "C" const char *launch_##name(int gx, int gy, int bx, int shared, void **given) { \
        arguments = given, launch_items = *(const long *)given[1], problem = 0; \
        RUN(name, Record); \
        return problem; \
    } \
    static void name(const Record &a, const long items)
