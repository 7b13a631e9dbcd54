"""FRAME_PLACEMENT=measured: the GPU or the CPU, whichever a block call of this mixture is faster on here and now.

All ranks measure at the same time, each with a share of cores, link and device, and all take the same side: the
side on which the slowest rank is done first. CPU and GPU differ in the last bits, and the faster side may change from
run to run, so this is never the default. The default is the rule of rule.py.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from kernels.marshal import Block

from ..errors import ArgumentError
from ..impl import Sizes, TVImpl
from ..stripe import IN, OUT, Field, block_from_field

MODES = ("rule", "device", "measured", "measured-pinned")  # device: a GPU if there is one
POINTS = 2**17  # of a rank's block: enough for the pipeline to fill
CALLS = 3  # the fastest counts
SIDES = ("GPU", "CPU")
INPUTS = {"T": 1000.0, "p": 5e6}  # K, Pa; Y: as much of each species
OUTPUTS = {"thermal_viscous": ("rho", "h", "c", "mu", "lam", "D"), "thermal": ("rho", "h", "c")}


class Job(NamedTuple):
    """The work of a rank, as far as the time of a block call depends on it."""

    mixture: Any
    chunk: int  # points of the views
    precision: str
    packers: int  # threads that pack pageable arrays
    pinned: bool  # whether the host's arrays are pinned


def choose(job: Job, sides, comm) -> tuple[int, str]:
    """(number of the faster backend; a line that says why). Collective; every rank of `comm` gets the same answer.

    sides: two backends, the GPU first.
    """
    for collection in OUTPUTS:
        try:
            times = [_seconds(job, collection, side, comm) for side in sides]
            break
        except ArgumentError:  # on every rank, before any has measured: the mixture lacks what the collection reads
            pass
    else:
        return 0, "FRAME_PLACEMENT: this mixture has no thermal properties to measure: GPU"

    slowest = comm.most(times)
    chosen = 0 if slowest[0] <= slowest[1] else 1

    said = [f"{1e9 * t / POINTS / comm.size:.1f} ns on the {name}" for t, name in zip(slowest, SIDES)]
    memory = "pinned" if job.pinned else "pageable"
    plural = "s" if comm.size > 1 else ""

    return chosen, (
        f"FRAME_PLACEMENT: a point of {collection} on {memory} arrays takes {', '.join(said)}, {comm.size} "
        f"rank{plural} together: {SIDES[chosen]}"
    )


def _seconds(job: Job, collection: str, backend, comm) -> float:
    """The fastest of some block calls on arrays of the host, while all ranks make the same."""
    impl = TVImpl(backend, Sizes(job.chunk, job.mixture.ns), precision=job.precision)
    impl.set_mixture(job.mixture)
    impl.pack_with(job.packers)

    arrays = {}
    for name in ("T", "p", "Y", *OUTPUTS[collection]):
        rows = impl.view(name).rows
        arrays[name] = np.full((POINTS, rows), INPUTS.get(name, 1 / rows), order="F")

    held = []  # arrays that are pinned
    try:
        for array in arrays.values() if job.pinned else ():
            backend.pin(array.ctypes.data, array.nbytes)
            held.append(array)
        return _fastest(impl, collection, arrays, comm)
    finally:
        impl.free()
        for array in held:
            backend.unpin(array.ctypes.data, array.nbytes)


def _fastest(impl: TVImpl, collection: str, arrays: dict[str, np.ndarray], comm) -> float:
    """Seconds of the fastest call."""
    inputs, outputs = [], []
    for name, array in arrays.items():
        if name in ("T", "p", "Y"):
            inputs.append((name, _block(name, array, IN)))
        else:
            outputs.append((name, _block(name, array, OUT)))

    again = impl.block(collection, inputs, outputs)
    assert again is not None  # there are points
    taken = []

    for _ in range(CALLS):
        comm.meet()
        begin = time.perf_counter()
        again()
        taken.append(time.perf_counter() - begin)

    return min(taken)


def _block(name: str, array: np.ndarray, way: int) -> Block:
    rows = array.shape[1]
    shape = (POINTS, 1, 1, rows)
    strides = (8, 8 * POINTS, 8 * POINTS, 8 * POINTS)
    field = Field(name, way, array.ctypes.data, shape, strides, (1,) * 4, 8)
    return block_from_field(field, (None,) * 4, (None,) * 4, rows)
