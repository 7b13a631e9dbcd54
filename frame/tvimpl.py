"""TVImpl: named views on the device, launchers by name, and a record of the content of each view: which stripe, how
many points, computed from which views.

It holds no formulas and no units, and keeps no address of the host's memory: a Block is used only in the call that
passes it.
"""

from __future__ import annotations

import difflib
import functools
from typing import Any

import kernels
from kernels.marshal import Marshal

from . import stripe as stripes
from .check import Check
from .errors import ArgumentError, StateError
from .launcher import Launcher, Timer

LANE_POINTS = 4096  # with shorter stripes, working on two at once gains nothing
VELOCITY = ("u", "v", "w")
IN_Q = ("p", "u", "v", "w", "T")  # then Y_1..Y_ns, then the host's further variables


class Filling:
    """The content that one call gave to one or more views. stripe: (first, last) of its points; count: number of points
    filled. For results of a launch, maker: its name; basis: the (view, filling) pairs that they were computed from.
    Results are stale as soon as one of these views is filled again."""

    __slots__ = ("stripe", "count", "basis", "maker")

    def __init__(self, stripe=None, count=0, basis=(), maker=""):
        self.stripe, self.count, self.basis, self.maker = stripe, count, basis, maker

    def changed(self) -> View | None:
        """A view of the basis that was filled again since, or None."""
        for source, filling in self.basis:
            if source.filled is not filling:
                return source
        return None


EMPTY = Filling()


class View:
    """A named device array (rows, row length), the point fastest, and a record of its content."""

    __slots__ = ("name", "unit", "rows", "matrix", "array", "parts", "filled")

    def __init__(self, name, unit, matrix, flat):
        self.name, self.unit, self.rows, self.matrix = name, unit, matrix.shape[0], matrix
        self.array = matrix[0] if flat else matrix
        self.parts, self.filled = (), EMPTY


@functools.lru_cache(None)
def _may_use(collection, asked: bool = False) -> tuple[tuple[str, ...], ...]:
    """Groups of names that a collection uses where the host has filled them. A collection that makes h also makes h0
    where there are velocities. asked: whether the caller names the outputs, h0 perhaps among them."""
    if collection is None:
        return ()
    moving = asked or ("h" in collection.outputs and "h0" not in collection.outputs)
    return (*[(q,) for q in collection.optional], *[VELOCITY] * moving)


class TVImpl:
    """Views and launchers for one chunk size, one mixture, one backend.

    chunk: points that the views hold. precision: "double"; "mixed": views are float32, which halves the device's memory
    and traffic, and kernels calculate in double; "single": kernels calculate in float32 too. With each of them the
    host's arrays may be double or single. A view is allocated and a launcher is compiled when it is first named; both
    stay.
    """

    def __init__(self, backend, chunk: int, ns: int, nq: int, rank: int = 0, precision: str = "double"):
        self.precision, self.dtype = precision, kernels.dtype_of(precision)
        self.backend, self.chunk, self.ns, self.nq = backend, chunk, ns, nq
        self.row = backend.pad(chunk)
        self.marshal = Marshal(backend)
        self.views: dict[str, View] = {}
        self.launchers: dict[tuple, Launcher] = {}  # by name, optional inputs in use, and outputs asked for
        self.mixture = None
        self.stripe: tuple[int, int] | None = None  # (first, last) of the stripe that was populated last
        self.geometry = None  # block of that stripe, turns a point into (i, j, k); its address is not used again
        self.timers: dict[str, Timer] | None = None
        self.check = Check(rank)
        self.checking = False
        self._offset = 0  # first column of the views in use
        self._rest: Any = None  # a row for the sum of mass fractions, NumPy's or CuPy's

    # ---- views ----

    def view(self, name: str) -> View:
        """The view of that name, allocated at its first use. Errors: ArgumentError for an unknown name lists the known
        ones."""
        found = self.views.get(name)
        return found if found is not None else self._allocate(name)

    def _allocate(self, name: str) -> View:
        if (name == "Q" or name in IN_Q or name == "Y") and (name == "Q" or self.nq >= self.ns + 4):
            self._allocate_q()
            return self.views[name]
        quantity = kernels.quantities.get(name)
        if quantity is None:
            names = sorted([*kernels.quantities, "Q"])
            raise ArgumentError(
                f"unknown tag '{name}'{self._near(name, names)}; known: {' '.join(names)}. Is //char(0) missing?"
            )
        matrix = self.backend.empty((quantity.rows(self.ns), self.row), self.dtype)
        self.views[name] = View(name, quantity.unit, matrix, quantity.per == "")
        return self.views[name]

    def _allocate_q(self) -> None:
        """Allocate Q and the views that are rows of it, without a copy. With nq = ns + 4 there is one row more, for the
        last mass fraction."""
        ns, nq = self.ns, self.nq
        storage = self.backend.empty((nq + (nq == ns + 4), self.row), self.dtype)
        q = self.views["Q"] = View("Q", "SI", storage[:nq], False)
        if nq >= ns + 4:
            units = {n: kernels.quantities[n].unit if n in kernels.quantities else "SI" for n in (*IN_Q, "Y")}
            for i, name in enumerate(IN_Q):
                self.views[name] = View(name, units[name], storage[i : i + 1], True)
            self.views["Y"] = View("Y", units["Y"], storage[5 : 5 + ns], False)
            q.parts = tuple(self.views[n] for n in (*IN_Q, "Y"))

    @staticmethod
    def _near(name, names) -> str:
        close = [n for n in names if n.lower() == name.lower()] or difflib.get_close_matches(name, names, 1)
        return f", did you mean '{close[0]}'" if close else ""

    def rows_for(self, name: str, variables: int) -> int:
        """Number of variables that a host passes for a view. Y may come without its last species, which is then 1 -
        sum."""
        rows = self.view(name).rows
        if variables == rows or (name == "Y" and variables == rows - 1 >= 1):
            return variables
        raise ArgumentError(f"'{name}' has {rows} variable{'s' * (rows > 1)}, {variables} given (SptData..EptData).")

    # ---- copies ----

    def populate_input(self, name: str, block, first: int, last: int) -> None:
        """Selected points first..last (Fortran) of the block -> view[:, 0..]. All that was computed from the view is
        then stale. Errors: ArgumentError for an unknown name, a wrong number of variables, a stripe that does not fit;
        in check mode StateError for a value that is impossible."""
        view = self.view(name)
        variables = block.n[3]
        if variables != view.rows:
            self.rows_for(name, variables)
        count = stripes.check_stripe(block, first, last, self.chunk)
        matrix = self._part(view.matrix) if variables == view.rows else self._part(view.matrix)[:variables]
        if self.timers is None:
            self.marshal.gather(block, first - 1, count, matrix)
        else:
            begin = self.backend.mark()
            self.marshal.gather(block, first - 1, count, matrix)
            self._timer(f"put {name}").add(begin, self.backend.mark(), count)
        if (view.parts and self.nq == self.ns + 4) or variables < view.rows:
            self._last_fraction(count)
        self.stripe, self.geometry = (first, last), block
        view.filled = filling = Filling(self.stripe, count)
        for part in view.parts:
            part.filled = filling
        if self.checking:
            for filled in view.parts or (view,):
                self.check.filled(filled, self.backend.to_host(filled.matrix)[:, :count], block, first)

    def _part(self, matrix):
        """The columns in use: all of them, except in a block call that works on two stripes at once."""
        return matrix[:, self._offset :] if self._offset else matrix

    def _last_fraction(self, count: int) -> None:
        """Y_ns = 1 - sum of the others, on the device. It is summed species by species: the result at a point does not
        depend on the point's place in the stripe."""
        fractions = self._part(self.views["Y"].matrix)
        if self._rest is None:
            self._rest = self.backend.empty(self.row)
        rest = self._part(self._rest[None])[0, :count]  # double: in single ns roundings would show
        rest[...] = 1.0
        for s in range(self.ns - 1):
            rest -= fractions[s, :count]
        fractions[self.ns - 1, :count] = rest

    def populate_output(self, name: str, block, first: int, last: int) -> None:
        """view[:, 0..] -> selected points first..last of the block. Errors: StateError for a view never computed or
        stale."""
        view = self.view(name)
        if block.n[3] != view.rows:
            raise ArgumentError(
                f"'{name}' has {view.rows} variable{'s' * (view.rows > 1)}, {block.n[3]} given (SptData..EptData)."
            )
        count = stripes.check_stripe(block, first, last, self.chunk)
        problem = self._problem(view, count, (first, last))
        if problem:
            raise StateError(f"'{name}' {problem}.")
        if self.timers is None:
            self.marshal.scatter(block, first - 1, count, self._part(view.matrix))
        else:
            begin = self.backend.mark()
            self.marshal.scatter(block, first - 1, count, self._part(view.matrix))
            self._timer(f"get {name}").add(begin, self.backend.mark(), count)

    def _problem(self, view: View, count: int, stripe) -> str:
        """The reason why a view cannot be read for `count` points of this stripe; '' when it can."""
        if view.parts:
            for part in view.parts:
                problem = self._problem(part, count, stripe)
                if problem:
                    return f"cannot be used: its '{part.name}' {problem}"
            if view.rows <= len(IN_Q) + self.ns:
                return ""
        filled = view.filled
        if filled is EMPTY:
            return "was never filled: populate it" + self._made_by(view.name)
        if filled.stripe != stripe:
            return f"is stale: it holds stripe {filled.stripe[0]}..{filled.stripe[1]}, wanted {stripe[0]}..{stripe[1]}"
        changed = filled.changed()
        if changed is not None:
            return f"is stale: '{changed.name}' was changed after '{filled.maker}' computed it"
        if filled.count < count:
            return f"holds {filled.count} points, {count} wanted"
        return ""

    def _made_by(self, name: str) -> str:
        makers = [c.name for c in kernels.registry.collections.values() if name in c.outputs]
        makers += [k.name for k in kernels.registry.kernels.values() if name in k.writes]
        return f" or launch {' or '.join(repr(m) for m in makers[:3])}" if makers else ""

    # ---- launches ----

    def set_mixture(self, mixture) -> None:
        """Use another mixture. Launchers hold the constants of their mixture, so they are dropped."""
        self.mixture = mixture
        self.launchers.clear()
        for view in self.views.values():  # results of an earlier mixture are void
            if view.filled.basis:
                view.filled = EMPTY

    def launcher(self, name: str, more: tuple[str, ...] | None = None, asked: frozenset[str] | None = None) -> Launcher:
        """The launcher of that name or alias. It is compiled and bound at its first use, and kept.

        more: optional inputs that it uses; None: those that the host has filled for this stripe. asked: the outputs
        wanted; None: all that the collection lists. Errors: ArgumentError lists the names that may be launched, or
        names an output that cannot be made; StateError where only a mixture is missing.
        """
        name = kernels.registry.name_of(name)
        if more is None:
            more = tuple(
                [q for group in _may_use(kernels.registry.collections.get(name)) if self._brought(group) for q in group]
            )
        key = (name, more) if asked is None else (name, more, asked)
        found = self.launchers.get(key)
        if found is None:
            found = self.launchers[key] = self._make(name, more, asked)
        return found

    @staticmethod
    def variants(name: str, asked: bool = False) -> list[tuple[str, ...]]:
        """The values that `more` of launcher may take, one group of optional inputs after another."""
        return [(), *_may_use(kernels.registry.collections.get(kernels.registry.name_of(name)), asked)]

    def _brought(self, group) -> bool:
        views = [self.views.get(q) for q in group]
        return all(v is not None and v.filled is not EMPTY and v.filled.stripe == self.stripe for v in views)

    def _known(self, name: str) -> None:
        names = [*kernels.registry.collections, *kernels.registry.kernels]
        if name not in names:
            raise ArgumentError(
                f"unknown kernel or collection '{name}'{self._near(name, names)}; known: {' '.join(names)}. "
                "Is //char(0) missing?"
            )

    def _make(self, name: str, more: tuple[str, ...], asked: frozenset[str] | None) -> Launcher:
        self._known(name)
        try:
            program = self._program(name, more, asked)
        except ArgumentError as error:
            if self.mixture is not None:
                raise
            raise StateError(
                f"launch of '{name}' before a mixture: call frame_tvproperties_loadmixture or "
                f"frame_tvproperties_populatepreosshareddata first ({error})"
            ) from error
        views = {q: self.view(q) for q in dict.fromkeys((*program.reads, *program.writes))}
        return Launcher(name, program, views)

    def _program(self, name: str, more: tuple[str, ...], asked: frozenset[str] | None):
        mixture = self.mixture or kernels.Mixture(kernels.NoSpecies(self.ns))
        collection = kernels.registry.collections.get(name)
        if collection is None:
            kernel = kernels.registry.kernels[name]
            strange = sorted((asked or set()) - {*kernel.reads, *kernel.writes})
            if strange:
                raise ArgumentError(f"kernel '{name}' makes {', '.join(kernel.writes)}, not {', '.join(strange)}.")
            return kernels.Program(mixture, kernels=[name], backend=self.backend, precision=self.precision)
        if asked is None:
            outputs = [*collection.outputs, *["h0"] * ("h" in collection.outputs and VELOCITY[0] in more)]
        else:  # sorted: the same outputs in any order are the same program
            outputs = [q for q in dict.fromkeys((*collection.outputs, *kernels.quantities)) if q in asked]
        return kernels.Program(
            mixture,
            outputs=outputs,
            given=[*collection.given, *more],
            backend=self.backend,
            precision=self.precision,
            name=name,
        )

    def safe_launch(self, name: str, n_active: int) -> None:
        """Run a launcher on the first n_active points of its views.

        Errors: ArgumentError for an unknown name or n_active outside the chunk; StateError names every input that is
        missing, stale or short; in check mode StateError for a result that is not a number.
        """
        if not 1 <= n_active <= self.chunk:
            raise ArgumentError(
                f"nActive = {n_active}, wanted 1..{self.chunk} (nGridPoints); did the caller forget %VAL()?"
            )
        self._run(self.launcher(name), n_active)

    def _run(self, launcher: Launcher, n_active: int) -> None:
        stripe = self.stripe
        for view in launcher.reads:
            filled = view.filled  # the count of an empty view is 0
            if (
                filled.stripe is not stripe
                and filled.stripe != stripe
                or filled.count < n_active
                or filled.basis
                and filled.changed() is not None
            ):
                self._refuse(launcher, n_active)
        if self.timers is None:
            launcher.run[self._offset](n_active)
        else:
            begin = self.backend.mark()
            launcher.run[self._offset](n_active)
            self._timer(launcher.name).add(begin, self.backend.mark(), n_active)
        for sources, results in launcher.groups:
            basis = tuple([pair for v in sources for pair in ((v, v.filled), *v.filled.basis)])
            filling = Filling(stripe, n_active, basis, launcher.name)
            for view in results:
                view.filled = filling
        if self.checking and stripe:
            self.check.computed(launcher, n_active, self.backend, self.geometry, stripe[0])

    def _refuse(self, launcher: Launcher, n_active: int) -> None:
        if self.stripe is None:
            raise StateError(
                f"'{launcher.name}' has no inputs yet: populate {', '.join(v.name for v in launcher.reads)}."
            )
        problems = [f"'{v.name}' {p}" for v in launcher.reads if (p := self._problem(v, n_active, self.stripe))]
        raise StateError(f"'{launcher.name}' cannot run: {'; '.join(problems)}.")

    def block(self, name: str, inputs, outputs) -> None:
        """The chunk loop over whole selections. inputs, outputs: (view name, Block) pairs with the same number of
        points.

        One program computes the named outputs, and no others, from the inputs of the collection. Outputs that the
        collection does not list are made too where its inputs suffice. A single kernel makes its own outputs only.
        Errors: ArgumentError for different numbers of points, an unknown name, an output that cannot be made;
        StateError for an input that is missing.
        """
        fields = (*inputs, *outputs)
        shapes = {b.n[:3] for _, b in fields}
        if len(shapes) > 1:  # extents of 1 do not count, and nothing is like nothing
            shapes = {tuple(m for m in n if m != 1) if all(n) else None for n in shapes}
        if len(shapes) > 1:
            told = ", ".join(f"'{n}' {' x '.join(map(str, b.n[:3]))}" for n, b in fields)
            raise ArgumentError(f"the arrays of a block call select different shapes of points: {told}.")
        if not outputs:
            raise ArgumentError(f"a block call of '{name}' without outputs: nothing to compute.")
        total = fields[0][1].points
        if not total:  # a rank without points of this block still takes part
            self._known(kernels.registry.name_of(name))
            return
        brought, wanted = self._names(inputs), frozenset(q for q in self._names(outputs) if q in kernels.quantities)
        more = [group for group in self.variants(name, asked=True) if brought.issuperset(group)]
        launcher = self.launcher(name, tuple(q for group in more for q in group), wanted)
        with self.marshal.session([b for _, b in fields]) as lanes:
            # each lane has its own part of the views, at least LANE_POINTS wide; check mode takes one stripe at a time
            parts = 1 if self.checking else max(1, min(len(lanes), self.chunk // LANE_POINTS))
            width = self.chunk // parts // 32 * 32 if parts > 1 else self.chunk
            try:
                for number, first in enumerate(range(1, total + 1, width)):
                    last = min(first + width - 1, total)
                    self._offset = number % parts * width
                    with lanes[number % parts]:
                        for tag, block in inputs:
                            self.populate_input(tag, block, first, last)
                        self._run(launcher, last - first + 1)
                        for tag, block in outputs:
                            self.populate_output(tag, block, first, last)
            finally:
                self._offset = 0
                self.stripe = None  # the views hold no stripe of the host's now, after success or failure
                for view in self.views.values():
                    view.filled = EMPTY

    def _names(self, fields) -> set[str]:
        """Names of the views that the arrays of a block call belong to, the rows of Q included."""
        views = [self.view(name) for name, _ in fields]
        return {v.name for view in views for v in (view, *view.parts)}

    # ---- timers ----

    def time(self, on: bool) -> None:
        """Switch timers on (from zero) or off. When off they cost a launch one comparison."""
        self.timers = ({} if self.timers is None else self.timers) if on else None

    def _timer(self, name: str) -> Timer:
        assert self.timers is not None  # whoever asks has looked
        return self.timers.get(name) or self.timers.setdefault(name, Timer(self.backend))

    def free(self) -> None:
        """Drop views and launchers; this frees the device's memory."""
        self.backend.synchronize()
        self.marshal.release()
        self.launchers.clear()
        self.views.clear()
