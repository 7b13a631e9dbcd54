// Teams of several members on a CPU: fibres of one thread. Each runs to where members wait for each other, then gives
// way to the next one; the last to come does what belongs to all, and goes on first.
#pragma once
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#if !defined(__x86_64__) && !defined(__aarch64__)
#include <ucontext.h>
#endif

// ---- fibres
// frame_switch(to, from): the registers that a function has to keep go to the stack, its address to *to; the same from
// the other stack. A new stack begins with frame_begin, which calls a function with an address.
#if defined(__x86_64__)
#define KEPT 7 // words that frame_switch takes from a stack
extern "C" __attribute__((visibility("hidden"))) void frame_switch(void **to, void *from);
extern "C" __attribute__((visibility("hidden"))) void frame_begin();
asm(R"(.pushsection .text
.type frame_switch,@function
frame_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size frame_switch,.-frame_switch
.type frame_begin,@function
frame_begin:
    movq %rbx, %rdi
    callq *%r12
    ud2
.size frame_begin,.-frame_begin
.popsection)");

static inline void *new_stack(char *top, void (*work)(void *), void *what) {
    void **const at = (void **)top - KEPT;
    at[3] = (void *)work;
    at[4] = what;
    at[5] = nullptr;
    at[6] = (void *)frame_begin; // r12, rbx, rbp
    return at;
}
#elif defined(__aarch64__)
#define KEPT 20
extern "C" __attribute__((visibility("hidden"))) void frame_switch(void **to, void *from);
extern "C" __attribute__((visibility("hidden"))) void frame_begin();
asm(R"(.pushsection .text
.type frame_switch,%function
frame_switch:
    sub sp, sp, #160
    stp x19, x20, [sp]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
.size frame_switch,.-frame_switch
.type frame_begin,%function
frame_begin:
    mov x0, x19
    blr x20
    brk #1
.size frame_begin,.-frame_begin
.popsection)");

static inline void *new_stack(char *top, void (*work)(void *), void *what) {
    void **const at = (void **)top - KEPT;
    at[0] = what;
    at[1] = (void *)work;
    at[10] = nullptr;
    at[11] = (void *)frame_begin; // x19, x20, x29, x30
    return at;
}
#else
// Slower, on every other processor: a context at the end of each stack.
static inline void frame_switch(void **to, void *from) {
    ucontext_t own;
    *to = &own;
    swapcontext(&own, (ucontext_t *)from);
}

static inline void *new_stack(char *top, void (*work)(void *), void *what) {
    ucontext_t *const at = (ucontext_t *)(uintptr_t(top - sizeof(ucontext_t)) / 64 * 64);
    getcontext(at);
    at->uc_stack.ss_sp = (char *)at - 65536;
    at->uc_stack.ss_size = 65536;
    at->uc_link = nullptr;
    makecontext(at, (void (*)())work, 1, what);
    return at;
}
#endif

// A thread's stacks, side by side. Pages that cannot be touched end each, so that a body with large arrays stops there.
// They begin at different places of their pages, or all would meet in the same lines of a cache. An odd number of pages
// lies between them, or the tables of pages would: with 1024 members a switch takes half of the time.
struct Stacks {
    static constexpr size_t APART = 448, TURN = 32768;
    size_t page = size_t(sysconf(_SC_PAGESIZE));
    size_t each = page > 4096 ? 256 * 1024 : 49 * 4096;
    size_t guard = page > 4096 ? 65536 : 15 * 4096;
    char *memory = nullptr;
    int count = 0;

    bool hold(int wanted) { // whether there are so many
        if (wanted <= count) return true;
        release();
        void *const got =
            mmap(nullptr, each * wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (got == MAP_FAILED) return false;
        memory = (char *)got;
        count = wanted;
        for (int k = 0; k < wanted; ++k)
            if (mprotect(memory + k * each, guard, PROT_NONE)) return release(), false;
        return true;
    }

    void release() {
        if (memory) munmap(memory, each * count);
        memory = nullptr;
        count = 0;
    }

    char *top(int k) const { return memory + (k + 1) * each - k * APART % TURN / 64 * 64; }
    ~Stacks() { release(); }
};

// ---- the members of a team
// Where members wait for each other: all of a team, or of a part of it.
struct Meeting {
    int here;  // have come
    long turn; // how often all have met
    const char *file;
    int line; // of the first to come
};

struct Members {
    static constexpr int MOST = 1024, PARTS = 15, END = -1;
    int size, running, vain; // vain: how often members gave way since any went on
    void *stack[MOST], *outside, *shown[MOST];
    int next[MOST], before[MOST]; // members that have not ended, in a ring
    Meeting whole, part[PARTS];
    Report *report;
    struct Check *check;
    void (*work)(Members &, int);
    const void *what;
    bool failed;

    // work(member) for each member; whether all came to their end
    bool run(const Stacks &stacks) {
        for (int k = 0; k < size; ++k) {
            next[k] = k + 1 < size ? k + 1 : 0;
            before[k] = k ? k - 1 : size - 1;
            stack[k] = new_stack(stacks.top(k), begin, this);
        }

        running = 0;
        vain = 0;
        failed = false;
        whole = {};
        memset((void *)part, 0, sizeof part);
        frame_switch(&outside, stack[0]);
        return !failed;
    }

    static void begin(void *self) {
        Members &m = *(Members *)self;
        m.work(m, m.running);
        m.end();
    }

    void end() {
        const int own = running;
        const int other = next[own];
        void *left;
        vain = 0;
        if (other == own) frame_switch(&left, outside);
        next[before[own]] = other;
        before[other] = before[own];
        running = other;
        frame_switch(&left, stack[other]);
    }

    __attribute__((noinline)) void give_way() {
        const int own = running;
        running = next[own];
        frame_switch(&stack[own], stack[running]);
    }

    // The members of a launch do not go on: the first problem of any thread is reported.
    __attribute__((noinline)) void fail(const char *format, ...) {
#pragma omp critical(frame_problem)
        if (!report->problem[0]) {
            va_list list;
            va_start(list, format);
            vsnprintf(report->problem, sizeof report->problem, format, list);
            va_end(list);
        }

        leave();
    }

    void leave() {
        failed = true;
        void *left;
        frame_switch(&left, outside);
    }

    static const char *name_of(const char *file) {
        const char *const slash = strrchr(file, '/');
        return slash ? slash + 1 : file;
    }

    // Wait until `count` members have come here. The last one calls f.
    template <class F> POINT_FN void meet(Meeting &at, int count, const char *file, int line, const F &f) {
        if (at.here == 0) at.file = file, at.line = line;
        else if (at.line != line) apart(at, count, file, line);

        if (++at.here == count) {
            f();
            at.here = 0, ++at.turn, vain = 0;
            return;
        }

        for (const long turn = at.turn; at.turn == turn;) {
            if (++vain > 2 * size) missing(at, count);
            give_way();
        }
    }

    __attribute__((noinline)) void apart(const Meeting &at, int count, const char *file, int line) {
        const int end = line == END ? at.here : count - at.here;
        if (line == END || at.line == END)
            fail("%s:%d: %d of %d members wait for the others of their team, which are at the body's end",
                 name_of(line == END ? at.file : file), line == END ? at.line : line, line == END ? end : 1, count);
        fail("%s:%d and %s:%d: members of a team wait for each other at different places", name_of(at.file), at.line,
             name_of(file), line);
    }

    __attribute__((noinline)) void missing(const Meeting &at, int count) {
        fail("%s:%d: %d of %d members wait for others that never come", name_of(at.file), at.line, at.here, count);
    }
};

// ---- ranges and team
struct OfTeam { // a range of a team: number of items, the member's number, where it stands in the body
    long n;
    int own, size;
    Members *members;
    const char *file;
    int line;
    template <class F> POINT_FN void meet(const F &f) const { members->meet(members->whole, size, file, line, f); }

    // x of all members joined in their order; every one gets it
    template <class R, class T> POINT_FN void join(T &x, const R &reducer) const {
        members->shown[own] = &x;
        meet([&] {
            T all = *(T *)members->shown[0];
            for (int k = 1; k < size; ++k) reducer.join(all, *(T *)members->shown[k]);
            for (int k = 0; k < size; ++k) *(T *)members->shown[k] = all;
        });
    }
};

struct EachOfTeam : OfTeam {};
struct VectorOfTeam : OfTeam {};

template <class F, class R, class T> POINT_FN void over_range(EachOfTeam range, const F &f, T &sum, const R &reducer) {
    Accumulator<R, T> all(reducer);
    for (long i = range.own; i < range.n; i += range.size) f(i, all);
    T x = all.value;
    range.join(x, reducer);
    sum = x;
}

template <class F, class R, class T>
POINT_FN void over_range(VectorOfTeam range, const F &f, T &sum, const R &reducer) {
    T x;
    over_packs(range.own, range.size, range.n, f, x, reducer);
    range.join(x, reducer);
    sum = x;
}

// Of a part of the range for each member: first what it gives, then each index with all before.
template <class F, class R, class T> POINT_FN void scan_range(const OfTeam &range, const F &f, T &x, const R &reducer) {
    const long share = (range.n + range.size - 1) / range.size, first = range.own * share,
               behind = first + share < range.n ? first + share : range.n;
    struct {
        T own, all;
    } both;
    reducer.neutral(both.own);
    for (long i = first; i < behind; ++i) given_by(f, i, both.own, reducer);

    Members &m = *range.members;
    m.shown[range.own] = &both;

    range.meet([&] {
        T before;
        reducer.neutral(before);

        for (int k = 0; k < range.size; ++k) {
            T &own = ((decltype(both) *)m.shown[k])->own;
            T with = before;
            reducer.join(with, own);
            own = before;
            before = with;
        }

        for (int k = 0; k < range.size; ++k) ((decltype(both) *)m.shown[k])->all = before;
    });

    for (long i = first; i < behind; ++i) last_pass(f, i, both.own, reducer);
    x = both.all;
}

#ifdef CHECK_SCRATCH
#include "teams/team_check.h"
template <class V> POINT_FN auto scratch_of(const V &view, Members *members, int own) {
    return CheckedView<V>{view, members, own};
}
#else
template <class V> POINT_FN auto scratch_of(const V &view, Members *, int) { return view; }
#endif

template <int PARTS, int SIZE, int VECTOR> struct PartOf;

template <int MEMBERS, int VECTOR, int, int> struct Team {
    static constexpr int SIZE = MEMBERS;
    static constexpr int KERNEL = 0;
    long number, teams;
    char *level[2];
    int own;
    Members *members;
    POINT_FN long league_rank() const { return number; }
    POINT_FN long league_size() const { return teams; }
    POINT_FN int rank() const { return own; }
    POINT_FN static constexpr int size() { return SIZE; }
    POINT_FN Member<VECTOR, 0> member() const { return {level, own}; }
    POINT_FN void barrier(PLACE) const {
        members->meet(members->whole, SIZE, file, line, [] {});
    }

    POINT_FN EachOfTeam each(long n, PLACE) const { return {{n, own, SIZE, members, file, line}}; }
    POINT_FN VectorOfTeam vector(long n, PLACE) const { return {{n, own, SIZE, members, file, line}}; }
    template <class F> POINT_FN void for_each(long n, const F &f) const {
        for (long i = own; i < n; i += SIZE) f(i);
    }

    template <class F> POINT_FN void for_vector(long n, const F &f) const { for_packs(own, SIZE, n, f); }
    template <class F> POINT_FN static void for_packs(long first, long every, long n, const F &f) {
        constexpr int W = VECTOR_LANES;
        const Work work;
        long p = first;
        for (; (p + 1) * W <= n; p += every) work.at_pack(f, Lanes<true>{p * W, 1, W});
        if (p * W < n) work.at_pack(f, Lanes<false>{p * W, 1, int(n - p * W)});
    }

    template <class S> POINT_FN auto scratch(const S &s) const {
        if constexpr (S::MEMBERS) return s.at(level, own);
        else return scratch_of(s.at(level, own), members, own);
    }

    template <class F> POINT_FN void single(const F &f) const {
        if (own == 0) f();
    }

    template <class F, class V> POINT_FN void single(const F &f, V &value, const char *file, int line) const {
        if (own == 0) f(value);
        members->shown[own] = &value;
        members->meet(members->whole, SIZE, file, line, [&] {
            for (int k = 1; k < SIZE; ++k) *(V *)members->shown[k] = *(V *)members->shown[0];
        });
    }

    template <int PARTS, class F> POINT_FN void parts(const F &f) const { f(PartOf<PARTS, SIZE, VECTOR>{*this}); }
};

// A part of a team, whose members wait for each other and for no one else.
template <int PARTS, int SIZE, int VECTOR> struct PartOf {
    static constexpr int count = SIZE / PARTS;
    static_assert(SIZE * VECTOR % (32 * PARTS) == 0, "parts of a team are whole warps: members x lanes, 32 for each");
    static_assert(PARTS <= 15, "up to 15 parts: a block has 16 barriers");
    const Team<SIZE, VECTOR> &team;
    POINT_FN int number() const { return team.own / count; }
    POINT_FN int rank() const { return team.own % count; }
    POINT_FN static constexpr int size() { return count; }
    POINT_FN void barrier(PLACE) const {
        team.members->meet(team.members->part[number()], count, file, line, [] {});
    }

    template <class F> POINT_FN void for_each(long n, const F &f) const {
        for (long i = rank(); i < n; i += count) f(i);
    }

    template <class F> POINT_FN void for_vector(long n, const F &f) const { team.for_packs(rank(), count, n, f); }
};

// ---- launch
template <class TEAM, class RESULTS, class Body>
POINT_FN int for_teams_of_fibres(long items, int threads, const League &a, const Body &body) {
    return share_out(items, threads, a, [&](long share, long first, long behind, char *const(&level)[2]) {
        static thread_local Stacks stacks;
        if (!stacks.hold(TEAM::SIZE)) return 1;

        typename RESULTS::Values values[TEAM::SIZE];
        Members members;
        members.size = TEAM::SIZE;
        members.report = a.report;
#ifdef CHECK_SCRATCH
        const size_t words = (level[1] - level[0] + a.bytes[1]) / 4;
        Check check = {level[0], (Shadow *)calloc(words + 1, sizeof(Shadow)), 0};
        if (!check.shadow) return 1;
        members.check = &check;
#endif
        const auto work = [&](Members &m, int own) { // of a member, for all teams of the share
            TEAM team = {first, items, {level[0], level[1]}, own, &m};
            const auto own_body = of_thread(body);
            typename RESULTS::Accumulators results;

            for (; behind > team.number; ++team.number) {
                own_body(team, results);
                m.meet(m.whole, TEAM::SIZE, "", Members::END, [&] {
#ifdef CHECK_SCRATCH
                    m.check->begun = m.whole.turn + 1;
#endif
                });
            }

            if constexpr (RESULTS::COUNT > 0) results.with(values[own], [](const auto &x, auto &to) { to = x.value; });
        };

        members.what = &work;
        members.work = [](Members &m, int own) { (*(decltype(work) *)m.what)(m, own); };
        const bool done = members.run(stacks);
#ifdef CHECK_SCRATCH
        free(check.shadow);
#endif
        if (!done) return 1;

        if constexpr (RESULTS::COUNT > 0) {
            typename RESULTS::Accumulators all;
            for (const auto &value : values)
                all.with(value, [](auto &to, const auto &x) { to.reducer.join(to.value, x); });
            all.with(((typename RESULTS::Values *)a.shares)[share], [](const auto &x, auto &to) { to = x.value; });
        }

        return 0;
    });
}
