// Threads of the CPU that copy together with the calling one. They take part after part of a copy. Between the copies
// of a block call they look for the next one, since to wake a thread takes as long as a copy; then they sleep. Nobody
// waits for a thread that has not taken a part.
#pragma once
#include <fenv.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

constexpr long AWAKE = 300000; // nanoseconds that a helper looks for work

struct HIDDEN Helpers {
    typedef void (*Part)(const void *record, long part, long parts, long items);
    // Of the present copy. ticket: its number in the upper half, below it the next part.
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

    // Parts of copy `mine`, until none is left. What is read of another copy by then is not used: its ticket differs.
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

    static void *live(void *of) {
        Helpers &h = *(Helpers *)of;
        fesetenv(FE_DFL_ENV); // the host may have set traps
        for (unsigned mine = get(h.number);;) {
            h.help(mine);
            for (const long since = now(); get(h.number) == mine && now() - since < AWAKE;) {}
            __atomic_fetch_add(&h.asleep, 1, __ATOMIC_SEQ_CST);
            while (get(h.number) == mine) syscall(SYS_futex, &h.number, FUTEX_WAIT_PRIVATE, mine, nullptr, nullptr, 0);
            __atomic_fetch_sub(&h.asleep, 1, __ATOMIC_SEQ_CST);
            mine = get(h.number);
        }
        return nullptr;
    }

    // Helpers for so many threads together; fewer where the system gives no more. The host's signals stay the host's.
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

    // The helpers begin with what(given, part, parts, count) for all parts. False where nothing is left for `finish`:
    // of two callers at the same time the second works alone.
    bool begin(const Part what, const void *given, const long count, const int threads) {
        if (__atomic_test_and_set(&taken, __ATOMIC_ACQUIRE)) return what(given, 0, 1, count), false;
        if (started + 1 < threads) start(threads);
        const unsigned mine = number + 1;
        const unsigned long first = (unsigned long)mine << 32;
        set(ticket, first | 0xffffffff); // no part: a helper that still looks at the last copy takes none of this one
        set(work, what), set(record, given), set(items, count), set(parts, 4L * threads), set(done, 0L);
        set(ticket, first);
        set(number, mine);
        if (get(asleep)) syscall(SYS_futex, &number, FUTEX_WAKE_PRIVATE, threads, nullptr, nullptr, 0);
        return true;
    }

    // Until all parts are done; for the thread that began.
    void finish() {
        help(number);
        for (long looked = 1; get(done) < parts; ++looked)
            if (looked % 1024 == 0) sched_yield(); // the helper may need this core
        __atomic_clear(&taken, __ATOMIC_RELEASE);
    }
};
