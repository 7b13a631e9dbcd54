"""Views: named arrays on the device, each with a record of its content: which stripe, how many points, computed from
which views, filled from which array."""

from __future__ import annotations

USED = -1  # as `when` of a filling


class Filling:
    """The content that one call gave to one or more views. stripe: (first, last) of its points; count: number of points
    filled. For results of a launch, maker: its name; basis: the (view, filling) pairs that they were computed from.
    Results are stale as soon as one of these views is filled again. when: launches before the filling; USED
    once one of them has worked with it, and for results."""

    __slots__ = ("stripe", "count", "basis", "maker", "when")
    lost = ""

    def __init__(self, stripe=None, count=0, basis=(), maker="", when=USED):
        self.stripe, self.count, self.basis, self.maker, self.when = stripe, count, basis, maker, when

    def changed(self) -> View | None:
        """A view of the basis that was filled again since, or None."""
        for source, filling in self.basis:
            if source.filled is not filling:
                return source
        return None


class Lost(Filling):
    """What a view held for the block before. lost: the view whose filling began the present block."""

    __slots__ = ("lost",)

    def __init__(self, maker: str, lost: str):
        super().__init__(maker=maker)
        self.lost = lost


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
