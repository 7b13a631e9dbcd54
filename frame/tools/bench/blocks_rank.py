"""A rank of `bench blocks`: it reads lines from standard input and answers each by one line.

facts                                   what it runs on
case WAY MEMORY nx ny nz, six fringes, ns chunk seconds
                                        makes the block, checks its values: "ready"
go                                      calls until the seconds are over: "done CALLS SECONDS"
limit                                   plain copies of as many bytes, both ways at once: the same
stream NBYTES                           plain copies within the host's memory, by the threads that pack: the same
"""

from __future__ import annotations

import pathlib
import sys
import time

import numpy as np

from kernels.engine.backend.base import IN, OUT, Shape, Source
from kernels.engine.backend.record import record

from ...frame import Frame
from ...stripe import IN as READ, OUT as WRITTEN, Field
from . import inputs, machine

INPUTS, OUTPUTS = ("T", "p", "Y"), ("rho", "h", "c", "mu", "lam", "D")
MANY = ("Y", "D")  # of ns variables
SAMPLE = 64  # points whose values are compared


class Rank:
    """One rank of `bench blocks`. Its verbs come line by line from the command that started it."""

    def __init__(self):
        self.frame, self._key, self._arrays, self._pinned = Frame(), None, {}, []

    def facts(self) -> str:
        self.frame.initialize(-1, 32, 1, 1, 0)
        told = self.frame.backend.describe()
        self.frame.finalize()
        return f"backend {told['name']}: {told.get('product') or machine()}, {self.frame.comm.cores} cores a rank"

    def case(self, way, memory, *numbers):
        *extents, ns, chunk = map(int, numbers[:-1])
        self.seconds, self.way, self.memory = float(numbers[-1]), way, memory
        shape, fringe = extents[:3], extents[3:]
        if self._key != (ns, chunk):
            self.frame.finalize()
            self._pinned = []
            self.frame.initialize(-1, chunk, ns, 1, 0)
            self.frame.properties.impl.set_mixture(inputs.mixture(ns, "dense"))
            self._key = ns, chunk
        else:
            self.release()
        self.points, self.chunk, self.ns = int(np.prod(shape)), chunk, ns
        self.frame.set_parameter("queue", int(way == "queue"))
        self._fill(shape, fringe)
        self._again = None
        for _ in range(2):
            self.once()
        self._check()

    def _fill(self, shape, fringe):
        """Arrays with fringes, NaN outside of the box; states of a flow inside."""
        low, whole = fringe[::2], tuple(n + a + b for n, a, b in zip(shape, fringe[::2], fringe[1::2]))
        self._inside = tuple(slice(a, a + n) for a, n in zip(low, shape))
        state = inputs.states(self.ns, self.points, "smooth")
        backend = self.frame.backend
        self._fields = {}
        for name in (*INPUTS, *OUTPUTS):
            rows = (self.ns,) if name in MANY else ()
            array = np.full((*whole, *rows), np.nan, order="F")
            if name in INPUTS:
                array[self._inside] = state[name].T.reshape((*shape, *rows), order="F")  # x fastest, variables last
            strides = tuple(int(s) for s in 8 * np.cumprod((1, *array.shape[:-1])))
            held, address = array, array.ctypes.data
            if self.memory == "device":
                held = backend.from_host(array.ravel(order="F"))
                address = backend.address(held)
            self._arrays[name] = held
            lower = (*(1 - a for a in low), *[1] * len(rows))
            field = Field(name, READ if name in INPUTS else WRITTEN, address, array.shape, strides, lower, 8)
            self._fields[name] = field
            if self.memory == "pinned":
                self.frame.properties.pin_array([field])
                self._pinned.append(field)
        self._box = (1, 1, 1, None), (*shape, None)
        self._whole = whole

    def release(self):
        for field in self._pinned:
            self.frame.properties.unpin_array([field])
        self._pinned = []

    def once(self):
        host, (lo, hi) = self.frame.properties, self._box
        if self.way == "block":
            if self._again is None:
                self._again = host.block_of_fields("thermal_viscous", list(self._fields.values()), lo, hi)
            else:
                self._again()
            return
        for first in range(1, self.points + 1, self.chunk):
            last = min(first + self.chunk - 1, self.points)
            for name in INPUTS:
                host.put([self._fields[name]], lo, hi, first, last)
            host.launch("thermal_viscous", last - first + 1)
            for name in OUTPUTS:
                host.get([self._fields[name]], lo, hi, first, last)
        if self.way == "queue":
            host.wait()

    def _check(self):
        """Some points against the same kernels on arrays of their own, on the same backend: the same bits, or, where a
        launch is organised otherwise, rounding. Errors: ValueError."""
        values = {}
        for name, array in self._arrays.items():
            rows = (self.ns,) if name in MANY else ()
            host = self.frame.backend.to_host(array).reshape((*self._whole, *rows), order="F")
            inside = host[self._inside].reshape((self.points, *rows), order="F")
            values[name] = inside[:: max(1, self.points // SAMPLE)].T
            if name in OUTPUTS:
                outside = host.copy(order="F")
                outside[self._inside] = np.nan
                if not np.isnan(outside).all():
                    raise ValueError(f"{name} was written outside of the box")
        given = {name: np.ascontiguousarray(values[name]) for name in INPUTS}
        wanted = self.frame.properties.mixture.properties(" ".join(OUTPUTS), backend=self.frame.backend, **given)
        for name in OUTPUTS:
            if not np.allclose(values[name], wanted[name], rtol=1e-12, atol=0):
                raise ValueError(f"{name} is wrong")

    def sample(self, work) -> tuple[int, float]:
        calls, begin = 0, time.perf_counter()
        while True:
            work()
            calls += 1
            taken = time.perf_counter() - begin
            if taken > self.seconds and calls > 2:
                return calls, taken

    def go(self):
        calls, seconds = self.sample(self.once)
        return f"done {calls} {seconds!r}"

    def limit(self):
        calls, seconds = self.sample(self._copies())
        return f"done {calls} {seconds!r}"

    def stream(self, nbytes):
        calls, seconds = self.sample(self._stream(int(nbytes)))
        return f"done {calls} {seconds!r}"

    def _stream(self, nbytes: int):
        backend = self.frame.properties.impl.marshal.packer.backend
        both = backend.empty((2, nbytes // 8))
        both[...] = 1.0
        given = record("in:address out:address", **{"in": backend.address(both[0])}, out=backend.address(both[1]))
        module = backend.compile(Source("stream", '#include "stream.h"\n', (pathlib.Path(__file__).parent,)))
        run = module.bind("copy_memory", Shape(), given, keep=both)
        return lambda: run(both.shape[1])

    def _copies(self):
        """One contiguous copy in and one out, side by side, between pinned memory and the device."""
        backend, pipe = self.frame.backend, self.frame.backend.pipeline(1)
        given = []
        for queue, rows in ((IN, 2 + self.ns), (OUT, 5 + self.ns)):
            host = backend.staging().rows(rows, self.points, np.dtype(float))
            there = backend.empty(host.size)
            ends = (backend.address(there), host.ctypes.data)
            given.append((pipe.step(queue), ends if queue == IN else ends[::-1], host, there, queue == IN))

        def work(keep=given):
            for step, (to, source), host, _, into in given:
                with step:
                    backend.copy_rows(to, host.nbytes, source, host.nbytes, host.nbytes, 1, into)
            pipe.wait()

        return work


def main() -> None:
    """Answer each line of standard input with one line."""
    rank = Rank()
    for line in sys.stdin:
        verb, *words = line.split()
        try:
            told = getattr(rank, verb)(*words)
        except Exception as error:
            told = f"wrong {type(error).__name__}: {error}".replace("\n", " ")
        print(told or "ready", flush=True)
    rank.frame.finalize()


if __name__ == "__main__":
    main()
