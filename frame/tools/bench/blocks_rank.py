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

from kernels.engine.backend.base import IN, OUT, Ends, Shape, Source
from kernels.engine.backend.record import record

from ...frame import Frame
from ...stripe import IN as READ, OUT as WRITTEN, Field
from . import inputs, machine

INPUTS, OUTPUTS = ("T", "p", "Y"), ("rho", "h", "c", "mu", "lam", "D")
MANY = ("Y", "D")  # of ns variables
COLLECTION = "thermal_viscous"
SAMPLE = 64  # points whose values are compared
WIDTH = 8  # bytes of a number


class Block:
    """Arrays of a host with fringes: NaN outside of the box, states of a flow inside."""

    def __init__(self, shape, fringe, ns: int, memory: str, backend):
        self.shape, self.ns, self.backend = shape, ns, backend
        self.points = int(np.prod(shape))
        self.low, high = fringe[::2], fringe[1::2]
        self.whole = tuple(n + a + b for n, a, b in zip(shape, self.low, high))
        self.inside = tuple(slice(a, a + n) for a, n in zip(self.low, shape))
        self.box = (1, 1, 1, None), (*shape, None)

        # By name: arrays (kept alive), and their descriptions for the layer.
        self.arrays: dict = {}
        self.fields: dict[str, Field] = {}
        state = inputs.states(ns, self.points, "smooth")
        for name in (*INPUTS, *OUTPUTS):
            self._add(name, state.get(name), memory)

    def _rows(self, name: str) -> tuple[int, ...]:
        return (self.ns,) if name in MANY else ()

    def _add(self, name: str, values, memory: str) -> None:
        """Adds an array. values: (points,) or (ns, points); None: an output."""
        rows = self._rows(name)
        array = np.full((*self.whole, *rows), np.nan, order="F")
        if values is not None:
            array[self.inside] = values.T.reshape((*self.shape, *rows), order="F")  # x fastest, variables last

        held, address = array, array.ctypes.data
        if memory == "device":
            held = self.backend.from_host(array.ravel(order="F"))
            address = self.backend.address(held)
        self.arrays[name] = held

        way = WRITTEN if values is None else READ
        strides = tuple(int(s) for s in WIDTH * np.cumprod((1, *array.shape[:-1])))
        lower = (*(1 - a for a in self.low), *[1] * len(rows))
        self.fields[name] = Field(name, way, address, array.shape, strides, lower, WIDTH)

    def on_host(self, name: str) -> np.ndarray:
        """A copy of an array, fringe included."""
        host = self.backend.to_host(self.arrays[name])
        return np.reshape(host, (*self.whole, *self._rows(name)), order="F").copy(order="F")

    def values(self, name: str) -> np.ndarray:
        """The values of some points, (n,) or (ns, n)."""
        inside = self.on_host(name)[self.inside].reshape((self.points, *self._rows(name)), order="F")
        return np.ascontiguousarray(inside[:: max(1, self.points // SAMPLE)].T)

    def is_written_outside(self, name: str) -> bool:
        """Whether the fringe of an output was written."""
        outside = self.on_host(name)
        outside[self.inside] = np.nan
        return not np.isnan(outside).all()


class Rank:
    """A rank of `bench blocks`. The command that started it sends verbs, line by line."""

    def __init__(self):
        self.frame = Frame()
        self._key = None  # (ns, chunk) of the frame
        self._pinned: list[Field] = []

    # ---- verbs

    def facts(self) -> str:
        self.frame.initialize(-1, 32, 1, 1, 0)
        told = self.frame.backend.describe()
        self.frame.finalize()
        return f"backend {told['name']}: {told.get('product') or machine()}, {self.frame.comm.cores} cores a rank"

    def case(self, way, memory, *numbers):
        *extents, ns, chunk = map(int, numbers[:-1])
        self.seconds, self.way = float(numbers[-1]), way
        self.chunk = chunk
        self._start(ns, chunk)
        self.frame.set_parameter("queue", int(way == "queue"))

        self.block = Block(extents[:3], extents[3:], ns, memory, self.frame.backend)
        if memory == "pinned":
            self._pinned = list(self.block.fields.values())
            for field in self._pinned:
                self.frame.properties.pin_array([field])

        self._again = None  # the bound block call
        for _ in range(2):
            self.once()
        self._check()

    def go(self) -> str:
        return self._sample(self.once)

    def limit(self) -> str:
        return self._sample(self._copies())

    def stream(self, nbytes) -> str:
        return self._sample(self._stream(int(nbytes)))

    # ---- steps

    def _start(self, ns: int, chunk: int) -> None:
        """A frame for so many species and this chunk; without pinned arrays."""
        if self._key == (ns, chunk):
            self.release()
            return

        self.frame.finalize()
        self._pinned = []
        self.frame.initialize(-1, chunk, ns, 1, 0)
        self.frame.properties.impl.set_mixture(inputs.mixture(ns, "dense"))
        self._key = ns, chunk

    def release(self) -> None:
        """Unpins the arrays of the block."""
        for field in self._pinned:
            self.frame.properties.unpin_array([field])
        self._pinned = []

    def once(self) -> None:
        """Computes the block once."""
        host, (lo, hi) = self.frame.properties, self.block.box
        if self.way == "block":
            if self._again is None:
                self._again = host.block_of_fields(COLLECTION, list(self.block.fields.values()), lo, hi)
            else:
                self._again()
            return

        for first in range(1, self.block.points + 1, self.chunk):
            last = min(first + self.chunk - 1, self.block.points)
            for name in INPUTS:
                host.put([self.block.fields[name]], lo, hi, first, last)
            host.launch(COLLECTION, last - first + 1)
            for name in OUTPUTS:
                host.get([self.block.fields[name]], lo, hi, first, last)
        if self.way == "queue":
            host.wait()

    def _check(self) -> None:
        """Compares some points with the same kernels on arrays of their own, on the same backend: equal bits, or
        rounding if a launch is organised otherwise. Raises ValueError."""
        for name in OUTPUTS:
            if self.block.is_written_outside(name):
                raise ValueError(f"{name} was written outside of the box")

        given = {name: self.block.values(name) for name in INPUTS}
        mixture = self.frame.properties.mixture
        wanted = mixture.properties(" ".join(OUTPUTS), backend=self.frame.backend, **given)
        for name in OUTPUTS:
            if not np.allclose(self.block.values(name), wanted[name], rtol=1e-12, atol=0):
                raise ValueError(f"{name} is wrong")

    def _sample(self, work) -> str:
        """Calls until the seconds are over."""
        calls, begin = 0, time.perf_counter()
        while True:
            work()
            calls += 1
            taken = time.perf_counter() - begin
            if taken > self.seconds and calls > 2:
                return f"done {calls} {taken!r}"

    def _stream(self, nbytes: int):
        """work(): a copy within the host's memory."""
        backend = self.frame.properties.impl.marshal.packer.backend
        both = backend.empty((2, nbytes // WIDTH))
        both[...] = 1.0

        given = record("in:address out:address", **{"in": backend.address(both[0])}, out=backend.address(both[1]))
        module = backend.compile(Source("stream", '#include "stream.h"\n', (pathlib.Path(__file__).parent,)))
        run = module.bind("copy_memory", Shape(), given, keep=both)
        return lambda: run(both.shape[1])

    def _copies(self):
        """work(): one contiguous copy in and one out, side by side, between pinned memory and the device."""
        backend, pipe = self.frame.backend, self.frame.backend.pipeline(1)
        copies = []
        for queue, rows in ((IN, 2 + self.block.ns), (OUT, 5 + self.block.ns)):
            host = backend.staging().rows(rows, self.block.points, np.dtype(float))
            there = backend.empty(host.size)
            copy = backend.copier([Ends.of_row(backend.address(there), host.ctypes.data)], queue == IN)
            copies.append((pipe.step(queue), copy, host.nbytes, (host, there)))

        def work():
            for step, copy, nbytes, _ in copies:
                with step:
                    copy(0, 0, nbytes)
            pipe.wait()

        return work


def main() -> None:
    """Answers each line of standard input with one line."""
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
