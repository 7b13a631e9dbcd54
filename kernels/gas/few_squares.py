"""Quadratic forms of a constant matrix over pairs of species as sums of few squares."""

from __future__ import annotations

import dataclasses

import numpy as np

NEGLIGIBLE = 1e-15  # of the diagonal: the rounding of a sum over the pairs
WORTHWHILE = 0.45  # squares a species; a sum over the pairs takes half a multiply-add more


def few_squares(matrix: np.ndarray) -> np.ndarray | None:
    """Rows (count, ns) with matrix = rows^T rows, so that y matrix y = sum_k (rows_k y)^2; None if that takes so many
    rows that the sum over the pairs is cheaper.

    matrix: (ns, ns), symmetric, all numbers positive. Cholesky's factor with pivoting, of the matrix over the roots of
    its diagonal, up to the first pivot that is rounding. A smooth function of two numbers of the species, as a mean of
    their masses, leaves about 15 rows of any number of species.
    """
    size = np.sqrt(np.diag(matrix))
    rest = matrix / size / size[:, None]
    rows: list[np.ndarray] = []

    while len(rows) <= WORTHWHILE * len(matrix):
        pivot = int(np.argmax(np.diag(rest)))
        if not rest[pivot, pivot] > NEGLIGIBLE:
            return np.array(rows) * size

        rows.append(rest[pivot] / np.sqrt(rest[pivot, pivot]))
        rest = rest - rows[-1][:, None] * rows[-1]

    return None


@dataclasses.dataclass(frozen=True)
class Form:
    """Fields of Constants by which bodies compute a form of a constant matrix: of its rows, or of its pairs."""

    pairs: dict[str, np.ndarray]  # {model}_pair, if the sum over the pairs is cheaper
    rows: dict[str, np.ndarray]  # else {model}_squares
    sizes: dict[str, int]  # {MODEL}_SQUARES: how many; 0: none

    @classmethod
    def of(cls, model: str, matrix: np.ndarray) -> Form:
        """The cheaper way for a matrix (ns, ns), under names that begin with the model's."""
        squares = few_squares(matrix)
        if squares is None:
            return cls({f"{model}_pair": matrix}, {}, {f"{model.upper()}_SQUARES": 0})
        return cls({}, {f"{model}_squares": squares}, {f"{model.upper()}_SQUARES": len(squares)})
