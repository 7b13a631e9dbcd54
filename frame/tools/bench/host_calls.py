"""A contraction as a host calls it, by frame_contract: its arrays are copied to a device and back in each call."""

from __future__ import annotations

import contextlib
import statistics
import time
from typing import NamedTuple, cast

import numpy as np

from kernels.contractions.expression import Expression
from kernels.engine.backend.pinned import in_own_pages

from ...contractions import Contractions
from ...impl import Sizes
from ...impl.memory import Bound
from ...stripe import IN, INOUT, OUT, Field
from ...tvproperties import TVProperties

NAME = "bench"
LINES = ("batch", "constant", "local", "symmetric")  # options that a host's text has as lines


class Seconds(NamedTuple):
    """A call, medians."""

    whole: float
    copy_in: float
    copy_out: float


def text_of(text: str, options: dict) -> str:
    """A text with its options as lines."""
    return "; ".join([text, *(f"{key} {options[key]}" for key in LINES if options.get(key))])


class HostCall:
    """A text on arrays of the host. given: its arrays, by name; `arrays` are those that the calls work on."""

    def __init__(self, text: str, e: Expression, given: dict[str, np.ndarray], backend):
        self.backend = backend
        self.impl = TVProperties(backend, Sizes(1, 1), {}).impl
        self.contractions = Contractions()
        self.contractions.register(NAME, text)

        self.arrays = {}
        for name, array in given.items():
            self.arrays[name] = in_own_pages(array.shape, array.dtype)  # pages that can be pinned
            self.arrays[name][...] = array
        self.fields = [_field(name, array, _way(e, name)) for name, array in self.arrays.items()]

    def seconds(self, rounds: int) -> Seconds:
        """The time of a call that comes again: the first one finds the plan."""
        call = cast(Bound, self.contractions.run(NAME, self.fields, self.impl))  # None: there are no entries
        times = []
        for _ in range(rounds + 1):
            begin = time.perf_counter()
            call()
            times.append(time.perf_counter() - begin)

        copies = [self._copies(call) for _ in range(rounds)]
        copied_in, copied_out = (statistics.median(each) for each in zip(*copies))
        return Seconds(statistics.median(times[1:]), copied_in, copied_out)

    def _copies(self, call) -> tuple[float, float]:
        """Seconds of the copies of a call, by the layer's timers."""
        watch = self.impl.watch
        watch.time(True)
        call()
        timers = watch.timers or {}
        found = [timers[name].seconds if name in timers else 0.0 for name in (f"put {NAME}", f"get {NAME}")]
        watch.time(False)
        return found[0], found[1]

    @contextlib.contextmanager
    def pinned(self):
        """Within this context the arrays are pinned."""
        held = [(array.ctypes.data, array.nbytes) for array in self.arrays.values()]
        for address, nbytes in held:
            self.backend.pin(address, nbytes)
        try:
            yield
        finally:
            for address, nbytes in held:
                self.backend.unpin(address, nbytes)


def _way(e: Expression, name: str) -> int:
    """How the text uses an array."""
    if name in e.inputs:
        return IN
    return INOUT if name in e.updated else OUT


def _field(name: str, array: np.ndarray, way: int) -> Field:
    """An array as Fortran passes it: the fastest dimension first."""
    extent, stride = array.shape[::-1], array.strides[::-1]
    return Field(name, way, array.ctypes.data, extent, stride, (1,) * array.ndim, array.itemsize)
