/* Python: started once, by the first call, and never finalised (NumPy cannot be loaded twice). */

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
