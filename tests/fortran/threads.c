/* A C host with threads, blocks and forks. One case a run, chosen by the first argument; the second is the mixture. */
#define _GNU_SOURCE
#include "frame.h"
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 24, PATIENCE = 20 }; /* points; seconds until a child counts as hanging */
typedef double Points[N];
static const char *mixture;
static int chunk = N;

static int put(const char *tag, double *a) {
    return frame_castles_populateinputstripe_(tag, a, N, 1, 1, 1, N, 1, 1, 1, 1, 1, 1, 1, N);
}
static int get(const char *tag, double *a) {
    return frame_castles_populateoutputstripe_(tag, a, N, 1, 1, 1, N, 1, 1, 1, 1, 1, 1, 1, N);
}

static void tell(const char *what, int failed) {
    char text[2000];
    int status = failed ? frame_laststatus_(NULL) : 0, length = failed ? frame_lasterror_(text, sizeof text) : 0;
    printf("%s: %d %.*s\n", what, status, length, text);
    fflush(stdout);
}

static int start(void) {
    int status = frame_initialize_(-1, chunk, 1, 1, 0);
    return status ? status : frame_tvproperties_loadmixture_(mixture, "");
}

struct state {
    Points T, p, Y;
};
static void set_state(struct state *s, int k) {
    for (int i = 0; i < N; i++) s->T[i] = 300 + 2 * i, s->p[i] = 1e6 + 1e3 * k, s->Y[i] = 1;
}
static int populate(struct state *s) { return put("T", s->T) || put("p", s->p) || put("Y", s->Y); }

static int sequence(int k, Points rho) {
    struct state s;
    set_state(&s, k);
    return populate(&s) || frame_launch_("thermal", N) || get("rho", rho);
}

/* ---- threads ---- */

static void sequences(int threads, int each) {
    int total = threads * each, wrong = 0, failed = 0;
    Points *serial = malloc(sizeof(Points) * total);
    tell("start", start());
    for (int k = 0; k < total; k++) failed += sequence(k, serial[k]) != 0;
#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(+ : wrong, failed)
    for (int k = 0; k < total; k++) {
        Points rho = {0};
        failed += sequence(k, rho) != 0;
        wrong += memcmp(rho, serial[k], sizeof rho) != 0;
    }
    printf("%d sequences: %d wrong, %d failed\n", total, wrong, failed);
    fflush(stdout);
    frame_report_();
}

static void *launch_alone(void *unused) {
    Points rho;
    tell("launch", frame_launch_("thermal", N));
    tell("get", get("rho", rho));
    return unused;
}
static void *populate_T(void *s) {
    tell("T", put("T", ((struct state *)s)->T));
    return launch_alone(NULL);
}
static void in_a_thread(void *(*work)(void *), void *argument) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, argument);
    pthread_join(thread, NULL);
}
/* the main thread fills; one thread launches, a later one (with the same thread number of the system) fills T first */
static void other_thread(void) {
    struct state s;
    Points rho;
    set_state(&s, 0);
    tell("start", start());
    in_a_thread(launch_alone, NULL);
    tell("populate", populate(&s));
    in_a_thread(launch_alone, NULL);
    in_a_thread(populate_T, &s);
    in_a_thread(launch_alone, NULL);
    tell("main", frame_launch_("thermal", N) || get("rho", rho));
}

static pthread_barrier_t barrier;
static void *wait_for_main(void *unused) {
    Points rho;
    tell("sequence", sequence(0, rho));
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier); /* the main thread loads a mixture */
    tell("after the mixture", get("rho", rho));
    tell("launched again", frame_launch_("thermal", N) || get("rho", rho));
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier); /* the main thread finalizes and initializes */
    tell("after finalize", frame_launch_("thermal", N));
    tell("sequence again", sequence(0, rho));
    return unused;
}
static void for_all_threads(void) {
    pthread_t thread;
    tell("start", start());
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, wait_for_main, NULL);
    pthread_barrier_wait(&barrier);
    tell("mixture", frame_tvproperties_loadmixture_(mixture, ""));
    pthread_barrier_wait(&barrier), pthread_barrier_wait(&barrier);
    tell("finalize", frame_finalize_());
    tell("start again", start());
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
}

static long megabytes(void) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (fscanf(file, "%ld", &pages) != 1) pages = 0;
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE) >> 20;
}
static void *one_sequence(void *failed) {
    Points rho;
    *(int *)failed += sequence(0, rho) != 0;
    return NULL;
}
static void many_threads(void) { /* one after the other, views of 8 MB each */
    long before = 0;
    int failed = 0;
    chunk = 1 << 20;
    tell("start", start());
    for (int k = 0; k < 40; k++) {
        in_a_thread(one_sequence, &failed);
        if (k == 9) before = megabytes();
    }
    printf("failed: %d\ngrowth: %ld\n", failed, megabytes() - before);
}

/* ---- blocks ---- */

static void second_block(void) {
    struct state block[2], copy;
    Points rho[3];
    set_state(&block[0], 0), set_state(&block[1], 1000);
    copy = block[0];
    tell("start", start());
    tell("first", populate(&block[0]) || frame_launch_("thermal", N) || get("rho", rho[0]));
    tell("T", put("T", block[1].T));
    tell("launch", frame_launch_("thermal", N));
    tell("get", get("rho", rho[1]));
    tell("p", put("p", block[1].p));
    tell("launch without Y", frame_launch_("thermal", N));
    tell("all", put("Y", block[1].Y) || frame_launch_("thermal", N) || get("rho", rho[1]));
    for (int i = 0; i < N; i++) block[1].T[i] += 1;
    tell("T of the same array", put("T", block[1].T) || frame_launch_("thermal", N) || get("rho", rho[2]));
    printf("other values %d\n", (rho[0][0] != rho[1][0]) + (rho[1][0] != rho[2][0]));
    tell("two arrays before a launch",
         populate(&block[0]) || put("T", copy.T) || frame_launch_("thermal", N) || get("rho", rho[2]));
    printf("the same values %d\n", !memcmp(rho[0], rho[2], sizeof rho[0]));
}

/* ---- forks ---- */

static int status_of(pid_t child) { /* -1: hangs */
    int status;
    for (int k = 0; k < 100 * PATIENCE; k++, usleep(10000))
        if (waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return -1;
}

static volatile int stop;
static void *work(void *once) {
    Points rho;
    start();
    for (int k = 0; !stop && !(once && k); k++) sequence(k, rho);
    return NULL;
}

/* the child calls libframe, also from a thread of its own and from a grandchild; 0 if all is well */
static int child_calls(const double *wanted) {
    Points rho = {0};
    int failed = 0;
    pid_t grandchild;
    if (sequence(7, rho)) tell("child", 1), failed = 1;
    failed += memcmp(rho, wanted, sizeof rho) != 0;
    in_a_thread(one_sequence, &failed);
    if (!(grandchild = fork())) _exit(sequence(7, rho));
    return failed + status_of(grandchild);
}

/* how: first: another thread has made the first call; busy: others are inside libframe; own: this thread has called;
 * starting: another thread is in its first call, which starts Python */
static void forks(const char *how, int times) {
    pthread_t other[2];
    int hung = 0, failed = 0, busy = !strcmp(how, "busy"), starting = !strcmp(how, "starting");
    Points rho;
    if (!strcmp(how, "own") || busy) tell("start", start() || sequence(7, rho));
    if (!strcmp(how, "first")) in_a_thread(work, "once");
    for (int k = 0; k < (busy ? 2 : starting); k++) pthread_create(&other[k], NULL, work, starting ? "once" : NULL);
    if (starting) usleep(20000);
    for (int k = 0; k < times; k++) {
        pid_t child = fork();
        if (!child) {
            if (starting) start();
            if (starting || !strcmp(how, "first")) sequence(7, rho);
            exit(child_calls(rho));
        }
        int status = status_of(child);
        hung += status == -1, failed += status > 0;
    }
    stop = 1;
    for (int k = 0; k < (busy ? 2 : starting); k++) pthread_join(other[k], NULL);
    printf("%d forks: %d hung, %d failed\n", times, hung, failed);
    tell("parent", sequence(7, rho));
}

int main(int argc, char **argv) {
    const char *what = argv[1];
    (void)argc;
    mixture = argv[2];
    setenv("FRAME_ON_ERROR", "return", 1);
    if (!strcmp(what, "sequences")) sequences(4, atoi(argv[3]));
    if (!strcmp(what, "other_thread")) other_thread();
    if (!strcmp(what, "for_all_threads")) for_all_threads();
    if (!strcmp(what, "many_threads")) many_threads();
    if (!strcmp(what, "second_block")) second_block();
    if (!strcmp(what, "forks")) forks(argv[3], atoi(argv[4]));
    return 0;
}
