// A host that has started Python by itself: the layer works in that interpreter, and messages say whose packages count.
// Argument: a mixture of a single species. Prints the status of each call, and what the host's Python says.
#include <Python.h>
#include "frame.h"

static void call(const char *when, const char *mixture) {
    double given[3] = {300.0, 1e5, 1.0}, rho[1] = {-1.0};
    char message[2001] = "";
    int status = frame_initialize_(-1, 8, 1, 6, 0);

    if (!status) status = frame_tvproperties_loadmixture_(mixture, "");
    if (!status)
        status = frame_castles_block_("thermal", "T, p, Y", given, "rho", rho, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 1);
    if (status) frame_lasterror_(message, 2000); // filled up with blanks
    printf("%s: %d %d %s\n", when, status, rho[0] > 1.0 && rho[0] < 1.3, message);
    fflush(stdout);
}

int main(int argc, char **argv) {
    PyThreadState *state;
    if (argc != 2) return 2;

    Py_Initialize();
    call("with the lock", argv[1]);
    PyRun_SimpleString("print('and the host: 0 goes on', flush=True)");
    state = PyEval_SaveThread();
    call("without the lock", argv[1]);
    PyEval_RestoreThread(state);

    printf("finalize: %d\n", frame_finalize_());
    return Py_FinalizeEx();
}
