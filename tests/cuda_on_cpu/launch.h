// engine/numbers/launch.h takes this in place of its own: launch_<kernel>(grid, rows, threads, addresses of record and
// items), and record_<kernel>(), the record's size. TEAMS: threads of a block wait for each other at barriers, so they
// are fibres. TOGETHER: those of a team end together.
static long launch_items;
template <class Work> static void run_threads(int gx, int gy, int bx, const Work &work) {
    gridDim = {gx, gy, 1}, blockDim = {bx, 1, 1};
    for (int y = 0; y < gy; ++y)
        for (int x = 0; x < gx; ++x)
            for (int t = 0; t < bx; ++t) {
                blockIdx = {x, y, 0}, threadIdx = {t, 0, 0};
                work();
            }
}
static void (*thread_of_team)();
static const char *problem;
static void run_fibre() {
    thread_of_team();
    fibre[running].state = ENDED;
}
// One block of those in flight: its place in the grid, its shared memory while another one runs.
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
// All threads up to their next barrier, the last one first in every other block; then those go on whose partners have
// come, or have ended. Returns whether any moved.
static bool round(Block &b, int slot, int bx) {
    const bool backwards = (b.at.x + b.at.y) & 1;
    bool moved = false, all = true, ended = false;
    b.live = false;
    blockIdx = b.at;
    for (int k = 0; k < bx; ++k) {
        const int t = backwards ? bx - 1 - k : k, f = slot * MOST + t;
        if (fibre[f].state != READY) continue;
        threadIdx = {t, 0, 0}, running = f, moved = true;
        swapcontext(&block_loop, &fibre[f].context);
    }
    running = -1;
    for (int id = 0; id < 16; ++id) { // barriers of parts: as many threads as they were told
        int here = 0;
        unsigned told = 0;
        for (int t = 0; t < bx; ++t)
            if (fibre[slot * MOST + t].state == AT_PART && fibre[slot * MOST + t].mask >> 16 == id)
                ++here, told = fibre[slot * MOST + t].mask & 0xffff;
        for (int t = 0; t < bx && here && here == told; ++t)
            if (fibre[slot * MOST + t].state == AT_PART && fibre[slot * MOST + t].mask >> 16 == id)
                fibre[slot * MOST + t].state = READY, moved = true;
    }
    for (int t = 0; t < bx; ++t) { // who asks for the active lanes gets those at the same place
        const Fibre &own = fibre[slot * MOST + t];
        if (own.state != WHO_IS_HERE) continue;
        unsigned here = 0;
        for (int l = t & ~31; l < bx && l < (t & ~31) + 32; ++l) {
            const Fibre &other = fibre[slot * MOST + l];
            if (other.state == WHO_IS_HERE && other.place == own.place) here |= 1u << (l & 31);
        }
        for (int l = t & ~31; l < bx && l < (t & ~31) + 32; ++l)
            if (here >> (l & 31) & 1) fibre[slot * MOST + l].state = READY, fibre[slot * MOST + l].mask = here;
        moved = true;
    }
    for (int t = 0; t < bx; ++t) {
        const Fibre &own = fibre[slot * MOST + t];
        b.live |= own.state != ENDED, ended |= own.state == ENDED;
        all &= own.state == ENDED || own.state == AT_BARRIER;
        bool met = own.state == AT_WARP;
        for (int l = t & ~31; l < bx && l < (t & ~31) + 32 && met; ++l) {
            const Fibre &other = fibre[slot * MOST + l];
            if (own.mask >> (l & 31) & 1)
                met = other.state == ENDED || other.state == AT_WARP && other.mask == own.mask;
        }
        for (int l = t & ~31; l < bx && l < (t & ~31) + 32 && met; ++l)
            if (own.mask >> (l & 31) & 1 && fibre[slot * MOST + l].state == AT_WARP)
                fibre[slot * MOST + l].state = READY, moved = true;
    }
    if (all && b.live && !(ended && TOGETHER))
        for (int t = 0; t < bx; ++t)
            if (fibre[slot * MOST + t].state == AT_BARRIER) fibre[slot * MOST + t].state = READY, moved = true;
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
