"""Who computes on what: the device that a host asks for, or the side that the rule takes; ranks that share a device."""

from __future__ import annotations

import platform
import sys
from typing import Any, NamedTuple

import kernels
from kernels.engine.backend.base import Rates

from ..errors import BackendError, FrameError, refuse
from . import mps, rule
from .placement import SIDES
from .spread import device_for

GPU, CPU = SIDES


class Asked(NamedTuple):
    """A host's wishes."""

    device_id: int  # number of the CUDA device; -1: by rank on the node
    sizes: Any  # impl.Sizes: chunk, species, variables of Q
    call: str  # the call in which the ranks meet, for messages
    failed: FrameError | None = None  # why this rank gets no backend, whatever its device is


class Chosen(NamedTuple):
    """The backend of a rank."""

    backend: Any
    said: str  # why the rule took a side; "" if it was not asked, or took the GPU
    turns: bool  # whether several ranks share the device without a service


class Device(NamedTuple):
    """A rank's device."""

    number: int | None  # None: the rank has none
    rates: Rates | None  # limits of the device
    ranks: int  # number of ranks for which this rank speaks


def choose(config, comm, asked: Asked) -> Chosen:
    """A device if the host asks for one, or if the rule takes it with `auto`. The ranks of a node share its devices
    evenly; a rank gets a device near its cores if the system says which. Collective: a rank that fails takes part
    before it raises. Errors: `asked.failed`; BackendError, ArgumentError for a device that is not there."""
    failed = asked.failed
    used = config.admits(GPU) and mps.used()  # before the layer uses the device
    device = Device(None, None, 1)

    try:
        device = _device(config, comm, asked.device_id)
    except FrameError as error:
        failed = failed or error

    # Facts of this rank's node and device.
    facts = rule.Facts(
        node=comm.node_number,
        ranks=device.ranks,
        cores=min(config.threads, comm.cores),
        rates=device.rates,
        work=rule.Work(asked.sizes.ns, config.precision, config.calls, asked.sizes.chunk),
        auto=config.leaves_side_open and config.placement == "rule" and failed is None,
        service=kernels.engine.backend.mps_runs(),
        used=used,
    )
    comm.wait_for_all(asked.call)
    everyone = comm.share(facts)
    if failed is not None:
        raise failed

    sharing = [f.ranks for f in everyone if (f.node, f.rates) == (comm.node_number, device.rates)]
    turns = not facts.service and sum(sharing) > 1

    # The side.
    on_gpu, said = rule.choose(everyone) if facts.auto else (device.number is not None, "")
    if on_gpu:
        return Chosen(kernels.get_backend("cuda", device=device.number), said, turns)

    return Chosen(kernels.get_backend("cpu", threads=config.threads), said, turns)


def _device(config, comm, device_id: int) -> Device:
    """This rank's device, if there are any. Errors: BackendError, ArgumentError."""
    devices = kernels.engine.backend.cuda_devices(config.backend)
    if not devices and config.admits(CPU):
        return Device(None, None, 1)

    place = 0
    if devices and device_id < 0:
        place = comm.place(kernels.engine.backend.device_nodes())
    number = device_for(device_id, place, devices)

    return Device(number, kernels.engine.backend.device_rates(number), comm.ranks_of(devices))


def share_devices(config, comm) -> None:
    """Ranks of a node that share a GPU do so by CUDA's multi-process service. Errors: BackendError, on all ranks, where
    FRAME_MPS=require and the ranks of any node cannot."""
    wanted = kernels.engine.backend.may_be_device(config.backend)
    said = mps.share(comm.node, config.mps, wanted, kernels.engine.backend.mps_runs())

    # Answers of the nodes, from their first ranks.
    everywhere = comm.share((platform.node(), said))
    failed = [f"{text} (node {name})" for name, text in everywhere if text.startswith("no MPS")]
    refuse(failed and config.mps == "require", f"FRAME_MPS=require: {''.join(failed[:1])}.", BackendError)

    _, by_rank_0 = everywhere[0]
    if said and comm.rank == 0:
        print(f"libframe: {said}.", file=sys.stderr)
    elif said != by_rank_0 and comm.rank_on_node == 0:
        print(f"libframe: node {platform.node()}: {said or 'no GPU is shared'}.", file=sys.stderr)
