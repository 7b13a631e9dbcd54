"""Constant matrices over pairs of species as the bodies read them: pairs.h by panels, matrix_units.h by tiles.
pairs_alone.h reads whole rows, which lie behind the panels."""

from __future__ import annotations

import numpy as np

WHOLE, LOWER, UPPER = "whole", "lower", "upper"  # parts of a matrix, see `tiles`


def panel_rows(ns: int) -> int:
    """Rows of a register panel on a CPU: all up to 10 species, else the size from 10 down to 7 that leaves the fuller
    last panel."""
    if ns <= 10:
        return ns
    return min((10, 9, 8, 7), key=lambda rows: (-ns % rows, -rows))


def laid_out(matrix: np.ndarray, pairs: int | str) -> np.ndarray:
    """A constant matrix over pairs of species as the bodies read it.

    matrix: symmetric (ns, ns), a quadratic form, of which the lower triangle and half the diagonal are kept; or (terms,
    ns, ns), products with vectors. pairs: rows of a panel (pairs.h reads panels in the order in which they are swept,
    then half the diagonal), or "units" (matrix_units.h reads tiles).
    """
    if matrix.ndim == 3:
        return np.concatenate([tiles(m) for m in matrix])

    half = np.tril(matrix, -1) + np.diag(0.5 * np.diag(matrix))
    if isinstance(pairs, str):  # "units"
        return tiles(half, LOWER)

    ns = len(matrix)
    panels = []

    for first in range(0, ns, pairs):
        last = min(first + pairs, ns)
        panels += [matrix[first:last, j] for j in range(first)]
        panels += [matrix[j + 1 : last, j] for j in range(first, last)]

    return np.concatenate([*panels, np.diag(half)])


def tiles(matrix: np.ndarray, part: str = WHOLE) -> np.ndarray:
    """A (rows, ns) matrix in the order in which matrix_units.h reads it: for eight rows at a time, four columns at a
    time, one number a lane. Row 2t + q of a tile is row 4q + t of the matrix. part: of (ns, ns), LOWER has the columns
    up to the tile's last row, UPPER those from its first row on."""
    rows, ns = matrix.shape
    padded = np.zeros((-(-rows // 8) * 8, -(-ns // 8) * 8))
    padded[:rows, :ns] = matrix

    lane = np.arange(32)
    row = 4 * (lane // 4 % 2) + lane // 8
    columns = -(-ns // 4) * 4
    out = []

    for tile in range(0, rows, 8):
        begin = tile if part == UPPER else 0
        end = min(tile + 8, columns) if part == LOWER else columns
        for step in range(begin, end, 4):
            out.append(padded[tile + row, step + lane % 4])

    return np.concatenate(out)
