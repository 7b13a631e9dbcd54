"""TVImpl: named views on the device, launchers by name, and a record of the content of each view: which stripe, how
many points, computed from which views, filled from which array. Each thread has its own.

It holds no formulas and no units. An address of the host's memory is used only in the call that passes it; what
repeats a block call is found by that call's own arguments, addresses included.
"""

from __future__ import annotations

import collections
import copy
import functools
import weakref
from itertools import pairwise
from typing import Any

import kernels
from kernels.engine.backend.base import IN, OUT, WORK, Lent, Pipeline, Pointer
from kernels.gas.declare import LISTED
from kernels.marshal import Block, Marshal

from . import stripe as stripes, teams
from .blocks import PARTS, BlockCall
from .check import Check
from .errors import ArgumentError, StateError, closest, refuse
from .launcher import Launcher
from .overlap import refuse_overlaps
from .views import EMPTY, USED, Filling, Lost, OfMixtureBefore, View
from .watch import COPIES_IN, COPIES_OUT, KERNELS, Watch

VELOCITY = ("u", "v", "w")
IN_Q = ("p", "u", "v", "w", "T")  # then Y_1..Y_ns, then the host's further variables
COPIED_FROM = 2**22  # points of whole arrays that copy engines bring; fewer, and boxes, are reached across the link
# where Y comes without its last species
LAST_FROM_SUM = (
    " For a last mass fraction of 1 less the sum of the others: frame_setoption('last_species', 'sum') before "
    "frame_initialize."
)
MOVERS = 512  # copies of stripe calls that are kept


@functools.lru_cache(None)
def _may_use(collection, asked: bool = False) -> tuple[tuple[str, ...], ...]:
    """Groups of names that a collection uses where the host has filled them. A collection that makes h also makes h0
    where there are velocities. asked: whether the caller names the outputs, h0 perhaps among them."""
    if collection is None:
        return ()
    moving = asked or ("h" in collection.outputs and "h0" not in collection.outputs)
    return (*[(q,) for q in collection.optional], *[VELOCITY] * moving)


def _known(what: str, name: str, names) -> None:
    """Raises ArgumentError, with the nearest name, where `name` is not among them."""
    if name not in names:
        raise ArgumentError(f"unknown {what} '{name}'{closest(name, names) or LISTED}. Is //char(0) missing?")


def _apart(ranges) -> bool:
    """Whether no two of these (address, end) share memory."""
    return all(end <= start for (_, end), (start, _) in pairwise(sorted(ranges)))


def _launchable(name: str) -> None:
    refuse(
        name in kernels.registry.team_kernels,
        f"'{name}' is a team kernel, which works on whole arrays: call frame_block('{name}', [frame_in('A', A), ...]).",
    )
    _known("kernel or collection", name, [*kernels.registry.collections, *kernels.registry.kernels])


class TVImpl:
    """Views and launchers for one chunk size, one mixture, one backend, one thread.

    chunk: points that the views hold. precision: "double"; "mixed": views are float32, which halves the device's memory
    and traffic, and kernels calculate in double; "single": kernels calculate in float32 too. With each of them the
    host's arrays may be double or single. A view is allocated and a launcher is compiled when it is first named; both
    stay. Threads share the mixture, the compiled programs, timers and check mode: set_mixture, time and free are for
    all of them.
    """

    def __init__(self, backend, chunk: int, ns: int, nq: int, rank: int = 0, precision: str = "double"):
        self.views: dict[str, View] = {}  # __del__ looks at it, also where what follows fails
        self.precision, self.dtype = precision, kernels.dtype_of(precision)
        self.backend, self.chunk, self.ns, self.nq = backend, chunk, ns, nq
        self.row, self.marshal = backend.pad(chunk), Marshal(backend)
        self.mixture = None
        self.programs: dict[tuple, kernels.Program] = {}  # keys as those of launchers
        self.watch = Watch(backend)
        self.last_from_sum = nq == ns + 4  # Y may come without its last species, which is then 1 less the others' sum
        self.later = False
        self.turns = False  # ranks share the device without a service: a kernel holds it, also while the link is slow
        self.check = Check(rank)
        self.threads: weakref.WeakSet[TVImpl] = weakref.WeakSet()  # this and its twins
        self._own()

    def _own(self) -> None:
        """What a thread has for itself."""
        self.marshal = self.marshal.twin()
        self.views = {}
        self.launchers: dict[tuple, Launcher] = {}  # by name, optional inputs in use, and outputs asked for
        self.stripe: tuple[int, int] | None = None  # (first, last) of the stripe that was populated last
        self.geometry = None  # block of that stripe, turns a point into (i, j, k); its address is not used again
        self.pipe = self.backend.pipeline(PARTS)  # of block calls
        self.waits = True  # until the host has named its stream
        self._set_steps()
        self._leaving: set[str] = set()  # storage of views that are still being fetched
        self._gets: list[tuple] = []  # (block, matrix) of fetches that are not queued yet, all of the same points:
        self._points = 0, 0  # start, count
        self._uses = 0  # launches so far
        self._filled = False  # whether a view holds something
        self.replays: dict[tuple, Any] = {}  # what repeats a block call, by the arguments as the host passes them
        self.contracted: dict[int, tuple] = {}  # buffers of contractions, by the plan's id; see Contractions
        self._rest: Any = None  # what completes mass fractions
        self._movers: dict[tuple, tuple] = {}
        self.threads.add(self)

    def twin(self) -> TVImpl:
        """The same for another thread, with empty views."""
        other = copy.copy(self)
        other._own()
        return other

    def _set_steps(self) -> None:
        """Where stripe calls are queued."""
        if not self.waits:
            pipe = Pipeline(self.backend)  # the host's stream
        else:
            pipe = self.pipe if self.later else self.pipe.in_order()
        self._stripes = pipe
        self._in, self._work = pipe.step(IN, 0, (WORK,)), pipe.step(WORK, 0, (IN, OUT))
        self._out = pipe.step(OUT, 0, (WORK, IN))

    def use_stream(self, stream: int) -> None:
        """Queue this thread's calls on a stream of the host's. Calls on arrays of the device wait for nothing then."""
        self.wait()
        self.backend.set_stream(stream)
        self.waits = False
        self._set_steps()

    def __del__(self):
        self._empty()  # fillings and views refer to each other: the memory is free now, not at some later collection

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
        _known("tag", name, sorted([*kernels.quantities, "Q"]))
        quantity = kernels.quantities[name]
        nr = self.mixture.nr if quantity.per == "nr" and self.mixture else 0
        matrix = self.backend.empty((quantity.rows(self.ns, nr), self.row), self.dtype)
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
                self.views[name] = View(name, units[name], storage[i : i + 1], True, "Q")
            self.views["Y"] = View("Y", units["Y"], storage[5 : 5 + ns], False, "Q")
            q.parts = tuple(self.views[n] for n in (*IN_Q, "Y"))

    @staticmethod
    def _check_variables(view: View, given: int, least: int) -> None:
        if not least <= given <= view.rows:
            hint = LAST_FROM_SUM if view.name == "Y" and given == view.rows - 1 else ""
            raise ArgumentError(
                f"'{view.name}' has {view.rows} variable{'s' * (view.rows > 1)}, {given} given (SptData..EptData)."
                + hint
            )

    def least(self, view: View) -> int:
        """The fewest variables that may come for this view."""
        return view.rows - (self.last_from_sum and view.name == "Y" and view.rows > 1)

    # ---- copies ----

    def populate_input(self, name: str, block, first: int, last: int) -> None:
        """Selected points first..last (Fortran) of the block -> view[:, 0..]. All that was computed from the view is
        then stale. Errors: ArgumentError for an unknown name, a wrong number of variables, a stripe that does not fit;
        in check mode StateError for a value that is impossible."""
        view = self.view(name)
        self._fetch()
        variables = block.n[3]
        self._check_variables(view, variables, self.least(view))
        count = stripes.check_stripe(block, first, last, self.chunk)
        matrix = view.matrix if variables == view.rows else view.matrix[:variables]
        self._filled = True
        if view.storage in self._leaving:
            self.wait()
        run, reach = self._mover("gather", name, block, count, matrix)
        with self._in:
            self.timed(COPIES_IN, "put", name, count, block.size * variables * count, run, first - 1, count)
            if (view.parts and self.nq == self.ns + 4) or variables < view.rows:
                self._last_fraction(count)
        if reach == "shared" and not self.later:
            self._stripes.wait(IN)  # the host may change its array as soon as the call returns
        source = view.source
        if source is not block and source is not None and self._another(view, block):
            self._begin_block(name)
        self.stripe, self.geometry, view.source = (first, last), block, block
        view.filled = filling = Filling(self.stripe, count, (), "", self._uses)
        for part in view.parts:
            part.filled, part.source = filling, block
        if self.check.on:
            for filled in view.parts or (view,):
                self.check.filled(filled, self.backend.to_host(filled.matrix)[:, :count], block, first)

    def _mover(self, verb: str, name: str, block, count: int, matrix):
        """(run(start, count), reach of the block) for copies between the block and the view of this name. What has come
        twice is bound and kept: where it lies is asked again after the next pin or unpin."""
        key, pins = (verb, name, count, id(block)), self.backend.pins
        kept = self._movers.get(key)
        if kept is not None and kept[0] is block and kept[1] == pins:
            if kept[2] is None:
                run = self.marshal.moves(verb, [(block, matrix)], points=count).run
                kept = self._movers[key] = block, pins, run, kept[3]
            return kept[2:]
        reach = self.marshal.reach(block)
        if self.backend.pinned(*block.range):  # else it may become something else without a word
            if len(self._movers) >= MOVERS:
                self._movers.clear()
            self._movers[key] = block, pins, None, reach
        return functools.partial(getattr(self.marshal, verb), block, view=matrix), reach

    def _another(self, view: View, block) -> bool:
        """Whether this array belongs to another block than the one that the view was filled from. It does if a launch
        used that content and the host now names another array: also for T of its own after T of Q."""
        return view.source != block and view.filled.when == USED

    def _begin_block(self, name: str) -> None:
        """Another block begins: what was filled before the last launch belongs to the one before."""
        for view in self.views.values():
            filled = view.filled
            if filled.when < self._uses:
                view.source = None
                if filled is not EMPTY:
                    view.filled = Lost(filled.maker, name)

    def _empty(self) -> None:
        """Forget what the views hold."""
        self.stripe = None
        for view in self.views.values():
            view.filled, view.source = EMPTY, None

    def _last_fraction(self, count: int) -> None:
        """Y_ns = 1 - sum of the others."""
        if self._rest is None:
            self._rest = self.marshal.last_fraction(self.views["Y"].matrix)
        self._rest(count, 0)

    def populate_output(self, name: str, block, first: int, last: int) -> None:
        """view[:, 0..] -> selected points first..last of the block. Errors: StateError for a view never computed or
        stale."""
        view = self.view(name)
        self._check_variables(view, block.n[3], view.rows)
        count = stripes.check_stripe(block, first, last, self.chunk)
        problem = self._problem(view, count, (first, last))
        if problem:
            raise StateError(f"'{name}' {problem}.")
        if self.later and not self.watch.on and self.marshal.reach(block) == "shared":
            self._fetch_later(first - 1, count, block, view)
            return
        self._fetch()
        run, reach = self._mover("scatter", name, block, count, view.matrix)
        with self._out:
            self.timed(COPIES_OUT, "get", name, count, block.size * block.n[3] * count, run, first - 1, count)
        if reach == "own":
            if self.waits:
                self._stripes.wait(OUT)
        elif reach == "shared" and not self.later:
            self._stripes.wait(OUT)  # the host may read its array as soon as the call returns
        elif reach == "shared":
            self._leaving.add(view.storage)

    def _fetch_later(self, start: int, count: int, block, view: View) -> None:
        """Fetches of the same points, into arrays that are apart, become one launch."""
        low, high = block.range
        apart = all(high <= other.range[0] or other.range[1] <= low for other, _ in self._gets)
        if not apart or self._points != (start, count):
            self._fetch()
        self._points = start, count
        self._gets.append((block, view.matrix))
        self._leaving.add(view.storage)

    def _fetch(self) -> None:
        """Queue what `_fetch_later` has kept; before a view that it reads may change."""
        if self._gets:
            gets, self._gets = self._gets, []
            with self._out:
                self.marshal.scatter_together(gets, *self._points)

    def wait(self) -> None:
        """For all that this thread's stripe calls have queued."""
        self._fetch()
        self._stripes.wait()
        self._leaving.clear()

    def _problem(self, view: View, count: int, stripe) -> str:
        """The reason why a view cannot be read for `count` points of this stripe; '' when it can."""
        for part in view.parts:
            problem = self._problem(part, count, stripe)
            if problem:
                return f"cannot be used: its '{part.name}' {problem}"
        if view.parts and view.rows <= len(IN_Q) + self.ns:
            return ""
        filled = view.filled
        if filled is EMPTY:
            told = "was never filled: populate it"
            if self._elsewhere(view.name):
                told = "was never filled by this thread, another thread filled its own: populate it here"
            return told + self._made_by(view.name)
        gone = filled.gone(view.name)
        if gone:
            return gone
        if filled.stripe != stripe:
            return f"is stale: it holds stripe {filled.stripe[0]}..{filled.stripe[1]}, wanted {stripe[0]}..{stripe[1]}"
        changed = filled.changed(view)
        if changed is not None:
            return f"is stale: '{changed.name}' was changed after '{filled.maker}' computed it"
        if filled.count < count:
            return f"holds {filled.count} points, {count} wanted"
        return ""

    def _elsewhere(self, name: str) -> bool:
        """Whether another thread has filled its view of this name."""
        return any(name in t.views and t.views[name].filled is not EMPTY for t in self.threads if t is not self)

    def _made_by(self, name: str) -> str:
        several, single = kernels.registry.collections.values(), kernels.registry.kernels.values()
        makers = [c.name for c in several if name in c.outputs and name not in c.given]
        makers += [k.name for k in single if name in k.writes and name not in k.reads]
        return f" or launch {' or '.join(repr(m) for m in makers[:3])}" if makers else ""

    # ---- launches ----

    def set_mixture(self, mixture) -> None:
        """Use another mixture. Launchers hold the constants of their mixture, so they are dropped. Results are stale.
        So are views with a value for each species, where these are others or in another order."""
        before = self.mixture
        same_species = before is None or before.names == mixture.names
        self.programs.clear()
        self.wait_for_all()  # kernels that are queued read the constants of the mixture before
        for thread in self.threads:
            thread.mixture = mixture
            thread.launchers.clear()
            thread.replays.clear()
            thread._void(same_species)
            quantities = kernels.quantities
            for name in [name for name in thread.views if name in quantities and quantities[name].per == "nr"]:
                thread.marshal.let_go()
                thread._movers.clear()
                del thread.views[name]  # it has a row for each reaction of the mixture before

    def _void(self, same_species: bool) -> None:
        """Mark what views hold of the mixture before as stale."""
        for view in self.views.values():
            filled, name = view.filled, view.name
            of_species = name == "Q" or kernels.quantities[name].per != ""
            if filled is not EMPTY and (filled.maker or (of_species and not same_species)):
                view.filled = OfMixtureBefore(maker=filled.maker)

    def wait_for_all(self) -> None:
        """For what the calls of all threads have queued."""
        for thread in self.threads:
            thread.wait()

    @property
    def begun(self) -> bool:
        """Whether a mixture is loaded, or a thread has views."""
        return self.mixture is not None or any(t.views for t in self.threads)

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
            found = self.launchers[key] = self._make(key, name, more, asked)
        return found

    @staticmethod
    def variants(name: str, asked: bool = False) -> list[tuple[str, ...]]:
        """The values that `more` of launcher may take, one group of optional inputs after another."""
        return [(), *_may_use(kernels.registry.collections.get(kernels.registry.name_of(name)), asked)]

    def _brought(self, group) -> bool:
        views = [self.views.get(q) for q in group]
        return all(v is not None and v.filled is not EMPTY and v.filled.stripe == self.stripe for v in views)

    def _make(self, key, name: str, more: tuple[str, ...], asked: frozenset[str] | None) -> Launcher:
        _launchable(name)
        try:
            program = self.programs.get(key) or self.programs.setdefault(key, self._program(name, more, asked))
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
            refuse(strange, f"kernel '{name}' makes {', '.join(kernel.writes)}, not {', '.join(strange)}.")
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
                and filled.changed(view) is not None
            ):
                self._refuse(launcher, n_active)
            filled.when = USED
        self._fetch()
        self._uses += 1
        self._filled = True
        with self._work:
            self.timed(KERNELS, "", launcher.name, n_active, 0, launcher.run[0], n_active)
        number = {view: view.filled.number for view in launcher.reads}  # before results overwrite some of them
        for sources, results in launcher.groups:
            basis = tuple([(view, number[view]) for view in sources])
            filling = Filling(stripe, n_active, basis, launcher.name)
            for view in results:
                view.filled = filling
        if self.check.on and stripe:
            species = self.mixture and self.mixture.species
            self.check.computed(launcher, n_active, self.backend, self.geometry, stripe[0], species)

    def _refuse(self, launcher: Launcher, n_active: int) -> None:
        refuse(
            self.stripe is None and not any(self._elsewhere(v.name) for v in launcher.reads),
            f"'{launcher.name}' has no inputs yet: populate {', '.join(v.name for v in launcher.reads)}.",
            StateError,
        )
        problems = [f"'{v.name}' {p}" for v in launcher.reads if (p := self._problem(v, n_active, self.stripe))]
        raise StateError(f"'{launcher.name}' cannot run: {'; '.join(problems)}.")

    def block(self, name: str, inputs, outputs, order=()):
        """The chunk loop over whole selections. inputs, outputs: (view name, Block) pairs with the same number of
        points. order: one more, if any, by whose numbers points are worked on side by side.

        One program computes the named outputs, and no others, from the inputs of the collection. Outputs that the
        collection does not list are made too where its inputs suffice. A single kernel makes its own outputs only.
        Errors: ArgumentError for different numbers of points, an unknown name, an output that cannot be made;
        StateError for an input that is missing. Arrays on the device are worked on in place where they can be, in the
        order of the current stream; then what repeats the call is returned. ArgumentError also for an output that
        shares memory with another one, or with an input of other points (overlap.py).
        """
        fields = (*inputs, *order, *outputs)
        shapes = {b.n[:3] for _, b in fields}
        if len(shapes) > 1:  # extents of 1 do not count, and nothing is like nothing
            shapes = {tuple(m for m in n if m != 1) if all(n) else None for n in shapes}
        if len(shapes) > 1:
            told = ", ".join(f"'{n}' {' x '.join(map(str, b.n[:3]))}" for n, b in fields)
            raise ArgumentError(f"the arrays of a block call select different shapes of points: {told}.")
        if not outputs:
            raise ArgumentError(f"a block call of '{name}' without outputs: nothing to compute.")
        twice = [tag for tag, count in collections.Counter(tag for tag, _ in inputs).items() if count > 1]
        refuse(bool(twice), f"a block call of '{name}' gets '{', '.join(twice)}' twice: which of the arrays counts?")
        total = fields[0][1].points
        if not total:  # a rank without points of this block still takes part
            _launchable(kernels.registry.name_of(name))
            return None
        brought, wanted = self._names(inputs), frozenset(q for q in self._names(outputs) if q in kernels.quantities)
        more = [group for group in self.variants(name, asked=True) if brought.issuperset(group)]
        launcher = self.launcher(name, tuple(q for group in more for q in group), wanted)
        refuse_overlaps(f"a block call of '{name}'", (*inputs, *order), outputs)
        call, holds = self._bound(launcher, inputs, outputs, order, brought)
        call()

        def again() -> None:
            nonlocal call, holds
            if not holds():
                call, holds = self._bound(launcher, inputs, outputs, order, brought)
            call()

        return again

    def _bound(self, launcher: Launcher, inputs, outputs, order, brought):
        """A block call, and whether it may still be made: what lies where is as it was found, and check mode too."""
        run, hosts = (None, []) if order else self._resident(launcher, inputs, outputs)
        if run is None or (hosts and hosts[0].whole and hosts[0].points >= COPIED_FROM):
            self.forget()  # an input that this call lacks must not come from an earlier one
            self._check_block(launcher, brought, outputs)
            by = self.view(order[0][0]) if order else None
            into, out = ([(self.views[tag], block) for tag, block in way] for way in ((*inputs, *order), outputs))
            for view, block in into:
                self._check_variables(view, block.n[3], self.least(view))
            for view, block in out:
                self._check_variables(view, block.n[3], view.rows)
            call = BlockCall(self, launcher, into, out, by, run)
            return call.run, call.holds
        backend, total, pins = self.backend, outputs[0][1].points, self.backend.pins
        asked = [block for block in hosts if not backend.pinned(*block.range)]

        def launch() -> None:
            if hosts and self._filled:
                self.wait()  # for copies of these arrays that are queued
            self.timed(KERNELS, "", launcher.name, total, 0, run, total)
            if hosts:
                backend.synchronize()
            elif self.waits:
                self.settle()

        def holds() -> bool:
            same = not hosts or (pins == backend.pins and all(self.marshal.reach(b) == "shared" for b in asked))
            return same and not self.check.on

        return launch, holds

    def _check_block(self, launcher: Launcher, brought, outputs) -> None:
        """Raises StateError for inputs and outputs that this call neither brings nor makes."""
        missing = [view for view in launcher.reads if view.name not in brought]
        if missing:
            refuse(
                not brought,
                f"'{launcher.name}' has no inputs yet: populate {', '.join(v.name for v in launcher.reads)}.",
                StateError,
            )
            problems = [f"'{v.name}' {self._problem(v, 1, None)}" for v in missing]
            raise StateError(f"'{launcher.name}' cannot run: {'; '.join(problems)}.")
        there = brought | {view.name for view in launcher.writes}
        for tag, _ in outputs:
            view = self.views[tag]
            lacks = [part for part in view.parts if part.name not in there]
            if tag not in there and (lacks or not view.parts or view.rows > len(IN_Q) + self.ns):
                lack = (lacks or [view])[0]
                of_it = f"cannot be used: its '{lack.name}' " if lacks else ""
                raise StateError(f"'{tag}' {of_it}{self._problem(lack, 1, None)}.")

    def forget(self) -> None:
        """What stripe calls have left in the views; a block call uses them for itself."""
        if self._filled:
            self.wait()
            self._empty()
            self._filled = False

    def team(self, name: str, fields):
        """Run a team kernel on the host's arrays; returns what repeats the call."""
        run = teams.call(kernels.registry.team_kernels[name], fields, self.backend)

        def again() -> None:
            self.timed(KERNELS, "", name, 1, 0, run)
            self.settle()

        self.timed(KERNELS, "", name, 1, 0, lambda: run(first=True))
        self.settle()
        return again

    def settle(self) -> None:
        """Wait for results in arrays of the device, unless the host orders its own work by a stream that it named."""
        if self.waits and self.backend.memory == "device":
            self.backend.synchronize()

    def _resident(self, launcher: Launcher, inputs, outputs):
        """(run(points) on the host's own arrays, without views and copies, the blocks that lie in the host's memory);
        (None, []) where that cannot be. Kernels have to reach all arrays, which have the views' type; no two may share
        memory. Their points lie one behind the other, or are the same box of larger arrays. Across a link a launch has
        to touch each number once; copy engines bring the largest whole arrays. On a CPU only slabs of a few points in x
        are worked on so, for which copies cost more than the kernel."""
        no: tuple[None, list[Block]] = (None, [])
        hosts: list[Block] = []
        device, program = self.backend.memory == "device", launcher.program
        if self.check.on or not (device or program.small):
            return no
        arrays: dict[str, Lent] = {}
        given: dict[str, Any] = {}
        ranges, boxes = [], set()
        for tag, block in (*inputs, *outputs):
            boxes.add(None if block.whole else (*block.n[:3], *block.strides[:3]))
            view, rows = self.views[tag], block.n[3]
            if tag in given and given[tag] == block:  # read and written in place
                continue
            fits = rows == view.rows and block.size == self.dtype.itemsize and tag not in given
            given[tag] = block
            reach = self.marshal.reach(block)
            if not fits or reach == "no" or (view.parts and self.nq == self.ns + 4):
                return no
            if reach == "shared":
                hosts.append(block)
            ranges.append(block.range)
            at, row = block.first, block.size * block.strides[3]
            for part in view.parts or (view,):  # the rows of Q, one after the other
                arrays[part.name] = Lent(Pointer(at), (part.rows, block.points), (row, block.size), self.dtype)
                at += part.rows * row
        brought, made = self._names(inputs), {tag for tag, _ in outputs}
        fits = set(program.reads) <= brought and set(program.writes) == made and _apart(ranges) and len(boxes) == 1
        box = boxes.pop()
        if not fits or box and box[0] * box[1] * box[2] >= 2**31:
            return no
        if hosts and not program.touches_once:
            return no
        # with any box: a later call may have a shorter one, and what the first calls compiled should be all
        if not device and not (box and program.has_boxed and box[0] <= program.longest_line and box[3] == 1):
            return no
        if not box:
            return program.bind(arrays, across=bool(hosts)), hosts
        nx, ny, _, *strides = box
        return program.bind(arrays, (nx, ny, *strides), bool(hosts)), hosts

    def _names(self, fields) -> set[str]:
        """Names of the views that the arrays of a block call belong to, the rows of Q included."""
        views = [self.view(name) for name, _ in fields]
        return {v.name for view in views for v in (view, *view.parts)}

    # ---- timers ----

    @property
    def timers(self):
        """{name: Timer}, None where they are off."""
        return self.watch.timers

    def pack_with(self, threads: int) -> None:
        """How many threads pack pageable memory."""
        for thread in self.threads:
            thread.marshal.pack_with(threads)

    def queue(self, on: bool) -> None:
        """Whether stripe calls return before pinned arrays were read and written. Off: what is queued is done first."""
        for thread in self.threads:
            thread.wait()
            thread.later = on
            thread._set_steps()

    def timed(self, track: str, verb: str, name: str, points: int, nbytes: int, work, *arguments):
        """work(*arguments); where somebody looks, its time under verb and name. Off it costs one comparison."""
        if not self.watch.on:
            return work(*arguments)
        return self.watch.run(track, f"{verb} {name}" if verb else name, points, nbytes, work, *arguments)

    def free(self) -> None:
        """Drop views and launchers; this frees the device's memory."""
        self.backend.synchronize()
        self.programs.clear()
        self.wait_for_all()
        for thread in self.threads:
            thread._empty()
            thread._movers.clear()
            thread.marshal.release()
            thread.launchers.clear()
            thread.contracted.clear()
            thread.views.clear()
