"""Organisations on CPU vector units: a launch that arrays which lie alike share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...engine.backend.base import Shape
from .. import scratch
from .base import Organisation

LINE = 64  # bytes of a cache line, and of the widest vector units


class Launch(NamedTuple):
    """A launch on CPU vector units without the arrays' addresses: arrays that lie alike share it."""

    module: Any
    held: np.ndarray  # the record of arguments
    addresses: tuple[tuple[str, str], ...]  # (member of the record, array)
    items: int
    keep: tuple = ()  # objects to which the record points
    title: str = ""  # what timers call it
    scratch: int = 0  # bytes that a run works in, whose address is the member `scratch`

    def bound(self, arrays, values):
        """run(). values: addresses (at_) of the arrays."""
        held, keep = self.held.copy(), (*arrays.values(), *self.keep)
        for member, name in self.addresses:
            held[member] = values[f"at_{name}"]
        if self.scratch:
            own = scratch.aligned(self.scratch)
            held["scratch"], keep = own.ctypes.data, (*keep, own)

        run = self.module.bind("contraction", Shape(), held, keep=keep, title=self.title)
        return functools.partial(run, self.items)

    def again(self, names):
        """run(arrays) for arrays in the order of these names. Outputs of megabytes begin on cache lines."""
        places = {member: names.index(name) for member, name in self.addresses}
        if not self.scratch:
            return self.module.again("contraction", self.held, places, self.items, keep=self.keep)

        places["scratch"] = len(names)
        run = self.module.again("contraction", self.held, places, self.items, keep=self.keep)
        return scratch.InScratch(run, self.scratch)


class OnHost(Organisation):
    """Base of the organisations whose work is a launch of their own kernel."""

    def launch(self, plan, arrays, values, n: int):
        return self.launch_of(plan, arrays, values, n).bound(arrays, values)

    def again(self, plan, arrays, values, n: int):
        return self.launch_of(plan, arrays, values, n).again(list(arrays))

    def launch_of(self, plan, arrays, values, n: int) -> Launch:
        """For n entries of arrays that lie as these. Raises VariantUnsuitable."""
        raise NotImplementedError

    def kept_launch(self, plan, values, n: int, out: str, make: Callable[..., Launch]) -> Launch:
        """make(plan, values, n, on_line), kept for arrays that lie alike. on_line: whether the output begins on a cache
        line."""
        steps = tuple((values[f"step_{a.name}"], values[f"ld_{a.name}"]) for a in plan.program.arguments)
        on_line = values[f"at_{out}"] % LINE == 0
        key = "launch", self, n, steps, on_line
        return plan.kept(key, functools.partial(make, plan, values, n, on_line))
