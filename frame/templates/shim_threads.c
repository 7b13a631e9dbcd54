/* Threads and forks: one call at a time, the lock before the GIL. */

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
