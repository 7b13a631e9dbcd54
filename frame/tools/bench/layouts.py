"""`bench layouts`: block calls with a field for each species, and with conserved variables, beside 4-D arrays.

Values first: the bits of both layouts are equal, and conserved variables give back T and p. Then all calls take turns,
on memory of the host and, on a GPU, on pinned memory and on memory of the device. On a CPU the call with conserved
variables stands beside a Fortran code's own way to T and p, too.
"""

from __future__ import annotations

import dataclasses

import numpy as np

import kernels

from ...errors import refuse
from ...frame import Frame
from ...shipped import ROOT
from ...stripe import IN, NOWHERE, OUT, Field
from . import conserved_fortran
from .report import Report, Row
from .timing import WrongValues, in_turns, took

FILE = ROOT / "examples/mechanisms/h2_o2.yaml"
EDGE = {"host": 64, "device": 128}  # points of a cube, by the backend's memory
CHUNK = {"host": 8192, "device": 1 << 20}  # short copies of many arrays cost a link more
CALLS = 5  # of a sample
PAGE, HEAD = 4096, 16  # bytes; a large array of an allocator begins HEAD behind the begin of a page
SPEED = (80.0, 10.0, 0.0)  # m/s
NOISE = 1e-11  # of T and p that conserved variables give: rounding of e, whose zero lies near it, times e/(cv T)


@dataclasses.dataclass(frozen=True)
class Task:
    """A block call: its collection, inputs and outputs."""

    collection: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]

    def bytes(self, ns: int) -> int:
        """Bytes that a point brings in and takes out, in double precision."""
        return 8 * sum(ns if kernels.quantities[name].per else 1 for name in (*self.reads, *self.writes))


def task(collection: str, reads: str, writes: str) -> Task:
    return Task(collection, tuple(reads.split()), tuple(writes.split()))


PRIMITIVE = task("T_from_e_rho", "e rho Y", "T p")
CONSERVED = "T, p of conserved variables"
TASKS = {
    "thermal": task("thermal", "T p Y", "rho h c"),
    "kinetics": task("kinetics", "T p rho Y", "omega"),
    "T, p": PRIMITIVE,
    CONSERVED: task("primitive_from_conserved", "rhoY rhou rhov rhow rhoE", "T p"),
}


class Memory:
    """Arrays of a host by name and layout: in its memory, pinned, or on the device."""

    def __init__(self, kind: str, frame: Frame, edge: int, ns: int):
        self.kind, self.frame, self.backend, self.ns = kind, frame, frame.backend, ns
        self.shape = (edge,) * 3
        self._held: dict = {}  # kept alive, by (name, place)
        self.fields: dict = {}

    def add(self, name: str, rows: np.ndarray, place: int = 0) -> Field:
        """A field of the block. rows: (points,) or (ns, points), also the values that it has at first. place: of the
        field among fields of a name."""
        shape = self.shape if rows.ndim == 1 else (*self.shape, len(rows))
        array = _allocated(rows.size)
        array[:] = rows.reshape(-1)
        held, address = array, array.ctypes.data
        if self.kind == "device":
            held = self.backend.from_host(array)
            address = self.backend.address(held)

        field = Field.contiguous(name, IN, address, shape, 8)
        if self.kind == "pinned":
            self.frame.properties.pin_array([field])
        self._held[name, place, rows.ndim] = held
        self.fields[name, place, rows.ndim] = field
        return field

    def array(self, name: str, rows: np.ndarray) -> list[Field]:
        """A quantity as one field: of any rank."""
        return [self.add(name, rows)]

    def apart(self, name: str, rows: np.ndarray) -> list[Field]:
        """A quantity as a field for each species."""
        if rows.ndim == 1:
            return [self.add(name, rows, place=-1)]
        return [self.add(name, row, place) for place, row in enumerate(rows)]

    def values(self, fields: list[Field]) -> np.ndarray:
        """A copy of the numbers of a quantity, (numbers,)."""
        place = {field.address: key for key, field in self.fields.items()}
        return np.concatenate([self.backend.to_host(self._held[place[field.address]]) for field in fields])

    def release(self) -> None:
        """Unpins what is pinned."""
        if self.kind == "pinned":
            for field in self.fields.values():
                self.frame.properties.unpin_array([field])


def _allocated(numbers: int) -> np.ndarray:
    """A large array as an allocator gives it to a host. Lines of all arrays that cross a link begin alike then."""
    room = np.empty(numbers + (PAGE + HEAD) // 8)
    first = (HEAD - room.ctypes.data) % PAGE // 8
    return room[first : first + numbers]


class Call:
    """The block call of a task in a layout, on arrays of a memory of its own."""

    def __init__(self, work: Task, layout: str, kind: str, frame: Frame, edge: int, state: dict):
        ns = len(state["Y"])
        self.memory = Memory(kind, frame, edge, ns)
        self.frame = frame
        lay = getattr(self.memory, layout)
        fields = [field for name in work.reads for field in lay(name, state[name])]

        self.made: dict[str, list[Field]] = {}
        for name in work.writes:
            shape = (ns, edge**3) if kernels.quantities[name].per else (edge**3,)
            made = lay(name, np.full(shape, np.nan))
            self.made[name] = [field._replace(way=OUT) for field in made]
            fields += self.made[name]

        again = frame.properties.block_of_fields(work.collection, fields, NOWHERE, NOWHERE)
        assert again  # None is for a block without points
        self._again = again

    def work(self) -> None:
        """Computes the block, several times, and waits for the device."""
        for _ in range(CALLS):
            self._again()
        self.frame.backend.synchronize()

    def sample(self) -> float:
        """Seconds of a call, by the host's clock."""
        return took(self.work) / CALLS

    def result(self, name: str) -> np.ndarray:
        """Numbers of an output, species by species."""
        return self.memory.values(self.made[name])


def states(mixture, n: int) -> dict:
    """Hot gas with all species: T, p, Y, what follows from them, and the conserved variables. (n,) or (ns, n)."""
    random = np.random.default_rng(5)
    state = {"T": random.uniform(900, 2500, n), "p": 1e5 * 50 ** random.random(n)}
    Y = random.exponential(size=(mixture.ns, n))
    state["Y"] = Y / Y.sum(0)
    state |= mixture.properties("rho e", backend="cpu", **state)

    u, v, w = SPEED
    rho = state["rho"]
    state |= {"rhoY": rho * state["Y"], "rhou": rho * u, "rhov": rho * v, "rhow": rho * w}
    state["rhoE"] = rho * (state["e"] + 0.5 * (u * u + v * v + w * w))
    return state


def check(calls: dict, state: dict) -> None:
    """Compares layouts by bits, and T and p with those that the state was made of. Raises WrongValues."""
    for name, work in TASKS.items():
        for output in work.writes:
            array, apart = (calls[name, layout].result(output) for layout in ("array", "apart"))
            if not (np.isfinite(array).all() and np.array_equal(array, apart)):
                raise WrongValues(f"{name}: {output} differs between layouts. Nothing was timed.")

            if output in ("T", "p") and not np.allclose(array, state[output], rtol=NOISE, atol=0):
                raise WrongValues(f"{name}: {output} is not that of the state. Nothing was timed.")


def fortran_rival(mixture, state: dict) -> conserved_fortran.Fortran:
    """The Fortran code's own way, with its values compared. Raises WrongValues, BackendError without a compiler."""
    rival = conserved_fortran.Fortran(mixture, state)
    rival.work()
    for name in ("T", "p"):
        if not np.allclose(getattr(rival, name), state[name], rtol=NOISE, atol=0):
            raise WrongValues(f"{name} of the Fortran rival is not that of the state. Nothing was timed.")
    return rival


def measure(kind: str, backend, given, edge: int) -> list[Row]:
    """The rows of a memory. Raises WrongValues."""
    mixture = kernels.Mixture.from_yaml(FILE, equation="ideal", takahashi="off")
    frame = Frame()
    frame.set_option("backend", str(backend))
    frame.initialize(-1, CHUNK[backend.memory], mixture.ns, 1, 0)
    calls: dict = {}
    try:
        frame.properties.impl.set_mixture(mixture)
        state = states(mixture, edge**3)
        for name, work in TASKS.items():
            for layout in ("array", "apart"):
                calls[name, layout] = Call(work, layout, kind, frame, edge, state)
                calls[name, layout].work()
        check(calls, state)

        timers = {key: call.sample for key, call in calls.items()}
        if not backend.apart:
            rival = fortran_rival(mixture, state)
            timers[conserved_fortran.NAME] = lambda: took(rival.work)
        times = {key: float(np.median(rounds)) for key, rounds in in_turns(timers, given.repeats).items()}
        return rows_of(times, kind, backend, mixture.ns, edge**3)
    finally:
        for call in calls.values():
            call.memory.release()
        frame.finalize()


def rows_of(times: dict, kind: str, backend, ns: int, points: int) -> list[Row]:
    """A field for each species beside the 4-D array; conserved variables beside e, rho and Y in a 4-D array, and beside
    the Fortran code where it was timed."""
    rows = []
    for name, work in TASKS.items():
        for layout in ("array", "apart"):
            text = f"{name}, {kind}, " + ("4-D arrays" if layout == "array" else "a field for each species")
            row = Row.timed("layouts", text, ns, points, backend, times[name, layout])
            if layout == "apart":
                row = row.beside("4-D arrays", points / times[name, "array"], 0.0, ours=True)
            elif work.collection == "primitive_from_conserved":
                row = row.beside("e, rho, Y", points / times["T, p", "array"], NOISE, ours=True)
            rows.append(row)

    own = times.get(conserved_fortran.NAME)
    if own:
        text = f"{CONSERVED}, {kind}, 4-D arrays"
        row = Row.timed("layouts", text, ns, points, backend, times[CONSERVED, "array"])
        rows.append(row.beside(conserved_fortran.NAME, points / own, NOISE))
    return rows


def run(given, backend, say) -> Report:
    """All rows. say(text) reports progress."""
    refuse(given.mixture and given.bench != "all", "--mixture: bench layouts has a mechanism of its own.")
    refuse(given.ns and given.bench != "all", "--ns: bench layouts has a mechanism of its own.")
    edge = EDGE[backend.memory]
    if given.points:
        edge = max(2, round(given.points ** (1 / 3)))

    rows = []
    for kind in ("pageable", "pinned", "device") if backend.apart else ("pageable",):
        say(f"{kind} memory")
        rows += measure(kind, backend, given, edge)

    more = TASKS[CONSERVED].bytes(9) / PRIMITIVE.bytes(9)
    return Report(rows, [f"{edge}^3 points a call, {given.repeats} rounds"], NOTES.format(more=more))


NOTES = (
    "Medians of rounds in turns. Hydrogen and oxygen, 9 species, ideal gas. The bits of both layouts are equal. A "
    "call with conserved variables has {more:.2f} times the bytes of a call with e, rho and Y: momenta come too. "
    "Newton in Fortran: constants in a COMMON block, one point at a time, all species in each step, from a T of the "
    "step before that is 1 % off; both by one thread."
)
