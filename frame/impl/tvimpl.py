"""TVImpl (TV: thermal and viscous): a thread's views and launchers by name.

It holds no formulas and no units. An address of the host's memory is used only in a call that passes it.
"""

from __future__ import annotations

import functools

import kernels

from ..errors import BadNumber, StateError
from . import teams
from .block_calls import BlockCalls, Request
from .copies import StripeCopies
from .launchers import Launcher, Launchers, makers
from .memory import Bound, Memory
from .queues import Queues
from .shared import Shared, Sizes
from .staleness import EMPTY, Staleness
from .state import ThreadState
from .views import View, Views, of_species


class TVImpl:
    """Views and launchers of a thread, for a mixture and a backend. Arguments: see Shared.

    A view is allocated and a launcher is compiled when it is first named; both stay. Threads share the state in Shared:
    set_mixture, queue, pack_with and free are for all of them.
    """

    def __init__(self, backend, sizes: Sizes, rank: int = 0, precision: str = "double"):
        self._compose(Shared(backend, sizes, rank, precision))

    def _compose(self, shared: Shared) -> None:
        self.shared = shared
        self.marshal = shared.marshal.twin()
        self.queues = Queues(shared.backend, shared.later)
        self.views = views = Views(shared)
        self.staleness = Staleness(views, makers, functools.partial(_filled_elsewhere, shared, views))

        self.state = ThreadState(shared, self.marshal, self.queues, views, self.staleness)
        self.launchers = Launchers(shared, views, self.staleness)
        self.copies = StripeCopies(self.state)
        self.blocks = BlockCalls(self.state, self.launchers, self.copies)
        self.memory = Memory()
        self.staged: dict = {}  # buffers of contractions by their plan; see frame/contractions.py

        shared.threads.add(self)

    def twin(self) -> TVImpl:
        """The same for another thread, with empty views."""
        other = TVImpl.__new__(TVImpl)
        other._compose(self.shared)
        return other

    def __del__(self):
        # Records of views refer to each other. Without them the memory is free now, not at some later collection.
        if "staleness" in self.__dict__:  # not if the construction failed
            self.staleness.empty()

    # ---- shared by all threads

    @property
    def backend(self):
        return self.shared.backend

    @property
    def chunk(self) -> int:
        return self.shared.chunk

    @property
    def mixture(self):
        return self.shared.mixture

    @property
    def watch(self):
        return self.shared.watch

    @property
    def check(self):
        return self.shared.check

    @property
    def timers(self):
        """{name: Timer}; None if they are off."""
        return self.shared.watch.timers

    @property
    def threads(self):
        """The TVImpl of each thread."""
        return self.shared.threads

    @property
    def begun(self) -> bool:
        """Whether a mixture is loaded, or a thread has views."""
        return self.mixture is not None or any(thread.views for thread in self.threads)

    def set_mixture(self, mixture) -> None:
        """Use another mixture. Launchers hold the constants of their mixture, so they are dropped. Results are stale.
        So are values of species, if the species or their order changed."""
        shared, before = self.shared, self.shared.mixture
        same_species = before is None or before.names == mixture.names

        shared.drop_programs()
        self.wait_for_all()  # kernels that are queued read the constants of the mixture before
        shared.mixture = mixture
        shared.change()

        for thread in self.threads:
            thread.launchers.clear()
            thread.staleness.change_mixture(of_species, same_species)
            if thread.views.drop_reactions():
                thread.marshal.let_go()

    def pack_with(self, threads: int) -> None:
        """How many threads pack pageable memory."""
        self.shared.marshal.pack_with(threads)  # for threads of the host that come later
        for thread in self.threads:
            thread.marshal.pack_with(threads)
        self.shared.change()

    def queue(self, on: bool) -> None:
        """Whether stripe calls return before pinned arrays were read and written. Off: queued work is done first."""
        for thread in self.threads:
            thread.wait()
        self.shared.later = on
        for thread in self.threads:
            thread.queues.choose(on)

    def wait_for_all(self) -> None:
        """Wait for all work that the calls of all threads have queued."""
        for thread in self.threads:
            thread.wait()

    def free(self) -> None:
        """Drop views and launchers; this frees the device's memory."""
        shared = self.shared
        shared.backend.synchronize()
        shared.drop_programs()
        self.wait_for_all()
        shared.change()

        for thread in self.threads:
            thread.staleness.empty()
            thread.copies.drop_views()
            thread.marshal.release()
            thread.launchers.clear()
            thread.staged.clear()
            thread.views.clear()

    # ---- views and copies

    def view(self, name: str) -> View:
        """The view of this name, allocated at its first use. Errors: ArgumentError for an unknown name, with the
        nearest known names."""
        return self.views[name]

    @property
    def waits(self) -> bool:
        """Whether calls on arrays of the device wait for their results: until the host names its stream."""
        return self.queues.waits

    @waits.setter
    def waits(self, waits: bool) -> None:
        self.queues.waits = waits

    def use_stream(self, stream: int) -> None:
        """Queue this thread's calls on a stream of the host's. Calls on arrays of the device wait for nothing then."""
        self.wait()
        self.queues.use_stream(stream, self.shared.later)

    def wait(self) -> None:
        """Wait for all that this thread's stripe calls have queued."""
        self.copies.wait()

    # ---- launches

    def launcher(self, name: str, more: tuple[str, ...] | None = None, asked: frozenset[str] | None = None) -> Launcher:
        """See Launchers.find."""
        return self.launchers.find(name, more, asked)

    def safe_launch(self, name: str, n_active: int) -> None:
        """Run a launcher on the first n_active points of its views.

        Errors: ArgumentError for an unknown name or n_active outside the chunk; StateError names every input that is
        missing, stale or short; in check mode StateError for a result that is not a number.
        """
        shared, staleness = self.shared, self.staleness
        if not 1 <= n_active <= shared.chunk:
            raise BadNumber(f"nActive = {n_active}, wanted 1..{shared.chunk} (nGridPoints).")

        launcher = self.launchers.find(name, None, None)
        if not staleness.use(launcher.reads, n_active):
            raise StateError(staleness.refusal(launcher.name, launcher.reads, n_active))

        self.copies.fetch()
        with self.queues.work:
            self.state.timed(launcher.label, n_active, 0, launcher.run[0], n_active)
        staleness.launched(launcher.name, launcher.groups, launcher.reads, n_active)

        if shared.check.on and staleness.stripe:
            species = shared.mixture and shared.mixture.species
            first = staleness.stripe[0]
            shared.check.computed(launcher, n_active, shared.backend, self.copies.geometry, first, species)

    def block(self, name: str, inputs, outputs, order=()) -> Bound | None:
        """Make a block call, and return it for repetition; None if there are no points.

        inputs, outputs: (view name, Block) pairs with the same number of points. order: one such pair, if any: points
        with similar values there are worked on side by side. Errors: see BlockCalls.bind.
        """
        call = self.blocks.bind(Request(name, list(inputs), list(outputs), list(order)))
        if call is not None:
            call()
        return call

    def team(self, name: str, fields) -> Bound:
        """Run a team kernel on the host's arrays, and return the call for repetition. Errors: see teams.bind."""
        kernel = kernels.registry.team_kernels[name]
        call = Bound(self.shared, self.marshal.reach, lambda: (teams.bind(kernel, fields, self.state), []))
        call()
        return call


def _filled_elsewhere(shared: Shared, views: Views, name: str) -> bool:
    """Whether another thread, with other views, has filled a view of this name."""
    for thread in shared.threads:
        there = thread.views.get(name) if thread.views is not views else None
        if there is not None and there.filled is not EMPTY:
            return True

    return False
