"""A Python host whose calls of libframe hold the GIL, as f2py's wrappers do: threads, and forks while they run.

Arguments: library; threads or forks; held or free (the GIL); number of calls of a thread.
"""

import ctypes
import os
import sys
import threading
import time

N, PATIENCE = 24, 20.0
LIBRARY, WHAT, GIL, CALLS = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
frame = (ctypes.PyDLL if GIL == "held" else ctypes.CDLL)(LIBRARY)
T = (ctypes.c_double * N)(*[300.0] * N)
together = threading.Barrier(2)


def work(calls):
    status = frame.frame_initialize_(-1, N, 1, 1, 0)
    for _ in range(calls):
        status |= frame.frame_castles_populateinputstripe_(b"T", T, N, 1, 1, 1, N, 1, 1, 1, 1, 1, 1, 1, N)
    return status


def threads():
    """Two threads at once, their first calls included."""
    told = []
    both = [threading.Thread(target=lambda: (together.wait(), told.append(work(CALLS))), daemon=True) for _ in "ab"]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join(PATIENCE)

    return f"hung {2 - len(told)} failed {sum(map(bool, told))}"


def ends(child):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        time.sleep(0.01)

    os.kill(child, 9)
    os.waitpid(child, 0)
    return -1


def forks():
    """A thread makes the first call and, with CALLS above 0, many more while the main thread forks."""

    def first():
        work(1)
        together.wait()
        while CALLS:
            work(CALLS)

    threading.Thread(target=first, daemon=True).start()
    together.wait()
    told = []

    for _ in range(10):
        child = os.fork()
        if not child:
            os._exit(bool(work(3)))
        told.append(ends(child))

    return f"hung {told.count(-1)} failed {sum(status > 0 for status in told)}"


print({"threads": threads, "forks": forks}[WHAT](), flush=True)
os._exit(0)  # threads that hang would keep it
