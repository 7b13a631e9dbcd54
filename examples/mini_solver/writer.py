"""Files that are written while the flow goes on: by a thread, one after the other, in the order in which they came."""

import queue
import threading

ROOM = 4  # files that wait at most: their bytes are in memory


class Writer:
    """A thread that does jobs in their order. A job that fails ends it: jobs behind it are not done, and the error is
    raised by the next call here.

    So a file is complete before the next is begun, and a restart that is being made has all files before it.
    """

    def __init__(self):
        self._jobs: queue.Queue = queue.Queue(ROOM)
        self._thread = None
        self._error = None

    def do(self, job, *given):
        """Do job(*given) behind all jobs before it. Raises the error of a job before it."""
        self._raise()
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, daemon=True, name="output")
            self._thread.start()

        self._jobs.put((job, given))

    def wait(self):
        """Return when all jobs are done. Raises the error of a job."""
        self._jobs.join()
        self._raise()

    def _work(self):
        while True:
            job, given = self._jobs.get()
            try:
                if self._error is None:
                    job(*given)
            except BaseException as error:  # raised again where the flow is computed
                self._error = error
            finally:
                self._jobs.task_done()

    def _raise(self):
        if self._error is not None:
            raise self._error
