"""FRAME_PLACEMENT=measured: the GPU or the CPU, whichever a block call of this mixture is faster on here and now.

All ranks measure at the same time, each with its share of cores, link and device, and all take the same side: the one
whose slowest rank is done first. CPU and GPU differ in the last bits, and which one is faster may change from run to
run, so this is never the default: that is the rule of rule.py.
"""

from __future__ import annotations

import time

import numpy as np

from kernels.marshal import Block

from ..errors import ArgumentError
from ..impl import TVImpl
from ..stripe import IN, OUT, Field, block_from_field

MODES = ("rule", "device", "measured", "measured-pinned")  # device: a GPU where there is one
POINTS = 2**17  # of a rank's block: enough for the pipeline to fill
CALLS = 3  # the fastest counts
SIDES = ("GPU", "CPU")
INPUTS = {"T": 1000.0, "p": 5e6}  # K, Pa; Y: as much of each species
OUTPUTS = {"thermal_viscous": ("rho", "h", "c", "mu", "lam", "D"), "thermal": ("rho", "h", "c")}


def choose(mixture, sides, chunk: int, comm, precision: str, pack: int, pinned: bool) -> tuple[int, str]:
    """(number of the faster of these two backends, the GPU first; a line that says why). Collective over comm; every
    rank gets the same answer.

    chunk: points of the views. pack: threads that pack. pinned: whether the arrays are pinned.
    """
    for collection in OUTPUTS:
        try:
            times = [_seconds(mixture, collection, side, chunk, comm, precision, pack, pinned) for side in sides]
            break
        except ArgumentError:  # on every rank, before any has measured: the mixture lacks what the collection reads
            pass
    else:
        return 0, "FRAME_PLACEMENT: this mixture has no thermal properties to measure: GPU"

    slowest = comm.most(times)
    chosen = 0 if slowest[0] <= slowest[1] else 1

    said = [f"{1e9 * t / POINTS / comm.size:.1f} ns on the {name}" for t, name in zip(slowest, SIDES)]
    memory = "pinned" if pinned else "pageable"
    plural = "s" if comm.size > 1 else ""

    return chosen, (
        f"FRAME_PLACEMENT: a point of {collection} on {memory} arrays takes {', '.join(said)}, {comm.size} "
        f"rank{plural} together: {SIDES[chosen]}"
    )


def _seconds(mixture, collection: str, backend, chunk: int, comm, precision: str, pack: int, pinned: bool) -> float:
    """The fastest of some block calls on arrays of the host, while all ranks make the same."""
    impl = TVImpl(backend, chunk, mixture.ns, 1, precision=precision)
    impl.set_mixture(mixture)
    impl.pack_with(pack)

    arrays = {}
    for name in ("T", "p", "Y", *OUTPUTS[collection]):
        rows = impl.view(name).rows
        arrays[name] = np.full((POINTS, rows), INPUTS.get(name, 1 / rows), order="F")

    held = []  # arrays that are pinned
    try:
        for array in arrays.values() if pinned else ():
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
