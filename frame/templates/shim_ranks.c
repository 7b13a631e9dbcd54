/* Ranks that meet in a collective call, without Python: a rank whose Python did not start tells the others.
 *
 * MPI's symbols are those of C, which every MPI library has: Fortran's are not there in a host written in C. Handles
 * are addresses in Open MPI and integers in MPICH and its family; intptr_t holds both. */

static int frame_is_open_mpi(void) { return dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world") != NULL; }

/* Whether MPI is initialised and not finalised. */
static int frame_mpi_runs(void) {
    int (*initialized)(int *) = (int (*)(int *))dlsym(RTLD_DEFAULT, "MPI_Initialized");
    int (*finalized)(int *) = (int (*)(int *))dlsym(RTLD_DEFAULT, "MPI_Finalized");
    int running = 0, over = 0;
    if (!initialized || !finalized) return 0;
    initialized(&running);
    if (running) finalized(&over);
    return running && !over;
}

/* A handle of MPI's own: the object of this name in Open MPI, else MPICH's number. */
static intptr_t frame_mpi_handle(const char *object, int number) {
    return frame_is_open_mpi() ? (intptr_t)dlsym(RTLD_DEFAULT, object) : number;
}

/* The handle in C of a communicator that the host passed as Fortran's integer. */
static intptr_t frame_mpi_comm(int fcomm) {
    intptr_t (*from_fortran)(int) = (intptr_t (*)(int))dlsym(RTLD_DEFAULT, "MPI_Comm_f2c");
    return frame_is_open_mpi() && from_fortran ? from_fortran(fcomm) : fcomm;
}

/* End all ranks of the job, if MPI runs. */
static void frame_mpi_abort(int code) {
    int (*abort_all)(intptr_t, int) = (int (*)(intptr_t, int))dlsym(RTLD_DEFAULT, "MPI_Abort");
    if (!abort_all || !frame_mpi_runs()) return;
    usleep(300000); /* MPICH: a launcher that receives the abort first may end without printing the message */
    abort_all(frame_mpi_handle("ompi_mpi_comm_world", 0x44000000), code);
}

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
 * wait for good. */
static int frame_largest(intptr_t comm, int rank, int mine) {
    typedef int (*Reduce)(const void *, void *, int, intptr_t, intptr_t, intptr_t, void *);
    Reduce reduce = (Reduce)dlsym(RTLD_DEFAULT, "MPI_Iallreduce");
    int (*test)(void *, int *, void *) = (int (*)(void *, int *, void *))dlsym(RTLD_DEFAULT, "MPI_Test");
    const intptr_t integer = frame_mpi_handle("ompi_mpi_int", 0x4c000405);
    const intptr_t largest = frame_mpi_handle("ompi_mpi_op_max", 0x58000001);
    intptr_t request = 0, status[16]; /* MPI_Status has 20 or 24 bytes */
    int all = mine, done = 0, said = 0;
    const double begin = frame_clock(), said_after = 1.5; /* seconds: ranks come to it together */
    const double patience = frame_patience();

    if (!reduce || !test) return mine;
    reduce(&mine, &all, 1, integer, largest, comm, &request);
    for (test(&request, &done, status); !done; test(&request, &done, status)) {
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
static int frame_agree(int fcomm, int failed) {
    int (*rank_of)(intptr_t, int *) = (int (*)(intptr_t, int *))dlsym(RTLD_DEFAULT, "MPI_Comm_rank");
    intptr_t comm;
    int rank = 0;

    if (!rank_of || !frame_mpi_runs()) return failed;
    comm = frame_mpi_comm(fcomm);
    rank_of(comm, &rank);
    return frame_largest(comm, rank, failed ? rank + 1 : 0);
}
