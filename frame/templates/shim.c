/* What the calls share: statuses, the state of the library and its messages. c_text.py puts the declarations before
 * this file, and behind it the other files of the shim and the entry points.
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

static void frame_end_all(const char *text);
