"""Contractions whose extents are free: they are taken from the arrays of each bind.

    plan = FreeContraction("C[e i j] = A[e i k] B[k j]")
    plan.bind(dict(A=A, B=B, C=C))()              any extents
    plan.of(i=3, j=4, k=5)                        the Contraction of these extents

Organisations with FREE read their extents when they run, so what is compiled for some extents serves all: where such
an organisation serves the text, it is taken, and ten sizes cost one compilation. Otherwise each set of extents has its
own kernel.
"""

from __future__ import annotations

from ..engine.backend import get_backend
from .choice import sorted_out
from .contraction import Contraction
from .operands import extents
from .text import parse

KEPT = 64  # plans, by their extents


class FreeContraction:
    """A text for arrays of any extents. Arguments as Contraction, without sizes. Raises ArgumentError for the text."""

    def __init__(self, text: str, dtype="float64", backend=None, **options):
        self.text, self.dtype, self.options = text, dtype, options
        self.backend = get_backend(backend) if backend is None or isinstance(backend, str) else backend

        reading, self.choice = sorted_out(options)
        self.expression = parse(text, **vars(reading))
        self._plans: dict[tuple, Contraction] = {}

    def of(self, **sizes: int) -> Contraction:
        """The plan for these extents, kept for the next call. Raises ArgumentError for an extent that is missing."""
        key = tuple(sorted(sizes.items()))
        if key not in self._plans:
            if len(self._plans) >= KEPT:
                self._plans.pop(next(iter(self._plans)))
            self._plans[key] = self._planned(sizes)
        return self._plans[key]

    def _planned(self, sizes) -> Contraction:
        def plan(how):
            return Contraction(self.text, sizes, self.dtype, self.backend, **{**self.options, "how": how})

        usual = plan(self.choice.how)
        if self.choice.how is not None or usual.how.FREE:
            return usual
        free = [how for _, how, _ in usual.candidates if how.FREE]
        return plan(free[0]) if free else usual

    def bind(self, arrays, n: int | None = None):
        """run(), as Contraction.bind. Raises ArgumentError where two arrays disagree about an extent."""
        shapes = {name: array.shape for name, array in arrays.items() if hasattr(array, "shape")}
        known = {name: shape for name, shape in shapes.items() if name in self.expression.references}
        sizes, _ = extents(self.expression, known)
        return self.of(**sizes).bind(arrays, n)
