"""Calls with arrays of a device that come again, as functions that look whether the arrays lie as they did, and queue
the launches of before with the addresses of now (replays.py)."""

from __future__ import annotations

from .replays import Replays


def function(call, run):
    """quick(string, arrays in their order): the result; None where arrays lie otherwise. None: there is no such
    function.

    call: a repeats.Repeat. run: the launch.
    """
    if not isinstance(run, Replays) or call.copies or len(call.new) != 1:
        return None
    (_, shape, axes), dtype = call.new[0], call.dtype
    came = call.came
    rises, count = axes == tuple(range(len(axes))), len(came)
    make, queue = call.plan.backend.empty, run.with_new_outputs

    def of_all(_, *arrays):
        if len(arrays) != count:
            return None

        # Views of an array, as the kernel has them, begin where it begins.
        addresses = []
        for array, (kind, numbers, extents, steps) in zip(arrays, came):
            if type(array) is not kind or array.dtype != numbers or array.shape != extents or array.strides != steps:
                return None
            addresses.append(array.data.ptr)

        out = make(shape, dtype)
        addresses.append(out.data.ptr)
        queue(addresses)
        return out if rises else out.transpose(axes)

    return of_all
