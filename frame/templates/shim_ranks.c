/* Ranks that meet in a collective call, without Python: a rank whose Python did not start tells the others. */

static double frame_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Seconds for which a rank waits in a collective call; 0: for good. config.py refuses what is no number. */
static double frame_patience(void) {
    const char *given = getenv("FRAME_WAIT");
    return given && *given ? atof(given) : FRAME_WAIT_SECONDS;
}

/* A call that ranks have begun together cannot be left by some of them: the run ends. */
static void frame_waited(int rank, double seconds) {
    char text[256];
    snprintf(text, sizeof text,
             "rank %d has waited for %g s (FRAME_WAIT). Every rank has to call this, with the same communicator.", rank,
             seconds);
    frame_end_all(text);
}

/* The largest of the ranks' numbers. A rank that waits for long says so, as wait_for_all in mpi.py does, and does not
 * wait for good. MPI's own symbols and constants of Fortran, as in frame_stop. */
static int frame_largest(int comm, int rank, int mine) {
    typedef void (*Reduce)(int *, int *, int *, int *, int *, int *, int *, int *);
    Reduce reduce = (Reduce)dlsym(RTLD_DEFAULT, "mpi_iallreduce_");
    void (*test)(int *, int *, int *, int *) = (void (*)(int *, int *, int *, int *))dlsym(RTLD_DEFAULT, "mpi_test_");
    const int is_open_mpi = dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world") != NULL;
    int integer = is_open_mpi ? 7 : 0x4c00041b, largest = is_open_mpi ? 1 : 0x58000001; /* MPI_INTEGER, MPI_MAX */
    int one = 1, all = mine, error = 0, request = 0, done = 0, status[32];              /* MPI_STATUS_SIZE is 5 or 6 */
    const double begin = frame_clock(), said_after = 1.5; /* seconds: ranks come to it together */
    const double patience = frame_patience();
    int said = 0;

    if (!reduce || !test) return mine;
    reduce(&mine, &all, &one, &integer, &largest, &comm, &request, &error);
    for (test(&request, &done, status, &error); !done; test(&request, &done, status, &error)) {
        if (!said && frame_clock() - begin > said_after) {
            said = 1;
            fprintf(stderr, "frame: rank %d waits in %s, which every rank has to call\n", rank, frame_entry);
        }
        if (patience > 0 && frame_clock() - begin > patience) frame_waited(rank, patience);
        usleep(500);
    }
    return all;
}

/* Whether all ranks of the host's communicator can take part in a collective call: 0, or 1 + the highest rank that
 * cannot. It needs no Python, so that a rank whose Python did not start can tell the others, which would wait for it.
 * failed: whether this rank cannot. */
static int frame_agree(int comm, int failed) {
    void (*initialized)(int *, int *) = (void (*)(int *, int *))dlsym(RTLD_DEFAULT, "mpi_initialized_");
    void (*finalized)(int *, int *) = (void (*)(int *, int *))dlsym(RTLD_DEFAULT, "mpi_finalized_");
    void (*rank_of)(int *, int *, int *) = (void (*)(int *, int *, int *))dlsym(RTLD_DEFAULT, "mpi_comm_rank_");
    int running = 0, over = 0, rank = 0, error = 0;

    if (!initialized || !finalized || !rank_of) return failed;
    initialized(&running, &error);
    if (running) finalized(&over, &error);
    if (!running || over) return failed;

    rank_of(&comm, &rank, &error);
    return frame_largest(comm, rank, failed ? rank + 1 : 0);
}
