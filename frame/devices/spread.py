"""Ranks of a node and its devices: which rank uses which device."""

from __future__ import annotations

import contextlib
import pathlib

from ..errors import BackendError, refuse

UNKNOWN = -1  # as the number of a NUMA node


def numa_node(cores, folder: str = "/sys/devices/system/node") -> int:
    """The NUMA node that all these cores belong to; -1 if they belong to several, or the system does not say."""
    for file in pathlib.Path(folder).glob("node[0-9]*/cpulist"):
        with contextlib.suppress(OSError, ValueError):
            there = _cores(file.read_text())
            if cores and set(cores) <= there:
                return int(file.parent.name.removeprefix("node"))

    return UNKNOWN


def _cores(text: str) -> set[int]:
    """The numbers in a list such as 0-3,8,10-11. Errors: ValueError."""
    found: set[int] = set()
    for part in text.strip().split(","):
        if part:
            ends = [int(number) for number in part.split("-")]
            found.update(range(ends[0], ends[-1] + 1))

    return found


def spread(ranks: list[int], devices: list[int]) -> list[int]:
    """A device for each rank, as many ranks on each device as on any other, or one more.

    ranks, devices: their NUMA nodes, -1: unknown. A rank gets a device of its NUMA node if that leaves them even.
    """
    each, more = divmod(len(ranks), len(devices))  # `more` devices may have a rank above `each`
    load = [0] * len(devices)
    chosen = [-1] * len(ranks)

    def has_room(device: int) -> bool:
        if load[device] == each:
            return sum([n > each for n in load]) < more
        return load[device] < each

    for near in (True, False):
        for rank, node in enumerate(ranks):
            if chosen[rank] >= 0:
                continue
            free = [d for d, at in enumerate(devices) if has_room(d) and (not near or node == at >= 0)]
            if free:
                chosen[rank] = min(free, key=load.__getitem__)
                load[chosen[rank]] += 1

    return chosen


def device_for(device_id: int, rank_on_node: int, devices: int) -> int:
    """The device of a rank. device_id: the device that the host asked for; -1: by rank. devices: number of them.

    Errors: BackendError without devices, ArgumentError for a device that does not exist.
    """
    refuse(
        devices < 1,
        "backend 'cuda' was asked for and no CUDA device is visible; set FRAME_BACKEND=cpu to run without.",
        BackendError,
    )
    refuse(device_id >= devices, f"device_id = {device_id}, wanted -1 (by rank on the node) or 0..{devices - 1}.")
    return device_id if device_id >= 0 else rank_on_node % devices
