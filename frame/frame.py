"""Frame: the object that a host talks to. Life cycle, configuration, communicator, device, report."""

from __future__ import annotations

import sys
from typing import Any

import kernels
from kernels.engine.backend import cache
from kernels.engine.backend.announce import Announcer
from kernels.gas.accuracy import NEAREST, by_environment as models_by_environment
from kernels.gas.species.gas_constant import NAME as GAS_CONSTANT, chosen as gas_constant

from .agreement import fail_together, other_mixtures, refuse_other_mixtures, refuse_other_models
from .config import FIRST, Config, misspelt
from .contractions import Contractions
from .devices import choice, mps, placement
from .entry import ENTRIES
from .errors import FrameError, StateError, refuse
from .impl import Sizes
from .impl.memory import Memory
from .mpi import Alone, Communicator
from .report import table
from .stripe import Listed
from .tvproperties import TVProperties
from .watch import KERNELS, Label, Timer

_INITIALIZE = next(entry for entry in ENTRIES if entry.name == "initialize")


def _handed_on(name: str):
    """A method that TVProperties answers: the TVProperties of the last initialize."""

    def method(self, *arguments):
        return getattr(self._properties, name)(*arguments)

    method.__name__ = name
    method.__doc__ = getattr(TVProperties, name).__doc__
    return method


class Frame:
    """There is a Frame in a process. Options and the communicator may be set before initialize, everything else after
    it.

    The entry points call the methods that the table of entry.py names. The methods raise the classes of errors.py.
    """

    def __init__(self):
        self._config: Config | None = None
        self.comm: Alone | Communicator = Alone()
        self.backend: Any = None
        self._properties: TVProperties | None = None
        self._contractions = Contractions()
        self._device_id = -1  # of initialize
        self._sizes: Any = None  # of initialize; None: before it
        self._said = ""  # on the rule's choice
        self._turns = False  # whether several ranks share the device without a service
        self._modules: dict = {}  # of sources that a solver in Python brings

    # ---- life cycle ----

    def initialize(self, device_id: int, chunk: int, ns: int, nq: int, turbulent: int) -> None:
        """Choose the device and make room for views. After set_communicator all ranks have to call it.

        device_id: number of the CUDA device; -1: by rank on the node. chunk: points that the views hold. ns: species.
        nq: variables of Q. turbulent: number of the host's turbulence model, 0 without one; with any number collections
        that read muT take its eddy viscosity. It may be called again after finalize. Errors: StateError when it is
        called twice; ArgumentError for a number out of its range, raised when all ranks are there; ArgumentError,
        BackendError for a device that is not there.
        """
        refuse(self._properties is not None, "initialize called twice; call finalize first.", StateError)
        wrong = _INITIALIZE.wrong_number(device_id, chunk, ns, nq, turbulent)

        self._device_id = device_id
        self._sizes = Sizes(chunk, ns, nq)
        cache.announcer = Announcer(speaks=self._is_first)
        self.backend = self._choose_backend(device_id, wrong)
        self._make_properties()

        for line in misspelt() if self._is_first() else ():
            print(f"libframe: {line}", file=sys.stderr)

    def _make_properties(self) -> None:
        config = self.config
        properties = TVProperties(self.backend, self._sizes, config.model, self.comm.rank, config.precision)
        properties.selections.guard = self._refuse_device_memory if self._said else None

        impl, shared = properties.impl, properties.impl.shared
        shared.last_from_sum |= config.last_species == "sum"
        shared.turns = self._turns
        shared.switch_check(config.check)
        shared.watch.time(config.timers)

        if config.trace:
            shared.watch.trace(config.trace)
        impl.queue(config.queue)
        impl.pack_with(self._packers())
        self._properties = properties

    @staticmethod
    def _refuse_device_memory(block) -> None:
        """Raises StateError for an array on the device where the rule took the CPU: it would end the process."""
        refuse(
            mps.in_use() and kernels.engine.backend.on_device(block.first),
            "an array lies on the device, and backend auto has taken the CPU; set FRAME_BACKEND=cuda for such a host.",
            StateError,
        )

    def _packers(self) -> int:
        """Threads that pack a host's pageable memory for a GPU: as many as were given, else as the rank owns cores."""
        return self.config.threads if self.config.threads_given else self.comm.cores

    def _is_first(self) -> bool:
        """Whether this is the first rank of the job, which writes the lines for all ranks."""
        return self.comm.rank_of_job == 0

    def _choose_backend(self, device_id: int, failed: FrameError | None = None):
        """The backend of this rank. Collective. failed: an error of this rank, raised when all ranks are there. Errors:
        see choice.choose."""
        call = "frame_initialize" if self._properties is None else "frame_setcomm"
        chosen = choice.choose(self.config, self.comm, choice.Asked(device_id, self._sizes, call, failed))
        self._turns = chosen.turns

        if chosen.said != self._said and self._is_first():
            print(f"libframe: {chosen.said or 'auto takes the GPU after all'}.", file=sys.stderr)
        self._said = chosen.said

        return chosen.backend

    def set_communicator(self, handle: int) -> None:
        """Take the host's communicator, MPI's Fortran integer. Until the first view is made, this may still change the
        device. Errors, on all ranks if a setting is wrong on any rank: ArgumentError when MPI is not initialised;
        BackendError without mpi4py; StateError when it would change the device after work has begun."""
        found = Communicator(handle)
        self._agree(found)
        found.patience = self.config.wait
        before, self.comm = self.comm, found
        before.free()
        choice.share_devices(self.config, found)

        if self._properties is None:
            return

        impl = self._properties.impl
        impl.check.rank = self.comm.rank
        impl.pack_with(self._packers())

        backend = self._choose_backend(self._device_id)
        impl.shared.turns = self._turns
        if backend is self.backend:
            return

        refuse(
            impl.begun or self._properties.pinned or self._properties.own_arrays,
            "frame_setcomm would change the device after work has begun on another: "
            "call it right after frame_initialize.",
            StateError,
        )

        self.backend = backend
        self._make_properties()

    def _agree(self, comm: Communicator) -> None:
        """A wrong setting on a rank, and models that differ, are an error on all ranks."""
        failed, models = None, ""
        try:
            _ = self.config
            models = models_by_environment() or NEAREST
        except FrameError as error:
            failed = error

        try:
            fail_together(comm, failed)
            refuse_other_models(comm.share(models))
        except FrameError:
            comm.free()
            raise

    def finalize(self) -> None:
        """Free views, launchers, device memory and the duplicate of the communicator. initialize may follow."""
        if self._properties is not None:
            impl = self._properties.impl
            impl.wait_for_all()
            impl.watch.write(self.comm.rank_of_job)

            self._properties.pinned.end()
            self._properties.own_arrays.end()
            impl.free()
            self.backend.release()

        self._properties = None
        self.backend = None
        self._sizes = None

        cache.announcer = None
        kernels.registry.allow_again()
        self._contractions.finalize()
        self._modules.clear()

        self.comm.free()
        self.comm = Alone()
        self._config = None
        self._said = ""

        sys.stdout.flush()
        sys.stderr.flush()

    @property
    def properties(self) -> TVProperties:
        """The TVProperties of the last initialize. Errors: StateError before initialize (Fortran hosts get status 2
        from the shim)."""
        if self._properties is None:
            raise StateError("initialize first.")
        return self._properties

    @property
    def memory(self) -> Memory:
        """Bound calls of this thread by their arguments. Errors: as `properties`."""
        try:
            return self._properties.here.impl.memory  # type: ignore[union-attr]  # the short way of nearly all calls
        except AttributeError:  # before initialize, or in the first call of a thread
            return self.properties.impl.memory

    @staticmethod
    def version() -> str:
        """The version of the layer, such as 1.0.0."""
        return kernels.__version__

    # ---- the mixture ----

    def load_mixture(self, file: str, phase: str) -> None:
        """Read a mixture. With FRAME_PLACEMENT=measured and no choice of a backend it settles the side, too: collective
        after setcomm, before arrays are pinned or populated. Errors: see TVProperties.load_mixture."""
        properties = self.properties
        in_use = properties.impl.begun or bool(properties.pinned)
        failed = None
        try:
            properties.load_mixture(file, phase)
        except FrameError as error:
            failed = error

        # The ranks measure together.
        measured = self.config.placement.startswith("measured")
        measured = measured and self.config.leaves_side_open and self.backend.apart
        if measured:
            self.comm.wait_for_all("frame_loadmixture")
            fail_together(self.comm, failed)
            refuse_other_mixtures(self.comm.share(self._fingerprint()))
        if failed:
            raise failed

        self._say_what_words_stand_for(properties.mixture)
        if not measured:
            return

        if any(self.comm.share(in_use)):
            print("libframe: FRAME_PLACEMENT: arrays are in use before the mixture: GPU", file=sys.stderr)
            return

        cpu = kernels.get_backend("cpu", threads=self.config.threads)
        if self._cpu_is_faster(properties.mixture, cpu):
            properties.impl.free()
            self.backend.release()
            self.backend = cpu
            self._make_properties()
            self.properties.load_mixture(file, phase)

    def populate_preos(self, ns: int, *data) -> None:
        """Species data of the host. Errors: see TVProperties.populate_preos."""
        self.properties.populate_preos(ns, *data)
        self._say_what_words_stand_for(self.properties.mixture)

    def _say_what_words_stand_for(self, mixture) -> None:
        """A line of rank 0 for each option that stands for others, as accuracy = cantera does."""
        if self.comm.rank == 0:
            for line in mixture.words:
                print(f"libframe: {line}", file=sys.stderr)

    def _cpu_is_faster(self, mixture, cpu) -> bool:
        """Measured, on all ranks together; rank 0 prints the result."""
        config = self.config
        job = placement.Job(
            mixture=mixture,
            chunk=self._sizes.chunk,
            precision=config.precision,
            packers=self._packers(),
            pinned=config.placement == "measured-pinned",
        )
        side, said = placement.choose(job, (self.backend, cpu), self.comm)

        if self._is_first():
            print(f"libframe: {said}.", file=sys.stderr)
        return side == 1

    # ---- solvers in Python, whose arrays lie where the kernels run ----

    @property
    def mixture(self) -> kernels.Mixture:
        """The mixture in use. Errors: StateError before a mixture was loaded."""
        return self.properties.mixture

    def use_mixture(self, mixture: kernels.Mixture) -> None:
        """Use a Mixture that the solver has put together, instead of load_mixture. Errors: ArgumentError when it has
        another number of species than ns."""
        self.properties.use_mixture(mixture)
        self._say_what_words_stand_for(mixture)

    def bind(self, arrays: dict, box=(), timer: str = "", **program):
        """A launch on the solver's own arrays, in place of views: run(n) computes their first n points.

        arrays: {quantity: (points,) or (rows, points) array of the backend}. box: as Program.bind takes it. timer: the
        name under which its time is kept; "": the launch is not timed, as where `timed` stands around it. program:
        `outputs` and `given`, or `kernels`, as Mixture.program takes them. Errors: ArgumentError for names and shapes;
        StateError before a mixture was loaded.
        """
        made = self.mixture.program(**program, backend=self.backend, precision=self.config.precision)
        launch = made.bind(arrays, box)
        if not timer:
            return launch

        watch, label = self.properties.impl.watch, Label(KERNELS, timer)

        def run(points: int) -> None:
            if watch.on:
                watch.run(label, points, 0, launch, points)
            else:
                launch(points)

        return run

    def compile(self, source):
        """The module of a solver's own source (kernels.engine.backend.base.Source), on the backend in use; the same
        source gives the same module. Errors: BackendError with the compiler's text; StateError before initialize."""
        self.properties  # noqa: B018  raises StateError
        key = self.backend, source
        if key not in self._modules:
            self._modules[key] = self.backend.compile(source)

        return self._modules[key]

    def timed(self, timer: str):
        """`with frame.timed("flux"):` the time of the work that is queued there is kept under this name. Nothing
        happens while timers are off."""
        return self.properties.impl.watch.span(Label(KERNELS, timer))

    def weighted(self, weight: int):
        """`with frame.weighted(16):` whatever is timed there counts 16 times, as a sample of equal pieces does. With 0
        nothing is timed there: work that a graph records has no timers inside."""
        return self.properties.impl.watch.weighted(weight)

    @property
    def timers(self) -> dict[str, Timer]:
        """{name: Timer} with seconds, calls and points of each; empty while timers are off. May wait for the device."""
        return self.properties.impl.timers or {}

    # ---- configuration ----

    @property
    def config(self) -> Config:
        """The settings. The environment is read when they are first needed: a wrong value there fails a call, not the
        start of Python."""
        if self._config is None:
            self._config = Config()
        return self._config

    def set_option(self, name: str, value: str) -> None:
        """Set an option of config.FIRST (before initialize), or of the model (before the mixture). Errors:
        ArgumentError for an unknown name or value, StateError when it is too late."""
        self.config.check_option(name, value)
        if self._properties is not None:
            refuse(name in FIRST, f"option '{name}' has to be set before frame_initialize.", StateError)
            refuse(
                self._properties.impl.mixture is not None and value != self._properties.impl.mixture.options.get(name),
                f"option '{name}' has to be set before the mixture is loaded.",
                StateError,
            )

        self.config.set_option(name, value)

    def set_parameter(self, name: str, value: float) -> None:
        """Set timers, check or queue, 0 or 1, at any time, or threads, before initialize. Errors: ArgumentError for an
        unknown name or a value out of range, StateError when it is too late."""
        refuse(
            name == "threads" and self._properties is not None,
            "parameter 'threads' has to be set before frame_initialize.",
            StateError,
        )
        self.config.set_parameter(name, value)
        if self._properties is not None:
            self._properties.impl.watch.time(self.config.timers)
            self._properties.impl.shared.switch_check(self.config.check)
            self._properties.impl.queue(self.config.queue)

    def register_kernel(self, file: str) -> None:
        """Run a Python file that declares kernels of the host's own. Errors: ArgumentError when it is missing or
        fails."""
        kernels.load_declarations(file)
        if self._properties is not None:
            self._properties.impl.shared.change()

    def set_constant(self, name: str, value) -> None:
        """Set a constant: a number, or an array (count,). From the next launch on it is in force; `gas_constant`, with
        the next mixture. Errors: ArgumentError for an unknown name, another number of values, NaN, infinity or a value
        out of range; StateError for another gas constant than that of the mixture in use."""
        mixture = None if self._properties is None else self._properties.impl.mixture
        if name == GAS_CONSTANT and mixture is not None:
            refuse(
                gas_constant(value) != mixture.species.R,
                f"constant '{GAS_CONSTANT}' has to be set before the mixture is loaded.",
                StateError,
            )

        kernels.set_constant(name, value)

    def set_constants(self, name: str, values, n: int) -> None:
        """set_constant of an array of n values."""
        kernels.set_constant(name, values)

    # ---- contractions ----

    def register_contraction(self, name: str, text: str) -> None:
        """Give a tensor expression its name. Errors: ArgumentError for a text that cannot be read, and for a name that
        has another text, until finalize."""
        self._contractions.register(name, text)

    def contract(self, name: str, fields):
        """Evaluate a contraction on arrays: a stripe.Field each. Errors: see Contractions.run."""
        properties = self.properties
        return properties.pairs.run(fields, lambda moved: self._contractions.run(name, moved, properties.impl))

    def contract_arrays(self, name: str, *arrays):
        """The same on contiguous arrays. arrays: the fields of stripe.Listed."""
        return self.contract(name, self._contractions.fields(name, Listed(*arrays)))

    def team_arrays(self, name: str, *arrays):
        """Run a team kernel of the host's own on contiguous arrays: the fields of stripe.Listed. Errors: see
        teams.bind."""
        return self.properties.team(name, Listed(*arrays))

    # ---- report ----

    def report(self) -> None:
        """Print the timers on rank 0, and which ranks have another mixture than the first. With a communicator all
        ranks have to call it."""
        timers = self.properties.impl.timers
        rows = None if timers is None else {name: timer.row for name, timer in timers.items()}
        gathered = self.comm.gather((rows, self._fingerprint()))

        if gathered is None:
            return

        rows_of_ranks = [rows for rows, _ in gathered]
        link = self.backend.link() if any(rows_of_ranks) else None  # rank 0's; the other ranks wait or compute
        lines = [table(rows_of_ranks, str(self.backend), link)]

        others = other_mixtures([fingerprint for _, fingerprint in gathered])
        if others:
            lines.append(f"frame: {others}.")

        sys.stdout.write("\n".join(lines) + "\n")  # in one write: other ranks print too
        sys.stdout.flush()

    def _fingerprint(self) -> str:
        """The fingerprint of the mixture; "" without one, and for a single rank."""
        mixture = None if self._properties is None else self._properties.impl.mixture
        return "" if mixture is None or self.comm.size == 1 else mixture.fingerprint


for _entry in ENTRIES:
    if not hasattr(Frame, _entry.serves):
        setattr(Frame, _entry.serves, _handed_on(_entry.serves))
