"""FRAME_PLACEMENT=measured: the GPU or the CPU, whichever a block call of this mixture is faster on here and now.

All ranks measure at the same time, each with its share of cores, link and device, and all take the same side: the one
whose slowest rank is done first. CPU and GPU differ in the last bits, and which one is faster may change from run to
run, so this is never the default: that is the rule of rule.py.
"""

from __future__ import annotations

import time

import numpy as np

from ..errors import ArgumentError
from ..impl import TVImpl
from ..stripe import IN, OUT, Field, block_from_field

MODES = ("rule", "device", "measured", "measured-pinned")  # device: a GPU where there is one
POINTS = 2**17  # of a rank's block: enough for the pipeline to fill
CALLS = 3  # the fastest counts
INPUTS = {"T": 1000.0, "p": 5e6}  # K, Pa; Y: as much of each species
OUTPUTS = {"thermal_viscous": ("rho", "h", "c", "mu", "lam", "D"), "thermal": ("rho", "h", "c")}


def choose(mixture, sides, chunk: int, comm, precision: str, pack, pinned: bool) -> tuple[int, str]:
    """Which of these backends, the GPU first, and one line that says why. pack: threads that pack. Collective over
    comm; every rank gets the same answer."""
    for collection in OUTPUTS:
        try:
            times = [_seconds(mixture, collection, side, chunk, comm, precision, pack, pinned) for side in sides]
            break
        except ArgumentError:  # on every rank, before any has measured: the mixture lacks what the collection reads
            pass
    else:
        return 0, "FRAME_PLACEMENT: this mixture has no thermal properties to measure: GPU"
    slowest = comm.most(times)
    told = ", ".join(f"{1e9 * t / POINTS / comm.size:.1f} ns on the {w}" for t, w in zip(slowest, ("GPU", "CPU")))
    chosen = 0 if slowest[0] <= slowest[1] else 1
    memory = "pinned" if pinned else "pageable"
    return chosen, (
        f"FRAME_PLACEMENT: a point of {collection} on {memory} arrays takes {told}, {comm.size} "
        f"rank{'s' * (comm.size > 1)} together: {('GPU', 'CPU')[chosen]}"
    )


def _seconds(mixture, collection: str, backend, chunk: int, comm, precision: str, pack: int, pinned: bool) -> float:
    """The fastest of some block calls on arrays of the host's, while all ranks do the same."""
    impl, arrays = TVImpl(backend, chunk, mixture.ns, 1, precision=precision), {}
    impl.set_mixture(mixture)
    impl.pack_with(pack)
    for name in ("T", "p", "Y", *OUTPUTS[collection]):
        rows = impl.view(name).rows
        arrays[name] = np.full((POINTS, rows), INPUTS.get(name, 1 / rows), order="F")
    try:
        if pinned:
            for array in arrays.values():
                backend.pin(array.ctypes.data, array.nbytes)
        inputs, outputs = (
            [(name, _block(impl, name, array, way)) for name, array in arrays.items() if (name in "TpY") == (way == IN)]
            for way in (IN, OUT)
        )
        again = impl.block(collection, inputs, outputs)
        assert again is not None  # there are points
        taken = []
        for _ in range(CALLS):
            comm.meet()
            begin = time.perf_counter()
            again()
            taken.append(time.perf_counter() - begin)
        return min(taken)
    finally:
        impl.free()
        if pinned:
            for array in arrays.values():
                backend.unpin(array.ctypes.data, array.nbytes)


def _block(impl, name: str, array, way: int):
    rows = array.shape[1]
    shape = (POINTS, 1, 1, rows)
    strides = (8, 8 * POINTS, 8 * POINTS, 8 * POINTS)
    field = Field(name, way, array.ctypes.data, shape, strides, (1,) * 4, 8)
    return block_from_field(field, (None,) * 4, (None,) * 4, rows)
