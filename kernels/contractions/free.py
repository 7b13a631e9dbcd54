"""Contractions whose extents are free: they are taken from the arrays of each bind.

    plan = FreeContraction("C[e i j] = A[e i k] B[k j]")
    plan.bind(dict(A=A, B=B, C=C))()              any extents
    plan.of(i=3, j=4, k=5)                        the Contraction of these extents

Some organisations read their extents when they run, so what is compiled for some extents serves all. Where one serves
the text, or each of its statements, it is taken, and ten sizes cost one compilation. Otherwise each set of extents has
its own kernels.
"""

from __future__ import annotations

import functools

import numpy as np

from ..engine.backend import get_backend
from .call import contract
from .choice import sorted_out
from .contraction import Contraction
from .operands import extents
from .organisations import Organisation
from .paired import ComplexContraction
from .plan import Program
from .text import parse

KEPT = 64  # plans, by their extents
MORE = 1.15  # times the least price: an organisation that is compiled already comes before one that is not


class FreeContraction:
    """A text for arrays of any extents. Arguments as Contraction, without sizes; complex types as ComplexContraction.
    Raises ArgumentError for the text."""

    def __init__(self, text: str, dtype="float64", backend=None, **options):
        self.text, self.dtype, self.options = text, dtype, options
        self.backend = get_backend(backend) if backend is None or isinstance(backend, str) else backend

        reading, self.choice = sorted_out({name: x for name, x in options.items() if name != "real"})
        self.expression = parse(text, **vars(reading))
        self._compiled: dict[str, Organisation] = {}  # that read extents, by their source
        self._plans: dict[tuple, Contraction | ComplexContraction] = {}

    def of(self, **sizes: int) -> Contraction | ComplexContraction:
        """The plan for these extents, kept for the next call. Raises ArgumentError for an extent that is missing."""
        key = tuple(sorted(sizes.items()))
        if key not in self._plans:
            if len(self._plans) >= KEPT:
                self._plans.pop(next(iter(self._plans)))
            self._plans[key] = self._planned(sizes)
        return self._plans[key]

    def explain(self, **sizes: int) -> str:
        """The choice for these extents, as text; see Contraction.explain."""
        return self.of(**sizes).explain()

    def bind(self, arrays, n: int | None = None):
        """run(), as Contraction.bind. Extents may be 0. Raises ArgumentError where two arrays disagree about one."""
        shapes = {name: array.shape for name, array in arrays.items() if hasattr(array, "shape")}
        known = {name: shape for name, shape in shapes.items() if name in self.expression.references}
        sizes, _ = extents(self.expression, known)
        if 0 in sizes.values() and n is None:
            return functools.partial(_without_empty, self.text, self.options, self.backend, arrays)
        return self.of(**sizes).bind(arrays, n)

    # ---- the organisation
    def _planned(self, sizes) -> Contraction | ComplexContraction:
        if str(np.dtype(self.dtype)) in ComplexContraction.DTYPES:
            return ComplexContraction(self.text, sizes, self.dtype, self.backend, **self.options)

        options = {**self.options, "free": True}
        usual = Contraction(self.text, sizes, self.dtype, self.backend, **options)
        found = [] if usual.given else usual.reading_extents()
        if not found:
            return usual

        how = self._kept(usual, *min(found, key=lambda able: able[0]))
        if how == usual.how:
            return usual
        return Contraction(self.text, sizes, self.dtype, self.backend, **{**options, "how": how})

    def _kept(self, usual: Contraction, least: float, best: Organisation, program: Program) -> Organisation:
        """The best organisation, or one of its kind that needs nothing compiled and takes little more."""
        source = best.render(program, quick=self.choice.quick)
        text = source.text if source else ""
        if text in self._compiled:
            return best

        for how in self._compiled.values():
            alike = type(how) is type(best) and not how.serves(program) and how.legal(program)
            if alike and usual.shared(how, program, how.price(program)) <= MORE * least:
                return how
        self._compiled[text] = best
        return best


def _without_empty(text: str, options: dict, backend, arrays) -> None:
    """The outputs where some sums have no terms, or some arrays no numbers."""
    contract(text, backend=backend, **options, **arrays)
