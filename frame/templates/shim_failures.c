/* Failures, and what surrounds each call: floating-point modes, the lock, the status. */

static void frame_flush(void) {
    void (*flush_fortran)(int *) = (void (*)(int *))dlsym(RTLD_DEFAULT, "_gfortran_flush_i4");
    if (flush_fortran) flush_fortran(NULL);
    fflush(NULL);
}

/* The default policy: after a failed call the run ends, so that it cannot finish "well" with wrong numbers. */
static void frame_stop(int status) {
    const int code = 70 + status;
    signal(SIGPIPE, SIG_IGN); /* a message that nobody reads does not change the exit status */
    fprintf(stderr, "libframe: stopped by status %d in %s\n", status, frame_error);
    frame_flush();
    frame_mpi_abort(code);
    exit(code);
}

/* For a failure of this rank that other ranks would wait for, and that it cannot tell them of. */
static void frame_end_all(const char *text) {
    frame_refuse(FRAME_BAD_ARGUMENT, "%s Other ranks may wait for this rank, so the run ends.", text);
    frame_stop(FRAME_BAD_ARGUMENT);
}

struct frame_guard {
    fenv_t host;
};

static void guard_enter(struct frame_guard *guard, const char *entry, int by_module) {
    /* With -ffpe-trap the host would stop in Python's own arithmetic; with subnormals flushed to zero the layer's
     * results would change. */
    feholdexcept(&guard->host);
    fesetenv(FE_DFL_ENV);
    frame_lock();
    frame_entry = entry;
    frame_by_module = by_module;
}

static int guard_leave(struct frame_guard *guard, int status, int caller_takes_status) {
    const char *policy;
    frame_status = status;
    if (status == FRAME_DONE) frame_error[0] = 0;
    frame_unlock();
    fesetenv(&guard->host);
    if (status == FRAME_DONE || caller_takes_status) return status;
    policy = getenv("FRAME_ON_ERROR");
    if (!policy || strcmp(policy, "return")) frame_stop(status);
    return status;
}
