"""The species loops in plain CUDA beside the layer's: kernels of species_by_hand.cu, compiled by CuPy."""

from __future__ import annotations

import pathlib
from typing import NamedTuple

import numpy as np

from ...errors import BackendError
from .species_fields import READS, Fields

FILE = pathlib.Path(__file__).with_suffix(".cu")
KERNELS = {  # name in the table: function, layout
    "CUDA naive, by hand": ("naive_left", "left"),
    "CUDA unroll and jam, by hand": ("jam_left", "left"),
    "CUDA naive, by hand, right": ("naive_right", "right"),
}
JAMS = (8, 5, 4, 2, 1)  # rows in registers: the first that divides the number of species
THREADS = 256  # of a block


class ByHand(NamedTuple):
    """A kernel that is ready to run."""

    label: str
    run: object  # run()
    report: dict  # registers, occupancy


def kernels(fields: Fields) -> list[ByHand]:
    """All kernels for the layout of some fields. Raises BackendError where CuPy itself is not there."""
    import cupy

    if not hasattr(cupy, "RawModule"):
        raise BackendError("CUDA by hand needs CuPy itself.")

    jam = next(j for j in JAMS if fields.ns % j == 0)
    number = {8: "double", 4: "float"}[fields.dtype.itemsize]
    options = ("--std=c++17", f"-DNS={fields.ns}", f"-DJAM={jam}", f"-DNUMBER={number}")
    module = cupy.RawModule(code=FILE.read_text(), options=options)
    chosen = [(label, function) for label, (function, layout) in KERNELS.items() if layout == fields.layout]
    return [_ready(label.removesuffix(", right"), module.get_function(function), fields) for label, function in chosen]


def _ready(label: str, kernel, fields: Fields) -> ByHand:
    """A compiled kernel on the arrays of some fields."""
    row = fields.arrays["out"].shape[1] if fields.layout == "left" else 0
    given = (*(fields.arrays[name] for name in READS), fields.arrays["out"], np.int64(row), np.int64(fields.n))
    blocks = -(-fields.n // THREADS)

    driver, facts = fields.backend.arrays.cuda.driver, fields.backend.facts
    resident = driver.occupancyMaxActiveBlocksPerMultiprocessor(kernel.kernel.ptr, THREADS, 0)
    report = {
        "registers": kernel.num_regs,
        "spill_stores": kernel.local_size_bytes,
        "occupancy": resident * THREADS / facts.threads_resident,
    }
    return ByHand(label, lambda: kernel((blocks,), (THREADS,), given), report)
