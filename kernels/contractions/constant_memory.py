"""Small matrices in a GPU's constant memory: a thread that has a row of a product in registers takes each number of a
matrix straight from there."""

from __future__ import annotations

import numpy as np

from .plan import Program

ROW = 32  # most numbers of a row in registers
BYTES = 3584  # of all matrices
COPIES = 3  # of a matrix: one that is used twice would be kept in registers


def declared(p: Program, names) -> list[str]:
    """The text that declares these matrices."""
    return [f'extern "C" {{ __constant__ scalar constant_{x}[{COPIES * p.arrays[x].size}]; }}' for x in names]


def fill(module, numbers) -> None:
    """Write the matrices ({name: array}) of a loaded module, in its type of numbers."""
    for x, values in numbers.items():
        module.fill(f"constant_{x}", np.tile(values, COPIES))
