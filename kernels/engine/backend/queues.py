"""Queues: work that is done in its order, beside the work of other queues. A launch of a kernel may go to one."""

from __future__ import annotations

import abc
import collections
import concurrent.futures
from collections.abc import Callable


class Queue(abc.ABC):
    """run(work): calls work() after all earlier work of this queue, perhaps at the same time as work of other queues.
    wait(): returns when all work of this queue is done."""

    @abc.abstractmethod
    def run(self, work: Callable[[], object]) -> None:
        """Returns before the work is done."""

    @abc.abstractmethod
    def wait(self) -> None:
        """Raises the first error of the work since the last wait."""


class ThreadQueue(Queue):
    """On a CPU: a thread of its own, which runs kernels with the backend's number of threads."""

    def __init__(self) -> None:
        self._worker = concurrent.futures.ThreadPoolExecutor(1, "frame-queue")
        self._given: collections.deque[concurrent.futures.Future] = collections.deque()

    def run(self, work):
        while self._given and self._given[0].done() and not self._given[0].exception():
            self._given.popleft()
        self._given.append(self._worker.submit(work))

    def wait(self):
        errors = []
        while self._given:
            errors.append(self._given.popleft().exception())  # waits

        for error in errors:
            if error is not None:
                raise error


class StreamQueue(Queue):
    """On a device: a stream. It is in order with CUDA's default stream: work that was queued there before comes first,
    and what is queued there later waits."""

    def __init__(self, backend) -> None:
        self._backend = backend
        backend.use()
        self._stream = backend.arrays.cuda.Stream()

    def run(self, work):
        self._backend.use()
        with self._stream:
            work()

    def wait(self):
        self._stream.synchronize()
