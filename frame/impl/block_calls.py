"""Block calls: a whole selection of the host's arrays in one call.

A call is checked, then bound. Where kernels reach all arrays, one launch works on them in place. Otherwise the call
goes through the views, piece by piece (pieces.py).
"""

from __future__ import annotations

import collections
import functools
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

import kernels
from kernels.engine.backend.base import Memory, Rows
from kernels.gas.program import Uneven
from kernels.marshal import Block

from ..errors import ArgumentError, StateError, refuse
from ..overlap import refuse_overlaps
from ..stripe import without_ones
from .copies import StripeCopies
from .launchers import Fields, Launcher, Launchers, check_launchable, known_inputs, variants
from .memory import Bound
from .pieces import PieceLoop
from .state import ThreadState

COPIED_FROM = 2**22  # points of whole arrays that copy engines bring; fewer, and boxes, are reached across the link
MOST_POINTS = 2**31  # of a box that a launch works on in place
SHORT = 4  # points in x of a slab, which a CPU works on where it lies whatever the kernels do
LONG = 4096  # points of a line of repeated numbers, which stay in a core's cache


def is_number(block: Block) -> bool:
    """Whether the selection is one point that counts at all points of a call. An array without elements is none."""
    return block.points > 0 and not any(any(array.strides[:3]) for array in block.arrays)


class Request(NamedTuple):
    """A block call as the host passes it. Fields are (view name, Block) pairs with the same number of points."""

    name: str  # of the collection or kernel
    inputs: list[tuple[str, Block]]
    outputs: list[tuple[str, Block]]
    order: list[tuple[str, Block]]  # at most one: points with similar values there are worked on side by side

    @property
    def read(self) -> list[tuple[str, Block]]:
        return [*self.inputs, *self.order]

    @property
    def fields(self) -> list[tuple[str, Block]]:
        return [*self.read, *self.outputs]

    @property
    def points(self) -> int:
        return self.fields[0][1].points


class InPlace(NamedTuple):
    """A launch on the host's arrays, without views and copies."""

    run: Any  # run(points)
    hosts: list[Block]  # the arrays that lie in the host's memory


class BlockCalls:
    """Block calls of one thread."""

    def __init__(self, state: ThreadState, launchers: Launchers, copies: StripeCopies):
        self._state = state
        self._launchers = launchers
        self._copies = copies

    def bind(self, request: Request) -> Bound | None:
        """The call as a Bound; None if it selects no points.

        Errors: ArgumentError for different shapes of points, an input that comes twice or that nothing reads, a part
        of a start, an unknown name, an output that cannot be computed or that shares memory with another field
        (overlap.py); StateError for a missing input.
        """
        check_launchable(kernels.registry.name_of(request.name))
        self._check_request(request)
        self._refuse_surplus(request)
        self._refuse_part_of_a_start(request)
        if not request.points:  # a rank without points of this block still takes part, and is refused as the others
            self._check_fields(self._launchers.fields(*self._asked(request)), request)
            return None

        return Bound(self._state.shared, self._state.marshal.reach, functools.partial(self._bind, request))

    def _check_request(self, request: Request) -> None:
        shapes = {block.n[:3] for _, block in request.fields}
        if len(shapes) > 1:  # extents of 1 do not count, and all empty shapes are alike
            like = {without_ones(shape) for shape in shapes}
            shapes = shapes if len(like) > 1 else set()

        if len(shapes) > 1:
            # A number counts at all points as an input. As an output it is named.
            fields = [(name, block) for name, block in request.read if not is_number(block)] + request.outputs
            said = ", ".join(f"'{name}' {' x '.join(map(str, block.n[:3]))}" for name, block in fields)
            raise ArgumentError(f"the arrays of a block call select different shapes of points: {said}.")

        if not request.outputs:
            raise ArgumentError(f"a block call of '{request.name}' without outputs: nothing to compute.")

        # Q brings its rows: p, T, Y and the velocity.
        views, count = self._state.views, collections.Counter[str]()
        for name, _ in request.inputs:
            count.update(part.name for part in views[name].rows_by_name)

        twice = [name for name in count if count[name] > 1]
        in_q = " ('Q' has them, too)" if any(name == "Q" for name, _ in request.inputs) else ""
        refuse(
            bool(twice),
            f"a block call of '{request.name}' gets '{', '.join(twice)}' twice{in_q}: which of the arrays counts?",
        )

    def _refuse_surplus(self, request: Request) -> None:
        """Raises ArgumentError for an input of which the collection or kernel knows nothing: it would not count."""
        reads = known_inputs(kernels.registry.name_of(request.name))
        made = {output for output, _ in request.outputs}

        for each, _ in request.inputs:
            view = self._state.views[each]
            if {view.name, *(part.name for part in view.parts)}.isdisjoint({*reads, *made}):
                raise ArgumentError(
                    f"'{request.name}' does not read '{each}': the array would not count. It reads {', '.join(reads)}."
                    f"{self._readers_of(each, request, made)}"
                )

    def _refuse_part_of_a_start(self, request: Request) -> None:
        """Raises ArgumentError for a start, carried from call to call, that comes without all that belongs to it: it
        would not count."""
        brought = self._state.views.names(request.inputs)

        for group in variants(request.name, asked=True):
            carried = [name for name in group if kernels.quantities[name].carried]
            came = [name for name in carried if name in brought]
            missing = [name for name in group if name not in brought]
            refuse(
                bool(came and missing),
                f"'{request.name}' got the start '{', '.join(came)}' without '{', '.join(missing)}': it would not "
                f"count. A start is all of {', '.join(group)}.",
            )

    def _readers_of(self, surplus: str, request: Request, made: set[str]) -> str:
        """A sentence on collections that read a field and make the outputs of the call; "" if there are none."""
        brought = self._state.views.names(request.inputs)
        found = []
        for collection in kernels.registry.collections.values():
            if surplus in collection.given and brought.issuperset(collection.given) and made <= {*collection.outputs}:
                found.append(collection.name)
        return f" For these arrays: {', '.join(found)}." if found else ""

    def _bind(self, request: Request):
        """(run(), arrays of the host that it uses)"""
        launcher = self._launchers.find(*self._asked(request))
        refuse_overlaps(f"a block call of '{request.name}'", request.read, request.outputs)
        used = [block for _, block in request.fields]

        in_place = None if request.order else self._in_place(launcher, request)
        if in_place is not None and not self._copied_faster(in_place):
            return self._launch(launcher, request.points, in_place), used

        self._copies.clear()  # an input that this call lacks must not come from an earlier call
        self._check_fields(Fields(launcher.program.reads, launcher.program.writes), request)
        loop = PieceLoop(self._state, launcher, request, in_place.run if in_place else None)

        staleness, clear, run_loop = self._state.staleness, self._copies.clear, loop.run

        def run() -> None:
            if staleness.filled:
                clear()
            run_loop()

        return run, used

    def _asked(self, request: Request) -> tuple[str, tuple[str, ...], frozenset[str]]:
        """Arguments of Launchers.find: for the launch that computes exactly the named outputs, from the required and
        optional inputs of the call."""
        brought = self._state.views.names(request.inputs)
        made = self._state.views.names(request.outputs)
        wanted = frozenset(name for name in made if name in kernels.quantities)

        more: list[str] = []
        for group in variants(request.name, asked=True):
            if brought.issuperset(group):
                more += group

        return request.name, tuple(dict.fromkeys(more)), wanted

    # ---- in place

    def _launch(self, launcher: Launcher, points: int, in_place: InPlace):
        """run() of a launch in place."""
        state, label, launch = self._state, launcher.label, in_place.run
        watch, staleness, wait = state.shared.watch, state.staleness, self._copies.wait

        backend = state.shared.backend
        is_apart = backend.apart  # else the results are there when the launch returns
        is_across = bool(in_place.hosts)
        finish = backend.synchronize if is_across else state.queues.settle

        def run() -> None:
            if is_across and staleness.filled:
                wait()  # for copies of these arrays that are queued

            if watch.on:
                watch.run(label, points, 0, launch, points)
            else:
                launch(points)

            if is_apart:
                finish()

        return run

    @staticmethod
    def _copied_faster(in_place: InPlace) -> bool:
        """Whether copy engines bring these arrays faster than a launch across the link."""
        hosts = in_place.hosts
        return bool(hosts) and hosts[0].whole and hosts[0].points >= COPIED_FROM

    def _in_place(self, launcher: Launcher, request: Request) -> InPlace | None:
        """A launch on the host's own arrays, or None.

        Kernels have to reach all arrays. The arrays have the type of the views, and no two arrays share memory. The
        selected points are contiguous, or the same box of larger arrays. Across a link a launch has to touch each
        number once. On a CPU see `_near`."""
        shared, program = self._state.shared, launcher.program
        apart = shared.backend.apart
        if shared.check.on or not (apart or program.near or program.small):
            return None

        lending = _Lending(self._state)
        for name, block in (*request.inputs, *request.outputs):
            if not lending.add(name, block):
                return None

        brought = self._state.views.names(request.inputs)
        written = {name for name, _ in request.outputs}
        if not (set(program.reads) <= brought and set(program.writes) == written):
            return None
        if not (_apart(lending.ranges) and program.takes_apart(lending.arrays.values())):
            return None
        if len(lending.boxes) != 1 or lending.numbers:
            uneven = None if apart else lending.uneven()
            if uneven is None or not (program.near and program.has_boxed("uneven")):
                return None
            repeated = lending.lend_numbers(uneven.nx)
            return InPlace(repeated.before(program.bind(lending.arrays, uneven)), lending.hosts)

        box = lending.boxes.pop()
        if box is not None and box[0] * box[1] * box[2] >= MOST_POINTS:
            return None
        if lending.hosts and not program.touches_once:
            return None
        if not apart and not self._near(program, box):
            return None

        across = bool(lending.hosts)
        if box is None:
            return InPlace(program.bind(lending.arrays, across=across), lending.hosts)

        nx, ny, _, *strides = box
        return InPlace(program.bind(lending.arrays, (nx, ny, *strides), across), lending.hosts)

    @staticmethod
    def _near(program, box) -> bool:
        """On a CPU: whether a launch on the host's arrays is faster than copies: arrays of few rows, whole or lines of
        contiguous points, and slabs of a few points in x whatever the kernels do."""
        if box is None:
            return program.near
        if box[3] != 1:
            return False
        return (program.near or (program.small and box[0] <= SHORT)) and program.has_boxed()

    # ---- through the views

    def _check_fields(self, launch: Fields, request: Request) -> None:
        """Raises StateError for inputs that the call lacks and for outputs that it neither brings nor computes;
        ArgumentError for inputs that came as outputs and for a wrong number of variables."""
        views = self._state.views
        brought = views.names(request.inputs)

        missing = [name for name in launch.reads if name not in brought]
        outputs = {name for name, _ in request.outputs}
        for name in missing:
            said = f"a block call of '{request.name}' reads '{name}': wanted frame_in('{name}', ...), got frame_out."
            refuse(name in outputs, said)

        wanted = ", ".join(f"frame_in('{name}', ...)" for name in missing)
        refuse(bool(missing), f"a block call of '{request.name}' lacks {wanted}.", StateError)

        there = brought | set(launch.writes)
        for name, _ in request.outputs:
            parts = [part.name for part in views[name].parts] or [name]
            lacking = [part for part in parts if part not in there]
            said = f"a block call of '{request.name}' cannot fill '{name}': nothing brings or makes"
            refuse(bool(lacking), f"{said} {', '.join(lacking)}.", StateError)

        for name, block in request.read:
            views.check_variables(views[name], block.n[3], views.least(views[name]))
        for name, block in request.outputs:
            views.check_variables(views[name], block.n[3], views[name].rows)


class _Lending:
    """Arrays of the host as a launch takes them."""

    def __init__(self, state: ThreadState):
        self._state = state
        self._given: dict[str, Block] = {}
        self.arrays: dict[str, Rows] = {}
        self.hosts: list[Block] = []  # arrays in the host's memory
        self.ranges: list[tuple[int, int]] = []  # (address, end) of each
        self.boxes: set = set()  # extents and strides of the selected points; None: contiguous
        self.steps: dict[str, list[tuple[int, int]]] = {}  # by name, as Uneven has them
        self.numbers: list[tuple[str, Block]] = []  # inputs that count at all points
        self._extents: set = set()  # of the selected points
        self._side_by_side = True  # whether points of a line are

    def add(self, name: str, block: Block) -> bool:
        """Lend the array of a view. Returns False if it cannot be lent."""
        shared, view = self._state.shared, self._state.views[name]
        if block.points > 1 and is_number(block) and not shared.backend.apart:
            self.numbers.append((name, block))
            return block.n[3] == view.rows and not (view.parts and shared.q_lacks_last)

        steps: list[tuple[int, int]] = []
        for array in block.arrays:
            self.boxes.add(None if array.whole else (*array.n[:3], *array.strides[:3]))
            self._extents.add(array.n[:3])
            self._side_by_side &= array.strides[0] == 1
            steps += [(array.strides[1], array.strides[2])] * array.n[3]
        if self._given.get(name) == block:  # read and written in place
            return True
        if name in self._given:
            return False

        self._given[name] = block

        reach = self._state.marshal.reach(block)
        if reach not in ("own", "shared") or block.n[3] != view.rows:
            return False
        if any(array.size != shared.dtype.itemsize for array in block.arrays):
            return False
        if view.parts and shared.q_lacks_last:
            return False

        if reach == "shared":
            self.hosts.append(block)
        self.ranges += [array.range for array in block.arrays]

        addresses = block.addresses
        for part in view.rows_by_name:  # the rows of Q, one after the other
            rows = Rows.apart(addresses[: part.rows], block.points, shared.dtype)
            if shared.backend.apart and any(address % block.size for address in rows.addresses):
                return False  # a device reads numbers at multiples of their size
            self.arrays[part.name] = rows
            self.steps[part.name] = steps[: part.rows]
            addresses, steps = addresses[part.rows :], steps[part.rows :]

        return True

    def uneven(self) -> Uneven | None:
        """The box of the selected points where the arrays have different extents, or numbers stand for arrays; None if
        they select different shapes, or short lines, or points of a line do not lie side by side."""
        if len(self._extents) != 1 or not self._side_by_side:
            return None

        nx, ny, nz = self._extents.pop()
        if self.boxes == {None}:  # whole arrays: longer lines have fewer ends
            nx, ny, nz = self._lengthened(nx, ny, nz)

        return Uneven(nx, ny, self.steps) if nx > SHORT and nx * ny * nz < MOST_POINTS else None

    def _lengthened(self, nx: int, ny: int, nz: int) -> tuple[int, int, int]:
        """The extents of lines of all points, or of those in x and y, as long as they are within LONG."""
        if nx * ny > LONG:
            return nx, ny, nz

        step = nx * ny
        for name, rows in self.steps.items():
            self.steps[name] = [(step, 0)] * len(rows)
        return (step * nz, 1, 1) if step * nz <= LONG else (step, nz, 1)

    def lend_numbers(self, nx: int) -> _Repeated:
        """Lend the numbers that count at all points, repeated over a line that serves as each line of an array."""
        dtype, addresses, sizes = self._state.shared.dtype, [], []
        for _, block in self.numbers:
            addresses += block.addresses
            sizes += [array.size for array in block.arrays for _ in range(array.n[3])]

        repeated = _Repeated(addresses, sizes, nx, dtype)
        first = 0
        for name, block in self.numbers:
            for part in self._state.views[name].rows_by_name:
                lines = repeated.lines[first : first + part.rows]
                self.arrays[part.name] = Rows.apart([line.ctypes.data for line in lines], block.points, dtype)
                self.steps[part.name] = [(0, 0)] * part.rows
                first += part.rows

        return repeated


class _Repeated:
    """Numbers of the host, each repeated over a line of points."""

    def __init__(self, addresses, sizes, nx: int, dtype: np.dtype):
        self.lines = np.empty((len(addresses), nx), dtype)
        self._numbers = []
        for address, size in zip(addresses, sizes):
            self._numbers.append(np.asarray(Memory(address, (1,), (size,), np.dtype(f"f{size}"))))

    def before(self, launch):
        """launch, behind a look at the numbers as they are now."""
        if not self._numbers:
            return launch

        def run(points: int) -> None:
            for line, number in zip(self.lines, self._numbers):
                line[:] = number
            launch(points)

        return run


def _apart(ranges) -> bool:
    """Whether no two of these (address, end) share memory."""
    return all(end <= start for (_, end), (start, _) in pairwise(sorted(ranges)))
