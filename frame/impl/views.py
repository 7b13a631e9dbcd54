"""Views: named arrays on the device, a chunk long, allocated at their first use."""

from __future__ import annotations

import kernels

from ..errors import ArgumentError, UnknownName
from .shared import Shared
from .staleness import Content

VELOCITY = ("u", "v", "w")
IN_Q = ("p", *VELOCITY, "T")  # rows of Q; then Y_1..Y_ns, then the host's further variables
LAST_FROM_SUM = (
    " For a last mass fraction of 1 less the sum of the others: frame_setoption('last_species', 'sum') before "
    "frame_initialize."
)


class View(Content):
    """A named device array, the point fastest, and the record of its values."""

    __slots__ = (
        "unit",
        "rows",
        "matrix",  # (rows, row length)
        "array",  # as kernels read it: matrix, or its only row
        "storage",  # name of the view whose memory it lies in: its name, or Q
    )

    def __init__(self, name: str, unit: str, matrix, flat: bool, storage: str = ""):
        super().__init__(name)
        self.unit = unit
        self.rows = matrix.shape[0]
        self.matrix = matrix
        self.array = matrix[0] if flat else matrix
        self.storage = storage or name

    @property
    def rows_by_name(self) -> tuple[View, ...]:
        """For Q the views of its rows, in their order; for any other view itself."""
        return self.parts or (self,)  # type: ignore[return-value]  # parts of a view are views


class Views(dict[str, View]):
    """{name: View}. A view that is not there yet is allocated.

    Errors: ArgumentError for an unknown name lists the nearest known name. With nq >= ns + 4 the views p, u, v, w, T
    and Y are rows of Q, without a copy. With nq = ns + 4 Q has one row more, for the last mass fraction.
    """

    def __init__(self, shared: Shared):
        super().__init__()
        self._shared = shared

    def __missing__(self, name: str) -> View:
        in_q = name in IN_Q or name == "Y"
        if name == "Q" or (in_q and self._shared.nq >= self._shared.ns + 4):
            self._allocate_q()
        else:
            self[name] = self._allocate(name)

        return self[name]

    def _allocate(self, name: str) -> View:
        if name not in kernels.quantities:
            raise UnknownName(f"unknown tag '{name}'{kernels.registry.instead_of(name)}.")

        shared, quantity = self._shared, kernels.quantities[name]
        reactions = shared.mixture.nr if quantity.per == "nr" and shared.mixture else 0
        rows = quantity.rows(shared.ns, reactions)
        matrix = shared.backend.empty((rows, shared.row), shared.dtype)

        return View(name, quantity.unit, matrix, flat=quantity.per == "")

    def _allocate_q(self) -> None:
        shared, ns, nq = self._shared, self._shared.ns, self._shared.nq
        rows = nq + 1 if shared.q_lacks_last else nq
        storage = shared.backend.empty((rows, shared.row), shared.dtype)
        q = self["Q"] = View("Q", "SI", storage[:nq], flat=False)

        if nq < ns + 4:
            return

        for row, name in enumerate(IN_Q):
            self[name] = View(name, _unit(name), storage[row : row + 1], flat=True, storage="Q")
        first = len(IN_Q)
        self["Y"] = View("Y", _unit("Y"), storage[first : first + ns], flat=False, storage="Q")

        q.parts = tuple([self[name] for name in (*IN_Q, "Y")])
        q.covered = nq <= first + ns

    def least(self, view: View) -> int:
        """The smallest number of variables that may come for this view: Y may come without its last species."""
        last_missing = self._shared.last_from_sum and view.name == "Y" and view.rows > 1
        return view.rows - 1 if last_missing else view.rows

    def lacks_last(self, view: View, variables: int) -> bool:
        """Whether these variables of the host leave out the last mass fraction."""
        return variables < view.rows or (bool(view.parts) and self._shared.q_lacks_last)

    @staticmethod
    def check_variables(view: View, given: int, least: int) -> None:
        """Raises ArgumentError unless least <= given <= rows of the view."""
        if least <= given <= view.rows:
            return
        hint = LAST_FROM_SUM if view.name == "Y" and given == view.rows - 1 else ""
        plural = "s" if view.rows > 1 else ""
        raise ArgumentError(f"'{view.name}' has {view.rows} variable{plural}, {given} given (SptData..EptData).{hint}")

    def names(self, fields) -> set[str]:
        """Names of the views of these (name, Block) pairs, rows of Q included."""
        found = set()
        for name, _ in fields:
            view = self[name]
            found.add(view.name)
            found.update(part.name for part in view.parts)

        return found

    def drop_reactions(self) -> bool:
        """Drop views that have a row for each reaction of the mixture before. Returns whether there were any."""
        dropped = []
        for name in self:
            if name in kernels.quantities and kernels.quantities[name].per == "nr":
                dropped.append(name)

        for name in dropped:
            del self[name]
        return bool(dropped)


def of_species(name: str) -> bool:
    """Whether a view of this name has a value for each species."""
    return name == "Q" or kernels.quantities[name].per != ""


def _unit(name: str) -> str:
    return kernels.quantities[name].unit if name in kernels.quantities else "SI"
