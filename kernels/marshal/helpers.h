// CPU threads that help the calling thread to copy. A copy has several parts, and each thread takes part after part.
// After a copy the helpers look for the next copy for a while, since to wake a thread takes as long as a copy; then
// they sleep. The caller waits only for threads that have taken a part.
#pragma once
#include <fenv.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

constexpr long AWAKE = 300000; // nanoseconds for which a helper looks for work

struct HIDDEN Helpers {
    typedef void (*Part)(const void *record, long part, long parts, long items);

    // The present copy. ticket: number of the copy in the upper 32 bits, index of the next part in the lower 32 bits.
    unsigned long ticket = 0;
    Part work = nullptr;
    const void *record = nullptr;
    long parts = 0, items = 0, done = 0;
    unsigned number = 0, asleep = 0;
    int started = 0;
    bool taken = false;

    static long now() {
        timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return t.tv_sec * 1000000000L + t.tv_nsec;
    }

    template <class T> static T get(T &at) { return __atomic_load_n(&at, __ATOMIC_SEQ_CST); }
    template <class T> static void set(T &at, T x) { __atomic_store_n(&at, x, __ATOMIC_SEQ_CST); }

    // Works on parts of copy `mine` until all are taken. If another copy has begun meanwhile, the ticket differs, and
    // the values read here are not used.
    void help(const unsigned mine) {
        for (unsigned long t = get(ticket); unsigned(t >> 32) == mine; t = get(ticket)) {
            const long part = t & 0xffffffff, all = get(parts), n = get(items);
            const Part run = get(work);
            const void *const given = get(record);
            if (part >= all) return;
            if (!__atomic_compare_exchange_n(&ticket, &t, t + 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) continue;
            run(given, part, all, n);
            __atomic_fetch_add(&done, 1, __ATOMIC_SEQ_CST);
        }
    }

    // Main function of a helper.
    static void *live(void *of) {
        Helpers &h = *(Helpers *)of;
        fesetenv(FE_DFL_ENV); // the host may have set traps
        for (unsigned mine = get(h.number);;) {
            h.help(mine);

            // Look for the next copy, then sleep until it begins.
            for (const long since = now(); get(h.number) == mine && now() - since < AWAKE;) {}
            __atomic_fetch_add(&h.asleep, 1, __ATOMIC_SEQ_CST);
            while (get(h.number) == mine) syscall(SYS_futex, &h.number, FUTEX_WAIT_PRIVATE, mine, nullptr, nullptr, 0);
            __atomic_fetch_sub(&h.asleep, 1, __ATOMIC_SEQ_CST);
            mine = get(h.number);
        }
        return nullptr;
    }

    // Starts helpers, so that `threads` threads copy together; fewer if the system refuses. Helpers block all signals:
    // these belong to the host.
    void start(const int threads) {
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        pthread_attr_t detached;
        pthread_attr_init(&detached);
        pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
        pthread_t id;
        while (started + 1 < threads && !pthread_create(&id, &detached, live, this)) ++started;
        pthread_attr_destroy(&detached);
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }

    // Begins what(given, part, parts, count) for all parts. Returns false if the copy is already done, so that `finish`
    // need not be called: if two threads call at the same time, the second copies alone.
    bool begin(const Part what, const void *given, const long count, const int threads) {
        if (__atomic_test_and_set(&taken, __ATOMIC_ACQUIRE)) return what(given, 0, 1, count), false;
        if (started + 1 < threads) start(threads);
        const unsigned mine = number + 1;
        const unsigned long first = (unsigned long)mine << 32;
        set(ticket, first | 0xffffffff); // no part to take: a helper may still look at the last copy
        set(work, what), set(record, given), set(items, count), set(parts, 4L * threads), set(done, 0L);
        set(ticket, first);
        set(number, mine);
        if (get(asleep)) syscall(SYS_futex, &number, FUTEX_WAKE_PRIVATE, threads, nullptr, nullptr, 0);
        return true;
    }

    // Returns when all parts are done. For the thread that called `begin`.
    void finish() {
        help(number);
        for (long looked = 1; get(done) < parts; ++looked)
            if (looked % 1024 == 0) sched_yield(); // the helper may need this core
        __atomic_clear(&taken, __ATOMIC_RELEASE);
    }
};
