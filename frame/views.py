"""Views: named arrays on the device, each with a record of its content: which stripe, how many points, computed from
which views, filled from which array."""

from __future__ import annotations

import itertools

USED = -1  # as `when` of a filling
_numbers = itertools.count(1)


class Filling:
    """The content that one call gave to one or more views.

    stripe: (first, last) of its points. count: number of points filled. number: of this filling, no other has it.
    maker, basis: of results of a launch, its name, and (view, number of its filling) of each view that it read.
    when: launches before the filling; USED once a launch has worked with it, and for results.

    Results are stale as soon as a view that they were computed from, directly or by way of others, is filled again.
    A launch may overwrite a view that its own inputs were computed from: h from T, then T from h. T is then the newest
    value, and h remains valid, since T was computed from it.
    """

    __slots__ = ("stripe", "count", "basis", "maker", "when", "number")

    def __init__(self, stripe=None, count=0, basis=(), maker="", when=USED):
        self.stripe, self.count, self.basis, self.maker, self.when = stripe, count, basis, maker, when
        self.number = next(_numbers)

    def changed(self, view: View) -> View | None:
        """A view behind this content of `view` that was filled again since, or None."""
        seen, open_ = {view}, [(view, self)]
        while open_:
            result, filled = open_.pop()
            for source, number in filled.basis:
                now = source.filled
                if now.number != number:
                    if not now.came_from(result, filled.number):
                        return source
                elif now.basis and source not in seen:
                    seen.add(source)
                    open_.append((source, now))
        return None

    def came_from(self, view: View, number: int) -> bool:
        """Whether this content was computed from that filling of `view`, directly or by way of others."""
        seen: set[View] = set()
        open_ = [self]
        while open_:
            for source, used in open_.pop().basis:
                if source is view and used == number:
                    return True
                if source.filled.number == used and source not in seen:
                    seen.add(source)
                    open_.append(source.filled)
        return False

    def gone(self, name: str) -> str:
        """The reason why the content of the view `name` is no longer there; '' when it is."""
        return ""


class Lost(Filling):
    """What a view held for the block before. by: the view whose filling began the present block."""

    __slots__ = ("by",)

    def __init__(self, maker: str, by: str):
        super().__init__(maker=maker)
        self.by = by

    def gone(self, name: str) -> str:
        since = f"('{self.by}' has been filled from another array since)"
        if self.maker:
            return f"is stale: '{self.maker}' computed it for another block {since}"
        return f"holds another block's points {since}: populate '{name}' for this block"


class OfMixtureBefore(Filling):
    """What a view held when another mixture was loaded: results, or values of the species before."""

    __slots__ = ()

    def gone(self, name: str) -> str:
        if self.maker:
            return f"is stale: '{self.maker}' computed it for the mixture before"
        return f"is stale: it holds values for the species of the mixture before; populate '{name}' for this mixture"


EMPTY = Filling()


class View:
    """A named device array (rows, row length), the point fastest, and a record of its content. source: the array and
    bounds that the host filled it from, or Q that it is a row of, for the present block. storage: what it shares with
    Q."""

    __slots__ = ("name", "unit", "rows", "matrix", "array", "parts", "filled", "source", "storage")

    def __init__(self, name, unit, matrix, flat, storage=""):
        self.name, self.unit, self.rows, self.matrix = name, unit, matrix.shape[0], matrix
        self.storage = storage or name
        self.array = matrix[0] if flat else matrix
        self.parts: tuple[View, ...] = ()
        self.filled, self.source = EMPTY, None
