/* The machinery in front of Python. build.py puts the declarations before this file and the entry points after it.
 *
 * An exported entry point: guard_enter, start Python once, check, copy the names, call a static extern "Python"
 * function, guard_leave. Python returns 1 for success; cffi's own 0 (interpreter gone, unhandled exception) means a
 * failure. */
#include <dlfcn.h>
#include <fcntl.h>
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    FRAME_DONE = 0,
    FRAME_NO_PYTHON = 1,
    FRAME_NOT_INITIALIZED = 2,
    FRAME_BAD_ARGUMENT = 3,
    FRAME_FAILED = 4,
    FRAME_OTHER_ARGUMENTS = 5
};
#define EXPORT __attribute__((visibility("default")))

static __thread char frame_error[4096]; /* of the calling thread, like errno */
static __thread int frame_status;
static __thread const char *frame_entry;
static __thread int frame_by_module; /* whether the call came through the Fortran module */
static char frame_start_error[3000]; /* why Python did not start: the same for every thread */
static int frame_python_is_up, frame_python_is_ours, frame_is_initialized, frame_first_arguments[5];
static int frame_comm, frame_has_comm;
static pthread_once_t frame_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t frame_mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

/* The module ends names and passes values itself: its callers do not hear of char(0) and %VAL. */
static int frame_is_by_module(void) { return frame_by_module; }
static const char *frame_hint(const char *sentence) { return frame_by_module ? "" : sentence; }

static void frame_set_error(const char *text) {
    snprintf(frame_error, sizeof frame_error, "%s: %s", frame_entry ? frame_entry : "libframe", text);
    if (!frame_python_is_up) snprintf(frame_start_error, sizeof frame_start_error, "%s", text);
}

static int frame_refuse(int status, const char *format, ...) {
    char text[2048];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    frame_set_error(text);
    return status;
}

/* ---- Python: started once, by the first call, and never finalised (NumPy cannot be loaded twice) ---- */

/* Every interpreter calls Py_BytesMain, its own or libpython's. Any other program would be taken for one, too: Python
 * only derives the places of its packages from the name. */
static int frame_is_interpreter(const char *path) {
    struct stat facts;
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), found = 0;
    void *text;
    if (file < 0) return 0;
    if (!fstat(file, &facts) && S_ISREG(facts.st_mode) && facts.st_size) {
        text = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (text != MAP_FAILED) {
            found = memmem(text, (size_t)facts.st_size, "Py_BytesMain", 12) != NULL;
            munmap(text, (size_t)facts.st_size);
        }
    }
    close(file);
    return found;
}

static int frame_configure_python(void) {
    const char *python = getenv("FRAME_PYTHON");
    PyPreConfig before;
    PyConfig config;
    PyStatus status;
    char *arguments[1] = {(char *)"libframe"};

    if (!python || !*python) python = FRAME_BUILD_PYTHON;
    else if (!access(python, X_OK) && !frame_is_interpreter(python))
        return frame_refuse(FRAME_NO_PYTHON, "FRAME_PYTHON = %s is no Python interpreter.", python);
    if (access(python, X_OK))
        return frame_refuse(FRAME_NO_PYTHON,
                            "Python %s is not there or not executable; set FRAME_PYTHON to the interpreter to use.",
                            python);
    PyPreConfig_InitPythonConfig(&before);
    before.use_environment = 0; /* PYTHONHOME and PYTHONPATH of the job are ignored */
    before.utf8_mode = 1;
    before.parse_argv = 0;
    before.configure_locale = 0; /* the host's locale stays as it is */
    status = Py_PreInitialize(&before);
    if (PyStatus_Exception(status))
        return frame_refuse(FRAME_NO_PYTHON, "Python pre-initialisation: %s",
                            status.err_msg ? status.err_msg : "failed");

    PyConfig_InitPythonConfig(&config);
    config.use_environment = 0;
    config.install_signal_handlers = 0;
    config.parse_argv = 0;
    config.user_site_directory = 0;
    config.buffered_stdio = 0; /* Python is never finalised, so buffers would never be flushed */
    config.write_bytecode = 0; /* thousands of ranks would write the same files */
    status = PyConfig_SetBytesString(&config, &config.program_name, python);
    if (!PyStatus_Exception(status)) status = PyConfig_SetBytesString(&config, &config.executable, python);
    if (!PyStatus_Exception(status)) status = PyConfig_SetBytesArgv(&config, 1, arguments);
    if (!PyStatus_Exception(status)) status = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    if (PyStatus_Exception(status))
        return frame_refuse(FRAME_NO_PYTHON, "Python %s did not start: %s", python,
                            status.err_msg ? status.err_msg : "failed");
    PyEval_SaveThread(); /* release the GIL: any thread may make the next call */
    return FRAME_DONE;
}

static void frame_start(void) {
    /* Python's extension modules look for libpython's symbols globally, even if libframe was opened RTLD_LOCAL. */
    struct sigaction host_interrupt;
    int ours, failed;
    dlopen(FRAME_LIBPYTHON, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
    ours = frame_python_is_ours = !Py_IsInitialized();
    /* Importing `signal` takes SIGINT whatever the configuration says, and Ctrl-C would no longer stop the host. */
    sigaction(SIGINT, NULL, &host_interrupt);
    if (ours && frame_configure_python() != FRAME_DONE) return;
    failed = cffi_start_python() != 0;
    if (ours) sigaction(SIGINT, &host_interrupt, NULL);
    if (!failed) frame_python_is_up = 1;
    else if (!frame_start_error[0])
        frame_set_error("Python started, but the packages it needs did not load (the traceback is above); are cffi, "
                        "numpy and frame installed "
                        "for the interpreter of the build, or of FRAME_PYTHON?");
}

static double frame_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void frame_end_all(const char *text);

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

static int frame_ready(int needs_initialize) {
    pthread_once(&frame_once, frame_start);
    if (!frame_python_is_up) {
        snprintf(frame_error, sizeof frame_error, "%s: %s", frame_entry, frame_start_error);
        return FRAME_NO_PYTHON;
    }
    if (needs_initialize && !frame_is_initialized)
        return frame_refuse(FRAME_NOT_INITIALIZED, "called before frame_initialize.");
    return FRAME_DONE;
}

/* Whether this library started Python; else the host did, and its packages count. */
static int frame_owns_python(void) { return frame_python_is_ours; }

static int frame_from_python(int answer) {
    if (answer == 1) return FRAME_DONE;
    if (answer == 0) return frame_refuse(FRAME_NO_PYTHON, "Python gave no answer; a traceback may be above.");
    return answer;
}

/* ---- threads and forks ---- */

/* The lock comes before the GIL everywhere. A caller that holds the GIL (f2py's wrappers, ctypes.PyDLL) gives it up
 * while it waits: who has the lock may need the GIL to finish. */
static void frame_lock(void) {
    PyThreadState *held = NULL;
    if (!pthread_mutex_trylock(&frame_mutex)) return;
    if (Py_IsInitialized() && PyGILState_GetThisThreadState() && PyGILState_Check()) held = PyEval_SaveThread();
    pthread_mutex_lock(&frame_mutex);
    if (held) PyEval_RestoreThread(held);
}

static void frame_unlock(void) { pthread_mutex_unlock(&frame_mutex); }

/* A fork waits until no other thread is inside libframe. Python's own preparations are made where the interpreter is
 * libframe's; os.fork has made them already, and it holds the GIL. */
static int frame_fork_is_ours;
static PyGILState_STATE frame_fork_gil;

static void frame_before_fork(void) {
    fenv_t host;
    feholdexcept(&host); /* functions of Python run here and after the fork */
    frame_lock();
    frame_fork_is_ours = frame_python_is_ours && frame_python_is_up && !PyGILState_Check();
    if (frame_fork_is_ours) {
        frame_fork_gil = PyGILState_Ensure();
        PyOS_BeforeFork();
    }
    fesetenv(&host);
}

static void frame_after_fork_in_parent(void) {
    fenv_t host;
    feholdexcept(&host);
    if (frame_fork_is_ours) {
        PyOS_AfterFork_Parent();
        PyGILState_Release(frame_fork_gil);
    }
    frame_unlock();
    fesetenv(&host);
}

static void frame_after_fork_in_child(void) {
    static const pthread_mutex_t free_mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    fenv_t host;
    feholdexcept(&host);
    frame_mutex = free_mutex; /* its owner was a thread of the parent */
    if (frame_fork_is_ours) {
        PyOS_AfterFork_Child();
        PyEval_SaveThread(); /* this thread's state stays: it is the only one, and Python cannot do without any */
    }
    fesetenv(&host);
}

__attribute__((constructor)) static void frame_watch_forks(void) {
    pthread_atfork(frame_before_fork, frame_after_fork_in_parent, frame_after_fork_in_child);
}

/* ---- failures ---- */

static void frame_flush(void) {
    void (*flush_fortran)(int *) = (void (*)(int *))dlsym(RTLD_DEFAULT, "_gfortran_flush_i4");
    if (flush_fortran) flush_fortran(NULL);
    fflush(NULL);
}

/* The default policy: after a failed call the run ends, so that it cannot finish "well" with wrong numbers. */
static void frame_stop(int status) {
    /* Fortran's own MPI symbols need no MPI at link time; the communicator is the integer that the host passed. */
    void (*initialized)(int *, int *) = (void (*)(int *, int *))dlsym(RTLD_DEFAULT, "mpi_initialized_");
    void (*finalized)(int *, int *) = (void (*)(int *, int *))dlsym(RTLD_DEFAULT, "mpi_finalized_");
    void (*abort_all)(int *, int *, int *) = (void (*)(int *, int *, int *))dlsym(RTLD_DEFAULT, "mpi_abort_");
    int running = 0, over = 0, error = 0, code = 70 + status;
    /* MPI_COMM_WORLD in Fortran, for a failure before frame_setcomm: 0 in Open MPI, 0x44000000 in MPICH and its family
     */
    int world = dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world") ? 0 : 0x44000000;
    int comm = frame_has_comm ? frame_comm : world;

    signal(SIGPIPE, SIG_IGN); /* a message that nobody reads does not change the exit status */
    fprintf(stderr, "libframe: stopped by status %d in %s\n", status, frame_error);
    frame_flush();
    if (initialized && finalized && abort_all) {
        initialized(&running, &error);
        if (running) finalized(&over, &error);
        if (running && !over) {
            usleep(300000); /* MPICH: a launcher that receives the abort first may end without printing the message */
            abort_all(&comm, &code, &error);
        }
    }
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

/* ---- arguments ---- */

static int frame_check_int(const char *name, int value, int low, int high) {
    if (value >= low && value <= high) return FRAME_DONE;
    return frame_refuse(FRAME_BAD_ARGUMENT, "%s = %d, wanted %d..%d.%s", name, value, low, high,
                        frame_hint(" Did the caller forget %VAL()?"));
}

static int frame_check_pointer(const char *name, const void *pointer) {
    if ((uintptr_t)pointer >= 65536) return FRAME_DONE; /* no object lives in the first pages */
    return frame_refuse(
        FRAME_BAD_ARGUMENT,
        "%s has the address %p, wanted an array by reference; is it passed with %%VAL() or not allocated?", name,
        pointer);
}

/* Compiled loops take for granted that a number lies at a multiple of its size. */
static int frame_check_place(const char *name, intptr_t address, int size) {
    if (size < 1 || address % size == 0) return FRAME_DONE;
    return frame_refuse(
        FRAME_BAD_ARGUMENT,
        "%s has the address %p, wanted a multiple of %d bytes; in a COMMON block or a SEQUENCE type, larger "
        "numbers have to stand before smaller ones.",
        name, (void *)address, size);
}

/* size: bytes of a value of the list */
static int frame_check_list(const char *name, const void *list, int size) {
    if (frame_check_pointer(name, list)) return FRAME_BAD_ARGUMENT;
    return frame_check_place(name, (intptr_t)list, size);
}

static int frame_check_array(const char *name, const double *array) {
    return frame_check_list(name, array, (int)sizeof *array);
}

/* An array of a block; a rank without points may have no memory for it. */
static int frame_check_block(const char *name, const double *array, int nx, int ny, int nz) {
    if (!array && (nx == 0 || ny == 0 || nz == 0)) return FRAME_DONE;
    return frame_check_array(name, array);
}

static int frame_check_number(const char *name, const int *number) {
    if ((uintptr_t)number < 65536)
        return frame_refuse(FRAME_BAD_ARGUMENT,
                            "%s has the address %p, wanted an integer by reference; is it passed with %%VAL()?", name,
                            (const void *)number);
    return frame_check_place(name, (intptr_t)number, (int)sizeof *number);
}

/* Blanks in front do not count: a host may have adjusted a name to the right of its variable. */
static const char *frame_begin(const char *text) {
    int n;
    for (n = 0; text[n] == ' ' && n < FRAME_TEXT; n++) {}
    return text + n;
}

/* A name ends at NUL, at a blank or another character that is not printable ASCII, and after 63 characters. */
static int frame_name(const char *from, char *to) {
    int n;
    from = frame_begin(from);
    for (n = 0; n < FRAME_TAG - 1 && from[n] > ' ' && from[n] < 127; n++) to[n] = from[n];
    to[n] = 0;
    return n;
}

static int frame_copy_tag(const char *name, const char *from, char *to) {
    if (frame_check_pointer(name, from)) return FRAME_BAD_ARGUMENT;
    if (frame_name(from, to)) return FRAME_DONE;
    from = frame_begin(from);
    if ((unsigned char)*from > ' ')
        return frame_refuse(FRAME_BAD_ARGUMENT, "%s begins with the byte 0x%02X, wanted a name in printable ASCII.",
                            name, (unsigned char)*from);
    return frame_refuse(FRAME_BAD_ARGUMENT, "%s is empty, wanted a name%s.", name, frame_hint(" ended by char(0)"));
}

/* A text (file name, list of names, value) ends at NUL or a control character, other than those of `within`; blanks at
 * its end are dropped. */
static int frame_copy_text(const char *name, const char *from, char *to, int size, const char *within) {
    int n = 0;
    if (frame_check_pointer(name, from)) return FRAME_BAD_ARGUMENT;
    from = frame_begin(from);
    while (n < size - 1 && from[n] && (((unsigned char)from[n] >= ' ' && from[n] != 127) || strchr(within, from[n]))) {
        to[n] = from[n];
        n++;
    }
    if (n == size - 1)
        return frame_refuse(FRAME_BAD_ARGUMENT, "%s has no end within %d characters.%s", name, size - 1,
                            frame_hint(" Is //char(0) missing?"));
    while (n && to[n - 1] == ' ') n--;
    to[n] = 0;
    return FRAME_DONE;
}

/* ---- entry points whose effect the shim itself records: called with checked arguments ---- */

static int own_initialize(int device_id, int nGridPoints, int ns, int nq, int iTurb) {
    const int now[5] = {device_id, nGridPoints, ns, nq, iTurb}, *was = frame_first_arguments;
    int status;
    if (frame_is_initialized) {
        if (!memcmp(now, was, sizeof now)) return FRAME_DONE;
        return frame_refuse(
            FRAME_OTHER_ARGUMENTS,
            "called again with (%d, %d, %d, %d, %d), was (%d, %d, %d, %d, %d); call frame_finalize first.", now[0],
            now[1], now[2], now[3], now[4], was[0], was[1], was[2], was[3], was[4]);
    }
    if ((status = frame_from_python(py_initialize(device_id, nGridPoints, ns, nq, iTurb)))) return status;
    memcpy(frame_first_arguments, now, sizeof now);
    frame_is_initialized = 1;
    return FRAME_DONE;
}

static int own_setcomm(int fcomm) {
    int status = frame_from_python(py_setcomm(fcomm));
    if (status) return status;
    frame_comm = fcomm;
    frame_has_comm = 1;
    return FRAME_DONE;
}

static int own_finalize(void) {
    int status = frame_from_python(py_finalize());
    if (status) return status;
    frame_is_initialized = 0;
    frame_has_comm = 0;
    return FRAME_DONE;
}

/* ---- arrays of the Fortran module: address, extents, strides and bounds ---- */
static int frame_check_fields(const struct frame_field *fields, int n) {
    static const char *const what[] = {
        "",
        "is not allocated or not associated",
        "is a component of an array of a derived type, and this Fortran compiler does not tell where it begins; point "
        "at "
        "all of it, T => cells(:)%T, and pass the pointer with its first element: frame_in('T', T, first=T(1))",
        "does not begin at the element given as first",
        "was not made by frame_in or frame_out",
        "is a pointer to components of a derived type, and this Fortran compiler does not tell where a section of it "
        "begins; pass its first element too, as in frame_in('T', T, first=T(1))"};
    const int known = (int)(sizeof what / sizeof *what), unset = 4;
    int i;
    for (i = 0; i < n; i++) {
        const int problem = fields[i].problem;
        if (problem)
            return frame_refuse(FRAME_BAD_ARGUMENT, "array for '%.63s' %s.", fields[i].tag,
                                what[problem > 0 && problem < known ? problem : unset]);
        if (frame_check_place(fields[i].tag, fields[i].address, fields[i].size)) return FRAME_BAD_ARGUMENT;
    }
    return FRAME_DONE;
}
