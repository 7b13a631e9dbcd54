"""The verbs of a backend. A CPU and a CUDA device have the same; no code outside this folder asks which of them runs.

Every family of kernels (point programs, marshalling, species loops, a solver's stencils, ceilings) goes the same way:

    module = backend.compile(Source("name", text))                        C++ of one or more kernels, cached on disk
    run = module.bind("function", Shape(threads=128), record)             arguments resolved once
    run(items)                                                            as often as wanted
    module.launch("function", Shape(threads=128), record, items)          both, for what runs once

A kernel has one record of arguments (see record.py) and a number of items; engine/numbers/kernel.h declares it for
both kinds of backend.
"""

from __future__ import annotations

import abc
import contextlib
import ctypes
import dataclasses
import functools
import itertools
import math
import pathlib
import re
import time
import typing
from collections.abc import Sequence

import numpy as np

from ..errors import ArgumentError, BackendError
from ..timers import HostClock, watched
from .entry import Entry
from .facts import CPU, DeviceFacts
from .queues import Queue, ThreadQueue
from .replay import Launch, here

if typing.TYPE_CHECKING:
    from .peers import Peers

DOUBLE = np.dtype(np.float64)
ALIGN = 64  # bytes, of arrays in the host's memory
OF = "__"  # between the title and the name of a kernel
LONGEST_TITLE = 60  # characters


@dataclasses.dataclass(frozen=True)
class Source:
    """C++ as a family of kernels renders it."""

    name: str  # in the cache's file names and in messages
    text: str  # the C++; the project's headers are included by their path from `kernels/`
    folders: tuple[pathlib.Path, ...] = ()  # of other headers
    quick: bool = False  # compile fast rather than well
    spelled_vectors: bool = False  # the text says what fills vectors; the compiler makes no others
    written_out: bool = False  # so are its inner loops: the compiler's costly passes would find nothing
    libraries: tuple[str, ...] = ()  # to link on a CPU

    # For messages: (kernel, header, what the kernel reads and writes)
    bodies: tuple[tuple[str, pathlib.Path, str], ...] = ()
    # For messages: (where it was written, C++) of the parts that people write, such as an equation's alpha
    pieces: tuple[tuple[str, str], ...] = ()

    # A kernel that has the same name in many sources, such as frame_run. A device's profiler shows it as TITLE__ENTRY
    entry: str = ""
    title: str = ""  # what it computes; empty: the name of the source

    # Kernels of a source that has several: (function, what timers call it)
    functions: tuple[tuple[str, str], ...] = ()

    @property
    def titles(self) -> dict[str, str]:
        """{function: what timers call it}"""
        of_entry = {self.entry: self.title or self.name} if self.entry else {}
        return of_entry | dict(self.functions)

    @property
    def symbol(self) -> str:
        """The name of `entry` in a device's machine code, an identifier of C++."""
        title = re.sub(r"[^A-Za-z0-9]+", "_", self.title or self.name).strip("_")[:LONGEST_TITLE]
        if not title[:1].isalpha():
            title = f"kernel_{title}".strip("_")
        return f"{title}{OF}{self.entry}"


@dataclasses.dataclass(frozen=True)
class Shape:
    """How items are spread over a device. A CPU does not read it."""

    threads: int = 128  # of a block
    covers: int = 0  # items of a block; 0: an item for each thread
    shared: int = 0  # bytes of dynamic shared memory of a block
    # Blocks of a multiprocessor, which loop over all items. 0: as many blocks as the items need; -1: as many blocks as
    # run at the same time.
    resident: int = 0
    rows: int = 1  # blocks side by side, along a second dimension of the items


class Module(abc.ABC):
    """The compiled and loaded kernels of a Source. report: {function: {"registers": ..., ...}}, by the compiler."""

    name: str
    report: dict[str, dict[str, int]]
    titles: dict[str, str] = {}  # {function: what timers call it}, where they have another name
    clock: typing.Any = HostClock  # has the marks of its launches

    def bind(self, function: str, shape: Shape, record: np.ndarray, most: int | None = None, keep=(), title: str = ""):
        """Returns run(items), which queues `function` for that many items. Raises VariantUnsuitable for a shape that
        the device does not have; run raises ArgumentError above `most` items.

        record: an array of one structure, read whenever run is called. keep: objects to keep alive, to which the record
        points. title: what timers call it, where the source serves many works; "": as the source has it.
        """
        if here.watch:
            return functools.partial(self._put_on_list, function, shape, record, most, keep)
        run = self._bind(function, shape, record, most, keep)
        return watched(run, title or self.titles.get(function, function), self.clock)

    def _put_on_list(self, function, shape, record, most, keep, items: int) -> None:
        """A launch of a watched bind, see replay.py."""

        def bound(own):
            return functools.partial(self._bind(function, shape, own, most, keep), items)

        assert here.watch
        here.watch.launches.append(Launch(record.copy(), bound))

    @abc.abstractmethod
    def _bind(self, function: str, shape: Shape, record: np.ndarray, most: int | None, keep):
        """As `bind`, by the backend."""

    def again(self, function: str, record: np.ndarray, places: dict[str, int], items: int, keep=()):
        """run(arrays): a launch for so many items, with members of a copy of the record set to the arrays' addresses.
        For calls that come again with other arrays. None on a device: each call binds its own record there.

        places: {member: place of its array}. The arrays are the backend's.
        """

    def address(self, function: str) -> int:
        """Address of a C function of the source, of any arguments; for hosts that call it. Raises BackendError where
        functions run on a device."""
        raise BackendError(f"'{self.name}': a device's functions have no address in the host.")

    def launch(self, function: str, shape: Shape, record: np.ndarray, items: int) -> None:
        self.bind(function, shape, record)(items)

    @abc.abstractmethod
    def resident(self, function: str, shape: Shape) -> int:
        """How many blocks of this shape, or threads of a CPU, run at the same time. Raises VariantUnsuitable."""

    def fill(self, name: str, data: np.ndarray) -> None:
        """Write a variable that the source declares in constant memory."""
        raise BackendError(f"'{self.name}': a CPU has no constant memory '{name}'.")


IN, WORK, OUT = QUEUES = range(3)  # of a pipeline: copies in, kernels, copies out


class Pipeline:
    """The queues of a thread. A CPU has a single queue, which works in order; so these steps do nothing. A device has
    three queues that run side by side."""

    def __init__(self, backend: Backend):
        self._backend, self._step = backend, contextlib.nullcontext()

    def step(self, queue: int, part: int = 0, after: tuple[int, ...] = ()):
        """A context, to be entered as often as wanted: what it queues goes to `queue`, behind the last steps of the
        queues `after` for the same part of the views."""
        return self._step

    def in_order(self) -> Pipeline:
        """A pipeline with a single queue, for callers that wait after nearly every step."""
        return self

    def begin(self) -> None:
        """Later steps wait for the work that is in the caller's stream now."""

    def end(self) -> None:
        """Later work in the caller's stream waits for the last steps."""

    def wait(self, queue: int | None = None, part: int | None = None) -> None:
        """Wait for all steps; with a queue, for its steps; with a part, for the queue's last step of this part."""
        self._backend.synchronize()


def on_device(array) -> bool:
    """Whether an array lies on a device: CuPy's, or one that another library hands out in the same way."""
    return hasattr(array, "__cuda_array_interface__")


class Backend(abc.ABC):
    """Memory, copies, compilation and launches on a CPU or a device. Verbs for arrays and time are here as a CPU has
    them; a device's backend has others."""

    name: str  # as users call it: "cpu" or "cuda"
    style: str  # how sources are written: "packs", a loop over packs of points, or "threads", a thread for each point
    entry: Entry  # how the text of a kernel begins and ends in this style
    memory: str  # "host": arrays are NumPy's; "device": CuPy's
    threads: int | None = None  # of a CPU
    arrays = np  # the module: NumPy or CuPy
    peers: Peers | None = None  # verbs for data between devices of several processes; None on a CPU
    facts: DeviceFacts = CPU  # warp, shared memory, registers: what a launch is organised by

    def __str__(self):
        return self.name

    @property
    def apart(self) -> bool:
        """Whether its memory is apart from the host's: copies and kernels can run side by side."""
        return self.memory == "device"

    # ---- facts
    @property
    def generation(self) -> int:
        """The major number of a device's compute capability; 0 on a CPU."""
        return self.facts.generation

    @property
    def shared_memory(self) -> int:
        """Bytes of shared memory that a block may have; 0: not known, or a CPU."""
        return self.facts.shared_of_block

    @property
    def in_warps(self) -> bool:
        """Whether threads run in warps, which share work: launches have blocks and an organisation. A thread of a CPU
        works by itself, on packs of points."""
        return self.facts.warp > 1

    def sharing(self, threads: int) -> int:
        """How many threads share the work that a declaration gives to so many of a block: 1 on a CPU."""
        return threads if self.in_warps else 1

    def organised(self, choose):
        """The organisation of a launch: choose(product, memory) for this device, with the bytes of shared memory that a
        block may have. None on a CPU, whose threads each work by themselves."""
        return choose(self.product, memory=self.shared_memory) if self.in_warps else None

    # ---- kernels
    @abc.abstractmethod
    def compile(self, source: Source) -> Module:
        """From the cache on disk, or made now. Raises BackendError with the compiler's text."""

    @property
    @abc.abstractmethod
    def compiler(self) -> str:
        """The compiler's name and version; measured organisations hold for it."""

    @property
    @abc.abstractmethod
    def product(self) -> str:
        """The processor or device, as its maker calls it."""

    @abc.abstractmethod
    def describe(self) -> dict:
        """Facts for `python -m frame info`."""

    # ---- arrays
    line = 1  # float64 values of a line of memory, where neighbours that work together should touch few of them

    @abc.abstractmethod
    def pad(self, n: int) -> int:
        """Row length to allocate for n points."""

    def empty(self, shape, dtype=DOUBLE):
        """Uninitialised array, rows contiguous."""
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        size = math.prod(shape) * np.dtype(dtype).itemsize

        try:
            raw = np.empty(size + ALIGN, np.uint8)
        except MemoryError:
            numbers = " x ".join(map(str, shape))
            raise BackendError(
                f"no memory for an array of {numbers} numbers; is the chunk (nGridPoints) too large?"
            ) from None

        return np.ndarray(shape, dtype, raw, -self.address(raw) % ALIGN)

    def address(self, array) -> int:
        """Address of the first element, where kernels find it. The array has to be kept as long as the address is used.
        Raises ArgumentError for a NumPy scalar, which gives the address of a copy that is freed at once."""
        if isinstance(array, np.generic):
            raise ArgumentError(f"{array!r} is a number, which has no address; wanted an array.")
        return array.__array_interface__["data"][0]

    def at(self, address: int, shape, strides, dtype):
        """An array over memory that kernels reach, which stays the caller's; strides in bytes."""
        return self.arrays.asarray(Memory(address, tuple(shape), tuple(strides), np.dtype(dtype)))

    def holds(self, array) -> bool:
        """Whether an array of NumPy's or CuPy's is where the backend works."""
        return on_device(array) == self.apart

    def elsewhere(self, array) -> bool:
        """Whether an array of NumPy's or CuPy's is not where the backend works. False for arrays of other kinds."""
        known = isinstance(array, np.ndarray) or on_device(array)
        return known and not self.holds(array)

    def to_host(self, array) -> np.ndarray:
        """Waits until what was queued is done."""
        return array

    def from_host(self, array, dtype=DOUBLE):
        return np.asarray(array, dtype=dtype)

    def placed(self, /, **arrays: np.ndarray) -> dict:
        """Arrays of the host where the backend works, by name: of the same type, in C's or Fortran's order as they
        lie. On a CPU contiguous arrays are the same arrays."""
        there = {}
        for name, array in arrays.items():
            by_columns = array.flags.f_contiguous and not array.flags.c_contiguous
            flat = np.ascontiguousarray(array.T if by_columns else array)
            copy = self.from_host(flat, flat.dtype)
            there[name] = copy.T if by_columns else copy

        return there

    # ---- time
    def set_stream(self, stream: int) -> None:
        """Queue what this thread does from now on a stream of the host's; 0: the default one. A CPU has none."""

    def synchronize(self) -> None:
        """Wait for what was queued."""

    def pipeline(self, parts: int) -> Pipeline:
        """A thread's own, for views of which `parts` parts are worked with at the same time."""
        return Pipeline(self)

    def queue(self) -> Queue:
        """A queue: its launches and other work go in order, beside those of other queues."""
        return ThreadQueue()

    def mark(self):
        """A point in the backend's time; costs next to nothing and waits for nothing."""
        return time.perf_counter()

    def elapsed(self, start, end) -> float:
        """Seconds between two marks; may wait."""
        return end - start

    def record(self, work):
        """A function that repeats the launches of `work()`, which must not allocate or wait. It is not run here.
        Raises BackendError where a device cannot record it."""
        return work

    # ---- the host's memory
    @contextlib.contextmanager
    def session(self, ranges):
        """A context for copies on the current stream from and to the host's memory at these (address, end). Large
        ranges stay pinned till its end, when the queued work is done."""
        yield

    def reach(self, low: int, high: int) -> str:
        """How kernels come to memory from address low to below high: "own", it is the backend's; "shared", they read
        and write the host's where it is; "no", it has to be staged. A device raises ArgumentError for memory that is
        not there, or of another device."""
        return "own"

    def allocate(self, nbytes: int) -> int:
        """Address of memory where kernels work, until `free`. Raises BackendError if there is none."""
        array = self.empty(nbytes, np.uint8)
        self._allocated[self.address(array)] = array
        return self.address(array)

    def free(self, address: int) -> None:
        """Give back memory of `allocate`. Nothing may be under way on it."""
        del self._allocated[address]

    def copy(self, to: int, source: int, nbytes: int) -> None:
        """Copy bytes behind the work that is queued, between places of the host and of the backend; waits."""
        ctypes.memmove(to, source, nbytes)

    @functools.cached_property
    def _allocated(self) -> dict[int, np.ndarray]:
        """Arrays of `allocate` by their addresses."""
        return {}

    def copied(self, low: int, high: int) -> bool:
        """Whether `copier` takes this memory, which kernels reach as well: `pin` has pinned it as a whole."""
        return False

    def staging(self):
        """A buffer of the host's memory that copies run straight from and to; see pinned.Staging."""
        raise BackendError("this backend reaches all of the host's memory: nothing is staged.")

    def copier(self, ends: Sequence[Ends], in_: bool):
        """copy(own_at, host_at, nbytes): queues copies of so many bytes of each row between device and host (in_: to
        the device), `own_at` and `host_at` behind the rows' beginning. The host's memory is staging, or memory for
        which `copied` holds."""
        raise BackendError("this backend reaches all of the host's memory: nothing is staged.")

    def pin(self, address: int, nbytes: int) -> None:
        """Until `unpin` with the same numbers, or `release`, this memory of the host stays where it is, and copies to
        and from it may count on that. Nothing to do where the host's memory is the backend's. Pinned ranges must not
        overlap. Raises BackendError where the driver refuses."""

    def unpin(self, address: int, nbytes: int) -> None:
        """Before the memory is freed."""

    def pinned(self, low: int, high: int) -> bool:
        """Whether `pin` holds all of this memory; true where nothing has to be pinned."""
        return True

    @property
    def pins(self) -> int:
        """A count of changes of the pinned memory."""
        return 0

    def link(self) -> tuple[float, float] | None:
        """Bytes a second to the device and from it, measured now, one after the other; None where there is no link."""
        return None

    def release(self) -> None:
        """Give back what is held beyond arrays (device memory pools, registered host memory)."""


class Rates(typing.NamedTuple):
    """Limits of a device. 0: the system does not report it."""

    product: str
    place: str  # in the node, whatever number a process gives the device
    link: float  # bytes a second to the device, and as many from it
    memory: float  # bytes a second
    double: float  # operations of double precision a second


class Ends(typing.NamedTuple):
    """Rows of an array on a device and of its copy in the host's memory."""

    own: int  # address on the device
    own_pitch: int  # bytes from one row to the next there
    host: int  # address in the host's memory
    host_pitch: int
    rows: int

    @classmethod
    def of_row(cls, own: int, host: int) -> Ends:
        """A single row."""
        return cls(own, 0, host, 0, 1)


class Rows(typing.NamedTuple):
    """Rows of points in memory that kernels reach, wherever they lie."""

    addresses: Sequence[int]  # of the first point of each row; a range where rows are equally far apart
    points: int  # of a row
    dtype: np.dtype

    @classmethod
    def apart(cls, addresses: Sequence[int], points: int, dtype: np.dtype) -> Rows:
        """Rows with these addresses."""
        distances = {after - before for before, after in itertools.pairwise(addresses)}
        if len(distances) == 1:
            return cls.even(addresses[0], len(addresses), distances.pop(), points, dtype)
        return cls(addresses, points, dtype)

    @classmethod
    def even(cls, address: int, rows: int, distance: int, points: int, dtype: np.dtype) -> Rows:
        """Rows that lie `distance` bytes apart."""
        if rows == 1 or not distance:
            return cls((address,) * rows, points, dtype)
        return cls(range(address, address + rows * distance, distance), points, dtype)

    @property
    def distance(self) -> int | None:
        """Bytes from one row to the next, 0 for a single row; None where rows are not equally far apart."""
        if isinstance(self.addresses, range):
            return self.addresses.step
        return None if len(set(self.addresses)) > 1 else 0


@dataclasses.dataclass(frozen=True)
class Memory:
    """Memory that NumPy and CuPy wrap as an array without a copy."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype

    @property
    def __array_interface__(self):
        told = {"data": (self.address, False), "shape": self.shape, "strides": self.strides}
        return told | {"typestr": self.dtype.str, "version": 3}

    @property
    def __cuda_array_interface__(self):
        return self.__array_interface__ | {"version": 2}  # 2: no stream to wait for


def check_rows(name, array, rows: int, dtype=DOUBLE):
    """Shape (ld,) for one row, (rows, ld) else; dtype, points contiguous. Returns (row stride in elements, row
    length)."""
    if not hasattr(array, "strides"):
        raise ArgumentError(f"array '{name}' is {type(array).__name__}, wanted an array of {dtype}.")

    shape = tuple(array.shape)
    if array.dtype != dtype:
        raise ArgumentError(f"array '{name}': type {array.dtype}, wanted {dtype}.")

    if len(shape) == 1 and rows == 1:
        shape, strides = (1, shape[0]), (0, array.strides[0])
    else:
        strides = array.strides

    if len(shape) != 2 or shape[0] != rows:
        raise ArgumentError(
            f"array '{name}': shape {tuple(array.shape)}, wanted ({rows}, points)"
            + (" or (points,)." if rows == 1 else ".")
        )

    if shape[1] > 1 and strides[1] != dtype.itemsize:
        raise ArgumentError(f"array '{name}': points are {strides[1]} bytes apart, wanted contiguous rows.")

    return strides[0] // dtype.itemsize, shape[1]
